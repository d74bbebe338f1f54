"""Which test runs which function: the map by which tools/mutate.py chooses tests.

Programs are built with a hook at every function's entry (mutate_hook.c). Each unit test and each case of the black-box files runs once;
the functions that it entered, and its seconds, are kept in a JSON file until the test's file changes. This module is also the pytest
plugin that takes the marks of each case."""
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

MARKS = 1 << 20  # bytes: programs of up to 16 MB of code
UNIT_LIMIT_S, FILE_LIMIT_S = 120, 300
# Files that say little about one function of the server: other backends, packages, pages, other people's clients, the whole machine.
NOT_MAPPED = re.compile(r"test_(docker|vm|fc_|firecracker|jailer|scale|leak|restart|readme|docs|dist|schemathesis|iii_sdk|mcp_sdk|mutate|mute_agent|old_kernel)")


def file_hash(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()[:16]


def places(marks):
    return [found.start() for found in re.finditer(b"\x01", marks)]


def symbols_of(program):
    """{place of its mark: "file.c:function", or ":function" for one that other files may call} of a program."""
    listing = subprocess.run(["readelf", "-sW", str(program)], capture_output=True, text=True, check=True).stdout
    file, found = "", {}
    for line in listing.splitlines():
        fields = line.split()
        if len(fields) < 8 or not fields[0].endswith(":"):
            continue
        if fields[3] == "FILE":
            file = fields[7].split("/")[-1]
        elif fields[3] == "FUNC" and fields[6] != "UND":
            found[int(fields[1], 16) >> 4] = (file if fields[4] == "LOCAL" else "") + ":" + fields[7]
    return found


class Marks:
    """The file that the hook writes to."""

    def __init__(self, path):
        self.path = pathlib.Path(path)

    def clear(self):
        mode = "r+b" if self.path.exists() else "w+b"
        with open(self.path, mode) as file:  # in place: a server that runs has it mapped
            file.write(bytes(MARKS))
        self.path.chmod(0o666)  # also for a server that drops its rights

    def take(self, symbols):
        return sorted({symbols[at] for at in places(self.path.read_bytes()) if at in symbols})


class CoverMap:
    """{test: {"hash", "seconds", "functions"}} of unit tests (by name) and black-box cases (by node id), kept in a file."""

    def __init__(self, path, tree, build, cage):
        self.path, self.tree, self.build, self.cage = pathlib.Path(path), tree, build, cage
        self.kept = json.loads(self.path.read_text()) if self.path.exists() else {"names": [], "unit": {}, "blackbox": {}, "files": {}}
        self.numbers = {name: n for n, name in enumerate(self.kept["names"])}
        self.marks = Marks(cage.folder / "marks")

    def save(self):
        draft = self.path.with_suffix(".new")
        draft.write_text(json.dumps(self.kept))
        draft.replace(self.path)

    def number(self, name):
        if name not in self.numbers:
            self.numbers[name] = len(self.kept["names"])
            self.kept["names"].append(name)
        return self.numbers[name]

    def tests_of(self, kind, path, function):
        """[(how many functions it enters, seconds, test)] of the tests that enter a function, the most telling first."""
        wanted = {self.numbers.get(f"{pathlib.Path(path).name}:{function}"), self.numbers.get(f":{function}")} - {None}
        found = [(len(t["functions"]), t["seconds"], name) for name, t in self.kept[kind].items() if wanted & set(t["functions"])]
        return sorted(found)

    def unit_stale(self, tests):
        return [t for t in tests if self.kept["unit"].get(t.name, {}).get("hash") != t.hash]

    def map_unit(self, test):
        """Runs one unit test of the build with the hook. Returns whether it passed; one that does not is of no use here."""
        self.marks.clear()
        code, _, seconds = self.cage.run(test.argv, UNIT_LIMIT_S, {**test.env, "MUTATE_COVER": str(self.marks.path)}, cwd=self.tree)
        names = self.marks.take(symbols_of(test.argv[0]))
        self.kept["unit"][test.name] = {"hash": test.hash, "seconds": round(seconds, 2), "passed": code == 0,
                                        "functions": [self.number(n) for n in names] if code == 0 else []}
        self.save()
        return code == 0

    def blackbox_files(self):
        return [p for p in sorted((self.tree / "tests" / "blackbox").glob("test_*.py")) if not NOT_MAPPED.match(p.name)]

    def blackbox_stale(self):
        return [p for p in self.blackbox_files() if self.kept["files"].get(p.name) != file_hash(p)]

    def map_blackbox(self, path):
        """Runs one file against a server with the hook. Returns (cases that passed, cases that did not)."""
        self.marks.clear()
        report = self.cage.folder / "cases"
        report.unlink(missing_ok=True)
        env = {"III_BIN": str(self.build / "iii"), "MUTATE_COVER": str(self.marks.path), "MUTATE_CASES": str(report),
               "PYTHONPATH": str(pathlib.Path(__file__).resolve().parent), "PYTHONDONTWRITEBYTECODE": "1"}
        self.cage.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "covermap", "--rootdir", self.tree, path.relative_to(self.tree)],
                      FILE_LIMIT_S, env, cwd=self.tree)
        symbols = symbols_of(self.build / "iii")
        cases = [json.loads(line) for line in report.read_text().splitlines()] if report.exists() else []
        good = [c for c in cases if c["passed"]]
        for node in [n for n in self.kept["blackbox"] if n.startswith(f"{path.relative_to(self.tree)}::")]:
            del self.kept["blackbox"][node]
        for case in good:
            names = {symbols[at] for at in case["marks"] if at in symbols}
            self.kept["blackbox"][case["node"]] = {"seconds": case["seconds"], "functions": [self.number(n) for n in sorted(names)]}
        self.kept["files"][path.name] = file_hash(path)
        self.save()
        return len(good), len(cases) - len(good)


# --- the pytest plugin: `-p covermap` with $MUTATE_COVER and $MUTATE_CASES ---

_case = {}


def pytest_runtest_logstart(nodeid):
    Marks(os.environ["MUTATE_COVER"]).clear()
    _case.update(node=nodeid, passed=False, start=time.monotonic())


def pytest_runtest_logreport(report):
    if report.when == "call":
        _case["passed"] = report.passed
    elif report.failed:
        _case["passed"] = False


def pytest_runtest_logfinish(nodeid):
    marks = pathlib.Path(os.environ["MUTATE_COVER"]).read_bytes()
    case = {"node": nodeid, "passed": _case["passed"], "seconds": round(time.monotonic() - _case["start"], 2),
            "marks": places(marks)}
    with open(os.environ["MUTATE_CASES"], "a", encoding="utf-8") as out:
        out.write(json.dumps(case) + "\n")
