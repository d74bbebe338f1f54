"""Commands on a WebSocket: both streams apart, input of any length, terminals, exit codes, and who ends what."""
import hashlib
import json
import os
import threading

import pytest

import harness
import wsclient

TOKEN = "root-secret"
SERVER_ENV = {"III_AUTH_TOKEN": TOKEN}


@pytest.fixture
def dial(server, sandbox):
    made = []

    def connect(box=sandbox, token=TOKEN, **plan):
        ws = wsclient.WebSocket(server.port, f"/sandbox/sandboxes/{box}/exec/attach", {"Authorization": f"Bearer {token}"})
        made.append(ws)
        if plan:
            ws.send(json.dumps(plan))
        return ws

    yield connect
    for ws in made:
        ws.cut()


def finish(ws):
    """Everything until the close → (stdout, stderr, last message)."""
    out, last = {1: b"", 2: b""}, None
    try:
        while True:
            kind, got = ws.frame()
            if kind == wsclient.BINARY:
                out[got[0]] += got[1:]
            else:
                last = json.loads(got)
    except wsclient.Closed:
        return out[1], out[2], last


def test_output_streams_and_exit_code(dial):
    out, err, last = finish(dial(command="echo out; echo err >&2; exit 7"))
    assert (out, err) == (b"out\n", b"err\n") and last["type"] == "exit" and last["code"] == 7 and not last["timedOut"]
    out, _, last = finish(dial(command=["printf", "%s|", "a b", "$HOME"]))
    assert out == b"a b|$HOME|" and last["code"] == 0
    assert finish(dial(command="kill -9 $$"))[2]["signal"] == "KILL"


def test_an_unknown_field_is_named(dial):
    assert json.loads(dial(command="true", timout=3).recv())["warnings"] == ['timout: unknown field; did you mean "timeout"?']
    assert "warnings" not in json.loads(dial(command="true").recv())


def test_env_folder_and_user(dial):
    out, _, _ = finish(dial(command="echo $A; pwd; id -u", env={"A": "b c"}, cwd="/tmp", user="1000"))
    assert out == b"b c\n/tmp\n1000\n"
    for plan, word in (({"env": {"A=B": "x"}}, "env"), ({"cwd": "relative"}, "cwd"), ({"user": "no-such-user"}, "no-such-user"), ({"user": "x" * 129}, "user"), ({"user": "a b"}, "user"),
                       ({"timeout": -1}, "timeout"), ({"tty": True, "cols": 100000}, "cols"), ({"command": []}, "command")):
        _, _, last = finish(dial(**{"command": "true", **plan}))
        assert last["type"] == "error" and last["status"] in (400, 404) and word in last["error"], (plan, last)


def test_a_program_that_is_not_there(dial):
    assert finish(dial(command=["no-such-program"]))[2]["exitCode"] == 127
    assert finish(dial(command=["/etc/passwd"]))[2]["exitCode"] == 126


def test_input_of_any_length(dial):
    data = os.urandom(3_000_000)
    ws = dial(command="sha256sum; echo err >&2", stdin=True)

    def feed():
        for at in range(0, len(data), 60_000):
            ws.send(data[at:at + 60_000])
        ws.send(json.dumps({"type": "eof"}))
    feeder = threading.Thread(target=feed)
    feeder.start()
    out, err, last = finish(ws)
    feeder.join()
    assert out.split()[0].decode() == hashlib.sha256(data).hexdigest() and err == b"err\n" and last["code"] == 0
    assert finish(dial(command="cat"))[2]["code"] == 0, "without stdin there is an end of file at once"


def test_output_of_any_length(dial):
    out, _, _ = finish(dial(command="head -c 5000000 /dev/zero"))
    assert len(out) == 5_000_000


def test_a_terminal(dial):
    ws = dial(command=["sh", "-c", "test -t 0 && stty size; read line; stty size; echo got $line; exit 3"], tty=True, cols=132, rows=43)
    seen = b""
    while b"43 132" not in seen:
        kind, got = ws.frame()
        seen += got[1:] if kind == wsclient.BINARY else b""
    ws.send(json.dumps({"type": "resize", "cols": 50, "rows": 20}))
    ws.send(b"typed\n")
    out, _, last = finish(ws)
    assert b"20 50" in out and b"got typed" in out and last["code"] == 3


def test_without_a_command_the_image_s_own_or_a_shell(dial):
    ws = dial(stdin=True)
    ws.send(b"echo in $0; exit 4\n")
    ws.send(json.dumps({"type": "eof"}))
    out, _, last = finish(ws)
    assert out.startswith(b"in ") and out.endswith(b"sh\n") and last["code"] == 4
    ws = dial(stdin=True, imageCommand=True)
    ws.send(b"print(6 * 7)\n")
    ws.send(json.dumps({"type": "eof"}))
    assert finish(ws)[0] == b"42\n"


def test_signals_and_timeouts(dial):
    ws = dial(command="trap 'echo int; exit 5' INT; echo up; while :; do sleep 0.05; done")
    while ws.recv() != b"\x01up\n":
        pass
    ws.send(json.dumps({"type": "signal", "signal": "INT"}))
    out, _, last = finish(ws)
    assert out == b"int\n" and last["code"] == 5
    out, _, last = finish(dial(command="echo part; sleep 1000", timeout=0.3))
    assert out == b"part\n" and last["timedOut"] is True


def is_running(client, sid, mark):
    return any(mark in p["command"] for p in client.ok("GET", f"/sandboxes/{sid}/processes")["processes"])


def test_a_client_that_leaves_ends_its_command(client, dial, sandbox):
    ws = dial(command="echo up; exec sleep 86753")
    while ws.recv() != b"\x01up\n":
        pass
    harness.wait_until(lambda: is_running(client, sandbox, "86753"), "the command")
    ws.cut()
    harness.wait_until(lambda: not is_running(client, sandbox, "86753"), "the command without a client")


def test_a_sandbox_that_goes_ends_its_commands(client, dial, new_sandbox):
    sid = new_sandbox()["id"]
    ws = dial(sid, command="echo up; sleep 1000")
    while ws.recv() != b"\x01up\n":
        pass
    client.ok("DELETE", f"/sandboxes/{sid}")
    assert finish(ws)[2]["type"] == "error"


def test_a_token_that_is_revoked_ends_its_commands(client, dial, sandbox):
    made = client.ok("POST", "/tokens", {"name": "attach", "role": "admin"})
    ws = dial(token=made["secret"], command="echo up; exec sleep 86754")
    while ws.recv() != b"\x01up\n":
        pass
    client.ok("DELETE", f"/tokens/{made['id']}")
    with pytest.raises(wsclient.Closed) as why:
        while True:
            ws.recv()
    assert why.value.code == 1008
    harness.wait_until(lambda: not is_running(client, sandbox, "86754"), "the command of the token")


def test_who_may_not(server, client, dial, sandbox):
    reader = client.ok("POST", "/tokens", {"name": "reader", "role": "read-only", "tenant": "*"})
    other = client.ok("POST", "/tokens", {"name": "other", "tenant": "other"})
    for token, box, status in (("wrong", sandbox, 403), (reader["secret"], sandbox, 403), (other["secret"], sandbox, 404), (TOKEN, harness.UNKNOWN, 404)):
        with pytest.raises(wsclient.Refused) as why:
            dial(box, token=token, command="true")
        assert why.value.status == status
    assert client.get(f"/sandboxes/{sandbox}/exec/attach").status in (400, 426)
    client.ok("POST", f"/sandboxes/{sandbox}/pause")
    with pytest.raises(wsclient.Refused) as why:
        dial(command="true")
    assert why.value.status == 409
    client.ok("POST", f"/sandboxes/{sandbox}/resume")


def test_what_is_no_plan(dial):
    for first in ("nonsense", "[]", "null", b"\x00\x01", '{"command": 1}', "{" * 100):
        ws = dial()
        ws.send(first)
        assert finish(ws)[2]["type"] == "error"


def test_the_limit_of_a_sandbox(dial):
    held = [dial() for _ in range(64)]
    with pytest.raises(wsclient.Refused) as why:
        dial()
    assert why.value.status == 429
    held[0].cut()

    def again():
        try:
            dial()
        except wsclient.Refused:
            return False
        return True
    harness.wait_until(again, "room for one more")
