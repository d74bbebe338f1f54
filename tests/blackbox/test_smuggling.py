"""Requests and responses that two parsers could read in two ways: each is refused once, and nothing behind it is ever read as another one."""
import re
import socket

import pytest

import harness
import inside

PORT = 8080
SECOND = "GET /sandbox/health HTTP/1.1\r\nHost: localhost\r\n\r\n"
HEAD = "POST {path} HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = HEAD + "Transfer-Encoding: chunked\r\n\r\n"

# What a head, or the framing of a body, may not be. {second} would be a request of its own to a parser that reads on.
REQUESTS = {
    "a bare CR ends the head": HEAD + "\rX{second}",
    "a bare CR ends the request line": "POST {path} HTTP/1.1\rXHost: localhost\r\n\r\n{second}",
    "a bare CR ends a header": HEAD + "A: b\rContent-Length: 5\r\n\r\n{second}",
    "a bare CR in a name": HEAD + "A\rB: c\r\n\r\n{second}",
    "CR CR LF": HEAD + "A: b\r\r\n\r\n{second}",
    "a bare LF ends the head": HEAD + "\n{second}",
    "a bare LF ends a header": HEAD + "A: b\nContent-Length: 5\r\n\r\n{second}",
    "bare LF everywhere": "POST {path} HTTP/1.1\nHost: localhost\n\n{second}",
    "a folded header": HEAD + "Content-Length:\r\n 5\r\n\r\nabcde{second}",
    "a blank before the colon": HEAD + "Content-Length : 5\r\n\r\nabcde{second}",
    "a blank before the first header": "POST {path} HTTP/1.1\r\n Host: localhost\r\n\r\n{second}",
    "a NUL in a value": HEAD + "A: b\0c\r\n\r\n{second}",
    "a control byte in a name": HEAD + "Transfer-Encoding\x0b: chunked\r\n\r\n0\r\n\r\n{second}",
    "two lengths": HEAD + "Content-Length: 0\r\nContent-Length: 5\r\n\r\nabcde{second}",
    "a list of lengths": HEAD + "Content-Length: 0, 5\r\n\r\nabcde{second}",
    "a signed length": HEAD + "Content-Length: +5\r\n\r\nabcde{second}",
    "a hexadecimal length": HEAD + "Content-Length: 0x5\r\n\r\nabcde{second}",
    "a length beyond 64 bits": HEAD + "Content-Length: 18446744073709551616\r\n\r\n{second}",
    "length and encoding": HEAD + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{second}",
    "encoding and length": HEAD + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n{second}",
    "two encodings": HEAD + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n{second}",
    "an unknown encoding": HEAD + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n{second}",
    "chunked is not the last encoding": HEAD + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n{second}",
    "an encoding in quotes": HEAD + 'Transfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n{second}',
    "an encoding behind a tab": HEAD + "Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n{second}",
    "an encoding in HTTP/1.0": "POST {path} HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{second}",
    "two hosts": HEAD + "Host: evil.example\r\n\r\n{second}",
    "no host": "POST {path} HTTP/1.1\r\nA: b\r\n\r\n{second}",
    "a CR ends a chunk size": CHUNKED + "3\rXabc\r\n0\r\n\r\n{second}",
    "a LF ends a chunk size": CHUNKED + "3\nabc\r\n0\r\n\r\n{second}",
    "a CR ends an extension": CHUNKED + "3;a=b\rXabc\r\n0\r\n\r\n{second}",
    "a LF ends an extension": CHUNKED + "3;a=b\nabc\r\n0\r\n\r\n{second}",
    "a blank before a chunk size": CHUNKED + " 3\r\nabc\r\n0\r\n\r\n{second}",
    "a blank after a chunk size": CHUNKED + "3 \r\nabc\r\n0\r\n\r\n{second}",
    "a sign before a chunk size": CHUNKED + "+3\r\nabc\r\n0\r\n\r\n{second}",
    "0x before a chunk size": CHUNKED + "0x3\r\nabc\r\n0\r\n\r\n{second}",
    "a chunk size beyond 64 bits": CHUNKED + "10000000000000003\r\nabc\r\n0\r\n\r\n{second}",
    "an empty chunk size": CHUNKED + "\r\n0\r\n\r\n{second}",
    "other bytes behind a chunk": CHUNKED + "3\r\nabcXX0\r\n\r\n{second}",
    "a CR and a byte behind a chunk": CHUNKED + "3\r\nabc\rX0\r\n\r\n{second}",
    "a LF behind a chunk": CHUNKED + "3\r\nabc\n0\r\n\r\n{second}",
    "a CR ends the last chunk": CHUNKED + "0\rX\r\n{second}",
    "a LF ends the last chunk": CHUNKED + "0\n\r\n{second}",
    "a CR and a byte end the body": CHUNKED + "0\r\n\rX{second}",
    "a LF ends the body": CHUNKED + "0\r\n\n{second}",
    "a CR ends a trailer": CHUNKED + "0\r\nT: a\rXU: b\r\n\r\n{second}",
    "a LF ends a trailer": CHUNKED + "0\r\nT: a\n\r\n{second}",
    "a folded trailer": CHUNKED + "0\r\nT: a\r\n b\r\n\r\n{second}",
}

OK = "HTTP/1.1 200 OK\r\n"
OK_CHUNKED = OK + "Transfer-Encoding: chunked\r\n\r\n"
INNER = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Second: 1\r\n\r\nhello"
RESPONSES = {
    "a bare CR ends the head": OK + "Content-Length: 0\r\n\rX" + INNER,
    "a bare CR ends a header": OK + "A: b\rContent-Length: 5\r\n\r\n" + INNER,
    "a bare LF ends the head": OK + "Content-Length: 0\r\n\n" + INNER,
    "a bare LF ends a header": OK + "A: b\nContent-Length: 0\r\n\r\n" + INNER,
    "a folded header": OK + "Content-Length:\r\n 0\r\n\r\n" + INNER,
    "two lengths": OK + "Content-Length: 0\r\nContent-Length: 5\r\n\r\n" + INNER,
    "length and encoding": OK + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + INNER,
    "a CR ends a chunk size": OK_CHUNKED + "3\rXabc\r\n0\r\n\r\n" + INNER,
    "a LF ends a chunk size": OK_CHUNKED + "3\nabc\r\n0\r\n\r\n" + INNER,
    "other bytes behind a chunk": OK_CHUNKED + "3\r\nabcXX0\r\n\r\n" + INNER,
    "a LF behind a chunk": OK_CHUNKED + "3\r\nabc\n0\r\n\r\n" + INNER,
    "a CR and a byte end the body": OK_CHUNKED + "0\r\n\rX" + INNER,
    "a LF ends the body": OK_CHUNKED + "0\r\n\n" + INNER,
    "a LF ends a trailer": OK_CHUNKED + "0\r\nT: a\n\r\n" + INNER,
}

# Counts what it is asked; GET /answer/N sends the N-th text as it is.
RAW_APP = r'''
import socket, sys, threading
texts = %r
def serve(c):
    f = c.makefile("rb"); line = f.readline()
    open("/tmp/asked", "ab").write(line)
    while f.readline().strip(): pass
    parts = line.split(b" ")[1].split(b"/")
    if parts[1] == b"answer": c.sendall(texts[int(parts[2])].encode("latin-1"))
    else:
        open("/tmp/asked", "ab").write(f.read())
        c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
    c.close()
s = socket.socket(); s.bind(("127.0.0.1", int(sys.argv[1]))); s.listen(64)
print("READY", flush=True)
while True: threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
'''


def exchange(port, text):
    """All that comes back until the server closes; it must close by itself."""
    with socket.create_connection(("127.0.0.1", port), timeout=harness.DEADLINE_S) as sock:
        sock.sendall(text.encode("latin-1"))
        return harness.drain(sock)


def statuses(answer):
    return re.findall(rb"HTTP/1\.1 (\d{3}) ", answer)


@pytest.fixture(scope="module")
def app(server, box):
    with server.client() as client:
        inside.start(client, box, RAW_APP % (list(RESPONSES.values()),), PORT)
        inside.expose(client, box, PORT)
    return box


@pytest.mark.parametrize("what", REQUESTS)
def test_a_request_is_refused_once(server, what):
    for port, path in ((server.port, "/sandbox/sandboxes"), (server.port, "/mcp"), (server.engine_port, "/")):
        answer = exchange(port, REQUESTS[what].format(path=path, second=SECOND))
        assert statuses(answer) == [b"400"], (path, answer)


@pytest.mark.parametrize("what", REQUESTS)
def test_a_request_does_not_reach_an_application_twice(server, app, what):
    with server.client() as client:
        client.exec(app, "rm -f /tmp/asked")
        second = f"GET /sandbox/proxy/{app}/{PORT}/second HTTP/1.1\r\nHost: localhost\r\n\r\n"
        answer = exchange(server.port, REQUESTS[what].format(path=f"/sandbox/proxy/{app}/{PORT}/first", second=second))
        assert statuses(answer) == [b"400"], answer
        seen = client.exec(app, "cat /tmp/asked 2>/dev/null || true")["stdout"]
        assert "second" not in seen and "0\r\n\r\n" not in seen, seen


@pytest.mark.parametrize("number", range(len(RESPONSES)), ids=list(RESPONSES))
def test_a_response_is_never_passed_on_as_complete(server, app, number):
    request = f"GET /sandbox/proxy/{app}/{PORT}/answer/{number} HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=harness.DEADLINE_S) as sock:
        sock.sendall(request.encode() + b"GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        answer = harness.drain(sock)
    assert b"X-Second" not in answer and b"hello" not in answer, answer
    is_cut = statuses(answer) in ([], [b"200"]) and not answer.endswith(b"0\r\n\r\n")  # its head was passed on before the fault came
    assert statuses(answer) == [b"502", b"404"] or is_cut, answer
