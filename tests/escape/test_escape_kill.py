"""Processes that will not end (checklist 15), killed with their sandbox: running, paused, and after a crash of the server."""
import base64
import time

import pytest

import harness
import leak
import vmwatch

IN_MACHINE = harness.BACKEND == "qemu"
PROBE = harness.BINARY.parent / "src" / "escape" / "iii-probe"


def clinging(word):
    return sum(word in leak.read(f"/proc/{pid}/cmdline") for pid in leak.pids())


def there(client, sid, word):
    """How many there are. Those in a machine are its kernel's: they are counted inside, and outside there are none."""
    if not IN_MACHINE:
        return clinging(word)
    assert clinging(word) == 0
    return int(client.exec(sid, f"grep -la {word} /proc/[0-9]*/cmdline 2>/dev/null | wc -l")["stdout"])


def cling(client, sid, word):
    client.ok("POST", f"/sandboxes/{sid}/files/upload", {"path": "/workspace/p", "content": base64.b64encode(PROBE.read_bytes()).decode()})
    client.exec(sid, "chmod 755 p")
    client.exec(sid, ["/workspace/p", "--cling", word])
    assert there(client, sid, word) >= 5


@pytest.mark.parametrize("how", ["running", "paused", "after a crash of the server"])
def test_what_will_not_end_ends(bait, how):
    made, word = harness.Server(), "cling-" + bait.secret
    held = leak.Holdings(made.data_dir)
    try:
        made.start()
        with harness.Client(made.port) as own:
            sid = own.create()["id"]
            monitors = vmwatch.monitors(made)
            assert len(monitors) == IN_MACHINE
            cling(own, sid, word)
            if how == "paused" and own.post(f"/sandboxes/{sid}/pause").status != 200:
                pytest.skip("this host cannot pause")
        held.look(made.pid)
        if how.startswith("after"):
            made.kill()
            made.start()
            with harness.Client(made.port) as own:
                assert there(own, sid, word) >= 5  # they are the sandbox's, and it goes on
        with harness.Client(made.port) as own:
            plain = own.create()["id"]
            started = time.monotonic()
            own.ok("DELETE", f"/sandboxes/{plain}")
            usual_s, started = time.monotonic() - started, time.monotonic()
            own.ok("DELETE", f"/sandboxes/{sid}")
            harness.wait_until(lambda: clinging(word) == 0 and not any(map(vmwatch.lives, monitors.items())), "the end of what will not end")
            assert time.monotonic() - started < 1 + 10 * usual_s, "no time is given to what will not end"
        held.look(made.pid)
        made.stop()
        held.assert_nothing_left()
    finally:
        made.remove()
