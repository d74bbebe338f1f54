#!/usr/bin/env python3
"""Everything that is released, into build/dist: a Debian package, a relocatable archive, archives of the client libraries, checksums.

The binary is stripped here. Times inside the archives are those of the last commit, so that the same tree gives the same bytes."""
import gzip
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

import devargs

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGING = ROOT / "packaging"
NAME = "iii-sandbox"
# What each kind's archives are called: a new one replaces those of an earlier version.
KINDS = {"deb": f"{NAME}_*.deb", "tarball": f"{NAME}-*-linux-*.tar.gz", "npm": "*.tgz", "wheel": "*.whl", "crate": "*.crate", "c": "libiiisandbox-*.tar.gz",
         "go": f"{NAME}-go-*.tar.gz"}
WITH_SERVER = ("deb", "tarball")  # the others hold client libraries alone
# Parts of the C library: they come with the host, whose kernel and name service they must fit.
HOST_LIBRARIES = re.compile(r"^(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util|nss_\w+|anl))\.so")
SHELLS = {"bash": "bash-completion/completions/{}", "zsh": "zsh/vendor-completions/_{}", "fish": "fish/vendor_completions.d/{}.fish"}


def run(argv, cwd=ROOT, **kw):
    done = subprocess.run([str(a) for a in argv], cwd=cwd, capture_output=True, text=True, check=False, **kw)
    if done.returncode != 0:
        sys.exit(f"dist: {' '.join(map(str, argv))} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def version():
    return re.search(r"^project\('iii-sandbox'.*?version: '([^']+)'", (ROOT / "meson.build").read_text(), re.M | re.S)[1]


def commit_time():
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    done = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False)
    return int(done.stdout or 0) if done.returncode == 0 else 0  # an unpacked archive of the tree has no history


def write(path, text, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(text, bytes):
        path.write_bytes(text)
    else:
        path.write_text(text)
    path.chmod(mode)


# --- what both packages hold ---

def put_programs(root, binary, man_suffix=""):
    """bin/, share/man and the completions, below root."""
    programs = root / "bin"
    programs.mkdir(parents=True)
    shutil.copyfile(binary, programs / "iii")
    (programs / "iii").chmod(0o755)
    run(["strip", programs / "iii"])
    (programs / NAME).symlink_to("iii")
    man = root / "share" / "man" / "man1"
    man.mkdir(parents=True)
    for program in ("iii", NAME):
        run([programs / program, "man", man])
        for shell, place in SHELLS.items():
            write(root / "share" / place.format(program), run([programs / program, "completion", shell]))
    if man_suffix:
        for page in list(man.iterdir()):
            write(page.with_name(page.name + man_suffix), gzip.compress(page.read_bytes(), 9, mtime=0))
            page.unlink()


def set_times(root, when):
    for path in [*root.rglob("*"), root]:
        os.utime(path, (when, when), follow_symlinks=False)


def loaded_later():
    """The libraries that the binary loads by dlopen() (src/os/library.h): neither ldd nor dpkg-shlibdeps knows about them."""
    return sorted(name for path in (ROOT / "src").rglob("*.c") for name in re.findall(r'struct library \w+ = \{ \.file = "([^"]+)"', path.read_text()))


# --- the relocatable archive ---

def libraries_of(binary):
    """The shared libraries that our binary loads, at once or later, without those of the C library: [(name, path)]."""
    known = dict(re.findall(r"^\s*(\S+) .*=> (/\S+)$", run(["/sbin/ldconfig", "-p"]), re.M)[::-1])  # the first of a name counts
    found = {name: known[name] for name in loaded_later()}
    for program in [binary, *found.values()]:
        found.update(re.findall(r"^\s*(\S+) => (/\S+) ", run(["ldd", program]), re.M))
    return [(name, path) for name, path in sorted(found.items()) if not HOST_LIBRARIES.match(name)]


def tarball(out, binary, when):
    """bin/iii finds the libraries beside it in lib/, wherever the folder is put."""
    machine = os.uname().machine
    stem = f"{NAME}-{version()}-linux-{machine}"
    with tempfile.TemporaryDirectory() as place:
        root = pathlib.Path(place) / stem
        put_programs(root, binary)
        for name, path in libraries_of(binary):
            write(root / "lib" / name, pathlib.Path(path).resolve().read_bytes())
        run(["patchelf", "--force-rpath", "--set-rpath", "$ORIGIN/../lib", root / "bin" / "iii"])
        for name in ("LICENSE", "README.md", "docs/configuration.md"):
            write(root / "share" / "doc" / NAME / pathlib.Path(name).name, (ROOT / name).read_bytes())
        write(root / "etc" / "config.yaml", (PACKAGING / "config.yaml").read_text().replace("\ndata_dir: /var/lib/iii-sandbox\n", ""))
        set_times(root, when)
        pack(root, out / f"{stem}.tar.gz", when)
    return [out / f"{stem}.tar.gz"]


def pack(root, archive, when):
    """An archive of the folder, everything in it root's."""
    with open(archive, "wb") as raw, gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=when, compresslevel=6) as packed, \
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in [root, *sorted(root.rglob("*"))]:
            tar.add(path, path.relative_to(root.parent), recursive=False, filter=as_root)


def as_root(entry):
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    return entry


# --- the Debian package ---

def dependencies(binary):
    """What dpkg knows about the libraries that the binary needs, at once or later."""
    later = [run(["dpkg-query", "-S", f"*/{name}"]).split(":")[0] for name in loaded_later()]
    with tempfile.TemporaryDirectory() as place:
        write(pathlib.Path(place) / "debian" / "control", f"Source: {NAME}\n\nPackage: {NAME}\nArchitecture: any\n")
        text = run(["dpkg-shlibdeps", "-O", "--ignore-missing-info", binary], cwd=place)
    return ", ".join([*later, re.search(r"^shlibs:Depends=(.*)$", text, re.M)[1]])


def control(root, arch):
    size = sum(p.stat().st_size for p in root.rglob("*") if p.is_file() and not p.is_symlink()) // 1024
    return (f"Package: {NAME}\nVersion: {version()}\nArchitecture: {arch}\nSection: admin\nPriority: optional\n"
            f"Maintainer: iii-sandbox <packages@iii-sandbox.invalid>\nInstalled-Size: {size}\n"
            f"Depends: adduser, {dependencies(root / 'usr' / 'bin' / 'iii')}\n"
            "Recommends: ca-certificates, uidmap\n"
            "Suggests: qemu-system-x86, erofs-utils, e2fsprogs\n"
            "Description: sandboxes for untrusted code\n"
            " A server that starts isolated sandboxes in milliseconds, runs commands and code\n"
            " in them, and its command line. REST on port 3111, functions over WebSocket on\n"
            " port 49134, both on the loopback address unless configured otherwise.\n")


COPYRIGHT = ("Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: iii-sandbox\n\nFiles: *\n"
             "Copyright: the authors of iii-sandbox\nLicense: Apache-2.0\n On Debian systems the full text of this license is in\n"
             " /usr/share/common-licenses/Apache-2.0.\n")


def put_debian_files(root):
    documents = root / "usr" / "share" / "doc" / NAME
    write(root / "lib" / "systemd" / "system" / "iii-sandbox.service", (PACKAGING / "iii-sandbox.service").read_text())
    write(root / "etc" / "iii-sandbox" / "config.yaml", (PACKAGING / "config.yaml").read_text(), 0o640)
    write(documents / "copyright", COPYRIGHT)
    write(documents / "changelog.gz", gzip.compress(f"{NAME} ({version()}) unstable; urgency=medium\n".encode(), 9, mtime=0))
    for name in ("README.md", "docs/configuration.md"):
        write(documents / pathlib.Path(name).name, (ROOT / name).read_bytes())


def put_control(root, arch):
    place = root / "DEBIAN"
    sums = "".join(f"{hashlib.md5(p.read_bytes()).hexdigest()}  {p.relative_to(root)}\n"
                   for p in sorted(root.rglob("*")) if p.is_file() and not p.is_symlink() and "etc" not in p.relative_to(root).parts[:1])
    write(place / "control", control(root, arch))
    write(place / "md5sums", sums)
    write(place / "conffiles", "/etc/iii-sandbox/config.yaml\n")
    for script in ("postinst", "prerm", "postrm"):
        write(place / script, (PACKAGING / "deb" / script).read_text(), 0o755)


def deb(out, binary, when):
    arch = run(["dpkg", "--print-architecture"]).strip()
    with tempfile.TemporaryDirectory() as place:
        root = pathlib.Path(place) / "root"
        put_programs(root / "usr", binary, ".gz")
        put_debian_files(root)
        put_control(root, arch)
        for path in [root, *(p for p in root.rglob("*") if p.is_dir())]:
            path.chmod(0o755)
        set_times(root, when)
        package = out / f"{NAME}_{version()}_{arch}.deb"
        run(["dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, package], env={**os.environ, "SOURCE_DATE_EPOCH": str(when)})
    return [package]


# --- client libraries ---

def npm(out, _binary, _when):
    made = []
    for package in sorted(ROOT.glob("sdk/*/package.json")):
        home = package.parent
        if '"prepack"' in package.read_text() and not (home / "node_modules").exists():
            run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", "--no-package-lock"], cwd=home)
        made.append(out / run(["npm", "pack", "--silent", "--pack-destination", out], cwd=home).strip().splitlines()[-1])
    return made


def wheel(out, _binary, when):
    with tempfile.TemporaryDirectory() as place:
        copy = pathlib.Path(place) / "python"
        shutil.copytree(ROOT / "sdk" / "python", copy, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
        venv = pathlib.Path(place) / "venv"
        run([sys.executable, "-m", "venv", venv])
        run([venv / "bin" / "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps", "--wheel-dir", place, copy],
            env={**os.environ, "SOURCE_DATE_EPOCH": str(max(when, 315532800))})  # zip knows no time before 1980
        return [pathlib.Path(shutil.copy(found, out)) for found in pathlib.Path(place).glob("*.whl")]


def crate(out, _binary, _when):
    cargo = shutil.which("cargo") or str(pathlib.Path.home() / ".cargo" / "bin" / "cargo")
    target = ROOT / "build" / "rust"
    run([cargo, "package", "--quiet", "--no-verify", "--allow-dirty", "--manifest-path", ROOT / "sdk" / "rust" / "Cargo.toml"],
        env={**os.environ, "CARGO_TARGET_DIR": str(target)})
    return [pathlib.Path(shutil.copy(max((target / "package").glob("*.crate"), key=lambda p: p.stat().st_mtime), out))]


def sources(out, when, language, stem):
    with tempfile.TemporaryDirectory() as place:
        root = pathlib.Path(place) / stem
        shutil.copytree(ROOT / "sdk" / language, root, ignore=shutil.ignore_patterns("build"))
        write(root / "LICENSE", (ROOT / "LICENSE").read_bytes())
        for path in [root, *root.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
        set_times(root, when)
        pack(root, out / f"{stem}.tar.gz", when)
    return [out / f"{stem}.tar.gz"]


def c(out, _binary, when):
    """Sources: a C library is built for the system that it is used on."""
    return sources(out, when, "c", f"libiiisandbox-{version()}")


def go(out, _binary, when):
    """Sources, as Go has no other packages: a module for the replace line of a go.mod."""
    return sources(out, when, "go", f"{NAME}-go-{version()}")


def checksums(out):
    files = sorted(p for p in out.iterdir() if p.is_file() and p.name != "SHA256SUMS")
    write(out / "SHA256SUMS", "".join(f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.name}\n" for p in files))


def parser():
    found = devargs.Parser("dist", "Build what is released into build/dist, with SHA256SUMS: Debian package, relocatable archive, client libraries.",
                           "./dev dist", "./dev dist --only deb,tarball", "./dev dist --only wheel --out /tmp/wheel")
    found.add_list("--only", KINDS, "kind", help="default: all of them; packages of other kinds stay where they are")
    found.add_argument("--binary", type=pathlib.Path, default=ROOT / "build" / "iii", metavar="FILE", help="server to pack (default: build/iii, built first)")
    found.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "dist", metavar="FOLDER", help="default: build/dist")
    return found


def main():
    args = parser().parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    out, binary, when = args.out.resolve(), args.binary.resolve(), commit_time()
    os.umask(0o022)
    for kind in args.only:
        for old in out.glob(KINDS[kind]):
            old.unlink()
        for made in globals()[kind](out, binary, when):
            print(made.relative_to(out), flush=True)
    checksums(out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
