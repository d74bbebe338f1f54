"""sandbox:: functions as a caller sees them: results as they are, failures as checked envelopes."""
import json
import uuid

import pytest

import engineclient
import wsclient

TYPES = {"S00": "validation", "S100": "config", "S101": "internal", "S102": "transient", "S200": "execution",
         "S218": "transient", "S21": "filesystem", "S300": "platform", "S400": "config"}
MEMBERS = {"code", "docs_url", "fix", "fix_note", "message", "retryable", "type"}
PREFIX = "handler error: "


def envelope(failed):
    """The error's JSON, after checking what every one must have."""
    assert failed.code == "invocation_failed", failed.body
    assert failed.message.startswith(PREFIX), failed.message
    assert failed.body.get("stacktrace", "") is not None
    body = json.loads(failed.message[len(PREFIX):])
    assert MEMBERS <= set(body), body
    assert list(body)[:7] == sorted(MEMBERS)
    kind = next(value for key, value in sorted(TYPES.items(), key=lambda kv: -len(kv[0])) if body["code"].startswith(key))
    assert body["type"] == kind, body
    assert body["retryable"] is (body["code"] in ("S102", "S218"))
    assert body["docs_url"].endswith("#" + body["code"])
    assert body["message"]
    return body


class Functions:
    def __init__(self, port, headers=None):
        self.port, self.worker, self.made = port, engineclient.Worker(port, headers=headers), []

    def call(self, name, /, **data):
        result = self.worker.call("sandbox::" + name, data)
        if name == "create" or result.get("sandbox_id") and name == "run":
            self.made.append(result["sandbox_id"])
        return result

    def raw(self, name, data):
        return self.worker.call("sandbox::" + name, data)

    def ask(self, name, /, **data):
        return self.worker.ask("sandbox::" + name, data)

    def answer(self, call_id):
        return self.worker.answer_to(call_id)

    def fault(self, name, code, /, **data):
        """The envelope of a call that must fail with that code."""
        body = envelope(self.worker.fail("sandbox::" + name, data))
        assert body["code"] == code, body
        return body

    def fault_of(self, call_id, code):
        try:
            result = self.answer(call_id)
        except engineclient.Failed as failed:
            body = envelope(failed)
            assert body["code"] == code, body
            return body
        raise AssertionError(f"answered {result!r}")

    def create(self, image="python", **fields):
        return self.call("create", image=image, **fields)["sandbox_id"]

    def read_channel(self, ref):
        """(all bytes, text messages) until the channel closes."""
        end = engineclient.open_channel(self.port, ref)
        data, texts = bytearray(), []
        try:
            while True:
                kind, piece = end.frame()
                if kind == wsclient.TEXT:
                    texts.append(json.loads(piece))
                else:
                    assert len(piece) <= 65536
                    data += piece
        except wsclient.Closed as why:
            assert why.code == 1000, why
        end.cut()
        return bytes(data), texts

    def close(self):
        for sandbox in self.made:
            try:
                self.worker.call("sandbox::stop", {"sandbox_id": sandbox, "wait": True})
            except engineclient.Failed as failed:
                assert envelope(failed)["code"] == "S002"
        self.worker.close()


@pytest.fixture
def fn(server):
    made = Functions(server.engine_port)
    yield made
    server.held.look(server.pid)
    made.close()


@pytest.fixture
def sb(fn):
    return fn.create()


UNKNOWN = str(uuid.uuid4())
