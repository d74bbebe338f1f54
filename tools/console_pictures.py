#!/usr/bin/env python3
"""console_pictures.py FOLDER: makes docs/pictures/console-*.png of what III_TEST_PICTURES=FOLDER made test_console_screens.py take.

A screenshot has few colours that matter: each picture gets a palette of its most frequent ones, which makes it a fourth as large."""
import collections
import pathlib
import struct
import sys
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCREENS = ("overview", "sandboxes", "create", "sandbox", "terminal", "files", "notebook", "engine")
COLOURS = 64


def pixels(path):
    """Width, height and the pixels as tuples, of an 8-bit RGB or RGBA picture without interlacing."""
    data, at, packed = path.read_bytes(), 8, b""
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        if kind == b"IHDR":
            width, height, depth, colour, _, _, interlaced = struct.unpack_from(">IIBBBBB", data, at + 8)
            assert depth == 8 and colour in (2, 6) and not interlaced, path
        elif kind == b"IDAT":
            packed += data[at + 8:at + 8 + size]
        at += size + 12
    step, raw = (3 if colour == 2 else 4), zlib.decompress(packed)
    row, found = bytearray(width * step), []
    for y in range(height):
        start = y * (width * step + 1)
        row = unfilter(raw[start], raw[start + 1:start + 1 + width * step], row, step)
        found += [tuple(row[i:i + 3]) for i in range(0, len(row), step)]
    return width, height, found


def unfilter(kind, line, above, step):
    out = bytearray(line)
    for i, value in enumerate(line):
        left = out[i - step] if i >= step else 0
        corner, up = (above[i - step] if i >= step else 0), above[i]
        if kind == 1:
            guess = left
        elif kind == 2:
            guess = up
        elif kind == 3:
            guess = (left + up) // 2
        elif kind == 4:
            guess = min((left, up, corner), key=lambda one, p=left + up - corner: abs(p - one))
        else:
            guess = 0
        out[i] = (value + guess) & 255
    return out


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def shrink(path, to):
    width, height, found = pixels(path)
    counted = collections.Counter(found)
    palette = [colour for colour, _ in counted.most_common(COLOURS)]
    place = {colour: min(range(len(palette)), key=lambda i, c=colour: sum((a - b) ** 2 for a, b in zip(palette[i], c))) for colour in counted}
    lines = b"".join(b"\0" + bytes(place[one] for one in found[y * width:(y + 1) * width]) for y in range(height))
    to.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)) + chunk(b"PLTE", bytes(sum(palette, ()))) +
                   chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b""))
    print(f"{to.relative_to(ROOT)}: {to.stat().st_size} bytes")


for screen in SCREENS:
    for look in ("light", "dark"):
        name = f"console-{screen}-{look}.png"
        shrink(pathlib.Path(sys.argv[1]) / name, ROOT / "docs" / "pictures" / name)
