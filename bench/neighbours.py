#!/usr/bin/env python3
"""What one sandbox does to its neighbour by taking all it can get of a kernel resource: a row for each resource of exhaust.py.

For each row, in one run: `true` in the well-behaved sandbox alone, then the same beside one that holds the resource, with a call now
and then that needs a little of that very resource. Prints how much was taken, p99 alone and beside, their ratio, and failures of the
neighbour's calls; writes build/bench-neighbours.json. Goal: no failure, and a ratio of at most 2 (3 on a kernel without preemption).

usage: bench/neighbours.py [--binary FILE] [--only NAME,NAME] [--calls N]"""
import argparse
import json
import os
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PARSER = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
PARSER.add_argument("--binary", default=str(ROOT / "build" / "iii"))
PARSER.add_argument("--only", help="these resources only")
PARSER.add_argument("--calls", type=int, default=200, help="commands of the neighbour in each half of a row")
DENIED = {"aio", "keys", "namespaces", "mounts"}  # nobody gets any, so nobody can need some
SCRIPT = ROOT / "bench" / "exhaust.py"
NEED_EVERY = 20


def armed(client, **fields):
    sid = client.create(pids=256, **fields)["id"]
    client.ok("POST", f"/sandboxes/{sid}/files/write", {"path": "exhaust.py", "content": SCRIPT.read_text()})
    return sid


def p99_ms(times):
    return sorted(times)[len(times) * 99 // 100] * 1000


def sample(client, sid, calls, need):
    """Times of `true`, and how many calls failed."""
    times, failed = [], 0
    for i in range(calls):
        if need and i % NEED_EVERY == 0:
            failed += client.exec(sid, ["python3", "exhaust.py", "--need", need])["exitCode"] != 0
        started = time.perf_counter()
        reply = client.post(f"/sandboxes/{sid}/exec", {"command": ["true"]})
        times.append(time.perf_counter() - started)
        failed += reply.status != 200 or reply.json()["exitCode"] != 0
    return times, failed


def held(client, sid, name):
    """What it took and why no more; None while it takes; "terminated" when the server ended it for that."""
    if client.get(f"/sandboxes/{sid}").status == 404:
        return "terminated"
    text = client.post(f"/sandboxes/{sid}/files/read", {"path": f"{name}.held"})
    return text.json().strip() if text.status == 200 else None


def row(harness, client, good, name, calls):
    quiet, failed = sample(client, good, calls, None)
    bad = armed(client, network=name == "flows")
    client.ok("POST", f"/sandboxes/{bad}/exec/background", {"command": ["python3", "exhaust.py", name]})
    taken = harness.wait_until(lambda: held(client, bad, name), f"all of {name} to be taken")
    noisy, more = sample(client, good, calls, None if name in DENIED or name == "flows" else name)
    client.delete(f"/sandboxes/{bad}")
    return {"row": name, "taken": taken, "quiet_p99_ms": p99_ms(quiet), "p99_ms": p99_ms(noisy), "ratio": p99_ms(noisy) / p99_ms(quiet), "failed": failed + more}


def main():
    args = PARSER.parse_args()
    os.environ["III_BIN"] = args.binary
    sys.path[:0] = [str(ROOT / "tests" / "blackbox"), str(ROOT / "bench")]
    import exhaust  # both look at the environment when they are loaded
    import harness
    names = args.only.split(",") if args.only else list(exhaust.RESOURCES)
    unknown = [n for n in names if n not in exhaust.RESOURCES]
    if unknown:
        PARSER.error(f"no such resource: {unknown[0]}; there are {', '.join(exhaust.RESOURCES)}")
    rows = []
    with harness.Server() as server, server.client() as client:
        good = armed(client)
        print(f"{'resource':16} {'alone p99':>10} {'beside p99':>10} {'ratio':>6} {'failed':>6}  taken")
        for name in names:
            rows.append(row(harness, client, good, name, args.calls))
            r = rows[-1]
            print(f"{name:16} {r['quiet_p99_ms']:7.2f} ms {r['p99_ms']:7.2f} ms {r['ratio']:6.2f} {r['failed']:6}  {r['taken']}", flush=True)
        client.delete(f"/sandboxes/{good}")
    (ROOT / "build" / "bench-neighbours.json").write_text(json.dumps({"rows": rows}, indent=1) + "\n")
    return any(r["failed"] for r in rows)


if __name__ == "__main__":
    sys.exit(main())
