"""The ways in which work grows, each with its files and the call that is measured; growth.py measures along them."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "others"))

import others  # noqa: E402

THIS = "this server"
#: What each call may take, in seconds: no limit of the server is nearer.
PATIENCE = 900.0
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
    says = """Reads 51 lines in the middle of a file. The first call of a server reads all of the file; later calls read only near the lines.
        server-filesystem answers all lines up to them."""
    shows_first = True

    def call(self, server: others.Other, step: int) -> None:
        start, end = max(1, self.middle(step) - 25), min(step // WIDE, self.middle(step) + 25)
        done, text = server.lines(self.path, start, end)
        if not done or line_of(self.MIDDLE) not in text or text.count(line_of("")[8:]) < end + 1 - start:
            raise Wrong(f"not read: {text[:200]}")


class Patch(BySize):
    name, title = "patch", "A patch of one line, by the size of the file"
    says = """Replaces a line in the middle of a file, found by its text. This server syncs the new file before it answers; the others sync nothing."""

    def call(self, server: others.Other, step: int) -> None:
        old = line_at(self.path, self.middle(step))
        new = line_of(self.MIDDLE, other_letter(old))
        done = server.replace(self.path, old, new, line=self.middle(step))
        if not done or line_at(self.path, self.middle(step)) != new:
            raise Wrong(f"not edited: {server.said[:200]}")


class Lines(Axis):
    name, title, across = "lines", "A read of many lines", "lines of one read"
    says = "Reads the first lines of a file with 100 000 lines of 50 bytes. Nothing is cut (`--max-response-bytes 100000000`)."
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
    says = "Replaces lines of a file of 10 MB in one call, each found by its text."
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
    says = "Replaces a line in each of many files of 500 bytes, in one call: all of them or none. Each file is synced."
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
    says = f"""Several servers share one directory and one state directory. A client for each edits a file of its own of 100 KB: {EDITS} edits in all."""
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
    says = "Searches files of 500 bytes, a hundred in a directory, for a text that one of them has."
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
