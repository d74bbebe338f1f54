"""Snapshots: what was removed comes back, failures leave the sandbox alone, nothing is lost or left behind."""
import concurrent.futures
import http.client
import os
import shutil
import threading

import harness
import pytest


@pytest.fixture(scope="module")
def server():
    with harness.Server(env={"III_MAX_SANDBOXES": "60", "III_MAX_SNAPSHOTS": "12"}) as made:
        yield made


@pytest.fixture
def caller(server):
    with harness.Client(server.port) as made:
        yield made
        for record in made.ok("GET", "/sandboxes?pageSize=200")["items"]:
            for snapshot in made.ok("GET", f"/sandboxes/{record['id']}/snapshots")["snapshots"]:
                made.ok("DELETE", f"/snapshots/{snapshot['id']}")
            made.ok("DELETE", f"/sandboxes/{record['id']}")


def snapshot(caller, sid, **body):
    return caller.ok("POST", f"/sandboxes/{sid}/snapshots", body)


def restore(caller, sid, snap):
    return caller.ok("POST", f"/sandboxes/{sid}/snapshots/restore", {"snapshotId": snap["id"]})


def out(caller, sid, command):
    return caller.exec(sid, command)["stdout"]


def layers(server):
    return sorted((server.data_dir / "images" / "layers").iterdir())


def newest_layer(server, before):
    fresh = [path for path in layers(server) if path not in before]
    assert len(fresh) == 1, fresh
    return fresh[0]


def write(caller, sid, name, size):
    caller.ok("POST", f"/sandboxes/{sid}/files/write", {"path": name, "content": "x" * size})


@harness.needs("layers")
def test_the_size_is_that_of_all_layers(caller):
    sid = caller.create()["id"]
    write(caller, sid, "a", 1000)
    first = snapshot(caller, sid)
    write(caller, sid, "b", 50000)
    second = snapshot(caller, sid)  # counts only what is new, and adds what it knows
    assert second["size"] == first["size"] + 50000
    assert snapshot(caller, sid)["size"] == second["size"]  # nothing is new
    restore(caller, sid, first)
    write(caller, sid, "c", 20)
    third = snapshot(caller, sid)["size"] - first["size"]  # without what was counted above it, with a new box's /etc/hosts where that is one of its files
    assert 20 <= third < 10000
    copy = caller.ok("POST", f"/snapshots/{second['id']}/clone", {})["id"]
    assert 0 <= snapshot(caller, copy)["size"] - second["size"] < 10000  # another sandbox knows nothing yet


def test_a_removed_file_comes_back(caller):
    made = caller.create(name="origin", env={"A": "1"}, metadata={"who": "me"})
    sid = made["id"]
    caller.exec(sid, "echo first > /workspace/f; mkdir -p /workspace/d/e; echo deep > /workspace/d/e/g; chmod 640 /workspace/f")
    caller.ok("POST", f"/sandboxes/{sid}/env", {"vars": {"OVER": "lay"}})
    taken = snapshot(caller, sid, name="before")
    assert taken["id"] == taken["snapshotId"] and taken["id"].startswith("snap_")
    assert taken["name"] == "before" and taken["sandboxId"] == sid and taken["size"] > 0
    assert taken["config"]["env"] == {"A": "1"} and taken["metadata"] == {"who": "me"}
    assert caller.ok("GET", f"/sandboxes/{sid}/snapshots")["snapshots"] == [taken]
    caller.exec(sid, "rm -r /workspace/d /workspace/f; echo later > /workspace/h")
    caller.ok("POST", f"/sandboxes/{sid}/env", {"vars": {"OVER": "changed"}})
    back = restore(caller, sid, taken)
    assert back["id"] == sid and back["status"] == "running" and back["expiresAt"] == made["expiresAt"]
    assert back["image"] == taken["imageId"] and back["config"]["image"] == made["config"]["image"]
    assert out(caller, sid, "cat /workspace/f /workspace/d/e/g; stat -c %a /workspace/f; ls /workspace; echo $OVER $A") == "first\ndeep\n640\nd\nf\nlay 1\n"
    assert out(caller, sid, "hostname").strip() == sid


def test_the_sandbox_goes_on_as_if_nothing_happened(caller):
    sid = caller.create()["id"]
    for number in range(6):
        caller.exec(sid, f"echo {number} >> /workspace/log; echo {number} > /workspace/n{number}; rm -f /workspace/n{number - 1}")
        snapshot(caller, sid, name=f"s{number}")
    assert out(caller, sid, "cat /workspace/log; ls /workspace") == "0\n1\n2\n3\n4\n5\nlog\nn5\n"
    assert out(caller, sid, "echo hi > /dev/null && ls /proc/self/fd > /dev/null && echo x > /tmp/t && cat /tmp/t; mv /workspace/log /workspace/moved; cat /workspace/moved | wc -l") == "x\n6\n"
    third = caller.ok("GET", f"/sandboxes/{sid}/snapshots")["snapshots"][2]
    restore(caller, sid, third)
    assert out(caller, sid, "cat /workspace/log; ls /workspace") == "0\n1\n2\nlog\nn2\n"


def test_processes_with_open_files_keep_them(caller):
    sid = caller.create()["id"]
    job = caller.ok("POST", f"/sandboxes/{sid}/exec/background",
                    {"command": "exec 3>>/workspace/log; echo up >&3; while [ ! -e /workspace/stop ]; do sleep 0.05; done; echo down >&3; cat /workspace/stop"})
    harness.wait_until(lambda: out(caller, sid, "cat /workspace/log 2>/dev/null") == "up\n", "the job to write")
    taken = snapshot(caller, sid)
    caller.exec(sid, "echo end > /workspace/stop")
    harness.wait_until(lambda: not caller.ok("GET", f"/exec/background/{job['id']}/status")["running"], "the job to end")
    assert out(caller, sid, "cat /workspace/log") == "up\ndown\n"
    assert caller.ok("GET", f"/exec/background/{job['id']}/logs")["output"] == "end\n"
    restore(caller, sid, taken)
    assert out(caller, sid, "cat /workspace/log; ls /workspace") == "up\nlog\n"


def test_a_paused_sandbox_stays_paused(caller):
    sid = caller.create()["id"]
    caller.exec(sid, "echo x > /workspace/f")
    caller.ok("POST", f"/sandboxes/{sid}/pause")
    taken = caller.ok("POST", f"/sandboxes/{sid}/snapshot", {"comment": "while paused"})
    assert taken["name"] == "while paused"
    assert caller.ok("GET", f"/sandboxes/{sid}")["status"] == "paused"
    assert restore(caller, sid, taken)["status"] == "running"
    assert out(caller, sid, "cat /workspace/f") == "x\n"


def test_clone_from_a_snapshot_outlives_everything(caller, server):
    sid = caller.create(metadata={"k": "v"})["id"]
    caller.exec(sid, "echo kept > /workspace/f")
    taken = snapshot(caller, sid)
    caller.ok("DELETE", f"/sandboxes/{sid}")
    assert caller.ok("GET", f"/sandboxes/{sid}/snapshots")["snapshots"] == [taken]
    made = caller.ok("POST", f"/snapshots/{taken['id']}/clone", {"name": "copy"})
    assert made["name"] == "copy" and made["parentId"] == sid and made["metadata"] == {"k": "v"}
    assert made["image"] == made["config"]["image"] == taken["imageId"]
    assert caller.ok("DELETE", f"/snapshots/{taken['id']}") == {"deleted": taken["id"]}
    assert caller.post(f"/snapshots/{taken['id']}/clone").status == 404
    assert caller.delete(f"/snapshots/{taken['id']}").status == 404
    assert out(caller, made["id"], "cat /workspace/f") == "kept\n"
    again = snapshot(caller, made["id"])
    restore(caller, made["id"], again)
    assert out(caller, made["id"], "cat /workspace/f") == "kept\n"


@harness.needs("imageStore", "layers")
def test_a_damaged_snapshot_is_refused_and_the_sandbox_kept(caller, server):
    sid = caller.create()["id"]
    caller.exec(sid, "echo good > /workspace/f")
    before = layers(server)
    taken = snapshot(caller, sid)
    layer = newest_layer(server, before)
    job = caller.ok("POST", f"/sandboxes/{sid}/exec/background", {"command": "sleep 99963"})
    harness.wait_until(lambda: checksum_is_there(server, taken["id"]), "the checksum")
    assert restore_works_on_a_copy(caller, taken)
    (layer / "workspace" / "f").write_text("evil\n")
    for path in (f"/sandboxes/{sid}/snapshots/restore", f"/snapshots/{taken['id']}/clone"):
        reply = caller.post(path, {"snapshotId": taken["id"]})
        assert reply.status == 409 and "damaged" in reply.json()["error"], reply
    aside = server.home / "aside"
    shutil.move(layer, aside)
    reply = caller.post(f"/sandboxes/{sid}/snapshots/restore", {"snapshotId": taken["id"]})
    assert reply.status == 409 and "missing" in reply.json()["error"], reply
    shutil.move(aside, layer)
    assert caller.ok("GET", f"/sandboxes/{sid}")["status"] == "running"
    assert caller.ok("GET", f"/exec/background/{job['id']}/status")["running"] is True, "the old box was left alone"
    assert caller.post(f"/sandboxes/{sid}/snapshots/restore", {"snapshotId": "snap_" + "0" * 24}).status == 404
    assert caller.post("/sandboxes/sbx_" + "0" * 24 + "/snapshots/restore", {"snapshotId": taken["id"]}).status == 404


def checksum_is_there(server, snap):
    """From outside it only shows in the store."""
    for path in server.data_dir.glob("*.db*"):
        data = path.read_bytes()
        at = data.find(b'"snapshotId":"' + snap.encode())
        while at >= 0:
            if b'"checksum"' in data[max(at - 6000, 0):at + 6000]:
                return True
            at = data.find(b'"snapshotId":"' + snap.encode(), at + 1)
    return False


def restore_works_on_a_copy(caller, taken):
    made = caller.ok("POST", f"/snapshots/{taken['id']}/clone")
    return out(caller, made["id"], "cat /workspace/f") == "good\n"


@harness.needs("imageStore", "layers")
def test_a_box_that_cannot_be_made_leaves_the_old_one(caller, server):
    """The driver fails: the lowest layer, which no checksum covers, is not a folder any more."""
    sid = caller.create()["id"]
    caller.exec(sid, "echo old > /workspace/f")
    taken = snapshot(caller, sid)
    caller.exec(sid, "echo new > /workspace/f")
    layer = server.data_dir / "parked"
    folders = [path for path in layers(server) if (path / "usr").is_dir() or (path / "bin").is_symlink()]
    assert folders
    os.rename(folders[0], layer)
    folders[0].write_text("a file where the layer was")
    try:
        reply = caller.post(f"/sandboxes/{sid}/snapshots/restore", {"snapshotId": taken["id"]})
        assert reply.status == 500 and reply.error, reply
        assert out(caller, sid, "cat /workspace/f") == "new\n"
    finally:
        folders[0].unlink()
        os.rename(layer, folders[0])
    restore(caller, sid, taken)
    assert out(caller, sid, "cat /workspace/f") == "old\n"


def test_limits_and_unknown_sandboxes(caller):
    assert caller.ok("GET", "/sandboxes/sbx_" + "1" * 24 + "/snapshots") == {"snapshots": []}
    assert caller.post("/sandboxes/sbx_" + "1" * 24 + "/snapshots").status == 404
    sid = caller.create()["id"]
    assert caller.post(f"/sandboxes/{sid}/snapshots", {"name": "x" * 5000}).status == 400
    for _ in range(12):
        last = snapshot(caller, sid)
    reply = caller.post(f"/sandboxes/{sid}/snapshots")
    assert reply.status == 503 and "III_MAX_SNAPSHOTS" in reply.json()["error"]
    caller.ok("DELETE", f"/snapshots/{last['id']}")
    snapshot(caller, sid)


def test_snapshots_at_the_same_time(caller, server):
    sid = caller.create()["id"]
    caller.exec(sid, "echo x > /workspace/f")

    def one(_):
        with harness.Client(server.port) as own:
            return snapshot(own, sid)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(one, range(8)))
    assert len({snap["id"] for snap in taken}) == 8
    for snap in taken[::3]:
        restore(caller, sid, snap)
        assert out(caller, sid, "cat /workspace/f") == "x\n"


def test_events(caller):
    sid = caller.create()["id"]
    taken = snapshot(caller, sid)
    reply = caller.get(f"/events/history?sandboxId={sid}&topic=sandbox.snapshot")
    if reply.status == 404:
        pytest.skip("this build has no event history route")
    assert [e["data"]["snapshotId"] for e in reply.json()["events"]] == [taken["id"]]


def used(folder):
    total = 0
    for base, _, files in os.walk(folder):
        for name in files:
            try:
                total += os.lstat(os.path.join(base, name)).st_blocks * 512
            except FileNotFoundError:
                pass
    return total


@harness.needs("imageStore")
def test_they_survive_restart_and_crash_and_deleting_frees_the_disk():
    server = harness.Server()
    try:
        server.start()
        with harness.Client(server.port) as caller:
            before = used(server.data_dir)
            sid = caller.create()["id"]
            caller.exec(sid, "head -c 20000000 /dev/urandom > /workspace/big; md5sum /workspace/big > /workspace/sum")
            taken = snapshot(caller, sid)
            caller.exec(sid, "rm /workspace/big; echo more > /workspace/more")
        server.kill()
        server.start()
        with harness.Client(server.port) as caller:
            assert out(caller, sid, "cat /workspace/more; ls /workspace") == "more\nmore\nsum\n", "adopted with its layers"
            assert caller.ok("GET", f"/sandboxes/{sid}/snapshots")["snapshots"] == [taken]
            restore(caller, sid, taken)
            assert out(caller, sid, "md5sum -c /workspace/sum") == "/workspace/big: OK\n"
        server.stop()
        server.start()
        with harness.Client(server.port) as caller:
            assert caller.get(f"/sandboxes/{sid}").status == 404
            made = caller.ok("POST", f"/snapshots/{taken['id']}/clone")
            assert out(caller, made["id"], "md5sum -c /workspace/sum") == "/workspace/big: OK\n"
            assert used(server.data_dir) > before + 20000000
            caller.ok("DELETE", f"/snapshots/{taken['id']}")
            assert out(caller, made["id"], "md5sum -c /workspace/sum") == "/workspace/big: OK\n", "still held by the clone"
            caller.ok("DELETE", f"/sandboxes/{made['id']}")
            harness.wait_until(lambda: used(server.data_dir) < before + 15000000, "the disk to be freed")
        server.stop()
    finally:
        server.remove()


@harness.needs("imageStore", "layers")
def test_layers_have_a_limit():
    with harness.Server(env={"III_MAX_LAYERS": "5"}) as server, harness.Client(server.port) as caller:
        sid = caller.create()["id"]
        taken = None
        for number in range(4):
            caller.exec(sid, f"echo {number} > /workspace/f")
            taken = snapshot(caller, sid)
        for path in ("snapshots", "clone", "fork"):
            reply = caller.post(f"/sandboxes/{sid}/{path}")
            assert reply.status == 413 and "III_MAX_LAYERS" in reply.json()["error"], reply
        assert out(caller, sid, "cat /workspace/f") == "3\n"
        first = caller.ok("GET", f"/sandboxes/{sid}/snapshots")["snapshots"][0]
        restore(caller, sid, first)
        snapshot(caller, sid)
        assert taken["size"] > 0


@harness.needs("layers")
def test_many_snapshots_of_one_sandbox(caller):
    """Past 64 layers the sandbox itself gets no deeper: files are copied."""
    sid = caller.create()["id"]
    for number in range(70):
        caller.ok("POST", f"/sandboxes/{sid}/files/write", {"path": f"n{number % 7}", "content": str(number)})
        caller.ok("DELETE", f"/snapshots/{snapshot(caller, sid)['id']}")
    last = snapshot(caller, sid)
    mounts = out(caller, sid, "grep ' / ' /proc/mounts")
    assert mounts.count("lowerdir+=") <= 64
    caller.exec(sid, "rm /workspace/*")
    restore(caller, sid, last)
    assert out(caller, sid, "cd /workspace; for f in *; do cat $f; echo; done") == "63\n64\n65\n66\n67\n68\n69\n"


def test_killed_in_the_middle_of_snapshots():
    """Whatever the moment: what a command had written is there, each snapshot that was answered is whole, more can be taken."""
    server = harness.Server()
    try:
        for round_number in range(3):
            server.start()
            with harness.Client(server.port) as caller:
                if round_number == 0:
                    sid = caller.create()["id"]
                done, stop = [], threading.Event()

                def churn():
                    with harness.Client(server.port) as own:
                        number = 0
                        while not stop.is_set():
                            try:
                                # renamed: a command that is killed half-way may have emptied a file that it writes to
                                own.exec(sid, f"echo {round_number}.{number} > /workspace/new && mv /workspace/new /workspace/f")
                                written[0] = f"{round_number}.{number}"
                                done.append((snapshot(own, sid)["id"], written[0]))
                                number += 1
                            except (http.client.HTTPException, OSError, AssertionError, ValueError):
                                return

                written = [None]
                thread = threading.Thread(target=churn)
                thread.start()
                harness.wait_until(lambda: len(done) >= 3 + round_number, "some snapshots")
                server.kill()
                stop.set()
                thread.join(harness.DEADLINE_S)
            server.start()
            with harness.Client(server.port) as caller:
                major, minor = map(int, out(caller, sid, "cat /workspace/f").strip().split("."))
                assert (major, minor) >= tuple(map(int, written[0].split(".")))
                last, text = done[-1]
                fresh = snapshot(caller, sid)
                assert caller.ok("POST", f"/sandboxes/{sid}/snapshots/restore", {"snapshotId": last})["id"] == sid
                assert out(caller, sid, "cat /workspace/f") == text + "\n"
                restore(caller, sid, fresh)
                assert out(caller, sid, "cat /workspace/f") == f"{major}.{minor}\n"
            server.kill()
        server.start()
        server.stop()
    finally:
        server.remove()
