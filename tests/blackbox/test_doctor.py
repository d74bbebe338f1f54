"""`iii doctor`: what this host lets the server do, in words."""
import json

import harness


def test_it_names_what_it_looked_at(tmp_path):
    done = harness.run_cli("doctor", env={"III_DATA_DIR": tmp_path})
    assert done.returncode in (0, 1), done.stderr
    text = done.stdout.lower()
    for word in ("cgroup", "namespace", "overlay"):
        assert word in text, f"{word} in:\n{done.stdout}"


def test_it_leaves_nothing_behind(tmp_path):
    harness.run_cli("doctor", env={"III_DATA_DIR": tmp_path / "data"})
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        assert str(tmp_path) not in mounts.read()


def test_as_root_everything_that_limits_is_there(tmp_path):
    if not harness.IS_ROOT:
        return
    done = harness.run_cli("doctor", env={"III_DATA_DIR": tmp_path})
    assert done.returncode == 0, done.stdout


def rows(*args, **env):
    done = harness.run_cli("doctor", "--json", *args, env=env)
    assert done.returncode in (0, 1), done
    return {row["name"]: row for row in json.loads(done.stdout)["checks"]}


def test_it_looks_for_a_server_with_these_settings(tmp_path):
    """As `iii serve` reads them: the file, over it the environment, over that the flag."""
    file = tmp_path / "iii.yaml"
    file.write_text(f"data_dir: {tmp_path / 'of the file'}\nsandbox:\n  backends: krun\nvm:\n  firecracker: {tmp_path / 'fc'}\n  libkrun: {tmp_path / 'k.so'}\n")
    for name in ("of the file", "of the flag"):
        (tmp_path / name).mkdir()
    assert "krun library" not in rows(III_VM_LIBKRUN="") or "k.so" not in rows()["krun library"]["detail"]
    found = rows("--config", file)
    assert found["firecracker"]["detail"] == str(tmp_path / "fc") and not found["firecracker"]["ok"]
    assert not found["krun library"]["ok"] and "of the file" in found["microVM kernel"]["detail"], found
    assert rows(f"--config={file}", III_VM_FIRECRACKER="/bin/true")["firecracker"] == {**found["firecracker"], "ok": True, "detail": "/bin/true"}
    assert "of the flag" in rows("-c", file, "--data-dir", tmp_path / "of the flag")["microVM kernel"]["detail"]


def test_settings_that_a_server_would_refuse(tmp_path):
    file = tmp_path / "iii.yaml"
    file.write_text("sandbox:\n  nonsense: 1\n")
    for args, words in ((("--config", file), "nonsense"), (("--config", tmp_path / "missing"), "No such file"), (("--config",), "needs a value")):
        done = harness.run_cli("doctor", *args)
        assert done.returncode == 2 and words in done.stderr and done.stdout == "", done
