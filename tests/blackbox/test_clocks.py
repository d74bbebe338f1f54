"""The clock that counts from the boot is another one after a restart, as after a reboot or a move: times to live, idle times, schedules and kept answers hold.
The wall clock belongs to the whole host, so what is done with its stamps is shown by unit tests (test_clock.c, test_cron.c, test_idempotency.c, test_keyring.c)."""
import json
import sqlite3
import subprocess
import time

import pytest

import engineclient
import harness

OFFSETS = [3_000_000, 0, 9_000_000]  # seconds: in the middle, far back, far ahead


def has_time_namespaces():
    """Whether a program enters one by exec, as kernels do since 6.0: the server's pid stays the one that was started."""
    seen = subprocess.run(["unshare", "--time", "--monotonic", "77", "cat", "/proc/self/timens_offsets"], capture_output=True, text=True, check=False)
    return "77" in seen.stdout.split()


def in_time(server, offset):
    server.wrap = ["unshare", "--time", "--monotonic", str(offset), "--boottime", str(offset)] if offset else []
    return server.start()


def uptime(server):
    with harness.Client(server.port) as caller:
        return caller.ok("GET", "/metrics")["uptimeSeconds"]


def mono_of(server):
    """What the server's own clock says: its offset shows in the namespace that it is in."""
    with open(f"/proc/{server.pid}/timens_offsets") as file:
        return int(file.readline().split()[1])


def expire_soon(server, sid):
    """The shortest time to live is a minute: the record of a server that does not run is moved instead. Returns when it ends."""
    base = sqlite3.connect(server.data_dir / "state.db")
    (body,), = base.execute("SELECT body FROM doc WHERE scope = 'sandbox' AND key = ?", (sid,)).fetchall()
    record = json.loads(body)
    record["expiresAt"] = int(time.time() * 1000) + 6000
    base.execute("UPDATE doc SET body = ? WHERE scope = 'sandbox' AND key = ?", (json.dumps(record), sid))
    base.commit()
    base.close()
    return record["expiresAt"] / 1000


def listed(caller):
    return {row["id"]: row for row in caller.ok("GET", "/sandboxes")["items"]}


def create_again(caller, key):
    reply = caller.call("POST", "/sandboxes", {"image": "python", "timeout": 3600}, {"Idempotency-Key": key})
    assert reply.status == 200, reply
    return reply.json()["id"], reply.headers.get("idempotency-replayed")


@pytest.mark.skipif(not harness.IS_ROOT or not has_time_namespaces(), reason="makes a time namespace")
def test_another_monotonic_clock_after_a_crash():
    server = harness.Server(env={"III_BLANK_POOL": "1", "III_TTL_SWEEP": "* * * * * *"})
    try:
        in_time(server, OFFSETS[0])
        assert mono_of(server) == OFFSETS[0]
        begun = time.time()
        with harness.Client(server.port) as caller:
            first, _ = create_again(caller, "one-key")
            mortals = [caller.create(timeout=3600)["id"] for _ in OFFSETS[1:]]
            job = caller.ok("POST", f"/sandboxes/{first}/exec/background", {"command": "sleep 99933"})["id"]
            expires = listed(caller)[first]["expiresAt"]
        with engineclient.Worker(server.engine_port) as worker:
            idle, busy = [worker.call("sandbox::create", {"image": "python", "idle_timeout_secs": n})["sandbox_id"] for n in (3, 3600)]
        for offset, mortal in zip(OFFSETS[1:], mortals):
            server.kill()
            ends = expire_soon(server, mortal)
            in_time(server, offset)
            assert mono_of(server) == offset and 0 <= uptime(server) <= time.time() - begun
            with harness.Client(server.port) as caller, engineclient.Worker(server.engine_port) as worker:
                assert listed(caller)[first]["expiresAt"] == expires
                is_there = mortal in listed(caller)
                assert is_there or time.time() >= ends, "ended before its time"
                assert create_again(caller, "one-key") == (first, "true")
                assert caller.ok("GET", f"/exec/background/{job}/status")["running"] is True
                assert caller.exec(first, "echo up")["stdout"] == "up\n"
                worker.register("clocks::tick")
                worker.bind("cron", "clocks::tick", {"expression": "* * * * * *"})
                ticks = [worker.serve("clocks::tick", lambda data: data)["data"]["scheduled_time"] for _ in range(2)]
                assert ticks[0] < ticks[1]

                def idle_one_is_gone():
                    known = {row["sandbox_id"] for row in worker.call("sandbox::list", {})["sandboxes"]}
                    assert busy in known, "not idle for an hour"
                    return idle not in known
                harness.wait_until(idle_one_is_gone, "the idle sandbox to be stopped")
                harness.wait_until(lambda: mortal not in listed(caller), "the one whose time is over to be ended")
                assert time.time() >= ends and first in listed(caller)
        server.stop()
    finally:
        server.remove()
