"""A machine's drive is a file that grows as it is written. When the host has no room for it the machine stands still, and goes on when there is:
an error of its drive would cost it its files."""
import time

import pytest

import harness
import owndisk

pytestmark = pytest.mark.skipif(harness.BACKEND != "qemu", reason="about virtual machines: III_TEST_BACKEND=qemu")
ROOM_MB = 96
WRITE = "dd if=/dev/zero of=/workspace/big bs=1M count=64 conv=fsync 2>/dev/null && echo whole > /workspace/done; cat /workspace/done"


def test_a_full_disk_of_the_host_makes_machines_wait():
    server = harness.Server(env={"III_DISK_RESERVE_MB": "0"})
    image = server.home / "small.img"
    owndisk.place(server, f'mkfs.ext4 -q -O ^has_journal {image} {ROOM_MB + owndisk.KEPT_MB}M && mount -o loop {image} "$0" && rm {image}')
    try:
        server.start()
        with harness.Client(server.port) as client:
            sid, other = client.create()["id"], client.create()["id"]
            filler = owndisk.folder_of(server) / "filler"
            with open(filler, "wb") as file:
                file.write(bytes(owndisk.free_mb(server) - 24 << 20))
            job = client.ok("POST", f"/sandboxes/{sid}/exec/background", {"command": WRITE})
            harness.wait_until(lambda: owndisk.free_mb(server) == 0, "the disk to be full")
            filler.unlink()
            done = lambda: client.ok("GET", f"/exec/background/{job['id']}/status")["running"] is False  # noqa: E731
            harness.wait_until(done, "the machine to go on")
            assert client.exec(sid, "cat /workspace/done; wc -c < /workspace/big")["stdout"].split() == ["whole", str(64 << 20)]
            assert client.exec(sid, "touch /workspace/more && echo writable")["stdout"] == "writable\n"
            assert client.exec(other, "echo well")["stdout"] == "well\n"
            late = abs(float(client.exec(sid, "date +%s.%N")["stdout"]) - time.time())
            assert late < 5, f"its clock is {late} s late"
        server.stop()
    finally:
        server.remove()
