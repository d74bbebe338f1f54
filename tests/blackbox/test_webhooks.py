"""Webhooks: events to URLs, signed, retried, kept over a crash, with dead letters; and receivers that misbehave."""
import base64
import contextlib
import hashlib
import hmac
import http.server
import json
import socket
import threading
import time
import urllib.parse

import pytest

import harness

ENV = {"III_WEBHOOK_PRIVATE_HOSTS": "127.0.0.1:*,localhost:*", "III_WEBHOOK_PLAIN": "true", "III_WEBHOOK_RETRY_MS": "20", "III_WEBHOOK_TRIES": "3",
       "III_WEBHOOK_TIMEOUT_MS": "700"}


class Receiver:
    """Answers POST requests with what `answer(path, count)` says, (status, headers, body), and keeps them."""

    def __init__(self, answer=lambda path, n: (204, {}, b"")):
        self.got, self.answer, self.lock = [], answer, threading.Lock()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with receiver.lock:
                    receiver.got.append((self.path, dict(self.headers), body, time.monotonic()))
                    status, headers, text = receiver.answer(self.path, sum(path == self.path for path, *_ in receiver.got))
                self.send_response(status)
                for name, value in {"Content-Length": str(len(text)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()
        self.port = self.server.server_address[1]

    def url(self, path="/hook"):
        return f"http://127.0.0.1:{self.port}{path}"

    def of(self, path):
        with self.lock:
            return [(headers, json.loads(body), body) for at, headers, body, _ in self.got if at == path]

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def receiver():
    made = Receiver()
    yield made
    made.close()


@pytest.fixture(scope="module")
def hooked():
    with harness.Server(env=ENV) as made:
        yield made


@pytest.fixture
def api(hooked):
    with hooked.client() as client:
        yield client
        for hook in client.ok("GET", "/webhooks")["webhooks"]:
            client.ok("DELETE", f"/webhooks/{hook['id']}")


def make(api, url, **fields):
    return api.ok("POST", "/webhooks", {"url": url, **fields})


def publish(api, topic, sandbox="sbx_none", **data):
    return api.ok("POST", "/events/publish", {"topic": topic, "sandboxId": sandbox, "data": data})


def arrived(receiver, path, count=1):
    return harness.wait_until(lambda: len(receiver.of(path)) >= count and receiver.of(path), f"{count} messages at {path}")


def is_signed(secret, headers, body):
    """By the published convention, written down once more."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    text = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    mine = "v1," + base64.b64encode(hmac.new(key, text, hashlib.sha256).digest()).decode()
    return any(hmac.compare_digest(mine, one) for one in headers["webhook-signature"].split())


def test_an_event_arrives_signed(api, receiver):
    hook = make(api, receiver.url(), events=["order.*"], description="mine")
    secret = hook.pop("secret")
    assert hook["enabled"] and hook["events"] == ["order.*"] and len(base64.b64decode(secret.removeprefix("whsec_"))) == 32
    event = publish(api, "order.paid", amount=3, text="ä\n\"")
    publish(api, "other.paid")
    (headers, body, raw), = arrived(receiver, "/hook")
    assert body["type"] == "order.paid" and body["data"] == {"amount": 3, "text": "ä\n\""} and body["sandboxId"] == "sbx_none"
    assert body["id"] == event["id"] and body["timestamp"].endswith("Z")
    assert headers["Content-Type"] == "application/json" and headers["webhook-id"].startswith("msg_")
    assert is_signed(secret, headers, raw) and not is_signed(secret, headers, raw + b" ")
    assert abs(int(headers["webhook-timestamp"]) - time.time()) < 60
    assert secret not in json.dumps([api.ok("GET", f"/webhooks/{hook['id']}"), api.ok("GET", "/webhooks")]), "shown once"
    harness.wait_until(lambda: api.ok("GET", f"/webhooks/{hook['id']}/deliveries")["total"] == 0, "it is done")


def test_filters(api, receiver):
    wanted = api.ok("POST", "/sandboxes", {"image": "python", "metadata": {"team": "a", "n": "1"}})["id"]
    other = api.ok("POST", "/sandboxes", {"image": "python", "metadata": {"team": "b"}})["id"]
    make(api, receiver.url("/one"), sandboxId=wanted)
    make(api, receiver.url("/meta"), metadata={"team": "a"}, events=["sandbox.*"])
    make(api, receiver.url("/off"), enabled=False)
    for sid in (other, wanted):
        api.exec(sid, "true")
        api.ok("DELETE", f"/sandboxes/{sid}")
    for path in ("/one", "/meta"):
        seen = arrived(receiver, path, 2)
        assert {body["sandboxId"] for _, body, _ in seen} == {wanted}
        assert {"sandbox.exec", "sandbox.killed"} <= {body["type"] for _, body, _ in seen}, "also the end of it"
    assert not receiver.of("/off")


def test_failures_are_retried_and_end_as_dead_letters(api, receiver, hooked):
    receiver.answer = lambda path, n: (500, {}, b"secret-of-the-receiver") if path == "/dead" or n < 3 else (200, {}, b"")
    soon, dead = make(api, receiver.url("/third")), make(api, receiver.url("/dead"))
    publish(api, "order.paid")
    tries = arrived(receiver, "/third", 3)
    assert len({headers["webhook-id"] for headers, *_ in tries}) == 1, "the same id each time"
    assert all(is_signed(soon["secret"], headers, raw) for headers, _, raw in tries)
    harness.wait_until(lambda: api.ok("GET", f"/webhooks/{dead['id']}")["dead"] == 1, "a dead letter")
    page = api.ok("GET", f"/webhooks/{dead['id']}/deliveries?status=dead")
    letter, = page["deliveries"]
    assert page["total"] == 1 and letter["attempts"] == 3 and letter["lastStatus"] == 500 and letter["lastError"] == "answered with 500"
    assert "secret-of" not in json.dumps(page) and len(receiver.of("/dead")) == 3
    assert api.ok("GET", f"/webhooks/{dead['id']}")["failingSince"]
    assert api.call("POST", f"/webhooks/{dead['id']}/retry", {"deliveryId": "msg_x"}).status == 404
    receiver.answer = lambda path, n: (200, {}, b"")
    assert api.ok("POST", f"/webhooks/{dead['id']}/retry", {"deliveryId": letter["id"]}) == {"retried": 1}
    assert arrived(receiver, "/dead", 4)[3][0]["webhook-id"] == letter["id"]
    harness.wait_until(lambda: "failingSince" not in api.ok("GET", f"/webhooks/{dead['id']}"), "the success is noted")
    with hooked.client(prefix="") as bare:
        text = bare.call("GET", "/metrics").body.decode()
    assert 'iii_webhook_deliveries_total{outcome="delivered"}' in text and 'iii_webhook_messages{state="dead"} 0' in text


def test_dead_letters_are_purged(api, receiver):
    receiver.answer = lambda path, n: (500, {}, b"")
    hook = make(api, receiver.url("/dead"))["id"]
    for i in range(3):
        publish(api, f"order.{i}")
    harness.wait_until(lambda: api.ok("GET", f"/webhooks/{hook}")["dead"] == 3, "dead letters")
    assert len(api.ok("GET", f"/webhooks/{hook}/deliveries?limit=2&offset=2")["deliveries"]) == 1
    assert api.ok("DELETE", f"/webhooks/{hook}/deliveries") == {"purged": 3}
    assert api.ok("GET", f"/webhooks/{hook}/deliveries") == {"deliveries": [], "total": 0}


def test_retry_after_and_gone_are_heard(api, receiver):
    receiver.answer = lambda path, n: (410, {}, b"") if path == "/gone" else (503, {"Retry-After": urllib.parse.unquote(path[6:])}, b"")
    busy = [make(api, receiver.url(f"/busy/{after}"), events=["order.*"])["id"] for after in ("3600", "99999999999", "Fri,%2031%20Dec%202100%2000:00:00%20GMT", "soon")]
    gone = make(api, receiver.url("/gone"), events=["order.*"])["id"]
    publish(api, "order.paid")
    for hook, least, most in zip(busy, (3600, 86400, 86400, 0), (3600, 86400, 86400, 1)):
        row = harness.wait_until(lambda hook=hook: [one for one in api.ok("GET", f"/webhooks/{hook}/deliveries")["deliveries"] if "lastStatus" in one], "an attempt")[0]
        assert least * 1000 <= row["nextAttemptAt"] - row["lastAttemptAt"] <= most * 1000 + 60, "as asked for, within a day"
    hook = harness.wait_until(lambda: (h := api.ok("GET", f"/webhooks/{gone}"))["enabled"] is False and h, "disabled")
    assert "410" in hook["disabledReason"] and hook["pending"] == 1
    told = api.ok("GET", "/events/history?topic=webhook.disabled")["events"][0]
    assert told["data"]["webhookId"] == gone
    publish(api, "order.again")
    assert api.ok("GET", f"/webhooks/{gone}")["pending"] == 1, "it gets nothing new"
    receiver.answer = lambda path, n: (200, {}, b"")
    assert "disabledReason" not in api.ok("PUT", f"/webhooks/{gone}", {"enabled": True})
    arrived(receiver, "/gone", 2)


def test_a_secret_is_rotated(api, receiver):
    hook = make(api, receiver.url())
    new = api.ok("POST", f"/webhooks/{hook['id']}/rotate", {"overlap": 60})["secret"]
    assert new != hook["secret"]
    publish(api, "order.paid")
    headers, _, raw = arrived(receiver, "/hook")[0]
    assert is_signed(new, headers, raw) and is_signed(hook["secret"], headers, raw), "both are valid for a while"
    last = api.ok("POST", f"/webhooks/{hook['id']}/rotate", {"overlap": 0})["secret"]
    publish(api, "order.paid")
    headers, _, raw = arrived(receiver, "/hook", 2)[1]
    assert is_signed(last, headers, raw) and not is_signed(new, headers, raw)


def test_a_test_tells_the_outcome(api, receiver):
    hook = make(api, receiver.url(), events=["nothing"])
    good = api.ok("POST", f"/webhooks/{hook['id']}/test")
    assert good["delivered"] and good["status"] == 204 and "error" not in good
    headers, body, raw = receiver.of("/hook")[0]
    assert body["type"] == "webhook.test" and is_signed(hook["secret"], headers, raw)
    receiver.answer = lambda path, n: (302, {"Location": receiver.url("/elsewhere")}, b"")
    bad = api.ok("POST", f"/webhooks/{hook['id']}/test")
    assert not bad["delivered"] and bad["status"] == 302 and "redirects are not followed" in bad["error"] and not receiver.of("/elsewhere")


def test_it_survives_a_crash():
    receiver = Receiver(lambda path, n: (503, {}, b""))
    with harness.Server(env={**ENV, "III_WEBHOOK_TRIES": "100", "III_WEBHOOK_RETRY_MS": "300"}) as made:
        with made.client() as api:
            hook = make(api, receiver.url())
            events = {publish(api, f"order.{i}")["id"] for i in range(20)}
            arrived(receiver, "/hook", 1)
            made.kill()
        receiver.answer = lambda path, n: (200, {}, b"")
        already = len(receiver.of("/hook"))
        made.start()
        with made.client() as api:
            harness.wait_until(lambda: {body["id"] for _, body, _ in receiver.of("/hook")[already:]} == events, "every accepted event")
            assert all(is_signed(hook["secret"], headers, raw) for headers, _, raw in receiver.of("/hook"))
            harness.wait_until(lambda: api.ok("GET", f"/webhooks/{hook['id']}")["pending"] == 0, "all are done")
    receiver.close()


@contextlib.contextmanager
def listener(serve):
    """A raw TCP server: serve(sock) for each connection, on a thread of its own."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        threads, socks = [], []

        def run():
            with contextlib.suppress(OSError):
                while True:
                    sock = server.accept()[0]
                    socks.append(sock)
                    one = threading.Thread(target=guarded, args=(sock,))
                    threads.append(one)
                    one.start()

        def guarded(sock):
            with contextlib.suppress(OSError):
                serve(sock)

        main = threading.Thread(target=run)
        main.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"
        server.shutdown(socket.SHUT_RDWR)
        main.join()
        for sock in socks:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()
        for one in threads:
            one.join()


def endless(sock):
    sock.recv(65536)
    sock.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        sock.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")


def test_bad_receivers_hurt_nobody_else(api, receiver):
    silent = threading.Event()
    cases = {"silent": lambda sock: silent.wait(30), "garbage": lambda sock: sock.sendall(b"\x00garbage\r\n\r\n" * 100),
             "closes": lambda sock: sock.close(), "endless": endless, "long head": lambda sock: sock.sendall(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 10000000)}
    with contextlib.ExitStack() as stack:
        bad = {name: make(api, stack.enter_context(listener(serve)), events=["order.*"])["id"] for name, serve in cases.items()}
        make(api, receiver.url(), events=["order.*"])
        for i in range(10):
            publish(api, f"order.{i}")
        arrived(receiver, "/hook", 10)
        for name, hook in bad.items():
            harness.wait_until(lambda hook=hook: not api.ok("GET", f"/webhooks/{hook}")["pending"] or api.ok("GET", f"/webhooks/{hook}").get("failingSince"),
                               f"{name} has an outcome")
            outcome = api.ok("POST", f"/webhooks/{bad[name]}/test")
            assert outcome["delivered"] == (name == "endless"), (name, outcome)
        silent.set()
        for hook in bad.values():
            api.ok("DELETE", f"/webhooks/{hook}")


def test_a_webhook_that_fails_for_long_is_disabled(receiver):
    receiver.answer = lambda path, n: (500, {}, b"")
    with harness.Server(env={**ENV, "III_WEBHOOK_DISABLE_AFTER": "1", "III_WEBHOOK_TRIES": "100", "III_WEBHOOK_RETRY_MS": "100"}) as made, made.client() as api:
        hook = make(api, receiver.url(), events=["order.*"])["id"]
        publish(api, "order.paid")
        told = harness.wait_until(lambda: (h := api.ok("GET", f"/webhooks/{hook}"))["enabled"] is False and h, "disabled")
        assert "failed for too long" in told["disabledReason"]
        assert api.ok("DELETE", f"/webhooks/{hook}") == {"deleted": hook}


def test_the_server_connects_only_where_it_may(receiver):
    port = receiver.port
    with harness.Server(env={"III_WEBHOOK_RETRY_MS": "20", "III_WEBHOOK_TRIES": "2"}) as made, made.client() as api:
        def url_of(url):
            return api.call("POST", "/webhooks", {"url": url})
        assert url_of("http://hooks.example/").status == 400 and "III_WEBHOOK_PLAIN" in url_of("http://hooks.example/").error
        for host in ("127.0.0.1", "localhost", "[::1]", "10.0.0.1", "169.254.169.254", "2130706433", "[::ffff:127.0.0.1]", "0.0.0.0"):
            reply = url_of(f"https://{host}:{port}/")
            assert reply.status == 403 and "III_WEBHOOK_PRIVATE_HOSTS" in reply.error, (host, reply)
        for bad in ("ftp://a.example/", "https://", "https://user:pw@a.example/", "https://a.example/ b", "x"):
            assert url_of(bad).status == 400, bad
        assert api.ok("GET", "/webhooks") == {"webhooks": []}
    with harness.Server(env=ENV) as made, made.client() as api:
        own = make(api, f"http://127.0.0.1:{made.port}/sandbox/health", events=["none"])
        outcome = api.ok("POST", f"/webhooks/{own['id']}/test")
        assert not outcome["delivered"] and "status" not in outcome and "not allowed" in outcome["error"], "the server's own ports are closed"
        engine = make(api, f"http://127.0.0.1:{made.engine_port}/", events=["none"])
        assert "not allowed" in api.ok("POST", f"/webhooks/{engine['id']}/test")["error"]
    assert not receiver.got


def test_shares_and_quotas(receiver):
    with harness.Server(env={**ENV, "III_AUTH_TOKEN": "root", "III_MAX_WEBHOOKS": "8", "III_WEBHOOK_QUEUE_MB": "1"}) as made, made.client(token="root") as admin:
        tokens = {name: admin.ok("POST", "/tokens", {"name": name, "tenant": name, **more})
                  for name, more in (("a", {}), ("b", {"quota": {"webhooks": 1}}))}
        with made.client(token=tokens["a"]["secret"]) as a, made.client(token=tokens["b"]["secret"]) as b:
            receiver.answer = lambda path, n: (500, {"Retry-After": "3600"}, b"")
            first = make(a, receiver.url("/a"), events=["*"])["id"]
            make(a, receiver.url("/a2"), events=["none"])
            full = a.call("POST", "/webhooks", {"url": receiver.url()})
            assert full.status == 503 and "limit of 2 webhooks reached" in full.error
            second = make(b, receiver.url("/b"))["id"]
            over = b.call("POST", "/webhooks", {"url": receiver.url()})
            assert over.status == 429 and "webhooks" in over.error
            assert admin.ok("GET", f"/tokens/{tokens['b']['id']}")["usage"]["webhooks"] == 1
            for i in range(70):
                a.ok("POST", "/events/publish", {"topic": "t", "sandboxId": "x"})
            seen = a.ok("GET", f"/webhooks/{first}")
            assert seen["pending"] == 64 and seen["dropped"] == 6, "a quarter of 1 MiB, 4 KiB each"
            b.ok("POST", "/events/publish", {"topic": "t", "sandboxId": "x"})
            assert b.ok("GET", f"/webhooks/{second}")["pending"] == 1, "the other tenant has its own share, and its own events"
            assert a.ok("DELETE", f"/webhooks/{first}/deliveries?status=all") == {"purged": 64}
            assert admin.ok("GET", f"/webhooks/{first}")["tenant"] == "a"


@pytest.mark.parametrize("fields, word", [
    ({"url": "http://127.0.0.1/" + "x" * 2048}, "url"), ({"events": []}, "events"), ({"events": ["x"] * 33}, "events"), ({"events": ["x" * 256]}, "events"),
    ({"events": [""]}, "events"), ({"metadata": {str(i): "" for i in range(17)}}, "metadata"), ({"metadata": {"a": "x" * 4097}}, "metadata"),
    ({"description": "x" * 256}, "description"), ({"sandboxId": harness.UNKNOWN}, "sandbox not found"), ({"sandboxId": "x" * 256}, "sandboxId")])
def test_limits_are_named(api, fields, word):
    reply = api.call("POST", "/webhooks", {"url": "http://127.0.0.1/", **fields})
    assert reply.status in (400, 404) and word in reply.error, reply


def test_limits_of_a_rotation(api):
    hook = make(api, "http://127.0.0.1/", events=["none"])["id"]
    assert api.call("POST", f"/webhooks/{hook}/rotate", {"overlap": 604801}).status == 400
    for path in ("", "/deliveries"):
        assert api.call("GET", f"/webhooks/whk_none{path}").status == 404
