"""Requests, retries, errors and streams, against a server that does what each test says; by the blocking classes, whose code is the same."""
import inspect
import threading

import httpx
import pytest
from conftest import RECORD, hang_up, reply, stream

import iii_sandbox
from iii_sandbox import CallOptions, ClientConfig, ConnectionFailed, RequestTimeout, SandboxError, sync
from iii_sandbox.errors import BY_STATUS, InternalError, NotFoundError, RateLimitedError
from iii_sandbox.types import SandboxInfo

BOX = SandboxInfo.model_validate(RECORD)


def client_of(fake, **config):
    return sync.Sandboxes(ClientConfig(base_url=fake.url + "/", token="t", **config))


def test_the_image_is_sent_unless_a_template_is(fake):
    server = fake(lambda x, _: reply(x, 200, RECORD))
    with client_of(server) as client:
        client.create()
        client.create(image="node")
        client.create(template="data")
    sync.create_sandbox(base_url=server.url, token="secret", metadata={"a": "b"}, disk_mb=5).close()
    assert server.bodies() == [{}, {"image": "node"}, {"template": "data"},
                               {"metadata": {"a": "b"}, "diskMb": 5}]
    assert server.requests[-1][2]["Authorization"] == "Bearer secret"


def test_fields_go_where_the_table_says_escaped(fake):
    answers = {"/sandbox/sandboxes": {"items": [], "total": 0, "page": 1, "pageSize": 20}, "diff": {"diff": ""}, "ports": {"removed": 80},
               "images": {"deleted": "x"}}
    server = fake(lambda x, _: reply(x, 200, next(v for k, v in answers.items() if k in x.path and (k[0] != "/" or x.path.startswith(k + "?")))))
    with client_of(server) as client:
        client.list(status="paused", metadata={"a": "b&c"})
        client.sandbox(BOX.model_copy(update={"id": "a/b?c"})).git.diff(staged=False, file="x y")
        client.sandbox(BOX).ports.unexpose(80)
        client.images.delete("host/name:tag")
    assert [f"{method} {path}" for method, path, _, _ in server.requests] == [
        "GET /sandbox/sandboxes?status=paused&metadata=%7B%22a%22%3A+%22b%26c%22%7D",
        "GET /sandbox/sandboxes/a%2Fb%3Fc/git/diff?staged=false&file=x+y",
        "DELETE /sandbox/sandboxes/sbx_1/ports?containerPort=80",
        "DELETE /sandbox/images/host%2Fname%3Atag",
    ]
    assert server.bodies() == [None] * 4


def test_an_id_that_is_missing_is_refused_before_anything_is_sent():
    with sync.HttpClient(ClientConfig(base_url="http://127.0.0.1:1")) as http, pytest.raises(SandboxError, match="id is missing"):
        sync.Api(http).metrics_sandbox("")


@pytest.mark.parametrize("status", BY_STATUS)
def test_every_status_has_its_class_and_code(fake, status):
    server, (code, kind) = fake(lambda x, _: reply(x, status, {"error": "because"})), BY_STATUS[status]
    with client_of(server) as client, pytest.raises(kind) as caught:
        client.http.post("/x")
    assert (caught.value.code, caught.value.status, caught.value.reason) == (code, status, "because")
    cure = ": set III_SANDBOX_TOKEN, or pass token" if status == 401 else ""
    assert str(caught.value) == f"POST /x failed: {status} because{cure} [{server.url}]"
    assert isinstance(caught.value, httpx.HTTPStatusError), "as in programs that know httpx only"
    assert caught.value.response.status_code == status and caught.value.response.json() == {"error": "because"}
    assert caught.value.request.url.path == "/x"


def test_no_answer_is_an_error_of_httpx_too(fake):
    server = fake(hang_up)
    with client_of(server) as client, pytest.raises(httpx.TransportError) as caught:
        client.http.post("/x")
    assert isinstance(caught.value, iii_sandbox.ConnectionFailed) and not isinstance(caught.value, httpx.TimeoutException)
    assert issubclass(iii_sandbox.RequestTimeout, httpx.TimeoutException)


def test_an_unknown_status_and_a_text_that_is_not_json(fake):
    server = fake(lambda x, _: reply(x, 418, ["teapot"]))
    with client_of(server) as client, pytest.raises(iii_sandbox.ApiError) as caught:
        client.http.get("/x")
    assert (caught.value.code, caught.value.reason) == ("http_418", '["teapot"]')


def test_a_safe_call_is_tried_again_after_a_lost_connection(fake):
    server = fake(lambda x, n: hang_up(x, n) if n < 3 else reply(x, 200, {"status": "healthy"}))
    with client_of(server) as client:
        assert client.admin.health().status == "healthy"
    assert len(server.requests) == 3


def test_a_connection_that_stays_lost_is_an_error(fake):
    server = fake(hang_up)
    with client_of(server) as client, pytest.raises(ConnectionFailed):
        client.admin.health()
    assert len(server.requests) == 3


def test_a_command_is_not_tried_again_unless_it_has_a_key(fake):
    server = fake(hang_up)
    with client_of(server) as client:
        box = client.sandbox(BOX)
        with pytest.raises(ConnectionFailed):
            box.exec("rm x")
        assert len(server.requests) == 1
        with pytest.raises(ConnectionFailed):
            box.exec("rm x", options=CallOptions(idempotency_key="k1"))
    assert [headers.get("Idempotency-Key") for _, _, headers, _ in server.requests] == [None, "k1", "k1", "k1"]


def test_retry_after_is_followed_and_a_refusal_without_it_is_final(fake):
    server = fake(lambda x, n: reply(x, 429, {"error": "quota"}, {"Retry-After": "0"} if n == 1 else {}))
    with client_of(server) as client, pytest.raises(RateLimitedError, match="quota"):
        client.admin.health()
    assert len(server.requests) == 2


def test_no_answer_within_the_deadline(fake):
    done = threading.Event()
    server = fake(lambda x, _: done.wait(20))
    with client_of(server, timeout_ms=50) as client:
        with pytest.raises(RequestTimeout):
            client.admin.health()
        with pytest.raises(RequestTimeout):
            client.sandbox(BOX).exec("sleep", options=CallOptions(timeout_ms=50))
    done.set()
    assert len(server.requests) == 2


def test_what_takes_long_has_no_deadline_and_neither_has_a_stream(fake):
    def handle(exchange, _):
        pause = threading.Event()
        if exchange.path.endswith("/exec"):
            pause.wait(0.4)
            reply(exchange, 200, {"exitCode": 0, "stdout": "", "stderr": "", "duration": 1})
        else:
            stream(exchange, b": hello\n\n")
            pause.wait(0.4)
            exchange.wfile.write(b'data: {"id":"e","topic":"t","sandboxId":"s","data":{},"timestamp":1}\n\n')
        exchange.close_connection = True

    with client_of(fake(handle), timeout_ms=100) as client:
        assert client.sandbox(BOX).exec("sleep").exitCode == 0
        assert [event.id for event in client.events.stream()] == ["e"]


def test_events_are_put_together_from_pieces_of_any_size(fake):
    text = ': ping\n\ndata: {"a":"gr\u00fc\u00dfe"}\n\nid: 7\r\ndata:{"b":\r\ndata: 2}\r\n\r\n'.encode()
    server = fake(lambda x, _: stream(x, *(bytes([b]) for b in text)))
    with client_of(server) as client:
        assert list(client.http.stream_get("/x")) == [{"a": "gr\u00fc\u00dfe"}, {"b": 2}]


def test_a_stream_that_breaks_off_is_an_error(fake):
    server = fake(lambda x, _: stream(x, b'data: {"type":"stdout","data":"a","timestamp":1}\n\n'))
    seen = []
    with client_of(server) as client, pytest.raises(ConnectionFailed, match="exit"):
        for chunk in client.sandbox(BOX).exec_stream("x"):
            seen.append(chunk.data)
    assert seen == ["a"]


def test_an_error_inside_a_stream_has_its_class(fake):
    server = fake(lambda x, _: stream(x, b'data: {"type":"error","error":"it is gone","code":"not_found","timestamp":1}\n\n'))
    with client_of(server) as client, pytest.raises(NotFoundError, match="it is gone"):
        list(client.sandbox(BOX).streams.metrics())


def test_an_answer_that_lacks_what_must_be_there_is_an_error(fake):
    server = fake(lambda x, _: reply(x, 200, {"exitCode": 0}))
    with client_of(server) as client, pytest.raises(SandboxError, match="stdout"):
        client.sandbox(BOX).exec("true")


def test_unknown_members_are_kept_and_read_like_those_of_a_dict(fake):
    server = fake(lambda x, _: reply(x, 200, {**RECORD, "later": 5}))
    with client_of(server) as client:
        info = client.get("sbx_1").info
    assert (info.later, info["later"], info["id"], info.get("none", 7)) == (5, 5, "sbx_1", 7)
    with pytest.raises(KeyError):
        info["none"]


def test_the_end_of_a_with_kills_and_one_that_is_gone_is_no_error(fake):
    server = fake(lambda x, n: reply(x, {1: 200, 2: 404}.get(n, 500), {"success": True, "error": "x"}))
    with client_of(server) as client:
        with client.sandbox(BOX):
            pass
        with client.sandbox(BOX):
            pass
        with pytest.raises(InternalError), client.sandbox(BOX):
            pass
    assert {f"{method} {path}" for method, path, _, _ in server.requests} == {"DELETE /sandbox/sandboxes/sbx_1"}


def test_all_pages_of_a_list(fake):
    def handle(exchange, n):
        items = [{**RECORD, "id": f"s{n}"}] if n < 3 else []
        reply(exchange, 200, {"items": items, "total": 2, "page": n, "pageSize": 1})

    with client_of(fake(handle)) as client:
        assert [info.id for info in client.all(page_size=1)] == ["s1", "s2"]


def public(kind):
    return {"close" if name == "aclose" else name for name in vars(kind) if not name.startswith("_")}


def test_both_kinds_of_classes_have_the_same_names():
    assert sync.__all__ == iii_sandbox.aio.__all__
    for name in sync.__all__:
        ours, theirs = getattr(sync, name), getattr(iii_sandbox.aio, name)
        if inspect.isclass(ours):
            assert public(ours) == public(theirs), name
            assert not any(inspect.iscoroutinefunction(f) or inspect.isasyncgenfunction(f) for f in vars(ours).values()), name
