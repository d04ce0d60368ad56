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
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import forms
import places
import report
import slips
from case import HASHES, MODES, Case
from history import Commit, Hunk, Repository
from play import OUTCOMES, Played, Player
from replay import Replayed, replay

#: Names of files around the one that is edited, where the path is spoiled.
AROUND = 300
#: Of fewer hunks nothing is concluded.
LEAST_HUNKS = 30

MAKERS: dict[str, tuple[tuple[str, ...], places.Maker]] = {
    **{name: ((*places.ALL_TEXT, HASHES) if name == "none" else places.ALL_TEXT, places.simple(name, slip))
       for name, slip in slips.SLIPS.items()},
    **places.MAKERS,
    **forms.MAKERS,
}


def sample(repositories: list[Repository], history: dict[str, list[Commit]], count: int, seed: str) -> list[Hunk]:
    """So many hunks, as many from each repository as it has and the others leave; no file gives more than a tenth of them."""
    pools = []
    for repository in repositories:
        hunks = repository.hunks(history[repository.path])
        random.Random(f"{seed} {len(hunks)}").shuffle(hunks)
        files: Counter[str] = Counter()
        pool = []
        for hunk in hunks:
            files[hunk.path] += 1
            if files[hunk.path] * 10 <= max(10, count):
                pool.append(hunk)
        pools.append(pool)
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
    commits: list[tuple[Repository, list[Commit]]]
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
                made.append(slip if places.is_for_another(case) else case)
    return made


def work(job: Job) -> tuple[list[Played], int, list[Replayed], int]:
    """Plays all cases of a job, and replays its commits; also how many calls and how many commits were left out."""
    player = Player(job.server, job.options)
    played, other, replayed, left_out = [], 0, [], 0
    try:
        for repository, commits in job.commits:
            done, without = replay(player, repository, commits)
            replayed += done
            left_out += without
        for number, hunk, names in job.hunks:
            for case in cases(job, number, hunk):
                if isinstance(case, str):
                    other += 1
                else:
                    played.append(player.play(case, names if case.path else (hunk.path,)))
    finally:
        player.close()
    return played, other, replayed, left_out


def run(options: argparse.Namespace, repositories: list[Repository]) -> report.Results:
    """Plays what the options ask for, in as many processes as they say."""
    history = {repository.path: repository.commits(options.commits) for repository in repositories}
    hunks = sample(repositories, history, options.hunks, options.seed)
    by_path = {repository.path: repository for repository in repositories}
    paths = any(slip in places.PATHS for slip in options.slips)
    listed = [(i, hunk, around(by_path[hunk.repository].names(hunk.commit), hunk.path) if paths else (hunk.path,))
              for i, hunk in enumerate(hunks)]
    jobs = []
    for i in range(options.jobs):
        commits = [(repository, history[repository.path][:options.replay][i::options.jobs]) for repository in repositories]
        jobs.append(Job(options.server, options.option, listed[i::options.jobs], commits, options.slips, options.modes, options.seed,
                        options.share))
    start = time.monotonic()
    # Forked, so that what was read of the repositories is there.
    forking = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(options.jobs, forking, initializer=hold, initargs=(jobs,)) as pool:
        done = list(pool.map(work_at, range(len(jobs))))
    seconds = time.monotonic() - start
    return report.Results([case for part in done for case in part[0]], len(hunks), sum(part[1] for part in done), seconds,
                          [commit for part in done for commit in part[2]], sum(part[3] for part in done))


HELD: list[Job] = []


def hold(jobs: list[Job]) -> None:
    """Keeps the jobs in a process that was forked, so that none is sent."""
    HELD[:] = jobs


def work_at(index: int) -> tuple[list[Played], int, list[Replayed], int]:
    return work(HELD[index])


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="+", metavar="REPOSITORY", help="a work tree, or a git directory")
    parser.add_argument("--server", required=True, help="the program to measure")
    parser.add_argument("--option", action="append", default=[], help="an option for the program, such as --option=--strict")
    parser.add_argument("--hunks", type=int, default=300, help="hunks to spoil, of all repositories together (default: 300)")
    parser.add_argument("--share", type=int, default=0, metavar="N", help="try one in N of the cases of each hunk (default: all; of 3 with --check)")
    parser.add_argument("--commits", type=int, default=400, help="newest commits to take them from (default: 400)")
    parser.add_argument("--replay", type=int, metavar="N",
                        help="commits of each repository to replay whole (default: 100; none with --only or --show)")
    parser.add_argument("--check", action="store_true", help="end with 1 if something is worse than it may be")
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
    options.share = options.share or (3 if options.check else 1)
    if options.replay is None:
        options.replay = 0 if begins else 100
    options.modes = [mode for mode in MODES if not options.mode or mode in options.mode.split(",")]
    if not options.slips or not options.modes:
        parser.error(f"no such slip, or no such mode; slips are {', '.join(MAKERS)}")
    return options


def too_short(options: argparse.Namespace) -> bool:
    """Whether there is too little history to check anything, as in a shallow clone; says so."""
    found = sum(len(repository.hunks(repository.commits(options.commits))) for repository in map(Repository, options.repositories))
    if found < LEAST_HUNKS:
        print(f"skipped: {found} hunks in the history, fewer than {LEAST_HUNKS}; is it a shallow clone?")
    return found < LEAST_HUNKS


def main() -> int:
    options = arguments()
    if options.list:
        print("\n".join(f"{slip}: {', '.join(modes)}" for slip, (modes, _) in MAKERS.items()))
        return 0
    if options.check and too_short(options):
        return 0
    results = run(options, [Repository(path) for path in options.repositories])
    if options.show:
        report.show(results, options.show, options.outcome, options.most)
    print(report.table(results))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump([dataclasses.asdict(case) for case in results.played], file, ensure_ascii=False, indent=1)
    if not options.check:
        return 0
    worse = report.worse(results)
    print("\n".join(f"FAILED: {words}" for words in worse) or "nothing is worse than it may be")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
