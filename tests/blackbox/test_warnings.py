"""Fields that are ignored and values that are changed are named in the answer, through every entry point, or are errors. That every row of
the table names an unknown field is in test_routes.py."""
import contextlib
import json
import os
import subprocess
import time

import pytest

import engineclient
import harness
import inside
import mcpclient
import wsclient
from fnclient import Functions

STRICT = {"Prefer": "handling=strict"}
HOST_MB = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE") // 1048576
# The largest value that a create takes, and one above it. The settings of the second half are the server's below.
TOPS = {"memory": (max(HOST_MB, 4096), "III_MAX_MEMORY"), "cpu": (max(os.cpu_count(), 4), "III_MAX_CPUS"), "timeout": (7200, "III_MAX_TIMEOUT"),
        "idleTimeout": (7200, "III_MAX_TIMEOUT"), "pids": (512, "III_MAX_PIDS"), "openFiles": (4096, "III_MAX_OPEN_FILES"),
        "shmMb": (64, "III_MAX_SHM_MB")}
SERVER_ENV = {"III_MAX_TIMEOUT": "7200", "III_MAX_PIDS": "512", "III_MAX_OPEN_FILES": "4096", "III_MAX_SHM_MB": "64", "III_MAX_CMD_TIMEOUT": "100"}


def count(client):
    return client.ok("GET", "/sandboxes")["total"]


def test_nothing_is_said_when_nothing_is_to_be_said(new_sandbox, client):
    record = new_sandbox(**{name: top for name, (top, _) in TOPS.items()}, name=None)
    assert "warnings" not in record and record["config"]["memory"] == TOPS["memory"][0]
    reply = client.post(f"/sandboxes/{record['id']}/exec", {"command": "true", "timeout": 100}, headers=STRICT)
    assert reply.status == 200 and "warnings" not in reply.json()
    assert reply.headers["preference-applied"] == "handling=strict" and "iii-warnings" not in reply.headers
    assert "preference-applied" not in client.get("/sandboxes").headers


@pytest.mark.parametrize("field", TOPS)
def test_one_more_than_possible_is_named(new_sandbox, client, field):
    top, setting = TOPS[field]
    record = new_sandbox(**{field: top + 1})
    assert record["config"][field] == top
    said, = record["warnings"]
    assert said.startswith(f"{field}: {top + 1} is out of range, the nearest possible value is {top} (") and setting in said
    before = count(client)
    reply = client.post("/sandboxes", {"image": "python", field: top + 1}, headers=STRICT)
    assert reply.status == 400 and f"{field}: {top + 1}" in reply.error and setting in reply.error
    assert count(client) == before, "nothing is made"


def test_what_comes_out_of_a_template_is_named(new_sandbox, client):
    template = client.ok("POST", "/templates", {"name": "large", "config": {"image": "python", "pids": 9999, "imagee": "x"}})
    assert template["warnings"] == ['config.imagee: unknown field; did you mean "image"?']
    record = new_sandbox(template="large")
    assert [w.split(":")[0] for w in record["warnings"]] == ["pids"] and record["config"]["pids"] == 512
    assert client.post("/sandboxes", {"template": "large"}, headers=STRICT).status == 400
    assert "warnings" not in client.ok("GET", f"/sandboxes/{record['id']}"), "they are of the request, not of the sandbox"
    client.delete(f"/templates/{template['id']}")


def test_wrong_types_and_unknown_names(new_sandbox):
    record = new_sandbox(network="maybe", memory_mb=7, colour="blue", env=5)
    assert sorted(record["warnings"]) == ["colour: unknown field", "env: must be an object of texts", 'memory_mb: unknown field; did you mean "memory"?',
                                          "network: must be true or false"]


def test_a_list_of_warnings_is_short(client):
    reply = client.get("/sandboxes", body={f"field{i}": i for i in range(5000)})
    assert len(reply.json()["warnings"]) == 17 and reply.json()["warnings"][-1] == "there are more warnings than these"
    reply = client.get("/sandboxes", body={"é" * 10000 + "\u0001": 1})
    assert len(reply.json()["warnings"][0]) < 100


def test_commands_streams_and_arrays(client, box):
    said = "timeout: 101 is not between 1 and 100 (III_MAX_CMD_TIMEOUT)"
    body = {"command": "echo hi", "timeout": 101}
    assert client.ok("POST", f"/sandboxes/{box}/exec", body)["warnings"] == [said]
    stream = client.post(f"/sandboxes/{box}/exec/stream", body)
    assert stream.status == 200 and json.loads(stream.headers["iii-warnings"]) == [said]
    assert client.post(f"/sandboxes/{box}/exec/stream", body, headers=STRICT).status == 400
    names = client.post(f"/sandboxes/{box}/files/list", {"pth": "/", "é\n": 1})
    assert names.json() == [] and json.loads(names.headers["iii-warnings"]) == ['pth: unknown field; did you mean "path"?', "é\n: unknown field"]
    assert names.headers["iii-warnings"].isascii()


def test_a_body_that_is_not_read(client, box):
    for kind, body in (("text/plain", '{"command":"true"}'), ("application/json", "[1]")):
        reply = client.call("POST", f"/sandboxes/{box}/pause", body, {"Content-Type": kind})
        assert reply.status == 200 and "body: not read" in reply.json()["warnings"][0], reply
        client.ok("POST", f"/sandboxes/{box}/resume")
        assert client.call("POST", f"/sandboxes/{box}/pause", body, {"Content-Type": kind, **STRICT}).status == 400


def test_a_missing_field_under_a_wrong_name(client, box):
    assert client.post(f"/sandboxes/{box}/exec", {"comand": "true"}).error == 'command is required; "comand" is not a field'


def test_renew(new_sandbox, client):
    sid = new_sandbox()["id"]
    path = f"/sandboxes/{sid}/renew"
    for wanted in (1, int(time.time() * 1000) + 7300_000):
        reply = client.ok("POST", path, {"expiresAt": wanted})
        assert reply["warnings"][0].startswith(f"expiresAt: {wanted} is out of range") and "III_MAX_TIMEOUT" in reply["warnings"][0]
        assert client.post(path, {"expiresAt": wanted}, headers=STRICT).status == 400
        assert client.ok("GET", f"/sandboxes/{sid}")["expiresAt"] == reply["expiresAt"]
    assert "warnings" not in client.ok("POST", path, {"expiresAt": int(time.time() * 1000) + 7000_000})


def test_a_repeated_request_gets_the_same_warnings(new_sandbox, client):
    key = {"Idempotency-Key": f"warned-{time.time()}"}
    first, again = (client.post("/sandboxes", {"image": "python", "pids": 1, "colour": 1}, headers=key) for _ in range(2))
    assert again.headers["idempotency-replayed"] == "true" and len(first.json()["warnings"]) == 2
    assert again.json() == first.json()
    client.delete(f"/sandboxes/{first.json()['id']}")


def test_functions_of_the_engine(server, box):
    worker = engineclient.Worker(server.engine_port)
    said = "timeout: 101 is not between 1 and 100 (III_MAX_CMD_TIMEOUT)"
    assert worker.call("cmd::run", {"id": box, "command": "true", "timeout": 101})["warnings"] == [said]
    message = worker.expect("invocationresult", invocation_id=worker.ask("fs::list", {"id": box, "pth": "/"}))
    assert message["result"] == [] and message["warnings"] == ['pth: unknown field; did you mean "path"?']
    assert worker.call("stream::logs", {"id": box, "folow": False})["warnings"] == ['folow: unknown field; did you mean "follow"?']
    assert worker.call("metrics::global", [1])["warnings"] == ["payload: not read; it is not an object"]
    worker.close()
    fn = Functions(server.engine_port)
    made = fn.call("create", image="python", memroy_mb=3)
    assert made["warnings"] == ['memroy_mb: unknown field; did you mean "memory_mb"?']
    done = fn.call("run", image="python", code="print(1)", timeout_ms=10**9, cod="x")
    assert done["stdout"] == "1\n"
    assert done["warnings"] == ["timeout_ms: 1000000000 is not between 1 and 300000 (max_exec_timeout_ms)", 'cod: unknown field; did you mean "code"?']
    assert "warnings" not in fn.call("exec", sandbox_id=made["sandbox_id"], cmd="true")
    fn.close()


@pytest.mark.parametrize("kind", ["http", "stdio"])
def test_tools(server, box, kind):
    def texts(result):
        return [item["text"] for item in result["content"]]

    with contextlib.ExitStack() as stack:
        mcp = mcpclient.Http(server) if kind == "http" else stack.enter_context(mcpclient.Stdio(f"http://127.0.0.1:{server.port}"))
        mcp.initialize()
        done = mcp.tool("sandbox_exec", sandboxId=box, command="echo hi", timeout=101, sandbox=1)
        wanted = ['sandbox: unknown argument; did you mean "sandboxId"?', "timeout: 101 is not between 1 and 100 (III_MAX_CMD_TIMEOUT)"]
        assert texts(done) == ["hi\n", *("Warning: " + w for w in wanted)] and done["structuredContent"]["warnings"] == wanted
        listed = mcp.tool("sandbox_list_files", sandboxId=box, pathh="/")
        assert texts(listed)[1] == 'Warning: pathh: unknown argument; did you mean "path"?'
        assert listed["structuredContent"] == {"result": [], "warnings": ['pathh: unknown argument; did you mean "path"?']}
        plain = mcp.tool("sandbox_exec", sandboxId=box, command="echo hi")
        assert texts(plain) == ["hi\n"] and "warnings" not in plain["structuredContent"]


def test_command_lines(server, box):
    env = {"III_SANDBOX_URL": f"http://127.0.0.1:{server.port}"}
    said = "warning: timeout: 101 is not between 1 and 100 (III_MAX_CMD_TIMEOUT)\n"
    done = harness.run_cli("trigger", "--port", str(server.engine_port), "fs::list", f"id={box}", "pth=/", env=env)
    assert done.stdout == "[]\n" and done.stderr == 'warning: pth: unknown field; did you mean "path"?\n'
    for arguments, out in ((["api", "cmd_run", "--id", box, "--command", "echo hi", "--timeout", "101"], "hi\n"), (["exec", box, "echo hi", "--timeout", "101"], "hi\n")):
        done = subprocess.run(["iii-sandbox", *arguments], executable=harness.BINARY, capture_output=True, text=True, env=harness.clean_env(env))
        assert done.returncode == 0 and done.stdout == out and done.stderr == said, done


def test_a_strict_server():
    with harness.Server(env={"III_STRICT": "true"}) as server, server.client() as client:
        assert client.get("/sandboxes?pagesize=3").error == 'pagesize: unknown field; did you mean "pageSize"?'
        lenient = client.get("/sandboxes?pagesize=3", headers={"Prefer": "respond-async, handling=lenient"})
        assert lenient.status == 200 and lenient.headers["preference-applied"] == "handling=lenient" and len(lenient.json()["warnings"]) == 1
        worker = engineclient.Worker(server.engine_port)
        assert worker.fail("metrics::global", {"x": 1}).code == "invalid_argument"
        worker.close()
        fn = Functions(server.engine_port)
        assert "memroy_mb" in fn.fault("create", "S001", image="python", memroy_mb=3)["message"]
        assert "timeout_ms" in fn.fault("run", "S001", image="python", code="1", timeout_ms=10**9)["message"]
        assert fn.call("list")["sandboxes"] == []
        fn.close()
        mcp = mcpclient.Http(server)
        mcp.initialize()
        refused = mcp.tool("sandbox_create", imagee="python")
        assert refused["isError"] and 'imagee: unknown argument; did you mean "image"?' in refused["content"][0]["text"]


def test_what_is_proxied_is_another_servers():
    with harness.Server(env={"III_STRICT": "true"}) as server, server.client() as client:
        sid = client.create()["id"]
        inside.start(client, sid, inside.HTTP_ECHO, 8123)
        inside.expose(client, sid, 8123)
        reply = client.get(f"/proxy/{sid}/8123/x?colour=blue", headers=STRICT)
        assert reply.status == 200 and "preference-applied" not in reply.headers and "iii-warnings" not in reply.headers
        term = client.ok("POST", f"/sandboxes/{sid}/terminal", {})
        wsclient.WebSocket(server.port, f"/sandbox/sandboxes/{sid}/terminal/{term['sessionId']}/ws?token=none").close()
