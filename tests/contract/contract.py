"""Contract scenarios: reads them, resolves references, checks expectations, and makes results of different clients comparable."""
import json
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
MEMBERS = {"op", "args", "as", "expect", "error", "stream", "take", "until", "meanwhile", "token", "volatile", "only", "why"}
REFERENCE = re.compile(r"\$([a-z]\w*(?:\.\w+)*)")
INSIDE = re.compile(r"\$\{([a-z]\w*(?:\.\w+)*)\}")
ID = re.compile(r"\b(sbx|bg|job|snap|tpl|net|vol|alrt|aevt|evt|trc|term|pool|ctx|exec|tok|img|whk|msg)_[0-9a-z]{8,}\b")
# Members whose values are chance: they are compared by their type only.
CHANCE = {"createdAt", "since", "expiresAt", "startedAt", "stoppedAt", "finishedAt", "completedAt", "modifiedAt", "timestamp", "duration", "executionTime", "pid", "hostPort",
          "userMs", "systemMs", "maxRssKb", "imageId", "size", "execId", "channel_id", "access_key", "created", "lastUsed", "secret", "url", "date",
          "hash", "revokedAt", "uptimeSeconds", "lastHeartbeat", "cpuPercent", "workerId", "hostname", "dockerNetworkId", "dockerVolumeName"}
JOINED = {"stdout", "stderr", "output"}


def load():
    """[(id for pytest, scenario)] of every file."""
    found = []
    for path in sorted(HERE.glob("*.json")):
        doc = json.loads(path.read_text(encoding="utf-8"))
        for scenario in doc["scenarios"]:
            for step in scenario["steps"]:
                unknown = set(step) - MEMBERS
                assert not unknown, f"{path.name}: {scenario['name']}: a step has {unknown}"
                assert "only" not in step or step.get("why"), f"{path.name}: {scenario['name']}: `only` without a reason"
            found.append((f"{path.stem}: {scenario['name']}", scenario))
    names = [name for name, _ in found]
    assert len(set(names)) == len(names), "two scenarios have the same name"
    return found


def look_up(path, scope):
    names = path.split(".")
    assert names[0] in scope, f"${path}: no earlier step is called {names[0]}"
    value = scope[names[0]]
    for name in names[1:]:
        value = value[int(name)] if isinstance(value, list) else value[name]
    return value


def resolve(value, scope):
    """The value with every reference replaced."""
    if isinstance(value, dict) and "$repeat" in value:
        text, times = value["$repeat"]
        return text * times
    if isinstance(value, dict):
        return {k: resolve(v, scope) for k, v in value.items()}
    if isinstance(value, list):
        return [resolve(v, scope) for v in value]
    if not isinstance(value, str):
        return value
    whole = REFERENCE.fullmatch(value)
    if whole:
        return look_up(whole[1], scope)
    return INSIDE.sub(lambda m: str(look_up(m[1], scope)), value)


# --- expectations ---

TYPES = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list, "object": dict}


def is_type(value, name):
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def has(value, wanted):
    if isinstance(value, str):
        return wanted in value
    return isinstance(value, list) and any(matches(one, wanted) is None for one in value)


TESTS = {
    "$len": lambda v, w: len(v) == w,
    "$has": has,
    "$not": lambda v, w: matches(v, w) is not None,
    "$type": is_type,
    "$gt": lambda v, w: is_type(v, "number") and v > w,
    "$match": lambda v, w: isinstance(v, str) and re.search(w, v) is not None,
}


def matches(value, expected, at="result"):
    """None when value is as expected, else where and how it is not."""
    if isinstance(expected, dict) and any(k.startswith("$") for k in expected):
        for name, wanted in expected.items():
            if not TESTS[name](value, wanted):
                return f"{at}: {name} {wanted!r} does not hold for {value!r}"
        return None
    if isinstance(expected, dict):
        if not isinstance(value, dict):
            return f"{at}: {value!r} is no object"
        for name, wanted in expected.items():
            absent = isinstance(wanted, dict) and "$absent" in wanted
            if wanted is False and value.get(name) is None:
                continue  # not every language tells them apart
            if (value.get(name) is None) != (absent or wanted is None):
                return f"{at}.{name} is {value.get(name)!r}, expected {wanted!r}"
            problem = None if absent or wanted is None else matches(value[name], wanted, f"{at}.{name}")
            if problem:
                return problem
        return None
    if isinstance(expected, list):
        if not isinstance(value, list) or len(value) != len(expected):
            return f"{at}: {value!r} is no list of {len(expected)}"
        return next((p for i, (v, w) in enumerate(zip(value, expected)) if (p := matches(v, w, f"{at}[{i}]"))), None)
    if value != expected or isinstance(value, bool) != isinstance(expected, bool):
        return f"{at} is {value!r}, expected {expected!r}"
    return None


# --- results ---

def join_output(events):
    """Events with adjacent pieces of the same output joined: where output is cut is chance."""
    joined = []
    for event in events:
        last = joined[-1] if joined else None
        if last and isinstance(event, dict) and event.get("type") in JOINED and last.get("type") == event["type"]:
            joined[-1] = {**last, "data": last["data"] + event["data"]}
            if "offset" in event:
                joined[-1]["offset"] = event["offset"]
        else:
            joined.append(event)
    return joined


def plain(value, run, volatile=(), loose=()):
    """The value without what differs from one run to the next: ids, times, sizes. null counts as absent, and so do false and "" of the members in loose."""
    if isinstance(value, dict):
        kept = {k: v for k, v in sorted(value.items()) if v is not None and not (k in loose and (v is False or v == ""))}
        return {plain(k, run): (type_name(v) if k in CHANCE or k in volatile else plain(v, run, volatile, loose)) for k, v in kept.items()}
    if isinstance(value, list):
        return [plain(v, run, volatile, loose) for v in value]
    if isinstance(value, str):
        return ID.sub(lambda m: f"<{m[1]}>", value).replace(run, "<run>")
    if isinstance(value, float) and value.is_integer():
        return int(value)  # 1.0 and 1 are the same number in JSON
    return value


def type_name(value):
    return f"<{next(name for name in ('boolean', 'number', 'string', 'array', 'object') if is_type(value, name))}>"
