"""Snippets in a fresh interpreter, packages, and the list of languages: the contract's three routes."""
import shutil
import threading

import pytest

import harness

from harness import UNKNOWN, Server, wait_until

SERVER_ENV = {"III_MAX_CMD_TIMEOUT": str(20 * harness.SLOWNESS)}


def run(client, sid, code, **fields):
    return client.ok("POST", f"/sandboxes/{sid}/interpret/execute", {"code": code, **fields})


def left_files(client, sid):
    return client.exec(sid, "ls -A /tmp | grep ^code_ || true")["stdout"]


def test_python_is_the_default(client, box):
    result = run(client, box, "print('hi é')")
    assert set(result) == {"output", "error", "executionTime"}
    assert result["output"] == "hi é\n" and result["error"] is None and isinstance(result["executionTime"], int)
    assert left_files(client, box) == ""


@pytest.mark.parametrize("language, program, code", [
    ("python", "python3", "import sys; print(6 * 7)"),
    ("javascript", "node", "console.log(6 * 7)"),
    ("bash", "bash", "echo $((6 * 7))"),
    ("go", "go", 'package main\nimport "fmt"\nfunc main() { fmt.Println(6 * 7) }'),
])
def test_languages(client, box, new_sandbox, language, program, code):
    if program == "node" and shutil.which("node"):
        box = new_sandbox(image=harness.node_image())["id"]
    if client.exec(box, ["sh", "-c", f"command -v {program}"])["exitCode"]:
        pytest.skip(f"the host's view has no {program}")
    assert run(client, box, code, language=language)["output"] == "42\n"
    assert left_files(client, box) == ""


def test_typescript_runs_or_names_what_is_missing(client, box):
    reply = client.post(f"/sandboxes/{box}/interpret/execute", {"language": "typescript", "code": "const x: number = 42; console.log(x)"})
    if reply.status == 200:
        assert reply.json()["output"] == "42\n"
    else:
        assert reply.status == 501 and "tsx" in reply.error and "python" in reply.error


def test_errors_of_the_code_are_a_normal_answer(client, box):
    result = run(client, box, "print('before')\nraise ValueError('bad')")
    assert result["output"] == "before\n" and "ValueError: bad" in result["error"]
    assert run(client, box, "import sys; sys.exit(3)")["error"] == "exited with code 3"
    assert "signal 9" in run(client, box, "import os; os.kill(os.getpid(), 9)")["error"]
    assert run(client, box, "import sys; sys.stderr.write('noise')")["error"] is None
    assert left_files(client, box) == ""


def test_runs_at_the_same_time_do_not_mix(server, client, box):
    found = []

    def work(i):
        with server.client() as mine:
            found.append((i, run(mine, box, f"import time\ntime.sleep(0.05)\nprint({i})")["output"]))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(found) == [(i, f"{i}\n") for i in range(8)]
    assert left_files(client, box) == ""


def test_a_client_that_leaves_ends_its_code(server, client, box):
    leaver = server.client()
    leaver.open("GET", "/health").read()
    leaver.conn.request("POST", f"/sandbox/sandboxes/{box}/interpret/execute",
                        body=b'{"code":"import time; time.sleep(12.5)"}', headers={"Content-Type": "application/json"})
    wait_until(lambda: left_files(client, box), "the code runs")
    leaver.close()
    wait_until(lambda: not left_files(client, box), "the file is removed")


def test_bad_input(client, box):
    path = f"/sandboxes/{box}/interpret/execute"
    for body, word in (({}, "code"), ({"code": ""}, "code"), ({"code": 7}, "code"), ({"code": "x", "language": "cobol"}, "language"),
                       ({"code": "x" * 1048577}, "code")):
        reply = client.post(path, body)
        assert reply.status == 400 and word in reply.error
    assert client.post(f"/sandboxes/{UNKNOWN}/interpret/execute", {"code": "1"}).status == 404


def test_needs_a_running_sandbox(client, sandbox):
    client.ok("POST", f"/sandboxes/{sandbox}/pause")
    assert client.post(f"/sandboxes/{sandbox}/interpret/execute", {"code": "1"}).status == 409
    assert client.post(f"/sandboxes/{sandbox}/interpret/install", {"packages": ["x"]}).status == 409
    client.ok("POST", f"/sandboxes/{sandbox}/resume")


def test_missing_interpreters_are_named(client, sandbox):
    client.ok("POST", f"/sandboxes/{sandbox}/env", {"vars": {"PATH": "/nothing"}})
    for language, program in (("python", "python3"), ("javascript", "node"), ("bash", "bash"), ("go", "go"), ("typescript", "tsx")):
        reply = client.post(f"/sandboxes/{sandbox}/interpret/execute", {"code": "1", "language": language})
        assert reply.status == 501 and program in reply.error and "image python" in reply.error
    for manager, program in (("pip", "pip"), ("npm", "npm"), ("go", "go"), ("apt", "apt-get")):
        reply = client.post(f"/sandboxes/{sandbox}/interpret/install", {"packages": ["x"], "manager": manager})
        assert reply.status == 501 and program in reply.error


def test_a_timeout_is_504():
    with Server(env={"III_MAX_CMD_TIMEOUT": "1"}) as made:
        mine = made.client()
        sid = mine.create()["id"]
        reply = mine.post(f"/sandboxes/{sid}/interpret/execute", {"code": "import time; time.sleep(60)"})
        assert reply.status == 504 and "timed out after 1000 ms" in reply.error
        assert mine.delete(f"/sandboxes/{sid}").status == 200


def fake(client, sid, program):
    """Puts a program before all others that prints its words, one a line."""
    client.ok("POST", f"/sandboxes/{sid}/files/write",
              {"path": f"/workspace/bin/{program}", "content": '#!/bin/sh\nfor word in "$@"; do echo "$word"; done\n'})
    client.ok("POST", f"/sandboxes/{sid}/files/chmod", {"path": f"/workspace/bin/{program}", "mode": "755"})


def test_go_and_tsx_get_the_file(client, sandbox):
    """With stand-ins, since few images have them."""
    for program in ("go", "tsx"):
        fake(client, sandbox, program)
    client.ok("POST", f"/sandboxes/{sandbox}/env", {"vars": {"PATH": "/workspace/bin:/usr/bin:/bin"}})
    verb, path = run(client, sandbox, "package main", language="go")["output"].split()
    assert verb == "run" and path.startswith("/tmp/code_") and path.endswith(".go")
    assert run(client, sandbox, "let x: any", language="typescript")["output"].strip().endswith(".ts")


@pytest.mark.parametrize("managers, program, word", [
    (("pip", "python", None), "python3", "pip"), (("npm", "javascript", "typescript"), "npm", "install"), (("go",), "go", "get"),
    (("apt", "bash"), "apt-get", "install"),
])
def test_install_speaks_both_vocabularies(client, sandbox, managers, program, word):
    fake(client, sandbox, program)
    client.ok("POST", f"/sandboxes/{sandbox}/env", {"vars": {"PATH": "/workspace/bin:/usr/bin:/bin"}})
    packages = ["plain", "pinned==1.0", "extra[a,b]>=2,<3", "$(touch${IFS}/tmp/owned)", "a;b", "@scope/name@^1"]
    for manager in managers:
        body = {"packages": packages, **({"manager": manager} if manager else {})}
        lines = client.ok("POST", f"/sandboxes/{sandbox}/interpret/install", body)["output"].splitlines()
        assert word in lines and lines[-len(packages) - 1:] == ["--", *packages]
    assert "owned" not in client.exec(sandbox, "ls /tmp")["stdout"]


def test_install_failure_is_an_error_with_what_was_said(client, sandbox):
    client.ok("POST", f"/sandboxes/{sandbox}/files/write",
              {"path": "/workspace/bin/npm", "content": "#!/bin/sh\necho no such thing >&2\nexit 9\n"})
    client.ok("POST", f"/sandboxes/{sandbox}/files/chmod", {"path": "/workspace/bin/npm", "mode": "755"})
    client.ok("POST", f"/sandboxes/{sandbox}/env", {"vars": {"PATH": "/workspace/bin:/usr/bin:/bin"}})
    reply = client.post(f"/sandboxes/{sandbox}/interpret/install", {"packages": ["x"], "manager": "npm"})
    assert reply.status == 400 and "no such thing" in reply.error and "code 9" in reply.error


def test_install_really_installs(client, sandbox):
    """A package from a folder: nothing is fetched."""
    if not shutil.which("pip3") or client.exec(sandbox, "python3 -c 'import setuptools, pip, wheel'")["exitCode"]:
        pytest.skip("the host's view has no pip with setuptools and wheel")
    for name, content in (("setup.py", "from setuptools import setup\nsetup(name='tiny', version='1', py_modules=['tiny'])\n"),
                          ("tiny.py", "ANSWER = 42\n")):
        client.ok("POST", f"/sandboxes/{sandbox}/files/write", {"path": f"/workspace/tiny/{name}", "content": content})
    client.ok("POST", f"/sandboxes/{sandbox}/env", {"vars": {"PIP_NO_BUILD_ISOLATION": "0", "PIP_NO_INDEX": "1"}})
    client.ok("POST", f"/sandboxes/{sandbox}/interpret/install", {"packages": ["/workspace/tiny"]})
    assert run(client, sandbox, "import tiny; print(tiny.ANSWER)")["output"] == "42\n"


@pytest.mark.parametrize("body, word", [
    ({}, "packages"), ({"packages": []}, "packages"), ({"packages": "x"}, "packages"), ({"packages": [1]}, "packages"),
    ({"packages": ["--upgrade"]}, "packages"), ({"packages": ["a b"]}, "packages"), ({"packages": [""]}, "packages"),
    ({"packages": ["a\nb"]}, "packages"), ({"packages": ["x" * 256]}, "packages"), ({"packages": ["x"] * 1001}, "packages"),
    ({"packages": ["x"], "manager": "cargo"}, "manager"),
])
def test_bad_packages(client, box, body, word):
    reply = client.post(f"/sandboxes/{box}/interpret/install", body)
    assert reply.status == 400 and word in reply.error


KERNELS = [
    {"name": "python3", "language": "python", "displayName": "Python 3"},
    {"name": "node", "language": "javascript", "displayName": "Node.js"},
    {"name": "bash", "language": "bash", "displayName": "Bash"},
    {"name": "go", "language": "go", "displayName": "Go"},
]


def test_kernels_are_those_that_the_image_has(client, box):
    there = client.exec(box, "for p in python3 node bash go; do command -v $p >/dev/null && echo $p; done; true")["stdout"].split()
    assert "python3" in there
    assert client.ok("GET", f"/sandboxes/{box}/interpret/kernels") == [k for k in KERNELS if k["name"] in there]


def test_a_kernel_that_cannot_be_started_is_not_listed(client, new_sandbox):
    """A path that leads to one interpreter, to a file that cannot be executed and to a link to nothing."""
    sid = new_sandbox(env={"PATH": "/tmp/bin"})["id"]
    client.exec(sid, ["/bin/sh", "-c", "PATH=/usr/bin:/bin; mkdir /tmp/bin; ln -s $(command -v bash) /tmp/bin/bash;"
                                       "ln -s /nowhere /tmp/bin/node; touch /tmp/bin/go"])
    assert client.ok("GET", f"/sandboxes/{sid}/interpret/kernels") == [KERNELS[2]]
    client.ok("POST", f"/sandboxes/{sid}/pause")
    assert client.get(f"/sandboxes/{sid}/interpret/kernels").status == 409
