"""The examples of docs/: each page is one scenario that runs against a real server.

The convention. A fence ```sh run holds commands that are run in order by one bash for the whole page, with -e, -u and pipefail: what
fails fails the page, and so does every answer of 400 and above (curl is told to fail on them). A page writes the address as
http://127.0.0.1:3111/sandbox; here it is that of the test's server, and `iii` is the tested binary. A line `# → text` in the fence, and each line of a fence ```text
right after it, must appear in what the fence printed, in this order; … in it stands for anything. Other fences are only read.
"""
import re
import subprocess

import pytest

import harness

DOCS = harness.ROOT / "docs"
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$\n?", re.M | re.S)
USUAL = "http://127.0.0.1:3111"
MARK = "\036"


def fences(page):
    """[(language, text, is it right after the one before)]"""
    found, end = [], 0
    text = page.read_text()
    for match in FENCE.finditer(text):
        found.append((match[1].strip(), match[2], not text[end:match.start()].strip()))
        end = match.end()
    return found


def scenario(page):
    """[(commands, lines that they print)] of a page's fences that run."""
    steps = []
    was_run = False
    for language, text, is_next in fences(page):
        if language == "sh run":
            steps.append((text, [line.strip()[4:] for line in text.splitlines() if line.strip().startswith("# → ")]))
        elif language == "text" and was_run and is_next:
            steps[-1][1].extend(line for line in text.splitlines() if line.strip())
        was_run = language == "sh run"
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


PAGES = sorted(page for page in DOCS.glob("*.md") if scenario(page))


@pytest.mark.skipif(not harness.IS_ROOT, reason="networks and snapshots without a copy need root")
@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_the_examples_of(page, server, client, tmp_path):
    steps = scenario(page)
    (tmp_path / ".curlrc").write_text("fail-with-body\nshow-error\nmax-time = 60\n")
    script = "set -euo pipefail\n" + "".join(f"{text}\nprintf '{MARK}'\n" for text, _ in steps)
    env = harness.clean_env({"CURL_HOME": tmp_path, "HOME": tmp_path, "PATH": f"{harness.BINARY.parent}:/usr/sbin:/usr/bin:/sbin:/bin",
                             "III_ENGINE_PORT": server.engine_port})
    try:
        done = subprocess.run(["bash"], input=script.replace(USUAL, f"http://127.0.0.1:{server.port}"), capture_output=True, text=True,
                              cwd=tmp_path, env=env, check=False, timeout=harness.DEADLINE_S * 4)
        outputs = done.stdout.split(MARK)
        server.held.look(server.pid)
    finally:
        for record in client.ok("GET", "/sandboxes?pageSize=200")["items"]:
            client.delete(f"/sandboxes/{record['id']}")
    for (text, expected), output in zip(steps, outputs):
        line = missing_line(expected, output)
        assert line is None, f"{page.name}:\n{text}\nprints\n{output}\nwithout {line!r}\n{done.stderr}"
    assert done.returncode == 0, f"{page.name}: ended in\n{steps[min(len(outputs), len(steps)) - 1][0]}\n{outputs[-1]}\n{done.stderr}"


def test_every_example_that_asks_the_server_runs():
    for page in DOCS.glob("*.md"):
        for language, text, _ in fences(page):
            assert not (language in ("sh", "bash", "") and re.search(r"\bcurl\b", text)), f"{page.name}: tag it `sh run`:\n{text}"


def test_the_index_names_every_page():
    index = (DOCS / "README.md").read_text()
    for page in [*DOCS.glob("*.md"), *(DOCS / "decisions").glob("*.md")]:
        assert page.name == "README.md" or f"({page.relative_to(DOCS)})" in index, f"docs/README.md does not name {page.relative_to(DOCS)}"


def documents():
    return [*harness.ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(harness.ROOT / "src").rglob("README.md"), *(harness.ROOT / "bench").glob("*.md")]


def test_files_that_documents_name_exist():
    tests = {path.name for path in (harness.ROOT / "tests").rglob("test_*")}
    for page in documents():
        text = page.read_text()
        for name in re.findall(r"`((?:src|tests|tools|docs|bench)/[\w./*|-]+)`", text):
            assert "|" in name or any(harness.ROOT.glob(name.rstrip("/"))), f"{page.relative_to(harness.ROOT)} names {name}"
        for name in re.findall(r"`(test_\w+\.(?:py|c))`", text):
            assert name in tests, f"{page.relative_to(harness.ROOT)} names {name}"


def test_the_tests_behind_each_wall_exist():
    """The words with underscores in the last column of SECURITY.md's table are names of tests, fuzz targets or files of tests."""
    known = {path.stem for path in (harness.ROOT / "tests").rglob("*.[cp]*")}
    for path in (harness.ROOT / "tests").rglob("test_*.*"):
        if path.suffix in (".c", ".py"):
            known.update(re.findall(r"^(?:def |TEST\()(\w+)", path.read_text(), re.M))
    rows = re.findall(r"^\|.*\|([^|\n]+)\|$", (harness.ROOT / "SECURITY.md").read_text(), re.M)
    named = {word for row in rows for word in re.findall(r"`(?:[a-z]+/)?([a-z0-9_]*_[a-z0-9_]+)(?:\.c|\.py)?`", row)}
    assert len(named) > 25 and named <= known, sorted(named - known)
