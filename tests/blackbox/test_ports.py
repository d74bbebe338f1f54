"""Exposed ports: real listeners of the host that lead into a sandbox without network."""
import concurrent.futures
import socket
import time
import urllib.request

import harness
import inside

SERVER_ENV = {"III_MAX_PORTS": "4", "III_PORT_CONNECTIONS": "8", "III_UDP_IDLE": "1"}


def fetch(port, path="/"):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=harness.DEADLINE_S) as answer:
        return answer.status, answer.read()


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def is_refused(port):
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) != 0


def talk(port, data):
    """Sends, half-closes, and returns all that comes back; nothing when the connection is reset."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=harness.DEADLINE_S) as sock:
            sock.sendall(data)
            sock.shutdown(socket.SHUT_WR)
            return harness.drain(sock)
    except TimeoutError:
        raise
    except OSError:
        return b""


def test_a_web_server_inside_is_reached_from_the_host(new_sandbox, client):
    sid = new_sandbox(network=False)["id"]
    client.ok("POST", f"/sandboxes/{sid}/files/write", {"path": "/workspace/hello.txt", "content": "from inside\n"})
    client.ok("POST", f"/sandboxes/{sid}/exec/background", {"command": "cd /workspace && exec python3 -m http.server 8000 --bind 127.0.0.1"})
    made = inside.expose(client, sid, 8000)
    assert made == {"containerPort": 8000, "hostPort": made["hostPort"], "protocol": "tcp", "state": "active",
                    "url": f"http://127.0.0.1:{made['hostPort']}/"} and made["hostPort"] > 0

    def got():
        try:
            return fetch(made["hostPort"], "/hello.txt")
        except OSError:
            return None  # the server inside is still starting: the connection is reset

    assert harness.wait_until(got, "the file over the exposed port") == (200, b"from inside\n")
    assert client.ok("GET", f"/sandboxes/{sid}/ports")["ports"] == [made]
    assert client.ok("DELETE", f"/sandboxes/{sid}/ports?containerPort=8000") == {"removed": 8000}
    assert client.ok("GET", f"/sandboxes/{sid}/ports")["ports"] == []
    assert is_refused(made["hostPort"])


def test_host_port_defaults_to_the_container_port_and_delete_takes_a_body(sandbox, client):
    port = free_port()
    made = client.ok("POST", f"/sandboxes/{sandbox}/ports", {"containerPort": port})
    assert made["hostPort"] == port and made["state"] == "active"
    assert client.ok("DELETE", f"/sandboxes/{sandbox}/ports", {"containerPort": port}) == {"removed": port}


def test_host_ports_come_from_the_range():
    low = next(p for p in range(21000, 29000, 10) if all(is_refused(p + i) for i in range(3)))
    with harness.Server(env={"III_PORT_RANGE": f"{low}, {low + 1}-{low + 2}"}) as server:
        client = server.client()
        sid = client.create()["id"]
        for outside in (low - 1, low + 3, 8080, 80):
            reply = client.post(f"/sandboxes/{sid}/ports", {"containerPort": outside})
            assert reply.status == 403 and "III_PORT_RANGE" in reply.error and str(low) in reply.error, reply
        got = [inside.expose(client, sid, port)["hostPort"] for port in (1, 2, 3)]
        assert sorted(got) == [low, low + 1, low + 2]
        full = client.post(f"/sandboxes/{sid}/ports", {"containerPort": 4, "hostPort": 0})
        assert full.status == 503 and "III_PORT_RANGE" in full.error
        client.ok("DELETE", f"/sandboxes/{sid}/ports?containerPort=2")
        assert client.ok("POST", f"/sandboxes/{sid}/ports", {"containerPort": 4, "hostPort": got[1]})["state"] == "active"


def test_half_close_is_kept_and_many_connections_do_not_mix(sandbox, client):
    inside.start(client, sandbox, inside.TCP_ECHO, 7000)
    port = inside.expose(client, sandbox, 7000)["hostPort"]
    assert talk(port, b"one") == b"[one]"
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        sent = [b"%d" % i * 1000 for i in range(30)]
        assert list(pool.map(lambda data: talk(port, data), sent)) == [b"[" + data + b"]" for data in sent]


def test_megabytes_both_ways(sandbox, client):
    inside.start(client, sandbox, inside.TCP_ECHO, 7001)
    port = inside.expose(client, sandbox, 7001)["hostPort"]
    data = bytes(range(256)) * 4 * 4096  # 4 MiB: many windows
    assert talk(port, data) == b"[" + data + b"]"


def test_a_port_nobody_listens_on_is_reset(sandbox, client):
    port = inside.expose(client, sandbox, 7002)["hostPort"]
    assert talk(port, b"hello") == b""


def test_connections_have_a_limit(sandbox, client):
    inside.start(client, sandbox, inside.TCP_ECHO, 7003)
    port = inside.expose(client, sandbox, 7003)["hostPort"]
    held = [socket.create_connection(("127.0.0.1", port), timeout=harness.DEADLINE_S) for _ in range(8)]
    try:
        assert harness.wait_until(lambda: talk(port, b"x") == b"", "a connection over the limit to be reset")
        for sock in held:
            sock.sendall(b"ok")
            sock.shutdown(socket.SHUT_WR)
            assert harness.drain(sock) == b"[ok]"
    finally:
        for sock in held:
            sock.close()
    harness.wait_until(lambda: talk(port, b"again") == b"[again]", "room after the others left")


def test_a_tenant_has_a_share_of_all_connections():
    with harness.Server(env={"III_AUTH_TOKEN": "root", "III_RELAY_CONNECTIONS": "8"}, token="root") as server:
        admin, ports = server.client(), []
        for name in ("loud", "quiet"):
            user = server.client(admin.ok("POST", "/tokens", {"name": name, "tenant": name})["secret"])
            box = user.ok("POST", "/sandboxes", {"image": "python", "memory": 128})["id"]
            inside.start(user, box, inside.TCP_ECHO, 7000)
            ports.append(inside.expose(user, box, 7000)["hostPort"])
        loud, quiet = ports
        held = [socket.create_connection(("127.0.0.1", loud), timeout=harness.DEADLINE_S) for _ in range(2)]
        try:
            harness.wait_until(lambda: talk(loud, b"x") == b"", "a connection over the tenant's share to be reset")
            assert talk(quiet, b"one") == b"[one]"
        finally:
            for sock in held:
                sock.close()
        harness.wait_until(lambda: talk(loud, b"again") == b"[again]", "room after the others left")


def test_datagrams_keep_their_senders_apart(sandbox, client):
    inside.start(client, sandbox, inside.UDP_ECHO, 5300)
    made = inside.expose(client, sandbox, 5300, protocol="udp")
    assert made["protocol"] == "udp"
    socks = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(3)]
    try:
        for sock in socks:
            sock.settimeout(harness.DEADLINE_S)
            sock.connect(("127.0.0.1", made["hostPort"]))
        seen = []
        for i, sock in enumerate(socks):
            sock.send(b"from %d" % i)
            source, text = sock.recv(65536).split(b":", 1)
            assert text == b"from %d" % i
            seen.append(source)
        assert len(set(seen)) == 3
        big = bytes(30000)
        socks[0].send(big)
        assert socks[0].recv(65536).split(b":", 1)[1] == big
        socks[0].send(b"")
        assert socks[0].recv(65536).endswith(b":")
        # The same sender after a silence longer than III_UDP_IDLE gets a new way in.
        def is_new():
            time.sleep(2.5)
            socks[0].send(b"late")
            source, text = socks[0].recv(65536).split(b":", 1)
            assert text == b"late"
            return source != seen[0]
        harness.wait_until(is_new, "another sender for the sandbox")
    finally:
        for sock in socks:
            sock.close()


def test_unexposing_removes_every_protocol_and_cuts_connections(sandbox, client):
    inside.start(client, sandbox, inside.TCP_ECHO, 7004)
    port = inside.expose(client, sandbox, 7004)["hostPort"]
    inside.expose(client, sandbox, 7004, protocol="udp")
    with socket.create_connection(("127.0.0.1", port), timeout=harness.DEADLINE_S) as sock:
        sock.sendall(b"part")
        assert client.ok("DELETE", f"/sandboxes/{sandbox}/ports?containerPort=7004") == {"removed": 7004}
        assert harness.drain(sock) == b""
    assert client.ok("GET", f"/sandboxes/{sandbox}/ports")["ports"] == []


def test_conflicts_and_limits(sandbox, new_sandbox, client):
    base = f"/sandboxes/{sandbox}/ports"
    made = inside.expose(client, sandbox, 9000)
    again = client.post(base, {"containerPort": 9000, "hostPort": 0})
    assert again.status == 409 and "9000" in again.error
    taken = client.post(base, {"containerPort": 9001, "hostPort": made["hostPort"]})
    assert taken.status == 409 and str(made["hostPort"]) in taken.error
    other = new_sandbox()["id"]
    taken = client.post(f"/sandboxes/{other}/ports", {"containerPort": 9000, "hostPort": made["hostPort"]})
    assert taken.status == 409
    udp = client.ok("POST", base, {"containerPort": 9000, "hostPort": 0, "protocol": "udp"})
    taken = client.post(base, {"containerPort": 9001, "hostPort": udp["hostPort"], "protocol": "udp"})
    assert taken.status == 409
    inside.expose(client, sandbox, 9002)
    inside.expose(client, sandbox, 9003)
    full = client.post(base, {"containerPort": 9004, "hostPort": 0})
    assert full.status == 429 and "limit of 4 exposed ports" in full.error and "III_MAX_PORTS" in full.error
    missing = client.delete(base + "?containerPort=9004")
    assert missing.status == 404 and "not found" in missing.error


def test_bad_values(box, client):
    base = f"/sandboxes/{box}/ports"
    for body in ({}, {"containerPort": 0}, {"containerPort": 65536}, {"containerPort": 70000}, {"containerPort": "x"}, {"containerPort": 80.5},
                 {"containerPort": 80, "hostPort": 65536}, {"containerPort": 80, "hostPort": -1}, {"containerPort": 80, "protocol": "sctp"}):
        assert client.post(base, body).status == 400, body
    assert client.delete(base).status == 400
    assert client.post(f"/sandboxes/{harness.UNKNOWN}/ports", {"containerPort": 80}).status == 404
    assert client.get(f"/sandboxes/{harness.UNKNOWN}/ports").status == 404


def test_a_paused_sandbox_keeps_its_listener(sandbox, client):
    inside.start(client, sandbox, inside.TCP_ECHO, 7005)
    port = inside.expose(client, sandbox, 7005)["hostPort"]
    client.ok("POST", f"/sandboxes/{sandbox}/pause")
    assert client.post(f"/sandboxes/{sandbox}/ports", {"containerPort": 1}).status == 409
    assert client.ok("GET", f"/sandboxes/{sandbox}/ports")["ports"][0]["state"] == "active"
    with socket.create_connection(("127.0.0.1", port), timeout=harness.DEADLINE_S) as sock:
        sock.sendall(b"waits")
        sock.shutdown(socket.SHUT_WR)
        client.ok("POST", f"/sandboxes/{sandbox}/resume")
        assert harness.drain(sock) == b"[waits]"


def test_kill_closes_the_listener(new_sandbox, client):
    sid = new_sandbox()["id"]
    port = inside.expose(client, sid, 7006)["hostPort"]
    client.ok("DELETE", f"/sandboxes/{sid}")
    assert is_refused(port)


def test_ports_are_open_again_after_a_crash():
    server = harness.Server()
    try:
        client = server.start().client()
        sid = client.create()["id"]
        inside.start(client, sid, inside.TCP_ECHO, 7007)
        made = inside.expose(client, sid, 7007)
        assert talk(made["hostPort"], b"before") == b"[before]"
        client.close()
        server.kill()
        with socket.socket() as thief:  # somebody else has taken the port meanwhile
            thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            thief.bind(("127.0.0.1", made["hostPort"]))
            thief.listen()
            client = server.start().client()
            assert client.ok("GET", f"/sandboxes/{sid}/ports")["ports"] == [{**made, "state": "mapped"}]
        assert client.ok("GET", f"/sandboxes/{sid}/ports")["ports"] == [made]
        assert talk(made["hostPort"], b"after") == b"[after]"
        client.close()
        server.kill()
        client = server.start().client()
        assert talk(made["hostPort"], b"again") == b"[again]"
        inside.start(client, sid, inside.TCP_ECHO, 7008)
        more = inside.expose(client, sid, 7008)
        client.close()
        server.kill()
        client = server.start().client()
        assert [talk(one["hostPort"], b"both") for one in (made, more)] == [b"[both]"] * 2
        client.ok("DELETE", f"/sandboxes/{sid}/ports?containerPort=7008")
        assert is_refused(more["hostPort"])
        assert talk(made["hostPort"], b"open") == b"[open]"
        server.stop()
    finally:
        server.remove()


def test_the_address_that_ports_listen_on():
    with harness.Server(env={"III_PORT_HOST": "127.0.0.2"}) as server, harness.Client(server.port) as caller:
        sid = caller.create()["id"]
        inside.start(caller, sid, inside.TCP_ECHO, 7009)
        port = inside.expose(caller, sid, 7009)["hostPort"]
        assert is_refused(port), "on 127.0.0.1"
        with socket.create_connection(("127.0.0.2", port), timeout=harness.DEADLINE_S) as sock:
            sock.sendall(b"there")
            sock.shutdown(socket.SHUT_WR)
            assert harness.drain(sock) == b"[there]"
    with harness.Server(env={"III_PORT_HOST": "localhost"}) as server, harness.Client(server.port) as caller:
        sid = caller.create()["id"]
        reply = caller.post(f"/sandboxes/{sid}/ports", {"containerPort": 7009, "hostPort": 0})
        assert reply.status == 500 and "III_PORT_HOST" in reply.error and "localhost" in reply.error
        assert caller.ok("GET", f"/sandboxes/{sid}/ports")["ports"] == []
