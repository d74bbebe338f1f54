"""Python packages that tests run inside sandboxes: installed from the package index once into build/pip."""
import fcntl
import shutil
import subprocess
import sys

import pytest

import harness

HOME = harness.ROOT / "build" / "pip"
INSTALL_S = 600


def install(package, version):
    """The folder for PYTHONPATH. Skips the test when the index cannot be reached."""
    done, new = HOME / f"{package}-{version}", HOME / f"{package}-new"
    HOME.mkdir(parents=True, exist_ok=True)
    with open(HOME / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (HOME / "venv" / "bin" / "pip").exists():
            made = subprocess.run([sys.executable, "-m", "venv", "--clear", HOME / "venv"], capture_output=True, text=True, check=False)
            assert made.returncode == 0, f"python3 -m venv failed (package python3-venv): {made.stdout}{made.stderr}"
        if not done.exists():
            shutil.rmtree(new, ignore_errors=True)
            pip = subprocess.run([HOME / "venv" / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1", "--timeout", "15",
                                  "--target", new, f"{package}=={version}"], capture_output=True, text=True, check=False, timeout=INSTALL_S)
            if pip.returncode != 0:
                pytest.skip(f"pip cannot install {package}: " + (pip.stderr.strip().splitlines() or ["no reason given"])[-1])
            new.rename(done)
    return done
