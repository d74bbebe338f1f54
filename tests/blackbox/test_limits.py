"""Hard limits of one sandbox: disk, inodes, shared memory, open files, processes, and what is shown of them. Each limit is crossed."""
import os
import subprocess

import pytest

import harness
import leak

pytestmark = pytest.mark.skipif(not harness.IS_ROOT, reason="disks need loop devices, which only root has")
SERVER_ENV = {"III_MAX_DISK": "300", "III_MAX_SHM_MB": "64", "III_MAX_PIDS": "512", "III_MAX_OPEN_FILES": "4096"}
DISK_MB = 48

FILL = """
import os, errno
total, block = 0, bytes(1 << 20)
with open('/workspace/big', 'wb', buffering=0) as f:
    try:
        while total < 400 << 20:
            total += f.write(block)
    except OSError as e:
        print(errno.errorcode[e.errno], total >> 20)
"""


def python(client, sid, code, **more):
    done = client.exec(sid, ["python3", "-c", code], **more)
    assert done["exitCode"] == 0, done
    return done["stdout"]


@pytest.fixture
def small(new_sandbox):
    return new_sandbox(diskMb=DISK_MB, inodes=2000)["id"]


@harness.needs("limitDisk")
def test_enospc_comes_while_writing_and_the_host_loses_no_more(small, client, server):
    before = os.statvfs(server.data_dir)
    word, mb = python(client, small, FILL).split()
    assert word == "ENOSPC" and DISK_MB - 2 <= int(mb) <= DISK_MB + 4
    os.sync()
    after = os.statvfs(server.data_dir)
    lost_mb = (before.f_bfree - after.f_bfree) * before.f_frsize >> 20
    images = sum(p.stat().st_blocks * 512 for p in server.data_dir.glob("boxes/*/disk.img")) >> 20
    assert images <= DISK_MB + 8, (images, lost_mb)
    assert client.exec(small, "head -c 8000000 /dev/zero > /tmp/more")["exitCode"] != 0
    assert client.exec(small, "rm -f /workspace/big /tmp/more && echo x > /tmp/one && cat /tmp/one")["stdout"] == "x\n"


@harness.needs("limitDisk")
def test_a_deleted_file_that_is_open_counts(small, client):
    code = FILL.replace("with open('/workspace/big', 'wb', buffering=0) as f:",
                        "f = open('/workspace/big', 'wb', buffering=0); os.unlink('/workspace/big')\nif f:") + \
        "print(os.statvfs('/workspace').f_bavail * 4096 >> 20)\nf.close()\n"
    word, mb, left = python(client, small, code).split()
    assert word == "ENOSPC" and int(mb) >= DISK_MB - 2 and int(left) <= 1
    assert int(python(client, small, "import os; print(os.statvfs('/').f_bavail * 4096 >> 20)")) >= DISK_MB - 4


@harness.needs("limitDisk")
def test_a_sparse_file_costs_what_is_written(small, client):
    code = "import os\nf = open('/workspace/sparse', 'wb')\nf.truncate(10 << 30)\nprint(os.statvfs('/').f_bavail * 4096 >> 20)\n" + \
        FILL.replace("/workspace/big", "/workspace/sparse")
    left, word, _ = python(client, small, code).split()
    assert int(left) >= DISK_MB - 4 and word == "ENOSPC"


@harness.needs("limitDisk")
def test_inodes_end_too(small, client):
    code = """
import errno
n = 0
try:
    while n < 20000:
        open(f'/workspace/f{n}', 'w').close()
        n += 1
except OSError as e:
    print(errno.errorcode[e.errno], n)
"""
    word, n = python(client, small, code).split()
    assert word == "ENOSPC" and 1500 <= int(n) <= 4000


@harness.needs("limitDisk")
def test_the_file_api_says_so(small, client):
    python(client, small, FILL)
    reply = client.post(f"/sandboxes/{small}/files/write", {"path": "more.txt", "content": "x" * 8_000_000})
    assert reply.status == 507 and "space" in reply.error, reply


def test_shared_memory_has_its_size(new_sandbox, client):
    sid = new_sandbox(shmMb=8)["id"]
    word, mb = python(client, sid, FILL.replace("/workspace/big", "/dev/shm/big")).split()
    assert word == "ENOSPC" and int(mb) == 8
    sid = new_sandbox()["id"]
    assert int(python(client, sid, "import os; s = os.statvfs('/dev/shm'); print(s.f_blocks * s.f_frsize >> 20)")) == 64


def test_open_files_and_processes_and_core_dumps(new_sandbox, client):
    sid = new_sandbox(openFiles=100, pids=20)["id"]
    code = """
import errno, resource, os
files = []
try:
    while len(files) < 5000:
        files.append(open('/dev/null'))
except OSError as e:
    print(errno.errorcode[e.errno], len(files))
for f in files: f.close()
n = 0
try:
    while n < 100:
        if os.fork() == 0:
            import time; time.sleep(60)
        n += 1
except OSError as e:
    print(errno.errorcode[e.errno], n)
print(resource.getrlimit(resource.RLIMIT_CORE))
os.kill(0, 9)
"""
    out = client.exec(sid, ["python3", "-u", "-c", code])["stdout"].split("\n")
    assert out[0].split()[0] == "EMFILE" and 80 <= int(out[0].split()[1]) < 100
    assert out[1].split()[0] == "EAGAIN" and int(out[1].split()[1]) < 20
    assert out[2] == "(1, 1)"


@harness.needs("limitDisk")
def test_maximums_are_the_operators(new_sandbox):
    config = new_sandbox(diskMb=10**6, shmMb=10**6, pids=10**6, openFiles=10**6)["config"]
    assert (config["diskMb"], config["shmMb"], config["pids"], config["openFiles"]) == (300, 64, 512, 4096)
    config = new_sandbox()["config"]
    assert (config["diskMb"], config["inodes"], config["pids"], config["shmMb"]) == (0, 0, 256, 64)


@harness.needs("limitDisk")
def test_metrics_show_limit_and_use(small, client):
    python(client, small, "open('/workspace/f', 'wb').write(bytes(20 << 20)); import os; os.sync()")
    def used():
        metrics = client.ok("GET", f"/sandboxes/{small}/metrics")
        assert (metrics["diskLimitMb"], metrics["inodesLimit"], metrics["pidsLimit"], metrics["cpuLimit"]) == (DISK_MB, 2000, 256, 1.0)
        return 20 <= metrics["diskUsageMb"] <= DISK_MB + 8
    harness.wait_until(used, "20 MB of the disk in use")


@harness.needs("limitDisk")
def test_snapshot_fork_and_restore_keep_files_and_limit(small, client):
    python(client, small, "open('/workspace/kept', 'w').write('a' * 1000)")
    client.ok("POST", f"/sandboxes/{small}/pause")
    client.ok("POST", f"/sandboxes/{small}/resume")
    snapshot = client.ok("POST", f"/sandboxes/{small}/snapshots", {})
    client.exec(small, "rm /workspace/kept; echo new > /workspace/new")
    child = client.ok("POST", f"/sandboxes/{small}/clone", {})
    try:
        assert child["config"]["diskMb"] == DISK_MB
        assert client.exec(child["id"], "cat /workspace/new; ls /workspace")["stdout"] == "new\nnew\n"
        word, mb = python(client, child["id"], FILL).split()
        assert word == "ENOSPC" and int(mb) >= DISK_MB - 2
        client.ok("POST", f"/sandboxes/{small}/snapshots/restore", {"snapshotId": snapshot["id"]})
        assert client.exec(small, "wc -c < /workspace/kept")["stdout"].strip() == "1000"
        assert python(client, small, FILL).split()[0] == "ENOSPC"
    finally:
        client.delete(f"/sandboxes/{child['id']}")
        client.delete(f"/snapshots/{snapshot['id']}")


@harness.needs("limitDisk")
def test_no_loop_device_is_left(new_sandbox, client, server):
    ids = [client.create(diskMb=DISK_MB)["id"] for _ in range(3)]
    assert len(leak.loops(server.data_dir)) >= 3 or harness.BACKEND != "native"  # the disk of a machine needs none
    for sid in ids:
        client.exec(sid, "dd if=/dev/zero of=/tmp/f bs=1M count=20 2>/dev/null")
        client.ok("DELETE", f"/sandboxes/{sid}")
    harness.wait_until(lambda: not leak.loops(server.data_dir), "the loop devices to be let go")


@harness.needs("limitDisk")
def test_it_survives_a_crash_of_everything():
    with harness.Server() as server:
        client = server.client()
        sid = client.create(diskMb=DISK_MB)["id"]
        client.exec(sid, "echo before > /workspace/f")
        gone = client.create(diskMb=DISK_MB)["id"]
        server.kill()
        for client in server.clients:
            client.close()
        server.start()
        client = server.client()
        assert client.exec(sid, "cat /workspace/f")["stdout"] == "before\n"
        assert python(client, sid, FILL).split()[0] == "ENOSPC"
        client.exec(sid, "rm /workspace/big")
        child = client.ok("POST", f"/sandboxes/{sid}/clone", {})["id"]
        assert client.exec(child, "cat /workspace/f")["stdout"] == "before\n"
        client.ok("DELETE", f"/sandboxes/{gone}")
        for one in (sid, child):
            client.ok("DELETE", f"/sandboxes/{one}")
        harness.wait_until(lambda: not leak.loops(server.data_dir), "the loop devices to be let go")


def test_below_the_reserve_nothing_new_is_made():
    free_mb = os.statvfs("/tmp").f_bavail * os.statvfs("/tmp").f_frsize >> 20
    with harness.Server(env={"III_DISK_RESERVE_MB": free_mb * 2, "III_PULL": "missing"}) as server:
        reply = server.client().post("/sandboxes", {"image": "python"})
        assert reply.status == 507 and "III_DISK_RESERVE_MB" in reply.error
        reply = server.client().post("/images/pull", {"image": "127.0.0.1:9/none:1"})
        assert reply.status == 507 and "III_DISK_RESERVE_MB" in reply.error
        made = subprocess.run([str(harness.BINARY), "image", "import", "/dev/null", "nothing"], capture_output=True, text=True, check=False,
                              env={**os.environ, "III_DATA_DIR": str(server.data_dir), "III_DISK_RESERVE_MB": str(free_mb * 2)})
        assert made.returncode != 0 and "III_DISK_RESERVE_MB" in made.stderr, made



@harness.needs("limitDisk", "diskWatch")
def test_an_ordinary_user_is_told():
    with harness.Server(user=65534) as server:
        can = server.client().ok("GET", "/metrics")["backends"][0]["can"]["limitDisk"]
        reply = server.client().post("/sandboxes", {"image": "python", "diskMb": 100})
        assert can is (harness.BACKEND == "qemu")  # a machine's drive needs no rights
        assert reply.status == 200 if can else reply.status == 501 and "root" in reply.error, reply
