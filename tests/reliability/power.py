"""The power cut: at each flush of a disk and in between, with what was written since then there, gone, torn, or there in part.

    power.py [--recordings N] [--sample N] [--file-system NAME] [--state WHERE] [--convict [--way SYNC]] [KIND …]

A tree lies on a disk that is recorded (disk.py), with the state directory on the same or on another. Of each KIND a call is made (faults.py),
taken back, and taken back again; then the file system writes down what it has. The power goes before each flush and after each answer,
and in between. Each image is mounted, a server is started, and then: what was answered is there; what was not is there as a
whole or not at all, down to modes and owners; no other file has changed; journal and history are read; the last edit that is in the history can be taken back; nothing but temporaries is left
beside, and these are counted (docs/limits.md). An image is looked at once, however many cuts leave it.

The disks are sparse files in memory where there is /dev/shm. Wants root, loop devices, /dev/fuse, and mkfs of ext4, XFS and btrfs; of what is missing it is
said. `--recordings N` has N of the recordings, `--sample N` N cuts of each, drawn by SEED, and `--convict` servers that leave out a sync on purpose: each must lose something.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterator

import faults
from disk import Cut, Cutter, Flush, Log, Mark, Recorder, Sectors, attach, cannot_record, make, run
from harness import PREFIX, Closed, Report, Server, Timeout, World, parallel, sample, simulate

MIB = 1 << 20


@dataclass(frozen=True)
class Kind:
    """A file system with its options."""

    make: tuple[str, ...]
    size: int
    mount: str = "defaults"
    #: Where its superblocks are.
    superblocks: tuple[int, ...] = ()


FILE_SYSTEMS = {
    "ext4": Kind(("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0"), 64 * MIB, superblocks=(1024,)),
    "ext4 data=writeback": Kind(("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0"), 64 * MIB, "data=writeback", (1024,)),
    "xfs": Kind(("mkfs.xfs", "-q"), 300 * MIB, "nouuid"),
    "btrfs": Kind(("mkfs.btrfs", "-q"), 128 * MIB, superblocks=(64 << 10, 64 * MIB)),
}
KINDS = ("single", "multi", "in place", "asked", "append", "large", "create", "move", "move far", "remove", "mixed", "mixed in place", "lines", "replace")
STATES = ("same disk", "another disk")

#: Syncs that are left out (crates/store/src/os/simulation.rs), each with a recording in which something is lost then. That of the journal's directory
#: is none of them: these file systems sync a new file's name with the file. POSIX does not say so, and order.py sees to it.
LEFT_OUT = {
    "no-sync-content": ("single", "ext4", "same disk"),
    "no-sync-in-place": ("in place", "ext4", "same disk"),
    "no-sync-directory": ("create", "xfs", "another disk"),
    "no-sync-moved": ("move", "btrfs", "same disk"),
    "no-sync-record": ("mixed in place", "ext4", "another disk"),
}

#: How many cuts are at random moments, of each recording, and how many images are drawn of each way at each flush.
BETWEEN, DRAWS = 40, 2


@dataclass(frozen=True)
class Case:
    """A recording."""

    kind: str
    file_system: str
    state: str
    #: How many cuts; 0 is all.
    sample: int = 0
    #: Whether it ends with the first image that shows a loss.
    convict: bool = False

    def __str__(self) -> str:
        return f"{self.file_system}, state on the {self.state}: {self.kind}" if self.state == "same disk" \
            else f"{self.file_system}, state on {self.state}: {self.kind}"


@dataclass
class Seen:
    """What became of the images of a case."""

    images: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    problems: list[tuple[str, list[str]]] = field(default_factory=list)


#: All files with content, mode, owner and number of names.
State = dict[str, tuple[bytes, int, int, int]]


def state_of(world: World) -> State:
    found = {}
    for name, content in faults.files(world).items():
        about = os.lstat(world.tree / name)
        found[name] = (content, about.st_mode, about.st_uid, 0 if content == b"<directory>" else about.st_nlink)
    return found


def contents(state: State) -> dict[str, bytes]:
    return {name: about[0] for name, about in state.items()}


class Disks:
    """The disks of a case, and what was recorded of them. `world` is on them, where it is while they are mounted."""

    def __init__(self, within: Path, case: Case) -> None:
        self.case, self.kind = case, FILE_SYSTEMS[case.file_system]
        count = STATES.index(case.state) + 1
        self.points = [within / f"disk{number}" for number in range(count)]
        self.fuse = within / "fuse"
        for point in (*self.points, self.fuse):
            point.mkdir(exist_ok=True)
            point.chmod(0o711)
        self.files = Path(tempfile.mkdtemp(prefix="mte-power-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
        self.bases = [self.files / f"base{number}" for number in range(count)]
        self.images = [self.files / f"image{number}" for number in range(count)]
        for base in self.bases:
            with open(base, "wb") as file:
                file.truncate(self.kind.size)
            run(*self.kind.make, base)
            run("fallocate", "--dig-holes", base)
        #: The states between the calls, and the names of the edits that led to each but the first.
        self.states: list[State] = []
        self.edits: list[str] = []
        self.log: Log = []

    @contextlib.contextmanager
    def mounted(self, devices: list[str | Path]) -> Iterator[None]:
        """The disks where they belong; a file is given a loop device for that."""
        attached, done = [], []
        try:
            for device, point in zip(devices, self.points):
                if isinstance(device, Path):
                    device = attach(device)
                    attached.append(device)
                run("mount", "-o", self.kind.mount, device, point)
                done.append(point)
                point.chmod(0o711)
            yield
        finally:
            for point in done:
                unmount(point)
            if self.case.file_system == "btrfs" and attached:
                # Or the next image of it, which may be older, would be refused.
                subprocess.run(["btrfs", "device", "scan", "--forget", *attached], capture_output=True, check=False)
            for device in attached:
                run("losetup", "--detach", device)

    def close(self) -> None:
        shutil.rmtree(self.files, ignore_errors=True)

    def record(self) -> None:
        """Carries the calls out."""
        with self.mounted(list(self.bases)):
            self.world = World(self.points[0])
            self.world.state = self.points[-1] / "state"
            faults.begin(self.world, self.case.kind)
            self.world.release()
        with Recorder(self.bases, self.fuse) as recorder:
            with self.mounted(list(recorder.devices)):
                with self.world.server(*faults.options(self.case.kind)) as server:
                    self.world.warm(server)
                    self.states.append(state_of(self.world))
                    for deed in (self.case.kind, "undo", "undo"):
                        self.carry_out(server, deed, recorder)
                    for point in self.points:
                        run("sync", "--file-system", point)
                self.log = recorder.log()

    def carry_out(self, server: Server, deed: str, recorder: Recorder) -> None:
        if deed == "undo":
            call, after = ("undo_text_file_edits", {"edit_id": self.edits[-1]}), contents(self.states[-2])
        else:
            call, after = faults.arguments(self.world, deed), faults.expected(self.world, deed)
        recorder.mark("begun")
        reply = server.call(*call)
        recorder.mark("answered")
        if reply.is_error or faults.files(self.world) != after:
            raise RuntimeError(f"{deed}: {reply.text[:300]}: {faults.difference(faults.files(self.world), after)}")
        self.edits.append(reply.json["edit_id"])
        self.states.append(state_of(self.world))

    def cuts(self) -> list[Cut]:
        """Before each flush, right after each answer, and at random moments between, in their order."""
        first = self.log.index(Mark("begun"))
        drawn = random.Random(f"{os.environ.get('SEED', '1')} {self.case}")
        found = [Cut(at, way, seed) for at, entry in enumerate(self.log) if at > first and isinstance(entry, Flush)
                 for way in ("dropped", "kept", "some", "one torn", "torn") for seed in range(1 if way in ("dropped", "kept") else DRAWS)]
        found += [Cut(at + 1, way) for at, entry in enumerate(self.log) if entry == Mark("answered") for way in ("dropped", "kept", "torn")]
        ways = ("kept", "some", "one torn", "torn")
        found += [Cut(drawn.randrange(first, len(self.log) + 1), drawn.choice(ways), drawn.randrange(1000)) for _ in range(BETWEEN)]
        return sorted(sample(found, self.case.sample), key=lambda cut: cut.at)

    def marks(self, what: str, cut: Cut) -> int:
        return sum(entry == Mark(what) for entry in self.log[: cut.at])


def unmount(point: Path) -> None:
    """The device is free when this returns, unless somebody keeps the file system."""
    if subprocess.run(["umount", str(point)], capture_output=True, check=False).returncode:
        run("umount", "-l", point)


def look_at_all(world: World, case: Case) -> Seen:
    """Records a case, and looks at what each cut leaves."""
    seen = Seen()
    disks = Disks(world.base, case)
    try:
        disks.record()
        cutter = Cutter(disks.log, disks.kind.superblocks)
        images: dict[bytes, tuple[Cut, Sectors]] = {}
        # One image that several cuts leave is held against what the last of them demands.
        for cut in disks.cuts():
            image = cutter.image(cut)
            images[digest(image)] = (cut, image)
        looked_at = list(images.values())
        if case.convict:
            random.Random(os.environ.get("SEED", "1")).shuffle(looked_at)
        for cut, image in looked_at:
            make(image, disks.bases, disks.images)
            problems = look(disks, cut, seen.counts)
            seen.images += 1
            if problems:
                seen.problems.append((f"{case}: {cut}", problems))
                if case.convict:
                    break
    finally:
        disks.close()
    return seen


def digest(image: Sectors) -> bytes:
    found = hashlib.sha256()
    for place, data in sorted(image.items()):
        found.update(b"%d %d " % place + data)
    return found.digest()


def look(disks: Disks, cut: Cut, counts: Counter[str]) -> list[str]:
    """Mounts the image of a cut, starts a server, and says what is wrong."""
    answered, begun = disks.marks("answered", cut), disks.marks("begun", cut)
    try:
        with disks.mounted(list(disks.images)):
            problems = started(disks, answered, begun, counts)
            return problems + left(disks, counts)
    except RuntimeError as error:
        return [f"cannot be mounted: {error}"]


def started(disks: Disks, answered: int, begun: int, counts: Counter[str]) -> list[str]:
    """What a server makes of it."""
    world = disks.world
    if (world.tree / "outside.txt").read_bytes() != b"nobody's\nbusiness\n":
        return ["outside.txt, of nobody's call, has changed"]
    try:
        with world.server(*faults.options(disks.case.kind)) as server:
            world.warm(server)
            now = state_of(world)
            found = [number for number in range(answered, begun + 1) if is_state(disks, number, now, counts)]
            if not found:
                return [f"from the state after {number} calls, of which {answered} were answered: {difference(now, disks.states[number])}"
                        for number in range(answered, begun + 1)]
            problems = world.edit_outside(server)
            listed = server.call("list_text_file_edits", {})
            if listed.is_error:
                return [*problems, f"the history: {listed.text[:300]}"]
            if "panic" in server.stderr():
                problems.append(f"the server panicked: {server.stderr()[-600:]}")
            number = found[-1]
            if number and disks.edits[number - 1] in listed.text:
                undone = server.call("undo_text_file_edits", {"edit_id": disks.edits[number - 1]})
                counts["taken back"] += 1
                if undone.is_error or faults.files(world) != contents(disks.states[number - 1]):
                    problems.append(f"cannot be taken back: {undone.text[:300]}; {faults.difference(faults.files(world), contents(disks.states[number - 1]))}")
            return problems
    except (Closed, Timeout) as end:
        return [f"the server: {type(end).__name__}: {end}"]


def is_state(disks: Disks, number: int, now: State, counts: Counter[str]) -> bool:
    was = disks.states[number]
    if now == was:
        return True
    beside = {name for name in now.keys() - was.keys() if now[name][0] == b"<directory>"}
    if {name: about for name, about in now.items() if name not in beside} == was:
        counts["with empty directories left"] += 1
        return True
    return False


def difference(now: State, was: State) -> str:
    if contents(now) != contents(was):
        return faults.difference(contents(now), contents(was))
    return "; ".join(f"{name}: mode, owner, names {now[name][1:]}, expected {was[name][1:]}" for name in now if now[name] != was[name])


def left(disks: Disks, counts: Counter[str]) -> list[str]:
    """What the server has left beside. Temporaries can stay (docs/limits.md), and are counted."""
    temporaries = [path for directory in (disks.world.tree, disks.world.state) for path in directory.rglob(PREFIX + "*")]
    counts["with temporaries left"] += bool(temporaries)
    for path in temporaries:
        path.unlink()
    return disks.world.strays(*faults.MADE)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sample", type=int, default=0, help="only so many cuts of each recording, drawn by SEED")
    parser.add_argument("--recordings", type=int, default=0, help="only so many recordings, drawn by SEED")
    parser.add_argument("--file-system", choices=FILE_SYSTEMS, action="append", help="only on this one")
    parser.add_argument("--state", choices=STATES, action="append", help="only with the state directory there")
    parser.add_argument("--convict", action="store_true", help="servers that leave out a sync; wants MCP_TEXT_EDITOR_SIMULATION")
    parser.add_argument("--way", choices=LEFT_OUT, action="append", help="only this sync")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    options = parser.parse_args()
    report = Report()
    with tempfile.TemporaryDirectory(prefix="mte-power-") as within:
        if reason := cannot_record(Path(within)):
            report.skip("power cuts", reason)
            return report.end()
    file_systems = []
    for name in options.file_system or FILE_SYSTEMS:
        if reason := lacks(name):
            report.skip(f"power cuts on {name}", reason)
        else:
            file_systems.append(name)
    if options.convict:
        convict(report, options, file_systems)
        return report.end()
    cases = [Case(kind, name, state, options.sample) for kind in options.kinds or KINDS for name in file_systems
             for state in options.state or STATES]
    cases = sample(cases, options.recordings)
    looked_at: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for case, seen in parallel(look_at_all, cases):
        if isinstance(seen, str):
            report.case(str(case), [seen])
            continue
        report.passed += seen.images - len(seen.problems)
        looked_at[case.file_system, case.state] += seen.images
        counts += seen.counts
        for name, problems in seen.problems:
            report.case(name, problems)
    for (name, state), images in sorted(looked_at.items()):
        print(f"   {name}, state on {state}: {images} images")
    print(f"   of all {looked_at.total()}:", ", ".join(f"{what} {count}" for what, count in sorted(counts.items())))
    return report.end()


def convict(report: Report, options: argparse.Namespace, file_systems: list[str]) -> None:
    """Without each of these syncs something is lost."""
    program = os.environ.get("MCP_TEXT_EDITOR_SIMULATION")
    if not program:
        report.skip("syncs left out", "MCP_TEXT_EDITOR_SIMULATION names no program")
        return
    os.environ["MCP_TEXT_EDITOR_BIN"] = program
    for way in options.way or LEFT_OUT:
        simulate(way)
        kind, name, state = LEFT_OUT[way]
        if name not in file_systems:
            continue
        for case, seen in parallel(look_at_all, [Case(kind, name, state, options.sample, convict=True)]):
            lost = seen.problems[0] if isinstance(seen, Seen) and seen.problems else None
            report.case(f"{way}: {case}", [] if lost else [seen if isinstance(seen, str) else f"nothing was lost in {seen.images} images"])
            if lost:
                print(f"   {way}, after {seen.images} images: {lost[0]}: {lost[1][-1][:160]}", flush=True)
    simulate("")


def lacks(name: str) -> str | None:
    """Why this file system cannot be tried here."""
    kind = FILE_SYSTEMS[name]
    if not shutil.which(kind.make[0]):
        return f"{kind.make[0]} is not installed"
    with tempfile.TemporaryDirectory(prefix="mte-power-") as within:
        try:
            disks = Disks(Path(within), Case("single", name, "same disk"))
            try:
                with disks.mounted(list(disks.bases)):
                    return None
            finally:
                disks.close()
        except RuntimeError as error:
            return str(error)


if __name__ == "__main__":
    sys.exit(main())
