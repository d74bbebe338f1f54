"""The examples of docs/ and SKILL.md: each page is one scenario that runs against a real server, and its tables are those of the source.

The convention. A fence ```sh run holds commands that are run in order by one bash for the whole page, with -e, -u and pipefail: what
fails fails the page, and so does every answer of 400 and above (curl is told to fail on them). A page writes the address as
http://127.0.0.1:3111/sandbox; here it is that of the test's server, and `iii` is the tested binary. A line `# → text` in the fence, and each line of a fence ```text
right after it, must appear in what the fence printed, in this order; … in it stands for anything. A page whose fences are ```sh run user is run as an
ordinary user, with a server of that user. A fence ```js run is a program for node with the published iii-sdk; its lines `// → text` say what it prints.
Other fences are only read.
"""
import itertools
import os
import pathlib
import re
import subprocess

import pytest

import harness
import leak
import publishedkit
import test_rootless

DOCS = harness.ROOT / "docs"
RUN, RUN_AS_USER, RUN_BY_NODE = "sh run", "sh run user", "js run"
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$\n?", re.M | re.S)
USUAL, USUAL_ENGINE = "http://127.0.0.1:3111", "ws://127.0.0.1:49134"
MARK = "\036"


def fences(page):
    """[(language, text, is it right after the one before)]"""
    found, end = [], 0
    text = page.read_text()
    for match in FENCE.finditer(text):
        found.append((match[1].strip(), match[2], not text[end:match.start()].strip()))
        end = match.end()
    return found


def scenario(page, kind=RUN):
    """[(commands, lines that they print)] of a page's fences that run."""
    steps = []
    was_run = False
    for language, text, is_next in fences(page):
        if language == kind:
            steps.append((text, [line.strip()[4:] for line in text.splitlines() if line.strip().startswith("# → ")]))
        elif language == "text" and was_run and is_next:
            steps[-1][1].extend(line for line in text.splitlines() if line.strip())
        was_run = language == kind
    return steps


def missing_line(expected, output):
    """The first expected line that does not appear, in order; None when all do."""
    place = 0
    for line in expected:
        found = re.compile(".*?".join(re.escape(piece) for piece in line.strip().split("…"))).search(output, place)
        if not found:
            return line
        place = found.end()
    return None


WRITTEN = [*DOCS.glob("*.md"), harness.ROOT / "SKILL.md"]
PAGES = sorted(page for page in WRITTEN if scenario(page))
USER_PAGES = sorted(page for page in WRITTEN if scenario(page, RUN_AS_USER))


def run_page(page, kind, server, folder, before=()):
    """Runs a page's fences by one bash in `folder` and compares what they print."""
    steps = scenario(page, kind)
    (folder / ".curlrc").write_text("fail-with-body\nshow-error\nmax-time = 60\n")
    script = "set -euo pipefail\ntrap 'jobs -p | xargs -r kill' EXIT\n" + "".join(f"{text}\nprintf '{MARK}'\n" for text, _ in steps)
    env = harness.clean_env({"CURL_HOME": folder, "HOME": folder, "PATH": f"{harness.BINARY.parent}:/usr/sbin:/usr/bin:/sbin:/bin",
                             "III_REST_PORT": server.port, "III_ENGINE_PORT": server.engine_port, "III_DATA_DIR": server.data_dir})
    try:
        done = subprocess.run([*before, "bash"], input=script.replace(USUAL, f"http://127.0.0.1:{server.port}"), capture_output=True,
                              text=True, cwd=folder, env=env, check=False, timeout=harness.DEADLINE_S * 4)
        outputs = done.stdout.split(MARK)
        server.held.look(server.pid)
    finally:
        with harness.Client(server.port) as client:
            for record in client.ok("GET", "/sandboxes?pageSize=200")["items"]:
                client.delete(f"/sandboxes/{record['id']}")
    for (text, expected), output in zip(steps, outputs):
        line = missing_line(expected, output)
        assert line is None, f"{page.name}:\n{text}\nprints\n{output}\nwithout {line!r}\n{done.stderr}"
    assert done.returncode == 0, f"{page.name}: ended in\n{steps[min(len(outputs), len(steps)) - 1][0]}\n{outputs[-1]}\n{done.stderr}"


@pytest.mark.skipif(not harness.IS_ROOT, reason="networks and snapshots without a copy need root")
@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_the_examples_of(page, server, tmp_path):
    run_page(page, RUN, server, tmp_path)


@pytest.mark.skipif(bool(test_rootless.WHY_NOT), reason=test_rootless.WHY_NOT or "runs")
@pytest.mark.parametrize("page", USER_PAGES, ids=[page.stem for page in USER_PAGES])
def test_the_examples_as_an_ordinary_user_of(page):
    user = str(test_rootless.USER)
    with leak.watched(harness.Server(user=test_rootless.USER)) as server:
        run_page(page, RUN_AS_USER, server, server.home, ["setpriv", "--reuid", user, "--regid", user, "--clear-groups"])


PROGRAMS = [(page, text) for page in sorted(WRITTEN) for language, text, _ in fences(page) if language == RUN_BY_NODE]


@pytest.mark.parametrize("page,text", PROGRAMS, ids=[page.stem for page, _ in PROGRAMS])
def test_the_program_of(page, text, server):
    home, version = publishedkit.node_home(), publishedkit.VERSIONS["node"][0]
    assert f"iii-sdk@{version}" in text, f"{page.name} names another version of iii-sdk"
    done = subprocess.run(["node", "--input-type=module", "-"], input=text.replace(USUAL_ENGINE, f"ws://127.0.0.1:{server.engine_port}"),
                          capture_output=True, text=True, cwd=home, check=False, timeout=harness.DEADLINE_S * 2)
    expected = re.findall(r"^// → (.*)$", text, re.M)
    assert done.returncode == 0 and expected and missing_line(expected, done.stdout) is None, f"{page.name}: {done.stdout}\n{done.stderr}"


SCRIPTS = sorted((harness.ROOT / "examples" / "shell").glob("*.sh"))


@pytest.mark.skipif(not harness.IS_ROOT, reason="snapshots need control groups")
@pytest.mark.parametrize("script", SCRIPTS, ids=[script.stem for script in SCRIPTS])
def test_the_script(script, server, tmp_path):
    done = subprocess.run([script], capture_output=True, text=True, cwd=tmp_path, check=False, timeout=harness.DEADLINE_S * 4,
                          env=harness.clean_env({"III_SANDBOX_URL": f"http://127.0.0.1:{server.port}"}))
    server.held.look(server.pid)
    expected = re.findall(r"^# → (.*)$", script.read_text(), re.M)
    assert done.returncode == 0 and expected and missing_line(expected, done.stdout) is None, f"{script.name}: {done.stdout}\n{done.stderr}"
    with harness.Client(server.port) as client:
        assert client.ok("GET", "/sandboxes")["total"] == 0, f"{script.name} leaves sandboxes behind"


NOT_RUN = {"debugging.md"}  # wants gdb, strace and perf on a host of one's own


def test_every_example_that_asks_the_server_runs():
    for page in WRITTEN:
        for language, text, _ in fences(page):
            assert page.name in NOT_RUN or not (language in ("sh", "bash", "") and re.search(r"\bcurl\b", text)), f"{page.name}: tag it `sh run`:\n{text}"


def test_the_index_names_every_page():
    index = (DOCS / "README.md").read_text()
    for page in DOCS.rglob("*.md"):
        assert page.name == "README.md" or f"({page.relative_to(DOCS)})" in index, f"docs/README.md does not name {page.relative_to(DOCS)}"


def documents():
    return [*harness.ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(harness.ROOT / "src").rglob("README.md"), *(harness.ROOT / "bench").glob("*.md")]


def test_files_that_documents_name_exist():
    tests = {path.name for path in (harness.ROOT / "tests").rglob("test_*")}
    for page in documents():
        text = page.read_text()
        for name in re.findall(r"`((?:src|tests|tools|docs|bench)/[\w./*|-]+)`", text):
            is_method = re.fullmatch(r"tools/(list|call)", name)  # of MCP
            assert "|" in name or is_method or any(harness.ROOT.glob(name.rstrip("/"))), f"{page.relative_to(harness.ROOT)} names {name}"
        for name in re.findall(r"`(test_\w+\.(?:py|c))`", text):
            assert name in tests, f"{page.relative_to(harness.ROOT)} names {name}"


def test_the_tests_behind_each_boundary_exist():
    """The words with underscores in the last column of the tables of SECURITY.md and docs/security/ are names of tests, fuzz targets or
    files of tests."""
    known = {path.stem for path in (harness.ROOT / "tests").rglob("*.[cp]*")}
    for path in (harness.ROOT / "tests").rglob("test_*.*"):
        if path.suffix in (".c", ".py"):
            known.update(re.findall(r"^(?:def |TEST\()(\w+)", path.read_text(), re.M))
    tables = re.compile(r"^\|[^\n]*\| Test[^\n]*\|\n\|[-|]+\|\n((?:\|[^\n]*\n)+)", re.M)
    for page, fewest in {"SECURITY.md": 25, "docs/security/microvms.md": 15, "docs/security/known-escapes.md": 15}.items():
        rows = [line.strip("|").split("|")[-1] for table in tables.findall(source(page)) for line in table.splitlines()]
        named = {word for row in rows for word in re.findall(r"`(?:[a-z]+/)?([a-z0-9_]*_[a-z0-9_]+)(?:\.c|\.py)?`", row)}
        assert len(named) > fewest and named <= known, (page, len(named), sorted(named - known))


def rows(page, title):
    """The cells of the rows of the first table below a heading, without the two head rows and without marks."""
    section = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", page.read_text(), re.M | re.S)
    assert section, f"{page.name} has no section {title!r}"
    lines = re.search(r"^\|.*?(?=^[^|]|^$|\Z)", section[1], re.M | re.S)[0].splitlines()[2:]
    return [[re.sub(r"<[^>]*>|`", "", cell).strip() for cell in line.strip("|").split("|")] for line in lines]


def source(name):
    return (harness.ROOT / name).read_text()


def test_the_error_codes_are_those_of_the_source():
    known = re.findall(r'^X\(\w+, "(\w+)", (\d+),', source("src/base/errors.def"), re.M)
    assert len(known) > 10 and [(row[1], row[0]) for row in rows(DOCS / "errors.md", "REST")] == known
    table = re.search(r"codes\[\] = \{\n(.*?)^\};", source("src/api/fn_fault.c"), re.M | re.S)[1]
    known = re.findall(r'\{ "(S\d+)", "(\w+)",.*?(true|false) \},', table, re.S)
    assert len(known) > 15 and [(row[0], row[1], {"yes": "true", "no": "false"}[row[2]]) for row in rows(DOCS / "errors.md", "Functions")] == known


def test_the_variables_that_documents_name_exist():
    files = []
    for place, folders, names in itertools.chain(os.walk(harness.ROOT / "src"), os.walk(harness.ROOT / "sdk")):
        folders[:] = [name for name in folders if name not in ("node_modules", "target", ".venv")]
        files += [os.path.join(place, name) for name in names if name.endswith((".c", ".h", ".def", ".js", ".ts", ".py", ".rs"))]
    files += [harness.ROOT / "compose.yaml", harness.__file__]
    known = set(re.findall(r"\bIII_[A-Z_]*[A-Z]\b", "".join(pathlib.Path(path).read_text(errors="replace") for path in files)))
    for page in [*WRITTEN, *(DOCS / "security").glob("*.md"), harness.ROOT / "README.md", harness.ROOT / "SECURITY.md"]:
        for name in set(re.findall(r"\bIII_[A-Z_]*[A-Z]\b(?!_?\*)", page.read_text())):
            assert name in known, f"{page.name} names {name}"


def test_the_versions_of_the_upgrade_notes_are_those_of_the_source():
    def number(name, path):
        return re.search(rf"^#define {name} +\"?([\d.]+)", source(path), re.M)[1]

    known = {"Program": re.search(r"version: '([\d.]+)'", source("meson.build"))[1], "State (state.db)": number("STORE_SCHEMA", "src/store/store.h"),
             "Handover (--takeover)": number("HANDOVER_VERSION", "src/main/handover.h"), "Agent protocol": number("PROTO_VERSION", "src/guest/proto.h")}
    assert {row[0]: row[1] for row in rows(DOCS / "upgrade.md", "What has a version") if row[1]} == known


@pytest.mark.skipif(not harness.IS_ROOT or not os.path.exists("/dev/net/tun"), reason="what a backend can do at most it can do as root, with tun")
def test_the_table_of_backends_is_what_they_say():
    head, *lines = [line.strip("|").split("|") for line in re.search(r"^\|.*?(?=^$)", (DOCS / "backends.md").read_text(), re.M | re.S)[0].splitlines()]
    names = re.findall(r"`(\w+)`", "".join(head))
    with harness.Server(env={"III_ISOLATION_BACKEND": names[0], "III_BACKENDS": ",".join(names)}) as server:
        can = {backend["name"]: backend["can"] for backend in server.client().ok("GET", "/metrics")["backends"]}
    assert list(can) == names
    written = {}
    for what, *cells in lines:
        if word := re.search(r"\(`(\w+)`\)", what):
            written[word[1]] = {name: cell.strip().startswith("yes") for name, cell in zip(names, cells, strict=True)}
    assert written == {word: {name: can[name][word] for name in names} for word in can[names[0]]}


def test_every_row_of_the_benchmark_is_explained():
    measured = {name for path in ("bench/rows.c", "bench/dockrows.c", "bench/vmrows.c")
                for name in re.findall(r'^    \{ "(\w+)", "[^"]*", [\d.]+, \w+, \d+ \},$', source(path), re.M)}
    explained = set(re.findall(r"^\| `(\w+)`", (DOCS / "benchmarks.md").read_text(), re.M))
    assert len(measured) > 20 and measured <= explained and explained <= measured | {"neighbour_p99"}, measured ^ explained
