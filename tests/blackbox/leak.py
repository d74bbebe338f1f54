"""What a server holds of the machine, and proof that it gave everything back.

Parallel tests must not count each other's things, so everything is keyed: processes by descent from our server (pid and
start time, collected while they live, since orphans move to init), cgroups by what those processes were in,
mounts, sockets and folders by the data folder's path. Numbers of namespaces are used again by the kernel at once, so they are counted only
while the server lives; a namespace that outlived its processes would need a mount or a descriptor, and both are looked for."""
import contextlib
import os
import pathlib
import re
import signal

import harness


def read(path):
    try:
        return pathlib.Path(path).read_text(errors="replace")
    except OSError:  # also ENODEV, of a control group that goes between open and read
        return ""


def stat_fields(pid):
    """(parent pid, start time) or None."""
    text = read(f"/proc/{pid}/stat")
    if not text:
        return None
    fields = text[text.rindex(")") + 2:].split()
    return (int(fields[1]), int(fields[19])) if fields[0] != "Z" else None


def pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def inner_pid(pid):
    """The number of a process in the namespace just below ours; None for one that is in ours."""
    numbers = re.search(r"^NSpid:\s+(.*)$", read(f"/proc/{pid}/status"), re.M)
    return int(numbers[1].split()[1]) if numbers and len(numbers[1].split()) == 2 else None


def cpu_ticks(pid):
    """User and system time of a process."""
    return sum(int(n) for n in read(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()[11:13])


def descendants(root_pid):
    """{pid: start time} of everything below root_pid, without it."""
    children, starts = {}, {}
    for pid in pids():
        fields = stat_fields(pid)
        if fields:
            children.setdefault(fields[0], []).append(pid)
            starts[pid] = fields[1]
    found, todo = {}, [root_pid]
    while todo:
        for child in children.get(todo.pop(), []):
            found[child] = starts[child]
            todo.append(child)
    return found


def cgroup_folders(pid):
    """The folders under /sys/fs/cgroup that the process is in."""
    folders = set()
    for line in read(f"/proc/{pid}/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if path == "/":
            continue
        for top in cgroup_tops(controllers):
            folder = pathlib.Path(top + path)
            if folder.is_dir():
                folders.add(str(folder))
    return folders


def cgroup_tops(controllers):
    base = "/sys/fs/cgroup"
    if not controllers:
        return [base + "/unified"] if os.path.isdir(base + "/unified") else [base]
    return [f"{base}/{controllers.removeprefix('name=')}", *(f"{base}/{c}" for c in controllers.split(","))]


def families(cgroups):
    """{(folder above, key)} of cgroups called <key of the data folder>-<box>."""
    return {(os.path.dirname(c), os.path.basename(c).split("-")[0]) for c in cgroups if "-" in os.path.basename(c) and not c.endswith("/iii-sandbox")}


def namespaces(pid):
    found = set()
    try:
        for name in os.listdir(f"/proc/{pid}/ns"):
            found.add(os.readlink(f"/proc/{pid}/ns/{name}"))
    except OSError:
        pass
    return found


def mounts(key):
    return [line for line in read("/proc/self/mountinfo").splitlines() if key in line]


def unix_sockets(key):
    return [line for line in read("/proc/net/unix").splitlines() if key in line]


def loops(data_dir):
    """Loop devices with a file of the data folder behind them, also one that is deleted."""
    found = []
    for path in pathlib.Path("/sys/block").glob("loop*/loop/backing_file"):
        if str(data_dir) in read(path):
            found.append(path.parts[3])
    return found


def fds(pid):
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def folders(data_dir):
    """What boxes and half-made images have in the data folder."""
    found = []
    for pattern in ("boxes/*", "run/*.sock", "images/tmp/*", "vm/boxes/*", "vm/run/*", "vm/bases/*.new", "vm/templates/*.new*"):
        found += [str(p) for p in pathlib.Path(data_dir).glob(pattern)]
    return sorted(found)


class Holdings:
    """Collects, over a server's life, what it ever held; `left()` says what is still there."""

    def __init__(self, data_dir):
        self.data_dir = str(data_dir)
        self.processes, self.cgroups = {}, set()
        self.own_cgroups = cgroup_folders("self")

    def look(self, server_pid):
        """Remembers what the server holds now. Cheap enough to be called often."""
        server_cgroups = cgroup_folders(server_pid) | self.own_cgroups
        for pid, start in descendants(server_pid).items():
            self.processes[pid] = start
            self.cgroups |= cgroup_folders(pid) - server_cgroups

    def left(self):
        """What is still there of all that was seen: a list of sentences, empty when nothing."""
        found = []
        for pid, start in self.processes.items():
            fields = stat_fields(pid)
            if fields and fields[1] == start:
                found.append(f"process {pid}: {read(f'/proc/{pid}/cmdline').replace(chr(0), ' ')[:100]}")
        found += [f"cgroup {c} with processes {read(c + '/cgroup.procs').split()}" for c in self.cgroups_left()]
        found += [f"mount {m}" for m in mounts(self.data_dir)]
        found += [f"unix socket {s}" for s in unix_sockets(self.data_dir)]
        found += [f"folder {f}" for f in folders(self.data_dir)]
        found += [f"loop device {name}" for name in loops(self.data_dir)]
        return found + self.in_engine()

    def in_engine(self):
        tag = read(f"{self.data_dir}/docker/tag") if harness.BACKEND == "docker" else ""
        if not tag:
            return []
        return [f"container {one['Names']}" for one in harness.engine().containers(tag)] + [
            f"network {one['Name']}" for one in harness.engine().networks(tag)]

    def cgroups_left(self):
        """Cgroups of this data folder, also of boxes that came and went between two looks: <key of the data folder>-<box>."""
        found = {c for c in self.cgroups if os.path.isdir(c)}
        for top, key in families(self.cgroups):
            if os.path.isdir(top):
                found |= {entry.path for entry in os.scandir(top) if entry.name.startswith(key + "-")}
        return sorted(found)

    def assert_nothing_left(self):
        """Some things go asynchronously (network namespaces, for one): they have until the deadline."""
        last = []

        def is_clean():
            last[:] = self.left()
            return not last

        try:
            harness.wait_until(is_clean, "everything given back")
        except AssertionError:
            raise AssertionError("left behind:\n  " + "\n  ".join(last[:40])) from None


def counts(server):
    """Numbers that must be the same before and after a round of work on a live server."""
    below = descendants(server.pid)
    cgroups, spaces = set(), set()
    for pid in below:
        cgroups |= cgroup_folders(pid)
        spaces |= namespaces(pid)
    cgroups -= cgroup_folders(server.pid)
    siblings = sum(1 for top, key in families(cgroups) if os.path.isdir(top) for entry in os.scandir(top) if entry.name.startswith(key + "-"))
    return {
        "processes": len(below), "cgroups": len(cgroups), "cgroup folders": siblings, "namespaces": len(spaces),
        "mounts": len(mounts(str(server.data_dir))), "unix sockets": len(unix_sockets(str(server.data_dir))),
        "fds": fds(server.pid), "launcher fds": sum(fds(p) for p in below if (stat_fields(p) or [None])[0] == server.pid),
        "folders": len(folders(server.data_dir)), "loop devices": len(loops(server.data_dir)),
    }


@contextlib.contextmanager
def watched(server):
    """A server from its start to its end: it has to stop when it is told to, and to leave nothing. Its folders go either way."""
    server.held = Holdings(server.data_dir)
    try:
        yield server.start()
        if harness.IS_KEEPING:
            return
        server.held.look(server.pid)
        server.stop()
        server.held.assert_nothing_left()
    except BaseException:
        if server.proc and server.proc.poll() == -signal.SIGKILL:  # by a test that failed then: nobody else ends its sandboxes
            with contextlib.suppress(AssertionError):
                server.start()
        raise
    finally:
        server.remove()
