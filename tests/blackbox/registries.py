"""A real registry on loopback (docker-registry), images made here as OCI layouts, and skopeo to push them."""
import gzip
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile

import harness
import images

TOOLS = ("docker-registry", "skopeo", "umoci", "htpasswd")
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"

# A server pulls from loopback only when its operator says so.
LISTED = {"III_PRIVATE_REGISTRIES": "127.0.0.1:*"}


def missing_tools():
    return [tool for tool in TOOLS if not shutil.which(tool)]


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout


PACKERS = {"": lambda data: data, "+gzip": lambda data: gzip.compress(data, 1, mtime=0), "+zstd": zstd}


class Layout:
    """An OCI layout folder that images are added to."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        (self.folder / "blobs" / "sha256").mkdir(parents=True)
        (self.folder / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')
        self.manifests = []

    def blob(self, data, kind, **more):
        name = images.sha(data)
        (self.folder / "blobs" / "sha256" / name).write_bytes(data)
        return {"mediaType": kind, "digest": "sha256:" + name, "size": len(data), **more}

    def manifest(self, layers, config=None, arch="amd64", packing="+gzip"):
        """layers: tar bytes, or (tar bytes, packing). The manifest's descriptor."""
        pairs = [layer if isinstance(layer, tuple) else (layer, packing) for layer in layers]
        doc = {"architecture": arch, "os": "linux", "config": config or {},
               "rootfs": {"type": "layers", "diff_ids": ["sha256:" + images.sha(tar) for tar, _ in pairs]}}
        parts = [self.blob(PACKERS[how](tar), LAYER + how) for tar, how in pairs]
        body = {"schemaVersion": 2, "mediaType": MANIFEST, "config": self.blob(json.dumps(doc).encode(), CONFIG), "layers": parts}
        return self.blob(json.dumps(body).encode(), MANIFEST)

    def add(self, tag, descriptor):
        self.manifests.append({**descriptor, "annotations": {"org.opencontainers.image.ref.name": tag}})
        (self.folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": self.manifests}))

    def add_image(self, tag, layers, **kw):
        self.add(tag, self.manifest(layers, **kw))

    def add_index(self, tag, by_arch):
        """by_arch: {architecture: descriptor}"""
        body = {"schemaVersion": 2, "mediaType": INDEX,
                "manifests": [{**d, "platform": {"os": "linux", "architecture": a}} for a, d in by_arch.items()]}
        self.add(tag, self.blob(json.dumps(body).encode(), INDEX))

    def unpacked(self, tag, folder):
        """The root file system as umoci unpacks it."""
        argv = ["umoci", "unpack", "--image", f"{self.folder}:{tag}", str(folder)]
        if not harness.IS_ROOT:
            argv.insert(2, "--rootless")
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        return pathlib.Path(folder) / "rootfs"


class Registry:
    """docker-registry on a port of its own, with a folder of its own; user: (name, password) that it asks for."""

    def __init__(self, user=None):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="iii-registry-"))
        self.user, self.port = user, free_port()
        config = {"version": 0.1, "log": {"level": "warn"}, "storage": {"filesystem": {"rootdirectory": str(self.home / "data")}},
                  "http": {"addr": f"127.0.0.1:{self.port}"}}
        if user:
            line = subprocess.run(["htpasswd", "-Bbn", *user], capture_output=True, text=True, check=True).stdout
            (self.home / "htpasswd").write_text(line)
            config["auth"] = {"htpasswd": {"realm": "test", "path": str(self.home / "htpasswd")}}
        (self.home / "config.yml").write_text(json.dumps(config))
        with open(self.home / "log", "wb") as log:
            self.proc = subprocess.Popen(["docker-registry", "serve", str(self.home / "config.yml")], stdin=subprocess.DEVNULL,
                                         stdout=log, stderr=log, env={**os.environ, "OTEL_TRACES_EXPORTER": "none"})
        harness.wait_until(self._answers, "docker-registry")

    @property
    def host(self):
        return f"127.0.0.1:{self.port}"

    def _answers(self):
        assert self.proc.poll() is None, (self.home / "log").read_text()
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            return True
        except ConnectionRefusedError:
            return False

    def push(self, layout, tag, name):
        argv = ["skopeo", "--insecure-policy", "copy", "-q", "--all", "--preserve-digests", "--dest-tls-verify=false",
                f"oci:{layout.folder}:{tag}", f"docker://{self.host}/{name}"]
        if self.user:
            argv += ["--dest-creds", ":".join(self.user)]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return f"{self.host}/{name}"

    def stop(self):
        self.proc.terminate()
        self.proc.wait(harness.DEADLINE_S)
        shutil.rmtree(self.home, ignore_errors=True)
