"""OpenAI Agents SDK: `Agent(tools=sandbox_tools(box))`."""
from __future__ import annotations

import json
from typing import Any

from agents import FunctionTool

from ._tools import TOOLS, AnySandbox, Tool


def sandbox_tools(box: AnySandbox) -> list[FunctionTool]:
    """The tools of a sandbox."""
    return [_made(tool, box) for tool in TOOLS]


def _made(tool: Tool, box: AnySandbox) -> FunctionTool:
    async def invoke(_: Any, arguments: str) -> str:
        return await tool.arun(box, json.loads(arguments or "{}"))

    return FunctionTool(tool.name, tool.description, tool.schema, invoke, strict_json_schema=False)
