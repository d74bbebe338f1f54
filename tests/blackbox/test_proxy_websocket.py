"""WebSocket and other upgrades through the raw proxy."""
import os
import socket

import pytest

import harness
import inside
import wsclient

SERVER_ENV = {"III_PORT_CONNECTIONS": "4"}
PORT = 9000


@pytest.fixture(scope="module")
def web(server, box):
    client = server.client()
    inside.start(client, box, inside.WS_ECHO, PORT)
    inside.expose(client, box, PORT)
    client.close()
    return box


@pytest.fixture
def dial(server, web):
    made = []

    def connect(path="/", **kw):
        made.append(wsclient.WebSocket(server.port, f"/sandbox/proxy/{web}/{PORT}{path}", **kw))
        return made[-1]

    yield connect
    for one in made:
        one.cut()


def test_frames_go_both_ways(dial):
    ws = dial("/chat?room=1")
    assert ws.recv() == f"/chat?room=1 localhost:{PORT}".encode()  # what the server inside saw; sent along with its 101
    ws.send("text żółć")
    assert ws.frame() == (wsclient.TEXT, "text żółć".encode())
    for size in (0, 125, 126, 65535, 65536, 3_000_000):
        data = os.urandom(size)
        ws.send(data)
        assert ws.frame() == (wsclient.BINARY, data)


def test_close_codes_pass_through(dial):
    ws = dial()
    ws.recv()
    ws.send("bye")
    assert ws.closed().code == 4321


def test_the_end_of_the_client_reaches_the_server_inside(dial, client, web):
    client.exec(web, "rm -f /tmp/ws-ended")
    ws = dial()
    ws.recv()
    ws.cut()
    harness.wait_until(lambda: client.exec(web, "test -e /tmp/ws-ended && echo yes || true")["stdout"], "the end of the connection inside")


def test_a_refused_upgrade_is_an_ordinary_answer(client, web):
    reply = client.get(f"/proxy/{web}/{PORT}/")
    assert reply.status == 400 and reply.body == b"no upgrad"


def test_nobody_listens(server, client, web):
    inside.expose(client, web, 9001)
    with pytest.raises(wsclient.Refused) as why:
        wsclient.WebSocket(server.port, f"/sandbox/proxy/{web}/9001/")
    assert why.value.status == 502


def test_upgrades_count_against_the_limit(server, web, dial):
    held = [dial() for _ in range(4)]
    for one in held:
        one.recv()
    with pytest.raises(wsclient.Refused) as why:
        dial()
    assert why.value.status == 503 and b"limit of 4 concurrent" in why.value.body
    for one in held:
        one.cut()

    def again():
        try:
            return dial()
        except wsclient.Refused:
            return None

    assert harness.wait_until(again, "room after the others left").recv()


def test_another_protocol(server, client, new_sandbox):
    """What comes after a 101 is bytes, whatever they are called; those sent early are not lost."""
    sid = new_sandbox()["id"]
    source = inside.TCP_ECHO.replace("    got = b\"\"\n", '''    got = b""
    while b"\\r\\n\\r\\n" not in got: got += c.recv(1)
    assert b"Upgrade: shout" in got, got
    got = b""
    c.sendall(b"HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: shout\\r\\n\\r\\n")
''')
    inside.start(client, sid, source, PORT)
    inside.expose(client, sid, PORT)
    with socket.create_connection(("127.0.0.1", server.port), timeout=harness.DEADLINE_S) as sock:
        sock.sendall(f"GET /sandbox/proxy/{sid}/{PORT}/ HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: shout\r\n\r\nearly ".encode())
        got = b""
        while b"\r\n\r\n" not in got:
            got += sock.recv(65536)
        assert got.startswith(b"HTTP/1.1 101 ") and b"Upgrade: shout" in got
        sock.sendall(b"late")
        sock.shutdown(socket.SHUT_WR)  # a half-close passes too
        assert harness.drain(sock) == b"[early late]"
