"""Makes docs/pictures/tour.svg: a terminal recording of a real run, as an SVG that needs no player.

Starts build/iii with a data folder of its own, runs the commands of SCENES in bash, and writes what they printed with the
pauses they took. Programs that show no animation show the last picture."""
import html
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "pictures" / "tour.svg"
SCENES = [  # a comment that is shown, and the command
    ("Run something, and forget it.", "iii run python -- python3 -c 'print(2+2)'"),
    ("A sandbox that stays.", "iii run -d --name demo python"),
    ("", "echo 'print(sum(range(101)))' > sum.py && iii cp sum.py demo:/workspace/"),
    ("", "iii exec demo python3 sum.py"),
    ("No network, unless you give it one.", "iii exec demo getent hosts example.com || echo unreachable"),
    ("Clone it, with its files, while it runs.", "iii clone demo --name copy -o name"),
    ("", "iii exec copy ls -l /workspace"),
    ("", "iii rm demo copy"),
]
TYPE_S, READ_S, COLUMNS = 0.045, 0.9, 92  # for each character; after each output
CHAR_W, LINE_H, PAD = 8.43, 20, 18


def run_scenes(env):
    """[(comment, command, output, seconds)]"""
    shell = subprocess.Popen(["bash", "--norc", "--noprofile"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env, cwd=env["HOME"])
    taken = []
    for comment, command in SCENES:
        begun = time.monotonic()
        shell.stdin.write(f"{command}\nprintf '\\036%s\\n' $?\n")
        shell.stdin.flush()
        lines = []
        for line in shell.stdout:
            text, mark, code = line.rstrip("\n").partition("\036")
            if text:
                lines.append(text)
            if mark:
                break
        assert code == "0", f"{command}: exit {code}: {lines}"
        taken.append((comment, command, lines, time.monotonic() - begun))
    shell.stdin.close()
    shell.wait()
    return taken


def draw(taken):
    rows, at = [], 0.4  # (class, text, second at which it appears)
    for comment, command, lines, seconds in taken:
        if comment:
            rows.append(("c", f"# {comment}", at))
            at += READ_S / 2
        rows.append(("p", command, at))
        at += TYPE_S * len(command) + seconds
        rows += [("o", line[:COLUMNS], at) for line in lines]
        at += READ_S
    height = PAD * 2 + LINE_H * len(rows) + 26
    out = []
    for number, (kind, text, when) in enumerate(rows):
        y = PAD + 40 + number * LINE_H
        if kind != "p":
            out.append(f'<text class="{kind}" x="{PAD}" y="{y}" style="animation-delay:{when:.2f}s">{html.escape(text)}</text>')
            continue
        pieces, place = [f'<tspan class="d" style="animation-delay:{when - 0.2:.2f}s">$ </tspan>'], 0
        for word in re.findall(r"\S+\s*", text):
            place += len(word)
            pieces.append(f'<tspan style="animation-delay:{when + TYPE_S * place:.2f}s">{html.escape(word)}</tspan>')
        out.append(f'<text class="p" x="{PAD}" y="{y}" xml:space="preserve">{"".join(pieces)}</text>')
    width = round(PAD * 2 + COLUMNS * CHAR_W)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img" aria-label="A terminal: {html.escape('; '.join(c for _, c, _, _ in taken), quote=True)}">
<!-- made by ./dev record from a real run -->
<style>
.w{{fill:#f6f8fa;stroke:#d0d7de}}text{{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre}}
.p{{fill:#1f2328;font-weight:600}}.o{{fill:#424a53}}.c{{fill:#6e7781;font-style:italic}}.d{{fill:#0969da}}.b{{fill:#d0d7de}}
@media (prefers-color-scheme:dark){{.w{{fill:#0d1117;stroke:#30363d}}.p{{fill:#e6edf3}}.o{{fill:#c9d1d9}}.c{{fill:#8b949e}}.d{{fill:#58a6ff}}.b{{fill:#30363d}}}}
@keyframes a{{from{{opacity:0}}to{{opacity:1}}}}
@media (prefers-reduced-motion:no-preference){{.o,.c,tspan{{animation:a .01s backwards}}}}
</style>
<rect class="w" x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="8"/>
<circle class="b" cx="20" cy="18" r="5"/><circle class="b" cx="38" cy="18" r="5"/><circle class="b" cx="56" cy="18" r="5"/>
{chr(10).join(out)}
</svg>
"""


def main():
    home = pathlib.Path(tempfile.mkdtemp(prefix="iii-record-"))
    (home / "bin").mkdir()
    (home / "bin" / "iii").symlink_to(ROOT / "build" / "iii")
    env = {"PATH": f"{home}/bin:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8", "COLUMNS": str(COLUMNS), "III_ON_SHUTDOWN": "remove"}
    server = subprocess.Popen([home / "bin" / "iii", "serve", "--port", "0", "--engine-port", "0", "--data-dir", home / "data"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, env=env)
    try:
        ready = re.fullmatch(r"ready rest=(\S+) engine=(\S+)\n", server.stdout.readline())
        env |= {"III_SANDBOX_URL": ready[1], "III_ENGINE_URL": ready[2], "III_DATA_DIR": str(home / "data")}
        picture = draw(run_scenes(env))
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()
        shutil.rmtree(home, ignore_errors=True)
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(picture)
    print(f"wrote {os.path.relpath(TARGET, ROOT)}", file=sys.stderr)


if __name__ == "__main__":
    main()
