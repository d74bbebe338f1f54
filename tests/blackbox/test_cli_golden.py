"""What the command line prints, word for word: the help of every command, and the text of every common mistake (tests/golden/). GOLDEN_UPDATE=1
writes what it prints now; read the difference before you keep it."""
import json
import os
import re
import socket
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

import harness

GOLDEN = harness.ROOT / "tests" / "golden"
SERVER_ENV = {"III_PULL": "never", "III_MAX_VOLUMES": "2000"}
TITLES = ("Commands:", "Sandboxes and images:", "Server, host and engine:", "Further commands:")


def compare(name, text):
    golden = GOLDEN / name
    if os.environ.get("GOLDEN_UPDATE") == "1":
        GOLDEN.mkdir(exist_ok=True)
        golden.write_text(text)
    assert text == golden.read_text(), f"GOLDEN_UPDATE=1 renews {name}"


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """A folder with both names of the binary."""
    place = tmp_path_factory.mktemp("names")
    for name in ("iii", "iii-sandbox"):
        (place / name).symlink_to(harness.BINARY)
    return place


# --- help ---

def listed(text):
    """The commands that a help text lists."""
    found, is_list = [], False
    for line in text.splitlines():
        if line in TITLES:
            is_list = True
        elif not line.startswith("  "):
            is_list = False
        elif is_list:
            found.append(line.split()[0])
    return found


def help_of(names, program, *words):
    done = subprocess.run([program, *words, "--help"], executable=names / program, capture_output=True, text=True, check=False, cwd=names,
                          env=harness.clean_env(), timeout=harness.DEADLINE_S)
    assert done.returncode == 0 and done.stderr == "", (words, done)
    return done.stdout


def all_below(names, program, words):
    """The help of a command and of all below it."""
    text = help_of(names, program, *words)
    parts = [text]
    if words and words[0] not in ("api", "image", "serve", "doctor"):  # `api` is made from the table of the API reference; the others list no commands
        for name in listed(text):
            parts += all_below(names, program, (*words, name))
    return parts


def commands(program):
    return listed(subprocess.run([program, "help"], executable=harness.BINARY, capture_output=True, text=True, check=True, env=harness.clean_env(),
                                 timeout=harness.DEADLINE_S).stdout)


@pytest.mark.parametrize("command", ["", *commands("iii")])
def test_help(names, command):
    parts = all_below(names, "iii", (command,) if command else ())
    text = ("\n" + "=" * 100 + "\n\n").join(parts)
    if command == "api":  # which operations there are, the table says
        text = re.sub(r"^  [a-z]+_\w+ .*\n|^  (health|openapi) .*\n", "", text, flags=re.M)
    compare(f"help-{command or 'iii'}.txt", text)
    assert all("Examples:" in part for part in parts if "Options:" in part)
    if command not in ("serve", "doctor", "image"):
        long = [line for line in text.splitlines() if len(line) > 160]
        assert not long, long


@pytest.mark.parametrize("command", ["", "create", "exec", "run", "list", "kill", "logs"])
def test_help_of_the_contract_s_spellings(names, command):
    compare(f"help-contract-{command or 'iii-sandbox'}.txt", help_of(names, "iii-sandbox", *command.split()))


def test_every_golden_file_is_of_a_command():
    known = {f"help-{c}.txt" for c in ["iii", *commands("iii")]} | {f"help-contract-{c}.txt" for c in
                                                                    ("iii-sandbox", "create", "exec", "run", "list", "kill", "logs")}
    assert {p.name for p in GOLDEN.glob("help-*.txt")} == known


# --- mistakes ---

class Other(BaseHTTPRequestHandler):
    """A server that is not ours."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<h1>It works!</h1>")

    do_POST = do_DELETE = do_GET

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def world(server, names, tmp_path_factory):
    """Servers and sandboxes to make mistakes with: {name: value}, and run(line) → what a user sees."""
    place = tmp_path_factory.mktemp("mistakes")
    client = server.client()
    boxes = [client.create(name=name)["id"] for name in ("web", "twin", "twin", "frozen")]
    client.ok("POST", "/sandboxes/frozen/pause")
    with HTTPServer(("127.0.0.1", 0), Other) as other, socket.socket() as held, \
            harness.Server(token="right", env={"III_AUTH_TOKEN": "right"}) as guarded, \
            harness.Server(env={"III_DISK_RESERVE_MB": "1000000000"}) as full:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        held.bind(("127.0.0.1", 0))
        held.listen()
        reader = guarded.client().ok("POST", "/tokens", {"name": "reader", "role": "read-only", "tenant": "*"})["secret"]
        values = {"SERVER": f"http://127.0.0.1:{server.port}", "GUARDED": f"http://127.0.0.1:{guarded.port}", "FULL": f"http://127.0.0.1:{full.port}",
                  "OTHER": f"http://127.0.0.1:{other.server_port}", "ENGINE": server.engine_port, "REST": server.port, "HELD": held.getsockname()[1],
                  "READER": reader, "DATA": server.data_dir, "GUARDED_ENGINE": guarded.engine_port}

        def run(line):
            env = {**harness.clean_env({"HOME": place, "PATH": f"{names}:{os.environ['PATH']}", "III_SANDBOX_URL": values["SERVER"],
                                        "III_ENGINE_PORT": values["ENGINE"]}), **{f"T_{k}": str(v) for k, v in values.items()}}
            done = subprocess.run(["bash", "-c", re.sub(r"\$(\w+)", r'"$T_\1"', line)], capture_output=True, text=True, check=False, env=env, cwd=place,
                                  timeout=harness.DEADLINE_S * 2, stdin=subprocess.DEVNULL)
            text = done.stdout + done.stderr
            for name, value in sorted(values.items(), key=lambda item: -len(str(item[1]))):
                text = text.replace(str(value), f"${name}")
            text = re.sub(r"sbx_[0-9a-f]{24}", "sbx_ID", text)
            text = re.sub(r"ts=\S+", "ts=TIME", text)
            text = re.sub(r"has \d+ MB free", "has N MB free", text)
            return f"$ {line}\n{text}[exit {done.returncode}]\n"

        yield run
        other.shutdown()
    for sid in boxes:
        client.ok("DELETE", f"/sandboxes/{sid}")
    client.close()


MISTAKES = {
    "wrong id": ["iii exec nosuch true", "iii logs nosuch", "iii rm nosuch", "iii inspect nosuch", "iii cp nosuch:/etc/hosts .", "iii port nosuch",
                 "iii sandbox exec nosuch -- true", "iii-sandbox exec nosuch true", "iii-sandbox kill nosuch"],
    "ambiguous name": ["iii exec twin true", "iii rm twin", "iii sandbox exec twin -- true"],
    "no server": ["iii --server http://127.0.0.1:1 ps", "iii run --server http://127.0.0.1:1 python true", "iii-sandbox list --server http://127.0.0.1:1",
                  "iii sandbox list --port 1", "iii sandbox run --port 1 python -- true", "iii trigger --port 1 --timeout-ms 300 sandbox::list"],
    "wrong address": ["iii ps --server nonsense", "iii ps --server ftp://127.0.0.1", "iii ps --server $OTHER", "iii run --server $OTHER python true",
                      "iii sandbox list --address ftp://127.0.0.1"],
    "missing image": ["iii run no-such-image true", "iii create no-such-image:1", "iii sandbox create no-such-image", "iii rmi no-such-image"],
    "port in use": ["iii run -p $HELD:80 python true", "set -o pipefail; iii serve --port $REST --engine-port 0 --data-dir ./data 2>&1 | grep ^iii"],
    "no token": ["iii --server $GUARDED ps", "iii --server $GUARDED run python true", "iii sandbox list --port $GUARDED_ENGINE"],
    "wrong token": ["iii --server $GUARDED --token wrong ps", "iii --server $GUARDED --token wrong exec web true",
                    "III_AUTH_TOKEN=wrong iii sandbox list --port $GUARDED_ENGINE"],
    "a token that may not": ["iii --server $GUARDED --token $READER create python"],
    "full disk": ["iii --server $FULL create python", "iii --server $FULL run python true"],
    "unknown command": ["iii pss", "iii frobnicate", "iii snapshot creat", "iii-sandbox lst", "iii help pss", "iii shell web", "iii upload a web:/", "iii login", "iii build ."],
    "unknown flag": ["iii ps --al", "iii ps -x", "iii run --memroy 1g python true", "iii --sever x ps", "iii serve --prot 1", "iii-sandbox create --nmae x"],
    "missing argument": ["iii exec", "iii exec web", "iii run", "iii rm", "iii cp a", "iii logs", "iii snapshot", "iii renew web", "iii-sandbox exec web",
                         "iii run --name", "iii sandbox exec web"],
    "too many": ["iii ps web", "iii logs web other"],
    "paused sandbox": ["iii exec frozen true", "iii-sandbox exec frozen true", "iii pause frozen"],
    "timed out": ["iii exec --timeout 300ms web sleep 100", "iii run --timeout 300ms python sleep 100", "iii-sandbox exec web 'sleep 100' --timeout 1",
                  "iii sandbox exec web --timeout 300ms -- sleep 100"],
    "no program": ["iii exec web no-such-program", "iii run python 'print(1)'", "iii run python -c 'print(1)'", "iii exec web /etc/passwd", "iii exec -w /no/such/folder web true", "iii exec -u nobody-here web true"],
    "wrong value": ["iii ps -o yaml", "iii exec --timeout soon web true", "iii run -m lots python true", "iii run --cpus many python true",
                    "iii run -p eighty python true", "iii run -v /home:/home python true", "iii run -v cache python true", "iii run -e =x python true",
                    "iii renew web soon", "iii port web eighty"],
    "in the wrong place": ["iii exec web --timeout 5s true", "iii --json version", "iii exec -it web sh", "iii rm --all web",
                           "iii ps --page 2", "iii cp a b", "iii completion tcsh", "iii port web 9999"],
}


@pytest.mark.parametrize("kind", MISTAKES)
def test_mistakes(world, kind):
    compare(f"mistake-{kind.replace(' ', '-')}.txt", "\n".join(world(line) for line in MISTAKES[kind]))


def test_an_ambiguous_beginning_names_the_candidates(world, client):
    """Which digits two ids share is not known before: the text is compared without them."""
    seen = {}
    while True:
        vid = client.ok("POST", "/volumes", {"name": "v"})["id"]
        if vid[:7] in seen:
            break
        seen[vid[:7]] = vid
    text = world(f"iii volume rm {vid[:7]}")
    for one in (*seen.values(), vid):
        client.ok("DELETE", f"/volumes/{one}")
    assert vid in text and seen[vid[:7]] in text
    text = re.sub(r"vol_[0-9a-f]{24}", "vol_ID", text).replace(vid[:7], "vol_DIG")
    compare("mistake-ambiguous-beginning.txt", text)


def test_errors_as_json(world):
    """With --json the error is an object on standard error."""
    for line, code, status in (("iii --json inspect nosuch", "not_found", 404), ("iii ps --json --server http://127.0.0.1:1", "unreachable", 0)):
        told = json.loads(next(part for part in world(line).splitlines() if part.startswith('{"')))
        assert (told["code"], told["status"]) == (code, status)


# --- where to begin ---

def test_alone(names, tmp_path):
    done = subprocess.run([names / "iii"], capture_output=True, text=True, check=False, cwd=tmp_path, env=harness.clean_env(), timeout=harness.DEADLINE_S)
    assert done.returncode == 0 and done.stderr == ""
    compare("alone.txt", done.stdout)
