"""Install, then import: what pip and npm installed is there in old and new contexts, in code and in commands. Packages
are files, so nothing is fetched."""
import base64
import io
import shutil
import zipfile

import pytest

import harness

needs_npm = pytest.mark.skipif(not shutil.which("npm"), reason="the host has no npm for its view to show")
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


def test_a_pth_file_that_was_installed_holds(client, python):
    old = context(client, python)
    old("import os, site; os.makedirs('/opt/more'); open('/opt/more/far.py', 'w').write('ANSWER = 7')")
    client.exec(python, "d=$(python3 -m site --user-site); mkdir -p $d; echo /opt/more > $d/far.pth")
    assert old("import far; print(far.ANSWER)")["stdout"] == "7\n"


@needs_npm
@pytest.mark.parametrize("way", ["install", "npm install", "npm i -g"])
def test_what_npm_installed_can_be_required(client, new_sandbox, way):
    sid = new_sandbox(image=harness.node_image())["id"]
    client.ok("POST", f"/sandboxes/{sid}/env", {"vars": {"NPM_CONFIG_OFFLINE": "true", "NPM_CONFIG_INSTALL_LINKS": "true"}})
    for name, content in (("package.json", '{"name":"tiny","version":"1.0.0","bin":"say.js"}'), ("index.js", "exports.answer = 42;\n"),
                          ("say.js", "#!/usr/bin/env node\nconsole.log('a command')\n")):
        client.ok("POST", f"/sandboxes/{sid}/files/write", {"path": f"/workspace/src/tiny/{name}", "content": content})
    old = context(client, sid, "javascript")
    assert old("require('tiny')")["errorName"] == "Error"
    install(client, sid, way, "/workspace/src/tiny", "npm")
    for where in (old, context(client, sid, "javascript")):
        done = where("console.log(require('tiny').answer)")
        assert done["stdout"] == "42\n", done
    done = client.ok("POST", f"/sandboxes/{sid}/interpret/execute", {"code": "console.log(require('tiny').answer)", "language": "javascript"})
    assert done["output"] == "42\n", done
    if way == "npm i -g":
        assert client.exec(sid, "tiny")["stdout"] == "a command\n"


@pytest.mark.parametrize("manager", ["pip", pytest.param("npm", marks=needs_npm)])
def test_an_install_without_a_network_says_so(client, new_sandbox, manager):
    sid = new_sandbox(network=False, **({"image": harness.node_image()} if manager == "npm" else {}))["id"]
    reply = client.post(f"/sandboxes/{sid}/interpret/install", {"packages": ["tiny"], "manager": manager})
    assert reply.status == 400 and "no network" in reply.error and '"network": true' in reply.error
