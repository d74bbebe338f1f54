"""A small JSON Schema validator: the keywords that the served OpenAPI document uses, and a refusal of all others."""
import math

KNOWN = {"$ref", "type", "properties", "required", "items", "enum", "oneOf", "additionalProperties", "minimum", "maximum", "minLength",
         "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "description", "default", "format"}
TYPES = {
    "string": lambda v: isinstance(v, str),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool) and math.isfinite(v),
    "boolean": lambda v: isinstance(v, bool),
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "null": lambda v: v is None,
}


def resolve(document, node):
    """The node a chain of references leads to."""
    for _ in range(16):
        if "$ref" not in node:
            return node
        target = document
        for part in node["$ref"][2:].split("/"):
            target = target[part]
        node = target
    raise AssertionError(f"references go round in circles: {node}")


def complaints(document, schema, value, at="$"):
    """Every way in which the value does not fit the schema, as texts; an empty list when it fits."""
    schema = resolve(document, schema)
    unknown = set(schema) - KNOWN
    assert not unknown, f"schema.py knows nothing of {sorted(unknown)}: teach it, or keep to what the table makes"
    found = []
    kinds = schema.get("type")
    if kinds is not None:
        kinds = kinds if isinstance(kinds, list) else [kinds]
        if not any(TYPES[k](value) for k in kinds):
            return [f"{at}: {value!r:.80} is not of type {' or '.join(kinds)}"]
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{at}: {value!r:.80} is not one of {schema['enum']}")
    if "oneOf" in schema:
        fitting = [s for s in schema["oneOf"] if not complaints(document, s, value, at)]
        if len(fitting) != 1:
            found.append(f"{at}: {value!r:.80} fits {len(fitting)} of the {len(schema['oneOf'])} choices")
    return found + limits(schema, value, at) + inside(document, schema, value, at)


def limits(schema, value, at):
    found = []
    sizes = {"minimum": value, "maximum": value} if TYPES["number"](value) else {}
    for kind, low, high in ((str, "minLength", "maxLength"), (list, "minItems", "maxItems"), (dict, "minProperties", "maxProperties")):
        if isinstance(value, kind):
            sizes = {low: len(value), high: len(value)}
    for word, size in sizes.items():
        if word in schema and (size < schema[word] if word.startswith("min") else size > schema[word]):
            found.append(f"{at}: {size} is beyond {word} {schema[word]}")
    return found


def inside(document, schema, value, at):
    found = []
    if isinstance(value, list) and "items" in schema:
        for i, entry in enumerate(value):
            found += complaints(document, schema["items"], entry, f"{at}[{i}]")
    if not isinstance(value, dict):
        return found
    known = schema.get("properties", {})
    found += [f"{at}: {name} is missing" for name in schema.get("required", []) if name not in value]
    for name, entry in value.items():
        if name in known:
            found += complaints(document, known[name], entry, f"{at}.{name}")
        elif isinstance(schema.get("additionalProperties"), dict):
            found += complaints(document, schema["additionalProperties"], entry, f"{at}.{name}")
    return found
