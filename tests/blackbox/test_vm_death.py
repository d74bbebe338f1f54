"""Virtual machines and the ends of those around them: the daemon killed, the monitor killed, the guest dead; what stood still gets the right time."""
import os
import pathlib
import signal
import threading
import time

import pytest

import harness
import leak
import vmwatch
from fnclient import Functions

pytestmark = pytest.mark.skipif(harness.BACKEND != "qemu", reason="about virtual machines: III_TEST_BACKEND=qemu")

# What the kernel of a guest says about it is on its console.
EAT_ALL = "python3 -c 'x = []\nwhile True: x.append(bytearray(1 << 20))'"
CLOCK_S = 1


@pytest.fixture
def server():
    made = harness.Server()
    made.held = leak.Holdings(made.data_dir)
    try:
        made.start()
        yield made
        made.held.look(made.pid)
        made.stop()
        made.held.assert_nothing_left()
        assert vmwatch.machines(made) == [] and vmwatch.half_made(made) == []
    finally:
        made.remove()


def monitor_of(server, create):
    before = vmwatch.monitors(server)
    record = create()
    (pid,) = set(vmwatch.monitors(server)) - set(before)
    return record, (pid, vmwatch.monitors(server)[pid])


def crash(server):
    server.held.look(server.pid)
    server.kill()
    server.start()
    server.held.look(server.pid)


def guest_clock(caller, sid):
    before = time.time()
    text = caller.exec(sid, "python3 -c 'import time; print(time.time())'")["stdout"]
    return float(text), before, time.time()


def assert_right_time(caller, sid):
    inside, before, after = guest_clock(caller, sid)
    assert before - CLOCK_S < inside < after + CLOCK_S, f"{inside - before:.1f} s off"


def error_event(caller, sid):
    found = [e for e in caller.ok("GET", f"/events/history?sandboxId={sid}&topic=sandbox.error")["events"]]
    return found[0] if found else None


def test_machines_outlive_a_daemon_that_is_killed(server):
    with server.client() as caller:
        running, first = monitor_of(server, caller.create)
        paused, second = monitor_of(server, lambda: caller.create(name="p"))
        sid = running["id"]
        caller.exec(sid, "echo kept > /workspace/f; date +%s > /dev/shm/begun")
        job = caller.ok("POST", f"/sandboxes/{sid}/exec/background", {"command": "n=0; while :; do n=$((n+1)); echo $n; sleep 0.2; done"})
        caller.ok("POST", f"/sandboxes/{paused['id']}/pause")
    crash(server)
    assert vmwatch.lives(first) and vmwatch.lives(second)
    with server.client() as caller:
        assert {s["id"]: s["status"] for s in caller.ok("GET", "/sandboxes")["items"]} == {sid: "running", paused["id"]: "paused"}
        assert caller.exec(sid, "cat /workspace/f /dev/shm/begun")["stdout"].startswith("kept\n1")
        seen = caller.ok("GET", f"/exec/background/{job['id']}/logs")
        harness.wait_until(lambda: len(str(caller.ok("GET", f"/exec/background/{job['id']}/logs"))) > len(str(seen)), "the command to go on")
        assert caller.post(f"/sandboxes/{paused['id']}/exec", {"command": "true"}).status == 409
        caller.ok("POST", f"/sandboxes/{paused['id']}/resume")
        assert_right_time(caller, paused["id"])
        assert set(vmwatch.monitors(server)) | {first[0], second[0]} == {first[0], second[0]}
    server.held.look(server.pid)


def test_killed_while_machines_are_being_made(server):
    """Whatever point it had come to: the machines that no record names are gone when the next server is ready."""
    for pause_s in (0.02, 0.15, 0.4):
        caller = server.client()
        work = threading.Thread(target=lambda: pytest.raises(Exception, caller.create), daemon=True)
        work.start()
        time.sleep(pause_s)
        crash(server)
        work.join(harness.DEADLINE_S)
        with server.client() as after:
            left = after.ok("GET", "/sandboxes")["items"]
            harness.wait_until(lambda: len(vmwatch.machines(server)) == len(left), f"only machines of {len(left)} sandboxes")  # noqa: B023
            for record in left:
                after.exec(record["id"], "true")
                after.ok("DELETE", f"/sandboxes/{record['id']}")


def test_killed_while_a_machine_is_saved(server):
    with server.client() as caller:
        record, monitor = monitor_of(server, caller.create)
        sid = record["id"]
        caller.exec(sid, "echo kept > /workspace/f")
    for pause_s in (0.1, 0.6):
        caller = server.client()
        work = threading.Thread(target=lambda: pytest.raises(Exception, caller.ok, "POST", f"/sandboxes/{sid}/snapshots", {}), daemon=True)
        work.start()
        time.sleep(pause_s)
        crash(server)
        work.join(harness.DEADLINE_S)
        with server.client() as after:
            assert vmwatch.lives(monitor)
            assert after.exec(sid, "cat /workspace/f")["stdout"] == "kept\n"
            harness.wait_until(lambda: len(vmwatch.machines(server)) == 1, "the machine that was to receive it is gone")
            kept = len(after.ok("GET", f"/sandboxes/{sid}/snapshots")["snapshots"])
            harness.wait_until(lambda: len(vmwatch.saved(server)) == kept, "half of a snapshot is gone")  # noqa: B023
            time.sleep(1)  # a transfer that had gone on would make it stand still now
            after.exec(sid, "true", timeout=20)


def test_killed_while_a_template_is_made(server):
    top = pathlib.Path(server.data_dir) / "vm"
    caller = server.client()
    work = threading.Thread(target=lambda: pytest.raises(Exception, caller.create, memory=300), daemon=True)
    work.start()
    harness.wait_until(lambda: list(top.glob("templates/*.new/ram")) and vmwatch.monitors(server), "a template in the making")
    (top / "bases" / "half.erofs.new").write_bytes(b"half")
    crash(server)
    work.join(harness.DEADLINE_S)
    harness.wait_until(lambda: not vmwatch.half_made(server) and not vmwatch.machines(server), "what was half-made is gone")
    assert not vmwatch.monitors(server)


def test_a_killed_monitor_is_reported_with_the_last_words_of_its_guest(server):
    fn = Functions(server.engine_port)
    try:
        with server.client() as caller:
            uuid = fn.create()
            (monitor,) = vmwatch.monitors(server).items()
            sid = caller.ok("GET", "/sandboxes")["items"][0]["id"]
            other = caller.create(name="other")["id"]
            assert caller.exec(sid, EAT_ALL, timeout=120)["exitCode"] == 137
            call = fn.ask("exec", sandbox_id=uuid, cmd="sleep 99963")
            late = server.client()
            replies = []
            work = threading.Thread(target=lambda: replies.append(late.post(f"/sandboxes/{sid}/exec", {"command": "sleep 99964", "timeout": 200})))
            work.start()
            harness.wait_until(lambda: "99964" in str(caller.ok("GET", f"/sandboxes/{sid}/processes")), "the commands to run")
            server.held.look(server.pid)
            os.kill(monitor[0], signal.SIGKILL)
            fault = fn.fault_of(call, "S300")
            assert fault["message"].startswith("VM died during the exec: ") and "Out of memory" in fault["message"], fault
            assert len(fault["message"]) < 4800 and fault["message"].count("\n") <= 33 and fault["message"].replace("\n", " ").isprintable()
            work.join(harness.DEADLINE_S)
            assert replies[0].status == 410 and replies[0].error.startswith("the VM died: "), replies
            event = harness.wait_until(lambda: error_event(caller, sid), "the event")
            assert "Out of memory" in event["data"]["console"] and event["data"]["error"], event
            assert "evt=sandbox.died" in server.log() and "Out of memory" in server.log()
            assert caller.get(f"/sandboxes/{sid}").status == 404
            fn.fault("exec", "S002", sandbox_id=uuid, cmd="true")
            caller.exec(other, "true")
            harness.wait_until(lambda: len(vmwatch.machines(server)) == 1, "nothing is left of it")
    finally:
        fn.close()


def test_the_agent_cannot_be_ended_from_inside(server):
    with server.client() as caller:
        sid = caller.create()["id"]
        caller.exec(sid, "kill -9 $PPID; kill -9 1; sleep 0.2")
        assert caller.exec(sid, "echo well")["stdout"] == "well\n"


def test_a_monitor_that_dies_while_it_is_needed_fails_the_call_at_once(server):
    with server.client() as caller:
        begun = time.monotonic()
        answers = []
        work = threading.Thread(target=lambda: answers.append(caller.post("/sandboxes", {"image": "python", "memory": 320})))
        work.start()
        harness.wait_until(lambda: vmwatch.monitors(server), "the machine that boots")
        time.sleep(1)  # so that its guest is being waited for
        (pid,) = vmwatch.monitors(server)
        os.kill(pid, signal.SIGKILL)
        work.join(harness.DEADLINE_S)
        assert answers and answers[0].status >= 500 and "boot a VM" in answers[0].error, answers
        assert time.monotonic() - begun < harness.DEADLINE_S
        harness.wait_until(lambda: not vmwatch.machines(server) and not vmwatch.half_made(server), "nothing is left of it")
        assert caller.exec(caller.create()["id"], "echo well")["stdout"] == "well\n"


def test_what_stood_still_gets_the_right_time(server):
    with server.client() as caller:
        sid = caller.create()["id"]
        assert_right_time(caller, sid)
        caller.ok("POST", f"/sandboxes/{sid}/pause")
        time.sleep(3)
        caller.ok("POST", f"/sandboxes/{sid}/resume")
        assert_right_time(caller, sid)
        caller.ok("POST", f"/sandboxes/{sid}/snapshots", {})
        assert_right_time(caller, sid)


def test_a_clone_has_the_right_time(server):
    with server.client() as caller:
        sid = caller.create()["id"]
        time.sleep(3)
        clone = caller.ok("POST", f"/sandboxes/{sid}/clone", {})
        assert_right_time(caller, clone["id"])


def test_a_server_that_takes_over_goes_on_with_machines(server):
    with server.client() as caller:
        record, monitor = monitor_of(server, caller.create)
        job = caller.ok("POST", f"/sandboxes/{record['id']}/exec/background", {"command": "sleep 2; echo done"})
        server.held.look(server.pid)
        assert server.takeover() is None
        server.held.look(server.pid)
        assert vmwatch.lives(monitor)
        assert caller.exec(record["id"], "echo well")["stdout"] == "well\n"
        harness.wait_until(lambda: "done" in str(caller.ok("GET", f"/exec/background/{job['id']}/logs")), "the command to end")


def test_what_no_record_names_ends_where_there_are_no_control_groups():
    """Then a machine is only known by its user, or by its name among its arguments."""
    wrap = ["unshare", "-m", "--propagation", "private", "sh", "-c", 'umount -R -l /sys/fs/cgroup && exec "$0" "$@"']
    made = harness.Server(wrap=wrap)
    try:
        made.start()
        with made.client() as caller:
            caller.create()
            kept = caller.create()["id"]
            (first, second) = vmwatch.monitors(made).items()
            assert not any("iii" in line for pid, _ in (first, second) for line in leak.read(f"/proc/{pid}/cgroup").splitlines())
        made.kill()
        for path in made.data_dir.glob("state.db*"):
            path.unlink()
        made.start()
        harness.wait_until(lambda: not vmwatch.lives(first) and not vmwatch.lives(second), "the end of what nobody names")
        harness.wait_until(lambda: vmwatch.machines(made) == [], "their files to go")
        with made.client() as caller:
            assert caller.get(f"/sandboxes/{kept}").status == 404
        made.stop()
    finally:
        made.remove()
