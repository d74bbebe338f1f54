"""POST /admin/functions/call: functions of the engine for people, over REST."""
import concurrent.futures

import engineclient
import harness

TOKEN = "root-secret"
SERVER_ENV = {"III_AUTH_TOKEN": TOKEN}
PATH = "/admin/functions/call"


def worker_of(server):
    return engineclient.Worker(server.engine_port, headers={"Authorization": f"Bearer {TOKEN}"})


def test_functions_of_workers_are_called(server, client):
    with worker_of(server) as worker, concurrent.futures.ThreadPoolExecutor(1) as pool:
        worker.register("test::double")
        later = pool.submit(client.post, PATH, {"functionId": "test::double", "payload": {"n": 21}, "timeout": 300})
        worker.serve("test::double", lambda payload: {"twice": payload["n"] * 2})
        assert later.result().json() == {"result": {"twice": 42}}
        later = pool.submit(client.post, PATH, {"functionId": "test::double", "timeout": 300})
        worker.reply(worker.asked("test::double"), error={"code": "broken", "message": "it broke"})
        reply = later.result()
        assert reply.status == 502 and "broken: it broke" in reply.error
    harness.wait_until(lambda: client.post(PATH, {"functionId": "test::double"}).status == 404, "the function to be gone")


def test_a_function_that_does_not_answer_is_waited_for_so_long(server, client):
    with worker_of(server) as worker:
        worker.register("test::mute")
        reply = client.post(PATH, {"functionId": "test::mute", "timeout": 1})
        assert reply.status == 504 and 'raise "timeout" (max 300)' in reply.error
        # An answer that comes too late is dropped.
        worker.reply(worker.asked("test::mute"), 1)
        worker.sync()
    assert client.post(PATH, {"functionId": "engine::workers::list"}).status == 200


def test_who_may(client, server):
    cases = (("user", {}, 403), ("read-only", {"tenant": "*"}, 200), ("admin", {"operations": ["engine"]}, 403))
    for role, more, may_read in cases:
        secret = client.ok("POST", "/tokens", {"name": role, "role": role, **more})["secret"]
        with server.client(secret) as other:
            assert other.post(PATH, {"functionId": "engine::workers::list"}).status == 403, role
            assert other.call("GET", "/admin/audit").status == may_read, role
            assert other.call("GET", "/admin/audit/verify").status == may_read, role


def test_the_audit_log_is_filtered(client):
    for name in ("one", "two", "three"):
        client.ok("POST", "/networks", {"name": name})
    harness.wait_until(lambda: client.ok("GET", "/admin/audit?operation=network::")["total"] == 3, "the lines")
    assert client.ok("GET", "/admin/audit?operation=network::&limit=0") == {"lines": [], "total": 3}
    newest, older = client.ok("GET", "/admin/audit?operation=network::&limit=2")["lines"]
    assert newest["seq"] > older["seq"] and newest["operation"] == "network::create"
    page = client.ok("GET", f"/admin/audit?operation=network::&before={older['seq']}")
    assert (page["total"], page["lines"][0]["seq"] < older["seq"]) == (1, True)
    for query in ("by=nobody", "tenant=none", "status=599", "since=9000000000000"):
        assert client.ok("GET", f"/admin/audit?{query}") == {"lines": [], "total": 0}, query
    assert client.call("GET", "/admin/audit?status=1000").status == 400
    said = client.ok("GET", "/admin/audit/verify")
    assert said["intact"] and said["last"] >= newest["seq"]


def test_a_changed_line_is_found():
    with harness.Server() as server, server.client() as client:
        client.ok("POST", "/networks", {"name": "one"})
        log = server.data_dir / "audit" / "current.jsonl"
        harness.wait_until(lambda: "network::create" in log.read_text(), "the line")
        log.write_text(log.read_text().replace("network::create", "network::delete"))
        said = client.ok("GET", "/admin/audit/verify")
        assert not said["intact"] and "line 1" in said["problem"]
