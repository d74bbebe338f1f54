"""Preview addresses: an origin for each sandbox and port, private unless a link, a token or `public` says otherwise."""
import json
import re
import time
import urllib.parse

import pytest

import harness
import inside
from wsclient import WebSocket

PORT = 8000
TOKEN = "the admin's"


@pytest.fixture(scope="module")
def closed():
    """A server with a token, a sandbox of it with the echo server, and the client that made it."""
    with harness.Server(env={"III_AUTH_TOKEN": TOKEN}) as made:
        client = made.client(token=TOKEN)
        sid = client.ok("POST", "/sandboxes", {"image": "python"})["id"]
        inside.start(client, sid, inside.HTTP_ECHO, PORT)
        made.box, made.admin = sid, client
        yield made
        client.ok("DELETE", f"/sandboxes/{sid}")
        client.close()


@pytest.fixture
def web(client, new_sandbox):
    sid = new_sandbox()["id"]
    inside.start(client, sid, inside.HTTP_ECHO, PORT)
    return sid


def name_of(sid, port=PORT):
    return f"{port}-{sid[4:]}.localhost"


def get(server, host, path="/", method="GET", body=None, **headers):
    with server.client(prefix="", token=None) as visitor:
        return visitor.call(method, path, body, headers={"Host": host, **{k.replace("_", "-"): v for k, v in headers.items()}})


def told(reply):
    assert reply.status == 200, reply.body
    return json.loads(reply.body)


def test_a_server_without_tokens_shows_every_port(server, client, web):
    host = f"{name_of(web)}:{server.port}"
    assert client.ok("POST", f"/sandboxes/{web}/preview", {"port": PORT}) == {"port": PORT, "url": f"http://{host}/", "public": False, "rewriteHost": False}
    seen = told(get(server, host, "/sandbox/health?a=1", X_Own="1"))
    assert seen["path"] == "/sandbox/health?a=1" and seen["headers"]["host"] == host and seen["headers"]["x-own"] == "1"
    assert seen["headers"]["x-forwarded-host"] == host and "x-forwarded-prefix" not in seen["headers"]
    assert told(get(server, host.upper(), "/x"))["path"] == "/x"
    assert told(get(server, host, "/put", method="PUT", body=b"x" * 300000))["body"] == "x" * 300000
    missing = get(server, f"{name_of(harness.UNKNOWN)}:{server.port}")
    assert missing.status == 404 and "not found" in missing.body.decode()
    assert get(server, f"{name_of(web, 9999)}:{server.port}").status == 502, "nobody listens there"
    client.ok("POST", f"/sandboxes/{web}/preview", {"port": PORT, "rewriteHost": True})
    local = told(get(server, host, Origin=f"http://{host}"))["headers"]
    assert local["host"] == f"localhost:{PORT}" and local["origin"] == f"http://localhost:{PORT}"


def test_names_that_are_no_previews(server, web):
    hex_id = web[4:]
    for host in (f"0-{hex_id}.localhost", f"70000-{hex_id}.localhost", f"{PORT}-{hex_id[:-1]}.localhost", f"{PORT}-{hex_id}0.localhost", f"{PORT}{hex_id}.localhost",
                 f"{PORT}-{hex_id}.x.localhost", f"-{hex_id}.localhost", f"{PORT}-{'g' * 24}.localhost"):
        assert get(server, host, "/sandbox/health").json() == {"status": "healthy"}, host
    for host in (f"{PORT}-{hex_id}.example", f"{PORT}-{hex_id}", f"{PORT}-{hex_id}.localhost.example", f"{PORT}-{hex_id}.notlocalhost"):
        assert get(server, host, "/sandbox/health").status == 403, host


def test_pages_elsewhere_may_lead_there_but_not_call(server, web):
    host = f"{name_of(web)}:{server.port}"
    other = {"Origin": "https://evil.example", "Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "cors"}
    assert get(server, host, **other).status == 403
    assert get(server, host, Origin=f"http://{name_of(web, 8001)}:{server.port}").status == 403, "another port is another origin"
    assert get(server, host, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors").status == 403
    assert get(server, host, method="POST", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate").status == 403
    assert get(server, host, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate").status == 200
    assert get(server, host, Origin=f"http://{host}", Sec_Fetch_Site="same-origin", Sec_Fetch_Mode="cors").status == 200


def test_a_preview_may_not_call_the_api(server, web):
    """What a sandbox serves is untrusted: its pages are strangers to the API, on every loopback name."""
    page = f"http://{name_of(web)}:{server.port}"
    for host in ("localhost", "127.0.0.1"):
        reply = get(server, f"{host}:{server.port}", "/sandbox/sandboxes", Origin=page, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="cors")
        assert reply.status == 403, (host, reply.body)


def test_websocket(server, client, new_sandbox):
    sid = new_sandbox()["id"]
    inside.start(client, sid, inside.WS_ECHO, PORT)
    host = f"{name_of(sid)}:{server.port}"
    with WebSocket(server.port, "/any", headers={"Host": host, "Origin": f"http://{host}"}) as ws:
        assert ws.recv().decode() == f"/any {host}"
        ws.send("hello")
        assert b"hello" in ws.recv()


def test_private_by_default(closed):
    host = f"{name_of(closed.box)}:{closed.port}"
    unknown = get(closed, f"{name_of(harness.UNKNOWN)}:{closed.port}")
    for reply in (get(closed, host), get(closed, host, Authorization="Bearer wrong"), get(closed, host, Cookie="iii_preview=9999999999." + "0" * 64)):
        assert (reply.status, reply.body) == (401, unknown.body), "nothing says whether there is such a sandbox"
    seen = told(get(closed, host, Authorization=f"Bearer {TOKEN}"))
    assert "authorization" not in seen["headers"], "a token is not for what runs inside"
    token = closed.admin.ok("POST", "/tokens", {"name": "other", "tenant": "other"})
    assert get(closed, host, Authorization=f"Bearer {token['secret']}").body == unknown.body


def test_a_signed_link_becomes_a_cookie_of_that_origin(closed):
    made = closed.admin.ok("POST", f"/sandboxes/{closed.box}/preview", {"port": PORT, "ttl": 600})
    link = urllib.parse.urlsplit(made["signedUrl"])
    assert made["expiresAt"] > 0 and f"http://{link.netloc}/" == made["url"]
    reply = get(closed, link.netloc, f"//evil.example/deep?a=1&{link.query}&b=2")
    assert reply.status == 302 and reply.headers["location"] == "/evil.example/deep?a=1&b=2" and reply.headers["cache-control"] == "no-store"
    attributes = reply.headers["set-cookie"]
    assert "HttpOnly" in attributes and "SameSite=Lax" in attributes and "Domain" not in attributes
    cookie = attributes.split(";")[0]
    seen = told(get(closed, link.netloc, "/deep", Cookie=f"own=1; {cookie}; more=2", Authorization="Bearer of the application"))
    assert seen["headers"]["cookie"] == "own=1; more=2" and seen["headers"]["authorization"] == "Bearer of the application"
    assert get(closed, link.netloc, f"/?{link.query}").status == 401, "a link is good once"
    assert get(closed, f"{name_of(closed.box, PORT + 1)}:{closed.port}", Cookie=cookie).status == 401, "of another port"
    second = closed.admin.ok("POST", "/sandboxes", {"image": "python"})["id"]
    assert get(closed, f"{name_of(second)}:{closed.port}", Cookie=cookie).status == 401, "of another sandbox"
    closed.admin.ok("DELETE", f"/sandboxes/{second}")


def test_links_that_are_forged_or_over(closed):
    link = urllib.parse.urlsplit(closed.admin.ok("POST", f"/sandboxes/{closed.box}/preview", {"port": PORT, "ttl": 1})["signedUrl"])
    expiry, nonce, mac = link.query.removeprefix("iii_link=").split(".")
    for forged in (f"{int(expiry) + 9999}.{nonce}.{mac}", f"{expiry}.n_{'0' * 24}.{mac}", f"{expiry}.{nonce}.{'0' * 64}", f"{expiry}.{nonce}", "", ".", "x" * 5000):
        assert get(closed, link.netloc, f"/?iii_link={forged}").status == 401, forged
    harness.wait_until(lambda: time.time() > int(expiry) + 1, "the link to expire")
    assert get(closed, link.netloc, f"/?{link.query}").status == 401
    links = [closed.admin.ok("POST", f"/sandboxes/{closed.box}/preview", {"port": PORT})["signedUrl"] for _ in range(65)]
    first, last = urllib.parse.urlsplit(links[0]), urllib.parse.urlsplit(links[-1])
    assert get(closed, first.netloc, f"/?{first.query}").status == 401, "a newer one took its place"
    assert get(closed, last.netloc, f"/?{last.query}").status == 302
    for bad in ({"port": 0}, {"port": 65536}, {}, {"port": PORT, "ttl": 0}, {"port": PORT, "ttl": 604801}):
        assert closed.admin.post(f"/sandboxes/{closed.box}/preview", bad).status == 400, bad


def test_public_by_choice(closed):
    host = f"{name_of(closed.box)}:{closed.port}"
    made = closed.admin.ok("POST", f"/sandboxes/{closed.box}/preview", {"port": PORT, "public": True})
    assert made["public"] and "signedUrl" not in made
    assert get(closed, host).status == 200 and get(closed, f"{name_of(closed.box, PORT + 1)}:{closed.port}").status == 401
    assert closed.admin.ok("POST", f"/sandboxes/{closed.box}/preview", {"port": PORT})["public"], "it is remembered"
    assert not closed.admin.ok("POST", f"/sandboxes/{closed.box}/preview", {"port": PORT, "public": False})["public"]
    assert get(closed, host).status == 401


def test_a_domain_of_the_operator():
    with harness.Server(env={"III_PREVIEW_DOMAIN": "https://sandboxes.example:8443", "III_ALLOWED_HOSTS": "x"}) as own, own.client() as client:
        sid = client.ok("POST", "/sandboxes", {"image": "python"})["id"]
        inside.start(client, sid, inside.HTTP_ECHO, PORT)
        assert client.ok("POST", f"/sandboxes/{sid}/preview", {"port": PORT})["url"] == f"https://{PORT}-{sid[4:]}.sandboxes.example:8443/"
        assert told(get(own, f"{PORT}-{sid[4:]}.sandboxes.example:8443"))["path"] == "/"
        assert told(get(own, f"{name_of(sid)}:{own.port}"))["path"] == "/", "the loopback name works as well"
        client.ok("DELETE", f"/sandboxes/{sid}")


def test_the_path_form_has_no_part_in_the_apis_origin(client, web):
    inside.expose(client, web, PORT)
    moved = client.get(f"/proxy/{web}/{PORT}?a=1")
    assert moved.status == 308 and moved.headers["location"] == f"/sandbox/proxy/{web}/{PORT}/?a=1"
    reply = client.get(f"/proxy/{web}/{PORT}/cookies")
    assert reply.headers["x-two"] and "set-cookie" not in reply.headers and "service-worker-allowed" not in reply.headers
    assert re.search(r"\bsandbox\b", reply.headers["content-security-policy"]) and "allow-same-origin" not in reply.headers["content-security-policy"]
