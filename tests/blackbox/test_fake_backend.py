"""III_ISOLATION_BACKEND=fake: a server with many sandboxes and no kernel feature, for consoles and load tests. It says what it is."""
import json
import subprocess

import harness
import leak
import pytest

FAKE = {"III_ISOLATION_BACKEND": "fake", "III_MAX_SANDBOXES": "200"}
WARNING = "the fake backend isolates nothing and runs nothing; for tests"


@pytest.fixture(scope="module")
def server():
    with leak.watched(harness.Server(env=FAKE)) as made:
        yield made


def test_two_hundred_sandboxes_come_answer_and_go(server, client):
    ids = [client.create(name=f"load-{i}")["id"] for i in range(200)]
    listed = {one["id"]: one for page in (1, 2) for one in client.ok("GET", f"/sandboxes?pageSize=100&page={page}")["items"]}
    assert set(ids) == set(listed)
    assert {one["backend"] for one in listed.values()} == {"fake"}
    for sid in ids:
        said = client.exec(sid, f"echo I am {sid}")
        assert (said["exitCode"], said["stdout"]) == (0, f"I am {sid}\n")
    assert not [pid for pid in leak.descendants(server.pid) if leak.inner_pid(pid)], "no process is in a sandbox"
    unknown = client.exec(ids[0], "python3 -c 'print(1)'")
    assert unknown["exitCode"] == 127
    assert "the fake backend runs nothing" in unknown["stderr"]
    for sid in ids:
        assert client.delete(f"/sandboxes/{sid}").status == 200
    assert client.ok("GET", "/sandboxes")["total"] == 0
    assert client.ok("GET", "/metrics")["activeSandboxes"] == 0


def test_series_of_sandboxes_are_shared_between_tenants():
    with harness.Server(env={**FAKE, "III_MAX_SANDBOXES": "300", "III_AUTH_TOKEN": "root"}, token="root") as server:
        admin = server.client()
        loud, quiet = (server.client(admin.ok("POST", "/tokens", {"name": n, "tenant": n})["secret"]) for n in ("loud", "quiet"))
        for i in range(205):
            loud.create(name=f"load-{i}")
        own = quiet.create()["id"]
        page = harness.Client(server.port, "root", prefix="").get("/metrics").body.decode()
        assert f'iii_sandbox_cpu_limit{{sandbox_id="{own}"}}' in page
        assert page.count("iii_sandbox_cpu_limit{") == 200


def test_files_are_kept_in_memory_and_nothing_else_is_faked(client, new_sandbox):
    sid = new_sandbox()["id"]
    client.ok("POST", f"/sandboxes/{sid}/files/write", {"path": "a.txt", "content": "kept"})
    assert client.exec(sid, "cat /workspace/a.txt")["stdout"] == "kept"
    for path, body, why in (("snapshots", {}, "the fake backend cannot capture a sandbox's files: its sandboxes have no files on disk"),
                            ("files/chmod", {"path": "a.txt", "mode": "600"}, "the agent of the fake backend, which runs nothing")):
        reply = client.post(f"/sandboxes/{sid}/{path}", body)
        assert reply.status >= 400 and why in reply.error, reply


def test_the_start_and_doctor_warn(server):
    assert WARNING in server.log_path.read_text()
    told = subprocess.run([harness.BINARY, "doctor", "--json", "--data-dir", server.data_dir], capture_output=True,
                          env=harness.clean_env(FAKE), timeout=harness.DEADLINE_S)
    row = next(one for one in json.loads(told.stdout)["checks"] if one["name"] == "fake backend")
    assert (row["ok"], row["detail"]) == (False, WARNING)


def test_only_a_server_that_names_it_has_it():
    with harness.Server(env={"III_ISOLATION_BACKEND": "native"}) as other, harness.Client(other.port) as caller:
        reply = caller.post("/sandboxes", {"image": "python", "backend": "fake"})
        assert reply.status == 400 and 'backend "fake" is not one of those this server allows' in reply.error
        assert WARNING not in other.log()
