"""Queued commands: order, retries, dead letters, cancelling, and a server that is killed in between."""
import re

import harness
import leak
from test_exec import processes_with

SERVER_ENV = {"III_MAX_JOBS": "6"}
OVER = ("completed", "failed", "cancelled")


def submit(client, sid, command, **fields):
    return client.ok("POST", f"/sandboxes/{sid}/exec/queue", {"command": command, **fields})


def status(client, job):
    return client.ok("GET", f"/queue/{job['id']}/status")


def reaches(client, job, wanted):
    def look():
        now = status(client, job)
        assert now["status"] == wanted or now["status"] not in OVER, now
        return now if now["status"] == wanted else None

    return harness.wait_until(look, f"job {job['id']} to be {wanted}")


def dead(client, query=""):
    return client.ok("GET", "/queue/dlq" + query)


def test_a_job_completes(sandbox, client):
    job = submit(client, sandbox, "echo out; echo err >&2; exit 3")
    assert re.fullmatch(r"job_[0-9a-f]{24}", job["id"])
    assert job["status"] == "pending" and job["retries"] == 0 and job["maxRetries"] == 3 and job["sandboxId"] == sandbox
    assert set(job) == {"id", "sandboxId", "command", "status", "retries", "maxRetries", "createdAt"}
    done = reaches(client, job, "completed")  # whatever the exit code
    assert done["result"]["exitCode"] == 3 and done["result"]["stdout"] == "out\n" and done["result"]["stderr"] == "err\n"
    assert done["createdAt"] <= done["startedAt"] <= done["completedAt"] and done["command"] == "echo out; echo err >&2; exit 3"
    assert "internal" not in done and "error" not in done
    assert reaches(client, submit(client, sandbox, ["printf", "%s", "a  b"]), "completed")["result"]["stdout"] == "a  b"


def test_they_run_one_by_one_in_order(sandbox, client):
    jobs = [submit(client, sandbox, f"n=$(ls /workspace | wc -l); mkdir /workspace/lock || exit 9; echo $n-{i} >> /tmp/order; sleep 0.02; rmdir /workspace/lock")
            for i in range(5)]
    for job in jobs:
        assert reaches(client, job, "completed")["result"]["exitCode"] == 0
    assert client.exec(sandbox, "cat /tmp/order")["stdout"] == "".join(f"0-{i}\n" for i in range(5))


def test_sandboxes_do_not_wait_for_each_other(new_sandbox, client):
    slow, quick = new_sandbox()["id"], new_sandbox()["id"]
    held = submit(client, slow, "until [ -e /workspace/go ]; do sleep 0.02; done")
    reaches(client, submit(client, quick, "true"), "completed")
    assert status(client, held)["status"] in ("pending", "running")
    client.exec(slow, "touch /workspace/go")
    reaches(client, held, "completed")


def test_a_command_that_cannot_run_becomes_a_dead_letter(sandbox, client):
    before = dead(client)["total"]
    job = submit(client, sandbox, ["/no/such/program"], maxRetries=2)
    failed = reaches(client, job, "failed")
    assert failed["retries"] == 2 and failed["error"] and failed["completedAt"] and "result" not in failed
    once = reaches(client, submit(client, sandbox, ["/no/such/program"], maxRetries=0), "failed")
    assert once["retries"] == 1  # 0 is one try
    page = dead(client)
    assert page["total"] == before + 2 and [j["id"] for j in page["jobs"]][-2:] == [failed["id"], once["id"]]
    assert page["jobs"][-2] == failed
    assert [j["id"] for j in dead(client, f"?limit=1&offset={before}")["jobs"]] == [failed["id"]]
    assert dead(client, "?limit=0")["jobs"] == [] and dead(client, f"?offset={before + 2}")["jobs"] == []
    assert dead(client, "?limit=1")["total"] == before + 2


def test_a_non_zero_exit_is_retried_when_the_job_says_so(sandbox, client):
    count = "echo x >> /tmp/tries; wc -l < /tmp/tries; "
    failed = reaches(client, submit(client, sandbox, count + "exit 3", maxRetries=2, retryOnExit=True), "failed")
    assert failed["retries"] == 2 and failed["retryOnExit"] is True and "exited with code 3" in failed["error"]
    assert failed["result"]["exitCode"] == 3 and failed["result"]["stdout"].strip() == "2"  # of the last try
    assert failed["id"] in [j["id"] for j in dead(client)["jobs"]]
    cured = reaches(client, submit(client, sandbox, count + "[ $(wc -l < /tmp/tries) -ge 4 ]", maxRetries=3, retryOnExit=True), "completed")
    assert cured["retries"] == 1 and cured["result"]["exitCode"] == 0 and "error" not in cured


def test_a_dead_letter_can_be_tried_again(sandbox, client):
    job = submit(client, sandbox, ["/workspace/later"], maxRetries=1)
    reaches(client, job, "failed")
    client.ok("POST", f"/sandboxes/{sandbox}/files/write", {"path": "/workspace/later", "content": "#!/bin/sh\necho now\n"})
    client.ok("POST", f"/sandboxes/{sandbox}/files/chmod", {"path": "/workspace/later", "mode": "755"})
    again = client.ok("POST", f"/queue/{job['id']}/retry")
    assert again["status"] == "pending" and again["retries"] == 0 and "error" not in again and "completedAt" not in again
    done = reaches(client, job, "completed")
    assert done["result"]["stdout"] == "now\n" and "error" not in done
    assert job["id"] not in [j["id"] for j in dead(client)["jobs"]]
    reply = client.post(f"/queue/{job['id']}/retry")
    assert reply.status == 409 and "completed" in reply.error


def test_the_timeout_is_honoured_and_counts_as_a_failure(sandbox, client):
    failed = reaches(client, submit(client, sandbox, "sleep 99931", timeout=1, maxRetries=1), "failed")
    assert "timed out after 1000 ms" in failed["error"]
    assert not processes_with(client, sandbox, "99931")


def test_a_pause_is_waited_out(sandbox, client):
    """The first try comes while the sandbox is paused; a later one after it was resumed."""
    client.ok("POST", f"/sandboxes/{sandbox}/pause")
    job = submit(client, sandbox, "echo thawed", maxRetries=50)
    harness.wait_until(lambda: status(client, job)["retries"] > 0, "the first try to fail")
    waiting = status(client, job)
    assert waiting["status"] == "pending" and "not running" in waiting["error"] and "startedAt" not in waiting
    client.ok("POST", f"/sandboxes/{sandbox}/resume")
    done = reaches(client, job, "completed")
    assert done["result"]["stdout"] == "thawed\n" and done["retries"] >= 1 and "error" not in done


def test_cancel_pending_and_running(sandbox, client):
    running = submit(client, sandbox, "sleep 99932")
    waiting = submit(client, sandbox, "touch /workspace/never")
    third = submit(client, sandbox, "echo third")
    harness.wait_until(lambda: processes_with(client, sandbox, "99932"), "the first job to run")
    assert status(client, running)["status"] == "running" and status(client, waiting)["status"] == "pending"
    assert client.ok("POST", f"/queue/{waiting['id']}/cancel") == {"cancelled": waiting["id"]}
    assert status(client, waiting)["status"] == "cancelled" and status(client, waiting)["completedAt"]
    assert client.ok("POST", f"/queue/{running['id']}/cancel") == {"cancelled": running["id"]}
    assert status(client, running)["status"] == "cancelled"
    harness.wait_until(lambda: not processes_with(client, sandbox, "99932"), "the process to be killed")
    assert reaches(client, third, "completed")["result"]["stdout"] == "third\n"
    assert client.exec(sandbox, "ls /workspace")["stdout"] == ""
    for job in (running, waiting, third):
        assert client.post(f"/queue/{job['id']}/cancel").status == 409
    assert client.post(f"/queue/{waiting['id']}/retry").status == 409


def test_cancelling_another_does_not_cut_a_pause_short(sandbox, client):
    """The first job waits longer before each try. Jobs behind it come and go, and do not make it try sooner."""
    client.ok("POST", f"/sandboxes/{sandbox}/pause")
    first = submit(client, sandbox, "true", maxRetries=100)
    harness.wait_until(lambda: status(client, first)["retries"] >= 2, "two tries to fail")
    before = status(client, first)["retries"]
    for _ in range(50):
        client.ok("POST", f"/queue/{submit(client, sandbox, 'true')['id']}/cancel")
    assert status(client, first)["retries"] - before < 10  # with the defect: one try for each
    client.ok("POST", f"/queue/{first['id']}/cancel")
    client.ok("POST", f"/sandboxes/{sandbox}/resume")


def test_jobs_of_a_killed_sandbox(new_sandbox, client):
    sid = new_sandbox()["id"]
    done = submit(client, sid, "true")
    reaches(client, done, "completed")
    running, waiting = submit(client, sid, "sleep 99933"), submit(client, sid, "true")
    harness.wait_until(lambda: status(client, running)["status"] == "running", "the job to run")
    client.ok("DELETE", f"/sandboxes/{sid}")
    for job in (running, waiting):
        failed = status(client, job)
        assert failed["status"] == "failed" and "removed" in failed["error"]
    assert client.get(f"/queue/{done['id']}/status").status == 404
    reply = client.post(f"/queue/{waiting['id']}/retry")
    assert reply.status == 404 and "sandbox not found" in reply.error


def test_the_limit(new_sandbox, client):
    sid = new_sandbox()["id"]
    finished = submit(client, sid, "true")
    reaches(client, finished, "completed")
    first = submit(client, sid, "sleep 99934")
    rest = [submit(client, sid, "true") for _ in range(5)]  # the last one takes the place of the one that is over
    assert client.get(f"/queue/{finished['id']}/status").status == 404
    reply = client.post(f"/sandboxes/{sid}/exec/queue", {"command": "true"})
    assert reply.status == 503 and "III_MAX_JOBS" in reply.error
    client.ok("POST", f"/queue/{first['id']}/cancel")
    for job in rest:
        reaches(client, job, "completed")
    reaches(client, submit(client, sid, "true"), "completed")


def test_large_output_is_cut(sandbox, client):
    done = reaches(client, submit(client, sandbox, "head -c 3000000 /dev/zero | tr '\\0' x"), "completed")
    assert len(done["result"]["stdout"]) == 1024 * 1024 and done["result"]["stdoutTruncated"] is True
    assert done["result"]["stderrTruncated"] is False


def test_bad_requests(sandbox, client):
    for body in ({}, {"command": ""}, {"command": []}, {"command": "x", "maxRetries": -1}, {"command": "x", "maxRetries": 101}):
        assert client.post(f"/sandboxes/{sandbox}/exec/queue", body).status == 400, body
    assert client.post(f"/sandboxes/{harness.UNKNOWN}/exec/queue", {"command": "true"}).status == 404
    unknown = "job_" + "0" * 24
    for method, what in (("GET", "status"), ("POST", "cancel"), ("POST", "retry")):
        reply = client.call(method, f"/queue/{unknown}/{what}")
        assert reply.status == 404 and "not found" in reply.error
    assert client.get("/queue/dlq?offset=-1").status == 400


def test_a_killed_server_goes_on_with_the_queue():
    server = harness.Server()
    server.held = leak.Holdings(server.data_dir)
    try:
        server.start()
        with harness.Client(server.port) as caller:
            sid, doomed = caller.create()["id"], caller.create()["id"]
            over = reaches(caller, submit(caller, sid, "echo before"), "completed")
            lost = reaches(caller, submit(caller, sid, ["/no/such"], maxRetries=1), "failed")
            running = submit(caller, sid, "echo run >> /workspace/runs; until [ -e /workspace/go ]; do sleep 0.02; done; echo ended")
            waiting = [submit(caller, sid, f"echo {i} >> /workspace/order") for i in range(3)]
            orphan = submit(caller, doomed, "sleep 99935")
            cancelled = submit(caller, sid, "touch /workspace/never")
            caller.ok("POST", f"/queue/{cancelled['id']}/cancel")
            harness.wait_until(lambda: caller.exec(sid, "cat /workspace/runs")["stdout"], "the job to run")
            reaches(caller, orphan, "running")
        server.held.look(server.pid)
        server.kill()
        server.start()
        with harness.Client(server.port) as caller:
            assert status(caller, over) == over and status(caller, lost) == lost
            assert status(caller, cancelled)["status"] == "cancelled"
            harness.wait_until(lambda: caller.exec(sid, "cat /workspace/runs")["stdout"] == "run\nrun\n", "the job to run again")
            assert [status(caller, job)["status"] for job in waiting] == ["pending"] * 3
            caller.exec(sid, "touch /workspace/go")
            assert reaches(caller, running, "completed")["result"]["stdout"] == "ended\n"
            for job in waiting:
                reaches(caller, job, "completed")
            assert caller.exec(sid, "cat /workspace/order")["stdout"] == "0\n1\n2\n"
            assert status(caller, orphan)["status"] in ("pending", "running")
            caller.ok("DELETE", f"/sandboxes/{doomed}")
            assert status(caller, orphan)["status"] == "failed"
            server.held.look(server.pid)
        server.stop()
        server.held.assert_nothing_left()
        server.start()  # the sandbox went with the stop; its dead letters are kept
        with harness.Client(server.port) as caller:
            assert {lost["id"], orphan["id"]} <= {job["id"] for job in dead(caller)["jobs"]}
            assert caller.get(f"/queue/{over['id']}/status").status == 404
        server.stop()
    finally:
        if server.proc.poll() is None:
            server.stop()
        server.remove()
