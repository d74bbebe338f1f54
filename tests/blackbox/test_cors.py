"""Cross-origin requests: pages of listed origins may read answers, others may not; a preflight needs no token."""
import pytest

import harness
from mcpclient import Http

TOKEN = "t"
SERVER_ENV = {"III_AUTH_TOKEN": TOKEN, "III_ALLOWED_ORIGINS": "https://page.example, https://two.example:8443", "III_MCP_ORIGINS": "https://agent.example"}
PAGE = {"Origin": "https://page.example"}


def test_a_preflight_needs_no_token(server):
    with harness.Client(server.port) as anyone:
        reply = anyone.call("OPTIONS", "/sandboxes", headers={**PAGE, "Access-Control-Request-Method": "POST",
                                                             "Access-Control-Request-Headers": "authorization, x-anything"})
        assert reply.status == 200 and reply.headers["access-control-allow-origin"] == "https://page.example" and reply.headers["vary"] == "Origin"
        methods = {m.strip() for m in reply.headers["access-control-allow-methods"].split(",")}
        assert {"GET", "POST", "PUT", "DELETE", "OPTIONS"} <= methods
        allowed = reply.headers["access-control-allow-headers"].lower()
        assert allowed == "*" or ("authorization" in allowed and "x-anything" in allowed)


def test_replies_and_errors_carry_the_origin(server, client):
    for reply in (client.get("/sandboxes", headers=PAGE), client.get(f"/sandboxes/{harness.UNKNOWN}", headers=PAGE)):
        assert reply.headers["access-control-allow-origin"] == "https://page.example" and "Iii-Warnings" in reply.headers["access-control-expose-headers"]
    with harness.Client(server.port) as anyone:
        reply = anyone.get("/sandboxes", headers=PAGE)
        assert reply.status == 401 and reply.headers["access-control-allow-origin"] == "https://page.example"


@pytest.mark.parametrize("origin", ["https://evil.example", "http://page.example", "https://page.example.evil", "https://two.example", "null", "*", "",
                                    "http://localhost:5173", "https://page.example, https://two.example:8443"])
def test_other_origins_may_not_read(client, origin):
    for method in ("GET", "OPTIONS"):
        reply = client.call(method, "/sandboxes", headers={"Origin": origin, "Access-Control-Request-Method": "POST"})
        assert reply.status == 200 and "access-control-allow-origin" not in reply.headers, (method, reply.headers)


def test_mcp_has_its_own_list(server):
    reply = Http(server).client.call("OPTIONS", "/mcp", headers={"Origin": "https://agent.example", "Access-Control-Request-Method": "POST"})
    assert reply.headers["access-control-allow-origin"] == "https://agent.example"


def test_nothing_is_allowed_unless_it_is_configured():
    with harness.Server(token="t", env={"III_AUTH_TOKEN": "t"}) as server, server.client() as client:
        assert not [k for k in client.get("/sandboxes", headers=PAGE).headers if k.startswith("access-control-allow-origin")]
    with harness.Server(token="t", env={"III_AUTH_TOKEN": "t", "III_ALLOWED_ORIGINS": "*"}) as server, server.client() as client:
        assert client.get("/sandboxes", headers=PAGE).headers["access-control-allow-origin"] == "*"
        assert client.get("/sandboxes").headers["access-control-allow-origin"] == "*", "the contract's answer"
