"""/mcp of the server: sessions, streams, origins, tokens and limits, over HTTP."""
import base64
import http.client
import json
import re
import threading

import pytest

import harness
from mcpclient import Http, notification, request

TOKEN = "mcp-secret"
SERVER_ENV = {"III_AUTH_TOKEN": TOKEN, "III_MCP_ORIGINS": "https://app.example, https://two.example"}
HELLO = request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})


@pytest.fixture
def mcp(server):
    made = Http(server)
    made.initialize()
    yield made
    made.client.call("DELETE", "/mcp", headers=made.headers())


def user(client, name, **fields):
    return client.ok("POST", "/tokens", {"name": name, **fields})


def test_a_session(server):
    mcp = Http(server)
    said = mcp.initialize()
    assert said["protocolVersion"] == "2025-11-25" and mcp.session.startswith("mcp_")
    record = json.loads(mcp.text("sandbox_create", image="python"))
    assert mcp.kind.startswith("application/json"), "what is quick is no stream"
    sid = record["id"]
    assert mcp.text("sandbox_exec", sandboxId=sid, command="echo hi") == "hi\n"
    assert len(mcp.ask("tools/list")["result"]["tools"]) >= 39
    assert mcp.text("sandbox_kill", sandboxId=sid) == f"Sandbox {sid} killed"
    reply = mcp.client.call("DELETE", "/mcp", headers=mcp.headers())
    assert reply.status == 200
    status, messages = mcp.post(request("ping"))
    assert status == 404 and messages[0]["error"]["code"] == -32001


def test_headers(server, mcp):
    session, mcp.session = mcp.session, None
    assert mcp.post(request("ping"))[0] == 400
    mcp.session = "mcp_" + "0" * 24
    assert mcp.post(request("ping"))[0] == 404
    mcp.session = session
    assert mcp.post(request("ping"), Mcp_Protocol_Version="2025-11-25") == (200, [{"jsonrpc": "2.0", "id": 1, "result": {}}])
    assert mcp.post(request("ping"), Mcp_Protocol_Version="1900-01-01")[0] == 400
    assert mcp.post(request("ping"), Content_Type="text/plain")[0] == 415
    assert mcp.post(b"{")[1][0]["error"]["code"] == -32700
    assert mcp.client.call("GET", "/mcp", headers={"Mcp-Session-Id": session, "Accept": "application/json"}).status == 406
    assert mcp.client.call("PUT", "/mcp", {}, headers=mcp.headers()).headers["allow"] == "GET, POST, DELETE"
    assert mcp.client.call("POST", "/mcpx", {}, headers=mcp.headers()).status == 404
    assert mcp.client.call("POST", "/mcp/", request("ping"), headers=mcp.headers()).status == 200


@pytest.mark.parametrize("origin, status", [("http://localhost:6274", 200), ("http://127.0.0.1", 200), ("https://[::1]:1", 200), ("https://app.example", 200),
                                            ("https://TWO.example", 200), ("https://evil.example", 403), ("http://localhost.evil.example", 403),
                                            ("http://localhost:1@evil.example", 403), ("http://127.0.0.1.evil.example", 403), ("null", 403),
                                            ("https://app.example.evil", 403), ("app.example", 403), ("", 403)])
def test_origins(mcp, origin, status):
    assert mcp.post(request("ping"), Origin=origin)[0] == status


def test_cors_shows_the_session(mcp):
    reply = mcp.client.call("POST", "/mcp", request("ping"), headers=mcp.headers(Origin="https://app.example"))
    assert reply.headers["access-control-expose-headers"] == "Mcp-Session-Id"


def test_without_a_token(server):
    nobody, wrong = Http(server, token=""), Http(server, token="wrong")
    reply = nobody.client.call("POST", "/mcp", HELLO, headers={"Authorization": ""})
    assert reply.status == 403
    assert wrong.client.call("POST", "/mcp", HELLO).status == 403
    with harness.Client(server.port, prefix="") as bare:
        reply = bare.call("POST", "/mcp", HELLO)
        assert reply.status == 401 and reply.headers["www-authenticate"] == "Bearer"


def test_roles_and_tenants(server, client):
    ann, bob, eye = user(client, "ann", tenant="ann"), user(client, "bob", tenant="bob"), user(client, "eye", role="read-only", tenant="ann")
    as_ann, as_bob, as_eye = (Http(server, token=t["secret"]) for t in (ann, bob, eye))
    for mcp in (as_ann, as_bob, as_eye):
        mcp.initialize()
    sid = json.loads(as_ann.text("sandbox_create", image="python"))["id"]
    assert [s["id"] for s in json.loads(as_eye.text("sandbox_list"))] == [sid]
    assert json.loads(as_bob.text("sandbox_list")) == []
    assert "failed: 404" in as_bob.tool("sandbox_exec", sandboxId=sid, command="id")["content"][0]["text"]
    assert as_bob.ask("resources/read", {"uri": f"sandbox://{sid}"})["error"]["code"] == -32002
    assert "failed: 403" in as_eye.tool("sandbox_exec", sandboxId=sid, command="id")["content"][0]["text"]
    stolen = Http(server, token=bob["secret"])
    stolen.session = as_ann.session
    assert stolen.post(request("ping"))[0] == 404, "another caller's session"
    as_ann.text("sandbox_kill", sandboxId=sid)
    client.ok("DELETE", f"/tokens/{ann['id']}")
    assert as_ann.post(request("ping"))[0] == 403
    lines = [json.loads(line) for line in harness.run_cli("audit", "show", "--json", "--data-dir", server.data_dir).stdout.splitlines()]
    made = [line for line in lines if line["operation"] == "sandbox::create"]
    mine = [line for line in made if line["token"] == ann["id"]]
    assert len(mine) == 1 and mine[0]["remote"].startswith("127.0.0.1:"), made
    for t in (bob, eye):
        client.ok("DELETE", f"/tokens/{t['id']}")


def test_progress_makes_a_stream(mcp, new_sandbox):
    sid = new_sandbox()["id"]
    assert mcp.tool("sandbox_exec", token=7, sandboxId=sid, command="sleep 2.5; echo done")["content"][0]["text"] == "done\n"
    assert mcp.kind.startswith("text/event-stream")
    assert mcp.notes and all(n["method"] == "notifications/progress" and n["params"]["progressToken"] == 7 for n in mcp.notes)


def test_a_client_without_streams_gets_json(server, mcp, new_sandbox):
    sid = new_sandbox()["id"]
    call = request("tools/call", {"name": "sandbox_exec", "arguments": {"sandboxId": sid, "command": "sleep 1.5; echo x"}, "_meta": {"progressToken": 1}})
    reply = mcp.client.call("POST", "/mcp", call, headers=mcp.headers(Accept="application/json"))
    assert reply.headers["content-type"].startswith("application/json") and reply.json()["result"]["content"][0]["text"] == "x\n"


def test_a_large_answer_after_progress(mcp, new_sandbox):
    sid = new_sandbox()["id"]
    size = 20 << 20
    text = mcp.tool("sandbox_exec", token=1, sandboxId=sid, command=f"sleep 1.3; head -c {size} /dev/zero | tr '\\0' x; sleep 0.2")
    assert mcp.kind.startswith("text/event-stream")
    result = text["structuredContent"]
    assert len(result["stdout"]) == size or result["stdoutTruncated"]


def test_cancellation_from_another_request(server, mcp, new_sandbox, client):
    sid = new_sandbox()["id"]
    other = Http(server)
    other.session = mcp.session
    got = []
    call = request("tools/call", {"name": "sandbox_exec", "arguments": {"sandboxId": sid, "command": "sleep 432"}}, "slow")
    waiter = threading.Thread(target=lambda: got.append(mcp.post(call)))
    waiter.start()
    running = lambda: "sleep 432" in client.get(f"/sandboxes/{sid}/processes").body.decode()  # noqa: E731
    harness.wait_until(running, "the command to start")
    assert other.post(notification("notifications/cancelled", {"requestId": "slow"})) == (202, [])
    waiter.join(harness.DEADLINE_S)
    assert got == [(202, [])], "no answer"
    harness.wait_until(lambda: not running(), "the command to end")


def test_a_client_that_leaves_ends_its_call(server, mcp, new_sandbox, client):
    sid = new_sandbox()["id"]
    call = request("tools/call", {"name": "sandbox_exec", "arguments": {"sandboxId": sid, "command": "sleep 543"}})
    processes = lambda: client.get(f"/sandboxes/{sid}/processes").body.decode()  # noqa: E731
    leaver = http.client.HTTPConnection("127.0.0.1", server.port)
    # JSON only: at a sign of life the answer would become a stream, and a call of that waits for its client to come back
    headers = {**mcp.headers(Accept="application/json", Content_Type="application/json"), "Authorization": f"Bearer {TOKEN}"}
    leaver.request("POST", "/mcp", json.dumps(call), headers)
    harness.wait_until(lambda: "sleep 543" in processes(), "the command to run")
    leaver.close()
    harness.wait_until(lambda: "sleep 543" not in processes(), "the command to end")
    assert mcp.ask("ping")["result"] == {}


def begin_slow(server, mcp, sid, command, rid="slow"):
    """Calls a command with progress and reads the stream up to the first notification: (client, id of that event)."""
    caller = server.client(prefix="")
    call = request("tools/call", {"name": "sandbox_exec", "arguments": {"sandboxId": sid, "command": command}, "_meta": {"progressToken": 1}}, rid)
    stream = caller.open("POST", "/mcp", call, headers=mcp.headers())
    lines = []
    while len(lines) < 4:  # the first event has an id and no data
        line = stream.readline()
        assert line
        lines += [line] if line.startswith((b"id: ", b"data:")) else []
    assert lines[1] == b"data: \n" and b"notifications/progress" in lines[3]
    return caller, lines[2][4:].strip().decode()


def test_a_broken_stream_is_resumed(server, mcp, new_sandbox, client):
    sid = new_sandbox()["id"]
    resume = lambda where, event: where.client.call("GET", "/mcp", headers=where.headers(Last_Event_ID=event))  # noqa: E731
    answers = lambda reply: [json.loads(line[6:]) for line in reply.body.decode().split("\n") if line.startswith("data: {") and '"id":"slow"' in line]  # noqa: E731
    caller, event = begin_slow(server, mcp, sid, "sleep 1.5; echo one; while ! test -e /workspace/go; do sleep 0.1; done; echo two")
    other = Http(server)
    other.initialize()
    assert resume(mcp, event).status == 400, "it is still being read"
    caller.close()
    assert resume(mcp, "999999-1").status == 400, "nobody's"
    assert resume(other, event).status == 400, "another session's"
    client.exec(sid, "touch /workspace/go")
    (answer,) = answers(resume(mcp, event))
    assert answer["result"]["content"][0]["text"] == "one\ntwo\n"
    assert resume(mcp, event).status == 400, "it was answered"
    caller, event = begin_slow(server, mcp, sid, "sleep 1.5; echo three; touch /workspace/ended")
    caller.close()
    harness.wait_until(lambda: client.exec(sid, "test -e /workspace/ended")["exitCode"] == 0, "the command to end without a client")
    (answer,) = answers(resume(mcp, event))
    assert answer["result"]["content"][0]["text"] == "three\n"
    caller, event = begin_slow(server, mcp, sid, "sleep 987")
    caller.close()
    mcp.client.call("DELETE", "/mcp", headers=mcp.headers())
    harness.wait_until(lambda: "sleep 987" not in client.get(f"/sandboxes/{sid}/processes").body.decode(), "the command to end with its session")


def test_only_some_broken_streams_wait(server, mcp, new_sandbox, client):
    sid = new_sandbox()["id"]
    for number in range(9):
        begin_slow(server, mcp, sid, f"sleep 11{number}", number)[0].close()
    running = lambda: set(re.findall(r"sleep (11\d)", client.get(f"/sandboxes/{sid}/processes").body.decode()))  # noqa: E731
    harness.wait_until(lambda: running() == {f"11{n}" for n in range(8)}, "the ninth to be cancelled, and no other")


def test_a_session_that_ends_while_its_answer_is_sent(server, mcp, new_sandbox, client):
    sid, size = new_sandbox()["id"], 6 << 20
    client.exec(sid, f"head -c {size} /dev/zero > /workspace/big")
    call = {"name": "sandbox_download_file", "arguments": {"sandboxId": sid, "path": "big"}, "_meta": {"progressToken": 1}}
    with server.client(prefix="") as caller:
        stream = caller.open("POST", "/mcp", request("tools/call", call, "big"), headers=mcp.headers())
        harness.wait_until(lambda: client.ok("GET", f"/observability/traces?functionId=fs::download&sandboxId={sid}")["total"], "the file to be read")
        assert mcp.client.call("DELETE", "/mcp", headers=mcp.headers()).status == 200
        answer = json.loads(stream.read())
    assert len(base64.b64decode(answer["result"]["content"][0]["resource"]["blob"])) == size
    assert mcp.post(request("ping"))[0] == 404


def test_the_stream_of_a_session(server, mcp):
    listener = server.client(prefix="")
    answer = listener.open("GET", "/mcp", headers=mcp.headers())
    assert answer.status == 200 and answer.getheader("Content-Type").startswith("text/event-stream")
    assert answer.readline() == b": open\n"
    assert mcp.client.call("GET", "/mcp", headers=mcp.headers()).status == 409, "one is enough"
    assert mcp.client.call("DELETE", "/mcp", headers=mcp.headers()).status == 200
    assert answer.read() == b"\n", "the stream ends with its session"
    listener.close()


REVISION, CAPABILITIES = "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities"


def stateless(method, version="2026-07-28", rid=1, **params):
    meta = {REVISION: version, CAPABILITIES: {}}
    return request(method, {"_meta": meta, **params}, rid)


def test_requests_without_a_session(server, new_sandbox):
    mcp = Http(server)
    said = lambda method, message, **extra: mcp.post(message, Mcp_Protocol_Version="2026-07-28", Mcp_Method=method, **extra)  # noqa: E731
    status, (answer,) = said("server/discover", stateless("server/discover"))
    assert status == 200 and answer["result"]["supportedVersions"] == ["2026-07-28"] and answer["result"]["resultType"] == "complete"
    assert answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "iii-sandbox"
    status, (answer,) = said("tools/list", stateless("tools/list"))
    assert status == 200 and answer["result"]["ttlMs"] == 0 and answer["result"]["cacheScope"] == "private" and mcp.session is None
    sid = new_sandbox()["id"]
    call = stateless("tools/call", name="sandbox_exec", arguments={"sandboxId": sid, "command": "echo hi"})
    status, (answer,) = said("tools/call", call, Mcp_Name="sandbox_exec")
    assert status == 200 and answer["result"]["content"][0]["text"] == "hi\n" and "ttlMs" not in answer["result"]
    for headers in ({}, {"Mcp_Name": "sandbox_kill"}):
        status, (answer,) = said("tools/call", call, **headers)
        assert status == 400 and answer["error"]["code"] == -32020 and "Mcp-Name" in answer["error"]["message"]
    status, (answer,) = said("tools/list", call, Mcp_Name="sandbox_exec")
    assert status == 400 and answer["error"]["code"] == -32020
    status, (answer,) = mcp.post(call, Mcp_Method="tools/call", Mcp_Name="sandbox_exec")
    assert status == 400 and "MCP-Protocol-Version" in answer["error"]["message"]
    status, (answer,) = mcp.post(stateless("tools/list", "2099-01-01"), Mcp_Protocol_Version="2099-01-01", Mcp_Method="tools/list")
    assert status == 400 and answer["error"]["code"] == -32022
    assert answer["error"]["data"] == {"supported": ["2026-07-28"], "requested": "2099-01-01"}
    for method in ("initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "unknown/method"):
        status, (answer,) = said(method, stateless(method, rid=method))
        assert status == 404 and answer["error"]["code"] == -32601 and answer["id"] == method, method
    for uri in ("sandbox://none_such", "test://nothing"):
        status, (answer,) = said("resources/read", stateless("resources/read", uri=uri), Mcp_Name=uri)
        assert status == 200 and answer["error"]["code"] == -32602 and answer["error"]["data"] == {"uri": uri}


@pytest.mark.parametrize("params, lacks", [(None, "protocolVersion"), ({}, "protocolVersion"), ({"_meta": {}}, "protocolVersion"), ({"_meta": []}, "protocolVersion"),
                                           ({"_meta": {CAPABILITIES: {}}}, "protocolVersion"), ({"_meta": {REVISION: "2026-07-28"}}, "clientCapabilities"),
                                           ({"_meta": {REVISION: "2026-07-28", CAPABILITIES: None}}, "clientCapabilities")])
def test_what_a_request_without_a_session_must_say(server, params, lacks):
    for method in ("server/discover", "tools/list"):
        status, (answer,) = Http(server).post(request(method, params, rid="me"), Mcp_Protocol_Version="2026-07-28", Mcp_Method=method)
        assert status == 400 and answer["id"] == "me" and answer["error"]["code"] == -32602 and lacks in answer["error"]["message"]
    with_info = stateless("server/discover")
    with_info["params"]["_meta"]["io.modelcontextprotocol/clientInfo"] = {"name": "t", "version": "1"}
    assert Http(server).post(with_info, Mcp_Protocol_Version="2026-07-28", Mcp_Method="server/discover")[0] == 200


class Sessionless(Http):
    """The same calls in the revision without sessions."""

    def ask(self, method, params=None):
        name = (params or {}).get("name") or (params or {}).get("uri")
        status, (answer,) = self.post(stateless(method, **(params or {})), Mcp_Protocol_Version="2026-07-28", Mcp_Method=method, **({"Mcp_Name": name} if name else {}))
        assert status == 200, answer
        return answer


@pytest.fixture(params=[Http, Sessionless])
def either(request, server):
    made = request.param(server)
    if request.param is Http:
        made.initialize()
    yield made
    if made.session:
        made.client.call("DELETE", "/mcp", headers=made.headers())


def test_prompts(either):
    prompts = either.ask("prompts/list")["result"]["prompts"]
    assert [p["name"] for p in prompts] == ["run_code", "test_repository", "inspect_sandbox"] and all(p["title"] and p["description"] for p in prompts)
    assert prompts[0]["arguments"][0] == {"name": "code", "description": "Source code", "required": True}
    said = either.ask("prompts/get", {"name": "run_code", "arguments": {"code": "puts {language} 1", "language": "ruby"}})["result"]["messages"]
    assert len(said) == 1 and said[0]["role"] == "user" and "this ruby code" in said[0]["content"]["text"] and said[0]["content"]["text"].endswith("puts {language} 1")
    assert "this python code" in either.ask("prompts/get", {"name": "run_code", "arguments": {"code": "1"}})["result"]["messages"][0]["content"]["text"]
    tools = {t["name"] for t in either.ask("tools/list")["result"]["tools"]}
    for prompt in prompts:
        got = either.ask("prompts/get", {"name": prompt["name"], "arguments": {a["name"]: "x" for a in prompt["arguments"]}})["result"]
        named = set(re.findall(r"sandbox_\w+", got["messages"][0]["content"]["text"]))
        assert named and named <= tools, "a prompt names tools that there are"
    for wrong, why in (({"name": "nothing"}, "Unknown prompt: nothing"), ({"name": "run_code"}, "run_code: code: it is required"),
                       ({"name": "run_code", "arguments": {"code": 1}}, "run_code: code: a text is needed"),
                       ({"name": "run_code", "arguments": {"code": "x" * (1 << 20)}}, "more than 1048576 bytes")):
        error = either.ask("prompts/get", wrong)["error"]
        assert error["code"] == -32602 and why in error["message"]


def test_completion(either, new_sandbox, client):
    def values(ref, name, value, **given):
        return either.ask("completion/complete", {"ref": ref, "argument": {"name": name, "value": value}, "context": {"arguments": given}})["result"]["completion"]

    sid = new_sandbox(name="completable")["id"]
    client.exec(sid, "mkdir -p /workspace/folder && touch /workspace/file.txt /workspace/folder/deep")
    code, look = {"type": "ref/prompt", "name": "run_code"}, {"type": "ref/prompt", "name": "inspect_sandbox"}
    file = {"type": "ref/resource", "uri": "sandbox://{sandboxId}/files/{+path}"}
    assert values(code, "language", "") == {"values": ["python", "javascript", "typescript", "go", "bash"], "total": 5, "hasMore": False}
    assert values(code, "language", "py")["values"] == ["python"] and values(code, "code", "x")["values"] == []
    for ref in (look, file):
        assert values(ref, "sandboxId", sid[:-1])["values"] == [sid] == values(ref, "sandboxId", "completab")["values"]
        assert values(ref, "sandboxId", "none")["values"] == []
    assert set(values(file, "path", "workspace/f", sandboxId=sid)["values"]) == {"workspace/file.txt", "workspace/folder/"}
    assert values(file, "path", "workspace/folder/", sandboxId=sid)["values"] == ["workspace/folder/deep"]
    assert values(file, "path", "workspace/f")["values"] == [], "whose files is not known yet"
    assert values({"type": "ref/prompt", "name": "nothing"}, "x", "")["values"] == values({"type": "ref/resource", "uri": "x://{path}"}, "path", "")["values"] == []
    for wrong in ({}, {"ref": {"type": "other"}, "argument": {"name": "a", "value": "b"}}, {"ref": code}, {"ref": code, "argument": {"name": "language"}}):
        assert either.ask("completion/complete", wrong)["error"]["code"] == -32602


def events_of(stream):
    """The messages of an open event stream, as they arrive."""
    for line in stream:
        if line.startswith(b"data: {"):
            yield json.loads(line[6:])


def test_a_session_subscribes_to_resources(server, mcp, new_sandbox, client):
    assert Http(server).initialize()["capabilities"]["resources"] == {"subscribe": True}
    one, other = new_sandbox()["id"], new_sandbox()["id"]
    listener = server.client(prefix="")
    told = events_of(listener.open("GET", "/mcp", headers=mcp.headers()))
    for _ in range(2):
        assert mcp.ask("resources/subscribe", {"uri": f"sandbox://{one}"})["result"] == {}
    assert mcp.ask("resources/subscribe", {"uri": f"sandbox://{one}/logs"})["result"] == {}
    client.exec(other, "true")
    client.ok("POST", f"/sandboxes/{one}/pause")
    updated = [{"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": f"sandbox://{one}{rest}"}} for rest in ("", "/logs")]
    assert [next(told), next(told)] == updated
    mcp.ask("resources/unsubscribe", {"uri": f"sandbox://{one}"})
    client.ok("POST", f"/sandboxes/{one}/resume")
    client.ok("POST", f"/sandboxes/{one}/pause")
    assert [next(told), next(told)] == [updated[1]] * 2
    error = mcp.ask("resources/subscribe", {"uri": "test://other"})["error"]
    assert error["code"] == -32002 and error["data"] == {"uri": "test://other"}
    for number in range(63):
        assert mcp.ask("resources/subscribe", {"uri": f"sandbox://{one}/files/{number}"})["result"] == {}
    assert "limit of 64" in mcp.ask("resources/subscribe", {"uri": f"sandbox://{one}"})["error"]["message"]
    listener.close()


def test_listening_without_a_session(server, new_sandbox, client):
    one, other = new_sandbox()["id"], new_sandbox()["id"]
    mcp, listener = Http(server), server.client(prefix="")
    wanted = {"resourceSubscriptions": [f"sandbox://{one}", "test://other"], "resourcesListChanged": True, "toolsListChanged": True}
    listen = stateless("subscriptions/listen", rid="sub", notifications=wanted)
    headers = mcp.headers(Mcp_Protocol_Version="2026-07-28", Mcp_Method="subscriptions/listen")
    reply = listener.open("POST", "/mcp", listen, headers=headers)
    assert reply.getheader("Content-Type").startswith("text/event-stream")
    told, tag = events_of(reply), {"io.modelcontextprotocol/subscriptionId": "sub"}
    assert next(told) == {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
                          "params": {"notifications": {"resourcesListChanged": True, "resourceSubscriptions": [f"sandbox://{one}"]}, "_meta": tag}}
    client.ok("POST", f"/sandboxes/{other}/pause")
    client.ok("POST", f"/sandboxes/{one}/pause")
    assert next(told) == {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": f"sandbox://{one}", "_meta": tag}}
    client.delete(f"/sandboxes/{other}")
    assert next(told) == {"jsonrpc": "2.0", "method": "notifications/resources/list_changed", "params": {"_meta": tag}}
    listener.close()
    assert mcp.post(listen, Mcp_Protocol_Version="2026-07-28", Mcp_Method="subscriptions/listen", Accept="application/json")[0] == 406
    assert mcp.post(stateless("subscriptions/listen"), Mcp_Protocol_Version="2026-07-28", Mcp_Method="subscriptions/listen")[1][0]["error"]["code"] == -32602


def test_listening_ends_with_the_token_and_the_server(server, client):
    token = user(client, "listener", tenant="listener")
    listen = stateless("subscriptions/listen", notifications={"resourcesListChanged": True})
    said = {"Mcp_Protocol_Version": "2026-07-28", "Mcp_Method": "subscriptions/listen"}
    with server.client(token=token["secret"], prefix="") as listener:
        told = events_of(listener.open("POST", "/mcp", listen, headers=Http(server, token=token["secret"]).headers(**said)))
        assert next(told)["method"].endswith("acknowledged")
        client.ok("DELETE", f"/tokens/{token['id']}")
        assert [last["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"] for last in told] == [1]
    with harness.Server() as own, own.client(prefix="") as listener:
        told = events_of(listener.open("POST", "/mcp", listen, headers=Http(own).headers(**said)))
        assert next(told)["method"].endswith("acknowledged")
        own.proc.terminate()
        for last in told:
            assert last["id"] == 1 and last["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == 1
        own.proc.wait(harness.DEADLINE_S)


def test_a_subscription_hears_its_own_tenant_only(server, client):
    ann, bob = user(client, "sub-ann", tenant="sub-ann"), user(client, "sub-bob", tenant="sub-bob")
    with server.client(token=ann["secret"]) as as_ann, server.client(token=bob["secret"]) as as_bob, server.client(token=bob["secret"], prefix="") as listener:
        foreign = as_ann.ok("POST", "/sandboxes", {"image": "python"})["id"]
        listen = stateless("subscriptions/listen", notifications={"resourcesListChanged": True, "resourceSubscriptions": [f"sandbox://{foreign}"]})
        headers = Http(server, token=bob["secret"]).headers(Mcp_Protocol_Version="2026-07-28", Mcp_Method="subscriptions/listen")
        told = events_of(listener.open("POST", "/mcp", listen, headers=headers))
        assert next(told)["method"].endswith("acknowledged")
        as_ann.ok("POST", f"/sandboxes/{foreign}/pause")
        as_ann.delete(f"/sandboxes/{foreign}")
        own = as_bob.ok("POST", "/sandboxes", {"image": "python"})["id"]
        as_bob.delete(f"/sandboxes/{own}")
        assert [next(told)["method"] for _ in range(2)] == ["notifications/resources/list_changed"] * 2
        client.ok("DELETE", f"/tokens/{bob['id']}")
        assert ["result" in last for last in told] == [True], "nothing else came"
    client.ok("DELETE", f"/tokens/{ann['id']}")


@pytest.mark.parametrize("where", ["header", "meta"])
def test_a_trace_continues_into_the_sandbox(either, new_sandbox, where):
    trace, sid = "00-" + "ab" * 16 + "-" + "cd" * 8 + "-01", new_sandbox()["id"]
    call = {"name": "sandbox_exec", "arguments": {"sandboxId": sid, "command": "echo $TRACEPARENT"}}
    message = stateless("tools/call", **call) if either.session is None else request("tools/call", call)
    if where == "meta":
        message["params"].setdefault("_meta", {})["traceparent"] = trace
    headers = {"Mcp_Protocol_Version": "2026-07-28", "Mcp_Method": "tools/call", "Mcp_Name": "sandbox_exec"} if either.session is None else {}
    _, (answer,) = either.post(message, **headers, **({"Traceparent": trace} if where == "header" else {}))
    seen = answer["result"]["structuredContent"]["stdout"].strip()
    assert seen.startswith("00-" + "ab" * 16 + "-") and seen != trace


def test_a_choice_of_tools(server):
    mcp = Http(server, path="/mcp?tools=exec,snapshot_*")
    mcp.initialize()
    mcp.path = "/mcp"  # it is the session's
    assert [t["name"] for t in mcp.ask("tools/list")["result"]["tools"]][0] == "sandbox_exec"
    assert mcp.ask("tools/call", {"name": "sandbox_list"})["error"]["code"] == -32602
    mcp.session, mcp.path = None, "/mcp?tools=kill"
    _, (answer,) = mcp.post(stateless("tools/list"), Mcp_Protocol_Version="2026-07-28", Mcp_Method="tools/list")
    assert [t["name"] for t in answer["result"]["tools"]] == ["sandbox_kill"]


def test_sessions_are_bounded(server, client):
    token = user(client, "many", tenant="many")
    sessions = []
    for _ in range(101):
        mcp = Http(server, token=token["secret"])
        mcp.post(HELLO)
        sessions.append(mcp)
        mcp.client.close()
    assert sessions[0].post(request("ping"))[0] == 404, "the one that was idle for the longest time went"
    assert sessions[1].post(request("ping"))[0] == 200 and sessions[-1].post(request("ping"))[0] == 200
    for mcp in sessions:
        mcp.client.close()
    client.ok("DELETE", f"/tokens/{token['id']}")


def test_a_tenant_has_a_share_of_the_sessions(server, client):
    tokens, sessions = [user(client, f"of-many-{i}", tenant="of-many") for i in range(3)], []
    for i in range(251):
        mcp = Http(server, token=tokens[i // 90]["secret"])
        mcp.post(HELLO)
        sessions.append(mcp)
        mcp.client.close()
    assert sessions[0].post(request("ping"))[0] == 404, "the one of the tenant that was idle for the longest time went"
    assert sessions[1].post(request("ping"))[0] == 200 and sessions[-1].post(request("ping"))[0] == 200
    for mcp in sessions:
        mcp.client.close()
    for token in tokens:
        client.ok("DELETE", f"/tokens/{token['id']}")


def test_a_session_ends_with_its_token(server, client):
    token = user(client, "short", tenant="short")
    mcp = Http(server, token=token["secret"])
    mcp.initialize()
    sid = json.loads(mcp.text("sandbox_create", image="python"))["id"]
    listener = server.client(token=token["secret"], prefix="")
    stream = listener.open("GET", "/mcp", headers=mcp.headers())
    got = []
    call = request("tools/call", {"name": "sandbox_exec", "arguments": {"sandboxId": sid, "command": "sleep 765"}})
    waiter = threading.Thread(target=lambda: got.append(mcp.post(call)))
    waiter.start()
    harness.wait_until(lambda: "sleep 765" in client.get(f"/sandboxes/{sid}/processes").body.decode(), "the command to start")
    client.ok("DELETE", f"/tokens/{token['id']}")
    stream.read()
    waiter.join(harness.DEADLINE_S)
    assert not waiter.is_alive()
    harness.wait_until(lambda: "sleep 765" not in client.get(f"/sandboxes/{sid}/processes").body.decode(), "the command to end")
    client.delete(f"/sandboxes/{sid}")
    listener.close()


def test_a_stop_does_not_wait_for_streams():
    with harness.Server() as server:
        mcp = Http(server)
        mcp.initialize()
        listener = server.client(prefix="")
        stream = listener.open("GET", "/mcp", headers=mcp.headers())
        server.proc.terminate()
        assert stream.read() == b": open\n\n", "it ends in order, and is not cut"
        server.proc.wait(harness.DEADLINE_S)


def test_after_an_upgrade_clients_initialize_again():
    with harness.Server() as server:
        mcp = Http(server)
        mcp.initialize()
        sid = json.loads(mcp.text("sandbox_create", image="python"))["id"]
        listener = server.client(prefix="")
        stream = listener.open("GET", "/mcp", headers=mcp.headers())
        assert server.takeover() is None
        assert stream.read() == b": open\n\n"
        assert mcp.post(request("ping"))[0] == 404
        mcp.session = None
        mcp.initialize()
        assert mcp.text("sandbox_exec", sandboxId=sid, command="echo still here") == "still here\n"
        mcp.text("sandbox_kill", sandboxId=sid)


def test_rates_and_quotas_hold_here_too():
    env = {"III_AUTH_TOKEN": TOKEN, "III_RATE_LIMIT_ENABLED": "true", "III_RATE_TOKEN_RPM": "1", "III_RATE_TOKEN_BURST": "8", "III_RATE_SBX_EXEC_PM": "1"}
    with harness.Server(env=env, token=TOKEN) as server:
        mcp = Http(server)
        mcp.initialize()
        sid = json.loads(mcp.text("sandbox_create", image="python"))["id"]
        assert mcp.text("sandbox_exec", sandboxId=sid, command="echo 1") == "1\n"
        assert "failed: 429" in mcp.tool("sandbox_exec", sandboxId=sid, command="echo 2")["content"][0]["text"]
        mcp.text("sandbox_kill", sandboxId=sid)
        for _ in range(8):
            reply = mcp.client.call("POST", "/mcp", request("ping"), headers=mcp.headers())
            if reply.status != 200:
                break
        assert reply.status == 429 and int(reply.headers["retry-after"]) >= 1
