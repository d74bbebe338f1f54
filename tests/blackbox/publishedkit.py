"""The published packages iii-sdk of npm, PyPI and crates.io, in the versions that tests run. Each is installed once into build/clients.

As a program it installs all of them, so that compilers work beside other tests (tools/run_tests.py)."""
import fcntl
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import harness
import nodekit

CACHE = harness.ROOT / "build" / "clients"
DRIVERS = harness.ROOT / "tests" / "blackbox" / "sdk"
INSTALL_S, BUILD_S = 180, 1200
VERSIONS = {"node": ("0.22.1", "0.11.6"), "python": ("0.25.0", "0.11.6"), "rust": ("0.25.0", "0.22.1")}  # the newest, and an older line
GO_MODULE = "github.com/iii-hq/iii/sdk/packages/go/iii"
CARGO_TOML = """[package]
name = "{name}"
version = "0.0.0"
edition = "2024"
[[bin]]
name = "{name}"
path = "{driver}"
[dependencies]
iii-sdk = "={version}"
async-trait = "0.1"
reqwest = {{ version = "0.12", default-features = false, features = ["json"] }}
serde_json = "1"
tokio = {{ version = "1", features = ["full"] }}
[profile.dev]
debug = false
[workspace]
"""


def fetch(registry, argv, **how):
    """Skips the test, with the registry's name, when it cannot be reached."""
    done = subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=INSTALL_S, check=False, **how)
    if done.returncode != 0:
        pytest.skip(f"{registry}: {' '.join((done.stderr or done.stdout).split())[-300:]}")


def node(version):
    return ["node", DRIVERS / "scenario.mjs"], {"III_NODE_DIR": str(node_home(version))}


def node_home(version=VERSIONS["node"][0]):
    return nodekit.install("iii-sdk", version, nodekit.HOME / f"iii-sdk-{version}")


def python(version):
    home = CACHE / f"python-{version}"
    if not (home / "installed").exists():
        shutil.rmtree(home, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True, timeout=INSTALL_S)
        fetch("PyPI", [home / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", f"iii-sdk=={version}"])
        (home / "installed").touch()
    return [home / "bin" / "python", "-W", "ignore::DeprecationWarning", DRIVERS / "scenario.py"], {}


def rust(version):
    cargo = shutil.which("cargo") or shutil.which("cargo", path=str(pathlib.Path.home() / ".cargo" / "bin"))
    if not cargo:
        pytest.skip("needs cargo: run ./dev setup")
    home = CACHE / f"rust-{version}"
    home.mkdir(exist_ok=True)
    name = f"scenario-{version.replace('.', '-')}"
    manifest = CARGO_TOML.format(name=name, version=version, driver=DRIVERS / "scenario.rs")
    env = {**os.environ, "CARGO_TARGET_DIR": str(CACHE / "rust"), "CARGO_TERM_COLOR": "never"}
    if not (home / "fetched").exists() or (home / "Cargo.toml").read_text() != manifest:
        (home / "Cargo.toml").write_text(manifest)
        fetch("crates.io", [cargo, "fetch"], cwd=home, env=env)
        (home / "fetched").touch()
    done = subprocess.run([cargo, "build", "--offline", "--quiet"], cwd=home, env=env, capture_output=True, text=True, timeout=BUILD_S, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return [CACHE / "rust" / "debug" / name], {}


def fetch_go():
    if not shutil.which("go"):
        pytest.skip("needs go, to ask for its module")
    fetch(f"the Go module proxy, {GO_MODULE}", ["go", "mod", "download", f"{GO_MODULE}@latest"])


def command(language, version):
    """(argv, environment) of the scenario program of a language with that version of its iii-sdk."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / f".{language}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        argv, env = {"node": node, "python": python, "rust": rust}[language](version)
    return [str(word) for word in argv], {**os.environ, **env}


def main():
    for language, versions in VERSIONS.items():
        for version in versions:
            try:
                command(language, version)
            except pytest.skip.Exception as why:
                print(f"{language} {version}: {why}")


if __name__ == "__main__":
    main()
