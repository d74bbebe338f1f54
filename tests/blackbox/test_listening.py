"""Ports that begin and cease to listen inside, and first connections to a sandbox whose server is still starting."""
import socket
import urllib.request

import pytest

import harness
import inside

# Listens after a while, as an application does.
SLOW = "import http.server, time; time.sleep(1); http.server.test(http.server.SimpleHTTPRequestHandler, port=8000, bind='127.0.0.1')"
MANY = "import socket, time; kept = [socket.create_server(('127.0.0.1', 20000 + i)) for i in range(150)]; time.sleep(3600)"


def listening(client, sid):
    return client.ok("GET", f"/sandboxes/{sid}/ports")["listening"]


def events(client, sid, topic):
    return [(one["data"]["port"], one["data"]["address"]) for one in client.ok("GET", f"/events/history?topic={topic}&sandboxId={sid}")["events"]]


def background(client, sid, code):
    return client.ok("POST", f"/sandboxes/{sid}/exec/background", {"command": ["python3", "-c", code]})["id"]


def test_a_port_that_listens_is_noticed(client, new_sandbox, server):
    sid = new_sandbox()["id"]
    assert listening(client, sid) == []
    background(client, sid, "import socket, time; a = socket.create_server(('127.0.0.1', 8000)); b = socket.create_server(('::', 8001), family=socket.AF_INET6); time.sleep(3600)")
    rows = harness.wait_until(lambda: len(found := listening(client, sid)) == 2 and found, "both ports to be noticed")
    assert [(row["port"], row["address"]) for row in rows] == [(8000, "127.0.0.1"), (8001, "::")]
    assert rows[0]["url"] == f"http://8000-{sid[4:]}.localhost:{server.port}/"
    assert all(row["process"].startswith("python") and row["pid"] > 1 for row in rows)
    assert sorted(events(client, sid, "port.listening")) == [(8000, "127.0.0.1"), (8001, "::")]
    assert events(client, sid, "port.closed") == []
    client.ok("POST", f"/sandboxes/{sid}/processes/kill", {"pid": rows[0]["pid"], "signal": "KILL"})
    harness.wait_until(lambda: listening(client, sid) == [], "both ports to be gone")
    assert sorted(events(client, sid, "port.closed")) == [(8000, "127.0.0.1"), (8001, "::")]


def test_no_more_ports_than_the_list_has_places(client, new_sandbox):
    sid = new_sandbox()["id"]
    background(client, sid, MANY)
    harness.wait_until(lambda: len(listening(client, sid)) == 128, "as many ports as are told")
    assert len(events(client, sid, "port.listening")) <= 128, "their events are bounded"


@harness.needs("stop")
def test_one_that_sleeps_has_none_and_says_so_without_waking(client, new_sandbox):
    sid = new_sandbox(autoResume=True, entrypoint=["python3", "-c", SLOW])["id"]
    harness.wait_until(lambda: [row["port"] for row in listening(client, sid)] == [8000], "the port")
    client.ok("POST", f"/sandboxes/{sid}/stop")
    assert listening(client, sid) == []
    assert client.ok("GET", f"/sandboxes/{sid}")["status"] == "stopped"


def over_the_preview(client, server, sid, port):
    with server.client(prefix="") as visitor:
        return visitor.call("GET", "/", None, headers={"Host": f"8000-{sid[4:]}.localhost:{server.port}"}).status


def over_the_proxy(client, server, sid, port):
    return client.get(f"/proxy/{sid}/8000/").status


def over_the_exposed_port(client, server, sid, port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=harness.DEADLINE_S) as answer:
        return answer.status


def over_a_tunnel(client, server, sid, port):
    with socket.create_connection(("127.0.0.1", server.port), timeout=harness.DEADLINE_S) as sock:
        sock.sendall(f"GET /sandbox/sandboxes/{sid}/tunnel?port=8000 HTTP/1.1\r\nHost: localhost:{server.port}\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n".encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            piece = sock.recv(1)
            assert piece, head
            head += piece
        assert b" 101 " in head, head
        sock.sendall(b"GET / HTTP/1.0\r\n\r\n")
        return int(harness.drain(sock).split()[1])


@harness.needs("stop")
@pytest.mark.parametrize("way", [over_the_preview, over_the_proxy, over_the_exposed_port, over_a_tunnel])
def test_the_first_connection_waits_for_the_server(client, server, new_sandbox, way):
    sid = new_sandbox(autoResume=True, entrypoint=["python3", "-c", SLOW])["id"]
    port = inside.expose(client, sid, 8000)["hostPort"]
    assert way(client, server, sid, port) == 200, "of a new sandbox"
    client.ok("POST", f"/sandboxes/{sid}/stop")
    assert way(client, server, sid, port) == 200, "of one that it wakes"


@harness.needs("stop")
def test_an_exposed_port_wakes_only_with_autoresume(client, new_sandbox):
    sid = new_sandbox()["id"]
    port = inside.expose(client, sid, 8000)["hostPort"]
    client.ok("POST", f"/sandboxes/{sid}/stop")
    with pytest.raises(ConnectionError):
        with socket.create_connection(("127.0.0.1", port), timeout=harness.DEADLINE_S) as sock:
            sock.recv(1)
    assert client.ok("GET", f"/sandboxes/{sid}")["status"] == "stopped"


@harness.needs("stop")
def test_without_an_entrypoint_the_wait_is_short(client, new_sandbox):
    sid = new_sandbox(autoResume=True)["id"]
    inside.expose(client, sid, 8000)
    client.ok("POST", f"/sandboxes/{sid}/stop")
    assert client.get(f"/proxy/{sid}/8000/").status == 502
    assert client.ok("GET", f"/sandboxes/{sid}")["status"] == "running"
