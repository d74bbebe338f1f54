"""A plain or TLS connection without asyncio."""
from __future__ import annotations

import socket
import ssl

from ._errors import ConnectionFailed


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


def dial(host: str, port: int, is_tls: bool, timeout_s: float) -> Connection:
    try:
        sock = socket.create_connection((host, port), timeout=timeout_s)
        if is_tls:
            sock = ssl.create_default_context().wrap_socket(sock, server_hostname=host)
    except OSError as error:
        raise ConnectionFailed(f"{host}:{port}: {error}") from error
    sock.settimeout(None)
    return Connection(sock)
