"""Hostile images (checklist 3): links where the runtime mounts and writes, devices, set-uid files."""
import os
import pathlib
import tarfile

import pytest

import harness
import images

PLACES = ["dev", "proc", "sys", "etc", "tmp", "workspace", "root", "home", "usr"]
DEEP_PLACES = ["etc/hosts", "etc/hostname", "etc/resolv.conf", "etc/passwd", "dev/null", "dev/pts", "dev/shm", "dev/console", "workspace/deep"]
KINDS = {
    "absolute": lambda bait, name: str(bait.folder),
    "absolute file": lambda bait, name: str(bait.file),
    "relative": lambda bait, name: "../" * 40 + str(bait.folder).lstrip("/"),
    "dangling": lambda bait, name: str(bait.folder / "nothing-here"),
    "looping": lambda bait, name: pathlib.PurePath(name).name,
    "magic root": lambda bait, name: f"/proc/1/root{bait.folder}",
    "magic cwd": lambda bait, name: "/proc/self/cwd/../../../..",
    "magic fd": lambda bait, name: "/proc/self/fd/3",
}
IN_MACHINE = harness.BACKEND == "qemu"
if IN_MACHINE:  # every image is a boot; inside, a link of any kind leads to the guest's own files
    KINDS = {kind: KINDS[kind] for kind in ("absolute", "relative", "magic root")}
    ALONE = ["dev", "etc", "workspace", "etc/hosts", "dev/null"]
else:
    ALONE = PLACES + DEEP_PLACES


@pytest.fixture(scope="module")
def sh(tmp_path_factory):
    return images.program(tmp_path_factory.mktemp("program"))


def trap(sh, bait, kind, places):
    """An image in which every one of the places is a link."""
    entries = [images.folder("bin"), images.entry("bin/sh", sh, mode=0o755)]
    for parent in sorted({p.split("/")[0] for p in places if "/" in p}):
        entries.append(images.folder(parent))
    for place in places:
        entries.append(images.entry(place, kind=tarfile.SYMTYPE, link=KINDS[kind](bait, place)))
    return images.pack(entries)


def play(server, data, name, bait, **fields):
    """Imports the image as the server's user and makes a sandbox of it; True when there was one."""
    path = server.home / "image.tar"
    path.write_bytes(data)
    path.chmod(0o644)
    done = harness.run_cli("image", "import", path, name, env={"III_DATA_DIR": server.data_dir, "HOME": server.home}, user=server.user)
    assert done.returncode in (0, 1), done.stderr
    if done.returncode:
        return False
    client = server.client()
    reply = client.post("/sandboxes", {"image": name, **fields})
    assert reply.status in (200, 201, 400, 409, 422, 500, *((502,) if IN_MACHINE else ())), reply  # 502: what its agent met inside
    if reply.status >= 300:
        assert reply.error and bait.secret not in reply.error
        return False
    sid = reply.json()["id"]
    for path in ("hosts", "secret", "etc/hosts", "etc/hostname", "etc/resolv.conf", "dev/null", "workspace/secret", "root/secret", "home/secret"):
        said = client.post(f"/sandboxes/{sid}/exec", {"command": ["/bin/sh", "-c", f"say /{path}"]})
        assert bait.secret not in said.body.decode(), path
    client.post(f"/sandboxes/{sid}/files/write", {"path": "f", "content": "written"})
    client.post(f"/sandboxes/{sid}/files/write", {"path": "deep/f", "content": "written"})
    assert client.delete(f"/sandboxes/{sid}").status == 200
    return True


def test_links_where_the_runtime_mounts_and_writes(any_server, sh, bait):
    made = 0
    for number, kind in enumerate(KINDS):
        made += play(any_server, trap(sh, bait, kind, PLACES), f"trap{number}", bait)
        bait.assert_same()
        made += play(any_server, trap(sh, bait, kind, DEEP_PLACES), f"deep{number}", bait)
        bait.assert_same()
    # Most are covered by folders of our own, so that the image works; a machine refuses to boot where /dev or /proc is a link.
    assert made >= (1 if IN_MACHINE else len(KINDS))


def test_each_place_alone(any_server, sh, bait):
    for number, place in enumerate(ALONE):
        play(any_server, trap(sh, bait, "absolute", [place]), f"one{number}", bait)
        bait.assert_same()


def test_a_working_folder_behind_links(any_server, sh, bait):
    """Links are followed inside the image only; where they lead out there is nothing."""
    for number, kind in enumerate(KINDS):
        play(any_server, trap(sh, bait, kind, ["srv"]), f"work{number}", bait, workdir="/srv/deep/er")
        bait.assert_same()


def test_devices_and_set_uid_files_count_nothing(any_server, sh, bait):
    memory = tarfile.TarInfo("memory")
    memory.type, memory.devmajor, memory.devminor, memory.mode = tarfile.CHRTYPE, 1, 1, 0o666
    disk = tarfile.TarInfo("disk")
    disk.type, disk.devmajor, disk.devminor, disk.mode = tarfile.BLKTYPE, 254, 0, 0o666
    data = images.pack([*images.base_entries(sh), (memory, b""), (disk, b""), images.entry("bin/gain", sh, mode=0o6755)])
    assert play(any_server, data, "devices", bait)
    store = pathlib.Path(any_server.data_dir) / "images"
    found = [p for p in store.rglob("*") if p.name in ("memory", "disk") and (p.is_char_device() or p.is_block_device())]
    assert not found
    assert os.stat(any_server.data_dir).st_mode & 0o007 == 0  # who is not of the server's group does not even get to the set-uid file
