"""The program killed at every system call of an edit; then recovery.

    crash.py [--only NAME[:N]] [--changing] [all|single|in place|asked|create|undo create|redo create|move|mixed …]

`all` is a transaction of twenty files, three of them edited in place; of the others, unless named, only calls that change
something. A dry run says which calls each thread makes. Then,
for every thread, name and n, a fresh server is killed as it enters that call; a sync is counted by what is synced where
that has the same name in each run. A new server must find all files old or all
new (new, if the edit was answered), and leave nothing behind. `--changing` leaves out the calls after which the disk is as
before them: a process that dies there leaves what it leaves at the next that changes it.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import sqlite3
import sys
from dataclasses import dataclass, replace
from typing import Any

import faults
from harness import (CHANGING, SYNCS, Report, Strace, Trace, World, add_options, call_or_end, no_strace, parallel, sample, share, simulate,
                     simulates, steady, threads_of)

#: How often a place that was not reached is tried again: threads may share work differently.
TRIES = 3

#: How many places of a mixed call in which a file is edited in place are tried, unless all are asked for.
IN_PLACE = 60

#: The names that each of these gives to a file.
CLAIMED = {"create": faults.MADE[:1], "redo create": faults.MADE[:1], "move": ("b/moved.txt",), "move far": faults.MADE[:1],
           "lines": faults.MADE[:1],
           "redo move": faults.MADE[:1], "undo move": ("a/02.txt",), "undo remove": ("a/02.txt",)} | dict.fromkeys(
    faults.MIXED, (*faults.MADE, "a/02.txt", "a/03.txt", "a/04.txt", "a/05.txt"))


@dataclass(frozen=True)
class Kill:
    """Where: a thread by its age (None: whichever of all threads comes first), and its n-th call of that name, or of that
    name and with that path."""

    thread: int | None
    name: str
    n: int
    kind: str = "all"
    path: str = ""

    def __str__(self) -> str:
        whose = self.path or ("any thread" if self.thread is None else f"thread {self.thread}")
        return ("" if self.kind == "all" else f"{self.kind}: ") + f"kill at {self.name} #{self.n} of {whose}"

    @property
    def is_shared(self) -> bool:
        """Whether threads share this work as it comes: the syncs of temporaries."""
        return self.name == "fsync" and not self.path


def begin(world: World, kind: str) -> tuple[str, dict[str, Any]]:
    """Sets the world up, and gives the call."""
    if kind != "all":
        faults.begin(world, kind)
        world.ends[kind] = {"old": faults.files(world), "new": faults.expected(world, kind)}
        return faults.arguments(world, kind)
    world.reset()
    world.hold()
    return "patch_text_file_contents", world.patch_all()


def dry_run(world: World, kind: str = "all") -> tuple[Trace, list[int]]:
    """The trace of the whole transaction, and the threads that were there before it, oldest first."""
    call = begin(world, kind)
    with world.server(*faults.options(kind)) as server:
        world.warm(server)
        threads = threads_of(server)
        strace = Strace(server.process.pid, "-y", all_threads=True)
        reply = server.call(*call)
        trace = strace.detach()
        assert not reply.is_error, reply.text
    return trace, threads


def places(world: World, trace: Trace, threads: list[int], kind: str, *, changing: bool = False) -> list[Kill]:
    """Every place of a dry run where it can be killed; with `changing`, those at which the disk is another than at the one before."""
    found: dict[Kill, None] = {}
    seen: dict[tuple[str, str], int] = {}
    for call in trace:
        if changing and not call.changes_disk:
            continue
        thread = threads.index(call.thread) if call.thread in threads else None
        path = steady(call.path, world.base) if call.name in SYNCS else None
        if path is None:
            kill = Kill(thread, call.name, call.index, kind)
        else:
            n = seen[call.name, path] = seen.get((call.name, path), 0) + 1
            kill = Kill(None, call.name, n, kind, path)
        found[kill] = None
    return list(found)


def crash(world: World, kill: Kill) -> tuple[bool, bool, list[str]]:
    """Runs the transaction into its end at a place: whether that was reached, whether the edit was answered."""
    call = begin(world, kill.kind)
    server = world.server(*faults.options(kill.kind))
    problems = []
    world.warm(server)
    threads = threads_of(server)
    if kill.thread is not None and kill.thread >= len(threads):
        server.kill()
        return False, False, []
    which = server.process.pid if kill.thread is None else threads[kill.thread]
    strace = Strace(which, "-e", f"trace={kill.name}", "-e", f"inject={kill.name}:signal=KILL:when={kill.n}",
                    *(["-P", str(world.base / kill.path)] if kill.path else []), all_threads=kill.thread is None)
    reply = call_or_end(server, *call)
    if reply is not None and reply.is_error:
        problems.append(f"refused: {reply.text[:400]}")
    trace = strace.detach()
    # strace has not always the time to say so.
    reached = "killed by SIGKILL" in trace.text or reply is None
    if reply is None and server.process.wait(10) != -signal.SIGKILL:
        problems.append(f"it ended by itself: {server.stderr()[-400:]}")
    # An answer that was written is kept, whatever happens to the process thereafter.
    server.kill()
    return reached, reply is not None and not reply.is_error, problems


def case(world: World, kill: Kill) -> tuple[bool, list[str]]:
    for attempt in range(TRIES + 1):
        if attempt == TRIES and (kill.is_shared or kill.name == "write" or kill.name not in CHANGING):
            # The n-th call of that name of whichever thread has so many: threads wake one another by writes, too.
            kill = replace(kill, thread=None)
        reached, answered, problems = crash(world, kill)
        before = f"at the crash: {world.summary()}"
        if kill.n % 2:
            world.release()
        problems += world.recover()
        problems += whole(world, kill.kind, must_be="new" if answered else None)
        if problems:
            return reached, [f"{'answered' if answered else 'not answered'}, try {attempt + 1}", before, *problems]
        if reached:
            break
    return reached, problems


def whole(world: World, kind: str, *, must_be: str | None = None) -> list[str]:
    """What is neither all old nor all new, and what is left beside."""
    if kind == "all":
        return world.all_or_nothing(must_be=must_be) + world.strays()
    now, ends = faults.files(world), world.ends[kind]
    lacks = simulates("enotsup") or simulates("no-exchange") and simulates("no-links")
    right = [ends[must_be]] if must_be else [*ends.values(), *(claimed(kind, **ends) if lacks else [])]
    if lacks and not must_be and kind in faults.MIXED:
        right += emptied(world, ends["old"])
    torn = ["; ".join(f"from the {end} state: {faults.difference(now, was)}" for end, was in ends.items())]
    return ([] if now in right else torn) + world.strays(*faults.MADE)


def claimed(kind: str, old: dict[str, bytes], new: dict[str, bytes]) -> list[dict[str, bytes]]:
    """Where a name can only be claimed, a file that was being created may be there without its content. If nobody can say whether somebody
    writes to it, it stays even where the name was another file's: that is at its new place then, or in the history."""
    if kind not in CLAIMED:
        return []
    above = lambda name: {above: content for above, content in new.items() if name.startswith(f"{above}/")}  # noqa: E731
    ends = [old | above(name) | {name: b""} for name in CLAIMED[kind] if name not in old]
    if kind in faults.MIXED and simulates("bare"):
        again, moved = {"a/02.txt": b""}, "made/moved/02.txt"
        ends += [old | again, old | again | above(moved) | {moved: old["a/02.txt"]}]
    return ends



def emptied(world: World, old: dict[str, bytes]) -> list[dict[str, bytes]]:
    """A name that a call gives again is claimed by an empty file, which gets its mark a step later. Killed between the two, nobody can say
    whose the file is: it stays, and what had the name is in the history."""
    database = sqlite3.connect(world.state / "history.db")
    with contextlib.closing(database):
        kept = {bytes(contents) for (contents,) in database.execute("SELECT undo FROM file WHERE kind = 3")}
    return [old | {name: b""} for name, content in old.items() if content in kept]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", help="one system call, with NAME:N one of its places")
    parser.add_argument("--changing", action="store_true", help="only calls at which the disk is another than at the one before")
    parser.add_argument("kinds", nargs="*", default=[])
    add_options(parser)
    options = parser.parse_args()
    simulate(options.simulate)
    report = Report()
    reason = no_strace()
    if reason:
        report.skip("crash", reason)
        return report.end()
    world = World()
    kills = []
    try:
        for kind in options.kinds or ["all", "single", "in place", "asked", "create", *faults.UNDOING, *faults.MOVING, *faults.MIXED, "lines",
                                      *faults.REPLACING]:
            trace, threads = dry_run(world, kind)
            if kind == "all":
                report.case("the dry run itself", whole(world, kind, must_be="new"))
            found = places(world, trace, threads, kind, changing=options.changing)
            if options.sample or not options.kinds and kind != "all":
                found = [k for k in found if k.name in CHANGING]
            most = options.sample
            if kind in faults.MIXED and not options.kinds:
                # Half of them are those of descriptors, which end with their process.
                found = [k for k in found if k.name != "fcntl"]
                most = most or IN_PLACE * (kind == "mixed in place")
            kills += share(sample(found, most), options.share)
            print(f"   {kind}: {len(trace.calls)} system calls in {len(trace.threads())} threads")
    finally:
        world.close()
    if options.only:
        name, _, n = options.only.partition(":")
        kills = [k for k in kills if k.name == name and (not n or k.n == int(n))]
    report.section(f"{len(kills)} places to die")
    missed: list[Kill] = []
    for kill, outcome in parallel(case, kills):
        if isinstance(outcome, str):
            report.case(str(kill), [outcome])
            continue
        reached, problems = outcome
        report.case(str(kill), problems)
        if not reached:
            missed.append(kill)
    # What changes something must have been a place of death, each; waiting and waking differ from run to run.
    # So does which thread syncs which temporary: one of these will do, the files are the same before and after them.
    unproved = [str(kill) for kill in missed if kill.name in CHANGING and not kill.is_shared]
    report.case("every call that changes something was reached", [f"not reached: {', '.join(unproved)}"] if unproved else [])
    shared = [kill for kill in kills if kill.is_shared]
    if shared and not options.sample and options.share == 1 and all(kill in missed for kill in shared):
        report.case("the sync of a temporary was reached", [f"not reached: {', '.join(map(str, shared))}"])
    if missed:
        report.section(f"not reached: {len(missed)}: {', '.join(sorted({k.name for k in missed}))}")
    report.section("done")
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
