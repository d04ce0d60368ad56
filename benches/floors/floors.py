"""What an edit costs beside what its files cost: each row is the system calls that no edit as safe can do without, and the server's call.

    floors.py --server BINARY [--runs 40] [--only ROW,…] [--dir DIR]
    floors.py --server BINARY [--runs 40] [--dir DIR] --parts      what a creation's time is made of, by leaving out what can be

The floor of an edit copies the old file, syncs the copy, exchanges the two, syncs the directory and removes the old one, in this
program, without a journal, a lock, a hash or a look at the path; that of a creation writes a file, syncs it, renames it and syncs the
directory. Floor and server take turns, call by call, so that both meet the same disk; then come the server with `--durability process`,
and the floor without its syncs. Medians in milliseconds; a ratio is that of its own run. What the server has made is compared byte for
byte. Linux.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests" / "clients"))

import session  # noqa: E402

LIBC = ctypes.CDLL(None, use_errno=True)
AT_FDCWD, RENAME_NOREPLACE, RENAME_EXCHANGE = -100, 1, 2
PATCH, CREATE = "patch_text_file_contents", "create_text_file"
#: A call may be slow where the disk is.
PATIENCE = 120.0
BLOCK = 1 << 20
POOL = ThreadPoolExecutor(8)


def rename(old: Path, new: Path, flags: int) -> None:
    if LIBC.renameat2(AT_FDCWD, os.fsencode(old), AT_FDCWD, os.fsencode(new), flags):
        raise OSError(ctypes.get_errno(), "renameat2")


def sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(descriptor)
    os.close(descriptor)


def write(path: Path, text: bytes, syncs: bool) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    os.write(descriptor, text)
    if syncs:
        os.fsync(descriptor)
    os.close(descriptor)


def copy(old: Path, new: Path, syncs: bool) -> None:
    buffer = memoryview(bytearray(min(BLOCK, old.stat().st_size + 1)))
    source, target = os.open(old, os.O_RDONLY), os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    while read := os.readv(source, [buffer]):
        os.write(target, buffer[:read])
    if syncs:
        os.fsync(target)
    os.close(source)
    os.close(target)


@dataclass
class Row:
    """A kind of edit: so many files of so many bytes, made or patched."""

    name: str
    size: int
    files: int = 1
    makes: bool = False

    def text(self, run: int) -> bytes:
        """What a file holds after a run; that of another run differs in one line in the midst of it."""
        lines = [f"{number:>8} {'x' * 40}\n" for number in range(max(2, self.size // 50))]
        lines[len(lines) // 2] = f"run {run:>45}\n"
        return "".join(lines).encode()

    def paths(self, root: Path, run: int) -> list[Path]:
        return [root / (f"made{run}.txt" if self.makes else f"{number}.txt") for number in range(self.files)]

    def floor(self, root: Path, run: int, syncs: bool) -> float:
        paths, text = self.paths(root, run), self.text(run) if self.makes else b""
        began = time.perf_counter()
        if self.makes:
            write(root / "new", text, syncs)
            rename(root / "new", paths[0], RENAME_NOREPLACE)
        else:
            # Where there are several, they are synced side by side.
            each = map if len(paths) == 1 else POOL.map
            list(each(lambda path: copy(path, path.with_suffix(".new"), syncs), paths))
            for path in paths:
                rename(path.with_suffix(".new"), path, RENAME_EXCHANGE)
        if syncs:
            sync_directory(root)
        if not self.makes:
            for path in paths:
                os.unlink(path.with_suffix(".new"))
        return time.perf_counter() - began

    def call(self, server: session.Server, root: Path, run: int) -> float:
        paths = self.paths(root, run)
        if self.makes:
            tool, arguments = CREATE, {"file_path": str(paths[0]), "contents": self.text(run).decode()}
        else:
            patches = [{"old_string": f"run {run - 1:>45}\n", "new_string": f"run {run:>45}\n"}]
            tool, arguments = PATCH, {"files": [{"file_path": str(path), "patches": patches} for path in paths]}
        began = time.perf_counter()
        reply = server.call(tool, arguments, PATIENCE)
        took = time.perf_counter() - began
        wrong = [path.name for path in paths if reply.is_error or path.read_bytes() != self.text(run)]
        if wrong:
            raise SystemExit(f"{self.name}: {', '.join(wrong)} is not as it should be: {reply.text[:400]}")
        return took


ROWS = [Row("create 1 KB", 1_000, makes=True), Row("patch of 1 KB", 1_000), Row("patch of 100 KB", 100_000), Row("20 files of 1 KB", 1_000, files=20),
        Row("patch of 10 MB", 10_000_000), Row("patch of 100 MB", 100_000_000)]


def measured(row: Row, base: Path, runs: int, syncs: bool) -> tuple[float, float]:
    """The medians of the floor and of the server, which take turns."""
    root, own, state = base / "root", base / "floor", base / "state"
    for directory in (root, own, state):
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(mode=0o700)
    for directory in (root, own):
        for path in [] if row.makes else row.paths(directory, 0):
            path.write_bytes(row.text(0))
    options = ("--limit", "call-seconds=none", *(() if syncs else ("--durability", "process")))
    os.sync()
    with session.Server(root, options=options, state=state) as server:
        times: tuple[list[float], list[float]] = ([], [])
        for run in range(1, runs + 3):
            times[0].append(row.floor(own, run, syncs))
            times[1].append(row.call(server, root, run))
    # The first calls open the database and look at the whole file.
    return statistics.median(times[0][2:]) * 1e3, statistics.median(times[1][2:]) * 1e3


def parts(base: Path, runs: int) -> None:
    """Prints what a creation takes, and what remains of it without its parts: each in turn, and each in a directory of its own."""
    row = ROWS[0]
    without = {"without syncs or history": ("--durability", "process", "--no-history"), "without syncs": ("--durability", "process"),
               "without history": ("--no-history",), "whole": ()}
    with ExitStack() as stack:
        servers = {}
        for name, options in without.items():
            root, state = base / name / "root", base / name / "state"
            root.mkdir(parents=True)
            state.mkdir(mode=0o700)
            servers[name] = (stack.enter_context(session.Server(root, options=options, state=state)), root)
        server, root = servers["whole"]

        def refused(_: int) -> float:
            return timed(lambda: server.call(CREATE, {"file_path": str(root / "made1.txt"), "contents": row.text(0).decode()}, PATIENCE))

        def dry(run: int) -> float:
            return timed(lambda: server.call(CREATE, {"file_path": str(root / f"dry{run}.txt"), "contents": row.text(0).decode(), "dry_run": True}, PATIENCE))

        own = base / "floor"
        own.mkdir()
        calls = {"floor": lambda run: row.floor(own, run, True), "floor without syncs": lambda run: row.floor(own, -run, False),
                 **{name: lambda run, to=to: row.call(*to, run) for name, to in servers.items()},
                 "a ping": lambda _: timed(lambda: server.request("ping")), "a file that is there: refused": refused, "dry run": dry}
        times: dict[str, list[float]] = {name: [] for name in calls}
        for run in range(1, runs + 3):
            for name, call in calls.items():
                times[name].append(call(run))
    print("| a creation of 1 KB | µs |\n|---|---|")
    for name, of_part in times.items():
        print(f"| {name} | {statistics.median(of_part[2:]) * 1e6:.0f} |")


def timed(do: Callable[[], object]) -> float:
    began = time.perf_counter()
    do()
    return time.perf_counter() - began


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--server", default=str(REPOSITORY / "target/release/mcp-text-editor"))
    parser.add_argument("--runs", type=int, default=40, help="of each row; of the large ones a quarter")
    parser.add_argument("--only", default=",".join(row.name for row in ROWS), metavar="ROW,…", help="some of the names in the first column")
    parser.add_argument("--parts", action="store_true", help="what a creation is made of, instead")
    parser.add_argument("--dir", help="where the files are: a directory on the disk in question")
    options = parser.parse_args()
    wanted = options.only.split(",")
    if unknown := set(wanted) - {row.name for row in ROWS}:
        parser.error(f"there is no row {', '.join(sorted(unknown))}; there are {', '.join(row.name for row in ROWS)}")
    os.environ["MCP_TEXT_EDITOR_BIN"] = options.server
    if options.parts:
        with tempfile.TemporaryDirectory(dir=options.dir, prefix="mte-floors-") as base:
            parts(Path(base), options.runs)
        return 0
    print("| | floor | here | ratio | without syncs: floor | here | ratio |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(dir=options.dir, prefix="mte-floors-") as base:
        for row in ROWS:
            if row.name in wanted:
                runs = max(3, options.runs // (1 if row.size < 10_000_000 else 4))
                cells = [cell for syncs in (True, False) for floor, here in [measured(row, Path(base), runs, syncs)]
                         for cell in (f"{floor:.2f} ms", f"{here:.2f} ms", f"{here / floor:.2f}")]
                print(f"| {row.name} | {' | '.join(cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
