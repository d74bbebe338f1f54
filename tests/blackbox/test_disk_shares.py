"""The disk of the data folder between tenants: who fills it is stopped, and nobody else. A small file system in the place of the host's."""
import contextlib

import pytest

import harness
import owndisk
from owndisk import free_mb

pytestmark = [pytest.mark.skipif(not harness.IS_ROOT, reason="mounts a small file system"), harness.needs("diskWatch", "limitDisk")]
TOKEN = "root-secret"
RESERVE_MB = 24
COUNTED_S = harness.DEADLINE_S * 8  # rounds of counting are a tenth of the time: after one that took long on a busy host comes a long pause


@contextlib.contextmanager
def on_disk(size_mb, **env):
    server = harness.Server(env={"III_AUTH_TOKEN": TOKEN, "III_DISK_RESERVE_MB": str(RESERVE_MB), "III_BLANK_POOL": "2", **env}, token=TOKEN)
    image = server.home / "small.img"
    owndisk.place(server, f'mkfs.ext4 -q -O ^has_journal {image} {size_mb + owndisk.KEPT_MB}M && mount -o loop {image} "$0" && rm {image}')
    try:
        server.start()
        yield server
        server.stop()
    finally:
        server.remove()


def of_tenant(server, name, **fields):
    made = server.client().ok("POST", "/tokens", {"name": f"of {name}", "tenant": name, **fields})
    return server.client(made["secret"])


@harness.needs("volume")
def test_a_volume_is_no_way_around_the_limit_and_the_neighbour_stays():
    with on_disk(600) as server:
        bad, good = of_tenant(server, "bad"), of_tenant(server, "good")
        neighbour = good.create()["id"]
        good.exec(neighbour, "head -c 20000000 /dev/zero > /workspace/mine; sync")
        box, volume = bad.create(diskMb=32)["id"], bad.ok("POST", "/volumes", {"name": "v"})
        bad.ok("POST", f"/volumes/{volume['id']}/attach", {"sandboxId": box, "mountPath": "/data"})
        before = free_mb(server)
        full = bad.exec(box, "dd if=/dev/zero of=/data/big bs=1M 2>&1; dd if=/dev/zero of=/workspace/big bs=1M 2>&1; sync")["stdout"]
        assert full.count("No space left") == 2, full
        assert before - free_mb(server) <= volume["sizeMb"] + 32 + 16, "both have a limit"
        assert free_mb(server) > 300, "an eighth of the disk for a volume"
        assert good.exec(neighbour, "wc -c < /workspace/mine")["stdout"].strip() == "20000000"
        assert bad.ok("GET", f"/sandboxes/{box}")["status"] == "running"
        good.ok("DELETE", f"/sandboxes/{good.create()['id']}")
        harness.wait_until(lambda: bad.ok("GET", "/metrics")["usage"]["diskMb"] >= volume["sizeMb"] // 2, "the volume to be counted", COUNTED_S)
        assert 'iii_tenant_disk_bytes{tenant="bad"}' in server.client(prefix="").get("/metrics").body.decode()
        bad.ok("DELETE", f"/sandboxes/{box}")
        bad.ok("DELETE", f"/volumes/{volume['id']}")
        good.ok("DELETE", f"/sandboxes/{neighbour}")


def test_the_tenant_that_grew_most_is_stopped_not_the_largest_sandbox():
    with on_disk(280, III_SHARED_DISK_MB="0") as server:
        bad, good = of_tenant(server, "bad"), of_tenant(server, "good")
        neighbour = good.create()["id"]
        good.exec(neighbour, "head -c 60000000 /dev/zero > /workspace/mine; sync")
        boxes = [bad.create()["id"] for _ in range(3)]
        for box in boxes:  # each less than the neighbour has
            bad.exec(box, "head -c 30000000 /dev/zero > /workspace/first; sync")
        bad.ok("POST", f"/sandboxes/{boxes[0]}/exec/background", {"command": "dd if=/dev/zero of=/workspace/more bs=1M; sleep 600"})
        harness.wait_until(lambda: bad.get(f"/sandboxes/{boxes[0]}").status == 404, "the one that grew to be ended", COUNTED_S)
        harness.wait_until(lambda: free_mb(server) > RESERVE_MB, "the space to come back")
        assert good.exec(neighbour, "wc -c < /workspace/mine")["stdout"].strip() == "60000000"
        good.ok("DELETE", f"/sandboxes/{good.create()['id']}")
        for caller, box in ((good, neighbour), (bad, boxes[1]), (bad, boxes[2])):
            caller.ok("DELETE", f"/sandboxes/{box}")


def test_a_sandbox_without_a_disk_has_a_limit():
    with on_disk(400, III_SHARED_DISK_MB="32") as server:
        caller = server.client()
        small, big, deep = (caller.create()["id"] for _ in range(3))
        caller.ok("POST", f"/sandboxes/{deep}/files/mkdir", {"paths": ["a/" * 2000 + "a"]})  # as deep as a path leads
        caller.exec(small, "head -c 20000000 /dev/zero > /workspace/mine; sync")
        caller.ok("POST", f"/sandboxes/{big}/exec/background", {"command": "head -c 90000000 /dev/zero > /workspace/mine; sleep 600"})
        harness.wait_until(lambda: caller.get(f"/sandboxes/{big}").status == 404, "the one past the limit to be ended", COUNTED_S)
        events = caller.ok("GET", f"/events/history?sandboxId={big}")["events"]
        assert any("III_SHARED_DISK_MB" in e["data"].get("error", "") and "32 MB" in e["data"]["error"] for e in events), events
        assert caller.exec(small, "wc -c < /workspace/mine")["stdout"].strip() == "20000000"
        for box in (small, deep):
            caller.ok("DELETE", f"/sandboxes/{box}")


def test_a_tenant_past_its_disk_quota_makes_nothing_more():
    with on_disk(400) as server:
        user, other = of_tenant(server, "user", quota={"diskMb": 30}), of_tenant(server, "other")
        box = user.create(diskMb=64)["id"]
        user.exec(box, "head -c 40000000 /dev/urandom > /workspace/mine; sync")
        harness.wait_until(lambda: user.ok("GET", "/metrics")["usage"]["diskMb"] >= 38, "it to be counted", COUNTED_S)
        for path, body in (("/sandboxes", {"image": "shell"}), ("/volumes", {"name": "v"}), (f"/sandboxes/{box}/snapshots", {})):
            reply = user.post(path, body)
            assert reply.status == 429 and "quota diskMb" in reply.error and "limit is 30" in reply.error, (path, reply)
        other.ok("DELETE", f"/sandboxes/{other.create()['id']}")
        user.ok("DELETE", f"/sandboxes/{box}")
        user.ok("DELETE", f"/sandboxes/{user.create()['id']}")
