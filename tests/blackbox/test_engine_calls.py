"""The worker protocol: registering, calling, being called, leaving."""
import json
import uuid

import pytest

import harness


def test_greeting(new_worker):
    w = new_worker()
    assert set(w.greeting) == {"type", "worker_id", "reattach_token"}
    assert str(uuid.UUID(w.id)) == w.id and uuid.UUID(w.id).version == 4
    assert w.token != w.id


def test_call_between_workers(new_worker):
    executor, caller = new_worker(), new_worker()
    executor.register("demo::add", description="adds")
    call = caller.ask("demo::add", {"a": 2, "b": 3}, metadata={"who": "me"}, traceparent="00-ab-cd-01", baggage="k=v")
    asked = executor.serve("demo::add", lambda data: {"sum": data["a"] + data["b"]})
    assert asked["data"] == {"a": 2, "b": 3, "_caller_worker_id": caller.id}
    assert asked["metadata"] == {"who": "me"} and asked["traceparent"] == "00-ab-cd-01" and asked["baggage"] == "k=v"
    assert asked["invocation_id"] == call and "action" not in asked and "namespace" not in asked
    assert caller.answer_to(call) == {"sum": 5}


@pytest.mark.parametrize("data", [[1, 2], "text", 7, 1.5, None, True])
def test_other_payloads_pass_untouched(new_worker, data):
    w = new_worker()
    w.register("demo::echo")
    call = str(uuid.uuid4())
    w.send(type="invokefunction", invocation_id=call, function_id="demo::echo", data=data)
    asked = w.asked("demo::echo")
    assert asked["data"] == data
    w.reply(asked, asked["data"])
    assert w.answer_to(call) == data


def test_missing_payload_is_an_empty_object(new_worker):
    w = new_worker()
    w.register("demo::none")
    call = w.ask("demo::none")
    assert w.asked("demo::none")["data"] == {"_caller_worker_id": w.id}
    assert call


def test_calls_finish_out_of_order_and_own_functions_can_be_called(new_worker):
    w = new_worker()
    w.register("demo::self")
    first, second = w.ask("demo::self", {"n": 1}), w.ask("demo::self", {"n": 2})
    one, two = w.asked("demo::self"), w.asked("demo::self")
    w.reply(two, "two")
    w.reply(one, "one")
    assert w.answer_to(second) == "two" and w.answer_to(first) == "one"


def test_result_may_be_missing(new_worker):
    w = new_worker()
    w.register("demo::nothing")
    call = w.ask("demo::nothing", {})
    asked = w.asked()
    w.send(type="invocationresult", invocation_id=asked["invocation_id"], function_id="demo::nothing", error=None)
    message = w.expect("invocationresult", invocation_id=call)
    assert "result" not in message and "error" not in message


def test_errors_are_relayed_without_null_stacktrace(new_worker):
    w = new_worker()
    w.register("demo::bad")
    for stack, wanted in ((None, {"code": "boom", "message": "it broke"}),
                          ("at x", {"code": "boom", "message": "it broke", "stacktrace": "at x"})):
        call = w.ask("demo::bad", {})
        w.reply(w.asked(), error={"code": "boom", "message": "it broke", "stacktrace": stack})
        assert w.expect("invocationresult", invocation_id=call)["error"] == wanted


def test_unknown_function(new_worker):
    why = new_worker().fail("demo::missing", {})
    assert why.code == "function_not_found" and "demo::missing" in why.message


def test_void_is_never_answered(new_worker):
    executor, caller = new_worker(), new_worker()
    executor.register("demo::void")
    caller.void("demo::void", {"n": 1})
    caller.void("demo::nobody", {"n": 1})
    asked = executor.asked("demo::void")
    uuid.UUID(asked["invocation_id"])
    executor.reply(asked, "ignored")
    executor.sync()
    caller.sync()
    assert caller.seen == []


def test_worker_that_dies_in_the_middle(new_worker):
    executor, caller = new_worker(), new_worker()
    executor.register("demo::slow")
    call = caller.ask("demo::slow", {})
    executor.asked("demo::slow")
    executor.cut()
    message = caller.expect("invocationresult", invocation_id=call)
    assert message["error"] == {"code": "invocation_stopped", "message": "Invocation stopped"}
    assert caller.fail("demo::slow", {}).code == "function_not_found"


def test_caller_that_leaves(new_worker):
    executor, caller, other = new_worker(), new_worker(), new_worker()
    executor.register("demo::late")
    caller.ask("demo::late", {})
    asked = executor.asked("demo::late")
    caller.cut()
    other.sync()
    executor.reply(asked, "to nobody")
    executor.sync()
    call = other.ask("demo::late", {})
    executor.serve("demo::late", lambda data: "fine")
    assert other.answer_to(call) == "fine"


def test_only_the_executor_may_answer(new_worker):
    executor, caller, thief = new_worker(), new_worker(), new_worker()
    executor.register("demo::mine")
    call = caller.ask("demo::mine", {})
    asked = executor.asked("demo::mine")
    thief.reply(asked, "stolen")
    thief.sync()
    executor.reply(asked, "real")
    assert caller.answer_to(call) == "real"


def test_same_invocation_id_of_two_callers(new_worker):
    executor, one, two = new_worker(), new_worker(), new_worker()
    executor.register("demo::twin")
    call = one.ask("demo::twin", {"n": 1})
    first = executor.asked()
    two.send(type="invokefunction", invocation_id=call, function_id="demo::twin", data={"n": 2})
    second = executor.asked()
    assert first["invocation_id"] != second["invocation_id"]
    executor.reply(second, "for two")
    executor.reply(first, "for one")
    assert one.answer_to(call) == "for one" and two.answer_to(call) == "for two"


def test_newcomer_wins_and_loser_leaves_it_alone(new_worker):
    old, new, caller = new_worker(), new_worker(), new_worker()
    old.register("demo::who")
    new.register("demo::who")
    old.cut()
    caller.sync()
    call = caller.ask("demo::who", {})
    new.serve("demo::who", lambda data: "new")
    assert caller.answer_to(call) == "new"
    old2 = new_worker()
    old2.send(type="unregisterfunction", id="demo::who")  # not its own
    old2.sync()
    call = caller.ask("demo::who", {})
    new.serve("demo::who", lambda data: "still new")
    assert caller.answer_to(call) == "still new"
    new.send(type="unregisterfunction", id="demo::who")
    new.sync()
    assert caller.fail("demo::who", {}).code == "function_not_found"


def test_functions_of_the_engine_cannot_be_taken(new_worker):
    w = new_worker()
    w.register("engine::functions::list")
    assert "functions" in w.call("engine::functions::list", {})


def test_function_of_the_server_comes_back(new_worker):
    w, caller = new_worker(), new_worker()
    w.register("lifecycle::health")
    call = caller.ask("lifecycle::health", {})
    w.serve("lifecycle::health", lambda data: "mine")
    assert caller.answer_to(call) == "mine"
    w.close()
    assert isinstance(caller.call("lifecycle::health", {}), dict)


def test_namespaces(new_worker):
    w = new_worker()
    w.register("demo::ns", namespace="default")
    call = w.ask("demo::ns", {}, namespace="default")
    w.serve("demo::ns", lambda data: 1)
    assert w.answer_to(call) == 1
    assert w.fail("demo::ns", {}, namespace="other").code == "function_not_found"
    assert w.fail("demo::ns", {}, namespace="  ").code == "INVALID_NAMESPACE"


def test_bad_messages_are_dropped_and_the_connection_stays(new_worker):
    w = new_worker()
    for text in ("", "  \n", "{", "[]", "7", "{}", '{"type":7}', '{"type":"nonsense"}', '{"type":"unregistertriggertype","id":"x"}',
                 '{"type":"registerfunction"}', '{"type":"registerfunction","id":"  "}', '{"type":"registerfunction","id":7}',
                 '{"type":"invokefunction","function_id":"x","invocation_id":"not-a-uuid","data":{}}',
                 '{"type":"invokefunction","function_id":7,"data":{}}', '{"type":"invocationresult","invocation_id":"x"}',
                 '{"type":"registertrigger","id":"a"}', '{"type":"reattach"}', '{"type":"registerservice","id":"a","name":"b"}',
                 json.dumps({"type": "registerfunction", "id": "x" * 513})):
        w.ws.send(text)
    w.sync()
    assert w.seen == []


def test_messages_in_binary_frames_and_stray_telemetry(new_worker):
    w = new_worker()
    w.ws.send(b"OTLP{}")
    w.ws.send(json.dumps({"type": "ping"}).encode())
    w.expect("pong")


def test_upper_case_uuid_is_answered_as_spelled(new_worker):
    w = new_worker()
    call = str(uuid.uuid4()).upper()
    w.send(type="invokefunction", invocation_id=call, function_id="engine::workers::list", data={})
    assert w.expect("invocationresult", invocation_id=call)["result"]["workers"]


def test_reattach_retires_the_old_connection(server, new_worker):
    old = new_worker()
    old.register("demo::re")
    new, caller = new_worker(), new_worker()
    new.send(type="reattach", previous_worker_id=old.id, reattach_token=str(uuid.uuid4()))
    new.sync()
    call = caller.ask("demo::re", {})
    asked = old.asked()
    new.send(type="reattach", previous_worker_id=old.id, reattach_token=old.token)
    new.register("demo::re")
    assert caller.expect("invocationresult", invocation_id=call)["error"]["code"] == "invocation_stopped"
    assert old.ws.closed().code == 1000 and asked
    call = caller.ask("demo::re", {})
    new.serve("demo::re", lambda data: "again")
    assert caller.answer_to(call) == "again"


def test_introspection(new_worker):
    w = new_worker(name="shop\u202e\x07-worker")
    w.register("shop::buy", description="Buys things", request_format={"type": "object"}, metadata={"v": 1})
    w.register("shop::secret", metadata={"internal": True})
    trigger = w.bind("subscribe", "shop::buy", {"topic": "t"})
    mine = w.call("engine::functions::list", {"prefix": "shop::"})["functions"]
    assert mine == [{"function_id": "shop::buy", "namespace": "default", "worker_name": "shop-worker", "description": "Buys things",
                     "metadata": {"v": 1}}]
    everything = [f["function_id"] for f in w.call("engine::functions::list", {"include_internal": True})["functions"]]
    assert "shop::secret" in everything and "engine::workers::list" in everything and everything == sorted(everything)
    hidden = [f["function_id"] for f in w.call("engine::functions::list", {})["functions"]]
    assert "engine::workers::list" not in hidden and "engine::queue::enqueue" in hidden and "lifecycle::health" in hidden
    info = w.call("engine::functions::info", {"function_id": "shop::buy"})
    assert info["request_schema"] == {"type": "object"}
    assert info["registered_triggers"] == [{"id": trigger, "trigger_type": "subscribe", "config": {"topic": "t"}}]
    batch = w.call("engine::functions::info", {"function_ids": ["shop::buy", "nope"]})["functions"]
    assert batch[0]["function_id"] == "shop::buy" and batch[1] == {"function_id": "nope", "error": "not_found"}
    for wrong in ({}, {"function_id": "a", "function_ids": []}, {"function_ids": ["x"] * 33}):
        assert w.fail("engine::functions::info", wrong).code == "INVALID_ARGUMENTS"
    assert w.fail("engine::functions::info", {"function_id": "nope"}).code == "NOT_FOUND"
    found = [x for x in w.call("engine::workers::list", {})["workers"] if x["id"] == w.id]
    assert found[0]["name"] == "shop-worker" and found[0]["function_count"] == 2 and found[0]["ip_address"] == "127.0.0.1"
    assert "iii-sandbox" in [x["name"] for x in w.call("engine::workers::list", {})["workers"]]
    about = w.call("engine::workers::info", {"name": "shop-worker"})
    assert about["worker"]["pid"] == 1 and w.token not in json.dumps(about)
    assert {f["function_id"] for f in about["functions"]} == {"shop::buy", "shop::secret"}
    bound = w.call("engine::registered-triggers::list", {"function_id": "shop::buy"})["registered_triggers"]
    assert bound[0]["config_summary"] == '{"topic":"t"}'
    assert w.call("engine::registered-triggers::info", {"id": trigger})["function"]["function_id"] == "shop::buy"
    assert "cron" in [t["id"] for t in w.call("engine::triggers::list", {})["triggers"]]
    assert w.call("engine::triggers::info", {"id": "subscribe"})["instance_count"] == 1
    assert w.fail("engine::triggers::info", {"id": "nope"}).code == "NOT_FOUND"
    silent = new_worker()
    assert silent.id not in [x["id"] for x in w.call("engine::workers::list", {})["workers"]]


def test_rest_functions_are_callable(new_worker):
    w = new_worker()
    assert w.call("lifecycle::health", {})["status"]
    why = w.fail("sandbox::get", {"id": harness.UNKNOWN})
    assert why.code == "not_found" and harness.UNKNOWN in why.message
    info = w.call("engine::functions::info", {"function_id": "cmd::run"})
    assert info["request_schema"]["properties"]["command"]


def test_rest_functions_work_on_a_sandbox(new_worker, box):
    w = new_worker()
    assert w.call("cmd::run", {"id": box, "command": "echo $((6*7))"})["stdout"] == "42\n"
    why = w.fail("cmd::run", {"id": box})
    assert why.code == "invalid_argument" and "command" in why.message
