#!/usr/bin/env python3
"""How many edits land, and what becomes of a caller that does what an error says: see docs/edits.md.

    edits.py --server BINARY REPOSITORY…      hunks of those repositories, each spoiled in every way
    edits.py --server BINARY --check .        a small run that fails where something is worse than it may be
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import json
import multiprocessing
import os
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import places
import report
import slips
from case import HASHES, MODES, TEXT, Case
from history import Hunk, Repository
from play import GIVEN_UP, OUTCOMES, Played, Player

#: Names of files around the one that is edited, where the path is spoiled.
AROUND = 300

MAKERS: dict[str, tuple[tuple[str, ...], places.Maker]] = {
    **{name: ((*places.ALL_TEXT, HASHES) if name == "none" else places.ALL_TEXT, places.simple(name, slip))
       for name, slip in slips.SLIPS.items()},
    **places.MAKERS,
}


def sample(repositories: list[Repository], commits: int, count: int, seed: str) -> list[Hunk]:
    """So many hunks, as many from each repository as it has and the others leave; no file gives more than a tenth."""
    pools = []
    for repository in repositories:
        hunks = repository.hunks(repository.commits(commits))
        random.Random(f"{seed} {os.path.basename(repository.path)}").shuffle(hunks)
        pools.append(hunks)
    chosen: list[Hunk] = []
    pools.sort(key=len)
    for index, pool in enumerate(pools):
        chosen += pool[:(count - len(chosen)) // (len(pools) - index)]
    return chosen


def around(names: list[str], path: str) -> tuple[str, ...]:
    """The names in a tree that are nearest to a path: those that share most of its directories."""
    parts = path.split("/")

    def shared(name: str) -> int:
        return sum(1 for a, b in zip(name.split("/")[:-1], parts[:-1]) if a == b)

    near = sorted((name for name in names if name != path), key=lambda name: (-shared(name), name))[:AROUND - 1]
    return tuple(sorted([path, *near]))


@dataclasses.dataclass
class Job:
    """What a process does: hunks with the names around each, and the slips to try."""

    server: str
    options: list[str]
    hunks: list[tuple[int, Hunk, tuple[str, ...]]]
    slips: list[str]
    modes: list[str]
    seed: str
    share: int


def cases(job: Job, number: int, hunk: Hunk) -> list[Case | str]:
    """All cases of a hunk; for a call that is right as it was sent, though for another edit, the slip's name."""
    made: list[Case | str] = []
    for index, slip in enumerate(job.slips):
        modes, maker = MAKERS[slip]
        for place, mode in enumerate(modes):
            if mode not in job.modes or (number + index + place) % job.share:
                continue
            case = maker(hunk, mode, random.Random(f"{job.seed} {hunk.key()} {slip} {mode}"))
            if case is not None:
                made.append(slip if places.unspoiled(case) else case)
    return made


def work(job: Job) -> tuple[list[Played], int]:
    """Plays all cases of a job; also how many calls were left out because they were right for another edit."""
    player = Player(job.server, job.options)
    played, other = [], 0
    try:
        for number, hunk, names in job.hunks:
            for case in cases(job, number, hunk):
                if isinstance(case, str):
                    other += 1
                else:
                    played.append(player.play(case, names if case.path else (hunk.path,)))
    finally:
        player.close()
    return played, other


def run(options: argparse.Namespace, repositories: list[Repository]) -> report.Results:
    """Plays what the options ask for, in as many processes as they say."""
    hunks = sample(repositories, options.commits, options.hunks, options.seed)
    by_path = {repository.path: repository for repository in repositories}
    paths = any(slip in places.PATHS for slip in options.slips)
    listed = [(i, hunk, around(by_path[hunk.repository].names(hunk.commit), hunk.path) if paths else (hunk.path,))
              for i, hunk in enumerate(hunks)]
    jobs = [Job(options.server, options.option, listed[i::options.jobs], options.slips, options.modes, options.seed, options.share)
            for i in range(options.jobs)]
    start = time.monotonic()
    with concurrent.futures.ProcessPoolExecutor(options.jobs, multiprocessing.get_context("fork")) as pool:
        done = list(pool.map(work, jobs))
    seconds = time.monotonic() - start
    played = [case for cases, _ in done for case in cases]
    return report.Results(played, len(hunks), sum(other for _, other in done), seconds)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="+", metavar="REPOSITORY", help="a work tree, or a git directory")
    parser.add_argument("--server", required=True, help="the program to measure")
    parser.add_argument("--option", action="append", default=[], help="an option for the program, such as --option=--strict")
    parser.add_argument("--hunks", type=int, default=300, help="hunks to spoil, of all repositories together (default: 300)")
    parser.add_argument("--share", type=int, default=1, metavar="N", help="try one in N of the cases of each hunk (default: all)")
    parser.add_argument("--commits", type=int, default=400, help="newest commits to take them from (default: 400)")
    parser.add_argument("--seed", default="1", help="of the sample and of every slip (default: 1)")
    parser.add_argument("--only", default="", help="slips, by the beginnings of their names, with commas between")
    parser.add_argument("--mode", default="", help=f"modes, with commas between: {', '.join(MODES)}")
    parser.add_argument("--jobs", type=int, default=2, help="servers at a time (default: 2)")
    parser.add_argument("--json", metavar="FILE", help="write every case there, with its dialogue")
    parser.add_argument("--show", metavar="SLIP", help="print dialogues of that slip that did not end well")
    parser.add_argument("--most", type=int, default=3, help="how many dialogues to show (default: 3)")
    parser.add_argument("--outcome", default="", help=f"show those that ended so: {', '.join(OUTCOMES)}")
    parser.add_argument("--list", action="store_true", help="print the slips' names, and end")
    options = parser.parse_args()
    options.server = os.path.abspath(options.server)
    begins = [part for part in (*options.only.split(","), options.show or "") if part]
    options.slips = [slip for slip in MAKERS if not begins or any(slip.startswith(part) for part in begins)]
    options.modes = [mode for mode in MODES if not options.mode or mode in options.mode.split(",")]
    if not options.slips or not options.modes:
        parser.error(f"no such slip, or no such mode; slips are {', '.join(MAKERS)}")
    return options


def main() -> int:
    options = arguments()
    if options.list:
        print("\n".join(f"{slip}: {', '.join(modes)}" for slip, (modes, _) in MAKERS.items()))
        return 0
    results = run(options, [Repository(path) for path in options.repositories])
    if options.show:
        report.show(results, options.show, options.outcome, options.most)
    print(report.table(results))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump([dataclasses.asdict(case) for case in results.played], file, ensure_ascii=False, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
