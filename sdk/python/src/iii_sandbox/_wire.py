"""Requests and answers without any input or output: shared by the asynchronous and the blocking client."""
from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import Any

import httpx
from pydantic import TypeAdapter, ValidationError

from ._errors import ApiError, ConnectionFailed, RequestTimeout, SandboxError
from ._operation import CallOptions, Operation
from .errors import BY_STATUS, STATUS_OF

DEFAULT_URL = "http://localhost:3111"
DEFAULT_TIMEOUT_MS = 30_000
DEFAULT_RETRIES = 2
FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 10.0
EVENTS = "text/event-stream"


@dataclass(frozen=True)
class ClientConfig:
    """timeout_ms: for each phase of a request; commands, pulls and copies may take longer, and streams have no end of their own.
    max_retries: of calls that may be repeated."""

    base_url: str = DEFAULT_URL
    token: str | None = None
    timeout_ms: int = DEFAULT_TIMEOUT_MS
    max_retries: int = DEFAULT_RETRIES


@dataclass(frozen=True)
class Request:
    """One request, and how it may be repeated."""

    verb: str
    method: str
    path: str
    body: Any
    headers: dict[str, str]
    timeout: httpx.Timeout
    retries: int

    def arguments(self, base_url: str) -> dict[str, Any]:
        content = None if self.body is None else json.dumps(self.body).encode()
        return {"method": self.method, "url": base_url + self.path, "headers": self.headers, "content": content, "timeout": self.timeout}


def timeout_of(ms: int | None, waits: bool) -> httpx.Timeout:
    """`waits`: the answer may come late, the connection may not."""
    limit = ms / 1000 if ms else None
    return httpx.Timeout(limit, read=None) if waits else httpx.Timeout(limit)


def plain_request(config: ClientConfig, method: str, path: str, body: Any, options: CallOptions | None, streams: bool) -> Request:
    options = options or CallOptions()
    headers = {"Accept": EVENTS if streams else "application/json"}
    if body is not None:
        headers["Content-Type"] = "application/json"
    if config.token:
        headers["Authorization"] = f"Bearer {config.token}"
    if options.idempotency_key is not None:
        headers["Idempotency-Key"] = options.idempotency_key
    ms = config.timeout_ms if options.timeout_ms is None else options.timeout_ms
    retries = config.max_retries if method == "GET" else 0
    return Request("STREAM" if streams else method, method, path, body, headers, timeout_of(ms, streams), retries)


def request_for(config: ClientConfig, op: Operation, fields: dict[str, Any], options: CallOptions | None, streams: bool) -> Request:
    path, body = op.place(fields)
    made = plain_request(config, op.method, path, body, options, streams)
    repeatable = op.safe or (op.idempotency_key and options is not None and options.idempotency_key is not None)
    own = options is not None and options.timeout_ms is not None
    timeout = made.timeout if own or not op.long else timeout_of(config.timeout_ms, True)
    return Request(made.verb, made.method, made.path, made.body, made.headers, timeout, config.max_retries if repeatable else 0)


def failure_of(request: Request, response: httpx.Response, text: str) -> ApiError:
    reason, status = text, response.status_code
    try:
        parsed = json.loads(text)
        if isinstance(parsed, dict) and isinstance(parsed.get("error"), str):
            reason = parsed["error"]
    except ValueError:
        pass  # some proxy in between answered, and its text is the reason
    code, make = BY_STATUS.get(status, (f"http_{status}", ApiError))
    return make(request.verb, request.path, response, code, reason)


def lost(request: Request, error: Exception) -> SandboxError:
    kind = RequestTimeout if isinstance(error, httpx.TimeoutException) else ConnectionFailed
    return kind(f"{request.verb} {request.path}: {error or type(error).__name__}")


def pause_after_loss(request: Request, left: int) -> float:
    return FIRST_PAUSE_S * float(2 ** (request.retries - left))


def pause_asked_for(response: httpx.Response) -> float | None:
    """What a Retry-After says; without one a refusal is final."""
    try:
        seconds = float(response.headers.get("retry-after", ""))
    except ValueError:
        return None
    return min(max(seconds, FIRST_PAUSE_S), LONGEST_PAUSE_S)


@functools.cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def parse(request: Request, text: bytes | str, kind: Any) -> Any:
    """The answer as `kind`; None asks for plain JSON."""
    try:
        return json.loads(text or "null") if kind is None else _adapter(kind).validate_json(text)
    except (ValueError, ValidationError) as error:
        raise SandboxError(f"{request.verb} {request.path}: the answer is not what this client knows: {error}") from error


class EventReader:
    """Puts the lines of server-sent events together."""

    def __init__(self, request: Request, kind: Any, sent: httpx.Request) -> None:
        self.request, self.kind, self.sent, self.data = request, kind, sent, list[str]()

    def line(self, text: str) -> list[Any]:
        """The events that end with this line: none or one. One that says why the stream ends is raised."""
        if text.startswith("data:"):
            self.data.append(text[6:] if text.startswith("data: ") else text[5:])
        elif text == "" and self.data:
            whole, self.data = "\n".join(self.data), []
            return [self._event(whole)]
        return []

    def _event(self, text: str) -> Any:
        value = json.loads(text)
        # An event that only reports an error of the user's code has no `error` text.
        if isinstance(value, dict) and value.get("type") == "error" and isinstance(value.get("error"), str):
            code = value.get("code", "internal")
            status = STATUS_OF.get(code, 500)
            # The stream itself began with 200: this is the answer it would have been, had the error come first.
            response = httpx.Response(status, request=self.sent, json={"error": value["error"]})
            raise BY_STATUS[status][1]("STREAM", self.request.path, response, code, value["error"])
        return parse(self.request, text, self.kind)
