"""Sandboxes that sleep and wake: what expiry and idleness do, calls that wake, restarts."""
import http.client
import os
import signal
import threading

import pytest

import harness
import leak
import rebootkit
import wsclient
from test_attach import finish

SERVER_ENV = {"III_IDLE_SCAN_MS": "50"}
pytestmark = harness.needs("stop")


def status(client, sid):
    return client.ok("GET", f"/sandboxes/{sid}")["status"]


def topics(client, sid):
    return [one["topic"] for one in client.ok("GET", f"/events/history?sandboxId={sid}")["events"]]


def sleeper(new_sandbox, client, how="stop", **fields):
    sid = new_sandbox(autoResume=True, **fields)["id"]
    client.exec(sid, "echo text > /workspace/f")
    client.ok("POST", f"/sandboxes/{sid}/{how}")
    return sid


@pytest.mark.parametrize("how", ["stop", "pause"])
def test_each_call_wakes(client, server, new_sandbox, how):
    sid = sleeper(new_sandbox, client, how)
    path = f"/sandboxes/{sid}"
    session = client.ok("POST", f"{path}/interpret/contexts", {"language": "python"})["id"] if how == "pause" else None  # wakes, too
    calls = [
        lambda: client.exec(sid, "cat /workspace/f")["stdout"] == "text\n",
        lambda: client.ok("POST", f"{path}/files/read", {"path": "/workspace/f"}) is not None,
        lambda: client.call("GET", f"{path}/files/content?path=/workspace/f").body == b"text\n",
        lambda: client.call("PUT", f"{path}/files/content?path=/workspace/g", b"x" * 300000, headers={"Content-Type": "application/octet-stream"}).status == 200,
        lambda: client.ok("POST", f"{path}/terminal", {})["sessionId"],
        lambda: client.ok("POST", f"{path}/env", {"vars": {"A": "1"}}),
        lambda: client.ok("POST", f"{path}/interpret/execute", {"code": "print(6*7)", "language": "python"})["output"] == "42\n",
        lambda: client.call("GET", f"/proxy/{sid}/8000/", None).status in (502, 504),
    ]
    client.ok("POST", f"{path}/ports", {"containerPort": 8000, "hostPort": 0})
    if session:
        calls.append(lambda: client.ok("POST", f"{path}/interpret/contexts/{session}/execute", {"code": "1"}))
    for call in calls:
        client.ok("POST", f"{path}/{how}")
        assert call()
        assert status(client, sid) == "running"
    client.ok("POST", f"{path}/{how}")
    ws = wsclient.WebSocket(server.port, f"/sandbox{path}/exec/attach")
    ws.send('{"command": ["cat", "/workspace/f"]}')
    assert finish(ws)[0] == b"text\n"
    ws.cut()
    client.ok("POST", f"{path}/{how}")
    with harness.Client(server.port) as visitor:  # a preview
        reply = visitor.call("GET", "/", None, headers={"Host": f"8000-{sid[4:]}.localhost:{server.port}"})
        assert reply.status in (502, 504)
    assert status(client, sid) == "running"


def test_calls_that_do_not_wake(client, new_sandbox):
    sid = sleeper(new_sandbox, client)
    for method, path in [("GET", ""), ("GET", "/metrics"), ("GET", "/processes"), ("GET", "/ports"), ("GET", "/snapshots"), ("POST", "/snapshots"),
                         ("GET", "/exec/list"), ("POST", "/preview")]:
        client.call(method, f"/sandboxes/{sid}{path}", {"port": 80} if path == "/preview" else {} if method == "POST" else None)
        assert status(client, sid) == "stopped", path
    client.ok("GET", "/sandboxes")
    assert client.get(f"/proxy/{sid}/8123/").status == 409  # anyone may ask, and nobody exposed it
    assert status(client, sid) == "stopped"


def test_queued_command_wakes(client, new_sandbox):
    """It was killed by the stop, and is retried: the sandbox is woken for that."""
    sid = new_sandbox(autoResume=True)["id"]
    first = "echo try >> /workspace/tries; test $(wc -l < /workspace/tries) -gt 1 || sleep 99975"
    job = client.ok("POST", f"/sandboxes/{sid}/exec/queue", {"command": first, "maxRetries": 20})["id"]
    second = client.ok("POST", f"/sandboxes/{sid}/exec/queue", {"command": "cat /workspace/tries"})["id"]
    harness.wait_until(lambda: client.exec(sid, "cat /workspace/tries")["stdout"] == "try\n", "the command to run")
    client.ok("POST", f"/sandboxes/{sid}/stop", {"timeout": 0})
    harness.wait_until(lambda: client.ok("GET", f"/queue/{second}/status")["status"] == "completed", "both commands to run")
    done = client.ok("GET", f"/queue/{job}/status")
    assert done["status"] == "completed" and done["retries"] == 1, done
    assert client.ok("GET", f"/queue/{second}/status")["result"]["stdout"] == "try\ntry\n"
    assert topics(client, sid).count("sandbox.started") == 1


def test_queued_command_without_it_fails(client, new_sandbox):
    sid = new_sandbox()["id"]
    job = client.ok("POST", f"/sandboxes/{sid}/exec/queue", {"command": "sleep 99976", "maxRetries": 2})["id"]
    harness.wait_until(lambda: client.ok("GET", f"/queue/{job}/status")["status"] == "running", "the command to run")
    client.ok("POST", f"/sandboxes/{sid}/stop", {"timeout": 0})
    harness.wait_until(lambda: client.ok("GET", f"/queue/{job}/status")["status"] == "failed", "a dead letter")
    assert "it is stopped" in client.ok("GET", f"/queue/{job}/status")["error"] and status(client, sid) == "stopped"


def test_without_it_the_error_says_how(client, new_sandbox):
    sid = new_sandbox()["id"]
    for how in ("pause", "stop"):
        client.ok("POST", f"/sandboxes/{sid}/{how}")
        reply = client.post(f"/sandboxes/{sid}/exec", {"command": "true"})
        assert reply.status == 409 and f"POST /sandboxes/{sid}/start" in reply.error and "autoResume" in reply.error
    client.ok("POST", f"/sandboxes/{sid}/policy", {"autoResume": True})
    assert client.exec(sid, "true")["exitCode"] == 0


def test_setting_is_the_default():
    with leak.watched(harness.Server(env={"III_AUTO_RESUME": "true"})) as server, harness.Client(server.port) as caller:
        for fields, code in (({}, 200), ({"autoResume": False}, 409)):
            sid = caller.create(**fields)["id"]
            caller.ok("POST", f"/sandboxes/{sid}/stop", {"timeout": 0})
            assert caller.post(f"/sandboxes/{sid}/exec", {"command": "true"}).status == code
            caller.ok("DELETE", f"/sandboxes/{sid}")


def test_concurrent_calls_share_one_wake(client, server, new_sandbox):
    sid = sleeper(new_sandbox, client)
    replies = []

    def call():
        with harness.Client(server.port) as own:
            replies.append(own.exec(sid, "cat /workspace/f")["stdout"])

    threads = [threading.Thread(target=call) for _ in range(12)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert replies == ["text\n"] * 12
    assert topics(client, sid).count("sandbox.started") == 1


def test_call_while_it_is_being_stopped(client, server, new_sandbox):
    """It waits for the end of the stop, and wakes it again."""
    sid = new_sandbox(autoResume=True)["id"]
    job = client.ok("POST", f"/sandboxes/{sid}/exec/background", {"command": "trap 'echo asked; sleep 1; exit' TERM; echo up; while :; do sleep 0.05; done"})["id"]
    harness.wait_until(lambda: client.ok("GET", f"/exec/background/{job}/logs")["output"] == "up\n", "it to run")
    with harness.Client(server.port) as own:
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        connection.request("POST", f"/sandbox/sandboxes/{sid}/stop", '{"timeout": 10}', {"Content-Type": "application/json"})
        harness.wait_until(lambda: "asked" in own.ok("GET", f"/exec/background/{job}/logs")["output"], "the stop to begin")
        assert client.exec(sid, "echo here")["stdout"] == "here\n"
        assert connection.getresponse().status == 200
        connection.close()
    assert topics(client, sid).count("sandbox.stopped") == 1 and topics(client, sid).count("sandbox.started") == 1


def call_at_once(server, sid, count=3):
    """Several commands that need the sandbox, together."""
    replies = []

    def call():
        with harness.Client(server.port) as own:
            replies.append(own.post(f"/sandboxes/{sid}/exec", {"command": "true"}))

    threads = [threading.Thread(target=call) for _ in range(count)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return replies


@pytest.mark.skipif(harness.BACKEND != "native", reason="removes the box's folder")
def test_wake_that_fails_tells_each_and_leaves_it_stopped(client, server, new_sandbox):
    sid = sleeper(new_sandbox, client)
    folder = next(one for one in (server.data_dir / "boxes").iterdir() if (one / "id").is_symlink() and os.readlink(one / "id") == sid)
    aside = folder.with_name("aside")
    folder.rename(aside)
    replies = call_at_once(server, sid)
    assert all(one.status >= 400 and f"sandbox {sid} cannot be woken" in one.error for one in replies), replies
    assert status(client, sid) == "stopped"
    aside.rename(folder)
    assert client.exec(sid, "cat /workspace/f")["stdout"] == "text\n"


def test_wake_without_room_on_the_disk():
    with leak.watched(harness.Server()) as server:
        with harness.Client(server.port) as caller:
            sid = caller.create(autoResume=True)["id"]
            caller.exec(sid, "echo text > /workspace/f")
            caller.ok("POST", f"/sandboxes/{sid}/stop", {"timeout": 0})
        for reserve in ("1000000000", "0"):
            server.held.look(server.pid)
            server.kill()
            server.env["III_DISK_RESERVE_MB"] = reserve
            server.start()
            with harness.Client(server.port) as caller:
                if reserve == "0":
                    assert caller.exec(sid, "cat /workspace/f")["stdout"] == "text\n"
                    caller.ok("DELETE", f"/sandboxes/{sid}")
                    continue
                replies = call_at_once(server, sid)
                assert all(one.status == 507 and "III_DISK_RESERVE_MB" in one.error for one in replies), replies
                assert status(caller, sid) == "stopped"


@pytest.mark.skipif(harness.BACKEND != "docker", reason="about the engine's containers")
def test_wake_whose_container_was_removed(client, server, new_sandbox):
    sid = sleeper(new_sandbox, client)
    [one] = [row for row in harness.engine().containers(server.data_tag()) if f"/iii-sbx-{sid}" in row["Names"]]
    harness.engine().call("DELETE", f"/containers/{one['Id']}?force=1")
    replies = call_at_once(server, sid)
    assert all(reply.status == 404 and f"the files of sandbox {sid} are gone" in reply.error for reply in replies), replies
    assert status(client, sid) == "stopped"


@pytest.mark.parametrize("action, then", [("stop", "stopped"), ("pause", "paused")])
def test_idle(client, new_sandbox, action, then):
    sid = new_sandbox(idleTimeout=1, onIdle=action, autoResume=True)["id"]
    client.exec(sid, "echo text > /workspace/f")
    harness.wait_until(lambda: status(client, sid) == then, "it to fall asleep")
    record = client.ok("GET", f"/sandboxes/{sid}")
    assert record["config"]["onIdle"] == action and (then == "paused" or (record["stopReason"] == "idle" and record["expiresAt"] == 0))
    assert client.exec(sid, "cat /workspace/f")["stdout"] == "text\n"
    assert client.ok("GET", f"/sandboxes/{sid}")["expiresAt"] > record["createdAt"]
    client.ok("POST", f"/sandboxes/{sid}/policy", {"idleTimeout": 0, "onIdle": "kill"})
    assert "idleTimeout" not in client.ok("GET", f"/sandboxes/{sid}")["config"]


def test_policy_has_bounds(client, new_sandbox):
    sid = new_sandbox()["id"]
    for fields, word in [({"onIdle": "sleep"}, "onIdle"), ({"onTimeout": ""}, "onTimeout"), ({"restart": "often"}, "restart"), ({}, "nothing to change"),
                         ({"idleTimeout": -1}, "idleTimeout"), ({"idleTimeout": 1 << 40}, "idleTimeout")]:
        reply = client.post(f"/sandboxes/{sid}/policy", fields)
        assert reply.status == 400 and word in reply.error, (fields, reply)
        if fields and "idleTimeout" not in fields:
            assert client.post("/sandboxes", {"image": "python", **fields}).status == 400
            assert client.post("/templates", {"name": "bad", "config": {"image": "python", **fields}}).status == 400
    template = client.ok("POST", "/templates", {"name": "sleepy", "config": {"image": "python", "onTimeout": "stop", "restart": "always", "autoResume": True}})
    made = new_sandbox(template="sleepy")
    assert [made["config"][name] for name in ("onTimeout", "restart", "autoResume")] == ["stop", "always", True]
    client.ok("DELETE", f"/templates/{template['id']}")


@pytest.mark.skipif(harness.BACKEND != "native", reason="of what the native backend lacks")
def test_hibernate_is_refused_with_the_reason(client, new_sandbox):
    sid = new_sandbox()["id"]
    for reply in (client.post(f"/sandboxes/{sid}/hibernate"), client.post(f"/sandboxes/{sid}/policy", {"onIdle": "hibernate"}),
                  client.post("/sandboxes", {"image": "python", "onTimeout": "hibernate"})):
        assert reply.status == 501 and "hibernate" in reply.error and "qemu" in reply.error
    assert status(client, sid) == "running"


def kill_agent(server, sid):
    folder = next(one for one in (server.data_dir / "boxes").iterdir() if (one / "id").is_symlink() and os.readlink(one / "id") == sid)
    os.kill(int(os.readlink(folder / "pid").split(":")[0]), signal.SIGKILL)


@pytest.mark.skipif(harness.BACKEND != "native", reason="kills an agent by its pid on the host")
def test_agent_that_dies(client, server, new_sandbox):
    always, sleepy = new_sandbox(restart="always")["id"], new_sandbox(autoResume=True)["id"]
    for sid in (always, sleepy):
        client.exec(sid, "echo text > /workspace/f")
        kill_agent(server, sid)
    harness.wait_until(lambda: "sandbox.started" in topics(client, always), "it to be started again")
    harness.wait_until(lambda: status(client, sleepy) == "stopped", "the other to be stopped")
    for sid in (always, sleepy):
        assert client.exec(sid, "cat /workspace/f")["stdout"] == "text\n"


def test_reboot_restarts_those_that_ask_for_it():
    with leak.watched(harness.Server()) as server:
        with harness.Client(server.port) as caller:
            always, halted, no = (caller.create(restart=how)["id"] for how in ("always", "always", "no"))
            for sid in (always, halted, no):
                caller.exec(sid, f"echo {sid} > /workspace/f; sync")
            caller.ok("POST", f"/sandboxes/{halted}/stop")
        rebootkit.of(server)
        server.start()
        with harness.Client(server.port) as caller:
            harness.wait_until(lambda: status(caller, always) == "running", "it to be started again")
            assert [status(caller, sid) for sid in (halted, no)] == ["stopped", "stopped"]
            assert caller.exec(always, "cat /workspace/f")["stdout"] == always + "\n"
            for sid in (always, halted, no):
                caller.ok("DELETE", f"/sandboxes/{sid}")


def test_server_killed_while_calls_wake():
    """A kill -9 at any step of idle stops and wakes: nothing is lost, and no sandbox has two boxes."""
    with leak.watched(harness.Server(env=SERVER_ENV)) as server:
        with harness.Client(server.port) as caller:
            ids = [caller.create(autoResume=True)["id"] for _ in range(2)]
            for sid in ids:
                caller.exec(sid, f"echo {sid} > /workspace/f")
        for round_number in range(4):
            n_done, quit_now = [], threading.Event()

            def churn(sid):
                try:
                    with harness.Client(server.port) as own:
                        while not quit_now.is_set():
                            own.post(f"/sandboxes/{sid}/stop", {"timeout": 0})
                            own.post(f"/sandboxes/{sid}/exec", {"command": "cat /workspace/f"})
                            n_done.append(sid)
                except OSError:
                    pass

            threads = [threading.Thread(target=churn, args=(sid,)) for sid in ids for _ in range(2)]
            for one in threads:
                one.start()
            harness.wait_until(lambda least=round_number: len(n_done) > least, "some wakes")
            server.held.look(server.pid)
            quit_now.set()
            server.kill()
            for one in threads:
                one.join()
            server.start()
            with harness.Client(server.port) as caller:
                for sid in ids:
                    assert caller.exec(sid, "cat /workspace/f")["stdout"] == sid + "\n"
        with harness.Client(server.port) as caller:
            for sid in ids:
                caller.ok("DELETE", f"/sandboxes/{sid}")
