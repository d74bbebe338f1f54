"""The clients that run the scenarios: how each driver program is made ready and started.

A driver that is not there yet in the tree is left out; one that is there but cannot be built fails its tests."""
import json
import os
import subprocess
import sys
import threading

import harness
import sdkkit

ANSWER_S = 60


class Driver:
    """One running driver program."""

    def __init__(self, name, argv, env):
        self.name = name
        self.proc = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **env})

    def ask(self, request):
        """The answer to one request. A driver that says nothing for a minute is ended, and so fails."""
        watchdog = threading.Timer(ANSWER_S, self.proc.kill)
        watchdog.start()
        try:
            self.proc.stdin.write(json.dumps(request).encode() + b"\n")
            self.proc.stdin.flush()
            line = self.proc.stdout.readline()
        finally:
            watchdog.cancel()
        assert line, f"the {self.name} driver ended with {self.proc.wait(5)} instead of answering {request}"
        answer = json.loads(line)
        assert ("ok" in answer) != ("error" in answer), f"{self.name}: {answer}"
        return answer

    def close(self):
        self.proc.stdin.close()
        try:
            self.proc.wait(20)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            self.proc.wait()
            raise AssertionError(f"the {self.name} driver does not end with its input") from None
        finally:
            self.proc.stdout.close()


def typescript():
    sdkkit.build_typescript()
    return ["node", str(sdkkit.ROOT / "sdk" / "typescript" / "contract" / "driver.mjs")]


def python():
    return [str(sdkkit.python_venv()), str(sdkkit.ROOT / "sdk" / "python" / "contract" / "driver.py")]


def rust():
    return [str(sdkkit.rust_build("contract"))]


def c():
    return [str(sdkkit.c_build() / "contract")]


def go():
    return [str(sdkkit.go_build("contract"))]


def cli():
    """The binary under test by the name that makes it this client."""
    place = sdkkit.CACHE / "bin"
    place.mkdir(parents=True, exist_ok=True)
    link = place / "iii-sandbox"
    if not link.exists() or link.resolve() != harness.BINARY:
        link.unlink(missing_ok=True)
        link.symlink_to(harness.BINARY)
    return [sys.executable, str(sdkkit.ROOT / "tests" / "contract" / "cli_driver.py"), str(link)]


# name → what makes the driver ready and gives its argument list. New clients are added here.
CLIENTS = {
    "typescript": typescript,
    "python": python,
    "rust": rust,
    "c": c,
    "go": go,
    "cli": cli,
}


def names():
    wanted = os.environ.get("III_CONTRACT_CLIENTS")
    chosen = wanted.split(",") if wanted else list(CLIENTS)
    unknown = [n for n in chosen if n not in CLIENTS]
    if unknown:
        sys.exit(f"III_CONTRACT_CLIENTS names {unknown[0]}; there are: {' '.join(CLIENTS)}")
    return chosen


def start(name, url, token):
    return Driver(name, CLIENTS[name](), {"III_URL": url, "III_TOKEN": token})
