"""Trigger types: those of workers, parked bindings, and the engine's own (http, cron, subscribe, queue, state, presence)."""
import datetime
import json
import threading
import uuid

import pytest

import harness
from engineclient import Worker, open_channel


def failure_of(w, kind, config):
    trigger = w.bind(kind, "t::f", config)
    return w.expect("triggerregistrationresult", id=trigger)["error"]


# --- types of workers ---

def test_binding_is_handed_to_the_provider(new_worker):
    provider, consumer = new_worker(), new_worker()
    provider.send(type="registertriggertype", id="t::custom", description="custom")
    provider.sync()
    consumer.register("t::handler")
    trigger = consumer.bind("t::custom", "t::handler", {"every": 3}, metadata={"m": 1})
    got = provider.expect("registertrigger", id=trigger)
    assert got == {"type": "registertrigger", "id": trigger, "trigger_type": "t::custom", "function_id": "t::handler",
                   "config": {"every": 3}, "metadata": {"m": 1}}
    provider.void("t::handler", {"fired": True})
    assert consumer.asked("t::handler")["data"]["fired"] is True
    consumer.send(type="unregistertrigger", id=trigger)
    assert provider.expect("unregistertrigger", id=trigger)["trigger_type"] == "t::custom"


def test_binding_without_a_type_is_parked(new_worker):
    consumer = new_worker()
    trigger = consumer.bind("t::later", "t::handler", {})
    assert consumer.seen == []
    provider = new_worker()
    provider.send(type="registertriggertype", id="t::later", description="")
    provider.expect("registertrigger", id=trigger)
    provider.close()
    provider = new_worker()  # comes back: the same binding is handed over again
    provider.send(type="registertriggertype", id="t::later", description="")
    provider.expect("registertrigger", id=trigger)
    provider.send(type="unregistertriggertype", id="t::later")
    provider.send(type="registertriggertype", id="t::later", description="")
    provider.expect("registertrigger", id=trigger)
    consumer.close()
    provider.expect("unregistertrigger", id=trigger)


def test_providers_error_reaches_the_consumer(new_worker):
    provider, consumer, thief = new_worker(), new_worker(), new_worker()
    provider.send(type="registertriggertype", id="t::picky", description="")
    provider.sync()
    trigger = consumer.bind("t::picky", "t::handler", {})
    provider.expect("registertrigger", id=trigger)
    answer = {"type": "triggerregistrationresult", "id": trigger, "trigger_type": "t::picky", "function_id": "t::handler",
              "error": {"code": "no", "message": "not today"}}
    thief.send(**answer)
    thief.sync()
    consumer.sync()
    assert consumer.seen == []
    provider.send(**answer)
    assert consumer.expect("triggerregistrationresult", id=trigger)["error"] == {"code": "no", "message": "not today"}


def test_types_of_the_engine_cannot_be_taken(new_worker):
    w = new_worker()
    w.send(type="registertriggertype", id="cron", description="mine")
    w.sync()
    assert w.call("engine::triggers::info", {"id": "cron"})["worker_name"] == "iii-sandbox"


def test_trigger_of_another_worker_is_left_alone(new_worker):
    one, two = new_worker(), new_worker()
    trigger = one.bind("t::nobody", "t::handler", {})
    two.send(type="unregistertrigger", id=trigger)
    two.sync()
    assert one.call("engine::registered-triggers::info", {"id": trigger})["trigger_type"] == "t::nobody"
    two.send(type="registertrigger", id=trigger, trigger_type="x", function_id="y", config={})
    assert two.expect("triggerregistrationresult", id=trigger)["error"]["code"] == "trigger_registration_failed"


def test_trigger_that_stays(new_worker):
    w = new_worker()
    trigger = w.call("engine::register_trigger", {"trigger_type": "subscribe", "function_id": "t::stays", "config": {"topic": "s"}})["id"]
    w.close()
    w = new_worker()
    assert w.call("engine::registered-triggers::info", {"id": trigger})["function_id"] == "t::stays"
    assert w.call("engine::unregister_trigger", {"id": trigger}) == {"removed": True}
    assert w.call("engine::unregister_trigger", {"id": trigger}) == {"removed": False}
    assert w.fail("engine::register_trigger", {"trigger_type": "cron", "function_id": "x", "config": {"expression": "?"}}).code == \
        "trigger_registration_failed"


# --- subscribe ---

def test_publish_reaches_all_subscribers(new_worker):
    one, two = new_worker(), new_worker()
    for w, name in ((one, "t::one"), (two, "t::two")):
        w.register(name)
        w.bind("subscribe", name, {"topic": "news"}, metadata={"for": name})
    assert one.call("publish", {"topic": "news", "data": ["hot"]}) is None
    assert one.call("publish", {"topic": "other", "data": 1}) is None
    for w, name in ((one, "t::one"), (two, "t::two")):
        asked = w.asked(name)
        assert asked["data"] == ["hot"] and asked["metadata"] == {"for": name}
        w.sync()
        assert w.seen == []
    assert one.fail("publish", {"data": 1}).code == "deserialization_error" and one.fail("publish", {"topic": "", "data": 1}).code == "topic_not_set"
    assert failure_of(one, "subscribe", {})["code"] == "trigger_registration_failed"


@pytest.mark.parametrize("answer, is_called", [(False, False), (True, True), (None, True), (0, True)])
def test_condition(new_worker, answer, is_called):
    w = new_worker()
    w.register("t::condition")
    w.register("t::guarded")
    w.bind("subscribe", "t::guarded", {"topic": "guarded", "condition_function_id": "t::condition"})
    w.call("publish", {"topic": "guarded", "data": {"n": 1}})
    asked = w.asked("t::condition")
    assert asked["data"] == {"n": 1}
    w.reply(asked, answer)
    w.sync()
    assert [m["function_id"] for m in w.seen] == (["t::guarded"] if is_called else [])


# --- state ---

def test_state_and_its_events(new_worker):
    w = new_worker()
    scope = uuid.uuid4().hex
    w.register("t::state")
    w.bind("state", "t::state", {"scope": scope})
    w.register("t::other")
    w.bind("state", "t::other", {"scope": scope, "key": "another"})
    assert w.call("state::get", {"scope": scope, "key": "k"}) is None
    assert w.call("state::set", {"scope": scope, "key": "k", "value": {"n": 1}}) == {"old_value": None, "new_value": {"n": 1}}
    assert w.asked("t::state")["data"] == {"type": "state", "event_type": "state:created", "scope": scope, "key": "k",
                                           "old_value": None, "new_value": {"n": 1}}
    updated = w.call("state::update", {"scope": scope, "key": "k", "ops": [
        {"type": "increment", "path": "n", "by": 4}, {"type": "set", "path": "s", "value": "x"}, {"type": "append", "path": "l", "value": 1},
        {"type": "decrement", "path": "m", "by": 1}, {"type": "merge", "value": {"z": True}}, {"type": "remove", "path": "s"}]})
    assert updated["new_value"] == {"n": 5, "l": [1], "m": -1, "z": True}
    assert w.asked("t::state")["data"]["event_type"] == "state:updated"
    assert w.call("state::list", {"scope": scope}) == [updated["new_value"]]
    assert scope in w.call("state::list_groups", {})["groups"]
    assert w.call("state::delete", {"scope": scope, "key": "k"}) == updated["new_value"]
    gone = w.asked("t::state")["data"]
    assert gone["event_type"] == "state:deleted" and gone["new_value"] is None
    w.sync()
    assert w.seen == []  # the trigger of another key heard nothing
    assert scope not in w.call("state::list_groups", {})["groups"]
    for function, data in (("state::set", {"scope": scope}), ("state::get", {"key": "k"}), ("state::set", {"scope": "a", "key": "b"}),
                           ("state::update", {"scope": "a", "key": "b", "ops": []}), ("state::get", {"scope": "x" * 513, "key": "k"}),
                           ("state::update", {"scope": "a", "key": "b", "ops": [{"type": "fly"}]})):
        assert w.fail(function, data).code == "deserialization_error"


# --- cron ---

def test_cron(new_worker):
    w = new_worker()
    w.register("t::tick")
    trigger = w.bind("cron", "t::tick", {"expression": "* * * * * * *"})
    data = w.asked("t::tick")["data"]
    assert data["trigger"] == "cron" and data["job_id"] == trigger and "_caller_worker_id" not in data
    meant, actual = (datetime.datetime.fromisoformat(data[k].replace("Z", "+00:00")) for k in ("scheduled_time", "actual_time"))
    assert meant <= actual and meant.microsecond == 0
    w.send(type="unregistertrigger", id=trigger)
    w.sync()
    for config in ({}, {"expression": "never"}, {"expression": "0 0 0 1 1 * 2030"}):
        assert failure_of(w, "cron", config)["code"] == "trigger_registration_failed"


# --- the queue ---

def test_enqueue(new_worker):
    executor, caller = new_worker(), new_worker()
    executor.register("t::job")
    receipt = caller.call("t::job", {"n": 1}, action={"type": "enqueue", "queue": "q1"}, metadata={"m": 1})
    assert list(receipt) == ["messageReceiptId"] and uuid.UUID(receipt["messageReceiptId"])
    asked = executor.asked("t::job")
    assert asked["data"] == {"n": 1} and asked["metadata"] == {"m": 1}
    executor.reply(asked, "done")
    assert caller.call("engine::queue::enqueue", {"queue": "q1", "function_id": "t::job", "data": {"n": 2}})["messageReceiptId"]
    executor.serve("t::job", lambda data: None)
    assert caller.fail("engine::queue::enqueue", {"queue": "q1"}).code == "deserialization_error"


def test_job_waits_for_its_function(new_worker):
    caller = new_worker()
    caller.call("t::absent", {"n": 7}, action={"type": "enqueue", "queue": "q2"})
    late = new_worker()
    late.register("t::absent")
    late.serve("t::absent", lambda data: data["n"])


def test_job_is_tried_again_then_kept_as_dead_letter(new_worker):
    w = new_worker()
    w.register("t::fails")
    w.bind("durable:subscriber", "t::fails", {"topic": "hard", "queue_config": {"max_retries": 2, "backoff_ms": 10}})
    w.call("iii::durable::publish", {"topic": "hard", "data": {"n": 1}})
    for _ in range(3):
        w.reply(w.asked("t::fails"), error={"code": "boom", "message": "it broke"})

    def dead():
        return [j for j in w.call("engine::queue::dlq", {})["jobs"] if j["function_id"] == "t::fails"]

    letter = harness.wait_until(dead, "a dead letter")[0]
    assert letter["error"] == {"code": "boom", "message": "it broke"} and letter["data"] == {"n": 1} and letter["tries"] == 2
    assert w.call("engine::queue::redrive", {"id": letter["id"]})["messageReceiptId"]
    w.serve("t::fails", lambda data: "fine now")
    assert dead() == []
    assert w.fail("engine::queue::redrive", {"id": letter["id"]}).code == "NOT_FOUND"


def test_worker_that_dies_has_its_job_tried_again(new_worker):
    first, caller = new_worker(), new_worker()
    first.register("t::fragile")
    caller.call("t::fragile", {"n": 1}, action={"type": "enqueue", "queue": "q3"})
    first.asked("t::fragile")
    first.cut()
    second = new_worker()
    second.register("t::fragile")
    second.serve("t::fragile", lambda data: data["n"])


def test_message_waits_for_its_first_subscriber(new_worker):
    w = new_worker()
    topic = uuid.uuid4().hex
    w.call("iii::durable::publish", {"topic": topic, "data": "early"})
    w.register("t::subscriber")
    w.bind("queue", "t::subscriber", {"topic": topic})
    assert w.asked("t::subscriber")["data"] == "early"
    assert w.fail("iii::durable::publish", {"data": 1}).code == "deserialization_error"


def test_fifo_runs_one_after_the_other(new_worker):
    w = new_worker()
    w.register("t::fifo")
    w.bind("durable:subscriber", "t::fifo", {"topic": "line", "queue_config": {"type": "fifo"}})
    for n in range(3):
        w.call("iii::durable::publish", {"topic": "line", "data": n})
    for n in range(3):
        asked = w.asked("t::fifo")
        w.sync()
        assert asked["data"] == n and w.seen == []
        w.reply(asked, None)


def test_jobs_and_state_survive_a_kill():
    with harness.Server() as server:
        with Worker(server.engine_port) as w:
            w.call("t::kept", {"n": 5}, action={"type": "enqueue", "queue": "kept"})
            w.call("state::set", {"scope": "kept", "key": "k", "value": [1]})
        server.kill()
        server.start()
        with Worker(server.engine_port) as w:
            w.register("t::kept")
            w.serve("t::kept", lambda data: data["n"])
            assert w.call("state::get", {"scope": "kept", "key": "k"}) == [1]
            harness.wait_until(lambda: w.call("engine::queue::stats", {})["jobs"] == 0, "the job is done")


# --- who is there ---

def test_presence(new_worker):
    watcher = new_worker()
    watcher.register("t::watch")
    watcher.bind("engine::workers-available", "t::watch", {})
    watcher.register("t::functions")
    watcher.bind("engine::functions-available", "t::functions", {})
    other = new_worker()
    assert watcher.asked("t::watch")["data"] == {"event": "worker_connected", "worker_id": other.id}
    other.describe(name="other")
    assert watcher.asked("t::watch")["data"] == {"event": "worker_metadata_updated", "worker_id": other.id}
    other.register("t::brand-new")
    data = watcher.asked("t::functions")["data"]
    assert data["event"] == "functions_changed" and "t::brand-new" in [f["function_id"] for f in data["functions"]]
    other.close()
    assert watcher.asked("t::watch")["data"] == {"event": "worker_disconnected", "worker_id": other.id}


# --- http ---

class Route:
    """A worker with one route, and a client that asks it from another thread."""

    def __init__(self, server, new_worker, path, method="GET", **config):
        self.server, self.w = server, new_worker()
        self.name = "t::" + uuid.uuid4().hex
        self.w.register(self.name)
        self.w.bind("http", self.name, {"api_path": path, "http_method": method, **config})

    def ask(self, method, path, body=None, headers=None):
        self.answer = None

        def run():
            with harness.Client(self.server.port, prefix="") as client:
                self.answer = client.call(method, path, body, headers)

        self.thread = threading.Thread(target=run)
        self.thread.start()

    def got(self):
        self.thread.join(harness.DEADLINE_S)
        return self.answer


def test_http_route(server, new_worker):
    route = Route(server, new_worker, "/shop/:item/buy", "POST")
    route.ask("POST", "/shop/red%20car/buy?n=2&n=3", {"price": 5}, {"X-Thing": "yes"})
    asked = route.w.asked(route.name)
    data = asked["data"]
    assert data["path_params"] == {"item": "red car"} and data["query_params"] == {"n": "3"} and data["body"] == {"price": 5}
    assert data["method"] == "POST" and data["path"] == "/shop/:item/buy" and data["headers"]["x-thing"] == "yes"
    assert data["trigger"] == {"type": "http", "path": "/shop/:item/buy", "method": "POST"} and "_caller_worker_id" not in data
    assert data["request_body"]["direction"] == "read" and data["response"]["direction"] == "write"
    route.w.reply(asked, {"status_code": 201, "headers": {"X-Made": "1", "Content-Length": "9999"}, "body": {"ok": True}})
    answer = route.got()
    assert answer.status == 201 and answer.json() == {"ok": True} and answer.headers["x-made"] == "1"


@pytest.mark.parametrize("result, status, body, kind", [
    ({"body": "plain", "headers": ["Content-Type: text/plain"]}, 200, b"plain", "text/plain"),
    ({"status_code": 204, "body": {}}, 204, None, None),
    ({"status_code": 404}, 404, b"{}", "application/json"),
    ({"body": "text"}, 200, b'"text"', "application/json"),
    (["bare"], 200, b'["bare"]', "application/json"),
])
def test_http_answers(server, new_worker, result, status, body, kind):
    route = Route(server, new_worker, "answers")
    route.ask("GET", "/answers")
    route.w.reply(route.w.asked(route.name), result)
    answer = route.got()
    assert answer.status == status
    if body is not None:
        assert answer.body == body and answer.headers["content-type"] == kind


def test_http_body_and_response_through_channels(server, new_worker):
    route = Route(server, new_worker, "/stream", "POST")
    sent = bytes(range(256)) * 4000
    route.ask("POST", "/stream", sent, {"Content-Type": "application/octet-stream"})
    asked = route.w.asked(route.name)
    assert asked["data"]["body"] is None
    got = b""
    with open_channel(server.engine_port, asked["data"]["request_body"]) as ws:
        while len(got) < len(sent):
            got += ws.recv()
    assert got == sent
    out = open_channel(server.engine_port, asked["data"]["response"])
    out.send(json.dumps({"type": "set_status", "status_code": 202}))
    out.send(json.dumps({"type": "set_headers", "headers": {"Content-Type": "text/x", "X-A": "b"}}))
    out.send(sent)
    out.close(1000, "stream_complete")
    route.w.reply(asked, None)
    answer = route.got()
    assert answer.status == 202 and answer.body == sent and answer.headers["content-type"] == "text/x" and answer.headers["x-a"] == "b"


def test_http_errors(server, new_worker):
    route = Route(server, new_worker, "/errors")
    route.ask("GET", "/errors")
    route.w.reply(route.w.asked(route.name), error={"code": "boom", "message": "it broke"})
    answer = route.got()
    assert answer.status == 500 and answer.json() == {"error": {"code": "boom", "message": "it broke"}}
    route.ask("GET", "/errors")
    route.w.asked(route.name)
    route.w.cut()
    assert route.got().json()["error"]["code"] == "invocation_stopped"
    with harness.Client(server.port, prefix="") as client:
        harness.wait_until(lambda: client.call("GET", "/errors").status == 404, "the route goes with its worker")


def test_http_condition_and_middleware(server, new_worker):
    helper = new_worker()
    helper.register("t::allow")
    helper.register("t::middle")
    route = Route(server, new_worker, "/guarded/:id", condition_function_id="t::allow", middleware_function_ids=["t::middle"])
    route.ask("GET", "/guarded/7?a=b")
    asked = helper.asked("t::middle")
    assert asked["data"]["phase"] == "preHandler" and asked["data"]["context"] == {}
    assert asked["data"]["request"]["path_params"] == {"id": "7"} and asked["data"]["request"]["query_params"] == {"a": "b"}
    helper.reply(asked, {"action": "continue"})
    helper.serve("t::allow", lambda data: False)
    answer = route.got()
    assert answer.status == 422 and answer.json()["error"]["code"] == "CONDITION_NOT_MET" and answer.json()["skipped"] is True
    route.ask("GET", "/guarded/7")
    helper.serve("t::middle", lambda data: {"action": "respond", "response": {"status_code": 401, "body": {"no": 1}}})
    answer = route.got()
    assert answer.status == 401 and answer.json() == {"no": 1}


def test_http_routes_conflict_and_precedence(server, new_worker):
    param = Route(server, new_worker, "/p/:a")
    assert failure_of(param.w, "http", {"api_path": "p/:b"})["code"] == "trigger_registration_failed"
    for config in ({}, {"api_path": "/x", "http_method": "FLY"}, {"api_path": "/a" * 65}):
        assert failure_of(param.w, "http", config)["code"] == "trigger_registration_failed"
    literal = Route(server, new_worker, "/p/exact")
    literal.ask("GET", "/p/exact")
    literal.w.serve(literal.name, lambda data: {"body": "literal"})
    assert literal.got().json() == "literal"


def test_http_routes_cannot_hide_the_api(server, new_worker, client):
    w = new_worker()
    w.register("t::spoof")
    w.bind("http", "t::spoof", {"api_path": "/sandbox/health"})
    assert client.get("/health").json()["status"]
    w.sync()
    assert w.seen == []


def test_http_client_that_leaves(server, new_worker):
    route = Route(server, new_worker, "/leaver")
    client = harness.Client(server.port, prefix="")
    client.conn = None
    import http.client
    conn = http.client.HTTPConnection("127.0.0.1", server.port, timeout=harness.DEADLINE_S)
    conn.request("GET", "/leaver")
    asked = route.w.asked(route.name)
    conn.close()
    route.w.reply(asked, {"body": 1})
    route.w.sync()
    route.ask("GET", "/leaver")
    route.w.serve(route.name, lambda data: {"body": 2})
    assert route.got().json() == 2


def test_http_routes_need_the_token():
    with harness.Server(token="secret", env={"III_AUTH_TOKEN": "secret"}) as server:
        with Worker(server.engine_port, headers={"Authorization": "Bearer secret"}) as w:
            w.register("t::private")
            w.bind("http", "t::private", {"api_path": "/private"})
            with harness.Client(server.port, prefix="") as client:
                assert client.call("GET", "/private").status == 401
