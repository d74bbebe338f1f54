"""kill -9 of the daemon: what was acknowledged is there again, what was half-made is gone, nothing leaks."""
import concurrent.futures
import contextlib
import http.client
import os
import signal
import threading

import harness
import leak


def serve(**kw):
    return leak.watched(harness.Server(env={"III_MAX_SANDBOXES": "200"}, **kw))


def test_a_polite_stop_keeps_sandboxes_and_their_processes():
    with leak.watched(harness.Server(env={"III_ON_SHUTDOWN": "keep"})) as server:
        with server.client() as caller:
            sid = caller.create()["id"]
            pid = caller.exec(sid, "echo text > /workspace/f; sleep 99963 & echo $!")["stdout"].strip()
            job = caller.ok("POST", f"/sandboxes/{sid}/exec/background", {"command": "echo logged; sleep 99964"})
        server.stop()
        server.env = {}
        server.start()
        with server.client() as caller:
            assert caller.ok("GET", f"/sandboxes/{sid}")["status"] == "running"
            assert caller.exec(sid, f"cat /workspace/f; kill -0 {pid} && echo alive")["stdout"] == "text\nalive\n"
            assert caller.ok("GET", f"/exec/background/{job['id']}/status")["running"] is True


@harness.needs("stop")
def test_a_polite_stop_that_stops():
    with leak.watched(harness.Server(env={"III_ON_SHUTDOWN": "stop"})) as server:
        with server.client() as caller:
            ids = [caller.create()["id"] for _ in range(3)]
            caller.exec(ids[0], "echo text > /workspace/f")
            caller.ok("POST", f"/sandboxes/{ids[1]}/pause")
            caller.ok("POST", f"/sandboxes/{ids[2]}/stop")
        server.held.look(server.pid)
        server.stop()
        assert not leak.mounts(str(server.data_dir)), "something of a stopped sandbox is mounted"
        server.env = {}
        server.start()
        with server.client() as caller:
            rows = {one["id"]: one for one in caller.ok("GET", "/sandboxes")["items"]}
            assert [(rows[sid]["status"], rows[sid]["stopReason"]) for sid in ids] == [("stopped", "shutdown")] * 2 + [("stopped", "request")]
            assert caller.ok("POST", f"/sandboxes/{ids[0]}/start")["status"] == "running"
            assert caller.exec(ids[0], "cat /workspace/f")["stdout"] == "text\n"


def test_killed_during_fifty_concurrent_commands():
    with serve() as server:
        with harness.Client(server.port) as caller:
            records = [caller.create(name=f"r{i}", env={"N": str(i)}) for i in range(10)]
            for number, record in enumerate(records):
                caller.exec(record["id"], f"echo content{number} > /workspace/f")
            paused = caller.create()
            caller.ok("POST", f"/sandboxes/{paused['id']}/pause")
            job = caller.ok("POST", f"/sandboxes/{records[0]['id']}/exec/background", {"command": "echo logged; sleep 99961"})
            started = threading.Barrier(51, timeout=harness.DEADLINE_S)

            def command(number):
                with harness.Client(server.port) as own:
                    answer = own.open("POST", f"/sandboxes/{records[number % 10]['id']}/exec/stream", {"command": "echo up; sleep 99962", "timeout": 100})
                    answer.readline()
                    started.wait()
                    try:
                        answer.read()
                    except (http.client.HTTPException, ConnectionError):
                        pass

            with concurrent.futures.ThreadPoolExecutor(50) as pool:
                running = [pool.submit(command, number) for number in range(50)]
                started.wait()
                server.held.look(server.pid)
                server.kill()
                for one in running:
                    one.result(harness.DEADLINE_S)
        server.start()
        with harness.Client(server.port) as caller:
            listed = {r["id"]: r for r in caller.ok("GET", "/sandboxes?pageSize=200")["items"]}
            assert set(listed) == {r["id"] for r in records} | {paused["id"]}
            for number, record in enumerate(records):
                assert {k: v for k, v in listed[record["id"]].items() if k != "workerId"} == {k: v for k, v in record.items() if k != "workerId"}
                assert caller.exec(record["id"], "cat /workspace/f; echo $N")["stdout"] == f"content{number}\n{number}\n"
            assert listed[paused["id"]]["status"] == "paused"
            assert caller.ok("POST", f"/sandboxes/{paused['id']}/resume")["status"] == "running"
            assert caller.exec(paused["id"], "echo thawed")["stdout"] == "thawed\n"
            status = caller.ok("GET", f"/exec/background/{job['id']}/status")
            assert status["running"] is True
            assert caller.ok("GET", f"/exec/background/{job['id']}/logs")["output"] == "logged\n"
            fresh = caller.create()
            assert caller.exec(fresh["id"], "echo fresh")["stdout"] == "fresh\n"
            server.held.look(server.pid)
            for sid in [*listed, fresh["id"]]:
                caller.ok("DELETE", f"/sandboxes/{sid}")


def test_killed_while_creating_and_deleting():
    with serve() as server:
        stop = threading.Event()
        known = []

        def churn():
            with harness.Client(server.port) as own:
                while not stop.is_set():
                    try:
                        sid = own.create()["id"]
                        known.append(sid)
                        if len(known) % 2:
                            own.delete(f"/sandboxes/{sid}")
                    except (http.client.HTTPException, OSError, AssertionError):
                        return

        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            running = [pool.submit(churn) for _ in range(6)]
            harness.wait_until(lambda: len(known) >= 40, "forty sandboxes to be made")
            server.held.look(server.pid)
            server.kill()
            stop.set()
            for one in running:
                one.result(harness.DEADLINE_S)
        server.start()
        with harness.Client(server.port) as caller:
            items = caller.ok("GET", "/sandboxes?pageSize=200")["items"]
            for record in items:
                assert caller.exec(record["id"], "echo up")["stdout"] == "up\n"
                caller.ok("DELETE", f"/sandboxes/{record['id']}")
            assert caller.ok("GET", "/sandboxes")["total"] == 0


def test_a_sandbox_that_died_with_its_daemon_is_stopped():
    with serve() as server:
        with harness.Client(server.port) as caller:
            sid = caller.create()["id"]
        server.held.look(server.pid)
        agents = server.agents()
        server.kill()
        assert agents
        for pid in agents:
            with contextlib.suppress(ProcessLookupError):  # a blank of the pool ends with its launcher
                os.kill(pid, signal.SIGKILL)
        server.start()
        with harness.Client(server.port) as caller:
            assert caller.ok("GET", f"/sandboxes/{sid}")["stopReason"] == "lost"
            caller.ok("POST", f"/sandboxes/{sid}/start")
            assert caller.create()["status"] == "running"


def test_two_servers_do_not_share_a_data_folder():
    with serve() as server:
        again = harness.Server(data_dir=server.data_dir)
        try:
            again.start()
        except AssertionError as error:
            assert "ended with" in str(error)
        else:
            raise AssertionError("a second server took the same data folder")
        finally:
            again.remove()
        with harness.Client(server.port) as caller:
            assert caller.create()["status"] == "running"


def test_a_paused_sandbox_survives_many_restarts():
    """Its agent takes no connection while it is frozen: those of the servers before fill its queue."""
    with serve() as server:
        with harness.Client(server.port) as caller:
            sid = caller.create()["id"]
            caller.exec(sid, "echo kept > /workspace/f")
            caller.ok("POST", f"/sandboxes/{sid}/pause")
        for _ in range(20):
            server.held.look(server.pid)
            server.kill()
            server.start()
        with harness.Client(server.port) as caller:
            assert caller.ok("GET", f"/sandboxes/{sid}")["status"] == "paused"
            assert caller.post(f"/sandboxes/{sid}/exec", {"command": "true"}).status == 409
            caller.ok("POST", f"/sandboxes/{sid}/resume")
            assert caller.exec(sid, "cat /workspace/f")["stdout"] == "kept\n"
