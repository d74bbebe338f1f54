#!/usr/bin/env python3
"""The chaos test: clients do random things while the processes of the server are killed at random moments; then everything that was
acknowledged has to be there, and nothing else.

    tests/chaos/chaos.py --seconds 120 --seed 7 --binary build/iii

The same seed gives the same calls and the same kills, as far as the scheduling of threads and processes allows. When something is wrong
it prints what, the last calls of all threads, and the end of the server's log, and ends with 1."""
import argparse
import collections
import os
import pathlib
import random
import shutil
import sys
import tempfile
import threading
import time
import traceback

from chaosworld import Finding, World, harness
from chaosactor import Actor
import chaosaccount
import images

ACTORS = 4
SETTINGS = {"III_LOG_LEVEL": "warn", "III_MAX_SANDBOXES": "200", "III_IDEMPOTENCY_KEEP": "100000", "III_TTL_SWEEP": "*/2 * * * * *", "III_MAX_NETWORKS": "10000",
            "III_MAX_VOLUMES": "10000", "III_FN_MAX_SANDBOXES": "1000", "III_MAX_SNAPSHOTS": "10000", "III_TAKEOVER_GRACE_MS": "30000"}
KILLS = (("daemon", 30), ("launcher", 25), ("agent", 20), ("tool", 15), ("both", 5), ("twice", 5), ("burst", 3), ("nobody", 6), ("upgrading", 6))


class Reaper:
    """Kills at random moments, and starts again what does not start by itself."""

    def __init__(self, world):
        self.world, self.rng = world, random.Random(f"{world.seed}/reaper")

    def work(self, until):
        kinds, weights = zip(*KILLS)
        while time.monotonic() < until and not self.world.stop.is_set():
            time.sleep(self.rng.uniform(0.05, 1.5))
            kind = self.rng.choices(kinds, weights)[0]
            done = getattr(self, "kill_" + kind)()
            self.world.counts["killed " + kind] += done is not False

    def start(self):
        self.world.start()

    def kill_daemon(self):
        self.world.kill_daemon()
        if self.rng.random() < 0.3:
            self.kill_agent()
        time.sleep(self.rng.choice((0, 0, 0.05, 0.3)))
        self.start()

    def kill_launcher(self):
        return self.world.kill_launcher()

    def kill_burst(self):
        """More often in a row than a launcher that cannot start would end."""
        for _ in range(8):
            self.world.kill_launcher()
            time.sleep(self.rng.uniform(0.02, 0.4))

    def kill_both(self):
        pid = self.world.launcher_pid()
        self.world.kill_daemon()
        if pid:
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass
        self.start()

    def kill_twice(self):
        """Again while it recovers."""
        self.world.kill_daemon()
        for _ in range(self.rng.choice((1, 2))):
            old = self.world.server.proc
            starting = threading.Thread(target=self.try_start)
            starting.start()
            harness.wait_until(lambda: self.world.server.proc is not old, "the server's process")
            time.sleep(self.rng.random() * 0.12)
            self.world.note("SIGKILL daemon that starts")
            self.world.server.proc.kill()
            starting.join()
        self.start()

    def kill_nobody(self):
        """An upgrade instead."""
        self.world.upgrade()

    def kill_upgrading(self):
        self.world.upgrade_and_kill(self.rng.choice(("old", "new")), self.rng.random() * 0.4)

    def try_start(self):
        try:
            self.world.server.start()
        except AssertionError as error:
            if "ended with -9" not in str(error):
                self.world.findings.append(str(error))

    def kill_agent(self):
        agents = self.world.agents()
        return self.world.kill_agent(self.rng.choice(agents)) if agents else False

    def kill_tool(self):
        running = list(self.world.tools)
        if not running:
            return False
        time.sleep(self.rng.random() * 0.02)
        self.world.note(f"SIGKILL tool {running[0].pid}")
        running[0].kill()
        return True


def guarded(world, fn, *args):
    """A thread's body: whatever it meets that it does not know is a finding."""
    try:
        fn(*args)
    except Finding:
        pass
    except BaseException:  # the run must end with its account, whatever a thread meets
        world.findings.append(traceback.format_exc())
    finally:
        if world.findings:
            world.stop.set()
            world.up.set()


def spawn(world, bodies):
    threads = [threading.Thread(target=guarded, args=(world, *body), name=name, daemon=True) for name, body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def play(world, seconds, scratch):
    world.program = images.program(scratch)
    world.start()
    actors = [Actor(world, number, scratch) for number in range(ACTORS)]
    until = time.monotonic() + seconds
    spawn(world, [("reaper", (Reaper(world).work, until))] + [(f"actor{a.number}", (a.work, until)) for a in actors])
    if not world.findings:
        guarded(world, chaosaccount.full, world, actors)
    stop(world)
    if not world.findings:
        guarded(world, chaosaccount.check_disk, world)


def stop(world):
    """A clean stop is part of it: exit code 0, and nothing said by a sanitizer."""
    try:
        if world.server.proc.poll() is not None and not world.findings:
            world.findings.append(f"the server ended by itself with {world.server.proc.returncode}")
        world.held.look(world.server.pid)
        world.server.stop()
    except AssertionError as error:
        world.findings.append(str(error))


def report(world, seconds):
    counts = collections.OrderedDict(sorted(world.counts.items()))
    print(f"chaos: {seconds:.0f} s, seed {world.seed}: " + ", ".join(f"{v} {k}" for k, v in counts.items()))
    if not world.findings:
        print("chaos: everything acknowledged is there, nothing is left")
        return 0
    print("--- the last calls\n" + "\n".join(world.story))
    log = world.server.log_path.read_text(errors="replace") if world.server.log_path.exists() else ""
    print("--- the end of the server's log\n" + "\n".join(log.splitlines()[-60:]))
    print("--- found\n" + "\n".join(world.findings))
    return 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--binary", default=str(harness.BINARY))
    parser.add_argument("--keep", action="store_true", help="leave the data folder and the log when something was found")
    args = parser.parse_args()
    world = World(pathlib.Path(args.binary).resolve(), args.seed, SETTINGS)
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="iii-chaos-"))
    try:
        play(world, args.seconds, scratch)
        return report(world, time.monotonic() - world.began)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        if not (args.keep and world.findings):
            world.server.remove()
        else:
            print(f"kept: {world.server.home}")


if __name__ == "__main__":
    sys.exit(main())
