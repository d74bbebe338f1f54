"""A small MCP client of the standard library: JSON-RPC over a child's standard input and output."""
import json
import queue
import subprocess
import threading

import harness

VERSION = "2025-11-25"


def request(method, params=None, rid=1):
    return {"jsonrpc": "2.0", "id": rid, "method": method, **({} if params is None else {"params": params})}


def notification(method, params=None):
    return {"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})}


class Stdio:
    """`iii mcp` and what it says, line by line."""

    def __init__(self, url, *args, env=None):
        self.proc = subprocess.Popen([str(harness.BINARY), "mcp", *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                     env=harness.clean_env({"III_SANDBOX_URL": url, "III_MCP_TOOLS": "all", **(env or {})}))
        self.said = queue.Queue()
        self.notes = []
        self.last_id = 0
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.proc.stdout:
            self.said.put(json.loads(line))
        self.said.put(None)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.proc.poll() is None:
            self.proc.stdin.close()
            try:
                self.proc.wait(harness.DEADLINE_S)
            except subprocess.TimeoutExpired:
                self.proc.kill()
                self.proc.wait()
                raise
        complaint = self.proc.stderr.read().decode(errors="replace")
        self.reader.join()
        self.proc.stdout.close()
        self.proc.stderr.close()
        if kind is None:
            assert self.proc.returncode == 0 and complaint == "", (self.proc.returncode, complaint)

    def send_raw(self, data):
        self.proc.stdin.write(data)
        self.proc.stdin.flush()

    def send(self, message):
        self.send_raw(json.dumps(message).encode() + b"\n")

    def next(self):
        message = self.said.get(timeout=harness.DEADLINE_S)
        assert message is not None, f"the server ended with {self.proc.wait(harness.DEADLINE_S)}"
        return message

    def ask(self, method, params=None):
        """The whole response; notifications on the way are kept in notes."""
        self.last_id += 1
        self.send(request(method, params, self.last_id))
        while True:
            message = self.next()
            if message.get("id") == self.last_id:
                return message
            self.notes.append(message)

    def initialize(self, version=VERSION):
        answer = self.ask("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}})
        self.send(notification("notifications/initialized"))
        return answer["result"]

    def tool(self, name, /, token=None, **arguments):
        """The result of a call."""
        meta = {"_meta": {"progressToken": token}} if token is not None else {}
        answer = self.ask("tools/call", {"name": name, "arguments": arguments, **meta})
        assert "result" in answer, answer
        return answer["result"]

    def text(self, name, /, **arguments):
        """The text of a call that must succeed."""
        result = self.tool(name, **arguments)
        assert not result.get("isError"), result
        return result["content"][0]["text"]


class Http:
    """One session over HTTP. Answers come as JSON or as a stream of events; both end in the same messages."""

    def __init__(self, server, token=None, path="/mcp?tools=all"):
        self.client = server.client(token=token, prefix="")
        self.path, self.session, self.notes, self.last_id, self.kind = path, None, [], 0, None

    def headers(self, **extra):
        headers = {"Accept": "application/json, text/event-stream", **{k.replace("_", "-"): v for k, v in extra.items()}}
        if self.session:
            headers["Mcp-Session-Id"] = self.session
        return headers

    def post(self, message, **extra):
        """(status, messages that came back)"""
        reply = self.client.call("POST", self.path, message, headers=self.headers(**extra))
        self.session = reply.headers.get("mcp-session-id", self.session)
        self.kind = reply.headers.get("content-type", "")
        if self.kind.startswith("text/event-stream"):
            return reply.status, [json.loads(line[6:]) for line in reply.body.decode().split("\n") if line.startswith("data: ") and line[6:]]  # the first of a stream may be empty
        return reply.status, [reply.json()] if reply.body else []

    def ask(self, method, params=None):
        self.last_id += 1
        status, messages = self.post(request(method, params, self.last_id))
        assert status == 200, (status, messages)
        self.notes += messages[:-1]
        assert messages[-1]["id"] == self.last_id
        return messages[-1]

    def initialize(self, version=VERSION):
        answer = self.ask("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}})
        assert self.post(notification("notifications/initialized")) == (202, [])
        return answer["result"]

    tool, text = Stdio.tool, Stdio.text
