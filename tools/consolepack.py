#!/usr/bin/env python3
"""consolepack.py OUT.c OUT.bin [CONSOLE]: bundles the console (folder CONSOLE, its packages installed) and writes its files, each compressed.

OUT.bin holds the bytes, OUT.c the table of src/api/console_assets.h. esbuild makes the bundle; every name but index.html has a part from its
bytes, so browsers keep the files for good. Without CONSOLE the table is empty. The bundle may not outgrow its limits: see FIRST and ALL."""
import gzip
import hashlib
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
FIRST, ALL = 120_000, 450_000  # compressed bytes: of what the first view loads, of all files
MACHINES = {"x86_64": "linux-x64", "aarch64": "linux-arm64"}


def bundle(console, out):
    """The names of the entry's files and of what it loads at once."""
    meta = out / "meta.json"
    esbuild = console / "node_modules" / "@esbuild" / MACHINES[platform.machine()] / "bin" / "esbuild"
    subprocess.run([esbuild, "src/main.tsx", "--bundle", "--splitting", "--minify", "--format=esm", "--target=es2022", "--jsx=automatic",
                    "--jsx-import-source=preact", "--entry-names=[name]-[hash]", "--chunk-names=[name]-[hash]", "--asset-names=[name]-[hash]",
                    "--legal-comments=none", "--log-level=warning", "--external:node:*", f"--outdir={out}", f"--metafile={meta}"], cwd=console, check=True)
    outputs = {os.path.basename(path): found for path, found in json.loads(meta.read_text())["outputs"].items()}
    meta.unlink()
    entry = next(name for name, found in outputs.items() if found.get("entryPoint") == "src/main.tsx")
    first, todo = {os.path.basename(outputs[entry].get("cssBundle", entry))}, [entry]
    while todo:
        name = todo.pop()
        first.add(name)
        todo += [other for other in (os.path.basename(i["path"]) for i in outputs[name]["imports"] if i["kind"] == "import-statement")
                 if other in outputs and other not in first]
    return entry, first


def page(console, names):
    """index.html with the real names of what it loads."""
    text = (console / "index.html").read_text(encoding="utf-8")
    for plain, name in names.items():
        text = text.replace(f'"{plain}"', f'"/console/{name}"')
    return text.encode()


def main(out, blob, console=None):
    files, first = {}, set()
    if console:
        console = pathlib.Path(console).resolve()
        with tempfile.TemporaryDirectory() as folder:
            entry, first = bundle(console, pathlib.Path(folder))
            files = {path.name: path.read_bytes() for path in sorted(pathlib.Path(folder).iterdir())}
        picture = (console / "icon.svg").read_bytes()
        icon = f"icon-{hashlib.sha256(picture).hexdigest()[:8]}.svg"
        style = next(name for name in first if name.endswith(".css"))
        files |= {icon: picture, "index.html": page(console, {"main.css": style, "main.js": entry, "icon.svg": icon})}
    data, rows, sizes = bytearray(), [], {}
    for name, plain in sorted(files.items()):
        packed = gzip.compress(plain, 9, mtime=0)
        kind = TYPES[pathlib.Path(name).suffix]
        rows.append(f'    {{"{name}", "{kind}", {len(data)}, {len(packed)}, {len(plain)}, "{hashlib.sha256(plain).hexdigest()[:16]}"}},\n')
        data += packed
        sizes[name] = len(packed)
    at_first = sum(sizes[name] for name in first)
    for what, limit, size in (("first view", FIRST, at_first), ("whole", ALL, len(data))):
        if size > limit:
            sys.exit(f"consolepack: the {what} of the console is {size} bytes, more than {limit}: {sizes}")
    pathlib.Path(blob).write_bytes(data)
    pathlib.Path(out).write_text(f"""/* Made by tools/consolepack.py. */
#include "api/console_assets.h"
__asm__(".section .rodata\\n.global console_assets_data\\n.balign 16\\nconsole_assets_data:\\n.incbin \\"{os.path.abspath(blob)}\\"\\n.byte 0\\n.previous\\n");
const struct console_asset console_assets[] = {{
{''.join(rows)}    {{0}},
}};
""", encoding="utf-8")


main(*sys.argv[1:])
