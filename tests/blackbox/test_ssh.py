"""SSH with OpenSSH's own clients: commands, terminals, SFTP, scp, rsync, forwarding; who gets in; what hostile peers can do."""
import os
import random
import signal
import socket
import subprocess
import time

import pytest

import harness
import ptykit
import sshkit
from harness import wait_until

TOKEN = "root-secret"
SERVER_ENV = {"III_AUTH_TOKEN": TOKEN, "III_SSH_CONNECTIONS": "24"}
SERVER_FLAGS = ("--ssh", "0")


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ssh")
    return {name: sshkit.make_key(folder, name) for name in ("owner", "stranger", "tenant")}


@pytest.fixture
def port(client):
    info = client.ok("GET", "/ssh")
    assert info["enabled"] and info["hostKey"].startswith("SHA256:")
    return info["port"]


@pytest.fixture
def added(client):
    """Adds a public key; it is deleted after the test."""
    made = []

    def add(path, caller=client, **more):
        record = caller.ok("POST", "/ssh/keys", {"publicKey": sshkit.public(path), **more})
        made.append(record["id"])
        return record

    yield add
    for key in made:
        assert client.delete(f"/ssh/keys/{key}").status in (200, 404)


@pytest.fixture
def ssh(port, keys, added, tmp_path):
    added(keys["owner"])
    return sshkit.Ssh(port, keys["owner"], tmp_path)


def test_exit_codes_and_streams(ssh, new_sandbox):
    box = new_sandbox(name="by-name")["id"]
    done = ssh.run(box, "echo out; echo err >&2; exit 7")
    assert (done.stdout, done.stderr, done.returncode) == (b"out\n", b"err\n", 7)
    assert ssh.run("by-name", "true").returncode == 0 and ssh.run(box[:12], "exit 3").returncode == 3
    assert ssh.run(box, "kill -9 $$").returncode == 137
    assert ssh.run(box, "no-such-program-here").returncode == 127
    blob = random.Random(1).randbytes(3_000_001)
    done = ssh.run(box, "cat; echo $A >&2", "-o", "SetEnv=A=b", stdin=blob)
    assert done.stdout == blob and done.stderr == b"b\n" and done.returncode == 0


def test_the_user_inside(ssh, sandbox):
    assert ssh.run(f"1000+{sandbox}", "id -u").stdout == b"1000\n"
    assert ssh.run(f"root+{sandbox}", "id -u").stdout == b"0\n"
    refused = ssh.run(f"nobody-has-this-name+{sandbox}", "true")
    assert refused.returncode != 0 and b"no such user" in refused.stderr


def test_a_terminal_and_its_size(ssh, sandbox):
    with ptykit.Terminal(dict(os.environ), *ssh.argv(sandbox, "-tt"), "stty size; echo $TERM; tty; read x; stty size", size=(30, 100)) as terminal:
        assert b"30 100" in terminal.until(b"/dev/pts/") and b"xterm" in terminal.got
        terminal.resize(41, 132)
        wait_until(lambda: ssh.run(sandbox, "stty size < /dev/pts/0").stdout == b"41 132\n", "the new size inside")
        terminal.type(b"\r")
        terminal.until(b"41 132")
        assert terminal.exit_code() == 0


def test_sftp(ssh, sandbox, client):
    (ssh.folder / "a").write_bytes(os.urandom(700_000))
    out = ssh.sftp(sandbox, """
mkdir d
put -p a d/a
chmod 600 d/a
rename d/a d/b
ln -s b d/link
ln d/b d/hard
ls -l d
get d/link back
cd d
pwd
df -h
put a "with space"
rm hard
rm link
rm "with space"
rm b
cd ..
rmdir d
""")
    assert "-rw-------" in out and "lrwxrwxrwx" in out and "/workspace/d" in out
    assert (ssh.folder / "back").read_bytes() == (ssh.folder / "a").read_bytes()
    assert client.exec(sandbox, "ls -A /workspace")["stdout"] == ""
    refused = subprocess.run(["sftp", *ssh.options, "-P", str(ssh.port), "-b", "-", f"1000+{sandbox}@127.0.0.1"], input=b"put a /etc/a", cwd=ssh.folder,
                             capture_output=True, timeout=harness.DEADLINE_S)
    assert refused.returncode != 0 and b"Permission denied" in refused.stderr


def test_scp_and_rsync(ssh, sandbox, client):
    (ssh.folder / "tree").mkdir()
    for i in range(100):
        (ssh.folder / "tree" / f"f{i}").write_text(f"{i}\n" * i)
    assert ssh.scp("-r", "tree", f"{sandbox}@127.0.0.1:").returncode == 0
    assert ssh.scp(f"{sandbox}@127.0.0.1:tree/f99", "f99").returncode == 0
    assert (ssh.folder / "f99").read_text() == "99\n" * 99
    if client.exec(sandbox, "command -v rsync")["exitCode"] != 0:
        pytest.skip("the sandbox has no rsync, which runs at both ends")
    ssh.rsync("-a", "tree/", f"{sandbox}@127.0.0.1:/workspace/two/")
    assert client.exec(sandbox, "diff -r tree two && echo same")["stdout"] == "same\n"
    (ssh.folder / "tree" / "f7").unlink()
    ssh.rsync("-a", "--delete", "tree/", f"{sandbox}@127.0.0.1:/workspace/two/")
    assert client.exec(sandbox, "ls two | wc -l")["stdout"].strip() == "99"


def connected(path):
    conn = socket.socket(socket.AF_UNIX)
    conn.settimeout(harness.DEADLINE_S)
    conn.connect(path)
    return conn


SERVE = "python3 -c 'import socket as s;l=s.create_server((\"127.0.0.1\",8123));print(1,flush=True);c=l.accept()[0];d=b\"\"\nwhile len(d)<300000:d+=c.recv(65536)\nc.sendall(d[::-1])'"


def test_forwarding(ssh, sandbox):
    inside = ssh.start(sandbox, SERVE)
    assert inside.stdout.readline() == b"1\n"
    local, dead, away = (str(ssh.folder / name) for name in ("local", "dead", "away"))  # no port that another program may take first
    with ssh.start(sandbox, "cat", "-L", f"{local}:localhost:8123", "-L", f"{dead}:127.0.0.1:9", "-L", f"{away}:192.0.2.1:80") as client:
        client.stdin.write(b"ready\n")
        client.stdin.flush()
        assert client.stdout.readline() == b"ready\n"
        data = os.urandom(300_000)
        with connected(local) as conn:
            conn.sendall(data)
            assert harness.drain(conn) == data[::-1]
        for closed in (dead, away):  # nobody listens; not this sandbox
            with connected(closed) as conn:
                assert conn.recv(1) == b""
        client.stdin.close()
        assert client.wait(harness.DEADLINE_S) == 0
    inside.communicate(timeout=harness.DEADLINE_S)
    refused = ssh.run(sandbox, "true", "-o", "ExitOnForwardFailure=yes", "-R", "0:localhost:1")
    assert refused.returncode == 255 and b"forwarding failed" in refused.stderr


def test_one_connection_for_many_sessions(ssh, sandbox, server):
    control = ("-o", f"ControlPath={ssh.folder}/c", "-o", "ControlMaster=auto")
    with ssh.start(sandbox, "cat", *control) as master:
        wait_until(lambda: (ssh.folder / "c").exists(), "the control socket")
        running = [ssh.start(sandbox, f"sleep 0.1; echo {i}; exit {i}", *control) for i in range(8)]
        assert [(p.communicate(timeout=harness.DEADLINE_S)[0], p.returncode) for p in running] == [(f"{i}\n".encode(), i) for i in range(8)]
        assert len(sshkit.connections(server)) == 1
        master.stdin.close()
        assert master.wait(harness.DEADLINE_S) == 0


def test_who_gets_in(ssh, port, keys, added, client, server, sandbox, tmp_path):
    stranger = sshkit.Ssh(port, keys["stranger"], tmp_path)
    denied = stranger.run(sandbox, "true")
    assert denied.returncode == 255 and b"Permission denied (publickey)" in denied.stderr
    # A tenant's key opens what is the tenant's; anything else is answered as if the key were unknown.
    token = client.ok("POST", "/tokens", {"name": "t", "role": "user", "tenant": "acme"})
    theirs = server.client(token["secret"])
    own = theirs.create(image="python")["id"]
    tenant = sshkit.Ssh(port, keys["tenant"], tmp_path)
    record = added(keys["tenant"], theirs)
    assert record["tenant"] == "acme" and theirs.ok("GET", "/ssh/keys")["keys"] == [record]
    assert tenant.run(own, "echo mine").stdout == b"mine\n"
    for user in (sandbox, "sbx_000000000000000000000000", ""):
        answer = tenant.run(user or "none", "true")
        assert answer.returncode == 255 and b"Permission denied (publickey)" in answer.stderr
    assert theirs.delete(f"/ssh/keys/{client.ok('GET', '/ssh/keys')['keys'][0]['id']}").status in (404, 200)
    # The same public key at two tenants: each sees its own, and what it opens follows from the sandbox's tenant.
    added(keys["tenant"])
    assert len(theirs.ok("GET", "/ssh/keys")["keys"]) == 1
    assert tenant.run(own, "true").returncode == 0 and tenant.run(sandbox, "true").returncode == 0
    # A revoked token takes its keys with it, and what they have open.
    held = tenant.start(own, "echo up; cat")
    assert held.stdout.readline() == b"up\n"
    client.ok("DELETE", f"/tokens/{token['id']}")
    assert held.wait(harness.DEADLINE_S) == 255
    held.communicate()
    client.ok("DELETE", f"/sandboxes/{own}")


def test_a_deleted_or_expired_key_ends_what_it_opened(ssh, port, keys, added, client, sandbox, new_sandbox, tmp_path):
    other = new_sandbox()["id"]
    soon = int(time.time() * 1000) + 2500
    held = {}
    for name, more in (("stranger", {"sandbox": sandbox}), ("tenant", {"expires": soon})):
        one = sshkit.Ssh(port, keys[name], tmp_path)
        record = added(keys[name], **more)
        held[name] = one, record, one.start(sandbox, "echo up; cat")
        assert held[name][2].stdout.readline() == b"up\n"
    one, record, running = held["stranger"]
    assert one.run(other, "true").returncode == 255, "the key is for one sandbox"
    client.ok("DELETE", f"/ssh/keys/{record['id']}")
    assert running.wait(harness.DEADLINE_S) == 255 and one.run(sandbox, "true").returncode == 255
    one, record, expiring = held["tenant"]
    assert expiring.wait(harness.DEADLINE_S) == 255 and one.run(sandbox, "true").returncode == 255
    for process in (running, expiring):
        process.communicate()
    assert client.delete("/ssh/keys/key_000000000000000000000000").status == 404


def test_keys_that_are_refused(client, keys, added, tmp_path):
    record = added(sshkit.make_key(tmp_path, "r", "rsa", 2048), name="laptop")
    assert record["bits"] == 2048 and record["name"] == "laptop"
    assert added(sshkit.make_key(tmp_path, "e", "ecdsa", 521))["type"] == "ecdsa-sha2-nistp521"
    weak = sshkit.make_key(tmp_path, "w", "rsa", 1024)
    for text, say in ((sshkit.public(weak), "1024 bits"), (weak.read_text(), "private key"), ("ssh-ed25519 AAAA", "not such a key"), ("ssh-dss AAAA", "ssh-ed25519"),
                      ("ssh-ed25519 !!", "base64"), (sshkit.public(tmp_path / "r") + sshkit.public(tmp_path / "e"), "one line")):
        answer = client.post("/ssh/keys", {"publicKey": text})
        assert answer.status == 400 and say in answer.error, answer
    assert added(tmp_path / "r")["id"] == record["id"], "the same again is the same"
    again = client.post("/ssh/keys", {"publicKey": sshkit.public(tmp_path / "r"), "expires": 4102444800000})
    assert again.status == 409 and record["id"] in again.error
    assert client.post("/ssh/keys", {"publicKey": sshkit.public(keys["owner"]), "expires": 1}).status == 400
    printed = subprocess.run(["ssh-keygen", "-lf", f"{tmp_path}/r.pub"], capture_output=True, text=True, check=True).stdout
    assert record["fingerprint"] in printed


def test_requests_are_calls_like_all_others(ssh, sandbox, client):
    assert ssh.run(sandbox, "echo counted").returncode == 0
    events = client.ok("GET", f"/events/history?sandboxId={sandbox}&limit=50")["events"]
    assert any(e["topic"] == "sandbox.exec" for e in events), events
    traces = client.ok("GET", "/observability/traces?functionId=exec::attach&limit=10")["traces"]
    assert any(t["sandboxId"] == sandbox for t in traces), traces


def test_a_slow_reader_grows_no_memory(ssh, sandbox, server):
    """The command waits when nobody reads: neither process of ours holds what it prints."""
    process = ssh.start(sandbox, "yes | head -c 300000000")
    child = wait_until(lambda: sshkit.connections(server), "the connection's process")[0]
    process.stdout.read(1 << 20)

    def rss():
        return int(open(f"/proc/{child}/statm").read().split()[1]) * 4096
    seen = [rss()]
    wait_until(lambda: seen.append(rss()) or seen[-1] == seen[-2], "no more growth")
    assert rss() < 64 << 20
    process.kill()
    process.communicate()
    wait_until(lambda: not sshkit.connections(server), "the end of the connection")


def test_garbage_and_half_open_connections(ssh, sandbox, server):
    rng = random.Random(7)
    for payload in (b"", b"GET / HTTP/1.1\r\n\r\n", b"SSH-2.0-x\r\n" + rng.randbytes(3000), b"SSH-1.5-x\r\n", b"SSH-2.0-x\r\n\0\0\0\x0c" + b"\xff" * 40, rng.randbytes(100_000)):
        with socket.create_connection(("127.0.0.1", ssh.port), timeout=harness.DEADLINE_S) as conn:
            try:
                conn.sendall(payload)
                conn.shutdown(socket.SHUT_WR)
                harness.drain(conn)
            except OSError:
                pass
    assert ssh.run(sandbox, "true").returncode == 0
    # More than one address may have: the excess is closed at once, and others still get in when the first ones go.
    held = [socket.create_connection(("127.0.0.1", ssh.port), timeout=harness.DEADLINE_S) for _ in range(40)]
    wait_until(lambda: len(sshkit.connections(server)) <= 16, "the limit of an address")
    for conn in held:
        conn.close()
    wait_until(lambda: not sshkit.connections(server), "the end of all")
    assert ssh.run(sandbox, "true").returncode == 0


def test_the_listener_is_confined_and_restarted(ssh, sandbox, server):
    pid = sshkit.listener_pid(server)
    status = dict(line.split(":\t", 1) for line in open(f"/proc/{pid}/status").read().splitlines() if ":\t" in line)
    assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2" and status["CapPrm"] == status["CapBnd"].replace("f", "0") == "0" * 16
    if harness.IS_ROOT:
        assert status["Uid"].split() == ["65534"] * 4
        folder = os.stat(server.data_dir / "ssh")
        assert folder.st_uid == 0 and folder.st_mode & 0o777 == 0o700
    assert b"libssh" not in open(f"/proc/{server.pid}/maps", "rb").read(), "the server itself never loads it"
    held = ssh.start(sandbox, "echo up; cat")
    assert held.stdout.readline() == b"up\n"
    os.kill(pid, signal.SIGKILL)
    assert held.wait(harness.DEADLINE_S) == 255
    held.communicate()
    wait_until(lambda: sshkit.listener_pid(server) not in (None, pid), "another listener")
    assert ssh.run(sandbox, "true").returncode == 0


def test_off_unless_configured():
    with harness.Server(token="x", env={"III_AUTH_TOKEN": "x"}) as server:
        client = server.client()
        assert client.ok("GET", "/ssh") == {"enabled": False} and sshkit.listener_pid(server) is None
        assert client.ok("GET", "/ssh/keys") == {"keys": []}


def test_settings_that_are_refused(tmp_path):
    loose = tmp_path / "loose"
    sshkit.make_key(tmp_path, "loose")
    os.chmod(loose, 0o644)
    for flags, say in ((("--ssh", "here"), "PORT"), (("--ssh", "127.0.0.1:99999"), "PORT"), (("--ssh", "0", "--ssh-host-key", str(loose)), "only its owner"),
                       (("--ssh", "0", "--ssh-host-key", str(tmp_path / "none")), "none")):
        done = harness.run_cli("serve", "--port", "0", "--engine-port", "0", "--data-dir", str(tmp_path / "data"), *flags)
        assert done.returncode != 0 and say in done.stderr, done
