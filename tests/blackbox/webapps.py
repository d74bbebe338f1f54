"""Web applications in sandboxes, and a real Chromium that opens them at their preview addresses (sdk/preview.mjs)."""
import io
import json
import os
import subprocess
import tarfile

import pytest

import harness
import nodekit

PLAYWRIGHT = "1.64.1"
PROGRAM_S = 300
TOKEN = "the admin's"


def browser():
    """Where playwright-core is. Skips without Chromium, and on backends whose images are not this host's programs."""
    if harness.BACKEND != "native" or not harness.IS_ROOT:
        pytest.skip("the applications run on programs of this host, which presets of the native backend show to a sandbox")
    if not os.path.exists("/usr/bin/chromium"):
        pytest.skip("needs chromium: run ./dev setup")
    return nodekit.install("playwright-core", PLAYWRIGHT)


def pack(folder, name, files=None):
    """A tar of a folder of this host under a name, and of texts by name."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        tar.add(folder, name)
        for path, text in (files or {}).items():
            info = tarfile.TarInfo(path)
            info.size = len(text.encode())
            tar.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


def start(client, archive, command, port, **fields):
    """A sandbox with the files of a tar and a server that listens on the port, and the link that opens it in a browser."""
    made = client.ok("POST", "/sandboxes", {"image": "python", "memory": 1024, "timeout": 3600, **fields})["id"]
    sent = client.call("PUT", f"/sandboxes/{made}/files/content?path=/workspace&format=tar", archive, headers={"Content-Type": "application/x-tar"})
    assert sent.status == 200, sent
    client.ok("POST", f"/sandboxes/{made}/exec/background", {"command": command})
    listening = lambda: [row["port"] for row in client.ok("GET", f"/sandboxes/{made}/ports")["listening"]]
    harness.wait_until(lambda: port in listening(), "the application to listen", PROGRAM_S)
    return made


def link(client, sid, port, **fields):
    return client.ok("POST", f"/sandboxes/{sid}/preview", {"port": port, **fields})["signedUrl"]


def run(home, scenario, **args):
    """Runs a scenario of sdk/preview.mjs to its end."""
    command, env = nodekit.command(home, "preview.mjs", scenario, json.dumps(args))
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=PROGRAM_S, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
