"""Durable commands: an id of their own, output by byte offset, followed live, fed and signalled, over dropped connections and
restarts of the server."""
import base64
import http.client
import json
import re

import harness
import leak
from test_exec import processes_with

SERVER_ENV = {"III_MAX_BACKGROUND": "12"}


def start(client, sid, command, **fields):
    return client.ok("POST", f"/sandboxes/{sid}/exec/start", {"command": command, **fields})


def state(client, record):
    return client.ok("GET", f"/exec/{record['id']}")


def ended(client, record):
    return harness.wait_until(lambda: (lambda s: None if s["running"] else s)(state(client, record)), "the command to end")


def output(client, record, query=""):
    return client.ok("GET", f"/exec/{record['id']}/output{query}")


def give(client, record, **fields):
    return client.ok("POST", f"/exec/{record['id']}/input", fields)


def follow(client, record, query="?follow=true", headers=None):
    """Yields (id line, event) of the stream."""
    answer = client.open("GET", f"/exec/{record['id']}/output{query}", headers=headers)
    assert answer.status == 200 and answer.getheader("Content-Type").startswith("text/event-stream"), answer.read()
    seen = None
    try:
        for line in answer:
            if line.startswith(b"id: "):
                seen = line[4:].strip().decode()
            elif line.startswith(b"data: "):
                yield seen, json.loads(line[6:])
    finally:
        client.close()


def test_user_variables_and_folder_of_both_kinds(sandbox, client):
    fields = {"command": "id -un; echo $A; pwd; kill -KILL $$", "user": "nobody", "env": {"A": "b"}, "cwd": "/tmp"}
    for path in ("exec/start", "exec/background"):
        record = client.ok("POST", f"/sandboxes/{sandbox}/{path}", fields)
        done = ended(client, record)
        assert output(client, record)["output"] == "nobody\nb\n/tmp\n" and (done["exitCode"], done["signal"]) == (137, "KILL")
        reply = client.post(f"/sandboxes/{sandbox}/{path}", {**fields, "user": "a b"})
        assert reply.status == 400 and reply.error.startswith('user: "a b" is not a name')


def test_start_state_and_output(sandbox, client):
    record = start(client, sandbox, "echo out; echo err >&2; echo $A; pwd; exit 7", env={"A": "b c"}, cwd="/tmp")
    assert re.fullmatch(r"exec_[0-9a-f]{24}", record["id"])
    assert record["running"] is True and record["sandboxId"] == sandbox and record["stdin"] is False and record["pid"] > 1
    done = ended(client, record)
    assert done["exitCode"] == 7 and done["finishedAt"] >= done["startedAt"] and done["truncated"] is False
    assert done["oomKilled"] is False and done["timedOut"] is False and done["maxRssKb"] > 0
    assert done["userMs"] >= 0 and done["systemMs"] >= 0
    whole = output(client, record)
    assert whole["running"] is False and whole["encoding"] == "utf8"
    assert sorted(whole["output"].splitlines()) == ["/tmp", "b c", "err", "out"]
    assert whole["offset"] == len(whole["output"]) == done["logBytes"]
    rest = output(client, record, f"?offset={whole['offset'] - 5}")
    assert rest["output"] == whole["output"][-5:] and rest["offset"] == whole["offset"]
    assert output(client, record, "?offset=99999")["output"] == ""


def test_a_chosen_id(sandbox, client):
    record = start(client, sandbox, ["echo", "a  b"], execId="build-1.x")
    assert record["id"] == "build-1.x"
    ended(client, record)
    assert output(client, record)["output"] == "a  b\n"
    reply = client.post(f"/sandboxes/{sandbox}/exec/start", {"command": "true", "execId": "build-1.x"})
    assert reply.status == 409 and "build-1.x" in reply.error
    for bad in ("", ".x", "a/b", "x" * 64, "main", "background", "a b"):
        assert client.post(f"/sandboxes/{sandbox}/exec/start", {"command": "true", "execId": bad}).status == 400, bad


def test_background_commands_are_the_same_thing(sandbox, client):
    job = client.ok("POST", f"/sandboxes/{sandbox}/exec/background", {"command": "echo x"})
    assert ended(client, job)["exitCode"] == 0
    assert output(client, job)["output"] == "x\n"
    record = start(client, sandbox, "echo y")
    ended(client, record)
    assert client.ok("GET", f"/exec/background/{record['id']}/logs") == {"output": "y\n", "cursor": 2}


def test_they_are_listed(new_sandbox, client):
    sid = new_sandbox()["id"]
    records = [start(client, sid, "true"), start(client, sid, "sleep 99946")]
    ended(client, records[0])
    listed = client.ok("GET", f"/sandboxes/{sid}/exec/list")["execs"]
    assert [(e["id"], e["running"]) for e in listed] == [(records[0]["id"], False), (records[1]["id"], True)]
    assert client.get(f"/sandboxes/{harness.UNKNOWN}/exec/list").status == 404


def test_input_and_its_end(sandbox, client):
    record = start(client, sandbox, "cat; echo end", stdin=True)
    assert give(client, record, data="one\n") == {"written": 4, "closed": False}
    harness.wait_until(lambda: output(client, record)["output"] == "one\n", "the echo")
    raw = bytes(range(256))
    assert give(client, record, data=base64.b64encode(raw).decode(), encoding="base64")["written"] == 256
    assert give(client, record, data="zażółć\0\n") == {"written": 12, "closed": False}
    assert state(client, record)["running"] is True
    assert give(client, record, close=True) == {"written": 0, "closed": True}
    assert ended(client, record)["exitCode"] == 0
    got = base64.b64decode(output(client, record, "?encoding=base64")["output"])
    assert got == b"one\n" + raw + "zażółć\0\nend\n".encode()
    reply = client.post(f"/exec/{record['id']}/input", {"data": "x"})
    assert reply.status == 409 and "ended" in reply.error


def test_input_needs_stdin(sandbox, client):
    record = start(client, sandbox, "sleep 99941")
    reply = client.post(f"/exec/{record['id']}/input", {"data": "x"})
    assert reply.status == 409 and "stdin" in reply.error
    assert client.post(f"/exec/{record['id']}/input", {"data": "%%", "encoding": "base64"}).status == 400
    assert client.post(f"/exec/{record['id']}/input", {"data": "x" * (1024 * 1024 + 1)}).status == 413
    client.ok("POST", f"/exec/{record['id']}/signal", {"signal": "KILL"})
    assert ended(client, record)["exitCode"] == 137


def test_a_large_input(sandbox, client):
    record = start(client, sandbox, "wc -c", stdin=True)
    for _ in range(3):
        give(client, record, data="x" * (1024 * 1024))
    give(client, record, close=True)
    ended(client, record)
    assert output(client, record)["output"].strip() == str(3 * 1024 * 1024)


def test_a_write_nobody_reads_ends_with_its_client(server, sandbox, client):
    record = start(client, sandbox, "sleep 99947", stdin=True)
    conn = http.client.HTTPConnection("127.0.0.1", server.port)
    conn.request("POST", f"{harness.PREFIX}/exec/{record['id']}/input", json.dumps({"data": "x" * 1000000}), {"Content-Type": "application/json"})
    assert state(client, record)["running"] is True
    conn.close()
    client.ok("POST", f"/exec/{record['id']}/signal", {"signal": "KILL"})
    assert ended(client, record)["exitCode"] == 137


def test_signals(sandbox, client):
    record = start(client, sandbox, "trap 'echo usr1' USR1; trap 'echo term; exit 5' TERM; echo ready; while :; do sleep 0.02; done")
    harness.wait_until(lambda: "ready" in output(client, record)["output"], "the traps")
    assert client.ok("POST", f"/exec/{record['id']}/signal", {"signal": "USR1"}) == {"signalled": record["id"], "signal": "USR1"}
    harness.wait_until(lambda: "usr1" in output(client, record)["output"], "the first trap")
    client.ok("POST", f"/exec/{record['id']}/signal")
    assert ended(client, record)["exitCode"] == 5
    assert client.post(f"/exec/{record['id']}/signal").status == 409
    assert client.post(f"/exec/{record['id']}/signal", {"signal": "NOPE"}).status == 400


def test_timeout_and_memory(new_sandbox, client):
    sid = new_sandbox(memory=64)["id"]
    late = start(client, sid, "sleep 99942", timeout=1)
    greedy = start(client, sid, ["python3", "-c", "x = bytearray(300 * 1024 * 1024); print(len(x))"])
    done = ended(client, greedy)
    if harness.IS_ROOT:  # only then is the memory limit ours to set for sure
        assert done["exitCode"] == 137 and done["oomKilled"] is True
    done = ended(client, late)
    assert done["timedOut"] is True and done["exitCode"] == 137 and done["oomKilled"] is False
    assert not processes_with(client, sid, "99942")


def test_following_sees_everything_once(sandbox, client):
    client.exec(sandbox, "rm -f /tmp/go")
    record = start(client, sandbox, "printf 'za\\305'; sleep 0.1; printf '\\274\\n'; until [ -e /tmp/go ]; do sleep 0.01; done; seq 100000; exit 3")
    stream = follow(client, record)
    seen, offset, last = "", 0, None
    for event_id, event in stream:
        if event["type"] == "exit":
            last = event
            break
        assert event["type"] == "output" and event["offset"] > offset and event_id == str(event["offset"])
        assert event["offset"] - offset == len(event["data"].encode())  # letters are never cut
        seen, offset = seen + event["data"], event["offset"]
        if seen == "zaż\n":
            with harness.Client(client.port) as other:
                other.exec(sandbox, "touch /tmp/go")
    assert last["data"] == "3" and last["offset"] == offset
    assert seen == "zaż\n" + "".join(f"{i}\n" for i in range(1, 100001))


def test_reattach_after_a_dropped_connection(server, sandbox, client):
    client.exec(sandbox, "rm -f /tmp/more")
    record = start(client, sandbox, "echo first; until [ -e /tmp/more ]; do sleep 0.01; done; echo second")
    with harness.Client(server.port) as other:
        event_id, event = next(follow(other, record))
        assert event["data"] == "first\n"
    client.exec(sandbox, "touch /tmp/more")
    events = [e for _, e in follow(client, record, "", {"Accept": "text/event-stream", "Last-Event-ID": event_id})]
    assert [(e["type"], e["data"]) for e in events] == [("output", "second\n"), ("exit", "0")]
    events = [e for _, e in follow(client, record, "?follow=1&offset=6&encoding=base64")]
    assert base64.b64decode(events[0]["data"]) == b"second\n"


def test_following_ends_with_its_sandbox(new_sandbox, client, server):
    sid = new_sandbox()["id"]
    record = start(client, sid, "echo up; sleep 99943")
    stream = follow(client, record)
    assert next(stream)[1]["data"] == "up\n"
    with harness.Client(server.port) as other:
        other.ok("DELETE", f"/sandboxes/{sid}")
    assert [e["type"] for _, e in stream] == ["error"]
    assert client.get(f"/exec/{record['id']}").status == 404


def test_the_ring_keeps_the_newest(new_sandbox, client):
    sid = new_sandbox()["id"]
    record = start(client, sid, "head -c 70000000 /dev/zero | tr '\\0' x; echo; echo tail")
    done = ended(client, record)
    assert done["truncated"] is True and done["logBytes"] == 70000006
    reply = client.get(f"/exec/{record['id']}/output")
    assert reply.status == 410 and "gone" in reply.error
    reply = client.get(f"/exec/{record['id']}/output?follow=true")
    assert reply.status == 410
    assert output(client, record, "?offset=70000001")["output"] == "tail\n"


def test_the_limit(new_sandbox, client):
    sid = new_sandbox()["id"]
    over = start(client, sid, "true")
    ended(client, over)
    records = [start(client, sid, "sleep 99944") for _ in range(12)]  # the last one takes the place of the one that has ended
    assert client.get(f"/exec/{over['id']}").status == 404
    reply = client.post(f"/sandboxes/{sid}/exec/start", {"command": "true"})
    assert reply.status == 503 and "III_MAX_BACKGROUND" in reply.error
    client.ok("POST", f"/exec/{records[3]['id']}/signal", {"signal": "KILL"})
    ended(client, records[3])
    ended(client, start(client, sid, "true"))


def test_bad_requests(sandbox, client):
    for body in ({}, {"command": ""}, {"command": "x", "cwd": "relative"}, {"command": "x", "env": {"A=B": "c"}}, {"command": "x", "timeout": 0}):
        assert client.post(f"/sandboxes/{sandbox}/exec/start", body).status == 400, body
    assert client.post(f"/sandboxes/{sandbox}/exec/start", {"command": ["/no/such/program"]}).status == 400
    assert client.post(f"/sandboxes/{harness.UNKNOWN}/exec/start", {"command": "true"}).status == 404
    for method, what in (("GET", ""), ("GET", "/output"), ("GET", "/output?follow=true"), ("POST", "/input"), ("POST", "/signal")):
        reply = client.call(method, f"/exec/nobody{what}")
        assert reply.status == 404 and "not found" in reply.error, what


def test_a_paused_sandbox(sandbox, client):
    record = start(client, sandbox, "echo x; sleep 99945")
    harness.wait_until(lambda: output(client, record)["output"], "the output")
    client.ok("POST", f"/sandboxes/{sandbox}/pause")
    assert state(client, record)["running"] is True
    assert client.get(f"/exec/{record['id']}/output").status == 409
    client.ok("POST", f"/sandboxes/{sandbox}/resume")
    assert output(client, record)["output"] == "x\n"


def test_it_outlives_the_server():
    with leak.watched(harness.Server()) as server:
        with harness.Client(server.port) as caller:
            sid = caller.create()["id"]
            fed = start(caller, sid, "read a; echo got $a; read b; echo got $b; exit 4", stdin=True, execId="fed")
            quick = start(caller, sid, "until [ -e /workspace/go ]; do sleep 0.01; done; echo unseen; exit 6")
            give(caller, fed, data="one\n")
            harness.wait_until(lambda: output(caller, fed)["output"] == "got one\n", "the first answer")
            caller.exec(sid, "(sleep 0.3; touch /workspace/go) >/dev/null 2>&1 &")
        server.held.look(server.pid)
        server.kill()
        server.start()
        with harness.Client(server.port) as caller:
            assert state(caller, fed)["running"] is True and state(caller, fed)["pid"] == fed["pid"]
            assert give(caller, fed, data="two\n", close=True) == {"written": 4, "closed": True}
            done = ended(caller, fed)
            assert done["exitCode"] == 4 and output(caller, fed)["output"] == "got one\ngot two\n"
            assert ended(caller, quick)["exitCode"] == 6 and output(caller, quick)["output"] == "unseen\n"
