"""Functions that an HTTP request of the engine carries out: the request, what the response means, which URLs are allowed."""
import base64
import contextlib
import hashlib
import hmac
import http.server
import json
import queue
import threading
import time

import pytest

import harness
import inside
from engineclient import Worker

SECRETS = {"APP_SECRET": "s3cret", "APP_LONG": "long" * 20, "APP_TOKEN": "t0ken", "III_ENGINE_TOKEN": "own"}


class Target:
    """An HTTP server that notes requests and answers what it is told."""

    def __init__(self):
        self.seen, self.answer, self.release = queue.Queue(), (200, {"ok": True}), threading.Event()
        target = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def respond(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                target.seen.put((self.command, self.path, dict(self.headers.items()), body))
                if self.path == "/hang":
                    target.release.wait(harness.DEADLINE_S)
                    return
                status, answer = target.answer
                data = answer if isinstance(answer, bytes) else b"" if answer is None else json.dumps(answer).encode()
                with contextlib.suppress(OSError):
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(data) + (10 if self.path == "/short" else 0)))
                    if 300 <= status < 400:
                        self.send_header("Location", "/elsewhere")
                    self.end_headers()
                    self.wfile.write(data)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = respond

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.release.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def target():
    made = Target()
    yield made
    made.close()


def serving(tmp_path, **security):
    config = tmp_path / "config.yaml"
    config.write_text(json.dumps({"workers": [{"name": "iii-http-functions", "config": {"security": security}}]}))
    return harness.Server(flags=["--config", str(config)], env=SECRETS)


@pytest.fixture(scope="module")
def open_server(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("http"), block_private_ips=False, require_https=False, url_allowlist=["127.*", "LocalHost"]) as server:
        yield server


@pytest.fixture
def workers(open_server):
    made = [Worker(open_server.engine_port) for _ in range(2)]
    yield made
    for w in made:
        w.cut()


def listed(w, function_id):
    return [f for f in w.call("engine::functions::list", {"prefix": function_id})["functions"] if f["function_id"] == function_id]


def test_request(workers, target):
    owner, caller = workers
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
        owner.register("h::f", invocation={"url": target.url + "/a/b?c=d", "method": method, "headers": {"X-Mine": "1"}}, description="d")
        assert listed(caller, "h::f")[0]["description"] == "d"
        assert caller.call("h::f", {"n": 1}) == {"ok": True}
        got, path, headers, body = target.seen.get(timeout=harness.DEADLINE_S)
        assert (got, path) == (method, "/a/b?c=d") and json.loads(body) == {"n": 1, "_caller_worker_id": caller.id}
        assert headers["Content-Type"] == "application/json" and headers["X-Mine"] == "1" and headers["x-iii-Function-Path"] == "h::f"
        assert len(headers["x-iii-Invocation-ID"]) == 36 and abs(int(headers["x-iii-Timestamp"]) - time.time()) < 60
    owner.send(type="unregisterfunction", id="h::f")
    owner.sync()
    assert caller.fail("h::f", {}).code == "function_not_found" and listed(caller, "h::f") == []
    owner.register("h::f", invocation={"url": target.url})
    owner.cut()
    harness.wait_until(lambda: listed(caller, "h::f") == [], "the function has left with its worker")
    assert target.seen.empty()


def test_ports_of_the_server_and_of_sandboxes_are_closed(workers, open_server):
    """Even where the operator allows private addresses: there the server would be its own client."""
    owner, caller = workers
    client = open_server.client()
    exposed = inside.expose(client, client.create()["id"], 7000)["hostPort"]
    for port in (open_server.port, open_server.engine_port, exposed):
        owner.register("h::own", invocation={"url": f"http://127.0.0.1:{port}/sandbox/health", "method": "GET"})
        assert caller.fail("h::own", {}).code == "url_validation_failed", port


def test_secrets(workers, target):
    owner, caller = workers
    for auth in ({"type": "hmac", "secret_key": "APP_SECRET"}, {"type": "hmac", "secret_key": "APP_LONG"}, {"type": "bearer", "token_key": "APP_TOKEN"},
                 {"type": "api_key", "header": "X-Key", "value_key": "APP_TOKEN"}):
        owner.register("h::auth", invocation={"url": target.url, "auth": auth})
        caller.call("h::auth", [1])
        _, _, headers, body = target.seen.get(timeout=harness.DEADLINE_S)
        if auth["type"] == "hmac":
            signed = headers["x-iii-Timestamp"].encode() + b":" + base64.b64encode(body)
            assert headers["x-iii-Signature"] == "sha256=" + hmac.new(SECRETS[auth["secret_key"]].encode(), signed, hashlib.sha256).hexdigest()
        else:
            assert headers["Authorization" if auth["type"] == "bearer" else "X-Key"] == ("Bearer " if auth["type"] == "bearer" else "") + "t0ken"
    for auth in ({"type": "bearer", "token_key": "APP_MISSING"}, {"type": "bearer", "token_key": "III_ENGINE_TOKEN"}, {"type": "magic"}):
        owner.register("h::none", invocation={"url": target.url, "auth": auth})
        assert listed(caller, "h::none") == []


@pytest.mark.parametrize("answer, result", [((200, None), "absent"), ((201, {"a": [1]}), {"a": [1]}), ((200, 5), 5), ((302, None), "absent"),
                                            ((302, {"moved": 1}), {"moved": 1}), ((307, b"<html>"), "absent"),
                                            ((200, ["long" * 250] * 2000), ["long" * 250] * 2000)])
def test_responses(workers, target, answer, result):
    owner, caller = workers
    owner.register("h::r", invocation={"url": target.url})
    target.answer = answer
    assert caller.expect("invocationresult", invocation_id=caller.ask("h::r", {})).get("result", "absent") == result
    assert target.seen.qsize() == 1  # redirects are not followed


@pytest.mark.parametrize("answer, code, message", [
    ((200, b"<html>"), "invalid_response", ""), ((404, None), "http_error", "HTTP 404"), ((500, {"x": 1}), "http_error", "HTTP 500"),
    ((400, {"error": {"code": "mine", "message": "why"}}), "mine", "why"), ((400, {"error": {}}), "http_error", "HTTP request failed")])
def test_errors(workers, target, answer, code, message):
    owner, caller = workers
    owner.register("h::e", invocation={"url": target.url})
    target.answer = answer
    why = caller.fail("h::e", {})
    assert why.code == code and message in why.message


def test_failures_of_the_connection(workers, target):
    owner, caller = workers
    owner.register("h::hang", invocation={"url": target.url + "/hang", "timeout_ms": 200})
    owner.register("h::short", invocation={"url": target.url + "/short"})
    owner.register("h::nobody", invocation={"url": "http://127.0.0.1:1/"})
    assert caller.fail("h::hang", {}).code == "http_request_failed"
    assert caller.fail("h::short", {}).code == "http_response_failed"
    assert caller.fail("h::nobody", {}).code == "http_request_failed"


def test_triggers_call_it(workers, target):
    owner, caller = workers
    owner.register("h::sub", invocation={"url": target.url})
    owner.bind("subscribe", "h::sub", {"topic": "h"})
    owner.bind("state", "h::sub", {"scope": "h"})
    owner.bind("stream", "h::sub", {"stream_name": "h"})
    caller.call("publish", {"topic": "h", "data": {"news": 1}})
    caller.call("publish", {"topic": "other", "data": 1})
    assert json.loads(target.seen.get(timeout=harness.DEADLINE_S)[3]) == {"news": 1}
    caller.call("state::set", {"scope": "h", "key": "k", "value": 1})
    assert json.loads(target.seen.get(timeout=harness.DEADLINE_S)[3])["event_type"] == "state:created"
    caller.call("stream::set", {"stream_name": "h", "group_id": "g", "item_id": "i", "data": 1})
    assert json.loads(target.seen.get(timeout=harness.DEADLINE_S)[3])["event"] == {"type": "create", "data": 1}
    assert target.seen.empty()


def test_registrations_that_are_refused(workers, target):
    owner, caller = workers
    for bad in ({"url": "ftp://x/"}, {"url": "http://u:p@127.0.0.1/"}, {}, {"url": "http://example.invalid/"}, {"url": target.url, "method": "HEAD"},
                {"url": target.url, "headers": {"Host": "x"}}, {"url": target.url, "headers": {"X-A": "b\r\nX-C: d"}},
                {"url": target.url, "headers": {"X A": "b"}}, {"url": target.url, "timeout_ms": 0}):
        owner.register("h::bad", invocation=bad)
        assert listed(caller, "h::bad") == []


def test_names_in_the_allow_list_have_no_case(workers, target):
    owner, caller = workers
    owner.register("h::case", invocation={"url": f"http://loCALhost:{target.port}/"})
    assert listed(caller, "h::case")


def test_one_workers_functions_cannot_use_every_request(workers, target):
    owner, caller = workers
    owner.register("h::slow", invocation={"url": target.url + "/hang"})
    calls = [caller.ask("h::slow", {}) for _ in range(251)]
    refused = caller.expect("invocationresult", invocation_id=calls[250])["error"]
    assert refused["code"] == "http_request_failed" and "limit of 250" in refused["message"]
    caller.register("h::other", invocation={"url": target.url})
    assert owner.call("h::other", {}) == {"ok": True}
    target.release.set()


def test_private_addresses_and_plain_http_are_refused_by_default(server, new_worker, target, tmp_path):
    w = new_worker()
    for url in ("http://example.com/", "https://127.0.0.1/", "https://10.1.2.3/", "https://169.254.169.254/", "https://[::1]/",
                "https://[::ffff:127.0.0.1]/", "https://[fd00::1]/", "https://192.168.0.1:8443/"):
        w.register("h::no", invocation={"url": url})
        assert listed(w, "h::no") == [], url
    assert "it is not registered" in server.log()
    with serving(tmp_path, require_https=False) as strict, Worker(strict.engine_port) as w:
        w.register("h::name", invocation={"url": f"http://localhost:{target.port}/"})
        assert listed(w, "h::name")  # a name is not judged; the address that it leads to is
        why = w.fail("h::name", {})
        assert why.code == "url_validation_failed" and "not allowed" in why.message and target.seen.empty()
