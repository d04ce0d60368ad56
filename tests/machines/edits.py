"""All machines edit the same files: no edit that was acknowledged is lost, none is torn, whatever fails
meanwhile.

    edits.py counter [--machines N] [--processes N] [--count N] [--in-place] [--caches] [--no-database]
    edits.py moved [--count N]
    edits.py lines [--edits N] [--machines N] [--processes N] [--caches] [--calm] [--no-database]

`counter`: each process of each machine reads a number and counts it up, until it was acknowledged so often.
The number in the end is the sum, no read is refused, and no edit for what is neither the others' work nor a
wait (`io_error`, `not_found`).

`moved`: one machine moves a file, and gives its name to another in every second round. The caches of a second
machine go on to lead from the name to the moved file, and it edits that name: it gets the other file, or is
told that there is none.

`lines`: lines of their own are put into eight files, each fifth into two at once, while processes are killed
and stopped, machines lose power or their cable, and the database is killed and restarted (`--calm`: nothing
of that). In the end each line that was acknowledged is there once, in each of its files; what was refused is
nowhere; of what nobody answered each line is whole or absent; and no temporary is left.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any, Callable

from calls import PATCH, PREFIX, READ, Call, Warm
from machines import Machine, Machines, Server, enter

HERE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(HERE / "reliability"))

from harness import Closed, Report, Timeout  # noqa: E402

#: Refusals that say what others did meanwhile.
OF_OTHERS = frozenset({"conflict", "busy", "no_match", "hash_mismatch"})
#: The last line of each file; new lines come before it.
END = "the end\n"
FILES = 8
PATIENCE = 90.0


def patch(path: Path, old: str, new: str) -> dict[str, Any]:
    return {"file_path": str(path), "patches": [{"old_string": old, "new_string": new}]}


def together(works: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# A number


def counter(machines: Machines, processes: int, count: int, *, in_place: bool) -> list[str]:
    """What is wrong once each process has counted so often."""
    name = "number-in-place" if in_place else "number"
    (machines.home / name).write_text("counted: 0\n")
    if in_place:
        (machines.home / f"{name}-too").hardlink_to(machines.home / name)
    refused: Counter[str] = Counter()
    problems: list[str] = []
    start = time.monotonic()

    def work(machine: Machine, which: int) -> None:
        path, done = machine.home / name, 0
        try:
            with machine.server() as server:
                while done < count:
                    read = server.call(READ, {"files": [{"file_path": str(path)}]}, PATIENCE)
                    facts = json.loads(read.text)
                    if read.is_error:
                        problems.append(f"machine {machine.number}: a read: {read.text}")
                        return
                    line = facts["files"][0]["ranges"][0]["content"]
                    number = int(line.removeprefix("counted: "))
                    made = server.call(PATCH, {"files": [patch(path, line, f"counted: {number + 1}\n")]}, PATIENCE)
                    if not made.is_error:
                        done += 1
                    elif made.code in OF_OTHERS:
                        refused[made.code] += 1
                    else:
                        problems.append(f"machine {machine.number}: {made.text[:400]}")
                        return
        except (Closed, Timeout, KeyError, ValueError) as error:
            problems.append(f"machine {machine.number}, process {which}: {type(error).__name__}: {error}")

    together([lambda machine=machine, which=which: work(machine, which) for machine in machines for which in range(processes)])
    wanted = count * processes * len(machines.running)
    found = (machines.home / name).read_text()
    if not problems and found != f"counted: {wanted}\n":
        problems.append(f"{wanted} were acknowledged, and the file says {found!r}")
    if left := [path.name for path in machines.home.iterdir() if path.name.startswith(PREFIX)]:
        problems.append(f"left beside: {left}")
    print(f"   {len(machines.running)} machines, {processes} processes each, counted to {found.strip().removeprefix('counted: ')} of {wanted} in "
          f"{time.monotonic() - start:.1f} s; refused: {dict(refused) or 'none'}", flush=True)
    return problems


# A name that means another file


def moved(machines: Machines, count: int) -> list[str]:
    """What is wrong of so many edits of a name, just after another machine has moved its file."""
    problems, late, old = [], 0, b"first\nlast\n"
    with machines[1].server() as mover, machines[2].server() as editor:
        for number in range(count):
            is_named_again = number % 2 == 0
            call = Call("moved", f"moved-{number}", {"f": old, "g": None}, {"f": b"another\nlast\n" if is_named_again else None, "g": old}, {}, [])
            (machines[2].home / call.directory).mkdir()
            (machines[2].home / call.directory / "f").write_bytes(old)
            warm = Warm(call, [machines[2].home], lists=False)
            time.sleep(0.3)
            at = machines[1].home / call.directory
            entries = [{"file_path": str(at / "f"), "move_to": str(at / "g")}, {"file_path": str(at / "f"), "contents": "another\nlast\n"}]
            reply = mover.call(PATCH, {"files": entries if is_named_again else entries[:1]}, PATIENCE)
            path = machines[2].home / call.directory / "f"
            with contextlib.suppress(OSError):
                late += path.read_bytes() == old
            edited = editor.call(PATCH, {"files": [patch(path, "last\n", "last, and more\n")]}, PATIENCE)
            warm.end()
            if not edited.is_error:
                call.insert("f", b"last", b", and more")
            if reply.is_error or (edited.code if edited.is_error else "ok") != ("ok" if is_named_again else "not_found"):
                problems.append(f"{reply.text[:200]}, then {edited.text[:300]}")
            if (state := call.state(call.on_disk(machines.stored))) != "new":
                problems.append(f"after an edit of a name that meant another file all is {state}")
    print(f"   {count} edits, {late} of them of a name that led to the moved file", flush=True)
    return problems


# Lines


class Lines:
    """What became of each line."""

    def __init__(self, machines: Machines, wanted: int, rng: random.Random) -> None:
        self.machines, self.wanted, self.rng = machines, wanted, rng
        self.root = "lines"
        (machines.home / self.root).mkdir()
        self.names = [f"{number}.txt" for number in range(FILES)]
        for name in self.names:
            (machines.home / self.root / name).write_text(f"{name}\n{END}")
        self.lock = threading.Lock()
        self.number = 0
        self.made: dict[str, list[str]] = {}
        self.unknown: dict[str, list[str]] = {}
        self.refused: dict[str, str] = {}
        self.problems: list[str] = []
        self.happened: Counter[str] = Counter()

    def next_line(self) -> str | None:
        with self.lock:
            if len(self.made) >= self.wanted or self.problems:
                return None
            self.number += 1
            return f"line {self.number}"

    def work(self, process: Process, rng: random.Random) -> None:
        while line := self.next_line():
            names = rng.sample(self.names, 2 if rng.random() < 0.2 else 1)
            reply = None
            try:
                with process.lock:
                    server = process.server
                    home = process.machine.home / self.root
                    request = server.start(PATCH, {"files": [patch(home / name, END, f"{line}\n{END}") for name in names]})
                message = server.wait(request, PATIENCE)
                reply = message["result"]
            except (Closed, OSError, ValueError, KeyError):
                pass
            except Timeout:
                self.problems.append(f"{line}: no answer within {PATIENCE:.0f} s on machine {process.machine.number}")
                return
            text = reply["content"][0]["text"] if reply else ""
            with self.lock:
                if reply is None:
                    self.unknown[line] = names
                elif not reply.get("isError"):
                    self.made[line] = names
                elif "nothing was written" in text:
                    self.refused[line] = code = json.loads(text).get("code", "?")
                    self.happened[f"refused: {code}"] += 1
                    if code not in OF_OTHERS and not process.machine.machines.troubled:
                        self.problems.append(f"{line}: {text[:500]}")
                elif process.machine.machines.troubled and ("read these files again" in text or "left behind" in text):
                    # Cut off in the midst, it cannot know what others will make of it, or not remove what it has made beside; the next call does.
                    self.unknown[line] = names
                    self.happened["in doubt"] += 1
                else:
                    self.problems.append(f"{line}: {text[:500]}")
            # A server that was started while the volume was away serves nothing.
            if reply is None or "serves no directory" in text:
                time.sleep(0.2 * (reply is not None))
                process.again(server)

    def verify(self) -> list[str]:
        problems = list(self.problems)
        home = self.machines.home / self.root
        standing: dict[str, list[str]] = {}
        for name in self.names:
            lines = (home / name).read_text().split("\n")
            if lines[0] != name or lines[-2:] != [END.strip(), ""]:
                problems.append(f"{name} does not begin and end as it did: {lines[:1]} {lines[-2:]}")
            for line in lines[1:-2]:
                standing.setdefault(line, []).append(name)
        for line, names in self.made.items():
            if sorted(standing.pop(line, [])) != sorted(names):
                problems.append(f"{line} was acknowledged, and is not once in each of its files")
        for line, names in self.unknown.items():
            if (found := sorted(standing.pop(line, []))) not in ([], sorted(names)):
                problems.append(f"{line} was not answered, and is in {found} of {names}")
        problems += [f"{line} was refused ({self.refused.get(line)}), and is there" for line in standing]
        if left := [path.name for path in home.iterdir() if path.name not in self.names]:
            problems.append(f"left beside: {left[:8]}")
        return problems


class Process:
    """A server of a machine, started again when it was killed or its machine boots."""

    def __init__(self, machine: Machine, root: str) -> None:
        self.machine, self.root = machine, root
        self.lock = threading.Lock()
        self.server = self.start()

    def start(self) -> Server:
        return self.machine.server(root=self.root)

    def again(self, ended: Server) -> None:
        """Another in the place of one that has ended, as soon as its machine lets it."""
        end = time.monotonic() + PATIENCE
        with self.lock:
            if self.server is not ended:
                return
            ended.terminate()
            while time.monotonic() < end:
                with self.machine.up:
                    try:
                        self.server = self.start()
                        return
                    except (Closed, Timeout, OSError):
                        time.sleep(0.1)


class Troubles:
    """What fails meanwhile, in an order drawn by lot."""

    #: Those of processes, of machines, and of the database come side by side, each as often as is said, in
    #: seconds between them.
    KINDS = ((("kill", "kill", "stop"), 2.0), (("cut", "cut", "power"), 12.0), (("database killed", "database restarted"), 25.0))

    def __init__(self, machines: Machines, processes: list[Process], lines: Lines, rng: random.Random) -> None:
        self.machines, self.processes, self.lines, self.rng = machines, processes, lines, rng

    def start(self, done: threading.Event) -> list[threading.Thread]:
        threads = [threading.Thread(target=self.work, args=(done, kinds, between, random.Random(self.rng.random())))
                   for kinds, between in self.KINDS if self.machines.databases or not kinds[0].startswith("database")]
        for thread in threads:
            thread.start()
        return threads

    def work(self, done: threading.Event, kinds: tuple[str, ...], between: float, rng: random.Random) -> None:
        while not done.wait(rng.uniform(0, 2 * between)):
            kind = rng.choice(kinds)
            self.lines.happened[kind] += 1
            try:
                getattr(self, kind.replace(" ", "_"))()
            except (OSError, RuntimeError, TimeoutError) as error:
                self.lines.problems.append(f"{kind}: {type(error).__name__}: {error}")
                return

    def kill(self) -> None:
        self.rng.choice(self.processes).server.terminate()

    def stop(self) -> None:
        process = self.rng.choice(self.processes).server.process
        process.send_signal(signal.SIGSTOP)
        time.sleep(self.rng.choice([0.05, 0.3, 8.0]))
        process.send_signal(signal.SIGCONT)

    def cut(self) -> None:
        machine = self.rng.choice(self.machines.running)
        machine.cut()
        time.sleep(self.rng.choice([0.3, 2.0, 8.0]))
        machine.heal()

    def power(self) -> None:
        machine = self.rng.choice(self.machines.running)
        with machine.up:
            machine.lose_power()
            time.sleep(self.rng.uniform(0.1, 4.0))
            machine.boot()

    def database_killed(self) -> None:
        database = self.machines.databases[0]
        database.kill()
        time.sleep(self.rng.uniform(0, 2))
        database.start()

    def database_restarted(self) -> None:
        database = self.machines.databases[0]
        database.stop()
        database.start()


def lines(machines: Machines, options: argparse.Namespace) -> list[str]:
    """What is wrong in the end."""
    rng = random.Random(options.seed)
    machines.troubled = not options.calm
    made = Lines(machines, options.edits, rng)
    processes = [Process(machine, made.root) for machine in machines for _ in range(options.processes)]
    done, start = threading.Event(), time.monotonic()
    troubles = [] if options.calm else Troubles(machines, processes, made, random.Random(rng.random())).start(done)
    together([lambda process=process, seed=rng.random(): made.work(process, random.Random(seed)) for process in processes])
    took = time.monotonic() - start
    done.set()
    for trouble in troubles:
        trouble.join()
    for process in processes:
        process.server.terminate()
    # All are gone; what they left is ended by the first that comes.
    for machine in machines:
        with machine.server(root=made.root) as server:
            reply = server.call(READ, {"files": [{"file_path": str(machine.home / made.root / name), "ranges": [{"start": 1, "end": 1}]} for name in made.names]}, PATIENCE)
            if reply.is_error:
                made.problems.append(f"in the end machine {machine.number} cannot read: {reply.text[:300]}")
    problems = made.verify()
    print(f"   {len(machines.running)} machines, {options.processes} processes each (seed {options.seed}): {len(made.made)} edits acknowledged in {took:.1f} s, "
          f"{len(made.unknown)} not answered, {len(made.refused)} refused; {dict(made.happened)}", flush=True)
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("counter", "moved", "lines"))
    parser.add_argument("--machines", type=int, default=3)
    parser.add_argument("--processes", type=int, default=2, help="of each machine")
    parser.add_argument("--count", type=int, default=40, help="how often each process counts")
    parser.add_argument("--edits", type=int, default=20_000)
    parser.add_argument("--in-place", action="store_true", help="the file has two names, so that it is written over")
    parser.add_argument("--caches", action="store_true")
    parser.add_argument("--calm", action="store_true")
    parser.add_argument("--no-database", action="store_true")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED", "1")))
    options = parser.parse_args()
    report = Report()
    if reason := enter():
        report.skip(f"{options.what} of machines", reason)
        return report.end()
    fails = options.what == "lines" and not options.calm
    with Machines(options.machines, database=not options.no_database, caches=options.caches or options.what == "moved", cables=fails) as machines:
        if options.what == "counter":
            report.run("a number that all count up", lambda: counter(machines, options.processes, options.count, in_place=options.in_place))
        elif options.what == "moved":
            report.run("a name that means another file", lambda: moved(machines, options.count))
        else:
            report.run("lines of all", lambda: lines(machines, options))
    report.section("done")
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
