"""docs/sdk-comparison.md: our programs run, the numbers of its table are the lines of the programs, and no task takes more lines here."""
import re
import textwrap

import docpages
import sdkkit
import test_install
from test_python import python

PAGE = sdkkit.ROOT / "docs" / "sdk-comparison.md"
OURS, OTHERS = "run", ("e2b", "daytona")
# A package index in a file, in the place of the registry on the internet.
BEFORE = '''
import pathlib
from iii_sandbox.sync import Sandbox

opened, plain = [], Sandbox.create

def create(*arguments, **options):
    box = plain(*arguments, env={{"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/tmp/index"}}, **options)
    box.exec("mkdir -p /tmp/index; cat > /tmp/index/cowsay-1-py3-none-any.whl", stdin=pathlib.Path({wheel!r}).read_bytes(), check=True)
    opened.append(box)
    return box

Sandbox.create = create
try:
{code}
finally:
    for box in Sandbox.list():
        if box.id in {{b.id for b in opened}} or box.parent_id in {{b.id for b in opened}}:
            box.kill()
'''


def lines_of(code):
    return sum(1 for line in code.splitlines() if line.strip() and not line.strip().startswith("#"))


def tasks():
    """{anchor: {tag: lines of the first program with it}}"""
    found = {}
    for part in re.split(r"^## ", PAGE.read_text(), flags=re.M)[1:]:
        anchor = re.sub(r"[^a-z0-9 -]", "", part.splitlines()[0].lower()).replace(" ", "-")
        programs = {tag: re.search(rf"^```python {tag}\n(.*?)^```$", part, re.M | re.S) for tag in (OURS, *OTHERS)}
        if all(programs.values()):
            found[anchor] = {tag: lines_of(match[1]) for tag, match in programs.items()}
    return found


def test_the_numbers_of_the_table_and_that_none_is_larger_here():
    found = tasks()
    rows = {anchor: tuple(map(int, numbers)) for anchor, *numbers in re.findall(r"^\| \[.*?\]\(#(.*?)\) \| (\d+) \| (\d+) \| (\d+) \|$", PAGE.read_text(), re.M)}
    assert len(rows) >= 10 and rows == {anchor: tuple(counts.values()) for anchor, counts in found.items()}
    assert [anchor for anchor, (ours, *others) in rows.items() if ours > min(others)] == []


def test_our_programs_run(server, url, tmp_path):
    code, expected = docpages.program(PAGE.name, "python run")
    (tmp_path / "cowsay.whl").write_bytes(test_install.wheel("cowsay"))
    (tmp_path / "data.csv").write_text("1,2")
    program = tmp_path / "program.py"
    program.write_text(BEFORE.format(wheel=str(tmp_path / "cowsay.whl"), code=textwrap.indent(code, "    ")))
    done = python([program], url, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(expected) > 5 and docpages.missing(expected, done.stdout) is None, done.stdout
    assert (tmp_path / "copy.csv").read_text() == "1,2"
