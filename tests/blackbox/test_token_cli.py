"""`iii token`: on a data folder without a server, beside one, and on one by REST."""
import json
import os

import pytest

import harness


def run(*args, env=None, code=0):
    done = harness.run_cli("token", *args, env=env)
    assert done.returncode == code, (args, done)
    return done


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "data"


def test_before_the_first_start(folder):
    made = run("create", "ci", "--tenant", "team", "--quota", "sandboxes=2", "--quota", "cpus=1.5", "--expires", "30d", "--data-dir", folder)
    secret = made.stdout.strip()
    assert secret.startswith("iii_") and len(secret) == 68 and secret not in made.stderr
    assert (folder / "tokens.json").stat().st_mode & 0o777 == 0o600
    row = json.loads(run("show", "ci", "--json", "--data-dir", folder).stdout)
    assert (row["role"], row["tenant"], row["quota"]) == ("user", "team", {"sandboxes": 2, "cpus": 1.5}) and row["expires"] > row["created"]
    table = run("ls", "--data-dir", folder).stdout
    assert "ci" in table and "team" in table and "good" in table and secret not in table
    assert json.loads(run("ls", "--json", "--data-dir", folder).stdout)[0]["id"] == row["id"]
    shown = run("show", row["id"], "--data-dir", folder).stdout
    assert "30d" not in shown and "sandboxes" in shown


def test_beside_a_running_server_it_counts_at_once():
    with harness.Server() as server:
        anyone = server.client()
        assert anyone.get("/sandboxes").status == 200
        secret = run("create", "first", "--role", "admin", "--data-dir", server.data_dir).stdout.strip()
        assert anyone.get("/sandboxes").status == 401
        with server.client(secret) as admin:
            assert admin.get("/sandboxes").status == 200
            new = run("rotate", "first", "--data-dir", server.data_dir).stdout.strip()
            assert admin.get("/sandboxes").status == 403
        with server.client(new) as admin:
            assert admin.get("/sandboxes").status == 200
            assert "revoked" in run("revoke", "first", "--data-dir", server.data_dir).stdout
            assert admin.get("/sandboxes").status == 403


def test_by_rest():
    with harness.Server(env={"III_AUTH_TOKEN": "root"}, token="root") as server:
        env = {"III_SERVER": f"http://127.0.0.1:{server.port}/", "III_AUTH_TOKEN": "root", "III_DATA_DIR": "/nowhere"}
        made = json.loads(run("create", "far", "--tenant", "t", "--quota", "volumes=1", "--json", env=env).stdout)
        assert made["quota"] == {"volumes": 1} and server.client(made["secret"]).get("/volumes").status == 200
        assert made["id"] in run("ls", env=env).stdout
        assert "usage" in json.loads(run("show", made["id"], "--json", env=env).stdout)
        new = run("rotate", made["id"], env=env).stdout.strip()
        assert server.client(new).get("/volumes").status == 200
        run("revoke", made["id"], env=env)
        assert server.client(new).get("/volumes").status == 403
        run("show", "none_such", env=env, code=3)
        wrong = harness.run_cli("token", "ls", "--server", f"http://127.0.0.1:{server.port}", "--token", "wrong")
        assert wrong.returncode == 1 and "Invalid token" in wrong.stderr
        run("ls", "--server", "http://127.0.0.1:1", code=1)


@pytest.mark.parametrize("args, code", [
    (["create"], 2), (["create", "x" * 65], 2), (["create", "a", "--role", "king"], 2), (["create", "a", "--role", "read-only"], 2),
    (["create", "a", "--quota", "sandboxes"], 2), (["create", "a", "--quota", "sandboxes=-1"], 2), (["create", "a", "--quota", "pears=1"], 2),
    (["create", "a", "--expires", "soon"], 2), (["create", "a", "--tenant", "a b"], 2), (["show", "none"], 3), (["revoke", "none"], 3), (["rotate", "none"], 3)])
def test_what_is_refused(folder, args, code):
    folder.mkdir()
    run(*args, "--data-dir", folder, code=code)
    assert not (folder / "tokens.json").exists()


def test_two_of_one_name_need_the_id(folder):
    for _ in range(2):
        run("create", "twin", "--data-dir", folder)
    done = run("revoke", "twin", "--data-dir", folder, code=1)
    assert "id" in done.stderr


@pytest.mark.skipif(not harness.IS_ROOT, reason="needs root to change owners")
def test_root_leaves_the_file_to_the_folders_owner(folder):
    folder.mkdir()
    os.chown(folder, 12345, 12345)
    run("create", "a", "--data-dir", folder)
    assert (folder / "tokens.json").stat().st_uid == 12345
