"""Presets on machines: a store without images, no network, and yet `python`. They run on a drive with the host's /usr, made once. The server sees
a /usr of its own here: this host's without its largest folders, which the test can change."""
import os
import pathlib
import re
import shutil
import subprocess
import threading

import pytest

import harness
import qemukit

pytestmark = pytest.mark.skipif(not harness.IN_MACHINES, reason="about virtual machines: III_TEST_BACKEND=qemu")
LARGE_MB = 40
NEEDED = re.compile(r"usr/(bin|sbin|local|lib/(x86_64-linux-gnu|python3.*|node_modules|git-core))(/|$)")
# What a sandbox sees of the host outside of /usr, and some of what it sees there.
SEEN = r"cd / && { find etc opt usr/local/bin usr/sbin -printf '%p %y %m %l\n'; ls -1 . usr usr/bin; cat etc/passwd etc/os-release etc/ssl/openssl.cnf; } | sort"


def hide_large_folders(upper):
    """An overlay's whiteouts for what the tests do not need of /usr: its copy would take minutes."""
    for folder in [p for top in ("/usr", "/usr/lib", "/usr/share") for p in pathlib.Path(top).iterdir() if p.is_dir() and not p.is_symlink()]:
        if NEEDED.match(str(folder)[1:]) or str(folder) in ("/usr/lib", "/usr/share"):
            continue
        size = int(subprocess.run(["du", "-sm", folder], capture_output=True, text=True, check=False).stdout.split()[0])
        if size >= LARGE_MB:
            at = upper / folder.relative_to("/usr")
            at.parent.mkdir(parents=True, exist_ok=True)
            os.mknod(at, 0o020000, 0)


@pytest.fixture(scope="module")
def server():
    made = harness.Server(env={"III_BACKENDS": "native"})
    upper, work = made.home / "upper", made.home / "work"
    for folder in (upper, work, upper / "local"):
        folder.mkdir(mode=0o755)
    hide_large_folders(upper)
    (upper / "local" / "secret").write_text("a password of the host\n")
    (upper / "local" / "secret").chmod(0o600)
    made.wrap = ["unshare", "-m", "--propagation", "private", "sh", "-c",
                 f'mount -t overlay overlay -o lowerdir=/usr,upperdir={upper},workdir={work} /usr && exec "$0" "$@"']
    harness.fill(made.data_dir)
    for record in (made.data_dir / "images" / "images").iterdir():  # the kept store has images of these names
        record.unlink()
    for base in (made.data_dir / "vm" / "bases").glob("*.erofs"):
        base.unlink()
    shutil.rmtree(made.data_dir / "vm" / "templates")
    (made.data_dir / "vm" / "templates").mkdir(mode=0o700)
    with made:
        yield made


@pytest.fixture
def caller(server):
    with harness.Client(server.port, timeout_s=qemukit.MAKE_S) as made:
        yield made


def drives(server):
    return sorted(p.name for p in (server.data_dir / "vm" / "bases").glob("host*.erofs*"))


def told(server, event):
    return len(re.findall(rf"\b{re.escape(event)}\b", server.log_path.read_text()))


def test_creates_of_two_sizes_wait_for_one_drive(server):
    outputs = {}

    def create(memory):
        with harness.Client(server.port, timeout_s=qemukit.MAKE_S) as one:
            sid = one.create(image="python", memory=memory)["id"]
            outputs[memory] = one.exec(sid, ["python", "-c", "print(2+2)"])["stdout"]
            one.delete(f"/sandboxes/{sid}")

    threads = [threading.Thread(target=create, args=(memory,)) for memory in (256, 512)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert outputs == {256: "4\n", 512: "4\n"}
    (drive,) = drives(server)
    assert (server.data_dir / "vm" / "bases" / drive).stat().st_mode & 0o777 == 0o444
    assert told(server, "vm.presets.made") == 1 and told(server, "vm.presets.making") >= 1


def test_the_command_of_the_documents(server):
    done = harness.run_cli("sandbox", "run", "python", "--", "python", "-c", "print(2+2)", timeout_s=qemukit.MAKE_S,
                           env={"III_ENGINE_PORT": server.engine_port})
    assert (done.stdout, done.returncode) == ("4\n", 0), done


@pytest.mark.parametrize("image, command, output", [
    (None, ["python", "-c", "print(2+2)"], "4\n"), ("python", ["python3", "-c", "import ssl, json; print(2+2)"], "4\n"), ("shell", "echo $((2+2))", "4\n"),
    pytest.param("node", ["node", "-e", "console.log(2+2)"], "4\n", marks=pytest.mark.skipif(not os.path.exists("/usr/bin/node"), reason="the host has no node")),
])
def test_a_preset_is_the_hosts_view(caller, image, command, output):
    record = caller.ok("POST", "/sandboxes", {"image": image} if image else {})
    assert record["backend"] == harness.BACKEND and record["resolvedImage"] == "host" and record["image"] == (image or "python")
    assert caller.exec(record["id"], command)["stdout"] == output
    caller.delete(f"/sandboxes/{record['id']}")


def test_it_shows_what_the_native_backend_shows_but_nothing_private(caller, server):
    vm, native = (caller.create(image="shell", backend=name)["id"] for name in (harness.BACKEND, "native"))
    here, there = (set(caller.exec(sid, SEEN, timeout=300)["stdout"].splitlines()) for sid in (vm, native))
    # Made by each backend at the start: its own name and its resolver.
    own = re.compile(r"etc/(hostname|hosts|resolv\.conf|mtab) |etc d |etc$")
    assert {line for line in here ^ there if not own.match(line)} == set()
    assert len(here) > 1000
    assert caller.exec(vm, "cat /usr/local/secret")["exitCode"] != 0
    assert caller.exec(vm, "ls /usr/local/secret; id -u; cat /etc/shadow")["stdout"].startswith("0\n")
    for sid in (vm, native):
        caller.delete(f"/sandboxes/{sid}")


def test_what_is_installed_later_is_in_the_next_sandbox(caller, server):
    (before,) = drives(server)
    old = caller.create(image="shell")["id"]
    install = "printf '#!/bin/sh\\necho installed\\n' > /usr/local/bin/tool && chmod 755 /usr/local/bin/tool"
    subprocess.run(["nsenter", "-t", str(server.pid), "-m", "sh", "-c", install], check=True)
    new = caller.create(image="shell")["id"]
    assert caller.exec(new, "tool")["stdout"] == "installed\n"
    assert caller.exec(old, "tool; echo $?")["stdout"] == "127\n"
    assert before in drives(server) and len(drives(server)) == 2, "the old sandbox uses it"
    caller.delete(f"/sandboxes/{old}")
    harness.wait_until(lambda: before not in drives(server), "the former drive to be removed")
    caller.delete(f"/sandboxes/{new}")
    assert len(drives(server)) == 1, "presets are used again"
