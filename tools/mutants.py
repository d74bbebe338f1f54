"""Finds places in a C file where one small change would be a bug: the mutants of tools/mutate.py.

The text is not parsed. Comments, strings and preprocessor lines are blanked out, functions are found by the layout that clang-format
gives them (both braces alone in column 0), and the operators below look at what is left."""
import dataclasses
import hashlib
import re

SWAPS = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "&&": "||", "||": "&&"}
TOKEN = re.compile(r"->|<<=?|>>=?|==|!=|<=|>=|&&|\|\||[<>!]")
BLANKED = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|^[ \t]*\#(?:\\\n|[^\n])*""", re.S | re.M)
# What they do is seen by people, or by the sanitizers (memory and descriptors that are never given back), not by a test's assertion.
UNSEEN_CALL = re.compile(r"(?:\w*_)?(?:free\w*|unref|done|close)|log_\w+|assert|static_assert|memset|explicit_bzero|va_(?:start|end|copy)")
NOT_A_CALL = {"if", "for", "while", "switch", "return", "sizeof", "do", "else", "case", "goto", "defined", "CLEANUP", "STEAL"}
UNSEEN_SPAN = re.compile(r"\b(?:log_\w+|assert|static_assert)\s*\(")
CALL = re.compile(r"^[ \t]*((?:\(void\)\s*)?([A-Za-z_]\w*(?:(?:->|\.)\w+)*)\()", re.M)
BEFORE_STATEMENT = re.compile(r"(?:[;{}):]|\belse)\s*$")
IF = re.compile(r"\bif \(")
RETURN = re.compile(r"\breturn\b\s*([^;]*);")
ERROR = re.compile(r"-E[A-Z0-9]+|-1|err_\w+\(.*\)", re.S)


@dataclasses.dataclass(frozen=True)
class Mutant:
    path: str  # relative to the root of the tree
    function: str
    line: int
    start: int
    end: int
    new: str
    change: str  # for people: what was there and what is there now
    key: str  # the same as long as the function's text is the same

    @property
    def place(self):
        return f"{self.path}:{self.line}"

    def apply(self, text):
        """The file with the change; no line moves."""
        lost = text[self.start:self.end].count("\n") - self.new.count("\n")
        return text[:self.start] + self.new + "\n" * lost + text[self.end:]


def blank(text):
    """The text with comments, the insides of literals and preprocessor lines replaced by blanks, at the same length."""
    def fill(found):
        piece = found[0]
        if piece[0] in "\"'":
            return piece[0] + "_" * (len(piece) - 2) + piece[-1]
        return re.sub(r"[^\n]", " ", piece)
    return BLANKED.sub(fill, text)


def functions(code):
    """(name, start, end) of each function body in blanked text."""
    for found in re.finditer(r"^\{\n(.*?)^\}$", code, re.S | re.M):
        head = code[:found.start()]
        head = head[max(head.rfind(stop) for stop in (";", "}", "\n\n")) + 1:]
        name = re.search(r"(\w+)\s*\(", head)
        if name:
            yield name[1], found.start(1), found.end(1)


def close_of(code, opening):
    """The place of the parenthesis that closes the one at `opening`; -1 when there is none."""
    depth = 0
    for at in range(opening, len(code)):
        depth += (code[at] == "(") - (code[at] == ")")
        if depth == 0:
            return at
    return -1


def spans(code, pattern):
    return [(m.start(), close_of(code, m.end() - 1)) for m in pattern.finditer(code)]


def swapped_operators(code, start, end):
    for found in TOKEN.finditer(code, start, end):
        token = found[0]
        if token in SWAPS:
            yield found.start(), found.end(), SWAPS[token]
        elif token == "!":
            yield found.start(), found.end(), ""


def conditions(code, start, end):
    for found in IF.finditer(code, start, end):
        opening = found.end() - 1
        closing = close_of(code, opening)
        inside = code[opening + 1:closing]
        if not any(t in SWAPS or t == "!" for t in TOKEN.findall(inside)):  # others have an operator to swap
            yield opening, closing + 1, None
        # if (...) return: without it the function goes on
        guarded = re.compile(r"\s*return\b[^;]*;(?!\s*else\b)").match(code, closing + 1, end)
        if guarded:
            yield found.start(), guarded.end(), ";"


def dropped_calls(code, start, end):
    for found in CALL.finditer(code, start, end):
        name = re.split(r"->|\.", found[2])[-1]
        closing = close_of(code, found.end() - 1)
        if name in NOT_A_CALL or UNSEEN_CALL.fullmatch(name) or code[closing + 1:closing + 2] != ";":
            continue
        if BEFORE_STATEMENT.search(code, max(found.start() - 200, 0), found.start()):
            yield found.start(1), closing + 2, ";"


def returned_values(code, start, end):
    for found in RETURN.finditer(code, start, end):
        value = found[1].strip()
        if value in ("true", "false"):
            yield found.start(1), found.end(1), "false" if value == "true" else "true"
        elif ERROR.fullmatch(value):
            yield found.start(1), found.end(1), "0"


def shown(text, limit=60):
    text = re.sub(r"\s+", " ", text).strip()
    return text if len(text) <= limit else text[:limit - 1] + "…"


def described(text, start, end, new):
    """Short for a whole statement, with a little around it for an operator."""
    if end - start > 3 or new in (";", "0", "true", "false"):
        return f"{shown(text[start:end])} → {shown(new) if new != ';' else '(removed)'}"
    left = re.search(r"[^;{}\n]{0,24}$", text[:start])[0]
    right = re.match(r"[^;{}\n]{0,24}", text[end:])[0]
    return f"{shown(left + text[start:end] + right)} → {shown(left + new + right)}"


def find(path, text):
    """The mutants of one C file, in the order of the text."""
    code, made = blank(text), []
    for name, start, end in functions(code):
        body = text[start:end]
        stamp = hashlib.sha256(body.encode()).hexdigest()[:12]
        unseen = [(a, b) for a, b in spans(code[:end], UNSEEN_SPAN) if a >= start]
        for operator in (swapped_operators, conditions, dropped_calls, returned_values):
            for at, to, new in operator(code, start, end):
                if any(a <= at <= b for a, b in unseen):
                    continue
                if new is None:
                    new = f"(!{text[at:to]})"
                made.append(Mutant(path, name, text.count("\n", 0, at) + 1, at, to, new, described(text, at, to, new),
                                   f"{path}:{name}:{stamp}:{at - start}:{to - start}:{new[:8]}"))
    return sorted(set(made), key=lambda m: (m.start, m.end, m.new))
