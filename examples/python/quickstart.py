"""A sandbox from its beginning to its end: a command, a file, code whose variables stay."""
import asyncio

from iii_sandbox import Sandbox


async def main():
    async with Sandbox.create("python", memory=256) as box:  # III_SANDBOX_URL and III_SANDBOX_TOKEN say where
        result = await box.exec("echo hello; exit 3")
        print(repr(result.stdout), result.exit_code)

        await box.files.write("notes.txt", "kept")
        print(await box.files.read("notes.txt"))

        await box.run_code("total = sum(range(101))")
        print((await box.run_code("total")).text)
    # The sandbox is killed here.


asyncio.run(main())
