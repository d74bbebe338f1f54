#!/usr/bin/env python3
"""Retired words: private terms that the project no longer uses, and the field's term to use instead.

Checks the text that people read: Markdown (not its code), string literals and comments of src/. A word that the field itself uses in another
sense is in ALLOWED, with the reason.

Names of files and symbols in src/ are checked for words that are retired without exception. Exit code 1 if there is any complaint."""
import fnmatch
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COLUMNS = 120
GENERATED = {"docs/api-reference.md", "docs/configuration.md", "docs/cli-reference.md", "docs/limits-reference.md"}  # their lines are as long as the table's texts
SKIPPED_FOLDERS = {".git", "build", "node_modules", "target", "__pycache__", ".venv", ".pytest_cache"}

# What is matched, and what to say instead.
RETIRED = {
    r"ways? out": "egress",
    r"outlets?": "egress relay, egress socket",
    r"cells?": "box",
    r"blank box(?:es)?": "prepared box",
    r"wardens?": "agent",
    r"monitors?": "VMM",
    r"machines?": "VM, or host",
    r"hellos?": "handshake, ClientHello",
    r"greet(?:s|ed|ings?)?": "handshake, ClientHello",
    r"cables?": "veth pair",
    r"(?:a|an|the|its|each|network's) switch": "bridge",
    r"doors?": "listener, frontend, entry point",
    r"heirs?": "successor",
    r"courtesy": "CPU priority",
    r"chores?": "background job, task",
    r"walls?": "isolation layer, boundary",
    r"holes?": "vulnerability",
    r"foreign": "untrusted",
    r"strange(?:rs?)?": "untrusted",
    r"ordinary users?": "unprivileged user, rootless",
    r"for want of": "without, out of",
    r"anew": "again",
    r"by (?:itself|themselves)": "automatically",
    r"(?:go|goes|going|went) on(?! (?:top|the|a|an|its|to|disk)\b)": "continue, resume",
    r"(?:is|are|be|was|were) started again": "restarted",
    r"time (?:was|is) over": "timed out",
    r"worth nothing": "revoked or expired",
    r"digest is another": "digest mismatch",
    r"the most at the same time": "limit of N concurrent … reached",
    r"(?<!there )is no (?!longer\b|more\b|less\b)": "is not a, is not an",
    r"not taken (?!for\b|from\b|over\b)": "rejected",
}
WORD = re.compile("|".join(rf"(?P<w{i}>\b{pattern}(?<! )(?![\w-])|\b{pattern}(?<= ))" for i, pattern in enumerate(RETIRED)), re.I)
INSTEAD = list(RETIRED.values())

# (files, text around the word, reason)
ALLOWED = [
    ("*", r"monitor(?:::|Manager|\.|'?, `terminal)", "the contract's group of alert functions and the SDKs' manager are called monitor"),
    ("*", r"QEMU [Mm]onitor [Pp]rotocol|-monitor|/monitor", "QEMU's own name, and the path of the VMM's program in its root"),
    ("*", r"-machine|/machine|machine[-_](?:readable|id|config|type)|linux-MACHINE|\"machine %s", "QEMU, Firecracker, systemd and uname call it so"),
    ("*", r"hello(?:, | \$| from| from a|'|\"| \||\\n|$|;)|echo hello|HELLO|[Cc]lient ?[Hh]ello", "sample text, the protocol message HELLO, TLS ClientHello"),
    ("*", r"GREETING", "sample text"),
    ("*", r"(?:table|long|notebook) cells?", "cells of a table or a notebook"),
    ("*", r"[Ww]all (?:time|clock)|-Wall", "time of the wall clock; the compiler's option"),
    ("*", r"find a hole|SEEK_HOLE|holes? (?:of|in) (?:a|the|sparse)", "holes of sparse files: the kernel's word"),
    ("src/vm/*", r"holes?|`?microvm`? machine|machine type|monitor socket", "holes of sparse files; QEMU's machine type and monitor socket"),
    ("*", r"foreign (?:key|architecture)", "SQL and Debian call it so"),
    ("*", r"(?:each|one) by itself", "alone"),
    ("tests/vmm/*", r".", "stand-ins for programs of others"),
]
ALLOWED = [(files, re.compile(text), reason) for files, text, reason in ALLOWED]

# Names of files and symbols. Left out because they are words of the field, too: blank, machine (uname, ELF), wall (clock), whole, words.
IDENTIFIERS = re.compile(r"(?:^|_)(?:wayout|outlets?|wardens?|monitors?|hellos?|greetings?|cables?|switchnet|doors?|\w*door|door\w+|heirs?|courtesy|chores?|"
                         r"vmwords|confway|onlycalls|wsbye|opshow)(?:_|$)")


def files(*endings):
    for path in sorted(ROOT.rglob("*")):
        if path.suffix in endings and not SKIPPED_FOLDERS & set(path.relative_to(ROOT).parts) and path.is_file():
            yield path


def is_allowed(name, text, start, end):
    around = text[max(start - 30, 0):end + 30].replace("\n", " ")
    return any(fnmatch.fnmatch(name, glob) and any(m.start() < min(start, 30) + end - start and m.end() > min(start, 30) for m in rule.finditer(around))
               for glob, rule, _ in ALLOWED)


def found_in(name, text, first_line=1):
    """[(line, word, what to say)] of a piece of text."""
    for match in WORD.finditer(text):
        if not is_allowed(name, text, match.start(), match.end()):
            yield first_line + text.count("\n", 0, match.start()), match[0].strip(), INSTEAD[int(match.lastgroup[1:])]


def prose(text):
    """Markdown with its code, link targets and HTML comments blanked, lines kept."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match[0])
    text = re.sub(r"^ *```.*?^ *```$", blank, text, flags=re.M | re.S)
    text = re.sub(r"`[^`]*`", blank, text)
    return re.sub(r"\]\([^)]*\)|<!--.*?-->", blank, text, flags=re.S)


def pieces(text):
    """[(is it a comment, text, line)] of a C file: comments and string literals of several words."""
    for match in re.finditer(r"/\*.*?\*/|//[^\n]*|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)+'", text, re.S):
        line_start = text.rfind("\n", 0, match.start()) + 1
        is_text = match[0][0] == "/" or match[0][0] == '"' and " " in match[0].strip('" ')  # without a blank it is a name
        if is_text and not text[line_start:].startswith("#include"):
            yield match[0][0] == "/", match[0], text.count("\n", 0, match.start()) + 1


def markdown():
    for path in files(".md"):
        name, text = str(path.relative_to(ROOT)), path.read_text()
        for line, word, say in found_in(name, prose(text)):
            yield f"{name}:{line}: \"{word}\": say {say}"
        is_code = False
        for number, line in enumerate(text.splitlines(), 1):
            is_code ^= line.strip().startswith("```")
            if len(line) > COLUMNS and not is_code and not line.startswith(("|", "    ")) and name not in GENERATED:
                yield f"{name}:{number}: {len(line)} columns, at most {COLUMNS}"


def sources():
    for path in files(".c", ".h", ".def"):
        name = str(path.relative_to(ROOT))
        if name.startswith("src/"):
            for is_comment, text, first in pieces(path.read_text(errors="replace")):
                for line, word, say in found_in(name, text, first):
                    yield f"{name}:{line}: \"{word}\" in a {'comment' if is_comment else 'string'}: say {say}"


def names():
    for path in files(".c", ".h", ".def"):
        name = str(path.relative_to(ROOT))
        if name.startswith("src/"):
            text = re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:[^\"\\\n]|\\.)*\"", " ", path.read_text(errors="replace"), flags=re.S)
            bad = {word for word in re.findall(r"\b[A-Za-z_]\w+", text) if IDENTIFIERS.search(word.lower())}
            if IDENTIFIERS.search(path.stem.lower()):
                yield f"{name}: the file's name is retired"
            if bad:
                yield f"{name}: {' '.join(sorted(bad))}"


def complaints():
    return [*markdown(), *sources(), *names()]


def main():
    found = complaints()
    print("\n".join(found) if found else "ok")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
