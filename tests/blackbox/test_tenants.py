"""Tenants: two users on one server. Every row of the table is called with the other's ids, by the other user (with
a token, and from the console), and by a token for one other sandbox of the same tenant; nothing of what is not the caller's may come back."""
import json
import re

import pytest

import engineclient
import harness
import route_examples
import wsclient

pytestmark = harness.needs("network")  # the first tenant has one of everything, and every case looks at all of it
TOKEN = "root-secret"
SERVER_ENV = {"III_AUTH_TOKEN": TOKEN, "III_MAX_SANDBOXES": "100"}
MARK = "marrowfat"  # in everything the first tenant makes: a foreign byte is one of these
# Rows that name nothing of a tenant's in their path or body, or only narrow a list by it: they answer, with the caller's own only.
LISTS = {"snapshot_list", "event_history", "observability_traces", "sandbox_list", "event_publish", "stream_events", "exec_start"}


def token(client, tenant, **fields):
    return client.ok("POST", "/tokens", {"name": f"of {tenant}", "tenant": tenant, **fields})


class World(route_examples.World):
    """The first tenant's things: all of them carry the mark."""

    def new_box(self, **fields):
        return super().new_box(**{**fields, "name": MARK, "metadata": {"m": MARK}, "env": {"M": MARK}})


@pytest.fixture(scope="module")
def two(server):
    admin = server.client()
    made = {name: token(admin, name) for name in ("first", "second")}
    world = World(server.client(made["first"]["secret"]))
    own = world.client.create(name="own")["id"]
    scoped = admin.ok("POST", "/tokens", {"name": "for one", "sandbox": own})
    workers = [worker(server, secret) for secret in (made["second"]["secret"], scoped["secret"])]
    with worker(server, TOKEN) as engine:
        functions = {f["function_id"] for f in engine.call("engine::functions::list", {"include_internal": True})["functions"]}
    assert {"env::list", "sandbox::exec", "snapshot::delete"} <= functions
    yield {"admin": admin, "world": world, "first": world.client, "second": server.client(made["second"]["secret"]),
           "console": harness.ConsoleClient(server.port, made["second"]["secret"]), "tokens": made,
           "scoped": server.client(scoped["secret"]), "workers": workers, "functions": functions}
    for w in workers:
        w.ws.close()
    world.close()
    admin.delete(f"/sandboxes/{own}")


def request(name, params):
    return route_examples.request(*route_examples.ROWS[name], params)


def ids_of(params):
    """What a call names: {field: id} of things with a random id."""
    return {k: v for k, v in params.items() if isinstance(v, str) and re.fullmatch(r"[a-z]+_[0-9a-f]{24}|job-[0-9a-f]+", v)}


def never(params, ids):
    """The same call with ids that nothing ever had."""
    return {**params, **{k: re.sub("[0-9a-f]{12,}", lambda m: "0" * len(m[0]), v) for k, v in ids.items()}}


def without_ids(text):
    return re.sub("[0-9a-f]{12,}", "", text)


def test_a_tenant_connects_to_names_of_its_own(two):
    made = {who: two[who].ok("POST", "/sandboxes", {"name": "same", "ifExists": "connect", "image": "shell"})["id"] for who in ("first", "second", "admin")}
    for who, id in made.items():
        assert two[who].ok("POST", "/sandboxes", {"name": "same", "ifExists": "connect"})["id"] == id
        two[who].ok("DELETE", f"/sandboxes/{id}")
    assert len(set(made.values())) == 3


def answers_as_unknown(caller, name, params, ids):
    """What is another's is answered like what never was."""
    reply = caller.call(*request(name, params))
    assert reply.status in (403, 404), f"{name}: {reply}"
    assert MARK not in reply.body.decode()
    unknown = caller.call(*request(name, never(params, ids)))
    assert (unknown.status, without_ids(unknown.error)) == (reply.status, without_ids(reply.error)), name


def outcome(caller, port, function, params):
    """What a function of the engine answers: the error, or the value; what a stream says in its channel."""
    try:
        value = caller.call(function, params)
    except engineclient.Failed as why:
        return str(why)
    if set(value) != {"channel"}:
        return json.dumps(value)
    channel, said = engineclient.open_channel(port, value["channel"]), []
    with pytest.raises(wsclient.Closed):
        while True:
            said.append(channel.recv())
    return repr(said)


def function_answers_as_unknown(two, server, function, params, ids):
    for caller in two["workers"]:
        text = outcome(caller, server.engine_port, function, params)
        assert MARK not in text and re.search("not found|S002|is for|not among|admin token", text), f"{function}: {text[:300]}"
        assert without_ids(text) == without_ids(outcome(caller, server.engine_port, function, never(params, ids))), function


# Tokens are admins' (test_tokens.py); the stream of events has a test of its own.
@pytest.mark.parametrize("name", route_examples.marked(
    sorted(n for n in route_examples.EXAMPLES if not n.startswith("token_") and n != "stream_events")))
def test_every_row_with_the_ids_of_another(two, server, name):
    params = route_examples.EXAMPLES[name](two["world"])
    ids = ids_of(params)
    method, path, body = request(name, params)
    if not ids:
        for caller in (two["second"], two["scoped"]) if method == "GET" else ():
            assert MARK not in caller.call(method, path, body).body.decode()
        return
    function = route_examples.ROWS[name][2]["x-function"]
    if function in two["functions"] and name not in LISTS:
        function_answers_as_unknown(two, server, function, params, ids)
    if name != "sandbox_list":  # it is its own list, whatever it is narrowed by
        answers_as_unknown(two["scoped"], name, params, ids)
    reply = two["second"].call(method, path, body)
    text = reply.body.decode()
    if name in LISTS and reply.status == 200:
        assert MARK not in text and not any(i in text for k, i in ids.items() if k != "id"), f"{name}: {text[:300]}"
        assert json.loads(text) in ({"snapshots": []},) or name != "snapshot_list"
        return
    for caller in (two["second"], two["console"]):
        answers_as_unknown(caller, name, params, ids)


def test_every_sandbox_function_with_the_id_of_another(two, server):
    """Those that are not rows of REST: all that name a sandbox."""
    uuid = worker(server, two["tokens"]["first"]["secret"])
    box = uuid.call("sandbox::create", {"image": "python", "name": MARK})["sandbox_id"]
    params = {"sandbox_id": box, "cmd": "true", "path": "/etc/hostname", "content": "", "src": "/a", "dst": "/b", "mode": "644", "pattern": "x", "replacement": "y"}
    named = sorted(f for f in two["functions"] if f in ("sandbox::exec", "sandbox::stop") or f.startswith("sandbox::fs::"))
    assert len(named) == 12, named
    for function in named:
        function_answers_as_unknown(two, server, function, params, {"sandbox_id": box})
    for caller in two["workers"]:
        assert box not in outcome(caller, server.engine_port, "sandbox::list", {})
    uuid.call("sandbox::stop", {"sandbox_id": box})
    uuid.ws.close()


def test_the_first_tenant_could_make_those_calls(two):
    """So that the refusals above are about the tenant, not about the calls."""
    for name in ("sandbox_get", "cmd_run", "fs_read", "snapshot_create", "env_list", "metrics_sandbox"):
        method, path, body = request(name, route_examples.EXAMPLES[name](two["world"]))
        assert two["first"].call(method, path, body).status == 200, name


LISTINGS = ["/sandboxes?pageSize=200", "/volumes", "/networks", "/templates", "/queue/dlq", "/events/history?limit=1000",
            "/observability/traces?limit=1000", "/metrics", "/observability/metrics"]


def test_lists_show_only_ones_own(two):
    w = two["world"]
    made = {"box": w.box, "volume": w.volume(), "network": w.network(), "template": w.template(), "job": w.failed_job(), "snapshot": w.snapshot()}
    mine = "".join(two["first"].get(path).body.decode() for path in LISTINGS)
    third = harness.Client(two["first"].port, token(two["admin"], "third")["secret"])  # which has asked for nothing yet
    other = "".join(third.get(path).body.decode() for path in LISTINGS)
    third.close()
    everything = "".join(two["admin"].get(path).body.decode() for path in LISTINGS)
    for what, thing in made.items():
        if what != "snapshot":
            assert thing in mine, what
        assert thing not in other and thing in everything, what
    assert MARK not in other and '"tenant":"first"' not in other
    assert "python-data-science" in other, "what is built in is everyone's"
    assert two["second"].ok("GET", "/metrics")["activeSandboxes"] == 0 < two["first"].ok("GET", "/metrics")["activeSandboxes"]
    assert two["second"].ok("GET", f"/sandboxes/{w.box}/snapshots") == {"snapshots": []}
    assert two["first"].ok("GET", f"/sandboxes/{w.box}/snapshots")["snapshots"]


def test_live_events_are_ones_own(two):
    stream = two["second"].open("GET", "/stream/events")
    two["first"].ok("POST", "/events/publish", {"topic": MARK, "sandboxId": two["world"].box})
    gone = two["world"].new_box()
    two["first"].ok("DELETE", f"/sandboxes/{gone}")
    two["admin"].ok("POST", "/events/publish", {"topic": "admin's", "sandboxId": "x"})
    with harness.Client(two["second"].port, two["tokens"]["second"]["secret"]) as second:
        second.ok("POST", "/events/publish", {"topic": "mine", "sandboxId": two["world"].box})
    line = b""
    while not line.startswith(b"data: "):
        line = stream.readline()
    two["second"].close()
    assert json.loads(line[6:])["topic"] == "mine", "the first event is the caller's own, though others came before"
    kept = two["first"].ok("GET", f"/events/history?sandboxId={gone}")["events"]
    assert {"sandbox.created", "sandbox.killed"} <= {e["topic"] for e in kept}, "also of a sandbox that is gone"


def test_names_and_keys_are_each_tenants_own(two):
    for user in (two["first"], two["second"]):
        user.ok("POST", "/templates", {"name": "same", "config": {"image": "python"}})
        user.ok("POST", "/networks", {"name": "same"})
    theirs = [t for t in two["first"].ok("GET", "/templates")["templates"] if t["name"] == "same"][0]
    trick = two["second"].call("POST", "/templates", {"name": theirs["id"], "config": {"image": "python"}})
    assert trick.status == 200
    assert two["second"].get(f"/templates/{theirs['id']}").status == 404, "a name that looks like another's id opens nothing"
    answers = []
    for user in (two["first"], two["second"]):
        reply = user.call("POST", "/sandboxes", {"image": "python"}, {"Idempotency-Key": "the-same-key"})
        answers.append(reply.json()["id"])
        user.ok("DELETE", f"/sandboxes/{answers[-1]}")
    assert answers[0] != answers[1]


def test_the_owner_survives_restart_snapshot_clone_fork_and_restore():
    with harness.Server(env={"III_AUTH_TOKEN": TOKEN, "III_ON_SHUTDOWN": "keep"}, token=TOKEN) as server:
        admin = server.client()
        user, other = (server.client(token(admin, t)["secret"]) for t in ("a", "b"))
        box = user.create()["id"]
        snapshot = user.ok("POST", f"/sandboxes/{box}/snapshots", {})["id"]
        made = [box, admin.ok("POST", f"/sandboxes/{box}/clone", {})["id"], user.ok("POST", f"/sandboxes/{box}/fork", {"count": 1})["sandboxes"][0]["id"],
                admin.ok("POST", f"/snapshots/{snapshot}/clone", {})["id"]]
        user.ok("POST", f"/sandboxes/{box}/snapshots/restore", {"snapshotId": snapshot})
        server.stop()
        server.start()
        admin, user, other = (server.client(c.token) for c in (admin, user, other))
        for sid in made:
            assert user.ok("GET", f"/sandboxes/{sid}")["tenant"] == "a", "also of a clone that an admin made"
            assert other.get(f"/sandboxes/{sid}").status == 404
        assert other.delete(f"/snapshots/{snapshot}").status == 404
        user.ok("DELETE", f"/snapshots/{snapshot}")
        for sid in made:
            user.ok("DELETE", f"/sandboxes/{sid}")


@pytest.mark.parametrize("kind, limit, calls", [
    ("sandboxes", 1, [("POST", "/sandboxes", {"image": "python"})] * 2),
    ("memoryMb", 700, [("POST", "/sandboxes", {"image": "python", "memory": 512})] * 2),
    ("cpus", 1.5, [("POST", "/sandboxes", {"image": "python", "cpu": 1})] * 2),
    ("volumes", 1, [("POST", "/volumes", {"name": "v"})] * 2),
    ("snapshots", 1, [("POST", "/sandboxes/{box}/snapshots", {})] * 2),
    ("ports", 1, [("POST", "/sandboxes/{box}/ports", {"containerPort": 9001, "hostPort": 0}), ("POST", "/sandboxes/{box}/ports", {"containerPort": 9002, "hostPort": 0})])])
def test_quotas(two, server, kind, limit, calls):
    made = token(two["admin"], "quota-" + kind, quota={kind: limit})
    with server.client(made["secret"]) as user:
        box = user.create()["id"] if "{box}" in calls[0][1] else ""
        replies = [user.call(method, path.format(box=box), body) for method, path, body in calls]
        assert replies[0].status == 200, replies[0]
        assert replies[1].status == 429 and f"quota {kind}" in replies[1].error and f"{limit:g}" in replies[1].error, replies[1]
        used = two["admin"].ok("GET", f"/tokens/{made['id']}")["usage"][kind]
        assert 0 < used <= limit
        assert user.ok("GET", "/metrics")["quota"] == {kind: limit}
        for sandbox in user.ok("GET", "/sandboxes")["items"]:
            user.ok("DELETE", f"/sandboxes/{sandbox['id']}")
        if kind in ("sandboxes", "memoryMb", "cpus"):
            again = user.call(*calls[1])
            assert again.status == 200, "what was freed may be used again"
            if kind == "sandboxes":
                refused = user.post(f"/sandboxes/{again.json()['id']}/fork", {"count": 1})
                assert refused.status == 429, "a fork counts, too"
            user.ok("DELETE", f"/sandboxes/{again.json()['id']}")


@harness.needs("stop")
def test_wake_beyond_the_quota(two, server):
    """A sandbox that sleeps counts without its memory; when that is in use elsewhere, it stays asleep, with its files."""
    made = token(two["admin"], "sleepers", quota={"memoryMb": 700})
    with server.client(made["secret"]) as user:
        sid = user.create(memory=512, autoResume=True)["id"]
        user.exec(sid, "echo text > /workspace/f")
        job = user.ok("POST", f"/sandboxes/{sid}/exec/queue", {"command": "test -e /workspace/ran || { touch /workspace/ran; sleep 99977; }", "maxRetries": 2})["id"]
        harness.wait_until(lambda: user.exec(sid, "ls /workspace/ran")["exitCode"] == 0, "the queued command to run")
        user.ok("POST", f"/sandboxes/{sid}/policy", {"autoResume": False})
        user.ok("POST", f"/sandboxes/{sid}/stop", {"timeout": 0})
        harness.wait_until(lambda: user.ok("GET", f"/queue/{job}/status")["status"] == "failed", "its tries to be used up")
        other = user.create(memory=512)["id"]
        user.ok("POST", f"/sandboxes/{sid}/policy", {"autoResume": True})
        reply = user.post(f"/sandboxes/{sid}/exec", {"command": "true"})
        assert reply.status == 429 and "quota memoryMb" in reply.error, reply
        user.ok("POST", f"/queue/{job}/retry")  # its wake has the quota, too
        harness.wait_until(lambda: user.ok("GET", f"/queue/{job}/status")["status"] == "failed", "the wakes to fail")
        assert "quota memoryMb" in user.ok("GET", f"/queue/{job}/status")["error"]
        assert user.ok("GET", f"/sandboxes/{sid}")["status"] == "stopped"
        user.ok("DELETE", f"/sandboxes/{other}")
        assert user.exec(sid, "cat /workspace/f")["stdout"] == "text\n"
        user.ok("DELETE", f"/sandboxes/{sid}")


def worker(server, secret):
    return engineclient.Worker(server.engine_port, headers={"Authorization": "Bearer " + secret})


def refusal(ask):
    with pytest.raises(engineclient.Failed) as why:
        ask()
    return str(why.value)


def test_the_engine_obeys_the_same_rule(two, server):
    first, second = (worker(server, two["tokens"][n]["secret"]) for n in ("first", "second"))
    box = two["world"].box
    uuid = first.call("sandbox::create", {"image": "python"})["sandbox_id"]
    assert first.call("sandbox::exec", {"sandbox_id": uuid, "cmd": "echo", "args": ["hi"]})["stdout"] == "hi\n"
    listed = json.dumps(first.call("sandbox::list", {}))
    assert uuid in listed and uuid not in json.dumps(second.call("sandbox::list", {}))
    for function in ("sandbox::exec", "sandbox::stop", "sandbox::fs::ls", "sandbox::fs::read", "sandbox::fs::write"):
        text = refusal(lambda f=function: second.call(f, {"sandbox_id": uuid, "cmd": "true", "path": "/", "content": ""}))
        assert "S002" in text, (function, text)
    assert "not found" in refusal(lambda: second.call("sandbox::get", {"id": box}))
    assert "admin token" in refusal(lambda: second.call("token::list", {}))
    for function in ("state::set", "engine::functions::list", "engine::register_trigger", "publish"):
        assert "may not call" in refusal(lambda f=function: second.call(f, {})), function
    second.send(type="registerfunction", id="mine::f")
    assert second.expect("error")["error"]["code"] == "FORBIDDEN"
    first.call("sandbox::stop", {"sandbox_id": uuid})
    reader = worker(server, token(two["admin"], "first", role="read-only")["secret"])
    assert box in json.dumps(reader.call("sandbox::get", {"id": box}))
    assert "read-only" in refusal(lambda: reader.call("sandbox::create", {"image": "python"}))
    for w in (first, second, reader):
        w.ws.close()


def test_revocation_closes_workers_and_terminals(two, server):
    made = token(two["admin"], "first")
    keeper = two["first"]
    box = two["world"].box
    with server.client(made["secret"]) as user:
        session = keeper.ok("POST", f"/sandboxes/{box}/terminal", {})["sessionId"]
        own = user.ok("POST", f"/sandboxes/{box}/terminal", {})["sessionId"]
        path = harness.PREFIX + f"/sandboxes/{box}/terminal/{session}/ws"
        watching = wsclient.WebSocket(server.port, path, headers={"Authorization": "Bearer " + made["secret"]})
        staying = wsclient.WebSocket(server.port, path, headers={"Authorization": "Bearer " + two["tokens"]["first"]["secret"]})
        connected = worker(server, made["secret"])
        with pytest.raises(wsclient.Refused) as why:
            wsclient.WebSocket(server.port, path, headers={"Authorization": "Bearer " + two["tokens"]["second"]["secret"]})
        assert why.value.status == 404
        two["admin"].ok("DELETE", f"/tokens/{made['id']}")
        assert watching.closed().code == 1008
        with pytest.raises(wsclient.Closed):
            while True:
                connected.next()
        staying.send(b"echo st''ill\n")
        staying.until(b"still\r\n")
        staying.close()
        assert keeper.delete(f"/sandboxes/{box}/terminal/{own}").status == 404, "what it opened has ended"
        keeper.ok("DELETE", f"/sandboxes/{box}/terminal/{session}")


def test_the_raw_proxy_with_require_auth(two, server):
    w = two["world"]
    port, box = w.port, w.box
    w.post("proxy/config", {"requireAuth": True})
    status = {}
    for name in ("first", "second", "admin"):
        reply = two[name].get(f"/proxy/{box}/{port}/file.txt")
        status[name] = reply.status
    with harness.Client(server.port) as anyone:
        status["anyone"] = anyone.get(f"/proxy/{box}/{port}/file.txt").status
    w.post("proxy/config", {"requireAuth": False})
    assert status == {"first": 200, "second": 404, "admin": 200, "anyone": 401}
