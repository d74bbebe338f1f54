"""The audit log: what is in it, the chain, rotation, strict mode, and the command that reads it."""
import json
import os
import subprocess
import time

import pytest

import engineclient
import harness
import inside
import wsclient

TOKEN = "root-secret"
SERVER_ENV = {"III_AUTH_TOKEN": TOKEN}


def lines(server):
    """All lines of the log, oldest first."""
    folder = server.data_dir / "audit"
    text = "".join(p.read_text() for p in sorted(folder.glob("0*.jsonl")) + [folder / "current.jsonl"])
    return [json.loads(line) for line in text.splitlines()]


def find(server, **wanted):
    def look():
        return [line for line in lines(server) if all(line.get(k) == v for k, v in wanted.items())]
    return harness.wait_until(look, f"a line with {wanted}")


def verify(server, *more):
    return harness.run_cli("audit", "verify", "--data-dir", server.data_dir, *more)


def test_calls_that_change_something_are_there_and_reads_are_not(server, client):
    made = client.ok("POST", "/tokens", {"name": "the writer", "tenant": "audited"})
    with server.client(made["secret"]) as user:
        box = user.ok("POST", "/sandboxes", {"image": "python", "env": {"SECRET": "hush-hush"}})["id"]
        user.call("GET", f"/sandboxes/{box}")
        user.call("POST", f"/sandboxes/{box}/exec", {"command": "echo hush-hush"}, {"X-Request-Id": "req-17"})
        user.call("POST", "/admin/sweep", {})
        user.ok("DELETE", f"/sandboxes/{box}")
    create = find(server, operation="sandbox::create", token=made["id"])[-1]
    assert (create["name"], create["tenant"], create["status"], create["target"]) == ("the writer", "audited", 200, {"sandboxId": box})
    assert create["remote"].startswith("127.0.0.1:") and abs(create["time"] - time.time() * 1000) < 600000
    run = find(server, operation="cmd::run", token=made["id"])[-1]
    assert run["requestId"] == "req-17" and run["target"] == {"id": box}
    assert find(server, operation="lifecycle::ttl-sweep", token=made["id"])[-1]["status"] == 403
    assert find(server, operation="sandbox::kill", token=made["id"])[-1]["target"] == {"id": box}
    assert not [line for line in lines(server) if line["operation"] == "sandbox::get"]
    text = (server.data_dir / "audit" / "current.jsonl").read_text()
    for secret in (made["secret"], made["secret"][4:], TOKEN, "hush-hush"):
        assert secret not in text
    assert (server.data_dir / "audit" / "current.jsonl").stat().st_mode & 0o777 == 0o600


def test_refused_requests_are_there(server):
    with harness.Client(server.port) as anyone:
        anyone.post("/sandboxes", {})
        anyone.call("DELETE", "/sandboxes/x", None, {"Authorization": "Bearer wrong-one"})
        anyone.get("/sandboxes")
    assert find(server, operation="POST /sandbox/sandboxes")[-1]["status"] == 401
    assert find(server, operation="DELETE /sandbox/sandboxes/x")[-1]["status"] == 403
    assert not [line for line in lines(server) if line["operation"].startswith("GET")]
    assert "wrong-one" not in (server.data_dir / "audit" / "current.jsonl").read_text()


def test_a_flood_of_one_tenant_hides_no_denial_of_another(server, client):
    loud, quiet = (client.ok("POST", "/tokens", {"name": name, "tenant": name}) for name in ("loud", "quiet"))
    with harness.Client(server.port, loud["secret"]) as user:
        for _ in range(700):
            user.post("/admin/sweep")
    with harness.Client(server.port, quiet["secret"]) as user:
        assert user.post("/admin/sweep").status == 403
    harness.wait_until(lambda: find(server, operation="lifecycle::ttl-sweep", token=quiet["id"]), "the line of the other tenant")
    assert 100 < len(find(server, operation="lifecycle::ttl-sweep", token=loud["id"])) < 550, "its share, and what came meanwhile"


def test_many_refused_requests_become_a_number(server, client):
    with harness.Client(server.port) as anyone:
        for _ in range(700):
            anyone.post("/flood", {})
    client.ok("POST", "/events/publish", {"topic": "t", "sandboxId": "after"})
    harness.wait_until(lambda: [line for line in lines(server) if line.get("refusedBefore", 0) >= 50], "the number of those left out")
    assert len([line for line in lines(server) if line["operation"] == "POST /sandbox/flood"]) <= 650


def test_calls_of_the_engine_are_there(server, client):
    made = client.ok("POST", "/tokens", {"name": "an engine user", "tenant": "audited"})
    worker = engineclient.Worker(server.engine_port, headers={"Authorization": "Bearer " + made["secret"]})
    uuid = worker.call("sandbox::create", {"image": "python"})["sandbox_id"]
    worker.call("volume::create", {"name": "v"})
    worker.call("sandbox::stop", {"sandbox_id": uuid})
    worker.fail("sandbox::exec", {"sandbox_id": uuid, "cmd": "true"})
    worker.ws.close()
    sid = "sbx_" + uuid.replace("-", "")[:24]
    assert find(server, operation="sandbox::create", token=made["id"])[-1]["target"] == {"sandboxId": sid}, "one id for all entry points"
    assert find(server, operation="volume::create", token=made["id"])[-1]["remote"] == "127.0.0.1"
    stop, run = (find(server, operation=name, token=made["id"])[-1] for name in ("sandbox::stop", "sandbox::exec"))
    assert stop["status"] == 200 and "code" not in stop
    assert run["code"] == "S002", "a failure that has no HTTP status of its own is told by its code"


def tampered(path, change):
    before = path.read_text()
    rows = before.splitlines(keepends=True)
    path.write_text("".join(change(rows)))
    return before


@pytest.mark.parametrize("change, says", [
    (lambda rows: rows[:1] + [rows[1].replace('"status":200', '"status":201')] + rows[2:], "was changed"),
    (lambda rows: rows[:1] + rows[2:], "removed"),
    (lambda rows: rows[:2] + rows[1:], "removed or inserted"),
    (lambda rows: rows[:-1], "cut off"),
    (lambda rows: rows + ["not a line\n"], "not a line")], ids=["changed", "removed", "doubled", "cut", "strange"])
def test_verify_finds_what_was_done_to_it(server, client, change, says):
    for n in range(4):
        client.ok("POST", "/events/publish", {"topic": "t", "sandboxId": str(n)})
    path = server.data_dir / "audit" / "current.jsonl"
    harness.wait_until(lambda: len(path.read_text().splitlines()) >= 4 and verify(server).returncode == 0, "the lines")
    before = tampered(path, change)
    found = verify(server)
    assert found.returncode == 1 and says in found.stderr, found
    assert json.loads(verify(server, "--json").stdout)["ok"] is False
    path.write_text(before)
    good = json.loads(verify(server, "--json").stdout)
    assert good["ok"] is True and good["lines"] == len(before.splitlines())


def test_the_command_line_shows_and_filters(server, client):
    client.ok("POST", "/events/publish", {"topic": "t", "sandboxId": "shown"})
    find(server, operation="event::publish")
    def run(*args):
        done = harness.run_cli("audit", *args, "--data-dir", server.data_dir)
        assert done.returncode == 0, done.stderr
        return done.stdout
    assert "event::publish" in run("show") and "III_AUTH_TOKEN" in run("tail")
    rows = [json.loads(line) for line in run("show", "--json", "--operation", "event::").splitlines()]
    assert rows and all(r["operation"] == "event::publish" for r in rows)
    assert all(r["status"] == 401 for r in map(json.loads, run("show", "--json", "--status", "401").splitlines()))
    assert run("show", "--by", "nobody") == "" == run("show", "--tenant", "none")
    assert len(run("tail", "-n", "2").splitlines()) == 2
    assert harness.run_cli("audit", "show", "--status", "x", "--data-dir", server.data_dir).returncode == 2
    assert harness.run_cli("audit", "show", "--data-dir", server.home / "none").returncode == 1
    follow = subprocess.Popen([harness.BINARY, "audit", "tail", "-f", "-n", "1", "--json", "--data-dir", server.data_dir], stdout=subprocess.PIPE, text=True)
    follow.stdout.readline()
    client.ok("POST", "/events/publish", {"topic": "t", "sandboxId": "later"})
    assert json.loads(follow.stdout.readline())["target"] == {"sandboxId": "later"}
    follow.terminate()
    follow.wait()
    follow.stdout.close()


def test_files_are_full_and_the_chain_goes_on_over_them_and_over_restarts():
    with harness.Server(env={"III_AUDIT_MAX_MB": "1", "III_AUDIT_FILES": "1"}) as server:
        client = server.client()
        long = "x" * 250
        headers = {"X-Request-Id": long}
        for n in range(3600):
            client.call("POST", "/events/publish", {"topic": "t", "sandboxId": long}, headers)
        folder = server.data_dir / "audit"
        harness.wait_until(lambda: len(list(folder.glob("0*.jsonl"))) == 1 and not (folder / "0000000000000001.jsonl").exists(), "the first file is gone")
        server.stop()
        first = json.loads(verify(server, "--json").stdout)
        assert first["ok"] and first["trimmed"]
        with open(folder / "current.jsonl", "a") as file:
            file.write('{"half')  # what a crash may leave
        server.start()
        server.client().ok("POST", "/events/publish", {"topic": "t", "sandboxId": "y"})
        harness.wait_until(lambda: json.loads(verify(server, "--json").stdout).get("last") == first["last"] + 1, "one line more, and the torn one is cut")


def test_off():
    with harness.Server(env={"III_AUDIT": "false"}) as server:
        server.client().ok("POST", "/events/publish", {"topic": "t", "sandboxId": "y"})
        assert not (server.data_dir / "audit").exists()


@pytest.mark.skipif(not harness.IS_ROOT, reason="needs root to mount a small file system")
def test_strict_refuses_what_cannot_be_written(tmp_path):
    """A file system of a few blocks under the log, and a file that takes what is left: a full disk."""
    folder = tmp_path / "data" / "audit"
    folder.mkdir(parents=True)
    (tmp_path / "data").chmod(0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k,mode=0777", "tmpfs", folder], check=True)
    try:
        with harness.Server(env={"III_AUDIT_STRICT": "true"}, data_dir=tmp_path / "data") as server:
            client = server.client()
            volume = client.ok("POST", "/volumes", {"name": "before"})
            both = [line["status"] for line in lines(server) if line["operation"] == "volume::create"]
            assert both == [0, 200], "begun, and done, both before the answer"
            filler = folder / "filler"
            with open(filler, "wb") as file, pytest.raises(OSError):
                while True:
                    os.write(file.fileno(), b"x" * 4096)
            refused = harness.wait_until(lambda: (r := client.post("/volumes", {"name": "maybe"})).status != 200 and r, "a write fails")
            assert refused.status == 503 and "audit" in refused.error
            had = [v["name"] for v in client.ok("GET", "/volumes")["volumes"]]
            assert client.post("/volumes", {"name": "never"}).status == 503
            assert [v["name"] for v in client.ok("GET", "/volumes")["volumes"]] == had, "what was refused was not carried out"
            filler.unlink()
            harness.wait_until(lambda: client.post("/volumes", {"name": "after"}).status == 200, "it goes on when there is room")
            assert volume["id"] in json.dumps(client.ok("GET", "/volumes"))
            assert verify(server).returncode == 0
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def test_what_the_raw_proxy_passes_on_is_there_but_for_reading(server, client):
    box = client.create()["id"]
    inside.start(client, box, inside.HTTP_ECHO, 8080)
    inside.expose(client, box, 8080)
    inside.expose(client, box, 8081)  # where nobody listens
    path = f"/proxy/{box}/8080/things"
    with server.client() as anyone:
        assert anyone.call("GET", path).status == 200
        assert anyone.call("PUT", path, b"x", {"X-Request-Id": "put-1"}).status == 200
        assert anyone.call("DELETE", f"/proxy/{box}/8081/things").status == 502
        client.ok("POST", f"/sandboxes/{box}/proxy/config", {"requireAuth": True})
        assert anyone.call("PATCH", path, b"x", {"Authorization": ""}).status == 403
        assert anyone.call("GET", path, None, {"Authorization": ""}).status == 403
    client.ok("POST", f"/sandboxes/{box}/proxy/config", {"requireAuth": True})
    with server.client(client.ok("POST", "/tokens", {"name": "proxied", "tenant": "other"})["secret"]) as stranger:
        assert stranger.call("PUT", path, b"x").status == 404
    assert client.call("PUT", path, b"x").status == 200
    put = find(server, operation="proxy::raw", requestId="put-1")[-1]
    assert put["status"] == 200 and put["target"] == {"id": box, "port": 8080, "method": "PUT"} and put["remote"].startswith("127.0.0.1:")
    found = harness.wait_until(lambda: len(rows := find(server, operation="proxy::raw")) >= 5 and rows, "the other lines")
    told = [(row["target"]["method"], row["status"], row.get("name")) for row in found]
    assert told[1:] == [("DELETE", 502, None), ("PATCH", found[2]["status"], None), ("PUT", 404, "proxied"), ("PUT", 200, "III_AUTH_TOKEN")], told
    assert found[2]["status"] in (401, 403)
    client.ok("DELETE", f"/sandboxes/{box}")


def test_who_attaches_to_a_terminal_is_there(server, client):
    box = client.create()["id"]
    session = client.ok("POST", f"/sandboxes/{box}/terminal", {})["sessionId"]
    path = f"/sandbox/sandboxes/{box}/terminal/{session}/ws"
    wsclient.WebSocket(server.port, path, {"Authorization": "Bearer " + TOKEN}).cut()
    with pytest.raises(wsclient.Refused):
        wsclient.WebSocket(server.port, path, {"Authorization": "Bearer wrong"})
    found = harness.wait_until(lambda: len(rows := find(server, operation="terminal::attach")) >= 2 and rows, "two lines")
    assert [(row["status"], row["target"]) for row in found] == [(s, {"id": box, "sessionId": session}) for s in (101, 403)]
    assert found[0]["name"] == "III_AUTH_TOKEN" and "name" not in found[1]
    client.ok("DELETE", f"/sandboxes/{box}")


def test_what_the_engine_refuses_is_there(server, client):
    def refused(headers, status):
        """Its lines. An address that was refused often before has none for each, but gets room for more."""
        socket = wsclient.WebSocket(server.engine_port, "/", headers)
        assert "AUTH_ERROR" in socket.recv().decode()
        socket.cut()
        return [line for line in lines(server) if line.get("operation") == "engine::connect" and line.get("status") == status]

    for headers, status in (({"Authorization": "Bearer wrong"}, 403), ({}, 401)):
        found = harness.wait_until(lambda h=headers, s=status: refused(h, s), f"a line of a connection that is refused with {status}")
        assert found[-1]["remote"].startswith("127.0.0.1:")
    made = client.ok("POST", "/tokens", {"name": "curious", "tenant": "audited"})
    with engineclient.Worker(server.engine_port, headers={"Authorization": "Bearer " + made["secret"]}) as worker:
        assert worker.fail("state::set", {"scope": "s", "key": "k", "value": "hush-hush"}).code == "forbidden"
        worker.register("mine::own")
    for what in ("state::set", "engine::register"):
        line = find(server, operation=what, token=made["id"])[-1]
        assert (line["status"], line["name"], line["remote"]) == (403, "curious", "127.0.0.1")
    assert "hush-hush" not in (server.data_dir / "audit" / "current.jsonl").read_text()
