"""Old text as models spoil it. A slip takes the region of an edit and gives old and new text as they would be sent, or None where it
changes nothing; all of them leave the path, the lines and the digests alone (see `places.py` and `forms.py` for those).

New text is spoiled along where a model misreads a file (tabs, quotes, entities …), and left as it is where it mistypes one text.
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Callable

from case import Region

#: Old lines and new lines as they are sent.
Sent = tuple[list[str], list[str]]
Slip = Callable[[Region, random.Random], "Sent | None"]


def both(place: Region, spoil: Callable[[str], str]) -> Sent | None:
    """The same misreading in every line of both texts."""
    old = [spoil(line) for line in place.old]
    return (old, [spoil(line) for line in place.new]) if old != place.old else None


def one_line(place: Region, rng: random.Random, spoil: Callable[[str], str]) -> Sent | None:
    """A mistake in one line of the old text; a line of context has it in the new text, too."""
    able = [i for i, line in enumerate(place.old) if spoil(line) != line]
    if not able:
        return None
    return replaced(place, rng.choice(able), lambda line: [spoil(line)])


def replaced(place: Region, at: int, by: Callable[[str], list[str]]) -> Sent:
    """Other lines for line `at` of the old text, and of the new one if the line is context."""
    old, new = list(place.old), list(place.new)
    lines = by(old[at])
    old[at:at + 1] = lines
    if at < place.above:
        new[at:at + 1] = lines
    elif at >= len(place.old) - place.below:
        back = len(place.old) - at
        new[len(new) - back:len(new) - back + 1] = lines
    return old, new


def clean(place: Region, _: random.Random) -> Sent | None:
    return place.old, place.new


def blanks_added(place: Region, rng: random.Random) -> Sent | None:
    blanks = rng.choice((" ", "  ", "\t"))
    chosen = set(rng.sample(range(len(place.old)), rng.randint(1, len(place.old))))
    return [line + blanks if i in chosen else line for i, line in enumerate(place.old)], place.new


def blanks_removed(place: Region, _: random.Random) -> Sent | None:
    old = [line.rstrip(" \t") for line in place.old]
    return (old, place.new) if old != place.old else None


def blanks_missing(place: Region, _: random.Random) -> Sent | None:
    return both(place, lambda line: line.rstrip(" \t"))


def unit(place: Region) -> str:
    """One level of indentation, as the file has it."""
    leads = [m.group() for line in place.text.lines if (m := re.match(r"[ \t]+(?=\S)", line))]
    if sum(lead[0] == "\t" for lead in leads) * 2 > len(leads):
        return "\t"
    widths = [len(lead) for lead in leads if lead.isspace() and "\t" not in lead]
    return "  " if sum(width % 4 == 2 for width in widths) * 4 > len(widths) else "    "


def tabs_to_spaces(place: Region, rng: random.Random) -> Sent | None:
    width = rng.choice((2, 4, 4, 8))
    return both(place, lambda line: re.sub(r"^\t+", lambda m: " " * width * len(m.group()), line))


def spaces_to_tabs(place: Region, _: random.Random) -> Sent | None:
    width = len(unit(place).expandtabs(4))
    return both(place, lambda line: re.sub(rf"^(?: {{{width}}})+", lambda m: "\t" * (len(m.group()) // width), line))


def indent_less(place: Region, _: random.Random) -> Sent | None:
    one = unit(place)
    return both(place, lambda line: line.removeprefix(one))


def indent_more(place: Region, _: random.Random) -> Sent | None:
    one = unit(place)
    return both(place, lambda line: one + line if line.strip() else line)


def indent_of_first(place: Region, _: random.Random) -> Sent | None:
    old, new = list(place.old), list(place.new)
    old[0] = old[0].lstrip(" \t")
    if new:
        new[0] = new[0].lstrip(" \t")
    return (old, new) if old != place.old else None


def indent_of_first_old(place: Region, _: random.Random) -> Sent | None:
    """Dropped in the old text alone."""
    old = [place.old[0].lstrip(" \t"), *place.old[1:]]
    return (old, place.new) if old != place.old else None


def translated(pairs: dict[str, str]) -> Slip:
    table = str.maketrans(pairs)
    return lambda place, rng: both(place, lambda line: line.translate(table))


def quotes_typographic(place: Region, _: random.Random) -> Sent | None:
    def curl(line: str) -> str:
        line = re.sub(r'"([^"]*)"', "“\\1”", line)
        line = re.sub(r"(?<!\w)'([^']*)'", "‘\\1’", line)
        return re.sub(r"(?<=\w)'(?=\w)", "’", line)

    return both(place, curl)


def no_break_space(place: Region, rng: random.Random) -> Sent | None:
    if any("\u00a0" in line for line in place.old):
        return both(place, lambda line: line.replace("\u00a0", " "))
    return one_line(place, rng, lambda line: re.sub(r"(?<=\S) (?=\S)", "\u00a0", line, count=1))


def composition(place: Region, _: random.Random) -> Sent | None:
    return both(place, lambda line: unicodedata.normalize("NFD", line)) or both(place, lambda line: unicodedata.normalize("NFC", line))


def escapes(pairs: tuple[tuple[str, str], ...]) -> Slip:
    def spoil(line: str) -> str:
        for plain, spelled in pairs:
            line = line.replace(plain, spelled)
        return line

    return lambda place, rng: both(place, spoil)


def line_ends_spelled(place: Region, _: random.Random) -> Sent | None:
    """All line ends as two characters, so that one line is left, which ends like a line."""
    return (["\\n".join(place.old)], ["\\n".join(place.new)]) if len(place.old) > 1 else None


def line_ends_real(place: Region, _: random.Random) -> Sent | None:
    """A `\\n` or `\\t` of the source, sent as the character."""
    if not any("\\n" in line or "\\t" in line for line in place.old):
        return None
    unescape = lambda lines: "\n".join(lines).replace("\\n", "\n").replace("\\t", "\t").split("\n")  # noqa: E731
    return unescape(place.old), unescape(place.new)


def entities(place: Region, _: random.Random) -> Sent | None:
    def escape(line: str) -> str:
        return line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")

    return both(place, escape)


def invisible(place: Region, rng: random.Random) -> Sent | None:
    able = [i for i, line in enumerate(place.old) if line.strip()]
    at, character = rng.choice(able), rng.choice("\u200b\ufeff\u00ad")
    line = place.old[at]
    where = rng.choice([0, len(line) // 2, len(line)])
    old = list(place.old)
    old[at] = line[:where] + character + line[where:]
    return old, place.new


def dashes(place: Region, _: random.Random) -> Sent | None:
    def other(line: str) -> str:
        if any(c in line for c in "–—…"):
            return line.replace("–", "-").replace("—", "-").replace("…", "...")
        return re.sub(r"(?<=\S)\.\.\.", "…", re.sub(r"(?<=[ \w])-(?=[ \w])", "–", line))

    return both(place, other)


def last_line_cut(place: Region, rng: random.Random) -> Sent | None:
    last = place.old[-1]
    if len(last.strip()) < 4:
        return None
    keep = rng.randint(len(last) - len(last.lstrip()) + 1, len(last) - 1)
    return replaced(place, len(place.old) - 1, lambda line: [line[:keep]])


def first_line_cut(place: Region, rng: random.Random) -> Sent | None:
    first = place.old[0]
    if len(first.strip()) < 4:
        return None
    drop = rng.randint(len(first) - len(first.lstrip()) + 1, len(first) - 1)
    return replaced(place, 0, lambda line: [line[drop:]])


def gutter(place: Region, rng: random.Random) -> Sent | None:
    shape = rng.choice(("{}\t{}", "{}\t{}", "{:>6}\t{}", "{:>6}→{}"))
    start = place.first + 1
    numbered = lambda lines: [shape.format(start + i, line) for i, line in enumerate(lines)]  # noqa: E731
    return numbered(place.old), rng.choice((place.new, numbered(place.new)))


def letter_case(place: Region, rng: random.Random) -> Sent | None:
    def swap(line: str) -> str:
        words = [m for m in re.finditer(r"[A-Za-z]{2,}", line)]
        if not words:
            return line
        word = words[len(line) % len(words)]
        return line[:word.start()] + word.group()[0].swapcase() + line[word.start() + 1:]

    return one_line(place, rng, swap)


def typo(place: Region, rng: random.Random) -> Sent | None:
    kind, where = rng.choice("swap drop double other".split()), rng.random()

    def mistyped(line: str) -> str:
        able = [i for i in range(len(line) - 1) if line[i].isalpha() and line[i + 1].isalpha()]
        if not able:
            return line
        i = able[int(where * len(able))]
        a, b = line[i], line[i + 1]
        middle = {"swap": b + a, "drop": b, "double": a + a + b, "other": ("x" if a != "x" else "y") + b}[kind]
        return line[:i] + middle + line[i + 2:]

    return one_line(place, rng, mistyped)


def stale_line(place: Region, rng: random.Random) -> Sent | None:
    """One line as another edit made it: with another name of the same file in it, or with its last part gone."""
    names = sorted({word for line in place.text.lines for word in re.findall(r"\w{3,}", line)})
    pick = rng.random()

    def other(line: str) -> str:
        words = list(re.finditer(r"\w{3,}", line))
        if not words or len(names) < 2:
            return line
        word = words[int(pick * len(words))]
        name = names[int(pick * 7919) % len(names)]
        return line[:word.start()] + (name if name != word.group() else name + "_old") + line[word.end():]

    return one_line(place, rng, other)


def ends_added(head: int, tail: int) -> Slip:
    """A blank line too many at the head, at the end, or at both; in both texts, or in the old one alone."""

    def spoil(place: Region, rng: random.Random) -> Sent | None:
        # Where one stands already it is none too many.
        has = [near is not None and not near.strip() for near in beside(place)]
        return None if head and has[0] or tail and has[1] else around(place, rng, [""] * head, [""] * tail)

    return spoil


def beside(place: Region) -> tuple[str | None, str | None]:
    """The lines above and below the place, if there are any."""
    lines = place.text.lines
    return lines[place.first - 1] if place.first else None, lines[place.stop] if place.stop < len(lines) else None


def around(place: Region, rng: random.Random, head: list[str], tail: list[str]) -> Sent:
    """Lines that are no text of the file, around the old text, and around the new one or not."""
    new = [*head, *place.new, *tail] if place.new and rng.random() < 0.5 else place.new
    return [*head, *place.old, *tail], new


def fenced(place: Region, rng: random.Random) -> Sent | None:
    mark = rng.choice(("```", "```", "~~~"))
    return around(place, rng, [mark + rng.choice(("", "python", "rust", "ts", "text"))], [mark])


#: What a caller calls the file; the name is none of a real one.
NAMES = ("src/lib/thing.py", "thing.rs", "docs/guide/thing.md", "./thing.ts")


def name_above(place: Region, rng: random.Random) -> Sent | None:
    # A blank line below a name may be of the text or not.
    if not place.old[0].strip():
        return None
    shape = rng.choice(("{}", "{}", "# {}", "// {}", "**{}**", "`{}`", "{}:", "File: {}", "### {}", "<!-- {} -->"))
    name = shape.format(rng.choice(NAMES))
    return around(place, rng, *rng.choice((([name], []), ([name], []), ([name, ""], []), ([name, "```"], ["```"]))))


def markers(place: Region, rng: random.Random) -> Sent | None:
    count = f"-{place.first + 1},{len(place.old)} +{place.first + 1},{len(place.new)}"
    return around(place, rng, *rng.choice((
        (["<<<<<<< SEARCH"], []), (["<<<<<<< SEARCH"], ["======="]), ([], ["======="]), ([], [">>>>>>> REPLACE"]),
        (["------- SEARCH"], ["======="]), (["<<<<<<< HEAD"], []), (["@@"], []), ([f"@@ {count} @@"], []),
        (["*** Begin Patch", f"*** Update File: {NAMES[0]}", "@@"], ["*** End Patch"]), ([f"*** Update File: {NAMES[0]}"], []),
        ([f"--- a/{NAMES[0]}", f"+++ b/{NAMES[0]}", f"@@ {count} @@"], []))))


def lead(line: str) -> str:
    """The blanks and the sign of a comment, or of a quotation, that a line begins with."""
    found = re.match(r"[ \t]*(?:(?://[/!]?|#+|--|;+|%|\*|>)[ \t]+)?", line)
    return found.group() if found else ""


def lines_joined(place: Region, rng: random.Random) -> Sent | None:
    """All lines on one; brackets as a formatter closes them, or as they come."""
    tidy = rng.random() < 0.5

    def join(lines: list[str]) -> list[str]:
        full = [line for line in lines if line.strip()]
        if not full:
            return []
        sign = lead(full[0])
        rest = [line.removeprefix(sign) if sign.strip() and lead(line) == sign else line for line in full[1:]]
        one = " ".join([full[0].rstrip(), *(line.strip() for line in rest)])
        if tidy:
            one = re.sub(r",? *(?<=[\w\"'\]), ]) (?=[)\]])", "", re.sub(r"(?<=[(\[]) ", "", one))
        return [one]

    # Joined lines do not say whether blank ones stood at the ends.
    if len(place.old) < 2 or not (place.old[0].strip() and place.old[-1].strip()):
        return None
    return join(place.old), rng.choice((place.new, join(place.new)))


def wrapped_elsewhere(place: Region, rng: random.Random) -> Sent | None:
    """A line broken in two, or the last word of a line moved to the next one, with the indentation and the sign of a comment."""
    old = place.old
    able = [i for i, line in enumerate(old) if re.search(r"\w+ +\w", line[len(lead(line)):])]
    if not able:
        return None
    i, where = rng.choice(able), rng.random()
    sign = lead(old[i])
    if i + 1 < len(old) and lead(old[i + 1]) == sign and re.match(r"\w", old[i + 1][len(sign):]) and place.above <= i \
            and i + 1 < len(old) - place.below:
        body, _, word = old[i].rstrip().rpartition(" ")
        if len(body.strip()) > len(sign.strip()) + 2:
            return [*old[:i], body, sign + word + " " + old[i + 1][len(sign):], *old[i + 2:]], place.new

    def broken(line: str) -> list[str]:
        spaces = [m.start() for m in re.finditer(r"(?<=\w) (?=\w)", line) if m.start() > len(sign)]
        at = spaces[int(where * len(spaces))]
        return [line[:at], sign.replace("-", " ").replace("*", " ") + line[at + 1:]]

    return replaced(place, i, broken) if re.search(r"(?<=\w) (?=\w)", old[i][len(sign):]) else None


def spread(place: Region, rng: random.Random) -> Sent | None:
    """The arguments of a call on lines of their own, as a formatter has them; the last one with a comma or not."""
    comma = rng.choice((",", ""))
    call = re.compile(r"^([ \t]*)(.*?\w\()([^()\"'`,]+(?:, [^()\"'`,]+)+)(\).*)$")
    one = unit(place)

    def broken(line: str) -> list[str]:
        found = call.match(line)
        if found is None:
            return [line]
        inner = found[3].split(", ")
        ends = [","] * (len(inner) - 1) + [comma]
        return [found[1] + found[2], *(found[1] + one + part + end for part, end in zip(inner, ends)), found[1] + found[4]]

    able = [i for i, line in enumerate(place.old) if call.match(line)]
    return replaced(place, rng.choice(able), broken) if able else None


#: The slips of old text, by their names in the table.
SLIPS: dict[str, Slip] = {
    "none": clean,
    "blanks at line ends added": blanks_added,
    "blanks at line ends removed": blanks_removed,
    "blanks at line ends missing in both": blanks_missing,
    "tabs as spaces": tabs_to_spaces,
    "spaces as tabs": spaces_to_tabs,
    "a level of indentation less": indent_less,
    "a level of indentation more": indent_more,
    "first line without indentation": indent_of_first,
    "first line without, in old alone": indent_of_first_old,
    "quotes made typographic": quotes_typographic,
    "quotes made straight": translated({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'"}),
    "no-break space": no_break_space,
    "other composition (NFC, NFD)": composition,
    "line ends spelled out": line_ends_spelled,
    "tabs spelled out": escapes((("\t", "\\t"),)),
    "quotes spelled out": escapes((('"', '\\"'),)),
    "an escape sent as its character": line_ends_real,
    "backslashes doubled": escapes((("\\", "\\\\"),)),
    "HTML entities": entities,
    "an invisible character": invisible,
    "other dashes or ellipses": dashes,
    "last line cut short": last_line_cut,
    "first line cut": first_line_cut,
    "gutter copied": gutter,
    "letter case": letter_case,
    "a typo in one line": typo,
    "a stale line": stale_line,
    "a blank line at the head": ends_added(1, 0),
    "a blank line at the end": ends_added(0, 1),
    "a blank line at both ends": ends_added(1, 1),
    "a Markdown fence": fenced,
    "a file name above": name_above,
    "markers left in": markers,
    "lines joined": lines_joined,
    "lines wrapped elsewhere": wrapped_elsewhere,
    "a call spread over lines": spread,
}
