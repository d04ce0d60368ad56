"""Calls that are spoiled elsewhere than in their text: lines left out, wrong ranges, a file that changed since the read, patches
that depend on each other, an edit that was made before, and paths.

Each function makes the case of a hunk and a mode, or None where the slip does not apply to it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import random
import re
import urllib.parse
from collections.abc import Callable

import slips
from case import HASHES, LINES, OFF, SHIFTS, TEXT, Case, Region, bare, ending, joined, named, occurrences, patch, patch_call, range_hash
from case import region, shifted, usual
from history import Hunk

#: The slip that is told by the blanks that the new text begins with: in the file, they would stand twice.
TWICE = "first line without, in old alone"
#: The slip that leaves no line end, not the last one either.
SPELLED = "line ends spelled out"
Maker = Callable[[Hunk, str, random.Random], "Case | None"]


def simple(slip: str, spoil: slips.Slip) -> Maker:
    """The case of a slip of the old text."""

    def make(hunk: Hunk, mode: str, rng: random.Random) -> Case | None:
        place = usual(hunk, mode, rng)
        if place is None:
            return None
        sent = spoil(place, rng)
        return None if sent is None else spoiled(slip, mode, hunk, place, sent, rng)

    return make


def spoiled(slip: str, mode: str, hunk: Hunk, place: Region, sent: slips.Sent, rng: random.Random) -> Case:
    """The case in which these texts are sent for a region."""
    end = ending(place, rng)
    old, new = joined(sent[0], end), joined(sent[1], end)
    if slip == SPELLED:
        old, new = joined(place.old, end).replace("\n", "\\n"), joined(place.new, end).replace("\n", "\\n")
    one, lines = named(place, mode, rng, old, new)
    wanted = [place.wanted()]
    if sent[0] != place.old and bare(sent[0]) == bare(place.old):
        wanted += [one.wanted() for one in kept(place, *sent)]
    return Case(slip, mode, hunk, hunk.data, place, end, patch_call([one]), wanted, ranges=lines)


def kept(place: Region, old: list[str], new: list[str]) -> list[Region]:
    """What the file may hold after an edit whose old text lacks, or has too many, blanks at line ends: what old and new text have in
    common at head and tail stays as it is in the file, and the rest is as it was sent. Where a line could be of the head or of the
    tail, either is right."""
    made = []
    head, tail = common(bare(old), bare(new)), common(bare(old)[::-1], bare(new)[::-1])
    shorter = min(len(old), len(new))
    for first, last in ((head, min(tail, shorter - head)), (min(head, shorter - tail), tail)):
        lines = [*place.old[:first], *new[first:len(new) - last], *place.old[len(old) - last:]]
        made.append(dataclasses.replace(place, new=lines))
    return made


def common(a: list[str], b: list[str]) -> int:
    """How many lines two texts have in common at the head."""
    return next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))


def is_for_another(case: Case) -> bool:
    """Whether a call is, as it was sent, a right call for another edit: its old text stands, exactly, once in the file or in the lines
    that it names, and to replace it gives another file than the wanted one; or the edit was made, and its old text stands, but for blanks
    at line ends, once elsewhere; or nothing but these blanks is spoiled in the old text, and more in the new one. No server could know."""
    _, arguments = case.call("/")
    files = arguments.get("files")
    patches = files[0]["patches"] if isinstance(files, list) else []
    if not isinstance(patches, list) or len(patches) != 1:
        return False
    text = case.own.text
    old, new = patches[0].get("old_string"), patches[0]["new_string"]
    if case.slip == TWICE and new[:1].isspace():
        return False
    if (ranges := patches[0].get("ranges")) is not None:
        first, last = int(ranges[0]["start"]) - 1, int(ranges[0]["end"])
        there = Region(text, first, last, 0, 0, [])
        if old is None:
            return (case.made or first != case.own.first) and ranges[0]["range_hash"] == range_hash(there)
        if (case.made or first != case.own.first) and lines_of(old) == there.old:
            return True
    elif occurrences(text.body(), old) == 1:
        return text.bom + text.body().replace(old, new).replace("\n", text.eol).encode() not in case.wanted
    elif case.made and occurrences(joined(bare(list(text.lines)), "\n"), joined(bare(lines_of(old)), "\n")) == 1:
        return True
    return not case.made and bare(lines_of(old)) == bare(case.own.old) and bare(lines_of(new)) != bare(case.own.new)


def lines_of(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def wide(hunk: Hunk, mode: str, rng: random.Random) -> Region | None:
    """The hunk with so much context that lines of it can be left out."""
    place = region(hunk, rng.randint(4, 12), rng.randint(1, 4))
    if place.above < 4 or (mode == TEXT and occurrences(place.text.body(), "\n".join(place.old)) != 1):
        return None
    return place


def left_out(slip: str, mark: Callable[[str, random.Random], list[str]]) -> Maker:
    """Lines of the context above are left out of both texts; `mark` makes what stands for them."""

    def make(hunk: Hunk, mode: str, rng: random.Random) -> Case | None:
        place = wide(hunk, mode, rng)
        if place is None:
            return None
        head = rng.randint(1, 2)
        tail = place.above - rng.randint(1, max(1, place.above - head - 1))
        if tail <= head:
            return None
        line = place.old[head]
        stands = mark(line[:len(line) - len(line.lstrip())], rng)
        if not "".join(place.old[head:tail]).strip():
            return None
        cut = lambda lines: [*lines[:head], *stands, *lines[tail:]]  # noqa: E731
        return spoiled(slip, mode, hunk, place, (cut(place.old), cut(place.new)), rng)

    return make


def dots(indent: str, rng: random.Random) -> list[str]:
    return [rng.choice((indent, "")) + "..."]


def comment(indent: str, rng: random.Random) -> list[str]:
    sign = rng.choice(("//", "//", "#"))
    return [indent + sign + rng.choice((" ... existing code ...", " ...", " ... rest of the code ..."))]


def end_missing(hunk: Hunk, mode: str, rng: random.Random) -> Case | None:
    """The old text lacks the last line of the range; both texts do."""
    place = usual(hunk, mode, rng)
    if place is None or place.below < 1 or len(place.old) < 2:
        return None
    short = region(hunk, place.above, place.below - 1)
    if mode == TEXT and occurrences(short.text.body(), "\n".join(short.old)) != 1:
        return None
    made = spoiled("a line missing at the end", mode, hunk, short, (short.old, short.new), rng)
    if mode != TEXT:
        lines = place.lines if mode == LINES else shifted(place.lines, rng.choice(SHIFTS), len(place.text.lines))
        return with_lines(made, joined(short.old, made.end), lines)
    return made


def with_lines(case: Case, old: str, lines: dict[str, int]) -> Case:
    """The case, with its patch by text and these lines."""
    one = patch(old, joined(case.own.new, case.end), lines)
    return dataclasses.replace(case, call=patch_call([one]), ranges=lines)


def wrong_lines(slip: str, start: int, stop: int) -> Maker:
    """A range whose ends are off by so many lines."""

    def make(hunk: Hunk, mode: str, rng: random.Random) -> Case | None:
        place = usual(hunk, mode, rng)
        if place is None:
            return None
        total, right = len(place.text.lines), place.lines
        if start == stop:
            lines = shifted(right, start * rng.choice((-1, 1)), total)
        else:
            by = rng.choice((1, 1, 2, 5))
            lines = {"start": right["start"] - start * by, "end": right["end"] + stop * by}
            lines = {"start": max(1, lines["start"]), "end": min(total, lines["end"])}
        if lines == right or lines["start"] > lines["end"]:
            return None
        made = spoiled(slip, mode, hunk, place, (place.old, place.new), rng)
        if mode == HASHES:
            one = patch(None, joined(place.new, made.end), {**lines, "range_hash": range_hash(place)})
            return dataclasses.replace(made, call=patch_call([one]))
        return with_lines(made, joined(place.old, made.end), lines)

    return make


def stale_file(hunk: Hunk, mode: str, rng: random.Random) -> Case | None:
    """Lines were put into the file above the place, since it was read."""
    place = usual(hunk, mode, rng)
    if place is None:
        return None
    lines, at = hunk.text.lines, rng.randint(0, place.first)
    put = [f"{word[::-1]} {number}" for number in range(rng.choice((1, 2, 5, 17, 40)))
           for word in [lines[number * 7 % len(lines)]]]
    put = [line.replace("\ufeff", "") for line in put]
    made = spoiled("a stale file", mode, hunk, place, (place.old, place.new), rng)
    text = dataclasses.replace(hunk.text, lines=(*lines[:at], *put, *lines[at:]))
    own = place.moved(text, len(put))
    if mode == TEXT and occurrences(text.body(), "\n".join(place.old)) != 1:
        return None
    return dataclasses.replace(made, before=text.with_lines(text.lines), own=own, wanted=[own.wanted()])


def blanks_of_markdown(hunk: Hunk, mode: str, rng: random.Random) -> Case | None:
    """The file ends half of its lines in two blanks, as Markdown does; neither text has them. Lines that both texts have keep them."""
    place = usual(hunk, mode, rng)
    if place is None or any(line != line.rstrip(" \t") for line in (*place.old, *place.new)):
        return None
    marked = [line + "  " if line.strip() and rng.random() < 0.5 else line for line in hunk.text.lines]
    text = dataclasses.replace(hunk.text, lines=tuple(marked))
    sent_old, sent_new = place.old, place.new
    made = spoiled("Markdown's blanks missing in both", mode, hunk, place, (sent_old, sent_new), rng)
    moved = place.moved(text, 0)
    if moved.old == sent_old or sent_old == sent_new:
        return None
    wanted = kept(moved, sent_old, sent_new)
    return dataclasses.replace(made, before=text.with_lines(text.lines), own=wanted[0], wanted=[one.wanted() for one in wanted])


def stale_hash(hunk: Hunk, mode: str, rng: random.Random) -> Case | None:
    """The same, and the call has the file's old digest."""
    made = stale_file(hunk, mode, rng)
    if made is None:
        return None
    digest = hashlib.sha256(hunk.data).hexdigest()[:16]
    _, arguments = made.call("/")
    return dataclasses.replace(made, slip="a stale file_hash",
                               call=patch_call(arguments["files"][0]["patches"], file_hash=digest))


def dependent(hunk: Hunk, mode: str, rng: random.Random) -> Case | None:
    """Two patches; the second changes a line that the first one makes."""
    place = usual(hunk, TEXT, rng)
    able = [i for i, line in enumerate(hunk.new) if re.search(r"\w{3}", line)]
    if place is None or not able:
        return None
    at = rng.choice(able)
    line = hunk.new[at]
    word = re.search(r"\w{3,}", line)
    assert word is not None
    draft = line[:word.start()] + word.group() + "_draft" + line[word.end():]
    if draft in hunk.text.lines:
        return None
    first = list(place.new)
    first[place.above + at] = draft
    made = spoiled("a patch that depends on another", mode, hunk, place, (place.old, place.new), rng)
    calls = [patch(joined(place.old, made.end), joined(first, made.end), None), patch(draft, line, None)]
    return dataclasses.replace(made, call=patch_call(calls))


def made_before(hunk: Hunk, mode: str, rng: random.Random) -> Case | None:
    """The same call again: the edit stands already."""
    place = usual(hunk, mode, rng)
    if place is None:
        return None
    made = spoiled("already made", mode, hunk, place, (place.old, place.new), rng)
    lines = [*hunk.text.lines[:place.first], *place.new, *hunk.text.lines[place.stop:]]
    text = dataclasses.replace(hunk.text, lines=tuple(lines))
    own = dataclasses.replace(place, text=text, stop=place.first + len(place.new))
    return dataclasses.replace(made, before=made.wanted[0], own=own, made=True)


def made_and_spoiled(hunk: Hunk, mode: str, rng: random.Random) -> Case | None:
    """The same with line numbers, a fence or a blank line in its old text."""
    place = usual(hunk, mode, rng)
    if place is None or not hunk.new:
        return None
    sent = rng.choice((slips.gutter, slips.fenced, slips.ends_added(1, 1)))(place, rng)
    if sent is None:
        return None
    again = spoiled("already made, and spoiled", mode, hunk, place, (sent[0], place.new), rng)
    text = dataclasses.replace(hunk.text, lines=(*hunk.text.lines[:place.first], *place.new, *hunk.text.lines[place.stop:]))
    own = dataclasses.replace(place, text=text, stop=place.first + len(place.new))
    return dataclasses.replace(again, before=again.wanted[0], own=own, made=True)


def lone_cr(hunk: Hunk, mode: str, rng: random.Random) -> Case | None:
    """A line of the file that is to change has a CR inside, which no client can send; half of the old texts have a typo as well."""
    place = usual(hunk, mode, rng)
    if place is None:
        return None
    changed = range(place.above, len(place.old) - place.below)
    able = [i for i in changed if re.search(r"\w \w", place.old[i])]
    if not able:
        return None
    at = rng.choice(able)
    words = re.split(r"(?<=\w) (?=\w)", place.old[at])
    cut = rng.randint(1, len(words) - 1)
    line = " ".join(words[:cut]) + "\r" + " ".join(words[cut:])
    lines = list(hunk.text.lines)
    lines[place.first + at] = line
    sent = (place.old, place.new)
    if rng.random() < 0.5:
        sent = slips.typo(place, rng) or sent
        sent = (sent[0], place.new)
    made = spoiled("a lone CR in the place", mode, hunk, place, sent, rng)
    text = dataclasses.replace(hunk.text, lines=tuple(lines))
    own = place.moved(text, 0)
    return dataclasses.replace(made, before=text.with_lines(text.lines), own=own, wanted=[own.wanted()])


def short_block(hunk: Hunk, mode: str, rng: random.Random) -> Case | None:
    """A line such as `}`, which stands once in the file, with another indentation."""
    bare_lines = [re.sub(r"\s", "", line) for line in hunk.text.lines]
    able = [i for i, line in enumerate(bare_lines) if line and len(re.sub(r"\W", "", line)) < 5 and bare_lines.count(line) == 1
            and "\n".join(bare_lines).count(line) == 1]
    if not able:
        return None
    at = rng.choice(able)
    line = hunk.text.lines[at]
    place = Region(hunk.text, at, at + 1, 0, 0, [line + " // " + "changed"])
    return spoiled("a short block wrongly indented", mode, hunk, place, (["    " + line], ["    " + place.new[0]]), rng)


def deletion_mistyped(hunk: Hunk, mode: str, rng: random.Random) -> Case | None:
    """A deletion with a typo: its new text, the lines around it, may well be somewhere in the file."""
    if hunk.new:
        return None
    place = usual(hunk, mode, rng)
    sent = slips.typo(place, rng) if place else None
    return None if place is None or sent is None else spoiled("a deletion with a typo", mode, hunk, place, sent, rng)


def little_context(hunk: Hunk, mode: str, rng: random.Random) -> Case | None:
    """Old text that stands in several places."""
    for lines in range(0, 4):
        place = region(hunk, lines, lines)
        old = "\n".join(place.old)
        if old.strip() and occurrences(place.text.body(), old) > 1:
            return spoiled("too little context", mode, hunk, place, (place.old, place.new), rng)
    return None


# Paths

#: Makes another path of the root and the path in it; None where it would be the same.
Misspelt = Callable[[str, str, random.Random], "str | None"]


def in_name(change: Callable[[str, random.Random], str]) -> Misspelt:
    def make(root: str, name: str, rng: random.Random) -> str | None:
        folder, base = os.path.split(name)
        other = change(base, rng)
        return os.path.join(root, folder, other) if other != base else None

    return make


def other_case(name: str, rng: random.Random) -> str:
    return rng.choice((name.lower(), name.upper(), name[:1].swapcase() + name[1:]))


def mistyped_name(name: str, rng: random.Random) -> str:
    stem, dot, rest = name.partition(".") if not name.startswith(".") else (name, "", "")
    if len(stem) < 4:
        return name
    i = rng.randrange(1, len(stem) - 1)
    a, b = stem[i], stem[i + 1]
    middle = rng.choice((b + a, b, a + a + b, "x" + b))
    return stem[:i] + middle + stem[i + 2:] + dot + rest


EXTENSIONS = {".py": ".pyi", ".js": ".ts", ".ts": ".js", ".tsx": ".ts", ".rs": ".rst", ".c": ".h", ".h": ".c", ".md": ".mdx",
              ".go": ".golang", ".yml": ".yaml", ".yaml": ".yml", ".rst": ".md", ".html": ".htm", ".mjs": ".js", ".json": ".jsonc"}


def other_extension(name: str, _: random.Random) -> str:
    stem, extension = os.path.splitext(name)
    return stem + EXTENSIONS[extension] if extension in EXTENSIONS else name


def wrong_directory(root: str, name: str, rng: random.Random) -> str | None:
    parts = name.split("/")
    if len(parts) == 1:
        return os.path.join(root, rng.choice(("src", "lib")), name)
    kind, i = rng.choice(("dropped", "added", "none")), rng.randrange(len(parts) - 1)
    if kind == "dropped":
        parts = parts[:i] + parts[i + 1:]
    elif kind == "added":
        parts = [*parts[:i + 1], rng.choice(("src", "lib", "core")), *parts[i + 1:]]
    else:
        parts = parts[-1:]
    return os.path.join(root, *parts)


PATHS: dict[str, Misspelt] = {
    "path: other case": in_name(other_case),
    "path: a typo": in_name(mistyped_name),
    "path: other extension": in_name(other_extension),
    "path: wrong directory": wrong_directory,
    "path: relative": lambda root, name, rng: name,
    "path: ~/": lambda root, name, rng: f"~/{os.path.basename(root)}/{name}",
    "path: file://": lambda root, name, rng: "file://" + urllib.parse.quote(os.path.join(root, name)),
    "path: quoted": lambda root, name, rng: rng.choice('"\'`').join(("", os.path.join(root, name), "")),
    "path: padded": lambda root, name, rng: rng.choice((" {}", "{} ", "{}\n", " {} ")).format(os.path.join(root, name)),
}


def misspelt(slip: str, spell: Misspelt) -> Maker:
    def make(hunk: Hunk, mode: str, rng: random.Random) -> Case | None:
        place = usual(hunk, mode, rng)
        if place is None or spell("/r", hunk.path, random.Random(0)) is None:
            return None
        made = spoiled(slip, mode, hunk, place, (place.old, place.new), rng)
        seed = rng.random()

        def path(root: str, name: str) -> str:
            # Where the random choice changes nothing, or names another file that is there, another one is made.
            for attempt in range(20):
                other = spell(root, name, random.Random(f"{seed} {attempt}"))
                if other is not None and not (os.path.isabs(other) and os.path.exists(other)):
                    return other
            return os.path.join(root, name) + "x"

        return dataclasses.replace(made, path=path)

    return make


ALL_TEXT = (TEXT, LINES, OFF)
RANGED = (LINES, HASHES)
ANY = (TEXT, LINES, HASHES)

#: Every slip of this module, with the modes in which it is tried.
MAKERS: dict[str, tuple[tuple[str, ...], Maker]] = {
    "lines left out": (ALL_TEXT, left_out("lines left out", lambda indent, rng: [])),
    "lines left out for `...`": (ALL_TEXT, left_out("lines left out for `...`", dots)),
    "lines left out for a comment": (ALL_TEXT, left_out("lines left out for a comment", comment)),
    "a line missing at the end": (ALL_TEXT, end_missing),
    "range too long": ((LINES,), wrong_lines("range too long", 0, 1)),
    "range too short": ((LINES,), wrong_lines("range too short", 0, -1)),
    "range off by 1": (RANGED, wrong_lines("range off by 1", 1, 1)),
    "range off by 3": (RANGED, wrong_lines("range off by 3", 3, 3)),
    "range off by 20": (RANGED, wrong_lines("range off by 20", 20, 20)),
    "Markdown's blanks missing in both": (ALL_TEXT, blanks_of_markdown),
    "a stale file": (ANY, stale_file),
    "a stale file_hash": (ANY, stale_hash),
    "a patch that depends on another": ((TEXT,), dependent),
    "already made": (ANY, made_before),
    "already made, and spoiled": (ALL_TEXT, made_and_spoiled),
    "a lone CR in the place": (ALL_TEXT, lone_cr),
    "a short block wrongly indented": (ALL_TEXT, short_block),
    "a deletion with a typo": (ALL_TEXT, deletion_mistyped),
    "too little context": ((TEXT,), little_context),
    **{slip: ((TEXT,), misspelt(slip, spell)) for slip, spell in PATHS.items()},
}
