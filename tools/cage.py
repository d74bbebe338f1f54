"""Runs programs that may do anything, because somebody broke them on purpose: tools/mutate.py's way to start a mutant.

As root a program gets namespaces of its own: no network but loopback, processes that all end with it, and a file system that is read-only
but for the folder of the run, which stands in for /tmp. Another user has no such means; then only its process group is ended."""
import os
import pathlib
import shutil
import signal
import subprocess
import time

IS_ROOT = os.geteuid() == 0
ENTER = """set -e
mount --bind "$1" "$1"
export TMPDIR="$1/tmp"
case $1 in /tmp/*) ;; *) for at in /tmp /var/tmp /run; do mount --bind "$1/tmp" $at; done; TMPDIR=/tmp ;; esac
mount -o remount,bind,ro /
ip link set lo up
shift
"$@"
"""


class Cage:
    """A folder in which what is started may write."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()

    def run(self, argv, limit_s, env=None, cwd=None):
        """(exit code or None when it took too long, output, seconds)."""
        started, tmp = time.monotonic(), self.folder / "tmp"
        shutil.rmtree(tmp, ignore_errors=True)
        tmp.mkdir(parents=True)
        tmp.chmod(0o1777)
        argv = [str(word) for word in argv]
        if IS_ROOT:
            argv = ["unshare", "--fork", "--kill-child", "--pid", "--mount", "--mount-proc", "--net", "--ipc", "sh", "-c", ENTER, "cage",
                    str(self.folder), *argv]
        # Output goes to a file: a pipe would stay open for as long as any process that was left behind.
        with open(self.folder / "output", "wb+") as out:
            proc = subprocess.Popen(argv, cwd=cwd, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL, stdout=out,
                                    stderr=subprocess.STDOUT, start_new_session=True)
            try:
                code = proc.wait(limit_s)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                try:
                    os.killpg(proc.pid, signal.SIGKILL)  # of a namespace this ends the first process, and with it all the others
                except ProcessLookupError:
                    pass
                proc.wait()
            out.seek(0)
            return code, out.read(4 << 20).decode(errors="replace"), time.monotonic() - started
