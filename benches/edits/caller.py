"""A caller that does what an error says, and nothing else.

It knows the text that it wanted to replace and the text that it wants there. It does not know where in the file that is now, and it
never looks at the file but by a call. After an error it follows the first of these rules that applies, in at most two further calls:

1. The hint holds a whole call as JSON, without a placeholder: it sends that; a read is rule 6.
2. The hint says *if lines A-B are what you want, nothing is left to do*: it stops if they are its new text.
3. Of several places one is next to a line that the caller saw next to its own (`below "…"`): it sends those lines as ranges. If the hint
   says that they are alike, it sends three more lines on either side.
4. The hint holds `"ranges": […]`: it sends the same patch with those, but not those of an example among several.
5. The hint holds `"file_path"`, `"file_hash"` or `"range_hash"`: it sends the same call with it.
6. The hint holds a read: it reads, then sends that `range_hash`, or its own lines if they are there once.
7. The hint says in words to stop, to merge two patches, or to send a line whole: it does.
8. `found at:` has one place: it sends those lines as ranges; with several, its text with three more lines on either side.
9. Text is shown whole, of the range or of the first similar place: it sends those lines as ranges, and that text as `old_string`.
10. It gives up.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import re
from typing import Any

import schema
from case import GET, PATCH, Case, bare, joined, patch

DECODER = json.JSONDecoder()
#: What stands for text that a hint leaves out.
PLACEHOLDER = re.compile(r"^(…|\.\.\.|<[^<>]*>)$")
#: The head of lines that an error shows, as a read has it, and the line near them that tells them from others.
HEAD = re.compile(r'["/].*? lines? (\d+)(?:-(\d+))?(?: of \d+)?(?: file_hash ([0-9a-f]+))?(?: range_hash [0-9a-f]+)?(| \((?:above|below) ".*"\))$')
#: What hints say in words.
MADE = re.compile(r"nothing is left to do|already (made|there|stands)", re.IGNORECASE)
COPY = re.compile(r"copy old_string from the text of (?:the lines you mean: )?(lines? \d+(?:-\d+)?)")
MADE_IF = re.compile(r"if (lines? \d+(?:-\d+)?) (?:is|are) what you want, nothing is left to do; else")
RENAMED = re.compile(r"`([^`]+)` is `([^`]+)`")
WHOLE = re.compile(r"send line \d+ whole")
ALIKE = re.compile(r"several places are alike")
MERGE = re.compile(r"\b(merge|join) (them|it|both|the)|\bone patch\b", re.IGNORECASE)


@dataclasses.dataclass
class Told:
    """An error, taken apart."""

    code: str
    reason: str
    hint: str
    suggestion: str
    found: list[tuple[int, int]]
    #: Of each place in `found` the line that is told beside it, as ("above" or "below", its text).
    beside: list[tuple[str, str] | None]
    #: The first similar place, with its text as it is shown.
    similar: tuple[int, int, list[str]] | None
    #: The text of the range that was asked for, with the number of its first line.
    actual: tuple[int, list[str]] | None
    #: The file's digest now.
    file_hash: str = ""
    #: Every similar place, and the line that is told beside each.
    similars: list[tuple[int, int, list[str]]] = dataclasses.field(default_factory=list)
    similars_beside: list[tuple[str, str] | None] = dataclasses.field(default_factory=list)
    #: Every line that is shown, by its number.
    lines: dict[int, str] = dataclasses.field(default_factory=dict)


def span(text: str) -> list[tuple[int, int]]:
    """The places in words such as `line 4, lines 7-9`."""
    return [(int(a), int(b or a)) for a, b in re.findall(r"\blines? (\d+)(?:-(\d+))?", text)]


def take_apart(text: str) -> Told:
    """The parts of an error's text. Of several problems the places and hints are all there, the first problem's first."""
    head = re.match(r"error: (\w+): (.*)", text)
    told = Told(head[1] if head else "", head[2] if head else text, "", "", [], [], None, None)
    named = span(re.split(r"[:,;] ", re.sub(r"^[\w.\[\]]+: ", "", told.reason))[0])
    shown: list[str] | None = None
    for line in text.split("\n")[1:]:
        if shown is not None and (numbered := re.match(r" *(\d+)\t(.*)", line)):
            if told.actual is not None and shown is told.actual[1] and not shown:
                told.actual = (int(numbered[1]), shown)
            shown.append(numbered[2])
            told.lines[int(numbered[1])] = numbered[2]
            continue
        shown = None
        word, _, rest = line.partition(":")
        if place := HEAD.match(line):
            lines = (int(place[1]), int(place[2] or place[1]))
            shown = []
            told.file_hash = place[3] or told.file_hash
            if lines in named:
                told.actual = (0, shown)
            if lines not in named or place[4]:
                told.similar = told.similar or (*lines, shown)
                told.similars.append((*lines, shown))
                told.similars_beside.append(beside(place[4]))
        elif word == "found at":
            for part in re.split(r", (?=lines? \d)", rest.strip()):
                told.found += span(part)[:1]
                told.beside.append(beside(part))
        elif word == "file_hash":
            told.file_hash = rest.strip()
        elif word == "suggestion":
            told.suggestion = rest.strip()
        elif word == "hint":
            told.hint = (told.hint + "\n" + rest.strip()).strip()
    return told


def beside(part: str) -> tuple[str, str] | None:
    """The line that is told beside a place, and on which side of the line the place is."""
    told = re.search(r'\((above|below) "(.*)"\)$', part)
    return None if told is None else (told[1], told[2])


def has_placeholder(value: Any) -> bool:
    if isinstance(value, dict):
        return any(has_placeholder(part) for part in value.values())
    if isinstance(value, list):
        return any(has_placeholder(part) for part in value)
    return isinstance(value, str) and PLACEHOLDER.match(value) is not None


def calls_in(hint: str, default: str, tools: dict[str, Any]) -> tuple[list[tuple[str, dict[str, Any]]], str]:
    """Every whole call that stands in a hint, with the tool that is named last before it; and the hint without them."""
    found = []
    rest, done = "", 0
    at = hint.find("{")
    while at >= 0:
        try:
            value, stop = DECODER.raw_decode(hint, at)
        except ValueError:
            at = hint.find("{", at + 1)
            continue
        if isinstance(value, dict) and ("file_path" in value or "files" in value):
            before = [(hint.rfind(name, 0, at), name) for name in tools]
            place, name = max(before)
            found.append((name if place >= 0 else default, value))
            rest, done = rest + hint[done:at], stop
        at = hint.find("{", stop)
    return found, rest + hint[done:]


def argument(hint: str, name: str) -> Any:
    """The value of an argument that a hint quotes as `"name": value`; None where it has none."""
    told = re.search(rf'"{name}": ?(?=["\[\d])', hint)
    if told is None:
        return None
    try:
        return DECODER.raw_decode(hint, told.end())[0]
    except ValueError:
        return None


def likeness(a: str, b: str) -> float:
    """How alike two texts are, from 0 to 1, by their words."""
    words = [re.findall(r"\w+|[^\w\s]", text) for text in (a, b)]
    return difflib.SequenceMatcher(None, *words, autojunk=False).ratio()


def only(part: list[str], lines: list[str]) -> int | None:
    """Where lines stand among others, if they do once."""
    places = [i for i in range(len(lines) - len(part) + 1) if lines[i:i + len(part)] == part]
    return places[0] if len(places) == 1 else None


@dataclasses.dataclass
class Step:
    """What the caller does next. `call` is None where it stops; `rule` says by which rule."""

    rule: str
    call: tuple[str, dict[str, Any]] | None = None


class Caller:
    """The caller of one case. `tools` are the server's input schemas by name; a `literal` one never fits its new text to lines that it
    is shown."""

    def __init__(self, case: Case, path: str, tools: dict[str, Any], literal: bool) -> None:
        self.case = case
        #: The lines that its old text stands for, with the new text that it wants there; more of them once it has sent more.
        self.own = case.own
        self.path = path
        self.tools = tools
        self.literal = literal
        #: Hints whose call our own schema refuses, with what it refuses.
        self.refused: list[str] = []
        #: Whole calls with a placeholder inside quotes: whoever sends them writes the placeholder.
        self.placeholders = 0
        #: Hints that name, for the edit, other lines than those that the caller's own text stands for or that it sent.
        self.elsewhere: list[str] = []
        #: Errors that say that the edit was made.
        self.said_made = 0
        #: What to send once a read has told a digest.
        self.after_read: dict[str, Any] | None = None
        #: The file's digest as the last error told it.
        self.file_hash = ""
        #: The last call, what its error told, what the hint offers as whole calls, and the hint without them.
        self.call: tuple[str, dict[str, Any]] = ("", {})
        self.told = take_apart("")
        self.offered: list[tuple[str, dict[str, Any]]] = []
        self.words = ""
        #: Which of several patches the last error was about.
        self.named: int | None = None
        #: Whether a call of it was made, with a warning.
        self.edited = False

    @property
    def new(self) -> str:
        """The new text that is wanted for the lines of `own`."""
        return joined(self.own.new, self.case.end)

    @property
    def old(self) -> str:
        return joined(self.own.old, self.case.end)

    def new_for(self, lines: dict[str, Any]) -> str:
        """The new text for lines that the error names: that of `own`, but less or more of the context where their text is shown whole and
        is a part of the caller's own old text, or has it as a part."""
        own = self.own
        shown = [self.told.lines.get(number) for number in range(lines["start"], lines.get("end", lines["start"]) + 1)]
        texts = [line for line in shown if line is not None]
        if self.literal or len(texts) < len(shown) or not texts:
            return self.new
        there, old, new = bare(texts), bare(own.old), own.new
        if (at := only(there, old)) is not None:
            rest = len(old) - at - len(there)
            # Both ends are in the context: the change itself is not cut.
            new = new[at:len(new) - rest] if at <= own.above and rest <= own.below else new
        elif (at := only(old, there)) is not None:
            new = [*texts[:at], *new, *texts[at + len(old):]]
        return joined(new, self.case.end if own.is_unended() else "\n")

    def ranges_schema(self) -> dict[str, Any]:
        file = self.tools[PATCH]["properties"]["files"]["items"]
        return file["properties"]["patches"]["items"]["properties"]["ranges"]

    def send(self, call: tuple[str, dict[str, Any]], place: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """The call with this one patch in place of its own, or of the one of several that the error names; what else it says of the
        file stays."""
        _, arguments = call
        file: dict[str, Any] = {"file_path": self.path}
        files = arguments.get("files")
        given = files[0] if isinstance(files, list) and files and isinstance(files[0], dict) else arguments
        file |= {key: given[key] for key in ("file_path", "file_hash", "encoding") if isinstance(given.get(key), str)}
        if "file_hash" in file and self.file_hash:
            file["file_hash"] = self.file_hash
        patches = given.get("patches")
        if isinstance(patches, list) and len(patches) > 1 and self.named is not None and self.named < len(patches):
            place = {**place, "new_string": patches[self.named]["new_string"]}
            return PATCH, {"files": [{**file, "patches": [*patches[:self.named], place, *patches[self.named + 1:]]}]}
        return PATCH, {"files": [{**file, "patches": [place]}]}

    def after_error(self, call: tuple[str, dict[str, Any]], text: str) -> Step:
        """The next step after an error: that of the first rule that applies."""
        told = take_apart(text)
        self.call, self.told, self.file_hash = call, told, told.file_hash
        named = re.match(r"patches\[(\d+)\]", told.reason)
        self.named = int(named[1]) if named else None
        self.offered, self.words = calls_in(told.hint, told.suggestion or call[0], self.tools)
        self.check_hint()
        for rule in (self.renamed, self.whole_call, self.made_if, self.told_by_neighbour, self.told_ranges, self.told_argument, self.told_read,
                     self.told_words, self.told_place):
            step = rule()
            if step is not None:
                return step
        return Step("nothing to follow")

    def check_hint(self) -> None:
        """Holds what the hint offers against our own schemas."""
        for name, value in self.offered:
            wrong = schema.problems(value, self.tools[name]) if name in self.tools else [f"no tool {name}"]
            if wrong:
                self.refused.append(f"{name}: {'; '.join(wrong)}")
            self.placeholders += has_placeholder(value)
        self.said_made += "the edit was made before" in self.told.reason and "either" not in self.told.reason
        ranges = argument(self.words, "ranges")
        if self.call[0] == PATCH and ranges is not None and not has_placeholder(ranges):
            self.refused += schema.problems(ranges, self.ranges_schema(), '"ranges"')
            self.check_lines(ranges)

    def check_lines(self, ranges: Any) -> None:
        """Whether a hint names the lines that are meant: those of `own`, or such as hold the very text that was sent."""
        if self.told.code == "ambiguous_match" or self.case.made or not isinstance(ranges, list) or len(ranges) != 1:
            return
        own, lines = self.own, {key: ranges[0].get(key) for key in ("start", "end")}
        there = bare(list(own.text.lines[lines["start"] - 1:lines["end"]]))
        # Of a text that leaves lines out, any part with the change in it is meant.
        within = own.first < lines["start"] <= own.first + own.above + 1 and own.stop - own.below <= lines["end"] <= own.stop
        if within and self.case.slip.startswith("lines left out"):
            return
        if lines != own.lines and there != bare(self.sent_old().removesuffix("\n").split("\n")):
            self.elsewhere.append(f"{lines} instead of {own.lines}")

    def renamed(self) -> Step | None:
        """The call with the names that the error gives its arguments."""
        names = dict(RENAMED.findall(self.told.reason)) if self.told.code == "invalid_arguments" else {}

        def own(value: Any) -> Any:
            if isinstance(value, dict):
                return {names.get(key, key): own(part) for key, part in value.items()}
            return [own(part) for part in value] if isinstance(value, list) else value

        return Step("arguments renamed", (self.call[0], own(self.call[1]))) if names else None

    def whole_call(self) -> Step | None:
        for name, value in self.offered:
            if not has_placeholder(value) and (name != GET or self.call[0] == GET):
                return Step("a call in the hint", (name, value))
        return None

    def made_if(self) -> Step | None:
        """Where the hint says *if these lines are what you want, nothing is left to do*, and more: whether they are."""
        condition = MADE_IF.search(self.words)
        if condition is None:
            return None
        first, last = span(condition[1])[0]
        lines = [self.told.lines.get(number) for number in range(first, last + 1)]
        wanted = [line.rstrip() for line in self.own.new]
        return Step("said made") if [line and line.rstrip() for line in lines] == wanted else None

    def told_by_neighbour(self) -> Step | None:
        """One of several places, by a line beside it that the caller has seen beside its own. Of places that are said to be no more than
        alike none is followed without."""
        if self.call[0] != PATCH:
            return None
        if len(self.told.found) > 1 and (at := self.by_neighbour(self.told.beside)) is not None:
            return Step("told by a neighbour", self.send(self.call, patch(self.sent_old(), self.new, self.lines(self.told.found[at]))))
        if ALIKE.search(self.words):
            at = self.by_neighbour(self.told.similars_beside)
            if at is not None and (shown := self.told.similars[at])[1] - shown[0] + 1 == len(shown[2]):
                lines = self.lines(shown[:2])
                return Step("told by a neighbour", self.send(self.call, patch(joined(shown[2], "\n"), self.new_for(lines), lines)))
            # Where its own text is shown, it knows what was wrong with what it sent.
            is_shown = any(bare(lines) == bare(self.own.old) for _, _, lines in self.told.similars)
            old = self.own.old if is_shown else self.sent_old().removesuffix("\n").split("\n")
            return Step("more context", self.send(self.call, patch(*self.widened(old), None)))
        return None

    def told_ranges(self) -> Step | None:
        ranges = argument(self.words, "ranges")
        if self.call[0] != PATCH or not isinstance(ranges, list) or not ranges or has_placeholder(ranges):
            return None
        # One of several places, of which none is known to be meant, is an example.
        if self.told.code == "ambiguous_match":
            return None
        if "range_hash" in ranges[0]:
            return Step("ranges by digest", self.send(self.call, patch(None, self.new_for(ranges[0]), ranges[0])))
        return Step("ranges", self.send(self.call, patch(self.sent_old(), self.new, ranges[0])))

    def told_argument(self) -> Step | None:
        if isinstance(path := argument(self.words, "file_path"), str):
            return Step("a path", self.at_path(self.call, path))
        if path := re.fullmatch(r"use (/\S[^,]*)", self.told.hint):
            return Step("a path", self.at_path(self.call, path[1]))
        for name in ("file_hash", "range_hash"):
            value = argument(self.words, name)
            if isinstance(value, str) and not has_placeholder(value):
                if name == "range_hash" and "if " in self.words and not self.is_meant(self.told):
                    continue
                return Step(name, self.with_argument(self.call, name, value))
        return None

    def told_read(self) -> Step | None:
        ranges = argument(self.words, "ranges")
        for name, value in self.offered:
            if name == GET and not has_placeholder(value):
                self.after_read = {"ranges": ranges} if isinstance(ranges, list) else {}
                return Step("a read in the hint", (name, value))
        return None

    def told_words(self) -> Step | None:
        """What a hint says in words alone."""
        if MADE.search(self.words) and not MADE_IF.search(self.words):
            return Step("said made")
        if MERGE.search(self.words):
            return Step("patches merged", self.merged())
        if self.call[0] == PATCH and (asked := self.sent_range()) is not None and WHOLE.search(self.words):
            return Step("a line sent whole", self.send(self.call, patch(self.old, self.new, asked)))
        return None

    def told_place(self) -> Step | None:
        """A place that the error shows."""
        if self.call[0] != PATCH:
            return None
        if len(self.told.found) == 1:
            lines = self.lines(self.told.found[0])
            return Step("found at", self.send(self.call, patch(self.sent_old(), self.new, lines)))
        if self.told.found:
            return Step("more context", self.send(self.call, patch(*self.widened(self.own.old), None)))
        shown = self.most_alike(self.told, self.sent_old())
        if shown is not None:
            self.check_lines(shown["ranges"])
        return None if shown is None else Step("text shown copied", self.send(self.call, shown))

    def merged(self) -> tuple[str, dict[str, Any]]:
        """One patch for two: the one that the hint writes out, else that from the caller's old text to its new."""
        keep, drop = re.search(r"patches\[(\d+)\] with", self.words), re.search(r"leave patches\[(\d+)\] out", self.words)
        new, file = argument(self.words, "new_string"), self.call[1].get("files", [{}])[0]
        patches = file.get("patches", [])
        self.named = None
        if not (isinstance(new, str) and keep and drop and int(keep[1]) < len(patches)):
            return self.send(self.call, patch(self.old, self.new, None))
        left = [{**one, "new_string": new} if i == int(keep[1]) else one for i, one in enumerate(patches) if i != int(drop[1])]
        return PATCH, {"files": [{**file, "patches": left}]}

    def sent_range(self) -> dict[str, Any] | None:
        """The lines that the call named, if it named any."""
        try:
            return self.call[1]["files"][0]["patches"][self.named or 0]["ranges"][0]
        except (KeyError, IndexError, TypeError):
            return None

    def after_read_of(self, call: tuple[str, dict[str, Any]], text: str, first: tuple[str, dict[str, Any]]) -> Step:
        """The next step after a read that an error asked for: the digest that was to be sent from it, or the lines that the caller
        meant, where they stand once in what was read."""
        head = re.match(r"(?P<path>.*?) lines (\d+)-(\d+) of \d+ .*?range_hash (?P<hash>[0-9a-f]+)", text)
        ranges = (self.after_read or {}).get("ranges")
        self.after_read = None
        if head is None or self.named is not None:
            return Step("nothing to follow")
        if isinstance(ranges, list) and ranges and isinstance(ranges[0], dict) and "range_hash" in ranges[0]:
            one = {**ranges[0], "range_hash": head["hash"]}
            return Step("ranges by digest after a read", self.send(first, patch(None, self.new, one)))
        lines = re.findall(r"^ *(\d+)\t(.*)$", text, flags=re.MULTILINE)
        shown = [line for _, line in lines]
        wanted = self.own.old
        if (at := only(wanted, shown)) is None:
            return Step("nothing to follow")
        start = int(lines[at][0])
        return Step("found in a read", self.send(first, patch(self.old, self.new, self.lines((start, start + len(wanted) - 1)))))

    def after_warning(self, call: tuple[str, dict[str, Any]], reply: Any) -> Step:
        """The next step after an edit that was made with a warning: the lines that it made are replaced by the wanted ones."""
        region = reply["files"][0]["regions"][0]
        one = {"start": region["start"], "end": region["end"], "range_hash": region["range_hash"]}
        call = (PATCH, {"files": [{"file_path": self.path}]})
        return Step("after a warning", self.send(call, patch(None, self.new, one)))

    @staticmethod
    def lines(place: tuple[int, int]) -> dict[str, int]:
        return {"start": place[0], "end": place[1]}

    def sent_old(self) -> str:
        """The old text as it was sent; the caller's own where it sent none."""
        arguments = self.call[1]
        files = arguments.get("files")
        try:
            old = files[0]["patches"][self.named or 0]["old_string"]  # type: ignore[index]
        except (KeyError, IndexError, TypeError):
            old = arguments.get("old_string")
        return old if isinstance(old, str) else self.old

    def at_path(self, call: tuple[str, dict[str, Any]], path: str) -> tuple[str, dict[str, Any]]:
        tool, arguments = call
        if isinstance(files := arguments.get("files"), list) and files and isinstance(files[0], dict):
            return tool, {**arguments, "files": [{**files[0], "file_path": path}]}
        return tool, {**arguments, "file_path": path}

    def with_argument(self, call: tuple[str, dict[str, Any]], name: str, value: str) -> tuple[str, dict[str, Any]]:
        """The call with another digest in it."""
        tool, arguments = call
        arguments = json.loads(json.dumps(arguments))
        place = arguments["files"][0] if "files" in arguments else arguments
        if name == "range_hash":
            for one in [r for p in place.get("patches", [place]) for r in p.get("ranges", [])]:
                one[name] = value
            for one in place.get("patches", []):
                one.pop("old_string", None)
                one["new_string"] = self.new
        else:
            place[name] = value
        return tool, arguments

    def most_alike(self, told: Told, sent: str) -> dict[str, Any] | None:
        """The patch with a text that is shown whole as its old text: that of the asked range, if the hint says to copy it, or that of
        the first similar place; of both, the one that is more like what was sent."""
        shown = []
        if told.actual is not None and (asked := COPY.search(told.hint)):
            first, last = span(asked[1])[0]
            shown += [(first, last, told.actual[1])] if told.actual[0] == first else []
        if told.similar is not None:
            shown.append(told.similar)
        whole = [(first, last, joined(lines, "\n")) for first, last, lines in shown if len(lines) == last - first + 1]
        if not whole:
            return None
        best = whole[0] if len(whole) == 1 else max(whole, key=lambda place: likeness(place[2], sent))
        lines = self.lines(best[:2])
        return patch(best[2], self.new_for(lines), lines)

    def is_meant(self, told: Told) -> bool:
        """Whether the text that an error shows in the range is the text that the caller meant."""
        if told.actual is None:
            return False
        return [line.rstrip() for line in told.actual[1]] == [line.rstrip() for line in self.own.old]

    def by_neighbour(self, marks: list[tuple[str, str] | None]) -> int | None:
        """The one of several places that the error tells by a line that the caller, too, has seen near its own."""
        own = self.own
        near = own.text.lines
        above, below = near[max(0, own.first - 10):own.first], near[own.stop:own.stop + 10]
        fitting = []
        for place, mark in enumerate(marks):
            if mark is not None:
                # "below X": the place stands below that line.
                side = above if mark[0] == "below" else below
                if any(line.strip().startswith(mark[1].strip().removesuffix("…")) for line in side):
                    fitting.append(place)
        return fitting[0] if len(fitting) == 1 else None

    def widened(self, old: list[str]) -> tuple[str, str]:
        """Old text and the new one with three more lines on either side; from now on they are the caller's own."""
        own = self.own
        lines = own.text.lines
        first, stop = max(0, own.first - 3), min(len(lines), own.stop + 3)
        before, after = list(lines[first:own.first]), list(lines[own.stop:stop])
        self.own = dataclasses.replace(own, first=first, stop=stop, above=own.above + len(before), below=own.below + len(after),
                                       new=[*before, *own.new, *after])
        end = "" if self.own.is_unended() else "\n"
        return joined([*before, *old, *after], end), joined(self.own.new, end)
