"""The methods of the SDKs' classes, read from the SDK lines of the table (src/spec/ops.def has their notation)."""
import dataclasses
import re

LANGUAGES = ("typescript", "python", "rust", "go")


@dataclasses.dataclass(frozen=True)
class Group:
    """A class of the SDKs. in_sandbox: of one sandbox, whose id it knows. by_hand: languages in which a written class adds to the made one."""
    name: str
    class_name: str
    help: str
    in_sandbox: bool = False
    by_hand: tuple = ()
    rust: str = ""  # the type in Rust, where it is another one

    @property
    def base_name(self):
        """The made class that the written one extends."""
        return re.sub(r"(Manager|Client)$", "", self.class_name) + "Methods"

    def made_class(self, language):
        return self.base_name if language in self.by_hand else self.class_name


BOTH = ("typescript", "python")
GROUPS = (
    Group("sandbox", "Sandbox", "One sandbox", True, BOTH),
    Group("background", "BackgroundManager", "Commands in the background, with one log of their output", True),
    Group("contexts", "ContextManager", "Interpreters whose variables live between calls", True),
    Group("durable", "DurableManager", "Commands that outlive their connection and the server: followed, fed and signalled by their id", True,
          rust="JobManager"),
    Group("egress", "EgressManager", "What a sandbox with a network may connect to", True),
    Group("env", "EnvManager", "Environment of a sandbox: what every later process gets", True),
    Group("filesystem", "FilesystemManager", "Files of a running sandbox. Relative paths are below its working folder", True, BOTH, rust="FileSystem"),
    Group("git", "GitManager", "Git, by the sandbox's own git program. `path` is the repository's folder; default: the working folder", True),
    Group("interpreter", "InterpreterManager", "Snippets of code in a fresh interpreter, and contexts that keep their variables", True, BOTH,
          rust="CodeInterpreter"),
    Group("monitor", "MonitorManager", "Alerts on resource use", True),
    Group("ports", "PortManager", "Ports of a sandbox that are reachable from outside", True, BOTH),
    Group("processes", "ProcessManager", "Processes inside a sandbox, by their ids there", True),
    Group("proxy", "ProxyManager", "HTTP requests to servers inside a sandbox, through the server", True, rust="PortManager"),
    Group("queue", "QueueManager", "Queued commands with retries and a dead-letter list", True),
    Group("service", "ServiceManager", "Services: commands of the sandbox's configuration that its agent keeps running", True),
    Group("streams", "StreamManager", "What a sandbox prints and uses, as it happens", True),
    Group("terminal", "TerminalManager", "Shells on a real pseudo terminal", True, BOTH),
    Group("admin", "AdminClient", "The server itself; most of it for admins"),
    Group("events", "EventManager", "Events: what happened, and what clients publish"),
    Group("images", "ImageManager", "The image store"),
    Group("networks", "NetworkManager", "Networks between sandboxes"),
    Group("observability", "ObservabilityClient", "Traces of calls, and numbers made from them"),
    Group("snapshots", "SnapshotManager", "Snapshots by their own id; those of a sandbox are made and listed by the sandbox"),
    Group("templates", "TemplateManager", "Configurations with a name"),
    Group("tokens", "TokenManager", "API tokens; for admins"),
    Group("volumes", "VolumeManager", "Folders that outlive sandboxes"),
    Group("webhooks", "WebhookManager", "Events to URLs, signed and retried"),
)
BY_NAME = {group.name: group for group in GROUPS}


@dataclasses.dataclass(frozen=True)
class Argument:
    """One argument of a method. shown: its name, in camel case. default: what the client sends when it is not given."""
    field: object
    shown: str
    default: object = None

    @property
    def required(self):
        return self.field.required


@dataclasses.dataclass(frozen=True)
class Method:
    """options: those that a language without named arguments takes in one object; None when there is no such object.
    fixed: {field: value} always sent. member: of the reply, what the method gives. last: type of the event that ends its stream.
    keeps_info: the reply is the sandbox's new record. must_succeed: an exit code other than 0 is an error. takes_call: it may get options of the call (deadline, idempotency key)."""
    op: object
    group: Group
    name: str
    arguments: tuple
    options: "tuple | None"
    fixed: dict
    member: str
    last: str
    keeps_info: bool
    must_succeed: bool
    names: dict

    @property
    def streams(self):
        return self.op.reply is None or bool(self.last)

    @property
    def bound(self):
        """The path's sandbox id, which the object knows."""
        return self.group.in_sandbox and self.op.in_sandbox

    @property
    def command(self):
        """What the command is called in an error."""
        return self.op.name.replace("_", " ")

    @property
    def takes_call(self):
        return self.op.idempotency_key or self.streams

    @property
    def all_options(self):
        """Whether the options are all that the arguments leave."""
        named = {a.field.name for a in (*self.arguments, *(self.options or ()))} | set(self.fixed) | ({"id"} if self.bound else set())
        return named == {f.name for f in self.op.fields}

    def is_by_hand(self, language):
        return self.names.get(language) == "-"

    def name_in(self, language):
        return self.names.get(language, self.name).removesuffix("{}")

    def takes_options(self, language):
        return self.options is not None or self.names.get(language, "").endswith("{}")


def literal(text):
    return {"true": True, "false": False}.get(text, int(text) if text.isdigit() else text)


def argument(fields, word, op_name):
    shown, field, default = re.fullmatch(r"(\w+)(?::(\w+))?(?:=(\S+))?", word).groups()
    assert (field or shown) in fields, f"SDK line of {op_name}: {word} is not a field"
    return Argument(fields[field or shown], shown, None if default is None else literal(default))


def method(op, text):
    target, *_ = text.split()
    group_name, _, name = target.partition(".")
    assert group_name in BY_NAME and name, f"SDK line of {op.name}: {target} is not group.method; groups are in tools/sdkgen/methods.py"
    group = BY_NAME[group_name]
    fields = {f.name: f for f in op.fields if not (group.in_sandbox and op.in_sandbox and f.name == "id" and f.where == "path")}
    found = {"arguments": [], "options": None, "fixed": {}, "member": "", "last": "", "keeps_info": False, "must_succeed": False, "names": {}}
    for word in re.findall(r"\{[^}]*\}|[^\s{]\S*", text[len(target):]):
        language, _, other = word.partition(":")
        if word[0] == "{":
            found["options"] = word[1:-1].split()
        elif word[0] == ">":
            found["member"] = word[1:]
        elif word == "=info":
            found["keeps_info"] = True
        elif word == "?exit":
            found["must_succeed"] = True
        elif word.startswith(".."):
            found["last"] = word[2:]
        elif word[0] == "!":
            key, _, value = word[1:].partition("=")
            found["fixed"][key] = literal(value)
        elif other and language in LANGUAGES:
            found["names"][language] = other
        else:
            found["arguments"].append(argument(fields, word, op.name))
    left = [f for f in op.fields if f.name in fields and f.name not in found["fixed"]]
    if not found["arguments"]:
        found["arguments"] = [Argument(f, f.name) for f in left if f.required]
        if found["options"] is None and any(not f.required for f in left):
            found["options"] = []
    given = {a.field.name for a in found["arguments"]}
    missing = [f.name for f in left if f.required and f.name not in given]
    assert not missing, f"SDK line of {op.name}: {missing[0]} is required and no argument"
    if found["options"] == []:
        found["options"] = [Argument(f, f.name) for f in left if f.name not in given]
    elif found["options"]:
        found["options"] = [argument(fields, word, op.name) for word in found["options"]]
    options = found.pop("options")
    return Method(op=op, group=group, name=name, options=None if options is None else tuple(options), **{**found, "arguments": tuple(found["arguments"])})


def read(op, lines):
    """The methods of an operation; none when the SDKs have all of them by hand."""
    assert lines, f"{op.name} has no SDK line in src/spec/ops_*.def (src/spec/ops.def has the notation)"
    return tuple(method(op, text) for text in lines if text != "-")


def of_group(model, group, language):
    """The methods of a class that are made in this language."""
    return [m for op in model.operations for m in op.methods if m.group is group and not m.is_by_hand(language)]


def record_fields(model):
    """Members of a sandbox's record, which its object has as well."""
    return next(t for t in model.types if t.name == "SandboxInfo").fields


def member_type(model, m):
    """The type of what a method gives: its reply, or a member of it."""
    if not m.member:
        return m.op.reply
    reply = next(t for t in model.types if t.name == m.op.reply.name)
    return next(f.type for f in reply.fields if f.name == m.member)
