"""A server that does what a test says."""
import http.server
import json
import threading

import pytest

RECORD = {"id": "sbx_1", "name": "n", "image": "i", "status": "running", "createdAt": 1, "expiresAt": 2, "config": {"image": "i"}, "metadata": {}}


class Fake:
    """Remembers every request; `handle(exchange)` answers it."""

    def __init__(self, handle):
        self.requests, self.handle = [], handle
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                outer.requests.append((self.command, self.path, dict(self.headers), json.loads(body) if body else None))
                outer.handle(self, len(outer.requests))

            do_GET = do_POST = do_DELETE = answer

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def bodies(self):
        return [body for _, _, _, body in self.requests]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def reply(exchange, status, value, headers=None):
    data = json.dumps(value).encode()
    exchange.send_response(status)
    for name, text in {"Content-Type": "application/json", "Content-Length": str(len(data)), **(headers or {})}.items():
        exchange.send_header(name, text)
    exchange.end_headers()
    exchange.wfile.write(data)


def stream(exchange, *pieces):
    """Server-sent events, in these pieces; the connection's end is theirs."""
    exchange.send_response(200)
    exchange.send_header("Content-Type", "text/event-stream")
    exchange.send_header("Connection", "close")
    exchange.end_headers()
    for piece in pieces:
        exchange.wfile.write(piece)
        exchange.wfile.flush()


def hang_up(exchange, _):
    exchange.close_connection = True
    exchange.connection.close()


@pytest.fixture
def fake():
    made = []

    def start(handle):
        made.append(Fake(handle))
        return made[-1]

    yield start
    for one in made:
        one.close()
