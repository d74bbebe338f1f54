"""The Docker backend, against an engine of the test's own. What is the same for every backend is in the other files: run them
with III_TEST_BACKEND=docker."""
import concurrent.futures
import json
import os
import re
import signal
import subprocess
import threading
import time

import pytest

import dockerkit
import dockerrelay
import fnclient
import harness
from harness import wait_until

pytestmark = pytest.mark.skipif(not dockerkit.is_there(), reason="needs dockerd and root")
PROGRAMS = ["sh", "-c"]


@pytest.fixture(scope="module")
def engine():
    with dockerkit.Engine() as made:
        made.add_image("withuser", changes=['USER nobody', 'WORKDIR /srv', 'ENV COLOUR=red', 'ENTRYPOINT ["/bin/false"]'])
        yield made


def serve(engine, **env):
    return harness.Server(env={"III_ISOLATION_BACKEND": "docker", "DOCKER_HOST": engine.host, "III_MAX_SANDBOXES": "50", **env})


@pytest.fixture(scope="module")
def server(engine):
    with serve(engine) as made:
        yield made
        for item in made.client().ok("GET", "/sandboxes?pageSize=200")["items"]:
            made.client().delete(f"/sandboxes/{item['id']}")
        wait_until(lambda: not engine.containers(), "containers to go")
    made.remove()


def container_of(engine, sid):
    return engine.json("GET", f"/containers/iii-sbx-{sid}/json")


def test_the_container_is_hardened(engine, server):
    client = server.client()
    sid = client.create(memory=128, cpu=1.5, shmMb=64)["id"]
    seen = container_of(engine, sid)
    host, config = seen["HostConfig"], seen["Config"]
    assert host["NetworkMode"] == "none" and not host["Privileged"] and host["CapDrop"] == ["ALL"]
    assert host["SecurityOpt"] == ["no-new-privileges:true"] and host["PidsLimit"] == 256
    assert host["Memory"] == host["MemorySwap"] == 128 << 20
    assert host["CpuQuota"] / host["CpuPeriod"] == 1.5
    assert [(m["Destination"], m["RW"]) for m in seen["Mounts"]] == [("/.iii", False)]
    assert config["Labels"]["iii-sandbox"] == "true" and config["Labels"]["iii-sandbox-id"] == sid
    assert config["Hostname"] == sid
    status = client.exec(sid, "grep -E '^(NoNewPrivs|Seccomp|CapEff):' /proc/self/status")["stdout"].split()
    assert status[status.index("NoNewPrivs:") + 1] == "1" and status[status.index("Seccomp:") + 1] == "2"
    assert int(status[status.index("CapEff:") + 1], 16) == 0x4FB
    assert host["ShmSize"] == 64 << 20
    assert client.exec(sid, "echo x > /.iii/guest")["exitCode"] != 0
    assert client.exec(sid, "ls /.iii")["stdout"].split() == ["guest"], "the socket is there only while the agent is waited for"
    client.delete(f"/sandboxes/{sid}")


def test_user_folder_and_environment_of_the_image_hold_and_its_entrypoint_does_not_run(server):
    client = server.client()
    sid = client.create(image="withuser")["id"]
    answer = client.exec(sid, "id -un; pwd; echo $COLOUR")
    assert answer["stdout"].split() == ["nobody", "/srv", "red"]
    client.delete(f"/sandboxes/{sid}")


def test_memory_limit_and_figures_of_the_container(server):
    client = server.client()
    sid = client.create(memory=64)["id"]
    result = client.exec(sid, ["python3", "-c", "x = bytearray(200 << 20)"])
    assert result["exitCode"] != 0 and result["oomKilled"] is True
    figures = client.ok("GET", f"/sandboxes/{sid}/metrics")
    assert figures["memoryLimitMb"] == 64 and figures["pids"] >= 1
    client.delete(f"/sandboxes/{sid}")


def test_unknown_images_are_not_found_and_nothing_is_left(engine, server):
    client = server.client()
    before = len(engine.containers())
    reply = client.post("/sandboxes", {"image": "no-such-image:1"})
    assert reply.status == 404 and 'image "no-such-image:1"' in reply.error and "iii image pull no-such-image:1" in reply.error
    assert len(engine.containers()) == before


def test_images_are_the_engines(engine, server):
    client = server.client()
    names = {i["name"]: i for i in client.ok("GET", "/images")["images"]}
    assert names["python:latest"]["source"] == "docker"
    engine.json("POST", "/images/python/tag?repo=gone&tag=soon")
    assert client.delete("/images?name=gone:soon").status == 200
    assert client.delete("/images?name=gone:soon").status == 404


def test_a_committed_image_goes_with_the_last_who_needs_it(engine, server):
    client = server.client()

    def captured():
        return [tag for i in engine.json("GET", "/images/json") for tag in (i["RepoTags"] or ["<none>"]) if tag.startswith(("iii-", "<none>"))]

    assert captured() == []
    sid = client.create()["id"]
    client.exec(sid, "echo kept > /workspace/f")
    snapshot = client.ok("POST", f"/sandboxes/{sid}/snapshots", {"name": "one"})
    assert captured() == [f"iii-sbx-snap:{snapshot['id']}"] and snapshot["size"] > 0
    child = client.ok("POST", f"/snapshots/{snapshot['id']}/clone", {})["id"]
    client.delete(f"/snapshots/{snapshot['id']}")
    assert client.exec(child, "cat /workspace/f")["stdout"] == "kept\n"
    client.delete(f"/sandboxes/{sid}")
    client.delete(f"/sandboxes/{child}")
    wait_until(lambda: captured() == [], "the image to go with the last sandbox made from it")


def test_what_the_backend_cannot_do_is_said_by_name(server):
    client = server.client()
    [backend] = client.ok("GET", "/metrics")["backends"]
    lacks = backend["lacks"]
    assert backend["name"] == "docker" and set(lacks) == {name for name, can in backend["can"].items() if not can}
    sid = client.create()["id"]
    volume = client.ok("POST", "/volumes", {"name": "v"})["id"]
    calls = {"limitDisk": ("POST", "/sandboxes", {"image": "python", "diskMb": 100}),
             "limitRate": ("POST", "/sandboxes", {"image": "python", "netMbps": 1}),
             "seccomp": ("POST", "/sandboxes", {"image": "python", "seccomp": "strict"}),
             "volume": ("POST", f"/volumes/{volume}/attach", {"sandboxId": sid, "mountPath": "/v"}),
             "egress": ("POST", f"/sandboxes/{sid}/egress", {"default": "deny", "rules": []})}
    for name, (method, path, body) in calls.items():
        reply = client.call(method, path, body)
        assert reply.status == 501 and reply.error.startswith("the docker backend cannot ") and lacks[name] in reply.error, reply
    assert client.get(f"/sandboxes/{sid}/egress").status == 501
    client.delete(f"/volumes/{volume}")
    client.delete(f"/sandboxes/{sid}")


def test_two_backends_in_one_server(engine):
    with serve(engine, III_ISOLATION_BACKEND="native", III_BACKENDS="docker") as server:
        client = server.client()
        own = client.create()
        other = client.create(backend="docker")
        assert (own["backend"], other["backend"]) == ("native", "docker")
        reply = client.post("/sandboxes", {"image": "python", "backend": "qemu"})
        assert reply.status == 400 and "native, docker" in reply.error
        assert client.exec(other["id"], "ls -d /.iii")["stdout"] == "/.iii\n"
        assert client.exec(own["id"], "ls -d /.iii")["exitCode"] != 0
        child = client.ok("POST", f"/sandboxes/{other['id']}/clone", {})
        assert child["backend"] == "docker"
        snapshot = client.ok("POST", f"/sandboxes/{other['id']}/snapshots", {})["id"]
        reply = client.post(f"/sandboxes/{own['id']}/snapshots/restore", {"snapshotId": snapshot})
        assert reply.status == 409 and "docker" in reply.error
        server.kill()
        server.start()
        listed = {r["id"]: r["backend"] for r in server.client().ok("GET", "/sandboxes")["items"]}
        assert listed == {own["id"]: "native", other["id"]: "docker", child["id"]: "docker"}
    server.remove()
    assert engine.containers() == []


def test_killed_server_finds_its_containers_again_and_removes_the_half_made(engine):
    server = serve(engine)
    try:
        server.start()
        client = server.client()
        sid = client.create()["id"]
        client.exec(sid, "echo 1 > /workspace/f")
        paused = client.create()["id"]
        client.ok("POST", f"/sandboxes/{paused}/pause")
        lost, cut = client.create()["id"], client.create()["id"]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for _ in range(4):
                pool.submit(lambda: harness.Client(server.port).post("/sandboxes", {"image": "python"}))
            wait_until(lambda: len(engine.containers()) > 4, "a create under way")
            server.kill()
        engine.call("DELETE", f"/containers/iii-sbx-{lost}?force=1")
        engine.call("POST", f"/containers/iii-sbx-{cut}/pause")  # as by a pause that its record does not have
        server.start()
        client = server.client()
        listed = {r["id"]: r["status"] for r in client.ok("GET", "/sandboxes")["items"]}
        assert listed[sid] == "running" and listed[paused] == "paused" and lost not in listed
        assert client.exec(sid, "cat /workspace/f")["stdout"] == "1\n"
        assert listed[cut] == "running" and client.exec(cut, "echo on")["stdout"] == "on\n"
        assert client.post(f"/sandboxes/{paused}/exec", {"command": "true"}).status == 409
        client.ok("POST", f"/sandboxes/{paused}/resume")
        assert client.exec(paused, "echo up")["stdout"] == "up\n"
        wait_until(lambda: {c["Labels"]["iii-sandbox-id"] for c in engine.containers()} == set(listed), "what no record names to go")
        server.stop()
        assert engine.containers() == []
    finally:
        server.remove()


# --- what the engine makes after its server has been killed, cut off or stopped ---


@pytest.fixture
def relay(engine):
    with dockerrelay.Relay(engine) as made:
        yield made


@pytest.fixture
def relayed(engine, relay):
    """A server whose engine answers when the test wants it."""
    made = serve(engine, DOCKER_HOST=relay.host)
    try:
        yield made.start()
        if made.proc.poll() is None:
            made.stop()
        assert engine.containers() == [] and engine.networks() == []
    finally:
        made.remove()


def folders(server):
    return [path.name for path in (server.data_dir / "docker").iterdir() if "_" in path.name]


def in_background(server, path, body):
    """A request whose answer nobody waits for."""
    thread = threading.Thread(target=lambda: ask(server.port, path, body))
    thread.start()
    return thread


def ask(port, path, body):
    try:
        with harness.Client(port) as client:
            client.post(path, body)
    except (OSError, AssertionError):  # the server was killed
        pass


def test_what_is_made_after_the_sweep(engine, relay, relayed):
    """A container, a network and an image, all asked for by a server that was killed. Another one was killed meanwhile."""
    kept = relayed.client().create()["id"]
    relay.hold("POST /")
    asking = [in_background(relayed, "/sandboxes", {"image": "python"}), in_background(relayed, "/networks", {"name": "late"}),
              in_background(relayed, f"/sandboxes/{kept}/snapshots", {})]
    relay.wait_held(3)
    relayed.kill()
    for one in asking:
        one.join()
    relayed.start()
    assert set(folders(relayed)) > {kept}, "what is in doubt is remembered, should this server be killed, too"
    relayed.kill()
    relayed.start()
    assert relay.let_go() == [201] * 3
    wait_until(lambda: [c["Labels"]["iii-sandbox-id"] for c in engine.containers()] == [kept], "the late container to go")
    wait_until(lambda: folders(relayed) == [kept], "its folder to go")
    wait_until(lambda: engine.networks() == [], "the late network to go")
    captured = f'/images/json?filters={{"label":["iii-sandbox-data={relayed.data_tag()}"]}}'
    wait_until(lambda: engine.json("GET", captured) == [], "the late image to go")


def test_a_container_that_is_made_while_the_next_server_stops(engine, relay, relayed):
    relay.hold("POST /containers/create")
    asking = in_background(relayed, "/sandboxes", {"image": "python"})
    relay.wait_held()
    relayed.kill()
    asking.join()
    relayed.start()
    relayed.proc.send_signal(signal.SIGTERM)
    relay.wait_asked("GET /containers/json", 2)
    assert relay.let_go() == [201]
    assert relayed.proc.wait(harness.DEADLINE_S) == 0
    assert engine.containers() == [] and folders(relayed) == []


def test_a_container_that_is_made_after_the_engine_hung_up(engine, relay, relayed):
    relay.hold("POST /containers/create")
    replies = []
    asking = threading.Thread(target=lambda: replies.append(relayed.client().post("/sandboxes", {"image": "python"})))
    asking.start()
    relay.wait_held()
    place = relayed.data_dir / "docker" / re.search(r"iii-sbx-(\w+)", relay.held_lines[0])[1] / "f"
    place.touch()  # the folder stays: an engine that had begun would have seen it
    relay.hang_up()
    asking.join()
    assert replies[0].status == 503 and "cannot be reached" in replies[0].error
    wait_until(lambda: not place.with_name("guest").exists(), "the engine to say that there is no such container")
    assert relay.let_go() == [201]
    wait_until(lambda: engine.containers() == [], "the late container to go")
    place.unlink()


def test_a_server_that_is_stopped_while_it_looks_for_its_containers(engine, relay, relayed):
    relayed.client().create()
    [agent] = [engine.json("GET", f"/containers/{one['Id']}/json")["State"]["Pid"] for one in engine.containers()]
    os.kill(agent, signal.SIGSTOP)
    relayed.kill()
    relay.hold("GET /containers/")
    with open(relayed.log_path, "ab") as log:
        relayed.proc = subprocess.Popen(relayed.argv(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=relayed.home,
                                        env=harness.clean_env({"HOME": relayed.home, **relayed.env}))
    relay.wait_held()
    relayed.proc.send_signal(signal.SIGTERM)
    wait_until(lambda: "server.stop" in relayed.log(), "the server to hear it")
    relay.let_go()
    os.kill(agent, signal.SIGCONT)
    assert relayed.proc.wait(harness.DEADLINE_S) == 0
    assert engine.containers() == []


def test_another_process_of_the_container_is_not_taken_for_the_agent(engine):
    """After a crash the socket is there again: whoever else in the container calls it first is turned away."""
    server = serve(engine)
    try:
        server.start()
        client = server.client()
        sid = client.create()["id"]
        caller = "import socket,time\nwhile True:\n s=socket.socket(socket.AF_UNIX)\n try:\n  s.connect('/.iii/sock'); s.sendall(b'x'*64); time.sleep(.2)\n except OSError: pass\n s.close()"
        client.ok("POST", f"/sandboxes/{sid}/exec/background", {"command": ["python3", "-c", caller]})
        time.sleep(0.3)
        server.kill()
        server.start()
        assert server.client().exec(sid, "echo me")["stdout"] == "me\n"
        server.stop()
    finally:
        server.remove()


def test_engine_stopped_and_started_again(engine):
    server = serve(engine)
    try:
        server.start()
        client = server.client()
        sid = client.create()["id"]
        engine.stop()
        reply = client.post("/sandboxes", {"image": "python"})
        assert reply.status == 503 and str(engine.socket) in reply.error
        wait_until(lambda: client.get(f"/sandboxes/{sid}").status == 404, "the sandbox whose container ended with the engine to be gone")
        engine.start()
        fresh = client.create()["id"]
        assert client.exec(fresh, "echo back")["stdout"] == "back\n"
        wait_until(lambda: [c["Labels"]["iii-sandbox-id"] for c in engine.containers()] == [fresh], "the dead container to be swept")
        server.stop()
        assert engine.containers() == []
    finally:
        server.remove()


def test_a_server_that_starts_before_its_engine(engine):
    engine.stop()
    server = serve(engine)
    try:
        server.start()
        client = server.client()
        assert client.post("/sandboxes", {"image": "python"}).status == 503
        engine.start()
        assert client.exec(client.create()["id"], "echo late")["stdout"] == "late\n"
        server.stop()
    finally:
        server.remove()


@pytest.mark.parametrize("value", ["ssh://somewhere", "unix://relative", "tcp://"])
def test_an_address_that_is_none_is_refused(value):
    server = harness.Server(env={"III_ISOLATION_BACKEND": "docker", "DOCKER_HOST": value})
    with pytest.raises(AssertionError, match="neither unix"):
        server.start()
    server.remove()


@pytest.mark.parametrize("pull", ["never", "missing"])
def test_functions_use_the_images_that_the_engine_has(engine, pull):
    """custom_images are looked up where the backend keeps its images: nothing is pulled that is there."""
    engine.add_image("127.0.0.1:1/mine:1")
    with serve(engine, III_PULL=pull, III_IMAGE_ALLOWLIST="mine,lost", III_CUSTOM_IMAGES="mine=127.0.0.1:1/mine:1,lost=127.0.0.1:1/lost:1") as made:
        fn = fnclient.Functions(made.engine_port)
        sid = fn.create("mine")
        assert fn.call("exec", sandbox_id=sid, cmd="echo here")["stdout"] == "here\n"
        fn.fault("create", "S101" if pull == "never" else "S102", image="lost")
        fn.close()
