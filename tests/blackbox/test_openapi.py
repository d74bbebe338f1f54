"""The interface as a document: the committed one is the served one, it is sound, and every route in it exists."""
import json
import re

import pytest

import harness

METHODS = {"get", "post", "put", "delete", "patch", "head", "options"}


@pytest.fixture(scope="module")
def document(server):
    with harness.Client(server.port) as caller:
        return caller.ok("GET", "/openapi.json")


def operations(document):
    return [(path, method, op) for path, item in document["paths"].items() for method, op in item.items() if method in METHODS]


def test_the_committed_document_is_the_served_one(document):
    committed = json.loads((harness.ROOT / "docs" / "openapi.json").read_text())
    assert committed == document, "the interface changed: write docs/openapi.json anew (see CONTRIBUTING.md)"


def test_it_is_openapi_3_1(document):
    assert document["openapi"].startswith("3.1.")
    assert document["info"]["title"] and document["info"]["version"]
    assert len(operations(document)) >= 35


def test_every_reference_leads_somewhere(document):
    def walk(node):
        if isinstance(node, dict):
            if "$ref" in node:
                target = document
                assert node["$ref"].startswith("#/"), node["$ref"]
                for part in node["$ref"][2:].split("/"):
                    assert part in target, node["$ref"]
                    target = target[part]
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    walk(document)


def test_every_operation_is_described(document):
    ids = [op["operationId"] for _, _, op in operations(document)]
    assert len(ids) == len(set(ids))
    for path, method, op in operations(document):
        assert op.get("summary") or op.get("description"), path
        assert "200" in op["responses"], path
        for status, response in op["responses"].items():
            assert re.fullmatch(r"[1-5]\d\d|default", status) and ("description" in response or "$ref" in response), path
        named = {p["name"] for p in op.get("parameters", []) if p.get("in") == "path"}
        assert named == set(re.findall(r"\{(\w+)\}", path)), path
        for parameter in op.get("parameters", []):
            assert parameter["in"] in ("path", "query", "header") and ("schema" in parameter) != ("content" in parameter), path
            assert parameter["in"] != "path" or parameter.get("required") is True, path


def test_every_schema_has_a_known_type(document):
    known = {"object", "array", "string", "integer", "number", "boolean", "null"}

    def walk(schema, where):
        if not isinstance(schema, dict):
            return
        kinds = schema.get("type", [])
        for kind in [kinds] if isinstance(kinds, str) else kinds:
            assert kind in known, where
        assert schema.get("type") != "array" or "items" in schema, where
        for name, value in schema.get("properties", {}).items():
            walk(value, f"{where}.{name}")
        assert set(schema.get("required", [])) <= set(schema.get("properties", schema.get("required", []))), where
        for key in ("items", "additionalProperties"):
            walk(schema.get(key), f"{where}.{key}")

    for name, schema in document["components"]["schemas"].items():
        walk(schema, name)


def test_every_route_is_served(document, client):
    """Called with an id that does not exist: whatever the answer, it comes from the operation and not from the router."""
    for path, method, op in operations(document):
        real = re.sub(r"\{\w+\}", harness.UNKNOWN, path)
        with harness.Client(client.port, prefix="") as caller:
            answer = caller.open(method.upper(), real, {"command": "true", "path": "x", "content": "", "image": ""})
            is_stream = answer.getheader("Content-Type", "").startswith("text/event-stream")
            reply = harness.Reply(answer.status, {}, b"" if is_stream else answer.read())  # a live stream has no end
        assert reply.status not in (405, 501), (method, path, reply)
        if reply.status == 404:
            assert harness.UNKNOWN in reply.error, (method, path, reply)


def test_the_reference_page_names_every_route(document):
    page = (harness.ROOT / "docs" / "api-reference.md").read_text()
    for path, method, _ in operations(document):
        short = re.sub(r"\{(\w+)\}", r":\1", path).removeprefix("/sandbox")
        assert short in page or path in page, path
