#!/usr/bin/env python3
"""How many edits land, and what becomes of a caller that does what an error says: see docs/internals/edits.md.

    edits.py --server BINARY REPOSITORY…      hunks of those repositories, each spoiled in every way
    edits.py --server BINARY --check .        a small run that fails where something is worse than it may be
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import itertools
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
import peers
import places
import report
import slips
from case import HASHES, MODES, Case
from history import Commit, Hunk, Repository
from play import OUTCOMES, Played, Player
from replay import Replayed, replay

#: Names of files around the one that is edited, where the path is spoiled.
AROUND = 300
#: Among how many hunks those are looked for to which a rare slip applies.
SEARCHED = 4000
#: Of fewer hunks nothing is concluded.
LEAST_HUNKS = 30

MAKERS: dict[str, tuple[tuple[str, ...], places.Maker]] = {
    **{name: ((*places.ALL_TEXT, HASHES) if name == "none" else places.ALL_TEXT, places.simple(name, slip))
       for name, slip in slips.SLIPS.items()},
    **places.MAKERS,
    **forms.MAKERS,
}


@dataclasses.dataclass(frozen=True)
class Chosen:
    """A hunk of the sample, by its number in it; `only` for some slips, if it was taken for their sake."""

    number: int
    hunk: Hunk
    names: tuple[str, ...]
    only: frozenset[str] | None


def pools(repositories: list[Repository], history: dict[str, list[Commit]], count: int, seed: str) -> list[list[Hunk]]:
    """The hunks of each repository in an order of chance, the smallest pool first; no file gives more than a tenth of the count."""
    made = []
    for repository in repositories:
        hunks = repository.hunks(history[repository.path])
        random.Random(f"{seed} {len(hunks)}").shuffle(hunks)
        files: Counter[str] = Counter()
        pool = []
        for hunk in hunks:
            files[hunk.path] += 1
            if files[hunk.path] * 10 <= max(10, count):
                pool.append(hunk)
        made.append(pool)
    return sorted(made, key=len)


def sample(found: list[list[Hunk]], options: argparse.Namespace) -> list[tuple[Hunk, frozenset[str] | None]]:
    """So many hunks, as many from each repository as it has and the others leave. For a slip that applies to few of them (there are not
    many no-break spaces) more are taken, for it alone, until it has a tenth of the count."""
    chosen: list[Hunk] = []
    left = []
    for index, pool in enumerate(found):
        share = (options.hunks - len(chosen)) // (len(found) - index)
        chosen += pool[:share]
        left.append(pool[share:])
    others = [hunk for hunks in itertools.zip_longest(*left) for hunk in hunks if hunk is not None][:SEARCHED]
    wanted: dict[int, set[str]] = {}
    for slip in options.slips:
        missing = options.hunks // 10 - sum(applies(slip, hunk, options.seed) for hunk in chosen)
        for index, hunk in enumerate(others if missing > 0 else []):
            if missing > 0 and applies(slip, hunk, options.seed):
                wanted.setdefault(index, set()).add(slip)
                missing -= 1
    return [(hunk, None) for hunk in chosen] + [(others[index], frozenset(slips)) for index, slips in sorted(wanted.items())]


def applies(slip: str, hunk: Hunk, seed: str) -> bool:
    modes, maker = MAKERS[slip]
    return maker(hunk, modes[0], random.Random(f"{seed} {hunk.key()} {slip} {modes[0]}")) is not None


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
    hunks: list[Chosen]
    commits: list[tuple[Repository, list[Commit]]]
    slips: list[str]
    modes: list[str]
    seed: str
    share: int
    literal: bool
    #: The name and the command of another server, to be played instead.
    peer: tuple[str, str] | None = None


def cases(job: Job, chosen: Chosen) -> list[Case | str]:
    """All cases of a hunk; for a call that is right as it was sent, though for another edit, the slip's name."""
    made: list[Case | str] = []
    hunk = chosen.hunk
    for index, slip in enumerate(job.slips):
        if chosen.only is not None and slip not in chosen.only:
            continue
        modes, maker = MAKERS[slip]
        for place, mode in enumerate(modes):
            if mode not in job.modes or (chosen.number + index + place) % job.share:
                continue
            case = maker(hunk, mode, random.Random(f"{job.seed} {hunk.key()} {slip} {mode}"))
            if case is not None:
                made.append(slip if places.is_for_another(case) else case)
    return made


def work(job: Job) -> tuple[list[Played], int, list[Replayed], int]:
    """Plays all cases of a job, and replays its commits; also how many calls and how many commits were left out."""
    player = peers.Peer(*job.peer) if job.peer else Player(job.server, job.options, literal=job.literal)
    played, other, replayed, left_out = [], 0, [], 0
    try:
        for repository, commits in job.commits:
            found, without = replay(player, repository, commits)
            replayed += found
            left_out += without
        for chosen in job.hunks:
            for case in cases(job, chosen):
                if isinstance(case, str):
                    other += 1
                elif (done := player.play(case, chosen.names if case.path else (case.hunk.path,))) is not None:
                    played.append(done)
    finally:
        player.close()
    return played, other, replayed, left_out


def run(options: argparse.Namespace, repositories: list[Repository]) -> report.Results:
    """Plays what the options ask for, in as many processes as they say."""
    history = {repository.path: repository.commits(options.commits) for repository in repositories}
    hunks = sample(pools(repositories, history, options.hunks, options.seed), options)
    by_path = {repository.path: repository for repository in repositories}
    paths = any(slip in places.PATHS for slip in options.slips)
    listed = []
    for number, (hunk, only) in enumerate(hunks):
        names = around(by_path[hunk.repository].names(hunk.commit), hunk.path) if paths and only is None else (hunk.path,)
        listed.append(Chosen(number, hunk, names, only))
    jobs = []
    for i in range(options.jobs):
        commits = [(repository, history[repository.path][:options.replay][i::options.jobs]) for repository in repositories]
        jobs.append(Job(options.server, options.option, listed[i::options.jobs], commits, options.slips, options.modes, options.seed,
                        options.share, options.literal))
    start = time.monotonic()
    done = in_processes(jobs)
    seconds = time.monotonic() - start
    played = sorted((case for part in done for case in part[0]), key=lambda case: (options.slips.index(case.slip), MODES.index(case.mode)))
    results = report.Results(played, len(hunks), sum(part[1] for part in done), seconds,
                             [commit for part in done for commit in part[2]], sum(part[3] for part in done), {})
    for name, command in options.peers:
        done = in_processes([dataclasses.replace(job, commits=[], peer=(name, command)) for job in jobs])
        results.peers[name] = [case for part in done for case in part[0]]
    return results


def in_processes(jobs: list[Job]) -> list[tuple[list[Played], int, list[Replayed], int]]:
    """Does the jobs side by side; the processes are forked, so that what was read of the repositories is there."""
    with concurrent.futures.ProcessPoolExecutor(len(jobs), multiprocessing.get_context("fork"), hold, (jobs,)) as pool:
        return list(pool.map(work_at, range(len(jobs))))


#: The jobs, in a process that was forked for one of them.
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
    parser.add_argument("--share", type=int, default=0, metavar="N",
                        help="try one in N of the cases of each hunk (default: all; 3 with --check)")
    parser.add_argument("--commits", type=int, default=400, help="newest commits to take them from (default: 400)")
    parser.add_argument("--replay", type=int, metavar="N",
                        help="commits of each repository to replay whole (default: 100; none with --only or --show)")
    parser.add_argument("--check", action="store_true", help="end with 1 if something is worse than it may be")
    parser.add_argument("--seed", default="1", help="of the sample and of every slip (default: 1)")
    parser.add_argument("--only", default="", help="slips, by the beginnings of their names, with commas between")
    parser.add_argument("--mode", default="", help=f"modes, with commas between: {', '.join(MODES)}")
    parser.add_argument("--jobs", type=int, default=2, help="servers at a time (default: 2)")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=COMMAND",
                        help=f"another server to compare with; its name begins with one of {', '.join(peers.ADAPTERS)}")
    parser.add_argument("--json", metavar="FILE", help="write all that was played there, with every dialogue")
    parser.add_argument("--show", metavar="SLIP", help="print dialogues of that slip that did not end well")
    parser.add_argument("--most", type=int, default=3, help="how many dialogues to show (default: 3)")
    parser.add_argument("--outcome", default="", help=f"show those that ended so: {', '.join(OUTCOMES)}")
    parser.add_argument("--literal", action="store_true", help="the caller never fits its new text to lines that it is shown")
    parser.add_argument("--brief", action="store_true", help="one line for all modes of a slip")
    parser.add_argument("--list", action="store_true", help="print the slips' names, and end")
    options = parser.parse_args()
    options.server = os.path.abspath(options.server)
    begins = [part for part in (*options.only.split(","), options.show or "") if part]
    options.slips = [slip for slip in MAKERS if not begins or any(slip.startswith(part) for part in begins)]
    options.share = options.share or (3 if options.check else 1)
    if options.replay is None:
        options.replay = 0 if begins else 100
    options.modes = [mode for mode in MODES if not options.mode or mode in options.mode.split(",")]
    options.peers = [tuple(peer.split("=", 1)) for peer in options.peer]
    if wrong := [peer[0] for peer in options.peers if len(peer) != 2 or peers.adapter(peer[0]) is None]:
        parser.error(f"no such peer: {', '.join(wrong)}")
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
    print(report.table(results, options.brief))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(dataclasses.asdict(results), file, ensure_ascii=False, indent=1)
    if not options.check:
        return 0
    worse = report.worse(results)
    print("\n".join(f"FAILED: {words}" for words in worse) or "nothing is worse than it may be")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
