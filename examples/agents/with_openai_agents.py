"""OpenAI Agents SDK: an agent with the tools of a sandbox."""
import asyncio

import scripted
from agents import Agent, Runner, set_tracing_disabled

from iii_sandbox import Sandbox
from iii_sandbox.integrations.openai_agents import sandbox_tools

model = scripted.openai_agents()  # or the name of a model of yours
set_tracing_disabled(True)


async def main():
    async with Sandbox.create() as box:
        agent = Agent(name="worker", model=model, tools=sandbox_tools(box))
        result = await Runner.run(agent, scripted.TASK)
        for item in result.new_items:
            if item.type == "tool_call_output_item":
                print(f"tool: {item.output}")
        print(result.final_output)


asyncio.run(main())
