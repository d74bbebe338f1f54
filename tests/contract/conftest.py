"""One live server for the scenarios and the SDKs' own tests, by the harness of the black-box tests."""
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "blackbox")]

import harness  # noqa: E402
import leak  # noqa: E402

TOKEN = "contract-admin-token"


@pytest.fixture(scope="session")
def server():
    with leak.watched(harness.Server(env={"III_MAX_SANDBOXES": "200", "III_AUTH_TOKEN": TOKEN}, token=TOKEN)) as made:
        yield made


@pytest.fixture(scope="session")
def url(server):
    return f"http://127.0.0.1:{server.port}"
