"""The tools themselves, without any framework: what a model sees of them, what they call, and what they answer in words."""
from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .._code import Execution
from .._errors import ApiError
from ..aio import Sandbox as AsyncSandbox
from ..sync import Sandbox
from ..types import ExecResult

AnySandbox = Sandbox | AsyncSandbox
OUTPUT_MAX = 16_000  # characters of one answer: a model pays for each
TIMEOUT_S = 120
UNANSWERABLE = ("unauthorized", "forbidden")  # nothing that a model could do about it


def cut(text: str) -> str:
    """The beginning and the end, because errors are at the end; and how much is missing."""
    if len(text) <= OUTPUT_MAX:
        return text
    half = OUTPUT_MAX // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters cut …\n{text[-half:]}"


def _told(*parts: str) -> str:
    return "\n".join(part.rstrip("\n") for part in parts if part) or "(no output)"


def _command_told(result: ExecResult) -> str:
    how = "out of memory" if result.oomKilled else f"killed by {result.signal}" if result.signal else f"exit code {result.exitCode}"
    return _told(result.stdout, result.stderr, "" if result.ok else how)


def _execution_told(done: Execution) -> str:
    count = len(done.images)
    pictures = f"({count} image{'s' if count > 1 else ''})" if count else ""
    return _told(done.stdout, done.stderr, done.text or "", pictures, str(done.error) if done.error else "")


def _failure_told(error: ApiError) -> str:
    if error.code in UNANSWERABLE:
        raise error
    return _told(f"error: {error.reason}", error.result.stdout if error.result else "", error.result.stderr if error.result else "")


@dataclass(frozen=True)
class Tool:
    """call: of a sandbox and arguments, an answer or something to wait for; told: that answer as text."""

    name: str
    description: str
    properties: dict[str, dict[str, Any]]
    required: tuple[str, ...]
    call: Callable[[Any, dict[str, Any]], Any]
    told: Callable[[Any], str]

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "object", "properties": self.properties, "required": list(self.required), "additionalProperties": False}

    def run(self, box: Sandbox, arguments: dict[str, Any]) -> str:
        try:
            return cut(self.told(self.call(box, arguments)))
        except ApiError as error:
            return cut(_failure_told(error))

    async def arun(self, box: AnySandbox, arguments: dict[str, Any]) -> str:
        if isinstance(box, Sandbox):
            return await asyncio.to_thread(self.run, box, arguments)
        try:
            answer = self.call(box, arguments)
            return cut(self.told(await answer if inspect.isawaitable(answer) else answer))
        except ApiError as error:
            return cut(_failure_told(error))


def _text(about: str) -> dict[str, Any]:
    return {"type": "string", "description": about}


TOOLS = (
    Tool(
        "run_code",
        "Run code in an isolated Linux sandbox and return what it prints and the value of its last line. "
        "Variables of python and javascript stay from one call to the next.",
        {"code": _text("Source code"), "language": {**_text("Language; python by default"), "enum": ["python", "javascript", "typescript", "go", "bash"]}},
        ("code",),
        lambda box, a: box.run_code(a["code"], a.get("language") or "python", timeout=TIMEOUT_S),
        _execution_told,
    ),
    Tool(
        "run_command",
        "Run a shell command in the sandbox and return its output. The working folder is /workspace.",
        {"command": _text("Command line for sh"), "timeout": {"type": "integer", "description": f"Seconds; {TIMEOUT_S} by default"}},
        ("command",),
        lambda box, a: box.exec(a["command"], timeout=a.get("timeout") or TIMEOUT_S),
        _command_told,
    ),
    Tool(
        "read_file",
        "Read a text file of the sandbox.",
        {"path": _text("Path, absolute or below /workspace")},
        ("path",),
        lambda box, a: box.files.read(a["path"]),
        lambda text: text or "(empty)",
    ),
    Tool(
        "write_file",
        "Write a text file in the sandbox, with the folders above it.",
        {"path": _text("Path, absolute or below /workspace"), "content": _text("Whole content")},
        ("path", "content"),
        lambda box, a: box.files.write(a["path"], a["content"]),
        lambda _: "written",
    ),
    Tool(
        "list_files",
        "List a folder of the sandbox.",
        {"path": _text("Folder; /workspace by default")},
        (),
        lambda box, a: box.files.list(a.get("path") or "/workspace"),
        lambda entries: _told(*(f"{entry.name}/" if entry.isDirectory else f"{entry.name} ({entry.size} bytes)" for entry in entries)),
    ),
)
