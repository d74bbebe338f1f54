"""The way out of sandboxes with network, in a small world of its own: the server's network namespace and an "outside" behind it,
both made here. Every address that must not be reached answers there, so that a hole would show."""
import contextlib
import ctypes
import json
import os
import subprocess
import sys
import time

import pytest

import harness
import leak
import test_rootless

pytestmark = [pytest.mark.skipif(not harness.IS_ROOT, reason="network namespaces for the test's own outside need root"), harness.needs("egress")]

OUTSIDE = ["198.51.100.10", "198.51.100.11", "169.254.169.254", "10.0.0.5", "172.16.0.9", "192.168.7.7", "100.64.0.9", "198.18.0.1"]
NAMES = {"web.test": "198.51.100.10", "neighbour.test": "198.51.100.10", "sub.web.test": "198.51.100.11", "rebind.test": "10.0.0.5", "evil.test": "198.51.100.10",
         "other.test": "198.51.100.10"}

# Greets on TCP 80, 443 and 8080, naming the address that was connected to, after the first bytes that come; echoes later ones. On 8081 it
# ends its own direction at once and counts what comes, on 8082 it says how much that was. Echoes UDP 9999. Answers DNS.
STAND_IN = r"""
import json, socket, struct, sys, threading
names = json.loads(sys.argv[1])

def talk(c):
    try:
        c.recv(65536)
        c.sendall(b"hello " + c.getsockname()[0].encode() + b"\n")
        while True:
            data = c.recv(65536)
            if not data:
                break
            c.sendall(data)
    except OSError:
        pass
    c.close()

totals = []

def half(c):
    c.sendall(b"bye")
    c.shutdown(socket.SHUT_WR)
    total = 0
    while data := c.recv(65536):
        total += len(data)
    totals.append(total)
    c.close()

def tell(c):
    c.sendall(json.dumps(totals).encode())
    c.close()

def listen(port, talk=talk):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("0.0.0.0", port))
    s.listen(64)
    while True:
        threading.Thread(target=talk, args=(s.accept()[0],), daemon=True).start()

def echo():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("0.0.0.0", 9999))
    while True:
        data, who = s.recvfrom(2000)
        s.sendto(data, who)

def resolve():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("0.0.0.0", 53))
    while True:
        data, who = s.recvfrom(2000)
        labels, at = [], 12
        while data[at]:
            labels.append(data[at + 1:at + 1 + data[at]].decode())
            at += 1 + data[at]
        question = data[12:at + 5]
        address = names.get(".".join(labels).lower())
        is_a = struct.unpack("!H", question[-4:-2])[0] == 1
        head = data[:2] + struct.pack("!HHHHH", 0x8180 if address else 0x8183, 1, 1 if address and is_a else 0, 0, 0)
        answer = b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 60, 4) + socket.inet_aton(address) if address and is_a else b""
        s.sendto(head + question + answer, who)

for job in (echo, resolve, lambda: listen(8081, half), lambda: listen(8082, tell), *(lambda p=p: listen(p) for p in (80, 443, 8080))):
    threading.Thread(target=job, daemon=True).start()
print("up", flush=True)
threading.Event().wait()
"""

FETCH = r"""
import socket, sys
host, port, said = sys.argv[1], int(sys.argv[2]), sys.argv[3]
try:
    s = socket.create_connection((host, port), 4)
    if port == 443:
        import ssl
        out = ssl.MemoryBIO()
        tls = ssl._create_unverified_context().wrap_bio(ssl.MemoryBIO(), out, server_hostname=said or None)
        try:
            tls.do_handshake()
        except ssl.SSLWantReadError:
            pass
        s.sendall(out.read())
    else:
        s.sendall(b"GET / HTTP/1.1\r\n" + (b"Host: " + said.encode() + b"\r\n" if said else b"") + b"\r\n")
    s.settimeout(4)
    print((s.recv(200) or b"closed").decode().strip())
except OSError as e:
    print("no:", type(e).__name__)
"""


@contextlib.contextmanager
def inside(pid):
    """This thread in the network namespace of pid."""
    libc = ctypes.CDLL(None, use_errno=True)
    home, there = os.open("/proc/thread-self/ns/net", os.O_RDONLY), os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    try:
        assert libc.setns(there, 0x40000000) == 0, os.strerror(ctypes.get_errno())
        yield
    finally:
        assert libc.setns(home, 0x40000000) == 0
        os.close(home)
        os.close(there)


class InsideClient(harness.Client):
    def __init__(self, pid, *args, **kw):
        super().__init__(*args, **kw)
        self.pid = pid

    def _send(self, *args):
        with inside(self.pid):
            return super()._send(*args)


class InsideServer(harness.Server):
    """A server whose host is the namespace of a process."""

    def __init__(self, pid, **kw):
        super().__init__(**kw)
        self.net_pid = pid

    def argv(self):
        return ["nsenter", "--net", "--target", str(self.net_pid), *super().argv()]

    def client(self, **kw):
        made = InsideClient(self.net_pid, self.port, **kw)
        self.clients.append(made)
        return made


def stand_in(*setup):
    """A process in a network namespace of its own that greets; its Popen."""
    script = " && ".join(["ip link set lo up", *setup, 'exec "$0" -c "$1" "$2"'])
    made = subprocess.Popen(["unshare", "--net", "sh", "-c", script, sys.executable, STAND_IN, json.dumps(NAMES)], stdout=subprocess.PIPE, text=True)
    assert made.stdout.readline() == "up\n"
    return made


@pytest.fixture(scope="module")
def world():
    """The pid whose namespace is the server's host: 198.51.100.1, greeting too, with all the outside behind it."""
    outside, host = stand_in(), stand_in()
    try:
        def ip(pid, *words):
            subprocess.run(["nsenter", "--net", "--target", str(pid), "ip", *words], check=True)

        ip(host.pid, "link", "add", "out", "type", "veth", "peer", "name", "in0", "netns", str(outside.pid))
        ip(host.pid, "addr", "add", "198.51.100.1/24", "dev", "out")
        ip(host.pid, "link", "set", "out", "up")
        for address in OUTSIDE:
            ip(outside.pid, "addr", "add", f"{address}/{24 if address == OUTSIDE[0] else 32}", "dev", "in0")
        ip(outside.pid, "link", "set", "in0", "up")
        ip(host.pid, "route", "add", "default", "via", OUTSIDE[0])
        yield host.pid
    finally:
        for process in (outside, host):
            process.terminate()
            process.wait()


CEILING = {"rules": [{"action": "allow", "cidr": "10.0.0.0/8"}]}  # private ranges are the operator's to open


def serve(world, **kw):
    env = {"III_EGRESS_DNS": "198.51.100.10:53", "III_EGRESS_CONNECTIONS": "4", "III_EGRESS_CEILING": json.dumps(CEILING), **kw.pop("env", {})}
    return leak.watched(InsideServer(world, **kw, env=env))


@pytest.fixture(scope="module")
def server(world):
    with serve(world) as made:
        yield made


@pytest.fixture
def networked(new_sandbox):
    return new_sandbox(network=True)["id"]


def fetch(client, sid, host, port=80, said=""):
    return client.exec(sid, ["python3", "-c", FETCH, host, str(port), said])["stdout"].strip()


def policy(client, sid, default, *rules):
    return client.ok("POST", f"/sandboxes/{sid}/egress", {"default": default, "rules": list(rules)})


def is_no(answer):
    return answer.startswith("no:") or answer == "closed"


def test_public_addresses_and_names_are_reached(client, networked):
    assert client.ok("GET", f"/sandboxes/{networked}/egress") == {"default": "allow", "rules": [], "active": True, "connections": 0, "flows": []}
    assert fetch(client, networked, "198.51.100.10") == "hello 198.51.100.10"
    assert fetch(client, networked, "web.test") == "hello 198.51.100.10"
    assert fetch(client, networked, "sub.web.test", 8080) == "hello 198.51.100.11"
    assert is_no(fetch(client, networked, "unknown.test"))


@pytest.mark.parametrize("address", ["198.51.100.1", *OUTSIDE[2:], "rebind.test", "224.0.0.1", "0.0.0.0", "127.0.0.1", "localhost"])
def test_host_metadata_and_private_addresses_are_not(client, box_with_network, address):
    assert is_no(fetch(client, box_with_network, address))


@pytest.fixture(scope="module")
def box_with_network(server):
    caller = server.client()
    sid = caller.create(network=True)["id"]
    yield sid
    caller.ok("DELETE", f"/sandboxes/{sid}")


def test_no_other_way_out(client, server, box_with_network):
    udp = "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(0.5); s.sendto(b'x', ('198.51.100.10', 9999)); s.recv(9)"
    six = "import socket; socket.create_connection(('2001:db8::1', 80), 2)"
    raw = "import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)"
    api = f"import socket; socket.create_connection(('198.51.100.1', {server.port}), 2).recv(1)"
    for script in (udp, six, raw, api):
        assert client.exec(box_with_network, ["python3", "-c", script])["exitCode"] != 0


def test_without_network_there_is_nothing(client, sandbox):
    for host in ("198.51.100.10", "web.test", "10.0.0.5"):
        assert is_no(fetch(client, sandbox, host))
    reply = client.post(f"/sandboxes/{sandbox}/egress", {"default": "allow"})
    assert reply.status == 409 and "network" in reply.error
    assert client.ok("GET", f"/sandboxes/{sandbox}/egress")["active"] is False


def test_rules_by_address_and_port(client, networked):
    policy(client, networked, "deny", {"action": "allow", "cidr": "198.51.100.10", "ports": [80, "8000-8100"]})
    assert fetch(client, networked, "198.51.100.10").startswith("hello") and fetch(client, networked, "198.51.100.10", 8080).startswith("hello")
    assert is_no(fetch(client, networked, "198.51.100.10", 443)) and is_no(fetch(client, networked, "198.51.100.11"))
    policy(client, networked, "allow", {"action": "deny", "cidr": "198.51.100.10/32"})
    assert is_no(fetch(client, networked, "198.51.100.10")) and fetch(client, networked, "198.51.100.11").startswith("hello")


def test_private_ranges_open_only_by_name_of_the_range(client, networked):
    policy(client, networked, "allow", {"action": "allow", "cidr": "0.0.0.0/0"}, {"action": "allow", "domain": "rebind.test"})
    assert is_no(fetch(client, networked, "10.0.0.5")) and is_no(fetch(client, networked, "rebind.test", said="rebind.test"))
    policy(client, networked, "deny", {"action": "allow", "cidr": "10.0.0.0/24"}, {"action": "allow", "cidr": "169.254.0.0/16"}, {"action": "allow", "cidr": "198.51.100.1"})
    assert fetch(client, networked, "10.0.0.5") == "hello 10.0.0.5"
    assert is_no(fetch(client, networked, "169.254.169.254")) and is_no(fetch(client, networked, "198.51.100.1"))


def denied(client, sid):
    return [e["data"] for e in client.ok("GET", f"/events/history?topic=egress.denied&sandboxId={sid}&limit=1000")["events"]]


def test_the_ceiling_bounds_every_policy(world):
    ceiling = {"default": "deny", "rules": [{"action": "allow", "cidr": "198.51.100.10/32", "ports": [80]}, {"action": "allow", "domain": "*.web.test"}],
               "tenants": {"narrow": {"rules": [{"action": "deny", "domain": "*.web.test"}]}}}
    with serve(world, token="root", env={"III_AUTH_TOKEN": "root", "III_EGRESS_CEILING": json.dumps(ceiling)}) as made:
        for tenant in ("wide", "narrow"):
            client = made.client(token=made.client(token="root").ok("POST", "/tokens", {"name": tenant, "tenant": tenant})["secret"])
            sid = client.create(network=True)["id"]
            everything = [{"action": "allow", "cidr": c} for c in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "0.0.0.0/0")]
            policy(client, sid, "allow", *everything)
            assert fetch(client, sid, "198.51.100.10") == "hello 198.51.100.10"
            assert fetch(client, sid, "sub.web.test", said="sub.web.test").startswith("hello") == (tenant == "wide")
            for host in ("10.0.0.5", "172.16.0.9", "192.168.7.7", "100.64.0.9", "198.51.100.11", "neighbour.test"):
                assert is_no(fetch(client, sid, host)), host
            assert is_no(fetch(client, sid, "198.51.100.10", 8080))
            policy(client, sid, "deny")
            assert is_no(fetch(client, sid, "198.51.100.10"))
            kept = denied(client, sid)
            assert {(d["address"], d["port"], d["reason"]) for d in kept if "address" in d} >= {("10.0.0.5", 80, "policy"), ("198.51.100.10", 8080, "policy")}
            assert {d["name"] for d in kept if d["reason"] == "lookup"} >= {"neighbour.test"}


def test_what_is_denied_is_recorded_within_bounds(server, client, networked):
    policy(client, networked, "deny")
    script = """import socket
for i in range(200):
    try:
        s = socket.create_connection(("198.51.100.10", 1000 + i), 4); s.recv(1)
    except OSError: pass"""
    assert client.exec(networked, ["python3", "-c", script])["exitCode"] == 0
    kept = denied(client, networked)
    assert 30 <= len(kept) <= 60 and all(d["sandboxId"] == networked and d["reason"] == "policy" for d in kept)
    with open(server.data_dir / "audit" / "current.jsonl", encoding="utf-8") as lines:
        audited = [line for line in map(json.loads, lines) if line.get("operation") == "egress.denied" and line["target"]["sandboxId"] == networked]
    assert audited and audited[0]["status"] == 403 and audited[0]["target"]["address"] == "198.51.100.10"


@pytest.mark.parametrize("ceiling, says", [("{", "invalid JSON"), ("[]", "must be an object"), ('{"rulez": []}', "rulez"), ('{"default": "maybe"}', "default"),
                                           ('{"rules": [{"action": "allow", "port": [80]}]}', '"port"'), ('{"tenants": {"a": {"rules": 1}}}', "tenant a"),
                                           ('{"rules": [{"action": "allow", "cidr": "10/8"}]}', "cidr"), ('{"tenants": []}', "tenants")])
def test_a_ceiling_that_cannot_be_read_stops_the_start(tmp_path, ceiling, says):
    done = harness.run_cli("serve", "--port", "0", "--engine-port", "0", "--data-dir", tmp_path / "data", env={"III_EGRESS_CEILING": ceiling})
    assert done.returncode == 1 and "III_EGRESS_CEILING" in done.stderr and says in done.stderr, done.stderr


def test_rules_by_name(client, networked):
    policy(client, networked, "deny", {"action": "allow", "domain": "Web.test"}, {"action": "allow", "domain": "*.web.test", "ports": [8080]})
    assert is_no(fetch(client, networked, "198.51.100.10", said="web.test"))  # nobody asked for the name yet
    assert fetch(client, networked, "web.test", said="web.test") == "hello 198.51.100.10"
    assert fetch(client, networked, "web.test", 443, "web.test") == "hello 198.51.100.10"
    assert is_no(fetch(client, networked, "web.test", 8080))  # without ports a name means 80 and 443
    assert fetch(client, networked, "sub.web.test", 8080, "sub.web.test") == "hello 198.51.100.11" and is_no(fetch(client, networked, "sub.web.test", 80, "sub.web.test"))
    for port in (80, 443):
        for said in ("neighbour.test", "", "x.web.test"):
            assert is_no(fetch(client, networked, "web.test", port, said)), (port, said)
    assert is_no(fetch(client, networked, "neighbour.test")) and is_no(fetch(client, networked, "198.51.100.11", 80))
    policy(client, networked, "allow", {"action": "deny", "domain": "web.test"})
    assert is_no(fetch(client, networked, "web.test")) and fetch(client, networked, "sub.web.test").startswith("hello")


# Sends each of its arguments (hex) on one connection to web.test, and prints all that came back; the stand-in greets once, then echoes.
TALK = r"""
import socket, sys
socket.getaddrinfo("web.test", 80)
port, got = int(sys.argv[1]), b""
s = socket.create_connection(("198.51.100.10", port), 60)
s.settimeout(60)  # what is refused is reset at once
try:
    for part in sys.argv[2:]:
        s.sendall(bytes.fromhex(part))
        got += s.recv(65536)
except OSError:
    pass
print(got.decode("latin-1"))
"""
GOOD = b"GET / HTTP/1.1\r\nHost: web.test\r\n\r\n"


def talk(client, sid, port, *parts):
    return client.exec(sid, ["python3", "-c", TALK, str(port), *(p.hex() for p in parts)])["stdout"]


BYPASSES = {
    "absolute target of another host": [b"GET http://evil.test/ HTTP/1.1\r\nHost: web.test\r\n\r\n"],
    "two hosts": [b"GET / HTTP/1.1\r\nHost: web.test\r\nHost: evil.test\r\n\r\n"],
    "two hosts, other order": [b"GET / HTTP/1.1\r\nHost: evil.test\r\nHost: web.test\r\n\r\n"],
    "CONNECT": [b"CONNECT evil.test:443 HTTP/1.1\r\nHost: web.test\r\n\r\n"],
    "no host": [b"GET / HTTP/1.0\r\n\r\n"],
    "folded line": [b"GET / HTTP/1.1\r\nHost: web.test\r\n Host: evil.test\r\n\r\n"],
    "bare LF": [b"GET / HTTP/1.1\nHost: web.test\n\n"],
    "a second length": [b"POST / HTTP/1.1\r\nHost: web.test\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
    "HTTP/2 in clear text": [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    "not HTTP": [b"\x00\x01\x02"],
}
SECOND = {
    "another host": b"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n",
    "another allowed host": b"GET / HTTP/1.1\r\nHost: other.test\r\n\r\n",
    "CONNECT": b"CONNECT evil.test:443 HTTP/1.1\r\nHost: web.test\r\n\r\n",
    "another protocol": b"GET / HTTP/1.1\r\nHost: web.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    "bytes": b"\x00\x01\x02",
}


def test_names_cannot_be_bypassed(client, networked):
    policy(client, networked, "deny", {"action": "allow", "domain": "web.test", "ports": [80, 443, 8080]}, {"action": "allow", "domain": "other.test"})
    hello = "hello 198.51.100.10"
    assert is_no(fetch(client, networked, "web.test", 80, "evil.test"))  # first: later ones may be past the bound of records
    for port in (80, 8080):
        both = talk(client, networked, port, GOOD, GOOD)
        assert hello in both and "Host: web.test" in both, both  # the stand-in echoes the second
        for name, parts in BYPASSES.items():
            if port == 80 or name not in ("not HTTP", "bare LF"):
                assert talk(client, networked, port, *parts).strip() == "", (port, name)
        for name, second in SECOND.items():
            answer = talk(client, networked, port, GOOD, second)
            assert hello in answer and answer.strip() == hello, (port, name, answer)
            assert talk(client, networked, port, GOOD + second).count("hello") <= 1, (port, name)
    # On a port that a rule lists, other protocols work, also those in which a line comes first; TLS must name the server.
    assert hello in talk(client, networked, 8080, b"\x00\x01\x02") and hello in talk(client, networked, 8080, b"PING\r\n")
    for port in (443, 8080):
        assert fetch_tls(client, networked, port, "web.test") == hello
        for said in ("evil.test", "other.test" if port == 8080 else "evil.test", ""):
            assert is_no(fetch_tls(client, networked, port, said)), (port, said)
    assert is_no(fetch_tls(client, networked, 443, "web.test", first=GOOD))
    reasons = {d["reason"] for d in denied(client, networked)}
    assert {"CONNECT leads to another host", "exactly one Host header is required", "name"} <= reasons, reasons


def fetch_tls(client, sid, port, said, first=b""):
    script = FETCH.replace("if port == 443:", "if True:").replace("s.sendall(out.read())", "s.sendall(bytes.fromhex(sys.argv[4]) or out.read())")
    client.exec(sid, ["python3", "-c", "import socket; socket.getaddrinfo('web.test', 80)"])
    return client.exec(sid, ["python3", "-c", script, "198.51.100.10", str(port), said, first.hex()])["stdout"].strip()


def test_tightening_cuts_open_connections(client, networked):
    script = """import socket
s = socket.create_connection(("198.51.100.10", 8080), 4)
s.sendall(b"x"); s.recv(99); print("open", flush=True)
s.settimeout(60)
try:
    print("end", s.recv(1))
except OSError as e:
    print("cut")"""
    job = client.ok("POST", f"/sandboxes/{networked}/exec/background", {"command": ["python3", "-c", script]})
    output = lambda: client.ok("GET", f"/exec/background/{job['id']}/logs")["output"]
    harness.wait_until(lambda: output() == "open\n", "the connection")
    seen = client.ok("GET", f"/sandboxes/{networked}/egress")
    assert seen["connections"] == 1 and [(f["address"], f["port"], "name" in f) for f in seen["flows"]] == [("198.51.100.10", 8080, False)]
    assert seen["flows"][0]["openedAt"] > 0
    policy(client, networked, "allow", {"action": "deny", "cidr": "198.51.100.11"})
    assert client.ok("GET", f"/sandboxes/{networked}/egress")["connections"] == 1
    assert policy(client, networked, "deny")["connections"] == 0
    harness.wait_until(lambda: output() == "open\ncut\n", "the connection to be cut")


def test_large_transfers_and_many_connections(client, networked):
    """More at once than there may be: the rest waits its turn. What is echoed comes back whole."""
    script = """import socket, threading, hashlib, os
data, good = os.urandom(1 << 20), []
def one():
    s = socket.create_connection(("198.51.100.10", 8080), 30)
    s.settimeout(30)
    s.sendall(b"x"); first = s.recv(1000)
    assert first.startswith(b"hello")
    t = threading.Thread(target=lambda: (s.sendall(data), s.shutdown(socket.SHUT_WR)))
    t.start()
    got = b""
    while True:
        piece = s.recv(65536)
        if not piece: break
        got += piece
    t.join(); good.append(got == data)
threads = [threading.Thread(target=one) for _ in range(10)]
[t.start() for t in threads]; [t.join() for t in threads]
print(good.count(True))"""
    assert client.exec(networked, ["python3", "-c", script])["stdout"] == "10\n"


def test_each_direction_ends_by_itself(client, networked):
    """A client that has sent all gets the rest of the answer, and a server that has sent all gets the rest of the request."""
    script = """import json, socket, time
def connect(port):
    s = socket.create_connection(("198.51.100.10", port), 30)
    s.settimeout(30)
    return s
def rest(s):
    got = b""
    while data := s.recv(65536): got += data
    return got
s = connect(8080)
s.sendall(b"x"); print(s.recv(100).decode(), end="")
s.sendall(bytes(300000)); s.shutdown(socket.SHUT_WR)
print(len(rest(s)))
s = connect(8081)
print(rest(s).decode())
s.sendall(bytes(3000000)); s.shutdown(socket.SHUT_WR)
print(rest(s) == b"")
until = time.monotonic() + 30
while 3000000 not in json.loads(rest(connect(8082))) and time.monotonic() < until: time.sleep(0.05)
print(json.loads(rest(connect(8082))))"""
    assert client.exec(networked, ["python3", "-c", script])["stdout"] == "hello 198.51.100.10\n300000\nbye\nTrue\n[3000000]\n"


def test_a_tenant_has_a_share_of_all_connections(world):
    env = {"III_AUTH_TOKEN": "root", "III_RELAY_CONNECTIONS": "8", "III_EGRESS_CONNECTIONS": "8"}
    with serve(world, env=env, token="root") as server:
        admin = server.client(token="root")
        loud, quiet = (server.client(token=admin.ok("POST", "/tokens", {"name": n, "tenant": n})["secret"]) for n in ("loud", "quiet"))
        boxes = [loud.ok("POST", "/sandboxes", {"image": "python", "memory": 128, "network": True})["id"] for _ in range(2)]
        other = quiet.ok("POST", "/sandboxes", {"image": "python", "memory": 128, "network": True})["id"]
        script = """import socket, time
held = [socket.socket() for _ in range(6)]
for s in held: s.setblocking(False); s.connect_ex(("198.51.100.10", 8080))
time.sleep(600)"""
        for box in boxes:
            loud.ok("POST", f"/sandboxes/{box}/exec/background", {"command": ["python3", "-c", script]})
        count = lambda box: loud.ok("GET", f"/sandboxes/{box}/egress")["connections"]
        harness.wait_until(lambda: sum(map(count, boxes)) == 2, "a quarter of the connections")
        assert fetch(quiet, other, "198.51.100.10").startswith("hello")  # the others are not used up
        assert sum(map(count, boxes)) == 2
        first = next(b for b in boxes if count(b))
        loud.ok("DELETE", f"/sandboxes/{first}")
        harness.wait_until(lambda: count(next(b for b in boxes if b != first)) == 2, "those that waited in the other sandbox")


def test_connections_that_wait_cost_nothing(client, server, networked):
    script = """import socket, time
held = [socket.socket() for _ in range(6)]
for s in held: s.setblocking(False); s.connect_ex(("198.51.100.10", 8080))
time.sleep(600)"""
    client.ok("POST", f"/sandboxes/{networked}/exec/background", {"command": ["python3", "-c", script]})
    harness.wait_until(lambda: client.ok("GET", f"/sandboxes/{networked}/egress")["connections"] == 4, "as many as there may be")
    before = leak.cpu_ticks(server.proc.pid)
    time.sleep(2)
    assert leak.cpu_ticks(server.proc.pid) - before < 0.3 * os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("body, word", [
    ({"default": "maybe"}, "default"), ({"rules": [{}]}, "action"), ({"rules": [{"action": "allow", "cidr": "10.0.0.0/33"}]}, "cidr"),
    ({"rules": [{"action": "allow", "cidr": "::1"}]}, "cidr"), ({"rules": [{"action": "deny", "domain": "a b"}]}, "domain"),
    ({"rules": [{"action": "deny", "ports": [0]}]}, "ports"), ({"rules": [{"action": "deny", "ports": ["9-8"]}]}, "ports"),
    ({"rules": [{"action": "deny", "ports": "80"}]}, "ports"), ({"rules": [{"action": "deny"}] * 257}, "rules")])
def test_bad_policies(client, box_with_network, body, word):
    reply = client.post(f"/sandboxes/{box_with_network}/egress", body)
    assert reply.status == 400 and word in reply.error
    assert client.ok("GET", f"/sandboxes/{box_with_network}/egress")["rules"] == []


def test_policy_and_way_out_survive_a_crash(world):
    with serve(world) as server:
        caller = server.client()
        sid = caller.create(network=True)["id"]
        policy(caller, sid, "deny", {"action": "allow", "domain": "web.test"})
        server.held.look(server.pid)
        caller.close()
        server.kill()
        server.start()
        caller = server.client()
        state = caller.ok("GET", f"/sandboxes/{sid}/egress")
        assert state["default"] == "deny" and state["rules"] == [{"action": "allow", "domain": "web.test"}]
        harness.wait_until(lambda: caller.ok("GET", f"/sandboxes/{sid}/egress")["active"], "the way out")
        assert fetch(caller, sid, "web.test", said="web.test") == "hello 198.51.100.10"
        assert is_no(fetch(caller, sid, "198.51.100.11"))


def test_a_clone_and_a_restored_sandbox_keep_the_policy(client, networked):
    policy(client, networked, "deny", {"action": "allow", "cidr": "198.51.100.11"})
    clone = client.ok("POST", f"/sandboxes/{networked}/clone")["id"]
    snapshot = client.ok("POST", f"/sandboxes/{networked}/snapshots", {"name": "s"})
    client.ok("POST", f"/sandboxes/{networked}/snapshots/restore", {"snapshotId": snapshot["id"]})
    try:
        for sid in (networked, clone):
            harness.wait_until(lambda: fetch(client, sid, "198.51.100.11").startswith("hello"), "the way out of " + sid)
            assert is_no(fetch(client, sid, "198.51.100.10"))
    finally:
        client.ok("DELETE", f"/sandboxes/{clone}")


@pytest.mark.skipif(harness.BACKEND == "qemu", reason="what machines are made from is kept for servers of root")
@pytest.mark.skipif(bool(test_rootless.WHY_NOT), reason=test_rootless.WHY_NOT or "runs")
def test_as_an_ordinary_user(world):
    with serve(world, user=test_rootless.USER) as server:
        caller = server.client()
        sid = caller.create(network=True)["id"]
        assert fetch(caller, sid, "web.test") == "hello 198.51.100.10"
        for address in ("198.51.100.1", "10.0.0.5", "169.254.169.254", "127.0.0.1"):
            assert is_no(fetch(caller, sid, address))
