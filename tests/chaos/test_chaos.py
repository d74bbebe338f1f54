"""The chaos test as part of every run: two minutes with a fixed seed, half a minute under sanitizers. III_CHAOS_SECONDS and
III_CHAOS_SEED change both."""
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SECONDS = os.environ.get("III_CHAOS_SECONDS") or ("30" if os.environ.get("III_SANITIZED") == "1" else "120")
SEED = os.environ.get("III_CHAOS_SEED") or "6"


def test_everything_acknowledged_survives_and_nothing_leaks():
    binary = os.environ.get("III_BIN") or HERE.parent.parent / "build" / "iii"
    done = subprocess.run([sys.executable, str(HERE / "chaos.py"), "--seconds", SECONDS, "--seed", SEED, "--binary", str(binary)],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
                          timeout=float(SECONDS) * 2 + 600)
    print(done.stdout)
    assert done.returncode == 0, done.stdout[-6000:]
