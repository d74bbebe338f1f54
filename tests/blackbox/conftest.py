"""Fixtures: one server per test file, sandboxes that are deleted again, and a check that the server left nothing."""
import contextlib
import pathlib
import socket
import sys
import threading

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import engineclient  # noqa: E402
import harness  # noqa: E402
import images  # noqa: E402
import leak  # noqa: E402
import otherengines  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "needs(*capabilities): see harness.needs()")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    why = otherengines.kind().cannot.get(getattr(item, "originalname", item.name))
    if why and harness.BACKEND == "docker":
        pytest.skip(why)
    wanted = [name for mark in item.iter_markers("needs") for name in mark.args]
    if not wanted or (harness.BACKEND == "native" and harness.IS_ROOT):
        return
    if harness.IN_MACHINES and "hostFiles" in wanted:
        pytest.skip("the store of these tests has images of the presets' names: test_vm_presets.py has one without")
    table = harness.backend()
    for name in wanted:
        if not table["can"][name]:
            pytest.skip(f"the {table['name']} backend declares \"{name}\" missing: {table['lacks'].get(name, 'without root or a control group')}")


@pytest.fixture(scope="module")
def server(request):
    """The file's server. A file sets SERVER_ENV or SERVER_FLAGS to change it."""
    made = harness.Server(env={"III_MAX_SANDBOXES": "200", **getattr(request.module, "SERVER_ENV", {})},
                          flags=getattr(request.module, "SERVER_FLAGS", ()), token=getattr(request.module, "TOKEN", None))
    with leak.watched(made):
        yield made


@pytest.fixture
def client(server):
    made = server.client()
    yield made
    made.close()


@pytest.fixture
def new_sandbox(server):
    """Makes sandboxes: new_sandbox(image=..., ...) → record. All are deleted after the test."""
    made, caller = [], server.client()

    def create(**fields):
        record = caller.create(**fields)
        made.append(record["id"])
        return record

    yield create
    server.held.look(server.pid)
    for sid in made:
        assert caller.delete(f"/sandboxes/{sid}").status in (200, 404)
    caller.close()


@pytest.fixture
def new_worker(server):
    """Makes connected workers; all are cut after the test."""
    made = []

    def connect(**options):
        made.append(engineclient.Worker(server.engine_port, **options))
        return made[-1]

    yield connect
    for one in made:
        one.cut()


@pytest.fixture(scope="module")
def box(server):
    """The id of a running python sandbox that the tests of one file share."""
    caller = server.client()
    sid = caller.create()["id"]
    yield sid
    server.held.look(server.pid)
    assert caller.delete(f"/sandboxes/{sid}").status in (200, 404)
    caller.close()


@pytest.fixture
def outside():
    """A port of the host's loopback at which somebody says hello to whoever connects."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def greet():
            with contextlib.suppress(OSError):
                while True:
                    with listener.accept()[0] as conn:
                        conn.sendall(b"hello from outside\n")
        threading.Thread(target=greet, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def sandbox(new_sandbox):
    """The id of a fresh python sandbox."""
    return new_sandbox()["id"]


@pytest.fixture(scope="module")
def sh(tmp_path_factory):
    """A static program that images of tests are made of."""
    return images.program(tmp_path_factory.mktemp("program"))


@pytest.fixture
def image(server):
    """image(*args) runs `iii image …` on the server's data folder."""
    return lambda *args: harness.run_cli("image", *args, env={"III_DATA_DIR": server.data_dir})


@pytest.fixture
def imported(image, tmp_path):
    """imported(bytes, name) imports, and removes the image after the test."""
    names = []

    def run(data, name):
        path = tmp_path / "image.tar"
        path.write_bytes(data)
        done = image("import", path, name)
        assert done.returncode == 0, done.stderr
        names.append(name)
        return done

    yield run
    for name in names:
        image("rm", name)
