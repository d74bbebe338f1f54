"""Names of images are honest: a tag, a digest or a registry is never answered with something else."""
import re
import shutil
import subprocess

import pytest

import harness
import images

SERVER_ENV = {"III_PULL": "never"}


@harness.needs("hostFiles")
@pytest.mark.parametrize("name", ["python:2.7", "python:3.99-nonexistent", "python:3.12-slim", "node:22-slim", "python:latest",
                                  "docker.io/library/python", "shell:latest", "host:1", "python@sha256:" + "0" * 64])
def test_a_name_with_more_than_a_preset_is_never_the_hosts_view(client, name):
    reply = client.post("/sandboxes", {"image": name})
    assert reply.status == 404, reply
    for word in (f'image "{name[:80]}', f"iii image pull {name[:80]}", f"iii image import FILE.tar {name[:80]}", "here are:", "python"):
        assert word in reply.error


@harness.needs("hostFiles")
def test_a_preset_says_what_it_stands_for(client, new_sandbox):
    box = new_sandbox(image="python")
    assert box["image"] == "python" and box["resolvedImage"] == "host" and "imageDigest" not in box
    real = client.exec(box["id"], ["python", "--version"])["stdout"].strip()
    assert real == client.exec(box["id"], ["python3", "--version"])["stdout"].strip()
    if shutil.which("python3", path="/usr/local/bin:/usr/bin") == "/usr/bin/python3":
        harness.wait_until(lambda: new_sandbox(image="python").get("imageVersion") == real, "the version is known")
    assert client.get(f"/sandboxes/{box['id']}").json()["resolvedImage"] == "host"


@harness.needs("hostFiles")
def test_no_image_is_the_default_preset(client, new_sandbox):
    box = new_sandbox(image=None)
    assert box["image"] == "python" and box["config"]["image"] == "python" and box["resolvedImage"] == "host"


@pytest.mark.parametrize("stored,asked", [
    ("alpine", "alpine:latest"), ("alpine:latest", "docker.io/library/alpine"), ("docker.io/alpine", "alpine"),
    ("iiidev/tool", "docker.io/iiidev/tool:latest"), ("docker.io/iiidev/tool:latest", "iiidev/tool"), ("oci:reg.example/a/b:1", "reg.example/a/b:1"),
])
def test_every_spelling_of_a_name_is_the_same_image(imported, image, sh, new_sandbox, client, stored, asked):
    imported(images.rootfs(sh, b"mine\n"), stored)
    box = new_sandbox(image=asked)
    assert client.exec(box["id"], "say /note")["stdout"] == "mine\n"
    assert re.fullmatch(r"(docker\.io/(library|iiidev)|reg\.example/a)/[a-z]+:\w+", box["resolvedImage"])
    assert box["imageDigest"].startswith("sha256:")
    imported(images.rootfs(sh, b"newer\n"), asked)
    assert client.exec(new_sandbox(image=stored)["id"], "say /note")["stdout"] == "newer\n", "both names are one image"
    assert image("rm", asked).returncode == 0 and image("inspect", stored).returncode != 0


@harness.needs("hostFiles")
def test_a_preset_is_its_image_when_the_store_has_it(imported, sh, new_sandbox, client):
    imported(images.rootfs(sh, b"iiidev\n"), "iiidev/python")
    box = new_sandbox(image="python")
    assert box["resolvedImage"] == "docker.io/iiidev/python:latest" and client.exec(box["id"], "say /note")["stdout"] == "iiidev\n"


@harness.needs("hostFiles")
def test_presets_can_be_images_only():
    with harness.Server(env={"III_PULL": "never", "III_PRESETS": "image"}) as server, server.client() as client:
        assert "iii image pull docker.io/iiidev/python:latest" in client.post("/sandboxes", {"image": "python"}).error
        assert "III_PRESETS" in client.post("/sandboxes", {"image": "shell"}).error
        assert client.get("/images").json()["images"] == []


def test_a_wrong_setting_is_named():
    done = subprocess.run([harness.BINARY, "serve", "--port", "0", "--engine-port", "0"], env={"III_PRESETS": "both", "PATH": "/usr/bin"},
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0 and "III_PRESETS" in done.stderr and "host or image" in done.stderr
