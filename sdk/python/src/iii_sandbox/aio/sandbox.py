"""One sandbox."""
from __future__ import annotations

from types import TracebackType

from .. import types as t
from .._operation import CallOptions
from ..errors import NotFoundError
from . import managers as m
from .api import Api
from .http import Events, HttpClient


class Sandbox:
    """A sandbox; `async with` kills it at the end. `info` is as of the last create, get, refresh, pause, resume or renew."""

    def __init__(self, http: HttpClient, info: t.SandboxInfo, owns_http: bool = False) -> None:
        api = Api(http)
        self._http, self._api, self._owns_http = http, api, owns_http
        self.info = info
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

    async def exec(
        self,
        command: str | list[str],
        timeout: int | None = None,
        cwd: str | None = None,
        options: CallOptions | None = None,
    ) -> t.ExecResult:
        """Runs a command and waits for its end; a list of words runs without a shell. `timeout` in seconds."""
        return await self._api.cmd_run(self.id, command, timeout=timeout, cwd=cwd, options=options)

    def exec_stream(
        self, command: str | list[str], timeout: int | None = None, cwd: str | None = None
    ) -> Events[t.ExecStreamChunk]:
        """Runs a command and gives its output as it comes; the last event is `exit`. Closing the stream ends the command."""
        return self._api.cmd_run_stream(self.id, command, timeout=timeout, cwd=cwd).up_to("exit")

    async def interrupt(self, pid: int | None = None) -> t.Success:
        """SIGINT to one process, or to every running command."""
        return await self._api.cmd_interrupt(self.id, pid=pid)

    async def clone(self, name: str | None = None, options: CallOptions | None = None) -> t.SandboxInfo:
        """A new sandbox with the files and configuration of this one."""
        return await self._api.sandbox_clone(self.id, name=name, options=options)

    async def fork(
        self, count: int | None = None, name: str | None = None, options: CallOptions | None = None
    ) -> t.SandboxFork:
        """Several at once."""
        return await self._api.sandbox_fork(self.id, count=count, name=name, options=options)

    async def pause(self) -> t.SandboxInfo:
        self.info = await self._api.sandbox_pause(self.id)
        return self.info

    async def resume(self) -> t.SandboxInfo:
        self.info = await self._api.sandbox_resume(self.id)
        return self.info

    async def renew(self, expires_at: int) -> t.SandboxInfo:
        """Sets the time of expiry, in milliseconds since the epoch."""
        self.info = await self._api.sandbox_renew(self.id, expires_at)
        return self.info

    async def kill(self) -> t.Success:
        return await self._api.sandbox_kill(self.id)

    async def metrics(self) -> t.SandboxMetrics:
        return await self._api.metrics_sandbox(self.id)

    async def snapshot(self, name: str | None = None) -> t.SnapshotInfo:
        return await self._api.snapshot_create(self.id, name=name)

    async def restore(self, snapshot_id: str) -> t.SandboxInfo:
        return await self._api.snapshot_restore(self.id, snapshot_id)

    async def list_snapshots(self) -> t.SnapshotList:
        return await self._api.snapshot_list(self.id)

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
