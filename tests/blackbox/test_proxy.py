"""HTTP to servers inside a sandbox without network: the JSON envelope and the raw proxy."""
import http.client
import json
import socket
import threading

import pytest

import harness
import inside

SERVER_ENV = {"III_PROXY_BODY_MB": "1", "III_ALLOWED_ORIGINS": "https://a.example"}  # without a token
PORT = 8080
CLOSED_PORT = 8099


@pytest.fixture(scope="module")
def web(server, box):
    """A sandbox with the echo server on PORT; CLOSED_PORT is exposed too, but nobody listens there."""
    client = server.client()
    inside.start(client, box, inside.HTTP_ECHO, PORT)
    inside.expose(client, box, PORT)
    inside.expose(client, box, CLOSED_PORT)
    client.close()
    return box


@pytest.fixture
def raw(client, web):
    """raw(method, sub-path, ...) → Reply through the raw proxy."""
    def call(method, path, body=None, headers=None, port=PORT):
        return client.call(method, f"/proxy/{web}/{port}{path}", body, headers)
    return call


def envelope(client, sid, port=PORT, **fields):
    return client.post(f"/proxy/{sid}/{port}", fields)


# --- the envelope ---


def test_a_request_in_an_envelope(client, web):
    reply = envelope(client, web, method="post", path="/things?a=1", headers={"X-One": "1", "X-Number": 5, "Host": "example"}, body="some text")
    assert reply.status == 200
    answer = reply.json()
    assert answer["statusCode"] == 200 and answer["url"] == f"http://localhost:{PORT}/things?a=1"
    assert answer["headers"]["x-inside"] == "yes" and answer["headers"]["content-type"] == "application/json"
    told = json.loads(answer["body"])
    assert told["method"] == "POST" and told["path"] == "/things?a=1" and told["body"] == "some text"
    assert answer["warnings"] == ["headers.X-Number: must be text"]
    assert told["headers"]["x-one"] == "1" and "x-number" not in told["headers"] and told["headers"]["host"] == "example"


def test_the_envelope_has_defaults(client, web):
    told = json.loads(envelope(client, web).json()["body"])
    assert told["method"] == "GET" and told["path"] == "/" and told["headers"]["host"] == f"localhost:{PORT}"
    dropped = envelope(client, web, path="", body="dropped", headers={"Connection": "x"}).json()
    assert json.loads(dropped["body"])["body"] == "" and dropped["warnings"] == ["body: not sent with GET", "headers.Connection: set by the server"]
    assert client.post(f"/proxy/{web}/{PORT}", {"body": "x"}, headers={"Prefer": "handling=strict"}).status == 400
    head = envelope(client, web, method="HEAD").json()
    assert head["statusCode"] == 200 and head["body"] == ""


def test_the_status_of_the_server_is_inside(client, web):
    reply = envelope(client, web, path="/redirect")
    assert reply.status == 200 and reply.json()["statusCode"] == 302 and reply.json()["headers"]["location"] == "/other"
    assert envelope(client, web, headers={"X-Want-Status": "503"}).json()["statusCode"] == 503
    assert envelope(client, web, path="/cookies").json()["headers"]["set-cookie"] == "a=1, b=2"
    assert envelope(client, web, path="/chunks").json()["body"] == "chunk0chunk1chunk2"


def test_a_large_body_goes_in_and_a_too_large_one_does_not_come_out(client, web):
    text = "x" * 3_000_000
    reply = envelope(client, web, method="POST", path="/count", body=text)
    assert reply.json()["body"] == str(len(text))
    assert len(envelope(client, web, path=f"/big?{1024 * 1024}").json()["body"]) == 1024 * 1024
    reply = envelope(client, web, path=f"/big?{1024 * 1024 + 1}")
    assert reply.status == 502 and "III_PROXY_BODY_MB" in reply.error


def test_preconditions_of_the_envelope(client, web, new_sandbox):
    assert envelope(client, web, port=CLOSED_PORT).status == 502
    assert envelope(client, web, path="/garbage").status == 502
    assert envelope(client, web, path="/half").status == 502
    hidden = envelope(client, web, port=8081)
    assert hidden.status == 404 and "8081" in hidden.error and "expose" in hidden.error
    assert envelope(client, harness.UNKNOWN).status == 404
    other = new_sandbox()["id"]
    client.ok("POST", f"/sandboxes/{other}/pause")
    assert envelope(client, other).status == 409


@pytest.mark.parametrize("fields", [{"path": "relative"}, {"path": "/a b"}, {"path": "/a\r\nX: 1"}, {"method": "A B"}, {"method": "CONNECT"}, {"method": ""},
                                    {"headers": {"A": "1\r\nB: 2"}}, {"headers": {"A B": "1"}}, {"headers": "x"}, {"path": "/" * 16385}])
def test_bad_envelopes(client, web, fields):
    assert envelope(client, web, **fields).status == 400


@pytest.mark.parametrize("port", ["0", "65536", "x"])
def test_bad_ports(client, web, port):
    reply = client.post(f"/proxy/{web}/{port}")
    assert reply.status == 400 and "port" in reply.error


# --- settings ---


def test_the_settings_are_kept(client, new_sandbox):
    sid = new_sandbox()["id"]
    first = client.ok("POST", f"/sandboxes/{sid}/proxy/config")
    assert first == {"sandboxId": sid, "proxyBase": f"sandbox/proxy/{sid}", "cors": "*", "requireAuth": False, "timeout": 30000}
    changed = client.ok("POST", f"/sandboxes/{sid}/proxy/config", {"cors": "https://a.example", "timeout": 1234})
    assert changed == {**first, "cors": "https://a.example", "timeout": 1234}
    assert client.ok("POST", f"/sandboxes/{sid}/proxy/config", {"requireAuth": True}) == {**changed, "requireAuth": True}
    assert client.ok("POST", f"/sandboxes/{sid}/proxy/config") == {**changed, "requireAuth": True}
    for bad in ({"timeout": 0}, {"timeout": "x"}, {"cors": "a\nb"}, {"requireAuth": "maybe"}):
        assert client.post(f"/sandboxes/{sid}/proxy/config", bad).status == 400
    assert client.post(f"/sandboxes/{harness.UNKNOWN}/proxy/config").status == 404


def test_the_timeout_is_enforced(client, new_sandbox):
    sid = new_sandbox()["id"]
    inside.start(client, sid, inside.HTTP_ECHO, PORT)
    inside.expose(client, sid, PORT)
    client.ok("POST", f"/sandboxes/{sid}/proxy/config", {"timeout": 200})
    reply = envelope(client, sid, path="/hang")
    assert reply.status == 504 and "200 ms" in reply.error
    assert client.get(f"/proxy/{sid}/{PORT}/hang").status == 504
    assert client.get(f"/proxy/{sid}/{PORT}/quick").status == 200


# --- raw ---


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_any_method_and_sub_path(raw, method):
    reply = raw(method, "/a/b%20c?x=1&y=%2F", b"the body" if method != "GET" else None, {"Content-Type": "text/x", "X-Mine": "yes"})
    assert reply.status == 200 and reply.headers["x-inside"] == "yes"
    told = reply.json()
    assert told["method"] == method and told["path"] == "/a/b%20c?x=1&y=%2F"
    assert told["body"] == ("the body" if method != "GET" else "")
    assert told["headers"]["x-mine"] == "yes"


def test_the_root_without_a_slash_leads_to_the_one_with_it(raw, client, web):
    moved = raw("GET", "?q=1")
    assert moved.status == 308 and raw("GET", moved.headers["location"].partition(f"/{PORT}")[2]).json()["path"] == "/?q=1"
    assert raw("PUT", "", b"x").json()["method"] == "PUT"
    assert raw("POST", "/", b"x").json()["method"] == "POST"
    assert raw("POST", "", {"path": "/enveloped"}).json()["statusCode"] == 200


def test_status_headers_and_redirects_pass_as_they_are(raw):
    assert raw("GET", "/", headers={"X-Want-Status": "418"}).status == 418
    moved = raw("GET", "/redirect")
    assert moved.status == 302 and moved.headers["location"] == "/other"
    head = raw("HEAD", "/")
    assert head.status == 200 and head.body == b"" and int(head.headers["content-length"]) > 0
    assert raw("GET", "/chunks").body == b"chunk0chunk1chunk2"


def test_forwarding_headers(raw, server):
    told = raw("GET", "/", headers={"X-Forwarded-For": "10.1.1.1", "X-Forwarded-Proto": "https", "Connection": "keep-alive, X-Drop", "X-Drop": "1",
                                    "Keep-Alive": "5", "TE": "trailers"}).json()["headers"]
    assert told["host"] == f"localhost:{PORT}"
    assert told["x-forwarded-for"] == "10.1.1.1, 127.0.0.1" and told["x-forwarded-proto"] == "http"
    assert told["x-forwarded-host"] == f"127.0.0.1:{server.port}" and told["x-forwarded-prefix"].endswith(f"/{PORT}")
    assert not {"x-drop", "keep-alive", "te"} & set(told)


def test_hop_by_hop_headers_of_the_answer_stay_inside(client, web):
    answer = client.open("GET", f"/proxy/{web}/{PORT}/cookies")
    headers = answer.getheaders()
    answer.read()
    assert [v for k, v in headers if k == "X-Two"] == ["1", "2"]
    assert not [k for k, _ in headers if k.lower() == "x-hop"]
    assert [v for k, v in headers if k == "Access-Control-Allow-Origin"] == ["*"]


def test_chunked_requests(server, web):
    conn = http.client.HTTPConnection("127.0.0.1", server.port, timeout=harness.DEADLINE_S)
    conn.request("POST", f"/sandbox/proxy/{web}/{PORT}/x", body=iter([b"one ", b"two ", b"three"]), encode_chunked=True,
                 headers={"Transfer-Encoding": "chunked"})
    told = json.loads(conn.getresponse().read())
    conn.close()
    assert told["body"] == "one two three" and told["headers"]["transfer-encoding"] == "chunked"


def resident_kb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def test_large_bodies_stream_in_constant_memory(server, client, web):
    size = 96 * 1024 * 1024
    conn = http.client.HTTPConnection("127.0.0.1", server.port, timeout=harness.DEADLINE_S * 2)
    before = resident_kb(server.pid)
    block = bytes(1024 * 1024)
    conn.request("PUT", f"/sandbox/proxy/{web}/{PORT}/count", body=iter([block] * 96), headers={"Content-Length": str(size)})
    assert conn.getresponse().read() == str(size).encode()
    conn.request("GET", f"/sandbox/proxy/{web}/{PORT}/big?{size}")
    answer = conn.getresponse()
    got = 0
    while piece := answer.read(1024 * 1024):
        got += len(piece)
    conn.close()
    assert got == size
    if not harness.IS_SANITIZED:
        assert resident_kb(server.pid) - before < 16 * 1024


def test_a_slow_reader_does_not_make_the_server_buffer(server, web):
    if harness.IS_SANITIZED:
        pytest.skip("resident memory says nothing under a sanitizer")
    before = resident_kb(server.pid)
    with socket.create_connection(("127.0.0.1", server.port), timeout=harness.DEADLINE_S) as sock:
        sock.sendall(f"GET /sandbox/proxy/{web}/{PORT}/big?{256 * 1024 * 1024} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        sock.recv(1000)
        for _ in range(20):  # other requests are served meanwhile
            with server.client() as other:
                assert other.get(f"/proxy/{web}/{PORT}/ok").status == 200
        assert resident_kb(server.pid) - before < 16 * 1024


def test_an_answer_may_come_before_the_body_was_read(server, client, web):
    with socket.create_connection(("127.0.0.1", server.port), timeout=harness.DEADLINE_S) as sock:
        sock.sendall(f"PUT /sandbox/proxy/{web}/{PORT}/redirect HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50000000\r\n\r\n".encode())
        got = b""
        try:
            while b"\r\n\r\n" not in got:
                sock.sendall(bytes(100))
                got += sock.recv(65536)
        except OSError:
            pass
    assert got.startswith(b"HTTP/1.1 302 ")
    assert client.get(f"/proxy/{web}/{PORT}/ok").status == 200


def test_events_arrive_while_the_answer_is_running(client, server, web):
    client.exec(web, "rm -f /tmp/go /tmp/streaming")
    answer = client.open("GET", f"/proxy/{web}/{PORT}/events")
    assert answer.readline() == b"data: first\n"
    with server.client() as other:
        other.exec(web, "touch /tmp/go")
    assert answer.read() == b"\ndata: second\n\n"
    client.close()


def test_a_client_that_leaves_frees_the_server_inside(server, client, web):
    client.exec(web, "rm -f /tmp/go /tmp/streaming")
    with socket.create_connection(("127.0.0.1", server.port), timeout=harness.DEADLINE_S) as sock:
        sock.sendall(f"GET /sandbox/proxy/{web}/{PORT}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert b"200" in sock.recv(1000)
    assert client.get(f"/proxy/{web}/{PORT}/ok").status == 200
    client.exec(web, "touch /tmp/go")


def test_errors_of_the_raw_proxy(raw, client, web, new_sandbox):
    nobody = raw("GET", "/", port=CLOSED_PORT)
    assert nobody.status == 502 and str(CLOSED_PORT) in nobody.error and nobody.headers["access-control-allow-origin"] == "*"
    assert raw("GET", "/garbage").status == 502
    assert raw("GET", "/", port=8081).status == 404
    assert client.get(f"/proxy/{harness.UNKNOWN}/{PORT}/").status == 404
    with pytest.raises((http.client.IncompleteRead, http.client.RemoteDisconnected)):
        raw("GET", "/half")  # the cut is passed on as a cut
    client.close()
    other = new_sandbox()["id"]
    inside.expose(client, other, PORT)
    client.ok("POST", f"/sandboxes/{other}/pause")
    assert client.get(f"/proxy/{other}/{PORT}/").status == 409


def test_cors_of_the_raw_proxy(client, new_sandbox):
    sid = new_sandbox()["id"]
    inside.start(client, sid, inside.HTTP_ECHO, PORT)
    inside.expose(client, sid, PORT)
    client.ok("POST", f"/sandboxes/{sid}/proxy/config", {"cors": "https://a.example"})
    reply = client.get(f"/proxy/{sid}/{PORT}/cookies")
    assert reply.headers["access-control-allow-origin"] == "https://a.example" and reply.headers["vary"] == "Origin"
    asked = client.call("OPTIONS", f"/proxy/{sid}/{PORT}/x", headers={"Origin": "https://a.example", "Access-Control-Request-Method": "PUT",
                                                                      "Access-Control-Request-Headers": "x-mine"})
    assert asked.status == 200 and asked.headers["access-control-allow-origin"] == "https://a.example"
    assert "PUT" in asked.headers["access-control-allow-methods"] and asked.headers["access-control-allow-headers"] == "x-mine"
    assert client.call("OPTIONS", f"/proxy/{sid}/{PORT}/x").json()["method"] == "OPTIONS"  # not a preflight: passed on
    client.ok("POST", f"/sandboxes/{sid}/proxy/config", {"cors": ""})
    assert client.get(f"/proxy/{sid}/{PORT}/cookies").headers["access-control-allow-origin"] == "http://inside"


def test_killing_the_sandbox_ends_its_requests(server, client, new_sandbox):
    sid = new_sandbox()["id"]
    inside.start(client, sid, inside.HTTP_ECHO, PORT)
    inside.expose(client, sid, PORT)
    seen = []

    def wait():
        with server.client() as other:
            seen.append(other.get(f"/proxy/{sid}/{PORT}/hang").status)

    thread = threading.Thread(target=wait)
    thread.start()
    with server.client() as other:
        harness.wait_until(lambda: "ESTAB" in other.exec(sid, "cat /proc/net/tcp | grep ' 01 ' && echo ESTAB || true")["stdout"], "the connection inside")
    client.ok("DELETE", f"/sandboxes/{sid}")
    thread.join(harness.DEADLINE_S)
    assert seen == [502]


def test_auth_of_the_raw_proxy():
    with harness.Server(env={"III_AUTH_TOKEN": "s3cret"}, token="s3cret") as server:
        client = server.client()
        sid = client.create()["id"]
        inside.start(client, sid, inside.HTTP_ECHO, PORT)
        inside.expose(client, sid, PORT)
        path = f"/proxy/{sid}/{PORT}/x"
        with server.client(token="") as anyone:
            anyone.token = None
            assert anyone.get(path).status == 200  # open unless asked otherwise
            assert anyone.post(f"/proxy/{sid}/{PORT}", {}).status == 401  # the envelope never is
            told = anyone.get(path, headers={"Authorization": "Basic b3duOmFwcA=="}).json()
            assert told["headers"]["authorization"] == "Basic b3duOmFwcA=="  # the app's own
            client.ok("POST", f"/sandboxes/{sid}/proxy/config", {"requireAuth": True})
            assert anyone.get(path).status == 401
            assert anyone.get(path, headers={"Authorization": "Bearer wrong"}).status == 403
        reply = client.get(path)
        assert reply.status == 200 and "authorization" not in reply.json()["headers"]  # the secret stays outside
