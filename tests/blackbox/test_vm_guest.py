"""Inside a virtual machine: the same confinement as in a native sandbox, and nothing of the machine itself in sight."""
import contextlib
import ctypes
import json
import os

import pytest

import harness

pytestmark = pytest.mark.skipif(harness.BACKEND != "qemu", reason="about virtual machines: III_TEST_BACKEND=qemu")

DEVICES = {"fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout", "tty", "urandom", "zero"}
KEPT = 0x800405fb  # the capabilities that SECURITY.md lists

# One program asks everything: each exec in an emulated machine is slow.
LOOK = r"""
import ctypes, errno, json, os, socket
libc = ctypes.CDLL(None, use_errno=True)
seen = {"devices": sorted(os.listdir("/dev")), "root": sorted(os.listdir("/")), "pids": [int(p) for p in os.listdir("/proc") if p.isdigit()]}
rows = dict(line.split(":\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\t" in line)
seen["status"] = {k: rows[k].strip() for k in ("CapBnd", "CapEff", "NoNewPrivs", "Seccomp")}
seen["agent"] = dict(line.split(":\t", 1) for line in open("/proc/1/status").read().splitlines() if line.startswith("CapEff"))

def refused(fn):
    try:
        fn()
    except OSError as e:
        return e.errno
    return 0

def call(name, *args):
    if getattr(libc, name)(*args) < 0:
        raise OSError(ctypes.get_errno(), name)

def write(path, text):
    with open(path, "w") as f:
        f.write(text)

def escape():
    os.makedirs("/tmp/jail", exist_ok=True)
    top = os.open("/", os.O_RDONLY)
    os.chroot("/tmp/jail")
    os.fchdir(top)
    for _ in range(50):
        os.chdir("..")
    os.chroot(".")

seen["refused"] = {name: refused(fn) for name, fn in {
    "reboot": lambda: call("reboot", 0x01234567),
    "power off": lambda: call("reboot", 0x4321FEDC),
    "host name": lambda: socket.sethostname("other"),
    "clock": lambda: __import__("time").clock_settime(0, 1000000000),
    "mount": lambda: call("mount", b"x", b"/tmp", b"tmpfs", 0, None),
    "disk node": lambda: os.mknod("/tmp/vda", 0o60600, os.makedev(254, 0)),
    "vsock": lambda: socket.socket(40, socket.SOCK_STREAM).close(),
    "core pattern": lambda: write("/proc/sys/kernel/core_pattern", "|/tmp/x"),
    "new device": lambda: write("/dev/new", ""),
    "agent's root": lambda: os.listdir("/proc/1/root"),
    "agent's port": lambda: os.readlink("/proc/1/fd/0"),
    "agent's memory": lambda: open("/proc/1/mem", "rb").close(),
}.items()}
os.kill(1, 9)
escape()
seen["beyond the root"] = sorted(os.listdir("/"))
print(json.dumps(seen))
"""


@pytest.fixture(scope="module")
def seen(server):
    with server.client() as caller:
        sid = caller.create()["id"]
        try:
            done = caller.exec(sid, ["python3", "-c", LOOK], timeout=120)
            assert done["exitCode"] == 0, done
            assert caller.exec(sid, "echo alive")["stdout"] == "alive\n"  # the agent was sent SIGKILL
            return json.loads(done["stdout"])
        finally:
            caller.delete(f"/sandboxes/{sid}")


def test_no_device_of_the_machine_is_in_sight(seen):
    assert set(seen["devices"]) == DEVICES


def test_only_its_own_processes_are_in_sight(seen):
    assert 1 in seen["pids"] and len(seen["pids"]) <= 4, seen["pids"]


def test_capabilities_and_filter_are_those_of_a_native_sandbox(seen):
    assert int(seen["status"]["CapBnd"], 16) == KEPT and int(seen["status"]["CapEff"], 16) == KEPT
    assert int(seen["agent"]["CapEff"], 16) == KEPT
    assert seen["status"]["NoNewPrivs"] == "1" and seen["status"]["Seccomp"] == "2"


def test_the_machine_is_not_theirs_to_change(seen):
    assert {name for name, error in seen["refused"].items() if error == 0} == set()


def test_no_way_leads_above_the_root(seen):
    assert seen["beyond the root"] == seen["root"]
    assert not {"init", "modules", "filter", "image", "disk"} & set(seen["root"])


def test_after_another_boot_of_the_host_a_create_waits_for_the_probe(server):
    """What is known of KVM is of another boot: the server asks again by itself, and whoever wants a machine waits."""
    kept = server.data_dir / "vm/kit/probe.json"
    found = json.loads(kept.read_text())
    server.stop()
    kept.write_text(json.dumps({**found, "bootId": "of another boot"}))
    server.start()
    client = server.client()
    reply = client.post("/sandboxes", {"image": "python"})
    assert reply.status == 200, reply
    asked = json.loads(kept.read_text())
    assert (asked["bootId"], asked["kvm"]) == (found["bootId"], found["kvm"])
    assert client.call("DELETE", f"/sandboxes/{reply.json()['id']}").status == 200


class Made:
    """The names that anybody makes in a folder."""

    def __init__(self, folder):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        assert libc.inotify_add_watch(self.fd, os.fsencode(folder), 0x100) > 0  # IN_CREATE

    def names(self):
        found = b""
        with contextlib.suppress(BlockingIOError):
            while True:
                found += os.read(self.fd, 1 << 20)
        return found


def test_nothing_is_left_of_a_probe_that_is_stopped(server):
    """It boots a guest without a folder in /tmp, which nobody would remove when it is killed."""
    kept = server.data_dir / "vm/kit/probe.json"
    found = json.loads(kept.read_text())
    kept.write_text(json.dumps({**found, "bootId": "of another boot"}))
    made = Made("/tmp")
    done = harness.run_cli("vm", "setup", "--json", "--data-dir", server.data_dir)
    assert done.returncode == 0 and json.loads(done.stdout)["bootMs"] > 0, done
    assert json.loads(kept.read_text())["bootId"] == found["bootId"]
    assert b"iii-vm" not in made.names()
    os.close(made.fd)
