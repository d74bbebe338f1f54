"""A worker of the engine in the test's own thread: sends messages of the protocol, waits for others."""
import json
import uuid

import harness
import wsclient


class Failed(Exception):
    """An invocation's error body."""

    def __init__(self, body):
        super().__init__(json.dumps(body))
        self.body, self.code, self.message = body, body["code"], body["message"]


class Worker:
    def __init__(self, port, path="/", headers=None, name=None, timeout_s=None):
        self.ws = wsclient.WebSocket(port, path, headers, timeout_s)
        self.seen = []
        self.greeting = self.expect("workerregistered")
        self.id, self.token = self.greeting["worker_id"], self.greeting["reattach_token"]
        if name:
            self.describe(name=name, pid=1, runtime="python", version="1")

    def send(self, **message):
        self.ws.send(json.dumps(message))

    def describe(self, **about):
        self.send(type="invokefunction", function_id="engine::workers::register", data=about, action={"type": "void"})

    def next(self):
        return json.loads(self.ws.recv())

    def expect(self, kind, **members):
        """The first message of that type with those members; the others are kept for later calls."""
        def fits(message):
            return message["type"] == kind and all(message.get(k) == v for k, v in members.items())
        for message in self.seen:
            if fits(message):
                self.seen.remove(message)
                return message
        while True:
            message = self.next()
            if fits(message):
                return message
            self.seen.append(message)

    def ask(self, function_id, data=None, **more):
        """Sends a call, returns its id."""
        call_id = str(uuid.uuid4())
        body = {} if data is None else {"data": data}
        self.send(type="invokefunction", invocation_id=call_id, function_id=function_id, **body, **more)
        return call_id

    def answer_to(self, call_id):
        message = self.expect("invocationresult", invocation_id=call_id)
        if message.get("error"):
            raise Failed(message["error"])
        return message.get("result")

    def call(self, function_id, data=None, **more):
        return self.answer_to(self.ask(function_id, data, **more))

    def fail(self, function_id, data=None, **more):
        """The error of a call that must fail."""
        try:
            result = self.call(function_id, data, **more)
        except Failed as why:
            return why
        raise AssertionError(f"{function_id} answered {result!r}")

    def void(self, function_id, data):
        self.send(type="invokefunction", function_id=function_id, data=data, action={"type": "void"})

    def register(self, function_id, **about):
        self.send(type="registerfunction", id=function_id, **about)
        self.sync()

    def bind(self, kind, function_id, config, **more):
        trigger_id = str(uuid.uuid4())
        self.send(type="registertrigger", id=trigger_id, trigger_type=kind, function_id=function_id, config=config, **more)
        self.sync()
        return trigger_id

    def sync(self):
        """Everything sent so far was handled: messages of one connection are, in order."""
        self.send(type="ping")
        self.expect("pong")

    def asked(self, function_id=None):
        """The next call this worker is to carry out."""
        return self.expect("invokefunction", **({"function_id": function_id} if function_id else {}))

    def reply(self, asked, result=None, error=None):
        body = {"error": error} if error else {"result": result}
        self.send(type="invocationresult", invocation_id=asked["invocation_id"], function_id=asked["function_id"], **body)

    def serve(self, function_id, fn):
        """Carries out the next call with fn(data)."""
        asked = self.asked(function_id)
        self.reply(asked, fn(asked["data"]))
        return asked

    def channel(self, **data):
        return self.call("engine::channels::create", data)

    def close(self):
        self.ws.close()

    def cut(self):
        self.ws.cut()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ws.cut()


def channel_path(ref):
    return f"/ws/channels/{ref['channel_id']}?key={ref['access_key']}&dir={ref['direction']}"


def open_channel(port, ref):
    return wsclient.WebSocket(port, channel_path(ref), timeout_s=harness.DEADLINE_S)
