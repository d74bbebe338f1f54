"""Programs in the documents: the fences of a page with one tag are one program, whose lines `→ text` say what it prints."""
import re

import sdkkit


def program(page, tag):
    """(code, lines it must print, in order) of docs/<page>."""
    text = (sdkkit.ROOT / "docs" / page).read_text()
    code = "\n".join(re.findall(rf"^```{re.escape(tag)}\n(.*?)^```$", text, re.M | re.S))
    return code, re.findall(r"^\s*(?://|#) → (.*)$", code, re.M)


def missing(expected, printed):
    """The first line that was not printed in its turn; None when all were."""
    lines = iter(printed.splitlines())
    return next((line for line in expected if line not in lines), None)
