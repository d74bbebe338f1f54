"""sandbox::create, stop, list, catalog::list; ids of both doors; the idle reaper; limits and their order."""
import contextlib
import re
import socket
import threading
import time
import uuid

import pytest

import harness
from fnclient import UNKNOWN, Functions, fn, sb  # noqa: F401

SERVER_ENV = {"III_FN_MAX_SANDBOXES": "4", "III_IDLE_SCAN_MS": "100", "III_IMAGE_ALLOWLIST": "python,node,lost",
              "III_CUSTOM_IMAGES": "lost=registry.invalid/lost:1,other=registry.invalid/other:2", "III_IMAGE_CAPS": "python=2:1024",
              "III_GATEWAY_PORTS": "*"}


def test_create_answers_a_uuid_and_the_image(fn):
    answer = fn.call("create", image="python")
    assert str(uuid.UUID(answer["sandbox_id"])) == answer["sandbox_id"]
    assert answer["image"] == "python"


def test_either_id_form_works_at_either_door(fn, client):
    sid = fn.create(name="both")
    rest_id = "sbx_" + sid.replace("-", "")[:24]
    record = client.ok("GET", f"/sandboxes/{sid}")
    assert record["id"] == rest_id
    assert client.ok("GET", f"/sandboxes/{rest_id}")["name"] == "both"
    assert client.exec(sid, "echo hi")["stdout"] == "hi\n"
    assert fn.call("exec", sandbox_id=rest_id, cmd="true")["success"]
    for spelling in (sid.upper(), "{" + sid + "}", "urn:uuid:" + sid, sid.replace("-", "")):
        assert fn.call("exec", sandbox_id=spelling, cmd="true")["success"]
    almost = sid[:-1] + ("0" if sid[-1] != "0" else "1")
    fn.fault("exec", "S002", sandbox_id=almost, cmd="true")


def test_a_sandbox_of_rest_is_usable_and_listed(fn, client, new_sandbox):
    record = new_sandbox(name="from-rest")
    row = next(r for r in fn.call("list")["sandboxes"] if r["name"] == "from-rest")
    assert row["sandbox_id"].replace("-", "").startswith(record["id"][4:])
    assert fn.call("exec", sandbox_id=row["sandbox_id"], cmd="echo yes")["stdout"] == "yes\n"
    assert fn.call("stop", sandbox_id=row["sandbox_id"], wait=True)["stopped"] is True


def test_list_has_all_members_oldest_first(fn):
    first, second = fn.create(name="one"), fn.create()
    rows = fn.call("list")["sandboxes"]
    assert [r["sandbox_id"] for r in rows][-2:] == [first, second]
    assert rows[-2] == {"sandbox_id": first, "name": "one", "image": "python", "age_secs": rows[-2]["age_secs"],
                        "exec_in_progress": False, "exec_in_flight": 0, "exec_slots_free": 1, "stopped": False}
    assert rows[-1]["name"] is None


def test_null_and_absent_payloads_are_empty_objects(fn):
    assert "sandboxes" in fn.raw("list", None)
    assert "images" in fn.worker.call("sandbox::catalog::list")


def test_catalogue(fn):
    images = fn.call("catalog::list", extra=1)["images"]
    assert [(i["name"], i["kind"], i["allowed"]) for i in images] == [
        ("python", "preset", True), ("node", "preset", True), ("lost", "custom", True), ("other", "custom", False)]
    assert images[0]["oci_ref"] == "docker.io/iiidev/python:latest"


@pytest.mark.parametrize("image", ["nope", "python:3.12-slim", "other", ""])
def test_images_outside_the_allowlist_are_refused(fn, image):
    text = fn.fault("create", "S100", image=image)["message"]
    assert f"'{image}'" in text and "python, node" in text


def test_an_image_that_is_not_there_and_may_not_be_pulled(fn):
    refused = fn.fault("create", "S101", image="lost")["message"]
    assert "lost" in refused and "III_PULL" in refused, "auto_install is on: it is the other switch"


@pytest.mark.parametrize("fields, code", [
    ({}, "S001"), ({"image": 5}, "S001"), ({"image": "python", "cpus": 0}, "S001"),
    ({"image": "python", "cpus": "2"}, "S001"), ({"image": "python", "cpus": 1.5}, "S001"),
    ({"image": "python", "network": "yes"}, "S001"), ({"image": "python", "idle_timeout_secs": -1}, "S001"),
    ({"image": "python", "env": 5}, "S001"), ({"image": "python", "env": {"1A": "x"}}, "S001"),
    ({"image": "python", "cpus": 3}, "S400"), ({"image": "python", "memory_mb": 1025}, "S400"),
])
def test_bad_create_requests(fn, fields, code):
    fn.fault("create", code, **fields)


def test_order_of_checks(fn):
    fn.fault("create", "S100", image="nope", cpus=99)
    assert "cpus" in fn.fault("create", "S400", image="python", cpus=99, memory_mb=9999)["message"]
    fn.fault("create", "S400", image="python", memory_mb=9999, env={"1": "x"})
    fn.fault("create", "S101", image="lost", env={"1": "x"})
    assert '"1"' in fn.fault("create", "S001", image="python", env={"1": "x"})["message"]


def test_integral_doubles_and_nulls_are_taken(fn):
    sid = fn.create(cpus=1.0, memory_mb=None, env=None, name=None, network=None)
    assert fn.call("exec", sandbox_id=sid, cmd="true", args=None, env=None)["success"]


def test_the_count_cap_comes_before_the_image(fn):
    made = [fn.create() for _ in range(4)]
    text = fn.fault("create", "S400", image="nope")["message"]
    assert "max_concurrent_sandboxes" in text
    fn.call("stop", sandbox_id=made[0])
    fn.create()


def test_creates_at_once_do_not_pass_the_cap(fn):
    asked = [fn.ask("create", image="python") for _ in range(7)]
    good, bad = [], 0
    for call_id in asked:
        try:
            good.append(fn.answer(call_id)["sandbox_id"])
        except Exception as why:
            assert "S400" in str(why)
            bad += 1
    fn.made += good
    assert (len(good), bad) == (4, 3)


def test_stop_twice(fn, sb):
    assert fn.call("stop", sandbox_id=sb, wait=True) == {"sandbox_id": sb, "stopped": True}
    assert sb in fn.fault("stop", "S002", sandbox_id=sb)["message"]


@pytest.mark.parametrize("value", ["nope", "", 5, None, [], "sbx_123"])
def test_ids_that_are_none(fn, value):
    for name in ("stop", "exec", "fs::stat"):
        fn.fault(name, "S001", sandbox_id=value, cmd="true", path="/")


def test_a_payload_must_be_an_object(fn):
    why = fn.worker.fail("sandbox::list", [1])
    assert '"S001"' in why.message


@pytest.mark.parametrize("name, fields", [
    ("exec", {"cmd": "true"}), ("fs::write", {"path": "/x", "content": ""}), ("fs::read", {"path": "/x"}),
    ("fs::ls", {"path": "/"}), ("fs::stat", {"path": "/"}), ("fs::mkdir", {"path": "/x"}), ("fs::rm", {"path": "/x"}),
    ("fs::mv", {"src": "/x", "dst": "/y"}), ("fs::chmod", {"path": "/x", "mode": "644"}),
    ("fs::grep", {"path": "/", "pattern": "["}), ("fs::sed", {"path": "/", "pattern": "[", "replacement": ""}),
    ("stop", {}),
])
def test_unknown_sandboxes(fn, name, fields):
    body = fn.fault(name, "S002", sandbox_id=UNKNOWN, **fields)
    assert UNKNOWN in body["message"] and "create" in body["fix_note"]


def test_functions_show_their_worker_and_schema(fn):
    info = fn.worker.call("engine::functions::info", {"function_id": "sandbox::exec"})
    text = str(info)
    assert "iii-sandbox" in text and "timeout_ms" in text and "exit_code" in text


def test_an_idle_sandbox_goes_and_a_busy_one_stays(fn):
    idle, busy = fn.create(idle_timeout_secs=0), fn.create(idle_timeout_secs=0)
    # its command began before the first scan could see it idle, or it is gone as well: make one that holds
    kept = fn.create(idle_timeout_secs=60)
    harness.wait_until(lambda: idle not in [r["sandbox_id"] for r in fn.call("list")["sandboxes"]], "the reaper")
    fn.fault("exec", "S002", sandbox_id=idle, cmd="true")
    harness.wait_until(lambda: busy not in [r["sandbox_id"] for r in fn.call("list")["sandboxes"]], "the reaper")
    running = fn.create(idle_timeout_secs=4)  # seconds, in which a busy host begins a command
    asked = fn.ask("exec", sandbox_id=running, cmd="sleep 6")
    assert fn.answer(asked)["success"], "a running command keeps its sandbox"
    assert fn.call("exec", sandbox_id=kept, cmd="true")["success"]


def test_use_through_the_other_door_keeps_a_sandbox(fn, client):
    sid = fn.create(idle_timeout_secs=5)  # seconds, so that a busy machine does not make a pause of it
    assert client.exec(sid, "sleep 7; echo done")["stdout"] == "done\n", "a running command keeps its sandbox"
    for _ in range(20):
        assert client.post(f"/sandboxes/{sid}/files/list", {"path": "/workspace"}).status == 200
        time.sleep(0.3)
    harness.wait_until(lambda: client.get(f"/sandboxes/{sid}").status == 404, "the reaper")


def test_a_sandbox_without_expiry_says_so(fn, client):
    record = client.ok("GET", f"/sandboxes/{fn.create(idle_timeout_secs=77)}")
    assert record["expiresAt"] == 0 and record["config"]["idleTimeout"] == 77
    assert client.ok("POST", "/admin/sweep") == {"swept": 0}


def test_the_idle_time_out_is_the_same_over_rest(client, new_sandbox):
    idle, kept = new_sandbox(idleTimeout=1), new_sandbox(idleTimeout=3600)
    assert (idle["config"]["idleTimeout"], kept["config"]["idleTimeout"]) == (1, 3600)
    assert "idleTimeout" not in new_sandbox()["config"]
    assert new_sandbox(idleTimeout=10**9)["config"]["idleTimeout"] == 86400
    harness.wait_until(lambda: client.get(f"/sandboxes/{idle['id']}").status == 404, "the idle time-out")
    assert client.exec(kept["id"], "echo here")["stdout"] == "here\n"


@pytest.fixture
def sink():
    """A port of the host's loopback that takes all there is."""
    def take(conn):
        with conn, contextlib.suppress(OSError):
            while conn.recv(65536):
                pass

    def accept(listener):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=take, args=(listener.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, args=(listener,), daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


@pytest.mark.skipif(not harness.IS_ROOT, reason="needs root: sandboxes with network")
@harness.needs("egress")
def test_data_on_the_way_out_keeps_a_sandbox(fn, client, sink):
    """Both have a connection, by a process that is detached, so no command runs; one says something."""
    talk = f"import os, socket, time\ns = socket.create_connection(('100.96.0.1', {sink}))\n" \
           "while not os.path.exists('/tmp/enough'):\n    s.sendall(bytes(%d))\n    time.sleep(0.2)\n"
    listed = lambda: [r["sandbox_id"] for r in fn.call("list")["sandboxes"]]  # noqa: E731
    loud, mute = (fn.create(idle_timeout_secs=8, network=True) for _ in range(2))  # seconds, in which a busy machine starts a Python
    for sid, size in ((loud, 2000), (mute, 0)):
        fn.call("fs::write", sandbox_id=sid, path="/tmp/talk.py", content=talk % size)
        fn.call("exec", sandbox_id=sid, argv=["sh", "-c", "nohup python3 /tmp/talk.py >/dev/null 2>&1 &"])
    harness.wait_until(lambda: mute not in listed(), "the reaper: a connection without data is no use")
    time.sleep(5)
    assert loud in listed(), "data on the way out is use"
    assert client.ok("GET", f"/sandboxes/{loud}/metrics")["networkTxBytes"] >= 20000
    fn.call("fs::write", sandbox_id=loud, path="/tmp/enough", content="")
    harness.wait_until(lambda: loud not in listed(), "the reaper")


def test_one_log_record_for_each_call(fn, server, sb):
    fn.call("exec", sandbox_id=sb, cmd="true")
    fn.fault("exec", "S001", sandbox_id=sb)
    for record in (rf"evt=function.call function_id=sandbox::create sandbox_id={sb} success=true duration_ms=\d+",
                   rf"evt=function.call function_id=sandbox::exec sandbox_id={sb} success=true duration_ms=\d+",
                   rf"function_id=sandbox::exec sandbox_id={sb} success=false error_code=S001 error_type=validation retryable=false"):
        harness.wait_until(lambda: re.search(record, server.log_path.read_text()), record)  # it is written after the answer
