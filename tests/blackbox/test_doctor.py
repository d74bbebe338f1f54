"""`iii doctor`: what this host lets the server do, in words."""
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
