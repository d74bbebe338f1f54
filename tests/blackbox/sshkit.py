"""OpenSSH's own clients against a server of the tests."""
import os
import pathlib
import shutil
import subprocess

import pytest

import harness

PROGRAMS = ("ssh", "ssh-keygen", "sftp", "scp", "rsync")
BASE = ("-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "GlobalKnownHostsFile=/dev/null", "-o", "IdentitiesOnly=yes",
        "-o", "IdentityAgent=none", "-o", "BatchMode=yes", "-o", "LogLevel=ERROR", "-F", "/dev/null")


def make_key(folder, name="id", kind="ed25519", bits=None):
    path = pathlib.Path(folder) / name
    subprocess.run(["ssh-keygen", "-q", "-t", kind, *(["-b", str(bits)] if bits else []), "-N", "", "-C", f"{name} of a test", "-f", path], check=True)
    return path


def public(path):
    return pathlib.Path(f"{path}.pub").read_text()


class Ssh:
    """One key and one server: run(user, command), sftp(user, batch), …"""

    def __init__(self, port, key, folder):
        for program in PROGRAMS:
            if not shutil.which(program):
                pytest.fail(f"{program} is missing: run ./dev test, which installs it")
        self.port, self.key, self.folder = port, key, pathlib.Path(folder)
        self.options = [*BASE, "-i", str(key)]

    def argv(self, user, *more):
        return ["ssh", *self.options, "-p", str(self.port), *more, f"{user}@127.0.0.1"]

    def run(self, user, command, *more, stdin=b"", timeout_s=None):
        return subprocess.run([*self.argv(user, *more), command], input=stdin, capture_output=True, timeout=timeout_s or harness.DEADLINE_S)

    def start(self, user, command, *more, **kw):
        return subprocess.Popen([*self.argv(user, *more), command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw)

    def sftp(self, user, batch, timeout_s=None):
        """The commands of a batch; each must succeed."""
        done = subprocess.run(["sftp", *self.options, "-P", str(self.port), "-b", "-", f"{user}@127.0.0.1"], input=batch.encode(), capture_output=True,
                              cwd=self.folder, timeout=timeout_s or harness.DEADLINE_S)
        assert done.returncode == 0, done
        return done.stdout.decode()

    def scp(self, *args):
        return subprocess.run(["scp", *self.options, "-P", str(self.port), *map(str, args)], capture_output=True, cwd=self.folder, timeout=harness.DEADLINE_S)

    def rsync(self, *args, timeout_s=None):
        shell = " ".join(["ssh", *self.options, "-p", str(self.port)])
        done = subprocess.run(["rsync", "-e", shell, *map(str, args)], capture_output=True, cwd=self.folder, timeout=timeout_s or harness.DEADLINE_S,
                              env={**os.environ, "LC_ALL": "C"})
        assert done.returncode == 0, done
        return done.stdout.decode()


def listener_pid(server):
    """The SSH listener of this server."""
    mine = str(server.data_dir).encode()
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[1:3] == [b"--ssh-listener", mine]:
            if int(path.parent.joinpath("stat").read_text().rsplit(")", 1)[1].split()[1]) == server.pid:
                return int(path.parent.name)
    return None


def connections(server):
    """Processes of the listener: one for each connection."""
    parent = listener_pid(server)
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            rest = path.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(rest[1]) == parent and rest[0] != "Z":
            found.append(int(path.parent.name))
    return found
