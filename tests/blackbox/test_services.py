"""Services: commands that the agent keeps running, in order, with readiness, restarts, logs, states and events."""
import json

import pytest

import harness
import leak

HTTP = "exec python3 -m http.server 8181"
FOREVER = "exec sleep 99981"


def services(client, sid, wait=120):
    return {one["name"]: one for one in client.ok("GET", f"/sandboxes/{sid}/services?wait={wait}")["services"]}


def states(client, sid, wait=120):
    return {name: one["state"] for name, one in services(client, sid, wait).items()}


def act(client, sid, name, what):
    return client.ok("POST", f"/sandboxes/{sid}/services/{name}/{what}")


def failed(client, sid, name):
    """The service, when it has failed: one without a check runs as soon as it was started, which ends a wait, too."""
    return harness.wait_until(lambda: (lambda one: one if one["state"] == "failed" else None)(services(client, sid)[name]), f"{name} to fail")


def log(client, sid, name, query=""):
    return client.ok("GET", f"/sandboxes/{sid}/services/{name}/logs{query}")


def told(client, sid, name):
    """The states of a service that events tell, oldest first."""
    page = client.ok("GET", f"/events/history?sandboxId={sid}&topic=sandbox.service&limit=1000")
    return [e["data"]["state"] for e in reversed(page["events"]) if e["data"]["service"] == name]


def test_one_is_started_shown_told_of_and_logged(client, new_sandbox):
    made = new_sandbox(services=[{"name": "web", "command": "echo out; echo err >&2; echo $A $B; pwd; " + FOREVER, "env": {"A": "x y"}, "cwd": "/tmp"}], env={"B": "z"})
    sid = made["id"]
    assert made["config"]["services"][0]["name"] == "web"
    assert made["services"][0]["state"] in ("waiting", "running") and made["services"][0]["restarts"] == 0
    one = services(client, sid)["web"]
    assert one["state"] == "running" and one["pid"] > 1 and one["since"] >= made["createdAt"] and "error" not in one
    assert client.ok("GET", f"/sandboxes/{sid}")["services"] == [one]
    harness.wait_until(lambda: log(client, sid, "web")["output"].count("\n") == 4, "its output")
    assert sorted(log(client, sid, "web")["output"].splitlines()) == ["/tmp", "err", "out", "x y z"]
    whole = log(client, sid, "web")
    assert whole["running"] is True and whole["offset"] == len(whole["output"])
    assert log(client, sid, "web", f"?offset={whole['offset'] - 5}")["output"] == whole["output"][-5:]
    assert told(client, sid, "web") == ["running"]
    assert client.exec(sid, f"tr '\\0' ' ' < /proc/{one['pid']}/cmdline")["stdout"].startswith("sleep 99981")


def test_a_program_without_a_shell_as_a_user(client, new_sandbox):
    sid = new_sandbox(services=[{"name": "a", "command": ["sh", "-c", "id -un; exec sleep 99981"], "user": "nobody"}])["id"]
    services(client, sid)
    harness.wait_until(lambda: log(client, sid, "a")["output"] == "nobody\n", "its output")


def test_ready_by_port_http_and_command_and_in_order(client, new_sandbox):
    """Each waits for the one before it; the list has them in another order."""
    sid = new_sandbox(services=[
        {"name": "last", "command": FOREVER, "dependsOn": ["http", "command"]},
        {"name": "command", "command": "sleep 0.2; touch /tmp/there; " + FOREVER, "ready": {"command": "test -e /tmp/there", "intervalMs": 50}, "dependsOn": ["http"]},
        {"name": "http", "command": "exec python3 -m http.server 8182", "ready": {"port": 8182, "http": "/"}, "dependsOn": ["port"]},
        {"name": "port", "command": HTTP, "ready": {"port": 8181}},
    ])["id"]
    assert set(states(client, sid).values()) == {"running"}, services(client, sid)
    page = client.ok("GET", f"/events/history?sandboxId={sid}&topic=sandbox.service&limit=1000")
    run = [e["data"]["service"] for e in reversed(page["events"]) if e["data"]["state"] == "running"]
    assert run == ["port", "http", "command", "last"]
    assert told(client, sid, "http") == ["starting", "running"]


def test_create_answers_before_they_are_ready(client, new_sandbox):
    made = new_sandbox(services=[{"name": "slow", "command": FOREVER, "ready": {"port": 9999}}, {"name": "after", "command": FOREVER, "dependsOn": ["slow"]}])
    sid = made["id"]
    assert made["services"][0]["state"] in ("waiting", "starting")
    harness.wait_until(lambda: states(client, sid, 0) == {"slow": "starting", "after": "waiting"}, "it to be started")
    assert states(client, sid, 1) == {"slow": "starting", "after": "waiting"}  # the time of the wait is over
    assert client.exec(sid, "echo works")["stdout"] == "works\n"


def test_one_that_is_never_ready_is_killed_and_fails(client, new_sandbox):
    sid = new_sandbox(services=[{"name": "deaf", "command": FOREVER, "ready": {"port": 9999, "timeout": 1}, "restart": "no"},
                                {"name": "after", "command": FOREVER, "dependsOn": ["deaf"]}])["id"]
    got = services(client, sid)
    assert got["deaf"]["state"] == "failed" and got["deaf"]["error"] == "not ready within 1000 ms" and got["deaf"]["exitCode"] == 137
    assert got["after"]["state"] == "waiting" and "deaf" in got["after"]["error"]


def test_one_that_dies_at_once_is_restarted_and_fails(client, new_sandbox):
    sid = new_sandbox(services=[{"name": "bad", "command": "echo try; exit 3", "maxRestarts": 2, "backoffMs": 100}])["id"]
    one = failed(client, sid, "bad")
    assert one["exitCode"] == 3 and one["restarts"] == 2 and "pid" not in one
    assert one["error"] == "exited with code 3; given up after 2 restarts"
    assert log(client, sid, "bad")["output"] == "try\n" * 3 and log(client, sid, "bad")["running"] is False
    assert told(client, sid, "bad") == ["running", "restarting"] * 2 + ["running", "failed"]
    act(client, sid, "bad", "start")  # from the beginning
    harness.wait_until(lambda: failed(client, sid, "bad")["restarts"] == 4, "as many restarts again")


def test_a_missing_program_fails_and_says_why(client, new_sandbox):
    sid = new_sandbox(services=[{"name": "none", "command": ["/no/such/program"], "maxRestarts": 0}])["id"]
    one = failed(client, sid, "none")
    assert "/no/such/program: No such file" in one["error"], one


@pytest.mark.parametrize("policy,code,state", [("no", 0, "exited"), ("no", 4, "failed"), ("on-failure", 0, "exited"), ("always", 0, "failed"), ("on-failure", 4, "failed")])
def test_restart_policies(client, new_sandbox, policy, code, state):
    sid = new_sandbox(services=[{"name": "a", "command": f"exit {code}", "restart": policy, "maxRestarts": 1, "backoffMs": 100}])["id"]
    harness.wait_until(lambda: (lambda one: one["state"] == state and one["exitCode"] == code)(services(client, sid)["a"]), "its end")
    assert services(client, sid)["a"]["restarts"] == (1 if policy == "always" or (policy == "on-failure" and code) else 0)


def test_one_that_is_killed_comes_back(client, new_sandbox):
    sid = new_sandbox(services=[{"name": "a", "command": "sleep 99982 & exec sleep 99983", "backoffMs": 100}])["id"]
    pid = services(client, sid)["a"]["pid"]
    client.exec(sid, f"kill -9 {pid}")
    again = harness.wait_until(lambda: (lambda one: one if one["state"] == "running" and one["pid"] != pid else None)(services(client, sid)["a"]), "a restart")
    assert again["restarts"] == 1 and again["exitCode"] == 137
    listed = client.ok("GET", f"/sandboxes/{sid}/processes")["processes"]
    assert sum("99982" in p["command"] for p in listed) == 1  # its child went with it


def test_stop_start_restart(client, new_sandbox):
    sid = new_sandbox(services=[{"name": "a", "command": "trap 'echo polite; exit' TERM; echo up $C; while :; do sleep 0.1; done 2>/dev/null"}, {"name": "b", "command": FOREVER}])["id"]
    services(client, sid)
    harness.wait_until(lambda: log(client, sid, "a")["output"] == "up\n", "its trap")
    assert act(client, sid, "a", "stop")["state"] == "stopping"
    assert states(client, sid) == {"a": "stopped", "b": "running"}
    assert "polite\n" in log(client, sid, "a")["output"]
    assert act(client, sid, "a", "stop")["state"] == "stopped"  # again: nothing happens
    client.ok("POST", f"/sandboxes/{sid}/env", {"vars": {"C": "new"}})
    assert act(client, sid, "a", "start")["state"] == "running"
    harness.wait_until(lambda: log(client, sid, "a")["output"].endswith("up new\n"), "the new environment")
    pid = services(client, sid)["a"]["pid"]
    assert act(client, sid, "a", "start")["pid"] == pid  # it runs
    assert act(client, sid, "a", "restart")["state"] == "stopping"
    again = services(client, sid)["a"]
    assert again["state"] == "running" and again["pid"] != pid and again["restarts"] == 0
    for method, path in (("POST", "none/start"), ("POST", "none/stop"), ("POST", "none/restart"), ("GET", "none/logs")):
        reply = client.call(method, f"/sandboxes/{sid}/services/{path}")
        assert reply.status == 404 and 'no service "none"' in reply.error


def test_one_that_ignores_sigterm_is_killed(client, new_sandbox):
    sid = new_sandbox(services=[{"name": "a", "command": "trap '' TERM; echo up; while :; do sleep 0.1; done", "stopTimeout": 0}])["id"]
    harness.wait_until(lambda: log(client, sid, "a")["output"] == "up\n", "its trap")
    act(client, sid, "a", "stop")
    one = services(client, sid)["a"]
    assert one["state"] == "stopped" and one["exitCode"] == 137 and "error" not in one


def test_log_is_followed(client, server, new_sandbox):
    sid = new_sandbox(services=[{"name": "a", "command": "echo one; sleep 0.3; echo two; exit 1", "maxRestarts": 1, "backoffMs": 100}])["id"]
    answer = client.open("GET", f"/sandboxes/{sid}/services/a/logs?follow=true")
    assert answer.status == 200 and answer.getheader("Content-Type").startswith("text/event-stream")
    text, ended = "", False
    for line in answer:
        event = json.loads(line[6:]) if line.startswith(b"data: ") else {}
        text += event.get("data", "")
        if text == "one\ntwo\n" * 2 and not ended:  # over a restart
            ended = True
            with server.client() as other:
                other.ok("DELETE", f"/sandboxes/{sid}")
        if event.get("type") in ("end", "error"):
            break
    assert event["type"] == "end" and event["offset"] == 16
    client.close()


@pytest.mark.parametrize("fields,error", [
    ({"name": "x" * 33}, "name"), ({"name": ""}, "name"), ({"name": "-a"}, "letter or digit"), ({"name": "a b"}, "letters"), ({"name": 1}, "name"),
    ({"command": ""}, "command"), ({"command": None}, "command is required"), ({"command": "x" * 65537}, "command"), ({"command": []}, "command"),
    ({"env": {str(i): "" for i in range(101)}}, "env"), ({"env": {"A=": ""}}, "env"), ({"cwd": "relative"}, "cwd"), ({"user": "a b"}, "user"),
    ({"restart": "sometimes"}, "restart"), ({"maxRestarts": 1001}, "maxRestarts"), ({"maxRestarts": -1}, "maxRestarts"), ({"backoffMs": 99}, "backoffMs"),
    ({"backoffMs": 60001}, "backoffMs"), ({"stopTimeout": 601}, "stopTimeout"), ({"dependsOn": ["none"]}, "not one of them"), ({"dependsOn": ["a"]}, "depends on itself"),
    ({"dependsOn": ["x"] * 17}, "dependsOn"), ({"ready": {}}, "needs either"), ({"ready": {"port": 0}}, "port"), ({"ready": {"port": 65536}}, "port"),
    ({"ready": {"port": 1, "command": "true"}}, "either"), ({"ready": {"http": "/"}}, "either"), ({"ready": {"command": "true", "http": "/"}}, "goes with a port"),
    ({"ready": {"port": 1, "http": "no-slash"}}, "path like"), ({"ready": {"port": 1, "http": "/" + "x" * 255}}, "http"), ({"ready": {"command": "x" * 65537}}, "command"),
    ({"ready": {"port": 1, "timeout": 3601}}, "timeout"), ({"ready": {"port": 1, "timeout": 0}}, "timeout"), ({"ready": {"port": 1, "intervalMs": 9}}, "intervalMs"),
    ({"ready": {"port": 1, "intervalMs": 60001}}, "intervalMs"),
])
def test_bad_definitions(client, fields, error):
    service = {"name": "a", "command": "true", **fields}
    reply = client.post("/sandboxes", {"image": "python", "services": [service]})
    assert reply.status == 400 and error in reply.error, reply
    if not {"env", "cwd", "user"} & set(fields):  # those are checked with the sandbox
        reply = client.post("/templates", {"name": "bad", "config": {"image": "python", "services": [service]}})
        assert reply.status == 400 and error in reply.error, reply


def test_bad_lists(client):
    one = {"name": "a", "command": "true"}
    many = [{"name": f"s{i}", "command": "true"} for i in range(17)]
    loop = [{**one, "dependsOn": ["c"]}, {**one, "name": "b", "dependsOn": ["a"]}, {**one, "name": "c", "dependsOn": ["b"]}]
    for value, error in ((many, "17 entries"), ([one, one], "two with the name a"), (loop, "by way of others"), ("a", "array"), ([1], "must be an object")):
        reply = client.post("/sandboxes", {"image": "python", "services": value})
        assert reply.status == 400 and error in reply.error, reply
    for wait in (-1, 601, "soon"):
        assert client.get(f"/sandboxes/{harness.UNKNOWN}/services?wait={wait}").status == 400
    assert client.get(f"/sandboxes/{harness.UNKNOWN}/services").status == 404


def test_most_services_of_one_sandbox(client, new_sandbox):
    sid = new_sandbox(services=[{"name": f"s{i}", "command": FOREVER, "dependsOn": [f"s{i - 1}"] if i else []} for i in range(16)])["id"]
    assert list(states(client, sid).values()) == ["running"] * 16


def test_from_a_template_and_in_a_clone(client, new_sandbox):
    config = {"image": "python", "services": [{"name": "a", "command": FOREVER}]}
    template = client.ok("POST", "/templates", {"name": "with-services", "config": config})["id"]
    sid = new_sandbox(template="with-services")["id"]
    assert states(client, sid) == {"a": "running"}
    client.ok("DELETE", f"/templates/{template}")
    if "snapshot" in harness.backend()["can"] and harness.backend()["can"]["snapshot"]:
        clone = client.ok("POST", f"/sandboxes/{sid}/clone", {})["id"]
        assert states(client, clone) == {"a": "running"}
        client.ok("DELETE", f"/sandboxes/{clone}")


def test_a_sandbox_without_services(client, sandbox):
    assert client.ok("GET", f"/sandboxes/{sandbox}/services?wait=600") == {"services": []}
    assert "services" not in client.ok("GET", f"/sandboxes/{sandbox}")


@harness.needs("stop")
def test_they_come_back_with_the_sandbox(client, new_sandbox):
    sid = new_sandbox(services=[{"name": "a", "command": "echo up; " + FOREVER}, {"name": "b", "command": FOREVER, "dependsOn": ["a"]}], autoResume=True)["id"]
    services(client, sid)
    act(client, sid, "b", "stop")
    assert states(client, sid) == {"a": "running", "b": "stopped"}
    client.ok("POST", f"/sandboxes/{sid}/stop", {"timeout": 30})
    assert states(client, sid) == {"a": "stopped", "b": "stopped"}
    client.ok("POST", f"/sandboxes/{sid}/start")
    assert states(client, sid) == {"a": "running", "b": "running"}
    harness.wait_until(lambda: log(client, sid, "a")["output"] == "up\n", "its output")
    assert client.exec(sid, "cat /tmp/.service-a.log.old")["stdout"] == "up\n"
    client.ok("POST", f"/sandboxes/{sid}/restart", {"timeout": 0})
    assert states(client, sid) == {"a": "running", "b": "running"}
    client.ok("POST", f"/sandboxes/{sid}/stop", {"timeout": 0})
    assert act(client, sid, "a", "restart")["name"] == "a"  # wakes it
    assert states(client, sid) == {"a": "running", "b": "running"}


def test_a_stop_does_not_restart_them(client, new_sandbox):
    """All processes are told to exit: what exits by that is not started again meanwhile."""
    if not harness.backend()["can"]["stop"]:
        pytest.skip("needs stop")
    sid = new_sandbox(services=[{"name": "a", "command": "echo start >> /workspace/starts; trap 'exit 0' TERM; while :; do sleep 0.05; done", "backoffMs": 100}])["id"]
    client.ok("POST", f"/sandboxes/{sid}/exec/background", {"command": "trap '' TERM; sleep 99984"})
    harness.wait_until(lambda: client.exec(sid, "cat /workspace/starts")["stdout"] == "start\n", "its start")
    client.ok("POST", f"/sandboxes/{sid}/stop", {"timeout": 2})
    client.ok("POST", f"/sandboxes/{sid}/start")
    harness.wait_until(lambda: client.exec(sid, "cat /workspace/starts")["stdout"] == "start\n" * 2, "its next start")


@harness.needs("pause")
def test_pause_and_resume(client, new_sandbox):
    sid = new_sandbox(services=[{"name": "a", "command": FOREVER}])["id"]
    before = services(client, sid)["a"]
    client.ok("POST", f"/sandboxes/{sid}/pause")
    assert client.post(f"/sandboxes/{sid}/services/a/stop").status == 409
    client.ok("POST", f"/sandboxes/{sid}/resume")
    assert services(client, sid)["a"] == before


def test_interrupt_and_exec_leave_them_alone(client, new_sandbox):
    sid = new_sandbox(services=[{"name": "a", "command": FOREVER}])["id"]
    before = services(client, sid)["a"]
    client.ok("POST", f"/sandboxes/{sid}/exec/interrupt", {})
    assert client.exec(sid, "exit 5")["exitCode"] == 5
    assert services(client, sid)["a"] == before


def test_adopted_by_the_next_server():
    with leak.watched(harness.Server()) as server:
        with server.client() as caller:
            sid = caller.create(services=[{"name": "a", "command": "echo up; " + FOREVER, "backoffMs": 100}])["id"]
            before = services(caller, sid)["a"]
        server.kill()
        server.start()
        with server.client() as caller:
            after = services(caller, sid)["a"]
            assert (after["pid"], after["state"], after["restarts"]) == (before["pid"], "running", 0)
            assert log(caller, sid, "a")["output"] == "up\n" and told(caller, sid, "a").count("running") <= 1  # it says nothing new
            caller.exec(sid, f"kill -9 {after['pid']}")
            harness.wait_until(lambda: services(caller, sid)["a"]["restarts"] == 1, "a restart that this server is told of")


@pytest.mark.skipif(harness.BACKEND != "native", reason="the agent's pid is known of native sandboxes")
def test_agent_that_dies():
    """The sandbox dies with its agent. One that is to be restarted comes back, with its services."""
    import os
    import signal
    with leak.watched(harness.Server()) as server, server.client() as caller:
        sid = caller.create(restart="always", services=[{"name": "a", "command": FOREVER}])["id"]
        services(caller, sid)
        started = caller.ok("GET", f"/sandboxes/{sid}")["services"][0]["since"]
        for pid in server.agents():
            os.kill(pid, signal.SIGKILL)
        harness.wait_until(lambda: (lambda r: r["status"] == "running" and r["services"][0]["state"] == "running" and r["services"][0]["since"] > started)(
            caller.ok("GET", f"/sandboxes/{sid}")), "the sandbox and its service to come back")
