"""What a type checker must know about the Python SDK: checked by mypy --strict (test_python.py), never run."""
from typing_extensions import assert_type

from iii_sandbox import CodeError, Execution, ExecResult, Sandbox, sync


async def asynchronous() -> None:
    async with Sandbox.create("python", memory=64, env={"A": "b"}, if_exists="connect") as box:
        assert_type(box, Sandbox)
    assert_type(await Sandbox.connect_or_create("name", timeout=60), Sandbox)
    assert_type(await box.exec("true", env={"A": "b"}, stdin=b"", on_stdout=print, check=True), ExecResult)
    assert_type(await box.fork(), Sandbox)
    assert_type(await box.fork(2), list[Sandbox])
    assert_type(await Sandbox.list(metadata={"a": "b"}), list[Sandbox])
    assert_type((await box.run_code("1")).error, CodeError | None)
    assert_type(await box.get_url(80), str)


def blocking() -> None:
    with sync.Sandbox.create() as box:
        assert_type(box, sync.Sandbox)
    assert_type(box.run_code("1", "javascript"), Execution)
    assert_type(box.exec("true").exit_code, int)
    assert_type(box.exec("true").exitCode, int)
    assert_type(box.clone(), sync.Sandbox)
    assert_type(box.created_at, int)
    sync.Sandbox.create(colour="blue")  # type: ignore[call-arg]
