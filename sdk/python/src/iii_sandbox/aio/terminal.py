"""Live input and output of a terminal."""
from __future__ import annotations

import codecs
import json
import re
import urllib.parse
from collections.abc import AsyncIterator
from types import TracebackType

from .. import _websocket as ws
from .. import asyncnet
from .._errors import ConnectionFailed
from .._operations import WEBSOCKETS
from .http import HttpClient

PIECE = 32768


class LiveTerminal:
    """A connection to a terminal. Iterate over it for the output; the loop ends with the session. `async with` leaves it."""

    def __init__(self, connection: asyncnet.Connection, session_id: str, rest: bytes) -> None:
        self.session_id = session_id
        self.close_code: int | None = None
        self.close_reason = ""
        self._connection, self._frames, self._ready = connection, ws.Frames(), list[ws.Message]()
        self._ready += self._frames.feed(rest)

    @property
    def exit_code(self) -> int | None:
        """Of the shell, when it ended by itself."""
        found = re.fullmatch(r"exit (\d+)", self.close_reason)
        return int(found[1]) if found else None

    async def write(self, data: str | bytes) -> None:
        """Types: text, or bytes as they are."""
        raw = data.encode() if isinstance(data, str) else data
        for at in range(0, len(raw), PIECE):
            await self._connection.write(ws.frame(ws.BINARY, raw[at : at + PIECE]))

    async def resize(self, cols: int, rows: int) -> None:
        await self._connection.write(ws.frame(ws.TEXT, json.dumps({"type": "resize", "cols": cols, "rows": rows}).encode()))

    async def read_until(self, text: str) -> str | None:
        """Reads until the output holds this text: the output so far, or None when the session ended first."""
        decoder, seen = codecs.getincrementaldecoder("utf-8")("replace"), ""
        async for piece in self:
            seen += decoder.decode(piece)
            if text in seen:
                return seen
        return None

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        while self.close_code is None:
            message = await self._receive()
            if message is None or message.kind == ws.CLOSE:
                self.close_code = message.code if message else 1006
                self.close_reason = message.data.decode(errors="replace") if message else "the connection broke"
            elif message.kind == ws.PING:
                await self._connection.write(ws.frame(ws.PONG, message.data))
            else:
                return message.data
        raise StopAsyncIteration

    async def _receive(self) -> ws.Message | None:
        while not self._ready:
            data = await self._connection.read()
            if not data:
                return None
            self._ready += self._frames.feed(data)
        return self._ready.pop(0)

    async def close(self) -> None:
        """Leaves; the session lives on."""
        if self.close_code is None:
            await self._connection.write(ws.frame(ws.CLOSE, (1000).to_bytes(2, "big")))
            self.close_code = 1000
        await self._connection.close()

    async def __aenter__(self) -> LiveTerminal:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()


async def connect(http: HttpClient, sandbox_id: str, session_id: str) -> LiveTerminal:
    url = urllib.parse.urlsplit(http.base_url)
    is_tls = url.scheme == "https"
    path = url.path + WEBSOCKETS["terminal"].format(id=urllib.parse.quote(sandbox_id), sessionId=urllib.parse.quote(session_id))
    connection = await asyncnet.dial(url.hostname or "localhost", url.port or (443 if is_tls else 80), http.config)
    try:
        upgrade, data = ws.Upgrade(url.netloc.rpartition("@")[2], path, http.config.token), b""
        await connection.write(upgrade.request)
        while (rest := upgrade.answer(data)) is None:
            piece = await connection.read()
            if not piece:
                raise ConnectionFailed("the server closed the connection instead of answering the upgrade")
            data += piece
    except BaseException:
        await connection.close()
        raise
    return LiveTerminal(connection, session_id, rest)
