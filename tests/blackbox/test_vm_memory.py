"""Machines are saved with their memory: what runs goes on in every copy, and no two copies are the same to anybody."""
import time

import pytest

import harness

pytestmark = pytest.mark.skipif(harness.BACKEND != "qemu", reason="about virtual machines: III_TEST_BACKEND=qemu")

# Counts in its own memory; what it shows is written in one piece.
COUNTER = """
import os, time
n = 0
while True:
    n += 1
    with open("/tmp/n.new", "w") as f:
        f.write(f"{n} {os.getpid()}")
    os.rename("/tmp/n.new", "/tmp/n")
    time.sleep(0.05)
"""


def start_counter(caller, sid):
    caller.ok("POST", f"/sandboxes/{sid}/exec/background", {"command": ["python3", "-c", COUNTER]})
    harness.wait_until(lambda: count(caller, sid)[0] > 3, "the counter counts")


def count(caller, sid):
    """(number, pid of who counts); (0, 0) before the first."""
    words = caller.exec(sid, "cat /tmp/n 2>/dev/null || echo 0 0")["stdout"].split()
    return int(words[0]), int(words[1])


def goes_on(caller, sid):
    seen = count(caller, sid)[0]
    harness.wait_until(lambda: count(caller, sid)[0] > seen, f"the counter of {sid} goes on")


def random_bytes(caller, sid):
    return caller.exec(sid, "python3 -c 'import os; print(os.urandom(16).hex())'")["stdout"].strip()


def hostname(caller, sid):
    return caller.exec(sid, "cat /proc/sys/kernel/hostname")["stdout"].strip()


def test_forks_of_a_snapshot_go_on_from_the_same_number(client):
    source = client.create()["id"]
    start_counter(client, source)
    before, pid = count(client, source)
    snapshot = client.ok("POST", f"/sandboxes/{source}/snapshots", {})
    after = count(client, source)[0]
    forks = [s["id"] for s in client.ok("POST", f"/sandboxes/{source}/fork", {"count": 3})["sandboxes"]]
    everyone = [source, *forks]
    for sid in everyone:
        number, who = count(client, sid)
        assert number >= before and who == pid, f"{sid}: {number} of {who}, it was {before} of {pid}"
        goes_on(client, sid)
    assert len({random_bytes(client, sid) for sid in everyone}) == 4
    assert {hostname(client, sid) for sid in everyone} == set(everyone)
    # The snapshot is older than the forks: restored, the counter is back where it was then.
    time.sleep(2)
    late = count(client, source)[0]
    client.ok("POST", f"/sandboxes/{source}/snapshots/restore", {"snapshotId": snapshot["id"]})
    number, who = count(client, source)
    assert who == pid and before <= number, "the counter was restored with the machine"
    assert number < late or late - after < 20, f"{number} is not older than {late}"
    goes_on(client, source)


def test_the_source_does_not_notice(client):
    source = client.create()["id"]
    start_counter(client, source)
    client.exec(source, "echo mine > /workspace/f")
    boot = client.exec(source, "cat /proc/sys/kernel/random/boot_id")["stdout"]
    clone = client.ok("POST", f"/sandboxes/{source}/clone", {})["id"]
    client.exec(clone, "echo other > /workspace/f; kill $(cut -d' ' -f2 /tmp/n)")
    assert client.exec(source, "cat /workspace/f")["stdout"] == "mine\n"
    assert client.exec(source, "cat /proc/sys/kernel/random/boot_id")["stdout"] == boot
    goes_on(client, source)
    assert client.exec(clone, "cat /workspace/f")["stdout"] == "other\n"


def test_a_copy_of_a_copy_of_a_copy(client):
    sid = client.create()["id"]
    start_counter(client, sid)
    for _ in range(3):
        sid = client.ok("POST", f"/sandboxes/{sid}/clone", {})["id"]
        goes_on(client, sid)


def test_a_snapshot_outlives_its_source_and_the_server(server):
    with harness.Client(server.port) as caller:
        source = caller.create()["id"]
        start_counter(caller, source)
        snapshot = caller.ok("POST", f"/sandboxes/{source}/snapshots", {})
        other = caller.create()["id"]
        caller.delete(f"/sandboxes/{source}")
    server.kill()
    server.start()
    with harness.Client(server.port) as caller:
        caller.ok("POST", f"/sandboxes/{other}/snapshots/restore", {"snapshotId": snapshot["id"]})
        assert count(caller, other)[0] > 3
        goes_on(caller, other)
