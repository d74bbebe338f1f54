"""`iii image import|ls|rm` beside a running server, and sandboxes from what was imported."""
import gzip
import json
import shutil
import subprocess

import pytest

import harness
import images


def test_a_rootfs_archive(imported, image, sh, new_sandbox, client):
    imported(images.rootfs(sh), "tiny")
    assert "tiny" in image("ls").stdout
    sid = new_sandbox(image="tiny")["id"]
    assert client.exec(sid, ["/bin/sh", "plain", "words"])["stdout"] == "plain words\n"
    assert client.exec(sid, "say /note")["stdout"] == "base\n"
    assert client.exec(sid, "say /link")["stdout"] == "base\n"
    client.ok("POST", f"/sandboxes/{sid}/files/write", {"path": "f", "content": "written"})
    assert client.exec(sid, "say /workspace/f")["stdout"] == "written"


@pytest.mark.parametrize("kind", ["docker-save", "oci-layout"])
def test_layers_are_stacked(imported, sh, new_sandbox, client, kind):
    imported(images.docker_save(sh) if kind == "docker-save" else images.oci_layout(sh), "stacked:1")
    sid = new_sandbox(image="stacked:1")["id"]
    assert client.exec(sid, "say /note")["stdout"] == "top\n"
    assert client.exec(sid, "say /removed")["exitCode"] == 3
    assert client.ok("GET", f"/sandboxes/{sid}/env")["vars"]["FROM_IMAGE"] == "yes"


STATED = {  # all that the specification knows, beside what a sandbox needs
    "created": "2020-01-02T03:04:05.678Z", "author": "Ada <ada@example.com>", "variant": "v8",
    "config": {"Env": ["A=b"], "Entrypoint": ["/bin/sh"], "Cmd": ["-c", "say /note"], "User": "7:8", "WorkingDir": "/tmp", "Labels": {"org.example.a": "b c"},
               "ExposedPorts": {"80/tcp": {}, "53/udp": {}}, "Volumes": {"/data": {}}, "StopSignal": "SIGQUIT", "StopTimeout": 3, "Shell": ["/bin/sh", "-ec"],
               "Healthcheck": {"Test": ["CMD", "true"], "Interval": 30000000000, "Retries": 2}, "OnBuild": ["RUN true"], "ArgsEscaped": True},
    "history": [{"created": "2020-01-02T03:04:05Z", "created_by": "ADD file"}, {"created_by": "ENV A=b", "empty_layer": True}, {"created_by": "RUN x", "comment": "y"}],
}


@pytest.mark.skipif(not shutil.which("skopeo"), reason="needs skopeo")
def test_an_export_keeps_all_that_an_image_states(imported, image, sh, tmp_path):
    imported(images.docker_save(sh, **STATED), "stated:1")
    for name in ("stated:1", "stated:2"):  # the export of an import of an export, too
        assert image("export", name, tmp_path / "out.tar").returncode == 0
        for kind in ("oci-archive", "docker-archive"):  # what other tools see, in either form
            read = subprocess.run(["skopeo", "inspect", "--raw", "--config", f"{kind}:{tmp_path / 'out.tar'}"], capture_output=True, text=True, check=True)
            config = json.loads(read.stdout)
            assert len(config.pop("rootfs")["diff_ids"]) == 2
            assert config == {"architecture": "amd64", "os": "linux", **STATED}
        imported((tmp_path / "out.tar").read_bytes(), "stated:2")
    tags = json.loads(subprocess.run(["tar", "-xOf", tmp_path / "out.tar", "manifest.json"], capture_output=True, check=True).stdout)[0]["RepoTags"]
    assert tags == ["docker.io/library/stated:2"]


@pytest.mark.parametrize("stated, says", [({"config": {"Labels": []}}, "image config: Labels is of another kind"),
                                          ({"history": "x"}, "image config: history is of another kind"),
                                          ({"author": "x" * (1 << 20)}, "image config: labels, history and the like have 1048")])
def test_a_config_of_the_wrong_kind_is_refused(image, sh, tmp_path, stated, says):
    (tmp_path / "x.tar").write_bytes(images.docker_save(sh, **stated))
    refused = image("import", tmp_path / "x.tar", "wrong")
    assert refused.returncode == 1 and says in refused.stderr


def test_compressed_archives(imported, sh, new_sandbox, client, tmp_path):
    imported(gzip.compress(images.rootfs(sh, b"gz\n")), "squeezed")
    assert client.exec(new_sandbox(image="squeezed")["id"], "say /note")["stdout"] == "gz\n"


def test_an_import_replaces_and_running_sandboxes_keep_theirs(imported, sh, new_sandbox, client):
    imported(images.rootfs(sh, b"one\n"), "twice")
    first = new_sandbox(image="twice")["id"]
    imported(images.rootfs(sh, b"two\n"), "twice")
    second = new_sandbox(image="twice")["id"]
    assert client.exec(first, "say /note")["stdout"] == "one\n"
    assert client.exec(second, "say /note")["stdout"] == "two\n"


def test_python_can_be_provided_by_an_import(imported, sh, new_sandbox, client):
    imported(images.rootfs(sh, b"mine\n"), "python:3.12-slim")
    assert client.exec(new_sandbox(image="python:3.12-slim")["id"], "say /note")["stdout"] == "mine\n"


def test_remove(imported, image, sh, client, new_sandbox):
    imported(images.rootfs(sh), "brief")
    alive = new_sandbox(image="brief")["id"]
    assert image("rm", "brief").returncode == 0
    assert "brief" not in image("ls").stdout
    assert client.post("/sandboxes", {"image": "brief"}).status == 404
    assert client.exec(alive, "say /note")["stdout"] == "base\n"
    again = image("rm", "brief")
    assert again.returncode != 0 and "brief" in again.stderr


@pytest.mark.parametrize("name, data", [
    ("noise", b"\x93\x12 this is no archive " * 50), ("empty", b""), ("cut short", None),
    ("a manifest without layers", images.pack([images.entry("manifest.json", b'[{"Config":"c.json","Layers":["gone/layer.tar"]}]')])),
    ("a broken manifest", images.pack([images.entry("manifest.json", b"[{")])),
    ("an index without blobs", images.pack([images.entry("oci-layout", b'{"imageLayoutVersion":"1.0.0"}'),
                                            images.entry("index.json", b'{"manifests":[{"digest":"sha256:00"}]}')]))])
def test_archives_that_are_refused(image, sh, tmp_path, name, data, server):
    path = tmp_path / "bad.tar"
    path.write_bytes(images.rootfs(sh)[:-20000] if data is None else data)
    done = image("import", path, "bad")
    assert done.returncode != 0 and done.stderr.strip(), name
    assert "bad" not in image("ls").stdout.split()


def test_a_wrong_digest_is_refused(image, sh, tmp_path):
    data = images.oci_layout(sh).replace(b"FROM_IMAGE=yes", b"FROM_IMAGE=bad")
    path = tmp_path / "bad.tar"
    path.write_bytes(data)
    assert image("import", path, "forged").returncode != 0


def test_hostile_entries_stay_inside(image, sh, tmp_path, server, new_sandbox, client):
    outside = tmp_path / "outside"
    outside.mkdir()
    hostile = images.base_entries(sh) + [
        images.entry("../" * 12 + str(outside / "dots").lstrip("/"), b"x"), images.entry(str(outside / "absolute"), b"x"),
        images.entry("jump", kind=b"2", link=str(outside)), images.entry("jump/through", b"x"),
        images.entry("hard", kind=b"1", link="../" * 12 + "etc/passwd")]
    path = tmp_path / "hostile.tar"
    path.write_bytes(images.pack(hostile))
    done = image("import", path, "hostile")
    assert list(outside.iterdir()) == []
    if done.returncode == 0:
        sid = new_sandbox(image="hostile")["id"]
        assert client.exec(sid, "say /note")["stdout"] == "base\n"
        image("rm", "hostile")


def test_usage_errors(image, tmp_path):
    for args in ([], ["import"], ["import", tmp_path / "missing.tar", "x"], ["dance"], ["rm"], ["import", "/dev/null", "a/../b"]):
        done = image(*args)
        assert done.returncode != 0 and (done.stderr + done.stdout).strip(), args


@harness.needs("hostFiles")
def test_the_presets_are_listed_and_work(image, new_sandbox, client):
    listed = image("ls").stdout
    for name in ("python", "shell"):
        assert name in listed
    assert client.exec(new_sandbox(image="shell")["id"], "echo shell")["stdout"] == "shell\n"
    assert client.exec(new_sandbox(image="python")["id"], ["python3", "-c", "print(6*7)"])["stdout"] == "42\n"


@pytest.mark.skipif(subprocess.run(["sh", "-c", "command -v node"], capture_output=True, check=False).returncode != 0,
                    reason="there is no node on this host")
def test_node(new_sandbox, client):
    assert client.exec(new_sandbox(image="node")["id"], ["node", "-e", "console.log(6*7)"])["stdout"] == "42\n"
