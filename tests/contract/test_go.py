"""The Go SDK's own tests, and its examples, against the live server."""
import pathlib
import re
import subprocess

import pytest

import sdkkit
from conftest import TOKEN

HOME = sdkkit.ROOT / "sdk" / "go"
EXAMPLES = {
    "first": "hello\n3\n",
    "quickstart": '"hello\\n" 3\nkept\n5050\n',
    "agent": "context: 42\nstep 1\nstep 2\nstep 3\nexit code 0\nafter the fork: original\nmissing: not_found\n",
    "terminal": "the shell ended with 5\n",
}


def test_go_test(server, url):
    done = sdkkit.go_run(["test", "-v", "./..."], HOME, III_URL=url, III_TOKEN=TOKEN)
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    assert len(re.findall("^--- PASS", done.stdout, re.M)) > 20 and "--- SKIP" not in done.stdout, done.stdout


@pytest.mark.parametrize("folder", [HOME, sdkkit.ROOT / "examples" / "go"], ids=["sdk", "examples"])
def test_vet_and_layout(folder):
    done = sdkkit.go_run(["vet", "./..."], folder)
    assert done.returncode == 0, done.stderr
    gofmt = pathlib.Path(sdkkit.go()).with_name("gofmt")
    assert subprocess.run([gofmt, "-l", folder], capture_output=True, text=True, check=True).stdout == ""


def test_it_needs_no_other_module():
    done = sdkkit.go_run(["list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./..."], HOME)
    assert sorted(done.stdout.split()) == ["iii.invalid/sandbox", "iii.invalid/sandbox/contract"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name, server, url):
    program = sdkkit.go_build(name, sdkkit.ROOT / "examples" / "go")
    done = subprocess.run([program], env={"III_SANDBOX_URL": url, "III_SANDBOX_TOKEN": TOKEN}, capture_output=True, text=True, timeout=240, check=False)
    assert (done.returncode, done.stdout) == (0, EXAMPLES[name]), done.stderr


def test_the_program_of_the_page_is_the_example():
    page = (sdkkit.ROOT / "docs" / "sdk-go.md").read_text()
    assert f"```go\n{(sdkkit.ROOT / 'examples' / 'go' / 'first' / 'main.go').read_text()}```\n" in page
