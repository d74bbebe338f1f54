"""What must be true of one sandbox, snapshot or volume after all that was acknowledged.

A state is {key: set of values}: more than one value means that a call was cut off and either may be found. A key is a path, or
`env:NAME`; a value is the SHA-256 of the content, or None for absent. A sandbox has a list of such states: more than one after a
restore that was cut off, which either happened as a whole or not at all."""
import hashlib
import time


class Blobs:
    """Contents by hash, for those that a later call appends to."""
    kept = {}

    @classmethod
    def add(cls, data):
        digest = hashlib.sha256(data).hexdigest()
        cls.kept[digest] = data
        return digest


def copy_state(state):
    return {key: set(values) for key, values in state.items()}


class Box:
    """A sandbox that was acknowledged."""

    def __init__(self, world, sid, kind, name, state=None, expires=None):
        self.world, self.id, self.kind, self.name = world, sid, kind, name
        self.states = [copy_state(state or {})]
        self.paused = False   # what wakes it: "resume" or "start"; None: a pause, a stop or a wake was cut off
        self.doomed = False   # a delete was sent and not answered
        self.expires = expires
        self.execs, self.jobs = [], []
        self.note = None      # of an imported image

    def may_be_gone(self):
        return self.doomed or self.id in self.world.agents_killed or (self.expires is not None and time.time() > self.expires - 1)

    @property
    def state(self):
        assert len(self.states) == 1
        return self.states[0]

    def is_sure(self):
        return len(self.states) == 1 and self.paused is not None and not self.doomed and all(len(v) == 1 for v in self.states[0].values())

    def may(self, key, value):
        self.state.setdefault(key, {None}).add(value)

    def sure(self, key, value):
        self.state[key] = {value}

    def value(self, key):
        (value,) = self.state.get(key, {None})
        return value

    def keys(self):
        return sorted(set().union(*self.states))

    def settle(self, seen):
        """Takes what was seen as the truth when it is allowed; else says what is wrong."""
        for state in self.states:
            if all(seen[key] in state.get(key, {None}) for key in seen):
                self.states = [{key: {value} for key, value in seen.items()}]
                return None
        wrong = [{key: (seen[key], state.get(key, {None})) for key in seen if seen[key] not in state.get(key, {None})} for state in self.states]
        return f"sandbox {self.id} ({self.kind}): key: (seen, allowed): {wrong}"


class Exec:
    """A durable or background command and what it must print and end with."""

    def __init__(self, exec_id, output, code):
        self.id, self.output, self.code = exec_id, output, code


class Job:
    """A queued command: runs at least once and leaves a line in a file each time."""

    def __init__(self, job_id, tag):
        self.id, self.tag = job_id, tag


class Snap:
    def __init__(self, snap_id, box):
        self.id, self.box_id, self.kind, self.note, self.state = snap_id, box.id, box.kind, box.note, copy_state(box.state)


class Volume:
    def __init__(self, volume_id, path):
        self.id, self.path, self.box, self.is_sure, self.state = volume_id, path, None, True, {}


class Net:
    def __init__(self, net_id, name):
        self.id, self.name, self.members, self.is_sure = net_id, name, [], True
