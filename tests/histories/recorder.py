"""Histories of calls, recorded under kills, pauses and other programs, and judged by a program that others wrote.

    recorder.py [--seconds S] [--seed N] [--keep DIR] [--machines N [--no-database]]
    recorder.py --convict [--way LOCK]

Clients on threads call four servers with one state directory, three over stdio and one over HTTP, all on the same few files: they read, edit by
text and by hash, append, insert, delete, make, remove, move and undo, in calls of one file and of several, while servers are killed (SIGKILL)
and started again, or paused (SIGSTOP), calls are withdrawn, and other programs rename files over some and append to others. Each operation is written
down with the moments of its beginning and its end, of one clock, and with what was answered: carried out, refused and why, or nothing, because the server was
killed. After a second or so all come to rest, a server recovers, and the files are read from the disk: that is a round, and its history of each group of files
is judged by itself (src/main.rs): there must be an order in which each call did at one moment what it says.

What docs/limits.md and docs/internals/trust.md say can be lost is not in the load: nobody appends to a file that others edit, no call takes a name that another
one is giving up (`--names-at-once` does), no file is edited in place (a reply that warns of that is a failure), and files have the names and the exchange that a usual file system has. A history that cannot be judged is counted, and passes for nothing.

With `--machines` the servers are on so many machines with one volume and one database (tests/machines; on_machines.py has what is other there): machines lose
power and their cables, too. `--no-database` leaves the database out, without which there need be no order.

`--convict` takes one lock away (crates/store/src/os/simulation.rs; wants MCP_TEXT_EDITOR_SIMULATION): a history without an order must be found, and
none with all locks and the same delays.
Python's standard library alone; HISTORIES names the judge (default: target/debug/histories). Ends with `N passed, N failed`.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import http.client
import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Callable, Iterator

HERE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(HERE / "tests" / "reliability"))

from harness import PREFIX, Report, binary, skipped  # noqa: E402
from session import PROTOCOL  # noqa: E402

#: How long an answer may take; the longest wait of a server for a lock is 10 s.
PATIENCE = 60.0
#: Refusals that say what a file was, and all others that a call of the load may get.
OF_CONTENT = {"hash_mismatch", "range_hash_mismatch", "no_match", "content_mismatch", "line_out_of_range"}
#: What an undo says of a file that others have changed elsewhere.
BESIDE = "beside later edits"
OF_OTHERS = {"conflict", "busy", "cancelled", "count_mismatch"}
#: Locks that are left out, and what makes it show sooner: an exchange of names that takes a while, which alone changes nothing.
LEFT_OUT, SLOW = ("no-lock-file", "no-lock-record"), "slow-exchange"

Entry = dict[str, Any]
Tags = list[int]
#: When a call was answered, and what was said.
Answer = Future[tuple[int, dict[str, Any]]]
Withdrawn = tuple["Group", dict[str, Any], Answer]


class Lost(Exception):
    """The server has gone, and nobody knows what became of the call."""


class Gone(Exception):
    """The server had gone before the call was sent."""


def lines(tags: Tags) -> str:
    return "".join(f"tag {tag:06}\n" for tag in tags)


def tags_of(text: str) -> Tags:
    if not re.fullmatch(r"(tag \d{6,}\n)*", text):
        raise ValueError(f"torn, or nobody's: {text[:300]!r}")
    return [int(line[4:]) for line in text.splitlines()]


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# Servers


class Stdio:
    """A server over stdio, and a thread that takes its answers."""

    def __init__(self, command: list[str], environment: dict[str, str], log: Any) -> None:
        self.process = subprocess.Popen([*command], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, bufsize=0)
        self._lock, self._ids, self._has_ended = threading.Lock(), itertools.count(1), False
        self._waiting: dict[int, Answer] = {}
        self.withdrawn: list[Withdrawn] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._send("initialize", {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "recorder", "version": "0"}})[1].result(PATIENCE)
        self._write({"method": "notifications/initialized"})

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            now, message = time.monotonic_ns(), json.loads(line)
            if future := self._waiting.pop(message.get("id"), None):
                future.set_result((now, message.get("result", message)))
        with self._lock:
            self._has_ended = True
        for future in [*self._waiting.values()]:
            future.set_exception(Lost())
        self._waiting.clear()

    def _write(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        view = memoryview(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        with self._lock, contextlib.suppress(BrokenPipeError):
            while view:
                view = view[self.process.stdin.write(view) or 0:]

    def _send(self, method: str, params: dict[str, Any]) -> tuple[int, Answer]:
        number, future = next(self._ids), Future()
        with self._lock:
            if self._has_ended:
                raise Gone
            self._waiting[number] = future
        self._write({"id": number, "method": method, "params": params})
        return number, future

    def call(self, tool: str, arguments: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """When the answer came, and what it was."""
        return self._send("tools/call", {"name": tool, "arguments": arguments})[1].result(PATIENCE)

    def withdraw(self, tool: str, arguments: dict[str, Any], after: float, group: Group, operation: dict[str, Any]) -> None:
        """A call of which the client wants no answer any more. What became of it is known once the server has ended."""
        number, future = self._send("tools/call", {"name": tool, "arguments": arguments})
        time.sleep(after)
        self._write({"method": "notifications/cancelled", "params": {"requestId": number}})
        self.withdrawn.append((group, operation, future))

    def close(self) -> int:
        self.process.stdin.close()  # type: ignore[union-attr]
        status = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return status


class Http:
    """A server over HTTP; each thread that calls has a connection of its own."""

    def __init__(self, command: list[str], environment: dict[str, str], log: Any) -> None:
        self.process = subprocess.Popen([*command[:-1], "--http", "127.0.0.1:0", command[-1]], env=environment, stdin=subprocess.DEVNULL,
                                        stdout=log, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        # What it has ended or taken back may be told before.
        said = next((found for line in self.process.stderr if (found := re.search(r"http://[^/]*:(\d+)/mcp", line))), None)
        if said is None:
            raise RuntimeError("the server does not say where it serves")
        self.port, self._of_thread = int(said[1]), threading.local()
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        self.withdrawn: list[Withdrawn] = []

    def call(self, tool: str, arguments: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        connection = getattr(self._of_thread, "connection", None) or http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        self._of_thread.connection = connection
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": PROTOCOL}
        try:
            connection.request("POST", "/mcp", json.dumps(message), headers)
            response = connection.getresponse()
            body = response.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            if isinstance(error, ConnectionRefusedError):
                raise Gone from error
            if isinstance(error, TimeoutError):
                raise
            raise Lost from error
        if response.status != 200:
            raise RuntimeError(f"{response.status}: {body!r}")
        return time.monotonic_ns(), json.loads(body)["result"]

    def close(self) -> int:
        self.process.terminate()
        return self.process.wait(PATIENCE)


class Servers:
    """Some servers on one directory, which are killed and paused."""

    def __init__(self, world: World, ways: str, rng: random.Random) -> None:
        self.world, self.kills, self.pauses = world, 0, 0
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("MCP_TEXT_EDITOR_")}
        self.environment |= {"MCP_TEXT_EDITOR_STATE_DIR": str(world.states[0]), "MCP_TEXT_EDITOR_SIMULATE": ways}
        self.program = os.environ["MCP_TEXT_EDITOR_SIMULATION"] if ways else binary()
        self.log = tempfile.TemporaryFile()
        # Most do not wait for the disk, so that more happens in a second; a kill is the same to both.
        self.options = [["--durability", "process"] if rng.random() < 0.7 else [] for _ in range(4)]
        self.running: list[Stdio | Http] = [self.start(which) for which in range(4)]

    def start(self, which: int) -> Stdio | Http:
        command = [self.program, "--tools", "all", "--output", "json", *self.options[which], str(self.world.homes[which])]
        return (Http if which == 3 else Stdio)(command, self.environment, self.log)

    def kill(self, which: int) -> None:
        server = self.running[which]
        server.process.kill()
        server.process.wait()
        self.kills += 1
        self.world.settle(server.withdrawn, killed=True)
        self.running[which] = self.start(which)

    def pause(self, which: int, seconds: float) -> None:
        process = self.running[which].process
        process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        process.send_signal(signal.SIGCONT)
        self.pauses += 1

    def trouble(self, rng: random.Random, done: threading.Event, most: int) -> None:
        """Kills and pauses until it is told to stop."""
        killed = 0
        while not done.wait(rng.uniform(0.01, 0.25)):
            which = rng.randrange(4)
            if killed < most and rng.random() < 0.4:
                self.kill(which)
                killed += 1
            else:
                self.pause(which, rng.uniform(0.005, 0.12))

    def rest(self) -> None:
        """Nothing is under way any more: what was withdrawn is ended with its server."""
        for which, server in enumerate(self.running):
            if server.withdrawn:
                server.close()
                self.running[which] = self.start(which)
                self.world.settle(server.withdrawn)

    def close(self) -> list[str]:
        statuses = [server.close() for server in self.running]
        self.log.seek(0)
        log = self.log.read().decode("utf-8", "replace")
        return [f"a server ended with {status}" for status in statuses if status] + ([f"a server panicked: {log[-600:]}"] if "panic" in log else [])


# What is done


class Group:
    """Files that calls name together, and what clients know of them."""

    def __init__(self, world: World, name: str, files: list[str], kinds: dict[str, int]) -> None:
        self.world, self.name = world, name
        self.paths = [f"{name}/{file}" for file in files]
        self.kinds, self.weights = list(kinds), list(kinds.values())
        self.operations: list[dict[str, Any]] = []
        #: What each file held when somebody last looked; edits that could be undone, with what undoes them.
        self.known: dict[str, Tags | None] = {path: None for path in self.paths}
        self.made: deque[tuple[str, list[Entry]]] = deque(maxlen=6)
        self.files: dict[str, Tags | None] = {path: None for path in self.paths}
        #: Names that calls under way give up, and take.
        self._lock, self._given_up, self._taken = threading.Lock(), Counter[str](), Counter[str]()

    def begin(self, entries: list[Entry]) -> bool:
        """Whether a call may be made: not while it would take a name that another one gives up, and could have to get back."""
        given_up, taken = names(entries)
        with self._lock:
            if not self.world.names_at_once and (taken & self._given_up.keys() or given_up & self._taken.keys()):
                return False
            self._given_up.update(given_up)
            self._taken.update(taken)
        return True

    def end(self, entries: list[Entry]) -> None:
        """A call has been answered. Of one that was not, the names are kept until all has come to rest."""
        with self._lock:
            for counter, paths in zip((self._given_up, self._taken), names(entries)):
                counter.subtract(paths)
            self._given_up, self._taken = +self._given_up, +self._taken

    def on_disk(self) -> dict[str, Tags | None]:
        paths = {path: self.world.tree / path for path in self.paths}
        return {name: tags_of(path.read_text()) if path.exists() else None for name, path in paths.items()}

    def history(self, name: str) -> dict[str, Any]:
        """What happened since the last one, between what was on the disk then and now."""
        first = min((operation["called"] for operation in self.operations), default=1) - 1
        begin = {"kind": "begin", "called": first, "answered": first, "files": self.files}
        self.files = self.on_disk()
        now = time.monotonic_ns()
        end = {"kind": "end", "called": now, "answered": now, "files": self.files}
        found = {"name": f"{name} {self.name}", "paths": self.paths, "operations": [begin, *self.operations, end]}
        self.operations = []
        self.made.clear()
        self._given_up.clear()
        self._taken.clear()
        for path, tags in self.files.items():
            # What is appended to for long would not be shown whole by one read.
            if tags and len(tags) > 200:
                (self.world.tree / path).write_text(lines(tags[-1:]))
                self.files = self.files | {path: tags[-1:]}
        return found


def entry(path: str, guard: Any, effect: Any, to: str | None = None, was: Tags | None = None) -> Entry:
    """One file of a call; `was`: what it held, where the call says so by its hash."""
    return {"path": path, "guard": guard, "effect": effect} | ({"to": to} if to else {}) | ({} if was is None else {"was": was})


def names(entries: list[Entry]) -> tuple[set[str], set[str]]:
    """The names that a call gives up in more than one step of the file system, and those that it takes."""
    given_up = {one["path"] for one in entries if one["effect"] == "remove" or "to" in one and len(entries) > 1}
    return given_up, {one.get("to", one["path"]) for one in entries if "to" in one or one["guard"] == "absent"}


class Client:
    """Makes operations up, carries them out, and writes down what became of them."""

    def __init__(self, world: World, servers: Servers, which: int, rng: random.Random) -> None:
        self.world, self.servers, self.which, self.rng = world, servers, which, rng

    def work(self, done: threading.Event) -> None:
        while not done.is_set():
            try:
                group = self.rng.choices(self.world.groups, [2, 3, 2, 1])[0]
                kind = self.rng.choices(group.kinds, group.weights)[0]
                getattr(self, kind)(group)
            except Gone:
                # Another is about to be started in its place.
                time.sleep(0.002)
            except Exception as error:  # noqa: BLE001
                self.world.problems.append(f"client {self.which}: {type(error).__name__}: {error}")
                return

    def full(self, path: str) -> str:
        return str(self.world.homes[self.which] / path)

    # Reads

    def read(self, group: Group, path: str | None = None) -> Tags | None:
        path = path or self.rng.choice(group.paths)
        called = time.monotonic_ns()
        try:
            answered, result = self.servers.running[self.which].call("get_text_file_contents", {"files": [{"file_path": self.full(path)}]})
        except Lost:
            return None
        facts = json.loads(result["content"][0]["text"])
        of_file = (facts.get("files") or [facts])[0]
        code = facts.get("code") or of_file.get("error", {}).get("code")
        if code in self.world.beside_reads:
            return None
        if code and code != "not_found":
            raise RuntimeError(f"a read: {str(facts)[:1500]}")
        found = None if code else tags_of("".join(part["content"] for part in of_file["ranges"]))
        if found is not None and of_file["file_hash"] != digest(lines(found)):
            raise RuntimeError(f"a read tells the hash of something else: {str(facts)[:1500]}")
        group.operations.append({"kind": "read", "called": called, "answered": answered, "path": path, "found": found})
        self.world.counts["read"] += 1
        group.known[path] = found
        return found

    def base(self, group: Group, path: str) -> Tags | None:
        """What the file held lately, or when it was last looked at."""
        return self.read(group, path) if self.rng.random() < 0.6 else group.known[path]

    # Calls

    def call(self, group: Group, kind: str, tool: str, arguments: dict[str, Any], entries: list[Entry], *, dry: bool = False) -> None:
        operation: dict[str, Any] = {"kind": "call", "entries": entries, "told": {}, "claims": [], "dry": dry, "what": kind, "answered": None}
        if dry:
            arguments = arguments | {"dry_run": True}
        if not group.begin(entries):
            return
        server = self.servers.running[self.which]
        operation["called"] = time.monotonic_ns()
        if isinstance(server, Stdio) and self.rng.random() < 0.02:
            server.withdraw(tool, arguments, self.rng.uniform(0, 0.006), group, operation)
            return
        try:
            answered, result = server.call(tool, arguments)
        except Lost:
            self.world.lost(group, operation)
            return
        group.end(entries)
        self.world.answered(group, operation, answered, result)

    def patched(self, group: Group, path: str) -> tuple[dict[str, Any], Entry] | None:
        """An entry of a patch call, and what it means."""
        tag, base, full = next(self.world.tags), self.base(group, path), self.full(path)
        if not base:
            return None
        line = self.rng.choice(base)
        if len(base) > 6 or self.rng.random() < 0.25:
            # By hash: all of it is replaced.
            patch = {"new_string": lines([tag]), "ranges": [{"start": 1, "range_hash": digest(lines(base))}]}
            return {"file_path": full, "patches": [patch]}, entry(path, {"digest": digest(lines(base))}, {"set": [tag]}, was=base)
        new = [line, tag] if self.rng.random() < 0.6 else [tag]
        patch = {"old_string": lines([line]), "new_string": lines(new)}
        guard: Any = {"has": line}
        more = {}
        if self.rng.random() < 0.3:
            more, guard = {"file_hash": digest(lines(base))}, {"digest": digest(lines(base))}
        return {"file_path": full, "patches": [patch]} | more, entry(path, guard, {"swap": line, "for": new})

    def patch(self, group: Group, *, dry: bool = False, most: int = 3) -> None:
        paths = self.rng.sample(group.paths, min(self.rng.randint(1, most), len(group.paths)))
        made = [one for path in paths if (one := self.patched(group, path))]
        if made:
            self.call(group, "patch", "patch_text_file_contents", {"files": [one[0] for one in made]}, [one[1] for one in made], dry=dry)

    def look(self, group: Group) -> None:
        """A dry run: it has the locks of an edit, and changes nothing."""
        self.patch(group, dry=True)

    def by_hash(self, group: Group) -> None:
        """An append, an insertion, a deletion, or lines that move."""
        path, tag = self.rng.choice(group.paths), next(self.world.tags)
        base = self.base(group, path)
        if not base:
            return
        at = self.rng.randint(0, len(base))
        of_file = {"file_path": self.full(path), "file_hash": digest(lines(base))}
        if len(base) > 5:
            cut = self.rng.randint(1, len(base) - 1)
            ranges = [{"start": 1, "end": cut, "range_hash": digest(lines(base[:cut]))}]
            tool, arguments, new = "delete_text_file_contents", {"ranges": ranges}, base[cut:]
        elif len(base) > 1 and self.rng.random() < 0.4:
            cut = self.rng.randint(1, len(base) - 1)
            lines_ = {"from": self.full(path), "start": 1, "end": cut, "range_hash": digest(lines(base[:cut])), "after": len(base), "move": True}
            tool, of_file, new = "copy_text_lines", lines_ | {"file_hash": of_file["file_hash"]}, [*base[cut:], *base[:cut]]
            arguments = {}
        elif self.rng.random() < 0.5:
            tool, arguments, new = "append_text_file_contents", {"contents": lines([tag])}, [*base, tag]
        else:
            tool, arguments, new = "insert_text_file_contents", {"contents": lines([tag]), "after": at}, [*base[:at], tag, *base[at:]]
        self.call(group, tool.split("_")[0], tool, of_file | arguments, [entry(path, {"digest": of_file["file_hash"]}, {"set": new}, was=base)])

    def new(self) -> Tags:
        """What a new file holds: often what others hold, too, or nothing."""
        return self.rng.choice([[], [0], [0], [next(self.world.tags)]])

    def create(self, group: Group) -> None:
        path, tags = self.rng.choice(group.paths), self.new()
        self.call(group, "create", "create_text_file", {"file_path": self.full(path), "contents": lines(tags)}, [entry(path, "absent", {"set": tags})])

    def remove(self, group: Group) -> None:
        path = self.rng.choice(group.paths)
        if (base := self.base(group, path)) is not None:
            hashed = digest(lines(base))
            self.call(group, "remove", "remove_text_file", {"file_path": self.full(path), "file_hash": hashed}, [entry(path, {"digest": hashed}, "remove", was=base)])

    def move(self, group: Group) -> None:
        old, new = self.rng.sample(group.paths, 2)
        self.call(group, "move", "move_text_file", {"from": self.full(old), "to": self.full(new)}, [entry(old, "there", "keep", new)])

    def mixed(self, group: Group) -> None:
        """A call that edits, moves, makes and removes, as it comes."""
        paths = self.rng.sample(group.paths, len(group.paths))
        free = {path for path in paths if group.known[path] is None}
        files, entries = [], []
        for path in paths:
            way = self.rng.choice(["patch", "create", "remove", "move", "none"])
            base = self.base(group, path)
            if path in {one.get("to", one["path"]) for one in entries}:
                continue
            if base is None and way == "create" and path in free:
                tags = self.new()
                free.discard(path)
                files.append({"file_path": self.full(path), "contents": lines(tags)})
                entries.append(entry(path, "absent", {"set": tags}))
            elif base is not None and way == "remove":
                files.append({"file_path": self.full(path), "file_hash": digest(lines(base)), "remove": True})
                entries.append(entry(path, {"digest": digest(lines(base))}, "remove", was=base))
                free.add(path)
            elif base is not None and way == "move" and free - {path}:
                to = self.rng.choice(sorted(free - {path}))
                free = free - {to} | {path}
                files.append({"file_path": self.full(path), "move_to": self.full(to)})
                entries.append(entry(path, "there", "keep", to))
            elif way == "patch" and (made := self.patched(group, path)):
                free.discard(path)
                files.append(made[0])
                entries.append(made[1])
        if files:
            self.call(group, "mixed", "patch_text_file_contents", {"files": files}, entries)

    def replace(self, group: Group) -> None:
        """The same replacement in a line of each file, where no call moves files."""
        gone = {path: self.rng.choice(tags) for path in group.paths if (tags := self.base(group, path))}
        if gone:
            arguments = {"pattern": f"^tag (0*(?:{'|'.join(map(str, gone.values()))}))$", "replacement": "tag 9$1", "paths": [self.full(group.name)],
                         "expected_replacements": len(gone)}
            entries = [entry(path, {"has": tag}, {"swap": tag, "for": [int(f"9{tag:06}")]}) for path, tag in gone.items()]
            self.call(group, "replace", "replace_in_text_files", arguments, entries)

    def undo(self, group: Group) -> None:
        with contextlib.suppress(IndexError):
            edit_id, entries = group.made.pop()
            self.call(group, "undo", "undo_text_file_edits", {"edit_id": edit_id}, entries)


def turned(entries: list[Entry], told: dict[str, str]) -> list[Entry] | None:
    """What undoes a call, of which the reply told these digests; None if it is not known what the files were."""
    found = []
    for one in entries:
        to = one.get("to", one["path"])
        now: Any = {"digest": told[to]} if to in told else "absent"
        effect, guard = one["effect"], one["guard"]
        if effect == "keep":
            back: Any = "keep"
        elif isinstance(effect, dict) and "swap" in effect:
            old, new = effect["swap"], effect["for"]
            back = {"swap": next(tag for tag in new if tag != old), "for": [] if old in new else [old]}
        elif isinstance(effect, dict) and "push" in effect:
            back = {"swap": effect["push"], "for": []}
        elif guard == "absent":
            back = "remove"
        elif "was" in one:
            back = one_swap(effect["set"], one["was"]) if isinstance(effect, dict) and "set" in effect else {"set": one["was"]}
        else:
            back = None
        if back is None:
            # What it would leave beside later edits is not known.
            return None
        found.append(entry(to, now, back, one["path"] if to != one["path"] else None))
    return found


def beside(one: Entry, files: list[dict[str, Any]], short: Callable[[str], str]) -> Entry:
    """The entry of an undo, which needs no digest of a file that it says to have changed beside later edits."""
    names = {one["path"], one.get("to", one["path"])}
    if any(BESIDE in warning for file in files if short(file["file_path"]) in names for warning in file.get("warnings", [])):
        if one["effect"] == "keep":
            return one | {"guard": "there"}
        if "swap" in one["effect"]:
            return one | {"guard": {"has": one["effect"]["swap"]}}
    return one


def one_swap(now: list[int], was: list[int]) -> dict[str, Any] | None:
    """What turns tags back by a single swap; None if more than one came."""
    come, gone = [tag for tag in now if tag not in was], [tag for tag in was if tag not in now]
    if len(come) != 1 or [other for tag in now for other in (gone if tag == come[0] else [tag])] != was:
        return None
    return {"swap": come[0], "for": gone}


class Outsider:
    """Programs that know nothing of us: one puts whole files in the place of others, one appends."""

    def __init__(self, world: World, rng: random.Random) -> None:
        self.world, self.rng = world, rng

    def work(self, done: threading.Event) -> None:
        try:
            while not done.wait(self.rng.uniform(0.001, 0.06)):
                self.rename_over(self.world.group("theirs"))
                self.append(self.world.group("log"))
        except Exception as error:  # noqa: BLE001
            self.world.problems.append(f"another program: {type(error).__name__}: {error}")

    def write_down(self, group: Group, called: int, one: Entry) -> None:
        group.operations.append({"kind": "call", "by": "outsider", "called": called, "answered": time.monotonic_ns(), "entries": [one],
                                 "outcome": "ok", "told": {}, "claims": []})
        self.world.counts["outsider"] += 1

    def rename_over(self, group: Group) -> None:
        path, tags = self.rng.choice(group.paths), [next(self.world.tags)]
        new = self.world.base / "new"
        new.write_text(lines(tags))
        called = time.monotonic_ns()
        os.rename(new, self.world.tree / path)
        self.write_down(group, called, entry(path, "nothing", {"set": tags}))

    def append(self, group: Group) -> None:
        path, tag = self.rng.choice(group.paths), next(self.world.tags)
        called = time.monotonic_ns()
        with contextlib.suppress(FileNotFoundError):
            file = os.open(self.world.tree / path, os.O_WRONLY | os.O_APPEND)
            os.write(file, lines([tag]).encode())
            os.close(file)
            self.write_down(group, called, entry(path, "nothing", {"push": tag}))


# The world


class World:
    """The files, and what was recorded of them."""

    #: Codes of errors that a read may have, and that say nothing of the file; warnings that a reply may have.
    beside_reads: frozenset[str] = frozenset()
    warns = ("did not exist before", "changed since your last read", BESIDE)

    def __init__(self, names_at_once: bool, within: Path | None = None) -> None:
        self.names_at_once = names_at_once
        self.base = Path(tempfile.mkdtemp(prefix="mte-histories-", dir=within)).resolve()
        self.tree = self.base / "tree"
        #: The tree as each of the servers has it, and its state directory.
        self.homes, self.states = [self.tree] * 4, [self.base / "state"] * 4
        self.tags = itertools.count(1)
        self.counts: Counter[str] = Counter()
        self.problems: list[str] = []
        edits = {"read": 5, "patch": 6, "by_hash": 4, "undo": 2}
        names = {"create": 2, "remove": 1}
        self.groups = [
            Group(self, "one", ["a"], edits | names),
            Group(self, "several", ["a", "b", "c"], edits | names | {"look": 2, "mixed": 6, "move": 2}),
            Group(self, "theirs", ["a", "b"], edits | {"look": 1, "replace": 3}),
            Group(self, "log", ["a", "b"], {"read": 2, "move": 2}),
        ]
        for group in self.groups:
            (self.tree / group.name).mkdir(parents=True)
            for path in group.paths[:1] if group.name == "log" else group.paths:
                (self.tree / path).write_text(lines([next(self.tags)]))
            group.files = group.on_disk()
        (self.tree / "outside").write_text("0\n")

    def group(self, name: str) -> Group:
        return next(group for group in self.groups if group.name == name)

    def short(self, path: str) -> str:
        home = next(home for home in self.homes if Path(path).is_relative_to(home))
        return str(Path(path).relative_to(home))

    # What became of calls

    def lost(self, group: Group, operation: dict[str, Any]) -> None:
        self.counts["unknown"] += 1
        if not operation["dry"]:
            group.operations.append(operation | {"outcome": "unknown", "answered": None})

    def answered(self, group: Group, operation: dict[str, Any], answered: int, result: dict[str, Any]) -> None:
        text = result["content"][0]["text"] if "content" in result else json.dumps(result)
        try:
            reply = json.loads(text)
        except ValueError:
            raise RuntimeError(f"{operation['what']}: {text[:600]}") from None
        operation["answered"] = answered
        # A warning may say that another program's write could be lost, which is not in the load.
        warnings = [warning for one in (reply, *reply.get("files", [])) for warning in one.get("warnings", [])]
        self.problems += [f"{operation['what']} warns: {warning}" for warning in warnings if not any(known in warning for known in self.warns)]
        if result.get("isError"):
            self.refused(group, operation, reply)
            return
        self.counts[f"ok {operation['what']}"] += 1
        # What another program appends meanwhile is not in the hash that a move tells.
        if group.name != "log":
            operation["told"] = {self.short(file["file_path"]): file["file_hash"] for file in reply["files"] if "file_hash" in file}
        if operation["what"] == "undo":
            entries = [beside(one, reply["files"], self.short) for one in operation["entries"]]
            # A file that comes back where a file with later edits leaves asks for no content either.
            left = {one["path"] for one in entries if one["effect"] == "keep" and one["guard"] == "there"}
            operation["entries"] = [one | {"guard": "there"} if one["path"] in left and "set" in one["effect"] else one for one in entries]
        group.operations.append(operation | {"outcome": "ok"})
        if reply.get("edit_id") and operation["what"] != "undo" and (back := turned(operation["entries"], operation["told"])):
            group.made.append((reply["edit_id"], back))

    def refused(self, group: Group, operation: dict[str, Any], reply: dict[str, Any]) -> None:
        self.counts[f"refused {operation['what']}: {reply['code']}"] += 1
        codes = {problem["code"] for problem in reply["errors"]}
        if "nothing was written" not in reply["reason"]:
            self.counts["refused, and not as it was"] += 1
            self.problems.append(f"{operation['what']}: {json.dumps(reply)[:1500]}")
        claims = []
        for problem in reply["errors"] if operation["what"] != "replace" else ():
            path, hashed = self.short(problem["file_path"]), problem.get("file_hash")
            if problem["code"] in OF_CONTENT and hashed:
                claims.append({"path": path, "is": hashed, "locked": True})
            elif problem["code"] == "already_exists":
                claims.append({"path": path, "is": hashed if hashed and group.name != "log" else "there"})
            elif problem["code"] == "not_found":
                claims.append({"path": path, "is": "absent"})
        unknown = codes - OF_CONTENT - OF_OTHERS - {"already_exists", "not_found"}
        if unknown:
            self.problems.append(f"{operation['what']} is refused: {json.dumps(reply)[:1500]}")
        # A conflict says nothing of the files but that they are as they were: what is found in them later would show it.
        is_told = claims and not codes & OF_OTHERS and operation["what"] != "undo"
        group.operations.append(operation | ({"outcome": "refused", "claims": claims} if is_told else {"outcome": "conflict"}))

    def settle(self, withdrawn: list[Withdrawn], *, killed: bool = False) -> None:
        """What became of calls that were withdrawn, now that their server has ended: one that was not answered has changed nothing, unless
        the server was killed."""
        while withdrawn:
            group, operation, future = withdrawn.pop()
            try:
                answered, result = future.result(PATIENCE)
            except Lost:
                if killed:
                    self.lost(group, operation)
                else:
                    self.counts["withdrawn"] += 1
                    group.operations.append(operation | {"outcome": "conflict", "answered": time.monotonic_ns()})
                continue
            self.counts["withdrawn, and answered"] += 1
            self.answered(group, operation, answered, result)


class Judge:
    """The program that says whether there is an order."""

    def __init__(self) -> None:
        program = os.environ.get("HISTORIES", str(HERE / "target/debug/histories"))
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def judge(self, history: dict[str, Any]) -> dict[str, Any]:
        self.process.stdin.write(json.dumps(history) + "\n")  # type: ignore[union-attr]
        self.process.stdin.flush()  # type: ignore[union-attr]
        said = self.process.stdout.readline()  # type: ignore[union-attr]
        if not said:
            raise RuntimeError("the judge has ended")
        return json.loads(said)

    def close(self) -> None:
        self.process.stdin.close()  # type: ignore[union-attr]
        self.process.wait()


class Recording:
    """Rounds, one after the other, on the same files."""

    #: How long a round is, unless enough has happened before. The checker's time grows with the length of a history, and with the calls that were cut off.
    SECONDS = 1.0

    def __init__(self, options: argparse.Namespace, ways: str = "", kills: int = 2) -> None:
        self.options, self.ways, self.kills = options, ways, kills
        self.rng = random.Random(f"{options.seed} {ways}")
        self.make()
        self.judge = Judge()
        self.verdicts: Counter[str] = Counter()
        self.operations = self.rounds = 0

    def make(self) -> None:
        """The files, and the servers on them."""
        self.world = World(self.options.names_at_once)
        self.servers = Servers(self.world, self.ways, self.rng)

    def outsiders(self) -> int:
        """How many other programs there are. With a slow exchange what is seen for an instant beside one lasts for milliseconds, and hides what a lock is for."""
        return 0 if self.ways else 1

    def round(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """A round; the history of each group of files, with its verdict."""
        done, world, servers = threading.Event(), self.world, self.servers
        draw = lambda: random.Random(self.rng.random())  # noqa: E731
        work: list[Callable[[], None]] = [lambda client=Client(world, servers, which % 4, draw()): client.work(done) for which in range(6)]
        work += [lambda other=draw(): Outsider(world, other).work(done) for _ in range(self.outsiders())]
        work += [lambda: servers.trouble(troubles, done, self.kills) for troubles in [draw()]]
        threads = [threading.Thread(target=one) for one in work]
        for thread in threads:
            thread.start()
        end = time.monotonic() + self.SECONDS
        while time.monotonic() < end and not world.problems and max(len(group.operations) for group in world.groups) < 150:
            time.sleep(0.01)
        done.set()
        for thread in threads:
            thread.join(2 * PATIENCE)
            if thread.is_alive():
                raise RuntimeError("a client does not come to its end")
        servers.rest()
        self.recover()
        self.rounds += 1
        for group in world.groups:
            history = group.history(f"round {self.rounds}")
            verdict = self.judge.judge(history)
            self.verdicts[verdict["verdict"]] += 1
            self.operations += verdict["operations"]
            yield history, verdict

    def recover(self) -> None:
        """An edit of a file of nobody's, before which a server ends what a killed one has begun."""
        outside = self.world.tree / "outside"
        number = int(outside.read_text())
        patch = {"file_path": str(self.world.homes[0] / "outside"), "patches": [{"old_string": f"{number}\n", "new_string": f"{number + 1}\n"}]}
        for server in self.servers.running[:1]:
            _, result = server.call("patch_text_file_contents", {"files": [patch]})
            if result.get("isError") or outside.read_text() != f"{number + 1}\n":
                self.world.problems.append(f"an edit of a file of nobody's: {result}")
        left = [path.name for path in self.world.tree.rglob("*") if path.name.startswith(PREFIX)]
        self.world.counts["displaced"] += len([*self.world.tree.rglob("*.displaced-*")])
        if left:
            self.world.problems.append(f"left beside: {left}")

    def close(self) -> list[str]:
        self.judge.close()
        problems = self.servers.close()
        shutil.rmtree(self.world.base, ignore_errors=True)
        return problems

    def keep(self, history: dict[str, Any]) -> None:
        if self.options.keep:
            directory = Path(self.options.keep)
            directory.mkdir(parents=True, exist_ok=True)
            (directory / (history["name"].replace(" ", "-") + ".json")).write_text(json.dumps(history) + "\n")

    def __str__(self) -> str:
        verdicts = ", ".join(f"{count} {name}" for name, count in sorted(self.verdicts.items()))
        return (f"{self.rounds} rounds, {self.operations} operations, {self.servers.kills} kills, {self.servers.pauses} pauses, "
                f"{self.world.counts['unknown']} calls cut off; histories: {verdicts}")


def recorded(options: argparse.Namespace, report: Report, seconds: float, recording: Recording) -> None:
    """Histories of the program with all its locks: each must have an order."""
    try:
        end = time.monotonic() + seconds
        while time.monotonic() < end and not recording.world.problems:
            for history, verdict in recording.round():
                if verdict["verdict"] == "undecided":
                    recording.keep(history)
                    report.skip(history["name"], f"the search takes too long ({verdict['operations']} operations)")
                else:
                    is_good = verdict["verdict"] == "linearizable"
                    if not is_good:
                        recording.keep(history)
                    report.case(f"{history['name']} (seed {options.seed})", [] if is_good else [f"no order of the calls; first at {verdict['told']}"])
    finally:
        problems = recording.world.problems + recording.close()
        print(f"   {recording}")
        for what, count in sorted(recording.world.counts.items()):
            print(f"   {count:6} {what}")
    report.case("all replies are as they should be", problems)


def convicted(options: argparse.Namespace, report: Report, way: str) -> None:
    """A server without a lock: a history without an order must be found."""
    recording = Recording(options, f"{way},{SLOW}")
    found = None
    try:
        end = time.monotonic() + options.seconds
        while not found and time.monotonic() < end:
            recording.world.problems.clear()
            for history, verdict in recording.round():
                if verdict["verdict"] == "not linearizable" and not found:
                    found = f"{history['name']}: {verdict['told'][:300]}"
                    recording.keep(history)
    finally:
        recording.close()
        print(f"   {way}: {recording}\n   convicted by {found}")
    report.case(f"{way} is convicted (seed {options.seed})", [] if found else [f"all is linearizable without it: {recording}"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=20.0, help="how long; of --convict at most, for each lock")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED", "0")) or int(time.time()))
    parser.add_argument("--keep", help="a directory for histories that have no order, or are undecided")
    parser.add_argument("--names-at-once", action="store_true", help="calls take names that others are giving up, which docs/limits.md tells of")
    parser.add_argument("--convict", action="store_true", help="servers without a lock; wants MCP_TEXT_EDITOR_SIMULATION")
    parser.add_argument("--way", choices=LEFT_OUT, action="append", help="only without this lock")
    parser.add_argument("--machines", type=int, default=0, help="servers on so many machines; root")
    parser.add_argument("--no-database", action="store_true", help="with the state of each machine by itself")
    options = parser.parse_args()
    report = Report()
    if options.machines:
        import on_machines
        return on_machines.run(options)
    print(f"seed {options.seed}")
    if options.convict:
        report.section("all locks")
        recorded(options, report, min(5.0, options.seconds), Recording(options, SLOW))
        for way in options.way or LEFT_OUT:
            report.section(way)
            convicted(options, report, way)
    else:
        recorded(options, report, options.seconds, Recording(options))
    report.section("done")
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
