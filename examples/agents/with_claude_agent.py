"""Claude Agent SDK: an agent with the tools of a sandbox, and none that would run on this host."""
import asyncio
import tempfile

import scripted
from claude_agent_sdk import AssistantMessage, ClaudeAgentOptions, ResultMessage, ToolUseBlock, query

from iii_sandbox import Sandbox
from iii_sandbox.integrations.claude_agent import sandbox_options


async def main():
    with tempfile.TemporaryDirectory() as home, scripted.claude(home) as environment:  # with a model of yours: env=ANTHROPIC_API_KEY
        async with Sandbox.create() as box:
            options = ClaudeAgentOptions(**sandbox_options(box), env=environment, setting_sources=[], cwd=home, max_turns=8)
            async for message in query(prompt=scripted.TASK, options=options):
                if isinstance(message, AssistantMessage):
                    for block in message.content:
                        if isinstance(block, ToolUseBlock):
                            print(f"calls {block.name}")
                elif isinstance(message, ResultMessage):
                    print(message.result)


asyncio.run(main())
