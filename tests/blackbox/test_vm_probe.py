"""What was found out about KVM holds for one boot of the host: a server that finds the answer of another boot asks
again by itself, in the background. The kernel of the kit here is none, so that a probe ends at once wherever it runs:
without KVM nothing is booted, and with it no guest answers."""
import json
import pathlib
import time

import pytest

import fckit
import harness
import qemukit
from fckit import no_server_is_left  # noqa: F401

pytestmark = fckit.marks[1:]
BOOT_ID = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def probe_of(server):
    try:
        return json.loads((server.data_dir / "vm/kit/probe.json").read_text())
    except FileNotFoundError:
        return {}


def start(probe=None, user=None):
    server = harness.Server(user=user, env={"III_ISOLATION_BACKEND": "qemu"})
    server.data_dir.mkdir(parents=True)
    fckit.make_kit(server.data_dir)
    if probe:
        (server.data_dir / "vm/kit/probe.json").write_text(json.dumps(probe))
    fckit.OPEN.append(server)
    return server.start()


def wait_for_probe(server):
    harness.wait_until(lambda: probe_of(server).get("bootId") == BOOT_ID, "the host of this boot is looked at", 60)
    return probe_of(server)


def test_the_answer_of_another_boot_is_asked_for_again():
    server = start({"bootId": "of another boot", "kit": "of another kit", "kvm": True, "bootMs": 5, "why": ""})
    found = wait_for_probe(server)
    assert found["kvm"] is False and found["why"], found
    harness.wait_until(lambda: "backend.slow" in server.log(), "one warning says so")
    assert found["why"][:40] in server.log() and server.log().count("backend.slow") == 1
    if not qemukit.lacks():
        done = harness.run_cli("vm", "status", "--json", "--data-dir", server.data_dir, env={"III_VM_JAILER": "/nowhere/jailer"})
        said = json.loads(done.stdout)
        assert done.returncode == 0 and said["acceleration"] == "tcg" and "/nowhere/jailer cannot be used" in said["firecrackerJail"], said
    for fact in ("bootId", "kit"):  # each by itself makes it old
        server.stop()
        (server.data_dir / "vm/kit/probe.json").write_text(json.dumps({**found, fact: "of another", "kvm": True}))
        server.start()
        harness.wait_until(lambda: probe_of(server) == found, f"{fact} of another is asked for again", 60)
    before = server.log().count("backend.slow")
    stamp = (server.data_dir / "vm/kit/probe.json").stat().st_mtime_ns
    server.stop()
    server.start()
    harness.wait_until(lambda: server.log().count("backend.slow") > before, "the next server knows it")
    time.sleep(0.3)  # one that asked would have written by now: nothing is booted here
    assert (server.data_dir / "vm/kit/probe.json").stat().st_mtime_ns == stamp
    server.stop()
    fckit.OPEN.remove(server)
    server.remove()
