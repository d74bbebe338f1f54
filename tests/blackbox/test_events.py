"""Events: everything that happens is recorded once, can be paged and filtered, and followed live with resume."""
import http.client
import json

import harness

SERVER_ENV = {"III_MAX_EVENTS": "100"}


class Follower:
    """One connection to the event stream; reads (id, event) pairs."""

    def __init__(self, server, query="", last=None):
        self.conn = http.client.HTTPConnection("127.0.0.1", server.port, timeout=harness.DEADLINE_S)
        self.conn.request("GET", "/sandbox/stream/events" + query, headers={"Last-Event-ID": last} if last else {})
        self.answer = self.conn.getresponse()
        self.has_ids = bool(last) or "ids=true" in query
        assert self.answer.status == 200
        assert self.answer.getheader("Content-Type").startswith("text/event-stream")
        assert self.answer.getheader("Cache-Control") == "no-cache"

    def next(self):
        ident = None
        while True:
            line = self.answer.readline()
            assert line, "the stream ended"
            if line.startswith(b"id: "):
                ident = line[4:].strip().decode()
            if line.startswith(b"data: "):
                event = json.loads(line[6:])
                assert ident == (event["id"] if self.has_ids else None), "id lines only for those who ask: other parsers know data lines only"
                return event

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.conn.close()


def publish(client, topic, sandbox_id="sbx_of_nobody", **fields):
    return client.ok("POST", "/events/publish", {"topic": topic, "sandboxId": sandbox_id, **fields})


def history(client, **query):
    tail = "&".join(f"{k}={v}" for k, v in query.items())
    return client.ok("GET", "/events/history?" + tail)


def test_a_published_event_is_recorded_once_and_as_it_was_given(client):
    event = publish(client, "my.topic", data={"n": 1, "deep": {"list": [1, "two", None]}})
    assert event["id"].startswith("evt_") and event["topic"] == "my.topic" and event["sandboxId"] == "sbx_of_nobody"
    assert event["data"] == {"n": 1, "deep": {"list": [1, "two", None]}}
    found = history(client, topic="my.topic", sandboxId="sbx_of_nobody")
    assert found == {"events": [event], "total": 1}


def test_null_and_absent_data_become_an_empty_object(client):
    assert publish(client, "no.data")["data"] == {}
    assert publish(client, "no.data", data=None)["data"] == {}
    assert [e["data"] for e in history(client, topic="no.data")["events"]] == [{}, {}]


def test_bad_events_are_refused(client):
    for body in ({}, {"topic": "t"}, {"sandboxId": "s"}, {"topic": "", "sandboxId": "s"}, {"topic": "t", "sandboxId": "s", "data": [1]},
                 {"topic": "t" * 256, "sandboxId": "s"}):
        assert client.post("/events/publish", body).status == 400, body
    reply = client.post("/events/publish", {"topic": "big", "sandboxId": "s", "data": {"x": "y" * 262144}})
    assert reply.status == 413 and "262144" in reply.error
    assert history(client, topic="big")["total"] == 0


def test_history_is_newest_first_and_paged(client):
    made = [publish(client, "page", data={"n": n})["id"] for n in range(7)]
    first = history(client, topic="page", limit=3)
    assert first["total"] == 7 and [e["id"] for e in first["events"]] == made[:3:-1]
    second = history(client, topic="page", limit=3, offset=3)
    assert second["total"] == 7 and [e["id"] for e in second["events"]] == made[3:0:-1]
    assert [e["id"] for e in history(client, topic="page", offset=6)["events"]] == made[:1]
    assert history(client, topic="page", offset=7) == {"events": [], "total": 7}
    assert history(client, topic="page", limit=0) == {"events": [], "total": 7}
    assert client.get("/events/history?limit=x").status == 400
    assert client.get("/events/history?offset=-1").status == 400


def test_only_the_newest_are_kept(client):
    for n in range(130):
        publish(client, "many", data={"n": n})
    found = history(client, limit=1000)
    assert found["total"] == 100 and len(found["events"]) == 100
    assert [e["data"]["n"] for e in found["events"]] == list(range(129, 29, -1))


def test_the_life_of_a_sandbox_is_told(client):
    sid = client.create()["id"]
    client.exec(sid, "true")
    client.ok("POST", f"/sandboxes/{sid}/pause")
    client.ok("POST", f"/sandboxes/{sid}/resume")
    client.ok("DELETE", f"/sandboxes/{sid}")
    found = history(client, sandboxId=sid)
    assert [e["topic"] for e in found["events"]] == ["sandbox.killed", "sandbox.resumed", "sandbox.paused", "sandbox.exec", "sandbox.created"]
    assert all(e["data"]["sandboxId"] == sid for e in found["events"])
    assert found["events"][3]["data"]["exitCode"] == 0


def test_events_are_streamed_as_they_occur(server, client):
    with Follower(server) as all_of_them, Follower(server, "?topic=live.b") as some:
        a = publish(client, "live.a")
        b = publish(client, "live.b", data={"x": "zwei\nZeilen"})
        assert [all_of_them.next(), all_of_them.next()] == [a, b]
        assert some.next() == b
        sid = client.create()["id"]
        client.ok("DELETE", f"/sandboxes/{sid}")
        assert [all_of_them.next()["topic"] for _ in range(2)] == ["sandbox.created", "sandbox.killed"]


def test_a_reader_goes_on_where_it_was(server, client):
    with Follower(server, "?topic=resume") as one:
        first = publish(client, "resume", data={"n": 1})
        assert one.next() == first
    with Follower(server, "?topic=resume2&ids=true") as browser:
        assert publish(client, "resume2") == browser.next()
    missed = [publish(client, "resume", data={"n": n}) for n in (2, 3)]
    publish(client, "other")
    with Follower(server, "?topic=resume", last=first["id"]) as again:
        assert [again.next(), again.next()] == missed
        live = publish(client, "resume", data={"n": 4})
        assert again.next() == live
    # An id that is not kept any more: everything that is kept. Text that is no event id: live only.
    with Follower(server, "?topic=resume", last="evt_" + "0" * 24) as old:
        assert [old.next()["data"]["n"] for _ in range(4)] == [1, 2, 3, 4]
    with Follower(server, "?topic=resume", last="nonsense") as fresh:
        live = publish(client, "resume", data={"n": 5})
        assert fresh.next() == live


def test_a_reader_that_does_not_read_holds_up_nobody(server, client):
    with Follower(server, "?topic=flood") as slow:
        for n in range(40):
            publish(client, "flood", data={"n": n, "x": "y" * 200000})
        assert client.get("/health").status == 200
        assert [slow.next()["data"]["n"] for _ in range(40)] == list(range(40))


def test_history_survives_a_restart(server, client):
    event = publish(client, "restart")
    with harness.Server(env={"III_MAX_EVENTS": "100"}) as other:
        caller = other.client()
        kept = publish(caller, "kept", data={"n": 1})
        caller.close()
        other.stop()
        other.start()
        caller = other.client()
        assert history(caller, topic="kept") == {"events": [kept], "total": 1}
        with Follower(other, last=kept["id"]) as live:
            after = publish(caller, "kept", data={"n": 2})
            assert live.next() == after
    assert history(client, topic="restart")["events"] == [event]
