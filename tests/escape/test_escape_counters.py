"""One sandbox takes all it can get of a counter of the kernel: its neighbour, the host and the server's user still get what they need.
docs/security/kernel-counters.md has the list; bench/exhaust.py does the taking. What takes long or a large part of the host is in
test_escape_floods.py."""
import fcntl
import pathlib
import re
import subprocess
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "blackbox"))

import harness  # noqa: E402
import leak  # noqa: E402

USER = 65534
NS_GET_OWNER_UID = 0xB704
EXHAUST = harness.ROOT / "bench" / "exhaust.py"
IN_MACHINE = harness.BACKEND == "qemu"
pytestmark = pytest.mark.skipif(IN_MACHINE, reason="a machine has its own kernel: these are counters of the host's")
# What one sandbox gets at most: of a server that root started, and of one of an ordinary user, who shares some of it with his sandboxes.
MOST = {"inotify": (1024, 32), "timers": (4096, 4096), "signals": (4096, 4096), "mqueues": (5, 5), "ptys": (256, 256),
        "aio": (0, 0), "pipes": (10**6, None), "processes": (64, 64), "sysv_shm": (10**6, 10**6), "sysv_sem": (10**6, 10**6), "sysv_msg": (10**6, 10**6),
        "epoll": (10**6, 10**6), "keys": (0, 0), "namespaces": (0, 0), "mounts": (0, 0)}


@pytest.fixture(scope="module", params=["root", "user"])
def beside(request):
    """A server of root or of an ordinary user, and a sandbox that wants little."""
    is_user = request.param == "user"
    if is_user and not harness.IS_ROOT:
        pytest.skip("the suite runs as an ordinary user already")
    made = harness.Server(user=USER if is_user else None)
    with leak.watched(made):
        client = made.client()
        good = armed(client)
        yield is_user or not harness.IS_ROOT, made, client, good
        client.ok("DELETE", f"/sandboxes/{good}")
        client.close()


def armed(client):
    """A sandbox with the program that takes."""
    sid = client.create(pids=64)["id"]
    client.ok("POST", f"/sandboxes/{sid}/files/write", {"path": "exhaust.py", "content": EXHAUST.read_text()})
    return sid


def held(client, sid, name):
    """How much of it the sandbox has, and why it got no more."""
    text = client.post(f"/sandboxes/{sid}/files/read", {"path": f"{name}.held"})
    return text.status == 200 and text.json().split()


def needs(name, user=None):
    argv = [sys.executable, str(EXHAUST), "--need", name]
    if user is not None:
        argv = ["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups", "/usr/bin/python3", *argv[1:]]
    return subprocess.run(argv, capture_output=True, text=True, check=False, cwd=tempfile.gettempdir(), timeout=harness.DEADLINE_S)


@pytest.mark.parametrize("name", MOST)
def test_who_takes_all_takes_it_from_nobody(beside, name):
    is_user, _, client, good = beside
    most = MOST[name][is_user]
    if most is None:
        pytest.skip("an ordinary user's sandboxes share it with each other: docs/security/kernel-counters.md")
    bad = armed(client)
    client.ok("POST", f"/sandboxes/{bad}/exec/background", {"command": ["python3", "exhaust.py", name]})
    amount, why = harness.wait_until(lambda: held(client, bad, name), f"the sandbox to take all of {name}")
    assert int(amount) <= most and why, (amount, why)
    assert int(amount) > 0 or most == 0, "it got nothing, so the test says nothing"
    if most:
        done = client.exec(good, ["python3", "exhaust.py", "--need", name])
        assert done["exitCode"] == 0, done
        for user in {None, USER if is_user and harness.IS_ROOT else None}:
            outside = needs(name, user)
            assert outside.returncode == 0, outside
    client.ok("DELETE", f"/sandboxes/{bad}")


def test_a_sandbox_made_its_own_user_namespace(beside):
    """Whoever makes it is charged for what is counted in it: never root, never the same id twice."""
    is_user, server, client, _ = beside
    if is_user:
        pytest.skip("only root's sandboxes have ids of their own")
    other = client.create()["id"]
    seen = {}
    for pid in server.agents():
        with open(f"/proc/{pid}/ns/user", "rb", buffering=0) as space:
            owner = bytearray(4)
            fcntl.ioctl(space, NS_GET_OWNER_UID, owner)
        seen[int.from_bytes(owner, sys.byteorder)] = int(pathlib.Path(f"/proc/{pid}/uid_map").read_text().split()[1])
    assert len(seen) >= 2 and all(owner == base > 65536 for owner, base in seen.items()), seen
    client.ok("DELETE", f"/sandboxes/{other}")


def test_every_counter_of_this_kernel_is_in_the_list():
    """Kernels gain counters: one that the list lacks has to be looked at."""
    text = (harness.ROOT / "docs" / "security" / "kernel-counters.md").read_text()
    named = set(re.findall(r"`([\w.*/-]+)`", text))
    def is_named(name):
        return name in named or any(one.endswith("*") and name.startswith(one[:-1]) for one in named)
    found = [p.relative_to("/proc/sys").as_posix() for folder in ("user", "fs", "kernel") for p in pathlib.Path("/proc/sys", folder).rglob("*") if p.is_file()]
    missing = sorted(name for name in (f.replace("/", ".") for f in found) if not is_named(name))
    if missing:
        pytest.skip(f"a kernel with settings that docs/security/kernel-counters.md does not judge: {missing}")


SCAN = """import errno, ipaddress, socket, sys
refused = 0
for i, at in enumerate(ipaddress.ip_network(sys.argv[1]).hosts()):
    if i % 50 == 0:
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.setblocking(False)
    try:
        s.sendto(b"x", (str(at), 9))
    except OSError as e:
        refused += e.errno == errno.EPERM
print(refused)
"""


def neighbours(pid):
    """Flags of the entries of its network namespace in the table that all namespaces share: 0x6 is permanent and does not count."""
    return [line.split()[2] for line in pathlib.Path(f"/proc/{pid}/net/arp").read_text().splitlines()[1:]]


@pytest.mark.skipif(not harness.IS_ROOT or harness.BACKEND != "native", reason="looks into network namespaces that root's launcher made")
def test_who_looks_for_many_addresses_fills_no_table_of_the_host():
    with harness.Server() as server:
        client = server.client()
        sid = client.create(network=True)["id"]
        net = client.ok("POST", "/networks", {"name": "wide"})["id"]
        client.ok("POST", f"/networks/{net}/connect", {"sandboxId": sid})
        mine = client.exec(sid, "grep -o '^[0-9.]*' /proc/net/arp | tail -n 1")["stdout"].strip()
        subnet = mine.rsplit(".", 1)[0] + ".0/24"
        assert client.exec(sid, ["python3", "-c", SCAN, "198.18.0.0/21"])["stdout"] == "2046\n"  # refused before they are tracked
        assert client.exec(sid, ["python3", "-c", SCAN, subnet])["stdout"] == "0\n"
        pid = next(one for one in server.agents() if "eth0" in pathlib.Path(f"/proc/{one}/net/dev").read_text())
        seen = neighbours(pid)
        assert len(seen) >= 254 and set(seen) == {"0x6"}, seen
        client.ok("DELETE", f"/networks/{net}")
        client.ok("DELETE", f"/sandboxes/{sid}")


@pytest.mark.skipif(not harness.IS_ROOT or harness.BACKEND != "native", reason="looks into network namespaces that root's launcher made")
def test_connections_that_are_over_are_soon_forgotten():
    """Their entries in the kernel's table are nobody's memory, and a sandbox can close connections faster than they expire by default."""
    with harness.Server() as server, server.client() as client:
        sid = client.create(network=True)["id"]
        pid = next(one for one in server.agents() if "eth0" in pathlib.Path(f"/proc/{one}/net/dev").read_text())
        names = ("syn_sent", "syn_recv", "last_ack", "time_wait", "close")
        paths = [f"/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_{name}" for name in names]
        seen = subprocess.run(["nsenter", "-t", str(pid), "-n", "cat", *paths], capture_output=True, text=True, check=True).stdout
        assert seen.split() == ["30", "30", "10", "5", "2"], "in seconds"
        client.ok("DELETE", f"/sandboxes/{sid}")
