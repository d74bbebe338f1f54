"""The client's side of a WebSocket without any input or output: the upgrade, and frames."""
from __future__ import annotations

import base64
import hashlib
import os
import struct
from dataclasses import dataclass

from ._errors import ConnectionFailed

GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
MESSAGE_MAX = 16 * 1024 * 1024
HEAD_MAX = 64 * 1024
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


@dataclass(frozen=True)
class Message:
    """kind: TEXT, BINARY, CLOSE or PING. code: of a CLOSE."""

    kind: int
    data: bytes
    code: int = 0


def frame(opcode: int, data: bytes) -> bytes:
    mask = os.urandom(4)
    if len(data) > 0xFFFF:
        head = struct.pack("!BBQ", 0x80 | opcode, 0x80 | 127, len(data))
    elif len(data) > 125:
        head = struct.pack("!BBH", 0x80 | opcode, 0x80 | 126, len(data))
    else:
        head = struct.pack("!BB", 0x80 | opcode, 0x80 | len(data))
    return head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data))


class Upgrade:
    """The request that opens a WebSocket, and the check of its answer."""

    def __init__(self, host: str, path: str, token: str | None) -> None:
        self.key = base64.b64encode(os.urandom(16)).decode()
        lines = [f"GET {path} HTTP/1.1", f"Host: {host}", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
                 f"Sec-WebSocket-Key: {self.key}"]
        if token:
            lines.append(f"Authorization: Bearer {token}")
        self.request = ("\r\n".join(lines) + "\r\n\r\n").encode()

    def answer(self, data: bytes) -> bytes | None:
        """What follows the head of a good answer; None when the head is not all there yet."""
        head, found, rest = data.partition(b"\r\n\r\n")
        if not found:
            if len(data) > HEAD_MAX:
                raise ConnectionFailed("the answer to the upgrade has no end")
            return None
        status, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        proof = base64.b64encode(hashlib.sha1((self.key + GUID).encode()).digest()).decode()
        if " 101 " not in status + " ":
            raise ConnectionFailed(f"the server refused the WebSocket: {status.partition(' ')[2]} {rest.decode(errors='replace')[:500]}".strip())
        if headers.get("sec-websocket-accept") != proof:
            raise ConnectionFailed("the answer to the upgrade is not ours")
        return rest


class Frames:
    """Makes messages out of what is received."""

    def __init__(self) -> None:
        self.data, self.parts, self.kind = b"", b"", 0

    def feed(self, data: bytes) -> list[Message]:
        self.data += data
        found = []
        while (one := self._next()) is not None:
            message = self._whole(*one)
            if message:
                found.append(message)
        return found

    def _next(self) -> tuple[bool, int, bytes] | None:
        if len(self.data) < 2:
            return None
        first, second = self.data[0], self.data[1]
        head = {126: 4, 127: 10}.get(second & 0x7F, 2)
        if len(self.data) < head:
            return None
        size = int.from_bytes(self.data[2:head], "big") if head > 2 else second & 0x7F
        if size > MESSAGE_MAX or second & 0x80 or first & 0x70:
            raise ConnectionFailed("the server sent a bad WebSocket frame")
        if len(self.data) < head + size:
            return None
        payload, self.data = self.data[head:head + size], self.data[head + size:]
        return bool(first & 0x80), first & 0x0F, payload

    def _whole(self, is_last: bool, opcode: int, payload: bytes) -> Message | None:
        if opcode == CLOSE:
            return Message(CLOSE, payload[2:], int.from_bytes(payload[:2], "big") if len(payload) >= 2 else 1005)
        if opcode in (PING, PONG):
            return Message(PING, payload) if opcode == PING else None
        self.kind = opcode or self.kind
        self.parts += payload
        if len(self.parts) > MESSAGE_MAX:
            raise ConnectionFailed("a WebSocket message is too large")
        if not is_last:
            return None
        whole, self.parts = self.parts, b""
        return Message(self.kind, whole)
