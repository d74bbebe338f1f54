"""Commands that are waited for: output, exit codes, folders, time-outs, children left behind."""
import concurrent.futures
import json
import socket
import time

import pytest

import harness


def processes_with(client, sid, text):
    return [p for p in client.ok("GET", f"/sandboxes/{sid}/processes")["processes"] if text in p["command"]]


@pytest.mark.parametrize("command, stdout, stderr, code", [
    ("echo hello", "hello\n", "", 0), ("echo out; echo err >&2; exit 42", "out\n", "err\n", 42), ("exit 255", "", "", 255),
    ("no-such-command-here 2>/dev/null", "", "", 127), ("printf 'no newline'", "no newline", "", 0),
    ("echo 'żółć 🎉'", "żółć 🎉\n", "", 0), (["echo", "a b", "$HOME", "*"], "a b $HOME *\n", "", 0), ("kill -9 $$", "", "", 137),
    ("kill -TERM $$", "", "", 143), ("pwd", "/workspace\n", "", 0), ("printf '\\377ok'", "\ufffdok", "", 0),
    ("cat", "", "", 0), ("test -t 0 || echo no terminal", "no terminal\n", "", 0)])
def test_output_and_exit_code(box, client, command, stdout, stderr, code):
    result = client.exec(box, command)
    assert (result["stdout"], result["stderr"], result["exitCode"]) == (stdout, stderr, code)
    assert result["duration"] >= 1 and set(result) >= {"stdout", "stderr", "exitCode", "duration"}


def test_the_reply_is_compact_json(box, client):
    body = client.post(f"/sandboxes/{box}/exec", {"command": "true"}).body
    assert b'"exitCode":0' in body


def test_python_runs(box, client):
    assert client.exec(box, ["python3", "-c", "print(2+2)"])["stdout"] == "4\n"


@pytest.mark.parametrize("program, status, why", [("/no/such/program", 400, "No such file or directory"), ("no-such-program", 400, "No such file or directory"),
                                                  ("/etc/passwd", 403, "Permission denied"), ("/etc", 403, "Permission denied")])
def test_a_program_that_cannot_be_started(box, client, program, status, why):
    reply = client.post(f"/sandboxes/{box}/exec", {"command": [program]})
    assert (reply.status, reply.error) == (status, f"exec {program}: {why}")


def test_a_thousand_lines(box, client):
    assert client.exec(box, "seq 1000")["stdout"] == "".join(f"{i}\n" for i in range(1, 1001))


def test_cwd(box, client):
    assert client.exec(box, "pwd", cwd="/tmp")["stdout"] == "/tmp\n"
    assert client.exec(box, "pwd", cwd="/")["stdout"] == "/\n"


@pytest.mark.parametrize("cwd, says", [("/workspace/../etc", "path traversal"), ("..", "path traversal"),
                                       ("/no/such/folder", "change to directory /no/such/folder: No such file or directory"),
                                       ("/etc/passwd", "change to directory /etc/passwd: Not a directory")])
def test_a_cwd_that_is_refused(box, client, cwd, says):
    reply = client.post(f"/sandboxes/{box}/exec", {"command": "touch /tmp/ran", "cwd": cwd})
    assert reply.status == 400 and says in reply.error
    assert client.exec(box, "test -e /tmp/ran; echo $?")["stdout"] == "1\n"


def test_large_output_stops_growing_and_the_command_still_ends(box, client):
    result = client.exec(box, "head -c 30000000 /dev/zero | tr '\\0' x; echo done >&2")
    assert result["exitCode"] == 0 and result["stderr"] == "done\n"
    assert 10 << 20 <= len(result["stdout"]) <= 11 << 20
    assert client.exec(box, "echo still here")["stdout"] == "still here\n"


def test_a_background_child_does_not_hold_the_call(box, client):
    result = client.exec(box, "sleep 99901 & echo $!")
    pid = int(result["stdout"])
    harness.wait_until(lambda: processes_with(client, box, "99901"), "it is there: between fork and exec a process has no command line")
    assert client.ok("POST", f"/sandboxes/{box}/processes/kill", {"pid": pid, "signal": "KILL"}) == {"killed": pid, "signal": "KILL"}
    harness.wait_until(lambda: not processes_with(client, box, "99901"), "the child to end")


def test_timeout_kills_the_whole_tree(box, client):
    reply = client.post(f"/sandboxes/{box}/exec",
                        {"command": "trap '' TERM INT; sleep 99902 & (trap '' TERM; sleep 99903) & sleep 99904", "timeout": 1})
    assert reply.status == 504 and "timed out after" in reply.error and "1000" in reply.error
    harness.wait_until(lambda: not processes_with(client, box, "9990"), "the tree to end")


def test_a_flood_until_the_timeout_leaves_the_server_well(box, client):
    assert client.post(f"/sandboxes/{box}/exec", {"command": "yes", "timeout": 1}).status == 504
    harness.wait_until(lambda: not processes_with(client, box, "yes"), "yes to end")
    assert client.exec(box, "echo well")["stdout"] == "well\n"


def test_the_timeout_has_a_ceiling():
    with harness.Server(env={"III_MAX_CMD_TIMEOUT": "1"}) as server, harness.Client(server.port) as caller:
        sid = caller.create()["id"]
        assert caller.post(f"/sandboxes/{sid}/exec", {"command": "sleep 1000", "timeout": 999}).status == 504
        assert caller.post(f"/sandboxes/{sid}/exec", {"command": "sleep 1000"}).status == 504


def test_ten_at_once(server, box):
    def one(number):
        with harness.Client(server.port) as caller:
            return caller.exec(box, f"echo {number}; exit {number}")

    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        results = list(pool.map(one, range(10)))
    assert [(r["stdout"], r["exitCode"]) for r in results] == [(f"{n}\n", n) for n in range(10)]


def test_a_client_that_leaves_ends_its_command(server, box, client):
    body = json.dumps({"command": "sleep 99905"}).encode()
    sock = socket.create_connection(("127.0.0.1", server.port))
    sock.sendall(b"POST /sandbox/sandboxes/%s/exec HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                 % (box.encode(), len(body), body))
    harness.wait_until(lambda: processes_with(client, box, "99905"), "the command to start")
    sock.close()
    harness.wait_until(lambda: not processes_with(client, box, "99905"), "the command to end with its client")


def test_interrupt_ends_waited_commands_but_not_background_ones(server, box, client):
    job = client.ok("POST", f"/sandboxes/{box}/exec/background", {"command": "sleep 99906"})
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with harness.Client(server.port) as waiter:
            waiting = pool.submit(waiter.exec, box, ["sleep", "99907"])
            harness.wait_until(lambda: processes_with(client, box, "99907"), "the command to start")
            assert client.ok("POST", f"/sandboxes/{box}/exec/interrupt") == {"success": True}
            assert waiting.result(harness.DEADLINE_S)["exitCode"] == 130
    assert client.ok("GET", f"/exec/background/{job['id']}/status")["running"] is True
    pid = processes_with(client, box, "99906")[0]["pid"]
    client.ok("POST", f"/sandboxes/{box}/processes/kill", {"pid": pid, "signal": "KILL"})


def test_interrupt_by_pid(box, client):
    pid = int(client.exec(box, ["python3", "-c", "import subprocess; print(subprocess.Popen(['sleep', '99908'], start_new_session=True).pid)"])["stdout"])
    assert client.ok("POST", f"/sandboxes/{box}/exec/interrupt", {"pid": pid}) == {"success": True}
    harness.wait_until(lambda: not processes_with(client, box, "99908"), "the process to end")
    assert client.ok("POST", f"/sandboxes/{box}/exec/interrupt", {"pid": 4194000}) == {"success": True}


def test_zombies_are_collected(box, client):
    client.exec(box, "for i in $(seq 50); do (sleep 0 &) ; done")

    def zombies():
        return client.exec(box, "cat /proc/[0-9]*/stat 2>/dev/null | grep -c ') Z '")["stdout"].strip() == "0"

    harness.wait_until(zombies, "orphans to be collected by the first process")


@pytest.mark.parametrize("body, says", [
    ({}, "command is required"), ({"command": ""}, "command: must not be empty"), ({"command": []}, "command: 0 arguments"),
    ({"command": ["echo", 5]}, "command[1]: must be text"), ({"command": 7}, "command: must be text"), ({"command": None}, "command is required"),
    ({"command": {"a": 1}}, "command: must be text"), ({"command": "true", "timeout": "soon"}, "timeout: must be a whole number"),
    ({"command": "true", "cwd": 5}, "cwd: must be text"), ({"command": "echo a\u0000b"}, "command: holds a NUL byte")])
def test_bad_requests(box, client, body, says):
    reply = client.post(f"/sandboxes/{box}/exec", body)
    assert reply.status == 400 and reply.error.startswith(says)


def test_variables_user_and_input_of_one_command(box, client):
    result = client.exec(box, "echo $A; id -un; cat", env={"A": "b c", "PATH": "/bin:/usr/bin"}, user="nobody", stdin="two\nlines\n")
    assert result["stdout"] == "b c\nnobody\ntwo\nlines\n"
    assert client.exec(box, "id -u; id -g", user="12345:6")["stdout"] == "12345\n6\n"
    assert client.exec(box, "echo $A; id -un")["stdout"] == "\nroot\n", "the sandbox is as it was"
    assert client.exec(box, "od -An -tx1", stdin="AP8=", stdinEncoding="base64")["stdout"] == " 00 ff\n"
    assert client.exec(box, "wc -c", stdin="x" * 1_000_000)["stdout"].strip() == "1000000"
    assert client.exec(box, "exit 3", stdin="never read")["exitCode"] == 3


@pytest.mark.parametrize("fields, status, says", [
    ({"env": {"A=B": "c"}}, 400, 'env: "A=B" is not a name'), ({"env": {"": "c"}}, 400, 'env: "" is not a name'), ({"env": {"A": 5}}, 400, "env[A]: must be text"),
    ({"env": {f"A{i}": "" for i in range(1001)}}, 400, "env: 1001 entries"), ({"user": "a b"}, 400, 'user: "a b" is not a name'),
    ({"user": "u" * 129}, 400, "user: 129 bytes"), ({"user": "no-such-user"}, 400, "user no-such-user: no such user"),
    ({"stdin": "x" * 1398105}, 400, "stdin: 1398105 bytes"), ({"stdin": "%", "stdinEncoding": "base64"}, 400, "stdin: not padded standard base64"),
    ({"stdinEncoding": "hex"}, 400, "stdinEncoding")])
def test_what_a_command_cannot_be_given(box, client, fields, status, says):
    for path in ("exec", "exec/stream"):
        reply = client.post(f"/sandboxes/{box}/{path}", {"command": "true", **fields})
        if reply.status == 200:  # a stream had begun before the agent looked the user up
            assert path == "exec/stream" and says in reply.body.decode() and '"data":"-1"' in reply.body.decode()
        else:
            assert (reply.status, says in reply.error) == (status, True), reply.error


def test_how_a_command_ended(box, client):
    assert "signal" not in client.exec(box, "exit 137")
    killed = client.exec(box, "kill -KILL $$")
    assert (killed["exitCode"], killed["signal"], killed["timedOut"], killed["oomKilled"]) == (137, "KILL", False, False)
    reply = client.post(f"/sandboxes/{box}/exec", {"command": "echo begun; echo here >&2; exec sleep 99909", "timeout": 1})
    result = reply.json()["result"]
    assert (reply.status, result["timedOut"], result["exitCode"], result["stdout"], result["stderr"]) == (504, True, -1, "begun\n", "here\n")


def test_long_arguments(box, client):
    text = "x" * 100_000
    assert client.exec(box, f"printf %s {text} | wc -c")["stdout"].strip() == "100000"


def test_duration_counts_the_command(box, client):
    started = time.monotonic()
    result = client.exec(box, "sleep 0.3")
    assert 300 <= result["duration"] <= (time.monotonic() - started) * 1000 + 1
