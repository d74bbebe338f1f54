"""sandbox::fs::*: every function, every code, channels in both directions."""
import base64
import os

import pytest

import engineclient
import harness
from fnclient import Functions, fn, sb  # noqa: F401


@pytest.fixture
def fs(fn, sb):
    def call(name, **fields):
        return fn.call("fs::" + name, sandbox_id=sb, **fields)

    def fault(name, code, **fields):
        return fn.fault("fs::" + name, code, sandbox_id=sb, **fields)

    def sh(script):
        answer = fn.call("exec", sandbox_id=sb, argv=["sh", "-c", script])
        assert answer["success"], answer
        return answer["stdout"]

    call.fault, call.sh, call.fn, call.sb = fault, sh, fn, sb
    return call


def test_write_and_read_text(fs):
    assert fs("write", path="/a.txt", content="hé\n") == {"bytes_written": 4, "path": "/a.txt"}
    answer = fs("read", path="/a.txt")
    assert (answer["body"], answer["size"], answer["mode"]) == ("hé\n", 4, "0644")
    assert answer["content"]["direction"] == "read" and isinstance(answer["mtime"], int)
    assert fs.fn.read_channel(answer["content"]) == ("hé\n".encode(), [])


@pytest.mark.parametrize("size", [0, 1, 65536, 1048575, 1048576, 3 << 20])
def test_bytes_by_base64_and_channel_come_back_the_same(fs, size):
    data = os.urandom(size)
    fs("write", path="/by64", content_b64=base64.b64encode(data).decode())
    answer = fs("read", path="/by64")
    assert answer["size"] == size and ("body" in answer) == (size == 0 or size == 1 and data[0] < 128)
    assert fs.fn.read_channel(answer["content"]) == (data, [])
    pair = fs.fn.worker.channel()
    asked = fs.fn.ask("fs::write", sandbox_id=fs.sb, path="/bychannel", content=pair["reader"])
    end = engineclient.open_channel(fs.fn.port, pair["writer"])
    for at in range(0, size, 40000):
        end.send(data[at:at + 40000])
    end.send("text frames are not data")
    end.close()
    assert fs.fn.answer(asked) == {"bytes_written": size, "path": "/bychannel"}
    assert fs.fn.read_channel(fs("read", path="/bychannel")["content"]) == (data, [])


def test_text_below_the_limit_has_a_body(fs):
    fs("write", path="/big", content="é" * 524287)
    assert len(fs("read", path="/big")["body"]) == 524287
    fs("write", path="/big", content="é" * 524288)
    assert "body" not in fs("read", path="/big")


def test_64_mib_each_way(fs):
    block = os.urandom(1 << 16)
    pair = fs.fn.worker.channel()
    asked = fs.fn.ask("fs::write", sandbox_id=fs.sb, path="/large", content=pair["reader"])
    end = engineclient.open_channel(fs.fn.port, pair["writer"])
    for _ in range(1024):
        end.send(block)
    end.close()
    assert fs.fn.answer(asked)["bytes_written"] == 64 << 20
    data, texts = fs.fn.read_channel(fs("read", path="/large")["content"])
    assert data == block * 1024 and texts == []


def test_a_reference_without_direction_is_taken(fs):
    pair = fs.fn.worker.channel()
    ref = {k: v for k, v in pair["reader"].items() if k != "direction"}
    asked = fs.fn.ask("fs::write", sandbox_id=fs.sb, path="/x", content=ref)
    end = engineclient.open_channel(fs.fn.port, pair["writer"])
    end.send(b"abc")
    end.close()
    assert fs.fn.answer(asked)["bytes_written"] == 3


def test_a_writer_that_vanishes_leaves_the_old_file(fs):
    fs("write", path="/x", content="old")
    pair = fs.fn.worker.channel()
    asked = fs.fn.ask("fs::write", sandbox_id=fs.sb, path="/x", content=pair["reader"])
    end = engineclient.open_channel(fs.fn.port, pair["writer"])
    end.send(b"new")
    end.cut()
    fs.fn.fault_of(asked, "S218")
    assert fs("read", path="/x")["body"] == "old"
    assert [e["name"] for e in fs("ls", path="/")["entries"] if "iii" in e["name"] and not e["is_dir"]] == []


def test_a_writer_that_stalls_or_was_never_there(fs):
    pair = fs.fn.worker.channel()
    stalled = fs.fn.ask("fs::write", sandbox_id=fs.sb, path="/x", content=pair["reader"])
    assert "5 s" in fs.fn.fault_of(stalled, "S218")["message"]
    fs.fault("write", "S218", path="/x", content={"channel_id": "no", "access_key": "such"})


def test_a_reader_that_leaves_costs_nothing(fs):
    fs.sh("head -c 8000000 /dev/zero >/zeros")
    answer = fs("read", path="/zeros")
    end = engineclient.open_channel(fs.fn.port, answer["content"])
    end.frame()
    end.cut()
    fs("read", path="/zeros")
    assert fs("stat", path="/zeros")["size"] == 8000000


def test_write_rules(fs):
    assert "not both" in fs.fault("write", "S001", path="/x", content="", content_b64="")["message"]
    assert "missing file body" in fs.fault("write", "S001", path="/x")["message"]
    fs.fault("write", "S001", path="/x", content_b64="?")
    fs.fault("write", "S001", path="/x", content=[1])
    fs.fault("write", "S001", path="/x", content={"a": 1})
    fs.fault("write", "S001", content="x")
    fs.fault("write", "S001", path="", content="x")
    body = fs.fn.fault("fs::write", "S001", sandbox_id="nope", path="/x")
    assert "body" in body["message"], "the body is checked first of all"
    for mode in ("0o755", "rwx", "10000", "8"):
        fs.fault("write", "S210", path="/x", content="", mode=mode)
    fs.fault("write", "S212", path="/tmp", content="")
    fs.fault("write", "S212", path="/etc/passwd/x", content="")
    assert fs("write", path="relative", content=12)["bytes_written"] == 2
    assert fs("read", path="/relative")["body"] == "12"
    for mode, shown in (("", "0000"), ("0", "0000"), (644, "0644"), ("04755", "4755")):
        fs("write", path="/m", content="", mode=mode)
        assert fs("stat", path="/m")["mode"] == shown


def test_a_missing_parent_comes_with_its_fix(fs):
    request = {"path": "/no/such/file", "content": "x"}
    body = fs.fault("write", "S211", **request)
    assert body["fix"] == {"parents": True} and "merge" in body["fix_note"] and "parents: true" in body["fix_note"]
    assert "parent directory not found" in body["message"]
    assert fs("write", **{**request, **body["fix"]})["bytes_written"] == 1
    body = fs.fault("mkdir", "S211", path="/not/there")
    assert fs("mkdir", path="/not/there", **body["fix"]) == {"created": True}


def test_a_link_is_replaced_not_followed(fs):
    fs.sh("echo target >/t; ln -s /t /link")
    fs("write", path="/link", content="mine")
    assert fs("stat", path="/link")["is_symlink"] is False
    assert fs("read", path="/t")["body"] == "target\n"


def test_read_follows_links_and_refuses_the_rest(fs):
    fs.sh("echo target >/t; chmod 600 /t; ln -s /t /link; mkfifo /fifo")
    assert (fs("read", path="/link")["body"], fs("read", path="/link")["mode"]) == ("target\n", "0600")
    fs.fault("read", "S211", path="/nothing")
    fs.fault("read", "S212", path="/tmp")
    fs.fault("read", "S212", path="/fifo")


def test_ls_and_stat(fs):
    fs.sh("mkdir /d /d/sub; echo abc >/d/b; echo >/d/.hidden; ln -s b /d/link; ln -s /d /dlink")
    rows = fs("ls", path="/d")["entries"]
    assert [(r["name"], r["is_dir"], r["is_symlink"]) for r in rows] == [
        (".hidden", False, False), ("b", False, False), ("link", False, True), ("sub", True, False)]
    assert rows[1]["size"] == 4 and rows[1]["mode"] == "0644"
    assert fs("stat", path="/d/b") == rows[1]
    assert fs("stat", path="/d/link")["is_symlink"] is True
    assert fs("stat", path="/")["name"] == "/"
    assert fs("stat", path="/d/")["name"] == "d"
    fs.fault("stat", "S211", path="/nothing")
    fs.fault("ls", "S211", path="/nothing")
    fs.fault("ls", "S212", path="/d/b")
    fs.fault("ls", "S212", path="/dlink")


def test_mkdir(fs):
    assert fs("mkdir", path="/m", mode="0700") == {"created": True}
    assert fs("stat", path="/m")["mode"] == "0700"
    fs.fault("mkdir", "S213", path="/m")
    assert fs("mkdir", path="/m", parents=True) == {"created": False}
    fs.fault("mkdir", "S213", path="/etc/passwd", parents=True)
    fs.fault("mkdir", "S212", path="/etc/passwd/x", parents=True)
    fs("mkdir", path="/p/q", parents=True, mode="0711")
    assert (fs("stat", path="/p")["mode"], fs("stat", path="/p/q")["mode"]) == ("0755", "0711")
    fs.fault("mkdir", "S210", path="/y", mode="rwx")


def test_rm(fs):
    fs.sh("mkdir -p /r/s; echo >/r/f; echo keep >/kept; ln -s /kept /r/link; ln -s /tmp /tmplink")
    fs.fault("rm", "S214", path="/r")
    assert fs("rm", path="/r/f") == {"removed": True}
    assert fs("rm", path="/tmplink") == {"removed": True}
    assert fs("rm", path="/r", recursive=True) == {"removed": True}
    assert fs("read", path="/kept")["body"] == "keep\n"
    fs.fault("rm", "S211", path="/r")
    fs.fault("rm", "S211", path="/r", recursive=True)


def test_mv(fs):
    fs.sh("echo 1 >/one; echo 2 >/two; mkdir /dir; echo 3 >/dir/three")
    fs.fault("mv", "S211", src="/none", dst="/x")
    fs.fault("mv", "S213", src="/one", dst="/two")
    assert fs("mv", src="/one", dst="/two", overwrite=True) == {"moved": True}
    assert fs("read", path="/two")["body"] == "1\n"
    body = fs.fault("mv", "S211", src="/two", dst="/not/here")
    assert body["fix"]["call"]["payload"]["path"] == "/not"  # it has no field to merge
    fs.fault("mv", "S213", src="/two", dst="/dir")
    fs.fault("mv", "S212", src="/two", dst="/dir", overwrite=True)
    fs.sh("mkdir /dir2")
    fs.fault("mv", "S214", src="/dir2", dst="/dir", overwrite=True)
    fs.fault("mv", "S001", src="/two")


def test_chmod(fs):
    fs.sh("mkdir -p /c/d; echo >/c/f; echo >/outside; ln -s /outside /c/d/link; ln -s /nowhere /dangling")
    assert fs("chmod", path="/c/f", mode=755) == {"updated": 1}
    assert fs("stat", path="/c/f")["mode"] == "0755"
    assert fs("chmod", path="/c", mode="0700", uid=7, gid=8, recursive=True) == {"updated": 4}
    assert fs.sh("stat -c '%a %u:%g' /c/d /outside") == "700 7:8\n700 7:8\n"
    fs.fault("chmod", "S211", path="/dangling", mode="644")
    fs.fault("chmod", "S211", path="/none", mode="644")
    fs.fault("chmod", "S001", path="/c")
    fs.fault("chmod", "S210", path="/c", mode="u+x")
    fs.fault("chmod", "S001", path="/c", mode="644", uid=-1)


def test_what_the_kernel_forbids(fs):
    fs.fault("rm", "S215", path="/proc/1/status")
    fs.fault("mkdir", "S211", path="/proc/nothing/x")


def test_other_failures_are_io_errors(fs):
    name = "/" + "n" * 256
    assert name in fs.fault("mkdir", "S216", path=name)["message"]
    fs.fault("write", "S216", path=name, content="")
    fs.fault("stat", "S210", path="/" + "p/" * 3000)
