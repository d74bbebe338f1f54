"""`iii serve --takeover`: another server goes on with ports, connections and sandboxes; one that cannot changes nothing."""
import contextlib
import fcntl
import http.client
import json
import os
import pathlib
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time

import pytest

import certs
import harness
import inside
import leak
import wsclient

TAKEOVERS = 10
NOTE = struct.Struct("<6I32s256s")
MAGIC, VERSION, ASK, OFFER, NO, GO, DONE = 0x69696954, 1, 1, 2, 3, 4, 5


def note(kind, version=VERSION, agent=0, boxes=0, schema=1, program=b"9.9.9", text=b""):
    return NOTE.pack(MAGIC, version, kind, agent, boxes, schema, program, text)


@pytest.fixture
def serve():
    """Servers that end without leaving anything; the test may have several, one after the other on the same folder."""
    with contextlib.ExitStack() as all_of_them:
        yield lambda **kw: all_of_them.enter_context(leak.watched(harness.Server(**kw)))


class Load:
    """Clients that never stop and never try anything twice: whatever goes wrong for one of them is a failure."""

    def __init__(self, server, sids):
        self.server, self.sids = server, sids
        self.stop, self.errors, self.threads = threading.Event(), [], []
        self.lines, self.files, self.jobs, self.count = [], [], [], 0

    def call(self, conn, method, path, body):
        conn.request(method, harness.PREFIX + path, body=json.dumps(body), headers={"Content-Type": "application/json"})
        answer = conn.getresponse()
        data = answer.read()
        if answer.will_close:
            conn.close()  # connects anew at the next request
        assert answer.status == 200, (method, path, answer.status, data[:300])
        self.count += 1
        return data

    def commands(self, conn, number):
        word = f"c{number}"
        self.call(conn, "POST", f"/sandboxes/{self.sids[number % 2]}/exec", {"command": f"echo {word} >> /workspace/lines"})
        self.lines.append((self.sids[number % 2], word))

    def uploads(self, conn, number):
        path, text = f"/workspace/up/{number}", f"content of {number} " * 2000
        self.call(conn, "POST", f"/sandboxes/{self.sids[number % 2]}/files/write", {"path": path, "content": text})
        self.files.append((self.sids[number % 2], path, text))

    def streams(self, conn, number):
        data = self.call(conn, "POST", f"/sandboxes/{self.sids[number % 2]}/exec/stream", {"command": "for i in 1 2 3 4 5; do echo s$i; sleep 0.02; done"})
        assert all(f"s{i}".encode() in data for i in range(1, 6)), data

    def background(self, conn, number):
        sid = self.sids[number % 2]
        made = json.loads(self.call(conn, "POST", f"/sandboxes/{sid}/exec/background", {"command": f"echo b{number}; sleep 0.1; echo end{number}"}))
        self.jobs.append((made["id"], number))
        time.sleep(0.02)

    def fresh(self, _, number):
        """A new connection each time: none may be refused."""
        conn = http.client.HTTPConnection("127.0.0.1", self.server.port if number % 2 else self.server.engine_port, timeout=harness.DEADLINE_S)
        conn.request("GET", "/sandbox/health")
        conn.getresponse().read()
        conn.close()
        self.count += 1
        time.sleep(0.002)

    def run(self, work):
        conn = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=harness.DEADLINE_S * 2)
        number = 0
        while not self.stop.is_set():
            try:
                work(conn, number)
            except Exception as error:  # the test's verdict
                self.errors.append((work.__name__, repr(error)))
                return
            number += 1
        conn.close()

    def __enter__(self):
        for work in (self.commands, self.uploads, self.streams, self.background, self.fresh):
            self.threads.append(threading.Thread(target=self.run, args=(work,)))
            self.threads[-1].start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        for thread in self.threads:
            thread.join(harness.DEADLINE_S * 2)
            assert not thread.is_alive(), "work that never ends: a call without an answer"


def box_processes(server):
    """{pid: start time} of the first processes of the sandboxes."""
    found = {}
    for entry in (server.data_dir / "boxes").iterdir():
        if (entry / "id").is_symlink():
            pid, start, _ = os.readlink(entry / "pid").split(":")
            found[int(pid)] = int(start)
    return found


def test_ten_takeovers_under_load(serve):
    server = serve(env={"III_MAX_BACKGROUND": "4000", "III_TAKEOVER_GRACE_MS": "60000"})  # whatever is under way may end, on a busy host too
    with harness.Client(server.port) as caller:
        sids = [caller.create(name=f"u{i}")["id"] for i in range(2)]
        quiet = caller.create(network=True)["id"]
        for sid in sids:
            caller.exec(sid, "mkdir -p /workspace/up; : > /workspace/lines")
        web = caller.ok("POST", f"/sandboxes/{quiet}/exec/background", {"command": "exec python3 -m http.server 8000 --bind 127.0.0.1"})
        port = inside.expose(caller, quiet, 8000)["hostPort"]
        harness.wait_until(lambda: is_answering(port), "the web server inside")
        paused = caller.create()["id"]
        caller.ok("POST", f"/sandboxes/{paused}/pause")
        before = box_processes(server)
        server.held.look(server.pid)
        with Load(server, sids) as load:
            for number in range(TAKEOVERS):
                count = load.count
                assert server.takeover() is None
                server.held.look(server.pid)
                assert is_answering(port), f"the exposed port after takeover {number}"
                harness.wait_until(lambda: load.count > count + 5 or load.errors, "work after the takeover")
        assert load.errors == []
        assert box_processes(server) == before
        for pid, start in before.items():
            assert leak.stat_fields(pid)[1] == start
        for sid in sids:
            lines = caller.exec(sid, "cat /workspace/lines")["stdout"].split()
            assert [word for where, word in load.lines if where == sid] == lines, "acknowledged commands, each once and in order"
        for sid, path, text in load.files[-20:] + load.files[:20]:
            assert caller.ok("POST", f"/sandboxes/{sid}/files/read", {"path": path}) == text
        for job, number in load.jobs:
            harness.wait_until(lambda: not caller.ok("GET", f"/exec/background/{job}/status")["running"], "a background command to end")
            assert caller.ok("GET", f"/exec/background/{job}/logs")["output"] == f"b{number}\nend{number}\n"
        assert caller.ok("GET", f"/exec/background/{web['id']}/status")["running"] is True
        assert caller.ok("GET", f"/sandboxes/{paused}")["status"] == "paused"
        caller.ok("POST", f"/sandboxes/{paused}/resume")
        assert caller.exec(paused, "echo thawed")["stdout"] == "thawed\n"


def is_answering(port):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=harness.DEADLINE_S) as sock:
            sock.sendall(b"HEAD / HTTP/1.0\r\n\r\n")
            return sock.recv(100).startswith(b"HTTP/1.0 200")
    except ConnectionResetError:
        return False  # not listening inside yet


def test_what_takes_too_long_is_cut_and_terminals_are_told(serve):
    server = serve(env={"III_TAKEOVER_GRACE_MS": "300"})
    with harness.Client(server.port) as caller, harness.Client(server.port) as other:
        sid = caller.create()["id"]
        answer = other.open("POST", f"/sandboxes/{sid}/exec/stream", {"command": "echo up; sleep 99971", "timeout": 100})
        answer.readline()
        session = caller.ok("POST", f"/sandboxes/{sid}/terminal", {})
        shell = wsclient.WebSocket(server.port, f"/sandbox/sandboxes/{sid}/terminal/{session['sessionId']}/ws")
        worker = wsclient.WebSocket(server.engine_port, "/")
        assert server.takeover() is None
        with pytest.raises((http.client.HTTPException, ConnectionError)):
            answer.read()
        for one in (shell, worker):
            with pytest.raises(wsclient.Closed) as closed:
                while True:
                    one.recv()
            assert closed.value.code == 1001
            one.cut()
        harness.wait_until(lambda: "99971" not in caller.exec(sid, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")["stdout"], "the cut command to end")


def test_a_new_server_that_cannot_start_leaves_the_old_one(serve, tmp_path):
    server = serve()
    with harness.Client(server.port) as caller:
        sid = caller.create()["id"]
        caller.exec(sid, "echo kept > /workspace/f")
        before, pid = box_processes(server), server.pid

        def still_there():
            assert server.pid == pid and server.proc.poll() is None
            assert caller.exec(sid, "cat /workspace/f")["stdout"] == "kept\n"
            assert box_processes(server) == before

        # Before anything has changed …
        assert "unknown option" in server.takeover(flags=["--no-such-option"])
        assert "III_AUTH_TOKEN" in server.takeover(flags=["--host", "0.0.0.0"])
        server.takeover(binary="/bin/false")
        still_there()
        assert "takeover.failed" not in server.log()
        # … and after the old one has let go of everything.
        assert "III_TTL_SWEEP" in server.takeover(env={"III_TTL_SWEEP": "never ever"})
        still_there()
        assert server.log().count("takeover.failed") == 1
        assert server.takeover() is None
        pid = server.pid
        still_there()


def dial(server):
    conn = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    conn.settimeout(harness.DEADLINE_S)
    conn.connect(str(server.data_dir / "takeover.sock"))
    return conn


def answer_to(server, message):
    with dial(server) as conn:
        try:
            conn.sendall(message)
        except BrokenPipeError:
            pass  # refused before it said anything
        return NOTE.unpack(conn.recv(1000))


def test_a_caller_that_makes_no_sense_is_refused(serve):
    server = serve()
    with harness.Client(server.port) as caller:
        sid = caller.create()["id"]
        caller.exec(sid, "true")  # so that its agent has said which version it speaks
        for message in (b"x", note(GO), note(ASK)[:-1], note(ASK) + b"x", b"\0" * NOTE.size, note(ASK, version=2), note(99)):
            assert answer_to(server, message)[2] == NO
        with dial(server) as conn:
            conn.sendall(note(ASK))
            offer = NOTE.unpack(conn.recv(1000))
            assert offer[2] == OFFER and offer[3:6] == (1, 1, 1)
            assert b"in progress" in answer_to(server, note(ASK))[7]
            conn.sendall(note(ASK))
            assert NOTE.unpack(conn.recv(1000))[2] == NO
        assert "server.takeover" not in server.log()
        # One that says GO and leaves: everything is opened again.
        with dial(server) as conn:
            conn.sendall(note(ASK))
            conn.recv(1000)
            conn.sendall(note(GO))
            conn.recv(1000)
        assert caller.exec(sid, "echo on")["stdout"] == "on\n"
        assert "takeover.failed" in server.log()


@pytest.mark.skipif(not harness.IS_ROOT, reason="needs another user")
def test_only_the_same_user_and_root_may(serve):
    server = serve()
    sock = server.data_dir / "takeover.sock"
    assert sock.stat().st_mode & 0o777 == 0o600
    sock.chmod(0o666)  # so that the check behind the permissions is what refuses
    code = ("import os,socket,sys; s=socket.socket(socket.AF_UNIX,socket.SOCK_SEQPACKET); os.fchdir(3); os.setgid(4242); os.setuid(4242); "
            "s.connect('takeover.sock'); sys.stdout.buffer.write(s.recv(1000))")
    folder = os.open(server.data_dir, os.O_RDONLY)
    server.data_dir.chmod(0o711)
    said = subprocess.run([sys.executable, "-c", f"import os; os.dup2({folder}, 3)\n" + code], capture_output=True, pass_fds=[folder], check=True, timeout=harness.DEADLINE_S)
    os.close(folder)
    assert b"only root and the user" in said.stdout


@pytest.mark.parametrize("offer,words", [
    (note(OFFER, agent=99), "agent with protocol 99"), (note(OFFER, schema=7), "schema 7"), (note(NO, text=b"not today"), "not today"),
    (note(OFFER, version=2), "takeover protocol 2"), (b"hello", "does not support our takeover protocol"), (None, "does not answer")])
def test_versions_that_do_not_fit_are_found_before_anything_changes(tmp_path, offer, words):
    """We are the running server here, of another version: it must not be told to let go."""
    heard = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
        door.bind(str(tmp_path / "takeover.sock"))
        door.listen()
        door.settimeout(harness.DEADLINE_S)

        def answer():
            conn, _ = door.accept()
            heard.append(NOTE.unpack(conn.recv(1000))[2])
            if offer:
                conn.sendall(offer)
                heard.append(conn.recv(1000))
            conn.close()

        thread = threading.Thread(target=answer)
        thread.start()
        said = harness.run_cli("serve", "--takeover", "--port", "0", "--engine-port", "0", "--data-dir", tmp_path)
        thread.join(harness.DEADLINE_S)
    assert said.returncode == 1 and words in said.stderr, said.stderr
    assert heard == ([ASK, b""] if offer else [ASK])
    assert sorted(os.listdir(tmp_path)) == ["takeover.sock"]


def test_without_a_server_it_is_an_ordinary_start(serve):
    server = serve(flags=["--takeover"])
    with harness.Client(server.port) as caller:
        sid = caller.create()["id"]
        server.kill()
        assert (server.data_dir / "takeover.sock").exists()  # left over: nobody listens
        server.start()
        caller.port = server.port
        caller.close()
        assert caller.exec(sid, "echo again")["stdout"] == "again\n"


def test_a_running_server_that_is_killed_in_the_middle(serve):
    """It had the data folder; the new one finds it free and adopts the sandboxes."""
    server = serve(env={"III_TAKEOVER_GRACE_MS": "60000"})
    with harness.Client(server.port) as caller, harness.Client(server.port) as other:
        sid = caller.create()["id"]
        other.open("POST", f"/sandboxes/{sid}/exec/stream", {"command": "echo up; sleep 99972", "timeout": 100}).readline()
        old, server.proc = server.proc, None
        with open(server.log_path, "ab") as log:
            start = log.tell()
            server.proc = subprocess.Popen([*server.argv(), "--takeover"], stdout=log, stderr=log, env=harness.clean_env({"HOME": server.home, **harness.backend_env(), **server.env}))
        harness.wait_until(lambda: "server.takeover" in server.log(), "the old one to let requests finish")
        old.kill()
        old.wait()
        server.port, server.engine_port = harness.wait_until(lambda: harness.ready_ports(pathlib.Path(server.log_path).read_text()[start:]), "the new one")
        assert "takeover.alone" in server.log()
        with harness.Client(server.port) as again:
            assert again.exec(sid, "echo here")["stdout"] == "here\n"


def test_the_lock_of_a_server_that_is_killed_is_waited_for(serve, tmp_path):
    """We are that server here: the kernel closes its connection before its lock."""
    folder = tmp_path / "data"
    harness.fill(folder)
    folder.mkdir(exist_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door, open(folder / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        door.bind(str(folder / "takeover.sock"))
        door.listen()
        door.settimeout(harness.DEADLINE_S)

        def die():
            conn, _ = door.accept()
            conn.recv(1000)
            conn.sendall(note(OFFER))
            assert NOTE.unpack(conn.recv(1000))[2] == GO
            conn.close()
            time.sleep(0.2)  # only one that does not wait would end in this time
            fcntl.flock(lock, fcntl.LOCK_UN)

        thread = threading.Thread(target=die)
        thread.start()
        server = serve(data_dir=folder, flags=["--takeover"])
        thread.join(harness.DEADLINE_S)
    assert "takeover.alone" in server.log()


def test_tls_ports_go_to_the_next_door(serve, tmp_path):
    """The listeners are the door's; the next server's door accepts on them, with the certificate that is there then."""
    authority = certs.Authority(tmp_path)
    cert, key = authority.issue("first")
    server = serve(flags=["--tls-cert", cert, "--tls-key", key])
    trust = ssl.create_default_context(cafile=authority.cert)

    def health():
        with socket.create_connection(("127.0.0.1", server.port), timeout=harness.DEADLINE_S) as plain:
            with trust.wrap_socket(plain, server_hostname="localhost") as sock:
                sock.sendall(b"GET /sandbox/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                return harness.status_of(sock.recv(4096))

    assert health() == 200
    assert server.takeover() is None
    assert health() == 200
    assert "III_TTL_SWEEP" in server.takeover(env={"III_TTL_SWEEP": "never ever"})
    assert health() == 200
