"""A machine dies, or is cut off, at a changing step of a call; the others look before it is back.

    kills.py [--sample N | --all] [--most N] [--kind KIND …] [--fault FAULT …] [--shard I/N] [--seed N] [--caches] [--no-database] [--convict]

A call of one machine runs into its end as it enters a system call that changes something, its files', its
state's or the database's; a dry run says which there are, and strace counts them. Then, by the kind of fault:

- kill: the process is killed. A new one is started on that machine.
- power: its machine loses power, and boots.
- cut: its cable is taken out while it goes on, and put back; what it does then, and answers, must be true.
- pause: it is stopped, for longer than any timeout, and goes on. Nobody may take it for dead who cannot know,
  so others may be told that it is busy.
- freeze: the same with all that runs on its machine, as of one that is suspended.
- zombie: it is stopped, and its machine cut off; the others end what it began; the cable is put back, and it
  goes on as if nothing had been.
- database: the database is killed, and started again; the process goes on before the others look, or after.
- failover: the database's machine loses power, and its replica takes over.

All the while servers on the other machines read the call's files: all of them old or all new, and new if the
call was answered. One edits a file of it and another beside. After the return nothing has changed, and no
temporary is left.

With `--caches` the volume is as GlusterFS makes it, and a machine that has not begun the call made its files. What is
stored must be whole, and each edit builds on it. A machine that only reads sees of each name what it holds, or held
before. It sees what is stored once nobody there has looked at the file by any name for `UNTOUCHED`.
Until the fault, and while the others end the call, every machine looks at all its files again and again (`Warm`).

`--no-database` is the state of each machine by itself, with which this does not hold: `--convict` wants it to
be found.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calls import KINDS, NEVER, PATCH, READ, Call, Warm, looked_at, make, temporaries
from machines import Machine, Machines, Server, enter, until

HERE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(HERE / "reliability"))

from harness import CHANGING, ONE_WORKER, Closed, Report, Strace, Timeout, no_strace, skipped, threads_of  # noqa: E402

FAULTS = ("kill", "power", "cut", "pause", "freeze", "zombie", "database", "failover")
#: Those after which the process goes on.
GOING_ON = ("cut", "pause", "freeze", "zombie", "database", "failover")
#: What is said to the database, beside what changes files.
SENDING = frozenset({"sendto", "sendmsg"})
#: How long a look may take: longer than the volume, the database and the servers take to give a machine up.
PATIENCE = 45.0
#: How long a process is stopped: longer than all of these.
PAUSE = 16.0
#: How long a machine must leave a file alone so that its caches forget it: each look renews what they remember, even
#: of a name that means another file by now. The timeouts of the kernel and of GlusterFS are 1 s each, in whole seconds.
UNTOUCHED = 4.0
#: How long all must see what is stored, once nobody works on it: `KEPT_WARM`, and four times left alone.
LATE = 20.0
#: How long after the fault their caches are kept warm: longer than any of their timeouts.
KEPT_WARM = 4.0


@dataclass(frozen=True)
class Place:
    """The n-th system call of a name in the thread that works."""

    kind: str
    fault: str
    name: str
    n: int

    def __str__(self) -> str:
        return f"{self.kind}: {self.fault} at {self.name} #{self.n}"


class World:
    """Machines, of which the first dies and the others look, and how long it took until they saw one state."""

    def __init__(self, machines: Machines) -> None:
        self.machines, self.number = machines, 0
        (machines.home / "outside").write_bytes(b"0\n")
        self.others = [machine for machine in machines][1:]
        self.lookers = {machine.number: machine.server() for machine in self.others}
        self.took: dict[str, list[float]] = {}
        self.begun: list[Server] = []

    def call(self, kind: str) -> Call:
        self.number += 1
        home = self.others[0].home if self.machines.caches else self.machines.home
        return make(kind, f"{self.number:04}-{kind.replace(' ', '-')}", home)

    def begin(self, machine: Machine) -> tuple[Server, int]:
        """A server, and the thread of it that works: the one that opens what a read names."""
        server = machine.server("--limit", "calls=1")
        self.begun = [server]
        server.call(READ, {"file_path": str(machine.home / "outside")})
        for thread in reversed(threads_of(server)):
            try:
                strace = Strace(thread, "-e", "trace=openat,openat2")
            except RuntimeError:
                continue
            # What it has read before it may remember.
            self.number += 1
            name = f"warm-{self.number}"
            (self.machines.home / name).write_bytes(b"anything\n")
            server.call(READ, {"file_path": str(machine.home / name)})
            if f'"{name}"' in strace.detach().text:
                return server, thread
        raise RuntimeError("no thread works")

    def look(self, call: Call, *, is_held: bool = False) -> dict[int, tuple[str, str | None, float]]:
        """What each of the others is told, all at once: the state, an error, and after how long. One that is told
        that somebody is busy with it asks again, as it is told to, unless that can be seen to be for long."""
        seen: dict[int, dict[str, str]] = {machine.number: {} for machine in self.others}
        found, end = self.look_once(call, seen, is_held=is_held), time.monotonic() + LATE
        while self.machines.caches and self.is_late(call, found) and time.monotonic() < end:
            time.sleep(UNTOUCHED)
            found = self.look_once(call, seen, is_held=is_held)
        return found

    def is_late(self, call: Call, found: dict[int, tuple[str, str | None, float]]) -> bool:
        """Whether a machine sees other than what is stored. Nobody is only late with what a file never held."""
        stored = call.state(call.on_disk(self.machines.stored))
        others = [state for state, error, _ in found.values() if error is None and state != stored]
        return bool(others) and not any(NEVER in state for state in others)

    def look_once(self, call: Call, seen: dict[int, dict[str, str]], *, is_held: bool) -> dict[int, tuple[str, str | None, float]]:
        """Looks only at the names of which a machine has not `seen` what is stored: a look at a file by one name
        renews what is remembered of its other ones."""
        found: dict[int, tuple[str, str | None, float]] = {}
        stored = call.on_disk(self.machines.stored)

        def one(machine: Machine) -> None:
            start, own = time.monotonic(), seen[machine.number]
            names = [name for name in call.old if own.get(name) != stored[name]]

            def ask() -> str | None:
                answers, error = looked_at(self.lookers[machine.number], machine.home, call, names, PATIENCE) if names else ({}, None)
                own.update(answers)
                return error

            try:
                error = ask()
                while (error or "").startswith("busy") and not is_held and time.monotonic() - start < PATIENCE:
                    error = ask()
                found[machine.number] = (call.state(own) if error is None else "", error, time.monotonic() - start)
            except (Closed, Timeout) as end:
                found[machine.number] = ("", f"{type(end).__name__}: {end}", time.monotonic() - start)

        threads = [threading.Thread(target=one, args=(machine,)) for machine in self.others]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return found

    def outside(self, machine: Machine, server: Server) -> list[str]:
        """An edit of a file of nobody's."""
        # Where names cannot be exchanged there is a moment without the file.
        number = until("the file beside", lambda: [int((self.machines.stored / "outside").read_text())], 5)[0]
        patch = {"file_path": str(machine.home / "outside"), "patches": [{"old_string": f"{number}\n", "new_string": f"{number + 1}\n"}]}
        reply = server.call(PATCH, {"files": [patch]}, PATIENCE)
        return [f"an edit beside on machine {machine.number} is refused: {reply.text[:400]}"] if reply.is_error else []

    def give_up(self) -> None:
        """Ends the servers of a case that came to no end, and starts those of the others again."""
        for server in [*self.begun, *self.lookers.values()]:
            server.terminate()
        for machine in self.machines:
            machine.signal(signal.SIGCONT)
            machine.heal()
        self.lookers = {machine.number: machine.server() for machine in self.others}

    def close(self) -> None:
        for server in self.lookers.values():
            server.terminate()


def dry_run(world: World, kind: str) -> list[tuple[str, int]]:
    """The calls that change something, of the thread that works."""
    call = world.call(kind)
    machine = world.machines[1]
    server, thread = world.begin(machine)
    strace = Strace(thread, "-y")
    reply = server.call(PATCH, call.arguments(machine.home))
    trace = strace.detach()
    server.close()
    assert not reply.is_error, reply.text
    # Descriptors that are duplicated or closed on exec end with their process.
    return [(one.name, one.index) for one in trace if one.name in CHANGING | SENDING and one.name != "fcntl"]


def strike(world: World, place: Place, server: Server, thread: int, call: Call) -> tuple[bool, bool, Strace]:
    """Sends the call, and lets the fault come: whether it did, whether there was an answer before."""
    machine = world.machines[1]
    number = "KILL" if place.fault == "kill" else "STOP"
    strace = Strace(thread, "-e", f"trace={place.name}", "-e", f"inject={place.name}:signal={number}:when={place.n}")
    request = server.start(PATCH, call.arguments(machine.home))
    # strace makes a call of forty files slow.
    end = time.monotonic() + 3 * PATIENCE
    while time.monotonic() < end:
        try:
            server._pump(time.monotonic() + 0.02)
        except Closed:
            return True, False, strace
        except Timeout:
            pass
        if request in server._answers:
            return is_struck(server, thread), True, strace
        if is_struck(server, thread):
            return True, False, strace
    raise Timeout(f"{place}: the call neither ends nor comes there")


def is_struck(server: Server, thread: int) -> bool:
    """Whether a signal has stopped the process, or ended it."""
    with contextlib.suppress(OSError):
        states = [Path(f"/proc/{server.process.pid}/task/{one}/stat").read_text().rpartition(")")[2].split()[0] for one in (thread, server.process.pid)]
        # A thread that strace holds is `t` for a moment at each of its calls, the others are not.
        return any(state in "TZX" for state in states)
    return True


def case(world: World, place: Place) -> tuple[bool, list[str]]:
    """Whether the place was reached, and what is wrong."""
    machines, machine = world.machines, world.machines[1]
    call = world.call(place.kind)
    server, thread = world.begin(machine)
    warm = Warm(call, [one.home for one in machines] if machines.caches else [], lists=place.n % 2 == 0)
    reached, answered, strace = strike(world, place, server, thread, call)
    threading.Timer(KEPT_WARM, warm.end).start()
    goes_on = False
    problems: list[str] = []
    began = time.monotonic()
    if reached:
        if place.fault in ("power", "cut", "zombie"):
            machine.cut()
        if place.fault == "power":
            machine.lose_power()
        if place.fault == "database":
            machines.databases[0].kill()
            machines.databases[0].start()
        if place.fault == "failover":
            machines.fail_over()
            machines.replicate()
        if goes_on := place.fault == "cut" or place.fault in ("database", "failover") and world.number % 2 == 0:
            strace.detach(0)
            resume(server)
        if place.fault == "freeze":
            machine.signal(signal.SIGSTOP)
        if place.fault in ("pause", "freeze"):
            # Nobody can know yet whether it goes on.
            problems += [f"at once machine {number} sees {error or state}" for number, (state, error, _) in world.look(call, is_held=True).items()
                         if not (error or "").startswith("busy") and state not in ("old", "new")]
            time.sleep(PAUSE)

    # Before it is back. A process that is only stopped keeps the locks on its files, whoever has its record.
    is_held = reached and (place.fault in ("pause", "freeze") or place.fault in ("database", "failover") and not goes_on)
    first = world.look(call, is_held=is_held)
    for number, (state, error, took) in first.items():
        is_excused = error and is_held and error.startswith("busy")
        if error and not is_excused:
            problems.append(f"machine {number} cannot read after {took:.1f} s: {error}")
        elif not error and state not in ("old", "new") and not (goes_on and place.fault != "cut"):
            # A read of several files beside a call that goes on finds each of them old or new.
            problems.append(f"machine {number} sees {state}")
        elif not error and answered and state != "new":
            problems.append(f"machine {number} sees {state} of a call that was answered")
    states = {state for state, error, _ in first.values() if not error}
    said = answer(world, server, call) if goes_on and place.fault != "cut" else None
    # While it goes on one may have looked before it was done, and another after that.
    if len(states) > 1 and not goes_on and not problems:
        problems.append(f"the machines see different states: {first}")
    if not problems and reached:
        world.took.setdefault(place.fault, []).append(time.monotonic() - began)
    looker = world.others[world.number % len(world.others)]
    # All of them, at once: who sees a file late does not build on that.
    for other in sorted(world.others, key=lambda machine: machine is not looker):
        problems += build_on(world, other, call, may_be_busy=is_held)
    problems += world.outside(looker, world.lookers[looker.number])
    seen = call.state(call.on_disk(machines.stored))

    # It is back.
    if not goes_on:
        if place.fault == "power" and reached:
            # strace waits for its process, whose end the power took.
            server.terminate()
        strace.detach(0)
    wrong, made = back(world, place, reached, server, call, machine, said)
    problems += wrong
    now = call.state(call.on_disk(machines.stored))
    # A process that goes on may carry its call out now, if nobody was told of it before; and says so.
    # Of one that was only stopped nobody is told anything while it keeps its locks, so it may end, or take back, what it began.
    if now != seen and not (made and seen == "old" and now == "new") and not (is_held and now in ("old", "new") and states <= {now}):
        problems.append(f"its return has changed the files: {seen}, then {now}")
    for number, (state, error, _) in world.look(call).items():
        if error or state != now:
            problems.append(f"after its return machine {number} sees {error or state}, and all is {now}")
    if left := temporaries(machines.stored, call):
        problems.append(f"left beside: {left[:6]}{' …' if len(left) > 6 else ''}")
    return reached, problems


def build_on(world: World, machine: Machine, call: Call, *, may_be_busy: bool) -> list[str]:
    """Another machine edits a file of the call, as it is now; nobody may take that back."""
    name = next((name for name in call.on_disk(world.machines.stored) if name not in call.links and call.old[name] and call.new[name]), None)
    if name is None:
        return []
    path = machine.home / call.directory / name
    patch = {"file_path": str(path), "patches": [{"old_string": "last line\n", "new_string": f"last line\nand one by machine {machine.number}\n"}]}
    reply = world.lookers[machine.number].call(PATCH, {"files": [patch]}, PATIENCE)
    if not reply.is_error:
        call.insert(name, b"last line\n", f"and one by machine {machine.number}\n".encode())
    elif not (may_be_busy and reply.code == "busy"):
        return [f"machine {machine.number} cannot build on {name}: {reply.text[:400]}"]
    return []


def resume(server: Server) -> None:
    server.process.send_signal(signal.SIGCONT)


def back(world: World, place: Place, reached: bool, server: Server, call: Call, machine: Machine,
         said: tuple[list[str], bool] | None) -> tuple[list[str], bool]:
    """The machine, or the process, is back: what it says that is not so, and whether it says that it made the
    edit."""
    problems, made = said or ([], False)
    if place.fault == "power" and reached:
        machine.boot()
    elif place.fault in ("cut", "zombie") and reached:
        machine.heal()
    machine.signal(signal.SIGCONT)
    if place.fault in GOING_ON and said is None:
        resume(server)
        problems, made = answer(world, server, call)
    server.terminate()
    # A new process there, as a supervisor would start it: it reads, and edits beside.
    try:
        with machine.server() as again:
            problems += world.outside(machine, again)
            if "panic" in (log := again.stderr()):
                problems.append(f"the new process panics: {log[-600:]}")
    except (Closed, Timeout) as end:
        problems.append(f"the new process on machine {machine.number}: {type(end).__name__}: {end}")
    return problems, made


def answer(world: World, server: Server, call: Call) -> tuple[list[str], bool]:
    """What the process that goes on answers must be so: done, or nothing was written. And whether it says that
    it is done."""
    try:
        message = server.wait(server._next_id, PATIENCE)
    except Closed as end:
        return [f"the process ended: {end}"], False
    except Timeout:
        return [f"the process did not answer within {PATIENCE:.0f} s"], False
    result = message.get("result", {})
    text = "".join(block.get("text", "") for block in result.get("content", []))
    state = call.state(call.on_disk(world.machines.stored))
    if not result.get("isError"):
        return [f"it answers that the edit was made, and all is {state}"] if state != "new" else [], True
    if "nothing was written" in text and state != "old":
        return [f"it answers that nothing was written, and all is {state}: {text[:400]}"], False
    return [], False


def places(world: World, options: argparse.Namespace) -> list[Place]:
    """All of them, or as many of each kind and fault as are wanted."""
    rng, found = random.Random(options.seed), []
    for kind in options.kind or KINDS:
        steps = dry_run(world, kind)
        print(f"   {kind}: {len(steps)} changing steps: {', '.join(f'{count} {name}' for name, count in Counter(name for name, _ in steps).items())}", flush=True)
        for fault in options.fault or FAULTS:
            chosen = steps if options.all else [steps[at] for at in sorted(rng.sample(range(len(steps)), min(options.sample, len(steps))))]
            found += [Place(kind, fault, *step) for step in chosen]
    if options.at:
        name, _, n = options.at.partition(":")
        found = [place for place in found if place.name == name and place.n == int(n or place.n)]
    if options.most and len(found) > options.most:
        found = [found[at] for at in sorted(rng.sample(range(len(found)), options.most))]
    which, _, of = options.shard.partition("/")
    return found[int(which)::int(of)]


def tried(options: argparse.Namespace, report: Report) -> int:
    """All places; how many failed. As long as the machines are whole they are used again."""
    failed, missed, world = 0, Counter[str](), None
    try:
        faults = options.fault or FAULTS
        if options.no_database:
            faults = [fault for fault in faults if fault not in ("database", "failover")]
        options.fault = faults
        with Machines(options.machines, database=not options.no_database, replica="failover" in faults, caches=options.caches) as machines:
            world = World(machines)
            found = places(world, options)
            report.section(f"{len(found)} places to die, {options.machines} machines")
            for place in found:
                try:
                    reached, problems = case(world, place)
                    missed[place.name] += not reached
                except (Closed, Timeout, RuntimeError, AssertionError, OSError) as error:
                    problems = [f"{type(error).__name__}: {error}"]
                    world.give_up()
                failed += bool(problems)
                if not options.convict:
                    report.case(str(place), problems)
                elif problems:
                    print(f"   {place}: {problems[0][:200]}", flush=True)
                    return failed
            world.close()
    finally:
        if world:
            for fault, took in sorted(world.took.items()):
                print(f"   {fault}: the others saw one state after {sorted(took)[len(took) // 2]:.1f} s (median), {max(took):.1f} s (most), of {len(took)}")
        if +missed:
            print(f"   not reached: {sum(missed.values())}: {', '.join(sorted(+missed))}")
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--machines", type=int, default=3)
    parser.add_argument("--kind", action="append", choices=KINDS)
    parser.add_argument("--fault", action="append", choices=FAULTS)
    parser.add_argument("--sample", type=int, default=1, help="so many places of each kind and fault, drawn by the seed")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--most", type=int, default=0, help="of these so many, drawn by the seed, too")
    parser.add_argument("--at", default="", help="one system call, NAME or NAME:N; with --all")
    parser.add_argument("--shard", default="0/1")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED", "1")))
    parser.add_argument("--caches", action="store_true", help="the volume with its caches, which are on by default, and warm")
    parser.add_argument("--no-database", action="store_true")
    parser.add_argument("--convict", action="store_true", help="without the database a machine must see a torn call")
    options = parser.parse_args()
    report = Report()
    if reason := no_strace() or enter():
        report.skip("kills of machines", reason)
        return report.end()
    if options.convict:
        options.no_database, options.fault, options.kind = True, options.fault or ["kill"], options.kind or ["forty", "mixed"]
        options.sample = max(options.sample, 12)
        failed = tried(options, report)
        report.case("without the database a machine sees what is left of another's call", [] if failed else ["nothing was found"])
    else:
        tried(options, report)
    report.section("done")
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
