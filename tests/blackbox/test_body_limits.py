"""JSON bodies: 2 MiB, except where a row carries content."""
import base64
import json

import harness

LIMIT = 2 << 20


def body_of(size, **fields):
    """JSON of exactly that many bytes."""
    rest = len(json.dumps({**fields, "pad": ""}))
    return json.dumps({**fields, "pad": "x" * (size - rest)}).encode()


def test_a_body_longer_than_2_mib_is_refused_by_length_and_by_chunks(server, client, box):
    path = f"/sandboxes/{box}/exec"
    assert client.post(path, body_of(LIMIT, command="true"), headers={"Content-Type": "application/json"}).status == 200
    reply = client.post(path, body_of(LIMIT + 1, command="true"), headers={"Content-Type": "application/json"})
    assert reply.status == 413 and str(LIMIT) in reply.error and "fs::write" in reply.error
    data = body_of(LIMIT + 1, command="true")
    head = f"POST /sandbox{path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer = harness.raw(server.port, head.encode() + b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data))
    assert harness.status_of(answer) == 413


def test_rows_that_carry_content_take_more(client, box):
    text = "x" * (3 << 20)
    client.ok("POST", f"/sandboxes/{box}/files/write", {"path": "/workspace/w", "content": text})
    client.ok("POST", f"/sandboxes/{box}/files/upload", {"path": "/workspace/u", "content": base64.b64encode(text.encode()).decode()})
    assert client.exec(box, "cat /workspace/w /workspace/u | wc -c")["stdout"].strip() == str(2 * len(text))


def test_the_server_wide_limit_is_the_lower_one_when_it_is_lower():
    with harness.Server(env={"III_MAX_BODY_MB": "1"}) as server, server.client() as client:
        reply = client.post("/sandboxes", body_of((1 << 20) + 1, image="python"), headers={"Content-Type": "application/json"})
        assert reply.status == 413 and str(1 << 20) in reply.error and "III_MAX_BODY_MB" in reply.error
