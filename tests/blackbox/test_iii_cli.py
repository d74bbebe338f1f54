"""The `iii` command line as people type it: lines of the documentation run by a shell with jq, and each command's exit codes."""
import hashlib
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import socket
import subprocess
import threading
import uuid

import pytest

import harness
import wsclient
from engineclient import Worker
from ptykit import Terminal

SERVER_ENV = {"III_PULL": "never"}


@pytest.fixture(scope="module")
def home(server, tmp_path_factory):
    """A folder with `iii` on the PATH that finds the file's server."""
    place = tmp_path_factory.mktemp("cli")
    (place / "bin").mkdir()
    (place / "bin" / "iii").symlink_to(harness.BINARY)
    return place


@pytest.fixture(scope="module")
def env(server, home):
    return harness.clean_env({"III_ENGINE_PORT": server.engine_port, "PATH": f"{home}/bin:{os.environ['PATH']}"})


@pytest.fixture
def sh(server, env, tmp_path):
    """Runs a shell script: sh(text) → CompletedProcess with text output."""
    def run(script, stdin=None, **more):
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, input=stdin, env={**env, **more}, cwd=tmp_path,
                              timeout=harness.DEADLINE_S * 2, check=False)
        server.held.look(server.pid)
        return done
    return run


def ok(done):
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return done.stdout


@pytest.fixture(scope="module")
def sb(server, env):
    """The id of a sandbox that the tests of this file share."""
    made = subprocess.run(["iii", "sandbox", "create", "python"], capture_output=True, text=True, env=env, check=True,
                          timeout=harness.DEADLINE_S).stdout.strip()
    yield made
    server.held.look(server.pid)
    subprocess.run(["iii", "sandbox", "stop", made], env=env, check=True, timeout=harness.DEADLINE_S, stdout=subprocess.DEVNULL)


# --- the lines of the documentation, as typed ---

def test_run_line(sh):
    assert ok(sh("iii trigger sandbox::run image=python lang=python code='print(2+2)' | jq -r .stdout")).strip() == "4"


def test_trigger_tour(sh):
    out = ok(sh("""set -euo pipefail
        SB=$(iii trigger sandbox::create image=python | jq -r .sandbox_id)
        iii trigger sandbox::exec sandbox_id=$SB cmd='python3 -c "print(6*7)"' | jq -r .stdout
        iii trigger sandbox::list | jq -r '.sandboxes[].sandbox_id' | grep -c "$SB"
        iii trigger sandbox::fs::mkdir sandbox_id=$SB path=/srv/demo parents=true | jq -r .created
        iii trigger sandbox::fs::write sandbox_id=$SB path=/srv/demo/a.py content='print(1)' | jq -r .bytes_written
        iii trigger sandbox::fs::ls sandbox_id=$SB path=/srv/demo | jq -r '.entries[].name'
        iii trigger sandbox::fs::stat sandbox_id=$SB path=/srv/demo/a.py | jq -r .size
        iii trigger sandbox::fs::read sandbox_id=$SB path=/srv/demo/a.py | jq -r .body
        iii trigger sandbox::fs::chmod sandbox_id=$SB path=/srv/demo/a.py mode=0600 | jq -r .updated
        iii trigger sandbox::fs::grep sandbox_id=$SB path=/srv/demo pattern=print | jq -r '.matches[0].content'
        iii trigger sandbox::fs::sed sandbox_id=$SB path=/srv/demo pattern=1 replacement=2 | jq -r .total_replacements
        iii trigger sandbox::fs::mv sandbox_id=$SB src=/srv/demo/a.py dst=/srv/demo/b.py | jq -r .moved
        iii trigger sandbox::fs::rm sandbox_id=$SB path=/srv/demo recursive=true | jq -r .removed
        iii trigger sandbox::stop sandbox_id=$SB | jq -r .stopped"""))
    assert out.split("\n")[:-1] == ["42", "", "1", "true", "8", "a.py", "8", "print(1)", "1", "print(1)", "1", "true", "true", "true"]


def test_catalogue_line(sh):
    assert ok(sh("iii trigger sandbox::catalog::list | jq -r '.images[].name'")).split()[:2] == ["python", "node"]


def test_sandbox_run_line(sh):
    assert ok(sh("""iii sandbox run python -- python3 -c 'print("hi")'""")) == "hi\n"


def test_create_captures_only_the_id(sh):
    done = sh("""SB=$(iii sandbox create python --idle-timeout 300); echo "[$SB]"; iii sandbox exec "$SB" -- python3 -c 'print(2+2)'
                 iii sandbox stop "$SB" """)
    lines = ok(done).splitlines()
    found = re.fullmatch(r"\[([0-9a-f-]{36})\]", lines[0])
    assert found and lines[1:] == ["4", "stopped " + found[1]] and done.stderr == ""


def test_upload_and_download_round_trip(sh, sb, tmp_path):
    data = os.urandom(5_000_000)
    (tmp_path / "in").write_bytes(data)
    assert ok(sh(f"iii worker sandbox upload {sb} in /srv/up/in --parents --mode 0640")) == f"uploaded 5000000 bytes to {sb}:/srv/up/in\n"
    assert ok(sh(f"iii worker sandbox download {sb} /srv/up/in out")) == "downloaded 5000000 bytes to out\n"
    assert (tmp_path / "out").read_bytes() == data
    assert ok(sh(f"cat in | iii sandbox upload {sb} - /srv/up/pipe && iii sandbox download {sb} /srv/up/pipe - | cmp - in")).startswith("uploaded 5000000")
    assert ok(sh(f"iii trigger sandbox::fs::stat sandbox_id={sb} path=/srv/up/in | jq -r .mode")).strip() == "0640"


def test_archive_and_json_through_pipes(sh, sb):
    out = ok(sh(f"""set -euo pipefail
        mkdir dir; echo '{{"a": 1}}' >dir/x.json
        tar -cf - dir | iii worker sandbox upload {sb} - /srv/in.tar
        iii sandbox exec {sb} -w /srv -- tar -xf in.tar
        iii worker sandbox download {sb} /srv/dir/x.json - | jq -c ."""))
    assert out.splitlines()[-1] == '{"a":1}'


def test_empty_files(sh, sb, tmp_path):
    (tmp_path / "empty").touch()
    assert "uploaded 0 bytes" in ok(sh(f"iii sandbox upload {sb} empty /srv/empty"))
    assert "downloaded 0 bytes" in ok(sh(f"iii sandbox download {sb} /srv/empty got")) and (tmp_path / "got").read_bytes() == b""


def test_download_into_a_folder(sh, sb, tmp_path):
    (tmp_path / "folder").mkdir()
    assert ok(sh(f"echo hi | iii sandbox upload {sb} - /srv/hi.txt && iii sandbox download {sb} /srv/hi.txt folder")).endswith("folder/hi.txt\n")
    assert (tmp_path / "folder" / "hi.txt").read_text() == "hi\n"


# --- exec ---

def test_exec_exit_codes(sh, sb):
    for script, code in (("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137)):
        assert sh(f"iii sandbox exec {sb} -- sh -c '{script}'").returncode == code
    done = sh(f"iii sandbox exec {sb} -- no-such-program")
    assert done.returncode == 127 and "no-such-program" in done.stderr
    assert sh(f"iii sandbox exec {sb} -- /etc/passwd").returncode == 126


def test_exec_without_a_separator(sh, sb):
    assert ok(sh(f"iii sandbox exec {sb} python3 -c 'print(3)'")) == "3\n"
    assert ok(sh(f"iii sandbox exec {sb} -e A=b -- printenv A")) == "b\n"
    assert ok(sh(f"iii sandbox exec -e A=1 --env=B=2 {sb} -- sh -c 'echo $A$B'")) == "12\n"


def test_exec_keeps_both_streams_apart(sh, sb):
    done = sh(f"iii sandbox exec {sb} -- sh -c 'echo out; echo err >&2'")
    assert (done.stdout, done.stderr) == ("out\n", "err\n")


def test_exec_output_is_shown_as_it_comes(server, env, sb):
    """The first line is here while the command still waits for a file that appears only afterwards."""
    proc = subprocess.Popen(["iii", "sandbox", "exec", sb, "--", "sh", "-c", "echo first; while [ ! -e /srv/go ]; do sleep 0.05; done; echo last"],
                            stdout=subprocess.PIPE, env=env)
    try:
        assert proc.stdout.readline() == b"first\n"
        assert proc.poll() is None
        assert harness.run_cli("trigger", "sandbox::fs::write", f"sandbox_id={sb}", "path=/srv/go", "content=", env={"III_ENGINE_PORT": server.engine_port}).returncode == 0
        assert proc.stdout.read() == b"last\n" and proc.wait(harness.DEADLINE_S) == 0
    finally:
        proc.kill()
        proc.wait()
        proc.stdout.close()
    server.held.look(server.pid)


def test_exec_moves_bytes_exactly_and_much(env, sb):
    script = "import sys; sys.stdout.buffer.write(bytes(range(256)) * 40000)"
    done = subprocess.run(["iii", "sandbox", "exec", sb, "--", "python3", "-c", script], capture_output=True, env=env, check=True,
                          timeout=harness.DEADLINE_S * 2)
    assert done.stdout == bytes(range(256)) * 40000


def test_exec_timeout_is_124(sh, sb):
    done = sh(f"iii sandbox exec {sb} --timeout 300ms -- sh -c 'echo part; sleep 1000'")
    assert done.returncode == 124 and done.stdout == "part\n" and done.stderr.startswith("error: [S200] ")


def test_exec_stdin(sh, sb):
    assert ok(sh(f"printf 'a\\nb\\n' | iii sandbox exec -i {sb} -- wc -l")).strip() == "2"
    assert ok(sh(f"iii sandbox exec {sb} -- cat </dev/zero")) == ""


def test_exec_json(sh, sb):
    done = sh(f"iii sandbox exec --json {sb} -- sh -c 'echo x; exit 3'")
    answer = json.loads(done.stdout)
    assert answer["stdout"] == "x\n" and answer["exit_code"] == 3 and done.returncode == 3


def test_run_gives_the_commands_code_and_stops_its_sandbox(sh):
    before = ok(sh("iii sandbox list --json | jq '.sandboxes | length'"))
    assert sh("iii sandbox run python --memory 128 -e A=b -- sh -c 'test $A = b && exit 9'").returncode == 9
    assert sh("iii sandbox run --timeout 200ms python -- sleep 1000").returncode == 124
    assert ok(sh("echo 'print(6*7)' | iii sandbox run -i python -- python3 -")) == "42\n"
    assert ok(sh("iii sandbox list --json | jq '.sandboxes | length'")) == before


def test_an_interrupted_run_stops_its_sandbox(server, env, sh):
    before = ok(sh("iii sandbox list --json | jq '.sandboxes | length'"))
    proc = subprocess.Popen(["iii", "sandbox", "run", "python", "--", "sh", "-c", "echo up; sleep 1000"], stdout=subprocess.PIPE, env=env)
    assert proc.stdout.readline() == b"up\n"
    server.held.look(server.pid)
    proc.send_signal(signal.SIGINT)
    assert proc.wait(harness.DEADLINE_S) == 130
    proc.stdout.close()
    assert ok(sh("iii sandbox list --json | jq '.sandboxes | length'")) == before


def test_an_interrupted_exec_ends_its_command(server, env, sh, sb):
    proc = subprocess.Popen(["iii", "sandbox", "exec", sb, "--", "sh", "-c", "echo up; sleep 1000"], stdout=subprocess.PIPE, env=env)
    assert proc.stdout.readline() == b"up\n"
    proc.send_signal(signal.SIGINT)
    assert proc.wait(harness.DEADLINE_S) != 0
    proc.stdout.close()
    flying = f"iii sandbox list --json | jq '.sandboxes[] | select(.sandbox_id == \"{sb}\") | .exec_in_flight'"
    harness.wait_until(lambda: ok(sh(flying)) == "0\n", "the slot of the command that nobody watches")


def test_interactive_terminal(server, env, sb):
    with Terminal(env, "iii", "sandbox", "exec", "-it", sb) as term:
        term.type(b"test -t 0 && echo is''tty\n")
        term.until(b"istty")
        term.resize(43, 132)
        term.type(b"while [ \"$(stty size)\" != '43 132' ]; do sleep 0.05; done; echo si''zed\n")
        term.until(b"sized")
        term.type(b"exit 5\n")
        assert term.exit_code() == 5
    server.held.look(server.pid)


def test_interactive_command(server, env, sb):
    """The command takes the shell's place; the line that starts it is not seen."""
    with Terminal(env, "iii", "sandbox", "exec", "-it", sb, "--", "python3", "-c", "input('it\\'s up> '); raise SystemExit(6)") as term:
        assert term.until(b"it's up> ") == b"it's up> "
        term.type(b"\n")
        assert term.exit_code() == 6
    server.held.look(server.pid)


def test_ctrl_c_reaches_the_sandbox(server, env, sb):
    with Terminal(env, "iii", "sandbox", "exec", "-it", sb, "--", "sh") as term:
        # The command says it itself: an interactive shell loses a signal between its fork and exec.
        term.type(b"sh -c \"echo re''ady; exec sleep 1000\"\n")
        term.until(b"ready")
        term.got = b""
        term.type(b"\x03")
        term.until(b"# ")  # before that the shell may throw away what is typed
        term.type(b"echo al''ive; exit\n")
        term.until(b"alive")
        term.exit_code()
    server.held.look(server.pid)


def test_a_terminal_needs_a_terminal(sh, sb):
    done = sh(f"iii sandbox exec -t {sb} </dev/null")
    assert done.returncode == 1 and "terminal" in done.stderr


# --- worker exec ---

@pytest.fixture(scope="module")
def named(server, env):
    """Names of two sandboxes: one that is unique, and one that another has, too."""
    boxes = [subprocess.run(["iii", "sandbox", "create", "python", "--name", name], capture_output=True, text=True, env=env, check=True,
                            timeout=harness.DEADLINE_S).stdout.strip() for name in ("work-one", "work-two", "work-two")]
    yield boxes
    server.held.look(server.pid)
    subprocess.run(["iii", "sandbox", "stop", *boxes], env=env, check=True, timeout=harness.DEADLINE_S, stdout=subprocess.DEVNULL)


@pytest.mark.parametrize("words", [[], ["-it"], ["-it", "--", "sh"]])
def test_worker_exec_opens_a_terminal(server, env, named, words):
    with Terminal(env, "iii", "worker", "exec", "work-one", *words) as term:
        term.type(b"test -t 0 && echo is''tty\n")
        term.until(b"istty")
        term.resize(43, 132)
        term.type(b"while [ \"$(stty size)\" != '43 132' ]; do sleep 0.05; done; echo si''zed\n")
        term.until(b"sized")
        term.type(b"exit 5\n")
        assert term.exit_code() == 5
    server.held.look(server.pid)


def test_worker_exec_runs_a_command(env, sh, named):
    for name in ("work-one", named[0], named[1]):
        done = sh(f"iii worker exec {name} -e A=b -- sh -c 'echo out $A; echo err >&2; exit 7' </dev/null")
        assert (done.returncode, done.stdout, done.stderr) == (7, "out b\n", "err\n")
    with Terminal(env, "iii", "worker", "exec", "work-one", "--", "sh", "-c", "test -t 1 || echo pi''pe; exit 3") as term:
        term.until(b"pipe")
        assert term.exit_code() == 3, "a command needs no terminal"
    for line, code, why in (("iii worker exec work-one </dev/null", 2, "no command was given"), ("iii worker exec nothing -- true", 1, "no sandbox has this name"),
                            ("iii worker exec work-two -- true", 1, 'sandbox "work-two" is ambiguous: sbx_')):
        done = sh(line)
        assert done.returncode == code and why in done.stderr, line


# --- list, stop, create ---

def test_list_and_stop(sh):
    box = ok(sh("iii sandbox create python --name label")).strip()
    lines = ok(sh("iii sandbox list --all")).splitlines()
    assert lines[0] == "SANDBOX_ID                            IMAGE       AGE_SECS  NAME"
    row = next(line for line in lines if line.startswith(box))
    assert re.fullmatch(rf"{box}  python    {'  '}[ \d]{{7}}\d  label", row), row
    assert ok(sh(f"iii sandbox stop {box}")) == f"stopped {box}\n"
    done = sh(f"iii sandbox stop {box}")
    assert done.returncode == 1 and done.stderr.startswith("error: [S002] ") and done.stdout == ""


def test_errors_carry_the_code(sh, sb):
    unknown = uuid.uuid4()
    for line, code in ((f"exec {unknown} -- true", "S002"), ("create no-such-image", "S100"), ("run no-such-image -- true", "S100"),
                       (f"download {sb} /no/such/file -", "S211"), (f"upload {unknown} /etc/hostname /x", "S002"), ("stop x", "S001")):
        done = sh(f"iii sandbox {line}")
        assert done.returncode == 1 and done.stderr.startswith(f"error: [{code}] ") and done.stdout == "", (line, done)


def test_upload_of_a_missing_local_file(sh, sb):
    done = sh(f"iii sandbox upload {sb} nothing-here /srv/x")
    assert done.returncode == 1 and "nothing-here" in done.stderr


@pytest.mark.parametrize("line", ["exec ID --timeout 30 -- true", "exec ID --timeout '' -- true", "exec ID --timeout -1s -- true", "exec ID",
                                  "run python", "run", "create", "create a b", "create python --cpus many", "stop", "upload a b", "list x",
                                  "list --no-such", "create python --cpus", "no-such", "list --json=1", "list --port 0", "list --port 70000"])
def test_usage_errors_are_2(sh, line):
    done = sh(f"iii sandbox {line}")
    assert done.returncode == 2 and done.stderr and done.stdout == ""


def test_nothing_listens(sh):
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        for line in ("list", "create python", "run python -- true"):
            done = sh(f"iii sandbox {line.split(' ', 1)[0]} --port {port} {line.partition(' ')[2]}")
            assert done.returncode == 1 and str(port) in done.stderr and "not running" in done.stderr
        done = sh(f"iii trigger x --port {port}")
        assert done.returncode == 1 and "not running" in done.stderr and str(port) in done.stderr and "iii serve" in done.stderr


def test_messages_on_a_terminal_only(server, env):
    """stderr is a terminal: the tick appears there and the id alone on stdout."""
    master, slave = pty.openpty()
    done = subprocess.run(["iii", "sandbox", "create", "python"], stdout=subprocess.PIPE, stderr=slave, env={**env, "TERM": "xterm"}, text=True,
                          timeout=harness.DEADLINE_S, check=True)
    os.close(slave)
    server.held.look(server.pid)
    assert "sandbox ready in" in os.read(master, 4096).decode()
    os.close(master)
    assert re.fullmatch(r"[0-9a-f-]{36}\n", done.stdout)
    assert harness.run_cli("sandbox", "stop", done.stdout.strip(), env={"III_ENGINE_PORT": server.engine_port}).returncode == 0


# --- trigger: payloads, errors and help, with a worker of the test ---

class Answering(threading.Thread):
    """A worker whose functions are Python functions of the payload; they raise Refusal for an error."""

    def __init__(self, port, functions):
        super().__init__(daemon=True)
        self.worker, self.functions = Worker(port, name="demo-worker"), functions
        for name, (_, about) in functions.items():
            self.worker.register(name, **about)
        self.start()

    def run(self):
        try:
            while True:
                asked = self.worker.asked()
                data = asked["data"]
                if isinstance(data, dict):
                    data.pop("_caller_worker_id", None)
                try:
                    self.worker.reply(asked, self.functions[asked["function_id"]][0](data))
                except Refusal as why:
                    self.worker.reply(asked, error=why.args[0])
        except (OSError, wsclient.Closed):
            pass  # the fixture has cut the connection


class Refusal(Exception):
    pass


def refuse(data):
    raise Refusal({"code": "invocation_failed", "message": f"no: {data}"})


@pytest.fixture(scope="module")
def demo(server):
    schema = {"type": "object", "required": ["b"], "properties": {"a": {"type": "integer", "description": "first\x1b[31m"},
                                                                  "b": {"type": ["string", "null"], "description": "second"}}}
    made = Answering(server.engine_port, {
        "demo::echo": (lambda data: {"got": data}, {"description": "says \u202eit again\x07", "request_format": schema}),
        "demo::null": (lambda data: None, {}),
        "demo::bad": (refuse, {}),
        "demo::slow": (lambda data: threading.Event().wait(3), {}),
    })
    yield made
    made.worker.ws.sock.shutdown(socket.SHUT_RDWR)
    made.join(harness.DEADLINE_S)


@pytest.mark.parametrize("words, payload", [
    ("", {}), ("n=10", {"n": 10}), ("n=1.5", {"n": 1.5}), ("f=true x=null", {"f": True, "x": None}), ("""a='["-c","x"]' o='{"k":1}'""", {"a": ["-c", "x"], "o": {"k": 1}}),
    ("s=hello t='two words'", {"s": "hello", "t": "two words"}), ("""s='"10"'""", {"s": "10"}), ("m=0644", {"m": "0644"}), ("m=644", {"m": 644}),
    ("s=", {"s": ""}), ("a=b=c", {"a": "b=c"}), ("a.b=1", {"a.b": 1}), ("a=1 a=2", {"a": 2}), ("""--json '{"a":1,"b":2}' b=3""", {"a": 1, "b": 3}),
    ("--json '[1,2]'", [1, 2]), ("--json 7", 7), ("""--json '"x"'""", "x"), ("code='print(2+2)'", {"code": "print(2+2)"}),
])
def test_payloads(sh, demo, words, payload):
    out = ok(sh(f"iii trigger demo::echo {words}"))
    assert json.loads(out) == {"got": payload}
    assert out == json.dumps({"got": payload}, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def test_payload_from_stdin_and_mixed_order(sh, demo):
    assert json.loads(ok(sh("iii t demo::echo --json - a=2", stdin='{"a": 1, "b": 1}'))) == {"got": {"a": 2, "b": 1}}
    assert json.loads(ok(sh("iii trigger --timeout-ms 5000 demo::echo a=1 --address 127.0.0.1 b=2 -n default"))) == {"got": {"a": 1, "b": 2}}


@pytest.mark.parametrize("words, text", [("demo::echo --json '{'", "--json: invalid JSON"), ("demo::echo word", "expected key=value"),
                                         ("demo::echo =1", "must not be empty"), ("demo::echo --json '[1]' a=1", "must be an object"),
                                         ("", "missing FUNCTION_PATH")])
def test_bad_payloads_are_1(sh, demo, words, text):
    done = sh(f"iii trigger {words}")
    assert done.returncode == 1 and text in done.stderr and done.stdout == ""


def test_null_prints_nothing(sh, demo):
    assert ok(sh("iii trigger demo::null")) == ""


def test_errors_of_functions(sh, demo):
    done = sh("iii trigger demo::bad a=1")
    assert done.returncode == 1 and done.stdout == "" and done.stderr.startswith("Error: {")
    assert json.loads(done.stderr[7:]) == {"code": "invocation_failed", "message": "no: {'a': 1}", "stacktrace": None}
    assert json.loads(sh("iii trigger demo::missing").stderr[7:])["code"] == "function_not_found"
    assert sh("iii trigger demo::echo --no-such").returncode == 2


def test_sandbox_errors_can_be_parsed(sh):
    done = sh("iii trigger sandbox::create image=nope")
    message = json.loads(done.stderr[7:])["message"]
    assert done.returncode == 1 and message.startswith("handler error: ") and json.loads(message[15:])["code"] == "S100"


def test_a_value_is_a_string_where_the_function_wants_one(sh):
    sandbox = json.loads(sh("iii trigger sandbox::create image=python").stdout)["sandbox_id"]
    assert json.loads(sh(f"iii trigger sandbox::exec sandbox_id={sandbox} cmd=true").stdout)["exit_code"] == 0
    for text in ('{"a":1}', "[1, 2]", "true", "12", '"quoted"'):
        sh(f"iii trigger sandbox::fs::write sandbox_id={sandbox} path=/srv/typed content='{text}'")
        done = sh(f"iii trigger sandbox::exec sandbox_id={sandbox} cmd=cat args='[\"/srv/typed\"]'")
        assert json.loads(done.stdout)["stdout"] == (text if text != '"quoted"' else "quoted")
    assert json.loads(sh(f"iii trigger sandbox::stop sandbox_id={sandbox}").stdout)["stopped"]


def test_a_late_answer_times_out(sh, demo):
    done = sh("iii trigger demo::slow --timeout-ms 200")
    assert done.returncode == 1 and "timed out" in done.stderr


def test_help_of_a_function(sh, demo):
    out = ok(sh("iii trigger demo::echo --help"))
    assert "demo::echo  by worker demo-worker\n\nsays it again\n" in out
    assert re.search(r"^  b +string or null +required +second\n  a +integer +first\[31m$", out, re.M), out
    assert "\x1b" not in out and "\u202e" not in out
    done = sh("iii trigger demo::missing --help")
    assert done.returncode == 1 and "functions::list" in done.stderr
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        done = sh(f"iii trigger demo::echo --help --port {held.getsockname()[1]}")
        assert done.returncode == 0 and "warning" in done.stderr and done.stdout.startswith("Usage: iii trigger")


def test_get_function_info(sh, demo):
    assert json.loads(ok(sh("iii get function info demo::echo")))["function_id"] == "demo::echo"
    done = sh("iii get function info demo::missing")
    assert done.returncode == 1 and json.loads(done.stderr[7:])["code"] == "NOT_FOUND"


def test_token():
    with harness.Server(token="s3cret", env={"III_AUTH_TOKEN": "s3cret"}) as guarded:
        env = {"III_ENGINE_PORT": guarded.engine_port}
        done = harness.run_cli("trigger", "engine::workers::list", "--timeout-ms", "5000", env=env)
        assert done.returncode == 1 and "token" in done.stderr
        assert harness.run_cli("trigger", "engine::workers::list", env={**env, "III_AUTH_TOKEN": "s3cret"}).returncode == 0


# --- worker add ---

def test_worker_add_writes_the_block(sh, tmp_path):
    done = sh("iii worker add iii-sandbox")
    text = (tmp_path / "config.yaml").read_text()
    assert done.returncode == 0 and done.stdout == "" and "added" in done.stderr
    for line in ("workers:", "  - name: iii-sandbox", "      auto_install: true", "        - python", "      default_idle_timeout_secs: 300",
                 "      max_concurrent_sandboxes: 32", "      default_cpus: 1", "      default_memory_mb: 512"):
        assert line in text.splitlines()
    changed = text.replace("300", "77")
    (tmp_path / "config.yaml").write_text(changed)
    assert "updated" in sh("iii worker add iii-sandbox").stderr and (tmp_path / "config.yaml").read_text() == changed
    assert sh("iii worker add iii-sandbox --force --reset-config").returncode == 0 and (tmp_path / "config.yaml").read_text() == text
    assert sh("iii -c other.yaml worker add iii-sandbox").returncode == 0 and (tmp_path / "other.yaml").read_text() == text


def test_worker_add_keeps_a_lock(sh, tmp_path):
    lock = lambda: json.loads((tmp_path / "iii.lock").read_text())  # noqa: E731
    (tmp_path / "iii.lock").write_text('{"version": 1, "workers": {"other": {"version": "2"}}, "more": true}')
    done = sh("iii worker add iii-sandbox --json")
    assert json.loads(done.stdout) == {"worker": "iii-sandbox", "done": "added", "config": "config.yaml", "lock": "iii.lock"}
    first = lock()
    entry = first["workers"]["iii-sandbox"]
    text = (tmp_path / "config.yaml").read_text()
    assert entry == {"version": sh("iii --version").stdout.split()[-1], "source": "builtin", "config": "config.yaml",
                     "digest": "sha256:" + hashlib.sha256(text[text.index("  - name"):].encode()).hexdigest()}
    assert first["more"] is True and first["workers"]["other"] == {"version": "2"}
    (tmp_path / "config.yaml").write_text(text.replace("300", "77"))
    assert json.loads(sh("iii worker add iii-sandbox --json").stdout)["done"] == "kept" and lock() != first
    assert json.loads(sh("iii worker add iii-sandbox -f --reset-config --json").stdout)["done"] == "reset" and lock() == first
    for foreign in ("workers:\n- a\n", "[]", '{"version": 2}', '{"version": 1, "workers": []}'):
        (tmp_path / "iii.lock").write_text(foreign)
        done = sh("iii worker add iii-sandbox --json")
        assert done.returncode == 0 and "iii.lock" in done.stderr and json.loads(done.stdout)["lock"] is None
        assert (tmp_path / "iii.lock").read_text() == foreign
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "other.yaml").symlink_to(tmp_path / "real.yaml")
    (tmp_path / "real.yaml").touch(0o640)
    assert json.loads(sh("iii -c sub/other.yaml worker add iii-sandbox --json").stdout)["lock"] == "sub/iii.lock"
    assert (tmp_path / "sub" / "other.yaml").is_symlink() and (tmp_path / "real.yaml").read_text() == text
    assert (tmp_path / "real.yaml").stat().st_mode & 0o777 == 0o640


def test_iii_alone_serves_with_the_file_of_its_folder(sh, env, tmp_path):
    assert sh("iii worker add iii-sandbox").returncode == 0
    for argv in (["iii"], ["iii", "-c", "config.yaml"], ["iii", "-c", "config.yaml", "--no-update-check", "serve"]):
        with open(tmp_path / "log", "wb") as log:
            proc = subprocess.Popen(argv, cwd=tmp_path, stdout=log, stderr=log, env={
                **env, "III_ENGINE_PORT": "0", "III_REST_PORT": "0", "III_DATA_DIR": str(tmp_path / "data"), "III_PULL": "never"})
        try:
            harness.wait_until(lambda: proc.poll() is not None or harness.ready_ports((tmp_path / "log").read_text()), "the ready line")
            assert proc.poll() is None, (tmp_path / "log").read_text()
        finally:
            proc.terminate()
            assert proc.wait(harness.DEADLINE_S) == 0
    done = sh("iii -c missing.yaml")
    assert done.returncode == 2 and "missing.yaml" in done.stderr


def test_worker_add_says_which_file_the_server_of_a_data_folder_reads(sh, tmp_path):
    (tmp_path / "config.yaml").write_text("workers: []\n")
    with harness.Server(flags=["--config", str(tmp_path / "config.yaml")]) as server:
        done = sh(f"iii worker add iii-sandbox --data-dir {server.data_dir}")
        assert done.returncode == 0 and f"the server at http://127.0.0.1:{server.port} rereads it" in done.stderr
        with Worker(server.engine_port) as worker:
            allowed = lambda: {row["name"] for row in worker.call("sandbox::catalog::list", {})["images"] if row["allowed"]}  # noqa: E731
            harness.wait_until(lambda: allowed() == {"python", "node"}, "the server to have the defaults of the block")
        done = sh(f"iii -c other.yaml worker add iii-sandbox --data-dir {server.data_dir}")
        assert done.returncode == 0 and f"reads {tmp_path}/config.yaml" in done.stderr and "restart the server with -c other.yaml" in done.stderr
        file = json.loads((server.data_dir / "server.json").read_text())
    for wrong in ({**file, "started": file["started"] + 1}, {**file, "pid": 1}, {**file, "pid": 0}, {"rest": 1}, []):
        (tmp_path / "server.json").write_text(json.dumps(wrong))
        (tmp_path / "third.yaml").unlink(missing_ok=True)
        done = sh(f"iii -c third.yaml worker add iii-sandbox --data-dir {tmp_path}")
        assert done.returncode == 0 and "the server at" not in done.stderr, "its process is gone"


def test_worker_add_refuses_other_names(sh):
    done = sh("iii worker add something")
    assert done.returncode == 1 and "something" in done.stderr


def test_worker_add_an_image_pulls_it(sh, tmp_path):
    """Nothing listens at that registry: the pull fails and says so; pulls themselves are tested in test_pull.py."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        done = sh(f"iii worker add 127.0.0.1:{held.getsockname()[1]}/a/b:c", III_DATA_DIR=str(tmp_path / "data"))
    assert done.returncode == 1 and "127.0.0.1" in done.stderr


# --- help, completion, manual pages ---

def test_both_spellings_have_the_same_help():
    text = harness.run_cli("worker", "sandbox", "exec", "--help").stdout
    for args in (["help", "sandbox", "exec"], ["help", "worker", "sandbox", "exec"], ["sandbox", "exec", "-h"]):
        assert harness.run_cli(*args).stdout == text
    assert harness.run_cli("help", "no", "such").returncode == 2


def test_version_is_bare():
    for args in (["--version"], ["-v"], ["version"]):
        assert re.fullmatch(r"\d+\.\d+\.\d+\n", harness.run_cli(*args).stdout)


@pytest.mark.parametrize("shell, check", [("bash", ["bash", "-n"]), ("zsh", ["zsh", "-n"]), ("fish", ["fish", "--no-execute"])])
def test_completion_scripts_parse(shell, check, tmp_path):
    script = tmp_path / f"iii.{shell}"
    script.write_text(harness.run_cli("completion", shell).stdout)
    assert "iii __complete" in script.read_text()
    if shutil.which(check[0]):
        done = subprocess.run([*check, str(script)], capture_output=True, text=True, check=False, timeout=harness.DEADLINE_S)
        assert done.returncode == 0 and done.stderr == ""


def complete(line, env):
    """What bash offers at the end of the line."""
    words = line.split(" ")
    script = (f"source <(iii completion bash); COMP_WORDS=({' '.join(repr(w) for w in words)}); COMP_CWORD={len(words) - 1}; "
              "_iii; printf '%s\\n' \"${COMPREPLY[@]}\"")
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, env=env, timeout=harness.DEADLINE_S).stdout.split()


def test_completion_answers(env, sb):
    assert complete("iii tri", env) == ["trigger"]
    assert complete("iii sandbox ex", env) == ["exec"]
    assert complete("iii worker sandbox up", env) == ["upload"]
    assert complete("iii worker a", env) == ["add"]
    assert complete("iii image pu", env) == ["pull"]
    assert complete("iii completion z", env) == ["zsh"]
    assert complete("iii serve --data", env) == ["--data-dir"]
    assert complete("iii sandbox create --idle", env) == ["--idle-timeout"]
    assert complete(f"iii sandbox exec {sb[:13]}", env) == [sb]
    assert complete("iii completion c", env) == []
    assert subprocess.run(["bash", "-c", "iii completion tcsh"], env=env, capture_output=True, check=False, timeout=harness.DEADLINE_S).returncode == 2


def test_manual_pages(tmp_path):
    assert harness.run_cli("man", tmp_path).returncode == 0
    names = {path.name for path in tmp_path.iterdir()}
    assert {"iii.1", "iii-serve.1", "iii-run.1", "iii-trigger.1", "iii-sandbox-exec.1", "iii-worker-add.1", "iii-image.1",
            "iii-snapshot-create.1", "iii-api.1"} <= names and not any(n.startswith("iii-api-") for n in names)
    for path in sorted(tmp_path.iterdir()):
        text = path.read_text()
        assert text.startswith('.TH "III') and ".SH NAME" in text and not re.search(r"^\.\w+[^\x00-\x7f]", text, re.M)
    if shutil.which("groff"):
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", *sorted(map(str, tmp_path.iterdir()))], capture_output=True, text=True, check=False,
                              timeout=harness.DEADLINE_S * 2)
        assert done.returncode == 0 and done.stderr == "", done.stderr
    assert harness.run_cli("man").stdout == (tmp_path / "iii.1").read_text()
    assert harness.run_cli("man", tmp_path / "no" / "folder").returncode == 1


def test_the_second_name_shows_help():
    link = pathlib.Path(harness.BINARY.parent / "iii-sandbox")
    done = subprocess.run([str(link), "--help"], capture_output=True, text=True, check=False, timeout=harness.DEADLINE_S)
    assert done.returncode == 0 and "sandbox" in done.stdout
