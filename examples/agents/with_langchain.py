"""LangChain: an agent with the tools of a sandbox."""
import scripted
from langchain.agents import create_agent

from iii_sandbox.integrations.langchain import sandbox_tools
from iii_sandbox.sync import Sandbox

model = scripted.langchain()  # or a model of yours: "anthropic:claude-…", "openai:gpt-…"

with Sandbox.create() as box:
    agent = create_agent(model, tools=sandbox_tools(box))
    result = agent.invoke({"messages": [("user", scripted.TASK)]})
    for message in result["messages"]:
        if message.type == "tool":
            print(f"{message.name}: {message.content}")
    print(result["messages"][-1].content)
