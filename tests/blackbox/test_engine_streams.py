"""stream::*: items, their events, streams that a worker provides, subscribers, and where items are kept."""
import json
import socket
import threading
import uuid

import pytest

import engineclient
import harness
import wsclient


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


@pytest.fixture
def key():
    return {"stream_name": uuid.uuid4().hex, "group_id": "g", "item_id": "i"}


def group(key):
    return {k: key[k] for k in ("stream_name", "group_id")}


def reply(w, function_id, data):
    return w.expect("invocationresult", invocation_id=w.ask(function_id, data))


# --- functions ---

def test_items(new_worker, key):
    w = new_worker()
    assert set(reply(w, "stream::get", key)) == {"type", "invocation_id", "function_id"}
    assert w.call("stream::delete", key) == {"old_value": None}
    assert w.call("stream::set", {**key, "data": {"n": 1}, "_caller_worker_id": "x"}) == {"old_value": None, "new_value": {"n": 1}}
    assert w.call("stream::set", {**key, "data": None}) == {"old_value": {"n": 1}, "new_value": None}
    assert reply(w, "stream::get", key)["result"] is None
    assert w.call("stream::set", {**key, "item_id": "a", "data": 2}) and w.call("stream::set", {**key, "group_id": "f", "data": 3})
    assert w.call("stream::list", group(key)) == [None, 2]  # in the order of insertion, values only
    assert w.call("stream::list", {**group(key), "group_id": "none"}) == []
    assert w.call("stream::list_groups", {"stream_name": key["stream_name"]}) == ["f", "g"]
    everything = w.call("stream::list_all", {})
    assert {"id": key["stream_name"], "groups": ["f", "g"]} in everything["stream"] and everything["count"] == len(everything["stream"])
    assert w.call("stream::delete", {**key, "item_id": "a"}) == {"old_value": 2}
    assert w.call("stream::delete", key) == {"old_value": None}
    assert w.call("stream::list_groups", {"stream_name": key["stream_name"]}) == ["f"]
    w.call("stream::delete", {**key, "group_id": "f"})
    assert key["stream_name"] not in [s["id"] for s in w.call("stream::list_all", {})["stream"]]


def test_update(new_worker, key):
    w = new_worker()
    done = w.call("stream::update", {**key, "ops": [{"type": "set", "path": "a", "value": 1}, {"type": "append", "path": "t", "value": "x"}]})
    assert done == {"old_value": None, "new_value": {"a": 1, "t": "x"}}
    done = w.call("stream::update", {**key, "ops": [{"type": "increment", "path": "t", "by": 1}, {"type": "append", "path": "t", "value": "y"},
                                                    {"type": "merge", "path": ["m", "n"], "value": {"o": 1}}]})
    assert done["new_value"] == {"a": 1, "t": "xy", "m": {"n": {"o": 1}}} == w.call("stream::get", key)
    assert [(e["op_index"], e["code"]) for e in done["errors"]] == [(0, "increment.not_number")]


def test_payloads_that_do_not_fit(new_worker, key):
    w = new_worker()
    for function, data in (("stream::set", key), ("stream::get", group(key)), ("stream::set", {**key, "group_id": 5, "data": 1}),
                           ("stream::list", {"stream_name": "x"}), ("stream::list_groups", {}), ("stream::update", {**key, "ops": 1}),
                           ("stream::update", {**key, "ops": [{"type": "fly"}]}), ("stream::send", {**group(key), "data": 1}),
                           ("stream::get", {**key, "item_id": "x" * 513})):
        assert w.fail(function, data).code == "deserialization_error"
    assert w.fail("stream::set", {**key, "data": "x" * (16 << 20)}).code == "STREAM_SET_ERROR"


def test_names_do_not_run_together(new_worker):
    w = new_worker()
    name = uuid.uuid4().hex
    w.call("stream::set", {"stream_name": name + ":a", "group_id": "b", "item_id": "i", "data": 1})
    assert w.call("stream::list", {"stream_name": name, "group_id": "a:b"}) == []


# --- events ---

def test_triggers(new_worker, key):
    w = new_worker()
    for name in ("t::all", "t::one", "t::other"):
        w.register(name)
    w.bind("stream", "t::all", {"stream_name": key["stream_name"], "group_id": ""})
    w.bind("stream", "t::one", {**group(key), "item_id": "i"})
    w.bind("stream", "t::other", {"stream_name": "another"})
    w.call("stream::set", {**key, "data": 1})
    for name in ("t::all", "t::one"):
        got = w.asked(name)["data"]
        assert isinstance(got.pop("timestamp"), int)
        assert got == {"type": "stream", "streamName": key["stream_name"], "groupId": "g", "id": "i", "event": {"type": "create", "data": 1}}
    w.call("stream::update", {**key, "ops": [{"type": "increment", "path": "", "by": 1}]})
    w.call("stream::delete", key)
    w.call("stream::delete", key)  # nothing was there: no event
    assert reply(w, "stream::send", {**group(key), "type": "hello", "data": [1]}).get("result") is None
    w.call("stream::set", {**key, "item_id": "j", "data": 5})
    assert [w.asked("t::one")["data"]["event"] for _ in range(2)] == [{"type": "update", "data": 2}, {"type": "delete", "data": 2}]
    events = [w.asked("t::all")["data"] for _ in range(4)]
    assert [(e["event"], e["id"]) for e in events[2:]] == [({"type": "event", "event": {"type": "hello", "data": [1]}}, None),
                                                          ({"type": "create", "data": 5}, "j")]
    w.sync()
    assert w.seen == []


def test_trigger_needs_a_stream_and_its_condition(new_worker, key):
    w = new_worker()
    w.register("t::f")
    for config in ({}, {"group_id": "g"}, [], "x", {"stream_name": ""}):
        trigger = w.bind("stream", "t::f", config)
        assert w.expect("triggerregistrationresult", id=trigger)["error"]["code"] == "trigger_registration_failed"
    w.register("t::if")
    w.bind("stream", "t::f", {"stream_name": key["stream_name"], "condition_function_id": "t::if"})
    for n, answer in enumerate(({"result": False}, {"error": {"code": "x", "message": "y"}}, {"result": True})):
        w.call("stream::set", {**key, "data": n})
        w.reply(w.asked("t::if"), **answer)
    assert w.asked("t::f")["data"]["event"]["data"] == 2  # neither false nor an error calls it


# --- streams of workers ---

def test_worker_provides_a_stream(new_worker, key):
    owner, w = new_worker(), new_worker()
    name = key["stream_name"]
    w.call("stream::set", {**key, "data": "stored"})
    for verb in ("get", "set", "delete", "list", "list_groups", "update"):
        owner.register(f"stream::{verb}({name})")
    w.register("t::heard")
    w.bind("stream", "t::heard", {"stream_name": name})

    def through(verb, data, **answer):
        call = w.ask(f"stream::{verb}", {**data, "unlisted": 1})
        asked = owner.asked(f"stream::{verb}({name})")
        assert asked["data"] == data
        owner.send(type="invocationresult", invocation_id=asked["invocation_id"], function_id=asked["function_id"], **answer)
        return w.expect("invocationresult", invocation_id=call)

    assert through("get", key, result={"own": 1})["result"] == {"own": 1}
    assert "result" not in through("get", key)
    assert through("get", key, error={"code": "mine", "message": "no"})["error"]["code"] == "mine"
    assert through("list", group(key), result=[1, 2])["result"] == [1, 2]
    assert through("list_groups", {"stream_name": name}, result=["x"])["result"] == ["x"]
    assert through("set", {**key, "data": 3}, result={"new_value": 3})["result"] == {"old_value": None, "new_value": 3}
    assert w.asked("t::heard")["data"]["event"] == {"type": "create", "data": 3}
    assert through("update", {**key, "ops": []}, result={"new_value": 4, "old_value": 3})["result"] == {"old_value": 3, "new_value": 4}
    assert w.asked("t::heard")["data"]["event"] == {"type": "update", "data": 4}
    assert through("delete", key, result={})["result"] == {"old_value": None}
    assert through("delete", key, result={"old_value": 4})["result"] == {"old_value": 4}
    assert w.asked("t::heard")["data"]["event"] == {"type": "delete", "data": 4}
    for answer, code in (({"result": 5}, "JSON_ERROR"), ({"result": {"old_value": 1}}, "JSON_ERROR"), ({}, "STREAM_SET_ERROR"),
                         ({"error": {"code": "mine", "message": "no"}}, "STREAM_SET_ERROR")):
        assert through("set", {**key, "data": 1}, **answer)["error"]["code"] == code
    owner.send(type="unregisterfunction", id=f"stream::get({name})")
    owner.sync()
    assert w.call("stream::get", key) == "stored"  # each operation is looked up on its own
    call = w.ask("stream::list", group(key))
    owner.asked(f"stream::list({name})")
    owner.cut()
    assert w.expect("invocationresult", invocation_id=call)["error"]["code"] == "invocation_stopped"


# --- subscribers ---

class Subscriber(wsclient.WebSocket):
    def say(self, kind, subscription, key, **more):
        data = {"subscriptionId": subscription, "streamName": key["stream_name"], "groupId": key["group_id"], **more}
        self.send(json.dumps({"type": kind, "data": data}))

    def hear(self):
        return json.loads(self.recv())


@pytest.fixture(scope="module")
def streaming(tmp_path_factory):
    """A server with a subscribers' port."""
    config = tmp_path_factory.mktemp("streams") / "config.yaml"
    port = free_port()
    config.write_text(f"workers:\n  - name: iii-stream\n    config:\n      port: {port}\n      auth_function: t::auth\n")
    with harness.Server(flags=["--config", str(config)]) as server:
        yield server, port


@pytest.fixture
def gate(streaming):
    """Connects workers, and subscribers whom a worker judges."""
    made = []

    def connect(answer=None, **how):
        with engineclient.Worker(streaming[0].engine_port) as judge:
            judge.register("t::auth")
            box = []
            thread = threading.Thread(target=lambda: box.append(judge.serve("t::auth", lambda data: answer)))
            thread.start()
            try:
                s = Subscriber(streaming[1], "/?room=a&room=b", **how)
            finally:
                thread.join(harness.DEADLINE_S)
            made.append(s)
            return s, box[0]["data"]

    w = engineclient.Worker(streaming[0].engine_port)
    made.append(w)
    yield connect, w
    for one in made:
        one.cut()


def test_subscriber_hears_what_matches(gate, key):
    connect, w = gate
    s, asked = connect({"context": {"user": 7}}, headers={"X-Who": "me"})
    assert asked["path"] == "/" and asked["query_params"] == {"room": ["a", "b"]} and asked["headers"]["x-who"] == "me" and asked["addr"]
    w.call("stream::set", {**key, "data": 1})
    s.say("join", "s1", key)
    assert s.hear()["event"] == {"type": "sync", "data": [1]}
    s.send(b"not json")
    s.send('{"type": "dance"}')
    s.say("join", "s2", key, id="j")
    got = s.hear()
    assert got["event"] == {"type": "sync", "data": None} and got["id"] == "j" and got["streamName"] == key["stream_name"]
    w.call("stream::set", {**key, "data": 2})
    assert s.hear()["event"] == {"type": "update", "data": 2}
    w.call("stream::set", {**key, "item_id": "j", "data": 3})
    assert [s.hear()["id"] for _ in range(2)] == ["j", "j"]  # once for each subscription that matches
    s.say("leave", "s1", key)
    s.say("join", "s3", key, id="k")
    assert s.hear()["event"] == {"type": "sync", "data": None}  # and so the leave was handled
    w.call("stream::set", {**key, "data": 4})
    w.call("stream::send", {**group(key), "id": "j", "type": "wave", "data": None})
    assert s.hear()["event"] == {"type": "event", "event": {"type": "wave", "data": None}}
    s.send_frame(wsclient.PING, b"still there?")
    w.call("stream::delete", {**key, "item_id": "j"})
    assert s.hear()["event"] == {"type": "delete", "data": 3}


def test_join_and_leave_triggers(gate, key):
    connect, w = gate
    for name in ("t::join", "t::leave"):
        w.register(name)
        w.bind("stream:" + name[3:], name, {"stream_name": key["stream_name"]})
    s, _ = connect({"context": {"user": 7}})
    s.say("join", "no", key, id="i")
    asked = w.asked("t::join")
    assert asked["data"] == {"subscription_id": "no", "stream_name": key["stream_name"], "group_id": "g", "id": "i", "context": {"user": 7}}
    w.reply(asked, {"unauthorized": True})
    assert s.hear()["event"] == {"type": "unauthorized"}
    for name, answer in (("a", {"result": None}), ("b", {"error": {"code": "x", "message": "y"}})):  # both allow
        s.say("join", name, key)
        w.reply(w.asked("t::join"), **answer)
        assert s.hear()["event"]["type"] == "sync"
    s.say("leave", "a", key)
    assert w.asked("t::leave")["data"]["subscription_id"] == "a"
    s.say("leave", "no", key)  # was never joined
    s.cut()
    left = w.asked("t::leave")["data"]
    assert left["subscription_id"] == "b" and left["id"] is None and left["context"] == {"user": 7}
    w.sync()
    assert w.seen == []


def test_subscriptions_are_limited(gate, key):
    s, _ = gate[0]({})
    for i in range(257):
        s.say("join", f"s{i}", key)
    heard = [s.hear() for _ in range(257)]
    assert [m["event"]["type"] for m in heard[:256]] == ["sync"] * 256
    assert heard[256]["error"]["code"] == "subscription_limit" and "256" in heard[256]["error"]["message"]


def test_subscriber_without_approval_is_refused(gate, streaming):
    with pytest.raises(wsclient.Refused) as why:
        wsclient.WebSocket(streaming[1], "/")  # nobody has registered the auth function
    assert why.value.status == 401
    with pytest.raises(wsclient.Refused) as why:
        wsclient.WebSocket(streaming[1], "/elsewhere")
    assert why.value.status == 404


# --- where items are kept ---

@pytest.mark.parametrize("method, survives", [("file_based", True), ("in_memory", False)])
def test_items_after_a_restart(tmp_path, key, method, survives):
    config = tmp_path / "config.yaml"
    config.write_text(json.dumps({"workers": [{"name": "iii-stream", "config": {"port": 0, "adapter": {
        "name": "kv", "config": {"store_method": method, "file_path": "kept", "save_interval_ms": 86400000}}}}]}))
    with harness.Server(flags=["--config", str(config)]) as server:
        with engineclient.Worker(server.engine_port) as w:
            w.call("stream::set", {**key, "data": {"kept": 1}})
        server.kill()  # what was answered is on disk, whatever save_interval_ms says
        server.start()
        with engineclient.Worker(server.engine_port) as w:
            assert w.call("stream::get", key) == ({"kept": 1} if survives else None)
            w.call("stream::delete", key)
            assert w.call("stream::list_all", {}) == {"stream": [], "count": 0}


@pytest.mark.parametrize("config, problem", [
    ({"prt": 1}, 'unknown key "prt"'), ({"port": 70000}, "port must be 0 to 65535"), ({"port": "x"}, "port must be a whole number"),
    ({"adapter": {"name": "redis"}}, '"redis" is not available: use kv or bridge'),
    ({"adapter": {"name": "kv", "config": {"store_method": "tape"}}}, "store_method must be in_memory or file_based"),
    ({"adapter": {"config": {"save_interval_ms": 5}}}, "save_interval_ms must be 100 to"),
    ({"host": "0.0.0.0", "port": 0}, "refusing to listen on 0.0.0.0")])
def test_configuration_is_checked(tmp_path, config, problem):
    path = tmp_path / "config.yaml"
    path.write_text(json.dumps({"workers": [{"name": "iii-stream", "config": config}]}))
    done = harness.run_cli("serve", "--config", path, "--port", "0", "--engine-port", "0", "--data-dir", tmp_path / "d")
    assert done.returncode != 0 and "iii-stream" in done.stderr and problem in done.stderr


def test_entries_that_are_not_understood_are_named(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text("workers:\n  - name: iii-queue\n    config: {x: 1}\n  - name: iii-state\n")
    with harness.Server(flags=["--config", str(path)]) as server:
        assert "iii-queue" in server.log() and "config.yaml:2:11" in server.log() and "the entry is ignored" in server.log()
        assert server.log().count("config.unknown_worker") == 1
