#!/usr/bin/env python3
"""What the tests of core and store notice: small changes of the program, one after the other, by cargo-mutants (cargo install --locked
cargo-mutants@27.1.0). `.cargo/mutants.toml` says what is not tried, and `missed.txt` which files were gone through, and what is missed in
them with its reason: whatever else is missed there fails, and so does what a change brings along. What is missed in other files is told,
and counts as skipped. Ends with `N passed, N failed, N skipped`; a mutant that does not compile is none of these.

    mutants.py all [--shard 3/16]                    every mutant, or of sixteen parts one
    mutants.py changed [--base COMMIT] [--most 40]   those in lines that changed, at most so many, drawn by SEED
    mutants.py in crates/core/src/splice.rs …        those of these files
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGES = ["-p", "mcp-text-editor-core", "-p", "mcp-text-editor-store"]
SOURCES = ["crates/core/src", "crates/store/src"]


def git(*arguments: str) -> str | None:
    """What git says; None where it fails."""
    done = subprocess.run(["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def base() -> str | None:
    """The commit that a change is held against: where it left origin's main; on main itself, the commit before."""
    head = (git("rev-parse", "HEAD") or "").strip()
    left = (git("merge-base", "HEAD", "origin/main") or "").strip()
    if left and left != head:
        return left
    before = git("rev-parse", "--verify", "--quiet", "HEAD~1")
    return before and before.strip()


def cargo_mutants(arguments: list[str], **options) -> subprocess.CompletedProcess:
    return subprocess.run(["cargo", "mutants", *PACKAGES, *arguments], cwd=REPOSITORY, **options)


def known() -> dict[str, set[str]]:
    """What may be missed, in each file that was gone through."""
    files: dict[str, set[str]] = {}
    file = ""
    for line in (Path(__file__).parent / "missed.txt").read_text().splitlines():
        what = line.split("  # ")[0].strip()
        if not what or what.startswith("#"):
            continue
        if line.startswith(" "):
            files[file].add(what)
        else:
            file = what
            files[file] = set()
    return files


def try_them(arguments: list[str], left_out: int = 0, everywhere: bool = True) -> int:
    """Runs cargo-mutants and counts what came of it: what is missed fails, everywhere or in the files that were gone through."""
    with tempfile.TemporaryDirectory() as directory:
        code = cargo_mutants(["--output", directory, "--no-shuffle", "--colors=never", *arguments]).returncode
        # 2: some were missed; 3: some ran out of time.
        if code not in (0, 2, 3):
            print(f"cargo-mutants ended with {code}", file=sys.stderr)
            return 1
        out = Path(directory) / "mutants.out"
        outcomes = json.loads((out / "outcomes.json").read_text())
        missed = (out / "missed.txt").read_text().splitlines()
    files = known()
    passed, failed, skipped = outcomes["caught"] + outcomes["timeout"], 0, left_out
    for line in missed:
        place, what = line.split(": ", 1)
        file = place.split(":")[0]
        if what in files.get(file, ()):
            continue
        if everywhere or file in files:
            print(f"failed: no test notices {line}")
            failed += 1
        else:
            print(f"skipped: no test notices {line}")
            skipped += 1
    print(f"{outcomes['unviable']} do not compile, {outcomes['timeout']} ran out of time")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


def changed(since: str | None, most: int) -> int:
    since = since or base()
    if since is None:
        print("skipped: a clone without a history has no change to look at\n0 passed, 0 failed, 1 skipped")
        return 0
    difference = git("diff", "--no-ext-diff", since, "--", *SOURCES)
    if difference is None:
        print(f"skipped: {since} is not in this clone\n0 passed, 0 failed, 1 skipped")
        return 0
    with tempfile.NamedTemporaryFile("w", suffix=".diff") as file:
        file.write(difference)
        file.flush()
        within = ["--in-diff", file.name]
        mutants = []
        if difference:
            listed = cargo_mutants([*within, "--list", "--json"], stdout=subprocess.PIPE, text=True, check=True)
            mutants = json.loads(listed.stdout or "[]")
        print(f"{len(mutants)} mutants in what changed since {since[:12]}", flush=True)
        if not mutants:
            print("0 passed, 0 failed, 0 skipped")
            return 0
        parts = -(-len(mutants) // most)
        part = int(os.environ.get("SEED", "1")) % parts
        here = len(mutants[part::parts])
        return try_them([*within, "--sharding=round-robin", f"--shard={part}/{parts}"], len(mutants) - here)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("all").add_argument("--shard", default="0/1")
    of_change = commands.add_parser("changed")
    of_change.add_argument("--base")
    of_change.add_argument("--most", type=int, default=40)
    commands.add_parser("in").add_argument("files", nargs="+")
    options = parser.parse_args()
    if subprocess.run(["cargo", "mutants", "--version"], capture_output=True).returncode:
        print("skipped: cargo-mutants is not installed\n0 passed, 0 failed, 1 skipped")
        return 0
    if options.command == "changed":
        return changed(options.base, options.most)
    if options.command == "in":
        return try_them([argument for file in options.files for argument in ("--file", file)])
    return try_them(["--sharding=round-robin", "--shard", options.shard], everywhere=False)


if __name__ == "__main__":
    sys.exit(main())
