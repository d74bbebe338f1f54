"""A Docker engine that goes away and comes back under load: clear errors meanwhile, then everything works again without a new server,
and nothing is left behind."""
import collections
import signal
import threading
import time

import pytest

import dockerkit
import harness
from harness import wait_until

pytestmark = [pytest.mark.skipif(not dockerkit.is_there(), reason="needs dockerd and root"),
              pytest.mark.skipif(harness.IS_SANITIZED, reason="the same engine under the same load as without sanitizers; test_docker.py runs under them")]
LOADERS = 3


class Load:
    """Clients that create, use and kill sandboxes until they are told to end; every answer is kept."""

    def __init__(self, server):
        self.server, self.end = server, threading.Event()
        self.good, self.bad, self.lock = 0, [], threading.Lock()
        self.threads = [threading.Thread(target=self.run) for _ in range(LOADERS)]
        for thread in self.threads:
            thread.start()

    def note(self, what, reply):
        with self.lock:
            if reply.status == 200:
                self.good += 1
            else:
                self.bad.append((what, reply.status, reply.error))
        return reply

    def run(self):
        client = harness.Client(self.server.port)
        while not self.end.is_set():
            made = self.note("create", client.post("/sandboxes", {"image": "python"}))
            if made.status != 200:
                time.sleep(0.05)
                continue
            sid = made.json()["id"]
            self.note("exec", client.post(f"/sandboxes/{sid}/exec", {"command": "echo hi"}))
            self.note("kill", client.delete(f"/sandboxes/{sid}"))
        client.close()

    def join(self):
        self.end.set()
        for thread in self.threads:
            thread.join()


def judge(bad, engine):
    """Every error of the outage has a status and a text that a caller can do something with."""
    for what, status, text in bad:
        if what == "create":
            assert status in (502, 503) and ("engine" in text), (what, status, text)
        else:  # its sandbox went with the engine, perhaps in the middle of this call, or the engine could not be asked
            assert status in (404, 410, 503) or (status == 502 and "agent has exited" in text), (what, status, text)
    away = [text for what, status, text in bad if what == "create" and status == 503]
    assert away and all(str(engine.socket) in text for text in away), collections.Counter(away)


def leftovers(engine):
    containers = [c["Names"] for c in engine.json("GET", "/containers/json?all=1")]
    volumes = [v["Name"] for v in engine.json("GET", "/volumes")["Volumes"] or ()]
    networks = [n["Name"] for n in engine.json("GET", "/networks") if n["Name"] not in ("bridge", "host", "none")]
    return containers + volumes + networks


@pytest.mark.parametrize("live_restore", [False, True], ids=["containers-end-with-it", "live-restore"])
@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGKILL], ids=["stopped", "killed"])
def test_engine_away_and_back_under_load(live_restore, sig):
    engine = dockerkit.Engine(["--live-restore"] if live_restore else ())
    server = harness.Server(env={"III_ISOLATION_BACKEND": "docker", "DOCKER_HOST": engine.host, "III_MAX_SANDBOXES": "50"})
    try:
        engine.start()
        engine.add_image()
        server.start()
        client = server.client()
        kept = client.create()["id"]
        client.exec(kept, "echo precious > /workspace/f")
        load = Load(server)
        try:
            wait_until(lambda: load.good >= 6, "the load to run")
            engine.stop(sig)
            reply = client.post("/sandboxes", {"image": "python"})
            assert reply.status == 503 and str(engine.socket) in reply.error
            if live_restore or sig == signal.SIGKILL:
                assert client.exec(kept, "cat /workspace/f")["stdout"] == "precious\n", "commands need no engine"
            wait_until(lambda: sum(b[0] == "create" for b in load.bad) >= LOADERS, "the load to meet the outage")
            engine.start()
            before = load.good
            wait_until(lambda: load.good >= before + 6, f"the load to run again\n{server.log()}")
        finally:
            load.join()
        judge(load.bad, engine)
        if live_restore:
            assert client.exec(kept, "cat /workspace/f")["stdout"] == "precious\n"
            client.ok("POST", f"/sandboxes/{kept}/pause")
            client.ok("POST", f"/sandboxes/{kept}/resume")
        else:
            wait_until(lambda: client.get(f"/sandboxes/{kept}").status == 404, "the sandbox that ended with its engine to be gone")
        for item in client.ok("GET", "/sandboxes?pageSize=100")["items"]:
            assert client.delete(f"/sandboxes/{item['id']}").status in (200, 404)
        wait_until(lambda: not leftovers(engine), f"what the outage left half-made to go: {leftovers(engine)}")
        wait_until(lambda: not [p.name for p in (server.data_dir / "docker").iterdir() if "_" in p.name], "the folders of dead containers to go")
        server.stop()
    finally:
        server.remove()
        engine.remove()
