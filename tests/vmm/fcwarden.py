"""The first process of a guest, played: it takes hellos on the agent's port and notes on a port of its own (src/os/vm_handshake.h), and refuses what does
not belong there. The guest's interfaces are fcguest.py's; a test tells them what to send through a socket in the machine's folder."""

import contextlib
import errno
import json
import os
import re
import socket
import struct
import threading
import time

import fcguest

ENV = os.environ
AGENT_PORT, NOTES_PORT, LATE_S = 52, 53, 0.7
ENTER, PROBE, REJOIN, PLUG, UNPLUG = 1, 2, 3, 8, 9
MAGIC, VERSION = b"\x02iii-vm\n", 1
HELLO, REPLY = struct.Struct("<8sIIQQ16s64sIIII6sBBII16s64s1024s"), struct.Struct("<8sIiQ240s")
FIELDS = "magic version what nonce realtime token seed nofile shm pids flags mac prefix zero address gateway nic2 hostname workdir".split()
TALK = "/box/wire.sock"


class NoNote(Exception):
    """Answered by -EINVAL and this text."""


def must(is_right, what):
    if not is_right:
        raise NoNote(what)


def receive(conn):
    """One hello; None: the host hung up."""
    data = b""
    while len(data) < HELLO.size:
        piece = conn.recv(HELLO.size - len(data))
        if not piece:
            return None
        data += piece
    hello = dict(zip(FIELDS, HELLO.unpack(data)))
    if (hello["magic"], hello["version"]) != (MAGIC, VERSION):
        raise OSError("no hello")
    return hello


def reply(conn, hello, result, text=""):
    conn.sendall(REPLY.pack(MAGIC, VERSION, result, hello["nonce"], text.encode()))


class Warden:
    def __init__(self, is_running):
        self.token, self.taps, self.nics, self.is_running = None, {}, {}, is_running

    def set_taps(self, taps):
        """taps: by the hardware address that the interface has in the API, whole and in order."""
        self.taps = taps
        if taps:
            threading.Thread(target=self.talk, daemon=True).start()

    def memory(self):
        """What a saved machine has in its memory: another that is made of it believes that it is this one, until it is told otherwise."""
        nics = {mac.hex(): [n.name, n.address.hex(), n.prefix] for mac, n in self.nics.items() if n.name}
        return {"token": self.token and self.token.hex(), "nics": nics}

    def remember(self, memory):
        self.token = memory["token"] and bytes.fromhex(memory["token"])
        for mac, (name, address, prefix) in memory["nics"].items():
            self.nic(bytes.fromhex(mac)).use(name, bytes.fromhex(address), prefix)

    def nic(self, mac):
        if mac not in self.nics:
            self.nics[mac] = fcguest.Nic(self.taps[mac], mac, self.is_running)
        return self.nics[mac]

    # --- the agent's port ---

    def enter(self, conn):
        """Answers hellos until one makes this connection a link. False: the host hung up, or was sent away."""
        while hello := receive(conn):
            what = hello["what"]
            if what not in (ENTER, PROBE, REJOIN):
                reply(conn, hello, -errno.EINVAL, "handshake and note use separate ports")
                return False
            is_known = what != REJOIN or hello["token"] == self.token
            if what == ENTER:
                self.token = hello["token"]
                for nic in self.nics.values():
                    nic.release()
                if hello["address"] and "FCCHECKER_DIAL" in ENV:
                    threading.Thread(target=self.dial, args=(hello["mac"], hello["address"], hello["gateway"]), daemon=True).start()
            reply(conn, hello, 0 if is_known else -errno.EACCES)
            if what != PROBE:
                return is_known
        return False

    def dial(self, mac, address, gateway):
        try:
            heard = fcguest.Wire(self.taps[mac], mac, address, gateway).read_from(int(ENV["FCCHECKER_DIAL"]))
        except OSError as e:
            heard = f"{e}\n".encode()
        with open("/box/heard.new", "wb") as file:
            file.write(heard)
        os.rename("/box/heard.new", "/box/heard")

    # --- the port of notes ---

    def notes(self, conn):
        fault = ENV.get("FCCHECKER_NOTES", "")
        with contextlib.suppress(OSError), conn:
            if fault == "flood":
                while True:
                    conn.sendall(MAGIC * 8192)
            while hello := receive(conn):
                if fault == "hang":
                    time.sleep(3600)
                time.sleep(LATE_S * (fault == "late"))
                try:
                    must(fault != "deny", "as the test wishes,\n\x1b[31m in two lines")
                    result, text = self.take(hello), ""
                except NoNote as e:
                    result, text = -errno.EINVAL, str(e)
                reply(conn, hello, result, text)

    def take(self, note):
        if not self.token or note["token"] != self.token:
            return -errno.EACCES
        name = note["hostname"].rstrip(b"\0").decode()
        must(note["what"] in (PLUG, UNPLUG), "a kind that this stand-in does not know")
        must(abs(note["realtime"] / 1e9 - time.time()) < 3600, "clock")
        must(note["seed"].strip(b"\0"), "no seed")
        must(not any(note[key] for key in ("nofile", "shm", "pids", "flags", "zero", "gateway")), "a field of a hello")
        must(note["nic2"] == bytes(16) and note["workdir"] == bytes(1024), "a place or a second interface")
        must(note["mac"] in list(self.taps)[1:], f"no interface for networks: {note['mac'].hex(':')}")
        if note["what"] == UNPLUG:
            must(not note["address"] and not note["prefix"] and not name, "an address of what is given back")
            if note["mac"] in self.nics:
                self.nics[note["mac"]].release()
            return 0
        must(note["address"] and 1 <= note["prefix"] <= 32, "address")
        must(re.fullmatch(r"net[0-9]{1,5}", name), f"name {name!r}")
        for nic in self.nics.values():
            if nic.name == name:
                nic.release()  # another that was used for the same, before the host was restarted
        self.nic(note["mac"]).use(name, struct.pack(">I", note["address"]), note["prefix"])
        return 0

    # --- what a test has the guest do ---

    def talk(self):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(TALK)
        listener.listen()
        while True:
            conn, _ = listener.accept()
            with conn, conn.makefile("rw") as file:
                try:
                    answer = self.obey(**json.loads(file.readline()))
                except Exception as e:  # the test is told, and may go on
                    answer = {"error": f"{type(e).__name__}: {e}"}
                file.write(json.dumps(answer) + "\n")

    def by_name(self, name):
        return {nic.name: nic for nic in self.nics.values() if nic.name}[name]

    def obey(self, do, nic=None, to=None, text="", wait=fcguest.ANSWER_S, **lie):
        """`to` and the values of `lie` that are addresses: as text. nic: its name, or its number for what the guest's kernel would not do."""
        to = socket.inet_aton(to) if to else None
        if do == "nics":
            return {n.name: f"{socket.inet_ntoa(n.address)}/{n.prefix}" for n in self.nics.values() if n.name}
        if do == "heard":
            return [item for n in self.nics.values() for item in n.heard]
        if do == "seen":  # frames, whoever they were for: what one sees that obeys nobody
            return sum(n.seen for n in self.nics.values())
        if do == "ask":
            return self.by_name(nic).ask(to, text, wait)
        if do == "bytes":
            return sum(len(item[3]) for n in self.nics.values() for item in n.heard)
        if do in ("burst", "long"):
            member = self.by_name(nic)
        if do == "burst":
            mac = member.find(to, wait)
            for _ in range(lie["times"]):
                member.udp(mac, member.address, to, 9, text.encode())
            return len(text) * lie["times"]
        if do == "long":
            return member.long_segment(member.find(to, wait), to, 9, text.encode() * lie["times"], lie["size"])
        tap = list(self.taps.values())[nic]
        source, mac = socket.inet_aton(lie["source"]), bytes.fromhex(lie["mac"])
        head, to_mac = mac + struct.pack(">H", lie.get("ether", fcguest.IP)), b"\x02\x69" + to
        if do == "arp":  # says that it is the owner of source
            return os.write(tap, fcguest.header() + to_mac + mac + struct.pack(">H", fcguest.ARP) + fcguest.arp(2, bytes.fromhex(lie["claim"]), source, to_mac, to))
        body = struct.pack(">HHHH", fcguest.OWN_PORT, 9, 8 + len(text), 0) + text.encode()
        sums = fcguest.checksum(source + to + struct.pack(">BBH", 0, fcguest.UDP, len(body)) + body)
        body = body[:6] + struct.pack(">H", sums) + body[8:]
        return os.write(tap, fcguest.header() + to_mac + head + fcguest.packet(fcguest.UDP, source, to, body))
