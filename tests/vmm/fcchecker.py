#!/usr/bin/python3
"""Stands where the firecracker program would and believes nothing: a server of its API on a unix socket that refuses
every request which the description (fcrules.py) does not allow, in its form, its order or its moment, and speaks the
vsock's handshake. There is no machine behind it: a stream to port 52 is led to a socket at which an agent listens, one
to port 53 to a warden that is played (fcwarden.py).

    fcchecker.py --api-sock PATH --id NAME

Names in requests are names in the monitor's root; outside of a confinement FCCHECKER_ROOT is put before them.
FCCHECKER_AGENT: the agent's socket. FCCHECKER_HELLO=1: the machine's first process, which takes the host's hello before
the agent speaks (src/os/vm_handshake.h), is played here, too. FCCHECKER_FAULT="METHOD /path HOW": how one call goes wrong (400, hang, close,
garbage, huge, truncated; late: it is done, and a while later said so); FCCHECKER_VSOCK: how the handshake does (refuse, garbage, hang, long).
FCCHECKER_NOTES: how notes do (hang, deny, flood, late). FCCHECKER_NICS=1: interfaces are opened as well (fcguest.py); FCCHECKER_DIAL=PORT: its guest reads from that port of its gateway into
/box/heard as soon as it has an address. FCCHECKER_VERSION: what it says it is. FCCHECKER_LOG: a file to which each request and its answer are appended."""

import contextlib
import http.server
import json
import os
import pathlib
import re
import socket
import socketserver
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import fcguest  # noqa: E402
import fcrules  # noqa: E402
import fcwarden  # noqa: E402
from fcrules import Refused  # noqa: E402

BODY_MAX = 51200  # of the real one's server
LATE_S = fcwarden.LATE_S
ENV = os.environ


def real(path):
    return ENV.get("FCCHECKER_ROOT", "") + path


def must_open(path, flags, what):
    try:
        os.close(os.open(real(path), flags))
    except OSError as e:
        raise Refused(f"{what}: {e.strerror}: {path}") from None


def as_text(value):
    return json.dumps(value, sort_keys=True)


class Machine:
    """What has been said so far, and what may be said next."""

    def __init__(self, name):
        self.name, self.state, self.lock = name, "Not started", threading.Lock()
        self.config, self.is_over, self.taps = {}, False, {}
        self.warden = fcwarden.Warden(lambda: self.state == "Running")

    # --- one function for each thing that a request does; what it raises is the fault_message ---

    def take(self, method, path, body):
        with self.lock:
            row, when, check, path_id = fcrules.find(method, path)
            if when == fcrules.BEFORE and self.state != "Not started":
                raise Refused("The requested operation is not supported after starting the microVM.")
            if when == fcrules.AFTER and self.state == "Not started":
                raise Refused("The requested operation is not supported before starting the microVM.")
            if check:
                check(body, path)
            if path_id and body.get("drive_id", body.get("iface_id")) != path_id:
                raise Refused("The id from the path does not match the id from the body!")
            return getattr(self, "do_" + re.sub(r"\W+", "_", f"{method}{row}").strip("_").lower())(path, body)

    def do_get(self, path, body):
        return {"app_name": "Firecracker", "id": self.name, "state": self.state, "vmm_version": ENV.get("FCCHECKER_VERSION", "1.17.0-checker")}

    def do_get_version(self, path, body):
        return {"firecracker_version": "1.17.0-checker"}

    def do_get_machine_config(self, path, body):
        return {"vcpu_count": 1, "mem_size_mib": 128, "smt": False, **self.config.get("/machine-config", {})}

    def keep(self, path, body):
        self.config[path] = body

    do_put_machine_config = do_patch_machine_config = do_put_entropy = do_put_serial = do_put_logger = keep
    do_patch_drives_drive_id = keep

    def do_put_boot_source(self, path, body):
        must_open(body["kernel_image_path"], os.O_RDONLY, "The kernel file cannot be opened")
        if "initrd_path" in body:
            must_open(body["initrd_path"], os.O_RDONLY, "The initrd file cannot be opened")
        self.keep(path, body)

    def do_put_drives_drive_id(self, path, body):
        if "path_on_host" not in body or "is_read_only" not in body:
            raise Refused("Unable to create the block device: neither virtio nor vhost-user")
        must_open(body["path_on_host"], os.O_RDONLY if body["is_read_only"] else os.O_RDWR, "Error opening backing file")
        self.keep(path, body)

    def interfaces(self):
        return [value for key, value in self.config.items() if key.startswith("/network-interfaces/")]

    def do_put_network_interfaces_iface_id(self, path, body):
        others = [nic for nic in self.interfaces() if nic["iface_id"] != body["iface_id"]]
        if any(nic.get("guest_mac") == body["guest_mac"] for nic in others if "guest_mac" in body):
            raise Refused(f"The MAC address is already in use: {body['guest_mac']}")
        if any(nic["host_dev_name"] == body["host_dev_name"] for nic in others):
            raise Refused(f"Could not create the network device: open tap device failed: Resource busy: {body['host_dev_name']}")
        self.open_tap(body, "Could not create the network device")
        self.keep(path, body)

    def open_tap(self, body, what):
        if "FCCHECKER_NICS" not in ENV:
            return
        if body["iface_id"] in self.taps:
            os.close(self.taps.pop(body["iface_id"]))
        with contextlib.suppress(PermissionError):
            fcguest.open_tap("another")
            raise Refused("this process can make taps of its own: it has rights that a monitor must not have")
        try:
            self.taps[body["iface_id"]] = fcguest.open_tap(body["host_dev_name"])
        except OSError as e:
            raise Refused(f"{what}: open tap device failed: {e.strerror}: {body['host_dev_name']}") from None

    def do_put_vsock(self, path, body):
        self.keep(path, body)

    def do_put_actions(self, path, body):
        if body["action_type"] != "InstanceStart":
            return
        if self.state != "Not started":
            raise Refused("The requested operation is not supported after starting the microVM.")
        if "/boot-source" not in self.config:
            raise Refused("Cannot start microvm without kernel configuration.")
        self.open_vsock()
        self.wake_guest()
        self.state = "Running"

    def wake_guest(self):
        self.warden.set_taps({bytes.fromhex(nic["guest_mac"].replace(":", "")): self.taps[nic["iface_id"]]
                              for nic in self.interfaces() if nic["iface_id"] in self.taps})

    def do_patch_vm(self, path, body):
        self.state = {"Paused": "Paused", "Resumed": "Running"}[body["state"]]

    def do_put_snapshot_create(self, path, body):
        if self.state != "Paused":
            raise Refused("Cannot create snapshot: save/restore unavailable while running")
        size = self.config["/machine-config"]["mem_size_mib"] << 20
        seal = os.urandom(16)
        with open(real(body["mem_file_path"]), "wb") as memory:  # truncated, then written into: no new file
            memory.write(seal)
            memory.truncate(size)
        with open(real(body["snapshot_path"]), "wb") as state:
            state.write(as_text({"config": self.config, "seal": seal.hex(), "guest": self.warden.memory()}).encode())

    def do_put_snapshot_load(self, path, body):
        if set(self.config) - {"/logger"}:
            raise Refused("Loading a microVM snapshot not allowed after configuring boot-specific resources.")
        if ("mem_backend" in body) == ("mem_file_path" in body):
            raise Refused("Bad request: either mem_backend or mem_file_path must be there")
        memory = body.get("mem_file_path") or body["mem_backend"]["backend_path"]
        try:
            saved = json.loads(pathlib.Path(real(body["snapshot_path"])).read_bytes())
            size = os.stat(real(memory)).st_size
            with open(real(memory), "rb") as file:
                seal = file.read(16).hex()
        except (OSError, ValueError, UnicodeDecodeError) as e:
            self.is_over = True  # the real one ends, too
            raise Refused(f"Load snapshot error: {e}") from None
        if seal != saved["seal"] or size != saved["config"]["/machine-config"]["mem_size_mib"] << 20:
            self.is_over = True
            raise Refused("Load snapshot error: the memory is not that of the state")
        self.config = saved["config"]
        for drive in (value for key, value in self.config.items() if key.startswith("/drives/")):
            must_open(drive["path_on_host"], os.O_RDONLY if drive["is_read_only"] else os.O_RDWR, "Load snapshot error")
        for change in body.get("network_overrides", []):
            path = f"/network-interfaces/{change['iface_id']}"
            if path not in self.config:
                raise Refused(f"Load snapshot error: Unknown Network Device: {change['iface_id']}")
            self.config[path] = {**self.config[path], **change}
        for nic in self.interfaces():
            self.open_tap(nic, "Load snapshot error")
        self.open_vsock()
        self.wake_guest()
        self.warden.remember(saved["guest"])
        self.state = "Running" if body.get("resume_vm") else "Paused"

    # --- the vsock ---

    def open_vsock(self):
        vsock = self.config.get("/vsock")
        if not vsock:
            return
        listener = socket.socket(socket.AF_UNIX)
        try:
            listener.bind(real(vsock["uds_path"]))
        except OSError as e:
            raise Refused(f"Cannot create the vsock device: {e.strerror}") from None
        listener.listen()
        threading.Thread(target=self.serve_vsock, args=(listener,), daemon=True).start()

    def serve_vsock(self, listener):
        while True:
            conn, _ = listener.accept()
            threading.Thread(target=self.serve_stream, args=(conn,), daemon=True).start()

    def serve_stream(self, conn):
        line = b""
        while len(line) < 32 and not line.endswith(b"\n"):
            piece = conn.recv(1)
            if not piece:
                break
            line += piece
        fault = ENV.get("FCCHECKER_VSOCK", "")
        if fault == "hang":
            time.sleep(3600)
        if fault in ("garbage", "long"):
            conn.sendall(b"HTTP/1.1 400 Bad Request\r\n" if fault == "garbage" else b"OK 1" + b"0" * 4096)
            time.sleep(3600)
        lines = {b"CONNECT %d\n" % port: port for port in (fcwarden.AGENT_PORT, fcwarden.NOTES_PORT)}
        if line not in lines or fault == "refuse" or self.state != "Running":
            conn.close()  # nobody listens there
        else:
            self.lead_to(conn, lines[line])

    def lead_to(self, conn, port):
        if port == fcwarden.AGENT_PORT:
            self.lead(conn, b"OK 1073741824\n")
        else:
            conn.sendall(b"OK 1073741825\n")
            self.warden.notes(conn)

    def lead(self, conn, first=b""):
        """To the agent, once the host has said who the machine is."""
        try:
            agent = connect_agent()
            conn.sendall(first)
            is_served = "FCCHECKER_HELLO" not in ENV or self.warden.enter(conn)
        except OSError:
            is_served = False
        if not is_served:
            conn.close()
            return
        for here, there in ((conn, agent), (agent, conn)):
            threading.Thread(target=pump, args=(here, there), daemon=True).start()


def connect_agent():
    agent = socket.socket(socket.AF_UNIX)
    agent.connect(ENV["FCCHECKER_AGENT"])
    return agent


def pump(here, there):
    try:
        while piece := here.recv(65536):
            there.sendall(piece)
    except OSError:
        pass  # the other direction has ended
    for end in (here, there):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # has been already


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def note(self, *words):
        if "FCCHECKER_LOG" in ENV:
            with open(ENV["FCCHECKER_LOG"], "a", encoding="utf-8") as log:
                log.write(" ".join(map(str, words)) + "\n")

    def read_body(self):
        if self.request_version != "HTTP/1.1" or "Transfer-Encoding" in self.headers:
            raise Refused("Unsupported HTTP version or header.")
        if self.command == "GET":
            return None
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or self.headers.get("Content-Type") != "application/json":
            raise Refused("Content-Length and Content-Type: application/json are needed.")
        if int(length) > BODY_MAX:
            raise Refused(f"Request payload with size {length} is larger than the limit of {BODY_MAX} allowed by server.")
        try:
            return json.loads(self.rfile.read(int(length)))
        except ValueError as e:
            raise Refused(f"An error occurred when deserializing the json body of a request: {e}") from None

    def go_wrong(self, how):
        if how == "400":
            raise Refused("as the test wishes,\n\x1b[31m in two lines" + "!" * 4000)
        if how == "hang":
            time.sleep(3600)
        elif how == "garbage":
            self.wfile.write(b"\x00\xff not http at all\r\n\r\n")
        elif how == "truncated":
            self.wfile.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 100\r\n\r\n{\"fault_")
        elif how == "huge":
            self.wfile.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 10485760\r\n\r\n")
            for _ in range(160):
                self.wfile.write(b"x" * 65536)
        self.close_connection = True

    def serve(self):
        method, path, fault = self.command, self.path, ENV.get("FCCHECKER_FAULT", "").split(" ")
        status, answer = 204, None
        try:
            body = self.read_body()
            self.note(">", method, path, as_text(body))
            is_fault = fault[:2] == [method, path]
            if is_fault and fault[2] != "late":
                self.go_wrong(fault[2])
                return
            answer = MACHINE.take(method, path, body)
            if is_fault:
                time.sleep(LATE_S)
            status = 204 if answer is None else 200
        except Refused as e:
            status, answer = 400, {"fault_message": str(e)}
        self.note("<", status, as_text(answer))
        data = json.dumps(answer).encode() if answer is not None else b""
        self.send_response(status)
        if data:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        if MACHINE.is_over:
            self.wfile.flush()
            os._exit(1)

    do_GET = do_PUT = do_PATCH = do_POST = do_DELETE = serve


class Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True

    def get_request(self):
        conn, _ = super().get_request()
        return conn, ("firecracker", 0)

    def handle_error(self, request, client_address):
        pass  # a client that hung up


def arguments(argv):
    """Of the real program's options only these: another one is a mistake. The jailer adds two numbers of its own, and
    joins names and values."""
    words = [word for item in argv for word in item.split("=", 1)]
    given = dict(zip(words[::2], words[1::2]))
    is_jailed = {"--start-time-us", "--start-time-cpu-us"} <= given.keys()
    if len(words) != 2 * len(given) or given.keys() - {"--start-time-us", "--start-time-cpu-us"} != {"--api-sock", "--id"} \
            or len(given) != (4 if is_jailed else 2) or not re.fullmatch(r"[A-Za-z0-9-]{1,64}", given["--id"]):
        sys.exit(f"fcchecker: --api-sock PATH --id NAME is needed, not {argv}")
    return given["--api-sock"], given["--id"]


def main(kind=Machine):
    global MACHINE
    api, name = arguments(sys.argv[1:])
    MACHINE = kind(name)
    Server(real(api), Handler).serve_forever()


def krun_main():
    """The guest of a stand-in for libkrun: its port is a socket that leads to the agent without a handshake."""
    machine, listener = Machine("krun"), socket.socket(socket.AF_UNIX)
    listener.bind("/box/vsock.sock")
    listener.listen()
    while True:
        conn, _ = listener.accept()
        threading.Thread(target=machine.lead, args=(conn,), daemon=True).start()


if __name__ == "__main__":
    main()
