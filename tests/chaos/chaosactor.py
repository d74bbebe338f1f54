"""One client of a chaos run: random calls on sandboxes of its own, and the account of what they were answered."""
import base64
import hashlib
import random
import re
import subprocess
import time

from chaosmodel import Blobs, Box, Exec, Job, Net, Snap, Volume, copy_state
from chaosworld import AFTER_KILL_S, Caller, Cut, Finding, Lost, Refused
import engineclient
import harness
import images
import wsclient

BOXES_MAX, SNAPS_MAX, VOLUMES_MAX, NETS_MAX, IMAGES_MAX = 6, 6, 2, 1, 2
SETTLE_S = 60 if harness.IS_SANITIZED else 30
LOG = "/workspace/log"


class Actor:
    def __init__(self, world, number, scratch):
        self.world, self.rng, self.caller = world, random.Random(f"{world.seed}/{number}"), Caller(world)
        self.number, self.count, self.scratch = number, 0, scratch
        self.boxes, self.snaps, self.volumes, self.nets, self.images = [], [], [], [], []
        self.gone, self.gone_snaps, self.gone_volumes = [], [], []
        self.maybe = set()    # names that a call which was cut off may have given to a sandbox or a volume
        self.keys = []        # (Idempotency-Key, body, id that was answered)

    # --- helpers ---

    def name(self, what):
        self.count += 1
        return f"{what}-{self.number}-{self.count}"

    def call(self, method, path, body=None, **kw):
        return self.caller.call(method, path, body, **kw)

    def on(self, box, what, body=None, **kw):
        return self.call("POST", f"/sandboxes/{box.id}/{what}", {} if body is None else body, sandbox=box, **kw)

    def run(self, box, command):
        return self.on(box, "exec", {"command": command}).json()

    def lose(self, box):
        """It is gone, as it should be."""
        # one that was stopped before, or could not be adopted, is there without processes: it keeps its files and volumes
        self.until("one that died to be deleted", lambda: self.call("DELETE", f"/sandboxes/{box.id}", ok=(200, 404)))
        self.boxes.remove(box)
        self.gone.append(box.id)
        for volume in self.volumes:
            if volume.box is box:
                volume.box = None
        for net in self.nets:
            net.members = [m for m in net.members if m is not box]

    def until(self, what, condition):
        """Asks until the condition holds; calls that are cut off are asked again."""
        end = time.monotonic() + SETTLE_S
        while True:
            try:
                value = condition()
                if value:
                    return value
            except (Cut, Refused):
                end += 1
            if time.monotonic() > end:
                self.world.finding(f"waited in vain: {what}")
            time.sleep(0.05)

    # --- looking ---

    def look(self, box, key):
        if key.startswith("env:"):
            value = self.call("GET", f"/sandboxes/{box.id}/env", sandbox=box).json()["vars"].get(key[4:])
            return None if value is None else Blobs.add(value.encode())
        reply = self.on(box, "files/download", {"path": key}, ok=(200, 404))
        if reply.status == 404:
            if "sandbox not found" in reply.error:
                if box.may_be_gone():
                    raise Lost(box.id)
                self.world.finding(f"sandbox {box.id} ({box.name}) is lost: {reply.error}")
            return None
        data = base64.b64decode(reply.json())
        return Blobs.add(data) if len(data) < 4096 else hashlib.sha256(data).hexdigest()

    def awake(self, box):
        """Running, whatever a pause, a stop or a delete that was cut off has done."""
        if box.doomed or box.paused is None:
            status = self.call("GET", f"/sandboxes/{box.id}", sandbox=box).json()["status"]
            box.doomed = box.doomed and box.id in self.world.agents_killed
            box.paused = {"paused": "resume", "stopped": "start"}.get(status, False)
        if box.paused:
            how, box.paused = box.paused, None
            self.on(box, how)
            box.paused = False

    def check(self, box):
        """All that is known of it; afterwards nothing is in doubt."""
        self.awake(box)
        wrong = box.settle({key: self.look(box, key) for key in box.keys()})
        if wrong:
            self.world.finding(wrong)
        if box.note is not None and self.run(box, "say /note")["stdout"] != box.note:
            self.world.finding(f"{box.id}: the image's own file is not what was imported")
        for one in list(box.execs):
            self.check_exec(box, one)
        for one in list(box.jobs):
            self.check_job(box, one)

    def check_exec(self, box, one):
        about = self.call("GET", f"/exec/{one.id}", sandbox=box).json()
        if about["running"]:
            return False
        text = self.call("GET", f"/exec/{one.id}/output?offset=0", sandbox=box).json()["output"]
        if (about["exitCode"], text) != (one.code, one.output):
            self.world.finding(f"{one.id} in {box.id}: exit code {about['exitCode']} and output {text!r} instead of {one.code} and {one.output!r}")
        box.execs.remove(one)
        return True

    def check_job(self, box, one):
        about = self.call("GET", f"/queue/{one.id}/status", sandbox=box).json()
        if about["status"] in ("pending", "running"):
            return False
        path = f"/workspace/{one.tag}"
        if about["status"] != "completed" or about["result"]["stdout"] != f"did {one.tag}\n":
            self.world.finding(f"job {one.id} in {box.id}: {about}")
        digest = self.look(box, path)
        lines = Blobs.kept.get(digest, b"").decode().splitlines()
        if not lines or set(lines) != {one.tag}:
            self.world.finding(f"job {one.id} in {box.id} is completed, its file has {lines}")
        box.jobs.remove(one)
        box.sure(path, digest)
        return True

    def pick(self, kind=None):
        """One of its sandboxes, running and without doubt; None when there is none."""
        have = [b for b in self.boxes if kind is None or b.kind == kind]
        if not have:
            return None
        box = self.rng.choice(have)
        if not box.is_sure():
            self.check(box)
        self.awake(box)
        return box

    # --- sandboxes ---

    def found_by_name(self, name):
        """Records with that name: what became of a create that was cut off."""
        found, page = [], 1
        while True:
            items = self.call("GET", f"/sandboxes?page={page}&pageSize=100").json()["items"]
            found += [r for r in items if r["name"] == name]
            if len(items) < 100:
                return found
            page += 1

    def act_create(self):
        if len(self.boxes) >= BOXES_MAX:
            return self.act_delete()
        name, env = self.name("box"), {"GIVEN": self.name("value")}
        image = self.rng.choice(self.images) if self.images and self.rng.random() < 0.4 else None
        body = {"image": image[0] if image else self.rng.choice(("python", "shell")), "name": name, "env": env}
        short = image is None and self.rng.random() < 0.1
        if short:
            body["timeout"] = 60
        key = self.name("key") + f"-{self.world.seed}" if self.rng.random() < 0.4 else None
        headers = {"Idempotency-Key": key} if key else {}
        self.maybe.add(name)
        try:
            record = self.call("POST", "/sandboxes", body, headers=headers).json()
        except Cut:
            if not key:
                raise
            record = self.until("a create with its key", lambda: self.call("POST", "/sandboxes", body, headers=headers).json())
        if record["name"] != name:
            self.world.finding(f"create of {name} answered {record}")
        box = Box(self.world, record["id"], "tiny" if image else "host", name, {"env:GIVEN": {Blobs.add(env["GIVEN"].encode())}},
                  record["expiresAt"] / 1000 if short else None)
        box.note = image[1] if image else None
        self.boxes.append(box)
        if key:
            self.keys.append((key, body, box.id))
        return None

    def act_delete(self):
        if not self.boxes:
            return
        box = self.rng.choice(self.boxes)
        box.doomed = True
        self.call("DELETE", f"/sandboxes/{box.id}", sandbox=box)
        self.lose(box)
        reply = self.call("GET", f"/sandboxes/{box.id}", ok=(200, 404))
        if reply.status == 200:
            self.world.finding(f"{box.id} was deleted and is there")

    def act_pause(self):
        box = self.pick()
        if not box:
            return
        box.paused = None
        self.on(box, "pause")
        box.paused = "resume"
        if self.rng.random() < 0.6:
            time.sleep(self.rng.random() * 0.3)
            self.on(box, "exec", {"command": "true"}, ok=(409,))
            self.awake(box)

    def act_stop(self):
        box = self.pick()
        if not box or box.execs or box.jobs or box.expires is not None:
            return
        box.paused = None
        if self.rng.random() < 0.2:
            self.on(box, "restart", {"timeout": 0})
            box.paused = False
            return
        self.on(box, "stop", {"timeout": self.rng.choice((0, 1))})
        box.paused = "start"
        if self.rng.random() < 0.6:
            time.sleep(self.rng.random() * 0.3)
            self.on(box, "exec", {"command": "true"}, ok=(409,))
            self.awake(box)

    def act_clone(self):
        box = self.pick()
        if not box or len(self.boxes) + 2 > BOXES_MAX:
            return
        name, count = self.name("copy"), self.rng.choice((1, 2))
        self.maybe |= {name, f"{name}-1", f"{name}-2"}
        if count == 1:
            made = [self.on(box, "clone", {"name": name}).json()]
        else:
            made = self.on(box, "fork", {"name": name, "count": count}).json()["sandboxes"]
        if len(made) != count:
            self.world.finding(f"fork of {count} made {len(made)}")
        for record in made:
            self.take_copy(record, box)

    def take_copy(self, record, like):
        box = Box(self.world, record["id"], like.kind, record["name"], like.state)
        box.note = like.note
        self.boxes.append(box)

    # --- files, environment ---

    def act_write(self):
        box = self.pick()
        if not box:
            return
        path = f"/workspace/f{self.rng.randrange(6)}"
        size = self.rng.choice((0, 10, 1000, 30000, 300000))
        data = self.rng.randbytes(size)
        digest = Blobs.add(data) if size < 4096 else hashlib.sha256(data).hexdigest()
        box.may(path, digest)
        self.on(box, "files/upload", {"path": path, "content": base64.b64encode(data).decode()})
        box.sure(path, digest)

    def act_append(self):
        box = self.pick("host")
        if not box:
            return
        line = self.name("line") + "\n"
        old = box.value(LOG)
        digest = Blobs.add((Blobs.kept[old] if old else b"") + line.encode())
        box.may(LOG, digest)
        if old is None:
            box.may(LOG, Blobs.add(b""))  # the shell opens the file before the command writes
        if self.run(box, f"printf %s '{line}' >> {LOG}")["exitCode"] != 0:
            self.world.finding(f"{box.id}: the append failed")
        box.sure(LOG, digest)

    def act_remove(self):
        box = self.pick()
        paths = [k for k in box.keys() if k.startswith("/")] if box else []
        if not paths:
            return
        path = self.rng.choice(paths)
        box.may(path, None)
        self.on(box, "files/delete", {"path": path})
        box.sure(path, None)

    def act_env(self):
        box = self.pick()
        if not box:
            return
        key, value = f"V{self.rng.randrange(3)}", self.name("value")
        digest = Blobs.add(value.encode())
        box.may("env:" + key, digest)
        self.on(box, "env", {"vars": {key: value}})
        box.sure("env:" + key, digest)

    # --- commands ---

    def act_exec(self):
        box = self.pick("host")
        if not box:
            return
        code, word = self.rng.randrange(200), self.name("word")
        got = self.run(box, f"sleep {self.rng.random() * 0.2:.3f}; echo {word}; exit {code}")
        if (got["exitCode"], got["stdout"]) != (code, word + "\n"):
            self.world.finding(f"{box.id}: exec answered {got}")

    def act_durable(self):
        box = self.pick("host")
        if not box:
            return
        exec_id, code, steps = self.name("exec"), self.rng.randrange(200), self.rng.randrange(1, 8)
        output = "".join(f"{exec_id}/{i}\n" for i in range(steps))
        command = f"i=0; while [ $i -lt {steps} ]; do echo {exec_id}/$i; i=$((i+1)); sleep 0.2; done; exit {code}"
        one = Exec(exec_id, output, code)
        try:
            self.on(box, "exec/start", {"command": command, "execId": exec_id})
        except Cut:
            if self.until("a durable command that was cut off", lambda: self.call("GET", f"/exec/{exec_id}", ok=(200, 404))).status == 404:
                return
        box.execs.append(one)

    def act_background(self):
        box = self.pick("host")
        if not box:
            return
        word, code = self.name("word"), self.rng.randrange(200)
        started = self.on(box, "exec/background", {"command": f"sleep {self.rng.random():.3f}; echo {word}; exit {code}"}).json()
        box.execs.append(Exec(started["id"], word + "\n", code))

    def act_queue(self):
        box = self.pick("host")
        if not box:
            return
        tag = self.name("job")
        job = self.on(box, "exec/queue", {"command": f"echo {tag} >> /workspace/{tag}; sleep {self.rng.random() * 0.3:.3f}; echo did {tag}", "maxRetries": 50}).json()
        box.jobs.append(Job(job["id"], tag))

    # --- snapshots ---

    def act_snapshot(self):
        box = self.pick()
        if not box:
            return
        if len(self.snaps) >= SNAPS_MAX:
            self.drop_snapshot()
            return
        name = self.name("snap")
        try:
            record = self.on(box, "snapshots", {"name": name}).json()
        except Cut:
            records = self.until("the snapshots after a cut", lambda: self.call("GET", f"/sandboxes/{box.id}/snapshots")).json()["snapshots"]
            record = next((r for r in records if r["name"] == name), None)
        if record:
            self.snaps.append(Snap(record["id"], box))

    def drop_snapshot(self):
        snap = self.rng.choice(self.snaps)
        self.snaps.remove(snap)
        self.gone_snaps.append(snap.id)
        self.until("a snapshot to be deleted", lambda: self.call("DELETE", f"/snapshots/{snap.id}", ok=(200, 404)))

    def act_restore(self):
        box = self.pick()
        snap = self.rng.choice(self.snaps) if self.snaps else None
        if not box or not snap or snap.kind != box.kind or snap.note != box.note or box.execs or box.jobs:
            return
        old, new = box.state, copy_state(snap.state)
        new["env:GIVEN"] = old["env:GIVEN"]  # of the create: it stays with the sandbox
        box.states = [old, new]
        try:
            self.on(box, "snapshots/restore", {"snapshotId": snap.id})
        except Refused:
            self.check(box)
            return
        box.states = [new]
        self.check(box)

    def act_snapshot_clone(self):
        if not self.snaps or len(self.boxes) >= BOXES_MAX:
            return
        snap, name = self.rng.choice(self.snaps), self.name("revived")
        self.maybe.add(name)
        record = self.call("POST", f"/snapshots/{snap.id}/clone", {"name": name}).json()
        box = Box(self.world, record["id"], snap.kind, name, snap.state)
        box.note = snap.note
        self.boxes.append(box)

    # --- volumes ---

    def act_volume(self):
        if len(self.volumes) < VOLUMES_MAX:
            name = self.name("vol")
            self.maybe.add(name)
            record = self.call("POST", "/volumes", {"name": name}).json()
            self.volumes.append(Volume(record["id"], f"/mnt/{name}"))
            return
        volume = self.rng.choice(self.volumes)
        self.know_volume(volume)
        if volume.box is None:
            box = self.pick("host")
            if box:
                self.attach(volume, box)
                self.check_volume(volume)
            return
        if volume.box.paused or not volume.box.is_sure():
            self.check(volume.box)
        if self.rng.random() < 0.6:
            self.write_volume(volume)
        elif self.rng.random() < 0.8:
            self.check_volume(volume)
            self.detach(volume)
        else:
            self.drop_volume(volume)

    def know_volume(self, volume):
        """Where it is, after an attach or detach that was cut off."""
        if volume.is_sure:
            return
        records = self.call("GET", "/volumes").json()["volumes"]
        record = next((r for r in records if r["id"] == volume.id), None)
        if not record:
            self.world.finding(f"volume {volume.id} is lost")
        volume.box = next((b for b in self.boxes if b.id == record.get("sandboxId")), None)
        volume.is_sure = True

    def attach(self, volume, box):
        volume.is_sure = False
        try:
            self.call("POST", f"/volumes/{volume.id}/attach", {"sandboxId": box.id, "mountPath": volume.path}, sandbox=box)
        except Refused:
            return
        volume.box, volume.is_sure = box, True

    def detach(self, volume):
        volume.is_sure = False
        box = volume.box
        # a sandbox whose agent was killed takes its volumes off by itself
        reply = self.call("POST", f"/volumes/{volume.id}/detach", sandbox=box, ok=(200, 409))
        if reply.status == 409 and not box.may_be_gone():
            self.world.finding(f"detach of {volume.id} from {box.id}: {reply.error}")
        volume.box, volume.is_sure = None, True

    def write_volume(self, volume):
        name, text = f"f{self.rng.randrange(3)}", self.name("text")
        volume.state.setdefault(name, {""}).add(text)
        got = self.run(volume.box, f"cd {volume.path} && printf %s {text} > .new && mv .new {name}")
        if got["exitCode"] != 0:
            self.world.finding(f"write to volume {volume.id} in {volume.box.id}: {got}")
        volume.state[name] = {text}

    def check_volume(self, volume):
        if volume.box is None:
            return
        for name, allowed in volume.state.items():
            got = self.run(volume.box, f"cat {volume.path}/{name} 2>/dev/null; mountpoint -q {volume.path} || echo NOT MOUNTED")
            if got["stdout"] not in allowed:
                self.world.finding(f"volume {volume.id} in {volume.box.id}: {name} has {got['stdout']!r}, not {allowed}")
            volume.state[name] = {got["stdout"]}

    def drop_volume(self, volume):
        self.detach(volume)
        self.volumes.remove(volume)
        self.gone_volumes.append(volume.id)
        self.until("a volume to be deleted", lambda: self.call("DELETE", f"/volumes/{volume.id}", ok=(200, 404)))

    # --- networks ---

    def act_network(self):
        if len(self.nets) < NETS_MAX:
            name = self.name("net")
            self.maybe.add(name)
            self.nets.append(Net(self.call("POST", "/networks", {"name": name}).json()["id"], name))
            return
        net = self.nets[0]
        self.know_net(net)
        box = self.pick("host")
        if not box:
            return
        if box in net.members and self.rng.random() < 0.3:
            net.is_sure = False
            self.call("POST", f"/networks/{net.id}/disconnect", {"sandboxId": box.id}, sandbox=box)
            net.members.remove(box)
            net.is_sure = True
        elif box not in net.members:
            net.is_sure = False
            self.call("POST", f"/networks/{net.id}/connect", {"sandboxId": box.id}, sandbox=box)
            net.members.append(box)
            net.is_sure = True
        elif len(net.members) > 1:
            self.check_net(net)

    def know_net(self, net):
        record = next((r for r in self.call("GET", "/networks").json()["networks"] if r["id"] == net.id), None)
        if not record:
            self.world.finding(f"network {net.id} is lost")
        if not net.is_sure:
            net.members = [b for b in self.boxes if b.id in record["sandboxes"]]
            net.is_sure = True
        lost = [b.id for b in net.members if b.id not in record["sandboxes"] and not b.may_be_gone()]
        if lost:
            self.world.finding(f"network {net.id} lost its members {lost}: {record}")

    def check_net(self, net):
        """A refused connection came from the other end: both are on the same network."""
        one, other = self.rng.sample(net.members, 2)
        self.awake(one)
        self.awake(other)
        code = f"import socket; s = socket.socket(); s.settimeout(2); print(s.connect_ex(('{other.id}', 9)))"

        def is_reached():
            if one.may_be_gone() or other.may_be_gone():
                raise Lost(one.id if one.may_be_gone() else other.id)
            return self.run(one, ["python3", "-c", code])["stdout"] == "111\n"
        self.until(f"{other.id} to be reached from {one.id} over {net.id}", is_reached)

    # --- images ---

    def tool(self, *args):
        """Runs `iii image …`; None when it was killed."""
        world = self.world
        proc = subprocess.Popen([str(world.server.binary), "image", *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                env=harness.clean_env({"III_DATA_DIR": world.server.data_dir, "HOME": world.server.home}))
        world.tools.append(proc)
        out, _ = proc.communicate(timeout=harness.DEADLINE_S * 2)
        world.tools.remove(proc)
        world.note(f"iii image {' '.join(map(str, args))} -> {proc.returncode} {out[-100:]!r}")
        if proc.returncode < 0:
            return None
        if proc.returncode != 0:
            world.finding(f"iii image {args} ended with {proc.returncode}: {out[-500:]!r}")
        return out

    def act_image(self):
        if len(self.images) >= IMAGES_MAX:
            name, _ = self.images.pop(self.rng.randrange(len(self.images)))
            if self.rng.random() < 0.5 and self.tool("rm", name) is not None:
                self.call("POST", "/sandboxes", {"image": name}, ok=(403, 404))
            else:
                self.until("an image to be removed", lambda: self.call("DELETE", f"/images/{name}", ok=(200, 404)))
            return
        name, note = self.name("img"), self.name("note") + "\n"
        path = self.scratch / f"{name}.tar"
        path.write_bytes(images.pack(images.base_entries(self.world.program, note.encode()) + [images.entry("pad", self.rng.randbytes(400000))]))
        done = self.tool("import", str(path), name)
        path.unlink()
        if done is None:
            listed = [i["name"] for i in self.until("the images", lambda: self.call("GET", "/images")).json()["images"]]
            if not any(name in one for one in listed):
                return
        self.images.append((name, note))

    # --- the engine ---

    def act_engine(self):
        """A call over the engine's socket: its own sandbox, a file, a command, and its end."""
        if not self.world.up.wait(harness.DEADLINE_S * 4):
            self.world.finding("the server did not come back")
        epoch, handovers, name, word = self.world.epoch, self.world.handovers, self.name("fn"), self.name("word")
        self.maybe.add(name)
        try:
            with engineclient.Worker(self.world.server.engine_port, timeout_s=harness.DEADLINE_S * 2) as worker:
                if self.rng.random() < 0.5:
                    got = worker.call("sandbox::run", {"image": "python", "lang": "shell", "code": f"echo {word}", "name": name})
                else:
                    sid = worker.call("sandbox::create", {"image": "python", "name": name})["sandbox_id"]
                    worker.call("sandbox::fs::write", {"sandbox_id": sid, "path": "/f", "content": word})
                    got = worker.call("sandbox::exec", {"sandbox_id": sid, "argv": ["sh", "-c", "cat /f; echo"]})
                    worker.call("sandbox::stop", {"sandbox_id": sid, "wait": True})
        except engineclient.Failed as failed:
            self.world.note(f"engine {name}: {failed}")
            is_young = time.monotonic() - self.world.helper_end < AFTER_KILL_S
            if not is_young or not re.search(r'"S300"|"S002"|"S216".*the sandbox.s agent', failed.message):
                self.world.finding(f"engine call for {name}: {failed}")
            return
        except (OSError, wsclient.Closed, EOFError) as error:
            self.caller.explain(epoch, f"engine: {type(error).__name__} {error}", handovers)
            raise Cut("engine") from None
        self.world.note(f"engine {name} -> {got.get('stdout')!r}")
        if got["stdout"] != word + "\n":
            self.world.finding(f"engine call answered {got}")

    # --- the run ---

    ACTIONS = (("create", 8), ("delete", 3), ("pause", 4), ("stop", 6), ("clone", 3), ("write", 12), ("append", 10), ("remove", 2), ("env", 4), ("exec", 8),
               ("durable", 5), ("background", 4), ("queue", 5), ("snapshot", 5), ("restore", 3), ("snapshot_clone", 2), ("volume", 7),
               ("network", 4), ("image", 2), ("engine", 3))

    def step(self, name, action):
        self.world.counts[name] += 1
        try:
            action()
        except Cut:
            self.world.counts["cut"] += 1
        except Refused:
            pass
        except Lost as lost:
            for box in [b for b in self.boxes if b.id == str(lost)]:
                self.lose(box)

    def work(self, until):
        names, weights = zip(*self.ACTIONS)
        while time.monotonic() < until and not self.world.stop.is_set():
            name = self.rng.choices(names, weights)[0]
            if self.rng.random() < 0.1 and self.boxes:
                box = self.rng.choice(self.boxes)
                self.step("check", lambda: self.check(box))
            else:
                self.step(name, getattr(self, "act_" + name))
