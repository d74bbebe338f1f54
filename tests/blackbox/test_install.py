"""Install, then import: what pip and npm installed is there in old and new contexts, in code and in commands. Packages
are files, so nothing is fetched."""
import base64
import io
import shutil
import zipfile

import pytest

import harness
from mcpclient import Http

needs_npm = pytest.mark.skipif(not shutil.which("npm"), reason="the host has no npm for its view to show")
PACKAGE = "/workspace/src/tiny"
PIP_WAYS = ("install", "pip install", "python3 -m pip install")


def wheel(name):
    data, info = io.BytesIO(), f"{name}-1.dist-info"
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr(f"{name}.py", "ANSWER = 42\n\n\ndef main():\n    print('a command')\n")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/entry_points.txt", f"[console_scripts]\n{name}-say = {name}:main\n")
        archive.writestr(f"{info}/RECORD", "")
    return data.getvalue()


def context(client, sid, language="python"):
    made = client.ok("POST", f"/sandboxes/{sid}/interpret/contexts", {"language": language})["id"]
    return lambda code: client.ok("POST", f"/sandboxes/{sid}/interpret/contexts/{made}/execute", {"code": code})


def install(client, sid, way, package, manager="pip"):
    if way == "install":
        client.ok("POST", f"/sandboxes/{sid}/interpret/install", {"packages": [package], "manager": manager})
    else:
        done = client.exec(sid, f"{way} {package}")
        assert done["exitCode"] == 0, done


@pytest.fixture
def python(client, sandbox):
    if client.exec(sandbox, "python3 -m pip --version")["exitCode"]:
        pytest.skip("the image has no pip")
    client.ok("POST", f"/sandboxes/{sandbox}/env", {"vars": {"PIP_NO_INDEX": "1"}})
    return sandbox


def test_what_pip_installed_can_be_imported(client, python):
    old = context(client, python)
    for number, way in enumerate(PIP_WAYS):
        name = f"tiny{number}"
        path = f"/workspace/{name}-1-py3-none-any.whl"
        client.ok("POST", f"/sandboxes/{python}/files/upload", {"path": path, "content": base64.b64encode(wheel(name)).decode()})
        assert old(f"import {name}")["errorName"] == "ModuleNotFoundError"
        install(client, python, way, path)
        for where in (old, context(client, python)):
            assert where(f"import {name}; print({name}.ANSWER)")["stdout"] == "42\n", way
        done = client.ok("POST", f"/sandboxes/{python}/interpret/execute", {"code": f"import {name}; print({name}.ANSWER)"})
        assert done["output"] == "42\n"
        assert client.exec(python, f"{name}-say")["stdout"] == "a command\n", way


def test_what_was_installed_over_mcp_can_be_imported(server, client, python):
    mcp, path = Http(server), "/workspace/tiny-1-py3-none-any.whl"
    mcp.initialize()
    old = context(client, python)
    client.ok("POST", f"/sandboxes/{python}/files/upload", {"path": path, "content": base64.b64encode(wheel("tiny")).decode()})
    mcp.text("sandbox_install_package", sandboxId=python, packages=[path], manager="pip")
    assert mcp.text("sandbox_run_code", sandboxId=python, language="python", code="import tiny; print(tiny.ANSWER)") == "42\n"
    for where in (old, context(client, python)):
        assert where("import tiny; print(tiny.ANSWER)")["stdout"] == "42\n"


def test_a_pth_file_that_was_installed_holds(client, python):
    old = context(client, python)
    old("import os, site; os.makedirs('/opt/more'); open('/opt/more/far.py', 'w').write('ANSWER = 7')")
    client.exec(python, "d=$(python3 -m site --user-site); mkdir -p $d; echo /opt/more > $d/far.pth")
    assert old("import far; print(far.ANSWER)")["stdout"] == "7\n"


@pytest.fixture
def node(client, new_sandbox):
    """A sandbox with node, in whose working folder is a package that can be installed."""
    sid = new_sandbox(image=harness.node_image())["id"]
    client.ok("POST", f"/sandboxes/{sid}/env", {"vars": {"NPM_CONFIG_OFFLINE": "true", "NPM_CONFIG_INSTALL_LINKS": "true"}})
    for name, content in (("package.json", '{"name":"tiny","version":"1.0.0","bin":"say.js"}'), ("index.js", "exports.answer = 42;\n"),
                          ("say.js", "#!/usr/bin/env node\nconsole.log('a command')\n")):
        client.ok("POST", f"/sandboxes/{sid}/files/write", {"path": f"{PACKAGE}/{name}", "content": content})
    return sid


@needs_npm
@pytest.mark.parametrize("way", ["install", "npm install", "npm i -g"])
def test_what_npm_installed_can_be_required(client, node, way):
    old = context(client, node, "javascript")
    assert old("require('tiny')")["errorName"] == "Error"
    install(client, node, way, PACKAGE, "npm")
    for where in (old, context(client, node, "javascript")):
        done = where("console.log(require('tiny').answer)")
        assert done["stdout"] == "42\n", done
    done = client.ok("POST", f"/sandboxes/{node}/interpret/execute", {"code": "console.log(require('tiny').answer)", "language": "javascript"})
    assert done["output"] == "42\n", done
    if way == "npm i -g":
        assert client.exec(node, "tiny")["stdout"] == "a command\n"


def as_user(client, sid):
    """Runs commands of a user who may write to their own home and nowhere else. The group of the name is not needed for the number."""
    made = client.exec(sid, "echo guest:x:1234:1234::/home/guest:/bin/sh >> /etc/passwd && mkdir -p /home/guest && chown 1234:1234 /home/guest")
    assert made["exitCode"] == 0, made

    def run(command, user="guest"):
        done = client.exec(sid, command, user=user)
        assert done["exitCode"] == 0, done
        return done["stdout"]
    return run


@needs_npm
def test_another_user_than_root_installs_with_npm(client, node):
    run = as_user(client, node)
    run(f"npm i -g {PACKAGE}")
    for user in ("guest", "1234"):
        assert run("tiny; node -p 'require(`tiny`).answer'; echo $HOME", user) == "a command\n42\n/home/guest\n"
    assert client.exec(node, "command -v tiny")["exitCode"], "it is the user's own"


def test_another_user_than_root_installs_with_pip(client, python):
    run = as_user(client, python)
    path = "/workspace/tiny-1-py3-none-any.whl"
    client.ok("POST", f"/sandboxes/{python}/files/upload", {"path": path, "content": base64.b64encode(wheel("tiny")).decode()})
    run(f"pip install {path}")
    assert run("tiny-say; python3 -c 'import tiny; print(tiny.ANSWER)'") == "a command\n42\n"


def test_the_environment_of_another_user(client, sandbox):
    """What of it lies in root's home lies in that user's; what only begins like it stays."""
    run = as_user(client, sandbox)
    client.ok("POST", f"/sandboxes/{sandbox}/env", {"vars": {"PATH": "/bin:/root/bin:/roots/bin:/usr/bin", "NODE_PATH": "/root", "NPM_CONFIG_PREFIX": "/opt", "OTHER": "/root"}})
    assert run("echo $HOME $PATH $NODE_PATH $NPM_CONFIG_PREFIX $OTHER") == \
        "/home/guest /bin:/home/guest/bin:/roots/bin:/usr/bin:/home/guest/.local/bin /home/guest /opt /root\n"
    assert run("echo $HOME $PATH", "root") == "/root /bin:/root/bin:/roots/bin:/usr/bin\n"


@pytest.mark.parametrize("manager", ["pip", pytest.param("npm", marks=needs_npm)])
def test_an_install_without_a_network_says_so(client, new_sandbox, manager):
    sid = new_sandbox(network=False, **({"image": harness.node_image()} if manager == "npm" else {}))["id"]
    reply = client.post(f"/sandboxes/{sid}/interpret/install", {"packages": ["tiny"], "manager": manager})
    assert reply.status == 400 and "no network" in reply.error and '"network": true' in reply.error
