"""schemathesis over the served document: whatever it makes up, the server never fails, and answers
with statuses and bodies that the document names.

It is not in Debian, so it is installed once from the package index into build/schemathesis; without an index the tests are skipped."""
import fcntl
import os
import pathlib
import subprocess
import sys

import pytest

import harness

SERVER_ENV = {"III_MAX_SANDBOXES": "500"}
FOLDER = harness.ROOT / "build" / "schemathesis"
VERSION = "4.32.5"
SEED, SECONDS = "20261115", 20
CHECKS = "not_a_server_error,content_type_conformance,response_schema_conformance,status_code_conformance"
# They end only when the client leaves: their own tests read them.
STREAMS = ["stream_events", "stream_metrics", "stream_logs"]
# The first token shuts the door for everybody without one: test_tokens.py and test_tenants.py call it.
LOCKS = ["token_create"]
# They end the sandbox that all calls of the second run share, stop it, or make more and more.
UNSHARED = ["sandbox_kill", "sandbox_stop", "sandbox_pause", "sandbox_clone", "sandbox_fork", "snapshot_restore", "snapshot_clone"]
# 502 is its proper answer when a port was exposed by another call and nobody listens inside.
RELAYED = ["proxy_request"]


def install():
    """The program, installed once; concurrent test processes wait for each other. None with a reason when it cannot be had."""
    program = FOLDER / VERSION / "bin" / "st"
    FOLDER.mkdir(parents=True, exist_ok=True)
    with open(FOLDER / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if program.exists():
            return program, ""
        made = subprocess.run([sys.executable, "-m", "venv", "--clear", FOLDER / "new"], capture_output=True, text=True, check=False)
        assert made.returncode == 0, f"python3 -m venv failed (package python3-venv): {made.stdout}{made.stderr}"
        pip = subprocess.run([FOLDER / "new" / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1",
                              "--timeout", "15", f"schemathesis=={VERSION}"], capture_output=True, text=True, check=False, timeout=240)
        if pip.returncode != 0:
            return None, "pip cannot install schemathesis: " + (pip.stderr.strip().splitlines() or ["no reason given"])[-1]
        relocate(FOLDER / "new", FOLDER / VERSION)
        return program, ""


def relocate(old, new):
    """The finished folder appears under its name at once, so that a broken installation is never taken for a whole one."""
    for script in (old / "bin").iterdir():
        if script.is_file() and not script.is_symlink():
            text = script.read_bytes()
            if text.startswith(b"#!"):
                script.write_bytes(text.replace(os.fsencode(old), os.fsencode(new)))
    old.rename(new)


@pytest.fixture(scope="module")
def program():
    found, why = install()
    if not found:
        pytest.skip(why)
    return found


def run(program, server, folder, config, left_out):
    (folder / "schemathesis.toml").write_text(config)
    argv = [program, "--config-file", folder / "schemathesis.toml", "run", f"http://127.0.0.1:{server.port}{harness.PREFIX}/openapi.json",
            "--phases", "examples,coverage,fuzzing", "--max-examples", "10", "--max-time", str(SECONDS), "--seed", SEED, "--checks", CHECKS,
            "--request-timeout", str(harness.DEADLINE_S), "--generation-database", "none", "--warnings", "off", "--no-color"]
    for name in left_out:
        argv += ["--exclude-operation-id", name]
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, errors="replace", check=False,
                          env=harness.clean_env({"HOME": folder}), timeout=SECONDS * 6)
    text = "\n".join(line[:400] for line in (done.stdout + done.stderr).splitlines())
    assert done.returncode == 0, text[-12000:]
    assert " generated" in text and " passed" in text, text[-4000:]


# Methods that the HTTP parser itself does not know are answered 501, as HTTP asks for; the others must be refused with 405.
METHODS = '[phases.coverage]\nunexpected-methods = ["PUT", "PATCH", "DELETE", "POST"]\n'
# 501 with a reason is the proper answer of an image without the language, and of a backend that cannot do a thing.
ANSWERS = '[checks]\nnot_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", 501]\n'


def test_nothing_made_up_makes_the_server_fail(program, server, tmp_path: pathlib.Path):
    run(program, server, tmp_path, METHODS + ANSWERS, STREAMS + LOCKS)
    assert server.client().get("/health").status == 200


def test_nor_does_it_in_a_sandbox_that_exists(program, server, sandbox, tmp_path):
    run(program, server, tmp_path, METHODS + ANSWERS + f'[parameters]\n"path.id" = "{sandbox}"\n', STREAMS + LOCKS + UNSHARED + RELAYED)
    assert server.client().get("/health").status == 200
