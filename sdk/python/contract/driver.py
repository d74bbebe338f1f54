"""Runs requests of the contract scenarios (tests/contract/README.md) through the classes of this package."""
import asyncio
import base64
import inspect
import json
import os
import pathlib
import sys

from pydantic import BaseModel

from iii_sandbox import ApiError, CommandFailed, ClientConfig, Sandbox, Sandboxes
from iii_sandbox.types import SandboxInfo

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(ROOT / "tools" / "sdkgen"))

import model  # noqa: E402


def box(client, id):
    """A sandbox by its id alone: the requests name it by nothing else."""
    return Sandbox(client.http, SandboxInfo.model_construct(id=id))


async def info(pending):
    return (await pending).info


async def wrap(name, pending):
    return {name: await pending}


async def talk(c, a):
    async with await box(c, a["id"]).terminal.open() as terminal:
        await terminal.write(a["input"])
        return {"found": await terminal.read_until(a["until"]) is not None}


def fields(a, *left_out):
    """Fields by the names of Python."""
    return {model.snake(name): value for name, value in a.items() if name not in left_out}


def command(a):
    """Arguments of exec: bytes of standard input are given as such."""
    given = fields(a, "id", "stdinEncoding")
    if a.get("stdinEncoding") == "base64":
        given["stdin"] = base64.b64decode(a["stdin"])
    return given


async def infos(pending):
    made = await pending
    return {"sandboxes": [box.info for box in (made if isinstance(made, list) else [made])]}


# What is written by hand in this package.
BY_HAND = {
    "sandbox_create": lambda c, a: info(c.create(**fields(a))),
    "sandbox_list": lambda c, a: c.list(**fields(a)),
    "sandbox_get": lambda c, a: info(c.get(a["id"])),
    "sandbox_clone": lambda c, a: info(box(c, a["id"]).clone(a.get("name"))),
    "sandbox_fork": lambda c, a: infos(box(c, a["id"]).fork(**fields(a, "id"))),
    "cmd_run": lambda c, a: box(c, a["id"]).exec(**command(a)),
    "cmd_run_stream": lambda c, a: box(c, a["id"]).exec_stream(**command(a)),
    "fs_info": lambda c, a: box(c, a["id"]).filesystem.info(a.get("paths") or a["path"]),
    "fs_mkdir": lambda c, a: box(c, a["id"]).filesystem.mkdir(a.get("paths") or a["path"]),
    "fs_rmdir": lambda c, a: box(c, a["id"]).filesystem.rmdir(a.get("paths") or a["path"]),
    "terminal_talk": talk,
}


def calls_of(op):
    """{streams: function of client and fields} by the methods that the SDK line of an operation names."""
    found = {}
    for m in (m for m in op.methods if not m.is_by_hand("python")):
        def call(client, a, m=m):
            owner = box(client, a.get("id", "")) if m.group.in_sandbox else client
            path = {"sandbox": (), "contexts": ("interpreter", "contexts")}.get(m.group.name, (m.group.name,))
            for name in path:
                owner = getattr(owner, name)
            given = {model.snake(x.shown): a[x.field.name] for x in (*m.arguments, *(m.options or ())) if x.field.name in a}
            result = getattr(owner, model.snake(m.name_in("python")))(**given)
            return wrap(m.member, result) if m.member else result
        found.setdefault(m.streams, call)  # the first line of an operation is the whole of it
    return found


CALLS = {op.name: calls_of(op) for op in model.read(ROOT / "docs" / "openapi.json").operations}
CALLS |= {name: {False: call} for name, call in BY_HAND.items()}


async def collect(events, take):
    found = []
    async with events:
        async for event in events:
            found.append(event)
            if len(found) == take:
                break
    return found


def plain(value):
    """JSON of the wire's shape."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_unset=True)
    if isinstance(value, list):
        return [plain(one) for one in value]
    return {k: plain(v) for k, v in value.items()} if isinstance(value, dict) else value


async def answer(request, clients):
    """`clients` by token: as a program of a user, this one keeps its connections."""
    if request["op"] == "operations":
        return {"ok": sorted(CALLS)}
    token = request.get("token", os.environ["III_TOKEN"])
    if token not in clients:
        clients[token] = Sandboxes(ClientConfig(base_url=os.environ["III_URL"], token=token))
    try:
        calls = CALLS[request["op"]]
        call = calls.get(request.get("stream", False)) or next(iter(calls.values()))
        result = call(clients[token], request.get("args", {}))
        result = await result if inspect.isawaitable(result) else await collect(result, request.get("take"))
        return {"ok": plain(result)}
    except CommandFailed as error:
        return {"error": {"code": "command_failed", "status": 200, "message": str(error)}}
    except ApiError as error:
        return {"error": {"code": error.code, "status": error.status, "message": error.reason}}


async def main():
    clients = {}
    while line := await asyncio.to_thread(sys.stdin.readline):
        print(json.dumps(await answer(json.loads(line), clients)), flush=True)
    for client in clients.values():
        await client.close()


asyncio.run(main())
