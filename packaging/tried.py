#!/usr/bin/env python3
"""What was tried on a commit, from what `.ci/run all` and `try.py` printed: the list that is attested with each release (CONTRIBUTING.md).

    tried.py --log EVERYTHING --commit HASH [--packages-log NAME=LOG…] [--sums SHA256SUMS] --out tried.json

It writes nothing, and says why, if anything failed, if a suite of `.ci/suites` is not in the log or has no end, if the counts are not those that
the log ends with, or if the log is of another commit. A part that was skipped stands in the list with its reason.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from facts import PROGRAM, ROOT, as_json, version

COUNT = re.compile(r"(\d+) passed[;,] (\d+) failed")
SKIPPED = re.compile(r"^skipped:? *(.+)$", re.MULTILINE)
#: Of a test runner of Rust: `3 passed; 0 failed; 2 ignored`.
IGNORED = re.compile(r"\d+ passed; \d+ failed; (\d+) ignored")
SUITE = re.compile(r"^==== (\w+)(: FAILED)?\n(.*?)^==== \1: after (\d+)s$", re.MULTILINE | re.DOTALL)
STEP = re.compile(r"^== (?!failed: |\d+s$)(\S.*)$", re.MULTILINE)


class Refused(Exception):
    """Why there is no list, in a sentence."""


def need(holds: bool, why: str) -> None:
    if not holds:
        raise Refused(why)


def suites_of(table: str) -> list[str]:
    """The suites of `.ci/run`, by their table."""
    return re.findall(r"^(\w+) +\|", table, re.MULTILINE)


def counted(text: str) -> dict:
    """What test runners said; as `.ci/run` does, the first count of a line."""
    found = [COUNT.search(line) for line in text.split("\n")]
    told = {"passed": sum(int(one[1]) for one in found if one), "failed": sum(int(one[2]) for one in found if one)}
    ignored = sum(int(number) for number in IGNORED.findall(text))
    return {**told, **({"ignored": ignored} if ignored else {}), "skipped": sorted(set(SKIPPED.findall(text)))}


def everything(log: str, commit: str, table: str) -> dict:
    """What one run of `.ci/run all` says."""
    lines = log.rstrip("\n").split("\n")
    last = re.fullmatch(r"(\d+) passed, (\d+) failed", lines[-1] if lines else "")
    need(bool(last), "the log does not end with a count: the run was broken off")
    of = re.search(r"^commit: (.+)$", log, re.MULTILINE)
    need(bool(of) and of[1] == commit, f"the log is of {of[1] if of else 'no commit'}, and not of {commit}")
    found = {name: (failed, text, int(seconds)) for name, failed, text, seconds in SUITE.findall(log)}
    for name in suites_of(table):
        need(name in found, f"the suite {name} is not in the log, or has no end")
        need(not found[name][0], f"the suite {name} failed")
    suites = [{"name": name, "seconds": seconds, "commands": STEP.findall(text), **counted(text)} for name, (_, text, seconds) in found.items()]
    total = counted("\n".join(lines[:-1]))
    need((total["passed"], total["failed"]) == (int(last[1]), int(last[2])), f"{total['passed']} and {total['failed']} are counted, the log says {last[0]}")
    need(total["failed"] == 0 and total["passed"] > 0, f"the log says {last[0]}")
    toolchain = dict(re.findall(r"^(rustc|commit-hash|host|release|LLVM version|machine):? (.+)$", log, re.MULTILINE))
    need({"rustc", "host", "machine"} <= set(toolchain), "the log does not say which toolchain it was")
    return {"command": ".ci/run all", "toolchain": toolchain, "suites": suites, **total}


def packages(name: str, log: str) -> dict:
    """What one run of `try.py` says: the kinds of packages that were installed, and used."""
    lines = log.rstrip("\n").split("\n")
    told = counted(lines[-1] if lines else "")
    need(told["passed"] > 0, f"{name}: the log does not end with a count")
    kinds = re.findall(r"^ok +(\w+)$", log, re.MULTILINE)
    need(told["failed"] == 0 and len(kinds) == told["passed"], f"{name}: {len(kinds)} are told to be right, and it ends with {lines[-1]}")
    return {"name": name, "command": "packaging/try.py", "kinds": kinds, **told, "skipped": SKIPPED.findall(log)}


def built(sums: str) -> dict[str, str]:
    return {name: digest for digest, name in (line.split("  ") for line in sums.splitlines())}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--commit", required=True)
    parser.add_argument("--packages-log", action="append", default=[], metavar="NAME=LOG")
    parser.add_argument("--sums", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    try:
        told = {
            "program": PROGRAM,
            "version": version(),
            "commit": options.commit,
            "everything": everything(options.log.read_text(errors="replace"), options.commit, (ROOT / ".ci/suites").read_text()),
            "packages": [packages(name, Path(log).read_text(errors="replace")) for name, log in (one.split("=", 1) for one in options.packages_log)],
            **({"sha256": built(options.sums.read_text())} if options.sums else {}),
        }
    except Refused as why:
        print(f"tried.py: {why}", file=sys.stderr)
        return 1
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_bytes(as_json(told))
    whole = told["everything"]
    print(f"{len(whole['suites'])} suites: {whole['passed']} passed, {whole['failed']} failed, {len(whole['skipped'])} kinds of skips")
    return 0


if __name__ == "__main__":
    sys.exit(main())
