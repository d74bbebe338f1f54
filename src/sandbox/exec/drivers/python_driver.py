"""Serves Python contexts inside a sandbox: one warm process (the zygote) forks a process for each context, so that no
snippet waits for an interpreter to start. Needs nothing but Python 3.7's own library.

Frames, both ways: u32 length of the payload, u32 number of the context, one letter, payload. Towards the server each is
one write of at most PIPE_BUF bytes to one shared pipe, so frames of different processes never mix; a longer message goes
out in pieces under the small letter and ends with the capital one.
  in:  n new context {cwd, env}, x code, i interrupt, k kill
  out: y ready {pid}, f not started (text), b not started for want of processes or memory (text), o stdout, e stderr,
       r/R rich result, d/D done, z process ended {code, signal}
"""
import os
import select
import signal
import struct
import sys

HEADER = struct.Struct(">IIc")
PIECE = 4096 - HEADER.size
LINK = os.dup(1)  # to the server
FILE = (lambda: 0).__code__.co_filename


def write_all(fd, data):
    while data:
        data = data[os.write(fd, data):]


def send(number, kind, payload=b""):
    """One frame; the payload fits."""
    write_all(LINK, HEADER.pack(len(payload), number, kind) + payload)


def send_long(number, kind, payload):
    """Any length: pieces under kind, the last under its capital."""
    last = max(len(payload) - 1, 0) // PIECE * PIECE
    for at in range(0, last, PIECE):
        send(number, kind, payload[at:at + PIECE])
    send(number, kind.upper(), payload[last:])


def read_exactly(fd, length):
    """length bytes, or b"" at the end of the stream."""
    data = os.read(fd, length) if length else b""
    while len(data) < length:
        more = os.read(fd, length - len(data))
        if not more:
            return b""
        data += more
    return data


# What contexts want ready, loaded once before the first fork.
import ast  # noqa: E402
import builtins  # noqa: E402
import importlib.machinery  # noqa: E402
import io  # noqa: E402
import json  # noqa: E402
import linecache  # noqa: E402
import site  # noqa: E402
import threading  # noqa: E402
import traceback  # noqa: E402
import types  # noqa: E402

AWAIT = getattr(ast, "PyCF_ALLOW_TOP_LEVEL_AWAIT", 0)
RICH = (("html", "_repr_html_"), ("markdown", "_repr_markdown_"), ("svg", "_repr_svg_"), ("png", "_repr_png_"),
        ("jpeg", "_repr_jpeg_"), ("latex", "_repr_latex_"), ("json", "_repr_json_"))


class Output(io.RawIOBase):
    """sys.stdout and sys.stderr of a context: bytes become frames at once."""

    def __init__(self, context, kind, fd):
        super().__init__()
        self.context, self.kind, self.fd = context, kind, fd

    def writable(self):
        return True

    def fileno(self):
        return self.fd  # for subprocesses; those bytes come back by the pipe that Pump reads

    def write(self, data):
        data = bytes(data)
        for at in range(0, len(data), PIECE):
            send(self.context.number, self.kind, data[at:at + PIECE])
        return len(data)


class Pump(threading.Thread):
    """What subprocesses and C code write to descriptors 1 and 2."""

    def __init__(self, context):
        super().__init__(daemon=True)
        self.context, self.lock, self.ends = context, threading.Lock(), {}
        for fd, kind in ((1, b"o"), (2, b"e")):
            reader, writer = os.pipe()
            os.set_blocking(reader, False)
            os.dup2(writer, fd)
            os.close(writer)
            self.ends[reader] = kind

    def drain(self, readers):
        with self.lock:
            for reader in readers:
                try:
                    while True:
                        data = os.read(reader, PIECE)
                        if not data:
                            return False
                        send(self.context.number, self.ends[reader], data)
                except BlockingIOError:
                    pass
        return True

    def run(self):
        poll = select.poll()
        for reader in self.ends:
            poll.register(reader, select.POLLIN)
        while self.drain([fd for fd, _ in poll.poll()]):
            pass


def site_folders():
    """Where installs put packages, each with the time of its last change; None: it does not exist."""
    folders = site.getsitepackages() + ([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])
    return {folder: os.stat(folder).st_mtime_ns if os.path.isdir(folder) else None for folder in folders}


class NewPackages:
    """Asked last, for what no other finder has: a package that was installed after the interpreter had started, perhaps
    into a folder that did not exist then."""

    sites = site_folders()

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if path is not None:
            return None  # of a package that was found
        before, cls.sites = cls.sites, site_folders()
        changed = [folder for folder, time in cls.sites.items() if time is not None and time != before.get(folder)]
        if not changed:
            return None
        for folder in changed:
            site.addsitedir(folder)
        importlib.invalidate_caches()
        return importlib.machinery.PathFinder.find_spec(name)


sys.meta_path.append(NewPackages)


def clean(text):
    """Text that any JSON reader takes: no half of a surrogate pair, no NUL."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


def is_own(value, name):
    """Whether value's class has the method: mocks and proxies claim to have everything."""
    return not isinstance(value, type) and callable(getattr(type(value), name, None))


class Context:
    """One process: its own __main__, counters and output."""

    def __init__(self, fd):
        self.fd, self.number, self.count, self.pid = fd, 0, 0, os.getpid()
        self.loop = None
        self.module = types.ModuleType("__main__")
        self.module.__builtins__ = builtins
        sys.modules["__main__"] = self.module
        self.pump = Pump(self)
        for name, kind, fd in (("stdout", b"o", 1), ("stderr", b"e", 2)):
            raw = io.BufferedWriter(Output(self, kind, fd), 3500)
            stream = io.TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace", line_buffering=True)
            setattr(sys, name, stream)
            setattr(sys, "__%s__" % name, stream)
        sys.stdin.close()
        builtins.display = self.display
        self.pump.start()

    def enter(self, plan):
        os.environ.clear()
        os.environ.update(plan["env"])
        os.environ.setdefault("MPLBACKEND", "agg")
        os.chdir(plan["cwd"])
        sys.path[0] = ""
        sys.argv = [""]

    def serve(self):
        while True:
            head = read_exactly(self.fd, HEADER.size)
            if not head:
                os._exit(0)
            length, number, kind = HEADER.unpack(head)
            payload = read_exactly(self.fd, length)
            if kind == b"n":
                self.number = number
                try:
                    self.enter(json.loads(payload.decode()))
                except Exception as error:
                    send(number, b"f", str(error).encode()[:PIECE])
                    os._exit(0)
                send(number, b"y", json.dumps({"pid": self.pid}).encode())
            else:
                self.execute(payload.decode())

    def execute(self, code):
        self.count += 1
        done = {"executionCount": self.count, "errorName": None, "errorValue": None, "traceback": []}
        if sys.stdin.closed:  # exit() does that
            sys.stdin = sys.__stdin__ = open(os.devnull, encoding="utf-8")
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            value = self.run(code)
            if value is not None:
                self.module._ = value
                self.display(value)
            self.show_figures()
        except BaseException as error:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            done.update(self.describe(error))
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if os.getpid() != self.pid:
            os._exit(0)  # the snippet forked and its child came here: only the first may answer
        for stream in (sys.__stdout__, sys.__stderr__):
            try:
                stream.flush()
            except (ValueError, OSError):
                pass  # the snippet closed it
        self.pump.drain(self.pump.ends)
        send_long(self.number, b"d", json.dumps(done).encode())

    def run(self, code):
        name = "<cell %d>" % self.count
        linecache.cache[name] = (len(code), None, code.splitlines(True), name)
        tree = compile(code, name, "exec", ast.PyCF_ONLY_AST | AWAIT, True)
        last = ast.Expression(tree.body.pop().value) if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        if tree.body:
            self.evaluate(tree, name, "exec")
        return self.evaluate(last, name, "eval") if last else None

    def evaluate(self, tree, name, mode):
        code = compile(tree, name, mode, AWAIT, True)
        value = eval(code, self.module.__dict__)
        if not code.co_flags & 0x80:  # CO_COROUTINE: it awaits at the top
            return value
        if self.loop is None:
            import asyncio
            self.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)
        return self.loop.run_until_complete(value)

    def describe(self, error):
        """The error as the server shows it; frames of this file are left out."""
        at = error.__traceback__
        while at is not None and at.tb_frame.f_code.co_filename == FILE:
            at = at.tb_next
        try:
            value = str(error)
            lines = "".join(traceback.format_exception(type(error), error, at)).splitlines()
        except BaseException as other:  # a __str__ that fails
            value, lines = "", ["%s (its text failed with %s)" % (type(error).__name__, type(other).__name__)]
        return {"errorName": type(error).__name__, "errorValue": clean(value), "traceback": [clean(x) for x in lines]}

    def result(self, kind, data):
        try:
            text = json.dumps({"type": kind, "data": clean(data) if isinstance(data, str) else data}, allow_nan=False)
        except (TypeError, ValueError):
            text = json.dumps({"type": kind, "data": clean(repr(data))})  # not JSON after all
        send_long(self.number, b"r", text.encode())

    def display(self, *values):
        """Shows values as an expression at the end of a cell would be."""
        sys.__stdout__.flush()
        for value in values:
            self.result("text", repr(value))
            for kind, name in RICH:
                if is_own(value, name):
                    self.show_rich(kind, getattr(value, name)())

    def show_rich(self, kind, data):
        if isinstance(data, tuple):
            data = data[0]  # (data, metadata)
        if isinstance(data, (bytes, bytearray)):
            import base64
            data = base64.b64encode(data).decode()
        if data is not None:
            self.result(kind, data)

    def show_figures(self):
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is None:
            return
        for number in pyplot.get_fignums():
            picture = io.BytesIO()
            pyplot.figure(number).savefig(picture, format="png")
            self.show_rich("png", picture.getvalue())
        pyplot.close("all")


class Zygote:
    """Reads the server's frames, hands each to its context, forks new ones and keeps a spare ready."""

    SPARE_AFTER_MS = 20  # of quiet: a fork must not delay the first snippet of the context that took the last spare
    RETRY_AFTER_MS = 1000

    def __init__(self):
        self.contexts = {}  # number -> (pid, fd)
        self.by_pid = {}
        self.spare, self.quiet_ms = None, self.SPARE_AFTER_MS
        self.poll = select.poll()
        self.wake, wake_end = os.pipe()
        os.set_blocking(wake_end, False)
        os.set_blocking(self.wake, False)
        signal.set_wakeup_fd(wake_end)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.poll.register(0, select.POLLIN)
        self.poll.register(self.wake, select.POLLIN)

    def fork(self):
        """(pid, fd) of a process that waits for its first frame."""
        reader, writer = os.pipe()
        try:
            pid = os.fork()
        except OSError:
            os.close(reader)
            os.close(writer)
            raise
        if pid:
            os.close(reader)
            return pid, writer
        os.close(writer)
        for _, fd in list(self.contexts.values()) + ([self.spare] if self.spare else []):
            os.close(fd)
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.close(null)
        Context(reader).serve()
        os._exit(0)

    def kill(self, pid, signo):
        for target in (os.killpg, os.kill):
            try:
                target(pid, signo)
                return
            except OSError:
                pass  # not the leader of its group yet, or gone

    def reap(self):
        try:
            os.read(self.wake, 4096)
        except BlockingIOError:
            pass
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            self.kill(pid, signal.SIGKILL)  # what the context had started in its group
            if self.spare and self.spare[0] == pid:
                os.close(self.spare[1])
                self.spare = None
            number = self.by_pid.pop(pid, None)
            if number is None:
                continue
            os.close(self.contexts.pop(number)[1])
            signo = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
            code = 128 + signo if signo else os.WEXITSTATUS(status)
            send(number, b"z", json.dumps({"code": code, "signal": signo}).encode())

    def begin(self, number):
        try:
            made, self.spare = self.spare or self.fork(), None
        except OSError as error:
            send(number, b"b", str(error).encode()[:PIECE])
            return
        self.contexts[number] = made
        self.by_pid[made[0]] = number

    def keep_spare(self):
        try:
            self.spare, self.quiet_ms = self.fork(), self.SPARE_AFTER_MS
        except OSError:
            self.quiet_ms = self.RETRY_AFTER_MS  # the sandbox is at a limit

    def take(self, kind, number, frame):
        if kind == b"n":
            self.begin(number)
        if number not in self.contexts:
            return  # it ended in the meantime; its z frame is on the way
        pid, fd = self.contexts[number]
        if kind == b"i":
            self.kill(pid, signal.SIGINT)
        elif kind == b"k":
            self.kill(pid, signal.SIGKILL)
        else:
            try:
                write_all(fd, frame)
            except BrokenPipeError:
                pass

    def serve(self):
        while True:
            ready = self.poll.poll(None if self.spare else self.quiet_ms)
            if not ready:
                self.keep_spare()
            for fd, _ in ready:
                if fd == self.wake:
                    self.reap()
                    continue
                head = read_exactly(0, HEADER.size)
                if not head:
                    return
                length, number, kind = HEADER.unpack(head)
                self.take(kind, number, head + read_exactly(0, length))


def main():
    zygote = Zygote()
    try:
        zygote.serve()
    finally:
        for pid in list(zygote.by_pid) + ([zygote.spare[0]] if zygote.spare else []):
            zygote.kill(pid, signal.SIGKILL)


main()
