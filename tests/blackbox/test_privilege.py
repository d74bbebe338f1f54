"""The process that reads foreign bytes has given up what only its helpers need: as root, as root whose data folder is out of
the new user's reach, and as an ordinary user."""
import contextlib
import os
import pathlib
import signal
import socket
import tempfile

import pytest

import harness
import leak

USER = 12345
pytestmark = pytest.mark.skipif(not harness.IS_ROOT, reason="needs root to start servers of several users")


def status(pid):
    return {key: value.split() for key, value in (line.split(":", 1) for line in leak.read(f"/proc/{pid}/status").splitlines())}


def helper(server, name):
    """The pid of the server's helper process of that name, or None."""
    for pid in leak.descendants(server.pid):
        if leak.read(f"/proc/{pid}/comm") == name + "\n" and (leak.stat_fields(pid) or [None])[0] == server.pid:  # it may have just ended
            return pid
    return None


def assert_confined(pid):
    for task in os.listdir(f"/proc/{pid}/task"):  # every thread, those of the pool too
        fields = {key: value.split() for key, value in (line.split(":", 1) for line in leak.read(f"/proc/{pid}/task/{task}/status").splitlines())}
        for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            assert int(fields[name][0], 16) == 0, (task, name, fields[name])
        assert fields["NoNewPrivs"] == ["1"]
        assert fields["Seccomp"] == ["2"]


def use(server):
    """A little of everything that once needed the daemon's own privilege: a network, figures, layers moved and counted."""
    client = server.client()
    box = client.create(network=True)["id"]
    assert client.exec(box, "id -u; echo hello > /workspace/file")["stdout"] == "0\n"
    assert client.ok("GET", f"/sandboxes/{box}/metrics")["memoryUsageMb"] >= 0
    taken = client.ok("POST", f"/sandboxes/{box}/snapshots", {"name": "one"})
    copy = client.ok("POST", f"/snapshots/{taken['id']}/clone", {})["id"]
    assert client.exec(copy, "cat /workspace/file")["stdout"] == "hello\n"
    client.ok("DELETE", f"/snapshots/{taken['id']}")
    for sid in (box, copy):
        client.ok("DELETE", f"/sandboxes/{sid}")


@pytest.fixture
def started():
    """Starts servers; each must stop cleanly and leave nothing."""
    with contextlib.ExitStack() as all_of_them:
        yield lambda **kw: all_of_them.enter_context(leak.watched(harness.Server(**kw)))


def test_root_becomes_a_user_of_its_own(started):
    server = started()
    use(server)
    fields = status(server.pid)
    uid = int(fields["Uid"][0])
    assert uid not in (0, 65534) and fields["Uid"] == [str(uid)] * 4 and fields["Gid"] == [str(uid)] * 4 and fields["Groups"] == []
    assert int(fields["CapBnd"][0], 16) == 0
    assert_confined(server.pid)
    own = {path.name: path.stat() for path in server.data_dir.iterdir()}
    for name in ("boxes", "run", "volumes", "images"):  # what the launcher believes stays root's
        assert own[name].st_uid == 0, name
    assert own["boxes"].st_mode & 0o7777 == 0o700
    assert own["state.db"].st_uid == uid
    folder = server.data_dir.stat()
    assert (folder.st_uid, folder.st_gid, folder.st_mode & 0o7777) == (0, uid, 0o1770)
    assert all(path.stat().st_uid == 0 for path in (server.data_dir / "images" / "layers").iterdir())
    assert not can_be_looked_into(server)


def can_be_looked_into(server):
    """May another process of the server's own user see what it has open?"""
    uid = int(status(server.pid)["Uid"][0])
    pid = os.fork()
    if pid == 0:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        try:
            os.listdir(f"/proc/{server.pid}/fd")
        except PermissionError:
            os._exit(0)
        os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0


def test_the_image_tool_keeps_six_capabilities(started):
    server = started()
    use(server)
    tool = status(helper(server, "iii-images"))
    kept = sum(1 << bit for bit in (0, 1, 3, 4, 21, 31))  # chown, dac_override, fowner, fsetid, sys_admin (for trusted.*), setfcap
    assert int(tool["CapEff"][0], 16) == kept and int(tool["CapBnd"][0], 16) == kept and int(tool["CapInh"][0], 16) == 0
    assert tool["NoNewPrivs"] == ["1"]


def test_the_archive_tool_has_nothing(started):
    """Neither a user, capabilities nor files: it is looked at while it waits for the rest of an archive."""
    server = started()
    sid = server.client().create()["id"]
    head = f"PUT {harness.PREFIX}/sandboxes/{sid}/files/content?path=x&format=zip HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nPK"
    with socket.create_connection(("127.0.0.1", server.port), timeout=harness.DEADLINE_S) as sock:
        sock.sendall(head.encode())
        pid = harness.wait_until(lambda: helper(server, "iii-archive"), "the archive tool")
        harness.wait_until(lambda: status(pid)["Seccomp"] == ["2"], "its filter")
        tool = status(pid)
        assert all(int(tool[name][0], 16) == 0 for name in ("CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb"))
        assert "0" not in tool["Uid"] + tool["Gid"] and tool["NoNewPrivs"] == ["1"] and tool["Groups"] == []
    harness.wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "the archive tool to leave with its client")


def test_no_helper_and_no_argument_has_a_secret(started):
    """The daemon and its keeper have the environment that the server was started with; nothing else of it has."""
    server = started(env={"III_AUTH_TOKEN": "secret-of-the-environment", "OTEL_EXPORTER_OTLP_HEADERS": "key=other-secret", "no_proxy": "kept.example"}, token="secret-of-a-flag",
                     flags=["--auth-token", "secret-of-a-flag"])
    use(server)
    pids = {name: helper(server, name) for name in ("iii-images", "iii-launcher")}
    for name, pid in pids.items():
        text = leak.read(f"/proc/{pid}/environ")
        assert "secret" not in text and "III_AUTH_TOKEN" not in text, (name, text)
    assert "no_proxy=kept.example" in leak.read(f"/proc/{pids['iii-images']}/environ")
    for pid in [server.pid, *leak.descendants(server.pid)]:
        assert "secret" not in leak.read(f"/proc/{pid}/cmdline"), pid
    assert server.client("secret-of-a-flag").get("/sandboxes").status == 200


def test_children_of_the_image_tool_serve_snapshots_and_end(started):
    server = started()
    client = server.client()
    box = client.create()["id"]
    tool, seen = helper(server, "iii-images"), set()
    for turn in range(6):
        client.ok("DELETE", f"/snapshots/{client.ok('POST', f'/sandboxes/{box}/snapshots', {})['id']}")
        for pid in leak.descendants(tool):
            assert status(pid).get("Seccomp", ["2"]) == ["2"]  # it may have just ended
            seen.add(pid)
        if turn == 3:
            for pid in leak.descendants(tool):
                os.kill(pid, signal.SIGKILL)  # whoever is asked next is not there
    assert len(seen) < 12  # they are not made anew for each of the four calls of a turn
    harness.wait_until(lambda: len(leak.descendants(tool)) == 1, "those that have served to end")
    client.ok("DELETE", f"/sandboxes/{box}")


def test_a_data_folder_out_of_reach_leaves_root_without_rights(started):
    server = harness.Server()
    os.chmod(server.home, 0o700)
    held = leak.Holdings(server.data_dir)
    with server:
        use(server)
        fields = status(server.pid)
        assert fields["Uid"] == ["0"] * 4 and int(fields["CapBnd"][0], 16) == 0
        assert_confined(server.pid)
        assert server.log().count("only root can enter a folder above the data folder") == 1
        assert server.data_dir.stat().st_mode & 0o7777 == 0o700
        admin = harness.run_cli("token", "create", "first", "--role", "admin", "--data-dir", server.data_dir).stdout.split()[-1]
        assert server.client(admin).ok("POST", "/tokens", {"name": "second"})["role"] == "user", "made by the server itself"
        held.look(server.pid)
    held.assert_nothing_left()


@pytest.fixture
def config():
    """A configuration file that every user can read."""
    with tempfile.TemporaryDirectory(prefix="iii-t-") as folder:
        os.chmod(folder, 0o755)
        path = pathlib.Path(folder, "config.yaml")
        path.write_text("sandbox: {max_jobs: 7}\n")
        yield path


def test_an_ordinary_user_is_confined_alike(config, started):
    server = started(user=USER, flags=["--config", str(config)])
    config.write_text("sandbox: {max_jobs: 8}\n")
    harness.wait_until(lambda: "keys=sandbox.max_jobs" in server.log(), "the file to be read again")
    reader = status(helper(server, "iii-config"))
    assert reader["Uid"] == [str(USER)] * 4 and reader["Seccomp"] == ["2"] and int(reader["CapPrm"][0], 16) == 0
    client = server.client()
    box = client.create()["id"]
    assert client.exec(box, "echo hello")["stdout"] == "hello\n"
    client.ok("DELETE", f"/sandboxes/{box}")
    assert status(server.pid)["Uid"] == [str(USER)] * 4
    assert_confined(server.pid)


@pytest.mark.parametrize("user", [None, USER])
def test_every_helper_is_started_again(started, user):
    server = started(user=user)
    client = server.client()
    box = client.create()["id"]
    for name in ("iii-launcher", "iii-images", "iii-launcher", "iii-images"):
        old = helper(server, name)
        os.kill(old, signal.SIGKILL)
        if name == "iii-launcher":
            harness.wait_until(lambda: helper(server, "iii-launcher") not in (None, old), "another launcher")
        assert client.exec(box, "echo on")["stdout"] == "on\n"
        assert client.delete("/images/none").status == 404  # asked of the image tool, which is started again for it
        client.ok("DELETE", f"/sandboxes/{client.create()['id']}")
    assert_confined(server.pid)
    client.ok("DELETE", f"/sandboxes/{box}")


def hand_back(folder):
    """Makes a data folder what it was before servers had a user of their own: all of it root's, and private."""
    for path in [folder, *folder.rglob("*")]:
        if "layers" not in path.parts and not path.is_symlink():
            os.chown(path, 0, 0)
            os.chmod(path, 0o700 if path.is_dir() else 0o600)


def test_a_data_folder_of_root_is_taken_over_with_its_sandboxes(started):
    server = started(env={"III_ON_SHUTDOWN": "keep"}, flags=["--run-as", "root"])
    client = server.client()
    box = client.create()["id"]
    client.exec(box, "echo kept > /workspace/file")
    assert status(server.pid)["Uid"] == ["0"] * 4
    server.held.look(server.pid)
    server.kill()
    hand_back(server.data_dir / "images" / "pins")
    server.flags, server.env = ["--run-as", "4242:4243"], {}
    server.start()
    client = server.client()
    fields = status(server.pid)
    assert fields["Uid"] == ["4242"] * 4 and fields["Gid"] == ["4243"] * 4
    assert client.exec(box, "cat /workspace/file")["stdout"] == "kept\n"
    assert (server.data_dir / "state.db").stat().st_uid == 4242
    use(server)
    client.ok("DELETE", f"/sandboxes/{box}")


def test_links_in_the_data_folder_are_not_handed_over(started, tmp_path):
    server = harness.Server()
    server.data_dir.mkdir(mode=0o700)
    outside = tmp_path / "outside"
    outside.write_text("root's")
    (server.data_dir / "soft").symlink_to(outside)
    os.link(outside, server.data_dir / "hard") if os.stat(tmp_path).st_dev == os.stat(server.home).st_dev else None
    os.mkfifo(server.data_dir / "pipe")
    with server:
        assert outside.stat().st_uid == 0
        assert status(server.pid)["Uid"][0] != "0"


def test_a_folder_that_somebody_planted_is_refused():
    server = harness.Server()
    try:
        server.data_dir.mkdir(mode=0o700)
        (server.data_dir / "boxes").mkdir()
        os.chown(server.data_dir / "boxes", USER, USER)
        done = harness.run_cli("serve", "--port", "0", "--engine-port", "0", "--data-dir", server.data_dir)
        assert done.returncode == 1 and "folder boxes of the data folder belongs to user 12345" in done.stderr
    finally:
        server.remove()


@pytest.mark.parametrize("name, why", [("nobody-such", "there is no user"), ("1:nobody-such", "there is no group"), ("-1", "there is no user"), ("4294967295", "there is no user")])
def test_a_user_that_cannot_be_is_refused(name, why, tmp_path):
    done = harness.run_cli("serve", "--run-as", name, "--data-dir", tmp_path / "data")
    assert done.returncode == 1 and why in done.stderr


def test_only_root_can_become_another(tmp_path):
    done = harness.run_cli("serve", "--run-as", "4242", env={"HOME": "/nonexistent"}, user=USER)
    assert done.returncode == 1
    server = harness.Server(user=USER)
    try:
        done = harness.run_cli("serve", "--run-as", "4242", "--data-dir", server.data_dir, user=USER)
        assert done.returncode == 1 and "only root can become user" in done.stderr
    finally:
        server.remove()


def test_nothing_is_left_when_the_server_is_killed(config, started):
    server = started(flags=["--config", str(config)])
    server.client().create()
    server.held.look(server.pid)
    harness.wait_until(lambda: helper(server, "iii-config"), "the reader of its configuration")
    helpers = [helper(server, name) for name in ("iii-keeper", "iii-images", "iii-launcher", "iii-config")]
    assert all(helpers)
    server.kill()
    harness.wait_until(lambda: not any(leak.read(f"/proc/{pid}/comm").startswith("iii-") for pid in helpers), "the helpers to end")
    server.start()  # which ends the sandbox that nobody kept
