"""smolagents: `CodeAgent(tools, model, executor=SandboxExecutor(box))`, or `ToolCallingAgent(sandbox_tools(box), model)`."""
from __future__ import annotations

import json
from typing import Any

from smolagents import LogLevel, Tool as AgentTool
from smolagents.local_python_executor import CodeOutput
from smolagents.monitoring import AgentLogger
from smolagents.remote_executors import RemotePythonExecutor
from smolagents.utils import AgentError

from ..errors import InvalidArgumentError
from ..sync import Sandbox
from ._tools import TOOLS, Tool


# An answer ends the code as an error does: that is how it gets out of functions and loops. JSON, because what a sandbox sends is not to be trusted.
FINAL_ANSWER = """
class FinalAnswerException(Exception):
    pass

def final_answer(answer):
    import json
    raise FinalAnswerException(json.dumps(answer, default=str))
"""


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text  # code of the agent raised it itself


class SandboxExecutor(RemotePythonExecutor):  # type: ignore[misc]  # the package has no types
    """Runs the code of a CodeAgent in a sandbox: in its default context, so that variables stay from step to step."""

    def __init__(self, box: Sandbox, logger: Any = None) -> None:
        self.box = box
        super().__init__([], logger or AgentLogger(LogLevel.OFF))

    def run_code_raise_errors(self, code: str) -> CodeOutput:
        done = self.box.run_code(code)
        logs = done.stdout + done.stderr
        if done.error and done.error.name == self.FINAL_ANSWER_EXCEPTION:
            return CodeOutput(_value(done.error.value), logs, True)
        if done.error:
            raise AgentError(f"{logs}\n{done.error}".strip(), self.logger)
        return CodeOutput(done.text, logs, False)

    def send_tools(self, tools: dict[str, AgentTool]) -> None:
        """The package's own final_answer needs numpy and PIL in the sandbox; this one needs nothing."""
        self.run_code_raise_errors(FINAL_ANSWER)
        others = {name: tool for name, tool in tools.items() if name != "final_answer"}
        if others:
            super().send_tools(others)

    def install_packages(self, additional_imports: list[str]) -> list[str]:
        """What the tools name, some of which they can do without: a sandbox without a network says so in the log, and code that needs it in its error."""
        try:
            if additional_imports:
                self.box.interpreter.install(additional_imports)
        except InvalidArgumentError as error:
            self.logger.log(error.reason)
        return additional_imports

    def cleanup(self) -> None:
        """The sandbox is its owner's to end."""


def sandbox_tools(box: Sandbox) -> list[AgentTool]:
    """The tools of a sandbox."""
    return [_made(tool, box) for tool in TOOLS]


def _made(tool: Tool, box: Sandbox) -> AgentTool:
    class SandboxTool(AgentTool):  # type: ignore[misc]
        name, description, output_type = tool.name, tool.description, "string"
        inputs = {key: value if key in tool.required else {**value, "nullable": True} for key, value in tool.properties.items()}
        skip_forward_signature_validation = True

        def forward(self, **arguments: Any) -> str:
            return tool.run(box, arguments)

    return SandboxTool()
