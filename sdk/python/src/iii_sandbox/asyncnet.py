"""A plain or TLS connection for asyncio; blockingnet.py is the same without it."""
from __future__ import annotations

import asyncio
import ssl

from ._errors import ConnectionFailed


class Connection:
    """Bytes to and from one server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def read(self) -> bytes:
        """Some bytes; none at the end."""
        try:
            return await self._reader.read(65536)
        except OSError as error:
            raise ConnectionFailed(f"the connection broke: {error}") from error

    async def write(self, data: bytes) -> None:
        try:
            self._writer.write(data)
            await self._writer.drain()
        except OSError as error:
            raise ConnectionFailed(f"the connection broke: {error}") from error

    async def close(self) -> None:
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except OSError:
            pass  # it was broken already


async def dial(host: str, port: int, is_tls: bool, timeout_s: float) -> Connection:
    context = ssl.create_default_context() if is_tls else None
    try:
        reader, writer = await asyncio.wait_for(asyncio.open_connection(host, port, ssl=context), timeout_s)
    except (OSError, asyncio.TimeoutError) as error:
        raise ConnectionFailed(f"{host}:{port}: {error or 'no answer'}") from error
    return Connection(reader, writer)
