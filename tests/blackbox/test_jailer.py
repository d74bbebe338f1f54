"""Firecracker behind its own jailer (III_VM_JAILER), with a strict stand-in for each of the two (tests/vmm): what is
copied, mounted, given away and given up on the way is real, and looked at from outside. The stand-in's own refusals are
shown here, too: a check that lets everything through would prove nothing."""
import json
import os
import pathlib
import signal
import stat
import subprocess

import pytest

import fckit
import harness
from fckit import Stage, no_server_is_left  # noqa: F401

pytestmark = fckit.marks
ROOT = {"base", "box", "dev", "disk", "firecracker", "initramfs", "kernel", "ram", "run"}  # of a program that is one file
USR = {"usr", "bin", "sbin", "lib", "lib64"}
NAMESPACES = ("mnt", "net", "pid", "ipc", "uts")


@pytest.fixture(scope="module")
def jailer(tmp_path_factory):
    program = tmp_path_factory.mktemp("jailer") / "jailer"
    subprocess.run(["cc", "-O1", "-static", "-o", program, fckit.VMM / "standin_jailer.c"], check=True)
    return program


@pytest.fixture
def stage(jailer):
    made = Stage(env={"III_VM_JAILER": str(jailer)})
    yield made
    made.end()


def status(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.split() for name, value in (line.split(":", 1) for line in lines)}


def test_what_is_left_of_root_when_firecracker_runs(stage):
    box = stage.create()
    uid = int(stage.run(box, "id -u")["stdout"])
    pid = fckit.monitor_of(uid)
    seen = status(pid)
    assert uid >= 0x71000000 and set(seen["Uid"] + seen["Gid"]) == {str(uid)} and seen["Groups"] == []
    assert {seen[name][0] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {"0" * 16} and seen["NoNewPrivs"] == ["1"]
    assert int(seen["CapBnd"][0], 16) == sum(1 << n for n in (0, 1, 6, 7, 18, 21, 27))  # chown dac setgid setuid chroot admin mknod
    root = pathlib.Path(f"/proc/{pid}/root")
    assert {item.name for item in root.iterdir()} == ROOT | USR  # the stand-in is a script: it needs an interpreter
    for name, numbers in {"net/tun": (10, 200), "kvm": (10, 232)}.items():
        node = (root / "dev" / name).lstat()
        assert (os.major(node.st_rdev), os.minor(node.st_rdev), node.st_uid) == (*numbers, uid), name
        assert stat.S_ISCHR(node.st_mode) and stat.S_IMODE(node.st_mode) == 0o600
    assert not [item for item in (root / "dev").rglob("*") if item.name not in ("net", "tun", "kvm", "null")]  # null: the checker's
    for name in NAMESPACES:
        assert os.readlink(f"/proc/{pid}/ns/{name}") != os.readlink(f"/proc/self/ns/{name}"), name
    mounts = [line.split() for line in pathlib.Path(f"/proc/{pid}/mountinfo").read_text().splitlines()]
    assert not [line for line in mounts if line[4] in ("/proc", "/srv", "/jailer") or "old_root" in line[4]]
    assert all("ro" in line[5].split(",") for line in mounts if line[4] in ("/usr", "/kernel", "/initramfs", "/base"))
    assert (pathlib.Path(f"/proc/{pid}/limits").read_text().split("Max open files")[1].split()[:2]) == ["1024", "1024"]


def test_a_whole_life_behind_the_jailer(stage):
    box, other = stage.create(), stage.create()
    assert stage.run(box, "echo $((6 * 7)); touch /box/y")["stdout"] == "42\n"
    assert stage.client.post(f"/sandboxes/{box}/pause").status == 200
    assert stage.client.post(f"/sandboxes/{box}/resume").status == 200
    snapshot = stage.client.post(f"/sandboxes/{box}/snapshots", {})
    assert snapshot.status == 200, snapshot
    clone = stage.client.post(f"/sandboxes/{box}/clone", {}).json()["id"]
    assert len({stage.run(name, "id -u")["stdout"] for name in (box, other, clone)}) == 3
    reply = stage.client.post(f"/sandboxes/{other}/snapshots/restore", {"snapshotId": snapshot.json()["id"]})
    assert reply.status == 200, reply
    stage.server.kill()
    stage.server.start()
    stage.client = stage.server.client()
    assert stage.run(box, "ls /box/y")["stdout"] == "/box/y\n"  # the machine that it was, with the token that it had
    assert stage.run(other, "echo restored")["stdout"] == "restored\n"
    os.kill(fckit.monitor_of(int(stage.run(clone, "id -u")["stdout"])), signal.SIGKILL)
    harness.wait_until(lambda: stage.client.post(f"/sandboxes/{clone}/exec", {"command": "true"}).status != 200,
                       "the end of a monitor is seen")
    assert stage.client.call("DELETE", f"/sandboxes/{box}").status == 200
    assert stage.run(other, "echo still")["stdout"] == "still\n"


def test_a_link_in_a_root_leads_the_next_copy_nowhere(stage, tmp_path):
    """CVE-2026-1386: the program is copied to where a link leads that somebody has put into the folder before. Whoever
    has taken over a monitor owns its root, and may put one there; nobody's next machine is made in it."""
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    box = stage.create()
    done = stage.run(box, f"rm /firecracker && ln -s {victim} /firecracker && ln -s {victim} /box/firecracker && echo planted")
    assert done["stdout"] == "planted\n", done
    clone = stage.client.post(f"/sandboxes/{box}/clone", {})
    assert clone.status == 200, clone
    root = pathlib.Path(f"/proc/{fckit.monitor_of(int(stage.run(clone.json()['id'], 'id -u')['stdout']))}/root")
    assert not (root / "firecracker").is_symlink() and (root / "firecracker").stat().st_uid == 0
    assert stage.run(stage.create(), "echo next")["stdout"] == "next\n"
    assert victim.read_text() == "untouched"


def test_a_program_of_one_file_has_nothing_else(jailer, tmp_path):
    """What a release is: linked statically. It finds neither programs nor libraries in its root."""
    source, program = tmp_path / "list.c", tmp_path / "list-me"
    source.write_text('#include <dirent.h>\n#include <stdio.h>\nint main(void) { DIR *d = opendir("/"); struct dirent *e;\n'
                      'while ((e = readdir(d))) if (e->d_name[0] != \'.\') fprintf(stderr, "%s ", e->d_name); return 1; }\n')
    subprocess.run(["cc", "-static", "-o", program, source], check=True)
    made = Stage(program=program, env={"III_VM_JAILER": str(jailer)})
    reply = made.client.post("/sandboxes", {"image": "test/base:1"})
    assert reply.status >= 500 and ROOT <= set(reply.error.replace(":", " ").split()), reply
    assert not USR & set(reply.error.split())
    made.end()


def test_what_the_jailer_complains_of_reaches_the_caller(tmp_path):
    program = tmp_path / "jailer"
    program.write_text("#!/bin/sh\necho jailer: not today >&2\nexit 1\n")
    program.chmod(0o755)
    made = Stage(env={"III_VM_JAILER": str(program)})
    reply = made.client.post("/sandboxes", {"image": "test/base:1"})
    assert reply.status >= 500 and "jailer: not today" in reply.error and "exited at its start" in reply.error, reply
    made.end()


def test_without_root_it_is_refused_with_the_way_out(jailer):
    made = Stage(user=4242, env={"III_VM_JAILER": str(jailer)})
    reply = made.client.post("/sandboxes", {"image": "test/base:1"})
    assert reply.status == 501 and "needs root" in reply.error and "III_VM_JAILER=off" in reply.error, reply
    made.end()


@pytest.mark.parametrize("setting, is_good, said", [
    ("off", True, "the server's own"), ("", True, "the server's own"), ("/usr/bin/env", True, "/usr/bin/env inside"),
    ("/nowhere/jailer", False, "/nowhere/jailer cannot be used: No such file"), ("jailer", False, "set the full path"),
    ("/usr", False, "/usr is not a program")])
def test_the_doctor_says_which_jail_it_is(setting, is_good, said, tmp_path):
    env = harness.clean_env({"III_VM_JAILER": setting, "III_BACKENDS": "native,firecracker", "III_DATA_DIR": str(tmp_path)})
    done = subprocess.run([harness.BINARY, "doctor", "--json"], capture_output=True, text=True, env=env, timeout=60, check=False)
    rows = {row["name"]: row for row in json.loads(done.stdout)["checks"]}
    assert rows["firecracker jail"]["ok"] == is_good and said in rows["firecracker jail"]["detail"], rows["firecracker jail"]
    assert {"firecracker", "microVM KVM", "microVM kernel"} <= rows.keys()


def test_the_check_by_boot_names_what_is_missing_before_it_tries(tmp_path):
    env = harness.clean_env({"III_VM_JAILER": "/nowhere/jailer", "III_VM_FIRECRACKER": "/nowhere/firecracker", "TMPDIR": str(tmp_path)})
    done = subprocess.run([harness.BINARY, "doctor", "--vm", "--backend", "firecracker", "--json"], capture_output=True, text=True,
                          env=env, timeout=60, check=False)
    rows = {row["name"]: row for row in json.loads(done.stdout)["checks"]}
    assert done.returncode == 1 and set(rows) == {"firecracker", "firecracker jail", "microVM KVM"}, rows
    for name in ("firecracker", "firecracker jail"):
        assert not rows[name]["ok"] and "/nowhere/" in rows[name]["detail"] and rows[name]["fix"], rows[name]
    assert not list(tmp_path.iterdir())


# --- the stand-in itself ---

GOOD = {"--id": "m1", "--exec-file": "/usr/bin/true-firecracker", "--uid": "1", "--gid": "1"}


@pytest.mark.parametrize("change, error", [
    ({"--id": None}, "are needed"), ({"--uid": None}, "are needed"), ({"--uid": "root"}, "no number"),
    ({"--id": "m_1"}, "hyphens only"), ({"--id": "m" * 65}, "65 characters"), ({"--node": "0"}, "unknown argument"),
    ({"--exec-file": "/nowhere"}, "is no file"), ({"--exec-file": "/usr/bin/env"}, "does not have"),
    ({"--chroot-base-dir": "/usr/bin/env"}, "is no folder"), ({"--resource-limit": "files=1"}, "not one"),
    ({"--": "--id=x"}, "not after --")])
def test_the_stand_in_refuses_what_is_not_documented(jailer, tmp_path, change, error):
    program = tmp_path / "firecracker"
    program.write_text("")
    given = {**GOOD, "--exec-file": str(program), "--chroot-base-dir": str(tmp_path), **change}
    words = [word for name, value in given.items() if value is not None for word in (name, value)]
    done = subprocess.run([jailer, *words], capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 1 and error in done.stderr, done


def test_the_stand_in_sees_a_link_that_was_put_there_before(jailer, tmp_path):
    program, root = tmp_path / "firecracker", tmp_path / "jail/firecracker/m1/root"
    program.write_text("")
    root.mkdir(parents=True)
    (root / "firecracker").symlink_to(tmp_path / "victim")
    words = [jailer, "--id", "m1", "--exec-file", program, "--uid", "1", "--gid", "1", "--chroot-base-dir", tmp_path / "jail"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 1 and "a copy would go where it leads" in done.stderr and not (tmp_path / "victim").exists()
    (root / "firecracker").unlink()
    root.chmod(0o777)
    done = subprocess.run(words, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 1 and "may be written by others" in done.stderr, done
