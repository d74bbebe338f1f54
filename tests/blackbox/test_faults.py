"""The host runs out of something, or takes it away: a clear error, no harm done, and everything works again afterwards."""
import contextlib
import os
import pathlib
import resource
import shutil
import socket
import subprocess
import time

import pytest

import harness
import leak
import owndisk
from owndisk import folder_of

GREEDY = """
import os, time
parent = os.getpid()
while True:
    try:
        if os.fork() == 0:
            while os.getppid() == parent:
                time.sleep(0.05)
            os._exit(0)
    except OSError:
        time.sleep(0.01)
"""
TICKS = os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def serving(**kw):
    with leak.watched(harness.Server(**kw)) as server:
        yield server


def on_tmpfs(server, options, **kw):
    return owndisk.place(server, f'mount -t tmpfs -o {options} tmpfs "$0"', **kw)


def fill(folder):
    with open(folder / "filler", "wb", buffering=0) as file:
        for size in (1 << 20, 4096):
            with contextlib.suppress(OSError):
                while file.write(b"x" * size):
                    pass


def boxes(folder):
    return sorted(name for name in os.listdir(folder / "boxes") if (folder / "boxes" / name / "id").is_symlink())


@pytest.mark.skipif(not harness.IS_ROOT, reason="mounts a file system")
@pytest.mark.skipif(harness.BACKEND == "qemu", reason="a machine waits for room on the host's disk: test_vm_disk.py")
def test_full_disk():
    server = on_tmpfs(harness.Server(env={"III_BLANK_POOL": "2", "III_DISK_RESERVE_MB": "0"}), "size=24m,mode=711")
    try:
        server.start()
        folder = folder_of(server)
        with harness.Client(server.port) as caller:
            sid, other = caller.create()["id"], caller.create()["id"]
            caller.exec(other, "head -c 1000000 /dev/zero > /workspace/large")
            fill(folder)
            before = boxes(folder)
            calls = {
                "create": ("POST", "/sandboxes", {"image": "python"}),
                "write": ("POST", f"/sandboxes/{sid}/files/write", {"path": "/workspace/f", "content": "y" * 300000}),
                "record": ("POST", "/templates", {"name": "t", "config": {"image": "python", "metadata": {"x": "y" * 60000}}}),
                "background": ("POST", f"/sandboxes/{sid}/exec/background", {"command": "sleep 99985"}),
                "snapshot": ("POST", f"/sandboxes/{sid}/snapshots", {}),
                "pause": ("POST", f"/sandboxes/{sid}/pause", {}),
            }
            for name, call in calls.items():
                reply = caller.call(*call)
                assert reply.status == 507 and "no space left" in reply.error.lower(), (name, reply)
            assert "99985" not in caller.exec(sid, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")["stdout"], "a command without a record runs"
            assert caller.ok("GET", f"/sandboxes/{sid}")["status"] == "running"
            assert caller.exec(sid, "ls /workspace; echo still here")["stdout"] == "still here\n", "half a file is left, or the box is frozen"
            harness.wait_until(lambda: boxes(folder) == before, "the half-made box to go")
            assert [t["name"] for t in caller.ok("GET", "/templates")["templates"] if t["name"] == "t"] == []
            caller.ok("DELETE", f"/sandboxes/{other}")  # must work: it is the way to make room
            assert caller.get(f"/sandboxes/{other}").status == 404
            (folder / "filler").unlink()
            for name, call in calls.items():
                assert caller.call(*call).status == 200, name
        server.stop()
    finally:
        server.remove()


@pytest.mark.skipif(not harness.IS_ROOT, reason="mounts a file system")
def test_a_read_only_data_folder_is_refused_at_the_start():
    server = on_tmpfs(harness.Server(), "ro,size=1m,mode=711", needs_fill=False)
    try:
        with pytest.raises(AssertionError, match="ended with 1") as error:
            server.start()
        assert "Read-only file system" in str(error.value) and str(server.data_dir) in str(error.value)
    finally:
        server.remove()


def on_disk(server):
    """The data folder is a disk of its own, which the kernel makes read-only at its first error; seen by the server only."""
    image = server.home / "disk.img"
    with open(image, "wb") as file:
        file.truncate(96 + owndisk.KEPT_MB << 20)
    subprocess.run(["mkfs.ext4", "-q", image], check=True)
    return owndisk.place(server, f'mount -o loop,errors=remount-ro {image} "$0" && chmod 711 "$0"')


def break_disk(server):
    mounts = leak.read(f"/proc/{server.pid}/mountinfo").splitlines()
    device, = {line.split(" - ")[1].split()[1] for line in mounts if f" {server.data_dir.parent} " in line}
    pathlib.Path("/sys/fs/ext4", pathlib.Path(device).name, "trigger_fs_error").write_text("a test")


@pytest.mark.skipif(not harness.IS_ROOT or not shutil.which("mkfs.ext4") or not os.path.exists("/dev/loop-control"), reason="makes a disk of a file")
def test_the_data_folder_becomes_read_only():
    """As a failing disk does it: no administrator can, while files are open. Sandboxes go on, nothing is half done, a repaired disk has it all."""
    server = on_disk(harness.Server(env={"III_BLANK_POOL": "2", "III_AUTH_TOKEN": "t"}))
    try:
        server.start()
        with harness.Client(server.port, "t") as caller:
            sid, other = caller.create()["id"], caller.create()["id"]
            caller.exec(sid, "echo before > /workspace/f")
            volume = caller.ok("POST", "/volumes", {"name": "kept"})["id"]
            caller.ok("POST", f"/sandboxes/{sid}/exec/background", {"command": "sleep 99911"})
            subprocess.run(["sync", "-f", folder_of(server)], check=True)  # what was not yet on the disk is lost, as with power
            break_disk(server)
            calls = {
                "create": ("POST", "/sandboxes", {"image": "python"}),
                "record": ("POST", "/templates", {"name": "t", "config": {"image": "python"}}),
                "volume": ("POST", "/volumes", {"name": "never"}),
                "token": ("POST", "/tokens", {"name": "never"}),
                "snapshot": ("POST", f"/sandboxes/{sid}/snapshots", {}),
                "pause": ("POST", f"/sandboxes/{sid}/pause", {}),
                "delete": ("DELETE", f"/sandboxes/{other}", None),
            }
            for name, call in calls.items():
                reply = caller.call(*call)
                assert reply.status == 503 and "read-only file system" in reply.error.lower(), (name, reply)
            if harness.BACKEND != "qemu":  # a machine takes it into its own memory first
                reply = caller.post(f"/sandboxes/{sid}/files/write", {"path": "/workspace/f", "content": "half"})
                assert reply.status >= 400 and "read-only file system" in reply.error.lower(), reply
            assert caller.exec(sid, "cat /workspace/f; echo still > /dev/shm/f; cat /dev/shm/f")["stdout"] == "before\nstill\n"
            assert "99911" in caller.exec(sid, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")["stdout"], "what ran goes on"
            assert {s["id"] for s in caller.ok("GET", "/sandboxes")["items"]} == {sid, other}
            assert caller.get("/health").status == 200
            before = leak.cpu_ticks(server.pid)
            time.sleep(1)  # of writes that are tried again
            assert leak.cpu_ticks(server.pid) - before < TICKS / 4, "the server spins"
            assert server.log().count("evt=store.flush") <= 1, "a line for each try"
        server.stop()
        server.start()  # the disk was unmounted with the last process: this one mounts it again
        with harness.Client(server.port, "t") as caller:
            assert [v["id"] for v in caller.ok("GET", "/volumes")["volumes"]] == [volume]
            assert caller.exec(caller.create()["id"], "echo again > /workspace/f && cat /workspace/f")["stdout"] == "again\n"
        server.stop()
    finally:
        server.remove()


def test_descriptors_run_out():
    with serving(env={"III_BLANK_POOL": "0"}, before_exec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))) as server:
        with harness.Client(server.port) as caller:
            sid = caller.create()["id"]
            with contextlib.ExitStack() as open_sockets:
                for _ in range(260):  # more than fit: the rest wait in the listener's queue
                    open_sockets.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=harness.DEADLINE_S))
                harness.wait_until(lambda: len(os.listdir(f"/proc/{server.pid}/fd")) >= 195, "the descriptors to be used up")
                reply = caller.post("/sandboxes", {"image": "python"})
                assert reply.status == 503 and "Too many open files" in reply.error, reply
                assert caller.exec(sid, "echo on")["stdout"] == "on\n"
                before = leak.cpu_ticks(server.pid)
                time.sleep(1)  # of accept() failing
                assert leak.cpu_ticks(server.pid) - before < TICKS / 4, "the server spins"
            harness.wait_until(lambda: len(os.listdir(f"/proc/{server.pid}/fd")) < 100, "the connections to be closed")
            fresh = caller.create()["id"]
            assert caller.exec(fresh, "echo again")["stdout"] == "again\n"
            with harness.Client(server.port) as again:
                assert again.get("/health").status == 200


@contextlib.contextmanager
def pids_group():
    for base in ("/sys/fs/cgroup/pids", "/sys/fs/cgroup"):
        made = pathlib.Path(base) / f"iii-test-{os.getpid()}"
        if not (pathlib.Path(base) / "cgroup.procs").exists():
            continue
        made.mkdir()
        if (made / "pids.max").exists():
            break
        made.rmdir()
    else:
        pytest.skip("no control group for pids")
    try:
        yield made
    finally:
        harness.wait_until(lambda: not made.exists() or remove(made), "the control group to be empty")


def remove(folder):
    try:
        folder.rmdir()
    except OSError:
        return False
    return True


@pytest.mark.skipif(not harness.IS_ROOT, reason="makes a control group")
def test_processes_run_out():
    with pids_group() as group, serving(env={"III_BLANK_POOL": "0"}, before_exec=lambda: (group / "cgroup.procs").write_text(str(os.getpid()))) as server:
        with harness.Client(server.port) as caller:
            sid = caller.create()["id"]
            (group / "pids.max").write_text((group / "pids.current").read_text())
            reply = caller.post("/sandboxes", {"image": "python"})
            assert reply.status == 503 and "Resource temporarily unavailable" in reply.error, reply
            assert caller.exec(sid, "echo on")["stdout"] == "on\n"  # a sandbox has processes of its own
            (group / "pids.max").write_text("max")
            fresh = caller.create()["id"]
            assert caller.exec(fresh, "echo again")["stdout"] == "again\n"


def test_a_sandbox_that_may_not_fork():
    with serving(env={"III_PIDS_MAX": "16"}) as server, harness.Client(server.port) as caller:
        sid = caller.create()["id"]
        job = caller.ok("POST", f"/sandboxes/{sid}/exec/background", {"command": ["python3", "-c", GREEDY]})
        reply = harness.wait_until(lambda: (lambda r: r if r.status != 200 else None)(caller.post(f"/sandboxes/{sid}/exec", {"command": "echo x"})), "a refused command")
        assert reply.status in (429, 503) and "Resource temporarily unavailable" in reply.error, reply
        caller.ok("POST", f"/sandboxes/{sid}/processes/kill", {"pid": job["pid"], "signal": "KILL"})
        harness.wait_until(lambda: caller.post(f"/sandboxes/{sid}/exec", {"command": "echo x"}).status == 200, "commands again")


def test_the_data_folder_is_deleted():
    server = harness.Server(env={"III_BLANK_POOL": "0"})
    try:
        server.start()
        with harness.Client(server.port) as caller:
            sid = caller.create()["id"]
            for name in ("state.db", "boxes", "images", "run"):
                target = server.data_dir / name
                if target.is_dir():
                    subprocess.run(["rm", "-rf", "--one-file-system", target], check=False)
                else:
                    target.unlink()
            reply = caller.post("/sandboxes", {"image": "python"})
            assert reply.status >= 500 and reply.error, reply
            assert caller.get("/health").status == 200
            assert caller.get(f"/sandboxes/{sid}").status == 200
            caller.delete(f"/sandboxes/{sid}")
        server.stop()
        shutil.rmtree(server.data_dir, ignore_errors=True)
        server.start()  # begins anew
        with harness.Client(server.port) as caller:
            assert caller.create()["status"] == "running"
        server.stop()
    finally:
        server.remove()


def test_a_body_that_does_not_fit_into_memory():
    """The address space is the limit here; a real host has one, too."""
    with serving(env={"III_MAX_BODY_MB": "1024", "III_BLANK_POOL": "0"}, flags=["--run-as", "root"] if harness.IS_ROOT else []) as server, harness.Client(server.port) as caller:
        if harness.IS_SANITIZED:
            pytest.skip("the sanitizer's own memory does not fit under such a limit")
        sid = caller.create()["id"]
        size = int(leak.read(f"/proc/{server.pid}/statm").split()[0]) * 4096
        resource.prlimit(server.pid, resource.RLIMIT_AS, (size + (64 << 20), resource.RLIM_INFINITY))
        with socket.create_connection(("127.0.0.1", server.port), timeout=harness.DEADLINE_S) as sock:
            sock.sendall(f"POST /sandbox/sandboxes/{sid}/files/write HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 400000000\r\n\r\n".encode())
            answer = b""
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                for _ in range(400):
                    sock.sendall(b"x" * 1000000)
            with contextlib.suppress(ConnectionResetError):
                answer = harness.drain(sock)
            assert harness.status_of(answer) in (413, 503, None), answer[:300]
        assert caller.exec(sid, "echo on")["stdout"] == "on\n"
        resource.prlimit(server.pid, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def with_proc(server, mount):
    server.wrap = ["unshare", "-m", "--propagation", "private", "sh", "-c", f'{mount} && exec "$@"', "sh"]
    return server


@pytest.mark.skipif(not harness.IS_ROOT, reason="mounts a file system")
@pytest.mark.parametrize("user", [None, 4243], ids=["root", "ordinary user"])
def test_a_hidden_proc(user):
    """Processes of others are not seen there: nothing of ours needs them, nor what is no process."""
    server = with_proc(harness.Server(user=user), "mount -t proc -o hidepid=2,subset=pid proc /proc")
    try:
        server.start()
        with harness.Client(server.port) as caller:
            sid = caller.create()["id"]
            assert caller.exec(sid, "echo up")["stdout"] == "up\n"
        server.kill()
        server.start()
        with harness.Client(server.port) as caller:
            assert caller.exec(sid, "echo adopted")["stdout"] == "adopted\n"
            caller.ok("DELETE", f"/sandboxes/{sid}")
        server.stop()
    finally:
        server.remove()


@pytest.mark.skipif(not harness.IS_ROOT, reason="mounts a file system")
def test_no_proc_is_named():
    server = with_proc(harness.Server(), "mount -t tmpfs none /proc")
    try:
        with pytest.raises(AssertionError, match="ended with 1") as error:
            server.start()
        assert "mount -t proc" in str(error.value)
    finally:
        server.remove()
