"""sandbox::exec: command forms, env, stdin, time-outs, slots, exits; sandbox::run and its steps."""
import base64

import pytest

import harness
from fnclient import UNKNOWN, Functions, fn, sb  # noqa: F401

SERVER_ENV = {"III_MAX_EXECS": "2", "III_MAX_EXEC_MS": "20000"}


@pytest.mark.parametrize("command", [
    {"cmd": "python3 -c 'print(2+2)'"}, {"cmd": "python3", "args": ["-c", "print(2+2)"]}, {"argv": ["python3", "-c", "print(2+2)"]},
    {"cmd": "python3 -c \"print(2\\\n+2)\" # a comment"}, {"cmd": "python3\t-c\nprint(2+2)"}, {"cmd": "pyth'on'3 -c print\\(2+2\\)"},
])
def test_three_forms(fn, sb, command):
    answer = fn.call("exec", sandbox_id=sb, **command)
    assert answer == {"stdout": "4\n", "stderr": "", "exit_code": 0, "timed_out": False, "success": True,
                      "duration_ms": answer["duration_ms"], "stdout_truncated": False, "stderr_truncated": False}


@pytest.mark.parametrize("command, word", [
    ({}, "empty command"), ({"cmd": ""}, "empty command"), ({"cmd": "a", "argv": ["b"]}, "ambiguous"), ({"args": ["a"], "argv": ["b"]}, "ambiguous"),
    ({"cmd": "a b", "args": ["c"]}, "ambiguous"), ({"cmd": "a 'b"}, "unbalanced"), ({"cmd": 'a "b'}, "unbalanced"), ({"cmd": "a b\\"}, "unbalanced"),
    ({"cmd": "  "}, "no command"), ({"cmd": " # x"}, "no command"), ({"argv": [""]}, "empty"), ({"cmd": 5}, "cmd"), ({"cmd": "a", "args": "b"}, "args"),
    ({"cmd": "a", "args": [{}]}, "args[0]"), ({"cmd": "a", "timeout_ms": "x"}, "timeout_ms"), ({"cmd": "a", "timeout_ms": -1}, "timeout_ms"),
    ({"cmd": "a", "env": {"A-B": "1", "0": "2"}}, '"A-B", "0"'), ({"cmd": "cat", "stdin": "?"}, "base64"), ({"cmd": "a\0b"}, "NUL"),
])
def test_bad_requests(fn, sb, command, word):
    assert word in fn.fault("exec", "S001", sandbox_id=sb, **command)["message"]


def test_order_of_checks(fn):
    assert "UUID" in fn.fault("exec", "S001", sandbox_id="x", cmd="")["message"]
    assert "command" in fn.fault("exec", "S001", sandbox_id=UNKNOWN, cmd="", env={"1": "2"})["message"]
    assert "env" in fn.fault("exec", "S001", sandbox_id=UNKNOWN, cmd="a", env={"1": "2"}, stdin="?")["message"]
    fn.fault("exec", "S002", sandbox_id=UNKNOWN, cmd="a", stdin="?")


def test_numbers_are_taken_as_text(fn, sb):
    assert fn.call("exec", sandbox_id=sb, cmd="echo", args=[1, True, 2.5])["stdout"] == "1 true 2.5\n"
    assert fn.call("exec", sandbox_id=sb, argv=["printenv", "N"], env={"N": 7})["stdout"] == "7\n"


def test_env_layers(fn):
    sid = fn.create(env={"A": "create", "B": "create"})
    show = {"argv": ["sh", "-c", "echo $A $B $C; echo $PATH"]}
    shown, path, _ = fn.call("exec", sandbox_id=sid, env=["B=exec", "C=a=b", "nonsense"], **show)["stdout"].split("\n")
    assert shown == "create exec a=b" and "/usr/local/sbin:" in path
    assert fn.call("exec", sandbox_id=sid, env={"A": ""}, **show)["stdout"].startswith("create\n")
    assert fn.call("exec", sandbox_id=sid, **show)["stdout"].startswith("create create\n")
    listed = fn.create(env=["A=1", "A=2", "x"])
    assert fn.call("exec", sandbox_id=listed, **show)["stdout"].startswith("2\n")


def test_exit_codes(fn, sb):
    answer = fn.call("exec", sandbox_id=sb, cmd="sh -c 'exit 3'")
    assert (answer["exit_code"], answer["success"]) == (3, False)
    assert fn.call("exec", sandbox_id=sb, cmd="sh -c 'kill -9 $$'")["exit_code"] == 137
    missing = fn.call("exec", sandbox_id=sb, cmd="no-such-program")
    assert (missing["exit_code"], missing["stderr"]) == (127, "exec: no-such-program: not found")
    assert fn.call("exec", sandbox_id=sb, cmd="/etc/passwd/x")["exit_code"] == 127
    fn.call("fs::write", sandbox_id=sb, path="/plain", content="x")
    refused = fn.call("exec", sandbox_id=sb, cmd="/plain")
    assert (refused["exit_code"], refused["stderr"]) == (126, "exec: /plain: permission denied")


def test_workdir(fn, sb):
    assert fn.call("exec", sandbox_id=sb, cmd="pwd")["stdout"] == "/\n"
    assert fn.call("exec", sandbox_id=sb, cmd="pwd", workdir="/usr/bin")["stdout"] == "/usr/bin\n"
    assert "/nowhere" in fn.fault("exec", "S211", sandbox_id=sb, cmd="pwd", workdir="/nowhere")["message"]


def test_stdin(fn, sb):
    assert fn.call("exec", sandbox_id=sb, cmd="cat")["stdout"] == ""
    assert fn.call("exec", sandbox_id=sb, cmd="cat", stdin="")["stdout"] == ""
    assert fn.call("exec", sandbox_id=sb, cmd="cat", stdin="aGk=")["stdout"] == "hi"
    big = base64.b64encode(b"x" * (3 << 20)).decode()
    assert fn.call("exec", sandbox_id=sb, cmd="wc -c", stdin=big)["stdout"].strip() == str(3 << 20)


def test_output_is_cut_with_a_flag_and_repaired(fn, sb):
    answer = fn.call("exec", sandbox_id=sb, cmd="sh -c 'head -c 1048577 /dev/zero | tr \\\\0 a; printf \\\\377 >&2'")
    assert len(answer["stdout"]) == 1048576 and answer["stdout_truncated"] is True
    assert answer["stderr"] == "�" and answer["stderr_truncated"] is False


def test_time_out_kills_the_group_and_keeps_the_output(fn, sb):
    body = fn.fault("exec", "S200", sandbox_id=sb, cmd="sh -c 'echo early; sleep 77 & sleep 77'", timeout_ms=300)
    assert "exec timed out after 300ms" == body["message"] and body["stdout"] == "early\n" and body["stderr"] == ""
    assert fn.call("list")["sandboxes"][-1]["exec_in_flight"] == 0
    assert fn.call("exec", sandbox_id=sb, cmd="sh -c 'ps ax 2>/dev/null | grep -c [s]leep.77; true'")["stdout"].strip() in ("0", "")


def test_a_background_child_that_holds_the_pipe_holds_the_call(fn, sb):
    fn.fault("exec", "S200", sandbox_id=sb, cmd="sh -c 'sleep 66 &'", timeout_ms=300)
    assert fn.call("exec", sandbox_id=sb, cmd="sh -c 'nohup sleep 2 >/dev/null 2>&1 &'", timeout_ms=1500)["success"]


def test_slots(fn, sb):
    asked = [fn.ask("exec", sandbox_id=sb, cmd="sh -c 'until test -e /go; do sleep 0.02; done'") for _ in range(2)]
    row = fn.call("list")["sandboxes"][-1]
    assert (row["exec_in_progress"], row["exec_in_flight"], row["exec_slots_free"]) == (True, 2, 0)
    body = fn.fault("exec", "S003", sandbox_id=sb, cmd="true", stdin="?")
    assert sb in body["message"] and "max_concurrent_exec_per_sandbox" in body["message"]
    assert "foreground" in body["fix_note"] and "nohup" in body["fix_note"] and "sandbox::stop" in body["fix_note"]
    fn.call("fs::write", sandbox_id=sb, path="/go", content="")
    for call_id in asked:
        assert fn.answer(call_id)["success"]
    assert fn.call("exec", sandbox_id=sb, cmd="true")["success"]


def test_stop_during_an_exec(fn, sb):
    asked = fn.ask("exec", sandbox_id=sb, cmd="sleep 55")
    harness.wait_until(lambda: fn.call("list")["sandboxes"][-1]["exec_in_flight"] == 1, "the command")
    fn.call("stop", sandbox_id=sb)
    fn.fault_of(asked, "S004")


def test_a_paused_sandbox_is_refused(fn, client, sb):
    client.ok("POST", f"/sandboxes/{sb}/pause")
    fn.fault("exec", "S004", sandbox_id=sb, cmd="true")
    client.ok("POST", f"/sandboxes/{sb}/resume")
    assert fn.call("exec", sandbox_id=sb, cmd="true")["success"]


def test_a_command_is_an_event_as_over_rest(fn, client, sb):
    fn.call("exec", sandbox_id=sb, cmd="sh -c 'exit 3'")
    rest_id = client.ok("GET", f"/sandboxes/{sb}")["id"]
    (event,) = client.ok("GET", f"/events/history?topic=sandbox.exec&sandboxId={rest_id}")["events"]
    assert event["data"]["exitCode"] == 3 and event["data"]["duration"] >= 0


def test_an_oom_kill_is_counted_once(fn, client):
    sid = fn.create(memory_mb=64)
    hog = fn.call("exec", sandbox_id=sid, argv=["python3", "-c", "x = bytearray(200 << 20)"])
    assert hog["exit_code"] == 137, "the kernel ended it for its memory"
    assert client.exec(sid, "kill -9 $$")["oomKilled"] is False, "that was the command before"


# --- run ---

def test_run_python_with_files_stdin_and_env(fn):
    answer = fn.call("run", image="python", lang="python", code="import os, sys\nsys.path.insert(0, '/lib-of-mine')\nimport m\nprint(m.x, sys.stdin.read(), os.environ['E'])",
                     files=[{"path": "/lib-of-mine/m.py", "content": "x = 'é'"}], stdin="aW4=", env=["E=1"])
    assert answer["stdout"] == "é in 1\n" and "sandbox_id" not in answer
    assert fn.call("list")["sandboxes"] == []


@pytest.mark.parametrize("fields, out", [
    ({"lang": "sh", "code": "echo $0"}, "/tmp/run.sh\n"), ({"lang": "bash", "code": "echo b"}, "b\n"), ({"code": "print(1)"}, "1\n"),
    ({"lang": "py", "code": "import sys; print(sys.argv[0])"}, "/tmp/run.py\n"), ({"lang": "cat", "code": 5}, "5"),
])
def test_run_languages(fn, fields, out):
    assert fn.call("run", image="python", **fields)["stdout"] == out


def test_run_node(fn):
    answer = fn.call("run", image=harness.node_image(), lang="js", code="console.log(2+2)")
    assert answer["stdout"] == "4\n" or answer["exit_code"] == 127


def test_run_keeps_the_sandbox_on_request(fn):
    answer = fn.call("run", image="python", lang="no-such-language", code="", keep_sandbox=True, name="kept")
    assert answer["exit_code"] == 127
    row = fn.call("list")["sandboxes"][-1]
    assert (row["sandbox_id"], row["name"]) == (answer["sandbox_id"], "kept")


def test_run_failures_name_their_step(fn):
    body = fn.fault("run", "S100", image="nope", lang="sh", code="")
    assert body["fix"] == {"context": "during sandbox::run step `create`", "sandbox_id": "", "inner_code": "S100"}
    assert body["fix_note"] is None
    body = fn.fault("run", "S200", image="python", lang="sh", code="echo out; sleep 44", timeout_ms=200)
    assert body["fix"]["context"].endswith("`exec`") and body["stdout"] == "out\n"
    assert fn.call("list")["sandboxes"] == []
    body = fn.fault("run", "S212", image="python", lang="sh", code="", files=[{"path": "/tmp", "content": ""}])
    assert body["fix"]["context"].endswith("`fs::write (sibling file)`")
    body = fn.fault("run", "S212", image="python", lang="sh", code="", files=[{"path": "/tmp/run.sh/x", "content": ""}])
    assert body["fix"]["context"].endswith("`fs::write (code)`")


def test_a_failed_run_with_keep_leaves_the_sandbox(fn):
    body = fn.fault("run", "S200", image="python", lang="sh", code="sleep 44", timeout_ms=200, keep_sandbox=True)
    fn.made.append(body["fix"]["sandbox_id"])
    assert fn.call("list")["sandboxes"][-1]["sandbox_id"] == body["fix"]["sandbox_id"]


@pytest.mark.parametrize("fields", [
    {}, {"image": "python"}, {"code": "1"}, {"image": "x", "code": "1"}, {"image": "python", "code": []}, {"image": "python", "code": "", "files": {}},
    {"image": "python", "code": "", "files": [{"path": "/a"}]}, {"image": "python", "code": "", "keep_sandbox": 1},
])
def test_bad_run_requests(fn, fields):
    assert fn.fault("run", "S001", **fields)["fix"] is None
