"""Runs requests of the contract scenarios (README.md here) through `iii-sandbox api OPERATION --field=value --json`; a sandbox is made by
`iii-sandbox create`, which knows the usual image."""
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

PROGRAM = sys.argv[1]
ARGUMENT_MAX = 100_000
TALK_S = 30


def environment(token):
    env = {k: v for k, v in os.environ.items() if not k.startswith("III_")}
    return {**env, "III_SANDBOX_URL": os.environ["III_URL"], "III_SANDBOX_TOKEN": token, "III_SANDBOX_CONFIG": ""}


def as_option(name, value):
    """--name=value, or None when the value cannot be typed on a command line and goes into --params."""
    text = value if isinstance(value, str) else json.dumps(value)
    is_like_json = isinstance(value, str) and value[:1] in "[{"
    return None if value is None or "\0" in text or len(text) > ARGUMENT_MAX or is_like_json else f"--{name}={text}"


def kebab(name):
    return re.sub(r"[A-Z]", lambda letter: "-" + letter[0].lower(), name)


def command_line(request):
    """(argument list, standard input)"""
    options, rest = [], {}
    if request["op"] == "sandbox_create":
        options = [as_option(kebab(name), value) for name, value in request.get("args", {}).items()]
        if None not in options:
            return [PROGRAM, "create", *options, "--json"], b""
        options = []
    for name, value in request.get("args", {}).items():
        option = as_option(name, value)
        if option:
            options.append(option)
        else:
            rest[name] = value
    if request.get("stream"):
        options.append("--stream")
    if rest:
        options.append("--params=-")
    return [PROGRAM, "api", request["op"], *options, "--json"], json.dumps(rest).encode() if rest else b""


def events(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith(b"{")]


def failure(stderr):
    lines = stderr.decode(errors="replace").strip().splitlines()
    try:
        told = json.loads(lines[-1])
        return {"error": {"code": told["code"], "status": told["status"], "message": told["error"]}}
    except (ValueError, IndexError, KeyError):
        return {"error": {"code": "usage", "status": 0, "message": stderr.decode(errors="replace")}}


def take_events(argv, stdin, env, count):
    """The first events of a stream; the client then leaves."""
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env) as proc:
        proc.stdin.write(stdin)
        proc.stdin.close()
        lines = []
        while len(lines) < count:
            line = proc.stdout.readline()
            if not line:
                break
            lines.append(line)
        if len(lines) == count:
            proc.send_signal(signal.SIGINT)
        return (lines, proc.stderr.read()) if lines else ([], proc.stderr.read())


def answer_of(request):
    argv, stdin = command_line(request)
    env = environment(request.get("token", os.environ["III_TOKEN"]))
    is_stream = request.get("stream") or request["op"] in STREAMS
    if "take" in request:
        lines, stderr = take_events(argv, stdin, env, request["take"])
        return {"ok": [json.loads(line) for line in lines]} if lines else failure(stderr)
    done = subprocess.run(argv, input=stdin, capture_output=True, env=env, check=False)
    if done.stderr and (done.returncode or not done.stdout):
        return failure(done.stderr)
    return {"ok": events(done.stdout) if is_stream else json.loads(done.stdout)}


def talk(args):
    """exec -it on a pseudo terminal of ours."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(PROGRAM, [PROGRAM, "exec", "-it", args["id"]], {**environment(os.environ["III_TOKEN"]), "TERM": "dumb"})
    got, end = b"", time.monotonic() + TALK_S
    try:
        os.write(fd, args["input"].encode())
        while args["until"].encode() not in got and time.monotonic() < end:
            if select.select([fd], [], [], 1)[0]:
                got += os.read(fd, 65536)
    except OSError:
        pass  # the session is over
    finally:
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)
        os.close(fd)
    return {"ok": {"found": args["until"].encode() in got}}


def operations():
    """What the program itself lists."""
    text = subprocess.run([PROGRAM, "api", "--help"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^  (\w+) ", text.partition("Commands:")[2].partition("Examples:")[0], re.M)


def answer(request):
    if request["op"] == "operations":
        return {"ok": [*operations(), "terminal_talk"]}
    return talk(request["args"]) if request["op"] == "terminal_talk" else answer_of(request)


# Operations whose answer is always events have no `--stream`, and print one on each line.
STREAMS = {name for name in operations() if name.startswith("stream_") or name.endswith("_stream")}

for request_line in sys.stdin:
    print(json.dumps(answer(json.loads(request_line))), flush=True)
