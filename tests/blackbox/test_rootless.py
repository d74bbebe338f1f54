"""The same server as an ordinary user: the same API through user namespaces."""
import os
import pathlib
import subprocess

import pytest

import harness
import leak

USER = 65534


def missing():
    """Why this machine cannot run the server as another user; empty when it can."""
    if not harness.IS_ROOT:
        return "the suite runs as an ordinary user already"
    probe = subprocess.run(["setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups", "unshare", "-Ur", "true"],
                           capture_output=True, text=True, check=False)
    if probe.returncode:
        return "user namespaces are not for ordinary users here: " + probe.stderr.strip()
    probe = subprocess.run(["setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups", "test", "-x", str(harness.BINARY)], check=False)
    return f"an ordinary user cannot reach {harness.BINARY}" if probe.returncode else ""


WHY_NOT = missing()
pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT or "runs")


@pytest.fixture(scope="module")
def rootless():
    with leak.watched(harness.Server(user=USER)) as server:
        yield server


@pytest.fixture(scope="module")
def caller(rootless):
    with harness.Client(rootless.port) as made:
        yield made


def test_python_computes(rootless, caller):
    assert int(leak.read(f"/proc/{rootless.pid}/status").split("Uid:")[1].split()[0]) == USER
    record = caller.create()
    result = caller.exec(record["id"], ["python3", "-c", "print(2+2)"])
    assert (result["stdout"], result["exitCode"]) == ("4\n", 0)
    caller.ok("DELETE", f"/sandboxes/{record['id']}")


def test_the_usual_things_work(caller):
    sid = caller.create(env={"A": "b"})["id"]
    seen = caller.exec(sid, "id -u; pwd; echo $A; touch /etc/new /usr/local/x 2>/dev/null; echo hi > /tmp/f && cat /tmp/f")
    assert seen["stdout"] == "0\n/workspace\nb\nhi\n"
    caller.ok("POST", f"/sandboxes/{sid}/files/write", {"path": "d/f", "content": "text"})
    assert caller.ok("POST", f"/sandboxes/{sid}/files/read", {"path": "d/f"}) == "text"
    caller.ok("DELETE", f"/sandboxes/{sid}")


def test_clone_works_or_says_what_is_missing(caller):
    sid = caller.create()["id"]
    caller.exec(sid, "echo text > f")
    reply = caller.post(f"/sandboxes/{sid}/clone")
    if reply.status == 200:
        assert caller.exec(reply.json()["id"], "cat f")["stdout"] == "text\n"
        caller.ok("DELETE", f"/sandboxes/{reply.json()['id']}")
    else:
        assert reply.status == 501 and reply.error
    caller.ok("DELETE", f"/sandboxes/{sid}")


def test_pause_works_or_says_what_is_missing(caller):
    sid = caller.create()["id"]
    reply = caller.post(f"/sandboxes/{sid}/pause")
    if reply.status == 200:
        assert reply.json()["status"] == "paused"
        assert caller.ok("POST", f"/sandboxes/{sid}/resume")["status"] == "running"
    else:
        assert reply.status == 501 and reply.error
    assert caller.exec(sid, "echo on")["stdout"] == "on\n"
    caller.ok("DELETE", f"/sandboxes/{sid}")


def test_the_hosts_files_are_out_of_reach(rootless, caller):
    sid = caller.create()["id"]
    listed = caller.exec(sid, f"ls -a {rootless.home} 2>&1 >/dev/null | grep -c 'No such file'; ls /home")["stdout"]
    assert listed.split() in (["1", "user"], ["1"])  # the second: an image has nobody there
    inside = caller.exec(sid, "cat /etc/shadow 2>/dev/null")["stdout"]
    assert not any(line in inside for line in leak.read("/etc/shadow").splitlines() if "$" in line)
    caller.ok("DELETE", f"/sandboxes/{sid}")


def test_health_names_what_is_missing(caller):
    health = caller.ok("GET", "/health")
    assert health["status"] == "healthy" and health["missing"]
    assert harness.BACKEND != "native" or {"network", "limitDisk"} <= set(health["missing"])  # machines have disks of their own
    can = caller.ok("GET", "/metrics")["backends"][0]["can"]
    assert not any(can[name] for name in health["missing"])


def test_doctor_reports_what_is_missing(rootless):
    done = harness.run_cli("doctor", env={"III_DATA_DIR": rootless.data_dir, "HOME": rootless.home}, user=USER)
    assert done.returncode in (0, 1) and "cgroup" in (done.stdout + done.stderr).lower()


def test_a_kept_sandbox_survives_a_kill(tmp_path):
    with leak.watched(harness.Server(user=USER)) as server:
        with harness.Client(server.port) as own:
            sid = own.create()["id"]
            own.exec(sid, "echo kept > /workspace/f")
        server.held.look(server.pid)
        server.kill()
        server.start()
        with harness.Client(server.port) as own:
            assert own.exec(sid, "cat /workspace/f")["stdout"] == "kept\n"


def test_the_data_folder_is_private(rootless):
    mode = os.stat(pathlib.Path(rootless.data_dir)).st_mode & 0o777
    assert mode & 0o077 == 0


def test_networks_say_why_not():
    with harness.Server(user=USER) as server, harness.Client(server.port) as caller:
        reply = caller.post("/networks", {"name": "n"})
        assert reply.status == 501 and ("root" in reply.error or harness.BACKEND in reply.error), reply
        assert caller.ok("GET", "/networks") == {"networks": []}
