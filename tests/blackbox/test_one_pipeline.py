"""One operation of each kind through every entry point: audit line, span, event, quota and rate are the same, whichever it was."""
import json
import subprocess

import pytest

import engineclient
import harness
import mcpclient
import test_audit
import test_otlp

TOKEN = "root-secret"
EXECS = 6  # commands a minute in one sandbox: one for each entry point


class Refused(Exception):
    """The entry point's own form of an error, with its text."""


class Rest:
    def __init__(self, server, token):
        self.client = server.client(token)

    def close(self):
        self.client.close()

    def ask(self, method, path, body=None):
        reply = self.client.call(method, path, body)
        if reply.status != 200:
            raise Refused(f"{reply.status} {reply.error}")
        return reply.json()

    def create(self):
        return self.ask("POST", "/sandboxes", {"image": "python"})["id"]

    def exec(self, sid):
        return self.ask("POST", f"/sandboxes/{sid}/exec", {"command": ["sh", "-c", "exit 3"]})["exitCode"]

    def write(self, sid):
        self.ask("POST", f"/sandboxes/{sid}/files/write", {"path": "/workspace/f", "content": "x"})

    def list(self, sid):
        return [e["name"] for e in self.ask("POST", f"/sandboxes/{sid}/files/list", {"path": "/workspace"})]

    def kill(self, sid):
        self.ask("DELETE", f"/sandboxes/{sid}")


class Engine:
    """The functions that the rows of the table are in the engine. sandbox::create is not: that id is the engine's own function."""

    def __init__(self, server, token):
        self.worker = engineclient.Worker(server.engine_port, headers={"Authorization": "Bearer " + token})

    def close(self):
        self.worker.close()

    def ask(self, function, **data):
        try:
            return self.worker.call(function, data)
        except engineclient.Failed as failed:
            raise Refused(f"{failed.code} {failed.message}") from failed

    def exec(self, sid):
        return self.ask("cmd::run", id=sid, command=["sh", "-c", "exit 3"])["exitCode"]

    def write(self, sid):
        self.ask("fs::write", id=sid, path="/workspace/f", content="x")

    def list(self, sid):
        return [e["name"] for e in self.ask("fs::list", id=sid, path="/workspace")]

    def kill(self, sid):
        self.ask("sandbox::kill", id=sid)


class Functions(Engine):
    def create(self):
        uuid = self.ask("sandbox::create", image="python")["sandbox_id"]
        return "sbx_" + uuid.replace("-", "")[:24]

    def exec(self, sid):
        return self.ask("sandbox::exec", sandbox_id=sid, argv=["sh", "-c", "exit 3"])["exit_code"]

    def write(self, sid):
        self.ask("sandbox::fs::write", sandbox_id=sid, path="/workspace/f", content="x")

    def list(self, sid):
        return [e["name"] for e in self.ask("sandbox::fs::ls", sandbox_id=sid, path="/workspace")["entries"]]

    def kill(self, sid):
        self.ask("sandbox::stop", sandbox_id=sid)


class Tools:
    def text(self, name, **arguments):
        result = self.mcp.tool(name, **arguments)
        text = result["content"][0]["text"]
        if result.get("isError"):
            raise Refused(text)
        return text

    def create(self):
        return json.loads(self.text("sandbox_create", image="python"))["id"]

    def exec(self, sid):
        result = self.mcp.tool("sandbox_exec", sandboxId=sid, command="exit 3")
        if "structuredContent" not in result:
            raise Refused(result["content"][0]["text"])
        return result["structuredContent"]["exitCode"]

    def write(self, sid):
        self.text("sandbox_write_file", sandboxId=sid, path="/workspace/f", content="x")

    def list(self, sid):
        return [entry["name"] for entry in json.loads(self.text("sandbox_list_files", sandboxId=sid, path="/workspace"))]

    def kill(self, sid):
        self.text("sandbox_kill", sandboxId=sid)


class McpHttp(Tools):
    def __init__(self, server, token):
        self.mcp = mcpclient.Http(server, token=token)
        self.mcp.initialize()

    def close(self):
        self.mcp.client.call("DELETE", "/mcp", headers=self.mcp.headers())
        self.mcp.client.close()


class McpStdio(Tools):
    def __init__(self, server, token):
        self.mcp = mcpclient.Stdio(f"http://127.0.0.1:{server.port}", env={"III_SANDBOX_TOKEN": token})
        self.mcp.initialize()

    def close(self):
        self.mcp.__exit__(None)


class Cli:
    def __init__(self, server, token):
        self.env = harness.clean_env({"III_SANDBOX_URL": f"http://127.0.0.1:{server.port}", "III_SANDBOX_TOKEN": token, "HOME": server.home})

    def close(self):
        pass

    def run(self, *words):
        done = subprocess.run(["iii-sandbox", *words], executable=str(harness.BINARY), capture_output=True, text=True, env=self.env,
                              timeout=harness.DEADLINE_S, check=False)
        if done.returncode != (3 if words[0] == "exec" else 0):  # that of the command
            raise Refused(done.stderr)
        return done

    def create(self):
        return json.loads(self.run("create", "python", "--json").stdout)["id"]

    def exec(self, sid):
        return self.run("exec", sid, "exit 3").returncode

    def write(self, sid):
        self.run("file", "write", sid, "/workspace/f", "x")

    def list(self, sid):
        return [word for word in self.run("file", "ls", sid, "/workspace").stdout.split() if word == "f"]

    def kill(self, sid):
        self.run("kill", sid)


ENTRIES = {"rest": Rest, "engine": Engine, "functions": Functions, "mcp_http": McpHttp, "mcp_stdio": McpStdio, "cli": Cli}
# kind: (operation, the function of the same kind, topic of its event, attributes that its audit line names the sandbox by)
KINDS = {"create": ("sandbox::create", "sandbox::create", "sandbox.created", "sandboxId"), "exec": ("cmd::run", "sandbox::exec", "sandbox.exec", "id"),
         "write": ("fs::write", "sandbox::fs::write", None, "id"), "list": ("fs::list", "sandbox::fs::ls", None, None),
         "kill": ("sandbox::kill", "sandbox::stop", "sandbox.killed", "id")}


@pytest.fixture(scope="module")
def collector():
    with test_otlp.Collector() as made:
        yield made


@pytest.fixture(scope="module")
def server(collector):
    env = {"III_AUTH_TOKEN": TOKEN, "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "III_RATE_LIMIT_ENABLED": "true", "III_RATE_SBX_EXEC_PM": str(EXECS),
           "III_RATE_TOKEN_RPM": "100000", "III_RATE_TOKEN_BURST": "100000", "III_MAX_SANDBOXES": "40"}
    with harness.Server(env=env, token=TOKEN) as made:
        yield made


@pytest.fixture
def client(server):
    with server.client() as made:
        yield made


@pytest.fixture
def enter(server, client):
    """enter(entry point, **token fields) → the entry point with a token of its own, and the token."""
    opened = []

    def use(entry, **fields):
        token = client.ok("POST", "/tokens", {"name": entry, "tenant": "pipeline", **fields})
        made = ENTRIES[entry](server, token["secret"])
        opened.append(made)
        return made, token

    yield use
    for made in opened:
        made.close()
    for item in client.ok("GET", "/sandboxes?pageSize=200")["items"]:
        client.delete(f"/sandboxes/{item['id']}")


def operation(entry, kind):
    return KINDS[kind][1 if entry == "functions" else 0]


def audited(server, entry, kind, token):
    """The line of that operation as far as it must be the same for all: without time, chain, operation and what tells tokens apart."""
    def look():
        return [line for line in test_audit.lines(server) if line.get("token") == token["id"] and line["operation"] == operation(entry, kind)]
    found = harness.wait_until(look, f"the line of {kind} by {entry}")
    assert len(found) == 1, found
    line = found[0]
    assert line["name"] == entry and line["remote"].startswith("127.0.0.1"), line
    kept = {k: v for k, v in line.items() if k in ("tenant", "target", "status", "code")}
    return kept, line.get("requestId", "")


def span_of(collector, entry, kind, sid):
    return collector.wait_for(operation(entry, kind), lambda s: test_otlp.attributes(s).get("iii.sandbox.id") == sid)


def events_of(client, sid):
    return [e["topic"] for e in client.ok("GET", f"/events/history?sandboxId={sid}&limit=100")["events"]]


@pytest.mark.parametrize("entry", ENTRIES)
def test_what_is_done_leaves_the_same_traces(server, client, collector, enter, entry):
    made, token = enter(entry)
    can_create = hasattr(made, "create")
    sid = made.create() if can_create else enter("rest")[0].create()
    assert made.exec(sid) == 3
    made.write(sid)
    assert made.list(sid) == ["f"]
    made.kill(sid)
    topics = events_of(client, sid)
    for kind, (_, _, topic, target) in KINDS.items():
        if kind == "create" and not can_create:
            continue
        span = span_of(collector, entry, kind, sid)
        assert span["status"] == {"code": 1} and span["kind"] == 2, (entry, kind, span)
        if target:
            line, request_id = audited(server, entry, kind, token)
            assert line == {"tenant": "pipeline", "target": {target: sid}, "status": 200}, (entry, kind, line)
            assert span["traceId"] in request_id, (entry, kind, request_id)
        else:
            assert not [one for one in test_audit.lines(server) if one.get("token") == token["id"] and one["operation"] == operation(entry, kind)]
        if topic:
            assert topics.count(topic) == 1, (entry, kind, topics)


@pytest.mark.parametrize("entry", ENTRIES)
def test_what_the_role_does_not_allow_is_refused_and_recorded(server, client, enter, entry):
    owner, _ = enter("rest")
    made, token = enter(entry, role="read-only")
    sid = owner.create()
    with pytest.raises(Refused, match="read-only"):
        made.exec(sid)
    line, _ = audited(server, entry, "exec", token)
    assert line.pop("code", None) == ("S001" if entry == "functions" else None)
    assert line == {"tenant": "pipeline", "target": {"id": sid}, "status": 403}, (entry, line)
    assert "sandbox.exec" not in events_of(client, sid)


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_sandbox_of_another_tenant_is_not_there(client, enter, entry):
    owner, _ = enter("rest", tenant="someone-else")
    made, _ = enter(entry)
    sid = owner.create()
    with pytest.raises(Refused, match="not found"):
        made.exec(sid)
    assert "sandbox.exec" not in events_of(client, sid)


def use_up(call):
    """Takes what a rate has given back meanwhile: on a busy host that may be some. Returns how much it was."""
    for taken in range(1000):
        try:
            call()
        except Refused:
            return taken
    raise AssertionError("there is no end to it")


def test_all_count_against_one_rate_of_a_sandbox(server, client, enter):
    """Each runs as many commands as the others; then the rate is used up for each of them, by whatever name they call the sandbox."""
    owner, _ = enter("rest")
    sid = owner.create()
    entries = {entry: enter(entry) for entry in ENTRIES}
    for made, _ in entries.values():
        assert made.exec(sid) == 3
    ran = EXECS
    for entry, (made, _) in entries.items():
        ran += use_up(lambda: owner.exec(sid))
        with pytest.raises(Refused, match="(?i)rate limit"):
            made.exec(sid)
            raise AssertionError(f"{entry} passed")
    assert events_of(client, sid).count("sandbox.exec") == ran
    def statuses():
        return [line["status"] for line in test_audit.lines(server) if line.get("target") == {"id": sid} and line["operation"] in KINDS["exec"][:2]]
    harness.wait_until(lambda: len(statuses()) >= ran, "the lines of all that ran")
    assert statuses() == [200] * ran, "what is refused for its rate is no line"


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e != "engine"])
def test_one_quota_of_sandboxes(server, client, enter, entry):
    made, token = enter(entry, tenant=f"quota-{entry}", quota={"sandboxes": 1})
    sid = made.create()
    with pytest.raises(Refused, match="quota"):
        made.create()
    def statuses():  # a line is written at the end of the turn that answered
        return [line["status"] for line in test_audit.lines(server) if line.get("token") == token["id"] and line["operation"] == "sandbox::create"]
    harness.wait_until(lambda: len(statuses()) >= 2, f"the lines of both creates by {entry}")
    assert statuses() == [200, 429], entry
    assert [i["id"] for i in client.ok("GET", "/sandboxes?pageSize=200")["items"] if i.get("tenant") == f"quota-{entry}"] == [sid]


def test_one_quota_of_requests(server, client):
    """What one entry point uses up is gone for the others."""
    token = client.ok("POST", "/tokens", {"name": "few", "tenant": "few", "quota": {"requestsPerMinute": 12}})
    made = {entry: kind(server, token["secret"]) for entry, kind in ENTRIES.items()}
    worker, over_http = made["functions"], made.pop("mcp_http").mcp
    use_up(lambda: worker.ask("sandbox::list"))
    assert over_http.post(mcpclient.request("ping"))[0] == 429
    over_http.client.close()
    for entry, one in made.items():
        use_up(lambda: worker.ask("sandbox::list"))
        with pytest.raises(Refused, match="requestsPerMinute"):
            one.list(harness.UNKNOWN)
            raise AssertionError(f"{entry} passed")
    for one in made.values():
        one.close()
