"""Every fence of README.md, word for word and in order, by one bash in a clean copy of the repository. The server is that of `./dev serve`, in a
network of its own (so that its ports are free) and with a data folder of its own. tests/packages/test_newcomer.py does the same on a bare Debian."""
import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import threading

import pytest

import harness
import images
import leak
import registries
from test_docs import MARK, fences, missing_line

sys.path.insert(0, str(harness.ROOT / "tests" / "contract"))

import sdkkit  # noqa: E402

README = harness.ROOT / "README.md"
CLONE_NEWNET = 0x40000000
SCENARIO_S = 300
OTHERS = re.compile(r"^\./dev (serve|test)\b")  # the server is already running, and these are the tests
pytestmark = pytest.mark.skipif(not harness.IS_ROOT, reason="a network namespace of its own for the README's ports needs root")


def steps(page):
    """[(command, [lines that it prints])] of all fences of a page. A line `# → text` tells what the command above it prints; … stands for anything."""
    found = []
    for language, text, _ in fences(page):
        if language == "python":
            found.append((f"venv/bin/python - <<'PYTHON'\n{text}PYTHON", re.findall(r"^\s*# → (.*)$", text, re.M)))
            continue
        assert language == "sh", f"{page.name}: nothing runs a fence of {language!r}"
        for line in text.splitlines():
            if line.startswith("# → "):
                found[-1][1].append(line[4:])
            elif line.strip() and not line.startswith("#"):
                command = line.split("#")[0].rstrip() + " --print-command" if OTHERS.match(line) else line
                found.append((command, []))
    return found


def run_commands(todo, before, limit_s=SCENARIO_S, **kw):
    """Runs steps by one bash behind the words `before`, and compares what they print."""
    script = "set -eu\n" + "".join(f"{command}\nprintf '{MARK}'\n" for command, _ in todo)
    done = subprocess.run([*before, "bash"], input=script, capture_output=True, text=True, check=False, timeout=limit_s, **kw)
    outputs = done.stdout.split(MARK)
    for (command, expected), output in zip(todo, outputs):
        line = missing_line(expected, output)
        assert line is None, f"{command}\nprints {output!r}\nwithout {line!r}\n{done.stderr[-3000:]}"
    assert done.returncode == 0 and len(outputs) == len(todo) + 1, f"ended in {todo[min(len(outputs), len(todo)) - 1][0]}\n{outputs[-1]}{done.stderr[-3000:]}"


def clean_copy(place):
    """What a clone of the repository has, with what is not committed yet."""
    place.mkdir(parents=True)
    listing = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=harness.ROOT, capture_output=True, check=True).stdout
    present = b"\0".join(name for name in listing.split(b"\0") if name and os.path.lexists(os.path.join(os.fsencode(harness.ROOT), name)))
    packed = subprocess.run(["tar", "--null", "-T", "-", "-cf", "-"], cwd=harness.ROOT, input=present, stdout=subprocess.PIPE, check=True).stdout
    subprocess.run(["tar", "-C", place, "--no-same-owner", "-xf", "-"], input=packed, check=True)


def wheels():
    """A folder with what pip needs to install the Python SDK: the network of the README's commands has loopback alone."""
    home, project = sdkkit.CACHE / "wheels", harness.ROOT / "sdk" / "python"
    with sdkkit.Once("wheels", project / "pyproject.toml", sdkkit.run(["python3", "--version"])) as needed:
        if needed or not home.exists():
            shutil.rmtree(home, ignore_errors=True)
            sdkkit.run(["python3", "-m", "venv", home / "venv"])
            packages = re.findall(r'"([\w-]+>=[^"]*)"', re.search(r"^dependencies = .*$", (project / "pyproject.toml").read_text(), re.M)[0])
            sdkkit.run([home / "venv" / "bin" / "pip", "download", "-q", "-d", home, "setuptools>=61", "wheel", *packages])
    return home


class Network:
    """A network namespace with loopback; `before` are the words that run a command in it."""

    def __enter__(self):
        self.holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "ip link set lo up && echo up && exec cat"], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True)
        assert self.holder.stdout.readline() == "up\n"
        self.before = ["nsenter", "--net", "--target", str(self.holder.pid)]
        return self

    def __exit__(self, *_):
        self.holder.communicate()

    def call(self, work):
        """What work() returns, called in the namespace."""
        found = []

        def enter():
            with open(f"/proc/{self.holder.pid}/ns/net") as ns:
                found.append(work() if ctypes.CDLL(None).setns(ns.fileno(), CLONE_NEWNET) == 0 else None)

        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
        assert found and found[0] is not None, "the work in the network namespace failed"
        return found[0]


class Provided:
    """What the README's commands about images find: a registry in the place of Docker Hub, and an archive."""

    def __init__(self, network, folder, scratch):
        rootfs = images.rootfs(images.program(scratch))
        (folder / "rootfs.tar").write_bytes(rootfs)
        layout = registries.Layout(scratch / "layout")
        layout.add_image("slim", [rootfs])

        def fill():
            registry = registries.Registry()
            registry.push(layout, "slim", "library/python:3.12-slim")
            return registry

        self.registry = network.call(fill)
        self.env = {"III_REGISTRY_MIRRORS": f"docker.io=http://{self.registry.host}"}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.registry.stop()


@pytest.mark.skipif(bool(registries.missing_tools()), reason=f"without {' '.join(registries.missing_tools())}")
def test_the_commands(tmp_path):
    data_dir, copy, todo = tmp_path / "data", tmp_path / "copy", steps(README)
    assert sum(bool(expected) for _, expected in todo) >= 8
    clean_copy(copy)
    (copy / "build").mkdir()
    (copy / "build" / "iii").symlink_to(harness.BINARY)
    held = leak.Holdings(data_dir)
    with Network() as network, Provided(network, copy, tmp_path) as provided:
        env = harness.clean_env({"III_DATA_DIR": data_dir, **provided.env})
        with open(tmp_path / "log", "wb") as log:
            server = subprocess.Popen([*network.before, "./dev", "serve"], cwd=harness.ROOT, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            harness.wait_until(lambda: server.poll() is not None or harness.ready_ports((tmp_path / "log").read_text()), "./dev serve", 180)
            assert server.poll() is None, (tmp_path / "log").read_text()[-3000:]
            run_commands(todo, network.before, cwd=copy, env={**env, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels())})
            held.look(server.pid)
        finally:
            server.send_signal(signal.SIGTERM)
            code = server.wait(harness.DEADLINE_S * 2)
    assert code == 0, (tmp_path / "log").read_text()[-3000:]
    held.assert_nothing_left()


def test_links_of_the_documents_lead_somewhere():
    for page in [*harness.ROOT.glob("*.md"), *(harness.ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", page.read_text()):
            assert (page.parent / target).exists() or os.path.exists(harness.ROOT / target), f"{page.name}: {target}"
