"""What every error of this package is; the classes for codes are in errors.py.

They are errors of httpx as well: programs that catch httpx.HTTPStatusError, TimeoutException or TransportError go on as they are."""
from __future__ import annotations

import httpx


class SandboxError(Exception):
    """Any failure of this package."""


class ConnectionFailed(SandboxError, httpx.TransportError):
    """No answer: the server could not be reached, or the connection broke."""


class RequestTimeout(ConnectionFailed, httpx.TimeoutException):
    """No answer within the client's own deadline."""


class ApiError(SandboxError, httpx.HTTPStatusError):
    """The server refused or failed."""

    def __init__(self, method: str, path: str, response: httpx.Response, code: str, reason: str) -> None:
        status = response.status_code
        super().__init__(f"{method} {path} failed: {status} {reason}", request=response.request, response=response)
        self.method, self.path, self.status, self.code, self.reason = method, path, status, code, reason
