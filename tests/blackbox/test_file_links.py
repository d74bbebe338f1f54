"""Signed URLs of files: one method, one sandbox, one path, until they expire; whatever else is asked for is refused with the same answer."""
import json
import re
import urllib.parse

import pytest

import harness

TOKEN = "the admin's"
PATH = "/workspace/übung & ähnliches?.txt"
CONTENT = b"0123456789" * 100


@pytest.fixture(scope="module")
def closed():
    """A server with a token, and a sandbox with a file."""
    with harness.Server(env={"III_AUTH_TOKEN": TOKEN}) as made:
        client = made.client(token=TOKEN)
        sid = client.ok("POST", "/sandboxes", {"image": "python"})["id"]
        made.box, made.admin = sid, client
        put = client.call("PUT", f"/sandboxes/{sid}/files/content?path={urllib.parse.quote(PATH)}", CONTENT)
        assert put.status == 200, put.body
        yield made
        client.ok("DELETE", f"/sandboxes/{sid}")
        client.close()


def sign(server, path=PATH, client=None, sid=None, **fields):
    return (client or server.admin).ok("POST", f"/sandboxes/{sid or server.box}/files/sign", {"path": path, **fields})


def use(server, url, method="GET", body=None, **headers):
    """As anyone would: the URL alone."""
    parts = urllib.parse.urlsplit(url)
    assert parts.port == server.port and parts.scheme == "http"
    with server.client(prefix="", token=None) as visitor:
        return visitor.call(method, f"{parts.path}?{parts.query}", body, headers={k.replace("_", "-"): v for k, v in headers.items()})


def refused(reply):
    """Every refusal is the same."""
    assert reply.status == 403 and "this URL is not valid" in reply.error, (reply.status, reply.body)
    return reply.body


def new_token(server, **fields):
    return server.admin.ok("POST", "/tokens", {"name": "signer", **fields})


def test_a_download_needs_no_token(closed):
    made = sign(closed)
    assert made["method"] == "GET" and made["path"] == PATH and not made["once"]
    whole = use(closed, made["url"])
    assert whole.status == 200 and whole.body == CONTENT
    assert whole.headers["content-disposition"].startswith("attachment") and whole.headers["x-content-type-options"] == "nosniff"
    part = use(closed, made["url"], Range="bytes=10-12")
    assert part.status == 206 and part.body == b"012" and part.headers["content-range"] == f"bytes 10-12/{len(CONTENT)}"
    assert use(closed, made["url"], If_None_Match=whole.headers["etag"]).status == 304
    assert use(closed, made["url"], If_Match='"other"').status == 412
    assert use(closed, made["url"], "HEAD").status == 200
    with_token = use(closed, made["url"], Authorization="Bearer wrong")
    assert with_token.status == 200, "the URL is the credential"
    packed = use(closed, sign(closed, "/workspace", format="zip")["url"])
    assert packed.status == 200 and packed.body[:2] == b"PK"


def test_an_upload_is_bound_to_its_size_and_type(closed):
    made = sign(closed, "new.bin", method="put", maxBytes=5, contentType="image/png")
    assert made["method"] == "PUT" and made["path"] == "/workspace/new.bin"
    png = {"Content_Type": "image/png"}
    assert use(closed, made["url"], "PUT", b"12345", **png).status == 200
    large = use(closed, made["url"], "PUT", b"123456", **png)
    assert large.status == 413 and "maxBytes, 5 bytes" in large.error
    assert use(closed, made["url"], "PUT", iter([b"1234", b"5678"]), **png).status == 413
    assert use(closed, sign(closed, "new.bin")["url"]).body == b"12345", "the old file stays"
    refused(use(closed, made["url"], "PUT", b"1", Content_Type="text/plain"))
    refused(use(closed, made["url"], "PUT", b"1"))
    any_type = sign(closed, "new.bin", method="put")["url"]
    refused(use(closed, any_type, "PUT", b'--x\r\nContent-Disposition: form-data; name="f"; filename="../other"\r\n\r\nx\r\n--x--\r\n',
                Content_Type="multipart/form-data; boundary=x"))
    assert use(closed, any_type, "PUT", b"new", If_None_Match="*").status == 412
    assert use(closed, any_type, "PUT", b"").status == 200


def test_nothing_about_it_can_be_changed(closed):
    url = sign(closed)["url"]
    other = closed.admin.ok("POST", "/sandboxes", {"image": "python"})["id"]
    expires = int(re.search(r"expires=(\d+)", url)[1])
    last = url[-1]
    changed = [url[:-1] + ("0" if last != "0" else "1"), url[:-1], url + "0", url + "&path=/etc/passwd", url + "&x=1", url.replace("?", "?x=1&"),
               url.replace("?path=", "?path=%2Fetc%2Fpasswd&path="), url.replace(f"expires={expires}", f"expires={expires + 1}"),
               url.replace("%20", "+"), url.replace("by=env", "by="), url.replace("by=env", "by=tok_0"), url.replace("%20", "%zz"), url.replace(closed.box, other),
               url.replace(closed.box, harness.UNKNOWN), re.sub("signature=.*", "signature=", url), re.sub("path=[^&]*&", "", url), url.split("?")[0] + "?signature=x",
               url.replace("signature=", "signature=" + "0" * 64 + "&signature=")]
    texts = {refused(use(closed, one)) for one in changed}
    texts.add(refused(use(closed, url, "PUT", b"x")))
    texts.add(refused(use(closed, sign(closed, method="put")["url"])))
    assert len(texts) == 1, "no answer tells what was wrong"
    elsewhere = urllib.parse.urlsplit(url)
    with closed.client(prefix="", token=None) as visitor:
        for path in ("files/list", "files/sign", "env"):
            assert visitor.call("GET", f"/sandbox/sandboxes/{closed.box}/{path}?{elsewhere.query}").status in (401, 405)
        assert visitor.call("POST", f"{elsewhere.path}?{elsewhere.query}", b"x").status == 401, "a form needs a token"
    assert use(closed, url).status == 200
    closed.admin.ok("DELETE", f"/sandboxes/{other}")


def test_it_ends(closed):
    brief = sign(closed, ttl=1)["url"]
    harness.wait_until(lambda: use(closed, brief).status == 403, "it expires")
    refused(use(closed, brief))
    once = sign(closed, once=True)
    assert once["once"] and use(closed, once["url"]).status == 200
    refused(use(closed, once["url"]))
    upload = sign(closed, "once.txt", method="put", once=True)["url"]
    assert use(closed, upload, "PUT", b"1").status == 200
    refused(use(closed, upload, "PUT", b"2"))
    first = sign(closed, once=True)["url"]
    for _ in range(64):
        last = sign(closed, once=True)["url"]
    refused(use(closed, first))
    assert use(closed, last).status == 200, "the newest replaced the oldest"
    gone = closed.admin.ok("POST", "/sandboxes", {"image": "python"})["id"]
    url = sign(closed, "/etc/hostname", sid=gone)["url"]
    assert use(closed, url).status == 200
    closed.admin.ok("DELETE", f"/sandboxes/{gone}")
    refused(use(closed, url))


def test_it_ends_with_its_token_and_with_the_key(closed):
    token = new_token(closed)
    with closed.client(token=token["secret"]) as signer:
        mine = signer.ok("POST", "/sandboxes", {"image": "python"})["id"]
        url = sign(closed, "/etc/hostname", client=signer, sid=mine)["url"]
        assert use(closed, url).status == 200
        rotated = closed.admin.ok("POST", f"/tokens/{token['id']}/rotate")
        refused(use(closed, url))
    with closed.client(token=rotated["secret"]) as signer:
        url = sign(closed, "made.txt", client=signer, sid=mine, method="put")["url"]
        assert use(closed, url, "PUT", b"x").status == 200
        log = closed.data_dir / "audit" / "current.jsonl"

        def signers():
            lines = [json.loads(line) for line in log.read_text().split("\n")[:-1]]
            return [line["token"] for line in lines if line["operation"] == "fs::content-write"]
        harness.wait_until(lambda: token["id"] in signers(), "the audit log to name the signer")
        assert signer.call("POST", "/links/rotate").status == 403, "for admins"
    closed.admin.ok("DELETE", f"/tokens/{token['id']}")
    refused(use(closed, url, "PUT", b"x"))
    mine_url = sign(closed)["url"]
    assert use(closed, mine_url).status == 200
    assert closed.admin.ok("POST", "/links/rotate") == {"success": True}
    refused(use(closed, mine_url))
    assert use(closed, sign(closed)["url"]).status == 200
    closed.admin.ok("DELETE", f"/sandboxes/{mine}")


def test_who_may_sign_what(closed):
    reader, scoped = new_token(closed, role="read-only", tenant="*"), new_token(closed, role="admin", operations=["fs::sign", "fs::content-read"])
    with closed.client(token=reader["secret"]) as client:
        assert client.call("POST", f"/sandboxes/{closed.box}/files/sign", {"path": PATH}).status == 403
    with closed.client(token=scoped["secret"]) as client:
        assert use(closed, sign(closed, client=client)["url"]).status == 200
        reply = client.call("POST", f"/sandboxes/{closed.box}/files/sign", {"path": PATH, "method": "put"})
        assert reply.status == 403 and "fs::content-write" in reply.error
    for token in (reader, scoped):
        closed.admin.ok("DELETE", f"/tokens/{token['id']}")


@pytest.mark.parametrize("fields, word", [
    ({"ttl": 0}, "ttl"), ({"ttl": 604801}, "ttl"), ({"method": "post"}, "method"), ({"path": ""}, "path"), ({"path": "x" * 4097}, "path"),
    ({"maxBytes": -1, "method": "put"}, "maxBytes"), ({"maxBytes": 1}, "maxBytes"), ({"contentType": "a/b"}, "contentType"),
    ({"contentType": "x" * 128, "method": "put"}, "contentType"), ({"format": "rar"}, "format"), ({"format": "zip", "method": "put"}, "format"),
    ({"path": "/workspace/", "method": "put"}, "folder")])
def test_bad_wishes_are_named(closed, fields, word):
    reply = closed.admin.call("POST", f"/sandboxes/{closed.box}/files/sign", {"path": PATH, **fields})
    assert reply.status == 400 and word in reply.error, reply.body


def test_the_address_is_the_operators(closed):
    assert sign(closed)["url"].startswith(f"http://127.0.0.1:{closed.port}/sandbox/sandboxes/{closed.box}/files/content?path=")
    with harness.Server(env={"III_PUBLIC_URL": "https://sandboxes.example/"}) as other, other.client() as client:
        sid = client.ok("POST", "/sandboxes", {"image": "python"})["id"]
        url = sign(other, "/etc/hostname", client=client, sid=sid)["url"]
        assert url.startswith(f"https://sandboxes.example/sandbox/sandboxes/{sid}/files/content?")
        local = url.replace("https://sandboxes.example", f"http://127.0.0.1:{other.port}")
        assert use(other, local).status == 200, "also on a server without tokens"
        client.ok("DELETE", f"/sandboxes/{sid}")


def test_it_survives_the_server():
    with harness.Server(env={"III_AUTH_TOKEN": TOKEN}) as made:
        with made.client(token=TOKEN) as client:
            sid = client.ok("POST", "/sandboxes", {"image": "python"})["id"]
            query = sign(made, "/etc/hostname", client=client, sid=sid, once=True)["url"].split("?")[1]
        made.kill()
        made.start()
        url = f"http://127.0.0.1:{made.port}/sandbox/sandboxes/{sid}/files/content?{query}"
        assert use(made, url).status == 200
        refused(use(made, url))
        with made.client(token=TOKEN) as client:
            client.ok("DELETE", f"/sandboxes/{sid}")
