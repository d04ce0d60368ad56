"""The store's search beside ripgrep, and its listing beside fd: the same files and the same hits, and how long each takes.

    search.py [--runs N] DIRECTORY [PATTERN…]    a tree, as it lies there
    search.py --git REPOSITORY… [-- PATTERN…]    what HEAD of each (bare or not) holds, in a temporary directory

Takes `cargo build --release -p mcp-text-editor-store --example search` (or `--program`), `rg`, and `fd` or `fdfind`. ripgrep is told
what the store has by itself: hidden files, ignore files without a repository, and none above the root; fd honours a `.gitignore` only in
a repository. Both programs' times have their
start taken off: that of `rg` by `rg --version`, the store's by its own clock. A ratio below 1 is the store's advantage.

Ends with `N passed, N failed`: a comparison of hits each.
"""

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RG = ["rg", "--no-config", "--hidden", "--no-require-git", "--no-ignore-global", "--no-ignore-parent", "--no-messages", "-n", "--no-heading",
      "--color=never", "--glob", "!.git", "--crlf"]
PATTERNS = ["TODO", r"\bfunc\w*\s+\w+\(", "(?i)error", r"^\s*$", "zqxjkv"]


def timed(command, directory):
    began = time.perf_counter()
    done = subprocess.run(command, cwd=directory, capture_output=True)
    return time.perf_counter() - began, done.stdout, done.stderr.decode(errors="replace")


def seconds(told):
    """A duration as Rust prints it."""
    text = told.split()[0]
    for unit, factor in (("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9), ("s", 1)):
        if text.endswith(unit):
            return float(text[: -len(unit)]) * factor
    raise SystemExit(f"no duration: {told}")


def hits(out, root):
    """(path, line, text) of each hit, sorted, without CR and what is no UTF-8: such a file is none of the store's."""
    found = []
    for line in out.split(b"\n"):
        parts = line.removeprefix(root + b"/").removeprefix(b"./").split(b":", 2)
        # What ripgrep says of a binary file has no number.
        if len(parts) == 3 and parts[1].isdigit():
            found.append((parts[0], int(parts[1]), parts[2].rstrip(b"\r")))
    return sorted(found)


def is_text(path):
    try:
        content = path.read_bytes()
        content.decode()
    except (OSError, UnicodeDecodeError):
        return False
    # What ends lines otherwise, or is in UTF-16, ripgrep numbers in its own way.
    return b"\0" not in content and (b"\n" in content or b"\r" not in content)


def compare(program, directory, pattern, runs):
    root = str(directory).encode()
    ours, theirs, start = [], [], []
    for _ in range(runs):
        _, mine, told = timed([program, directory, pattern], directory)
        ours.append(seconds(told))
        taken, other, _ = timed([*RG, "-e", pattern, "."], directory)
        theirs.append(taken)
        start.append(timed(["rg", "--version"], directory)[0])
    known = {}
    kept = lambda hit: known.setdefault(hit[0], is_text(directory / hit[0].decode(errors="surrogateescape")))
    # A line that is cut is compared as far as it goes.
    same = [[(path, line, text if len(text) <= 2048 else b"") for path, line, text in hits(out, root) if kept((path,))] for out in (mine, other)]
    is_cut = {hit[:2] for hit in same[1] if hit[2] == b""}
    same[0] = [(*hit[:2], b"") if hit[:2] in is_cut else hit for hit in same[0]]
    floor = max(statistics.median(theirs) - statistics.median(start), 1e-4)
    ratio = statistics.median(ours) / floor
    print(f"{directory.parent.name[-8:] + '/' + directory.name:24} {pattern:24} {len(same[0]):8} hits  {statistics.median(ours) * 1e3:9.1f} ms  rg {floor * 1e3:9.1f} ms  {ratio:5.2f}")
    if same[0] != same[1]:
        for name, one, two in (("only here", *same), ("only rg", *reversed(same))):
            for hit in sorted(set(one) - set(two))[:5]:
                print(f"    {name}: {hit}")
        return False
    return True


def listing(program, directory, runs):
    fd = shutil.which("fd") or shutil.which("fdfind")
    if not fd:
        print("    skipped: there is no fd")
        return
    # Sizes are part of what is listed; for `-S` fd looks at each file, too.
    ours = [seconds(timed([program, directory], directory)[2]) for _ in range(runs)]
    theirs = [timed([fd, "-H", "-E", ".git", "-S", "+0b", "."], directory)[0] for _ in range(runs)]
    start = [timed([fd, "--version"], directory)[0] for _ in range(runs)]
    floor = max(statistics.median(theirs) - statistics.median(start), 1e-4)
    ratio = statistics.median(ours) / floor
    print(f"{directory.parent.name[-8:] + '/' + directory.name:24} {'(listing)':38} {statistics.median(ours) * 1e3:9.1f} ms  fd {floor * 1e3:9.1f} ms  {ratio:5.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="target/release/examples/search")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--git", nargs="+", default=[], metavar="REPOSITORY")
    parser.add_argument("directory", nargs="?")
    parser.add_argument("patterns", nargs="*")
    # With --git all that is named behind `--` is a pattern.
    arguments = parser.parse_intermixed_args() if "--" not in sys.argv else parser.parse_args(sys.argv[1 : sys.argv.index("--")])
    patterns = sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else arguments.patterns
    program = str(Path(arguments.program).resolve())
    results = []
    with tempfile.TemporaryDirectory() as scratch:
        trees = [Path(arguments.directory).resolve()] if arguments.directory else []
        for repository in arguments.git:
            tree = Path(scratch).resolve() / str(len(trees)) / Path(repository).resolve().name
            tree.mkdir(parents=True)
            archive = subprocess.run(["git", "-C", repository, "archive", "HEAD"], capture_output=True, check=True)
            subprocess.run(["tar", "-x", "-C", tree], input=archive.stdout, check=True)
            trees.append(tree)
        for tree in trees:
            results += [compare(program, tree, pattern, arguments.runs) for pattern in patterns or PATTERNS]
            listing(program, tree, arguments.runs)
    print(f"{results.count(True)} passed, {results.count(False)} failed")
    return 1 if False in results or not results else 0


if __name__ == "__main__":
    sys.exit(main())
