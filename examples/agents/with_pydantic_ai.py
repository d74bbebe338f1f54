"""Pydantic AI: an agent with the tools of a sandbox."""
import asyncio

import scripted
from pydantic_ai import Agent
from pydantic_ai.messages import ToolReturnPart

from iii_sandbox import Sandbox
from iii_sandbox.integrations.pydantic_ai import sandbox_toolset

model = scripted.pydantic_ai()  # or a model of yours: "anthropic:claude-…", "openai:gpt-…"


async def main():
    async with Sandbox.create() as box:
        agent = Agent(model, toolsets=[sandbox_toolset(box)])
        result = await agent.run(scripted.TASK)
        for message in result.all_messages():
            for part in message.parts:
                if isinstance(part, ToolReturnPart):
                    print(f"{part.tool_name}: {part.content}")
        print(result.output)


asyncio.run(main())
