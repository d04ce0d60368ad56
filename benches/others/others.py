"""What this server and others do with the same files: the table in docs/migrating.md, cell by cell.

    others.py --server BINARY [--peer NAME=COMMAND]… [--only CASE,…]

A peer with `filesystem` in its name is called in the form of server-filesystem, one with `commander` in that of Desktop Commander, any
other in that of mcp-text-editor 1.x; `ROOT` in its command becomes the directory to serve. A row is a case, a column a server; `.` is a case that a server has
no form for. Only what is left on the disk is judged, not what is said of it. Ends with 1 if this server loses an update, or
changes a byte that it was not asked to.

    pip install mcp-text-editor==1.2.2                      # Python 3.13
    npm install @modelcontextprotocol/server-filesystem@2026.8.31
    cargo install rust-mcp-filesystem@0.4.5 --locked
    npm install --ignore-scripts @wonderwhy-er/desktop-commander@0.2.52   # without a network: unshare --net node …/dist/index.js
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import select
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "reliability"))

import disk  # noqa: E402

#: A server that has said nothing for so long hangs.
PATIENCE = 10.0
#: How often a server is killed.
KILLS = 40


class Hangs(Exception):
    pass


class Other:
    """A server that runs, and the form of its calls."""

    def __init__(self, name: str, command: list[str], root: Path, state: Path, wrap: list[str] | None = None) -> None:
        self.name, self.number = name, 0
        words = [str(root) if word == "ROOT" else word for word in command]
        environment = {**os.environ, "MCP_TEXT_EDITOR_STATE_DIR": str(state)}
        self.process = subprocess.Popen([*(wrap or []), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, env=environment, bufsize=0)
        self.rest = bytearray()
        self.patience = PATIENCE
        #: How long all calls took, each from its first byte to the last of its answer.
        self.spent = 0.0
        #: The text of the last answer.
        self.said = ""
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "others", "version": "0"}}
        try:
            self.ask("initialize", hello, patience=60.0)
            self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        except BaseException:
            self.close()
            raise

    def write(self, message: dict[str, Any]) -> float:
        """Sends a message; gives when it began to."""
        assert self.process.stdin is not None
        line = json.dumps(message).encode() + b"\n"
        began = time.perf_counter()
        self.process.stdin.write(line)
        return began

    def line(self, until: float) -> bytes:
        """The next line that the server sends."""
        assert self.process.stdout is not None
        end = self.rest.find(b"\n")
        while end < 0:
            if not select.select([self.process.stdout], [], [], max(0.0, until - time.monotonic()))[0]:
                raise Hangs
            block = os.read(self.process.stdout.fileno(), 1 << 16)
            if not block:
                raise Hangs
            # In a long line no byte is looked at twice.
            end = len(self.rest) + block.find(b"\n") if b"\n" in block else -1
            self.rest += block
        line = bytes(self.rest[:end])
        del self.rest[:end + 1]
        return line

    def ask(self, method: str, params: dict[str, Any], patience: float | None = None) -> dict[str, Any]:
        self.number += 1
        until = time.monotonic() + (self.patience if patience is None else patience)
        began = self.write({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        while True:
            line = self.line(until)
            ended = time.perf_counter()
            message = json.loads(line)
            if message.get("id") == self.number and "method" not in message:
                self.spent += ended - began
                return dict(message)

    def call(self, tool: str, arguments: dict[str, Any]) -> tuple[bool, str]:
        """Calls a tool; gives whether it succeeded, and its text."""
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        result = answer.get("result", {})
        self.said = text = "\n".join(part.get("text", "") for part in result.get("content", []))
        return "error" not in answer and not result.get("isError") and '"result": "error"' not in text, text

    def read(self, path: Path) -> tuple[bool, str]:
        """Reads a file; gives whether it succeeded, and its text."""
        if self.name.startswith("this"):
            done, text = self.call("get_text_file_contents", {"file_path": str(path), "line_numbers": False})
            return done, text.split("\n", 1)[-1]
        if "filesystem" in self.name:
            return self.call("read_text_file", {"path": str(path)})
        if "commander" in self.name:
            return self.call("read_file", {"path": str(path)})
        done, text = self.call("get_text_file_contents", {"files": [{"file_path": str(path), "ranges": [{"start": 1}]}]})
        return done, json.loads(text)[str(path)]["ranges"][0]["content"] if done else text

    def lines(self, path: Path, start: int, end: int) -> tuple[bool, str]:
        """Reads lines of a file; where there is no form for that, all lines up to the last of them."""
        if self.name.startswith("this"):
            return self.call("get_text_file_contents", {"file_path": str(path), "line_start": start, "line_end": end})
        if "rust" in self.name:
            return self.call("read_file_lines", {"path": str(path), "offset": start - 1, "limit": end - start + 1})
        if "filesystem" in self.name:
            return self.call("read_text_file", {"path": str(path), "head": end})
        if "commander" in self.name:
            return self.call("read_file", {"path": str(path), "offset": start - 1, "length": end - start + 1})
        ranges = [{"start": start, "end": end}]
        done, text = self.call("get_text_file_contents", {"files": [{"file_path": str(path), "ranges": ranges}]})
        return done, json.loads(text)[str(path)]["ranges"][0]["content"] if done else text

    def search(self, root: Path, text: str) -> tuple[bool, str] | None:
        """Searches files for a text; None where the server has no form for that."""
        if self.name.startswith("this"):
            return self.call("search_text_files", {"pattern": text, "literal": True})
        if "rust" in self.name:
            return self.call("search_files_content", {"path": str(root), "pattern": "**/*", "query": text})
        return None

    def replace(self, path: Path, old: str, new: str, line: int | None = None) -> bool | None:
        """Replaces a text; None where the server has no form for that. Where it takes lines only, `line` is the text's."""
        if self.name.startswith("this"):
            return self.call("patch_text_file_contents", {"file_path": str(path), "old_string": old, "new_string": new})[0]
        if "filesystem" in self.name:
            return self.call("edit_file", {"path": str(path), "edits": [{"oldText": old, "newText": new}]})[0]
        if "commander" in self.name:
            return self.call("edit_block", {"file_path": str(path), "old_string": old, "new_string": new})[0]
        if line is None:
            return None
        ranges = [{"start": line, "end": line}]
        done, text = self.call("get_text_file_contents", {"files": [{"file_path": str(path), "ranges": ranges}]})
        if not done:
            return False
        told = json.loads(text)[str(path)]
        patch = {"start": line, "end": line, "contents": new, "range_hash": told["ranges"][0]["range_hash"]}
        return self.call("patch_text_file_contents", {"file_path": str(path), "file_hash": told["file_hash"], "patches": [patch]})[0]

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


Start = Callable[..., Other]


def one_line(before: bytes, after: bytes) -> Callable[[Start, Path], str]:
    """Replaces the second line, `b`, by `B`."""

    def case(start: Start, root: Path) -> str:
        path = root / "t.txt"
        path.write_bytes(before)
        done = start().replace(path, "b", "B", line=2)
        left = path.read_bytes()
        return "kept" if left == after else "refused" if left == before else f"changed{'' if done else ', and an error'}"

    return case


def by_text(before: bytes, old: str, new: str) -> Callable[[Start, Path], str]:
    """Replaces a text that is not there, or more than once."""

    def case(start: Start, root: Path) -> str:
        path = root / "t.txt"
        path.write_bytes(before)
        done = start().replace(path, old, new)
        return "." if done is None else "refused" if path.read_bytes() == before else "edited"

    return case


def fifo(start: Start, root: Path) -> str:
    path = root / "fifo"
    os.mkfifo(path)
    try:
        return "read" if start().read(path)[0] else "refused"
    except Hangs:
        return "hangs"


def lost(start: Start, root: Path) -> str:
    """Two processes count up in one line, each until 100 of its edits were acknowledged; how many of the 200 are gone."""
    path = root / "t.txt"
    path.write_text("above\nn 0\nbelow\n")

    def count(server: Other) -> None:
        done, tries = 0, 0
        while done < 100 and tries < 20_000:
            tries += 1
            read, text = server.read(path)
            found = re.search(r"^n (\d+)$", text, re.M) if read else None
            if found and server.replace(path, found[0], f"n {int(found[1]) + 1}", line=2):
                done += 1

    workers = [threading.Thread(target=count, args=(server,)) for server in (start(), start())]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    found = re.search(r"^n (\d+)$", path.read_text(), re.M)
    return f"{200 - int(found[1])} of 200" if found else "200 of 200"


def synced(start: Start, root: Path) -> str:
    """Whether an edit calls fsync or fdatasync before it is answered."""
    if shutil.which("strace") is None:
        return "."
    path, log = root / "t.txt", root.parent / "strace"
    path.write_text("a\nb\nc\n")
    server = start(["strace", "-f", "-qq", "-o", str(log), "-e", "trace=fsync,fdatasync,sync_file_range,sync,syncfs"])
    server.replace(path, "b", "B", line=2)
    return "yes" if "sync" in log.read_text() and path.read_text() == "a\nB\nc\n" else "no"


def large(marked: str) -> bytes:
    """A MiB whose second line is `marked`, which is nowhere else."""
    return b"a\n" + marked.encode() + b"\n" + b"".join(b"%07d %s\n" % (number, b"x" * 55) for number in range(1 << 14))


def killed(start: Start, root: Path) -> str:
    """A server is killed at random moments of an edit of 1 MiB; how often what is left is neither the old file nor the new one."""
    path, drawn = root / "t.txt", random.Random(1)
    before, after = large("b"), large("B")
    path.write_bytes(before)
    server = start()
    took = timed(lambda: server.replace(path, "b", "B", line=2))
    if path.read_bytes() != after:
        return "not made"
    server.close()
    torn = 0
    for _ in range(KILLS):
        path.write_bytes(before)
        server = start()
        end = threading.Timer(drawn.uniform(0, 1.2 * took), server.process.kill)
        end.start()
        with contextlib.suppress(Hangs, BrokenPipeError):
            server.replace(path, "b", "B", line=2)
        end.join()
        server.close()
        torn += path.read_bytes() not in (before, after)
    return f"{torn} of {KILLS}"


def power(start: Start, root: Path) -> str:
    """The power is cut on a disk with ext4 that is recorded: right after an edit was answered, at each flush, and at 40 moments
    between (tests/reliability/power.py). In how many of the cuts after the answer the edit is not there, and in how many of all the file is
    neither the old nor the new one. The state directory is on the same disk."""
    within = root.parent
    if shutil.which("mkfs.ext4") is None or disk.cannot_record(within):
        return "."
    before, after = ("".join(f"{number} {word if number == 8 else 'x'}\n" for number in range(1, 2_001)) for word in ("old", "new"))
    point, fuse, base, image = within / "disk", within / "fuse", within / "base", within / "image"
    for directory in (point, fuse):
        directory.mkdir()
    with open(base, "wb") as file:
        file.truncate(64 << 20)
    disk.run("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", base)

    def mounted(device: str, work: Callable[[Path], None]) -> None:
        disk.run("mount", device, point)
        try:
            work(point / "root" / "t.txt")
        finally:
            disk.run("umount", point)

    def made(path: Path) -> None:
        path.parent.mkdir()
        path.write_text(before)

    def edited(path: Path) -> None:
        server = start(root=path.parent, state=point / "state")
        recorder.mark("begun")
        done = server.replace(path, "8 old", "8 new", line=8)
        recorder.mark("answered")
        if not done or path.read_text() != after:
            raise RuntimeError(f"{server.name}: not made")
        # Some time in which the system would write by itself; what a server has still to do, too.
        time.sleep(1.0)
        server.close()
        disk.run("sync", "--file-system", point)

    device = disk.attach(base)
    mounted(device, made)
    disk.run("losetup", "--detach", device)
    with disk.Recorder([base], fuse) as recorder:
        mounted(recorder.devices[0], edited)
        log = recorder.log()
    begun, answered = (log.index(disk.Mark(what)) for what in ("begun", "answered"))
    drawn, ways = random.Random(1), ("kept", "some", "one torn", "torn")
    cuts = [disk.Cut(at, way, 1) for at, entry in enumerate(log) if at > begun and isinstance(entry, disk.Flush) for way in (*ways, "dropped")]
    cuts += [disk.Cut(answered + 1, way, seed) for way in (*ways, "dropped") for seed in range(3)]
    cuts += [disk.Cut(drawn.randrange(begun, len(log) + 1), drawn.choice(ways), seed) for seed in range(40)]
    cutter, later, gone, torn = disk.Cutter(log, (1024,)), 0, 0, 0
    for cut in sorted(cuts, key=lambda cut: cut.at):
        disk.make(cutter.image(cut), [base], [image])
        device = disk.attach(image)
        left = []

        def looked_at(path: Path) -> None:
            if not path.exists() or path.read_text() not in (before, after):
                # Its server may mend what it finds.
                start(root=path.parent, state=point / "state").close()
            left.append(path.read_text() if path.exists() else "")

        try:
            mounted(device, looked_at)
        finally:
            disk.run("losetup", "--detach", device)
        torn += left[0] not in (before, after)
        later += cut.at > answered
        gone += cut.at > answered and left[0] != after
    return f"gone in {gone} of {later}, torn in {torn} of {len(cuts)}"


def mode(start: Start, root: Path) -> str:
    path = root / "t.sh"
    path.write_text("a\nb\nc\n")
    path.chmod(0o750)
    start().replace(path, "b", "B", line=2)
    return "kept" if path.stat().st_mode & 0o777 == 0o750 else "changed"


def outside(start: Start, root: Path) -> str:
    path = root.parent / "outside.txt"
    path.write_text("a\nb\nc\n")
    return "edited" if start().replace(path, "b", "B", line=2) else "refused"


def median(times: list[float]) -> str:
    middle = sorted(times)[len(times) // 2] * 1000
    return f"{middle:.0f} ms" if middle >= 10 else f"{middle:.1f} ms"


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def begins(start: Start, root: Path) -> str:
    """From the start of the process to the answer of `initialize`."""
    return median([timed(start) for _ in range(7)])


def patch_of(lines: int, rounds: int) -> Callable[[Start, Path], str]:
    """Replaces a line in the middle of a file with so many lines of 50 bytes, there and back; lines by what is read before."""

    def case(start: Start, root: Path) -> str:
        path = root / "t.txt"
        middle = lines // 2
        path.write_text("".join(f"{number:>8} {'x' * 40}\n" for number in range(1, lines + 1)))
        server = start()
        forms = [f"{middle:>8} {letter * 40}" for letter in "xy"]
        times = []
        for round in range(rounds):
            old, new = forms[round % 2], forms[(round + 1) % 2]
            times.append(timed(lambda old=old, new=new: server.replace(path, old, new, line=middle)))
        return median(times) if f"{forms[rounds % 2]}\n" in path.read_text() else "not made"

    return case


CASES: dict[str, tuple[str, Callable[[Start, Path], str]]] = {
    "mixed": ("mixed line ends", one_line(b"a\r\nb\nc\r\n", b"a\r\nB\nc\r\n")),
    "crlf": ("CRLF", one_line(b"a\r\nb\r\nc\r\n", b"a\r\nB\r\nc\r\n")),
    "bom": ("a BOM", one_line(b"\xef\xbb\xbfa\nb\nc\n", b"\xef\xbb\xbfa\nB\nc\n")),
    "open": ("no newline at the end", one_line(b"a\nb\nc", b"a\nB\nc")),
    "byte": ("a byte that is no UTF-8, in another line", one_line(b"caf\xe9\nb\nc\n", b"caf\xe9\nB\nc\n")),
    "twice": ("a text that is there twice", by_text(b"x = 1\ny\nx = 1\n", "x = 1", "x = 2")),
    "indent": ("a text with other indentation", by_text(b"if a:\n    b()\n", "if a:\n\tb()", "if a:\n\tc()")),
    "mode": ("the mode 0750", mode),
    "outside": ("a file outside the directory", outside),
    "fifo": ("a FIFO, read", fifo),
    "synced": ("synced before the answer", synced),
    "killed": ("torn by a kill", killed),
    "power": ("after a power cut", power),
    "lost": ("lost by two processes", lost),
    "start": ("start to the answer of `initialize`", begins),
    "100k": ("a one-line patch of a 100 KB file", patch_of(2_000, 31)),
    "10m": ("a one-line patch of a 10 MB file", patch_of(200_000, 7)),
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Compares what servers do with the same files.")
    parser.add_argument("--server", required=True, help="this server's program")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=COMMAND", help="another server")
    parser.add_argument("--only", default=",".join(CASES), metavar="CASE,…", help=f"some of {', '.join(CASES)}")
    options = parser.parse_args()
    servers = {"this server": [os.path.abspath(options.server), "ROOT"]}
    servers.update({name: shlex.split(command) for name, command in (peer.split("=", 1) for peer in options.peer)})
    print("| |", " | ".join(servers), "|")
    print("|---|" + "---|" * len(servers))
    worst = 0
    for key in options.only.split(","):
        words, case = CASES[key]
        cells = []
        for name, command in servers.items():
            with tempfile.TemporaryDirectory() as place:
                root, running = Path(place).resolve() / "root", []
                root.mkdir()

                def start(wrap: list[str] | None = None, root: Path = root, state: Path = root.parent / "state") -> Other:
                    running.append(Other(name, command, root, state, wrap))
                    return running[-1]

                try:
                    cells.append(case(start, root))
                finally:
                    for server in running:
                        server.close()
        if cells[0] in ("changed", "edited", "hangs", "no") or (key == "lost" and cells[0] != "0 of 200"):
            worst = 1
        print(f"| {words} |", " | ".join(cells), "|", flush=True)
    return worst


if __name__ == "__main__":
    sys.exit(main())
