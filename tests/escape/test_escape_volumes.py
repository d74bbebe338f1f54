"""Volumes as a way out: links from one file system into another, and mounts below what a guest controls."""
import harness

pytestmark = [harness.needs("volume", "limitDisk")]


def test_a_volume_leads_nowhere(client, new_sandbox):
    box = new_sandbox()["id"]
    ids = [client.ok("POST", "/volumes", {"name": name, "sizeMb": 16})["id"] for name in ("outer", "inner")]
    try:
        client.ok("POST", f"/volumes/{ids[0]}/attach", {"sandboxId": box, "mountPath": "/data"})
        tried = client.exec(box, "echo secret > /workspace/f; ln /workspace/f /data/f; echo $?; ln -s / /data/out; mkdir /data/in; "
                                 "mknod /data/loop b 7 0; cat /data/loop > /dev/null; echo $?")
        assert tried["stdout"].split() == ["1", "1"], tried
        for place in ("/data/in", "/data/out/tmp", "/data/out"):
            reply = client.post(f"/volumes/{ids[1]}/attach", {"sandboxId": box, "mountPath": place})
            assert reply.status in (400, 409), (place, reply)
        assert "/data/in" not in client.exec(box, "cat /proc/mounts")["stdout"]
    finally:
        client.post(f"/volumes/{ids[0]}/detach")
        for vid in ids:
            client.delete(f"/volumes/{vid}")
