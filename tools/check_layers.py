#!/usr/bin/env python3
"""Fail when an #include points the wrong way between the rooms of src/.

meson.build's room_uses is the one list: the linker follows it, and so does this script. Three more rules: the agent (src/agent)
is a program of its own, built by another compiler without our libraries: it includes only guest/proto*.h, tar/, the numbers of
base/limits.h and those headers of os/ that include nothing of ours, and no room includes it; runtime drivers never include
each other; and an external library is included by one room (LIBRARIES), so that it can be replaced there."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Header of an external library (a folder ends in "/") -> the room that includes it. OpenSSL is two libraries: libcrypto's digests
# are in base/, libssl and what it takes (certificates, errors) in tls/.
LIBRARIES = {
    "archive.h": "archive", "archive_entry.h": "archive", "curl/": "image", "jansson.h": "base", "libfyaml.h": "main", "libmnl/": "os", "libssh/": "ssh", "llhttp.h": "http",
    "openssl/crypto.h": "base", "openssl/evp.h": "base", "openssl/": "tls", "seccomp.h": "os", "sqlite3.h": "store", "uv.h": "loop", "zlib.h": "api",
}
# What the C library and the kernel bring; every other header is an external library's and has a row above.
SYSTEM = re.compile(r"""(arpa|asm|linux|net|netinet|sys)/[\w/.-]+\.h$
    |(assert|ctype|dirent|dlfcn|elf|endian|errno|fcntl|fnmatch|ftw|getopt|glob|grp|inttypes|limits|locale|malloc|math|netdb|poll|pthread|pwd|regex|sched|signal|spawn
    |stdarg|stdatomic|stdbool|stddef|stdint|stdio|stdlib|string|strings|syslog|termios|time|unistd|wchar|wctype|x86intrin)\.h$""", re.X)


def library_room(header):
    """The room of an external library's header; None: a system header; "": a library without a row."""
    if SYSTEM.match(header):
        return None
    return LIBRARIES.get(header, LIBRARIES.get(header.split("/")[0] + "/", ""))


def room_uses():
    """{room: rooms it may include} as meson.build says."""
    text = (ROOT / "meson.build").read_text()
    table = re.search(r"^room_uses = \{(.*?)^\}", text, re.M | re.S)[1]
    uses = {room: set(re.findall(r"'(\w+)'", others)) for room, others in re.findall(r"'(\w+)':\s*\[(.*?)\]", table, re.S)}
    uses["main"] = set(uses)
    return uses


def includes(path, marks='""'):
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        found = re.match(rf"\s*#\s*include\s+{marks[0]}([^{marks[1]}]+){marks[1]}", line)
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
        for number, header in includes(path, "<>"):
            owner = library_room(header)
            if owner == "":
                yield f"{where}:{number}: <{header}> is not in LIBRARIES of tools/check_layers.py: give it a room"
            elif owner not in (None, room):
                yield f"{where}:{number}: only {owner}/ includes <{header}>; use a header of that room"
        for number, target in includes(path):
            other = target.split("/")[0]
            if "/" not in target:
                yield f"{where}:{number}: write the room: \"{room}/{target}\""
            elif room == "agent":
                if other not in ("agent", "tar") and not target.startswith("guest/proto") and target != "base/limits.h" and not (other == "os" and stands_alone(target)):
                    yield f"{where}:{number}: the agent may include only guest/proto*.h, tar/, base/limits.h and plain headers of os/, not {target}"
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
