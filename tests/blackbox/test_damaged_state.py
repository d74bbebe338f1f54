"""A damaged state.db: it is kept aside and said so, what can be read is used, running sandboxes are found again."""
import glob
import os

import pytest

import harness
import leak

JUNK = b"\xee" * 4096


def overwrite(path, offset, data):
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(data)


def damage_header(db):
    overwrite(db, 0, JUNK[:100])


def damage_first_page(db):
    overwrite(db, 0, JUNK)


def damage_index_page(db):
    """Page 3 is the index of scopes and keys: all rows are still there."""
    overwrite(db, 2 * 4096, JUNK)


def cut_off(db):
    os.truncate(db, os.path.getsize(db) - 4096)


@pytest.fixture
def server():
    with leak.watched(harness.Server()) as made:
        yield made


def settle(server):
    """Stops the server and leaves its sandboxes, with everything in state.db itself."""
    server.kill()
    server.flags = ["--on-shutdown=keep"]
    server.start()
    server.stop()
    assert not (server.data_dir / "state.db-wal").exists()


def kept_aside(server):
    return [name for name in glob.glob(str(server.data_dir / "state.db.corrupt-*")) if not name.endswith(("-wal", "-shm"))]


@pytest.mark.parametrize("damage", [damage_header, damage_first_page, damage_index_page, cut_off])
def test_sandboxes_are_found_again(server, damage):
    with harness.Client(server.port) as caller:
        assert caller.ok("GET", "/health") == {"status": "healthy"}
        sids = [caller.create(name=f"d{i}", env={"N": str(i)})["id"] for i in range(3)]
        job = caller.ok("POST", f"/sandboxes/{sids[0]}/exec/background", {"command": "echo logged; sleep 99981"})
        for number in range(120):  # events and traces, so that there are pages behind those of the sandboxes
            caller.exec(sids[number % 3], f"echo {number} >> /workspace/f")
    settle(server)
    db = server.data_dir / "state.db"
    damage(db)
    bytes_before = db.read_bytes()
    server.flags = []
    server.start()
    [aside] = kept_aside(server)
    assert open(aside, "rb").read() == bytes_before, "what was kept aside is as it was found"
    assert "store.damaged" in server.log() and os.path.basename(aside) in server.log()
    with harness.Client(server.port) as caller:
        [problem] = caller.ok("GET", "/health")["problems"]
        assert os.path.basename(aside) in problem and str(server.data_dir) not in problem
        assert {r["id"] for r in caller.ok("GET", "/sandboxes")["items"]} == set(sids)
        for number, sid in enumerate(sids):
            assert caller.exec(sid, "echo $N; wc -l < /workspace/f")["stdout"] == f"{number}\n40\n"
        assert caller.ok("GET", f"/exec/background/{job['id']}/logs")["output"] == "logged\n"
        assert caller.ok("GET", f"/exec/background/{job['id']}/status")["running"] is True
        caller.create()
    checks = harness.run_cli("doctor", "--json", env={"III_DATA_DIR": server.data_dir}).stdout
    assert os.path.basename(aside) in checks
    settle(server)  # the new one is whole: a second start has nothing to say
    server.flags = []
    server.start()
    assert len(kept_aside(server)) == 1
    with harness.Client(server.port) as caller:
        assert caller.ok("GET", "/health") == {"status": "healthy"}
        assert len(caller.ok("GET", "/sandboxes")["items"]) == 4


def test_no_database_at_all(server):
    """Nothing can be read: the server starts empty, and what nobody knows any more is removed, not leaked."""
    with harness.Client(server.port) as caller:
        caller.create()
    settle(server)
    (server.data_dir / "state.db").write_bytes(b"this is no database " * 1000)
    server.flags = []
    server.start()
    [aside] = kept_aside(server)
    assert os.path.getsize(aside) == 20000
    with harness.Client(server.port) as caller:
        assert "0 documents" in caller.ok("GET", "/health")["problems"][0]
        assert caller.ok("GET", "/sandboxes")["total"] == 0
        sid = caller.create()["id"]
        assert caller.exec(sid, "echo up")["stdout"] == "up\n"


def test_a_damaged_log_of_writes(server):
    """Garbage in the write-ahead log behind whole transactions is what every crash leaves: it is passed over."""
    with harness.Client(server.port) as caller:
        sid = caller.create()["id"]
    server.kill()
    with open(server.data_dir / "state.db-wal", "ab") as wal:
        wal.write(JUNK)
    server.start()
    with harness.Client(server.port) as caller:
        assert caller.exec(sid, "echo up")["stdout"] == "up\n"
    assert kept_aside(server) == []
    server.kill()
    overwrite(server.data_dir / "state.db-wal", 0, JUNK[:32])  # its head: all of it is unreadable
    server.start()
    with harness.Client(server.port) as caller:
        assert "kept as state.db.corrupt-" in caller.ok("GET", "/health")["problems"][0]
        assert caller.create()["status"] == "running"


def test_a_damaged_state_is_not_taken_over(server):
    with harness.Client(server.port) as caller:
        sid = caller.create()["id"]
        for number in range(40):
            caller.exec(sid, f"echo {number} >> /workspace/f")
    settle(server)
    server.flags = []
    server.start()
    damage_index_page(server.data_dir / "state.db")
    said = server.takeover()
    assert "damaged" in said and "continues" in said
    with harness.Client(server.port) as caller:
        assert caller.exec(sid, "echo up")["stdout"] == "up\n"
    server.kill()
    server.start()  # adopts, so that the sandbox can be ended in order
