"""A server of the firecracker backend with the strict checker (tests/vmm) in the place of the firecracker program: what
is around it is real (confinement, folders, records, the agent that its "guest" runs), a boot is not."""
import json
import pathlib
import subprocess
import sys

import pytest

import harness
import images
import leak

VMM = pathlib.Path(__file__).resolve().parent.parent / "vmm"
sys.path.insert(0, str(VMM))

import fcprogram  # noqa: E402
import fcwarden  # noqa: E402

AGENT = harness.BINARY.parent / "src/guest/iii-guest"
marks = [pytest.mark.skipif(not AGENT.exists(), reason="the agent is not beside the binary: run ./dev build"),
         pytest.mark.skipif(not harness.IS_ROOT, reason="monitors have users of their own only where root starts them"),
         pytest.mark.skipif(harness.BACKEND != "native", reason="this file brings its own backend")]
KEY = "0123456789abcdef"
TALK = "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\ns.sendall(sys.argv[2].encode() + b'\\n')\nprint(s.makefile().readline())"


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


OPEN = []  # servers of the test that runs


@pytest.fixture(autouse=True)
def no_server_is_left():
    """Of a test that failed half-way. Import it beside Stage."""
    yield
    while OPEN:
        proc = OPEN.pop().proc
        proc.terminate()  # it ends its machines
        proc.wait(harness.DEADLINE_S)


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
        OPEN.append(self.server)
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

    def connect(self, net, box):
        return self.client.post(f"/networks/{net}/connect", {"sandboxId": box})

    def wire(self, box, do, **what):
        """Has the guest's kernel, which is played, do something with its interfaces (fcwarden.py)."""
        done = self.run(box, ["python3", "-c", TALK, fcwarden.TALK, json.dumps({"do": do, **what})])
        assert done["exitCode"] == 0, done
        return json.loads(done["stdout"])

    def restart(self):
        self.server.kill()
        self.server.start()
        self.client = self.server.client()

    def end(self):
        self.client.close()
        self.server.stop()
        OPEN.remove(self.server)
        self.held.assert_nothing_left()
        self.server.remove()


def monitor_of(uid, word=b"--api-sock"):
    """The process that runs as this user, which no other machine has."""
    for folder in pathlib.Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and folder.stat().st_uid == uid and word in (folder / "cmdline").read_bytes():
                return int(folder.name)
        except OSError:
            pass  # it has ended
    raise AssertionError(f"no process of user {uid}")
