"""What can be asked of one sandbox, by subject."""
from __future__ import annotations

import base64
from typing import Any, Literal, overload

from .. import types as t
from .._operation import CallOptions
from .api import Api
from .http import Events
from .terminal import LiveTerminal, connect

WORKSPACE = "/workspace"
List = list  # some classes have a method of that name, which hides it
Signal = Literal["TERM", "KILL", "INT", "HUP", "USR1", "USR2", "STOP", "CONT"]
Language = Literal["python", "javascript", "typescript", "go", "bash"]
Installer = Literal["python", "pip", "javascript", "typescript", "npm", "go", "bash", "apt"]


class Manager:
    """Part of a sandbox."""

    def __init__(self, api: Api, id: str) -> None:
        self._api, self._id = api, id


class EnvManager(Manager):
    """Environment of a sandbox: what every later process gets."""

    async def get(self, key: str) -> t.EnvValue:
        return await self._api.env_get(self._id, key)

    async def set(self, vars: dict[str, str]) -> t.EnvSet:
        return await self._api.env_set(self._id, vars)

    async def list(self) -> t.EnvList:
        return await self._api.env_list(self._id)

    async def delete(self, key: str) -> t.EnvDeleted:
        return await self._api.env_delete(self._id, key)


class FilesystemManager(Manager):
    """Files of a running sandbox. Relative paths are below its working folder."""

    async def read(self, path: str) -> str:
        """The text of a file; bytes that are not UTF-8 are replaced. See read_bytes for all others."""
        return await self._api.fs_read(self._id, path)

    async def write(self, path: str, content: str) -> t.Success:
        """Writes text, making missing parent folders."""
        return await self._api.fs_write(self._id, path, content)

    async def delete(self, path: str) -> t.Success:
        return await self._api.fs_delete(self._id, path)

    async def list(self, path: str = WORKSPACE) -> t.FileInfoList:
        return await self._api.fs_list(self._id, path=path)

    async def search(self, pattern: str, dir: str = WORKSPACE) -> t.PathList:
        """Absolute paths of regular files whose name matches a glob."""
        return await self._api.fs_search(self._id, pattern, dir=dir)

    async def upload(self, path: str, content: str) -> t.Success:
        """Writes bytes that are given as base64."""
        return await self._api.fs_upload(self._id, path, content)

    async def download(self, path: str) -> str:
        """The bytes of a file as base64."""
        return await self._api.fs_download(self._id, path)

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

    async def move_all(self, moves: List[t.FsMoveMove]) -> t.Success:
        """One after the other, up to the first failure."""
        return await self._api.fs_move(self._id, moves)

    async def mkdir(self, path: str | t.PathList) -> t.Success:
        """Makes folders with their parents."""
        return await self._api.fs_mkdir(self._id, **_several(path))

    async def rmdir(self, path: str | t.PathList) -> t.Success:
        """Removes folders with everything in them."""
        return await self._api.fs_rmdir(self._id, **_several(path))

    async def chmod(self, path: str, mode: str) -> t.Success:
        return await self._api.fs_chmod(self._id, path, mode)


def _several(path: str | List[str]) -> dict[str, Any]:
    return {"path": path} if isinstance(path, str) else {"paths": path}


class GitManager(Manager):
    """Git, by the sandbox's own git program. `path` is the repository's folder; default: the working folder."""

    async def clone(self, url: str, path: str | None = None, branch: str | None = None, depth: int | None = None) -> t.ExecResult:
        return await self._api.git_clone(self._id, url, path=path, branch=branch, depth=depth)

    async def status(self, path: str | None = None) -> t.GitStatus:
        return await self._api.git_status(self._id, path=path)

    async def commit(self, message: str, path: str | None = None, all: bool | None = None) -> t.ExecResult:
        return await self._api.git_commit(self._id, message, path=path, all_=all)

    async def diff(self, path: str | None = None, staged: bool | None = None, file: str | None = None) -> t.GitDiff:
        return await self._api.git_diff(self._id, path=path, staged=staged, file=file)

    async def log(self, path: str | None = None, count: int | None = None) -> t.GitLog:
        return await self._api.git_log(self._id, path=path, count=count)

    async def branch(self, path: str | None = None, name: str | None = None, delete: bool | None = None) -> t.GitBranches:
        return await self._api.git_branch(self._id, path=path, name=name, delete=delete)

    async def checkout(self, ref: str, path: str | None = None) -> t.ExecResult:
        return await self._api.git_checkout(self._id, ref, path=path)

    async def push(
        self, path: str | None = None, remote: str | None = None, branch: str | None = None, force: bool | None = None
    ) -> t.ExecResult:
        return await self._api.git_push(self._id, path=path, remote=remote, branch=branch, force=force)

    async def pull(self, path: str | None = None, remote: str | None = None, branch: str | None = None) -> t.ExecResult:
        return await self._api.git_pull(self._id, path=path, remote=remote, branch=branch)


class ContextManager(Manager):
    """Interpreters whose variables live between calls."""

    async def create(
        self,
        language: Literal["python", "javascript"] | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
    ) -> t.Context:
        return await self._api.context_create(self._id, language=language, cwd=cwd, env=env)

    async def list(self) -> List[t.Context]:
        return (await self._api.context_list(self._id)).contexts

    async def get(self, context_id: str) -> t.Context:
        return await self._api.context_get(self._id, context_id)

    async def run(self, context_id: str, code: str, timeout: int | None = None) -> t.ContextResult:
        """Runs code and waits; `timeout` in seconds."""
        return await self._api.context_execute(self._id, context_id, code, timeout=timeout)

    def run_stream(self, context_id: str, code: str, timeout: int | None = None) -> Events[t.ContextEvent]:
        """Runs code and gives what it prints and makes, as it comes; the last event is `end`."""
        return self._api.context_execute_stream(self._id, context_id, code, timeout=timeout).up_to("end")

    async def interrupt(self, context_id: str) -> t.ContextInterrupted:
        """Ends what runs; the variables stay."""
        return await self._api.context_interrupt(self._id, context_id)

    async def restart(self, context_id: str) -> t.Context:
        """Begins anew: the same id, no variables."""
        return await self._api.context_restart(self._id, context_id)

    async def delete(self, context_id: str) -> t.ContextDeleted:
        return await self._api.context_delete(self._id, context_id)


class InterpreterManager(Manager):
    """Snippets of code in a fresh interpreter, and contexts that keep their variables."""

    def __init__(self, api: Api, id: str) -> None:
        super().__init__(api, id)
        self.contexts = ContextManager(api, id)

    async def run(self, code: str, language: Language = "python") -> t.CodeResult:
        return await self._api.interp_execute(self._id, code, language=language)

    async def install(self, packages: List[str], manager: Installer = "pip") -> str:
        """What the package manager printed."""
        return (await self._api.interp_install(self._id, packages, manager=manager)).output

    async def kernels(self) -> t.KernelList:
        return await self._api.interp_kernels(self._id)


class BackgroundManager(Manager):
    """Commands in the background, with one log of their output."""

    async def start(self, command: str | List[str], options: CallOptions | None = None) -> t.BackgroundExec:
        return await self._api.cmd_background(self._id, command, options=options)

    async def status(self, background_id: str) -> t.BackgroundExec:
        return await self._api.cmd_background_status(background_id)

    async def logs(self, background_id: str, cursor: int | None = None) -> t.BackgroundLogs:
        """Output from a byte offset on, and the offset to ask for next."""
        return await self._api.cmd_background_logs(background_id, cursor=cursor)


class DurableManager(Manager):
    """Commands that outlive their connection and the server: followed, fed and signalled by their id."""

    async def start(
        self,
        command: str | List[str],
        *,
        exec_id: str | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout: int | None = None,
        stdin: bool | None = None,
        options: CallOptions | None = None,
    ) -> t.DurableExec:
        return await self._api.exec_start(
            self._id, command, exec_id=exec_id, cwd=cwd, env=env, timeout=timeout, stdin=stdin, options=options
        )

    async def list(self) -> List[t.DurableExec]:
        return (await self._api.exec_list(self._id)).execs

    async def get(self, exec_id: str) -> t.DurableExec:
        return await self._api.exec_get(exec_id)

    async def output(
        self, exec_id: str, offset: int | None = None, encoding: Literal["utf8", "base64"] | None = None
    ) -> t.ExecOutput:
        return await self._api.exec_output(exec_id, offset=offset, encoding=encoding)

    def follow(
        self, exec_id: str, offset: int | None = None, encoding: Literal["utf8", "base64"] | None = None
    ) -> Events[t.ExecOutputEvent]:
        """Output as it comes; the last event is `exit`. After a broken connection go on from the last event's `offset`."""
        return self._api.exec_output_stream(exec_id, offset=offset, follow=True, encoding=encoding).up_to("exit")

    async def input(
        self,
        exec_id: str,
        data: str | None = None,
        encoding: Literal["utf8", "base64"] | None = None,
        close: bool | None = None,
    ) -> t.ExecWritten:
        """Writes to its standard input; `close` ends it."""
        return await self._api.exec_input(exec_id, data=data, encoding=encoding, close=close)

    async def signal(self, exec_id: str, signal: Signal | None = None) -> t.ExecSignalled:
        return await self._api.exec_signal(exec_id, signal=signal)


class ProcessManager(Manager):
    """Processes inside a sandbox, by their ids there."""

    async def list(self) -> t.ProcessList:
        return await self._api.proc_list(self._id)

    async def kill(self, pid: int, signal: Signal | None = None) -> t.ProcessKilled:
        return await self._api.proc_kill(self._id, pid, signal=signal)

    async def top(self) -> t.ProcessTop:
        return await self._api.proc_top(self._id)


class PortManager(Manager):
    """Ports of a sandbox that are reachable from outside."""

    async def expose(
        self, container_port: int, host_port: int | None = None, protocol: Literal["tcp", "udp"] | None = None
    ) -> t.PortMapping:
        return await self._api.port_expose(self._id, container_port, host_port=host_port, protocol=protocol)

    async def list(self) -> t.PortList:
        return await self._api.port_list(self._id)

    async def unexpose(self, container_port: int) -> t.PortRemoved:
        return await self._api.port_unexpose(self._id, container_port)

    def get_proxy_url(self, port: int) -> str:
        """Where the server on this port of the sandbox answers through our server: append a path and use it in a browser."""
        return f"{self._api.http.base_url}/sandbox/proxy/{self._id}/{port}"


class ProxyManager(Manager):
    """HTTP requests to servers inside a sandbox, through the server."""

    async def request(
        self,
        port: int,
        path: str | None = None,
        method: str | None = None,
        headers: dict[str, Any] | None = None,
        body: str | None = None,
    ) -> t.ProxyReply:
        return await self._api.proxy_request(self._id, port, method=method, path=path, headers=headers, body=body)

    async def config(
        self, cors: str | None = None, require_auth: bool | None = None, timeout: int | None = None
    ) -> t.ProxyConfig:
        """The proxy's settings, after changing those that are given."""
        return await self._api.proxy_config(self._id, cors=cors, require_auth=require_auth, timeout=timeout)


class QueueManager(Manager):
    """Queued commands with retries and a dead-letter list."""

    async def submit(
        self,
        command: str | List[str],
        max_retries: int | None = None,
        timeout: int | None = None,
        options: CallOptions | None = None,
    ) -> t.QueueJobInfo:
        return await self._api.queue_submit(self._id, command, max_retries=max_retries, timeout=timeout, options=options)

    async def status(self, job_id: str) -> t.QueueJobInfo:
        return await self._api.queue_status(job_id)

    async def cancel(self, job_id: str) -> t.QueueCancelled:
        return await self._api.queue_cancel(job_id)

    async def retry(self, job_id: str) -> t.QueueJobInfo:
        """Tries a command again that failed for good."""
        return await self._api.queue_retry(job_id)

    async def dlq(self, limit: int | None = None, offset: int | None = None) -> t.QueueJobPage:
        """Commands that failed for good."""
        return await self._api.queue_dlq(limit=limit, offset=offset)


class StreamManager(Manager):
    """What a sandbox prints and uses, as it happens."""

    def logs(self, tail: int | None = None, follow: bool | None = None) -> Events[t.LogEvent]:
        """Output of the sandbox's main process, line by line; the last event is `end`."""
        return self._api.stream_logs(self._id, tail=tail, follow=follow).up_to("end")

    def metrics(self, interval: int | None = None) -> Events[t.SandboxMetrics]:
        """Resource use every `interval` seconds, until the sandbox is gone."""
        return self._api.stream_metrics(self._id, interval=interval)


class MonitorManager(Manager):
    """Alerts on resource use."""

    async def set_alert(
        self,
        metric: Literal["cpu", "memory", "pids"],
        threshold: float,
        action: Literal["notify", "pause", "kill"] | None = None,
    ) -> t.ResourceAlert:
        return await self._api.alert_set(self._id, metric, threshold, action=action)

    async def list_alerts(self) -> t.AlertList:
        return await self._api.alert_list(self._id)

    async def delete_alert(self, alert_id: str) -> t.Deleted:
        return await self._api.alert_delete(alert_id)

    async def history(self, limit: int | None = None) -> t.AlertEventPage:
        """Alerts that fired, newest first."""
        return await self._api.alert_history(self._id, limit=limit)


class EgressManager(Manager):
    """What a sandbox with a network may connect to."""

    async def get(self) -> t.EgressPolicy:
        return await self._api.egress_get(self._id)

    async def set(
        self, default: Literal["allow", "deny"] | None = None, rules: List[t.EgressSetRule] | None = None
    ) -> t.EgressPolicy:
        """Changes the policy; open connections that are not allowed any more are cut."""
        return await self._api.egress_set(self._id, default=default, rules=rules)


class TerminalManager(Manager):
    """Shells on a real pseudo terminal."""

    async def create(self, cols: int = 80, rows: int = 24, shell: str | None = None) -> t.TerminalSession:
        return await self._api.terminal_create(self._id, cols=cols, rows=rows, shell=shell)

    async def resize(self, session_id: str, cols: int, rows: int) -> t.TerminalSize:
        return await self._api.terminal_resize(self._id, session_id, cols, rows)

    async def close(self, session_id: str) -> t.TerminalClosed:
        return await self._api.terminal_close(self._id, session_id)

    async def connect(self, session_id: str) -> LiveTerminal:
        """Connects to a session: its output and your keys, live. Several may be connected; all see the same."""
        return await connect(self._api.http, self._id, session_id)

    async def open(self, cols: int = 80, rows: int = 24, shell: str | None = None) -> LiveTerminal:
        """A new session, and the connection to it."""
        return await self.connect((await self.create(cols, rows, shell)).sessionId)
