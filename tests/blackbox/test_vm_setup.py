"""`iii vm setup` and `iii vm status` up to the point where a kernel is needed; tests/packages/test_vm_kernel.py goes on with one."""
import json

import pytest

import harness


def run(*args, code, env=None):
    done = harness.run_cli("vm", *args, env=env)
    assert done.returncode == code, done
    return done


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def leftovers(folder):
    kit = folder / "vm" / "kit"
    return sorted(p.name for p in kit.iterdir()) if kit.exists() else []


def test_nothing_is_there_yet(folder):
    done = run("status", "--data-dir", folder, code=1)
    assert "iii vm setup" in done.stderr and done.stdout == ""
    answer = json.loads(run("status", "--json", "--data-dir", folder, code=1).stdout)
    assert answer["ok"] is False and answer["code"] == "unsupported" and "iii vm setup" in answer["error"]
    assert leftovers(folder) == []


@pytest.mark.parametrize("content, words", [
    (b"no kernel at all", "neither a bzImage nor an ELF kernel"),
    (b"", "is empty"),
    (b"\x7fELF" + bytes(200), "not for x86-64"),
])
def test_a_file_that_is_no_kernel(folder, tmp_path, content, words):
    kernel = tmp_path / "vmlinuz"
    kernel.write_bytes(content)
    done = run("setup", "--kernel", kernel, "--data-dir", folder, code=1)
    assert words in done.stderr
    assert leftovers(folder) == ["lock"]
    assert words in json.loads(run("setup", "--json", "--data-dir", folder, env={"III_VM_KERNEL": str(kernel)}, code=1).stdout)["error"]


def test_paths_that_lead_nowhere(folder, tmp_path):
    assert "No such file" in run("setup", "--kernel", tmp_path / "missing", "--data-dir", folder, code=1).stderr
    assert "has no boot/vmlinuz-*" in run("setup", "--kernel", tmp_path, "--data-dir", folder, code=1).stderr
    assert "neither a file nor a folder" in run("setup", "--kernel", "/dev/null", "--data-dir", folder, code=1).stderr
    package = tmp_path / "kernel.deb"
    package.write_bytes(b"no package")
    assert "dpkg-deb" in run("setup", "--kernel", package, "--data-dir", folder, code=1).stderr
    assert leftovers(folder) == ["lock"]


def test_wrong_usage(folder):
    run("setup", "--kernel", code=2)
    run("setup", "extra", "--data-dir", folder, code=2)
    run("status", "--kernel", "x", code=2)
