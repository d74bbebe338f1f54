"""`iii doctor --escape` as root and as an ordinary user, and its probes outside a sandbox, where they must succeed."""
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "blackbox"))

import harness  # noqa: E402

USER = 65534
PROBE = harness.BINARY.parent / "src" / "escape" / "iii-probe"
IN_MACHINE = harness.BACKEND == "qemu"
ITEMS = {1, 2, 5, 6, 7, 8, 10, 12, 14, 15, 17} | ({18} if IN_MACHINE else set())


def as_user():
    return ["setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups"]


def why_not_user():
    if not harness.IS_ROOT:
        return "the suite runs as an ordinary user already"
    probe = subprocess.run([*as_user(), "unshare", "-Ur", "true"], capture_output=True, text=True, check=False)
    return "user namespaces are not for ordinary users here: " + probe.stderr.strip() if probe.returncode else ""


@pytest.fixture
def folder():
    """A data folder that an ordinary user may have too."""
    made = pathlib.Path(tempfile.mkdtemp(prefix="iii-e-"))
    if IN_MACHINE:
        with tempfile.TemporaryDirectory(prefix="iii-e-") as filled:
            harness.qemukit.fill(pathlib.Path(filled) / "data", harness.BINARY, harness.make_template)
            shutil.copytree(pathlib.Path(filled) / "data" / "vm" / "kit", made / "vm" / "kit")
    yield made
    shutil.rmtree(made, ignore_errors=True)


def suite(folder, user=None):
    for path in [folder, *folder.rglob("*")] if user is not None else []:
        os.chown(path, user, user)
    done = harness.run_cli("doctor", "--escape", "--json", "--backend", harness.BACKEND, env={"III_DATA_DIR": folder, "HOME": folder}, user=user, timeout_s=400)
    assert done.stdout, done.stderr
    answer = json.loads(done.stdout)
    got_out = [row for row in answer["rows"] if row["result"] == "reached"]
    assert not got_out, got_out
    assert done.returncode == 0 and answer["ok"]
    return answer["rows"]


def nothing_left(folder):
    assert os.listdir(folder) == (["vm"] if IN_MACHINE else [])
    assert str(folder) not in pathlib.Path("/proc/self/mountinfo").read_text()


def test_nothing_gets_out(folder):
    rows = suite(folder)
    assert {row["item"] for row in rows} == ITEMS
    assert sum(row["result"] == "denied" for row in rows) > 350
    nothing_left(folder)


@pytest.mark.skipif(bool(why_not_user()), reason=why_not_user() or "runs")
def test_nothing_gets_out_as_an_ordinary_user(folder):
    rows = suite(folder, USER)
    assert {row["item"] for row in rows} == ITEMS
    assert sum(row["result"] == "denied" for row in rows) > 350
    nothing_left(folder)


ONCE = pytest.mark.skipif(IN_MACHINE, reason="the same on every backend")


@ONCE
def test_the_report_is_for_people(folder):
    done = harness.run_cli("doctor", "--escape", "--all", env={"III_DATA_DIR": folder}, timeout_s=180)
    assert done.returncode == 0 and "Nothing got out:" in done.stdout, done.stdout
    assert "Namespaces and system calls" in done.stdout and "denied   unshare: new user namespace" in done.stdout
    for wrong in ("--frobnicate", "docker"):
        bad = harness.run_cli("doctor", "--escape", *(["--backend"] if wrong == "docker" else []), wrong)
        assert bad.returncode == 2 and wrong in bad.stderr


# What cannot be reached outside either, and why. Rows that the probe itself skips say their reason.
CLOSED_OUTSIDE = {
    "init_module": "kernels without modules", "finit_module": "kernels without modules", "delete_module": "kernels without modules",
    "kexec_load": "kernels without kexec", "kexec_file_load": "kernels without kexec", "iopl": "kernels without port access",
    "ioperm": "kernels without port access", "namespace ioctl: NS_MNT_GET_NEXT": "newer kernels ask for more than root of a namespace",
    "namespace ioctl: NS_MNT_GET_PREV": "the same", "inheritable capabilities": "root has none either",
    "file with capabilities": "a user without capabilities may be kept from it by its bounding set", "pidfd ioctl: namespace handle 9": "kernels without",
    "kernel log": "hosts with dmesg_restrict", "userfaultfd": "kernels without", "quotactl": "kernels without quotas", "acct": "kernels without accounting",
}
MAY_BE_MISSING = ("read ", "list ", "write ")  # files and folders that not every kernel has


def outside(*more):
    """Runs the probes without a sandbox, in throw-away namespaces in which we are root, so that they cannot harm even by mistake.
    They inherit a folder of ours: the handle that must never leak."""
    argv = ["unshare", *([] if harness.IS_ROOT else ["-Ur"]), "-m", "-p", "-f", "-n", "-u", "-i", "--mount-proc", str(PROBE), "--outside", *more]
    leaked = os.open("/", os.O_RDONLY)
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False, pass_fds=[leaked])
    finally:
        os.close(leaked)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@ONCE
def test_the_same_probes_reach_it_outside():
    """A probe that cannot succeed proves nothing."""
    if not harness.IS_ROOT:
        pytest.skip("needs root: an ordinary user is refused most of it by the kernel itself")
    uptime = int(time.clock_gettime(time.CLOCK_BOOTTIME))
    marker = pathlib.Path(tempfile.mkstemp(prefix="iii-e-")[1])
    try:
        marker.write_text("open to all")
        rows = outside("--host", socket.gethostname(), "--uptime", str(uptime), "--marker", str(marker), "--secret", "open to all")
    finally:
        marker.unlink()
    closed = [row for row in rows if row["result"] == "denied" and row["name"] not in CLOSED_OUTSIDE and not row["name"].startswith(MAY_BE_MISSING)]
    assert not closed, closed
    assert sum(row["result"] == "reached" for row in rows) > 150
    for word in ("mount", "bpf", "io_uring_setup", "unshare: new user namespace", "clone3: new net namespace", "32-bit entry: getpid", "socket: AF_PACKET",
                 "TIOCSTI types into a terminal", "set-uid program", "capabilities that count outside", "mount cgroup v2", "read /proc/kallsyms",
                 "write /proc/sys/kernel/core_pattern", "inherited descriptors", "the host's files through a descriptor", "name of the host", "time since the host's start", "a file of the host by its path"):
        assert any(row["name"] == word and row["result"] == "reached" for row in rows), word
