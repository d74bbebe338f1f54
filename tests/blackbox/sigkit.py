"""Signatures of images as cosign and Sigstore's services make them, by the openssl command: signed payloads in the tag
sha256-DIGEST.sig, short-lived certificates of a certificate authority, entries of a transparency log, bundles."""
import base64
import hashlib
import http.client
import json
import subprocess
import time

import certs
import registries

SIMPLE = "application/vnd.dev.cosign.simplesigning.v1+json"
EMPTY = "application/vnd.oci.empty.v1+json"
BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json"
STATEMENT = "application/vnd.in-toto+json"
PREDICATE = "https://sigstore.dev/cosign/sign/v1"
ISSUER = "https://issuer.example"
CA_CONFIG = """[ca]
default_ca = one
[one]
database = index
new_certs_dir = .
serial = serial
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = optional
[root]
basicConstraints = critical,CA:true
keyUsage = critical,keyCertSign
subjectKeyIdentifier = hash
"""


def b64(data):
    return base64.b64encode(data).decode()


def canonical(doc):
    return json.dumps(doc, sort_keys=True, separators=(",", ":")).encode()


def run(*args, data=b"", cwd=None):
    return subprocess.run(["openssl", *map(str, args)], input=data, capture_output=True, check=True, cwd=cwd, timeout=60).stdout


class Key:
    def __init__(self, path):
        self.path = certs.new_key(path)
        self.public = run("ec", "-in", path, "-pubout").decode()

    @property
    def log_id(self):
        return hashlib.sha256(run("ec", "-in", self.path, "-pubout", "-outform", "DER")).digest()

    def sign(self, data):
        return run("dgst", "-sha256", "-sign", self.path, data=data)


class Authority(certs.Authority):
    """Issues certificates for code signing, valid from a moment on for ten minutes; its own is a year old."""

    def __init__(self, folder, name="test authority"):
        super().__init__(folder, name)
        run("req", "-new", "-key", self.key, "-subj", f"/CN={name}", "-out", folder / "ca.csr")
        self._issue(["-selfsign", "-extensions", "root", "-in", "ca.csr", "-out", self.cert], time.time() - 365 * 86400, 730 * 86400)

    def _issue(self, args, start, seconds):
        self.count += 1
        (self.folder / "ca.conf").write_text(CA_CONFIG)
        (self.folder / "index").write_text("")
        (self.folder / "serial").write_text(f"{self.count + 4096:04x}\n")
        dates = [time.strftime("%Y%m%d%H%M%SZ", time.gmtime(t)) for t in (start, start + seconds)]
        run("ca", "-batch", "-notext", "-config", "ca.conf", "-keyfile", self.key, *args, "-startdate", dates[0], "-enddate", dates[1], cwd=self.folder)

    def identity(self, name, issuer=ISSUER, start=None, usage="codeSigning"):
        """(PEM, Key) for a URI or an e-mail address."""
        stem = self.folder / f"leaf{self.count}"
        key = Key(f"{stem}.key")
        kind = "email" if "@" in name and "://" not in name else "URI"
        (self.folder / "leaf.ext").write_text(f"subjectAltName=critical,{kind}:{name}\nextendedKeyUsage={usage}\nkeyUsage=critical,digitalSignature\n"
                                              f"1.3.6.1.4.1.57264.1.8=ASN1:UTF8String:{issuer}\n")
        run("req", "-new", "-key", key.path, "-subj", "/CN=x", "-out", f"{stem}.csr")
        self._issue(["-cert", self.cert, "-extfile", "leaf.ext", "-in", f"{stem}.csr", "-out", f"{stem}.pem"], start or time.time() - 60, 600)
        return stem.with_suffix(".pem").read_text(), key

    @property
    def pem(self):
        return self.cert.read_text()


class Log:
    """A transparency log: promises, and proofs of inclusion in a tree of its own."""

    def __init__(self, path):
        self.key = Key(path)

    def promise(self, body, when, index=7):
        said = {"body": b64(body), "integratedTime": int(when), "logID": self.key.log_id.hex(), "logIndex": index}
        return said, b64(self.key.sign(canonical(said)))

    def proof(self, body, index=4, size=7):
        """An inclusion proof for body, the index-th of size entries."""
        def pair(left, right):
            return hashlib.sha256(b"\1" + left + right).digest()

        def root(leaves):
            if len(leaves) == 1:
                return leaves[0]
            k = 1 << (len(leaves) - 1).bit_length() - 1
            return pair(root(leaves[:k]), root(leaves[k:]))

        def path(at, leaves):
            if len(leaves) == 1:
                return []
            k = 1 << (len(leaves) - 1).bit_length() - 1
            return path(at, leaves[:k]) + [root(leaves[k:])] if at < k else path(at - k, leaves[k:]) + [root(leaves[:k])]

        leaves = [hashlib.sha256(b"\0" + (body if i == index else b"other %d" % i)).digest() for i in range(size)]
        head = f"log.example - 1\n{size}\n{b64(root(leaves))}\n".encode()
        line = f"\n\u2014 log.example {b64(self.key.log_id[:4] + self.key.sign(head))}\n"
        return {"logIndex": str(index), "treeSize": str(size), "rootHash": b64(root(leaves)), "hashes": [b64(h) for h in path(index, leaves)],
                "checkpoint": {"envelope": head.decode() + line}}


def payload(digest):
    return canonical({"critical": {"identity": {"docker-reference": ""}, "image": {"docker-manifest-digest": digest},
                                   "type": "cosign container image signature"}, "optional": None})


def by_key(digest, key):
    """A signature by a key: what a layer of the .sig image holds."""
    text = payload(digest)
    return text, {"dev.cosignproject.cosign/signature": b64(key.sign(text))}


def record(text, signature, pem):
    return canonical({"apiVersion": "0.0.1", "kind": "hashedrekord", "spec": {
        "data": {"hash": {"algorithm": "sha256", "value": hashlib.sha256(text).hexdigest()}},
        "signature": {"content": b64(signature), "publicKey": {"content": b64(pem.encode())}}}})


def keyless(digest, identity, log, when=None, body=None):
    """The same by a certificate and a log."""
    pem, key = identity
    text = payload(digest)
    signature = key.sign(text)
    said, promise = log.promise(body or record(text, signature, pem), when or time.time())
    return text, {"dev.cosignproject.cosign/signature": b64(signature), "dev.sigstore.cosign/certificate": pem,
                  "dev.sigstore.cosign/bundle": json.dumps({"SignedEntryTimestamp": promise, "Payload": said})}


def bundle(digest, identity, log, predicate=PREDICATE, proof=None):
    """A Sigstore bundle about an image."""
    pem, key = identity
    text = canonical({"_type": "https://in-toto.io/Statement/v1", "predicateType": predicate, "predicate": {},
                      "subject": [{"name": "", "digest": {"sha256": digest.split(":")[1]}}]})
    signature = key.sign(f"DSSEv1 {len(STATEMENT)} {STATEMENT} {len(text)} ".encode() + text)
    body = canonical({"apiVersion": "0.0.1", "kind": "dsse", "spec": {
        "envelopeHash": {"algorithm": "sha256", "value": "0" * 64}, "payloadHash": {"algorithm": "sha256", "value": hashlib.sha256(text).hexdigest()},
        "signatures": [{"signature": b64(signature), "verifier": b64(pem.encode())}]}})
    said, promise = log.promise(body, time.time())
    entry = {"logIndex": str(said["logIndex"]), "logId": {"keyId": b64(log.key.log_id)}, "kindVersion": {"kind": "dsse", "version": "0.0.1"},
             "integratedTime": str(said["integratedTime"]), "inclusionPromise": {"signedEntryTimestamp": promise},
             "inclusionProof": proof or log.proof(body), "canonicalizedBody": b64(body)}
    der = b64(run("x509", "-outform", "DER", data=pem.encode()))
    return {"mediaType": BUNDLE, "verificationMaterial": {"certificate": {"rawBytes": der}, "tlogEntries": [entry]},
            "dsseEnvelope": {"payload": b64(text), "payloadType": STATEMENT, "signatures": [{"sig": b64(signature)}]}}


def attach(registry, layout, repository, digest, signatures):
    """Puts signatures [(payload, annotations)] beside an image, as cosign does."""
    tag = digest.replace(":", "-") + ".sig"
    layers = [layout.blob(text, SIMPLE, annotations=notes) for text, notes in signatures]
    body = {"schemaVersion": 2, "mediaType": registries.MANIFEST, "config": layout.blob(b"{}", registries.CONFIG), "layers": layers}
    layout.add(tag, layout.blob(json.dumps(body).encode(), registries.MANIFEST))
    registry.push(layout, tag, f"{repository}:{tag}")


def put(registry, path, data, kind="application/octet-stream"):
    """Writes a blob or a manifest to a registry."""
    connection = http.client.HTTPConnection(registry.host, timeout=60)
    if path.endswith("blobs/uploads/"):
        connection.request("POST", path)
        reply = connection.getresponse()
        reply.read()
        place = reply.headers["Location"]
        path = place + ("&" if "?" in place else "?") + "digest=sha256:" + hashlib.sha256(data).hexdigest()
    connection.request("PUT", path, data, {"Content-Type": kind})
    reply = connection.getresponse()
    text = reply.read()
    assert reply.status == 201, (path, reply.status, text)
    connection.close()
    return {"mediaType": kind, "digest": "sha256:" + hashlib.sha256(data).hexdigest(), "size": len(data)}


def refer(registry, repository, digest, bundles):
    """Puts Sigstore bundles beside an image, in the index that stands for a registry's list of referrers."""
    rows, uploads = [], f"/v2/{repository}/blobs/uploads/"
    for one in bundles:
        layer = {**put(registry, uploads, json.dumps(one).encode()), "mediaType": BUNDLE}
        body = {"schemaVersion": 2, "mediaType": registries.MANIFEST, "artifactType": BUNDLE,
                "config": {**put(registry, uploads, b"{}"), "mediaType": registries.CONFIG}, "layers": [layer],
                "subject": {"mediaType": registries.MANIFEST, "digest": digest, "size": 1}}
        text = json.dumps(body).encode()
        rows.append({**put(registry, f"/v2/{repository}/manifests/sha256:{hashlib.sha256(text).hexdigest()}", text, registries.MANIFEST), "artifactType": EMPTY})  # as cosign has it
    index = {"schemaVersion": 2, "mediaType": registries.INDEX, "manifests": rows}
    put(registry, f"/v2/{repository}/manifests/{digest.replace(':', '-')}", json.dumps(index).encode(), registries.INDEX)
