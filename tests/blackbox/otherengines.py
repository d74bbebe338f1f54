"""Engines that answer Docker's API but are not a plain dockerd with runc: chosen by III_TEST_ENGINE, so that the same test files run on them."""
import json
import os
import resource
import shutil
import signal

import dockerkit

ORDINARY = 1  # the user "daemon", which every Debian has
PROCESSES = 32768  # what podman itself asks for where it may


class Gvisor(dockerkit.Engine):
    """dockerd whose containers run in gVisor. The agent calls out of it through a socket, which runsc has to be told to allow."""

    server_env = {"III_DOCKER_RUNTIME": "runsc"}
    _statx = "this gVisor does not know a flag of statx() that Debian's stat and ls pass"
    _memory = "a gVisor whose control group is full is killed as a whole"
    _threads = "gVisor's own threads count against the limit of processes"
    _keys = "this gVisor's terminals send no signals"
    cannot = {"test_chmod": _statx, "test_write_replaces_and_has_its_mode_and_owner": _statx, "test_timeout_and_memory": _memory,
              "test_out_of_memory_is_named": _memory, "test_memory_limit_hits_only_its_own_sandbox": _memory,
              "test_a_fork_bomb_hits_only_its_own_sandbox": _threads, "test_zombies_are_collected": _threads, "test_keys_are_signals": _keys,
              "test_resize_by_route_and_by_frame": _keys, "test_a_full_screen_program": _keys}

    @staticmethod
    def lacks():
        return None if dockerkit.is_there() and shutil.which("runsc") else "needs dockerd, runsc and root"

    def argv(self):
        config = self.home / "daemon.json"
        config.write_text(json.dumps({"runtimes": {"runsc": {"path": shutil.which("runsc"), "runtimeArgs": ["--platform=ptrace", "--network=none", "--fsgofer-host-uds"]}}}))
        return [*super().argv(), "--config-file", str(config)]


class Podman(dockerkit.Engine):
    """podman's service for Docker's API, as root and with runc: Debian's crun does not start on hosts with both kinds of control groups."""

    @staticmethod
    def lacks():
        missing = [name for name in ("podman", "runc", "conmon") if not shutil.which(name)]
        return "needs root" if os.geteuid() else f"not installed: {', '.join(missing)}" if missing else None

    def argv(self):
        return ["podman", "--root", self.home / "data", "--runroot", self.home / "run", "--tmpdir", self.home / "tmp", "--cgroup-manager", "cgroupfs",
                "--runtime", shutil.which("runc"), "--events-backend", "file", "system", "service", "--time", "0", self.host]

    def env(self):
        """Its default limits are above what a root without CAP_SYS_RESOURCE may ask for."""
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        config = self.home / "containers.conf"
        config.write_text(f'[containers]\ndefault_ulimits = ["nofile={files}:{files}", "nproc={PROCESSES}:{PROCESSES}"]\n')
        return {**os.environ, "CONTAINERS_CONF": str(config)}

    def start(self):
        super().start()
        os.chmod(self.socket, 0o660)  # as podman.socket of systemd has it: the server is in the socket's group
        return self


class RootlessPodman(Podman):
    """The same as an ordinary user's: no root anywhere, one user id in its containers where the host grants no more."""

    def argv(self):
        for folder in (self.home, self.home / "home", self.home / "session"):
            folder.mkdir(exist_ok=True)
            os.chown(folder, ORDINARY, ORDINARY)
        return ["setpriv", "--reuid", str(ORDINARY), "--regid", str(ORDINARY), "--clear-groups", *super().argv()]

    def env(self):
        return {**super().env(), "HOME": str(self.home / "home"), "XDG_RUNTIME_DIR": str(self.home / "session")}

    def end_helpers(self):
        """Also the process that holds the user's namespaces for the next podman: it names no folder, but a file names it."""
        for file in self.home.rglob("pause.pid"):
            os.kill(int(file.read_text()), signal.SIGKILL)
        super().end_helpers()


KINDS = {"": dockerkit.Engine, "runsc": Gvisor, "podman": Podman}


def kind():
    name = os.environ.get("III_TEST_ENGINE", "")
    assert name in KINDS, f"III_TEST_ENGINE is one of {', '.join(filter(None, KINDS))}, not {name}"
    return KINDS[name]


def make():
    return kind()()
