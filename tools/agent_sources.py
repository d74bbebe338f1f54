#!/usr/bin/env python3
"""Print the agent's C files (or headers), relative to src/agent: its own folder, the wire format it shares with the host, and tar.

--parts: the same without the wire format and main(), as tests link them."""
import pathlib
import sys

src = pathlib.Path(__file__).resolve().parent.parent / "src"
if "--parts" in sys.argv:
    print("\n".join(str(p) for p in (*sorted((src / "agent").glob("*.c")), *sorted((src / "tar").glob("*.c"))) if p.stem != "main"))
    sys.exit()
ext = ".h" if "--headers" in sys.argv else ".c"
files = [f"{p.name}" for p in sorted((src / "agent").glob("*" + ext))] + [f"../guest/{p.name}" for p in sorted((src / "guest").glob("proto*" + ext))]
files += [f"../tar/{p.name}" for p in sorted((src / "tar").glob("*" + ext))]
if ext == ".h":  # thin wrappers without a .c of their own, which the agent shares with the launcher
    files += [f"../os/{p.name}" for p in sorted((src / "os").glob("*.h"))]
print("\n".join(files))
