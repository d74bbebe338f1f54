"""What can be asked of one sandbox, by subject: what is more than one operation is written here, the rest is in methods.py."""
from __future__ import annotations

import base64
from typing import Any, overload

from .. import types as t
from .api import Api
from .methods import (
    BackgroundManager,
    ContextManager,
    DurableManager,
    EgressManager,
    EnvManager,
    FilesystemMethods,
    GitManager,
    InterpreterMethods,
    Manager,
    MonitorManager,
    PortMethods,
    ProcessManager,
    ProxyManager,
    QueueManager,
    ServiceManager,
    StreamManager,
    TerminalMethods,
)
from .terminal import LiveTerminal, connect

__all__ = [
    "BackgroundManager",
    "ContextManager",
    "DurableManager",
    "EgressManager",
    "EnvManager",
    "FilesystemManager",
    "GitManager",
    "InterpreterManager",
    "Manager",
    "MonitorManager",
    "PortManager",
    "ProcessManager",
    "ProxyManager",
    "QueueManager",
    "ServiceManager",
    "StreamManager",
    "TerminalManager",
]

List = list  # some classes have a method of that name, which hides it


class FilesystemManager(FilesystemMethods):
    """Files of a running sandbox. Relative paths are below its working folder."""

    async def write_bytes(self, path: str, content: bytes) -> t.Success:
        return await self.upload(path, base64.b64encode(content).decode())

    async def read_bytes(self, path: str) -> bytes:
        return base64.b64decode(await self.download(path))

    @overload
    async def info(self, path: str) -> t.FileMetadata: ...

    @overload
    async def info(self, path: t.PathList) -> List[t.FileMetadata]: ...

    async def info(self, path: str | t.PathList) -> t.FileInfoReply:
        """One path is described by an object, several by a list in the same order."""
        return await self._api.fs_info(self._id, **_several(path))

    async def move(self, source: str, target: str) -> t.Success:
        return await self.move_all([{"from": source, "to": target}])

    async def mkdir(self, path: str | t.PathList) -> t.Success:
        """Makes folders with their parents."""
        return await self._api.fs_mkdir(self._id, **_several(path))

    async def rmdir(self, path: str | t.PathList) -> t.Success:
        """Removes folders with everything in them."""
        return await self._api.fs_rmdir(self._id, **_several(path))


def _several(path: str | List[str]) -> dict[str, Any]:
    return {"path": path} if isinstance(path, str) else {"paths": path}


class InterpreterManager(InterpreterMethods):
    """Snippets of code in a fresh interpreter, and contexts that keep their variables."""

    def __init__(self, api: Api, id: str) -> None:
        super().__init__(api, id)
        self.contexts = ContextManager(api, id)


class PortManager(PortMethods):
    """Ports of a sandbox that are reachable from outside."""

    def get_proxy_url(self, port: int) -> str:
        """Where the server on this port of the sandbox answers through our server: append a path and use it in a browser."""
        return f"{self._api.http.base_url}/sandbox/proxy/{self._id}/{port}"


class TerminalManager(TerminalMethods):
    """Shells on a real pseudo terminal."""

    async def connect(self, session_id: str) -> LiveTerminal:
        """Connects to a session: its output and your keys, live. Several may be connected; all see the same."""
        return await connect(self._api.http, self._id, session_id)

    async def open(self, cols: int = 80, rows: int = 24, shell: str | None = None) -> LiveTerminal:
        """A new session, and the connection to it."""
        return await self.connect((await self.create(cols, rows, shell)).sessionId)
