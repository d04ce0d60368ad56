#!/usr/bin/env python3
"""What the tests of core and store notice: small changes of the program, of which cargo-mutants (cargo install --locked
cargo-mutants@27.1.0) makes the list. All of them are built into one program of a crate (`schemata.py`) and tried one after the other there
(`trial.py`), which takes a second each instead of a build; Linux, and tree-sitter of `.ci/tools.txt`. `.cargo/mutants.toml` says what is
not tried, and `missed.txt` which files were gone through, and what is missed in them with its reason: whatever else is missed there, or in
lines that changed, fails, and so does a reason for what is not there. What is missed in other files is told, and counts as skipped, as does
what cannot be switched in a program that runs, such as a constant: `in FILE --plain` has cargo-mutants try these, a build each. Ends with
`N passed, N failed, N skipped`; a mutant that does not compile is
none of these.

    mutants.py all [--crate core] [--shard 3/16]     every mutant, of one crate, or of sixteen parts one
    mutants.py changed [--base COMMIT] [--most 150]  those in lines that changed, at most so many, drawn by SEED
    mutants.py in crates/core/src/splice.rs …        those of these files, or of directories
    --keep FILE                                      writes what became of each, a line of JSON
    --with-server                                    asks the server's tests, too, from a target directory outside /tmp; a minute for each miss
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
CRATES = {"core": "mcp-text-editor-core", "store": "mcp-text-editor-store"}
SERVER = "mcp-text-editor"
#: What is not in a crate by itself, and has tests: without it, the mutants there would count as missed.
FEATURES = {"store": ["mcp-text-editor-store/postgres"]}
PACKAGES = [word for package in CRATES.values() for word in ("-p", package)]
SOURCES = [f"crates/{crate}/src" for crate in CRATES]
#: How old a commit is that a change is held against where nothing else is known, in hours before the last one: a landing's are younger.
LATELY = 4


def git(*arguments: str) -> str | None:
    """What git says; None where it fails."""
    done = subprocess.run(["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def base() -> str | None:
    """The commit that a change is held against: where it left origin's main; on main itself, the last one that is hours older."""
    head = git("rev-parse", "HEAD")
    left = git("merge-base", "HEAD", "origin/main")
    if left and left != head:
        return left
    now = git("show", "--no-patch", "--format=%ct", "HEAD")
    if now is None:
        return None
    return git("rev-list", "--first-parent", "--max-count=1", f"--before={int(now) - LATELY * 3600}", "HEAD") or git("rev-parse", "--verify", "--quiet", "HEAD~1")


def cargo_mutants(arguments: list[str], **options) -> subprocess.CompletedProcess:
    return subprocess.run(["cargo", "mutants", *PACKAGES, *arguments], cwd=REPOSITORY, **options)


def listed() -> list[dict]:
    done = cargo_mutants(["--list", "--json"], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout or "[]")


def known() -> tuple[dict[str, set[str]], set[str]]:
    """What may be missed, by file, and the files that were gone through and need no more trials than others (`~` stands before the rest)."""
    files: dict[str, set[str]] = {}
    whole: set[str] = set()
    file = ""
    for line in (Path(__file__).parent / "missed.txt").read_text().splitlines():
        what = line.split("  # ")[0].strip()
        if not what or what.startswith("#"):
            continue
        if line.startswith(" "):
            files[file].add(what)
        else:
            file = what.removeprefix("~ ")
            files[file] = set()
            if file == what:
                whole.add(file)
    return files, whole


def what(mutant: dict) -> str:
    """The change in words, without the place."""
    return mutant["name"].split(": ", 1)[1]


def room(mutant: dict) -> str:
    crate, _, name = mutant["file"].removeprefix("crates/").split("/")[:3]
    return f"{crate}/{name.removesuffix('.rs')}"


def try_them(mutants: list[dict], options: argparse.Namespace, left_out: int = 0, everywhere: bool = False, gone_through: bool = False) -> int:
    """Builds all of them into one program of each crate, tries each, and counts what came of it: what is missed fails in files that were
    gone through, or everywhere."""
    import schemata
    import trial

    # Where what they depend on may be built already.
    target = os.environ.get("CARGO_TARGET_DIR", str(REPOSITORY / "target"))
    # The laws are the same in every run, so that red means the change.
    os.environ.setdefault("PROPTEST_RNG_SEED", os.environ.get("SEED", "1"))
    numbered = dict(enumerate(mutants, 1))
    crates = {crate: package for crate, package in CRATES.items() if any(mutant["package"] == package for mutant in mutants)}
    tree = REPOSITORY / "target/mutants/tree"
    schemata.copy(REPOSITORY, tree)
    # The server's tests start its program, of which there is one in a directory.
    own = os.environ | {"CARGO_TARGET_DIR": f"{target}/with-server" if options.with_server else target}
    # Files that were gone through need no database to be tried.
    features = [feature for crate in crates for feature in FEATURES.get(crate, ()) if not gone_through]
    built = schemata.build(tree, crates, numbered, features, [SERVER] if options.with_server else [], own)
    print(f"{len(mutants)} mutants, {len(built.unviable)} do not compile", flush=True)
    kept = open(options.keep, "w", encoding="utf-8") if options.keep else None
    trial.wall(REPOSITORY / "target/mutants", list(built.programs))
    missed: set[int] = set()
    noticed: dict[int, str] = {}
    late = 0
    for crate in crates:
        asked = {program: directory for program, directory in built.programs.items() if directory.name in (crate, "server")}
        tests = trial.Trial(asked, REPOSITORY / "target/mutants/scratch", os.cpu_count() or 1)
        tests.tests = [test for test in tests.tests if re.search(options.tests, test.name)]
        here = {number: f"{mutant['file']} {(mutant['function'] or {}).get('function_name')}" for number, mutant in numbered.items()
                if mutant["package"] == CRATES[crate] and number not in built.unviable | built.alone}

        def told(number: int, killer: str | None) -> None:
            if kept:
                kept.write(json.dumps([numbered[number]["name"], killer]) + "\n")
                kept.flush()

        tried = tests.try_all(here, len(numbered) + 1, told)
        missed |= tried.missed
        noticed |= tried.noticed
        late += len(tried.out_of_time)
    files, whole = known()
    failed, skipped, excused = 0, left_out + len(built.alone), Counter()
    for number in sorted(missed):
        mutant = numbered[number]
        if what(mutant) in files.get(mutant["file"], ()):
            excused[room(mutant)] += 1
        elif everywhere or mutant["file"] in whole:
            print(f"failed: no test notices {mutant['name']}")
            failed += 1
        else:
            print(f"skipped: no test notices {mutant['name']}")
            skipped += 1
    for number in sorted(built.alone):
        print(f"skipped: cannot be switched: {numbered[number]['name']}")
    by_room = Counter(room(numbered[number]) for number in noticed), Counter(room(numbered[number]) for number in missed)
    for name in sorted(by_room[0] | by_room[1]):
        both = by_room[0][name] + by_room[1][name]
        print(f"{name:24} {by_room[0][name]:5} of {both:5} noticed {100 * by_room[0][name] / both:7.2f} %, {excused[name]} missed with a reason")
    print(f"{len(built.unviable)} do not compile, {len(built.alone)} cannot be switched, {late} ran out of time")
    print(f"{len(noticed)} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


def stale(mutants: list[dict]) -> list[str]:
    """The reasons for changes that are in no list any more, since the code that they named is gone."""
    there: dict[str, set[str]] = {}
    for mutant in mutants:
        there.setdefault(mutant["file"], set()).add(what(mutant))
    return [f"{file}: {reason}" for file, reasons in known()[0].items() for reason in sorted(reasons - there.get(file, set()))]


def lines_of(difference: str) -> dict[str, set[int]]:
    """The lines that a difference without context adds, and those next to a gap, by file."""
    lines: dict[str, set[int]] = {}
    file = ""
    for row in difference.splitlines():
        hunk = re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", row)
        if row.startswith("+++ "):
            file = row.removeprefix("+++ b/")
        elif hunk:
            start, count = int(hunk[1]), int(hunk[2] or 1)
            lines.setdefault(file, set()).update(range(start, start + (count or 2)))
    return lines


def try_plainly(mutants: list[dict]) -> int:
    """As cargo-mutants does it, a build each."""
    named = [argument for mutant in mutants for argument in ("--re", f"^{re.escape(mutant['name'])}$")]
    code = cargo_mutants([*named, "--no-shuffle", "--colors=never", "--output", str(REPOSITORY / "target/mutants")]).returncode
    print(f"cargo-mutants ended with {code}")
    return code


def changed(options: argparse.Namespace) -> int:
    since = options.base or base()
    if since is None:
        print("skipped: a clone without a history has no change to look at\n0 passed, 0 failed, 1 skipped")
        return 0
    where = sorted(known()[1]) if options.gone_through else SOURCES
    difference = git("diff", "--no-ext-diff", "--unified=0", "--dst-prefix=b/", since, "--", *where)
    if difference is None:
        print(f"skipped: {since} is not in this clone\n0 passed, 0 failed, 1 skipped")
        return 0
    if not difference:
        print(f"nothing of these files changed since {since[:12]}\n0 passed, 0 failed, 0 skipped")
        return 0
    if not is_there():
        return 0
    everything = listed()
    for reason in (gone := stale(everything)):
        print(f"failed: `missed.txt` has a reason for what is not there: {reason}")
    if gone:
        print(f"0 passed, {len(gone)} failed, 0 skipped")
        return 1
    lines = lines_of(difference)
    reasons = known()[0]
    # What may be missed is not tried once more.
    mutants = [mutant for mutant in everything if what(mutant) not in reasons.get(mutant["file"], ()) and
               not lines.get(mutant["file"], set()).isdisjoint(range(mutant["span"]["start"]["line"], mutant["span"]["end"]["line"] + 1))]
    drawn = random.Random(os.environ.get("SEED", "1")).sample(mutants, min(options.most, len(mutants)))
    print(f"{len(drawn)} of {len(mutants)} mutants in what changed since {since[:12]}", flush=True)
    if not drawn:
        print("0 passed, 0 failed, 0 skipped")
        return 0
    return try_them(drawn, options, len(mutants) - len(drawn), everywhere=True, gone_through=options.gone_through)


def is_there() -> bool:
    """Whether cargo-mutants can make the list; `.ci/run` says where it is to be installed, if there is something to list."""
    if subprocess.run(["cargo", "mutants", "--version"], capture_output=True).returncode == 0:
        return True
    root = os.environ.get("MUTANTS_INSTALL")
    if root:
        # It makes a list, and nothing else: compiling it well takes longer than it ever runs.
        environment = {**os.environ, "CARGO_PROFILE_RELEASE_OPT_LEVEL": "0"}
        subprocess.run(["cargo", "install", "--quiet", "--locked", "--root", root, "cargo-mutants@27.1.0"], check=True, env=environment)
        return True
    print("skipped: cargo-mutants is not installed\n0 passed, 0 failed, 1 skipped")
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    everything = commands.add_parser("all")
    everything.add_argument("--crate", choices=CRATES)
    everything.add_argument("--shard", default="0/1")
    of_change = commands.add_parser("changed")
    of_change.add_argument("--base")
    of_change.add_argument("--most", type=int, default=150)
    of_change.add_argument("--gone-through", action="store_true", help="only in files that were gone through, where a miss fails")
    of_files = commands.add_parser("in")
    of_files.add_argument("files", nargs="+")
    of_files.add_argument("--plain", action="store_true", help="by cargo-mutants itself, a build each")
    for command in commands.choices.values():
        command.add_argument("--keep", metavar="FILE")
        command.add_argument("--with-server", action="store_true")
        command.add_argument("--tests", metavar="REGEX", default="", help="ask these alone; another may notice what they miss")
    options = parser.parse_args()
    if options.command == "changed":
        return changed(options)
    if not is_there():
        return 0
    if options.command == "in":
        mutants = [mutant for mutant in listed() if any(mutant["file"] == file or mutant["file"].startswith(f"{file.rstrip('/')}/") for file in options.files)]
        return try_plainly(mutants) if options.plain else try_them(mutants, options)
    part, parts = map(int, options.shard.split("/"))
    mutants = [mutant for mutant in listed() if options.crate is None or mutant["package"] == CRATES[options.crate]]
    return try_them(mutants[part::parts], options)


if __name__ == "__main__":
    sys.exit(main())
