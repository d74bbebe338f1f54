"""Every scenario through every client against one live server: as expected, and the same for all."""
import concurrent.futures
import json
import pathlib
import sys
import threading
import time
import uuid

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import contract  # noqa: E402
import drivers  # noqa: E402
import sdkkit  # noqa: E402
from conftest import TOKEN  # noqa: E402

sys.path.insert(0, str(sdkkit.ROOT / "tools" / "sdkgen"))
import model  # noqa: E402

MODEL = model.read(sdkkit.ROOT / "docs" / "openapi.json")
TABLE = {op.name: op for op in MODEL.operations}
# Members of replies that may be left out: not every language tells that from false or "".
LOOSE = {f.name for t in MODEL.types for f in t.fields if f.type.kind in ("boolean", "string") and not f.required}
SCENARIOS = contract.load()
CUT_BY_CHANCE = {"ExecStreamChunk", "ExecOutputEvent", "ServiceOutputEvent", "ContextEvent"}
EXTRA_CALLS = {"terminal_talk"}
UNTIL_S = 60
# What an operation makes, and the path that removes it. In this order: a volume cannot go before the sandbox that uses it.
MAKES = {"sandbox_create": "/sandboxes/{id}", "sandbox_clone": "/sandboxes/{id}", "snapshot_clone": "/sandboxes/{id}", "sandbox_fork": "/sandboxes/{id}",
         "network_create": "/networks/{id}", "volume_create": "/volumes/{id}", "snapshot_create": "/snapshots/{id}",
         "snapshot_create_short": "/snapshots/{id}", "template_create": "/templates/{id}", "token_create": "/tokens/{id}",
         "webhook_create": "/webhooks/{id}"}


@pytest.fixture(scope="session")
def clients(server, url):
    """name → driver, those that could be made ready; the others are named with their reason."""
    started, broken = {}, {}
    for name in drivers.names():
        try:
            started[name] = drivers.start(name, url, TOKEN)
        except (AssertionError, OSError) as error:
            broken[name] = str(error)
    yield started, broken
    for driver in started.values():
        driver.close()


def request_of(step, scope):
    request = {"op": step["op"], "args": contract.resolve(step.get("args", {}), scope)}
    for name in ("take", "token", "stream"):
        if name in step:
            request[name] = contract.resolve(step[name], scope)
    return request


class Meanwhile:
    """Makes one call again and again beside a step."""

    def __init__(self, server, call, scope):
        op = TABLE[call["op"]]
        args = contract.resolve(call.get("args", {}), scope)
        path = op.path.removeprefix("/sandbox").format(**args)
        self.call = (op.method, path, args if op.method == "POST" else None)
        self.client, self.stop = server.client(), threading.Event()
        self.thread = threading.Thread(target=self.work)

    def work(self):
        while not self.stop.wait(0.1):
            self.client.call(*self.call)

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()
        self.client.close()


def verdict(step, answer, scope):
    """None, or what is wrong with the answer."""
    wanted = step.get("error")
    if wanted:
        got = answer.get("error")
        if not got:
            return f"succeeded with {json.dumps(answer)[:400]}, expected {wanted}"
        if (got["code"], got["status"]) != (wanted["code"], wanted["status"]) or wanted.get("message", "") not in got["message"]:
            return f"failed with {got}, expected {wanted}"
        return None
    if "error" in answer:
        return f"failed: {answer['error']}"
    return contract.matches(answer["ok"], contract.resolve(step["expect"], scope)) if "expect" in step else None


def ask(driver, server, step, scope):
    request = request_of(step, scope)
    if "meanwhile" in step:
        with Meanwhile(server, step["meanwhile"], scope):
            answer = driver.ask(request)
    else:
        answer = driver.ask(request)
    op = TABLE.get(step["op"])
    if op and op.event and op.event.name in CUT_BY_CHANCE and isinstance(answer.get("ok"), list):
        answer["ok"] = contract.join_output(answer["ok"])
    return answer


def run_step(driver, server, step, scope):
    """The answer that is as expected."""
    end = time.monotonic() + UNTIL_S
    while True:
        answer = ask(driver, server, step, scope)
        problem = verdict(step, answer, scope)
        if not problem:
            return answer
        assert step.get("until") and time.monotonic() < end, f"{step['op']}: {problem}"
        time.sleep(0.05)


def remember(made, step, answer):
    if step["op"] in MAKES and "ok" in answer:
        for one in answer["ok"]["sandboxes"] if step["op"] == "sandbox_fork" else [answer["ok"]]:
            made.append((list(MAKES).index(step["op"]), MAKES[step["op"]].format(**one)))


def play(driver, server, scenario):
    """[comparable result of each step]; None for a step that this client skips."""
    scope, made, seen = {"run": uuid.uuid4().hex[:12]}, [], []
    try:
        for step in scenario["steps"]:
            if driver.name not in step.get("only", [driver.name]):
                seen.append(None)
                continue
            answer = run_step(driver, server, step, scope)
            remember(made, step, answer)
            if "as" in step:
                scope[step["as"]] = answer["ok"]
            if "error" in answer:
                answer = {"error": {k: answer["error"][k] for k in ("code", "status", "message")}}
            seen.append(contract.plain(answer, scope["run"], step.get("volatile", ()), LOOSE))
    finally:
        with server.client() as client:
            for _, path in sorted(made):
                client.delete(path)
    return seen


@pytest.mark.parametrize("scenario", [s for _, s in SCENARIOS], ids=[name for name, _ in SCENARIOS])
def test_scenario(scenario, server, clients):
    started, _ = clients
    with concurrent.futures.ThreadPoolExecutor(len(started) or 1) as pool:
        playing = {name: pool.submit(play, driver, server, scenario) for name, driver in started.items()}
    problems, results = [], {}
    for name, future in playing.items():
        if future.exception():
            problems.append(f"{name}: {future.exception()}")
        else:
            results[name] = future.result()
    assert not problems, "\n".join(problems)
    for i, step in enumerate(scenario["steps"]):
        given = {name: result[i] for name, result in results.items() if result[i] is not None}
        assert len({json.dumps(v, sort_keys=True) for v in given.values()}) <= 1, f"step {i} {step['op']} differs: {json.dumps(given, indent=1)}"


@pytest.mark.parametrize("name", drivers.names())
def test_driver_knows_every_operation(name, clients):
    started, broken = clients
    assert name not in broken, broken[name]
    known = set(started[name].ask({"op": "operations"})["ok"])
    assert sorted(set(TABLE) | EXTRA_CALLS) == sorted(known)


def test_the_scenarios_call_every_operation():
    """What needs a registry is left out: the black-box tests show it."""
    called = {step["op"] for _, s in SCENARIOS for step in s["steps"]}
    assert sorted(set(TABLE) - called - {"image_pull", "image_delete"}) == []
    assert sorted(called - set(TABLE) - EXTRA_CALLS) == []
    assert len(SCENARIOS) >= 60
