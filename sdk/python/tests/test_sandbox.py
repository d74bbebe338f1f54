"""How a sandbox is opened, what it is given and what is made of its answers, against a server that does what each test says."""
import asyncio
import inspect
import logging
import pickle

import pytest
from conftest import RECORD, hang_up, reply, stream

import iii_sandbox
from iii_sandbox import ClientConfig, CodeFailed, CommandFailed, ConnectionFailed, errors, sync
from iii_sandbox.sync import Sandbox

SECRET = "s3cret-token"
RESULT = {"exitCode": 0, "stdout": "out", "stderr": "", "duration": 5, "timedOut": False, "oomKilled": False}


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch):
    for name in ("III_SANDBOX_URL", "III_SANDBOX_TOKEN", "III_AUTH_TOKEN", "III_CA_CERT"):
        monkeypatch.delenv(name, raising=False)


def answering(fake, value={**RECORD, "success": True}, *, path_ends=None):
    """A server that answers creates with a record, and what ends so with a value."""
    return fake(lambda x, _: reply(x, 200, value if path_ends is None or x.path.endswith(path_ends) else {**RECORD, "success": True}))


def test_settings_from_the_environment_and_arguments_before_them(monkeypatch):
    assert ClientConfig().base_url == "http://localhost:3111" and not ClientConfig().token
    monkeypatch.setenv("III_SANDBOX_URL", "http://one:1/")
    monkeypatch.setenv("III_AUTH_TOKEN", "server's own")
    assert (ClientConfig().base_url, ClientConfig().token) == ("http://one:1", "server's own")
    monkeypatch.setenv("III_SANDBOX_TOKEN", "mine")
    assert ClientConfig().token == "mine"
    given = ClientConfig("http://two:2", "other")
    assert (given.base_url, given.token) == ("http://two:2", "other")
    assert ClientConfig(token="").token == "", "none, whatever the environment says"


def test_a_token_is_never_shown(fake, caplog):
    caplog.set_level(logging.DEBUG)
    server = fake(lambda x, _: reply(x, 200, RECORD) if x.path.endswith("/sandboxes") else reply(x, 403, {"error": "no"}))
    config = ClientConfig(server.url, SECRET)
    box = Sandbox.create(config=config)
    with pytest.raises(errors.ForbiddenError) as caught:
        box.exec("true")
    assert server.requests[0][2]["Authorization"] == f"Bearer {SECRET}"
    things = [config, box, box.files, box._http, caught.value, caught.value.request, caught.value.request.headers, caught.value.response]
    shown = "".join(f"{thing!r} {thing}" for thing in things) + caplog.text
    with pytest.raises(ConnectionFailed) as lost:
        Sandbox.create(base_url="http://127.0.0.1:1", token=SECRET)
    assert SECRET not in shown + repr(lost.value) + str(lost.value)
    with pytest.raises(ValueError) as refused:
        ClientConfig("http://user:passw0rd@localhost")
    assert "passw0rd" not in str(refused.value) and "use token" in str(refused.value)


def test_where_nothing_listens_the_error_says_where_what_and_what_to_do(fake):
    with pytest.raises(ConnectionFailed) as caught:
        Sandbox.create(base_url="http://127.0.0.1:1")
    text = str(caught.value)
    assert "POST http://127.0.0.1:1/sandbox/sandboxes" in text and "iii serve" in text and "III_SANDBOX_URL" in text
    server = fake(lambda x, _: reply(x, 401, {"error": "Missing authorization header"}))
    with pytest.raises(errors.UnauthorizedError, match="III_SANDBOX_TOKEN") as refused:
        Sandbox.create(base_url=server.url)
    assert (refused.value.code, refused.value.fix, refused.value.address) == ("unauthorized", "set III_SANDBOX_TOKEN, or pass token", server.url)
    with sync.Sandboxes(ClientConfig(fake(hang_up).url, max_retries=0)) as client, pytest.raises(ConnectionFailed, match="GET http://127.0.0.1"):
        client.admin.health()


def test_creating_and_connecting_send_what_they_say(fake, monkeypatch):
    server = answering(fake)
    monkeypatch.setenv("III_SANDBOX_URL", server.url)
    with Sandbox.create("node", memory=64, disk_mb=5, name="a"):
        pass
    with Sandbox.connect("a name"):
        pass
    with Sandbox.connect_or_create("n", "python", memory=32):
        pass
    with Sandbox.from_snapshot("snap_1", keep=True):
        pass
    with sync.get_sandbox("sbx_1"):
        pass
    assert [(method, path, body) for method, path, _, body in server.requests] == [
        ("POST", "/sandbox/sandboxes", {"image": "node", "memory": 64, "diskMb": 5, "name": "a"}),
        ("DELETE", "/sandbox/sandboxes/sbx_1", None),
        ("GET", "/sandbox/sandboxes/a%20name", None),
        ("POST", "/sandbox/sandboxes", {"image": "python", "memory": 32, "name": "n", "ifExists": "connect"}),
        ("POST", "/sandbox/snapshots/snap_1/clone", {}),
        ("GET", "/sandbox/sandboxes/sbx_1", None),
        ("DELETE", "/sandbox/sandboxes/sbx_1", None),
    ], "what was created is killed at the end, what was connected to is not"


def test_a_paused_sandbox_is_started_when_it_is_connected_to_by_name(fake):
    server = fake(lambda x, n: reply(x, 200, {**RECORD, "status": "paused" if n == 1 else "running"}))
    assert Sandbox.connect_or_create("n", base_url=server.url).status == "running"
    assert server.requests[1][1] == "/sandbox/sandboxes/sbx_1/start"


def test_a_sandbox_has_the_members_of_its_record(fake):
    box = Sandbox.create(base_url=answering(fake).url)
    assert (box.id, box.name, box.image, box.status, box.createdAt, box.created_at, box["expiresAt"]) == ("sbx_1", "n", "i", "running", 1, 1, 2)
    assert box.files is box.filesystem and box.parent_id is None
    with pytest.raises(AttributeError):
        box.nothing_like_it


def test_all_pages_of_a_list_are_sandboxes(fake):
    def handle(exchange, n):
        reply(exchange, 200, {"items": [{**RECORD, "id": f"s{n}"}], "total": 2, "page": n, "pageSize": 1})

    server = fake(handle)
    boxes = Sandbox.list(base_url=server.url, status="running", page_size=1)
    assert [box.id for box in boxes] == ["s1", "s2"] and all(isinstance(box, Sandbox) for box in boxes)
    assert [box.id for box in Sandbox.list(base_url=server.url, page=3)] == ["s3"]


def test_copies_are_sandboxes_and_share_the_connection_until_the_last_is_closed(fake):
    kids = {"sandboxes": [{**RECORD, "id": "kid1"}, {**RECORD, "id": "kid2"}]}
    server = fake(lambda x, _: reply(x, 200, kids if x.path.endswith("/fork") else {"success": True} if x.command == "DELETE" else RECORD))
    with Sandbox.create(base_url=server.url) as box:
        one, two = box.fork(2), box.fork()
        copy = box.clone("c")
    assert [kid.id for kid in one] == ["kid1", "kid2"] and two.id == "kid1" and copy.id == "sbx_1"
    for kid in (*one, two, copy):
        with kid:
            kid.refresh()
    assert box._http._client.is_closed
    assert [body for method, path, _, body in server.requests if path.endswith("/fork")] == [{"count": 2}, {}]


def test_what_a_command_is_given(fake):
    server = answering(fake, RESULT, path_ends="/exec")
    box = Sandbox.create(base_url=server.url)
    box.exec("true", 5, "/tmp", env={"A": "b"}, user="nobody", stdin="text")
    box.exec(["a", "b"], stdin=b"\xff")
    assert server.bodies()[1:] == [{"command": "true", "timeout": 5, "cwd": "/tmp", "env": {"A": "b"}, "user": "nobody", "stdin": "text"},
                                   {"command": ["a", "b"], "stdin": "/w==", "stdinEncoding": "base64"}]


def test_check_raises_what_happened(fake):
    ends = iter([{}, {"exitCode": 3, "stderr": "why\n"}, {"exitCode": 137, "signal": "KILL", "stderr": "x"}, {"exitCode": 137, "oomKilled": True}])
    server = fake(lambda x, n: reply(x, 200, RECORD if n == 1 else {**RESULT, **next(ends)}))
    box = Sandbox.create(base_url=server.url)
    assert box.exec("true", check=True).ok
    for says in ("true failed: exit code 3: why", "killed by KILL", "out of memory"):
        with pytest.raises(CommandFailed, match=says) as caught:
            box.exec(["true"], check=True)
        assert not caught.value.result.ok


def chunks(*events):
    return b"".join(b"data: " + event.encode() + b"\n\n" for event in events)


def test_callbacks_get_the_output_as_it_comes_and_the_result_has_all_of_it(fake):
    end = '{"type":"exit","data":"%s","timestamp":1,"duration":7,"signal":"TERM","timedOut":%s,"oomKilled":false}'
    out = ['{"type":"stdout","data":"a","timestamp":1}', '{"type":"stderr","data":"e","timestamp":1}', '{"type":"stdout","data":"b","timestamp":1}']
    server = fake(lambda x, n: reply(x, 200, RECORD) if n == 1 else stream(x, chunks(*out, end % (("143", "false") if n == 2 else ("-1", "true")))))
    box, seen = Sandbox.create(base_url=server.url), []
    result = box.exec("x", on_stdout=seen.append, on_stderr=lambda text: seen.append("!" + text))
    assert seen == ["a", "!e", "b"] and (result.stdout, result.stderr, result.exit_code, result.signal, result.duration) == ("ab", "e", 143, "TERM", 7)
    with pytest.raises(errors.TimedOutError) as caught:
        box.exec("x", on_stdout=seen.append)
    assert caught.value.result.stdout == "ab" and caught.value.result.timed_out and caught.value.status == 504


def test_a_callback_may_be_a_coroutine(fake):
    server = fake(lambda x, n: reply(x, 200, RECORD) if n == 1 else stream(x, chunks('{"type":"stdout","data":"a","timestamp":1}', '{"type":"exit","data":"0","timestamp":1}')))

    async def main():
        seen = []

        async def take(text):
            await asyncio.sleep(0)
            seen.append(text)

        box = await iii_sandbox.Sandbox.create(base_url=server.url)
        await box.exec("x", on_stdout=take)
        await box.close()
        return seen

    assert asyncio.run(main()) == ["a"]


def test_the_output_so_far_of_a_command_that_timed_out(fake):
    server = fake(lambda x, n: reply(x, 200, RECORD) if n == 1 else reply(x, 504, {"error": "late", "result": {**RESULT, "exitCode": -1, "timedOut": True}}))
    with pytest.raises(errors.TimedOutError) as caught:
        Sandbox.create(base_url=server.url).exec("x", timeout=1)
    assert (caught.value.result.stdout, caught.value.result.timed_out) == ("out", True)


CONTEXT = {"output": "o", "error": None, "executionTime": 3, "results": [{"type": "text", "data": "42"}, {"type": "png", "data": "cG5n"}], "stdout": "o", "stderr": "e",
           "errorName": None, "errorValue": None, "traceback": [], "executionCount": 2, "timedOut": False, "truncated": False, "state": "idle"}


def test_code_runs_in_the_default_context_of_its_language(fake):
    failed = {**CONTEXT, "errorName": "ValueError", "errorValue": "bad", "traceback": ["Traceback", "ValueError: bad"], "results": []}
    server = fake(lambda x, n: reply(x, 200, RECORD if n == 1 else CONTEXT if n < 4 else failed))
    box = Sandbox.create(base_url=server.url)
    done = box.run_code("x", timeout=9)
    assert (done.text, done.stdout, done.stderr, done.images, done.ok, done.execution_count, done.duration_ms) == ("42", "o", "e", [b"png"], True, 2, 3)
    box.run_code("x", "javascript", check=True)
    failure = box.run_code("x", context="ctx_1")
    assert (failure.error.name, failure.error.value, failure.ok, failure.text) == ("ValueError", "bad", False, None)
    with pytest.raises(CodeFailed, match="ValueError: bad") as caught:
        box.run_code("x", check=True)
    assert caught.value.execution.error == failure.error
    assert [path.split("/contexts/")[1] for _, path, _, _ in server.requests[1:]] == [f"{name}/execute" for name in ("python", "javascript", "ctx_1", "python")]
    assert server.bodies()[1] == {"code": "x", "timeout": 9}


def test_code_is_streamed_to_callbacks(fake):
    events = chunks('{"type":"stdout","data":"a","timestamp":1}', '{"type":"result","result":{"type":"text","data":"1"},"timestamp":1}', '{"type":"stderr","data":"b","timestamp":1}',
                    '{"type":"error","errorName":"E","errorValue":"v","traceback":["t"],"timestamp":1}', '{"type":"end","executionCount":4,"executionTime":5,"timedOut":true,"timestamp":1}')
    server, seen = fake(lambda x, n: reply(x, 200, RECORD) if n == 1 else stream(x, events)), []
    done = Sandbox.create(base_url=server.url).run_code("x", on_stdout=seen.append, on_stderr=seen.append, on_result=lambda r: seen.append(r.data))
    assert seen == ["a", "1", "b"] and (done.text, done.stdout, done.stderr, str(done.error), done.execution_count, done.timed_out) == ("1", "a", "b", "t", 4, True)


def test_languages_without_contexts_run_afresh(fake):
    answers = [RECORD, {"output": "42\n", "error": None, "executionTime": 1}, {"output": "", "error": "line\nsh: bad", "executionTime": 1}]
    server, seen = fake(lambda x, n: reply(x, 200, answers[n - 1])), []
    box = Sandbox.create(base_url=server.url)
    assert box.run_code("echo 42", "bash", on_stdout=seen.append).stdout == "42\n" and seen == ["42\n"]
    assert box.run_code("bad", "bash").error.value == "sh: bad"
    assert server.bodies()[1] == {"code": "echo 42", "language": "bash"}


def test_the_address_of_a_port(fake):
    private = {"port": 80, "url": "http://80-1.localhost:3111/", "public": False, "rewriteHost": False}
    signed = {**private, "signedUrl": "http://80-1.localhost:3111/?iii-preview=x"}
    answers = [RECORD, private, signed, {**signed, "public": True}]
    server = fake(lambda x, n: reply(x, 200, answers[n - 1]))
    box = Sandbox.create(base_url=server.url)
    assert [box.get_url(80), box.get_url(80, ttl=60), box.get_url(80, public=True)] == [private["url"], signed["signedUrl"], private["url"]]
    assert server.bodies()[1:] == [{"port": 80}, {"port": 80, "ttl": 60}, {"port": 80, "public": True}]


def test_both_kinds_take_the_same_arguments():
    for name in ("create", "connect", "connect_or_create", "from_snapshot", "list", "exec", "exec_stream", "run_code", "fork", "clone", "get_url"):
        ours, theirs = getattr(sync.Sandbox, name), getattr(iii_sandbox.Sandbox, name)
        assert list(inspect.signature(ours).parameters) == list(inspect.signature(theirs).parameters), name


def test_names_of_python_for_members_of_answers():
    result = iii_sandbox.ExecResult.model_validate({**RESULT, "later": 1})
    assert result.exit_code == result.exitCode == result["exitCode"] == result["exit_code"] == 0 and result.timed_out is False
    assert "exit_code" not in result.model_dump() and pickle.loads(pickle.dumps(result)) == result
