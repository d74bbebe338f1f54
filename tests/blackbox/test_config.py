"""Settings of `iii serve`: help, and refusals that name the option, or the file with line and column."""
import os
import subprocess

import pytest

import harness


def serve(*args, env=None):
    """Runs `iii serve` with arguments that must make it end at once."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("III_")}
    return subprocess.run([harness.BINARY, "serve", *args], capture_output=True, text=True, timeout=harness.DEADLINE_S, env={**clean, **(env or {})})


def refused(*args, env=None):
    done = serve(*args, env=env)
    assert done.returncode == 2, done
    assert done.stdout == ""
    return done.stderr


@pytest.fixture
def write(tmp_path):
    def make(text):
        path = tmp_path / "iii.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)
    return make


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_lists_flags_and_variables(flag):
    done = serve(flag)
    assert done.returncode == 0
    for word in ("--port N", "--config FILE", "--insecure-listen, ", "III_REST_PORT", "III_MAX_CMD_TIMEOUT", "[3111]"):
        assert word in done.stdout


@pytest.mark.parametrize("args, text", [
    (["--bogus"], 'unknown option "--bogus"'),
    (["word"], 'unknown option "word"'),
    (["--port"], "option --port needs a value"),
    (["--config"], "option --config needs a value"),
    (["--port", "abc"], 'option --port: rest_port: "abc" is not a whole number'),
    (["--port=70000"], "option --port: rest_port: 70000 is not between 0 and 65535"),
    (["--log-json=perhaps"], 'option --log-json: log_json: "perhaps" is neither true nor false'),
    (["--config", "/nonexistent.yaml"], "open /nonexistent.yaml: No such file or directory"),
])
def test_bad_flags_are_refused(args, text):
    assert text in refused(*args)


def test_an_unknown_end_of_sandboxes_is_refused(tmp_path):
    done = harness.run_cli("serve", "--port", 0, "--engine-port", 0, "--data-dir", tmp_path / "data", "--on-shutdown=leave")
    assert done.returncode == 1 and 'III_ON_SHUTDOWN is "leave": it must be keep, stop or remove' in done.stderr


@pytest.mark.parametrize("content, text", [
    ("rest:\n  port: 1\n  prot: 2\n", ':3:3: unknown key "rest.prot"'),
    ("colour: red\n", ':1:1: unknown key "colour"'),
    ("rest:\n  port: abc\n", ':2:9: rest_port: "abc" is not a whole number'),
    ("rest:\n  port: 70000\n", ":2:9: rest_port: 70000 is not between 0 and 65535"),
    ("rest:\n  port: [1]\n", ":2:3: rest.port needs one value"),
    ("rest:\n  port:\n", ":2:3: rest.port needs one value"),
    ("rest: 5\n", ':1:1: "rest" is a group: settings are expected below it'),
    ("log:\n  json: maybe\n", ':2:9: log_json: "maybe" is neither true nor false'),
    ("rest:\n  port: 1\n  port: 2\n", ":3:3: duplicate key"),
    ("rest: {\n", ": "),
    ("- a\n", "settings are expected"),
    (b"rest:\n  port: 1\n\0", "holds a NUL byte"),
    (b"%ho[\x80", "YAML directives are not supported"),  # libfyaml would read these for ever
    (b"${NOT_SET:%ho[\x80}", "YAML directives are not supported"),
])
def test_bad_files_are_refused_with_the_place(write, content, text):
    path = write(content)
    told = refused("--config", path)
    assert path in told and text in told


def test_a_file_that_is_too_large(write):
    assert "larger than 1048576 bytes" in refused("--config", write(b"#" * (1 << 20) + b"\n"))


def test_a_flag_is_checked_even_when_the_file_is_fine(write):
    path = write("rest:\n  port: 0\n  host: 127.0.0.1\nsandbox:\n  on_shutdown: keep\n")
    assert "option --port" in refused("-c", path, "--port", "x")


def test_a_bad_variable_is_reported_and_does_not_stop_the_flags():
    told = refused("--port", "x", env={"III_REST_PORT": "many"})
    assert "config.env" in told and 'is not a whole number' in told


@pytest.mark.parametrize("args, text", [
    (["--backend", "xen"], 'unknown backend "xen": this version has native, docker'),
    (["--host", "0.0.0.0"], "refusing to listen on 0.0.0.0 without a token"),
    (["--host", "0.0.0.0", "--plain-listen"], "refusing to listen on 0.0.0.0 without a token"),
    (["--host", "0.0.0.0", "--auth-token", "x"], "refusing to listen on 0.0.0.0 without TLS"),
    (["--log-level", "loud"], 'log level "loud" is not one of error, warn, info, debug'),
])
def test_what_this_server_cannot_or_will_not_do(tmp_path, args, text):
    """Refused before anything is opened: no listener, no data folder."""
    folder = tmp_path / "data"
    done = subprocess.run([harness.BINARY, "serve", "--port", "0", "--engine-port", "0", "--data-dir", folder, *args],
                          capture_output=True, text=True, check=False, env=harness.clean_env({}), timeout=harness.DEADLINE_S)
    assert done.returncode == 1 and text in done.stderr and not done.stdout
    assert not folder.exists()
