"""I/O errors and full disks: injected at every call that writes, and real.

    faults.py [--only TEXT] [multi|single|create|undo create|redo create|move|move far|undo move|redo move|remove|undo remove|mixed|
                             undo mixed|redo mixed|mixed in place|append|lines|large|disk|state …]

An edit either fails with `io_error` or `no_space` and has changed nothing, or succeeds in full (what failed did not
matter to the files: history, clean-up; a sync of what the edit stands on always matters, whatever the files hold). After
the next start nothing is left behind.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Callable

from harness import (ONE_WORKER, SYNCS, Closed, Reply, Report, Server, Strace, Timeout, World, add_options, call_or_end, no_strace,
                     parallel, sample, share, simulate, steady, threads_of, untrue, user)

PATCH = "patch_text_file_contents"
#: Calls whose failure is a failing disk.
FAILING = ("write", "writev", "pwrite64", "copy_file_range", "fsync", "fdatasync", "renameat2", "renameat", "ftruncate", "fallocate",
           "unlinkat", "linkat", "mkdirat", "memfd_create", "pread64")
CODES = {"EIO": "io_error", "ENOSPC": "no_space"}

#: What some of the edits make, or begin with, beside the twenty files.
MADE = ("made/deep/new.txt", "large.txt", "b/moved.txt", "made/too.txt", "made/moved/02.txt")

#: A place that was not reached is tried again, and then those so far beside it: how often SQLite looks at its files differs.
BESIDE = (0, 0, 1, -1, 0)

#: How many cases of each kind of mixed calls are tried, unless it is asked for.
SOME = 40

#: An edit that creates a file with its directories, taken back; and that, taken back again.
UNDOING = ("undo create", "redo create")

#: A file that gets another name, or directories that are made for it; that, taken back, and taken back again; a file that is
#: removed, and that taken back.
MOVING = ("move", "move far", "undo move", "redo move", "remove", "undo remove")

#: A call that makes, edits, moves and removes files, taken back, and taken back again; and one with a file that is edited in place.
MIXED = ("mixed", "undo mixed", "redo mixed", "mixed in place")

#: The same replacement in many files, and that taken back.
REPLACING = ("replace", "undo replace")

#: The files that it changes.
REPLACED = [f"a/{n:02}.txt" for n in (1, 3, 4, 6)] + [f"b/{n:02}.txt" for n in (7, 9, 10, 12)]

#: What was done before each of them; the last of that is what is taken back.
BEFORE = {"undo create": ["create"], "redo create": ["create", "undo create"], "undo move": ["move far"],
          "redo move": ["move far", "undo move"], "undo remove": ["remove"], "undo mixed": ["mixed"], "redo mixed": ["mixed", "undo mixed"],
          "undo replace": ["replace"]}

EDITS = ["multi", "single", "in place", "create", *UNDOING, *MOVING, *MIXED, *REPLACING, "append", "lines"]

FEW = ["a/01.txt", "b/07.txt", "linked.txt", "shut/18.txt"]


def large_content(new: bool) -> bytes:
    lines = [f"line {n} of a file that does not fit into memory\n" for n in range(30_000)]
    lines[15_000] = "changed, and longer than it was before: a line\n" if new else lines[15_000]
    return "".join(lines).encode()


def arguments(world: World, kind: str) -> tuple[str, dict[str, Any]]:
    if kind == "multi":
        return PATCH, world.patch_all(FEW)
    if kind == "single":
        return PATCH, world.patch_all(["a/02.txt"])
    if kind == "in place":
        return PATCH, world.patch_all(["linked.txt"])
    if kind == "asked":
        return PATCH, world.patch_all(["a/04.txt"])
    if kind == "create":
        return "create_text_file", {"file_path": world.path("made/deep/new.txt"), "contents": "quite new\n"}
    if kind in BEFORE:
        return "undo_text_file_edits", {"edit_id": world.edit_id}
    if kind in ("mixed", "mixed in place"):
        return PATCH, mixed(world, kind)
    if kind in ("move", "move far"):
        to = "b/moved.txt" if kind == "move" else MADE[0]
        return "move_text_file", {"from": world.path("a/02.txt"), "to": world.path(to)}
    if kind == "remove":
        return "remove_text_file", {"file_path": world.path("a/02.txt"), "file_hash": hashlib.sha256(world.old["a/02.txt"]).hexdigest()}
    if kind == "lines":
        lines = {"from": world.path("a/02.txt"), "start": 1, "end": 1, "range_hash": hashlib.sha256(first_line(world)).hexdigest(), "move": True}
        of_other = hashlib.sha256(world.old["a/03.txt"]).hexdigest()
        copy = {key: value for key, value in lines.items() if key != "move"} | {"to": world.path("a/03.txt"), "file_hash": of_other, "after": 0}
        return "copy_text_lines", {"copies": [lines | {"to": world.path(MADE[0])}, copy]}
    if kind == "replace":
        return "replace_in_text_files", {"pattern": "^marker ([02]) old$", "replacement": "marker $1 new", "paths": [world.path("a"), world.path("b")],
                                         "expected_replacements": len(REPLACED)}
    if kind == "append":
        return "append_text_file_contents", {"file_path": world.path("a/03.txt"), "contents": "one more\n",
                                             "file_hash": hashlib.sha256(world.old["a/03.txt"]).hexdigest()}
    patch = {"old_string": "line 15000 of a file that does not fit into memory\n", "new_string": "changed, and longer than it was before: a line\n"}
    return PATCH, {"files": [{"file_path": world.path("large.txt"), "patches": [patch]}]}


def mixed(world: World, kind: str) -> dict[str, Any]:
    """Files that are made in a directory of two of them and below it, edited, moved to a new directory, edited and moved, removed, and made
    anew under a name that is moved away, with the same text; and one that is moved onto the name of another that is removed."""
    patched = world.patch_all(["a/01.txt", "b/07.txt", "a/03.txt", *(["linked.txt"] if kind == "mixed in place" else [])])["files"]
    entry = {Path(file["file_path"]).relative_to(world.tree).as_posix(): file for file in patched}
    entry["a/03.txt"]["move_to"] = world.path("b/moved.txt")
    return {"files": [
        *({"file_path": world.path(name), "contents": content} for name, content in makes(world).items()), *patched,
        {"file_path": world.path("a/02.txt"), "move_to": world.path("made/moved/02.txt")},
        {"file_path": world.path("a/05.txt"), "move_to": world.path("a/04.txt")},
        {"file_path": world.path("a/04.txt"), "file_hash": hashlib.sha256(world.old["a/04.txt"]).hexdigest(), "remove": True}]}


def makes(world: World) -> dict[str, str]:
    """What is made by a mixed call: a copy of a file that it moves away, and two that are empty."""
    return {"a/02.txt": world.old["a/02.txt"].decode(), "made/deep/new.txt": "", "made/too.txt": ""}


def first_line(world: World) -> bytes:
    """The line that moves to a new file, and is copied to another."""
    return world.old["a/02.txt"].split(b"\n")[0] + b"\n"


def options(kind: str) -> tuple[str, ...]:
    """The server's, by which nothing but `--in-place` shows that the file of `asked` is to be written over."""
    return (*ONE_WORKER, "--in-place", "04.txt") if kind == "asked" else ONE_WORKER


def begin(world: World, kind: str) -> None:
    world.reset()
    world.hold()
    if kind == "large":
        world.put("large.txt", large_content(False))
        world._give(world.tree / "large.txt")
    if kind in BEFORE:
        with world.server(*ONE_WORKER) as server:
            for deed in BEFORE[kind]:
                world.before = files(world)
                done = server.call(*arguments(world, deed))
                assert not done.is_error, done.text
                world.edit_id = json.loads(done.text)["edit_id"]


def files(world: World) -> dict[str, bytes]:
    """The content of everything that was not made by the server for itself."""
    found = {}
    for path in sorted(world.tree.rglob("*")):
        name = str(path.relative_to(world.tree))
        if path.name.startswith(".mte-") or name == "outside.txt":
            continue
        found[name] = b"<directory>" if path.is_dir() else path.read_bytes()
    return found


def expected(world: World, kind: str) -> dict[str, bytes]:
    after = files(world)
    if kind == "multi":
        after.update({name: world.new[name] for name in FEW})
        after["c/linked-too.txt"] = world.new["linked.txt"]
    elif kind == "replace":
        after.update({name: world.new[name] for name in REPLACED})
    elif kind == "single":
        after["a/02.txt"] = world.new["a/02.txt"]
    elif kind == "asked":
        after["a/04.txt"] = world.new["a/04.txt"]
    elif kind == "in place":
        after["linked.txt"] = after["c/linked-too.txt"] = world.new["linked.txt"]
    elif kind in BEFORE:
        after = world.before
    elif kind == "move":
        after["b/moved.txt"] = after.pop("a/02.txt")
    elif kind == "move far":
        after.update({"made": b"<directory>", "made/deep": b"<directory>", MADE[0]: after.pop("a/02.txt")})
    elif kind == "remove":
        del after["a/02.txt"]
    elif kind == "create":
        after.update({"made": b"<directory>", "made/deep": b"<directory>", "made/deep/new.txt": b"quite new\n"})
    elif kind in ("mixed", "mixed in place"):
        after.update({"made": b"<directory>", "made/deep": b"<directory>", "made/moved": b"<directory>", "made/moved/02.txt": after["a/02.txt"]})
        after.update({name: world.new[name] for name in ("a/01.txt", "b/07.txt")} | {"b/moved.txt": world.new["a/03.txt"]})
        after.update({name: content.encode() for name, content in makes(world).items()})
        del after["a/03.txt"]
        after["a/04.txt"] = after.pop("a/05.txt")
        if kind == "mixed in place":
            after["linked.txt"] = after["c/linked-too.txt"] = world.new["linked.txt"]
    elif kind == "lines":
        line = first_line(world)
        after.update({"made": b"<directory>", "made/deep": b"<directory>", MADE[0]: line})
        after.update({"a/02.txt": after["a/02.txt"].removeprefix(line), "a/03.txt": line + after["a/03.txt"]})
    elif kind == "append":
        after["a/03.txt"] += b"one more\n"
    else:
        after["large.txt"] = large_content(True)
    return after


def difference(now: dict[str, bytes], was: dict[str, bytes]) -> str:
    out = []
    for name in sorted(now.keys() | was.keys()):
        if now.get(name) != was.get(name):
            out.append(f"{name}: {short(now.get(name))}, expected {short(was.get(name))}")
    return "; ".join(out[:6])


def short(content: bytes | None) -> str:
    return "missing" if content is None else f"{len(content)} bytes {content[-30:]!r}"


@dataclass(frozen=True)
class Fault:
    """An error at the n-th call of a name for a path or, where its name is drawn by lot, in a thread (None: in any)."""

    kind: str
    thread: int | None
    name: str
    n: int
    error: str
    what: str
    path: str = ""
    #: Names of calls which all fail from the n-th on, beside it (truth.py).
    then: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        whose = self.path or ("any thread" if self.thread is None else f"thread {self.thread}") + f" ({self.what})"
        then = "".join(f", and at {name} from #{n} on" for name, n in self.then)
        return f"{self.kind}: {self.error} at {self.name} #{self.n} of {whose}{then}"

    @property
    def is_shared(self) -> bool:
        """Whether threads share this work as it comes: any temporary's sync is as good as another's."""
        return self.name == "fsync" and ".mte-" in self.what

    def has_hit(self, paths: set[str]) -> bool:
        # How many reads of the history come before it differs, so one of another file of the call will do.
        is_read = self.name == "pread64" and any(path.startswith("tree/") for path in paths)
        return self.what in paths or is_read or self.is_shared and any(".mte-" in path for path in paths)

    @property
    def is_of_emptied(self) -> bool:
        """Whether it stops the removal of a directory that a file had been made with: that is gone already, and for good. At worst an empty
        directory is left, after a power cut if it was the sync that failed, else until the next recovery."""
        return self.kind in ("undo create", "undo move", "undo mixed") and (self.name == "unlinkat" or self.name in SYNCS and self.path in ("tree/made", "tree"))

    def is_done(self, now: dict[str, bytes], after: dict[str, bytes]) -> bool:
        left = {name: now[name] for name in ("made", "made/deep", "made/moved") if name in now} if self.is_of_emptied and self.name == "unlinkat" else {}
        return now == after | left

    @property
    def codes(self) -> tuple[str, ...]:
        """What it may be refused with: SQLite does not tell why it could not read the history; a file that cannot be read lacks in the count."""
        others = (["io_error"] if self.kind in BEFORE and self.path.startswith("state/history.db") else [])
        return CODES[self.error], *others, *(["count_mismatch"] if self.kind == "replace" else [])

    def must_be_refused(self, paths: set[str]) -> bool:
        """Whether the edit stands on one of these, which could not be synced. The journal is synced again when all is done."""
        if self.is_of_emptied:
            return False
        files = any(path == "tree" or path.startswith(("tree/", "state/content", "state/journal/")) for path in paths)
        return self.name in SYNCS and (files or self.path == "state/journal" and self.n == 1)


def general(path: str, base: Path) -> str:
    """A path beneath `base` without what is drawn by lot."""
    inside = path.removeprefix(f"{base}/")
    return re.sub(r"(/journal/|\.mte-)[0-9a-f]{16}", r"\1*", inside)


def faults_of(world: World, kind: str) -> list[Fault]:
    begin(world, kind)
    after = expected(world, kind)
    with world.server(*ONE_WORKER) as server:
        world.warm(server)
        threads = threads_of(server)
        strace = Strace(server.process.pid, "-y", all_threads=True)
        call = arguments(world, kind)
        world.touch()
        reply = server.call(*call)
        trace = strace.detach()
        if reply.is_error:
            raise RuntimeError(reply.text)
    if files(world) != after:
        raise RuntimeError(f"acknowledged, and not done: {difference(files(world), after)}")
    exchanged = [c.position for c in trace.of("renameat2") if "EXCHANGE" in c.text]
    after = [c.name for c in trace.of("pread64", *SYNCS) if exchanged and c.position > exchanged[0]]
    if after and after[0] != "pread64":
        raise RuntimeError("what was exchanged is not read again")
    found: dict[tuple[int | None, str, int, str], str] = {}
    seen: dict[tuple[int, str, str], int] = {}
    for call in trace.of(*FAILING):
        for path in call.paths:
            seen[call.thread, call.name, path] = seen.get((call.thread, call.name, path), 0) + 1
        if not call.path.startswith((str(world.base), "/memfd:")):
            continue  # a reply, or a thread that wakes another
        thread = threads.index(call.thread) if call.thread in threads else None
        path = steady(call.path, world.base)
        place = (thread, call.name, call.index, "") if path is None else (None, call.name, seen[call.thread, call.name, call.path], path)
        found.setdefault(place, general(call.path, world.base))
    # No read fails for want of room.
    codes = lambda name: ("EIO",) if name == "pread64" else CODES  # noqa: E731
    return [Fault(kind, thread, name, n, error, what, path)
            for (thread, name, n, path), what in found.items() for error in codes(name)]


def most(kind: str, wanted: int) -> int:
    """How many cases of a kind are tried, if so many are wanted; 0 is all."""
    return wanted or (SOME if kind in MIXED else 0)


class NotReached(Exception):
    """The error came elsewhere, or nowhere."""


def fault(world: World, case: Fault) -> list[str]:
    begin(world, case.kind)
    before, after, all_before = files(world), expected(world, case.kind), world.everything()
    problems: list[str] = []
    strace = None
    server = world.server(*ONE_WORKER)
    try:
        world.warm(server)
        threads = threads_of(server)
        which = server.process.pid if case.thread is None else threads[case.thread]
        strace = Strace(which, "-y", "-e", f"trace={case.name}", "-e", f"inject={case.name}:error={case.error}:when={case.n}",
                        *(["-P", str(world.base / case.path)] if case.path else []), all_threads=case.thread is None)
        call = arguments(world, case.kind)
        world.touch()
        reply = call_or_end(server, *call)
        trace = strace.detach(0)
        strace = None
        if reply is None:
            return [f"the server ended: {server.stderr()[-400:]}"]
        hit = {general(path, world.base) for c in trace if "(INJECTED)" in c.text for path in c.paths}
        now = files(world)
        if reply.is_error:
            if reply.code not in case.codes:
                problems.append(f"code {reply.code}: {reply.text[:300]}")
            if "nothing was written" not in reply.text:
                problems.append(f"the reply does not say that nothing was written: {reply.text[:300]}")
            if now != before:
                problems.append(f"refused with {reply.code}, and changed: {difference(now, before)}")
            problems += untrue(reply, all_before, world.everything())
            if not hit:
                problems.append(f"refused, and nothing failed: {reply.text[:300]}")
        elif not case.is_done(now, after):
            problems.append(f"acknowledged, and not done: {difference(now, after)}; {reply.text[:200]}")
        elif case.must_be_refused(hit):
            problems.append(f"acknowledged, and not synced: {' '.join(hit)}; {reply.text[:200]}")
        if not case.has_hit(hit):
            if problems:
                return problems
            raise NotReached(f"not reached: the error was at {hit}")
        # Nobody else's file, and the same file again: no lock and no record stands in the way.
        problems += world.edit_outside(server)
    except Timeout as end:
        problems.append(f"{type(end).__name__}: {end}")
    finally:
        if strace:
            strace.detach()
        server.close()
    problems += world.recover()
    now = files(world)
    wanted = before if reply is not None and reply.is_error else after
    if now != wanted and not any("changed:" in p or "not done" in p for p in problems):
        problems.append(f"after the next start: {difference(now, wanted)}")
    problems += world.strays(*MADE)
    if problems and reply is not None:
        problems.insert(0, f"answered {reply.code or 'ok: ' + reply.text[:150]}")
    return problems


def check_fault(world: World, case: Fault) -> list[str]:
    """A place that was not reached is tried again; of those that threads share, in the end the first of each thread."""
    for attempt, beside in enumerate(BESIDE):
        if attempt == len(BESIDE) - 1 and case.is_shared:
            case = replace(case, thread=None, n=1)
        try:
            return fault(world, replace(case, n=max(1, case.n + beside)))
        except NotReached as end:
            problems = [str(end)]
    return problems


# Real disks


class Mounted:
    """A tmpfs on a directory, with its size and number of files."""

    def __init__(self, path: Path, options: str) -> None:
        self.path = path
        path.mkdir(exist_ok=True)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(path)], capture_output=True, text=True)
        if done.returncode:
            raise PermissionError(done.stderr.strip())

    def fill(self, leave: int = 0) -> None:
        """Leaves about so many bytes, or none."""
        with open(self.path / "filler", "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 4096)
            except OSError:
                pass
            if leave:
                file.truncate(max(0, file.tell() - leave))

    def __enter__(self) -> Mounted:
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run(["umount", "-l", str(self.path)], check=True)


def cannot_mount(base: Path) -> str | None:
    if os.geteuid() != 0:
        return "not root"
    try:
        with Mounted(base / "probe", "size=64k"):
            return None
    except (PermissionError, FileNotFoundError) as error:
        return f"cannot mount: {error}"


def check_reply(reply: Reply, code: str | None, before: dict[str, bytes], after: dict[str, bytes], now: dict[str, bytes]) -> list[str]:
    """`code`: what it must be refused with; None: it must be done, or be refused by anything that is no accident."""
    problems = []
    if reply.is_error:
        if code is not None and reply.code != code:
            problems.append(f"code {reply.code}, must be {code}: {reply.text[:300]}")
        if reply.code in ("internal_error", "cancelled") or reply.rpc_error:
            problems.append(f"unclear: {reply.text[:300]}")
        if now != before:
            problems.append(f"refused, and changed: {difference(now, before)}")
    elif code is not None:
        problems.append(f"not refused: {reply.text[:300]}")
    elif now != after:
        problems.append(f"acknowledged, and not done: {difference(now, after)}")
    return problems


def full_disk(report: Report) -> None:
    for size, leave in ((640, 0), (640, 32 * 1024)):
        for what in ("single", "multi", "in place", "create", "append"):
            base = Path(subprocess.check_output(["mktemp", "-d", "--tmpdir", "mte-full-XXXXXX"], text=True).strip()).resolve()
            base.chmod(0o755)
            try:
                with Mounted(base / "tree", f"size={size}k") as disk:
                    tree = base / "tree"
                    names = {"a.txt": 90_000, "b.txt": 90_000, "linked.txt": 90_000}
                    for name, length in names.items():
                        (tree / name).write_bytes(b"marker\n" + (b"0123456789abcde\n" * (length // 16)))
                    os.link(tree / "linked.txt", tree / "other.txt")
                    disk.fill(leave)
                    contents = lambda: {p.name: p.read_bytes() for p in tree.iterdir() if p.name != "filler"}  # noqa: E731
                    before = contents()
                    patch = [{"old_string": "marker\n", "new_string": "marker of the new content\n" * 3000}]
                    some = {"single": ["a.txt"], "multi": ["a.txt", "b.txt", "linked.txt"], "in place": ["linked.txt"]}.get(what)
                    with Server(tree, state=base / "state") as server:
                        if some:
                            reply = server.call(PATCH, {"files": [{"file_path": str(tree / n), "patches": patch} for n in some]})
                        elif what == "create":
                            reply = server.call("create_text_file", {"file_path": str(tree / "d/e/new.txt"), "contents": "x" * 70_000})
                        else:
                            import hashlib
                            reply = server.call("append_text_file_contents", {"file_path": str(tree / "a.txt"), "contents": "y" * 70_000,
                                                "file_hash": hashlib.sha256(before["a.txt"]).hexdigest()})
                        problems = check_reply(reply, "no_space", before, {}, contents())
                        # With room again, the same server goes on.
                        (tree / "filler").unlink()
                        again = server.call(PATCH, {"files": [{"file_path": str(tree / "a.txt"), "patches": [
                            {"old_string": "marker\n", "new_string": "again\n"}]}]})
                        if again.is_error:
                            problems.append(f"with room again: {again.text[:300]}")
                    report.case(f"full tmpfs ({leave} bytes left): {what}", problems)
            finally:
                shutil.rmtree(base, ignore_errors=True)


def room_of_replaced(report: Report) -> None:
    """Room for the old content and the new, but not for what was replaced before, which is still being closed."""
    base = Path(subprocess.check_output(["mktemp", "-d", "--tmpdir", "mte-full-XXXXXX"], text=True).strip()).resolve()
    base.chmod(0o755)
    try:
        file = base / "tree/a.txt"
        again = lambda n: {"files": [{"file_path": str(file), "patches": [{"old_string": "marker\n" * n, "new_string": "marker\n" * (n + 1)}]}]}  # noqa: E731
        create = {"file_path": str(file.with_name("b.txt")), "contents": "x" * 240_000}
        for then in ((PATCH, again(2)), ("create_text_file", create)):
            with Mounted(base / "tree", "size=640k"):
                file.write_bytes(b"marker\n" + b"0123456789abcde\n" * 15_000)
                with Server(base / "tree", state=base / "state") as server:
                    # The first close of each thread takes long: so does the first that the thread does which closes replaced files.
                    strace = Strace(server.process.pid, "-e", "trace=close", "-e", "inject=close:delay_enter=3000000:when=1", all_threads=True)
                    replies = [server.call(PATCH, again(1)), server.call(*then)]
                    strace.detach()
            report.case(f"room of what was replaced, for {then[0]}", [reply.text[:300] for reply in replies if reply.is_error])
    finally:
        shutil.rmtree(base, ignore_errors=True)


def states(report: Report, mount: bool) -> None:
    """Wherever the journal and the history cannot be kept, edits go on with a warning, or are refused clearly."""
    def missing(world: World) -> None:
        shutil.rmtree(world.state)

    def hopeless(world: World) -> None:
        shutil.rmtree(world.state)
        (world.base / "shut-away").mkdir(mode=0o555, exist_ok=True)
        world.state = world.base / "shut-away/state"

    def a_file(world: World) -> None:
        shutil.rmtree(world.state)
        world.state.write_text("not a directory\n")

    def unwritable(world: World) -> None:
        world.state.chmod(0o555)

    def journal_is_a_file(world: World) -> None:
        (world.state / "journal").write_text("not a directory\n")
        world._give(world.state / "journal")

    def journal_unwritable(world: World) -> None:
        (world.state / "journal").mkdir()
        world._give(world.state / "journal")
        (world.state / "journal").chmod(0o555)

    def history_is_garbage(world: World) -> None:
        (world.state / "history.db").write_bytes(os.urandom(8192))
        world._give(world.state / "history.db")

    def history_is_a_directory(world: World) -> None:
        (world.state / "history.db").mkdir()

    def vanishes(world: World) -> None:
        pass

    setups: list[Callable[[World], None]] = [missing, hopeless, a_file, unwritable, journal_is_a_file, journal_unwritable,
                                             history_is_garbage, history_is_a_directory, vanishes]
    if mount:
        def full(world: World) -> None:
            mounts.append(Mounted(world.state, f"size=64k,mode=700,uid={user() or 0}"))
            mounts[-1].fill()

        def read_only(world: World) -> None:
            mounts.append(Mounted(world.state, f"size=64k,mode=700,uid={user() or 0}"))
            subprocess.run(["mount", "-o", "remount,ro", str(world.state)], check=True)
        setups += [full, read_only]
    world = World()
    ordinary = world.state
    try:
        for setup in setups:
            for kind in ("single", "multi", "in place", "create"):
                mounts: list[Mounted] = []
                world.state = ordinary
                begin(world, kind)
                before, after = files(world), expected(world, kind)
                setup(world)
                said = "?"
                try:
                    try:
                        with world.server() as server:
                            world.warm(server)
                            if setup is vanishes:
                                shutil.rmtree(world.state)
                            reply = server.call(*arguments(world, kind))
                            said = reply.text
                            problems = check_reply(reply, None, before, after, files(world))
                            if "panic" in server.stderr():
                                problems.append(f"panic: {server.stderr()[-400:]}")
                    except (Closed, Timeout) as end:
                        problems = [f"{type(end).__name__}: {end}"]
                finally:
                    for mounted in mounts:
                        mounted.__exit__()
                    if world.state.is_file():
                        world.state.unlink()
                if world.state.is_dir():
                    world.state.chmod(0o700)
                left = [str(p.relative_to(world.tree)) for p in world.tree.rglob(".mte-*")]
                if left:
                    problems.append(f"left behind: {left[:4]}")
                if not problems and setup not in (missing, vanishes, history_is_garbage, history_is_a_directory) \
                        and not said.startswith("error") and not re.search('"warnings":.*(state|journal|history|undo)', said):
                    problems.append(f"done without a warning: {said[:300]}")
                report.case(f"state directory: {setup.__name__.replace('_', ' ')}: {kind}", [*problems, said[:200]] if problems else [])
                if "--verbose" in sys.argv:
                    print(f"   {setup.__name__}: {kind}: {said[-260:]}")
    finally:
        world.state = ordinary
        world.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="only faults whose description holds this")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("parts", nargs="*", default=[])
    add_options(parser)
    options = parser.parse_args()
    simulate(options.simulate)
    parts = options.parts or [*EDITS, "large", "disk", "state"]
    report = Report()
    world = World()
    try:
        unmountable = cannot_mount(world.base)
        faults: list[Fault] = []
        kinds = [kind for kind in parts if kind not in ("disk", "state")]
        reason = no_strace()
        if reason:
            report.skip("what is injected", reason)
        for kind in [] if reason else kinds:
            try:
                faults += sample(faults_of(world, kind), options.sample if options.parts else most(kind, options.sample))
            except RuntimeError as error:
                report.case(f"dry run of {kind}", [str(error)])
    finally:
        world.close()
    faults = share([f for f in faults if options.only in str(f)], options.share)
    report.section(f"{len(faults)} injected errors")
    for case, problems in parallel(check_fault, faults) if faults else ():
        report.case(str(case), [problems] if isinstance(problems, str) else problems)
    if unmountable:
        report.skip("a real full disk", unmountable)
    elif "disk" in parts:
        report.section("full disks")
        full_disk(report)
        if not reason:
            room_of_replaced(report)
    if "state" in parts:
        report.section("state directories")
        states(report, mount=not unmountable)
    report.section("done")
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
