"""The firecracker backend from the REST interface down to the API socket, with the strict checker (tests/vmm) in the
place of the firecracker program: the server's confinement, folders and records are real, and so is the agent that its
"guest" runs; a boot is not. What the checker does not allow makes a test here fail."""
import json
import os
import pathlib
import signal
import subprocess
import sys

import pytest

import harness
import images
import leak

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "vmm"))

import fcprogram  # noqa: E402

AGENT = harness.BINARY.parent / "src/guest/iii-guest"
pytestmark = [pytest.mark.skipif(not AGENT.exists(), reason="the agent is not beside the binary: run ./dev build"),
              pytest.mark.skipif(not harness.IS_ROOT, reason="monitors have users of their own only where root starts them"),
              pytest.mark.skipif(harness.BACKEND != "native", reason="this file brings its own backend")]


KEY = "0123456789abcdef"


def make_kit(data):
    """What `iii vm setup` makes, with a kernel that nobody boots."""
    kernel = data / "vm/kit" / KEY
    (kernel / "modules").mkdir(parents=True)
    (kernel / "vmlinux").write_bytes(b"\x7fELF")
    (kernel / "modules/order").write_text("")
    (data / "vm/kit/facts.json").write_text(json.dumps(
        {"kernel": KEY, "version": "6.1-none", "where": "", "identity": "of a test"}))


def import_image(data, folder, user):
    tar = folder / "base.tar"
    tar.write_bytes(images.rootfs(images.program(folder)))
    become = ["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups"] if user else []
    subprocess.run([*become, harness.BINARY, "image", "import", tar, "test/base:1", "--data-dir", data], check=True,
                   capture_output=True, env=harness.clean_env({"HOME": str(data.parent)}))


class Stage:
    """A server whose firecracker is the checker."""

    def __init__(self, program=None, user=None, env=None, **settings):
        self.server = harness.Server(user=user, env={"III_ISOLATION_BACKEND": "firecracker", "III_WORKSPACE_DIR": "/box",
                                                     "III_DEFAULT_MEMORY": "64", **(env or {})})
        if not program:
            program = self.server.home / "firecracker"
            fcprogram.build(program, AGENT, **settings)
        self.server.env["III_VM_FIRECRACKER"] = str(program)
        self.server.data_dir.mkdir(parents=True)
        self.held = leak.Holdings(self.server.data_dir)
        make_kit(self.server.data_dir)
        if user:
            subprocess.run(["chown", "-R", f"{user}:{user}", self.server.data_dir], check=True)
        import_image(self.server.data_dir, self.server.home, user)
        self.server.start()
        self.client = self.server.client()

    def create(self, **more):
        reply = self.client.post("/sandboxes", {"image": "test/base:1", **more})
        assert reply.status == 200, reply
        return reply.json()["id"]

    def run(self, box, command):
        reply = self.client.post(f"/sandboxes/{box}/exec", {"command": command})
        assert reply.status == 200, reply
        return reply.json()

    def end(self):
        self.client.close()
        self.server.stop()
        self.held.assert_nothing_left()
        self.server.remove()


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
    assert lines[3:5] == ["null", "written"] and "Read-only file system" in done["stderr"]
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
    os.kill(monitor_of(int(stage.run(other, "id -u")["stdout"])), signal.SIGKILL)
    harness.wait_until(lambda: stage.client.post(f"/sandboxes/{other}/exec", {"command": "true"}).status != 200,
                       "the end of a monitor is seen")
    assert stage.run(box, "echo still")["stdout"] == "still\n"


def monitor_of(uid):
    """The process that runs as this user, which no other machine has."""
    for folder in pathlib.Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and folder.stat().st_uid == uid and b"--api-sock" in (folder / "cmdline").read_bytes():
                return int(folder.name)
        except OSError:
            pass  # it has ended
    raise AssertionError(f"no process of user {uid}")


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
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, pathlib.Path(fcprogram.__file__).parent / "standin_krun.c"], check=True)
    made = Stage(env={"III_ISOLATION_BACKEND": "krun", "III_VM_LIBKRUN": str(library)})
    reply = made.client.post("/sandboxes", {"image": "test/base:1"})  # of a size that the stand-in does not take
    assert reply.status == 502 and "libkrun: set CPUs and memory: Invalid argument" in reply.error, reply
    made.end()
