"""Stands between a server and its engine and holds requests back: what an engine under load does, at the moment the test wants it.

A request that is held goes to the engine when it is let go, also when whoever sent it is gone: an engine works on what it has read."""
import contextlib
import pathlib
import re
import socket
import tempfile
import threading

import dockerkit


class Relay:
    """`host` is its DOCKER_HOST. hold("POST /containers/create") holds all requests that begin so (the version left out)."""

    def __init__(self, engine):
        self.engine, self.home = engine, pathlib.Path(tempfile.mkdtemp(prefix="iii-rel-"))
        self.home.chmod(0o755)
        self.host = f"unix://{self.home}/sock"
        self.door = threading.Condition()
        self.holding, self.seen, self.held, self.held_lines, self.answers = None, [], [], [], []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(f"{self.home}/sock")
        (self.home / "sock").chmod(0o666)
        self.listener.listen(64)
        threading.Thread(target=self._listen, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.let_go()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        (self.home / "sock").unlink()
        self.home.rmdir()

    def hold(self, start):
        with self.door:
            self.holding = start

    def wait_held(self, count=1):
        with self.door:
            assert self.door.wait_for(lambda: len(self.held) >= count, dockerkit.DEADLINE_S), f"nothing came to be held: {self.seen}"

    def wait_asked(self, start, count):
        """Until this many more requests that begin so have come."""
        with self.door:
            before = self.count(start)
            assert self.door.wait_for(lambda: self.count(start) >= before + count, dockerkit.DEADLINE_S), f"not asked: {self.seen[-20:]}"

    def count(self, start):
        return sum(line.startswith(start) for line in self.seen)

    def hang_up(self):
        """Ends the connections of those that are held, but not their requests."""
        with self.door:
            for conn in self.held:
                conn.shutdown(socket.SHUT_RDWR)

    def let_go(self):
        """Sends what is held, and returns when the engine has answered it: the statuses."""
        with self.door:
            count, self.holding, self.answers = len(self.held), None, []
            self.door.notify_all()
            assert self.door.wait_for(lambda: len(self.answers) >= count, dockerkit.DEADLINE_S), "the engine does not answer"
            self.held = []
            return self.answers

    def _listen(self):
        while True:
            try:
                conn, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(conn,), daemon=True).start()

    def _serve(self, conn):
        with conn, contextlib.suppress(OSError):
            while request := read_request(conn):
                self._pass(conn, request)

    def _pass(self, conn, request):
        line = re.sub(rb"^(\S+) (?:http://[^/]*)?/v[\d.]+", rb"\1 ", request.split(b"\r\n", 1)[0]).decode()
        with self.door:
            self.seen.append(line)
            is_held = self.holding is not None and line.startswith(self.holding)
            if is_held:
                self.held.append(conn)
                self.held_lines.append(line)
            self.door.notify_all()
            self.door.wait_for(lambda: not is_held or self.holding is None)
        with socket.socket(socket.AF_UNIX) as there:
            there.connect(str(self.engine.socket))
            there.sendall(re.sub(rb"\r\nConnection: [^\r]*", b"", request, count=1, flags=re.I).replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
            answer = b"".join(iter(lambda: there.recv(65536), b""))
        if is_held:
            with self.door:
                self.answers.append(int(answer.split()[1]))
                self.door.notify_all()
        conn.sendall(answer)
        conn.shutdown(socket.SHUT_RDWR)


def read_request(conn):
    data = b""
    while b"\r\n\r\n" not in data:
        piece = conn.recv(65536)
        if not piece:
            return b""
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    size = re.search(rb"\r\nContent-Length: (\d+)", head, re.I)
    while size and len(body) < int(size[1]):
        body += conn.recv(65536)
    return head + b"\r\n\r\n" + body
