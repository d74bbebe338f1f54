"""What people who know docker type, on `iii`: run, exec, ps, rm, logs, port, stats, inspect and the rest, also on a real terminal."""
import json
import os
import re
import shutil
import signal
import subprocess
import urllib.request

import pytest

import harness
from ptykit import Terminal

SERVER_ENV = {"III_PULL": "never"}
ESCAPE = b"\033["


@pytest.fixture(scope="module")
def env(server, tmp_path_factory):
    place = tmp_path_factory.mktemp("habits")
    for name in ("iii", "iii-sandbox"):
        (place / name).symlink_to(harness.BINARY)
    return harness.clean_env({"III_SANDBOX_URL": f"http://127.0.0.1:{server.port}", "III_ENGINE_PORT": server.engine_port, "HOME": place,
                              "PATH": f"{place}:{os.environ['PATH']}", "COPIED": "from here"})


@pytest.fixture
def sh(env, tmp_path):
    def run(line, stdin=None, **more):
        return subprocess.run(["bash", "-c", line], capture_output=True, text=True, input=stdin if stdin is not None else "", check=False,
                              env={**env, **more}, cwd=tmp_path, timeout=harness.DEADLINE_S * 2)
    return run


def ok(done):
    assert done.returncode == 0, done
    return done.stdout


@pytest.fixture(scope="module")
def web(server, env):
    """The name of a sandbox that the tests of this file share."""
    subprocess.run(["iii", "create", "--name", "web", "python"], env=env, check=True, stdout=subprocess.DEVNULL, timeout=harness.DEADLINE_S)
    yield "web"
    server.held.look(server.pid)
    subprocess.run(["iii", "rm", "web"], env=env, check=True, stdout=subprocess.DEVNULL, timeout=harness.DEADLINE_S)


def count(sh):
    return len(ok(sh("iii ps -q")).splitlines())


# --- run ---

def test_run_a_command_and_remove_the_sandbox(sh):
    before = count(sh)
    assert ok(sh("iii run python python3 -c 'print(2+2)'")) == "4\n"
    assert ok(sh("iii run python -- python3 -c 'print(2+2)'")) == "4\n"
    assert ok(sh("iii run --rm python echo hi")) == "hi\n"
    assert ok(sh("iii run python 'echo a b | wc -w'")).strip() == "2", "a single argument with blanks is a line for the shell"
    done = sh("iii run -m 256m --cpus 1 -e A=b -e COPIED -e MISSING -w /tmp --name one --ttl 5m python sh -c 'echo $A-$COPIED-$MISSING; pwd; echo err >&2; exit 9'")
    assert (done.returncode, done.stdout, done.stderr) == (9, "b-from here-\n/tmp\n", "err\n")
    assert sh("iii run python no-such-program").returncode == 127 and sh("iii run python /etc/passwd").returncode == 126
    assert sh("iii run no-such-image true").returncode == 125
    assert sh("iii run python sh -c 'kill -9 $$'").returncode == 137
    assert count(sh) == before


def test_run_without_a_command_runs_the_image_s_own(sh):
    assert ok(sh("iii run -i python", stdin="print(6 * 7)\n")) == "42\n"
    assert ok(sh("iii run -i shell", stdin="echo $((6 * 7))\n")) == "42\n"


def test_run_takes_input_of_any_length(env):
    data = os.urandom(2_000_000)
    done = subprocess.run(["iii", "run", "-i", "python", "cat"], input=data, capture_output=True, check=True, env=env, timeout=harness.DEADLINE_S * 2)
    assert done.stdout == data and done.stderr == b""


def test_run_keeps_it_when_asked_to(sh):
    assert ok(sh("iii run --rm=false --name kept python touch /tmp/was-here")) == ""
    assert ok(sh("iii exec kept ls /tmp/was-here")) == "/tmp/was-here\n"
    assert ok(sh("iii rm kept")) == "kept\n"


def test_run_detached(sh, client):
    sid = ok(sh("iii run -d --name job python sh -c 'echo started; exec sleep 1000'")).strip()
    try:
        assert re.fullmatch(r"sbx_[0-9a-f]{24}", sid) and client.ok("GET", "/sandboxes/job")["id"] == sid
        harness.wait_until(lambda: ok(sh("iii logs job")) == "started\n", "the output of the main process")
    finally:
        assert ok(sh(f"iii rm {sid[4:12]}")) == f"{sid[4:12]}\n"
    assert ok(sh("iii rm $(iii run -dit python sh)")).startswith("sbx_")
    assert sh("iii run -d --timeout 5 python true").returncode == 125


@harness.needs("network")
def test_run_publishes_ports(sh):
    try:
        assert ok(sh("iii run -d --name site -p 8000 -p 9000 python python3 -m http.server 8000")).startswith("sbx_")
        lines = ok(sh("iii port site")).splitlines()
        assert re.fullmatch(r"8000/tcp -> http://127\.0\.0\.1:\d+/?", lines[0]) and lines[1].startswith("9000/tcp -> ")
        url = ok(sh("iii port site 8000")).strip()

        def answers():
            try:
                return urllib.request.urlopen(url, timeout=5).status == 200
            except OSError:
                return False
        harness.wait_until(answers, "the server in the sandbox")
        assert sh("iii port site 7777").returncode == 1
    finally:
        sh("iii rm -f site")


def test_run_attaches_volumes(sh):
    assert ok(sh("iii run -v habit-cache:/cache python 'echo kept >/cache/file'")) == "", "a volume that is not there is made"
    assert ok(sh("iii run -v habit-cache:/cache:ro python cat /cache/file")) == "kept\n"
    assert sh("iii run -v habit-cache:/cache:ro python touch /cache/other").returncode != 0
    assert "habit-cache" in ok(sh("iii volume ls"))
    ok(sh("iii volume rm habit-cache"))


def test_what_fails_after_the_create_removes_it(sh):
    before = count(sh)
    done = sh("iii create -v habit-broken:/proc/x python")
    assert done.returncode == 1 and done.stdout == "" and count(sh) == before
    sh("iii volume rm habit-broken")


def test_an_interrupted_run_removes_its_sandbox(env, sh):
    before = count(sh)
    proc = subprocess.Popen(["iii", "run", "python", "sh", "-c", "echo up; exec sleep 1000"], stdout=subprocess.PIPE, env=env)
    assert proc.stdout.readline() == b"up\n"
    proc.send_signal(signal.SIGINT)
    assert proc.wait(harness.DEADLINE_S) == 130
    proc.stdout.close()
    assert count(sh) == before


def test_run_it_is_a_prompt(server, env, sh):
    before = count(sh)
    with Terminal(env, "iii", "run", "-it", "python", size=(43, 132)) as term:
        term.until(b">>> ")
        term.type(b"import os; print(os.isatty(0), os.get_terminal_size())\r")
        term.until(b"True os.terminal_size(columns=132, lines=43)")
        term.type(b"exit(5)\r")
        assert term.exit_code() == 5
    assert count(sh) == before
    server.held.look(server.pid)


# --- exec ---

def test_exec_gives_everything_behind_the_id_to_the_command(sh, web):
    assert ok(sh("iii exec web printf '%s|' -it --json --help -- x")) == "-it|--json|--help|--|x|"
    assert ok(sh("iii exec -e K=V -w /tmp -u 1000 web sh -c 'echo $K $(pwd) $(id -u)'")) == "V /tmp 1000\n"
    assert ok(sh("iii exec --env K=V --workdir=/tmp --user 1000:1000 web -- sh -c 'echo $K $(pwd) $(id -g)'")) == "V /tmp 1000\n"
    done = sh("iii exec web sh -c 'echo out; echo err >&2; exit 7'")
    assert (done.returncode, done.stdout, done.stderr) == (7, "out\n", "err\n")


def test_exec_by_every_spelling_of_the_id(sh, web, client):
    sid = client.ok("GET", "/sandboxes/web")["id"]
    for spelling in (sid, sid[:10], sid[4:10], sid[4:10].upper(), "web"):
        assert ok(sh(f"iii exec {spelling} hostname")) == f"{sid}\n"
        assert ok(sh(f"iii-sandbox exec {spelling} hostname")) == f"{sid}\n"
        assert ok(sh(f"iii sandbox exec {spelling} -- hostname")) == f"{sid}\n"


def test_exec_streams_both_ways(env, web):
    proc = subprocess.Popen(["iii", "exec", "-i", web, "python3", "-uc", "import sys\nfor line in sys.stdin: print(line.strip().upper(), flush=True)"],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
    for word in (b"one\n", b"two\n"):
        proc.stdin.write(word)
        proc.stdin.flush()
        assert proc.stdout.readline() == word.upper()
    proc.stdin.close()
    assert proc.wait(harness.DEADLINE_S) == 0
    proc.stdout.close()


def test_exec_reads_a_file_and_nothing_without_i(sh, web, tmp_path):
    (tmp_path / "data").write_bytes(bytes(range(256)) * 8000)
    assert ok(sh("iii exec -i web wc -c <data")).strip() == str(256 * 8000)
    assert ok(sh("iii exec web wc -c <data")).strip() == "0"
    assert sh("iii exec -i web false <data").returncode == 1, "a command that does not read ends all the same"


def test_exec_into_a_closed_pipe(sh, web):
    done = sh("set -o pipefail; iii exec web yes | head -1")
    assert done.stdout == "y\n" and done.returncode == 141


def test_exec_on_a_terminal(server, env, web):
    with Terminal(env, "iii", "exec", "-it", "-e", "K=V", "-w", "/tmp", web, "sh", size=(24, 80)) as term:
        term.type(b"echo $K-$(pwd) is''it\n")
        term.until(b"V-/tmp isit")
        term.resize(43, 132)
        term.type(b"while [ \"$(stty size)\" != '43 132' ]; do sleep 0.05; done; echo si''zed\n")
        term.until(b"sized")
        term.type(b"sh -c \"echo re''ady; exec sleep 1000\"\n")
        term.until(b"ready")
        term.got = b""

        def is_interrupted():
            term.type(b"\x03")
            return term.saw(b"$ ", 2) or term.saw(b"# ", 1)
        harness.wait_until(is_interrupted, "the shell's prompt")
        term.type(b"exit 5\n")
        assert term.exit_code() == 5
    with Terminal(env, "iii", "exec", "-it", web, "python3", "-c", "input('up> '); raise SystemExit(6)") as term:
        assert term.until(b"up> ") == b"up> ", "nothing of how it is started is seen"
        term.type(b"\n")
        assert term.exit_code() == 6
    with Terminal(env, "iii", "exec", "-it", web) as term:  # a shell
        term.type(b"echo sh''ell; exit 3\n")
        term.until(b"shell")
        assert term.exit_code() == 3
    server.held.look(server.pid)


def test_timeouts_are_124(sh, web):
    done = sh("iii exec --timeout 300ms web sh -c 'echo part; sleep 1000'")
    assert (done.returncode, done.stdout) == (124, "part\n") and "timed out after 0.3 s" in done.stderr
    assert sh("iii run --timeout 1 python sleep 1000").returncode == 124
    assert sh("iii exec --json --timeout 1 web sleep 1000").returncode == 124


def test_exec_json(sh, web):
    done = sh("iii exec --json web sh -c 'echo out; exit 3'")
    answer = json.loads(done.stdout)
    assert done.returncode == 3 and (answer["stdout"], answer["exitCode"]) == ("out\n", 3)


# --- lists ---

def test_ps(sh, web, env, client):
    sid = client.ok("GET", "/sandboxes/web")["id"]
    lines = ok(sh("iii ps")).splitlines()
    assert lines[0].split() == ["ID", "IMAGE", "STATUS", "CREATED", "EXPIRES", "NAME"]
    row = next(line for line in lines if line.startswith(sid))
    assert re.fullmatch(rf"{sid}  python +running +\S.*ago|{sid}  python +running +.* web", row)
    for line in ("iii ps -q", "iii ps -o name", "iii ls -q", "iii list -q", "iii-sandbox ps -q"):
        assert sid in ok(sh(line)).splitlines(), line
    assert "BACKEND" in ok(sh("iii ps -o wide")).splitlines()[0]
    assert sid in [box["id"] for box in json.loads(ok(sh("iii ps -o json")))] and ok(sh("iii ps --json")) == ok(sh("iii ps -o json"))
    ok(sh("iii pause web"))
    assert ok(sh("iii ps -q --status paused")).split() == [sid] and sid in ok(sh("iii ps -a"))
    ok(sh("iii unpause web"))
    with Terminal(env, "iii", "ps") as term:
        assert term.exit_code() == 0 and ESCAPE in term.got and sid.encode() in term.got
    with Terminal({**env, "NO_COLOR": "1"}, "iii", "ps") as term:
        assert term.exit_code() == 0 and ESCAPE not in term.got
    assert "\033" not in ok(sh("iii ps"))


def test_tables_are_cut_on_a_narrow_terminal_but_not_the_id(env, sh, web, client):
    sid = client.ok("GET", "/sandboxes/web")["id"]
    with Terminal({**env, "NO_COLOR": "1"}, "iii", "ps", "-o", "table", size=(24, 72)) as term:
        assert term.exit_code() == 0 and sid.encode() in term.got and all(len(line) <= 72 for line in term.got.decode().splitlines())
    with Terminal({**env, "NO_COLOR": "1"}, "iii", "process", "list", "--no-trunc", web, size=(24, 40)) as term:
        assert term.exit_code() == 0 and any(len(line) > 40 for line in term.got.decode().splitlines())


def test_more_than_a_page(sh, client, server):
    made = [client.create(name=f"page-{i}")["id"] for i in range(25)]
    assert set(made) <= set(ok(sh("iii ps -q")).split())
    assert ok(sh(f"iii rm {' '.join(made)}")).split() == made


def test_rm_several_and_all(env):
    with harness.Server(env={"III_PULL": "never"}) as own:
        def run(*words):
            return subprocess.run(["iii", *words], capture_output=True, text=True, check=False, timeout=harness.DEADLINE_S,
                                  env={**env, "III_SANDBOX_URL": f"http://127.0.0.1:{own.port}"})
        for name in ("a1", "a2", "a3", "a4"):
            assert run("create", "--name", name, "python").returncode == 0
        done = run("rm", "a1", "nosuch", "a2")
        assert done.returncode == 1 and done.stdout == "a1\na2\n" and "nosuch" in done.stderr
        assert run("rm", "-f", "a1").returncode == 0 and run("kill", "a3").stdout == "a3\n"
        assert len(run("rm", "--all").stdout.split()) == 1 and run("rm", "--all").stdout == "" and run("ps", "-q").stdout == ""


@harness.needs("stop")
def test_stop_start_and_restart(env, client, new_sandbox):
    ids = [new_sandbox()["id"] for _ in range(2)]
    for verb, status in [("stop --timeout 1", "stopped"), ("start", "running"), ("restart", "running")]:
        done = subprocess.run(["iii", *verb.split(), *ids], capture_output=True, text=True, check=False, timeout=harness.DEADLINE_S, env=env)
        assert done.stdout.split() == ids and done.returncode == 0, done
        assert {client.ok("GET", f"/sandboxes/{sid}")["status"] for sid in ids} == {status}


def test_rm_all_does_not_take_what_others_have(env):
    with harness.Server(token="root", env={"III_AUTH_TOKEN": "root"}) as own, own.client() as admin:
        secret = admin.ok("POST", "/tokens", {"name": "t", "tenant": "t"})["secret"]
        with own.client(secret) as tenant:
            theirs, ours = tenant.create()["id"], admin.create()["id"]

            def run(token, *words):
                return subprocess.run(["iii", *words], capture_output=True, text=True, check=False, timeout=harness.DEADLINE_S,
                                      env={**env, "III_SANDBOX_URL": f"http://127.0.0.1:{own.port}", "III_SANDBOX_TOKEN": token})
            done = run("root", "rm", "--all")
            assert done.returncode == 1 and "tenants" in done.stderr and {ours, theirs} <= set(run("root", "ps", "-q").stdout.split())
            assert run(secret, "rm", "--all").stdout == f"{theirs}\n" and run("root", "rm", "--all").stdout == f"{ours}\n"


# --- the rest ---

def test_inspect(sh, web, client):
    sid = client.ok("GET", "/sandboxes/web")["id"]
    assert [box["id"] for box in json.loads(ok(sh(f"iii inspect web {sid}")))] == [sid, sid]
    done = sh("iii inspect web nosuch")
    assert done.returncode == 1 and len(json.loads(done.stdout)) == 1


def test_logs(env, new_sandbox, client):
    sid = new_sandbox(name="talker", entrypoint=["sh", "-c", "echo out; echo err >&2; until test -e /workspace/go; do sleep 0.1; done; echo more; exec sleep 1000"])["id"]
    proc = subprocess.Popen(["iii", "logs", "-f", "talker"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    try:
        assert proc.stdout.readline() == b"out\n" and proc.stderr.readline() == b"err\n"
        client.ok("POST", f"/sandboxes/{sid}/files/write", {"path": "go", "content": ""})
        assert proc.stdout.readline() == b"more\n"
        client.ok("DELETE", f"/sandboxes/{sid}")
        proc.wait(harness.DEADLINE_S)
    finally:
        proc.kill()
        proc.communicate()


def test_stats_and_top(sh, web, client):
    sid = client.ok("GET", "/sandboxes/web")["id"]
    assert ok(sh("iii stats --no-stream web")).splitlines()[1].startswith(sid) and sid in ok(sh("iii stats"))
    assert sh("iii stats nosuch").returncode == 1 and ok(sh("iii top web")).startswith("PID")


def test_images_and_info(sh):
    assert {"python", "node"} <= {line.split()[0] for line in ok(sh("iii images")).splitlines()[1:]}
    assert "python" in ok(sh("iii images -q")).split()
    info = json.loads(ok(sh("iii info --json")))
    assert info["status"] == "healthy" and info["backends"] and info["client"] == ok(sh("iii version")).strip()
    done = sh("iii pull 127.0.0.1:1/no/image:1")
    assert done.returncode == 1 and "127.0.0.1:1" in done.stderr


def test_code_renew_events_and_cp(sh, web, tmp_path):
    assert ok(sh("iii code web 'print(6*7)'")) == "42\n" and ok(sh("iii code -l bash web", stdin="echo $((1+1))")) == "2\n"
    assert sh("iii code web 'raise SystemExit(1)'").returncode == 1
    assert json.loads(ok(sh("iii renew web 2h --json")))["name"] == "web"
    assert "sandbox.created" in ok(sh("iii events --sandbox-id web"))
    (tmp_path / "f").write_text("through cp")
    ok(sh("iii cp f web:/workspace/"))
    assert ok(sh("iii cp web:/workspace/f -")) == "through cp"


def test_general_options_may_come_first(sh, env, web):
    url = env["III_SANDBOX_URL"]
    assert ok(sh(f"iii --server {url} -o name ps", III_SANDBOX_URL="http://127.0.0.1:1")) == ok(sh("iii ps -q"))
    assert sh("iii --json serve").returncode == 2 and sh("iii --server x version").returncode == 2


def test_a_create_that_takes_long_says_what_it_does(server, env):
    """A server that never answers stands for one that pulls an image or boots its first VM."""
    import socket
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        with Terminal({**env, "III_SANDBOX_URL": f"http://127.0.0.1:{held.getsockname()[1]}"}, "iii", "create", "python") as term:
            term.until(b"creating a sandbox of python: 1s")
            os.kill(term.pid, signal.SIGINT)
            term.until(b"creating a sandbox of python: 2s")
            os.kill(term.pid, signal.SIGINT)
            assert term.exit_code() == 130


def complete(env, line):
    """What bash offers at the end of the line."""
    words = line.split(" ")
    script = (f"source <({words[0]} completion bash); COMP_WORDS=({' '.join(repr(w) for w in words)}); COMP_CWORD={len(words) - 1}; "
              f"_{words[0].replace('-', '_')}; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, env=env, timeout=harness.DEADLINE_S).stdout.split()


def test_completion_offers_commands_options_ids_and_images(env, web, client):
    sid = client.ok("GET", "/sandboxes/web")["id"]
    assert complete(env, "iii ru") == ["run"] and complete(env, "iii snapshot cr") == ["create"] and complete(env, "iii run --mem") == ["--memory"]
    assert complete(env, "iii exec we") == ["web"] and complete(env, f"iii exec {sid[:12]}") == [sid] and complete(env, f"iii rm web {sid[:12]}") == [sid]
    assert "python" in complete(env, "iii run py") and complete(env, "iii ps -o w") == ["wide"] and complete(env, "iii serve --data") == ["--data-dir"]
    assert complete(env, "iii-sandbox lis") == ["list"] and complete(env, "iii completion f") == ["fish"] and complete(env, "iii nosuch ") == []
    assert complete({**env, "III_SANDBOX_URL": "http://127.0.0.1:1"}, "iii exec we") == []


@pytest.mark.skipif(not shutil.which("fish"), reason="no fish")
def test_completion_in_fish(env, web, tmp_path):
    (tmp_path / "local.txt").touch()

    def offered(line):
        done = subprocess.run(["fish", "--no-config", "-c", f"iii completion fish | source; complete -C {line!r}"], capture_output=True, text=True, check=True,
                              env={**env, "HOME": str(tmp_path)}, cwd=tmp_path, timeout=harness.DEADLINE_S)
        assert done.stderr == ""
        return [row.split("\t")[0] for row in done.stdout.splitlines()]

    assert offered("iii pau") == ["pause"] and offered("iii snapshot cr") == ["create"] and offered("iii run --mem") == ["--memory"]
    assert offered("iii exec we") == ["web"] and "local.txt" not in offered("iii ")
    assert offered("iii cp loc") == ["local.txt"], "files where the server has nothing of that name"


@pytest.mark.skipif(not shutil.which("zsh"), reason="no zsh")
def test_completion_in_zsh(env, web, tmp_path):
    (tmp_path / "local.txt").touch()
    with Terminal({**env, "HOME": str(tmp_path), "PS1": "ready> "}, "zsh", "-f", "-i", size=(24, 200)) as term:
        term.until(b"ready> ")
        term.type(f"cd {tmp_path}; autoload compinit; compinit -D -u; source <(iii completion zsh); print 'compl'eted\n".encode())
        term.until(b"completed")
        for typed, shown in ((b"iii pau\t--help\n", b"Usage: iii pause"), (b"iii snapshot cr\t--help\n", b"Usage: iii snapshot create"),
                             (b"iii run --mem\t64m python echo 'mem'ory-given\n", b"memory-given"), (b"iii exec we\techo 'na'med\n", b"named"),
                             (b"cat loc\t; iii cp loc\tno-such:/ ; echo 'end'ed\n", b"ended")):
            term.type(typed)
            term.until(shown)
        assert b"sandbox not found: no-such" in term.got
        term.type(b"exit\n")
