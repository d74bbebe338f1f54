"""Requests and answers without any input or output: shared by the asynchronous and the blocking client."""
from __future__ import annotations

import dataclasses
import functools
import json
import ssl
from dataclasses import dataclass, field
from typing import Any

import httpx
from pydantic import TypeAdapter, ValidationError

from ._errors import ApiError, ConnectionFailed, RequestTimeout, SandboxError
from ._operation import CallOptions, Operation
from ._settings import CA_VARIABLE, URL_VARIABLE, ClientConfig
from .errors import BY_STATUS, STATUS_OF
from .types import ExecResult

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 10.0
EVENTS = "text/event-stream"


@dataclass(frozen=True)
class Request:
    """One request, and how it may be repeated."""

    verb: str
    method: str
    address: str
    path: str
    body: Any
    headers: dict[str, str] = field(repr=False)
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
    return Request("STREAM" if streams else method, method, config.base_url, path, body, headers, timeout_of(ms, streams), retries)


def request_for(config: ClientConfig, op: Operation, fields: dict[str, Any], options: CallOptions | None, streams: bool) -> Request:
    path, body = op.place(fields)
    made = plain_request(config, op.method, path, body, options, streams)
    repeatable = op.safe or (op.idempotency_key and options is not None and options.idempotency_key is not None)
    own = options is not None and options.timeout_ms is not None
    timeout = made.timeout if own or not op.long else timeout_of(config.timeout_ms, True)
    return dataclasses.replace(made, timeout=timeout, retries=config.max_retries if repeatable else 0)


def failure_of(request: Request, response: httpx.Response, text: str) -> ApiError:
    reason, status, parsed = text, response.status_code, None
    try:
        parsed = json.loads(text)
        if isinstance(parsed, dict) and isinstance(parsed.get("error"), str):
            reason = parsed["error"]
    except ValueError:
        pass  # some proxy in between answered, and its text is the reason
    code, make = BY_STATUS.get(status, (f"http_{status}", ApiError))
    return make(request.verb, request.path, response, code, reason, parsed)


def timed_out(config: ClientConfig, path: str, result: ExecResult) -> ApiError:
    """A command that timed out, as it is answered when it is not streamed."""
    reason = f"command timed out after {result.duration} ms; its processes were killed"
    body = {"error": reason, "result": result.model_dump(exclude_none=True)}
    response = httpx.Response(504, request=httpx.Request("POST", config.base_url + path), json=body)
    code, make = BY_STATUS[504]
    return make("STREAM", path, response, code, reason, body)


def lost(request: Request, error: Exception) -> SandboxError:
    where = f"{request.verb} {request.address}{request.path}"
    if isinstance(error, httpx.TimeoutException):
        limit = request.timeout.connect if isinstance(error, httpx.ConnectTimeout) else request.timeout.read
        return RequestTimeout(f"{where}: no answer within {limit:g} s; timeout_ms is the client's limit")
    if isinstance(error.__context__, ssl.SSLError) or "CERTIFICATE_VERIFY_FAILED" in str(error):
        return ConnectionFailed(f"{where}: TLS failed: {error}; {CA_VARIABLE} names the certificates to verify the server with")
    if isinstance(error, httpx.ConnectError):
        return ConnectionFailed(f"{where}: no server at {request.address}: start one with `iii serve`, or set {URL_VARIABLE} ({error})")
    return ConnectionFailed(f"{where}: {error or type(error).__name__}")


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
