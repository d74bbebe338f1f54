"""The warm pool: started sandboxes that wait for a create of the same shape."""
import pytest

import harness
import vmwatch

SERVER_ENV = {"III_BLANK_POOL": "0", "III_POOL_SIZE": "2", "III_POOL_PROFILES": "python,512,1,false;shell,64,0.5,false;broken,entry", "III_POOL_REPLENISH": "*/1 * * * * *"}
KEYS = {"python:512:1:false", "shell:64:0.5:false"}


def filled(client):
    def status():
        now = client.ok("GET", "/pool/status")
        return now if now["ready"] == 4 else None

    return harness.wait_until(status, "the pool to fill")


def boxes(server):
    """What the host has for each sandbox, also for one that waits: a container, the process of a virtual machine, or the first process."""
    if harness.BACKEND == "docker":
        return {one["Id"] for one in harness.engine().containers(server.data_tag())}
    return set(vmwatch.monitors(server) if harness.IN_MACHINES else server.agents())


def is_warm(server, client, sid, before):
    """Deletes a sandbox; true when what goes with it was there before it was created."""
    here = boxes(server)
    client.ok("DELETE", f"/sandboxes/{sid}")
    harness.wait_until(lambda: here - boxes(server), "the sandbox to leave the host")
    gone = here - boxes(server)
    assert len(gone) == 1, gone
    return gone <= before


def test_it_fills_by_profile(client):
    status = filled(client)
    assert status["total"] == 4 and status["by_profile"] == {key: 2 for key in KEYS}


def test_waiting_ones_are_not_listed(client):
    filled(client)
    assert client.ok("GET", "/sandboxes")["total"] == 0


@pytest.mark.parametrize("fields", [{}, {"image": "shell", "memory": 64, "cpu": 0.5}, {"name": "warm", "metadata": {"a": "b"}, "timeout": 100}])
def test_a_matching_create_takes_one_that_waits(server, client, fields):
    filled(client)
    before = boxes(server)
    assert len(before) == 4
    assert is_warm(server, client, client.create(**fields)["id"], before)
    filled(client)


@pytest.mark.parametrize("fields", [{"memory": 128}, {"cpu": 0.5}, {"image": "shell"}, {"env": {"A": "b"}}, {"workdir": "/else"}, {"pids": 50}, {"openFiles": 999}])
def test_a_create_of_another_shape_takes_none(server, client, fields):
    filled(client)
    before = boxes(server)
    assert not is_warm(server, client, client.create(**fields)["id"], before)
    assert filled(client)["ready"] == 4 and before <= boxes(server)


def test_a_matching_create_is_a_sandbox_like_any_other(new_sandbox, client):
    filled(client)
    record = new_sandbox(name="warm", metadata={"a": "b"})
    sid = record["id"]
    assert record["name"] == "warm" and record["status"] == "running" and record["metadata"] == {"a": "b"}
    assert client.exec(sid, "pwd; echo $HOSTNAME")["stdout"].split() == ["/workspace", sid]
    assert client.ok("GET", f"/sandboxes/{sid}")["config"]["memory"] == 512
    client.ok("POST", f"/sandboxes/{sid}/pause")
    client.ok("POST", f"/sandboxes/{sid}/resume")
    assert client.ok("GET", f"/sandboxes/{sid}/metrics")["pids"] >= 1
    filled(client)


def test_a_create_of_another_shape_still_works(new_sandbox, client):
    filled(client)
    assert new_sandbox(memory=128)["config"]["memory"] == 128
    assert client.exec(new_sandbox(env={"A": "b"})["id"], "echo $A")["stdout"] == "b\n"
    assert client.exec(new_sandbox(workdir="/else")["id"], "pwd")["stdout"] == "/else\n"
    assert client.ok("GET", "/pool/status")["ready"] == 4


def test_more_creates_than_the_pool_holds(new_sandbox, client):
    filled(client)
    ids = [new_sandbox()["id"] for _ in range(8)]
    assert len(set(ids)) == 8
    assert [client.exec(sid, "echo $HOSTNAME")["stdout"].strip() for sid in ids] == ids
    filled(client)


@harness.needs("hostname")
def test_a_pooled_one_gets_its_hostname(new_sandbox, client):
    filled(client)
    sid = new_sandbox()["id"]
    assert client.exec(sid, "hostname")["stdout"].strip() == sid


def test_a_server_without_a_pool_says_so():
    with harness.Server() as server, harness.Client(server.port) as caller:
        assert caller.ok("GET", "/pool/status") == {"total": 0, "ready": 0, "by_profile": {}}
