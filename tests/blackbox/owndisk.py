"""A data folder on a file system of its own, in the server's mount namespace only: it goes with the server's last process."""
import os
import pathlib
import sys

import harness

KEPT_MB = 640 if harness.BACKEND == "qemu" else 0  # what machines are made from
FILL = "import pathlib, sys; sys.path.insert(0, sys.argv[1]); import harness; harness.fill(pathlib.Path(sys.argv[2]))"


def place(server, mount, needs_fill=True):
    """Puts the data folder below a mount point, `$0` of the command that mounts something there."""
    disk = server.data_dir
    server.data_dir = disk / "data"
    server.data_dir.mkdir(parents=True)  # what the mount covers
    harness.backend()  # has everything made that is made once
    same = f"III_TEST_BACKEND={harness.BACKEND} III_BIN={harness.BINARY}"
    fill = '[ -e "$1" ] || env $2 "$3" -c "$4" "$5" "$1" && ' if needs_fill and harness.BACKEND == "qemu" else ""
    server.wrap = ["unshare", "-m", "--propagation", "private", "sh", "-c", f'{mount} && {fill}shift 5 && exec "$@"', disk, server.data_dir, same,
                   sys.executable, FILL, pathlib.Path(__file__).parent]
    return server


def folder_of(server):
    return pathlib.Path(f"/proc/{server.pid}/root{server.data_dir}")


def free_mb(server):
    st = os.statvfs(folder_of(server))
    return st.f_bavail * st.f_frsize >> 20
