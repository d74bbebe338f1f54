"""One server with everything that can be asked of it, and the factories for those who need only one sandbox."""
from __future__ import annotations

from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any

from .. import types as t
from .._operation import CallOptions
from .._wire import DEFAULT_URL, ClientConfig
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

    async def create(self, *, options: CallOptions | None = None, **fields: Any) -> Sandbox:
        """A new sandbox from the fields of Api.sandbox_create; without image and template, of the server's default image (python)."""
        return self.sandbox(await self.api.sandbox_create(**fields, options=options))

    async def get(self, id: str) -> Sandbox:
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


async def create_sandbox(
    image: str | None = None,
    name: str | None = None,
    timeout: int | None = None,
    memory: int | None = None,
    cpu: float | None = None,
    network: bool | None = None,
    env: dict[str, str] | None = None,
    workdir: str | None = None,
    template: str | None = None,
    base_url: str = DEFAULT_URL,
    token: str | None = None,
    **more: Any,
) -> Sandbox:
    """A new sandbox; `more` are further fields of Api.sandbox_create (metadata, entrypoint, disk_mb, ...)."""
    fields = {"image": image, "name": name, "timeout": timeout, "memory": memory, "cpu": cpu, "network": network, "env": env,
              "workdir": workdir, "template": template, **more}
    http = HttpClient(ClientConfig(base_url=base_url, token=token))
    try:
        return Sandbox(http, await Api(http).sandbox_create(**fields), owns_http=True)
    except BaseException:
        await http.close()
        raise


async def list_sandboxes(base_url: str = DEFAULT_URL, token: str | None = None) -> list[t.SandboxInfo]:
    """The first page of sandboxes."""
    async with HttpClient(ClientConfig(base_url=base_url, token=token)) as http:
        return (await Api(http).sandbox_list()).items


async def get_sandbox(id: str, base_url: str = DEFAULT_URL, token: str | None = None) -> Sandbox:
    http = HttpClient(ClientConfig(base_url=base_url, token=token))
    try:
        return Sandbox(http, await Api(http).sandbox_get(id), owns_http=True)
    except BaseException:
        await http.close()
        raise


async def list_templates(base_url: str = DEFAULT_URL, token: str | None = None) -> list[t.SandboxTemplate]:
    async with HttpClient(ClientConfig(base_url=base_url, token=token)) as http:
        return (await Api(http).template_list()).templates
