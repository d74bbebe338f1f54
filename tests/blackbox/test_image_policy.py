"""Images by policy: registries that may be asked, signatures that images need, whose images a name stands for."""
import json
import shutil
import socket
import subprocess
import time

import pytest

import harness
import images
import registries
import sigkit

pytestmark = [pytest.mark.skipif(bool(registries.missing_tools()), reason=f"not installed: {registries.missing_tools()}"),
              harness.needs("imageStore")]
WORKFLOW = "https://ci.example/acme/build.yml@refs/heads/main"
TOKEN = "root-secret"


@pytest.fixture(scope="module")
def sh(tmp_path_factory):
    return images.program(tmp_path_factory.mktemp("program"))


class Signed:
    """A registry with images, each in a repository of its own, and what signs them."""

    def __init__(self, folder, sh):
        self.layout, self.registry = registries.Layout(folder / "oci"), registries.Registry()
        self.key, self.other = sigkit.Key(folder / "key.pem"), sigkit.Key(folder / "other.pem")
        self.authority, self.stranger = sigkit.Authority(folder / "ca"), sigkit.Authority(folder / "stranger")
        self.log = sigkit.Log(folder / "log.pem")
        self.sh, self.count = sh, 0

    def image(self, name):
        """The digest of a new image of that name."""
        self.count += 1
        made = self.layout.manifest([images.rootfs(self.sh, b"%d\n" % self.count)])
        self.layout.add(name, made)
        self.registry.push(self.layout, name, f"{name}:1")
        return made["digest"]

    def name(self, name):
        return f"{self.registry.host}/{name}:1"

    def signed(self, name, *signatures):
        """A new image with what signatures(digest) make of its digest."""
        digest = self.image(name)
        sigkit.attach(self.registry, self.layout, name, digest, [make(digest) for make in signatures])
        return digest

    def by_key(self, key=None):
        return lambda digest: sigkit.by_key(digest, key or self.key)

    def keyless(self, identity=WORKFLOW, authority=None, when=None, log=None, **how):
        leaf = (authority or self.authority).identity(identity, **how)
        return lambda digest: sigkit.keyless(digest, leaf, log or self.log, when)

    @property
    def who(self):
        return {"identity": "https://ci.example/acme/*", "issuer": sigkit.ISSUER, "roots": self.authority.pem, "logs": [self.log.key.public]}

    def policy(self, *rules, **more):
        return json.dumps({"signatures": list(rules), **more})

    def rule(self, **more):
        return {"images": [f"{self.registry.host}/*"], **(more or {"keys": [self.other.public, self.key.public]})}


@pytest.fixture(scope="module")
def site(tmp_path_factory, sh):
    made = Signed(tmp_path_factory.mktemp("site"), sh)
    try:
        yield made
    finally:
        made.registry.stop()


def serve(site, *rules, env=None, **policy):
    return harness.Server(env={"III_PULL": "missing", "III_IMAGE_POLICY": site.policy(*rules, **policy), **registries.LISTED, **(env or {})})


def test_a_signature_by_a_key_is_required(site):
    digest = site.signed("good", site.by_key())
    site.image("bare")
    foreign = sigkit.Key(site.authority.folder / "foreign.pem")
    site.signed("foreign", site.by_key(foreign))
    other = site.image("copied")
    sigkit.attach(site.registry, site.layout, "copied", other, [sigkit.by_key(digest, site.key)])  # a good signature of another image
    site.signed("second", site.by_key(foreign), lambda d: (b"{}", {}), site.by_key())
    with serve(site, site.rule()) as server, server.client() as client:
        made = client.ok("POST", "/images/pull", {"image": site.name("good")})
        assert made["signedBy"].startswith("key sha256:")
        assert client.ok("GET", f"/images/verify?name={site.name('good')}") == {
            "name": site.name("good"), "verified": True, "required": True, "signedBy": made["signedBy"], "pattern": f"{site.registry.host}/*", "digest": digest}
        assert client.ok("POST", "/sandboxes", {"image": site.name("good")})["resolvedImage"] == site.name("good")
        client.ok("POST", "/images/pull", {"image": site.name("second")})
        for name, text in (("bare", "no signature is beside it"), ("foreign", "a key that is not configured"), ("copied", "another image")):
            for path, body in (("/images/pull", {"image": site.name(name)}), ("/sandboxes", {"image": site.name(name)})):
                reply = client.post(path, body)
                assert reply.status == 403 and text in reply.error and f"{site.registry.host}/*" in reply.error and "cosign" in reply.error, reply
        assert [i["name"] for i in client.ok("GET", "/images")["images"] if i["source"] == "oci"] == [site.name("good"), site.name("second")]
        assert not any(layer for layer in (server.data_dir / "images" / "partial").iterdir())  # nothing of a refused image was downloaded


def test_the_index_or_its_manifest_may_be_signed(site):
    made = site.layout.manifest([images.rootfs(site.sh, b"of an index\n")])
    site.layout.add_index("multi", {"amd64": made, "s390x": made})
    site.registry.push(site.layout, "multi", "multi:1")
    index = site.layout.manifests[-1]["digest"]
    with serve(site, site.rule()) as server, server.client() as client:
        assert client.post("/images/pull", {"image": site.name("multi")}).status == 403
        for digest in (index, made["digest"]):
            repository = "multi" if digest == index else "multi2"
            site.registry.push(site.layout, "multi", f"{repository}:1")
            sigkit.attach(site.registry, site.layout, repository, digest, [sigkit.by_key(digest, site.key)])
            client.ok("POST", "/images/pull", {"image": site.name(repository)})


def test_keyless_signatures(site):
    old = time.time() - 30 * 86400
    cases = {
        "fresh": (site.keyless(), None),
        "expired": (site.keyless(start=old, when=old + 60), None),  # its certificate has expired since
        "late": (site.keyless(start=old), "does not lead to a configured root: certificate has expired"),
        "early": (site.keyless(when=old), "not yet valid"),
        "whose": (site.keyless("https://ci.example/evil/build.yml"), "https://ci.example/evil/build.yml"),
        "issuer": (site.keyless(issuer="https://issuer.example.evil"), "not a configured identity"),
        "root": (site.keyless(authority=site.stranger), "does not lead to a configured root"),
        "usage": (site.keyless(usage="serverAuth"), "not for code signing"),
        "log": (site.keyless(log=sigkit.Log(site.authority.folder / "log2.pem")), "none of the configured logs"),
        "nolog": (lambda d: (lambda t, n: (t, {k: v for k, v in n.items() if "bundle" not in k}))(*site.keyless()(d)), "a keyless signature needs one"),
        "about": (lambda d: sigkit.keyless(d, site.authority.identity(WORKFLOW), site.log, body=sigkit.record(b"x", b"y", site.authority.pem)),
                  "about another signature"),
    }
    for name, (make, _) in cases.items():
        site.signed("k" + name, make)
    with serve(site, site.rule(keyless=[site.who])) as server, server.client() as client:
        for name, (_, text) in cases.items():
            reply = client.post("/images/pull", {"image": site.name("k" + name)})
            if text:
                assert reply.status == 403 and text in reply.error, (name, reply)
            else:
                assert reply.status == 200 and reply.json()["signedBy"] == f"{WORKFLOW} ({sigkit.ISSUER})", (name, reply)


def test_sigstore_bundles(site):
    leaf = site.authority.identity(WORKFLOW)
    wrong = site.log.proof(b"another body")
    cases = {"good": ({}, None), "attested": ({"predicate": "https://slsa.dev/provenance/v1"}, "an attestation, not the image"),
             "unproved": ({"proof": wrong}, "inclusion proof does not hold")}
    with serve(site, site.rule(keyless=[site.who])) as server, server.client() as client:
        for name, (how, text) in cases.items():
            digest = site.image("b" + name)
            sigkit.refer(site.registry, "b" + name, digest, [sigkit.bundle(digest, leaf, site.log, **how)])
            reply = client.post("/images/pull", {"image": site.name("b" + name)})
            assert (reply.status == 403 and text in reply.error) if text else reply.status == 200, (name, reply)


def test_a_policy_holds_for_what_is_stored_and_for_commands_on_the_host(site, tmp_path):
    site.signed("stored", site.by_key())
    site.image("unsigned")
    data = tmp_path / "data"
    run = {"III_DATA_DIR": data, "HOME": tmp_path}
    for name in ("stored", "unsigned"):
        assert harness.run_cli("image", "pull", site.name(name), env=run).returncode == 0
    with harness.Server(env={"III_PULL": "missing", "III_IMAGE_POLICY": site.policy(site.rule()), **registries.LISTED}, data_dir=data) as server, server.client() as client:
        for name in ("stored", "unsigned"):  # both were pulled without looking for signatures
            reply = client.post("/sandboxes", {"image": site.name(name)})
            assert reply.status == 403 and "pull again" in reply.error
            assert client.get(f"/images/verify?name={site.name(name)}").status == 403
        client.ok("POST", "/images/pull", {"image": site.name("stored")})
        client.ok("POST", "/sandboxes", {"image": site.name("stored")})
    # The server has left its policy with the store.
    done = harness.run_cli("image", "pull", site.name("unsigned"), env=run)
    assert done.returncode == 1 and "images.policy" in done.stderr
    assert harness.run_cli("image", "verify", site.name("unsigned"), env=run).returncode == 1
    assert "signed by key sha256:" in harness.run_cli("image", "verify", site.name("stored"), env=run).stdout
    (tmp_path / "Dockerfile").write_text(f"FROM {site.name('unsigned')}\nLABEL a=b\n")
    done = harness.run_cli("image", "build", "-t", "built", tmp_path, env=run)
    assert done.returncode != 0 and "images.policy" in done.stderr
    line = [x for x in harness.run_cli("image", "ls", env=run).stdout.splitlines() if x.startswith(site.name("stored"))]
    assert "key sha256:" in line[0].split("\t")[7]


def test_an_archive_brings_its_signatures(site, tmp_path):
    digest = site.image("carried")
    text, notes = sigkit.by_key(digest, site.key)
    archive = tmp_path / "carried.tar"
    subprocess.run(["skopeo", "--insecure-policy", "copy", "-q", "--src-tls-verify=false", f"docker://{site.name('carried')}", f"oci-archive:{archive}"],
                   check=True, capture_output=True)
    env = {"III_DATA_DIR": tmp_path / "data", "HOME": tmp_path, "III_IMAGE_POLICY": site.policy(site.rule())}
    done = harness.run_cli("image", "import", archive, site.name("carried"), env=env)
    assert done.returncode == 1 and "no signature is beside it" in done.stderr
    line = {"Base64Signature": notes["dev.cosignproject.cosign/signature"], "Payload": sigkit.b64(text), "Cert": None, "Chain": None, "Bundle": None}
    (tmp_path / "carried.tar.sigs").write_text(json.dumps(line) + "\n")
    assert harness.run_cli("image", "import", archive, site.name("carried"), env=env).returncode == 0
    assert harness.run_cli("image", "verify", site.name("carried"), env=env).returncode == 0
    rootfs = tmp_path / "rootfs.tar"
    rootfs.write_bytes(images.rootfs(site.sh))
    done = harness.run_cli("image", "import", rootfs, site.name("carried"), env=env)
    assert done.returncode == 1 and "only an OCI layout" in done.stderr


def test_registries_that_are_not_listed_are_not_asked(site):
    with socket.create_server(("127.0.0.1", 0)) as trap:
        trap.settimeout(0.2)
        host = f"127.0.0.1:{trap.getsockname()[1]}"
        policy = {"registries": ["ghcr.io", "*.example", site.registry.host, host], "tenants": {"a": {"registries": ["ghcr.io", site.registry.host]}}}
        site.image("listed")
        with serve(site, env={"III_AUTH_TOKEN": TOKEN}, **policy) as server, server.client(TOKEN) as client:
            user = server.client(client.ok("POST", "/tokens", {"name": "a", "tenant": "a"})["secret"])
            for path, body in (("/images/pull", {"image": f"{host}/x"}), ("/sandboxes", {"image": f"{host}/x:1"})):
                reply = user.post(path, body)
                assert reply.status == 403 and host in reply.error and "tenant a" in reply.error, reply
            for caller in (client, user):
                reply = caller.post("/images/pull", {"image": "quay.io/x/y"})
                assert reply.status == 403 and "quay.io" in reply.error and "III_IMAGE_POLICY" in reply.error, reply
            with pytest.raises(TimeoutError):
                trap.accept()
            user.ok("POST", "/images/pull", {"image": site.name("listed")})
            user.close()


@pytest.mark.parametrize("policy, text", [
    ('{"registry": []}', 'unknown member "registry"'), ('{"signatures": [{"images": ["*"], "keys": ["x"]}]}', "keys[0]")])
def test_a_policy_that_cannot_be_read_stops_the_start(tmp_path, policy, text):
    done = harness.run_cli("serve", "--port", "0", env={"III_IMAGE_POLICY": policy, "III_DATA_DIR": tmp_path, "III_ENGINE_PORT": "0"})
    assert done.returncode != 0 and text in done.stderr, done.stderr


# --- whose images a name stands for ---


def names(client):
    return [i["name"] for i in client.ok("GET", "/images")["images"] if i["source"] == "oci"]


def test_images_belong_to_the_tenant_that_pulled_them(site):
    for name in ("mine", "shared"):
        site.image(name)
    with serve(site, env={"III_AUTH_TOKEN": TOKEN}) as server, server.client(TOKEN) as admin:
        one, two = (server.client(admin.ok("POST", "/tokens", {"name": t, "tenant": t})["secret"]) for t in ("one", "two"))
        mine, shared = site.name("mine"), site.name("shared")
        assert one.ok("POST", "/images/pull", {"image": mine})["tenant"] == "one"
        assert "tenant" not in admin.ok("POST", "/images/pull", {"image": shared})
        assert (names(one), names(two)) == ([mine, shared], [shared])
        assert [i.get("tenant") for i in admin.ok("GET", "/images")["images"] if i["source"] == "oci"] == ["one", None]
        # For the other tenant it is as if it had never existed.
        for name in (mine, f"{site.registry.host}/nothing:1"):
            assert two.get(f"/images/verify?name={name}").status == 404 and two.delete(f"/images?name={name}").status == 404
        assert mine not in two.get(f"/images/verify?name={site.registry.host}/nothing:1").error
        assert all(mine not in json.dumps(e) for e in two.ok("GET", "/events/history")["events"])
        assert any(mine in json.dumps(e) for e in one.ok("GET", "/events/history")["events"])
        for caller in (one, two):
            caller.ok("POST", "/sandboxes", {"image": shared})
            reply = caller.delete(f"/images?name={shared}")
            assert reply.status == 403 and "operator" in reply.error
        site.registry.proc.send_signal(19)  # the registry does not answer: the image of the other is not used in its place
        try:
            one.ok("POST", "/sandboxes", {"image": mine})
        finally:
            site.registry.proc.send_signal(18)
        two.ok("POST", "/sandboxes", {"image": mine})  # which asks the registry, and then has one of its own
        assert names(two) == [mine, shared]
        assert one.delete(f"/images?name={mine}").status == 200
        assert (names(one), names(two)) == ([shared], [mine, shared])
        assert two.delete(f"/images?name={mine}").status == 200
        one.close()
        two.close()


def test_without_sharing_a_tenant_has_only_its_own(site):
    site.image("ops")
    with serve(site, env={"III_AUTH_TOKEN": TOKEN, "III_SHARED_IMAGES": "false", "III_PULL": "missing"}) as server, server.client(TOKEN) as admin:
        user = server.client(admin.ok("POST", "/tokens", {"name": "u", "tenant": "u"})["secret"])
        admin.ok("POST", "/images/pull", {"image": site.name("ops")})
        assert names(user) == [] and user.delete(f"/images?name={site.name('ops')}").status == 404
        assert user.get(f"/images/verify?name={site.name('ops')}").status == 404
        user.ok("POST", "/sandboxes", {"image": "shell"})
        user.close()


def test_a_blob_of_another_tenant_must_be_downloaded(site, tmp_path):
    """Who knows the digest of a layer, but cannot read it, does not get it by naming it in an image of its own."""
    secret = images.pack([images.entry("secret", b"of one\n")])
    made = site.layout.manifest([images.rootfs(site.sh), secret])
    site.layout.add("private", made)
    site.registry.push(site.layout, "private", "private:1")
    thief = registries.Registry()
    try:
        site.registry.push(site.layout, "private", "private:1")
        thief.push(site.layout, "private", "thief:1")
        blob = json.loads((site.layout.folder / "blobs/sha256" / made["digest"].split(":")[1]).read_text())["layers"][1]["digest"].split(":")[1]
        shutil.rmtree(thief.home / "data/docker/registry/v2/blobs/sha256" / blob[:2] / blob)
        with serve(site, env={"III_AUTH_TOKEN": TOKEN}) as server, server.client(TOKEN) as admin:
            one, two = (server.client(admin.ok("POST", "/tokens", {"name": t, "tenant": t})["secret"]) for t in ("one", "two"))
            one.ok("POST", "/images/pull", {"image": site.name("private")})
            assert two.post("/images/pull", {"image": f"{thief.host}/thief:1"}).status in (404, 502)
            assert one.ok("POST", "/images/pull", {"image": f"{thief.host}/thief:1"})["layers"] == 2  # its own is reused
            one.close()
            two.close()
    finally:
        thief.stop()


def test_images_count_towards_the_disk_quota(site):
    site.layout.add("large", site.layout.manifest([images.rootfs(site.sh), images.pack([images.entry("data", bytes(range(256)) * 16384)])]))
    site.registry.push(site.layout, "large", "large:1")
    with serve(site, env={"III_AUTH_TOKEN": TOKEN}) as server, server.client(TOKEN) as admin:
        made = admin.ok("POST", "/tokens", {"name": "q", "tenant": "q", "quota": {"diskMb": 3}})
        with server.client(made["secret"]) as user:
            user.ok("POST", "/images/pull", {"image": site.name("large")})
            assert admin.ok("GET", f"/tokens/{made['id']}")["usage"]["diskMb"] >= 4
            reply = user.post("/images/pull", {"image": site.name("large")})
            assert reply.status == 429 and "diskMb" in reply.error, reply
            assert user.delete(f"/images?name={site.name('large')}").status == 200
            admin.ok("POST", "/images/pull", {"image": site.name("large")})  # the operator's count for no tenant
            assert admin.ok("GET", f"/tokens/{made['id']}")["usage"]["diskMb"] < 3


def test_images_of_a_store_without_owners_are_for_all(site, tmp_path):
    site.image("old")
    data = tmp_path / "data"
    assert harness.run_cli("image", "pull", site.name("old"), env={"III_DATA_DIR": data, "HOME": tmp_path}).returncode == 0
    with harness.Server(env={"III_AUTH_TOKEN": TOKEN, "III_PULL": "never"}, data_dir=data) as server, server.client(TOKEN) as admin:
        with server.client(admin.ok("POST", "/tokens", {"name": "u", "tenant": "u"})["secret"]) as user:
            user.ok("POST", "/sandboxes", {"image": site.name("old")})
    env = {"III_DATA_DIR": data, "HOME": tmp_path}
    assert harness.run_cli("image", "pull", "--tenant", "u", site.name("old"), env=env).returncode == 0
    assert harness.run_cli("image", "fsck", env=env).returncode == 0
    assert harness.run_cli("image", "rm", "--tenant", "u", site.name("old"), env=env).returncode == 0
    assert harness.run_cli("image", "inspect", "--tenant", "u", site.name("old"), env=env).returncode == 3
    assert harness.run_cli("image", "inspect", site.name("old"), env=env).returncode == 0
