#!/usr/bin/env python3
"""Tries whether the tests of core, store and cluster notice small changes of the program (mutants). cargo-mutants (cargo install --locked
cargo-mutants@27.1.0) lists the mutants. All mutants of a crate are built into one program (`schemata.py`), which switches them on one after the
other (`trial.py`): a second each instead of a build. Needs Linux, and tree-sitter of `.ci/tools.txt`.

`.cargo/mutants.toml` names what is not tried. `missed.txt` names the files that somebody has gone through, and the misses that are accepted there,
each with its reason. Any other miss in those files or in changed lines is a failure, and so is a reason whose mutant is gone. Misses in other files
count as skipped. Mutants that cannot be switched at run time, such as a changed constant, count as skipped, too: `in FILE --plain` has cargo-mutants
try them, a build each. Ends with `N passed, N failed, N skipped`; a mutant that does not compile is not counted.

    mutants.py all [--crate core] [--shard 3/16]     every mutant, or those of one crate, or one of sixteen parts
    mutants.py changed [--base COMMIT] [--most 150]  those in changed lines; if there are more than 150, a sample, drawn by SEED
    mutants.py in crates/core/src/splice.rs …        those of these files, or of directories
    --keep FILE                                      writes the result of each, a line of JSON
    --with-server                                    runs the server's tests, too, from a target directory outside /tmp; a minute for each miss
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
CRATES = {"core": "mcp-text-editor-core", "store": "mcp-text-editor-store", "cluster": "mcp-text-editor-cluster"}
SERVER = "mcp-text-editor"
PACKAGES = [word for package in CRATES.values() for word in ("-p", package)]
SOURCES = [f"crates/{crate}/src" for crate in CRATES]
#: The least age, in hours before the last commit, of the commit that a change is compared with on main. The commits of one landing are younger.
LATELY = 4


def git(*arguments: str) -> str | None:
    """The output of git; None if it fails."""
    done = subprocess.run(["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def base() -> str | None:
    """The commit that a change is compared with: the one where the branch left origin's main; on main itself, the last one that is LATELY hours older."""
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
    """The accepted misses by file, and the files that were gone through. Without those marked with `~`, which need more trials than a change gets."""
    files: dict[str, set[str]] = {}
    whole: set[str] = set()
    file = ""
    for line in (Path(__file__).parent / "missed.txt").read_text().splitlines():
        entry = line.split("  # ")[0].strip()
        if not entry or entry.startswith("#"):
            continue
        if line.startswith(" "):
            files[file].add(entry)
        else:
            file = entry.removeprefix("~ ")
            files[file] = set()
            if file == entry:
                whole.add(file)
    return files, whole


def change_of(mutant: dict) -> str:
    """The change in words, without the place."""
    return mutant["name"].split(": ", 1)[1]


def room(mutant: dict) -> str:
    crate, _, name = mutant["file"].removeprefix("crates/").split("/")[:3]
    return f"{crate}/{name.removesuffix('.rs')}"


def try_them(mutants: list[dict], options: argparse.Namespace, left_out: int = 0, everywhere: bool = False) -> int:
    """Builds the mutants into one program of each crate, tries each, and prints the counts. Misses are failures in files that were gone through;
    with `everywhere`, in all files."""
    import schemata
    import trial

    # The dependencies may be built there already.
    target = os.environ.get("CARGO_TARGET_DIR", str(REPOSITORY / "target"))
    # The laws are the same in every run, so that red means the change.
    os.environ.setdefault("PROPTEST_RNG_SEED", os.environ.get("SEED", "1"))
    numbered = dict(enumerate(mutants, 1))
    crates = {crate: package for crate, package in CRATES.items() if any(mutant["package"] == package for mutant in mutants)}
    tree = REPOSITORY / "target/mutants/tree"
    schemata.copy(REPOSITORY, tree)
    # The server's tests start its program, of which there is one in a directory.
    own = os.environ | {"CARGO_TARGET_DIR": f"{target}/with-server" if options.with_server else target}
    built = schemata.build(tree, crates, numbered, [SERVER] if options.with_server else [], own)
    print(f"{len(mutants)} mutants, {len(built.unviable)} do not compile", flush=True)
    kept = open(options.keep, "w", encoding="utf-8") if options.keep else None
    trial.wall(REPOSITORY / "target/mutants", list(built.programs))
    missed: set[int] = set()
    noticed: dict[int, str] = {}
    late = 0
    for crate in crates:
        programs = {program: directory for program, directory in built.programs.items() if directory.name in (crate, "server")}
        tests = trial.Trial(programs, REPOSITORY / "target/mutants/scratch", os.cpu_count() or 1)
        tests.tests = [test for test in tests.tests if re.search(options.tests, test.name)]
        here = {number: f"{mutant['file']} {(mutant['function'] or {}).get('function_name')}" for number, mutant in numbered.items()
                if mutant["package"] == CRATES[crate] and number not in built.unviable | built.alone}

        def record(number: int, killer: str | None) -> None:
            if kept:
                kept.write(json.dumps([numbered[number]["name"], killer]) + "\n")
                kept.flush()

        tried = tests.try_all(here, len(numbered) + 1, record)
        missed |= tried.missed
        noticed |= tried.noticed
        late += len(tried.out_of_time)
    files, whole = known()
    failed, skipped, excused = 0, left_out + len(built.alone), Counter()
    for number in sorted(missed):
        mutant = numbered[number]
        if change_of(mutant) in files.get(mutant["file"], ()):
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
    """The reasons in `missed.txt` whose mutants no longer exist, since their code has changed."""
    changes: dict[str, set[str]] = {}
    for mutant in mutants:
        changes.setdefault(mutant["file"], set()).add(change_of(mutant))
    return [f"{file}: {reason}" for file, reasons in known()[0].items() for reason in sorted(reasons - changes.get(file, set()))]


def lines_of(difference: str) -> dict[str, set[int]]:
    """By file, the lines that a diff without context adds, and the two lines around each deletion."""
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
    """Has cargo-mutants try them, a build each."""
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
        print(f"failed: `missed.txt` has a reason for a mutant that is gone: {reason}")
    if gone:
        print(f"0 passed, {len(gone)} failed, 0 skipped")
        return 1
    lines = lines_of(difference)
    reasons = known()[0]
    # Accepted misses are not tried again.
    mutants = [mutant for mutant in everything if change_of(mutant) not in reasons.get(mutant["file"], ()) and
               not lines.get(mutant["file"], set()).isdisjoint(range(mutant["span"]["start"]["line"], mutant["span"]["end"]["line"] + 1))]
    drawn = random.Random(os.environ.get("SEED", "1")).sample(mutants, min(options.most, len(mutants)))
    print(f"{len(drawn)} of {len(mutants)} mutants in what changed since {since[:12]}", flush=True)
    if not drawn:
        print("0 passed, 0 failed, 0 skipped")
        return 0
    return try_them(drawn, options, len(mutants) - len(drawn), everywhere=True)


def is_there() -> bool:
    """Whether cargo-mutants is installed. In `.ci/run`, MUTANTS_INSTALL names the directory to install it to."""
    if subprocess.run(["cargo", "mutants", "--version"], capture_output=True).returncode == 0:
        return True
    root = os.environ.get("MUTANTS_INSTALL")
    if root:
        # It only makes a list: to optimise it takes longer than it runs.
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
        command.add_argument("--tests", metavar="REGEX", default="", help="run only these tests; another may notice what they miss")
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
