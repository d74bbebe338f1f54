"""Workers of a single server: one entry that tells the truth, under both sets of paths."""
import contextlib
import json
import sqlite3
import time

import pytest

import harness

SERVER_ENV = {"III_WORKER_NAME": "the-worker"}


@pytest.mark.parametrize("path", ["/workers", "/admin/workers"])
def test_the_list_has_this_worker(client, sandbox, path):
    found = client.ok("GET", path)
    assert found["alive"] == 1 and found["dead"] == 0 and len(found["workers"]) == 1
    worker = found["workers"][0]
    assert worker["workerId"] == "the-worker" and worker["hostname"]
    assert worker["activeSandboxes"] == client.ok("GET", "/sandboxes")["total"] >= 1
    assert worker["maxSandboxes"] == 200 and worker["cpuPercent"] >= 0
    assert abs(worker["lastHeartbeat"] - time.time() * 1000) < 30000


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("path", ["/workers/select", "/admin/workers/select"])
def test_select(client, method, path):
    assert client.ok(method, path) == {"workerId": "the-worker"}


@pytest.mark.parametrize("prefix", ["/workers", "/admin/workers"])
def test_nothing_to_reap_or_migrate(client, prefix):
    assert client.ok("POST", prefix + "/reap") == {"reaped": 0, "reassigned": 0, "expired": 0}
    assert client.ok("POST", prefix + "/migrate") == {"migrated": 0}


def test_heartbeat(client):
    first = client.ok("POST", "/admin/workers/heartbeat")
    second = client.ok("POST", "/admin/workers/heartbeat")
    assert first["workerId"] == "the-worker" and second["lastHeartbeat"] >= first["lastHeartbeat"]


def test_sweep(client):
    assert client.ok("POST", "/admin/sweep") == {"swept": 0}


def test_sandboxes_name_their_worker(client, sandbox):
    assert client.ok("GET", f"/sandboxes/{sandbox}")["workerId"] == "the-worker"


def test_a_full_worker_is_not_selected():
    with harness.Server(env={"III_MAX_SANDBOXES": "1"}) as server:
        client = server.client()
        sid = client.create()["id"]
        reply = client.get("/workers/select")
        assert reply.status == 503 and "III_MAX_SANDBOXES" in reply.error
        client.ok("DELETE", f"/sandboxes/{sid}")
        assert client.ok("GET", "/workers/select")["workerId"].startswith("iii-sandbox-")


def test_what_an_earlier_name_left_is_taken_over():
    with harness.Server(env={"III_WORKER_NAME": "old", "III_ON_SHUTDOWN": "keep"}) as server:
        client = server.client()
        sid = client.create()["id"]
        client.close()
        server.stop()
        with contextlib.closing(sqlite3.connect(server.data_dir / "state.db")) as db:
            old = json.loads(db.execute("SELECT body FROM doc WHERE scope='workers' AND key='old'").fetchone()[0])
            db.execute("INSERT INTO doc(scope,key,body) VALUES('workers','older',?)",
                       [json.dumps({**old, "workerId": "older", "lastHeartbeat": old["lastHeartbeat"] - 30001})])
            db.execute("UPDATE doc SET body=replace(body,'\"workerId\":\"old\"','\"workerId\":\"older\"') WHERE scope='sandbox'")
            db.commit()
        server.env["III_WORKER_NAME"] = "new"
        server.start()
        client = server.client()
        assert client.ok("GET", f"/sandboxes/{sid}")["workerId"] == "new"
        found = client.ok("GET", "/workers")
        assert {w["workerId"] for w in found["workers"]} == {"old", "older", "new"} and found["alive"] == 2 and found["dead"] == 1
        # "old" counts as alive for 30 s after its last heartbeat.
        assert client.ok("POST", "/workers/reap") == {"reaped": 1, "reassigned": 1, "expired": 0}
        assert {w["workerId"] for w in client.ok("GET", "/workers")["workers"]} == {"old", "new"}
        assert client.ok("POST", "/workers/reap") == {"reaped": 0, "reassigned": 0, "expired": 0}
        client.ok("DELETE", f"/sandboxes/{sid}")
