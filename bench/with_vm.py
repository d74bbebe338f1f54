#!/usr/bin/env python3
"""Run a command with III_BENCH_TAR naming an archive of a small root file system, which the benchmark makes machines of.

usage: bench/with_vm.py COMMAND [ARGUMENTS]   (needs the package busybox-static)"""
import os
import pathlib
import subprocess
import sys
import tempfile

import with_docker


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory(prefix="iii-vm-") as home:
        tar = pathlib.Path(home) / "image.tar"
        tar.write_bytes(with_docker.rootfs())
        return subprocess.run(sys.argv[1:], env=dict(os.environ, III_BENCH_TAR=str(tar)), check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
