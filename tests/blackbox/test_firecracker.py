"""The firecracker backend from the REST interface down to the API socket, with the strict checker (tests/vmm) in the
place of the firecracker program: the server's confinement, folders and records are real, and so is the agent that its
"guest" runs; a boot is not. What the checker does not allow makes a test here fail."""
import json
import os
import pathlib
import signal
import subprocess

import pytest

import fckit
import fcprogram
import harness
from fckit import Stage, no_server_is_left  # noqa: F401

pytestmark = fckit.marks


@pytest.fixture
def stage():
    made = Stage()
    yield made
    made.end()


def test_a_sandbox_lives_behind_the_api_and_the_handshake(stage):
    box = stage.create()
    done = stage.run(box, "echo $((6 * 7)); id -u; echo /*; ls /dev; touch /x; touch /box/y && echo written")
    lines = done["stdout"].split("\n")
    assert lines[0] == "42" and int(lines[1]) >= 0x71000000  # a user that nothing else has
    assert lines[2] == "/base /bin /box /dev /disk /initramfs /kernel /lib /lib64 /monitor /ram /sbin /usr"
    assert lines[3:-1] == ["kvm"] * os.path.exists("/dev/kvm") + ["net", "null", "written"] and "Read-only file system" in done["stderr"]
    assert stage.client.post(f"/sandboxes/{box}/pause").status == 200
    assert stage.client.post(f"/sandboxes/{box}/resume").status == 200
    assert stage.run(box, "cat /box/y && echo back")["stdout"] == "back\n"


def test_the_way_out_by_a_tap(outside):
    """The guest's frames are played, all else is real: the tap that the monitor opens as its own user, the rules behind it, and the server's policy."""
    made = Stage(env={"III_GATEWAY_PORTS": str(outside)}, FCCHECKER_DIAL=str(outside))
    for box in (made.create(network=True), made.client.ok("POST", f"/sandboxes/{made.create(network=True)}/clone", {})["id"]):
        harness.wait_until(lambda box=box: made.run(box, "cat /box/heard")["exitCode"] == 0, "an end of the connection")
        assert made.run(box, "cat /box/heard")["stdout"] == "hello from outside\n"
    closed = made.create()
    assert made.run(closed, "ls -l /dev/net; cat /box/heard")["stdout"].count("tun") == 1  # the interface is there, and leads nowhere
    made.end()


def test_machines_of_one_network_reach_each_other(stage):
    """By frames through the taps that their monitors opened, and by notes through a second port of their vsocks."""
    web, caller = stage.create(name="web"), stage.create(name="caller")
    net = stage.client.ok("POST", "/networks", {"name": "n"})["id"]
    for box in (web, caller):
        assert stage.connect(net, box).json() == {"connected": True}
    assert stage.wire(caller, "nics") == {"net0": "10.64.0.3/24"}
    assert stage.wire(caller, "ask", nic="net0", to="10.64.0.2", text="hello") == "again hello"
    stage.wire(caller, "send", nic=1, mac="02690a400003", source="10.64.0.9", to="10.64.0.2", text="a lie")
    stage.wire(caller, "send", nic=1, mac="02690a400003", source="10.64.0.3", to="10.64.0.2", text="the truth")
    harness.wait_until(lambda: stage.wire(web, "heard"), "what the machine may send")
    assert stage.wire(web, "heard") == [["udp", "10.64.0.3", 9, "the truth"]]
    stage.client.ok("POST", f"/networks/{net}/disconnect", {"sandboxId": web})
    seen = stage.wire(web, "seen")
    assert stage.wire(web, "nics") == {} and seen > 0
    assert "nobody answers" in stage.wire(caller, "ask", nic="net0", to="10.64.0.2", wait=1)["error"]
    assert stage.wire(web, "seen") == seen


def test_the_policy_holds_for_the_way_out(outside):
    made = Stage(FCCHECKER_DIAL=str(outside))  # no port of the gateway is open
    box = made.create(network=True)
    harness.wait_until(lambda: made.run(box, "cat /box/heard")["exitCode"] == 0, "an end of the connection")
    assert "hello" not in made.run(box, "cat /box/heard")["stdout"]
    made.end()


def test_a_snapshot_is_loaded_by_new_processes(stage):
    box = stage.create()
    snapshot = stage.client.post(f"/sandboxes/{box}/snapshots", {"comment": "here"})
    assert snapshot.status == 200, snapshot
    assert snapshot.json()["imageId"].startswith("firecracker:")
    assert stage.run(box, "echo on")["stdout"] == "on\n"  # the source goes on
    forked = stage.client.post(f"/sandboxes/{box}/clone", {})
    assert forked.status == 200, forked
    other = forked.json()["id"]
    assert stage.run(other, "echo there")["stdout"] == "there\n"
    users = {stage.run(name, "id -u")["stdout"] for name in (box, other)}
    assert len(users) == 2


def change(meta, **facts):
    meta.write_text(json.dumps({**json.loads(meta.read_text()), **facts}))


def only(folder):
    found = list(folder.glob("*/meta.json"))
    assert len(found) == 1, found
    return found[0]


def test_a_saved_machine_goes_on_only_with_what_it_was_saved_on(stage):
    """No monitor checks that: it would run on with a CPU and devices that its guest does not know."""
    box, data = stage.create(), stage.server.data_dir
    template = only(data / "vm/templates")
    snapshot = stage.client.post(f"/sandboxes/{box}/snapshots", {}).json()
    saved, restore = only(data / "vm/snaps"), (f"/sandboxes/{box}/snapshots/restore", {"snapshotId": snapshot["id"]})
    cpu = json.loads(saved.read_text())["cpu"]
    for facts, error in ({"cpu": "OtherMaker 1 2 3"}, f'on a CPU "OtherMaker 1 2 3", and this one is "{cpu}"'), ({"shape": 99}, "other devices (99, not"):
        kept = saved.read_text()
        change(saved, **facts)
        reply = stage.client.post(*restore)
        assert reply.status == 409 and error in reply.error, reply
        saved.write_text(kept)
    assert stage.run(box, "echo here")["stdout"] == "here\n"  # what was not restored is as it was
    change(template, cpu="OtherMaker 1 2 3")
    stamp = template.stat().st_ino
    assert stage.run(stage.create(), "echo made anew")["stdout"] == "made anew\n"
    assert json.loads(only(data / "vm/templates").read_text())["cpu"] == cpu and template.stat().st_ino != stamp
    os.utime(stage.server.env["III_VM_FIRECRACKER"], (1, 1))  # another program
    stage.create()
    assert len(list((data / "vm/templates").glob("*/meta.json"))) == 2


def collected(snaps):
    """What nobody needs was looked for just now: a folder that is nobody's is gone."""
    nobodys = snaps / ("0" * 16)
    nobodys.mkdir()
    harness.wait_until(lambda: not nobodys.exists(), "what nobody needs to be removed")
    return True


def test_the_files_of_a_snapshot_stay_as_long_as_somebody_needs_them(stage):
    box, snaps = stage.create(), stage.server.data_dir / "vm/snaps"
    snapshot = stage.client.post(f"/sandboxes/{box}/snapshots", {}).json()
    kept = only(snaps).parent
    second = stage.client.post(f"/sandboxes/{box}/snapshots", {}).json()
    assert stage.client.delete(f"/snapshots/{second['id']}").status == 200
    harness.wait_until(lambda: list(snaps.iterdir()) == [kept], "only the second to go")
    stage.server.kill()
    stage.server.start()
    stage.client = stage.server.client()
    assert collected(snaps) and kept.exists()  # the snapshot's record needs it
    other = stage.create()
    assert stage.client.post(f"/sandboxes/{other}/snapshots/restore", {"snapshotId": snapshot["id"]}).status == 200
    assert stage.client.delete(f"/snapshots/{snapshot['id']}").status == 200
    assert collected(snaps) and kept.exists()  # the machine that was made of it does
    assert stage.client.delete(f"/sandboxes/{other}").status == 200
    harness.wait_until(lambda: not list(snaps.iterdir()), "the files to go with the last who needs them")
    assert stage.run(box, "echo here")["stdout"] == "here\n"


def test_machines_outlive_the_server_and_their_end_is_seen(stage):
    box, other = stage.create(), stage.create()
    stage.server.kill()
    stage.server.start()
    stage.client = stage.server.client()
    assert stage.run(box, "echo again")["stdout"] == "again\n"  # only with the token that it had
    reply = stage.client.post(f"/sandboxes/{box}/snapshots", {})
    assert reply.status == 200, reply
    os.kill(fckit.monitor_of(int(stage.run(other, "id -u")["stdout"])), signal.SIGKILL)
    harness.wait_until(lambda: stage.client.post(f"/sandboxes/{other}/exec", {"command": "true"}).status != 200,
                       "the end of a monitor is seen")
    assert stage.run(box, "echo still")["stdout"] == "still\n"


def test_a_firecracker_that_is_too_old_is_refused_with_its_version():
    made = Stage(FCCHECKER_VERSION="1.7.9")
    reply = made.client.post("/sandboxes", {"image": "test/base:1"})
    assert reply.status == 501 and "Firecracker 1.7.9 is too old: 1.8 or newer" in reply.error, reply
    made.end()


def test_what_firecracker_complains_of_reaches_the_caller():
    made = Stage(FCCHECKER_FAULT="PUT /boot-source 400")
    reply = made.client.post("/sandboxes", {"image": "test/base:1"})
    assert reply.status == 502 and "PUT /boot-source with 400: as the test wishes" in reply.error, reply
    made.end()


def test_a_guest_that_is_faster_than_its_monitor():
    """It runs and answers before the monitor says that it runs: whichever comes last makes the sandbox ready."""
    made = Stage(FCCHECKER_FAULT="PATCH /vm late")
    box = made.create()
    assert made.run(box, "echo here")["stdout"] == "here\n"
    assert made.client.post(f"/sandboxes/{box}/pause").status == 200
    made.server.kill()
    made.server.start()  # adopted while it stands still: woken, asked who it is, and paused again
    made.client = made.server.client()
    assert made.client.post(f"/sandboxes/{box}/resume").status == 200
    assert made.run(box, "echo there")["stdout"] == "there\n"
    made.end()


def test_a_program_that_is_not_there_is_named():
    made = Stage(program="/nowhere/firecracker")
    reply = made.client.post("/sandboxes", {"image": "test/base:1"})
    assert reply.status >= 500 and "/nowhere/firecracker" in reply.error, reply
    made.end()


def test_a_server_without_root_has_machines_too():
    made = Stage(user=4242)
    box = made.create()
    assert made.run(box, "id -u; echo /*")["stdout"].startswith("0\n/base /bin /box ")  # its own, in a namespace of its own
    assert made.client.call("DELETE", f"/sandboxes/{box}").status == 200
    made.end()


def krun_stage(tmp_path, *flags):
    library = tmp_path / "libkrun.so.1"
    subprocess.run(["cc", "-shared", "-fPIC", *flags, "-o", library, fckit.VMM / "standin_krun.c"], check=True)
    return Stage(env={"III_ISOLATION_BACKEND": "krun", "III_VM_LIBKRUN": str(library)})


def test_a_machine_of_libkrun_lives_and_dies_as_a_process(tmp_path):
    """With a guest in the stand-in: it has no control socket, so its end is seen by its process alone."""
    fcprogram.build(tmp_path / "guest", fckit.AGENT, entry="krun_main")
    made = krun_stage(tmp_path, f'-DGUEST="{tmp_path}/guest"')
    box = made.create()
    uid = int(made.run(box, "id -u; echo dying words > /dev/stderr")["stdout"])
    assert made.client.post(f"/sandboxes/{box}/pause").status == 200
    assert made.client.post(f"/sandboxes/{box}/resume").status == 200
    assert made.client.post(f"/sandboxes/{box}/snapshots", {}).status == 501
    lines = pathlib.Path(f"/proc/{fckit.monitor_of(uid, b'--krun-guest')}/status").read_text().splitlines()
    assert {"Seccomp:\t2", "NoNewPrivs:\t1", "CapEff:\t" + "0" * 16} <= set(lines)
    made.server.kill()
    made.server.start()
    made.client = made.server.client()
    assert made.run(box, "echo adopted")["stdout"] == "adopted\n"
    os.kill(fckit.monitor_of(uid, b"--krun-guest"), signal.SIGKILL)
    harness.wait_until(lambda: made.client.get(f"/sandboxes/{box}").status == 404, "its end is seen")
    assert "sandbox.died" in made.server.log()
    other = made.create()
    assert made.client.call("DELETE", f"/sandboxes/{other}").status == 200
    made.end()


def test_what_libkrun_complains_of_reaches_the_caller(tmp_path):
    made = krun_stage(tmp_path)
    reply = made.client.post("/sandboxes", {"image": "test/base:1"})  # of a size that the stand-in does not take
    assert reply.status == 502 and "libkrun: set CPUs and memory: Invalid argument" in reply.error, reply
    made.end()
