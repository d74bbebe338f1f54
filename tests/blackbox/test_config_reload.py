"""A running server and its configuration file: what the sandbox:: functions may do changes with the file, without a restart."""
import contextlib
import errno
import json
import os
import pathlib
import re
import shutil
import signal
import tempfile

import pytest

import harness
import inject
import leak
from fnclient import Functions
from test_privilege import helper, status

READER = "iii-config"
TAKES_OVER = pytest.mark.skipif(not (harness.IS_ROOT and inject.IS_POSSIBLE), reason="takes another process over: root, x86-64")
# The environment wins over the file, at a reload too; the name in ${} is taken from it.
ENV = {"III_MAX_EXECS": "7", "MY_IMAGE": "python", "III_FN_MAX_SANDBOXES": "no number"}


def block(allowed, **more):
    """A configuration file with a worker block."""
    lines = [f"      {key}: {json.dumps(value)}\n" for key, value in {"image_allowlist": allowed, **more}.items()]
    return "workers:\n  - name: iii-sandbox\n    config:\n" + "".join(lines)


class Operator:
    """Somebody who edits the file beside a running server, and a caller who sees what comes of it."""

    def __init__(self, server, path):
        self.server, self.path, self.fn = server, path, Functions(server.engine_port)

    def replace(self, text):
        """As editors do: a new file takes the place of the old one."""
        new = self.path.with_name("new")
        new.write_text(text)
        new.rename(self.path)

    def allowed(self):
        return {row["name"] for row in self.fn.call("catalog::list")["images"] if row["allowed"]}

    def wait(self, *names):
        harness.wait_until(lambda: self.allowed() == set(names), f"only {names} to be allowed\n{self.server.log()}")

    def reader(self):
        return helper(self.server, READER)

    def said(self, word, since=0):
        """Lines of the log with that word."""
        return [line for line in self.server.log_path.read_text()[since:].splitlines() if word in line]

    def mark(self):
        return len(self.server.log_path.read_text())

    def wait_said(self, word, since):
        return harness.wait_until(lambda: self.said(word, since), f"{word} in the log\n{self.server.log()}")


@contextlib.contextmanager
def operated():
    with tempfile.TemporaryDirectory(prefix="iii-t-conf-") as home:
        path = pathlib.Path(home, "config.yaml")
        path.write_text(block(["node"]))
        with leak.watched(harness.Server(flags=["--config", str(path)], env=ENV)) as server:
            made = Operator(server, path)
            made.replace(block([]))
            made.wait()  # the reader is there
            yield made
            server.held.look(server.pid)
            made.fn.close()


@pytest.fixture(scope="module")
def one():
    with operated() as made:
        yield made


@pytest.fixture
def op(one):
    """The server's, with nothing but node allowed."""
    one.replace(block(["node"]))
    one.wait("node")
    return one


def test_worker_add_and_edits_count_from_the_next_call_on(op):
    op.fn.fault("create", "S100", image="python")
    done = harness.run_cli("-c", op.path, "worker", "add", "iii-sandbox", "--force", "--reset-config")
    assert done.returncode == 0 and "rereads it automatically" in done.stderr
    op.wait("python", "node")
    box = op.fn.create("python")
    op.path.write_text(block(["node"], max_exec_timeout_ms=400000))
    op.wait("node")
    op.fn.fault("create", "S100", image="python")
    assert op.fn.call("exec", sandbox_id=box, cmd="echo", args=["still"])["stdout"] == "still\n"  # what is there stays
    assert len(op.said("evt=server.confined")) == 1


def test_calls_under_way_end_by_what_they_began_with(op):
    op.replace(block(["python"]))
    op.wait("python")
    box = op.fn.create("python")
    call = op.fn.ask("exec", sandbox_id=box, cmd="sh", args=["-c", "while [ ! -e /tmp/go ]; do sleep 0.05; done; echo done"])
    op.replace(block([], max_exec_timeout_ms=1, max_concurrent_sandboxes=0))
    op.wait()
    assert "after 1ms" in op.fn.fault("exec", "S200", sandbox_id=box, cmd="sleep", args=["60"])["message"]
    op.fn.call("fs::write", sandbox_id=box, path="/tmp/go", content="")
    assert op.fn.answer(call)["stdout"] == "done\n"
    op.fn.fault("create", "S400", image="python")


@pytest.mark.parametrize("text, complaint", [
    ("workers: {\n", ":2:1: "),
    ("workers:\n  - name: iii-sandbox\n    config:\n      image_allowlist: 5\n", ":4:7: image_allowlist: a list of names"),
    (block(["python"], default_cpus=99999), ":5:21: default_cpus: "),
    (block(["python"]) + "colour: red\n", ':5:1: unknown key "colour"'),
    (block(["python"]) + "rest: {port: ${NOT_SET_ANYWHERE}}\n", "NOT_SET_ANYWHERE is not set"),
    ("#" * (1 << 20) + "\n", "larger than 1048576 bytes"),
], ids=("syntax", "kind", "value", "key", "variable", "size"))
def test_a_broken_file_changes_nothing(op, text, complaint):
    since = op.mark()
    op.replace(text)
    line = op.wait_said("the previous settings stay in effect", since)[0]
    assert str(op.path) in line and complaint in line.replace('\\"', '"'), line
    assert op.allowed() == {"node"}
    op.replace(block(["python"]))
    op.wait("python")


def test_other_keys_wait_for_a_start(op):
    since = op.mark()
    op.replace("rest: {max_body_mb: 1}\nlimits: {ports: 3}\n" + block(["python"]))
    line = op.wait_said("evt=config.restart", since)[0]
    assert re.search(r"keys=rest.max_body_mb,limits.ports ", line), line
    op.wait("python")
    op.replace("rest: {max_body_mb: 1}\nlimits: {ports: 3}\n" + block([]))
    op.wait()
    assert len(op.said("evt=config.restart", since)) == 1  # said once


def test_environment_over_file(op):
    """Of two values in the environment one is good, and wins; the other counts as not set."""
    op.replace(block(["python"]))
    op.wait("python")
    op.fn.create("python")
    warned = len(op.said("III_FN_MAX_SANDBOXES"))
    op.replace(block(["${MY_IMAGE}", "node"], max_concurrent_exec_per_sandbox=2, max_concurrent_sandboxes=1))
    op.wait("python", "node")
    assert op.fn.call("list")["sandboxes"][0]["exec_slots_free"] == 7
    assert "max_concurrent_sandboxes is 1" in op.fn.fault("create", "S400", image="python")["message"]
    assert warned == len(op.said("III_FN_MAX_SANDBOXES")) == 1


def link(target, name):
    """A link takes the place of what is there."""
    name.with_name("link").symlink_to(target)
    name.with_name("link").rename(name)


def test_links_are_followed_wherever_they_lead(op, tmp_path):
    folder, since = op.path.parent, op.mark()
    for number, allowed in ((1, ["python"]), (2, [])):
        (folder / f"..{number}").mkdir()
        (folder / f"..{number}" / op.path.name).write_text(block(allowed))
    link("..1", folder / "..data")  # as Kubernetes mounts a volume
    link(f"..data/{op.path.name}", op.path)
    op.wait("python")
    link("..2", folder / "..data")
    op.wait()
    (tmp_path / "elsewhere").write_text(block(["python"]))
    link(tmp_path / "elsewhere", op.path)
    op.wait("python")
    (tmp_path / "elsewhere").write_text(block(["python", "node"]))
    op.wait("python", "node")
    link(folder / "nowhere", op.path)
    op.replace(block(["node"]))
    op.wait("node")
    assert not op.said("its reader", since)  # one that went for cause is no news


@pytest.mark.skipif(not harness.IS_ROOT, reason="only root's reader may read more than the server")
def test_nothing_is_read_where_the_server_could_have_put_it(op, tmp_path):
    uid = int(status(op.server.pid)["Uid"][0])
    open_to = {"others": lambda at: at.chmod(0o777), "group": lambda at: (os.chown(at, 0, uid), at.chmod(0o770)), "owner": lambda at: os.chown(at, uid, 0),
               "above": lambda at: (os.chown(at, 0, 0), at.chmod(0o755), at.parent.chmod(0o777))}
    for at in (op.server.data_dir / "sub", tmp_path / "a" / "b"):
        at.mkdir(parents=True)
        (at / "c.yaml").write_text(block(["python"]))
    since = op.mark()
    link(op.server.data_dir / "sub" / "c.yaml", op.path)
    op.wait_said("could put another file there", since)
    for how in open_to.values():
        how(tmp_path / "a" / "b")
        since = op.mark()
        link(tmp_path / "a" / "b" / "c.yaml", op.path)
        op.server.proc.send_signal(signal.SIGHUP)  # the reader of the last one has nothing to watch
        op.wait_said("could put another file there", since)
        assert op.allowed() == {"node"}
    (tmp_path / "a").chmod(0o755)
    op.server.proc.send_signal(signal.SIGHUP)
    op.wait("python")
    shutil.rmtree(op.server.data_dir / "sub")


def test_a_burst_is_read_when_it_settles(op):
    since = op.mark()
    for turn in range(200):
        op.replace(block(["node"]) + f"# {turn}\n")
    op.replace(block(["python"]))
    op.wait("python")
    assert 1 <= len(op.said("evt=config.reloaded", since)) < 50


def test_a_removed_file_or_folder_changes_nothing(op):
    since = op.mark()
    op.path.unlink()
    assert "No such file" in op.wait_said("evt=config.reader", since)[0]
    assert op.allowed() == {"node"}
    op.path.write_text(block(["python"]))
    op.wait("python")
    away = op.path.parent.with_name(op.path.parent.name + "-away")
    since = op.mark()
    op.path.parent.rename(away)
    op.wait_said("its folder does not exist", since)
    assert op.allowed() == {"python"}
    away.rename(op.path.parent)
    op.replace(block([]))
    op.wait()


def test_the_reader_is_started_again(op):
    for allowed in (["python"], []):
        old, since = op.reader(), op.mark()
        os.kill(old, signal.SIGKILL)
        op.replace(block(allowed))  # perhaps before there is another
        op.wait(*allowed)
        assert op.reader() not in (None, old) and len(op.said("was killed", since)) == 1


def test_hangup_reads_again_and_says_so(op):
    op.replace(block(["python"]))
    op.wait("python")
    since = op.mark()
    op.server.proc.send_signal(signal.SIGHUP)
    assert "changed=nothing" in op.wait_said("evt=config.reloaded", since)[0]
    op.path.unlink()
    op.wait_said("No such file", since)
    since = op.mark()
    op.server.proc.send_signal(signal.SIGHUP)
    op.wait_said("No such file", since)


def test_the_reader_has_one_right(op):
    pid = op.reader()
    fields = status(pid)
    for name in ("CapEff", "CapPrm", "CapBnd"):
        assert int(fields[name][0], 16) in (0, 1 << 1, 1 << 2) or not harness.IS_ROOT, name  # dac_read_search, or dac_override alone
    assert fields["NoNewPrivs"] == ["1"] and fields["Seccomp"] == ["2"] and fields["CapInh"] == fields["CapAmb"] == ["0" * 16]
    opened = {fd: os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}
    assert len(opened) == 5 and "socket:" in opened["3"] and "anon_inode:inotify" in opened.values(), opened
    assert leak.read(f"/proc/{pid}/environ") == ""


@TAKES_OVER
def test_a_reader_that_was_taken_over_reads_its_folder_only(op, tmp_path):
    (tmp_path / "other").write_text("")
    at = -100  # AT_FDCWD
    with inject.Taken(op.reader()) as taken:
        assert taken.call(inject.OPENAT, at, str(op.path), os.O_RDONLY) >= 0
        for path in ("/etc/passwd", tmp_path / "other", op.server.data_dir / "state.db", "/proc/self/status"):
            assert taken.call(inject.OPENAT, at, str(path), os.O_RDONLY) == -errno.EACCES, path
        assert taken.call(inject.OPENAT, at, str(op.path), os.O_RDWR) == -errno.EPERM
        assert taken.call(inject.OPENAT, at, str(op.path) + ".x", os.O_WRONLY | os.O_CREAT, 0o600) == -errno.EPERM
        assert taken.call(inject.MKDIR, str(op.path) + ".d", 0o700) == -errno.EPERM
        assert taken.call(inject.SOCKET, 2, 1, 0) == -errno.EPERM
        assert taken.call(inject.EXECVE, "/bin/true", 0, 0) == -errno.EPERM
        assert taken.call(inject.KILL, op.server.pid, 0) == -errno.EPERM
    op.replace(block(["python"]))
    op.wait("python")


@TAKES_OVER
def test_a_reader_that_talks_nonsense_is_ended(op):
    old, since = op.reader(), op.mark()
    with inject.Taken(old) as taken:
        assert taken.call(inject.WRITE, 3, "nonsense", 8) in (8, None)
    op.wait_said("was killed", since)
    op.replace(block(["python"]))
    op.wait("python")
    assert op.reader() != old


def test_a_server_that_takes_over_has_a_reader_of_its_own(op):
    op.replace(block(["python"]))
    op.wait("python")
    op.fn.close()
    old = op.reader()
    assert "III_TTL_SWEEP" in op.server.takeover(env={"III_TTL_SWEEP": "never ever"})  # the one that is there goes on
    op.fn = Functions(op.server.engine_port)
    assert op.allowed() == {"python"}  # at once: what was in force was not given up meanwhile
    harness.wait_until(lambda: op.reader() not in (None, old), "its new reader")
    op.fn.close()
    old, start = op.reader(), leak.stat_fields(op.reader())[1]
    assert op.server.takeover() is None
    op.fn = Functions(op.server.engine_port)
    op.replace(block([]))
    op.wait()
    assert op.reader() != old and (leak.stat_fields(old) or [0, 0])[1] != start
