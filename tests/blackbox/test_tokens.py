"""API tokens: made, shown once, checked, rotated, revoked, expired; roles; requests a minute."""
import http.client
import json
import subprocess
import threading
import time

import pytest

import engineclient
import harness
import wsclient

TOKEN = "root-secret"
SERVER_ENV = {"III_AUTH_TOKEN": TOKEN}
READS = [("GET", "/sandboxes"), ("GET", "/images"), ("GET", "/templates"), ("GET", "/volumes"), ("GET", "/networks"), ("GET", "/metrics"),
         ("GET", "/events/history"), ("GET", "/observability/traces"), ("GET", "/observability/metrics"), ("GET", "/queue/dlq"), ("GET", "/openapi.json")]
WRITES = [("POST", "/sandboxes", {"image": "python"}), ("POST", "/volumes", {"name": "v"}), ("POST", "/networks", {"name": "n"}),
          ("POST", "/templates", {"name": "t", "config": {"image": "python"}}), ("POST", "/events/publish", {"topic": "t", "sandboxId": "x"}),
          ("POST", "/images/pull", {"image": "x"}), ("DELETE", f"/sandboxes/{harness.UNKNOWN}", None)]
ADMINS = [("GET", "/tokens", None), ("POST", "/tokens", {"name": "more"}), ("POST", "/admin/sweep", {}), ("GET", "/admin/workers", None),
          ("GET", "/workers", None), ("POST", "/workers/reap", {}), ("GET", "/pool/status", None), ("POST", "/observability/clear", {})]


def make(client, name="t", **fields):
    return client.ok("POST", "/tokens", {"name": name, **fields})


def test_a_secret_is_shown_once_and_kept_as_a_digest(server, client):
    made = make(client, "shown once", tenant="a")
    assert made["secret"].startswith("iii_") and len(made["secret"]) == 68
    assert (made["role"], made["tenant"], made["revoked"]) == ("user", "a", False)
    again = client.ok("GET", f"/tokens/{made['id']}")
    assert "secret" not in again and "hash" not in again and again["usage"]["sandboxes"] == 0
    listed = [t for t in client.ok("GET", "/tokens")["tokens"] if t["id"] == made["id"]]
    assert len(listed) == 1 and "secret" not in listed[0]
    path = server.data_dir / "tokens.json"
    assert path.stat().st_mode & 0o777 == 0o600
    for file in (path, server.log_path):
        assert made["secret"] not in file.read_text() and made["secret"][4:] not in file.read_text()


def test_a_token_works_with_and_without_bearer_and_near_misses_do_not(server, client):
    secret = make(client)["secret"]
    with harness.Client(server.port) as caller:
        for value in (secret, "Bearer " + secret):
            assert caller.get("/sandboxes", headers={"Authorization": value}).status == 200
        for value in (secret + "0", secret[:-1], secret.upper(), "iii_" + "0" * 64, "Bearer  " + secret, "iii_", "Bearer iii_" + "g" * 64):
            reply = caller.get("/sandboxes", headers={"Authorization": value})
            assert (reply.status, reply.error) == (403, "Invalid token"), value
        assert caller.get("/sandboxes").status == 401


def test_last_use_is_told(server, client):
    made = make(client, tenant="a")
    assert "lastUsed" not in client.ok("GET", f"/tokens/{made['id']}")
    with server.client(made["secret"]) as user:
        user.ok("GET", "/sandboxes")
    assert abs(client.ok("GET", f"/tokens/{made['id']}")["lastUsed"] - time.time() * 1000) < 600000


@pytest.mark.parametrize("fields, word", [
    ({"name": ""}, "name"), ({"name": "x" * 65}, "name"), ({"name": "a\nb"}, "name"), ({"name": "a", "role": "root"}, "role"),
    ({"name": "a", "tenant": "x" * 65}, "tenant"), ({"name": "a", "tenant": "a/b"}, "tenant"), ({"name": "a", "tenant": "*"}, "tenant"),
    ({"name": "a", "role": "admin", "tenant": "*"}, "tenant"), ({"name": "a", "role": "read-only"}, "tenant"), ({"name": "a", "expires": 1}, "expires"),
    ({"name": "a", "expires": 9007199254740991}, "expires"), ({"name": "a", "quota": {"sandboxes": -1}}, "quota.sandboxes"),
    ({"name": "a", "quota": {"volumes": 1.5}}, "quota.volumes"), ({"name": "a", "quota": {"apples": 1}}, "quota.apples"),
    ({"name": "a", "quota": {"requestsPerMinute": 0}}, "quota.requestsPerMinute"), ({"name": "a", "quota": {"ports": "3"}}, "quota.ports")])
def test_limits_on_what_a_token_may_be(client, fields, word):
    reply = client.post("/tokens", fields)
    assert reply.status == 400 and word in reply.error, reply


@pytest.mark.parametrize("role, tenant", [("user", "r"), ("read-only", "r"), ("read-only", "*")])
def test_roles(server, client, role, tenant):
    secret = make(client, role + " one", role=role, tenant=tenant)["secret"]
    with server.client(secret) as caller:
        for method, path in READS:
            assert caller.call(method, path).status == 200, path
        for method, path, body in WRITES if role == "read-only" else []:
            reply = caller.call(method, path, body)
            assert reply.status == 403 and "read-only" in reply.error, (path, reply)
        for method, path, body in ADMINS:
            may = tenant == "*" and method == "GET" and path in ("/admin/workers", "/workers", "/pool/status")
            assert caller.call(method, path, body).status == (200 if may else 403), path


def test_an_admin_token_may_do_all(server, client):
    secret = make(client, "second admin", role="admin")["secret"]
    with server.client(secret) as admin:
        for method, path in READS:
            assert admin.call(method, path).status == 200
        other = make(admin, "by the second")
        assert admin.ok("DELETE", f"/tokens/{other['id']}")["revoked"] is True


def test_prometheus_is_for_those_who_may_see_everything(server, client):
    for role, tenant, status in (("user", "p", 403), ("read-only", "p", 403), ("read-only", "*", 200), ("admin", None, 200)):
        fields = {"tenant": tenant} if tenant else {}
        with harness.Client(server.port, make(client, role=role, **fields)["secret"], prefix="") as caller:
            assert caller.get("/metrics").status == status, role


def test_rotation_ends_the_old_secret(server, client):
    made = make(client, tenant="rot")
    new = client.ok("POST", f"/tokens/{made['id']}/rotate", {})
    assert new["id"] == made["id"] and new["secret"] != made["secret"]
    with server.client(made["secret"]) as old, server.client(new["secret"]) as now:
        assert old.get("/sandboxes").status == 403
        assert now.get("/sandboxes").status == 200


def test_revoked_and_expired_tokens_are_refused(server, client):
    made = make(client, tenant="rev")
    with server.client(made["secret"]) as user:
        assert user.get("/sandboxes").status == 200
        assert client.ok("DELETE", f"/tokens/{made['id']}")["revoked"] is True
        reply = user.get("/sandboxes")
        assert (reply.status, reply.error) == (403, "Token revoked")
        assert client.delete(f"/tokens/{made['id']}").status == 200, "twice is fine"
        assert client.post(f"/tokens/{made['id']}/rotate").status == 409
    soon = make(client, tenant="rev", expires=int(time.time() * 1000) + 2000)
    with server.client(soon["secret"]) as user:
        reply = harness.wait_until(lambda: (r := user.get("/sandboxes")).status != 200 and r, "the token expires")
        assert (reply.status, reply.error) == (403, "Token expired")


@pytest.mark.parametrize("method, path", [("GET", "/tokens/none_such"), ("DELETE", "/tokens/none_such"), ("POST", "/tokens/none_such/rotate")])
def test_an_unknown_token(client, method, path):
    reply = client.call(method, path, {} if method == "POST" else None)
    assert reply.status == 404 and "none_such" in reply.error


def stream_ended(answer):
    """Whether the server cut an event stream (it sends nothing more but what it had queued)."""
    try:
        while answer.readline():
            pass
    except (ConnectionResetError, http.client.IncompleteRead):  # however the cut shows; not a time-out, by which the stream would still be open
        pass
    return True


@pytest.mark.parametrize("how", ["revoke", "expire", "rotate"])
def test_open_streams_end_with_their_token(server, client, how):
    expires = {"expires": int(time.time() * 1000) + 6000} if how == "expire" else {}
    made, other = make(client, tenant="s1", **expires), make(client, tenant="s2")
    with server.client(made["secret"]) as user, server.client(other["secret"]) as bystander:
        box = user.create()["id"]
        answer = user.open("GET", "/stream/events")
        assert answer.status == 200
        command = harness.Client(server.port, made["secret"])
        running = command.open("POST", f"/sandboxes/{box}/exec/stream", {"command": "echo on; sleep 600"})
        assert b"on" in running.readline()
        about = bystander.create()["id"]
        stays = bystander.open("GET", "/stream/events")
        if how == "revoke":
            client.ok("DELETE", f"/tokens/{made['id']}")
        elif how == "rotate":
            client.ok("POST", f"/tokens/{made['id']}/rotate", {})
        waiter = [threading.Thread(target=stream_ended, args=(a,)) for a in (answer, running)]
        for t in waiter:
            t.start()
        for t in waiter:
            t.join(harness.DEADLINE_S)
            assert not t.is_alive(), "the stream is still open"
        command.close()
        client.ok("POST", "/events/publish", {"topic": "still", "sandboxId": about})
        assert b"data: " in b"".join(stays.readline() for _ in range(2)), "the stream of another token goes on"
        harness.wait_until(lambda: "sleep" not in json.dumps(client.ok("GET", f"/sandboxes/{box}/processes")), "the command ended with its stream")
        for sid in (box, about):
            client.ok("DELETE", f"/sandboxes/{sid}")


def test_requests_per_minute(server, client):
    made = make(client, tenant="rpm", quota={"requestsPerMinute": 3})
    with server.client(made["secret"]) as user:
        assert [user.get("/sandboxes").status for _ in range(3)] == [200] * 3
        reply = user.get("/sandboxes")
        assert reply.status == 429 and "requestsPerMinute" in reply.error and "3" in reply.error and int(reply.headers["retry-after"]) >= 1
        with server.client(make(client, tenant="rpm")["secret"]) as other:
            assert other.get("/sandboxes").status == 200, "another token has a rate of its own"


def test_requests_per_minute_count_calls_of_the_engine(server, client):
    made = make(client, tenant="rpm", quota={"requestsPerMinute": 3})
    with engineclient.Worker(server.engine_port, headers={"Authorization": "Bearer " + made["secret"]}) as worker, server.client(made["secret"]) as user:
        worker.call("volume::list", {})
        worker.call("sandbox::list", {})
        assert user.get("/sandboxes").status == 200
        why = worker.fail("volume::list", {})
        assert why.code == "rate_limited" and "requestsPerMinute" in why.message and "3" in why.message
        assert "S400" in worker.fail("sandbox::list", {}).message
        assert user.get("/sandboxes").status == 429


def test_what_was_handed_over_ends_with_its_token(server, client):
    """A channel needs no token, only its key: it must not outlive the right of whoever asked for it."""
    made, other = make(client, tenant="c1"), make(client, tenant="c2")
    ends, workers = [], []
    for token in (made, other):
        worker = engineclient.Worker(server.engine_port, headers={"Authorization": "Bearer " + token["secret"]})
        workers.append(worker)
        box = worker.call("sandbox::create", {"image": "python"})["sandbox_id"]
        worker.call("sandbox::exec", {"sandbox_id": box, "cmd": "truncate", "args": ["-s", "100M", "/tmp/large"]})
        refs = [worker.call("sandbox::fs::read", {"sandbox_id": box, "path": "/tmp/large"})["content"] for _ in range(2)]
        ends.append((engineclient.open_channel(server.engine_port, refs[0]), refs[1]))
        ends[-1][0].recv()
    client.ok("DELETE", f"/tokens/{made['id']}")
    with pytest.raises(wsclient.Closed) as ended:
        while True:
            ends[0][0].recv()
    assert ended.value.code == 1008 and "revoked" in ended.value.reason
    with pytest.raises(wsclient.Refused):
        engineclient.open_channel(server.engine_port, ends[0][1])  # nobody had claimed it yet
    for end in (ends[1][0], engineclient.open_channel(server.engine_port, ends[1][1])):
        size = 0
        with pytest.raises(wsclient.Closed) as ended:
            while True:
                size += len(end.recv())
        assert ended.value.code == 1000 and size > 50_000_000, "those of another token go on"
    for worker in workers:
        worker.ws.cut()


def test_once_a_token_exists_everyone_needs_one():
    with harness.Server() as server:
        anyone, watcher = server.client(), server.client()
        stream = watcher.open("GET", "/stream/events")
        first = json.loads(subprocess.run([harness.BINARY, "token", "create", "first", "--role", "admin", "--json", "--data-dir", server.data_dir],
                                          env=harness.clean_env(), capture_output=True, check=True).stdout)
        assert anyone.get("/sandboxes").status == 401
        assert stream_ended(stream)
        with server.client(first["secret"]) as admin:
            admin.ok("DELETE", f"/tokens/{first['id']}")  # the last one: the server does not open again
            assert admin.get("/sandboxes").status == 403
        assert anyone.get("/sandboxes").status == 401
        assert anyone.get("/health").status == 200


def test_tokens_outlive_the_server_and_a_damaged_file_keeps_it_closed():
    with harness.Server(env={"III_AUTH_TOKEN": "root"}, token="root") as server:
        secret = make(server.client(), tenant="x")["secret"]
        server.stop()
        server.start()
        assert server.client(secret).get("/sandboxes").status == 200
        path = server.data_dir / "tokens.json"
        good = path.read_text()
        path.write_text(good[:-5])
        assert server.client(secret).get("/sandboxes").status == 200, "what was known stays in force"
        server.stop()
        failed = harness.run_cli("serve", "--port", "0", "--engine-port", "0", "--data-dir", server.data_dir)
        assert failed.returncode == 1 and "tokens" in failed.stderr
        path.write_text(good)
        server.start()


def test_a_file_that_is_changed_by_hand_counts_at_once(server, client):
    """As `iii token` beside a running server does it: by replacing the file."""
    made = make(client, "by hand", tenant="h")
    path = server.data_dir / "tokens.json"
    doc = json.loads(path.read_text())
    for row in doc["tokens"]:
        row["revoked"] = 1 if row["id"] == made["id"] else row["revoked"]
    fresh = path.with_suffix(".test")
    fresh.write_text(json.dumps(doc))
    fresh.rename(path)
    with server.client(made["secret"]) as user:
        assert user.get("/sandboxes").error == "Token revoked"


def test_the_number_of_tokens_has_a_limit():
    with harness.Server(env={"III_AUTH_TOKEN": "root"}, token="root") as server:
        client = server.client()
        made = make(client)
        path = server.data_dir / "tokens.json"
        doc = json.loads(path.read_text())
        doc["tokens"] += [{**doc["tokens"][0], "id": f"tok_{n:024x}", "hash": f"{n:064x}"} for n in range(999)]
        path.write_text(json.dumps(doc))
        reply = client.post("/tokens", {"name": "one more"})
        assert reply.status == 503 and "1000" in reply.error
        client.ok("DELETE", f"/tokens/{made['id']}")  # a revoked one makes room
        make(client, "one more")
        assert client.get(f"/tokens/{made['id']}").status == 404


def test_the_first_token_is_not_made_over_http():
    with harness.Server() as server:
        with server.client() as anyone, engineclient.Worker(server.engine_port) as worker:
            reply = anyone.post("/tokens", {"name": "first", "role": "admin"})
            assert reply.status == 403 and "iii token create" in reply.error
            failed = worker.fail("token::create", {"name": "first", "role": "admin"})
            assert "iii token create" in failed.message
            assert anyone.ok("GET", "/tokens") == {"tokens": []}
        assert not (server.data_dir / "tokens.json").exists()
