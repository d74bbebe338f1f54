"""The console with ten thousand sandboxes, floods, large files and a lost connection. What it takes is judged only with III_TEST_TIMES=1: then on a
quiet host, with the whole load."""
import concurrent.futures
import os
import resource

import pytest

import consolekit
import harness

IS_TIMED = bool(os.environ.get("III_TEST_TIMES"))
MANY = int(os.environ.get("III_TEST_MANY", "10000" if IS_TIMED else "2000"))
LARGE = 100_000_000
PROGRAM = "console_large.mjs"


@pytest.fixture(scope="module")
def own():
    consolekit.home()
    with harness.Server() as server:
        yield consolekit.need(server)


@pytest.fixture
def box(own):
    with own.client() as client:
        made = client.ok("POST", "/sandboxes", {"image": "python"})["id"]
        yield made
        client.ok("DELETE", f"/sandboxes/{made}")


def note(record_property, said):
    """What was measured is in the report."""
    for name, value in said.items():
        record_property(name, value)
    print(said)
    return said


@pytest.fixture
def descriptors():
    """A box of the fake backend takes two descriptors. How many boxes there can be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, max(hard, 3 * MANY)))
    except (OSError, ValueError):  # not allowed to raise it
        pass
    yield min(MANY, resource.getrlimit(resource.RLIMIT_NOFILE)[1] // 2 - 200)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_ten_thousand_sandboxes(descriptors, record_property):
    consolekit.home()
    many = descriptors
    with harness.Server(env={"III_ISOLATION_BACKEND": "fake", "III_MAX_SANDBOXES": "20000", "III_RATE_LIMIT_ENABLED": "false"}) as server:
        consolekit.need(server)

        def create(part):
            with server.client() as client:
                for i in range(part, many, 4):
                    client.ok("POST", "/sandboxes", {"image": "python", "name": f"box-{i:05}"})

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(create, range(4)))
        said = note(record_property, consolekit.run(PROGRAM, "table", server, many, "box-0123", 10))
        with server.client() as client:
            assert client.ok("GET", "/metrics")["activeSandboxes"] == many - 10
    assert not IS_TIMED or said["longestMs"] <= 100, said


def test_a_flooded_terminal_can_be_interrupted(own, box, record_property):
    said = note(record_property, consolekit.run(PROGRAM, "flood", own, box, 10 if IS_TIMED else 2, LARGE if IS_TIMED else LARGE // 10))
    assert not IS_TIMED or (said["yesMs"] <= 200 and said["floodMs"] <= 200 and said["stillestMs"] <= 500), said


def test_a_large_file_is_shown_in_parts(own, box, record_property):
    with own.client() as client:
        line = "awk 'BEGIN { for (i = 1; i * 25 < %d; i++) printf \"%%-24s\\n\", \"line \" i \" of many\"; print \"the last line\" }' > large.txt" % LARGE
        client.ok("POST", f"/sandboxes/{box}/exec", {"command": line, "timeout": 300})
        size = int(client.ok("POST", f"/sandboxes/{box}/exec", {"command": "stat -c %s large.txt"})["stdout"])
    assert abs(size - LARGE) < 100
    said = note(record_property, consolekit.run(PROGRAM, "file", own, box, size))
    assert not IS_TIMED or said["stillestMs"] <= 500, said


def test_a_lost_connection_loses_nothing(own, box):
    with own.client() as client:
        client.ok("POST", f"/sandboxes/{box}/files/write", {"path": "edited.txt", "content": "first\n"})
        consolekit.run(PROGRAM, "lost", own, box)
        text = client.ok("POST", f"/sandboxes/{box}/files/read", {"path": "edited.txt"})
    assert "typed before, " in text and "typed without a server, " in text and "first" in text
