"""The command line: help, version, settings from flags, variables and a file, and errors that say what to do."""
import json
import re
import signal
import subprocess

import pytest

import harness


def test_help_and_version():
    for args in (["--help"], ["help"]):
        done = harness.run_cli(*args)
        assert done.returncode == 0 and "serve" in done.stdout and "image" in done.stdout and "doctor" in done.stdout
    done = harness.run_cli("--version")
    assert done.returncode == 0 and re.search(r"\d+\.\d+\.\d+", done.stdout)


def test_serve_help_lists_the_settings():
    done = harness.run_cli("serve", "--help")
    assert done.returncode == 0
    for word in ("--port", "--data-dir", "III_REST_PORT", "3111"):
        assert word in done.stdout


@pytest.mark.parametrize("args", [["no-such-verb"], ["serve", "--no-such-flag"], ["serve", "--port"], ["serve", "--port", "many"],
                                  ["serve", "--port", "70000"]])
def test_usage_errors(args):
    done = harness.run_cli(*args)
    assert done.returncode not in (0, None) and done.returncode > 0 and args[-1] in done.stderr


def test_a_port_that_is_taken(tmp_path):
    with harness.Server() as server:
        done = harness.run_cli("serve", "--port", server.port, "--engine-port", "0", "--data-dir", tmp_path / "d")
        assert done.returncode > 0 and str(server.port) in done.stderr


def test_beyond_loopback_needs_a_token(tmp_path):
    done = harness.run_cli("serve", "--host", "0.0.0.0", "--port", "0", "--engine-port", "0", "--data-dir", tmp_path / "d")
    assert done.returncode > 0 and "token" in done.stderr.lower()


def test_flags_over_variables_over_file(tmp_path):
    config = tmp_path / "iii.yaml"
    config.write_text("rest:\n  prefix: from-file\nsandbox:\n  default_memory: 128\n  max_sandboxes: 7\n")
    with harness.Server(env={"III_DEFAULT_MEMORY": "256", "III_MAX_SANDBOXES": "2"}, flags=["--config", str(config), "--max-sandboxes", "1"]) as server:
        with harness.Client(server.port, prefix="/from-file") as caller:
            assert caller.create()["config"]["memory"] == 256
            assert caller.post("/sandboxes", {"image": "python"}).status == 503


def test_a_variable_that_does_not_parse_falls_back():
    with harness.Server(env={"III_DEFAULT_MEMORY": "plenty"}) as server, harness.Client(server.port) as caller:
        assert caller.create()["config"]["memory"] == 512
        assert "III_DEFAULT_MEMORY" in server.log()


def test_a_broken_config_file(tmp_path):
    config = tmp_path / "iii.yaml"
    config.write_text("rest: [\n")
    done = harness.run_cli("serve", "--config", config, "--port", "0", "--engine-port", "0", "--data-dir", tmp_path / "d")
    assert done.returncode > 0 and "iii.yaml" in done.stderr


def test_logs_are_one_line_for_an_event():
    with harness.Server(flags=["--log-json"]) as server, harness.Client(server.port) as caller:
        caller.ok("DELETE", f"/sandboxes/{caller.create(name='two' + chr(10) + 'lines')['id']}")
        server.stop()
        lines = [line for line in server.log_path.read_text().splitlines() if line.startswith("{")]
        assert lines and all(isinstance(json.loads(line), dict) for line in lines)


def test_a_stop_waits_for_running_commands():
    """A request that runs when the server is told to stop is answered or cut, and the server still ends with 0."""
    with harness.Server() as server:
        with harness.Client(server.port) as caller:
            sid = caller.create()["id"]
            answer = caller.open("POST", f"/sandboxes/{sid}/exec/stream", {"command": "echo up; sleep 1000"})
            assert b"up" in answer.readline()
            server.stop(signal.SIGTERM)


def test_the_second_name_of_the_binary():
    link = harness.BINARY.parent / "iii-sandbox"
    assert link.exists()
    done = subprocess.run([str(link), "--help"], capture_output=True, text=True, check=False, timeout=harness.DEADLINE_S)
    assert done.returncode == 0 and done.stdout.strip()
