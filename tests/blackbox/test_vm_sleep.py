"""Hibernation: memory and files on disk, no process left, and back with its processes."""
import http.client
import os
import random
import threading
import time

import pytest

import harness
import leak
import rebootkit

pytestmark = harness.needs("hibernate")
COUNTER = "i=0; while :; do i=$((i+1)); echo $i > /workspace/n; sleep 0.2; done"


def status(client, sid):
    return client.ok("GET", f"/sandboxes/{sid}")["status"]


def begin(client, **fields):
    """A sandbox with a process whose memory shows that it is the same one."""
    sid = client.create(**fields)["id"]
    client.exec(sid, "echo text > /workspace/f")
    job = client.ok("POST", f"/sandboxes/{sid}/exec/background", {"command": COUNTER})["id"]
    harness.wait_until(lambda: count(client, sid) >= 2, "the process to count")
    return sid, job


def count(client, sid):
    return int(client.exec(sid, "cat /workspace/n 2>/dev/null || echo 0")["stdout"] or 0)


def hibernate(client, sid):
    record = client.ok("POST", f"/sandboxes/{sid}/hibernate")
    assert record["status"] == "hibernated" and record["stopReason"] == "request" and record["expiresAt"] == 0
    return record


def check_continues(client, sid, job, seen):
    """The process counts on from where it was: its memory came back."""
    assert client.exec(sid, "cat /workspace/f")["stdout"] == "text\n"
    first = count(client, sid)
    assert first >= seen
    harness.wait_until(lambda: count(client, sid) > first, "the process to count on")
    assert client.ok("GET", f"/exec/background/{job}/status")["running"] is True


def test_hibernate_wake_restart_and_reboot():
    """One VM, because each takes long to make: by request, by a call, over a restart of the server, a kill in the middle and a reboot."""
    with leak.watched(harness.Server()) as server:
        with harness.Client(server.port) as caller:
            sid, job = begin(caller, autoResume=True)
            seen = count(caller, sid)
            hibernate(caller, sid)
            assert hibernate(caller, sid)["status"] == "hibernated"  # again: nothing to do
            for method, path in (("GET", "/metrics"), ("GET", "/processes"), ("POST", "/snapshots")):
                assert caller.call(method, f"/sandboxes/{sid}{path}", {} if method == "POST" else None).status == 409
            assert status(caller, sid) == "hibernated"
            check_continues(caller, sid, job, seen)  # the first call wakes it
            seen = count(caller, sid)
            hibernate(caller, sid)
        server.held.look(server.pid)
        server.kill()
        server.start()
        with harness.Client(server.port) as caller:
            assert status(caller, sid) == "hibernated"
            assert caller.ok("POST", f"/sandboxes/{sid}/start")["status"] == "running"
            check_continues(caller, sid, job, seen)
            seen = count(caller, sid)
            hibernate(caller, sid)
        rebootkit.of(server)
        server.start()
        with harness.Client(server.port) as caller:
            assert status(caller, sid) == "hibernated"
            check_continues(caller, sid, job, seen)
            # By topic, because a page has room for few of so many commands. Two were followed by the server's end, which may lose the last events.
            for topic, least in (("sandbox.hibernated", 1), ("sandbox.started", 2)):
                assert least <= len(caller.ok("GET", f"/events/history?sandboxId={sid}&topic={topic}")["events"]) <= 3
            assert caller.ok("DELETE", f"/sandboxes/{sid}")
            harness.wait_until(lambda: not list((server.data_dir / "vm" / "snaps").iterdir()), "what was saved to be removed")


def churn(server, sid, quit_now, done):
    """Hibernates and wakes it until the server ends."""
    try:
        with harness.Client(server.port) as own:
            while not quit_now.is_set():
                own.post(f"/sandboxes/{sid}/hibernate")
                own.post(f"/sandboxes/{sid}/start")
                done.append(sid)
    except (OSError, http.client.HTTPException):
        pass


@pytest.mark.parametrize("end", [harness.Server.kill, rebootkit.of])
def test_killed_at_any_step(end):
    """A kill -9, or a reboot of the host, in the middle of a hibernation or a wake: the sandbox is there with its files."""
    rng = random.Random(harness.BACKEND)
    with leak.watched(harness.Server()) as server:
        with harness.Client(server.port) as caller:
            sid = caller.create()["id"]
            caller.exec(sid, "echo text > /workspace/f; sync")
        for _ in range(int(os.environ.get("III_TEST_DEATHS") or 3)):
            quit_now, done = threading.Event(), []
            thread = threading.Thread(target=churn, args=(server, sid, quit_now, done))
            thread.start()
            harness.wait_until(lambda: done, "a hibernation and a wake")  # noqa: B023
            time.sleep(rng.random() * 2)  # so that it is at another step each time
            server.held.look(server.pid)
            quit_now.set()
            end(server)
            thread.join()
            server.start()
            with harness.Client(server.port) as caller:
                record = caller.ok("GET", f"/sandboxes/{sid}")
                assert record["status"] in ("hibernated", "stopped", "running"), record
                assert caller.ok("POST", f"/sandboxes/{sid}/start")["status"] == "running"
                assert caller.exec(sid, "cat /workspace/f")["stdout"] == "text\n"
        with harness.Client(server.port) as caller:
            caller.ok("DELETE", f"/sandboxes/{sid}")


def test_hibernated_one_is_removed(client):
    sid, _ = begin(client)
    hibernate(client, sid)
    reply = client.post(f"/sandboxes/{sid}/exec", {"command": "true"})
    assert reply.status == 409 and "hibernated" in reply.error and f"POST /sandboxes/{sid}/start" in reply.error
    client.ok("DELETE", f"/sandboxes/{sid}")
    assert client.get(f"/sandboxes/{sid}").status == 404
