"""A thousand live sandboxes on one host: each answers, and all are gone afterwards without a trace."""
import concurrent.futures
import os
import threading

import harness
import leak

COUNT = int(os.environ.get("III_TEST_SCALE") or (200 if harness.IS_SANITIZED else 1000))
THREADS = 8


def test_a_thousand_sandboxes():
    server = harness.Server(env={"III_MAX_SANDBOXES": str(COUNT + 10)})
    held = leak.Holdings(server.data_dir)
    own = threading.local()

    def caller():
        if not hasattr(own, "client"):
            own.client = server.client()
        return own.client

    def create(number):
        return caller().create(image="shell", name=f"n{number}", memory=64)["id"]

    def answers(pair):
        number, sid = pair
        return caller().exec(sid, ["echo", str(number)])["stdout"] == f"{number}\n"

    try:
        server.start()
        with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
            ids = list(pool.map(create, range(COUNT)))
            assert len(set(ids)) == COUNT
            assert caller().ok("GET", "/metrics")["activeSandboxes"] == COUNT
            assert all(pool.map(answers, enumerate(ids)))
            held.look(server.pid)
            assert len(held.processes) >= COUNT
            assert all(pool.map(lambda sid: caller().delete(f"/sandboxes/{sid}").status == 200, ids[: COUNT // 2]))
            assert caller().ok("GET", "/sandboxes")["total"] == COUNT - COUNT // 2
            assert all(pool.map(answers, list(enumerate(ids))[COUNT // 2:]))
        server.stop()
        held.assert_nothing_left()
    finally:
        if server.proc and server.proc.poll() is None:
            server.proc.terminate()
            server.proc.wait(harness.DEADLINE_S * 2)
        server.remove()
