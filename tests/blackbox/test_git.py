"""Git in a sandbox: a real bare repository, cloned over file:// and over smart HTTP, changed, pushed and pulled."""
import urllib.parse

import pytest

import harness
import images

# A smart HTTP server for the repositories below /workspace/srv, on loopback inside the sandbox.
HTTP_SERVER = r"""
import http.server, os, subprocess, urllib.parse
class Git(http.server.BaseHTTPRequestHandler):
    def log_message(self, *a): pass
    def serve(self):
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        env = {**os.environ, "GIT_PROJECT_ROOT": "/workspace/srv", "GIT_HTTP_EXPORT_ALL": "1", "REMOTE_USER": "tester",
               "PATH_INFO": urllib.parse.unquote(path), "QUERY_STRING": query, "REQUEST_METHOD": self.command,
               "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(body)),
               "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", "")}
        out = subprocess.run(["git", "http-backend"], input=body, env=env, stdout=subprocess.PIPE).stdout
        head, _, rest = out.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
        self.send_response(int(fields.pop("Status", "200 OK").split()[0]))
        for name, value in fields.items(): self.send_header(name, value)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest)
    do_GET = do_POST = serve
http.server.ThreadingHTTPServer(("127.0.0.1", 8418), Git).serve_forever()
"""


def git(client, sid, verb, **fields):
    return client.ok("POST", f"/sandboxes/{sid}/git/{verb}", fields)


def ask(client, sid, verb, **fields):
    return client.ok("GET", f"/sandboxes/{sid}/git/{verb}?" + urllib.parse.urlencode(fields))


def well(result):
    assert result["exitCode"] == 0, result
    return result


def sh(client, sid, command):
    result = client.exec(sid, command)
    assert result["exitCode"] == 0, result
    return result["stdout"]


def put(client, sid, path, content):
    client.ok("POST", f"/sandboxes/{sid}/files/write", {"path": path, "content": content})


@pytest.fixture(scope="module")
def forge(server):
    """A sandbox with a bare repository at /workspace/srv/proj.git that has one commit on main, and an HTTP server in front of it."""
    caller = server.client()
    sid = caller.create()["id"]
    sh(caller, sid, "git init -q --bare -b main /workspace/srv/proj.git && git -C /workspace/srv/proj.git config http.receivepack true"
                    " && git init -q -b main /workspace/seed && cd /workspace/seed && echo one > hello.txt && git add -A"
                    " && git -c user.name=Seed -c user.email=s@x commit -qm 'first commit' && git push -q /workspace/srv/proj.git main")
    put(caller, sid, "/workspace/server.py", HTTP_SERVER)
    caller.ok("POST", f"/sandboxes/{sid}/exec/background", {"command": "python3 /workspace/server.py"})
    harness.wait_until(lambda: caller.exec(sid, "git ls-remote http://127.0.0.1:8418/proj.git")["exitCode"] == 0, "the git server")
    yield sid
    server.held.look(server.pid)
    assert caller.delete(f"/sandboxes/{sid}").status == 200
    caller.close()


URLS = {"file": "file:///workspace/srv/proj.git", "http": "http://127.0.0.1:8418/proj.git"}


@pytest.mark.parametrize("transport", URLS)
def test_clone_change_commit_push_pull(forge, client, transport):
    here, other, url = f"/workspace/{transport}-a", f"/workspace/{transport}-b", URLS[transport]
    well(git(client, forge, "clone", url=url, path=here))
    well(git(client, forge, "clone", url=url, path=f"{transport}-b"))  # relative: below the workdir
    assert ask(client, forge, "status", path=here) == {"branch": "main", "clean": True, "files": []}
    put(client, forge, f"{here}/hello.txt", f"one\ntwo by {transport}\n")
    put(client, forge, f"{here}/new {transport}.txt", "n\n")
    status = ask(client, forge, "status", path=here)
    assert status["clean"] is False and status["branch"] == "main"
    assert sorted((f["status"], f["path"]) for f in status["files"]) == [("??", f"new {transport}.txt"), ("M", "hello.txt")]
    assert "+two" in ask(client, forge, "diff", path=here)["diff"]
    assert ask(client, forge, "diff", path=here, staged="true")["diff"] == ""
    message = f"change by {transport}; $(touch /tmp/pwned) `id` 'quoted' \"twice\""
    well(git(client, forge, "commit", path=here, message=message, all=True))
    newest = ask(client, forge, "log", path=here, count="1")["entries"]
    assert len(newest) == 1 and newest[0]["message"] == message and len(newest[0]["hash"]) == 40
    assert newest[0]["author"] and newest[0]["date"][10] == "T"
    assert client.exec(forge, "ls /tmp/pwned")["exitCode"] != 0
    well(git(client, forge, "push", path=here, remote="origin", branch="main"))
    well(git(client, forge, "pull", path=other))
    assert ask(client, forge, "log", path=other)["entries"][0]["hash"] == newest[0]["hash"]
    assert sh(client, forge, f"cat '{other}/new {transport}.txt'") == "n\n"


def test_branches(forge, client):
    here = "/workspace/branches"
    well(git(client, forge, "clone", url=URLS["file"], path=here))
    made = git(client, forge, "branch", path=here, name="feature/one")
    assert made["current"] == "feature/one" and "error" not in made
    assert {"feature/one", "main", "remotes/origin/main"} == set(made["branches"])
    put(client, forge, f"{here}/f", "1")
    well(git(client, forge, "commit", path=here, message="on the branch", all=True))
    well(git(client, forge, "push", path=here, branch="feature/one"))
    well(git(client, forge, "checkout", path=here, ref="main"))
    assert ask(client, forge, "status", path=here)["branch"] == "main"
    refused = git(client, forge, "branch", path=here, name="main")
    assert refused["current"] == "main" and "already exists" in refused["error"]
    git(client, forge, "branch", path=here, name="short")
    well(git(client, forge, "checkout", path=here, ref="main"))
    gone = git(client, forge, "branch", path=here, name="short", delete=True)
    assert "short" not in gone["branches"] and "error" not in gone
    assert git(client, forge, "branch", path=here)["current"] == "main"
    head = ask(client, forge, "log", path=here)["entries"][0]["hash"]
    well(git(client, forge, "checkout", path=here, ref=head))
    assert ask(client, forge, "status", path=here)["branch"] == "HEAD"
    fresh = "/workspace/fresh"
    well(git(client, forge, "clone", url=URLS["file"], path=fresh, branch="feature/one", depth=1))
    assert ask(client, forge, "status", path=fresh)["branch"] == "feature/one"
    assert len(ask(client, forge, "log", path=fresh)["entries"]) == 1
    well(git(client, forge, "checkout", path=fresh, ref="feature/one"))


def test_a_new_repository(forge, client):
    sh(client, forge, "git init -q -b trunk /workspace/empty")
    path = "/workspace/empty"
    assert ask(client, forge, "log", path=path) == {"entries": []}
    assert ask(client, forge, "status", path=path) == {"branch": "trunk", "clean": True, "files": []}
    put(client, forge, f"{path}/hello.txt", "x")
    assert ask(client, forge, "status", path=path)["files"] == [{"status": "??", "path": "hello.txt"}]
    assert git(client, forge, "commit", path=path, message="nothing is staged")["exitCode"] != 0
    well(git(client, forge, "commit", path=path, message="subject\n\nbody", all=True))
    assert ask(client, forge, "log", path=path)["entries"][0]["message"] == "subject"
    sh(client, forge, f"cd {path} && git mv hello.txt 'moved ż.txt' && echo y >> 'moved ż.txt'")
    files = ask(client, forge, "status", path=path)["files"]
    assert files == [{"status": "RM", "path": "moved ż.txt"}]
    diff = ask(client, forge, "diff", path=path, file="moved ż.txt")["diff"]
    assert "+xy" in diff
    assert "rename" in ask(client, forge, "diff", path=path, staged=1)["diff"]
    well(git(client, forge, "commit", path=path, message="moved", all=True))


def test_failures_speak(forge, client):
    failed = git(client, forge, "clone", url="file:///workspace/srv/none.git", path="/workspace/none")
    assert failed["exitCode"] == 128 and "none.git" in failed["stderr"]
    assert ask(client, forge, "status", path="/tmp") == {"branch": "HEAD", "clean": True, "files": []}
    assert client.get(f"/sandboxes/{forge}/git/log?path=/tmp").status == 400
    assert client.get(f"/sandboxes/{forge}/git/status?path=/no/such").status == 404
    for verb, fields in (("clone", {}), ("clone", {"url": "a`id`"}), ("clone", {"url": "$(id)"}), ("clone", {"url": "--upload-pack=x"}),
                         ("commit", {}), ("checkout", {}), ("checkout", {"ref": "-f"}), ("branch", {"name": "--orphan"}),
                         ("push", {"remote": "--mirror"}), ("pull", {"branch": "-X"}), ("clone", {"url": "x", "depth": 0})):
        reply = client.post(f"/sandboxes/{forge}/git/{verb}", fields)
        assert reply.status == 400 and reply.error, (verb, fields, reply)
    assert client.get(f"/sandboxes/{harness.UNKNOWN}/git/status").status == 404


def test_no_password_is_asked_for(forge, client):
    """A server that wants one fails at once instead of hanging for 30 seconds."""
    put(client, forge, "/workspace/deny.py", "import http.server\nclass No(http.server.BaseHTTPRequestHandler):\n"
        "    def do_GET(self):\n        self.send_response(401)\n        self.send_header('WWW-Authenticate', 'Basic')\n"
        "        self.send_header('Content-Length', '0')\n        self.end_headers()\n"
        "http.server.HTTPServer(('127.0.0.1', 8419), No).serve_forever()\n")
    client.ok("POST", f"/sandboxes/{forge}/exec/background", {"command": "python3 /workspace/deny.py"})
    harness.wait_until(lambda: client.exec(forge, "python3 -c \"import socket; socket.create_connection(('127.0.0.1', 8419))\"")["exitCode"] == 0,
                       "the denying server")
    failed = git(client, forge, "clone", url="http://127.0.0.1:8419/x.git", path="/workspace/denied")
    assert failed["exitCode"] == 128 and "terminal prompts disabled" in failed["stderr"]


@harness.needs("imageStore")
def test_an_image_without_git_says_so(server, client, new_sandbox, tmp_path):
    archive = tmp_path / "nogit.tar"
    archive.write_bytes(images.pack(images.base_entries(images.program(tmp_path))))
    done = harness.run_cli("image", "import", archive, "nogit", env={"III_DATA_DIR": server.data_dir})
    assert done.returncode == 0, done.stderr
    sid = new_sandbox(image="nogit")["id"]
    for method, verb, fields in (("POST", "clone", {"url": "file:///x"}), ("GET", "status", None)):
        reply = client.call(method, f"/sandboxes/{sid}/git/{verb}", fields)
        assert reply.status == 501 and "git" in reply.error and "nogit" in reply.error
