"""A WebSocket client of the standard library only (RFC 6455): enough to judge a server, strict about what it sends."""
import base64
import hashlib
import os
import socket
import struct

import harness

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


class Refused(Exception):
    """The server answered the handshake with something else than 101."""

    def __init__(self, status, body):
        super().__init__(f"{status} {body[:300]!r}")
        self.status, self.body = status, body


class Closed(Exception):
    """The close frame: code and reason; code 1006 when the connection just ended."""

    def __init__(self, code, reason=""):
        super().__init__(f"{code} {reason}")
        self.code, self.reason = code, reason


class WebSocket:
    def __init__(self, port, path, headers=None, timeout_s=None):
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=timeout_s or harness.DEADLINE_S)
        self.buffer = b""
        try:
            self._handshake(port, path, headers or {})
        except BaseException:
            self.sock.close()
            raise

    def _handshake(self, port, path, headers):
        key = base64.b64encode(os.urandom(16))
        lines = [f"GET {path} HTTP/1.1", "Connection: Upgrade", "Upgrade: websocket",
                 "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: " + key.decode()]
        lines += [f"{name}: {value}" for name, value in {"Host": f"127.0.0.1:{port}", **headers}.items()]
        self.sock.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        while b"\r\n\r\n" not in self.buffer:
            self._more()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        status = int(head.split(b" ", 2)[1])
        self.headers = dict(line.split(b": ", 1) for line in head.lower().split(b"\r\n")[1:])
        if status != 101:
            size = int(self.headers.get(b"content-length", b"0"))
            while len(self.buffer) < size:
                self._more()
            raise Refused(status, self.buffer[:size])
        wanted = base64.b64encode(hashlib.sha1(key + GUID).digest())
        got = [line.split(b": ", 1)[1] for line in head.split(b"\r\n")[1:] if line.lower().startswith(b"sec-websocket-accept:")]
        assert got == [wanted], head

    def _more(self):
        piece = self.sock.recv(65536)
        if not piece:
            raise Closed(1006)
        self.buffer += piece

    def _take(self, size):
        while len(self.buffer) < size:
            self._more()
        got, self.buffer = self.buffer[:size], self.buffer[size:]
        return got

    def send_head(self, opcode, size):
        """What announces a frame of so many bytes. Returns the mask."""
        mask = os.urandom(4)
        if size < 126:
            head = struct.pack("!BB", 0x80 | opcode, 0x80 | size)
        elif size < 65536:
            head = struct.pack("!BBH", 0x80 | opcode, 0x80 | 126, size)
        else:
            head = struct.pack("!BBQ", 0x80 | opcode, 0x80 | 127, size)
        self.sock.sendall(head + mask)
        return mask

    def send_frame(self, opcode, data):
        size = len(data)
        mask = self.send_head(opcode, size)
        pad = (mask * (size // 4 + 1))[:size]
        if size:
            self.sock.sendall((int.from_bytes(data, "big") ^ int.from_bytes(pad, "big")).to_bytes(size, "big"))

    def send(self, data):
        """Text for str, binary for bytes."""
        if isinstance(data, str):
            self.send_frame(TEXT, data.encode())
        else:
            self.send_frame(BINARY, data)

    def frame(self):
        """(opcode, payload) of the next data frame; pings are answered; raises Closed at the end."""
        while True:
            first, second = self._take(2)
            assert not second & 0x80, "a server does not mask"
            size = second & 0x7F
            if size == 126:
                size = struct.unpack("!H", self._take(2))[0]
            elif size == 127:
                size = struct.unpack("!Q", self._take(8))[0]
            data = self._take(size)
            opcode = first & 0x0F
            if opcode == PING:
                self.send_frame(PONG, data)
            elif opcode == CLOSE:
                try:
                    self.send_frame(CLOSE, data)
                except OSError:
                    pass
                code = struct.unpack("!H", data[:2])[0] if data else 1005
                raise Closed(code, data[2:].decode())
            elif opcode != PONG:
                return opcode, data

    def recv(self):
        return self.frame()[1]

    def until(self, marker, got=b""):
        """Everything received up to and with the marker."""
        while marker not in got:
            try:
                got += self.recv()
            except (Closed, TimeoutError) as why:
                raise AssertionError(f"{marker!r} did not come before {why!r}: {got[-2000:]!r}") from why
        return got

    def closed(self):
        """Reads on to the close frame and returns it."""
        try:
            while True:
                self.recv()
        except Closed as why:
            return why
        except ConnectionResetError:
            return Closed(1006)

    def close(self, code=1000, reason=""):
        """The closing handshake, then the end of the connection."""
        try:
            self.send_frame(CLOSE, struct.pack("!H", code) + reason.encode())
            self.closed()
        except OSError:
            pass
        self.sock.close()

    def cut(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()
