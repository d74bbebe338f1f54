"""`iii-sandbox`: the contract's eleven commands to the letter, the nouns made from the table, terminals, and errors with a way out."""
import base64
import contextlib
import hashlib
import json
import os
import re
import select
import signal
import subprocess
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

import certs
import harness
from ptykit import Terminal

IMAGE = "python"
SERVER_ENV = {"III_PULL": "never"}
ESCAPE = "\033["


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with `iii-sandbox` on the PATH."""
    place = tmp_path_factory.mktemp("sandbox-cli")
    (place / "bin").mkdir()
    (place / "bin" / "iii-sandbox").symlink_to(harness.BINARY)
    return place


@pytest.fixture(scope="module")
def env(server, home):
    return harness.clean_env({"III_SANDBOX_URL": f"http://127.0.0.1:{server.port}", "HOME": home, "TZ": "UTC",
                              "PATH": f"{home}/bin:{os.environ['PATH']}"})


@pytest.fixture
def cli(env, tmp_path):
    """cli(*words) → CompletedProcess of `iii-sandbox WORDS`."""
    def run(*words, stdin=None, **more):
        return subprocess.run(["iii-sandbox", *map(str, words)], capture_output=True, text=True, input=stdin, cwd=tmp_path,
                              env={**env, **{k: str(v) for k, v in more.items()}}, timeout=harness.DEADLINE_S * 2, check=False)
    return run


def ok(done):
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return done.stdout


def failed(done, *texts):
    """One line on standard error that holds the texts, nothing on standard output, exit code 1."""
    assert done.returncode == 1 and done.stdout == "" and len(done.stderr.splitlines()) == 1, done
    for text in texts:
        assert text in done.stderr, done.stderr
    return done.stderr


# --- the eleven commands ---

def test_create_prints_four_lines(cli, client):
    done = cli("create", "--name", "first", "--timeout", 300, "--memory=256", "--network")
    lines = ok(done).splitlines()
    sid = re.fullmatch(r"Created sandbox: (sbx_[0-9a-f]{24})", lines[0])[1]
    try:
        record = client.ok("GET", f"/sandboxes/{sid}")
        assert lines[1:3] == [f"  Image: {IMAGE}", "  Status: running"]
        assert re.fullmatch(r"  Expires: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", lines[3]) and len(lines) == 4
        assert lines[3].endswith(f"{record['expiresAt'] % 1000:03}Z")
        config = record["config"]
        assert record["name"] == "first" and (config["timeout"], config["memory"], config["network"]) == (300, 256, True)
    finally:
        assert ok(cli("kill", sid)) == f"Killed sandbox: {sid}\n"
    assert client.get(f"/sandboxes/{sid}").status == 404


def test_a_template_brings_its_image(cli, client):
    made = client.ok("POST", "/templates", {"name": "cli-template", "config": {"image": "python", "memory": 128}})
    record = json.loads(ok(cli("create", "--template", "cli-template", "--json")))
    client.ok("DELETE", f"/sandboxes/{record['id']}")
    client.ok("DELETE", f"/templates/{made['id']}")
    assert record["image"] == "python" and record["config"]["memory"] == 128


def test_exec_passes_on_streams_and_exit_code(cli, sandbox):
    done = cli("exec", sandbox, "echo out; echo err >&2; exit 42")
    assert (done.returncode, done.stdout, done.stderr) == (42, "out\n", "err\n")
    done = cli("exec", sandbox, "--stream", "echo out; echo err >&2; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, "out\n", "err\n")
    assert ok(cli("exec", sandbox, "echo a b | wc -w", "--timeout", 20)).strip() == "2"
    assert ok(cli("exec", sandbox, "--", "printf", "%s|", "a b", "$HOME")) == "a b|$HOME|"
    assert ok(cli("exec", sandbox, "--cwd", "/tmp", "pwd")) == "/tmp\n"


def test_exec_json_keeps_the_exit_code(cli, sandbox):
    done = cli("exec", "--json", sandbox, "echo out; exit 3")
    result = json.loads(done.stdout)
    assert done.returncode == 3 and (result["stdout"], result["exitCode"]) == ("out\n", 3)


def test_exec_timeouts_are_124(cli, sandbox):
    done = cli("exec", sandbox, "echo part; sleep 100", "--timeout=1")
    assert (done.returncode, done.stdout) == (124, "part\n") and "(504)" in done.stderr
    done = cli("exec", "--stream", sandbox, "echo part; sleep 100", "--timeout=1")
    assert (done.returncode, done.stdout) == (124, "part\n") and "timed out after 1 s" in done.stderr and "--timeout" in done.stderr


def test_exec_reads_standard_input(cli, env, sandbox):
    data = os.urandom(3_000_000)
    done = subprocess.run(["iii-sandbox", "exec", "-i", sandbox, "cat; exit 5"], input=data, capture_output=True, env=env, check=False,
                          timeout=harness.DEADLINE_S * 2)
    assert done.returncode == 5 and done.stdout == data
    assert ok(cli("exec", "-i", sandbox, "wc -c >count; cat count", stdin="")).strip() == "0"


def test_an_interrupted_exec_with_input_ends_its_command(env, sandbox, client):
    proc = subprocess.Popen(["iii-sandbox", "exec", "-i", sandbox, "echo up; exec sleep 87654"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            env=env)
    assert proc.stdout.readline() == b"up\n"
    proc.send_signal(signal.SIGINT)
    assert proc.wait(harness.DEADLINE_S) == 130
    proc.stdin.close()
    proc.stdout.close()
    def is_gone():
        return not any("87654" in p["command"] for p in client.ok("GET", f"/sandboxes/{sandbox}/processes")["processes"])
    harness.wait_until(is_gone, "the command that nobody feeds")


def test_run_prints_output_and_fails_with_the_code(cli, sandbox):
    assert ok(cli("run", sandbox, "print(6 * 7)")) == "42\n\n"
    assert ok(cli("run", sandbox, "pass")) == ""
    assert ok(cli("run", sandbox, "--language", "bash", "printf $((1 + 1))")) == "2\n"
    assert ok(cli("run", sandbox, stdin="print('piped', end='')")) == "piped\n"
    done = cli("run", sandbox, "print('before', end=''); raise SystemExit('no good')")
    assert (done.returncode, done.stdout) == (1, "before\n") and "no good" in done.stderr


def test_list(cli, sandbox):
    lines = ok(cli("list")).splitlines()
    assert lines[0] == f"{'ID':32}{'IMAGE':25}{'STATUS':10}EXPIRES"
    row = next(line for line in lines if line.startswith(sandbox))
    assert re.fullmatch(rf"{sandbox:32}{'python':25}{'running':10}\d\d:\d\d:\d\d", row), row
    assert sandbox in [b["id"] for b in json.loads(ok(cli("list", "--json")))["items"]]
    assert ok(cli("list", "--status", "paused")) == "No active sandboxes\n"


def test_logs(cli, new_sandbox):
    sid = new_sandbox(entrypoint=["sh", "-c", "echo one; echo two >&2; exec sleep 1000"])["id"]
    wanted = ["[stderr] two", "[stdout] ", "[stdout] one"]
    harness.wait_until(lambda: sorted(ok(cli("logs", sid)).splitlines()) == wanted, "both lines in the logs")
    assert len(ok(cli("logs", "-n", 1, sid)).splitlines()) == 2


def test_logs_follow_until_the_sandbox_goes(env, new_sandbox, client):
    sid = new_sandbox(entrypoint=["sh", "-c", "echo first; until test -e /workspace/gate; do sleep 0.1; done; echo second; exec sleep 1000"])["id"]
    proc = subprocess.Popen(["iii-sandbox", "logs", "-f", sid], stdout=subprocess.PIPE, text=True, env=env)
    try:
        assert proc.stdout.readline() == "[stdout] first\n"
        client.ok("POST", f"/sandboxes/{sid}/files/write", {"path": "gate", "content": ""})
        assert proc.stdout.readline() == "[stdout] second\n"
        client.ok("DELETE", f"/sandboxes/{sid}")
        proc.wait(harness.DEADLINE_S)
    finally:
        proc.kill()
        proc.wait()
        proc.stdout.close()


def test_files(cli, sandbox, tmp_path):
    assert ok(cli("file", "write", sandbox, "cli/a.txt", "first line")) == "Written: cli/a.txt\n"
    assert ok(cli("file", "read", sandbox, "cli/a.txt")) == "first line"
    assert ok(cli("file", "write", sandbox, "cli/piped", stdin="from a pipe")) == "Written: cli/piped\n"
    (tmp_path / "bytes").write_bytes(bytes(range(256)))
    assert ok(cli("file", "upload", sandbox, "bytes", "/workspace/cli/bytes")) == "Uploaded: bytes -> /workspace/cli/bytes\n"
    assert ok(cli("exec", sandbox, "sha256sum <cli/bytes")).split()[0] == hashlib.sha256(bytes(range(256))).hexdigest()
    ok(cli("file", "mkdir", sandbox, "cli/folder"))
    listed = sorted(ok(cli("file", "ls", sandbox, "/workspace/cli")).splitlines(), key=lambda line: line[13:])
    assert listed[0] == f"- {10:>10} a.txt" and listed[1] == f"- {256:>10} bytes" and re.fullmatch(r"d +\d+ folder", listed[2])
    assert "cli" in ok(cli("file", "ls", sandbox))
    assert ok(cli("file", "mv", sandbox, "cli/a.txt", "cli/b.txt")) == "Moved: cli/a.txt -> cli/b.txt\n"
    assert ok(cli("file", "rm", sandbox, "cli/b.txt")) and "b.txt" not in ok(cli("file", "ls", sandbox, "cli"))


def test_cp_both_ways(cli, sandbox, tmp_path):
    data = os.urandom(200_000)
    (tmp_path / "in.bin").write_bytes(data)
    assert ok(cli("cp", "in.bin", f"{sandbox}:cp/")) == f"in.bin -> {sandbox}:cp/in.bin\n"
    assert ok(cli("cp", f"{sandbox}:/workspace/cp/in.bin", "out.bin")).endswith("-> out.bin\n")
    assert (tmp_path / "out.bin").read_bytes() == data
    (tmp_path / "folder").mkdir()
    ok(cli("cp", f"{sandbox}:cp/in.bin", "folder"))
    assert (tmp_path / "folder" / "in.bin").read_bytes() == data
    ok(cli("cp", "-", f"{sandbox}:cp/text", stdin="through a pipe"))
    assert ok(cli("cp", f"{sandbox}:cp/text", "-")) == "through a pipe"
    failed(cli("cp", "in.bin", "out2.bin"), "ID:PATH")
    failed(cli("cp", "missing.bin", f"{sandbox}:x"), "missing.bin", "No such file")
    failed(cli("cp", "folder", f"{sandbox}:x"), "folder: it is a folder; use -r")
    failed(cli("cp", f"{sandbox}:cp", "x"), f"{sandbox}:cp: it is a folder; use -r")
    failed(cli("cp", f"{sandbox}:cp/none", "x"), "(404)")
    failed(cli("cp", "in.bin", "no-such-box:x"), "not found: no-such-box")
    assert not (tmp_path / "x").exists()
    ok(cli("cp", "in.bin", f"{sandbox}:cp/empty-name/"))
    ok(cli("cp", "in.bin", f"{sandbox}:/tmp"))
    assert ok(cli("exec", sandbox, "cmp /tmp/in.bin cp/empty-name/in.bin && echo same")) == "same\n"
    ok(cli("exec", sandbox, ": >cp/nothing"))
    ok(cli("cp", f"{sandbox}:cp/nothing", "out.bin"))
    assert (tmp_path / "out.bin").read_bytes() == b""


def tree(root):
    """What is below a folder: path → what it is, with its mode."""
    found = {}
    for path in sorted(root.rglob("*")):
        mode = path.lstat().st_mode & 0o7777
        found[str(path.relative_to(root))] = (("link", os.readlink(path)) if path.is_symlink() else ("folder", mode) if path.is_dir()
                                              else ("file", mode, hashlib.sha256(path.read_bytes()).hexdigest()))
    return found


@pytest.fixture
def project(tmp_path):
    """A folder with what a copy must keep."""
    root = tmp_path / "project"
    (root / "a" / "b c" / "empty").mkdir(parents=True)
    (root / "big").write_bytes(os.urandom(5 << 20))
    (root / "a" / "none").write_bytes(b"")
    (root / "a" / "b c" / "grüß dich.txt").write_text("hello")
    (root / "a" / "run.sh").write_text("echo run")
    (root / "a" / "run.sh").chmod(0o750)
    (root / "a" / "b c").chmod(0o700)
    (root / "link").symlink_to("a/none")
    (root / "away").symlink_to("/etc/hostname")
    return root


def test_cp_a_folder_both_ways(cli, sandbox, tmp_path, project):
    wanted = tree(project)
    assert ok(cli("cp", "-r", "project", f"{sandbox}:tree")) == f"project -> {sandbox}:tree\n"
    assert ok(cli("exec", sandbox, "tree/a/run.sh 2>&1 || sh tree/a/run.sh")).splitlines()[-1] == "run"
    assert ok(cli("cp", "-r", f"{sandbox}:tree/", "back")) == f"{sandbox}:tree/ -> back\n"
    assert tree(tmp_path / "back") == wanted
    ok(cli("cp", "-r", f"{sandbox}:/workspace/tree", "back"))
    assert tree(tmp_path / "back" / "tree") == wanted, "below a folder that exists"
    ok(cli("cp", "-r", "project/", f"{sandbox}:tree"))
    ok(cli("cp", "-r", "project/.", f"{sandbox}:tree/a"))
    assert ok(cli("exec", sandbox, "cmp tree/big tree/project/big && cmp tree/big tree/a/big && echo same")) == "same\n"
    (tmp_path / "contents").mkdir()
    ok(cli("cp", "-r", f"{sandbox}:tree/project/.", "contents"))
    assert tree(tmp_path / "contents") == wanted
    assert json.loads(ok(cli("cp", "-r", "--json", f"{sandbox}:tree/a/b c", "named")))["entries"] == 2
    ok(cli("cp", "-r", f"{sandbox}:tree/a/run.sh", "single"))
    assert (tmp_path / "single").read_text() == "echo run", "-r with a file"


def test_cp_archives_through_pipes(env, cli, sandbox, tmp_path, project):
    packed = subprocess.run(["tar", "c", "-C", str(project), "."], capture_output=True, check=True).stdout
    done = subprocess.run(["iii-sandbox", "cp", "-r", "-", f"{sandbox}:piped"], input=packed, env=env, capture_output=True, check=False)
    assert done.returncode == 0, done
    done = subprocess.run(["iii-sandbox", "cp", "-r", f"{sandbox}:piped", "-"], env=env, capture_output=True, check=False)
    assert done.returncode == 0, done
    (tmp_path / "out").mkdir()
    subprocess.run(["tar", "x", "-C", str(tmp_path / "out")], input=done.stdout, check=True)
    assert tree(tmp_path / "out") == tree(project)


def test_cp_refuses_what_is_in_the_way(cli, sandbox, tmp_path, project):
    (tmp_path / "file").write_text("mine")
    failed(cli("cp", "-r", f"{sandbox}:/etc", "file"), "file: Not a directory")
    assert (tmp_path / "file").read_text() == "mine"
    ok(cli("exec", sandbox, "mkdir -p way/in && echo theirs >way/in/f && chmod 6755 way/in/f"))
    (tmp_path / "outside").mkdir()
    (tmp_path / "to" / "way").mkdir(parents=True)
    (tmp_path / "to" / "way" / "in").symlink_to(tmp_path / "outside")
    message = failed(cli("cp", "-r", f"{sandbox}:way", "to"), f"{sandbox}:way: ", "a link or file is where a folder belongs", "to/way has")
    assert "pipe" not in message and not list((tmp_path / "outside").iterdir())
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "way").symlink_to(tmp_path / "outside")
    failed(cli("cp", "-r", f"{sandbox}:way", "linked"), "linked/way: ")
    assert not list((tmp_path / "outside").iterdir())
    ok(cli("cp", "-r", f"{sandbox}:way", "plain"))
    assert (tmp_path / "plain" / "in" / "f").stat().st_mode & 0o7777 == 0o755, "set-uid bits are dropped"
    failed(cli("cp", "-r", "project", f"{sandbox}:way/in/f"), "Not a directory", "(4")
    failed(cli("cp", "-r", "nothing", f"{sandbox}:x"), "nothing: No such file")
    failed(cli("cp", "-r", "project", "no-such-box:x"), "not found: no-such-box")


class Hostile(BaseHTTPRequestHandler):
    """A server whose sandbox has one folder: the archive that a test gives it."""

    def do_GET(self):
        is_tar = "format=tar" in self.path
        text = self.server.archive if is_tar else b'{"error":"read /workspace/x: Is a directory"}'
        self.send_response(200 if is_tar else 400)
        self.send_header("Content-Type", "application/x-tar" if is_tar else "application/json")
        self.send_header("Content-Length", str(len(text) + (self.server.missing if is_tar else 0)))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(text)
        if is_tar and self.server.gate:
            self.server.gate.wait(harness.DEADLINE_S)

    def log_message(self, *_):
        pass


def entry(name, kind=tarfile.REGTYPE, link="", content=b""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, len(content)
    return info.tobuf(tarfile.GNU_FORMAT) + content + bytes(-len(content) % 512)


def test_cp_from_a_hostile_sandbox(cli, env, tmp_path):
    """Nothing that an archive says is written outside of the folder; each refusal is one line."""
    server = HTTPServer(("127.0.0.1", 0), Hostile)
    server.missing, server.gate = 0, None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim" / "kept").write_text("kept")
    victim, url = str(tmp_path / "victim"), f"http://127.0.0.1:{server.server_port}"
    start = entry("./", tarfile.DIRTYPE) + entry("first", content=b"1")
    try:
        for number, (bad, why) in enumerate((
                (entry("../victim/f", content=b"x"), "leads out"),
                (entry(f"{victim}/f", content=b"x"), "absolute name"),
                (entry("l", tarfile.SYMTYPE, victim) + entry("l/f", content=b"x"), "a link or file is where a folder belongs"),
                (entry("h", tarfile.LNKTYPE, f"{victim}/kept"), "absolute name"),
                (entry("h", tarfile.LNKTYPE, "../victim/kept"), "leads out"),
                (entry("l", tarfile.SYMTYPE, victim) + entry("h", tarfile.LNKTYPE, "l/kept"), "a link or file is where"),
                (entry("d", tarfile.CHRTYPE), "d"),
                (b"no archive at all" * 100, "not a tar archive"))):
            server.archive = start + bad + entry("last", content=bytes(1 << 20))
            failed(cli("cp", "-r", "box:x", f"to{number}", III_SANDBOX_URL=url), why, f"to{number} has ")
            assert (tmp_path / f"to{number}" / "first").read_text() == "1" and not (tmp_path / f"to{number}" / "last").exists()
            assert [p.name for p in (tmp_path / "victim").iterdir()] == ["kept"] and (tmp_path / "victim" / "kept").stat().st_nlink == 1
        server.archive, server.missing = start + entry("half", content=bytes(4096))[:1000], 5000
        failed(cli("cp", "-r", "box:x", "cut", III_SANDBOX_URL=url), "cut has ")
        assert (tmp_path / "cut" / "first").exists() and not (tmp_path / "cut" / "half").exists()
        server.gate = threading.Event()
        with subprocess.Popen(["iii-sandbox", "cp", "-r", "box:x", "left"], env={**env, "III_SANDBOX_URL": url}, cwd=tmp_path, text=True,
                              stderr=subprocess.PIPE) as proc:
            harness.wait_until((tmp_path / "left" / "half").exists, "the second file to begin")
            proc.send_signal(signal.SIGINT)
            said = proc.communicate(timeout=harness.DEADLINE_S)[1]
        assert proc.returncode == 130 and said.count("\n") == 1 and "interrupted; left has 1 of its entries" in said, said
        assert (tmp_path / "left" / "first").exists() and not (tmp_path / "left" / "half").exists()
        server.gate.set()
    finally:
        server.shutdown()
        server.server_close()


def test_cp_of_what_cannot_be_read(env, sandbox, tmp_path, project):
    (project / "a" / "secret").write_text("secret")
    (project / "a" / "secret").chmod(0)
    plain = ["setpriv", "--bounding-set=-all"] if os.geteuid() == 0 else []
    for words, why in ((["-r", "project"], "project: open a/secret: Permission denied"), (["project/a/secret"], "project/a/secret: Permission denied")):
        failed(subprocess.run([*plain, "iii-sandbox", "cp", *words, f"{sandbox}:unread"], env=env, cwd=tmp_path, capture_output=True, text=True,
                              check=False, timeout=harness.DEADLINE_S * 2), why)


def test_cp_shows_progress_on_a_terminal(env, sandbox, tmp_path):
    gate = tmp_path / "gate"
    feed = f"until test -e '{gate}'; do head -c 65536 /dev/zero; sleep 0.05; done"
    with Terminal(env, "sh", "-c", f"({feed}) | iii-sandbox cp - {sandbox}:slow") as shown:
        shown.until(b"uploading")
        gate.touch()
        assert shown.exit_code() == 0, shown.got


class Recorder(BaseHTTPRequestHandler):
    """Answers everything with one sandbox and remembers what was asked."""

    def answer(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        self.server.seen.append((self.command, self.path, json.loads(body) if body else None, self.headers.get("Authorization")))
        text = json.dumps({"id": "sbx_1", "image": "i", "status": "running", "expiresAt": 0, "items": [], "total": 0, "exitCode": 0, "stdout": "",
                           "stderr": "", "output": "", "error": None}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_DELETE = answer

    def log_message(self, *_):
        pass


@pytest.fixture
def recorder():
    server = HTTPServer(("127.0.0.1", 0), Recorder)
    server.seen = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_the_requests_are_the_contract_s(cli, recorder, tmp_path):
    """Which calls each command makes, as the contract lists them, with the token of the environment."""
    url = f"http://127.0.0.1:{recorder.server_port}/"
    get = ("GET", "/sandbox/sandboxes/sbx_1", None)
    (tmp_path / "f").write_text("hi")
    box = "/sandbox/sandboxes/sbx_1"
    for words, calls in (
            (["create"], [("POST", "/sandbox/sandboxes", None)]),
            (["exec", "sbx_1", "ls", "--timeout", "5"], [get, ("POST", f"{box}/exec", {"command": "ls", "timeout": 5})]),
            (["run", "sbx_1", "1"], [get, ("POST", f"{box}/interpret/execute", {"code": "1"})]),
            (["list"], [("GET", "/sandbox/sandboxes", None)]),
            (["kill", "sbx_1"], [get, ("DELETE", box, None)]),
            (["file", "read", "sbx_1", "p"], [get, ("POST", f"{box}/files/read", {"path": "p"})]),
            (["file", "write", "sbx_1", "p", "c"], [get, ("POST", f"{box}/files/write", {"path": "p", "content": "c"})]),
            (["file", "upload", "sbx_1", "f", "r"],
             [get, ("POST", f"{box}/files/upload", {"path": "r", "content": base64.b64encode(b"hi").decode()})]),
            (["file", "ls", "sbx_1"], [get, ("POST", f"{box}/files/list", {"path": "/workspace"})])):
        recorder.seen.clear()
        cli(*words, III_SANDBOX_URL=url, III_SANDBOX_TOKEN="s3cret")
        without_id = [(m, p, {k: v for k, v in b.items() if k != "id"} if b else None) for m, p, b, _ in recorder.seen]
        assert without_id == calls, words
        assert {auth for *_, auth in recorder.seen} == {"Bearer s3cret"}


def test_serve_starts_a_server(env, tmp_path):
    proc = subprocess.Popen(["iii-sandbox", "serve", "--port", "0", "--engine-port", "0", "--data-dir", str(tmp_path / "d")],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env)
    try:
        line = next(line for line in proc.stdout if line.startswith("ready rest="))
        port = harness.ready_ports(line)[0]
        assert ok(subprocess.run(["iii-sandbox", "health", "--server", f"http://127.0.0.1:{port}"], capture_output=True, text=True, env=env,
                                 timeout=harness.DEADLINE_S, check=False)).split() == ["status", "healthy"]
    finally:
        proc.terminate()
        assert proc.wait(harness.DEADLINE_S) == 0
        proc.stdout.close()


def test_version_and_help(cli):
    for word in ("-v", "--version"):
        assert re.match(r"iii-sandbox/0\.1\.0 ", ok(cli(word)))
    for words in (["--help"], ["-h"], ["help"], []):
        text = ok(cli(*words))
        for name in ("create", "exec", "run", "list", "kill", "logs", "file", "serve", "snapshot", "volume", "network", "port", "queue",
                     "events", "metrics", "top", "token", "template"):
            assert re.search(rf"^  {name} ", text, re.M), name
    assert "Examples:" in ok(cli("exec", "--help")) and "III_SANDBOX_URL" in ok(cli("list", "-h"))


# --- errors ---

def test_errors_are_one_line_with_a_way_out(cli, sandbox):
    failed(cli("exec", harness.UNKNOWN, "true"), harness.UNKNOWN, "404", "iii-sandbox ps")
    failed(cli("kill", harness.UNKNOWN), "404")
    failed(cli("file", "read", sandbox, "none.txt"), "none.txt", "404")
    failed(cli("exec", sandbox), "missing operand", "--help")
    failed(cli("exec", sandbox, "true", "--bogus"), "--bogus")
    failed(cli("exec", sandbox, "true", "--timeout", "soon"), "timeout", "soon")
    failed(cli("list", III_SANDBOX_URL="http://127.0.0.1:1"), "127.0.0.1:1", "iii-sandbox serve", "III_SANDBOX_URL")
    failed(cli("list", III_SANDBOX_URL="nonsense"), "nonsense")
    done = cli("frobnicate")
    assert done.returncode == 1 and "frobnicate" in done.stderr and "Usage: iii-sandbox" in done.stderr
    assert cli("snapshot", "frobnicate").returncode == 1 and cli("snapshot").returncode == 1


def test_a_server_that_is_another_one(cli, tmp_path):
    """Whatever answers there is not believed: no empty list, no empty file."""
    class Other(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", self.server.kind)
            self.end_headers()
            self.wfile.write(self.server.text)

        do_POST = do_GET

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Other) as other:
        url = f"http://127.0.0.1:{other.server_port}"
        threading.Thread(target=other.serve_forever, daemon=True).start()
        other.kind, other.text = "text/html", b"<html>hello</html>"
        failed(cli("list", III_SANDBOX_URL=url), url, "not an iii-sandbox server")
        failed(cli("cp", "sbx_1:a", "here", III_SANDBOX_URL=url), "not an iii-sandbox server")
        other.kind, other.text = "application/json", b'{"id": "\\u001b[31mred", "exitCode": 0}'
        failed(cli("cp", "sbx_1:a", "here", III_SANDBOX_URL=url), "not an iii-sandbox server")
        assert ESCAPE not in ok(cli("create", III_SANDBOX_URL=url)) and not (tmp_path / "here").exists()
        assert ok(cli("exec", "sbx_1", "true", III_SANDBOX_URL=url)).count(ESCAPE) == 0
        other.shutdown()


def test_a_token_by_flag_variable_and_file(tmp_path_factory, env):
    place = tmp_path_factory.mktemp("token")
    config = place / "config.json"
    with harness.Server(env={"III_AUTH_TOKEN": "right"}, token="right") as server:
        url = f"http://127.0.0.1:{server.port}"

        def run(*words, **more):
            return subprocess.run(["iii-sandbox", *words], capture_output=True, text=True, check=False, timeout=harness.DEADLINE_S,
                                  env={**{k: v for k, v in env.items() if not k.startswith("III_")}, **more})

        failed(run("list", "--server", url), "401", "--token", "III_SANDBOX_TOKEN")
        assert ok(run("--server", url, "--token=right", "list")) == "No active sandboxes\n"
        assert ok(run("list", III_SANDBOX_URL=url, III_SANDBOX_TOKEN="right")) == "No active sandboxes\n"
        failed(run("list", III_SANDBOX_URL=url, III_SANDBOX_TOKEN="wrong"), "403")
        config.write_text(json.dumps({"url": url, "token": "right"}))
        config.chmod(0o644)
        failed(run("list", III_SANDBOX_CONFIG=str(config)), "chmod 600", str(config))
        config.chmod(0o600)
        assert ok(run("list", III_SANDBOX_CONFIG=str(config))) == "No active sandboxes\n"
        failed(run("list", III_SANDBOX_CONFIG=str(place / "none.json")), "none.json")
        config.write_text("{")
        failed(run("list", III_SANDBOX_CONFIG=str(config)), "config.json")
        ok(run("list", III_SANDBOX_URL=url, III_SANDBOX_TOKEN="right"))


# --- the rest of the interface, by noun and by operation ---

def test_every_operation_has_a_command(cli, client):
    """Each operation of the server's own document is below `api`, with an option for each of its parameters."""
    document = client.ok("GET", "/openapi.json")
    listed = re.findall(r"^  (\w+) ", ok(cli("api", "--help")).partition("Commands:")[2].partition("Examples:")[0], re.M)
    known = {op["operationId"]: op for path in document["paths"].values() for op in path.values() if "operationId" in op}
    others = {name for name in known if name.endswith("_alias")  # further paths of the same operations
              or name.startswith("fs_content_") or name == "image_build"}  # bytes, which are the business of `cp` and `build`
    assert len(known) > 90 and set(known) - others == set(listed), set(known) ^ set(listed)
    text = ok(cli("api", "cmd_run", "--help"))
    for field in ("--id", "--command", "--timeout", "--cwd", "--params"):
        assert field in text


def test_api_types_what_it_sends(cli, sandbox):
    result = json.loads(ok(cli("api", "cmd_run", f"--id={sandbox}", "--command", "echo $0", "--timeout=9", "--json")))
    assert result["exitCode"] == 0
    words = json.loads(ok(cli("api", "cmd_run", "--id", sandbox, "--command", "printf", "--command", "%s", "--command", "a b", "--json")))
    assert words["stdout"] == "a b"
    ok(cli("api", "env_set", "--id", sandbox, "--vars", "A=1", "--vars", "B=x=y"))
    assert json.loads(ok(cli("api", "env_list", "--id", sandbox, "--json")))["vars"].items() >= {"A": "1", "B": "x=y"}.items()
    piped = cli("api", "fs_write", "--params", "-", stdin=json.dumps({"id": sandbox, "path": "n", "content": "a\0b"}))
    assert piped.returncode == 0 and ok(cli("exec", sandbox, "wc -c <n")).strip() == "3"
    failed(cli("api", "cmd_run", "--params", "[1]"), "--params")
    told = json.loads(failed(cli("api", "sandbox_get", "--id", harness.UNKNOWN, "--json")))
    assert (told["status"], told["code"]) == (404, "not_found") and harness.UNKNOWN in told["error"]


def test_api_streams_when_asked_to(cli, sandbox):
    started = json.loads(ok(cli("durable", "start", sandbox, "echo streamed", "--json")))
    lines = ok(cli("api", "exec_output", "--execId", started["id"], "--stream", "--json")).splitlines()
    assert [json.loads(line)["type"] for line in lines] == ["output", "exit"]
    assert ok(cli("durable", "output", started["id"])) == "streamed\n"


def test_nouns(cli, sandbox):
    snapshot = json.loads(ok(cli("snapshot", "create", sandbox, "before", "--json")))
    table = ok(cli("snapshot", "list", sandbox)).splitlines()
    assert table[0].startswith("ID ") and "CREATED" in table[0] and table[1].startswith(snapshot["id"]) and "before" in table[1]
    assert ok(cli("snapshot", "rm", snapshot["id"])).split() == ["deleted", snapshot["id"]]
    volume = json.loads(ok(cli("volume", "create", "cli-volume", "--json")))
    assert volume["id"] in ok(cli("volume", "ls")) and ok(cli("volume", "delete", volume["id"]))
    ok(cli("env", "set", sandbox, "CLI=yes", "MORE=a=b"))
    assert ok(cli("env", "list", sandbox)).count("MORE=a=b\n") == 1
    job = json.loads(ok(cli("queue", "submit", sandbox, "echo queued", "--max-retries", 1, "--json")))
    harness.wait_until(lambda: json.loads(ok(cli("queue", "status", job["id"], "--json")))["status"] == "completed", "the job")
    assert "pid" in ok(cli("process", "list", sandbox)).lower()
    assert "python" in ok(cli("template", "list")) and "status" in ok(cli("get", sandbox))
    assert ok(cli("background", "start", sandbox, "sleep 0")) and ok(cli("kernels", sandbox)).startswith("NAME")
    assert ok(cli("pause", sandbox)) and ok(cli("resume", sandbox))
    before = json.loads(ok(cli("get", sandbox, "--json")))["expiresAt"]
    assert json.loads(ok(cli("renew", sandbox, "2h", "--json")))["expiresAt"] > before
    failed(cli("renew", sandbox, "soonish"), "soonish")
    failed(cli("template", "create", "t"), "--config")


@harness.needs("network")
def test_networks(cli, sandbox):
    network = json.loads(ok(cli("network", "create", "cli-network", "--json")))
    ok(cli("network", "connect", network["id"], sandbox))
    assert sandbox in ok(cli("network", "list"))
    ok(cli("network", "delete", network["id"]))


def test_git_passes_on_its_exit_code(cli, sandbox):
    ok(cli("exec", sandbox, "git init -q repo"))
    done = cli("git", "checkout", sandbox, "no-such-branch", "--path", "/workspace/repo")
    assert done.returncode != 0 and "no-such-branch" in done.stderr


def test_metrics_and_top_in_a_pipe(cli, sandbox):
    assert "activeSandboxes" in ok(cli("metrics")) and "memoryLimitMb" in ok(cli("metrics", sandbox))
    lines = ok(cli("top")).splitlines()
    assert lines[0].split()[:3] == ["ID", "IMAGE", "STATUS"] and any(line.startswith(sandbox) for line in lines)
    assert ok(cli("top", sandbox)).startswith("PID") and isinstance(json.loads(ok(cli("top", "--json"))), list)
    failed(cli("top", "--interval", "0"), "--interval")
    failed(cli("metrics", sandbox, "--interval", "1"), "--interval")
    failed(cli("metrics", "-f"), "top")
    failed(cli("events", "-f", "--limit", "1"), "--limit")
    failed(cli("events", "nonsense"), "nonsense")


def test_events(cli, sandbox, env):
    topics = ok(cli("events", "--sandbox-id", sandbox))
    assert "sandbox.created" in topics
    proc = subprocess.Popen(["iii-sandbox", "events", "-f", "--topic", "cli.test", "--json"], stdout=subprocess.PIPE, text=True, env=env)
    try:
        def publish():
            ok(cli("events", "publish", "cli.test", sandbox, "--data", "n=1", "--data", "word=x"))
            return select.select([proc.stdout], [], [], 0.2)[0]
        harness.wait_until(publish, "the follower to see an event")
        event = json.loads(proc.stdout.readline())
        assert (event["topic"], event["data"]) == ("cli.test", {"n": 1, "word": "x"})
        proc.send_signal(signal.SIGINT)
        assert proc.wait(harness.DEADLINE_S) == 130
    finally:
        proc.kill()
        proc.wait()
        proc.stdout.close()


# --- terminals ---

def test_colours_on_a_terminal_only(cli, env, sandbox):
    assert ESCAPE not in ok(cli("list"))
    with Terminal(env, "iii-sandbox", "list") as term:
        assert term.exit_code() == 0 and ESCAPE.encode() in term.got and sandbox.encode() in term.got
    with Terminal({**env, "NO_COLOR": "1"}, "iii-sandbox", "list") as term:
        assert term.exit_code() == 0 and ESCAPE.encode() not in term.got and sandbox.encode() in term.got


def test_an_answer_that_is_long_in_coming_is_waited_for_in_sight(cli, env, sandbox):
    with Terminal(env, "iii-sandbox", "api", "cmd_run", "--id", sandbox, "--command", "sleep 5") as term:
        assert term.exit_code() == 0 and b"waiting for the server: 3s" in term.got, term.got
    done = cli("api", "cmd_run", "--id", sandbox, "--command", "sleep 4")
    assert done.returncode == 0 and done.stderr == ""


def test_short_names_of_commands(cli, sandbox):
    assert ok(cli("ls")) == ok(cli("list")) and sandbox in ok(cli("ls"))
    told = failed(cli("kill", harness.UNKNOWN), harness.UNKNOWN)
    assert "iii-sandbox ps" in told
    assert "iii-sandbox ps" not in failed(cli("create", "no-such-image"), "no-such-image")


def test_tables_fit_the_terminal(env, sandbox):
    with Terminal(env, "iii-sandbox", "process", "list", sandbox, size=(24, 60)) as term:
        assert term.exit_code() == 0
        plain = re.sub(r"\x1b\[[0-9;]*m", "", term.got.decode())
        assert plain and all(len(line) <= 60 for line in plain.splitlines()), plain


def test_exec_it(env, sandbox, client):
    with Terminal(env, "iii-sandbox", "exec", "-it", sandbox, size=(43, 132)) as term:
        term.type(b"test -t 0 && echo is''tty; stty size\n")
        term.until(b"istty")
        term.until(b"43 132")
        term.resize(20, 50)

        def is_smaller():
            term.got = b""
            term.type(b"echo $(stty size) e''nd\n")
            return b"20 50 end" in term.until(b" end\r\n")
        harness.wait_until(is_smaller, "the new size")
        term.type(b"echo slee''ping; sleep 1000\n")
        term.until(b"sleeping")
        term.got = b""

        def is_interrupted():
            term.type(b"\x03")  # one that comes between the shell's fork and sleep's start is lost in the shell's own handler
            return term.saw(b"# ", 2)
        harness.wait_until(is_interrupted, "the shell's prompt")
        term.type(b"echo back''again; exit 9\n")
        term.until(b"backagain")
        assert term.exit_code() == 9


def test_exec_it_with_a_command(env, sandbox):
    with Terminal(env, "iii-sandbox", "exec", "-it", sandbox, "--", "python3", "-c", "print('is', 'it'); raise SystemExit(6)") as term:
        assert term.exit_code() == 6
        assert b"is it" in term.got and b"printf" not in term.got
    with Terminal(env, "iii-sandbox", "exec", "-it", sandbox, "echo one; echo two; exit 4") as term:
        assert term.exit_code() == 4 and b"one\r\ntwo" in term.got


def test_exec_it_takes_signals(env, sandbox, client):
    with Terminal(env, "iii-sandbox", "exec", "-it", sandbox, "--", "sh", "-c", "trap 'echo got''int' INT; echo up''now; while :; do sleep 0.1; done") as term:
        term.until(b"upnow")
        os.kill(term.pid, signal.SIGINT)
        term.until(b"gotint")
        os.kill(term.pid, signal.SIGTERM)
        assert term.exit_code() == 143
    gone = lambda: not any("gotint" in p["command"] or "upnow" in p["command"]  # noqa: E731
                           for p in client.ok("GET", f"/sandboxes/{sandbox}/processes")["processes"])
    harness.wait_until(gone, "the terminal that was left")


def test_tls_and_a_token_for_requests_and_terminals(home, env, tmp_path):
    authority = certs.Authority(tmp_path)
    cert, key = authority.issue("server")
    with harness.Server(flags=["--tls-cert", str(cert), "--tls-key", str(key), "--auth-token", "right"], token="right") as server:
        url = f"https://127.0.0.1:{server.port}"
        env = {**env, "III_SANDBOX_URL": url, "III_SANDBOX_TOKEN": "right"}

        def run(*words, **more):
            return subprocess.run(["iii-sandbox", *words], capture_output=True, text=True, check=False, timeout=harness.DEADLINE_S, env={**env, **more})

        assert "certificate" in failed(run("list"))
        sid = json.loads(ok(run("create", "python", "--json", "--ca-cert", str(authority.cert))))["id"]
        env["III_CA_CERT"] = str(authority.cert)
        with Terminal(env, "iii-sandbox", "exec", "-it", sid) as term:
            term.type(b"echo by''tls; exit 5\n")
            term.until(b"bytls")
            assert term.exit_code() == 5
        assert ok(run("kill", sid)) == f"Killed sandbox: {sid}\n"


def test_exec_it_needs_a_terminal(cli, sandbox):
    failed(cli("exec", "-it", sandbox, stdin=""), "terminal")
    failed(cli("exec", "-it", "--json", sandbox), "--json", "-t")


def test_top_is_live(env, sandbox):
    with Terminal(env, "iii-sandbox", "top", "--interval", "1", size=(24, 120)) as term:
        term.until(b"\x1b[?1049h")
        term.until(sandbox.encode())
        term.got = b""
        term.until(b"\x1b[H\x1b[J")  # a second picture
        term.type(b"q")
        assert term.exit_code() == 0 and term.got.endswith(b"\x1b[?1049l")
    with Terminal({**env, "III_SANDBOX_URL": "http://127.0.0.1:1"}, "iii-sandbox", "top") as term:
        assert term.exit_code() == 1
        assert b"error:" in term.got.partition(b"\x1b[?1049l")[2], "what went wrong stays to be read"
    with Terminal(env, "iii-sandbox", "top", sandbox, "--interval", "1") as term:
        term.until(b"COMMAND")
        os.kill(term.pid, signal.SIGINT)
        assert term.exit_code() == 0 and b"\x1b[?1049l" in term.got


# --- completion and manual pages ---

def test_completion_scripts(cli, env, sandbox, tmp_path):
    bash = ok(cli("completion", "bash"))
    (tmp_path / "c").write_text(bash)
    script = ('. ./c; COMP_WORDS=(iii-sandbox {words}); COMP_CWORD={at}; _iii_sandbox; printf "%s\\n" "${{COMPREPLY[@]}}"')
    def complete(*words):
        done = subprocess.run(["bash", "-c", script.format(words=" ".join(f"'{w}'" for w in words), at=len(words))], capture_output=True, text=True,
                              env=env, cwd=tmp_path, timeout=harness.DEADLINE_S, check=False)
        return ok(done).split()
    assert "snapshot" in complete("sn") and complete("snapshot", "cr") == ["create"] and "--server" in complete("list", "--s")
    assert sandbox in complete("exec", "sbx_") and "cmd_run" in complete("api", "cmd_r")
    for shell, mark in (("zsh", "#compdef iii-sandbox"), ("fish", "complete -c iii-sandbox")):
        assert mark in ok(cli("completion", shell))
    failed(cli("completion", "tcsh"), "tcsh")


def test_manual_pages(cli, tmp_path):
    (tmp_path / "man").mkdir()
    ok(cli("man", "man"))
    names = {p.name for p in (tmp_path / "man").iterdir()}
    assert names == {"iii-sandbox.1"}, "the pages of the commands are those of iii"
    page = (tmp_path / "man" / "iii-sandbox.1").read_text()
    assert '.TH "III\\-SANDBOX" 1' in page and "exec ID COMMAND" in page and "iii\\-ps (1)" in page
