"""How time, memory and what is written grow with the work: a table and a picture for each way in which work grows.

    growth.py [--server BINARY] [--peer NAME=COMMAND]… [--only AXIS,…] [--quick | --huge] [--dir DIR]     measures, and prints tables
    growth.py --write …                                                                                  puts them into docs, too

Axes: `read` and `patch` by the size of the file, `lines` of one read, `patches` and `files` of one call, `processes` that edit at once,
`search` by the number of files. --huge adds a file of 10 GB (30 GB of the disk) and a million files (5 GB); --quick has small steps, one run
each: whether all of it still runs. --write makes docs/growth/AXIS.svg, and the section `How it grows` of docs/performance.md between its
two marks; with --only the other axes' parts of it stay, if they are from the same machine.

A server is started for each step. Its first call is not counted, since it opens the database and may look at the whole file. Then:
the time is the median from the first byte of a call to the last of its answer, without what the client does with it; the memory is the
highest that the process had (VmHWM; with its children, added up); what is written is `write_bytes` of /proc/PID/io, which are whole pages
of files, for each call, and `wchar` where the file system counts none (tmpfs). After each call the lines that it was about are looked at, in
the answer or on the disk. Edits last as they do by default (`--durability machine`), and there is a history; no limit of the server is in
the way (`--limit call-seconds=none`, and for `lines` `--max-response-bytes`).

Beside it run the servers that are below BENCH_HOME (`npm/node_modules`, `rmf/bin`, `venv13` with `tumf_pypi`), and those that --peer names, in
the form of others.py, where they have such a call; --quick takes the latter alone. One whose next step would take longer than half a minute,
or more than a quarter of the free memory, is left out from there on, which is said. Needs Linux. Ends with `N passed, N failed`, a step of this server each.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import os
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
for directory in ("benches/others", "tests/clients"):
    sys.path.insert(0, str(REPOSITORY / directory))

import others  # noqa: E402
import picture  # noqa: E402
import session  # noqa: E402

PAGE, PICTURES = REPOSITORY / "docs" / "performance.md", REPOSITORY / "docs" / "growth"
HEADING, BEGIN, END = "## How it grows", "<!-- growth -->", "<!-- /growth -->"
QUICK = "These are quick numbers, of one run each."
THIS = "this server"
#: What each call may take, in seconds: no limit of the server is nearer.
PATIENCE = 900.0
#: What another server's next step may take, in seconds, and of the free memory.
MOST_SECONDS, MOST_MEMORY = 30.0, 0.25
#: For so many seconds, or three times, a call is repeated that takes long.
ENOUGH = 20.0
#: What takes so long to be seen in a file's times that the server does not remember a file before, in seconds.
SETTLES = 0.1
KB, MB, GB = 10**3, 10**6, 10**9
#: A line is 50 bytes: a number, a letter that edits change, and the end.
WIDE, LETTERS = 50, "xy"
NEEDLE = "needle_here"


class Wrong(Exception):
    """A call did not do what it was asked."""


def line_of(name: int | str, letter: str = LETTERS[0]) -> str:
    """A line, without its end."""
    return f"{name:08d} {letter * 40}" if isinstance(name, int) else f"{name:>8} {letter * 40}"


@functools.cache
def block() -> bytes:
    """10 MB of lines: their numbers begin again after it, so that a large file is made as fast as the disk is."""
    return "".join(line_of(number) + "\n" for number in range(1, 10 * MB // WIDE + 1)).encode()


def make_file(path: Path, lines: int, named: dict[int, str] | None = None) -> None:
    """A file of so many lines, some of which have a name in the place of their number. It is on the disk then: nothing of it is to be
    written while a call is measured."""
    with path.open("wb") as file:
        left = lines * WIDE
        while left:
            left -= file.write(memoryview(block())[:left])
        for number, name in (named or {}).items():
            file.seek((number - 1) * WIDE)
            file.write(line_of(name).encode())
        file.flush()
        os.fsync(file.fileno())


def line_at(path: Path, number: int) -> str:
    with path.open("rb") as file:
        file.seek((number - 1) * WIDE)
        return file.read(WIDE - 1).decode(errors="replace")


def other_letter(line: str) -> str:
    """The letter that the next edit of a line puts in."""
    return LETTERS[1 - LETTERS.index(line[-1])] if line[-1:] in tuple(LETTERS) else LETTERS[0]


def significant(number: float) -> str:
    return f"{number:.0f}" if number >= 9.95 else f"{number:.1f}".removesuffix(".0") if number >= 0.995 else f"{number:.2g}"


def of_units(number: float, units: tuple[tuple[float, str], ...]) -> str:
    size, name = next((unit for unit in units if number >= unit[0] * 0.9995), units[-1])
    return f"{significant(number / size)} {name}"


def of_time(seconds: float) -> str:
    return of_units(seconds, ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")))


def of_bytes(count: float) -> str:
    return "0" if count == 0 else of_units(count, ((GB, "GB"), (MB, "MB"), (KB, "KB"), (1, "bytes")))


def of_number(number: float) -> str:
    return f"{number:,.0f}".replace(",", " ") if number >= 10 else significant(number)


def family(process: int) -> list[int]:
    """A process and its children, and theirs."""
    found = [process]
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += family(int(child))
    return found


def counted(process: int, file: str, name: str) -> int:
    """A number of /proc, over a process and its children."""
    total = 0
    for one in family(process):
        found = re.search(rf"^{name}:\s+(\d+)", Path(f"/proc/{one}/{file}").read_text(), re.M)
        total += int(found[1]) if found else 0
    return total


def peak_of(process: int) -> int:
    return counted(process, "status", "VmHWM") * 1024


def memory(name: str) -> int:
    """A number of /proc/meminfo, in bytes."""
    found = re.search(rf"^{name}:\s+(\d+)", Path("/proc/meminfo").read_text(), re.M)
    return int(found[1]) * 1024 if found else 0


@dataclass(frozen=True)
class Measure:
    """What a call of one server takes at one step: seconds, those of the first call, how often it was made; bytes."""

    seconds: float
    first: float
    runs: int
    peak: int
    written: float


class Bench:
    """Where everything is, and the servers by name."""

    def __init__(self, top: Path, servers: dict[str, list[str]]) -> None:
        self.top, self.root, self.servers = top, top / "root", servers
        #: Which count of /proc/PID/io says what is written: the file system may not count what reaches no disk.
        own = os.getpid()
        before = counted(own, "io", "write_bytes")
        make_file(top / "tried", MB // WIDE)
        self.written_by = "write_bytes" if counted(own, "io", "write_bytes") - before >= MB else "wchar"
        (top / "tried").unlink()

    def written(self, server: others.Other) -> int:
        return counted(server.process.pid, "io", self.written_by)

    @contextlib.contextmanager
    def started(self, name: str, options: tuple[str, ...] = (), many: int = 1) -> Iterator[list[others.Other]]:
        """So many of a server, with one root and one state directory."""
        program, *rest = self.servers[name]
        with tempfile.TemporaryDirectory(prefix="state-", dir=self.top) as state, contextlib.ExitStack() as stack:
            servers = []
            for _ in range(many):
                server = others.Other(name, [program, *(options if name == THIS else ()), *rest], self.root, Path(state))
                stack.callback(server.close)
                server.patience = PATIENCE
                servers.append(server)
            yield servers


class Axis:
    """A way in which work grows: the files at each step, and the call that is measured."""

    name = title = across = ""
    #: What is measured, in the words of the page.
    says = ""
    usual: tuple[int, ...] = ()
    quick: tuple[int, ...] = ()
    huge: tuple[int, ...] = ()
    #: How often a call is made, up to each step; three times beyond the last.
    often: tuple[tuple[int, int], ...] = ()
    options: tuple[str, ...] = ("--limit", "call-seconds=none")
    shows_first = is_rate = False

    def __init__(self, bench: Bench, is_quick: bool) -> None:
        self.bench, self.is_quick, self.path = bench, is_quick, bench.root / "t.txt"

    def is_asked(self, peer: str) -> bool:
        """Whether another server has such a call."""
        return False

    def label(self, step: int) -> str:
        return of_number(step)

    def runs(self, step: int) -> int:
        return 1 if self.is_quick else next((runs for most, runs in self.often if step <= most), 3)

    def room(self, step: int) -> int:
        """How many bytes of the disk a step takes at most."""
        return 100 * MB

    def make(self, step: int) -> None:
        """Makes the files of a step, or leaves them as they are."""

    def clear(self, step: int) -> None:
        """Removes what would be too much beside the next step."""

    def call(self, server: others.Other, step: int) -> None:
        raise NotImplementedError

    def measured(self, name: str, step: int) -> Measure:
        self.make(step)
        time.sleep(SETTLES)
        with self.bench.started(name, self.options) as (server,):
            def timed() -> float:
                before = server.spent
                self.call(server, step)
                return server.spent - before

            first = timed()
            runs = min(self.runs(step), max(3, int(ENOUGH / first)))
            before = self.bench.written(server)
            seconds = statistics.median([timed() for _ in range(runs)])
            return Measure(seconds, first, runs, peak_of(server.process.pid), (self.bench.written(server) - before) / runs)


class BySize(Axis):
    """One file that grows."""

    across = "size of the file"
    usual = (KB, 10 * KB, 100 * KB, MB, 10 * MB, 100 * MB, GB)
    quick, huge = (KB, 100 * KB, MB), (10 * GB,)
    often = ((MB, 15), (10 * MB, 9), (100 * MB, 5))
    MIDDLE = "middle"

    def is_asked(self, peer: str) -> bool:
        return True

    def label(self, step: int) -> str:
        return of_bytes(step)

    def room(self, step: int) -> int:
        # The old file, the new one, and a copy that a server may make.
        return 3 * step + 100 * MB

    def middle(self, step: int) -> int:
        return step // WIDE // 2

    def make(self, step: int) -> None:
        # A server that failed may have left anything.
        is_there = self.path.exists() and self.path.stat().st_size == step and self.MIDDLE in line_at(self.path, self.middle(step))
        if not is_there:
            make_file(self.path, step // WIDE, {self.middle(step): self.MIDDLE})

    def clear(self, step: int) -> None:
        self.path.unlink(missing_ok=True)


class Read(BySize):
    name, title = "read", "A read of 51 lines, by the size of the file"
    says = """Reads 51 lines in the middle of a file. The first call of a server reads all of the file, and the server remembers where its lines
        are: the calls after it read only near them. server-filesystem has no form for lines in the middle, and answers all lines up to them."""
    shows_first = True

    def call(self, server: others.Other, step: int) -> None:
        start, end = max(1, self.middle(step) - 25), min(step // WIDE, self.middle(step) + 25)
        done, text = server.lines(self.path, start, end)
        if not done or line_of(self.MIDDLE) not in text or text.count(line_of("")[8:]) < end + 1 - start:
            raise Wrong(f"not read: {text[:200]}")


class Patch(BySize):
    name, title = "patch", "A patch of one line, by the size of the file"
    says = """Replaces a line in the middle of a file, found by its text. This server has synced the new file before it answers; the others sync
        nothing. mcp-text-editor 1.x takes lines only, by a hash that a read tells: its edit is a read and an edit."""

    def call(self, server: others.Other, step: int) -> None:
        old = line_at(self.path, self.middle(step))
        new = line_of(self.MIDDLE, other_letter(old))
        done = server.replace(self.path, old, new, line=self.middle(step))
        if not done or line_at(self.path, self.middle(step)) != new:
            raise Wrong(f"not edited: {server.said[:200]}")


class Lines(Axis):
    name, title, across = "lines", "A read of many lines", "lines of one read"
    says = """Reads the first lines of a file with 100 000 lines of 50 bytes. This server is started with `--max-response-bytes 100000000`, so that
        nothing is cut, and numbers the lines."""
    usual, quick = (1, 10, 100, 1_000, 10_000, 100_000), (1, 1_000)
    often = ((1_000, 15), (100_000, 9))
    options = ("--max-response-bytes", "100000000")

    def is_asked(self, peer: str) -> bool:
        return True

    def make(self, step: int) -> None:
        if not self.path.exists():
            make_file(self.path, 100_000)

    def call(self, server: others.Other, step: int) -> None:
        done, text = server.lines(self.path, 1, step)
        if not done or line_of(step) not in text or text.count(line_of("")[8:]) != step:
            raise Wrong(f"not read: {text[:200]}")


class Patches(Axis):
    name, title, across = "patches", "A call with many patches", "patches of one call"
    says = "Replaces so many lines of a file of 10 MB in one call, each found by its text."
    usual, quick = (1, 10, 100, 1_000, 10_000), (1, 100)
    often = ((100, 15), (1_000, 9), (10_000, 5))

    def make(self, step: int) -> None:
        make_file(self.path, 10 * MB // WIDE)

    def call(self, server: others.Other, step: int) -> None:
        letter = other_letter(line_at(self.path, 1))
        before = LETTERS[1 - LETTERS.index(letter)]
        numbers = range(1, 10 * MB // WIDE + 1, 10 * MB // WIDE // step)[:step]
        patches = [{"old_string": line_of(number, before), "new_string": line_of(number, letter)} for number in numbers]
        done, text = server.call("patch_text_file_contents", {"files": [{"file_path": str(self.path), "patches": patches}]})
        if not done or any(line_at(self.path, number) != line_of(number, letter) for number in (numbers[0], numbers[-1])):
            raise Wrong(f"not edited: {text[:200]}")


class Files(Axis):
    name, title, across = "files", "A call with many files", "files of one call"
    says = "Replaces a line in each of so many files of 500 bytes, in one call: all of them or none."
    usual, quick = (1, 10, 100, 1_000), (1, 10)
    often = ((10, 15), (100, 9), (1_000, 5))

    def file(self, number: int) -> Path:
        return self.bench.root / f"{number:04}.txt"

    def make(self, step: int) -> None:
        for number in range(step):
            make_file(self.file(number), 10)

    def call(self, server: others.Other, step: int) -> None:
        old = line_at(self.file(0), 5)
        new = line_of(5, other_letter(old))
        patches = [{"old_string": old, "new_string": new}]
        done, text = server.call("patch_text_file_contents",
                                 {"files": [{"file_path": str(self.file(number)), "patches": patches} for number in range(step)]})
        if not done or any(line_at(self.file(number), 5) != new for number in range(step)):
            raise Wrong(f"not edited: {text[:200]}")


class Processes(Axis):
    name, title, across = "processes", "Servers that edit at once", "servers"
    #: How many edits all servers make together.
    EDITS, EDITS_QUICK = 640, 32
    says = f"""So many servers with one root and one state directory, and a client for each that edits a file of its own of 100 KB: {EDITS} edits of
        one line in all, the median of three times, and how many that is in a second. The memory is that of the largest process. All clients are
        threads of one program in Python, on the same processors."""
    usual, quick = (1, 2, 4, 8, 16, 32), (1, 4)
    is_rate = True

    def file(self, number: int) -> Path:
        return self.bench.root / f"{number}.txt"

    def make(self, step: int) -> None:
        for number in range(step):
            make_file(self.file(number), 100 * KB // WIDE)

    def edited(self, server: others.Other, path: Path, times: int) -> None:
        number = 100 * KB // WIDE // 2
        for _ in range(times):
            old = line_at(path, number)
            new = line_of(number, other_letter(old))
            if not server.replace(path, old, new) or line_at(path, number) != new:
                raise Wrong(f"not edited: {server.said[:200]}")

    def measured(self, name: str, step: int) -> Measure:
        self.make(step)
        each = (self.EDITS_QUICK if self.is_quick else self.EDITS) // step
        failures: list[Exception] = []
        runs = self.runs(step)
        with self.bench.started(name, self.options, many=step) as servers:
            def work(number: int, times: int) -> None:
                try:
                    self.edited(servers[number], self.file(number), times)
                except (Wrong, others.Hangs, OSError, ValueError) as error:
                    failures.append(error)

            def all_together(times: int) -> float:
                began = time.perf_counter()
                # They end with their servers, whatever becomes of this thread.
                workers = [threading.Thread(target=work, args=(number, times), daemon=True) for number in range(step)]
                for worker in workers:
                    worker.start()
                for worker in workers:
                    worker.join()
                if failures:
                    raise failures[0]
                return (time.perf_counter() - began) / (times * step)

            first = all_together(1)
            before = sum(map(self.bench.written, servers))
            seconds = statistics.median([all_together(each) for _ in range(runs)])
            written = (sum(map(self.bench.written, servers)) - before) / (runs * each * step)
            return Measure(seconds, first, runs, max(peak_of(server.process.pid) for server in servers), written)


class Search(Axis):
    name, title, across = "search", "A search of many files", "files"
    says = "Searches so many files of 500 bytes, a hundred in a directory, for a text that one of them has."
    usual, quick, huge = (1, 10, 100, 1_000, 10_000, 100_000), (1, 100, 1_000), (1_000_000,)
    often = ((1_000, 15), (10_000, 9), (100_000, 5))

    def __init__(self, bench: Bench, is_quick: bool) -> None:
        super().__init__(bench, is_quick)
        self.made = 0

    def is_asked(self, peer: str) -> bool:
        return "rust" in peer

    def label(self, step: int) -> str:
        return of_number(step) if step < MB else f"{step // MB} million"

    def room(self, step: int) -> int:
        return 5_000 * step + 100 * MB

    def file(self, number: int) -> Path:
        return self.bench.root / f"{number // 10_000:02}" / f"{number // 100 % 100:02}" / f"{number % 100:02}.txt"

    def make(self, step: int) -> None:
        if self.made == step:
            return
        for number in range(self.made, step):
            path = self.file(number)
            if number % 100 == 0:
                path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(block()[:10 * WIDE] if number else (NEEDLE + "\n").encode() + block()[:9 * WIDE])
        self.made = step
        # That is the whole machine's, which may take long: not for a few files.
        if step >= 10_000:
            os.sync()

    def call(self, server: others.Other, step: int) -> None:
        done, text = server.search(self.bench.root, NEEDLE) or (False, "it has no such call")
        if not done or str(self.file(0).relative_to(self.bench.root)) not in text:
            raise Wrong(f"not found: {text[:200]}")


AXES: dict[str, type[Axis]] = {axis.name: axis for axis in (Read, Patch, Lines, Patches, Files, Processes, Search)}


@dataclass
class Grown:
    """What was measured along an axis: at each step, by server; and what there is to say of it."""

    axis: Axis
    servers: list[str]
    rows: dict[int, dict[str, Measure]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def head(self) -> list[str]:
        first = ["first call"] if self.axis.shows_first else []
        speed = "edits in a second" if self.axis.is_rate else "time"
        return [self.axis.across, "runs", speed, *first, "memory", "written", *(f"{name}: time, memory" for name in self.servers[1:])]

    def cells(self, step: int) -> list[str]:
        row = self.rows[step]
        if (own := row.get(THIS)) is None:
            cells = ["–"] * (5 if self.axis.shows_first else 4)
        else:
            speed = of_number(1 / own.seconds) if self.axis.is_rate else of_time(own.seconds)
            cells = [str(own.runs), speed, *([of_time(own.first)] if self.axis.shows_first else []), of_bytes(own.peak), of_bytes(own.written)]
        for name in self.servers[1:]:
            one = row.get(name)
            other = f" ({one.runs} runs)" if one and own and one.runs != own.runs else ""
            cells.append(f"{of_time(one.seconds)}, {of_bytes(one.peak)}{other}" if one else "–")
        return [self.axis.label(step), *cells]

    def table(self) -> str:
        head = self.head()
        return "\n".join([row_of(head), "|---" * len(head) + "|", *(row_of(self.cells(step)) for step in self.rows)])

    def picture(self) -> str:
        def curve(name: str, what: str, server: int, called: str = "") -> picture.Curve:
            points = [(float(step), float(getattr(row[name], what))) for step, row in self.rows.items() if name in row]
            if self.axis.is_rate and what == "seconds":
                points = [(step, 1 / value) for step, value in points]
            return picture.Curve(called or name, points, server, is_dashed=bool(called))

        known = [(number, name) for number, name in enumerate(self.axis.bench.servers) if any(name in row for row in self.rows.values())]
        times = [curve(name, "seconds", number) for number, name in known]
        if self.axis.shows_first:
            times.insert(1, curve(THIS, "first", 0, f"{THIS}, first call"))
        is_rate = self.axis.is_rate
        peaks = [curve(name, "peak", number) for number, name in known]
        panels = [picture.Panel("edits in a second" if is_rate else "time of a call", times, of_number if is_rate else of_time),
                  picture.Panel("memory of the largest process" if is_rate else "memory of the process", peaks, of_bytes)]
        return picture.drawn(self.axis.title, self.axis.across, [(float(step), self.axis.label(step)) for step in self.rows], panels)

    def alt(self) -> str:
        """The picture in words: where the first curve begins, and where it ends."""
        ends = [(self.axis.label(step), row[THIS]) for step, row in self.rows.items() if THIS in row]
        told = [f"{of_number(1 / one.seconds) + ' a second' if self.axis.is_rate else of_time(one.seconds)}, {of_bytes(one.peak)}" for _, one in ends]
        return f"{self.axis.title}, from {ends[0][0]} ({told[0]}) to {ends[-1][0]} ({told[-1]})"

    def part(self) -> str:
        """Its part of the page."""
        notes = [" ".join(self.axis.says.split()), *self.notes]
        return "\n\n".join([f"### {self.axis.title}", f"![{self.alt()}](growth/{self.axis.name}.svg)", wrapped(" ".join(notes)), self.table()])


def row_of(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def wrapped(text: str) -> str:
    return textwrap.fill(text, 140, break_long_words=False, break_on_hyphens=False)


def too_much(measure: Measure, times: float) -> str | None:
    """Why another server is not asked for so many times as much; None if it is."""
    seconds, peak = (value * times for value in (max(measure.seconds, measure.first), measure.peak))
    if seconds > MOST_SECONDS:
        return f"a call would take some {of_time(seconds)}"
    return f"it would take some {of_bytes(peak)} of memory" if peak > MOST_MEMORY * memory("MemAvailable") else None


def grown_along(axis: Axis, servers: list[str], steps: tuple[int, ...]) -> Grown:
    grown, left_out = Grown(axis, servers), set()
    widths = [max(10, len(word)) for word in grown.head()]

    def say(cells: list[str]) -> None:
        print(row_of([cell.ljust(width) for cell, width in zip(cells, widths)]).rstrip(), flush=True)

    print(f"\n{axis.title}\n")
    say(grown.head())
    before: dict[str, Measure] = {}
    for number, step in enumerate(steps):
        if axis.room(step) > shutil.disk_usage(axis.bench.top).free:
            grown.notes.append(f"{axis.label(step)} is left out: the disk has no room.")
            break
        row = grown.rows[step] = {}
        for name in servers:
            if name in left_out:
                continue
            reason = too_much(before[name], step / steps[number - 1]) if name != THIS and name in before else None
            try:
                if reason is None:
                    before[name] = row[name] = axis.measured(name, step)
            except others.Hangs:
                reason = "it ends, or does not answer"
            except (Wrong, OSError, ValueError) as error:
                reason = " ".join(str(error).split())[:200]
            if reason is not None:
                left_out.add(name)
                grown.notes.append(f"{name} is left out from {axis.label(step)} on: {reason.rstrip('.')}.")
        axis.clear(step)
        say(grown.cells(step))
    for note in grown.notes:
        print(note)
    shutil.rmtree(axis.bench.root)
    axis.bench.root.mkdir()
    return grown


def installed(home: Path) -> tuple[dict[str, list[str]], list[str]]:
    """The servers that are installed below a directory; and the names of those that are not."""
    node, rust, python = (home / place for place in ("npm/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js",
                                                     "rmf/bin/rust-mcp-filesystem", "venv13/bin/python"))
    run = "import mcp_text_editor; mcp_text_editor.run()"
    known = {"server-filesystem": (node, ["node", str(node), "ROOT"]), "rust-mcp-filesystem": (rust, [str(rust), "-w", "ROOT"]),
             "mcp-text-editor 1.x": (python, ["env", f"PYTHONPATH={home / 'tumf_pypi'}", str(python), "-c", run])}
    return {name: command for name, (file, command) in known.items() if file.exists()}, [name for name, (file, _) in known.items() if not file.exists()]


def machine(top: Path) -> str:
    """What the numbers are of."""
    file_system = subprocess.run(["stat", "-f", "-c", "%T", top], capture_output=True, text=True).stdout.strip()
    processors, size = len(os.sched_getaffinity(0)), of_bytes(memory("MemTotal"))
    return f"Linux {os.uname().release}, {os.uname().machine}, {processors} processors, {size} of memory, {file_system}"


def section(page: str) -> str | None:
    """What stands between the marks of a page; None without them."""
    found = re.search(rf"{re.escape(BEGIN)}\n(.*?){re.escape(END)}", page, re.DOTALL)
    return found[1] if found else None


def with_section(page: str, text: str) -> str:
    marked = f"{BEGIN}\n\n{text}\n\n{END}"
    if section(page) is None:
        return f"{page.rstrip()}\n\n{HEADING}\n\n{marked}\n"
    return re.sub(rf"{re.escape(BEGIN)}\n.*?{re.escape(END)}", lambda _: marked, page, flags=re.DOTALL)


def parts_of(text: str) -> tuple[str, dict[str, str]]:
    """The text before the first axis, and the part of each axis by its title."""
    before, *parts = re.split(r"^### ", text, flags=re.M)
    return before.strip(), {part.split("\n", 1)[0]: f"### {part}".strip() for part in parts}


def write(found: list[Grown], opening: str, keeps: bool) -> None:
    """Makes the pictures, and the section of the page; where `keeps`, what it has of other axes stays."""
    page = PAGE.read_text()
    kept_opening, kept = parts_of(section(page) or "")
    parts = (kept if keeps else {}) | {grown.axis.title: grown.part() for grown in found}
    order = [axis.title for axis in AXES.values() if axis.title in parts]
    PICTURES.mkdir(exist_ok=True)
    for grown in found:
        (PICTURES / f"{grown.axis.name}.svg").write_text(grown.picture())
    PAGE.write_text(with_section(page, "\n\n".join([(kept_opening if keeps and kept else opening), *(parts[title] for title in order)])))


def opening_of(options: argparse.Namespace, bench: Bench, missing: list[str]) -> str:
    """What stands before the first axis."""
    program = bench.servers[THIS][0]
    version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout.strip()
    typed = shlex.join(["python3", "benches/growth/growth.py", *sys.argv[1:]])
    counts = "pages that the process has changed (`write_bytes`)" if bench.written_by == "write_bytes" else "bytes that the process has written (`wchar`)"
    first = f"""{version} on {machine(bench.top)}. Each server is started anew for each step, and answers one call before those that count. The time is
        the median from the first byte of a call to the last of its answer, the memory is the highest that the process had (`VmHWM`), and written
        are {counts}, for each call. 1 MB is a million bytes. Both axes of a picture are logarithmic."""
    absent = f" Left out, since they are not installed: {', '.join(missing)}." if missing else ""
    quick = f" {QUICK}" if options.quick else ""
    return f"{wrapped(' '.join((first + absent + quick).split()))}\n\n    {typed}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", type=Path, help="default: MCP_TEXT_EDITOR_BIN, else the debug build")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=COMMAND", help="another server, in the form of others.py")
    parser.add_argument("--only", default="", metavar="AXIS,…", help=f"some of {', '.join(AXES)}")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="small steps, one run each")
    size.add_argument("--huge", action="store_true", help="a file of 10 GB and a million files, too")
    parser.add_argument("--write", action="store_true", help="make the pictures and the section of docs/performance.md")
    parser.add_argument("--dir", type=Path, help="where the files are made; default: in the temporary directory")
    options = parser.parse_args()
    names = options.only.split(",") if options.only else list(AXES)
    if unknown := [name for name in names if name not in AXES]:
        parser.error(f"no such axis: {', '.join(unknown)}; there are {', '.join(AXES)}")
    if not Path("/proc/self/io").exists():
        print("skipped: growth: there is no /proc/PID/io here")
        return 1 if os.environ.get("REQUIRE_ALL") else 0
    # A quick run is of this server, and of what is named.
    peers, missing = ({}, []) if options.quick else installed(Path(os.environ.get("BENCH_HOME") or Path(tempfile.gettempdir()) / "mte-bench"))
    peers |= {name: shlex.split(command) for name, command in (peer.split("=", 1) for peer in options.peer)}
    missing = [name for name in missing if name not in peers]
    servers = {THIS: [os.path.abspath(options.server or session.binary()), "ROOT"], **peers}
    # The end of this program is the end of its servers and files, however it comes.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="growth-", dir=options.dir) as place:
        bench = Bench(Path(place).resolve(), servers)
        bench.root.mkdir()
        before = " ".join((section(PAGE.read_text()) or "").split())
        if options.write and options.only and before and (machine(bench.top) not in before or options.quick != (QUICK in before)):
            parser.error(f"{PAGE} has numbers of another machine, or of other steps: measure all axes")
        print(f"{machine(bench.top)}; what is written is {bench.written_by}")
        if missing:
            print(f"not installed in BENCH_HOME, and left out: {', '.join(missing)}")
        found = []
        for name in names:
            axis = AXES[name](bench, options.quick)
            steps = axis.quick if options.quick else axis.usual + (axis.huge if options.huge else ())
            found.append(grown_along(axis, [name for name in servers if name == THIS or axis.is_asked(name)], steps))
        rows = [THIS in row for grown in found for row in grown.rows.values()]
        if options.write and not all(rows):
            print("nothing is written: this server failed")
        elif options.write:
            write(found, opening_of(options, bench, missing), keeps=bool(options.only))
    print(f"\n{rows.count(True)} passed, {rows.count(False)} failed")
    return 0 if all(rows) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
