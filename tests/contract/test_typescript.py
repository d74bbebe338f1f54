"""The TypeScript SDK's own tests, and its examples, against the live server."""
import os
import re
import shutil
import subprocess

import pytest

import docpages
import sdkkit
from conftest import TOKEN

HOME = sdkkit.ROOT / "sdk" / "typescript"
EXAMPLES = sdkkit.ROOT / "examples" / "typescript"
PAGES = ("sdk-typescript", "sdk-comparison")


def node(argv, url, cwd, limit_s=120):
    env = {**os.environ, "III_URL": url, "III_TOKEN": TOKEN, "III_SANDBOX_URL": url, "III_SANDBOX_TOKEN": TOKEN}
    return subprocess.run(["node", *map(str, argv)], cwd=cwd, env=env, capture_output=True, text=True, timeout=limit_s, check=False)


def test_node_test(server, url):
    sdkkit.build_typescript()
    files = sorted(HOME.glob("test/*.test.mjs"))
    done = node(["--test", "--test-reporter=tap", *files], url, HOME)
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    passed, skipped = re.search(r"^# pass (\d+)$", done.stdout, re.M), re.search(r"^# skipped (\d+)$", done.stdout, re.M)
    assert int(passed[1]) > len(files) and int(skipped[1]) == 0, done.stdout[-2000:]


@pytest.fixture(scope="session")
def compiled():
    """The examples, compiled against the package as a user would have it in node_modules."""
    sdkkit.build_typescript()
    home = sdkkit.CACHE / "typescript-examples"
    shutil.rmtree(home, ignore_errors=True)
    (home / "node_modules" / "@iii-sandbox").mkdir(parents=True)
    (home / "node_modules" / "@iii-sandbox" / "sdk").symlink_to(HOME)
    (home / "node_modules" / "@types").symlink_to(HOME / "node_modules" / "@types")
    for path in EXAMPLES.iterdir():
        shutil.copy(path, home)
    for name in PAGES:
        (home / f"{name}.ts").write_text(docpages.program(f"{name}.md", "ts run")[0])
    (home / "data.csv").write_text("1,2")
    sdkkit.run(["node", HOME / "node_modules" / "typescript" / "bin" / "tsc", "-p", home], home)
    return home


@pytest.mark.parametrize("name", sorted(p.stem for p in EXAMPLES.glob("*.ts")))
def test_example(name, compiled, server, url):
    done = node([compiled / f"{name}.js"], url, compiled)
    assert (done.returncode, done.stdout) == (0, (EXAMPLES / f"{name}.out").read_text()), done.stderr


@pytest.mark.parametrize("name", PAGES)
def test_the_programs_of_the_page(name, compiled, server, url):
    expected = docpages.program(f"{name}.md", "ts run")[1]
    done = node([compiled / f"{name}.js"], url, compiled)
    assert done.returncode == 0, done.stderr
    assert len(expected) > 5 and docpages.missing(expected, done.stdout) is None, done.stdout
