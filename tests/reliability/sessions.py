"""Cancelled calls, clients that go away, and servers that are killed under load.

    sessions.py [--seed N] [--rounds N] [NAME…]
"""

from __future__ import annotations

import argparse
import fcntl
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from typing import Any, Callable

from harness import Closed, Reply, Report, Server, Timeout, World
from races import AGAIN

PATCH = "patch_text_file_contents"


def cancel(server: Server, request: int) -> None:
    server.notify("notifications/cancelled", {"requestId": request, "reason": "not wanted any more"})


def answer(server: Server, request: int, timeout: float) -> Reply | None:
    try:
        return Reply(server.wait(request, timeout))
    except Timeout:
        return None


def while_waiting(world: World, rng: random.Random, rounds: int) -> list[str]:
    """Cancelled while it waits for a lock: nothing is written, neither then nor when the lock is free."""
    problems = []
    for number, name in enumerate(["a/01.txt", "c/17.txt", "linked.txt"]):
        for names in ([name], world.names):
            world.reset()
            with world.server() as server, open(world.tree / name, "rb") as held:
                world.warm(server)
                fcntl.flock(held, fcntl.LOCK_EX)
                request = server.start(PATCH, world.patch_all(names))
                time.sleep(0.1)
                cancel(server, request)
                reply = answer(server, request, 1.0)
                title = f"{len(names)} files, {name} locked"
                if reply is not None and reply.code != "cancelled":
                    problems.append(f"{title}: {reply.text[:300]}")
                fcntl.flock(held, fcntl.LOCK_UN)
                time.sleep(0.2)
                problems += [f"{title}: {p}" for p in world.all_or_nothing(must_be="old") + world.strays()]
                # The same call, not cancelled, then holds.
                reply = server.call(PATCH, world.patch_all(names))
                if reply.is_error:
                    problems.append(f"{title}: afterwards: {reply.text[:300]}")
                elif any(world.kind(n) != "new" for n in names):
                    problems.append(f"{title}: afterwards acknowledged, and not there")
            problems += [f"{title}: {p}" for p in world.strays()]
    return problems


def at_any_moment(world: World, rng: random.Random, rounds: int) -> list[str]:
    """Cancelled some time after it was sent: all new if it is answered, all old if it is not."""
    problems = []
    answers: dict[str, int] = {}
    for _ in range(rounds * 4):
        world.reset()
        with world.server() as server:
            world.warm(server)
            request = server.start(PATCH, world.patch_all())
            pause = rng.uniform(0, 0.08)
            time.sleep(pause)
            cancel(server, request)
            later = server.call(PATCH, {"files": [{"file_path": world.path("outside.txt"), "patches": [
                {"old_string": "nobody's", "new_string": "somebody's"}]}]})
            if later.is_error:
                problems.append(f"a later call: {later.text[:300]}")
            # The input ends, and all that is in work is done and, if at all, answered before the server does.
            server.process.stdin.close()  # type: ignore[union-attr]
            try:
                reply = Reply(server.wait(request))
            except Closed:
                reply = None
        kind = "none" if reply is None else reply.code or "ok"
        answers[kind] = answers.get(kind, 0) + 1
        if kind not in ("none", "ok"):
            problems.append(f"{reply.text[:300] if reply else ''}")
        found = world.all_or_nothing(must_be="new" if kind == "ok" else "old") + world.strays()
        problems += [f"after {pause * 1000:.2f} ms, answered {kind}: {p}" for p in found]
    print(f"   answers: {answers}")
    return problems[:8]


def version(world: World, name: str) -> str:
    found = re.search(rb"version: (\d+)\n", (world.tree / name).read_bytes())
    return found[1].decode() if found else "none"


def versions(world: World) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in world.names:
        found.setdefault(version(world, name), []).append(name)
    return found


def number_all(world: World) -> None:
    """All twenty files begin at version 0; each transaction takes all of them to the next."""
    world.reset()
    for name in world.names:
        size = 400_000 if name == "linked.txt" else 500
        content = b"file\nversion: 0\n" + b"filler line\n" * (size // 12)
        with open(world.tree / name, "r+b") as file:
            file.write(content)
            file.truncate(len(content))


def step(world: World, value: int) -> dict[str, Any]:
    return {"files": [{"file_path": world.path(name), "patches": [{"old_string": f"version: {value}\n", "new_string": f"version: {value + 1}\n"}]}
                      for name in world.names]}


def consistent(world: World) -> list[str]:
    found = versions(world)
    problems = [] if len(found) == 1 else [f"not one version: { {k: v if len(v) < 5 else len(v) for k, v in found.items()} }"]
    for name in world.names:
        content = (world.tree / name).read_bytes()
        if not re.fullmatch(rb"file\nversion: \d+\n(filler line\n)*", content):
            problems.append(f"{name} is torn: {len(content)} bytes")
    return problems


def end_of_input(world: World, rng: random.Random, rounds: int) -> list[str]:
    """The client closes its end, or both ends, in the middle of a long queue."""
    problems = []
    for number in range(max(4, rounds // 2)):
        number_all(world)
        server = world.server()
        world.warm(server)
        both = number % 2
        for value in range(30):
            server.start(PATCH, step(world, value))
        time.sleep(rng.uniform(0, 0.1))
        before = sorted(versions(world))
        server.process.stdin.close()  # type: ignore[union-attr]
        if both:
            server.process.stdout.close()  # type: ignore[union-attr]
        else:
            os.set_blocking(server.process.stdout.fileno(), True)  # type: ignore[union-attr]
            threading.Thread(target=server.process.stdout.read, daemon=True).start()  # type: ignore[union-attr]
        status: int | None = None
        try:
            status = server.process.wait(120)
        except subprocess.TimeoutExpired:
            problems.append("it does not end when its input has")
        log = server.stderr()
        server.kill()
        found = consistent(world) + world.strays()
        if "panic" in log:
            found.append(f"panic: {log[-300:]}")
        problems += [f"round {number}, {'both ends' if both else 'input'} closed at {before}, status {status}: {p}" for p in found]
        problems += world.recover() + world.strays()
    return problems[:8]


def under_load(world: World, rng: random.Random, rounds: int) -> list[str]:
    """Four clients, each with a server, take twenty files from version to version; some are killed, the others go on."""
    problems: list[str] = []
    for number in range(rounds):
        number_all(world)
        held = number % 3 == 0
        if held:
            world.hold()
        servers = [world.server(timeout=40) for _ in range(4)]
        acknowledged: list[int] = []
        unanswered: list[int] = []
        wrong: list[str] = []
        stop = threading.Event()

        def work(which: int) -> None:
            server = servers[which]
            value = 0
            while not stop.is_set():
                try:
                    value = int(version(world, "a/01.txt"))
                    asked = value
                    unanswered.append(asked)
                    reply = server.call(PATCH, step(world, asked))
                    unanswered.remove(asked)
                except Closed:
                    return
                except (Timeout, ValueError) as error:
                    wrong.append(f"client {which}: {type(error).__name__}: {error}")
                    return
                if not reply.is_error:
                    acknowledged.append(asked + 1)
                elif reply.code not in AGAIN:
                    wrong.append(f"client {which}: {reply.text[:400]}")
                    return

        threads = [threading.Thread(target=work, args=(which,)) for which in range(4)]
        for thread in threads:
            thread.start()
        victims = rng.sample(range(4), rng.choice([1, 1, 2, 3, 4]))
        how = rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM])
        pauses = []
        for victim in victims:
            pauses.append(rng.uniform(0, 0.08))
            time.sleep(pauses[-1])
            servers[victim].process.send_signal(how)
        time.sleep(0.05)
        stop.set()
        for thread in threads:
            thread.join(60)
            if thread.is_alive():
                wrong.append("a client does not come to its end")
        at_end = {k: len(v) for k, v in versions(world).items()}
        for server in servers:
            server.kill()
        if number % 2:
            world.release()
        wrong += world.recover() + consistent(world) + world.strays()
        final = int(next(iter(versions(world))) if len(versions(world)) == 1 else -1)
        if len(set(acknowledged)) != len(acknowledged):
            wrong.append("two edits from one version to the next were acknowledged")
        most, least = max(acknowledged, default=0), len(acknowledged)
        if final != -1 and not (most <= final and least <= final <= least + len(unanswered)):
            wrong.append(f"{least} acknowledged, the last to version {most}, {len(unanswered)} unanswered, and the files are at {final}")
        world.release()
        problems += [f"round {number}, {how.name} to {victims} after {['%.1f ms' % (p * 1000) for p in pauses]}, {least} acknowledged,"
                     f" versions at the end {at_end}: {p}" for p in wrong]
    return problems[:10]


CASES: list[Callable[[World, random.Random, int], list[str]]] = [while_waiting, at_any_moment, end_of_input, under_load]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED", "0")) or int(time.time()))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("names", nargs="*", default=[])
    options = parser.parse_args()
    report = Report()
    print(f"seed {options.seed}")
    for function in CASES:
        if options.names and function.__name__ not in options.names:
            continue
        report.section(function.__name__)
        world = World()
        try:
            report.run(f"{function.__name__} (seed {options.seed})", lambda: function(world, random.Random(options.seed), options.rounds))
        finally:
            world.close()
    report.section("done")
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
