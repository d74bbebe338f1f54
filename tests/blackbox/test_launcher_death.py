"""The launcher is killed: sandboxes run on, and the server makes new ones as before."""
import fcntl
import os
import pathlib
import signal
import subprocess
import threading
import time

import pytest

import harness
import leak
import test_networks


def launcher_of(server):
    """The child of the server that is the launcher."""
    for task in pathlib.Path(f"/proc/{server.pid}/task").iterdir():
        for pid in (task / "children").read_text().split():
            words = leak.read(f"/proc/{pid}/cmdline").split("\0")  # empty for one that has just ended
            if "--launcher" in words:
                return int(pid)
    return None


def kill_launcher(server):
    pid = launcher_of(server)
    assert pid
    os.kill(pid, signal.SIGKILL)
    harness.wait_until(lambda: launcher_of(server) not in (None, pid), "another launcher")


def test_sandboxes_live_on_and_new_ones_are_made():
    with leak.watched(harness.Server(env={"III_MAX_SANDBOXES": "60"})) as server:
        with harness.Client(server.port) as caller:
            ids = [caller.create()["id"] for _ in range(4)]
            for number, sid in enumerate(ids):
                caller.exec(sid, f"echo {number} > /workspace/f")
            paused = caller.create()["id"]
            caller.ok("POST", f"/sandboxes/{paused}/pause")
            job = caller.ok("POST", f"/sandboxes/{ids[0]}/exec/background", {"command": "sleep 99964"})
            server.held.look(server.pid)
            for _ in range(2):
                kill_launcher(server)
                for number, sid in enumerate(ids):
                    assert caller.exec(sid, "cat /workspace/f")["stdout"] == f"{number}\n"
                fresh = caller.create()["id"]
                assert caller.exec(fresh, "echo fresh")["stdout"] == "fresh\n"
                ids.append(fresh)
                caller.exec(fresh, f"echo {len(ids) - 1} > /workspace/f")
            server.held.look(server.pid)
            assert caller.ok("GET", f"/exec/background/{job['id']}/status")["running"] is True
            assert caller.ok("GET", f"/sandboxes/{paused}")["status"] == "paused"
            assert caller.ok("POST", f"/sandboxes/{paused}/resume")["status"] == "running"
            assert caller.exec(paused, "echo thawed")["stdout"] == "thawed\n"
            child = caller.ok("POST", f"/sandboxes/{ids[1]}/fork", {"count": 1})["sandboxes"][0]
            assert caller.exec(child["id"], "cat /workspace/f")["stdout"] == "1\n"
            for sid in [*ids, paused, child["id"]]:
                caller.ok("DELETE", f"/sandboxes/{sid}")


def test_creates_under_way_are_made_by_the_next_one():
    with leak.watched(harness.Server(env={"III_MAX_SANDBOXES": "200"})) as server:
        made, errors, stop = [], [], threading.Event()

        def churn():
            with harness.Client(server.port) as own:
                while not stop.is_set():
                    reply = own.post("/sandboxes", {"image": "python"})
                    if reply.status == 200:
                        made.append(reply.json()["id"])
                    else:
                        errors.append(reply.json()["error"])
                    if len(made) % 3 == 0 and made:
                        own.delete(f"/sandboxes/{made[-1]}")

        threads = [threading.Thread(target=churn) for _ in range(4)]
        for thread in threads:
            thread.start()
        try:
            harness.wait_until(lambda: len(made) >= 8, "the first sandboxes")
            kill_launcher(server)
            count = len(made)
            harness.wait_until(lambda: len(made) >= count + 8, "sandboxes of the next launcher")
        finally:
            stop.set()
            for thread in threads:
                thread.join(harness.DEADLINE_S)
        assert errors == [], errors[:3]
        with harness.Client(server.port) as caller:
            items = caller.ok("GET", "/sandboxes?pageSize=200")["items"]
            for record in items:
                assert caller.exec(record["id"], "echo up")["stdout"] == "up\n"
                caller.ok("DELETE", f"/sandboxes/{record['id']}")


def test_killed_in_the_middle_of_snapshots():
    server = harness.Server()
    try:
        server.start()
        with harness.Client(server.port) as caller:
            sid = caller.create()["id"]
            taken, refused, stop = [], [], threading.Event()

            def churn():
                with harness.Client(server.port) as own:
                    number = 0
                    while not stop.is_set():
                        own.exec(sid, f"echo {number} > /workspace/f")
                        reply = own.post(f"/sandboxes/{sid}/snapshots")
                        if reply.status == 200:
                            taken.append((reply.json()["id"], number))
                        else:
                            refused.append(reply.json()["error"])
                        number += 1

            thread = threading.Thread(target=churn)
            thread.start()
            try:
                for _ in range(3):
                    count = len(taken)
                    harness.wait_until(lambda: len(taken) > count + 1, "snapshots")
                    kill_launcher(server)
                count = len(taken)
                harness.wait_until(lambda: len(taken) > count + 1, "snapshots by the last launcher")
            finally:
                stop.set()
                thread.join(harness.DEADLINE_S)
            assert all("try again" in text for text in refused), refused
            for snap, number in taken[-3:]:
                caller.ok("POST", f"/sandboxes/{sid}/snapshots/restore", {"snapshotId": snap})
                assert caller.exec(sid, "cat /workspace/f")["stdout"] == f"{number}\n"
        server.stop()
    finally:
        server.remove()


class Hunter(threading.Thread):
    """Kills each launcher of a server as soon as it is there."""

    def __init__(self, server):
        super().__init__()
        self.server, self.killed, self.done = server, [], threading.Event()

    def run(self):
        while not self.done.wait(0.005):
            try:
                pid = launcher_of(self.server)
                if pid and pid not in self.killed:
                    os.kill(pid, signal.SIGKILL)
                    self.killed.append(pid)
            except OSError:  # it ended between two looks
                pass


def test_one_that_dies_again_and_again_is_given_pauses():
    ticks = os.sysconf("SC_CLK_TCK")
    server = harness.Server(env={"III_BLANK_POOL": "1"})
    held = leak.Holdings(server.data_dir)
    hunter = None
    try:
        server.start()
        with harness.Client(server.port) as caller:
            sid = caller.create()["id"]
            caller.exec(sid, "echo kept > /workspace/f")
            hunter = Hunter(server)
            before, begun, refused, made = leak.cpu_ticks(server.pid), time.monotonic(), [], [sid]
            hunter.start()
            while time.monotonic() < begun + 5 or not refused or len(hunter.killed) < 6:
                reply = caller.post("/sandboxes", {"image": "python"})
                if reply.status == 200:
                    made.append(reply.json()["id"])
                else:
                    refused.append(reply)
                assert caller.exec(sid, "cat /workspace/f")["stdout"] == "kept\n", "sandboxes need no launcher"
                time.sleep(0.05)
                assert time.monotonic() < begun + harness.DEADLINE_S, "no create was refused, or no launcher was started again"
            took = time.monotonic() - begun
            hunter.done.set()
            hunter.join()
            for reply in refused:
                assert reply.status == 503 and "launcher" in reply.error and "try again" in reply.error, reply
            assert 6 <= len(hunter.killed) <= 12 + took, "pauses of 250 ms, twice as long each time"
            assert "evt=launcher.pause" in server.log()
            if not harness.IS_SANITIZED:
                assert leak.cpu_ticks(server.pid) - before < took * ticks / 2, "the server spins"
            made.append(harness.wait_until(lambda: (r := caller.post("/sandboxes", {"image": "python"})).status == 200 and r, "creates work again").json()["id"])
            for box in made:
                assert caller.exec(box, "echo up")["stdout"] == "up\n"
                caller.ok("DELETE", f"/sandboxes/{box}")
        held.look(server.pid)
        server.stop()
        held.assert_nothing_left()
    finally:
        if hunter:
            hunter.done.set()
        server.remove()


def test_files_stay_when_no_launcher_is_there_to_stop_and_start():
    """While launchers get pauses, stops and starts are refused; the next launcher's sweep must not take the files."""
    server = harness.Server(env={"III_BLANK_POOL": "1"})
    held = leak.Holdings(server.data_dir)
    hunter = None
    try:
        server.start()
        with harness.Client(server.port) as caller:
            ids = [caller.create()["id"] for _ in range(4)]
            for sid in ids:
                caller.exec(sid, f"echo {sid} > /workspace/f")
            for sid in ids[2:]:
                caller.ok("POST", f"/sandboxes/{sid}/stop", {"timeout": 0})
            held.look(server.pid)
            for _ in range(2):
                refused = []
                hunter = Hunter(server)
                hunter.start()
                harness.wait_until(lambda: server.log().count("evt=launcher.pause") > 0 and len(hunter.killed) >= 6, "launchers to get pauses")

                def refuse(sid, what, seen=refused):
                    reply = caller.post(f"/sandboxes/{sid}/{what}", {"timeout": 0} if what == "stop" else {})
                    seen += [(sid, what)] if reply.status == 503 else []
                    return (sid, what) in seen

                for sid, what in zip(ids, ("stop", "stop", "start", "start"), strict=True):
                    harness.wait_until(lambda: refuse(sid, what) or caller.ok("GET", f"/sandboxes/{sid}")["status"] != "running", "a call to be refused")  # noqa: B023
                hunter.done.set()
                hunter.join()
                assert refused, "no call was refused"
                for sid in ids:
                    harness.wait_until(lambda: caller.post(f"/sandboxes/{sid}/start").status == 200, f"{sid} to be started again")  # noqa: B023
                    assert caller.exec(sid, "cat /workspace/f")["stdout"] == sid + "\n"
                kill_launcher(server)
                for sid in ids:
                    assert caller.exec(sid, "cat /workspace/f")["stdout"] == sid + "\n"
                held.look(server.pid)
                for sid in ids[2:]:
                    caller.ok("POST", f"/sandboxes/{sid}/stop", {"timeout": 0})
            for sid in ids:
                caller.ok("DELETE", f"/sandboxes/{sid}")
        held.look(server.pid)
        server.stop()
        held.assert_nothing_left()
    finally:
        if hunter:
            hunter.done.set()
        server.remove()


@harness.needs("volume", "limitDisk")
@pytest.mark.skipif(not harness.IS_ROOT, reason="without root a volume is a folder")
def test_volume_waits_for_the_worker_of_a_dead_launcher():
    """Its worker goes on making the same file: the next one waits for it, instead of pulling the file away."""
    with harness.Server() as server, harness.Client(server.port) as caller:
        sid, first, vid = caller.create()["id"], *(caller.ok("POST", "/volumes", {"name": name})["id"] for name in ("first", "late"))
        caller.ok("POST", f"/volumes/{first}/attach", {"sandboxId": sid, "mountPath": "/first"})  # makes the folder of volumes
        replies = []
        with open(server.data_dir / "volumes" / f"{vid}.new", "wb") as half:
            half.write(b"half a file system")
            half.flush()
            fcntl.flock(half, fcntl.LOCK_EX)
            inode = f":{os.fstat(half.fileno()).st_ino} "

            def attach():
                with harness.Client(server.port) as own:
                    replies.append(own.post(f"/volumes/{vid}/attach", {"sandboxId": sid, "mountPath": "/late"}))
            thread = threading.Thread(target=attach)
            thread.start()
            harness.wait_until(lambda: any("->" in line and inode in line for line in pathlib.Path("/proc/locks").read_text().splitlines()), "the next worker to wait")
        thread.join(harness.DEADLINE_S)
        assert [reply.status for reply in replies] == [200]
        assert caller.exec(sid, "echo text > /late/f; cat /late/f")["stdout"] == "text\n"
        caller.ok("DELETE", f"/sandboxes/{sid}")
        for one in (first, vid):
            caller.ok("DELETE", f"/volumes/{one}")


def running(server, *words):
    return [pid for pid in leak.descendants(server.pid) if leak.read(f"/proc/{pid}/cmdline").split("\0")[:-1] == list(words)]


def test_a_volume_that_a_dying_launcher_left_out_is_mounted_again():
    with harness.Server() as server, harness.Client(server.port) as caller:
        sid = caller.create()["id"]
        vid = caller.ok("POST", "/volumes", {"name": "v"})["id"]
        caller.ok("POST", f"/volumes/{vid}/attach", {"sandboxId": sid, "mountPath": "/data"})
        caller.exec(sid, "echo kept > /data/f")
        caller.ok("POST", f"/sandboxes/{sid}/exec/background", {"command": "sleep 99965"})
        harness.wait_until(lambda: running(server, "sleep", "99965"), "the command inside")
        inside = running(server, "sleep", "99965")[0]
        subprocess.run(["nsenter", "-t", str(inside), "-m", "umount", "/data"], check=True)  # as if it had died in the middle of a restore
        assert caller.exec(sid, "ls /data")["stdout"] == ""
        kill_launcher(server)
        harness.wait_until(lambda: caller.exec(sid, "cat /data/f")["stdout"] == "kept\n", "the volume to be mounted again")
        kill_launcher(server)
        assert caller.exec(sid, "grep -c ' /data ' /proc/mounts")["stdout"] == "1\n", "once is enough"
        caller.ok("DELETE", f"/sandboxes/{sid}")
        caller.ok("DELETE", f"/volumes/{vid}")


@pytest.mark.skipif(not harness.IS_ROOT, reason="networks need a server that runs as root")
def test_members_of_a_network_are_connected_again():
    with leak.watched(harness.Server()) as server:
        with harness.Client(server.port) as caller:
            web, other = (caller.create(name=name)["id"] for name in ("web", "other"))
            nid = caller.ok("POST", "/networks", {"name": "n"})["id"]
            for sid in (web, other):
                assert test_networks.connect(caller, nid, sid).status == 200
            test_networks.listen(caller, web)
            assert test_networks.fetch(caller, other, "web").startswith("hello")
            server.held.look(server.pid)
            kill_launcher(server)
            harness.wait_until(lambda: test_networks.fetch(caller, other, "web").startswith("hello"), "the members to be connected again")
            assert test_networks.disconnect(caller, nid, web).status == 200
