"""What a caller that knows all sends and receives for each task of a public board of edits: here, with the official filesystem server, in a shell.

    boards.py --server BINARY [--filesystem COMMAND] [--only FAMILY,…] [--write]

COMMAND serves `ROOT`, such as `node …/server-filesystem/dist/index.js ROOT` (npm install @modelcontextprotocol/server-filesystem@2026.8.31).
Sent are the arguments of all calls of a task, received the texts of their replies, in bytes; of several tasks the one that costs most counts.
`--write` puts the table into docs/internals/edits.md. Ends with 1 if a result of this server is not right to the byte, or costs more than BOUNDS.
A family whose tool this server does not offer is not tried.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benches" / "others"))

from others import Other  # noqa: E402
from tasks import Files, Task, tasks  # noqa: E402

DOCUMENT = ROOT / "docs" / "internals" / "edits.md"
MARKS = "<!-- boards -->\n", "<!-- /boards -->\n"
GET, PATCH, SEARCH = "get_text_file_contents", "patch_text_file_contents", "search_text_files"
#: The most bytes that the largest task of these families may send and receive.
BOUNDS = {**dict.fromkeys(("move-block", "move-between", "copy-block", "copy-within"), (800, 1200)),
          **dict.fromkeys(("replace-block", "delete-block"), (900, 1200)), "multi-file": (400, 1500), "replace-all": (200, 900)}


class Absent(Exception):
    """The server does not offer the tool."""


class Caller:
    """Does tasks by the calls of a server, and counts them. Replies are only looked at for what a call needs."""

    def __init__(self, command: list[str], root: Path, state: Path) -> None:
        self.root, self.sent, self.received = root, 0, 0
        self.server = Other("boards", command, root, state)
        self.tools = {tool["name"] for tool in self.server.ask("tools/list", {})["result"]["tools"]}

    def path(self, file: str) -> str:
        return str(self.root / file)

    def call(self, tool: str, **arguments: Any) -> str:
        if tool not in self.tools:
            raise Absent
        self.sent += len(json.dumps(arguments, ensure_ascii=False).encode())
        text = self.server.call(tool, arguments)[1]
        self.received += len(text.encode())
        return text


class Ours(Caller):
    def patch(self, file: str, *patches: dict[str, Any]) -> None:
        self.call(PATCH, file_path=self.path(file), patches=list(patches))

    def once(self, task: Task) -> None:
        self.call(PATCH, file_path=self.path(task.facts.file), old_string=task.facts.old, new_string=task.facts.new)

    def every(self, task: Task) -> None:
        self.call(PATCH, file_path=self.path(task.facts.file), old_string=task.facts.old, new_string=task.facts.new, replace_all=True)

    def pairs(self, task: Task) -> None:
        files = [{"file_path": self.path(file), "patches": [{"old_string": old, "new_string": new}]} for file, old, new in task.facts.pairs]
        self.call(PATCH, files=files)

    def files(self, task: Task) -> None:
        call = {"pattern": task.facts.old, "literal": True, "replacement": task.facts.new, "paths": [self.path("cases")]}
        seen = self.call("replace_in_text_files", **call)
        count = re.search(r"expected_replacements: (\d+)\s*$", seen)
        assert count is not None, seen
        self.call("replace_in_text_files", **call, expected_replacements=int(count[1]))

    def lines(self, file: str, texts: list[str], **more: Any) -> list[int]:
        """The lines in which the texts stand, which have no sign of an expression."""
        path = self.path(file)
        found = self.call(SEARCH, pattern="|".join(text.rstrip("\n") for text in texts), paths=[path], **more)
        return [int(line) for line in re.findall(rf"^{re.escape(path)}:(\d+):", found, re.M)]

    def titled(self, task: Task) -> None:
        facts = task.facts
        below = 2 if facts.change == "select" else 9
        found = self.lines(facts.file, facts.titles, context_after=below)
        if facts.change == "delete":
            ranges = [{"start": line, "end": line + below} for line in found]
            file_hash, _, hashes = self.hashes({"file_path": self.path(facts.file), "ranges": ranges})
            ranges = [{**lines, "range_hash": range_hash} for lines, range_hash in zip(ranges, hashes)]
            self.call("delete_text_file_contents", file_path=self.path(facts.file), file_hash=file_hash, ranges=ranges)
            return
        old, new = "});", facts.payload + "});"
        if facts.change == "select":
            old, new = (f'    mode: "{value}",' for value in (facts.old, facts.new))
        self.patch(facts.file, *({"ranges": [{"start": line + below, "end": line + below}], "old_string": old, "new_string": new} for line in found))

    def hashes(self, *files: dict[str, Any]) -> tuple[str, int, list[str]]:
        """The hash and the number of lines of the last file, and the hashes of all ranges."""
        text = self.call(GET, files=list(files), text=False)
        last = re.findall(r"(?: of )?(\d+)(?: lines \d+ bytes)? file_hash (\w+)", text)[-1]
        return last[1], int(last[0]), re.findall(r" range_hash (\w+)", text)

    def block(self, task: Task) -> None:
        facts = task.facts
        path, marks = self.path(facts.file), [facts.start, facts.end]
        start, end, *anchor = self.lines(facts.file, [*marks, facts.anchor] if facts.anchor else marks)
        if facts.payload:
            start, end = start + 1, end - 1
        lines = {"start": start, "end": end}
        others = [{"file_path": self.path(facts.to), "ranges": []}] if facts.to not in (None, facts.file) else []
        file_hash, total, (range_hash,) = self.hashes({"file_path": path, "ranges": [lines]}, *others)
        if facts.payload:
            self.patch(facts.file, {"ranges": [{**lines, "range_hash": range_hash}], "new_string": facts.payload})
        elif facts.to or facts.anchor:
            to = {"to": others[0]["file_path"], "file_hash": file_hash} if others else {}
            move = {"move": True} if facts.is_move else {}
            after = anchor[0] if anchor else total
            self.call("copy_text_lines", **{"from": path}, **lines, range_hash=range_hash, after=after, **to, **move)
        else:
            self.call("delete_text_file_contents", file_path=path, file_hash=file_hash, ranges=[{**lines, "range_hash": range_hash}])


class Filesystem(Caller):
    """Without a search in files, and with reads from the top or the end only, it reads a file in which a place is to be found."""

    def edit(self, file: str, edits: list[tuple[str, str]]) -> None:
        self.call("edit_file", path=self.path(file), edits=[{"oldText": old, "newText": new} for old, new in edits])

    def once(self, task: Task) -> None:
        self.edit(task.facts.file, [(task.facts.old, task.facts.new)])

    def every(self, task: Task) -> None:
        self.edit(task.facts.file, [(task.facts.old, task.facts.new)] * task.files[task.facts.file].count(task.facts.old))

    def pairs(self, task: Task) -> None:
        for file, old, new in task.facts.pairs:
            self.edit(file, [(old, new)])

    def files(self, task: Task) -> None:
        self.call("list_directory", path=self.path("cases"))
        for file, text in task.files.items():
            if file.startswith("cases/"):
                self.edit(file, [(task.facts.old, task.facts.new)] * text.count(task.facts.old))

    def titled(self, task: Task) -> None:
        facts = task.facts
        lines, edits = self.call("read_text_file", path=self.path(facts.file)).split("\n"), []
        for title in facts.titles:
            first = next(number for number, line in enumerate(lines) if f'"{title}"' in line)
            old = "\n".join(lines[first:first + (3 if facts.change == "select" else 10)])
            new = {"select": old.replace(facts.old, facts.new), "insert": old.replace("});", facts.payload + "});"), "delete": ""}[facts.change]
            edits.append((old + "\n", new) if facts.change == "delete" else (old, new))
        self.edit(facts.file, edits)

    def block(self, task: Task) -> None:
        changed = {file: text for file, text in task.wanted.items() if text != task.files[file]}
        for file in {task.facts.file, *changed}:
            self.call("read_text_file", path=self.path(file))
        for file, text in changed.items():
            self.call("write_file", path=self.path(file), content=text)


def shell(task: Task) -> str:
    """A command that does the task, with a program of Python in it, and reads nothing before."""

    def literal(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False)

    facts = task.facts
    read, write = f"p=P({literal(facts.file)});x=p.read_bytes().decode()", "p.write_bytes(x.encode())"
    each = "p.write_bytes(p.read_bytes().decode().replace(o,n).encode())"
    if task.kind in ("once", "every"):
        lines = [read, f"x=x.replace({literal(facts.old)},{literal(facts.new)})", write]
    elif task.kind == "pairs":
        lines = [f"for f,o,n in {literal(facts.pairs)}:p=P(f);{each}"]
    elif task.kind == "files":
        lines = [f"o,n={literal(facts.old)},{literal(facts.new)}", f"for p in P('cases').glob('*.test.ts'):{each}"]
    elif task.kind == "titled":
        change = {"select": f"x=x[:i]+x[i:].replace({literal(facts.old)},{literal(facts.new)},1)", "delete": "j=x.index('});\\n',i)+4;x=x[:i]+x[j:]",
                  "insert": f"j=x.index('}});',i);x=x[:j]+{literal(facts.payload)}+x[j:]"}[facts.change]
        lines = [read, f"for t in {literal(facts.titles)}:i=x.index('test(\"'+t);{change}", write]
    else:
        lines = [read, f"i=x.index({literal(facts.start)});e={literal(facts.end)};j=x.index(e)+len(e);b=x[i:j]"]
        if facts.payload:
            lines.append(f"x=x[:i]+{literal(facts.start + facts.payload)}+e+x[j:]")
        elif facts.is_move or not facts.to:
            lines.append("x=x[:i]+x[j:]")
        if facts.anchor:
            lines.append(f"a={literal(facts.anchor)};x=x.replace(a,a+b)")
        if facts.to == facts.file:
            lines.append("x+=b")
        elif facts.to:
            lines.append(f"open({literal(facts.to)},'ab').write(b.encode())")
        lines.append(write)
    return "python3 - <<'E'\nfrom pathlib import Path as P\n" + "\n".join(lines) + "\nE"


def run(task: Task, how: str | list[str]) -> tuple[int, int, bool] | None:
    """Does a task in a new directory: the bytes sent and received, and whether all files are right. None if it has no tool for it."""
    with tempfile.TemporaryDirectory(prefix="boards-") as root, tempfile.TemporaryDirectory() as state:
        write(Path(root), task.files)
        if isinstance(how, str):
            done = subprocess.run(["bash", "-c", how], cwd=root, capture_output=True, check=True)
            sent, received = len(json.dumps({"command": how}, ensure_ascii=False).encode()), len(done.stdout)
        else:
            caller = (Filesystem if "ROOT" in how else Ours)(how if "ROOT" in how else [*how, root], Path(root), Path(state))
            try:
                getattr(caller, task.kind)(task)
            except Absent:
                return None
            finally:
                caller.server.close()
            sent, received = caller.sent, caller.received
        left = {str(path.relative_to(root)): path.read_bytes() for path in Path(root).rglob("*") if path.is_file()}
        return sent, received, left == {file: text.encode() for file, text in task.wanted.items()}


def write(root: Path, files: Files) -> None:
    for file, text in files.items():
        (root / file).parent.mkdir(exist_ok=True)
        (root / file).write_bytes(text.encode())


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--server", required=True)
    words.add_argument("--filesystem")
    words.add_argument("--only", default="")
    words.add_argument("--write", action="store_true")
    chosen = words.parse_args()
    ways: dict[str, Callable[[Task], str | list[str]]] = {"here": lambda _: [chosen.server]}
    if chosen.filesystem:
        ways["filesystem"] = lambda _: shlex.split(chosen.filesystem)
    ways["shell"] = shell
    #: By family and way: the scales, each with the most bytes that a task sent and received.
    costs: dict[tuple[str, str], dict[int, tuple[int, int]]] = {}
    families: list[str] = []
    wrong: dict[str, list[str]] = {way: [] for way in ways}
    count = 0
    for task in tasks():
        if chosen.only and task.family not in chosen.only.split(","):
            continue
        count += 1
        families += [] if task.family in families else [task.family]
        for way, how in ways.items():
            done = run(task, how(task))
            if done is None or not done[2]:
                wrong[way].append(f"{task.family} {task.scale}{'' if done else ' (no tool)'}")
            if done:
                scales = costs.setdefault((task.family, way), {})
                sent, received = scales.get(task.scale, (0, 0))
                scales[task.scale] = max(sent, done[0]), max(received, done[1])
    rows = [["family", "scale", *(name for way in ways for name in (way, ""))][:-1]]
    for family in families:
        scales = sorted({task.scale for task in tasks() if task.family == family})
        cells = [costs.get((family, way), {}).get(scale) for way in ways for scale in (scales[0], scales[-1])]
        texts = [f"{cell[0]}/{cell[1]}" if cell else "." for cell in cells]
        if len(scales) == 1:
            texts[1::2] = [""] * len(ways)
        # A shell receives nothing, and sends nearly the same at each scale.
        texts[-2:] = [str(cells[-1][0]) if cells[-1] else "."]
        rows.append([family, "-".join(map(str, dict.fromkeys((scales[0], scales[-1])))), *texts])
    rows.append(["exact", "", *(text for way in ways for text in (f"{count - len(wrong[way])}/{count}", ""))][:-1])
    widths = [max(map(len, column)) for column in zip(*rows)]
    table = "".join("    " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() + "\n" for row in rows)
    print(table)
    for way, cases in wrong.items():
        print(f"not right, {way}: {', '.join(dict.fromkeys(cases)) or 'none'}")
    largest = {family: costs[family, "here"][max(costs[family, "here"])] for family in BOUNDS if (family, "here") in costs}
    dear = [f"{family}: {sent}/{received}, at most {BOUNDS[family]}" for family, (sent, received) in largest.items()
            if sent > BOUNDS[family][0] or received > BOUNDS[family][1]]
    print("\n".join(dear))
    if chosen.write:
        text = DOCUMENT.read_text()
        before, after = text.index(MARKS[0]) + len(MARKS[0]), text.index(MARKS[1])
        DOCUMENT.write_text(f"{text[:before]}\n{table}\n{text[after:]}")
    return 1 if dear or any("no tool" not in case for case in wrong["here"]) else 0


if __name__ == "__main__":
    sys.exit(main())
