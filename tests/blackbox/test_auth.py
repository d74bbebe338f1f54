"""The bearer token."""
import pytest

import harness

TOKEN = "s3cret-token"
SERVER_ENV = {"III_AUTH_TOKEN": TOKEN}


def test_health_needs_none(server):
    with harness.Client(server.port) as anyone:
        assert anyone.ok("GET", "/health") == {"status": "healthy"}


@pytest.mark.parametrize("method, path", [("GET", "/sandboxes"), ("POST", "/sandboxes"), ("GET", "/metrics"), ("GET", "/pool/status"),
                                          ("POST", "/admin/sweep"), ("GET", f"/sandboxes/{harness.UNKNOWN}"),
                                          ("POST", f"/sandboxes/{harness.UNKNOWN}/exec/stream")])
def test_everything_else_does(server, method, path):
    with harness.Client(server.port) as anyone:
        missing = anyone.call(method, path, {})
        assert missing.status == 401 and missing.error
        wrong = anyone.call(method, path, {}, {"Authorization": "Bearer wrong"})
        assert wrong.status == 403 and wrong.error == "Invalid token"


@pytest.mark.parametrize("value", ["Bearer " + TOKEN, TOKEN])
def test_with_and_without_the_word_bearer(server, value):
    with harness.Client(server.port) as caller:
        assert caller.get("/sandboxes", headers={"Authorization": value}).status == 200


@pytest.mark.parametrize("value", ["bearer " + TOKEN, TOKEN + "x", TOKEN[:-1], "Bearer", "Bearer  " + TOKEN, "Basic " + TOKEN, "Bearer " + TOKEN.upper()])
def test_near_misses(server, value):
    with harness.Client(server.port) as caller:
        assert caller.get("/sandboxes", headers={"Authorization": value}).status == 403


def test_an_unknown_sandbox_is_only_shown_to_those_who_may_ask(server, client):
    assert client.get(f"/sandboxes/{harness.UNKNOWN}").status == 404
    with harness.Client(server.port) as anyone:
        assert anyone.get(f"/sandboxes/{harness.UNKNOWN}").status == 401


def test_an_empty_token_means_none():
    with harness.Server(env={"III_AUTH_TOKEN": ""}) as open_server, harness.Client(open_server.port) as anyone:
        assert anyone.get("/sandboxes").status == 200


def test_a_flag_wins_over_the_environment():
    with harness.Server(env={"III_AUTH_TOKEN": "from-env"}, flags=["--auth-token", "from-flag"]) as server:
        with harness.Client(server.port, "from-env") as old, harness.Client(server.port, "from-flag") as new:
            assert old.get("/sandboxes").status == 403
            assert new.get("/sandboxes").status == 200


def test_the_token_is_not_logged(server, client):
    client.get("/sandboxes")
    assert TOKEN not in server.log_path.read_text()
