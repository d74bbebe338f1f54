#!/usr/bin/env python3
"""The rules that a script can check. Prints `ok lint NAME` or the complaints and `not ok lint NAME` for each.

What clang-tidy found clean is remembered in build/tidy until the file, a header or the rules change."""
import ast
import concurrent.futures
import hashlib
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import changed_files  # noqa: E402
import check_layers  # noqa: E402
import check_words  # noqa: E402
import devargs  # noqa: E402
import dist  # noqa: E402
import headings  # noqa: E402

ROOT = check_layers.ROOT
FILE_LINES, FUNCTION_LINES = 1000, 80
C_FOLDERS = ("src", "tests/unit", "tests/fuzz", "bench")
SKIPPED_FOLDERS = {".git", "build", "node_modules", "target", "__pycache__", ".pytest_cache", ".venv"}
# Folders of the machines this is built on: a path below them works nowhere else. Written in two pieces to pass its own check.
MACHINE_PATH = re.compile(r"(?<![\w./%}$*-])/(?:wor" + r"k|far" + r"m)/")
OPEN_TASK = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b(?!.{0,3}#\d+)")
LIBRARIES = ["jansson", "libuv", "sqlite3", "libseccomp", "libmnl", "libarchive", "libcrypto", "libcurl", "libssh"]
JOBS = 2


def c_files(pattern):
    return sorted(p for folder in C_FOLDERS for p in (ROOT / folder).rglob(pattern))


def sdk_files():
    """The C library and its examples, but for what tools/sdkgen writes."""
    found = [*(ROOT / "sdk" / "c").rglob("*.[ch]"), *(ROOT / "examples" / "c").glob("*.c")]
    return sorted(p for p in found if p.parent.name not in ("generated", "include") and p.name != "dispatch.c")


def text_files():
    """Every file of the tree that people write."""
    endings = {".c", ".h", ".def", ".py", ".sh", ".md", ".build", ".txt", ".json", ".yml", ".yaml", ".toml", ".ts", ".rs", ".go", ""}
    for folder, names, files in os.walk(ROOT):
        names[:] = [n for n in names if n not in SKIPPED_FOLDERS and "corpus" not in n]
        for name in files:
            path = pathlib.Path(folder) / name
            if name != ".git" and path.suffix in endings and not path.is_symlink() and path.stat().st_size < 2_000_000:
                yield path


def relative(path):
    return path.relative_to(ROOT)


def layers():
    return list(check_layers.complaints())


def sizes():
    found = []
    for path in [*c_files("*.[ch]"), *sdk_files(), *sorted((ROOT / "tools").rglob("*.py")), *sorted((ROOT / "tests").rglob("*.py"))]:
        lines = path.read_text(errors="replace").splitlines()
        if len(lines) > FILE_LINES:
            found.append(f"{relative(path)}: {len(lines)} lines, at most {FILE_LINES}: split it by subject")
        if path.suffix == ".c":
            found += long_functions(path, lines)
    return found


def long_functions(path, lines):
    """clang-format puts both braces of a function alone in column 0, which makes this scan exact."""
    start = None
    for number, line in enumerate(lines, 1):
        if line == "{":
            start = number
        elif line == "}" and start:
            length = number - start - 1
            before = " ".join(lines[max(start - 4, 0):start])
            if length > FUNCTION_LINES and "NOLINT" not in before:
                yield f"{relative(path)}:{start}: a function of {length} lines, at most {FUNCTION_LINES}"
            start = None


def words():
    found = []
    for path in text_files():
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if MACHINE_PATH.search(line):
                found.append(f"{relative(path)}:{number}: a path of one machine")
            if path.suffix in (".c", ".h", ".def", ".py", ".sh") and OPEN_TASK.search(line):
                found.append(f"{relative(path)}:{number}: an open task without an issue number")
    return found + list(check_words.complaints())


def rooms():
    found = []
    for room in sorted(p for p in (ROOT / "src").iterdir() if p.is_dir() and any(p.rglob("*.[ch]"))):
        readme = room / "README.md"
        if not readme.exists():
            found.append(f"{relative(room)}: no README.md (what it is, invariants, what it may include, how it is tested)")
        elif len(readme.read_text().splitlines()) > 80:
            found.append(f"{relative(readme)}: longer than a page (80 lines)")
    return found


# Folders whose symbols begin with a prefix of their own, so that a file's name can be one plain word.
PREFIXES = {"agent": "agent_", "runtime/docker": "docker_", "runtime/native": "native_", "vm": "vm_"}


def stems():
    """A file's stem is the prefix of what it exports, so a stem exists once; in a folder with a prefix of its own, once there."""
    seen, found = {}, []
    for path in sorted((ROOT / "src").rglob("*.c")):
        folder = str(path.parent.relative_to(ROOT / "src"))
        space = next((p for p in PREFIXES if folder == p or folder.startswith(p + "/")), "")
        other = seen.setdefault((space, path.stem), path)
        if other != path:
            found.append(f"{relative(path)}: the stem {path.stem} is taken by {relative(other)}")
    return found


def headers():
    found = []
    for path in c_files("*.h"):
        text = path.read_text(errors="replace")
        if not text.startswith("/*"):
            found.append(f"{relative(path)}:1: a header opens with a comment: what it is, what it may include, its invariants")
        if "#pragma once" not in text and path.name != "banned.h":
            found.append(f"{relative(path)}: no #pragma once")
    flags = subprocess.run(["pkg-config", "--cflags", *LIBRARIES], capture_output=True, text=True, check=True).stdout.split()
    base = ["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-fsyntax-only", "-Wall", "-Wno-unused-function", "-Werror", "-I", "src", "-I",
            "tests/unit", "-I", "/usr/share/include/llhttp", *flags, "-x", "c", "-"]

    def compile_alone(path):
        done = subprocess.run(base, input=f'#include "{path}"\n', capture_output=True, text=True, cwd=ROOT, check=False)
        return [] if done.returncode == 0 else [f"{relative(path)}: does not compile by itself\n{done.stderr.strip()[:1500]}"]

    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for complaint in pool.map(compile_alone, [p for p in c_files("*.h") if p.name not in ("banned.h", "tap.h")]):
            found += complaint
    return found


def lay_out(*options):
    return subprocess.run(["clang-format", *options, *map(str, [*c_files("*.[ch]"), *sdk_files()])], capture_output=True, text=True, cwd=ROOT, check=False)


def layout():
    done = lay_out("--dry-run", "-Werror")
    if done.returncode == 0:
        return []
    files = sorted(set(re.findall(rf"^{re.escape(str(ROOT))}/(\S+?):\d+", done.stderr, re.M)))
    return [f"{name}: not laid out; run ./dev fmt" for name in files] or [done.stderr[:2000]]


def scripts():
    found = []
    for path in text_files():
        head = path.read_bytes()[:80].split(b"\n")[0]
        if path.suffix == ".py":
            try:
                ast.parse(path.read_text(), str(path))
            except SyntaxError as error:
                found.append(f"{relative(path)}:{error.lineno}: {error.msg}")
        elif path.suffix == ".sh" or head.startswith(b"#!"):
            shell = "bash" if b"bash" in head else "sh" if b"sh" in head else None
            done = subprocess.run([shell, "-n", str(path)], capture_output=True, text=True, check=False) if shell else None
            if done and done.returncode:
                found.append(f"{relative(path)}: {done.stderr.strip()}")
    return found


def anchors(page):
    """What a link may name after its #: the headings as GitHub spells them, and ids set by hand."""
    text = page.read_text()
    return {*re.findall(r'<a id="([^"]+)"', headings.without_fences(text)), *headings.slugs(text)}


def links():
    """Every link of a page to a file of the tree leads to one, and its #part to a heading there."""
    found = []
    for page in (path for path in text_files() if path.suffix == ".md"):
        text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", page.read_text(), flags=re.M | re.S)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, part = target.partition("#")
            other = (page.parent / name).resolve() if name else page
            if not other.exists():
                found.append(f"{relative(page)}: the link {target} leads nowhere")
            elif part and (other.suffix != ".md" or part not in anchors(other)):
                found.append(f"{relative(page)}: {name or 'this page'} has no part #{part}")
    return found


# The allocators' names are older than the rule and known to everyone.
ALLOCATORS = {"xzalloc", "xrealloc", "xstrdup", "xstrndup", "xasprintf", "try_alloc"}


def symbols():
    """What a file exports starts with a word of its own name, with its room's, or with that of a struct in the room's headers."""
    archives = sorted((ROOT / "build").glob("lib*.a"))
    if not archives:
        return ["build/ holds no libraries: run ./dev build"]
    done = subprocess.run(["nm", "-gA", "--defined-only", *map(str, archives)], capture_output=True, text=True, check=False)
    structs, found = {}, set()
    for line in done.stdout.splitlines():
        match = re.match(r".*/lib(\w+)\.a:(?:\S*/)?([^:/]+)\.c\.o:\S* [A-Z] (\w+)$", line)
        if not match or match[1] == "llhttp" or match[2] == "guest_blob" or match[3] in ALLOCATORS | {"guest_blob_size"}:
            continue
        room, name, symbol = match.groups()
        if room not in structs:
            text = "".join(p.read_text(errors="replace") for p in (ROOT / "src" / room).rglob("*.h"))
            structs[room] = tuple(set(re.findall(r"^struct (\w+)", text, re.M)))
        words_of_name = set(re.split(r"_", name)) | {room}
        if symbol.split("_")[0] not in words_of_name and not symbol.startswith(structs[room]):
            found.add(f"{name}.c: exports {symbol}; make it static, or begin it with the file's stem")
    return sorted(found)


def tidy_files(is_all):
    files = sorted((ROOT / "src").rglob("*.c"))
    if is_all:
        return files
    changed = set(changed_files.since(ROOT))
    return [p for p in files if str(relative(p)) in changed]


def tidy(is_all, is_light):
    """clang-tidy over src/ with a memory: clean files are not looked at again until something they see has changed. Light: without the
    analyzer, which takes nearly all of the time."""
    rules = hashlib.sha256((ROOT / ".clang-tidy").read_bytes())
    for path in c_files("*.h") + c_files("*.def"):
        rules.update(path.read_bytes())
    memory = ROOT / "build" / "tidy"
    memory.mkdir(parents=True, exist_ok=True)
    # Our own flags and not build/compile_commands.json: clang refuses some of gcc's.
    flags = subprocess.run(["pkg-config", "--cflags", *LIBRARIES], capture_output=True, text=True, check=True).stdout.split()
    checks = ["--checks=-clang-analyzer-*"] if is_light else []
    rules.update("".join(checks).encode())
    flags += ["-std=gnu17", "-D_GNU_SOURCE", f'-DIII_VERSION="{dist.version()}"', f"-I{ROOT}/src", "-I/usr/share/include/llhttp"]

    def check(path):
        key = rules.copy()
        key.update(path.read_bytes())
        mark = memory / (hashlib.sha256(str(relative(path)).encode()).hexdigest()[:24] + ".ok")
        if mark.exists() and mark.read_text() == key.hexdigest():
            return []
        argv = ["nice", "-n", "19", "clang-tidy", "--quiet", *checks, str(path), "--", *flags]
        done = subprocess.run(argv, capture_output=True, text=True, cwd=ROOT, check=False)
        lines = re.findall(rf"^{re.escape(str(ROOT))}/(.*?(?:warning|error): .*)$", done.stdout, re.M)
        if not lines and done.returncode == 0:
            mark.write_text(key.hexdigest())
            return []
        return lines or [f"{relative(path)}: clang-tidy ended with {done.returncode}: {done.stderr.strip()[-500:]}"]

    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        return sorted({line for lines in pool.map(check, tidy_files(is_all)) for line in lines})


def generated():
    """The SDKs' generated files are what docs/openapi.json makes."""
    done = subprocess.run([sys.executable, "tools/sdkgen", "--check"], cwd=ROOT, capture_output=True, text=True, check=False)
    return [] if done.returncode == 0 else (done.stdout + done.stderr).splitlines()


# Files that have to name the version themselves, and where it stands in them. All other places derive it from meson.build.
VERSIONS = {
    "CHANGELOG.md": r"^## \[(\d[^]]*)\]",  # the newest release is the first one
    "docs/openapi.json": r'"version": "([^"]+)"',
    "docs/packages.md": r"iii-sandbox[-_](\d+\.\d+\.\d+)",
    "docs/sdk-python.md": r"iii_sandbox-(\d+\.\d+\.\d+)",
    "docs/sdk-typescript.md": r"iii-sandbox-sdk-(\d+\.\d+\.\d+)",
    "examples/typescript/package.json": r'"@iii-sandbox/sdk": "\^([^"]+)"',
    "sdk/c/include/iii_sandbox.h": r"version (\d+\.\d+\.\d+)",
    "sdk/c/meson.build": r"^project\([^>]* version: '([^']+)'",
    "sdk/mcp/package.json": r'"version": "([^"]+)"',
    "sdk/python/pyproject.toml": r'^version = "([^"]+)"',
    "sdk/python/src/iii_sandbox/__init__.py": r'^__version__ = "([^"]+)"',
    "sdk/rust/Cargo.lock": r'^name = "iii-sandbox"\nversion = "([^"]+)"',
    "sdk/rust/Cargo.toml": r'^version = "([^"]+)"',
    "sdk/typescript/package.json": r'"version": "([^"]+)"',
}


def versions():
    """Every file that names the version names the one of meson.build."""
    wanted, found = dist.version(), []
    for name, pattern in VERSIONS.items():
        named = re.findall(pattern, (ROOT / name).read_text(), re.M)
        named = named[:1] if name == "CHANGELOG.md" else named
        if set(named) != {wanted}:
            found.append(f"{name}: names version {', '.join(sorted(set(named))) or 'none'}, meson.build has {wanted}")
    return found


# What makes a package manager ask its public registry, on a command line or in the configuration of an agent.
FETCHES = re.compile(r"""\b(?:npx|bunx|uvx|pipx\s+(?:run|install)|(?:npm|pnpm|yarn|bun)\s+(?:i|install|add|exec|dlx|create)|pip3?\s+install|
                         uv\s+(?:add|pip\s+install|tool\s+(?:run|install))|cargo\s+(?:add|install)|go\s+(?:get|install))\b([^`;&|#\n]*)""", re.X)
PUBLISHED = {"iii-sdk"}  # by the engine's authors


def fetched_names(text):
    """The packages of our names that a text asks a public registry for. A path, an address or an archive is not asked for there, nor is a
    command out of one (--package=)."""
    for call in FETCHES.finditer(re.sub(r'",\s*"args"', '", "args"', text)):
        if re.search(r"--package=[./{]", call[1]):
            continue
        for word in re.split(r"[\s\"',\[\]]+", call[1]):
            name = re.match(r"(?:@iii[\w-]*/[\w.-]+|iii[\w-]*)(?=@|=|~|<|>|!|$)", word)
            if name and name[0] not in PUBLISHED:
                yield name[0]


def registries():
    """No file shows a package of ours as if a public registry had it: whoever registers the name there would be installed instead."""
    return [f"{relative(path)}: {name} is on no public registry: show the archive of ./dev dist or the path"
            for path in text_files() if path.suffix in (".md", ".json", ".toml", ".yml", ".yaml", ".c", ".def", ".py", ".ts", ".rs", ".sh")
            for name in fetched_names(path.read_text(errors="replace"))]


def limit_rows():
    """{row: the numbers it holds} of src/base/limits.def."""
    text = (ROOT / "src/base/limits.def").read_text()
    return {m[1]: {n for n in m[2].replace(" ", "").split(",") if n} for m in re.finditer(r"^#define LIMIT_(\w+)\(L\) L\(\w+,([^\"]*),", text, re.M)}


def limits():
    """A bound or a default stands in limits.def and is named everywhere else."""
    rows = limit_rows()
    each = re.findall(r"LIMIT_(\w+)\(L\)", (ROOT / "src/base/limits.def").read_text().split("#define LIMITS_EACH(L)")[1])
    found = [f"src/base/limits.def: {name} is not once in LIMITS_EACH" for name in {*rows, *each} if each.count(name) != 1 or name not in rows]
    known = {number: name for name, numbers in rows.items() for number in numbers if float(number) >= 60}
    fields = re.sub(r'"(?:[^"\\\n]|\\.)*"|/\*.*?\*/', lambda m: "\n" * m[0].count("\n"), (ROOT / "src/spec/fields.c").read_text(), flags=re.S)
    for number, line in enumerate(fields.splitlines(), 1):
        for word in re.findall(r"(?<![\w.])\d+(?:\.\d+)?\b", line):
            if word in known:
                found.append(f"src/spec/fields.c:{number}: {word} is a number of limits.def ({known[word]}): name its row, or give it one of its own")
    for number, line in enumerate((ROOT / "src/base/settings.def").read_text().splitlines(), 1):
        row = re.match(r"S\((?:fn_)?(?:default_|max_)?(\w+), INT, (?:\"[^\"]*\", ){3}(.*?), ([^,]+), ([^,]+), \"", line)
        name = row and row[1].upper()
        if name in rows:
            found += [f"src/base/settings.def:{number}: {word} is a number of the row {name} in limits.def: name it"
                      for word in (row[3], row[4]) if word in rows[name] - {"0", "1"}]
    for path in sorted((ROOT / "src").rglob("*.[ch]")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            macro = re.match(r"\s*#\s*define\s+(\w+)\s+\(?(\d+)[uUlL]*\b", line)
            for name in rows if macro else ():
                is_default = macro[1] in (f"DEFAULT_{name}", f"{name}_DEFAULT")
                if is_default or (re.search(rf"(?:^|_){name}(?:_|$)", macro[1]) and macro[2] in rows[name] - {"0", "1"}):
                    found.append(f"{relative(path)}:{number}: {macro[1]} is {macro[2]} again: use the row {name} of src/base/limits.def")
    names = re.findall(r'F\(\w+, "(\w+)"', (ROOT / "src/sandbox/lifecycle/sandbox_config.h").read_text())
    read = re.compile(rf'json_(?:object_)?get\w*\([^,;]*\bconfig\)?, "(?:{"|".join(names)})"')
    for path in sorted(p for room in ("sandbox", "api", "runtime") for p in (ROOT / "src" / room).rglob("*.[ch]")):
        found += [f"{relative(path)}:{number}: reads a member of a sandbox's configuration from JSON: use struct sandbox_config"
                  for number, line in enumerate(path.read_text().splitlines(), 1) if read.search(line)]
    return found


def operations():
    """No operation has to be written by hand in more places than a row, a handler, a rule, a scenario and a page."""
    done = subprocess.run([sys.executable, "tools/check_operation.py"], cwd=ROOT, capture_output=True, text=True, check=False)
    return [] if done.returncode == 0 else (done.stdout + done.stderr).splitlines()


CHECKS = {"layers": layers, "sizes": sizes, "words": words, "rooms": rooms, "stems": stems, "headers": headers,
          "layout": layout, "scripts": scripts, "symbols": symbols, "links": links, "generated": generated, "versions": versions,
          "registries": registries, "limits": limits, "operations": operations}


def parser():
    found = devargs.Parser("lint", "Check the rules that a script can check: layers, sizes, headers, layout, links, generated files, versions, names of packages.", "./dev lint",
                           "./dev lint --tidy               # with clang-tidy over what you changed", "./dev lint --only links,words")
    found.add_argument("--all", action="store_true", help="clang-tidy over every file")
    found.add_argument("--tidy", action="store_true", help="run clang-tidy too, over the C files that differ from main (on main: from HEAD~)")
    found.add_argument("--light", action="store_true", help="clang-tidy without its analyzer: a minute instead of ten")
    found.add_list("--only", [*CHECKS, "tidy"], "check", help="default: all but tidy", default=None)
    found.add_argument("--fix", action="store_true", help="lay out files that are not, instead of naming them (./dev fmt)")
    return found


def main():
    args = parser().parse_args()
    if args.fix:
        lay_out("-i")
    wanted = args.only or [*CHECKS, *(["tidy"] if args.tidy or args.all else [])]
    bad = 0
    for name in wanted:
        found = tidy(args.all, args.light) if name == "tidy" else CHECKS[name]()
        if found:
            bad = 1
            print(f"-- {name}\n" + "\n".join(found))
        print(("not ok" if found else "ok") + f" lint {name}", flush=True)
    return bad


if __name__ == "__main__":
    sys.exit(main())
