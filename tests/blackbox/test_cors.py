"""Cross-origin requests: any origin, and a preflight without a token."""
import harness

TOKEN = "t"
SERVER_ENV = {"III_AUTH_TOKEN": TOKEN}


def test_a_preflight_needs_no_token(server):
    with harness.Client(server.port) as anyone:
        reply = anyone.call("OPTIONS", "/sandboxes", headers={"Origin": "https://page.example", "Access-Control-Request-Method": "POST",
                                                             "Access-Control-Request-Headers": "authorization, x-anything"})
        assert reply.status == 200 and reply.headers["access-control-allow-origin"] == "*"
        methods = {m.strip() for m in reply.headers["access-control-allow-methods"].split(",")}
        assert {"GET", "POST", "PUT", "DELETE", "OPTIONS"} <= methods
        allowed = reply.headers["access-control-allow-headers"].lower()
        assert allowed == "*" or ("authorization" in allowed and "x-anything" in allowed)


def test_replies_and_errors_carry_the_origin(server, client):
    for reply in (client.get("/sandboxes", headers={"Origin": "https://page.example"}),
                  client.get(f"/sandboxes/{harness.UNKNOWN}", headers={"Origin": "https://page.example"})):
        assert reply.headers["access-control-allow-origin"] == "*"
    with harness.Client(server.port) as anyone:
        reply = anyone.get("/sandboxes", headers={"Origin": "https://page.example"})
        assert reply.status == 401 and reply.headers["access-control-allow-origin"] == "*"


def test_an_origin_cannot_smuggle_headers(client):
    reply = client.get("/sandboxes", headers={"Origin": "https://a.example"})
    assert "\n" not in reply.headers["access-control-allow-origin"]
