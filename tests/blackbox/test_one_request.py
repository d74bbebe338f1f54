"""One request cannot hold up the others or fill the server's memory: what is large is refused before it is built, or read and written
beside the loop; and bytes in flight are shared between tenants."""
import json
import re
import socket
import threading

import pytest

import harness

MIB = 1 << 20
VALUES = 200000
SHARE = 64 * MIB  # a quarter of 256 MiB, the least that bodies and replies in flight may take together
pytestmark = pytest.mark.skipif(not harness.IS_ROOT, reason="reads the memory of a server that runs as another user")


def memory(server, field):
    """VmRSS or VmHWM of the server, in bytes."""
    with open(f"/proc/{server.pid}/status", encoding="ascii") as status:
        return int(re.search(rf"{field}:\s+(\d+) kB", status.read())[1]) * 1024


def peak_of(server, act):
    """How much the server's memory grew at most, and what act returned."""
    with open(f"/proc/{server.pid}/clear_refs", "w", encoding="ascii") as refs:
        refs.write("5")
    before = memory(server, "VmRSS")
    answer = act()
    return memory(server, "VmHWM") - before, answer


class Neighbour(threading.Thread):
    """Calls that go on meanwhile, one after the other."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.client, self.statuses, self.over = server.client(), [], threading.Event()

    def run(self):
        while not self.over.is_set():
            self.statuses.append(self.client.get("/sandboxes").status)

    def __enter__(self):
        self.start()
        harness.wait_until(lambda: self.statuses, "the neighbour's first reply")
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join(harness.DEADLINE_S)
        assert set(self.statuses) == {200}


@pytest.mark.parametrize("what", ["numbers", "keys", "lists"])
def test_a_body_of_millions_of_values_is_refused_before_it_is_built(server, client, box, what):
    """The row takes content, so its body may be long: 62 MB of [0,0,…] once took 1.4 GB and seven seconds of everybody's time."""
    piece = {"numbers": "0,", "lists": "[],"}.get(what)
    body = "[" + piece * (62 * MIB // len(piece)) + "0]" if piece else "{" + ",".join(f'"k{i}":0' for i in range(2000000)) + "}"
    path = f"/sandboxes/{box}/files/write"
    with Neighbour(server) as neighbour:
        calls = len(neighbour.statuses)
        grown, reply = peak_of(server, lambda: client.post(path, body.encode(), headers={"Content-Type": "application/json"}))
        harness.wait_until(lambda: len(neighbour.statuses) > calls, "the neighbour's next reply")
    assert reply.status == 413 and f"{VALUES} keys and values" in reply.error
    if not harness.IS_SANITIZED:
        assert grown < 4 * len(body), f"grew by {grown >> 20} MiB for a body of {len(body) >> 20} MiB"
        harness.wait_until(lambda: memory(server, "VmRSS") < 200 * MIB, "the memory to be returned")


def test_short_bodies_have_the_same_bounds(client, box):
    path, headers = f"/sandboxes/{box}/exec", {"Content-Type": "application/json"}
    good = json.dumps({"command": "true", "x": [0] * (VALUES - 6)})
    assert client.post(path, good.encode(), headers=headers).status == 200
    many = json.dumps({"command": "true", "x": [0] * VALUES}, separators=(",", ":"))
    assert len(many) < MIB and client.post(path, many.encode(), headers=headers).status == 413
    deep = '{"command":"true","x":' + "[" * 512 + "]" * 512 + "}"
    reply = client.post(path, deep.encode(), headers=headers)
    assert reply.status == 400 and "512 levels" in reply.error


def test_a_long_content_arrives_and_leaves_whole(client, box):
    text = "".join(chr(1 + i % 0x300) for i in range(3 * MIB))
    client.ok("POST", f"/sandboxes/{box}/files/write", {"path": "/workspace/long", "content": text})
    assert client.ok("POST", f"/sandboxes/{box}/files/read", {"path": "/workspace/long"}) == text


MAKE = r"""
import os, sys
os.makedirs(sys.argv[1]); os.chdir(sys.argv[1])
for i in range(int(sys.argv[2])):
    os.close(os.open(bytes.fromhex(sys.argv[3]) * int(sys.argv[4]) + b"%06d" % i, os.O_CREAT))
"""


def test_a_folder_of_control_characters_is_listed_in_parts(server, client, box):
    """90,000 such names once made an answer of 225 MB, and the server kept 1 GB."""
    count = 20000 if harness.IS_SANITIZED else 90000
    made = client.ok("POST", f"/sandboxes/{box}/exec", {"command": ["python3", "-c", MAKE, "/workspace/odd", str(count), "01", "240"], "timeout": 250})
    assert made["exitCode"] == 0, made
    path = f"/sandboxes/{box}/files/list"
    with Neighbour(server):
        grown, reply = peak_of(server, lambda: client.post(path, {"path": "/workspace/odd"}))
        part = client.ok("POST", path, {"path": "/workspace/odd", "limit": 2, "offset": count - 1})
    assert reply.status == 413 and "limit and offset" in reply.error
    assert [one["name"] for one in part] == ["\x01" * 240 + f"{count - 1:06}"]
    if not harness.IS_SANITIZED:
        assert grown < 300 * MIB, f"grew by {grown >> 20} MiB"
        harness.wait_until(lambda: memory(server, "VmRSS") < 200 * MIB, "the memory to be returned")


def test_a_long_list_is_whole_and_its_parts_fit_together(client, box):
    assert client.exec(box, ["python3", "-c", MAKE, "/workspace/plain", "3000", "61", "3"])["exitCode"] == 0
    path = f"/sandboxes/{box}/files/list"
    whole = client.ok("POST", path, {"path": "/workspace/plain"})
    assert [one["name"] for one in whole] == [f"aaa{i:06}" for i in range(3000)]
    assert whole[7]["path"] == "/workspace/plain/aaa000007"
    parts = [client.ok("POST", path, {"path": "/workspace/plain", "limit": 1700, "offset": at}) for at in (0, 1700, 3000, 9000)]
    assert parts[0] + parts[1] == whole and parts[2] == parts[3] == []


def begun_write(server, token, box, size):
    """A connection that has announced a body and sends none of it."""
    sock = socket.create_connection(("127.0.0.1", server.port), harness.DEADLINE_S)
    sock.sendall((f"POST /sandbox/sandboxes/{box}/files/write HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
                  f"Content-Type: application/json\r\nContent-Length: {size}\r\nExpect: 100-continue\r\n\r\n").encode())
    return sock, harness.status_of(sock.recv(65536))


def test_bytes_in_flight_are_shared_between_tenants():
    with harness.Server(env={"III_MAX_BODY_MB": "1", "III_AUTH_TOKEN": "boss"}, token="boss") as server:
        admin = server.client()
        secrets = {name: admin.ok("POST", "/tokens", {"name": name, "tenant": name})["secret"] for name in ("greedy", "other")}
        clients = {name: server.client(secret) for name, secret in secrets.items()}
        boxes = {name: one.create(image="python")["id"] for name, one in clients.items()}
        begun = [begun_write(server, secrets["greedy"], boxes["greedy"], MIB) for _ in range(SHARE // MIB)]
        assert {status for _, status in begun} == {100}
        refused, status = begun_write(server, secrets["greedy"], boxes["greedy"], MIB)
        assert status == 503
        text = "x" * (MIB - 1000)
        clients["other"].ok("POST", f"/sandboxes/{boxes['other']}/files/write", {"path": "f", "content": text})
        reply = clients["greedy"].get("/sandboxes")  # it does not ask for more: refused until something of its own is over
        assert reply.status == 503 and "in flight" in reply.error
        for sock, _ in [*begun, (refused, 0)]:
            sock.close()
        harness.wait_until(lambda: clients["greedy"].get("/sandboxes").status == 200, "its share to be given back")
        clients["greedy"].ok("POST", f"/sandboxes/{boxes['greedy']}/files/write", {"path": "f", "content": text})


def test_nobody_fills_the_memory_through_mcp_without_a_token():
    """Its token is looked at when the body is there: all who show none have one share together."""
    with harness.Server(env={"III_MAX_BODY_MB": "1", "III_AUTH_TOKEN": "boss"}, token="boss") as server:
        socks = []
        head = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {MIB}\r\nExpect: 100-continue\r\n\r\n"
        for _ in range(SHARE // MIB + 1):
            socks.append(socket.create_connection(("127.0.0.1", server.port), harness.DEADLINE_S))
            socks[-1].sendall(head.encode())
        assert [harness.status_of(one.recv(65536)) for one in socks] == [100] * (SHARE // MIB) + [503]
        for one in socks:
            one.close()
        assert server.client().get("/sandboxes").status == 200
