"""The fixtures of tests/blackbox/, and a bait: files of the host that no sandbox may see or change."""
import hashlib
import importlib.util
import os
import pathlib
import shutil
import sys
import tempfile

import pytest

BLACKBOX = pathlib.Path(__file__).resolve().parent.parent / "blackbox"
sys.path.insert(0, str(BLACKBOX))

import harness  # noqa: E402

spec = importlib.util.spec_from_file_location("blackbox_fixtures", BLACKBOX / "conftest.py")
shared = importlib.util.module_from_spec(spec)
spec.loader.exec_module(shared)
server, client, new_sandbox, sandbox = shared.server, shared.client, shared.new_sandbox, shared.sandbox
pytest_configure, pytest_runtest_setup = shared.pytest_configure, shared.pytest_runtest_setup

USER = 65534


class Bait:
    """A folder of the host, open to everybody, with a secret in it. same() says whether it is as it was."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="iii-bait-"))
        self.secret = os.urandom(16).hex()
        self.file = self.folder / "secret"
        for name in ("secret", "hosts", "hostname", "resolv.conf", "null", "passwd"):
            (self.folder / name).write_text(self.secret)
        for path in (self.folder, *self.folder.iterdir()):
            path.chmod(0o777)
        self.before = self.look()

    def look(self):
        seen = []
        for path in sorted([self.folder, *self.folder.rglob("*")]):
            st = path.lstat()
            data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            seen.append((str(path), st.st_mode, st.st_uid, st.st_gid, st.st_ctime_ns, hashlib.sha256(data).hexdigest()))
        return seen

    def assert_same(self):
        assert self.look() == self.before
        for mounts in ("/proc/self/mountinfo", "/proc/1/mountinfo"):
            try:
                assert str(self.folder) not in pathlib.Path(mounts).read_text()
            except PermissionError:
                pass


@pytest.fixture
def bait():
    made = Bait()
    yield made
    try:
        made.assert_same()
    finally:
        shutil.rmtree(made.folder, ignore_errors=True)


@pytest.fixture(params=["root", "user"])
def any_server(request):
    """A server as we are, and one as an ordinary user."""
    if request.param == "user" and not harness.IS_ROOT:
        pytest.skip("the suite runs as an ordinary user already")
    if request.param == "user" and harness.BACKEND == "qemu":
        pytest.skip("who runs the server changes nothing in a machine; test_escape.py has one without root")
    with harness.Server(user=USER if request.param == "user" else None) as made:
        yield made
