"""The same thing over and over: nothing may add up. III_CYCLES_CREATE and III_CYCLES_PAUSE ask for longer rows (10000 and 1000)."""
import base64
import concurrent.futures
import hashlib
import os
import pathlib
import random
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "blackbox"))

import harness  # noqa: E402
import leak  # noqa: E402

CREATES = int(os.environ.get("III_CYCLES_CREATE") or 200)
PAUSES = int(os.environ.get("III_CYCLES_PAUSE") or 40)
CLIENTS = 4
BLANKS = 4
GROWTH_KB = 4096  # what an allocator may keep more at the end than after a tenth of the row; the long row shows a leak all the same


def rss_kb(pid):
    found = re.search(r"^VmRSS:\s+(\d+) kB$", leak.read(f"/proc/{pid}/status"), re.M)
    return int(found[1]) if found else 0


def figures(server):
    """{process: KiB} of the server's own processes: boxes come and go."""
    own = {"daemon": rss_kb(server.pid)}
    for pid in leak.descendants(server.pid):
        if (leak.stat_fields(pid) or [None])[0] == server.pid and "--launcher" in leak.read(f"/proc/{pid}/cmdline"):
            own["launcher"] = rss_kb(pid)
    return own


def cycle(port, count):
    with harness.Client(port) as caller:
        for _ in range(count):
            sid = caller.create()["id"]
            assert caller.exec(sid, "echo x > f; cat f")["stdout"] == "x\n"
            caller.ok("DELETE", f"/sandboxes/{sid}")


def row(server, count):
    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
        for one in [pool.submit(cycle, server.port, count // CLIENTS) for _ in range(CLIENTS)]:
            one.result()


def wait_for_blanks(server):
    """Until the pool is full and nothing moves: what is counted before and after a row has the same blanks in it."""
    deadline, last, since = time.monotonic() + harness.DEADLINE_S, None, 0
    while last is None or time.monotonic() - since < 0.5:
        assert time.monotonic() < deadline, "the pool of blanks is never full"
        blanks = sum("--stage" in leak.read(f"/proc/{pid}/cmdline") for pid in leak.descendants(server.pid))
        now = leak.counts(server) if blanks == BLANKS else None
        if now != last:
            last, since = now, time.monotonic()
        time.sleep(0.1)


def settled(server, before):
    """The counts when they are as before; what they are when nothing has gone for a while."""
    last, lowest, since = {}, None, time.monotonic()
    while time.monotonic() - since < harness.DEADLINE_S:
        last = leak.counts(server)
        if all(last[key] <= before[key] for key in before):
            break
        if lowest is None or sum(last.values()) < lowest:
            lowest, since = sum(last.values()), time.monotonic()
        time.sleep(0.1)
    return last


def test_creates_and_deletes_add_nothing_up():
    with leak.watched(harness.Server(env={"III_MAX_SANDBOXES": "50", "III_BLANK_POOL": str(BLANKS), "III_MAX_EVENTS": "100", "III_MAX_TRACES": "100"})) as server:
        row(server, max(CREATES // 10, 80))
        wait_for_blanks(server)
        counts, memory = leak.counts(server), figures(server)
        row(server, CREATES)
        wait_for_blanks(server)
        after, then = settled(server, counts), figures(server)
        print(f"{CREATES} cycles: memory in KiB {memory} -> {then}; {counts} -> {after}")
        assert {k: v for k, v in after.items() if v > counts[k]} == {}, f"{counts} -> {after}"
        if not harness.IS_SANITIZED:  # freed memory stays in quarantine there
            assert {k: v - memory[k] for k, v in then.items() if v - memory[k] > GROWTH_KB} == {}, f"{memory} -> {then}"


def test_pauses_and_resumes_change_no_file():
    server = harness.Server()
    rng = random.Random(1)
    try:
        server.start()
        with harness.Client(server.port) as caller:
            sid = caller.create()["id"]
            data = [rng.randbytes(50000) for _ in range(4)]
            for number, content in enumerate(data):
                caller.ok("POST", f"/sandboxes/{sid}/files/upload", {"path": f"f{number}", "content": base64.b64encode(content).decode()})
            want = "".join(f"{hashlib.sha256(content).hexdigest()}  f{number}\n" for number, content in enumerate(data))
            job = caller.ok("POST", f"/sandboxes/{sid}/exec/background", {"command": "i=0; while :; do i=$((i+1)); echo $i; sleep 0.01; done"})
            for number in range(PAUSES):
                assert caller.ok("POST", f"/sandboxes/{sid}/pause")["status"] == "paused"
                if number % 100 == 99:  # a crash finds it paused
                    server.kill()
                    server.start()
                    caller.close()
                    caller.port = server.port
                assert caller.ok("POST", f"/sandboxes/{sid}/resume")["status"] == "running"
                if number % 10 == 0 or number == PAUSES - 1:
                    assert caller.exec(sid, "sha256sum f0 f1 f2 f3")["stdout"] == want
            lines = caller.ok("GET", f"/exec/background/{job['id']}/logs")["output"].split()
            assert lines == [str(i + 1) for i in range(len(lines))] and lines, "the command went on where it was, each time"
        server.stop()
    finally:
        server.remove()
