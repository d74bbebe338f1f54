"""A plain or TLS connection without asyncio."""
from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from typing import Any, TypeVar

from ._errors import ConnectionFailed
from ._settings import ClientConfig, address_of

T = TypeVar("T")


def Opening(value: T) -> T:
    """In asyncnet.py a class; here a thing is open when it is there."""
    return value


def called(callback: Callable[..., Any] | None, *arguments: Any) -> None:
    if callback:
        callback(*arguments)


class Connection:
    """Bytes to and from one server."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def read(self) -> bytes:
        """Some bytes; none at the end."""
        try:
            return self._sock.recv(65536)
        except OSError as error:
            raise ConnectionFailed(f"the connection broke: {error}") from error

    def write(self, data: bytes) -> None:
        try:
            self._sock.sendall(data)
        except OSError as error:
            raise ConnectionFailed(f"the connection broke: {error}") from error

    def close(self) -> None:
        self._sock.close()


def dial(host: str, port: int, config: ClientConfig) -> Connection:
    context = config.tls()
    try:
        sock = socket.create_connection((host, port), timeout=config.timeout_ms / 1000)
        if isinstance(context, ssl.SSLContext):
            sock = context.wrap_socket(sock, server_hostname=host)
    except OSError as error:
        raise ConnectionFailed(f"WebSocket to {address_of(config.base_url)}: {error}") from error
    sock.settimeout(None)
    return Connection(sock)
