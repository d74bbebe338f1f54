"""A kernel for microVMs fetched from Debian, and a guest booted from it: once as root, once as an ordinary user from the same package."""
import json
import os
import pathlib
import subprocess
import tempfile

import pytest

LIMIT_S = 600
BINARY = os.environ["III_BIN"]
USER = 54321


def iii(*args, user=None):
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/"}
    done = subprocess.run([BINARY, "vm", *map(str, args), "--json"], capture_output=True, text=True, check=False, timeout=LIMIT_S,
                          stdin=subprocess.DEVNULL, user=user, group=user, extra_groups=[] if user else None, env=env)
    return done.returncode, json.loads(done.stdout)


@pytest.fixture(scope="module")
def place():
    """A folder that another user can reach as well; those of pytest are closed to others."""
    with tempfile.TemporaryDirectory(prefix="iii-vm-") as path:
        os.chmod(path, 0o755)
        yield pathlib.Path(path)


@pytest.fixture(scope="module")
def fetched(place):
    code, answer = iii("setup", "--data-dir", place / "root")
    assert code == 0, answer
    return answer


def test_setup_fetches_and_boots(fetched, place):
    assert fetched["made"] is True and fetched["version"].endswith("-cloud-amd64")
    assert fetched["kernelBytes"] > 20_000_000 and 1_000_000 < fetched["initramfsBytes"] < 20_000_000
    assert fetched["acceleration"] in ("kvm", "tcg") and fetched["bootMs"] > 0
    assert (fetched["acceleration"] == "tcg") == bool(fetched["whyNotKvm"])
    assert pathlib.Path(fetched["kernel"]).read_bytes()[:4] == b"\x7fELF"
    kit = place / "root" / "vm" / "kit"
    assert len([p for p in kit.iterdir() if p.name.startswith("new-")]) == 0


def test_a_second_run_changes_nothing(fetched, place):
    code, again = iii("setup", "--data-dir", place / "root")
    assert code == 0 and again == {**fetched, "made": False}
    code, status = iii("status", "--data-dir", place / "root")
    assert code == 0 and status["kernel"] == fetched["kernel"]


def test_a_damaged_kit_is_named_and_made_anew(fetched, place):
    pathlib.Path(fetched["kernel"]).write_bytes(b"")
    code, status = iii("status", "--data-dir", place / "root")
    assert code == 1 and "iii vm setup" in status["error"]
    code, again = iii("setup", "--data-dir", place / "root")
    assert code == 0 and again["made"] is True and again["kernelBytes"] == fetched["kernelBytes"]


def test_an_initramfs_without_an_agent_is_found_out(fetched, place):
    initramfs = pathlib.Path(fetched["initramfs"])
    good = initramfs.read_bytes()
    initramfs.write_bytes(good.replace(b"\x7fELF", b"\x00ELF", 1))
    (place / "root" / "vm" / "kit" / "probe.json").unlink()
    try:
        code, answer = iii("setup", "--data-dir", place / "root")
        assert code == 1 and "Kernel panic" in answer["error"]
    finally:
        initramfs.write_bytes(good)
    assert iii("setup", "--data-dir", place / "root")[0] == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become another user")
def test_as_an_ordinary_user_from_a_package(place):
    packages, data = place / "packages", place / "user"
    packages.mkdir()
    data.mkdir()
    os.chown(data, USER, USER)
    shown = subprocess.run(["apt-cache", "depends", "linux-image-cloud-amd64"], capture_output=True, text=True, check=True).stdout
    name = next(line.split()[-1] for line in shown.splitlines() if "Depends: linux-image-" in line)
    subprocess.run(["apt-get", "download", "-q", "-o", "APT::Sandbox::User=root", name], cwd=packages, check=True, capture_output=True, timeout=LIMIT_S)
    package = next(packages.glob("*.deb"))
    code, answer = iii("setup", "--kernel", package, "--data-dir", data, user=USER)
    assert code == 0, answer
    assert answer["source"].startswith(str(package)) and answer["made"] is True
    assert {p.stat().st_uid for p in (data / "vm" / "kit").rglob("*")} == {USER}
    # Root works on the folder as the user it belongs to.
    code, answer = iii("setup", "--kernel", package, "--data-dir", data)
    assert code == 0 and answer["made"] is False
    (data / "vm" / "kit" / "facts.json").unlink()
    code, answer = iii("setup", "--kernel", package, "--data-dir", data)
    assert code == 0 and answer["made"] is True
    assert {p.stat().st_uid for p in (data / "vm" / "kit").rglob("*")} == {USER}
