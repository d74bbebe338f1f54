#!/usr/bin/env python3
"""Everything that must hold: lint, unit tests, black-box tests, SDKs, other engines; unit tests and a core of the rest again with sanitizers.

Stages wait for deadlines, engines and boots of VMs, so two lanes of them run side by side, and compilers fill what both leave (Beside).
What measures or fills the whole host runs between the lanes, alone. Order of work, see stages():
  1. lint, blackbox, sdk    beside  unit, docker, engines, qemu
  2. ALONE and the cycles
  3. asan                   beside  chaos
The report is in the order of STAGES, whatever ended first.

The last line is always `N passed, N failed, N skipped`; before it are each failure and each skip with its reason, and the seconds of each
stage. A stage that cannot run, crashes or takes too long counts as one failure, with the end of its output."""
import collections
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ET

import devargs

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLACKBOX = (ROOT / "tests" / "blackbox", ROOT / "tests" / "escape")
CONTRACT = ROOT / "tests" / "contract"
BUILD, ASAN = ROOT / "build", ROOT / "build" / "asan"
ASAN_OPTIONS = ["-Db_sanitize=address,undefined", "-Db_lundef=false", "-Dwerror=true"]
# The black-box files that are about sandboxes run on a Docker engine, too. Tests that need what the backend declares missing skip themselves.
DOCKER = ("background", "content", "content_formats", "diskwatch", "durable", "egress", "env", "events", "exec", "exec_stream", "files", "fn_exec",
          "fn_life", "fn_restart", "fork", "git", "image_names", "install", "interpreter", "lifecycle", "limits", "netrate", "networks", "pool",
          "ports", "processes", "prometheus", "proxy", "proxy_websocket", "pull", "restart", "routes", "snapshots", "stop", "stream_logs",
          "templates", "terminal", "traces", "ttl", "upgrade", "validation", "volumes", "wake", "workers")
BLACKBOX_ALL = ("test_content_large.py", "test_docker_fallback.py", "test_escape_floods.py", "test_escape_monitor.py", "test_fc_network.py", "test_mute_agent.py",
                "test_preview_large.py", "test_ssh_large.py")  # with --all: they wait for deadlines of their own
DOCKER_ALL = ("alerts", "audit", "contexts", "engine_calls", "fn_files", "fn_text", "idempotency", "iii_cli", "leak", "mute_agent", "otlp", "queue", "stream_metrics", "tenants", "tokens")  # with --all: they add little
# On the QEMU backend every case runs a virtual machine, mostly by emulation: these cases of these files (none named: all), the rest with --all.
QEMU = {
    "background": ("it_runs_and_ends", "it_outlives_its_connection_and_can_be_killed", "it_goes_with_its_sandbox"),
    "env": (),
    "content": ("a_body_in_chunks", "a_range_far_inside_a_sparse_file", "a_write_under_a_condition", "a_folder_as_tar_and_back"),
    "content_formats": ("an_archive_that_others_made", "a_form_writes_its_files"),
    "exec": ("output_and_exit_code", "cwd", "python_runs", "timeout_kills_the_whole_tree", "a_client_that_leaves_ends_its_command", "long_arguments"),
    "exec_stream": ("output_then_exit", "events_come_while_the_command_runs", "deleting_the_sandbox_ends_the_stream"),
    "files": ("write_replaces_and_has_its_mode_and_owner", "bytes_that_are_no_text", "info", "move_is_in_order_and_stops_at_the_first_failure",
              "a_link_out_stays_inside_the_sandbox"),
    "fork": ("clone_is_a_fork_of_one",),
    "install": ("what_pip_installed_can_be_imported", "what_npm_installed_can_be_required[npm i -g]"),
    "lifecycle": ("create_answers_with_the_whole_record", "pause_and_resume", "delete_is_for_good", "a_fork_bomb_hits_only_its_own_sandbox"),
    "ports": ("half_close_is_kept_and_many_connections_do_not_mix", "kill_closes_the_listener"),
    "preset_images": ("worker_add_brings_the_presets_image",),
    "processes": (),
    "proxy": ("a_request_in_an_envelope", "events_arrive_while_the_answer_is_running"),
    "restart": ("a_sandbox_that_died_with_its_daemon_is_stopped",),
    "snapshots": ("a_removed_file_comes_back",),
    "stop": ("files_and_settings_stay", "reboot"),
    "terminal": ("a_shell_over_the_duplex_socket", "keys_are_signals"),
    "ttl": ("the_sweep_removes_what_has_expired",),
    "vm_death": ("machines_outlive_a_daemon_that_is_killed",),
    "escape_vm": ("where_a_monitor_runs",),
    "vm_network": ("one_network_and_one_way_out",),
    "vm_memory": ("forks_of_a_snapshot_go_on_from_the_same_number",),
    "vm_presets": (),
}
ABOUT_MACHINES = ("test_escape_vm.py", "test_vm_death.py", "test_vm_disk.py", "test_vm_guest.py", "test_vm_memory.py", "test_vm_network.py", "test_vm_presets.py", "test_vm_sleep.py", "test_vm_volumes.py")  # these mean nothing without one
# With --all every file runs on machines, but for these.
NOT_ON_MACHINES = {
    "docker*": "about a Docker engine",
    "content_large": "four GiB through an emulated disk",
    "config_reload": "about the server and a file, of which no backend knows",
    "escape_monitor fc_network firecracker jailer vm_setup vmm_protocol": "bring monitors of their own",
    "courtesy launcher_death old_kernel privilege": "about processes and control groups of the native backend; those of machines are in vm_death and escape_vm",
    "preview_apps preview_large": "about a browser and programs of this host",
    "scale": "a thousand machines are a thousand kernels",
    "dev dist docs readme": "about commands, packages and pages, with the default backend",
    "iii_sdk mcp_sdk schemathesis": "clients of the same interface: they ask nothing new of a backend",
}
# With --all these run once more with QEMU behind Firecracker's API (tests/vmm/fcqemu.py): every machine is booted, none can be saved.
FIRECRACKER = {
    "content_formats": ("an_archive_that_others_made", "a_form_writes_its_files"),
    "exec": ("output_and_exit_code", "timeout_kills_the_whole_tree", "long_arguments"),
    "netrate": ("between_sandboxes",),
    "networks": ("members_reach_each_other_and_nothing_else", "two_networks_are_apart", "connected_again_after_a_crash_of_the_server"),
    "ports": ("megabytes_both_ways",),
    "vm_network": ("one_network_and_one_way_out", "as_many_networks_as_interfaces", "a_network_of_a_machine_that_stands_still"),
    "vm_presets": ("the_command_of_the_documents",),
}
# A core of the files on engines and runtimes that are not Docker's own (tests/blackbox/otherengines.py).
ENGINES = {"runsc": ("exec", "env", "exec_stream", "files"), "podman": ("lifecycle", "exec", "fork", "files")}
STAGES = ("lint", "unit", "blackbox", "sdk", "rootless", "docker", "engines", "qemu", "asan")
TOTAL_S, ALL_S = 3600, 9000  # hard stops, not goals: a quiet machine of two cores takes less than 20 minutes, with --all less than 2 hours
# Seconds one step may take on two cores. The sum is above the total: a step ends at whichever comes first.
LIMIT_S = {"lint": 300, "build": 900, "unit": 600, "blackbox": 1800, "alone": 600, "tidy": 600, "packages": 3000, "machines": 3600}
# These start many sandboxes or a browser, count what the whole machine holds, or kill servers: they run after the others, one at a time.
ALONE = ("test_scale.py", "test_restart.py", "test_leak.py", "test_readme.py", "test_console.py", "test_console_screens.py", "test_console_large.py", "test_preview_apps.py", "test_preview_large.py")
# These wait for clocks and for other programs, or count what the kernel does: a sanitizer sees nothing new in them.
NOT_SANITIZED = ("test_clocks.py", "test_dev.py", "test_dist.py", "test_docker*.py", "test_docs.py", "test_escape_monitor.py", "test_fc_network.py", "test_firecracker.py", "test_iii_sdk.py", "test_jailer.py", "test_mcp_sdk.py", "test_netrate.py", "test_readme.py", "test_scale.py", "test_vmm_protocol.py")
# The black-box files that run again with sanitizers, with the chaos test; --all adds the others. Together they go every way through the server's own code.
SANITIZED = ("background", "content_formats", "durable", "engine_calls", "engine_wire", "env", "events", "exec", "exec_stream", "files", "fn_exec", "fork", "http", "lifecycle", "mcp",
             "networks", "pool", "processes", "proxy", "routes", "snapshots", "terminal", "volumes")
CYCLES, CHAOS = (ROOT / "tests" / "chaos" / name for name in ("test_cycles.py", "test_chaos.py"))
RERUN_MAX = 12
STUCK_S = 300  # a test that runs for longer shows where it is, for the report of a step that reaches its limit
WORKERS, SIDE_WORKERS = 4, 2  # test files at the same time, in the first lane and in the one beside it
# These take longest and begin first, so that the others fill the end.
LONG = ("iii_sdk", "mcp_sdk", "schemathesis", "docs", "docker_outage", "docker_engine", "docker", "contract", "rust", "go", "sdk_tls", "networks", "snapshots", "lifecycle", "fn_exec", "restart",
        "leak", "contexts", "damaged_state", "faults")
SANITIZER_ENV = {
    "ASAN_OPTIONS": "abort_on_error=0:detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=0",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "III_SANITIZED": "1",
}

Case = collections.namedtuple("Case", "stage name outcome reason node", defaults=("", None))


class Tally:
    """Every case that ran, and the time that is left for the rest."""

    def __init__(self, total_s):
        self.cases, self.times, self.unsettled = [], [], []
        self.started, self.total_s = time.monotonic(), total_s

    def left_s(self):
        return self.total_s - (time.monotonic() - self.started)

    def add(self, stage, name, outcome, reason="", node=None):
        self.cases.append(Case(stage, name, outcome, reason, node))

    def count(self, outcome, stage=None):
        return sum(c.outcome == outcome and stage in (None, c.stage) for c in self.cases)

    @contextlib.contextmanager
    def timed(self, what):
        began = time.monotonic()
        try:
            yield
        finally:
            self.times.append((began - self.started, time.monotonic() - began, what))

    def report(self):
        order = {stage: number for number, stage in enumerate(("build", *STAGES, "packages"))}
        self.cases.sort(key=lambda c: order.get(c.stage.split("-")[0], len(order)))  # stages that ran side by side, always in the same order
        for c in self.cases:
            if c.outcome == "unsteady":
                print(f"unsteady: {c.stage}: {c.name}\n{indent(c.reason[-3000:])}")
        for (name, reason), stages in group(self.cases, "skipped").items():
            print(f"skipped: {', '.join(stages)}: {name}: {reason}")
        for (name, reason), stages in group(self.cases, "failed").items():
            print(f"FAILED: {', '.join(stages)}: {name}\n{indent(reason)}")
        print("  begin   took   (seconds; stages overlap)")
        for began, took, what in sorted(self.times):
            if took >= 1:
                print(f"{began:7.0f}{took:7.0f}   {what}")
        passed = self.count("passed") + self.count("unsteady")
        failed = self.count("failed")
        print(f"{passed} passed, {failed} failed, {self.count('skipped')} skipped", flush=True)
        return 1 if failed or passed == 0 else 0


def group(cases, outcome):
    found = {}
    for c in cases:
        if c.outcome == outcome:
            found.setdefault((c.name, c.reason), []).append(c.stage)
    return found


def first_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[0].strip() if lines else "no reason given"


def indent(text):
    return "\n".join("    " + line for line in text.splitlines()[-40:])


def tail(text, lines=40):
    return "\n".join(text.splitlines()[-lines:])


STARTED = time.monotonic()


def say(text):
    print(f"== {text} (after {time.monotonic() - STARTED:.0f} s)", flush=True)


RUNNING = set()


def run(argv, limit_s, env=None, cwd=ROOT):
    """Runs argv in a process group of its own. Returns (exit code or None on timeout, output)."""
    proc = subprocess.Popen(argv, cwd=cwd, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    RUNNING.add(proc)
    try:
        out, _ = proc.communicate(timeout=max(limit_s, 1))
        return proc.returncode, out.decode(errors="replace")
    except subprocess.TimeoutExpired:
        out = stop_group(proc)
        return None, out.decode(errors="replace") + f"\nstopped after {int(limit_s)} s: this is the limit of the step\n"
    finally:
        RUNNING.discard(proc)


def stop_group(proc):
    for sig, wait_s in ((signal.SIGTERM, 15), (signal.SIGKILL, 15)):
        try:
            os.killpg(proc.pid, sig)
        except ProcessLookupError:
            pass
        try:
            return proc.communicate(timeout=wait_s)[0]
        except subprocess.TimeoutExpired:
            continue
    return b""


def step(tally, stage, name, argv, limit, env=None):
    """A step that passes or fails as a whole. True when it passed (which is not counted)."""
    limit_s = min(LIMIT_S[limit], tally.left_s())
    if limit_s <= 0:
        tally.add(stage, name, "failed", f"not run: the {tally.total_s} s for the whole run are used up")
        return False
    code, out = run(argv, limit_s, env)
    if code == 0:
        return True
    tally.add(stage, name, "failed", tail(out) or f"exit code {code}")
    return False


def build_argvs(folder, options):
    return ["./dev", "configure", str(folder.relative_to(ROOT)), *options], ["ninja", "-C", str(folder), "all", "meson-test-prereq"]


def build(tally):
    say("build")
    with tally.timed("build"):
        return all(step(tally, "build", "build", argv, "build") for argv in build_argvs(BUILD, []))


def lint(tally):
    say("lint")
    code, out = run([sys.executable, "tools/lint.py"], min(LIMIT_S["lint"], tally.left_s()))
    lint_results(tally, code, out)


def lint_results(tally, code, out):
    results = re.findall(r"^(ok|not ok|skip) lint (\S+)(?: # (.*))?$", out, re.M)
    for word, name, reason in results:
        outcome = {"ok": "passed", "not ok": "failed", "skip": "skipped"}[word]
        tally.add("lint", name, outcome, reason if outcome == "skipped" else complaint(out, name))
    if code is None or not results or (code != 0 and not any(r[0] == "not ok" for r in results)):
        tally.add("lint", "lint", "failed", tail(out) or f"exit code {code}")


class Step:
    """Commands that follow each other as long as they succeed, done by Beside."""

    def __init__(self, argvs):
        self.argvs, self.code, self.out, self.done = argvs, None, "", threading.Event()

    def wait(self, limit_s):
        """Exit code and output; None when it was not done in time."""
        return (self.code, self.out) if self.done.wait(max(limit_s, 1)) else (None, "not done in time\n")


class Beside:
    """Minutes of work for compilers, one step after the other beside the stages, which mostly wait, and at the lowest priority."""

    def __init__(self):
        self.steps, self.proc = [], None
        self.thread = threading.Thread(target=self.work, daemon=True)

    def add(self, *argvs):
        self.steps.append(Step(argvs))
        return self.steps[-1]

    def work(self):
        for one in self.steps:
            for argv in one.argvs:
                self.proc = subprocess.Popen(["nice", "-n", "19", *argv], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                             stderr=subprocess.STDOUT, start_new_session=True)
                one.out += self.proc.communicate()[0].decode(errors="replace")
                one.code = self.proc.returncode
                if one.code != 0:
                    break
            one.done.set()

    def stop(self):
        """What is still at work now is not wanted any more."""
        self.steps.clear()
        for sig in (signal.SIGTERM, signal.SIGKILL):
            if self.proc and self.thread.is_alive():
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self.proc.pid, sig)
                self.thread.join(15)


def tidy_results(tally, tidy):
    say("lint: clang-tidy, begun with the first stage")
    code, out = tidy.wait(min(LIMIT_S["tidy"], tally.left_s()))
    lint_results(tally, code, out)


def complaint(out, name):
    found = re.search(rf"^-- {re.escape(name)}\n(.*?)(?=^-- |^(?:not )?ok lint )", out, re.M | re.S)
    return tail(found[1]) if found else ""


def unit(tally, stage, folder, env=None):
    say(f"{stage}: unit tests")
    log = folder / "meson-logs" / "testlog.json"
    log.unlink(missing_ok=True)
    code, out = run(["meson", "test", "-C", str(folder), "--suite", "unit", "--no-stdsplit"],
                    min(LIMIT_S["unit"], tally.left_s()), env)
    failed_before = tally.count("failed", stage)
    programs = 0
    if log.exists():
        for line in log.read_text(errors="replace").splitlines():
            programs += 1
            unit_program(tally, stage, json.loads(line))
    if code != 0 and tally.count("failed", stage) == failed_before:
        tally.add(stage, "unit", "failed", tail(out) or f"exit code {code}")
    elif programs == 0:
        tally.add(stage, "unit", "failed", "no unit test was found\n" + tail(out))


def unit_program(tally, stage, record):
    """Counts the TAP lines of one test program; a program that died or never planned is a failure of its own."""
    name = record["name"].split(" / ")[-1].split(":")[-1].strip()
    text = record.get("stdout", "") + record.get("stderr", "")
    notes, failures = [], 0
    for line in text.splitlines():
        found = re.match(r"(not )?ok \d+(?: -)? ?([^#]*?)\s*(?:# SKIP\s*(.*))?$", line)
        if not found:
            notes.append(line)
            continue
        case = f"{name}: {found[2] or 'case'}"
        if found[3] is not None:
            tally.add(stage, case, "skipped", found[3] or "no reason given")
        elif found[1]:
            failures += 1
            tally.add(stage, case, "failed", "\n".join(notes[-20:]))
        else:
            tally.add(stage, case, "passed")
        notes = []
    if record.get("result") not in ("OK", "SKIP", "EXPECTEDFAIL") and failures == 0:
        tally.add(stage, name, "failed", f"{record.get('result')}, exit code {record.get('returncode')}\n" + tail(text))


def pytest_argv(files, xml, expr, workers, env):
    argv = [*(as_user(env["III_TEST_PYTHON"]) if "III_TEST_PYTHON" in env else [sys.executable]), "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", f"--junitxml={xml}", "-o",
            "junit_family=xunit1"]
    argv += ["-o", f"faulthandler_timeout={STUCK_S}"]
    if workers > 1:
        argv += ["-n", str(workers), "--dist", "loadfile"]
    if expr:
        argv += ["-k", expr]
    return argv + [str(f) for f in files]


def read_junit(xml):
    """[(name, node id, outcome, reason)] of a junit file; None when it is missing or broken."""
    try:
        tree = ET.parse(xml)
    except (OSError, ET.ParseError):
        return None
    cases = []
    for case in tree.iter("testcase"):
        stem = case.get("classname", "").split(".")[-1] or "pytest"
        node = f"{case.get('file') or f'tests/blackbox/{stem}.py'}::{case.get('name')}"
        outcome, reason = "passed", ""
        for kind, word in (("failure", "failed"), ("error", "failed"), ("skipped", "skipped")):
            found = case.find(kind)
            if found is not None:
                outcome = word
                reason = found.get("message", "") if word == "skipped" else (found.text or found.get("message", ""))
        cases.append((f"{stem}::{case.get('name')}", node, outcome, reason.strip()))
    return cases


def pytest_run(tally, stage, files, env, expr, workers, limit=None):
    xml = pathlib.Path(env.get("III_TEST_HOME", BUILD)) / f"{stage}-{'parallel' if workers > 1 else pathlib.Path(str(files[0])).stem}.xml"
    xml.unlink(missing_ok=True)
    files = sorted(files, key=lambda f: re.sub(r".*/test_|\.py.*", "", str(f)) not in LONG)
    limit_s = min(LIMIT_S[limit or ("blackbox" if workers > 1 else "alone")], tally.left_s())
    if limit_s <= 0:
        tally.add(stage, "black-box tests", "failed", f"not run: the {tally.total_s} s for the whole run are used up")
        return []
    code, out = run(pytest_argv(files, xml, expr, workers, env), limit_s, env)
    if code == 5:
        return []
    cases = read_junit(xml)
    if cases is None or code not in (0, 1):
        tally.add(stage, "black-box tests", "failed", f"pytest ended with {code}\n{tail(out)}\n{stuck(out)}")
        return cases or []
    return cases


def stuck(out):
    """Where tests were that took longer than STUCK_S."""
    found = re.findall(rf'File "{re.escape(str(ROOT))}/(tests/\S+)", line (\d+) in (\w+)', out)
    return "\n".join(f"stuck at {path}:{line} in {name}()" for path, line, name in dict.fromkeys(found))


def environment(binary, **more):
    return {"III_BIN": str(binary), "PYTHONDONTWRITEBYTECODE": "1", **more}


def settle(tally, stage, cases, env):
    """Counts the cases. Those that failed run once more, alone, when both lanes are through: see settle_now()."""
    tally.unsettled.append((stage, cases, env))


def settle_now(tally, stage, cases, env):
    """Who failed and passes alone is unsteady, which is said but fails nothing."""
    failing = [c for c in cases if c[2] == "failed"]
    steady = {node: passes_alone(tally, stage, node, env) for _, node, _, _ in failing} if len(failing) <= RERUN_MAX else {}
    for name, node, outcome, reason in cases:
        tally.add(stage, name, "unsteady" if outcome == "failed" and steady.get(node) else outcome, reason, node)


def blackbox(tally, what, stage, env, expr, files, workers=WORKERS):
    say(what)
    settle(tally, stage, pytest_run(tally, stage, files, env, expr, workers), env)


def blackbox_files(is_all):
    """(those that run side by side, those that have the host for themselves)"""
    files = sorted(f for folder in BLACKBOX for f in folder.glob("test_*.py"))
    files = [f for f in files if f.name not in ABOUT_MACHINES and (is_all or f.name not in BLACKBOX_ALL)]
    return [f for f in files if f.name not in ALONE], [*(f for f in files if f.name in ALONE), CYCLES]


def sanitized_files(is_all):
    beside, alone = blackbox_files(True) if is_all else ([BLACKBOX[0] / f"test_{stem}.py" for stem in SANITIZED], [])
    return tuple([f for f in files if not any(f.match(pattern) for pattern in NOT_SANITIZED)] for files in (beside, [*alone, CHAOS]))


def sdk(tally, binary, expr):
    """The SDKs: contract scenarios through every client, each SDK's own tests, examples. Not again under sanitizers: the server sees nothing new."""
    say("sdk: contract scenarios, tests of the SDKs")
    env = environment(binary)
    settle(tally, "sdk", pytest_run(tally, "sdk", sorted(CONTRACT.glob("test_*.py")), env, expr, WORKERS), env)


def on_engine(tally, stage, stems, env, expr):
    blackbox(tally, f"{stage}: black-box tests", stage, env, expr, [BLACKBOX[0] / f"test_{stem}.py" for stem in stems], SIDE_WORKERS)


def docker(tally, binary, expr, stems):
    """The same files against a Docker engine. What is about the engine alone (test_docker*.py) is in blackbox."""
    if not shutil.which("dockerd") or os.geteuid() != 0:
        tally.add("docker", "black-box tests on a Docker engine", "skipped", "needs dockerd and root")
        return
    on_engine(tally, "docker", stems, environment(binary, III_TEST_BACKEND="docker"), expr)


USER = "daemon"  # not nobody, as servers in other stages: what the kernel counts by user is the stage's own


def as_user(*argv):
    return ["setpriv", "--reuid", USER, "--regid", USER, "--clear-groups", *argv]


def rootless(tally, binary, expr):
    """The attacks again: tests, commands and servers of an ordinary user. What such a server cannot do skips itself."""
    what = "tests/escape as an ordinary user"
    if os.geteuid() != 0:
        tally.add("rootless", what, "skipped", "the black-box tests run as one already")
        return
    pythons = [p for p in (sys.executable, "/usr/bin/python3") if subprocess.run(as_user(p, "-c", "import pytest, xdist"), capture_output=True, cwd="/").returncode == 0]
    if not pythons or subprocess.run(as_user("test", "-x", str(binary), "-a", "-r", __file__), capture_output=True, cwd="/").returncode != 0:
        tally.add("rootless", what, "skipped", f"the user {USER} cannot run pytest, or cannot read {ROOT}")
        return
    with tempfile.TemporaryDirectory(prefix="iii-r-") as home:
        shutil.chown(home, USER, USER)
        env = environment(binary, III_TEST_PYTHON=pythons[0], III_TEST_HOME=home, HOME=home)
        files = [f for f in BLACKBOX[1].glob("test_*.py") if f.name not in (*ABOUT_MACHINES, *BLACKBOX_ALL)]
        say(f"rootless: {what}")
        cases = pytest_run(tally, "rootless", files, env, expr, SIDE_WORKERS)
        settle_now(tally, "rootless", cases, env)


def engines(tally, binary, expr):
    """A core of the same files in gVisor and on Podman's socket."""
    sys.path.insert(0, str(BLACKBOX[0]))
    import otherengines  # here: only this stage needs it
    for name, stems in ENGINES.items():
        why = otherengines.KINDS[name].lacks()
        if why:
            tally.add("engines", f"black-box tests on {name}", "skipped", why)
            continue
        on_engine(tally, f"engines-{name}", stems, environment(binary, III_TEST_BACKEND="docker", III_TEST_ENGINE=name), expr)


def qemu_file(stem):
    return f"{BLACKBOX[stem.startswith('escape')]}/test_{stem}.py"


def qemu_cases(is_all):
    """Files, and of some only cases by name."""
    if is_all:
        others = [pattern for patterns in NOT_ON_MACHINES for pattern in patterns.split()]
        files = sorted(f for folder in BLACKBOX for f in folder.glob("test_*.py"))
        return [f for f in files if not any(f.match(f"test_{pattern}.py") for pattern in others)]
    return machine_cases(QEMU)


def machine_cases(table):
    return [qemu_file(stem) + (f"::test_{name}" if name else "") for stem, names in table.items() for name in names or ("",)]


def qemu(tally, binary, expr, is_all):
    """The same files with a virtual machine for every sandbox."""
    sys.path.insert(0, str(BLACKBOX[0]))
    import qemukit  # here: only this stage needs it
    why = qemukit.lacks()
    if why:
        tally.add("qemu", "black-box tests on virtual machines", "skipped", why)
        return
    say("qemu: black-box tests")
    env = environment(binary, III_TEST_BACKEND="qemu")
    settle(tally, "qemu", pytest_run(tally, "qemu", qemu_cases(is_all), env, expr, 2, "machines" if is_all else "blackbox"), env)
    if is_all:
        say("qemu: behind Firecracker's API")
        env = environment(binary, III_TEST_BACKEND="firecracker")
        settle(tally, "firecracker", pytest_run(tally, "firecracker", machine_cases(FIRECRACKER), env, expr, 2, "blackbox"), env)


def packages(tally, binary, expr):
    """What takes minutes and much of the network: only with --all."""
    say("packages: a fresh Debian, archives of the client libraries")
    env = environment(binary)
    settle(tally, "packages", pytest_run(tally, "packages", sorted((ROOT / "tests" / "packages").glob("test_*.py")), env, expr, 1, "packages"), env)


def passes_alone(tally, stage, node, env):
    xml = pathlib.Path(env.get("III_TEST_HOME", BUILD)) / f"{stage}-rerun.xml"
    xml.unlink(missing_ok=True)
    limit_s = 480 if env.get("III_TEST_BACKEND") in ("qemu", "firecracker") else 120
    code, _ = run(pytest_argv([node], xml, None, 1, env), min(limit_s, max(tally.left_s(), 1)), env)
    cases = read_junit(xml)
    return code == 0 and bool(cases) and all(c[2] == "passed" for c in cases)


def asan(tally, built, expr, only_blackbox, is_all):
    say("asan: the build, begun with the first stage")
    code, out = built.wait(min(LIMIT_S["build"], tally.left_s()))
    if code != 0:
        tally.add("asan", "build", "failed", tail(out) or f"exit code {code}")
        return
    if not only_blackbox:
        unit(tally, "asan", ASAN, SANITIZER_ENV)
    env = environment(ASAN / "iii", **SANITIZER_ENV)
    beside, alone = sanitized_files(is_all)
    blackbox(tally, "asan: black-box tests", "asan", env, expr, beside)
    blackbox(tally, "asan: one at a time", "asan", env, expr, alone, 1)


def guarded(tally, what, fn, *args):
    try:
        with tally.timed(what):
            fn(tally, *args)
    except Exception as error:  # the run must end with its count whatever a stage meets
        tally.add(re.match(r"\w+", what)[0], what, "failed", f"{type(error).__name__}: {error}")


def lanes(tally, first, second):
    """Two lists of (what, function, arguments), side by side; each in its order."""
    beside = threading.Thread(target=lambda: [guarded(tally, *one) for one in second], daemon=True)
    beside.start()
    for one in first:
        guarded(tally, *one)
    beside.join()
    while tally.unsettled:
        stage, cases, env = tally.unsettled.pop(0)
        guarded(tally, f"{stage}, failed ones again", settle_now, stage, cases, env)


def stages(tally, beside, wanted, args):
    built = build(tally)
    if "sdk" in wanted:
        beside.add([sys.executable, str(CONTRACT / "sdkkit.py")])
    if "blackbox" in wanted:
        beside.add([sys.executable, str(BLACKBOX[0] / "publishedkit.py")])
    sanitized = beside.add(*build_argvs(ASAN, ASAN_OPTIONS)) if "asan" in wanted else None
    tidy = beside.add([sys.executable, "tools/lint.py", "--only", "tidy", "--all", *([] if args.all else ["--light"])]) if "lint" in wanted and built else None
    beside.thread.start()
    iii, env, expr = BUILD / "iii", environment(BUILD / "iii"), args.k
    parallel, alone = blackbox_files(args.all)

    def chosen(*rows):
        return [row for row in rows if re.match(r"\w+", row[0])[0] in wanted and (built or row[1] in (lint, asan)) and not (row[1] is unit and expr)]

    lanes(tally, chosen(("lint", lint), ("blackbox", blackbox, "blackbox: black-box tests", "blackbox", env, expr, parallel), ("sdk", sdk, iii, expr)),
          chosen(("unit", unit, "unit", BUILD), ("rootless", rootless, iii, expr), ("docker", docker, iii, expr, DOCKER + (DOCKER_ALL if args.all else ())), ("engines", engines, iii, expr),
                 ("qemu", qemu, iii, expr, args.all), ("packages", packages, iii, expr)))
    lanes(tally, chosen(("blackbox, one at a time", blackbox, "blackbox: one at a time", "blackbox", env, expr, alone, 1)), [])
    lanes(tally, chosen(("asan", asan, sanitized, expr, bool(expr), args.all)),
          chosen(("blackbox, chaos", blackbox, "blackbox: chaos", "blackbox", env, expr, [CHAOS], 1)))
    if tidy:
        guarded(tally, "lint, clang-tidy", tidy_results, tidy)


def parser():
    found = devargs.Parser("test", "Run everything that must hold. The last line is the count: N passed, N failed, N skipped.", "./dev test",
                           "./dev test --only lint,unit", "./dev test --only blackbox -k 'pause or resume'", "./dev test --all                # nearly two hours")
    found.add_list("--only", (*STAGES, "packages"), "stage", help="default: all but packages", default=list(STAGES))
    found.add_argument("--all", action="store_true", help="also what takes minutes: packages in a fresh Debian, more files on a Docker engine and with sanitizers")
    found.add_argument("-k", metavar="EXPR", help="only the black-box tests that match, no unit tests (pytest's -k)")
    return found


def main():
    args = parser().parse_args()
    wanted = args.only + ["packages"] * args.all
    if args.k and set(wanted) <= {"lint", "unit"}:
        parser().error(f"-k picks black-box tests, and --only {','.join(wanted)} runs none; for one unit test: meson test -C build NAME")
    tally = Tally(ALL_S if args.all else TOTAL_S)
    BUILD.mkdir(exist_ok=True)
    beside = Beside()
    try:
        stages(tally, beside, wanted, args)
    finally:
        beside.stop()
        for proc in list(RUNNING):  # of a run that was interrupted
            stop_group(proc)
    print(f"took {int(time.monotonic() - tally.started)} s", flush=True)
    return tally.report()


if __name__ == "__main__":
    sys.exit(main())
