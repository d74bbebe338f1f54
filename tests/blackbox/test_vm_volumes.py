"""Volumes of virtual machines: drives with a file system of their own, which has to be whole however a machine ends."""
import os
import pathlib
import signal

import pytest

import harness
import vmwatch
from test_volumes import attach, new_volume  # noqa: F401

pytestmark = [pytest.mark.skipif(harness.BACKEND != "qemu", reason="about virtual machines: III_TEST_BACKEND=qemu"), harness.needs("volume")]

SIZE_MB = 24
SERVER_ENV = {"III_VOLUME_MB": str(SIZE_MB), "III_BACKENDS": "native"}


def folder(server):
    return pathlib.Path(server.data_dir) / "vm" / "volumes"


def drive(server, vid):
    return folder(server) / vid / "disk"


def opened(server, vid):
    """How the monitors of a server have the file of a volume open: their access modes."""
    target, found = os.stat(drive(server, vid)), []
    for pid in vmwatch.monitors(server):
        for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
            st = link.stat()
            if (st.st_dev, st.st_ino) == (target.st_dev, target.st_ino):
                text = pathlib.Path(f"/proc/{pid}/fdinfo/{link.name}").read_text()
                found.append(int(text.split("flags:")[1].split()[0], 8) & os.O_ACCMODE)
    return found


def read_in_another(client, new_sandbox, vid, name):
    """Read-only, so that nothing is repaired on the way."""
    sid = new_sandbox()["id"]
    reply = attach(client, vid, sid, readOnly=True)
    assert reply.status == 200, reply
    text = client.exec(sid, f"cat /data/{name}")["stdout"]
    client.ok("POST", f"/volumes/{vid}/detach")
    return text


@pytest.mark.parametrize("is_paused", [False, True])
def test_a_deleted_machine_leaves_its_volume_whole(client, new_sandbox, new_volume, is_paused):  # noqa: F811
    vid, sid = new_volume(), new_sandbox()["id"]
    assert attach(client, vid, sid).status == 200
    client.ok("POST", f"/sandboxes/{sid}/exec/background", {"command": "exec 5> /data/busy; while :; do echo x >&5; sleep 0.05; done"})
    client.exec(sid, "echo kept > /data/f")
    if is_paused:
        client.ok("POST", f"/sandboxes/{sid}/pause")
    client.ok("DELETE", f"/sandboxes/{sid}")
    assert read_in_another(client, new_sandbox, vid, "f") == "kept\n"


def test_a_killed_monitor_frees_it(server, client, new_sandbox, new_volume):  # noqa: F811
    before = set(vmwatch.monitors(server))
    vid, sid = new_volume(), new_sandbox()["id"]
    (pid,) = set(vmwatch.monitors(server)) - before
    assert attach(client, vid, sid).status == 200
    client.exec(sid, "echo kept > /data/f; sync; echo more > /data/g")
    assert opened(server, vid) == [os.O_RDWR]
    os.kill(pid, signal.SIGKILL)
    harness.wait_until(lambda: all("sandboxId" not in v for v in client.ok("GET", "/volumes")["volumes"]), "the volume to be free")
    second = new_sandbox()["id"]
    reply = attach(client, vid, second, readOnly=True)
    assert reply.status == 409 and vid in reply.error and "attach it once without readOnly, detach it, then" in reply.error, reply
    assert attach(client, vid, second).status == 200
    assert client.exec(second, "cat /data/f")["stdout"] == "kept\n"
    client.ok("POST", f"/volumes/{vid}/detach")
    assert read_in_another(client, new_sandbox, vid, "f") == "kept\n"


def test_the_host_itself_lets_nobody_write_to_a_read_only_one(server, client, new_sandbox, new_volume):  # noqa: F811
    vid, sid = new_volume(), new_sandbox()["id"]
    assert attach(client, vid, sid, readOnly=True).status == 200
    assert opened(server, vid) == [os.O_RDONLY]
    client.ok("POST", f"/volumes/{vid}/detach")
    assert opened(server, vid) == []
    assert client.exec(sid, "ls /data")["stdout"] == ""


def test_a_file_that_is_open_at_the_detach(client, new_sandbox, new_volume):  # noqa: F811
    vid, sid = new_volume(), new_sandbox()["id"]
    assert attach(client, vid, sid).status == 200
    client.ok("POST", f"/sandboxes/{sid}/exec/background", {"command": "exec 5> /data/held; echo early >&5; echo go > /tmp/go; sleep 1000"})
    harness.wait_until(lambda: client.exec(sid, "cat /tmp/go")["exitCode"] == 0, "the file to be written")
    assert client.ok("POST", f"/volumes/{vid}/detach") == {"detached": True}
    assert client.exec(sid, "ls /data")["stdout"] == ""
    second = new_sandbox()["id"]
    assert attach(client, vid, second).status == 200
    assert client.exec(second, "cat /data/held")["stdout"] == "early\n"


def test_a_machine_is_saved_without_volumes_only(client, new_sandbox, new_volume):  # noqa: F811
    vid, sid = new_volume(), new_sandbox()["id"]
    assert attach(client, vid, sid).status == 200
    for call in ("snapshots", "clone", "fork"):
        reply = client.post(f"/sandboxes/{sid}/{call}", {})
        assert reply.status == 409 and "detach" in reply.error, (call, reply)
    client.ok("POST", f"/sandboxes/{sid}/pause")
    reply = client.post(f"/volumes/{vid}/detach")
    assert reply.status == 409 and "resume" in reply.error
    client.ok("POST", f"/sandboxes/{sid}/resume")
    client.ok("POST", f"/volumes/{vid}/detach")


def test_its_size_ends(server, client, new_sandbox, new_volume):  # noqa: F811
    vid, sid = new_volume(), new_sandbox()["id"]
    assert attach(client, vid, sid).status == 200
    assert os.stat(drive(server, vid)).st_blocks * 512 < 4 << 20  # only what is written takes disk
    done = client.exec(sid, f"head -c {2 * SIZE_MB}M /dev/zero > /data/big; echo $?; stat -c %s /data/big")["stdout"].split()
    assert done[0] != "0" and 0 < int(done[1]) <= (SIZE_MB + 1) << 20
    assert client.exec(sid, "rm /data/big; echo fits > /data/f; cat /data/f")["stdout"] == "fits\n"


def test_of_the_backend_it_was_used_on_first(server, client, new_sandbox, new_volume):  # noqa: F811
    vid, other = new_volume(), new_volume()
    sid, native = new_sandbox()["id"], new_sandbox(backend="native")["id"]
    assert attach(client, vid, native, "/etc/passwd").status == 400  # fails, so it is of no backend yet
    assert attach(client, other, sid, "/etc/passwd").status == 400
    assert attach(client, vid, sid).status == 200
    client.ok("POST", f"/volumes/{vid}/detach")
    reply = attach(client, vid, native)
    assert reply.status == 409 and "qemu" in reply.error and vid in reply.error
    assert attach(client, other, native).status == 200
    client.ok("POST", f"/volumes/{other}/detach")
    reply = attach(client, other, sid)
    assert reply.status == 409 and "native" in reply.error
    assert (folder(server) / vid).is_dir() and (pathlib.Path(server.data_dir) / "volumes" / other).is_dir()
    places = [top / one for top in (folder(server), pathlib.Path(server.data_dir) / "volumes") for one in (vid, other)]
    for one in (vid, other):
        client.ok("DELETE", f"/volumes/{one}")
    assert not any(place.exists() for place in places)
    harness.wait_until(lambda: len(vmwatch.machines(server)) == len(vmwatch.monitors(server)), "what is left of the volume to go")
