"""Sandboxes of the functions across a crash and a clean stop of the server."""
import os
import signal

import harness
import leak
import test_ttl
from fnclient import Functions


def test_a_killed_server_finds_its_sandboxes_again():
    server = harness.Server(env={"III_IDLE_SCAN_MS": "100"})
    try:
        server.start()
        fn = Functions(server.engine_port)
        kept, idle = fn.create(name="kept", env={"A": "1"}), fn.create(idle_timeout_secs=2)
        fn.call("fs::write", sandbox_id=kept, path="/f", content="here")
        server.kill()
        fn.worker.cut()
        server.start()
        fn = Functions(server.engine_port)
        row = next(r for r in fn.call("list")["sandboxes"] if r["sandbox_id"] == kept)
        assert (row["name"], row["image"]) == ("kept", "python")
        assert fn.call("fs::read", sandbox_id=kept, path="/f")["body"] == "here"
        assert fn.call("exec", sandbox_id=kept, argv=["printenv", "A"])["stdout"] == "1\n"
        harness.wait_until(lambda: idle not in [r["sandbox_id"] for r in fn.call("list")["sandboxes"]], "the reaper after the restart")
        fn.made = [kept]
        fn.close()
        server.stop()
    finally:
        server.remove()


def test_a_sandbox_that_dies_under_a_command():
    with harness.Server(env={"III_BLANK_POOL": "0"}) as server:
        fn = Functions(server.engine_port)
        sid = fn.create()
        agents = server.agents()
        asked = fn.ask("exec", sandbox_id=sid, cmd="sleep 50")
        harness.wait_until(lambda: fn.call("list")["sandboxes"][0]["exec_in_flight"] == 1, "the command")
        assert len(agents) == 1, agents
        os.kill(agents[0], signal.SIGKILL)
        fn.fault_of(asked, "S300")
        harness.wait_until(lambda: fn.call("list")["sandboxes"] == [], "its removal")
        fn.close()


def test_a_stop_that_keeps_sandboxes_ends_a_run_under_way():
    with leak.watched(harness.Server(flags=["--on-shutdown=keep"])) as server:
        fn = Functions(server.engine_port)
        fn.ask("run", image="python", lang="shell", code="echo up > /tmp/up; sleep 99966", name="running")
        with harness.Client(server.port) as caller:
            def is_up():
                found = [r["id"] for r in caller.ok("GET", "/sandboxes")["items"] if r["name"] == "running"]
                return found and caller.exec(found[0], "cat /tmp/up")["exitCode"] == 0
            harness.wait_until(is_up, "the command of the run")
        server.held.look(server.pid)
        server.stop()  # its exit code tells
        fn.worker.cut()
        server.flags.remove("--on-shutdown=keep")
        server.start()


def test_records_of_former_versions_keep_their_idle_time_out():
    """Their idle time-out was a note of the functions, their missing expiry the year 9999."""
    server = harness.Server(env={"III_IDLE_SCAN_MS": "100", "III_TTL_SWEEP": "* * * * * *"}, flags=["--on-shutdown=keep"])
    try:
        server.start()
        fn = Functions(server.engine_port)
        idle, kept = fn.create(idle_timeout_secs=3600), fn.create(idle_timeout_secs=3600)
        server.stop()
        fn.worker.cut()
        for sid, seconds in ((idle, 1), (kept, 900)):
            def as_before(record, seconds=seconds):
                del record["config"]["idleTimeout"]
                record["expiresAt"] = 253402300799000
                record["internal"]["extra"]["engine"]["idle_secs"] = seconds
            test_ttl.rewrite(server.data_dir, "sbx_" + sid.replace("-", "")[:24], as_before)
        server.flags = []
        server.start()
        fn, client = Functions(server.engine_port), harness.Client(server.port)
        harness.wait_until(lambda: [r["sandbox_id"] for r in fn.call("list")["sandboxes"]] == [kept], "the idle time-out")
        record = client.ok("GET", f"/sandboxes/{kept}")
        assert record["expiresAt"] == 0 and record["config"]["idleTimeout"] == 900
        client.close()
        fn.made = [kept]
        fn.close()
        server.stop()
    finally:
        server.remove()
