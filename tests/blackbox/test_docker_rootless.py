"""Sandboxes without root anywhere: Podman's service and the server both run as an ordinary user."""
import pytest

import harness
import otherengines
from harness import wait_until

pytestmark = [pytest.mark.skipif(otherengines.Podman.lacks() is not None, reason=f"Podman as another user: {otherengines.Podman.lacks()}"),
              pytest.mark.skipif(harness.IS_SANITIZED, reason="nothing of it is the server's own code that other files do not run")]


@pytest.fixture(scope="module")
def engine():
    with otherengines.RootlessPodman() as made:
        yield made


def judge_limits(engine, client, sid):
    """What it claims is not what it does: without root, control groups of version 1 are nobody's."""
    [backend] = client.ok("GET", "/metrics")["backends"]
    reply = client.post("/networks", {"name": "n"})
    assert not backend["can"]["network"] and reply.status == 501 and "Podman" in backend["lacks"]["network"] and backend["lacks"]["network"] in reply.error
    names = {"limitMemory", "limitCpu", "limitPids", "pause", "snapshot"}
    if engine.json("GET", "/info")["CgroupVersion"] != "1":
        assert backend["can"]["pause"] and "pause" not in backend["lacks"]
        return
    assert not any(backend["can"][name] for name in names) and all("version 2" in backend["lacks"][name] for name in names)
    for path, words in ((f"/sandboxes/{sid}/pause", "version 2"), (f"/sandboxes/{sid}/snapshots", "no control group")):
        reply = client.post(path, {})
        assert reply.status == 501 and words in reply.error, reply
    assert client.exec(sid, "echo goes on")["stdout"] == "goes on\n"
    [row] = [line for line in harness.run_cli("doctor", env={"DOCKER_HOST": engine.host}).stdout.splitlines() if "docker limits" in line]
    assert "memory: no, CPU: no, processes: no, pause: no" in row


def test_an_ordinary_user_has_sandboxes(engine):
    server = harness.Server(env={"III_ISOLATION_BACKEND": "docker", "DOCKER_HOST": engine.host}, user=otherengines.ORDINARY)
    try:
        server.start()
        client = server.client()
        sid = client.create()["id"]
        assert client.exec(sid, "id -u; cat /proc/self/uid_map")["stdout"].split()[:4] == ["0", "0", str(otherengines.ORDINARY), "1"]
        client.ok("POST", f"/sandboxes/{sid}/files/write", {"path": "f", "content": "mine"})
        judge_limits(engine, client, sid)
        server.kill()
        server.start()
        client = server.client()
        assert client.exec(sid, "cat /workspace/f")["stdout"] == "mine"
        server.stop()
        wait_until(lambda: not engine.containers(), "containers to go")
    finally:
        server.remove()
