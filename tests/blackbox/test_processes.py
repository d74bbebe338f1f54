"""Processes inside a sandbox, by their ids there."""
import pytest

import harness
from test_exec import processes_with


def sleeper(processes, seconds):
    """The `sleep SECONDS` among the processes; None while it is still the shell's copy, or not there at all."""
    return next((p for p in processes if p["command"].startswith(f"sleep {seconds}")), None)


def test_list(box, client):
    client.exec(box, "sleep 99931 &")
    process = harness.wait_until(lambda: sleeper(processes_with(client, box, "99931"), "99931"), "the process to run")
    assert len(processes_with(client, box, "99931")) == 1
    assert set(process) >= {"pid", "user", "cpu", "memory", "command"}
    assert process["pid"] > 1 and process["user"] == "root"
    float(process["cpu"]), float(process["memory"])
    assert isinstance(process["cpu"], str) and isinstance(process["memory"], str)
    assert client.exec(box, f"cat /proc/{process['pid']}/comm")["stdout"] == "sleep\n"


def test_an_idle_sandbox_has_its_first_process(client, new_sandbox):
    sid = new_sandbox()["id"]
    for path in ("processes", "processes/top"):
        assert [p["pid"] for p in client.ok("GET", f"/sandboxes/{sid}/{path}")["processes"]] == [1], path


def test_top(box, client):
    client.exec(box, "sleep 99932 &")
    process = harness.wait_until(lambda: sleeper(client.ok("GET", f"/sandboxes/{box}/processes/top")["processes"], "99932"),
                                 "the process to run")
    assert set(process) >= {"pid", "cpu", "mem", "vsz", "rss", "command"}
    assert isinstance(process["vsz"], int) and isinstance(process["rss"], int) and isinstance(process["cpu"], str)


@pytest.mark.parametrize("signal, code", [("TERM", 143), ("KILL", 137), ("INT", 130), ("HUP", 129), ("USR1", 138), ("USR2", 140), (None, 143)])
def test_kill(box, client, signal, code):
    job = client.ok("POST", f"/sandboxes/{box}/exec/background", {"command": ["sleep", "99933"]})
    pid = harness.wait_until(lambda: processes_with(client, box, "99933"), "the process to run")[0]["pid"]
    body = {"pid": pid, "signal": signal}
    assert client.ok("POST", f"/sandboxes/{box}/processes/kill", body) == {"killed": pid, "signal": signal or "TERM"}
    record = harness.wait_until(lambda: (lambda r: None if r["running"] else r)(client.ok("GET", f"/exec/background/{job['id']}/status")),
                                "the process to end")
    assert record["exitCode"] == code


def test_stop_and_continue(box, client):
    pid = int(client.exec(box, "sleep 99934 & echo $!")["stdout"])

    def state():
        return client.exec(box, f"cut -d' ' -f3 /proc/{pid}/stat")["stdout"].strip()

    client.ok("POST", f"/sandboxes/{box}/processes/kill", {"pid": pid, "signal": "STOP"})
    harness.wait_until(lambda: state() == "T", "the process to stop")
    client.ok("POST", f"/sandboxes/{box}/processes/kill", {"pid": pid, "signal": "CONT"})
    harness.wait_until(lambda: state() == "S", "the process to go on")
    client.ok("POST", f"/sandboxes/{box}/processes/kill", {"pid": pid, "signal": "KILL"})


@pytest.mark.parametrize("body", [{}, {"pid": 0}, {"pid": -1}, {"pid": "x"}, {"pid": 2, "signal": "SEGV"}, {"pid": 2, "signal": "SIGTERM"},
                                  {"pid": 2, "signal": 9}, {"pid": 1.5}])
def test_bad_bodies(box, client, body):
    reply = client.post(f"/sandboxes/{box}/processes/kill", body)
    assert reply.status == 400 and reply.error


def test_a_pid_may_be_a_string_of_digits(box, client):
    pid = int(client.exec(box, "sleep 99935 & echo $!")["stdout"])
    assert client.ok("POST", f"/sandboxes/{box}/processes/kill", {"pid": str(pid), "signal": "KILL"})["killed"] == pid


def test_killing_the_first_process_does_not_take_the_agent(box, client):
    reply = client.post(f"/sandboxes/{box}/processes/kill", {"pid": 1, "signal": "TERM"})
    assert reply.status == 400 and "agent" in reply.error
    assert client.exec(box, "kill -TERM 1; kill -INT 1; echo still here")["stdout"] == "still here\n"


def test_unknown_and_paused(new_sandbox, client):
    assert client.get(f"/sandboxes/{harness.UNKNOWN}/processes").status == 404
    sid = new_sandbox()["id"]
    client.ok("POST", f"/sandboxes/{sid}/pause")
    assert client.get(f"/sandboxes/{sid}/processes/top").status == 409
