"""Client certificates: who may connect, whom a certificate makes, and what counts beside a token."""
import http.client
import json
import os
import signal
import socket
import ssl

import pytest

import certs
import harness
import leak
import wsclient
from test_tls import SecureSocket, TlsClient

TOKEN = "root-secret"
MAP = {"CN:ops": {"role": "admin"}, "URI:spiffe://acme/ci/*": {"role": "user", "tenant": "ci", "operations": ["sandboxes", "exec", "volumes"], "quota": {"volumes": 1}},
       "CN:*": {"role": "user", "tenant": "$CN"}}


class Authority(certs.Authority):
    """Signs client certificates, with what a test wants to be wrong about them."""

    def client(self, name, alt="DNS:client.example", usage="clientAuth", dates=()):
        self.count += 1
        stem = self.folder / f"{self.count}"
        key, cert, extensions = certs.new_key(f"{stem}.key"), f"{stem}.pem", self.folder / f"{self.count}.ext"
        extensions.write_text(f"subjectAltName={alt}\nextendedKeyUsage={usage}\n")
        certs.openssl("req", "-new", "-utf8", "-key", key, "-subj", name if name.startswith("/") else f"/CN={name}", "-out", f"{stem}.csr")
        certs.openssl("x509", "-req", "-in", f"{stem}.csr", "-CA", self.cert, "-CAkey", self.key, "-set_serial", 1000 + self.count, "-extfile", extensions, "-out", cert,
                      *(dates or ("-days", 2)))
        return cert, key


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("clients"), "client authority")


@pytest.fixture(scope="module")
def server(authority):
    cert, key = authority.issue("server")
    env = {"III_TLS_CLIENT_MAP": json.dumps(MAP), "III_TLS_CLIENT_AUTH": "optional", "III_AUTH_TOKEN": TOKEN}
    with leak.watched(harness.Server(env=env, flags=["--tls-cert", cert, "--tls-key", key, "--tls-client-ca", str(authority.cert)])) as made:
        yield made


def context(authority, pair=None):
    made = ssl.create_default_context(cafile=authority.cert)
    if pair:
        made.load_cert_chain(*pair)
    return made


def caller(server, authority, pair=None, token=None):
    return TlsClient(server.port, context(authority, pair), token)


def test_a_certificate_is_a_tenants_user(server, authority):
    with caller(server, authority, authority.client("ops")) as ops, caller(server, authority, authority.client("alice")) as alice, \
            caller(server, authority, authority.client("eve")) as eve:
        box = alice.create()["id"]
        assert ops.ok("GET", f"/sandboxes/{box}")["tenant"] == "alice" and ops.get("/tokens").status == 200
        assert alice.exec(box, "echo hi")["stdout"] == "hi\n" and alice.get("/tokens").status == 403
        assert eve.get(f"/sandboxes/{box}").status == 404
        alice.ok("DELETE", f"/sandboxes/{box}")
    with caller(server, authority, authority.client("x", alt="URI:spiffe://acme/ci/7")) as ci:
        made = ci.ok("POST", "/volumes", {"name": "ci"})
        assert ci.post("/volumes", {"name": "more"}).status == 429 and ci.get("/networks").status == 403, "quota and operations of the rule"
        ci.ok("DELETE", f"/volumes/{made['id']}")

    def lines():
        found = [json.loads(line) for line in (server.data_dir / "audit" / "current.jsonl").read_text().splitlines()]
        return [line for line in found if line.get("subject") == "CN=alice"]

    line = harness.wait_until(lines, "the audit log has it")[0]
    assert (line["issuer"], line["tenant"], line["name"]) == ("client certificate", "alice", "alice") and line["token"].startswith("crt_")


def test_what_counts_beside_a_token(server, authority):
    alice = authority.client("alice")
    with caller(server, authority, alice, TOKEN) as both:
        assert both.get("/tokens").status == 200, "the token"
    with caller(server, authority, alice, "wrong") as wrong:
        assert wrong.get("/sandboxes").status == 403, "a certificate does not make up for a wrong token"
    with caller(server, authority) as nobody, caller(server, authority, None, TOKEN) as admin:
        assert nobody.get("/sandboxes").status == 401 and nobody.get("/health").status == 200
        assert admin.get("/tokens").status == 200


def test_names_that_map_to_nobody(server, authority):
    for name, alt in (("/O=acme", "DNS:ops"), ("/O=acme/CN=a b", "DNS:x"), ("/CN=a/CN=ops", "DNS:x"), ("/CN=*", "DNS:x"), ("/CN=" + "x" * 64 + "/O=" + "y" * 60, "email:ops@x.example"),
                      ("/O=x", "URI:spiffe://acme/c"), ("/CN=öps", "DNS:x")):
        with caller(server, authority, authority.client(name, alt)) as stranger:
            reply = stranger.get("/sandboxes")
            if "x" * 64 in name:
                assert reply.status == 200, "64 letters are a tenant's name"
                continue
            assert reply.status == 403 and ("III_TLS_CLIENT_MAP" in reply.error or "tenant" in reply.error), (name, reply)


def refused(server, tls):
    """Whether the server ends the handshake; with TLS 1.3 a client learns it when it reads."""
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=harness.DEADLINE_S, context=tls)
    try:
        connection.request("GET", "/sandbox/health")
        connection.getresponse().read()
        return False
    except (ssl.SSLError, ConnectionError, http.client.BadStatusLine):
        return True
    finally:
        connection.close()


def test_bad_certificates_are_refused(server, authority, tmp_path):
    stranger = Authority(tmp_path / "stranger", "client authority")
    own_key = certs.new_key(tmp_path / "own.key")
    certs.openssl("req", "-x509", "-new", "-key", own_key, "-subj", "/CN=ops", "-days", 2, "-out", tmp_path / "own.pem")
    middle = authority.client("/CN=ops")  # not an authority, but signs
    certs.openssl("req", "-new", "-key", own_key, "-subj", "/CN=ops", "-out", tmp_path / "leaf.csr")
    certs.openssl("x509", "-req", "-in", tmp_path / "leaf.csr", "-CA", middle[0], "-CAkey", middle[1], "-set_serial", 7, "-days", 2, "-out", tmp_path / "leaf.pem")
    (tmp_path / "chain.pem").write_bytes((tmp_path / "leaf.pem").read_bytes() + open(middle[0], "rb").read())
    bad = {"of another authority of the same name": stranger.client("ops"), "self-signed": (tmp_path / "own.pem", own_key), "expired": authority.client("ops", dates=("-days", "-1")),
           "for servers only": authority.client("ops", usage="serverAuth"), "signed by a client": (tmp_path / "chain.pem", own_key)}
    for why, pair in bad.items():
        assert refused(server, context(authority, pair)), why
    for old in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        tls = context(authority, bad["self-signed"])
        tls.minimum_version = tls.maximum_version = old
        assert refused(server, tls)
    assert not refused(server, context(authority)), "no certificate at all is fine here"


def test_the_engine_and_web_pages(server, authority):
    alice = authority.client("alice")

    def dial(port, path, headers=None):
        ws = SecureSocket.__new__(SecureSocket)
        sock = socket.create_connection(("127.0.0.1", port), timeout=harness.DEADLINE_S)
        ws.sock, ws.buffer = context(authority, alice).wrap_socket(sock, server_hostname="localhost"), b""
        ws._handshake(port, path, headers or {})
        return ws

    ws = dial(server.engine_port, "/")
    assert "workerregistered" in str(ws.recv()).replace("_", "").lower()
    ws.cut()
    with pytest.raises((wsclient.Closed, wsclient.Refused)):
        page = dial(server.engine_port, "/", {"Origin": "https://evil.example"})
        while True:
            page.recv()
    with caller(server, authority, alice) as browser:
        own = f"https://127.0.0.1:{server.port}"
        assert browser.call("POST", "/volumes", {"name": "x y"}, headers={"Origin": "https://evil.example"}).status == 403
        assert browser.call("GET", "/sandboxes", headers={"Sec-Fetch-Site": "cross-site"}).status == 403
        assert browser.call("GET", "/sandboxes", headers={"Origin": own, "Sec-Fetch-Site": "same-origin"}).status == 200
    with TlsClient(server.port, context(authority, alice), None, prefix="") as browser:
        reply = browser.call("GET", "/", headers={"Host": f"9-{'0' * 24}.localhost:{server.port}"})
        assert reply.status == 401 and "preview" in reply.error, "a preview needs a link or a token: other previews' pages have the certificate, too"


def test_required_and_revoked(authority, tmp_path):
    cert, key = authority.issue("server")
    good, lost = authority.client("ops"), authority.client("ops")
    bundle = tmp_path / "ca.pem"
    bundle.write_bytes(authority.cert.read_bytes())
    env = {"III_TLS_CLIENT_MAP": json.dumps(MAP), "III_ISOLATION_BACKEND": "fake"}
    with harness.Server(env=env, flags=["--tls-cert", cert, "--tls-key", key, "--tls-client-ca", str(bundle)]) as made:
        assert refused(made, context(authority)), "no certificate"
        for pair in (good, lost):
            with caller(made, authority, pair) as ops:
                assert ops.get("/tokens").status == 200
        index, config = tmp_path / "index.txt", tmp_path / "ca.cnf"
        index.write_text("")
        config.write_text(f"[ca]\ndefault_ca=d\n[d]\ndatabase={index}\ndefault_md=sha256\ndefault_crl_days=2\n")
        signer = ("-config", config, "-keyfile", authority.key, "-cert", authority.cert)
        certs.openssl("ca", *signer, "-revoke", lost[0])
        certs.openssl("ca", *signer, "-gencrl", "-out", tmp_path / "crl.pem")
        bundle.write_bytes(authority.cert.read_bytes() + (tmp_path / "crl.pem").read_bytes())
        os.kill(made.pid, signal.SIGHUP)
        harness.wait_until(lambda: refused(made, context(authority, lost)), "the revoked certificate is refused")
        with caller(made, authority, good) as ops:
            assert ops.get("/tokens").status == 200


@pytest.mark.parametrize("change, word", [({"III_TLS_CLIENT_AUTH": "maybe"}, "III_TLS_CLIENT_AUTH"), ({"III_TLS_CLIENT_MAP": "{}", "III_TLS_CLIENT_CA": ""}, "--tls-client-ca"),
                                          ({"III_TLS_CLIENT_MAP": '{"x": {}}'}, "III_TLS_CLIENT_MAP"), ({"III_TLS_CLIENT_AUTH": "optional", "III_TLS_CLIENT_CA": ""}, "--tls-client-ca")])
def test_settings_that_make_no_sense(authority, change, word, tmp_path):
    cert, key = authority.issue("server")
    env = {"III_TLS_CERT": cert, "III_TLS_KEY": key, "III_TLS_CLIENT_CA": str(authority.cert), "III_ISOLATION_BACKEND": "fake", **change}
    done = harness.run_cli("serve", "--port", "0", "--engine-port", "0", "--data-dir", tmp_path / "data", env=env)
    assert done.returncode == 1 and word in done.stderr, done
