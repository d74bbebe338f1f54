"""What every error of this package is; the classes for codes are in errors.py."""
from __future__ import annotations


class SandboxError(Exception):
    """Any failure of this package."""


class ConnectionFailed(SandboxError):
    """No answer: the server could not be reached, or the connection broke."""


class RequestTimeout(ConnectionFailed):
    """No answer within the client's own deadline."""


class ApiError(SandboxError):
    """The server refused or failed."""

    def __init__(self, method: str, path: str, status: int, code: str, reason: str) -> None:
        super().__init__(f"{method} {path} failed: {status} {reason}")
        self.method, self.path, self.status, self.code, self.reason = method, path, status, code, reason
