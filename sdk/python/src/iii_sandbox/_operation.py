"""A row of the server's table, and how one call of it may be changed."""
from __future__ import annotations

import json
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ._errors import SandboxError


@dataclass(frozen=True)
class CallOptions:
    """timeout_ms: for each phase of this request (0: none). idempotency_key: the same request with the same key is carried out once, so that
    creates and commands are retried, too."""

    timeout_ms: int | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True)
class Operation:
    """long: it takes as long as its work takes. safe: it changes nothing and may be repeated; so may what has an idempotency_key."""

    name: str
    method: str
    path: str
    query: tuple[str, ...]
    body: tuple[str, ...]
    stream: str
    long: bool
    safe: bool
    idempotency_key: bool

    def place(self, fields: Mapping[str, Any]) -> tuple[str, dict[str, Any] | None]:
        """Path and body of a call with these fields; None counts as absent."""
        path = self.path
        for name, value in fields.items():
            slot = "{" + name + "}"
            if slot in path and value in (None, ""):
                raise SandboxError(f"{self.name}: {name} is missing")
            path = path.replace(slot, urllib.parse.quote(str(value), safe=""))
        query = {name: _query_text(fields[name]) for name in self.query if fields.get(name) is not None}
        if query:
            path += "?" + urllib.parse.urlencode(query)
        body = {name: fields[name] for name in self.body if fields.get(name) is not None}
        return path, body if self.method in ("POST", "PUT") else None


def _query_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
