"""An OpenID Connect issuer for tests: keys and signatures made by the openssl command, documents served over HTTPS."""
import base64
import http.server
import json
import ssl
import subprocess
import threading
import time

import certs
import harness

PATH = "/realm"


def url64(data):
    return base64.urlsafe_b64encode(data if isinstance(data, bytes) else json.dumps(data).encode()).rstrip(b"=").decode()


def run(*args, data=b""):
    return subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True, timeout=harness.DEADLINE_S, input=data).stdout


def raw_signature(der, size):
    """r and s of an ECDSA signature side by side."""
    at, numbers = 2, []
    for _ in range(2):
        length = der[at + 1]
        numbers.append(int.from_bytes(der[at + 2:at + 2 + length], "big").to_bytes(size, "big"))
        at += 2 + length
    return b"".join(numbers)


class Key:
    """One key of an issuer. kind: RSA, P-256, P-384 or Ed25519."""

    def __init__(self, folder, kid, kind="P-256", bits=2048):
        self.kid, self.kind, self.path = kid, kind, folder / f"{kid}.pem"
        options = {"RSA": ["RSA", "-pkeyopt", f"rsa_keygen_bits:{bits}"], "P-256": ["EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
                   "P-384": ["EC", "-pkeyopt", "ec_paramgen_curve:P-384"], "Ed25519": ["ED25519"]}[kind]
        run("genpkey", "-algorithm", *options, "-out", self.path)

    def jwk(self, **more):
        public = run("pkey", "-in", self.path, "-pubout", "-outform", "DER")
        if self.kind == "RSA":
            modulus = run("rsa", "-in", self.path, "-noout", "-modulus").decode().strip().split("=")[1]
            parts = {"kty": "RSA", "n": url64(bytes.fromhex(modulus)), "e": "AQAB"}
        elif self.kind == "Ed25519":
            parts = {"kty": "OKP", "crv": "Ed25519", "x": url64(public[-32:])}
        else:
            size = 32 if self.kind == "P-256" else 48
            parts = {"kty": "EC", "crv": self.kind, "x": url64(public[-2 * size:-size]), "y": url64(public[-size:])}
        return {"kid": self.kid, "use": "sig", **parts, **more}

    @property
    def alg(self):
        return {"RSA": "RS256", "P-256": "ES256", "P-384": "ES384", "Ed25519": "EdDSA"}[self.kind]

    def sign(self, alg, data):
        if alg == "EdDSA":
            text = self.path.with_suffix(".data")
            text.write_bytes(data)
            return run("pkeyutl", "-sign", "-rawin", "-inkey", self.path, "-in", text)
        pss = ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:digest"] if alg.startswith("PS") else []
        made = run("dgst", f"-sha{alg[2:]}", "-sign", self.path, *pss, data=data)
        return raw_signature(made, 32 if alg == "ES256" else 48) if alg.startswith("ES") else made


class Issuer:
    """Serves its discovery document and its keys; answers 500 while is_down; counts requests for keys."""

    def __init__(self, folder, name="localhost"):
        self.folder, self.is_down, self.key_requests, self.requests = folder, False, 0, 0
        folder.mkdir(parents=True, exist_ok=True)
        self.authority = certs.Authority(folder / "ca", "issuer")
        self.key = Key(folder, "first")
        self.keys = [self.key.jwk()]
        self.discovery = {}
        issuer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                issuer.answer(self)

            def log_message(self, *args):
                pass

        cert, key = self.authority.issue("localhost")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"https://{name}:{self.server.server_address[1]}{PATH}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, request):
        self.requests += 1
        documents = {PATH + "/.well-known/openid-configuration": {"issuer": self.url, "jwks_uri": self.url + "/keys", **self.discovery},
                     PATH + "/keys": {"keys": self.keys}}
        self.key_requests += request.path == PATH + "/keys"
        body = json.dumps(documents.get(request.path, {})).encode()
        request.send_response(500 if self.is_down else 200 if request.path in documents else 404)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    def claims(self, **more):
        now = time.time()
        made = {"iss": self.url, "aud": "iii", "sub": "alice", "tenant": "acme", "roles": ["devs"], "iat": int(now), "exp": int(now) + 600, **more}
        return {name: value for name, value in made.items() if value is not None}

    def token(self, key=None, header=None, **claims):
        """A signed token; a claim that is None is left out."""
        key = key or self.key
        head = {"typ": "JWT", "alg": key.alg, "kid": key.kid, **(header or {})}
        signed = f"{url64({k: v for k, v in head.items() if v is not None})}.{url64(self.claims(**claims))}"
        return f"{signed}.{url64(key.sign(head['alg'] or key.alg, signed.encode()))}"

    def settings(self, **more):
        return {"III_OIDC_ISSUER": self.url, "III_OIDC_AUDIENCE": "iii", "III_CA_CERT": str(self.authority.cert),
                "III_OIDC_ROLES": json.dumps({"devs": "user", "ops": "admin", "auditors": "read-only"}), **more}

    def close(self):
        self.server.shutdown()
        self.server.server_close()
