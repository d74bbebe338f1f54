"""Listeners with rules (iii-worker-manager): who may connect, call and register, middleware, hooks, prefixes."""
import json
import threading
import uuid

import pytest

import engineclient
import harness
import wsclient
from test_engine_streams import free_port

HOOKS = {"on_function_registration_function_id": "op::on_function", "on_trigger_registration_function_id": "op::on_trigger",
         "on_trigger_type_registration_function_id": "op::on_type"}


def entry(port, **config):
    return {"name": "iii-worker-manager", "config": {"port": port, "host": "127.0.0.1", **config}}


@pytest.fixture(scope="module")
def ports():
    return {name: free_port() for name in ("auth", "hooks", "middle", "exposed")}


@pytest.fixture(scope="module")
def ruled(tmp_path_factory, ports):
    """A server with a listener for each kind of rule."""
    config = tmp_path_factory.mktemp("rbac") / "config.yaml"
    expose = ['match("pub::*")', {"match": "one::exact"}, {"metadata": {"tier": "free", "zone": "match('eu-*')"}}, "match('engine::functions::*')"]
    config.write_text(json.dumps({"workers": [
        entry(ports["auth"], rbac={"auth_function_id": "op::auth", "expose_functions": expose}),
        entry(ports["hooks"], rbac={"auth_function_id": "op::auth", "expose_functions": ['match("*")'], **HOOKS}),
        entry(ports["middle"], rbac={"auth_function_id": "op::auth", "expose_functions": ['match("*")']}, middleware_function_id="op::middle"),
        entry(ports["exposed"], rbac={"expose_functions": expose})]}))
    with harness.Server(flags=["--config", str(config)]) as server:
        yield server


@pytest.fixture
def op(ruled):
    """The operator's worker, on the engine port."""
    with engineclient.Worker(ruled.engine_port) as w:
        for name in ("op::auth", "op::middle", *HOOKS.values()):
            w.register(name)
        yield w


@pytest.fixture
def enter(op, ports):
    """Connects through a listener; the operator answers its auth function."""
    made = []

    def connect(which, answer, path="/?a=1&a=2", **how):
        box = []

        def dial():
            box.append(engineclient.Worker(ports[which], path, **how))
        thread = threading.Thread(target=dial)
        thread.start()
        asked = op.asked("op::auth")
        op.reply(asked, answer)
        thread.join(harness.DEADLINE_S)
        made.append(box[0])
        return box[0], asked["data"]

    yield connect
    for w in made:
        w.cut()


# --- connecting ---

def test_auth_is_asked_once_with_the_request(enter, op):
    w, asked = enter("auth", {}, headers={"X-Tenant": "A"})
    assert asked == {"headers": asked["headers"], "query_params": {"a": ["1", "2"]}, "ip_address": "127.0.0.1"}
    assert asked["headers"]["x-tenant"] == "A" and all(k == k.lower() for k in asked["headers"])
    w.sync()
    op.sync()
    assert op.seen == []


@pytest.mark.parametrize("answer", [{"error": {"code": "no", "message": "go away"}}, {}, {"result": "yes"}, {"result": {"allowed_functions": "all"}},
                                    {"result": {"allow_function_registration": 1}}])
def test_failed_auth_is_one_frame_and_a_close(op, ports, answer):
    box = []
    thread = threading.Thread(target=lambda: box.append(wsclient.WebSocket(ports["auth"], "/")))
    thread.start()
    asked = op.asked("op::auth")
    op.send(type="invocationresult", invocation_id=asked["invocation_id"], function_id="op::auth", **answer)
    thread.join(harness.DEADLINE_S)
    got = json.loads(box[0].recv())
    assert got["type"] == "error" and got["error"]["code"] == "AUTH_ERROR" and isinstance(got["error"]["message"], str)
    assert box[0].closed().code == 1008
    box[0].cut()


def test_missing_auth_function_refuses(ruled, ports):
    ws = wsclient.WebSocket(ports["auth"], "/")
    assert json.loads(ws.recv())["error"]["code"] == "AUTH_ERROR"
    ws.cut()


# --- calls ---

def test_calls(enter, op):
    for name, about in (("pub::a::b", {}), ("one::exact", {}), ("one::exactly", {}), ("meta::yes", {"metadata": {"tier": "free", "zone": "eu-1"}}),
                        ("meta::no", {"metadata": {"tier": "free", "zone": "us-1"}}), ("own::granted", {}), ("pub::banned", {}), ("ns::granted", {})):
        op.register(name, **about)
    w, _ = enter("auth", {"allowed_functions": ["own::granted"], "forbidden_functions": ["pub::banned"],
                          "namespaces": {"default": {"allowed_functions": ["ns::granted"]}}})
    for name in ("pub::a::b", "one::exact", "meta::yes", "own::granted", "ns::granted"):
        call = w.ask(name, {})
        op.serve(name, lambda data: "fine")
        assert w.answer_to(call) == "fine"
    for name, cure in (("one::exactly", "add to rbac.expose_functions"), ("meta::no", "add to rbac.expose_functions"),
                       ("not::there", "add to rbac.expose_functions"), ("state::get", "add to rbac.expose_functions"),
                       ("pub::banned", "remove from rbac.forbidden_functions")):
        got = w.expect("invocationresult", invocation_id=w.ask(name, {}))
        assert got["function_id"] == name and got["error"] == {"code": "FORBIDDEN", "message": f"function '{name}' not allowed ({cure})"}
        w.void(name, {})  # stays silent
    assert w.fail("pub::nobody", {}).code == "function_not_found"
    assert w.channel()["writer"] and w.call("engine::workers::register", {"name": "x"}) == {"success": True}
    w.sync()
    assert w.seen == []
    shown = [f["function_id"] for f in w.call("engine::functions::list", {"include_internal": True})["functions"]]
    assert {"pub::a::b", "one::exact", "meta::yes", "own::granted"} <= set(shown) and not {"meta::no", "pub::banned", "op::auth", "state::get"} & set(shown)
    assert w.fail("engine::functions::info", {"function_id": "meta::no"}).code == "FORBIDDEN"
    batch = w.call("engine::functions::info", {"function_ids": ["meta::no", "pub::nobody"]})["functions"]
    assert [f["error"] for f in batch] == ["forbidden", "not_found"]


def test_infrastructure_passes_inside_a_handler(enter, op):
    w, _ = enter("auth", {"function_registration_prefix": "app2"})
    w.register("f")
    call = op.ask("app2::f", {})
    asked = w.asked("f")
    assert w.channel()["writer"] and w.call("engine::workers::register", {"name": "x"}) == {"success": True}
    for name in ("engine::log::info", "engine::log::warn", "engine::log::error", "engine::log::debug", "engine::log::trace", "engine::baggage::get",
                 "engine::baggage::set", "engine::baggage::get_all"):
        assert w.expect("invocationresult", invocation_id=w.ask(name, {"message": "m"})).get("error", {}).get("code") in (None, "function_not_found")
    w.reply(asked, "done")
    assert op.answer_to(call) == "done"


def test_changes_of_functions_show_only_what_may_be_called(enter, op):
    w, _ = enter("auth", {"function_registration_prefix": "app3", "allowed_functions": ["app3::watch", "own::granted"]})
    w.register("watch")
    w.bind("engine::functions-available", "watch", {})
    op.register("op::watch")
    op.bind("engine::functions-available", "op::watch", {})
    op.register("own::granted")
    op.register("own::secret")
    shown = {f["function_id"] for f in w.asked("watch")["data"]["functions"]}
    assert {"app3::watch", "own::granted"} <= shown and not {"own::secret", "op::auth", "sandbox::create"} & shown
    assert {"own::secret", "op::auth", "sandbox::create"} <= {f["function_id"] for f in op.asked("op::watch")["data"]["functions"]}


# --- shares ---

def test_a_tenant_cannot_use_up_the_channels(enter, op, ruled):
    a, _ = enter("auth", {"context": {"tenant": "a"}})
    again, _ = enter("auth", {"context": {"tenant": "a"}})  # another connection of the same tenant
    b, _ = enter("auth", {"context": {"tenant": "b"}})
    for _ in range(2499):
        a.ask("engine::channels::create", {})
    assert not [m for m in [a.expect("invocationresult") for _ in range(2499)] if "error" in m]
    last = again.channel()
    for w in (a, again):
        why = w.fail("engine::channels::create", {})
        assert why.code == "invocation_failed" and "2500 of one tenant" in why.message
    assert b.channel()["writer"] and op.channel()["writer"]
    engineclient.open_channel(ruled.engine_port, last["reader"]).cut()  # the channel ends, and its place is free again
    harness.wait_until(lambda: "error" not in again.expect("invocationresult", invocation_id=again.ask("engine::channels::create", {})), "there is room")


def test_a_tenant_cannot_use_up_the_streams(enter, op):
    answer = {"allowed_functions": ["stream::set", "stream::delete"]}
    a, _ = enter("auth", {**answer, "context": {"tenant": "a"}})
    b, _ = enter("auth", {**answer, "context": {"tenant": "b"}})
    for i in range(2500):
        a.ask("stream::set", {"stream_name": f"share{i}", "group_id": "g", "item_id": "i", "data": 1})
    assert not [m for m in [a.expect("invocationresult") for _ in range(2500)] if "error" in m]
    assert "2500 of one tenant" in a.fail("stream::set", {"stream_name": "share-more", "group_id": "g", "item_id": "i", "data": 1}).message
    b.call("stream::set", {"stream_name": "share-more", "group_id": "g", "item_id": "i", "data": 1})
    a.call("stream::delete", {"stream_name": "share7", "group_id": "g", "item_id": "i"})
    a.call("stream::set", {"stream_name": "share-new", "group_id": "g", "item_id": "i", "data": 1})


def test_without_auth_function_only_calls_are_limited(op, ports):
    op.register("pub::f")
    with engineclient.Worker(ports["exposed"]) as w:
        assert w.fail("op::auth", {}).code == "FORBIDDEN"
        w.register("pub::mine")
        w.send(type="registertriggertype", id="t::mine", description="")
        w.sync()
        assert op.call("engine::triggers::info", {"id": "t::mine"})
        call = op.ask("pub::mine", {})
        w.serve("pub::mine", lambda data: 1)
        assert op.answer_to(call) == 1


def test_middleware(enter, op):
    w, _ = enter("middle", {"context": {"user": 7}})
    op.register("x::real")
    call = w.ask("x::real", {"n": 1}, metadata={"m": 1})
    asked = op.asked("op::middle")
    assert asked["data"] == {"function_id": "x::real", "payload": {"n": 1}, "action": None, "context": {"user": 7}, "namespace": None,
                             "_caller_worker_id": w.id}
    assert asked["metadata"] == {"m": 1}
    op.reply(asked, {"changed": True})
    got = w.expect("invocationresult", invocation_id=call)
    assert got["result"] == {"changed": True} and got["function_id"] == "x::real"
    call = w.ask("state::get", {"scope": "s", "key": "k"})
    op.reply(op.asked("op::middle"), error={"code": "mine", "message": "no"})
    assert w.expect("invocationresult", invocation_id=call)["error"]["code"] == "mine"
    assert w.channel()["reader"]  # engine:: calls of the engine itself skip it
    op.send(type="unregisterfunction", id="op::middle")
    op.sync()
    assert w.fail("x::real", {}).code == "function_not_found"


# --- registering ---

def test_flags_of_the_session(enter, op):
    w, _ = enter("auth", {"allow_function_registration": False, "allowed_trigger_types": ["cron"], "allowed_functions": ["pub::t"]})
    w.register("pub::new")
    w.send(type="registertriggertype", id="t::denied", description="")
    w.bind("subscribe", "pub::t", {"topic": "x"})
    w.sync()
    assert w.seen == []
    assert op.fail("pub::new", {}).code == "function_not_found" and op.fail("engine::triggers::info", {"id": "t::denied"}).code == "NOT_FOUND"
    assert not op.call("engine::registered-triggers::list", {"function_id": "pub::t"})["registered_triggers"]
    assert w.fail("engine::registered-triggers::list", {}).code == "FORBIDDEN"


def test_hooks_judge_and_rewrite(enter, op):
    w, _ = enter("hooks", {"context": {"t": 1}, "allow_trigger_type_registration": True})
    w.send(type="registerfunction", id="h::f", description="d", metadata={"a": 1})
    w.send(type="registertrigger", id=(trigger := str(uuid.uuid4())), trigger_type="subscribe", function_id="h::g", config={"topic": "t"})
    call = w.ask("h::g", {})  # waits behind both
    asked = op.asked("op::on_function")
    assert asked["data"] == {"function_id": "h::f", "description": "d", "metadata": {"a": 1}, "namespace": None, "context": {"t": 1}}
    op.reply(asked, {"function_id": "h::g", "metadata": {"b": 2}})
    asked = op.asked("op::on_trigger")
    assert asked["data"] == {"trigger_id": trigger, "trigger_type": "subscribe", "function_id": "h::g", "config": {"topic": "t"}, "metadata": None,
                             "namespace": None, "context": {"t": 1}}
    op.reply(asked, {"config": {"topic": "other"}})
    w.serve("h::g", lambda data: "mine")
    assert w.answer_to(call) == "mine"
    assert op.call("engine::functions::info", {"function_id": "h::g"})["metadata"] == {"b": 2}
    op.call("publish", {"topic": "other", "data": 5})
    assert w.asked("h::g")["data"] == 5
    w.send(type="registertriggertype", id="h::type", description="x")
    op.reply(op.asked("op::on_type"), {"trigger_type_id": "h::renamed"})
    w.sync()
    harness.wait_until(lambda: [t for t in op.call("engine::triggers::list", {})["triggers"] if t["id"] == "h::renamed"], "the type is there")
    for answer in ({"error": {"code": "no", "message": "no"}}, {"result": None}, {}, {"result": [1]}):
        w.send(type="registerfunction", id="h::denied")
        asked = op.asked("op::on_function")
        op.send(type="invocationresult", invocation_id=asked["invocation_id"], function_id="op::on_function", **answer)
        assert w.fail("h::denied", {}).code == "function_not_found"
    op.sync()
    assert op.seen == []  # each hook was called once for each registration


def test_hook_that_leaves_denies_what_waits(enter, op):
    w, _ = enter("hooks", {})
    for i in range(3000):
        w.send(type="registerfunction", id=f"h::many{i}")
    op.asked("op::on_function")
    op.cut()
    assert w.fail("h::many0", {}).code == "function_not_found"


def test_prefix(enter, op):
    w, _ = enter("auth", {"function_registration_prefix": "app1", "allowed_functions": ["app1::f", "pub::f"]})
    w.register("f")
    w.bind("subscribe", "f", {"topic": "p"})
    denied = w.bind("subscribe", "other", {"topic": "p"})
    got = w.expect("triggerregistrationresult", id=denied)["error"]
    assert got["code"] == "FORBIDDEN" and "app1::other" in got["message"] and "default" in got["message"]
    call = op.ask("app1::f", {"n": 1})
    asked = w.asked()
    assert asked["function_id"] == "f"
    w.reply(asked, "ok")
    got = op.expect("invocationresult", invocation_id=call)
    assert got["result"] == "ok" and got["function_id"] == "app1::f"
    op.call("publish", {"topic": "p", "data": 1})
    assert w.asked("f")["data"] == 1
    assert w.fail("f", {}).code == "FORBIDDEN"  # calls are not prefixed
    w.send(type="unregisterfunction", id="f")
    w.sync()
    assert op.fail("app1::f", {}).code == "function_not_found"


@pytest.mark.parametrize("config, problem", [
    ({"rbac": {"expose_functions": ["pub::*"]}}, 'is not match("PATTERN")'), ({"rbac": {"expose_functions": [{"metadata": {}, "match": "x"}]}}, "either"),
    ({"rbac": {"expose_functions": [{"match": "x", "if": 1}]}}, '"if" is not understood'), ({"rbac": {"auth": "x"}}, 'unknown key "auth"')])
def test_configuration_is_checked(tmp_path, config, problem):
    path = tmp_path / "config.yaml"
    path.write_text(json.dumps({"workers": [{"name": "iii-worker-manager", "config": {"port": 0, **config}}]}))
    done = harness.run_cli("serve", "--config", path, "--port", "0", "--engine-port", "0", "--data-dir", tmp_path / "d")
    assert done.returncode != 0 and "iii-worker-manager" in done.stderr and problem in done.stderr
