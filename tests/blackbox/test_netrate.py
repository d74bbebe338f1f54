"""netMbps: what a sandbox moves through its network, both ways, inside a network and to the outside. Only "not faster than" is asserted."""
import socket
import threading
import time

import pytest

import harness

pytestmark = [pytest.mark.skipif(not harness.IS_ROOT, reason="networks need root"), harness.needs("limitRate")]
MBPS = 4
BYTES = 1_500_000  # 3 s at that rate
AT_LEAST_S = 1.8   # bursts and queues aside


def serve(listener, taken):
    """Sends BYTES to whoever connects, then counts what comes back."""
    while True:
        try:
            conn, _ = listener.accept()
        except OSError:
            return
        with conn:
            conn.sendall(bytes(BYTES))
            conn.shutdown(socket.SHUT_WR)
            got = 0
            while piece := conn.recv(65536):
                got += len(piece)
            taken.append(got)


@pytest.fixture(scope="module")
def outside():
    listener, taken = socket.create_server(("127.0.0.1", 0)), []
    threading.Thread(target=serve, args=(listener, taken), daemon=True).start()
    yield listener.getsockname()[1], taken
    listener.close()


DOWN_AND_UP = """
import socket, sys, time
begun, got = time.monotonic(), 0
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
while piece := s.recv(65536): got += len(piece)
print(got, time.monotonic() - begun)
begun = time.monotonic()
s.sendall(bytes(int(sys.argv[3])))
s.close()
print(time.monotonic() - begun)
"""


def test_to_the_outside(outside):
    port, taken = outside
    with harness.Server(env={"III_GATEWAY_PORTS": str(port)}) as server:
        client = server.client()
        slow = client.create(network=True, netMbps=MBPS)
        assert slow["config"]["netMbps"] == MBPS
        assert client.ok("GET", f"/sandboxes/{slow['id']}/metrics")["networkLimitMbps"] == MBPS
        begun = time.monotonic()
        done = client.exec(slow["id"], ["python3", "-c", DOWN_AND_UP, "100.96.0.1", str(port), str(BYTES)], timeout=60)
        got, took = done["stdout"].split("\n")[0].split()
        assert int(got) == BYTES and float(took) >= AT_LEAST_S, done
        harness.wait_until(lambda: taken == [BYTES], "all that was sent")
        assert time.monotonic() - begun >= 2 * AT_LEAST_S
        assert client.create(netMbps=0)["config"]["netMbps"] == 0


def test_between_sandboxes(new_sandbox, client):
    net = client.ok("POST", "/networks", {"name": "slow lane"})["id"]
    one, two = new_sandbox(netMbps=MBPS)["id"], new_sandbox()["id"]
    for sid in (one, two):
        client.ok("POST", f"/networks/{net}/connect", {"sandboxId": sid})
    listen = ("import socket, time\ns = socket.create_server(('', 5000))\nwhile True:\n  c = s.accept()[0]\n  try:\n    c.sendall(bytes(%d)); "
              "c.shutdown(1)\n    while c.recv(65536): pass\n  except OSError: pass\n  c.close()" % BYTES)
    client.ok("POST", f"/sandboxes/{two}/exec/background", {"command": ["python3", "-c", listen]})
    address = client.exec(two, "hostname -I || cat /proc/net/fib_trie | grep -o '10[.0-9]*' | head -1")["stdout"].split()[0]
    harness.wait_until(lambda: client.exec(one, ["python3", "-c", f"import socket; socket.create_connection(('{address}', 5000))"])["exitCode"] == 0,
                       "the listener")
    done = client.exec(one, ["python3", "-c", DOWN_AND_UP, address, "5000", str(BYTES)], timeout=60)
    got, took = done["stdout"].split("\n")[0].split()
    assert int(got) == BYTES and float(took) >= AT_LEAST_S, done
    for sid in (one, two):
        client.ok("POST", f"/networks/{net}/disconnect", {"sandboxId": sid})
    client.ok("DELETE", f"/networks/{net}")


SERVER_ENV = {"III_MAX_NET_MBPS": "50"}


def test_the_operators_maximum(new_sandbox):
    assert new_sandbox(netMbps=1000)["config"]["netMbps"] == 50
    assert new_sandbox()["config"]["netMbps"] == 50
