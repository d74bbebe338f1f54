"""`iii doctor --vm`: a machine from end to end, in a folder of its own."""
import json
import os
import pathlib
import subprocess
import tempfile

import pytest


ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BINARY = os.environ.get("III_BIN") or ROOT / "build" / "iii"
STEPS = ("guest kernel", "image", "server", "first create: boot", "next create", "command", "write a file", "pause", "resume",
         "process in the background", "snapshot with memory", "restore", "the process after the restore", "fork",
         "the process in the fork", "end")


def doctor(tmp_path, *args, deadline_s=300):
    env = {k: v for k, v in os.environ.items() if not k.startswith("III_")}
    env.update(TMPDIR=str(tmp_path), III_DATA_DIR=str(tmp_path / "none"))
    return subprocess.run([BINARY, "doctor", "--vm", *args], env=env, capture_output=True, text=True, timeout=deadline_s,
                          check=False)


@pytest.fixture(name="open_tmp")
def open_tmp_fixture():
    """A folder that a server of another user can reach; those of pytest are closed to others."""
    with tempfile.TemporaryDirectory(prefix="iii-doctor-") as path:
        os.chmod(path, 0o755)
        yield pathlib.Path(path)


def test_help_and_wrong_usage(tmp_path):
    done = doctor(tmp_path, "--help")
    assert done.returncode == 0 and "--backend" in done.stdout
    assert doctor(tmp_path, "--nonsense").returncode == 2


def test_a_backend_that_is_not_there_is_a_failure(open_tmp):
    done = doctor(open_tmp, "--backend", "nonsense", "--json")
    assert done.returncode == 1
    rows = {row["name"]: row for row in json.loads(done.stdout)["checks"]}
    assert not rows["server"]["ok"] and rows["server"]["fix"]
    assert not list(open_tmp.iterdir())


def test_every_step_works_and_nothing_is_left(open_tmp):
    done = doctor(open_tmp, "--json")
    answer = json.loads(done.stdout)
    assert [row["name"] for row in answer["checks"]] == list(STEPS), answer
    assert answer["ok"] and done.returncode == 0, answer
    assert not list(open_tmp.iterdir())
