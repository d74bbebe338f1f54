"""Commands in the background: state and logs by byte cursor."""
import re

import pytest

import harness
from test_exec import processes_with


def start(client, sid, command):
    return client.ok("POST", f"/sandboxes/{sid}/exec/background", {"command": command})


def finished(client, job):
    def status():
        record = client.ok("GET", f"/exec/background/{job['id']}/status")
        return None if record["running"] else record

    return harness.wait_until(status, "the background command to end")


def logs(client, job, cursor=None):
    return client.ok("GET", f"/exec/background/{job['id']}/logs" + ("" if cursor is None else f"?cursor={cursor}"))


def test_it_runs_and_ends(box, client):
    job = start(client, box, "echo out; echo err >&2; exit 5")
    assert re.fullmatch(r"bg_[0-9a-f]{24}", job["id"])
    assert job["running"] is True and job["sandboxId"] == box and job["command"] == "echo out; echo err >&2; exit 5"
    record = finished(client, job)
    assert record["exitCode"] == 5 and record["pid"] > 1 and record["finishedAt"] >= record["startedAt"]
    output = logs(client, job)["output"]
    assert sorted(output.split()) == ["err", "out"]


def test_an_argv_is_fine_too(box, client):
    job = start(client, box, ["echo", "a  b"])
    assert finished(client, job)["exitCode"] == 0
    assert logs(client, job)["output"] == "a  b\n"


def test_the_cursor_counts_bytes(box, client):
    job = start(client, box, "printf 'żółć\\n'; printf 'end\\n'")
    finished(client, job)
    everything = logs(client, job)
    assert everything == {"output": "żółć\nend\n", "cursor": 13}
    assert logs(client, job, 9) == {"output": "end\n", "cursor": 13}
    assert logs(client, job, 13) == {"output": "", "cursor": 13}
    assert logs(client, job, 9999)["output"] == ""


def test_logs_grow_while_it_runs(box, client):
    client.exec(box, "rm -f /tmp/go")
    job = start(client, box, "echo first; until [ -e /tmp/go ]; do sleep 0.01; done; echo second")
    first = harness.wait_until(lambda: logs(client, job) if logs(client, job)["output"] else None, "the first line")
    assert first == {"output": "first\n", "cursor": 6}
    assert client.ok("GET", f"/exec/background/{job['id']}/status")["running"] is True
    client.exec(box, "touch /tmp/go")
    finished(client, job)
    assert logs(client, job, 6)["output"] == "second\n"


def test_no_output_is_empty(box, client):
    job = start(client, box, "true")
    finished(client, job)
    assert logs(client, job) == {"output": "", "cursor": 0}


def test_it_outlives_its_connection_and_can_be_killed(server, box, client):
    with harness.Client(server.port) as other:
        job = start(other, box, "sleep 99921")
    pid = harness.wait_until(lambda: processes_with(client, box, "99921"), "the command to run")[0]["pid"]
    client.ok("POST", f"/sandboxes/{box}/processes/kill", {"pid": pid, "signal": "KILL"})
    assert finished(client, job)["exitCode"] == 137


def test_many_lines_are_whole(box, client):
    job = start(client, box, "seq 20000")
    finished(client, job)
    expected = "".join(f"{i}\n" for i in range(1, 20001))
    got, cursor = "", 0
    for _ in range(1000):
        piece = logs(client, job, cursor)
        if not piece["output"]:
            break
        got, cursor = got + piece["output"], piece["cursor"]
    assert got == expected


def test_unknown_ids_and_bad_bodies(box, client):
    for what in ("status", "logs"):
        reply = client.get(f"/exec/background/bg_{'0' * 24}/{what}")
        assert reply.status == 404 and "not found" in reply.error
    for body in ({}, {"command": ""}, {"command": []}):
        assert client.post(f"/sandboxes/{box}/exec/background", body).status == 400
    job = start(client, box, "true")
    assert client.get(f"/exec/background/{job['id']}/logs?cursor=minus").status == 400


def test_it_goes_with_its_sandbox(new_sandbox, client):
    sid = new_sandbox()["id"]
    job = start(client, sid, "sleep 99922")
    client.ok("DELETE", f"/sandboxes/{sid}")
    assert client.get(f"/exec/background/{job['id']}/status").status == 404


@pytest.mark.parametrize("count", [20])
def test_several_at_once(box, client, count):
    jobs = [start(client, box, f"echo {n}") for n in range(count)]
    for number, job in enumerate(jobs):
        assert finished(client, job)["exitCode"] == 0
        assert logs(client, job)["output"] == f"{number}\n"
