"""`iii image pull` and creates that pull, against a real registry on loopback."""
import base64
import io
import json
import os
import pathlib
import random
import re
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import harness
import images
import registries
from ptykit import Terminal

pytestmark = [pytest.mark.skipif(bool(registries.missing_tools()), reason=f"not installed: {registries.missing_tools()}"),
              harness.needs("imageStore")]
SERVER_ENV = {"III_PULL": "missing", **registries.LISTED}
HERE = pathlib.Path(__file__).resolve().parent


def entry(name, data=b"", kind=tarfile.REGTYPE, mode=0o644, link="", uid=0, mtime=1000, pax=None):
    info = tarfile.TarInfo(name)
    info.size, info.type, info.mode, info.linkname, info.uid, info.gid, info.mtime = len(data), kind, mode, link, uid, uid, mtime
    info.pax_headers = pax or {}
    return info, data


def folder(name, **kw):
    return entry(name, kind=tarfile.DIRTYPE, **{"mode": 0o755, **kw})


def pack(entries):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for info, data in entries:
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def base_layer(sh):
    attribute = {"SCHILY.xattr.user.note": "kept"}
    return pack([folder("bin"), entry("bin/sh", sh, mode=0o4755), folder("etc"), entry("etc/passwd", b"root:x:0:0::/root:/bin/sh\napp:x:7:8::/:/bin/sh\n"),
                 entry("note", b"base\n"), entry("removed", b"x"), folder("tmp", mode=0o1777), folder("data", mode=0o700, uid=7),
                 entry("data/one", b"1", uid=7), entry("data/two", b"2"), folder("opaque"), entry("opaque/old", b"old"),
                 entry("hard", b"linked\n", pax=attribute), entry("hard2", kind=tarfile.LNKTYPE, link="hard"),
                 entry("soft", kind=tarfile.SYMTYPE, link="note"), entry("gr\u00f6\u00dfe", b"utf8"),
                 entry("x" * 120 + "long", b"long name"), folder("gone"), entry("gone/a", b"a")])


def top_layer():
    return pack([entry("note", b"top\n"), entry(".wh.removed"), entry("data/.wh.one"), folder("opaque", mode=0o750), entry("opaque/.wh..wh..opq"),
                 entry("opaque/new", b"new"), entry(".wh.gone"), folder("late"), entry("late/file", b"late", mtime=2000)])


def noise(seed, size):
    return random.Random(seed).randbytes(size)


@pytest.fixture(scope="module")
def sh(tmp_path_factory):
    return images.program(tmp_path_factory.mktemp("program"))


@pytest.fixture(scope="module")
def layout(tmp_path_factory, sh):
    made = registries.Layout(tmp_path_factory.mktemp("layout") / "oci")
    config = {"Env": ["FROM_IMAGE=yes"], "WorkingDir": "/late", "User": "app", "Entrypoint": ["/bin/sh", "wrapped"]}
    base, top = base_layer(sh), top_layer()
    made.add_image("plain", [base, top], config=config)
    made.add_image("mixed", [(base, "+zstd"), (top, ""), (pack([entry("third", b"3")]), "+gzip")])
    made.add_image("mixed-gzip", [base, top, pack([entry("third", b"3")])])
    made.add_image("twenty", [base] + [pack([entry(f"n{i}", b"%d" % i), entry(".wh.n%d" % (i - 1)), folder("d"), entry(f"d/{i}", b"x" * i)])
                                       for i in range(1, 20)])
    made.add_image("foreign", [base], arch="s390x")
    made.add_index("index", {"s390x": made.manifest([pack([entry("wrong", b"")])], arch="s390x"), "amd64": made.manifest([base, top], config=config)})
    made.add_index("none", {"s390x": made.manifest([base], arch="s390x")})
    made.add_image("big", [pack([entry(f"blob{i}", noise(i, 3_000_000)), entry(f"zero{i}", bytes(500_000))]) for i in range(5)] + [base])
    return made


@pytest.fixture(scope="module")
def registry(layout):
    made = registries.Registry()
    try:
        for tag in ("plain", "mixed", "twenty", "foreign", "index", "none", "big"):
            made.push(layout, tag, f"made/{tag}:v1")
        yield made
    finally:
        made.stop()


@pytest.fixture
def store(tmp_path):
    """store(*args, **env) runs `iii image …` on a data folder of its own."""
    def run(*args, **env):
        return harness.run_cli("image", *args, env={"III_DATA_DIR": tmp_path / "data", "HOME": tmp_path, **env})
    run.folder = tmp_path / "data" / "images"
    return run


def assert_clean(store, partial=0):
    report = store("fsck", "--json")
    found = json.loads(report.stdout)
    assert report.returncode == 0 and found["problems"] == [], found
    assert found["partial"] == partial and os.listdir(store.folder / "tmp") == []
    return found


def tree(*args):
    env = {**os.environ, **({"AS_ROOT": "1"} if harness.IS_ROOT else {})}
    argv = [sys.executable, str(HERE / "treelist.py"), *map(str, args)]
    if args[0] == "--overlay":
        argv = ["unshare", "-m" if harness.IS_ROOT else "-Urm", *argv]
    return json.loads(subprocess.run(argv, check=True, capture_output=True, text=True, env=env).stdout)


def pulled_tree(store, name):
    record = json.loads(store("inspect", name).stdout)
    return tree("--overlay", ":".join(str(store.folder / "layers" / layer["digest"]) for layer in reversed(record["layers"])))


@pytest.mark.parametrize("tag", ["plain", "mixed", "twenty", "index"])
def test_the_tree_is_the_one_umoci_unpacks(store, registry, layout, tmp_path, tag):
    name = f"{registry.host}/made/{tag}:v1"
    done = store("pull", name)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(name)
    theirs = tree(layout.unpacked({"index": "plain", "mixed": "mixed-gzip"}.get(tag, tag), tmp_path / "umoci"))
    assert pulled_tree(store, name) == theirs
    assert_clean(store)


def test_pulling_again_downloads_nothing(store, registry):
    name = f"{registry.host}/made/plain:v1"
    first = [json.loads(line) for line in store("pull", "--json", name).stdout.splitlines()]
    again = [json.loads(line) for line in store("pull", "--json", name).stdout.splitlines()]
    assert first[-1]["event"] == again[-1]["event"] == "done"
    assert first[-1]["id"] == again[-1]["id"] and first[-1]["downloaded"] > 0 and again[-1]["downloaded"] == 0
    twenty = [json.loads(line) for line in store("pull", "--json", f"{registry.host}/made/twenty:v1").stdout.splitlines()]
    assert twenty[-1]["layers"] == 20
    assert_clean(store)


def test_by_digest(store, registry, layout):
    digest = next(m["digest"] for m in layout.manifests if m["annotations"]["org.opencontainers.image.ref.name"] == "plain")
    name = f"{registry.host}/made/plain@{digest}"
    assert store("pull", name).returncode == 0
    assert json.loads(store("inspect", name).stdout)["manifest"] == digest
    missing = store("pull", f"{registry.host}/made/plain@sha256:{'0' * 64}")
    assert missing.returncode == 3 and "has no such image" in missing.stderr


@pytest.mark.parametrize("tag, code, text", [("foreign", 3, "it is for linux/s390x"), ("none", 1, "no single image for linux/"),
                                             ("unknown", 3, "has no such image: made/unknown:v1")])
def test_images_that_do_not_fit_are_refused(store, registry, tag, code, text):
    done = store("pull", f"{registry.host}/made/{tag}:v1")
    assert done.returncode == code and text in done.stderr, done.stderr
    assert {row["source"] for row in json.loads(store("ls", "--json").stdout)} <= {"host"}
    assert_clean(store)


@pytest.mark.parametrize("name, text", [("UPPER", "lower-case"), ("a//b", "lower-case"), ("x:" + "t" * 129, "tag")])
def test_names_that_cannot_be(store, name, text):
    done = store("pull", name)
    assert done.returncode == 1 and text in done.stderr


def test_a_registry_that_is_not_there(store):
    done = store("pull", f"127.0.0.1:{registries.free_port()}/a/b")
    assert done.returncode == 3 and "cannot be reached" in done.stderr and "iii image import" in done.stderr


def test_pull_into_a_pipe_prints_plain_lines(store, registry):
    done = store("pull", f"{registry.host}/made/big:v1")
    assert done.returncode == 0 and "\r" not in done.stdout + done.stderr and "\033" not in done.stdout + done.stderr


def test_killed_at_random_points(store, registry, tmp_path):
    """kill -9 at 50 seeded moments: nothing half-made is ever visible, and what was downloaded is used again."""
    name, dice = f"{registry.host}/made/big:v1", random.Random(20)
    env = harness.clean_env({"III_DATA_DIR": tmp_path / "data", "HOME": tmp_path})
    began = time.monotonic()
    assert store("pull", name).returncode == 0
    whole_s = time.monotonic() - began
    assert store("rm", name).returncode == 0
    ended_by_kill = resumed = 0
    for _ in range(50):
        proc = subprocess.Popen([str(harness.BINARY), "image", "pull", name], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(dice.random() * whole_s)
        proc.kill()
        ended_by_kill += proc.wait() != 0
        report = json.loads(store("fsck", "--json").stdout)
        assert report["problems"] == [], report
        resumed += report["partial"] > 0
        if report["records"]:
            assert store("rm", name).returncode == 0
    assert ended_by_kill > 0 and resumed > 0
    assert store("pull", name).returncode == 0
    assert assert_clean(store)["layers"] == 6


def write_docker_config(home, host, user, helper=False):
    docker = home / ".docker"
    docker.mkdir()
    if helper:
        script = home / "docker-credential-testing"
        script.write_text("#!/bin/sh\nread host\n[ \"$1\" = get ] && [ \"$host\" = %s ] && echo '{\"Username\":\"%s\",\"Secret\":\"%s\"}'\n" % (host, *user))
        script.chmod(0o755)
        (docker / "config.json").write_text(json.dumps({"credHelpers": {host: "testing"}}))
    else:
        auth = base64.b64encode(":".join(user).encode()).decode()
        (docker / "config.json").write_text(json.dumps({"auths": {host: {"auth": auth}}}))


@pytest.mark.parametrize("helper", [False, True])
def test_basic_authentication(store, layout, tmp_path, helper):
    user = ("someone", "p:ss word")
    made = registries.Registry(user)
    try:
        name = made.push(layout, "plain", "private/x:1")
        refused = store("pull", name)
        assert refused.returncode == 3 and "docker login" in refused.stderr
        write_docker_config(tmp_path, made.host, user, helper)
        done = store("pull", name, PATH=f"{tmp_path}:{os.environ['PATH']}")
        assert done.returncode == 0, done.stderr
        assert user[1] not in done.stdout + done.stderr
        assert_clean(store)
    finally:
        made.stop()


def test_export_and_import_again(store, registry, tmp_path):
    name = f"{registry.host}/made/plain:v1"
    assert store("pull", name).returncode == 0
    done = store("export", name, tmp_path / "out.tar")
    assert done.returncode == 0, done.stderr
    assert store("import", tmp_path / "out.tar", "again").returncode == 0
    assert pulled_tree(store, "again") == pulled_tree(store, name)
    before, after = (json.loads(store("inspect", n).stdout)["config"] for n in (name, "again"))
    assert before == after and before["user"] == "app"
    skopeo = subprocess.run(["skopeo", "inspect", f"oci-archive:{tmp_path / 'out.tar'}"], capture_output=True, text=True, check=False)
    assert skopeo.returncode == 0 and "FROM_IMAGE=yes" in skopeo.stdout, skopeo.stderr
    assert store("export", "nothing", tmp_path / "n.tar").returncode == 3 and not (tmp_path / "n.tar").exists()
    assert_clean(store)


def test_the_disk_cap_takes_what_was_unused_for_longest(store, registry, tmp_path, sh):
    (tmp_path / "r.tar").write_bytes(images.rootfs(sh))
    assert store("import", tmp_path / "r.tar", "imported").returncode == 0
    big, plain = f"{registry.host}/made/big:v1", f"{registry.host}/made/plain:v1"
    assert store("pull", big).returncode == 0
    assert store("pull", plain, III_IMAGE_DISK_MB="4").returncode == 0
    names = [row["name"] for row in json.loads(store("ls", "--json").stdout)]
    assert plain in names and "imported" in names and big not in names
    assert store("prune", "--max-mb", "0").stdout == "removed 1 image\n"
    assert [row["name"] for row in json.loads(store("ls", "--json").stdout) if row["source"] != "host"] == ["imported"]
    assert_clean(store)


def test_fsck_finds_and_repairs(store, registry):
    name = f"{registry.host}/made/plain:v1"
    assert store("pull", name).returncode == 0
    (store.folder / "layers" / ("0" * 64)).mkdir()
    record = next((store.folder / "images").iterdir())
    (store.folder / "images" / "bad.json").write_text("{")
    found = store("fsck")
    assert found.returncode == 1 and "belongs to no image" in found.stdout and "bad.json" in found.stdout
    assert store("fsck", "--repair").returncode == 0
    assert_clean(store)
    layer = json.loads(record.read_text())["layers"][0]["digest"]
    os.rename(store.folder / "layers" / layer, store.folder / "away")
    assert f"layer {layer} is missing" in store("fsck").stdout
    os.rename(store.folder / "away", store.folder / "layers" / layer)
    assert_clean(store)


# --- the server ---

def test_create_pulls_what_is_missing(server, client, registry, new_sandbox):
    name = f"{registry.host}/made/plain:v1"
    sandbox = new_sandbox(image=name)
    sid = sandbox["id"]
    assert sandbox["image"] == name and sandbox["config"]["workdir"] == "/late"
    assert client.exec(sid, "say /note")["stdout"] == "top\n"
    assert client.exec(sid, "say /removed")["exitCode"] == 3
    assert re.search(r"^Uid:\t7\t.*\nGid:\t8\t", client.exec(sid, "say /proc/self/status")["stdout"], re.M)
    assert client.ok("GET", f"/sandboxes/{sid}/env")["vars"]["FROM_IMAGE"] == "yes"
    listed = client.ok("GET", "/images")["images"]
    assert next(row for row in listed if row["name"] == name)["source"] == "oci"


def worker_add(name, folder, **env):
    return harness.run_cli("worker", "add", name, "--data-dir", folder, "--json", env=env)


def test_worker_add_pulls_by_the_server_of_the_data_folder(server, client, registry, tmp_path):
    name = f"{registry.host}/made/index:v1"
    done = worker_add(name, server.data_dir)
    assert done.returncode == 0 and f"pulled {name} by the server at http://127.0.0.1:{server.port}" in done.stderr, done.stderr
    assert json.loads(done.stdout)["name"] == name
    assert [row["source"] for row in client.ok("GET", "/images")["images"] if row["name"] == name] == ["oci"], "without a restart"
    assert client.delete("/images?name=" + name).json() == {"deleted": name}
    done = worker_add(f"{registry.host}/made/nothing:v1", server.data_dir)
    assert done.returncode == 1 and "made/nothing" in done.stderr and "pulled" not in done.stderr
    done = worker_add(name, tmp_path / "data")
    assert done.returncode == 0 and "by the server" not in done.stderr, "no server uses that folder"
    assert name in harness.run_cli("image", "ls", "--json", "--data-dir", tmp_path / "data").stdout


def test_worker_add_without_the_servers_token(registry):
    name = f"{registry.host}/made/plain:v1"
    with harness.Server(env={"III_AUTH_TOKEN": "s3cret", **SERVER_ENV}, token="s3cret") as guarded:
        done = worker_add(name, guarded.data_dir)
        assert done.returncode == 0 and "by the server" not in done.stderr, "it goes into the store, which the server shares"
        assert name in {row["name"] for row in guarded.client().ok("GET", "/images")["images"]}
        assert "by the server" in worker_add(name, guarded.data_dir, III_SANDBOX_TOKEN="s3cret").stderr


def test_creates_of_one_image_share_a_pull(server, registry):
    name, answers = f"{registry.host}/made/big:v1", []

    def create():
        with server.client() as caller:
            answers.append(caller.call("POST", "/sandboxes", {"image": name}))
    threads = [threading.Thread(target=create) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [reply.status for reply in answers] == [200] * 6, answers
    with server.client() as caller:
        for reply in answers:
            caller.ok("DELETE", f"/sandboxes/{reply.json()['id']}")
        assert caller.ok("DELETE", "/images/" + name.replace("/", "%2F")) == {"deleted": name}


def test_a_client_that_leaves_cancels_nothing(server, client, registry):
    name = f"{registry.host}/made/big:v1"
    body = json.dumps({"image": name})
    with socket.create_connection(("127.0.0.1", server.port)) as sock:
        sock.sendall(f"POST /sandbox/images/pull HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
    reply = client.post("/images/pull", {"image": name})
    assert reply.status == 200 and reply.json()["name"] == name
    assert client.delete("/images?name=" + name).json() == {"deleted": name}


def test_a_stop_does_not_wait_for_a_registry_that_says_nothing():
    with socket.create_server(("127.0.0.1", 0)) as mute, harness.Server(env=SERVER_ENV) as server:
        body = json.dumps({"image": f"127.0.0.1:{mute.getsockname()[1]}/made/never:v1"})
        mute.settimeout(harness.DEADLINE_S)
        with socket.create_connection(("127.0.0.1", server.port)) as sock:
            sock.sendall(f"POST /sandbox/images/pull HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                         f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
            with mute.accept()[0]:
                begun = time.monotonic()
                server.stop()
                assert time.monotonic() - begun < harness.DEADLINE_S / 2  # a pull gives up by itself after a minute


def test_pull_with_events(server, client, registry):
    name = f"{registry.host}/made/twenty:v1"
    answer = client.open("POST", "/images/pull", {"image": name}, {"Accept": "text/event-stream"})
    assert answer.status == 200 and answer.getheader("Content-Type").startswith("text/event-stream")
    events = [json.loads(line[6:]) for line in answer.read().decode().splitlines() if line.startswith("data: ")]
    client.close()
    assert events[-1]["type"] == "done" and events[-1]["image"]["layers"] == 20
    assert {e["type"] for e in events[:-1]} <= {"progress"}


class Halting(BaseHTTPRequestHandler):
    """A registry of one image that stops before the manifest, and in the middle of each layer, until it is told to go on."""

    def do_GET(self):
        kind, name = self.path.rsplit("/", 2)[1:]
        if kind not in ("manifests", "blobs"):
            return self.answer(b"{}")
        if kind == "manifests":
            assert self.server.may_resolve.wait(harness.DEADLINE_S)
            name = self.server.manifest["digest"]
        self.answer((self.server.folder / "blobs" / "sha256" / name.removeprefix("sha256:")).read_bytes(), is_halted=kind == "blobs")

    do_HEAD = do_GET

    def answer(self, body, is_halted=False):
        self.send_response(200)
        self.send_header("Content-Type", registries.MANIFEST)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[:len(body) // 2])
            assert not is_halted or len(body) < 100000 or self.server.may_end.wait(harness.DEADLINE_S)
            self.wfile.write(body[len(body) // 2:])

    def log_message(self, *_):
        pass


def test_a_create_that_pulls_shows_its_phases(server, client, sh, tmp_path):
    layout = registries.Layout(tmp_path / "layout")
    with ThreadingHTTPServer(("127.0.0.1", 0), Halting) as halting:
        halting.folder, halting.manifest = layout.folder, layout.manifest([base_layer(sh), pack([entry("noise", noise(1, 1 << 20))])])
        halting.may_resolve, halting.may_end = threading.Event(), threading.Event()
        threading.Thread(target=halting.serve_forever, daemon=True).start()
        name = f"127.0.0.1:{halting.server_port}/made/slowly:v1"
        with Terminal(harness.clean_env({"III_SANDBOX_URL": f"http://127.0.0.1:{server.port}"}), harness.BINARY, "create", name, size=(24, 200)) as term:
            term.until(b"s, asking the registry")
            halting.may_resolve.set()
            term.until(b"s, pulling ")
            assert re.search(rb"pulling [\d.]+ KiB of 1\.0 MiB", term.got), term.got
            halting.may_end.set()
            assert term.exit_code() == 0
        halting.shutdown()
    client.ok("DELETE", f"/sandboxes/{re.search(rb'sbx_[0-9a-f]{24}', term.got)[0].decode()}")
    client.ok("DELETE", f"/images?name={name}")


@pytest.mark.parametrize("path, status, text", [("made/unknown:v1", 404, "has no such image"), ("made/none:v1", 502, "no single image")])
def test_what_cannot_be_pulled(client, registry, path, status, text):
    for reply in (client.post("/sandboxes", {"image": f"{registry.host}/{path}"}), client.post("/images/pull", {"image": f"{registry.host}/{path}"})):
        assert reply.status == status and text in reply.error, reply


def test_an_unreachable_registry_says_what_to_do(client):
    reply = client.post("/sandboxes", {"image": f"127.0.0.1:{registries.free_port()}/a/b"})
    assert reply.status == 404 and "iii image import" in reply.error


def test_removing_images(client, registry):
    name = f"{registry.host}/made/mixed:v1"
    assert client.post("/images/pull", {"image": name}).status == 200
    assert client.delete("/images/" + name.replace("/", "%2F").replace(":", "%3A")).json() == {"deleted": name}
    assert client.delete("/images/" + name.replace("/", "%2F")).status == 404


def test_a_wrong_setting_is_refused(tmp_path):
    done = harness.run_cli("serve", "--port", "0", "--engine-port", "0", env={"III_PULL": "always", "III_DATA_DIR": tmp_path})
    assert done.returncode != 0 and "III_PULL" in done.stderr and "missing or never" in done.stderr


def test_never_pulls_when_told_so(registry):
    with harness.Server(env={"III_PULL": "never"}) as server:
        with server.client() as caller:
            reply = caller.post("/sandboxes", {"image": f"{registry.host}/made/plain:v1"})
            assert reply.status == 404 and "iii image pull" in reply.error
            assert caller.post("/images/pull", {"image": f"{registry.host}/made/plain:v1"}).status == 403
            assert caller.post("/sandboxes", {"image": "python"}).status == 200


@pytest.mark.skipif(not harness.IS_ROOT, reason="the other tests already run as an ordinary user")
def test_as_an_ordinary_user(registry):
    with tempfile.TemporaryDirectory(prefix="iii-user-") as home:
        os.chown(home, 12345, 12345)
        env = {"III_DATA_DIR": f"{home}/data", "HOME": home}
        name = f"{registry.host}/made/plain:v1"
        done = harness.run_cli("image", "pull", name, env=env, user=12345)
        assert done.returncode == 0, done.stderr
        assert json.loads(harness.run_cli("image", "inspect", name, env=env, user=12345).stdout)["rootless"] is True
        assert json.loads(harness.run_cli("image", "fsck", "--json", env=env, user=12345).stdout)["problems"] == []
