"""`iii mcp`: JSON-RPC, versions, tools, progress, cancellation and resources, over standard input and output."""
import http.server
import json
import os
import subprocess
import threading

import pytest

import harness
from mcpclient import Stdio, notification, request

CONTRACT = ("create exec run_code read_file write_file list_files install_package list kill metrics env_get env_set env_list git_clone git_status "
            "git_commit git_diff process_list process_kill template_list snapshot_create snapshot_restore snapshot_list clone port_expose port_list "
            "events_history events_publish exec_queue queue_status network_create network_connect stream_logs traces metrics_dashboard set_alert "
            "alert_history volume_create volume_attach").split()


@pytest.fixture
def url(server):
    return f"http://127.0.0.1:{server.port}"


@pytest.fixture
def mcp(url):
    with Stdio(url) as made:
        made.initialize()
        yield made


@pytest.mark.parametrize("asked, given", [("2025-11-25", "2025-11-25"), ("2025-06-18", "2025-06-18"), ("2025-03-26", "2025-03-26"),
                                          ("2024-11-05", "2024-11-05"), ("1999-01-01", "2025-11-25"), ("", "2025-11-25")])
def test_versions(url, asked, given):
    version = subprocess.check_output([harness.BINARY, "version"], text=True).strip()
    with Stdio(url) as mcp:
        said = mcp.initialize(asked)
        assert said["protocolVersion"] == given
        assert said["serverInfo"]["name"] == "iii-sandbox" and said["serverInfo"]["version"] == version
        assert said["capabilities"]["tools"] == {"listChanged": True} and "resources" in said["capabilities"]
        tools = mcp.ask("tools/list")["result"]["tools"]
        assert ("outputSchema" in tools[0]) == (given >= "2025-06-18")


def test_the_name_of_the_published_server(url, tmp_path):
    (tmp_path / "iii-sandbox-mcp").symlink_to(harness.BINARY)
    done = subprocess.run([str(tmp_path / "iii-sandbox-mcp")], input=json.dumps(request("ping")) + "\n", capture_output=True, text=True, check=False,
                          env=harness.clean_env({"III_SANDBOX_URL": url, "III_DATA_DIR": tmp_path / "never"}), timeout=harness.DEADLINE_S)
    assert done.returncode == 0 and json.loads(done.stdout) == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_the_contract_tools_come_first(mcp):
    tools = mcp.ask("tools/list")["result"]["tools"]
    assert [t["name"] for t in tools[:39]] == [f"sandbox_{name}" for name in CONTRACT]
    assert len({t["name"] for t in tools}) == len(tools)
    by_name = {t["name"]: t for t in tools}
    create = by_name["sandbox_create"]["inputSchema"]
    assert "default" not in create["properties"]["image"] and "required" not in create
    assert by_name["sandbox_run_code"]["inputSchema"]["properties"]["language"]["enum"] == ["python", "javascript", "typescript", "go", "bash"]
    assert by_name["sandbox_install_package"]["inputSchema"]["properties"]["manager"]["enum"] == ["pip", "npm", "go"]
    assert by_name["sandbox_exec"]["inputSchema"]["required"] == ["sandboxId", "command"]
    assert by_name["sandbox_read_file"]["annotations"]["readOnlyHint"] is True
    assert by_name["sandbox_kill"]["annotations"]["destructiveHint"] is True


def test_a_sandbox_from_birth_to_death(mcp):
    record = json.loads(mcp.text("sandbox_create", image="python", name="from mcp"))
    sid = record["id"]
    assert record["name"] == "from mcp" and record["status"] == "running"
    assert mcp.text("sandbox_exec", sandboxId=sid, command="echo hi") == "hi\n"
    both = mcp.tool("sandbox_exec", sandboxId=sid, command="echo out; echo err >&2; exit 3")
    assert both["isError"] is True and both["content"][0]["text"] == "STDOUT:\nout\n\n\nSTDERR:\nerr\n"
    assert both["structuredContent"]["exitCode"] == 3
    assert mcp.tool("sandbox_exec", sandboxId=sid, command="exit 4")["content"][0]["text"] == "exit code 4"
    failed = mcp.tool("sandbox_run_code", sandboxId=sid, code="print(1)\nraise ValueError('no')")
    assert failed["isError"] and failed["content"][0]["text"].startswith("ERROR:\nTraceback") and failed["content"][0]["text"].endswith("\n\nOUTPUT:\n1\n")
    assert mcp.text("sandbox_write_file", sandboxId=sid, path="/workspace/a.txt", content="x") == "Written to /workspace/a.txt"
    assert mcp.text("sandbox_read_file", sandboxId=sid, path="a.txt") == "x"
    assert [f["name"] for f in json.loads(mcp.text("sandbox_list_files", sandboxId=sid))] == ["a.txt"]
    assert mcp.text("sandbox_env_get", sandboxId=sid, key="NOPE") == "NOPE is not set"
    assert mcp.text("sandbox_env_set", sandboxId=sid, vars={"A": "1", "B": "2"}) == "Set 2 variable(s): A, B"
    assert mcp.text("sandbox_env_get", sandboxId=sid, key="A") == "A=1"
    assert mcp.text("sandbox_kill", sandboxId=sid) == f"Sandbox {sid} killed"
    gone = mcp.tool("sandbox_exec", sandboxId=sid, command="true")
    assert gone["isError"] and gone["content"][0]["text"].startswith(f"POST /sandbox/sandboxes/{sid}/exec failed: 404 {{\"error\":")


def test_template_given_no_image_sent(mcp, client):
    made = client.ok("POST", "/templates", {"name": "mcp-t", "config": {"image": "python", "memory": 99}})
    record = json.loads(mcp.text("sandbox_create", template="mcp-t"))
    assert record["image"] == "python" and record["config"]["memory"] == 99
    mcp.text("sandbox_kill", sandboxId=record["id"])
    client.ok("DELETE", f"/templates/{made['id']}")


def test_wrong_calls(url):
    for version, is_result in (("2025-11-25", True), ("2025-06-18", False)):
        with Stdio(url) as mcp:
            mcp.initialize(version)
            answer = mcp.ask("tools/call", {"name": "sandbox_exec", "arguments": {"command": "ls"}})
            if is_result:
                assert answer["result"]["isError"] and answer["result"]["content"][0]["text"] == "sandbox_exec: sandboxId: it is required"
            else:
                assert answer["error"] == {"code": -32602, "message": "sandbox_exec: sandboxId: it is required"}
            assert mcp.ask("tools/call", {"name": "nothing"})["error"]["code"] == -32602
            assert mcp.ask("nothing/here")["error"]["code"] == -32601
            assert mcp.ask("tools/list", {"cursor": "x"})["error"]["code"] == -32602
            assert mcp.ask("ping")["result"] == {}


def test_subscriptions_share_the_pipe(mcp, client):
    sid = json.loads(mcp.text("sandbox_create", image="python"))["id"]
    assert mcp.ask("resources/subscribe", {"uri": f"sandbox://{sid}/files/workspace/"})["result"] == {}
    client.ok("POST", f"/sandboxes/{sid}/pause")
    assert mcp.next() == {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": f"sandbox://{sid}/files/workspace/"}}
    client.delete(f"/sandboxes/{sid}")


def test_a_trace_context_goes_to_the_server(mcp, client):
    sid, trace = json.loads(mcp.text("sandbox_create", image="python"))["id"], "00-" + "ab" * 16 + "-" + "cd" * 8 + "-01"
    call = {"name": "sandbox_exec", "arguments": {"sandboxId": sid, "command": "echo x$TRACEPARENT"}}
    said = mcp.ask("tools/call", {**call, "_meta": {"traceparent": trace}})["result"]["structuredContent"]["stdout"]
    assert said.startswith("x00-" + "ab" * 16 + "-") and trace not in said
    for wrong in (trace + "\r\nAuthorization: Bearer x", "x", 7, "a" * 4096):
        assert mcp.ask("tools/call", {**call, "_meta": {"traceparent": wrong}})["result"]["structuredContent"]["stdout"] == "x\n"
    client.delete(f"/sandboxes/{sid}")


def test_hostile_lines(mcp):
    for line, code in ((b"{", -32700), (b"[]", -32600), (b"7", -32600), (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
                       (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600), (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
                       (b'{"jsonrpc":"2.0","id":"' + b"x" * 257 + b'","method":"ping"}', -32600), (b'{"jsonrpc":"2.0"}', -32600),
                       (b"\xff\xfe", -32700), (b"[" * 100000, -32700)):
        mcp.send_raw(line + b"\n")
        assert mcp.next()["error"]["code"] == code, line[:60]
    mcp.send_raw(b"\n  \r\n")
    mcp.send({"jsonrpc": "2.0", "id": 5, "result": {}})
    mcp.send(notification("notifications/cancelled", {"requestId": "never"}))
    mcp.send(notification("notifications/unknown"))
    assert mcp.ask("ping")["result"] == {}


def test_a_message_that_is_too_long(mcp):
    mcp.send_raw(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + b"x" * (33 << 20) + b'"}}\n')
    assert "longer than" in mcp.next()["error"]["message"]
    assert mcp.ask("ping")["result"] == {}


def test_batches_of_older_revisions(url):
    pings = [request("ping", rid="a"), notification("notifications/initialized"), request("nope", rid="b")]
    with Stdio(url) as mcp:
        mcp.initialize("2025-03-26")
        mcp.send(pings)
        answers = {a["id"]: a for a in mcp.next()}
        assert answers["a"]["result"] == {} and answers["b"]["error"]["code"] == -32601
        mcp.send([request("ping", rid=i) for i in range(65)])
        assert mcp.next()["error"]["code"] == -32600
    with Stdio(url) as mcp:
        mcp.initialize("2025-06-18")
        mcp.send(pings)
        assert mcp.next()["error"]["code"] == -32600


def test_progress_and_cancellation(mcp, new_sandbox):
    sid = new_sandbox()["id"]
    result = mcp.tool("sandbox_exec", token="p", sandboxId=sid, command="sleep 2.5; echo done")
    assert result["content"][0]["text"] == "done\n"
    told = [n["params"] for n in mcp.notes if n["method"] == "notifications/progress"]
    assert told and all(p["progressToken"] == "p" for p in told) and [p["progress"] for p in told] == sorted({p["progress"] for p in told})
    mcp.send(request("tools/call", {"name": "sandbox_exec", "arguments": {"sandboxId": sid, "command": "echo $$ > /workspace/pid; exec sleep 321"}}, "long"))
    pid = harness.wait_until(lambda: mcp.tool("sandbox_read_file", sandboxId=sid, path="pid")["content"][0]["text"].strip().isdigit(), "the command to start")
    assert pid
    mcp.send(request("ping", rid="long"))
    assert mcp.next()["error"]["code"] == -32600, "the id is taken"
    mcp.send(notification("notifications/cancelled", {"requestId": "long", "reason": "test"}))
    harness.wait_until(lambda: "sleep 321" not in mcp.text("sandbox_process_list", sandboxId=sid), "the cancelled command to be gone")
    assert not [n for n in mcp.notes if n.get("id") == "long"], "a cancelled request gets no answer"


def test_progress_shows_the_newest_line(mcp, new_sandbox):
    sid = new_sandbox()["id"]
    result = mcp.tool("sandbox_exec", token=1, sandboxId=sid, command="echo first; echo 'é second' >&2; sleep 1.6; echo third; exit 3")
    assert "é second" in [n["params"]["message"] for n in mcp.notes]
    assert result["isError"] and result["content"][0]["text"] == "STDOUT:\nfirst\nthird\n\n\nSTDERR:\né second\n"
    assert result["structuredContent"]["exitCode"] == 3 and result["structuredContent"]["duration"] >= 1600
    over = mcp.tool("sandbox_exec", token=2, sandboxId=sid, command="sleep 100", timeout=1)
    assert over["isError"] and f"POST /sandbox/sandboxes/{sid}/exec failed: 504" in over["content"][0]["text"]
    gone = mcp.tool("sandbox_exec", token=3, sandboxId=harness.UNKNOWN, command="true")
    assert gone["isError"] and "failed: 404" in gone["content"][0]["text"]
    much = mcp.tool("sandbox_exec", token=4, sandboxId=sid, command="head -c 11000000 /dev/zero | tr '\\0' x")["structuredContent"]
    plain = mcp.tool("sandbox_exec", sandboxId=sid, command="head -c 11000000 /dev/zero | tr '\\0' x")["structuredContent"]
    assert much["stdoutTruncated"] and plain["stdoutTruncated"] and much["stdout"] == plain["stdout"] and f"of {10 << 20} bytes" in much["stdout"]


def test_too_many_at_once(mcp, new_sandbox):
    sid = new_sandbox()["id"]
    wait = {"name": "sandbox_exec", "arguments": {"sandboxId": sid, "command": "while [ ! -e /workspace/go ]; do sleep 0.1; done"}}
    for i in range(64):
        mcp.send(request("tools/call", wait, f"w{i}"))
    answer = mcp.ask("tools/call", wait)
    assert answer["error"]["code"] == -32000 and "64" in answer["error"]["message"]
    mcp.send(notification("notifications/cancelled", {"requestId": "w0"}))
    assert mcp.text("sandbox_write_file", sandboxId=sid, path="go", content="") == "Written to go"
    left = {f"w{i}" for i in range(1, 64)}
    left -= {n.get("id") for n in mcp.notes}
    while left:
        left.discard(mcp.next()["id"])


def test_resources(mcp, new_sandbox):
    sid = new_sandbox(name="res")["id"]
    assert {t["uriTemplate"] for t in mcp.ask("resources/templates/list")["result"]["resourceTemplates"]} == {
        "sandbox://{sandboxId}/files/{+path}", "sandbox://{sandboxId}/logs", "sandbox://{sandboxId}"}
    listed = {r["uri"] for r in mcp.ask("resources/list")["result"]["resources"]}
    assert {f"sandbox://{sid}", f"sandbox://{sid}/files/workspace/", f"sandbox://{sid}/logs"} <= listed
    mcp.text("sandbox_write_file", sandboxId=sid, path="/workspace/a b.md", content="# é")
    read = lambda uri: mcp.ask("resources/read", {"uri": uri})  # noqa: E731
    assert read(f"sandbox://{sid}/files/workspace/a%20b.md")["result"]["contents"] == [
        {"uri": f"sandbox://{sid}/files/workspace/a%20b.md", "mimeType": "text/markdown", "text": "# é"}]
    mcp.text("sandbox_exec", sandboxId=sid, command="printf '\\000\\377' > /workspace/bytes")
    blob = read(f"sandbox://{sid}/files/workspace/bytes")["result"]["contents"][0]
    assert blob["blob"] == "AP8=" and blob["mimeType"] == "application/octet-stream"
    assert "a b.md" in read(f"sandbox://{sid}/files/workspace/")["result"]["contents"][0]["text"]
    assert json.loads(read(f"sandbox://{sid}")["result"]["contents"][0]["text"])["name"] == "res"
    assert read(f"sandbox://{sid}/logs")["result"]["contents"][0]["mimeType"] == "text/plain"
    for uri in (f"sandbox://{sid}/nothing", "file:///etc/passwd", "sandbox://", f"sandbox://{sid}/files/%zz", f"sandbox://{harness.UNKNOWN}",
                f"sandbox://{sid}/files/workspace/missing"):
        assert read(uri)["error"]["code"] == -32002, uri
    assert mcp.ask("resources/read", {})["error"]["code"] == -32602
    assert mcp.ask("resources/list", {"cursor": "-1"})["error"]["code"] == -32602


def test_pages_of_resources(mcp, client):
    made = [client.create(image="python")["id"] for _ in range(51)]
    first = mcp.ask("resources/list")["result"]
    assert len(first["resources"]) == 150 and first["nextCursor"]
    rest = mcp.ask("resources/list", {"cursor": first["nextCursor"]})["result"]
    assert "nextCursor" not in rest
    seen = {r["uri"] for r in first["resources"] + rest["resources"]}
    assert {f"sandbox://{sid}" for sid in made} <= seen
    for sid in made:
        client.delete(f"/sandboxes/{sid}")


def test_no_server_is_said_clearly():
    with Stdio("http://127.0.0.1:1") as mcp:
        assert mcp.initialize()["serverInfo"]["name"] == "iii-sandbox"
        result = mcp.tool("sandbox_list")
        assert result["isError"] and "no iii-sandbox server answers at http://127.0.0.1:1" in result["content"][0]["text"]
        assert "iii serve" in result["content"][0]["text"]


class Stranger(http.server.BaseHTTPRequestHandler):
    """A web server that is none of ours."""

    def do_GET(self):
        status, body = {"json": (200, b'{"items": []}'), "html": (200, b"<html>"), "moved": (301, b"{}"), "failed": (503, b"oh"),
                        "cut": (200, b"[")}[self.server.kind]
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) + (self.server.kind == "cut")))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.mark.parametrize("kind, words", [("json", None), ("html", "failed: 502 {\"error\":\"the response is not JSON"), ("moved", "failed: 502"),
                                         ("failed", "failed: 503"), ("cut", "no iii-sandbox server answers")])
def test_a_server_that_is_none_of_ours(kind, words):
    stranger = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stranger)
    stranger.kind = kind
    runner = threading.Thread(target=stranger.serve_forever)
    runner.start()
    try:
        with Stdio(f"http://127.0.0.1:{stranger.server_address[1]}") as mcp:
            mcp.initialize()
            result = mcp.tool("sandbox_list")
            assert words in result["content"][0]["text"] and result["isError"] if words else result["content"][0]["text"] == "[]", result
    finally:
        stranger.shutdown()
        stranger.server_close()
        runner.join()


def test_a_choice_of_tools(url):
    with Stdio(url, "--tools", "list,sandbox_env_get, git_*") as mcp:
        mcp.initialize()
        names = [t["name"] for t in mcp.ask("tools/list")["result"]["tools"]]
        assert names[:2] == ["sandbox_list", "sandbox_env_get"] and len(names) > 6 and all(n.startswith("sandbox_git_") for n in names[2:])
        assert mcp.text("sandbox_list")
        assert mcp.ask("tools/call", {"name": "sandbox_create"})["error"]["code"] == -32602
    with Stdio(url, env={"III_MCP_TOOLS": "kill"}) as mcp:
        assert [t["name"] for t in mcp.ask("tools/list")["result"]["tools"]] == ["sandbox_kill"]


def test_the_sets_of_tools(url):
    listed = {}
    for choice in ("", "contract", "core", "all", "core,fork"):
        with Stdio(url, env={"III_MCP_TOOLS": choice}) as mcp:
            mcp.initialize()
            listed[choice] = mcp.ask("tools/list")["result"]["tools"]
    names = {choice: [t["name"] for t in tools] for choice, tools in listed.items()}
    assert names[""] == names["contract"] == [f"sandbox_{name}" for name in CONTRACT]
    assert len(names["core"]) == 12 and set(names["core"]) <= set(names["all"]) and len(names["all"]) > 80
    assert set(names["core,fork"]) == {*names["core"], "sandbox_fork"}
    assert len(json.dumps(listed["core"], separators=(",", ":"))) < 6144, "an agent pays for every byte, in every conversation"
    assert all("outputSchema" not in t for t in listed["core"])


def test_a_long_result_says_what_was_cut(mcp, new_sandbox):
    sid = new_sandbox()["id"]
    result = mcp.tool("sandbox_exec", sandboxId=sid, command="echo first; yes é | head -n 100000; echo last")
    text = result["content"][0]["text"]
    assert text.startswith("first\n") and text.endswith("last\n") and "[cut: " in text and "of 300011 bytes are not shown" in text
    assert len(text.encode()) < 33000 and len(result["structuredContent"]["stdout"].encode()) < 33000
    mcp.text("sandbox_exec", sandboxId=sid, command="cd /workspace; mkdir many; cd many; seq 2000 | xargs touch; seq -w 99999 > ../text")
    result = mcp.tool("sandbox_list_files", sandboxId=sid, path="/workspace/many")
    text, _, note = result["content"][0]["text"].rpartition("\n")
    shown = len(json.loads(text))
    assert 100 < shown < 2000 and note == f"[cut: {shown} of 2000 entries are shown]" and len(result["structuredContent"]["result"]) == shown
    assert "[cut: " in mcp.text("sandbox_read_file", sandboxId=sid, path="text") and "[cut: " in mcp.text("sandbox_download_file", sandboxId=sid, path="text")


def test_log_messages_of_the_level_that_was_set(mcp, new_sandbox):
    sid = new_sandbox()["id"]
    calls = lambda: (mcp.text("sandbox_exec", sandboxId=sid, command="true"), mcp.tool("sandbox_exec", sandboxId="sbx_none", command="true"))  # noqa: E731
    told = lambda: [n["params"] for n in mcp.notes if n["method"] == "notifications/message"]  # noqa: E731
    calls()
    assert told() == []
    assert mcp.ask("logging/setLevel", {"level": "loud"})["error"]["code"] == -32602
    assert mcp.ask("logging/setLevel", {"level": "warning"})["result"] == {}
    calls()
    assert [(t["level"], t["logger"], t["data"]["tool"], t["data"]["status"]) for t in told()] == [("warning", "tools", "sandbox_exec", 404)]
    assert mcp.ask("logging/setLevel", {"level": "debug"})["result"] == {}
    calls()
    assert [t["level"] for t in told()] == ["warning", "info", "warning"]


def test_bad_usage():
    for args in (["--tools", "exec,nothing"], ["--server", "nowhere"], ["extra"], ["--bad"]):
        assert harness.run_cli("mcp", *args).returncode == 2, args


def test_answers_come_though_the_input_has_ended(url, new_sandbox):
    sid = new_sandbox()["id"]
    asked = json.dumps(request("tools/call", {"name": "sandbox_exec", "arguments": {"sandboxId": sid, "command": "sleep 0.5; echo late"}}))
    done = subprocess.run([str(harness.BINARY), "mcp", "--server", url], input=asked, capture_output=True, text=True, env=harness.clean_env(),
                          timeout=harness.DEADLINE_S, check=False)
    assert done.returncode == 0 and json.loads(done.stdout)["result"]["content"][0]["text"] == "late\n"


def test_a_client_that_leaves_ends_its_commands(url, new_sandbox, client):
    sid = new_sandbox()["id"]
    mcp = Stdio(url)
    mcp.send(request("tools/call", {"name": "sandbox_exec", "arguments": {"sandboxId": sid, "command": "sleep 654"}}))
    harness.wait_until(lambda: "sleep 654" in client.get(f"/sandboxes/{sid}/processes").body.decode(), "the command to start")
    mcp.proc.terminate()
    assert mcp.proc.wait(harness.DEADLINE_S) == 0
    harness.wait_until(lambda: "sleep 654" not in client.get(f"/sandboxes/{sid}/processes").body.decode(), "the command to end")
    mcp.reader.join()
    for pipe in (mcp.proc.stdin, mcp.proc.stdout, mcp.proc.stderr):
        pipe.close()




def test_the_page_lists_every_tool(mcp):
    """docs/mcp.md; MCP_DOCS_UPDATE=1 writes its table anew."""
    rows = ["| Tool | Arguments | What it does |", "|---|---|---|"]
    for tool in mcp.ask("tools/list")["result"]["tools"]:
        needed = tool["inputSchema"].get("required", [])
        names = ", ".join(f"`{name}`" + ("" if name in needed else "?") for name in tool["inputSchema"]["properties"])
        rows.append(f"| `{tool['name']}` | {names or '–'} | {tool['description']} |")
    page = harness.ROOT / "docs" / "mcp.md"
    before, _, rest = page.read_text().partition("<!-- tools -->\n")
    listed, _, after = rest.partition("<!-- end of tools -->")
    if os.environ.get("MCP_DOCS_UPDATE"):
        page.write_text(before + "<!-- tools -->\n" + "\n".join(rows) + "\n<!-- end of tools -->" + after)
        return
    assert listed == "\n".join(rows) + "\n", "MCP_DOCS_UPDATE=1 renews the table of docs/mcp.md"
