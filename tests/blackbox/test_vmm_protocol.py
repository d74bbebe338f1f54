"""The monitors that cannot be had on a build machine, spoken to as their descriptions say.

fcchecker.py stands for Firecracker: here it is shown that it refuses what the API description does not allow, so that
the driver's test (tests/unit/vm/test_firecracker.c), which has to get past it, can fail. standin_krun.c stands for
libkrun: `iii --krun-vm` has to make its calls with the right values in the right order."""
import errno
import http.client
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time

import pytest

import harness

VMM = pathlib.Path(__file__).resolve().parent.parent / "vmm"
sys.path.insert(0, str(VMM))

import fcwarden  # noqa: E402


class Checker:
    """A fresh checker in a root of its own."""

    def __init__(self, root):
        root.mkdir()
        for name in ("kernel", "initramfs", "base", "disk", "ram"):
            (root / name).touch()
        (root / "box").mkdir()
        self.root, self.api = root, str(root / "box/api.sock")
        self.proc = subprocess.Popen(
            [sys.executable, VMM / "fcchecker.py", "--api-sock", "/box/api.sock", "--id", "m1"],
            env={**os.environ, "FCCHECKER_ROOT": str(root), "FCCHECKER_AGENT": str(root / "agent.sock")})
        harness.wait_until(lambda: self.answers(), "the checker listens")

    def answers(self):
        try:
            return self.call("GET", "/")[0] == 200
        except OSError:
            return False

    def call(self, method, path, body=None, text=None, headers=None):
        link = http.client.HTTPConnection("localhost", timeout=harness.DEADLINE_S)
        link.sock = socket.socket(socket.AF_UNIX)
        link.sock.connect(self.api)
        data = text if text is not None else None if body is None else json.dumps(body)
        link.request(method, path, data, headers or {"Content-Type": "application/json"})
        answer = link.getresponse()
        said = answer.read()
        link.close()
        return answer.status, json.loads(said)["fault_message"] if answer.status == 400 else said

    def good(self, method, path, body):
        assert self.call(method, path, body) == (204, b"")

    def configure(self):
        self.good("PUT", "/machine-config", {"vcpu_count": 2, "mem_size_mib": 64})
        self.good("PUT", "/boot-source", {"kernel_image_path": "/kernel", "initrd_path": "/initramfs"})
        self.good("PUT", "/drives/base", drive("base", True))
        self.good("PUT", "/vsock", {"guest_cid": 3, "uds_path": "/box/v"})

    def start(self):
        self.configure()
        self.good("PUT", "/actions", {"action_type": "InstanceStart"})

    def stop(self):
        self.proc.kill()
        self.proc.wait()


def drive(name, is_readonly):
    return {"drive_id": name, "path_on_host": f"/{name}", "is_root_device": False, "is_read_only": is_readonly}


def nic(number, **more):
    return {"iface_id": f"nic{number}", "host_dev_name": f"tap{number}", "guest_mac": f"02:69:76:6d:00:0{number}", **more}


@pytest.fixture
def checker(tmp_path):
    made = Checker(tmp_path / "root")
    yield made
    made.stop()


MACHINE = {"vcpu_count": 2, "mem_size_mib": 64}
BAD = [
    ("PUT", "/machine-config", {**MACHINE, "ht_enabled": False}, "unknown field `ht_enabled`"),
    ("PUT", "/machine-config", {"vcpu_count": 2}, "missing field `mem_size_mib`"),
    ("PUT", "/machine-config", {**MACHINE, "vcpu_count": "2"}, "vcpu_count: invalid type"),
    ("PUT", "/machine-config", {**MACHINE, "vcpu_count": True}, "vcpu_count: invalid type"),
    ("PUT", "/machine-config", {**MACHINE, "vcpu_count": 33}, "not in 1..32"),
    ("PUT", "/machine-config", {**MACHINE, "smt": 0}, "smt: invalid type"),
    ("PUT", "/boot-source", {"boot_args": "quiet"}, "missing field `kernel_image_path`"),
    ("PUT", "/boot-source", {"kernel_image_path": "/nowhere"}, "cannot be opened"),
    ("PUT", "/drives/other", drive("base", True), "does not match"),
    ("PUT", "/drives/base", {"drive_id": "base", "is_root_device": False}, "neither virtio"),
    ("PUT", "/network-interfaces/nic0", nic(0, iface_id="nic1"), "does not match"),
    ("PUT", "/network-interfaces/nic-0", nic(0), "Invalid request method"),
    ("PUT", "/network-interfaces/nic0", {"iface_id": "nic0"}, "missing field `host_dev_name`"),
    ("PUT", "/network-interfaces/nic0", nic(0, guest_mac="02:69:76:6d:00"), "invalid MAC"),
    ("PUT", "/network-interfaces/nic0", nic(0, guest_mac=None), "guest_mac: invalid type"),
    ("PUT", "/network-interfaces/nic0", nic(0, fd=3), "unknown field `fd`"),
    ("PUT", "/vsock", {"guest_cid": 2, "uds_path": "/box/v"}, "not in 3.."),
    ("PUT", "/vsock", {"guest_cid": 3}, "missing field `uds_path`"),
    ("PUT", "/entropy", [], "invalid type"),
    ("PUT", "/actions", {"action_type": "Start"}, "unknown variant"),
    ("PUT", "/actions", {"action_type": "InstanceStart"}, "without kernel"),
    ("PATCH", "/vm", {"state": "Paused"}, "before starting"),
    ("PUT", "/snapshot/create", {"mem_file_path": "/box/m", "snapshot_path": "/box/s"}, "before starting"),
    ("PUT", "/snapshot/load", {"snapshot_path": "/box/s"}, "either mem_backend or mem_file_path"),
    ("PUT", "/snapshot/load", {"snapshot_path": "/box/s", "mem_backend": {"backend_type": "File"}}, "backend_path"),
    ("POST", "/actions", {"action_type": "InstanceStart"}, "Invalid request method"),
    ("PUT", "/nothing", {}, "Invalid request method"),
]


def test_the_checker_refuses_what_the_description_does_not_allow(checker):
    for method, path, body, fault in BAD:
        status, said = checker.call(method, path, body)
        assert status == 400 and fault in said, (method, path, body, said)
    assert checker.call("PUT", "/entropy", text="{")[0] == 400
    assert "larger than the limit" in checker.call("PUT", "/entropy", text=" " * 60000)[1]
    assert "Content-Type" in checker.call("PUT", "/entropy", text="{}", headers={"Content-Type": "text/plain"})[1]


def test_the_checker_refuses_interfaces_that_are_alike(checker, tmp_path):
    for number in range(2):
        checker.good("PUT", f"/network-interfaces/nic{number}", nic(number))
    for more, fault in (({"guest_mac": nic(1)["guest_mac"]}, "already in use"), ({"host_dev_name": "tap1"}, "Resource busy")):
        assert fault in checker.call("PUT", "/network-interfaces/nic2", nic(2, **more))[1]
    checker.good("PUT", "/network-interfaces/nic1", nic(1))  # the same again is no other one
    checker.start()
    assert "after starting" in checker.call("PUT", "/network-interfaces/nic2", nic(2))[1]
    checker.good("PATCH", "/vm", {"state": "Paused"})
    checker.good("PUT", "/snapshot/create", {"mem_file_path": "/box/m", "snapshot_path": "/box/s"})
    other = Checker(tmp_path / "other")
    try:
        for name in "ms":
            (other.root / "box" / name).write_bytes((checker.root / "box" / name).read_bytes())
        load = {"snapshot_path": "/box/s", "mem_backend": {"backend_type": "File", "backend_path": "/box/m"}}
        change = {"network_overrides": [{"iface_id": "nic2", "host_dev_name": "tap2"}]}
        assert "Unknown Network Device: nic2" in other.call("PUT", "/snapshot/load", {**load, **change})[1]
    finally:
        other.stop()


def test_the_checker_refuses_the_wrong_order(checker, tmp_path):
    checker.start()
    for method, path, body in (("PUT", "/machine-config", MACHINE), ("PUT", "/drives/disk", drive("disk", False)),
                               ("PUT", "/actions", {"action_type": "InstanceStart"}),
                               ("PUT", "/snapshot/load", {"snapshot_path": "/box/s", "mem_file_path": "/box/m"})):
        assert "after starting" in checker.call(method, path, body)[1]
    save = {"mem_file_path": "/box/m", "snapshot_path": "/box/s", "snapshot_type": "Full"}
    assert "unavailable while running" in checker.call("PUT", "/snapshot/create", save)[1]
    checker.good("PATCH", "/vm", {"state": "Paused"})
    checker.good("PUT", "/snapshot/create", save)
    other = Checker(tmp_path / "other")
    try:
        for name in "ms":
            (other.root / "box" / name).write_bytes((checker.root / "box" / name).read_bytes())
        load = {"snapshot_path": "/box/s", "mem_backend": {"backend_type": "File", "backend_path": "/box/m"}}
        other.good("PUT", "/machine-config", MACHINE)
        assert "not allowed after configuring" in other.call("PUT", "/snapshot/load", load)[1]
    finally:
        other.stop()


def handshake(path, line):
    link = socket.socket(socket.AF_UNIX)
    link.settimeout(harness.DEADLINE_S)
    link.connect(path)
    link.sendall(line)
    said = link.recv(100)
    link.close()
    return said


def test_the_checker_takes_one_handshake_only(checker):
    checker.start()
    agent = socket.socket(socket.AF_UNIX)
    agent.bind(str(checker.root / "agent.sock"))
    agent.listen()
    vsock = str(checker.root / "box/v")
    assert handshake(vsock, b"CONNECT 52\n") == b"OK 1073741824\n" and handshake(vsock, b"CONNECT 53\n") == b"OK 1073741825\n"
    for line in (b"CONNECT 54\n", b"CONNECT 5\n", b"connect 52\n", b"CONNECT 52\r\n", b"CONNECT  52\n", b"x" * 32):
        assert handshake(vsock, line) == b""
    checker.good("PATCH", "/vm", {"state": "Paused"})
    assert handshake(vsock, b"CONNECT 52\n") == handshake(vsock, b"CONNECT 53\n") == b""
    agent.close()


def note(**more):
    """A good one: the interface is given back."""
    return {**dict.fromkeys(("nofile", "shm", "pids", "flags", "zero", "prefix", "address", "gateway"), 0), "what": fcwarden.UNPLUG, "realtime": time.time_ns(),
            "token": b"t" * 16, "seed": b"s" * 64, "mac": bytes([2, 0x69, 0x76, 0x6D, 0, 1]), "nic2": bytes(16), "hostname": b"", "workdir": bytes(1024), **more}


def test_the_played_warden_takes_notes_only():
    warden = fcwarden.Warden(lambda: True)
    warden.taps = {note()["mac"][:5] + bytes([i]): None for i in range(5)}
    assert warden.take(note()) == -errno.EACCES  # nobody has entered
    warden.token = b"t" * 16
    assert warden.take(note()) == 0 and warden.take(note(token=b"x" * 16)) == -errno.EACCES
    plug = {"what": fcwarden.PLUG, "address": 0x0A400002, "prefix": 24, "hostname": b"net0"}
    for more in ({"what": fcwarden.ENTER}, {"what": 10}, {"realtime": 0}, {"seed": bytes(64)}, {"nofile": 1}, {"flags": 1}, {"zero": 1}, {"nic2": b"1" * 16},
                 {"workdir": b"/" * 1024}, {"mac": bytes([2, 0x69, 0x76, 0x6D, 0, 0])}, {"mac": bytes([2, 0x69, 0x76, 0x6D, 0, 5])}, {"address": 1},
                 {"hostname": b"net0"}, {**plug, "address": 0}, {**plug, "prefix": 0}, {**plug, "prefix": 33}, {**plug, "hostname": b""}, {**plug, "hostname": b"eth0"}, {**plug, "gateway": 1}):
        with pytest.raises(fcwarden.NoNote):
            warden.take(note(**more))


# --- libkrun ---

LINE = "console=ttyS0 iii.channel=vsock"
CALLS = ["krun_set_log_level", "krun_create_ctx", "krun_set_vm_config", "krun_set_kernel", "krun_add_disk",
         "krun_add_disk", "krun_disable_implicit_vsock", "krun_add_vsock", "krun_add_vsock_port2",
         "krun_disable_implicit_console", "krun_add_serial_console_default", "krun_start_enter"]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A folder with the stand-in as libkrun.so.1; a second one with what a library before 1.17 has."""
    folders = []
    for flags in ([], ["-DOLD"]):
        folder = tmp_path_factory.mktemp("krun")
        subprocess.run([os.environ.get("CC", "cc").split()[-1], "-Wall", "-Werror", "-shared", "-fPIC", *flags, "-o",
                        folder / "libkrun.so.1", VMM / "standin_krun.c"], check=True)
        folders.append(str(folder))
    return folders


def krun(folder, *args, **env):
    done = subprocess.run([harness.BINARY, "--krun-vm", *args], capture_output=True, text=True, timeout=harness.DEADLINE_S,
                          env={"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": folder, **env}, check=False)
    return done.returncode, done.stdout.split(), done.stderr


def test_a_krun_machine_is_made_by_the_librarys_calls_in_order(library):
    assert krun(library[0], "3", "640", LINE) == (0, CALLS, "")


@pytest.mark.parametrize("call", sorted(set(CALLS)))
def test_a_call_that_fails_ends_the_machine_with_its_reason(library, call):
    code, calls, said = krun(library[0], "3", "640", LINE, KRUN_FAIL=call)
    assert code == 1 and calls == CALLS[:CALLS.index(call) + 1]
    assert said.startswith("libkrun: ") and said.endswith(": Operation not permitted\n"), said


def test_the_stand_in_refuses_wrong_values(library):
    for args in (("2", "640", LINE), ("3", "641", LINE), ("3", "640", "quiet")):
        code, _, said = krun(library[0], *args)
        assert code == 1 and "wrong arguments" in said


def test_a_library_that_would_open_the_hosts_network_is_refused(library):
    code, calls, said = krun(library[1], "3", "640", LINE)
    assert (code, calls) == (1, []) and said == "libkrun.so.1 is too old: it lacks krun_disable_implicit_vsock\n"


def test_krun_wants_numbers_and_a_library(tmp_path):
    for args in ((), ("3", "640"), ("0", "640", LINE), ("256", "640", LINE), ("3", "-1", LINE), ("3x", "640", LINE),
                 ("3", "9999999", LINE), ("3", "640", LINE, "more")):
        assert krun(str(tmp_path), *args)[0] == 2, args
    assert krun(str(tmp_path), "3", "640", LINE)[2] == "libkrun.so.1 is not installed\n"


# --- iii doctor ---

def doctor(home, **env):
    done = subprocess.run([harness.BINARY, "doctor", "--json"], capture_output=True, text=True, timeout=harness.DEADLINE_S,
                          env=harness.clean_env({"HOME": str(home), "III_DATA_DIR": str(home / "data"), **env}), check=False)
    return {row["name"]: row for row in json.loads(done.stdout)["checks"]}


def test_doctor_names_what_qemu_lacks(tmp_path):
    rows = doctor(tmp_path, III_BACKENDS="native,qemu")
    assert (rows["qemu"]["ok"], rows["qemu"]["fix"]) == (bool(shutil.which("qemu-system-x86_64")), "apt-get install qemu-system-x86")
    assert rows["microVM drives"]["ok"] == all(shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin") for name in ("mkfs.erofs", "mkfs.ext4"))
    assert not rows["microVM kernel"]["ok"] and "iii vm setup" in rows["microVM kernel"]["fix"]
    assert not {"firecracker", "krun library"} & set(rows) and not any(row["required"] for name, row in rows.items() if "microVM" in name)


def test_doctor_names_what_is_missing_for_whom_it_concerns(library, tmp_path):
    assert not {"qemu", "microVM drives", "microVM KVM", "microVM kernel"} & set(doctor(tmp_path))
    rows = doctor(tmp_path, III_ISOLATION_BACKEND="firecracker", III_BACKENDS="krun",
                  III_VM_FIRECRACKER=str(tmp_path / "none"), III_VM_LIBKRUN=str(tmp_path / "none.so"))
    for name, detail, fix in (("firecracker", "none", "III_VM_FIRECRACKER"),
                              ("krun library", "cannot be loaded", "III_VM_LIBKRUN"),
                              ("microVM kernel", "vm setup", "iii vm setup")):
        row = rows[name]
        assert not row["ok"] and not row["required"] and detail in row["detail"] and fix in row["fix"], row
    assert "hardware virtualization" in rows["microVM KVM"]["fix"]
    rows = doctor(tmp_path, III_VM_LIBKRUN=library[1] + "/libkrun.so.1", III_VM_FIRECRACKER="/usr/bin/true")
    assert rows["firecracker"]["ok"] and "krun_disable_implicit_vsock" in rows["krun library"]["detail"]
    assert doctor(tmp_path, III_VM_LIBKRUN=library[0] + "/libkrun.so.1")["krun library"]["ok"]
