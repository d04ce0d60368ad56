"""Whole commits, each as one call, and the files that came of it against the commit's own, byte for byte."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

from case import PATCH, Region, joined, patch, range_hash
from history import Change, Commit, Repository, Text
from play import Player

#: How the places are named: by lines with their text, by lines with their digest, by text alone with so many lines of context.
BY_LINES, BY_HASH, BY_TEXT = "ranges and text", "range_hash", {"text alone, 0 lines around": 0, "text alone, 1 line around": 1,
                                                               "text alone, 3 lines around": 3}
#: What a commit may hold to be replayed as one call: files, and bytes of them, old and new together.
MAX_FILES, MAX_BYTES = 60, 4_000_000
WAYS = (BY_LINES, BY_HASH, *BY_TEXT)
EXACT, REFUSED, WRONG = "byte-exact", "refused", "wrong"


@dataclasses.dataclass
class Replayed:
    """A commit in one way: what became of it, and the first line of a refusal."""

    way: str
    commit: str
    outcome: str
    why: str


def stretches(change: Change, before: Text, after: Text, context: int) -> list[Region]:
    """The hunks with their context, joined where they would touch."""
    found: list[list[int]] = []
    total = len(before.lines)
    for first, count, new_first, new_count in change.hunks:
        start, stop = max(0, first - context), min(total, first + count + context)
        if start == stop and total:
            # An insertion needs a line to stand beside.
            start, stop = (start - 1, stop) if start else (start, stop + 1)
        shift_start, shift_stop = new_first - first, new_first + new_count - first - count
        if found and start < found[-1][1] + (context > 0):
            found[-1][1] = max(stop, found[-1][1])
            found[-1][3] = found[-1][1] + shift_stop
        else:
            found.append([start, stop, start + shift_start, stop + shift_stop])
    return [Region(before, a, b, 0, 0, list(after.lines[c:d])) for a, b, c, d in found]


def texts_of(place: Region, after: Text, is_last: bool) -> tuple[str, str]:
    """Old and new text, with the line ends that the lines have."""
    old = joined(place.old, "" if place.is_unended() else "\n")
    ended = after.final or not is_last
    return old, joined(place.new, "\n" if ended else "")


def patches_of(change: Change, before: Text, after: Text, way: str) -> list[dict[str, Any]] | None:
    """The patches of a file; None where that way cannot say the change."""
    context = BY_TEXT.get(way, 0)
    made = []
    for place in stretches(change, before, after, context):
        is_last = place.stop == len(before.lines)
        old, new = texts_of(place, after, is_last)
        if way in BY_TEXT:
            made.append(patch(old, new, None))
            continue
        # Lines are replaced by lines: that their last one loses its end, or gets it, is said by text alone.
        if is_last and before.final != after.final:
            return None
        if not before.lines:
            return None
        guard = {**place.lines, "range_hash": range_hash(place)} if way == BY_HASH else dict(place.lines)
        made.append(patch(None if way == BY_HASH else old, new, guard))
    return made


def fits(repository: Repository, commit: Commit) -> list[tuple[Change, Text, Text]] | None:
    """The files of a commit that is text throughout; None for one that no call by lines could say."""
    files = []
    size = 0
    for change in commit.changes:
        before, after = repository.text(change.before), repository.text(change.after)
        if before is None or after is None or before.bom != after.bom or before.eol != after.eol:
            return None
        size += len(repository.blobs[change.before]) + len(repository.blobs[change.after])
        files.append((change, before, after))
    return files if files and len(files) <= MAX_FILES and size <= MAX_BYTES else None


def replay(player: Player, repository: Repository, commits: list[Commit]) -> tuple[list[Replayed], int]:
    """Plays every commit in every way; also how many commits were left out because they are not text throughout."""
    played, left_out = [], 0
    for commit in commits:
        files = fits(repository, commit)
        if files is None:
            left_out += 1
            continue
        player.set_up(tuple(change.path for change, _, _ in files))
        for way in WAYS:
            made = [patches_of(*file, way) for file in files]
            if all(patches is not None for patches in made):
                played.append(one(player, repository, commit, files, made, way))
    return played, left_out


def one(player: Player, repository: Repository, commit: Commit, files: list[tuple[Change, Text, Text]], made: list[Any],
        way: str) -> Replayed:
    paths = [os.path.join(player.root, change.path) for change, _, _ in files]
    for path, (change, _, _) in zip(paths, files):
        with open(path, "wb") as file:
            file.write(repository.blobs[change.before])
    arguments = {"files": [{"file_path": path, "patches": patches} for path, patches in zip(paths, made)]}
    reply = player.server.call(PATCH, arguments)
    wanted, before = True, True
    for path, (change, _, _) in zip(paths, files):
        data = player.data(path)
        wanted &= data == repository.blobs[change.after]
        before &= data == repository.blobs[change.before]
    if reply.is_error:
        outcome = REFUSED if before else WRONG
    else:
        outcome = EXACT if wanted else WRONG
    why = reply.text.split("\n", 1)[0][:200] if outcome != EXACT else ""
    return Replayed(way, commit.name, outcome, why)
