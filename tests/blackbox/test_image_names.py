"""Names of images are honest: a tag, a digest or a registry is never answered with something else."""
import os
import re
import shutil
import stat
import subprocess

import pytest

import fnclient
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


ORIGIN = ("resolvedImage", "imageDigest", "imageVersion")


@harness.needs("snapshot")
@pytest.mark.parametrize("name", ["python", "docker.io/iiidev/tool"])
def test_clones_forks_and_restored_sandboxes_say_what_their_image_was(imported, sh, new_sandbox, client, name):
    if name != "python":
        if not harness.backend()["can"]["imageStore"]:
            pytest.skip("the engine has no such image")
        imported(images.rootfs(sh, b"tool\n"), name)
    made = new_sandbox(image=name)
    sid, made = made["id"], {key: made.get(key) for key in ORIGIN}
    assert made["resolvedImage"]
    snap = client.ok("POST", f"/sandboxes/{sid}/snapshots", {"name": "s"})
    found = [client.ok("POST", f"/sandboxes/{sid}/clone"), client.ok("POST", f"/snapshots/{snap['id']}/clone", {}),
             *client.ok("POST", f"/sandboxes/{sid}/fork", {"count": 1})["sandboxes"],
             client.ok("POST", f"/sandboxes/{sid}/snapshots/restore", {"snapshotId": snap["id"]})]
    found.append(client.ok("POST", f"/sandboxes/{found[0]['id']}/clone"))
    for one in found:
        assert {key: one.get(key) for key in ORIGIN} == made
        assert {key: client.ok("GET", f"/sandboxes/{one['id']}").get(key) for key in ORIGIN} == made
    for one in {one["id"] for one in found} - {sid}:
        client.delete(f"/sandboxes/{one}")
    client.delete(f"/snapshots/{snap['id']}")


def test_the_allow_list_knows_every_spelling(imported, sh):
    with harness.Server(env={"III_PULL": "never", "III_ALLOWED_IMAGES": "alpine, iiidev/*"}) as server, server.client() as client:
        for name in ("docker.io/library/alpine", "oci:docker.io/alpine:latest", "docker.io/iiidev/tool", "python"):
            assert client.post("/sandboxes", {"image": name}).status in (200, 404), "allowed, though it may not be here"
        for name in ("alpine:3", "iiidev.example/tool", "docker.io/library/python", "shell"):
            reply = client.post("/sandboxes", {"image": name})
            assert reply.status == 403 and "III_ALLOWED_IMAGES" in reply.error


MISSING = "python:3.99-nonexistent"


def is_helpful(text):
    return all(word in text for word in (f'image "{MISSING}"', f"iii image pull {MISSING}", f"iii image import FILE.tar {MISSING}", "here are:", "python"))


@harness.needs("hostFiles")
def test_from_follows_the_same_rules(server, tmp_path):
    def build(base, **env):
        (tmp_path / "Dockerfile").write_text(f"FROM {base}\nENV A=b\n")
        return harness.run_cli("image", "build", "-t", "built", tmp_path, env={"III_DATA_DIR": server.data_dir, "III_PULL": "never", "HOME": tmp_path, **env})
    assert build("python").returncode == 0
    failed = build(MISSING)
    assert failed.returncode != 0 and "line 1" in failed.stderr and is_helpful(failed.stderr), failed.stderr
    failed = build("python", III_PRESETS="image")
    assert failed.returncode != 0 and "iii image pull docker.io/iiidev/python:latest" in failed.stderr, failed.stderr
    failed = build("127.0.0.1:1/python:3.99", III_PULL="missing")  # nobody listens there
    for word in ("127.0.0.1:1 cannot be reached", "iii image import", "here are: ", "python"):
        assert failed.returncode != 0 and word in failed.stderr, failed.stderr


@harness.needs("hostFiles")
def test_templates_follow_the_same_rules(client, new_sandbox):
    made = [client.ok("POST", "/templates", {"name": f"names-{i}", "config": {"image": name}}) for i, name in enumerate(("python", MISSING))]
    try:
        assert new_sandbox(image=None, template=made[0]["id"])["resolvedImage"] == "host"
        reply = client.post("/sandboxes", {"template": made[1]["id"]})
        assert reply.status == 404 and is_helpful(reply.error), reply
    finally:
        for one in made:
            client.delete(f"/templates/{one['id']}")


@harness.needs("hostFiles")
def test_custom_images_follow_the_same_rules():
    custom = f"mine=python,old={MISSING}"
    with harness.Server(env={"III_PULL": "never", "III_CUSTOM_IMAGES": custom, "III_IMAGE_ALLOWLIST": "mine,old"}) as server, server.client() as client:
        fn = fnclient.Functions(server.engine_port)
        assert client.ok("GET", f"/sandboxes/{fn.create('mine')}")["resolvedImage"] == "host"
        said = fn.fault("create", "S101", image="old")
        assert MISSING in said["message"] and "pull" in said["fix_note"]
        fn.close()
    with harness.Server(env={"III_PULL": "missing", "III_PRESETS": "image", "III_CUSTOM_IMAGES": "mine=shell", "III_IMAGE_ALLOWLIST": "mine"}) as server:
        fn = fnclient.Functions(server.engine_port)
        assert "III_PRESETS" in fn.fault("create", "S101", image="mine")["message"], "no registry has it"
        fn.close()


def test_a_wrong_setting_is_named():
    done = subprocess.run([harness.BINARY, "serve", "--port", "0", "--engine-port", "0"], env={"III_PRESETS": "both", "PATH": "/usr/bin"},
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0 and "III_PRESETS" in done.stderr and "host or image" in done.stderr


@harness.needs("hostFiles")
@pytest.mark.skipif(not harness.IS_ROOT, reason="needs root: a mount of its own")
def test_python_is_there_where_python3_is_only_in_usr_local():
    made = harness.Server(env={"III_PULL": "never"})
    upper, work = made.home / "upper", made.home / "work"
    for folder in (work, upper / "bin", upper / "local" / "bin"):
        folder.mkdir(parents=True)
    for name in ("python", "python3"):  # an overlay's whiteouts
        os.mknod(upper / "bin" / name, stat.S_IFCHR, 0)
    (upper / "local" / "bin" / "python3").symlink_to(os.path.realpath("/usr/bin/python3"))
    made.wrap = ["unshare", "-m", "--propagation", "private", "sh", "-c",
                 f'mount -t overlay overlay -o lowerdir=/usr,upperdir={upper},workdir={work} /usr && exec "$0" "$@"']
    with made as server, server.client() as client:
        box = client.create(image="python")
        assert client.exec(box["id"], ["python", "-c", "print(2+2)"])["stdout"] == "4\n"
