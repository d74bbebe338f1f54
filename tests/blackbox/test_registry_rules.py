"""What a pull does when a registry is slow, broken, strict or hostile: against a registry made here that can be all of it."""
import base64
import http.server
import json
import os
import re
import threading

import pytest

import harness
import images
import registries

MANIFEST = "application/vnd.oci.image.manifest.v1+json"


class Fake(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send(self, status, body=b"", **headers):
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        me = self.server
        me.seen.append((self.path, dict(self.headers)))
        for rule in list(me.rules):
            if rule(self):
                return
        found = re.fullmatch(r"/v2/a/b/(manifests|blobs)/(\S+)", self.path)
        data = me.parts.get(found[2]) if found else None
        if data is None:
            self.send(404)
            return
        ranged = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if ranged:
            start = int(ranged[1])
            self.send(206, data[start:], Content_Range=f"bytes {start}-{len(data) - 1}/{len(data)}")
        else:
            self.send(200, data)

    do_POST = do_GET


class FakeRegistry(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, parts):
        super().__init__(("127.0.0.1", 0), Fake)
        self.parts, self.rules, self.seen = dict(parts), [], []
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()

    def handle_error(self, *_):
        pass  # clients that hang up, and TLS hellos: part of the game

    @property
    def host(self):
        return f"127.0.0.1:{self.server_port}"

    def close(self):
        self.shutdown()
        self.thread.join()
        self.server_close()


def descriptor(data, kind):
    return {"mediaType": kind, "digest": "sha256:" + images.sha(data), "size": len(data)}


def image_parts(change=None):
    """{tag or digest: bytes} of a small image; change(manifest, config) may spoil it."""
    layers = [images.pack([images.entry("one", b"1" * 300_000)]), images.pack([images.entry("two", b"2" * 100_000)])]
    config = {"architecture": "amd64", "os": "linux", "config": {}, "rootfs": {"type": "layers", "diff_ids": ["sha256:" + images.sha(t) for t in layers]}}
    manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "layers": [descriptor(t, "application/vnd.oci.image.layer.v1.tar") for t in layers]}
    if change:
        change(manifest, config)
    packed = json.dumps(config).encode()
    manifest["config"] = {**descriptor(packed, "application/vnd.oci.image.config.v1+json"), **manifest.get("config", {})}
    text = json.dumps(manifest).encode()
    return {"v1": text, "sha256:" + images.sha(text): text, **{"sha256:" + images.sha(b): b for b in [packed, *layers]}}


@pytest.fixture
def fake():
    made = FakeRegistry(image_parts())
    yield made
    made.close()


@pytest.fixture
def store(tmp_path):
    def run(*args, **env):
        return harness.run_cli("image", *args, env={"III_DATA_DIR": tmp_path / "data", "HOME": tmp_path, **env})
    run.folder, run.home = tmp_path / "data" / "images", tmp_path
    return run


def assert_pulls(store, name, **env):
    done = store("pull", name, **env)
    assert done.returncode == 0, done.stderr
    assert json.loads(store("fsck", "--json").stdout) == {"records": 1, "layers": 2, "partial": 0, "problems": []}


def once(status, what, **headers):
    """Answers the first request whose path has `what` in it with status."""
    done = []

    def rule(request):
        if what not in request.path or done:
            return False
        done.append(1)
        request.send(status, b"later", **headers)
        return True
    return rule


@pytest.mark.parametrize("what", ["manifests", "blobs"])
def test_failures_that_pass_are_tried_again(store, fake, what):
    fake.rules += [once(503, what), once(500, what), once(429, what, Retry_After="1")]
    assert_pulls(store, f"{fake.host}/a/b:v1")


def test_a_long_retry_after_is_not_waited_for(store, fake):
    fake.rules.append(once(429, "manifests", Retry_After="4000"))
    done = store("pull", f"{fake.host}/a/b:v1")
    assert done.returncode == 1 and "4000 seconds" in done.stderr


def cut_blobs(after):
    """Sends `after` bytes of each large blob, then hangs up: one connection gives no more."""
    def rule(request):
        data = request.server.parts.get(request.path.rsplit("/", 1)[1], b"")
        start = int((re.search(r"\d+", request.headers.get("Range", "")) or ["0"])[0])
        if "blobs" not in request.path or len(data) - start <= after:
            return False
        request.send_response(206 if start else 200)
        request.send_header("Content-Length", str(len(data) - start))
        if start:
            request.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        request.end_headers()
        request.wfile.write(data[start:start + after])
        request.close_connection = True
        return True
    return rule


def test_a_cut_download_goes_on_where_it_stood(store, fake):
    fake.rules.append(cut_blobs(90_000))
    assert_pulls(store, f"{fake.host}/a/b:v1")
    ranges = [headers["Range"] for _, headers in fake.seen if "Range" in headers]
    assert any(int(r[6:-1]) >= 90_000 for r in ranges)


def test_a_registry_that_knows_no_ranges(store, fake):
    def ignore_range(request):
        if "Range" in request.headers:
            del request.headers["Range"]
        return False
    fake.rules += [ignore_range, cut_first_blob()]
    assert_pulls(store, f"{fake.host}/a/b:v1")


def cut_first_blob():
    cut, done = cut_blobs(50_000), []

    def rule(request):
        if len(done) > 1 or not cut(request):
            return False
        done.append(1)
        return True
    return rule


def test_the_next_pull_continues(store, fake):
    """The first ends in failure; what it had is used by the second."""
    gone = []
    fake.rules += [lambda request: gone and "blobs" in request.path and (request.send(410) or True), cut_blobs(150_000),
                   lambda request: "blobs" in request.path and "Range" in request.headers and (gone.append(1) or request.send(410) or True)]
    assert store("pull", f"{fake.host}/a/b:v1").returncode == 1
    assert json.loads(store("fsck", "--json").stdout)["partial"] > 0
    fake.rules.clear()
    fake.seen.clear()
    assert_pulls(store, f"{fake.host}/a/b:v1")
    assert any("Range" in headers for _, headers in fake.seen)


def test_damaged_leftovers_are_noticed(store, fake):
    name = f"{fake.host}/a/b:v1"
    digest = json.loads(fake.parts["v1"])["layers"][0]["digest"]
    assert store("fsck").returncode == 0  # makes the folders
    (store.folder / "partial" / digest[7:]).write_bytes(b"not what it was" * 100)
    assert_pulls(store, name)


def test_bearer_tokens(store, fake):
    fake.token = "t0ken"

    def demand(request):
        if request.path.startswith("/token"):
            fake.asked = request.path, request.headers.get("Authorization")
            request.send(200, json.dumps({"token": fake.token}).encode())
            return True
        if request.headers.get("Authorization") == "Bearer " + fake.token:
            return False
        request.send(401, WWW_Authenticate=f'Bearer realm="http://{fake.host}/token",service="the registry",scope="repository:a/b:pull"')
        return True
    fake.rules.append(demand)
    (store.home / ".docker").mkdir()
    (store.home / ".docker" / "config.json").write_text(json.dumps({"auths": {f"http://{fake.host}/v1/": {"auth": base64.b64encode(b"me:secret").decode()}}}))
    assert_pulls(store, f"{fake.host}/a/b:v1")
    path, sent = fake.asked
    assert "service=the%20registry" in path and "scope=repository%3Aa%2Fb%3Apull" in path
    assert sent == "Basic " + base64.b64encode(b"me:secret").decode()


@pytest.mark.parametrize("challenge, text", [("Digest realm=x", "neither Bearer nor Basic"), ('Bearer realm="file:///etc/passwd"', "not an http or https address"),
                                             ('Bearer realm="http://x', "cut off"), ("Basic realm=x", "docker login")])
def test_challenges_that_cannot_be_met(store, fake, challenge, text):
    fake.rules.append(lambda request: request.send(401, WWW_Authenticate=challenge) or True)
    done = store("pull", f"{fake.host}/a/b:v1")
    assert done.returncode != 0 and text in done.stderr, done.stderr


def test_credentials_stay_with_their_host(store, fake):
    other = FakeRegistry(fake.parts)
    try:
        def rule(request):
            if request.headers.get("Authorization") is None:
                request.send(401, WWW_Authenticate="Basic realm=x")
            elif "blobs" in request.path:
                request.send(307, Location=f"http://{other.host}{request.path}")
            else:
                return False
            return True
        fake.rules.append(rule)
        (store.home / ".docker").mkdir()
        (store.home / ".docker" / "config.json").write_text(json.dumps({"auths": {fake.host: {"username": "me", "password": "secret"}}}))
        assert_pulls(store, f"{fake.host}/a/b:v1", **registries.LISTED)
        assert other.seen and all("Authorization" not in headers for _, headers in other.seen)
    finally:
        other.close()


@pytest.mark.parametrize("target, text", [("/v2/a/b/manifests/v1", "redirects over 5 times"), ("file:///etc/passwd", "not http or https")])
def test_redirects_are_bounded(store, fake, target, text):
    location = target if "://" in target else f"http://{fake.host}{target}"
    fake.rules.append(lambda request: request.send(302, Location=location) or True)
    done = store("pull", f"{fake.host}/a/b:v1")
    assert done.returncode == 1 and text in done.stderr, done.stderr


def spoil_first_layer(manifest, _):
    manifest["layers"][0]["size"] -= 1000


@pytest.mark.parametrize("change, text", [
    (spoil_first_layer, "more than the"),
    (lambda m, c: m["layers"][0].update(size=-1), "without size"),
    (lambda m, c: m["layers"][0].update(digest="sha256:../../etc"), "not sha256"),
    (lambda m, c: m["layers"][0].update(digest="sha512:" + "0" * 128), "not sha256"),
    (lambda m, c: m["layers"].extend(m["layers"] * 200), "layers, 1 to 256"),
    (lambda m, c: m.update(schemaVersion=1), "not of version 2"),
    (lambda m, c: m.update(config={"size": 1 << 40}), "its config has"),
    (lambda m, c: m["layers"][0].update(size=1 << 60), "III_IMAGE_MAX_BYTES"),
    (lambda m, c: c["rootfs"]["diff_ids"].pop(), "its config 1"),
    (lambda m, c: c["rootfs"].update(diff_ids=["sha256:" + "0" * 64] * 2), "the image says"),
    (lambda m, c: c.update(architecture="vax"), "it is for linux/vax"),
])
def test_lying_manifests(store, change, text):
    made = FakeRegistry(image_parts(change))
    try:
        done = store("pull", f"{made.host}/a/b:v1")
        assert done.returncode == (3 if text.startswith("it is for") else 1) and text in done.stderr, done.stderr
        report = json.loads(store("fsck", "--json").stdout)
        assert report["records"] == 0 and report["problems"] == [] and os.listdir(store.folder / "tmp") == []
    finally:
        made.close()


def test_blobs_with_other_bytes(store, fake):
    digest = json.loads(fake.parts["v1"])["layers"][1]["digest"]
    fake.parts[digest] = fake.parts[digest][:-1] + b"x"
    done = store("pull", f"{fake.host}/a/b:v1")
    assert done.returncode == 1 and "is damaged" in done.stderr
    assert json.loads(store("fsck", "--json").stdout)["records"] == 0


def test_a_manifest_without_end(store, fake):
    fake.parts["v1"] = b"[" + b" " * (5 << 20) + b"]"
    done = store("pull", f"{fake.host}/a/b:v1")
    assert done.returncode == 1 and "where that is the limit" in done.stderr


def test_an_index_that_names_itself(store, fake):
    digest = "sha256:" + "0" * 64
    index = json.dumps({"schemaVersion": 2, "manifests": [{"digest": digest, "size": 1, "platform": {"os": "linux", "architecture": "amd64"}}]}).encode()
    fake.parts["v1"] = fake.parts[digest] = index
    done = store("pull", f"{fake.host}/a/b:v1")
    assert done.returncode == 1 and "not the one asked for" in done.stderr


def test_mirrors_come_first_and_may_fail(store, fake):
    broken = FakeRegistry({})
    try:
        mirrors = f"registry.invalid=http://{broken.host},registry.invalid=http://{fake.host},other=x"
        assert_pulls(store, "registry.invalid/a/b:v1", III_REGISTRY_MIRRORS=mirrors)
        assert broken.seen and json.loads(store("inspect", "registry.invalid/a/b:v1").stdout)["registry"] == "registry.invalid"
        bad = store("pull", "registry.invalid/a/b:v2", III_REGISTRY_MIRRORS="nonsense")
        assert bad.returncode == 1 and "HOST=ADDRESS" in bad.stderr
    finally:
        broken.close()


def test_plain_http_must_be_asked_for_beyond_loopback(store, fake):
    """2130706433 leads to loopback but is not written so: it counts as any other host, https only unless it is listed."""
    host = f"2130706433:{fake.server_port}"
    done = store("pull", f"{host}/a/b:v1")
    assert done.returncode == 3 and "cannot be reached" in done.stderr
    assert not fake.seen
    assert store("pull", "--plain-http", f"{host}/a/b:v1").returncode == 0
    assert_pulls(store, f"{host}/a/b:v1", III_PLAIN_REGISTRIES=f"x,{host}")


def test_pulls_wait_for_each_other_and_have_a_limit(fake):
    """One at a time, one more may wait; the third is refused, and the one that waited is done after the first."""
    let_go = threading.Event()
    fake.parts.update({tag: fake.parts["v1"] for tag in ("v2", "v3")})
    fake.rules.append(lambda request: request.path.endswith("/manifests/v1") and not let_go.wait(harness.DEADLINE_S))
    asked = lambda tag: any(path.endswith(f"/manifests/{tag}") for path, _ in fake.seen)  # noqa: E731
    with harness.Server(env={"III_PULL": "missing", "III_MAX_PULLS": "1", "III_PULL_QUEUE": "2", **registries.LISTED}) as server:
        callers = [server.client() for _ in range(3)]
        streams = [caller.open("POST", "/images/pull", {"image": f"{fake.host}/a/b:{tag}"}, {"Accept": "text/event-stream"})
                   for caller, tag in zip(callers, ("v1", "v2"))]
        harness.wait_until(lambda: asked("v1"), "the first pull to ask")
        refused = callers[2].post("/images/pull", {"image": f"{fake.host}/a/b:v3"})
        assert refused.status == 503 and "III_PULL_QUEUE" in refused.error
        assert not asked("v2"), "the second waits"
        let_go.set()
        for stream in streams:
            last = [line for line in stream.read().decode().splitlines() if line.startswith("data: ")][-1]
            assert json.loads(last[6:])["type"] == "done", last
        assert callers[2].post("/images/pull", {"image": f"{fake.host}/a/b:v3"}).status == 200
        for caller in callers:
            caller.close()
