"""Bodies of random shape through everything that streams: what arrives has the hash of what was sent."""
import concurrent.futures
import hashlib
import random
import socket
import time

import pytest

import engineclient
import fnclient
import harness
import inside

PORT = 8080
BUDGET_S = 4  # for each entry point, however slow the machine is
WORKERS = 4
SEED = 20240611

# Reads in bursts with pauses, so that the sender is held; answers with the hash. GET /down?seed: a chunked body of random shape.
SLOW_APP = r'''
import hashlib, http.server, random, sys, time
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *a): pass
    def do_POST(self):
        rng, digest, total = random.Random(int(self.headers["X-Seed"])), hashlib.sha256(), 0
        while True:
            size = int(self.rfile.readline(), 16)
            left = size
            while left:
                piece = self.rfile.read(min(left, 65536)); left -= len(piece); total += len(piece); digest.update(piece)
                if rng.random() < 0.2: time.sleep(rng.random() * 0.01)
            assert self.rfile.readline() == b"\r\n"
            if size == 0: break
        told = b"%d %s" % (total, digest.hexdigest().encode())
        self.send_response(200); self.send_header("Content-Length", str(len(told))); self.end_headers(); self.wfile.write(told)
    def do_GET(self):
        rng = random.Random(int(self.path.split("?")[1]))
        self.send_response(200); self.send_header("Transfer-Encoding", "chunked"); self.end_headers()
        left = rng.randrange(2_000_000)
        while left:
            piece = rng.randbytes(min(left, rng.choice((1, 100, 5000, 65536, 300_000)))); left -= len(piece)
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            if rng.random() < 0.1: time.sleep(0.005)
        self.wfile.write(b"0\r\n\r\n")
s = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), H)
print("READY", flush=True)
s.serve_forever()
'''


def send_chunked(port, path, seed):
    """One chunked upload of random sizes, cut and paused at random; returns what was sent and the answer's body, both as `length hash`."""
    rng, digest, total = random.Random(seed), hashlib.sha256(), 0
    with socket.create_connection(("127.0.0.1", port), timeout=harness.DEADLINE_S) as sock:
        sock.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nX-Seed: {seed}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n".encode())
        left = rng.choice((0, 1000, 300_000, 2_000_000, 4_000_000))
        while left:
            piece = rng.randbytes(min(left, rng.choice((1, 700, 9000, 65536, 150_000, 1_000_000))))
            left -= len(piece)
            total += len(piece)
            digest.update(piece)
            raw = b"%x\r\n%s\r\n" % (len(piece), piece)
            cut = rng.randrange(len(raw))
            sock.sendall(raw[:cut])
            if rng.random() < 0.2:
                time.sleep(rng.random() * 0.01)
            sock.sendall(raw[cut:])
        sock.sendall(b"0\r\n\r\n")
        head, _, body = harness.drain(sock).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 "), head
    return f"{total} {digest.hexdigest()}", body.decode()


def fetch_chunked(port, path, seed):
    """One chunked download, read in bursts; returns the hash of the app's bytes, generated here from the same seed, and of what came."""
    rng, pause = random.Random(seed), random.Random(seed + 1)
    sent, got = hashlib.sha256(), hashlib.sha256()
    with socket.create_connection(("127.0.0.1", port), timeout=harness.DEADLINE_S) as sock:
        sock.sendall(f"GET {path}?{seed} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        pieces = []
        while piece := sock.recv(65536):
            pieces.append(piece)
            if pause.random() < 0.1:
                time.sleep(pause.random() * 0.01)
    head, _, raw = b"".join(pieces).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 "), head
    at, size = 0, -1
    while size:
        end = raw.index(b"\r\n", at)
        size = int(raw[at:end], 16)
        got.update(raw[end + 2:end + 2 + size])
        at = end + 4 + size
    left = rng.randrange(2_000_000)
    while left:
        piece = rng.randbytes(min(left, rng.choice((1, 100, 5000, 65536, 300_000))))
        left -= len(piece)
        sent.update(piece)
        rng.random()  # the app draws whether to pause
    return sent.hexdigest(), got.hexdigest()


def many(one):
    """Runs one(seed) from several threads until the budget is spent; every pair it returns must be equal."""
    end, seeds = time.monotonic() + BUDGET_S, iter(range(SEED, SEED + 1_000_000))

    def work():
        done = 0
        while time.monotonic() < end:
            seed = next(seeds)
            sent, got = one(seed)
            assert sent == got, f"seed {seed}"
            done += 1
        return done

    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        counts = [future.result() for future in [pool.submit(work) for _ in range(WORKERS)]]
    assert sum(counts) >= WORKERS


@pytest.fixture(scope="module")
def app(server, box):
    """(sandbox, host port of the app)."""
    with server.client() as client:
        inside.start(client, box, SLOW_APP, PORT)
        return box, inside.expose(client, box, PORT)["hostPort"]


@pytest.mark.parametrize("direction", [send_chunked, fetch_chunked])
def test_the_raw_proxy(server, app, direction):
    many(lambda seed: direction(server.port, f"/sandbox/proxy/{app[0]}/{PORT}/x", seed))


@pytest.mark.parametrize("direction", [send_chunked, fetch_chunked])
def test_an_exposed_port(app, direction):
    many(lambda seed: direction(app[1], "/x", seed))


def test_channels_into_files_and_back(server):
    def one(seed):
        rng = random.Random(seed)
        data = rng.randbytes(rng.choice((0, 1, 70_000, 2_000_000)))
        pair = fn.worker.channel()
        asked = fn.ask("fs::write", sandbox_id=sandbox, path="/x", content=pair["reader"])
        end, at = engineclient.open_channel(fn.port, pair["writer"]), 0
        while at < len(data):
            size = rng.choice((0, 1, 5000, 65536, 300_000))  # an empty message is data of no bytes, not the end
            end.send(data[at:at + size])
            at += size
        end.close()
        assert fn.answer(asked)["bytes_written"] == len(data), f"seed {seed}"
        got, _ = fn.read_channel(fn.call("fs::read", sandbox_id=sandbox, path="/x")["content"])
        return hashlib.sha256(data).hexdigest(), hashlib.sha256(got).hexdigest()

    fn = fnclient.Functions(server.engine_port)
    try:
        sandbox = fn.create()
        end = time.monotonic() + BUDGET_S
        for seed in range(SEED, SEED + 100):
            if time.monotonic() > end:
                break
            sent, got = one(seed)
            assert sent == got, f"seed {seed}"
    finally:
        fn.close()
