"""Requests, retries and errors; every class of this package sends through one HttpClient."""
from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from types import TracebackType
from typing import Any, Generic, TypeVar

import httpx

from .. import _wire as wire
from .._errors import ApiError, ConnectionFailed, SandboxError
from .._operation import CallOptions, Operation
from .._settings import ClientConfig

T = TypeVar("T")


class Events(Generic[T]):
    """A stream of events. Leaving the loop leaves the stream to the collector; `async with`, or aclose(), ends it at once."""

    def __init__(self, source: AsyncGenerator[T, None], last: str | None = None) -> None:
        self._source, self._last, self._over = source, last, False

    def up_to(self, last: str) -> Events[T]:
        """The same stream, of which an event of this type is the last: breaking off before it is an error, not an end."""
        self._last = last
        return self

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        if self._over:
            raise StopAsyncIteration
        try:
            event = await self._source.__anext__()
        except StopAsyncIteration:
            self._over = True
            if self._last is None:
                raise
            raise ConnectionFailed(f'the stream broke off before its "{self._last}" event') from None
        if self._last is not None and getattr(event, "type", None) == self._last:
            await self.aclose()
        return event

    async def aclose(self) -> None:
        self._over = True
        await self._source.aclose()

    async def __aenter__(self) -> Events[T]:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()


class HttpClient:
    """One server. `async with` closes its connections."""

    def __init__(self, config: ClientConfig | None = None) -> None:
        self.config = config or ClientConfig()
        self.base_url = self.config.base_url
        self._users = 0
        self._client = httpx.AsyncClient(verify=self.config.tls())

    async def get(self, path: str, kind: Any = None) -> Any:
        """GET of any path of the server, for what has no method yet."""
        return await self._json(wire.plain_request(self.config, "GET", path, None, None, False), kind)

    async def post(self, path: str, body: Any = None, kind: Any = None) -> Any:
        return await self._json(wire.plain_request(self.config, "POST", path, {} if body is None else body, None, False), kind)

    async def delete(self, path: str, kind: Any = None) -> Any:
        return await self._json(wire.plain_request(self.config, "DELETE", path, None, None, False), kind)

    def stream(self, path: str, body: Any = None, kind: Any = None) -> Events[Any]:
        """POST that is answered with server-sent events."""
        return Events(self._read(wire.plain_request(self.config, "POST", path, {} if body is None else body, None, True), kind))

    def stream_get(self, path: str, kind: Any = None) -> Events[Any]:
        return Events(self._read(wire.plain_request(self.config, "GET", path, None, None, True), kind))

    async def call(self, op: Operation, fields: dict[str, Any], kind: Any, options: CallOptions | None = None) -> Any:
        """One operation, answered with JSON."""
        return await self._json(wire.request_for(self.config, op, fields, options, False), kind)

    def events(self, op: Operation, fields: dict[str, Any], kind: Any, options: CallOptions | None = None) -> Events[Any]:
        """One operation, answered with server-sent events."""
        return Events(self._read(wire.request_for(self.config, op, fields, options, True), kind))

    async def close(self) -> None:
        await self._client.aclose()

    def retain(self) -> None:
        """One more sandbox that uses this client and has no other."""
        self._users += 1

    async def release(self) -> None:
        """The last one closes it."""
        self._users -= 1
        if self._users == 0:
            await self.close()

    def __repr__(self) -> str:
        return f"<HttpClient {self.config.base_url}>"

    async def __aenter__(self) -> HttpClient:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def _head(self, request: wire.Request) -> httpx.Response:
        """The first good answer, unread."""
        left = request.retries
        while True:
            try:
                response = await self._client.send(self._client.build_request(**request.arguments(self.base_url)), stream=True)
                if response.is_success:
                    return response
                wait = wire.pause_asked_for(response)
                text = await response.aread()
                if left == 0 or wait is None:
                    raise wire.failure_of(request, response, text.decode(errors="replace"))
            except ApiError:
                raise
            except httpx.HTTPError as error:
                if left == 0 or isinstance(error, httpx.ReadTimeout):
                    # Where nothing listens, the layers below have nothing to add.
                    raise wire.lost(request, error) from (None if isinstance(error, httpx.ConnectError) else error)
                wait = wire.pause_after_loss(request, left)
            left -= 1
            await asyncio.sleep(wait)

    async def _json(self, request: wire.Request, kind: Any) -> Any:
        response = await self._head(request)
        try:
            text = await response.aread()
        except httpx.HTTPError as error:
            raise wire.lost(request, error) from error
        finally:
            await response.aclose()
        return wire.parse(request, text, kind)

    async def _read(self, request: wire.Request, kind: Any) -> AsyncGenerator[Any, None]:
        response = await self._head(request)
        reader = wire.EventReader(request, kind, response.request)
        try:
            async for line in response.aiter_lines():
                for event in reader.line(line):
                    yield event
        except SandboxError:
            raise
        except httpx.HTTPError as error:
            raise wire.lost(request, error) from error
        finally:
            await response.aclose()
