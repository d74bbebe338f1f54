"""A plain or TLS connection for asyncio; blockingnet.py is the same without it."""
from __future__ import annotations

import asyncio
import inspect
import ssl
from collections.abc import Callable, Coroutine, Generator
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Generic, TypeVar

from ._errors import ConnectionFailed
from ._settings import ClientConfig, address_of

T = TypeVar("T", bound="AbstractAsyncContextManager[Any]")


class Opening(Generic[T]):
    """Something on its way: `await` gives it, `async with` opens it for a block."""

    def __init__(self, pending: Coroutine[Any, Any, T]) -> None:
        self._pending = pending

    def __await__(self) -> Generator[Any, Any, T]:
        return self._pending.__await__()

    async def __aenter__(self) -> T:
        self._opened = await self._pending
        await self._opened.__aenter__()
        return self._opened

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool | None:
        return await self._opened.__aexit__(kind, error, trace)


async def called(callback: Callable[..., Any] | None, *arguments: Any) -> None:
    """Calls a user's function, which may be a coroutine."""
    result = callback(*arguments) if callback else None
    if inspect.isawaitable(result):
        await result


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


async def dial(host: str, port: int, config: ClientConfig) -> Connection:
    context = config.tls()
    try:
        opening = asyncio.open_connection(host, port, ssl=context if isinstance(context, ssl.SSLContext) else None)
        reader, writer = await asyncio.wait_for(opening, config.timeout_ms / 1000)
    except (OSError, asyncio.TimeoutError) as error:
        raise ConnectionFailed(f"WebSocket to {address_of(config.base_url)}: {error or 'no answer'}") from error
    return Connection(reader, writer)
