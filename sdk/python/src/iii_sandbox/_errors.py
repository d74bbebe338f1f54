"""What every error of this package is; the classes for codes are in errors.py.

They are errors of httpx as well: programs that catch httpx.HTTPStatusError, TimeoutException or TransportError go on as they are."""
from __future__ import annotations

from typing import TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    from .types import ExecResult


class SandboxError(Exception):
    """Any failure of this package."""


class ConnectionFailed(SandboxError, httpx.TransportError):
    """No answer: the server could not be reached, or the connection broke."""


class RequestTimeout(ConnectionFailed, httpx.TimeoutException):
    """No answer within the client's own deadline."""


class CommandFailed(SandboxError):
    """A command in the sandbox that a method stands for, such as git clone, exited with another code than 0."""

    def __init__(self, command: str, result: ExecResult) -> None:
        super().__init__(f"{command} failed: exit code {result.exitCode}: {(result.stderr or result.stdout).strip()}")
        self.command, self.result = command, result


def succeeded(command: str, result: ExecResult) -> ExecResult:
    if result.exitCode != 0:
        raise CommandFailed(command, result)
    return result


class ApiError(SandboxError, httpx.HTTPStatusError):
    """The server refused or failed."""

    def __init__(self, method: str, path: str, response: httpx.Response, code: str, reason: str) -> None:
        status = response.status_code
        super().__init__(f"{method} {path} failed: {status} {reason}", request=response.request, response=response)
        self.method, self.path, self.status, self.code, self.reason = method, path, status, code, reason
