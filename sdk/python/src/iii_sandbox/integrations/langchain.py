"""LangChain and LangGraph: `create_agent(model, tools=sandbox_tools(box))`."""
from __future__ import annotations

from typing import Any

from langchain_core.tools import BaseTool, StructuredTool

from ..sync import Sandbox
from ._tools import TOOLS, AnySandbox, Tool


def sandbox_tools(box: AnySandbox) -> list[BaseTool]:
    """The tools of a sandbox; those of one for asyncio are for `ainvoke`."""
    return [_made(tool, box) for tool in TOOLS]


def _made(tool: Tool, box: AnySandbox) -> BaseTool:
    def run(**arguments: Any) -> str:
        assert isinstance(box, Sandbox)
        return tool.run(box, arguments)

    async def arun(**arguments: Any) -> str:
        return await tool.arun(box, arguments)

    func = run if isinstance(box, Sandbox) else None
    return StructuredTool.from_function(func, arun, tool.name, tool.description, args_schema=tool.schema, infer_schema=False)
