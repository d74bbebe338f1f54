"""The Debian package in a Debian that has nothing else: apt installs it, its server runs as its service file says, and sandboxes work there."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "blackbox"))

import harness  # noqa: E402
import leak  # noqa: E402

CACHE = harness.ROOT / "build" / "packages"
SOURCES = ("/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list")
BASE_S, INSTALL_S = 900, 600
KEEP_S = 7 * 86400
SUITE = "bookworm"
CAP_SYS_MODULE, CAP_SYS_ADMIN = 16, 21

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounts and namespaces of the fresh root need root")


def run(argv, limit_s=harness.DEADLINE_S * 2, **kw):
    done = subprocess.run([str(a) for a in argv], capture_output=True, text=True, check=False, timeout=limit_s, stdin=subprocess.DEVNULL, **kw)
    assert done.returncode == 0, f"{argv}: {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def base():
    """An archive of a minimal Debian with its package lists, made anew each week."""
    CACHE.mkdir(parents=True, exist_ok=True)
    archive = CACHE / f"{SUITE}.tar"
    if not archive.exists() or archive.stat().st_mtime < time.time() - KEEP_S:
        part = archive.with_suffix(".part.tar")
        sources = [s for s in SOURCES if pathlib.Path(s).exists() and "debian" in pathlib.Path(s).read_text()][:1]
        run(["mmdebstrap", "--quiet", "--variant=apt", "--skip=cleanup/apt/lists", SUITE, part, *sources], BASE_S)
        part.rename(archive)
    return archive


def fresh_root():
    """A folder with a minimal Debian; the caller removes it."""
    place = pathlib.Path(tempfile.mkdtemp(prefix="iii-fresh-", dir="/var/tmp"))
    run(["tar", "-C", place, "-xf", base(), "--numeric-owner"], INSTALL_S)
    shutil.copy("/etc/resolv.conf", place / "etc" / "resolv.conf")
    return place


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    out = tmp_path_factory.mktemp("dist")
    run([sys.executable, harness.ROOT / "tools" / "dist.py", "--only", "deb", "--binary", harness.BINARY, "--out", out], INSTALL_S)
    return next(out.glob("*.deb"))


@pytest.fixture(scope="module")
def root(package):
    """The folder of a fresh Debian with the package installed by apt."""
    place = fresh_root()
    try:
        shutil.copy(package, place / "package.deb")
        in_root(place, "apt-get", "install", "-y", "-q", "--no-install-recommends", "/package.deb", limit_s=INSTALL_S)
        yield place
    finally:
        shutil.rmtree(place)


def in_root(place, *argv, limit_s=harness.DEADLINE_S * 2):
    return run(["chroot", place, *argv], limit_s,
               env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C", "HOME": "/root"})


def confined(unit):
    """What runs a command with the rights that the service file leaves: [words before the command]."""
    denied = re.findall(r"CAP_(\w+)", " ".join(re.findall(r"^CapabilityBoundingSet=~(.*)$", unit, re.M)))
    assert len(denied) > 15 and "NoNewPrivileges=yes" in unit and "UMask=0077" in unit
    known = pathlib.Path("/proc/sys/kernel/cap_last_cap").read_text()
    assert int(known) >= 40, "a kernel that does not know them all"
    return ["sh", "-c", 'umask 077; exec "$@"', "sh", "setpriv", "--no-new-privs", "--bounding-set", ",".join(f"-{name.lower()}" for name in denied)]


class Booted:
    """The server of the service file, in namespaces whose root is the folder."""

    def __init__(self, place):
        unit = (place / "lib/systemd/system/iii-sandbox.service").read_text()
        command = re.search(r"^ExecStart=(.*)$", unit, re.M)[1].split()
        self.log_path = place.with_name(place.name + ".log")
        with open(self.log_path, "w") as log:
            self.proc = subprocess.Popen(["unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", sys.executable, HERE / "enter_root.py", place,
                                          *confined(unit), *command], stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        try:
            harness.wait_until(lambda: harness.ready_ports(self.log()) or self.ended(), "the server to be ready")
            children = pathlib.Path(f"/proc/{self.proc.pid}/task/{self.proc.pid}/children").read_text().split()
            self.pid = int(children[0])
        except BaseException:
            self.proc.kill()
            raise

    def ended(self):
        assert self.proc.poll() is None, self.log()

    def log(self):
        return self.log_path.read_text()

    def cli(self, *words):
        """iii-sandbox of the fresh root, beside the server."""
        return run(["nsenter", "--target", self.pid, "--mount", "--net", "--pid", "--root", "--wd", "/usr/bin/iii-sandbox", *words],
                   env={"PATH": "/usr/bin:/bin", "HOME": "/root"})

    def stop(self):
        os.kill(self.pid, signal.SIGTERM)
        code = self.proc.wait(harness.DEADLINE_S)
        text = self.log()
        self.log_path.unlink()
        assert code == 0, text


def process_below(pid, word):
    """The folder in /proc of a descendant whose command line holds the word."""
    for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        if word in pathlib.Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0"):
            return pathlib.Path(f"/proc/{child}")
        found = process_below(child, word)
        if found:
            return found
    return None


def test_what_apt_installed(root):
    assert "install ok installed" in in_root(root, "dpkg-query", "-W", "-f", "${Status}", "iii-sandbox")
    assert "/etc/iii-sandbox/config.yaml" in in_root(root, "dpkg-query", "-W", "-f", "${Conffiles}", "iii-sandbox")
    assert re.search(r"^iii-sandbox:[^:]*:\d+:\d+:.*:/var/lib/iii-sandbox:/usr/sbin/nologin$", in_root(root, "getent", "passwd", "iii-sandbox"))
    assert (root / "var/lib/iii-sandbox").is_dir() and in_root(root, "dpkg", "--verify", "iii-sandbox") == ""
    assert in_root(root, "iii-sandbox", "--version").startswith("iii-sandbox/")


def test_the_server_of_the_service_works(root):
    held = leak.Holdings(root / "var/lib/iii-sandbox")
    server = Booted(root)
    try:
        sid = re.search(r"Created sandbox: (sbx_\w+)", server.cli("create", "shell", "--network"))[1]
        assert server.cli("exec", sid, "echo works in $(grep -c . /etc/debian_version) Debian") == "works in 1 Debian\n"
        assert server.cli("exec", sid, "umask; cat /proc/self/oom_score_adj").split() == ["0022", "0"]
        server.cli("file", "write", sid, "kept.txt", "kept")
        snapshot = re.search(r"snap_\w+", server.cli("snapshot", "create", sid, "one"))[0]
        server.cli("file", "rm", sid, "kept.txt")
        server.cli("snapshot", "restore", sid, snapshot)
        assert server.cli("file", "read", sid, "kept.txt") == "kept"
        owner = pathlib.Path(f"/proc/{server.pid}/status").read_text()
        uid = int(in_root(root, "id", "-u", "iii-sandbox"))
        assert re.search(rf"^Uid:\s+{uid}\s+{uid}\s+{uid}\s+{uid}$", owner, re.M) and re.search(r"^CapBnd:\s+0+$", owner, re.M), owner
        launcher = process_below(server.pid, b"--launcher").joinpath("status").read_text()
        bounds = int(re.search(r"^CapBnd:\s+(\w+)$", launcher, re.M)[1], 16)
        assert bounds & 1 << CAP_SYS_ADMIN and not bounds & 1 << CAP_SYS_MODULE and re.search(r"^NoNewPrivs:\s+1$", launcher, re.M), launcher
        held.look(server.pid)
        server.cli("kill", sid)
        server.cli("snapshot", "delete", snapshot)
    finally:
        server.stop()
    held.assert_nothing_left()


def test_purge_removes_everything(root):
    in_root(root, "apt-get", "purge", "-y", "-q", "iii-sandbox", limit_s=INSTALL_S)
    for path in ("var/lib/iii-sandbox", "etc/iii-sandbox", "usr/bin/iii", "usr/bin/iii-sandbox", "lib/systemd/system/iii-sandbox.service"):
        assert not os.path.lexists(root / path), path
