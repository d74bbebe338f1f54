"""Runs requests of the contract scenarios (tests/contract/README.md) through the classes of this package."""
import asyncio
import inspect
import json
import os
import sys

from pydantic import BaseModel

from iii_sandbox import ApiError, ClientConfig, Sandbox, Sandboxes
from iii_sandbox.types import SandboxInfo

NAMES = {"diskMb": "disk_mb", "openFiles": "open_files", "shmMb": "shm_mb", "netMbps": "net_mbps", "pageSize": "page_size", "parentId": "parent_id",
         "execId": "exec_id", "maxRetries": "max_retries", "requireAuth": "require_auth", "sandboxId": "sandbox_id", "functionId": "function_id"}


def box(client, id):
    """A sandbox by its id alone: the requests name it by nothing else."""
    return Sandbox(client.http, SandboxInfo.model_construct(id=id))


def rest(a, *without):
    """Fields by the names of Python."""
    return {NAMES.get(name, name): value for name, value in a.items() if name not in without}


async def info(pending):
    return (await pending).info


async def wrap(name, pending):
    return {name: await pending}


async def talk(c, a):
    async with await box(c, a["id"]).terminal.open() as terminal:
        await terminal.write(a["input"])
        return {"found": await terminal.read_until(a["until"]) is not None}


LIFECYCLE = {
    "sandbox_create": lambda c, a: info(c.create(**rest(a))),
    "sandbox_list": lambda c, a: c.list(**rest(a)),
    "sandbox_get": lambda c, a: info(c.get(a["id"])),
    "sandbox_kill": lambda c, a: box(c, a["id"]).kill(),
    "sandbox_pause": lambda c, a: box(c, a["id"]).pause(),
    "sandbox_resume": lambda c, a: box(c, a["id"]).resume(),
    "sandbox_renew": lambda c, a: box(c, a["id"]).renew(a["expiresAt"]),
    "sandbox_clone": lambda c, a: box(c, a["id"]).clone(a.get("name")),
    "sandbox_fork": lambda c, a: box(c, a["id"]).fork(**rest(a, "id")),
    "metrics_sandbox": lambda c, a: box(c, a["id"]).metrics(),
    "snapshot_create": lambda c, a: box(c, a["id"]).snapshot(a.get("name")),
    "snapshot_list": lambda c, a: box(c, a["id"]).list_snapshots(),
    "snapshot_restore": lambda c, a: box(c, a["id"]).restore(a["snapshotId"]),
    "snapshot_clone": lambda c, a: c.snapshots.clone(a["snapshotId"], a.get("name")),
    "snapshot_delete": lambda c, a: c.snapshots.delete(a["snapshotId"]),
    "snapshot_create_short": lambda c, a: c.snapshots.create_short(**rest(a)),
}

COMMANDS = {
    "cmd_run": lambda c, a: box(c, a["id"]).exec(**rest(a, "id")),
    "cmd_run_stream": lambda c, a: box(c, a["id"]).exec_stream(**rest(a, "id")),
    "cmd_background": lambda c, a: box(c, a["id"]).background.start(a["command"]),
    "cmd_background_status": lambda c, a: box(c, "").background.status(a["id"]),
    "cmd_background_logs": lambda c, a: box(c, "").background.logs(a["id"], a.get("cursor")),
    "cmd_interrupt": lambda c, a: box(c, a["id"]).interrupt(a.get("pid")),
    "exec_start": lambda c, a: box(c, a["id"]).durable.start(**rest(a, "id")),
    "exec_list": lambda c, a: wrap("execs", box(c, a["id"]).durable.list()),
    "exec_get": lambda c, a: box(c, "").durable.get(a["execId"]),
    "exec_output": lambda c, a, stream: (box(c, "").durable.follow if stream else box(c, "").durable.output)(**rest(a)),
    "exec_input": lambda c, a: box(c, "").durable.input(**rest(a)),
    "exec_signal": lambda c, a: box(c, "").durable.signal(**rest(a)),
    "queue_submit": lambda c, a: box(c, a["id"]).queue.submit(**rest(a, "id")),
    "queue_status": lambda c, a: box(c, "").queue.status(a["jobId"]),
    "queue_cancel": lambda c, a: box(c, "").queue.cancel(a["jobId"]),
    "queue_retry": lambda c, a: box(c, "").queue.retry(a["jobId"]),
    "queue_dlq": lambda c, a: box(c, "").queue.dlq(**rest(a)),
    "interp_execute": lambda c, a: box(c, a["id"]).interpreter.run(**rest(a, "id")),
    "interp_install": lambda c, a: wrap("output", box(c, a["id"]).interpreter.install(**rest(a, "id"))),
    "interp_kernels": lambda c, a: box(c, a["id"]).interpreter.kernels(),
    "context_create": lambda c, a: box(c, a["id"]).interpreter.contexts.create(**rest(a, "id")),
    "context_list": lambda c, a: wrap("contexts", box(c, a["id"]).interpreter.contexts.list()),
    "context_get": lambda c, a: box(c, a["id"]).interpreter.contexts.get(a["contextId"]),
    "context_execute": lambda c, a: box(c, a["id"]).interpreter.contexts.run(a["contextId"], a["code"], a.get("timeout")),
    "context_execute_stream": lambda c, a: box(c, a["id"]).interpreter.contexts.run_stream(a["contextId"], a["code"], a.get("timeout")),
    "context_interrupt": lambda c, a: box(c, a["id"]).interpreter.contexts.interrupt(a["contextId"]),
    "context_restart": lambda c, a: box(c, a["id"]).interpreter.contexts.restart(a["contextId"]),
    "context_delete": lambda c, a: box(c, a["id"]).interpreter.contexts.delete(a["contextId"]),
}

INSIDE = {
    "fs_read": lambda c, a: box(c, a["id"]).filesystem.read(a["path"]),
    "fs_write": lambda c, a: box(c, a["id"]).filesystem.write(a["path"], a["content"]),
    "fs_delete": lambda c, a: box(c, a["id"]).filesystem.delete(a["path"]),
    "fs_list": lambda c, a: box(c, a["id"]).filesystem.list(**rest(a, "id")),
    "fs_search": lambda c, a: box(c, a["id"]).filesystem.search(**rest(a, "id")),
    "fs_upload": lambda c, a: box(c, a["id"]).filesystem.upload(a["path"], a["content"]),
    "fs_download": lambda c, a: box(c, a["id"]).filesystem.download(a["path"]),
    "fs_info": lambda c, a: box(c, a["id"]).filesystem.info(a.get("paths") or a["path"]),
    "fs_move": lambda c, a: box(c, a["id"]).filesystem.move_all(a["moves"]),
    "fs_mkdir": lambda c, a: box(c, a["id"]).filesystem.mkdir(a.get("paths") or a["path"]),
    "fs_rmdir": lambda c, a: box(c, a["id"]).filesystem.rmdir(a.get("paths") or a["path"]),
    "fs_chmod": lambda c, a: box(c, a["id"]).filesystem.chmod(a["path"], a["mode"]),
    "env_get": lambda c, a: box(c, a["id"]).env.get(a["key"]),
    "env_set": lambda c, a: box(c, a["id"]).env.set(a["vars"]),
    "env_list": lambda c, a: box(c, a["id"]).env.list(),
    "env_delete": lambda c, a: box(c, a["id"]).env.delete(a["key"]),
    "proc_list": lambda c, a: box(c, a["id"]).processes.list(),
    "proc_top": lambda c, a: box(c, a["id"]).processes.top(),
    "proc_kill": lambda c, a: box(c, a["id"]).processes.kill(**rest(a, "id")),
    **{f"git_{verb}": lambda c, a, verb=verb: getattr(box(c, a["id"]).git, verb)(**rest(a, "id"))
       for verb in ("clone", "status", "commit", "diff", "log", "branch", "checkout", "push", "pull")},
}

REACH = {
    "port_expose": lambda c, a: box(c, a["id"]).ports.expose(a["containerPort"], a.get("hostPort"), a.get("protocol")),
    "port_list": lambda c, a: box(c, a["id"]).ports.list(),
    "port_unexpose": lambda c, a: box(c, a["id"]).ports.unexpose(a["containerPort"]),
    "proxy_request": lambda c, a: box(c, a["id"]).proxy.request(**rest(a, "id")),
    "proxy_config": lambda c, a: box(c, a["id"]).proxy.config(**rest(a, "id")),
    "terminal_create": lambda c, a: box(c, a["id"]).terminal.create(**rest(a, "id")),
    "terminal_resize": lambda c, a: box(c, a["id"]).terminal.resize(a["sessionId"], a["cols"], a["rows"]),
    "terminal_close": lambda c, a: box(c, a["id"]).terminal.close(a["sessionId"]),
    "terminal_talk": talk,
    "stream_logs": lambda c, a: box(c, a["id"]).streams.logs(**rest(a, "id")),
    "stream_metrics": lambda c, a: box(c, a["id"]).streams.metrics(**rest(a, "id")),
    "alert_set": lambda c, a: box(c, a["id"]).monitor.set_alert(**rest(a, "id")),
    "alert_list": lambda c, a: box(c, a["id"]).monitor.list_alerts(),
    "alert_delete": lambda c, a: box(c, "").monitor.delete_alert(a["alertId"]),
    "alert_history": lambda c, a: box(c, a["id"]).monitor.history(**rest(a, "id")),
    "egress_get": lambda c, a: box(c, a["id"]).egress.get(),
    "egress_set": lambda c, a: box(c, a["id"]).egress.set(**rest(a, "id")),
}

SERVER = {
    "template_create": lambda c, a: c.templates.create(**rest(a)),
    "template_list": lambda c, a: wrap("templates", c.templates.list()),
    "template_get": lambda c, a: c.templates.get(a["id"]),
    "template_delete": lambda c, a: c.templates.delete(a["id"]),
    "image_list": lambda c, a: wrap("images", c.images.list()),
    "image_pull": lambda c, a, stream: (c.images.pull_stream if stream else c.images.pull)(a["image"]),
    "image_delete": lambda c, a: c.images.delete(a["name"]),
    "image_delete_query": lambda c, a: c.images.delete_named(a["name"]),
    "metrics_global": lambda c, a: c.admin.metrics(),
    "health": lambda c, a: c.admin.health(),
    "pool_status": lambda c, a: c.admin.pool_status(),
    "ttl_sweep": lambda c, a: c.admin.sweep(),
    "openapi": lambda c, a: c.admin.openapi(),
    "worker_list": lambda c, a: c.admin.workers(),
    "worker_select": lambda c, a: c.admin.select_worker(),
    "worker_reap": lambda c, a: c.admin.reap_workers(),
    "worker_migrate": lambda c, a: c.admin.migrate_workers(),
    "worker_heartbeat": lambda c, a: c.admin.heartbeat(),
    "token_create": lambda c, a: c.tokens.create(**rest(a)),
    "token_list": lambda c, a: wrap("tokens", c.tokens.list()),
    "token_get": lambda c, a: c.tokens.get(a["tokenId"]),
    "token_revoke": lambda c, a: c.tokens.revoke(a["tokenId"]),
    "token_rotate": lambda c, a: c.tokens.rotate(a["tokenId"]),
    "event_history": lambda c, a: c.events.history(**rest(a)),
    "event_publish": lambda c, a: c.events.publish(**rest(a)),
    "stream_events": lambda c, a: c.events.stream(a.get("topic")),
    "observability_traces": lambda c, a: c.observability.traces(**rest(a)),
    "observability_metrics": lambda c, a: c.observability.metrics(),
    "observability_clear": lambda c, a: c.observability.clear(a.get("before")),
    "network_create": lambda c, a: c.networks.create(**rest(a)),
    "network_list": lambda c, a: c.networks.list(),
    "network_connect": lambda c, a: c.networks.connect(a["networkId"], a["sandboxId"]),
    "network_disconnect": lambda c, a: c.networks.disconnect(a["networkId"], a["sandboxId"]),
    "network_delete": lambda c, a: c.networks.delete(a["networkId"]),
    "volume_create": lambda c, a: c.volumes.create(**rest(a)),
    "volume_list": lambda c, a: c.volumes.list(),
    "volume_delete": lambda c, a: c.volumes.delete(a["volumeId"]),
    "volume_attach": lambda c, a: c.volumes.attach(a["volumeId"], a["sandboxId"], a["mountPath"], a.get("readOnly")),
    "volume_detach": lambda c, a: c.volumes.detach(a["volumeId"]),
}

CALLS = {**LIFECYCLE, **COMMANDS, **INSIDE, **REACH, **SERVER}
EITHER = {"exec_output", "image_pull"}


async def collect(events, take):
    found = []
    async with events:
        async for event in events:
            found.append(event)
            if len(found) == take:
                break
    return found


def plain(value):
    """JSON of the wire's shape."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_unset=True)
    if isinstance(value, list):
        return [plain(one) for one in value]
    return {k: plain(v) for k, v in value.items()} if isinstance(value, dict) else value


async def answer(request, clients):
    """`clients` by token: as a program of a user, this one keeps its connections."""
    if request["op"] == "operations":
        return {"ok": sorted(CALLS)}
    token = request.get("token", os.environ["III_TOKEN"])
    if token not in clients:
        clients[token] = Sandboxes(ClientConfig(base_url=os.environ["III_URL"], token=token))
    try:
        extra = [request.get("stream", False)] if request["op"] in EITHER else []
        result = CALLS[request["op"]](clients[token], request.get("args", {}), *extra)
        result = await result if inspect.isawaitable(result) else await collect(result, request.get("take"))
        return {"ok": plain(result)}
    except ApiError as error:
        return {"error": {"code": error.code, "status": error.status, "message": error.reason}}


async def main():
    clients = {}
    while line := await asyncio.to_thread(sys.stdin.readline):
        print(json.dumps(await answer(json.loads(line), clients)), flush=True)
    for client in clients.values():
        await client.close()


asyncio.run(main())
