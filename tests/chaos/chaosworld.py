"""The world of a chaos run: one server that dies often, the account of what was killed when, and calls that know about it."""
import collections
import contextlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "blackbox"))

import harness  # noqa: E402
import leak  # noqa: E402

AFTER_KILL_S = 20  # a call that began this soon after the end of a launcher or agent may be told to come again
IDLE_S = 2             # a connection that was not used for longer is not used again
START_S = 120          # a start beside many others, all of which read the disk


class Cut(Exception):
    """The connection ended because the daemon was killed: the call may have been carried out or not."""


class Refused(Exception):
    """503: the launcher, or the agent of a box that is made, died in the middle of it. It was not carried out, or only in part."""


class Lost(Exception):
    """The sandbox is gone because its agent was killed, or because its time was over."""


class Finding(Exception):
    """Something that must not happen."""


class World:
    """What all threads share. Nobody but the reaper kills and starts."""

    def __init__(self, binary, seed, settings):
        self.seed, self.began = seed, time.monotonic()
        self.server = harness.Server(env=settings, binary=binary)
        self.held = leak.Holdings(self.server.data_dir)
        self.up, self.stop = threading.Event(), threading.Event()
        self.lock = threading.Lock()
        self.epoch = 0              # counts ends of the daemon; raised before the signal is sent
        self.handovers = 0          # begun and ended takeovers: odd while one is under way
        self.helper_end = -1e9      # when the last launcher or agent was killed
        self.agents_killed = set()  # ids of sandboxes whose agent was killed, noted before it is
        self.tools = []             # image tools that run now
        self.findings, self.counts = [], collections.Counter()
        self.story = collections.deque(maxlen=120)

    def note(self, text):
        self.story.append(f"{time.monotonic() - self.began:9.3f} {threading.current_thread().name:8} {text}")

    def finding(self, text):
        """Notes it and ends the run: everybody stops at the next call."""
        with self.lock:
            self.findings.append(text)
        self.note("FINDING " + text)
        self.stop.set()
        raise Finding(text)

    def start(self):
        try:
            self.server.start(START_S)
        except AssertionError:
            self.note("the server does not start\n" + self.stacks())
            raise
        self.up.set()

    def stacks(self):
        """Where the server's processes are, when there is a debugger to ask."""
        if not shutil.which("gdb") or self.server.proc.poll() is not None:
            return ""
        argv = ["gdb", "-batch", "-ex", "thread apply all bt 20", "-p"]
        return "\n".join(subprocess.run([*argv, str(pid)], capture_output=True, text=True, errors="replace", check=False).stdout
                         for pid in (self.server.pid, *leak.descendants(self.server.pid)))

    def kill_daemon(self):
        self.held.look(self.server.pid)
        self.up.clear()
        self.epoch += 1
        self.note(f"SIGKILL daemon {self.server.pid}")
        self.server.kill()

    def upgrade(self):
        """A takeover by the same binary. No request may be cut; the sockets of workers are closed."""
        self.held.look(self.server.pid)
        self.handovers += 1
        self.note(f"takeover from {self.server.pid}")
        said = self.server.takeover()
        self.handovers += 1
        if said is not None:
            self.finding(f"the takeover failed: {said}")

    def upgrade_and_kill(self, victim, delay_s):
        """A takeover in which one of the two servers is killed: the other goes on."""
        server = self.server
        self.held.look(server.pid)
        self.up.clear()
        self.epoch += 1  # what the dead one held is cut
        old = server.proc
        with open(server.log_path, "ab") as log:
            start = log.tell()
            new = subprocess.Popen([*server.argv(), "--takeover"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=server.home,
                                   env=harness.clean_env({"HOME": server.home, "III_PULL": "never", **server.env}))
        time.sleep(delay_s)
        self.note(f"SIGKILL the {victim} one in a takeover from {old.pid} to {new.pid}")
        self.held.look(new.pid)
        (old if victim == "old" else new).kill()
        if victim == "old":
            old.wait(harness.DEADLINE_S)
            server.proc = new
            harness.wait_until(lambda: new.poll() is not None or self.said_ready(start), "the new server to be ready or to give up")
        else:
            new.wait(harness.DEADLINE_S)
            harness.wait_until(lambda: old.poll() is not None or self.is_answering(), "the old server to go on")
        if server.proc.poll() is not None:
            self.note(f"no server is left: {server.proc.returncode}")
            self.start()
        self.up.set()

    def said_ready(self, start):
        ports = harness.ready_ports(self.server.log_path.read_bytes()[start:].decode(errors="replace"))
        if ports:
            self.server.port, self.server.engine_port = ports
        return ports

    def is_answering(self):
        try:
            with harness.Client(self.server.port, timeout_s=5) as client:
                return client.get("/health").status == 200
        except (OSError, http.client.HTTPException):
            return False

    def launcher_pid(self):
        for pid, _ in leak.descendants(self.server.pid).items():
            if b"--launcher" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
                return pid
        return None

    def kill_launcher(self):
        self.held.look(self.server.pid)
        try:
            pid = self.launcher_pid()
            if pid is None:
                return False
            self.note(f"SIGKILL launcher {pid}")
            self.helper_end = time.monotonic()
            os.kill(pid, signal.SIGKILL)
            self.helper_end = time.monotonic()
        except (ProcessLookupError, FileNotFoundError):
            return False
        return True

    def agents(self):
        """[(sandbox id, pid, start time)] of the boxes there are now."""
        found = []
        for folder in (self.server.data_dir / "boxes").glob("*"):
            try:
                pid, start = os.readlink(folder / "pid").split(":")[:2]
                found.append((os.readlink(folder / "id"), int(pid), int(start)))
            except (OSError, ValueError):
                continue
        return sorted(found)

    def owner(self, box_id):
        """The sandbox of a box. A restored one has a box of another name; one that is being made has no record yet."""
        with contextlib.closing(sqlite3.connect(f"file:{self.server.data_dir}/state.db?mode=ro", uri=True, timeout=10)) as db:
            for sid, body in db.execute("SELECT key, body FROM doc WHERE scope = 'sandbox'"):
                if json.loads(body)["internal"]["box"]["id"] == box_id:
                    return sid
        return box_id

    def kill_agent(self, one):
        box_id, pid, start = one
        try:
            handle = os.pidfd_open(pid)
        except OSError:
            return False
        try:
            fields = leak.stat_fields(pid)
            if not fields or fields[1] != start:
                return False
            sid = self.owner(box_id)
            self.note(f"SIGKILL agent {pid} of {sid}, box {box_id}")
            self.agents_killed |= {sid, box_id}
            self.helper_end = time.monotonic()
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        except OSError:
            return False
        finally:
            os.close(handle)
        return True


class Caller:
    """Calls of one thread: no call is ever sent twice behind its back."""

    def __init__(self, world):
        self.world, self.conn, self.used, self.epoch = world, None, 0.0, -1

    def close(self):
        if self.conn:
            self.conn.close()
        self.conn = None

    def _connect(self):
        if self.conn and (self.epoch != self.world.epoch or time.monotonic() - self.used > IDLE_S):
            self.close()
        if self.conn is None:
            self.conn = http.client.HTTPConnection("127.0.0.1", self.world.server.port, timeout=harness.DEADLINE_S * 2)
            self.conn.connect()
            self.conn.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.epoch = self.world.epoch

    def _exchange(self, method, path, body, headers):
        self._connect()
        data = None if body is None else json.dumps(body).encode()
        if data is not None:
            headers = {"Content-Type": "application/json", **headers}
        self.conn.request(method, harness.PREFIX + path, body=data, headers=headers)
        answer = self.conn.getresponse()
        text = answer.read()
        self.used = time.monotonic()
        if answer.will_close:
            self.close()
        return harness.Reply(answer.status, {k.lower(): v for k, v in answer.getheaders()}, text)

    def raw(self, method, path, body=None, headers=None):
        """The answer, whatever it is; Cut when the daemon was killed meanwhile."""
        world = self.world
        if world.stop.is_set() and world.findings:
            raise Finding("another thread has found something")
        if not world.up.wait(harness.DEADLINE_S * 4):
            world.finding("the server did not come back")
        epoch = world.epoch
        try:
            return self._exchange(method, path, body, headers or {})
        except (OSError, http.client.HTTPException) as error:
            self.close()
            self.explain(epoch, f"{method} {path}: {type(error).__name__} {error}")
            raise Cut(path) from None

    def explain(self, epoch, what, handovers=None):
        """A connection that broke although nobody killed the daemon means that it died by itself. handovers: count of the takeovers
        before, for one that a takeover closes too."""
        end = time.monotonic() + harness.DEADLINE_S
        while self.world.epoch == epoch and (handovers is None or (self.world.handovers == handovers and handovers % 2 == 0)):
            code = self.world.server.proc.poll()
            if time.monotonic() > end or (code is not None and self.world.epoch == epoch):
                self.world.finding(f"the connection broke and nobody killed the daemon (exit code {code}): {what}")
            time.sleep(0.01)

    def call(self, method, path, body=None, ok=(200,), sandbox=None, headers=None):
        """An answer with a status of `ok`. Anything else has to be explained by what was killed."""
        world, began = self.world, time.monotonic()
        reply = self.raw(method, path, body, headers)
        world.counts["calls"] += 1
        world.note(f"{method} {path} {short(body)} -> {reply.status} {reply.body[:100]!r}")
        if reply.status in ok:
            return reply
        if sandbox is not None and sandbox.may_be_gone() and reply.status in (404, 410, 502):
            raise Lost(sandbox.id)
        if sandbox is not None and sandbox.may_be_gone() and reply.status == 409 and "it is stopped" in reply.error:
            self.raw("DELETE", f"/sandboxes/{sandbox.id}")  # its agent died while no server looked: stopped, with its files
            raise Lost(sandbox.id)
        if sandbox is not None and sandbox.may_be_gone() and reply.status == 500 and "died while it was started" in reply.error:
            raise Lost(sandbox.id)
        if reply.status == 409 and reply.error.endswith("meanwhile"):  # a stop or start whose call was cut off had not ended
            world.counts["refused"] += 1
            raise Refused(path)
        if reply.status == 503 and began - world.helper_end < AFTER_KILL_S and "try again" in reply.error:
            world.counts["refused"] += 1
            raise Refused(path)
        return world.finding(f"{method} {path} {short(body)} answered {reply.status}: {reply.body[:300]!r}")


def short(body):
    text = "" if body is None else json.dumps(body)
    return text if len(text) < 120 else text[:120] + "…"
