"""The program killed at every system call of an edit; then recovery.

    crash.py [--only NAME[:N]] [--changing] [all|single|in place|create …]

`all` is a transaction of twenty files, three of them edited in place; of the others, unless named, only calls that change
something. A dry run says which calls each thread makes. Then,
for every thread, name and n, a fresh server is killed as it enters that call. A new server must find all files old or all
new (new, if the edit was answered), and leave nothing behind. `--changing` leaves out the calls that change nothing outside
the process.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, replace
from typing import Any

import faults
from harness import (CHANGING, Report, Strace, Trace, World, call_or_end, no_strace, parallel, threads_of)

#: How often a place that was not reached is tried again: threads may share work differently.
TRIES = 3


@dataclass(frozen=True)
class Kill:
    """Where: a thread by its age (None: whichever of all threads comes first), and its n-th call of that name."""

    thread: int | None
    name: str
    n: int
    kind: str = "all"

    def __str__(self) -> str:
        return ("" if self.kind == "all" else f"{self.kind}: ") + f"kill at {self.name} #{self.n} of " + ("any thread" if self.thread is None else f"thread {self.thread}")


def begin(world: World, kind: str) -> tuple[str, dict[str, Any]]:
    """Sets the world up, and gives the call."""
    if kind != "all":
        faults.begin(world, kind)
        return faults.arguments(world, kind)
    world.reset()
    world.hold()
    return "patch_text_file_contents", world.patch_all()


def dry_run(world: World, kind: str = "all") -> tuple[Trace, list[int]]:
    """The trace of the whole transaction, and the threads that were there before it, oldest first."""
    call = begin(world, kind)
    with world.server() as server:
        world.warm(server)
        threads = threads_of(server)
        strace = Strace(server.process.pid, "-y", all_threads=True)
        reply = server.call(*call)
        trace = strace.detach()
        assert not reply.is_error, reply.text
    return trace, threads


def places(trace: Trace, threads: list[int], kind: str) -> list[Kill]:
    """Every place of a dry run where it can be killed."""
    most: dict[tuple[int | None, str], int] = {}
    for call in trace:
        thread = threads.index(call.thread) if call.thread in threads else None
        key = (thread, call.name)
        most[key] = max(most.get(key, 0), call.index)
    return [Kill(thread, name, n, kind) for (thread, name), count in most.items() for n in range(1, count + 1)]


def crash(world: World, kill: Kill) -> tuple[bool, bool, list[str]]:
    """Runs the transaction into its end at a place: whether that was reached, whether the edit was answered."""
    call = begin(world, kill.kind)
    server = world.server()
    problems = []
    world.warm(server)
    threads = threads_of(server)
    if kill.thread is not None and kill.thread >= len(threads):
        server.kill()
        return False, False, []
    which = server.process.pid if kill.thread is None else threads[kill.thread]
    strace = Strace(which, "-e", f"trace={kill.name}", "-e", f"inject={kill.name}:signal=KILL:when={kill.n}",
                    all_threads=kill.thread is None)
    reply = call_or_end(server, *call)
    if reply is not None and reply.is_error:
        problems.append(f"refused: {reply.text[:400]}")
    trace = strace.detach()
    # An answer that was written is kept, whatever happens to the process thereafter.
    server.kill()
    return "killed by SIGKILL" in trace.text, reply is not None and not reply.is_error, problems


def case(world: World, kill: Kill) -> tuple[bool, list[str]]:
    for attempt in range(TRIES + 1):
        if attempt == TRIES:
            # Threads share work as it comes: the n-th call of that name of whichever has so many.
            kill = replace(kill, thread=None)
        if kill.kind != "all":
            begin(world, kill.kind)
            old, new = faults.files(world), faults.expected(world, kill.kind)
        reached, answered, problems = crash(world, kill)
        before = f"at the crash: {world.summary()}"
        if kill.n % 2:
            world.release()
        problems += world.recover()
        if kill.kind == "all":
            problems += world.all_or_nothing(must_be="new" if answered else None)
        elif (now := faults.files(world)) != new and (answered or now != old):
            problems.append(f"from the old state: {faults.difference(now, old)}; from the new: {faults.difference(now, new)}")
        problems += world.strays(*faults.MADE)
        if problems:
            return reached, [f"{'answered' if answered else 'not answered'}, try {attempt + 1}", before, *problems]
        if reached:
            break
    return reached, problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", help="one system call, with NAME:N one of its places")
    parser.add_argument("--changing", action="store_true", help="only calls that change something")
    parser.add_argument("kinds", nargs="*", default=[])
    options = parser.parse_args()
    reason = no_strace()
    if reason:
        print(f"skipped: {reason}\n0 passed, 0 failed")
        return 0
    report = Report()
    world = World()
    kills = []
    shared: set[str] = set()
    try:
        for kind in options.kinds or ["all", "single", "in place", "create"]:
            trace, threads = dry_run(world, kind)
            if kind == "all":
                report.case("the dry run itself", world.all_or_nothing(must_be="new") + world.strays())
            shared |= {call.name for call in trace.of("fsync", "fdatasync") if call.thread not in threads}
            found = places(trace, threads, kind)
            every = kind == "all" or options.kinds
            kills += found if every else [k for k in found if k.name in CHANGING]
            print(f"   {kind}: {len(trace.calls)} system calls in {len(trace.threads())} threads")
    finally:
        world.close()
    if options.changing:
        kills = [k for k in kills if k.name in CHANGING]
    if options.only:
        name, _, n = options.only.partition(":")
        kills = [k for k in kills if k.name == name and (not n or k.n == int(n))]
    report.section(f"{len(kills)} places to die")
    missed = []
    for kill, outcome in parallel(case, kills):
        if isinstance(outcome, str):
            report.case(str(kill), [outcome])
            continue
        reached, problems = outcome
        report.case(str(kill), problems)
        if not reached:
            missed.append(kill)
    # What changes something must have been a place of death, each; waiting and waking differ from run to run.
    # So does which thread syncs what, where they share that work; the files are the same before a sync and after it.
    unproved = [str(kill) for kill in missed if kill.name in CHANGING and kill.name not in shared]
    report.case("every call that changes something was reached", [f"not reached: {', '.join(unproved)}"] if unproved else [])
    if missed:
        report.section(f"not reached: {len(missed)}: {', '.join(sorted({k.name for k in missed}))}")
    report.section("done")
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
