"""The oracle: what an edit does to a file, written from docs/contract.md, the slow and plain way.

The whole file is in memory, a line is an object, a file is a list of them. Nothing here looks at the server.
Where the contract does not decide a case, `Unsure` is raised and the case says nothing about anybody.
"""

from __future__ import annotations

import codecs
import hashlib
import re
from dataclasses import dataclass, field
from typing import Any

BLANKS = " \t"

# What a client may write as `encoding` -> Python's codec with the same table (for the characters that the tests draw).
CODECS = {
    "utf-8": "utf-8", "utf8": "utf-8", "UTF_8": "utf-8", "utf-8-sig": "utf-8",
    "utf-16": "utf-16-le", "utf-16-le": "utf-16-le", "utf-16-be": "utf-16-be", "utf_16_le": "utf-16-le",
    "utf-32": "utf-32-le", "utf-32-le": "utf-32-le", "utf-32-be": "utf-32-be",
    "shift_jis": "cp932", "Shift-JIS": "cp932", "cp932": "cp932", "euc_jp": "euc_jp", "EUC-JP": "euc_jp",
    "gbk": "gbk", "big5": "big5", "latin1": "latin-1", "iso-8859-1": "latin-1", "Latin_1": "latin-1", "cp1251": "cp1251",
}
UNICODE = {"utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"}
UNIT = {"utf-16-le": 2, "utf-16-be": 2, "utf-32-le": 4, "utf-32-be": 4}
BOMS = [("utf-32-le", codecs.BOM_UTF32_LE), ("utf-32-be", codecs.BOM_UTF32_BE), ("utf-8", codecs.BOM_UTF8),
        ("utf-16-le", codecs.BOM_UTF16_LE), ("utf-16-be", codecs.BOM_UTF16_BE)]


class Unsure(Exception):
    """The contract leaves this case open."""


class Failure(Exception):
    """The call must fail with these codes: `codes` are all sure to be found; `also` may be reported beside them."""

    def __init__(self, codes: list[str], also: list[str] | None = None) -> None:
        super().__init__(", ".join(codes))
        self.codes = codes
        self.also = also or []


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def fits(tag: str, data: bytes) -> bool:
    return digest(data).startswith(tag.lower())


def is_tag(tag: Any) -> bool:
    return isinstance(tag, str) and re.fullmatch(r"[0-9a-fA-F]{12,64}", tag) is not None


@dataclass
class Line:
    """One line: where it stands in the file's bytes, its text, and its terminator ('' at a file's unended end)."""

    start: int
    stop: int  # where the text ends and the terminator begins
    end: int
    text: str
    terminator: str


@dataclass
class Document:
    """A file, read in an encoding."""

    data: bytes
    codec: str
    bom: bytes
    lines: list[Line] = field(default_factory=list)

    def encode(self, text: str) -> bytes:
        return text.encode(self.codec)

    def span(self, first: int, last: int) -> tuple[int, int]:
        """The bytes of the lines first..last (0-based, inclusive; empty where last = first - 1)."""
        last = min(last, len(self.lines) - 1)
        start = self.lines[first].start if first < len(self.lines) else len(self.data)
        return start, (self.lines[last].end if last >= first else start)

    def bytes_of(self, first: int, last: int) -> bytes:
        start, end = self.span(first, last)
        return self.data[start:end]

    def text(self) -> str:
        """The text as a client sees it."""
        return "".join(line.text + ("\n" if line.terminator else "") for line in self.lines)

    def final_newline(self) -> bool:
        return bool(self.lines) and self.lines[-1].terminator != ""

    def line_ending(self) -> str:
        kinds = {line.terminator for line in self.lines} - {""}
        names = {"\n": "lf", "\r\n": "crlf", "\r": "cr"}
        return "none" if not kinds else "mixed" if len(kinds) > 1 else names[kinds.pop()]

    def terminator_at(self, index: int) -> str:
        """The terminator to take where line `index` stands: its own, else of the nearest line above, else below, else LF."""
        for i in [*range(min(index, len(self.lines) - 1), -1, -1), *range(max(index + 1, 0), len(self.lines))]:
            if self.lines[i].terminator:
                return self.lines[i].terminator
        return "\n"

    def terminator_between(self, index: int) -> str:
        """The terminator of text that is inserted before line `index`: of the nearest line above, else below, else LF."""
        return self.terminator_at(index - 1) if index > 0 else next((x.terminator for x in self.lines if x.terminator), "\n")


def codec_of(data: bytes, encoding: str | None) -> tuple[str, bytes]:
    """The codec to read with, and the BOM that is to be skipped."""
    named = None if encoding is None else CODECS[encoding]
    if named is None or named in UNICODE:
        for codec, bom in BOMS:
            if data.startswith(bom):
                return codec, bom
    return named or "utf-8", b""


def read(data: bytes, encoding: str | None) -> Document:
    """Splits a file into lines; Failure where it is binary or does not decode."""
    codec, bom = codec_of(data, encoding)
    body = data[len(bom):]
    unit = UNIT.get(codec, 1)
    if unit == 1 and b"\0" in body:
        raise Failure(["binary_file"])
    try:
        body.decode(codec)
    except UnicodeDecodeError:
        raise Failure(["decode_failed"]) from None
    doc = Document(data, codec, bom)
    order = "big" if codec.endswith("be") else "little"
    units = [int.from_bytes(body[i:i + unit], order) for i in range(0, len(body), unit)]
    classic = 13 in units and 10 not in units
    start = i = 0
    while i < len(units):
        if units[i] == 13 and i + 1 < len(units) and units[i + 1] == 10:
            terminator = "\r\n"
        elif units[i] == 10:
            terminator = "\n"
        elif units[i] == 13 and classic:
            terminator = "\r"
        else:
            i += 1
            continue
        add(doc, start, i, terminator, unit)
        i += len(terminator)
        start = i
    if start < len(units):
        add(doc, start, len(units), "", unit)
    return doc


def add(doc: Document, start: int, stop: int, terminator: str, unit: int) -> None:
    base = len(doc.bom)
    first, last = base + start * unit, base + stop * unit
    doc.lines.append(Line(first, last, last + len(terminator) * unit, doc.data[first:last].decode(doc.codec), terminator))


# Splices: what all edits come down to


@dataclass
class Splice:
    start: int
    end: int
    new: bytes
    first: int  # the lines that it touches, 0-based; last = first - 1 for an insertion
    last: int
    ranged: bool = True
    match: str | None = None
    lead: int = 0  # so many of the new bytes only end the line before


@dataclass
class Region:
    start: int
    end: int
    range_hash: str
    replaced: tuple[int, int] | None  # None: the contract leaves it open (a line was joined with the next)
    match: str | None


@dataclass
class Outcome:
    data: bytes
    total_lines: int
    file_hash: str
    regions: list[Region] | None  # None: the contract leaves them open
    unchanged: bool
    added_newline: bool = False


def outcome(doc: Document, splices: list[Splice], encoding: str | None) -> Outcome:
    splices = sorted(splices, key=lambda s: (s.start, s.end))
    data, at = b"", 0
    for s in splices:
        data += doc.data[at:s.start] + s.new
        at = s.end
    data += doc.data[at:]
    after = read(data, encoding)
    if after.bom != doc.bom or after.codec != doc.codec:
        raise Unsure("text that would be read as a BOM")
    groups: list[list[Splice]] = []
    for s in splices:
        before = groups[-1] if groups else None
        if before and not s.ranged and not before[-1].ranged and s.first <= max(x.last for x in before):
            before.append(s)
        else:
            groups.append([s])
    regions: list[Region] | None = []
    if (doc.line_ending() == "cr") != (after.line_ending() == "cr") and "\r" in doc.text():
        return Outcome(data, len(after.lines), digest(data), None, data == doc.data)  # lone CRs have become line ends
    used: set[int] = set()
    for group in groups:
        first, last = group[0].first, max(s.last for s in group)
        a, b = doc.span(first, last)
        moved = sum(len(s.new) - (s.end - s.start) for s in splices if s.start < group[0].start)
        new_a = a + moved + group[0].lead
        new_b = b + moved + sum(len(s.new) - (s.end - s.start) for s in group)
        if last + 1 < len(doc.lines) and doc.lines[last].terminator and new_b > new_a \
                and not data[:new_b].endswith(tuple(doc.encode(t) for t in "\n\r")):
            regions = None  # a line was joined with the next: which lines were replaced is not said
            break
        region = region_of(after, new_a, new_b, (first + 1, last + 1), {s.match for s in group})
        lines = set(range(region.start, region.end + 1))
        if used & lines:
            regions = None
            break
        used |= lines
        regions.append(region)
    return Outcome(data, len(after.lines), digest(data), regions, data == doc.data, any(s.lead for s in splices))


def region_of(after: Document, a: int, b: int, replaced: tuple[int, int], matches: set[str | None]) -> Region:
    start = sum(1 for line in after.lines if line.end <= a) + 1
    if a == b:
        whole = start > len(after.lines) or after.lines[start - 1].start == a
        if whole or a == len(after.bom):
            return Region(start, start - 1, digest(b""), replaced, next((m for m in matches if m is not None), None))
        raise Unsure("a place inside a line")
    end = sum(1 for line in after.lines if line.end < b) + 1
    whole = after.lines[start - 1].start == a and after.lines[end - 1].end == b
    return Region(start, end, digest(after.bytes_of(start - 1, end - 1)), replaced if whole else None,
                  next((m for m in matches if m is not None), None))


# What clients send


def normal(text: str) -> str:
    """Text from a client, its line ends as LF."""
    text = text.replace("\r\n", "\n")
    if "\r" in text or "\0" in text:
        raise Failure(["invalid_arguments"])
    return text


def lines_of(text: str) -> list[str]:
    """The lines that a text consists of; one that does not end in a line end is read as if it did; "" is none."""
    if text == "":
        return []
    return text.removesuffix("\n").split("\n")


def encode(doc: Document, text: str) -> bytes:
    try:
        return doc.encode(text)
    except UnicodeEncodeError:
        raise Failure(["encode_failed"]) from None


def bounds(r: dict[str, Any], total: int) -> tuple[int, int]:
    """A range of patch or delete, 0-based and inclusive."""
    start, end = r["start"], r.get("end")
    if end is not None and end != -1 and end < start:
        raise Failure(["invalid_range"])
    last = total if end in (None, -1) else end
    if start < 1 or start > total or last > total:
        raise Failure(["line_out_of_range"])
    return start - 1, last - 1


def check_hash(doc: Document, file_hash: str | None, problems: list[str]) -> None:
    if file_hash is not None:
        if not is_tag(file_hash):
            problems.append("invalid_arguments")
        elif not fits(file_hash, doc.data):
            problems.append("hash_mismatch")


def overlapping(splices: list[Splice]) -> bool:
    ordered = sorted(splices, key=lambda s: (s.start, s.end))
    return any(b.start < a.end for a, b in zip(ordered, ordered[1:]))


# The tools


def patch(data: bytes, patches: list[dict[str, Any]], encoding: str | None = None, file_hash: str | None = None,
          strict: bool = False) -> Outcome:
    if not patches:
        raise Failure(["invalid_arguments"])
    doc = read(data, encoding)
    problems: list[str] = []
    # Clients that must send something send "" for what they leave out.
    check_hash(doc, file_hash or None, problems)
    splices: list[Splice] = []
    for p in patches:
        try:
            splices += splices_of(doc, p, strict)
        except Failure as failure:
            problems += failure.codes
    clash = overlapping(splices)
    if problems:
        raise Failure(problems, ["overlapping_ranges"])
    if clash:
        raise Failure(["overlapping_ranges"])
    if not doc.lines and len(splices) > 1:
        raise Unsure("two patches of one empty file")
    return outcome(doc, splices, encoding)


def splices_of(doc: Document, p: dict[str, Any], strict: bool) -> list[Splice]:
    new = normal(p["new_string"])
    old = None if p.get("old_string") is None else normal(p["old_string"])
    ranges = p.get("ranges") or []
    tags = [r.get("range_hash") or None for r in ranges]
    if any(t is not None and not is_tag(t) for t in tags):
        raise Failure(["invalid_arguments"])
    if old is None and (not ranges or any(t is None for t in tags)):
        raise Failure(["invalid_arguments"])
    if ranges and p.get("replace_all"):
        raise Unsure("replace_all with ranges")
    problems: list[str] = []
    splices: list[Splice] = []
    try:
        encode(doc, new)
    except Failure as failure:  # go on, for the other problems, with what can be encoded
        problems += failure.codes
        new = new.encode(doc.codec, "ignore").decode(doc.codec)
    if not ranges:
        assert old is not None
        try:
            splices = by_text(doc, old, new, bool(p.get("replace_all")), strict)
        except Failure as failure:
            # Text that cannot be written is not looked through.
            problems += [code for code in failure.codes if not (problems and code == "text_slip")]
    for r in ranges:
        try:
            splices.append(by_range(doc, r, old, new, strict))
        except Failure as failure:
            problems += failure.codes
    if problems:
        raise Failure(problems)
    return splices


def by_range(doc: Document, r: dict[str, Any], old: str | None, new: str, strict: bool) -> Splice:
    first, last = bounds(r, len(doc.lines))
    problems: list[str] = []
    tag = r.get("range_hash") or None
    if tag is not None and not fits(tag, doc.bytes_of(first, last)):
        problems.append("range_hash_mismatch")
    match = None
    if old is not None:
        there = [line.text for line in doc.lines[first:last + 1]]
        wanted = lines_of(old) or [""]
        if there != wanted:
            if strict or [x.rstrip(BLANKS) for x in there] != [x.rstrip(BLANKS) for x in wanted]:
                problems.append("content_mismatch")
            match = "trailing_whitespace"
    if problems:
        raise Failure(problems)
    replaced = [(encode(doc, text), doc.terminator_at(min(first + i, last))) for i, text in enumerate(lines_of(new))]
    if match is not None and not problems:
        assert old is not None
        spelled = [doc.data[line.start:line.stop] for line in doc.lines[first:last + 1]]
        replaced = in_common(
            doc, first, spelled, *([x + "\n" for x in lines] for lines in (there, wanted, lines_of(new))), goes_on=False)
    out = b""
    for i, (text, terminator) in enumerate(replaced):
        if i == len(replaced) - 1 and not doc.lines[last].terminator:
            if not new.endswith("\n"):
                terminator = ""
            elif old is not None and old.endswith("\n"):
                if old == "\n":
                    raise Unsure("an unended line of blanks against one empty line")
                terminator = "" if text else terminator
        out += text + encode(doc, terminator)
    start, end = doc.span(first, last)
    return Splice(start, end, out, first, last, match=match)


def by_text(doc: Document, old: str, new: str, every: bool, strict: bool) -> list[Splice]:
    if old == "":
        if doc.lines:
            raise Failure(["invalid_arguments"])
        return [Splice(len(doc.bom), len(doc.bom), encode(doc, new), 0, -1, ranged=False)]
    text = doc.text()
    places = [(i, i + len(old)) for i in range(len(text)) if text.startswith(old, i)]
    unended = bool(doc.lines) and not doc.final_newline()
    if unended and old.endswith("\n") and old != "\n" and text.endswith(old[:-1]):
        places.append((len(text) - len(old) + 1, len(text)))
    match = None
    if not places and not strict:
        match = "trailing_whitespace"
        places = loose_places(text, old, unended)
        if places and old.split("\n")[0].strip(BLANKS) == "":
            raise Unsure("where a match begins that begins with blanks")
    if not places:
        raise Failure(["no_match"])
    if len(places) > 1 and not every:
        raise Failure(["ambiguous_match"])
    chosen: list[tuple[int, int]] = []
    for a, b in places:
        if not chosen or a >= chosen[-1][1]:
            chosen.append((a, b))
    if all(leaves_empty_line(text, place, old, new) for place in chosen[:16]):
        raise Failure(["text_slip"])
    offsets = byte_offsets(doc)
    splices = []
    for a, b in chosen:
        first, last = text.count("\n", 0, a), text.count("\n", 0, b - 1)
        new_here = new
        # A line end that ends old_string matched the end of the file: text ends there without one.
        if unended and b == len(text) and old.endswith("\n") and new.endswith("\n"):
            kept = text[:a] + new[:-1]
            if kept != "" and not kept.endswith("\n"):
                new_here = new[:-1]
        pieces = new_here.split("\n")
        ends = [doc.terminator_at(min(first + i, last)) for i in range(len(pieces) - 1)] + [""]
        replaced = [(encode(doc, piece), end) for piece, end in zip(pieces, ends)]
        if match is not None:
            goes_on = b < len(text) and text[b] != "\n"
            spelled, at = [], a
            for line in split(text[a:b]):
                spelled.append(doc.data[offsets[at]:offsets[at + len(line.removesuffix("\n"))]])
                at += len(line)
            replaced = in_common(doc, first, spelled, *(split(x) for x in (text[a:b], old, new_here)), goes_on=goes_on)
        out = b"".join(piece + encode(doc, end) for piece, end in replaced)
        splices.append(Splice(offsets[a], offsets[b], out, first, last, ranged=False, match=match))
    return splices


def leaves_empty_line(text: str, place: tuple[int, int], old: str, new: str) -> bool:
    """Whether an empty line arises or stays only since one of two texts has the line end of a line that `place` ends, and the other not."""
    a, b = place
    start, stop = text.rfind("\n", 0, a) + 1, text.find("\n", b)
    before, after = text[start:a], text[b:] if stop < 0 else text[b:stop]
    if old.endswith("\n") or old.strip() == "" or after.strip() or (stop < 0 and not after):
        return False
    return not before.strip() if new == "" else new.endswith("\n") and new.rstrip("\n") != old


def split(text: str) -> list[str]:
    """The lines of a text, each with its line end if it has one."""
    *ended, last = text.split("\n")
    return [x + "\n" for x in ended] + ([last] if last else [])


def in_common(
    doc: Document, first: int, spelled: list[bytes], there: list[str], old: list[str], new: list[str], goes_on: bool
) -> list[tuple[bytes, str]]:
    """The bytes of the new lines, each with its terminator, where `there` is what was found but for blanks, and `spelled` its bytes:
    lines that the old text has in common with the new one, at head and tail, are those of the file, which may have another of two
    spellings. `goes_on`: other text of a line follows."""
    spelled = spelled + [b""] * (len(old) - len(there))
    there = there + [""] * (len(old) - len(there))

    def alike(k: int, i: int) -> bool:
        is_line = new[i].endswith("\n") or not old[k].endswith("\n") or not goes_on
        return is_line and old[k].rstrip(BLANKS + "\n") == new[i].rstrip(BLANKS + "\n")

    most = min(len(old), len(new))
    head = next((i for i in range(most) if not alike(i, i)), most)
    most -= head
    tail = next((i for i in range(most) if not alike(len(old) - 1 - i, len(new) - 1 - i)), most)
    gone = len(old) - head - tail
    out = []
    for i, line in enumerate(new):
        text, place = encode(doc, line.removesuffix("\n")), None
        if i < head:
            place = i
        elif i >= len(new) - tail:
            place = i - len(new) + len(old)
        # Blanks are asked for only where the old text has the file's line, and the new one has others.
        if place is not None and (old[place].removesuffix("\n") != there[place].removesuffix("\n") or old[place] == line):
            text = spelled[place]
        if place is not None:
            end = doc.terminator_at(first + place)
        elif gone:
            end = doc.terminator_at(first + min(i, head + gone - 1))
        else:
            end = doc.terminator_between(first + head)
        out.append((text, end if line.endswith("\n") else ""))
    return out


def loose_places(text: str, old: str, unended: bool) -> list[tuple[int, int]]:
    """Where `old` stands but for blanks at line ends; one place for each start."""
    lines = text.split("\n")
    if lines[-1] == "" and not unended:
        lines.pop()
    starts, at = [], 0
    for line in lines:
        starts.append(at)
        at += len(line) + 1
    parts = old.split("\n")
    places = []
    for i, line in enumerate(lines):
        for column in range(len(line) + 1):
            stop = loose_end(lines, i, column, parts, unended)
            if stop is not None:
                row, col = stop
                end = len(text) if row == len(lines) else starts[row] + col
                places.append((starts[i] + column, min(end, len(text))))
    return places


def loose_end(lines: list[str], i: int, column: int, parts: list[str], unended: bool) -> tuple[int, int] | None:
    for k, part in enumerate(parts):
        if k == len(parts) - 1 and part == "" and k > 0:
            return i + k, 0  # old_string ended in a line end: the match ends there
        if i + k >= len(lines):
            return None
        there = lines[i + k][column if k == 0 else 0:]
        alike = there.rstrip(BLANKS) == part.rstrip(BLANKS)
        if k == len(parts) - 1:
            if alike:
                return i + k, len(lines[i + k])
            if there.startswith(part):
                return i + k, (column if k == 0 else 0) + len(part)
            return None
        if not alike:
            return None
        last = i + k == len(lines) - 1
        if last and unended and not (k == len(parts) - 2 and parts[-1] == ""):
            return None  # more text is wanted than there is
    return None


def byte_offsets(doc: Document) -> list[int]:
    """For every position of `doc.text()` the place in the file's bytes."""
    offsets = []
    for line in doc.lines:
        decoder = codecs.getincrementaldecoder(doc.codec)()
        at = line.start
        for i in range(line.start, line.stop):
            out = decoder.decode(doc.data[i:i + 1])
            if out:
                assert len(out) == 1
                offsets.append(at)
                at = i + 1
        if line.terminator:
            offsets.append(line.stop)
    offsets.append(len(doc.data))
    return offsets


def insert(data: bytes, contents: str, file_hash: str, after: int | None = None, before: int | None = None,
           encoding: str | None = None) -> Outcome:
    if (after is None) == (before is None) or contents == "":
        raise Failure(["invalid_arguments"])
    contents = normal(contents)
    place = after if after is not None else before - 1  # type: ignore[operator]
    if place < 0:  # no line of any file has such a number: perhaps seen before the file is
        raise Failure(["line_out_of_range"], ["invalid_arguments", "decode_failed", "binary_file", "encode_failed", "hash_mismatch"])
    doc = read(data, encoding)
    problems: list[str] = []
    check_hash(doc, file_hash, problems)
    if place > len(doc.lines):
        problems.append("line_out_of_range")
    try:
        encode(doc, contents)
    except Failure as failure:
        problems += failure.codes
    if problems:
        raise Failure(problems)
    terminator = doc.terminator_between(place)
    lead = ""
    if place == len(doc.lines) and doc.lines and not doc.final_newline():
        lead = terminator
    head = encode(doc, lead)
    new = head + b"".join(encode(doc, text + terminator) for text in lines_of(contents))
    at, _ = doc.span(place, place - 1)
    return outcome(doc, [Splice(at, at, new, place, place - 1, lead=len(head))], encoding)


def append(data: bytes, contents: str, file_hash: str, encoding: str | None = None) -> Outcome:
    if contents == "":
        raise Failure(["invalid_arguments"])
    try:
        total = len(read(data, encoding).lines)
    except Failure as failure:
        raise Failure(failure.codes, ["invalid_arguments"]) from None
    return insert(data, contents, file_hash, after=total, encoding=encoding)


def delete(data: bytes, ranges: list[dict[str, Any]], file_hash: str, encoding: str | None = None) -> Outcome:
    if not ranges or any(not is_tag(r.get("range_hash")) for r in ranges):
        raise Failure(["invalid_arguments"])
    doc = read(data, encoding)
    problems: list[str] = []
    check_hash(doc, file_hash, problems)
    splices = []
    for r in ranges:
        try:
            first, last = bounds(r, len(doc.lines))
            if not fits(r["range_hash"], doc.bytes_of(first, last)):
                raise Failure(["range_hash_mismatch"])
            splices.append(Splice(*doc.span(first, last), b"", first, last))
        except Failure as failure:
            problems += failure.codes
    clash = overlapping(splices)
    if problems:
        raise Failure(problems, ["overlapping_ranges"])
    if clash:
        raise Failure(["overlapping_ranges"])
    return outcome(doc, splices, encoding)


def get(data: bytes, start: int, end: int | None, encoding: str | None = None) -> tuple[int, int, str, str]:
    """What a read of a range gives, the budget aside: start, end, content, range_hash. An end of 0 is the last line."""
    doc = read(data, encoding)
    total = len(doc.lines)
    end = end or None
    if end is not None and end != -1 and end < start:
        raise Failure(["invalid_range"])
    if start < 0:
        start = max(1, total + 1 + start)
    first = max(1, start)
    last = total if end in (None, -1) else min(end, total)
    if first > total:
        return first, first - 1, "", digest(b"")
    if last < first:
        raise Unsure("a range that is empty once its start is counted from the end")
    content = "".join(x.text + ("\n" if x.terminator else "") for x in doc.lines[first - 1:last])
    return first, last, content, digest(doc.bytes_of(first - 1, last - 1))
