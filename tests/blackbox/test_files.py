"""The twelve file operations."""
import base64
import os
import time

import pytest

import harness


@pytest.fixture
def call(box, client):
    """call(name, **body) → Reply of /files/name in the file's sandbox."""
    return lambda name, **body: client.post(f"/sandboxes/{box}/files/{name}", body)


@pytest.fixture
def ok(call):
    def run(name, **body):
        reply = call(name, **body)
        assert reply.status == 200, f"{name} {body}: {reply}"
        return reply.json()

    return run


@pytest.mark.parametrize("content", ["", "plain\n", "żółć 🎉\n", "line\r\nend", "x" * 100_000, 'quotes " \\ \t'])
def test_write_then_read(ok, content):
    assert ok("write", path="rw/file.txt", content=content) == {"success": True}
    assert ok("read", path="/workspace/rw/file.txt") == content
    assert ok("read", path="rw/file.txt") == content


def test_write_replaces_and_has_its_mode_and_owner(ok, box, client):
    ok("write", path="mode.txt", content="long content")
    ok("write", path="mode.txt", content="short")
    assert client.exec(box, "stat -c '%a %u %g %s' /workspace/mode.txt")["stdout"] == "644 0 0 5\n"


def test_write_makes_missing_folders(ok, box, client):
    ok("write", path="a/b/c/d.txt", content="deep")
    ok("upload", path="a/e/f.bin", content=base64.b64encode(b"\0\1").decode())
    assert client.exec(box, "cat /workspace/a/b/c/d.txt; od -An -tx1 /workspace/a/e/f.bin")["stdout"].split() == ["deep", "00", "01"]


@pytest.mark.parametrize("size", [0, 1, 2, 3, 1023, 1 << 20, 12 << 20])
def test_upload_then_download_is_exact(ok, size):
    data = os.urandom(size)
    ok("upload", path="exact.bin", content=base64.b64encode(data).decode())
    assert base64.b64decode(ok("download", path="exact.bin"), validate=True) == data


def test_bytes_that_are_no_text(ok):
    ok("upload", path="raw.bin", content=base64.b64encode(b"a\xff\xfeb").decode())
    assert ok("read", path="raw.bin") == "a\ufffd\ufffdb"


def test_delete(ok, call):
    ok("write", path="gone.txt", content="x")
    assert ok("delete", path="gone.txt") == {"success": True}
    assert call("read", path="gone.txt").status == 404
    assert ok("delete", path="gone.txt") == {"success": True}


def test_list(ok, box, client):
    client.exec(box, "rm -rf /workspace/l && mkdir -p /workspace/l/sub && cd /workspace/l && printf 12345 > five && : > .hidden && ln -s five link")
    entries = {e["name"]: e for e in ok("list", path="l")}
    assert set(entries) == {"five", ".hidden", "sub", "link"}
    five = entries["five"]
    assert five["path"] == "/workspace/l/five" and five["size"] == 5 and five["isDirectory"] is False
    assert abs(five["modifiedAt"] - time.time() * 1000) < 3600_000
    assert entries["sub"]["isDirectory"] is True
    assert set(five) >= {"name", "path", "size", "isDirectory", "modifiedAt"}
    assert ok("list", path="/workspace/l/") and ok("list", path="/workspace/l/")[0]["path"].count("//") == 0
    assert ok("list", path="no-such-folder") == []
    assert "l" in [e["name"] for e in ok("list")]


def test_list_of_many(ok, box, client):
    client.exec(box, "mkdir -p /workspace/many && cd /workspace/many && seq 3000 | xargs touch")
    assert {e["name"] for e in ok("list", path="many")} == {str(i) for i in range(1, 3001)}


def test_search(ok, box, client):
    client.exec(box, "mkdir -p /workspace/s/x/y.py && cd /workspace/s && touch a.py x/b.py x/c.txt x/y.py/d.py && ln -s a.py e.py")
    found = ok("search", pattern="*.py", dir="s")
    assert sorted(found) == ["/workspace/s/a.py", "/workspace/s/x/b.py", "/workspace/s/x/y.py/d.py"]
    assert ok("search", pattern="c.t?t", dir="/workspace/s") == ["/workspace/s/x/c.txt"]
    assert ok("search", pattern="[ab].py", dir="s") and ok("search", pattern="nothing*", dir="s") == []
    assert ok("search", pattern="*", dir="not-there") == []
    assert "/workspace/s/a.py" in ok("search", pattern="a.py")


@pytest.mark.parametrize("pattern", ["", "a;b", "a|b", "$x", "`x`", "a\\b", "x" * 201])
def test_search_patterns_that_are_refused(call, pattern):
    assert call("search", pattern=pattern).status == 400


def test_info(ok, box, client):
    client.exec(box, "cd /workspace && printf abc > i.txt && chmod 640 i.txt && mkdir -p idir && ln -sf i.txt ilink")
    one = ok("info", path="i.txt")
    assert one["path"] == "/workspace/i.txt" and one["size"] == 3 and one["permissions"] == "-rw-r-----"
    assert (one["owner"], one["group"], one["isDirectory"], one["isSymlink"]) == ("root", "root", False, False)
    assert abs(one["modifiedAt"] - time.time() * 1000) < 3600_000
    several = ok("info", paths=["idir", "i.txt", "ilink"])
    assert [e["isDirectory"] for e in several] == [True, False, False]
    assert several[0]["permissions"].startswith("d") and several[2]["isSymlink"] is True


def test_info_of_a_missing_path_fails_the_call(call):
    assert call("info", paths=["i.txt", "missing"]).status == 404
    assert call("info", path="missing").status == 404
    assert call("info").status == 400


def test_move_is_in_order_and_stops_at_the_first_failure(ok, call, box, client):
    client.exec(box, "cd /workspace && rm -rf m && mkdir m && echo 1 > m/a")
    ok("move", moves=[{"from": "m/a", "to": "m/b"}, {"from": "m/b", "to": "m/c"}])
    assert ok("read", path="m/c") == "1\n"
    assert call("move", moves=[{"from": "m/c", "to": "m/d"}, {"from": "m/missing", "to": "m/x"}, {"from": "m/d", "to": "m/e"}]).status == 404
    assert [e["name"] for e in ok("list", path="m")] == ["d"]
    for moves in ([], [{"from": "m/d"}], [5], "m/d"):
        assert call("move", moves=moves).status == 400


def test_mkdir_and_rmdir(ok, box, client):
    assert ok("mkdir", paths=["k/a/b", "/workspace/k/c"]) == {"success": True}
    assert ok("mkdir", path="k/d") == {"success": True}
    assert ok("mkdir", path="k/d") == {"success": True}
    assert sorted(e["name"] for e in ok("list", path="k")) == ["a", "c", "d"]
    client.exec(box, "echo x > /workspace/k/a/b/file")
    assert ok("rmdir", paths=["k/a", "k/c"]) == {"success": True}
    assert ok("rmdir", path="k/d") == {"success": True}
    assert ok("rmdir", path="k/never-was") == {"success": True}
    assert ok("list", path="k") == []


def test_mkdir_over_a_file_is_refused(ok, call):
    ok("write", path="plain", content="")
    reply = call("mkdir", path="plain/below")
    assert reply.status == 404 and "Not a directory" in reply.error


@pytest.mark.parametrize("mode, shown", [("755", "755"), ("0600", "600"), ("u+x", "744"), ("go-r", "600"), ("a=rw", "666"), ("+X", "644"),
                                         ("1777", "1777")])
def test_chmod(ok, box, client, mode, shown):
    client.exec(box, "cd /workspace && rm -f ch && : > ch && chmod 644 ch")
    assert ok("chmod", path="ch", mode=mode) == {"success": True}
    assert client.exec(box, "stat -c %a /workspace/ch")["stdout"].strip() == shown


def test_chmod_makes_a_script_executable(ok, box, client):
    ok("write", path="run.sh", content="#!/bin/sh\necho ran\n")
    ok("chmod", path="run.sh", mode="755")
    assert client.exec(box, "/workspace/run.sh")["stdout"] == "ran\n"


@pytest.mark.parametrize("mode", ["", "7", "77777", "789", "u+s", "u+x,g+x", "rwx", "u x", "; rm"])
def test_chmod_modes_that_are_refused(ok, call, mode):
    ok("write", path="ch2", content="")
    assert call("chmod", path="ch2", mode=mode).status == 400


def test_chmod_of_a_missing_file(call):
    assert call("chmod", path="missing", mode="644").status == 404


TRAVERSALS = ["/etc/passwd", "../../x", "/workspace/../etc/passwd", "/../../../etc/hostname", "a..b", "/workspacex/y", "..", "/", "/tmp/x"]


@pytest.mark.parametrize("path", TRAVERSALS)
@pytest.mark.parametrize("name, extra", [("read", {}), ("write", {"content": "x"}), ("delete", {}), ("list", {}),
                                         ("upload", {"content": "eA=="}), ("download", {}), ("info", {}), ("mkdir", {}), ("rmdir", {}),
                                         ("chmod", {"mode": "644"})])
def test_paths_outside_the_workspace(call, name, extra, path):
    reply = call(name, path=path, **extra)
    assert reply.status == 400 and "path" in reply.error.lower()


def test_moves_and_searches_outside_the_workspace(call, ok):
    ok("write", path="inside", content="x")
    assert call("move", moves=[{"from": "inside", "to": "/etc/x"}]).status == 400
    assert call("move", moves=[{"from": "/etc/passwd", "to": "x"}]).status == 400
    assert call("search", pattern="*", dir="/etc").status == 400
    assert call("info", paths=["inside", "/etc/passwd"]).status == 400


def test_a_link_out_stays_inside_the_sandbox(ok, call, box, client):
    """Links are followed with the sandbox's own root: the host's files are out of reach by construction."""
    marker = os.path.realpath(__file__)
    client.exec(box, f"ln -sfn {marker} /workspace/out; ln -sfn / /workspace/rootlink")
    assert call("read", path="out").status == 404
    assert "workspace" in [e["name"] for e in ok("list", path="rootlink")]


def test_the_sandboxes_own_workdir_is_allowed(new_sandbox, client):
    sid = new_sandbox(workdir="/app")["id"]
    for path in ("/app/f", "/workspace/f"):
        assert client.ok("POST", f"/sandboxes/{sid}/files/write", {"path": path, "content": path}) == {"success": True}
        assert client.ok("POST", f"/sandboxes/{sid}/files/read", {"path": path}) == path
    assert client.post(f"/sandboxes/{sid}/files/read", {"path": "/apple"}).status == 400


def test_missing_files_and_folders(call, ok):
    for name in ("read", "download", "info"):
        reply = call(name, path="no/such/file")
        assert reply.status == 404, name
    ok("mkdir", path="folder")
    assert call("download", path="folder").status == 400
    assert call("read", path="folder").status == 400


@pytest.mark.parametrize("name, body", [
    ("read", {}), ("read", {"path": 5}), ("read", {"path": ""}), ("write", {"path": "x"}), ("write", {"path": "x", "content": 5}),
    ("write", {"content": "x"}), ("upload", {"path": "x", "content": "not base64!"}), ("upload", {"path": "x", "content": "eA"}),
    ("upload", {"path": "x"}), ("mkdir", {}), ("mkdir", {"paths": []}), ("mkdir", {"paths": [5]}), ("mkdir", {"paths": "x"}),
    ("rmdir", {}), ("move", {}), ("chmod", {"path": "x"}), ("search", {}), ("read", {"path": "a\u0000b"}), ("read", {"path": "x" * 5000})])
def test_bad_bodies(call, name, body):
    reply = call(name, **body)
    assert reply.status == 400 and reply.error


def test_a_name_that_is_too_long_is_no_server_error(call):
    reply = call("write", path="n" * 300, content="x")
    assert reply.status == 400 and "File name too long" in reply.error


def test_files_need_a_running_sandbox(new_sandbox, client):
    sid = new_sandbox()["id"]
    client.ok("POST", f"/sandboxes/{sid}/pause")
    assert client.post(f"/sandboxes/{sid}/files/write", {"path": "x", "content": ""}).status == 409
    assert client.post(f"/sandboxes/{harness.UNKNOWN}/files/write", {"path": "x", "content": ""}).status == 404
