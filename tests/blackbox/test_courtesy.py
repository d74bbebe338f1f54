"""Sandboxes that burn all CPU time get only what others leave, until they rest: the native backend's control groups."""
import os
import time
import uuid

import pytest

import harness
import leak

pytestmark = pytest.mark.skipif(not harness.IS_ROOT, reason="an ordinary user may have no limits; iii doctor reports it")


def yielding(folder):
    """Whether a control group gets only what others leave; None: it is gone."""
    for name, heavy in (("cpu.idle", "1"), ("cpu.shares", "2"), ("cpu.weight", "1")):
        try:
            with open(f"{folder}/{name}", encoding="utf-8") as f:
                return f.read().strip() == heavy
        except FileNotFoundError:
            continue
    return None


def pid_of(marker):
    """The process whose last argument is marker."""
    return next((pid for pid in filter(str.isdigit, os.listdir("/proc")) if leak.read(f"/proc/{pid}/cmdline").endswith(f"{marker}\0")), None)


def cpu_folder(marker):
    """Its control group, of the tree with the CPU controller."""
    pid = pid_of(marker)
    return pid and next(f for f in leak.cgroup_folders(pid) if os.path.exists(f"{f}/cpu.idle") or os.path.exists(f"{f}/cpu.weight"))


def is_host_busy(boxes):
    """Whether the host uses about half of its CPU time beside the boxes, whose groups are all below one of these folders: then it goes not first."""
    def used_s():
        with open("/proc/stat", encoding="ascii") as f:
            user, nice, system, _, _, irq, softirq = map(int, f.readline().split()[1:8])
        of_boxes = max(int(words[1]) for folder in boxes for words in map(str.split, leak.read(f"{folder}/cpu.stat").splitlines()) if words[0] == "usage_usec")
        return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK") - of_boxes / 1e6

    begun, before = time.monotonic(), used_s()
    time.sleep(1)
    return used_s() - before > 0.5 * (os.cpu_count() or 1) * (time.monotonic() - begun)


@pytest.mark.skipif((os.cpu_count() or 1) > 4, reason="it takes a burning sandbox for each CPU")
def test_who_burns_all_yields_until_he_rests(new_sandbox, client):
    burners = {new_sandbox(memory=64)["id"]: uuid.uuid4().hex for _ in range((os.cpu_count() or 1) + 1)}
    resting = new_sandbox(memory=64)["id"]
    sleeper = uuid.uuid4().hex
    client.ok("POST", f"/sandboxes/{resting}/exec/background", {"command": ["sh", "-c", "sleep 600; :", sleeper]})
    for sid, marker in burners.items():
        client.ok("POST", f"/sandboxes/{sid}/exec/background", {"command": ["sh", "-c", "while :; do :; done", marker]})
    harness.wait_until(lambda: cpu_folder(sleeper) and all(cpu_folder(m) for m in burners.values()), "all at work")
    folders = [cpu_folder(m) for m in burners.values()]
    if not any(os.path.exists(f"{f}/cpu.idle") for f in folders):
        pytest.skip("this kernel has no idle class for groups")
    harness.wait_until(lambda: sum(map(yielding, folders)) >= len(folders) - 1, "burning sandboxes yield")
    assert not yielding(cpu_folder(sleeper)), "one that rests was made to yield"
    parent = os.path.dirname(folders[0])
    parents = [os.path.dirname(f) for f in leak.cgroup_folders(pid_of(sleeper))]
    harness.wait_until(lambda: yielding(parent) or is_host_busy(parents), "all together yield to a host that is calm")
    first = next(iter(burners))
    client.ok("POST", f"/sandboxes/{first}/pause")
    client.ok("POST", f"/sandboxes/{first}/resume")
    for sid in burners:
        assert client.exec(sid, "echo still served")["stdout"] == "still served\n"
        client.exec(sid, "pkill -9 -f 'while :' || kill -9 -1")
    harness.wait_until(lambda: not any(map(yielding, folders)), "nobody yields who rests")
    harness.wait_until(lambda: not yielding(parent), "all together are the host's equals again")
