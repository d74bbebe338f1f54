"""What a guest's kernel would do at its interface: the tap is opened as the firecracker program opens it, and one
connection is made over it, frame by frame."""

import contextlib
import fcntl
import os
import select
import struct
import time

TUNSETIFF, IFF_TAP, IFF_NO_PI, IFF_VNET_HDR = 0x400454CA, 0x2, 0x1000, 0x4000
HEADER = bytes(10)  # of virtio: no offload is asked for
ARP, IP, TCP = 0x0806, 0x0800, 6
FIN, SYN, RST, ACK = 1, 2, 4, 16
OWN_PORT, FIRST_S, ANSWER_S = 40001, 0.5, 20


def open_tap(name):
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI | IFF_VNET_HDR))
    except OSError:
        os.close(tap)
        raise
    return tap


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


class Wire:
    """One connection to a port of the gateway."""

    def __init__(self, tap, mac, address, gateway):
        self.tap, self.mac = tap, mac
        self.address, self.gateway = (struct.pack(">I", a) for a in (address, gateway))

    def send(self, to, kind, data):
        with contextlib.suppress(OSError):  # the tap is down: a frame is lost, as with the real one
            os.write(self.tap, HEADER + to + self.mac + struct.pack(">H", kind) + data)

    def receive(self, kind, limit_s):
        """What comes with a frame of this kind, and whose it is; None: nothing did."""
        end = time.monotonic() + limit_s
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.tap], [], [], left)[0]:
                break
            frame = os.read(self.tap, 65536)[len(HEADER):]
            if frame[12:14] == struct.pack(">H", kind):
                return frame[6:12], frame[14:]
        return None

    def find(self):
        """The gateway's hardware address."""
        ask = struct.pack(">HHBBH", 1, IP, 6, 4, 1) + self.mac + self.address + bytes(6) + self.gateway
        for _ in range(int(ANSWER_S / FIRST_S)):  # what is before it may only just be set up
            self.send(b"\xff" * 6, ARP, ask)
            heard = self.receive(ARP, FIRST_S)
            if heard and heard[1][14:18] == self.gateway:
                return heard[0]
        raise TimeoutError("nobody answers for the gateway")

    def segment(self, to, port, seq, ack, flags):
        tcp = struct.pack(">HHIIBBHHH", OWN_PORT, port, seq, ack, 5 << 4, flags, 65535, 0, 0)
        pseudo = self.address + self.gateway + struct.pack(">BBH", 0, TCP, len(tcp))
        tcp = tcp[:16] + struct.pack(">H", checksum(pseudo + tcp)) + tcp[18:]
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), 1, 0, 64, TCP, 0) + self.address + self.gateway
        self.send(to, IP, ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:] + tcp)

    def read_from(self, port):
        """All that whoever listens there says."""
        gateway, ours, theirs, said = self.find(), 1000, 0, b""
        self.segment(gateway, port, ours, 0, SYN)
        while True:
            heard = self.receive(IP, ANSWER_S)
            if not heard:
                raise TimeoutError(f"silence after {said!r}")
            packet = heard[1][:struct.unpack_from(">H", heard[1], 2)[0]]
            tcp = packet[(packet[0] & 15) * 4:]
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
