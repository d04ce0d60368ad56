"""What twelve calls ask of any machine: system calls, instructions and allocations, held against limits.

    counts.py [--server BINARY] [--only CALL,…]           measures and compares; ends with 1 where a count grew
    counts.py [--server BINARY] --write                   measures, and keeps what it finds in limits.json

System calls are those of a call that at most a tenth of N calls are below. Of instructions and allocations a session of N calls and one of
2 N are counted; the difference over N is the cost of one call, without the start and without the first call. No clock is asked here, but the
server has one: on a busy machine a call at its 50 ms begins again on another thread. So a row that grew is counted again, by itself, and the
least is what it costs. README.md has what is counted, and what is not.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "clients"))

import session  # noqa: E402

LIMITS = Path(__file__).with_name("limits.json")
#: A count fails that is larger than its limit by more than this: on a machine of the kind that the limits are from, and on another, whose
#: kernel, file system or processor has other ways.
TOLERANCE, TOLERANCE_ELSEWHERE = 0.05, 0.25
#: Where all sessions are, whatever TMPDIR says: each directory on the way to a file is opened, so a deeper one costs more.
TOP = "/tmp"
#: Functions of the C library that allocate.
ALLOCATING = ("malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc", "memalign")
#: System calls of memory, threads and waiting: how many there are depends on who is faster.
UNEVEN = frozenset("""
    brk mmap munmap mprotect madvise mremap futex epoll_wait epoll_pwait poll ppoll sched_yield clone clone3 exit exit_group set_robust_list
    rseq rt_sigprocmask rt_sigaction sigaltstack restart_syscall sched_getaffinity gettid prctl nanosleep clock_nanosleep tgkill""".split())
LINE = "the quick brown fox jumps over the lazy dog, and %06d is its number\n"


class Call:
    """One session: its directory, and a server in it."""

    def __init__(self, place: Path, wrap: list[str]) -> None:
        self.root = place / "root"
        #: The edit that an undo takes back.
        self.edit_id: str | None = None
        self.server = session.Server(self.root, options=("--tools", "all", "--limit", "calls=1"), state=place / "state",
                                     timeout=300.0, wrap=wrap)

    def path(self, name: str) -> str:
        return str(self.root / name)

    def call(self, tool: str, **arguments: object) -> str:
        reply = self.server.call(tool, arguments)
        if reply.is_error:
            raise SystemExit(f"{tool} fails: {reply.text}")
        return reply.text

    def fact(self, name: str, text: str) -> str:
        found = re.search(rf"{name}[\"=: ]+([0-9a-zA-Z-]+)", text)
        if found is None:
            raise SystemExit(f"no {name} in {text!r}")
        return found[1]


@dataclass(frozen=True)
class Row:
    """A call that is counted: how many make a session, and the n-th of them."""

    calls: int
    make: Callable[[Call, int], object]


def patch(call: Call, number: int) -> None:
    old, new = ("quick", "brisk") if number % 2 == 0 else ("brisk", "quick")
    call.call("patch_text_file_contents", file_path=call.path("hundred.txt"), old_string=f"the {old} brown fox jumps over the lazy dog, and 000700",
              new_string=f"the {new} brown fox jumps over the lazy dog, and 000700")


def hash_of(call: Call, name: str) -> str:
    # The server is not asked: that call would be counted.
    return hashlib.sha256(Path(call.path(name)).read_bytes()).hexdigest()[:12]


def range_hash_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def twenty(call: Call, number: int) -> None:
    old, new = ("quick", "brisk") if number % 2 == 0 else ("brisk", "quick")
    patches = [{"old_string": f"{old} brown fox jumps over the lazy dog, and 000003", "new_string": f"{new} brown fox jumps over the lazy dog, and 000003"}]
    call.call("patch_text_file_contents", files=[{"file_path": call.path(f"few{n}.txt"), "patches": patches} for n in range(20)])


def undo(call: Call, _: int) -> None:
    # Each takes the one before back.
    if call.edit_id is None:
        text = call.call("append_text_file_contents", file_path=call.path("few0.txt"), file_hash=hash_of(call, "few0.txt"), contents="more\n")
        call.edit_id = call.fact("edit_id", text)
    call.edit_id = call.fact("edit_id", call.call("undo_text_file_edits", edit_id=call.edit_id))


ROWS: dict[str, Row] = {
    "read 51 lines of 100 KB": Row(20, lambda call, n: call.call(
        "get_text_file_contents", file_path=call.path("hundred.txt"), line_start=700, line_end=750)),
    "read 1 MB": Row(2, lambda call, n: call.call("get_text_file_contents", file_path=call.path("million.txt"))),
    "patch 100 KB": Row(4, patch),
    "create 1 KB": Row(10, lambda call, n: call.call("create_text_file", file_path=call.path(f"new{n}.txt"), contents=LINE % n * 14)),
    "append": Row(10, lambda call, n: call.call(
        "append_text_file_contents", file_path=call.path("few0.txt"), file_hash=hash_of(call, "few0.txt"), contents=LINE % n)),
    "insert": Row(10, lambda call, n: call.call(
        "insert_text_file_contents", file_path=call.path("few0.txt"), file_hash=hash_of(call, "few0.txt"), contents=LINE % n, after=5)),
    "delete": Row(4, lambda call, n: call.call(
        "delete_text_file_contents", file_path=call.path("hundred.txt"), file_hash=hash_of(call, "hundred.txt"),
        ranges=[{"start": 100, "end": 100, "range_hash": range_hash_of(LINE % (99 + n))}])),
    "patch 20 files": Row(2, twenty),
    "search": Row(2, lambda call, n: call.call("search_text_files", pattern="and 0000(03|04)")),
    "list": Row(50, lambda call, n: call.call("list_text_files")),
    "undo": Row(5, undo),
}
START = "start"
#: The system calls of a row by name, the least that were counted, for whoever must find out which of them grew.
BY_NAME: dict[str, Counter[str]] = {}
#: Each server has one processor: how many threads a search has, and who is first, is then the same everywhere.
PROCESSORS: queue.SimpleQueue[int] = queue.SimpleQueue()


def files(place: Path) -> None:
    """The same files for each session."""
    root = place / "root"
    root.mkdir()
    (place / "state").mkdir(mode=0o700)
    (root / "hundred.txt").write_text("".join(LINE % n for n in range(1_450)))
    (root / "million.txt").write_text("".join(LINE % n for n in range(14_500)))
    for number in range(20):
        (root / f"few{number}.txt").write_text("".join(LINE % n for n in range(10)))


def played(row: Row | None, calls: int, place: Path, wrap: list[str]) -> str:
    """One session under a program that counts; gives what stands in stderr."""
    files(place)
    processor = PROCESSORS.get()
    try:
        call = Call(place, ["taskset", "--cpu-list", str(processor), *wrap])
        try:
            for number in range(calls):
                assert row is not None
                row.make(call, number)
            call.server.process.stdin.close()  # type: ignore[union-attr]
            call.server.process.wait(300)
            return call.server.stderr()
        finally:
            call.server.close()
    finally:
        PROCESSORS.put(processor)


def system_calls(row: Row | None, calls: int, place: Path) -> list[Counter[str]]:
    """System calls by name, of the start and of each message after it: those that are about files, and that do not depend on who is faster."""
    trace = place / "trace"
    played(row, calls, place, ["strace", "-f", "-qq", "-y", "-e", "signal=none", "-o", str(trace)])
    counted: list[Counter[str]] = [Counter()]
    for line in trace.read_text(errors="replace").splitlines():
        if re.match(r'\d+ +(read\(\d+<pipe[^>]*>, |<\.\.\. read resumed>)"\{\\"jsonrpc', line):
            counted.append(Counter())
        found = re.match(r"\d+ +(\w+)\((.*)", line)
        # Messages, wake-ups and timers come in as many pieces as there is time for.
        if found and found[1] not in UNEVEN and not re.match(r"\d+<(pipe|anon_inode|socket|UNIX)", found[2]):
            counted[-1][found[1]] += 1
    return counted


def callgrind(row: Row | None, calls: int, place: Path) -> tuple[int, int]:
    """Instructions, and allocations."""
    out = place / "callgrind"
    said = played(row, calls, place, ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--compress-pos=no", "--fair-sched=yes"])
    found = re.search(r"Collected : (\d+)", said)
    if found is None:
        raise SystemExit(f"valgrind counts nothing: {said[-2000:]}")
    return int(found[1]), allocations(out)


def allocations(out: Path) -> int:
    """How often the functions that allocate were called, in a file of callgrind's."""
    names: dict[str, str] = {}
    total, is_one = 0, False
    with out.open(errors="replace") as lines:
        for line in lines:
            if line.startswith(("fn=", "cfn=")):
                number, _, name = line.partition("=")[2].strip().partition(" ")
                if name:
                    names[number] = name
                if line.startswith("cfn="):
                    is_one = names.get(number, "").split("'")[0] in ALLOCATING
            elif line.startswith("calls=") and is_one:
                total += int(line[6:].split()[0])
    return total


def least(name: str, counted: Counter[str]) -> int:
    """How many system calls a row takes, by this count or an earlier one."""
    BY_NAME[name] = min(BY_NAME.get(name, counted), counted, key=Counter.total)
    return BY_NAME[name].total()


def measured(name: str) -> dict[str, float]:
    """One row."""
    row = ROWS.get(name)
    with tempfile.TemporaryDirectory(prefix="counts-", dir=TOP) as top:
        def at(part: str) -> Path:
            place = Path(top, part)
            place.mkdir()
            return place
        if row is None:
            instructions, allocated = callgrind(None, 0, at("i"))
            return {"system_calls": least(name, sum(system_calls(None, 0, at("s")), Counter())), "instructions": instructions, "allocations": allocated}
        first, second = (callgrind(row, row.calls * times, at(f"i{times}")) for times in (1, 2))
        # The first call finds nothing remembered, and the end of the session counts as the last one's.
        of_each = sorted(system_calls(row, row.calls + 2, at("s"))[-row.calls - 1:-1], key=Counter.total)
        return {"system_calls": least(name, of_each[row.calls // 10]), "instructions": (second[0] - first[0]) // row.calls,
                "allocations": round((second[1] - first[1]) / row.calls, 1)}


def kind_of_machine() -> str:
    """The kernel, the file system of temporary files, and whether the processor has the instructions that searches prefer."""
    file_system = subprocess.run(["stat", "-f", "-c", "%T", TOP], capture_output=True, text=True).stdout.strip()
    flags = Path("/proc/cpuinfo").read_text().split()
    return f"{os.uname().release}, {file_system}, {'AVX2' if 'avx2' in flags else 'no AVX2'}"


def lacking() -> str | None:
    """Why nothing can be counted here; None if it can."""
    for program in ("strace", "valgrind", "taskset"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    tried = subprocess.run(["strace", "-o", os.devnull, "true"], capture_output=True, text=True)
    return None if tried.returncode == 0 else f"strace cannot trace here: {tried.stderr.strip()[-200:]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", type=Path, help="default: MCP_TEXT_EDITOR_BIN, else the debug build")
    parser.add_argument("--only", default="", help="rows, with commas")
    parser.add_argument("--write", action="store_true", help="keep what is found")
    options = parser.parse_args()
    if reason := lacking():
        print(f"skipped: counts: {reason}")
        return 1 if os.environ.get("REQUIRE_ALL") else 0
    if options.server:
        os.environ["MCP_TEXT_EDITOR_BIN"] = str(options.server)
    names = options.only.split(",") if options.only else [START, *ROWS]
    kept = json.loads(LIMITS.read_text()) if LIMITS.exists() else {}
    machine, tolerance = kind_of_machine(), TOLERANCE
    if kept.get("machine") != machine and not options.write:
        tolerance = TOLERANCE_ELSEWHERE
        print(f"the limits are of {kept.get('machine')}, and this is {machine}: a quarter more is let pass")
    processors = sorted(os.sched_getaffinity(0))
    for processor in processors:
        PROCESSORS.put(processor)
    with ThreadPoolExecutor(len(processors)) as pool:
        found = dict(zip(names, pool.map(measured, names)))

    def limit_of(name: str, what: str) -> float:
        return kept.get(name, {}).get(what, 0)

    def grew_in(name: str) -> bool:
        return any(count > limit_of(name, what) * (1 + tolerance) for what, count in found[name].items())

    for name in names:
        for _ in range(2):
            if grew_in(name):
                again = measured(name)
                found[name] = {what: min(count, again[what]) for what, count in found[name].items()}
    said: list[tuple[bool, str]] = []
    for name, counts in found.items():
        for what, count in counts.items():
            limit = limit_of(name, what)
            grew = not options.write and count > limit * (1 + tolerance)
            line = f"{'FAILED' if grew else 'ok':6} {name}: {what} {count:,}{f' of {limit:,}' if limit else ''}"
            if grew and what == "system_calls":
                line += ": " + ", ".join(f"{times} {call}" for call, times in BY_NAME[name].most_common())
            said.append((grew, line))
    # Those that grew come last, where whoever sees only the end sees them.
    for _, line in sorted(said, key=lambda one: one[0]):
        print(line)
    failed = sum(grew for grew, _ in said)
    if options.write:
        LIMITS.write_text(json.dumps({**kept, **found, "machine": machine}, indent=2) + "\n")
    print(f"{len(said) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
