"""One sandbox: how it is opened, and what is more than one operation of it. The rest is in methods.py and managers.py."""
from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, overload

from typing_extensions import Unpack

from .. import _code as code_of
from .. import _command as command_of
from .. import _operations as ops
from .. import _wire as wire
from .. import types as t
from .._errors import succeeded
from .._operation import CallOptions
from .._settings import ClientConfig
from ..asyncnet import Opening, called
from ..errors import NotFoundError
from . import managers as m
from .api import Api
from .http import Events, HttpClient
from .methods import SandboxMethods

List = list  # a method of that name hides it
Output = Callable[[str], Any]


def _config(config: ClientConfig | None, base_url: str | None, token: str | None) -> ClientConfig:
    return config or ClientConfig(base_url=base_url or "", token=token)


class Sandbox(SandboxMethods):
    """A sandbox. `async with` kills it at the end if it was created there, and otherwise only closes the connection; `keep` says it expressly.

    `info` is its record as of the last create, connect, refresh, pause, resume or renew; its members are attributes of the sandbox, too."""

    def __init__(self, http: HttpClient, info: t.SandboxInfo, owns_http: bool = False, keep: bool = False) -> None:
        api = Api(http)
        super().__init__(api, info)
        self._http, self._owns_http, self._keep = http, owns_http, keep
        if owns_http:
            http.retain()
        self.background = m.BackgroundManager(api, info.id)
        self.durable = m.DurableManager(api, info.id)
        self.egress = m.EgressManager(api, info.id)
        self.env = m.EnvManager(api, info.id)
        self.filesystem = self.files = m.FilesystemManager(api, info.id)
        self.git = m.GitManager(api, info.id)
        self.interpreter = m.InterpreterManager(api, info.id)
        self.monitor = m.MonitorManager(api, info.id)
        self.ports = m.PortManager(api, info.id)
        self.processes = m.ProcessManager(api, info.id)
        self.proxy = m.ProxyManager(api, info.id)
        self.queue = m.QueueManager(api, info.id)
        self.service = m.ServiceManager(api, info.id)
        self.streams = m.StreamManager(api, info.id)
        self.terminal = m.TerminalManager(api, info.id)

    # --- how it is opened ---

    @classmethod
    async def _open(cls, config: ClientConfig, make: Callable[[Api], Awaitable[t.SandboxInfo]], keep: bool) -> Sandbox:
        http = HttpClient(config)
        try:
            return cls(http, await make(Api(http)), owns_http=True, keep=keep)
        except BaseException:
            await http.close()
            raise

    @classmethod
    def create(
        cls,
        image: str | None = None,
        *,
        base_url: str | None = None,
        token: str | None = None,
        config: ClientConfig | None = None,
        keep: bool = False,
        options: CallOptions | None = None,
        **fields: Unpack[t.SandboxCreateOptions],
    ) -> Opening[Sandbox]:
        """A new sandbox; without image and template, of the server's default image (python)."""
        where = _config(config, base_url, token)
        return Opening(cls._open(where, lambda api: api.sandbox_create(image=image, **fields, options=options), keep))

    @classmethod
    def connect(
        cls,
        id: str,
        *,
        base_url: str | None = None,
        token: str | None = None,
        config: ClientConfig | None = None,
        keep: bool = True,
    ) -> Opening[Sandbox]:
        """The sandbox with this id or name."""
        return Opening(cls._open(_config(config, base_url, token), lambda api: api.sandbox_get(id), keep))

    @classmethod
    def connect_or_create(
        cls,
        name: str,
        image: str | None = None,
        *,
        base_url: str | None = None,
        token: str | None = None,
        config: ClientConfig | None = None,
        keep: bool = True,
        **fields: Unpack[t.SandboxSettings],
    ) -> Opening[Sandbox]:
        """The sandbox of this name, awake if it was paused or stopped; or a new one. However many ask at once, all get the same."""

        async def make(api: Api) -> t.SandboxInfo:
            info = await api.sandbox_create(image=image, name=name, if_exists="connect", **fields)
            return info if info.status == "running" else await api.sandbox_start(info.id)

        return Opening(cls._open(_config(config, base_url, token), make, keep))

    @classmethod
    def from_snapshot(
        cls,
        snapshot_id: str,
        name: str | None = None,
        *,
        base_url: str | None = None,
        token: str | None = None,
        config: ClientConfig | None = None,
        keep: bool = False,
    ) -> Opening[Sandbox]:
        """A new sandbox as a snapshot has it."""
        return Opening(cls._open(_config(config, base_url, token), lambda api: api.snapshot_clone(snapshot_id, name=name), keep))

    @classmethod
    async def list(
        cls,
        *,
        base_url: str | None = None,
        token: str | None = None,
        config: ClientConfig | None = None,
        **filters: Unpack[t.SandboxListOptions],
    ) -> List[Sandbox]:
        """All sandboxes that match; with `page` those of one page."""
        http = HttpClient(_config(config, base_url, token))
        is_one_page = "page" in filters
        http.retain()
        try:
            page = await Api(http).sandbox_list(**filters)
            found = page.items
            while not is_one_page and page.items and len(found) < page.total:
                filters["page"] = page.page + 1
                page = await Api(http).sandbox_list(**filters)
                found += page.items
            return [cls(http, info, owns_http=True, keep=True) for info in found]
        finally:
            await http.release()

    # --- what it is ---

    def __getitem__(self, name: str) -> Any:
        return self.info[name]

    def __repr__(self) -> str:
        return f"<Sandbox {self.id} {self.name!r} {self.status} at {self._http.config.base_url}>"

    async def refresh(self) -> t.SandboxInfo:
        """Reads `info` anew."""
        self.info = await self._api.sandbox_get(self.id)
        return self.info

    # --- commands and code ---

    def exec_stream(
        self,
        command: str | List[str],
        timeout: int | None = None,
        cwd: str | None = None,
        *,
        env: dict[str, str] | None = None,
        user: str | None = None,
        stdin: str | bytes | None = None,
    ) -> Events[t.ExecStreamChunk]:
        """Run a command and stream its output; the last event is `exit`, with the exit code in `data`."""
        given = command_of.input_of(stdin)
        return self._api.cmd_run_stream(self.id, command, timeout=timeout, cwd=cwd, env=env, user=user, **given).up_to("exit")

    async def exec(
        self,
        command: str | List[str],
        timeout: int | None = None,
        cwd: str | None = None,
        options: CallOptions | None = None,
        *,
        env: dict[str, str] | None = None,
        user: str | None = None,
        stdin: str | bytes | None = None,
        on_stdout: Output | None = None,
        on_stderr: Output | None = None,
        check: bool = False,
    ) -> t.ExecResult:
        """Run a command and wait for it; a list runs without a shell. timeout: seconds, after which TimedOutError is raised, with the output so far in
        its `result`. on_stdout and on_stderr get each piece of output as it comes. check: raises CommandFailed unless the exit code is 0."""
        if on_stdout or on_stderr:
            result = await self._exec_watched(
                self.exec_stream(command, timeout, cwd, env=env, user=user, stdin=stdin), on_stdout, on_stderr
            )
        else:
            given = command_of.input_of(stdin)
            result = await self._api.cmd_run(
                self.id, command, timeout=timeout, cwd=cwd, env=env, user=user, **given, options=options
            )
        return succeeded(command_of.shown(command), result) if check else result

    async def _exec_watched(
        self, events: Events[t.ExecStreamChunk], on_stdout: Output | None, on_stderr: Output | None
    ) -> t.ExecResult:
        collected = command_of.Collected()
        async with events:
            async for chunk in events:
                collected.take(chunk)
                if chunk.type == "stdout":
                    await called(on_stdout, chunk.data)
                elif chunk.type == "stderr":
                    await called(on_stderr, chunk.data)
        result = collected.result()
        if result.timedOut:
            raise wire.timed_out(self._http.config, ops.CMD_RUN_STREAM.place({"id": self.id})[0], result)
        return result

    async def run_code(
        self,
        code: str,
        language: str = "python",
        *,
        timeout: int | None = None,
        context: str | t.Context | None = None,
        on_stdout: Output | None = None,
        on_stderr: Output | None = None,
        on_result: Callable[[t.RichResult], Any] | None = None,
        check: bool = False,
    ) -> code_of.Execution:
        """Run code where the variables of earlier calls still are: in `context`, or in the sandbox's default context of the language (python,
        javascript). typescript, go and bash run in a fresh interpreter each time. check: raises CodeFailed when the code raises an error."""
        where = language if context is None else context if isinstance(context, str) else context.id
        if context is None and language not in code_of.CONTEXT_LANGUAGES:
            fresh = await self._api.interp_execute(self.id, code, language=language)  # type: ignore[arg-type]  # the server knows the languages
            execution = code_of.fresh_execution_of(fresh)
            await called(on_stdout if execution.stdout else None, execution.stdout)
        elif on_stdout or on_stderr or on_result:
            execution = code_of.Execution()
            async with self._api.context_execute_stream(self.id, where, code, timeout=timeout).up_to("end") as events:
                async for event in events:
                    execution.take(event)
                    if event.type == "stdout":
                        await called(on_stdout, event.data)
                    elif event.type == "stderr":
                        await called(on_stderr, event.data)
                    elif event.type == "result":
                        await called(on_result, event.result)
        else:
            execution = code_of.execution_of(await self._api.context_execute(self.id, where, code, timeout=timeout))
        return execution.check() if check else execution

    # --- copies, and what is reached from outside ---

    def _sibling(self, info: t.SandboxInfo) -> Sandbox:
        return type(self)(self._http, info, owns_http=self._owns_http)

    async def clone(self, name: str | None = None, options: CallOptions | None = None) -> Sandbox:
        """A new sandbox with the files and configuration of this one."""
        return self._sibling(await self._api.sandbox_clone(self.id, name=name, options=options))

    @overload
    async def fork(self, count: None = None, name: str | None = None, options: CallOptions | None = None) -> Sandbox: ...

    @overload
    async def fork(self, count: int, name: str | None = None, options: CallOptions | None = None) -> List[Sandbox]: ...

    async def fork(
        self, count: int | None = None, name: str | None = None, options: CallOptions | None = None
    ) -> Sandbox | List[Sandbox]:
        """A new sandbox with the files of this one as they are now (and its processes, where the backend can); with a count, a list of as many."""
        made = await self._api.sandbox_fork(self.id, count=count, name=name, options=options)
        return self._sibling(made.sandboxes[0]) if count is None else [self._sibling(info) for info in made.sandboxes]

    async def get_url(
        self, port: int, *, public: bool | None = None, rewrite_host: bool | None = None, ttl: int | None = None
    ) -> str:
        """A link that opens the HTTP server on this port of the sandbox in a browser: an origin of its own. On a server with tokens it works once,
        until `ttl` seconds are over, and becomes a cookie of that browser; public=True: for everyone who has it. Programs may send their token to
        the address of `ports.preview()` instead."""
        preview = await self.ports.preview(port, public=public, rewrite_host=rewrite_host, ttl=ttl)
        return preview.url if preview.public else preview.signedUrl or preview.url

    # --- its end ---

    async def close(self) -> None:
        """Closes the connections of a sandbox that has its own; the sandbox lives on."""
        if self._owns_http:
            self._owns_http = False
            await self._http.release()

    async def __aenter__(self) -> Sandbox:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if not self._keep:
                await self.kill()
        except NotFoundError:
            pass  # it is gone already
        finally:
            await self.close()
