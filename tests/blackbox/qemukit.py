"""What servers on the QEMU backend are given before they start: a kernel, images made of this machine's programs, and a template, so that
no test waits for a boot. Made once for each binary, below build/; every data folder gets a copy of its own."""
import atexit
import fcntl
import functools
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import dockerkit

STORE = pathlib.Path(__file__).resolve().parent.parent.parent / "build" / "qemu-kit"
FORMAT = "4"  # of what is kept there
PROGRAMS = {"qemu-system-x86_64": "qemu-system-x86", "mkfs.erofs": "erofs-utils", "mkfs.ext4": "e2fsprogs"}
MAKE_S = 600


def lacks():
    """Why these tests cannot run here; None when they can."""
    missing = [package for program, package in PROGRAMS.items() if not shutil.which(program, path="/usr/sbin:/usr/bin:/sbin:/bin")]
    return "needs root" if os.geteuid() else f"not installed: {', '.join(missing)}" if missing else None


def _copy(source, target):
    """A file of its own, holes and owner kept."""
    subprocess.run(["cp", "-a", "--sparse=always", source, target], check=True)


def _place(source, target):
    """The same file under a second name where that is possible; nobody writes to what is placed so."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        st = os.lstat(source)
        if st.st_blocks * 512 < st.st_size:  # with holes
            _copy(source, target)
        else:  # a program for each of so many would take a minute
            shutil.copy2(source, target, follow_symlinks=False)
            os.chown(target, st.st_uid, st.st_gid, follow_symlinks=False)
    return target


def _tree(source, target):
    """A copy of a tree whose files are the same ones, with owners and modes of its folders."""
    shutil.copytree(source, target, symlinks=True, copy_function=_place)
    for folder, _, _ in os.walk(source):
        st = os.lstat(folder)
        os.chown(pathlib.Path(target, os.path.relpath(folder, source)), st.st_uid, st.st_gid)


def _template(source, target):
    target.mkdir(mode=0o700)
    for name in ("ram", "state", "disk", "meta.json"):
        _copy(source / name, target / name)
    os.chown(target, source.stat().st_uid, source.stat().st_gid)


def _seal(template):
    """A template is used only as long as its memory was not written to since: a copy is sealed anew."""
    meta = json.loads((template / "meta.json").read_text())
    meta["ramChanged"] = os.stat(template / "ram").st_ctime_ns
    (template / "meta.json").write_text(json.dumps(meta))


def _records(source, target):
    """An image store without what is under way or belongs to a server."""
    target.mkdir(parents=True)
    _tree(source / "layers", target / "layers")
    shutil.copytree(source / "images", target / "images")


def _fill(source, data_dir, user=None):
    """Makes a data folder out of the kept one. user: whose it is, with all its files; None: as they are."""
    data_dir.mkdir(mode=0o700, parents=True)
    _records(source / "images", data_dir / "images")
    (data_dir / "vm" / "templates").mkdir(parents=True)
    for name in ("kit", "bases"):
        if (source / "vm" / name).exists():
            _tree(source / "vm" / name, data_dir / "vm" / name)
    for template in (source / "vm" / "templates").glob("*-*"):
        _template(template, data_dir / "vm" / "templates" / template.name)
    if user is not None:
        subprocess.run(["cp", "-a", "--sparse=always", data_dir, f"{data_dir}.own"], check=True)  # the same files are those of other folders
        shutil.rmtree(data_dir)
        os.rename(f"{data_dir}.own", data_dir)
        subprocess.run(["chown", "-R", f"{user}:{user}", data_dir], check=True)
    for template in (data_dir / "vm" / "templates").iterdir():
        _seal(template)


def _run(binary, *args):
    done = subprocess.run([str(binary), *map(str, args)], capture_output=True, text=True, timeout=MAKE_S, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, args))}: {done.stdout}{done.stderr}"


def _import(binary, data_dir, name, rootfs):
    with tempfile.NamedTemporaryFile(suffix=".tar") as tar:
        tar.write(rootfs)
        tar.flush()
        _run(binary, "image", "import", tar.name, name, "--data-dir", data_dir)


def _tag(data_dir, name, other):
    """A second name of an image without a second import, which takes seconds."""
    folder = data_dir / "images" / "images"

    def file_of(bare):
        canonical = f"docker.io/library/{bare}" + ("" if ":" in bare else ":latest")
        return folder / f"{hashlib.sha256(canonical.encode()).hexdigest()}.json"

    file_of(other).write_text(json.dumps({**json.loads(file_of(name).read_text()), "name": other}))


def _make(binary, start_server, target):
    """The kept folder, out of the data folder of a server that made one sandbox."""
    with tempfile.TemporaryDirectory(prefix="iii-t-") as home:
        os.chmod(home, 0o711)  # the server is a user of its own
        data_dir = pathlib.Path(home) / "data"
        data_dir.mkdir()
        _run(binary, "vm", "setup", "--data-dir", data_dir)
        _import(binary, data_dir, dockerkit.IMAGE, dockerkit.rootfs())
        for name in dockerkit.NAMES:
            _tag(data_dir, dockerkit.IMAGE, name)
        _import(binary, data_dir, "node", dockerkit.node_rootfs())
        start_server(data_dir)
        _fill(data_dir, target)


@functools.lru_cache(maxsize=1)
def firecracker():
    """A program that stands where firecracker would, with QEMU behind its API (tests/vmm/fcqemu.py)."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "vmm"))
    import fcprogram
    import fcqemu
    folder = tempfile.mkdtemp(prefix="iii-t-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.chmod(folder, 0o711)
    return fcprogram.build(pathlib.Path(folder) / "firecracker", None, where="fcqemu", FCQEMU_WORDS=fcqemu.emulated())


def _mark(binary):
    return FORMAT + hashlib.sha256(binary.read_bytes()).hexdigest()


def fill(data_dir, binary, start_server, user=None):
    """Makes data_dir ready for a server of that user. start_server(folder): runs one that makes a sandbox of the first image, and ends it."""
    STORE.mkdir(parents=True, exist_ok=True)
    with open(STORE / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # other workers wait for the first
        kept, mark = STORE / "data", STORE / "mark"
        if not mark.exists() or mark.read_text() != _mark(binary):
            mark.unlink(missing_ok=True)
            shutil.rmtree(kept, ignore_errors=True)
            _make(binary, start_server, kept)
            mark.write_text(_mark(binary))
        _fill(kept, pathlib.Path(data_dir), user)
