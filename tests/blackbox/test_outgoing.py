"""Where the server itself connects to: a user names registries, and a registry names token services and redirects. None of them may
lead the server to this host, to private networks or to metadata services, unless the operator has listed the host."""
import contextlib
import selectors
import socket
import threading

import pytest

import harness
import inside
import registries
from test_registry_rules import FakeRegistry, image_parts

TOKEN = "root-secret"
SERVER_ENV = {"III_AUTH_TOKEN": TOKEN, "III_PULL": "missing"}
SECRET = "internal-credential-7f3a"


class Trap:
    """Listens on loopback and counts connections; to every request it answers a secret."""

    def __init__(self):
        self.listener, self.count = socket.create_server(("127.0.0.1", 0)), 0
        self.wake, self.woken = socket.socketpair()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    @property
    def host(self):
        return f"127.0.0.1:{self.listener.getsockname()[1]}"

    def run(self):
        answer = b'{"token":"%s","access_token":"%s"}' % (SECRET.encode(), SECRET.encode())
        with selectors.DefaultSelector() as ready:
            ready.register(self.listener, selectors.EVENT_READ)
            ready.register(self.woken, selectors.EVENT_READ)
            while not any(key.fileobj is self.woken for key, _ in ready.select()):
                with self.listener.accept()[0] as sock:
                    self.count += 1
                    with contextlib.suppress(OSError):
                        sock.settimeout(harness.DEADLINE_S)
                        sock.recv(65536)
                        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer)

    def close(self):
        self.wake.send(b"x")
        self.thread.join()
        for sock in (self.wake, self.woken, self.listener):
            sock.close()


@pytest.fixture
def trap():
    made = Trap()
    yield made
    made.close()


@pytest.fixture
def fake():
    made = FakeRegistry(image_parts())
    yield made
    made.close()


def user(server):
    return server.client(server.client().ok("POST", "/tokens", {"name": "someone", "tenant": "someone"})["secret"])


@pytest.fixture(scope="module")
def someone(server):
    return user(server)


def refusal(client, image):
    """The error of a pull, without what the caller said."""
    reply = client.post("/images/pull", {"image": image})
    assert reply.status in (403, 404, 502), reply
    assert SECRET not in reply.error
    return reply.status, reply.error.replace(image.split("/")[0], "HOST").replace(image.split("/", 1)[1], "NAME")


@harness.needs("imageStore")
def test_a_pull_reaches_nothing_on_this_host(someone, trap):
    port = trap.host.split(":")[1]
    answers = {refusal(someone, f"{host}:{port}/x/tok:1") for host in ("127.0.0.1", "localhost", "127.0.0.2", "2130706433", "0x7f000001")}
    answers.add(refusal(someone, f"127.0.0.1:{registries.free_port()}/x/tok:1"))  # nobody listens: the answer is the same
    answers |= {refusal(someone, f"{host}/x/tok:1") for host in ("169.254.169.254", "10.0.0.1", "192.168.0.1:8443", "100.64.0.1", "172.16.9.9", "0.0.0.0")}
    assert len(answers) == 1 and "cannot be reached, or is not allowed" in answers.pop()[1]
    assert trap.count == 0


@harness.needs("imageStore")
def test_token_services_and_redirects_are_judged_too(fake, trap):
    """The operator lists one registry; that does not list where it sends the server."""
    other, name = f"http://{trap.host}/internal/creds", f"{fake.host}/a/b:v1"
    with harness.Server(env={**SERVER_ENV, "III_PRIVATE_REGISTRIES": fake.host}, token=TOKEN) as server:
        client = user(server)
        fake.rules[:] = [lambda request: request.send(401, WWW_Authenticate=f'Bearer realm="{other}",service="s"') or True]
        refusal(client, name)
        for status in (302, 307):
            fake.rules[:] = [lambda request, status=status: request.send(status, Location=other) or True]
            refusal(client, name)
        fake.rules[:] = [lambda request: "blobs" in request.path and (request.send(307, Location=other) or True)]
        refusal(client, name)
        assert trap.count == 0 and all(SECRET not in str(headers) for _, headers in fake.seen)
        fake.rules.clear()
        assert client.post("/images/pull", {"image": name}).status == 200


@harness.needs("imageStore")
def test_errors_repeat_nothing_that_was_sent(fake):
    with harness.Server(env={**SERVER_ENV, **registries.LISTED}, token=TOKEN) as server:
        client = user(server)
        for body in (SECRET.encode(), b'{"%s": ' % SECRET.encode(), b'{"schemaVersion": 2, "mediaType": "%s"}' % SECRET.encode()):
            for status in (200, 400, 403, 418):
                fake.rules[:] = [lambda request, status=status, body=body: request.send(status, body) or True]
                refusal(client, f"{fake.host}/a/b:v1")


@harness.needs("imageStore")
def test_own_ports_and_metadata_are_closed_even_when_listed():
    """A sandbox without network serves a registry on an exposed port, and the operator listed all of loopback."""
    listed = "127.0.0.0/8:*,localhost:*,169.254.0.0/16:*"
    with harness.Server(env={**SERVER_ENV, "III_PRIVATE_REGISTRIES": listed}, token=TOKEN) as server:
        client = user(server)
        sid = client.create()["id"]
        inside.start(client, sid, inside.TCP_ECHO, 7000)
        exposed = inside.expose(client, sid, 7000)["hostPort"]
        texts = {refusal(client, f"{host}/x/tok:1")[1] for host in (f"127.0.0.1:{exposed}", f"localhost:{exposed}", f"127.0.0.1:{server.port}",
                                                                    f"127.0.0.1:{server.engine_port}", "169.254.169.254")}
        assert len(texts) == 1 and "is not allowed" in texts.pop()


def test_a_list_that_is_not_one_stops_the_start(tmp_path):
    for name, value in (("III_PRIVATE_REGISTRIES", "http://x"), ("III_PLAIN_REGISTRIES", "a:b"), ("III_PORT_RANGE", "9-8"), ("III_GATEWAY_PORTS", "x")):
        done = harness.run_cli("serve", "--port", "0", "--engine-port", "0", "--data-dir", tmp_path / "data", env={name: value})
        assert done.returncode == 1 and name in done.stderr, done.stderr
