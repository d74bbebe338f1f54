"""What code that was run gives back."""
from __future__ import annotations

import base64
from dataclasses import dataclass, field

from ._errors import CodeFailed
from .types import CodeResult, ContextEvent, ContextResult, RichResult

CONTEXT_LANGUAGES = ("python", "javascript")


@dataclass(frozen=True)
class CodeError:
    """The error that ended the code: its class, its message, and the lines of its traceback."""

    name: str
    value: str
    traceback: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return "\n".join(self.traceback) or f"{self.name}: {self.value}"


@dataclass
class Execution:
    """What a piece of code printed, gave and raised. results: the value of its last line and what it displayed, each in every form that it has."""

    results: list[RichResult] = field(default_factory=list)
    stdout: str = ""
    stderr: str = ""
    error: CodeError | None = None
    execution_count: int = 0
    duration_ms: int = 0
    timed_out: bool = False
    truncated: bool = False

    @property
    def ok(self) -> bool:
        return self.error is None

    @property
    def text(self) -> str | None:
        """The value of the last line, as text."""
        texts = [str(result.data) for result in self.results if result.type == "text"]
        return texts[-1] if texts else None

    @property
    def images(self) -> list[bytes]:
        """Figures and pictures, as the bytes of PNG or JPEG files."""
        return [base64.b64decode(str(result.data)) for result in self.results if result.type in ("png", "jpeg")]

    def check(self) -> Execution:
        """Raises CodeFailed when the code raised an error."""
        if self.error:
            raise CodeFailed(self)
        return self

    def take(self, event: ContextEvent) -> None:
        """One event of a stream."""
        if event.type == "stdout":
            self.stdout += event.data or ""
        elif event.type == "stderr":
            self.stderr += event.data or ""
        elif event.type == "result" and event.result:
            self.results.append(event.result)
        elif event.type == "error":
            self.error = CodeError(event.errorName or "Error", event.errorValue or "", event.traceback or [])
        elif event.type == "end":
            self.execution_count, self.duration_ms = event.executionCount or 0, event.executionTime or 0
            self.timed_out, self.truncated = bool(event.timedOut), bool(event.truncated)


def execution_of(result: ContextResult) -> Execution:
    error = CodeError(result.errorName, result.errorValue or "", result.traceback) if result.errorName else None
    return Execution(result.results, result.stdout, result.stderr, error, result.executionCount, result.executionTime, result.timedOut, result.truncated)


def fresh_execution_of(result: CodeResult) -> Execution:
    """Of an interpreter that keeps nothing: what it wrote to standard error is why it failed."""
    error = CodeError("Error", result.error.strip().rpartition("\n")[2], result.error.splitlines()) if result.error else None
    return Execution([], result.output, "", error, 1, result.executionTime)
