"""Images by policy on a Docker engine: what needs a signature or belongs to a tenant is pulled by the server, and the engine gets a copy."""
import json

import pytest

import dockerkit
import harness
import images
import registries
import sigkit

pytestmark = [pytest.mark.skipif(not dockerkit.is_there(), reason="needs dockerd and root"),
              pytest.mark.skipif(bool(registries.missing_tools()), reason=f"not installed: {registries.missing_tools()}")]
TOKEN = "root-secret"


def test_an_engine_pulls_nothing_that_needs_a_signature_or_belongs_to_a_tenant(tmp_path):
    layout, registry, key = registries.Layout(tmp_path / "oci"), registries.Registry(), sigkit.Key(tmp_path / "key.pem")
    engine = dockerkit.Engine(is_in_host_network=True)
    try:
        names, program = {}, images.program(tmp_path)
        for name in ("signed/good", "signed/bad", "free"):
            made = layout.manifest([images.rootfs(program, name.encode())])
            layout.add(name, made)
            names[name] = registry.push(layout, name, f"{name}:1")
            if name == "signed/good":
                sigkit.attach(registry, layout, name, made["digest"], [sigkit.by_key(made["digest"], key)])
        policy = json.dumps({"registries": [registry.host], "signatures": [{"images": [f"{registry.host}/signed/*"], "keys": [key.public]}]})
        engine.start()
        engine.add_image(names["signed/bad"], images.rootfs(program))  # whatever the engine calls by that name
        env = {"III_ISOLATION_BACKEND": "docker", "DOCKER_HOST": engine.host, "III_PULL": "missing", "III_IMAGE_POLICY": policy, "III_AUTH_TOKEN": TOKEN}
        with harness.Server(env={**env, **registries.LISTED}) as server, server.client(TOKEN) as admin:
            for path in ("/images/pull", "/sandboxes"):
                reply = admin.post(path, {"image": names["signed/bad"]})
                assert reply.status == 403 and "images.policy" in reply.error, reply
            assert admin.post("/sandboxes", {"image": "quay.io/other/image:1"}).status == 403
            box = admin.ok("POST", "/sandboxes", {"image": names["signed/good"]})
            assert box["resolvedImage"] == names["signed/good"]
            one, two = (server.client(admin.ok("POST", "/tokens", {"name": t, "tenant": t})["secret"]) for t in ("one", "two"))
            box = one.ok("POST", "/sandboxes", {"image": names["free"]})
            assert box["tenant"] == "one"
            mine = [i["name"] for i in one.ok("GET", "/images")["images"]]
            assert names["free"] in mine and names["free"] not in [i["name"] for i in two.ok("GET", "/images")["images"]]
            assert not any("iii-sbx-image" in name for name in mine)
            assert two.delete(f"/images?name={names['free']}").status == 404
            tags = [tag for image in engine.json("GET", "/images/json") for tag in image["RepoTags"]]
            assert names["free"] not in tags and names["signed/good"] not in tags  # the engine has only copies
            registry.proc.terminate()
            registry.proc.wait(harness.DEADLINE_S)
            one.ok("POST", "/sandboxes", {"image": names["free"]})
            assert two.post("/sandboxes", {"image": names["free"]}).status == 404
            one.close()
            two.close()
    finally:
        engine.remove()
        registry.stop()
