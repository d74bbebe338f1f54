"""System call filters: what they deny is seen (event, audit log, metric, alert), and the profile strict is enough for ordinary programs."""
import io
import json
import os
import zipfile

import pytest

import harness

pytestmark = harness.needs("deniedCalls")
SERVER_ENV = {"III_METRICS_INTERVAL": "* * * * * *"}

CALLS = """import ctypes, errno, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    ctypes.set_errno(0)
    return 0 if libc.syscall(number, *args) >= 0 else ctypes.get_errno()
"""
MOUNT, IO_URING, CLONE3 = (40, 425, 435) if os.uname().machine == "aarch64" else (165, 425, 435)


def python(client, sid, script, **fields):
    done = client.exec(sid, ["python3", "-c", CALLS + script], **fields)
    assert done["exitCode"] == 0, done["stderr"]
    return done["stdout"]


def seen(client, sid, n=1):
    def events():
        page = client.ok("GET", f"/events/history?topic=syscall.denied&sandboxId={sid}&limit=1000")["events"]
        return page if len(page) >= n else None
    return [e["data"] for e in harness.wait_until(events, f"{n} events")]


def test_a_denied_call_is_seen(server, client, sandbox):
    assert python(client, sandbox, f"print(call({MOUNT}, -1, -1, -1, -1, -1), call({IO_URING}, 1, 0), call({CLONE3}, 0, 0))").split() == ["1", "38", "38"]
    uring, mount = seen(client, sandbox, 2)
    assert mount == {"sandboxId": sandbox, "call": "mount", "number": MOUNT, "arch": mount["arch"], "error": "EPERM", "program": "python3",
                     "pid": mount["pid"], "count": 1, "missed": 0} and mount["pid"] > 1
    assert (uring["call"], uring["error"]) == ("io_uring_setup", "ENOSYS")  # and clone3, which libc tries each time, is not told
    with open(server.data_dir / "audit" / "current.jsonl", encoding="utf-8") as lines:
        [line] = [x for x in map(json.loads, lines) if x.get("operation") == "syscall.denied" and x["target"] == mount]
    assert line["status"] == 403
    page = harness.Client(server.port, prefix="").get("/metrics").body.decode()
    counts = dict(x.split(" ") for x in page.splitlines() if x.startswith("iii_syscalls_denied_total{"))
    assert int(counts['iii_syscalls_denied_total{call="mount"}']) >= 1 and int(counts['iii_syscalls_denied_total{call="io_uring_setup"}']) >= 1


def test_a_program_cannot_write_to_the_log_by_its_name(client, sandbox):
    python(client, sandbox, f"libc.prctl(15, b'\\x1b[31m\\n\\xff\"', 0, 0, 0); call({MOUNT}, -1, -1, -1, -1, -1)")
    assert seen(client, sandbox)[0]["program"] == '?[31m??"'


def test_threads_and_users_are_the_process_of_the_sandbox(client, sandbox):
    out = python(client, sandbox, f"import threading; t = threading.Thread(target=lambda: call({MOUNT}, -1, -1, -1, -1, -1)); t.start(); t.join(); print(os.getpid())")
    [event] = seen(client, sandbox)
    assert event["pid"] == int(out) and event["program"] == "python3"


def test_an_alert_on_denied_calls(client, sandbox):
    alert = client.ok("POST", f"/sandboxes/{sandbox}/alerts", {"metric": "deniedCalls", "threshold": 5})
    for threshold in (0, 1000001):
        assert client.post(f"/sandboxes/{sandbox}/alerts", {"metric": "deniedCalls", "threshold": threshold}).status == 400

    def fired():  # the first call is reported at once and the others a second later: the check may come between
        python(client, sandbox, f"for _ in range(6): call({MOUNT}, -1, -1, -1, -1, -1)")
        history = client.ok("GET", f"/sandboxes/{sandbox}/alerts/history")
        return history["events"] if history["total"] else None
    event = harness.wait_until(fired, "the alert")[0]
    assert event["alertId"] == alert["id"] and event["metric"] == "deniedCalls" and event["value"] >= 5


def test_a_flood_is_bounded_and_harms_nobody(server, client, sandbox):
    other = client.create()["id"]
    client.ok("POST", f"/sandboxes/{sandbox}/exec/background", {"command": [
        "python3", "-c", CALLS + f"while True: call({MOUNT}, -1, -1, -1, -1, -1)"]})
    try:
        seen(client, sandbox, 3)
        for _ in range(5):
            assert client.exec(other, "echo fine")["stdout"] == "fine\n"
        assert python(client, other, f"print(call({MOUNT}, -1, -1, -1, -1, -1))").strip() == "1"
        assert seen(client, other)[0]["sandboxId"] == other
    finally:
        client.delete(f"/sandboxes/{sandbox}")
    events = client.ok("GET", f"/events/history?topic=syscall.denied&sandboxId={sandbox}&limit=1000")["events"]
    assert 3 <= len(events) <= 60, "a sandbox has 30 at once and 30 a minute"
    client.delete(f"/sandboxes/{other}")


def test_a_program_may_filter_itself(client, sandbox):
    """A filter of its own works; a second listener does not, because a process has one (documented)."""
    out = python(client, sandbox, """
import struct
allow = struct.pack("HBBI", 6, 0, 0, 0x7fff0000)
code = ctypes.create_string_buffer(allow)
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", 1, ctypes.addressof(code)))
number = 277 if os.uname().machine == "aarch64" else 317
print(call(number, 1, 8, program), call(number, 1, 0, program))""")
    assert out.split() == ["16", "0"]


# --- strict ---

@pytest.fixture(scope="module")
def strict(server):
    with server.client() as client:
        made = client.create(seccomp="strict")
        assert made["config"]["seccomp"] == "strict"
        yield made["id"]
        client.delete(f"/sandboxes/{made['id']}")


def test_profiles_have_names(client, box):
    assert client.ok("GET", f"/sandboxes/{box}")["config"]["seccomp"] == "default"
    reply = client.post("/sandboxes", {"image": "python", "seccomp": "strct"})
    assert reply.status == 400 and 'did you mean "strict"?' in reply.error
    assert client.post("/sandboxes", {"image": "python", "seccomp": ""}).status == 400
    made = client.ok("POST", "/templates", {"name": "narrow", "config": {"image": "python", "seccomp": "strict"}})
    assert client.post("/templates", {"name": "bad", "config": {"image": "python", "seccomp": "none"}}).status == 400
    sid = client.create(template="narrow")["id"]
    assert client.ok("GET", f"/sandboxes/{sid}")["config"]["seccomp"] == "strict"
    child = client.ok("POST", f"/sandboxes/{sid}/clone", {})
    assert child["config"]["seccomp"] == "strict"
    for which in (sid, child["id"]):
        assert python(client, which, "print(libc.ptrace(0, 0, 0, 0), ctypes.get_errno())").split() == ["-1", "1"]
        client.delete(f"/sandboxes/{which}")
    client.delete(f"/templates/{made['id']}")


def test_strict_denies_and_tells(client, strict):
    assert python(client, strict, "print(libc.ptrace(0, 0, 0, 0), ctypes.get_errno(), call(444, 0, 0, 1))").split() == ["-1", "1", "38"]
    assert {"ptrace", "landlock_create_ruleset"} <= {e["call"] for e in seen(client, strict, 2)}


PROGRAMS = {
    "shell": ("sh", 'mkfifo /tmp/p; (echo a > /tmp/p &); test "$(cat /tmp/p)" = a; ls -lR /usr/share | head -n 50 | sort | wc -l; tar cf /tmp/x.tar /etc/passwd; '
                    "find /usr/bin -name 'l*' | xargs -n 5 echo | tail -n 1; dd if=/dev/zero of=/tmp/z bs=1M count=2; cp /tmp/z /tmp/y; rm /tmp/z /tmp/y /tmp/p"),
    "python": ("python3", "python3 -c 'import asyncio, concurrent.futures as f, multiprocessing as m, os, shutil, signal, socket, sqlite3, ssl, subprocess, tempfile, threading, time\n"
                          "d = tempfile.mkdtemp(); c = sqlite3.connect(d + \"/a.db\"); c.execute(\"create table t (x)\"); c.commit()\n"
                          "assert subprocess.run([\"true\"]).returncode == 0; asyncio.run(asyncio.sleep(0.01))\n"
                          "async def sub():\n p = await asyncio.create_subprocess_exec(\"true\"); await p.wait()\n"
                          "asyncio.run(sub())\n"
                          "with f.ThreadPoolExecutor(4) as e: assert list(e.map(abs, [-1, -2])) == [1, 2]\n"
                          "with m.Pool(2) as p: assert p.map(abs, [-1, -2]) == [1, 2]\n"
                          "s = socket.create_server((\"127.0.0.1\", 0)); k = socket.create_connection(s.getsockname()); k.send(b\"x\")\n"
                          "signal.setitimer(signal.ITIMER_REAL, 100); shutil.copytree(d, d + \"2\"); os.sched_getaffinity(0)'"),
    "node": ("node", "node -e \"const fs=require('fs'),cp=require('child_process'),net=require('net'),{Worker}=require('worker_threads');"
                     "fs.writeFileSync('/tmp/n','x');fs.watch('/tmp/n').close();cp.execSync('true');"
                     "new Worker('1',{eval:true}).on('exit',()=>{const s=net.createServer(c=>{c.end();s.close()}).listen(0,()=>net.connect(s.address().port))});"
                     "require('crypto').pbkdf2Sync('a','b',1,8,'sha1')\""),
    "git": ("git", "git init -q /tmp/r; cd /tmp/r; git config user.email a@b; git config user.name a; echo x > f; git add f; git commit -qm one; "
                   "git clone -q /tmp/r /tmp/r2; cd /tmp/r2; git log --oneline; git gc -q; git status -s"),
    "C": ("gcc", "printf 'int main(void){return 0;}' > /tmp/m.c; gcc -o /tmp/m /tmp/m.c; /tmp/m"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_strict_runs(client, strict, name):
    program, script = PROGRAMS[name]
    if client.exec(strict, f"command -v {program}")["exitCode"]:
        pytest.skip(f"the host has no {program}")
    done = client.exec(strict, ["sh", "-ec", script], timeout=60)
    assert done["exitCode"] == 0, done


def test_strict_installs_a_package(client, strict):
    if client.exec(strict, "python3 -m pip --version")["exitCode"]:
        pytest.skip("the host's Python has no pip")
    wheel, info = io.BytesIO(), "tiny-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as z:
        z.writestr("tiny.py", "answer = 42\n")
        z.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        z.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        z.writestr(f"{info}/RECORD", f"tiny.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    reply = client.call("PUT", f"/sandboxes/{strict}/files/content?path=/tmp/tiny-1.0-py3-none-any.whl", wheel.getvalue())
    assert reply.status < 300, reply
    done = client.exec(strict, "python3 -m pip install -q --no-index --target /tmp/site /tmp/tiny-1.0-py3-none-any.whl 2>&1 && "
                               "PYTHONPATH=/tmp/site python3 -c 'import tiny; print(tiny.answer)'", timeout=60)
    assert done["exitCode"] == 0 and done["stdout"].endswith("42\n"), done


def test_the_operator_sets_the_least(tmp_path):
    with harness.Server(env={"III_SECCOMP": "strict"}) as made, made.client() as client:
        asked = client.ok("POST", "/sandboxes", {"image": "python", "seccomp": "default"})
        assert asked["config"]["seccomp"] == "strict" and any("III_SECCOMP" in w for w in asked["warnings"])
        assert python(client, asked["id"], "print(libc.ptrace(0, 0, 0, 0), ctypes.get_errno())").split() == ["-1", "1"]
    done = harness.run_cli("serve", "--port", "0", "--engine-port", "0", "--data-dir", tmp_path / "data", env={"III_SECCOMP": "stricct"})
    assert done.returncode != 0 and "III_SECCOMP" in done.stderr
