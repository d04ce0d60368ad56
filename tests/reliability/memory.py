"""How much memory a call takes with a long text: what is looked for, what takes its place, in any encoding, found or not; and other calls
at their limits: new files, appended and inserted text, dry runs, many files, many patches, text that JSON spells at length.

    memory.py [--mib N] [--share N] [TEXT …]

Each case has a server of its own, whose greatest resident size (VmHWM) is read after the call. Of each byte of the text a call may take
15, and 45 MiB besides: so no call takes more than 512 MiB, as `text-bytes` allows 32 MiB of text. N is the text's length, 1 unless LARGE
is set, and then 30: a debug build takes minutes for that. TEXT picks cases by their names.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

from harness import Report, World, parallel, share, skipped

MIB = 1 << 20
#: Bytes of memory for each of the text, and besides.
EACH, BESIDES = 15, 45 * MIB
MOST = 512 * MIB

#: Labels, whether lines end in CRLF, and a line of the text.
FILES = [("utf-8", False, "line {n:07}\n"), ("utf-8", True, "line {n:07}\n"), ("utf-8", True, "\n"), ("utf-8", False, "x"),
         ("utf-16-le", False, "line {n:07}\n"), ("utf-16-le", True, "a\u3042b\u00e9\n"), ("utf-32-be", False, "line {n:07}\n"),
         ("shift_jis", False, "a\u3042b\u6f22\n"), ("iso-2022-jp", False, "a\u3042b\n")]

WAYS = ("found", "twice", "but for blanks", "not found", "in a range", "not in the range", "inserted")


@dataclass(frozen=True)
class Case:
    label: str
    crlf: bool
    line: str
    way: str
    mib: float

    def __str__(self) -> str:
        return f"{self.label}{' CRLF' if self.crlf else ''} {self.line!r} {self.way}"


def text_of(case: Case) -> str:
    size = int(case.mib * MIB)
    lines = []
    while size > 0:
        block = "".join(case.line.format(n=n) for n in range(len(lines) * 1000, len(lines) * 1000 + 1000))
        lines.append(block)
        size -= len(block.encode())
    return "".join(lines)


PATCH = "patch_text_file_contents"
Call = tuple[str, dict[str, Any], str]


def patched(path: Path, *patches: dict[str, Any], **more: Any) -> Call:
    return PATCH, {"files": [{"file_path": str(path), "patches": list(patches)}], **more}, "ok"


def created(encoding: str, line: str) -> Callable[[Path, float], Call]:
    """As much text as a call may hold."""
    def begin(path: Path, mib: float) -> Call:
        text = line * (int(mib * 32 / 30 * MIB) // len(line.encode()))
        return "create_text_file", {"file_path": str(path.with_name("new.txt")), "encoding": encoding, "contents": text}, "ok"
    return begin


def added(tool: str, encoding: str) -> Callable[[Path, float], Call]:
    def begin(path: Path, mib: float) -> Call:
        content = "head\ntail\n".encode(encoding)
        path.write_bytes(content)
        where = {"before": 2} if tool.startswith("insert") else {}
        text = "a\u3042b\u00e9\n" * (int(mib * 32 / 30 * MIB) // 8)
        return tool, {"file_path": str(path), "file_hash": hashlib.sha256(content).hexdigest(), "encoding": encoding, "contents": text, **where}, "ok"
    return begin


def dry_run(line: str, lines: int, encoding: str = "utf-8") -> Callable[[Path, float], Call]:
    """A change in each of so many lines."""
    def begin(path: Path, mib: float) -> Call:
        path.write_bytes(f"one {line}\n".encode(encoding) * int(lines * mib / 30))
        tool, arguments, code = patched(path, {"old_string": "one", "new_string": "uno", "replace_all": True}, dry_run=True)
        arguments["files"][0]["encoding"] = encoding
        return tool, arguments, code
    return begin


def put_in(path: Path, mib: float) -> Call:
    """One text at 64 places, 256 MiB of it."""
    path.write_text("line\n" * 64)
    return patched(path, {"old_string": "line", "new_string": "x" * int(mib * 4 / 30 * MIB), "replace_all": True})


def read_many(path: Path, mib: float) -> Call:
    files = [path.with_name(f"{n}.txt") for n in range(1000)]
    for file in files:
        file.write_text("a line of one of many files\n" * int(mib * 400))
    return "get_text_file_contents", {"files": [{"file_path": str(file)} for file in files]}, "ok"


def not_matching(path: Path, mib: float) -> Call:
    """1 000 patches that are not to be found, in a file in which much is like them."""
    part = "".join(f"line {n:07}\n" for n in range(int(mib * 75)))
    path.write_text(part * 1000)
    return PATCH, patched(path, *({"old_string": f"{part}X{n}\n", "new_string": "new\n"} for n in range(1000)))[1], "no_match"


def spelled(path: Path, mib: float) -> Call:
    """JSON has six bytes for each of these characters."""
    path.write_text("old\n")
    return patched(path, {"old_string": "old\n", "new_string": "\u0001" * int(mib * MIB / 3)})


def spelled_twice(path: Path, mib: float) -> Call:
    """A list that is sent as a string: four bytes for each of these characters."""
    path.write_text("old\n")
    tool, arguments, code = patched(path, {"old_string": "old\n", "new_string": '"' * int(mib * MIB / 2)})
    return tool, {"files": json.dumps(arguments["files"])}, code


CALLS: dict[str, Callable[[Path, float], Call]] = {
    "create, utf-8": created("utf-8", "line of text\n"), "create, utf-16-le": created("utf-16-le", "line of text\n"),
    "create, utf-32-be": created("utf-32-be", "line of text\n"), "create, iso-2022-jp": created("iso-2022-jp", "a\u3042b\n"),
    "append, utf-8": added("append_text_file_contents", "utf-8"), "append, utf-16-le": added("append_text_file_contents", "utf-16-le"),
    "insert, utf-8": added("insert_text_file_contents", "utf-8"), "insert, utf-16-le": added("insert_text_file_contents", "utf-16-le"),
    "dry run, short lines": dry_run("line of text ", 24_000), "dry run, long lines": dry_run("x" * 5000, 24_000),
    "dry run, long lines, utf-16-le": dry_run("\u3042" * 2500, 24_000, "utf-16-le"),
    "inserted at many places": put_in, "get of 1000 files": read_many, "1000 patches that do not match": not_matching,
    "spelled": spelled, "spelled twice": spelled_twice,
}


@dataclass(frozen=True)
class Other:
    """One of `CALLS`, of which the text's length is that of the other cases."""

    name: str
    mib: float

    def __str__(self) -> str:
        return self.name


def measure_other(world: World, case: Other) -> tuple[int, list[str]]:
    world.reset()
    tool, arguments, code = CALLS[case.name](world.tree / "outside.txt", case.mib)
    with world.server("--tools", "all", "--limit", "call-seconds=3600") as server:
        reply = server.call(tool, arguments, 3600)
        used = peak(server.process.pid)
    return used, [f"unexpected: {reply.text[:300]}"] if (reply.code or "ok") != code else []


def peak(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("the kernel does not tell how much memory a process had")


def measure(world: World, case: Case) -> tuple[int, list[str]]:
    world.reset()
    text = text_of(case)
    whole = {"twice": f"head\n{text}\nmiddle\n{text}\ntail\n", "not found": f"head\n{text[1:]}\ntail\n",
             "but for blanks": f"head\n{text} \t\ntail\n", "inserted": "head\ntail\n",
             "not in the range": f"head\n{text[1:]}\ntail\n"}.get(case.way, f"head\n{text}\ntail\n")
    lines = whole.count("\n")
    patch: dict = {"old_string": text + "\n", "new_string": "new\n"}
    if case.way == "not found":
        patch["old_string"] = "Y" + text[1:] + "\nX"
    elif case.way == "inserted":
        patch = {"old_string": "head\n", "new_string": text}
    elif "range" in case.way:
        patch["ranges"] = [{"start": 2, "end": lines - 1}]
    if "\n" not in case.line and case.way in ("not found", "not in the range"):
        # Else it would stand there.
        patch["old_string"] = patch["old_string"].replace("x", "y", 1)
    content = (whole.replace("\n", "\r\n") if case.crlf else whole).encode(case.label)
    name = world.tree / "outside.txt"
    name.write_bytes(content)
    with world.server("--limit", "call-seconds=3600") as server:
        arguments = {"files": [{"file_path": str(name), "encoding": case.label, "patches": [patch]}]}
        reply = server.call("patch_text_file_contents", arguments, 3600)
        used = peak(server.process.pid)
    # The same lines may stand elsewhere, or twice: what counts here is what it took.
    problems = [f"unexpected: {reply.text[:300]}"] if reply.code in ("too_large", "internal_error", "invalid_arguments") else []
    return used, problems


def check(world: World, case: Case | Other) -> tuple[int, list[str]]:
    used, problems = measure_other(world, case) if isinstance(case, Other) else measure(world, case)
    most = min(MOST, int(EACH * case.mib * MIB) + BESIDES)
    if used > most:
        problems.append(f"{used / MIB:.0f} MiB, may take {most / MIB:.0f}")
    return used, problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mib", type=float, default=30 if os.environ.get("LARGE") else 1)
    parser.add_argument("--share", type=int, default=1, help="only one of so many cases, drawn by SEED")
    parser.add_argument("texts", nargs="*")
    options = parser.parse_args()
    report = Report()
    if not Path("/proc/self/status").exists():
        report.case("memory", skipped("memory", "there is no /proc"))
        return report.end()
    cases: list[Case | Other] = [Other(name, options.mib) for name in CALLS]
    cases += [Case(label, crlf, line, way, options.mib) for label, crlf, line in FILES for way in WAYS]
    cases = share([case for case in cases if all(text in str(case) for text in options.texts)], options.share)
    most = 0
    for case, outcome in parallel(check, cases):
        used, problems = (0, [outcome]) if isinstance(outcome, str) else outcome
        report.case(str(case), problems)
        most = max(most, used)
        if options.mib > 1:
            print(f"   {used / MIB:4.0f} MiB {case}", flush=True)
    report.section(f"the most was {most / MIB:.0f} MiB for {options.mib:g} MiB of text")
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
