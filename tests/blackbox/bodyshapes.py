"""Bodies of random shape. This text also runs inside sandboxes: both sides make the same body from the same seed."""
import hashlib
import time


def pieces(rng):
    left = rng.choice((0, 1, 500, 5000, 5000, 20_000, 70_000, 70_000, 300_000, 1_000_000, 4_000_000))
    while left:
        piece = rng.randbytes(min(left, rng.choice((1, 7, 700, 9000, 65535, 65536, 65537, 150_000))))
        left -= len(piece)
        yield piece


def chunk(rng, piece):
    """One chunk, its size in one of the forms that are allowed."""
    size = rng.choice((b"%x", b"%X", b"%06x", b"%x;ext", b'%x;a;b="c";d=e')) % len(piece)
    return size + b"\r\n" + piece + b"\r\n"


def last_chunk(rng):
    return rng.choice((b"0", b"000", b"0;last")) + b"\r\n" + rng.choice((b"", b"", b"X-Trailer: t\r\n")) + b"\r\n"


def pause(rng):
    if rng.random() < 0.05:
        time.sleep(rng.random() * 0.005)


def told(all_pieces):
    """`length hash` of all pieces together."""
    digest, total = hashlib.sha256(), 0
    for piece in all_pieces:
        digest.update(piece)
        total += len(piece)
    return f"{total} {digest.hexdigest()}"
