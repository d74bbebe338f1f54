"""Requests of a daemon that was taken over: the launcher has root, and believes no field of them. The test is the daemon: it starts
`iii --launcher` on a folder of its own and sends what src/runtime/native/wire.h has, first each attack that we could think of, then
requests with random fields about a box that lives. Nothing of the host may be read, changed, mounted, or ended."""
import os
import pathlib
import random
import re
import shutil
import socket
import struct
import subprocess
import tempfile

import pytest

import harness

pytestmark = pytest.mark.skipif(harness.BACKEND != "native" or not harness.IS_ROOT, reason="about the native backend's launcher with root")
WIRE = (harness.ROOT / "src" / "runtime" / "native" / "wire.h").read_text()
OPS = {name: number for number, name in enumerate(re.findall(r"^    WIRE_([A-Z_]+),", re.search(r"enum wire_op {(.*?)};", WIRE, re.S)[1], re.M))}
REQUEST = [("version", "I"), ("op", "I"), ("number", "Q"), ("name", "20s"), ("id", "40s"), ("hostname", "64s"), ("workdir", "1024s"), ("memory_mb", "I"),
           ("cpu_milli", "I"), ("pids_max", "I"), ("disk_mb", "I"), ("inodes", "I"), ("nofile", "I"), ("shm_mb", "I"), ("net_kbps", "I"), ("slot", "I"),
           ("start_time", "Q"), ("pid", "i"), ("extra_len", "I"), ("object", "40s"), ("address", "I"), ("prefix", "I"), ("subnet", "I"), ("is_host", "B"),
           ("is_last", "B"), ("is_paused", "B"), ("is_readonly", "B"), ("is_linked", "B"), ("is_kept", "B"), ("seccomp", "B"), ("zero", "B")]
FORM = "".join(kind for _, kind in REQUEST) + "0Q"
REPLY = "IIQiI400s20s64s64sqQiI"
CREATE = {"hostname": "box", "workdir": "/workspace", "nofile": 1024, "shm_mb": 16, "pids_max": 64, "is_host": 1}


class Daemon:
    """Our end of the launcher's socket."""

    def __init__(self, data):
        self.data, self.number = data, 0
        self.layer = data / "images" / "layers" / "empty"
        self.layer.mkdir(parents=True)
        self.start()

    def start(self):
        self.sock, end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.sock.settimeout(harness.DEADLINE_S)
        argv = [str(harness.BINARY), "--launcher", str(self.data), str(self.data / "images"), "0", "4"]
        self.process = subprocess.Popen(argv, pass_fds=[3], preexec_fn=lambda: os.dup2(end.fileno(), 3), env=harness.clean_env({}))
        end.close()
        assert self.reply()["result"] == 0

    def send(self, extra=b"", **fields):
        self.number += 1
        given = {"version": 1, "number": self.number, "extra_len": len(extra), **fields}
        given["op"] = OPS[given["op"]] if isinstance(given["op"], str) else given["op"]
        values = [given.get(name, b"" if "s" in kind else 0) for name, kind in REQUEST]
        self.sock.send(struct.pack(FORM, *(v.encode() if isinstance(v, str) else v for v in values)) + extra)
        return self.number

    def reply(self):
        data, fds, _, _ = socket.recv_fds(self.sock, 4096, 4)
        assert data, "the launcher is gone"
        version, op, number, result, code, text, name, *_, start, pid, slot = struct.unpack_from(REPLY, data)
        return {"op": op, "number": number, "result": result, "code": code, "text": text.split(b"\0")[0].decode(), "name": name.split(b"\0")[0].decode(), "fds": fds,
                "start": start, "pid": pid, "slot": slot}

    def ask(self, op, extra=b"", **fields):
        number = self.send(extra, op=op, **fields)
        while True:
            reply = self.reply()
            if reply["number"] == number:
                return reply
            close(reply)

    def create(self, extra=None, **fields):
        return self.ask("CREATE", f"{self.layer}\0".encode() if extra is None else extra, **{**CREATE, "id": "sbx_one", **fields})

    def stop(self):
        self.sock.close()
        assert self.process.wait(harness.DEADLINE_S) in (0, 1)


def close(reply):
    for fd in reply["fds"]:
        os.close(fd)


@pytest.fixture
def daemon():
    with tempfile.TemporaryDirectory(prefix="iii-l-", ignore_cleanup_errors=True) as data:
        made = Daemon(pathlib.Path(data))
        try:
            yield made
            made.ask("SWEEP", is_last=1)  # no id is to be kept
            made.stop()
            harness.wait_until(lambda: data not in pathlib.Path("/proc/self/mountinfo").read_text(), "the launcher's mounts")
        finally:
            made.process.kill()
            made.process.wait()


@pytest.fixture
def bystander():
    """A process of the host's root that nobody asked for."""
    made = subprocess.Popen(["sleep", "600"])
    yield made
    try:
        assert made.poll() is None, "it was ended"
        assert pathlib.Path(f"/proc/{made.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "S", "it stands still"
    finally:
        made.kill()
        made.wait()


def start_time(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19])


def mounts():
    """Those of the host, the launcher's and the bait's; other tests make and remove mounts of their own meanwhile."""
    ours, others = ("iii-l-", "iii-bait-"), (tempfile.gettempdir() + "/", "/run/")
    lines = (line.split(" ", 4)[4] for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines())
    return sorted(line for line in lines if not line.startswith(others) or any(name in line for name in ours))


def inside(box, path):
    return pathlib.Path(f"/proc/{box['pid']}/root") / path


def test_every_operation_is_attacked():
    assert {"CREATE", "ADOPT", "MOUNT", "PROMOTE", "VOLUME_REMOVE", "SWEEP"} <= set(OPS) and OPS["CREATE"] == 2 and len(OPS) == 24, OPS


def test_layers_outside_the_image_folder(daemon, bait):
    (daemon.data / "images" / "link").symlink_to(bait.folder)
    (daemon.data / "images" / "layers" / "link").symlink_to(bait.folder)
    (daemon.data / "images" / "layers" / "file").write_text("no folder")
    images = daemon.data / "images"
    for layer in (bait.folder, "/", "/etc", f"{images}x/y", f"{images}/..", f"{images}/../../..{bait.folder}", f"{images}/layers/../../..{bait.folder}", f"{images}/link",
                  f"{images}/link/.", f"{images}/layers/link", f"{images}/layers/file", f"{images}//proc/self/root", f"{images}/", "", "relative", f"{images}/" + "a" * 300):
        reply = daemon.create(f"{layer}\0".encode())
        assert reply["result"] < 0 and not reply["fds"], (layer, reply)
    for extra in (b"", f"{daemon.layer}".encode(), b"\0" * 4096, f"{daemon.layer}\0".encode() * 400):
        assert daemon.create(extra)["result"] < 0
    good = daemon.create()
    assert good["result"] == 0, good
    close(good)


def test_a_process_that_is_no_box_is_not_adopted(daemon, bystander):
    box = daemon.create()
    assert box["result"] == 0, box
    close(box)
    names = [box["name"], "0123456789abcdef"]
    for name in names:
        for pid in (bystander.pid, 1, daemon.process.pid, os.getpid()):
            reply = daemon.ask("ADOPT", name=name, id="sbx_one", pid=pid, start_time=start_time(pid), slot=box["slot"])
            assert reply["result"] < 0, reply
    # What the launcher believes is a link that only root can write: the name of a folder is no proof.
    assert os.readlink(daemon.data / "boxes" / box["name"] / "pid").split(":")[0] == str(box["pid"])
    for op in ("DESTROY", "PAUSE", "HALT", "RENAME", "CAPTURE", "PROMOTE", "LIMITS", "MEASURE", "EGRESS_REDIRECT"):
        reply = daemon.ask(op, name=names[1], **({"id": "sbx_none"} if op == "HALT" else {}), **({"hostname": "x"} if op == "RENAME" else {}))
        assert reply["result"] < 0 or op == "DESTROY", (op, reply)


def test_volumes_lead_nowhere(daemon, bait):
    """Names that are links, folders that were exchanged, targets outside of the box, and files of the box in the place of disks."""
    box = daemon.create()
    close(box)
    volumes = daemon.data / "volumes"
    volumes.mkdir()
    (volumes / "vol_link").symlink_to(bait.folder)
    (volumes / "vol_disk.img").symlink_to(bait.file)
    for target in ("/data", "/../../data", "/proc/1/root/data", "/proc/self/cwd", "/dev/null", "/proc", "/sys", "/", "/data/" + "a" * 300, "/" + "a/" * 400):
        for volume in ("vol_link", "vol_disk"):
            for disk in (0, 16):
                reply = daemon.ask("MOUNT", name=box["name"], object=volume, workdir=target, disk_mb=disk)
                assert reply["result"] < 0 or (volume == "vol_disk" and not inside(box, "data/secret").exists()), (volume, target, reply)
                assert bait.secret not in pathlib.Path(f"/proc/{box['pid']}/mountinfo").read_text()
                daemon.ask("UNMOUNT", name=box["name"], object=volume, workdir=target)
    for place in ("/proc", "/sys", "/dev", "/dev/null", "/", "/usr"):
        before = pathlib.Path(f"/proc/{box['pid']}/mountinfo").read_text()
        assert daemon.ask("MOUNT", name=box["name"], object="vol_good", workdir=place, disk_mb=16)["result"] < 0, place
        daemon.ask("UNMOUNT", name=box["name"], object="vol_good", workdir=place)
        assert pathlib.Path(f"/proc/{box['pid']}/mountinfo").read_text() == before, place
    for volume in ("vol_link", "vol_disk", "vol_good", "vol_none"):
        daemon.ask("VOLUME_REMOVE", object=volume)
        assert daemon.ask("VOLUME_MEASURE", object=volume)["result"] <= 0
    bait.assert_same()
    shutil.rmtree(volumes)
    volumes.symlink_to(bait.folder)
    for op, more in (("MOUNT", {"name": box["name"], "workdir": "/data"}), ("VOLUME_REMOVE", {}), ("VOLUME_MEASURE", {})):
        reply = daemon.ask(op, object="secret", **more)
        assert reply["result"] < 0 or op == "VOLUME_MEASURE", (op, reply)
    bait.assert_same()


def test_a_promoted_layer_has_only_layers_below_it(daemon, bait):
    """What a box wrote becomes a layer: with other layers than those of the store below it the box would see the host."""
    box = daemon.create()
    close(box)
    for extra in (f"{bait.folder}\0", f"{daemon.data}/images/../..{bait.folder}\0", "/\0", f"{daemon.layer}\0/etc\0"):
        reply = daemon.ask("PROMOTE", extra.encode(), name=box["name"])
        assert not inside(box, "secret").exists() and not inside(box, "passwd").exists(), (extra, reply)
        assert not inside(box, bait.file.relative_to("/")).exists()
    assert daemon.ask("GROW", name=box["name"], disk_mb=64, inodes=1024)["result"] < 0, "a box without a disk of its own"


def test_what_is_no_request(daemon, bystander):
    """Wrong versions, operations, lengths and texts: refused, and the next is served."""
    size = struct.calcsize(FORM)
    for data in (b"\xff" * size, os.urandom(size), b"\0" * size):
        daemon.sock.send(data)
        assert daemon.reply()["result"] < 0
    for fields in ({"op": 0}, {"op": 1}, {"op": 99}, {"op": 2**32 - 1}, {"op": "PAUSE", "version": 2}, {"op": "PAUSE", "name": "../../../../etc"}, {"op": "PAUSE", "name": "a" * 20},
                   {"op": "DESTROY", "name": "boxes/../../x"}, {"op": "CREATE", **CREATE, "id": "../x"}, {"op": "CREATE", **CREATE, "id": "a", "workdir": "x" * 1024},
                   {"op": "CREATE", **CREATE, "id": "a", "hostname": "h" * 64}, {"op": "CREATE", **CREATE, "id": "a", "seccomp": 200}, {"op": "ADOPT", "id": "a", "pid": 1},
                   {"op": "MOUNT", "name": "0123456789abcdef", "object": "../x", "workdir": "/x"}, {"op": "NET_MAKE", "object": "a/b"}, {"op": "SWEEP", "extra_len": 5}):
        assert daemon.ask(**fields)["result"] < 0, fields
    good = daemon.create()
    assert good["result"] == 0, good
    close(good)


@pytest.mark.parametrize("how", ["short", "long", "descriptors"])
def test_messages_of_no_form_end_it(how, daemon, bystander):
    """It leaves, and the next launcher adopts the boxes: they go on."""
    box = daemon.create()
    close(box)
    size = struct.calcsize(FORM)
    with open("/dev/null", "rb") as null:
        if how == "descriptors":
            socket.send_fds(daemon.sock, [b"\0" * size], [null.fileno()] * 4)
        else:
            daemon.sock.send(b"\0" * (size - 1 if how == "short" else size + 70000))
    assert daemon.process.wait(harness.DEADLINE_S) in (0, 1)
    assert inside(box, "workspace").exists()
    daemon.sock.close()
    daemon.start()
    again = daemon.ask("ADOPT", name=box["name"], id="sbx_one", pid=box["pid"], start_time=box["start"], slot=box["slot"])
    assert again["result"] == 0, again
    close(again)


SEED = int(os.environ.get("III_ESCAPE_SEED") or 20)


def test_random_requests_about_a_box_that_lives(daemon, bait, bystander):
    """Fields from a small pool, so that most requests pass the checks of their form and reach what carries them out."""
    rng = random.Random(SEED)
    box, before = daemon.create(), mounts()
    close(box)
    texts = {"name": [box["name"], "0123456789abcdef", "", "..", "a" * 19], "id": ["sbx_one", "sbx_two", "", "../x"], "hostname": ["h", "", "h" * 63, "a\nb", "/x"],
             "workdir": ["/data", "/", "/proc/1/root", f"/..{bait.folder}", str(bait.folder), "/dev/null", "relative", ""], "object": ["vol_a", "net_a", "", "..", "a/b"]}
    pids = [bystander.pid, 1, 0, -1, os.getpid(), box["pid"]]
    extras = [b"", f"{daemon.layer}\0".encode(), f"{bait.folder}\0".encode(), b"sbx_one\0", b"unterminated"]
    ops = [op for op in OPS if op not in ("HANDSHAKE", "OVERUSE", "OPS")]
    for turn in range(100 if harness.IS_SANITIZED else 300):
        op = rng.choice(ops)
        fields = {name: rng.choice(pool) if rng.random() < 0.7 else pool[0] for name, pool in texts.items() if rng.random() < 0.6 or name == "name"}
        fields |= {name: rng.choice([0, 1, 16, 64, 2**31, 2**32 - 1]) for name in ("memory_mb", "cpu_milli", "pids_max", "disk_mb", "inodes", "net_kbps", "slot", "address",
                                                                                  "prefix", "subnet") if rng.random() < 0.15}
        fields |= {name: rng.choice([0, 1, 255]) for name in ("is_last", "is_paused", "is_readonly", "is_linked", "is_kept", "is_host", "seccomp") if rng.random() < 0.15}
        fields |= {"pid": rng.choice(pids), "start_time": rng.choice([0, start_time(bystander.pid), box["start"]])} if op == "ADOPT" else {}
        fields |= {k: v for k, v in CREATE.items() if k not in fields} | {"name": "", "is_kept": 0} if op == "CREATE" else {}
        reply = daemon.ask(op, rng.choice(extras) if rng.random() < 0.3 or op == "CREATE" else b"", **fields)
        close(reply)
        if not pathlib.Path(f"/proc/{box['pid']}/ns").exists() or turn % 50 == 49:
            daemon.ask("SWEEP", is_last=1)
            box = daemon.create()
            assert box["result"] == 0, (turn, box)
            texts["name"][0] = box["name"]
            pids[-1] = box["pid"]
            close(box)
        assert bystander.poll() is None, (turn, op, fields)
        assert not inside(box, "secret").exists(), (turn, op, fields)
    bait.assert_same()
    assert mounts() == before, "all its mounts are in a table of its own"
