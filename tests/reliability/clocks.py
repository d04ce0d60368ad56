"""Tries files with any time stamp, a clock that jumps, and a machine that sleeps. Stale hashes are refused, reads show the present content, no
deadline passes at once, and the history stays whole.

    clocks.py [NAME…]

libfaketime (Debian's package of that name) sets the clock of one server while it runs. Time stamps of files stay those of the machine, or
utimensat(2) sets them. A sleeping machine is imitated in two ways: a process is stopped, or its monotonic clock and its time since boot differ
(time_namespaces(7)), for which root is needed.
"""

from __future__ import annotations

import argparse
import fcntl
import glob
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from harness import Reply, Report, Server, World, skipped
from session import over_http

PATCH, READ, UNDO = "patch_text_file_contents", "get_text_file_contents", "undo_text_file_edits"
OPTIONS = ("--tools", "all", "--output", "json")
SECOND, DAY = 10**9, 86_400

#: Nanoseconds since 1970. ext4 keeps times until 2446, and the server prints years until 9999; tmpfs and btrfs keep any time.
TIMES = {"the beginning": 0, "a nanosecond before 1970": -1, "1969, and a half": -SECOND // 2, "1901": -(1 << 31) * SECOND, "before 1901": -(1 << 33) * SECOND,
         "before the calendar": -(1 << 40) * SECOND, "2038": ((1 << 31) + 1) * SECOND + 7, "2106": (1 << 32) * SECOND, "2446": ((1 << 34) - (1 << 31)) * SECOND,
         "9999": 253_402_207_200 * SECOND, "after 9999": (1 << 42) * SECOND, "in a minute": (int(time.time()) + 60) * SECOND,
         "a day ago": (int(time.time()) - DAY) * SECOND + 123_456_789}


class Skipped(Exception):
    """A case that this machine cannot run, and the reason. It counts neither as passed nor as failed."""


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def shown(server: Server, path: Path) -> bytes:
    """The content of a file as a read shows it."""
    reply = server.call(READ, {"file_path": str(path)})
    return reply.text.encode() if reply.is_error else reply.json["files"][0]["ranges"][0]["content"].encode()


def replace(path: Path, old: str, new: str) -> tuple[str, dict[str, Any]]:
    return PATCH, {"files": [{"file_path": str(path), "patches": [{"old_string": old, "new_string": new}]}]}


def undone(server: Server, reply: Reply) -> list[str]:
    back = server.call(UNDO, {"edit_id": (reply.json or {}).get("edit_id", "none")})
    return [f"undo: {back.text[:300]}"] if back.is_error else []


# Files of any time


def of_time(world: World, server: Server, path: Path, wanted: int) -> list[str]:
    """Carries out each kind of call on a file. Before each, the file gets this time stamp."""
    def put(content: bytes) -> int:
        path.write_bytes(content)
        world._give(path)
        os.utime(path, ns=(wanted, wanted))
        return path.stat().st_mtime_ns

    first, second = b"one line of some\nthe end\n", b"one LINE of some\nthe end\n"
    problems = []
    kept = put(first)
    for _ in range(2):
        if shown(server, path) != first:
            problems.append("a read shows other bytes")
    listed = server.call("list_text_files", {"path": str(path.parent), "glob": [path.name], "line_counts": True})
    entry = listed.json["entries"][0]
    if (entry["bytes"], entry["lines"]) != (len(first), 2):
        problems.append(f"listed as {entry}")
    if -62_135_596_800 * SECOND <= kept <= 253_402_207_200 * SECOND:
        near = [datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=kept // SECOND + more) for more in (0, 1)]
        if entry["modified"] not in [f"{each:%Y-%m-%dT%H:%M:%SZ}" for each in near]:
            problems.append(f"listed as modified {entry['modified']}, not {near[0]}")
    elif not entry["modified"].startswith("9999" if kept > 0 else "-"):
        problems.append(f"listed as modified {entry['modified']}")
    # Another program writes as many bytes, and sets the times back.
    put(second)
    if shown(server, path) != second:
        problems.append("a read shows what was there before another program wrote")
    found = server.call("search_text_files", {"pattern": "LINE", "paths": [str(path)]})
    if len(found.json["matches"]) != 1:
        problems.append(f"a search finds {found.text[:200]}")
    stale = server.call("append_text_file_contents", {"file_path": str(path), "file_hash": digest(first), "contents": "more\n"})
    if stale.code != "hash_mismatch" or path.read_bytes() != second:
        problems.append(f"an append by the hash of before: {stale.text[:200]}")
    for tool, arguments in (replace(path, "LINE", "Zeile"), ("append_text_file_contents", {"file_path": str(path), "file_hash": digest(second), "contents": "more\n"}),
                            ("move_text_file", {"from": str(path), "to": f"{path}.moved"}), ("remove_text_file", {"file_path": str(path), "file_hash": digest(second)})):
        put(second)
        reply = server.call(tool, arguments)
        if reply.is_error or (path.exists() and path.read_bytes() == second):
            problems.append(f"{tool}: {reply.text[:300]}")
        else:
            problems += [f"{tool}: {problem}" for problem in undone(server, reply)]
        if not path.exists() or path.read_bytes() != second:
            problems.append(f"{tool}: undone, it is not as it was")
    return problems


def times(world: World) -> list[str]:
    """On the disk of the temporary directory, and in memory."""
    memory = World(Path("/dev/shm")) if os.access("/dev/shm", os.W_OK) else None
    problems = []
    for each in (world, memory):
        if each is None:
            problems += skipped("times in memory", "there is no /dev/shm")
            continue
        each.reset()
        kept = set()
        with each.server(*OPTIONS) as server:
            for name, wanted in TIMES.items():
                path = each.tree / "a" / "timed.txt"
                problems += [f"{each.base.parent}, {name}: {problem}" for problem in of_time(each, server, path, wanted)]
                os.utime(path, ns=(wanted, wanted))
                kept.add(path.stat().st_mtime_ns)
            log = server.stderr()
        if "panic" in log:
            problems.append(log[-500:])
        print(f"   {each.base.parent}: {len(kept)} of {len(TIMES)} times as different as they are; the file system keeps {min(kept)} to {max(kept)} ns")
    if memory:
        memory.close()
    return problems[:12]


# A clock that jumps


class Clock:
    """The clock of processes that are started with `env`; it can be set while they run. Its file is in the tree, where a confined server can
    read it."""

    def __init__(self, world: World) -> None:
        libraries = sorted(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1") + glob.glob("/usr/lib*/faketime/libfaketimeMT.so.1"))
        self.file, self.library = world.tree / "clock", libraries[0] if libraries else None
        self.set(0)
        self.env = {"LD_PRELOAD": self.library or "", "FAKETIME_TIMESTAMP_FILE": str(self.file), "FAKETIME_NO_CACHE": "1", "DONT_FAKE_MONOTONIC": "1",
                    "NO_FAKE_STAT": "1"}

    def set(self, seconds: float) -> None:
        new = self.file.with_name("clock.new")
        new.write_text(f"{seconds:+.0f}\n")
        new.chmod(0o644)
        new.rename(self.file)

    def missing(self, world: World) -> str | None:
        """The reason why a server does not see the clock that is set; None if it does."""
        if not self.library:
            return "libfaketime is not installed"
        self.set(-1000 * DAY)
        with world.server(*OPTIONS, env=self.env) as server:
            server.call(*replace(world.tree / "outside.txt", "business", "affairs"))
            year = edits_of(server)[0]["time"][:4]
        self.set(0)
        return None if int(year) < datetime.now(timezone.utc).year - 1 else "libfaketime has no effect on the program (is it static?)"


def edits_of(server: Server) -> list[dict[str, Any]]:
    return server.call("list_text_file_edits", {"limit": 1000}).json["edits"]


def jumping(world: World, clock: Clock) -> list[str]:
    """Two processes edit and read, each after a jump of the clock; then a third one undoes all edits."""
    path, problems, ids = world.tree / "jumps.txt", [], []
    path.write_text("value 0000\n")
    world._give(path)
    with world.server(*OPTIONS, env=clock.env) as first, world.server(*OPTIONS, env=clock.env) as second:
        for number, days in enumerate((0, 1, 40, 400, -3, -400, -30_000, 3650, 100_000, 0), 1):
            clock.set(days * DAY)
            server, other = (first, second) if number % 2 else (second, first)
            reply = server.call(*replace(path, f"value {number - 1:04}", f"value {number:04}"))
            if reply.is_error:
                problems.append(f"{days} days: {reply.text[:300]}")
                continue
            ids.append(reply.json["edit_id"])
            wanted = f"value {number:04}\n".encode()
            stale = other.call("append_text_file_contents", {"file_path": str(path), "file_hash": digest(b"value 0000\n"), "contents": "lost\n"})
            if stale.code != "hash_mismatch":
                problems.append(f"{days} days: an edit by an old hash: {stale.text[:200]}")
            for _ in range(2):
                if shown(other, path) != wanted:
                    problems.append(f"{days} days: a read shows {shown(other, path)!r}")
            # Another program writes as many bytes, and restores the time stamps.
            before = path.stat()
            path.write_bytes(wanted.replace(b"value", b"VALUE"))
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
            if shown(other, path) != wanted.replace(b"value", b"VALUE"):
                problems.append(f"{days} days: a read shows what was there before another program wrote")
            path.write_bytes(wanted)
            if [edit["edit_id"] for edit in edits_of(other)][:len(ids)] != ids[::-1]:
                problems.append(f"{days} days: the history is not in the order in which edits were made")
    with world.server(*OPTIONS, env=clock.env) as third:
        for edit in reversed(ids):
            problems += undone(third, Reply({"result": {"structuredContent": {"edit_id": edit}}}))
    if path.read_text() != "value 0000\n":
        problems.append(f"all is undone, and there is {path.read_text()!r}")
    return problems


def retained(world: World, clock: Clock) -> list[str]:
    """A clock that is wrong for a while deletes no history; once the days have really passed, old edits are deleted."""
    path, problems = world.tree / "kept.txt", []
    path.write_text("value 0\n")
    world._give(path)
    number = 0

    def edits(days: float, count: int) -> list[str]:
        """Makes edits, each in a process of its own, which deletes old edits as soon as it starts. Returns the ids of those that are kept."""
        nonlocal number
        clock.set(days * DAY)
        for _ in range(count):
            with world.server(*OPTIONS, env=clock.env) as server:
                reply = server.call(*replace(path, f"value {number}\n", f"value {number + 1}\n"))
                if reply.is_error:
                    problems.append(reply.text[:300])
                number += 1
                kept = [edit["edit_id"] for edit in edits_of(server)]
        return kept

    before = len(edits(0, 3))
    for days in (40, 0, 36_500, 0, -36_500, 0, 0.9):
        kept = len(edits(days, 2))
        if kept != before + 2:
            problems.append(f"the clock at {days:+} days: of {before} edits and 2 more {kept} are kept")
        before = kept
    with world.server(*OPTIONS, env=clock.env) as server:
        problems += undone(server, Reply({"result": {"structuredContent": {"edit_id": edits_of(server)[0]["edit_id"]}}}))
        number -= 1
    # Edits of the year 2126 protect the older ones behind them from the bound in days (docs/limits.md), so the history starts anew.
    shutil.rmtree(world.state)
    world.state.mkdir(mode=0o700)
    world._give(world.state)
    edits(0, 3), edits(40, 2)
    kept = len(edits(41.5, 1))
    if kept != 3:
        problems.append(f"40 days after three edits, two; a day after these, one: {kept} are kept, not 3")
    return problems


def with_lock(path: Path, meanwhile: Callable[[], None], call: Callable[[], Reply]) -> Reply:
    """Makes a call that has to wait for a lock on its file, and does something else while it waits."""
    with open(path, "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        replies: list[Reply] = []
        caller = threading.Thread(target=lambda: replies.append(call()))
        caller.start()
        time.sleep(0.2)
        meanwhile()
        time.sleep(0.1)
        fcntl.flock(held, fcntl.LOCK_UN)
        caller.join(120)
    return replies[0] if replies else Reply({"error": {"code": "no answer"}})


def waiting(world: World, clock: Clock) -> list[str]:
    """The clock jumps while a call waits for a lock: the jump neither ends the call nor prolongs its wait."""
    path, problems = world.tree / "outside.txt", []
    for days in (10, -10, 40_000):
        path.write_text("old\n")
        clock.set(0)
        with world.server(*OPTIONS, "--limit", "call-seconds=60", env=clock.env) as server:
            world.warm(server)
            reply = with_lock(path, lambda: clock.set(days * DAY), lambda: server.call(*replace(path, "old", "new")))
        if reply.is_error or path.read_text() != "new\n":
            problems.append(f"{days:+} days: {reply.text[:300]}")
    clock.set(0)
    path.write_text("old\n")
    os.environ.update(clock.env)
    try:
        with over_http(world.tree, world.base / "http", [*OPTIONS, "--limit", "call-seconds=60"]) as url:
            reply = with_lock(path, lambda: clock.set(10 * DAY), lambda: posted(url, *replace(path, "old", "new")))
            later = posted(url, READ, {"file_path": str(path)})
    finally:
        for name in clock.env:
            del os.environ[name]
        clock.set(0)
    if reply.is_error or later.is_error or path.read_text() != "new\n":
        problems.append(f"HTTP: {reply.text[:300]}; {later.text[:300]}")
    return problems


def posted(url: str, tool: str, arguments: dict[str, Any]) -> Reply:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "http"))
    from load import Client
    client = Client([int(url.split(":")[2].split("/")[0])], 0)
    try:
        return Reply({"result": client.call(tool, arguments)})
    finally:
        client.close()


def jumps(world: World) -> list[str]:
    world.reset()
    clock = Clock(world)
    if reason := clock.missing(world):
        raise Skipped("a clock that jumps", reason)
    problems = []
    for case in (jumping, retained, waiting):
        world.reset()
        clock.set(0)
        problems += [f"{case.__name__}: {problem}" for problem in case(world, clock)]
    return problems


# A machine that sleeps


def stopped(world: World) -> list[str]:
    """A process is stopped while a call waits, for longer than a call may take: the call is carried out, or refused without a change. The next one succeeds."""
    path, problems, answers = world.tree / "outside.txt", [], []
    for late in (False, True):
        world.reset()
        path.write_text("old\n")
        with world.server(*OPTIONS, "--limit", f"call-seconds={1 if late else 60}") as server:
            world.warm(server)

            def sleep() -> None:
                server.process.send_signal(signal.SIGSTOP)
                time.sleep(1.5)
                server.process.send_signal(signal.SIGCONT)

            reply = with_lock(path, sleep, lambda: server.call(*replace(path, "old", "new")))
            answers.append(reply.code or "ok")
            if path.read_text() != ("old\n" if reply.is_error else "new\n") or (reply.is_error and (not late or "nothing was written" not in reply.text)):
                problems.append(f"{path.read_text()!r}, answered {reply.text[:300]}")
            after = server.call(*replace(path, path.read_text().strip(), "newer"))
            if after.is_error or path.read_text() != "newer\n":
                problems.append(f"after it: {after.text[:300]}")
        problems += world.strays()
    print(f"   answered {answers}")
    return problems


def slept(world: World) -> list[str]:
    """Three processes share a tree and a history: one on a machine that was up for years, one on a machine that slept for most of them, and one of this machine."""
    clocks = {"up for ten years": ("315360000", "315360000"), "slept for ten years": ("0", "315360000")}
    tried = subprocess.run(["unshare", "-T", "--boottime", "1", "true"], capture_output=True, text=True) if shutil.which("unshare") else None
    if tried is None or tried.returncode:
        raise Skipped("a machine that slept", f"no time namespace: {tried.stderr.strip() if tried else 'no unshare(1)'}")
    world.reset()
    path, problems, ids = world.tree / "outside.txt", [], []
    path.write_text("value 0\n")
    wraps = [(), *(("unshare", "-T", "--monotonic", monotonic, "--boottime", boottime, "--") for monotonic, boottime in clocks.values())]
    # The namespace is root's to make, and root keeps the state.
    servers = [Server(world.tree, options=(*OPTIONS, "--limit", "call-seconds=60"), state=world.base / "slept", wrap=wrap) for wrap in wraps]
    try:
        for number in range(9):
            server = servers[number % 3]
            reply = with_lock(path, lambda: None, lambda: server.call(*replace(path, f"value {number}\n", f"value {number + 1}\n")))
            if reply.is_error:
                problems.append(f"{number}: {reply.text[:300]}")
                continue
            ids.append(reply.json["edit_id"])
            wrong = [shown(each, path) for each in servers if shown(each, path) != path.read_bytes()]
            if wrong or path.read_text() != f"value {number + 1}\n":
                problems.append(f"{number}: there is {path.read_text()!r}, shown as {wrong}")
        for number, edit in enumerate(reversed(ids)):
            problems += undone(servers[number % 3], Reply({"result": {"structuredContent": {"edit_id": edit}}}))
        if path.read_text() != "value 0\n":
            problems.append(f"all is undone, and there is {path.read_text()!r}")
    finally:
        for server in servers:
            server.close()
    return problems


CASES: list[Callable[[World], list[str]]] = [times, jumps, stopped, slept]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", default=[])
    options = parser.parse_args()
    report = Report()
    for function in CASES:
        if options.names and function.__name__ not in options.names:
            continue
        report.section(function.__name__)
        world = World()
        try:
            report.case(function.__name__, function(world))
        except Skipped as why:
            report.skip(*why.args)
        except Exception:  # noqa: BLE001
            report.case(function.__name__, [traceback.format_exc(limit=-4)])
        finally:
            world.close()
    report.section("done")
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
