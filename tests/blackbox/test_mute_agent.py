"""A sandbox whose agent was taken over, or hangs: whatever is asked of it, the caller is answered, in bounded time, and others notice nothing."""
import concurrent.futures
import os
import signal
import time

import pytest

import harness
import route_examples
import test_routes

LIMITS = {"III_AGENT_TIMEOUT": "6", "III_AGENT_GRACE": "4", "III_MAX_CMD_TIMEOUT": "8", "III_BLANK_POOL": "0"}
ANSWER_S = 90  # an interpreter has a minute to start, notes to a machine as long; some calls wait twice, on a busy machine
# What needs the agent, or could have needed it. Streams of events without an end, and calls that end sandboxes, are not among them.
GROUPS = ("cmd_", "exec_", "fs_", "env_", "proc_", "git_", "proxy_", "terminal_", "interp_", "context_", "metrics_", "queue_submit", "queue_status",
          "stream_logs", "port_", "sandbox_get", "sandbox_list", "network_connect", "network_disconnect", "alert_set", "health")
# Of these the answer is known: there is nobody else who could give it.
LATE = {"cmd_run", "cmd_background", "exec_start", "exec_output", "exec_input", "exec_signal", "fs_read", "fs_write", "fs_delete", "fs_list",
        "fs_upload", "fs_download", "fs_info", "fs_move", "fs_mkdir", "fs_rmdir", "fs_chmod",
        "fs_content_read", "fs_content_write", "proc_list", "proc_top", "proc_kill", "git_status",
        "git_log", "git_diff", "terminal_create", "interp_execute", "context_create"}


@pytest.fixture(scope="module")
def world():
    """A server and all requests, made while the agent is well."""
    with harness.Server(env={**LIMITS, "III_MAX_SANDBOXES": "20", "III_AUTH_TOKEN": test_routes.TOKEN}, token=test_routes.TOKEN) as server:
        routes = test_routes.Routes(server)
        assert routes.world.box
        (mute,) = server.agents()
        missing = route_examples.declared_missing(routes.client)
        names = [name for name in route_examples.EXAMPLES if name.startswith(GROUPS) and name not in missing]
        requests = {name: routes.request(name, route_examples.EXAMPLES[name](routes.world)) for name in names}
        yield server, routes, mute, requests
        routes.world.close()


def ask(server, request):
    begun = time.monotonic()
    with harness.Client(server.port, test_routes.TOKEN, timeout_s=4 * ANSWER_S) as caller:
        reply = caller.call(*request)
    return reply, time.monotonic() - begun


def test_every_call_is_answered_when_the_agent_is_not(world):
    server, routes, mute, requests = world
    neighbour = routes.client.create()["id"]
    os.kill(mute, signal.SIGSTOP)
    try:
        with concurrent.futures.ThreadPoolExecutor(len(requests)) as pool:
            asked = {name: pool.submit(ask, server, request) for name, request in requests.items()}
            assert routes.client.exec(neighbour, "echo on")["stdout"] == "on\n"
            answers = {name: one.result() for name, one in asked.items()}
    finally:
        os.kill(mute, signal.SIGCONT)
    slow = {name: round(took, 1) for name, (_, took) in answers.items() if took > ANSWER_S}
    assert not slow, slow
    said = {name: reply.status for name, (reply, _) in answers.items()}
    wrong = {name: (said[name], answers[name][0].body[:200]) for name in LATE & set(said) if said[name] != 504}
    assert not wrong, wrong
    assert all(status < 500 or status in (502, 503, 504) for status in said.values()), said
    assert b"exit" in answers["cmd_run_stream"][0].body


def test_it_goes_on_when_it_is_well_again(world):
    _, routes, _, _ = world
    assert routes.client.exec(routes.world.box, "echo on")["stdout"] == "on\n"
