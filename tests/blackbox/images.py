"""Small images made by the tests: a tree with one static program, packed the three ways that `iii image import` knows."""
import contextlib
import gzip
import hashlib
import http.server
import io
import json
import pathlib
import subprocess
import tarfile
import threading

PROGRAM = r"""
#include <stdio.h>
#include <string.h>
#include <unistd.h>
/* sh -c 'say FILE' prints FILE; anything else prints its arguments. Enough of a shell for a test. */
int main(int argc, char **argv)
{
    const char *path = argc == 3 && !strcmp(argv[1], "-c") && !strncmp(argv[2], "say ", 4) ? argv[2] + 4 : NULL;
    char text[4096];
    if (path) {
        FILE *f = fopen(path, "r");
        if (!f)
            return 3;
        size_t n = fread(text, 1, sizeof(text), f);
        fwrite(text, 1, n, stdout);
        return fclose(f);
    }
    for (int i = 1; i < argc; i++)
        printf("%s%s", argv[i], i + 1 < argc ? " " : "\n");
    return 0;
}
"""


def program(folder):
    """The bytes of a static program, built by musl."""
    out = pathlib.Path(folder) / "sh"
    subprocess.run(["musl-gcc", "-static", "-Os", "-s", "-x", "c", "-", "-o", str(out)], input=PROGRAM, text=True, check=True)
    return out.read_bytes()


def entry(name, data=b"", kind=tarfile.REGTYPE, mode=0o644, link=""):
    info = tarfile.TarInfo(name)
    info.size, info.type, info.mode, info.linkname = len(data), kind, mode, link
    return info, data


def pack(entries):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for info, data in entries:
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def folder(name):
    return entry(name, kind=tarfile.DIRTYPE, mode=0o755)


class Web(http.server.BaseHTTPRequestHandler):
    """Serves server.content below /a/, and a redirect to it at /moved."""

    def do_GET(self):
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/a/file.bin?again")
            self.end_headers()
            return
        self.send_response(200 if self.path.startswith("/a/") else 404)
        self.end_headers()
        self.wfile.write(self.server.content)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def web(content):
    """A server on loopback; its url is an attribute."""
    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Web)
    made.content, made.url = content, f"http://127.0.0.1:{made.server_port}"
    threading.Thread(target=made.serve_forever, daemon=True).start()
    try:
        yield made
    finally:
        made.shutdown()
        made.server_close()


def owned_entries():
    """Files, links and a folder with an owner of their own, and a file whose folder is not listed."""
    entries = [folder("d"), entry("d/file", b"text", mode=0o2755), entry("d/link", kind=tarfile.SYMTYPE, link="file"),
               entry("d/hard", kind=tarfile.LNKTYPE, link="d/file", mode=0o2755), entry("unlisted/x.log", b"x", mode=0o600)]
    for info, _ in entries[:4]:
        info.uid, info.gid = 77, 88
    return entries


def base_entries(sh, text=b"base\n"):
    return [folder("bin"), entry("bin/sh", sh, mode=0o755), folder("etc"), entry("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n"),
            entry("note", text), entry("removed", b"x"), folder("tmp"), entry("link", kind=tarfile.SYMTYPE, link="note")]


def rootfs(sh, text=b"base\n"):
    return pack(base_entries(sh, text))


def top_layer():
    return pack([entry("note", b"top\n"), entry(".wh.removed")])


def sha(data):
    return hashlib.sha256(data).hexdigest()


def image_config(layers, **more):
    return json.dumps({"architecture": "amd64", "os": "linux", "config": {"Env": ["FROM_IMAGE=yes"], "WorkingDir": "/tmp"},
                       "rootfs": {"type": "layers", "diff_ids": ["sha256:" + sha(layer) for layer in layers]}, **more}).encode()


def docker_save(sh, **more):
    layers = [rootfs(sh), top_layer()]
    config = image_config(layers, **more)
    names = [f"{sha(layer)}/layer.tar" for layer in layers]
    manifest = json.dumps([{"Config": sha(config) + ".json", "RepoTags": ["made:here"], "Layers": names}]).encode()
    parts = [entry(sha(config) + ".json", config)]
    for name, layer in zip(names, layers):
        parts += [folder(name.split("/")[0]), entry(name, layer)]
    return pack(parts + [entry("manifest.json", manifest)])


def oci_layout(sh):
    layers = [rootfs(sh), top_layer()]
    config = image_config(layers)
    blobs = {sha(config): config}
    descriptors = []
    for layer in layers:
        packed = gzip.compress(layer, mtime=0)
        blobs[sha(packed)] = packed
        descriptors.append({"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": "sha256:" + sha(packed), "size": len(packed)})
    manifest = json.dumps({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                           "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": "sha256:" + sha(config), "size": len(config)},
                           "layers": descriptors}).encode()
    blobs[sha(manifest)] = manifest
    index = json.dumps({"schemaVersion": 2, "manifests": [{"mediaType": "application/vnd.oci.image.manifest.v1+json",
                                                          "digest": "sha256:" + sha(manifest), "size": len(manifest)}]}).encode()
    parts = [entry("oci-layout", b'{"imageLayoutVersion":"1.0.0"}'), entry("index.json", index), folder("blobs"), folder("blobs/sha256")]
    return pack(parts + [entry("blobs/sha256/" + name, data) for name, data in blobs.items()])


def read_archive(path):
    """The config of an archive that docker load takes, and {path: (kind, mode, content)} of its layers stacked up."""
    with tarfile.open(path) as tar:
        def read(name):
            return tar.extractfile(name).read()
        parts = json.loads(read("manifest.json"))[0]
        config, files = json.loads(read(parts["Config"])), {}
        for layer in parts["Layers"]:
            with tarfile.open(fileobj=io.BytesIO(read(layer))) as tree:
                for info in tree:
                    _stack(files, tree, info)
    return config, files


def read_owners(path):
    """{path: (uid, gid)} of the same archive."""
    owners = {}
    with tarfile.open(path) as tar:
        for layer in json.loads(tar.extractfile("manifest.json").read())[0]["Layers"]:
            with tarfile.open(fileobj=io.BytesIO(tar.extractfile(layer).read())) as tree:
                owners.update((info.name.removeprefix("./").rstrip("/"), (info.uid, info.gid)) for info in tree)
    return owners


def _stack(files, tree, info):
    name = info.name.removeprefix("./").rstrip("/")
    inside, last = name[:name.rfind("/") + 1], name[name.rfind("/") + 1:]
    for at, letter in enumerate(name):  # folders that the archive does not list
        if letter == "/":
            files.setdefault(name[:at], ("folder", 0o755))
    if last.startswith(".wh."):
        gone = inside if last == ".wh..wh..opq" else inside + last[4:] + "/"
        for hidden in [path for path in files if (path + "/").startswith(gone) and path + "/" != inside]:
            del files[hidden]
    elif info.isdir() and name not in ("", "."):
        files[name] = ("folder", info.mode & 0o7777)
    elif info.issym():
        files[name] = ("link", info.linkname)
    elif info.islnk():
        files[name] = files[info.linkname.removeprefix("./")]
    elif info.isreg():
        files[name] = ("file", info.mode & 0o7777, tree.extractfile(info).read())
