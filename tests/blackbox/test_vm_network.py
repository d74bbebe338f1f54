"""Networks and the way out of virtual machines: what a machine's kernel may send when it obeys nobody, and how many networks there are for it.
All else about them is in the files that every backend passes."""
import ctypes
import os
import re
import socket
import struct

import pytest

import harness
import leak
import vmwatch

pytestmark = pytest.mark.skipif(not harness.IN_MACHINES, reason="about virtual machines: III_TEST_BACKEND=qemu")
PORT = 7000


def connect(client, nid, sid):
    return client.post(f"/networks/{nid}/connect", {"sandboxId": sid})


def test_one_network_and_one_way_out(outside):
    """A machine with both reaches its peer and what the policy opens; its peer has no way out."""
    with harness.Server(env={"III_GATEWAY_PORTS": str(outside)}) as server:
        client = server.client()
        web, both = client.create(name="web")["id"], client.create(name="both", network=True)["id"]
        nid = client.ok("POST", "/networks", {"name": "n"})["id"]
        for sid in (web, both):
            assert connect(client, nid, sid).json() == {"connected": True}
        serve = f"import socket\ns = socket.create_server(('', {PORT}))\nprint('up', flush=True)\nwhile True: s.accept()[0].sendall(b'hello from web')"
        job = client.ok("POST", f"/sandboxes/{web}/exec/background", {"command": ["python3", "-c", serve]})
        harness.wait_until(lambda: client.ok("GET", f"/exec/background/{job['id']}/logs")["output"] == "up\n", "the listener")

        def read(sid, host, port):
            return client.exec(sid, ["timeout", "20", "bash", "-c", f"read -t 15 -n 14 x < /dev/tcp/{host}/{port} && echo $x"])["stdout"]

        assert read(both, "web", PORT) == "hello from web\n"
        assert read(both, "100.96.0.1", outside) == "hello from out\n"
        assert read(web, "100.96.0.1", outside) == ""
        figures = client.ok("GET", f"/sandboxes/{both}/metrics")
        assert figures["networkRxBytes"] > 0 and figures["networkTxBytes"] > 0
        for sid in (web, both):
            client.ok("DELETE", f"/sandboxes/{sid}")
        client.ok("DELETE", f"/networks/{nid}")


def test_as_many_networks_as_interfaces(client, new_sandbox):
    sid, nets = new_sandbox()["id"], [client.ok("POST", "/networks", {"name": f"n{i}"})["id"] for i in range(5)]
    try:
        assert [connect(client, nid, sid).status for nid in nets[:4]] == [200] * 4
        reply = connect(client, nets[4], sid)
        assert reply.status == 503 and sid in reply.error and "4 networks" in reply.error
        assert client.post(f"/networks/{nets[1]}/disconnect", {"sandboxId": sid}).status == 200
        assert connect(client, nets[4], sid).status == 200
        names = re.findall(r"^ *(\w+):", client.exec(sid, "cat /proc/net/dev")["stdout"], re.M)
        assert sorted(names) == ["lo", "net0", "net2", "net3", "net4", "nic0"]
    finally:
        for nid in nets:
            client.ok("DELETE", f"/networks/{nid}")
    names = re.findall(r"^ *(\w+):", client.exec(sid, "cat /proc/net/dev")["stdout"], re.M)
    assert sorted(names) == ["lo", *(f"nic{i}" for i in range(5))]


def test_a_fork_is_in_no_network_of_its_source(client, new_sandbox):
    sid, nid = new_sandbox()["id"], client.ok("POST", "/networks", {"name": "n"})["id"]
    assert connect(client, nid, sid).status == 200
    clone = client.ok("POST", f"/sandboxes/{sid}/clone")["id"]
    try:
        seen = client.exec(clone, "cat /proc/net/dev /proc/net/fib_trie")["stdout"]
        assert "net0" not in seen and "10.64." not in seen and "nic1" in seen
        assert "net0" in client.exec(sid, "cat /proc/net/dev")["stdout"]
        assert connect(client, nid, clone).status == 200
        assert "10.64.0.3" in client.exec(clone, "cat /proc/net/fib_trie")["stdout"]
    finally:
        client.ok("DELETE", f"/sandboxes/{clone}")
        client.ok("DELETE", f"/networks/{nid}")


def test_a_network_of_a_machine_that_stands_still(client, new_sandbox):
    sid, nid = new_sandbox()["id"], client.ok("POST", "/networks", {"name": "n"})["id"]
    client.ok("POST", f"/sandboxes/{sid}/pause")
    reply = connect(client, nid, sid)
    assert reply.status == 409 and "paused" in reply.error
    client.ok("POST", f"/sandboxes/{sid}/resume")
    assert connect(client, nid, sid).status == 200
    client.ok("POST", f"/sandboxes/{sid}/pause")
    client.ok("DELETE", f"/networks/{nid}")
    client.ok("POST", f"/sandboxes/{sid}/resume")
    assert client.exec(sid, "echo on")["stdout"] == "on\n"


def mac_of(address):
    return b"\x02\x69" + socket.inet_aton(address)


class Tap:
    """The far end of a machine's interface: what is written here is what the machine sends."""

    def __init__(self, pid, name):
        number = next(int(fd) for fd in os.listdir(f"/proc/{pid}/fd") if f"iff:\t{name}\n" in leak.read(f"/proc/{pid}/fdinfo/{fd}"))
        pidfd = os.pidfd_open(pid)
        self.fd = ctypes.CDLL(None, use_errno=True).syscall(438, pidfd, number, 0)  # pidfd_getfd
        assert self.fd >= 0, os.strerror(ctypes.get_errno())
        os.close(pidfd)

    def udp(self, mac, source, target, text, ether=0x0800):
        """A datagram to PORT of target, whose hardware address follows from it."""
        body = struct.pack("!HHHH", PORT, PORT, 8 + len(text), 0) + text
        head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(body), 0, 0, 64, 17, 0, socket.inet_aton(source), socket.inet_aton(target))
        total = sum(struct.unpack("!10H", head))
        total = (total & 0xffff) + (total >> 16)
        head = head[:10] + struct.pack("!H", ~(total + (total >> 16)) & 0xffff) + head[12:]
        os.write(self.fd, mac_of(target) + mac + struct.pack("!H", ether) + head + body)

    def arp(self, mac, says, source, target, text):
        """Who has target? Asked by says with source, in a frame of mac."""
        body = struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1) + says + socket.inet_aton(source) + bytes(6) + socket.inet_aton(target)
        os.write(self.fd, mac_of(target) + mac + struct.pack("!H", 0x0806) + body + text)


class Ear:
    """All frames on their way to a machine, whatever its kernel makes of them."""

    def __init__(self, pid, name):
        libc = ctypes.CDLL(None, use_errno=True)
        own, its = os.open("/proc/self/ns/net", os.O_RDONLY), os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
        assert libc.setns(its, 0) == 0, os.strerror(ctypes.get_errno())
        try:
            self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))  # ETH_P_ALL
        finally:
            assert libc.setns(own, 0) == 0
            os.close(own)
            os.close(its)
        self.sock.bind((name, 3))
        self.sock.setblocking(False)

    def heard(self):
        frames = []
        while True:
            try:
                frames.append(self.sock.recv(2048))
            except BlockingIOError:
                return b"".join(frames)


def monitors(server):
    """Pids of machines' monitors in the order of their start."""
    found = vmwatch.monitors(server)
    return sorted(found, key=found.get)


def test_a_machine_sends_only_by_its_own_name(server, client, new_sandbox):
    """Frames as a machine would send whose kernel was taken over: of them only those with its own addresses arrive."""
    before = monitors(server)
    peer, liar = new_sandbox(name="peer")["id"], new_sandbox(name="liar")["id"]
    nid = client.ok("POST", "/networks", {"name": "n"})["id"]
    for sid in (peer, liar):
        assert connect(client, nid, sid).status == 200
    source, other, target = "10.64.0.3", "10.64.0.9", "10.64.0.2"
    own, foreign = mac_of(source), mac_of(other)
    listen = f"import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.bind(('', {PORT}))\nprint('up', flush=True)\nwhile True: print(s.recv(99).decode(), flush=True)"
    job = client.ok("POST", f"/sandboxes/{peer}/exec/background", {"command": ["python3", "-c", listen]})
    output = lambda: client.ok("GET", f"/exec/background/{job['id']}/logs")["output"].split()
    harness.wait_until(lambda: output() == ["up"], "the listener")
    first, second = (p for p in monitors(server) if p not in before)
    ear, tap = Ear(first, "tap1"), Tap(second, "tap1")
    try:
        tap.arp(own, own, source, target, b"its own question")
        tap.udp(own, source, target, b"first")
        harness.wait_until(lambda: output() == ["up", "first"], "what the machine may send")
        tap.udp(own, other, target, b"address")
        tap.udp(foreign, source, target, b"hardware")
        tap.udp(own, source, target, b"tagged", ether=0x8100)
        tap.udp(own, source, target, b"inet6", ether=0x86dd)
        tap.arp(own, own, other, target, b"question of another address")
        tap.arp(own, foreign, source, target, b"question for other hardware")
        tap.arp(foreign, foreign, source, target, b"question of other hardware")
        tap.udp(own, source, target, b"last")
        harness.wait_until(lambda: output()[-1:] == ["last"], "the last of them")
        assert output() == ["up", "first", "last"]
        heard = ear.heard()
        assert all(text in heard for text in (b"its own question", b"first", b"last"))
        said = (b"address", b"hardware", b"tagged", b"inet6", b"question of", b"question for")
        assert [text for text in said if text in heard] == []
    finally:
        ear.sock.close()
        os.close(tap.fd)
        client.ok("DELETE", f"/networks/{nid}")
