#!/usr/bin/env python3
"""Mutation tests: breaks the code in small ways, one at a time, and reports every change that no test notices.

A mutant swaps == and !=, < and <=, && and ||, drops a "!", negates a condition, drops a call, answers 0 in the place of an error, swaps true and
false, or removes an `if (...) return`. It is built in build/mutate from a copy of the tree; the tree itself is never written to. Unit tests
that run the changed function come first, black-box cases after them, until one fails. A test that takes too long has noticed."""
import argparse
import collections
import fcntl
import fnmatch
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import cage  # noqa: E402
import changed_files  # noqa: E402
import covermap  # noqa: E402
import devargs  # noqa: E402
import mutants  # noqa: E402

PURPOSE = """Break the code in small ways, one at a time, and report every change that no test notices.

Results are kept in build/mutate/results.json: a run that was stopped resumes where it was, and after a test changed only survivors run
again. The score is killed/total; mutants that do not compile, or compile to the same code, do not count."""
EXAMPLES = (
    "./dev mutate                                  # the C files changed since main (on main: since HEAD~), 50 mutants, 10 minutes",
    "./dev mutate --room api,sandbox --limit 200   # a sample of two rooms; the same seed gives the same sample",
    "./dev mutate --files src/api/bucket.c --limit 0 --unit   # every mutant of one file, unit tests only (seconds each)",
    "./dev mutate --map --seconds 1800             # first find out which black-box case runs which function",
    "./dev mutate --room api --survivors           # after a test was written: does it notice what survived?",
)
HOOK = pathlib.Path(__file__).resolve().parent / "mutate_hook.c"
CASES_S = 40  # seconds that the black-box cases for one mutant take without a change
CASE_S = 20  # seconds that one of them may take on top of five times what it usually does
OPTIONS = ["-Doptimization=1", "-Ddebug=false", "-Dwerror=false"]
COVER_OPTIONS = ["-Doptimization=0", "-Ddebug=false", "-Dwerror=false", "-Dc_args=-finstrument-functions -falign-functions=16 -w"]

Test = collections.namedtuple("Test", "name argv env target hash")


def say(text):
    print(text, flush=True)


def chosen_files(root, args):
    if args.files:
        names = [str(pathlib.Path(f).resolve().relative_to(root)) if os.path.isabs(f) else f for f in args.files]
    elif args.room:
        rooms = [room for word in args.room for room in word.split(",")]
        names = [str(p.relative_to(root)) for room in rooms for p in sorted((root / "src" / room).rglob("*.c"))]
    else:
        names = changed_files.since(root, args.changed)
    names = [n for n in names if not {"agent", "probe"} & set(pathlib.Path(n).parts)]  # programs of their own, not in the libraries
    for name in names:
        if not (root / name).is_file():
            sys.exit(f"mutate: there is no file {name}; name C files relative to the top of the tree, such as src/api/bucket.c")
    return names


def features(text):
    """[(file stems, black-box files)] of the table in ARCHITECTURE.md that says where a feature lives and what tests it."""
    made = []
    for line in text.splitlines():
        cells = line.strip().split("|")
        files = re.findall(r"test_\w+\*?\.py", cells[-2]) if len(cells) > 3 else []
        words = re.findall(r"`([^`]+)`", " ".join(cells[:-2])) if files else []
        if files:
            made.append(([re.sub(r"\.(c|def)$", "", word.split("/")[-1]) for word in words], files))
    return made


class Work:
    """build/mutate: a copy of the tree, a build of it, a build with the hook, what was found out."""

    def __init__(self, root):
        self.root = root
        self.folder = root / "build" / "mutate"
        self.tree, self.build, self.cover = self.folder / "tree", self.folder / "build", self.folder / "cover"
        self.cage = cage.Cage(self.folder / "cage")
        self.cage.folder.mkdir(parents=True, exist_ok=True)
        self.lock = open(self.folder / "lock", "w", encoding="ascii")  # held until the process ends
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit(f"mutate: another run uses {self.folder}; wait for it, or stop it")
        self.results_path = self.folder / "results.json"
        self.results = json.loads(self.results_path.read_text()) if self.results_path.exists() else {}

    def sync(self):
        """Makes the copy like the tree, also after a run that was stopped in the middle of a mutant. Only what differs is written."""
        listing = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=self.root, capture_output=True, check=False)
        if listing.returncode == 0:
            names = {os.fsdecode(n) for n in listing.stdout.split(b"\0") if n}
        else:
            names = {str(p.relative_to(self.root)) for p in self.root.rglob("*") if "build" not in p.relative_to(self.root).parts and p.is_file()}
        for name in sorted(n for n in names if os.path.lexists(self.root / n)):
            source, copy = self.root / name, self.tree / name
            if source.is_symlink() or not copy.exists() or source.read_bytes() != copy.read_bytes():
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.unlink(missing_ok=True)
                shutil.copy(source, copy, follow_symlinks=False)
        for path in [p for p in self.tree.rglob("*") if not p.is_dir() and str(p.relative_to(self.tree)) not in names]:
            path.unlink()

    def configure(self, folder, options):
        listing = "\n".join(sorted(str(p) for p in self.tree.rglob("*.[ch]")))
        stamp, mark = folder / "files", hashlib.sha256(listing.encode()).hexdigest()
        if stamp.exists() and stamp.read_text() == mark:
            return
        again = ["--reconfigure"] if (folder / "build.ninja").exists() else []
        self.command(["meson", "setup", *again, str(folder), str(self.tree), *options], self.tree)
        stamp.write_text(mark)

    @staticmethod
    def command(argv, cwd):
        done = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"mutate: {' '.join(argv[:4])}… failed:\n{(done.stdout + done.stderr)[-3000:]}")

    @staticmethod
    def ninja(folder, targets):
        """True when they were built."""
        return subprocess.run(["ninja", "-C", str(folder), "--quiet", *targets], capture_output=True, check=False).returncode == 0

    def unit_tests(self, folder):
        """The tests of suite "unit" of a build folder."""
        listing = json.loads(subprocess.run(["meson", "introspect", "--tests", str(folder)], capture_output=True, check=True).stdout)
        made = []
        for row in listing:
            source = next((self.tree / "tests" / "unit").rglob(row["name"] + ".c"), None)
            if source:
                made.append(Test(row["name"], row["cmd"], row["env"], os.path.relpath(row["cmd"][0], folder), covermap.file_hash(source)))
        return made

    def has_program(self):
        return any(t["name"] == "iii" for t in json.loads(
            subprocess.run(["meson", "introspect", "--targets", str(self.build)], capture_output=True, check=True).stdout))

    def save(self):
        draft = self.results_path.with_suffix(".new")
        draft.write_text(json.dumps(self.results, indent=1))
        draft.replace(self.results_path)

    def tests_hash(self):
        """Changes with any test: then survivors are worth another try."""
        digest = hashlib.sha256()
        for folder in ("unit", "blackbox"):
            for path in sorted((self.tree / "tests" / folder).rglob("*.[cp]*")):
                digest.update(path.name.encode() + path.read_bytes())
        return digest.hexdigest()[:16]


class Judge:
    """Tries mutants until the time is over."""

    def __init__(self, work, args):
        self.work, self.args = work, args
        self.end = time.monotonic() + args.seconds
        self.map = covermap.CoverMap(work.folder / "map.json", work.tree, work.cover, work.cage)
        self.objects, self.sums = {}, {}
        pages = work.root / "ARCHITECTURE.md"
        self.features = features(pages.read_text()) if pages.exists() else []

    def left_s(self):
        return self.end - time.monotonic()

    def prepare(self):
        """Brings both builds and the map up to date."""
        work = self.work
        work.sync()
        work.configure(work.build, OPTIONS)
        self.has_program = work.has_program()
        self.units = {t.name: t for t in work.unit_tests(work.build)}
        self.stamp = f"{work.tests_hash()} {0 if self.args.unit else self.args.cases}"
        stale = self.map.unit_stale(self.units.values())
        if stale or (self.args.map and self.map.blackbox_stale()):
            self.prepare_map({t.name for t in stale})
        commands = json.loads((work.build / "compile_commands.json").read_text())
        for row in commands:
            path = (pathlib.Path(row["directory"]) / row["file"]).resolve()
            if path.is_relative_to(work.tree):
                self.objects.setdefault(str(path.relative_to(work.tree)), row["output"])

    def prepare_map(self, stale):
        work = self.work
        hook = work.folder / "hook.o"
        work.command(["gcc", "-O2", "-fPIC", "-c", "-o", str(hook), str(HOOK)], work.folder)
        work.configure(work.cover, [*COVER_OPTIONS, f"-Dc_link_args={hook}"])
        tests = [t for t in work.unit_tests(work.cover) if t.name in stale]
        say(f"mutate: builds with marks, then runs {len(tests)} unit tests once")
        if not work.ninja(work.cover, [t.target for t in tests]):
            sys.exit(f"mutate: the tree does not build: run ninja -C {work.cover}")
        for test in tests:
            if not self.map.map_unit(test):
                say(f"mutate: unit test {test.name} does not pass here as it is; it is left out")
        if self.args.map and self.has_program:
            self.map_blackbox()

    def map_blackbox(self):
        if not self.work.ninja(self.work.cover, ["iii"]):
            sys.exit(f"mutate: the tree does not build: run ninja -C {self.work.cover} iii")
        for path in self.map.blackbox_stale():
            if self.left_s() <= 0:
                say("mutate: the time is over; the rest is mapped by the next run with --map")
                return
            good, bad = self.map.map_blackbox(path)
            say(f"mutate: {path.name}: {good} cases mapped" + (f", {bad} left out: they did not pass" if bad else ""))

    # --- one mutant ---

    def try_one(self, mutant):
        """(outcome, who noticed or how many tests did not)."""
        work, target = self.work, self.objects.get(mutant.path)
        if not target:
            return "invalid", "no library holds this file"
        source = work.tree / mutant.path
        original = source.read_text()
        if mutant.path not in self.sums:
            if not work.ninja(work.build, [target]):
                sys.exit(f"mutate: {mutant.path} does not build as it is")
            self.sums[mutant.path] = covermap.file_hash(work.build / target)
        try:
            source.write_text(mutant.apply(original))
            if not work.ninja(work.build, [target]):
                return "invalid", "does not compile"
            if covermap.file_hash(work.build / target) == self.sums[mutant.path]:
                return "equal", "compiles to the same code"
            return self.judged(mutant)
        finally:
            source.write_text(original)

    def judged(self, mutant):
        tried = 0
        for _, seconds, name in self.map.tests_of("unit", mutant.path, mutant.function):
            test = self.units.get(name)
            if not test:
                continue
            if not self.work.ninja(self.work.build, [test.target]):
                return "invalid", "does not link"
            code, _, _ = self.work.cage.run(test.argv, max(20, seconds * 10), test.env, cwd=self.work.tree)
            tried += 1
            if code != 0:
                return "killed", name + (" (took too long)" if code is None else "")
        cases = [] if self.args.unit else self.cases_of(mutant)
        if cases:
            by = self.noticed_by(cases)
            if by:
                return "killed", by
        return "survived", tried + len(cases)

    def cases_of(self, mutant):
        """The most telling black-box cases of a function: those of its feature, then those that enter few other functions; of a case
        with many values one goes first, the rest when all else is in."""
        stem, about = pathlib.Path(mutant.path).stem, []
        for words, files in self.features:
            if any(fnmatch.fnmatch(stem, word) for word in words):
                about += files
        rows, seen = self.map.tests_of("blackbox", mutant.path, mutant.function), collections.Counter()
        ranked = []
        for breadth, seconds, node in rows:
            file, _, name = node.partition("::")
            name = name.partition("[")[0]
            is_about = any(fnmatch.fnmatch(pathlib.Path(file).name, pattern) for pattern in about)
            ranked.append((not is_about, seen[file, name], breadth, seconds, node))
            seen[file, name] += 1
        found, total = [], 0.0
        for *_, seconds, node in sorted(ranked):
            if len(found) < self.args.cases and total + seconds <= CASES_S:
                found.append(node)
                total += seconds
        return found

    def noticed_by(self, cases):
        """The case that fails twice in a row; None when none does."""
        if not self.work.ninja(self.work.build, ["iii"]):
            return "the link of iii"
        while cases:
            failed = self.first_failure(cases)
            if not failed:
                return None
            is_case = failed in cases
            if self.first_failure([failed] if is_case else cases):
                return failed
            cases = cases[cases.index(failed) + 1:] if is_case else []  # unsteady: the rest decides
        return None

    def first_failure(self, cases):
        limit_s = CASE_S + 5 * max(self.map.kept["blackbox"][case]["seconds"] for case in cases)
        env = {"III_BIN": str(self.work.build / "iii"), "PYTHONDONTWRITEBYTECODE": "1", "MUTATE_CASE_S": str(limit_s),
               "PYTHONPATH": str(HOOK.parent)}
        argv = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-rfE", "-p", "no:cacheprovider", "-p", "mutate_limit", "--rootdir",
                self.work.tree, *cases]
        code, out, _ = self.work.cage.run(argv, CASES_S * 5, env, cwd=self.work.tree)
        if code is None:
            return "a case that took too long"
        found = re.search(r"^(?:FAILED|ERROR) (\S+::\S.*?)(?: - .*)?$", out, re.M)
        if code not in (0, 1):
            say(f"mutate: pytest ended with {code}, which says nothing about the mutant (a test with another name? --map)\n{out[-500:]}")
        return None if code != 1 else found[1] if found else "the end of the server"  # it crashed, and the fixture that stops it says so

    def is_known(self, mutant):
        row = self.work.results.get(mutant.key)
        return bool(row) and (row["outcome"] != "survived" or (row["tests"] == self.stamp and not self.args.again))

    def run(self, chosen):
        for number, mutant in enumerate(chosen, 1):
            if self.is_known(mutant):
                continue
            if self.left_s() <= 0:
                say(f"mutate: the time is over after {number - 1} of {len(chosen)} mutants; the same command goes on from here")
                return
            outcome, by = self.try_one(mutant)
            self.work.results[mutant.key] = {"outcome": outcome, "by": by, "place": mutant.place, "function": mutant.function,
                                             "change": mutant.change, "tests": self.stamp}
            self.work.save()
            say(f"{number}/{len(chosen)} {outcome}: {mutant.place}: {mutant.change}" + (f" [{by}]" if outcome == "killed" else ""))


def in_text(mutant):
    return mutant.path, mutant.start


def report(chosen, results):
    """Survivors, then scores. Returns how many survived."""
    rows = [(m, results[m.key]) for m in sorted(chosen, key=in_text) if m.key in results]
    survivors = [(m, r) for m, r in rows if r["outcome"] == "survived"]
    if survivors:
        say("\nsurvivors:")
    for mutant, row in survivors:
        how = f"{row['by']} tests ran it" if row["by"] else "no mapped test runs this function"
        say(f"{mutant.place}: {mutant.function}(): {mutant.change}  # {how}")
    scores = collections.defaultdict(lambda: [0, 0])
    for mutant, row in rows:
        if row["outcome"] in ("killed", "survived"):
            for name in (mutant.path, "/".join(pathlib.Path(mutant.path).parts[:2]) + "/"):
                scores[name][0] += row["outcome"] == "killed"
                scores[name][1] += 1
    say("\nscore, killed/total:")
    for name, (killed, total) in sorted(scores.items(), key=lambda item: (item[0].endswith("/"), item[0])):
        say(f"{killed}/{total}  {100 * killed // total} %  {name}")
    return len(survivors)


def parser():
    found = devargs.Parser("mutate", PURPOSE, *EXAMPLES)
    found.add_argument("--room", action="append", metavar="ROOM,…", help="all C files of these folders of src/")
    found.add_argument("--files", nargs="+", metavar="FILE", help="these C files")
    found.add_argument("--changed", nargs="?", const="", metavar="BASE", help="the C files of src/ that differ from BASE (this is the default)")
    found.add_argument("--limit", type=int, default=50, metavar="N", help="at most N mutants, chosen at random; 0: all (default 50)")
    found.add_argument("--seed", type=int, default=1, metavar="S", help="chooses other ones (default 1)")
    found.add_argument("--seconds", type=int, default=600, metavar="N", help="begin no further mutant after N seconds (default 600)")
    found.add_argument("--unit", action="store_true", help="unit tests only")
    found.add_argument("--cases", type=int, default=40, metavar="N", help="at most N black-box cases for a mutant (default 40)")
    found.add_argument("--map", action="store_true", help="first run black-box files that are new or changed, to know which functions they enter")
    found.add_argument("--survivors", action="store_true", help="no new mutants: those of earlier runs, survivors again when a test has changed")
    found.add_argument("--again", action="store_true", help="try survivors again although no test has changed")
    found.add_argument("--list", action="store_true", help="print the mutants, run nothing")
    found.add_argument("--root", default=pathlib.Path(__file__).resolve().parent.parent, help=argparse.SUPPRESS)  # for the test of this program
    return found


def main():
    args = parser().parse_args()
    root = pathlib.Path(args.root).resolve()
    names = chosen_files(root, args)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("mutate: stopped"))  # what was started is ended on the way out
    work = Work(root)
    found = [m for name in names for m in mutants.find(name, (root / name).read_text())]
    chosen = found[:]
    random.Random(args.seed).shuffle(chosen)  # a larger limit adds to a sample, it does not choose another one
    chosen = [m for m in chosen if m.key in work.results] if args.survivors else chosen[:args.limit or None]
    say(f"mutate: {len(chosen)} of {len(found)} mutants of {len(names)} files, seed {args.seed}")
    if args.list:
        for mutant in sorted(chosen, key=in_text):
            say(f"{mutant.place}: {mutant.function}(): {mutant.change}")
        return 0
    if not chosen and not args.map:
        say("mutate: nothing to do: no C file of src/ was changed or chosen (--room, --files), or none of their mutants is known (--survivors)")
        return 0
    judge = Judge(work, args)
    judge.prepare()
    judge.run(chosen)
    return 1 if report(chosen, judge.work.results) else 0


if __name__ == "__main__":
    sys.exit(main())
