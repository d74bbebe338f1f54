"""Races (checklist 4): names swapped under the runtime's hands. III_ESCAPE_CYCLES asks for more of them."""
import os

import pytest

import harness

IN_MACHINE = harness.BACKEND == "qemu"  # where a volume is a drive that comes and goes: seconds for each
CYCLES = int(os.environ.get("III_ESCAPE_CYCLES") or (20 if IN_MACHINE else 60 if harness.IS_SANITIZED else 200))

# Two threads exchange names atomically, as fast as they can: a folder and a link, each under the volume's target and under the file calls.
SWAP = r"""
import ctypes, os, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
bait = sys.argv[1].encode()
def swap(a, b):
    while True:
        libc.renameat2(-100, a, -100, b, 2)
for base in (b"/swap", b"/workspace/swap"):
    os.makedirs(base + b"/a/target", exist_ok=True)
    os.makedirs(base + b"/b", exist_ok=True)
    os.symlink(bait, base + b"/link")
    os.symlink(b"/proc/1/root" + bait, base + b"/b/target")
for a, b in ((b"/swap/a", b"/swap/link"), (b"/workspace/swap/a", b"/workspace/swap/link"), (b"/swap/b/target", b"/swap/a/target")):
    threading.Thread(target=swap, args=(a, b), daemon=True).start()
print("READY", flush=True)
threading.Event().wait()
"""


def start_swapping(client, sid, bait):
    job = client.ok("POST", f"/sandboxes/{sid}/exec/background", {"command": ["python3", "-c", SWAP, str(bait.folder)]})
    harness.wait_until(lambda: "READY" in client.ok("GET", f"/exec/background/{job['id']}/logs")["output"], "the swapping")


def mount_points(client, sid, vid):
    found = client.exec(sid, f"grep {'/dev/sd' if IN_MACHINE else vid} /proc/self/mountinfo | cut -d' ' -f5")["stdout"].split()
    assert found or not IN_MACHINE
    return found


def test_volumes_land_inside_whatever_is_swapped(client, new_sandbox, bait):
    """Every tenth cycle also makes and removes a sandbox; each one runs a command and writes and reads a file."""
    sid = new_sandbox()["id"]
    vid = client.ok("POST", "/volumes", {"name": "raced"})["id"]
    start_swapping(client, sid, bait)
    landed = 0
    for cycle in range(CYCLES):
        target = ("/swap/a/target", "/swap/b/target", "/swap/a")[cycle % 3]
        reply = client.post(f"/volumes/{vid}/attach", {"sandboxId": sid, "mountPath": target})
        assert reply.status in (200, 400, 404, 409, 500), reply
        if reply.status == 200:
            landed += 1
            assert all(p.startswith("/swap/") for p in mount_points(client, sid, vid))
            client.exec(sid, "echo written > /swap/a/target/f; echo written > /swap/a/f; true")
            client.ok("POST", f"/volumes/{vid}/detach")
        said = client.post(f"/sandboxes/{sid}/files/write", {"path": "swap/a/new", "content": "written"})
        assert said.status in (200, 400, 404, 409, 500), said
        for name in ("read", "download", "info", "list"):
            said = client.post(f"/sandboxes/{sid}/files/{name}", {"path": "/workspace/swap/a" + ("" if name == "list" else "/secret")})
            assert bait.secret not in said.body.decode(), said
        if cycle % 10 == 0:
            client.ok("DELETE", f"/sandboxes/{client.create()['id']}")
    assert landed > 0
    client.ok("DELETE", f"/sandboxes/{sid}")
    client.ok("DELETE", f"/volumes/{vid}")


def test_device_nodes_cannot_be_swapped(client, sandbox):
    """The null device and the terminals are on mounts of ours: nothing can be put in their place."""
    tried = client.exec(sandbox, "cd /dev; for f in null zero tty pts/ptmx ptmx console shm pts; do mv $f $f.old 2>/dev/null && echo moved $f; "
                                 "ln -sfn /etc/passwd $f 2>/dev/null && [ -L $f ] && [ $f != ptmx ] && [ ! -d $f/. ] && echo linked $f; "
                                 "rm -f $f 2>/dev/null && [ ! -e $f ] && [ $f != console ] && echo removed $f; done; true")["stdout"]
    assert tried == ""
    assert client.exec(sandbox, "stat -c '%t:%T' /dev/null")["stdout"] == "1:3\n"


@pytest.mark.skipif(harness.BACKEND == "docker", reason="the engine makes /dev, which can be written to")
def test_nothing_is_made_in_the_device_folder(any_server):
    """What lies there would be in no disk limit; also where the box mounts it itself, without root."""
    with any_server.client() as client:
        box = client.create()["id"]
        made = client.exec(box, "cd /dev; touch x; mkdir y; ln -s / z; mknod p p; rm -f fd stdin; echo > full2; chmod 600 null; mount -o remount,rw /dev; touch x; "
                                "find . -maxdepth 1 | sort | tr '\\n' ' '; echo; echo written > null; echo shared > shm/f && cat shm/f; test -c ptmx && test -L fd")
        seen, shared = made["stdout"].split("\n")[:2]
        assert seen.replace("./", "").split() == [".", "fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout", "tty", "urandom", "zero"]
        assert (shared, made["exitCode"]) == ("shared", 0), made
        client.ok("DELETE", f"/sandboxes/{box}")
