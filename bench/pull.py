#!/usr/bin/env python3
"""Pull and unpack of an image of about 300 MB: `iii image pull` against `skopeo copy` + `umoci unpack`, from the same loopback
registry, in interleaved rounds of one run. Prints a table, the ratio, and writes build/bench-pull.json.

Run by hand: ./dev bench --pull [--rounds N] [--mb N]. Needs docker-registry, skopeo and umoci (./dev setup)."""
import argparse
import io
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "blackbox"))

import registries  # noqa: E402

LAYERS = 6


def make_layer(seed, size):
    """A layer as distributions have them: many small files, some large ones, half of it compressible."""
    dice, out, left = random.Random(seed), io.BytesIO(), size
    with tarfile.open(fileobj=out, mode="w") as tar:
        for n in range(1_000_000):
            if left <= 0:
                break
            length = min(left, dice.choice((2_000, 8_000, 30_000, 200_000, 2_000_000)))
            half = length // 2
            data = dice.randbytes(half) + (b"the same words again and again; " * (half // 32 + 1))[:length - half]
            info = tarfile.TarInfo(f"usr/share/l{seed}/d{n % 97}/f{n}")
            info.size = length
            tar.addfile(info, io.BytesIO(data))
            left -= length
    return out.getvalue()


def timed(argv, env=None):
    begun = time.monotonic()
    done = subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=env, check=False)
    if done.returncode:
        sys.exit(f"{argv[0]} failed: {done.stderr}")
    return time.monotonic() - begun


def ours(binary, name, where):
    env = {**os.environ, "III_DATA_DIR": str(where / "data"), "III_IMAGE_DISK_MB": "0"}
    return timed([binary, "image", "pull", name], env)


def theirs(name, where):
    copied = timed(["skopeo", "--insecure-policy", "copy", "-q", "--src-tls-verify=false", f"docker://{name}", f"oci:{where}/oci:x"])
    return copied + timed(["umoci", "unpack", "--image", f"{where}/oci:x", f"{where}/bundle"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mb", type=int, default=300)
    parser.add_argument("--binary", default=str(ROOT / "build" / "iii"))
    opt = parser.parse_args()
    lacking = [tool for tool in ("docker-registry", "skopeo", "umoci") if not shutil.which(tool)]
    if lacking:
        sys.exit(f"not installed: {', '.join(lacking)}: run ./dev setup")
    home = pathlib.Path(tempfile.mkdtemp(prefix="iii-bench-pull-"))
    registry = registries.Registry()
    times = {"iii": [], "skopeo+umoci": []}
    try:
        layout = registries.Layout(home / "layout")
        layout.add_image("big", [make_layer(i, opt.mb * 1_000_000 // LAYERS) for i in range(LAYERS)])
        name = registry.push(layout, "big", "bench/big:1")
        for n in range(opt.rounds + 1):
            for who, run in (("iii", lambda w: ours(opt.binary, name, w)), ("skopeo+umoci", lambda w: theirs(name, w))):
                where = home / "round"
                where.mkdir()
                subprocess.run(["sync", "-f", str(home)], check=True)
                took = run(where)
                if n:  # the first round warms the caches of both
                    times[who].append(took)
                shutil.rmtree(where)
    finally:
        registry.stop()
        shutil.rmtree(home, ignore_errors=True)
    report(opt, times)


def report(opt, times):
    medians = {who: statistics.median(values) for who, values in times.items()}
    for who, values in times.items():
        print(f"{who:14}  p50 {medians[who]:7.2f} s   best {min(values):7.2f} s   worst {max(values):7.2f} s")
    ratio = medians["iii"] / medians["skopeo+umoci"]
    print(f"ratio {ratio:.2f} (goal: at most 1.00)")
    (ROOT / "build").mkdir(exist_ok=True)
    (ROOT / "build" / "bench-pull.json").write_text(json.dumps({"mb": opt.mb, "seconds": times, "ratio": ratio}, indent=1) + "\n")


if __name__ == "__main__":
    main()
