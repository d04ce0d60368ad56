"""Other systems' ways, under Linux: kills, recoveries, errors and races with what they lack and what they do otherwise.

    simulated.py [--all] [--only TEXT]

Wants a program with the store's feature `simulation`, named by MCP_TEXT_EDITOR_SIMULATION: crates/store/src/os/simulation.rs then answers
as another system would. crash.py, recovery.py, faults.py and races.py attack it as they attack the real one, with cases drawn by SEED;
`--all` has all of them, and draws as many for each way by itself. What is checked is the same: all old or all new, nothing lost, nothing left beside.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Callable

import races
from harness import Closed, Report, World, no_strace, simulate

#: What systems are like; FAT's ways are those of its drivers under Linux.
SYSTEMS = {
    "Windows": "bare,no-exchange,no-directory-handles,mandatory-locks,sharing-violations",
    "macOS": "bare",
    "macOS, a file system of the network": "bare,enotsup",
    "FAT": "no-exchange,no-links",
}
#: Each by itself.
WAYS = ("bare", "no-exchange", "no-links", "no-directory-handles", "enotsup", "mandatory-locks", "sharing-violations")
#: Edits that are killed, and whose calls fail.
KILLED = ("all", "single", "in place", "create", "undo create", "move far", "undo move", "remove", "mixed", "undo mixed")
FAILING = ("multi", "single", "in place", "create", "undo create", "move far", "undo move", "remove", "append", "large")


def races_of(ways: str) -> list[str]:
    """The races in which nothing may be lost. What can be is in docs/internals/trust.md, "Where they end"."""
    names = ["creators"]
    if "enotsup" not in ways:  # there are no locks
        names += ["counter", "lines", "orders", "crossed", "slowed"]
        if "no-directory-handles" not in ways:
            names += ["crossed_apart"]
        if "no-exchange" not in ways:
            names += ["by_rename"]
    return names


def parts(ways: str, *, whole: bool) -> list[tuple[str, ...]]:
    """The commands for a system: a part and its arguments."""
    some = (lambda count: ()) if whole else (lambda count: ("--sample", str(count)))  # noqa: E731
    simulated = ("--simulate", ways)
    return [
        ("crash.py", *simulated, "--changing", *some(6), *(() if whole else KILLED)),
        ("recovery.py", *simulated, *some(3)),
        ("faults.py", *simulated, *some(3), *FAILING),
        ("races.py", *simulated, "--scale", "1" if whole else "0.2", *races_of(ways)),
    ]


def whole_file_locks(world: World) -> list[str]:
    """Locks of whole files, as they once were under Windows, let no second handle in: the simulation says so, as Windows did."""
    simulate("whole-file-locks")
    world.reset()
    problems = races.lines(world, 0.1, random.Random(1))
    return [] if any("another handle has locked" in problem for problem in problems) else ["nothing was in the way of anybody", *problems]


def held_open(world: World) -> list[str]:
    """A program holds some of the files open for as long as the call lasts, more of them than there are attempts: all are written over, none
    is left half done, and nothing is left beside; so also if the server is started anew, and once nobody holds them any more."""
    simulate("held,no-exchange")
    world.reset()
    names = [f"a/{name}.txt" for name in ("first", *(f"held-{number}" for number in range(6)), "last")]
    for name in names:
        world.put(name, b"old\n")
        world._give(world.tree / name)
    edits = [(world.path(name), "old\n", "new\n") for name in names]

    def now() -> set[bytes]:
        return {(world.tree / name).read_bytes() for name in names}

    with world.server() as server:
        reply = races.patch(server, *edits)
        problems = [] if now() == {b"new\n"} and not reply.is_error else [f"{reply.text[:300]}: there is {now()}"]
        problems += world.edit_outside(server) + world.strays(*names)
    simulate("no-exchange")
    before = now()
    with world.server() as server:
        problems += [] if now() == before else ["a server that was started has changed something"]
        again = [(path, new, "newer\n") for path, _, new in edits]
        if (reply := races.patch(server, *again)).is_error:
            problems.append(f"nobody holds them any more: {reply.text[:300]}")
    return problems + ([] if now() == {b"newer\n"} else [f"there is {now()}"]) + world.strays(*names)


def misspelt(world: World) -> list[str]:
    """A way that there is not ends the program, or the call: else a suite could test nothing, and pass."""
    simulate("no-such-way")
    world.reset()
    try:
        with world.server() as server:
            reply = races.patch(server, (world.path("a/01.txt"), "last line\n", "the end\n"))
    except Closed:
        return []
    return [] if reply.is_error else [f"it was taken: {reply.text[:200]}"]


CONTROLS: tuple[Callable[[World], list[str]], ...] = (whole_file_locks, held_open, misspelt)


def controls(report: Report, only: str) -> None:
    for control in CONTROLS:
        world = World()
        try:
            if only in control.__name__:
                report.run(control.__name__.replace("_", " "), lambda: control(world))
        finally:
            world.close()
            simulate("")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--all", action="store_true", help="all cases, and some with each way by itself; hours")
    parser.add_argument("--only", default="", help="only systems whose name, or controls whose name, holds this")
    options = parser.parse_args()
    report = Report()
    program = os.environ.get("MCP_TEXT_EDITOR_SIMULATION")
    if reason := no_strace() or (None if program else "MCP_TEXT_EDITOR_SIMULATION names no program"):
        report.skip("other systems' ways", reason)
        return report.end()
    os.environ["MCP_TEXT_EDITOR_BIN"] = str(program)
    os.environ.setdefault("SEED", "1")
    here = Path(__file__).resolve().parent
    status = 0
    systems = SYSTEMS | ({f"{way} alone": way for way in WAYS} if options.all else {})
    for name, ways in systems.items():
        for command in parts(ways, whole=options.all and name in SYSTEMS) if options.only in name else []:
            print(f"-- {name}: {' '.join(command)}", flush=True)
            status |= subprocess.run([sys.executable, str(here / command[0]), *command[1:]], check=False).returncode
    report.section("whether what is simulated is in force")
    controls(report, options.only)
    return report.end() | status


if __name__ == "__main__":
    sys.exit(main())
