"""The Rust SDK's own tests, and its examples, against the live server."""
import re
import subprocess

import pytest

import sdkkit
from conftest import TOKEN

EXAMPLES = {
    "first": "hello\n3",
    "quickstart": '"hello\\n" 3\nkept\n5050\n',
    "agent": 'context: 42\nstep 1\nstep 2\nstep 3\nexit code 0\nafter the fork: original\nmissing: not_found\n',
    "terminal": "Some(Exited(5))\n",
}


def test_cargo_test(server, url):
    sdkkit.rust_build("contract")  # one build of the dependencies for both
    done = subprocess.run([sdkkit.cargo(), "test", "--locked", "--quiet", "--lib", "--tests", "--manifest-path",
                           sdkkit.ROOT / "sdk" / "rust" / "Cargo.toml", "--", "--test-threads=4"],
                          env={**sdkkit.rust_env(), "III_URL": url, "III_TOKEN": TOKEN}, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    counts = [int(n) for n in re.findall(r"(\d+) passed", done.stdout)]
    assert len(counts) == 4 and all(counts), done.stdout


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name, server, url):
    done = subprocess.run([sdkkit.rust_build(name)], env={"III_SANDBOX_URL": url, "III_SANDBOX_TOKEN": TOKEN}, capture_output=True, text=True,
                          timeout=240, check=False)
    assert (done.returncode, done.stdout) == (0, EXAMPLES[name]), done.stderr


def test_the_program_of_the_page_is_the_example():
    page = (sdkkit.ROOT / "docs" / "sdk-rust.md").read_text()
    assert f"```rust\n{(sdkkit.ROOT / 'examples' / 'rust' / 'first.rs').read_text()}```\n" in page
