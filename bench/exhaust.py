#!/usr/bin/env python3
"""Runs inside a sandbox. `exhaust.py NAME` takes as much of one kernel resource as it gets, writes the amount into the file
NAME.held of the working folder, and keeps it. `exhaust.py --need NAME` takes a little of it as a well-behaved program does,
prints how much it got, and fails when that is less than it wanted.

Used by tests/escape/test_escape_counters.py and by the neighbour rows of the benchmark. A row of RESOURCES: how one unit is
taken (raises OSError when there is no more), how many a program needs, and how many processes take it at once."""
import array
import ctypes
import errno
import fcntl
import os
import resource
import signal
import socket
import sys

libc = ctypes.CDLL(None, use_errno=True)
SYS_IO_SETUP = {"x86_64": 206, "aarch64": 0}[os.uname().machine]
SYS_ADD_KEY = {"x86_64": 248, "aarch64": 217}[os.uname().machine]
KEPT = []


def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


class SigEvent(ctypes.Structure):
    _fields_ = [("value", ctypes.c_void_p), ("signo", ctypes.c_int), ("notify", ctypes.c_int), ("pad", ctypes.c_int * 12)]


class MqAttr(ctypes.Structure):
    _fields_ = [("flags", ctypes.c_long), ("maxmsg", ctypes.c_long), ("msgsize", ctypes.c_long), ("curmsgs", ctypes.c_long), ("pad", ctypes.c_long * 4)]


def inotify():
    KEPT.append(checked(libc.inotify_init1(0)))


def inotify_watches():
    """A new instance for each thousand: a folder can be watched once by each."""
    if not KEPT:
        os.makedirs("watched", exist_ok=True)
        for i in range(1000):
            os.makedirs(f"watched/{i}", exist_ok=True)
    n = len(KEPT)
    if n % 1000 == 0:
        inotify_watches.instance = checked(libc.inotify_init1(0))
    KEPT.append(checked(libc.inotify_add_watch(inotify_watches.instance, f"watched/{n % 1000}".encode(), 0x100)))


def timers():
    timer = ctypes.c_void_p()
    event = SigEvent(signo=signal.SIGUSR1, notify=0)
    checked(libc.timer_create(0, ctypes.byref(event), ctypes.byref(timer)))
    KEPT.append(timer)


def signals():
    if not KEPT:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN + 1])
    checked(libc.sigqueue(os.getpid(), signal.SIGRTMIN + 1, ctypes.c_void_p(0)))
    KEPT.append(None)


def mqueues():
    libc.mq_open.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_uint, ctypes.c_void_p]
    attr = MqAttr(maxmsg=10, msgsize=8192)
    name = f"/q{os.getpid()}-{len(KEPT)}".encode()
    KEPT.append(checked(libc.mq_open(name, os.O_CREAT | os.O_RDWR, 0o600, ctypes.byref(attr))))
    libc.mq_unlink(name)  # it lasts as long as the descriptor


def ptys():
    KEPT.append(os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY))


def aio():
    context = ctypes.c_ulong(0)
    checked(libc.syscall(SYS_IO_SETUP, 1024, ctypes.byref(context)))
    KEPT.append(context)


def keys():
    KEPT.append(checked(libc.syscall(SYS_ADD_KEY, b"user", f"k{len(KEPT)}".encode(), b"x", 1, -2)))


def namespaces():
    checked(libc.unshare(0x10000000))  # CLONE_NEWUSER
    KEPT.append(None)


def mounts():
    os.makedirs("mounted", exist_ok=True)
    checked(libc.mount(b"none", b"mounted", b"tmpfs", 0, None))
    KEPT.append(None)


def files():
    KEPT.append(os.open("/dev/null", os.O_RDONLY))


def epoll():
    """Watches of one set on many descriptors, for which the kernel has a limit by user."""
    if len(KEPT) % 500 == 0:
        epoll.set = checked(libc.epoll_create1(0))
    KEPT.append(os.eventfd(0))
    checked(libc.epoll_ctl(epoll.set, 1, KEPT[-1], ctypes.create_string_buffer(12)))


def flows():
    """Connections that the kernel tracks: what leaves the sandbox is redirected, and this range is closed to everybody."""
    sock = socket.socket()
    sock.setblocking(False)
    n = len(KEPT)
    code = sock.connect_ex((f"198.18.{n // 250 % 250}.{n % 250 + 1}", 9))
    if code not in (0, errno.EINPROGRESS):
        raise OSError(code, os.strerror(code))
    KEPT.append(sock)


def flight():
    """Descriptors in flight between two sockets; the kernel counts them by user, so each thousand belongs to another one."""
    if len(KEPT) % 4 == 0:
        os.setresuid(len(KEPT) // 4 % 60000 + 1, 0, 0)
        flight.pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    opened = [os.open("/dev/null", os.O_RDONLY) for _ in range(250)]
    try:
        flight.pair[0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", opened))], socket.MSG_DONTWAIT)
    finally:
        for fd in opened:
            os.close(fd)
    KEPT.append(flight.pair)


def pipes():
    """Pipes at their largest size. The kernel shrinks those of a user who has too many."""
    ends = os.pipe()
    KEPT.append(ends)
    checked(fcntl.fcntl(ends[1], 1031, 1 << 20))
    if fcntl.fcntl(ends[1], 1032) < 1 << 16:
        raise OSError(errno.ENFILE, "a pipe of less than 64 KiB")


def sockets():
    """Connections on the loopback interface with full buffers on both sides that nobody reads."""
    if not KEPT:
        sockets.server = socket.create_server(("127.0.0.1", 0), backlog=4096)
    near = socket.create_connection(sockets.server.getsockname(), timeout=5)
    far = sockets.server.accept()[0]
    KEPT.append((near, far))
    for sock in (near, far):
        sock.setblocking(False)
        try:
            while True:
                sock.send(bytes(1 << 20))
        except BlockingIOError:
            pass


def processes():
    parent, child = os.getpid(), os.fork()
    if child == 0:
        libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() == parent:  # else it has ended before
            signal.pause()
        os._exit(0)
    KEPT.append(child)


def sysv_shm():
    KEPT.append(checked(libc.shmget(0, ctypes.c_size_t(4096), 0o1600)))


def sysv_sem():
    KEPT.append(checked(libc.semget(0, 250, 0o1600)))


def sysv_msg():
    KEPT.append(checked(libc.msgget(0, 0o1600)))


# name: (take one, how many a well-behaved program needs, how many processes take at once)
RESOURCES = {
    "inotify": (inotify, 8, 1), "inotify_watches": (inotify_watches, 500, 1), "timers": (timers, 64, 4), "signals": (signals, 64, 1),
    "mqueues": (mqueues, 2, 1), "ptys": (ptys, 8, 1), "aio": (aio, 1, 1), "files": (files, 200, 200), "flight": (flight, 2, 1),
    "pipes": (pipes, 4, 1), "sockets": (sockets, 2, 8), "processes": (processes, 8, 1),
    "sysv_shm": (sysv_shm, 4, 1), "sysv_sem": (sysv_sem, 4, 1), "sysv_msg": (sysv_msg, 4, 1),
    "epoll": (epoll, 64, 1), "keys": (keys, 1, 1), "namespaces": (namespaces, 1, 1), "mounts": (mounts, 1, 1), "flows": (flows, 4, 8),
}


def take(one, most):
    """Takes up to that many; says why it got no more."""
    for n in range(most):
        try:
            one()
        except OSError as error:
            return n, errno.errorcode.get(error.errno, str(error))
        except MemoryError:
            return n, "ENOMEM"
    return most, ""


def hold(name):
    one, _, workers = RESOURCES[name]
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    reader, writer = os.pipe()
    for _ in range(workers):
        if os.fork() == 0:
            got, why = take(one, 10**9)
            os.write(writer, f"{got} {why}\n".encode())
            signal.pause()
    os.close(writer)
    total, reasons, text = 0, set(), b""
    while text.count(b"\n") < workers:
        piece = os.read(reader, 65536)
        if not piece:
            break
        text += piece
    for line in text.decode().splitlines():
        total += int(line.split()[0])
        reasons.add(line.split()[1])
    with open(name + ".new", "w") as out:
        out.write(f"{total} {','.join(sorted(reasons))}\n")
    os.rename(name + ".new", name + ".held")
    signal.pause()


def main():
    if sys.argv[1] == "--need":
        one, wanted, _ = RESOURCES[sys.argv[2]]
        got, why = take(one, wanted)
        for made in KEPT if sys.argv[2].startswith("sysv") else ():  # these outlive their process
            {"sysv_shm": libc.shmctl, "sysv_sem": lambda n, c, x: libc.semctl(n, 0, c), "sysv_msg": libc.msgctl}[sys.argv[2]](made, 0, None)
        print(got, why)
        sys.exit(got < wanted)
    hold(sys.argv[1])


if __name__ == "__main__":
    main()
