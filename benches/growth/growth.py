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
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
for directory in ("benches/others", "tests/clients"):
    sys.path.insert(0, str(REPOSITORY / directory))

import others  # noqa: E402
import picture  # noqa: E402
import session  # noqa: E402
from axes import AXES, THIS, Axis, Bench, Measure, Wrong, memory, of_bytes, of_number, of_time  # noqa: E402

PAGE, PICTURES = REPOSITORY / "docs" / "performance.md", REPOSITORY / "docs" / "growth"
HEADING, BEGIN, END = "## How it grows", "<!-- growth -->", "<!-- /growth -->"
QUICK = "These are quick numbers, of one run each."
#: What another server's next step may take, in seconds, and of the free memory.
MOST_SECONDS, MOST_MEMORY = 30.0, 0.25


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
        return "\n\n".join([f"### {self.axis.title}", f"![{self.alt()}](growth/{self.axis.name}.svg)", wrapped(" ".join(self.axis.says.split()))])


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
    first = f"""{version} on {machine(bench.top)}. Times are medians from the first byte of a call to the last of its answer, after one call that does not
        count. Memory is the highest that the process had. Both axes are logarithmic. The command prints tables, too."""
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
