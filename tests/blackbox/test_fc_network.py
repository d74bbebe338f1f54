"""Networks of machines on the firecracker backend, with the strict checker (tests/vmm) in the place of the program: the
taps, the switches, the rules between them, records and notes are real; the guests' kernels are played, and lie on demand.
How two of them reach each other is in test_firecracker.py; this is what goes wrong, ends, or comes back."""
import concurrent.futures
import pathlib
import subprocess

import pytest

import fckit
import harness
from fckit import Stage, no_server_is_left  # noqa: F401

pytestmark = fckit.marks
MAC = "02690a4000"  # of 10.64.0.x


@pytest.fixture
def stage():
    made = Stage()
    yield made
    made.end()


def network(stage, *boxes, name="n"):
    net = stage.client.ok("POST", "/networks", {"name": name})["id"]
    for box in boxes:
        assert stage.connect(net, box).status == 200
    return net


def disconnect(stage, net, box):
    return stage.client.post(f"/networks/{net}/disconnect", {"sandboxId": box})


def hears(stage, box, *texts):
    """All that came to a machine, in any order."""
    harness.wait_until(lambda: len(stage.wire(box, "heard")) >= len(texts), f"{texts} is heard")
    assert sorted(item[3] for item in stage.wire(box, "heard")) == sorted(texts)


def ask(stage, box, to, **more):
    return stage.wire(box, "ask", nic="net0", to=to, text="x", **more)


def test_a_machine_sends_only_by_its_own_name(stage):
    """Frames as one would send whose kernel was taken over: of them only those with its own addresses arrive."""
    peer, liar = stage.create(), stage.create()
    network(stage, peer, liar)

    def lie(text="", do="send", mac=MAC + "03", source="10.64.0.3", **more):
        stage.wire(liar, do, nic=1, mac=mac, source=source, to="10.64.0.2", text=text, **more)

    lie("first")
    hears(stage, peer, "first")
    seen = stage.wire(peer, "seen")
    lie("another's address", source="10.64.0.9")
    lie("another's hardware", mac=MAC + "09")
    lie("tagged", ether=0x8100)
    lie("inet6", ether=0x86DD)
    lie(do="arp", source="10.64.0.9", claim=MAC + "03")
    lie(do="arp", claim=MAC + "09")
    assert "OSError" in stage.wire(liar, "send", nic=2, mac=MAC + "03", source="10.64.0.3", to="10.64.0.2", text="unused")["error"]  # it is down
    lie(do="arp", claim=MAC + "03")
    lie("last")
    hears(stage, peer, "first", "last")
    assert stage.wire(peer, "seen") == seen + 2


def test_what_the_host_cuts_and_sums_for_a_guest(stage):
    """Firecracker's guests leave checksums to their device (every `ask` does) and send more than a frame holds."""
    peer, sender = stage.create(), stage.create()
    network(stage, peer, sender)
    assert ask(stage, sender, "10.64.0.2") == "again x"
    stage.wire(sender, "long", nic="net0", to="10.64.0.2", text="0123456789", times=400, size=1000)
    harness.wait_until(lambda: sum(len(item[3]) for item in stage.wire(peer, "heard")) == 4000, "all of it")
    assert "".join(item[3] for item in stage.wire(peer, "heard")) == "0123456789" * 400


def test_a_left_network_is_silent_whatever_a_machine_says(stage):
    first, second = stage.create(), stage.create()
    net = network(stage, first, second)
    assert ask(stage, second, "10.64.0.2") == "again x"
    assert disconnect(stage, net, first).status == 200
    assert stage.wire(first, "nics") == {}
    before = [stage.wire(box, "seen") for box in (first, second)]
    stage.wire(first, "send", nic=1, mac=MAC + "02", source="10.64.0.2", to="10.64.0.3", text="still here")
    assert "nobody answers" in ask(stage, second, "10.64.0.2", wait=1)["error"]
    assert [stage.wire(box, "seen") for box in (first, second)] == before
    assert stage.connect(net, first).status == 200
    assert ask(stage, second, stage.wire(first, "nics")["net0"].split("/")[0]) == "again x"
    assert stage.client.delete(f"/networks/{net}").status == 200
    assert [stage.wire(box, "nics") for box in (first, second)] == [{}, {}]


def test_as_many_networks_as_interfaces_and_each_apart(stage):
    middle, left, right = stage.create(), stage.create(), stage.create()
    nets = [network(stage, middle, name=f"n{i}") for i in range(4)]
    assert stage.connect(nets[0], left).status == 200 and stage.connect(nets[3], right).status == 200
    fifth = stage.client.ok("POST", "/networks", {"name": "fifth"})["id"]
    reply = stage.connect(fifth, middle)
    assert reply.status == 503 and "4 networks" in reply.error, reply
    names = stage.wire(middle, "nics")
    assert sorted(names) == ["net0", "net1", "net2", "net3"]
    for box, name in ((left, "net0"), (right, "net3")):
        assert stage.wire(box, "ask", nic=name, to=names[name].split("/")[0], text="x") == "again x"
    seen = stage.wire(right, "seen")
    assert "nobody answers" in stage.wire(left, "ask", nic="net0", to=stage.wire(right, "nics")["net3"].split("/")[0], wait=1)["error"]
    assert stage.wire(right, "seen") == seen
    assert disconnect(stage, nets[1], middle).status == 200 and stage.connect(fifth, middle).status == 200
    assert sorted(stage.wire(middle, "nics")) == ["net0", "net2", "net3", "net4"]


def test_copies_are_in_no_network_and_a_restored_machine_is_in_its_own(stage):
    first, second = stage.create(), stage.create()
    net = network(stage, first, second)
    snapshot = stage.client.ok("POST", f"/sandboxes/{first}/snapshots", {})
    clone = stage.client.ok("POST", f"/sandboxes/{first}/clone", {})["id"]
    assert stage.wire(clone, "nics") == {}
    seen = stage.wire(second, "seen")
    error = stage.wire(clone, "send", nic=1, mac=MAC + "02", source="10.64.0.2", to="10.64.0.3", text="as my source")["error"]
    assert "OSError" in error and stage.wire(second, "seen") == seen
    assert stage.connect(net, clone).status == 200
    assert stage.wire(clone, "nics") == {"net0": "10.64.0.4/24"} and ask(stage, clone, "10.64.0.2") == "again x"
    stage.client.ok("POST", f"/sandboxes/{first}/snapshots/restore", {"snapshotId": snapshot["id"]})
    harness.wait_until(lambda: stage.wire(first, "nics") == {"net0": "10.64.0.2/24"}, "it is joined again")
    assert ask(stage, second, "10.64.0.2") == "again x" and ask(stage, first, "10.64.0.4") == "again x"


def test_machines_are_joined_again_after_a_restart(stage):
    """The switch goes with the server; one of the machines stands still meanwhile."""
    first, second, third = stage.create(), stage.create(), stage.create()
    net = network(stage, first, second, third)
    stage.client.ok("POST", f"/sandboxes/{third}/pause")
    stage.restart()
    harness.wait_until(lambda: ask(stage, first, "10.64.0.3", wait=2) == "again x", "they are joined again")
    assert ask(stage, second, "10.64.0.2") == "again x"
    assert "nobody answers" in ask(stage, first, "10.64.0.4", wait=1)["error"]
    reply = disconnect(stage, net, second)
    assert reply.status == 200, reply
    stage.client.ok("POST", f"/sandboxes/{third}/resume")
    harness.wait_until(lambda: ask(stage, first, "10.64.0.4", wait=2) == "again x", "it is joined when it goes on")
    assert "nobody answers" in ask(stage, first, "10.64.0.3", wait=1)["error"]


def test_one_that_stands_still_is_not_joined_and_can_lose_its_network(stage):
    box = stage.create()
    net = stage.client.ok("POST", "/networks", {"name": "n"})["id"]
    stage.client.ok("POST", f"/sandboxes/{box}/pause")
    reply = stage.connect(net, box)
    assert reply.status == 409 and "paused" in reply.error, reply
    stage.client.ok("POST", f"/sandboxes/{box}/resume")
    assert stage.connect(net, box).status == 200
    stage.client.ok("POST", f"/sandboxes/{box}/pause")
    assert stage.client.delete(f"/networks/{net}").status == 200
    stage.client.ok("POST", f"/sandboxes/{box}/resume")
    assert stage.run(box, "echo on")["stdout"] == "on\n"


def test_a_machine_sends_no_faster_than_it_may(stage):
    """What is beyond the rate and its queue is lost: it would take 16 s to let all of it through."""
    peer, slow, quick = stage.create(), stage.create(netMbps=1), stage.create()
    network(stage, peer, slow, quick)
    sent = stage.wire(slow, "burst", nic="net0", to="10.64.0.2", text="x" * 1000, times=2000)
    harness.wait_until(lambda: stage.wire(peer, "bytes"), "the first of it")
    before = stage.wire(peer, "bytes")
    assert sent == 2_000_000 and before < sent / 2
    assert stage.wire(quick, "burst", nic="net0", to="10.64.0.2", text="x" * 1000, times=100) == 100_000
    harness.wait_until(lambda: stage.wire(peer, "bytes") >= before + 100_000, "all that nobody holds back")


def test_behind_the_jailer_too(tmp_path):
    jailer = tmp_path / "jailer"
    subprocess.run(["cc", "-O1", "-static", "-o", jailer, fckit.VMM / "standin_jailer.c"], check=True)
    made = Stage(env={"III_VM_JAILER": str(jailer)})
    first, second = made.create(), made.create()
    network(made, first, second)
    assert ask(made, second, "10.64.0.2") == "again x"
    clone = made.client.ok("POST", f"/sandboxes/{first}/clone", {})["id"]
    assert made.wire(clone, "nics") == {}
    made.restart()
    harness.wait_until(lambda: ask(made, first, "10.64.0.3", wait=2) == "again x", "they are joined again")
    made.end()


def test_a_warden_that_says_no():
    made = Stage(FCCHECKER_NOTES="deny")
    box = made.create()
    reply = made.connect(network(made), box)
    assert reply.status == 502 and "as the test wishes,??[31m in two lines" in reply.error, reply
    assert made.run(box, "echo on")["stdout"] == "on\n" and cables(made, box) == []
    made.end()


def cables(stage, box):
    """Ends of cables in the network namespace of its monitor."""
    pid = fckit.monitor_of(int(stage.run(box, "id -u")["stdout"]))
    return [line.split(":")[0].strip() for line in pathlib.Path(f"/proc/{pid}/net/dev").read_text().splitlines()[2:] if "tap" not in line and "lo:" not in line]


@pytest.mark.parametrize("fault, status, error", [
    ("hang", 504, "has not answered within 30 s"), ("flood", 502, "talks, but does not answer")])
def test_a_warden_that_does_not_answer_is_cut_off(fault, status, error):
    """All the while others are served, and the machine itself is."""
    made = Stage(FCCHECKER_NOTES=fault)
    box, net = made.create(), network(made)
    other = made.server.client()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        joining = pool.submit(made.connect, net, box)
        assert other.post(f"/sandboxes/{box}/exec", {"command": "echo on"}).json()["stdout"] == "on\n"
    reply = joining.result()
    assert reply.status == status and error in reply.error, reply
    assert cables(made, box) == [] and made.client.ok("GET", "/networks")["networks"][0]["sandboxes"] == []
    other.close()
    made.end()


def test_a_slow_warden_is_waited_for():
    made = Stage(FCCHECKER_NOTES="late")
    first, second = made.create(), made.create()
    network(made, first, second)
    assert ask(made, second, "10.64.0.2") == "again x" and cables(made, first) == ["net0"]
    made.end()
