"""The table of docs/performance.md: edits and reads a second, from 1 to 8 machines and 1 to 32 processes, with the
database and without; and how long it takes until another machine has ended the edit of one that is dead.

    figures.py [--seconds S] [--machines N …] [--processes N …] [--dead N]

Each process has a client of its own and a file of its own, of a thousand lines; all run on the processors of
this machine, with the volume and the database beside them: so what is said is how little, or how much, the
number changes.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import threading
import time
from pathlib import Path
from typing import Any, Callable

from calls import PATCH, READ
from kills import PATIENCE, Place, World, strike
from machines import Machine, Machines, Server, enter

END = "the end\n"


def rate(servers: list[tuple[Server, Path]], seconds: float, call: Callable[[Server, Path, int], Any]) -> float:
    """Calls a second of all, each client with one at a time; refusals are no calls."""
    counts, end = [0] * len(servers), time.monotonic() + seconds

    def work(which: int) -> None:
        number = 0
        while time.monotonic() < end:
            counts[which] += not call(*servers[which], number).is_error
            number += 1

    threads = [threading.Thread(target=work, args=(which,)) for which in range(len(servers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / seconds


def edit(server: Server, path: Path, number: int) -> Any:
    return server.call(PATCH, {"files": [{"file_path": str(path), "patches": [{"old_string": END, "new_string": f"of {number}\n{END}"}]}]}, PATIENCE)


def read(server: Server, path: Path, number: int) -> Any:
    return server.call(READ, {"file_path": str(path), "line_start": 100, "line_end": 150}, PATIENCE)


def rates(machines: Machines, processes: int, seconds: float) -> tuple[float, float]:
    """Edits and reads a second of so many processes, spread over the machines."""
    servers = []
    for number in range(processes):
        machine: Machine = machines[1 + number % len(machines.running)]
        (machines.home / f"{number}.txt").write_text("".join(f"line {line}\n" for line in range(1_000)) + END)
        servers.append((machine.server(), machine.home / f"{number}.txt"))
    try:
        return rate(servers, seconds, edit), rate(servers, seconds, read)
    finally:
        for server, _ in servers:
            server.terminate()


def throughput(options: argparse.Namespace) -> None:
    print("| machines | processes | edits/s, with the database | without | reads/s, with the database | without |\n|---|---|---|---|---|---|", flush=True)
    for count in options.machines:
        found = {}
        for database in (True, False):
            with Machines(count, database=database) as machines:
                for processes in options.processes:
                    if processes >= count:
                        found[processes, database] = rates(machines, processes, options.seconds)
        for processes in options.processes:
            if processes >= count:
                (edits, reads), (edits_alone, reads_alone) = found[processes, True], found[processes, False]
                print(f"| {count} | {processes} | {edits:.0f} | {edits_alone:.0f} | {reads:.0f} | {reads_alone:.0f} |", flush=True)


def dead(options: argparse.Namespace) -> None:
    """A call of forty files is cut off in its midst: after how long a read on each of the others has shown it
    whole, which is when it is ended."""
    print("\n| a call of 40 files is cut off | ended after, median | at most |\n|---|---|---|", flush=True)
    with Machines(3) as machines:
        world = World(machines)
        for fault, what in (("kill", "the process is killed"), ("power", "the machine loses power"), ("zombie", "the machine is cut off")):
            took = []
            for number in range(options.dead):
                call, machine = world.call("forty"), machines[1]
                server, thread = world.begin(machine)
                _, _, strace = strike(world, Place("forty", fault, "renameat", 10 + 3 * number), server, thread, call)
                began = time.monotonic()
                if fault != "kill":
                    machine.cut()
                if fault == "power":
                    machine.lose_power()
                for state, error, _ in world.look(call).values():
                    if error or state not in ("old", "new"):
                        raise RuntimeError(f"{what}: {error or state}")
                took.append(time.monotonic() - began)
                if fault == "power":
                    machine.boot()
                elif fault == "zombie":
                    machine.heal()
                server.terminate()
                strace.detach(0)
            print(f"| {what} | {statistics.median(took):.1f} s | {max(took):.1f} s |", flush=True)
        world.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--machines", type=int, nargs="*", default=[1, 2, 4, 8])
    parser.add_argument("--processes", type=int, nargs="*", default=[1, 2, 4, 8, 16, 32])
    parser.add_argument("--dead", type=int, default=5, help="how often a machine dies, in each way")
    options = parser.parse_args()
    if reason := enter():
        print(f"skipped: {reason}")
        return 1 if os.environ.get("REQUIRE_ALL") else 0
    if options.machines:
        throughput(options)
    if options.dead:
        dead(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
