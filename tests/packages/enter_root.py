"""Run by `unshare --mount --pid --fork` in a network namespace of its own: makes a folder the root of its namespaces, as an init would find it,
and runs a command there.

pivot_root, not chroot: the kernel makes no user namespaces for a process in a chroot. argv: the folder, then the command."""
import ctypes
import os
import subprocess
import sys

MS_BIND, MS_REC, MS_PRIVATE, MNT_DETACH = 4096, 16384, 1 << 18, 2
SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}[os.uname().machine]
libc = ctypes.CDLL(None, use_errno=True)


def check(result, what):
    if result != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def mount(source, target, kind, flags=0, options=None):
    check(libc.mount(source.encode(), target.encode(), kind.encode() if kind else None, flags, options.encode() if options else None),
          f"mount {target}")


def main(root, argv):
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    mount(root, root, None, MS_BIND | MS_REC)
    mount("proc", f"{root}/proc", "proc")
    mount("sysfs", f"{root}/sys", "sysfs")
    mount("/sys/fs/cgroup", f"{root}/sys/fs/cgroup", None, MS_BIND | MS_REC)
    mount("/dev", f"{root}/dev", None, MS_BIND | MS_REC)
    mount("tmpfs", f"{root}/tmp", "tmpfs", 0, "mode=1777")
    os.makedirs(f"{root}/.old", exist_ok=True)
    check(libc.syscall(SYS_PIVOT_ROOT, root.encode(), f"{root}/.old".encode()), "pivot_root")
    os.chdir("/")
    check(libc.umount2(b"/.old", MNT_DETACH), "umount the old root")
    os.rmdir("/.old")
    os.execvpe(argv[0], argv, {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"})


main(sys.argv[1], sys.argv[2:])
