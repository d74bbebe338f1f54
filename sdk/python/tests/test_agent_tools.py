"""The tools for agents, without any framework: what they ask the server, and what they tell a model."""
import asyncio

import pytest
from conftest import RECORD, hang_up, reply

from iii_sandbox import ConnectionFailed, Sandbox, errors, sync
from iii_sandbox.integrations._tools import OUTPUT_MAX, TOOLS

BY_NAME = {tool.name: tool for tool in TOOLS}
RESULT = {"exitCode": 0, "stdout": "", "stderr": "", "duration": 5}
CODE = {"output": "", "error": None, "executionTime": 3, "results": [], "stdout": "", "stderr": "", "errorName": None, "errorValue": None, "traceback": [],
        "executionCount": 1, "timedOut": False, "truncated": False, "state": "idle"}


def told(fake, name, status, answer, **arguments):
    """What a model is told, by the blocking class and by the other: the same."""
    server = fake(lambda x, _: reply(x, 200, RECORD) if x.path.endswith("/sandboxes") else reply(x, status, answer))
    box = sync.Sandbox.create(base_url=server.url)
    text = BY_NAME[name].run(box, arguments)

    async def by_asyncio():
        async with Sandbox.create(base_url=server.url, keep=True) as other:
            return await BY_NAME[name].arun(other, arguments), await BY_NAME[name].arun(box, arguments)

    assert set(asyncio.run(by_asyncio())) == {text}
    return text


@pytest.mark.parametrize("change, says", [
    ({"stdout": "out\n", "stderr": "err\n"}, "out\nerr"), ({}, "(no output)"), ({"exitCode": 2, "stderr": "bad"}, "bad\nexit code 2"),
    ({"exitCode": 137, "signal": "KILL"}, "killed by KILL"), ({"exitCode": 137, "signal": "KILL", "oomKilled": True}, "out of memory")])
def test_what_is_told_of_a_command(fake, change, says):
    assert told(fake, "run_command", 200, {**RESULT, **change}, command="x") == says


@pytest.mark.parametrize("change, says", [
    ({"stdout": "p\n", "results": [{"type": "text", "data": "42"}, {"type": "png", "data": "cG5n"}]}, "p\n42\n(1 image)"),
    ({"errorName": "E", "errorValue": "v", "traceback": ["Traceback", "E: v"]}, "Traceback\nE: v")])
def test_what_is_told_of_code(fake, change, says):
    assert told(fake, "run_code", 200, {**CODE, **change}, code="x") == says


def test_what_is_told_of_files(fake):
    entries = [{"name": "d", "path": "/workspace/d", "size": 0, "isDirectory": True, "modifiedAt": 1}, {"name": "f", "path": "/workspace/f", "size": 3, "isDirectory": False, "modifiedAt": 1}]
    assert told(fake, "list_files", 200, entries) == "d/\nf (3 bytes)"
    assert told(fake, "write_file", 200, {"success": True}, path="a", content="b") == "written"
    assert told(fake, "read_file", 200, "text", path="a") == "text" and told(fake, "read_file", 200, "", path="a") == "(empty)"


def test_a_refusal_is_told_with_the_output_so_far(fake):
    late = {"error": "command timed out after 1000 ms", "result": {**RESULT, "exitCode": -1, "stdout": "begun\n"}}
    assert told(fake, "run_command", 504, late, command="x", timeout=1) == "error: command timed out after 1000 ms\nbegun"
    assert told(fake, "read_file", 404, {"error": "read /workspace/x: No such file or directory"}, path="x").startswith("error: read /workspace/x")


def test_long_output_is_cut_in_the_middle(fake):
    text = told(fake, "run_command", 200, {**RESULT, "stdout": "a" * 20_000 + "z" * 20_000}, command="x")
    assert len(text) < OUTPUT_MAX + 100 and text[0] == "a" and text[-1] == "z" and "24000 characters cut" in text


def test_what_a_model_cannot_mend_is_raised(fake):
    for status, kind in ((401, errors.UnauthorizedError), (403, errors.ForbiddenError)):
        with pytest.raises(kind):
            told(fake, "run_command", status, {"error": "no"}, command="x")
    server = fake(lambda x, n: reply(x, 200, RECORD) if n == 1 else hang_up(x, n))
    with pytest.raises(ConnectionFailed):
        BY_NAME["run_command"].run(sync.Sandbox.create(base_url=server.url), {"command": "x"})


def test_the_schemas_name_what_is_required():
    for tool in TOOLS:
        assert tool.schema["type"] == "object" and set(tool.schema["required"]) <= set(tool.schema["properties"]) and len(tool.description) < 250
