"""Every screen of the console, light and dark and on a phone: axe finds nothing serious, nothing is wider than the screen. III_TEST_PICTURES=FOLDER keeps
pictures of them."""
import os

import pytest

import consolekit
import harness


@pytest.fixture(scope="module")
def own():
    with harness.Server(env={"III_METRICS_INTERVAL": "*/2 * * * * *"}) as server:
        yield consolekit.need(server)


def test_every_screen(own):
    with own.client() as client:
        box = client.ok("POST", "/sandboxes", {"image": "python", "name": "fibonacci", "metadata": {"team": "docs"}})["id"]
        client.ok("POST", f"/sandboxes/{box}/files/write", {"path": "fib.py", "content": "def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\n\n\nprint(fib(20))\n"})
        client.ok("POST", f"/sandboxes/{box}/exec", {"command": ["python3", "fib.py"]})
        client.ok("POST", "/networks", {"name": "backend"})
        client.ok("POST", "/volumes", {"name": "data"})
        consolekit.run("console.mjs", "screens", own, box, os.environ.get("III_TEST_PICTURES", ""))
        client.ok("DELETE", f"/sandboxes/{box}")
