"""What a server's virtual machines look like from outside: their monitors' processes, and what is left of them in the data folder."""
import os
import pathlib
import re

import leak

UID_FIRST, UIDS = 0x71000000, 0x0E000000


def is_monitor(pid):
    status = leak.read(f"/proc/{pid}/status")
    uid = re.search(r"^Uid:\s+(\d+)", status, re.M)
    return bool(uid) and UID_FIRST <= int(uid[1]) < UID_FIRST + UIDS and not re.search(r"^State:\s+Z", status, re.M)


def monitors(server):
    """{pid: start time} of the monitors below a server that runs."""
    return {pid: start for pid, start in leak.descendants(server.pid).items() if is_monitor(pid)}


def lives(monitor):
    pid, start = monitor
    fields = leak.stat_fields(pid)
    return bool(fields) and fields[1] == start


def field(pid, name):
    return re.search(rf"^{name}:[ \t]*(.*)$", leak.read(f"/proc/{pid}/status"), re.M)[1]


def machines(server):
    """Names of machines that have sockets, or a folder with their drive."""
    top = pathlib.Path(server.data_dir) / "vm"
    return sorted({path.name.split(".")[0] for folder in ("run", "boxes") for path in (top / folder).iterdir()})


def half_made(server):
    return [str(path) for path in (pathlib.Path(server.data_dir) / "vm").glob("*/*.new")]


def saved(server):
    return sorted(os.listdir(pathlib.Path(server.data_dir) / "vm" / "snaps"))
