"""A guest whose first process is hostile_init.c: what a server has to expect of a kernel or an agent that was taken over."""
import os
import pathlib
import shutil
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
COMPILER = shutil.which("musl-gcc") or shutil.which("x86_64-linux-musl-gcc")
MEMORY_MB = 160  # no other machine has it, so these have a template of their own


def _header(name, mode, size):
    fields = [0, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, len(name) + 1, 0]
    head = b"070701" + b"".join(b"%08x" % value for value in fields) + name.encode() + b"\0"
    return head + bytes(-len(head) % 4)


def _archive(init):
    """What the kernel unpacks after the first archive: an /init over the one that is there."""
    return _header("init", 0o100755, len(init)) + init + bytes(-len(init) % 4) + _header("TRAILER!!!", 0, 0)


def build():
    with tempfile.TemporaryDirectory(prefix="iii-e-") as folder:
        made = pathlib.Path(folder) / "init"
        subprocess.run([COMPILER, "-static", "-Os", "-Wall", "-Werror", f"-I{ROOT / 'src'}", "-o", made, HERE / "hostile_init.c"], check=True)
        return made.read_bytes()


def plant(server):
    """From now on machines of a server that is not started yet boot into it; those restored from a template that is there do not."""
    (path,) = (server.data_dir / "vm" / "kit").glob("initramfs-*")
    first = path.read_bytes()
    fresh = path.with_name("fresh")
    fresh.write_bytes(first + bytes(-len(first) % 4) + _archive(build()))
    os.chown(fresh, path.stat().st_uid, path.stat().st_gid)
    os.replace(fresh, path)
