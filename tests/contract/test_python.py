"""The Python SDK's own tests, and its examples, against the live server."""
import os
import re
import subprocess
import textwrap

import pytest

import docpages
import sdkkit
from conftest import TOKEN

EXAMPLES = sdkkit.ROOT / "examples" / "python"


def python(argv, url, limit_s=120, cwd=sdkkit.ROOT):
    env = {**os.environ, "III_URL": url, "III_TOKEN": TOKEN, "III_SANDBOX_URL": url, "III_SANDBOX_TOKEN": TOKEN}
    env.pop("PYTEST_XDIST_WORKER", None)
    return subprocess.run([sdkkit.python_venv(), *argv], cwd=cwd, env=env, capture_output=True, text=True, timeout=limit_s, check=False)


def test_pytest(server, url):
    done = python(["-m", "pytest", "-q", "-p", "no:cacheprovider", "sdk/python/tests"], url)
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    assert re.search(r"^\d+ passed in", done.stdout, re.M), done.stdout[-500:]


def test_types(tmp_path):
    """The package itself, and a program that uses it as users do."""
    program = tmp_path / "program.py"
    program.write_text((sdkkit.ROOT / "tests" / "contract" / "typed_program.py").read_text())
    argv = ["-m", "mypy", "--config-file", sdkkit.ROOT / "sdk" / "python" / "pyproject.toml", "--strict", "--no-error-summary", "--cache-dir", sdkkit.CACHE / "mypy", sdkkit.ROOT / "sdk" / "python" / "src" / "iii_sandbox", program]
    done = python(argv, "")
    assert (done.returncode, done.stdout) == (0, ""), done.stdout


@pytest.mark.parametrize("name", sorted(p.stem for p in EXAMPLES.glob("*.py")))
def test_example(name, server, url):
    done = python([EXAMPLES / f"{name}.py"], url)
    assert (done.returncode, done.stdout) == (0, (EXAMPLES / f"{name}.out").read_text()), done.stderr


def test_the_programs_of_the_page(server, url, tmp_path):
    code, expected = docpages.program("sdk-python.md", "python run")
    page = tmp_path / "page.py"
    page.write_text(f"import asyncio\n\nasync def main():\n{textwrap.indent(code, '    ')}\nasyncio.run(main())\n")
    done = python([page], url)
    assert done.returncode == 0, done.stderr
    assert len(expected) > 5 and docpages.missing(expected, done.stdout) is None, done.stdout
