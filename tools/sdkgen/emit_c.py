"""The C library's types, functions and tables, and the calls of its contract driver.

The public header is sdk/c/src/header.h with its three marks replaced, so that there is one file to include."""
import pathlib

from model import Type, snake

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NOTE = "/* Generated from docs/openapi.json by tools/sdkgen; do not edit. */\n"
# Words of C and C++, and names that stdio.h may define as macros.
RESERVED = {"default", "delete", "stdin", "stdout", "stderr", "new", "class", "private", "protected", "public", "operator", "template", "this", "namespace", "export"}
COMMAND = Type("union", members=(Type("string"), Type("array", inner=Type("string"))))
SCALARS = {"integer": "int64_t", "number": "double", "boolean": "bool"}
KINDS = {"string": "TEXT", "enum": "TEXT", "integer": "INTEGER", "number": "NUMBER", "boolean": "BOOLEAN", "ref": "OBJECT"}
PAIRS = {"string": "iii_pair", "integer": "iii_count", "number": "iii_amount"}
LINE = 120


class Shape:
    """How a value looks in C. kind: what one element is; form: ONE, LIST, MAP, or EITHER (an answer that is one element or a list)."""

    def __init__(self, t, types):
        self.form, element = "ONE", t
        if t == COMMAND:
            self.kind, self.of = "COMMAND", None
            return
        if t.kind == "ref" and types[t.name].alias is not None:
            raise AssertionError(f"{t.name} inside another type is not an object")
        if t.kind == "array" and (t.inner.kind in KINDS):
            self.form, element = "LIST", t.inner
        elif t.kind == "map" and t.inner.kind in PAIRS:
            self.form, element = "MAP", t.inner
        elif t.kind == "union" and t.members[0].kind == "array" and t.members[0].inner == t.members[1]:
            self.form, element = "EITHER", t.members[1]
        self.kind = KINDS.get(element.kind, "JSON")  # what has no shape is JSON text
        self.of = element.name if self.kind == "OBJECT" else None
        self.pair = PAIRS.get(element.kind)


def name_of(field):
    text = snake(field)
    return text + "_" if text in RESERVED else text


def struct_of(name):
    return f"struct iii_{snake(name)}"


def wrap(text, indent):
    """A call or prototype that is too long, cut at commas below its bracket."""
    if len(text) <= LINE:
        return text
    at = text.index("(") + 1 if indent is None else indent
    out, line = [], ""
    for word in text.split(", "):
        more = word if not line else f"{line}, {word}"
        if line and len(more) + 1 > LINE:
            out.append(line + ",")
            more = " " * at + word
        line = more
    return "\n".join([*out, line])


def comment(text, indent="    "):
    """The text in lines of a comment."""
    if not text:
        return ""
    words, lines, line = text.replace("*/", "* /").split(), [], indent + "/*"
    for word in words:
        if len(line) + len(word) + 4 > LINE:
            lines.append(line)
            line = indent + " *"
        line += " " + word
    return "\n".join([*lines, line + " */"]) + "\n"


def help_of(f):
    values = ", ".join(f.type.values)
    return f"{f.help}: {values}" if f.help and values else f.help or (f"One of: {values}" if values else "")


class Emitter:
    def __init__(self, model):
        self.model = model
        self.types = {t.name: t for t in model.types}

    def shape(self, t):
        return Shape(t, self.types)

    # Structs

    def member(self, f):
        s, name = self.shape(f.type), name_of(f.name)
        help_text = comment(help_of(f))
        if s.form in ("LIST", "EITHER"):
            inner = "const char *const *" if s.kind == "TEXT" else f"const {struct_of(s.of)} *" if s.of else f"const {SCALARS[kind_name(s.kind)]} *"
            return f"{help_text}    {inner}{name};\n    size_t {snake(f.name)}_count;\n"
        if s.form == "MAP":
            return f"{help_text}    const struct {s.pair} *{name};\n    size_t {snake(f.name)}_count;\n"
        if s.kind == "TEXT":
            return f"{help_text}    const char *{name};\n    size_t {snake(f.name)}_len;\n"
        if s.kind == "JSON":
            return f"{comment((help_of(f) + '; JSON text').lstrip('; '))}    const char *{name};\n"
        if s.kind == "OBJECT":
            return f"{help_text}    const {struct_of(s.of)} *{name};\n"
        if s.kind == "COMMAND":
            return f"{help_text}    struct iii_command {name};\n"
        kind = SCALARS[kind_name(s.kind)]
        return f"{help_text}    {kind} {name};\n" if f.required and not f.type.nullable else f"{help_text}    const {kind} *{name};\n"

    def struct(self, name, text, fields, extra=""):
        body = "".join(self.member(f) for f in fields) + extra
        return f"{comment(text, '')}{struct_of(name)} {{\n{body}}};\n"

    def alias_fields(self, t):
        """A type that is no object becomes a struct with one member."""
        from dataclasses import replace
        from model import Field
        name = "items" if self.shape(t.alias).form in ("LIST", "EITHER") else "value"
        return (Field(name, replace(t.alias), True),)

    def fields_of(self, t):
        return self.alias_fields(t) if t.alias is not None else t.fields

    def type_text(self, t):
        either = t.alias is not None and self.shape(t.alias).form == "EITHER"
        return self.struct(t.name, t.help, self.fields_of(t), "    bool is_list;\n" if either else "")

    def ordered(self):
        """Types after those that they hold, as C wants it for arrays; pointers would not need it, readers like it."""
        done, out = set(), []

        def visit(t):
            if t.name in done:
                return
            done.add(t.name)
            for f in self.fields_of(t):
                s = self.shape(f.type)
                if s.of:
                    visit(self.types[s.of])
            out.append(t)

        for t in self.model.types:
            visit(t)
        return out

    # Operations

    def split(self, op):
        path = [f for f in op.where("path") if not (op.in_sandbox and f.name == "id")]
        sent = [f for f in op.fields if f.where != "path"]
        return path, [f for f in sent if f.required], [f for f in sent if not f.required]

    def options_name(self, op):
        return f"{snake(op.name)}_options" if self.split(op)[2] or op.idempotency_key else ""

    def options(self, op):
        key = ("    /* The same call with the same key is carried out once; with it a call is tried again when the connection fails. */\n"
               "    const char *idempotency_key;\n")
        name = self.options_name(op)
        return self.struct(name, f"Optional fields of iii_{op.name}()", self.split(op)[2], key if op.idempotency_key else "") if name else ""

    def argument(self, f):
        s, name = self.shape(f.type), name_of(f.name)
        if s.form == "LIST":
            return f"const char *const *{name}, size_t {snake(f.name)}_count" if s.kind == "TEXT" else f"const {struct_of(s.of)} *{name}, size_t {snake(f.name)}_count"
        if s.form == "MAP":
            return f"const struct {s.pair} *{name}, size_t {snake(f.name)}_count"
        if s.kind in ("TEXT", "JSON"):
            return f"const char *{name}"
        if s.kind == "COMMAND":
            return f"struct iii_command {name}"
        return f"const {struct_of(s.of)} *{name}" if s.of else f"{SCALARS[kind_name(s.kind)]} {name}"

    def arguments(self, op):
        path, required, _ = self.split(op)
        args = ["const iii_sandbox *sandbox" if op.in_sandbox else "iii_client *client"]
        args += [self.argument(f) for f in (*path, *required)]
        if self.options_name(op):
            args.append(f"const struct iii_{self.options_name(op)} *options")
        return args

    def variants(self, op):
        """(function name, its last arguments, type of what it gives, streams)"""
        found = []
        if op.reply is not None:
            t = op.reply.name
            found.append((f"iii_{op.name}", [f"{struct_of(t)} **ret", "struct iii_error *err"], t, False))
        if op.event is not None:
            t, suffix = op.event.name, "" if op.reply is None else "_events"
            found.append((f"iii_{op.name}{suffix}", [f"iii_{snake(t)}_fn *on_event", "void *arg", "struct iii_error *err"], t, True))
        return found

    def prototype(self, op, variant, end):
        return wrap(f"int {variant[0]}({', '.join(self.arguments(op) + variant[1])}){end}", None)

    def prototypes(self):
        out = []
        for op in self.model.operations:
            for i, variant in enumerate(self.variants(op)):
                about = op.help if i == 0 else f"{op.help}: each event as it comes"
                out.append(comment(about, "") + "III_API " + wrap_after(self.prototype(op, variant, ";"), 8))
        return "\n".join(out)

    def callbacks(self):
        names = dict.fromkeys(op.event.name for op in self.model.operations if op.event is not None)
        return "".join(f"typedef int iii_{snake(n)}_fn(const {struct_of(n)} *event, void *arg);\n" for n in names)

    def put(self, f):
        """The line that adds a required argument to a call."""
        s, name = self.shape(f.type), name_of(f.name)
        place = "IN_QUERY" if f.where == "query" else "IN_BODY"
        head = f'&c, "{f.name}", {place}, '
        if s.form == "LIST":
            return f"iii_call_texts({head}{name}, {snake(f.name)}_count)" if s.kind == "TEXT" else \
                f"iii_call_objects({head}&iii_type_{snake(s.of)}, {name}, {snake(f.name)}_count)"
        if s.form == "MAP":
            assert s.pair == "iii_pair", f"{f.name}: no argument of this kind yet"
            return f"iii_call_pairs({head}{name}, {snake(f.name)}_count)"
        call = {"TEXT": "text", "INTEGER": "integer", "NUMBER": "number", "BOOLEAN": "boolean", "COMMAND": "command", "JSON": "json"}.get(s.kind)
        return f"iii_call_{call}({head}{name})" if call else f"iii_call_object({head}&iii_type_{snake(s.of)}, {name})"

    def segments(self, op):
        parts = []
        for f in op.where("path"):
            if op.in_sandbox and f.name == "id":
                parts.append("iii_sandbox_id(sandbox)")
            else:
                parts.append(f"iii_call_digits(&c, {name_of(f.name)})" if f.type.kind == "integer" else name_of(f.name))
        return parts

    def function(self, op, variant):
        name, _, type_name, streams = variant
        client = "iii_sandbox_client(sandbox)" if op.in_sandbox else "client"
        flags = " | ".join(n for n, on in (("CALL_SAFE", op.safe), ("CALL_LONG", op.long)) if on) or "0"
        lines = [f"    struct call c = iii_call({client}, \"{op.method}\", {flags});\n"]
        segments = self.segments(op)
        route = ", ".join(["    iii_call_path(&c", f'"{op.path}"', *segments, "NULL);"])
        lines.append(wrap(route, 18) + "\n")
        lines += [wrap(f"    {self.put(f)};", 8) + "\n" for f in self.split(op)[1]]
        if self.options_name(op):
            lines.append(f"    iii_call_options(&c, &iii_type_{self.options_name(op)}, options);\n")
            if op.idempotency_key:
                lines.append("    iii_call_key(&c, options ? options->idempotency_key : NULL);\n")
        if streams:
            last = f"iii_call_stream(&c, &iii_type_{snake(type_name)}, (iii_event_fn *)on_event, arg, err)"
        else:
            last = f"iii_call_run(&c, &iii_type_{snake(type_name)}, (void **)ret, err)"
            checked = next((m for m in op.methods if m.must_succeed), None)
            if checked:
                last = f'iii_call_command_run(&c, "{checked.command}", ret, err)'
        return f"{self.prototype(op, variant, '')}\n{{\n{''.join(lines)}    return {last};\n}}\n"

    # Tables

    def row(self, owner, f):
        s, name = self.shape(f.type), name_of(f.name)
        counted = s.form != "ONE"
        size = f"offsetof({owner}, {snake(f.name)}_count)" if counted else f"offsetof({owner}, {snake(f.name)}_len)" if s.kind == "TEXT" else "0"
        of = f"&iii_type_{snake(s.of)}" if s.of else "NULL"
        optional = "false" if f.required and not f.type.nullable else "true"
        missing = "true" if not f.required else "false"
        place = "IN_QUERY" if f.where == "query" else "IN_BODY"
        pair = {"iii_count": "INTEGER", "iii_amount": "NUMBER"}.get(getattr(s, "pair", None), "TEXT") if s.form == "MAP" else s.kind
        return (f'    {{"{f.name}", KIND_{pair}, FORM_{s.form}, {place}, {optional}, {missing}, offsetof({owner}, {name}), {size}, {of}}},\n')

    def table(self, name, fields, whole=False):
        owner = struct_of(name)
        rows = "".join(self.row(owner, f) for f in fields)
        body = f"static const struct table_field fields_{snake(name)}[] = {{\n{rows}}};\n" if fields else ""
        source = f"fields_{snake(name)}, {len(fields)}" if fields else "NULL, 0"
        return f"{body}const struct table_type iii_type_{snake(name)} = {{\"{name}\", sizeof({owner}), {source}, {'true' if whole else 'false'}}};\n"

    def tables(self):
        out = [self.table(t.name, self.fields_of(t), t.alias is not None) for t in self.ordered()]
        out += [self.table(self.options_name(op), self.split(op)[2]) for op in self.model.operations if self.options_name(op)]
        return "\n".join(out)

    def externs(self):
        names = [snake(t.name) for t in self.ordered()] + [n for n in map(self.options_name, self.model.operations) if n]
        return "".join(f"extern const struct table_type iii_type_{n};\n" for n in names)

    def errors(self):
        codes = "".join(f"    III_{e.code.upper()} = {e.status}, /* {e.help} */\n" for e in self.model.errors)
        names = "".join(f'    {{III_{e.code.upper()}, "{e.code}"}},\n' for e in self.model.errors)
        return codes, names

    # The contract driver

    def from_json(self, f):
        s = self.shape(f.type)
        if s.form in ("LIST", "MAP"):
            what = {"iii_pair": "pairs"}.get(getattr(s, "pair", None), "texts") if s.form == "MAP" or s.kind == "TEXT" else "objects"
            what = "texts" if s.form == "LIST" and s.kind == "TEXT" else what
            more = f", &iii_type_{snake(s.of)}" if s.of else ""
            return f'args_{what}(a, "{f.name}"{more}), args_count(a, "{f.name}")'
        if s.of:
            return f'args_object(a, "{f.name}", &iii_type_{snake(s.of)})'
        return f'args_{s.kind.lower()}(a, "{f.name}")'

    def case(self, op, variant):
        name, _, type_name, streams = variant
        path, required, _ = self.split(op)
        args = ["a->sandbox" if op.in_sandbox else "a->client"] + [self.from_json(f) for f in (*path, *required)]
        if self.options_name(op):
            args.append("&options")
        table = f"iii_type_{snake(type_name)}"
        if streams:
            args += [f"(iii_{snake(type_name)}_fn *)args_event", "a"]
            first, last = f"    a->event_type = &{table};\n", ""
        else:
            args.append("&ret")
            first, last = f"    {struct_of(type_name)} *ret = NULL;\n", f"    args_reply(a, &{table}, ret);\n"
        opts = ""
        if self.options_name(op):
            opts = (f"    struct iii_{self.options_name(op)} options = {{0}};\n"
                    f"    args_options(a, &iii_type_{self.options_name(op)}, &options);\n")
            if op.idempotency_key:
                opts += '    options.idempotency_key = args_key(a);\n'
        call = wrap(f"    int e = {name}({', '.join([*args, 'a->err'])});", 8)
        return f"static int do_{name[4:]}(struct args *a)\n{{\n{first}{opts}{call}\n{last}    return e;\n}}\n"

    def dispatch(self):
        pairs = [(op, v) for op in self.model.operations for v in self.variants(op)]
        functions = "\n".join(self.case(op, v) for op, v in pairs)
        rows = "".join(f'    {{"{op.name}", {"true" if v[3] else "false"}, do_{v[0][4:]}}},\n' for op, v in pairs)
        return (NOTE + '#include "args.h"\n\n' + functions + "\nconst struct dispatch dispatch_table[] = {\n" + rows + "    {NULL, false, NULL},\n};\n")


def kind_name(kind):
    return kind.lower()


def wrap_after(text, shift):
    """A prototype behind a word: what follows its first line moves along, and is cut anew when that made it too long."""
    flat = " ".join(text.split())
    return wrap("X" * shift + flat, None)[shift:]


def header(e, text):
    codes, _ = e.errors()
    structs = "\n".join(e.type_text(t) for t in e.ordered())
    options = "\n".join(filter(None, map(e.options, e.model.operations)))
    for mark, value in (("@CODES@", codes.rstrip("\n")), ("@TYPES@", f"{structs}\n{options}\n{e.callbacks()}"), ("@OPERATIONS@", e.prototypes())):
        assert text.count(f"/* {mark} */") == 1, f"sdk/c/src/header.h must have {mark} once"
        text = text.replace(f"/* {mark} */", value)
    return text.replace("@VERSION@", e.model.version)


def files(model):
    e = Emitter(model)
    _, names = e.errors()
    functions = "\n".join(e.function(op, v) for op in model.operations for v in e.variants(op))
    tables = (NOTE + '#include "tables.h"\n\n#include <stddef.h>\n\n' + e.tables() +
              f"\nconst struct error_name iii_error_names[] = {{\n{names}    {{0, NULL}},\n}};\n")
    return {
        "sdk/c/include/iii_sandbox.h": header(e, (ROOT / "sdk" / "c" / "src" / "header.h").read_text(encoding="utf-8")),
        "sdk/c/src/generated/operations.c": NOTE + '#include "call.h"\n#include "tables.h"\n\n' + functions,
        "sdk/c/src/generated/tables.c": tables,
        "sdk/c/src/generated/tables.h": NOTE + '#pragma once\n#include "table.h"\n\n' + e.externs(),
        "sdk/c/contract/dispatch.c": e.dispatch(),
    }
