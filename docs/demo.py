"""Makes docs/demo.svg, the picture in README.md of an edit that is taken back, by running the program.

    demo.py [--check]     makes the picture, or compares it with the one that is there

The directory is shown as /home/ada/app; ids of edits and times, which differ in each run, are always shown as the same.
MCP_TEXT_EDITOR_BIN names the program; without it cargo builds it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs/demo.svg"
HOME, WIDTH, LINE = "/home/ada/app", 98, 18
IDS, TIME = ("6f1c0a93be27", "b94e5d2c7a10"), "Mon 2026-11-30 14:02:07"
FILE = 'import sys\n\ndef greet(name):\n    print("Hello, " + name)\n\ngreet(sys.argv[1])\n'
PATCH = """mcp-text-editor call patch_text_file_contents 'files=[
  {"file_path": "/home/ada/app/greet.py", "patches": [
    {"old_string": "import sys\\n", "new_string": "#!/usr/bin/env python3\\nimport sys\\n"},
    {"old_string": "\\"Hello, \\" + name", "new_string": "f\\"Hello, {name}!\\""}]}]'"""
#: Each command, and for how many seconds its output is looked at.
STEPS = ((PATCH, 4), ("mcp-text-editor history", 5), (f"mcp-text-editor undo {IDS[0][:4]}", 3), ("cat greet.py", 4))
COLOURS = {"1": "#ffffff", "31": "#ff8f8f", "32": "#7fe08f", "33": "#f2d272", "36": "#79d0e0"}


def program() -> list[str]:
    if named := os.environ.get("MCP_TEXT_EDITOR_BIN"):
        return [os.path.abspath(named)]
    subprocess.run(["cargo", "build", "--quiet", "--locked", "-p", "mcp-text-editor"], cwd=ROOT, check=True)
    return [os.path.join(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"), "debug/mcp-text-editor")]


def said() -> list[tuple[str, str]]:
    """Runs the commands; returns each with what it printed."""
    with tempfile.TemporaryDirectory() as place:
        app, words = Path(place).resolve() / "app", " ".join(program())
        app.mkdir()
        (app / "greet.py").write_text(FILE)
        env = {**os.environ, "MCP_TEXT_EDITOR_STATE_DIR": str(app.parent / "state"), "CLICOLOR_FORCE": "1", "TERM": "xterm"}
        found: list[tuple[str, str]] = []
        ids: dict[str, None] = {}
        for command, _ in STEPS:
            run = command.replace("mcp-text-editor ", f"{words} ", 1).replace(HOME, str(app))
            for real, shown in zip(ids, IDS, strict=False):
                run = run.replace(shown[:4], real)
            done = subprocess.run(["bash", "-c", run], cwd=app, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
            ids |= dict.fromkeys(re.findall(r'(?:edit_id":"|edit (?:\x1b\[\d+m)?)([0-9a-f]{12})', done.stdout))
            text = re.sub(r"\w{3} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d", TIME, done.stdout.replace(str(app), HOME))
            for real, shown in zip(ids, IDS, strict=False):
                text = text.replace(real, shown)
            found.append((command, text.rstrip("\n")))
        return found


def spans(line: str) -> list[tuple[str, str]]:
    """The parts of a line that have a colour each."""
    parts, colour = [], "#d4d4d4"
    for index, part in enumerate(re.split(r"\x1b\[(\d*)m", line)):
        if index % 2:
            colour = COLOURS.get(part, "#d4d4d4")
        elif part:
            parts.append((part, colour))
    return parts or [("", colour)]


def rows(parts: list[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    """Breaks a line where the terminal ends."""
    made: list[list[tuple[str, str]]] = [[]]
    for text, colour in parts:
        while text:
            room = WIDTH - sum(len(part) for part, _ in made[-1])
            made[-1].append((text[:room], colour))
            text = text[room:]
            if text:
                made.append([])
    return made


def drawn(found: list[tuple[str, str]]) -> str:
    """The picture: lines that appear one after the other, and then stay for a while."""
    lines: list[tuple[float, list[tuple[str, str]]]] = []
    at = 0.5
    for (command, text), (_, seconds) in zip(found, STEPS, strict=True):
        for index, line in enumerate(command.split("\n")):
            lines += [(at, row) for row in rows([("" if index else "$ ", "#7fe08f"), (line, "#ffffff")])]
        at += 1.0
        for line in text.split("\n"):
            lines += [(at, row) for row in rows(spans(line))]
            at += 0.05
        at += seconds
    height, total = LINE * len(lines) + 24, at + 3
    steps = sorted({begin for begin, _ in lines})
    styles = [f"@keyframes k{number} {{ 0%, {begin / total:.2%} {{ opacity: 0 }} {begin / total + 0.0001:.2%}, 100% {{ opacity: 1 }} }}"
              f" .k{number} {{ animation: k{number} {total:.1f}s infinite }}" for number, begin in enumerate(steps)]
    parts = []
    for index, (begin, row) in enumerate(lines):
        shown = "".join(f'<tspan fill="{colour}">{escape(text)}</tspan>' for text, colour in row)
        parts.append(f'<text class="k{steps.index(begin)}" x="14" y="{LINE * index + 26}" xml:space="preserve">{shown}</text>')
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 {height}" role="img" aria-label="An edit of two places, its diff, and the same edit taken back">',
        "<style>", "text { font: 13.6px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace }",
        *styles, "@media (prefers-reduced-motion: reduce) { text { animation: none !important } }", "</style>",
        f'<rect width="860" height="{height}" rx="8" fill="#1e1e1e"/>', *parts, "</svg>"]) + "\n"


def main() -> int:
    made = drawn(said())
    if sys.argv[1:] != ["--check"]:
        PICTURE.write_text(made)
        return 0
    if made == PICTURE.read_text():
        print("docs/demo.svg shows what the program prints")
        return 0
    print("docs/demo.svg is not what docs/demo.py makes")
    return 1


if __name__ == "__main__":
    sys.exit(main())
