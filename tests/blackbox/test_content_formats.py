"""Folders as tar, tar.gz, tar.zst and zip, forms, and what hostile ones of them do. The engine's functions for contents."""
import contextlib
import gzip
import io
import os
import random
import re
import shutil
import socket
import stat
import struct
import subprocess
import tarfile
import zipfile

import pytest

import engineclient
import harness
from fnclient import Functions
from test_content import FLAT_MIB, MIB, Content, Peak, content, push  # noqa: F401 (content is a fixture)

TYPES = {"tar": "application/x-tar", "tar.gz": "application/gzip", "tar.zst": "application/zstd", "zip": "application/zip"}
ZSTD_BLOCK = 128 * 1024


def zstd_frame(blocks):
    """A frame of blocks as they are: (bytes, None), or (one byte, count) for a run of it."""
    blocks = list(blocks)
    out = [b"\x28\xb5\x2f\xfd", b"\x00", b"\x58"]  # a window of 2 MiB, no checksum, size unknown
    for i, (data, count) in enumerate(blocks):
        head = (i == len(blocks) - 1) | (1 << 1 if count else 0) | (count or len(data)) << 3
        out.append(struct.pack("<I", head)[:3] + data)
    return b"".join(out)


def to_zstd(data):
    return zstd_frame((data[at:at + ZSTD_BLOCK], None) for at in range(0, len(data), ZSTD_BLOCK))


def tar_of(*members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, data, kind, link in members:
            info = tarfile.TarInfo(name)
            info.size, info.type, info.linkname, info.mode = len(data), kind, link, 0o644
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def zip_of(*members):
    """(name, data) or (name, data, unix mode)"""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data, *mode in members:
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system, info.external_attr = 3, (mode[0] if mode else stat.S_IFREG | 0o644) << 16
            archive.writestr(info, data)
    return out.getvalue()


def packed(form, name="a/b.txt", data=b"hello" * 1000):
    plain = tar_of((name, data, tarfile.REGTYPE, ""))
    return {"tar": lambda: plain, "tar.gz": lambda: gzip.compress(plain), "tar.zst": lambda: to_zstd(plain), "zip": lambda: zip_of((name, data))}[form]()


def names_of(form, data):
    if form == "zip":
        return sorted(zipfile.ZipFile(io.BytesIO(data)).namelist())
    if form == "tar.zst":
        if not shutil.which("zstd"):
            assert data.startswith(b"\x28\xb5\x2f\xfd")
            return None
        data = subprocess.run(["zstd", "-dc"], input=data, stdout=subprocess.PIPE, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz" if form == "tar.gz" else "r:") as tar:
        return sorted(m.name for m in tar if m.name != ".")


def test_a_tenant_has_a_share_of_the_conversions():
    with harness.Server(env={"III_AUTH_TOKEN": "root"}, token="root") as server:
        admin, boxes, held = server.client(), {}, []
        for name in ("loud", "quiet"):
            caller = server.client(admin.ok("POST", "/tokens", {"name": name, "tenant": name})["secret"])
            boxes[name] = caller, "/sandboxes/" + caller.ok("POST", "/sandboxes", {"image": "python", "memory": 128})["id"] + "/files/content?format=tar.gz&path="
        put = lambda name: boxes[name][0].call("PUT", boxes[name][1] + "/workspace/x", packed("tar.gz"), {"Content-Type": "application/gzip"})
        caller, path = boxes["loud"]
        try:
            for i in range(4):
                held.append(socket.create_connection(("127.0.0.1", server.port), timeout=harness.DEADLINE_S))
                held[-1].sendall(f"PUT /sandbox{path}/workspace/{i} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {caller.token}\r\n"
                                 "Content-Type: application/gzip\r\nContent-Length: 100000\r\n\r\n".encode() + packed("tar.gz")[:10])
                with server.client() as later:  # connections are accepted in their order: the one above was read before
                    later.ok("GET", "/health")
            reply = harness.wait_until(lambda: (r := put("loud")).status == 503 and r, "a conversion over the tenant's share")
            assert "4 of one tenant" in reply.error
            assert put("quiet").status == 200
        finally:
            for sock in held:
                sock.close()
        harness.wait_until(lambda: put("loud").status == 200, "room after the others left")


# --- there and back ---

@pytest.mark.parametrize("form", TYPES)
def test_a_folder_there_and_back(content, form):
    content.sh(f"rm -rf /workspace/in /workspace/out && mkdir -p /workspace/in/sub /workspace/in/empty && cd /workspace/in &&"
               " printf one > one && printf two > sub/two && chmod 750 sub/two && ln -s one link && ln one hard && seq 100000 > sub/long && touch 'grüße ☃'")
    got = content.get("in", format=form)
    assert got.status == 200 and got.headers["content-type"] == TYPES[form], got
    assert got.headers["content-disposition"].endswith(f"in.{form}") and got.headers["x-content-type-options"] == "nosniff"
    names = names_of(form, got.body)
    assert names is None or {"one", "sub/two", "sub/long", "grüße ☃", "hard", "link"} <= set(names)
    told = content.stored("out", got.body, format=form)
    assert told["entries"] >= 8 and told["path"] == "out" and told["size"] > 588895
    assert content.sh("diff -r /workspace/in /workspace/out && readlink /workspace/out/link && stat -c %a /workspace/out/sub/two && ls /workspace/out")\
        .split("\n")[:2] == ["one", "750"]
    assert "grüße ☃" in content.sh("ls /workspace/out") and content.sh("ls -d /workspace/out/empty")


@pytest.mark.parametrize("form", TYPES)
def test_an_archive_that_others_made(content, form):
    content.sh("rm -rf /workspace/made")
    assert content.stored("made", packed(form), format=form)["entries"] == 1
    assert content.sh("md5sum < /workspace/made/a/b.txt; stat -c %s /workspace/made/a/b.txt").endswith("\n5000\n")


@pytest.mark.parametrize("form", TYPES)
def test_a_path_with_a_slash_goes_by_its_headers(content, form):
    content.sh("rm -rf /workspace/typed /workspace/kept")
    reply = content.client.call("PUT", content.at("typed/"), packed(form), {"Content-Type": TYPES[form]})
    assert reply.status == 200 and content.sh("ls /workspace/typed/a") == "b.txt\n", reply
    got = content.get("typed/", Accept=f"{TYPES[form]}, */*;q=0.1")
    assert got.status == 200 and got.headers["content-type"] == TYPES[form]
    # Without one it is a file, whatever it holds.
    content.stored("kept", packed(form), {"Content-Type": TYPES[form]})
    assert content.get("kept", Accept=TYPES[form]).body == packed(form)


@pytest.mark.parametrize("form", ["rar", "tar.xz", "", "TAR"])
def test_a_format_that_is_none(content, form):
    assert content.client.call("GET", content.at("x") + f"&format={form}").status == 400
    assert content.put("x", b"", format=form).status == 400


@pytest.mark.parametrize("form", TYPES)
def test_a_folder_that_is_not_there(content, form):
    reply = content.get("/workspace/none", format=form)
    assert reply.status == 404 and "/workspace/none" in reply.error, reply


@pytest.mark.parametrize("form", TYPES)
def test_a_large_folder_in_constant_memory(server, content, form):
    size = (16 if harness.IN_MACHINES or harness.IS_SANITIZED else 64) * MIB
    content.sh(f"rm -rf /workspace/big && mkdir /workspace/big && head -c {size} /dev/zero > /workspace/big/zeroes && head -c {4 * MIB} /dev/urandom > /workspace/big/noise")
    with Peak(server.pid) as peak:
        answer = content.client.open("GET", content.at("big", format=form))
        assert answer.status == 200
        with contextlib.closing(io.BytesIO()) as kept:
            shutil.copyfileobj(answer, kept)
            data = kept.getvalue()
        content.stored("big2", (data[at:at + MIB] for at in range(0, len(data), MIB)), format=form)
    assert content.sh("cd /workspace && cmp big/zeroes big2/zeroes && cmp big/noise big2/noise && echo same; rm -r big big2") == "same\n"
    assert peak.mib < FLAT_MIB, f"{peak.mib:.0f} MiB more memory"


# --- hostile archives ---

OUTSIDE = ["../out", "a/../../out", "/tmp/out", "./../out"]


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("form", TYPES)
def test_names_that_lead_out(content, form, name):
    content.sh("rm -rf /workspace/trap /workspace/out /tmp/out")
    reply = content.put("trap", packed(form, name, b"x"), format=form)
    assert reply.status == 400 and "out" in reply.error, reply
    assert content.sh("ls /workspace/out /tmp/out 2>/dev/null || true") == ""


def test_links_that_lead_out(content):
    """An entry below a link of the same archive; links themselves are kept as they are."""
    content.sh("rm -rf /workspace/trap /tmp/out && mkdir -p /tmp/out")
    archive = zip_of(("link", "/tmp/out", stat.S_IFLNK | 0o777), ("link/file", b"x"))
    reply = content.put("trap", archive, format="zip")
    assert reply.status == 409 and "link/file" in reply.error, reply
    plain = tar_of(("link", b"", tarfile.SYMTYPE, "/tmp/out"), ("link/file", b"x", tarfile.REGTYPE, ""))
    assert content.put("trap2", to_zstd(plain), format="tar.zst").status == 409
    assert content.sh("ls -A /tmp/out; rm -r /workspace/trap /workspace/trap2") == ""


def test_devices_and_others(content):
    for mode in (stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK):
        reply = content.put("trap", zip_of(("dev", b"", mode | 0o666)), format="zip")
        assert reply.status == 400 and "dev" in reply.error, f"{mode:o}: {reply}"
    content.put("trap", zip_of(("fifo", b"", stat.S_IFIFO | 0o666)), format="zip")
    assert content.sh("find /workspace/trap ! -type f ! -type d") == ""
    node = tarfile.TarInfo("node")
    node.type, node.devmajor, node.devminor = tarfile.CHRTYPE, 1, 3
    assert content.put("trap", to_zstd(node.tobuf() + bytes(1024)), format="tar.zst").status == 400


def damaged():
    good = packed("zip")
    yield "zip", b"", "zip"
    yield "zip", b"PK\x03\x04", "zip"
    yield "zip", good[:-30], "zip"
    yield "zip", good[:40] + bytes(20) + good[60:], "zip"
    yield "zip", b"not an archive at all" * 100, "zip"
    yield "zip", packed("tar"), "zip"
    for form in ("tar.gz", "tar.zst"):
        whole = packed(form, data=random.Random(form).randbytes(50_000))
        yield form, b"", form.split(".")[1]
        yield form, b"plain bytes" * 100, "zst" if form == "tar.zst" else "gz"
        yield form, packed("tar"), form.split(".")[1][:2]
        yield form, whole[:len(whole) // 2], ""
        yield form, packed("zip"), form.split(".")[1][:2]


@pytest.mark.parametrize("form, data, word", list(damaged()), ids=lambda v: v if isinstance(v, str) else str(len(v)))
def test_damaged_archives(content, form, data, word):
    reply = content.put("damaged", data, format=form)
    assert reply.status == 400 and word in reply.error, reply
    assert content.sh("echo on") == "on\n"


def test_a_damaged_archive_before_a_long_body(server, content):
    """The reason arrives although the client still sends."""
    answer = push(server, content.at("damaged", format="tar.zst"), 1 << 30, (b"no zstd" * 10_000 for _ in range(10_000)))
    assert harness.status_of(answer) == 400 and b"zstd" in answer, answer


def test_bytes_behind_an_archive(content):
    content.sh("rm -rf /workspace/more")
    more = gzip.compress(tar_of(("first", b"1", tarfile.REGTYPE, ""))) + gzip.compress(tar_of(("second", b"2", tarfile.REGTYPE, "")))
    content.put("more", more, format="tar.gz")
    assert content.sh("ls /workspace/more") == "first\n"


@harness.needs("limitDisk")
def test_bombs_are_bounded_by_the_disk(server, client, new_sandbox):
    """Whatever is in them: one file that fills the disk, or one that is written over and over."""
    small = Content(client, new_sandbox(diskMb=64)["id"])
    head = tarfile.TarInfo("same")
    head.size = 8 * MIB
    member = [(head.tobuf(), None)] + [(b"\0", ZSTD_BLOCK)] * 64
    loop = zstd_frame(member * 60)
    assert len(loop) < 100_000
    with Peak(server.pid) as peak:
        reply = small.put("bomb", loop, format="tar.zst")
        assert reply.status == 413 and "disk" in reply.error, reply
        full = small.put("bomb", zip_of(("big", bytes(300 * MIB))), format="zip")
        assert full.status == 507 and "big" in full.error, full
    assert peak.mib < FLAT_MIB
    small.sh("rm -r /workspace/bomb && echo on > /workspace/on")


# --- forms ---

def form_of(*parts, boundary="xXx"):
    """(disposition, body)"""
    lines = b"".join(b"--" + boundary.encode() + b"\r\nContent-Disposition: form-data; " + head.encode() + b"\r\n\r\n" + body + b"\r\n" for head, body in parts)
    return lines + b"--" + boundary.encode() + b"--\r\n"


def send_form(content, body, path="form", boundary="xXx", **query):
    return content.client.call("POST", content.at(path, **query), body, {"Content-Type": f"multipart/form-data; boundary={boundary}"})


def test_a_form_writes_its_files(content):
    content.sh("rm -rf /workspace/form")
    tricky = b"\r\n--xX\r\n--xXy\r\r\n\n--" + os.urandom(200_000) + b"\r\n--xX"
    told = send_form(content, form_of(('name="note"', b"ignored"), ('name="f"; filename="a.bin"', tricky), ('name="f"; filename="sub/b c.txt"', b""),
                                      ("name=\"f\"; filename=\"x\"; filename*=UTF-8''gr%C3%BC%C3%9Fe", b"u"), ('name="f"; filename=""', b"")), mode="600").json()
    assert [(f["path"], f["size"], f["mode"]) for f in told["files"]] == [
        ("/workspace/form/a.bin", len(tricky), "0600"), ("/workspace/form/sub/b c.txt", 0, "0600"), ("/workspace/form/grüße", 1, "0600")]
    assert told["size"] == len(tricky) + 1 and told["path"] == "form"
    assert content.get("form/a.bin").body == tricky


def test_a_large_form_in_constant_memory(server, content):
    size = (16 if harness.IN_MACHINES or harness.IS_SANITIZED else 64) * MIB
    start, end = form_of(('name="f"; filename="big"', b"@")).split(b"@")
    piece = bytes(range(256)) * 4096
    with Peak(server.pid) as peak:
        reply = send_form(content, (p for part in ([start], [piece] * (size // len(piece)), [end]) for p in part))
    assert reply.status == 200 and reply.json()["size"] == size, reply
    assert peak.mib < FLAT_MIB
    content.sh("rm /workspace/form/big")


@pytest.mark.parametrize("name", ["../out", "/tmp/out", "a/../../out", "out/", ".."])
def test_a_form_with_a_name_that_leads_out(content, name):
    reply = send_form(content, form_of((f'name="f"; filename="{name}"', b"x")))
    assert reply.status == 400 and name in reply.error, reply


@pytest.mark.parametrize("body, word", [
    (b"", "boundary"), (b"--xXx", "boundary"), (b"--xXx\r\n\r\n", "Content-Disposition"), (form_of(("filename=x", b"")), "name"),
    (form_of(('name="f"; filename="a"', b"x"))[:-6], "boundary"), (b"--xXx\r\n" + b"h" * 9000, "8192"), (b"--xXxy\r\n", "boundary"),
    (form_of(*[(f'name="f"; filename="{i}"', b"") for i in range(1001)]), "1000 files")])
def test_a_form_that_is_none(content, body, word):
    reply = send_form(content, body)
    assert reply.status in (400, 413) and word in reply.error, reply


@pytest.mark.parametrize("kind", ["multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=" + "b" * 71, 'multipart/form-data; boundary="a\tb"'])
def test_a_boundary_that_is_none(content, kind):
    reply = content.client.call("POST", content.at("form"), form_of(), {"Content-Type": kind})
    assert reply.status == 400 and "boundary" in reply.error, reply


def test_a_form_takes_no_condition(content):
    assert content.client.call("PUT", content.at("form"), form_of(), {"Content-Type": "multipart/form-data; boundary=xXx", "If-Match": "*"}).status == 400


def test_curl_sends_a_form(server, content, tmp_path):
    if not shutil.which("curl"):
        pytest.skip("no curl")
    (tmp_path / "some file").write_bytes(b"of curl")
    url = f"http://127.0.0.1:{server.port}{harness.PREFIX}{content.at('curled')}"
    out = subprocess.run(["curl", "-sS", "-F", f"file=@{tmp_path / 'some file'}", "-F", "other=field", url], stdout=subprocess.PIPE, check=True).stdout
    assert b"/workspace/curled/some file" in out and content.get("curled/some file").body == b"of curl"


# --- what is refused before the body is sent ---

@pytest.mark.parametrize("condition, word", [("If-None-Match: *", "it exists"), ('If-Match: "0000000000000000"', "If-Match")])
def test_a_condition_is_answered_before_100_continue(server, content, condition, word):
    content.stored("there", b"x")
    path = harness.PREFIX + content.at("there")
    with socket.create_connection(("127.0.0.1", server.port), timeout=harness.DEADLINE_S) as sock:
        sock.sendall(f"PUT {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\nExpect: 100-continue\r\nConnection: close\r\n{condition}\r\n\r\n".encode())
        answer = harness.drain(sock)
    assert answer.startswith(b"HTTP/1.1 412") and word.encode() in answer and b"100 Continue" not in answer and not re.search(rb"cancell?ed", answer), answer


# --- the engine ---

@pytest.fixture
def functions(server):
    made = Functions(server.engine_port)
    yield made
    made.worker.close()


def write_by_channel(functions, data, piece=40_000, close=True, **fields):
    pair = functions.worker.channel()
    asked = functions.worker.ask("fs::content-write", {**fields, "content": pair["reader"]})
    end = engineclient.open_channel(functions.port, pair["writer"])
    for at in range(0, len(data), piece):
        end.send(data[at:at + piece])
    if close:
        end.close()
    else:
        end.sock.close()
    return asked


@pytest.mark.parametrize("size", [0, 1, 3 * MIB + 7])
def test_functions_for_contents(functions, content, size):
    data = os.urandom(size)
    told = functions.answer(write_by_channel(functions, data, id=content.box, path="fn/file", mode="600"))
    assert (told["path"], told["size"], told["mode"]) == ("/workspace/fn/file", size, "0600")
    answer = functions.worker.call("fs::content-read", {"id": content.box, "path": "fn/file"})
    assert functions.read_channel(answer.pop("content")) == (data, [])
    assert (answer["size"], answer["etag"]) == (size, told["etag"])
    assert functions.worker.call("fs::content-read", {"id": content.box, "path": "fn/file", "ifNoneMatch": told["etag"]})["content"] is None
    if size > 10:
        part = functions.worker.call("fs::content-read", {"id": content.box, "path": "fn/file", "range": "bytes=5-9"})
        assert functions.read_channel(part["content"]) == (data[5:10], []) and (part["offset"], part["length"]) == (5, 5)


@pytest.mark.parametrize("form", TYPES)
def test_functions_for_folders(functions, content, form):
    content.sh("rm -rf /workspace/fnin /workspace/fnout && mkdir /workspace/fnin && seq 100000 > /workspace/fnin/seq")
    answer = functions.worker.call("fs::content-read", {"id": content.box, "path": "fnin", "format": form})
    data, texts = functions.read_channel(answer["content"])
    assert texts == [] and answer["format"] == form
    assert functions.answer(write_by_channel(functions, data, id=content.box, path="fnout", format=form))["entries"] >= 1
    assert content.sh("diff -r /workspace/fnin /workspace/fnout && echo same") == "same\n"


def test_functions_that_fail(functions, content):
    content.stored("fn-there", b"old")
    for name, fields, word in (("read", {"path": "/none"}, "/none"), ("read", {"path": "/none", "format": "zip"}, "/none"), ("write", {"path": "x"}, "content"),
                               ("write", {"path": "x", "content": {"channel_id": "no", "access_key": "such"}}, ""), ("read", {"path": "fn-there", "range": "bytes=9-"}, "3 bytes")):
        assert word in str(functions.worker.fail("fs::content-" + name, {"id": content.box, **fields})), (name, fields)
    for asked in (write_by_channel(functions, b"x", id=content.box, path="fn-there", ifNoneMatch="*"),
                  write_by_channel(functions, b"x" * MIB, close=False, id=content.box, path="fn-there")):
        with pytest.raises(engineclient.Failed):
            functions.answer(asked)
    assert content.get("fn-there").body == b"old"
