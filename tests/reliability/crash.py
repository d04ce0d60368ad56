"""The program killed at every system call of a transaction of twenty files, three of them edited in place; then recovery.

    crash.py [--only NAME[:N]] [--changing]

A dry run says which calls each thread makes. Then, for every thread, name and n, a fresh server is killed as it enters
that call. A new server must find all files old or all new (new, if the edit was answered), and leave nothing behind.
`--changing` leaves out the calls that change nothing outside the process.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

from harness import (CHANGING, Report, Strace, Trace, World, call_or_end, no_strace, parallel, threads_of)

#: How often a place that was not reached is tried again: threads may share work differently.
TRIES = 3


@dataclass(frozen=True)
class Kill:
    """Where: a thread by its age (None: whichever of all threads comes first), and its n-th call of that name."""

    thread: int | None
    name: str
    n: int

    def __str__(self) -> str:
        return f"kill at {self.name} #{self.n} of " + ("any thread" if self.thread is None else f"thread {self.thread}")


def dry_run(world: World) -> tuple[Trace, list[int]]:
    """The trace of the whole transaction, and the threads that were there before it, oldest first."""
    world.reset()
    world.hold()
    with world.server() as server:
        world.warm(server)
        threads = threads_of(server)
        strace = Strace(server.process.pid, "-y", all_threads=True)
        reply = server.call("patch_text_file_contents", world.patch_all())
        trace = strace.detach()
        assert not reply.is_error, reply.text
    return trace, threads


def places(trace: Trace, threads: list[int]) -> list[Kill]:
    """Every place of a dry run where it can be killed."""
    most: dict[tuple[int | None, str], int] = {}
    for call in trace:
        thread = threads.index(call.thread) if call.thread in threads else None
        key = (thread, call.name)
        most[key] = max(most.get(key, 0), call.index)
    return [Kill(thread, name, n) for (thread, name), count in most.items() for n in range(1, count + 1)]


def crash(world: World, kill: Kill) -> tuple[bool, bool, list[str]]:
    """Runs the transaction into its end at a place: whether that was reached, whether the edit was answered."""
    world.reset()
    world.hold()
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
    reply = call_or_end(server, "patch_text_file_contents", world.patch_all())
    if reply is not None and reply.is_error:
        problems.append(f"refused: {reply.text[:400]}")
    trace = strace.detach()
    # An answer that was written is kept, whatever happens to the process thereafter.
    server.kill()
    return "killed by SIGKILL" in trace.text, reply is not None and not reply.is_error, problems


def case(world: World, kill: Kill) -> tuple[bool, list[str]]:
    for attempt in range(TRIES):
        reached, answered, problems = crash(world, kill)
        before = f"at the crash: {world.summary()}"
        if kill.n % 2:
            world.release()
        problems += world.recover()
        problems += world.all_or_nothing(must_be="new" if answered else None)
        problems += world.strays()
        if problems:
            return reached, [f"{'answered' if answered else 'not answered'}, try {attempt + 1}", before, *problems]
        if reached:
            break
    return reached, problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", help="one system call, with NAME:N one of its places")
    parser.add_argument("--changing", action="store_true", help="only calls that change something")
    options = parser.parse_args()
    reason = no_strace()
    if reason:
        print(f"skipped: {reason}\n0 passed, 0 failed")
        return 0
    report = Report()
    world = World()
    try:
        trace, threads = dry_run(world)
        report.case("the dry run itself", world.all_or_nothing(must_be="new") + world.strays())
    finally:
        world.close()
    kills = places(trace, threads)
    if options.changing:
        kills = [k for k in kills if k.name in CHANGING]
    if options.only:
        name, _, n = options.only.partition(":")
        kills = [k for k in kills if k.name == name and (not n or k.n == int(n))]
    report.section(f"{len(trace.calls)} system calls in {len(trace.threads())} threads, {len(kills)} places to die")
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
    unproved = [str(kill) for kill in missed if kill.name in CHANGING]
    report.case("every call that changes something was reached", [f"not reached: {', '.join(unproved)}"] if unproved else [])
    if missed:
        report.section(f"not reached: {len(missed)}: {', '.join(sorted({k.name for k in missed}))}")
    report.section("done")
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
