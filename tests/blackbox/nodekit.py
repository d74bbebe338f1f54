"""Node programs of tests: installs packages from npm once into build/node, runs programs with them."""
import fcntl
import os
import shutil
import subprocess

import pytest

import harness

HOME = harness.ROOT / "build" / "node"
INSTALL_S = 180


def install(package, version, home=HOME):
    """Skips the test when npm or its registry cannot be reached. Two versions of a package need two folders."""
    if not shutil.which("npm") or not shutil.which("node"):
        pytest.skip("needs node and npm: run ./dev setup")
    home.mkdir(parents=True, exist_ok=True)
    with open(home / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (home / "node_modules" / package / "package.json").exists():
            return home
        done = subprocess.run(["npm", "install", "--prefix", str(home), "--no-audit", "--no-fund", "--ignore-scripts",
                               "--loglevel=error", f"{package}@{version}"], capture_output=True, text=True, timeout=INSTALL_S, check=False)
        if done.returncode != 0:
            pytest.skip(f"npm cannot install {package}: {done.stderr.strip()[-300:]}")
    return home


def command(home, script, *args):
    env = {**os.environ, "III_NODE_DIR": str(home)}
    return ["node", str(harness.ROOT / "tests" / "blackbox" / "sdk" / script), *map(str, args)], env
