"""A monitor that was taken over (checklist 18): the probe itself in its place, in the jail that monitors run in. What it does there must be as
fruitless as in a sandbox, and end with its machine."""
import json
import os
import pathlib
import sys
import threading

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "blackbox"))

import fckit  # noqa: E402
import harness  # noqa: E402
import leak  # noqa: E402
import vmwatch  # noqa: E402

pytestmark = fckit.marks

PROBE = harness.BINARY.parent / "src" / "escape" / "iii-probe"


def report(server):
    """The rows, when it is through."""
    for path in (server.data_dir / "vm" / "run").glob("*.box/report"):
        rows = [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]
        if rows and rows[-1]["name"] == "done":
            return rows
    return None


@pytest.fixture
def taken(bait):
    """A server whose Firecracker is the probe, the rows that it has written, and its process."""
    stage = fckit.Stage(program=PROBE)
    answers = []
    work = threading.Thread(target=lambda: answers.append(stage.server.client(timeout_s=200).post("/sandboxes", {"image": "test/base:1"})))
    try:
        work.start()
        rows = harness.wait_until(lambda: report(stage.server), "the report of the monitor", 150)
        (pid,) = vmwatch.monitors(stage.server)
        yield stage.server, rows, pid
        work.join(200)
        assert answers and answers[0].status >= 500, answers  # it never opens its API
        harness.wait_until(lambda: not vmwatch.machines(stage.server), "the end of the machine")
    finally:
        stage.end()


# What a probe counts as reached because it cannot see otherwise: there is no /proc in that root. Each is looked at from outside below.
BLIND = {"inherited descriptors", "descriptor 0", "descriptor 1", "descriptor 2", "own program file", "own root link", "capabilities that count outside",
         "inheritable capabilities", "no system call filter", "oom_score_adj -1000", "name of the own control group"}
# The first process of its namespace is the monitor itself: it may do with its own what it likes.
ITSELF = {f"{what} the first process" for what in ("ptrace of", "process_vm_readv of", "process_vm_writev of", "pidfd_getfd of", "kcmp with")}


def test_a_monitor_that_was_taken_over_gets_nowhere(taken, bait):
    server, rows, pid = taken
    reached = {(row["name"], row["detail"]) for row in rows if row["result"] == "reached" and row["name"] not in BLIND | ITSELF}
    reached -= {("hardware in /dev", "there are kvm net/tun")}  # what Firecracker runs its guest with, and opens its tap by
    assert not reached, reached
    assert sum(row["result"] == "denied" for row in rows) > 250
    for name in ("mount", "unshare: new user namespace", "setns", "add_key", "bpf", "io_uring_setup", "socket: AF_VSOCK"):
        assert any(row["name"] == name and row["result"] == "denied" for row in rows), name
    root = pathlib.Path(f"/proc/{pid}/root")
    assert not (root / str(bait.file)[1:]).exists() and not (root / str(server.data_dir)[1:]).exists()
    assert not (root / "proc").exists() and {path.name for path in (root / "dev").iterdir()} <= {"null", "kvm", "net"}
    assert all(int(vmwatch.field(pid, name), 16) == 0 for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"))
    assert vmwatch.field(pid, "Seccomp") == "2" and vmwatch.field(pid, "NoNewPrivs") == "1" and vmwatch.field(pid, "Groups").strip() == ""
    assert {fd: os.readlink(f"/proc/{pid}/fd/{fd}").split("/")[-1].split(":")[0] for fd in os.listdir(f"/proc/{pid}/fd")} == {
        "0": "null", "1": "report", "2": "pipe"}
    assert all(name not in leak.namespaces("self") for name in leak.namespaces(pid) if name.split(":")[0] in ("mnt", "pid", "net", "ipc", "uts"))
    with server.client() as caller:
        assert caller.get("/health").status == 200
