"""GET /sandboxes/:id/stream/logs: the output of the main process, line by line."""
import harness


def texts(events, kinds=("stdout",)):
    return [e["data"] for e in events if e["type"] in kinds]


def all_of(client, sid, query=""):
    events = list(client.events("GET", f"/sandboxes/{sid}/stream/logs{query}"))
    assert events[-1]["type"] == "end" and events[-1]["data"] == ""
    assert all(set(e) == {"type", "data", "timestamp"} and "\n" not in e["data"] for e in events)
    return texts(events)


def ended(client, new_sandbox, script):
    """A sandbox whose main process has run the script to its end."""
    sid = new_sandbox(entrypoint=["sh", "-c", script])["id"]
    all_of(client, sid)  # follows until the process has ended
    return sid


def test_an_idle_sandbox_has_an_empty_log(client, sandbox):
    client.exec(sandbox, "echo not the main process")
    assert all_of(client, sandbox, "?follow=false") == []


def test_lines_come_whole_and_in_order(client, new_sandbox):
    sid = ended(client, new_sandbox, "printf 'one\\ntwo\\n\\nfour'; printf ' and no end of line'")
    assert all_of(client, sid, "?follow=false") == ["one", "two", "", "four and no end of line"]
    assert all_of(client, sid) == ["one", "two", "", "four and no end of line"], "it has ended: so does following"


def test_each_line_says_which_output_it_came_from(client, new_sandbox):
    sid = new_sandbox(entrypoint=["sh", "-c", "echo one; printf begin; echo oops >&2; printf ' end'; printf 'last words' >&2"])["id"]
    events = list(client.events("GET", f"/sandboxes/{sid}/stream/logs"))
    assert texts(events) == ["one", "begin end"]
    assert texts(events, ("stderr",)) == ["oops", "last words"]
    assert {e["type"] for e in events} == {"stdout", "stderr", "end"}


def test_tail(client, new_sandbox):
    sid = ended(client, new_sandbox, "seq 1 250")
    assert all_of(client, sid, "?follow=false") == [str(n) for n in range(151, 251)]
    assert all_of(client, sid, "?follow=false&tail=3") == ["248", "249", "250"]
    assert all_of(client, sid, "?follow=false&tail=1") == ["250"]
    assert all_of(client, sid, "?follow=false&tail=0") == []
    assert all_of(client, sid, "?follow=false&tail=250") == [str(n) for n in range(1, 251)]
    assert all_of(client, sid, "?follow=false&tail=99999") == [str(n) for n in range(1, 251)]
    assert client.get(f"/sandboxes/{sid}/stream/logs?tail=many").status == 400


def test_the_tail_of_a_large_log(client, new_sandbox):
    sid = ended(client, new_sandbox, "seq 1000000 1149999")  # 1.2 MB: several steps back
    assert all_of(client, sid, "?follow=false&tail=2") == ["1149998", "1149999"]
    found = all_of(client, sid, "?follow=false&tail=90000")
    assert len(found) == 90000 and found[0] == "1060000" and found[-1] == "1149999"


def test_long_lines_and_letters_stay_whole(client, new_sandbox):
    sid = ended(client, new_sandbox, "python3 -c \"print('ä' * 100000); print('x')\"")
    found = all_of(client, sid, "?follow=false")
    assert "".join(found[:-1]) == "ä" * 100000 and found[-1] == "x" and len(found) > 2


def test_following(client, server, new_sandbox):
    sid = new_sandbox(entrypoint=["sh", "-c", "echo begin; while ! test -e /tmp/go; do sleep 0.02; done; echo more; cat /tmp/go"])["id"]
    events = client.events("GET", f"/sandboxes/{sid}/stream/logs")
    assert next(events)["data"] == "begin"
    with harness.Client(server.port) as other:
        other.exec(sid, "echo gone > /tmp/x; mv /tmp/x /tmp/go")
    rest = list(events)
    assert texts(rest) == ["more", "gone"] and rest[-1]["type"] == "end"


def test_it_ends_with_the_sandbox(client, server, new_sandbox):
    sid = new_sandbox(entrypoint=["sh", "-c", "echo begin; sleep 100"])["id"]
    events = client.events("GET", f"/sandboxes/{sid}/stream/logs")
    assert next(events)["data"] == "begin"
    with harness.Client(server.port) as other:
        other.ok("DELETE", f"/sandboxes/{sid}")
    assert list(events)[-1]["type"] == "end"


def test_an_idle_log_that_is_followed_ends_with_the_sandbox(client, server, sandbox):
    answer = client.open("GET", f"/sandboxes/{sandbox}/stream/logs")
    with harness.Client(server.port) as other:
        other.ok("DELETE", f"/sandboxes/{sandbox}")
    assert b'"type":"end"' in answer.read()
    client.close()


def test_errors_come_before_the_stream(client, sandbox):
    assert client.get(f"/sandboxes/{harness.UNKNOWN}/stream/logs").status == 404
    client.ok("POST", f"/sandboxes/{sandbox}/pause")
    assert client.get(f"/sandboxes/{sandbox}/stream/logs").status == 409
