"""Calls, streams and terminals of the compiled clients over TLS, with an authority that only they trust."""
import pytest

import certs
import drivers
import harness

TOKEN = "tls-secret"


@pytest.fixture(scope="module")
def secured(tmp_path_factory):
    authority = certs.Authority(tmp_path_factory.mktemp("tls"))
    cert, key = authority.issue("server")
    with harness.Server(flags=["--tls-cert", cert, "--tls-key", key, "--auth-token", TOKEN]) as made:
        yield f"https://localhost:{made.port}", authority.cert


def start(name, url, ca_file, monkeypatch):
    if ca_file:
        monkeypatch.setenv("III_CA_FILE", str(ca_file))
    return drivers.start(name, url, TOKEN)


@pytest.mark.parametrize("name", ["rust", "c", "go"])
def test_everything_goes_over_tls(name, secured, monkeypatch):
    driver = start(name, *secured, monkeypatch)
    try:
        box = driver.ask({"op": "sandbox_create", "args": {"image": "python"}})["ok"]
        events = driver.ask({"op": "cmd_run_stream", "args": {"id": box["id"], "command": "echo secret"}})["ok"]
        assert [e["data"] for e in events] == ["secret\n", "0"]
        talk = {"id": box["id"], "input": "echo $((40 + 2))-yes\n", "until": "42-yes"}
        assert driver.ask({"op": "terminal_talk", "args": talk}) == {"ok": {"found": True}}
        assert driver.ask({"op": "sandbox_kill", "args": {"id": box["id"]}})["ok"] == {"success": True}
    finally:
        driver.close()


@pytest.mark.parametrize("name", ["rust", "c", "go"])
def test_a_stranger_s_certificate_is_refused(name, secured, monkeypatch):
    driver = start(name, secured[0], None, monkeypatch)
    try:
        assert driver.ask({"op": "health"})["error"]["code"] in ("client", "connection")
    finally:
        driver.close()
