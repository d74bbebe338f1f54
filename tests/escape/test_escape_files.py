"""Hostile names and files under the file calls (checklist 5)."""
import harness

NAMES = ["..", "../..", "../../../../etc/passwd", "x/../../../../etc/passwd", "a" * 255, "a" * 256, "a/" * 2000 + "f", "nul\u0000byte", "\ud800", "new\nline",
         "\u202ertl", "-rf", "*", "$(id)", "`id`", ";id", "%2e%2e%2f", "\\..\\..", "/proc/1/root/BAIT", "../../../../BAIT", "/proc/self/fd/0", "/dev/zero", "/dev/tty"]


def test_no_name_leads_out_or_hangs(server, client, sandbox, bait):
    quick = server.client(timeout_s=harness.DEADLINE_S)
    for name in (n.replace("/BAIT", str(bait.file)) for n in NAMES):
        for call, more in (("read", {}), ("download", {}), ("info", {}), ("list", {}), ("write", {"content": "x"}), ("upload", {"content": "eA=="}),
                           ("mkdir", {"paths": [name]}), ("chmod", {"mode": "600"}), ("delete", {})):
            reply = quick.post(f"/sandboxes/{sandbox}/files/{call}", {"path": name, **more})
            assert reply.status in (200, 400, 403, 404, 409, 413, 414, 422, 500), (name, call, reply)
            assert bait.secret not in reply.body.decode()
        for call, body in (("move", {"moves": [{"from": name, "to": "/workspace/y"}]}), ("move", {"moves": [{"from": "/workspace/y", "to": name}]}),
                           ("search", {"pattern": "secret", "dir": name}), ("rmdir", {"paths": [name]})):
            reply = quick.post(f"/sandboxes/{sandbox}/files/{call}", body)
            assert reply.status in (200, 400, 403, 404, 409, 413, 414, 422, 500), (name, call, reply)
    assert client.exec(sandbox, "echo on")["stdout"] == "on\n"


SPECIAL = """
import os, socket
os.chdir('/workspace')
os.mkfifo('fifo')
socket.socket(socket.AF_UNIX).bind('sock')
for name, to in (('zero', '/dev/zero'), ('full', '/dev/full'), ('tty', '/dev/tty'), ('self', '/proc/self/fd/0'), ('mem', '/proc/self/mem'), ('kmsg', '/proc/kmsg'),
                 ('ptmx', '/dev/ptmx'), ('loop', 'loop'), ('up', '../../../..'), ('agent', '/proc/1/exe'), ('agentfd', '/proc/1/fd/0')):
    os.symlink(to, name)
os.mkdir('deep')
os.chdir('deep')
for i in range(300):
    os.mkdir('d'); os.chdir('d')
"""


def test_files_that_are_none_do_not_hang_the_calls(server, client, sandbox):
    client.exec(sandbox, ["python3", "-c", SPECIAL])
    quick = server.client(timeout_s=harness.DEADLINE_S)
    for name in ("fifo", "sock", "zero", "full", "tty", "self", "mem", "kmsg", "ptmx", "loop", "up/etc", "agent", "agentfd"):
        for call, more in (("read", {}), ("download", {}), ("info", {}), ("write", {"content": "x"}), ("upload", {"content": "eA=="}), ("chmod", {"mode": "600"})):
            reply = quick.post(f"/sandboxes/{sandbox}/files/{call}", {"path": "/workspace/" + name, **more})
            assert reply.status in (200, 400, 403, 404, 409, 413, 422, 500, 503, 504), (name, call, reply)
    assert quick.post(f"/sandboxes/{sandbox}/files/search", {"pattern": "*"}).status == 200
    assert quick.post(f"/sandboxes/{sandbox}/files/rmdir", {"paths": ["/workspace/deep"]}).status in (200, 400)  # 400: deeper than it goes
    assert client.exec(sandbox, "echo on")["stdout"] == "on\n"
