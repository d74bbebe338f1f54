#!/usr/bin/env python3
"""Run a command with a Docker engine of our own as a peer: own data, own socket, one container and one image that the
benchmark knows by name. Everything is stopped and removed afterwards.

usage: bench/with_docker.py COMMAND [ARGUMENTS]   (as root; needs the packages docker.io and busybox-static)"""
import io
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

IMAGE, CONTAINER = "iii-bench-image", "iii-bench-peer"
DEADLINE_S = 60


def rootfs():
    """A root file system with busybox and the two names the benchmark calls."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        tar.add(shutil.which("busybox"), "bin/busybox")
        for name in ("sh", "true", "sleep", "echo"):
            link = tarfile.TarInfo(f"bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(link)
    return out.getvalue()


def wait_for(engine, docker):
    end = time.monotonic() + DEADLINE_S
    while subprocess.run([*docker, "info"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
        if engine.poll() is not None or time.monotonic() > end:
            sys.exit("with_docker: the engine does not start")
        time.sleep(0.2)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    home = pathlib.Path(tempfile.mkdtemp(prefix="iii-docker-"))
    home.chmod(0o755)  # a server on this engine is a user of its own, in the socket's group
    host = f"unix://{home}/docker.sock"
    docker = ["docker", "-H", host]
    with open(home / "log", "wb") as log:
        engine = subprocess.Popen(
            ["dockerd", "--data-root", home / "data", "--exec-root", home / "exec", "-p", home / "pid", "-H", host,
             "--iptables=false", "--bridge=none"], stdout=log, stderr=log)
    try:
        wait_for(engine, docker)
        subprocess.run([*docker, "import", "-", IMAGE], input=rootfs(), check=True, stdout=subprocess.DEVNULL)
        subprocess.run([*docker, "run", "-d", "--name", CONTAINER, "--network", "none", IMAGE, "sleep", "100000"], check=True,
                       stdout=subprocess.DEVNULL)
        return subprocess.run(sys.argv[1:], env=dict(os.environ, DOCKER_HOST=host), check=False).returncode
    finally:
        subprocess.run([*docker, "rm", "-f", CONTAINER], stdout=subprocess.DEVNULL, check=False)
        engine.terminate()
        engine.wait(DEADLINE_S)
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
