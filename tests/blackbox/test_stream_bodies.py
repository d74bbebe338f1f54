"""Bodies of random shape through everything that streams: what arrives has the hash of what was sent.

III_TEST_BODIES says how many (600), III_TEST_SEED repeats a run; every failure names its seed."""
import base64
import concurrent.futures
import http.client
import inspect
import json
import os
import random
import threading
import time

import pytest

import bodyshapes
import engineclient
import fnclient
import harness
import inside
import wsclient
from bodyshapes import chunk, last_chunk, pause, pieces, told

PORT, WS_PORT = 8080, 8081
WORKERS = 4
COUNT = int(os.environ.get("III_TEST_BODIES") or 600)
SEED = int(os.environ.get("III_TEST_SEED") or random.randrange(1 << 32))

# POST /up answers with length and hash; POST /echo sends every piece back while more arrive; GET /down?seed&way sends a body.
APP = inspect.getsource(bodyshapes) + r'''
import http.server, random, sys
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *a): pass
    def take(self, size, rng):
        while size:
            piece = self.rfile.read(min(size, 65536)); size -= len(piece)
            if not piece: raise EOFError
            pause(rng); yield piece
    def body(self):
        rng = random.Random(1)
        if "Content-Length" in self.headers:
            assert "Transfer-Encoding" not in self.headers
            yield from self.take(int(self.headers["Content-Length"]), rng)
            return
        assert self.headers["Transfer-Encoding"] == "chunked"
        while True:
            size = int(self.rfile.readline().split(b";")[0], 16)
            yield from self.take(size, rng)
            if size == 0: break
            assert self.rfile.readline() == b"\r\n"
        while self.rfile.readline() != b"\r\n": pass
    def begin(self, *headers):
        self.send_response(200)
        for name, value in headers: self.send_header(name, value)
        self.end_headers()
    def do_POST(self):
        if self.path.endswith("/echo"):
            self.begin(("Transfer-Encoding", "chunked"))
            rng = random.Random(2)
            for piece in self.body(): self.wfile.write(chunk(rng, piece))
            self.wfile.write(last_chunk(rng))
            return
        text = told(self.body()).encode()
        self.begin(("Content-Length", str(len(text)))); self.wfile.write(text)
    def do_GET(self):
        seed, way = self.path.split("?")[1].split("&")
        rng, shape = random.Random(int(seed)), random.Random(int(seed) + 1)
        if way == "length": self.begin(("Content-Length", str(sum(map(len, pieces(random.Random(int(seed))))))))
        elif way == "chunked": self.begin(("Transfer-Encoding", "chunked"))
        else: self.begin(); self.close_connection = True
        for piece in pieces(rng):
            self.wfile.write(chunk(shape, piece) if way == "chunked" else piece); pause(shape)
        if way == "chunked": self.wfile.write(last_chunk(shape))
class S(http.server.ThreadingHTTPServer): request_queue_size = 128; daemon_threads = True
s = S(("127.0.0.1", int(sys.argv[1])), H)
print("READY", flush=True)
s.serve_forever()
'''


class Line:
    """One worker's connection, kept from body to body and sometimes renewed."""

    def __init__(self, port):
        self.port, self.conn = port, None

    def fresh(self, rng):
        if self.conn is None or rng.random() < 0.2:
            self.close()
            self.conn = http.client.HTTPConnection("127.0.0.1", self.port, timeout=harness.DEADLINE_S)
        return self.conn

    def close(self):
        if self.conn:
            self.conn.close()
        self.conn = None


def send(conn, path, seed, *headers):
    """One upload, cut and paused at random; returns what was sent as `length hash`."""
    shape, rng = random.Random(seed + 1), random.Random(seed)
    is_chunked = shape.random() < 0.8
    conn.putrequest("POST", path)
    for name, value in headers:
        conn.putheader(name, value)
    if is_chunked:
        conn.putheader("Transfer-Encoding", "chunked")
    else:
        conn.putheader("Content-Length", str(sum(map(len, pieces(random.Random(seed))))))
    conn.endheaders()

    def sent():
        for piece in pieces(rng):
            raw = chunk(shape, piece) if is_chunked else piece
            cut = shape.randrange(len(raw))
            conn.send(raw[:cut])
            pause(shape)
            conn.send(raw[cut:])
            yield piece
        if is_chunked:
            conn.send(last_chunk(shape))
    return told(sent())


def read(answer, seed):
    """The response's body in bursts. http.client fails when a chunked body is cut; a shorter one has another hash."""
    rng = random.Random(seed + 2)
    while piece := answer.read(rng.choice((1, 1000, 65536, 1 << 20))):
        yield piece
        pause(rng)


def upload(line, path, seed):
    conn = line.fresh(random.Random(seed + 3))
    sent = send(conn, path + "/up", seed)
    answer = conn.getresponse()
    assert answer.status == 200, answer.status
    return sent, answer.read().decode()


def download(line, path, seed):
    way = random.Random(seed + 3).choice(("chunked", "chunked", "length", "close"))
    conn = line.fresh(random.Random(seed + 3))
    conn.request("GET", f"{path}/down?{seed}&{way}")
    answer = conn.getresponse()
    assert answer.status == 200, answer.status
    return told(pieces(random.Random(seed))), told(read(answer, seed))


def both_ways(line, path, seed):
    """An upload whose response streams meanwhile."""
    conn = http.client.HTTPConnection("127.0.0.1", line.port, timeout=harness.DEADLINE_S)
    conn.connect()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        sending = pool.submit(send, conn, path + "/echo", seed)
        answer = http.client.HTTPResponse(conn.sock, method="POST")
        answer.begin()
        assert answer.status == 200, answer.status
        got = told(read(answer, seed))
        sent = sending.result()
    conn.close()
    return sent, got


def many(share, one, workers=WORKERS):
    """Runs one(worker, seed) for this share of the bodies, from several threads; each pair it returns must be equal."""
    first, count = random.Random(f"{SEED} {share}").randrange(1 << 40), max(workers, round(COUNT * share))
    seeds = iter(range(first, first + count * 10, 10))
    begun = time.monotonic()

    def work(number):
        done = 0
        for seed in seeds:
            try:
                sent, got = one(number, seed)
            except Exception as why:
                raise AssertionError(f"III_TEST_SEED={SEED}, body {seed}: {why!r}") from why
            assert sent == got, f"III_TEST_SEED={SEED}, body {seed}"
            done += 1
        return done

    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        assert sum(future.result() for future in [pool.submit(work, number) for number in range(workers)]) == count
    print(f"III_TEST_SEED={SEED}: {count} bodies in {time.monotonic() - begun:.1f} s")


@pytest.fixture(scope="module")
def app(server, box):
    """(sandbox, host port of the app)."""
    with server.client() as client:
        inside.start(client, box, APP, PORT)
        inside.start(client, box, inside.WS_ECHO, WS_PORT)
        inside.expose(client, box, WS_PORT)
        return box, inside.expose(client, box, PORT)["hostPort"]


@pytest.mark.parametrize("direction, share", [(upload, 0.25), (download, 0.2), (both_ways, 0.05)])
@pytest.mark.parametrize("entry", ["raw proxy", "exposed port"])
def test_http(server, app, entry, direction, share):
    is_raw = entry == "raw proxy"
    lines = [Line(server.port if is_raw else app[1]) for _ in range(WORKERS)]
    path = f"/sandbox/proxy/{app[0]}/{PORT}" if is_raw else ""
    many(share if is_raw else share / 2, lambda number, seed: direction(lines[number], path, seed))
    for line in lines:
        line.close()


def test_websockets_through_the_raw_proxy(server, app):
    sockets = [wsclient.WebSocket(server.port, f"/sandbox/proxy/{app[0]}/{WS_PORT}/") for _ in range(2)]
    for one in sockets:
        one.recv()

    def one(number, seed):
        sent = list(pieces(random.Random(seed)))
        got = []
        for piece in sent:
            sockets[number].send(piece)
            got.append(sockets[number].recv())
        return told(sent), told(got)

    many(0.03, one, workers=2)
    for one_socket in sockets:
        one_socket.cut()


def test_files(server, box):
    """fs::upload with a body sent in chunks, fs::download back."""
    lines = [Line(server.port) for _ in range(2)]

    def ask(number, rng, path, body):
        conn = lines[number].fresh(rng)
        text = json.dumps(body).encode()
        cuts = sorted(rng.randrange(len(text)) for _ in range(rng.randrange(6)))
        parts = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)]) if a < b]
        conn.request("POST", f"/sandbox/sandboxes/{box}/files/{path}", iter(parts),
                     {"Content-Type": "application/json", "Transfer-Encoding": "chunked"}, encode_chunked=True)
        answer = conn.getresponse()
        body = answer.read()
        assert answer.status == 200, body
        return json.loads(body)

    def one(number, seed):
        rng, data = random.Random(seed + 3), b"".join(pieces(random.Random(seed)))
        ask(number, rng, "upload", {"path": f"/workspace/f{number}", "content": base64.b64encode(data).decode()})
        got = base64.b64decode(ask(number, rng, "download", {"path": f"/workspace/f{number}"}))
        return told([data]), told([got])

    many(0.06, one, workers=2)
    for line in lines:
        line.close()


def test_output_of_commands(server, box):
    """exec/stream: server-sent events in chunks."""
    script = inspect.getsource(bodyshapes) + "import base64, random, sys\nsys.stdout.write(base64.b64encode(b''.join(pieces(random.Random(int(sys.argv[1]))))).decode())\n"

    def one(_, seed):
        with server.client() as client:
            body = {"command": ["python3", "-c", script, str(seed)]}
            events = list(client.events("POST", f"/sandboxes/{box}/exec/stream", body))
        assert events[-1]["type"] == "exit" and events[-1]["data"] == "0", events[-1]
        got = "".join(event["data"] for event in events if event["type"] == "stdout")
        return told(pieces(random.Random(seed))), told([base64.b64decode(got)])

    many(0.02, one, workers=2)


def test_channels_into_files_and_back(server):
    fn = fnclient.Functions(server.engine_port)

    def one(_, seed):
        sent = list(pieces(random.Random(seed)))
        pair = fn.worker.channel()
        asked = fn.ask("fs::write", sandbox_id=sandbox, path="/x", content=pair["reader"])
        out = engineclient.open_channel(fn.port, pair["writer"])
        for piece in sent:
            out.send(piece)
            if len(piece) == 7:
                out.send(b"")  # an empty message is data of no bytes, not the end
        out.close()
        assert fn.answer(asked)["bytes_written"] == sum(map(len, sent))
        got, _ = fn.read_channel(fn.call("fs::read", sandbox_id=sandbox, path="/x")["content"])
        return told(sent), told([got])

    try:
        sandbox = fn.create()
        many(0.03, one, workers=1)
    finally:
        fn.close()


def test_routes_of_workers(server):
    """The request's body and the response of an http trigger, through channels of the engine."""
    worker = engineclient.Worker(server.engine_port)
    worker.register("bodies::route")
    worker.bind("http", "bodies::route", {"api_path": "/bodies", "http_method": "POST"})
    line = Line(server.port)

    def answer_one():
        asked = worker.asked("bodies::route")
        got = []
        with engineclient.open_channel(server.engine_port, asked["data"]["request_body"]) as source:
            try:
                while True:
                    got.append(source.recv())
            except wsclient.Closed as why:
                assert why.code == 1000, why
        out = engineclient.open_channel(server.engine_port, asked["data"]["response"])
        out.send(json.dumps({"type": "set_status", "status_code": 200}))
        for piece in got:
            out.send(piece)
        out.close(1000, "stream_complete")
        worker.reply(asked, None)

    def one(_, seed):
        serving = threading.Thread(target=answer_one)
        serving.start()
        conn = line.fresh(random.Random(seed + 3))
        sent = send(conn, "/bodies", seed, ("Content-Type", "application/octet-stream"))
        answer = conn.getresponse()
        assert answer.status == 200, answer.status
        got = told(read(answer, seed))
        serving.join(harness.DEADLINE_S)
        return sent, got

    try:
        many(0.03, one, workers=1)
    finally:
        line.close()
        worker.close()
