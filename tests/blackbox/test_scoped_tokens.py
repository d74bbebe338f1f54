"""Tokens for one sandbox and for chosen operations: what they may do, whichever way they come. test_tenants.py calls every row with them."""
import json
import subprocess
import time

import pytest

import engineclient
import harness
import mcpclient
import route_examples
import wsclient

TOKEN = "root-secret"
SERVER_ENV = {"III_AUTH_TOKEN": TOKEN, "III_MAX_SANDBOXES": "100"}
MARK = "marrowfat"


def make(client, name="scoped", **fields):
    return client.ok("POST", "/tokens", {"name": name, **fields})


class World(route_examples.World):
    """The things of the neighbour, in the same tenant: all of them carry the mark."""

    def new_box(self, **fields):
        return super().new_box(**{**fields, "name": MARK, "metadata": {"m": MARK}, "env": {"M": MARK}})


@pytest.fixture(scope="module")
def one(server):
    """A tenant with two sandboxes, and a token for one of them."""
    admin = server.client()
    user = server.client(make(admin, tenant="t")["secret"])
    box = user.create(name="own")["id"]
    token = make(admin, sandbox=box)
    world = World(user)
    yield {"admin": admin, "user": user, "box": box, "token": token, "scoped": server.client(token["secret"]), "world": world}
    world.close()
    user.delete(f"/sandboxes/{box}")


def test_a_token_for_one_sandbox_works_in_it(one, server):
    scoped, box, token = one["scoped"], one["box"], one["token"]
    assert (token["sandbox"], token["tenant"], token["role"]) == (box, "t", "user")
    assert scoped.exec(box, "echo hi")["stdout"] == "hi\n"
    scoped.ok("POST", f"/sandboxes/{box}/files/write", {"path": "/workspace/a", "content": "b"})
    assert scoped.ok("GET", "/sandboxes/own")["id"] == box, "also by its name"
    assert [s["id"] for s in scoped.ok("GET", "/sandboxes")["items"]] == [box]
    job = scoped.ok("POST", f"/sandboxes/{box}/exec/background", {"command": "true"})["id"]
    scoped.ok("GET", f"/exec/background/{job}/status")
    snapshot = scoped.ok("POST", f"/sandboxes/{box}/snapshots", {})
    assert snapshot["id"] in json.dumps(one["user"].ok("GET", f"/sandboxes/{box}/snapshots")), "what it makes is its tenant's"
    scoped.ok("DELETE", f"/snapshots/{snapshot['id']}")
    alert = scoped.ok("POST", f"/sandboxes/{box}/alerts", {"metric": "cpu", "threshold": 50, "action": "notify"})["id"]
    scoped.ok("DELETE", f"/alerts/{alert}")
    with engineclient.Worker(server.engine_port, headers={"Authorization": "Bearer " + token["secret"]}) as worker:
        assert worker.call("sandbox::exec", {"sandbox_id": box, "cmd": "echo", "args": ["hi"]})["stdout"] == "hi\n"
        assert len(worker.call("sandbox::list", {})["sandboxes"]) == 1
        assert worker.call("env::list", {"id": box})


def test_what_is_about_more_than_its_sandbox_is_refused(one):
    scoped, box = one["scoped"], one["box"]
    for method, path, body in [("POST", "/sandboxes", {"image": "python"}), ("GET", "/volumes", None), ("GET", "/networks", None), ("GET", "/images", None),
                               ("POST", f"/sandboxes/{box}/clone", {}), ("POST", f"/sandboxes/{box}/fork", {"count": 1}), ("GET", "/tokens", None),
                               ("GET", "/metrics", None), ("POST", "/volumes", {"name": "v"}), ("POST", "/tokens", {"name": "x", "sandbox": box}),
                               ("GET", "/queue/dlq", None), ("GET", "/templates", None)]:
        reply = scoped.call(method, path, body)
        assert reply.status == 403 and "scoped" in reply.error, (path, reply)
    with harness.Client(one["admin"].port, one["token"]["secret"], prefix="") as outside:
        assert outside.get("/metrics").status == 403


def test_events_and_traces_are_narrowed_to_its_sandbox(one):
    scoped, user, box = one["scoped"], one["user"], one["box"]
    other = one["world"].box
    for about in (box, other):
        user.ok("POST", "/events/publish", {"topic": "of " + about, "sandboxId": about})
    topics = {e["topic"] for e in scoped.ok("GET", "/events/history?limit=1000")["events"]}
    assert "of " + box in topics and "of " + other not in topics
    assert scoped.post("/events/publish", {"topic": "x", "sandboxId": other}).status == 404
    traces = scoped.ok("GET", "/observability/traces?limit=1000")
    assert box in json.dumps(traces) and other not in json.dumps(traces)


def test_a_name_of_the_neighbour_means_nothing(one):
    other = one["world"].box
    for given in (MARK, other[:10], other[4:12]):
        assert one["scoped"].get(f"/sandboxes/{given}").status == 404, given


def test_sockets_and_previews_of_the_neighbour(one, server):
    world, secret = one["world"], one["token"]["secret"]
    headers = {"Authorization": "Bearer " + secret}
    session = world.post("terminal", {})["sessionId"]
    for path in (f"/sandboxes/{world.box}/terminal/{session}/ws", f"/sandboxes/{world.box}/exec/attach"):
        with pytest.raises(wsclient.Refused) as why:
            wsclient.WebSocket(server.port, harness.PREFIX + path, headers=headers)
        assert why.value.status == 404
    port = world.port
    world.post("proxy/config", {"requireAuth": True})
    statuses = [c.get(f"/proxy/{world.box}/{port}/file.txt").status for c in (one["user"], one["scoped"])]
    world.post("proxy/config", {"requireAuth": False})
    assert statuses == [200, 404]


def test_mcp_has_the_same_scope(one, server):
    session = mcpclient.Http(server, token=one["token"]["secret"])
    session.initialize()
    assert "hi" in session.text("sandbox_exec", sandboxId=one["box"], command="echo hi")
    assert "failed: 404" in session.tool("sandbox_exec", sandboxId=one["world"].box, command="echo hi")["content"][0]["text"]
    assert "failed: 403" in session.tool("sandbox_create", image="python")["content"][0]["text"]
    assert [s["id"] for s in json.loads(session.text("sandbox_list"))] == [one["box"]]
    assert session.ask("resources/read", {"uri": f"sandbox://{one['world'].box}"})["error"]["code"] == -32002
    assert MARK not in json.dumps(session.ask("resources/list"))


@pytest.mark.parametrize("operations, may, may_not", [
    (["exec"], ["exec", "exec/background"], ["files/read", "env/get"]),
    (["files"], ["files/read"], ["exec", "exec/stream"]),
    (["fs::read", "env"], ["files/read", "env/get"], ["files/write", "exec"])])
def test_a_token_for_chosen_operations(one, server, operations, may, may_not):
    bodies = {"exec": {"command": "true"}, "exec/background": {"command": "true"}, "exec/stream": {"command": "true"}, "files/read": {"path": "/etc/hostname"},
              "files/write": {"path": "/workspace/x", "content": ""}, "env/get": {"key": "HOME"}}
    made = make(one["admin"], "chosen", tenant="t", operations=operations)
    assert made["operations"] == operations
    with server.client(made["secret"]) as caller:
        for what in may:
            assert caller.post(f"/sandboxes/{one['box']}/{what}", bodies[what]).status != 403, what
        for what in may_not:
            reply = caller.post(f"/sandboxes/{one['box']}/{what}", bodies[what])
            assert reply.status == 403 and "operations" in reply.error and operations[0] in reply.error, (what, reply)
        assert caller.get("/sandboxes").status == 403
        with pytest.raises(wsclient.Refused) as why:
            wsclient.WebSocket(server.port, harness.PREFIX + f"/sandboxes/{one['box']}/terminal/x/ws", headers={"Authorization": "Bearer " + made["secret"]})
        assert why.value.status == 403


def test_operations_bind_an_admin_and_a_read_only_token_too(one, server):
    admin = make(one["admin"], "ci", role="admin", operations=["images"])
    with server.client(admin["secret"]) as caller, harness.Client(server.port, admin["secret"], prefix="") as outside:
        assert caller.get("/images").status == 200
        assert caller.delete("/images/none_such").status == 404
        assert caller.get("/tokens").status == caller.get("/sandboxes").status == 403
        assert outside.get("/metrics").status == 403
    with engineclient.Worker(server.engine_port, headers={"Authorization": "Bearer " + admin["secret"]}) as worker:
        assert "may not call" in worker.fail("state::set", {}).message
    watcher = make(one["admin"], "eye", role="read-only", tenant="*", operations=["exec"])
    with server.client(watcher["secret"]) as caller, harness.Client(server.port, watcher["secret"], prefix="") as outside:
        assert "read-only" in caller.post(f"/sandboxes/{one['box']}/exec", {"command": "true"}).error
        assert outside.get("/metrics").status == 403


@pytest.mark.parametrize("fields, status, word", [
    ({"sandbox": "none_such"}, 404, "sandbox not found: none_such"), ({"sandbox": ""}, 400, "sandbox"), ({"sandbox": "x" * 300}, 400, "sandbox"),
    ({"operations": []}, 400, "operations"), ({"operations": ["exec"] * 25}, 400, "24"), ({"operations": ["x" * 41]}, 400, "40"),
    ({"operations": ["exce"]}, 400, "did you mean exec?"), ({"operations": ["exec,files"]}, 400, "operations"), ({"operations": [""]}, 400, "operations"),
    ({"operations": "exec"}, 400, "operations")])
def test_limits_of_a_scope(one, fields, status, word):
    reply = one["admin"].post("/tokens", {"name": "a", **fields})
    assert reply.status == status and word in reply.error, reply


def test_a_scope_must_fit(one):
    for fields, word in (({"tenant": "other"}, "tenant"), ({"role": "admin"}, "admin")):
        reply = one["admin"].post("/tokens", {"name": "a", "sandbox": one["box"], **fields})
        assert reply.status == 400 and word in reply.error, reply
    made = make(one["admin"], sandbox=one["box"], role="read-only")
    with harness.Client(one["admin"].port, made["secret"]) as caller:
        assert caller.get(f"/sandboxes/{one['box']}").status == 200
        assert "read-only" in caller.post(f"/sandboxes/{one['box']}/exec", {"command": "true"}).error


def test_a_sandbox_of_no_tenant_and_one_that_is_gone(one, server):
    admin = one["admin"]
    box, other = (admin.create()["id"] for _ in range(2))
    made = make(admin, sandbox=box)
    assert "tenant" not in made
    with server.client(made["secret"]) as caller:
        assert caller.exec(box, "true")["exitCode"] == 0
        assert caller.get(f"/sandboxes/{other}").status == 404
        caller.ok("DELETE", f"/sandboxes/{box}")
        assert caller.get(f"/sandboxes/{box}").status == 404 and caller.ok("GET", "/sandboxes")["items"] == []
    admin.ok("DELETE", f"/sandboxes/{other}")


def test_the_audit_log_names_the_token(one, server):
    one["scoped"].ok("POST", f"/sandboxes/{one['box']}/env", {"vars": {"A": "1"}})

    def line():
        text = (server.data_dir / "audit" / "current.jsonl").read_text()
        return [row for row in map(json.loads, text.splitlines()) if row.get("token") == one["token"]["id"] and row["operation"] == "env::set"]
    row = harness.wait_until(line, "the call is in the audit log")[0]
    assert (row["name"], row["tenant"]) == ("scoped", "t")


def cli(*words, **env):
    return subprocess.run([harness.BINARY, "token", *words], env={**harness.clean_env(), **env}, capture_output=True, text=True)


def test_the_command_line(one, server):
    env = {"III_SERVER": f"http://127.0.0.1:{server.port}", "III_AUTH_TOKEN": TOKEN}
    made = cli("create", "--sandbox", one["box"], "--operations", "exec,files", "--expires", "1h", "--json", **env)
    assert made.returncode == 0, made.stderr
    token = json.loads(made.stdout)
    assert (token["sandbox"], token["operations"], token["name"]) == (one["box"], ["exec", "files"], one["box"])
    assert 0 < token["expires"] - time.time() * 1000 <= 3600000
    with server.client(token["secret"]) as caller:
        assert caller.exec(one["box"], "echo hi")["stdout"] == "hi\n"
    assert f"{one['box']} exec,files" in cli("ls", **env).stdout
    assert f"scope    {one['box']} exec,files" in cli("show", token["id"], **env).stdout
    wrong = cli("create", "x", "--operations", "exce", **env)
    assert wrong.returncode == 2 and "did you mean exec?" in wrong.stderr
    assert cli("create", **env).returncode == 2


def test_the_command_line_beside_the_folder(one, server):
    folder = ["--data-dir", str(server.data_dir)]
    made = cli("create", "--sandbox", one["box"], "--tenant", "t", *folder)
    assert made.returncode == 0, made.stderr
    with server.client(made.stdout.strip()) as caller:
        assert caller.exec(one["box"], "echo hi")["stdout"] == "hi\n"
        assert caller.get(f"/sandboxes/{one['world'].box}").status == 404
    short = cli("create", "--sandbox", "own", *folder)
    assert short.returncode == 2 and "own" in short.stderr and "sbx_" in short.stderr


def test_an_expired_token_makes_room():
    with harness.Server(env={"III_AUTH_TOKEN": "root"}, token="root") as server:
        client = server.client()
        make(client)
        path = server.data_dir / "tokens.json"
        doc = json.loads(path.read_text())
        doc["tokens"] += [{**doc["tokens"][0], "id": f"tok_{n:024x}", "hash": f"{n:064x}", **({"expires": 1} if n == 500 else {})} for n in range(999)]
        path.write_text(json.dumps(doc))
        make(client, "one more")
        assert client.get(f"/tokens/tok_{500:024x}").status == 404
        assert client.post("/tokens", {"name": "another"}).status == 503
