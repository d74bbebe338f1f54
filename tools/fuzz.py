#!/usr/bin/env python3
"""./dev fuzz [SECONDS] [TARGET]: builds and runs the libFuzzer targets over their corpus. What crashes one is kept in
build/fuzz/crashes: move it to tests/corpus/<target>/ and it becomes a test."""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main():
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    wanted = sys.argv[2] if len(sys.argv) > 2 else ""
    folder = ROOT / "build" / "fuzz"
    stems = sorted(p.stem for p in (ROOT / "tests" / "fuzz").glob("*/fuzz_*.c") if wanted in p.stem)
    if not stems:
        print(f"no fuzz target is called {wanted!r}" if wanted else "there are no fuzz targets")
        return 1
    subprocess.run(["ninja", "-C", str(folder), *(f"tests/fuzz/{stem}" for stem in stems)], check=True)
    crashes = folder / "crashes"
    crashes.mkdir(exist_ok=True)
    bad = []
    for stem in stems:
        grown = folder / "corpus" / stem
        grown.mkdir(parents=True, exist_ok=True)
        argv = [str(folder / "tests" / "fuzz" / stem), str(grown), f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=2048",
                "-max_len=65536", "-print_final_stats=0", "-verbosity=0", f"-artifact_prefix={crashes}/{stem}-"]
        kept = ROOT / "tests" / "corpus" / stem
        if kept.is_dir():
            argv.append(str(kept))
        print(f"== {stem}: {seconds} s", flush=True)
        if subprocess.run(argv, cwd=folder, check=False).returncode:
            bad.append(stem)
    print("crashed: " + ", ".join(bad) if bad else "nothing found")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
