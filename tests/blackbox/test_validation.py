"""Bad input: the status of the contract, nothing half-made, the server still serving."""
import json
import os
import random

import pytest

import harness

SERVER_ENV = {"III_MAX_BODY_MB": "1"}


@pytest.fixture(autouse=True)
def nothing_half_made(client):
    """Whatever a test sends, the number of sandboxes is the same afterwards and the server answers."""
    before = client.ok("GET", "/metrics")["activeSandboxes"]
    yield
    assert client.ok("GET", "/metrics")["activeSandboxes"] == before


@pytest.mark.parametrize("body", [{"image": ""}, {"image": 5}, {"image": "a/../b"}, {"image": "py$thon"},
                                  {"image": "x" * 300}, {"image": "python", "env": {"A": 5}}, {"image": "python", "metadata": {"A": []}},
                                  {"image": "python", "env": {"A": None}}, {"image": "py\nthon"}])
def test_create_refused(client, body):
    reply = client.post("/sandboxes", body)
    assert reply.status == 400 and reply.error


def test_an_image_that_is_nowhere(client):
    reply = client.post("/sandboxes", {"image": "no-such-image-anywhere"})
    assert reply.status == 404 and "no-such-image-anywhere" in reply.error


@pytest.mark.parametrize("method, path", [
    ("GET", ""), ("DELETE", ""), ("POST", "/pause"), ("POST", "/resume"), ("POST", "/renew"), ("POST", "/clone"), ("POST", "/exec"),
    ("POST", "/exec/stream"), ("POST", "/exec/background"), ("POST", "/exec/interrupt"), ("POST", "/files/read"), ("POST", "/files/write"),
    ("POST", "/files/list"), ("GET", "/env"), ("POST", "/env"), ("GET", "/processes"), ("GET", "/processes/top"), ("POST", "/processes/kill"),
    ("GET", "/metrics")])
@pytest.mark.parametrize("sid", [harness.UNKNOWN, "sbx_1", "x", "sbx_" + "z" * 24, "%00", "a" * 200], ids=["unknown", "short", "letter", "no hex", "percent", "long"])
def test_an_unknown_sandbox(client, method, path, sid):
    body = {"command": "true", "path": "x", "content": "", "vars": {"A": "b"}, "pid": 1, "expiresAt": 1}
    reply = client.call(method, f"/sandboxes/{sid}{path}", body)
    assert reply.status == 404 and "not found" in reply.error


BROKEN = [b"{", b"{'a': 1}", b"nul", b'{"a":1}{"b":2}', b'{"a":\x01}', b'{"a":"\xff"}', b"\x00\x01\x02", b'{"a":1,}',
                                  b'{"a":"' + b"\\ud800" + b'"}', b"[" * 100_000, b'{"a":' * 50_000, b"\xef\xbb\xbf{}x"]


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
def test_broken_json(client, box, text):
    for path in ("/sandboxes", f"/sandboxes/{box}/exec"):
        reply = client.call("POST", path, text, {"Content-Type": "application/json"})
        assert reply.status == 400 and reply.error


@pytest.mark.parametrize("text", [b"[]", b"5", b'"x"', b"null", b"true"])
def test_json_that_is_no_object_is_ignored(client, text):
    assert client.call("GET", "/sandboxes", text, {"Content-Type": "application/json"}).status == 200
    assert client.call("POST", "/sandboxes", text, {"Content-Type": "application/json"}).status == 400  # image is missing


def test_a_body_of_another_type_is_not_read(client):
    reply = client.call("POST", "/sandboxes", b'{"image":"python"}', {"Content-Type": "text/plain"})
    assert reply.status == 400 and reply.error == "image name is empty (the body was not read: send Content-Type: application/json)"
    for body in (None, b" "):
        made = client.call("POST", "/sandboxes", body, {"Content-Type": "text/plain"}).json()
        assert made["image"] == "python", "nothing was sent that could be lost"
        assert client.delete(f"/sandboxes/{made['id']}").status == 200


def test_content_type_may_have_parameters(client):
    reply = client.call("GET", "/sandboxes", b'{"pageSize":3}', {"Content-Type": "application/json; charset=utf-8"})
    assert reply.status == 200 and reply.json()["pageSize"] == 3


def test_precedence_is_query_body_path(client, box):
    assert client.ok("GET", "/sandboxes?pageSize=5", {"pageSize": 7})["pageSize"] == 7
    assert client.ok("GET", "/sandboxes?pageSize=5", {"pageSize": None})["pageSize"] in (5, 20)
    assert client.ok("GET", f"/sandboxes/{box}?id=other", {"id": "another"})["id"] == box


@pytest.mark.parametrize("query, status", [("page=abc", 400), ("pageSize=1.5", 400), ("page=2", 200), ("page=%32", 200), ("page=", 400),
                                           ("nothing", 200), ("&&=&", 200), ("page=99999999999999999999", 200), ("%zz=1", 200)])
def test_query_strings(client, query, status):
    reply = client.get("/sandboxes?" + query)
    assert reply.status == status or (status == 200 and reply.status == 400 and "%zz" in query), reply


def test_huge_bodies(client, box):
    big = json.dumps({"command": "true", "padding": "x" * (2 << 20)})
    reply = client.post(f"/sandboxes/{box}/exec", big)
    assert reply.status == 413 and reply.error
    client.close()
    assert client.exec(box, "echo fine")["stdout"] == "fine\n"


def test_a_body_just_within_the_limit(client, box):
    command = "true #" + "x" * 100_000
    assert client.exec(box, command)["exitCode"] == 0


def test_random_bytes_to_every_kind_of_route(client, box):
    chance = random.Random(20240501)
    for path in ("/sandboxes", f"/sandboxes/{box}/exec", f"/sandboxes/{box}/files/write", f"/sandboxes/{box}/env"):
        for _ in range(20):
            noise = chance.randbytes(chance.randrange(1, 400))
            reply = client.call("POST", path, noise, {"Content-Type": "application/json"})
            assert reply.status == 400


def test_unknown_paths_and_methods(client, box):
    assert client.get("/no/such/route").status == 404
    assert client.get(f"/sandboxes/{box}/no-such-thing").status == 404
    assert client.get(f"/sandboxes/{box}/exec").status == 405
    assert client.call("PUT", "/sandboxes", {}).status == 405
    assert client.delete("/health").status == 405
    with harness.Client(client.port, prefix="") as outside:
        assert outside.get("/no-page").status == 404
        assert outside.get("/sandboxes").status == 404


def test_deeply_nested_values_and_many_members(client, box):
    nested = {"image": "python", "metadata": {"a": "b"}, "x": json.loads("[" * 200 + "]" * 200)}
    assert client.post(f"/sandboxes/{harness.UNKNOWN}/clone", nested).status == 404
    many = {f"k{i}": "v" for i in range(20_000)}
    assert client.post("/sandboxes", {"image": "python", "metadata": many}).status == 400
    assert client.post(f"/sandboxes/{box}/env", {"vars": many}).status == 400
    assert client.post(f"/sandboxes/{box}/files/mkdir", {"paths": ["a"] * 20_000}).status == 400


def test_another_prefix():
    with harness.Server(env={"III_API_PREFIX": "v9"}) as server:
        with harness.Client(server.port, prefix="/v9") as moved, harness.Client(server.port) as old:
            assert moved.ok("GET", "/health") == {"status": "healthy"}
            assert old.get("/health").status == 404


def test_names_from_outside_are_escaped_in_the_log(server, client):
    client.post("/sandboxes", {"image": "evil\u2028image evt=forged level=error"})
    assert os.linesep + "evt=forged" not in server.log_path.read_text()
