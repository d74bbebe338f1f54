"""state::*: what is missing has no result, operations of an update, their errors, and the limits of a value."""
import uuid

import pytest


@pytest.fixture
def place():
    return {"scope": uuid.uuid4().hex, "key": "k"}


def reply(w, function_id, data):
    """The whole message: a result that is missing is not a result that is null."""
    return w.expect("invocationresult", invocation_id=w.ask(function_id, data))


def test_missing_key_has_no_result(new_worker, place):
    w = new_worker()
    for function in ("state::get", "state::delete"):
        assert set(reply(w, function, place)) == {"type", "invocation_id", "function_id"}
    w.call("state::set", {**place, "value": None})
    assert reply(w, "state::get", place)["result"] is None
    assert reply(w, "state::delete", place)["result"] is None
    assert "result" not in reply(w, "state::get", place)
    assert w.call("state::list", {"scope": place["scope"]}) == []


def test_set_and_delete_show_the_old_value(new_worker, place):
    w = new_worker()
    assert w.call("state::set", {**place, "data": 1}) == {"old_value": None, "new_value": 1}
    assert w.call("state::set", {**place, "value": [2]}) == {"old_value": 1, "new_value": [2]}
    assert w.call("state::delete", place) == [2]


def test_update_applies_every_operation_that_fits(new_worker, place):
    w = new_worker()
    ops = [{"type": "append", "path": "log", "value": "one"}, {"type": "append", "path": "log", "value": " two"},
           {"type": "increment", "path": "log", "by": 1}, {"type": "merge", "path": ["a", "b.c"], "value": {"d": 1}},
           {"type": "append", "path": ["a", "list"], "value": "x"}, {"type": "merge", "value": [1]}, {"type": "set", "path": "n", "value": 4}]
    done = w.call("state::update", {**place, "ops": ops})
    assert done["old_value"] is None
    assert done["new_value"] == {"log": "one two", "a": {"b.c": {"d": 1}, "list": ["x"]}, "n": 4} == w.call("state::get", place)
    assert [(e["op_index"], e["code"]) for e in done["errors"]] == [(2, "increment.not_number"), (5, "merge.value.not_an_object")]
    assert all(isinstance(e["message"], str) and e["message"] for e in done["errors"])
    clean = w.call("state::update", {**place, "ops": [{"type": "decrement", "path": "n", "by": 6}]})
    assert set(clean) == {"old_value", "new_value"} and clean["new_value"]["n"] == -2 and clean["old_value"]["n"] == 4


def test_update_that_cannot_be_read_changes_nothing(new_worker, place):
    w = new_worker()
    w.call("state::set", {**place, "value": {"n": 1}})
    good = {"type": "set", "path": "n", "value": 2}
    for bad in ({"type": "fly", "path": "n"}, {"type": "increment", "path": "n"}, {"type": "set", "value": 1}, {"type": "append", "path": "n"},
                {"type": "set", "path": ["n"]}, "set"):
        assert w.fail("state::update", {**place, "ops": [good, bad]}).code == "deserialization_error"
    for ops in (None, [], {}, [good] * 1001):
        assert w.fail("state::update", {**place, "ops": ops}).code == "deserialization_error"
    assert w.call("state::get", place) == {"n": 1}


def test_value_that_is_too_large_or_too_deep_is_refused(new_worker, place):
    w = new_worker()
    why = w.fail("state::set", {**place, "value": "x" * (16 << 20)})
    assert why.code == "VALUE_TOO_LARGE" and "16777218 bytes" in why.message and "at most 16777216" in why.message
    deep = 1
    for _ in range(490):
        deep = [deep]
    assert w.call("state::set", {**place, "value": {}})
    path = [f"p{i}" for i in range(32)]
    why = w.fail("state::update", {**place, "ops": [{"type": "append", "path": path, "value": deep}]})
    assert why.code == "UPDATE_ERROR" and "512" in why.message
    assert w.call("state::get", place) == {}
