"""GET /sandboxes/:id/files/watch: changes of files below a folder, as server-sent events, over a WebSocket and a channel."""
import contextlib
import json
import subprocess
import urllib.parse

import pytest

import harness
import wsclient
from engineclient import Worker, open_channel


def brief(changes):
    """The steps of one file that follow each other, as one: on a busy host they are told one by one."""
    told, last = [], {}
    for kind, path in changes:
        before = last.get(path)
        if kind == "deleted" and before == "created":
            told.remove(("created", path))
            del last[path]
        elif kind not in ("modified", "attributes") or before not in ("created", "modified", kind):
            told.append((kind, path))
            last[path] = kind
    return told


class Watch:
    """One stream of changes. `seen` has what came so far."""

    def __init__(self, server, client, sid, **query):
        self.client, self.sid, self.own = client, sid, server.client()
        self.reply = self.own.open("GET", f"/sandboxes/{sid}/files/watch?" + urllib.parse.urlencode(query))
        self.seen = []

    def next(self):
        while True:
            line = self.reply.readline()
            assert line, f"the stream has ended after {self.seen[-5:]}"
            if line.startswith(b"data: "):
                self.seen.append(json.loads(line[6:]))
                return self.seen[-1]

    def until(self, kind, path=None):
        """The next event of that type, and of that path."""
        while True:
            event = self.next()
            if event["type"] == kind and path in (None, event.get("path")):
                return event

    def mark(self):
        """What has happened until now, as (type, path) in order: everything before a file that is made now."""
        name = f"/workspace/mark-{len(self.seen)}"
        start = len(self.seen)
        self.sh(f"touch {name}")
        self.until("created", name)
        return brief((e["type"], e["path"]) for e in self.seen[start:-1] if not e["path"].startswith("/workspace/mark-"))

    def sh(self, command):
        done = self.client.exec(self.sid, command)
        assert done["exitCode"] == 0, done

    def close(self):
        self.reply.close()
        self.own.close()


@pytest.fixture
def watch(server, client, sandbox):
    """Opens watches of one sandbox; each has said that it is ready."""
    client.exec(sandbox, "rm -rf /workspace/* /tmp/out; mkdir /tmp/out")
    with contextlib.ExitStack() as stack:
        def begin(**query):
            w = Watch(server, client, sandbox, **query)
            stack.callback(w.close)
            assert w.reply.status == 200, w.reply.read()
            first = w.next()
            assert first["type"] == "ready" and first["directory"] and first["timestamp"] > 0
            return w
        yield begin


def test_what_happens_to_files(watch):
    w = watch()
    w.sh("echo one > /workspace/a; mkdir /workspace/d; echo two > /workspace/d/b")
    assert w.mark() == [("created", "/workspace/a"), ("created", "/workspace/d"), ("created", "/workspace/d/b")], "each once, whatever made it"
    w.sh("echo more >> /workspace/a; chmod 600 /workspace/d/b")
    assert w.mark() == [("modified", "/workspace/a"), ("attributes", "/workspace/d/b")]
    w.sh("mv /workspace/a /workspace/d/c")
    assert w.mark() == [("moved", "/workspace/d/c")] and w.seen[-2]["oldPath"] == "/workspace/a" and not w.seen[-2]["directory"]
    w.sh("rm /workspace/d/c; touch /workspace/short; rm /workspace/short")
    assert w.mark() == [("deleted", "/workspace/d/c")], "what came and went at once is not told"
    w.sh("echo x > /workspace/new; mv /workspace/new /workspace/d/b")
    assert w.mark() == [("created", "/workspace/new"), ("moved", "/workspace/d/b")]


def test_a_folder_keeps_its_watch_when_it_moves(watch):
    w = watch()
    w.sh("mkdir -p /workspace/a/b/c; touch /workspace/a/b/c/f")
    w.mark()
    w.sh("mv /workspace/a/b /workspace/z")
    assert w.mark() == [("moved", "/workspace/z")] and w.seen[-2] | {"timestamp": 0} == {"type": "moved", "path": "/workspace/z", "oldPath": "/workspace/a/b", "directory": True, "timestamp": 0}
    w.sh("echo 1 >> /workspace/z/c/f")
    assert w.mark() == [("modified", "/workspace/z/c/f")], "under its new path"
    w.sh("mv /workspace/z /tmp/out/z; echo 2 >> /tmp/out/z/c/f")
    assert w.mark() == [("deleted", "/workspace/z")], "it has left, and is not followed"
    w.sh("mv /tmp/out/z /workspace/back")
    told = w.mark()
    assert told[0] == ("created", "/workspace/back") and ("created", "/workspace/back/c/f") in told, told
    w.sh("echo 3 >> /workspace/back/c/f")
    assert w.mark() == [("modified", "/workspace/back/c/f")]


def test_folders_that_appear_while_they_are_filled(watch):
    w = watch()
    w.sh("cd /workspace && for i in $(seq 200); do mkdir -p t/$i/x && : > t/$i/x/f; done")
    told = set(w.mark())
    assert {("created", f"/workspace/t/{i}/x/f") for i in range(1, 201)} <= told
    w.sh("rm -rf /workspace/t")
    assert {("deleted", f"/workspace/t/{i}/x/f") for i in range(1, 201)} <= set(w.mark())


def test_ten_thousand_files_come_and_go(watch):
    w = watch()
    w.sh("mkdir /workspace/many && cd /workspace/many && seq 10000 | xargs touch")
    told = w.mark()
    assert ("overflow", "/workspace") in told or sum(kind == "created" for kind, _ in told) == 10001
    w.sh("rm -rf /workspace/many")
    told = w.mark()
    assert ("overflow", "/workspace") in told or sum(kind == "deleted" for kind, _ in told) == 10001
    w.sh("mkdir /workspace/after; touch /workspace/after/f")
    assert w.mark() == [("created", "/workspace/after"), ("created", "/workspace/after/f")], "it works on"


def test_a_slow_reader_is_told_what_it_has_lost(server, client, sandbox, watch):
    w = watch()
    for turn in range(4):  # more than the queue holds, before anything is read: names of 200 bytes
        w.sh(f"mkdir /workspace/{turn}; cd /workspace/{turn}; seq 10000 | sed 's/^/{'n' * 200}/' | xargs touch")
    w.until("overflow", "/workspace")
    w.sh("touch /workspace/last")
    assert w.until("created", "/workspace/last")


def test_only_what_is_asked_for(watch):
    w = watch(exclude="node_modules,*.pyc,d/only", recursive="true")
    flat = watch(recursive="false")
    w.sh("cd /workspace; mkdir -p node_modules/x d/node_modules d/only other/only; touch node_modules/x/f a.pyc b d/only/f other/only/f")
    names = {path for _, path in w.mark()}
    assert names == {f"/workspace/{n}" for n in ("d", "other", "other/only", "other/only/f", "b")}, names
    w.sh("mv /workspace/node_modules /workspace/shown")
    assert ("created", "/workspace/shown/x/f") in w.mark(), "it was not known before"
    w.sh("mv /workspace/shown /workspace/node_modules")
    assert w.mark() == [("deleted", "/workspace/shown")]
    assert not any(path.count("/") > 2 for _, path in flat.mark()), "of one folder alone"


def test_links_lead_nowhere(watch):
    w = watch()
    w.sh("mkdir /workspace/d; touch /workspace/d/f")
    w.mark()
    w.sh("rm -r /workspace/d; ln -s /tmp/out /workspace/d; touch /tmp/out/secret")
    told = w.mark()
    assert ("created", "/workspace/d") in told and not any("secret" in path for _, path in told)
    w.sh("mkdir /workspace/real; touch /workspace/real/f")
    assert ("created", "/workspace/real/f") in w.mark()


@pytest.mark.parametrize("removal", ["rm -rf /tmp/out/root", "mv /tmp/out/root /tmp/out/moved", "rm -rf /tmp/out"])
def test_gone_and_back(client, sandbox, watch, removal):
    client.exec(sandbox, "mkdir -p /tmp/out/root/d")
    w = watch(path="/tmp/out/root/")
    w.sh(removal)
    assert w.until("gone")["path"] == "/tmp/out/root"
    w.sh("mkdir -p /tmp/out/root/e")
    assert w.until("back")["path"] == "/tmp/out/root"
    w.sh("touch /tmp/out/root/e/f")
    assert w.until("created", "/tmp/out/root/e/f")


def test_what_cannot_be_watched(client, sandbox):
    at = f"/sandboxes/{sandbox}/files/watch"
    client.exec(sandbox, "touch /workspace/file")
    assert client.get(f"{at}?path=/none").status == 404
    reply = client.get(f"{at}?path=/workspace/file")
    assert reply.status == 404 and "/workspace/file: Not a directory" in reply.error, reply
    many = ",".join(f"p{i}" for i in range(65))
    assert "at most 64" in client.get(f"{at}?exclude={many}").error
    assert client.get(f"/sandboxes/{harness.UNKNOWN}/files/watch").status == 404


def test_a_limit_on_watches_and_nothing_stays(server, client, new_sandbox):
    sid = new_sandbox()["id"]
    open_watches = [Watch(server, client, sid) for _ in range(16)]
    for w in open_watches:
        w.next()
    reply = client.get(f"/sandboxes/{sid}/files/watch")
    assert reply.status == 429 and "16" in reply.error and sid in reply.error, reply
    helpers = "ls -d /proc/[0-9]*/ | while read p; do readlink $p/exe; done 2>/dev/null | grep -c iii-guest; true"
    before = int(client.exec(sid, helpers)["stdout"])
    for w in open_watches:
        w.close()

    def is_free():
        return int(client.exec(sid, helpers)["stdout"]) <= before - 16 if before >= 16 else True
    harness.wait_until(is_free, "the helper processes to end")
    again = Watch(server, client, sid)
    assert again.next()["type"] == "ready"
    client.ok("DELETE", f"/sandboxes/{sid}")
    last = again.until("error")
    assert last["error"] and not again.reply.readline().strip(), "the stream ends with its sandbox"
    again.close()


def test_over_a_websocket(server, client, sandbox):
    path = f"/sandbox/sandboxes/{sandbox}/files/watch?path=/workspace"
    with wsclient.WebSocket(server.port, path) as ws:
        assert json.loads(ws.recv())["type"] == "ready"
        client.exec(sandbox, "mkdir -p /workspace/by-socket")
        assert json.loads(ws.recv()) | {"timestamp": 0} == {"type": "created", "path": "/workspace/by-socket", "directory": True, "timestamp": 0}
        ws.send("anything is ignored")
        client.exec(sandbox, "rmdir /workspace/by-socket")
        assert json.loads(ws.recv())["type"] == "deleted"
    with pytest.raises(wsclient.Refused) as refused:
        wsclient.WebSocket(server.port, f"/sandbox/sandboxes/{sandbox}/files/watch?path=/none")
    assert refused.value.status == 404
    with wsclient.WebSocket(server.port, "/sandbox/stream/events?topic=watch.test") as ws:  # every stream can
        client.post("/events/publish", {"topic": "watch.test", "sandboxId": "any", "data": {"n": 1}})
        assert json.loads(ws.recv())["data"] == {"n": 1}


def test_over_a_channel(server, client, sandbox):
    with Worker(server.engine_port) as worker:
        made = worker.call("fs::watch", {"id": sandbox, "path": "/workspace"})
        with open_channel(server.engine_port, made["channel"]) as channel:
            assert json.loads(channel.recv())["type"] == "ready"
            client.exec(sandbox, "touch /workspace/by-channel")
            assert json.loads(channel.recv())["path"] == "/workspace/by-channel"
        bad = worker.call("fs::watch", {"id": sandbox, "path": "/none"})
        with open_channel(server.engine_port, bad["channel"]) as channel:
            assert "/none" in json.loads(channel.recv())["error"]


def test_on_the_command_line(server, client, sandbox):
    lines = []
    argv = [harness.BINARY, "file", "watch", sandbox, "/workspace"]
    with subprocess.Popen(argv, env=harness.clean_env({"III_SANDBOX_URL": f"http://127.0.0.1:{server.port}"}), stdout=subprocess.PIPE, text=True) as cli:
        lines.append(cli.stdout.readline())
        assert lines[0].split() == ["ready", "/workspace"], lines
        client.exec(sandbox, "mv -T $(mktemp -d /workspace/XXXX) /workspace/by-cli")
        while "by-cli" not in lines[-1]:
            lines.append(cli.stdout.readline())
        cli.terminate()
    assert lines[-1].split()[:2] in (["moved", "/workspace/by-cli"], ["created", "/workspace/by-cli"])
