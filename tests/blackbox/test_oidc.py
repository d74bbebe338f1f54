"""JWTs of an OpenID Connect issuer: who gets in, as whom, at every entry point; what is refused; and where the keys come from."""
import hashlib
import hmac
import http.client
import json
import socket
import threading
import time

import pytest

import engineclient
import harness
import jwtkit
import leak
import mcpclient
import wsclient
from jwtkit import url64

TOKEN = "root-secret"
DEEP = '{"a":' * 600 + "1" + "}" * 600


@pytest.fixture(scope="module")
def issuer(tmp_path_factory):
    made = jwtkit.Issuer(tmp_path_factory.mktemp("issuer"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def keys(issuer, tmp_path_factory):
    """A key of each type that the issuer has, and one that it does not have."""
    folder = tmp_path_factory.mktemp("keys")
    made = {kind: issuer.key if kind == "P-256" else jwtkit.Key(folder, kind, kind) for kind in ("P-256", "RSA", "P-384", "Ed25519")}
    issuer.keys = [key.jwk() for key in made.values()]
    return {**made, **{"other " + kind: jwtkit.Key(folder, "other-" + kind, kind) for kind in made}}


@pytest.fixture(scope="module")
def server(issuer, keys):
    env = issuer.settings(III_AUTH_TOKEN=TOKEN, III_MAX_SANDBOXES="50")
    with leak.watched(harness.Server(env=env, token=TOKEN)) as made:
        harness.wait_until(lambda: "problems" not in made.client().ok("GET", "/health"), "the issuer's keys are there")
        yield made


@pytest.fixture(scope="module")
def box(server, issuer):
    with server.client(issuer.token()) as alice:
        made = alice.create()["id"]
        yield made
        alice.delete(f"/sandboxes/{made}")


def status(server, token):
    with server.client(token) as caller:
        return caller.get("/sandboxes").status


def test_a_token_of_the_issuer_is_its_tenants_user(server, issuer, box):
    with server.client(issuer.token()) as alice, server.client(issuer.token(sub="eve", tenant="other")) as eve, server.client() as admin:
        assert alice.exec(box, "echo hi")["stdout"] == "hi\n"
        assert admin.ok("GET", f"/sandboxes/{box}")["tenant"] == "acme"
        assert eve.get(f"/sandboxes/{box}").status == 404 and not eve.ok("GET", "/sandboxes")["items"]
        assert alice.get("/tokens").status == 403 and "user" in alice.get("/tokens").error
    with server.client(issuer.token(roles="ops", tenant=None)) as ops:
        assert ops.get("/tokens").status == 200 and ops.get(f"/sandboxes/{box}").status == 200
    with server.client(issuer.token(roles=["auditors", "none_such"])) as auditor:
        assert auditor.get(f"/sandboxes/{box}").status == 200 and "read-only" in auditor.post("/sandboxes", {"image": "python"}).error
    assert status(server, issuer.token(roles=["auditors", "ops"])) == 200, "the highest role counts"


@pytest.mark.parametrize("alg, kind", [("ES256", "P-256"), ("RS256", "RSA"), ("RS384", "RSA"), ("RS512", "RSA"), ("PS256", "RSA"), ("ES384", "P-384"), ("EdDSA", "Ed25519")])
def test_algorithms(server, issuer, keys, alg, kind):
    assert status(server, issuer.token(keys[kind], {"alg": alg})) == 200
    assert status(server, issuer.token(keys["other " + kind], {"alg": alg, "kid": keys[kind].kid})) == 401


def test_every_entry_point(server, issuer, box):
    good, bad = issuer.token(), issuer.token(exp=int(time.time()) - 5)
    server.client().ok("POST", f"/sandboxes/{box}/proxy/config", {"requireAuth": True})
    for token, is_good in ((good, True), (bad, False)):
        mcp = mcpclient.Http(server, token)
        with server.client(token) as rest, harness.Client(server.port, token, prefix="") as raw:
            reply = rest.get(f"/sandboxes/{box}")
            assert (reply.status == 200) == is_good and (is_good or reply.status == 401 and "expired" in reply.error)
            code, _ = mcp.post(mcpclient.request("initialize", {"protocolVersion": mcpclient.VERSION, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}))
            assert code == (200 if is_good else 401)
            reply = raw.get(f"/sandbox/proxy/{box}/9/", headers={"Authorization": "Bearer " + token})
            assert reply.status == (404 if is_good else 401), reply  # nothing is exposed
            reply = raw.call("GET", "/", headers={"Host": f"9-{box[4:]}.localhost:{server.port}"})
            assert reply.status == (502 if is_good else 401) and (is_good or "preview" in reply.error), reply
        for path in ("/", f"/?token={token}"):
            try:
                with engineclient.Worker(server.engine_port, path, headers={} if "?" in path else {"Authorization": "Bearer " + token}) as worker:
                    assert is_good and len(worker.call("sandbox::list", {})["sandboxes"]) == 1
                    assert "may not" in worker.fail("state::set", {"scope": "a", "key": "b", "value": 1}).message
            except wsclient.Closed as e:
                assert not is_good and (e.code, e.reason) == (1008, "AUTH_ERROR")
        try:
            with wsclient.WebSocket(server.port, f"/sandbox/sandboxes/{box}/exec/attach?token={token}") as ws:
                ws.send(json.dumps({"command": "echo hi"}))
                assert is_good and b"hi" in ws.until(b"hi")
        except wsclient.Refused as e:
            assert not is_good and e.status == 401


def forged(issuer, header, claims=None, signature=b"x" * 64):
    return f"{url64(header)}.{url64(claims or issuer.claims())}.{url64(signature)}"


def hs256(issuer, secret):
    signed = f"{url64({'alg': 'HS256', 'kid': 'first', 'typ': 'JWT'})}.{url64(issuer.claims())}"
    return f"{signed}.{url64(hmac.new(secret, signed.encode(), hashlib.sha256).digest())}"


def test_what_is_not_a_valid_token(server, issuer, tmp_path):
    """Every forgery is 401, says what is wrong and repeats nothing of the token."""
    now, own = int(time.time()), jwtkit.Key(tmp_path, "own")
    public = jwtkit.run("pkey", "-in", issuer.key.path, "-pubout")
    good = issuer.token()
    head, body, tail = good.split(".")
    twice = url64(json.dumps(issuer.claims())[:-1].encode() + b', "tenant": "other"}')
    signed_twice = f"{head}.{twice}.{url64(issuer.key.sign('ES256', f'{head}.{twice}'.encode()))}"
    deep = f"{head}.{url64(DEEP.encode())}"
    with_nul = issuer.token(iss=issuer.url + "\0.evil")
    cases = [
        ("none", forged(issuer, {"alg": "none"}, signature=b"x"), "algorithm"),
        ("None", forged(issuer, {"alg": "None", "kid": "first"}), "algorithm"),
        ("no signature", f"{head}.{body}.", "three parts"),
        ("two parts", f"{head}.{body}", "three parts"),
        ("five parts", f"{good}.a.b", "three parts"),
        ("HS256 with the public key", hs256(issuer, public), "algorithm"),
        ("HS256 with the JWK", hs256(issuer, json.dumps(issuer.keys[0]).encode()), "algorithm"),
        ("no algorithm", forged(issuer, {"kid": "first"}), "algorithm"),
        ("algorithm of another type of key", forged(issuer, {"alg": "RS256", "kid": "first"}), "kid"),
        ("own key under a known id", issuer.token(own, {"kid": "first"}), "signature"),
        ("own key in the header", issuer.token(own, {"kid": "first", "jwk": own.jwk()}), "signature"),
        ("jku", issuer.token(own, {"kid": "first", "jku": "https://127.0.0.1:1/keys"}), "signature"),
        ("x5u", issuer.token(own, {"kid": "first", "x5u": "https://127.0.0.1:1/cert"}), "signature"),
        ("kid is a path", forged(issuer, {"alg": "ES256", "kid": "../../../dev/null"}), "kid"),
        ("kid is a number", forged(issuer, {"alg": "ES256", "kid": 1}), "kid"),
        ("kid with NUL", forged(issuer, {"alg": "ES256", "kid": "first\0"}), "kid"),
        ("crit", issuer.token(header={"crit": ["exp"]}), "crit"),
        ("b64", issuer.token(header={"b64": False}), "crit"),
        ("a logout token", issuer.token(header={"typ": "logout+jwt"}), "typ"),
        ("changed claims", f"{head}.{url64(issuer.claims(tenant='other'))}.{tail}", "signature"),
        ("issuer", issuer.token(iss="https://other.example"), "issuer"),
        ("issuer with NUL", with_nul, "issuer"),
        ("issuer that is longer", issuer.token(iss=issuer.url + "/"), "issuer"),
        ("no issuer", issuer.token(iss=None), "issuer"),
        ("audience", issuer.token(aud="other"), "audience"),
        ("audiences", issuer.token(aud=["other", 1, ["iii"]]), "audience"),
        ("no audience", issuer.token(aud=None), "audience"),
        ("expired", issuer.token(exp=now - 1), "expired"),
        ("expires now", issuer.token(exp=now), "expired"),
        ("no expiry", issuer.token(exp=None), "exp"),
        ("expiry is a text", issuer.token(exp="9999999999"), "exp"),
        ("expiry is beyond time", issuer.token(exp=1e300), "exp"),
        ("expiry is negative", issuer.token(exp=-1), "exp"),
        ("not yet", issuer.token(nbf=now + 120), "nbf"),
        ("issued later", issuer.token(iat=now + 120), "iat"),
        ("no subject", issuer.token(sub=None), "sub"),
        ("empty subject", issuer.token(sub=""), "sub"),
        ("subject is a list", issuer.token(sub=["alice"]), "sub"),
        ("subject is too long", issuer.token(sub="a" * 256), "255"),
        ("huge", issuer.token(filler="x" * 17000), "16384"),
        ("deep", f"{deep}.{url64(issuer.key.sign('ES256', deep.encode()))}", "claims"),
        ("duplicate members", signed_twice, "once"),
        ("not JSON", f"{url64(b'{nothing')}.{body}.{tail}", "header"),
        ("a list", f"{url64([1])}.{body}.{tail}", "header"),
        ("padding", good + "=", "base64url"),
        ("letters of another alphabet", f"{head}.{body}.{'+/' * 43}", "base64url"),
        ("unused bits", f"{head}.{body}.{tail[:-1]}{chr(ord(tail[-1]) + 1) if tail[-1] not in 'zZ9' else '1'}", ""),
        ("dots", "...", "three parts"), ("a dot", ".", "three parts"), ("words", "not.a.token", "")]
    assert status(server, good) == 200
    with server.client() as caller:
        for name, token, word in cases:
            reply = caller.call("GET", "/sandboxes", headers={"Authorization": "Bearer " + token})
            if reply.status == 503:  # the key id is unknown: the first few make the server ask again
                harness.wait_until(lambda: (r := caller.call("GET", "/sandboxes", headers={"Authorization": "Bearer " + token})).status != 503, name)
                reply = caller.call("GET", "/sandboxes", headers={"Authorization": "Bearer " + token})
            assert reply.status == 401 and reply.headers["www-authenticate"] == "Bearer", (name, reply)
            assert word in reply.error and "JWT" in reply.error and issuer.url not in reply.error, (name, reply.error)
            assert token[:20] not in reply.error and "alice" not in reply.error, name
    assert status(server, good) == 200


def test_invented_tokens_are_verified_at_a_bounded_rate(issuer, keys):
    """The flood of one address ends in 429, and is no harm to who is known or comes from another address."""
    many = 2000
    with harness.Server(env=issuer.settings(III_AUTH_TOKEN=TOKEN), token=TOKEN) as server:
        harness.wait_until(lambda: "problems" not in server.client().ok("GET", "/health"), "the issuer's keys are there")
        good, fresh = issuer.token(), issuer.token(sub="bob")
        assert status(server, good) == 200
        head, body, _ = good.split(".")
        line = "GET /sandbox/sandboxes HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n"
        flood = "".join(line.format(f"{head}.{body}.{url64(i.to_bytes(64, 'big'))}") for i in range(many)).encode()
        with socket.create_connection(("127.0.0.1", server.port), timeout=harness.DEADLINE_S * 4) as sock:
            writer = threading.Thread(target=sock.sendall, args=(flood,))
            writer.start()
            got = b""
            while got.count(b"HTTP/1.1 ") < many:
                piece = sock.recv(1 << 16)
                assert piece, got[-300:]
                got += piece
            writer.join()
        assert got.count(b"HTTP/1.1 401 ") > 200 and got.count(b"HTTP/1.1 429 ") > 0
        assert b"Retry-After: " in got and b"too many new ones from 127.0.0.1" in got
        assert status(server, good) == 200
        other = http.client.HTTPConnection("127.0.0.1", server.port, source_address=("127.0.0.2", 0), timeout=harness.DEADLINE_S)
        other.request("GET", "/sandbox/sandboxes", headers={"Authorization": "Bearer " + fresh})
        assert other.getresponse().status == 200
        other.close()


@pytest.mark.parametrize("claims, word", [
    ({"roles": None}, "roles"), ({"roles": ["none_such"]}, "roles"), ({"roles": 7}, "roles"), ({"roles": {"devs": 1}}, "roles"), ({"tenant": None}, "tenant"),
    ({"tenant": "*"}, "tenant"), ({"tenant": "a b"}, "tenant"), ({"tenant": ""}, "tenant"), ({"tenant": "x" * 65}, "tenant"), ({"tenant": ["a"]}, "tenant"),
    ({"tenant": "*", "roles": ["auditors"]}, "tenant"), ({"iii_operations": "exce"}, "iii_operations"), ({"iii_operations": []}, "iii_operations"),
    ({"iii_operations": 1}, "iii_operations"), ({"iii_operations": [1]}, "iii_operations"), ({"iii_sandbox": 1}, "iii_sandbox"), ({"iii_sandbox": "../x"}, "sandbox"),
    ({"iii_sandbox": "sbx_" + "0" * 24, "roles": ["ops"]}, "admin"), ({"iii_operations": ["exec"] * 25}, "24")])
def test_claims_that_map_to_nobody(server, issuer, claims, word):
    with server.client(issuer.token(**claims)) as caller:
        reply = caller.get("/sandboxes")
        assert reply.status == 403 and word in reply.error and "JWT" in reply.error, reply


def test_a_token_for_one_sandbox_and_some_operations(server, issuer, box):
    with server.client(issuer.token(iii_sandbox=box, iii_operations="exec files")) as agent:
        assert agent.exec(box, "echo hi")["stdout"] == "hi\n"
        assert "env::list is not among" in agent.get(f"/sandboxes/{box}/env").error
        assert agent.post("/sandboxes", {"image": "python"}).status == 403
    with server.client(issuer.token(iii_sandbox="sbx_" + "0" * 24)) as lost:
        assert lost.get(f"/sandboxes/{box}").status == 404
    with server.client(issuer.token(iii_sandbox=box, tenant="other")) as stranger:
        assert stranger.get(f"/sandboxes/{box}").status == 404, "the sandbox of another tenant"


def test_what_is_open_ends_with_the_token(server, issuer, box):
    token = issuer.token(exp=time.time() + 6)
    with server.client(token) as alice, engineclient.Worker(server.engine_port, headers={"Authorization": "Bearer " + token}) as worker:
        stream = alice.open("GET", "/stream/events")
        assert stream.status == 200
        socket = wsclient.WebSocket(server.port, f"/sandbox/sandboxes/{box}/exec/attach", {"Authorization": "Bearer " + token})
        socket.send(json.dumps({"command": "sleep 600"}))

        def over():
            try:
                while stream.readline():
                    pass
            except OSError:
                pass

        ends = threading.Thread(target=over)
        ends.start()
        socket.closed()
        ends.join(harness.DEADLINE_S)
        assert not ends.is_alive()
        with pytest.raises((wsclient.Closed, OSError)):
            while True:
                worker.next()
        assert status(server, token) == 401


def test_audit_names_issuer_and_subject(server, issuer):
    token = issuer.token(sub="auth0|Zoë")
    with server.client(token) as caller:
        made = caller.ok("POST", "/volumes", {"name": "audited"})["id"]
        caller.ok("DELETE", f"/volumes/{made}")
        caller.get("/tokens")

    def lines():
        found = [json.loads(line) for line in (server.data_dir / "audit" / "current.jsonl").read_text().splitlines()]
        found = [line for line in found if line.get("subject") == "auth0|Zoë"]
        return found if len(found) >= 2 else None

    for line in harness.wait_until(lines, "the lines are there"):
        assert (line["issuer"], line["tenant"]) == (issuer.url, "acme") and line["name"].startswith("auth0_Zo") and line["token"].startswith("jwt_"), line
    assert token.split(".")[1] not in (server.data_dir / "audit" / "current.jsonl").read_text()
    assert harness.run_cli("audit", "verify", "--data-dir", server.data_dir).returncode == 0


def test_quotas_of_the_tenant_bind_its_guests(server, issuer):
    with server.client() as admin, server.client(issuer.token(tenant="small")) as guest:
        token = admin.ok("POST", "/tokens", {"name": "small", "tenant": "small", "quota": {"volumes": 1}})
        made = guest.ok("POST", "/volumes", {"name": "v1"})["id"]
        reply = guest.post("/volumes", {"name": "v2"})
        assert reply.status == 429 and "volumes" in reply.error
        with server.client(issuer.token(tenant="small", sub="later")) as later:
            assert later.post("/volumes", {"name": "v3"}).status == 429
        admin.ok("DELETE", f"/tokens/{token['id']}")
        second = guest.ok("POST", "/volumes", {"name": "v2"})["id"]
        for volume in (made, second):
            guest.ok("DELETE", f"/volumes/{volume}")


# --- where the keys come from: servers that run nothing ---

def quiet(issuer, **more):
    return harness.Server(env=issuer.settings(III_ISOLATION_BACKEND="fake", **more))


def settle(made, token, wanted):
    """Repeats a request while the server fetches keys."""
    with made.client(token) as caller:
        reply = harness.wait_until(lambda: (r := caller.get("/sandboxes")).status != 503 and r, "the keys were fetched")
        assert reply.status == wanted, reply


def test_keys_are_rotated_and_withdrawn(tmp_path):
    issuer = jwtkit.Issuer(tmp_path / "issuer")
    with quiet(issuer) as made:
        old = issuer.token()
        settle(made, old, 200)
        with made.client(old) as caller:
            stream = caller.open("GET", "/stream/events")
            second = jwtkit.Key(tmp_path, "second", "Ed25519")
            issuer.keys = [second.jwk()]
            new = issuer.token(second)
            with made.client(new) as other:
                reply = other.get("/sandboxes")
                assert reply.status == 503 and reply.headers["retry-after"] == "1" and "being fetched" in reply.error, reply
            settle(made, new, 200)
            while stream.readline():
                pass  # ends with the key that signed its token
        settle(made, old, 401)
        asked = issuer.key_requests
        for number in range(20):  # whoever invents key ids does not flood the issuer
            status(made, forged(issuer, {"alg": "ES256", "kid": f"invented {number}"}))
        assert issuer.key_requests <= asked + 3
        issuer.is_down = True
        assert status(made, new) == 200
    issuer.close()


def test_an_issuer_that_is_down(tmp_path):
    issuer = jwtkit.Issuer(tmp_path / "issuer")
    issuer.is_down = True
    with quiet(issuer, III_OIDC_REFRESH="1") as made:
        token = issuer.token()
        with made.client() as nobody:
            assert any("OIDC" in text for text in harness.wait_until(lambda: nobody.ok("GET", "/health").get("problems"), "health says so"))
            assert nobody.get("/sandboxes").status == 401, "a server with an issuer asks for a token"
        assert status(made, token) == 503
        harness.wait_until(lambda: "HTTP status 500" in made.log(), "the log says why")
        doctor = harness.run_cli("doctor", "--json", env={**made.env, "III_DATA_DIR": str(made.data_dir)})
        row = [r for r in json.loads(doctor.stdout)["checks"] if r["name"] == "OIDC issuer"][0]
        assert not row["ok"] and "500" in row["detail"] and "III_OIDC_JWKS" in row["fix"], row
        issuer.is_down = False
        settle(made, token, 200)
        harness.wait_until(lambda: issuer.key_requests >= 3, "the keys are fetched again by age")
        issuer.is_down = True
        harness.wait_until(lambda: "the known keys stay in use" in made.log(), "the fetch fails")
        assert status(made, token) == 200 and status(made, issuer.token(sub="bob")) == 200, "with the keys that are known"
    issuer.close()


@pytest.mark.parametrize("change, why", [({"issuer": "https://other.example"}, "names another issuer"), ({"jwks_uri": "http://other.example/keys"}, "https://"),
                                         ({"jwks_uri": "https://10.0.0.1/keys"}, "not allowed"), ({"jwks_uri": "https://127.0.0.1:1/keys"}, "not allowed"),
                                         ({"jwks_uri": None}, "https://")])
def test_a_discovery_document_leads_nowhere_else(tmp_path, change, why):
    issuer = jwtkit.Issuer(tmp_path / "issuer")
    issuer.discovery = change
    with quiet(issuer) as made:
        harness.wait_until(lambda: why in made.log(), f"the log says {why}: {made.log()}")
        assert status(made, issuer.token()) == 503
    issuer.close()


def test_keys_from_a_file_and_other_claims(tmp_path):
    issuer = jwtkit.Issuer(tmp_path / "issuer")
    path = tmp_path / "jwks.json"
    path.write_text(json.dumps({"keys": [{"kty": "oct", "k": url64(b"secret" * 8), "kid": "first"}, issuer.key.jwk()]}))
    path.chmod(0o600)
    config = {"III_OIDC_JWKS": str(path), "III_OIDC_ROLES": "", "III_OIDC_DEFAULT_ROLE": "user", "III_OIDC_TENANT_CLAIM": "https://example.com/org.name",
              "III_OIDC_ROLE_CLAIM": "realm_access.roles", "III_OIDC_QUOTA": '{"sandboxes": 0}'}
    with quiet(issuer, **config) as made:
        with made.client(issuer.token(**{"https://example.com/org.name": "acme", "realm_access": {"roles": ["x"]}})) as caller:
            reply = caller.post("/sandboxes", {"image": "python"})
            assert reply.status == 429 and "sandboxes" in reply.error, reply
        assert status(made, issuer.token(**{"https://example.com/org": {"name": "acme"}})) == 403, "a dot of a name is not a path where the name is known"
        unknown = forged(issuer, {"alg": "ES256", "kid": "second"})
        assert status(made, unknown) == 401
        doctor = harness.run_cli("doctor", "--json", env={**made.env, "III_DATA_DIR": str(made.data_dir)})
        row = [r for r in json.loads(doctor.stdout)["checks"] if r["name"] == "OIDC issuer"][0]
        assert row["ok"] and "1 key" in row["detail"], row
    assert issuer.requests == 0, "an air-gapped server asks nobody"
    issuer.close()


@pytest.mark.parametrize("change, word", [
    ({"III_OIDC_AUDIENCE": ""}, "III_OIDC_AUDIENCE"), ({"III_OIDC_ISSUER": "http://issuer.example"}, "https://"), ({"III_OIDC_ISSUER": "issuer.example"}, "https://"),
    ({"III_OIDC_ROLES": ""}, "III_OIDC_DEFAULT_ROLE"), ({"III_OIDC_ROLES": "[]"}, "III_OIDC_ROLES"), ({"III_OIDC_ROLES": '{"a": "root"}'}, "root"),
    ({"III_OIDC_DEFAULT_ROLE": "admin"}, "III_OIDC_DEFAULT_ROLE"), ({"III_OIDC_JWKS": "/none/such"}, "/none/such"), ({"III_OIDC_JWKS": "ftp://x/y"}, "III_OIDC_JWKS"),
    ({"III_OIDC_QUOTA": '{"cats": 1}'}, "III_OIDC_QUOTA"), ({"III_OIDC_JWKS": "/dev/null"}, "III_OIDC_JWKS")])
def test_settings_that_make_no_sense(change, word, tmp_path):
    env = {"III_OIDC_ISSUER": "https://issuer.example", "III_OIDC_AUDIENCE": "iii", "III_OIDC_ROLES": '{"a": "user"}', "III_ISOLATION_BACKEND": "fake", **change}
    done = harness.run_cli("serve", "--port", "0", "--engine-port", "0", "--data-dir", tmp_path / "data", env=env)
    assert done.returncode == 1 and word in done.stderr, done
