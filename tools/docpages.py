#!/usr/bin/env python3
"""docpages.py OUT.c OUT.bin CMARK PAGE.md…: the pages of docs/ for /docs of the server, as HTML and as they are, each compressed.

OUT.bin holds the bytes, OUT.c the table of src/api/docs_pages.h. CMARK is cmark-gfm, which makes the HTML; anchors, links between the
pages and the frame around them are made here. A link to a file that the server does not have becomes its text."""
import base64
import gzip
import hashlib
import html
import os
import pathlib
import re
import subprocess
import sys

import headings

STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:0 auto;padding:1rem;color:#1c1c1c;background:#fff}
pre,code{font-family:ui-monospace,monospace;font-size:.9em;background:#f2f2f2}
pre{padding:.75rem;overflow-x:auto}
table{border-collapse:collapse;display:block;overflow-x:auto}
td,th{border:1px solid #ccc;padding:.25rem .5rem;text-align:left;vertical-align:top}
:target{background:#fff3b0}
@media(prefers-color-scheme:dark){body{color:#e6e6e6;background:#161616}pre,code{background:#262626}a{color:#8ab4f8}:target{background:#554a00}}"""
POLICY = ("default-src 'none'; style-src 'sha256-" + base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode() + "'; base-uri 'none'; "
          "form-action 'none'; frame-ancestors 'none'")


def link(match, names):
    target, inner = html.unescape(match[1]), match[2]
    if re.match(r"https?:|#", target):
        return match[0]
    page = re.fullmatch(r"([\w-]+)\.md(#.*)?", target)
    if not page or page[1] not in names:
        return inner
    return f'<a href="{html.escape(names[page[1]] + (page[2] or ""))}">{inner}</a>'


def render(cmark, text, names):
    body = subprocess.run([cmark, "-t", "html", "--unsafe", "-e", "table"], input=text, capture_output=True, text=True, check=True).stdout
    anchors = iter(headings.slugs(text))
    body = re.sub(r"<h([1-6])>", lambda m: f'<h{m[1]} id="{html.escape(next(anchors))}">', body)
    body = re.sub(r'<a href="([^"]*)">(.*?)</a>', lambda m: link(m, names), body, flags=re.S)
    body = re.sub(r'<img [^>]*alt="([^"]*)"[^>]*>', r"\1", body)  # the server has no pictures
    title = html.escape(re.search(r"^# +(.+?) *$", text, re.M)[1].replace("`", ""))
    return (f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>{title}</title><style>{STYLE}</style></head>\n<body><nav><a href=\"/docs\">Documentation</a></nav>\n{body}</body></html>\n")


def main(out, blob, cmark, *paths):
    pages = {pathlib.Path(path).stem: pathlib.Path(path).read_text(encoding="utf-8") for path in sorted(paths)}
    names = {name: "/docs" if name == "README" else f"/docs/{name}" for name in pages}
    data, rows = bytearray(), []
    for name, text in pages.items():
        row = []
        for form in (render(cmark, text, names), text):
            plain = form.encode()
            packed = gzip.compress(plain, 9, mtime=0)
            row.append(f'{{{len(data)}, {len(packed)}, {len(plain)}, "{hashlib.sha256(plain).hexdigest()[:16]}"}}')
            data += packed
        rows.append(f'    {{"{name}", {{{row[0]}, {row[1]}}}}},\n')
    pathlib.Path(blob).write_bytes(data)
    pathlib.Path(out).write_text(f"""/* Made by tools/docpages.py. */
#include "api/docs_pages.h"
__asm__(".section .rodata\\n.global docs_pages_data\\n.balign 16\\ndocs_pages_data:\\n.incbin \\"{os.path.abspath(blob)}\\"\\n.byte 0\\n.previous\\n");
const char docs_pages_policy[] = "{POLICY}";
const struct docs_page docs_pages[] = {{
{''.join(rows)}    {{0}},
}};
""", encoding="utf-8")


main(*sys.argv[1:])
