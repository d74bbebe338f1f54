"""The firecracker backend from the REST interface down to the API socket, with the strict checker (tests/vmm) in the
place of the firecracker program: the server's confinement, folders and records are real, and so is the agent that its
"guest" runs; a boot is not. What the checker does not allow makes a test here fail."""
import os
import signal
import subprocess

import pytest

import fckit
import harness
from fckit import Stage

pytestmark = fckit.marks


@pytest.fixture
def stage():
    made = Stage()
    yield made
    made.end()


def test_a_sandbox_lives_behind_the_api_and_the_handshake(stage):
    box = stage.create()
    done = stage.run(box, "echo $((6 * 7)); id -u; echo /*; ls /dev; touch /x; touch /box/y && echo written")
    lines = done["stdout"].split("\n")
    assert lines[0] == "42" and int(lines[1]) >= 0x71000000  # a user that nothing else has
    assert lines[2] == "/base /bin /box /dev /disk /initramfs /kernel /lib /lib64 /monitor /ram /sbin /usr"
    assert lines[3:-1] == ["kvm"] * os.path.exists("/dev/kvm") + ["null", "written"] and "Read-only file system" in done["stderr"]
    assert stage.client.post(f"/sandboxes/{box}/pause").status == 200
    assert stage.client.post(f"/sandboxes/{box}/resume").status == 200
    assert stage.run(box, "cat /box/y && echo back")["stdout"] == "back\n"


def test_a_snapshot_is_loaded_by_new_processes(stage):
    box = stage.create()
    snapshot = stage.client.post(f"/sandboxes/{box}/snapshots", {"comment": "here"})
    assert snapshot.status == 200, snapshot
    assert snapshot.json()["imageId"].startswith("firecracker:")
    assert stage.run(box, "echo on")["stdout"] == "on\n"  # the source goes on
    forked = stage.client.post(f"/sandboxes/{box}/clone", {})
    assert forked.status == 200, forked
    other = forked.json()["id"]
    assert stage.run(other, "echo there")["stdout"] == "there\n"
    users = {stage.run(name, "id -u")["stdout"] for name in (box, other)}
    assert len(users) == 2


def test_machines_outlive_the_server_and_their_end_is_seen(stage):
    box, other = stage.create(), stage.create()
    stage.server.kill()
    stage.server.start()
    stage.client = stage.server.client()
    assert stage.run(box, "echo again")["stdout"] == "again\n"  # only with the token that it had
    reply = stage.client.post(f"/sandboxes/{box}/snapshots", {})
    assert reply.status == 200, reply
    os.kill(fckit.monitor_of(int(stage.run(other, "id -u")["stdout"])), signal.SIGKILL)
    harness.wait_until(lambda: stage.client.post(f"/sandboxes/{other}/exec", {"command": "true"}).status != 200,
                       "the end of a monitor is seen")
    assert stage.run(box, "echo still")["stdout"] == "still\n"


def test_what_firecracker_complains_of_reaches_the_caller():
    made = Stage(FCCHECKER_FAULT="PUT /boot-source 400")
    reply = made.client.post("/sandboxes", {"image": "test/base:1"})
    assert reply.status == 502 and "PUT /boot-source with 400: as the test wishes" in reply.error, reply
    made.end()


def test_a_program_that_is_not_there_is_named():
    made = Stage(program="/nowhere/firecracker")
    reply = made.client.post("/sandboxes", {"image": "test/base:1"})
    assert reply.status >= 500 and "/nowhere/firecracker" in reply.error, reply
    made.end()


def test_a_server_without_root_has_machines_too():
    made = Stage(user=4242)
    box = made.create()
    assert made.run(box, "id -u; echo /*")["stdout"].startswith("0\n/base /bin /box ")  # its own, in a namespace of its own
    assert made.client.call("DELETE", f"/sandboxes/{box}").status == 200
    made.end()


def test_what_libkrun_complains_of_reaches_the_caller(tmp_path):
    library = tmp_path / "libkrun.so.1"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, fckit.VMM / "standin_krun.c"], check=True)
    made = Stage(env={"III_ISOLATION_BACKEND": "krun", "III_VM_LIBKRUN": str(library)})
    reply = made.client.post("/sandboxes", {"image": "test/base:1"})  # of a size that the stand-in does not take
    assert reply.status == 502 and "libkrun: set CPUs and memory: Invalid argument" in reply.error, reply
    made.end()
