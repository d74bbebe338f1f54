"""docs/openapi.json as plain objects, for the emitters: operations, types, errors.

The document is made from src/spec/, so nothing here is written by hand but the names of types that the document has no name for.
What an emitter does not understand is an error: a new kind of schema must not vanish silently."""
import dataclasses
import json
import re

import methods

PREFIX = "#/components/schemas/"
# Names that clients have always had for objects of the wire; the plain ones belong to their classes.
PUBLIC_NAMES = {"Sandbox": "SandboxInfo", "Snapshot": "SnapshotInfo", "QueueJob": "QueueJobInfo", "InterpretResult": "CodeResult",
                "Error": "ErrorBody"}
SKIPPED_PARAMETERS = {"Idempotency-Key"}  # a property of the operation, not a field of its callers
BYTES = "application/octet-stream"


@dataclasses.dataclass(frozen=True)
class Type:
    """kind: string integer number boolean any | array, map (inner) | ref (name) | enum (values) | union (members).

    An inline object never appears here: it is hoisted to a named one and replaced by a ref."""
    kind: str
    inner: "Type | None" = None
    name: str = ""
    values: tuple = ()
    members: tuple = ()
    nullable: bool = False


@dataclasses.dataclass(frozen=True)
class Field:
    name: str
    type: Type
    required: bool
    help: str = ""
    where: str = ""  # path, query or body; empty for a member of an object
    default: object = None


@dataclasses.dataclass(frozen=True)
class Named:
    """A named type: an object with fields, or another name for `alias` when it is not an object. `role` is "reply", or "input" for what
    only appears in requests."""
    name: str
    help: str
    fields: tuple = ()
    alias: "Type | None" = None
    role: str = "reply"


@dataclasses.dataclass(frozen=True)
class Operation:
    """One row of the table.

    stream: "never", "always" (server-sent events), or "asked" (JSON, unless the request accepts text/event-stream).
    reply: type of the JSON answer (None when it always streams); event: type of each event (None when it never does).
    long: it takes as long as its work takes, so a client sets no deadline of its own.
    safe: repeating it changes nothing, so a client may retry. idempotency_key: a client that sends the header of that name may retry, too.
    takes_bytes, gives_bytes: its body or its reply is not JSON but bytes of any length. SDKs have its methods by hand (transfers).
    alias_of: another operation that does exactly this; clients leave aliases out."""
    name: str
    function: str
    help: str
    method: str
    path: str
    fields: tuple
    reply: "Type | None"
    event: "Type | None"
    stream: str
    long: bool
    safe: bool
    idempotency_key: bool
    needs_token: bool
    errors: tuple
    tag: str
    alias_of: str = ""
    takes_bytes: bool = False
    gives_bytes: bool = False
    methods: tuple = ()  # of the SDKs' classes: methods.Method

    def where(self, place):
        return tuple(f for f in self.fields if f.where == place)

    @property
    def is_transfer(self):
        return self.takes_bytes or self.gives_bytes

    @property
    def in_sandbox(self):
        return "/sandboxes/{id}" in self.path or self.path.startswith("/sandbox/proxy/{id}")


@dataclasses.dataclass(frozen=True)
class Error:
    code: str
    status: int
    help: str


@dataclasses.dataclass(frozen=True)
class Model:
    version: str
    operations: tuple  # without aliases and transfers
    transfers: tuple  # bytes in or out
    aliases: tuple
    types: tuple
    errors: tuple
    websockets: dict


def pascal(name):
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[_\-]", name))


def camel(name):
    text = pascal(name)
    return text[:1].lower() + text[1:]


def snake(name):
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def kebab(name):
    return snake(name).replace("_", "-")


def public_name(name):
    return PUBLIC_NAMES.get(name, name)


def without_null(schema):
    """A client leaves out what it does not give: that the server takes null for absent is nothing to it."""
    schema = {**schema, **{key: [s for s in schema[key] if s != {"type": "null"}] for key in ("oneOf", "anyOf") if key in schema}}
    if isinstance(schema.get("type"), list):
        schema["type"] = next(kind for kind in schema["type"] if kind != "null")
    if "enum" in schema:
        schema["enum"] = [value for value in schema["enum"] if value is not None]
    return schema


class Reader:
    """Reads schemas; collects the types it has to name itself."""

    def __init__(self):
        self.hoisted = {}

    def type_of(self, schema, hint, role="reply"):
        if role == "input":
            schema = without_null(schema)
        if "$ref" in schema:
            return Type("ref", name=public_name(schema["$ref"].removeprefix(PREFIX)))
        if "oneOf" in schema:
            return Type("union", members=tuple(self.type_of(s, hint, role) for s in schema["oneOf"]))
        if "enum" in schema:
            return Type("enum", values=tuple(schema["enum"]))
        kind = schema.get("type", "any")
        if isinstance(kind, list):
            rest = [k for k in kind if k != "null"]
            assert len(rest) == 1 and len(kind) == 2, f"{hint}: cannot read the type {kind}"
            return dataclasses.replace(self.type_of({**schema, "type": rest[0]}, hint, role), nullable=True)
        if kind == "array":
            single = hint[:-1] if hint.endswith("s") else hint
            return Type("array", inner=self.type_of(schema.get("items", {}), single, role))
        if kind == "object":
            return self.object_of(schema, hint, role)
        assert kind in ("string", "integer", "number", "boolean", "any"), f"{hint}: cannot read the type {kind}"
        return Type(kind)

    def object_of(self, schema, hint, role):
        if "properties" not in schema:
            return Type("map", inner=self.type_of(schema.get("additionalProperties", {}), hint, role))
        self.hoisted[hint] = Named(hint, schema.get("description", ""), self.fields_of(schema, hint, role), role=role)
        return Type("ref", name=hint)

    def fields_of(self, schema, owner, role):
        required = schema.get("required", ())
        return tuple(Field(name, self.type_of(s, owner + pascal(name), role), name in required, s.get("description", ""), "", s.get("default"))
                     for name, s in schema["properties"].items())

    def named(self, wire_name, schema):
        name = public_name(wire_name)
        text = schema.get("description", "")
        if "properties" in schema:
            return Named(name, text, self.fields_of(schema, name, "reply"))
        return Named(name, text, alias=self.type_of(schema, name))


def request_fields(reader, name, row):
    found = []
    for p in row.get("parameters", ()):
        if p["name"] in SKIPPED_PARAMETERS or p["in"] == "header":
            continue
        schema = p.get("schema") or p["content"]["application/json"]["schema"]
        found.append(Field(p["name"], reader.type_of(schema, pascal(name) + pascal(p["name"]), "input"), p["required"], p["description"],
                           p["in"], schema.get("default")))
    body = row.get("requestBody")
    if body and BYTES not in body["content"]:
        schema = body["content"]["application/json"]["schema"]
        for f in reader.fields_of(schema, pascal(name), "input"):
            found.append(dataclasses.replace(f, where="body"))
    return tuple(found)


def answers(reader, name, row):
    """(reply, event, stream) of an operation."""
    content = row["responses"]["200"]["content"]
    reply = event = None
    if BYTES in content:
        return None, None, "never"
    if "application/json" in content:
        reply = reader.type_of(content["application/json"]["schema"], pascal(name) + "Reply")
    if "text/event-stream" in content:
        data = content["text/event-stream"]["schema"]["properties"]["data"]
        event = reader.type_of(data["contentSchema"], pascal(name) + "Event")
    unknown = set(content) - {"application/json", "text/event-stream"}
    assert not unknown, f"{name}: answers with {unknown}, which no emitter knows"
    return reply, event, "never" if not event else "asked" if reply else "always"


def operation(reader, path, method, row, first_of):
    name = row["operationId"]
    reply, event, stream = answers(reader, name, row)
    errors = tuple(r["$ref"].rsplit("/", 1)[1] for status, r in row["responses"].items() if "$ref" in r and status != "414")
    key = any(p["name"] == "Idempotency-Key" for p in row.get("parameters", ()))
    first = first_of.setdefault(row["x-function"], name)
    op = Operation(name, row["x-function"], row["summary"], method.upper(), path, request_fields(reader, name, row), reply, event, stream,
                   row["x-long"], row["x-safe"], key, row.get("security") != [], errors, row["tags"][0], "" if first == name else first,
                   BYTES in row.get("requestBody", {}).get("content", ()), BYTES in row["responses"]["200"].get("content", ()))
    return op if op.alias_of else dataclasses.replace(op, methods=methods.read(op, row.get("x-sdk")))


def read(path):
    with open(path, encoding="utf-8") as file:
        doc = json.load(file)
    reader, first_of = Reader(), {}
    # The document has the order of the table, where an alias comes after the row that it is another name of.
    operations = [operation(reader, path, method, row, first_of) for path, item in doc["paths"].items() for method, row in item.items()]
    types = [reader.named(name, schema) for name, schema in doc["components"]["schemas"].items()]
    known = {t.name for t in types}
    clash = known & set(reader.hoisted)
    assert not clash, f"an inline object would take the name of another: {clash}"
    errors = [Error(code, r["x-status"], r["description"]) for code, r in doc["components"]["responses"].items() if "x-status" in r]
    rows = [o for o in operations if not o.alias_of]
    return Model(doc["info"]["version"], tuple(o for o in rows if not o.is_transfer), tuple(o for o in rows if o.is_transfer),
                 tuple(o for o in operations if o.alias_of),
                 (*types, *reader.hoisted.values()), tuple(errors), doc["x-websockets"])
