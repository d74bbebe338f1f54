"""What every error of this package is; the classes for codes are in errors.py.

They are errors of httpx as well: programs that catch httpx.HTTPStatusError, TimeoutException or TransportError continue to work."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx

from ._settings import TOKEN_VARIABLES, address_of

if TYPE_CHECKING:
    from ._code import Execution
    from .types import ExecResult

# What to do where the server's own text does not say it.
FIXES = {"unauthorized": f"set {TOKEN_VARIABLES[0]}, or pass token"}


class SandboxError(Exception):
    """Any failure of this package."""


class ConnectionFailed(SandboxError, httpx.TransportError):
    """No answer: the server could not be reached, or the connection broke."""


class RequestTimeout(ConnectionFailed, httpx.TimeoutException):
    """No answer within the client's own deadline."""


class CommandFailed(SandboxError):
    """A command was to succeed (check=True, or a method such as git.clone) and did not; `result` has its output and how it ended."""

    def __init__(self, command: str, result: ExecResult) -> None:
        how = "out of memory" if result.oomKilled else f"killed by {result.signal}" if result.signal else f"exit code {result.exitCode}"
        super().__init__(f"{command} failed: {how}: {(result.stderr or result.stdout).strip()}")
        self.command, self.result = command, result


class CodeFailed(SandboxError):
    """Code was to succeed (check=True) and raised an error; `execution` has its output."""

    def __init__(self, execution: Execution) -> None:
        super().__init__(str(execution.error))
        self.execution = execution


def succeeded(command: str, result: ExecResult) -> ExecResult:
    if result.exitCode != 0:
        raise CommandFailed(command, result)
    return result


class ApiError(SandboxError, httpx.HTTPStatusError):
    """The server refused or failed. reason: why, in the server's words. fix: what to do, where it is known. result: the output so far of a command
    that timed out."""

    def __init__(self, method: str, path: str, response: httpx.Response, code: str, reason: str, body: Any = None) -> None:
        status, body = response.status_code, body if isinstance(body, dict) else {}
        self.method, self.path, self.status, self.code, self.reason = method, path, status, code, reason
        self.address = address_of(str(response.request.url))
        self.fix: Any = body.get("fix", FIXES.get(code))
        self.result = _result(body.get("result"))
        cure = f": {self.fix}" if isinstance(self.fix, str) else ""
        super().__init__(f"{method} {path} failed: {status} {reason}{cure} [{self.address}]", request=response.request, response=response)


def _result(value: Any) -> ExecResult | None:
    from .types import ExecResult  # its module needs this one

    return ExecResult.model_validate(value) if isinstance(value, dict) else None
