"""What an agent needs: variables that live between calls, streamed output, tries that leave nothing, errors to decide by."""
import asyncio
import os

from iii_sandbox import ClientConfig, Sandboxes
from iii_sandbox.errors import NotFoundError

CONFIG = ClientConfig(os.environ.get("III_SANDBOX_URL", "http://localhost:3111"), os.environ.get("III_SANDBOX_TOKEN"))


async def main():
    async with Sandboxes(CONFIG) as client, await client.create(image="python") as box:
        contexts = box.interpreter.contexts
        context = await contexts.create("python")
        await contexts.run(context.id, "x = 20")
        result = await contexts.run(context.id, "x * 2 + 2")
        print("context:", result.results[0].data)

        async for chunk in box.exec_stream("for i in 1 2 3; do echo step $i; sleep 0.1; done"):
            if chunk.type == "stdout":
                print(chunk.data, end="")
            elif chunk.type == "exit":
                print("exit code", chunk.data)

        await box.filesystem.write("/workspace/state", "original")
        fork = await box.fork(count=1)
        async with client.sandbox(fork.sandboxes[0]) as attempt:
            await attempt.filesystem.write("/workspace/state", "a daring attempt")
        print("after the fork:", await box.filesystem.read("/workspace/state"))

        try:
            await box.filesystem.read("/workspace/none")
        except NotFoundError as error:
            print("missing:", error.code)


asyncio.run(main())
