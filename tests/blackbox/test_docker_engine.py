"""What the engine is asked for, seen from both sides: inside the container and in the engine's own words. Limits are crossed, not only read."""
import contextlib
import json
import os
import random
import subprocess

import pytest

import dockerkit
import images
import registries
import test_networks
from harness import wait_until
from test_docker import container_of, serve

pytestmark = pytest.mark.skipif(not dockerkit.is_there(), reason="needs dockerd and root")
CAPABILITIES = {"CHOWN": 0, "DAC_OVERRIDE": 1, "FOWNER": 3, "FSETID": 4, "KILL": 5, "SETGID": 6, "SETUID": 7, "NET_BIND_SERVICE": 10}
BRIDGE = "10.98.0.1"
TRY = """
import ctypes, errno, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def attempt(name, result):
    print(name, errno.errorcode[ctypes.get_errno()] if result == -1 else 'done')
def python(name, fn):
    try:
        fn()
        print(name, 'done')
    except OSError as e:
        print(name, errno.errorcode[e.errno])
attempt('mount', libc.mount(b'none', b'/tmp', b'tmpfs', 0, None))
attempt('umount', libc.umount2(b'/.iii', 2))
attempt('unshare', libc.unshare(0x10000000))
attempt('reboot', libc.syscall(169, 0xfee1dead, 672274793, 0, None))
attempt('keyctl', libc.syscall(250, 0, -3, 0))
python('setns', lambda: libc.setns(os.open('/proc/1/ns/net', os.O_RDONLY), 0))
python('mknod', lambda: os.mknod('/tmp/disk', 0o60600, os.makedev(8, 0)))
python('raw', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
python('packet', lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 1))
python('hostname', lambda: socket.sethostname('x'))
python('agent', lambda: open('/.iii/guest', 'wb'))
python('nice', lambda: os.nice(-5))
python('chown', lambda: os.chown('/tmp', 65534, 65534))
"""


@pytest.fixture(scope="module")
def engine():
    """In a network namespace of its own, with the default bridge there."""
    with dockerkit.Engine(bridge=BRIDGE) as made:
        yield made


@pytest.fixture(scope="module")
def server(engine):
    with serve(engine) as made:
        yield made
        for item in made.client().ok("GET", "/sandboxes?pageSize=200")["items"]:
            made.client().delete(f"/sandboxes/{item['id']}")
        wait_until(lambda: not engine.containers(), "containers to go")
    assert engine.networks() == []


def test_what_containers_do_to_dev_null_is_not_the_hosts(engine):
    """gVisor hands the engine's own to containers."""
    own, host = os.stat(f"/proc/{engine.proc.pid}/root/dev/null"), os.stat("/dev/null")
    assert own.st_rdev == host.st_rdev and (own.st_dev, own.st_ino) != (host.st_dev, host.st_ino)


@pytest.fixture
def client(server):
    return server.client()


@pytest.fixture
def make(client):
    made = []

    def create(**fields):
        made.append(client.create(**fields)["id"])
        return made[-1]

    yield create
    for sid in made:
        client.delete(f"/sandboxes/{sid}")


def python(client, sid, code):
    done = client.exec(sid, ["python3", "-c", code])
    assert done["exitCode"] == 0, done
    return done["stdout"]


def group_file(client, sid, v1, v2):
    """A file of the container's own control group, read inside."""
    return client.exec(sid, f"cat /sys/fs/cgroup/{v1} 2>/dev/null || cat /sys/fs/cgroup/{v2}")["stdout"].split()


LISTEN = f"""
import socket
s = socket.create_server(('{BRIDGE}', 7000))
print('up', flush=True)
while True:
    c, _ = s.accept()
    c.sendall(b'hello from the host')
    c.close()
"""
RESOLVER = f"""
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('127.0.0.1', 53))
print('up', flush=True)
while True:
    data = s.recv(512)
    print(data[12:].partition(b'\\0')[0][1:], flush=True)
"""


@contextlib.contextmanager
def beside(engine, code):
    """A program beside the engine, in its network; yields its output."""
    proc = subprocess.Popen(["nsenter", "-t", str(engine.proc.pid), "-n", "python3", "-c", code], stdout=subprocess.PIPE)
    try:
        assert proc.stdout.readline() == b"up\n"
        yield proc.stdout
    finally:
        proc.kill()
        proc.wait()
        proc.stdout.close()


def test_capabilities(engine, client, make):
    sid = make()
    host = container_of(engine, sid)["HostConfig"]
    assert host["CapDrop"] == ["ALL"] and set(host["CapAdd"]) == set(CAPABILITIES) and host["Privileged"] is False
    want = sum(1 << bit for bit in CAPABILITIES.values())
    rows = dict(line.split(":\t") for line in client.exec(sid, "grep ^Cap /proc/self/status")["stdout"].splitlines())
    assert {name: int(rows[name], 16) for name in ("CapPrm", "CapEff", "CapBnd")} == {"CapPrm": want, "CapEff": want, "CapBnd": want}
    assert int(rows["CapAmb"], 16) == 0


def test_no_new_privileges_and_seccomp(engine, client, make):
    sid = make()
    assert container_of(engine, sid)["HostConfig"]["SecurityOpt"] == ["no-new-privileges:true"], "and seccomp is not unconfined"
    rows = dict(line.split(":\t") for line in client.exec(sid, "grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status")["stdout"].splitlines())
    assert rows == {"NoNewPrivs": "1", "Seccomp": "2"}
    said = dict(line.split() for line in python(client, sid, TRY).splitlines())
    assert said.pop("chown") == "done", "root may still be root towards others of the container"
    assert said.pop("agent") == "EROFS"
    assert {name: word for name, word in said.items() if word not in ("EPERM", "EACCES")} == {}


def test_processes(engine, client, make):
    sid = make(pids=24)
    assert container_of(engine, sid)["HostConfig"]["PidsLimit"] == 24
    assert group_file(client, sid, "pids/pids.max", "pids.max") == ["24"]
    code = "import os, time\nn = 0\ntry:\n while n < 100:\n  if os.fork() == 0: time.sleep(60)\n  n += 1\nexcept BlockingIOError: print(n, flush=True)\nos.kill(0, 9)"
    assert 10 < int(client.exec(sid, ["python3", "-c", code])["stdout"]) < 24


def test_cpu_is_a_quota(engine, client, make):
    sid = make(cpu=0.5)
    host = container_of(engine, sid)["HostConfig"]
    assert host["CpuQuota"] / host["CpuPeriod"] == 0.5
    words = group_file(client, sid, "cpu/cpu.cfs_quota_us /sys/fs/cgroup/cpu/cpu.cfs_period_us", "cpu.max")
    assert int(words[0]) / int(words[1]) == 0.5
    burn = "import time\nend = time.monotonic() + 2\nwhile time.monotonic() < end: pass\nprint(time.process_time())"
    assert float(python(client, sid, burn)) < 1.5, "two seconds of a half"


def test_memory_and_swap(engine, client, make):
    sid = make(memory=96)
    host = container_of(engine, sid)["HostConfig"]
    assert host["Memory"] == host["MemorySwap"] == 96 << 20, "no swap beyond it"
    assert group_file(client, sid, "memory/memory.limit_in_bytes", "memory.max") == [str(96 << 20)]
    result = client.exec(sid, ["python3", "-c", "x = bytearray(300 << 20)"])
    assert result["exitCode"] != 0 and result["oomKilled"] is True
    assert client.ok("POST", f"/sandboxes/{sid}/exec", {"command": "echo alive"})["stdout"] == "alive\n"


def test_open_files_and_shared_memory(engine, client, make):
    sid = make(openFiles=80, shmMb=8)
    assert python(client, sid, "import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE), resource.getrlimit(resource.RLIMIT_CORE))") == "(80, 80) (1, 1)\n"
    assert client.exec(sid, "head -c 20000000 /dev/zero > /dev/shm/x; stat -c %s /dev/shm/x")["stdout"] == f"{8 << 20}\n"
    assert container_of(engine, sid)["HostConfig"]["ShmSize"] == 8 << 20


def test_no_network_by_default_and_the_engines_bridge_when_asked(engine, client, make):
    alone, connected = make(), make(network=True)
    assert container_of(engine, alone)["HostConfig"]["NetworkMode"] == "none"
    assert container_of(engine, connected)["HostConfig"]["NetworkMode"] == "default"
    devices = "sed 1,2d /proc/net/dev | cut -d: -f1"
    assert client.exec(alone, devices)["stdout"].split() == ["lo"]
    assert client.exec(connected, devices)["stdout"].split() == ["lo", "eth0"]
    with beside(engine, LISTEN):
        fetch = ["python3", "-c", f"import socket; print(socket.create_connection(('{BRIDGE}', 7000), 5).recv(100).decode())"]
        assert client.exec(connected, fetch)["stdout"] == "hello from the host\n"
        assert "unreachable" in client.exec(alone, fetch)["stderr"]
        nid = client.ok("POST", "/networks", {"name": "apart"})["id"]
        client.ok("POST", f"/networks/{nid}/connect", {"sandboxId": alone})
        assert client.exec(alone, devices)["stdout"].split() == ["lo", "eth0"]
        assert client.exec(alone, fetch)["exitCode"] != 0, "a network of sandboxes leads nowhere else"
    client.ok("DELETE", f"/networks/{nid}")


def test_names_do_not_leave_a_network_of_sandboxes(engine, client, make):
    """An engine of this version asks the host's resolver for every name that a member looks up."""
    member = make()
    nid = client.ok("POST", "/networks", {"name": "quiet"})["id"]
    client.ok("POST", f"/networks/{nid}/connect", {"sandboxId": member})
    with beside(engine, RESOLVER) as asked:
        look = "import socket\ntry: socket.gethostbyname('%s.test')\nexcept OSError as e: print(type(e).__name__)"
        assert client.exec(member, ["python3", "-c", look % "secret"])["stdout"] == "gaierror\n"
        how = {"Image": "python", "Entrypoint": ["python3", "-c", look % "public"], "HostConfig": {"NetworkMode": f"iii-net-{nid}"}}
        engine.json("POST", "/containers/create?name=control", how)
        engine.json("POST", "/containers/control/start")
        assert b"public" in asked.readline(), "the first that comes is asked by a container that is not made as ours are"
        engine.json("DELETE", "/containers/control?force=1")
    client.ok("DELETE", f"/networks/{nid}")


def test_networks_of_two_servers_and_after_a_crash(engine):
    """Ranges do not meet on one engine; what a killed server left goes when the next one sweeps."""
    first, second = serve(engine), serve(engine)
    try:
        ids = [server.start().client().ok("POST", "/networks", {"name": "n"})["id"] for server in (first, second)]
        ranges = {one["Name"]: one["IPAM"]["Config"][0]["Subnet"] for one in engine.networks()}
        assert len(set(ranges.values())) == 2 and set(ranges) == {f"iii-net-{nid}" for nid in ids}
        assert all(one["Internal"] for one in engine.networks())
        first.kill()
        first.start()
        wait_until(lambda: [one["Name"] for one in engine.networks()] == [f"iii-net-{ids[1]}"], "the network without members to go")
        client = first.client()
        sid = client.create()["id"]
        client.ok("POST", f"/networks/{ids[0]}/connect", {"sandboxId": sid})
        assert f"iii-net-{ids[0]}" in container_of(engine, sid)["NetworkSettings"]["Networks"], "it is made again when it is needed"
        first.stop()
        second.stop()
        assert engine.networks() == [] and engine.containers() == []
    finally:
        first.remove()
        second.remove()


def test_members_stay_connected_while_no_server_runs(engine):
    """A server that ends and keeps its sandboxes, and one that hands over, cut nobody off."""
    server = serve(engine)
    server.flags = ["--on-shutdown=keep"]
    try:
        client = server.start().client()
        nid, empty = (client.ok("POST", "/networks", {"name": name})["id"] for name in ("kept", "empty"))
        web, other = (client.create(name=name)["id"] for name in ("web", "other"))
        for sid in (web, other):
            client.ok("POST", f"/networks/{nid}/connect", {"sandboxId": sid})

        def members():
            return sorted(one["Name"] for one in engine.json("GET", f"/networks/iii-net-{nid}")["Containers"].values())

        connected = members()
        assert len(connected) == 2
        assert server.takeover() is None and members() == connected
        server.stop()
        assert members() == connected and [one["Name"] for one in engine.networks()] == [f"iii-net-{nid}"], "the empty one went"
        client = server.start().client()
        test_networks.listen(client, web)
        assert test_networks.fetch(client, other, "web").startswith("hello 10.64.")
        for sid in (web, other):
            client.delete(f"/sandboxes/{sid}")
        for one in (nid, empty):
            client.ok("DELETE", f"/networks/{one}")
        server.stop()
        wait_until(lambda: engine.containers() == [] and engine.networks() == [], "all to go")
    finally:
        server.remove()


@pytest.mark.skipif(bool(registries.missing_tools()), reason=f"not installed: {registries.missing_tools()}")
def test_pulls_with_progress(tmp_path):
    """From a real registry on loopback, which only an engine in the host's network sees."""
    layout = registries.Layout(tmp_path / "layout")
    sh = images.program(tmp_path)
    more = images.pack([images.entry("more", random.Random(1).randbytes(48 << 20))])  # long enough for the engine to tell how far it is
    layout.add_image("one", [images.pack(images.base_entries(sh)), more], config={"Env": ["COLOUR=blue"], "WorkingDir": "/etc"})
    registry, engine = registries.Registry(), dockerkit.Engine(is_in_host_network=True)
    try:
        name = registry.push(layout, "one", "team/one:1")
        engine.start()
        with serve(engine, III_PULL="missing", **registries.LISTED) as server:
            client = server.client()
            events = stream(client, name)
            assert events[-1]["type"] == "done" and events[-1]["image"]["name"] == name, events
            steps = [e for e in events if e["type"] == "progress"]
            assert steps and steps[-1]["layers"] == steps[-1]["layersDone"] == 2
            assert client.exec(client.create(image=name)["id"], ["/bin/sh", "-c", "say /etc/passwd"])["stdout"].startswith("root:")
            assert client.delete("/images?name=" + name).status == 200
            assert client.exec(client.create(image=name)["id"], ["/bin/sh", "-c", "say passwd"])["stdout"].startswith("root:"), "pulled by the create"
            reply = client.post("/images/pull", {"image": f"{registry.host}/team/none:1"})
            assert reply.status == 404 and "team/none" in reply.error, reply
            for item in client.ok("GET", "/sandboxes")["items"]:
                client.delete(f"/sandboxes/{item['id']}")
    finally:
        engine.remove()
        registry.stop()


def stream(client, name):
    answer = client.open("POST", "/images/pull", {"image": name}, {"Accept": "text/event-stream"})
    assert answer.status == 200, answer.read()
    lines = answer.read().decode().splitlines()
    client.close()
    return [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
