"""Channels between clients of the engine: bytes and messages in one direction, byte for byte, with backpressure."""
import hashlib
import os
import socket
import threading

import pytest

import harness
import wsclient
from engineclient import Worker, channel_path, open_channel

MIB = 1 << 20


@pytest.fixture
def worker(server):
    with Worker(server.engine_port) as made:
        yield made


def send_all(port, ref, data, chunk=65536):
    ws = open_channel(port, ref)
    for at in range(0, len(data), chunk):
        ws.send(data[at:at + chunk])
    ws.close(1000, "stream_complete")


def read_all(ws):
    data, texts = bytearray(), []
    try:
        while True:
            opcode, piece = ws.frame()
            if opcode == wsclient.TEXT:
                texts.append(piece.decode())
            else:
                data += piece
    except wsclient.Closed:
        return bytes(data), texts


def test_references(worker):
    made = worker.channel()
    writer, reader = made["writer"], made["reader"]
    assert writer["direction"] == "write" and reader["direction"] == "read"
    assert writer["channel_id"] == reader["channel_id"] and writer["access_key"] == reader["access_key"]
    assert worker.call("engine::channels::create", {"buffer_size": None})["writer"]
    assert worker.call("engine::channels::create")["reader"]


@pytest.mark.parametrize("first", ["reader", "writer"])
def test_either_end_may_come_first(server, worker, first):
    made = worker.channel()
    data = os.urandom(300_000)
    thread = threading.Thread(target=send_all, args=(server.engine_port, made["writer"], data))
    if first == "writer":
        thread.start()
        ws = open_channel(server.engine_port, made["reader"])
    else:
        ws = open_channel(server.engine_port, made["reader"])
        thread.start()
    assert read_all(ws) == (data, [])
    thread.join(harness.DEADLINE_S)
    ws.cut()


def test_writer_may_finish_before_there_is_a_reader(server, worker):
    made = worker.channel()
    writer = open_channel(server.engine_port, made["writer"])
    frames = [(2, os.urandom(65536)) for _ in range(20)] + [(1, b'{"note":1}'), (2, b"last")]
    for kind, data in frames:
        writer.send(data.decode() if kind == 1 else data)
    writer.send_frame(wsclient.CLOSE, b"\x03\xe8stream_complete")
    assert writer.closed().code == 1000  # answered although nobody reads
    writer.cut()
    again = open_channel(server.engine_port, made["writer"])  # a client that reopens its socket after a drop
    assert again.closed().code == 1008
    again.cut()
    with open_channel(server.engine_port, made["reader"]) as reader:
        assert [reader.frame() for _ in frames] == frames
        assert reader.closed().code == 1000


def test_cut_writer_leaves_what_it_wrote(server, worker):
    made = worker.channel()
    writer = open_channel(server.engine_port, made["writer"])
    writer.send(b"half")
    writer.sock.close()
    with open_channel(server.engine_port, made["reader"]) as reader:
        assert reader.recv() == b"half"
        assert reader.closed().code == 1000


def test_buffer_size_pauses_the_writer(server, worker):
    made = worker.channel(buffer_size=2)
    writer = open_channel(server.engine_port, made["writer"])
    for i in range(5):
        writer.send(str(i))
    writer.send_frame(wsclient.CLOSE, b"\x03\xe8")
    writer.sock.settimeout(0.3)
    with pytest.raises(TimeoutError):  # the close is behind data that waits for a reader
        writer.recv()
    writer.sock.settimeout(harness.DEADLINE_S)
    with open_channel(server.engine_port, made["reader"]) as reader:
        assert [reader.frame() for _ in range(5)] == [(1, str(i).encode()) for i in range(5)]
        assert reader.closed().code == 1000
    assert writer.closed().code == 1000
    writer.cut()


def test_texts_keep_their_place(server, worker):
    made = worker.channel()
    with open_channel(server.engine_port, made["reader"]) as reader, open_channel(server.engine_port, made["writer"]) as writer:
        writer.send(b"one")
        writer.send('{"note":1}')
        writer.send(b"two")
        assert [reader.frame() for _ in range(3)] == [(2, b"one"), (1, b'{"note":1}'), (2, b"two")]


def test_an_end_can_be_taken_once(server, worker):
    made = worker.channel()
    with open_channel(server.engine_port, made["reader"]):
        again = open_channel(server.engine_port, made["reader"])
        assert again.closed().code == 1008
        again.cut()


def test_wrong_key_and_wrong_direction(server, worker):
    ref = worker.channel()["reader"]
    for bad, status in (({**ref, "access_key": "0" * 36}, 404), ({**ref, "channel_id": "x"}, 404), ({**ref, "direction": "up"}, 400)):
        with pytest.raises(wsclient.Refused) as why:
            wsclient.WebSocket(server.engine_port, channel_path(bad))
        assert why.value.status == status


def test_reader_that_leaves_ends_the_writer(server, worker):
    made = worker.channel()
    reader, writer = open_channel(server.engine_port, made["reader"]), open_channel(server.engine_port, made["writer"])
    writer.send(b"x")
    assert reader.recv() == b"x"
    reader.cut()
    assert writer.closed().code
    writer.cut()


def test_writer_that_is_cut_ends_the_stream(server, worker):
    made = worker.channel()
    reader, writer = open_channel(server.engine_port, made["reader"]), open_channel(server.engine_port, made["writer"])
    writer.send(b"half")
    assert reader.recv() == b"half"
    writer.cut()
    assert reader.closed().code
    reader.cut()


def rss_mib(pid):
    with open(f"/proc/{pid}/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / MIB


def test_sixty_four_mib_to_a_slow_reader_in_constant_memory(server, worker):
    made = worker.channel()
    piece = os.urandom(MIB)
    sent = hashlib.sha256()
    reader = open_channel(server.engine_port, made["reader"])
    reader.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    before = rss_mib(server.pid)

    def write():
        ws = open_channel(server.engine_port, made["writer"])
        for _ in range(64):
            ws.send(piece)
            sent.update(piece)
        ws.close(1000, "stream_complete")

    thread = threading.Thread(target=write)
    thread.start()
    thread.join(0.5)
    if not harness.IS_SANITIZED:
        assert rss_mib(server.pid) - before < 24, "a writer nobody reads must wait"
    got, size = hashlib.sha256(), 0
    try:
        while True:
            data = reader.recv()
            got.update(data)
            size += len(data)
    except wsclient.Closed:
        pass
    thread.join(harness.DEADLINE_S)
    assert size == 64 * MIB and got.digest() == sent.digest()
    reader.cut()


def test_streaming_rows_answer_with_a_channel(server, worker, box):
    answer = worker.call("cmd::run-stream", {"id": box, "command": "echo one; echo two >&2; exit 3"})
    with open_channel(server.engine_port, answer["channel"]) as ws:
        data, texts = read_all(ws)
    assert data == b"" and any('"exit"' in t and "3" in t for t in texts), texts
