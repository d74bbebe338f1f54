"""Templates: the built-in ones, own ones, and sandboxes made from them."""
import re

import pytest

import harness

SERVER_ENV = {"III_MAX_TEMPLATES": "5", "III_MAX_MEMORY": "4096"}
BUILTINS = {
    "python-data-science": {"image": "python", "memory": 1024, "timeout": 7200, "env": {"PYTHONUNBUFFERED": "1"}},
    "node-web": {"image": "node", "memory": 512, "timeout": 3600, "network": True},
    "go-api": {"image": "golang:1.22-alpine", "memory": 512, "timeout": 3600, "network": True},
    "rust-cli": {"image": "rust:1.77-slim", "memory": 1024, "timeout": 7200},
}


@pytest.fixture
def template(client):
    """template(name, config, **fields) saves one; all are deleted after the test."""
    made = []

    def save(name, config, **fields):
        record = client.ok("POST", "/templates", {"name": name, "config": config, **fields})
        made.append(record["id"])
        return record

    yield save
    for tid in made:
        assert client.delete(f"/templates/{tid}").status in (200, 404)


def test_the_built_in_ones(client):
    listed = {t["name"]: t for t in client.ok("GET", "/templates")["templates"]}
    for name, config in BUILTINS.items():
        record = listed[name]
        assert record["id"] == "tpl_" + name and record["builtin"] is True and record["createdAt"] == 0
        assert record["config"] == config and isinstance(record["description"], str)
        assert client.ok("GET", f"/templates/tpl_{name}") == record
        reply = client.delete(f"/templates/tpl_{name}")
        assert reply.status == 409 and "built in" in reply.error


def test_save_list_get_delete(client, template):
    record = template("mine", {"image": "python", "memory": 99999, "junk": 1}, description="what for")
    assert record.pop("warnings") == ["config.junk: unknown field"]
    assert re.fullmatch(r"tpl_[0-9a-f]{24}", record["id"])
    assert record["builtin"] is False and record["description"] == "what for" and record["createdAt"] > 0
    assert record["config"] == {"image": "python", "memory": 99999}  # not clamped here, and nothing unknown
    assert client.ok("GET", f"/templates/{record['id']}") == record
    assert record in client.ok("GET", "/templates")["templates"]
    reply = client.post("/templates", {"name": "mine", "config": {"image": "python"}})
    assert reply.status == 409 and "mine" in reply.error
    assert client.post("/templates", {"name": "rust-cli", "config": {"image": "python"}}).status == 409
    assert client.ok("DELETE", f"/templates/{record['id']}") == {"deleted": record["id"]}
    for method in ("GET", "DELETE"):
        reply = client.call(method, f"/templates/{record['id']}")
        assert reply.status == 404 and "not found" in reply.error


def test_the_default_description_is_empty(template):
    assert template("bare", {"image": "python"})["description"] == ""


@pytest.mark.parametrize("body", [{}, {"name": "x"}, {"config": {"image": "python"}}, {"name": "x", "config": {}}, {"name": "", "config": {"image": "p"}},
                                  {"name": "x", "config": []}, {"name": "x", "config": {"memory": 64}}])
def test_bad_bodies(client, body):
    reply = client.post("/templates", body)
    assert reply.status == 400 and reply.error


def test_a_sandbox_from_a_template(client, template, new_sandbox):
    record = template("base", {"image": "python", "memory": 99999, "timeout": 120, "env": {"A": "1", "B": "2"}, "metadata": {"team": "x"}})
    made = new_sandbox(image=None, template="base")  # null counts as absent
    assert made["image"] == "python" and made["config"]["memory"] == 4096 and made["config"]["timeout"] == 120
    assert made["metadata"] == {"team": "x"} and "template" not in made["config"]
    assert client.exec(made["id"], "echo $A$B")["stdout"] == "12\n"
    by_id = new_sandbox(image=None, template=record["id"], memory=128, env={"C": "3"})
    assert by_id["config"]["memory"] == 128
    assert client.exec(by_id["id"], "echo $A$B$C")["stdout"] == "3\n"  # shallow: the request's env replaces the template's


def test_the_image_of_the_request_wins(template, new_sandbox):
    template("other-image", {"image": "no-such-image-anywhere", "timeout": 333})
    made = new_sandbox(image="python", template="other-image")
    assert made["image"] == "python" and made["config"]["timeout"] == 333


def test_unknown_template_and_empty_image(client):
    reply = client.post("/sandboxes", {"template": "nobody"})
    assert reply.status == 404 and "template not found" in reply.error
    assert client.post("/sandboxes", {"image": ""}).status == 400


def test_the_limit(client, template):
    for number in range(5):
        template(f"limit{number}", {"image": "python"})
    reply = client.post("/templates", {"name": "one more", "config": {"image": "python"}})
    assert reply.status == 503 and "III_MAX_TEMPLATES" in reply.error


def test_they_survive_a_restart():
    server = harness.Server()
    try:
        server.start()
        with harness.Client(server.port) as caller:
            record = caller.ok("POST", "/templates", {"name": "kept", "config": {"image": "python"}})
        server.kill()
        server.start()
        with harness.Client(server.port) as caller:
            assert caller.ok("GET", f"/templates/{record['id']}") == record
            assert len(caller.ok("GET", "/templates")["templates"]) == len(BUILTINS) + 1
        server.stop()
    finally:
        server.remove()
