"""Claude Agent SDK: `ClaudeAgentOptions(**sandbox_options(box))`."""
from __future__ import annotations

from typing import Any

from claude_agent_sdk import McpSdkServerConfig, SdkMcpTool, create_sdk_mcp_server
from claude_agent_sdk import tool as agent_tool

from ._tools import TOOLS, AnySandbox, Tool


def sandbox_server(box: AnySandbox, name: str = "sandbox") -> McpSdkServerConfig:
    """An MCP server inside this process with the tools of a sandbox."""
    return create_sdk_mcp_server(name, tools=[_made(tool, box) for tool in TOOLS])


def sandbox_options(box: AnySandbox, name: str = "sandbox") -> dict[str, Any]:
    """Options of an agent that has the tools of a sandbox, and none that would run on this host."""
    return {"mcp_servers": {name: sandbox_server(box, name)}, "allowed_tools": [f"mcp__{name}__{tool.name}" for tool in TOOLS], "tools": []}


def _made(tool: Tool, box: AnySandbox) -> SdkMcpTool[Any]:
    async def run(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": await tool.arun(box, arguments)}]}

    made: SdkMcpTool[Any] = agent_tool(tool.name, tool.description, tool.schema)(run)
    return made
