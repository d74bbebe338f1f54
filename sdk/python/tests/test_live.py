"""Against a live server: III_URL and III_TOKEN say where. What the contract scenarios cannot show."""
import asyncio
import os

import pytest

import iii_sandbox
from iii_sandbox import CallOptions, ClientConfig, ConnectionFailed, Sandboxes, sync
from iii_sandbox.errors import NotFoundError

WHERE = {"base_url": os.environ["III_URL"], "token": os.environ["III_TOKEN"]}


def run(body, **config):
    """Runs body(client, box) in a loop of its own."""

    async def main():
        async with Sandboxes(ClientConfig(**WHERE, **config)) as client, await client.create(image="python") as box:
            await body(client, box)

    asyncio.run(main())


def test_factories_refresh_and_the_end_of_a_sandbox():
    async def main():
        async with await iii_sandbox.create_sandbox(image="python", name="from python", **WHERE) as box:
            assert box.info.name == "from python"
            assert box.id in [info.id for info in await iii_sandbox.list_sandboxes(**WHERE)]
            assert await iii_sandbox.list_templates(**WHERE)
            again = await iii_sandbox.get_sandbox(box.id, **WHERE)
            await box.pause()
            assert (box.status, again.status) == ("paused", "running")
            await again.refresh()
            assert again.status == "paused"
        with pytest.raises(NotFoundError):
            await again.refresh()
        await again.close()

    asyncio.run(main())


@pytest.mark.parametrize("sleep", ["pause", "stop"])
def test_however_many_wake_a_sandbox_by_name_all_get_the_same(sleep):
    async def body(_, box):
        name = f"shared-{box.id}"

        async def connect():
            return await iii_sandbox.Sandbox.connect_or_create(name, "python", **WHERE)

        async with await iii_sandbox.Sandbox.connect_or_create(name, "python", keep=False, **WHERE) as first:
            await getattr(first, sleep)()
            found = await asyncio.gather(*(connect() for _ in range(5)))
            assert {(one.id, one.status) for one in found} == {(first.id, "running")}
            assert (await first.get_url(8000)).startswith("http://8000-")
            for one in found:
                await one.close()

    run(body)


def test_ten_commands_at_once():
    async def body(_, box):
        results = await asyncio.gather(*(box.exec(f"echo {i}") for i in range(10)))
        assert [r.stdout for r in results] == [f"{i}\n" for i in range(10)]

    run(body)


def test_a_stream_outlives_the_clients_deadline():
    async def body(_, box):
        assert [chunk.type async for chunk in box.exec_stream("sleep 1; echo late")] == ["stdout", "exit"]

    run(body, timeout_ms=300)


def test_leaving_a_stream_ends_its_command():
    async def body(_, box):
        async with box.exec_stream("echo here; exec sleep 987") as events:
            async for chunk in events:
                assert chunk.data == "here\n"
                break
        for _ in range(200):
            if not any("sleep 987" in p.command for p in (await box.processes.list()).processes):
                return
            await asyncio.sleep(0.05)
        raise AssertionError("the command still runs")

    run(body)


def test_a_cancelled_call_leaves_a_client_that_works():
    async def body(_, box):
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(box.exec("sleep 30"), 0.3)
        assert (await box.exec("echo on")).stdout == "on\n"

    run(body)


def test_an_idempotency_key_runs_a_command_once():
    async def body(_, box):
        options = CallOptions(idempotency_key=f"key-{box.id}")
        await box.exec("echo x >> /workspace/log", options=options)
        await box.exec("echo x >> /workspace/log", options=options)
        assert await box.filesystem.read("/workspace/log") == "x\n"

    run(body)


def test_a_terminal_size_keys_and_the_shells_exit_code():
    async def body(_, box):
        async with await box.terminal.open(cols=90, rows=20, shell="/bin/sh") as terminal:
            await terminal.write("stty size\n")
            assert await terminal.read_until("20 90")
            await terminal.resize(100, 30)
            await terminal.write(f"sleep 0.2; stty size; echo {'y' * 300}\n")
            assert await terminal.read_until("30 100")
            await terminal.write("exit 7\n")
            assert await terminal.read_until("nothing prints this") is None
            assert (terminal.exit_code, terminal.close_code) == (7, 1000)
        with pytest.raises(ConnectionFailed, match="404"):
            await box.terminal.connect("term_" + "0" * 24)

    run(body)


def test_the_same_without_asyncio():
    data = bytes(i * 31 % 256 for i in range(100_000))
    with sync.create_sandbox(image="python", **WHERE) as box:
        box.filesystem.write_bytes("/workspace/b", data)
        assert box.filesystem.read_bytes("/workspace/b") == data
        box.filesystem.move("/workspace/b", "/workspace/c")
        assert box.filesystem.info("/workspace/c").size == len(data)
        assert [chunk.type for chunk in box.exec_stream("echo x")] == ["stdout", "exit"]
        with box.terminal.open() as first:
            first.write("echo kept-$((1 + 1))\n")
            assert first.read_until("kept-2")
            session = first.session_id
        with box.terminal.connect(session) as second:
            assert second.read_until("kept-2")
    with pytest.raises(NotFoundError):
        sync.get_sandbox(box.id, **WHERE)
