"""One edit as a caller would send it, and all that is needed to judge what became of it."""

from __future__ import annotations

import dataclasses
import hashlib
import random
from collections.abc import Callable
from typing import Any

from history import Hunk, Text

PATCH = "patch_text_file_contents"
GET = "get_text_file_contents"
INSERT = "insert_text_file_contents"
TEXT, LINES, OFF, HASHES = "text", "text+lines", "lines off", "hashes"
#: How a caller names the place: by text alone, by text and the right lines, by text and wrong lines, by a digest of lines.
MODES = (TEXT, LINES, OFF, HASHES)
#: By how many lines `lines off` is off.
SHIFTS = (-20, -3, -1, 1, 3, 20)


@dataclasses.dataclass
class Region:
    """The lines of a file that a caller's old text stands for (from `first`, counted from 0, up to `stop`), with the new text that it
    wants there. `above` and `below` of them are context, which stays."""

    text: Text
    first: int
    stop: int
    above: int
    below: int
    new: list[str]

    @property
    def old(self) -> list[str]:
        return list(self.text.lines[self.first:self.stop])

    @property
    def lines(self) -> dict[str, int]:
        """The range, as a call has it."""
        return {"start": self.first + 1, "end": self.stop}

    def is_unended(self) -> bool:
        """Whether it has the last line of a file without a final newline."""
        return not self.text.final and self.stop == len(self.text.lines)

    def moved(self, text: Text, by: int) -> Region:
        return dataclasses.replace(self, text=text, first=self.first + by, stop=self.stop + by)

    def wanted(self) -> bytes:
        lines = self.text.lines
        return self.text.with_lines([*lines[:self.first], *self.new, *lines[self.stop:]])


def region(hunk: Hunk, above: int, below: int) -> Region:
    """The hunk with so many lines of context, less at the ends of the file."""
    lines = hunk.text.lines
    first, stop = max(0, hunk.first - above), min(len(lines), hunk.stop + below)
    new = [*lines[first:hunk.first], *hunk.new, *lines[hunk.stop:stop]]
    return Region(hunk.text, first, stop, hunk.first - first, stop - hunk.stop, new)


def occurrences(text: str, part: str) -> int:
    """How often a text stands in another, overlapping ones counted; 2 stands for more."""
    at = text.find(part)
    if at < 0:
        return 0
    return 1 if text.find(part, at + 1) < 0 else 2


def is_unique(place: Region) -> bool:
    old = "\n".join(place.old)
    return old.strip() != "" and occurrences(place.text.body(), old) == 1


def usual(hunk: Hunk, mode: str, rng: random.Random) -> Region | None:
    """The hunk with the context that a caller would send: up to three lines; for text alone as many as make it unique, if
    three do."""
    least = rng.choice((0, 1, 1, 2, 3, 3))
    for lines in range(least, 4):
        place = region(hunk, lines, lines)
        if not "".join(place.old).strip():
            continue
        if mode != TEXT or is_unique(place):
            return place
    return None


def ending(place: Region, rng: random.Random) -> str:
    """What old and new text end in: callers leave the last line end out as often as not. Where that would mean something else, it
    is what means the edit."""
    if place.is_unended():
        return ""
    if not place.new or "" in (place.new[-1], place.old[-1]):
        return "\n"
    return rng.choice(("", "\n"))


def joined(lines: list[str], end: str) -> str:
    return "\n".join(lines) + end if lines else ""


def bare(lines: list[str]) -> list[str]:
    """Lines without the blanks at their ends."""
    return [line.rstrip(" \t") for line in lines]


def range_hash(place: Region) -> str:
    """The digest of the region's bytes, as a read would have told it."""
    text = place.text
    data = text.eol.join(place.old) + ("" if place.is_unended() else text.eol)
    lead = text.bom if place.first == 0 else b""
    return hashlib.sha256(lead + data.encode()).hexdigest()[:16]


@dataclasses.dataclass
class Case:
    """A spoiled call. `call` makes it for a path; `own` is the region that the caller's old text stands for in `before`, with the new
    text that it really wants, ended in `end`."""

    slip: str
    mode: str
    hunk: Hunk
    before: bytes
    own: Region
    end: str
    call: Callable[[str], tuple[str, dict[str, Any]]]
    #: What the file may hold once the edit stands; the first is the commit's.
    wanted: list[bytes]
    #: What to put in place of the real path, if that is what is spoiled.
    path: Callable[[str, str], str] | None = None
    #: The edit stands before the call.
    made: bool = False
    #: The lines that a read must show, if the call is no edit.
    read: tuple[int, int] | None = None
    #: The ranges that the call names, if any.
    ranges: dict[str, Any] | None = None


def patch(old: str | None, new: str, ranges: dict[str, Any] | None) -> dict[str, Any]:
    made: dict[str, Any] = {} if old is None else {"old_string": old}
    made["new_string"] = new
    if ranges is not None:
        made["ranges"] = [ranges]
    return made


def patch_call(patches: list[dict[str, Any]], **more: Any) -> Callable[[str], tuple[str, dict[str, Any]]]:
    """The call that makes these patches in one file."""
    return lambda path: (PATCH, {"files": [{"file_path": path, "patches": patches, **more}]})


def named(place: Region, mode: str, rng: random.Random, old: str, new: str) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The patch of a mode, and its range: where the caller believes that its old text stands."""
    if mode == TEXT:
        return patch(old, new, None), None
    lines: dict[str, Any] = dict(place.lines)
    if mode == OFF:
        lines = shifted(lines, rng.choice(SHIFTS), len(place.text.lines))
    if mode == HASHES:
        lines["range_hash"] = range_hash(place)
        return patch(None, new, lines), lines
    return patch(old, new, lines), lines


def shifted(lines: dict[str, Any], by: int, total: int) -> dict[str, Any]:
    """The range, moved by so many lines; the other way where the file ends."""
    if not 1 <= lines["start"] + by or lines["end"] + by > total:
        by = -by
    by = max(1 - lines["start"], min(by, total - lines["end"]))
    return {**lines, "start": lines["start"] + by, "end": lines["end"] + by}
