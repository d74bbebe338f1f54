"""What stands for an id: a name of one's own, a UUID, the beginning of an id; what is unclear is refused with the candidates."""
import re

import pytest

import engineclient
import harness

TOKEN = "root-secret"
SERVER_ENV = {"III_AUTH_TOKEN": TOKEN, "III_MAX_VOLUMES": "2000"}


@pytest.fixture(scope="module")
def two(server):
    """Clients of two tenants."""
    admin = server.client()
    made = [admin.ok("POST", "/tokens", {"name": f"of {tenant}", "tenant": tenant})["secret"] for tenant in ("first", "second")]
    clients = [server.client(secret) for secret in made]
    yield clients
    for client in (*clients, admin):
        client.close()


def test_every_spelling_of_a_sandbox(client, new_sandbox, server):
    box = new_sandbox(name="web server/1")
    sid = box["id"]
    with engineclient.Worker(server.engine_port, headers={"Authorization": f"Bearer {TOKEN}"}) as worker:
        uuid = next(row["sandbox_id"] for row in worker.call("sandbox::list", {})["sandboxes"] if row["name"] == box["name"])
        for spelling in (sid, uuid, uuid.upper(), uuid[:18], sid[:12], sid[4:12], sid[4:12].upper(), box["name"]):
            assert worker.call("sandbox::exec", {"sandbox_id": spelling, "cmd": "true"})["exit_code"] == 0, spelling
    for spelling in (sid, uuid, uuid[:18], uuid[:30], sid[:12], sid[4:10], "web%20server%2F1"):
        assert client.ok("GET", f"/sandboxes/{spelling}")["id"] == sid, spelling
        assert client.ok("POST", f"/sandboxes/{spelling}/exec", {"command": "true"})["exitCode"] == 0
    beyond = "1" if uuid.replace("-", "")[len(sid) - 4] == "0" else "0"  # not the next digit of its UUID
    for other in (sid[:5], sid[:6], sid[4:6], "sbx_", "s", "web", sid + beyond, sid[4:] + "x", uuid[:18] + "g", "-" + sid[4:10], "web%20server%2F1%00x"):
        assert client.get(f"/sandboxes/{other}").status in (400, 404), other
    assert {e["sandboxId"] for e in client.ok("GET", f"/events/history?sandboxId={sid[4:10]}")["events"]} == {sid}
    assert client.ok("DELETE", f"/sandboxes/{sid[4:14]}") == {"success": True} and client.get(f"/sandboxes/{sid}").status == 404


def test_two_of_a_name_are_named_in_the_refusal(client, new_sandbox, server):
    ids = sorted(new_sandbox(name="twin")["id"] for _ in range(2))
    answer = client.post("/sandboxes/twin/exec", {"command": "true"})
    assert answer.status == 409 and sorted(re.findall(r"sbx_[0-9a-f]{24}", answer.error)) == ids and "twin" in answer.error
    assert client.delete("/sandboxes/twin").status == 409
    with engineclient.Worker(server.engine_port, headers={"Authorization": f"Bearer {TOKEN}"}) as worker, pytest.raises(engineclient.Failed) as why:
        worker.call("sandbox::exec", {"sandbox_id": "twin", "cmd": "true"})
    assert "S001" in str(why.value) and ids[0] in str(why.value)


def test_an_unclear_beginning_is_refused(client):
    """Ids are random: volumes, which cost little, are made until two begin with the same three digits."""
    seen = {}
    while True:
        vid = client.ok("POST", "/volumes", {"name": "v"})["id"]
        if vid[:7] in seen:
            break
        seen[vid[:7]] = vid
        assert len(seen) < 2000
    for spelling in (vid[:7], vid[4:7]):
        answer = client.delete(f"/volumes/{spelling}")
        assert answer.status == 409 and vid in answer.error and seen[vid[:7]] in answer.error and "more digits" in answer.error
    longer = next(n for n in range(8, 28) if vid[:n] != seen[vid[:7]][:n])
    client.ok("DELETE", f"/volumes/{vid[:longer]}")
    assert {v["id"] for v in client.ok("GET", "/volumes")["volumes"]} == set(seen.values())
    for vid in seen.values():
        client.ok("DELETE", f"/volumes/{vid}")


def test_an_id_means_itself_whatever_others_are_called(client, new_sandbox):
    first = new_sandbox()
    second = new_sandbox(name=first["id"])
    third = new_sandbox(name=first["id"][4:12])
    assert client.ok("GET", f"/sandboxes/{first['id']}")["id"] == first["id"]
    assert client.ok("GET", f"/sandboxes/{first['id'][4:12]}")["id"] == third["id"], "a name comes before a beginning"
    assert client.ok("GET", f"/sandboxes/{first['id'][4:13]}")["id"] == first["id"] and second["id"] != first["id"]


def test_names_are_those_of_the_tenant(client, two, server):
    first, second = two
    box = first.create(name="secret-name")
    try:
        assert first.ok("GET", "/sandboxes/secret-name")["id"] == box["id"]
        for spelling in ("secret-name", box["id"][4:14], box["id"]):
            assert second.get(f"/sandboxes/{spelling}").status == 404
        assert client.get("/sandboxes/secret-name").status == 404, "an admin's command by name never reaches what a tenant has named"
        assert client.ok("GET", f"/sandboxes/{box['id'][4:14]}")["id"] == box["id"]
        other = second.create(name="secret-name")
        assert first.ok("GET", "/sandboxes/secret-name")["id"] == box["id"], "what another tenant has makes nothing unclear"
        second.ok("DELETE", f"/sandboxes/{other['id']}")
    finally:
        first.ok("DELETE", "/sandboxes/secret-name")


def test_other_things_have_names_too(client, new_sandbox):
    box = new_sandbox(name="holder")
    volume = client.ok("POST", "/volumes", {"name": "lookup-cache"})
    snapshot = client.ok("POST", "/sandboxes/holder/snapshots", {"name": "lookup-before"})
    assert snapshot["sandboxId"] == box["id"]
    assert [s["id"] for s in client.ok("GET", "/sandboxes/holder/snapshots")["snapshots"]] == [snapshot["id"]]
    client.ok("POST", "/volumes/lookup-cache/attach", {"sandboxId": "holder", "mountPath": "/cache"})
    client.ok("POST", f"/volumes/{volume['id'][:9]}/detach", {"sandboxId": "holder"})
    assert client.ok("POST", "/sandboxes/holder/snapshots/restore", {"snapshotId": "lookup-before"})["id"] == box["id"]
    assert client.ok("DELETE", "/snapshots/lookup-before")
    assert client.ok("DELETE", "/volumes/lookup-cache")
    again = [client.ok("POST", "/volumes", {"name": "twins"})["id"] for _ in range(2)]
    answer = client.delete("/volumes/twins")
    assert answer.status == 409 and all(vid in answer.error for vid in again)
    for vid in again:
        client.ok("DELETE", f"/volumes/{vid}")


@harness.needs("network")
def test_networks_by_name(client, new_sandbox):
    new_sandbox(name="member")
    client.ok("POST", "/networks", {"name": "lookup-net"})
    client.ok("POST", "/networks/lookup-net/connect", {"sandboxId": "member"})
    assert client.ok("DELETE", "/networks/lookup-net")
