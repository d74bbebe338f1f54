"""The MCP project's own conformance suite against this server: every scenario that needs no tool, prompt or resource made for the suite."""
import json
import re
import subprocess

import pytest

import harness
import nodekit

VERSION = "0.2.0-alpha.12"
# Scenarios of the suite that call things by the suite's own names (test_simple_text, test://static-text ...), or a capability
# that this server has no use for: sampling, elicitation, tasks, skills.
FIXTURES = re.compile(r"tools-call-.*|resources-read-.*|resources-templates-read|resources-(un)?subscribe|prompts-get-.*|json-schema-2020-12|server-sse-polling"
                      r"|elicitation-.*|input-required-result-.*|tasks-.*|sep-2640-.*|http-custom-header-server-validation")
# Checks of a scenario that call a tool of the suite's own.
FIXTURE_CHECKS = {"sep-2575-server-rejects-undeclared-capability", "sep-2575-missing-capability-http-400",
                  "sep-2575-http-server-no-independent-requests-on-stream", "sep-2575-server-no-log-without-loglevel"}


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_scenarios(server, sandbox, tmp_path, revision):
    home = nodekit.install("@modelcontextprotocol/conformance", VERSION)
    argv, env = nodekit.command(home, "conformance.mjs", "server", "--url", f"http://127.0.0.1:{server.port}/mcp", "--suite", "all", "--spec-version", revision,
                                "-o", tmp_path)
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False, timeout=harness.DEADLINE_S * 6)
    found = {re.fullmatch(r"server-(.+)-\d{4}-\d\d-\d\dT.*", file.parent.name)[1]: json.loads(file.read_text()) for file in tmp_path.glob("*/checks.json")}
    run = {name: checks for name, checks in found.items() if not FIXTURES.fullmatch(name)}
    assert len(run) >= 9, f"{sorted(found)}: {done.stdout[-3000:]}{done.stderr[-1000:]}"
    for name, checks in run.items():
        assert [c for c in checks if c["status"] == "SUCCESS"], f"{name}: {checks}"
        bad = [c for c in checks if c["status"] in ("FAILURE", "WARNING") and c["id"] not in FIXTURE_CHECKS]
        assert not bad, f"{name}: {json.dumps(bad, indent=1)[:6000]}"
