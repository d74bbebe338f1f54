"""Stop, start, restart: a stopped sandbox has its files and its settings, and nothing that runs."""
import os
import signal
import threading

import pytest

import harness
import leak
import rebootkit
import test_launcher_death

pytestmark = harness.needs("stop")


def stop(client, sid, **fields):
    record = client.ok("POST", f"/sandboxes/{sid}/stop", fields)
    assert record["status"] == "stopped"
    return record


def start(client, sid):
    record = client.ok("POST", f"/sandboxes/{sid}/start")
    assert record["status"] == "running"
    return record


def status(client, sid):
    return client.ok("GET", f"/sandboxes/{sid}")["status"]


def test_files_and_settings_stay(client, new_sandbox):
    made = new_sandbox(name="stays", env={"A": "1"}, metadata={"m": "2"}, timeout=600, entrypoint=["sh", "-c", "echo up >> /workspace/ups"])
    sid = made["id"]
    hosts, hostname = ("/etc/hosts", "/etc/hostname") if harness.BACKEND == "native" else ("/etc/hosts2", "/etc/host.conf")  # others write both anew at each start
    client.exec(sid, f"echo text > /workspace/f; echo more >> {hosts}; rm -f {hostname}; mkdir -p /opt/d; ln -s f /workspace/l; chmod 600 /workspace/f")
    client.ok("POST", f"/sandboxes/{sid}/env", {"vars": {"B": "3"}})
    record = stop(client, sid)
    assert record["stopReason"] == "request" and record["stoppedAt"] >= made["createdAt"] and record["expiresAt"] == 0
    assert {k: record[k] for k in ("id", "name", "image", "config", "metadata")} == {k: made[k] for k in ("id", "name", "image", "config", "metadata")}
    assert stop(client, sid) == record  # again: nothing happens
    assert [one["id"] for one in client.ok("GET", "/sandboxes?status=stopped")["items"]] == [sid]
    record = start(client, sid)
    assert record["expiresAt"] > made["createdAt"] + 600000 and "stopReason" not in record
    result = client.exec(sid, f"cat /workspace/l; stat -c %a /workspace/f; ls -d /opt/d; cat {hostname}; echo $A$B; sort -u /workspace/ups")
    assert result["stdout"] == "text\n600\n/opt/d\n13\nup\n"
    assert "more" in client.exec(sid, f"cat {hosts}")["stdout"]
    harness.wait_until(lambda: client.exec(sid, "cat /workspace/ups")["stdout"] == "up\nup\n", "the entrypoint to run again")
    assert start(client, sid)["id"] == sid  # it runs


def test_calls_to_a_stopped_one_say_so(client, new_sandbox):
    sid = new_sandbox()["id"]
    job = client.ok("POST", f"/sandboxes/{sid}/exec/background", {"command": "sleep 99971"})
    stop(client, sid, timeout=0)
    for method, path, body in [("POST", "/exec", {"command": "true"}), ("POST", "/files/read", {"path": "/workspace/f"}), ("GET", "/processes", None),
                               ("GET", "/metrics", None), ("POST", "/pause", {}), ("POST", "/resume", {}), ("POST", "/terminal", {}),
                               ("POST", "/snapshots", {}), ("POST", "/clone", {})]:
        reply = client.call(method, f"/sandboxes/{sid}{path}", body)
        assert reply.status == 409 and "stopped" in reply.error, (path, reply)
    state = client.ok("GET", f"/exec/background/{job['id']}/status")
    assert state["running"] is False and state["exitCode"] == -1


def test_processes_have_time_to_exit(client, new_sandbox):
    sid = new_sandbox()["id"]
    command = "trap 'echo polite >> /workspace/f; exit' TERM; echo ready; while :; do sleep 0.05; done"
    jobs = [client.ok("POST", f"/sandboxes/{sid}/exec/background", {"command": text})["id"] for text in (command, "trap '' TERM; echo ready; sleep 99972")]
    for job in jobs:
        harness.wait_until(lambda one=job: client.ok("GET", f"/exec/background/{one}/logs")["output"] == "ready\n", "both to run")
    stop(client, sid, timeout=1)  # one does not exit, and is killed
    start(client, sid)
    assert client.exec(sid, "cat /workspace/f")["stdout"] == "polite\n"
    assert client.exec(sid, "ps ax || true")["stdout"].count("99972") == 0


@pytest.mark.parametrize("value", [-1, 601, "soon"])
def test_timeout_has_bounds(client, new_sandbox, value):
    sid = new_sandbox()["id"]
    for path in ("stop", "restart"):
        reply = client.post(f"/sandboxes/{sid}/{path}", {"timeout": value})
        assert reply.status == 400 and "timeout" in reply.error
    assert status(client, sid) == "running"


def test_restart_ends_processes_and_keeps_files(client, new_sandbox):
    sid = new_sandbox()["id"]
    client.exec(sid, "echo text > /workspace/f")
    client.ok("POST", f"/sandboxes/{sid}/exec/background", {"command": "sleep 99973"})
    assert client.ok("POST", f"/sandboxes/{sid}/restart", {"timeout": 0})["status"] == "running"
    listed = client.ok("GET", f"/sandboxes/{sid}/processes")
    assert not [one for one in listed["processes"] if "99973" in one["command"]]
    assert client.exec(sid, "cat /workspace/f")["stdout"] == "text\n"
    topics = [one["topic"] for one in client.ok("GET", f"/events/history?sandboxId={sid}")["events"]]
    assert "sandbox.stopped" in topics and "sandbox.started" in topics


def test_paused_one_is_stopped_and_started(client, new_sandbox):
    sid = new_sandbox()["id"]
    client.exec(sid, "echo text > /workspace/f")
    client.ok("POST", f"/sandboxes/{sid}/pause")
    assert start(client, sid)["status"] == "running"  # resumes
    client.ok("POST", f"/sandboxes/{sid}/pause")
    stop(client, sid)
    start(client, sid)
    assert client.exec(sid, "cat /workspace/f")["stdout"] == "text\n"


def test_running_command_ends_with_its_call(client, server, new_sandbox):
    sid = new_sandbox()["id"]
    with harness.Client(server.port) as own:
        answer = own.open("POST", f"/sandboxes/{sid}/exec/stream", {"command": "echo up; trap '' TERM; sleep 99974"})
        answer.readline()
        stop(client, sid, timeout=0)
        assert b"stopped during the call" in answer.read()
    start(client, sid)


def test_removed_while_stopped(client, server):
    sid = client.create()["id"]
    stop(client, sid)
    assert client.ok("DELETE", f"/sandboxes/{sid}") == {"success": True}
    assert client.get(f"/sandboxes/{sid}").status == 404
    assert client.post(f"/sandboxes/{sid}/start").status == 404


def test_many_at_once(client, server, new_sandbox):
    """Starts of one sandbox are one start; stops and starts of several do not wait for each other."""
    ids = [new_sandbox()["id"] for _ in range(4)]
    for number, sid in enumerate(ids):
        client.exec(sid, f"echo {number} > /workspace/f")
        stop(client, sid)
    replies = []

    def call(sid):
        with harness.Client(server.port) as own:
            replies.append(own.post(f"/sandboxes/{sid}/start"))

    threads = [threading.Thread(target=call, args=(sid,)) for sid in ids for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert [one.status for one in replies] == [200] * 16
    for number, sid in enumerate(ids):
        assert client.exec(sid, "cat /workspace/f")["stdout"] == f"{number}\n"
        topics = [one["topic"] for one in client.ok("GET", f"/events/history?sandboxId={sid}")["events"]]
        assert topics.count("sandbox.started") == 1


@harness.needs("stop", "limitDisk")
def test_private_disk(client, server, new_sandbox):
    sid = new_sandbox(diskMb=64)["id"]
    client.exec(sid, "echo text > /workspace/f; dd if=/dev/zero of=/workspace/big bs=1M count=20 2>/dev/null")
    before = len(leak.loops(server.data_dir))
    for _ in range(3):
        stop(client, sid)
        assert harness.BACKEND != "native" or len(leak.loops(server.data_dir)) == before - 1
        start(client, sid)
        assert client.exec(sid, "cat /workspace/f; stat -c %s /workspace/big; echo again >> /workspace/n; wc -l < /workspace/n")["stdout"].split()[:2] == ["text", "20971520"]
    assert len(leak.loops(server.data_dir)) == before
    assert client.exec(sid, "dd if=/dev/zero of=/workspace/more bs=1M count=100")["exitCode"] != 0  # it still has its limit


@harness.needs("stop", "snapshot", "layers")
def test_snapshots_before_and_after(client, new_sandbox):
    sid = new_sandbox()["id"]
    client.exec(sid, "echo 1 > /workspace/a")
    first = client.ok("POST", f"/sandboxes/{sid}/snapshots", {})
    client.exec(sid, "echo 2 > /workspace/b; rm /workspace/a")
    stop(client, sid)
    start(client, sid)
    assert client.exec(sid, "ls /workspace")["stdout"] == "b\n"
    second = client.ok("POST", f"/sandboxes/{sid}/snapshots", {})
    client.exec(sid, "echo 3 > /workspace/c")
    stop(client, sid)
    client.ok("POST", f"/sandboxes/{sid}/snapshots/restore", {"snapshotId": first["id"]})  # which starts it
    assert status(client, sid) == "running"
    assert client.exec(sid, "ls /workspace")["stdout"] == "a\n"
    client.ok("POST", f"/sandboxes/{sid}/snapshots/restore", {"snapshotId": second["id"]})
    stop(client, sid)
    start(client, sid)
    assert client.exec(sid, "ls /workspace")["stdout"] == "b\n"


@harness.needs("stop", "volume", "network")
def test_volume_network_and_port_come_back(client, new_sandbox):
    sid, other = new_sandbox()["id"], new_sandbox(name="other")["id"]
    volume = client.ok("POST", "/volumes", {"name": "v"})["id"]
    network = client.ok("POST", "/networks", {"name": "n"})["id"]
    client.ok("POST", f"/volumes/{volume}/attach", {"sandboxId": sid, "mountPath": "/mnt/v"})
    for one in (sid, other):
        client.ok("POST", f"/networks/{network}/connect", {"sandboxId": one})
    client.exec(sid, "echo kept > /mnt/v/f")
    port = client.ok("POST", f"/sandboxes/{sid}/ports", {"containerPort": 8000})["hostPort"]
    stop(client, sid)
    start(client, sid)
    assert client.exec(sid, "cat /mnt/v/f")["stdout"] == "kept\n"
    assert client.ok("GET", f"/sandboxes/{sid}/ports")["ports"][0]["hostPort"] == port
    client.ok("POST", f"/sandboxes/{other}/exec/background", {"command": "python3 -m http.server 8123"})
    fetch = "python3 -c 'import urllib.request as u; print(u.urlopen(\"http://other:8123/\").status)'"
    harness.wait_until(lambda: client.exec(sid, fetch)["stdout"] == "200\n", "the other to answer over the network")
    stop(client, sid)
    client.ok("POST", f"/volumes/{volume}/detach")
    client.ok("POST", f"/networks/{network}/disconnect", {"sandboxId": sid})
    client.ok("DELETE", f"/volumes/{volume}")
    start(client, sid)
    assert client.exec(sid, "ls /mnt/v")["stdout"] == ""
    client.ok("DELETE", f"/networks/{network}")


@pytest.mark.skipif(harness.BACKEND != "native", reason="of the folders that the launcher handles")
def test_root_that_the_sandbox_has_rearranged(client, server, new_sandbox):
    """What a sandbox made of its own root never leads outside, and does not keep it from starting."""
    sid = new_sandbox()["id"]
    script = ("mkdir /e2 && cp -a /etc/. /e2/ && mv /etc /gone && ln -s /e2 /etc; rm -rf /tmp; ln -s / /tmp; cd /; rm -rf /workspace; ln -s /e2 /workspace;"
              " ln -s /nowhere /usr/x 2>/dev/null; mkdir /home/work /home/upper; ls -ld /etc /tmp /workspace")
    assert client.exec(sid, script, cwd="/")["exitCode"] == 0
    before = sorted(os.listdir("/etc")), os.stat("/etc/hosts").st_mtime_ns, os.stat("/etc/hostname").st_mtime_ns
    for _ in range(2):
        stop(client, sid)
        start(client, sid)
    assert before == (sorted(os.listdir("/etc")), os.stat("/etc/hosts").st_mtime_ns, os.stat("/etc/hostname").st_mtime_ns)
    assert client.exec(sid, "readlink /etc /workspace; ls -d /home/upper /home/work", cwd="/")["stdout"] == "/e2\n/e2\n/home/upper\n/home/work\n"
    client.exec(sid, "rm -rf /sys 2>/dev/null; rm -rf /e2 /gone 2>/dev/null; true", cwd="/")
    stop(client, sid)
    start(client, sid)


@pytest.mark.skipif(harness.BACKEND != "native", reason="the launcher is the native backend's")
def test_launcher_that_dies_meanwhile(client, server, new_sandbox):
    ids = [new_sandbox()["id"] for _ in range(3)]
    for number, sid in enumerate(ids):
        client.exec(sid, f"echo {number} > /workspace/f")
    stop(client, ids[0])
    for _ in range(3):
        replies = []

        def churn(sid):
            with harness.Client(server.port) as own:
                replies.append(own.post(f"/sandboxes/{sid}/restart", {"timeout": 0}))

        threads = [threading.Thread(target=churn, args=(sid,)) for sid in ids[1:]]
        for one in threads:
            one.start()
        test_launcher_death.kill_launcher(server)
        for one in threads:
            one.join()
        for number, sid in enumerate(ids[1:], 1):
            start(client, sid)  # a restart may have been told to try again
            assert client.exec(sid, "cat /workspace/f")["stdout"] == f"{number}\n"
    start(client, ids[0])  # its files were nobody's when the launchers came and went
    assert client.exec(ids[0], "cat /workspace/f")["stdout"] == "0\n"


@pytest.mark.parametrize("end", [harness.Server.kill, rebootkit.of])
def test_server_killed_at_any_step(end):
    """A kill -9, or a reboot of the host, in the middle of stops and starts: every sandbox is there with its files, and can be started."""
    rounds = int(os.environ.get("III_TEST_DEATHS") or (6 if harness.BACKEND == "native" else 2))
    with leak.watched(harness.Server()) as server:
        with harness.Client(server.port) as caller:
            ids = [caller.create()["id"] for _ in range(3)]
            for number, sid in enumerate(ids):
                caller.exec(sid, f"echo {number} > /workspace/f; sync")
            stop(caller, ids[2])
        for round_number in range(rounds):
            quit_now = threading.Event()
            n_done = []

            def churn(sid, is_polite):
                try:
                    with harness.Client(server.port) as own:
                        while not quit_now.is_set():
                            own.post(f"/sandboxes/{sid}/restart", {"timeout": 1 if is_polite else 0})
                            n_done.append(sid)
                except OSError:
                    pass

            threads = [threading.Thread(target=churn, args=(sid, number == 0)) for number, sid in enumerate(ids[:2])]
            for one in threads:
                one.start()
            harness.wait_until(lambda least=round_number: len(n_done) > least, "some restarts")
            server.held.look(server.pid)
            quit_now.set()
            end(server)
            for one in threads:
                one.join()
            server.start()
            with harness.Client(server.port) as caller:
                assert {one["id"] for one in caller.ok("GET", "/sandboxes")["items"]} == set(ids)
                for number, sid in enumerate(ids):
                    start(caller, sid)
                    assert caller.exec(sid, "cat /workspace/f")["stdout"] == f"{number}\n"
                stop(caller, ids[2])
        with harness.Client(server.port) as caller:
            for sid in ids:
                caller.ok("DELETE", f"/sandboxes/{sid}")


def test_reboot():
    with leak.watched(harness.Server(env={"III_TTL_SWEEP": "* * * * * *"})) as server:
        with harness.Client(server.port) as caller:
            plain, paused, halted = (caller.create(timeout=3600)["id"] for _ in range(3))
            brief = caller.create(timeout=60)["id"]
            for sid in (plain, paused, halted, brief):
                caller.exec(sid, f"echo {sid} > /workspace/f; sync")
            caller.ok("POST", f"/sandboxes/{paused}/pause")
            stop(caller, halted)
        rebootkit.of(server)
        server.start()
        with harness.Client(server.port) as caller:
            found = {one["id"]: one for one in caller.ok("GET", "/sandboxes")["items"]}
            assert {sid: found[sid]["status"] for sid in found} == dict.fromkeys((plain, paused, halted, brief), "stopped")
            assert [found[sid]["stopReason"] for sid in (plain, paused, halted)] == ["lost", "lost", "request"]
            assert found[plain]["error"] and found[plain]["expiresAt"] > 0
            events = caller.ok("GET", f"/events/history?sandboxId={plain}")["events"]
            assert [one["data"]["reason"] for one in events if one["topic"] == "sandbox.stopped"] == ["lost"]
            for sid in (plain, paused, halted):
                start(caller, sid)
                assert caller.exec(sid, "cat /workspace/f")["stdout"] == sid + "\n"
            for sid in (plain, paused, halted, brief):
                caller.ok("DELETE", f"/sandboxes/{sid}")


@pytest.mark.skipif(harness.BACKEND != "native", reason="kills an agent by its pid on the host")
def test_one_that_dies_keeps_its_files_once_it_was_stopped(client, server, new_sandbox):
    kept, lost = new_sandbox()["id"], client.create()["id"]
    client.exec(kept, "echo text > /workspace/f")
    client.ok("POST", f"/sandboxes/{kept}/restart")
    for folder in (server.data_dir / "boxes").iterdir():
        if (folder / "id").is_symlink() and os.readlink(folder / "id") in (kept, lost):
            os.kill(int(os.readlink(folder / "pid").split(":")[0]), signal.SIGKILL)
    harness.wait_until(lambda: client.get(f"/sandboxes/{lost}").status == 404, "the other to be removed")
    harness.wait_until(lambda: status(client, kept) == "stopped", "it to be stopped")
    record = client.ok("GET", f"/sandboxes/{kept}")
    assert record["stopReason"] == "died" and record["error"]
    start(client, kept)
    assert client.exec(kept, "cat /workspace/f")["stdout"] == "text\n"
