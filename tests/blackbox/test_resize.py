"""Limits that change while a sandbox runs: memory, CPUs, processes, disk. What they do inside, and what is refused."""
import http.client

import pytest

import harness

pytestmark = harness.needs("resize", "limitMemory")
SERVER_ENV = {"III_MAX_MEMORY": "1024", "III_MAX_CPUS": "2", "III_MAX_PIDS": "300", "III_MAX_DISK": "300"}
CAP_SYS_RESOURCE = 24


def resize(client, sid, **limits):
    return client.ok("POST", f"/sandboxes/{sid}/limits", limits)


def limit_mb(client, sid):
    return client.ok("GET", f"/sandboxes/{sid}/metrics")["memoryLimitMb"]


def disk_mb(client, sid):
    return int(client.exec(sid, "stat -f -c '%b * %S / 1048576' / | xargs expr")["stdout"])


def hold(client, sid, mb):
    """A process that has so much memory in use, until it is killed. Its pid."""
    code = f"x = bytearray({mb} << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\nopen('/tmp/held', 'w').close()\nimport time; time.sleep(600)"
    job = client.ok("POST", f"/sandboxes/{sid}/exec/start", {"command": ["python3", "-c", code]})
    harness.wait_until(lambda: client.exec(sid, "test -e /tmp/held")["exitCode"] == 0, what="the memory is in use")
    return job["id"]


def test_memory_cpus_and_processes_change_while_it_runs(new_sandbox, client):
    sid = new_sandbox(memory=256, cpu=1, pids=64)["id"]
    config = resize(client, sid, memory=512, cpu=0.5, pids=100)["config"]
    assert (config["memory"], config["cpu"], config["pids"]) == (512, 0.5, 100)
    assert limit_mb(client, sid) == 512
    hold(client, sid, 300)  # more than it had before
    metrics = client.ok("GET", f"/sandboxes/{sid}/metrics")
    assert metrics["cpuLimit"] == 0.5 and metrics["pidsLimit"] == 100
    forks = client.exec(sid, ["python3", "-c", "import os\nn = 0\ntry:\n  while n < 150:\n    if os.fork() == 0: import time; time.sleep(2); os._exit(0)\n    n += 1\nexcept OSError: pass\nprint(n)"])
    assert 64 < int(forks["stdout"].split()[0]) < 100, forks
    events = client.ok("GET", f"/events/history?sandboxId={sid}&topic=sandbox.resized")["events"]
    assert [e["data"]["memory"] for e in events] == [512]


def test_memory_in_use_is_not_taken_away(new_sandbox, client):
    sid = new_sandbox(memory=512)["id"]
    job = hold(client, sid, 200)
    answer = client.call("POST", f"/sandboxes/{sid}/limits", {"memory": 128, "cpu": 0.5})
    assert answer.status == 409 and "memory cannot be lowered to 128 MB" in answer.error, answer
    record = client.ok("GET", f"/sandboxes/{sid}")
    assert (record["config"]["memory"], record["config"]["cpu"]) == (512, 1) and limit_mb(client, sid) == 512
    assert client.ok("GET", f"/exec/{job}")["running"] and client.ok("GET", f"/sandboxes/{sid}/metrics")["oomKills"] == 0
    client.ok("POST", f"/exec/{job}/signal", {"signal": "KILL"})
    harness.wait_until(lambda: client.call("POST", f"/sandboxes/{sid}/limits", {"memory": 128}).status == 200, what="its memory is free")
    assert limit_mb(client, sid) == 128


def test_what_is_refused_and_what_is_moved(new_sandbox, client):
    sid = new_sandbox(memory=256)["id"]
    assert client.call("POST", f"/sandboxes/{sid}/limits", {}).status == 400
    assert client.call("POST", f"/sandboxes/{sid}/limits", {"memory": "much"}).status == 400
    moved = resize(client, sid, memory=5000, cpu=64, pids=100000)
    assert (moved["config"]["memory"], moved["config"]["cpu"], moved["config"]["pids"]) == (1024, 2, 300)
    assert len(moved["warnings"]) == 3 and any("III_MAX_MEMORY" in w for w in moved["warnings"])
    assert client.call("POST", "/sandboxes/sbx_000000000000000000000000/limits", {"memory": 300}).status == 404
    none = client.call("POST", f"/sandboxes/{sid}/limits", {"diskMb": 100})
    assert none.status in (409, 501), none  # it has no disk of its own


@harness.needs("pause", "stop")
def test_paused_and_stopped_ones_change_as_well(new_sandbox, client):
    sid = new_sandbox(memory=256)["id"]
    client.ok("POST", f"/sandboxes/{sid}/pause")
    assert resize(client, sid, memory=300)["status"] == "paused"
    client.ok("POST", f"/sandboxes/{sid}/resume")
    assert limit_mb(client, sid) == 300
    client.ok("POST", f"/sandboxes/{sid}/stop")
    assert resize(client, sid, memory=400)["config"]["memory"] == 400
    client.ok("POST", f"/sandboxes/{sid}/start")
    assert limit_mb(client, sid) == 400


@harness.needs("snapshot")
def test_clones_have_the_new_limits(new_sandbox, client):
    sid = new_sandbox(memory=256)["id"]
    resize(client, sid, memory=320)
    child = client.ok("POST", f"/sandboxes/{sid}/clone")["id"]
    assert client.ok("GET", f"/sandboxes/{child}")["config"]["memory"] == 320 and limit_mb(client, child) == 320
    client.ok("DELETE", f"/sandboxes/{child}")


@harness.needs("growDisk", "stop")
@pytest.mark.skipif(not harness.IS_ROOT, reason="disks need loop devices, which only root has")
def test_a_disk_grows(new_sandbox, client):
    sid = new_sandbox(diskMb=32)["id"]
    client.exec(sid, "echo kept > /workspace/file")
    assert client.call("POST", f"/sandboxes/{sid}/limits", {"diskMb": 16}).status == 400
    live = client.call("POST", f"/sandboxes/{sid}/limits", {"diskMb": 64})
    with open("/proc/self/status") as status:
        bounding = next(int(line.split()[1], 16) for line in status if line.startswith("CapBnd"))
    if bounding >> CAP_SYS_RESOURCE & 1:
        assert live.status == 200 and disk_mb(client, sid) >= 60, live
    else:
        assert live.status == 501 and "CAP_SYS_RESOURCE" in live.error, live
        assert client.ok("GET", f"/sandboxes/{sid}")["config"]["diskMb"] == 32
    client.ok("POST", f"/sandboxes/{sid}/stop")
    inodes = resize(client, sid, diskMb=160)["config"]["inodes"]
    assert inodes >= 5 * 32 * 64
    client.ok("POST", f"/sandboxes/{sid}/start")
    assert disk_mb(client, sid) >= 150
    assert client.exec(sid, "cat /workspace/file && head -c 120000000 /dev/zero > /workspace/big && echo fits")["stdout"] == "kept\nfits\n"
    assert client.ok("GET", f"/sandboxes/{sid}/metrics")["diskLimitMb"] == 160


@pytest.mark.skipif(harness.BACKEND != "native", reason="the crash is the same for all")
def test_a_crash_in_the_middle_leaves_record_and_box_agreeing():
    with harness.Server(env=SERVER_ENV) as server:
        client = server.client()
        boxes = [client.create(image="python", memory=256)["id"] for _ in range(4)]
        links = [http.client.HTTPConnection("127.0.0.1", server.port) for _ in boxes]
        for link, sid in zip(links, boxes):
            link.request("POST", f"{harness.PREFIX}/sandboxes/{sid}/limits", '{"memory": 700}', {"Content-Type": "application/json"})
        server.kill()
        server.start()
        client = server.client()
        for sid in boxes:
            harness.wait_until(lambda sid=sid: limit_mb(client, sid) == client.ok("GET", f"/sandboxes/{sid}")["config"]["memory"],
                               what="record and box agree")
            assert limit_mb(client, sid) in (256, 700)
