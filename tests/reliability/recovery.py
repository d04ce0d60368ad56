"""What happens after a crash: killed again while recovering, two that recover at once, outsiders in between, waiters.

    recovery.py [--rounds N] [--state NAME] [again|both|outsider|waiter|rights]

Each case begins with a crash at a place that a dry run names: between two sections of the record, in the middle of the
exchanges, between the last of them and the word *committed*, while displaced files are unlinked, in the middle of a copy
over a file that is edited in place.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from crash import Kill, crash, dry_run, whole
from faults import MIXED
from harness import (CHANGING, ONE_WORKER, PREFIX, SYNCS, Call, Closed, Reply, Report, Server, Strace, Timeout, Trace, World, add_options,
                     is_stopped, no_strace, parallel, sample, share, simulate, simulates, user, worker_of)

#: The states from which the recovery itself is killed, and between which and it somebody else writes.
AGAIN = ("before the digests", "half exchanged", "before the word committed", "committed", "in the middle of the copies (1", "some unlinked")

PATCH = "patch_text_file_contents"


def crash_states(world: World) -> dict[str, Kill]:
    """Places to die, by what is on disk then. What the dry run does not have is missing."""
    trace, threads = dry_run(world)
    # The thread that exchanges is the one that works.
    exchanges = [c for c in trace.of("renameat2", "renameat") if puts_in_place(c)]
    worker = exchanges[0].thread
    journal = str(world.state / "journal")
    mine = [c for c in trace if c.thread == worker and c.name in CHANGING]
    records = [c for c in mine if c.name in ("write", "pwrite64", "writev") and c.path.startswith(journal)]
    last_exchange = exchanges[-1].position
    unlinks = [c for c in mine if c.name == "unlinkat" and f'"{PREFIX}' in c.text and c.position > last_exchange]
    names = tuple(str(world.tree / name) for name in (*World.IN_PLACE, "c/linked-too.txt"))
    copies = [c for c in mine if c.name in ("write", "pwrite64", "ftruncate") and c.path in names
              or c.name == "copy_file_range" and re.search(r", \d+<([^>]*)>", c.text)[1] in names]
    states: dict[str, Any] = {"nothing but temporaries": mine[[c is exchanges[0] for c in mine].index(True) // 2]}
    if len(records) > 1:
        states["before the digests"] = records[1]
    states["before the first exchange"] = exchanges[0]
    states["after the first exchange"] = exchanges[1]
    states["half exchanged"] = exchanges[len(exchanges) // 2]
    states["all exchanged"] = next(c for c in mine if c.position > last_exchange)
    if len(records) > 2:
        states["before the word committed"] = records[-1]
        after = [c for c in mine if c.position > records[-1].position]
        states["committed"] = next(c for c in after if c.name not in SYNCS)
    for number, copy in enumerate(copies[1:]):
        states[f"in the middle of the copies ({number + 1}, {copy.name} of {Path(copy.path).name})"] = copy
    if unlinks:
        states["before an unlink"] = unlinks[0]
        states["some unlinked"] = unlinks[len(unlinks) // 2]
        states["all but one unlinked"] = unlinks[-1]
        last = [c for c in mine if c.position > unlinks[-1].position]
        if last:
            states["all unlinked"] = last[0]
    return {name: Kill(threads.index(worker), call.name, call.index) for name, call in states.items()}


#: How a recovery ends that leaves an empty file where a name can only be claimed (docs/limits.md): neither old nor new.
CLAIMED = "claimed"

#: How many places in the recovery of each mixed call that was cut off are tried.
MIXED_PLACES = 5


def mixed_states(world: World, kind: str) -> dict[str, Kill]:
    """The same of a call that makes, edits, moves and removes files."""
    trace, threads = dry_run(world, kind)
    of_tree = [c for c in trace.of("renameat2", "renameat", "linkat") if str(world.tree) in c.text and not c.failed]
    mine = [c for c in trace if c.thread == of_tree[0].thread and c.name in CHANGING and c.position > of_tree[-1].position]
    words = [c for c in mine if c.name == "write" and c.path.startswith(str(world.state / "journal"))]
    states = {f"rename {n + 1} of {len(of_tree)}": of_tree[n] for n in (1, len(of_tree) // 3, 2 * len(of_tree) // 3, len(of_tree) - 1)}
    states |= {"before the word committed": words[0], "some unlinked": [c for c in mine if c.name == "unlinkat"][1]}
    return {f"{kind}: {name}": Kill(threads.index(call.thread), call.name, call.index, kind) for name, call in states.items()}


def puts_in_place(call: Call) -> bool:
    """Whether a file gets its new content by this call: two names are exchanged or, where that cannot be, one is renamed over the other."""
    if call.name == "renameat2":
        return "RENAME_EXCHANGE" in call.text and not call.failed
    return re.search(rf'"{re.escape(PREFIX)}[0-9a-f]+", ', call.text) is not None


def make(world: World, kill: Kill) -> list[str]:
    """Brings the world into a crash state."""
    for _ in range(3):
        reached, _, problems = crash(world, kill)
        if reached or problems:
            return problems
    return [f"not reached: {kill}"]


# Killed again


def traced_recovery(world: World, *arguments: str) -> tuple[str, list[str]]:
    """A recovery under strace from its first call on: the trace, and what was wrong with it if it came to its end."""
    handle, out = tempfile.mkstemp(prefix="trace-", dir=world.base)
    os.close(handle)
    os.chmod(out, 0o666)
    problems: list[str] = []
    server = None
    try:
        server = world.server(*ONE_WORKER, wrap=["strace", "-f", "-o", out, *arguments], initialize=False)
        server.initialize()
        world.warm(server)
        problems = world.edit_outside(server)
        server.close()
    except Closed:
        assert server is not None
        server.kill()
    text = Path(out).read_text("utf-8", "replace")
    os.unlink(out)
    return text, problems


def again_places(world: World, kill: Kill) -> tuple[str, list[tuple[str, int]]]:
    """How an undisturbed recovery ends, and every place in it where it can be killed."""
    problems = make(world, kill)
    text, more = traced_recovery(world, "-y")
    trace = Trace(text)
    problems += more + whole(world, kill.kind)
    if problems:
        return "\n".join(problems), []
    ends = next((end for end in ("old", "new") if not whole(world, kill.kind, must_be=end)), CLAIMED)
    journal = str(world.state / "journal")
    # Named whole, or by its last part beneath a handle of the state directory.
    first = next((c.position for c in trace if journal in c.text or re.search(r'"journal"', c.text)), None)
    if first is None:
        return "the recovering server looked at no journal", []
    return ends, sorted({(c.name, c.index) for c in trace if c.position >= first and c.changes_disk})


def again(world: World, case: tuple[str, Kill, str, str, int]) -> list[str]:
    _, kill, ends, name, n = case
    # In a copy of a tree that crashed, no file would be the one that the record names.
    problems = make(world, kill)
    if problems:
        return problems
    if n % 2:
        world.hold()
    text, problems = traced_recovery(world, "-e", f"trace={name}", "-e", f"inject={name}:signal=KILL:when={n}")
    killed = "killed by SIGKILL" in text
    if not killed:
        problems.append("not reached")
    between = world.summary()
    problems += world.recover() + whole(world, kill.kind, must_be=None if ends == CLAIMED else ends)
    world.release()
    if problems:
        problems = [f"{'killed' if killed else 'not killed'} while recovering, which left: {between}", *problems]
    return problems


# Two at once


def both(world: World, case: tuple[str, Kill, int]) -> list[str]:
    _, kill, number = case
    rng = random.Random(number)
    problems = make(world, kill)
    if problems:
        return problems
    before = world.summary()
    text = (world.tree / "outside.txt").read_bytes()
    servers: list[Server] = []
    try:
        for _ in range(2):
            servers.append(world.server(initialize=False))
            time.sleep(rng.choice([0, 0, 0.0005, 0.002]))
        hellos = [server.send("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                             "clientInfo": {"name": "two", "version": "0"}}) for server in servers]
        for server, hello in zip(servers, hellos):
            server.wait(hello)
            server.notify("notifications/initialized")
        edit = {"files": [{"file_path": world.path("outside.txt"),
                           "patches": [{"old_string": "business\n", "new_string": "business\nmore\n"}]}]}
        # One of them edits a file of the transaction, and must see it recovered.
        mine = {"files": [{"file_path": world.path("a/03.txt"), "patches": [{"old_string": "last line", "new_string": "the end"}]}]}
        ids = [servers[0].start(PATCH, edit), servers[1].start(PATCH, edit), servers[number % 2].start(PATCH, mine)]
        replies = [Reply(servers[which].wait(i)) for which, i in zip((0, 1, number % 2), ids)]
        problems += [f"refused: {reply.text[:300]}" for reply in replies if reply.is_error]
    except (Closed, Timeout) as end:
        problems.append(f"{type(end).__name__}: {end}")
    finally:
        for server in servers:
            server.close()
    if not problems and (world.tree / "outside.txt").read_bytes() != text.replace(b"business\n", b"business\nmore\nmore\n"):
        problems.append("an acknowledged edit of a file outside is lost")
    if not problems:
        now = (world.tree / "a/03.txt").read_bytes()
        if not now.endswith(b"the end\n"):
            problems.append("an acknowledged edit of one of the files is lost")
        world.put("a/03.txt", now.replace(b"the end\n", b"last line\n"))
    problems += world.recover() + world.all_or_nothing() + world.strays()
    return [f"at the crash: {before}", *problems] if problems else []


# An outsider


def outsider(world: World, case: tuple[str, Kill, str, str]) -> list[str]:
    _, kill, name, how = case
    problems = make(world, kill)
    if problems:
        return problems
    before = world.summary()
    world.release()
    path = world.tree / name
    # With the same bytes, too, it is another file.
    theirs = path.read_bytes() if how == "same" else b"somebody else wrote this\nand nothing else\n"
    shut = path.parent.stat().st_mode & 0o200 == 0
    if shut:
        path.parent.chmod(0o755)
    if how in ("rename", "same"):
        world.put(name + ".theirs", theirs)
        world._give(world.tree / (name + ".theirs"))
        os.replace(world.tree / (name + ".theirs"), path)
    elif how == "in place":
        path.write_bytes(theirs)
    elif how == "append":
        theirs = path.read_bytes() + b"appended\n"
        with path.open("ab") as file:
            file.write(b"appended\n")
    else:
        path.unlink()
    if shut:
        path.parent.chmod(0o555)
    inode = path.stat().st_ino if how == "same" else None
    problems += world.recover(rounds=2)
    try:
        now = path.read_bytes()
        if inode not in (None, path.stat().st_ino):
            problems.append(f"the outsider's file, which was equal, is gone: {world.kind(name)}")
        if how == "delete":
            problems.append(f"{name} was deleted by an outsider, and is there again ({world.kind(name)})")
        elif now != theirs:
            problems.append(f"the outsider's bytes in {name} are gone: {world.kind(name)}")
    except FileNotFoundError:
        if how != "delete":
            problems.append(f"{name} is missing")
    but: tuple[str, ...] = (name,)
    if name == "linked.txt" and how in ("rename", "same", "delete"):
        # The other name still leads to the file that was edited.
        if not (world.tree / "c/linked-too.txt").exists():
            problems.append("the other name of linked.txt is gone")
    problems += world.all_or_nothing(but=but) + [s for s in world.strays()]
    return [f"at the crash: {before}", *problems] if problems else []


# Somebody waits


def waiter(world: World, case: tuple[str, int, str, str]) -> list[str]:
    """A second server waits for `name` while the first stands still at its n-th exchange, and then ends as told."""
    _, n, name, how = case
    world.reset()
    world.hold()
    problems: list[str] = []
    first, second = world.server(*ONE_WORKER), world.server()
    strace = None
    try:
        world.warm(first)
        world.warm(second)
        worker = worker_of(world, first)
        rename = "renameat" if simulates("enotsup", "no-exchange") else "renameat2"
        inject = f"inject={rename}:" + ("error=EIO:" if how == "rolled back" else "") + "signal=STOP"
        strace = Strace(worker, "-e", f"trace={rename}", "-e", f"{inject}:when={n}")
        call = first.start(PATCH, world.patch_all())
        until = time.monotonic() + 10
        while not is_stopped(first):
            if time.monotonic() > until:
                return [f"it did not come to exchange #{n}: {world.summary()}"]
            time.sleep(0.002)
        edit = {"files": [{"file_path": world.path(name), "patches": [{"old_string": "last line\n", "new_string": "by the second\n"}]}]}
        wanted = second.start(PATCH, edit)
        time.sleep(0.1)
        if how == "killed":
            first.process.kill()
        else:
            first.process.send_signal(signal.SIGCONT)
            reply = Reply(first.wait(call))
            if reply.code != "io_error":
                problems.append(f"the first: {reply.text[:300]}")
        try:
            reply = Reply(second.wait(wanted))
        except (Closed, Timeout) as end:
            return problems + [f"the second: {type(end).__name__}: {end}"]
        if reply.is_error and reply.code not in ("conflict", "busy"):
            problems.append(f"the second was refused otherwise than by conflict or busy: {reply.text[:300]}")
        if reply.is_error and how == "rolled back":
            problems.append(f"the second was refused: {reply.text[:300]}")
    finally:
        if strace:
            strace.process.terminate()
            strace.detach()
        first.kill()
        second.close()
    problems += world.recover()
    now = (world.tree / name).read_bytes()
    edited = now.endswith(b"by the second\n")
    if edited == reply.is_error:
        problems.append(f"the second's edit is {'there, and was refused' if edited else 'acknowledged, and lost'}")
    world.put(name, now.replace(b"by the second\n", b"last line\n"))
    problems += world.all_or_nothing(must_be="old" if how == "rolled back" else None) + world.strays()
    return [f"the second was answered {reply.code or 'ok'}", *problems] if problems else []


# Who may recover


def rights(world: World, case: tuple[str, Kill]) -> list[str]:
    """A server that may not write, or not everywhere, leaves a dead one's files alone."""
    _, kill = case
    problems = make(world, kill)
    if problems:
        return problems
    # The record knows files by their numbers, too, and those of files that are gone are given away again: to these.
    spare = [f"a/spare-{number}" for number in range(2 * len(world.names))]
    for name in (*spare, "a/free.txt"):
        world.put(name, b"free\n")
        world._give(world.tree / name)
    for name in spare:
        (world.tree / name).unlink()

    def state() -> dict[str, Any]:
        paths = [*world.tree.rglob("*"), *(world.state / "journal").rglob("*")]
        return {str(p.relative_to(world.base)): (p.read_bytes(), p.stat().st_ino) for p in paths if p.is_file()}

    before = state()
    has_record = any("journal" in path for path in before)
    with world.server("--read-only") as server:
        world.warm(server)
    if state() != before:
        changed = {k for k in before.keys() | state().keys() if before.get(k) != state().get(k)}
        problems.append(f"a server that may only read has changed {sorted(changed)[:5]}")
    # Only a/ is its root: it can recover nothing, and must not edit what waits for recovery.
    with Server(world.tree / "a", state=world.state, user=user()) as server:
        edit = lambda name, old: server.call(PATCH, {"files": [  # noqa: E731
            {"file_path": world.path(name), "patches": [{"old_string": old, "new_string": old + "edited\n"}]}]})
        reply = edit("a/01.txt", "last line\n")
        if has_record and reply.code != "conflict":
            problems.append(f"an edit of a dead transaction's file by one who cannot recover it: {reply.text[:300]}")
        reply = edit("a/free.txt", "free\n")
        if reply.is_error:
            problems.append(f"a file that is in no transaction: {reply.text[:300]}")
    if has_record and {k: v for k, v in state().items() if "free" not in k} != {k: v for k, v in before.items() if "free" not in k}:
        problems.append("a server of another root has changed the dead one's files")
    (world.tree / "a/free.txt").unlink()
    problems += world.recover() + world.all_or_nothing() + world.strays()
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=4, help="how often two recover at once from each state")
    parser.add_argument("--state", default="", help="only states whose name holds this")
    parser.add_argument("--all", action="store_true", help="from every state, not only from a choice of them")
    parser.add_argument("parts", nargs="*", default=[], help="again, both, outsider, waiter, rights")
    add_options(parser)
    options = parser.parse_args()
    simulate(options.simulate)
    report = Report()
    reason = no_strace()
    if reason:
        report.skip("recovery", reason)
        return report.end()
    parts = options.parts or ["again", "both", "outsider", "waiter", "rights"]
    world = World()
    try:
        states = {name: kill for name, kill in crash_states(world).items() if options.state in name}
        mixed = {name: kill for kind in MIXED for name, kill in mixed_states(world, kind).items() if options.state in name}
    finally:
        world.close()
    some = {name: kill for name, kill in states.items() if options.all or options.state or name.startswith(AGAIN)}
    for name, kill in (states | mixed).items():
        print(f"   {name}: {kill}")

    def run(function: Any, cases: list[Any]) -> None:
        for case, problems in parallel(function, share(sample(cases, options.sample), options.share)):
            report.case(f"{function.__name__}: " + ", ".join(map(str, case)), [problems] if isinstance(problems, str) else problems)

    if "again" in parts:
        report.section("killed again while recovering")
        cases = []
        for kill, outcome in parallel(again_places, list((some | mixed).values())):
            name = next(name for name, of in (some | mixed).items() if of == kill)
            ends, places = outcome if isinstance(outcome, tuple) else (outcome, [])
            good = ends in ("old", "new", CLAIMED)
            report.case(f"recovery from {name} ({kill})", [] if good else [ends])
            if good:
                print(f"   {name}: ends {ends}, {len(places)} places")
                places = sample(places, 0 if options.all or kill.kind == "all" else MIXED_PLACES)
                cases += [(name, kill, ends, *place) for place in places]
        run(again, cases)
    if "both" in parts:
        report.section("two recover at once")
        run(both, [(name, kill, number) for name, kill in states.items() for number in range(options.rounds)])
    if "outsider" in parts:
        report.section("an outsider writes between crash and recovery")
        which = ["a/01.txt", "c/17.txt", *World.IN_PLACE]
        run(outsider, [(name, kill, file, how) for name, kill in some.items() for file in which
                       for how in ("rename", "same", "in place", "append", "delete")])
    if "waiter" in parts:
        report.section("somebody waits for one of the files")
        run(waiter, [("at exchange", n, file, how) for n in (1, 9, 17) for file in ("a/01.txt", "b/10.txt", "c/17.txt", "linked.txt")
                     for how in ("killed", "rolled back")])
    if "rights" in parts:
        report.section("who may recover")
        run(rights, list(states.items()))
    report.section("done")
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
