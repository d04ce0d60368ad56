#!/usr/bin/env python3
"""Holds tried.py against logs as `.ci/run` prints them: a whole one, and each way in which one must not become a list of what was tried.

    try_tried.py --say COMMIT    prints such a log, for the rehearsal, in which no suite runs
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import tried
from facts import ROOT

COMMIT = "0123456789abcdef0123456789abcdef01234567"
TABLE = (ROOT / ".ci/suites").read_text()
TOLD = """machine: Linux 6.1.0 x86_64
rustc 1.95.0 (0000000 2026-01-01)
release: 1.95.0
host: x86_64-unknown-linux-gnu
"""


def suite(name: str) -> str:
    return (f"\n==== {name}\n\n== cargo test {name}\ntest result: ok. 3 passed; 0 failed; 1 ignored; 0 measured\n"
            f"skipped: {name}: there is no such disk\n== 7s\n\n== python3 {name}.py\n2 passed, 0 failed\n== 1s\n==== {name}: after 9s\n")


def whole(commit: str) -> str:
    suites = tried.suites_of(TABLE)
    return f"commit: {commit}\n{TOLD}" + "".join(map(suite, suites)) + f"{5 * len(suites)} passed, 0 failed\n"


def refusal(call: Callable[[], object]) -> str | None:
    try:
        call()
    except tried.Refused as why:
        return str(why)
    return None


def main() -> int:
    if sys.argv[1:2] == ["--say"]:
        print(whole(sys.argv[2]), end="")
        return 0
    passed = failed = 0

    def hold(name: str, is_so: bool, told: object = "") -> None:
        nonlocal passed, failed
        passed, failed = passed + is_so, failed + (not is_so)
        print(f"{'ok     ' if is_so else 'FAILED '} {name} {'' if is_so else told}")

    suites = tried.suites_of(TABLE)
    hold("the suites of .ci/run are known", {"tests", "kills", "packaged", "windows"} <= set(suites) and len(suites) == len(set(suites)), suites)
    log, number = whole(COMMIT), len(suites)
    told = tried.everything(log, COMMIT, TABLE)
    hold("a whole log", [one["name"] for one in told["suites"]] == suites and (told["passed"], told["failed"], told["ignored"]) == (5 * number, 0, number), told)
    hold("commands, seconds and skips", told["suites"][0] == {
        "name": suites[0], "seconds": 9, "commands": [f"cargo test {suites[0]}", f"python3 {suites[0]}.py"], "passed": 5, "failed": 0, "ignored": 1,
        "skipped": [f"{suites[0]}: there is no such disk"]}, told["suites"][0])
    hold("the toolchain", told["toolchain"]["rustc"].startswith("1.95.0") and told["toolchain"]["host"] == "x86_64-unknown-linux-gnu", told["toolchain"])
    last = suites[-1]
    for name, spoiled, words in (
        ("broken off", log[:log.index(f"==== {last}\n")], "broken off"),
        # `.ci/run` counts what there is when it is told to end.
        ("broken off, and counted", log[:log.index(f"\n==== {last}\n")] + f"{5 * (number - 1)} passed, 0 failed\n", f"{last} is not in the log"),
        ("a suite without its end", log.replace(f"==== {last}: after 9s\n", ""), f"{last} is not in the log"),
        ("a suite that failed", log.replace(f"==== {last}\n", f"==== {last}: FAILED\n"), f"{last} failed"),
        ("a test that failed", log.replace("2 passed, 0 failed", "1 passed, 1 failed", 1).replace(f"{5 * number} passed, 0", f"{5 * number - 1} passed, 1"),
         "1 failed"),
        ("another sum", log.replace(f"{5 * number} passed", f"{5 * number + 1} passed"), "are counted"),
        ("of another commit", log.replace(COMMIT, COMMIT[::-1]), "and not of"),
        ("with changes that are no commit's", log.replace(COMMIT, f"{COMMIT} with changes"), "and not of"),
        ("of no commit", log.replace("commit: ", "of "), "no commit"),
        ("without the toolchain", log.replace("rustc 1", "rust 1"), "which toolchain"),
        ("nothing", "", "broken off"),
    ):
        said = refusal(lambda: tried.everything(spoiled, COMMIT, TABLE))
        hold(name, spoiled != log and words in (said or ""), said)
    good = "ok      archive\nskipped docker: there is no Docker\nok      deb\n2 passed, 0 failed, 1 skipped\n"
    told = tried.packages("here", good)
    hold("packages", told["kinds"] == ["archive", "deb"] and told["skipped"] == ["docker: there is no Docker"] and told["passed"] == 2, told)
    for name, spoiled in (("packages that failed", good.replace("ok      deb", "FAILED  deb").replace("2 passed, 0", "1 passed, 1")),
                          ("packages, broken off", "ok      archive\n"), ("packages, another count", good.replace("2 passed", "3 passed")), ("no packages", "")):
        said = refusal(lambda: tried.packages("here", spoiled))
        hold(name, "here: " in (said or ""), said)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
