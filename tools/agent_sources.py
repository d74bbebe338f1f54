#!/usr/bin/env python3
"""Print the agent's C files (or headers), relative to src/guest: its own folder and the wire format it shares with the host.

--parts: the files of the agent's own folder without its main(), as tests link them."""
import pathlib
import sys

guest = pathlib.Path(__file__).resolve().parent.parent / "src" / "guest"
if "--parts" in sys.argv:
    print("\n".join(str(p) for p in sorted((guest / "agent").rglob("*.c")) if p.stem != "ag_main"))
    sys.exit()
ext = ".h" if "--headers" in sys.argv else ".c"
files = sorted(p for p in (guest / "agent").rglob("*" + ext)) + sorted(guest.glob("proto*" + ext))
if ext == ".h":  # thin wrappers without a .c of their own, which the agent shares with the launcher
    print("\n".join(f"../os/{p.name}" for p in sorted((guest.parent / "os").glob("*.h"))))
print("\n".join(str(p.relative_to(guest)) for p in files))
