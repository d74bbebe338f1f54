"""smolagents: an agent that calls the tools of a sandbox, and one whose own code runs there."""
import scripted
from smolagents import CodeAgent, LogLevel, ToolCallingAgent

from iii_sandbox.integrations.smolagents import SandboxExecutor, sandbox_tools
from iii_sandbox.sync import Sandbox

with Sandbox.create() as box:
    model = scripted.smolagents()  # or a model of yours: InferenceClientModel(), LiteLLMModel(…)
    agent = ToolCallingAgent(sandbox_tools(box), model, verbosity_level=LogLevel.OFF)
    print(agent.run(scripted.TASK))

    model = scripted.smolagents_code("total = sum(map(int, open('numbers.txt')))\nprint('so far', total)", "final_answer(total * 2)")
    agent = CodeAgent([], model, executor=SandboxExecutor(box), verbosity_level=LogLevel.OFF)
    print(agent.run("Double the sum of the numbers in numbers.txt."))
