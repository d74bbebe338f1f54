"""The end of a chaos run: everything that was acknowledged is there, everything that was deleted is gone, nothing is left."""
import sqlite3
import time

from chaosworld import Cut, Lost, Refused
import harness

CLONES_MAX = 8


def settle(actor, box):
    """True when nothing of the box is in doubt or under way; it may turn out to be gone."""
    end = time.monotonic() + harness.DEADLINE_S * 2
    while True:
        try:
            actor.check(box)
            if not box.execs and not box.jobs:
                return
        except Lost:
            actor.lose(box)
            return
        except (Cut, Refused):
            pass
        if time.monotonic() > end:
            actor.world.finding(f"{box.id}: still under way: commands {[e.id for e in box.execs]}, jobs {[j.id for j in box.jobs]}")
        time.sleep(0.1)


def check_actor(actor):
    for box in list(actor.boxes):
        settle(actor, box)
    for volume in actor.volumes:
        actor.know_volume(volume)
        if volume.box and volume.box not in actor.boxes:
            volume.box = None
        try:
            actor.check_volume(volume)
        except Lost:
            volume.box = None
    for net in actor.nets:
        actor.know_net(net)


def check_lists(world, actors):
    """The server's lists against ours. What a call that was cut off may have made is removed, everything else is a finding."""
    caller = actors[0]
    known = {box.id for a in actors for box in a.boxes}
    maybe = set().union(*(a.maybe for a in actors))
    listed = all_boxes(caller)
    for sid in known - set(listed):
        world.finding(f"sandbox {sid} was acknowledged and is not listed")
    for actor in actors:
        for sid in actor.gone:
            if sid in listed or caller.call("GET", f"/sandboxes/{sid}", ok=(200, 404)).status == 200:
                world.finding(f"sandbox {sid} was deleted, or its agent killed, and is there")
    strays = [sid for sid in listed if sid not in known]
    for sid in strays:
        if listed[sid]["name"] not in maybe:
            world.finding(f"nobody made sandbox {listed[sid]}")
        caller.call("DELETE", f"/sandboxes/{sid}", ok=(200, 404))
    world.counts["strays"] += len(strays)
    check_volumes(world, actors, maybe)


def check_volumes(world, actors, maybe):
    caller = actors[0]
    known = {volume.id for a in actors for volume in a.volumes}
    listed = {v["id"]: v for v in caller.call("GET", "/volumes").json()["volumes"]}
    for vid in known - set(listed):
        world.finding(f"volume {vid} was acknowledged and is not listed")
    for vid in set(listed) - known:
        if listed[vid]["name"] not in maybe:
            world.finding(f"nobody made volume {listed[vid]}, or it was deleted")
        caller.call("DELETE", f"/volumes/{vid}")
    for actor in actors:
        for vid in actor.gone_volumes:
            if vid in listed:
                world.finding(f"volume {vid} was deleted and is there")


def all_boxes(actor):
    found, page = {}, 1
    while True:
        items = actor.call("GET", f"/sandboxes?page={page}&pageSize=100").json()["items"]
        found.update((r["id"], r) for r in items)
        if len(items) < 100:
            return found
        page += 1


def check_keys(actor):
    """The answer to a key is kept, also when the sandbox that it names is gone."""
    for key, body, sid in actor.keys[-20:]:
        reply = actor.call("POST", "/sandboxes", body, headers={"Idempotency-Key": key})
        if reply.json()["id"] != sid or reply.headers.get("idempotency-replayed") != "true":
            actor.world.finding(f"the key {key} was answered with {sid}, now with {reply.body[:200]!r}")


def check_snapshots(actor):
    for snap in actor.snaps[-CLONES_MAX:]:
        while len(actor.boxes) > 2:  # room for one more
            actor.step("delete", actor.act_delete)
        before = len(actor.boxes)
        actor.rng.shuffle(actor.snaps)
        record = actor.call("POST", f"/snapshots/{snap.id}/clone", {"name": actor.name("revived")}).json()
        actor.take_copy(record, SnapBox(snap))
        settle(actor, actor.boxes[before])
        actor.world.counts["snapshots restored"] += 1


class SnapBox:
    """A snapshot where a sandbox to copy from is wanted."""

    def __init__(self, snap):
        self.kind, self.state, self.note = snap.kind, snap.state, snap.note


def remove_all(world, actors):
    caller = actors[0]
    for sid in all_boxes(caller):
        caller.call("DELETE", f"/sandboxes/{sid}", ok=(200, 404))
    for actor in actors:
        for snap in actor.snaps:
            caller.call("DELETE", f"/snapshots/{snap.id}")
        for sid in actor.gone_snaps:
            caller.call("DELETE", f"/snapshots/{sid}", ok=(404,))
        for volume in actor.volumes:
            caller.call("DELETE", f"/volumes/{volume.id}")
        for net in actor.nets:
            caller.call("DELETE", f"/networks/{net.id}")
        for name, _ in actor.images:
            caller.call("DELETE", f"/images/{name}")
    if all_boxes(caller) or caller.call("GET", "/volumes").json()["volumes"]:
        world.finding("sandboxes or volumes are there after all were deleted")


def check_disk(world):
    """After the stop: no process, mount, group, socket or folder; no volume's folder; a sound database."""
    try:
        world.held.assert_nothing_left()
    except AssertionError as error:
        world.finding(str(error))
    left = [str(p) for p in (world.server.data_dir / "volumes").glob("*")]
    if left:
        world.finding(f"folders of volumes are left: {left}")
    with sqlite3.connect(world.server.data_dir / "state.db") as db:
        words = [row[0] for row in db.execute("PRAGMA integrity_check")]
    if words != ["ok"]:
        world.finding(f"the database is damaged: {words[:5]}")


def full(world, actors):
    for actor in actors:
        check_actor(actor)
    check_lists(world, actors)
    for actor in actors:
        check_keys(actor)
    world.kill_daemon()  # once more, with nothing in flight: now everything has to be as it was
    world.start()
    for actor in actors:
        check_actor(actor)
    check_lists(world, actors)
    for actor in actors:
        check_snapshots(actor)
    remove_all(world, actors)
