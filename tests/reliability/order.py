"""The order of writing, syncing and exchanging, read off a trace: what a power loss at any moment would find.

    order.py [--show]
"""

from __future__ import annotations

import re
import sys
from typing import Any

from harness import PREFIX, SYNCS, Call, Report, Strace, Trace, World, no_strace

WRITES = ("write", "pwrite64", "writev", "pwritev", "copy_file_range", "sendfile", "ftruncate", "fallocate")


def traced(world: World, tool: str, arguments: dict[str, Any], *options: str) -> Trace:
    world.reset()
    world.hold()
    with world.server(*options) as server:
        world.warm(server)
        # The first edit makes the history; this is about the others.
        world.edit_outside(server)
        strace = Strace(server.process.pid, "-y", "-s", "300", all_threads=True)
        reply = server.call(tool, arguments)
        trace = strace.detach()
    if reply.is_error:
        raise RuntimeError(reply.text)
    return trace


def written_path(call: Call) -> str:
    """The file that a call writes to: the first descriptor, of copy_file_range the second."""
    found = re.findall(r"\d+<([^>]*)>", call.text)
    at = 1 if call.name == "copy_file_range" else 0
    return found[at] if len(found) > at else ""


def named(call: Call) -> list[str]:
    """The paths of a call that names files beneath directories."""
    return [f"{directory}/{name}" for directory, name in re.findall(r'\d+<([^>]*)>, "([^"]*)"', call.text)]


class Order:
    """Questions to a trace. A sync counts from its end on, everything else from its beginning."""

    def __init__(self, trace: Trace, world: World) -> None:
        self.calls = [c for c in trace if not c.failed]
        self.tree, self.journal = str(world.tree), str(world.state / "journal")
        self.exchanges = [c for c in self.calls if c.name == "renameat2" and "RENAME_EXCHANGE" in c.text]
        self.answer = next((c for c in self.calls if c.name in ("write", "sendto", "writev", "sendmsg") and "jsonrpc" in c.text), None)

    def last_write(self, path: str, before: int) -> int:
        return max((c.end for c in self.calls if c.name in WRITES and written_path(c) == path and c.position < before), default=-1)

    def is_synced(self, path: str, after: int, before: int) -> bool:
        return any(c.name in SYNCS and c.path == path and c.position > after and c.end < before for c in self.calls)

    def writes(self, beginning: str) -> list[Call]:
        return [c for c in self.calls if c.name in WRITES and written_path(c).startswith(beginning)]

    def unlinks(self) -> list[Call]:
        return [c for c in self.calls if c.name in ("unlinkat", "unlink") and PREFIX in c.text and self.tree in c.text]


def check(trace: Trace, world: World, names: list[str]) -> list[str]:
    order = Order(trace, world)
    if order.answer is None:
        return ["no reply is seen in the trace"]
    end = order.answer.position
    replaced = [name for name in names if name not in World.IN_PLACE]
    in_place = [name for name in names if name in World.IN_PLACE]
    problems = []
    exchanged = {path for call in order.exchanges for path in named(call)}
    for name in replaced:
        if f"{order.tree}/{name}" not in exchanged:
            problems.append(f"{name} was not exchanged")
    for call in order.exchanges:
        temporary = next((p for p in named(call) if f"/{PREFIX}" in p), "")
        written = order.last_write(temporary, call.position)
        if written < 0:
            problems.append(f"nothing was written to {temporary} before {call}")
        elif not order.is_synced(temporary, written, call.position):
            problems.append(f"{temporary} is not synced between its last write and {call}")
    directories = {path.rpartition("/")[0] for path in exchanged}
    last_exchange = max((c.end for c in order.exchanges), default=-1)
    first_exchange = min((c.position for c in order.exchanges), default=end)
    for directory in directories:
        if not order.is_synced(directory, last_exchange, end):
            problems.append(f"directory {directory} is not synced between the last exchange and the reply")
    if len(names) > 1 or in_place:
        records = order.writes(order.journal + "/")
        sections = [c for c in records if c.end < first_exchange]
        committed = [c for c in records if c.position > last_exchange]
        if not sections:
            problems.append("no record is written before the first exchange")
        elif not order.is_synced(written_path(sections[-1]), sections[-1].end, first_exchange):
            problems.append("the record is not synced between its last section and the first exchange")
        elif not order.is_synced(order.journal, -1, first_exchange):
            problems.append("the journal's directory is not synced before the first exchange: the record could be without a name")
        if not committed:
            problems.append("nothing is written to the record after the last exchange: no word committed")
        else:
            word = committed[0]
            for directory in directories:
                if not order.is_synced(directory, last_exchange, word.position):
                    problems.append(f"directory {directory} is not synced before the word committed")
            first_unlink = min((c.position for c in order.unlinks()), default=end)
            if not order.is_synced(written_path(word), word.end, min(first_unlink, end)):
                problems.append("the word committed is not synced before the first unlink")
            for name in in_place:
                path = f"{order.tree}/{name}"
                over = [c for c in order.calls if c.name in WRITES and c.name != "fallocate" and written_path(c) == path]
                if not over:
                    problems.append(f"{name} is not written over")
                    continue
                if not order.is_synced(written_path(word), word.end, over[0].position):
                    problems.append(f"the word committed is not synced before {name} is written over")
                if not order.is_synced(path, over[-1].end, end):
                    problems.append(f"{name} is not synced between the copy over it and the reply")
        removed = [c for c in order.calls if c.name == "unlinkat" and order.journal in c.text]
        if removed and in_place:
            for name in in_place:
                path = f"{order.tree}/{name}"
                if not order.is_synced(path, order.last_write(path, end), removed[0].position):
                    problems.append(f"the record is removed before {name} is synced")
    return problems


def check_create(trace: Trace, world: World, path: str) -> list[str]:
    order = Order(trace, world)
    if order.answer is None:
        return ["no reply is seen in the trace"]
    named_by = [c for c in order.calls if c.name in ("linkat", "renameat2", "renameat", "link") and path in named(c)[-1:]]
    if not named_by:
        return [f"no call gives {path} its name"]
    problems = []
    # Made without a name or under another: whatever was written before must be synced before.
    wrote = [c for c in order.calls if c.name in WRITES and written_path(c).startswith(order.tree) and c.position < named_by[0].position]
    if not wrote or not order.is_synced(written_path(wrote[-1]), wrote[-1].end, named_by[0].position):
        problems.append("the content is not synced before the file has its name")
    made = [c for c in order.calls if c.name in ("mkdirat", "mkdir")]
    for directory in {path.rpartition("/")[0], *(p.rpartition("/")[0] for c in made for p in named(c))}:
        if not order.is_synced(directory, -1, order.answer.position):
            problems.append(f"directory {directory} is not synced before the reply")
    return problems


def main() -> int:
    report = Report()
    reason = no_strace()
    if reason:
        report.skip("order", reason)
        return report.end()
    world = World()
    create = {"file_path": world.path("made/deep/new.txt"), "contents": "new\n"}
    sets = {"one file": ["a/01.txt"], "two files": ["a/01.txt", "b/07.txt"], "one file in place": ["linked.txt"],
            "one file in a directory that cannot be written": ["shut/18.txt"], "twenty files": world.names}
    try:
        for title, names in sets.items():
            trace = traced(world, "patch_text_file_contents", world.patch_all(names))
            problems = check(trace, world, names)
            report.case(f"order: {title}", problems)
            if "--show" in sys.argv:
                print(*(str(c).replace(str(world.base) + "/", "") for c in trace if c.name in (*WRITES, *SYNCS, "renameat2", "unlinkat", "linkat")), sep="\n")
        trace = traced(world, "create_text_file", create)
        report.case("order: create", check_create(trace, world, create["file_path"]))
        # Safe against the end of the process only: nothing waits for the disk.
        for title, (tool, arguments) in {"twenty files": ("patch_text_file_contents", world.patch_all()),
                                         "create": ("create_text_file", create)}.items():
            trace = traced(world, tool, arguments, "--durability", "process")
            syncs = trace.of(*SYNCS, "syncfs", "sync_file_range", "sync", "msync")
            problems = [f"{len(syncs)} syncs, the first: {syncs[0]}"] if syncs else []
            if not any(PREFIX in call.text for call in trace.of("renameat2")):
                problems.append("no file gets its name in the trace")
            report.case(f"--durability process: {title}", problems)
    finally:
        world.close()
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
