"""System calls in the name of another process, by ptrace: what it may do is asked of the kernel, not read off a list."""
import contextlib
import ctypes
import os
import platform
import signal

IS_POSSIBLE = platform.machine() == "x86_64"
ATTACH, DETACH, GETREGS, SETREGS, PEEK, POKE, STEP = 16, 17, 12, 13, 1, 4, 9
REGS = ("r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base ds es fs gs").split()
SYSCALL = b"\x0f\x05"
WRITE, OPENAT, SOCKET, EXECVE, KILL, MKDIR = 1, 257, 41, 59, 62, 83


class Regs(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in REGS]


libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.restype = ctypes.c_long
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def ptrace(request, pid, addr=None, data=None):
    ctypes.set_errno(0)
    value = libc.ptrace(request, pid, addr, data)
    if ctypes.get_errno():
        raise OSError(ctypes.get_errno(), f"ptrace {request} of {pid}")
    return value & (1 << 64) - 1


class Taken:
    """A process that waits in a system call, taken over for a while: `call(number, *arguments)` answers what the kernel does. Text and
    bytes are put on its stack. It goes on afterwards as if nothing had been."""

    def __init__(self, pid):
        self.pid = pid

    def __enter__(self):
        ptrace(ATTACH, self.pid)
        os.waitpid(self.pid, 0)
        self.before = Regs()
        ptrace(GETREGS, self.pid, None, ctypes.byref(self.before))
        at = self.before.rip - len(SYSCALL)
        assert ptrace(PEEK, self.pid, at).to_bytes(8, "little")[:2] == SYSCALL, "it does not wait in a system call"
        return self

    def __exit__(self, *_):
        try:
            ptrace(SETREGS, self.pid, None, ctypes.byref(self.before))
            ptrace(DETACH, self.pid)
        except ProcessLookupError:
            with contextlib.suppress(ChildProcessError):  # killed meanwhile: its parent learns of it after us
                os.waitpid(self.pid, 0)

    def _put(self, data, at):
        data += bytes(-len(data) % 8)
        for i in range(0, len(data), 8):
            ptrace(POKE, self.pid, at + i, int.from_bytes(data[i:i + 8], "little"))

    def call(self, number, *arguments):
        regs, stack = Regs(), self.before.rsp - 8192
        ctypes.pointer(regs)[0] = self.before
        for name, value in zip(("rdi", "rsi", "rdx", "r10", "r8", "r9"), arguments):
            if isinstance(value, (str, bytes)):
                self._put(os.fsencode(value) + b"\0", stack)
                value, stack = stack, stack - 1024
            setattr(regs, name, value & (1 << 64) - 1)
        regs.rax, regs.orig_rax, regs.rip = number, (1 << 64) - 1, self.before.rip - len(SYSCALL)
        ptrace(SETREGS, self.pid, None, ctypes.byref(regs))
        ptrace(STEP, self.pid)
        status = os.waitpid(self.pid, 0)[1]
        if os.WIFSIGNALED(status):
            return None  # for what it did, before anybody could look
        assert os.WSTOPSIG(status) == signal.SIGTRAP
        ptrace(GETREGS, self.pid, None, ctypes.byref(regs))
        return ctypes.c_longlong(regs.rax).value
