"""Create, look at, pause, renew, clone and delete sandboxes, and what a sandbox may use."""
import concurrent.futures
import re
import time

import pytest

import harness
import leak

SERVER_ENV = {"III_MAX_MEMORY": "4096", "III_MAX_CPUS": "2"}  # else the host decides: test_warnings.py


def now_ms():
    return int(time.time() * 1000)


def test_create_answers_with_the_whole_record(new_sandbox):
    before = now_ms()
    record = new_sandbox()
    assert re.fullmatch(r"sbx_[0-9a-f]{24}", record["id"])
    assert record["status"] == "running"
    assert record["image"] == "python" and record["config"]["image"] == "python"
    assert record["name"] == record["id"]
    assert before - 1000 <= record["createdAt"] <= now_ms() + 1000
    assert record["expiresAt"] == record["createdAt"] + record["config"]["timeout"] * 1000
    assert record["metadata"] == {}
    config = record["config"]
    assert (config["timeout"], config["memory"], config["cpu"], config["workdir"]) == (3600, 512, 1.0, "/workspace")
    assert isinstance(config["cpu"], float)
    assert None not in config.values()


def test_create_takes_every_field(new_sandbox, client):
    record = new_sandbox(name="my box", timeout=120, memory=128, cpu=0.5, network=False, env={"GREETING": "hi there"},
                         workdir="/app/deep", metadata={"team": "red"})
    assert record["name"] == "my box" and record["metadata"] == {"team": "red"}
    config = record["config"]
    assert (config["timeout"], config["memory"], config["cpu"], config["workdir"]) == (120, 128, 0.5, "/app/deep")
    assert client.exec(record["id"], 'echo "$GREETING"; pwd')["stdout"] == "hi there\n/app/deep\n"


@pytest.mark.parametrize("field, value, effective", [
    ("timeout", 1, 60), ("timeout", 10**9, 86400), ("memory", 1, 64), ("memory", 10**6, 4096), ("cpu", 0.01, 0.5), ("cpu", 64, 2.0),
    ("timeout", "soon", 3600), ("memory", True, 512), ("memory", [], 512), ("cpu", "fast", 1.0), ("memory", None, 512),
    ("memory", "128", 128), ("env", "not an object", None), ("metadata", 5, None), ("entrypoint", "sh", None)])
def test_numbers_are_clamped_and_wrong_types_ignored(new_sandbox, field, value, effective):
    config = new_sandbox(**{field: value})["config"]
    if effective is not None:
        assert config[field] == effective


def test_connect_or_create(server, client, new_sandbox):
    def create(_):
        with harness.Client(server.port) as one:
            return one.ok("POST", "/sandboxes", {"name": "shared", "ifExists": "connect", "metadata": {"n": "1"}})["id"]

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        ids = set(pool.map(create, range(8)))
    assert len(ids) == 1 and create(0) in ids, "however many come at once, one creates and all get its sandbox"
    assert client.ok("GET", "/sandboxes", {"metadata": {"n": "1"}})["total"] == 1
    new_sandbox(name="shared")
    assert client.post("/sandboxes", {"name": "shared", "ifExists": "connect"}).status == 409
    client.ok("DELETE", f"/sandboxes/{ids.pop()}")
    assert client.post("/sandboxes", {"ifExists": "connect"}).error == 'ifExists: "connect" needs the name to look for'
    assert "ifExists" in client.post("/sandboxes", {"name": "x", "ifExists": "maybe"}).error
    for body in ({"image": "no such image"}, {"image": "shell"}):  # one that fails leaves nothing behind for the next
        reply = client.post("/sandboxes", {"name": "later", "ifExists": "connect", **body})
    client.ok("DELETE", f"/sandboxes/{reply.json()['id']}")


def test_an_unknown_field_is_ignored(new_sandbox):
    assert new_sandbox(memory_mb=7, colour="blue")["config"]["memory"] == 512


def test_get_list_and_pages(new_sandbox, client):
    ids = [new_sandbox(name=f"page{i}", metadata={"suite": "pages", "odd": str(i % 2)})["id"] for i in range(5)]
    assert client.ok("GET", f"/sandboxes/{ids[0]}")["id"] == ids[0]
    query = {"metadata": {"suite": "pages"}}
    page = client.ok("GET", "/sandboxes?page=2&pageSize=2", query)
    assert (page["total"], page["page"], page["pageSize"]) == (5, 2, 2)
    assert [s["id"] for s in page["items"]] == ids[2:4]
    assert [s["id"] for s in client.ok("GET", "/sandboxes", {**query, "page": 0})["items"]] == ids
    assert client.ok("GET", "/sandboxes", {"metadata": {"suite": "pages", "odd": "1"}})["total"] == 2
    assert client.ok("GET", "/sandboxes?pageSize=9999", query)["pageSize"] == 200
    assert client.ok("GET", "/sandboxes?page=77", query)["items"] == []


def test_list_filters_by_status(new_sandbox, client):
    running, paused = (new_sandbox(metadata={"suite": "status"})["id"] for _ in range(2))
    client.ok("POST", f"/sandboxes/{paused}/pause")
    query = {"metadata": {"suite": "status"}}
    assert [s["id"] for s in client.ok("GET", "/sandboxes?status=paused", query)["items"]] == [paused]
    assert [s["id"] for s in client.ok("GET", "/sandboxes?status=running", query)["items"]] == [running]


def test_delete_is_for_good(new_sandbox, client):
    sid = new_sandbox()["id"]
    assert client.ok("DELETE", f"/sandboxes/{sid}") == {"success": True}
    for reply in (client.get(f"/sandboxes/{sid}"), client.delete(f"/sandboxes/{sid}"),
                  client.post(f"/sandboxes/{sid}/exec", {"command": "true"})):
        assert reply.status == 404 and "not found" in reply.error


def test_pause_and_resume(new_sandbox, client):
    sid = new_sandbox()["id"]
    assert client.ok("POST", f"/sandboxes/{sid}/pause")["status"] == "paused"
    assert client.ok("GET", f"/sandboxes/{sid}")["status"] == "paused"
    assert client.post(f"/sandboxes/{sid}/pause").status == 409
    assert client.post(f"/sandboxes/{sid}/exec", {"command": "true"}).status == 409
    assert client.post(f"/sandboxes/{sid}/files/read", {"path": "x"}).status == 409
    assert client.get(f"/sandboxes/{sid}/metrics").status == 200
    assert client.ok("POST", f"/sandboxes/{sid}/resume")["status"] == "running"
    assert client.post(f"/sandboxes/{sid}/resume").status == 409
    assert client.exec(sid, "echo awake")["stdout"] == "awake\n"


def test_pause_takes_an_empty_json_body(sandbox, client):
    reply = client.call("POST", f"/sandboxes/{sandbox}/pause", b"", {"Content-Type": "application/json"})
    assert reply.status == 200


def test_a_paused_sandbox_can_be_deleted(new_sandbox, client):
    sid = new_sandbox()["id"]
    client.ok("POST", f"/sandboxes/{sid}/pause")
    assert client.ok("DELETE", f"/sandboxes/{sid}") == {"success": True}
    assert client.get(f"/sandboxes/{sid}").status == 404


def test_renew_moves_the_expiry_within_its_limits(new_sandbox, client):
    record = new_sandbox(timeout=60)
    path = f"/sandboxes/{record['id']}/renew"
    later = client.ok("POST", path, {"expiresAt": now_ms() + 7200_000})["expiresAt"]
    assert later > record["expiresAt"] and later > now_ms()
    assert client.ok("POST", path, {"expiresAt": now_ms() + 10 * 86400_000})["expiresAt"] <= now_ms() + 86400_000
    shortest = client.ok("POST", path, {"expiresAt": 1})["expiresAt"]
    assert now_ms() < shortest <= now_ms() + 60_000
    assert client.ok("POST", path, {"expiresAt": str(now_ms() + 600_000)})["expiresAt"] > shortest
    assert client.ok("GET", f"/sandboxes/{record['id']}")["expiresAt"] > shortest
    for body in ({}, {"expiresAt": None}, {"expiresAt": "tomorrow"}):
        assert client.post(path, body).status == 400


def test_metadata_changes_up_to_its_limit(new_sandbox, client):
    sid = new_sandbox(metadata={"team": "blue", "stage": "build"})["id"]
    path = f"/sandboxes/{sid}/metadata"
    assert client.ok("POST", path, {"remove": ["stage"], "metadata": {"team": "red"}})["metadata"] == {"team": "red"}
    assert client.ok("POST", path, {"remove": ["team"], "metadata": {"team": "green"}})["metadata"] == {"team": "green"}, "set after removed"
    for body in ({}, {"set": {"team": "grey"}}):  # the second: a field that does not exist
        empty = client.post(path, body)
        assert empty.status == 400 and "give metadata" in empty.error and "remove" in empty.error, empty
    assert client.ok("GET", f"/sandboxes/{sid}")["metadata"] == {"team": "green"}
    full = {f"k{i}": "v" for i in range(999)}
    assert len(client.ok("POST", path, {"metadata": full})["metadata"]) == 1000
    over = client.post(path, {"metadata": {"one": "more"}})
    assert over.status == 400 and sid in over.error and "1001 pairs" in over.error and "1000" in over.error
    assert client.ok("POST", path, {"remove": ["k0"], "metadata": {"one": "more"}})["metadata"]["one"] == "more"
    assert "k0" not in client.ok("GET", f"/sandboxes/{sid}")["metadata"]
    for body in ({"metadata": ["a"]}, {"metadata": {"a": 1}}, {"remove": "team"}, {"remove": [1]}):
        assert client.post(path, body).status == 400, body


def test_clone_has_the_files_and_configuration(new_sandbox, client):
    source = new_sandbox(memory=128, env={"A": "1"}, metadata={"team": "blue"})
    sid = source["id"]
    client.exec(sid, "mkdir -p /workspace/d /opt/x && echo kept > /workspace/d/f && echo other > /opt/x/f && rm -f /etc/hostname")
    copy = client.ok("POST", f"/sandboxes/{sid}/clone", {"name": "copy"})
    try:
        assert copy["id"] != sid and copy["name"] == "copy" and copy["status"] == "running"
        assert copy["config"]["memory"] == 128 and copy["metadata"] == {"team": "blue"}
        assert client.exec(copy["id"], "cat /workspace/d/f /opt/x/f; echo $A")["stdout"] == "kept\nother\n1\n"
        client.exec(copy["id"], "echo changed > /workspace/d/f")
        assert client.exec(sid, "cat /workspace/d/f")["stdout"] == "kept\n"
        client.ok("DELETE", f"/sandboxes/{sid}")
        assert client.exec(copy["id"], "cat /opt/x/f")["stdout"] == "other\n"
    finally:
        client.delete(f"/sandboxes/{copy['id']}")


def test_a_paused_sandbox_can_be_cloned(new_sandbox, client):
    sid = new_sandbox()["id"]
    client.exec(sid, "echo cold > /workspace/f")
    client.ok("POST", f"/sandboxes/{sid}/pause")
    copy = client.ok("POST", f"/sandboxes/{sid}/clone")
    assert client.exec(copy["id"], "cat /workspace/f")["stdout"] == "cold\n"
    client.ok("DELETE", f"/sandboxes/{copy['id']}")


def test_entrypoint_is_the_main_process(new_sandbox, client):
    record = new_sandbox(entrypoint=["sleep", "86399"])
    assert record["entrypoint"] == ["sleep", "86399"]
    listed = harness.wait_until(lambda: [p for p in client.ok("GET", f"/sandboxes/{record['id']}/processes")["processes"]
                                         if "86399" in p["command"]], "the entrypoint among the processes")
    assert listed


def test_metrics_are_numbers(sandbox, client):
    metrics = client.ok("GET", f"/sandboxes/{sandbox}/metrics")
    assert metrics["sandboxId"] == sandbox and metrics["pids"] >= 1
    for name in ("cpuPercent", "memoryUsageMb", "memoryLimitMb", "networkRxBytes", "networkTxBytes"):
        assert isinstance(metrics[name], (int, float)), name
    assert metrics["memoryLimitMb"] == 512 or not harness.IS_ROOT


def test_global_metrics_count(new_sandbox, client):
    before = client.ok("GET", "/metrics")
    sid = new_sandbox()["id"]
    client.ok("DELETE", f"/sandboxes/{sid}")
    after = client.ok("GET", "/metrics")
    assert after["totalCreated"] == before["totalCreated"] + 1
    assert after["totalKilled"] == before["totalKilled"] + 1
    assert after["activeSandboxes"] == before["activeSandboxes"]
    assert after["uptimeSeconds"] >= 0 and after["totalExpired"] >= 0


def test_a_sandbox_sees_only_itself(sandbox, client):
    seen = client.exec(sandbox, "id -u; hostname; ls /proc | grep -c '^[0-9]'; tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '")
    uid, hostname, processes, interfaces = seen["stdout"].split("\n", 3)
    assert uid == "0" and hostname == sandbox
    assert int(processes) < 10
    unused = [f"nic{i}" for i in range(5)] if harness.BACKEND == "qemu" else []  # a machine's, of which none is behind anything
    assert sorted(interfaces.split()) == ["lo", *unused]


def test_loopback_works_without_a_network(sandbox, client):
    code = ("import socket; s = socket.create_server(('127.0.0.1', 0)); c = socket.create_connection(s.getsockname()); "
            "a, _ = s.accept(); c.sendall(b'x'); print(a.recv(1))")
    assert client.exec(sandbox, ["python3", "-c", code])["stdout"] == "b'x'\n"


def test_files_of_two_sandboxes_are_apart(new_sandbox, client):
    one, two = new_sandbox()["id"], new_sandbox()["id"]
    client.exec(one, "echo secret > /tmp/f; echo secret > /workspace/f")
    assert client.exec(two, "cat /tmp/f /workspace/f 2>/dev/null; ls /tmp /workspace | grep -c f")["stdout"] == "0\n"


@pytest.mark.skipif(not harness.IS_ROOT, reason="an ordinary user may have no memory controller; iii doctor reports it")
def test_memory_limit_hits_only_its_own_sandbox(new_sandbox, client):
    small, other = new_sandbox(memory=64)["id"], new_sandbox()["id"]
    eaten = client.exec(small, ["python3", "-c", "x = bytearray(300 << 20)"])
    assert eaten["exitCode"] != 0
    assert client.exec(small, "echo alive")["stdout"] == "alive\n"
    assert client.exec(other, "echo alive")["stdout"] == "alive\n"


@pytest.mark.skipif(not harness.IS_ROOT, reason="an ordinary user may have no pids controller; iii doctor reports it")
def test_a_fork_bomb_hits_only_its_own_sandbox(new_sandbox, client):
    bomb, other = new_sandbox()["id"], new_sandbox()["id"]
    code = "import os\nwhile True:\n  try: os.fork()\n  except OSError: os._exit(0) if os.getpid() != 1 else None"
    client.exec(bomb, ["python3", "-c", "import os, time\nfor i in range(1000):\n  try:\n    if os.fork() == 0: time.sleep(999)\n"
                       "  except OSError: print('full'); break"])
    assert client.ok("GET", f"/sandboxes/{bomb}/metrics")["pids"] > 50
    assert client.exec(other, "echo alive")["stdout"] == "alive\n"
    reply = client.post(f"/sandboxes/{bomb}/exec/background", {"command": ["python3", "-c", code]})
    assert reply.status == 200
    assert client.exec(other, "echo alive")["stdout"] == "alive\n"
    assert client.ok("DELETE", f"/sandboxes/{bomb}") == {"success": True}


@pytest.mark.skipif(not harness.IS_ROOT, reason="an ordinary user may have no cpu controller; iii doctor reports it")
def test_cpu_is_a_real_quota(server, new_sandbox, client):
    sid = new_sandbox(cpu=1.5)["id"]
    client.ok("POST", f"/sandboxes/{sid}/exec/background", {"command": "sleep 1000"})

    def quotas():
        found = set()
        for pid in server.agents():
            for folder in leak.cgroup_folders(pid):
                quota, period = leak.read(folder + "/cpu.cfs_quota_us"), leak.read(folder + "/cpu.cfs_period_us")
                pair = [quota, period] if quota else leak.read(folder + "/cpu.max").split()
                if len(pair) == 2 and pair[0].strip() not in ("", "max", "-1"):
                    found.add(int(pair[0]) / int(pair[1]))
        return found

    assert 1.5 in quotas()


def test_many_sandboxes_at_once(server):
    import concurrent.futures

    def one(number):
        with harness.Client(server.port) as caller:
            sid = caller.create()["id"]
            said = caller.exec(sid, f"echo {number}")["stdout"]
            caller.ok("DELETE", f"/sandboxes/{sid}")
            return said

    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        assert list(pool.map(one, range(40))) == [f"{n}\n" for n in range(40)]


def test_the_limit_of_sandboxes():
    """A create past the limit is refused and counts nothing; room made by a delete is usable at once."""
    with harness.Server(env={"III_MAX_SANDBOXES": "2"}) as small, harness.Client(small.port) as caller:
        ids = [caller.create()["id"] for _ in range(2)]
        refused = caller.post("/sandboxes", {"image": "python"})
        assert refused.status == 503 and "2" in refused.error
        caller.ok("DELETE", f"/sandboxes/{ids[0]}")
        assert caller.create()["status"] == "running"
        assert caller.ok("GET", "/sandboxes")["total"] == 2


def test_only_allowed_images():
    with harness.Server(env={"III_ALLOWED_IMAGES": "shell, python*"}) as strict, harness.Client(strict.port) as caller:
        refused = caller.post("/sandboxes", {"image": "node"})
        assert refused.status == 403 and "not allowed" in refused.error
        for image in ("python", "shell"):
            assert caller.ok("POST", "/sandboxes", {"image": image})["image"] == image
        assert caller.ok("GET", "/sandboxes")["total"] == 2


def test_a_hangup_does_not_end_a_server_without_certificates():
    import signal
    with harness.Server() as server, harness.Client(server.port) as caller:
        sid = caller.create()["id"]
        server.proc.send_signal(signal.SIGHUP)
        harness.wait_until(lambda: "evt=server.hangup" in server.log(), "the server to say that it read the signal")
        assert caller.exec(sid, "echo here")["stdout"] == "here\n"


def test_stop_by_sigint_ends_the_sandboxes():
    import signal
    server = harness.Server()
    held = leak.Holdings(server.data_dir)
    try:
        server.start()
        caller = server.client()
        caller.exec(caller.create()["id"], "sleep 1000 &")
        held.look(server.pid)
        server.stop(signal.SIGINT)
        held.assert_nothing_left()
    finally:
        server.remove()
