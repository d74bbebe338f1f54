"""Commands: what they are given, and their streamed output put together."""
from __future__ import annotations

import base64
import shlex
from typing import Any

from .types import ExecResult, ExecStreamChunk

KEPT_MAX = 10 * 1024 * 1024  # characters of each stream, as of a command that is waited for


def shown(command: str | list[str]) -> str:
    return command if isinstance(command, str) else shlex.join(command)


def input_of(stdin: str | bytes | None) -> dict[str, Any]:
    if isinstance(stdin, bytes):
        return {"stdin": base64.b64encode(stdin).decode(), "stdin_encoding": "base64"}
    return {"stdin": stdin}


class Collected:
    """The output of a stream up to its end, as a result."""

    def __init__(self) -> None:
        self.pieces: dict[str, list[str]] = {"stdout": [], "stderr": []}
        self.sizes, self.end = {"stdout": 0, "stderr": 0}, ExecStreamChunk(type="exit", data="-1", timestamp=0)

    def take(self, chunk: ExecStreamChunk) -> None:
        if chunk.type == "exit":
            self.end = chunk
        elif chunk.type in self.pieces and chunk.data:
            room = KEPT_MAX - self.sizes[chunk.type]
            self.pieces[chunk.type].append(chunk.data[: max(room, 0)])
            self.sizes[chunk.type] += len(chunk.data)

    def result(self) -> ExecResult:
        end = self.end
        return ExecResult(
            exitCode=int(end.data or -1),
            stdout="".join(self.pieces["stdout"]),
            stderr="".join(self.pieces["stderr"]),
            duration=end.duration or 0,
            stdoutTruncated=self.sizes["stdout"] > KEPT_MAX,
            stderrTruncated=self.sizes["stderr"] > KEPT_MAX,
            signal=end.signal,
            timedOut=end.timedOut,
            oomKilled=end.oomKilled,
        )
