"""Many processes edit the same files, and programs that know nothing of the server write to them, too.

    races.py [--seed N] [--scale F] [NAME…]

No acknowledged edit is lost, no file is ever torn, nobody waits for ever.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Callable

from harness import (ONE_WORKER, Closed, Reply, Report, Server, Strace, Timeout, World, is_stopped, no_strace, simulate, simulates, skipped, user,
                     worker_of)

PATCH = "patch_text_file_contents"
#: Refusals after which a client reads again.
AGAIN = {"conflict", "busy", "no_match", "content_mismatch", "ambiguous_match", "hash_mismatch", "range_hash_mismatch"}
DEADLINE = 90.0
#: A warning that says that the file was written over.
IN_PLACE = re.compile(r'"warnings":\[[^]]*in place')
LOST = "the other program's write is lost"


class Clients:
    """Some servers, a thread with each; what goes wrong in one is told at the end."""

    def __init__(self, world: World, count: int) -> None:
        self.world = world
        self.servers = [world.server(timeout=60) for _ in range(count)]
        self.problems: list[str] = []

    def run(self, work: Callable[[int, Server], None], beside: Callable[[], None] | None = None) -> None:
        def guarded(number: int) -> None:
            try:
                work(number, self.servers[number])
            except (Closed, Timeout, AssertionError) as error:
                self.problems.append(f"client {number}: {type(error).__name__}: {error}")
        threads = [threading.Thread(target=guarded, args=(number,)) for number in range(len(self.servers))]
        if beside:
            threads.append(threading.Thread(target=beside))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(DEADLINE)
            if thread.is_alive():
                self.problems.append("a client does not come to its end")
                for server in self.servers:
                    server.process.kill()

    def close(self) -> list[str]:
        for server in self.servers:
            server.close()
        return self.problems


def patch(server: Server, *edits: tuple[str, str, str]) -> Reply:
    return server.call(PATCH, {"files": [{"file_path": path, "patches": [{"old_string": old, "new_string": new}]} for path, old, new in edits]})


def counter(world: World, scale: float, rng: random.Random) -> list[str]:
    """One counter, at both ends of a file: every acknowledged step counts, and no reader ever sees two values."""
    path, padding = world.tree / "outside.txt", "padding padding padding\n" * 1500
    path.write_text(f"head 0\n{padding}tail 0\n")
    clients, steps = Clients(world, 4), int(40 * scale)
    retries: list[int] = []
    done = threading.Event()
    torn: list[str] = []

    def work(number: int, server: Server) -> None:
        for _ in range(steps):
            for attempt in range(2000):
                value = int(path.read_text().split("\n", 1)[0].split()[1])
                reply = server.call(PATCH, {"files": [{"file_path": str(path), "patches": [
                    {"old_string": f"head {value}\n", "new_string": f"head {value + 1}\n"},
                    {"old_string": f"tail {value}\n", "new_string": f"tail {value + 1}\n"}]}]})
                if not reply.is_error:
                    break
                assert reply.code in AGAIN, reply.text
            else:
                raise AssertionError("2000 refusals in a row")
            retries.append(attempt)

    def watch() -> None:
        while not done.is_set():
            text = path.read_text()
            head, tail = text.split("\n", 1)[0], text.rsplit("\n", 2)[-2]
            if head.split()[1:] != tail.split()[1:] or text != f"{head}\n{padding}{tail}\n":
                torn.append(f"{head} … {tail}, {len(text)} bytes")

    watcher = threading.Thread(target=watch)
    watcher.start()
    clients.run(work)
    done.set()
    watcher.join()
    problems = clients.close()
    final = path.read_text().split("\n", 1)[0]
    if final != f"head {4 * steps}" and not problems:
        problems.append(f"{4 * steps} acknowledged steps, and the counter says {final}")
    problems += [f"a reader saw: {one}" for one in torn[:3]]
    path.write_text("nobody's\nbusiness\n")
    return problems + world.strays()


def lines(world: World, scale: float, rng: random.Random) -> list[str]:
    """Each process has a line of its own in one file; with a second name that file is edited in place."""
    problems = []
    for name in ("outside.txt", "linked.txt"):
        path = world.tree / name
        path.write_text("".join(f"line {n}: 0\n" for n in range(4)))
        clients, steps = Clients(world, 4), int(30 * scale)

        def work(number: int, server: Server) -> None:
            for value in range(steps):
                for _ in range(50):
                    reply = patch(server, (str(path), f"line {number}: {value}\n", f"line {number}: {value + 1}\n"))
                    if not reply.is_error:
                        break
                    assert reply.code in ("conflict", "busy"), reply.text
                else:
                    raise AssertionError("50 refusals in a row")

        clients.run(work)
        problems += clients.close()
        if path.read_text() != "".join(f"line {n}: {steps}\n" for n in range(4)):
            problems.append(f"{name}: 4 × {steps} acknowledged edits, and it says {path.read_text()!r}")
    world.put("linked.txt", world.old["linked.txt"])
    return problems + world.strays()


def orders(world: World, scale: float, rng: random.Random) -> list[str]:
    """Several files in one call, in another order each time, one in place among them: no deadlock, all or nothing."""
    names = ["a/01.txt", "a/02.txt", "b/07.txt", "c/13.txt", "linked.txt"]
    for name in names:
        world.put(name, "".join(f"line {n}: 0\n" for n in range(4)).encode())
    clients, steps = Clients(world, 4), int(15 * scale)
    seeds = [rng.random() for _ in range(4)]

    def work(number: int, server: Server) -> None:
        mine = random.Random(seeds[number])
        for value in range(steps):
            some = [str(world.tree / name) for name in mine.sample(names, len(names))]
            for _ in range(50):
                reply = patch(server, *((path, f"line {number}: {value}\n", f"line {number}: {value + 1}\n") for path in some))
                if not reply.is_error:
                    break
                assert reply.code in ("conflict", "busy"), reply.text
            else:
                raise AssertionError("50 refusals in a row")

    clients.run(work)
    problems = clients.close()
    for name in names:
        text = (world.tree / name).read_text()
        if text != "".join(f"line {n}: {steps}\n" for n in range(4)):
            problems.append(f"{name}: {text!r}, expected {steps} in every line")
        world.put(name, world.old[name])
    return problems + world.strays()


def outsiders(world: World, scale: float, rng: random.Random, how: str) -> list[str]:
    """Rounds in which another program writes once, complete, while three clients edit.

    What it wrote must stand, under every edit that was sent after it; edits before may have been written over by it. Only
    where one of ours was made in place, and says so, may the other's write be lost.
    """
    path = world.tree / "outside.txt"
    rounds = int(100 * scale)
    padding = "0123456789abcdef\n" * 300

    def base(number: int) -> str:
        return f"base {number}\n{padding}" + "tokens:\n"

    path.write_text(base(0))
    world._give(path)
    clients = Clients(world, 3)
    in_place_rounds = stands_in_place = torn_in_place = acknowledged = held = 0
    problems: list[str] = []
    for number in range(1, rounds + 1):
        replies: list[tuple[str, float, Reply]] = []
        pauses = [rng.uniform(0, 0.01) for _ in range(4)]
        lingers = [rng.choice([0, 0, 0, 0.001, 0.004]) for _ in range(2)]
        wrote: list[float] = []

        def work(which: int, server: Server) -> None:
            time.sleep(pauses[which])
            for index in range(4):
                token = f"token {number}.{which}.{index}\n"
                sent = time.monotonic()
                reply = patch(server, (str(path), "tokens:\n", f"tokens:\n{token}"))
                # Two that write over one file at once can leave NULs between them, until the next round: see `torn_in_place`.
                torn = how == "in place" and reply.is_error and reply.code == "binary_file"
                assert not reply.is_error or torn or reply.code in AGAIN, reply.text
                replies.append((token, sent, reply))

        def beside() -> None:
            time.sleep(pauses[3])
            content = base(number).encode()
            if how == "rename":
                aside = world.base / "theirs"
                aside.write_bytes(content)
                world._give(aside)
                os.replace(aside, path)
            else:
                with open(path, "r+b", buffering=0) as file:
                    time.sleep(lingers[0])
                    os.pwrite(file.fileno(), content, 0)
                    file.truncate(len(content))
                    time.sleep(lingers[1])
            wrote.append(time.monotonic())

        clients.run(work, beside)
        text = path.read_text()
        acks = {token: (sent, reply) for token, sent, reply in replies if not reply.is_error}
        acknowledged += len(acks)
        in_place = any(IN_PLACE.search(reply.text) for _, reply in acks.values())
        in_place_rounds += in_place
        found = re.fullmatch(r"base (\d+)\n" + re.escape(padding) + r"tokens:\n((?:token [\d.]+\n)*)", text)
        wrong = []
        if not found:
            torn_in_place += in_place
            if not in_place:
                wrong.append(f"torn: {len(text)} bytes, {text[:20]!r} … {text[-120:]!r}")
        else:
            tokens = re.findall(r"token [\d.]+\n", found[2])
            held += sum(token in tokens for token in acks)
            stands_in_place += in_place and int(found[1]) == number
            if len(set(tokens)) != len(tokens):
                wrong.append(f"an edit was made twice: {tokens}")
            refused = {token for token, _, reply in replies if reply.is_error} & set(tokens)
            if refused:
                wrong.append(f"refused, and there: {refused}")
            if not in_place:
                if int(found[1]) != number:
                    wrong.append(f"{LOST}: base {found[1]}")
                lost = [token for token, (sent, _) in acks.items() if sent > wrote[0] and token not in tokens]
                if lost:
                    wrong.append(f"acknowledged after the other program had written, and lost: {lost}")
        problems += [f"round {number}: {one}" for one in wrong]
        if not found or clients.problems:
            path.write_text(base(number))
    problems += clients.close()
    print(f"   {how}: {rounds} rounds, {acknowledged} acknowledged, {held} held to the round's end; in {in_place_rounds} rounds some were"
          f" in place: there the other's write stood {stands_in_place} times, {torn_in_place} files were torn")
    path.write_text("nobody's\nbusiness\n")
    return problems[:8] + world.strays()


def by_rename(world: World, scale: float, rng: random.Random) -> list[str]:
    return outsiders(world, scale, rng, "rename")


def in_place(world: World, scale: float, rng: random.Random) -> list[str]:
    """A program that is given the file by its name at the instant of an exchange can go unseen, of thousands one: a single
    write that is lost, and nothing else, is a finding if it comes twice."""
    problems = outsiders(world, scale, rng, "in place")
    if len(problems) == 1 and LOST in problems[0]:
        print(f"   once more, because of {problems}")
        problems = outsiders(world, scale, random.Random(rng.random()), "in place")
    return problems


def between(world: World, first: Server, second: Server, injects: tuple[list[str], list[str]], pauses: tuple[float, float],
            delayed: list[int]) -> list[str]:
    """The first edits, another program renames over the file, the second edits, with delays at their system calls. What the
    other program wrote must stand, under whatever was acknowledged after it; where names cannot be exchanged, what was acknowledged after
    it. Adds to `delayed` how many of the two were."""
    path = world.tree / "outside.txt"
    path.write_text("base 0\ntokens:\n")
    world._give(path)
    workers = [worker_of(world, server) for server in (first, second)]
    straces = [Strace(worker, "-e", f"trace={','.join(names)}", *(x for name in names for x in ("-e", f"inject={name}:{how}")))
               for worker, (how, *names) in zip(workers, injects)]
    arguments = [{"files": [{"file_path": str(path), "patches": [{"old_string": "tokens:\n", "new_string": f"tokens:\nof {n}\n"}]}]}
                 for n in range(2)]
    calls = [first.start(PATCH, arguments[0])]
    time.sleep(pauses[0])
    aside = world.base / "theirs"
    aside.write_text("base 1\ntokens:\n")
    world._give(aside)
    os.replace(aside, path)
    time.sleep(pauses[1])
    calls.append(second.start(PATCH, arguments[1]))
    replies = [Reply(server.wait(call, 60)) for server, call in zip((first, second), calls)]
    delayed.append(sum("(DELAYED)" in strace.detach(0).text for strace in straces))
    text = path.read_text()
    found = re.fullmatch(rf"base {'[01]' if simulates('no-exchange') else '1'}\ntokens:\n((?:of \d\n)*)", text)
    wrong = [f"client {n}: {reply.text[:300]}" for n, reply in enumerate(replies) if reply.is_error and reply.code not in AGAIN]
    told = {n for n, reply in enumerate(replies) if not reply.is_error}
    if not found:
        wrong.append(f"the other program's write does not stand: {text!r}, acknowledged to {told}")
    else:
        there = {n for n in range(2) if f"of {n}\n" in found[1]}
        # The first may have exchanged before the other program wrote over it.
        if not there <= told or not told - {0} <= there:
            wrong.append(f"acknowledged to {told}, there are those of {there}")
    wrong += world.strays()
    for stray in world.tree.rglob(".mte-*"):
        stray.unlink()
    return wrong


def crossed(world: World, scale: float, rng: random.Random) -> list[str]:
    """Another program renames over a file that one server has locked, so that a second locks the new one: both are about to
    exchange the same name at once. Delays at each of their exchanges bring them into several orders."""
    return crossing(world, scale, world.state)


def crossed_apart(world: World, scale: float, rng: random.Random) -> list[str]:
    """The same with a state directory each, as two users or two containers have: the journal cannot keep them apart."""
    apart = world.base / "apart"
    apart.mkdir(mode=0o700)
    world._give(apart)
    return crossing(world, scale, apart)


def tell(delayed: list[int]) -> list[str]:
    """How often delays brought the two into an order; that they never did both is a problem."""
    both = delayed.count(2)
    print(f"   {len(delayed)} rounds, both delayed in {both}, one in {delayed.count(1)}")
    return [] if both else ["never were both of them delayed"]


def crossing(world: World, scale: float, state: Path) -> list[str]:
    reason = no_strace()
    if reason:
        return skipped("crossed", reason)
    problems = []
    delayed: list[int] = []
    pairs = list(itertools.product((60_000, 150_000), (20_000, 60_000, 110_000))) if scale > 1 else [(60_000, 60_000), (150_000, 110_000)]
    with world.server(*ONE_WORKER) as first, world.server(*ONE_WORKER, state=state) as second:
        for delays in pairs:
            for later in (0.0, 0.03, 0.08):
                injects = tuple([f"delay_enter={delay}", "renameat" if simulates("no-exchange") else "renameat2"] for delay in delays)
                wrong = between(world, first, second, injects, (0.03, later), delayed)
                problems += [f"delays {delays} µs, the second {later * 1000:.0f} ms after the other program: {one}" for one in wrong]
    world.put("outside.txt", b"nobody's\nbusiness\n")
    return problems[:12] + tell(delayed)


def unrecorded(world: World, scale: float, rng: random.Random) -> list[str]:
    """The same, step by step: the second comes while the first holds the old file's lock but has not written its record yet."""
    reason = no_strace()
    if reason:
        return skipped("unrecorded", reason)
    path, problems = world.tree / "outside.txt", []
    for title in ("one state directory", "a state directory each"):
        world.reset()
        apart = world.base / "apart-too"
        apart.mkdir(mode=0o700, exist_ok=True)
        world._give(apart)
        with world.server(*ONE_WORKER) as first, world.server(*ONE_WORKER, **({} if title.startswith("one") else {"state": apart})) as second:
            workers = [worker_of(world, server) for server in (first, second)]
            # Which flock is the record's, an edit before tells.
            strace = Strace(workers[0], "-y", "-e", "trace=flock")
            world.edit_outside(first)
            records = [c.index for c in strace.detach(0) if c.path.startswith(str(world.state / "journal"))]
            assert records, "no record is locked"
            path.write_text("base 0\ntokens:\n")
            edits = [{"files": [{"file_path": str(path), "patches": [{"old_string": "tokens:\n", "new_string": f"tokens:\nof {n}\n"}]}]} for n in range(2)]
            stops = [f"inject=flock:signal=STOP:when={records[0]}", "inject=fsync:signal=STOP:when=1"]
            straces = [Strace(worker, "-e", "trace=flock,fsync,renameat2", "-e", stop, "-e", "inject=renameat2:signal=STOP:when=1")
                       for worker, stop in zip(workers, stops)]

            def stopped(which: int, patience: float = 0.6) -> bool:
                until = time.monotonic() + patience
                while not is_stopped((first, second)[which]):
                    if time.monotonic() > until:
                        return False
                    time.sleep(0.002)
                return True

            calls = [first.start(PATCH, edits[0])]
            begun = [stopped(0, 10)]
            aside = world.base / "theirs"
            aside.write_text("base 1\ntokens:\n")
            world._give(aside)
            os.replace(aside, path)
            calls.append(second.start(PATCH, edits[1]))
            begun.append(stopped(1, 10))
            for which in (0, 1, 0, 1):
                (first, second)[which].process.send_signal(signal.SIGCONT)
                stopped(which)
            done = threading.Event()

            def wake() -> None:
                while not done.wait(0.02):
                    for server in (first, second):
                        server.process.send_signal(signal.SIGCONT)

            waker = threading.Thread(target=wake)
            waker.start()
            replies = [Reply(server.wait(call, 60)) for server, call in zip((first, second), calls)]
            done.set()
            waker.join()
            print(f"   {title}: the two stopped {[strace.detach(0).text.count('stopped by SIGSTOP') for strace in straces]} times")
        if not all(begun):
            problems.append(f"{title}: stopped where they were to be: {begun}")
        told = {n for n, reply in enumerate(replies) if not reply.is_error}
        text = path.read_text()
        there = re.findall(r"of (\d)\n", text)
        if not text.startswith("base 1\ntokens:\n"):
            problems.append(f"{title}: the other program's write is lost: {text!r}, acknowledged to {told}")
        if sorted(there) != sorted(map(str, told)):
            problems.append(f"{title}: acknowledged to {told}, there are {there}")
        problems += [f"{title}: client {n}: {r.text[:300]}" for n, r in enumerate(replies) if r.is_error and r.code not in AGAIN]
        problems += [f"{title}: {stray}" for stray in world.strays()]
    world.reset()
    return problems


def slowed(world: World, scale: float, rng: random.Random) -> list[str]:
    """The same, with delays at calls drawn by lot: many orders of everything that the two do."""
    reason = no_strace()
    if reason:
        return skipped("slowed", reason)
    problems = []
    delayed: list[int] = []
    with world.server(*ONE_WORKER) as first, world.server(*ONE_WORKER) as second:
        for number in range(int(20 * scale)):
            injects = tuple([f"delay_enter={rng.choice([3000, 8000, 15000])}",
                             *rng.sample(["openat2", "flock", "renameat2", "fsync", "write", "unlinkat", "fdatasync", "getrandom"], 3)] for _ in range(2))
            pauses = (rng.uniform(0, 0.15), rng.choice([0, 0.002, rng.uniform(0, 0.1)]))
            wrong = between(world, first, second, injects, pauses, delayed)
            problems += [f"{number}: {injects}, pauses {pauses[0]:.3f} {pauses[1]:.3f}: {one}" for one in wrong]
    world.put("outside.txt", b"nobody's\nbusiness\n")
    return problems[:12] + tell(delayed)


def creators(world: World, scale: float, rng: random.Random) -> list[str]:
    """All create the same files: each is made once, by the one who was told so."""
    clients, steps = Clients(world, 4), int(20 * scale)
    made: dict[int, list[int]] = {step: [] for step in range(steps)}

    def work(number: int, server: Server) -> None:
        for step in range(steps):
            reply = server.call("create_text_file", {"file_path": str(world.tree / f"made/{step}/file.txt"), "contents": f"by {number}\n" * 50})
            if not reply.is_error:
                made[step].append(number)
            else:
                assert reply.code == "already_exists", reply.text

    clients.run(work)
    problems = clients.close()
    for step, by in made.items():
        path = world.tree / f"made/{step}/file.txt"
        if len(by) != 1 or path.read_text() != f"by {by[0]}\n" * 50:
            problems.append(f"made/{step}/file.txt: acknowledged to {by}, holds {path.read_text()[:5] if path.exists() else None!r}")
    return problems + world.strays(*(f"made/{step}/file.txt" for step in made))


def appended(world: World, scale: float, rng: random.Random) -> list[str]:
    """A program appends to a file, and makes it where it is not, while it is removed, or moved to another file system, alone or by a
    call that edits another file, too, with delays before and after the file loses its name: each line stands in the file, in what was
    taken away by its hash, or where the reply says; and the other file is edited if and only if that was answered."""
    reason = no_strace()
    if reason:
        return skipped("appended", reason)
    beyond = Path(tempfile.mkdtemp(prefix="mte-beyond-", dir="/dev/shm"))
    owner = user()
    if owner is not None:
        os.chown(beyond, owner, owner)
    problems, told = [], []
    path, other = world.tree / "log.txt", world.tree / "other.txt"
    try:
        with Server(world.tree, beyond, options=ONE_WORKER, user=owner, state=world.state) as server:
            worker = worker_of(world, server)
            for number in range(int(8 * scale)):
                kind = ("remove", "move", "remove beside", "move beside")[number % 4]
                path.write_text("".join(f"old {n}\n" for n in range(1000)))
                world._give(path)
                before = path.read_bytes()
                digest, to = hashlib.sha256(before).hexdigest(), str(beyond / "log.txt")
                removes = kind.startswith("remove")
                tool, call = ("remove_text_file", {"file_path": str(path), "file_hash": digest}) if removes else (
                    "move_text_file", {"from": str(path), "to": to})
                if kind.endswith("beside"):
                    fate = {"remove": True, "file_hash": digest} if removes else {"move_to": to}
                    edit = {"file_path": str(other), "patches": [{"old_string": "old", "new_string": "new"}]}
                    tool, call = "patch_text_file_contents", {"files": [{"file_path": str(path)} | fate, edit]}
                    other.write_text("old\n")
                    world._give(other)
                done = threading.Event()
                written: list[str] = []

                def append() -> None:
                    while not done.wait(0.004):
                        with open(path, "a", buffering=1) as file:
                            if os.fstat(file.fileno()).st_uid == 0 and owner is not None:
                                os.fchown(file.fileno(), owner, owner)
                            written.append(f"new {len(written)}\n")
                            file.write(written[-1])

                # Of a move, the first rename is tried to the other file system, the next gives the copy its name.
                when = 1 if removes else 3
                delays = ["-e", "trace=renameat,renameat2", "-e", "inject=renameat,renameat2:delay_enter=40000:delay_exit=40000"]
                strace = Strace(worker, *delays)
                beside = threading.Thread(target=append)
                # The file is read, and then appended to.
                started = server.start(tool, call)
                time.sleep(0.02 * when)
                beside.start()
                reply = Reply(server.wait(started, 60))
                done.set()
                beside.join()
                strace.detach(0)
                told.append(reply.code or "ok")
                left = {p.name: p.read_text() for p in world.tree.glob("log.txt*")}
                left.update({f"beyond {p.name}": p.read_text() for p in beyond.iterdir()})
                lines = "".join(left.values())
                lost = [line for line in [*written, *("" if not reply.is_error and removes else before.decode()).splitlines(True)]
                        if line not in lines]
                if lost:
                    problems.append(f"{kind}: lost {lost[:3]} and so on ({len(lost)}), answered {reply.text[:300]}")
                if reply.is_error and "nothing was written" in reply.text and sorted(left) != ["log.txt"]:
                    problems.append(f"{kind}: there are {sorted(left)}, answered {reply.text[:300]}")
                unnamed = [name for name in left if ".displaced-" in name and name not in reply.text]
                if unnamed:
                    problems.append(f"{kind}: {unnamed} not named: {reply.text[:300]}")
                problems += [f"{kind}: a temporary is left" for _ in [*world.tree.glob(".mte-*"), *beyond.glob(".mte-*")]]
                if kind.endswith("beside") and other.read_text() != ("old\n" if reply.is_error else "new\n"):
                    problems.append(f"{kind}: the other file holds {other.read_text()!r}, answered {reply.text[:300]}")
                for one in [*world.tree.glob("log.txt*"), *beyond.iterdir()]:
                    one.unlink()
    finally:
        shutil.rmtree(beyond, ignore_errors=True)
    print(f"   answered {told}")
    return problems[:8]


CASES: list[Callable[[World, float, random.Random], list[str]]] = [counter, lines, orders, by_rename, in_place, crossed, crossed_apart, unrecorded, slowed,
                                                                  appended, creators]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED", "0")) or int(time.time()))
    parser.add_argument("--scale", type=float, default=1.0, help="how much longer than usual")
    parser.add_argument("names", nargs="*", default=[])
    parser.add_argument("--simulate", default="", help="ways of other systems (crates/store/src/os/simulation.rs), with commas")
    options = parser.parse_args()
    simulate(options.simulate)
    report = Report()
    print(f"seed {options.seed}")
    for function in CASES:
        if options.names and function.__name__ not in options.names:
            continue
        report.section(function.__name__)
        world = World()
        try:
            world.reset()
            report.run(f"{function.__name__} (seed {options.seed})", lambda: function(world, options.scale, random.Random(options.seed)))
        finally:
            world.close()
    report.section("done")
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
