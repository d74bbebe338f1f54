"""Idempotency-Key: a repeated request is carried out once."""
import concurrent.futures
import http.client
import json
import uuid

import pytest

import harness


def keyed(client, path, body, key):
    return client.call("POST", path, body, headers={"Idempotency-Key": key})


def new_key():
    return uuid.uuid4().hex


def test_create_happens_once(client):
    key = new_key()
    first = keyed(client, "/sandboxes", {"image": "python", "name": "once", "memory": 128}, key)
    assert first.status == 200 and "idempotency-replayed" not in first.headers
    again = keyed(client, "/sandboxes", {"memory": 128, "name": "once", "image": "python"}, key)  # the order does not matter
    assert again.status == 200 and again.body == first.body and again.headers["idempotency-replayed"] == "true"
    assert [s["name"] for s in client.ok("GET", "/sandboxes?pageSize=200")["items"]].count("once") == 1
    other = keyed(client, "/sandboxes", {"image": "python", "name": "twice"}, key)
    assert other.status == 409 and "Idempotency-Key" in other.error
    client.ok("DELETE", f"/sandboxes/{first.json()['id']}")
    assert keyed(client, "/sandboxes", {"image": "python", "name": "once", "memory": 128}, key).body == first.body


@pytest.mark.parametrize("what", ["exec", "exec/start", "exec/background", "exec/queue"])
def test_commands_happen_once(sandbox, client, what):
    key, path, body = new_key(), f"/sandboxes/{sandbox}/{what}", {"command": "echo x >> /workspace/count; cat /workspace/count"}
    first = keyed(client, path, body, key)
    assert first.status == 200
    for _ in range(3):
        again = keyed(client, path, body, key)
        assert again.body == first.body and again.headers["idempotency-replayed"] == "true"
    lines = harness.wait_until(lambda: client.exec(sandbox, "cat /workspace/count 2>/dev/null")["stdout"], "the command to run")
    assert lines == "x\n"
    assert keyed(client, path, {"command": "true"}, key).status == 409
    other = "exec/stream" if what == "exec" else "exec"
    assert keyed(client, f"/sandboxes/{sandbox}/{other}", body, new_key()).status == 200  # another key, another command


def test_a_key_stands_for_one_sandbox_and_one_route(new_sandbox, client):
    one, two, key = new_sandbox()["id"], new_sandbox()["id"], new_key()
    assert keyed(client, f"/sandboxes/{one}/exec", {"command": "true"}, key).status == 200
    assert keyed(client, f"/sandboxes/{two}/exec", {"command": "true"}, key).status == 409
    assert keyed(client, f"/sandboxes/{one}/exec/queue", {"command": "true"}, key).status == 409


def test_those_who_come_meanwhile_wait(server, sandbox, client):
    key, body = new_key(), {"command": "echo run >> /workspace/runs; until [ -e /workspace/go ]; do sleep 0.01; done; echo done"}

    def ask(_):
        with harness.Client(server.port) as own:
            return keyed(own, f"/sandboxes/{sandbox}/exec", body, key)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(ask, n) for n in range(8)]
        harness.wait_until(lambda: client.exec(sandbox, "cat /workspace/runs 2>/dev/null")["stdout"], "the command to run")
        assert keyed(client, f"/sandboxes/{sandbox}/exec", {"command": "other"}, key).status == 409
        client.exec(sandbox, "touch /workspace/go")
        replies = [one.result(harness.DEADLINE_S) for one in asked]
    assert {r.status for r in replies} == {200} and len({r.body for r in replies}) == 1
    assert replies[0].json()["stdout"] == "done\n"
    assert client.exec(sandbox, "cat /workspace/runs")["stdout"] == "run\n"


def test_a_client_that_left_finds_the_answer(server, sandbox, client):
    """Without a key the command would die with its connection."""
    key, body = new_key(), {"command": "echo up >> /workspace/up; until [ -e /workspace/end ]; do sleep 0.01; done; echo kept"}
    conn = http.client.HTTPConnection("127.0.0.1", server.port)
    conn.request("POST", f"{harness.PREFIX}/sandboxes/{sandbox}/exec", json.dumps(body), {"Content-Type": "application/json", "Idempotency-Key": key})
    harness.wait_until(lambda: client.exec(sandbox, "cat /workspace/up 2>/dev/null")["stdout"], "the command to run")
    conn.close()
    client.exec(sandbox, "sleep 0.1; touch /workspace/end")
    assert keyed(client, f"/sandboxes/{sandbox}/exec", body, key).json()["stdout"] == "kept\n"
    assert client.exec(sandbox, "cat /workspace/up")["stdout"] == "up\n"


def test_failures_free_the_key_but_timeouts_do_not(new_sandbox, client):
    sid, key = new_sandbox()["id"], new_key()
    client.ok("POST", f"/sandboxes/{sid}/pause")
    assert keyed(client, f"/sandboxes/{sid}/exec", {"command": "echo hi"}, key).status == 409
    client.ok("POST", f"/sandboxes/{sid}/resume")
    assert keyed(client, f"/sandboxes/{sid}/exec", {"command": "echo hi"}, key).json()["stdout"] == "hi\n"
    key, body = new_key(), {"command": "echo x >> /workspace/late; sleep 99951", "timeout": 1}
    first = keyed(client, f"/sandboxes/{sid}/exec", body, key)
    assert first.status == 504
    assert keyed(client, f"/sandboxes/{sid}/exec", body, key).body == first.body
    assert client.exec(sid, "cat /workspace/late")["stdout"] == "x\n"


def test_a_huge_answer_is_not_kept(sandbox, client):
    key, body = new_key(), {"command": "echo x >> /workspace/huge; head -c 400000 /dev/zero | tr '\\0' y"}
    assert len(keyed(client, f"/sandboxes/{sandbox}/exec", body, key).json()["stdout"]) == 400000
    again = keyed(client, f"/sandboxes/{sandbox}/exec", body, key)
    assert again.status == 409 and "was carried out" in again.error
    assert client.exec(sandbox, "cat /workspace/huge")["stdout"] == "x\n"


def test_a_tenant_at_its_share_gets_no_key_and_takes_none():
    with harness.Server(env={"III_AUTH_TOKEN": "root", "III_IDEMPOTENCY_KEEP": "16"}, token="root") as server:
        admin, body = server.client(), {"image": "python", "memory": 128}
        loud, quiet = (server.client(admin.ok("POST", "/tokens", {"name": n, "tenant": n})["secret"]) for n in ("loud", "quiet"))
        key = new_key()
        first = keyed(quiet, "/sandboxes", body, key)
        box = loud.ok("POST", "/sandboxes", body)["id"]
        replies = [keyed(loud, f"/sandboxes/{box}/exec", {"command": "echo x >> /workspace/n"}, new_key()) for _ in range(8)]
        assert [r.status for r in replies] == [200] * 4 + [503] * 4 and "III_IDEMPOTENCY_KEEP" in replies[-1].error
        assert loud.exec(box, "cat /workspace/n")["stdout"] == "x\n" * 4  # what was refused was not carried out
        again = keyed(quiet, "/sandboxes", body, key)
        assert again.body == first.body and again.headers["idempotency-replayed"] == "true"


@pytest.mark.parametrize("key", ["", "a b", "x" * 256, "tab\tinside"])
def test_bad_keys(sandbox, client, key):
    reply = keyed(client, f"/sandboxes/{sandbox}/exec", {"command": "true"}, key)
    assert reply.status == 400 and "Idempotency-Key" in reply.error


def test_other_routes_ignore_it(sandbox, client):
    key = new_key()
    for content in ("one", "two"):
        assert keyed(client, f"/sandboxes/{sandbox}/files/write", {"path": "/workspace/f", "content": content}, key).status == 200
    assert client.exec(sandbox, "cat /workspace/f")["stdout"] == "two"


def test_answers_survive_a_restart():
    server = harness.Server()
    try:
        server.start()
        key, body = new_key(), {"image": "python", "name": "kept"}
        with harness.Client(server.port) as caller:
            first = keyed(caller, "/sandboxes", body, key)
        server.kill()
        server.start()
        with harness.Client(server.port) as caller:
            again = keyed(caller, "/sandboxes", body, key)
            assert again.body == first.body and again.headers["idempotency-replayed"] == "true"
            assert caller.ok("GET", "/sandboxes")["total"] == 1
        server.stop()
    finally:
        if server.proc.poll() is None:
            server.stop()
        server.remove()
