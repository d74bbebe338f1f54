"""Servers that run inside a sandbox, for tests of ports and proxies. Each prints READY on stdout when it listens."""
import harness

HTTP_ECHO = r'''
import http.server, json, os, sys, time, threading
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *a): pass
    def body(self):
        if self.headers.get("Transfer-Encoding") == "chunked":
            data = b""
            while True:
                size = int(self.rfile.readline(), 16)
                data += self.rfile.read(size); self.rfile.readline()
                if not size: return data
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))
    def answer(self, status, data, headers=()):
        self.send_response(status)
        for k, v in headers: self.send_header(k, v)
        self.send_header("Content-Length", str(len(data))); self.end_headers()
        if self.command != "HEAD": self.wfile.write(data)
    def any(self):
        path = self.path.split("?")[0]
        if path == "/hang": time.sleep(3600)
        if path == "/redirect": return self.answer(302, b"", [("Location", "/other")])
        if path == "/cookies": return self.answer(200, b"c", [("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"), ("Service-Worker-Allowed", "/"), ("X-Two", "1"), ("X-Two", "2"), ("Connection", "X-Hop"), ("X-Hop", "1"),
                                                        ("Access-Control-Allow-Origin", "http://inside")])
        if path == "/garbage":
            self.wfile.write(b"this is no HTTP\r\n\r\n"); self.close_connection = True; return
        if path == "/big":
            size = int(self.path.split("?")[1])
            self.send_response(200); self.send_header("Content-Length", str(size)); self.end_headers()
            block = b"x" * 65536
            while size > 0: self.wfile.write(block[:size]); size -= len(block)
            return
        if path == "/chunks":
            self.send_response(200); self.send_header("Transfer-Encoding", "chunked"); self.end_headers()
            for i in range(3): self.wfile.write(b"6\r\nchunk%d\r\n" % i)
            self.wfile.write(b"0\r\n\r\n"); return
        if path == "/events":
            self.send_response(200); self.send_header("Content-Type", "text/event-stream"); self.end_headers()
            self.wfile.write(b"data: first\n\n"); self.wfile.flush()
            open("/tmp/streaming", "w").close()
            while not os.path.exists("/tmp/go"): time.sleep(0.01)
            self.wfile.write(b"data: second\n\n"); self.close_connection = True; return
        if path == "/half":
            self.send_response(200); self.send_header("Content-Length", "1000"); self.end_headers()
            self.wfile.write(b"only this"); self.close_connection = True; return
        if path == "/count":
            left, total = int(self.headers["Content-Length"]), 0
            while left:
                piece = self.rfile.read(min(left, 65536)); left -= len(piece); total += len(piece)
            return self.answer(200, str(total).encode())
        told = {"method": self.command, "path": self.path, "headers": {k.lower(): ", ".join(self.headers.get_all(k)) for k in self.headers}, "body": self.body().decode("latin-1")}
        self.answer(int(self.headers.get("X-Want-Status") or 200), json.dumps(told).encode(), [("Content-Type", "application/json"), ("X-Inside", "yes")])
    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = do_OPTIONS = any
s = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), H)
print("READY", flush=True)
s.serve_forever()
'''

TCP_ECHO = r'''
import socket, sys, threading
def serve(c):
    got = b""
    while True:
        d = c.recv(65536)
        if not d: break
        got += d
    c.sendall(b"[" + got + b"]")   # only after the client's half-close
    c.close()
s = socket.socket(); s.bind(("127.0.0.1", int(sys.argv[1]))); s.listen(64)
print("READY", flush=True)
while True: threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
'''

UDP_ECHO = r'''
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("127.0.0.1", int(sys.argv[1])))
print("READY", flush=True)
while True:
    d, a = s.recvfrom(65536)
    s.sendto(b"%d:" % a[1] + d, a)
'''

# A WebSocket server by hand: echoes data frames, answers the text "bye" with a close frame 4321.
WS_ECHO = r'''
import base64, hashlib, socket, struct, sys, threading
def take(f, n):
    d = f.read(n)
    if len(d) < n: raise EOFError
    return d
def serve(c):
    f = c.makefile("rb"); head = {}
    line = f.readline()
    while True:
        h = f.readline().strip()
        if not h: break
        k, v = h.split(b":", 1); head[k.lower()] = v.strip()
    if b"sec-websocket-key" not in head:
        c.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 9\r\nConnection: close\r\n\r\nno upgrade"[:-1]); c.close(); return
    accept = base64.b64encode(hashlib.sha1(head[b"sec-websocket-key"] + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
    hello = line.split(b" ")[1] + b" " + head[b"host"]
    c.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + accept + b"\r\n\r\n"
              + struct.pack("!BB", 0x81, len(hello)) + hello)   # the first frame comes with the head
    try:
        while True:
            a, b = take(f, 2); n = b & 127
            if n == 126: n = struct.unpack("!H", take(f, 2))[0]
            elif n == 127: n = struct.unpack("!Q", take(f, 8))[0]
            m = take(f, 4); raw = take(f, n)
            pad = (m * (n // 4 + 1))[:n]
            d = (int.from_bytes(raw, "big") ^ int.from_bytes(pad, "big")).to_bytes(n, "big") if n else b""
            if d == b"bye": c.sendall(struct.pack("!BBH", 0x88, 2, 4321)); continue
            if a & 15 == 8: c.close(); return
            c.sendall((struct.pack("!BB", a, n) if n < 126 else struct.pack("!BBH", a, 126, n) if n < 65536 else struct.pack("!BBQ", a, 127, n)) + d)
    except (EOFError, OSError): pass
    open("/tmp/ws-ended", "w").close()
s = socket.socket(); s.bind(("127.0.0.1", int(sys.argv[1]))); s.listen(16)
print("READY", flush=True)
while True: threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
'''


def start(client, sid, source, port):
    """Runs one of these in the sandbox and waits until it listens."""
    job = client.ok("POST", f"/sandboxes/{sid}/exec/background", {"command": ["python3", "-c", source, str(port)]})
    harness.wait_until(lambda: "READY" in client.ok("GET", f"/exec/background/{job['id']}/logs")["output"], "the server inside")
    return job


def expose(client, sid, port, **fields):
    return client.ok("POST", f"/sandboxes/{sid}/ports", {"containerPort": port, "hostPort": 0, **fields})
