"""Kernels before 6.15 take overlay layers only by name. A system call filter makes this kernel answer as an older one does:
the server, its launcher and its sandboxes inherit it."""
import ctypes
import struct

import pytest

import harness
import leak
import test_launcher_death
import test_rootless

FSCONFIG, SET_FLAG, SET_FD = 431, 0, 5
ALLOW, EINVAL = 0x7FFF0000, 0x00050000 | 22
PR_SET_SECCOMP, MODE_FILTER = 22, 2


class Program(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def answer_as_before(command):
    """A function for the new process: fsconfig() with this command fails from then on, and there alone."""
    load, equal, give = 0x20, 0x15, 0x06
    code = b"".join(struct.pack("=HBBI", *row) for row in (
        (load, 0, 0, 0), (equal, 0, 3, FSCONFIG), (load, 0, 0, 24), (equal, 0, 1, command), (give, 0, 0, EINVAL), (give, 0, 0, ALLOW)))
    libc = ctypes.CDLL(None, use_errno=True)

    def install():
        program = Program(len(code) // 8, code)
        if libc.prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.byref(program), 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "seccomp")
    return install


def serve(command, user=None):
    with leak.watched(harness.Server(user=user, before_exec=answer_as_before(command))) as server:
        yield server


@pytest.fixture(scope="module")
def as_root():
    if not harness.IS_ROOT:
        pytest.skip("the suite runs as an ordinary user")
    yield from serve(SET_FD)


@pytest.fixture(scope="module")
def as_user():
    if test_rootless.WHY_NOT:
        pytest.skip(test_rootless.WHY_NOT)
    yield from serve(SET_FLAG, test_rootless.USER)


def by_name(caller, sid):
    """Whether the root was mounted the old way: the kernel then shows the name that it was given."""
    return "upperdir=/upper" not in caller.exec(sid, "grep ' / / ' /proc/self/mountinfo")["stdout"]


def try_the_usual(caller, sid):
    seen = caller.exec(sid, "id -u; touch /etc/new && mv /etc/new /etc/newer && ls /etc/newer; ls -A /proc/self/fd")
    assert seen["stdout"].startswith("0\n/etc/newer\n0\n1\n2\n"), seen
    caller.ok("POST", f"/sandboxes/{sid}/files/write", {"path": "d/f", "content": "text"})
    assert caller.ok("POST", f"/sandboxes/{sid}/files/read", {"path": "d/f"}) == "text"


def test_sandboxes_work_as_root(as_root):
    with harness.Client(as_root.port) as caller:
        made = [caller.create()["id"] for _ in range(5)]
        for sid in made:
            assert by_name(caller, sid)
            try_the_usual(caller, sid)
        for sid in made:
            caller.ok("DELETE", f"/sandboxes/{sid}")


def test_snapshots_work_as_root(as_root):
    """A capture swaps the root for one whose layers are those of before and one more; twice, so that it stacks."""
    with harness.Client(as_root.port) as caller:
        sid = caller.create()["id"]
        for text in ("one", "two", "three"):
            caller.exec(sid, f"echo {text} >> /workspace/list; rm -f /tmp/gone-{text}")
            caller.ok("POST", f"/sandboxes/{sid}/snapshots", {"name": text})
        assert caller.exec(sid, "cat /workspace/list")["stdout"] == "one\ntwo\nthree\n"
        twin = caller.ok("POST", f"/sandboxes/{sid}/clone")["id"]
        assert caller.exec(twin, "cat /workspace/list; stat -c %u /workspace/list")["stdout"] == "one\ntwo\nthree\n0\n"
        for one in (twin, sid):
            caller.ok("DELETE", f"/sandboxes/{one}")


def test_nothing_hangs_in_the_launcher(as_root):
    with harness.Client(as_root.port) as caller:
        def mounts():
            return leak.read(f"/proc/{test_launcher_death.launcher_of(as_root)}/mountinfo")

        before = mounts()
        for _ in range(10):
            caller.ok("DELETE", f"/sandboxes/{caller.create()['id']}")
        assert before == mounts()


def test_sandboxes_work_as_an_ordinary_user(as_user):
    with harness.Client(as_user.port) as caller:
        sid = caller.create()["id"]
        seen = caller.exec(sid, "id -u; ls -A /proc/self/fd; echo hi > /tmp/f && cat /tmp/f")
        assert seen["stdout"].split() == ["0", "0", "1", "2", "3", "hi"] or seen["stdout"].split() == ["0", "0", "1", "2", "hi"], seen
        caller.ok("DELETE", f"/sandboxes/{sid}")
