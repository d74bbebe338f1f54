"""TLS on the server's ports: who gets in, who does not, and what a hostile or slow peer can do."""
import base64
import hashlib
import http.client
import http.server
import json
import os
import random
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import threading
import time

import pytest

import certs
import engineclient
import harness
import leak
import mcpclient
import wsclient
from harness import wait_until

TOKEN = "tls-secret"


class TlsClient(harness.Client):
    """The JSON client over TLS, with the trust of the test."""

    def __init__(self, port, context, token=TOKEN, **kw):
        super().__init__(port, token, **kw)
        self.context = context

    def _connection(self):
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=self.timeout_s, context=self.context)


class SecureSocket(wsclient.WebSocket):
    """A WebSocket over TLS."""

    def __init__(self, port, path, context, headers=None):
        self.sock = context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=harness.DEADLINE_S), server_hostname="localhost")
        self.buffer = b""
        self._handshake(port, path, {"Authorization": f"Bearer {TOKEN}", **(headers or {})})


class SecureWorker(engineclient.Worker):
    def __init__(self, port, context):
        self.ws, self.seen = SecureSocket(port, "/", context), []
        self.greeting = self.expect("workerregistered")


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    if not shutil.which("openssl"):
        pytest.fail("the openssl command is missing: run ./dev test, which installs it")
    return certs.Authority(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def trust(authority):
    return ssl.create_default_context(cafile=authority.cert)


@pytest.fixture(scope="module")
def files(authority, tmp_path_factory):
    """(certificate, key) under names that tests may replace."""
    folder = tmp_path_factory.mktemp("live")
    cert, key = authority.issue("first")
    shutil.copy2(cert, folder / "cert.pem")
    shutil.copy2(key, folder / "key.pem")
    return folder / "cert.pem", folder / "key.pem"


@pytest.fixture(scope="module")
def server(files):
    config = files[0].with_name("config.yaml")
    config.write_text(f"tls: {{cert: {files[0]}, key: {files[1]}}}\n")
    with leak.watched(harness.Server(flags=["--config", str(config), "--auth-token", TOKEN])) as made:
        yield made


@pytest.fixture(scope="module", autouse=True)
def slow_peer(authority):
    """A handshake that stops in the middle, with a server of its own: its deadline passes while the other tests run."""
    cert, key = authority.issue("quiet")
    with harness.Server(flags=["--tls-cert", cert, "--tls-key", key]) as made:
        with socket.create_connection(("127.0.0.1", made.engine_port), timeout=harness.DEADLINE_S) as sock:
            sock.sendall(b"\x16\x03\x01")
            yield sock


@pytest.fixture
def client(server, trust):
    with TlsClient(server.port, trust) as made:
        yield made


@pytest.fixture(scope="module")
def box(server, trust):
    with TlsClient(server.port, trust) as caller:
        sid = caller.create()["id"]
        caller.close()  # an idle connection would keep an old door alive
        yield sid
        server.held.look(server.pid)
        assert caller.delete(f"/sandboxes/{sid}").status == 200


def connect(port, context, name="localhost"):
    sock = socket.create_connection(("127.0.0.1", port), timeout=harness.DEADLINE_S)
    try:
        return context.wrap_socket(sock, server_hostname=name)
    except BaseException:
        sock.close()
        raise


def doors(server):
    """Pids of the server's doors."""
    found = []
    for pid in leak.descendants(server.pid):
        if "--tls-listener" in leak.read(f"/proc/{pid}/cmdline").split("\0"):
            found.append(pid)
    return found


def health(port, context):
    with TlsClient(port, context, timeout_s=harness.DEADLINE_S) as caller:
        return caller.get("/health").status


def serial(port, context):
    with connect(port, context) as sock:
        return int(sock.getpeercert()["serialNumber"], 16)


def test_rest_and_engine_over_tls(server, client, trust, box):
    assert "rest=https://127.0.0.1:" in server.log() and "engine=wss://127.0.0.1:" in server.log()
    assert client.get("/health").status == 200
    assert client.exec(box, "echo hello")["stdout"] == "hello\n"
    with TlsClient(server.port, trust, token="wrong") as stranger:
        assert stranger.get("/sandboxes").status == 403
    worker = SecureWorker(server.engine_port, trust)
    listed = worker.answer_to(worker.ask("engine::functions::list"))
    assert any(f["function_id"] == "sandbox::create" for f in listed["functions"])
    worker.ws.cut()


def test_versions_and_protocols(server, authority, trust):
    for low in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context = ssl.create_default_context(cafile=authority.cert)
        context.minimum_version = context.maximum_version = low
        context.set_alpn_protocols(["h2", "http/1.1"])
        with connect(server.port, context) as sock:
            assert sock.version() == ("TLSv1.2" if low == ssl.TLSVersion.TLSv1_2 else "TLSv1.3")
            assert sock.selected_alpn_protocol() == "http/1.1"
    only_h2 = ssl.create_default_context(cafile=authority.cert)
    only_h2.set_alpn_protocols(["h2"])
    with pytest.raises(ssl.SSLError) as why:
        connect(server.port, only_h2)
    assert "alert no application protocol" in str(why.value)


def test_a_client_of_http_2_is_told(server, authority, trust):
    """By ALPN it falls back; one that sends frames without asking gets frames."""
    url = f"https://127.0.0.1:{server.port}/sandbox/health"
    fell_back = subprocess.run(["curl", "-sS", "--http2", "--cacert", authority.cert, "-w", " %{http_version}", url], capture_output=True, text=True, check=True)
    assert fell_back.stdout == '{"status":"healthy"} 1.1'
    with connect(server.port, trust) as sock:
        sock.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        assert harness.drain(sock).endswith(b"\0\0\0\rHTTP/2 is not served here: use HTTP/1.1")


@pytest.mark.parametrize("version", [b"\x03\x01", b"\x03\x02"])
def test_old_versions_are_refused(server, version):
    """A ClientHello of TLS 1.0 or 1.1, by hand: the local OpenSSL may not be willing to send one."""
    suites = bytes.fromhex("c013c014c009c00a002f0035")
    extensions = bytes.fromhex("000a00060004001700180" "00b00020100")
    hello = version + bytes(32) + b"\0" + struct.pack("!H", len(suites)) + suites + b"\x01\0" + struct.pack("!H", len(extensions)) + extensions
    message = b"\x01" + struct.pack("!I", len(hello))[1:] + hello
    answer = harness.raw(server.port, b"\x16" + version + struct.pack("!H", len(message)) + message)
    assert answer[:1] == b"\x15" and answer[6:7] == bytes([70]), f"no protocol_version alert: {answer[:20]!r}"


def test_clients_refuse_a_stranger(server, tmp_path):
    other = certs.Authority(tmp_path / "other", "somebody else")
    with pytest.raises(ssl.SSLCertVerificationError):
        connect(server.port, ssl.create_default_context(cafile=other.cert))


def test_plain_http_is_told(server, trust):
    for port in (server.port, server.engine_port):
        answer = harness.raw(port, b"POST /sandbox/sandboxes HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc", shut=True)
        head, body = answer.split(b"\r\n\r\n", 1)
        assert harness.status_of(answer) == 400 and b"TLS required" in head.split(b"\r\n")[0]
        assert f"Content-Length: {len(body)}".encode() in head
        assert "https://" in json.loads(body)["error"]
    assert health(server.port, trust) == 200


def test_garbage_does_no_harm(server, trust):
    rng = random.Random(6)
    before = doors(server)
    hello = bytes.fromhex("1603010200010001fc0303") + rng.randbytes(32)
    for i in range(200):
        if i % 3 == 0:
            data = rng.randbytes(rng.randrange(1, 2000))
        elif i % 3 == 1:
            data = b"\x16\x03" + rng.randbytes(rng.randrange(1, 2000))
        else:
            data = bytearray(hello + rng.randbytes(473))
            for _ in range(rng.randrange(1, 8)):
                data[rng.randrange(len(data))] = rng.randrange(256)
        harness.raw(server.port if i % 2 else server.engine_port, bytes(data), shut=True)
    assert health(server.port, trust) == 200
    assert doors(server) == before, "garbage ended the door"


def test_slow_handshakes_do_not_stall(server, trust, box):
    """Hundreds of connections that say nothing, half a hello, or leave in the middle, while others work."""
    half = bytes.fromhex("16030102000100")
    open_ones = []
    try:
        for i in range(300):
            sock = socket.create_connection(("127.0.0.1", server.port), timeout=harness.DEADLINE_S)
            if i % 3 == 1:
                sock.sendall(half)
            if i % 3 == 2:  # reset in the middle
                sock.sendall(half)
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                sock.close()
                continue
            open_ones.append(sock)
        with TlsClient(server.port, trust) as caller:
            for _ in range(20):
                assert caller.get("/health").status == 200
            assert caller.exec(box, "echo on")["stdout"] == "on\n"
        for _ in range(10):
            assert health(server.port, trust) == 200
    finally:
        for sock in open_ones:
            sock.close()


def test_more_handshakes_than_fit(server, trust):
    """Past the limit of 1,024 the oldest make room, so that a newcomer still gets in."""
    open_ones = []
    try:
        for _ in range(1100):
            open_ones.append(socket.create_connection(("127.0.0.1", server.port), timeout=harness.DEADLINE_S))
        assert health(server.port, trust) == 200
        assert open_ones[0].recv(1) == b"", "the oldest handshake was not closed"
        open_ones[-1].setblocking(False)
        with pytest.raises(BlockingIOError):
            open_ones[-1].recv(1)
    finally:
        for sock in open_ones:
            sock.close()


def test_an_address_has_a_share_of_the_handshakes(server, trust):
    """A flood of one address closes its own oldest handshakes, and none of another address."""
    open_ones = [socket.create_connection(("127.0.0.1", server.port), harness.DEADLINE_S, source_address=("127.0.0.2", 0))]
    try:
        for _ in range(300):
            open_ones.append(socket.create_connection(("127.0.0.1", server.port), timeout=harness.DEADLINE_S))
        assert open_ones[1].recv(1) == b"", "the oldest handshake of the flood was not closed"
        with trust.wrap_socket(open_ones[0], server_hostname="localhost") as tls:
            tls.sendall(b"GET /sandbox/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert tls.recv(12) == b"HTTP/1.1 200"
    finally:
        for sock in open_ones:
            sock.close()


def test_big_uploads_and_downloads(client, box):
    data = random.Random(7).randbytes(9 * 1024 * 1024 + 12345)
    content = base64.b64encode(data).decode()
    client.ok("POST", f"/sandboxes/{box}/files/upload", {"path": "/workspace/big", "content": content})
    assert client.exec(box, "sha256sum < /workspace/big")["stdout"].split()[0] == hashlib.sha256(data).hexdigest()
    assert client.ok("POST", f"/sandboxes/{box}/files/download", {"path": "/workspace/big"}) == content


def test_a_slow_reader_gets_everything(server, trust, client, box):
    client.exec(box, "head -c 6000000 /dev/zero | tr '\\0' x > /workspace/letters")
    body = json.dumps({"path": "/workspace/letters"})
    with connect(server.port, trust) as sock:
        sock.sendall(f"POST /sandbox/sandboxes/{box}/files/read HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n"
                     f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        time.sleep(0.5)  # all buffers on the way fill up
        assert client.get("/health").status == 200
        answer = harness.drain(sock)
    assert harness.status_of(answer) == 200 and answer.count(b"x" * 6000000) == 1


def test_terminal_over_wss(server, trust, client, box):
    session = client.ok("POST", f"/sandboxes/{box}/terminal", {})
    ws = SecureSocket(server.port, f"/sandbox/sandboxes/{box}/terminal/{session['sessionId']}/ws", trust)
    ws.send(b"echo $((6*7)) is it\n")
    seen = b""
    while b"42 is it" not in seen:
        piece = ws.recv()
        seen += piece if isinstance(piece, bytes) else piece.encode()
    ws.cut()


def test_a_client_that_leaves_ends_its_command(server, trust, client, box):
    with connect(server.port, trust) as sock:
        body = json.dumps({"command": "sleep 4242"})
        sock.sendall(f"POST /sandbox/sandboxes/{box}/exec HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n"
                     f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
        wait_until(lambda: "sleep 4242" in client.exec(box, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '; true")["stdout"].replace("cmdline", ""), "the command")
    wait_until(lambda: client.exec(box, "pgrep -f '^sleep 4242' | wc -l")["stdout"].strip() == "0", "the command to end with its client")


def test_the_door_is_confined(server):
    (pid,) = doors(server)
    status = dict(line.split(":\t", 1) for line in leak.read(f"/proc/{pid}/status").splitlines() if ":\t" in line)
    assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
    assert all(int(status[name], 16) == 0 for name in ("CapPrm", "CapEff", "CapInh", "CapAmb"))
    if harness.IS_ROOT:
        assert status["Uid"].split() == ["65534"] * 4 and status["Groups"].strip() == ""
        assert int(status["CapBnd"], 16) == 0
    assert leak.read(f"/proc/{pid}/environ") == "", "the door was given the server's environment"


def test_reload_on_hangup(server, trust, authority, files, client, box):
    old = serial(server.port, trust)
    kept = connect(server.port, trust)
    cert, key = authority.issue("second")
    shutil.copy2(cert, files[0])
    shutil.copy2(key, files[1])
    server.proc.send_signal(signal.SIGHUP)
    wait_until(lambda: serial(server.port, trust) != old, "the new certificate")
    wait_until(lambda: "evt=config.reloaded" in server.log(), "the configuration to be read again, too")
    kept.sendall(b"GET /sandbox/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert harness.status_of(harness.drain(kept)) == 200, "a connection from before the reload"
    kept.close()
    new = serial(server.port, trust)
    good = files[1].read_bytes()
    files[1].write_bytes((authority.folder / "ca.key").read_bytes())  # a key of something else
    server.proc.send_signal(signal.SIGHUP)
    wait_until(lambda: "does not belong to the certificate" in server.log(), "the reason why the pair is refused")
    assert serial(server.port, trust) == new
    files[1].write_bytes(good)
    client.close()
    wait_until(lambda: len(doors(server)) == 1, "the old door to end with its last connection")


def test_a_killed_door_comes_back(server, trust, client, box):
    for _ in range(3):
        assert client.get("/health").status == 200
        (pid,) = wait_until(lambda: doors(server), "a door")
        os.kill(pid, signal.SIGKILL)
        client.close()
        assert health(server.port, trust) == 200, "clients wait until the door is back"
    assert client.exec(box, "echo still")["stdout"] == "still\n"


def test_client_certificates(authority, tmp_path, trust):
    cert, key = authority.issue("mutual")
    friends = certs.Authority(tmp_path / "friends", "friends")
    friend, strangers = friends.issue("friend"), certs.Authority(tmp_path / "strangers", "strangers")
    with harness.Server(flags=["--tls-cert", cert, "--tls-key", key, "--tls-client-ca", str(friends.cert)]) as made:
        known = ssl.create_default_context(cafile=authority.cert)
        known.load_cert_chain(*friend)
        assert health(made.port, known) == 200
        wrong = ssl.create_default_context(cafile=authority.cert)
        wrong.load_cert_chain(*strangers.issue("stranger"))
        for context in (trust, wrong):  # with TLS 1.3 a client hears of it when it reads
            with pytest.raises((ssl.SSLError, ConnectionResetError, BrokenPipeError)):
                with connect(made.port, context) as sock:
                    sock.sendall(b"GET /sandbox/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    sock.recv(1)


def cli(server, authority, *args, ca=True, **kw):
    env = {"III_AUTH_TOKEN": TOKEN, "III_URL": f"wss://localhost:{server.engine_port}"}
    if ca:
        env["III_CA_CERT"] = authority.cert
    return harness.run_cli(*args, env={**env, **kw.pop("env", {})}, **kw)


def test_our_own_clients_show_a_certificate(authority, tmp_path):
    """The command line, and a server that joins another: III_CLIENT_CERT and III_CLIENT_KEY."""
    friends, strangers = certs.Authority(tmp_path / "friends", "friends"), certs.Authority(tmp_path / "strangers", "strangers")
    shown, stranger = [dict(zip(("III_CLIENT_CERT", "III_CLIENT_KEY"), a.issue("caller"))) for a in (friends, strangers)]
    cert, key = authority.issue("wants certificates")
    flags = ["--tls-cert", cert, "--tls-key", key, "--tls-client-ca", str(friends.cert), "--auth-token", TOKEN]
    with harness.Server(flags=flags) as made:
        assert cli(made, authority, "trigger", "engine::workers::list", env=shown).returncode == 0
        for env in ({}, stranger):
            done = cli(made, authority, "trigger", "engine::workers::list", env=env)
            assert done.returncode == 1 and "III_CLIENT_CERT" in done.stderr, (env, done)
        done = cli(made, authority, "trigger", "engine::workers::list", env={**shown, "III_CLIENT_KEY": tmp_path / "missing.key"})
        assert done.returncode == 1 and "missing.key" in done.stderr, done
        joins = {"III_ENGINE_URL": f"wss://localhost:{made.engine_port}", "III_ENGINE_TOKEN": TOKEN, "III_CA_CERT": authority.cert}

        def joined():
            known = json.loads(cli(made, authority, "trigger", "engine::workers::list", env=shown).stdout)["workers"]
            return [w for w in known if w["name"] == "iii-sandbox" and w["ip_address"]]
        with harness.Server(env={**joins, **shown}):
            wait_until(joined, "the server with a certificate has joined")
        wait_until(lambda: not joined(), "it has left")
        with harness.Server(env={**joins, **stranger, "III_LOG_LEVEL": "debug"}) as refused:
            wait_until(lambda: "engine.outside_lost" in refused.log(), "the other one is refused")
            assert not joined()


def test_command_line_over_wss(server, authority, box, tmp_path):
    done = cli(server, authority, "trigger", "engine::functions::list")
    assert done.returncode == 0 and "sandbox::create" in done.stdout, done
    done = cli(server, authority, "sandbox", "run", "python", "--", "echo", "through the door")
    assert done.stdout == "through the door\n" and done.returncode == 0, done
    sid = cli(server, authority, "sandbox", "create", "python").stdout.strip()
    data = random.Random(8).randbytes(5_000_000)
    (tmp_path / "in").write_bytes(data)
    done = cli(server, authority, "sandbox", "upload", sid, tmp_path / "in", "/tmp/there")
    assert done.returncode == 0, done
    done = cli(server, authority, "sandbox", "download", sid, "/tmp/there", tmp_path / "out")
    assert done.returncode == 0 and (tmp_path / "out").read_bytes() == data
    flags = ["--address", f"https://127.0.0.1:{server.engine_port}", "--ca-cert", str(authority.cert)]
    done = cli(server, authority, "sandbox", "stop", sid, *flags, ca=False, env={"III_URL": ""})
    assert done.returncode == 0, done


def test_mcp_over_https(server, authority, box, client):
    url = f"https://localhost:{server.port}"
    with mcpclient.Stdio(url, env={"III_SANDBOX_TOKEN": TOKEN, "III_CA_CERT": authority.cert}) as mcp:
        mcp.initialize()
        assert mcp.text("sandbox_exec", sandboxId=box, command="echo through the door") == "through the door\n"
    with mcpclient.Stdio(url, "--token", TOKEN) as mcp:
        mcp.initialize()
        refused = mcp.tool("sandbox_list")
        assert refused["isError"] and "certificate" in refused["content"][0]["text"], refused
    hello = mcpclient.request("initialize", {"protocolVersion": mcpclient.VERSION})
    client.prefix = ""
    assert client.call("POST", "/mcp", hello).headers["mcp-session-id"].startswith("mcp_")


def test_the_command_line_says_what_is_wrong(server, authority, tmp_path):
    done = cli(server, authority, "sandbox", "list", ca=False)
    assert done.returncode == 1 and "certificate is not accepted" in done.stderr and "--ca-cert" in done.stderr, done
    other = certs.Authority(tmp_path / "other")
    done = cli(server, authority, "sandbox", "list", "--ca-cert", other.cert)
    assert done.returncode == 1 and "--ca-cert" in done.stderr, done
    done = cli(server, authority, "sandbox", "list", env={"III_CA_CERT": tmp_path / "missing"})
    assert done.returncode == 1 and "missing: No such file" in done.stderr, done
    done = cli(server, authority, "sandbox", "list", env={"III_URL": f"ws://localhost:{server.engine_port}"})
    assert done.returncode == 1 and "TLS required" in done.stderr, done
    done = cli(server, authority, "sandbox", "list", env={"III_URL": "ftp://localhost"})
    assert done.returncode == 2 and "is not an address" in done.stderr, done
    done = cli(server, authority, "sandbox", "list", "--address", f"wss://127.0.0.2:{server.engine_port}")
    assert done.returncode == 1, done


def test_a_certificate_for_another_name(authority):
    cert, key = authority.issue("elsewhere", alt="DNS:elsewhere.example")
    with harness.Server(flags=["--tls-cert", cert, "--tls-key", key, "--auth-token", TOKEN]) as made:
        done = cli(made, authority, "sandbox", "list")
        assert done.returncode == 1 and "name or address that the certificate bears" in done.stderr, done


def test_a_plain_engine_is_named(authority):
    with harness.Server() as made:
        done = cli(made, authority, "sandbox", "list")
        assert done.returncode == 1 and "does not speak TLS" in done.stderr, done


def test_joining_an_engine_over_wss(server, authority, trust):
    """A second server is a worker of the first, over TLS."""
    env = {"III_ENGINE_URL": f"wss://localhost:{server.engine_port}", "III_ENGINE_TOKEN": TOKEN, "III_CA_CERT": authority.cert}
    with harness.Server(env=env):
        worker = SecureWorker(server.engine_port, trust)
        wait_until(lambda: any(w.get("name") == "iii-sandbox" and w.get("runtime") == "c" for w in
                               worker.answer_to(worker.ask("engine::workers::list"))["workers"]), "the worker")
        worker.ws.cut()


class Collector(http.server.BaseHTTPRequestHandler):
    """Counts the bytes of what is posted."""

    def do_POST(self):
        self.server.seen.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


def test_spans_go_to_a_collector_over_https(authority):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.issue("collector"))
    collector = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    collector.socket = context.wrap_socket(collector.socket, server_side=True)
    collector.seen = []
    threading.Thread(target=collector.serve_forever, daemon=True).start()
    try:
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"https://localhost:{collector.server_port}", "III_CA_CERT": authority.cert}
        with harness.Server(env=env) as made:
            made.client().ok("GET", "/health")
            wait_until(lambda: collector.seen, "a span")
    finally:
        collector.shutdown()
        collector.server_close()


def start_fails(tmp_path, *flags):
    done = harness.run_cli("serve", "--port", 0, "--engine-port", 0, "--data-dir", tmp_path / "data", *flags)
    assert done.returncode == 1, done
    return done.stderr


def test_bad_files_are_named(authority, tmp_path):
    cert, key = authority.issue("good")
    other = certs.new_key(tmp_path / "other.key")
    empty, locked, everybody = tmp_path / "empty.pem", tmp_path / "locked.key", tmp_path / "open.key"
    empty.write_text("")
    certs.openssl("ec", "-in", key, "-aes128", "-passout", "pass:x", "-out", locked)
    locked.chmod(0o600)
    shutil.copy(key, everybody)
    everybody.chmod(0o644)
    cases = [
        ((tmp_path / "missing.pem", key), "missing.pem: No such file"), ((cert, tmp_path / "missing.key"), "missing.key: No such file"),
        ((tmp_path, key), f"{tmp_path}: not a plain file"), ((empty, key), "empty.pem: no certificate in PEM"),
        ((cert, cert), "no private key in PEM"), ((cert, other), "other.key: it does not belong to the certificate"),
        ((cert, locked), "locked.key: it is encrypted"), ((cert, everybody), "open.key: every user can read"),
    ]
    for (c, k), reason in cases:
        if c == k:
            os.chmod(c, 0o600)
        assert reason in start_fails(tmp_path, "--tls-cert", c, "--tls-key", k)
    assert "missing.ca: No such file" in start_fails(tmp_path, "--tls-cert", cert, "--tls-key", key, "--tls-client-ca", tmp_path / "missing.ca")
    assert "--tls-key is missing" in start_fails(tmp_path, "--tls-cert", cert)
    assert "--tls-cert is missing" in start_fails(tmp_path, "--tls-key", key)


def test_an_expired_certificate_is_a_warning(authority):
    cert, key = authority.issue("old", days=-1)
    with harness.Server(flags=["--tls-cert", cert, "--tls-key", key]) as made:
        assert "has expired" in made.log()
        context = ssl.create_default_context(cafile=authority.cert)
        with pytest.raises(ssl.SSLCertVerificationError):
            connect(made.port, context)


def test_a_killed_server_leaves_no_door(authority):
    cert, key = authority.issue("short")
    made = harness.Server(flags=["--tls-cert", cert, "--tls-key", key]).start()
    try:
        (pid,) = doors(made)
        made.kill()
        wait_until(lambda: leak.stat_fields(pid) is None, "the door to end with its server")
    finally:
        made.remove()


def test_a_handshake_has_a_deadline(slow_peer):
    assert slow_peer.recv(1) == b""
