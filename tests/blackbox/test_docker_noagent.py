"""A container that cannot have the agent: commands go by the engine's exec, the record says so, and the rest is 501.

Here the engine does not see the server's data folder, as one on another machine would not: it is a mount of the server's own."""
import contextlib
import hashlib
import json
import subprocess
import threading

import pytest

import dockerkit
import harness
import images
from harness import wait_until
from test_docker import container_of, serve

pytestmark = pytest.mark.skipif(not dockerkit.is_there(), reason="needs dockerd and root")
WORDS = "withoutAgent"


@pytest.fixture(scope="module")
def engine():
    with dockerkit.Engine() as made:
        yield made


@contextlib.contextmanager
def hidden(engine):
    """A server whose data folder is in a mount namespace that the engine is not in; another process keeps it for the next server."""
    server = serve(engine)
    server.data_dir.mkdir(mode=0o700)
    keeper = subprocess.Popen(["unshare", "-m", "--propagation", "private", "sh", "-c", 'mount -t tmpfs none "$0" && echo up && exec sleep 100000',
                               str(server.data_dir)], stdout=subprocess.PIPE)
    try:
        assert keeper.stdout.readline() == b"up\n"
        server.wrap = ["nsenter", "-t", str(keeper.pid), "-m"]
        server.start()
        yield server
        server.stop()
        assert engine.containers() == []
    finally:
        keeper.kill()
        keeper.wait()
        keeper.stdout.close()
        server.remove()


@pytest.fixture(scope="module")
def server(engine):
    with hidden(engine) as made:
        yield made


@pytest.fixture(scope="module")
def client(server):
    return server.client()


@pytest.fixture(scope="module")
def box(client):
    return client.create(env={"COLOUR": "red"}, memory=128)


def test_the_record_says_so_and_the_container_is_as_hard(engine, client, box):
    assert "data folder" in box[WORDS] and client.ok("GET", f"/sandboxes/{box['id']}")[WORDS] == box[WORDS]
    seen = container_of(engine, box["id"])
    assert seen["Mounts"] == [] and seen["HostConfig"]["CapDrop"] == ["ALL"] and seen["HostConfig"]["NetworkMode"] == "none"
    assert seen["HostConfig"]["Memory"] == 128 << 20


def test_commands(client, box):
    sid = box["id"]
    done = client.exec(sid, "echo out; echo err >&2; pwd; echo $COLOUR; exit 7")
    assert (done["exitCode"], done["stdout"], done["stderr"]) == (7, "out\n/workspace\nred\n", "err\n")
    assert client.exec(sid, ["printf", "%s|", "a b", "$x"])["stdout"] == "a b|$x|"
    assert client.exec(sid, ["no-such-program"])["exitCode"] in (126, 127)
    big = client.exec(sid, ["python3", "-c", "import sys; sys.stdout.write('x' * 900000); sys.stderr.write('y' * 300000)"])
    assert big["stdout"].count("x") == 900000 and big["stderr"].count("y") == 300000
    events = list(client.events("POST", f"/sandboxes/{sid}/exec/stream", {"command": "echo one; sleep 0.2; echo two; exit 3"}))
    assert "".join(e["data"] for e in events if e["type"] == "stdout") == "one\ntwo\n" and events[-1]["type"] == "exit"


def test_a_timeout_ends_the_command(client, box):
    sid = box["id"]
    reply = client.post(f"/sandboxes/{sid}/exec", {"command": "echo begun; sleep 99961", "timeout": 1})
    assert reply.status in (200, 504), reply
    wait_until(lambda: "99961" not in client.exec(sid, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")["stdout"].replace("9996[1]", ""), "the command to end")


def test_several_at_once(server, box):
    said = {}

    def one(number):
        with harness.Client(server.port) as caller:
            said[number] = caller.exec(box["id"], f"sleep 0.1; echo {number}")["stdout"]

    threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert said == {number: f"{number}\n" for number in range(8)}


def test_the_rest_is_refused_by_name(client, box):
    sid = box["id"]
    for method, path, body in (("POST", "files/write", {"path": "f", "content": "x"}), ("POST", "files/list", {"path": "."}),
                               ("POST", "exec/background", {"command": "true"}),
                               ("GET", "processes", None)):
        reply = client.call(method, f"/sandboxes/{sid}/{path}", body)
        assert reply.status == 501 and WORDS in reply.error, (path, reply)
    assert client.exec(sid, "echo still")["stdout"] == "still\n"


def test_pause_snapshot_and_figures(client, box):
    sid = box["id"]
    client.ok("POST", f"/sandboxes/{sid}/pause")
    assert client.post(f"/sandboxes/{sid}/exec", {"command": "true"}).status == 409
    client.ok("POST", f"/sandboxes/{sid}/resume")
    client.exec(sid, "echo kept > /workspace/f")
    child = client.ok("POST", f"/sandboxes/{sid}/clone", {})
    assert child[WORDS] and client.exec(child["id"], "cat /workspace/f")["stdout"] == "kept\n"
    assert client.ok("GET", f"/sandboxes/{sid}/metrics")["memoryLimitMb"] == 128


def test_a_container_that_ends_is_noticed(engine, client):
    sid = client.create()["id"]
    engine.json("POST", f"/containers/iii-sbx-{sid}/kill")
    wait_until(lambda: client.get(f"/sandboxes/{sid}").status == 404, "the sandbox to be gone")


def test_found_again_after_a_crash(engine, server):
    client = server.client()
    running, paused, lost = (client.create()["id"] for _ in range(3))
    client.exec(running, "echo 1 > /workspace/f")
    client.ok("POST", f"/sandboxes/{paused}/pause")
    server.kill()
    engine.call("DELETE", f"/containers/iii-sbx-{lost}?force=1")
    engine.call("POST", f"/containers/iii-sbx-{running}/pause")  # as by a pause and a resume that their records do not have
    engine.call("POST", f"/containers/iii-sbx-{paused}/unpause")
    server.start()
    client = server.client()
    listed = {row["id"]: row for row in client.ok("GET", "/sandboxes")["items"]}
    assert lost not in listed and listed[paused]["status"] == "paused" and listed[running][WORDS]
    assert engine.json("GET", f"/containers/iii-sbx-{paused}/json")["State"]["Paused"]
    assert client.exec(running, "cat /workspace/f")["stdout"] == "1\n"
    client.ok("POST", f"/sandboxes/{paused}/resume")
    assert client.exec(paused, "echo up")["stdout"] == "up\n"


def test_an_image_of_another_machine_has_the_agent(engine):
    """It is a static program of this machine's and needs nothing of the image; whether the image's own programs run is up to the host (these do:
    only the label is another's)."""
    layer = dockerkit.rootfs()
    config = {"architecture": "arm64", "os": "linux", "config": {}, "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]}}
    manifest = [{"Config": "config.json", "RepoTags": ["foreign:latest"], "Layers": ["layer.tar"]}]
    archive = images.pack([images.entry("config.json", json.dumps(config).encode()), images.entry("layer.tar", layer),
                           images.entry("manifest.json", json.dumps(manifest).encode())])
    status, text = engine.call("POST", "/images/load", archive, {"Content-Type": "application/x-tar"})
    assert status == 200, text
    assert engine.json("GET", "/images/foreign/json")["Architecture"] == "arm64"
    with serve(engine) as server:
        client = server.client()
        box = client.create(image="foreign")
        assert WORDS not in box and client.exec(box["id"], "echo here")["stdout"] == "here\n"
