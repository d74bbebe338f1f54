"""Presets and images of the store on a Docker engine that has nothing: the engine gets copies, made once for each content.

The server sees a small /usr of the test's own in place of the host's, in a mount namespace: a copy takes seconds, and programs can be
installed there."""
import concurrent.futures
import io
import os
import re
import shutil
import subprocess
import tarfile

import pytest

import dockerkit
import fnclient
import harness
import images
import registries
from harness import wait_until

pytestmark = pytest.mark.skipif(not dockerkit.is_there(), reason="needs dockerd and root")
needs_registry = pytest.mark.skipif(bool(registries.missing_tools()), reason=f"not installed: {registries.missing_tools()}")
LOADED = ("libarchive.so.13", "libcurl.so.4")  # libraries that the server loads by name
COPY = re.compile(r"localhost/iii-sbx-image:[0-9a-f]{16}-[0-9a-f]{40}")
MODULES = "lib/python3/dist-packages"


@pytest.fixture(scope="module")
def usr(tmp_path_factory):
    root = tmp_path_factory.mktemp("host")
    os.chmod(root.parent, 0o755)
    os.chmod(root, 0o755)
    with tarfile.open(fileobj=io.BytesIO(dockerkit.rootfs())) as tar:
        tar.extractall(root)
    known = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    loaded = [re.search(rf"\t{re.escape(name)} .* => (\S+)", known)[1] for name in LOADED]
    for path in dockerkit._closed([str(harness.BINARY), *loaded]):
        place = root / dockerkit._place(path).lstrip("/")
        if place.is_relative_to(root / "usr") and not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, place, follow_symlinks=False)
    usr = root / "usr"
    (usr / MODULES).mkdir(parents=True, exist_ok=True)
    for name, mode in (("lib/private", 0o600), ("lib/public", 0o644), ("lib/raised", 0o6755)):
        (usr / name).write_text(name)
        (usr / name).chmod(mode)
    (usr / "lib/closed").mkdir(mode=0o700)
    (usr / "lib/closed/file").write_text("closed")
    return usr


@pytest.fixture
def engine():
    """Nothing in it, and no network."""
    made = dockerkit.Engine(bridge="10.97.0.1")
    try:
        yield made.start()
    finally:
        made.remove()


def serve(engine, usr, **env):
    wrap = ["unshare", "--mount", "--propagation", "private", "sh", "-c", 'mount --bind "$0" /usr && exec "$@"', str(usr)]
    return harness.Server(env={"III_ISOLATION_BACKEND": "docker", "DOCKER_HOST": engine.host, "III_MAX_SANDBOXES": "50", **env}, wrap=wrap)


def copies(engine):
    return sorted(tag for one in engine.json("GET", "/images/json") for tag in one["RepoTags"] or [])


def started(server):
    """Copies that the server has begun."""
    return len(re.findall(r"image\.copy.* to=", server.log_path.read_text()))


def test_a_preset_runs_the_hosts_programs_without_network_and_image(engine, usr):
    with serve(engine, usr) as server:
        env = {"III_ENGINE_PORT": server.engine_port, "HOME": server.home}
        done = harness.run_cli("sandbox", "run", "python", "--", "python", "-c", "print(2+2)", env=env)
        assert (done.returncode, done.stdout) == (0, "4\n"), done.stderr
        assert len(copies(engine)) == 1 and COPY.fullmatch(copies(engine)[0])
        client = server.client()
        made = client.create(image="python")
        assert (made["image"], made["resolvedImage"]) == ("python", "host")
        assert client.exec(made["id"], "echo $PATH; id -u")["stdout"].endswith("/usr/bin:/sbin:/bin:/opt/iii/bin\n0\n")
        assert client.create(image="shell")["resolvedImage"] == "host" and started(server) == 1, "one copy for all presets"
        # What the native view has, and nothing of the host besides.
        seen = client.exec(made["id"], "cat /usr/lib/public; ls /usr/lib/private /usr/lib/closed 2>&1 | wc -l; stat -c %a /usr/lib/raised; cat /etc/shadow")["stdout"]
        assert seen == "lib/public2\n755\nroot:*:19000:0:99999:7:::\nuser:*:19000:0:99999:7:::\n"
        for path in ("/etc/ssh", "/var/lib/dpkg", "/home/user/.ssh", "/root/.bashrc"):
            assert client.exec(made["id"], ["test", "-e", path])["exitCode"] == 1, path
        kept = copies(engine)
        for item in client.ok("GET", "/sandboxes")["items"]:
            client.delete(f"/sandboxes/{item['id']}")
        wait_until(lambda: not engine.containers(), "containers to go")
        server.stop()
        server.start()
        client = server.client()
        sid = client.create(image="python")["id"]
        assert copies(engine) == kept and started(server) == 1, "a copy outlives the server that made it"
        client.delete(f"/sandboxes/{sid}")


def test_creates_wait_for_one_copy_and_old_ones_go(engine, usr):
    with serve(engine, usr) as server, concurrent.futures.ThreadPoolExecutor(4) as many:
        ids = list(many.map(lambda _: server.client().create(image="python")["id"], range(4)))
        client = server.client()
        assert started(server) == 1 and len(copies(engine)) == 1
        old = copies(engine)[0]
        for sid in ids[1:]:
            client.delete(f"/sandboxes/{sid}")
        late = usr / MODULES / "late.py"
        late.write_text("print('installed')\n")
        try:
            new = client.create(image="python")["id"]
            assert client.exec(new, ["python", "-c", "import late"])["stdout"] == "installed\n"
            assert started(server) == 2 and old in copies(engine), "a sandbox uses it"
            assert client.exec(ids[0], ["python", "-c", "import late"])["exitCode"] == 1
            client.delete(f"/sandboxes/{ids[0]}")
            wait_until(lambda: old not in copies(engine), "the old copy to go with its last sandbox")
            assert len(copies(engine)) == 1
            client.delete(f"/sandboxes/{new}")
        finally:
            late.unlink()


def test_a_copy_that_fails_half_way_leaves_no_image(engine, usr):
    """The last folder of /usr is too deep for an archive: by then the engine has most of it, and must not take it for the whole."""
    deep = usr / "zz"
    subprocess.run(["mkdir", "-p", deep / "/".join(["d"] * 1030)], check=True)
    with serve(engine, usr) as server:
        client = server.client()
        try:
            reply = client.post("/sandboxes", {"image": "python"})
            assert reply.status == 413 and "copy this host's view" in reply.error and "folders deep" in reply.error, reply
            assert copies(engine) == []
        finally:
            subprocess.run(["rm", "-rf", deep], check=True)
        made = client.create(image="python")
        assert client.exec(made["id"], ["python", "-c", "print(2+2)"])["stdout"] == "4\n"
        client.delete(f"/sandboxes/{made['id']}")


def test_names_with_a_tag_are_never_the_hosts_view(engine, usr):
    with serve(engine, usr) as server:
        client = server.client()
        for name in ("python:2.7", "python:latest", "node:22-slim", "docker.io/library/python", "host:1"):
            reply = client.post("/sandboxes", {"image": name})
            assert reply.status == 404, reply
            for word in (f'image "{name}"', f"iii image pull {name}", f"iii image import FILE.tar {name}", "here are:", "python"):
                assert word in reply.error
        assert copies(engine) == []


def test_images_of_the_store_run_and_a_newer_one_replaces_them(engine, usr, tmp_path):
    sh = images.program(tmp_path)
    with serve(engine, usr) as server:
        client = server.client()
        def bring(text):
            (tmp_path / "image.tar").write_bytes(images.rootfs(sh, text))
            done = harness.run_cli("image", "import", tmp_path / "image.tar", "iiidev/python", env={"III_DATA_DIR": server.data_dir})
            assert done.returncode == 0, done.stderr
            made = client.create(image="python")
            assert made["resolvedImage"] == "docker.io/iiidev/python:latest"
            return made["id"], client.exec(made["id"], ["/bin/sh", "-c", "say /note"])["stdout"]
        first, said = bring(b"first\n")
        assert said == "first\n" and len(copies(engine)) == 1
        assert client.create(image="docker.io/iiidev/python")["resolvedImage"] == "docker.io/iiidev/python:latest"
        assert len(copies(engine)) == 1, "every spelling is one image"
        _, said = bring(b"second\n")
        assert said == "second\n"
        for item in client.ok("GET", "/sandboxes")["items"]:
            client.delete(f"/sandboxes/{item['id']}")
        wait_until(lambda: len(copies(engine)) == 1, "the copy of the first to go")
        assert client.delete("/images?name=docker.io/iiidev/python").status == 200
        assert client.delete("/images?name=docker.io/iiidev/python").status == 404
        assert client.post("/sandboxes", {"image": "iiidev/python"}).status == 404


def test_clones_and_restores_say_what_their_image_was(engine, usr):
    with serve(engine, usr) as server:
        client = server.client()
        made = client.create(image="python")
        clone = client.ok("POST", f"/sandboxes/{made['id']}/clone")
        snap = client.ok("POST", f"/sandboxes/{made['id']}/snapshots", {"name": "s"})
        again = client.ok("POST", f"/sandboxes/{made['id']}/snapshots/restore", {"snapshotId": snap["id"]})
        for one in (clone, again):
            assert {key: one.get(key) for key in ("resolvedImage", "imageDigest", "imageVersion")} == \
                   {key: made.get(key) for key in ("resolvedImage", "imageDigest", "imageVersion")}
        client.ok("DELETE", f"/snapshots/{snap['id']}")
        for item in client.ok("GET", "/sandboxes")["items"]:
            client.delete(f"/sandboxes/{item['id']}")


# --- auto_install and custom_images ---

def empty_serve(engine, usr, **env):
    return serve(engine, usr, III_PRESETS="image", III_PULL="missing", **env)


def test_without_auto_install_nothing_is_pulled_and_a_failed_pull_says_why(engine, usr):
    with empty_serve(engine, usr, III_AUTO_INSTALL="false") as server:
        fn = fnclient.Functions(server.engine_port)
        assert "auto_install" in fn.fault("create", "S101", image="python")["message"]
        fn.close()
        assert copies(engine) == []
    with empty_serve(engine, usr, III_AUTO_INSTALL="true") as server:  # an engine without network
        fn = fnclient.Functions(server.engine_port)
        said = fn.fault("create", "S102", image="python")["message"]
        assert said.startswith("auto-install failed for image 'python': ") and "docker.io" in said, said
        fn.close()


@needs_registry
def test_auto_install_pulls_a_preset_and_custom_images_once(usr, tmp_path):
    """From a real registry on loopback, which only an engine in the host's network sees; it is a mirror of docker.io."""
    layout = registries.Layout(tmp_path / "layout")
    layout.add_image("one", [images.rootfs(images.program(tmp_path), b"pulled\n")])
    registry = registries.Registry()
    engine = dockerkit.Engine([f"--registry-mirror=http://{registry.host}"], is_in_host_network=True)
    try:
        registry.push(layout, "one", "iiidev/python:latest")
        mine = registry.push(layout, "one", "team/mine:1")
        engine.start()
        custom = f"mine={mine},lost={registry.host}/team/lost:1"
        with empty_serve(engine, usr, III_CUSTOM_IMAGES=custom, III_IMAGE_ALLOWLIST="python,mine,lost", **registries.LISTED) as server:
            fn = fnclient.Functions(server.engine_port)
            sid = fn.create("python")
            assert server.client().ok("GET", f"/sandboxes/{sid}")["resolvedImage"] == "docker.io/iiidev/python:latest"
            fn.create("mine")
            assert "manifest unknown" in fn.fault("create", "S102", image="lost")["message"]
            registry.proc.terminate()
            registry.proc.wait(harness.DEADLINE_S)
            fn.create("mine")
            fn.create("python")
            assert sorted(copies(engine)) == sorted([mine, "iiidev/python:latest"])
            fn.close()
    finally:
        engine.remove()
        registry.stop()


@needs_registry
def test_worker_add_brings_the_presets_image(engine, usr, tmp_path):
    """The store pulls from a registry that the engine cannot reach; the engine gets a copy."""
    layout = registries.Layout(tmp_path / "layout")
    layout.add_image("one", [images.rootfs(images.program(tmp_path), b"added\n")])
    registry = registries.Registry()
    try:
        registry.push(layout, "one", "iiidev/python:latest")
        with serve(engine, usr) as server:
            done = harness.run_cli("worker", "add", "iiidev/python", env={"III_DATA_DIR": server.data_dir, "HOME": tmp_path,
                                                                           "III_REGISTRY_MIRRORS": f"docker.io={registry.host}"})
            assert done.returncode == 0, done.stderr
            client = server.client()
            made = client.create(image="python")
            assert made["resolvedImage"] == "docker.io/iiidev/python:latest"
            assert client.exec(made["id"], ["/bin/sh", "-c", "say /note"])["stdout"] == "added\n"
            client.delete(f"/sandboxes/{made['id']}")
    finally:
        registry.stop()
