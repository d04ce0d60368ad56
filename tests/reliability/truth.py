"""What a reply says of the disk is so: where what would take an edit back fails, too, where names are stale, where no descriptor is left.

    truth.py [--only TEXT] [twice|stale|read|descriptors|leased …]

`twice`: an error, and after it nothing can be unlinked or renamed: the reply names what is where, and the next start puts it right. `stale`: a name
that another machine has just replaced (ESTALE) is looked up again, in an edit; `read`: in a read, a search and a list, whose reply is as if nothing had
been. `descriptors`: with so many left, an edit is made, or nothing is written. `leased`: a file that another program has a lease on is waited for.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from functools import cache
from typing import Any, Callable

from faults import EDITS, FAILING, MADE, Fault, NotReached, arguments, begin, difference, expected, files, general, options
from harness import Report, Strace, World, add_options, no_strace, parallel, sample, share, simulate, threads_of, untrue, user


def trace_of(world: World, kind: str) -> tuple[list[int], Any]:
    """The threads of a server, and what they do in an edit that is made."""
    begin(world, kind)
    with world.server(*options(kind)) as server:
        world.warm(server)
        threads = threads_of(server)
        strace = Strace(server.process.pid, "-y", all_threads=True)
        call = arguments(world, kind)
        world.touch()
        reply = server.call(*call)
        trace = strace.detach()
    if reply.is_error:
        raise RuntimeError(reply.text)
    return threads, trace


def twice_of(world: World, kind: str) -> list[Fault]:
    """Each error in the thread that works, and after it nothing can be unlinked any more, or renamed."""
    threads, trace = trace_of(world, kind)
    found = []
    for call in trace.of(*(name for name in FAILING if name not in ("unlinkat", "pread64", "memfd_create"))):
        if call.thread not in threads or not call.path.startswith(str(world.base)):
            continue
        of_thread = [c for c in trace.of("renameat", "renameat2") if c.thread == call.thread]
        renames = {name: sum(c.name == name and c.position <= call.position for c in of_thread) for name in ("renameat", "renameat2")}
        for then in ((("unlinkat", 1),), tuple((name, n + 1) for name, n in renames.items() if name != call.name)):
            found.append(Fault(kind, threads.index(call.thread), call.name, call.index, "EIO", general(call.path, world.base), then=then))
    return found


#: Calls by which a file system tells that a name means another file by now.
STALE = ("openat", "openat2", "newfstatat", "statx", "fstat", "faccessat2", "pread64", "read", "renameat", "renameat2", "linkat", "mkdirat", "fsync",
         "flock", "ftruncate", "copy_file_range")


def stale_of(world: World, kind: str) -> list[Fault]:
    """ESTALE once, at each call of the thread that works for something in the tree."""
    threads, trace = trace_of(world, kind)
    is_of_tree = lambda c: c.thread in threads and str(world.tree) in c.text and not c.failed  # noqa: E731
    return [Fault(kind, threads.index(c.thread), c.name, c.index, "ESTALE", general(c.path, world.base)) for c in trace.of(*STALE) if is_of_tree(c)]


def check_stale(world: World, case: Fault) -> list[str]:
    """A place that was not reached is tried again, and then those beside it: how often SQLite looks at its files differs."""
    for beside in (0, 0, 1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 6, -6):
        try:
            return stale(world, replace(case, n=max(1, case.n + beside)))
        except NotReached as end:
            problems = [str(end)]
    return problems


def stale(world: World, case: Fault) -> list[str]:
    begin(world, case.kind)
    after = expected(world, case.kind)
    with world.server(*options(case.kind)) as server:
        world.warm(server)
        strace = Strace(threads_of(server)[case.thread or 0], "-y", "-e", f"trace={case.name}", "-e",
                        f"inject={case.name}:error=ESTALE:when={case.n}")
        call = arguments(world, case.kind)
        world.touch()
        reply = server.call(*call)
        hit = [c.text for c in strace.detach(0) if "(INJECTED)" in c.text]
        now = files(world)
    if not any(str(world.tree) in text for text in hit):
        raise NotReached(f"not reached: the error was at {hit}")
    problems = []
    if reply.is_error:
        problems.append(f"refused: {reply.text[:300]}")
    elif without_directories(now) != without_directories(after):
        problems.append(f"acknowledged, and not done: {difference(now, after)}")
    problems += world.recover() + world.strays(*MADE)
    # What could not be tidied up, the next start tidies.
    if not reply.is_error and files(world) != after:
        problems.append(f"after the next start not done: {difference(files(world), after)}")
    return problems


#: What reads, of files that are held in memory, and of one that goes by in blocks.
READS: dict[str, Callable[[World], tuple[str, dict[str, Any]]]] = {
    "read": lambda world: ("get_text_file_contents", {"files": [{"file_path": world.path(name), "ranges": [{"start": 1, "end": 3}]}
                                                                for name in ("large.txt", "a/01.txt")]}),
    "search": lambda world: ("search_text_files", {"pattern": "line 29[0-9]*3 ", "paths": [world.path("large.txt")], "hashes": True}),
    "search below": lambda world: ("search_text_files", {"pattern": "marker", "paths": [world.path("a")], "context": 1}),
    "list": lambda world: ("list_text_files", {"path": world.path(""), "line_counts": True}),
}


def reading(world: World, kind: str, *arguments: str) -> tuple[Any, Any]:
    """What reads, and all that the system is asked about the tree meanwhile, whichever thread asks: strace counts for each."""
    begin(world, "large")
    world.put("a/.gitignore", b"none.txt\n")
    with world.server(*options(kind)) as server:
        world.warm(server)
        # Names are looked up beneath a directory's descriptor, by which `-P` goes.
        paths = [world.tree, *world.tree.rglob("*")]
        strace = Strace(server.process.pid, "-y", *(x for path in paths for x in ("-P", str(path))), *arguments, all_threads=True)
        world.touch()
        reply = server.call(*READS[kind](world))
        return reply, strace.detach(0)


def read_of(world: World, kind: str) -> list[Fault]:
    """ESTALE once in each thread, at each call for something in the tree."""
    _, trace = reading(world, kind)
    most = {name: max(c.index for c in trace.of(name)) for name in STALE if trace.of(name)}
    return [Fault(kind, None, name, n, "ESTALE", "") for name, calls in most.items() for n in range(1, calls + 1)]


@cache
def undisturbed(world: World, kind: str) -> Any:
    """What is replied where nothing is replaced: the paths in it are those of this world."""
    return reading(world, kind)[0]


def check_read(world: World, case: Fault) -> list[str]:
    reply = undisturbed(world, case.kind)
    met, trace = reading(world, case.kind, "-e", f"trace={case.name}", "-e", f"inject={case.name}:error=ESTALE:when={case.n}")
    if "(INJECTED)" not in trace.text:
        # How the threads share the files differs.
        return []
    return [] if met.text == reply.text and not met.is_error else [f"told otherwise: {met.text[:300]}"]


def without_directories(found: dict[str, bytes]) -> dict[str, bytes]:
    return {name: content for name, content in found.items() if content != b"<directory>"}


def check_twice(world: World, case: Fault) -> list[str]:
    """An error of an edit that cannot be taken back: the reply names what is where, and the next start puts it right."""
    begin(world, case.kind)
    before, after, all_before = files(world), expected(world, case.kind), world.everything()
    problems: list[str] = []
    with world.server(*options(case.kind)) as server:
        world.warm(server)
        injects = [(case.name, str(case.n)), *((name, f"{n}+") for name, n in case.then)]
        strace = Strace(threads_of(server)[case.thread or 0], "-e", f"trace={','.join(name for name, _ in injects)}",
                        *(x for name, when in injects for x in ("-e", f"inject={name}:error={case.error}:when={when}")))
        call = arguments(world, case.kind)
        world.touch()
        reply = server.call(*call)
        strace.detach(0)
        now = world.everything()
    problems += untrue(reply, all_before, now)
    problems += world.recover()
    now = files(world)
    # Without a record nobody knows later which empty directories were to go.
    seen = without_directories if "journal" in case.what else dict
    if seen(now) not in (seen(before), seen(after)):
        problems.append(f"after the next start neither as before nor as after: {difference(now, before)}")
    return [f"answered {reply.text[:400]}", *problems] if problems else []


#: So many descriptors are left at the most, and at the most until an edit is made.
LEFT, MOST_LEFT = 16, 40


def descriptors(report: Report) -> None:
    """With so many descriptors left as there may be: an edit is made, or refused with nothing written, and the file is as it was."""
    kinds = ("single", "multi", "in place", "asked", "create", "append", "move", "move far", "remove", "undo create", "undo remove", "mixed",
             "undo mixed")
    world = World()
    try:
        for kind in kinds:
            made, problems = 0, []
            begin(world, kind)
            for left in range(MOST_LEFT):
                if left >= LEFT and made:
                    break
                if left:
                    begin(world, kind)
                before, after, all_before = files(world), expected(world, kind), world.everything()
                with world.server(*options(kind)) as server:
                    world.warm(server)
                    call = arguments(world, kind)
                    taken = {int(n) for n in os.listdir(f"/proc/{server.process.pid}/fd")}
                    free = [n for n in range(max(taken) + MOST_LEFT + 2) if n not in taken]
                    limit = lambda n: subprocess.run(["prlimit", f"--pid={server.process.pid}", f"--nofile={n}:"], user=user(), group=user(), check=True)  # noqa: E731
                    limit(free[left])
                    reply = server.call(*call)
                    now, all_now = files(world), world.everything()
                    limit(1024)
                    found = untrue(reply, all_before, all_now)
                    if reply.is_error and now != before:
                        found.append(f"refused, and changed: {difference(now, before)}: {reply.text[:300]}")
                    if not reply.is_error and now != after:
                        found.append(f"acknowledged, and not done: {difference(now, after)}: {reply.text[:300]}")
                    made += not reply.is_error
                    found += world.edit_outside(server)
                problems += [f"{left} left: {one}" for one in found]
            if not made:
                problems.append(f"never made, with {MOST_LEFT - 1} left: {reply.text[:300]}")
            report.case(f"descriptors: {kind}", problems)
    finally:
        world.close()


def leased(report: Report) -> None:
    """As a file server does, another program has a lease on the file, and gives it back when it is asked to, after a moment, or never."""
    kinds = {"read": "get_text_file_contents", "edit": "patch_text_file_contents", "edit in place": "patch_text_file_contents"}
    world = World()
    try:
        for kind, tool in kinds.items():
            for seconds in (0.3, None):
                world.reset()
                path = world.path("a/01.txt")
                patch = {"patches": [{"old_string": "first line", "new_string": "line one"}]} if kind != "read" else {}
                with world.server(*(["--in-place", "01.txt"] if kind == "edit in place" else [])) as server:
                    server.call("get_text_file_contents", {"file_path": path})
                    holder, told = os.pipe()
                    child = os.fork()
                    if not child:
                        hold_lease(path, seconds, told)
                    os.close(told)
                    if not os.read(holder, 1):
                        return report.skip("leased", "this file system has no leases")
                    reply = server.call(tool, {"files": [{"file_path": path, **patch}]})
                    others = server.call("list_text_files", {})
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)
                    again = server.call(tool, {"files": [{"file_path": path, **patch}]})
                os.close(holder)
                problems = [] if reply.is_error == (seconds is None) else [f"the answer is {reply.text[:300]}"]
                if reply.is_error and ("busy" not in reply.text or "keeps others out" not in reply.text):
                    problems.append(f"it is not said who holds it: {reply.text[:300]}")
                if others.is_error or reply.is_error and again.is_error:
                    problems.append(f"not after it either: {others.text[:200]} {again.text[:200]}")
                report.case(f"leased, {kind}, {'for ever' if seconds is None else 'for a moment'}", problems)
    finally:
        world.close()


def hold_lease(path: str, seconds: float | None, told: int) -> None:
    """In a process of its own: has a lease for writing until so long after somebody asks for it."""
    asked = threading.Event()
    signal.signal(signal.SIGIO, lambda *_: asked.set())
    held = os.open(path, os.O_RDWR)
    fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    os.write(told, b"1")
    while not asked.wait(0.01) or seconds is None:
        pass
    time.sleep(seconds)
    fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    os._exit(0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="only cases whose description holds this")
    parser.add_argument("parts", nargs="*", default=[])
    add_options(parser)
    given = parser.parse_args()
    simulate(given.simulate)
    parts = given.parts or ["twice", "stale", "read", "descriptors", "leased"]
    report, reason = Report(), no_strace()
    if reason:
        report.skip("what is injected", reason)
    checks: list[tuple[str, Any, Callable[[World, str], list[Fault]], Callable[[World, Fault], list[str]]]] = [
        ("twice", EDITS, twice_of, check_twice), ("stale", EDITS, stale_of, check_stale), ("read", READS, read_of, check_read)]
    for part, kinds, make, check in [] if reason else checks:
        world, cases = World(), []
        try:
            for kind in kinds if part in parts else []:
                cases += sample([case for case in make(world, kind) if given.only in str(case)], given.sample)
        finally:
            world.close()
        cases = share(cases, given.share)
        report.section(f"{part}: {len(cases)}")
        for case, problems in parallel(check, cases) if cases else ():
            report.case(str(case), [problems] if isinstance(problems, str) else problems)
    if "descriptors" in parts:
        report.section("descriptors")
        descriptors(report)
    if "leased" in parts:
        report.section("leased")
        leased(report)
    report.section("done")
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
