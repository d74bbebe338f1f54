"""The C library's own tests under AddressSanitizer and UBSan, and its examples as a user builds them: against the installed library."""
import os
import re
import subprocess

import pytest

import docpages
import sdkkit
from conftest import TOKEN

EXAMPLES = {
    "first": "42\nhello\n3\n",
    "quickstart": "hello\n3\nkept\n5050\n",
    "agent": 'code: 42\nstep 1\nstep 2\nstep 3\nexit code 0\nafter the fork: original\nmissing: not_found\n',
    "terminal": "the shell ended with 5\n",
}
STRICT = {"ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0", "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}


def run_checked(program, env):
    done = subprocess.run([program], env={**os.environ, **STRICT, **env}, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.fullmatch(r"[1-9]\d+ checks, 0 failed\n", done.stdout), done.stdout


def test_parts():
    run_checked(sdkkit.c_build() / "test_parts", {})


def test_live(server, url):
    run_checked(sdkkit.c_build() / "test_live", {"III_URL": url, "III_TOKEN": TOKEN})


def flags_of(linking, home):
    """What a user's compiler gets. Our archive is linked with the shared libraries that it needs: Debian has no archives of all of them."""
    found = {**os.environ, "PKG_CONFIG_PATH": str(next(home.rglob("iiisandbox.pc")).parent)}
    names = ["iiisandbox"] if linking == "shared" else ["libcurl", "jansson"]
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", *names], env=found, capture_output=True, text=True, check=True).stdout.split()
    return flags if linking == "shared" else [f"-I{home}/include", next(home.rglob("libiiisandbox.a")), *flags, "-lm"]


def program(source, linking, folder):
    home = sdkkit.c_install()
    sdkkit.run(["gcc", "-std=gnu17", "-Wall", "-Wextra", "-Werror", "-o", folder / source.stem, source, *flags_of(linking, home)])
    return folder / source.stem, {"LD_LIBRARY_PATH": str(next(home.rglob("libiiisandbox.so")).parent)}


def run_program(argv, env, url, cwd=None):
    return subprocess.run([argv], env={"III_SANDBOX_URL": url, "III_SANDBOX_TOKEN": TOKEN, **env}, cwd=cwd, capture_output=True, text=True,
                          timeout=240, check=False)


@pytest.mark.parametrize("name, linking", [*((name, "shared") for name in EXAMPLES), ("quickstart", "static")])
def test_example(name, linking, server, url, tmp_path):
    built, env = program(sdkkit.ROOT / "examples" / "c" / f"{name}.c", linking, tmp_path)
    needed = subprocess.run(["readelf", "-d", built], capture_output=True, text=True, check=True).stdout
    assert ("libiiisandbox.so.0" in needed) == (linking == "shared")
    done = run_program(built, env, url)
    assert (done.returncode, done.stdout) == (0, EXAMPLES[name]), done.stderr


def test_the_program_of_the_comparison(server, url, tmp_path):
    code, expected = docpages.program("sdk-comparison.md", "c run")
    (tmp_path / "tasks.c").write_text(code)
    (tmp_path / "data.csv").write_text("1,2")
    done = run_program(*program(tmp_path / "tasks.c", "shared", tmp_path), url, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(expected) > 5 and docpages.missing(expected, done.stdout) is None, done.stdout
    assert (tmp_path / "copy.csv").read_text() == "1,2"


def test_only_the_header_s_names_are_exported():
    library = next(sdkkit.c_install().rglob("libiiisandbox.so.0"))
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    exported = {line.split()[2] for line in symbols.splitlines()}
    header = (sdkkit.ROOT / "sdk" / "c" / "include" / "iii_sandbox.h").read_text()
    declared = set(re.findall(r"^III_API [^(]*?(\w+)\(", header, re.M))
    assert len(declared) > 130 and exported == declared


def test_the_header_is_good_for_c_plus_plus(tmp_path):
    source = tmp_path / "x.cc"
    source.write_text('#include "iii_sandbox.h"\nint main() { return iii_code_name(0)[0] == 0; }\n')
    sdkkit.run(["gcc", "-x", "c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", sdkkit.ROOT / "sdk" / "c" / "include", source])


def test_the_program_of_the_page_is_the_example():
    page = (sdkkit.ROOT / "docs" / "sdk-c.md").read_text()
    assert f"```c\n{(sdkkit.ROOT / 'examples' / 'c' / 'first.c').read_text()}```\n" in page
