"""A server as a worker of another one: its functions run there, through channels too, and it comes back after a loss."""
import json
import random
import socket
import subprocess

import pytest

import harness
import wsclient
from engineclient import Worker, open_channel


class Pair:
    def __init__(self):
        self.outer = harness.Server()
        self.inner = None

    def start(self):
        self.outer.start()
        self.inner = harness.Server(env={"III_ENGINE_URL": f"ws://127.0.0.1:{self.outer.engine_port}", "III_WORKER_NAME": "inner"})
        self.inner.start()
        self.joined()
        return self

    def joined(self):
        """The worker iii-sandbox as the outer engine knows it: its own process, and the inner server behind a connection."""
        def look():
            with Worker(self.outer.engine_port) as w:
                known = w.call("engine::workers::list", {"search": "iii-sandbox"})["workers"]
                return [x for x in known if x["ip_address"] and x["function_count"]]
        return harness.wait_until(look, "the inner server has joined")[0]

    def stop(self):
        for server in (self.inner, self.outer):
            if server and server.proc:
                server.stop()

    def remove(self):
        for server in (self.inner, self.outer):
            if server:
                server.remove()


@pytest.fixture(scope="module")
def pair():
    made = Pair()
    try:
        yield made.start()
        made.stop()
    finally:
        made.remove()


def test_functions_run_on_the_inner_server(pair):
    sid = pair.inner.client().create()["id"]
    with Worker(pair.outer.engine_port) as w:
        assert w.call("cmd::run", {"id": sid, "command": "echo from inside"})["stdout"] == "from inside\n"
        why = w.fail("cmd::run", {"id": harness.UNKNOWN, "command": "x"})
        assert why.code == "not_found"
    assert pair.outer.client().get(f"/sandboxes/{sid}").status == 404
    with Worker(pair.inner.engine_port) as w:  # its own engine serves them as well
        assert w.call("cmd::run", {"id": sid, "command": "echo here"})["stdout"] == "here\n"
    assert pair.inner.client().delete(f"/sandboxes/{sid}").status == 200


def test_channels_are_the_outer_engines(pair):
    sid = pair.inner.client().create()["id"]
    with Worker(pair.outer.engine_port) as w:
        answer = w.call("cmd::run-stream", {"id": sid, "command": "for i in 1 2 3; do echo $i; done"})
        texts = []
        with open_channel(pair.outer.engine_port, answer["channel"]) as ws:
            try:
                while True:
                    texts.append(json.loads(ws.recv()))
            except wsclient.Closed:
                pass
    assert "".join(t.get("data", "") for t in texts if t.get("type") == "stdout").replace("\r", "") == "1\n2\n3\n"
    assert pair.inner.client().delete(f"/sandboxes/{sid}").status == 200


def test_the_engines_own_functions_stay_apart(pair):
    with Worker(pair.outer.engine_port) as outer, Worker(pair.inner.engine_port) as inner:
        outer.call("state::set", {"scope": "apart", "key": "k", "value": 1})
        assert inner.call("state::get", {"scope": "apart", "key": "k"}) is None


def test_it_comes_back_when_the_outer_engine_was_killed(pair):
    before = pair.joined()["id"]
    pair.outer.flags += ["--engine-port", str(pair.outer.engine_port)]
    pair.outer.kill()
    pair.outer.start()
    assert pair.joined()["id"] != before
    with Worker(pair.outer.engine_port) as w:
        assert w.call("lifecycle::health", {})["status"]


def test_own_functions_are_back_when_the_inner_server_leaves(pair):
    pair.inner.stop()
    sid = pair.outer.client().create()["id"]
    with Worker(pair.outer.engine_port) as w:
        assert w.call("cmd::run", {"id": sid, "command": "echo outer"})["stdout"] == "outer\n"
    assert pair.outer.client().delete(f"/sandboxes/{sid}").status == 200


def test_token_for_the_outer_engine():
    with harness.Server(token="secret", env={"III_AUTH_TOKEN": "secret"}) as outer:
        env = {"III_ENGINE_URL": f"ws://127.0.0.1:{outer.engine_port}/", "III_ENGINE_TOKEN": "secret"}
        with harness.Server(env=env), Worker(outer.engine_port, headers={"Authorization": "Bearer secret"}) as w:
            harness.wait_until(lambda: len(w.call("engine::workers::list", {})["workers"]) == 2, "the inner server has joined")


def test_bad_url(tmp_path):
    done = harness.run_cli("serve", "--port", "0", "--engine-port", "0", "--data-dir", tmp_path / "data", "--engine-url", "http://x/")
    assert done.returncode == 1 and "ws://host:port" in done.stderr


@pytest.fixture
def bare_host():
    """A loopback address of this test alone, with a listener at the engine's usual port."""
    host = f"127.{random.randint(1, 250)}.{random.randint(1, 250)}.{random.randint(2, 250)}"
    with socket.create_server((host, 49134)) as listener:
        listener.settimeout(harness.DEADLINE_S)
        yield host, listener


@pytest.mark.parametrize("scheme, begins", [("ws", b"GET / HTTP/1.1"), ("wss", b"\x16\x03")])
def test_an_address_without_a_port_means_the_engines(bare_host, scheme, begins):
    """The same for a server that joins and for the command line; not the web's 80 and 443."""
    host, listener = bare_host
    with harness.Server(env={"III_ENGINE_URL": f"{scheme}://{host}"}):
        peer, _ = listener.accept()
        with peer:
            assert peer.recv(4096).startswith(begins)
    caller = subprocess.Popen([harness.BINARY, "trigger", "x::y", "--address", f"{scheme}://{host}"], env=harness.clean_env(), stderr=subprocess.DEVNULL)
    try:
        peer, _ = listener.accept()
        with peer:
            assert peer.recv(4096).startswith(begins)
    finally:
        caller.kill()
        caller.wait()
