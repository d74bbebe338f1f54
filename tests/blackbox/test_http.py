"""HTTP by hand: what each server in the bake-off got wrong somewhere, over raw sockets."""
import concurrent.futures
import json
import re
import socket
import subprocess
import time

import pytest

import harness
from harness import raw, status_of

HEALTH = b"GET /sandbox/health HTTP/1.1\r\nHost: localhost\r\n"
OK_BODY = b'{"status":"healthy"}'
SERVER_ENV = {"III_MAX_BODY_MB": "1"}


@pytest.fixture(autouse=True)
def still_serving(client):
    yield
    assert client.ok("GET", "/health") == {"status": "healthy"}


def error_of(answer):
    return json.loads(answer.partition(b"\r\n\r\n")[2])["error"]


def request(head, body=b"", method=b"POST", path=b"/sandbox/sandboxes"):
    return method + b" " + path + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + head + b"\r\n" + body


LENGTH, CODING, HEADER = "Content-Length must be one decimal number", "Transfer-Encoding must be exactly", "header name or value"
CHUNK, HOST, VERSION, METHOD = "chunk size", "one Host header", "HTTP/1.1", "method is not known"
REFUSED = [
    ("two lengths", request(b"Content-Length: 2\r\nContent-Length: 3\r\n", b"{}x"), 400, LENGTH),
    ("the same length twice", request(b"Content-Length: 2\r\nContent-Length: 2\r\n", b"{}"), 400, LENGTH),
    ("a list of lengths", request(b"Content-Length: 2, 2\r\n", b"{}"), 400, LENGTH),
    ("length and chunked", request(b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n"), 400, LENGTH),
    ("chunked and length", request(b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n", b"0\r\n\r\n"), 400, LENGTH),
    ("gzip, chunked", request(b"Transfer-Encoding: gzip, chunked\r\n", b"0\r\n\r\n"), 400, CODING),
    ("chunked, gzip", request(b"Transfer-Encoding: chunked, gzip\r\n", b"0\r\n\r\n"), 400, CODING),
    ("identity", request(b"Transfer-Encoding: identity\r\n"), 400, CODING),
    ("a folded header", request(b"X-A: 1\r\n  folded\r\n"), 400, "do not begin with a space"),
    ("a blank before the colon", request(b"Content-Length : 2\r\n", b"{}"), 400, HEADER),
    ("a bad header name", request(b"X(A): 1\r\n"), 400, HEADER),
    ("a NUL in a header", request(b"X-A: a\0b\r\n"), 400, HEADER),
    ("a negative length", request(b"Content-Length: -1\r\n"), 400, LENGTH),
    ("a length with a sign", request(b"Content-Length: +2\r\n", b"{}"), 400, LENGTH),
    ("a huge length", request(b"Content-Length: 99999999999999999999999\r\n"), 400, LENGTH),
    ("a bad chunk size", request(b"Transfer-Encoding: chunked\r\n", b"zz\r\n"), 400, CHUNK),
    ("a huge chunk size", request(b"Transfer-Encoding: chunked\r\n", b"ffffffffffffffffff\r\n"), 400, CHUNK),
    ("no Host", b"GET /sandbox/health HTTP/1.1\r\nConnection: close\r\n\r\n", 400, HOST),
    ("two Hosts", b"GET /sandbox/health HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n", 400, HOST),
    ("no version", b"GET /sandbox/health\r\n\r\n", 505, VERSION),
    ("another version", b"GET /sandbox/health HTTP/3.7\r\nHost: localhost\r\n\r\n", 505, VERSION),
    ("another protocol", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 40, 501, METHOD),
    ("binary noise", bytes(range(256)) * 4 + b"\r\n\r\n", 501, METHOD),
    ("a NUL in the path", b"GET /sandbox/he\0alth HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "URL"),
]


@pytest.mark.parametrize("name, data, status, says", REFUSED, ids=[row[0] for row in REFUSED])
def test_refused_and_closed(server, name, data, status, says):
    answer = raw(server.port, data, shut=True)
    assert status_of(answer) == status and says in error_of(answer), answer[:400]
    assert len(re.findall(rb"^HTTP/1\.1 \d", answer, re.M)) == 1, "what follows a refused request must not be read as another one"


def test_smuggled_requests_are_not_answered(server):
    inner = b"GET /sandbox/health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    data = (b"POST /sandbox/sandboxes HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" % (5 + len(inner))) + inner
    assert OK_BODY not in raw(server.port, data, shut=True)


CAPS = [
    ("header bytes", b"GET /sandbox/health HTTP/1.1\r\nHost: localhost\r\nX-A: " + b"a" * 200_000 + b"\r\n\r\n", 431),
    ("header count", b"GET /sandbox/health HTTP/1.1\r\nHost: localhost\r\n" + b"".join(b"X-%d: 1\r\n" % i for i in range(500)) + b"\r\n", 431),
    ("url", b"GET /sandbox/health?" + b"a" * 40_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 414),
    ("body by length", request(b"Content-Type: application/json\r\nContent-Length: 5000000\r\n"), 413),
    ("body by chunks", request(b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n", (b"10000\r\n" + b"a" * 65536 + b"\r\n") * 40), 413),
]


@pytest.mark.parametrize("name, data, status", CAPS, ids=[name for name, _, _ in CAPS])
def test_caps(server, name, data, status):
    assert status_of(raw(server.port, data)) == status, name


def test_pipelined_requests_are_answered_in_order(server, box):
    body = b"".join(b"POST /sandbox/sandboxes/%s/exec HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                    % (box.encode(), len(text), text) for text in (json.dumps({"command": f"echo n{i}"}).encode() for i in range(20)))
    answer = raw(server.port, body + HEALTH + b"Connection: close\r\n\r\n")
    assert answer.count(b"HTTP/1.1 200 OK") == 21
    places = [answer.index(b"n%d\\n" % i) for i in range(20)]
    assert places == sorted(places) and answer.endswith(OK_BODY)


def test_many_pipelined_requests_do_not_recurse(server):
    answer = raw(server.port, (HEALTH + b"\r\n") * 5000 + HEALTH + b"Connection: close\r\n\r\n")
    assert answer.count(OK_BODY) == 5001


def test_one_byte_at_a_time(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=harness.DEADLINE_S) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in HEALTH + b"Connection: close\r\n\r\n":
            sock.sendall(bytes([byte]))
        assert harness.drain(sock).endswith(OK_BODY)


def curl(*args):
    return subprocess.run(["curl", "-sv", *args], capture_output=True, text=True, timeout=harness.DEADLINE_S, check=False)


@pytest.mark.parametrize("name", ["port", "engine_port"])
def test_a_client_of_http_2_is_told_to_use_http_1(server, name):
    """Prior knowledge: frames that curl's own parser (nghttp2) reads; error 13 is HTTP_1_1_REQUIRED. By Upgrade: HTTP/1.1 serves it."""
    url = f"http://127.0.0.1:{getattr(server, name)}/sandbox/health"
    refused = curl("--http2-prior-knowledge", url)
    assert refused.returncode == 16 and "GOAWAY, error=13, last_stream=0" in refused.stderr, refused
    served = curl("--http2", "-w", "%{http_version} %{http_code}", "-o", "/dev/null", url)
    assert served.returncode == 0 and served.stdout in ("1.1 200", "1.1 404", "1.1 426"), served
    answer = raw(getattr(server, name), b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9 * 20))  # frames behind it are not read
    assert answer == bytes.fromhex("000000040000000000" "00002f070000000000" "00000000" "0000000d") + b"HTTP/2 is not served here: use HTTP/1.1"


def test_a_chunked_body(server, box):
    text = json.dumps({"command": "echo chunked"}).encode()
    chunks = b"".join(b"%x;ext=1\r\n%s\r\n" % (1, text[i:i + 1]) for i in range(len(text))) + b"0\r\nX-Trailer: 1\r\n\r\n"
    answer = raw(server.port, request(b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n", chunks,
                                      path=b"/sandbox/sandboxes/" + box.encode() + b"/exec"))
    assert status_of(answer) == 200 and b"chunked\\n" in answer


def test_expect_100_continue(server, box):
    text = json.dumps({"command": "echo expected"}).encode()
    with socket.create_connection(("127.0.0.1", server.port), timeout=harness.DEADLINE_S) as sock:
        sock.sendall(request(b"Expect: 100-continue\r\nContent-Type: application/json\r\nContent-Length: %d\r\n" % len(text),
                             path=b"/sandbox/sandboxes/" + box.encode() + b"/exec"))
        assert sock.recv(1024).startswith(b"HTTP/1.1 100 Continue\r\n\r\n")
        sock.sendall(text)
        assert b"expected\\n" in harness.drain(sock)


def test_expect_with_a_body_that_is_too_large_is_refused_at_once(server):
    answer = raw(server.port, request(b"Expect: 100-continue\r\nContent-Type: application/json\r\nContent-Length: 5000000\r\n"))
    assert status_of(answer) == 413


def test_head_has_no_body(server):
    answer = raw(server.port, b"HEAD /sandbox/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert status_of(answer) == 200 and answer.endswith(b"\r\n\r\n") and b"healthy" not in answer
    assert b"\r\nContent-Length: %d\r\n" % len(OK_BODY) in answer


def test_headers_of_a_reply(client):
    reply = client.get("/health")
    assert reply.headers["content-type"].startswith("application/json")
    assert reply.headers["date"].endswith(" GMT") and int(reply.headers["content-length"]) == len(reply.body)


def test_http_1_0_and_connection_close(server):
    assert raw(server.port, b"GET /sandbox/health HTTP/1.0\r\nHost: localhost\r\n\r\n").endswith(OK_BODY)
    assert raw(server.port, HEALTH + b"Connection: close\r\n\r\n" + HEALTH + b"\r\n").count(OK_BODY) == 1


def test_upgrade_is_ignored_on_an_ordinary_route(server):
    answer = raw(server.port, HEALTH + b"Connection: upgrade, close\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                 b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", shut=True)
    assert status_of(answer) == 200 and answer.endswith(OK_BODY)
    answer = raw(server.port, HEALTH + b"Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n", shut=True)
    assert status_of(answer) == 200 and answer.endswith(OK_BODY)


@pytest.mark.parametrize("line, status, says", [
    (b"CONNECT x:1", 501, "CONNECT"), (b"TRACE /sandbox/health", 405, "takes GET, HEAD, OPTIONS"), (b"BREW /sandbox/health", 501, "method"), (b"OPTIONS *", 200, None)])
def test_connect_and_odd_methods(server, line, status, says):
    answer = raw(server.port, line + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", shut=True)
    assert status_of(answer) == status, answer[:400]
    assert says in error_of(answer) if says else answer.endswith(b"\r\n\r\n")


def test_paths_are_not_decoded_before_routing(server):
    for path in (b"/sandbox/%68ealth", b"/sandbox//health", b"/sandbox/./health", b"/sandbox/../sandbox/health"):
        assert status_of(raw(server.port, b"GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % path)) == 404, path


def test_bodies_of_get_and_delete_count(client, box):
    assert client.call("GET", "/sandboxes", {"pageSize": 4}).json()["pageSize"] == 4


def test_clients_that_leave_in_the_middle(server, box):
    body = json.dumps({"command": "sleep 99941"}).encode()
    pieces = [b"", b"GET", HEALTH, request(b"Content-Length: 100\r\n", b"{"), request(b"Transfer-Encoding: chunked\r\n", b"5\r\nab"),
              request(b"Content-Type: application/json\r\nContent-Length: %d\r\n" % len(body), body, path=b"/sandbox/sandboxes/" + box.encode() + b"/exec")]
    for piece in pieces * 20:
        sock = socket.create_connection(("127.0.0.1", server.port))
        sock.sendall(piece)
        sock.close()


def test_idle_connections_do_not_stop_others(server, client):
    idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(300)]
    for sock in idle[:150]:
        sock.sendall(b"GET /sandbox/health HTTP/1.1\r\nHo")
    assert client.get("/health").status == 200
    for sock in idle:
        sock.close()


def drip(port, start, piece):
    """Sends a piece twice a second until the server has enough. Returns what it said."""
    with socket.create_connection(("127.0.0.1", port), timeout=0.5) as sock:
        sock.sendall(start)
        got, end = b"", time.monotonic() + 60
        while time.monotonic() < end:
            try:
                sock.sendall(piece)
                data = sock.recv(4096)
                if not data:
                    return got
                got += data
            except (BrokenPipeError, ConnectionResetError):
                return got
            except TimeoutError:
                continue
    raise AssertionError("a client that drips was never cut off")


def test_slow_heads_and_slow_bodies_are_cut_off(server):
    """Both deadlines are absolute: a byte now and then does not extend them."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        head = pool.submit(drip, server.port, b"GET /sandbox/health HTTP/1.1\r\nHost: localhost\r\nX-A: ", b"a")
        body = pool.submit(drip, server.port, request(b"Content-Type: application/json\r\nContent-Length: 100000\r\n", b"{"), b" ")
        assert status_of(head.result()) == 408 and "head" in error_of(head.result())
        assert status_of(body.result()) == 408 and "body" in error_of(body.result())


def test_a_reader_that_stalls_is_not_waited_for(server, box, client):
    text = json.dumps({"command": "head -c 9000000 /dev/zero | tr '\\0' y"}).encode()
    stalled = []
    for _ in range(4):
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect(("127.0.0.1", server.port))
        sock.sendall(request(b"Content-Type: application/json\r\nContent-Length: %d\r\n" % len(text), text,
                             path=b"/sandbox/sandboxes/" + box.encode() + b"/exec"))
        stalled.append(sock)
    for _ in range(20):
        assert client.exec(box, "true")["exitCode"] == 0
    for sock in stalled:
        sock.close()


def test_keep_alive_serves_many_requests_on_one_connection(client):
    client.get("/health")
    first = client.conn.sock
    for _ in range(200):
        assert client.get("/health").status == 200
    assert client.conn.sock is first
