"""One server with everything that can be asked of it, and the factories for those who need only one sandbox."""
from __future__ import annotations

from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any

from typing_extensions import Unpack

from .. import types as t
from .._operation import CallOptions
from .._settings import ClientConfig
from ..asyncnet import Opening
from . import server
from .api import Api
from .http import HttpClient
from .sandbox import Sandbox


class Sandboxes:
    """Client for one server; `async with` closes its connections."""

    def __init__(self, config: ClientConfig | None = None) -> None:
        self.http = HttpClient(config)
        self.api = Api(self.http)
        self.admin = server.AdminClient(self.http)
        self.events = server.EventManager(self.http)
        self.images = server.ImageManager(self.http)
        self.networks = server.NetworkManager(self.http)
        self.observability = server.ObservabilityClient(self.http)
        self.snapshots = server.SnapshotManager(self.http)
        self.templates = server.TemplateManager(self.http)
        self.tokens = server.TokenManager(self.http)
        self.volumes = server.VolumeManager(self.http)
        self.webhooks = server.WebhookManager(self.http)

    async def create(
        self, image: str | None = None, *, options: CallOptions | None = None, **fields: Unpack[t.SandboxCreateOptions]
    ) -> Sandbox:
        """A new sandbox; without image and template, of the server's default image (python)."""
        return self.sandbox(await self.api.sandbox_create(image=image, **fields, options=options))

    async def get(self, id: str) -> Sandbox:
        """The sandbox with this id or name."""
        return self.sandbox(await self.api.sandbox_get(id))

    async def list(
        self,
        status: str | None = None,
        page: int | None = None,
        page_size: int | None = None,
        metadata: dict[str, str] | None = None,
        parent_id: str | None = None,
    ) -> t.SandboxPage:
        """One page."""
        return await self.api.sandbox_list(
            status=status, page=page, page_size=page_size, metadata=metadata, parent_id=parent_id
        )

    async def all(self, **filters: Any) -> AsyncIterator[t.SandboxInfo]:
        """All sandboxes that match, page after page."""
        page = 1
        while True:
            found = await self.list(page=page, **filters)
            for info in found.items:
                yield info
            if not found.items or page * found.pageSize >= found.total:
                return
            page += 1

    def sandbox(self, info: t.SandboxInfo) -> Sandbox:
        """A sandbox of which the record is known, for example from clone or fork; asks the server nothing."""
        return Sandbox(self.http, info)

    async def close(self) -> None:
        await self.http.close()

    async def __aenter__(self) -> Sandboxes:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()


def create_sandbox(
    image: str | None = None,
    name: str | None = None,
    timeout: int | None = None,
    memory: int | None = None,
    cpu: float | None = None,
    network: bool | None = None,
    env: dict[str, str] | None = None,
    workdir: str | None = None,
    template: str | None = None,
    base_url: str | None = None,
    token: str | None = None,
    **more: Any,
) -> Opening[Sandbox]:
    """Sandbox.create() with more arguments by position; `more` are its other fields (metadata, entrypoint, disk_mb, ...)."""
    fields: t.SandboxCreateOptions = {**more}  # type: ignore[typeddict-item]
    for key, value in (("name", name), ("timeout", timeout), ("memory", memory), ("cpu", cpu), ("network", network), ("env", env),
                       ("workdir", workdir), ("template", template)):
        if value is not None:
            fields[key] = value  # type: ignore[literal-required]
    return Sandbox.create(image, base_url=base_url, token=token, **fields)


def get_sandbox(id: str, base_url: str | None = None, token: str | None = None) -> Opening[Sandbox]:
    """Sandbox.connect(); the end of a `with` kills it."""
    return Sandbox.connect(id, base_url=base_url, token=token, keep=False)


async def list_sandboxes(base_url: str | None = None, token: str | None = None) -> list[t.SandboxInfo]:
    """The first page of sandboxes."""
    async with Sandboxes(ClientConfig(base_url=base_url or "", token=token)) as client:
        return (await client.list()).items


async def list_templates(base_url: str | None = None, token: str | None = None) -> list[t.SandboxTemplate]:
    async with Sandboxes(ClientConfig(base_url=base_url or "", token=token)) as client:
        return await client.templates.list()
