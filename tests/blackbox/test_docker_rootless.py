"""Sandboxes without root anywhere: Podman's service and the server both run as an ordinary user."""
import pytest

import harness
import otherengines
from harness import wait_until

pytestmark = [pytest.mark.skipif(otherengines.Podman.lacks() is not None, reason=f"Podman as another user: {otherengines.Podman.lacks()}"),
              pytest.mark.skipif(harness.IS_SANITIZED, reason="nothing of it is the server's own code that other files do not run")]


@pytest.fixture(scope="module")
def engine():
    made = otherengines.RootlessPodman()
    try:
        made.start()
        made.add_image()
        yield made
    finally:
        made.remove()


def test_an_ordinary_user_has_sandboxes(engine):
    server = harness.Server(env={"III_ISOLATION_BACKEND": "docker", "DOCKER_HOST": engine.host}, user=otherengines.ORDINARY)
    try:
        server.start()
        client = server.client()
        sid = client.create()["id"]
        assert client.exec(sid, "id -u; cat /proc/self/uid_map")["stdout"].split()[:4] == ["0", "0", str(otherengines.ORDINARY), "1"]
        client.ok("POST", f"/sandboxes/{sid}/files/write", {"path": "f", "content": "mine"})
        server.kill()
        server.start()
        client = server.client()
        assert client.exec(sid, "cat /workspace/f")["stdout"] == "mine"
        server.stop()
        wait_until(lambda: not engine.containers(), "containers to go")
    finally:
        server.remove()
