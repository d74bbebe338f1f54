"""The console at / in Debian's Chromium: the programs are in sdk/console.mjs. Errors of a page, rejected promises and violations of its policy fail a test."""
import json
import re

import pytest

import consolekit
import harness
import inside

HOSTILE = '<img src=x onerror="globalThis.pwned=1;ranScript()">\u202e'


@pytest.fixture(scope="module")
def own():
    """A server of these tests alone: they count its sandboxes."""
    with harness.Server(env={"III_METRICS_INTERVAL": "*/2 * * * * *"}) as server:
        yield consolekit.need(server)


def run(scenario, server, *args):
    return consolekit.run("console.mjs", scenario, server, *args)


def test_the_files_are_of_this_origin_and_kept(own):
    status, headers, page = get(own.port, "/")
    policy = headers["content-security-policy"]
    assert status == 200 and "unsafe" not in policy and "script-src 'self'" in policy and headers["cache-control"] == "no-cache"
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    names = re.findall(r'"(/console/[^"]+)"', page)
    assert len(names) == 3 and not re.search(r"<script(?! type=\"module\" src)|<style| on\w+=", page)
    for name in names:
        status, headers, _ = get(own.port, name)
        assert status == 200 and "immutable" in headers["cache-control"] and headers["x-content-type-options"] == "nosniff"
    assert get(own.port, "/console/nothing.js")[0] == 404


def post(port, body, headers):
    return get(port, "/console/session", {"Content-Type": "application/json", **headers}, "POST", json.dumps(body))


def get(port, path, headers=None, method="GET", body=""):
    lines = {"Host": f"127.0.0.1:{port}", "Connection": "close", "Content-Length": str(len(body)), **(headers or {})}
    head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    answer = harness.raw(port, f"{head}\r\n{body}".encode())
    head, _, body = answer.partition(b"\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
    return int(head.split(b" ")[1]), {k.lower(): v for k, v in headers.items()}, body.decode("utf-8", "replace")


def test_a_tour(own):
    run("tour", own)


@pytest.mark.needs("egress", "snapshot")
def test_what_is_around_a_sandbox(own):
    with own.client() as client:
        box = client.ok("POST", "/sandboxes", {"image": "python", "network": True})["id"]
        client.ok("POST", f"/sandboxes/{box}/files/write", {"path": "poem.txt", "content": "roses are red\n"})
        client.ok("POST", f"/sandboxes/{box}/snapshots", {"name": "before"})
        client.ok("POST", f"/sandboxes/{box}/files/write", {"path": "poem.txt", "content": "roses are blue\u202e\n"})
        run("around", own, box)
        assert client.ok("GET", "/sandboxes")["total"] == 1, "what the comparison made is gone"
        client.ok("DELETE", f"/sandboxes/{box}")


def test_engine_and_audit_log(own):
    run("admin", own)
    with own.client() as client:
        assert [one["name"] for one in client.ok("GET", "/volumes")["volumes"]] == ["called"]
        for one in client.ok("GET", "/volumes")["volumes"]:
            client.ok("DELETE", f"/volumes/{one['id']}")


def test_a_hostile_sandbox_runs_no_script(own):
    with own.client() as client:
        box = client.ok("POST", "/sandboxes", {"image": "python", "name": HOSTILE, "metadata": {"note": HOSTILE}})["id"]
        client.ok("POST", f"/sandboxes/{box}/files/write", {"path": HOSTILE, "content": HOSTILE})
        client.ok("POST", f"/sandboxes/{box}/exec/background", {"command": f"exec -a '{HOSTILE}' sleep 60"})
        run("hostile", own, box)
        client.ok("DELETE", f"/sandboxes/{box}")


def test_roles_and_tenants():
    with harness.Server(env={"III_AUTH_TOKEN": "console-admin"}) as server, server.client(token="console-admin") as admin:
        user = admin.ok("POST", "/tokens", {"name": "u", "role": "user", "tenant": "t1", "quota": {"sandboxes": 3}})["secret"]
        reader = admin.ok("POST", "/tokens", {"name": "r", "role": "read-only", "tenant": "t1"})["secret"]
        admin.ok("POST", "/sandboxes", {"image": "shell"})
        with server.client(token=user) as one:
            mine = one.ok("POST", "/sandboxes", {"image": "shell", "name": "mine"})["id"]
        run("roles", server, "console-admin", user, reader)
        admin.ok("DELETE", f"/sandboxes/{mine}")


def test_a_session_needs_cookie_and_proof():
    """Over plain HTTP, so that it runs without a browser, too."""
    env = {"III_AUTH_TOKEN": "console-admin"}
    with harness.Server(env=env) as server, server.client(token="console-admin") as admin:
        user = admin.ok("POST", "/tokens", {"name": "u", "role": "user"})
        here = {"Origin": f"http://127.0.0.1:{server.port}"}
        status, headers, body = post(server.port, {"token": user["secret"]}, here)
        proof, cookie = json.loads(body)["proof"], headers["set-cookie"].split(";")[0]
        assert status == 200 and all(word in headers["set-cookie"] for word in ("HttpOnly", "SameSite=Strict", "Path=/"))
        assert user["secret"] not in body + headers["set-cookie"]
        both = {"Cookie": f"a=b; {cookie}", "Iii-Session": proof}
        cases = ((both, 200), ({"Cookie": cookie}, 401), ({"Iii-Session": proof}, 401), ({**both, "Iii-Session": proof[:-1] + "x"}, 401),
                 ({**both, "Cookie": f"{cookie}0"}, 401), ({**both, "Authorization": "Bearer wrong"}, 403))
        for shown, expected in cases:
            assert get(server.port, "/sandbox/sandboxes", shown)[0] == expected, shown
        assert json.loads(get(server.port, "/console/session", both)[2])["role"] == "user"
        # Other pages, wrong tokens and odd bodies begin none.
        for token, more, expected in ((user["secret"], {"Origin": "https://evil.example"}, 403), ("wrong", here, 403), ("", here, 400), (7, here, 400)):
            assert post(server.port, {"token": token}, more)[0] == expected
        # An application in a sandbox, under the same origin, gets other cookies only.
        with server.client(token=user["secret"]) as client:
            box = client.ok("POST", "/sandboxes", {"image": "python"})["id"]
            inside.start(client, box, inside.HTTP_ECHO, 8080)
            inside.expose(client, box, 8080)
            status, _, seen = get(server.port, f"/sandbox/proxy/{box}/8080/echo", both)
            assert status == 200 and "a=b" in seen, seen
            assert cookie not in seen and proof not in seen
        admin.ok("DELETE", f"/tokens/{user['id']}")
        assert get(server.port, "/sandbox/sandboxes", both)[0] == 403
        assert get(server.port, "/console/session", both, method="DELETE")[0] == 200
        assert get(server.port, "/sandbox/sandboxes", both)[0] == 401
        # One token has a share of all sessions: its oldest makes room.
        first = post(server.port, {"token": "console-admin"}, here)
        for _ in range(32):
            assert post(server.port, {"token": "console-admin"}, here)[0] == 200
        old = {"Cookie": first[1]["set-cookie"].split(";")[0], "Iii-Session": json.loads(first[2])["proof"]}
        assert get(server.port, "/sandbox/sandboxes", old)[0] == 401
