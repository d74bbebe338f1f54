"""The published npm package iii-sdk against this server, unchanged."""
import json
import subprocess

import pytest

import harness
import nodekit
from engineclient import Failed, Worker

VERSION = "0.22.1"
MIB = 1 << 20


@pytest.fixture(scope="module")
def home():
    return nodekit.install("iii-sdk", VERSION)


def run(home, server, what):
    """Everything the program said, as one object."""
    argv, env = nodekit.command(home, "engine.mjs", f"ws://127.0.0.1:{server.engine_port}", f"http://127.0.0.1:{server.port}", what)
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=harness.DEADLINE_S * 4, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ERROR" not in done.stderr and "Unexpected server response" not in done.stderr, done.stderr
    said = {}
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            said.update(json.loads(line))
    return said


def test_calls(home, server):
    said = run(home, server, "calls")
    assert said["add"] == {"sum": 5, "caller": "string"}
    assert said["throws"]["code"] == "invocation_failed" and "on purpose" in said["throws"]["message"]
    assert said["missing"]["code"] == "function_not_found" and said["missing"]["function_id"] == "sdk::missing"
    assert said["many"] == sum(range(1, 501)) and said["void"] is None and said["receipt"] == "string" and said["seen"] == [1, 2]
    assert said["big"] == 15 * MIB
    assert said["functions"] == ["sdk::add", "sdk::meta", "sdk::note", "sdk::throws"]


def test_channels_carry_64_mib_both_ways(home, server):
    said = run(home, server, "channels")
    assert said["up"] == 64 * MIB and said["down"] == 64 * MIB and said["same"] is True
    assert [json.loads(t) for t in said["texts"]] == [{"size": 64 * MIB}]


def test_triggers(home, server):
    said = run(home, server, "triggers")
    assert said["bound"] is True and said["heard"] == [{"hot": True}]
    assert said["status"] == 201 and said["page"] == {"hello": "you", "got": {"n": 1}}


def stay_answers(server, n):
    """The answer of the program's function, or None while it is not there."""
    with Worker(server.engine_port) as w:
        try:
            return w.call("sdk::stay", {"n": n})
        except Failed as why:
            assert why.code == "function_not_found"
            return None


def test_survives_a_restart_of_the_server(home):
    with harness.Server() as server:
        server.flags += ["--engine-port", str(server.engine_port)]
        argv, env = nodekit.command(home, "engine.mjs", f"ws://127.0.0.1:{server.engine_port}", "-", "stay")
        program = subprocess.Popen(argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            for line in program.stdout:  # the package has things to say itself
                if line.startswith("{"):
                    break
            assert json.loads(line) == {"ready": True}
            assert stay_answers(server, 1) == {"echo": 1}
            server.stop()
            server.start()
            assert harness.wait_until(lambda: stay_answers(server, 2), "the program is back after a stop") == {"echo": 2}
            server.kill()
            server.start()
            assert harness.wait_until(lambda: stay_answers(server, 3), "the program is back after a crash") == {"echo": 3}
            with Worker(server.engine_port) as w:
                names = [x["name"] for x in w.call("engine::workers::list", {})["workers"]]
                assert names.count("sdk-a") == 1
            program.stdin.close()
            assert program.wait(harness.DEADLINE_S) == 0
        finally:
            program.kill()
            program.wait()
            program.stdout.close()
