"""The published MCP clients and the MCP Inspector, unchanged, against this server: every tool is listed and called, over standard input and
output and over HTTP. Arguments come from the good call that each operation has in route_examples.py, by the TOOL lines of src/spec/ops_*.def."""
import base64
import json
import os
import re
import subprocess
import time

import pytest

import harness
import nodekit
import route_examples

TOKEN = "mcp-sdk-token"
SERVER_ENV = {"III_AUTH_TOKEN": TOKEN}
INSPECTOR, SDK, CLIENT = "2.12.0", "1.32.2", "2.4.0"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
ROW = re.compile(r'^(?:TOOL\(|CONTRACT_TOOL\((\d+), )(\w+), "[^"]*", (\w+), "([^"]*)",', re.M)


def rows():
    """[(tool, operation, {field: argument})] as the table says."""
    spec = harness.ROOT / "src" / "spec"
    text = "".join((spec / name).read_text() for name in re.findall(r'"spec/(ops_\w+\.def)"', (spec / "ops.def").read_text()))
    found = []
    for _, name, op, words in sorted(ROW.findall(text), key=lambda row: int(row[0] or 40)):  # the contract's come first
        names = {}
        for word in words.split():
            shown, field = re.match(r"!?(\w+)(?:[:@](\w+))?", word).groups()
            if not word.startswith("!"):
                names[field or shown] = shown
        found.append((name, op, names))
    assert len(found) == len(re.findall(r"^(?:CONTRACT_)?TOOL\(", text, re.M)), "a row that this test cannot read"
    return found


ROWS = rows()
# Where the operation's example is not what a tool takes.
OTHER = {
    "sandbox_renew": lambda w: {"sandboxId": w.box, "timeout": 3600},
    "sandbox_file_info": lambda w: {"sandboxId": w.box, "paths": ["/workspace/file.txt"]},
    "sandbox_image_pull": lambda w: {"image": ""},  # needs a registry: only refused here, as in test_routes.py
}
# What the text of a result must be, beyond that it is there and that the client finds its structure right.
TEXTS = {
    "sandbox_exec": r"hi\n", "sandbox_run_code": r"1\n", "sandbox_read_file": r"hello\n", "sandbox_write_file": r"Written to /workspace/new.txt",
    "sandbox_install_package": r"(?s).*installed.*", "sandbox_kill": r"Sandbox sbx_\w+ killed", "sandbox_env_get": r"PATH=.+",
    "sandbox_env_set": r"Set 1 variable\(s\): A", "sandbox_process_kill": r"Killed PID \d+ with signal KILL", "sandbox_stream_logs": r"\(no logs\)",
    "sandbox_network_connect": r"Sandbox sbx_\w+ connected to network \w+", "sandbox_volume_attach": r"Volume \w+ attached to sandbox sbx_\w+ at /mnt/one",
    "sandbox_delete_file": r"Deleted /workspace/gone", "sandbox_make_folder": r"Made /workspace/made", "sandbox_remove_folder": r"Removed /workspace/folder",
    "sandbox_chmod": r"Mode of /workspace/file.txt is now 644", "sandbox_download_file": r"hello\n", "sandbox_context_run": r"2",
    "sandbox_context_delete": r"Context \w+ ended", "sandbox_port_unexpose": r"Port 9002 is no longer exposed", "sandbox_git_diff": r"(?s)diff --git.*|\(no diff\)",
    "sandbox_list_files": r"(?s)\[.*\"file.txt\".*\]", "sandbox_get": r"(?s)\{\n  \"id\": \"sbx_.*", "sandbox_http_request": r"(?s).*hello.*",
}


@pytest.fixture(scope="module")
def home():
    nodekit.install("@modelcontextprotocol/inspector", INSPECTOR)
    nodekit.install("@modelcontextprotocol/client", CLIENT)
    return nodekit.install("@modelcontextprotocol/sdk", SDK)


class Program:
    """A client's program that takes orders."""

    def __init__(self, home, generation, where, url):
        argv, env = nodekit.command(home, "mcp.mjs", generation, *where)
        self.proc = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                     env={**harness.clean_env(), **{k: v for k, v in env.items() if not k.startswith("III_") or k == "III_NODE_DIR"},
                                          "III_SANDBOX_URL": url, "III_SANDBOX_TOKEN": TOKEN})

    def order(self, order, **rest):
        self.proc.stdin.write(json.dumps({"order": order, **rest}) + "\n")
        self.proc.stdin.flush()
        line = self.proc.stdout.readline()
        assert line, f"the program ended with {self.proc.wait(harness.DEADLINE_S)}"
        answer = json.loads(line)
        assert "ok" in answer, f"{order} {rest}: {answer}"
        return answer["ok"]

    def close(self):
        self.proc.stdin.close()
        try:
            assert self.proc.wait(harness.DEADLINE_S) == 0
        finally:
            if self.proc.poll() is None:
                self.proc.kill()
            self.proc.stdout.close()


@pytest.fixture(scope="module", params=["sdk-stdio", "sdk-http", "client-stdio", "client-http"])
def program(request, home, server):
    generation, way = request.param.split("-")
    url = f"http://127.0.0.1:{server.port}"
    made = Program(home, generation, [f"{url}/mcp?tools=all"] if way == "http" else [str(harness.BINARY), "mcp", "--tools", "all"], url)
    made.generation, made.way = generation, way
    yield made
    made.close()


@pytest.fixture(scope="module")
def world(program, server):  # one for each program: what an example makes it makes once
    made = route_examples.World(server.client())
    made.client.exec(made.box, f"echo {PNG} | base64 -d > /workspace/dot.png")
    yield made
    server.held.look(server.pid)
    caller = server.client()
    for item in caller.ok("GET", "/sandboxes?pageSize=200")["items"]:
        caller.delete(f"/sandboxes/{item['id']}")


def arguments(world, tool, op, names):
    if tool in OTHER:
        return OTHER[tool](world)
    assert op in route_examples.EXAMPLES, f"the tool {tool} is never called: {op} needs an example in route_examples.py"
    return {names[field]: value for field, value in route_examples.EXAMPLES[op](world).items() if field in names}


def test_the_server_and_its_tools(program):
    about = program.order("about")
    assert about["server"]["name"] == "iii-sandbox"
    assert about["version"] in (("2026-07-28",) if program.generation == "client" else ("2025-11-25", None))
    tools = program.order("tools")
    assert [t["name"] for t in tools] == [name for name, _, _ in ROWS]
    for tool in tools:
        assert tool["description"] and tool["inputSchema"]["type"] == "object" and tool["outputSchema"]["type"] == "object", tool["name"]


def test_every_tool(program, world):
    for tool, op, names in ROWS:
        given = arguments(world, tool, op, names)
        result = program.order("call", name=tool, arguments=given)
        if tool == "sandbox_image_pull":
            assert result["isError"], result
            continue
        assert not result.get("isError"), f"{tool} {given}: {result}"
        assert "structuredContent" in result, f"{tool}: {result}"
        text = result["content"][0].get("text", "")
        if tool in TEXTS:
            assert re.fullmatch(TEXTS[tool], text), f"{tool}: {text!r}"


def test_pictures(program, world):
    seen = program.order("call", name="sandbox_download_file", arguments={"sandboxId": world.box, "path": "/workspace/dot.png"})
    assert seen["content"] == [{"type": "image", "data": PNG, "mimeType": "image/png"}]
    code = ("class P:\n    def _repr_png_(self):\n        return open('/workspace/dot.png', 'rb').read()\nprint('drawn')\nP()")
    drawn = program.order("call", name="sandbox_context_run", arguments={"sandboxId": world.box, "contextId": world.context, "code": code})
    images = [c for c in drawn["content"] if c["type"] == "image"]
    assert [base64.b64decode(i["data"]) for i in images] == [base64.b64decode(PNG)] and images[0]["mimeType"] == "image/png"
    assert drawn["content"][0]["text"].startswith("drawn")


def test_resources(program, world):
    seen = program.order("resources")
    assert f"sandbox://{world.box}/logs" in {r["uri"] for r in seen["list"]} and len(seen["templates"]) == 3
    assert program.order("read", uri=f"sandbox://{world.box}/files/workspace/file.txt")[0]["text"] == "hello\n"


def test_progress_and_cancellation(program, world, server):
    seen = program.order("progress", name="sandbox_exec", arguments={"sandboxId": world.box, "command": "sleep 1.6; echo done"})
    assert seen["result"]["content"][0]["text"] == "done\n" and seen["told"]
    seconds = 1000 + time.time_ns() % 1000000
    seen = program.order("cancel", name="sandbox_exec", arguments={"sandboxId": world.box, "command": f"sleep {seconds}"}, after=700)
    assert seen["cancelled"], seen
    running = lambda: f"sleep {seconds}" in world.client.get(f"/sandboxes/{world.box}/processes").body.decode()  # noqa: E731
    harness.wait_until(lambda: not running(), "the cancelled command to end")


@pytest.mark.parametrize("way", ["stdio", "http"])
def test_the_inspector_lists_the_tools(home, server, way):
    url = f"http://127.0.0.1:{server.port}"
    target = ["-e", "III_MCP_TOOLS=all", str(harness.BINARY), "mcp"] if way == "stdio" else [f"{url}/mcp?tools=all", "--transport", "http", "--header", f"Authorization: Bearer {TOKEN}"]
    argv = ["node", str(home / "node_modules" / ".bin" / "mcp-inspector"), "--cli", *target, "--method", "tools/list", "--strict"]
    env = {**{k: v for k, v in os.environ.items() if not k.startswith("III_")}, "III_SANDBOX_URL": url, "III_SANDBOX_TOKEN": TOKEN}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=harness.DEADLINE_S * 4, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert [t["name"] for t in json.loads(done.stdout)["tools"]] == [name for name, _, _ in ROWS]
    assert "error" not in done.stderr.lower() and "warning" not in done.stderr.lower(), done.stderr


def npm(*args, cwd, **more):
    done = subprocess.run(["npm", *map(str, args), "--loglevel=error"], cwd=cwd, capture_output=True, text=True, timeout=nodekit.INSTALL_S, check=False, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_npm_package_starts_the_binary(home, server, tmp_path):
    """The archive, by the command that the documents show, offers the same tools."""
    package = harness.ROOT / "sdk" / "mcp"
    archive = npm("pack", package, "--pack-destination", tmp_path, cwd=tmp_path).strip().splitlines()[-1]
    env = {**harness.clean_env(), "III_BIN": str(harness.BINARY), "III_SANDBOX_URL": f"http://127.0.0.1:{server.port}", "III_SANDBOX_TOKEN": TOKEN}
    asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "sandbox_list"}})
    done = subprocess.run(["npx", "--offline", "-y", f"--package={tmp_path / archive}", "iii-sandbox-mcp"], cwd=tmp_path, env=env, input=asked, capture_output=True, text=True,
                          timeout=harness.DEADLINE_S * 2, check=False)
    assert done.returncode == 0 and not json.loads(done.stdout)["result"].get("isError"), done.stdout + done.stderr


def test_the_tests_of_the_npm_package(home):
    done = subprocess.run(["node", "--test", str(harness.ROOT / "sdk" / "mcp" / "test")], capture_output=True, text=True,
                          timeout=harness.DEADLINE_S * 2, check=False)
    assert done.returncode == 0 and "# pass 5" in done.stdout, done.stdout + done.stderr
