"""One sandbox."""
from __future__ import annotations

from types import TracebackType

from .. import types as t
from ..errors import NotFoundError
from . import managers as m
from .api import Api
from .http import HttpClient
from .methods import SandboxMethods


class Sandbox(SandboxMethods):
    """A sandbox; `async with` kills it at the end. `info` is as of the last create, get, refresh, pause, resume or renew."""

    def __init__(self, http: HttpClient, info: t.SandboxInfo, owns_http: bool = False) -> None:
        api = Api(http)
        super().__init__(api, info)
        self._http, self._owns_http = http, owns_http
        self.background = m.BackgroundManager(api, info.id)
        self.durable = m.DurableManager(api, info.id)
        self.egress = m.EgressManager(api, info.id)
        self.env = m.EnvManager(api, info.id)
        self.filesystem = m.FilesystemManager(api, info.id)
        self.git = m.GitManager(api, info.id)
        self.interpreter = m.InterpreterManager(api, info.id)
        self.monitor = m.MonitorManager(api, info.id)
        self.ports = m.PortManager(api, info.id)
        self.processes = m.ProcessManager(api, info.id)
        self.proxy = m.ProxyManager(api, info.id)
        self.queue = m.QueueManager(api, info.id)
        self.streams = m.StreamManager(api, info.id)
        self.terminal = m.TerminalManager(api, info.id)

    @property
    def id(self) -> str:
        return self.info.id

    @property
    def status(self) -> str:
        return self.info.status

    async def refresh(self) -> t.SandboxInfo:
        """Reads `info` anew."""
        self.info = await self._api.sandbox_get(self.id)
        return self.info

    async def close(self) -> None:
        """Closes the connections of a sandbox that create_sandbox or get_sandbox gave; the sandbox lives on."""
        if self._owns_http:
            await self._http.close()

    async def __aenter__(self) -> Sandbox:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            await self.kill()
        except NotFoundError:
            pass  # it is gone already
        finally:
            await self.close()
