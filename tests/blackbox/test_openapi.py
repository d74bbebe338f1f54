"""The interface as a document: the committed one is the served one, it is sound, and every route in it exists."""
import json
import re

import pytest

import harness
from schema import complaints as schema_complaints

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


def body_of(document, path):
    return document["paths"]["/sandbox" + path]["post"]["requestBody"]["content"]["application/json"]["schema"]


def test_a_sandbox_needs_no_image(document, client):
    schema = body_of(document, "/sandboxes")
    assert "image" not in schema.get("required", []) and schema["properties"]["image"]["minLength"] == 1
    assert schema["properties"]["image"]["description"].endswith("; default: III_DEFAULT_IMAGE")
    made = client.ok("POST", "/sandboxes", {})
    assert made["image"] == "python"
    client.delete(f"/sandboxes/{made['id']}")
    assert client.post("/sandboxes", {"image": ""}).status == 400


def test_a_url_that_is_too_long(document, client):
    for path, _, op in operations(document):
        assert ("414" in op["responses"]) == any(p["in"] != "header" for p in op.get("parameters", [])), path
    reply = client.get("/sandboxes?status=" + "x" * 100000)
    assert reply.status == 414
    with harness.Client(client.port) as again:
        wrong = schema_complaints(document, document["components"]["responses"]["uri_too_long"]["content"]["application/json"]["schema"], reply.json())
        assert not wrong and again.get("/health").status == 200


def test_null_is_absent(document, client):
    """Every field that may be absent may be null, at every depth; the server takes what the document allows."""
    def optional(schema, at):
        for name, one in schema.get("properties", {}).items():
            if name not in schema.get("required", []):
                assert not schema_complaints(document, one, None), f"{at}.{name}"
            yield from ([(at, name)] if name not in schema.get("required", []) else [])
            for deeper in (one, one.get("items", {})):
                yield from optional(deeper, f"{at}.{name}")

    found = [place for path, _, op in operations(document) if "application/json" in op.get("requestBody", {}).get("content", {})
             for place in optional(op["requestBody"]["content"]["application/json"]["schema"], path)]
    assert len(found) > 100
    create, template = body_of(document, "/sandboxes"), body_of(document, "/templates")
    made = client.ok("POST", "/sandboxes", {name: None for name in create["properties"]})
    client.delete(f"/sandboxes/{made['id']}")
    config = {name: None for name in template["properties"]["config"]["properties"]}
    kept = client.ok("POST", "/templates", {"name": "nulls", "description": None, "config": {**config, "image": "python"}})
    assert kept["config"] == {"image": "python"} and client.delete(f"/templates/{kept['id']}").status == 200
    assert client.post("/templates", {"name": "nulls", "config": config}).status == 400, "image is required in it"


def test_integers_have_64_bits(document, client):
    memory = body_of(document, "/sandboxes")["properties"]["memory"]
    assert (memory["minimum"], memory["maximum"], memory["format"]) == (-2**63, 2**63 - 1, "int64") and "64 bits" in document["info"]["description"]
    made = client.ok("POST", "/sandboxes", {"memory": -2**63, "timeout": 2**63 - 1, "cpu": 9.2e18})
    client.delete(f"/sandboxes/{made['id']}")
    for wrong in ({"memory": 2**63}, {"memory": -2**63 - 1}, {"metadata": {"a": 10**30}}, {"unknown": [{"deep": 10**30}]}):
        reply = client.post("/sandboxes", wrong)
        assert reply.status == 400 and "integer" in reply.error, wrong
    for wrong in ({"name": "a\0"}, {"unknown": [{"a\0": 1}]}):
        assert client.post("/sandboxes", wrong).status == 400 and "NUL" in document["info"]["description"]


def test_a_template_says_the_ranges_of_a_create(document, client):
    numbers = {name: s for name, s in body_of(document, "/templates")["properties"]["config"]["properties"].items() if {"integer", "number"} & set(s["type"])}
    assert len(numbers) >= 10
    ranges = {name: re.search(r"moves it into [\d.]+ to (III_MAX_\w+|256 for each MB)", s["description"]) for name, s in numbers.items()}
    assert all(ranges.values()), [name for name, found in ranges.items() if not found]
    kept = client.ok("POST", "/templates", {"name": "ranges", "config": {"image": "python", "memory": 10**12, "pids": 10**12}})
    assert kept["config"]["memory"] == 10**12, "it is kept as given"
    client.delete(f"/templates/{kept['id']}")
