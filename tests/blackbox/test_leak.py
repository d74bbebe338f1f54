"""Processes, mounts, cgroups, namespaces, sockets, fds and folders before and after a round of work: the same."""
import json
import socket
import time

import harness
import leak

QUIET_S = 5 if harness.BACKEND == "qemu" else 3  # longer than the time between two steps of a machine that comes or goes, or of a pool that refills on a busy host


def round_of_work(server):
    with harness.Client(server.port) as caller:
        ids = [caller.create(memory=64 + i)["id"] for i in range(6)]
        for sid in ids:
            caller.exec(sid, "sleep 99971 & echo x > /workspace/f; (sleep 99972 &)")
            caller.ok("POST", f"/sandboxes/{sid}/exec/background", {"command": "sleep 99973"})
            caller.ok("POST", f"/sandboxes/{sid}/files/write", {"path": "a/b", "content": "x"})
            list(caller.events("POST", f"/sandboxes/{sid}/exec/stream", {"command": "echo x"}))
            assert caller.post(f"/sandboxes/{sid}/exec", {"command": "sleep 99974", "timeout": 1}).status == 504 if sid == ids[0] else True
        copy = caller.ok("POST", f"/sandboxes/{ids[0]}/clone")["id"]
        caller.ok("POST", f"/sandboxes/{ids[1]}/pause")
        for bad in ({"image": ""}, {"image": "nothing-here"}, {"image": "python", "env": {"A": 1}}):
            assert caller.post("/sandboxes", bad).status >= 400
        abandon(server, ids[2], "sleep 99975")
        abandon(server, ids[3], "yes")
        server.held.look(server.pid)
        for sid in [*ids, copy]:
            caller.ok("DELETE", f"/sandboxes/{sid}")


def abandon(server, sid, command):
    """A client that leaves while its stream runs."""
    body = json.dumps({"command": command}).encode()
    with socket.create_connection(("127.0.0.1", server.port), timeout=harness.DEADLINE_S) as sock:
        sock.sendall(b"POST /sandbox/sandboxes/%s/exec/stream HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                     % (sid.encode(), len(body), body))
        sock.recv(1024)


def settled(server):
    """Counts, once they have been the same for a while: pools refill, helpers end and network namespaces go behind our back."""
    last, since = None, time.monotonic()

    def is_settled():
        nonlocal last, since
        now = leak.counts(server)
        if now != last:
            last, since = now, time.monotonic()
        return time.monotonic() - since > QUIET_S

    harness.wait_until(is_settled, "the server to settle")
    return last


def test_nothing_is_left_of_a_round_of_work(server):
    round_of_work(server)  # what is made once (launcher, pools, caches) is there from now on
    before = settled(server)
    for _ in range(3):
        round_of_work(server)

    def is_as_before():
        return leak.counts(server) == before

    try:
        harness.wait_until(is_as_before, "the counts to be as before")
    except AssertionError:
        now = leak.counts(server)
        assert {k: v for k, v in now.items() if v != before[k]} == {}, f"before: {before}\nnow: {now}"


def test_memory_does_not_grow_with_every_sandbox(server):
    """An allocation lost in each create would show after two hundred."""
    def resident_kb():
        return next(int(line.split()[1]) for line in leak.read(f"/proc/{server.pid}/status").splitlines() if line.startswith("VmRSS"))

    def cycle(times):
        with harness.Client(server.port) as caller:
            for _ in range(times):
                sid = caller.create()["id"]
                caller.exec(sid, "true")
                caller.ok("DELETE", f"/sandboxes/{sid}")

    cycle(30)
    before = resident_kb()
    cycle(200)
    assert resident_kb() - before < (65536 if harness.IS_SANITIZED else 8192)
