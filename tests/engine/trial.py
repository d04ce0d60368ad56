"""Which of the mutants in a program its tests notice: for each those tests that reach its place, the likeliest first, until one fails.
What a test reaches is told by the program itself (`schemata.SCHEMA`), each test in a process of its own. Not here: how the program is made.

A test that dies or takes far longer than it does without a mutant has noticed it. As root, processes see the root file system
read-only but for the directory of the trials: a mutant of a program that deletes files deletes any.
"""

from __future__ import annotations

import ctypes
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

#: Of other bytes a process would only get slower, and its neighbours, too.
MEMORY = 6 << 30
#: What a mutant may take: so many times as long as without, and this much more, on machines that do other things, too.
SLOWER, SECONDS = 10, 20
#: How long what a test started may go on once it has ended, in seconds.
SOON = 3


@dataclass
class Test:
    program: Path
    name: str
    #: How long it takes in a process of its own.
    seconds: float = 0.0
    reaches: set[int] = field(default_factory=set)


@dataclass
class Tried:
    missed: set[int]
    #: By number, the test that noticed.
    noticed: dict[int, str] = field(default_factory=dict)
    out_of_time: set[int] = field(default_factory=set)


def wall(writable: Path, programs: list[Path]) -> None:
    """Makes the root file system but for this directory read-only for this process and what it starts. The directory is /tmp, too, which some
    tests want, unless it or one of the programs is in there; and `scratch` in it is in memory, where no test waits for a disk. Where
    namespaces may not be made, nothing is done."""
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() != 0 or libc.unshare(0x20000):  # CLONE_NEWNS
        return
    temporary, scratch = writable / "tmp", writable / "scratch"
    temporary.mkdir(exist_ok=True)
    scratch.mkdir(exist_ok=True)
    is_within = any(path.resolve().is_relative_to("/tmp") for path in (writable, *programs))
    for command in (["mount", "--make-rprivate", "/"], ["mount", "--bind", writable, writable], ["mount", "-t", "tmpfs", "-o", "size=4g", "none", scratch],
                    *([] if is_within else [["mount", "--bind", temporary, "/tmp"]]), ["mount", "-o", "remount,bind,ro", "/"]):
        subprocess.run(command, check=True)


def limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def end(group: int, seconds: float = SOON) -> None:
    """Ends what is left of a process group after so long: a database's keeper removes its files once the test that started it is gone."""
    last = time.monotonic() + seconds
    try:
        while time.monotonic() < last:
            os.killpg(group, 0)
            time.sleep(0.02)
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Trial:
    """Test programs, each with the directory that it is run in, and where they may write."""

    def __init__(self, programs: dict[Path, Path], scratch: Path, jobs: int):
        self.directory_of, self.scratch, self.jobs = programs, scratch, jobs
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True, exist_ok=True)
        self.tests: list[Test] = []
        # What notices most comes first: a crate's tests beside its code.
        for program in sorted(programs, key=lambda program: program.name.startswith("it-")):
            listed, ignored = (self.names(program, *more) for more in ([], ["--ignored"]))
            self.tests += [Test(program, name) for name in listed if name not in set(ignored)]
        self.kills: dict[str, Counter] = {}
        self.lock = threading.Lock()

    def names(self, program: Path, *more: str) -> list[str]:
        said = subprocess.run([program, "--list", "--format=terse", *more], cwd=self.directory_of[program], stdout=subprocess.PIPE, text=True, check=True).stdout
        return [line.removesuffix(": test") for line in said.splitlines() if line.endswith(": test")]

    def run(self, program: Path, names: list[str], seconds: float, own: dict[str, str]) -> tuple[str | None, bool]:
        """Runs these tests until one fails: which it was (or that the program died), and whether the time was over."""
        scratch = self.scratch / str(threading.get_ident())
        scratch.mkdir(exist_ok=True)
        directory = self.directory_of[program]
        environment = os.environ | {"TMPDIR": str(scratch), "CARGO_MANIFEST_DIR": str(directory), "INSTA_UPDATE": "no", "INSTA_FORCE_PASS": "0",
                                    "INSTA_WORKSPACE_ROOT": str(directory.parents[1]), "RUST_BACKTRACE": "0", **own}
        process = subprocess.Popen([program, "--exact", "--test-threads=1", *names], cwd=directory, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True, preexec_fn=limit)
        late = threading.Event()

        timer = threading.Timer(seconds, lambda: (late.set(), end(process.pid, 0)))
        timer.start()
        failed = None
        for line in process.stdout:
            found = re.match(rb"test (\S+)(?: - should panic)? \.\.\. .*FAILED", line)
            if found:
                failed = found[1].decode()
                break
        if failed:
            process.kill()
        # Whoever is left of it holds the pipe, and perhaps locks.
        process.stdout.close()
        code = process.wait()
        timer.cancel()
        end(process.pid)
        shutil.rmtree(scratch, ignore_errors=True)
        if failed is None and not late.is_set() and code != 0:
            failed = f"{names[0]} … (ended with {code})"
        return failed, late.is_set()

    def measure(self, tests: list[Test], size: int) -> list[Test]:
        """Runs each of these tests once without a mutant. Those that fail so are told, and not returned."""
        failed = []

        def alone(test: Test) -> None:
            reached = self.scratch / f"reached-{threading.get_ident()}"
            reached.write_bytes(bytes(size))
            start = time.monotonic()
            said, late = self.run(test.program, [test.name], 300, {"MUTANTS_REACHED": str(reached)})
            test.seconds = time.monotonic() - start
            test.reaches = {number for number, was in enumerate(reached.read_bytes()) if was}
            if said or late:
                print(f"failed without a mutant, so not asked: {test.name}")
                failed.append(test)

        with ThreadPoolExecutor(self.jobs) as pool:
            list(pool.map(alone, tests))
        return [test for test in tests if test not in failed]

    def try_one(self, number: int, family: str, tests: list[Test]) -> tuple[str | None, bool]:
        """Whether one of these tests notices; `family` is the mutant's function, whose other mutants' killers come first."""
        with self.lock:
            kills = Counter(self.kills.setdefault(family, Counter()))
        tests = sorted(tests, key=lambda test: (-kills[test.name], test.seconds))
        share = 0.0
        while tests:
            # One alone, then ever more at once: starting a program takes as long as a small test.
            batch = [tests.pop(0)]
            while tests and sum(test.seconds for test in batch) < share:
                batch.append(tests.pop(0))
            share = max(share * 3, 0.1)
            for program in {test.program for test in batch}:
                names = [test.name for test in batch if test.program == program]
                seconds = SECONDS + SLOWER * sum(test.seconds for test in batch)
                failed, late = self.run(program, names, seconds, {"MUTANT": str(number)})
                if failed or late:
                    with self.lock:
                        self.kills[family][failed or names[0]] += 1
                    return failed or names[0], late
        return None, False

    def try_all(self, mutants: dict[int, str], size: int, told: Callable[[int, str | None], None]) -> Tried:
        """Tries these mutants, by number with the function of each: a program's tests are asked of those that no earlier one's noticed. All
        numbers in the programs are below `size`; those of a crate that is linked in are there, too."""
        tried = Tried(set(mutants))
        for _, part in groupby(self.tests, key=lambda test: test.program):
            if not tried.missed:
                break
            tests = self.measure(list(part), size)

            def one(number: int) -> None:
                killer, late = self.try_one(number, mutants[number], [test for test in tests if number in test.reaches])
                with self.lock:
                    if killer is not None:
                        tried.missed.remove(number)
                        tried.noticed[number] = killer
                        told(number, killer)
                    if late:
                        tried.out_of_time.add(number)

            with ThreadPoolExecutor(self.jobs) as pool:
                list(pool.map(one, sorted(tried.missed)))
        for number in sorted(tried.missed):
            told(number, None)
        return tried
