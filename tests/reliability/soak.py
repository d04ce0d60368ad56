"""A long mixed load: what a process holds, and what lies on the disk, is at the end as it was at the beginning, and nothing that was
acknowledged is lost.

    soak.py [--seconds N] [--files N] [--pace S] [--seed N] [--svg FILE] [--samples FILE]
    soak.py --draw SAMPLES --svg FILE
    soak.py --convict

Four servers on one tree and one state directory: two over stdio, each with four calls in flight, two over HTTP with six clients, which take
either. Edits of all tools and of several files, creations, moves, removals, undo, reads, searches (some over the whole tree of N files) and
lists. One server of each kind lives all the while; of the others one is killed (SIGKILL) each minute and started again, or loses its client.
HTTP clients hang up in the midst of a call. Now and then the disk of the tree, or that of the state, is full; these two are mounted in a
namespace of its own, which wants root.

Each client has files of its own, of which it knows every byte, and sees them on the disk after each answer, and by reads through any server;
and all put lines of their own into shared files, and take them away. Of a call without an answer all or nothing must stand.

Memory, descriptors and threads of each process, and temporaries, records and the size of the history are looked at all the while: the median
of the last tenth may not be above that of an early one but by `SLACK`. At the end, after a server has recovered, nothing may be left.

`--convict` is some seconds of load in which all of that is broken on purpose, and must be found.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import random
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import curves
from harness import PREFIX, Closed, Reply, Report, Server, binary, reachable, user

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "http"))

from load import Client, Unknown, free_ports, wait_for_port  # noqa: E402

PATCH = "patch_text_file_contents"
#: What a call works at most; a call of which nobody heard is over after that, and what it asked for is then there or not.
CALL_SECONDS = 60
HISTORY = 8 << 20
OPTIONS = ("--tools", "all", "--limit", f"call-seconds={CALL_SECONDS}", "--history-size", str(HISTORY))
IN_FLIGHT = 4
SHARED, END = 8, "the end\n"
#: How much more than early the median of the last tenth may be: a part of it, and besides.
SLACK = {"rss": (0.25, 16 << 20), "descriptors": (0.25, 8), "threads": (0.25, 6)}
#: The history's files may be a quarter larger than its bound, and by the last 4 MB (docs/limits.md).
HISTORY_MOST = HISTORY * 5 // 4 + (6 << 20)
Content = dict[str, bytes | None]


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def on_disk(path: str) -> bytes | None:
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        return None


@dataclass
class Op:
    """A call, and its files before and after it; those of a tag are shared, and others write there."""

    kind: str
    tool: str
    arguments: dict[str, Any]
    before: Content = field(default_factory=dict)
    after: Content = field(default_factory=dict)
    check: Callable[[Reply], list[str]] = lambda reply: []
    tag: str = ""
    shared: tuple[str, ...] = ()
    adds: bool = False
    #: Begun at, and whether a disk was full then.
    began: float = 0.0

    @property
    def paths(self) -> set[str]:
        return self.before.keys() | self.after.keys()


class Soak:
    """What all threads share."""

    def __init__(self, base: Path, options: argparse.Namespace, disks: bool) -> None:
        self.base, self.tree, self.state = base, base / "tree", base / "state"
        self.options, self.disks = options, disks
        self.stop = threading.Event()
        self.lock = threading.Lock()
        self.problems: list[str] = []
        self.counts: Counter[str] = Counter()
        self.codes: Counter[str] = Counter()
        #: Tags that stand in shared files, by what was answered, and those of which nobody knows.
        self.tags: dict[str, tuple[str, ...]] = {}
        self.unsure_tags: list[Op] = []
        #: When a disk was full: from, to.
        self.full: list[tuple[str, float, float]] = []
        self.kills: list[tuple[str, float]] = []
        self.began = time.monotonic()

    def now(self) -> float:
        return time.monotonic() - self.began

    def problem(self, text: str) -> None:
        with self.lock:
            self.problems.append(f"at {self.now():.1f} s: {text}")
            if len(self.problems) == 1 and not self.options.convict:
                print(f"   the first problem, {self.problems[0]}", flush=True)

    def was_full(self, since: float) -> bool:
        """Whether a disk was full at any moment since then, or a moment before."""
        return any(until + 1 >= since for _, _, until in self.full)

    # The tree

    def plant(self) -> None:
        for number in range(self.options.files):
            path = self.static(number)
            if number % 100 == 0:
                path.parent.mkdir(parents=True)
            path.write_bytes(self.planted(number))
        (self.tree / "shared").mkdir()
        for path in self.shared():
            Path(path).write_text(f"{Path(path).name}\n{END}")

    def static(self, number: int) -> Path:
        return self.tree / "static" / f"{number // 100:04}" / f"{number:06}.txt"

    @staticmethod
    def planted(number: int) -> bytes:
        return f"file {number}\nneedle {number:07}.\n".encode() + b"a line like many others\n" * (number % 40)

    def shared(self) -> list[str]:
        return [str(self.tree / "shared" / f"{number}.txt") for number in range(SHARED)]


class Lane:
    """A client with files of its own: makes up calls, and holds what was answered against the disk."""

    def __init__(self, soak: Soak, name: str, seed: str) -> None:
        self.soak, self.name, self.rng = soak, name, random.Random(seed)
        self.home = soak.tree / "work" / name
        self.numbers = itertools.count()
        self.model: dict[str, bytes] = {}
        self.busy: set[str] = set()
        self.unsure: list[Op] = []
        self.undoable: list[Op] = []
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        (self.home / "d0").mkdir(parents=True)
        for number in range(24):
            self._put(f"d0/first-{number}.txt", self._text(12, b"\r\n" if number % 4 == 0 else b"\n"))
        self.fixed = [self._put("large.txt", self._text(24_000)), self._put("linked.txt", self._text(30))]
        self.other_name = soak.base / "tree" / "links" / name
        self.other_name.parent.mkdir(exist_ok=True)
        os.link(self.fixed[1], self.other_name)

    def _put(self, name: str, content: bytes) -> str:
        path = str(self.home / name)
        Path(path).write_bytes(content)
        self.model[path] = content
        return path

    def _line(self) -> str:
        return f"<{self.name} {next(self.numbers)}> " + " ".join(self.rng.choices(("one", "two", "three", "Größe", "日本", "\t"), k=self.rng.randrange(8)))

    def _text(self, lines: int, end: bytes = b"\n") -> bytes:
        return b"".join(self._line().encode() + end for _ in range(lines))

    # Making up calls

    def free(self, few: int = 1, small: bool = False) -> list[str]:
        """Files that no call in flight names."""
        paths = [path for path in self.model if path not in self.busy and not (small and path in self.fixed)]
        return self.rng.sample(paths, min(few, len(paths)))

    def unused(self) -> str:
        return str(self.home / f"d{self.rng.randrange(12)}" / f"{next(self.numbers)}.txt")

    def patched(self, path: str) -> tuple[dict[str, Any], bytes]:
        """An entry that changes up to three lines, by their text or their hash, and the content after it."""
        lines = self.model[path].splitlines(keepends=True)
        patches = []
        for index in self.rng.sample(range(len(lines)), min(len(lines), self.rng.randint(1, 3))):
            old, new = lines[index], self._line()
            bare = old.rstrip(b"\r\n")
            if self.rng.random() < 0.3:
                patches.append({"ranges": [{"start": index + 1, "end": index + 1, "range_hash": digest(old)}], "new_string": new + "\n"})
            else:
                patches.append({"old_string": bare.decode(), "new_string": new})
            lines[index] = new.encode() + old[len(bare):]
        return {"file_path": path, "patches": patches}, b"".join(lines)

    def one(self) -> Op:
        (path,) = self.free()
        entry, after = self.patched(path)
        return Op("patch", PATCH, {"files": [entry]}, {path: self.model[path]}, {path: after})

    def several(self) -> Op:
        entries = {path: self.patched(path) for path in self.free(self.rng.randint(2, 5))}
        return Op("several", PATCH, {"files": [entry for entry, _ in entries.values()]}, {path: self.model[path] for path in entries},
                  {path: after for path, (_, after) in entries.items()})

    def lines(self) -> Op:
        """An append, an insertion or a deletion; long files become shorter."""
        (path,) = self.free()
        old = self.model[path]
        lines = old.splitlines(keepends=True)
        end = b"\r\n" if old.endswith(b"\r\n") else b"\n"
        call: dict[str, Any] = {"file_path": path, "file_hash": digest(old)}
        most = 24_000 if path == self.fixed[0] else 40
        if len(lines) > most:
            start = self.rng.randrange(len(lines) - 10)
            call["ranges"] = [{"start": start + 1, "end": start + 10, "range_hash": digest(b"".join(lines[start:start + 10]))}]
            return Op("delete", "delete_text_file_contents", call, {path: old}, {path: b"".join(lines[:start] + lines[start + 10:])})
        added = [self._line() for _ in range(self.rng.randint(1, 6))]
        call["contents"] = "".join(line + "\n" for line in added)
        new = [line.encode() + end for line in added]
        if self.rng.random() < 0.5:
            return Op("append", "append_text_file_contents", call, {path: old}, {path: b"".join(lines + new)})
        call["after"] = self.rng.randint(0, len(lines))
        return Op("insert", "insert_text_file_contents", call, {path: old}, {path: b"".join(lines[:call["after"]] + new + lines[call["after"]:])})

    def moved_lines(self) -> Op:
        """Lines of one file that go to the end of another, whose line ends they get."""
        old, to = self.free(2, small=True)
        lines, end = self.model[old].splitlines(keepends=True), b"\r\n" if self.model[to].endswith(b"\r\n") else b"\n"
        known = {line.rstrip(b"\r\n") for line in self.model[to].splitlines()}
        # A line that the target has already could not be named by its text there.
        if len(lines) < 2 or any(line.rstrip(b"\r\n") in known for line in lines):
            return self.create()
        cut = self.rng.randint(1, len(lines) - 1)
        moved = b"".join(line.rstrip(b"\r\n") + end for line in lines[:cut])
        call = {"from": old, "start": 1, "end": cut, "range_hash": digest(b"".join(lines[:cut])), "move": True,
                "to": to, "file_hash": digest(self.model[to]), "after": len(self.model[to].splitlines())}
        return Op("moved lines", "copy_text_lines", call, {path: self.model[path] for path in (old, to)},
                  {old: b"".join(lines[cut:]), to: self.model[to] + moved})

    def create(self) -> Op:
        """A new file, often equal to another."""
        path, content = self.unused(), self._text(self.rng.randint(1, 20))
        if self.rng.random() < 0.4 and (others := self.free(small=True)):
            content = self.model[others[0]]
        return Op("create", "create_text_file", {"file_path": path, "contents": content.decode()}, {path: None}, {path: content})

    def move(self) -> Op:
        (path,), to = self.free(small=True), self.unused()
        content = self.model[path]
        return Op("move", "move_text_file", {"from": path, "to": to}, {path: content, to: None}, {path: None, to: content})

    def remove(self) -> Op:
        (path,) = self.free(small=True)
        content = self.model[path]
        return Op("remove", "remove_text_file", {"file_path": path, "file_hash": digest(content)}, {path: content}, {path: None})

    def mixed(self) -> Op:
        """Edits, makes, moves and removes in one call."""
        edited, moved, removed = self.free(3, small=True)
        made, to, content = self.unused(), self.unused(), self._text(5)
        entry, after = self.patched(edited)
        files = [entry, {"file_path": made, "contents": content.decode()}, {"file_path": moved, "move_to": to},
                 {"file_path": removed, "remove": True, "file_hash": digest(self.model[removed])}]
        return Op("mixed", PATCH, {"files": files}, {edited: self.model[edited], made: None, moved: self.model[moved], to: None, removed: self.model[removed]},
                  {edited: after, made: content, moved: None, to: self.model[moved], removed: None})

    def undo(self) -> Op | None:
        """Takes back an edit whose files nobody has changed since."""
        self.undoable = [op for op in self.undoable if all(self.model.get(path) == after for path, after in op.after.items())][-50:]
        fit = [op for op in self.undoable if self.busy.isdisjoint(op.paths)]
        if not fit:
            return None
        op = self.rng.choice(fit)
        self.undoable.remove(op)
        return Op("undo", "undo_text_file_edits", {"edit_id": op.arguments["edit_id"]}, op.after, op.before)

    def tag(self) -> Op:
        """A line into up to three shared files, or out of them."""
        if len(self.tags) > 6 or (self.tags and self.rng.random() < 0.4):
            tag, files = self.tags.pop(self.rng.randrange(len(self.tags)))
            patch, adds = {"old_string": f"{tag}\n", "new_string": ""}, False
        else:
            tag, files = f"[{self.name} {next(self.numbers)}]", tuple(self.rng.sample(self.soak.shared(), self.rng.choice((1, 1, 2, 3))))
            patch, adds = {"old_string": END, "new_string": f"{tag}\n{END}"}, True
        arguments = {"files": [{"file_path": path, "patches": [patch]} for path in files]}
        return Op("tag" if adds else "untag", PATCH, arguments, tag=tag, shared=files, adds=adds)

    def read(self) -> Op:
        (path,) = self.free()
        content = self.model[path]
        lines = content.splitlines()
        start = self.rng.randrange(max(1, len(lines) - 20))

        def check(reply: Reply) -> list[str]:
            shown = "".join(f"{start + n + 1}\t{line.decode()}\n" for n, line in enumerate(lines[start:start + 20]))
            good = f"file_hash {digest(content)[:16]} " in reply.text and shown.strip() in reply.text
            return [] if good else [f"a read of {path} shows other than was acknowledged: {reply.text[:300]!r}"]

        return self.asking("read", "get_text_file_contents", {"file_path": path, "line_start": start + 1, "line_end": start + 20}, path, check)

    def search(self) -> Op:
        (path,) = self.free()
        lines = self.model[path].splitlines()
        index = self.rng.randrange(len(lines))
        hit = f"{path}:{index + 1}:"
        text = lines[index].decode().split("> ")[0] + "> "

        def check(reply: Reply) -> list[str]:
            return [] if reply.text.count(hit) == 1 else [f"a search for {text!r} gives {reply.text[:300]!r}, not {hit}"]

        return self.asking("search", "search_text_files", {"pattern": text, "literal": True, "paths": [str(self.home)]}, path, check)

    def search_all(self) -> Op:
        number = self.rng.randrange(self.soak.options.files)
        hit = f"{self.soak.static(number)}:2:needle {number:07}."

        def check(reply: Reply) -> list[str]:
            if "not all was looked at" in reply.text:
                self.soak.codes["search_all: time was over"] += 1
                return []
            return [] if reply.text.splitlines()[:1] == [hit] else [f"a search of all gives {reply.text[:300]!r}, not {hit}"]

        return Op("search_all", "search_text_files", {"pattern": f"needle {number:07}.", "literal": True}, check=check)

    def list_files(self) -> Op:
        (path,) = self.free()
        wanted = f"{path}\t{len(self.model[path])}"

        def check(reply: Reply) -> list[str]:
            return [] if wanted in reply.text.splitlines() else [f"a list lacks {wanted!r}: {reply.text[:300]!r}"]

        return self.asking("list", "list_text_files", {"path": str(self.home), "glob": ["*.txt"]}, path, check)

    def list_edits(self) -> Op:
        (path,) = self.free()
        return self.asking("list_edits", "list_text_file_edits", {"file_path": path}, path)

    def dry_run(self) -> Op:
        op = self.several()
        return Op("dry_run", PATCH, {**op.arguments, "dry_run": True}, op.before, op.before)

    def asking(self, kind: str, tool: str, arguments: dict[str, Any], path: str, check: Callable[[Reply], list[str]] = lambda reply: []) -> Op:
        return Op(kind, tool, arguments, {path: self.model[path]}, {path: self.model[path]}, check)

    def next(self) -> Op:
        self.settle()
        wanted = {self.one: 20, self.several: 10, self.lines: 16, self.tag: 12, self.read: 14, self.search: 4, self.list_files: 3, self.list_edits: 2,
                  self.dry_run: 3, self.undo: 8, self.move: 5, self.moved_lines: 4, self.mixed: 4, self.create: 5 if len(self.model) < 40 else 1,
                  self.remove: 5 if len(self.model) > 24 else 1, self.search_all: min(0.15, 6000 / self.soak.options.files)}
        while True:
            choose = self.rng.choices(list(wanted), list(wanted.values()))[0]
            op = choose() if len(self.free(5, small=True)) == 5 else self.create()
            if op is not None:
                self.busy |= op.paths
                op.began = self.soak.now()
                return op

    # What became of them

    def answered(self, op: Op, reply: Reply) -> None:
        self.busy -= op.paths
        with self.soak.lock:
            self.soak.counts[op.kind if not reply.is_error else "refused"] += 1
        if reply.is_error:
            return self.refused(op, reply)
        problems = op.check(reply)
        if op.tag:
            problems += self.tagged(op)
        else:
            problems += self.differs(op.after)
            for path, content in op.after.items():
                if content is None:
                    self.model.pop(path, None)
                else:
                    self.model[path] = content
        if op.before != op.after:
            if edit := (reply.json or {}).get("edit_id"):
                self.undoable.append(Op(op.kind, op.tool, {"edit_id": edit}, op.before, op.after))
            else:
                with self.soak.lock:
                    self.soak.codes["acknowledged without edit_id"] += 1
                # On a slow machine others can have the history for longer than an edit waits for it.
                if not self.soak.was_full(op.began - 60) and "database is locked" not in reply.text:
                    problems.append(f"not kept in the history: {reply.text[:400]}")
        for problem in problems:
            self.soak.problem(f"{op.kind} by {self.name}: {problem}")

    def tagged(self, op: Op) -> list[str]:
        with self.soak.lock:
            if op.adds:
                self.soak.tags[op.tag] = op.shared
            else:
                self.soak.tags.pop(op.tag)
        if op.adds:
            self.tags.append((op.tag, op.shared))
        there = [(on_disk(path) or b"").decode().splitlines().count(op.tag) for path in op.shared]
        return [] if there == [int(op.adds)] * len(op.shared) else [f"{op.tag} stands in its files {there} times"]

    def refused(self, op: Op, reply: Reply) -> None:
        code = reply.code or "?"
        with self.soak.lock:
            self.soak.codes[f"{op.kind}: {code}"] += 1
        allowed = {"busy"} | ({"conflict"} if op.tag else set()) | ({"not_found"} if op.kind == "undo" else set())
        if self.soak.was_full(op.began):
            allowed |= {"no_space", "io_error"}
        if code not in allowed:
            self.soak.problem(f"{op.kind} by {self.name} is refused: {reply.text[:500]}")
        if "nothing was written" not in reply.text and op.before != op.after or op.tag and "nothing was written" not in reply.text:
            return self.unknown(op)
        if op.tag:
            if not op.adds:
                self.tags.append((op.tag, op.shared))
            return None
        for problem in self.differs(op.before):
            self.soak.problem(f"{op.kind} by {self.name}, refused as {code}: {problem}")
        return None

    def unknown(self, op: Op) -> None:
        """Nobody answered: its files are left alone until the call is over for certain."""
        with self.soak.lock:
            self.soak.counts["not answered"] += 1
            if op.tag:
                self.soak.tags.pop(op.tag, None)
                self.soak.unsure_tags.append(op)
        if not op.tag and op.before != op.after:
            self.busy |= op.paths
            op.began = self.soak.now()
            self.unsure.append(op)
        else:
            self.busy -= op.paths

    def settle(self, all_of_them: bool = False) -> None:
        """Calls that nobody answered and that are over: all of each stands, or nothing."""
        over = [op for op in self.unsure if all_of_them or op.began + CALL_SECONDS + 30 < self.soak.now()]
        for op in over:
            self.unsure.remove(op)
            self.busy -= op.paths
            old, new = self.differs(op.before), self.differs(op.after)
            if old and new:
                self.soak.problem(f"{op.kind} by {self.name}, never answered, stands in part: {old + new}")
            for path, content in (op.after if not new else op.before).items():
                if content is None:
                    self.model.pop(path, None)
                else:
                    self.model[path] = content

    @staticmethod
    def differs(wanted: Content) -> list[str]:
        problems = []
        for path, content in wanted.items():
            there = on_disk(path)
            if there != content:
                sizes = ["no file" if each is None else f"{len(each)} bytes" for each in (there, content)]
                problems.append(f"{path} is {sizes[0]}, not the {sizes[1]} that it is to be")
        return problems


class Process:
    """One of the four servers; `mortal` ones are killed."""

    def __init__(self, soak: Soak, name: str, mortal: bool) -> None:
        self.soak, self.name, self.mortal = soak, name, mortal
        self.ends = 0
        self.expected = False
        self.pid = 0
        #: RSS, descriptors and threads before there was any load.
        self.start: dict[str, int] = {}

    def sample(self) -> dict[str, int] | None:
        """What it holds; None while it is not there."""
        try:
            status = Path(f"/proc/{self.pid}/status").read_text()
            found = {key: int(re.search(rf"^{name}:\s+(\d+)", status, re.M)[1]) for key, name in (("rss", "VmRSS"), ("threads", "Threads"))}  # type: ignore[index]
            return {"rss": found["rss"] << 10, "threads": found["threads"], "descriptors": len(os.listdir(f"/proc/{self.pid}/fd"))}
        except (OSError, TypeError):
            return None

    def was_ended(self) -> None:
        """It is gone: only if somebody wanted that."""
        if not self.expected:
            self.soak.problem(f"{self.name} ended by itself: {self.log()[-800:]}")
        self.expected = False
        self.ends += 1

    def log(self) -> str:
        return ""


class Stdio(Process):
    """A server over stdio with its client, which is one thread."""

    def __init__(self, soak: Soak, name: str, mortal: bool) -> None:
        super().__init__(soak, name, mortal)
        self.lane = Lane(soak, name, f"{soak.options.seed} {name}")
        self.leaves = False
        self.logs: list[str] = []
        self.begin()

    def begin(self) -> None:
        self.server = Server(self.soak.tree, options=OPTIONS, user=user(), state=self.soak.state, timeout=2 * CALL_SECONDS)
        self.pid = self.server.process.pid

    def log(self) -> str:
        return "" if self.server.log.closed else self.server.stderr()

    def work(self) -> None:
        flying: dict[int, Op] = {}
        try:
            while not self.soak.stop.is_set() or flying:
                try:
                    while len(flying) < IN_FLIGHT and not self.soak.stop.is_set():
                        op = self.lane.next()
                        flying[0] = op
                        flying[self.server.start(op.tool, op.arguments)] = flying.pop(0)
                    if self.leaves:
                        self.leave()
                        raise Closed("the client went away")
                    request = next(iter(flying))
                    answer = self.server.wait(request)
                    self.lane.answered(flying.pop(request), Reply(answer))
                except Closed:
                    for op in flying.values():
                        self.lane.unknown(op)
                    flying.clear()
                    self.again()
                self.soak.stop.wait(self.soak.options.pace)
        except Exception as error:  # noqa: BLE001
            self.soak.problem(f"{self.name}: {type(error).__name__}: {error}")

    def leave(self) -> None:
        """The client closes both ends and is gone; the server has to end, too."""
        self.expected, self.leaves = True, False
        self.server.process.stdin.close()  # type: ignore[union-attr]
        self.server.process.stdout.close()  # type: ignore[union-attr]
        try:
            self.server.process.wait(2 * CALL_SECONDS)
        except subprocess.TimeoutExpired:
            self.soak.problem(f"{self.name} does not end when its client is gone")

    def again(self) -> None:
        self.logs.append(self.log())
        self.was_ended()
        self.server.kill()
        if not self.soak.stop.is_set():
            self.begin()

    def kill(self, how: str) -> None:
        if how == "left":
            self.leaves = True
        else:
            self.expected = True
            self.server.process.kill()


class Http(Process):
    """A server over HTTP, which a killed one's successor follows at the same port."""

    def __init__(self, soak: Soak, name: str, mortal: bool, port: int) -> None:
        super().__init__(soak, name, mortal)
        self.port = port
        self.path = soak.base / f"{name}.log"
        self.up = threading.Event()
        self.begin()

    def begin(self) -> None:
        owner = user()
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MCP_TEXT_EDITOR_")}
        environment["MCP_TEXT_EDITOR_STATE_DIR"] = str(self.soak.state)
        other = {} if owner is None else {"user": owner, "group": owner, "extra_groups": []}
        with self.path.open("ab") as log:
            self.process = subprocess.Popen([binary(), "--http", f"127.0.0.1:{self.port}", *OPTIONS, str(self.soak.tree)], env=environment,
                                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log, **other)
        self.pid = self.process.pid
        wait_for_port(self.port, self.process)
        self.up.set()

    def log(self) -> str:
        return self.path.read_text("utf-8", "replace")

    def kill(self, how: str) -> None:
        self.up.clear()
        self.ends += 1
        self.process.kill()
        self.process.wait()
        self.begin()


def over_http(soak: Soak, servers: list[Http], number: int) -> None:
    """A client that takes either server for each call, and hangs up now and then."""
    lane = lanes_http[number]
    clients, since = [Client([server.port], 0) for server in servers], [0] * len(servers)
    try:
        while not soak.stop.is_set():
            op = lane.next()
            which = lane.rng.randrange(len(servers))
            server, client, ends = servers[which], clients[which], servers[which].ends
            server.up.wait(CALL_SECONDS)
            if since[which] != server.ends:
                # Its connection was to the one before.
                client.close()
                since[which] = server.ends
            if lane.rng.random() < 1 / 300:
                hang_up(server.port, op, lane.rng.uniform(0, 0.02))
                with soak.lock:
                    soak.codes["not answered, since the client hung up"] += 1
                lane.unknown(op)
                continue
            try:
                lane.answered(op, Reply({"result": client.call(op.tool, op.arguments)}))
            except Unknown as error:
                lane.unknown(op)
                if server.ends == ends:
                    soak.problem(f"{server.name}, which nobody killed, did not answer: {error}")
            soak.stop.wait(soak.options.pace)
    except Exception as error:  # noqa: BLE001
        soak.problem(f"{lane.name}: {type(error).__name__}: {error}")
    finally:
        for client in clients:
            client.close()


def hang_up(port: int, op: Op, pause: float) -> None:
    client = Client([port], 0)
    try:
        threading.Timer(pause, lambda: client.connection and client.connection.sock and client.connection.sock.shutdown(2)).start()
        client.call(op.tool, op.arguments)
    except Unknown:
        pass
    finally:
        client.close()


lanes_http: list[Lane] = []


def killing(soak: Soak, processes: list[Process]) -> None:
    """Each minute one server is killed, and in its turn one loses its client."""
    each = min(60.0, soak.options.seconds / 6)
    mortal = [process for process in processes if process.mortal]
    turns = itertools.cycle([(mortal[0], "killed"), (mortal[1], "killed"), (mortal[0], "left"), (mortal[1], "killed")])
    try:
        while not soak.stop.wait(each):
            process, how = next(turns)
            soak.kills.append((f"{process.name} {how}", soak.now()))
            process.kill(how)
    except Exception as error:  # noqa: BLE001
        soak.problem(f"a kill: {type(error).__name__}: {error}")


def filling(soak: Soak) -> None:
    """Now and then there is no room, in turn for the tree and for the state."""
    each, lasting = min(150.0, soak.options.seconds / 4), min(10.0, soak.options.seconds / 15)
    for which in itertools.cycle(("tree", "state")):
        if soak.stop.wait(each):
            return
        path = (soak.tree if which == "tree" else soak.state) / "ballast"
        begun = soak.now()
        soak.full.append((which, begun, float("inf")))
        with path.open("wb") as file:
            while soak.now() < begun + lasting and not soak.stop.is_set():
                fill(file.fileno())
                time.sleep(0.02)
        path.unlink()
        soak.full[-1] = (which, begun, soak.now())


def fill(descriptor: int) -> None:
    """Takes all the room that there is just now."""
    size = 1 << 28
    while size >= 4096:
        try:
            os.posix_fallocate(descriptor, os.fstat(descriptor).st_size, size)
        except OSError:
            size //= 4


def spoiling(soak: Soak, server: Http, lanes: list[Lane], held: list[socket.socket]) -> None:
    """What must be found: edits that are lost, temporaries that stay, descriptors that become more and more."""
    soak.stop.wait(soak.options.seconds / 3)
    Path(lanes[0].fixed[0]).write_bytes(b"somebody else's\n")
    (soak.static(7).parent / f"{PREFIX}0123456789abcdef").touch()
    soak.static(8).unlink()
    for path in soak.shared():
        Path(path).write_text(f"{Path(path).name}\n{END}")
    while not soak.stop.wait(0.05):
        held.append(socket.create_connection(("127.0.0.1", server.port)))


#: The cases that `spoiling` must fail.
CONVICTED = {"each answer was true", "HTTP at rest", "HTTP: descriptors", "nothing is left beside", "all that was acknowledged is there, and nothing else"}


class Convicting(Report):
    """Passes where exactly what was broken is found."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def case(self, name: str, problems: list[str]) -> bool:
        if problems:
            self.found.add(name)
            print(f"found: {name}: {problems[0][:300]}", flush=True)
        return not problems

    def verdict(self) -> int:
        for name in sorted(CONVICTED | self.found):
            super().case(name, [] if (name in CONVICTED) == (name in self.found) else ["not found" if name in CONVICTED else "found, and was not broken"])
        return self.end()


def temporaries(*directories: Path) -> list[str]:
    """Names of ours beneath these directories."""
    found = []
    for directory in directories:
        for base, _, names in os.walk(directory):
            found += [os.path.join(base, name) for name in names if name.startswith(PREFIX)]
    return found


def records(state: Path) -> list[str]:
    journal = state / "journal"
    return [entry.name for entry in journal.iterdir() if entry.suffix != ".lock"] if journal.is_dir() else []


def history_size(state: Path) -> int:
    total = 0
    for entry in state.glob("history*"):
        try:
            total += entry.stat().st_size
        except FileNotFoundError:
            pass
    return total


def sampling(soak: Soak, processes: list[Process], samples: list[dict[str, Any]]) -> None:
    each = min(5.0, soak.options.seconds / 80)
    while True:
        samples.append({"at": soak.now(), "processes": {process.name: process.sample() for process in processes},
                        "temporaries": len(temporaries(soak.tree / "work", soak.tree / "shared", soak.state)), "records": len(records(soak.state)),
                        "history": history_size(soak.state), "answered": sum(soak.counts.values())})
        if soak.stop.wait(each):
            return


def grown(samples: list[dict[str, Any]], seconds: float) -> Iterator[tuple[str, list[str]]]:
    """The law: the last tenth against the third one, when all is warm."""
    def tenth(number: int, name: str, what: str) -> float:
        part = [each["processes"][name] for each in samples if number <= each["at"] * 10 / seconds < number + 1]
        return statistics.median(each[what] for each in part if each)

    for name in samples[0]["processes"]:
        for what, (part, besides) in SLACK.items():
            early, late = tenth(2, name, what), tenth(9, name, what)
            print(f"   {name}: {what} {early:,.0f}, at the end {late:,.0f}")
            most = early * (1 + part) + besides
            yield f"{name}: {what}", [f"{late:,.0f} at the end, {early:,.0f} early; may be {most:,.0f}"] if late > most else []
    largest = max(each["history"] for each in samples)
    print(f"   history: {largest:,} bytes at most")
    yield "the history keeps its bound", [f"{largest} bytes, may be {HISTORY_MOST}"] if largest > HISTORY_MOST else []


def at_rest(process: Process) -> list[str]:
    """What a process that lived all the while holds once nothing is asked of it: no more than at its start."""
    problems: list[str] = []
    # Threads wait 10 s for work, and connections that nobody closed go at last.
    for _ in range(60 if process.soak.options.convict else 240):
        now = process.sample()
        if now is None:
            return ["it is not there"]
        problems = [f"{now[what]} {what}, {process.start[what]} at the start" for what in ("descriptors", "threads") if now[what] > process.start[what]]
        if not problems:
            print(f"   {process.name} at rest: {now}, at the start {process.start}")
            break
        time.sleep(0.25)
    return problems


def first_calls(soak: Soak, process: Process) -> None:
    """One call of each kind, so that all that is opened once is open; then what it holds is noted."""
    path = str(soak.tree / f"first-{process.name}.txt")
    for tool, arguments in (("create_text_file", {"file_path": path, "contents": "one\n"}), ("get_text_file_contents", {"file_path": path}),
                            ("list_text_file_edits", {}), ("search_text_files", {"pattern": "one", "paths": [path]}),
                            ("remove_text_file", {"file_path": path, "file_hash": digest(b"one\n")})):
        if isinstance(process, Stdio):
            reply = process.server.call(tool, arguments)
        else:
            assert isinstance(process, Http)
            client = Client([process.port], 0)
            reply = Reply({"result": client.call(tool, arguments)})
            client.close()
        if reply.is_error:
            soak.problem(f"{process.name}: {reply.text[:300]}")
    process.start = process.sample() or {}


def verify(soak: Soak, lanes: list[Lane]) -> list[str]:
    """All that was acknowledged, and nothing else."""
    problems: list[str] = []
    expected: dict[str, bytes] = {}
    for lane in lanes:
        lane.settle(all_of_them=True)
        expected |= lane.model
        expected[str(lane.other_name)] = lane.model[lane.fixed[1]]
        if not os.path.samefile(lane.other_name, lane.fixed[1]):
            problems.append(f"{lane.fixed[1]} is one file no more")
    expected |= {str(soak.static(number)): soak.planted(number) for number in range(soak.options.files)}
    standing: dict[str, list[str]] = {}
    for path in soak.shared():
        first, *tags, last = (on_disk(path) or b"\n").decode().splitlines(keepends=True)
        if (first, last) != (f"{Path(path).name}\n", END):
            problems.append(f"{path} does not begin and end as it did")
        for tag in tags:
            standing.setdefault(tag.rstrip("\n"), []).append(path)
    for tag, files in soak.tags.items():
        if sorted(standing.pop(tag, [])) != sorted(files):
            problems.append(f"{tag} was acknowledged, and is not once in each of its files")
    for op in soak.unsure_tags:
        if sorted(standing.pop(op.tag, [])) not in ([], sorted(op.shared)):
            problems.append(f"{op.tag}, never answered, is in a part of its files")
    problems += [f"{tag} was never sent, refused, or taken away" for tag in standing]
    shared, looked_at = set(soak.shared()), 0
    for base, _, names in os.walk(soak.tree):
        for name in names:
            path = os.path.join(base, name)
            content = expected.pop(path, None)
            looked_at += 1
            if path not in shared and content != on_disk(path):
                problems.append(f"{path} " + ("is not to be there" if content is None else "has other bytes"))
    problems += [f"{path} is missing" for path in expected]
    print(f"   {looked_at:,} files compared")
    return problems


def soaked(options: argparse.Namespace, base: Path, report: Report, disks: bool) -> dict[str, Any]:
    soak = Soak(base, options, disks)
    report.section(f"a tree of {options.files:,} files")
    soak.plant()
    owner = user()
    lanes_http.extend(Lane(soak, f"client-{number}", f"{options.seed} {number}") for number in range(6))
    processes: list[Process] = []
    stdio = [Stdio(soak, "stdio", False), Stdio(soak, "stdio, killed", True)]
    if owner is not None:
        subprocess.run(["chown", "-R", f"{owner}:{owner}", str(soak.tree)], check=True)
    servers = [Http(soak, name, mortal, port) for name, mortal, port in zip(("HTTP", "HTTP, killed"), (False, True), free_ports(2))]
    processes = [stdio[0], servers[0], stdio[1], servers[1]]
    for process in processes:
        first_calls(soak, process)
    report.section(f"{options.seconds:g} s of load")
    samples: list[dict[str, Any]] = []
    soak.began = time.monotonic()
    workers = [threading.Thread(target=each.work) for each in stdio]
    workers += [threading.Thread(target=over_http, args=(soak, servers, number)) for number in range(6)]
    others = [threading.Thread(target=killing, args=(soak, processes)), threading.Thread(target=sampling, args=(soak, processes, samples))]
    if disks:
        others.append(threading.Thread(target=filling, args=(soak,)))
    held: list[socket.socket] = []
    if options.convict:
        others.append(threading.Thread(target=spoiling, args=(soak, servers[0], lanes_http, held)))
    for thread in [*workers, *others]:
        thread.start()
    told = 0.0
    while soak.now() < options.seconds and (len(soak.problems) < 100 or options.convict):
        time.sleep(0.5)
        if soak.now() > told + 300:
            told = soak.now()
            report.section(f"{sum(soak.counts.values()):,} calls, {len(soak.kills)} kills, {len(soak.problems)} problems; {samples[-1]}")
    soak.stop.set()
    for thread in [*workers, *others]:
        thread.join(4 * CALL_SECONDS)
        if thread.is_alive():
            soak.problem("a thread does not come to its end")
    lasted = soak.now()
    report.section("at rest")
    report.case("each answer was true", soak.problems)
    for process in (stdio[0], servers[0]):
        report.case(f"{process.name} at rest", at_rest(process))
        report.case(f"{process.name} lived", ["it was started again"] if process.ends else [])
    for each in held:
        each.close()
    for server in servers:
        server.process.send_signal(signal.SIGTERM)
        report.case(f"{server.name} ends", [f"status {status}"] if (status := server.process.wait(4 * CALL_SECONDS)) else [])
    logs = [server.log() for server in servers]
    for each in stdio:
        logs += [*each.logs, each.log()]
        if each.server.process.poll() is None:
            report.case(f"{each.name} ends", [f"status {status}"] if (status := each.server.close()) else [])
    report.case("no panic", [log[-600:] for log in logs if "panic" in log])
    report.section("a server recovers")
    with Server(soak.tree, options=OPTIONS, user=owner, state=soak.state) as server:
        reply = server.call("get_text_file_contents", {"file_path": str(soak.static(0))})
        report.case("a read afterwards", [reply.text[:300]] if reply.is_error else [])
    report.case("nothing is left beside", temporaries(soak.tree, soak.state)[:20])
    report.case("no record is left", records(soak.state)[:20])
    report.case("all that was acknowledged is there, and nothing else", verify(soak, [*lanes_http, *(each.lane for each in stdio)]))
    for name, problems in grown(samples, lasted):
        report.case(name, problems)
    kills = Counter(name for name, _ in soak.kills)
    report.case("servers were killed", [] if soak.kills else ["none was"])
    if disks:
        report.case("disks were full", [] if soak.full else ["none was"])
    print(f"{sum(soak.counts.values()):,} calls in {lasted:.0f} s (seed {options.seed}): {dict(soak.counts.most_common())}")
    print(f"ended: {dict(kills)}; full: {dict(Counter(which for which, _, _ in soak.full))}; refused and so on: {dict(soak.codes.most_common())}")
    return {"seconds": lasted, "files": options.files, "samples": samples, "kills": soak.kills, "full": soak.full, "calls": sum(soak.counts.values())}


def mounted(base: Path) -> str | None:
    """Gives the tree and the state disks of their own, which can be full; or why not."""
    if "SOAK_NAMESPACE" not in os.environ:
        return "that needs root, and unshare(1)"
    image = base / "disk"
    with image.open("wb") as file:
        file.truncate(3 << 30)
    for command in (["mkfs.ext4", "-q", "-m", "0", "-N", "400000", str(image)], ["mount", "-o", "loop", str(image), str(base / "tree")],
                    ["mount", "-t", "tmpfs", "-o", "size=64m,mode=700", "none", str(base / "state")]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return f"{' '.join(command[:2])}: {done.stderr.strip()}"
    (base / "tree" / "lost+found").rmdir()
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--pace", type=float, default=0.03, help="seconds between the calls of a client")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED", "0")) or int(time.time()))
    parser.add_argument("--svg", type=Path, help="where the curves are drawn")
    parser.add_argument("--samples", type=Path, help="where the samples are kept")
    parser.add_argument("--convict", action="store_true", help="break what is promised, which must be found")
    parser.add_argument("--draw", type=Path, help="samples that were kept: only draw them")
    options = parser.parse_args()
    if options.draw:
        options.svg.write_text(curves.drawn(json.loads(options.draw.read_text())))
        return 0
    if options.convict:
        options.seconds, options.files = min(options.seconds, 20.0), min(options.files, 500)
    report = Convicting() if options.convict else Report()
    if not Path("/proc/self/fd").exists():
        report.skip("a long load", "there is no /proc")
        return report.end()
    if os.geteuid() == 0 and "SOAK_NAMESPACE" not in os.environ and shutil.which("unshare"):
        # Mounts go with the process, however it ends.
        if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0:
            os.environ["SOAK_NAMESPACE"] = "1"
            os.execvp("unshare", ["unshare", "-m", sys.executable, *sys.argv])
    base = Path(tempfile.mkdtemp(prefix="mte-soak-")).resolve()
    base.chmod(0o711)
    try:
        reachable(base)
        for name in ("tree", "state"):
            (base / name).mkdir()
        reason = mounted(base)
        if reason:
            report.skip("a disk that is full", reason)
        if (owner := user()) is not None:
            for name in ("tree", "state"):
                os.chown(base / name, owner, owner)
        (base / "state").chmod(0o700)
        outcome = soaked(options, base, report, reason is None)
        if options.samples:
            options.samples.write_text(json.dumps(outcome))
        if options.svg:
            options.svg.write_text(curves.drawn(outcome))
    finally:
        for name in ("tree", "state"):
            subprocess.run(["umount", "-l", str(base / name)], capture_output=True)
        shutil.rmtree(base, ignore_errors=True)
    return report.verdict() if isinstance(report, Convicting) else report.end()


if __name__ == "__main__":
    sys.exit(main())
