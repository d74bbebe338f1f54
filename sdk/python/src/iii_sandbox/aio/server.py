"""What can be asked of the whole server, by subject."""
from __future__ import annotations

from typing import Any, Literal

from .. import types as t
from .api import Api
from .http import Events, HttpClient

List = list  # some classes have a method of that name, which hides it


class ServerManager:
    """Part of a server."""

    def __init__(self, http: HttpClient) -> None:
        self._api = Api(http)


class EventManager(ServerManager):
    """Events: what happened, and what clients publish."""

    async def history(
        self,
        sandbox_id: str | None = None,
        topic: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> t.EventPage:
        """Past events, newest first."""
        return await self._api.event_history(sandbox_id=sandbox_id, topic=topic, limit=limit, offset=offset)

    async def publish(self, topic: str, sandbox_id: str, data: dict[str, Any] | None = None) -> t.SandboxEvent:
        return await self._api.event_publish(topic, sandbox_id, data=data)

    def stream(self, topic: str | None = None) -> Events[t.SandboxEvent]:
        """Events as they occur, all or those of one topic. It has no end of its own."""
        return self._api.stream_events(topic=topic)


class NetworkManager(ServerManager):
    """Networks between sandboxes."""

    async def create(self, name: str, driver: str | None = None) -> t.SandboxNetwork:
        return await self._api.network_create(name, driver=driver)

    async def list(self) -> t.NetworkList:
        return await self._api.network_list()

    async def connect(self, network_id: str, sandbox_id: str) -> t.NetworkConnected:
        return await self._api.network_connect(network_id, sandbox_id)

    async def disconnect(self, network_id: str, sandbox_id: str) -> t.NetworkDisconnected:
        return await self._api.network_disconnect(network_id, sandbox_id)

    async def delete(self, network_id: str) -> t.Deleted:
        return await self._api.network_delete(network_id)


class ObservabilityClient(ServerManager):
    """Traces of calls, and numbers made from them."""

    async def traces(
        self,
        sandbox_id: str | None = None,
        function_id: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> t.TracePage:
        return await self._api.observability_traces(sandbox_id=sandbox_id, function_id=function_id, limit=limit, offset=offset)

    async def metrics(self) -> t.ObservabilityMetrics:
        return await self._api.observability_metrics()

    async def clear(self, before: int | None = None) -> t.Cleared:
        """Deletes traces older than a time (ms); default: now."""
        return await self._api.observability_clear(before=before)


class VolumeManager(ServerManager):
    """Folders that outlive sandboxes."""

    async def create(self, name: str, driver: str | None = None) -> t.SandboxVolume:
        return await self._api.volume_create(name, driver=driver)

    async def list(self) -> t.VolumeList:
        return await self._api.volume_list()

    async def delete(self, volume_id: str) -> t.Deleted:
        return await self._api.volume_delete(volume_id)

    async def attach(
        self, volume_id: str, sandbox_id: str, mount_path: str, read_only: bool | None = None
    ) -> t.VolumeAttached:
        return await self._api.volume_attach(volume_id, sandbox_id, mount_path, read_only=read_only)

    async def detach(self, volume_id: str) -> t.VolumeDetached:
        return await self._api.volume_detach(volume_id)


class TemplateManager(ServerManager):
    """Configurations with a name."""

    async def create(self, name: str, config: t.TemplateCreateConfig, description: str | None = None) -> t.SandboxTemplate:
        return await self._api.template_create(name, config, description=description)

    async def list(self) -> List[t.SandboxTemplate]:
        return (await self._api.template_list()).templates

    async def get(self, id: str) -> t.SandboxTemplate:
        return await self._api.template_get(id)

    async def delete(self, id: str) -> t.Deleted:
        return await self._api.template_delete(id)


class SnapshotManager(ServerManager):
    """Snapshots by their own id; those of a sandbox are made and listed by the sandbox."""

    async def clone(self, snapshot_id: str, name: str | None = None) -> t.SandboxInfo:
        """A new sandbox from a snapshot."""
        return await self._api.snapshot_clone(snapshot_id, name=name)

    async def delete(self, snapshot_id: str) -> t.Deleted:
        return await self._api.snapshot_delete(snapshot_id)

    async def create_short(self, id: str, name: str | None = None, comment: str | None = None) -> t.SnapshotInfo:
        """The short form of a snapshot: with a comment instead of a name."""
        return await self._api.snapshot_create_short(id, name=name, comment=comment)


class ImageManager(ServerManager):
    """The image store."""

    async def list(self) -> List[t.Image]:
        return (await self._api.image_list()).images

    async def pull(self, image: str) -> t.Image:
        return await self._api.image_pull(image)

    def pull_stream(self, image: str) -> Events[t.ImageEvent]:
        """Gets an image and tells how far it is; the last event is `done`."""
        return self._api.image_pull_stream(image).up_to("done")

    async def delete(self, name: str) -> t.Deleted:
        return await self._api.image_delete(name)

    async def delete_named(self, name: str) -> t.Deleted:
        """The same with the name in the query, for proxies that decode paths."""
        return await self._api.image_delete_query(name)


class TokenManager(ServerManager):
    """API tokens; for admins."""

    async def create(
        self,
        name: str,
        role: Literal["admin", "user", "read-only"] | None = None,
        tenant: str | None = None,
        expires: int | None = None,
        quota: dict[str, Any] | None = None,
    ) -> t.Token:
        return await self._api.token_create(name, role=role, tenant=tenant, expires=expires, quota=quota)

    async def list(self) -> List[t.Token]:
        return (await self._api.token_list()).tokens

    async def get(self, token_id: str) -> t.Token:
        return await self._api.token_get(token_id)

    async def revoke(self, token_id: str) -> t.Token:
        return await self._api.token_revoke(token_id)

    async def rotate(self, token_id: str) -> t.Token:
        return await self._api.token_rotate(token_id)


class AdminClient(ServerManager):
    """The server itself; most of it for admins."""

    async def health(self) -> t.Health:
        return await self._api.health()

    async def metrics(self) -> t.GlobalMetrics:
        return await self._api.metrics_global()

    async def openapi(self) -> t.OpenApi:
        return await self._api.openapi()

    async def pool_status(self) -> t.PoolStatus:
        return await self._api.pool_status()

    async def sweep(self) -> t.Swept:
        """Removes expired sandboxes now."""
        return await self._api.ttl_sweep()

    async def workers(self) -> t.WorkerList:
        return await self._api.worker_list()

    async def select_worker(self) -> t.WorkerSelected:
        return await self._api.worker_select()

    async def reap_workers(self) -> t.WorkersReaped:
        return await self._api.worker_reap()

    async def migrate_workers(self) -> t.WorkersMigrated:
        return await self._api.worker_migrate()

    async def heartbeat(self) -> t.WorkerInfo:
        return await self._api.worker_heartbeat()
