"""The tables of methods in docs/sdk-<language>.md, between their marks: the made ones, and the public ones of the classes written by hand."""
import pathlib
import re

import methods
from emit_go import exported
from model import snake

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BEGIN, END = "<!-- methods: written by ./dev sdkgen -->\n", "<!-- end of methods -->"
# Per language: sources of the written classes, what begins a class, what begins a public method (with its class where classes have no block),
# methods that are no operations' business.
SOURCES = {
    "python": ("sdk/python/src/iii_sandbox/aio", ("managers.py", "sandbox.py"), r"^class (\w+)", r"^    (?:async )?def ([a-z]\w*)\(", set()),
    "typescript": ("sdk/typescript/src", ("managers/*.ts", "sandbox.ts"), r"^export class (\w+)", r"^  (?:async )?(\w+)\(", {"constructor"}),
    "rust": ("sdk/rust/src", ("managers.rs", "server.rs", "sandbox.rs", "exec.rs", "code.rs", "files.rs", "content.rs", "terminal.rs"), r"^impl (\w+)", r"^    pub (?:async )?fn (\w+)",
             {"new", "id", "status", "api"}),
    "go": ("sdk/go", ("sandbox.go", "exec.go", "code.go", "files.go", "terminal.go"), None, r"^func \(\w+ \*(\w+)\) ([A-Z]\w*)",
           {"Format", "ID", "Client"}),
}
# How each language spells the name of a method, and of a group.
SPELLED = {"python": snake, "rust": snake, "typescript": str, "go": exported}


def written(language):
    """{class: [method]} of the files written by hand."""
    home, patterns, owner, method, left_out = SOURCES[language]
    found = {}
    for path in (p for pattern in patterns for p in sorted((ROOT / home).glob(pattern))):
        current = None
        for line in path.read_text(encoding="utf-8").splitlines():
            if owner is None:
                for kind, name in re.findall(method, line):
                    found.setdefault(kind, []).extend([] if name in left_out else [name])
            elif match := re.match(owner, line):
                current = found.setdefault(match[1], [])
            elif line and not line[0].isspace() and line[0] not in "})":
                current = None  # a function of the module
            elif current is not None and (match := re.match(method, line)) and match[1] not in left_out and match[1] not in current:
                current.append(match[1])
    return found


def rust_members():
    """{type: member of Sandbox}"""
    text = (ROOT / "sdk/rust/src/sandbox.rs").read_text(encoding="utf-8")
    return {kind: name for name, kind in re.findall(r"^    pub (\w+): (\w+),$", text, re.M)}


def rows(model, language):
    """[(group, class, shown name, methods)]"""
    by_hand, members, found = written(language), rust_members(), {}
    for group in methods.GROUPS:
        kind = group.rust or group.class_name if language == "rust" else group.class_name
        shown = {"sandbox": "the sandbox itself", "contexts": "`interpreter.contexts`"}.get(group.name, f"`{group.name}`")
        if language == "rust" and group.name != "sandbox":
            shown = f"`{members.get(kind, kind)}`"
        elif language == "go" and group.name != "sandbox":
            shown = f"`{exported(group.name)}`"
        made = [SPELLED[language](m.name_in(language)) for m in methods.of_group(model, group, language)]
        entry = found.setdefault(kind, (group, shown, []))
        entry[2].extend(name for name in [*made, *(by_hand.get(kind, []) if not entry[2] else [])] if name not in entry[2])
    return [(kind, *entry) for kind, entry in found.items() if entry[2]]


def table(model, language):
    of_sandbox, of_server = [], []
    for kind, group, shown, names in rows(model, language):
        line = f"| {shown} | {', '.join(f'`{name}`' for name in names)} |\n"
        (of_sandbox if group.in_sandbox else of_server).append(line if group.in_sandbox or language == "rust" else line.replace(" |", f" (`{kind}`) |", 1))
    how = ": `X::new(http)`" if language == "rust" else ""
    return f"| Of a sandbox | |\n|---|---|\n{''.join(of_sandbox)}\n| Of the server{how} | |\n|---|---|\n{''.join(of_server)}"


def files(model):
    made = {}
    for language in SOURCES:
        name = f"docs/sdk-{language}.md"
        before, mark, rest = (ROOT / name).read_text(encoding="utf-8").partition(BEGIN)
        assert mark and END in rest, f"{name} has no place for the table of methods: {BEGIN}…{END}"
        made[name] = before + BEGIN + table(model, language) + END + rest.partition(END)[2]
    return made
