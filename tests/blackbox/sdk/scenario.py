"""A user's program on the published iii-sdk of PyPI: see scenario.mjs."""
import asyncio
import concurrent.futures
import json
import sys
import time
import traceback
import urllib.request

from iii import InitOptions, TriggerAction, register_worker
from iii.triggers import TriggerHandler

try:
    from iii.helpers import create_channel
    from iii_helpers.http import HttpInvocationConfig
except ImportError:  # before 0.22
    from iii.iii import III
    from iii.iii_types import HttpInvocationConfig
    create_channel = III.create_channel

ADDRESS, REST, LISTENER, TARGET, PLAN = sys.argv[1:]
SIZE = 1 << 20
PATTERN = bytes((i * 7 + i // 251) % 256 for i in range(SIZE))
ASIDE = concurrent.futures.ThreadPoolExecutor()


def connect(url, name, headers=None):
    return register_worker(url, InitOptions(worker_name=name, headers=headers))


def call(worker, function_id, payload=None, action=None):
    request = {"function_id": function_id, "payload": {} if payload is None else payload}
    return worker.trigger({**request, "action": action} if action else request)


def until(condition):
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def outcome(worker, function_id, payload=None):
    """The result, or {code} of the error."""
    try:
        return call(worker, function_id, payload)
    except Exception as error:
        return {"code": getattr(error, "code", repr(error))}


def listed(worker):
    return [one["function_id"] for one in call(worker, "engine::functions::list", {"prefix": "sdk::"})["functions"]]


def registered(worker):
    """Messages of one connection are handled in order: its registrations are known after an answer."""
    call(worker, "engine::workers::list")


def carry_out(worker, name):
    return [outcome(worker, *one) for one in json.loads(PLAN)[name]]


def functions(a, b):
    def throws(_):
        raise ValueError("on purpose")
    a.register_function("sdk::add", lambda data: {"sum": data["x"] + data["y"], "caller": isinstance(data.get("_caller_worker_id"), str)})
    a.register_function("sdk::throws", throws)
    a.register_function("sdk::gone", lambda _: 1).unregister()
    registered(a)
    return {"add": call(b, "sdk::add", {"x": 2, "y": 3}), "throws": outcome(b, "sdk::throws"), "gone": outcome(b, "sdk::gone"), "listed": listed(b)}


def queues(a, b):
    seen = []
    a.register_function("sdk::note", lambda data: seen.append(data["n"]))
    registered(a)
    call(b, "sdk::note", {"n": 1}, TriggerAction.Void())
    receipt = call(b, "sdk::note", {"n": 2}, TriggerAction.Enqueue(queue="sdk"))
    receipt = receipt if isinstance(receipt, dict) else receipt.model_dump()
    until(lambda: len(seen) == 2)
    return {"receipt": isinstance(receipt["messageReceiptId"], str), "seen": sorted(seen)}


def streams(a, b):
    a.register_function("stream::get(sdk-mine)", lambda data: {"mine": data["item_id"]})
    a.register_function("stream::set(sdk-mine)", lambda data: {"new_value": data["data"]})
    registered(a)
    return carry_out(b, "streams")


def triggers(a, b):
    bound, heard = [], []

    class Handler(TriggerHandler):
        async def register_trigger(self, config):
            bound.append(config.id)

        async def unregister_trigger(self, config):
            pass

    a.register_trigger_type({"id": "sdk::type", "description": "custom"}, Handler())
    b.register_function("sdk::heard", lambda data: heard.append(data))
    trigger = b.register_trigger({"type": "sdk::type", "function_id": "sdk::heard", "config": {"a": 1}})
    until(lambda: len(bound) == 1)
    trigger.unregister()
    left = call(b, "engine::registered-triggers::list", {"function_id": "sdk::heard"})["registered_triggers"]
    for kind, config in (("subscribe", {"topic": "sdk"}), ("state", {"scope": "sdk-heard"}), ("stream", {"stream_name": "sdk-heard"})):
        b.register_trigger({"type": kind, "function_id": "sdk::heard", "config": config})
    b.register_function("sdk::page", lambda request: {"status_code": 201, "body": {"hello": request["path_params"]["name"], "got": request["body"]}})
    b.register_trigger({"type": "http", "function_id": "sdk::page", "config": {"api_path": "/sdk/:name", "http_method": "POST"}})
    registered(b)
    call(a, "publish", {"topic": "sdk", "data": {"hot": True}})
    until(lambda: len(heard) == 1)
    call(a, "state::set", {"scope": "sdk-heard", "key": "k", "value": 1})
    until(lambda: len(heard) == 2)
    call(a, "stream::set", {"stream_name": "sdk-heard", "group_id": "g", "item_id": "i", "data": 1})
    until(lambda: len(heard) == 3)
    request = urllib.request.Request(REST + "/sdk/you", data=b'{"n":1}', headers={"content-type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        page = json.load(answer)
    return {"left": left, "topic": heard[0], "state": heard[1]["event_type"], "stream": heard[2]["event"], "status": answer.status, "page": page}


def channels(a, b):
    async def swallow(data):
        return await data["input"].read_all() == PATTERN

    async def emit(data):
        await data["output"].send_message_async("first")
        await data["output"].write(PATTERN)
        await data["output"].close_async()
        return True
    a.register_function("sdk::swallow", swallow)
    a.register_function("sdk::emit", emit)
    registered(a)
    texts, up, down = [], create_channel(b), create_channel(b)
    swallowed = ASIDE.submit(call, b, "sdk::swallow", {"input": up.reader_ref.model_dump()})
    up.writer.stream.end(PATTERN)
    down.reader.on_message(texts.append)
    emitted = ASIDE.submit(call, b, "sdk::emit", {"output": down.writer_ref.model_dump()})
    got = asyncio.run(down.reader.read_all())
    return {"up": swallowed.result(), "emitted": emitted.result(), "down": got == PATTERN, "texts": texts}


def http(a, b):
    remote = a.register_function("sdk::remote", HttpInvocationConfig(url=TARGET + "/remote?a=1", method="PUT", headers={"X-Mine": "sdk"}))
    a.register_function("sdk::closed", HttpInvocationConfig(url="http://127.0.0.1:1/"))
    registered(a)
    said = {"answer": call(b, "sdk::remote", {"n": 1}), "closed": outcome(b, "sdk::closed"), "listed": "sdk::remote" in listed(b)}
    remote.unregister()
    registered(a)
    return {**said, "gone": outcome(b, "sdk::remote")}


def rbac(a, _):
    asked, hooked = [], []

    def auth(data):
        asked.append(data["headers"]["x-tenant"])
        return {"allowed_functions": ["sdk::add", "engine::functions::list"], "function_registration_prefix": "acme", "context": {"tenant": asked[-1]}}

    def on_function(data):
        hooked.extend([data["function_id"], data["context"]["tenant"]])
        return {}
    a.register_function("sdk::auth", auth)
    a.register_function("sdk::on_function", on_function)
    registered(a)
    c = connect(LISTENER, "sdk-c", {"X-Tenant": "acme"})
    c.register_function("guest::one", lambda _: {"from": "guest"})
    said = {"add": call(c, "sdk::add", {"x": 1, "y": 1}), "denied": outcome(c, "sdk::note"), "listed": listed(c), "prefixed": call(a, "acme::guest::one")}
    c.shutdown()
    return {**said, "asked": asked, "hooked": hooked}


def main():
    a, b = connect(ADDRESS, "sdk-a"), connect(ADDRESS, "sdk-b")
    scenarios = {"functions": functions, "queues": queues, "state": lambda _, worker: carry_out(worker, "state"), "streams": streams,
                 "triggers": triggers, "channels": channels, "http": http, "rbac": rbac}
    for name, run in scenarios.items():
        try:
            result = run(a, b)
        except Exception:
            result = {"failed": traceback.format_exc()}
        print(json.dumps({name: result}), flush=True)
    b.shutdown()
    a.shutdown()


main()
