"""The programs of examples/agents: each framework comes from its registry into a cached folder, and each program runs with its scripted model and
a server in a network namespace that has nothing but loopback. As a program, this file is what runs inside that namespace."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "blackbox"), str(HERE.parent / "contract")]

import harness  # noqa: E402
import sdkkit  # noqa: E402

EXAMPLES = harness.ROOT / "examples" / "agents"
CACHE = harness.ROOT / "build" / "agents"
INSTALL_S, RUN_S = 1200, 300
TOKEN = "agents-secret"
NO_REGISTRY = re.compile(r"ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ECONNREFUSED|Temporary failure in name resolution|Network is unreachable|Max retries exceeded|ConnectTimeout", re.I)

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace with loopback alone needs root")


def install(argv, cwd):
    done = subprocess.run([str(a) for a in argv], cwd=cwd, capture_output=True, text=True, timeout=INSTALL_S, check=False)
    if done.returncode and NO_REGISTRY.search(done.stdout + done.stderr):
        pytest.skip(f"the registry of {argv[0]} does not answer")
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]


def python():
    venv = CACHE / "venv"
    with sdkkit.Once("agents-venv", EXAMPLES / "requirements.txt", sys.version) as needed:
        if needed or not (venv / "bin" / "python").exists():
            shutil.rmtree(venv, ignore_errors=True)
            CACHE.mkdir(parents=True, exist_ok=True)
            sdkkit.run([sys.executable, "-m", "venv", venv])
            install([venv / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "-e", harness.ROOT / "sdk" / "python", "-r", EXAMPLES / "requirements.txt"], CACHE)
    return venv / "bin" / "python"


def node_folder():
    """The program beside the packages it imports, as a user would have it."""
    sdkkit.build_typescript()
    home = CACHE / "node"
    with sdkkit.Once("agents-node", EXAMPLES / "package.json") as needed:
        if needed or not (home / "node_modules" / "ai").exists():
            shutil.rmtree(home, ignore_errors=True)
            home.mkdir(parents=True)
            shutil.copy(EXAMPLES / "package.json", home)
            install(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", "--no-package-lock"], home)
    (home / "node_modules" / "@iii-sandbox").mkdir(exist_ok=True)
    link = home / "node_modules" / "@iii-sandbox" / "sdk"
    link.unlink(missing_ok=True)
    link.symlink_to(harness.ROOT / "sdk" / "typescript")
    for path in EXAMPLES.glob("*.mjs"):
        shutil.copy(path, home)
    return home


@pytest.mark.parametrize("name", sorted(p.stem for p in EXAMPLES.glob("with_*.*") if p.suffix != ".out"))
def test_agent(name):
    source = next(p for p in EXAMPLES.glob(f"{name}.*") if p.suffix != ".out")
    argv = [python(), source] if source.suffix == ".py" else ["node", node_folder() / source.name]
    done = subprocess.run(["unshare", "--net", sys.executable, __file__, *map(str, argv)], capture_output=True, text=True, timeout=RUN_S, check=False)
    assert (done.returncode, done.stdout) == (0, (EXAMPLES / f"{name}.out").read_text()), done.stderr[-3000:]


def inside(argv):
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with harness.Server(token=TOKEN, env={"III_AUTH_TOKEN": TOKEN}) as server:
        env = {**os.environ, "III_SANDBOX_URL": f"http://127.0.0.1:{server.port}", "III_SANDBOX_TOKEN": TOKEN}
        return subprocess.run(argv, env=env, cwd=EXAMPLES, check=False).returncode


if __name__ == "__main__":
    sys.exit(inside(sys.argv[1:]))
