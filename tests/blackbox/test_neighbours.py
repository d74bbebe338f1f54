"""Five hostile sandboxes beside a well-behaved one: it goes on working, and killing them ends all they started. How much slower it gets is
measured by the benchmark (neighbour_p99); here only generous deadlines hold."""
import threading
import time

import pytest

import harness

pytestmark = pytest.mark.skipif(not harness.IS_ROOT, reason="an ordinary user may have no limits; iii doctor reports it")
ROUNDS = 10 if harness.IS_SANITIZED else 30
SLOWEST_S = 20

FORK = "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass"
FDS = "import os\nwhile True:\n  f = []\n  try:\n    while True: f.append(open('/dev/null'))\n  except OSError: pass"
BOMBS = {
    "forks": ["python3", "-c", FORK],
    "memory": "while :; do python3 -c 'x = bytearray(1 << 30)'; done",
    "disk": "while :; do dd if=/dev/zero of=/tmp/f bs=1M 2>/dev/null; rm -f /tmp/f; done",
    "descriptors": ["python3", "-c", FDS],
}


def flood(server, sid, ended):
    """Reads an endless stream until its sandbox is killed."""
    reader = server.client()
    try:
        for _ in reader.events("POST", f"/sandboxes/{sid}/exec/stream", {"command": ["yes"], "timeout": 250}):
            pass
    except (AssertionError, OSError, ValueError):
        pass
    finally:
        ended.set()


def test_a_good_sandbox_works_beside_five_bombs(new_sandbox, client, server):
    good = new_sandbox()["id"]
    ids = {name: new_sandbox(memory=64, diskMb=32, pids=64)["id"] for name in (*BOMBS, "output")}
    for name, command in BOMBS.items():
        client.ok("POST", f"/sandboxes/{ids[name]}/exec/background", {"command": command})
    ended = threading.Event()
    reader = threading.Thread(target=flood, args=(server, ids["output"], ended), daemon=True)
    reader.start()
    harness.wait_until(lambda: client.ok("GET", f"/sandboxes/{ids['forks']}/metrics")["pids"] >= 60, "the fork bomb at its limit")
    harness.wait_until(lambda: client.ok("GET", f"/sandboxes/{ids['memory']}/metrics")["oomKills"] >= 1, "the memory bomb at its limit")
    for i in range(ROUNDS):
        begun = time.monotonic()
        assert client.exec(good, f"echo {i} > /workspace/f; cat /workspace/f")["stdout"] == f"{i}\n"
        client.ok("POST", f"/sandboxes/{good}/files/write", {"path": "g", "content": str(i)})
        assert time.monotonic() - begun < SLOWEST_S
    another = new_sandbox()["id"]  # and new ones can be made
    assert client.exec(another, "echo hi")["stdout"] == "hi\n"
    assert not ended.is_set(), "the flood ended by itself"
    server.held.look(server.pid)
    for sid in ids.values():
        client.ok("DELETE", f"/sandboxes/{sid}")
    reader.join(harness.DEADLINE_S)
    assert ended.is_set()
    assert client.exec(good, "echo still here")["stdout"] == "still here\n"
    left = {sid for sid in ids.values() if client.get(f"/sandboxes/{sid}").status != 404}
    assert not left
    # leak.py proves at the end of the file that every process, cgroup, mount and loop device of the bombs is gone
