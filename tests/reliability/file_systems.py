"""File systems that cannot exchange names, refuse a name that is taken, link or lock: edits that are done there, and killed.

    file_systems.py [--only TEXT]

strace makes the calls fail as such a file system would, from the start of the server on, and so does it for the server
that recovers.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from typing import Any

import faults
from crash import claimed
from harness import Closed, Report, Server, Timeout, Trace, World, call_or_end, no_strace, parallel, sample, user

#: What a file system lacks, and how that shows.
LACKS = {
    "exchange": ("renameat2:error=EINVAL",),
    "exchange and links": ("renameat2:error=EINVAL", "linkat:error=EPERM"),
    "locks": ("flock:error=ENOLCK",),
}
KINDS = ("single", "multi", "in place", "create", "append", "mixed", "undo mixed")
#: So many kills of a call that makes, edits, moves and removes files.
SAMPLE = 30
#: Calls at which the server is killed.
DEADLY = ("renameat", "linkat", "unlinkat", "fsync", "fdatasync", "ftruncate", "copy_file_range")


@dataclass(frozen=True)
class Case:
    """An edit where something is lacking; killed at the n-th call of a name in whichever thread comes to that first."""

    lack: str
    kind: str
    name: str = ""
    n: int = 0

    def __str__(self) -> str:
        return f"without {self.lack}: {self.kind}" + (f", killed at {self.name} #{self.n}" if self.name else "")


def serve(world: World, case: Case, out: str = "/dev/null") -> Server:
    """A server on such a file system, traced into `out`."""
    wrap = ["strace", "-f", "-qq", "-o", out]
    names = {rule.split(":")[0] for rule in LACKS[case.lack]} | set(DEADLY)
    wrap += ["-e", f"trace={','.join(sorted(names))}"]
    for rule in LACKS[case.lack]:
        wrap += ["-e", f"inject={rule}"]
    if case.name:
        wrap += ["-e", f"inject={case.name}:signal=KILL:when={case.n}"]
    return Server(world.tree, options=["--tools", "all"], state=world.state, user=user(), wrap=wrap)


def done(world: World, case: Case) -> list[str]:
    """Without a kill: done, told with a warning, and nothing left."""
    faults.begin(world, case.kind)
    after = faults.expected(world, case.kind)
    with serve(world, case) as server:
        reply = server.call(*faults.arguments(world, case.kind))
        problems = []
        if reply.is_error:
            return [f"refused: {reply.text[:300]}"]
        if (now := faults.files(world)) != after:
            problems.append(f"acknowledged, and not done: {faults.difference(now, after)}")
        if case.kind not in ("in place", "create") and '"warnings"' not in reply.text:
            problems.append(f"no warning: {reply.text[:300]}")
        problems += world.edit_outside(server)
    return problems + world.strays(*faults.MADE)


def places(world: World, lack: str, kind: str) -> list[Case]:
    """Where the server can be killed."""
    case = Case(lack, kind)
    faults.begin(world, kind)
    out = world.tree / "trace"
    with serve(world, case, str(out)) as server:
        server.call(*faults.arguments(world, kind))
    trace = Trace(out.read_text("utf-8", "replace"))
    out.unlink()
    most: dict[str, int] = {}
    # Of two rules about a call strace knows the last: what fails always cannot be what kills, too.
    lacking = {rule.split(":")[0] for rule in LACKS[lack]}
    for call in trace.of(*(name for name in DEADLY if name not in lacking)):
        most[call.name] = max(most.get(call.name, 0), call.index)
    return [Case(lack, kind, name, n) for name, count in sorted(most.items()) for n in range(1, count + 1)]


def killed(world: World, case: Case) -> list[str]:
    """Killed, and recovered on the same file system: all old or all new."""
    faults.begin(world, case.kind)
    old, new = faults.files(world), faults.expected(world, case.kind)
    server = None
    answered = False
    try:
        server = serve(world, case)
        reply = call_or_end(server, *faults.arguments(world, case.kind))
        if reply is not None and reply.is_error:
            return [f"refused: {reply.text[:300]}"]
        answered = reply is not None
    except Closed:
        pass  # at its start already
    finally:
        if server:
            server.kill()
    at_the_crash = faults.difference(faults.files(world), old)
    try:
        with serve(world, Case(case.lack, case.kind)) as server:
            problems = world.edit_outside(server)
    except (Closed, Timeout) as end:
        problems = [f"the recovering server: {type(end).__name__}: {end}"]
    now = faults.files(world)
    may_be_claimed = claimed(case.kind, old, new) if case.lack == "exchange and links" else []
    if now != new and (answered or now != old and now not in may_be_claimed):
        problems.append(f"{'answered' if answered else 'not answered'}; from the old state: {faults.difference(now, old)}; "
                        f"from the new: {faults.difference(now, new)}")
    problems += world.strays(*faults.MADE)
    return [f"at the crash, from the old state: {at_the_crash}", *problems] if problems else []


def somebody_elses(world: World, case: Case) -> list[str]:
    """The undo of a creation is killed when the file has lost its name, and another program gives that to a file of its
    own: that stays."""
    faults.begin(world, "create")
    path = world.tree / "new.txt"
    with serve(world, Case(case.lack, case.kind)) as server:
        made = server.call("create_text_file", {"file_path": str(path), "contents": "made by us\n"})
    server = serve(world, case)
    try:
        call_or_end(server, "undo_text_file_edits", {"edit_id": made.json["edit_id"]})
    except Closed:
        pass
    finally:
        server.kill()
    if path.exists():
        return [f"not reached: the file has its name; {made.text[:200]}"]
    path.write_bytes(b"by another program\n")
    with serve(world, Case(case.lack, case.kind)) as server:
        problems = world.edit_outside(server)
    if path.read_bytes() != b"by another program\n":
        problems.append(f"the other program's file is gone: {path.read_bytes()!r}")
    return problems


def check(world: World, case: Case) -> list[str]:
    if case.kind == "undo":
        return somebody_elses(world, case)
    return killed(world, case) if case.name else done(world, case)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="only cases whose description holds this")
    options = parser.parse_args()
    report = Report()
    if reason := no_strace():
        report.skip("file systems that lack something", reason)
        return report.end()
    cases = [Case(lack, kind) for lack in LACKS for kind in KINDS]
    # The record is synced before the file loses its name, its directory after that.
    cases += [Case(lack, "undo", "fsync", n) for lack in list(LACKS)[:2] for n in (2, 3)]
    world = World()
    try:
        for lack in list(LACKS)[:2]:
            for kind in ("single", "multi", "create"):
                cases += places(world, lack, kind)
            cases += sample([case for kind in ("mixed", "undo mixed") for case in places(world, lack, kind)], SAMPLE)
    finally:
        world.close()
    cases = [case for case in cases if options.only in str(case)]
    report.section(f"{len(cases)} cases")
    for case, problems in parallel(check, cases):
        report.case(str(case), [problems] if isinstance(problems, str) else problems)
    report.section("done")
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
