"""Environment variables of a sandbox."""
import pytest

import harness


def test_set_get_list_delete(sandbox, client):
    base = f"/sandboxes/{sandbox}/env"
    done = client.ok("POST", base, {"vars": {"MY_VAR": "test123", "OTHER": "two words"}})
    assert sorted(done["set"]) == ["MY_VAR", "OTHER"] and done["count"] == 2
    assert client.ok("POST", base + "/get", {"key": "MY_VAR"}) == {"key": "MY_VAR", "value": "test123", "exists": True}
    listed = client.ok("GET", base)
    assert listed["vars"]["MY_VAR"] == "test123" and listed["count"] == len(listed["vars"])
    assert {"PATH", "HOME", "HOSTNAME"} <= set(listed["vars"])
    assert client.exec(sandbox, 'echo "$MY_VAR/$OTHER"')["stdout"] == "test123/two words\n"
    assert "MY_VAR=test123" in client.exec(sandbox, "cat /etc/environment")["stdout"].splitlines()
    assert client.ok("POST", base + "/delete", {"key": "MY_VAR"}) == {"deleted": "MY_VAR"}
    assert client.ok("POST", base + "/get", {"key": "MY_VAR"}) == {"key": "MY_VAR", "value": None, "exists": False}
    assert client.exec(sandbox, 'echo "[$MY_VAR]"')["stdout"] == "[]\n"
    lines = client.exec(sandbox, "cat /etc/environment")["stdout"].splitlines()
    assert "MY_VAR=test123" not in lines and "OTHER=two words" in lines


def test_every_later_process_has_it(sandbox, client):
    client.ok("POST", f"/sandboxes/{sandbox}/env", {"vars": {"COLOUR": "blue"}})
    events = list(client.events("POST", f"/sandboxes/{sandbox}/exec/stream", {"command": ["printenv", "COLOUR"]}))
    assert events[0]["data"] == "blue\n"
    job = client.ok("POST", f"/sandboxes/{sandbox}/exec/background", {"command": "echo $COLOUR"})
    harness.wait_until(lambda: client.ok("GET", f"/exec/background/{job['id']}/logs")["output"] == "blue\n", "the background command's output")


def test_a_value_of_several_lines_is_one_line_of_the_file(sandbox, client):
    client.ok("POST", f"/sandboxes/{sandbox}/env", {"vars": {"LINES_": "one\nFORGED=yes\r\nthree"}})
    assert client.exec(sandbox, 'printf %s "$LINES_"')["stdout"] == "one\nFORGED=yes\r\nthree"
    lines = client.exec(sandbox, "cat /etc/environment")["stdout"].splitlines()
    assert "LINES_=one FORGED=yes  three" in lines and not any(line.startswith("FORGED") for line in lines)


def test_a_later_value_wins_over_the_configuration(new_sandbox, client):
    sid = new_sandbox(env={"A": "config", "B": "config"})["id"]
    client.ok("POST", f"/sandboxes/{sid}/env", {"vars": {"A": "set"}})
    assert client.exec(sid, "echo $A $B")["stdout"] == "set config\n"
    client.ok("POST", f"/sandboxes/{sid}/env/delete", {"key": "B"})
    assert client.exec(sid, 'echo "[$B]"')["stdout"] == "[]\n"
    assert client.ok("POST", f"/sandboxes/{sid}/env/get", {"key": "B"})["exists"] is False


def test_deleting_what_is_not_set(sandbox, client):
    assert client.ok("POST", f"/sandboxes/{sandbox}/env/delete", {"key": "NEVER"}) == {"deleted": "NEVER"}
    assert client.ok("POST", f"/sandboxes/{sandbox}/env/get", {"key": "NEVER"}) == {"key": "NEVER", "value": None, "exists": False}


def test_values_are_kept_as_they_are(sandbox, client):
    value = "a=b \"c\" 'd' $HOME `x` \\ żółć"
    client.ok("POST", f"/sandboxes/{sandbox}/env", {"vars": {"V": value}})
    assert client.exec(sandbox, ["printenv", "V"])["stdout"] == value + "\n"
    assert client.ok("POST", f"/sandboxes/{sandbox}/env/get", {"key": "V"})["value"] == value


@pytest.mark.parametrize("vars_", [{}, {"1A": "x"}, {"": "x"}, {"A-B": "x"}, {"A B": "x"}, {"A=B": "x"}, {"A": 5}, {"A": None}, [], "A=b", None,
                                   {"Ż": "x"}])
def test_bad_vars(box, client, vars_):
    reply = client.post(f"/sandboxes/{box}/env", {"vars": vars_})
    assert reply.status == 400 and reply.error


@pytest.mark.parametrize("key", ["", "1A", "A-B", "A B", 5, None, "A\n"])
def test_bad_keys(box, client, key):
    for what in ("get", "delete"):
        assert client.post(f"/sandboxes/{box}/env/{what}", {"key": key}).status == 400


def test_one_bad_key_sets_nothing(box, client):
    assert client.post(f"/sandboxes/{box}/env", {"vars": {"GOOD_ONE": "x", "bad-one": "y"}}).status == 400
    assert client.ok("POST", f"/sandboxes/{box}/env/get", {"key": "GOOD_ONE"})["exists"] is False


def test_a_running_sandbox_is_needed(new_sandbox, client):
    sid = new_sandbox()["id"]
    client.ok("POST", f"/sandboxes/{sid}/pause")
    assert client.post(f"/sandboxes/{sid}/env", {"vars": {"A": "b"}}).status == 409
    assert client.get(f"/sandboxes/{sid}/env").status == 409
    assert client.get(f"/sandboxes/{harness.UNKNOWN}/env").status == 404
