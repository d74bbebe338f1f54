"""Counters of the kernel that no limit of one user bounds: open files, and the memory of sockets. Whoever takes half of what the host has is
ended, and nobody else notices. Each takes a large part of the host's, and some seconds: with --all."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "blackbox"))

import harness  # noqa: E402
from test_escape_counters import EXHAUST  # noqa: E402

pytestmark = pytest.mark.skipif(not harness.IS_ROOT or harness.BACKEND != "native", reason="the launcher of a server that root started ends it")


def file_max():
    return int(pathlib.Path("/proc/sys/fs/file-max").read_text())


@pytest.mark.parametrize("name", ["files", "flight", "sockets"])
def test_who_takes_half_of_it_is_ended(new_sandbox, client, name):
    if name != "sockets" and file_max() > 10**8:
        pytest.skip("this host's memory is used up before its table of open files is full")
    good, bad = (new_sandbox(memory=2048, pids=400)["id"] for _ in range(2))
    for sid in (good, bad):
        client.ok("POST", f"/sandboxes/{sid}/files/write", {"path": "exhaust.py", "content": EXHAUST.read_text()})
    client.ok("POST", f"/sandboxes/{bad}/exec/background", {"command": ["python3", "exhaust.py", name]})

    def is_ended():
        done = client.exec(good, ["python3", "exhaust.py", "--need", name])
        assert done["exitCode"] == 0, done
        return client.get(f"/sandboxes/{bad}").status == 404

    harness.wait_until(is_ended, "the one that takes all to be ended", 4 * harness.DEADLINE_S)
    events = client.ok("GET", f"/events/history?sandboxId={bad}")["events"]
    why = [e["data"]["error"] for e in events if e["topic"] == "sandbox.error"]
    assert len(why) == 1 and ("fs.file-max" in why[0] or "tcp_mem" in why[0]), events
    assert client.exec(good, "echo still here")["stdout"] == "still here\n"


def test_watches_of_one_are_not_those_of_another(new_sandbox, client):
    good, bad = (new_sandbox()["id"] for _ in range(2))
    for sid in (good, bad):
        client.ok("POST", f"/sandboxes/{sid}/files/write", {"path": "exhaust.py", "content": EXHAUST.read_text()})
    client.ok("POST", f"/sandboxes/{bad}/exec/background", {"command": ["python3", "exhaust.py", "inotify_watches"]})
    harness.wait_until(lambda: client.post(f"/sandboxes/{bad}/files/read", {"path": "inotify_watches.held"}).status == 200, "all watches to be taken")
    assert client.exec(good, ["python3", "exhaust.py", "--need", "inotify_watches"])["exitCode"] == 0
