"""A preset's own image: by `iii worker add`, by auto_install from a real registry on loopback, or not at all. What an engine does
of this is in test_docker_presets.py."""
import pytest

import fnclient
import harness
import images
import registries

pytestmark = [pytest.mark.skipif(bool(registries.missing_tools()), reason=f"not installed: {registries.missing_tools()}"),
              harness.needs("imageStore")]


@pytest.fixture(scope="module")
def registry(tmp_path_factory, sh):
    layout = registries.Layout(tmp_path_factory.mktemp("layout") / "oci")
    layout.add_image("one", [images.rootfs(sh, b"from the registry\n")])
    made = registries.Registry()
    try:
        made.push(layout, "one", "iiidev/python:latest")
        yield made
    finally:
        made.stop()


def serve(registry, **env):
    return harness.Server(env={"III_REGISTRY_MIRRORS": f"docker.io={registry.host}", "III_PRESETS": "image", "III_PULL": "missing", **registries.LISTED, **env})


def note(server, record):
    client = server.client()
    said = client.exec(record["id"], "say /note")["stdout"]
    client.delete(f"/sandboxes/{record['id']}")
    return record["resolvedImage"], said


WANTED = ("docker.io/iiidev/python:latest", "from the registry\n")


def test_worker_add_brings_the_presets_image(registry, tmp_path):
    with harness.Server() as server:
        done = harness.run_cli("worker", "add", "iiidev/python", env={"III_DATA_DIR": server.data_dir, "HOME": tmp_path,
                                                                       "III_REGISTRY_MIRRORS": f"docker.io={registry.host}"})
        assert done.returncode == 0, done.stderr
        assert note(server, server.client().create(image="python")) == WANTED


@pytest.mark.skipif(harness.IN_MACHINES, reason="its data folder has the presets' images already")
def test_without_auto_install_it_is_s101(registry):
    with serve(registry, III_AUTO_INSTALL="false") as server:
        fn = fnclient.Functions(server.engine_port)
        said = fn.fault("create", "S101", image="python")["message"]
        assert "docker.io/iiidev/python:latest" in said and "auto_install" in said
        fn.close()
        assert server.client().ok("GET", "/images")["images"] == []


@pytest.mark.skipif(harness.IN_MACHINES, reason="its data folder has the presets' images already")
def test_auto_install_pulls_it(registry):
    with serve(registry) as server:
        fn = fnclient.Functions(server.engine_port)
        sid = fn.create("python")
        client = server.client()
        assert note(server, client.ok("GET", f"/sandboxes/{sid}")) == WANTED
        assert note(server, client.create(image="python")) == WANTED
        assert note(server, client.create(image="iiidev/python")) == WANTED
        fn.close()


@pytest.mark.skipif(harness.IN_MACHINES, reason="its data folder has the presets' images already")
def test_a_failed_pull_is_s102_with_the_registrys_reason(registry):
    custom = f"lost={registry.host}/team/lost:1,gone=127.0.0.1:1/x:1"
    with serve(registry, III_CUSTOM_IMAGES=custom, III_IMAGE_ALLOWLIST="python,node,lost,gone") as server:
        fn = fnclient.Functions(server.engine_port)
        for name, reason in (("lost", "has no such image: team/lost:1"), ("gone", "cannot be reached")):
            said = fn.fault("create", "S102", image=name)["message"]
            assert said.startswith(f"auto-install failed for image '{name}': ") and reason in said, said
        fn.close()
