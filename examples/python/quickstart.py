"""A sandbox from its beginning to its end: a command, a file, a snippet of code."""
import asyncio
import os

from iii_sandbox import create_sandbox

SERVER = {"base_url": os.environ.get("III_SANDBOX_URL", "http://localhost:3111"), "token": os.environ.get("III_SANDBOX_TOKEN")}


async def main():
    async with await create_sandbox(image="python", memory=256, **SERVER) as box:
        result = await box.exec("echo hello; exit 3")
        print(repr(result.stdout), result.exitCode)

        await box.filesystem.write("/workspace/notes.txt", "kept")
        print(await box.filesystem.read("/workspace/notes.txt"))

        snippet = await box.interpreter.run("print(sum(range(101)))")
        print(snippet.output.strip())
    # The sandbox is killed here.


asyncio.run(main())
