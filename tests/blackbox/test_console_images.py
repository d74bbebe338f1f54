"""The console's page of images in Chromium: build with upload and live log, cancel, layers. The programs are in sdk/console_images.mjs."""
import pytest

import consolekit
import harness
from test_console import own  # noqa: F401

pytestmark = harness.needs("imageStore", "layers")


def run(scenario, server, *args):
    consolekit.run("console_images.mjs", scenario, server, *args)


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "context"
    (made / "sub").mkdir(parents=True)
    (made / "Dockerfile").write_text("FROM shell\nARG WHO\nCOPY . /in\nRUN find /in -type f | sort; echo \"for $WHO\"; printf '<b>bold</b>\\033[2J\\n'\n")
    (made / "sub" / ("long" * 40)).write_text("x")
    return made


def test_an_image_is_built_and_looked_at(own, folder):  # noqa: F811
    run("build", own, folder)
    with own.client() as client:
        assert client.ok("GET", "/images/inspect?name=by-console")["layers"]
        assert client.ok("GET", "/sandboxes")["total"] == 0
        client.call("DELETE", "/images?name=by-console")


def test_a_build_is_cancelled(own):  # noqa: F811
    run("cancel", own)
    with own.client() as client:
        harness.wait_until(lambda: client.ok("GET", "/sandboxes")["total"] == 0, "the step's sandbox is gone")
        assert "endless" not in [image["name"] for image in client.ok("GET", "/images")["images"]]
