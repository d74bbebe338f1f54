"""What the console's tests share: a Chromium, packages, a server of their own, and the programs in sdk/."""
import json
import os
import subprocess

import pytest

import harness
import nodekit

PLAYWRIGHT, AXE = "1.64.1", "4.14.0"
PROGRAM_S = 360


def home():
    """The folder of the packages. Skips without a browser."""
    if not os.path.exists("/usr/bin/chromium"):
        pytest.skip("needs chromium: run ./dev setup")
    nodekit.install("axe-core", AXE)
    return nodekit.install("playwright-core", PLAYWRIGHT)


def need(server):
    if harness.raw(server.port, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n").startswith(b"HTTP/1.1 404"):
        pytest.skip("this build has no console: its npm packages were not to be had, or -Dconsole=false")
    return server


def run(program, scenario, server, *args):
    """What the program printed as JSON, or None."""
    command, env = nodekit.command(home(), program, scenario, f"http://127.0.0.1:{need(server).port}", *args)
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=PROGRAM_S, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return json.loads(done.stdout) if done.stdout.strip() else None
