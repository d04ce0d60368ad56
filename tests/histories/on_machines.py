"""What is other where the servers of a recording are on several machines (tests/machines): the volume at another
path on each, and machines that lose power and their cables, not only processes that are killed and stopped.

A machine that is cut off may refuse what it cannot know, and says then that nothing was written; where it
does not, nobody knows what became of the call.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "machines"))

import recorder  # noqa: E402
from machines import Machines, enter  # noqa: E402

__all__ = ["run"]


class OnVolume(recorder.World):
    """The files on the volume. Its file system has no exchange of names, which each reply says."""

    #: A read waits for a call that another machine has begun and not ended, but not for ever.
    beside_reads = frozenset({"busy", "conflict", "io_error"})
    warns = (*recorder.World.warns, "cannot exchange names")

    def __init__(self, names_at_once: bool, machines: Machines) -> None:
        super().__init__(names_at_once, machines.home)
        self.machines = machines
        self.on = [machines[1 + which % len(machines.running)] for which in range(4)]
        relative = self.tree.relative_to(machines.home)
        self.homes, self.states = [machine.home / relative for machine in self.on], [machine.state for machine in self.on]

    def refused(self, group: recorder.Group, operation: dict[str, Any], reply: dict[str, Any]) -> None:
        codes = {problem["code"] for problem in reply["errors"]}
        unknown_edit = operation["what"] == "undo" and not all("file_path" in problem for problem in reply["errors"])
        if "io_error" not in codes and not unknown_edit:
            super().refused(group, operation, reply)
            return
        # Its machine was cut off, or its session; or, each with a history of its own, another machine made
        # the edit.
        self.counts[f"refused {operation['what']}: {reply['code']}"] += 1
        if unknown_edit and self.machines.url and not codes & {"io_error", "busy"}:
            self.problems.append(f"what another machine did is not known: {json.dumps(reply)[:600]}")
        if "nothing was written" in reply["reason"]:
            group.operations.append(operation | {"outcome": "conflict"})
        else:
            self.lost(group, operation)


class OnMachines(recorder.Servers):
    """Two or more machines with the servers between them."""

    #: How often in a round a machine is cut off, or loses power.
    CUT, POWER = 0.1, 0.1

    def __init__(self, world: OnVolume, rng: random.Random) -> None:
        self.cuts = self.powers = 0
        super().__init__(world, "", rng)

    def start(self, which: int) -> recorder.Stdio:
        world = self.world
        machine = world.on[which]
        command = [*machine.wrap, self.program, *machine.options(), *self.options[which], str(world.homes[which])]
        environment = self.environment | {"MCP_TEXT_EDITOR_STATE_DIR": str(world.states[which])} | machine.environment()
        return recorder.Stdio(command, environment, self.log)

    def trouble(self, rng: random.Random, done: threading.Event, most: int) -> None:
        kind = rng.random()
        machine = rng.choice(self.world.machines.running)
        if kind < self.CUT:
            done.wait(rng.uniform(0, 0.5))
            machine.cut()
            time.sleep(rng.choice([0.2, 2.0, 6.0]))
            machine.heal()
            self.cuts += 1
        elif kind < self.CUT + self.POWER:
            done.wait(rng.uniform(0, 0.5))
            self.power(machine, rng.uniform(0, 3))
        super().trouble(rng, done, most)

    def power(self, machine: Any, seconds: float) -> None:
        """All servers of a machine at once, and its mount."""
        machine.lose_power()
        there = [which for which in range(4) if self.world.on[which] is machine]
        for which in there:
            self.running[which].process.wait()
            self.world.settle(self.running[which].withdrawn, killed=True)
        time.sleep(seconds)
        machine.boot()
        for which in there:
            self.running[which] = self.start(which)
        self.powers += 1


class MachinesRecording(recorder.Recording):
    """Rounds on the machines. A call takes longer there, and so does a round."""

    SECONDS = 3.0

    def __init__(self, options: argparse.Namespace, machines: Machines) -> None:
        self.machines = machines
        super().__init__(options)

    def make(self) -> None:
        self.world = OnVolume(self.options.names_at_once, self.machines)
        self.servers = OnMachines(self.world, self.rng)

    def outsiders(self) -> int:
        """None: what a program writes in the last instant before a rename can be lost there, and the replies
        say so."""
        return 0

    def __str__(self) -> str:
        return f"{len(self.machines.running)} machines, {self.servers.cuts} cut off, {self.servers.powers} without power; {super().__str__()}"


def run(options: argparse.Namespace) -> int:
    """What `recorder.py` does, on machines. The recorder that it was called from is another module of the same
    text, so nothing is shared with it."""
    report = recorder.Report()
    if reason := enter():
        report.skip("histories of machines", reason)
        return report.end()
    print(f"seed {options.seed}")
    with Machines(options.machines, database=not options.no_database) as machines:
        recorder.recorded(options, report, options.seconds, MachinesRecording(options, machines))
    report.section("done")
    return report.end()
