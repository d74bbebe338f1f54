"""Sandboxes expire. The shortest time to live is a minute, so the tests move the stored time instead of waiting."""
import json
import sqlite3

import pytest

import harness
import leak


def is_database(path):
    with open(path, "rb") as file:  # some of the others are disks of machines
        return file.read(15) == b"SQLite format 3"


def rewrite(data_dir, sid, change):
    """Changes the record of a stopped server's sandbox."""
    changed = 0
    for path in data_dir.rglob("*"):
        if not path.is_file() or not is_database(path):
            continue
        base = sqlite3.connect(path)
        for (body,) in base.execute("SELECT body FROM doc WHERE scope = 'sandbox' AND key = ?", (sid,)).fetchall():
            record = json.loads(body)
            change(record)
            changed += base.execute("UPDATE doc SET body = ? WHERE scope = 'sandbox' AND key = ?", (json.dumps(record), sid)).rowcount
        base.commit()
        base.close()
    assert changed == 1


def age(data_dir, sid):
    """Lets a stopped server's sandbox have expired long ago."""
    def change(record):
        assert move_back(record), f"no expiry in {sorted(record)}"
    rewrite(data_dir, sid, change)


def move_back(record):
    for key, value in record.items():
        if key in ("expiresAt", "expires_at"):
            record[key] = 1000
            return True
        if isinstance(value, dict) and move_back(value):
            return True
    return False


@pytest.fixture
def keeping():
    """A server that leaves its sandboxes running when it stops, and a proof that nothing stays in the end."""
    server = harness.Server(env={"III_TTL_SWEEP": "0 0 0 1 1 *"}, flags=["--on-shutdown=keep"])
    held = leak.Holdings(server.data_dir)
    server.start()
    yield server
    held.look(server.pid)
    server.flags = []
    if server.proc.poll() is not None:
        server.start()
    held.look(server.pid)
    with harness.Client(server.port) as caller:
        for record in caller.ok("GET", "/sandboxes?pageSize=200")["items"]:
            caller.delete(f"/sandboxes/{record['id']}")
    try:
        server.stop()
        held.assert_nothing_left()
    finally:
        server.remove()


def test_the_sweep_removes_what_has_expired(keeping):
    with harness.Client(keeping.port) as caller:
        old, paused, young = (caller.create()["id"] for _ in range(3))
        caller.ok("POST", f"/sandboxes/{paused}/pause")
        assert caller.ok("POST", "/admin/sweep") == {"swept": 0}
    keeping.stop()
    age(keeping.data_dir, old)
    age(keeping.data_dir, paused)
    keeping.start()
    with harness.Client(keeping.port) as caller:
        swept = caller.ok("POST", "/admin/sweep")["swept"]
        gone = [caller.get(f"/sandboxes/{sid}").status for sid in (old, paused)]
        assert gone == [404, 404] and swept in (0, 2)  # 0: already removed when the server started
        assert caller.exec(young, "echo young")["stdout"] == "young\n"
        assert caller.ok("GET", "/metrics")["totalExpired"] == 2


def test_the_timer_sweeps_too(keeping):
    with harness.Client(keeping.port) as caller:
        sid = caller.create()["id"]
    keeping.stop()
    age(keeping.data_dir, sid)
    keeping.env["III_TTL_SWEEP"] = "*/1 * * * * *"
    keeping.start()
    with harness.Client(keeping.port) as caller:
        harness.wait_until(lambda: caller.get(f"/sandboxes/{sid}").status == 404, "the expired sandbox to go")


def test_kept_sandboxes_go_on(keeping):
    with harness.Client(keeping.port) as caller:
        sid = caller.create(env={"A": "b"}, metadata={"k": "v"})["id"]
        caller.exec(sid, "echo file > /workspace/f; sleep 99951 &")
        caller.ok("POST", f"/sandboxes/{sid}/env", {"vars": {"C": "d"}})
        before = caller.ok("GET", f"/sandboxes/{sid}")
    keeping.stop()
    keeping.start()
    with harness.Client(keeping.port) as caller:
        assert caller.ok("GET", f"/sandboxes/{sid}") == before
        assert caller.exec(sid, "cat /workspace/f; echo $A $C; pgrep -f 'sleep 9995[1]' >/dev/null && echo alive")["stdout"] == "file\nb d\nalive\n"


def test_without_keep_nothing_is_left():
    server = harness.Server()
    try:
        server.start()
        with harness.Client(server.port) as caller:
            sid = caller.create()["id"]
        server.stop()
        server.start()
        with harness.Client(server.port) as caller:
            assert caller.get(f"/sandboxes/{sid}").status == 404
        server.stop()
    finally:
        server.remove()
