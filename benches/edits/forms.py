"""Right edits and reads in another tool's form, as models know it from there. They are a row of their own: an error names our arguments, and
no more is asked of it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import random
from collections.abc import Callable
from typing import Any

from case import GET, INSERT, LINES, PATCH, TEXT, Case, Region, joined, patch, usual
from history import Hunk
from places import Maker, spoiled

Call = tuple[str, dict[str, Any]]
#: Makes a call from a path, a region, and the old and the new text.
Form = Callable[[str, Region, str, str], Call]


def in_form(slip: str, form: Form) -> Maker:
    def make(hunk: Hunk, mode: str, rng: random.Random) -> Case | None:
        place = usual(hunk, mode, rng)
        if place is None:
            return None
        made = spoiled(slip, mode, hunk, place, (place.old, place.new), rng)
        old, new = joined(place.old, made.end), joined(place.new, made.end)
        return dataclasses.replace(made, call=lambda path: form(path, place, old, new))

    return make


def flat(path: str, _: Region, old: str, new: str) -> Call:
    return PATCH, {"file_path": path, "old_string": old, "new_string": new}


def flat_lines(path: str, place: Region, old: str, new: str) -> Call:
    return PATCH, {"file_path": path, "old_string": old, "new_string": new, "ranges": [place.lines]}


def start_end(path: str, place: Region, old: str, new: str) -> Call:
    return PATCH, {"files": [{"file_path": path, "patches": [{**patch(old, new, None), **place.lines}]}]}


def old_text(path: str, _: Region, old: str, new: str) -> Call:
    return PATCH, {"path": path, "edits": [{"oldText": old, "newText": new}]}


def str_replace(path: str, _: Region, old: str, new: str) -> Call:
    return PATCH, {"command": "str_replace", "path": path, "old_str": old, "new_str": new}


def diff_lines(place: Region) -> list[str]:
    """The region as the body of a diff."""
    old, new = place.old, place.new
    stop = len(old) - place.below
    above, below = old[:place.above], old[stop:]
    return [*(" " + line for line in above), *("-" + line for line in old[place.above:stop]),
            *("+" + line for line in new[place.above:len(new) - place.below]), *(" " + line for line in below)]


def apply_patch(path: str, place: Region, old: str, new: str) -> Call:
    lines = ["*** Begin Patch", f"*** Update File: {path}", "@@", *diff_lines(place), "*** End Patch"]
    return PATCH, {"input": joined(lines, "\n")}


def unified_diff(path: str, place: Region, old: str, new: str) -> Call:
    head = f"@@ -{place.first + 1},{len(place.old)} +{place.first + 1},{len(place.new)} @@"
    lines = [f"--- a{path}", f"+++ b{path}", head, *diff_lines(place)]
    return PATCH, {"file_path": path, "patch": joined(lines, "\n")}


def search_replace(path: str, place: Region, old: str, new: str) -> Call:
    lines = ["<<<<<<< SEARCH", *place.old, "=======", *place.new, ">>>>>>> REPLACE"]
    return PATCH, {"file_path": path, "diff": joined(lines, "\n")}


def integers(path: str, place: Region, old: str, new: str) -> Call:
    lines = {key: str(value) for key, value in place.lines.items()}
    return PATCH, {"files": [{"file_path": path, "patches": [{**patch(old, new, None), "ranges": [lines]}]}]}


def list_as_string(path: str, _: Region, old: str, new: str) -> Call:
    return PATCH, {"files": json.dumps([{"file_path": path, "patches": [patch(old, new, None)]}])}


def patches_as_string(path: str, _: Region, old: str, new: str) -> Call:
    return PATCH, {"files": [{"file_path": path, "patches": json.dumps([patch(old, new, None)])}]}


def reading(slip: str, keys: Callable[[int, int], dict[str, Any]]) -> Maker:
    """A read of the lines around the hunk, which are to be shown, in another tool's words."""

    def make(hunk: Hunk, mode: str, rng: random.Random) -> Case | None:
        place = usual(hunk, mode, rng)
        if place is None:
            return None
        made = spoiled(slip, mode, hunk, place, (place.old, place.new), rng)
        first, last = place.first + 1, place.stop
        return dataclasses.replace(made, read=(first, last), call=lambda path: (GET, {"file_path": path, **keys(first, last)}))

    return make


def inserting(hunk: Hunk, mode: str, rng: random.Random) -> Case | None:
    """An insertion with another tool's keys."""
    if hunk.count or not hunk.new or not hunk.text.final or not hunk.text.lines or not "".join(hunk.new):
        return None
    place = usual(hunk, mode, rng)
    if place is None:
        return None
    made = spoiled("form: insert_line and new_str", mode, hunk, place, (place.old, place.new), rng)
    digest = hashlib.sha256(hunk.data).hexdigest()[:16]
    new, line = joined(list(hunk.new), "\n"), hunk.first
    key = rng.choice(("new_str", "insert_text", "text"))
    return dataclasses.replace(made, call=lambda path: (
        INSERT, {"file_path": path, "file_hash": digest, "insert_line": line, key: new}))


#: Every form, with the modes in which it is tried.
MAKERS: dict[str, tuple[tuple[str, ...], Maker]] = {
    "form: flat": ((TEXT,), in_form("form: flat", flat)),
    "form: flat with ranges": ((LINES,), in_form("form: flat with ranges", flat_lines)),
    "form: start and end in the patch": ((LINES,), in_form("form: start and end in the patch", start_end)),
    "form: path and edits": ((TEXT,), in_form("form: path and edits", old_text)),
    "form: command str_replace": ((TEXT,), in_form("form: command str_replace", str_replace)),
    "form: apply_patch": ((TEXT,), in_form("form: apply_patch", apply_patch)),
    "form: unified diff": ((TEXT,), in_form("form: unified diff", unified_diff)),
    "form: SEARCH/REPLACE": ((TEXT,), in_form("form: SEARCH/REPLACE", search_replace)),
    "form: integers as strings": ((LINES,), in_form("form: integers as strings", integers)),
    "form: files as a string": ((TEXT,), in_form("form: files as a string", list_as_string)),
    "form: patches as a string": ((TEXT,), in_form("form: patches as a string", patches_as_string)),
    "form: read by offset and limit": (
        (TEXT,), reading("form: read by offset and limit", lambda a, b: {"offset": a, "limit": b - a + 1})),
    "form: read by view_range": ((TEXT,), reading("form: read by view_range", lambda a, b: {"view_range": [a, b]})),
    "form: read by start_line": (
        (TEXT,), reading("form: read by start_line", lambda a, b: {"start_line": a, "end_line": b})),
    "form: insert_line and new_str": ((TEXT,), inserting),
}
