"""Adapter bridge: another engine keeps the items of streams and the values of state; clients see no difference."""
import json

import pytest

import engineclient
import harness
from test_engine_state import place  # noqa: F401  a fixture
from test_engine_streams import group, key, reply  # noqa: F401  key is a fixture

ABSENT = {"type", "invocation_id", "function_id"}  # members of an answer without a result


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """(the server that keeps the values, one that asks it)"""
    config = tmp_path_factory.mktemp("bridge") / "config.yaml"
    with harness.Server() as far:
        adapter = {"adapter": {"name": "bridge", "config": {"bridge_url": f"ws://127.0.0.1:{far.engine_port}"}}}
        config.write_text(json.dumps({"workers": [{"name": "iii-stream", "config": {"port": 0, **adapter}}, {"name": "iii-state", "config": adapter}]}))
        far.flags += ["--engine-port", str(far.engine_port)]
        with harness.Server(flags=["--config", str(config)]) as near:
            yield far, near


@pytest.fixture
def workers(pair):
    made = [engineclient.Worker(server.engine_port) for server in pair]
    harness.wait_until(lambda: "error" not in reply(made[1], "stream::list_groups", {"stream_name": "x"})
                       and "error" not in reply(made[1], "state::list_groups", {}), "the bridge is connected")
    yield made
    for w in made:
        w.cut()


def test_items(workers, key):  # noqa: F811
    far, near = workers
    assert set(reply(near, "stream::get", key)) == ABSENT
    assert near.call("stream::delete", key) == {"old_value": None}
    assert near.call("stream::set", {**key, "data": {"n": 1}}) == {"old_value": None, "new_value": {"n": 1}}
    assert far.call("stream::get", key) == {"n": 1} == near.call("stream::get", key)
    assert near.call("stream::set", {**key, "data": None}) == {"old_value": {"n": 1}, "new_value": None}
    assert reply(near, "stream::get", key)["result"] is None
    assert near.call("stream::list", group(key)) == [None] and near.call("stream::list", {**group(key), "group_id": "none"}) == []
    assert near.call("stream::list_groups", {"stream_name": key["stream_name"]}) == ["g"]
    assert near.call("stream::list_all", {}) == {"stream": [], "count": 0}
    done = near.call("stream::update", {**key, "ops": [{"type": "set", "path": "", "value": "x"}, {"type": "increment", "path": "", "by": 1}]})
    assert done["new_value"] == "x" and [e["op_index"] for e in done["errors"]] == [1]
    assert near.call("stream::delete", key) == {"old_value": "x"}
    assert near.fail("stream::get", {}).code == near.fail("stream::update", {**key, "ops": 1}).code == "deserialization_error"


def test_values(workers, place):  # noqa: F811
    far, near = workers
    for function in ("state::get", "state::delete"):
        assert set(reply(near, function, place)) == ABSENT
    near.register("t::state")
    near.bind("state", "t::state", {"scope": place["scope"]})
    assert near.call("state::set", {**place, "data": 1}) == {"old_value": None, "new_value": 1}
    assert near.asked("t::state")["data"] == {"type": "state", "event_type": "state:created", **place, "old_value": None, "new_value": 1}
    assert far.call("state::get", place) == 1
    assert near.call("state::update", {**place, "ops": [{"type": "increment", "path": "", "by": 2}]}) == {"old_value": 1, "new_value": 3}
    assert near.asked("t::state")["data"]["event_type"] == "state:updated"
    assert near.call("state::list", {"scope": place["scope"]}) == [3] and place["scope"] in near.call("state::list_groups", {})["groups"]
    assert near.call("state::delete", place) == 3
    assert near.asked("t::state")["data"]["event_type"] == "state:deleted"
    assert set(reply(near, "state::delete", place)) == ABSENT
    near.sync()
    assert near.seen == []


def test_events_come_back_through_the_other_engine(workers, key):  # noqa: F811
    far, near = workers
    far.register("t::topic")
    far.bind("subscribe", "t::topic", {"topic": "stream.events"})
    near.register("t::stream")
    near.bind("stream", "t::stream", {"stream_name": key["stream_name"]})
    near.call("stream::set", {**key, "data": 1})
    assert near.asked("t::stream")["data"]["event"] == {"type": "create", "data": 1}
    assert far.asked("t::topic")["data"]["streamName"] == key["stream_name"]
    assert near.call("stream::send", {**group(key), "type": "wave", "data": 2}) is None
    assert near.asked("t::stream")["data"]["event"] == {"type": "event", "event": {"type": "wave", "data": 2}}
    near.call("stream::delete", key)
    assert near.asked("t::stream")["data"]["event"] == {"type": "delete", "data": 1}
    far.call("publish", {"topic": "stream.events", "data": "nonsense"})
    near.sync()
    assert near.seen == []


def test_without_the_other_engine_calls_fail_and_it_comes_back(pair, workers, key, place):  # noqa: F811
    far, near = pair
    w = workers[1]
    far.stop()
    assert harness.wait_until(lambda: reply(w, "stream::set", {**key, "data": 1}).get("error"), "the bridge is lost")["code"] == "STREAM_SET_ERROR"
    assert reply(w, "state::get", place)["error"]["code"] == "invocation_error"
    far.start()
    harness.wait_until(lambda: "error" not in reply(w, "stream::set", {**key, "data": 1}), "the bridge is back", 60)
    with engineclient.Worker(far.engine_port) as there:
        assert there.call("stream::get", key) == 1
    near.stop()  # with a call that waits, it ends
    near.start()


@pytest.mark.parametrize("worker", ["iii-stream", "iii-state"])
def test_bridge_needs_an_address(tmp_path, worker):
    path = tmp_path / "config.yaml"
    path.write_text(json.dumps({"workers": [{"name": worker, "config": {"adapter": {"name": "bridge"}}}]}))
    done = harness.run_cli("serve", "--config", path, "--port", "0", "--engine-port", "0", "--data-dir", tmp_path / "d")
    assert done.returncode != 0 and worker in done.stderr and "ws://host:port" in done.stderr
