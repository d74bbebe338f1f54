#!/usr/bin/env python3
"""Fail when an #include points the wrong way between the rooms of src/.

meson.build's room_uses is the one list: the linker follows it, and so does this script. Two more rules: the agent (src/agent)
is a program of its own, built by another compiler without our libraries: it includes only guest/proto*.h, the numbers of
base/limits.h and those headers of os/ that include nothing of ours, and no room includes it; and runtime drivers never include each other."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def room_uses():
    """{room: rooms it may include} as meson.build says."""
    text = (ROOT / "meson.build").read_text()
    table = re.search(r"^room_uses = \{(.*?)^\}", text, re.M | re.S)[1]
    uses = {room: set(re.findall(r"'(\w+)'", others)) for room, others in re.findall(r"'(\w+)':\s*\[(.*?)\]", table, re.S)}
    uses["main"] = set(uses)
    return uses


def includes(path):
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        found = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if found:
            yield number, found[1]


def stands_alone(header):
    """Whether a header includes nothing of ours but other plain headers of os/."""
    path = ROOT / "src" / header
    return path.exists() and all(other.startswith("os/") and stands_alone(other) for _, other in includes(path))


def complaints():
    uses = room_uses()
    for path in sorted((ROOT / "src").rglob("*.[ch]")):
        parts = path.relative_to(ROOT / "src").parts
        room = parts[0]
        where = path.relative_to(ROOT)
        if room not in uses and room != "agent":
            yield f"{where}: src/{room} is not a room of meson.build"
            continue
        for number, target in includes(path):
            other = target.split("/")[0]
            if "/" not in target:
                yield f"{where}:{number}: write the room: \"{room}/{target}\""
            elif room == "agent":
                if other != "agent" and not target.startswith("guest/proto") and target != "base/limits.h" and not (other == "os" and stands_alone(target)):
                    yield f"{where}:{number}: the agent may include only guest/proto*.h, base/limits.h and plain headers of os/, not {target}"
            elif parts[:2] == ("escape", "probe"):
                if not target.startswith("escape/probe/"):
                    yield f"{where}:{number}: the probe is a program of its own and includes nothing of ours, not {target}"
            elif other == "agent":
                yield f"{where}:{number}: the agent is a program of its own; share through guest/proto*.h"
            elif other != room and other not in uses[room]:
                yield f"{where}:{number}: {room}/ may not include {other}/"
            elif room == other == "runtime" and len(parts) > 2 and target.count("/") > 1 and target.split("/")[1] != parts[1]:
                yield f"{where}:{number}: driver {parts[1]} may not include driver {target.split('/')[1]}"


def main():
    found = list(complaints())
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
