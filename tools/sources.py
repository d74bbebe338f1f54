#!/usr/bin/env python3
"""Print the C files of one folder of the tree, sorted: meson.build's way to take a room as it is.

src/agent and src/escape/probe are left out of their rooms: musl builds them into programs of their own."""
import pathlib
import sys

root = pathlib.Path(__file__).resolve().parent.parent
folder = root / sys.argv[1]
files = sorted(p for p in folder.rglob("*.c") if not {"agent", "probe"} & set(p.relative_to(root / "src" if "src" in sys.argv[1] else root).parts))
print("\n".join(str(p.relative_to(root)) for p in files))
