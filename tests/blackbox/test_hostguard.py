"""A server without tokens keeps web pages away: by Origin, by Sec-Fetch-Site and, against rebound names, by Host. With a token nothing changes."""
import pytest

import engineclient
import harness
import inside
import wsclient

PORT = 8080
EVIL = {"Origin": "https://evil.example"}
FOREIGN = [EVIL, {"Origin": "null"}, {"Origin": "http://localhost:5173"}, {"Origin": "http://127.0.0.1:8080"}, {"Origin": "http://a.localhost"}, {"Origin": "http://127.0.0.1.evil.example"}, {"Origin": "http://localhost.evil.example:3111"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
           {"Host": "evil.example"}, {"Host": "evil.example:3111"}, {"Host": "127.0.0.1.evil.example"}, {"Host": "10.1.2.3"}, {"Host": "[2001:db8::1]:3111"}]
OWN = [{}, {"Origin": "http://127.0.0.1"}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"},
       {"Host": "localhost"}, {"Host": "LOCALHOST:3111"}, {"Host": "127.9.9.9:1"}, {"Host": "[::1]:3111"}, {"Host": "sbx-1.localhost:3111"},
       {"Host": "a.localhost:3111", "Origin": "http://a.localhost:3111"}]


def request(port, method, path, headers, body=b""):
    """(status, body) of a request with exactly these headers; Host is 127.0.0.1 unless it is one of them."""
    lines = {"Host": "127.0.0.1", "Content-Type": "application/json", "Connection": "close", "Content-Length": str(len(body)), **headers}
    head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in lines.items())
    answer = harness.raw(port, head.encode() + b"\r\n" + body)
    return harness.status_of(answer), answer.partition(b"\r\n\r\n")[2].decode("latin-1")


UPGRADE = {"Connection": "Upgrade, close", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="}


@pytest.fixture(scope="module")
def doors(server, box):
    """Every entry point as (port, method, path, headers, body)."""
    with server.client() as client, engineclient.Worker(server.engine_port) as worker:
        inside.start(client, box, inside.HTTP_ECHO, PORT)
        inside.expose(client, box, PORT)
        session = client.ok("POST", f"/sandboxes/{box}/terminal", {})["sessionId"]
        channel = engineclient.channel_path(worker.channel()["writer"])
        yield [(server.port, "GET", "/sandbox/sandboxes", {}, b""), (server.port, "POST", "/sandbox/sandboxes", {}, b"{}"), (server.port, "GET", "/metrics", {}, b""),
               (server.port, "OPTIONS", "/sandbox/sandboxes", {"Access-Control-Request-Method": "POST"}, b""), (server.port, "POST", "/mcp", {}, b"{}"),
               (server.port, "GET", f"/sandbox/proxy/{box}/{PORT}/x", {}, b""), (server.port, "GET", f"/sandbox/sandboxes/{box}/terminal/{session}/ws", UPGRADE, b""),
               (server.port, "GET", channel, UPGRADE, b""), (server.engine_port, "GET", "/", UPGRADE, b""), (server.engine_port, "GET", "/otel", UPGRADE, b""),
               (server.engine_port, "GET", channel, UPGRADE, b"")]


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
def test_no_entry_point_answers_a_foreign_page(doors, headers):
    for port, method, path, more, body in doors:
        status, text = request(port, method, path, {**more, **headers}, body)
        assert status == 403 and "iii token create" in text and "III_ALLOWED_" in text, (path, status, text)


@pytest.mark.parametrize("headers", OWN, ids=str)
def test_clients_and_pages_of_this_machine_are_served(server, headers):
    assert request(server.port, "GET", "/sandbox/sandboxes", headers)[0] == 200
    if "Host" not in headers:
        own = {"Origin": f"http://127.0.0.1:{server.engine_port}"} if "Origin" in headers else {}
        wsclient.WebSocket(server.engine_port, "/", {**headers, **own}).close()


def test_what_is_listed_is_served():
    env = {"III_ALLOWED_HOSTS": "box.lan, other.lan", "III_ALLOWED_ORIGINS": "https://app.example"}
    with harness.Server(env=env) as server:
        for headers in ({"Host": "box.lan:3111"}, {"Host": "OTHER.lan"}, {"Host": "box.lan:3111", "Origin": "http://box.lan:3111"},
                        {"Origin": "https://app.example", "Sec-Fetch-Site": "cross-site"}):
            assert request(server.port, "GET", "/sandbox/sandboxes", headers)[0] == 200, headers
        for headers in ({"Host": "third.lan"}, {"Host": "box.lan", "Origin": "http://other.lan"}, {"Origin": "http://app.example"}, EVIL):
            assert request(server.port, "GET", "/sandbox/sandboxes", headers)[0] == 403, headers


def test_a_server_on_every_address_answers_to_addresses_but_not_to_names():
    with harness.Server(env={"III_HOST": "0.0.0.0"}, flags=["--insecure-listen"]) as server:
        assert request(server.port, "GET", "/sandbox/sandboxes", {"Host": "10.1.2.3:3111"})[0] == 200
        assert request(server.port, "GET", "/sandbox/sandboxes", {"Host": "iii-sandbox:3111"})[0] == 403
        assert request(server.port, "GET", "/sandbox/sandboxes", EVIL)[0] == 403


def test_a_server_with_a_token_may_be_told_to_do_without_tls():
    with harness.Server(env={"III_HOST": "0.0.0.0", "III_AUTH_TOKEN": "t", "III_PLAIN_LISTEN": "true"}, token="t") as server, server.client() as client:
        assert client.get("/sandboxes").status == 200 and "server.exposed" in server.log()


def test_an_exposed_server_never_opens():
    """Whoever deletes the tokens of a server on the network locks it; on loopback that opens it again."""
    for host, wanted in (("0.0.0.0", 401), ("127.0.0.1", 200)):
        server = harness.Server(env={"III_HOST": host, "III_PLAIN_LISTEN": "true", "III_ISOLATION_BACKEND": "fake"})
        harness.fill(server.data_dir)
        made = harness.run_cli("token", "create", "me", "--role", "admin", "--data-dir", server.data_dir)
        with server, server.client(made.stdout.strip()) as admin:
            assert admin.get("/tokens").status == 200
            (server.data_dir / "tokens.json").unlink()
            harness.wait_until(lambda: request(server.port, "GET", "/sandbox/sandboxes", {})[0] == wanted, f"{wanted} on {host}")
            assert admin.call("POST", "/tokens", {"name": "x", "role": "admin"}).status == 403, "and a token is not made over HTTP"


def test_with_a_token_the_token_decides():
    with harness.Server(env={"III_AUTH_TOKEN": "t"}, token="t") as server:
        for headers in FOREIGN:
            assert request(server.port, "GET", "/sandbox/sandboxes", {**headers, "Authorization": "Bearer t"})[0] == 200, headers
            assert request(server.port, "GET", "/sandbox/sandboxes", headers)[0] == 401, headers
