"""Every row of the served document is called, with good input and with bad, and every reply is what the document promises."""
import json
import re

import pytest

import harness
import route_examples
import schema

TOKEN = "routes-token"  # the rows of tokens would lock everyone out
SERVER_ENV = {"III_MAX_SANDBOXES": "100", "III_AUTH_TOKEN": TOKEN}


class Routes:
    """The document, the world that calls act on, and what was called."""

    def __init__(self, server):
        self.client = server.client()
        self.second = server.client()
        self.document = self.client.ok("GET", "/openapi.json")
        self.rows = {op["operationId"]: (method, path, op) for path, item in self.document["paths"].items()
                     for method, op in item.items() if method in route_examples.METHODS}
        self.world = route_examples.World(server.client())
        self.called = {}

    def request(self, name, params):
        """(method, path with query, body) for merged parameters."""
        return route_examples.request(*self.rows[name], params)

    def call(self, name, params, headers=None):
        """Calls it and checks the reply against the document; returns the status and the value."""
        method, path, body = self.request(name, params)
        answer = self.client.open(method, path, body, headers)
        self.warned = json.loads(answer.getheader("Iii-Warnings", "[]"))
        if answer.status == 200 and "text/event-stream" in answer.getheader("Content-Type", ""):
            return self.check(name, 200, "text/event-stream", self.first_event(name, answer))
        kind, body = answer.getheader("Content-Type", ""), answer.read()
        return self.check(name, answer.status, kind, body if kind == route_examples.BYTES else json.loads(body))

    def first_event(self, name, answer):
        if name == "stream_events":
            self.second.ok("POST", "/events/publish", {"topic": "a.topic", "sandboxId": "x"})
        while True:
            line = answer.readline()
            assert line, "the stream ended without an event"
            if line.startswith(b"data: "):
                self.client.close()
                return json.loads(line[6:])

    def check(self, name, status, content_type, value):
        op = self.rows[name][2]
        self.called.setdefault(name, set()).add(status)
        assert str(status) in op["responses"], f"{name} answered {status}, which the document does not name: {value}"
        content = schema.resolve(self.document, op["responses"][str(status)])["content"]
        kind = content_type.split(";")[0]
        assert kind in content, f"{name} answered {kind}, the document says {list(content)}"
        if kind == route_examples.BYTES:
            return status, value
        rule = content[kind]["schema"]
        if kind == "text/event-stream":  # the document describes an event, whose data is the value as text
            rule = rule["properties"]["data"]["contentSchema"]
        wrong = schema.complaints(self.document, rule, value)
        assert not wrong, f"{name}, status {status}: {wrong[:5]}"
        return status, value


@pytest.fixture(scope="module")
def routes(server):
    made = Routes(server)
    yield made
    server.held.look(server.pid)
    made.world.close()
    items = made.client.ok("GET", "/sandboxes?pageSize=200")["items"]
    for item in items:  # what creates, clones and forks made
        made.client.delete(f"/sandboxes/{item['id']}")


def example(routes, name):
    if name not in routes.rows:
        pytest.skip(f"{name} is in docs/openapi.json but not served: write the documents anew (see CONTRIBUTING.md)")
    return route_examples.EXAMPLES[name](routes.world)


@pytest.mark.parametrize("name", route_examples.marked(route_examples.ROWS))
def test_good_and_bad_input(routes, name):
    if name in route_examples.REFUSED:
        status, value = routes.call(name, route_examples.REFUSED[name])
        assert 400 <= status < 500 or status == 501, f"{name}: {status} {value}"
        return
    params = example(routes, name)
    status, value = routes.call(name, {**params, "xyzzy": 1}, {"Prefer": "handling=strict"})
    assert status == 400 and "xyzzy: unknown field" in value["error"], f"{name} with an unknown field, strict: {status} {value}"
    status, value = routes.call(name, {**params, "xyzzy": 1})
    assert status == 200, f"{name} with {params}: {status} {value}"
    warned = value.get("warnings", []) if isinstance(value, dict) else []
    assert "xyzzy: unknown field" in [*warned, *routes.warned], f"{name}: {warned} {routes.warned}"
    method, path, op = routes.rows[name]
    in_path = re.findall(r"{(\w+)}", path)
    for part in in_path:
        unknown = {**params, part: "1" if part == "port" else "none_such"}
        status, value = routes.call(name, unknown)
        assert status in ((200,) if name in route_examples.FREE_IDS else (404, 400, 409)), f"{name} with unknown {part}: {status} {value}"
    for field in required_fields(routes, op):
        less = {k: v for k, v in params.items() if k != field}
        status, value = routes.call(name, less)
        assert status == 400 and field in value["error"], f"{name} without {field}: {status} {value}"
    if method == "post" and takes_json(op):
        broken_json(routes, name, params)
        wrong_types(routes, name, params, op)


def takes_json(op):
    return "application/json" in op.get("requestBody", {}).get("content", ())


def required_fields(routes, op):
    fields = [p["name"] for p in op.get("parameters", []) if p["required"] and p["in"] == "query"]
    if takes_json(op):
        body = schema.resolve(routes.document, op["requestBody"]["content"]["application/json"]["schema"])
        fields += body.get("required", [])
    return fields


def broken_json(routes, name, params):
    method, path, _ = routes.request(name, params)
    reply = routes.client.call(method, path, "{\"x\": ")
    routes.check(name, reply.status, reply.headers["content-type"], reply.json())
    assert reply.status == 400


def wrong_types(routes, name, params, op):
    """A value of another type is refused or ignored; it is never a failure of the server."""
    body = schema.resolve(routes.document, op["requestBody"]["content"]["application/json"]["schema"])
    for field, rule in body.get("properties", {}).items():
        wrong = {"nested": [1]} if rule.get("type") != "object" else [["x"]]
        if name in ("sandbox_create", "template_create"):
            continue  # wrong types are ignored there, so each would make one more: test_validation.py does it
        status, value = routes.call(name, {**params, field: wrong})
        assert status < 500 or status == 501, f"{name} with {field}={wrong}: {status} {value}"


def test_every_row_was_called_and_every_row_was_refused_once(routes):
    """Runs last in this file, over what the tests above have noted."""
    if len(routes.called) < len(routes.rows) // 2:
        pytest.skip("only some rows were selected with -k")
    never = sorted(set(routes.rows) - set(routes.called) - route_examples.declared_missing(routes.client))
    assert not never, f"never called: {never}: write docs/openapi.json anew"
    takes_input = {n for n, (_, path, op) in routes.rows.items() if n in routes.called and n not in route_examples.FREE_IDS and ("{" in path or required_fields(routes, op))}
    only_good = sorted(n for n in takes_input if not any(s >= 400 for s in routes.called[n]))
    assert not only_good, f"never refused anything: {only_good}"
