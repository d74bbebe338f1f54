"""One good call for each operation of the committed document, for test_routes.py.

EXAMPLES[operationId] = function of the World that returns the parameters of a call that must succeed: path, query and body in one
object, as the server takes them. Things a call needs (a sandbox, a job, a repository) come from the World, made when first asked for.
An operation that is not listed by hand is called with nothing when it requires nothing, with the World's sandbox when it requires only
that, and else as the first scenario of tests/contract that calls it with success, after the steps before that call."""
import functools
import json
import re
import sys
import time
import urllib.parse
import uuid

import pytest

import harness

sys.path.insert(0, str(harness.ROOT / "tests" / "contract"))
import contract  # noqa: E402

METHODS = ("get", "post", "put", "delete", "patch")
ROWS = {op["operationId"]: (method, path, op) for path, item in json.loads((harness.ROOT / "docs" / "openapi.json").read_text())["paths"].items()
        for method, op in item.items() if method in METHODS}

# What a backend may declare missing, by operation.
NEEDS = {"sandbox_stop": "stop", "sandbox_restart": "stop", "volume_attach": "volume", "volume_detach": "volume", "egress_get": "egress", "egress_set": "egress",
         "network_create": "network", "network_connect": "network", "network_disconnect": "network", "network_delete": "network"}


# Steps of a scenario after which the shared sandbox would not be what others need: their processes are gone, or it is.
HARSH = {"sandbox_kill", "sandbox_pause", "snapshot_restore", "cmd_interrupt", "egress_set"}


def marked(names):
    """Parameters of a test for each operation."""
    return [pytest.param(name, marks=[harness.needs(NEEDS[name])] if name in NEEDS else []) for name in names]


def declared_missing(client):
    """The operations that the server's backend declares missing."""
    can = client.ok("GET", "/metrics")["backends"][0]["can"]
    return {name for name, capability in NEEDS.items() if not can[capability]}


BYTES = "application/octet-stream"


def request(method, path, op, params):
    """(method, path with query, body) for merged parameters of a row."""
    params = dict(params)
    is_bytes = BYTES in op.get("requestBody", {}).get("content", ())
    for part in re.findall(r"{(\w+)}", path):
        path = path.replace("{%s}" % part, urllib.parse.quote(str(params.pop(part)), safe=""))
    path = path[len(harness.PREFIX):]
    if (is_bytes or method in ("get", "delete")) and all(not isinstance(v, (dict, list)) for v in params.values()):
        return method.upper(), path + ("?" + urllib.parse.urlencode(params) if params else ""), "some bytes" if is_bytes else None
    return method.upper(), path, params


class World:
    """What the calls act on, in one server."""

    def __init__(self, client):
        self.client = client
        self.made = []

    def ok(self, method, path, body=None):
        return self.client.ok(method, path, body)

    def new_box(self, **fields):
        sid = self.client.create(**fields)["id"]
        self.made.append(sid)
        return sid

    def post(self, what, body=None):
        return self.ok("POST", f"/sandboxes/{self.box}/{what}", body or {})

    def close(self):
        for sid in self.made:
            self.client.delete(f"/sandboxes/{sid}")

    @functools.cached_property
    def box(self):
        sid = self.new_box()
        self.ok("POST", f"/sandboxes/{sid}/files/write", {"path": "/workspace/file.txt", "content": "hello\n"})
        return sid

    @functools.cached_property
    def paused(self):
        sid = self.new_box()
        self.ok("POST", f"/sandboxes/{sid}/pause", {})
        return sid

    def durable(self):
        return self.post("exec/start", {"command": "cat", "stdin": True})["id"]

    def failed_job(self):
        """A job that has used up its attempts: its sandbox is paused."""
        sid = self.new_box()
        self.ok("POST", f"/sandboxes/{sid}/pause", {})
        job = self.ok("POST", f"/sandboxes/{sid}/exec/queue", {"command": "true", "maxRetries": 1})["id"]
        for _ in range(400):
            if self.ok("GET", f"/queue/{job}/status")["status"] == "failed":
                return job
            time.sleep(0.05)
        raise AssertionError("the job in a paused sandbox did not fail")

    def job(self, command="true"):
        return self.post("exec/queue", {"command": command})["id"]

    @functools.cached_property
    def repository(self):
        self.client.exec(self.box, "git init -q --bare /workspace/origin.git && git clone -q /workspace/origin.git /workspace/repo"
                                   " && cd /workspace/repo && git config user.email a@b && git config user.name a && echo x > x && git add x"
                                   " && git commit -q -m first && git branch -M main && git push -q -u origin main && echo y > x")
        return "/workspace/repo"

    def pid(self):
        return int(self.client.exec(self.box, "sleep 100 >/dev/null 2>&1 & echo $!")["stdout"])

    @functools.cached_property
    def port(self):
        """An exposed port behind which a web server answers."""
        self.post("exec/background", {"command": "cd /workspace && exec python3 -m http.server 8123"})
        self.client.exec(self.box, "python3 - <<'X'\nimport socket, time\nfor _ in range(300):\n    try: socket.create_connection(('127.0.0.1', 8123)); break\n"
                                   "    except OSError: time.sleep(0.05)\nX")
        self.post("ports", {"containerPort": 8123, "hostPort": 0})  # several files make their calls from here at the same time
        return 8123

    @functools.cached_property
    def context(self):
        return self.post("interpret/contexts", {"language": "python"})["id"]

    def snapshot(self):
        return self.post("snapshots", {"name": "s"})["id"]

    def template(self):
        return self.ok("POST", "/templates", {"name": f"t{time.time_ns()}", "config": {"image": "python"}})["id"]

    def network(self, member=None):
        net = self.ok("POST", "/networks", {"name": f"n{time.time_ns()}"})["id"]
        if member:
            self.ok("POST", f"/networks/{net}/connect", {"sandboxId": member})
        return net

    def volume(self, mount_path=None):
        vol = self.ok("POST", "/volumes", {"name": "v"})["id"]
        if mount_path:
            self.ok("POST", f"/volumes/{vol}/attach", {"sandboxId": self.new_box(), "mountPath": mount_path})  # a machine with volumes cannot be saved
        return vol

    def by_scenario(self, name):
        """The parameters with which a scenario calls the operation, after the calls before it. Where it needs any sandbox that is the shared one."""
        steps = next((s["steps"] for _, s in contract.load() for step in s["steps"] if step["op"] == name and "error" not in step), None)
        assert steps, f"the operation {name} is never called with success: add a scenario to tests/contract"
        scope = {"run": uuid.uuid4().hex[:12]}
        is_shared = not any(step["op"] in HARSH for step in steps)
        for step in (s for s in steps if "error" not in s):
            params = contract.resolve(step.get("args", {}), scope)
            if step["op"] == name:
                return params
            if step["op"] == "sandbox_create":
                plain_one = is_shared and set(params) <= {"image", "name", "metadata"}
                answer = self.ok("GET", f"/sandboxes/{self.box if plain_one else self.new_box(**params)}")
            else:
                answer = self.ok(*request(*ROWS[step["op"]], params))
            if "as" in step:
                scope[step["as"]] = answer

    def fake_npm(self):
        """A package manager that needs no network."""
        self.post("files/write", {"path": "/workspace/bin/npm", "content": "#!/bin/sh\necho installed\n"})
        self.post("files/chmod", {"path": "/workspace/bin/npm", "mode": "755"})
        self.post("env", {"vars": {"PATH": "/workspace/bin:/usr/local/bin:/usr/bin:/bin"}})


def in_box(**fields):
    """A call on the shared sandbox; values may be functions of the World."""
    return lambda w: {"id": w.box, **{k: v(w) if callable(v) else v for k, v in fields.items()}}


def plain(**fields):
    return lambda w: {k: v(w) if callable(v) else v for k, v in fields.items()}


def in_repository(**fields):
    return in_box(path=lambda w: w.repository, **fields)


def install(w):
    w.fake_npm()
    return {"id": w.box, "packages": ["left-pad"], "manager": "npm"}


SSH_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPJvoijFUTo5ebe81UEfh/jW57YxnZnSYTAWeRCEf3YI example"
EXAMPLES = {
    "ssh_key_add": plain(publicKey=SSH_KEY),
    "ssh_key_delete": lambda w: {"keyId": w.ok("POST", "/ssh/keys", {"publicKey": SSH_KEY})["id"]},
    "sandbox_create": plain(image="python", name="one", env={"A": "b"}, metadata={"k": "v"}),
    "sandbox_list": plain(page=1, pageSize=5),
    "sandbox_kill": lambda w: {"id": w.new_box()},
    "sandbox_stop": lambda w: {"id": w.new_box()},
    "sandbox_pause": lambda w: {"id": w.new_box()},
    "sandbox_resume": lambda w: {"id": w.paused},
    "sandbox_clone": in_box(name="copy"),
    "sandbox_fork": in_box(count=1),
    "cmd_run": in_box(command="echo hi"),
    "cmd_run_stream": in_box(command="echo hi; echo oh >&2"),
    "cmd_background": in_box(command="true"),
    "exec_start": in_box(command="true"),
    "exec_output": plain(execId=lambda w: w.durable(), offset=0),
    "exec_input": plain(execId=lambda w: w.durable(), data="x", close=True),
    "exec_signal": plain(execId=lambda w: w.durable(), signal="KILL"),
    "queue_submit": in_box(command="true"),
    "queue_cancel": plain(jobId=lambda w: (w.job("sleep 5"), w.job())[1]),
    "queue_retry": plain(jobId=lambda w: w.failed_job()),
    "queue_dlq": plain(limit=5, offset=0),
    "fs_read": in_box(path="/workspace/file.txt"),
    "fs_write": in_box(path="/workspace/new.txt", content="text"),
    "fs_delete": lambda w: (w.post("files/write", {"path": "/workspace/gone", "content": ""}), {"id": w.box, "path": "/workspace/gone"})[1],
    "fs_list": in_box(path="/workspace"),
    "fs_search": in_box(pattern="*.txt"),
    "fs_upload": in_box(path="/workspace/up.bin", content="AAEC"),
    "fs_download": in_box(path="/workspace/file.txt"),
    "fs_info": in_box(path="/workspace/file.txt"),
    "fs_move": lambda w: (w.post("files/write", {"path": "/workspace/from", "content": ""}),
                          {"id": w.box, "moves": [{"from": "/workspace/from", "to": "/workspace/to"}]})[1],
    "fs_mkdir": in_box(paths=["/workspace/made"]),
    "fs_rmdir": lambda w: (w.post("files/mkdir", {"paths": ["/workspace/folder"]}), {"id": w.box, "paths": ["/workspace/folder"]})[1],
    "fs_chmod": in_box(path="/workspace/file.txt", mode="644"),
    "fs_content_read": in_box(path="/workspace/file.txt"),
    "fs_content_write": in_box(path="/workspace/raw.bin"),
    "fs_content_post": in_box(path="/workspace/posted.bin", mode="600"),
    "env_get": in_box(key="PATH"),
    "env_set": in_box(vars={"A": "b"}),
    "proc_kill": in_box(pid=lambda w: w.pid(), signal="KILL"),
    "git_clone": in_box(url=lambda w: f"file://{w.repository}", path=lambda w: f"/workspace/clone{time.time_ns()}"),
    "git_status": in_repository(),
    "git_commit": in_repository(message="second", all=True),
    "git_diff": in_repository(),
    "git_log": in_repository(count=1),
    "git_branch": in_repository(name=lambda w: f"b{time.time_ns()}"),
    "git_checkout": in_repository(ref="main"),
    "git_push": in_repository(),
    "git_pull": in_repository(),
    "snapshot_create": in_box(name="shot"),
    "port_unexpose": lambda w: (w.post("ports", {"containerPort": 9002, "hostPort": 0}), {"id": w.box, "containerPort": 9002})[1],
    "proxy_request": in_box(port=lambda w: w.port, method="GET", path="/file.txt"),
    "proxy_config": in_box(cors="*", requireAuth=False),
    "terminal_create": in_box(cols=80, rows=24),
    "interp_execute": in_box(code="print(1)", language="python"),
    "interp_install": install,
    "context_create": in_box(language="python"),
    "context_execute": in_box(contextId=lambda w: w.context, code="1 + 1"),
    "context_interrupt": in_box(contextId=lambda w: w.context),
    "context_execute_stream": in_box(contextId=lambda w: w.context, code="print(2)"),
    "event_history": plain(limit=5, offset=0),
    "observability_traces": plain(limit=5, offset=0),
    "observability_clear": plain(before=1),
    "stream_logs": in_box(follow="false", tail=10),
    "stream_metrics": in_box(interval=1),
    "stream_events": plain(topic="a.topic"),
    "sandbox_label": plain(id=lambda w: w.box, metadata={"stage": "test"}),
    "sandbox_policy": plain(id=lambda w: w.box, autoResume=False),
    "sandbox_resize": plain(id=lambda w: w.box, cpu=0.5),
    "volume_delete": plain(volumeId=lambda w: w.volume()),
    "volume_attach": plain(volumeId=lambda w: w.volume(), sandboxId=lambda w: w.box, mountPath="/mnt/one"),
    "volume_detach": plain(volumeId=lambda w: w.volume("/mnt/two")),
    "egress_set": lambda w: {"id": w.new_box(network=True), "default": "deny", "rules": []},
}

# Operations whose good case needs something outside this server (a registry, an imported image) and is shown in tests of its own: here
# they are only called with what they must refuse.
REFUSED = {
    "image_pull": {"image": ""},
    "image_build": {"name": "build-cache/x"},
    "image_delete": {"name": "none_such"},
    "image_delete_query": {"name": "none_such"},
    "sandbox_hibernate": {"id": "none_such"},  # not on every backend: test_wake.py, test_vm_sleep.py
}


def made_from_row(name):
    _, path, op = ROWS[name]
    body = op.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    required = {p["name"] for p in op.get("parameters", ()) if p["required"]} | set(body.get("required", ()))
    if not required:
        return plain()
    return in_box() if required == {"id"} and "/sandboxes/{id}" in path else lambda w: w.by_scenario(name)


EXAMPLES = {name: EXAMPLES.get(name) or made_from_row(name) for name in ROWS if name not in REFUSED}

# Operations whose path may name what is gone or never was: snapshots outlive their sandbox.
FREE_IDS = {"snapshot_list"}
