"""WebSocket conformance of the engine port, its limits, and its behaviour towards slow, rude and many peers."""
import json
import os
import socket
import struct
import threading

import pytest

import harness
import wsclient
from engineclient import Worker

MIB = 1 << 20
MESSAGE_MAX = 64 * MIB


def raw_frame(fin, opcode, data, mask=True, rsv=0):
    size, head = len(data), [(0x80 if fin else 0) | rsv | opcode]
    bit = 0x80 if mask else 0
    if size < 126:
        head = struct.pack("!BB", head[0], bit | size)
    elif size < 65536:
        head = struct.pack("!BBH", head[0], bit | 126, size)
    else:
        head = struct.pack("!BBQ", head[0], bit | 127, size)
    return head + (b"\0\0\0\0" if mask else b"") + data


@pytest.fixture
def worker(server):
    with Worker(server.engine_port) as made:
        yield made


def send_raw(w, *frames):
    w.ws.sock.sendall(b"".join(frames))


def test_handshake_declines_what_it_does_not_offer(server):
    headers = {"Sec-WebSocket-Extensions": "permessage-deflate; client_max_window_bits", "Sec-WebSocket-Protocol": "x"}
    with Worker(server.engine_port, headers=headers) as w:
        assert b"sec-websocket-extensions" not in w.ws.headers and b"sec-websocket-protocol" not in w.ws.headers
        w.sync()


def test_query_string_on_the_worker_path(server):
    with Worker(server.engine_port, path="/?a=1&b=2") as w:
        w.sync()


def test_other_paths_and_methods(server):
    for path, status in (("/nope", 404), ("/ws", 404), ("/ws/channels/00000000-0000-4000-8000-000000000000?key=x&dir=read", 404),
                         ("/ws/channels/x?dir=read", 400), ("/ws/channels/x?key=k&dir=both", 400)):
        with pytest.raises(wsclient.Refused) as why:
            wsclient.WebSocket(server.engine_port, path)
        assert why.value.status == status, path
    plain = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    assert harness.status_of(harness.raw(server.engine_port, plain)) == 426
    old = (b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 8\r\n"
           b"Sec-WebSocket-Key: QUJDREVGR0hJSktMTU5PUA==\r\n\r\n")
    with socket.create_connection(("127.0.0.1", server.engine_port), timeout=harness.DEADLINE_S) as sock:
        sock.sendall(old)
        assert harness.status_of(sock.recv(4096)) == 426


def test_fragments_with_a_ping_in_between(worker):
    text = json.dumps({"type": "ping", "pad": "x" * 300}).encode()
    send_raw(worker, raw_frame(False, 1, text[:5]), raw_frame(True, 9, b"now"), raw_frame(False, 0, b""),
             raw_frame(False, 0, text[5:200]), raw_frame(True, 0, text[200:]))
    first, second = worker.ws._take(2)
    assert (first, worker.ws._take(second)) == (0x8A, b"now")
    worker.expect("pong")


def test_ping_is_answered_with_its_payload(worker):
    for payload in (b"", b"x" * 125):
        worker.ws.send_frame(9, payload)
        first, second = worker.ws._take(2)
        assert (first, worker.ws._take(second)) == (0x8A, payload)


@pytest.mark.parametrize("frames, code", [
    ([raw_frame(True, 1, b'{"type":"\xff"}')], 1007),
    ([raw_frame(False, 1, b"\xe2\x82"), raw_frame(True, 0, b"x")], 1007),
    ([raw_frame(True, 1, b"{}", mask=False)], 1002),
    ([raw_frame(True, 1, b"{}", rsv=0x40)], 1002),
    ([raw_frame(True, 3, b"{}")], 1002),
    ([raw_frame(True, 0, b"{}")], 1002),
    ([raw_frame(False, 1, b"{"), raw_frame(True, 1, b"}")], 1002),
    ([raw_frame(False, 9, b"")], 1002),
    ([raw_frame(True, 8, b"\x03")], 1002),
    ([raw_frame(True, 8, struct.pack("!H", 1005))], 1002),
])
def test_broken_frames_close_with_the_right_code(worker, frames, code):
    send_raw(worker, *frames)
    assert worker.ws.closed().code == code


def test_frame_that_announces_too_much(worker):
    send_raw(worker, struct.pack("!BBQ", 0x81, 0x80 | 127, MESSAGE_MAX + 1) + b"\0\0\0\0")
    assert worker.ws.closed().code == 1009


def test_fragments_that_grow_too_large(worker):
    piece = b"x" * (16 * MIB - 1)
    with pytest.raises((wsclient.Closed, ConnectionError, AssertionError)):
        send_raw(worker, raw_frame(False, 1, piece))
        for _ in range(5):
            send_raw(worker, raw_frame(False, 0, piece))
        raise worker.ws.closed()


def test_close_is_echoed(worker):
    worker.ws.send_frame(8, b"")
    assert worker.ws.closed().code == 1005


def test_messages_of_sixteen_mib_pass_both_ways(server):
    with Worker(server.engine_port) as executor, Worker(server.engine_port) as caller:
        executor.register("wire::big")
        big = "x" * (16 * MIB - 1000)
        call = caller.ask("wire::big", {"text": big})
        asked = executor.asked("wire::big")
        assert asked["data"]["text"] == big
        executor.reply(asked, {"text": big})
        assert caller.answer_to(call)["text"] == big


def test_slow_reader_does_not_stop_others(server):
    with Worker(server.engine_port) as slow, Worker(server.engine_port) as quick, Worker(server.engine_port) as caller:
        slow.register("wire::slow")
        quick.register("wire::quick")
        calls = [caller.ask("wire::slow", {"pad": "x" * MIB}) for _ in range(40)]  # 40 MiB that nobody reads yet
        call = caller.ask("wire::quick", {})
        quick.serve("wire::quick", lambda data: "in time")
        assert caller.answer_to(call) == "in time"
        assert caller.expect("invocationresult")["error"]["code"] == "channel_send_failed"
        slow.reply(slow.asked(), 1)  # the first of those that wait is still there
        assert caller.expect("invocationresult", invocation_id=calls[0])["result"] == 1


def test_caller_that_does_not_read_is_not_read_either(server):
    with Worker(server.engine_port) as rude, Worker(server.engine_port) as other:
        rude.ws.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        done = threading.Event()

        def flood():
            try:
                for _ in range(20000):
                    rude.send(type="invokefunction", invocation_id="7a1e9c30-0b54-4d92-8f6e-2c5d7e8f9a01",
                              function_id="engine::functions::list", data={"include_internal": True})
            except OSError:
                pass
            done.set()

        rude.ws.sock.settimeout(2)
        thread = threading.Thread(target=flood)
        thread.start()
        for _ in range(20):
            other.sync()
        thread.join(harness.DEADLINE_S)
        assert done.is_set()
        other.sync()


def rss_mib(pid):
    with open(f"/proc/{pid}/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / MIB


def test_a_thousand_idle_workers(server):
    before = rss_mib(server.pid)
    many = []
    try:
        for i in range(1000):
            many.append(Worker(server.engine_port))
        for i in (0, 500, 999):
            many[i].register(f"wire::idle{i}")
        call = many[0].ask("wire::idle999", {"n": 1})
        many[999].serve("wire::idle999", lambda data: data["n"] + 1)
        assert many[0].answer_to(call) == 2
        if not harness.IS_SANITIZED:
            assert rss_mib(server.pid) - before < 200
    finally:
        for one in many:
            one.cut()
    with Worker(server.engine_port) as w:
        harness.wait_until(lambda: w.fail("wire::idle999", {}).code == "function_not_found", "the idle workers are gone")


def test_telemetry_is_accepted_and_is_no_worker(server):
    with wsclient.WebSocket(server.engine_port, "/otel") as otel, Worker(server.engine_port) as w:
        otel.send(b"OTLP" + json.dumps({"resourceSpans": []}).encode())
        otel.send("text is ignored")
        otel.send_frame(9, b"p")
        first, second = otel._take(2)
        assert (first, otel._take(second)) == (0x8A, b"p")
        assert len(w.call("engine::workers::list", {})["workers"]) == 1  # the server itself


def test_token():
    with harness.Server(token="secret", env={"III_AUTH_TOKEN": "secret"}) as server:
        for path, headers in (("/", {}), ("/", {"Authorization": "Bearer wrong"}), ("/?token=wrong", {}), ("/otel", {})):
            with wsclient.WebSocket(server.engine_port, path, headers) as ws:
                message = json.loads(ws.recv())
                assert message["type"] == "error" and message["error"]["code"] == "AUTH_ERROR"
                assert ws.closed().code == 1008
        for path, headers in (("/", {"Authorization": "Bearer secret"}), ("/?token=secret", {})):
            with Worker(server.engine_port, path=path, headers=headers) as w:
                w.sync()


def test_stop_tells_workers():
    with harness.Server() as server:
        w = Worker(server.engine_port)
        w.register("wire::open")
        server.proc.terminate()
        assert w.ws.closed().code == 1001
        w.cut()


def test_messages_of_newer_clients_break_nothing(new_worker):
    w = new_worker()
    assert "features" not in w.greeting
    w.send(type="observe", id="o1", source={"function_id": "x"}, target={"function_id": "y"})
    got = w.expect("observeresult", id="o1")
    assert got["state"] == "error" and got["error"]["code"] == "UNSUPPORTED"
    for kind in ("unobserve", "observerack", "invocationsobserved", "localinvocationstats"):
        w.send(type=kind, id="o1", function_id="x", items=[], functions=[])
    w.register("n::f", args_format={}, private=False, observable=True)
    assert w.call("engine::workers::register", {"name": "n", "features": ["observe.v1", "large-messages.v1"]}) == {"success": True}
    call = w.ask("n::f", {}, caller={"x": 1}, observe_depth=0, activation="a")
    w.reply(w.asked("n::f"), 1)
    assert w.answer_to(call) == 1 and w.seen == []
