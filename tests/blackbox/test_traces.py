"""One trace for each API call, the numbers made from them, and clearing."""
import math

import harness

SERVER_ENV = {"III_MAX_TRACES": "100"}


def traces(client, **query):
    tail = "&".join(f"{k}={v}" for k, v in query.items())
    return client.ok("GET", "/observability/traces?" + tail)


def clear(client):
    return client.ok("POST", "/observability/clear", {"before": 9007199254740991})["cleared"]


def test_each_call_leaves_one_trace(client, box):
    clear(client)
    client.exec(box, "true")
    assert client.get(f"/sandboxes/{harness.UNKNOWN}").status == 404
    client.ok("GET", "/sandboxes")
    found = traces(client)
    assert found["total"] == 4
    listed, missing, run, cleared = found["traces"]
    assert cleared["functionId"] == "observability::clear"
    assert run["functionId"] == "cmd::run" and run["sandboxId"] == box and run["status"] == "ok" and "error" not in run
    assert missing["functionId"] == "sandbox::get" and missing["status"] == "error" and "not found" in missing["error"]
    assert listed["functionId"] == "sandbox::list" and "sandboxId" not in listed
    for trace in found["traces"]:
        assert trace["id"].startswith("trc_") and isinstance(trace["duration"], int) and trace["timestamp"] > 1.6e12


def test_filters_and_pages(client, box):
    clear(client)
    for n in range(5):
        client.exec(box, f"exit {n}")
    client.ok("GET", "/health")
    assert traces(client, functionId="cmd::run")["total"] == 5
    assert traces(client, sandboxId=box)["total"] == 5
    assert traces(client, sandboxId=box, functionId="lifecycle::health") == {"traces": [], "total": 0}
    everything = traces(client, functionId="cmd::run")["traces"]
    assert traces(client, functionId="cmd::run", limit=2, offset=1)["traces"] == everything[1:3]
    assert traces(client, functionId="cmd::run", limit=0)["traces"] == []
    assert client.get("/observability/traces?limit=x").status == 400


def test_the_numbers_follow_the_traces(client, box):
    clear(client)
    for n in range(20):
        client.exec(box, "sleep 0.05" if n > 17 else "true")
    client.get(f"/sandboxes/{harness.UNKNOWN}")
    rows = traces(client, limit=1000)["traces"]
    numbers = client.ok("GET", "/observability/metrics")
    listing = traces(client, functionId="observability::traces", limit=1)["traces"][0]  # was not in the list it made
    durations = sorted([t["duration"] for t in rows] + [listing["duration"]])
    assert numbers["totalRequests"] == len(durations) == 23
    assert numbers["totalErrors"] == 1
    assert math.isclose(numbers["avgDuration"], sum(durations) / len(durations))
    assert numbers["p95Duration"] == durations[math.floor(0.95 * len(durations))]
    assert numbers["functionCounts"] == {"observability::clear": 1, "cmd::run": 20, "sandbox::get": 1, "observability::traces": 1}
    assert numbers["activeSandboxes"] == len(client.ok("GET", "/sandboxes")["items"])


def test_clear_deletes_what_is_strictly_older(client, box):
    clear(client)
    client.exec(box, "true")
    run = traces(client, functionId="cmd::run")["traces"][0]
    harness.wait_until(lambda: client.get("/health") and traces(client, functionId="lifecycle::health")["traces"][0]["timestamp"] > run["timestamp"],
                       "a call in a later millisecond")
    client.ok("POST", "/observability/clear", {"before": run["timestamp"]})
    assert traces(client, functionId="cmd::run")["total"] == 1
    client.ok("POST", "/observability/clear", {"before": run["timestamp"] + 1})
    assert traces(client, functionId="cmd::run")["total"] == 0
    assert client.post("/observability/clear", {"before": "soon"}).status == 400
    assert client.ok("POST", "/observability/clear", {"before": 0}) == {"cleared": 0}
    assert client.ok("POST", "/observability/clear")["cleared"] >= 1


def test_only_the_newest_are_kept(client):
    clear(client)
    for _ in range(130):
        client.ok("GET", "/health")
    assert traces(client, limit=1000)["total"] == 100
    assert client.ok("GET", "/observability/metrics")["totalRequests"] == 100


def test_traces_survive_a_restart():
    with harness.Server() as server:
        client = server.client()
        client.ok("GET", "/health")
        client.close()
        server.stop()
        server.start()
        client = server.client()
        client.get(f"/sandboxes/{harness.UNKNOWN}")
        found = traces(client)["traces"]
        assert [t["functionId"] for t in found] == ["sandbox::get", "lifecycle::health"]
        assert found[0]["error"]
