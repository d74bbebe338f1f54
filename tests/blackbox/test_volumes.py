"""Volumes: folders mounted into running sandboxes that outlive them."""
import pytest

import harness
import leak
import test_rootless

pytestmark = harness.needs("volume")

SERVER_ENV = {"III_MAX_VOLUMES": "12", "III_MAX_SANDBOX_VOLUMES": "3"}


@pytest.fixture
def new_volume(server):
    """Makes volumes that are detached and deleted after the test."""
    made, caller = [], server.client()

    def create(name="data", **more):
        record = caller.ok("POST", "/volumes", {"name": name, **more})
        made.append(record["id"])
        return record["id"]

    yield create
    for vid in made:
        caller.post(f"/volumes/{vid}/detach")
        assert caller.delete(f"/volumes/{vid}").status in (200, 404)
    caller.close()


def attach(client, vid, sid, path="/data", **more):
    return client.post(f"/volumes/{vid}/attach", {"sandboxId": sid, "mountPath": path, **more})


def listed(client, vid):
    return next(v for v in client.ok("GET", "/volumes")["volumes"] if v["id"] == vid)


def test_the_record(client, new_volume):
    other = client.ok("POST", "/volumes", {"name": "other", "driver": "nfs"})
    assert other["warnings"] == ['driver: "nfs" is not known; the only one is local']
    client.ok("DELETE", f"/volumes/{other['id']}")
    record = client.ok("POST", "/volumes", {"name": "first", "driver": "local"})
    assert record["id"].startswith("vol_") and record["name"] == "first" and record["dockerVolumeName"] == "iii-vol-" + record["id"]
    assert isinstance(record["createdAt"], int) and "sandboxId" not in record
    assert listed(client, record["id"]) == record
    assert client.ok("DELETE", f"/volumes/{record['id']}") == {"deleted": record["id"]}
    assert client.delete(f"/volumes/{record['id']}").status == 404
    assert client.post("/volumes", {}).status == 400


def test_data_survives_detach_and_the_sandbox(client, new_sandbox, new_volume):
    vid, first = new_volume(), new_sandbox()["id"]
    reply = attach(client, vid, first, "/data/deep/er")
    assert reply.status == 200 and reply.json() == {"attached": True, "mountPath": "/data/deep/er"}
    record = listed(client, vid)
    assert record["sandboxId"] == first and record["mountPath"] == "/data/deep/er"
    assert client.exec(first, "echo kept > /data/deep/er/file && chown 7:7 /data/deep/er/file && stat -c %u:%g /data/deep/er/file")["stdout"] == "7:7\n"
    assert client.ok("POST", f"/volumes/{vid}/detach") == {"detached": True}
    assert client.exec(first, "ls /data/deep/er")["stdout"] == ""
    assert attach(client, vid, first, "/again").status == 200
    assert client.exec(first, "cat /again/file")["stdout"] == "kept\n"
    client.ok("DELETE", f"/sandboxes/{first}")
    assert "sandboxId" not in listed(client, vid)
    second = new_sandbox()["id"]
    assert attach(client, vid, second).status == 200
    assert client.exec(second, "cat /data/file; stat -c %u:%g /data/file")["stdout"] == "kept\n7:7\n"


def test_a_running_process_sees_it_come_and_go(client, new_sandbox, new_volume):
    vid, sid = new_volume(), new_sandbox()["id"]
    job = client.ok("POST", f"/sandboxes/{sid}/exec/background", {
        "command": "while [ ! -d /data/go ]; do sleep 0.01; done; echo came; while [ -d /data/go ]; do sleep 0.01; done; echo went"})
    assert attach(client, vid, sid).status == 200
    client.exec(sid, "mkdir /data/go")
    harness.wait_until(lambda: client.ok("GET", f"/exec/background/{job['id']}/logs")["output"] == "came\n", "the process to see the volume")
    client.ok("POST", f"/volumes/{vid}/detach")
    harness.wait_until(lambda: client.ok("GET", f"/exec/background/{job['id']}/logs")["output"] == "came\nwent\n", "the process to miss the volume")


def test_read_only(client, new_sandbox, new_volume):
    vid, sid = new_volume(), new_sandbox()["id"]
    assert attach(client, vid, sid, readOnly=True).status == 200
    assert client.exec(sid, "touch /data/x")["exitCode"] != 0


def test_no_privilege_through_a_volume(client, new_sandbox, new_volume):
    vid, sid = new_volume(), new_sandbox()["id"]
    assert attach(client, vid, sid).status == 200
    options = client.exec(sid, "grep ' /data ' /proc/mounts")["stdout"]
    assert "nosuid" in options and "nodev" in options
    assert client.exec(sid, "umount /data || umount -l /data")["exitCode"] != 0
    assert client.exec(sid, "mknod /data/null c 1 3")["exitCode"] != 0


def test_conflicts(client, new_sandbox, new_volume):
    vid, other, sid, second = new_volume(), new_volume(), new_sandbox()["id"], new_sandbox()["id"]
    assert client.post(f"/volumes/{vid}/detach").status == 409
    assert attach(client, vid, sid).status == 200
    for where in (sid, second):
        reply = attach(client, vid, where, "/elsewhere")
        assert reply.status == 409 and sid in reply.error
    assert client.delete(f"/volumes/{vid}").status == 409
    reply = attach(client, other, sid, "/data")
    assert reply.status == 409 and "/data" in reply.error
    assert attach(client, other, sid, "/data/below").status == 409
    client.ok("POST", f"/sandboxes/{second}/pause")
    assert attach(client, other, second).status == 409
    client.ok("POST", f"/sandboxes/{second}/resume")


def test_unknown_ones(client, new_volume, sandbox):
    vid = new_volume()
    assert attach(client, vid, harness.UNKNOWN).status == 404
    assert attach(client, "vol_" + "0" * 24, sandbox).status == 404
    assert client.post(f"/volumes/vol_{'0' * 24}/detach").status == 404


@pytest.mark.parametrize("path", ["relative", "/", "//", "/a/../b", "/a/./b", "/proc", "/proc/sys", "/dev/shm", "/sys/x", "/" + "n" * 256, "/" + "a/" * 600])
def test_places_that_cannot_be_mounted_on(client, new_volume, box, path):
    reply = attach(client, new_volume(), box, path)
    assert reply.status == 400 and "mountPath" in reply.error


def test_links_and_files_are_refused(client, new_volume, sandbox):
    vid = new_volume()
    client.exec(sandbox, "ln -s /etc /link; mkdir /d; ln -s ../etc /d/link; touch /file; ln -s /proc/1/root /root-link")
    for path in ("/link", "/link/x", "/d/link", "/root-link/tmp", "/file", "/file/x"):
        reply = attach(client, vid, sandbox, path)
        assert reply.status == 400 and path in reply.error, (path, reply)
    assert "backend" not in listed(client, vid)  # nowhere yet: it may begin on any
    assert attach(client, vid, sandbox, "/d/real/").status == 200
    assert "backend" in listed(client, vid)
    assert client.exec(sandbox, "grep -c ' /d/real ' /proc/mounts")["stdout"] == "1\n"


def test_a_swapped_link_never_leads_out(client, new_volume, sandbox):
    """A process swaps a folder and a link under the target all the time: the volume lands beneath the root or is refused."""
    vid = new_volume()
    client.ok("POST", f"/sandboxes/{sandbox}/exec/background", {
        "command": "mkdir -p /swap/a /swap/real; cd /swap; while :; do mv -T a real2 2>/dev/null; ln -sfn /usr a; rm -f a; mv -T real2 a 2>/dev/null; done"})
    for _ in range(40):
        reply = attach(client, vid, sandbox, "/swap/a/target")
        assert reply.status in (200, 400, 409, 500), reply
        if reply.status == 200:
            places = client.exec(sandbox, f"grep {vid} /proc/self/mountinfo | cut -d' ' -f5")["stdout"].split()
            assert all(p.startswith("/swap/") for p in places), places
            client.ok("POST", f"/volumes/{vid}/detach")


def test_limits(client, new_volume, sandbox):
    volumes = [new_volume() for _ in range(4)]
    for number, vid in enumerate(volumes[:3]):
        assert attach(client, vid, sandbox, f"/v{number}").status == 200
    reply = attach(client, volumes[3], sandbox, "/v3")
    assert reply.status == 503 and "III_MAX_SANDBOX_VOLUMES" in reply.error
    while len(client.ok("GET", "/volumes")["volumes"]) < 12:
        new_volume()
    reply = client.post("/volumes", {"name": "one too many"})
    assert reply.status == 503 and "III_MAX_VOLUMES" in reply.error


def test_kept_over_a_crash_of_the_server():
    with leak.watched(harness.Server()) as server:
        with harness.Client(server.port) as caller:
            sid = caller.create()["id"]
            vid = caller.ok("POST", "/volumes", {"name": "v"})["id"]
            assert attach(caller, vid, sid).status == 200
            caller.exec(sid, "echo kept > /data/f")
            before = listed(caller, vid)
        server.held.look(server.pid)
        server.kill()
        server.start()
        with harness.Client(server.port) as caller:
            assert listed(caller, vid) == before
            assert caller.exec(sid, "cat /data/f; grep -c ' /data ' /proc/mounts")["stdout"] == "kept\n1\n"
            assert caller.delete(f"/volumes/{vid}").status == 409
            caller.ok("POST", f"/volumes/{vid}/detach")
            assert caller.ok("DELETE", f"/volumes/{vid}") == {"deleted": vid}
            assert attach(caller, vid, sid).status == 404
        assert not list((server.data_dir / "volumes").iterdir())


def test_in_its_place_again_after_a_restore(client, new_volume, sandbox):
    vid = new_volume()
    snapshot = client.ok("POST", f"/sandboxes/{sandbox}/snapshots", {"name": "before"})
    assert attach(client, vid, sandbox).status == 200
    client.exec(sandbox, "echo kept > /data/f; touch /workspace/after")
    client.ok("POST", f"/sandboxes/{sandbox}/snapshots/restore", {"snapshotId": snapshot["id"]})
    harness.wait_until(lambda: client.exec(sandbox, "cat /data/f")["stdout"] == "kept\n", "the volume to be mounted again")
    assert client.exec(sandbox, "ls /workspace/after")["exitCode"] != 0
    client.ok("POST", f"/volumes/{vid}/detach")
    assert client.exec(sandbox, "ls /data")["stdout"] == ""


@harness.needs("limitDisk")
def test_a_volume_has_a_size(client, server, new_sandbox, new_volume):
    """Also where the sandbox has a disk of its own: a volume is no way around diskMb."""
    vid, sid = new_volume(sizeMb=24), new_sandbox(diskMb=32)["id"]
    assert listed(client, vid)["sizeMb"] == 24
    assert attach(client, vid, sid).status == 200
    assert client.exec(sid, "ls -A /data")["stdout"] == ""
    over = client.exec(sid, "dd if=/dev/zero of=/data/big bs=1M count=64 2>&1; sync; stat -c %s /data/big")
    assert "No space left" in over["stdout"] and 12 << 20 < int(over["stdout"].split()[-1]) <= 24 << 20, over
    files = client.exec(sid, "rm /data/big; i=0; while true > /data/$i; do i=$((i+1)); done 2>/dev/null; echo $i")
    assert int(files["stdout"]) <= 24 * 64, "files of no size are limited, too"
    client.ok("POST", f"/volumes/{vid}/detach")
    other = new_sandbox()["id"]
    assert attach(client, vid, other, readOnly=True).status == 200
    assert client.exec(other, "ls /data | wc -l; touch /data/no; mount | grep -c /data")["stdout"].split()[0] == files["stdout"].strip()


@harness.needs("limitDisk")
def test_sizes_that_are_refused(client):
    for size, word in ((15, "sizeMb"), (0, "sizeMb"), (16777217, "sizeMb"), ("big", "sizeMb"), (16777216, "III_MAX_DISK")):
        reply = client.post("/volumes", {"name": "v", "sizeMb": size})
        assert reply.status == 400 and word in reply.error, (size, reply)


@harness.needs("limitDisk")
def test_a_volume_that_is_still_open_elsewhere_is_not_destroyed(client, new_sandbox, new_volume):
    """Detaching leaves open files usable: the next attach shares the file system instead of mounting its disk a second time."""
    vid, first, second = new_volume(), new_sandbox()["id"], new_sandbox()["id"]
    assert attach(client, vid, first).status == 200
    client.ok("POST", f"/sandboxes/{first}/exec/background", {"command": "exec 3>>/data/held; while :; do echo x >&3; sleep 0.01; done"})
    harness.wait_until(lambda: client.exec(first, "wc -l < /data/held")["stdout"].strip() not in ("", "0"), "the file to be open")
    client.ok("POST", f"/volumes/{vid}/detach")
    assert attach(client, vid, second).status == 200
    have = int(client.exec(second, "wc -l < /data/held")["stdout"])
    harness.wait_until(lambda: int(client.exec(second, "wc -l < /data/held")["stdout"]) > have, "both to see one file system")
    client.exec(second, "echo mine > /data/mine; sync")
    client.ok("DELETE", f"/sandboxes/{first}")
    client.ok("POST", f"/volumes/{vid}/detach")
    assert attach(client, vid, second, "/again").status == 200
    assert client.exec(second, "cat /again/mine")["stdout"] == "mine\n"


@pytest.mark.skipif(bool(test_rootless.WHY_NOT), reason=test_rootless.WHY_NOT or "runs")
@pytest.mark.skipif(harness.BACKEND != "native", reason="root fills the data folder for the tests of other backends")
def test_as_an_ordinary_user():
    with harness.Server(user=test_rootless.USER) as server, harness.Client(server.port) as caller:
        sid, vid = caller.create()["id"], caller.ok("POST", "/volumes", {"name": "v"})["id"]
        sized = caller.post("/volumes", {"name": "v", "sizeMb": 32})
        assert sized.status == 501 and "sizeMb" in sized.error and "root" in sized.error, sized
        assert attach(caller, vid, sid, "/data/deep").status == 200
        assert caller.exec(sid, "echo kept > /data/deep/f; stat -c %u /data/deep/f")["stdout"] == "0\n"
        caller.ok("POST", f"/volumes/{vid}/detach")
        assert caller.exec(sid, "ls /data/deep")["stdout"] == ""
        assert attach(caller, vid, sid, "/two").status == 200
        assert caller.exec(sid, "cat /two/f")["stdout"] == "kept\n"
        caller.ok("DELETE", f"/sandboxes/{sid}")
        assert caller.ok("DELETE", f"/volumes/{vid}") == {"deleted": vid}
