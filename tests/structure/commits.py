"""The defects that were found (`found.tsv`: kind, defect, who found it, the commits that ended it): their commits are in the history, and their
number by kind is what docs/internals/trust.md says. A clone without history skips.
"""

from __future__ import annotations

import collections
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def git(*arguments: str) -> str | None:
    done = subprocess.run(["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def main() -> int:
    if git("rev-parse", "--is-shallow-repository") != "false":
        print("skipped: the commits of found.tsv, since there is no whole history here\n0 passed, 0 failed, 1 skipped")
        return 0
    rows = [line.split("\t") for line in Path(__file__).with_name("found.tsv").read_text().splitlines()]
    named = sorted({commit for row in rows for commit in row[3].split(", ")})
    missing = [commit for commit in named if git("merge-base", "--is-ancestor", commit, "HEAD") is None]
    for commit in missing:
        print(f"found.tsv names {commit}, which is not in the history")
    page = (REPOSITORY / "docs/internals/trust.md").read_text()
    wrong = {kind: count for kind, count in collections.Counter(row[0] for row in rows).items() if f"\n| {kind.lower()} | {count} |" not in page}
    for kind, count in wrong.items():
        print(f"docs/internals/trust.md does not say: {kind.lower()} | {count}")
    print(f"{len(named) - len(missing) + 1 - bool(wrong)} passed, {len(missing) + bool(wrong)} failed")
    return bool(missing or wrong or not named)


if __name__ == "__main__":
    sys.exit(main())
