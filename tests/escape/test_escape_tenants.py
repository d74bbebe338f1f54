"""Ids of another tenant, whichever way they come (checklist 11): mixed with one's own, through MCP, sockets, previews, a console's
session and SSH. What is another's is answered like what never was. tests/blackbox/test_tenants.py does so for every row by REST and
by the engine; this is what reaches the same rows otherwise. Both tenants make what the rows are about; those of the first carry a mark."""
import functools
import json
import re
import subprocess

import pytest

import harness
import mcpclient
import route_examples
import sshkit
import wsclient

TOKEN = "root-secret"
SERVER_ENV = {"III_AUTH_TOKEN": TOKEN, "III_MAX_SANDBOXES": "100"}
SERVER_FLAGS = ("--ssh", "0")
MARK = "marrowfat"
# Tools that may be about a sandbox that is gone: a list of the caller's own, and an event that only the caller's tenant sees.
FREE_IDS = {"sandbox_snapshot_list", "sandbox_events_publish"}


class World(route_examples.World):
    def new_box(self, **fields):
        return super().new_box(**{**fields, "name": MARK, "metadata": {"m": MARK}, "env": {"M": MARK}})


class Two:
    """The first tenant, the second who attacks it, and who speaks for the second."""

    def __init__(self, server):
        admin = server.client()
        self.server = server
        self.secrets = {t: admin.ok("POST", "/tokens", {"name": t, "tenant": t})["secret"] for t in ("first", "second")}
        self.world, self.own = World(server.client(self.secrets["first"])), route_examples.World(server.client(self.secrets["second"]))
        self.callers = {"token": self.own.client, "console": harness.ConsoleClient(server.port, self.secrets["second"])}
        self.auth = {"Authorization": "Bearer " + self.secrets["second"]}
        admin.close()

    @functools.cached_property
    def mcp(self):
        session = mcpclient.Http(self.server, token=self.secrets["second"])
        session.initialize()
        return session


@pytest.fixture(scope="module")
def two(server):
    made = Two(server)
    yield made
    made.world.close()
    made.own.close()
    for caller in made.callers.values():
        caller.close()


def never(value):
    """An id of the same form that nothing ever had."""
    return re.sub("[0-9a-f]{8,}", lambda m: "0" * len(m[0]), value)


def without_ids(text):
    return re.sub(r"[0-9a-f]{8,}(-[0-9a-f]{4,})*", "", text)


def answer(caller, name, params):
    reply = caller.call(*route_examples.request(*route_examples.ROWS[name], params))
    return reply.status, without_ids(reply.body.decode(errors="replace")), reply


def names_of(row):
    """Fields of a row that name something by its id."""
    _, path, op = row
    body = op.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    return {f for f in [*re.findall(r"{(\w+)}", path), *body.get("required", ())] if re.fullmatch(r"id|\w+Id", f)}


ROWS = sorted(n for n in route_examples.EXAMPLES if len(names_of(route_examples.ROWS[n])) > 1)


def test_the_rows_with_more_than_one_id_are_known():
    assert {"snapshot_restore", "volume_attach", "network_connect", "terminal_close", "context_execute"} <= set(ROWS)


@pytest.mark.parametrize("name", [pytest.param(n, marks=[harness.needs("network" if "network" in n else "snapshot")] if "network" in n or "snapshot" in n else []) for n in ROWS])
def test_one_id_of_another_among_ones_own(two, name):
    """Each id of a call in turn is that of the other tenant, and the rest is the caller's."""
    theirs, own = (route_examples.EXAMPLES[name](w) for w in (two.world, two.own))
    for field in names_of(route_examples.ROWS[name]):
        attack = {**own, field: theirs[field]}
        for who, caller in two.callers.items():
            status, text, reply = answer(caller, name, attack)
            assert status == 404 and MARK not in reply.body.decode(errors="replace"), (who, field, reply)
            assert (status, text) == answer(caller, name, {**attack, field: never(theirs[field])})[:2], (who, field)


def test_a_chosen_id_of_another_says_nothing(two):
    """A durable command may bring its own id: one that another tenant uses is neither shown nor refused otherwise than a free one."""
    theirs = two.world.durable()
    reply = two.own.client.post(f"/sandboxes/{two.own.box}/exec/start", {"command": "true", "execId": theirs})
    assert MARK not in reply.body.decode() and two.world.box not in reply.body.decode(), reply
    for path in ("", "/output"):
        status = two.own.client.get(f"/exec/{theirs}{path}").status
        assert status in ((200,) if reply.status == 200 else (404,)), (path, status)
    assert two.world.ok("GET", f"/exec/{theirs}")["sandboxId"] == two.world.box, "the first still has its own"


def test_a_list_is_not_widened_by_what_it_is_narrowed_to(two):
    """A filter by another's sandbox is allowed, as it may be gone: it lets nothing through that is not the caller's."""
    two.world.post("env", {"vars": {"A": MARK}})
    for path in (f"/events/history?sandboxId={two.world.box}&limit=1000", f"/observability/traces?sandboxId={two.world.box}&limit=1000",
                 f"/webhooks?sandboxId={two.world.box}", f"/sandboxes/{two.world.box}/snapshots", f"/sandboxes?parentId={two.world.box}"):
        for who, caller in two.callers.items():
            reply = caller.get(path)
            assert reply.status in (200, 404), (who, reply)
            assert MARK not in reply.body.decode() and '"tenant":"first"' not in reply.body.decode(), (who, path)


# --- MCP ---

def example(schema, name):
    """Some value that the schema of an argument takes."""
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if "enum" in schema:
        return schema["enum"][0]
    if kind == "array":
        return [example(schema["items"], name)]
    if kind == "object" and "properties" in schema:
        return {k: example(v, k) for k, v in schema["properties"].items() if k in schema.get("required", ())}
    words = {"code": "1", "content": "x", "command": "true", "pattern": "*", "url": "https://example.com/x.git", "mountPath": "/mnt/x"}
    return {"integer": max(1, schema.get("minimum", 1)), "number": 1, "boolean": False, "object": {"A": "b"}}.get(kind, words.get(name, "x"))


def id_for(two, name):
    """What a tool's argument of that name means, as the first tenant has it."""
    w = two.world
    makers = {"sandboxId": lambda: w.box, "id": lambda: w.box, "snapshotId": w.snapshot, "volumeId": w.volume, "networkId": w.network, "jobId": w.job,
              "backgroundId": lambda: w.post("exec/background", {"command": "true"})["id"], "execId": w.durable, "templateId": w.template, "contextId": lambda: w.context,
              "sessionId": lambda: w.post("terminal", {})["sessionId"], "alertId": lambda: w.post("alerts", {"metric": "cpu", "threshold": 50, "action": "notify"})["id"],
              "webhookId": lambda: w.ok("POST", "/webhooks", {"url": "https://example.com/"})["id"], "keyId": lambda: route_examples.EXAMPLES["ssh_key_delete"](w)["keyId"]}
    return makers[name]()


@harness.needs("network", "snapshot")
def test_every_tool_with_the_ids_of_another(two):
    tools = two.mcp.ask("tools/list")["result"]["tools"]
    assert len(tools) > 80
    named = 0
    for tool in tools:
        schema = tool["inputSchema"]
        about = [k for k in schema["properties"] if re.fullmatch(r"id|\w+Id", k) and k in schema.get("required", ())]
        if not about or "deliveryId" in about:
            continue
        named += 1
        args = {k: example(v, k) for k, v in schema["properties"].items() if k in schema.get("required", ()) and k not in about}
        ids = {k: id_for(two, k) for k in about}
        said = [json.dumps(two.mcp.tool(tool["name"], **args, **given)) for given in (ids, {k: never(v) for k, v in ids.items()})]
        assert MARK not in said[0] and ("failed: 404" in said[0] or tool["name"] in FREE_IDS), (tool["name"], said)
        assert without_ids(said[0]) == without_ids(said[1]), tool["name"]
    assert named > 60


def test_resources_and_sessions_of_another(two):
    for uri in ("sandbox://{}", "sandbox://{}/logs", "sandbox://{}/files/workspace/file.txt"):
        said = [json.dumps(two.mcp.ask("resources/read", {"uri": uri.format(sid)})["error"]) for sid in (two.world.box, harness.UNKNOWN)]
        assert without_ids(said[0]) == without_ids(said[1]) and MARK not in said[0], said
    assert MARK not in json.dumps(two.mcp.ask("resources/list"))
    other = mcpclient.Http(two.server, token=two.secrets["first"])
    other.initialize()
    other.client.token = two.secrets["second"]
    stolen = other.post(mcpclient.request("tools/list"))
    other.session = "0" * len(other.session)
    assert stolen == other.post(mcpclient.request("tools/list")) and stolen[0] == 404, stolen
    other.client.close()


# --- what takes the connection ---

def refused(port, path, headers):
    with pytest.raises(wsclient.Refused) as why:
        wsclient.WebSocket(port, path, headers=headers)
    return why.value.status, without_ids(why.value.body.decode())


def test_sockets_and_proxies_of_another(two):
    w, port, callers = two.world, two.world.port, {"token": two.auth, "console": two.callers["console"].shown}
    session = w.post("terminal", {})["sessionId"]
    w.post("proxy/config", {"requireAuth": True})
    paths = ["/sandbox/sandboxes/{0}/terminal/" + session + "/ws", "/sandbox/sandboxes/{0}/exec/attach", "/sandbox/sandboxes/{0}/tunnel?port=%d" % port,
             "/sandbox/proxy/{0}/%d/file.txt" % port]
    for path in paths:
        for who, headers in callers.items():
            status, body = refused(two.server.port, path.format(w.box), headers)
            assert status == 404 and MARK not in body, (who, path, status, body)
            assert (status, body) == refused(two.server.port, path.format(harness.UNKNOWN), headers), (who, path)
    own = f"/sandbox/sandboxes/{two.own.box}/terminal/"
    assert refused(two.server.port, own + session + "/ws", two.auth) == refused(two.server.port, own + never(session) + "/ws", two.auth), "another's session in one's own sandbox"
    for method in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"):
        for who, caller in two.callers.items():
            asked = [caller.call(method, f"/proxy/{sid}/{port}/file.txt", None if method in ("GET", "HEAD") else "x") for sid in (w.box, harness.UNKNOWN)]
            assert [(r.status, without_ids(r.body.decode())) for r in asked][0] == (asked[1].status, without_ids(asked[1].body.decode())), (who, method)
            assert asked[0].status in (404,) if method != "OPTIONS" else asked[0].status != 200 or b"hello" not in asked[0].body, (who, asked)
    w.post("proxy/config", {"requireAuth": False})


def test_previews_of_another(two):
    def seen(sid, headers):
        with harness.Client(two.server.port, prefix="") as visitor:
            reply = visitor.get("/file.txt", headers={"Host": f"{two.world.port}-{sid[4:]}.localhost:{two.server.port}", **headers})
        return reply.status, without_ids(reply.body.decode())
    for headers in (two.auth, two.callers["console"].shown, {}):
        assert seen(two.world.box, headers) == seen(harness.UNKNOWN, headers)
        assert seen(two.world.box, headers)[0] == 401


# --- SSH ---

@pytest.fixture
def shell(two, tmp_path):
    key = sshkit.make_key(tmp_path)
    made = two.own.ok("POST", "/ssh/keys", {"publicKey": sshkit.public(key)})["id"]
    yield sshkit.Ssh(two.own.ok("GET", "/ssh")["port"], key, tmp_path)
    two.own.ok("DELETE", f"/ssh/keys/{made}")


def test_ssh_to_a_sandbox_of_another(two, shell):
    own, theirs = two.own.box, two.world.box
    assert shell.run(own, "echo in").stdout == b"in\n"
    unknown = shell.run(harness.UNKNOWN, "echo in")
    assert unknown.returncode == 255
    for user in (theirs, theirs[:12], theirs[4:14], MARK):
        for argv in (["echo in"], ["-W", "127.0.0.1:22", "true"]):
            got = shell.run(user, argv[-1], *argv[:-1])
            assert (got.returncode, got.stdout) == (255, b""), (user, got)
            assert re.sub(r"\S+@", "", got.stderr.decode()) == re.sub(r"\S+@", "", unknown.stderr.decode()), user
    copied = subprocess.run(["sftp", *shell.options, "-P", str(shell.port), "-b", "-", f"{theirs}@127.0.0.1"], input=b"ls /workspace\n", capture_output=True,
                            timeout=harness.DEADLINE_S, check=False)
    assert copied.returncode == 255 and b"file.txt" not in copied.stdout
    made = [two.own.client.post("/ssh/keys", {"publicKey": sshkit.public(shell.key), "sandbox": sid}) for sid in (theirs, harness.UNKNOWN)]
    assert made[0].status == 404 and without_ids(made[0].error) == without_ids(made[1].error)
