"""A reboot of the host, as far as one server's data folder can tell: every process of it ends at once, its control groups and its run
folder are gone, and with the processes their namespaces, mounts and loop devices."""
import contextlib
import os
import shutil
import signal

import harness
import leak


def of(server):
    """Ends everything that the server has; start() is what the next boot does."""
    held = leak.Holdings(server.data_dir)
    held.look(server.pid)
    server.kill()
    if harness.BACKEND == "docker":
        for one in harness.engine().containers(server.data_tag()):
            for step in ("unpause", "stop?t=0"):  # Podman stops none that is paused
                harness.engine().call("POST", f"/containers/{one['Id']}/{step}")
    for pid, start in held.processes.items():
        fields = leak.stat_fields(pid)
        if fields and fields[1] == start:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    gone = lambda: not any((leak.stat_fields(pid) or (0, -1))[1] == start for pid, start in held.processes.items())  # noqa: E731
    harness.wait_until(gone, "all processes to end")
    for folder in held.cgroups_left():
        harness.wait_until(lambda path=folder: remove_group(path), f"control group {folder} to be removed")
    for place in ("run", "vm/run"):
        shutil.rmtree(server.data_dir / place, ignore_errors=True)
    harness.wait_until(lambda: not leak.loops(server.data_dir), "the loop devices to be let go")


def remove_group(path):
    """Also ends what a launcher that was still alive has put into it."""
    for folder, _, _ in os.walk(path, topdown=False):
        with contextlib.suppress(OSError):
            with open(os.path.join(folder, "cgroup.procs"), encoding="ascii") as file:
                for pid in file.read().split():
                    os.kill(int(pid), signal.SIGKILL)
            os.rmdir(folder)
    return not os.path.isdir(path)
