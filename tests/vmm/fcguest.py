"""What a guest's kernel would do at its interfaces: taps are opened as the firecracker program opens them, and frames are made and taken apart here."""

import contextlib
import fcntl
import os
import select
import struct
import threading
import time

TUNSETIFF, TUNSETOFFLOAD, TUNSETVNETHDRSZ = 0x400454CA, 0x400454D0, 0x400454D8
IFF_TAP, IFF_NO_PI, IFF_VNET_HDR = 0x2, 0x1000, 0x4000
OFFLOADS = 1 | 2 | 4  # checksums, long segments of TCP over IPv4 and IPv6
HEADER_SIZE, NEEDS_CSUM, GSO_TCP4 = 12, 1, 1
ARP, IP, TCP, UDP = 0x0806, 0x0800, 6, 17
FIN, SYN, RST, ACK = 1, 2, 4, 16
OWN_PORT, ECHO_PORT, FIRST_S, ANSWER_S = 40001, 7, 0.5, 20
BROADCAST = b"\xff" * 6


def open_tap(name):
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI | IFF_VNET_HDR))
        fcntl.ioctl(tap, TUNSETVNETHDRSZ, struct.pack("i", HEADER_SIZE))
        fcntl.ioctl(tap, TUNSETOFFLOAD, OFFLOADS)
    except OSError:
        os.close(tap)
        raise
    return tap


def total(data):
    data += b"\0" * (len(data) % 2)
    value = sum(struct.unpack(f">{len(data) // 2}H", data))
    while value >> 16:
        value = (value & 0xFFFF) + (value >> 16)
    return value


def checksum(data):
    return ~total(data) & 0xFFFF


def header(csum_at=None, gso_size=0):
    """Of virtio, before a frame. csum_at: where in the packet the field is that the host is asked to finish; gso_size: into how long pieces to cut it."""
    if csum_at is None:
        return bytes(HEADER_SIZE)
    return struct.pack("<BBHHHHH", NEEDS_CSUM, GSO_TCP4 if gso_size else 0, 54 if gso_size else 0, gso_size, 34, csum_at, 0)


def packet(protocol, source, target, data):
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(data), 1, 0, 64, protocol, 0) + source + target
    return head[:10] + struct.pack(">H", checksum(head)) + head[12:] + data


def arp(operation, mac, address, target_mac, target):
    return struct.pack(">HHBBH", 1, IP, 6, 4, operation) + mac + address + target_mac + target


class Wire:
    """One connection to a port of the gateway."""

    def __init__(self, tap, mac, address, gateway):
        self.tap, self.mac = tap, mac
        self.address, self.gateway = (struct.pack(">I", a) for a in (address, gateway))

    def send(self, to, kind, data):
        with contextlib.suppress(OSError):  # the tap is down: a frame is lost, as with the real one
            os.write(self.tap, header() + to + self.mac + struct.pack(">H", kind) + data)

    def receive(self, kind, limit_s):
        """What comes with a frame of this kind, and whose it is; None: nothing did."""
        end = time.monotonic() + limit_s
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.tap], [], [], left)[0]:
                break
            frame = os.read(self.tap, 65536)[HEADER_SIZE:]
            if frame[12:14] == struct.pack(">H", kind):
                return frame[6:12], frame[14:]
        return None

    def find(self):
        """The gateway's hardware address."""
        for _ in range(int(ANSWER_S / FIRST_S)):  # what is before it may only just be set up
            self.send(BROADCAST, ARP, arp(1, self.mac, self.address, bytes(6), self.gateway))
            heard = self.receive(ARP, FIRST_S)
            if heard and heard[1][14:18] == self.gateway:
                return heard[0]
        raise TimeoutError("nobody answers for the gateway")

    def segment(self, to, port, seq, ack, flags):
        tcp = struct.pack(">HHIIBBHHH", OWN_PORT, port, seq, ack, 5 << 4, flags, 65535, 0, 0)
        pseudo = self.address + self.gateway + struct.pack(">BBH", 0, TCP, len(tcp))
        tcp = tcp[:16] + struct.pack(">H", checksum(pseudo + tcp)) + tcp[18:]
        self.send(to, IP, packet(TCP, self.address, self.gateway, tcp))

    def read_from(self, port):
        """All that whoever listens there says."""
        gateway, ours, theirs, said = self.find(), 1000, 0, b""
        self.segment(gateway, port, ours, 0, SYN)
        while True:
            heard = self.receive(IP, ANSWER_S)
            if not heard:
                raise TimeoutError(f"silence after {said!r}")
            got = heard[1][:struct.unpack_from(">H", heard[1], 2)[0]]
            tcp = got[(got[0] & 15) * 4:]
            seq, flags, data = struct.unpack_from(">I", tcp, 4)[0], tcp[13], tcp[(tcp[12] >> 4) * 4:]
            if flags & RST:
                raise ConnectionResetError("reset")
            if flags & SYN:
                ours, theirs = ours + 1, seq + 1
            elif seq == theirs:
                said, theirs = said + data, theirs + len(data) + (flags & FIN)
            self.segment(gateway, port, ours, theirs, ACK)
            if flags & FIN and seq + len(data) + 1 == theirs:
                return said


class Nic:
    """An interface of the guest's kernel, for a network. It answers who asks for its address, says what comes to port 7 again, and keeps the rest.
    What it does not obey (frames that are not its own) goes by send()."""

    def __init__(self, tap, came_with, is_running):
        self.tap, self.came_with, self.is_running = tap, came_with, is_running
        self.peers, self.heard, self.seen, self.change = {}, [], 0, threading.Condition()
        self.release()
        threading.Thread(target=self.listen, daemon=True).start()

    def release(self):
        self.name, self.mac, self.address, self.prefix = None, self.came_with, None, 0

    def use(self, name, address, prefix):
        """address: four bytes. Its hardware address follows from it."""
        self.name, self.mac, self.address, self.prefix = name, b"\x02\x69" + address, address, prefix
        self.peers.clear()

    def send(self, to, kind, data, mac=None, head=None):
        os.write(self.tap, (head or header()) + to + (mac or self.mac) + struct.pack(">H", kind) + data)

    def udp(self, to_mac, source, to, port, text, **more):
        """As kernels do where the device finishes checksums: only what it begins with is in the field."""
        head = struct.pack(">HHH", OWN_PORT, port, 8 + len(text))
        begin = total(source + to + struct.pack(">BBH", 0, UDP, 8 + len(text)))
        self.send(to_mac, IP, packet(UDP, source, to, head + struct.pack(">H", begin) + text), head=header(6), **more)

    def long_segment(self, to_mac, to, port, text, size):
        """One frame that the host is to cut into pieces of this size."""
        begin = total(self.address + to + struct.pack(">BBH", 0, TCP, 20 + len(text)))
        tcp = struct.pack(">HHIIBBHHH", OWN_PORT, port, 1, 1, 5 << 4, ACK, 65535, begin, 0) + text
        self.send(to_mac, IP, packet(TCP, self.address, to, tcp), head=header(16, size))

    def find(self, to, wait_s):
        """The hardware address of a member."""
        end = time.monotonic() + wait_s
        self.peers.pop(to, None)
        while time.monotonic() < end:
            self.send(BROADCAST, ARP, arp(1, self.mac, self.address, bytes(6), to))
            with self.change:
                if self.change.wait_for(lambda: to in self.peers, min(FIRST_S, wait_s)):
                    return self.peers[to]
        raise TimeoutError("nobody answers for the address")

    def ask(self, to, text, wait_s):
        """What a member says to this."""
        answer = ["udp", ".".join(map(str, to)), OWN_PORT, "again " + text]
        mac = self.find(to, wait_s)
        self.udp(mac, self.address, to, ECHO_PORT, text.encode())
        with self.change:
            if not self.change.wait_for(lambda: answer in self.heard, wait_s):
                raise TimeoutError(f"{answer[1]} does not answer")
            self.heard.remove(answer)
        return answer[3]

    def listen(self):
        while True:
            select.select([self.tap], [], [])
            data = os.read(self.tap, 65536 + HEADER_SIZE)
            frame = data[HEADER_SIZE:]
            self.seen += not frame.startswith((b"33", b"\x01\x00\x5e"))  # multicast: what the switch itself says, of itself
            if not self.address or not self.is_running() or frame[:6] not in (self.mac, BROADCAST):
                continue  # it is down, or stands still; or it is not for us
            with self.change:
                {ARP: self.on_arp, IP: self.on_ip}.get(struct.unpack_from(">H", frame, 12)[0], lambda *_: None)(frame[6:12], frame[14:], data[:HEADER_SIZE])
                self.change.notify_all()

    def on_arp(self, mac, data, head):
        if data[24:28] != self.address or data[8:14] != mac:
            return
        self.peers[data[14:18]] = mac
        if data[7] == 1:
            self.send(mac, ARP, arp(2, self.mac, self.address, mac, data[14:18]))

    def on_ip(self, mac, data, head):
        data = data[:struct.unpack_from(">H", data, 2)[0]]
        source, to, protocol, body = data[12:16], data[16:20], data[9], data[20:]
        is_whole = not total(source + to + struct.pack(">BBH", 0, protocol, len(body)) + body) ^ 0xFFFF
        if to != self.address or not (head[0] & NEEDS_CSUM or is_whole):
            return
        port, sender = struct.unpack_from(">H", body, 2)[0], ".".join(map(str, source))
        if protocol == UDP and port == ECHO_PORT:
            self.udp(mac, self.address, source, OWN_PORT, b"again " + body[8:])
        elif protocol == UDP:
            self.heard.append(["udp", sender, port, body[8:].decode()])
        elif protocol == TCP:
            self.heard.append(["tcp", sender, port, body[(body[12] >> 4) * 4:].decode()])
