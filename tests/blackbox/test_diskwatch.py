"""Sandboxes without a disk of their own share the data folder's file system, here a small one: who fills it is ended, the others and the server
go on, and below the reserve nothing is taken in."""
import contextlib
import os

import pytest

import harness
import owndisk
from owndisk import folder_of, free_mb

pytestmark = [pytest.mark.skipif(not harness.IS_ROOT, reason="mounts a small file system"), harness.needs("diskWatch")]
RESERVE_MB = 24
ROOM_MB = 160
SIZE_MB = ROOM_MB + owndisk.KEPT_MB
DELETED = "import os,time\nf=open('/workspace/x','wb',buffering=0)\nos.unlink('/workspace/x')\ntry:\n  while True: f.write(bytes(1<<20))\nexcept OSError: time.sleep(600)"
FILLERS = {
    "plain": "dd if=/dev/zero of=/workspace/big bs=1M; sleep 600",
    "deleted": ["python3", "-c", DELETED],
    "many": "i=0; while :; do mkdir -p /tmp/$i; dd if=/dev/zero of=/tmp/$i/f bs=1M count=4 2>/dev/null; i=$((i+1)); done",
}


@contextlib.contextmanager
def on_small_disk():
    """An ext4 as hosts have it would do as well: what is counted are blocks of files."""
    server = harness.Server(env={"III_DISK_RESERVE_MB": str(RESERVE_MB), "III_BLANK_POOL": "2", "III_SHARED_DISK_MB": "0"})
    image = server.home / "small.img"
    owndisk.place(server, f'mkfs.ext4 -q -O ^has_journal {image} {SIZE_MB}M && mount -o loop {image} "$0" && rm {image}')
    try:
        server.start()
        yield server
        server.stop()
    finally:
        server.remove()


def test_who_fills_the_shared_disk_is_ended_and_the_others_go_on():
    with on_small_disk() as server, harness.Client(server.port) as client:
        good = client.create()["id"]
        client.exec(good, "head -c 2000000 /dev/zero > /workspace/mine")
        own = client.create(diskMb=16)["id"]
        for name, command in FILLERS.items():
            bad = client.create()["id"]
            client.ok("POST", f"/sandboxes/{bad}/exec/background", {"command": command})
            harness.wait_until(lambda bad=bad: client.get(f"/sandboxes/{bad}").status == 404, f"the filler ({name}) to be ended")
            harness.wait_until(lambda: free_mb(server) > ROOM_MB // 2, "the space to come back")
            events = client.ok("GET", f"/events/history?sandboxId={bad}")["events"]
            why = [e["data"]["error"] for e in events if e["topic"] == "sandbox.error" and "error" in e["data"]]
            assert len(why) == 1 and "diskMb" in why[0] and f"{RESERVE_MB} MB" in why[0], events
            assert client.exec(good, "wc -c < /workspace/mine")["stdout"].strip() == "2000000"
            assert client.ok("GET", f"/sandboxes/{own}")["status"] == "running"
        for sid in (good, own):
            client.ok("DELETE", f"/sandboxes/{sid}")


def test_below_the_reserve_nothing_is_uploaded_and_nobody_is_ended_for_what_others_took():
    with on_small_disk() as server, harness.Client(server.port) as client:
        shared, own = client.create()["id"], client.create(diskMb=16)["id"]
        client.ok("POST", f"/sandboxes/{shared}/files/write", {"path": "f", "content": "eA=="})
        client.ok("POST", f"/sandboxes/{own}/files/write", {"path": "f", "content": "x"})
        filler = folder_of(server) / "filler"
        with open(filler, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, (free_mb(server) - RESERVE_MB // 2) << 20)
        for call in ("write", "upload"):
            reply = client.post(f"/sandboxes/{shared}/files/{call}", {"path": "f", "content": "eA=="})
            assert reply.status == 507 and "III_DISK_RESERVE_MB" in reply.error, reply
        client.ok("POST", f"/sandboxes/{own}/files/write", {"path": "f", "content": "y"})
        harness.wait_until(lambda: "disk.low" in server.log(), "the server to say so")
        assert client.ok("GET", f"/sandboxes/{shared}/metrics")["diskUsageMb"] >= 0
        filler.unlink()
        harness.wait_until(lambda: client.post(f"/sandboxes/{shared}/files/write", {"path": "f", "content": "x"}).status == 200, "uploads again")
        for sid in (shared, own):
            client.ok("DELETE", f"/sandboxes/{sid}")
