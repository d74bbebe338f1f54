"""Alerts are checked on their interval, noted, and act: notify, pause, kill."""
import pytest

import harness

SERVER_ENV = {"III_METRICS_INTERVAL": "* * * * * *", "III_MAX_ALERTS": "3"}


def set_alert(client, sid, metric="pids", threshold=1, **fields):
    return client.ok("POST", f"/sandboxes/{sid}/alerts", {"metric": metric, "threshold": threshold, **fields})


def listed(client, sid):
    return client.ok("GET", f"/sandboxes/{sid}/alerts")["alerts"]


def test_set_list_delete(client, sandbox):
    alert = set_alert(client, sandbox, "memory", 100)
    assert alert["id"].startswith("alrt_") and alert["sandboxId"] == sandbox and alert["action"] == "notify"
    assert alert["triggered"] is False and alert["threshold"] == 100
    assert [a["id"] for a in listed(client, sandbox)] == [alert["id"]]
    assert client.ok("DELETE", f"/alerts/{alert['id']}") == {"deleted": alert["id"]}
    assert listed(client, sandbox) == []
    assert client.delete(f"/alerts/{alert['id']}").status == 404


@pytest.mark.parametrize("body", [{}, {"metric": "pids"}, {"metric": "disk", "threshold": 1}, {"metric": "cpu", "threshold": 101},
                                  {"metric": "memory", "threshold": -1}, {"metric": "pids", "threshold": 0}, {"metric": "pids", "threshold": 257},
                                  {"metric": "cpu", "threshold": "high"}, {"metric": "cpu", "threshold": 1, "action": "explode"}])
def test_bad_alerts_are_refused(client, box, body):
    assert client.post(f"/sandboxes/{box}/alerts", body).status == 400
    assert listed(client, box) == []


def test_unknown_sandboxes(client):
    assert client.post(f"/sandboxes/{harness.UNKNOWN}/alerts", {"metric": "cpu", "threshold": 1}).status == 404
    assert client.get(f"/sandboxes/{harness.UNKNOWN}/alerts").status == 404
    assert client.get(f"/sandboxes/{harness.UNKNOWN}/alerts/history").status == 404


def test_there_is_a_limit(client, sandbox):
    for _ in range(3):
        set_alert(client, sandbox, "memory", 100)
    reply = client.post(f"/sandboxes/{sandbox}/alerts", {"metric": "cpu", "threshold": 1})
    assert reply.status == 503 and "III_MAX_ALERTS" in reply.error


def test_notify_fires_on_each_check_while_it_is_over(client, sandbox):
    fires = set_alert(client, sandbox, "pids", 1)
    calm = set_alert(client, sandbox, "memory", 100)
    history = harness.wait_until(lambda: (h := client.ok("GET", f"/sandboxes/{sandbox}/alerts/history"))["total"] >= 2 and h, "two checks")
    first = history["events"][0]
    assert first["alertId"] == fires["id"] and first["metric"] == "pids" and first["value"] >= 1 and first["action"] == "notify"
    assert history["events"][0]["timestamp"] > history["events"][1]["timestamp"], "newest first"
    assert len(client.ok("GET", f"/sandboxes/{sandbox}/alerts/history?limit=1")["events"]) == 1
    by_id = {a["id"]: a for a in listed(client, sandbox)}
    assert by_id[fires["id"]]["triggered"] is True and by_id[fires["id"]]["lastTriggered"] > 0
    assert by_id[calm["id"]]["triggered"] is False and by_id[calm["id"]]["lastChecked"] > 0 and "lastTriggered" not in by_id[calm["id"]]
    told = client.ok("GET", f"/events/history?topic=sandbox.alert&sandboxId={sandbox}")
    assert told["total"] >= 2 and told["events"][0]["data"]["alertId"] == fires["id"]


def test_cpu_is_measured_between_checks(client, sandbox):
    busy = set_alert(client, sandbox, "cpu", 20)
    client.ok("POST", f"/sandboxes/{sandbox}/exec/background", {"command": "while :; do :; done"})
    harness.wait_until(lambda: next(a for a in listed(client, sandbox) if a["id"] == busy["id"])["triggered"], "the busy loop is seen")
    event = client.ok("GET", f"/sandboxes/{sandbox}/alerts/history")["events"][0]
    assert event["metric"] == "cpu" and event["value"] >= 20


def test_pause(client, sandbox):
    set_alert(client, sandbox, "pids", 1, action="pause")
    harness.wait_until(lambda: client.ok("GET", f"/sandboxes/{sandbox}")["status"] == "paused", "paused by its alert")
    total = client.ok("GET", f"/sandboxes/{sandbox}/alerts/history")["total"]
    assert total >= 1


def test_kill(client, sandbox):
    alert = set_alert(client, sandbox, "pids", 1, action="kill")
    set_alert(client, sandbox, "pids", 1, action="kill")
    harness.wait_until(lambda: client.get(f"/sandboxes/{sandbox}").status == 404, "killed by its alert")
    assert client.delete(f"/alerts/{alert['id']}").status == 404, "alerts go with their sandbox"
    topics = [e["topic"] for e in client.ok("GET", f"/events/history?sandboxId={sandbox}")["events"]]
    assert topics[:2] == ["sandbox.killed", "sandbox.alert"] and topics.count("sandbox.killed") == 1


def test_alerts_survive_a_restart():
    with harness.Server(env={"III_ON_SHUTDOWN": "keep"}) as server:
        client = server.client()
        sid = client.create()["id"]
        alert = set_alert(client, sid, "memory", 99)
        client.close()
        server.stop()
        server.start()
        client = server.client()
        assert [{k: v for k, v in a.items() if k != "lastChecked"} for a in listed(client, sid)] == [alert]  # a check may have come in between
        client.ok("DELETE", f"/sandboxes/{sid}")


def test_a_bad_interval_stops_the_start(tmp_path):
    reply = harness.run_cli("serve", "--port", "0", "--engine-port", "0", env={"III_METRICS_INTERVAL": "often", "III_DATA_DIR": tmp_path / "d"})
    assert reply.returncode != 0 and "III_METRICS_INTERVAL" in reply.stderr
