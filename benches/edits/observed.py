#!/usr/bin/env python3
"""Plays the slips that real models made, weighted by how many of 254 recorded runs had them, and the same hunks sent right, to count
how many of these are refused or warned of.

    observed.py --server BINARY REPOSITORY…

A slip ends *right*, *refused*, *warned* (wrong bytes, and a warning before all else in the reply) or *silent*.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
from case import GET, INSERT, PATCH, Region, range_hash, region
from history import Hunk, Repository
from play import Player

RIGHT, REFUSED, WARNED, SILENT = OUTCOMES = ("right", "refused", "warned", "silent")
#: The runs that had each slip.
WEIGHTS = {"stale": 42, "graft": 35, "newline_asym": 11, "ambig": 8, "prefix_old": 5, "blank_line": 4, "prefix_new": 4,
           "indent_stale": 3, "range_short": 3, "lines_as_list_text": 3, "target_plus_next": 1, "boundary_dup": 1,
           "repeat_own_insert": 1, "indent_miscopied": 1, "escaped": 1}

Call = tuple[str, dict[str, Any]]
#: What another program makes of the file after the read (None: nothing), the calls, and what was meant.
Slip = tuple[bytes | None, list[Call], bytes]


def by_text(place: Region, old: str, new: str) -> Call:
    return PATCH, {"old_string": old, "new_string": new}


def by_hash(place: Region, new: str) -> Call:
    return PATCH, {"ranges": [{**place.lines, "range_hash": range_hash(place)}], "new_string": new}


def lines(texts: list[str], end: str = "\n") -> str:
    return "\n".join(texts) + end if texts else ""


def file_hash(place: Region) -> str:
    return hashlib.sha256(place.text.with_lines(place.text.lines)).hexdigest()


def with_line(place: Region, index: int, line: str) -> bytes:
    """The file with another line."""
    texts = list(place.text.lines)
    texts[index] = line
    return place.text.with_lines(texts)


def numbered(texts: list[str], first: int) -> list[str]:
    return [f"{first + index}\t{line}" for index, line in enumerate(texts)]


def is_once(place: Region, text: str) -> bool:
    return place.text.body().count(text) == 1


def slips_of(hunk: Hunk, rng: random.Random) -> Iterator[tuple[str, Slip]]:
    """The slips that can be made with a hunk."""
    place = region(hunk, 0, 0)
    old, new, total = place.old, place.new, len(place.text.lines)
    if place.is_unended():
        return
    first, below = place.first, list(place.text.lines[place.stop:place.stop + 8])
    wanted = place.wanted()
    if old and new and old[-1].strip() and new[-1].strip():
        text = lines(old, "")
        if is_once(place, text + "\n") and is_once(place, text):
            changed = with_line(place, place.stop - 1, old[-1] + "  # changed")
            yield "graft", (changed, [by_text(place, text, lines(new, ""))], b"")
            yield "newline_asym", (None, [by_text(place, text, lines(new))], wanted)
            yield "stale", (changed, [by_text(place, text + "\n", lines(new))], b"")
            yield "prefix_old", (None, [by_text(place, lines(numbered(old, first + 1), ""), lines(new, ""))], wanted)
            if len(new) > 1 and "\\n" not in text + lines(new):
                yield "escaped", (None, [by_text(place, text, "\\n".join(new))], wanted)
                yield "lines_as_list_text", (None, [by_text(place, text, json.dumps(new))], wanted)
        elif not is_once(place, text):
            yield "ambig", (None, [by_text(place, text, lines(new, ""))], wanted)
        yield "prefix_new", (None, [by_hash(place, lines(numbered(new, first + 1)))], wanted)
        if below and any(c.isalnum() for c in below[0]) and below[0] not in (new[-1], old[-1]):
            yield "target_plus_next", (None, [by_hash(place, lines([*new, below[0]]))], wanted)
        if first and any(c.isalnum() for c in place.text.lines[first - 1]) and place.text.lines[first - 1] not in (new[0], old[0]):
            yield "boundary_dup", (None, [by_hash(place, lines([place.text.lines[first - 1], *new]))], wanted)
        if len(old) > 1 and len(old) == len(new):
            short = Region(place.text, first, first + 1, 0, 0, new)
            yield "range_short", (None, [by_hash(short, lines(new))], wanted)
        if all(line.startswith("    ") for line in (*old, *new)) and old[0].strip() != new[0].strip():
            yield "indent_stale", (None, [by_hash(place, lines([line[2:] for line in new]))], wanted)
        tabs = [line for line in place.text.lines[max(0, first - 3):place.stop + 3] if line.startswith(("\t", "  "))]
        if len(tabs) > 2 and all(line.startswith("\t") for line in (*tabs, *new)):
            yield "indent_miscopied", (None, [by_hash(place, lines([line.replace("\t", "    ") for line in new]))], wanted)
    if not old and new and 0 < first and new[0].strip() and new[-1].strip():
        above = place.text.lines[first - 1]
        insert = {"file_hash": file_hash(place), "after": first, "contents": "\n" + lines(new)}
        if above.strip() and (first == total or place.text.lines[first].strip()):
            yield "blank_line", (None, [(INSERT, insert)], wanted)
        if above.strip() and is_once(place, above + "\n"):
            patch = by_text(place, above + "\n", lines([above, *new]))
            yield "repeat_own_insert", (None, [patch, patch], wanted)


def right_of(hunk: Hunk) -> Iterator[tuple[str, Slip]]:
    """The hunk as it should be sent."""
    place = region(hunk, 0, 0)
    if place.is_unended():
        return
    wanted = place.wanted()
    if not place.old:
        insert = {"file_hash": file_hash(place), "after": place.first, "contents": lines(place.new)}
        yield "right: inserted", (None, [(INSERT, insert)], wanted)
        return
    yield "right: by digest", (None, [by_hash(place, lines(place.new))], wanted)
    for context in (0, 1, 3):
        place = region(hunk, context, context)
        if not place.is_unended() and is_once(place, lines(place.old)) and lines(place.old).strip():
            yield "right: by text", (None, [by_text(place, lines(place.old), lines(place.new))], wanted)


def outcome(player: Player, path: str, hunk: Hunk, slip: Slip) -> str:
    """Plays a slip after a read of the file."""
    changed, calls, wanted = slip
    Path(path).write_bytes(hunk.text.with_lines(hunk.text.lines))
    player.server.call(GET, {"file_path": path, "line_start": max(1, hunk.first - 5), "line_end": hunk.stop + 10})
    if changed is not None:
        Path(path).write_bytes(changed)
    is_refused = is_warned = False
    for tool, arguments in calls:
        reply = player.server.call(tool, {"file_path": path, **arguments})
        is_refused = reply.is_error
        is_warned = is_warned or reply.text.startswith('{"warnings":[')
    if Path(path).read_bytes() == wanted and not is_warned:
        return RIGHT
    return REFUSED if is_refused else WARNED if is_warned else SILENT


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="+", metavar="REPOSITORY", help="a work tree, or a git directory")
    parser.add_argument("--server", required=True, help="the program to measure")
    parser.add_argument("--hunks", type=int, default=100, help="hunks of each repository (default: 100)")
    parser.add_argument("--commits", type=int, default=200, help="newest commits to take them from (default: 200)")
    parser.add_argument("--seed", default="1", help="of the sample (default: 1)")
    parser.add_argument("--show", default="", help="print the calls of this slip that end silently, or of right ones that do not end right")
    options = parser.parse_args()
    counts: dict[str, Counter[str]] = {}
    player = Player(os.path.abspath(options.server), [])
    for repository in map(Repository, options.repositories):
        rng = random.Random(options.seed)
        hunks = repository.hunks(repository.commits(options.commits))
        rng.shuffle(hunks)
        for number, hunk in enumerate(hunks[:options.hunks]):
            path = os.path.join(player.root, f"{number}-{os.path.basename(hunk.path)}")
            for name, slip in (*slips_of(hunk, rng), *right_of(hunk)):
                became = outcome(player, path, hunk, slip)
                counts.setdefault(name, Counter())[became] += 1
                if options.show == name and became == (WARNED if name.startswith("right") else SILENT) or options.show == name == became:
                    print(hunk.key(), json.dumps(slip[1], ensure_ascii=False)[:600])
            os.unlink(path)
    player.close()
    print(f"{'slip':22}{'weight':>7}{'cases':>7}" + "".join(f"{name:>9}" for name in OUTCOMES))
    for name, found in sorted(counts.items(), key=lambda pair: (-WEIGHTS.get(pair[0], 0), pair[0])):
        print(f"{name:22}{WEIGHTS.get(name, 0) or '':>7}{found.total():>7}" + "".join(f"{found[became] or '.':>9}" for became in OUTCOMES))
    slips = {name: found for name, found in counts.items() if name in WEIGHTS}
    weight = sum(WEIGHTS[name] for name in slips) or 1
    for became in OUTCOMES:
        share = sum(WEIGHTS[name] * found[became] / found.total() for name, found in slips.items()) / weight
        print(f"weighted: {100 * share:6.2f} % {became}")
    right = sum((found for name, found in counts.items() if name.startswith("right")), Counter())
    for became in (REFUSED, WARNED, SILENT):
        print(f"right edits: {100 * right[became] / (right.total() or 1):6.2f} % {became} of {right.total()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
