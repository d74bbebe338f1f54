"""Contents of files as bytes: PUT and GET of /files/content, with ranges, ETags and conditions."""
import concurrent.futures
import contextlib
import hashlib
import http.client
import io
import os
import socket
import tarfile
import threading
import urllib.parse

import pytest

import harness
import leak

MIB = 1 << 20


class Content:
    """files/content of one sandbox."""

    def __init__(self, client, box):
        self.client, self.box = client, box

    def at(self, path, **query):
        return f"/sandboxes/{self.box}/files/content?" + urllib.parse.urlencode({"path": path, **query}, errors="surrogateescape")

    def put(self, path, body, headers=None, method="PUT", **query):
        return self.client.call(method, self.at(path, **query), body, {"Content-Type": "application/octet-stream", **(headers or {})})

    def get(self, path, method="GET", format=None, **headers):
        return self.client.call(method, self.at(path, **({"format": format} if format else {})), None, {k.replace("_", "-"): v for k, v in headers.items()})

    def stored(self, path, body, headers=None, **query):
        """The answer to a PUT that must succeed."""
        reply = self.put(path, body, headers, **query)
        assert reply.status == 200, f"{path}: {reply}"
        return reply.json()

    def sh(self, command):
        done = self.client.exec(self.box, command)
        assert done["exitCode"] == 0, done
        return done["stdout"]


@pytest.fixture
def content(client, box):
    return Content(client, box)


@pytest.mark.parametrize("size", [0, 1, 65535, 65536, 3 * MIB + 7])
def test_bytes_go_in_and_out_unchanged(content, size):
    data = os.urandom(size)
    told = content.stored("rw/some.bin", data)
    assert (told["path"], told["size"], told["mode"]) == ("/workspace/rw/some.bin", size, "0644")
    reply = content.get("/workspace/rw/some.bin")
    assert reply.status == 200 and reply.body == data
    assert reply.headers["etag"] == told["etag"] and reply.headers["content-length"] == str(size)
    assert reply.headers["content-type"] == "application/octet-stream" and reply.headers["x-content-type-options"] == "nosniff"


def test_a_body_in_chunks(content):
    pieces = [b"a" * 70_000, b"b", b"c" * 300_000]
    assert content.stored("chunked", iter(pieces))["size"] == 370_001
    assert content.get("chunked").body == b"".join(pieces)


def test_created_is_told_and_the_mode_is_kept_or_given(content):
    content.sh("rm -f /workspace/mode")
    assert content.stored("mode", b"1", mode="640")["created"] is True
    again = content.stored("mode", b"22")
    assert (again["created"], again["mode"]) == (False, "0640")
    assert content.stored("mode", b"333", mode="0700")["mode"] == "0700"
    assert content.sh("stat -c '%a %s' /workspace/mode") == "700 3\n"
    assert content.get("mode", "HEAD").headers["x-file-mode"] == "0700"


@pytest.mark.parametrize("mode", ["8", "999", "rwx", "77777", "+x1", "-77"])
def test_a_mode_that_is_none(content, mode):
    assert content.put("bad-mode", b"x", mode=mode).status == 400


@pytest.mark.parametrize("name", ["with space", "grüße ☃", "new\nline", "q'u\"o%te", "-dash", "tab\there", "plus+and&and=", "a..b"])
def test_any_name(content, name):
    content.stored(f"/workspace/names/{name}", name.encode())
    assert content.get(f"/workspace/names/{name}").body == name.encode()
    shown = content.get(f"/workspace/names/{name}", "HEAD").headers["content-disposition"]
    assert urllib.parse.unquote(shown.removeprefix("attachment; filename*=UTF-8''")) == name


def test_any_path_that_the_user_may_reach(content):
    content.stored("/var/tmp/deep/er/file", b"there")
    assert content.sh("cat /var/tmp/deep/er/file") == "there"
    assert content.get("/workspace/../etc/hostname").body == content.sh("cat /etc/hostname").encode()
    content.sh("ln -sf /var/tmp/deep/er/file /workspace/link")
    content.stored("link", b"through it")
    assert content.sh("cat /var/tmp/deep/er/file; readlink /workspace/link") == "through it/var/tmp/deep/er/file\n"


def test_a_file_that_the_kernel_makes(content):
    reply = content.get("/proc/self/status")
    assert reply.status == 200 and b"Name:" in reply.body and "accept-ranges" not in reply.headers
    assert content.get("/proc/version", Range="bytes=0-4").status == 200


@pytest.mark.parametrize("path, status, word", [
    ("/workspace/none", 404, "/workspace/none"), ("/workspace", 400, "directory"), ("/dev/null", 400, "/dev/null"), ("", 400, "path"),
    ("/workspace/" + "n" * 300, 400, "n" * 50), ("/" + "x/" * 2040 + "y", 404, "x/x/"), ("/" + "x" * 5000, 400, "path"), ("/etc/passwd/x", 404, "passwd")])
def test_what_cannot_be_read(content, path, status, word):
    reply = content.get(path)
    assert reply.status == status and word in reply.error, reply


@pytest.mark.parametrize("path, status", [("/workspace", 400), ("/workspace/", 400), ("/workspace/x/..", 400), ("/dev/null", 400), ("/etc/passwd/x", 404),
                                          ("/proc/new", 404), ("/workspace/" + "n" * 256, 400), ("/" + "x" * 5000, 400)])
def test_what_cannot_be_written(content, path, status):
    reply = content.put(path, b"x" * 100_000)
    assert reply.status == status, reply


# --- ranges ---

RANGES = [("bytes=0-0", 206, b"0", "bytes 0-0/10"), ("bytes=2-4", 206, b"234", "bytes 2-4/10"), ("bytes=7-", 206, b"789", "bytes 7-9/10"),
          ("bytes=-2", 206, b"89", "bytes 8-9/10"), ("bytes=-20", 206, b"0123456789", "bytes 0-9/10"), ("bytes=5-100", 206, b"56789", "bytes 5-9/10"),
          ("bytes=5-4", 200, b"0123456789", None), ("bytes=1-2,4-5", 200, b"0123456789", None), ("chars=1-2", 200, b"0123456789", None),
          ("bytes=x", 200, b"0123456789", None)]


@pytest.mark.parametrize("asked, status, body, shown", RANGES)
def test_a_range(content, asked, status, body, shown):
    content.stored("digits", b"0123456789")
    reply = content.get("digits", Range=asked)
    assert (reply.status, reply.body, reply.headers.get("content-range")) == (status, body, shown)
    assert reply.headers["content-length"] == str(len(body))


@pytest.mark.parametrize("asked", ["bytes=10-", "bytes=11-12", "bytes=-0"])
def test_a_range_outside(content, asked):
    content.stored("digits", b"0123456789")
    reply = content.get("digits", Range=asked)
    assert reply.status == 416 and reply.headers["content-range"] == "bytes */10" and "10 bytes" in reply.error


def test_a_range_far_inside_a_sparse_file(content):
    content.sh("truncate -s 6G /workspace/sparse && printf end >> /workspace/sparse")
    reply = content.get("sparse", Range=f"bytes={6 << 30}-")
    assert reply.status == 206 and reply.body == b"end"
    assert content.get("sparse", "HEAD").headers["content-length"] == str((6 << 30) + 3)
    content.sh("rm /workspace/sparse")


def test_if_range(content):
    old = content.stored("digits", b"0123456789")["etag"]
    assert content.get("digits", Range="bytes=0-1", If_Range=old).status == 206
    content.stored("digits", b"9876543210")
    reply = content.get("digits", Range="bytes=0-1", If_Range=old)
    assert reply.status == 200 and reply.body == b"9876543210"


# --- conditions ---

def test_a_read_under_a_condition(content):
    etag = content.stored("seen", b"one")["etag"]
    same = content.get("seen", If_None_Match=f'"other", {etag}')
    assert same.status == 304 and same.body == b"" and same.headers["etag"] == etag
    assert content.get("seen", If_None_Match="W/" + etag).status == 304
    assert content.get("seen", If_None_Match="*").status == 304
    assert content.get("seen", If_None_Match='"other"').body == b"one"
    assert content.get("seen", If_Match=etag).body == b"one"
    assert content.get("seen", If_Match="W/" + etag).status == 412
    refused = content.get("seen", If_Match='"0000000000000000"')
    assert refused.status == 412 and "If-Match" in refused.error
    assert content.get("seen", If_Match="no quotes").status == 400
    assert content.get("seen", If_None_Match=", ".join(['"a"'] * 65)).status == 400


def test_a_change_inside_changes_the_etag(content):
    etag = content.stored("tag", b"same size")["etag"]
    assert content.get("tag", "HEAD").headers["etag"] == etag
    content.sh("printf SAME | dd of=/workspace/tag conv=notrunc status=none")
    assert content.get("tag", If_None_Match=etag).body == b"SAME size"


def test_a_write_under_a_condition(content):
    content.sh("rm -f /workspace/only")
    assert content.put("only", b"x", {"If-Match": "*"}).status == 412
    first = content.stored("only", b"first", {"If-None-Match": "*"})
    assert first["created"] is True
    refused = content.put("only", b"second" * 100_000, {"If-None-Match": "*"})
    assert refused.status == 412 and "/workspace/only" in refused.error
    second = content.stored("only", b"second", {"If-Match": f'"x", {first["etag"]}'})
    assert content.put("only", b"third", {"If-Match": first["etag"]}).status == 412
    assert content.put("only", b"third", {"If-None-Match": second["etag"]}).status == 412
    assert content.stored("only", b"third", {"If-None-Match": first["etag"]})["size"] == 5
    assert content.put("only", b"x", {"If-None-Match": "*", "If-Match": "*"}).status == 400
    assert content.sh("cat /workspace/only; ls -A /workspace | grep -c part || true") == "third0\n"


def test_a_refusal_reaches_a_client_that_sends_everything_first(server, content):
    content.stored("there", b"x")
    body = b"y" * (16 * MIB)
    conn = http.client.HTTPConnection("127.0.0.1", server.port, timeout=harness.DEADLINE_S)
    for whole in (body, iter([body])):  # with a length, and in chunks
        with contextlib.closing(conn):
            conn.request("PUT", harness.PREFIX + content.at("there"), whole, {"If-None-Match": "*"}, encode_chunked=whole is not body)
            assert conn.getresponse().status == 412


def test_the_condition_is_checked_again_at_the_end(server, content):
    """Two uploads with the same ETag: the one that ends first wins, whichever began first."""
    etag = content.stored("raced", b"start")["etag"]
    path = harness.PREFIX + content.at("raced")
    with socket.create_connection(("127.0.0.1", server.port), timeout=harness.DEADLINE_S) as slow:
        slow.sendall(f"PUT {path} HTTP/1.1\r\nHost: localhost\r\nIf-Match: {etag}\r\nContent-Length: 4\r\nConnection: close\r\n\r\nsl".encode())
        wait_for_draft(content)
        content.stored("raced", b"fast", {"If-Match": etag})
        slow.sendall(b"ow")
        assert harness.status_of(harness.drain(slow)) == 412
    assert content.sh("cat /workspace/raced; ls -A /workspace | grep -c part || true") == "fast0\n"


def test_only_one_of_many_creates(server, content):
    """If-None-Match: * is decided by the file system."""
    content.sh("rm -f /workspace/first")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        bodies = [bytes([65 + i]) * 300_000 for i in range(8)]
        clients = [Content(server.client(), content.box) for _ in bodies]
        replies = list(pool.map(lambda pair: pair[0].put("first", pair[1], {"If-None-Match": "*"}), zip(clients, bodies)))
    assert sorted(r.status for r in replies) == [200] + [412] * 7
    winner = next(body for body, reply in zip(bodies, replies) if reply.status == 200)
    assert content.get("first").body == winner


# --- uploads that break off ---

def drafts(content):
    return content.sh("find /workspace -name '.iii-*.part' | wc -l") == "1\n"


def wait_for_draft(content):
    harness.wait_until(lambda: drafts(content), "the upload to begin")


@pytest.mark.parametrize("head", ["Content-Length: 1000000", "Transfer-Encoding: chunked"])
def test_an_upload_that_breaks_off_leaves_nothing(server, content, head):
    content.stored("kept", b"old")
    for path in ("kept", "new/folder/file"):
        before = content.sh("find /workspace | sort | md5sum")
        with socket.create_connection(("127.0.0.1", server.port), timeout=harness.DEADLINE_S) as sock:
            body = b"x" * 1000 if "Length" in head else b"3e8\r\n" + b"x" * 1000 + b"\r\n"
            sock.sendall(f"PUT {harness.PREFIX}{content.at(path)} HTTP/1.1\r\nHost: localhost\r\n{head}\r\n\r\n".encode() + body)
            wait_for_draft(content)
        harness.wait_until(lambda: content.sh("find /workspace | sort | md5sum") == before, "the upload to leave nothing")
    assert content.get("kept").body == b"old"


def test_readers_and_writers_at_the_same_time(server, content):
    """A reader sees one whole version, whatever is written meanwhile."""
    versions = [bytes([i]) * (2 * MIB) for i in range(4)]
    content.stored("shared", versions[0])
    sums = {hashlib.sha256(v).hexdigest() for v in versions}
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        writes = [pool.submit(Content(server.client(), content.box).stored, "shared", v) for v in versions * 2]
        reads = [pool.submit(Content(server.client(), content.box).get, "shared") for _ in range(12)]
        assert all(w.result()["size"] == 2 * MIB for w in writes)
        assert {hashlib.sha256(r.result().body).hexdigest() for r in reads} <= sums


def test_a_client_that_leaves_a_download(server, content):
    content.sh("truncate -s 1G /workspace/huge")
    with socket.create_connection(("127.0.0.1", server.port), timeout=harness.DEADLINE_S) as sock:
        sock.sendall(f"GET {harness.PREFIX}{content.at('huge')} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert sock.recv(1000).startswith(b"HTTP/1.1 200")
    assert content.get("huge", Range="bytes=0-9").body == bytes(10)
    content.sh("rm /workspace/huge")


# --- limits of memory, disk and time ---

def rss_kib(pid):
    return next(int(line.split()[1]) for line in leak.read(f"/proc/{pid}/status").splitlines() if line.startswith("VmRSS"))


class Peak:
    """The most memory that a process has while this is entered, beyond what it had before, in MiB."""

    def __init__(self, pid):
        self.pid, self.before, self.stop = pid, rss_kib(pid), threading.Event()
        self.most = self.before
        self.thread = threading.Thread(target=self.watch)

    def watch(self):
        while not self.stop.wait(0.02):
            self.most = max(self.most, rss_kib(self.pid))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()

    @property
    def mib(self):
        return (max(self.most, rss_kib(self.pid)) - self.before) / 1024


FLAT_MIB = 24 if not harness.IS_SANITIZED else 400  # a window, queues and buffers; a sanitizer keeps what was freed


def there_and_back(server, content, size):
    """So many bytes up and down again: the memory of the server stays flat."""
    piece = bytes(range(256)) * 1024
    with Peak(server.pid) as peak:
        told = content.stored("large", (piece for _ in range(size // len(piece))))
        assert told["size"] == size
        answer = content.client.open("GET", content.at("large"))
        assert answer.status == 200 and answer.getheader("Content-Length") == str(size)
        got, buffer = 0, bytearray(len(piece))
        while count := answer.readinto(buffer):
            assert count < len(piece) or buffer == piece or got % len(piece), "other bytes than were sent"
            got += count
    content.sh("rm /workspace/large")
    assert got == size and peak.mib < FLAT_MIB, f"{got} of {size} bytes, {peak.mib:.0f} MiB more memory"


def test_memory_is_flat_whatever_the_size(server, content):
    there_and_back(server, content, (64 if harness.IN_MACHINES or harness.IS_SANITIZED else 1024) * MIB)


def test_a_reader_that_does_not_read(server, content):
    content.sh("truncate -s 2G /workspace/huge")
    with Peak(server.pid) as peak:
        socks = []
        for _ in range(4):
            sock = socket.create_connection(("127.0.0.1", server.port), timeout=harness.DEADLINE_S)
            sock.sendall(f"GET {harness.PREFIX}{content.at('huge')} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            assert sock.recv(1000).startswith(b"HTTP/1.1 200")
            socks.append(sock)
        for _ in range(20):  # the agent and the server serve others meanwhile
            assert content.sh("echo on") == "on\n"
        for sock in socks:
            sock.close()
    content.sh("rm /workspace/huge")
    assert peak.mib < 4 * 8 + FLAT_MIB, f"{peak.mib:.0f} MiB for four readers"


def push(server, path, size, pieces):
    """A PUT by a client that sends until it is stopped, and then reads the answer."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=harness.DEADLINE_S) as sock:
        sock.sendall(f"PUT {harness.PREFIX}{path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n\r\n".encode())
        try:
            for piece in pieces:
                sock.sendall(piece)
        except OSError:  # it has answered and closed
            pass
        return harness.drain(sock)


@harness.needs("limitDisk")
def test_a_full_disk_inside(server, client, new_sandbox):
    small = Content(client, new_sandbox(diskMb=16)["id"])
    small.stored("kept", b"old")
    before = small.sh("find /workspace | sort")
    answer = push(server, small.at("kept"), 64 * MIB, (b"x" * MIB for _ in range(64)))
    assert harness.status_of(answer) == 507 and b"kept" in answer, answer
    archive = tar_of([("first", b"1", {}), ("large", b"x" * (24 * MIB), {})])
    answer = push(server, small.at("/workspace/tree", format="tar"), len(archive), [archive])
    assert harness.status_of(answer) == 507 and b"large" in answer, answer
    assert small.sh("ls /workspace/tree; rm -r /workspace/tree; find /workspace | sort; cat /workspace/kept") == f"first\n{before}old"


@harness.needs("pause")
def test_a_sandbox_that_is_paused_meanwhile(server, client, new_sandbox):
    """A transfer waits, and continues after the resume."""
    sid = new_sandbox()["id"]
    there, data = Content(server.client(), sid), os.urandom(8 * MIB)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        begun, resumed = threading.Event(), threading.Event()

        def pieces():
            for at in range(0, len(data), MIB):
                if at == 2 * MIB:
                    begun.set()
                    resumed.wait(harness.DEADLINE_S)
                yield data[at:at + MIB]

        upload = pool.submit(there.stored, "paused", pieces())
        assert begun.wait(harness.DEADLINE_S)
        client.ok("POST", f"/sandboxes/{sid}/pause", {})
        resumed.set()
        client.ok("POST", f"/sandboxes/{sid}/resume", {})
        assert upload.result()["size"] == len(data)
    assert there.get("paused").body == data


def test_a_sandbox_that_is_deleted_meanwhile(server, client, new_sandbox):
    sid = new_sandbox()["id"]
    there = Content(server.client(), sid)
    there.sh("truncate -s 1G /workspace/huge")
    answer = there.client.open("GET", there.at("huge"))
    assert answer.read(1000) == bytes(1000)
    with socket.create_connection(("127.0.0.1", server.port), timeout=harness.DEADLINE_S) as sock:
        sock.sendall(f"PUT {harness.PREFIX}{there.at('up')} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\nx".encode())
        harness.wait_until(lambda: drafts(Content(client, sid)), "the upload to begin")
        client.delete(f"/sandboxes/{sid}")
        assert harness.status_of(harness.drain(sock)) in (404, 409, 410, 502), "the upload is answered"
    got = 1000
    with contextlib.suppress(ConnectionError, http.client.IncompleteRead):
        while piece := answer.read(MIB):
            got += len(piece)
    assert got < 1 << 30, "a download that is cut cannot be taken for a whole one"
    there.client.close()


def test_a_sandbox_that_is_not_running(client, content):
    paused = client.create()["id"]
    client.ok("POST", f"/sandboxes/{paused}/pause", {})
    there = Content(client, paused)
    assert there.get("x").status == 409 and there.put("x", b"y").status == 409
    client.delete(f"/sandboxes/{paused}")
    gone = Content(client, harness.UNKNOWN)
    assert gone.get("x").status == 404 and gone.put("x", b"y" * MIB).status == 404


# --- folders as archives ---

def tar_of(entries):
    """A tar archive of (name, content, changes of its TarInfo)."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, content, changes in entries:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            for key, value in changes.items():
                setattr(info, key, value)
            archive.addfile(info, io.BytesIO(content))
    return made.getvalue()


def test_a_folder_as_tar_and_back(content):
    content.sh("rm -rf /workspace/tree /workspace/copy; mkdir -p /workspace/tree/sub/empty && cd /workspace/tree && printf one > a && printf two > 'sub/new\nline'"
               " && ln -s ../a sub/link && ln a hard && chmod 750 sub && touch -d '2001-02-03 04:05:06.123456789' a sub && printf %0200d 7 > sub/$(printf n%.0s $(seq 180))")
    got = content.get("/workspace/tree", format="tar")
    assert got.status == 200 and got.headers["content-type"] == "application/x-tar" and "tree.tar" in got.headers["content-disposition"]
    with tarfile.open(fileobj=io.BytesIO(got.body)) as archive:  # a reader that is not ours
        assert archive.extractfile("a").read() == b"one" and archive.getmember("sub").mode == 0o750
        assert archive.extractfile("sub/new\nline").read() == b"two" and archive.getmember("sub/link").linkname == "../a"
    told = content.stored("/workspace/copy", got.body, format="tar")
    assert told["entries"] == 7
    same = "find . -printf '%P %y %m %s %T@ %l\\n' | grep -v '^ ' | sed 's/ d \\([0-7]*\\) [0-9]*/ d \\1/' | sort"
    assert content.sh(f"cd /workspace/copy && {same}") == content.sh(f"cd /workspace/tree && {same}")
    assert content.sh("cd /workspace/copy && test a -ef hard && cat 'sub/new\nline'") == "two"


def test_archives_of_other_programs(content):
    long_name = "deep/" * 40 + "file"
    told = content.stored("/workspace/other", tar_of([("./top", b"x", {"mode": 0o4755}), (long_name, b"long", {}), ("link", b"", {"type": tarfile.SYMTYPE, "linkname": "/etc"})]), format="tar")
    assert (told["entries"], told["size"]) == (3, 5)
    assert content.sh(f"cat /workspace/other/{long_name}; stat -c %a /workspace/other/top; readlink /workspace/other/link") == "long755\n/etc\n"


HOSTILE = [([("../up", b"x", {})], "leads out"), ([("/tmp/abs", b"x", {})], "absolute"), ([("a/../../up", b"x", {})], "leads out"),
           ([("way", b"", {"type": tarfile.SYMTYPE, "linkname": "/tmp"}), ("way/x", b"x", {})], "way/x"),
           ([("hard", b"", {"type": tarfile.LNKTYPE, "linkname": "../../etc/passwd"})], "leads out"),
           ([("hard", b"", {"type": tarfile.LNKTYPE, "linkname": "/etc/passwd"})], "absolute"),
           ([("null", b"", {"type": tarfile.CHRTYPE})], "device")]


@pytest.mark.parametrize("entries, word", HOSTILE)
def test_an_archive_that_wants_out(content, entries, word):
    content.sh("rm -rf /workspace/hostile")
    reply = content.put("/workspace/hostile", tar_of(entries), format="tar")
    assert reply.status in (400, 409) and word in reply.error, reply
    assert content.sh("ls /workspace/up /workspace/hostile/hard /tmp/abs /tmp/x /workspace/hostile/null 2>/dev/null | wc -l") == "0\n"


@pytest.mark.parametrize("body", [b"no archive", b"\x1f\x8b\x08" + bytes(600), b"x" * 5000])
def test_what_is_no_archive(content, body):
    reply = content.put("/workspace/none", body, format="tar")
    assert reply.status == 400 and "tar archive" in reply.error or "ends in the middle" in reply.error


def test_an_archive_takes_no_conditions(content):
    assert content.put("x", b"", {"If-Match": "*"}, format="tar").status == 400
    assert content.put("x", b"", mode="600", format="tar").status == 400
    assert content.put("x", b"", format="rar").status == 400
    assert content.get("/workspace/none-such", format="tar").status == 404


def test_one_file_as_tar(content):
    content.stored("single", b"alone")
    with tarfile.open(fileobj=io.BytesIO(content.get("single", format="tar").body)) as archive:
        assert archive.getnames() == ["single"] and archive.extractfile("single").read() == b"alone"


def test_the_root_without_the_kernels_files(content):
    """A whole root can be read: /proc and /sys are left out, devices too."""
    answer = content.client.open("GET", content.at("/etc", format="tar"))
    names = tarfile.open(fileobj=answer, mode="r|").getnames()
    assert "passwd" in names and not any(name.startswith("proc") for name in names)
    content.client.close()


def test_a_client_that_leaves_an_archive(server, content):
    content.sh("mkdir -p /workspace/wide && cd /workspace/wide && truncate -s 1G big")
    with socket.create_connection(("127.0.0.1", server.port), timeout=harness.DEADLINE_S) as sock:
        sock.sendall(f"GET {harness.PREFIX}{content.at('/workspace/wide', format='tar')} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert sock.recv(1000).startswith(b"HTTP/1.1 200")
    with socket.create_connection(("127.0.0.1", server.port), timeout=harness.DEADLINE_S) as sock:
        archive = tar_of([("begun", b"y" * 100_000, {})])
        sock.sendall(f"PUT {harness.PREFIX}{content.at('/workspace/broken', format='tar')} HTTP/1.1\r\nHost: localhost\r\n"
                     f"Content-Length: {len(archive)}\r\n\r\n".encode() + archive[:50_000])
        harness.wait_until(lambda: content.sh("ls /workspace/broken 2>/dev/null || true") == "begun\n", "the archive to be unpacked")
    content.sh("rm -rf /workspace/wide /workspace/broken")
