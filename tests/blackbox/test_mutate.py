"""`./dev mutate` on a project of one file: which changes it makes, which of them it finds noticed, and what it keeps."""
import re
import subprocess
import sys

import pytest

import harness

sys.path.insert(0, str(harness.ROOT / "tools"))
import mutants  # noqa: E402
import mutate  # noqa: E402

SMALL = '''#include "small.h"

static int calls;

static void count(void)
{
    calls++;
}

int small_calls(void)
{
    return calls;
}

int small_clamp(int value, int most)
{
    /* if (value == most) in a comment is no condition, nor is "a == b" in a text */
    if (value < 0)
        return -1;
    if (value > most)
        value = most;
    count();
    return value;
}

int small_is_even(int value)
{
    return !(value % 2);
}
'''
TEST = '''#include "small.h"

int main(void)
{
    return !(small_clamp(5, 3) == 3 && small_clamp(2, 3) == 2 && small_clamp(-1, 3) == -1 && small_calls() == 2);
}
'''
MESON = '''project('small', 'c')
lib = static_library('room', 'src/room/small.c', include_directories: include_directories('src/room'))
test('test_small', executable('test_small', 'tests/unit/room/test_small.c', include_directories: include_directories('src/room'), link_with: lib))
'''
FILES = {"meson.build": MESON, "src/room/small.c": SMALL, "src/room/small.h": "#pragma once\nint small_calls(void);\nint small_clamp(int value, int most);\nint small_is_even(int value);\n",
         "tests/unit/room/test_small.c": TEST}


@pytest.fixture
def project(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def run(project, *words):
    """({(line, change): outcome} of the mutants that ran, the whole output, the exit code)."""
    done = subprocess.run([sys.executable, harness.ROOT / "tools" / "mutate.py", "--root", project, "--limit", "0", *words, "--files", "src/room/small.c"],
                          capture_output=True, text=True, timeout=harness.DEADLINE_S * 10, check=False)
    rows = re.findall(r"^\d+/\d+ (\w+): src/room/small\.c:(\d+): (.*?)(?: \[.*\])?$", done.stdout, re.M)
    return {(int(line), change): outcome for outcome, line, change in rows}, done.stdout + done.stderr, done.returncode


def test_kills_survivors_and_what_is_kept(project):
    ran, out, code = run(project)
    assert ran == {
        (18, "if (value < 0) → if (value <= 0)"): "survived",  # no test asks for 0
        (18, "if (value < 0) return -1; → (removed)"): "killed",
        (19, "-1 → 0"): "killed",
        (20, "if (value > most) → if (value >= most)"): "equal",  # the compiler makes the same of both
        (22, "count(); → (removed)"): "killed",
        (28, "return !(value % 2) → return (value % 2)"): "survived",  # no test calls it
    }, out
    assert code == 1 and "3/5  60 %  src/room/small.c\n3/5  60 %  src/room/\n" in out
    assert "src/room/small.c:28: small_is_even(): return !(value % 2) → return (value % 2)  # no mapped test runs this function" in out
    assert {name: (project / name).read_text() for name in FILES} == FILES, "the tree itself is not written to"
    ran, out, _ = run(project)
    assert ran == {} and "3/5  60 %  src/room/" in out, "what is known is not tried again"
    better = TEST.replace("small_calls() == 2", "small_clamp(0, 3) == 0 && small_is_even(2) && small_calls() == 3")
    (project / "tests/unit/room/test_small.c").write_text(better)
    ran, out, code = run(project)
    assert sorted(ran.values()) == ["killed", "killed"] and "5/5  100 %  src/room/" in out and code == 0, "after a test changed, survivors are tried again"


@pytest.mark.parametrize("body, changes", [
    ("    if (a && b)\n        x();\n", ["if (a && b) → if (a || b)", "x(); → (removed)"]),
    ("    if (a)\n        return false;\n", ["if (a) return false; → (removed)", "if (a) → if (!(a))", "false → true"]),
    ('    log_event(LOG_WARN, a == b ? "x" : "y");\n    assert(a != b);\n', []),  # seen by people; a bug by itself
    ("    free(a);\n    b = box_free(b);\n    sandbox_unref(c);\n", []),  # seen by sanitizers
    ("    a = (int)f(b);\n    a->g(b,\n         c);\n", ["a->g(b, c); → (removed)"]),
    ("    char *s = \"a == b\", c = '<'; // a != b\n    x = y->z << 2 >> 1;\n", []),
    ("    return err_set(err, 1, \"no %s\", a);\n", ['err_set(err, 1, "no %s", a) → 0']),
])
def test_what_is_changed(body, changes):
    text = f"#if A == B\n#endif\nint one(int a)\n{{\n{body}}}\n"
    found = mutants.find("src/x/one.c", text)
    assert sorted(m.change for m in found) == sorted(changes)
    for one in found:
        assert one.function == "one" and one.apply(text).count("\n") == text.count("\n") and one.apply(text) != text


def test_the_feature_table_names_tests():
    table = mutate.features((harness.ROOT / "ARCHITECTURE.md").read_text())
    assert len(table) > 30
    for words, files in table:
        missing = [name for name in files if not list((harness.ROOT / "tests").glob(f"*/{name}"))]
        assert words and not missing, (words, missing)
    assert any("limits" in words and "test_limits.py" in files for words, files in table)
