"""Makes the SDKs ready to run: packages from the registries are installed once into build/, and again when their list changes."""
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CACHE = ROOT / "build" / "sdk"
INSTALL_S = 300
BUILD_S = 600
RUST_MIN = (1, 85)
GO_MIN = (1, 19)


def run(argv, cwd=ROOT, limit_s=INSTALL_S):
    done = subprocess.run([str(a) for a in argv], cwd=cwd, capture_output=True, text=True, timeout=limit_s, check=False)
    assert done.returncode == 0, f"{argv[0]} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


class Once:
    """Runs its block when `inputs` are not those of the last time; others wait meanwhile."""

    def __init__(self, name, *inputs):
        CACHE.mkdir(parents=True, exist_ok=True)
        self.stamp, self.lock = CACHE / f"{name}.stamp", open(CACHE / f"{name}.lock", "w")
        sums = hashlib.sha256()
        for item in inputs:
            sums.update(item.read_bytes() if isinstance(item, pathlib.Path) else str(item).encode())
        self.sum = sums.hexdigest()

    def __enter__(self):
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.needed = not self.stamp.exists() or self.stamp.read_text() != self.sum
        return self.needed

    def __exit__(self, kind, *_):
        if kind is None and self.needed:
            self.stamp.write_text(self.sum)
        self.lock.close()


def python_venv():
    """The interpreter of a virtual environment with what the Python SDK and its tests need; the SDK itself is found by its path."""
    home, project = CACHE / "venv", ROOT / "sdk" / "python"
    with Once("venv", project / "pyproject.toml", sys.version) as needed:
        if needed or not (home / "bin" / "python").exists():
            shutil.rmtree(home, ignore_errors=True)
            run([sys.executable, "-m", "venv", home])
            run([home / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "-e", f"{project}[test]"])
    return home / "bin" / "python"


def build_typescript():
    """sdk/typescript/dist, by the compiler from npm; nothing is done when no source has changed."""
    home = ROOT / "sdk" / "typescript"
    sources = sorted(home.glob("src/**/*.ts")) + [home / "package.json", home / "tsconfig.json"]
    with Once("typescript", *sources) as needed:
        if needed or not (home / "dist" / "index.js").exists():
            if not (home / "node_modules" / "typescript").exists():
                run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", "--no-package-lock"], home)
            run(["node", home / "node_modules" / "typescript" / "bin" / "tsc", "-p", home], home)
    return home / "dist"


def cargo():
    """cargo, on the path or where rustup puts it."""
    found = shutil.which("cargo") or shutil.which("cargo", path=str(pathlib.Path.home() / ".cargo" / "bin"))
    assert found, "no cargo: ./dev test installs it"
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    assert tuple(map(int, version.split(".")[:2])) >= RUST_MIN, f"{found} is {version}, the Rust SDK needs 1.85: Debian 12 has it as cargo-web"
    return found


def rust_env():
    """One target folder for everything, and the versions of Cargo.lock."""
    return {**os.environ, "CARGO_TARGET_DIR": str(ROOT / "build" / "rust"), "CARGO_TERM_COLOR": "never"}


def rust_compile(*what):
    """Cargo itself knows what has changed."""
    with Once("rust", "one cargo at a time"):
        done = subprocess.run([cargo(), *what, "--locked", "--quiet", "--manifest-path", ROOT / "sdk" / "rust" / "Cargo.toml"],
                              env=rust_env(), capture_output=True, text=True, timeout=BUILD_S, check=False)
    assert done.returncode == 0, f"cargo ended with {done.returncode}:\n{done.stderr[-4000:]}"


def rust_build(example):
    """The path of an example program of the Rust SDK."""
    rust_compile("build", "--examples")
    return ROOT / "build" / "rust" / "debug" / "examples" / example


def go():
    """go, on the path or where its own archive puts it."""
    found = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    assert found, "no go: ./dev test installs it"
    version = subprocess.run([found, "env", "GOVERSION"], capture_output=True, text=True, check=True).stdout.strip().removeprefix("go")
    assert tuple(map(int, version.split(".")[:2])) >= GO_MIN, f"{found} is {version}, the Go SDK needs 1.19: Debian 12 has it as golang-go"
    return found


def go_env():
    """The module needs no other, so that nothing is fetched; and what is compiled once stays below build/."""
    return {**os.environ, "GOCACHE": str(ROOT / "build" / "go" / "cache"), "GOPROXY": "off", "GOTOOLCHAIN": "local", "GOWORK": "off",
            "CGO_ENABLED": "0"}


def go_run(argv, cwd, **env):
    return subprocess.run([go(), *map(str, argv)], cwd=cwd, env={**go_env(), **env}, capture_output=True, text=True, timeout=BUILD_S, check=False)


def go_build(what, cwd=ROOT / "sdk" / "go"):
    """The program of a folder. Go itself knows what has changed."""
    program = ROOT / "build" / "go" / what.replace("/", "-")
    with Once("go", "one go at a time"):
        done = go_run(["build", "-o", program, f"./{what}"], cwd)
    assert done.returncode == 0, f"go ended with {done.returncode}:\n{done.stderr[-4000:]}"
    return program


def c_folder(name, *options):
    """A build folder of the C library, up to date."""
    folder = ROOT / "build" / name
    with Once(name, "one ninja at a time"):
        if not (folder / "build.ninja").exists():
            shutil.rmtree(folder, ignore_errors=True)
            run(["meson", "setup", folder, ROOT / "sdk" / "c", "-Dwerror=true", *options])
        run(["ninja", "-C", folder])
    return folder


def c_build():
    """The folder with the C library's tests and its driver, built with sanitizers."""
    return c_folder("c", "-Db_sanitize=address,undefined", "-Db_lundef=false")


def c_install():
    """A prefix into which the C library is installed as a package would do it."""
    home = ROOT / "build" / "c-installed"
    folder = c_folder("c-plain", f"--prefix={home}", "-Dtests=false")
    with Once("c-installed", *sorted(folder.glob("libiiisandbox.*[a0]")), (ROOT / "sdk" / "c" / "include" / "iii_sandbox.h")) as needed:
        if needed:
            run(["meson", "install", "-C", folder, "--quiet", "--no-rebuild"])
    return home


def make_all():
    """Everything that tests of the SDKs compile or fetch, so that they find it ready."""
    rust_compile("build", "--examples")
    rust_compile("test", "--lib", "--tests", "--no-run")
    python_venv()
    build_typescript()
    c_build()
    c_install()
    go_build("contract")


if __name__ == "__main__":
    make_all()
