"""./dev: help and examples of every command, options in any order, options that do not exist. Nothing is built or installed: the steps
of a command are printed, not run."""
import re
import shlex
import subprocess
import sys
import threading

import pytest

import harness

sys.path.insert(0, str(harness.ROOT / "tools"))
import lint  # noqa: E402
import run_tests  # noqa: E402

COMMANDS = ("setup", "build", "serve", "test", "dist", "bench", "sdkgen", "lint", "fmt", "fuzz", "record", "mutate")
RUN = "build/bench/iii-bench"


def dev(*words):
    done = subprocess.run(["./dev", *words], cwd=harness.ROOT, capture_output=True, text=True, check=False, timeout=harness.DEADLINE_S)
    return done.returncode, done.stdout, done.stderr


def steps(line):
    """The steps of a command line, each a list of words."""
    code, out, err = dev(*shlex.split(line), "--print-command")
    assert code == 0, (line, err)
    return [shlex.split(step) for step in out.splitlines()]


def last(line):
    words = steps(line)[-1]
    return " ".join(words[1:] if words[0].endswith("python3") else words)


def test_the_overview_has_every_command():
    for words in ((), ("help",), ("--help",)):
        code, out, _ = dev(*words)
        assert code == 0 and re.findall(r"^  (\w+) +\S", out, re.M) == list(COMMANDS)


def test_lint_finds_packages_that_nobody_published():
    """Written in pieces, to pass the same check."""
    for line, name in (("np" + "x -y @iii-sandbox/mcp", "@iii-sandbox/mcp"), ('"command": "np' + 'x", "args": ["-y", "@iii-sandbox/mcp@0.1"]', "@iii-sandbox/mcp"),
                       ("pip " + "install -q iii-sandbox==1", "iii-sandbox"), ("cargo " + "add iii-sandbox --features x", "iii-sandbox"),
                       ("`npm " + "install iii-sandbox-sdk`", "iii-sandbox-sdk"), ("uv" + "x iii_sandbox", "iii_sandbox"),
                       ('"command": "np' + 'x",\n  "args": ["-y", "@iii-sandbox/mcp"]', "@iii-sandbox/mcp")):
        assert list(lint.fetched_names(line)) == [name], line
    for line in ("npm install ./build/dist/iii-sandbox-sdk-0.1.0.tgz", "npm install iii-sdk@0.22.1", "pip install ./iii_sandbox-0.1.0-py3-none-any.whl",
                 "pip install https://example.com/iii_sandbox-0.1.0.whl", "pip install numpy; iii sandbox list", "cargo add --path sdk/rust",
                 "npx -y --package=/opt/iii-sandbox-mcp-0.1.0.tgz iii-sandbox-mcp"):
        assert list(lint.fetched_names(line)) == [], line


@pytest.mark.parametrize("name", COMMANDS)
def test_help(name):
    code, out, err = dev(name, "--help")
    assert (code, err) == (0, "") and out.startswith(f"usage: ./dev {name} ") and dev("help", name)[1] == out
    examples = re.findall(r"^  \./dev (.*)$", out.partition("examples:\n")[2], re.M)
    assert examples and all(words[0] == name and steps(shlex.join(words)) for words in (shlex.split(line, comments=True) for line in examples))


@pytest.mark.parametrize("line, run", [
    ("", RUN),
    ("--quick --with-docker", f"bench/with_docker.py {RUN} --quick"),
    ("--with-docker --only create --quick", f"bench/with_docker.py {RUN} --quick --only create"),
    ("--backend=docker", f"bench/with_docker.py {RUN} --backend docker"),
    ("--out x.json --backend qemu", f"bench/with_vm.py {RUN} --out x.json --backend qemu"),
    ("--mb 10 --pull --rounds=1", "bench/pull.py --rounds 1 --mb 10"),
])
def test_bench_options_in_any_order(line, run):
    assert last(f"bench {line}") == run


def test_options_of_the_others_in_any_order():
    assert last("test -k x --only blackbox") == "tools/run_tests.py -k x --only blackbox"
    assert last("serve --port 0 --takeover") == "build/iii serve --port 0 --takeover"
    assert last("fuzz fuzz_proto --merge 5") == "tools/fuzz.py fuzz_proto --merge 5"
    assert ["./dev", "need", "test-all"] in steps("test --all") and ["./dev", "need", "test-all"] not in steps("test")


def test_a_client_library_is_packed_without_building_the_server():
    assert ["./dev", "compile"] not in steps("dist --only wheel,npm") and ["./dev", "compile"] in steps("dist --only wheel,deb")


@pytest.mark.parametrize("line, why", [
    ("bench --quik", "unknown option --quik; did you mean --quick?"),
    ("bench --with_docker", "unknown option --with_docker; did you mean --with-docker?"),
    ("bench --pull --quick", "--quick does not go with --pull"),
    ("bench --mb 1", "--mb goes with --pull only"),
    ("test --onyl=unit", "unknown option --onyl; did you mean --only?"),
    ("test --only unti", "unknown stage 'unti'; did you mean unit?"),
    ("test --only unit -k x", "runs none; for one unit test: meson test -C build NAME"),
    ("dist --only whel", "unknown kind 'whel'; did you mean wheel?"),
    ("lint --tdy", "did you mean --tidy?"),
    ("setup biuld", "unknown group 'biuld'; did you mean build?"),
    ("fmt src", "unexpected argument 'src'"),
])
def test_wrong_options_are_named(line, why):
    code, out, err = dev(*line.split())
    assert (code, out) == (2, "") and why in err


def test_wrong_commands_are_named():
    code, out, err = dev("tets")
    assert (code, out) == (2, "") and "did you mean test?" in err


def test_groups_of_packages_are_those_of_the_script():
    named = set(re.findall(r"[\w-]+", " ".join(re.findall(r"case \$1 in ([^)]*)\)", (harness.ROOT / "dev").read_text()))))
    assert named == set(re.search(r"one of: (.*?)\(default", " ".join(dev("setup", "--help")[1].split()))[1].split())


def test_stages_run_side_by_side_and_are_reported_in_order(capsys):
    tally, both = run_tests.Tally(60), threading.Barrier(2, timeout=harness.DEADLINE_S)

    def stage(tally, name):
        both.wait()
        tally.add(name, f"case of {name}", "failed", "why")

    run_tests.lanes(tally, [("asan", stage, "asan")], [("unit", stage, "unit"), ("broken", lambda tally: 1 / 0)])
    tally.times.append((61.2, 7.9, "one more"))
    assert tally.report() == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("FAILED")] == ["FAILED: unit: case of unit", "FAILED: asan: case of asan", "FAILED: broken: broken"]
    assert lines[-2:] == ["     61      8   one more", "0 passed, 3 failed, 0 skipped"]


def test_clang_tidy_looks_at_what_differs_from_main(tmp_path, monkeypatch):
    """Committed on the branch, not committed, new: each counts; what main has is not looked at."""
    def git(*words):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@localhost", *words], cwd=tmp_path, check=True, capture_output=True)

    def write(name, text):
        (tmp_path / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "src" / name).write_text(text)

    def looked_at():
        return [p.name for p in lint.tidy_files(False)]

    monkeypatch.setattr(lint, "ROOT", tmp_path)
    git("init", "-q", "-b", "main")
    for number, names in enumerate((["same.c", "edited.c", "committed.c"], ["last.c"])):
        for name in names:
            write(name, "int a;\n")
        git("add", "."), git("commit", "-q", "-m", str(number))
    assert looked_at() == ["last.c"], "on main: the last commit"
    git("checkout", "-q", "-b", "work")
    write("committed.c", "int b;\n")
    git("commit", "-q", "-a", "-m", "branch")
    write("edited.c", "int b;\n"), write("room/new.c", "int b;\n"), write("new.h", "int b;\n")
    assert looked_at() == ["committed.c", "edited.c", "new.c"]
    assert "differ from main" in " ".join(dev("lint", "--help")[1].split())


def test_the_benchmark_names_a_row_that_it_does_not_have(tmp_path):
    subprocess.run(["ninja", "-C", harness.BINARY.parent, "bench/iii-bench"], check=True, capture_output=True, timeout=harness.DEADLINE_S * 4)
    for backend, only, unknown, known in (("native", "nothing_such", "nothing_such", "exec_true"), ("native", "create,exec_tru", "exec_tru", "neighbour_p99"),
                                          ("docker", "neighbour_p99", "neighbour_p99", "exec_true")):
        done = subprocess.run([harness.BINARY.parent / "bench" / "iii-bench", "--bin", "/nonexistent", "--backend", backend, "--only", only], cwd=tmp_path,
                              capture_output=True, text=True, check=False, timeout=harness.DEADLINE_S)
        assert (done.returncode, done.stdout) == (2, "") and list(tmp_path.iterdir()) == []
        assert f'there is no row "{unknown}"' in done.stderr and re.search(rf"rows: .*\b{known}\b", done.stderr), done.stderr
