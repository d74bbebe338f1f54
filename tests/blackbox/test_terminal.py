"""Interactive terminals: sessions, the two one-way channels, and the duplex WebSocket."""
import hashlib
import json
import os
import re
import socket

import pytest

import harness
import wsclient

CURSES = r"""
import curses, os, signal
resized = []
def main(screen):
    signal.signal(signal.SIGWINCH, lambda *_: resized.append(1))  # curses' own handler can lose one while it draws
    screen.timeout(20)
    height, width = screen.getmaxyx()
    screen.addstr(height // 2, 3, "size %dx%d" % (width, height), curses.A_BOLD)
    while True:
        if resized:
            resized.clear()
            width, height = os.get_terminal_size()
            curses.resizeterm(height, width)
            screen.clear()
            screen.addstr(0, 0, "now %dx%d" % (width, height), curses.A_REVERSE)
        screen.refresh()
        if screen.getch() == ord("q"):
            return
curses.wrapper(main)
print("left curses")
"""


def open_terminal(client, sid, **fields):
    return client.ok("POST", f"/sandboxes/{sid}/terminal", fields)


def ws_path(session):
    return f"/sandbox/sandboxes/{session['sandboxId']}/terminal/{session['sessionId']}/ws"


def channel_path(ref):
    return f"/ws/channels/{ref['channel_id']}?key={ref['access_key']}&dir={ref['direction']}"


@pytest.fixture
def attach(server):
    made = []

    def dial(path, port=None, **kw):
        made.append(wsclient.WebSocket(port or server.port, path, **kw))
        return made[-1]

    yield dial
    for one in made:
        one.cut()


@pytest.fixture
def session(client, box):
    made = open_terminal(client, box)
    yield made
    client.delete(f"/sandboxes/{box}/terminal/{made['sessionId']}")


def test_the_session_object(client, box, session):
    assert re.fullmatch("term_[0-9a-f]{24}", session["sessionId"]) and session["sandboxId"] == box and session["execId"]
    assert (session["cols"], session["rows"], session["shell"], session["status"]) == (80, 24, "/bin/sh", "running")
    assert session["backend"] == harness.BACKEND and session["createdAt"] > 0
    writer, reader = session["channel"]["writer"], session["channel"]["reader"]
    assert writer["direction"] == "write" and reader["direction"] == "read"
    assert writer["channel_id"] != reader["channel_id"] and writer["access_key"] != reader["access_key"]


def test_a_shell_over_the_duplex_socket(client, box, attach, session):
    ws = attach(ws_path(session))
    ws.send(b"tty; echo $((6*7)); echo TERM=$TERM; stty size\n")
    got = ws.until(b"24 80\r\n")
    assert b"/dev/pts/" in got and b"42\r\n" in got and b"TERM=xterm-256color\r\n" in got
    ws.send("echo typed as t''ext\n")
    ws.until(b"typed as text\r\n")


def test_the_exit_code_is_the_close_reason(client, box, attach):
    for command, reason in ((b"exit 7\n", "exit 7"), (b"kill -9 $$\n", "exit 137"), (b"exit\n", "exit 0")):
        session = open_terminal(client, box)
        ws = attach(ws_path(session))
        ws.send(command)
        end = ws.closed()
        assert (end.code, end.reason) == (1000, reason)
        gone = client.delete(f"/sandboxes/{box}/terminal/{session['sessionId']}")
        assert gone.status == 404 and "not found" in gone.error


def test_resize_by_route_and_by_frame(client, box, attach, session):
    ws = attach(ws_path(session))
    base = f"/sandboxes/{box}/terminal/{session['sessionId']}"
    ws.send(b"PS1='re''ady> '; trap 'echo winch; stty size' WINCH\n")
    ws.until(b"ready> ")
    assert client.ok("POST", base + "/resize", {"cols": 100, "rows": 30}) == {"cols": 100, "rows": 30}
    ws.send(b"\n")  # dash runs a trap when it next has something to do
    ws.until(b"ready> ", ws.until(b"winch\r\n30 100\r\n").rpartition(b"30 100")[2])  # before that the signal would go to stty
    ws.send(json.dumps({"type": "resize", "cols": 132, "rows": 43}))
    ws.send(b"\n")
    ws.until(b"43 132\r\n")
    ws.send(json.dumps({"type": "resize", "cols": 0, "rows": 43}))  # no size: not obeyed, and not typed either
    ws.send(b"stty size; echo e''nd\n")
    got = ws.until(b"end\r\n")
    assert b"43 132\r\n" in got and b"resize" not in got


def test_a_full_screen_program(client, box, attach):
    client.ok("POST", f"/sandboxes/{box}/files/write", {"path": "/workspace/full.py", "content": CURSES})
    session = open_terminal(client, box, cols=90, rows=20)
    ws = attach(ws_path(session))
    ws.send(b"python3 /workspace/full.py\n")
    got = ws.until(b"size 90x20")
    assert b"\x1b[" in got  # it moved the cursor and chose attributes
    client.ok("POST", f"/sandboxes/{box}/terminal/{session['sessionId']}/resize", {"cols": 40, "rows": 10})
    ws.until(b"now 40x10")
    ws.send(b"q")
    ws.until(b"left curses")
    client.ok("DELETE", f"/sandboxes/{box}/terminal/{session['sessionId']}")


def test_keys_are_signals(client, box, attach, session):
    ws = attach(ws_path(session))
    ws.send(b"sleep 1000; echo code $?\n")
    harness.wait_until(lambda: "sleep 1000" in client.exec(box, "ps -eo args 2>/dev/null || cat /proc/[0-9]*/cmdline | tr '\\0' ' '")["stdout"], "the sleep")
    ws.send(b"\x03")
    ws.send(b"echo code $?\n")
    ws.until(b"code 130")


def test_the_last_output_is_shown_again(client, box, attach, session):
    ws = attach(ws_path(session))
    ws.send(b"echo first''mark; seq 1 30000; echo last''mark\n")
    ws.until(b"lastmark\r\n")
    ws.close()
    ws = attach(ws_path(session))
    shown = ws.recv()
    assert len(shown) == 65536 and b"lastmark" in shown and b"firstmark" not in shown and b"\r\n29999\r\n" in shown
    other = attach(ws_path(session))
    assert b"lastmark" in other.recv()
    ws.send(b"echo seen by b''oth\n")
    ws.until(b"seen by both\r\n")
    other.until(b"seen by both\r\n")


def test_output_goes_on_without_viewers(client, box, attach, session):
    ws = attach(ws_path(session))
    ws.send(b"seq 1 300000 >/dev/tty; touch /tmp/finished; echo fini''shed\n")
    ws.cut()
    harness.wait_until(lambda: client.exec(box, "test -e /tmp/finished && echo yes || true")["stdout"], "the command to end with nobody looking")
    ws = attach(ws_path(session))
    ws.until(b"finished\r\n")


def test_a_slow_viewer_holds_the_program_back(server, client, box, attach, session):
    if harness.IS_SANITIZED:
        pytest.skip("resident memory says nothing under a sanitizer")
    with open(f"/proc/{server.pid}/status", encoding="ascii") as status:
        before = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
    ws = attach(ws_path(session))
    ws.send(b"head -c 100000000 /dev/zero | tr '\\0' x; echo do''ne\n")
    ws.recv()
    for _ in range(20):
        client.exec(box, "true")
    with open(f"/proc/{server.pid}/status", encoding="ascii") as status:
        after = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
    assert after - before < 16 * 1024


def test_input_that_nobody_reads_yet_arrives_whole(attach, session):
    ws, block = attach(ws_path(session)), os.urandom(65536)
    ws.send(b"stty raw -echo; echo re''ady; sleep 1; head -c 2097152 | sha256sum\n")
    ws.until(b"ready")
    for _ in range(32):
        ws.send(block)
    ws.until(hashlib.sha256(block * 32).hexdigest().encode())


def test_the_two_channels(server, client, box, attach, session):
    reader = attach(channel_path(session["channel"]["reader"]), port=server.engine_port)
    writer = attach(channel_path(session["channel"]["writer"]), port=server.engine_port)
    writer.send(b"echo over ch''annels; stty size\n")
    reader.until(b"over channels\r\n24 80\r\n")
    writer.send(b"exit 3\n")
    end = reader.closed()
    assert (end.code, end.reason) == (1000, "exit 3")
    assert writer.closed().code == 1000
    assert client.delete(f"/sandboxes/{box}/terminal/{session['sessionId']}").status == 404


def test_channels_are_served_on_the_rest_port_too(server, attach, session):
    reader = attach(channel_path(session["channel"]["reader"]))
    writer = attach(channel_path(session["channel"]["writer"]))
    writer.send(b"echo he''re\n")
    reader.until(b"here\r\n")


def test_channels_need_the_right_id_key_and_direction(server, attach, session):
    ref = session["channel"]["reader"]
    good = channel_path(ref)
    wrong_key = good.replace(ref["access_key"], "0" * 36)
    for path, status in ((good.replace(ref["channel_id"], "0" * 36), 404), (wrong_key, 404), (good.replace("dir=read", "dir=write"), 404),
                         (good.replace("dir=read", "dir=both"), 400), (f"/ws/channels/{ref['channel_id']}", 400),
                         (good.replace(ref["access_key"], ref["access_key"][:-1]), 404), ("/elsewhere", 404)):
        with pytest.raises(wsclient.Refused) as why:
            attach(path, port=server.engine_port)
        assert why.value.status == status, path
    first = attach(good)
    second = attach(good)  # each end is claimed once: the upgrade is completed and closed at once
    assert second.closed().code == 1008
    first.cut()


def test_a_reader_that_leaves_does_not_end_the_shell(client, box, attach, session):
    reader = attach(channel_path(session["channel"]["reader"]))
    writer = attach(channel_path(session["channel"]["writer"]))
    reader.close()
    writer.send(b"echo still''here\n")
    ws = attach(ws_path(session))
    ws.until(b"stillhere\r\n")


def test_delete_ends_the_shell(client, box, attach):
    session = open_terminal(client, box)
    ws = attach(ws_path(session))
    ws.send(b"echo p''id $$ 'e'nd; sleep 5000\n")
    pid = int(re.search(rb"pid (\d+) end", ws.until(b" end\r\n"))[1])
    assert client.ok("DELETE", f"/sandboxes/{box}/terminal/{session['sessionId']}") == {"closed": session["sessionId"]}
    end = ws.closed()
    assert (end.code, end.reason) == (1000, "closed")
    harness.wait_until(lambda: client.exec(box, f"test -d /proc/{pid} && echo yes || true")["stdout"] == "", "the shell to end")
    with pytest.raises(wsclient.Refused) as why:
        attach(ws_path(session))
    assert why.value.status == 404


def test_kill_closes_the_sockets(client, new_sandbox, attach):
    sid = new_sandbox()["id"]
    ws = attach(ws_path(open_terminal(client, sid)))
    client.ok("DELETE", f"/sandboxes/{sid}")
    assert ws.closed().code == 1001


def test_sixteen_sessions(client, new_sandbox):
    sid = new_sandbox()["id"]
    sessions = [open_terminal(client, sid)["sessionId"] for _ in range(16)]
    assert len(set(sessions)) == 16
    full = client.post(f"/sandboxes/{sid}/terminal", {})
    assert full.status == 429 and "16 terminals" in full.error
    client.ok("DELETE", f"/sandboxes/{sid}/terminal/{sessions[0]}")
    open_terminal(client, sid)


def test_bad_requests(client, box, session, new_sandbox):
    base = f"/sandboxes/{box}/terminal"
    for shell in ("/bin/cat", "sh", "/bin/../bin/sh", "/usr/bin/python3"):
        refused = client.post(base, {"shell": shell})
        assert refused.status == 403 and "not allowed" in refused.error
    for body, says in (({"cols": 0}, "cols: 0 is not between 1 and 1000"), ({"rows": 1001}, "rows: 1001 is not between 1 and 1000"),
                       ({"cols": "wide"}, "cols: must be a whole number"), ({"shell": ""}, "shell: must not be empty")):
        refused = client.post(base, body)
        assert (refused.status, refused.error) == (400, says)
    lacking = [shell for shell in ("/bin/zsh", "/bin/ash") if client.exec(box, f"test -e {shell}")["exitCode"] == 1]
    absent = client.post(base, {"shell": lacking[0]})
    assert absent.status == 404 and f"{lacking[0]}: No such file or directory" in absent.error
    for body, says in (({}, "cols is required"), ({"cols": 10}, "rows is required"), ({"rows": 10}, "cols is required"),
                       ({"cols": 0, "rows": 1}, "cols: 0 is not between 1 and 1000")):
        refused = client.post(f"{base}/{session['sessionId']}/resize", body)
        assert (refused.status, refused.error) == (400, says)
    unknown = "term_" + "0" * 24
    assert client.post(f"{base}/{unknown}/resize", {"cols": 1, "rows": 1}).status == 404
    assert client.delete(f"{base}/{unknown}").status == 404
    other = new_sandbox()["id"]
    assert client.delete(f"/sandboxes/{other}/terminal/{session['sessionId']}").status == 404
    assert client.post(f"/sandboxes/{harness.UNKNOWN}/terminal", {}).status == 404
    assert client.get(f"{base}/{session['sessionId']}/ws").status == 426
    client.ok("POST", f"/sandboxes/{other}/pause")
    assert client.post(f"/sandboxes/{other}/terminal", {}).status == 409


def test_viewers_have_a_limit(attach, session):
    held = [attach(ws_path(session)) for _ in range(8)]
    with pytest.raises(wsclient.Refused) as why:
        attach(ws_path(session))
    assert why.value.status == 429
    assert len(held) == 8


def test_a_message_has_a_limit(attach, session):
    ws = attach(ws_path(session))
    ws.send(b"cat >/dev/null\n")
    ws.send(b"y" * 65535 + b"\n")
    ws.send_head(wsclient.BINARY, 65537)  # without the bytes: a server that closes with some unread resets the connection, and 1009 may be lost
    assert ws.closed().code == 1009
    assert attach(ws_path(session)).recv()


def test_the_socket_needs_the_token():
    with harness.Server(env={"III_AUTH_TOKEN": "s3cret"}, token="s3cret") as server:
        client = server.client()
        session = open_terminal(client, client.create()["id"])
        for path, headers, status in ((ws_path(session), {}, 401), (ws_path(session) + "?token=wrong", {}, 403),
                                      (ws_path(session), {"Authorization": "Bearer wrong"}, 403)):
            with pytest.raises(wsclient.Refused) as why:
                wsclient.WebSocket(server.port, path, headers=headers)
            assert why.value.status == status
        for path, headers in ((ws_path(session) + "?token=s3cret", {}), (ws_path(session), {"Authorization": "Bearer s3cret"})):
            with wsclient.WebSocket(server.port, path, headers=headers) as ws:
                ws.send(b"echo w''ell\n")
                ws.until(b"well\r\n")


def test_a_crash_ends_the_shell_and_leaves_no_session():
    server = harness.Server()
    try:
        client = server.start().client()
        sid = client.create()["id"]
        session = open_terminal(client, sid)
        with wsclient.WebSocket(server.port, ws_path(session)) as ws:
            ws.send(b"sleep 4321 & echo st''arted\n")
            ws.until(b"started\r\n")
            client.close()
            server.kill()
        client = server.start().client()
        listing = "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"
        harness.wait_until(lambda: "/bin/sh" not in client.exec(sid, listing)["stdout"].replace("sh -c", ""), "the shell to end")
        assert client.delete(f"/sandboxes/{sid}/terminal/{session['sessionId']}").status == 404
        server.stop()
    finally:
        server.remove()


def test_a_stopping_server_says_goodbye():
    server = harness.Server()
    try:
        client = server.start().client()
        session = open_terminal(client, client.create()["id"])
        ws = wsclient.WebSocket(server.port, ws_path(session))
        client.close()
        server.stop()
        assert ws.closed().code == 1001
        ws.cut()
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.1", server.engine_port), timeout=1)
    finally:
        server.remove()
