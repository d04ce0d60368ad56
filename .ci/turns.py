"""Chooses the suites of one run of `.ci/run` from the table `.ci/suites`; prints each with its Debian packages.

    turns.py          those that always run, two by turn, and those that the last landing touches, as far as BUDGET goes
    turns.py all      all of them
    turns.py --check  whether the table is right: `N passed, N failed`

Nothing in a clone marks a landing. So its commits are those of the last hours (mutants.py has `base`; BEFORE names another commit), and its number,
which says whose turn it is, counts spans of SPAN hours in which there are commits.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "tests/engine"))

from mutants import base, git  # noqa: E402

#: The processor seconds that the suites by turn and those of the change may take together.
BUDGET = 650
#: Hours between two landings, at the least.
SPAN = 3
#: Within so many landings each suite has its turn.
LANDINGS = 8


@dataclass(frozen=True)
class Suite:
    name: str
    seconds: int
    packages: list[str]
    paths: list[str]

    @property
    def always(self) -> bool:
        return self.paths == ["*"]


def table() -> list[Suite]:
    rows = [line.split("|") for line in (REPOSITORY / ".ci/suites").read_text().splitlines() if line and not line.startswith("#")]
    return [Suite(name.strip(), int(seconds), packages.split(), paths.split()) for name, seconds, packages, paths in rows]


def landing() -> int:
    """The number of the last landing."""
    number, start = 0, float("-inf")
    for moment in map(int, (git("log", "--first-parent", "--reverse", "--format=%ct") or "0").split()):
        if abs(moment - start) > SPAN * 3600:
            number, start = number + 1, moment
    return number


def touched(suites: list[Suite]) -> dict[str, int]:
    """How many lines the last landing changed under the paths of each suite."""
    before = os.environ.get("BEFORE") or base()
    rows = [row.split("\t") for row in (git("diff", "--no-renames", "--numstat", before, "HEAD") or "").splitlines()] if before else []
    lines = {file: 1 + sum(int(count) for count in counts if count != "-") for *counts, file in rows}
    return {suite.name: sum(many for file, many in lines.items() if file.startswith(tuple(suite.paths))) for suite in suites}


def by_turn(long: list[Suite], number: int) -> list[Suite]:
    """Two neighbours of the table."""
    first = number * 2 % (len(long) + len(long) % 2)
    return long[first:first + 2]


def chosen() -> list[Suite]:
    suites = table()
    long = [suite for suite in suites if not suite.always]
    number, lines = landing(), touched(long)
    taken = by_turn(long, number)
    print(f"landing {number}; by turn: {' '.join(suite.name for suite in taken)}", file=sys.stderr)
    for suite in sorted(long, key=lambda suite: -lines[suite.name]):
        if lines[suite.name] and suite not in taken:
            fits = sum(one.seconds for one in taken) + suite.seconds <= BUDGET
            taken += [suite] * fits
            print(f"{suite.name}: {lines[suite.name]} lines changed{'' if fits else ', left to its turn'}", file=sys.stderr)
    return [suite for suite in suites if suite.always or suite in taken]


def check() -> int:
    suites = table()
    long = [suite for suite in suites if not suite.always]
    script, files = (REPOSITORY / ".ci/run").read_text(), (git("ls-files") or "").splitlines()
    functions = set(re.findall(r"^(\w+)\(\)", script, re.MULTILINE))
    turns = [by_turn(long, number) for number in range(LANDINGS)]
    wrong = [f"{suite.name} is no function of .ci/run" for suite in suites if suite.name not in functions]
    wrong += [f"{suite.name}: nothing is at {path}" for suite in long for path in suite.paths if not any(file.startswith(path) for file in files)]
    wrong += [f"{suite.name} has no turn within {LANDINGS} landings" for suite in long if not any(suite in turn for turn in turns)]
    wrong += [f"{' and '.join(suite.name for suite in turn)} take too long for one run" for turn in turns if sum(suite.seconds for suite in turn) > BUDGET]
    for problem in sorted(set(wrong)):
        print(f"failed: .ci/suites: {problem}")
    print(f"{len(suites)} passed, {len(set(wrong))} failed")
    return bool(wrong)


def main() -> int:
    if sys.argv[1:] == ["--check"]:
        return check()
    for suite in sorted(table() if sys.argv[1:] == ["all"] else chosen(), key=lambda suite: -suite.seconds):
        print(suite.name, *suite.packages)
    return 0


if __name__ == "__main__":
    sys.exit(main())
