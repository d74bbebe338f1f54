"""Networks: chosen sandboxes reach each other by address and by name, and nothing else."""
import re
import subprocess

import pytest

import harness
import leak

SERVER_ENV = {"III_MAX_NETWORKS": "5", "III_MAX_NETWORK_MEMBERS": "3"}
pytestmark = [pytest.mark.skipif(not harness.IS_ROOT, reason="networks need a server that runs as root"),
              harness.needs("network")]

LISTEN = """import socket
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("0.0.0.0", 7000))
s.listen()
print("up", flush=True)
while True:
    c, who = s.accept()
    c.sendall(("hello " + who[0]).encode())
    c.close()
"""
FETCH = """import socket, sys
try:
    s = socket.create_connection((sys.argv[1], 7000), 3)
    print(s.recv(100).decode())
except OSError as e:
    print("no:", type(e).__name__)
"""


@pytest.fixture
def new_network(server):
    made, caller = [], server.client()

    def create(name):
        record = caller.ok("POST", "/networks", {"name": name})
        made.append(record["id"])
        return record["id"]

    yield create
    for nid in made:
        assert caller.delete(f"/networks/{nid}").status in (200, 404)
    caller.close()


def connect(client, nid, sid):
    return client.post(f"/networks/{nid}/connect", {"sandboxId": sid})


def disconnect(client, nid, sid):
    return client.post(f"/networks/{nid}/disconnect", {"sandboxId": sid})


def listen(client, sid):
    job = client.ok("POST", f"/sandboxes/{sid}/exec/background", {"command": ["python3", "-c", LISTEN]})
    harness.wait_until(lambda: client.ok("GET", f"/exec/background/{job['id']}/logs")["output"] == "up\n", "the listener")


def fetch(client, sid, host):
    return client.exec(sid, ["python3", "-c", FETCH, host])["stdout"].strip()


def address(client, sid, name):
    return client.exec(sid, ["python3", "-c", f"import socket; print(socket.gethostbyname({name!r}))"])["stdout"].strip()


@pytest.mark.skipif(harness.BACKEND == "docker", reason="switches and interfaces are the engine's")
def test_nobody_says_anything_by_itself(new_network, sandbox, client):
    """Kernels with IPv6 on an interface look for routers within seconds, which would be taken for use of the sandbox."""
    assert connect(client, new_network("quiet"), sandbox).status == 200
    seen = client.exec(sandbox, "sleep 3; grep net[0-9] /proc/net/dev")["stdout"].split()
    assert (seen[2], seen[10]) == ("0", "0"), "packets that nobody has sent"


def host_addresses():
    out = subprocess.run(["ip", "-4", "-o", "addr", "show", "scope", "global"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"inet (\S+)/", out)


def members(client, nid):
    return next(n for n in client.ok("GET", "/networks")["networks"] if n["id"] == nid)["sandboxes"]


def test_the_record(client, new_network):
    strict = client.post("/networks", {"name": "backend", "driver": "macvlan"}, headers={"Prefer": "handling=strict"})
    assert strict.status == 400 and '"macvlan"' in strict.error
    record = client.ok("POST", "/networks", {"name": "backend", "driver": "bridge"})
    assert "warnings" not in record
    assert record["id"].startswith("net_") and record["name"] == "backend" and record["sandboxes"] == []
    assert record["dockerNetworkId"] == "iii-net-" + record["id"] and isinstance(record["createdAt"], int)
    assert client.ok("GET", "/networks")["networks"] == [record]
    again = client.post("/networks", {"name": "backend"})
    assert again.status == 409 and "backend" in again.error
    assert client.ok("DELETE", f"/networks/{record['id']}") == {"deleted": record["id"]}
    assert client.delete(f"/networks/{record['id']}").status == 404
    assert client.post("/networks", {}).status == 400


def test_members_reach_each_other_and_nothing_else(client, new_sandbox, new_network):
    """None of them was created with network."""
    nid, web, caller, stranger = new_network("n"), new_sandbox(name="web")["id"], new_sandbox(name="caller")["id"], new_sandbox()["id"]
    listen(client, web)
    assert fetch(client, caller, "web").startswith("no:")
    for sid in (web, caller):
        assert connect(client, nid, sid).json() == {"connected": True}
    assert members(client, nid) == [web, caller]
    own = address(client, caller, "caller")
    for name in ("web", web, address(client, caller, "web")):
        assert fetch(client, caller, name) == "hello " + own
    assert fetch(client, web, "127.0.0.1") == "hello 127.0.0.1"
    assert fetch(client, stranger, "web").startswith("no:")
    assert fetch(client, stranger, address(client, web, "web")).startswith("no:")
    network = address(client, caller, "web").rpartition(".")[0]
    for host in (f"{network}.1", "192.0.2.1", *host_addresses()):
        way = client.exec(caller, ["python3", "-c", f"import socket; socket.create_connection(('{host}', {client.port}), 1)"])
        assert way["exitCode"] != 0 and "refused" not in way["stderr"], (host, way)
    assert disconnect(client, nid, web).json() == {"disconnected": True}
    assert members(client, nid) == [caller]
    assert fetch(client, caller, "web").startswith("no:") and fetch(client, caller, own).startswith("no:")
    assert "web" not in client.exec(caller, "cat /etc/hosts")["stdout"]
    assert client.exec(web, "grep -c -E 'net0|eth' /proc/net/dev")["stdout"].strip() == "0"
    assert connect(client, nid, web).status == 200
    assert fetch(client, caller, "web") == "hello " + own


def test_two_networks_are_apart(client, new_sandbox, new_network):
    first, second = new_network("first"), new_network("second")
    left, middle, right = (new_sandbox(name=name)["id"] for name in ("left", "middle", "right"))
    for nid, sid in ((first, left), (first, middle), (second, middle), (second, right)):
        assert connect(client, nid, sid).status == 200
    for sid in (left, middle, right):
        listen(client, sid)
    assert fetch(client, left, "middle").startswith("hello") and fetch(client, right, "middle").startswith("hello")
    assert fetch(client, middle, "left").startswith("hello") and fetch(client, middle, "right").startswith("hello")
    far = address(client, middle, "right")
    assert fetch(client, left, "right").startswith("no:") and fetch(client, left, far).startswith("no:")


def test_members_cannot_change_the_network(client, new_sandbox, new_network):
    nid, sid = new_network("n"), new_sandbox()["id"]
    assert connect(client, nid, sid).status == 200
    script = "import socket, fcntl, struct\ns = socket.socket()\nfcntl.ioctl(s, 0x8914, struct.pack('16sH14s', b'net0', 0, b''))"
    assert "PermissionError" in client.exec(sid, ["python3", "-c", script])["stderr"]
    assert "PermissionError" in client.exec(sid, ["python3", "-c", "import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)"])["stderr"]


def test_own_lines_of_the_hosts_file_stay(client, new_sandbox, new_network):
    nid, sid = new_network("n"), new_sandbox(name="odd name")["id"]
    client.exec(sid, "echo '192.0.2.1 mine' >> /etc/hosts")
    before = client.exec(sid, "cat /etc/hosts")["stdout"]
    assert connect(client, nid, sid).status == 200
    during = client.exec(sid, "cat /etc/hosts")["stdout"]
    assert during.startswith(before) and re.search(rf"^10\.64\.\d+\.\d+\t{sid}$", during, re.M) and "odd name" not in during
    assert disconnect(client, nid, sid).status == 200
    assert client.exec(sid, "cat /etc/hosts")["stdout"] == before


def test_conflicts_and_unknown_ones(client, new_sandbox, new_network):
    nid, sid = new_network("n"), new_sandbox()["id"]
    assert disconnect(client, nid, sid).status == 409
    assert connect(client, nid, sid).status == 200
    again = connect(client, nid, sid)
    assert again.status == 409 and sid in again.error
    assert connect(client, nid, harness.UNKNOWN).status == 404
    assert disconnect(client, nid, harness.UNKNOWN).status == 404
    unknown = "net_" + "0" * 24
    assert connect(client, unknown, sid).status == 404 and disconnect(client, unknown, sid).status == 404
    assert client.post(f"/networks/{nid}/connect", {}).status == 400


def test_killing_a_member_and_deleting_a_network(client, new_sandbox, new_network):
    nid, stays, goes = new_network("n"), new_sandbox(name="stays")["id"], new_sandbox(name="goes")["id"]
    for sid in (stays, goes):
        assert connect(client, nid, sid).status == 200
    client.ok("DELETE", f"/sandboxes/{goes}")
    assert members(client, nid) == [stays]
    harness.wait_until(lambda: "goes" not in client.exec(stays, "cat /etc/hosts")["stdout"], "the name of a killed member to go")
    assert client.ok("DELETE", f"/networks/{nid}") == {"deleted": nid}
    assert client.exec(stays, "grep -c -E 'net0|eth' /proc/net/dev; grep -c stays /etc/hosts")["stdout"] == "0\n0\n"


def test_limits(client, new_sandbox, new_network):
    nid = new_network("full")
    for _ in range(3):
        assert connect(client, nid, new_sandbox()["id"]).status == 200
    reply = connect(client, nid, new_sandbox()["id"])
    assert reply.status == 503 and "III_MAX_NETWORK_MEMBERS" in reply.error
    for number in range(4):
        new_network(f"n{number}")
    reply = client.post("/networks", {"name": "one too many"})
    assert reply.status == 503 and "III_MAX_NETWORKS" in reply.error


def test_connected_again_after_a_crash_of_the_server():
    with leak.watched(harness.Server()) as server:
        with harness.Client(server.port) as caller:
            web, other = (caller.create(name=name)["id"] for name in ("web", "other"))
            nid = caller.ok("POST", "/networks", {"name": "n"})["id"]
            for sid in (web, other):
                assert connect(caller, nid, sid).status == 200
            listen(caller, web)
            before = fetch(caller, other, "web")
            assert before.startswith("hello 10.64.")
        server.held.look(server.pid)
        server.kill()
        server.start()
        with harness.Client(server.port) as caller:
            assert members(caller, nid) == [web, other]
            harness.wait_until(lambda: fetch(caller, other, "web") == before, "the members to be connected again")
            assert disconnect(caller, nid, web).status == 200
            assert fetch(caller, other, "web").startswith("no:")
            caller.ok("DELETE", f"/networks/{nid}")


def test_connected_again_after_a_restore(client, new_sandbox, new_network):
    nid, web, other = new_network("n"), new_sandbox(name="web")["id"], new_sandbox(name="other")["id"]
    snapshot = client.ok("POST", f"/sandboxes/{web}/snapshots", {"name": "before"})
    for sid in (web, other):
        assert connect(client, nid, sid).status == 200
    client.ok("POST", f"/sandboxes/{web}/snapshots/restore", {"snapshotId": snapshot["id"]})
    listen(client, web)
    harness.wait_until(lambda: fetch(client, other, "web").startswith("hello"), "the restored member to be connected again")
    harness.wait_until(lambda: "other" in client.exec(web, "cat /etc/hosts")["stdout"], "its names to be there again")
