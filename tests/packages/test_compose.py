"""`docker compose up` in a clone of this repository: the image is built from the Dockerfile, and its server, in a container, runs sandboxes on the engine
beside it. The image that the Dockerfile begins with is made here, since no registry is asked."""
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "blackbox"))

import dockerkit  # noqa: E402
import harness  # noqa: E402
from test_fresh_root import base  # noqa: E402

BUILD_S = 1800
PROJECT = "iiitest"
COMPOSE = shutil.which("docker-compose")
pytestmark = [pytest.mark.skipif(not dockerkit.is_there(), reason="needs dockerd and root"),
              pytest.mark.skipif(not COMPOSE, reason="needs docker-compose")]


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class Stack:
    """compose.yaml with a data folder, ports and an engine of the test's own."""

    def __init__(self, engine):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="iii-compose-"))
        self.home.chmod(0o755)
        self.port = free_port()
        self.extra = self.home / "extra.yaml"  # this engine has no bridge: a build has its network from the host
        self.extra.write_text(f"services:\n  iii-sandbox:\n    build:\n      context: {harness.ROOT}\n      network: host\n")
        self.env = {**os.environ, "DOCKER_HOST": engine.host, "III_DOCKER_SOCKET": str(engine.socket), "III_DATA_DIR": str(self.home / "data"),
                    "III_REST_PORT": str(self.port), "III_ENGINE_PORT": str(free_port()), "COMPOSE_DOCKER_CLI_BUILD": "0", "DOCKER_BUILDKIT": "0"}

    def compose(self, *words, limit_s=harness.DEADLINE_S * 4):
        files = ["-f", harness.ROOT / "compose.yaml", "-f", self.extra]
        done = subprocess.run([COMPOSE, *files, "-p", PROJECT, *words], env=self.env, capture_output=True, text=True, check=False, timeout=limit_s,
                              stdin=subprocess.DEVNULL)
        assert done.returncode == 0, f"{words}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
        return done.stdout

    def ready(self):
        return harness.ready_ports("\n".join(line.split("| ", 1)[-1] for line in self.compose("logs", "--no-color").splitlines()) + "\n")


@pytest.fixture(scope="module")
def engine():
    made = dockerkit.Engine(is_in_host_network=True)
    try:
        made.start()
        made.add_image("debian&tag=bookworm-slim", base().read_bytes())
        made.add_image()
        yield made
    finally:
        made.remove()


@pytest.fixture(scope="module")
def stack(engine):
    made = Stack(engine)
    made.compose("build", limit_s=BUILD_S)
    made.compose("up", "-d")
    try:
        yield made
    finally:
        made.compose("down")
        shutil.rmtree(made.home, ignore_errors=True)


def test_the_composed_server_runs_sandboxes_beside_itself(engine, stack):
    harness.wait_until(stack.ready, "the server in its container")
    with harness.Client(stack.port) as client:
        sid = client.create(memory=128)["id"]
        assert client.exec(sid, "echo from beside")["stdout"] == "from beside\n"
        figures = client.ok("GET", f"/sandboxes/{sid}/metrics")
        assert figures["memoryLimitMb"] == 128 and figures["pids"] >= 1, "figures need the host's processes and control groups"
        assert [c["Labels"]["iii-sandbox-id"] for c in engine.containers()] == [sid]
        stack.compose("restart")
        harness.wait_until(lambda: client_or_none(client), "the server to be back")
        client.delete(f"/sandboxes/{sid}")
    harness.wait_until(lambda: not engine.containers(), "the sandbox's container to go")


def test_the_composed_server_has_no_right_that_it_does_not_need(engine, stack):
    harness.wait_until(stack.ready, "the server in its container")
    found = stack.compose("exec", "-T", "iii-sandbox", "sh", "-c", "touch /usr/mark 2>&1; grep -E '^(NoNewPrivs|CapBnd)' /proc/self/status; env")
    assert "Read-only file system" in found
    assert "NoNewPrivs:\t1" in found
    kept = int(re.search(r"CapBnd:\t(\w+)", found)[1], 16)
    assert kept == sum(1 << bit for bit in (0, 1, 3, 6, 7)), f"CHOWN, DAC_OVERRIDE, FOWNER, SETGID and SETUID, not {kept:#x}"
    assert "III_AUTH_TOKEN" not in found, "an empty token"


def client_or_none(client):
    try:
        return client.get("/health").status == 200
    except OSError:
        client.close()
        return False
