"""What an agent needs: variables that live between calls, streamed output, tries that leave nothing, errors to decide by."""
import asyncio

from iii_sandbox import Sandbox
from iii_sandbox.errors import NotFoundError


async def main():
    async with Sandbox.create() as box:
        await box.run_code("x = 20")
        print("context:", (await box.run_code("x * 2 + 2")).text)

        result = await box.exec("for i in 1 2 3; do echo step $i; sleep 0.1; done", on_stdout=lambda text: print(text, end=""))
        print("exit code", result.exit_code)

        await box.files.write("state", "original")
        async with await box.fork() as attempt:
            await attempt.files.write("state", "a daring attempt")
        print("after the fork:", await box.files.read("state"))

        try:
            await box.files.read("none")
        except NotFoundError as error:
            print("missing:", error.code)


asyncio.run(main())
