"""A vsock device for QEMU as Firecracker has one: connections of the host come by a unix socket with CONNECT, and become streams of the guest's
vsock. The device's half is spoken here: vhost-user with QEMU over a socket, and the two queues in the guest's memory."""

import collections
import contextlib
import mmap
import os
import select
import socket
import struct
import threading

HOST, GUEST = 2, 3
HEADER = struct.Struct("<QQIIIHHIII")  # of a packet: cids, ports, length, type, operation, flags, credit
REQUEST, RESPONSE, RST, SHUTDOWN, RW, CREDIT_UPDATE, CREDIT_REQUEST = range(1, 8)
INDEX = struct.Struct("H")  # native: read and written at once, while the guest looks at it
STREAM, BOTH, ROOM, PIECE = 1, 3, 262144, 2048  # of a piece: less than any kernel has room for in one buffer
FIRST_PORT, ACCEPT_S = 1 << 30, 2
VERSION_1, PROTOCOL_FEATURES, CONFIG = 1 << 32, 1 << 30, 1 << 9
(GET_FEATURES, SET_FEATURES, SET_OWNER, _, SET_MEM_TABLE, _, _, SET_VRING_NUM, SET_VRING_ADDR, SET_VRING_BASE, GET_VRING_BASE, SET_VRING_KICK,
 SET_VRING_CALL, SET_VRING_ERR, GET_PROTOCOL_FEATURES, SET_PROTOCOL_FEATURES, _, SET_VRING_ENABLE) = range(1, 19)
GET_CONFIG = 24
NO_FD, REPLY, DESC_NEXT, NO_INTERRUPT = 0x100, 5, 1, 1


class Memory:
    """The guest's, as QEMU handed it over."""

    def __init__(self):
        self.regions = []

    def take(self, payload, fds):
        self.regions.clear()
        for i, fd in enumerate(fds):
            guest, size, user, offset = struct.unpack_from("<QQQQ", payload, 8 + 32 * i)
            self.regions.append((guest, user, size, offset, mmap.mmap(fd, size + offset)))
            os.close(fd)

    def at(self, address, which):
        """The map that this address is in, and where in it. which: 0 the guest's addresses, 1 QEMU's own."""
        for region in self.regions:
            if 0 <= address - region[which] < region[2]:
                return region[4], address - region[which] + region[3]
        raise OSError(f"address {address:#x} is not in the guest's memory")


class Queue:
    def __init__(self, memory):
        self.memory, self.size, self.next, self.used = memory, 0, 0, 0
        self.places, self.call, self.kick = None, None, None

    def set_places(self, payload):
        _, _, desc, used, avail, _ = struct.unpack_from("<IIQQQQ", payload)
        self.places = [self.memory.at(address, 1) for address in (desc, avail, used)]
        self.used = INDEX.unpack_from(self.places[2][0], self.places[2][1] + 2)[0]

    def pop(self):
        """The next chain: its number and its pieces (map, offset, length). None: there is none."""
        (table, desc), (ring, avail) = self.places[:2]
        if INDEX.unpack_from(ring, avail + 2)[0] == self.next:
            return None
        head = at = struct.unpack_from("<H", ring, avail + 4 + 2 * (self.next % self.size))[0]
        self.next = (self.next + 1) % 65536
        pieces, flags = [], DESC_NEXT
        while flags & DESC_NEXT:
            address, length, flags, following = struct.unpack_from("<QIHH", table, desc + 16 * at)
            pieces.append((*self.memory.at(address, 0), length))
            at = following
        return head, pieces

    def push(self, head, written):
        ring, used = self.places[2]
        struct.pack_into("<II", ring, used + 4 + 8 * (self.used % self.size), head, written)
        self.used = (self.used + 1) % 65536
        INDEX.pack_into(ring, used + 2, self.used)
        flags = INDEX.unpack_from(self.places[1][0], self.places[1][1])[0]
        if self.call is not None and not flags & NO_INTERRUPT:
            os.write(self.call, struct.pack("<Q", 1))


class Stream:
    """One connection."""

    def __init__(self, device, conn, host_port, guest_port):
        self.device, self.conn, self.ports = device, conn, (host_port, guest_port)
        self.change = threading.Condition()
        self.is_open, self.is_over = False, False
        self.sent, self.room, self.taken, self.forwarded = 0, 0, 0, 0
        self.waiting = collections.deque()

    def send(self, operation, data=b"", flags=0):
        self.device.send(HEADER.pack(HOST, GUEST, *self.ports, len(data), STREAM, operation, flags, ROOM, self.forwarded & 0xFFFFFFFF) + data)

    def serve(self):
        """Until the host's side has ended."""
        self.send(REQUEST)
        with self.change:
            self.change.wait_for(lambda: self.is_open or self.is_over, ACCEPT_S)
        if self.is_open:
            threading.Thread(target=self.write, daemon=True).start()
            with contextlib.suppress(OSError):
                self.conn.sendall(b"OK %d\n" % self.ports[0])
                while not self.is_over and (piece := self.conn.recv(PIECE)):
                    with self.change:
                        self.change.wait_for(lambda: self.is_over or self.sent + len(piece) <= self.taken + self.room)
                    self.sent += len(piece)
                    self.send(RW, piece)
        self.send(SHUTDOWN if self.is_open else RST, flags=BOTH)
        self.end()

    def write(self):
        """What the guest says, to the host: as fast as that takes it."""
        while True:
            with self.change:
                self.change.wait_for(lambda: self.waiting or self.is_over)
                if not self.waiting:
                    break
                piece = self.waiting.popleft()
            with contextlib.suppress(OSError):
                self.conn.sendall(piece)
            self.forwarded += len(piece)
            self.send(CREDIT_UPDATE)
        with contextlib.suppress(OSError):
            self.conn.shutdown(socket.SHUT_RDWR)

    def end(self):
        with self.change:
            self.is_over = True
            self.change.notify_all()
        self.device.streams.pop(self.ports, None)

    def take(self, operation, data, room, taken):
        with self.change:
            self.room, self.taken = room, self.taken + ((taken - self.taken) & 0xFFFFFFFF)
            self.is_open |= operation == RESPONSE
            if operation == RW:
                self.waiting.append(data)
            self.change.notify_all()
        if operation == CREDIT_REQUEST:
            self.send(CREDIT_UPDATE)
        if operation == SHUTDOWN:
            self.send(RST)
        if operation in (SHUTDOWN, RST):
            self.end()
            if not self.is_open:
                self.conn.close()


class Device:
    """conn: a socket to QEMU's vhost-user-vsock-device."""

    def __init__(self, conn):
        self.conn, self.memory, self.lock = conn, Memory(), threading.Lock()
        self.queues = [Queue(self.memory), Queue(self.memory)]  # to the guest, from it
        self.pending, self.streams, self.next_port = collections.deque(), {}, FIRST_PORT
        threading.Thread(target=self.control, daemon=True).start()

    def connect(self, conn, port):
        """Leads a connection to a port of the guest's."""
        with self.lock:
            self.next_port += 1
            stream = self.streams[self.next_port, port] = Stream(self, conn, self.next_port, port)
        stream.serve()

    # --- packets ---

    def send(self, packet):
        with self.lock:
            self.pending.append(packet)
            self.flush()

    def flush(self):
        queue = self.queues[0]
        while self.pending and queue.kick is not None and (chain := queue.pop()):
            data = self.pending.popleft()
            written = len(data)
            for space, offset, length in chain[1]:
                space[offset:offset + min(length, len(data))] = data[:length]
                data = data[length:]
            assert not data, "a packet is longer than the guest's buffers"
            queue.push(chain[0], written)

    def on_kick(self, index, kick):
        while self.queues[index].kick == kick:
            select.select([kick], [], [])
            with contextlib.suppress(BlockingIOError):  # it is QEMU's, too, and must not wait there
                os.read(kick, 8)
                for operation, ports, data, room, taken in self.drain(index):
                    stream = self.streams.get(ports)
                    if stream:
                        stream.take(operation, data, room, taken)
                    elif operation != RST:
                        self.send(HEADER.pack(HOST, GUEST, *ports, 0, STREAM, RST, 0, 0, 0))  # nobody is there

    def drain(self, index):
        """What the guest has sent; for the other queue: buffers have come."""
        packets = []
        with self.lock:
            if index == 0:
                self.flush()
                return packets
            while chain := self.queues[1].pop():
                data = b"".join(space[offset:offset + length] for space, offset, length in chain[1])
                self.queues[1].push(chain[0], 0)
                from_cid, to_cid, source, target, length, kind, operation, _, room, taken = HEADER.unpack_from(data)
                assert (from_cid, to_cid, kind) == (GUEST, HOST, STREAM), "a packet that is not for us"
                packets.append((operation, (target, source), data[HEADER.size:HEADER.size + length], room, taken))
        return packets

    # --- vhost-user ---

    def control(self):
        while True:
            head, fds, _, _ = socket.recv_fds(self.conn, 12, 8)
            if len(head) < 12:
                return
            request, _, size = struct.unpack("<III", head)
            payload = self.conn.recv(size, socket.MSG_WAITALL) if size else b""
            with self.lock:
                answer = self.obey(request, payload, fds)
            if answer is not None:
                self.conn.sendall(struct.pack("<III", request, REPLY, len(answer)) + answer)

    def obey(self, request, payload, fds):
        index, number = struct.unpack_from("<II", payload.ljust(8, b"\0"))
        if request == GET_FEATURES:
            return struct.pack("<Q", VERSION_1 | PROTOCOL_FEATURES)
        if request == GET_PROTOCOL_FEATURES:
            return struct.pack("<Q", CONFIG)
        if request == GET_CONFIG:
            return payload[:12] + struct.pack("<Q", GUEST)
        if request == SET_MEM_TABLE:
            self.memory.take(payload, fds)
        elif request == SET_VRING_NUM:
            self.queues[index].size = number
        elif request == SET_VRING_ADDR:
            self.queues[index].set_places(payload)
        elif request == SET_VRING_BASE:
            self.queues[index].next = number
        elif request == GET_VRING_BASE:
            self.queues[index].kick = None
            return struct.pack("<II", index, self.queues[index].next)
        elif request == SET_VRING_CALL:
            self.queues[index & 0xFF].call = None if index & NO_FD else fds[0]
        elif request == SET_VRING_KICK and not index & NO_FD:
            self.queues[index & 0xFF].kick = fds[0]
            threading.Thread(target=self.on_kick, args=(index & 0xFF, fds[0]), daemon=True).start()
        return None
