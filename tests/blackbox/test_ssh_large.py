"""SSH with much data and real clients: `rsync -a` of 10,000 files, SFTP of 1 GiB both ways, an Ansible playbook, a database behind `-L`. With `./dev test --all`."""
import hashlib
import json
import os
import shutil
import subprocess

import pytest

import harness
import sshkit

TOKEN = "root-secret"
SERVER_ENV = {"III_AUTH_TOKEN": TOKEN}
SERVER_FLAGS = ("--ssh", "0")
LONG_S = 20 * harness.DEADLINE_S
GIB = 1 << 30


@pytest.fixture
def ssh(client, tmp_path):
    key = sshkit.make_key(tmp_path)
    record = client.ok("POST", "/ssh/keys", {"publicKey": sshkit.public(key)})
    yield sshkit.Ssh(client.ok("GET", "/ssh")["port"], key, tmp_path)
    client.ok("DELETE", f"/ssh/keys/{record['id']}")


def test_rsync_of_ten_thousand_files(ssh, new_sandbox, client):
    box = new_sandbox(memory=1024)["id"]
    if client.exec(box, "command -v rsync")["exitCode"] != 0:
        pytest.skip("the sandbox has no rsync, which runs at both ends")
    for i in range(100):
        folder = ssh.folder / "tree" / f"d{i}"
        folder.mkdir(parents=True)
        for k in range(100):
            (folder / f"f{k}").write_text(f"{i} {k}\n" * (k % 20))
    ssh.rsync("-a", "tree/", f"{box}@127.0.0.1:/workspace/tree/", timeout_s=LONG_S)
    assert client.exec(box, "find tree -type f | wc -l")["stdout"].strip() == "10000"
    ssh.rsync("-a", f"{box}@127.0.0.1:/workspace/tree/", "back/", timeout_s=LONG_S)
    assert subprocess.run(["diff", "-r", "tree", "back"], cwd=ssh.folder, check=False).returncode == 0


def test_sftp_of_a_gibibyte(ssh, new_sandbox, client):
    box = new_sandbox(memory=1024, diskMb=4096)["id"] if harness.IS_ROOT else new_sandbox(memory=1024)["id"]
    digest, piece = hashlib.sha256(), os.urandom(1 << 20)
    with open(ssh.folder / "big", "wb") as out:
        for i in range(GIB >> 20):
            part = i.to_bytes(8, "big") + piece[8:]
            digest.update(part)
            out.write(part)
    ssh.sftp(box, "put big big", timeout_s=LONG_S)
    assert client.exec(box, "sha256sum big", timeout=300)["stdout"].split()[0] == digest.hexdigest()
    (ssh.folder / "big").unlink()
    ssh.sftp(box, "get big big", timeout_s=LONG_S)
    back = hashlib.sha256()
    with open(ssh.folder / "big", "rb") as got:
        while part := got.read(1 << 20):
            back.update(part)
    assert back.hexdigest() == digest.hexdigest()


PLAYBOOK = """
- hosts: all
  gather_facts: true
  tasks:
    - ping:
    - copy: {content: "from ansible\\n", dest: /workspace/made, mode: "0640"}
    - command: cat /workspace/made
      register: seen
    - assert: {that: ["seen.stdout == 'from ansible'", "ansible_facts.os_family is defined"]}
"""


def test_an_ansible_playbook(ssh, new_sandbox, client):
    if not shutil.which("ansible-playbook"):
        pytest.fail("ansible-playbook is missing: run ./dev test --all, which installs it")
    box = new_sandbox(memory=1024)["id"]
    (ssh.folder / "play.yml").write_text(PLAYBOOK)
    hosts = {"all": {"hosts": {"box": {"ansible_host": "127.0.0.1", "ansible_port": ssh.port, "ansible_user": box, "ansible_python_interpreter": "python3",
                                       "ansible_ssh_common_args": " ".join(ssh.options)}}}}
    (ssh.folder / "hosts.json").write_text(json.dumps(hosts))
    done = subprocess.run(["ansible-playbook", "-i", "hosts.json", "play.yml"], cwd=ssh.folder, capture_output=True, text=True, timeout=LONG_S, check=False,
                          env={**os.environ, "HOME": str(ssh.folder), "ANSIBLE_NOCOLOR": "1", "LC_ALL": "C.UTF-8"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert client.exec(box, "stat -c %a made; cat made")["stdout"] == "640\nfrom ansible\n"


def test_a_database_behind_a_forwarded_port(ssh, new_sandbox, client):
    box = new_sandbox(memory=1024)["id"]
    programs = client.exec(box, "ls -d /usr/lib/postgresql/*/bin")["stdout"].split()
    if not programs or not shutil.which("psql"):
        pytest.skip("needs PostgreSQL (package postgresql) on this host, which shows it to the sandbox")
    user, programs = f"nobody+{box}", programs[-1]  # the database does not run as root
    made = ssh.run(user, f"{programs}/initdb -D /tmp/db -A trust -U app -E UTF8 --no-sync", timeout_s=LONG_S)
    assert made.returncode == 0, made
    local = ssh.folder / ".s.PGSQL.5432"  # a socket that psql finds: no port that another program may take first
    psql = ["psql", "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", str(ssh.folder), "-U", "app", "-d", "postgres", "-c"]
    with ssh.start(user, f"exec {programs}/postgres -D /tmp/db -k /tmp -h 127.0.0.1 -p 5432") as database, ssh.start(box, "cat", "-L", f"{local}:localhost:5432") as forward:
        try:
            harness.wait_until(lambda: [row for row in client.ok("GET", f"/sandboxes/{box}/ports")["listening"] if row["port"] == 5432], "the database to listen", LONG_S)
            harness.wait_until(lambda: subprocess.run([*psql, "select 1"], capture_output=True, timeout=LONG_S, check=False).returncode == 0, "the database to take connections", LONG_S)

            def ask(query):
                done = subprocess.run([*psql, query], capture_output=True, text=True, timeout=LONG_S, check=False)
                assert done.returncode == 0, done
                return done.stdout.strip()

            ask("create table t as select i, repeat('x', 100) as text from generate_series(1, 100000) i")
            assert ask("select count(*), sum(length(text)) from t") == "100000|10000000"
            assert len(ask("select text from t limit 50000")) == 50000 * 101 - 1
        finally:
            for process in (forward, database):
                process.terminate()
