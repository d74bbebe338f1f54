"""Someone who has a bare Debian 12 and this repository: `./dev serve`, then every command of README.md and of examples/agents, as they are written.

The root is made as in test_fresh_root.py. Its network namespace has a loopback of its own, so the usual ports are free, and reaches the package
registries through slirp4netns, by what this host's package managers are told (files and variables below). Before the agents of the frameworks run, that
way out is closed: they talk to the server alone."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "blackbox"))

import harness  # noqa: E402
import leak  # noqa: E402
import registries  # noqa: E402
import test_readme  # noqa: E402
from test_fresh_root import fresh_root  # noqa: E402

AGENTS = harness.ROOT / "examples" / "agents" / "README.md"
HOME, AGENTS_HOME = "root/iii-sandbox", "root/iii-sandbox/examples/agents"
SETTINGS = ("/etc/pip.conf",)
VARIABLES = ("http_proxy", "https_proxy", "no_proxy", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CERT", "PIP_DEFAULT_TIMEOUT", "SSL_CERT_FILE")
BUILD_S = 1500
MISSING = [tool for tool in ("mmdebstrap", "slirp4netns") if not shutil.which(tool)] + registries.missing_tools()
pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="mounts and namespaces of the fresh root need root"),
              pytest.mark.skipif(bool(MISSING), reason=f"without {' '.join(MISSING)}")]


def settings_of_this_host(root):
    """Gives the root what package managers need to reach their registries from here; the variables of it."""
    (root / "etc" / "hosts").write_text("127.0.0.1 localhost\n")  # as Debian's installer does
    found = {name: os.environ[name] for name in {*VARIABLES, *map(str.upper, VARIABLES)} if name in os.environ}
    for path in filter(os.path.isfile, SETTINGS):
        shutil.copy(path, root / path.lstrip("/"))
    for name, path in found.items():
        if path.startswith("/"):  # not in its old place: a package may write its own file there
            shutil.copy(path, root / "srv" / name)
            found[name] = f"/srv/{name}"
    return found


class Outside:
    """A way out of the network namespace, until closed."""

    def __init__(self, network):
        ready, told = os.pipe()
        self.proc = subprocess.Popen(["slirp4netns", "--configure", "--disable-host-loopback", "--ready-fd", str(told), str(network.holder.pid), "tap0"],
                                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, pass_fds=[told])
        os.close(told)
        with open(ready, "rb") as answer:
            assert answer.read(1) == b"1", self.proc.communicate()[1]

    def close(self):
        if self.proc.poll() is None:
            self.proc.terminate()
            self.proc.communicate()


class Machine:
    """`./dev serve` of the root's own copy of the repository, in namespaces whose root it is."""

    def __init__(self, root, network, env):
        self.log_path, self.env = root.with_name(root.name + ".log"), [f"{name}={value}" for name, value in env.items()]
        command = ["env", *self.env, "sh", "-c", f"cd /{HOME} && exec ./dev serve"]
        with open(self.log_path, "w") as log:
            self.proc = subprocess.Popen([*network.before, "unshare", "--mount", "--pid", "--fork", "--kill-child", sys.executable, HERE / "enter_root.py", root,
                                          *command], stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)

    def ready(self):
        harness.wait_until(lambda: harness.ready_ports(self.log()) or self.ended(), "./dev serve on a bare Debian", BUILD_S)
        self.pid = int(pathlib.Path(f"/proc/{self.proc.pid}/task/{self.proc.pid}/children").read_text().split()[0])

    def ended(self):
        assert self.proc.poll() is None, self.log()[-3000:]

    def log(self):
        return self.log_path.read_text()

    def before(self, folder):
        return ["nsenter", "--target", str(self.pid), "--mount", "--net", "--pid", f"--root=/proc/{self.pid}/root", f"--wd=/proc/{self.pid}/root/{folder}",
                "env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", *self.env]

    def stop(self):
        if self.proc.poll() is None and hasattr(self, "pid"):
            os.kill(self.pid, signal.SIGTERM)
        else:
            self.proc.kill()
        code = self.proc.wait(harness.DEADLINE_S * 2)
        text = self.log()
        self.log_path.unlink()
        return code, text


@pytest.fixture
def root():
    place = fresh_root()
    yield place
    shutil.rmtree(place)


def test_a_bare_debian_and_this_repository(root, tmp_path):
    env = settings_of_this_host(root)
    test_readme.clean_copy(root / HOME)
    held = leak.Holdings(root / "var/lib/iii-sandbox")
    with test_readme.Network() as network, test_readme.Provided(network, root / HOME, tmp_path) as provided:
        outside, machine = Outside(network), Machine(root, network, {**env, **provided.env})
        try:
            machine.ready()
            test_readme.run_commands(test_readme.steps(test_readme.README), machine.before(HOME), BUILD_S)
            install, *programs = test_readme.steps(AGENTS)
            test_readme.run_commands([install], machine.before(AGENTS_HOME), BUILD_S)
            outside.close()
            test_readme.run_commands(programs, machine.before(AGENTS_HOME))
            held.look(machine.pid)
        finally:
            outside.close()
            code, text = machine.stop()
    assert code == 0, text[-3000:]
    held.assert_nothing_left()
