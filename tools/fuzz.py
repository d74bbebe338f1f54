#!/usr/bin/env python3
"""Runs the libFuzzer targets over their corpus. What crashes one is kept in build/fuzz/crashes: move it to tests/corpus/<target>/ and
it becomes a test."""
import hashlib
import pathlib
import subprocess
import sys

import devargs

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "fuzz"
FILES_MAX, BYTES_MAX = 60, 200_000  # of one target's kept inputs
INPUT_MAX = 8192                    # a longer one is found again; it is not worth its place


def targets(wanted):
    return sorted(p for p in (ROOT / "tests" / "fuzz").glob("*/fuzz_*.c") if wanted in p.stem)


def run(source, seconds):
    """False: it found something."""
    grown = FOLDER / "corpus" / source.stem
    grown.mkdir(parents=True, exist_ok=True)
    argv = [str(FOLDER / "tests" / "fuzz" / source.stem), str(grown), f"-max_total_time={seconds}", "-timeout=20",
            "-rss_limit_mb=2048", "-max_len=65536", "-print_final_stats=0", "-verbosity=0",
            f"-artifact_prefix={FOLDER}/crashes/{source.stem}-"]
    words = source.with_suffix(".dict")
    if words.exists():
        argv.append(f"-dict={words}")
    kept = ROOT / "tests" / "corpus" / source.stem
    if kept.is_dir():
        argv.append(str(kept))
    print(f"== {source.stem}: {seconds} s", flush=True)
    return subprocess.run(argv, cwd=FOLDER, check=False).returncode == 0


def merge(source, grown):
    """Adds inputs that reach code none of the kept ones reaches, the smallest first, up to the limits."""
    kept = ROOT / "tests" / "corpus" / source.stem
    kept.mkdir(parents=True, exist_ok=True)
    new = FOLDER / "merged" / source.stem
    new.mkdir(parents=True, exist_ok=True)
    for old in new.iterdir():
        old.unlink()
    subprocess.run([str(FOLDER / "tests" / "fuzz" / source.stem), "-merge=1", "-verbosity=0", "-timeout=60", str(new), str(kept), str(grown)],
                   cwd=FOLDER, check=True, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    have = {p.read_bytes() for p in kept.iterdir()}
    files, total = len(have), sum(map(len, have))
    for p in sorted(new.iterdir(), key=lambda p: p.stat().st_size):
        data = p.read_bytes()
        if data in have or len(data) > INPUT_MAX or files + 1 > FILES_MAX or total + len(data) > BYTES_MAX:
            continue
        (kept / ("found-" + hashlib.sha256(data).hexdigest()[:12])).write_bytes(data)
        files, total = files + 1, total + len(data)
    print(f"{source.stem}: {files} inputs, {total} bytes")


def parser():
    found = devargs.Parser("fuzz", "Build and run the libFuzzer targets over their corpus; what crashes one is kept in build/fuzz/crashes.", "./dev fuzz",
                           "./dev fuzz 300 fuzz_proto       # one target for five minutes", "./dev fuzz --merge fuzz_proto")
    found.add_argument("word", nargs="*", metavar="SECONDS|TARGET", help="how long each runs (default: 60), and a part of the names of those that run")
    found.add_argument("--merge", action="store_true", help="take what earlier runs found into tests/corpus/, as few and small inputs as reach the same code")
    return found


def main():
    args = parser().parse_args()
    seconds = next((int(word) for word in args.word if word.isdigit()), 60)
    wanted = next((word for word in args.word if not word.isdigit()), "")
    found = targets(wanted)
    if not found:
        print(f"no fuzz target is called {wanted!r}")
        return 1
    subprocess.run(["ninja", "-C", str(FOLDER), *(f"tests/fuzz/{p.stem}" for p in found)], check=True)
    if args.merge:
        for source in found:
            merge(source, FOLDER / "corpus" / source.stem)
        return 0
    (FOLDER / "crashes").mkdir(exist_ok=True)
    bad = [source.stem for source in found if not run(source, seconds)]
    print("crashed: " + ", ".join(bad) if bad else "nothing found")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
