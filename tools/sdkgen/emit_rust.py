"""The Rust client's types, operations, error codes and managers, and the table by which its contract driver calls them."""
import json

import methods
from model import Type, pascal, snake

HEADER = "//! Generated from docs/openapi.json by tools/sdkgen; do not edit.\n"
KEYWORDS = {"type", "ref", "default", "move", "match", "box", "loop", "fn", "in", "use", "where", "async", "await", "static", "self"}
SCALARS = {"string": "String", "integer": "i64", "number": "f64", "boolean": "bool", "enum": "String", "any": "serde_json::Value"}
# Types whose schema is a choice: a command is a text or words, an answer about files one or many.
COMMAND = Type("union", members=(Type("string"), Type("array", inner=Type("string"))))


def ident(name):
    text = snake(name)
    return f"r#{text}" if text in KEYWORDS - {"self"} else text


def owned(t):
    """The type of a member."""
    if t.kind in SCALARS:
        text = SCALARS[t.kind]
    elif t.kind == "array":
        text = f"Vec<{owned(t.inner)}>"
    elif t.kind == "map":
        text = f"BTreeMap<String, {owned(t.inner)}>"
    elif t.kind == "ref":
        text = t.name
    elif t.kind == "union":
        text = union(t)
    else:
        raise AssertionError(f"no Rust type for {t}")
    return f"Option<{text}>" if t.nullable else text


def union(t):
    if t == COMMAND:
        return "Command"
    first, second = t.members
    if first.kind == "array" and first.inner == second:
        return f"OneOrMany<{owned(second)}>"
    return "serde_json::Value"


def borrowed(t):
    """The type of a required argument."""
    if t.kind in ("string", "enum"):
        return "&str"
    if t.kind in ("integer", "number", "boolean"):
        return SCALARS[t.kind]
    if t.kind == "array":
        return f"&[{owned(t.inner)}]"
    if t == COMMAND:
        return "impl Into<Command>"
    return f"&{owned(t)}"


def doc(text, indent=""):
    return f"{indent}/// {text}\n" if text else ""


def help_of(f):
    values = ", ".join(f"`{v}`" for v in f.type.values)
    text = f.help
    if values:
        text = f"{text}: {values}" if text else f"One of {values}"
    return text


def member(f, skip=False):
    """One field of a struct. What only goes into the query string is left out of the body."""
    name = ident(f.name)
    attributes = []
    if snake_to_camel(snake(f.name)) != f.name:
        attributes.append(f'rename = "{f.name}"')
    kind = owned(f.type)
    if not f.required:
        kind = kind if kind.startswith("Option<") else f"Option<{kind}>"
        attributes.append("skip_serializing" if skip else 'skip_serializing_if = "Option::is_none"')
    attribute = f"    #[serde({', '.join(attributes)})]\n" if attributes else ""
    return f"{doc(help_of(f), '    ')}{attribute}    pub {name}: {kind},\n"


def snake_to_camel(text):
    head, *rest = text.split("_")
    return head + "".join(p[:1].upper() + p[1:] for p in rest)


def struct(name, text, members, default):
    derive = "Clone, Debug, PartialEq, Serialize, Deserialize" + (", Default" if default else "")
    attribute = '#[serde(rename_all = "camelCase", default)]' if default else '#[serde(rename_all = "camelCase")]'
    return f"{doc(text)}#[derive({derive})]\n{attribute}\npub struct {name} {{\n{''.join(members)}}}\n"


def named(t):
    if t.alias is not None:
        return f"{doc(t.help)}pub type {t.name} = {owned(t.alias)};\n"
    return struct(t.name, t.help, [member(f) for f in t.fields], all(not f.required for f in t.fields))


def types(model):
    parts = [HEADER, "use std::collections::BTreeMap;\n\nuse serde::{Deserialize, Serialize};\n\nuse crate::value::{Command, OneOrMany};\n"]
    return "\n".join(parts + [named(t) for t in model.types] + [o for o in map(options, model.operations) if o])


def split(op):
    """(path fields, required fields, optional fields): the first two are arguments, the others members of an options struct."""
    sent = [f for f in op.fields if f.where != "path"]
    return op.where("path"), [f for f in sent if f.required], [f for f in sent if not f.required]


def options_name(op):
    _, _, optional = split(op)
    return pascal(op.name) + "Options" if optional or op.idempotency_key else ""


def options(op):
    _, _, optional = split(op)
    if not options_name(op):
        return ""
    members = [member(f, skip=f.where == "query") for f in optional]
    if op.idempotency_key:
        members.append("    /// The same call with the same key is carried out once; with it a call is tried again when the connection fails.\n"
                       "    #[serde(skip)]\n    pub idempotency_key: Option<String>,\n")
    return struct(options_name(op), f"Optional fields of [`crate::Api::{snake(op.name)}`].", members, True)


def query_line(f, source):
    return f'        call.ask("{f.name}", {source})?;\n'


def route(op):
    path = op.path
    for f in op.where("path"):
        path = path.replace("{%s}" % f.name, "{}")
    if path == op.path:
        return f'"{path}"'
    holes = ", ".join(ident(f.name) if f.type.kind == "integer" else f'segment("{f.name}", {ident(f.name)})?' for f in op.where("path"))
    return f'format!("{path}", {holes})'


def arguments(op):
    path, required, _ = split(op)
    args = [f"{ident(f.name)}: {borrowed(f.type)}" for f in (*path, *required)]
    if options_name(op):
        args.append(f"options: {options_name(op)}")
    return "".join(", " + a for a in args)


def body_lines(op):
    _, required, optional = split(op)
    named_ones = [f for f in required if f.where == "body"]
    extra = any(f.where == "body" for f in optional)
    if not named_ones and not extra:
        return ""
    source = "object(&options)?" if extra else "serde_json::Map::new()"
    out = [f"        let {'mut ' if named_ones else ''}body = {source};\n"]
    for f in named_ones:
        value = f"{ident(f.name)}.into() as Command" if f.type == COMMAND else ident(f.name)
        out.append(f'        body.insert("{f.name}".into(), serde_json::to_value({value})?);\n')
    out.append("        call.body = Some(serde_json::to_string(&body)?);\n")
    return "".join(out)


def prepare(op):
    """The lines that make the request."""
    _, required, optional = split(op)
    lines = [f"        let mut call = Call::new(Method::{op.method}, {route(op)});\n"]
    for f in required:
        if f.where == "query":
            lines.append(query_line(f, f"Some(&{ident(f.name)})"))
    for f in optional:
        if f.where == "query":
            lines.append(query_line(f, f"options.{ident(f.name)}.as_ref()"))
    lines.append(body_lines(op))
    if op.safe:
        lines.append("        call.safe = true;\n")
    if op.long:
        lines.append("        call.long = true;\n")
    if op.idempotency_key:
        lines.append("        call.idempotency_key = options.idempotency_key;\n")
    text = "".join(lines)
    return text if text.count("call.") else text.replace("let mut call", "let call")


def method(op, name, returns, send):
    clippy = "    #[allow(clippy::too_many_arguments)]\n" if arguments(op).count(", ") > 6 else ""
    return (f"{doc(op.help, '    ')}{clippy}    pub async fn {name}(&self{arguments(op)}) -> Result<{returns}> {{\n"
            f"{prepare(op)}        self.http().{send}(call).await\n    }}\n")


def api_methods(op):
    found = []
    if op.reply is not None:
        found.append(method(op, ident(op.name), owned(op.reply), "json"))
    if op.event is not None:
        found.append(method(op, event_method(op), f"EventStream<{owned(op.event)}>", "events"))
    return found


def event_method(op):
    """What streams only when asked to has a second method for that."""
    return ident(op.name) if op.reply is None else snake(op.name) + "_events"


def operations(model):
    head = (HEADER + "\nuse std::collections::BTreeMap;\n\nuse reqwest::Method;\n\n"
            "use super::types::*;\nuse crate::error::Result;\nuse crate::http::{object, segment, Api, Call};\nuse crate::sse::EventStream;\n"
            "use crate::value::Command;\n\n")
    names = "".join(f'    "{o.name}",\n' for o in model.operations)
    listed = f"/// Every operation of the server.\npub const OPERATIONS: &[&str] = &[\n{names}];\n\n"
    return head + listed + "impl Api {\n" + "\n".join(m for o in model.operations for m in api_methods(o)) + "}\n"


def errors(model):
    rows = [(pascal(e.code), e) for e in model.errors]
    variants = "".join(f"{doc(e.help, '    ')}    {name},\n" for name, e in rows)
    known = "".join(f"            {e.status} => ErrorCode::{name},\n" for name, e in rows)
    texts = "".join(f'            ErrorCode::{name} => "{e.code}",\n' for name, e in rows)
    return (HEADER + "\n/// Kinds of failure that the server tells apart.\n#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]\n"
            f"#[non_exhaustive]\npub enum ErrorCode {{\n{variants}}}\n\nimpl ErrorCode {{\n"
            "    pub fn from_status(status: u16) -> Option<Self> {\n        Some(match status {\n"
            f"{known}            _ => return None,\n        }})\n    }}\n\n"
            f"    pub fn as_str(self) -> &'static str {{\n        match self {{\n{texts}        }}\n    }}\n}}\n")


def from_json(f):
    """The expression by which the contract driver takes an argument out of a scenario."""
    if f.type == COMMAND:
        return f'arg::<Command>(args, "{f.name}")?'
    kind = owned(f.type)
    borrow = "" if f.type.kind in ("integer", "number", "boolean") else "&"
    return f'{borrow}arg::<{kind}>(args, "{f.name}")?'


def arm(op, name):
    path, required, _ = split(op)
    args = [from_json(f) for f in (*path, *required)]
    if options_name(op):
        rest = ", ..options(args)?" if split(op)[2] else ""
        args.append(f"{options_name(op)} {{ idempotency_key: key(args){rest} }}" if op.idempotency_key else "options(args)?")
    return f"api.{name}({', '.join(args)}).await?"


# --- managers ---

def manager_of(group):
    return group.rust or group.class_name


def borrowed_option(t):
    """The type of an optional argument, and how it becomes a member of the options."""
    if t.kind in ("string", "enum"):
        return "Option<&str>", ".map(Into::into)"
    return f"Option<{owned(t)}>", ""


def manager_arguments(m):
    """(declarations, what the operation's own method gets)"""
    path, required, optional = split(m.op)
    given = {a.field.name: a for a in m.arguments}
    shown = [f"{ident(a.shown)}: {borrowed(a.field.type)}" for a in m.arguments if a.required]
    passed = [("self.id()" if m.group.name == "sandbox" else "&self.id") if m.bound and f.name == "id" else ident(given[f.name].shown)
              for f in (*path, *required)]
    if m.takes_options("rust"):
        fixed = "".join(f"{ident(name)}: Some({json.dumps(value)}{'.to_owned()' if isinstance(value, str) else ''}), " for name, value in m.fixed.items())
        given = f"{options_name(m.op)} {{ {fixed}..options }}" if fixed else "options"
        return [*shown, f"options: {options_name(m.op)}"], [*passed, given]
    named = [a for a in m.arguments if not a.required]
    shown += [f"{ident(a.shown)}: {borrowed_option(a.field.type)[0]}" for a in named]
    if options_name(m.op):
        members = [f"{ident(a.field.name)}: {ident(a.shown)}{borrowed_option(a.field.type)[1]}" for a in named]
        members = [text.split(": ")[0] if text.split(": ")[0] == text.split(": ")[1] else text for text in members]
        all_named = len(named) == len(optional) and not m.op.idempotency_key
        passed.append(f"{options_name(m.op)} {{ {', '.join([*members, *([] if all_named else ['..Default::default()'])])} }}")
    return shown, passed


def manager_method(model, m):
    shown, passed = manager_arguments(m)
    api = "self.api()" if m.group.name == "sandbox" else "self.api"
    called = event_method(m.op) if m.streams else ident(m.op.name)
    call = f"{api}.{called}({', '.join(passed)}).await"
    if m.streams:
        kind = f"EventStream<{owned(m.op.event)}>"
    else:
        kind = owned(methods.member_type(model, m))
    body = f"Ok({call}?.{ident(m.member)})" if m.member else call
    if m.must_succeed:
        body = f'succeeded("{m.command}", {call}?)'
    if m.keeps_info:
        body = f"self.info = {call}?;\n        Ok(self.info.clone())"
    receiver = "&mut self" if m.keeps_info else "&self"
    return (f"{doc(m.op.help, '    ')}    pub async fn {method_name(m)}({', '.join([receiver, *shown])}) -> Result<{kind}> {{\n"
            f"        {body}\n    }}\n")


def method_name(m):
    return ident(m.name_in("rust"))


def managers(model):
    blocks = []
    for group in methods.GROUPS:
        made = methods.of_group(model, group, "rust")
        if made:
            blocks.append(f"impl {manager_of(group)} {{\n" + "\n".join(manager_method(model, m) for m in made) + "}\n")
    return (HEADER + "\nuse std::collections::BTreeMap;\n\nuse super::types::*;\nuse crate::error::{succeeded, Result};\nuse crate::files::FileSystem;\n"
            "use crate::managers::*;\nuse crate::sandbox::Sandbox;\nuse crate::server::*;\nuse crate::sse::EventStream;\nuse crate::terminal::TerminalManager;\n"
            "use crate::value::Command;\n\n" + "\n".join(blocks))


def manager_arm(m):
    """The same call as arm(), by the method that users call."""
    if m.group.name == "sandbox":
        owner = "sandbox(api, args).await?"
    elif m.group.in_sandbox:
        owner = f"{manager_of(m.group)}::of(api, &id(args)?)" if m.bound else f'{manager_of(m.group)}::of(api, "")'
    else:
        owner = f"{manager_of(m.group)}::new(api.http().clone())"
    _, required, optional = split(m.op)
    shown, _ = manager_arguments(m)
    args = [from_json(a.field) for a in m.arguments if a.required]
    if any(text.startswith("options: ") for text in shown):
        rest = ", ..options(args)?" if optional else ""
        args.append(f"{options_name(m.op)} {{ idempotency_key: key(args){rest} }}" if m.op.idempotency_key else "options(args)?")
    else:
        for a in m.arguments:
            if not a.required:
                text = a.field.type.kind in ("string", "enum")
                args.append(f'arg::<Option<{owned(a.field.type)}>>(args, "{a.field.name}")?{".as_deref()" if text else ""}')
    return f"{owner}.{method_name(m)}({', '.join(args)}).await?"


def driver_arm(op, streams):
    made = next((m for m in op.methods if m.streams == streams and not m.is_by_hand("rust")), None)
    if made and made.member:
        return f'json!({{ "{made.member}": {manager_arm(made)} }})'
    call = manager_arm(made) if made else arm(op, event_method(op) if streams else ident(op.name))
    return f"values({call})" if streams else f"value({call})?"


def dispatch(model):
    plain = "".join(f'        "{o.name}" => {driver_arm(o, False)},\n' for o in model.operations if o.reply is not None)
    streams = "".join(f'        "{o.name}" => {driver_arm(o, True)},\n' for o in model.operations if o.event is not None)
    always = ", ".join(f'"{o.name}"' for o in model.operations if o.reply is None)
    return (HEADER + "\nuse std::collections::BTreeMap;\n\nuse iii_sandbox::*;\nuse serde_json::{json, Value};\n\n"
            "use crate::args::{arg, id, key, options, sandbox, value, values, Values};\n\n"
            f"/// Operations that always stream.\npub const STREAMS: &[&str] = &[{always}];\n\n"
            "pub async fn call(api: &Api, name: &str, args: &Value) -> Result<Value> {\n    Ok(match name {\n"
            f"{plain}        _ => return Err(unknown(name)),\n    }})\n}}\n\n"
            "pub async fn stream(api: &Api, name: &str, args: &Value) -> Result<Values> {\n    Ok(match name {\n"
            f"{streams}        _ => return Err(unknown(name)),\n    }})\n}}\n\n"
            "fn unknown(name: &str) -> SandboxError {\n"
            '    SandboxError::InvalidArgument(format!("there is no operation \\"{name}\\""))\n}\n')


def files(model):
    mod = (HEADER + "\nmod errors;\nmod managers;\nmod ops;\nmod types;\n\npub use errors::ErrorCode;\npub use ops::OPERATIONS;\npub use types::*;\n")
    return {
        "sdk/rust/src/generated/mod.rs": mod,
        "sdk/rust/src/generated/types.rs": types(model),
        "sdk/rust/src/generated/ops.rs": operations(model),
        "sdk/rust/src/generated/managers.rs": managers(model),
        "sdk/rust/src/generated/errors.rs": errors(model),
        "sdk/rust/contract/dispatch.rs": dispatch(model),
    }
