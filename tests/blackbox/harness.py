"""Starts the real server and talks to it with nothing but the standard library, so that no SDK is its own judge."""
import atexit
import functools
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import pytest

import dockerkit
import leak
import otherengines
import qemukit

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BINARY = pathlib.Path(os.environ.get("III_BIN") or ROOT / "build" / "iii").resolve()
IS_KEEPING = bool(os.environ.get("III_TEST_KEEP"))  # servers and folders stay after a test: docs/debugging.md
IS_SANITIZED = os.environ.get("III_SANITIZED") == "1"
IS_ROOT = os.geteuid() == 0
BACKEND = os.environ.get("III_TEST_BACKEND") or "native"
# How much longer than natively anything may take; a machine is emulated, and others are beside it.
IN_MACHINES = BACKEND in ("qemu", "firecracker")
SLOWNESS = 6 if IN_MACHINES else 2 if IS_SANITIZED or BACKEND != "native" else 1
# Deadlines are for broken servers only: no test asserts how long something takes.
DEADLINE_S = 30 * SLOWNESS
REPORTS = ("AddressSanitizer", "LeakSanitizer", "UndefinedBehaviorSanitizer", "runtime error:", "Assertion `")
PREFIX = "/sandbox"
# A shell that starts the tests in the background has these ignored, and what we start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
UNKNOWN = "sbx_" + "0" * 24


def wait_until(condition, what, deadline_s=None):
    """Returns the first true value of condition(); fails naming `what` at the deadline."""
    end = time.monotonic() + (deadline_s or DEADLINE_S)
    pause_s = 0.002
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"waited in vain: {what}")
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, 0.1)


def clean_env(extra=None):
    """This process's environment without the III_ variables that would change the server, and with those of the test."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("III_")}
    env["III_ON_SHUTDOWN"] = "remove"  # a test leaves nothing behind
    env.update({k: str(v) for k, v in (extra or {}).items()})
    return env


@functools.lru_cache(maxsize=1)
def engine():
    """The engine of this process, started when it is needed first."""
    made = otherengines.make().start()
    atexit.register(made.remove)
    made.add_image()
    for name in dockerkit.NAMES:
        made.tag(dockerkit.IMAGE, name)
    return made


@functools.lru_cache(maxsize=1)
def node_image():
    """The name of an image with node."""
    if BACKEND == "docker":
        engine().add_image("node", dockerkit.node_rootfs())
    return "node"


def backend_env():
    """Settings that make a server run on the backend under test."""
    assert BACKEND in ("native", "docker", "qemu", "firecracker"), f"III_TEST_BACKEND is native, docker, qemu or firecracker, not {BACKEND}"
    if BACKEND == "firecracker":
        return {"III_ISOLATION_BACKEND": BACKEND, "III_VM_FIRECRACKER": str(qemukit.firecracker()), "III_VM_TEMPLATES": "false"}
    if BACKEND == "docker":
        return {"III_ISOLATION_BACKEND": "docker", "DOCKER_HOST": engine().host, **engine().server_env}
    return {} if BACKEND == "native" else {"III_ISOLATION_BACKEND": BACKEND}


def make_template(data_dir):
    """A sandbox of the usual size comes and goes: what it was restored from stays."""
    with Server(data_dir=data_dir, env={"III_ISOLATION_BACKEND": "qemu", "III_VM_TEMPLATES": "true"}) as server, Client(server.port, timeout_s=qemukit.MAKE_S) as caller:
        caller.delete(f"/sandboxes/{caller.create()['id']}")


def fill(data_dir, binary=BINARY, user=None):
    """What sandboxes of the backend under test need in a data folder that is not there yet."""
    if IN_MACHINES:
        qemukit.fill(data_dir, binary, make_template, user)


@functools.lru_cache(maxsize=1)
def backend():
    """What a server says of its backend: name, can, lacks."""
    with Server() as server, Client(server.port) as caller:
        return caller.ok("GET", "/metrics")["backends"][0]


def needs(*capabilities):
    """Marks a test of something that not every backend can do: where the backend declares that it cannot, the test is skipped with
    the backend's own reason (conftest.py). The native backend has no such excuse here, but for what it cannot do without root."""
    return pytest.mark.needs(*capabilities)


class Reply:
    """One answer: status, headers by lower-case name, raw body."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)

    @property
    def error(self):
        """The text of an error body; an error has exactly this shape."""
        value = self.json()
        assert isinstance(value, dict) and isinstance(value.get("error"), str), f"not an error body: {value!r}"
        return value["error"]

    def __repr__(self):
        return f"Reply({self.status}, {self.body[:300]!r})"


class Client:
    """A keep-alive JSON client. One per thread."""

    def __init__(self, port, token=None, prefix=PREFIX, timeout_s=None):
        self.port, self.token, self.prefix = port, token, prefix
        self.timeout_s = timeout_s or DEADLINE_S * 4
        self.conn = None

    def close(self):
        if self.conn:
            self.conn.close()
            self.conn = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _connection(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.timeout_s)

    def _send(self, method, path, body, headers):
        if self.conn is None:
            self.conn = self._connection()
            self.conn.connect()
            self.conn.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            fresh = True
        else:
            fresh = False
        try:
            self.conn.request(method, self.prefix + path, body=body, headers=headers)
            return self.conn.getresponse()
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            self.close()
            if fresh:
                raise
            return self._send(method, path, body, headers)  # the server had closed an idle connection

    def open(self, method, path, body=None, headers=None):
        """The raw http.client response, unread: for streams."""
        headers = dict(headers or {})
        if self.token is not None:
            headers.setdefault("Authorization", "Bearer " + self.token)
        if body is not None and not isinstance(body, (bytes, str)) and not hasattr(body, "__next__"):  # an iterator: chunks
            body = json.dumps(body)
        if isinstance(body, str):
            body = body.encode()
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        return self._send(method, path, body, headers)

    def call(self, method, path, body=None, headers=None):
        answer = self.open(method, path, body, headers)
        data = answer.read()
        if answer.will_close:
            self.close()
        return Reply(answer.status, {k.lower(): v for k, v in answer.getheaders()}, data)

    def get(self, path, **kw):
        return self.call("GET", path, **kw)

    def post(self, path, body=None, **kw):
        return self.call("POST", path, {} if body is None else body, **kw)

    def delete(self, path, body=None, **kw):
        return self.call("DELETE", path, body, **kw)

    def ok(self, method, path, body=None):
        """The JSON value of a call that must succeed."""
        reply = self.call(method, path, body)
        assert reply.status == 200, f"{method} {path}: {reply}"
        return reply.json()

    def create(self, **fields):
        return self.ok("POST", "/sandboxes", {"image": "python", **fields})

    def exec(self, sid, command, **fields):
        return self.ok("POST", f"/sandboxes/{sid}/exec", {"command": command, **fields})

    def events(self, method, path, body=None):
        """Yields the JSON values of a server-sent event stream, then closes the connection. Checks the framing."""
        answer = self.open(method, path, body)
        assert answer.status == 200, f"{path}: {answer.status} {answer.read()!r}"
        assert answer.getheader("Content-Type", "").startswith("text/event-stream")
        try:
            while True:
                line = answer.readline()
                if not line:
                    return
                if line in (b"\n", b"\r\n") or line.startswith(b":"):
                    continue
                assert line.startswith(b"data: ") and line.endswith(b"\n"), line
                assert answer.readline() in (b"\n", b"\r\n"), "an event ends with an empty line"
                yield json.loads(line[6:])
        finally:
            self.close()


class ConsoleClient(Client):
    """A browser with a session of the console: a cookie and its proof, no token."""

    def __init__(self, port, secret):
        super().__init__(port)
        with Client(port, prefix="") as page:
            made = page.call("POST", "/console/session", {"token": secret}, {"Origin": f"http://127.0.0.1:{port}"})
        assert made.status == 200, made
        self.shown = {"Cookie": made.headers["set-cookie"].split(";")[0], "Iii-Session": made.json()["proof"]}

    def open(self, method, path, body=None, headers=None):
        return super().open(method, path, body, {**self.shown, **(headers or {})})


def raw(port, data, timeout_s=None, shut=False):
    """Sends bytes on a new connection and returns everything that comes back until the server closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=timeout_s or DEADLINE_S) as sock:
        try:
            sock.sendall(data)
            if shut:
                sock.shutdown(socket.SHUT_WR)
        except OSError:  # the server has closed already
            pass
        return drain(sock)


def drain(sock):
    got = b""
    while True:
        try:
            piece = sock.recv(65536)
        except ConnectionResetError:
            return got
        if not piece:
            return got
        got += piece


def status_of(answer):
    found = re.match(rb"HTTP/1\.1 (\d{3}) ", answer)
    return int(found[1]) if found else None


class Server:
    """One `iii serve` with a data folder and ports of its own."""

    def __init__(self, env=None, flags=(), data_dir=None, user=None, token=None, binary=None, before_exec=None, wrap=()):
        self.env, self.flags, self.user, self.token = dict(env or {}), list(flags), user, token
        self.binary, self.before_exec = pathlib.Path(binary or BINARY), before_exec
        self.wrap = list(wrap)  # words before the command; what they run ends by exec, so that the pid stays
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="iii-t-"))
        self.data_dir = pathlib.Path(data_dir) if data_dir else self.home / "data"
        self.log_path = self.home / "server.log"
        self.proc, self.port, self.engine_port = None, None, None
        self.clients = []
        if user is not None:
            os.chown(self.home, user, user)
        elif IS_ROOT:
            os.chmod(self.home, 0o711)  # the server that root starts becomes another user, who has to get to its data folder

    def argv(self):
        argv = [str(self.binary), "serve", "--port", "0", "--engine-port", "0", "--data-dir", str(self.data_dir)]
        if self.user is not None:
            argv = ["setpriv", "--reuid", str(self.user), "--regid", str(self.user), "--clear-groups", *argv]
        return self.wrap + argv + self.flags

    def start(self, deadline_s=None):
        assert self.binary.exists(), f"{self.binary} is missing: run ./dev build"
        if not self.data_dir.exists():
            fill(self.data_dir, self.binary, self.user)
        env = clean_env({"HOME": self.home, "III_PULL": "never", **backend_env(), **self.env})  # no test asks a registry beyond loopback
        with open(self.log_path, "ab") as log:
            start = log.tell()
            self.proc = subprocess.Popen(self.argv(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env, cwd=self.home,
                                         preexec_fn=self.before_exec)
        self.port, self.engine_port = wait_until(lambda: self._ports(start), f"ready line of the server\n{self.log()}", deadline_s)
        return self

    def _ports(self, start):
        if self.proc.poll() is not None:
            raise AssertionError(f"the server ended with {self.proc.returncode}:\n{self.log()}")
        return ready_ports(self.log_path.read_bytes()[start:].decode(errors="replace"))

    def log(self):
        return self.log_path.read_text(errors="replace")[-8000:] if self.log_path.exists() else ""

    def client(self, token=None, **kw):
        made = Client(self.port, token if token is not None else self.token, **kw)
        self.clients.append(made)
        return made

    @property
    def pid(self):
        return self.proc.pid

    def data_tag(self):
        """What marks this data folder's containers and networks in an engine."""
        return (self.data_dir / "docker" / "tag").read_text()

    def agents(self):
        """Host pids of the first processes of its sandboxes."""
        if BACKEND == "docker":
            return wait_until(self._container_pids, "the engine to say that its containers run")
        return [pid for pid in leak.descendants(self.pid) if leak.inner_pid(pid) == 1]

    def _container_pids(self):
        rows = [engine().json("GET", f"/containers/{one['Id']}/json") for one in engine().containers(self.data_tag())]
        found = [row["State"]["Pid"] for row in rows if row["State"]["Status"] in ("running", "paused", "created")]
        return found if all(found) else None

    def kill(self):
        """SIGKILL: what a crash or an out-of-memory kill does to the daemon."""
        self.proc.send_signal(signal.SIGKILL)
        self.proc.wait(DEADLINE_S)

    def takeover(self, binary=None, env=None, flags=()):
        """Another server takes over from this one; returns how it went: None, or the new one's words when it gave up."""
        argv = [str(binary) if binary and word == str(self.binary) else word for word in self.argv()] + ["--takeover", *flags]
        full = clean_env({"HOME": self.home, "III_PULL": "never", **backend_env(), **self.env, **(env or {})})
        with open(self.log_path, "ab") as log:
            start = log.tell()
            proc = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=full, cwd=self.home)
        said = lambda: self.log_path.read_bytes()[start:].decode(errors="replace")  # noqa: E731
        wait_until(lambda: self.proc.poll() is not None or proc.poll() is not None, "one of the two servers to end")
        if proc.poll() is not None:
            assert proc.returncode != 0 and self.proc.poll() is None, said()
            return said()
        old, self.proc = self.proc, proc
        assert old.returncode == 0, f"the old server ended with {old.returncode}:\n{self.log()}"
        assert ready_ports(said()) == (self.port, self.engine_port), f"the ports are others: {said()}"
        return None

    def stop(self, sig=signal.SIGTERM):
        """A graceful stop: exit code 0, and no sanitizer had anything to say."""
        for client in self.clients:
            client.close()
        if self.proc is None:
            return
        if self.proc.poll() is None:
            self.proc.send_signal(sig)
            try:
                self.proc.wait(DEADLINE_S * 2)
            except subprocess.TimeoutExpired:
                self.kill()
                raise AssertionError(f"the server did not stop on {sig!r}:\n{self.log()}") from None
        text = self.log_path.read_text(errors="replace")
        for word in REPORTS:
            assert word not in text, text[max(text.find(word) - 500, 0):][:6000]
        assert self.proc.returncode == 0, f"exit code {self.proc.returncode}:\n{self.log()}"

    def remove(self):
        """Ends what is still running, with its sandboxes if it can, and removes the folders."""
        if IS_KEEPING:
            print(f"\nkept: pid {self.proc and self.proc.pid}, http://127.0.0.1:{self.port}, {self.home}", flush=True)
            return
        if self.proc and self.proc.poll() is None:
            self.proc.terminate()
            try:
                self.proc.wait(DEADLINE_S)
            except subprocess.TimeoutExpired:
                self.kill()
        shutil.rmtree(self.home, ignore_errors=True)

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, *_):
        try:
            if kind is None and not IS_KEEPING:
                self.stop()
        finally:
            self.remove()


def ready_ports(text):
    """(REST port, engine port) from the server's line `ready rest=http://HOST:PORT engine=ws://HOST:PORT`; None while there is none."""
    found = re.search(r"^ready rest=https?://\S+:(\d+) engine=wss?://\S+:(\d+)$\n", text, re.M)
    return (int(found[1]), int(found[2])) if found else None


def run_cli(*args, env=None, timeout_s=None, stdin=None, user=None):
    """Runs `iii ARGS`; returns the CompletedProcess with text output."""
    argv = [str(BINARY), *map(str, args)]
    if user is not None:
        argv = ["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups", *argv]
    return subprocess.run(argv, capture_output=True, text=True, errors="replace", input=stdin, env=clean_env(env),
                          timeout=timeout_s or DEADLINE_S * 2, check=False)
