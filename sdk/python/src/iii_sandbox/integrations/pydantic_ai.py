"""Pydantic AI: `Agent(model, toolsets=[sandbox_toolset(box)])`."""
from __future__ import annotations

from typing import Any

from pydantic_ai import FunctionToolset
from pydantic_ai import Tool as AgentTool

from ._tools import TOOLS, AnySandbox, Tool


def sandbox_toolset(box: AnySandbox) -> FunctionToolset[Any]:
    """The tools of a sandbox."""
    return FunctionToolset([_made(tool, box) for tool in TOOLS])


def _made(tool: Tool, box: AnySandbox) -> AgentTool[Any]:
    async def run(**arguments: Any) -> str:
        return await tool.arun(box, arguments)

    return AgentTool.from_schema(run, tool.name, tool.description, tool.schema)
