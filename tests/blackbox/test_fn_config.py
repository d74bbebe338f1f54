"""The workers block of the configuration file, and the gateway to services of the host."""
import http.server
import os
import threading

import pytest

import harness
from fnclient import Functions
from test_config import refused, write  # noqa: F401


def block(text):
    return "workers:\n  - name: other\n    config: {x: 1}\n  - name: iii-sandbox\n    config:\n" + text


@pytest.mark.parametrize("text, complaint", [
    (block("      custom_images:\n        python: x\n"), ":7:9: custom_images: python and node are presets"),
    (block("      custom_images:\n        '': x\n"), ":7:10: custom_images: a name is empty"),
    (block("      custom_images: [a]\n"), ":6:7: custom_images: a mapping"),
    (block("      image_allowlist: python\n"), ":6:7: image_allowlist: a list of names"),
    (block("      image_allowlist: [{a: b}]\n"), ":6:7: image_allowlist: each entry"),
    (block("      auto_install: maybe\n"), ":6:21: auto_install"),
    (block("      max_exec_timeout_ms: 0\n"), ":6:28: max_exec_timeout_ms"),
    (block("      default_cpus: many\n"), ":6:21: default_cpus"),
    (block("      default_cpus: [1]\n"), ":6:7: default_cpus: one value"),
    (block("      per_image_caps: {python: 5}\n"), ":6:24: per_image_caps: expected IMAGE"),
    (block("      per_image_caps: {python: {max_cpus: x}}\n"), "max_cpus: a whole number"),
    ("workers: 5\n", ":1:10: workers: a list"), ("workers: [x]\n", ":1:11: workers: each entry"), ("workers: [{}]\n", "has no name"),
    ("sandbox:\n  image_allowlist: [python]\n", ':2:3: unknown key "sandbox.image_allowlist": it belongs under workers'),
    ("workers: [\n", "yaml:"), ("workers: ${NO_SUCH_VARIABLE}\n", "NO_SUCH_VARIABLE is not set"),
])
def test_refusals_name_the_place(write, text, complaint):  # noqa: F811
    assert complaint in refused("--config", write(text))


def serve(write, text, **env):  # noqa: F811
    return harness.Server(env=env, flags=["--config", write(text)])


def test_a_block_is_in_force(write):  # noqa: F811
    text = block("      auto_install: ${AUTO:false}\n      image_allowlist: [python, mine]\n      custom_images: {mine: 'registry.invalid/x:1', not: 'y/z'}\n"
                 "      per_image_caps: {python: {max_cpus: 1}, mine: {}}\n      max_concurrent_exec_per_sandbox: 0\n      surprise: 1\n")
    with serve(write, text) as server:
        fn = Functions(server.engine_port)
        assert [(i["name"], i["allowed"]) for i in fn.call("catalog::list")["images"]] == [
            ("python", True), ("node", False), ("mine", True), ("not", False)]
        fn.fault("create", "S100", image="node")
        fn.fault("create", "S101", image="mine", cpus=4)
        fn.fault("create", "S400", image="python", cpus=2)
        fn.create()
        assert fn.call("list")["sandboxes"][0]["exec_slots_free"] == 1
        assert ":11:7" in server.log() and "surprise" in server.log()
        fn.close()


def test_caps_are_as_high_as_the_servers_maximum():
    env = {"III_IMAGE_ALLOWLIST": "python,node", "III_IMAGE_CAPS": "python=6:6000,node=99:99999", "III_MAX_CPUS": "8", "III_MAX_MEMORY": "8192"}
    with harness.Server(env=env) as server:
        fn, client = Functions(server.engine_port), server.client()
        config = client.ok("GET", f"/sandboxes/{fn.create(cpus=6, memory_mb=6000)}")["config"]
        assert (config["cpu"], config["memory"]) == (6, 6000)
        assert "at most 6" in fn.fault("create", "S400", image="python", cpus=7)["message"]
        assert "at most 6000" in fn.fault("create", "S400", image="python", memory_mb=6001)["message"]
        assert "at most 8)" in fn.fault("create", "S400", image="node", cpus=9)["message"]
        assert "at most 8192" in fn.fault("create", "S400", image="node", memory_mb=8193)["message"]
        config = client.create(cpu=9, memory=9000)["config"]
        assert (config["cpu"], config["memory"]) == (8, 8192)  # REST, where caps do not count, moves numbers
        fn.close()


def test_the_ceiling_of_caps_is_the_host():
    cpus, memory = os.sysconf("SC_NPROCESSORS_ONLN"), os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE") // 1048576
    with harness.Server(env={"III_IMAGE_CAPS": "python=100000:100000000"}) as server:
        fn = Functions(server.engine_port)
        assert f"at most {max(cpus, 4)})" in fn.fault("create", "S400", image="python", cpus=99999)["message"]
        assert f"at most {max(memory, 4096)})" in fn.fault("create", "S400", image="python", memory_mb=99999999)["message"]
        fn.close()


@pytest.mark.parametrize("text", ["workers:\n  - name: iii-sandbox\n", "modules: [{name: iii-sandbox, config: {auto_install: true}}]\n"])
def test_no_allowlist_allows_nothing(write, text):  # noqa: F811
    with serve(write, text) as server:
        fn = Functions(server.engine_port)
        fn.fault("create", "S100", image="python")
        fn.close()


def test_a_pull_that_fails_is_transient(write):  # noqa: F811
    text = block("      image_allowlist: [mine]\n      custom_images: {mine: '127.0.0.1:1/x:1'}\n")
    with serve(write, text, III_PULL="missing") as server:
        fn = Functions(server.engine_port)
        assert "mine" in fn.fault("create", "S102", image="mine", env={"1": "x"})["message"]
        fn.close()


class Hello(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"from the host")

    def log_message(self, *_):
        pass


@pytest.mark.skipif(not harness.IS_ROOT, reason="needs root: sandboxes with network")
@harness.needs("egress")
def test_localhost_of_a_networked_sandbox_is_the_gateway():
    host = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hello)
    shut = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hello)
    for one in (host, shut):
        threading.Thread(target=one.serve_forever, daemon=True).start()
    try:
        with harness.Server(env={"III_GATEWAY_PORTS": str(host.server_port)}) as server:
            fn = Functions(server.engine_port)
            url = f"http://localhost:{host.server_port}/x"
            env = {"U": url, "V": f"a://127.0.0.1:{shut.server_port} b://localhost:1 http://localhost/ http://[::1]:5"}
            networked, alone = fn.create(network=True, env=env), fn.create(env=env)
            show = {"argv": ["sh", "-c", "echo $U $V $W"], "env": {"W": url}}
            seen = fn.call("exec", sandbox_id=networked, **show)["stdout"].split()
            assert seen == [f"http://100.96.0.1:{host.server_port}/x", f"a://100.96.0.1:{shut.server_port}", "b://100.96.0.1:1",
                            "http://localhost/", "http://[::1]:5", url]
            assert fn.call("exec", sandbox_id=alone, **show)["stdout"].split()[0] == url
            fetch = "import os, urllib.request as r; print(r.urlopen(os.environ['U'], timeout=20).read().decode())"
            assert fn.call("exec", sandbox_id=networked, argv=["python3", "-c", fetch])["stdout"] == "from the host\n"
            assert fn.call("run", image="python", network=True, env=[f"U={url}"], code=fetch)["stdout"] == "from the host\n"
            closed = fetch.replace("os.environ['U']", "os.environ['V'].split()[0].replace('a:', 'http:')")
            assert not fn.call("exec", sandbox_id=networked, argv=["python3", "-c", closed])["success"]
            fn.close()
    finally:
        for one in (host, shut):
            one.shutdown()
            one.server_close()


@pytest.mark.skipif(not harness.IS_ROOT, reason="needs root: sandboxes with network")
@harness.needs("egress")
def test_a_closed_port_of_the_gateway_says_how_it_is_opened():
    host = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hello)
    shut = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hello)
    for one in (host, shut):
        threading.Thread(target=one.serve_forever, daemon=True).start()
    try:
        with harness.Server(env={"III_GATEWAY_PORTS": str(host.server_port)}) as server:
            fn = Functions(server.engine_port)
            port = shut.server_port
            why = f"port {port} of the host is closed to sandboxes: the operator opens it with III_GATEWAY_PORTS={port} (egress.gateway_ports"
            env = {"OPEN": f"http://localhost:{host.server_port}", "SHUT": f"http://localhost:{port}/x"}
            made = fn.call("create", image="python", network=True, env=env)
            assert len(made["warnings"]) == 1 and made["warnings"][0].startswith(f"env SHUT: {why}")
            assert "warnings" not in fn.call("create", image="python", network=True, env={"OPEN": env["OPEN"]})
            assert "warnings" not in fn.call("create", image="python", env=env)
            fetch = ("import os, urllib.request as r, urllib.error as e\n"
                     "for body in (None, b'x' * 3000000):\n"
                     "    try: r.urlopen(os.environ['SHUT'], body, timeout=20)\n"
                     "    except e.HTTPError as error: print(error.code, error.read().decode().strip())")
            said = fn.call("exec", sandbox_id=made["sandbox_id"], argv=["python3", "-c", fetch])
            assert said["stdout"].splitlines() == [f"403 {why} in the configuration file)"] * 2, said
            raw = "import socket, os; s = socket.create_connection(('100.96.0.1', %d), 20); s.sendall(b'\\0\\0\\0\\x08\\x04\\xd2\\x16\\x2f'); print(s.recv(9))" % port
            cut = fn.call("exec", sandbox_id=made["sandbox_id"], argv=["python3", "-c", raw])
            assert "reset" in cut["stderr"], cut  # another protocol would take the text for its own
            fn.close()
    finally:
        for one in (host, shut):
            one.shutdown()
            one.server_close()
