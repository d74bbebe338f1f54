"""The host's /usr in a sandbox: root of the sandbox reads what every user of the host may read, and sees nothing of what others do with it."""
import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "blackbox"))

import harness  # noqa: E402

pytestmark = [pytest.mark.skipif(not harness.IS_ROOT or harness.BACKEND != "native", reason="puts files into /usr, which only the native backend mounts"),
              harness.needs("hostFiles")]
WATCH = """
import ctypes, select, sys
libc = ctypes.CDLL(None)
watch = libc.inotify_init1(0)
assert libc.inotify_add_watch(watch, sys.argv[1].encode(), 0x20 | 1) > 0
print("ready", flush=True)
print("seen" if select.select([watch], [], [], float(sys.argv[2]))[0] else "nothing", flush=True)
"""


@pytest.fixture
def private():
    """Files that only root of the host may read, among those that everybody may."""
    folder = pathlib.Path("/usr/local") / f"iii-escape-{os.getpid()}"
    (folder / "closed").mkdir(parents=True)
    files = {"open": 0o644, "secret": 0o600, "group": 0o640, "closed/inside": 0o644, "program": 0o711}
    for name, mode in files.items():
        (folder / name).write_text("#!/bin/true\n")
        (folder / name).chmod(mode)
    (folder / "closed").chmod(0o700)
    yield folder
    for name in files:
        (folder / name).unlink(missing_ok=True)
    (folder / "closed").rmdir()
    (folder / "later").unlink(missing_ok=True)
    folder.rmdir()


def read(client, sid, path):
    return client.exec(sid, ["cat", str(path)])["exitCode"] == 0


def test_what_only_root_of_the_host_reads_root_of_a_sandbox_does_not(client, sandbox, private):
    assert read(client, sandbox, private / "open")
    for name in ("secret", "group", "closed/inside", "program"):
        assert not read(client, sandbox, private / name), name
        reply = client.post(f"/sandboxes/{sandbox}/files/read", {"path": str(private / name)})
        assert reply.status != 200, reply
    assert client.exec(sandbox, ["ls", str(private / "closed")])["exitCode"] != 0
    assert client.exec(sandbox, ["chmod", "644", str(private / "secret")])["exitCode"] != 0
    (private / "later").write_text("made while the sandbox runs")
    (private / "later").chmod(0o600)
    assert not read(client, sandbox, private / "later")


def test_nobody_sees_what_others_run(client, sandbox, private):
    """An inode of the host that two see tells each what the other opens."""
    path = private / "open"
    job = client.ok("POST", f"/sandboxes/{sandbox}/exec/background", {"command": ["python3", "-c", WATCH, str(path), "2"]})
    logs = lambda: client.ok("GET", f"/exec/background/{job['id']}/logs")["output"].split()  # noqa: E731
    harness.wait_until(lambda: "ready" in logs(), "the watch")
    path.read_text()
    subprocess.run(["cat", str(path)], check=True, capture_output=True)
    harness.wait_until(lambda: len(logs()) == 2, "the end of the watch")
    assert logs() == ["ready", "nothing"]
    mine = client.ok("POST", f"/sandboxes/{sandbox}/exec/background", {"command": ["python3", "-c", WATCH, str(path), "30"]})
    own = lambda: client.ok("GET", f"/exec/background/{mine['id']}/logs")["output"].split()  # noqa: E731
    harness.wait_until(lambda: "ready" in own(), "the second watch")
    assert read(client, sandbox, path)
    harness.wait_until(lambda: own() == ["ready", "seen"], "the sandbox to see what it does itself")


def test_a_lock_of_one_is_not_that_of_another(client, new_sandbox, private):
    """Two sandboxes that lock the same file would be a channel between tenants."""
    first, second = (new_sandbox()["id"] for _ in range(2))
    lock = f"import fcntl, time\nf = open('{private / 'open'}')\nfcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)\nprint('locked', flush=True)\n"
    job = client.ok("POST", f"/sandboxes/{first}/exec/background", {"command": ["python3", "-c", lock + "time.sleep(600)"]})
    harness.wait_until(lambda: client.ok("GET", f"/exec/background/{job['id']}/logs")["output"] == "locked\n", "the lock")
    assert client.exec(second, ["python3", "-c", lock])["stdout"] == "locked\n"
