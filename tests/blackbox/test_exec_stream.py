"""Commands whose output is streamed as server-sent events."""
import json
import socket

import pytest

import harness
import leak
from test_exec import processes_with


def stream(client, sid, body):
    return list(client.events("POST", f"/sandboxes/{sid}/exec/stream", body))


def text_of(events, kind):
    return "".join(e["data"] for e in events if e["type"] == kind)


def test_output_then_exit(box, client):
    events = stream(client, box, {"command": "echo one; echo two >&2; exit 3"})
    assert text_of(events, "stdout") == "one\n" and text_of(events, "stderr") == "two\n"
    assert events[-1]["type"] == "exit" and events[-1]["data"] == "3"
    for event in events:
        assert set(event) >= {"type", "data", "timestamp"} and isinstance(event["timestamp"], int)


def test_argv_and_cwd(box, client):
    events = stream(client, box, {"command": ["pwd"], "cwd": "/tmp"})
    assert text_of(events, "stdout") == "/tmp\n" and events[-1]["data"] == "0"


def test_variables_user_input_and_the_signal_at_the_end(box, client):
    events = stream(client, box, {"command": "echo $A; id -un; cat; kill -TERM $$", "env": {"A": "b"}, "user": "nobody", "stdin": "in\n"})
    assert text_of(events, "stdout") == "b\nnobody\nin\n"
    assert (events[-1]["data"], events[-1]["signal"], events[-1]["timedOut"]) == ("143", "TERM", False)


def test_events_come_while_the_command_runs(box, client):
    """The command goes on only when a file appears, which the reader makes after it has seen the first line."""
    other = harness.Client(client.port)
    client.exec(box, "rm -f /tmp/go")
    seen = []
    for event in client.events("POST", f"/sandboxes/{box}/exec/stream",
                               {"command": "echo first; until [ -e /tmp/go ]; do sleep 0.01; done; echo second", "timeout": 60}):
        seen.append(event)
        if event["data"] == "first\n":
            other.exec(box, "touch /tmp/go")
    other.close()
    assert text_of(seen, "stdout") == "first\nsecond\n" and seen[-1]["data"] == "0"


def test_timeout_ends_with_minus_one(box, client):
    events = stream(client, box, {"command": "echo begun; sleep 99911", "timeout": 1})
    assert text_of(events, "stdout") == "begun\n"
    assert (events[-1]["type"], events[-1]["data"], events[-1]["timedOut"]) == ("exit", "-1", True) and events[-1]["duration"] >= 1000
    harness.wait_until(lambda: not processes_with(client, box, "99911"), "the command to end")


def test_text_is_split_at_character_boundaries(box, client):
    line = "żółć🎉" * 40000
    events = stream(client, box, {"command": ["python3", "-c", "import sys; sys.stdout.write('żółć🎉' * 40000)"]})
    assert text_of(events, "stdout") == line
    assert not any("\ufffd" in e["data"] for e in events)


def test_large_output_is_whole(box, client):
    events = stream(client, box, {"command": "seq 300000"})
    assert text_of(events, "stdout") == "".join(f"{i}\n" for i in range(1, 300001))


def open_stream(server, sid, command):
    body = json.dumps({"command": command, "timeout": 120}).encode()
    sock = socket.create_connection(("127.0.0.1", server.port), timeout=harness.DEADLINE_S)
    sock.sendall(b"POST /sandbox/sandboxes/%s/exec/stream HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                 b"Content-Length: %d\r\n\r\n%s" % (sid.encode(), len(body), body))
    return sock


def resident_kb(pid):
    return next(int(line.split()[1]) for line in leak.read(f"/proc/{pid}/status").splitlines() if line.startswith("VmRSS"))


def test_a_client_that_leaves_ends_its_command(server, box, client):
    sock = open_stream(server, box, "while true; do echo tick-99912; sleep 0.01; done")
    assert b"200" in sock.recv(4096)
    harness.wait_until(lambda: processes_with(client, box, "99912"), "the command to be there")
    sock.close()
    harness.wait_until(lambda: not processes_with(client, box, "99912"), "the command to end with its client")


def test_a_slow_reader_does_not_make_the_daemon_buffer(server, box, client):
    before = resident_kb(server.pid)
    sock = open_stream(server, box, "yes 0123456789abcdef-99913")
    assert b"200" in sock.recv(4096)
    for _ in range(100):  # the server goes on while that stream stands
        assert client.exec(box, "true")["exitCode"] == 0
    held_back_kb = 256 * 1024 if harness.IS_SANITIZED else 0  # what AddressSanitizer keeps of freed memory
    assert resident_kb(server.pid) - before < 64 * 1024 + held_back_kb
    sock.close()
    harness.wait_until(lambda: not processes_with(client, box, "99913"), "the command to end with its client")


@pytest.mark.parametrize("body", [{}, {"command": ""}, {"command": [1]}])
def test_errors_before_the_stream_are_plain_json(box, client, body):
    reply = client.post(f"/sandboxes/{box}/exec/stream", body)
    assert reply.status == 400 and reply.error


def test_unknown_and_paused_sandboxes(new_sandbox, client):
    assert client.post(f"/sandboxes/{harness.UNKNOWN}/exec/stream", {"command": "true"}).status == 404
    sid = new_sandbox()["id"]
    client.ok("POST", f"/sandboxes/{sid}/pause")
    assert client.post(f"/sandboxes/{sid}/exec/stream", {"command": "true"}).status == 409


def test_deleting_the_sandbox_ends_the_stream(server, new_sandbox, client):
    sid = new_sandbox()["id"]
    sock = open_stream(server, sid, "echo up; sleep 99914")
    got = b""
    while b"up" not in got:
        got += sock.recv(4096)
    client.ok("DELETE", f"/sandboxes/{sid}")
    while not got.endswith(b"0\r\n\r\n"):  # the end of the chunks, whatever the last event says; or the end of the connection
        piece = sock.recv(4096)
        if not piece:
            break
        got += piece
    sock.close()
