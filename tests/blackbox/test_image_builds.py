"""`POST /images/build` and `iii build`: the context as the body, the log as a stream, each RUN in a sandbox of the caller's tenant."""
import contextlib
import gzip
import http.client
import io
import json
import os
import subprocess
import tarfile
import urllib.parse

import pytest

import engineclient
import harness
import images
from test_content_formats import Functions

pytestmark = harness.needs("imageStore", "layers")
TOKEN = "of-the-operator"
MIB = 1 << 20
SMALL = "FROM shell\nCOPY note /\n"


def context(files, dockerfile=None):
    entries = [images.entry("Dockerfile", dockerfile.encode())] if dockerfile is not None else []
    return images.pack(entries + [entry if isinstance(entry, tuple) else images.entry(name, entry) for name, entry in files.items()])


def address(**query):
    given = {name: json.dumps(value) if isinstance(value, (dict, bool)) else value for name, value in query.items()}
    return "/images/build?" + urllib.parse.urlencode(given)


def build(client, body, **query):
    return client.call("POST", address(**query), body, {"Content-Type": "application/x-tar"})


def log_of(client, body, **query):
    """The events of a build."""
    answer = client.open("POST", address(**query), body, {"Content-Type": "application/x-tar", "Accept": "text/event-stream"})
    text = answer.read().decode()
    assert answer.status == 200 and answer.getheader("Content-Type").startswith("text/event-stream"), text
    return [json.loads(line[6:]) for line in text.split("\n") if line.startswith("data: ")]


def built(client, body, **query):
    events = log_of(client, body, **query)
    assert events[-1]["type"] == "done", events
    return events


def failed(client, body, **query):
    events = log_of(client, body, **query)
    assert events[-1]["type"] == "error", events
    return events[-1]["error"]


def text_of(events, kind):
    return "".join(event["data"] for event in events if event["type"] == kind)


def run_in(client, image, command):
    sid = client.create(image=image)["id"]
    try:
        return client.exec(sid, command)["stdout"]
    finally:
        client.delete(f"/sandboxes/{sid}")


def nothing_runs(client):
    harness.wait_until(lambda: client.get("/sandboxes").json()["items"] == [], "the sandboxes of steps are gone")


def scratch_is_empty(server):
    harness.wait_until(lambda: not list((server.data_dir / "images" / "tmp").iterdir()), "no unpacked context is left")


STAGES = """\
FROM shell AS first
ARG VERSION=1
RUN echo "version $VERSION" | tee /made; echo aside >&2; printf '\\342\\202'; sleep 0; printf '\\254\\n'
FROM first AS second
COPY note sub/*.txt /in/
RUN cat /in/note
"""
FILES = {"note": b"noted", "sub/a.txt": b"a", "sub/b.log": b"b", ".dockerignore": b"*.log\n"}


def test_a_log_and_an_image(client):
    events = built(client, context(FILES, STAGES), name="whole", buildArgs={"VERSION": "7"})
    assert [event["text"].split()[0] for event in events if event["type"] == "step"] == ["FROM", "ARG", "RUN", "FROM", "COPY", "RUN"]
    assert [(event["step"], event["steps"], event["line"]) for event in events if event["type"] == "step"][-1] == (6, 6, 6)
    assert text_of(events, "stdout") == "version 7\n\u20ac\nnoted" and text_of(events, "stderr") == "aside\n"
    made = events[-1]["image"]
    assert made["name"] == "whole" and made["id"].startswith("sha256:") and made["source"] == "layer"
    assert made["name"] in [row["name"] for row in client.get("/images").json()["images"]]
    assert run_in(client, "whole", "cat /made; ls /in") == "version 7\na.txt\nnote\n"
    details = client.ok("GET", "/images/inspect?name=whole")
    assert [set(layer) for layer in details["layers"]] == [{"digest", "size"}] * made["layers"] and details["size"] == made["size"]
    assert [entry["created_by"].split()[0] for entry in details["config"]["history"]][-2:] == ["COPY", "RUN"]
    again = built(client, context(FILES, STAGES), name="again", buildArgs={"VERSION": "7"})
    assert [event["type"] for event in again].count("cached") == 3 and again[-1]["image"]["id"] == made["id"]
    fresh = built(client, context(FILES, STAGES), name="again", buildArgs={"VERSION": "7"}, noCache=True, memory=128)
    assert "cached" not in [event["type"] for event in fresh]
    first = build(client, context(FILES, STAGES), name="first", target="FIRST", buildArgs={"VERSION": "7"})
    assert first.status == 200 and first.json()["layers"] < made["layers"], first
    assert client.call("DELETE", "/images?name=first").status == 200
    nothing_runs(client)


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_packed_contexts_and_a_dockerfile_elsewhere(client, pack):
    files = {"docker/Build": b"FROM scratch\nCOPY note /note\n", **FILES}
    made = build(client, pack(context(files)), name="packed", dockerfile="docker/Build")
    assert made.status == 200, made


@pytest.mark.parametrize("body, status, says", [
    (b"", 400, "context"), (b"no archive" * 99, 400, "context"), (context(FILES, STAGES)[:1500], 400, "context"), (gzip.compress(context(FILES, STAGES))[:-200], 400, "context"),
    (context(FILES), 404, "Dockerfile in the context"), (context(FILES, "FROM shell\nBOIL x\n"), 400, 'Dockerfile line 2: "BOIL" is not supported'),
    (context(FILES, "FROM shell\nCOPY none /\n"), 404, "Dockerfile line 2: COPY: none: no such file"),
    (context(FILES, "FROM shell\nRUN exit 3\n"), 400, "Dockerfile line 2: RUN: the command exited with code 3"),
    (context(FILES, "FROM shell\nCOPY <<../../../x /\nx\n../../../x\n"), 400, "is not a path in the image"),
    (context(FILES, "FROM no-such-image\n"), 404, "Dockerfile line 1: FROM: "),
    (context({"up": images.entry("../up")}, SMALL), 400, 'a name with ".." is refused'), (context({"abs": images.entry("/abs")}, SMALL), 400, "context: "),
    (context({"d": images.entry("d", kind=tarfile.SYMTYPE, link="/tmp"), "f": images.entry("d/f", b"x")}, SMALL), 400, "its folder is a link"),
    (context({"h": images.entry("h", kind=tarfile.LNKTYPE, link="../../../state.db")}, SMALL), 400, "hard link"),
], ids=lambda value: "context" if isinstance(value, bytes) else str(value))
def test_a_context_that_is_refused(server, client, body, status, says):
    answer = build(client, body, name="refused")
    assert answer.status == status and says in answer.error, answer
    assert "refused" not in [row["name"] for row in client.get("/images").json()["images"]]
    nothing_runs(client)
    scratch_is_empty(server)


def test_links_of_the_context_lead_nowhere(server, client, tmp_path):
    (tmp_path / "secret").write_text("of the host")
    link = images.entry("Dockerfile", kind=tarfile.SYMTYPE, link=str(tmp_path / "secret"))
    answer = build(client, context({"x": link}), name="refused")
    assert answer.status == 404 and "of the host" not in answer.error, answer
    files = {"leak": images.entry("leak", kind=tarfile.SYMTYPE, link=str(tmp_path)), "null": images.entry("null", kind=tarfile.CHRTYPE), "note": b"n"}
    events = built(client, context(files, "FROM shell\nCOPY . /in\nCOPY note /in/leak/\nRUN ls -l /in; test ! -e /in/null\n"), name="links")
    assert f"leak -> {tmp_path}" in text_of(events, "stdout")
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]


@pytest.mark.parametrize("query, says", [({}, "name"), ({"name": "../x"}, "name"), ({"name": "x", "memory": 1}, "memory"), ({"name": "x", "buildArgs": "1"}, "buildArgs"),
                                         ({"name": "build-cache/x"}, "build-cache/")])
def test_options_that_are_refused(client, query, says):
    answer = build(client, context(FILES, SMALL), **query)
    assert answer.status == 400 and says in answer.error, answer


@contextlib.contextmanager
def going(server, dockerfile, until, token=None):
    """A build whose log is read up to the event that until() accepts; its connection is closed at the end."""
    conn = http.client.HTTPConnection("127.0.0.1", server.port, timeout=harness.DEADLINE_S)
    headers = {"Accept": "text/event-stream", **({"Authorization": f"Bearer {token}"} if token else {})}
    conn.request("POST", harness.PREFIX + address(name="going"), context(FILES, dockerfile), headers)
    answer = conn.getresponse()
    try:
        for line in answer:
            if line.startswith(b"data: ") and until(json.loads(line[6:])):
                break
        else:
            raise AssertionError("the build ended")
        yield
    finally:
        answer.close()
        conn.close()


@pytest.mark.parametrize("dockerfile, until", [
    ("FROM shell\nRUN echo begun; sleep 600\n", lambda event: event["type"] == "stdout"),
    ("FROM shell\nRUN truncate -s 4T /big\nFROM scratch\nCOPY --from=0 /big /big\n", lambda event: event["type"] == "step" and event["step"] == 4),
])
def test_a_client_that_leaves_ends_its_build(server, client, dockerfile, until):
    with going(server, dockerfile, until):
        assert len(list((server.data_dir / "images" / "tmp").iterdir())) > 0
    nothing_runs(client)
    scratch_is_empty(server)
    assert "going" not in [row["name"] for row in client.get("/images").json()["images"]]


@contextlib.contextmanager
def uploading(server, token, n):
    """A build that waits for the rest of its context, as the one of this number."""
    conn = http.client.HTTPConnection("127.0.0.1", server.port, timeout=harness.DEADLINE_S)
    conn.putrequest("POST", harness.PREFIX + address(name="slow"))
    conn.putheader("Authorization", f"Bearer {token}")
    body = context({"big": bytes(4 * MIB)}, SMALL)
    conn.putheader("Content-Length", str(len(body)))
    conn.endheaders(body[:MIB])
    try:
        harness.wait_until(lambda: len(list((server.data_dir / "images" / "tmp").iterdir())) >= n, "it has begun")
        yield
    finally:
        conn.close()


def user(client, tenant, **fields):
    return client.ok("POST", "/tokens", {"name": f"of {tenant}", "role": "user", "tenant": tenant, **fields})["secret"]


def test_tenants_have_shares_images_and_quotas_of_their_own():
    with harness.Server(env={"III_AUTH_TOKEN": TOKEN, "III_MAX_BUILDS": "3", "III_BUILD_CONTEXT_MB": "8", "III_ALLOWED_IMAGES": "shell,of-a"}, token=TOKEN) as server, server.client() as admin:
        one, two = user(admin, "a"), user(admin, "b")
        a, b = server.client(one), server.client(two)
        dockerfile = "FROM shell\nRUN head -c 16 /dev/urandom >/random\n"
        made = built(a, context({}, dockerfile), name="of-a")
        assert "of-a" in [row["name"] for row in a.get("/images").json()["images"]]
        assert "of-a" not in [row["name"] for row in b.get("/images").json()["images"]]
        assert "cached" in [event["type"] for event in built(a, context({}, dockerfile), name="of-a")]
        assert b.get("/images/inspect?name=of-a").status == 404
        other = built(b, context({}, dockerfile), name="of-b")  # neither the cache of another tenant ...
        assert "cached" not in [event["type"] for event in other] and other[-1]["image"]["id"] != made[-1]["image"]["id"]
        assert "FROM: image" in failed(b, context({}, "FROM of-a\nRUN true\n"), name="of-b")  # ... nor its images
        assert "COPY: image" in failed(b, context({}, "FROM shell\nCOPY --from=of-a /random /\n"), name="of-b")
        assert "III_ALLOWED_IMAGES" in failed(b, context({}, "FROM node\nRUN true\n"), name="of-b")
        assert build(server.client(admin.ok("POST", "/tokens", {"name": "r", "role": "read-only", "tenant": "a"})["secret"]), b"", name="x").status == 403
        head = f"POST {harness.PREFIX}{address(name='x')} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {one}\r\nConnection: close\r\n".encode()
        large = harness.raw(server.port, head + b"Content-Length: 9000000\r\nExpect: 100-continue\r\n\r\n")
        assert large.startswith(b"HTTP/1.1 413") and b"III_BUILD_CONTEXT_MB" in large and b"100 Continue" not in large, large

        scratch_is_empty(server)
        with uploading(server, one, 1), uploading(server, one, 2):
            busy = build(a, context(FILES, SMALL), name="x")
            assert busy.status == 503 and "of one tenant" in busy.error, busy
            with uploading(server, two, 3):
                full = build(b, context(FILES, SMALL), name="x")
                assert full.status == 503 and "limit of 3 concurrent builds reached" in full.error, full
        harness.wait_until(lambda: build(a, context(FILES, SMALL), name="x").status == 200, "builds whose clients left count no more")

        small = server.client(user(admin, "c", quota={"diskMb": 20}))
        big = {"f": os.urandom(6 * MIB)}
        for i in range(2):
            built(small, context(big, f"FROM shell\nCOPY f /f{i}\n"), name=f"i{i}")
        says = failed(small, context(big, "FROM shell\nCOPY f /f3\nCOPY f /f4\nCOPY f /f5\n"), name="i3")
        assert "diskMb" in says or "III_IMAGE_MAX_BYTES" in says, says
        links = [images.entry("l/0", os.urandom(MIB // 2))] + [images.entry(f"l/{i}", kind=tarfile.LNKTYPE, link="l/0") for i in range(1, 100)]
        for each in (a, b, small):
            nothing_runs(each)
            each.close()
        fourth = server.client(user(admin, "d", quota={"diskMb": 10}))
        body = images.pack([images.entry("Dockerfile", b"FROM scratch\nCOPY l /l\n"), *links])
        built(fourth, body, name="linked")
        on_disk = {(s.st_dev, s.st_ino): s.st_size for path in (server.data_dir / "images" / "layers").glob("*/l/*") for s in [path.stat()]}
        assert list(on_disk.values()) == [MIB // 2]
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it may answer before all is sent
            large = build(a, iter([context({"f": bytes(9 * MIB)})]), name="x")  # its length is not announced
            assert large.status == 413 and "III_BUILD_CONTEXT_MB" in large.error, large


def test_no_builds():
    with harness.Server(env={"III_MAX_BUILDS": "0"}) as server, server.client() as client:
        answer = build(client, context(FILES, SMALL), name="x")
        assert answer.status == 403 and "III_MAX_BUILDS" in answer.error, answer


def test_a_name_that_needs_a_signature():
    policy = {"signatures": [{"images": ["signed/*"], "keys": [subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout"], stdout=subprocess.PIPE, check=True).stdout]}]}
    policy["signatures"][0]["keys"] = [subprocess.run(["openssl", "ec", "-pubout"], input=policy["signatures"][0]["keys"][0], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout.decode()]
    with harness.Server(env={"III_IMAGE_POLICY": json.dumps(policy)}) as server, server.client() as client:
        answer = build(client, context(FILES, SMALL), name="signed/x")
        assert answer.status == 403 and "signature" in answer.error, answer


def test_over_the_engine(server, client):
    functions = Functions(server.engine_port)
    try:
        pair = functions.worker.channel()
        asked = functions.worker.ask("image::build", {"name": "by-engine", "content": pair["reader"]})
        end = engineclient.open_channel(functions.port, pair["writer"])
        end.send(context(FILES, SMALL))
        end.close()
        assert functions.answer(asked)["name"] == "by-engine"
    finally:
        functions.worker.close()
    assert run_in(client, "by-engine", "cat /note") == "noted"


def cli(server, *args):
    return harness.run_cli("build", "--server", f"http://127.0.0.1:{server.port}", *args)


def test_the_command(server, client, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "kept").write_text("kept")
    (tmp_path / "big.log").write_bytes(bytes(MIB))
    (tmp_path / ".dockerignore").write_text("*.log\ndocker\n")
    (tmp_path / "docker").mkdir()
    (tmp_path / "docker" / "File").write_text("FROM shell\nARG WHO\nCOPY . /c\nRUN ls -A /c; echo \"for $WHO\"; printf '\\033[2J'\n")
    done = cli(server, "-t", "by-cli", "-f", tmp_path / "docker" / "File", "--build-arg", "WHO=me", "-m", "128m", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "step 4/4: RUN ls" in done.stderr and ".dockerignore\nsub\nfor me\n?[2J" in done.stderr, done.stderr
    assert "by-cli" in done.stdout
    assert run_in(client, "by-cli", "cat /c/sub/kept") == "kept"
    again = harness.run_cli("build", "--url", f"http://127.0.0.1:{server.port}", "-t", "by-cli", "-f", tmp_path / "docker" / "File", "--build-arg", "WHO=me", "--json", tmp_path)
    assert again.returncode == 0 and again.stderr.count("from the cache") == 2 and json.loads(again.stdout)["name"] == "by-cli", again.stderr
    (tmp_path / "Dockerfile").write_text("FROM shell\nRUN exit 4\n")
    lost = cli(server, "-t", "lost", tmp_path)
    assert lost.returncode == 1 and "Dockerfile line 2: RUN: the command exited with code 4" in lost.stderr
    (tmp_path / ".dockerignore").unlink()
    assert cli(server, "-t", "x", "--target", "none", tmp_path).returncode == 1
    assert cli(server, tmp_path).returncode == 2 and cli(server, "-t", "x", "--build-arg", "A", tmp_path).returncode == 2
    assert cli(server, "-t", "x", tmp_path / "none").returncode == 1
    assert cli(server, "-t", "x", "-f", "/etc/passwd", tmp_path).returncode == 1
