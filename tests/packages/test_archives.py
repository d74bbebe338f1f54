"""The archives of the client libraries: each is installed as a user would, into a place of its own, and loads."""
import hashlib
import os
import pathlib
import subprocess
import sys
import tarfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LIMIT_S = 600


def run(*argv, **kw):
    done = subprocess.run([str(a) for a in argv], capture_output=True, text=True, check=False, timeout=LIMIT_S, stdin=subprocess.DEVNULL, **kw)
    assert done.returncode == 0, f"{argv}: {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    out = tmp_path_factory.mktemp("archives")
    return [out / name for name in run(sys.executable, ROOT / "tools" / "dist.py", "--only", "npm,wheel,crate,c,go", "--out", out).split()]


def of_kind(archives, suffix):
    found = [a for a in archives if a.suffix == suffix]
    assert found, f"no {suffix} in {archives}"
    return found


def unpack(archives, prefix, place):
    (archive,) = [a for a in of_kind(archives, ".gz") if a.name.startswith(prefix)]
    with tarfile.open(archive) as tar:
        tar.extractall(place)  # noqa: S202: it is ours
    (source,) = place.iterdir()
    return source


def test_checksums(archives):
    lines = (archives[0].parent / "SHA256SUMS").read_text().splitlines()
    assert sorted(lines) == sorted(f"{hashlib.sha256(a.read_bytes()).hexdigest()}  {a.name}" for a in archives)


def test_npm_packages_install(archives, tmp_path):
    packages = of_kind(archives, ".tgz")
    (tmp_path / "package.json").write_text("{}")
    run("npm", "install", "--no-audit", "--no-fund", "--loglevel=error", *packages, cwd=tmp_path)
    assert (tmp_path / "node_modules" / "@iii-sandbox" / "sdk").is_dir()
    assert (tmp_path / "node_modules" / ".bin" / "iii-sandbox-mcp").exists()
    names = run("node", "--input-type=module", "-e", "import * as sdk from '@iii-sandbox/sdk'; console.log(Object.keys(sdk).join(' '))", cwd=tmp_path)
    assert "createSandbox" in names


def test_the_wheel_installs(archives, tmp_path):
    (wheel,) = of_kind(archives, ".whl")
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    run(tmp_path / "venv" / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    assert "Sandbox" in run(tmp_path / "venv" / "bin" / "python", "-c", "import iii_sandbox; print(dir(iii_sandbox))", cwd=tmp_path)


def test_the_crate_holds_its_sources(archives):
    (crate,) = of_kind(archives, ".crate")
    with tarfile.open(crate) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    assert {"Cargo.toml", "src/lib.rs", "README.md"} <= names


def test_the_c_library_builds_and_installs(archives, tmp_path):
    source = unpack(archives, "libiiisandbox-", tmp_path)
    run("meson", "setup", source / "build", source, "-Dtests=false", f"--prefix={tmp_path / 'usr'}", "--libdir=lib")
    run("meson", "install", "-C", source / "build")
    (tmp_path / "user.c").write_text('#include <iii_sandbox.h>\nint main(void) { return 0; }\n')
    env = {**os.environ, "PKG_CONFIG_PATH": str(tmp_path / "usr" / "lib" / "pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", "iiisandbox", env=env).split()
    run("cc", tmp_path / "user.c", "-o", tmp_path / "user", *flags)
    run(tmp_path / "user", env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path / "usr" / "lib")})


def test_the_go_module_serves_by_its_path(archives, tmp_path):
    source = unpack(archives, "iii-sandbox-go-", tmp_path)
    user = tmp_path / "user"
    user.mkdir()
    (user / "go.mod").write_text(f"module user\n\ngo 1.19\n\nrequire iii.invalid/sandbox v0.0.0\n\nreplace iii.invalid/sandbox => {source}\n")
    (user / "main.go").write_text('package main\n\nimport "iii.invalid/sandbox"\n\nfunc main() { println(len(sandbox.Operations)) }\n')
    env = {**os.environ, "GOCACHE": str(ROOT / "build" / "go" / "cache"), "GOPROXY": "off", "PATH": f"{os.environ['PATH']}:/usr/local/go/bin"}
    run("go", "run", ".", cwd=user, env=env)
