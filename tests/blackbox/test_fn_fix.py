"""The `fix` of a failed function, applied by a program that knows only its form: every cure works."""
import re

import pytest

import harness
import images
import registries
from fnclient import Functions, fn, sb  # noqa: F401
from test_pull import entry, folder, pack

SERVER_ENV = {"III_IMAGE_CAPS": "python=2:1024"}
ON_DISK = "mkdir -p /d/sub; echo one >/d/f; echo 'a(b' >>/d/f; echo two >/g"
# Codes that no program can cure by itself, and why. A new code belongs here or among the cases below.
NO_FIX = {
    "S001": "what the caller means is not known", "S002": "no record says what the sandbox was made of", "S100": "which image else is a choice",
    "S102": "retryable: the same request again", "S212": "another function would be needed", "S215": "the command is root already",
    "S216": "the system's error", "S218": "retryable: a new channel", "S219": "needs another sandbox", "S300": "needs the operator",
}
CASES = [
    ("S200", "exec", {"cmd": "sleep 0.6", "timeout_ms": 150}),
    ("S210", "fs::write", {"path": "/x", "content": "", "mode": "0o600"}),
    ("S210", "fs::grep", {"path": "/d", "pattern": "one", "recursive": False}),
    ("S210", "fs::sed", {"path": "/d", "pattern": "one", "replacement": "1", "recursive": False}),
    ("S211", "fs::write", {"path": "/no/such/file", "content": "x"}),
    ("S211", "fs::mkdir", {"path": "/no/such/dir"}),
    ("S211", "fs::mv", {"src": "/g", "dst": "/no/such/place"}),
    ("S211", "exec", {"cmd": "pwd", "workdir": "/no/such/dir"}),
    ("S213", "fs::mkdir", {"path": "/d"}),
    ("S213", "fs::mv", {"src": "/g", "dst": "/d/f"}),
    ("S214", "fs::rm", {"path": "/d"}),
    ("S217", "fs::grep", {"path": "/d", "pattern": "a(b"}),
    ("S217", "fs::sed", {"path": "/d", "pattern": "a(b", "replacement": "c"}),
    ("S400", "create", {"image": "python", "cpus": 3}),
    ("S400", "create", {"image": "python", "memory_mb": 1025}),
]


def cured(fn, name, request, body):  # noqa: F811
    """The reply to the same request after its fix."""
    fields = dict(body["fix"])
    call = fields.pop("call", None)
    request = dict(request)
    if call:
        reply = fn.worker.call(call["function_id"], call["payload"])
        for field, member in call.get("take", {}).items():
            request[field] = reply[member]
    assert call or re.search(r"merge", body["fix_note"])
    return fn.call(name, **{**request, **fields})


@pytest.mark.parametrize("code, name, request_", CASES, ids=[f"{c}-{n}-{i}" for i, (c, n, _) in enumerate(CASES)])
def test_the_fix_cures(fn, sb, code, name, request_):  # noqa: F811
    request = dict(request_) if name == "create" else {"sandbox_id": sb, **request_}
    fn.call("exec", sandbox_id=sb, argv=["sh", "-c", ON_DISK])
    reply = cured(fn, name, request, fn.fault(name, code, **request))
    if name == "fs::grep":
        assert len(reply["matches"]) == 1
    if name == "fs::sed":
        assert reply["total_replacements"] == 1
    if name == "exec":
        assert reply["success"]


def test_a_paused_sandbox_is_resumed(fn, client, sb):  # noqa: F811
    client.ok("POST", f"/sandboxes/{sb}/pause")
    request = {"sandbox_id": sb, "cmd": "echo thawed"}
    assert cured(fn, "exec", request, fn.fault("exec", "S004", **request))["stdout"] == "thawed\n"


@harness.needs("snapshot")
def test_a_busy_sandbox_is_cloned(fn, client, sb):  # noqa: F811
    fn.call("fs::write", sandbox_id=sb, path="/kept", content="its files")
    held = fn.ask("exec", sandbox_id=sb, cmd="sh -c 'until test -e /go; do sleep 0.02; done'")
    harness.wait_until(lambda: fn.call("list")["sandboxes"][-1]["exec_in_flight"] == 1, "the command")
    request = {"sandbox_id": sb, "cmd": "cat /kept"}
    body = fn.fault("exec", "S003", **request)
    before = {row["sandbox_id"] for row in fn.call("list")["sandboxes"]}
    assert cured(fn, "exec", request, body)["stdout"] == "its files"
    fn.made += {row["sandbox_id"] for row in fn.call("list")["sandboxes"]} - before
    fn.call("fs::write", sandbox_id=sb, path="/go", content="")
    assert fn.answer(held)["success"]


def test_a_step_of_run_hands_on_what_merges(fn):  # noqa: F811
    request = {"image": "python", "lang": "sh", "code": "sleep 0.6; echo done"}
    body = fn.fault("run", "S400", cpus=3, **request)
    assert body["fix"]["inner_code"] == "S400" and body["fix"]["inner_fix"] == {"cpus": 2}
    body = fn.fault("run", "S200", timeout_ms=150, **request)
    assert fn.call("run", **{**request, "timeout_ms": 150, **body["fix"]["inner_fix"]})["stdout"] == "done\n"


@harness.needs("imageStore")
@pytest.mark.skipif(bool(registries.missing_tools()), reason=f"not installed: {registries.missing_tools()}")
def test_a_missing_image_is_pulled(tmp_path):
    layout, registry = registries.Layout(tmp_path / "oci"), registries.Registry()
    try:
        layout.add_image("tiny", [pack([folder("bin"), entry("bin/sh", images.program(tmp_path), mode=0o755), folder("tmp", mode=0o1777)])])
        registry.push(layout, "tiny", "made/tiny:v1")
        env = {"III_PULL": "missing", **registries.LISTED, "III_AUTO_INSTALL": "false", "III_IMAGE_ALLOWLIST": "tiny",
               "III_CUSTOM_IMAGES": f"tiny={registry.host}/made/tiny:v1"}
        with harness.Server(env=env) as server:
            made = Functions(server.engine_port)
            body = made.fault("create", "S101", image="tiny")
            assert cured(made, "create", {"image": "tiny"}, body)["image"] == "tiny"
            made.close()
    finally:
        registry.stop()


def test_every_code_has_a_fix_or_a_reason():
    table = re.search(r"codes\[\] = \{\n(.*?)^\};", (harness.ROOT / "src/api/fn_fault.c").read_text(), re.M | re.S)[1]
    known = set(re.findall(r'\{ "(S\d+)"', table))
    fixed = {code for code, _, _ in CASES} | {"S003", "S004", "S101"}
    assert known == fixed | set(NO_FIX) and not fixed & set(NO_FIX)
