"""Fork and clone: children with the files of the moment, each a sandbox of its own, all or none."""
import harness
import pytest


@pytest.fixture(scope="module")
def server():
    with harness.Server(env={"III_MAX_SANDBOXES": "12", "III_MAX_FORK": "8"}) as made:
        yield made


@pytest.fixture
def caller(server):
    with harness.Client(server.port) as made:
        yield made
        for record in made.ok("GET", "/sandboxes?pageSize=200")["items"]:
            made.ok("DELETE", f"/sandboxes/{record['id']}")


def out(caller, sid, command):
    return caller.exec(sid, command)["stdout"]


def fork(caller, sid, **body):
    return caller.ok("POST", f"/sandboxes/{sid}/fork", body)["sandboxes"]


def test_children_see_the_files_and_nothing_else_of_each_other(caller):
    parent = caller.create(name="p", env={"E": "1"}, metadata={"m": "1"})
    sid = parent["id"]
    caller.exec(sid, "echo common > /workspace/f; mkdir /workspace/d; ln /workspace/f /workspace/d/hard")
    caller.ok("POST", f"/sandboxes/{sid}/env", {"vars": {"OVER": "lay"}})
    children = fork(caller, sid, count=5, name="kid")
    assert [c["name"] for c in children] == [f"kid-{n}" for n in range(1, 6)]
    assert len({c["id"] for c in children}) == 5 and all(c["parentId"] == sid and c["status"] == "running" for c in children)
    assert all(c["metadata"] == {"m": "1"} and c["config"]["env"] == {"E": "1"} for c in children)
    for number, child in enumerate(children):
        assert out(caller, child["id"], "cat /workspace/f /workspace/d/hard; echo $OVER $E; hostname; cat /etc/hostname").split() == [
            "common", "common", "lay", "1", child["id"], child["id"]]
        caller.exec(child["id"], f"echo {number} > /workspace/own; echo {number} >> /workspace/f")
    assert out(caller, sid, "ls /workspace; cat /workspace/f") == "d\nf\ncommon\n"
    for number, child in enumerate(children):
        assert out(caller, child["id"], "cat /workspace/own /workspace/f") == f"{number}\ncommon\n{number}\n"
    words = {out(caller, c["id"], "od -An -N16 -tx1 /dev/urandom") for c in children}
    assert len(words) == 5
    listed = caller.ok("GET", f"/sandboxes?parentId={sid}&pageSize=200")
    assert listed["total"] == 5 and [c["id"] for c in listed["items"]] and {c["id"] for c in listed["items"]} == {c["id"] for c in children}


def test_generations(caller):
    sid = caller.create()["id"]
    for generation in range(6):
        caller.exec(sid, f"echo {generation} >> /workspace/log; rm -f /workspace/g*; touch /workspace/g{generation}")
        child = fork(caller, sid)[0]
        assert child["parentId"] == sid and child["name"] == child["id"]
        caller.ok("DELETE", f"/sandboxes/{sid}")
        sid = child["id"]
    assert out(caller, sid, "cat /workspace/log; ls /workspace") == "0\n1\n2\n3\n4\n5\ng5\nlog\n"


def test_clone_is_a_fork_of_one(caller):
    sid = caller.create()["id"]
    caller.exec(sid, "echo x > /workspace/f")
    caller.ok("POST", f"/sandboxes/{sid}/pause")
    made = caller.ok("POST", f"/sandboxes/{sid}/clone", {"name": "c"})
    assert made["name"] == "c" and made["parentId"] == sid and made["image"] == made["config"]["image"]
    assert out(caller, made["id"], "cat /workspace/f") == "x\n"
    assert caller.ok("GET", f"/sandboxes/{sid}")["status"] == "paused"


def test_too_many_are_refused_and_none_is_made(caller):
    sid = caller.create()["id"]
    for count in (0, -1, 9, 1001, "x"):
        reply = caller.post(f"/sandboxes/{sid}/fork", {"count": count})
        assert reply.status == 400, (count, reply)
    others = [caller.create()["id"] for _ in range(5)]
    reply = caller.post(f"/sandboxes/{sid}/fork", {"count": 7})
    assert reply.status == 503 and "III_MAX_SANDBOXES" in reply.json()["error"]
    assert caller.ok("GET", "/sandboxes")["total"] == 1 + len(others)
    assert len(fork(caller, sid, count=6)) == 6
    assert caller.post("/sandboxes/sbx_" + "2" * 24 + "/fork", {"count": 1}).status == 404


@harness.needs("imageStore", "layers")
def test_what_was_between_goes_with_the_last_child(caller, server):
    def layers():
        return {path.name for path in (server.data_dir / "images" / "layers").iterdir()}

    sid = caller.create()["id"]
    harness.wait_until(lambda: len(layers()) == 1, "what earlier tests captured to go")
    before = layers()
    caller.exec(sid, "echo x > /workspace/f")
    children = fork(caller, sid, count=2)
    assert len(layers()) == len(before) + 1
    caller.ok("DELETE", f"/sandboxes/{sid}")
    caller.ok("DELETE", f"/sandboxes/{children[0]['id']}")
    assert out(caller, children[1]["id"], "cat /workspace/f") == "x\n"
    assert len(layers()) == len(before) + 1
    caller.ok("DELETE", f"/sandboxes/{children[1]['id']}")
    harness.wait_until(lambda: layers() <= before, "the captured layer to go")
