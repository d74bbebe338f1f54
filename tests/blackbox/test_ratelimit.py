"""Rate limits: a bucket for each presented token, and for each sandbox."""
import harness

SERVER_ENV = {"III_RATE_LIMIT_ENABLED": "true", "III_RATE_TOKEN_RPM": "1", "III_RATE_TOKEN_BURST": "5", "III_RATE_SBX_EXEC_PM": "3",
              "III_RATE_SBX_FS_PM": "4"}


def test_a_token_has_its_burst(server):
    with harness.Client(server.port, "alice") as alice, harness.Client(server.port, "bob") as bob:
        assert [alice.get("/sandboxes").status for _ in range(7)] == [200] * 5 + [429] * 2
        refused = alice.get("/sandboxes")
        assert refused.error == "Rate limit exceeded"
        assert bob.get("/sandboxes").status == 200


def test_the_word_bearer_does_not_make_another_bucket(server):
    with harness.Client(server.port) as caller:
        values = ["Bearer carol", "carol"] * 4
        assert [caller.get("/sandboxes", headers={"Authorization": v}).status for v in values] == [200] * 5 + [429] * 3


def test_no_header_no_limit_and_health_is_free(server, client):
    assert {client.get("/sandboxes").status for _ in range(30)} == {200}
    with harness.Client(server.port, "dave") as dave:
        assert {dave.get("/health").status for _ in range(30)} == {200}


def test_streams_count_too(server):
    with harness.Client(server.port, "erin") as erin:
        paths = [f"/sandboxes/sbx_{n:024x}/exec/stream" for n in range(7)]
        assert [erin.post(path, {"command": "true"}).status for path in paths] == [404] * 5 + [429] * 2
        assert erin.get("/pool/status").status == 429


def test_each_sandbox_has_buckets_for_commands_and_files(new_sandbox, client):
    one, two = new_sandbox()["id"], new_sandbox()["id"]
    assert [client.post(f"/sandboxes/{one}/exec", {"command": "true"}).status for _ in range(4)] == [200] * 3 + [429]
    assert client.post(f"/sandboxes/{two}/exec", {"command": "true"}).status == 200
    assert [client.post(f"/sandboxes/{one}/files/list").status for _ in range(5)] == [200] * 4 + [429]


def test_off_by_default():
    with harness.Server() as server, harness.Client(server.port, "frank") as frank:
        assert {frank.get("/sandboxes").status for _ in range(150)} == {200}
