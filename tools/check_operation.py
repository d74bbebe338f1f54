"""python3 tools/check_operation.py [-v] [--commit REV] [OPERATION...]: in how many hand-edited places an operation of the table is known.

A new operation is a row, a handler, a rule, a scenario and a page; whatever else has to know it is generated from the row. The check fails when
an operation is known in more than LIMIT places, or when a file kept by hand has become a list of operations.

A file knows an operation when it spells it: its id (also as api_<id>, OP_ID_<id>, iii_<id>), its function, its route, its method in an SDK, its MCP
tool. Each is a place; the scenarios of tests/contract are one together, and so are the pages of docs/, since one of each is needed and more are uses. Not counted is
what is generated (a mark in the first lines; regions of pages between `<!-- name` and `<!-- end of name -->`) and what only uses operations (USERS).

--commit lists the files that a commit changed by hand, to see what an operation cost that it adds."""
import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools" / "sdkgen"))

import model  # noqa: E402

LIMIT = 7
LIST = 0.6  # a file that knows this share of all operations is a list of them
MARK = re.compile(r"^\W*(Code generated|Generated|Made) (by|from) ", re.M)
MARK_WITHIN = 400  # characters
REGION = re.compile(r"<!-- (\w+)\b[^\n]*-->\n.*?<!-- end of \1 -->", re.S)
GENERATED = {"docs/openapi.json", "sdk/c/include/iii_sandbox.h"}  # without a mark in the first lines
SEARCHED = ("src/", "sdk/", "tools/", "docs/", "tests/", "examples/", "bench/")
# What uses operations: no new operation has to touch it. It must not become a list of them all the same.
USERS = {
    "tests/": "tests of other things; contract scenarios, drivers and the examples of routes are counted",
    "examples/": "programs of users",
    "bench/": "measures some operations",
    "docs/decisions/": "history",
    "src/base/ src/os/ src/guest/ src/runtime/ src/image/ src/engine/": "rooms below the operations, whose functions may have the same names",
    "src/cli/": "commands written by hand, for operations whose VERB line is empty",
    "src/api/fn": "functions sandbox::*, which are calls of operations",
    "src/mcp/": "resources and progress, made of operations",
    "tools/run_tests.py": "names tests",
}
COUNTED_TESTS = re.compile(r"tests/contract/(?!test_|README)|tests/blackbox/route_examples\.py")
SDK_TESTS = re.compile(r"sdk/\w+/tests?/|_test\.go$")
# Operations that have more places, and why.
EXCEPTIONS = {
    "sandbox_create": "the SDKs make an object of it, with a default image; the contract names it in many places",
    "sandbox_get": "the SDKs make an object of it, and read that anew",
    "sandbox_list": "the SDKs go through its pages",
    "sandbox_kill": "in the SDKs a sandbox ends with its scope",
    "sandbox_clone": "the SDKs make an object of it",
    "sandbox_fork": "the SDKs make an object of it, or a list of them",
    "preview_open": "get_url() is made of it",
    "snapshot_clone": "the SDKs make an object of it",
    "cmd_run": "exec() takes a timeout alone or options",
    "cmd_run_stream": "exec() with callbacks is made of it",
    "context_execute": "run_code() is made of it",
    "context_create": "run_code() starts one",
    "interp_execute": "run_code() of languages without contexts",
    "fs_info": "one path or several by the same method",
    "fs_mkdir": "one path or several by the same method",
    "fs_rmdir": "one path or several by the same method",
    "terminal_close": "a connected terminal has a method of the same name",
}


def spellings(op, tool_names):
    """(texts of which a file must have one, a pattern): looking for plain texts first is ten times as fast."""
    found = [op.function, f"{op.method} {op.path.removeprefix('/sandbox').replace('{', ':').replace('}', '')}", f"{op.method} {op.path}"]
    if "_" in op.name:
        found += [f"(?:api_|OP_ID_|iii_)?{op.name}", model.camel(op.name), *tool_names.get(op.name, ())]
    else:  # the id is a word of its own
        found += [f"(?:api_|OP_ID_|iii_){op.name}", f'"{op.name}"']
    for m in op.methods:
        if m.group.name != "sandbox":
            found += [rf"{m.group.name}\.{name}" for name in {m.name, model.snake(m.name)}]
    plain = [re.sub(r"^\(.*?\)\??", "", text).replace("\\", "") for text in found]
    return plain, re.compile("(?<![A-Za-z0-9_])(?:" + "|".join(found) + ")(?![A-Za-z0-9_])")


def tools():
    """{operation: [MCP tool]}"""
    found = {}
    for path in sorted((ROOT / "src" / "spec").glob("ops_*.def")):
        for name, op in re.findall(r'^(?:CONTRACT_)?TOOL\((?:\d+, )?(\w+), "[^"]*", (\w+),', path.read_text(), re.M):
            found.setdefault(op, []).append(name)
    return found


def is_user(name):
    if COUNTED_TESTS.match(name):
        return False
    return bool(SDK_TESTS.match(name)) or any(name.startswith(prefix) for prefixes in USERS for prefix in prefixes.split())


def written_part(name, text):
    """The text without what is generated; None when all of it is."""
    return None if name in GENERATED or MARK.search(text[:MARK_WITHIN]) else REGION.sub("", text)


def hand_edited():
    """{path: text without generated regions}"""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *SEARCHED], capture_output=True, text=True, cwd=ROOT, check=True)
    found = {}
    for name in listed.stdout.splitlines():
        path = ROOT / name
        text = written_part(name, path.read_text(encoding="utf-8", errors="replace")) if path.is_file() else None
        if text is not None:
            found[name] = text
    return found


def changed_by_hand(commit):
    """The files that a commit changed outside of what is generated."""
    def git(*argv):
        return subprocess.run(["git", *argv], capture_output=True, text=True, errors="replace", cwd=ROOT, check=False).stdout

    names = git("diff-tree", "--no-commit-id", "--name-only", "-r", commit).splitlines()
    return [name for name in names
            if len({written_part(name, git("show", f"{rev}:{name}")) for rev in (f"{commit}^", commit)}) > 1]


def look():
    """{operation: [file]}"""
    files, named = hand_edited(), tools()
    found = {}
    for op in model.read(ROOT / "docs" / "openapi.json").operations:
        plain, pattern = spellings(op, named)
        found[op.name] = [name for name, text in files.items() if any(word in text for word in plain) and pattern.search(text)]
    return found


def places(files):
    """The files that have to know an operation; scenarios and pages are one each."""
    counted = [name for name in files if not is_user(name)]
    pages = [name for name in counted if name.startswith("docs/")]
    scenarios = [name for name in counted if name.startswith("tests/contract/") and name.endswith(".json")]
    rest = [name for name in counted if name not in pages and name not in scenarios]
    return rest + [" or ".join(group) for group in (scenarios, pages) if group]


def complaints(known):
    lines = []
    for op, files in known.items():
        found = places(files)
        if len(found) > LIMIT and op not in EXCEPTIONS:
            lines.append(f"{op} is known in {len(found)} places, more than {LIMIT}; generate what it needs from its lines in src/spec/: "
                         + ", ".join(found))
        if op in EXCEPTIONS and len(found) <= LIMIT:
            lines.append(f"{op} needs no exception in tools/check_operation.py any more")
    for name in sorted({f for files in known.values() for f in files}):
        count = sum(name in files for files in known.values())
        if count >= LIST * len(known):
            lines.append(f"{name} names {count} of {len(known)} operations: a list kept by hand; derive it from docs/openapi.json or src/spec/")
    return lines


def main():
    parser = argparse.ArgumentParser(prog="check_operation.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-v", action="store_true", help="print the places of every operation")
    parser.add_argument("--commit", metavar="REV", help="print the files that this commit changed by hand")
    parser.add_argument("operation", nargs="*")
    args = parser.parse_args()
    if args.commit:
        found = changed_by_hand(args.commit)
        print("\n".join([*found, f"{len(found)} hand-edited files"]))
        return 0
    known = look()
    unknown = [name for name in args.operation if name not in known]
    if unknown:
        parser.error(f"no operation {unknown[0]} in docs/openapi.json")
    for op in args.operation or (sorted(known, key=lambda op: -len(places(known[op]))) if args.v else ()):
        print(f"{len(places(known[op]))} {op}: {', '.join(places(known[op]))}")
    bad = complaints(known)
    print("\n".join(bad) if bad else f"{len(known)} operations, each known in at most {LIMIT} hand-edited places, {len(EXCEPTIONS)} exceptions")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
