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
pytestmark = pytest.mark.skipif(not AGENT.exists(), reason="the agent is not beside the binary: run ./dev build")


KEY = "0123456789abcdef"


def make_kit(data):
    """What `iii vm setup` makes, with a kernel that nobody boots."""
    kernel = data / "vm/kit" / KEY
    (kernel / "modules").mkdir(parents=True)
    (kernel / "vmlinux").write_bytes(b"\x7fELF")
    (kernel / "modules/order").write_text("")
    (data / "vm/kit/facts.json").write_text(json.dumps(
        {"kernel": KEY, "version": "6.1-none", "where": "", "identity": "of a test"}))


def import_image(data, folder):
    tar = folder / "base.tar"
    tar.write_bytes(images.rootfs(images.program(folder)))
    subprocess.run([harness.BINARY, "image", "import", tar, "test/base:1", "--data-dir", data], check=True,
                   capture_output=True, env=harness.clean_env({"HOME": str(folder)}))


class Stage:
    """A server whose firecracker is the checker."""

    def __init__(self, folder, **settings):
        program = folder / "firecracker"
        fcprogram.build(program, AGENT, **settings)
        self.log = folder / "log"
        self.server = harness.Server(env={"III_ISOLATION_BACKEND": "firecracker", "III_VM_FIRECRACKER": str(program),
                                          "III_WORKSPACE_DIR": "/box", "III_DEFAULT_MEMORY": "64"})
        folder.chmod(0o711)
        self.server.data_dir.mkdir(parents=True)
        self.held = leak.Holdings(self.server.data_dir)
        make_kit(self.server.data_dir)
        import_image(self.server.data_dir, folder)
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
def stage(tmp_path):
    made = Stage(tmp_path)
    yield made
    made.end()


def test_a_sandbox_lives_behind_the_api_and_the_handshake(stage):
    box = stage.create()
    done = stage.run(box, "echo $((6 * 7)); id -u; ls /; cat /proc/self/status 2>&1 | head -1")
    print(done)
    assert done["stdout"].startswith("42\n")
