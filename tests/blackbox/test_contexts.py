"""Contexts: variables live from call to call, each context for itself; rich results; limits; death and restart."""
import base64
import json
import select
import shutil
import socket
import struct
import threading
import zlib

import pytest

import harness
from harness import UNKNOWN, Server, wait_until

SERVER_ENV = {"III_MAX_CONTEXTS": "3"}
NO_CONTEXT = "ctx_" + "0" * 24
needs_node = pytest.mark.skipif(not shutil.which("node"), reason="the host has no node for its view to show")


def path_of(sid, cid="", tail=""):
    return f"/sandboxes/{sid}/interpret/contexts" + (f"/{cid}" if cid else "") + tail


class Context:
    """One context of one sandbox, as a user would drive it."""

    def __init__(self, client, sid, **fields):
        self.client, self.sid = client, sid
        self.record = client.ok("POST", path_of(sid), fields)
        self.id = self.record["id"]

    def run(self, code, **fields):
        return self.client.ok("POST", path_of(self.sid, self.id, "/execute"), {"code": code, **fields})

    def post(self, tail, body=None, client=None):
        return (client or self.client).post(path_of(self.sid, self.id, tail), body)

    def state(self, client=None):
        listed = (client or self.client).ok("GET", path_of(self.sid))["contexts"]
        return next((c["state"] for c in listed if c["id"] == self.id), None)

    def delete(self):
        return self.client.delete(path_of(self.sid, self.id))


@pytest.fixture
def context(client, box):
    """Makes contexts in the shared sandbox; all are deleted after the test."""
    made = []

    def create(**fields):
        made.append(Context(client, box, **fields))
        return made[-1]

    yield create
    for one in made:
        assert one.delete().status in (200, 404)


def text_of(result):
    return [r["data"] for r in result["results"] if r["type"] == "text"]


def a_png():
    """One black pixel."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b""))


def test_python_contexts_of_a_sandbox_are_forks_of_one_process(client, new_sandbox):
    sid = new_sandbox()["id"]
    parents = {int(Context(client, sid).run("import os; print(os.getppid())")["stdout"]) for _ in range(3)}
    assert len(parents) == 1 and parents != {1}


def test_variables_live_between_calls(context):
    one = context()
    assert one.record["language"] == "python" and one.record["state"] == "idle" and one.record["id"].startswith("ctx_")
    assert one.record["cwd"] == "/workspace" and one.client.ok("GET", path_of(one.sid, one.id)) == one.record
    first = one.run("x = 20\nimport math\ndef double(v):\n    return 2 * v")
    assert first["error"] is None and first["results"] == [] and first["executionCount"] == 1
    second = one.run("print('hello')\ndouble(x) + math.floor(2.5)")
    assert text_of(second) == ["42"] and second["output"] == second["stdout"] == "hello\n"
    assert second["executionCount"] == 2 and isinstance(second["executionTime"], int) and second["state"] == "idle"
    assert text_of(one.run("_")) == ["42"]


class Default:
    """The default context of a language."""

    def __init__(self, client, sid, language="python"):
        self.client, self.path = client, path_of(sid, language)

    def run(self, code, client=None, **fields):
        return (client or self.client).ok("POST", f"{self.path}/execute", {"code": code, **fields})


def test_a_default_context_is_made_at_its_first_use(client, new_sandbox):
    sid = new_sandbox()["id"]
    assert client.get(path_of(sid, "python")).status == 404 and client.post(path_of(sid, "cobol", "/execute"), {"code": "1"}).status == 404
    one = Default(client, sid)
    one.run("x = 40")
    assert text_of(one.run("x + 2")) == ["42"]
    record = client.ok("GET", path_of(sid, "python"))
    assert record["default"] is True and record["executionCount"] == 2 and client.ok("GET", path_of(sid))["contexts"] == [record]
    assert text_of(client.ok("POST", path_of(sid, record["id"], "/execute"), {"code": "x"})) == ["40"], "by its id as well"
    assert "default" not in Context(client, sid).record
    events = list(client.events("POST", path_of(sid, "python", "/execute/stream"), {"code": "print(x)\nx + 1"}))
    assert [e["type"] for e in events] == ["stdout", "result", "end"]
    client.ok("POST", path_of(sid, "python", "/restart"))
    assert one.run("x")["errorName"] == "NameError"
    assert client.ok("DELETE", path_of(sid, "python")) == {"deleted": "python"}
    assert client.get(path_of(sid, "python")).status == 404
    assert text_of(one.run("6 * 7")) == ["42"], "and made once more"


@needs_node
def test_a_default_context_of_javascript(client, new_sandbox):
    one = Default(client, new_sandbox()["id"], "javascript")
    one.run("let x = 20")
    assert text_of(one.run("x * 2 + 2")) == ["42"]


def test_a_default_context_whose_process_is_gone_is_restarted(client, new_sandbox):
    one = Default(client, new_sandbox()["id"])
    one.run("x = 1")
    assert one.run("import os; os._exit(3)")["errorName"] == "ContextDied"
    again = one.run("x")
    assert again["errorName"] == "NameError" and again["executionCount"] == 1


def test_callers_of_a_default_context_take_turns(server, client, new_sandbox):
    sid = new_sandbox()["id"]
    one, seen = Default(client, sid), []
    one.run("x = 0\nimport time, os")

    def work(code):
        with harness.Client(server.port) as other:
            seen.append(one.run(code, other)["executionCount"])

    threads = [threading.Thread(target=work, args=(code,)) for code in ["os._exit(1)"] + ["x = globals().get('x', 0) + 1; time.sleep(0.02)"] * 9]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 10 and 1 <= int(text_of(one.run("x"))[0]) <= 9, "each had its turn; those after the death in a new process"


def test_who_waits_for_a_default_context_may_leave_and_their_number_is_bounded(server, client, new_sandbox):
    sid = new_sandbox()["id"]
    one, busy = Default(client, sid), harness.Client(server.port)
    one.run("ran = []\nimport time")
    held = busy.events("POST", f"{one.path}/execute/stream", {"code": "print('begun', flush=True)\ntime.sleep(600)"})
    assert next(held)["data"] == "begun\n"
    body = b'{"code":"ran.append(1)"}'
    head = f"POST /sandbox{one.path}/execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    waiting = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(65)]
    for sock in waiting:
        sock.sendall(head.encode() + body)
    answered, _, _ = select.select(waiting, [], [], harness.DEADLINE_S)
    assert len(answered) == 1 and b" 503 " in (text := answered[0].recv(4096)) and b"64 snippets wait for the python context" in text
    for sock in waiting:
        sock.close()
    held.close()  # whoever runs is interrupted when it leaves
    assert text_of(one.run("ran")) == ["[]"], "those who left had no turn"


def test_two_contexts_do_not_see_each_other(context):
    one, two = context(), context()
    one.run("secret = 1\nimport os\nos.environ['MARK'] = 'one'\nos.chdir('/')\nimport sys\nsys.path.append('/nowhere')\nlen = None")
    assert two.run("secret")["errorName"] == "NameError"
    assert text_of(two.run("import os, sys\n(os.environ.get('MARK'), os.getcwd(), '/nowhere' in sys.path, len([1]))")) == [
        "(None, '/workspace', False, 1)"]
    assert text_of(one.run("import random; random.random()")) != text_of(two.run("import random; random.random()"))


def test_env_and_cwd(context, client, box):
    client.ok("POST", f"/sandboxes/{box}/env", {"vars": {"FROM_SANDBOX": "1", "BOTH": "sandbox"}})
    one = context(cwd="/tmp", env={"MINE": "é", "BOTH": "context"})
    assert text_of(one.run("import os\n[os.environ[k] for k in ('FROM_SANDBOX', 'MINE', 'BOTH')], os.getcwd()")) == [
        "(['1', 'é', 'context'], '/tmp')"]


def test_traceback_has_name_value_and_lines(context):
    one = context()
    result = one.run("def broken(v):\n    return 1 / v\n\nbroken(0)")
    assert result["errorName"] == "ZeroDivisionError" and result["errorValue"] == "division by zero"
    lines = result["traceback"]
    assert lines[0] == "Traceback (most recent call last):" and lines[-1] == "ZeroDivisionError: division by zero"
    assert any("return 1 / v" in line for line in lines) and any('"<cell 1>", line 2, in broken' in line for line in lines)
    assert result["error"] == "\n".join(lines) and "<interpreter>" not in result["error"]
    wrong = one.run("1 +")
    assert wrong["errorName"] == "SyntaxError" and wrong["traceback"][0].strip().startswith('File "<cell 2>"')
    assert one.run("1")["error"] is None


def test_rich_results(context):
    picture = a_png()
    result = context().run(f"""
class Rich:
    def __repr__(self): return "rich"
    def _repr_png_(self): return {picture!r}
    def _repr_svg_(self): return "<svg/>"
    def _repr_html_(self): return "<b>é</b>"
    def _repr_json_(self): return {{"a": [1, None]}}
display("shown")
Rich()""")
    assert result["error"] is None
    kinds = [(r["type"], r["data"]) for r in result["results"]]
    assert kinds[:2] == [("text", "'shown'"), ("text", "rich")]
    found = dict(kinds[2:])
    assert base64.b64decode(found["png"]) == picture
    assert found["svg"] == "<svg/>" and found["html"] == "<b>é</b>" and found["json"] == {"a": [1, None]}


def test_figures_of_matplotlib_are_captured(context):
    """With a stand-in of the three calls that are used, so that no image needs the real one."""
    result = context().run(f"""
import sys, types
pyplot = types.ModuleType("matplotlib.pyplot")
class Figure:
    def savefig(self, out, format): out.write({a_png()!r})
pyplot.get_fignums, pyplot.figure, pyplot.close = lambda: [1], lambda n: Figure(), lambda which: None
sys.modules["matplotlib.pyplot"] = pyplot""")
    assert [r["type"] for r in result["results"]] == ["png"]
    assert base64.b64decode(result["results"][0]["data"]) == a_png()


def test_output_of_subprocesses_and_strange_bytes(context):
    one = context()
    result = one.run("import os, sys\nos.system('echo out; echo err >&2')\nsys.stdout.buffer.write(b'\\xff\\n')\nprint('\\ud800\\0')\nNone")
    assert "out\n" in result["stdout"] and "err\n" in result["stderr"] and "\ufffd\n" in result["stdout"]
    assert "\\ud800\0\n" in result["stdout"]
    assert one.run("raise ValueError('\\0\\udcff')")["errorValue"] == "\\x00\\udcff"
    assert one.run("input()")["errorName"] == "EOFError"
    assert one.run("import sys; sys.exit(3)")["errorName"] == "SystemExit"
    assert text_of(one.run("'still here'")) == ["'still here'"]


def test_top_level_await_and_fork(context):
    one = context()
    assert text_of(one.run("import asyncio\nawait asyncio.sleep(0.01, 'woke')")) == ["'woke'"]
    forked = one.run("import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\npid > 0")
    assert forked["error"] is None and text_of(forked)[-1] == "True"
    assert text_of(one.run("1 + 1")) == ["2"]


def test_a_large_output_is_cut_and_says_so(context):
    one = context()
    result = one.run("for _ in range(6): print('x' * (1 << 20))")
    assert result["truncated"] and len(result["stdout"]) == 4 << 20
    big = one.run("'y' * (3 << 20)")
    assert not big["truncated"] and len(text_of(big)[0]) == (3 << 20) + 2
    assert one.run("'y' * (9 << 20)")["truncated"]
    assert not one.run("1")["truncated"]


def test_timeout_interrupts_and_the_context_lives(context):
    one = context()
    one.run("x = 1")
    result = one.run("import time\nprint('before')\ntime.sleep(60)", timeout=1)
    assert result["timedOut"] and result["errorName"] == "TimeoutError" and "1000 ms" in result["errorValue"]
    assert result["stdout"] == "before\n" and result["state"] == "idle"
    assert text_of(one.run("x")) == ["1"]


def test_what_ignores_the_interrupt_is_killed(context):
    one = context()
    result = one.run("import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass", timeout=1)
    assert result["timedOut"] and result["state"] == "dead" and "killed" in result["errorValue"]
    refused = one.post("/execute", {"code": "1"})
    assert refused.status == 409 and "restart" in refused.error
    assert one.post("/restart").json()["state"] == "idle"
    assert text_of(one.run("2")) == ["2"]


def test_interrupt(context, server):
    one, other = context(), server.client()
    assert one.post("/interrupt").json() == {"interrupted": False}
    answers = []
    runner = threading.Thread(target=lambda: answers.append(one.run("import time\nprint('on')\ntime.sleep(60)")))
    runner.start()
    wait_until(lambda: one.state(other) == "busy", "the context is busy")
    refused = one.post("/execute", {"code": "1"}, client=other)
    assert refused.status == 409 and "busy" in refused.error
    wait_until(lambda: one.post("/interrupt", client=other).json()["interrupted"] and (runner.join(0.1) or not runner.is_alive()),
               "the snippet ends")
    assert answers[0]["errorName"] == "KeyboardInterrupt" and not answers[0]["timedOut"] and answers[0]["state"] == "idle"


def test_exit_is_reported_and_restart_brings_it_back(context):
    one, two = context(), context()
    two.run("x = 'two'")
    one.run("x = 1")
    result = one.run("import os; os._exit(7)")
    assert result["errorName"] == "ContextDied" and "code 7" in result["errorValue"] and result["state"] == "dead"
    assert one.state() == "dead"
    back = one.post("/restart").json()
    assert back["id"] == one.id and back["state"] == "idle" and "why" not in back
    assert one.run("x")["errorName"] == "NameError" and one.run("1")["executionCount"] == 2
    assert text_of(two.run("x")) == ["'two'"]


def test_restart_of_a_living_context_forgets_everything(context):
    one = context()
    one.run("x = 1")
    assert one.post("/restart").json()["state"] == "idle"
    assert one.run("x")["errorName"] == "NameError"


def test_killed_zygote_takes_its_contexts_and_restart_helps(context):
    one, two = context(), context()
    one.run("import os, signal; os.kill(os.getppid(), signal.SIGKILL)")
    wait_until(lambda: two.state() == "dead", "the other context is dead too")
    for each in (one, two):
        assert each.post("/restart").json()["state"] == "idle"
        assert text_of(each.run("6 * 7")) == ["42"]


def test_no_processes_left(client, new_sandbox):
    """What cannot be forked is refused; what is there goes on."""
    sid = new_sandbox()["id"]
    one = Context(client, sid)
    hog = "import subprocess\nkids = []\ntry:\n    while True: kids.append(subprocess.Popen(['sleep', '60']))\nexcept OSError: pass"
    assert one.run(hog)["error"] is None
    replies = [client.post(path_of(sid)) for _ in range(2)]  # the first may get the spare
    assert replies[-1].status == 503 and "context" in replies[-1].error
    assert text_of(one.run("for kid in kids:\n    kid.kill()\n    kid.wait()\nlen(kids) > 100")) == ["True"]
    assert Context(client, sid).record["state"] == "idle"


def test_a_pause_while_a_snippet_runs(client, new_sandbox, server):
    """Its time passes, but nothing is killed for not hearing."""
    sid = new_sandbox()["id"]
    one, other, answers = Context(client, sid), server.client(), []
    code = "import time\nprint('on')\nwhile True: time.sleep(0.01)"
    runner = threading.Thread(target=lambda: answers.append(one.run(code, timeout=4)))  # seconds, so that a busy host pauses it in time
    runner.start()
    wait_until(lambda: one.state(other) == "busy", "the snippet runs")
    other.ok("POST", f"/sandboxes/{sid}/pause")
    runner.join(4.5)
    assert runner.is_alive()
    other.ok("POST", f"/sandboxes/{sid}/resume")
    runner.join(30)
    assert answers[0]["timedOut"] and answers[0]["state"] == "idle"


def test_out_of_memory_is_named(client, new_sandbox):
    one = Context(client, new_sandbox(memory=64)["id"])
    result = one.run("x = []\nwhile True: x.append(bytearray(1 << 20))")
    assert result["errorName"] in ("ContextDied", "MemoryError")
    if result["errorName"] == "ContextDied":
        assert "memory" in result["errorValue"] or "signal" in result["errorValue"]
        assert one.post("/restart").json()["state"] == "idle"
    assert text_of(one.run("1 + 1")) == ["2"]


def test_stream(context, client):
    one = context()
    events = list(client.events("POST", path_of(one.sid, one.id, "/execute/stream"),
                                {"code": "import sys\nprint('a é')\nprint('b', file=sys.stderr)\nx = 1\nx + 1"}))
    assert [e["type"] for e in events] == ["stdout", "stderr", "result", "end"]
    assert events[0]["data"] == "a é\n" and events[1]["data"] == "b\n" and events[2]["result"] == {"type": "text", "data": "2"}
    assert events[3]["executionCount"] == 1 and events[3]["state"] == "idle" and all(e["timestamp"] > 0 for e in events)
    events = list(client.events("POST", path_of(one.sid, one.id, "/execute/stream"), {"code": "raise KeyError('k')"}))
    assert [e["type"] for e in events] == ["error", "end"]
    assert events[0]["errorName"] == "KeyError" and events[0]["traceback"][-1] == "KeyError: 'k'"


def test_a_client_that_leaves_interrupts_its_snippet(context, server):
    one, leaver = context(), server.client()
    stream = leaver.events("POST", path_of(one.sid, one.id, "/execute/stream"),
                           {"code": "import time\nprint('on')\ntime.sleep(60)"})
    assert next(stream)["data"] == "on\n"
    stream.close()
    wait_until(lambda: one.state() == "idle", "the context is free again")
    assert text_of(one.run("1")) == ["1"]


def test_limit_of_contexts(context, client, box):
    made = [context() for _ in range(3)]
    refused = client.post(path_of(box))
    assert refused.status == 503 and "III_MAX_CONTEXTS" in refused.error and "3" in refused.error
    assert made[0].delete().json() == {"deleted": made[0].id}
    assert made[0].delete().status == 404
    context()
    assert len(client.ok("GET", path_of(box))["contexts"]) == 3


@pytest.mark.parametrize("body, word", [
    ({"language": "cobol"}, "language"), ({"language": 5}, "language"), ({"cwd": "relative"}, "cwd"), ({"cwd": "/a/../b"}, "cwd"),
    ({"cwd": "/does/not/exist"}, "/does/not/exist"), ({"env": []}, "env"), ({"env": {"A": 1}}, "env"),
])
def test_bad_creates(client, box, body, word):
    reply = client.post(path_of(box), body)
    assert reply.status == 400 and word in reply.error
    assert client.ok("GET", path_of(box)) == {"contexts": []}


@pytest.mark.parametrize("body, word", [({}, "code"), ({"code": ""}, "code"), ({"code": 1}, "code"), ({"code": "x" * 1048577}, "code")])
def test_bad_executes(context, body, word):
    reply = context().post("/execute", body)
    assert reply.status == 400 and word in reply.error


def test_unknown_things_and_wrong_states(client, box, new_sandbox):
    for tail in ("/execute", "/execute/stream", "/restart", "/interrupt"):
        reply = client.post(path_of(box, NO_CONTEXT, tail), {"code": "1"})
        assert reply.status == 404 and "not found" in reply.error
    assert client.delete(path_of(box, NO_CONTEXT)).status == 404 and client.get(path_of(box, NO_CONTEXT)).status == 404
    assert client.post(path_of(UNKNOWN)).status == 404 and client.get(path_of(UNKNOWN)).status == 404
    other = new_sandbox()["id"]
    one = Context(client, other)
    assert client.post(path_of(box, one.id, "/execute"), {"code": "1"}).status == 404  # of another sandbox
    client.ok("POST", f"/sandboxes/{other}/pause")
    assert one.post("/execute", {"code": "1"}).status == 409 and client.post(path_of(other)).status == 409
    client.ok("POST", f"/sandboxes/{other}/resume")
    assert text_of(one.run("1")) == ["1"]


def test_contexts_end_with_their_sandbox(client, new_sandbox, server):
    sid = new_sandbox()["id"]
    one, other = Context(client, sid), server.client()
    answers = []
    runner = threading.Thread(target=lambda: answers.append(one.post("/execute", {"code": "import time; time.sleep(60)"})))
    runner.start()
    wait_until(lambda: one.state(other) == "busy", "the context is busy")
    assert other.delete(f"/sandboxes/{sid}").status == 200
    runner.join(30)
    assert not runner.is_alive() and answers[0].status == 410
    assert other.get(path_of(sid)).status == 404


def test_after_a_restart_of_the_server_contexts_are_lost_and_come_back():
    with Server(flags=["--on-shutdown=keep"]) as made:
        client = made.client()
        one = Context(client, client.create()["id"], env={"KEPT": "yes"})
        one.run("x = 1")
        client.close()
        made.kill()
        made.start()
        again = made.client()
        one.client = again
        assert one.state() == "lost"
        wait_until(lambda: [p["pid"] for p in again.ok("GET", f"/sandboxes/{one.sid}/processes")["processes"]] == [1], "the old interpreter is gone")
        assert one.post("/execute", {"code": "x"}).status == 409
        assert one.post("/restart").json()["state"] == "idle"
        assert text_of(one.run("import os; os.environ['KEPT']")) == ["'yes'"]
        assert again.delete(f"/sandboxes/{one.sid}").status == 200


def test_image_without_python_is_named(client, new_sandbox):
    sid = new_sandbox()["id"]
    client.ok("POST", f"/sandboxes/{sid}/env", {"vars": {"PATH": "/nothing"}})
    reply = client.post(path_of(sid))
    assert reply.status == 501 and "python3" in reply.error and "python" in reply.error
    assert client.ok("GET", path_of(sid)) == {"contexts": []}


@needs_node
def test_javascript(client, new_sandbox):
    one = Context(client, new_sandbox(image=harness.node_image())["id"], language="javascript")
    assert text_of(one.run("let x = 20; var y = 1; const f = (v) => 2 * v; x + y")) == ["21"]
    result = one.run("console.log('out'); console.error('err'); f(x) + 2")
    assert text_of(result) == ["42"] and result["stdout"] == "out\n" and result["stderr"] == "err\n"
    failed = one.run("null.member")
    assert failed["errorName"] == "TypeError" and "null" in failed["errorValue"] and failed["traceback"] and failed["error"]
    assert text_of(one.run("await Promise.resolve(7)")) == ["7"]
    assert text_of(one.run("require('path').basename('/a/b')")) == ["'b'"]
    rich = one.run("({ _repr_html_: () => '<i>', _repr_png_: () => Buffer.from('png') })")["results"]
    assert {"type": "html", "data": "<i>"} in rich and {"type": "png", "data": base64.b64encode(b"png").decode()} in rich
    late = one.run("while (true) {}", timeout=1)
    assert late["timedOut"] and late["state"] == "idle" and text_of(one.run("x")) == ["20"]
    gone = one.run("process.exit(4)")
    assert gone["errorName"] == "ContextDied" and "code 4" in gone["errorValue"]
    assert one.post("/restart").json()["state"] == "idle" and one.run("x")["errorName"] == "ReferenceError"


def test_many_snippets_at_once_in_different_contexts(context, server):
    contexts, failures, finished = [context() for _ in range(3)], [], []

    def work(one, k):
        with server.client() as mine:
            for i in range(40):
                reply = mine.post(path_of(one.sid, one.id, "/execute"), {"code": f"n = {i} + {k}\nprint('p' * 5000)\nn"})
                if reply.status != 200 or text_of(reply.json()) != [str(i + k)] or len(reply.json()["stdout"]) != 5001:
                    failures.append(reply)
        finished.append(k)

    threads = [threading.Thread(target=work, args=(one, k)) for k, one in enumerate(contexts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures and sorted(finished) == [0, 1, 2], json.dumps([str(f) for f in failures[:3]])
