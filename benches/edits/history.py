"""Edits as people made them: the hunks of a repository's commits, newest first.

Git is asked a few times for a repository, however many commits are wanted: for the commits with their hunks, for the blobs, and
for the names in a tree. A bare repository serves as well as a work tree.
"""

from __future__ import annotations

import dataclasses
import re
import subprocess

#: Files above this many bytes are left out, and above the second number hunks of them, too: they are generated more often than
#: written.
MAX_BYTES, MAX_SPOILED_BYTES = 2_000_000, 300_000
#: Hunks of more lines, old and new together, are not spoiled: they are moves, or generated.
MAX_LINES = 60
#: Nobody edits these by hand.
GENERATED = re.compile(r"(^|/)(dist|vendor|node_modules)/|lock(\.json|\.yaml)?$|\.min\.|\.(snap|map|svg)$")
BOM = b"\xef\xbb\xbf"


@dataclasses.dataclass(frozen=True)
class Text:
    """A file that is text: its lines without their ends, all of one kind, and whether the last is ended."""

    bom: bytes
    lines: tuple[str, ...]
    eol: str
    final: bool

    def with_lines(self, lines: list[str] | tuple[str, ...], final: bool | None = None) -> bytes:
        """The bytes of a file like this one that has these lines."""
        ended = self.final if final is None else final
        text = self.eol.join(lines) + (self.eol if ended and lines else "")
        return self.bom + text.encode()

    def body(self) -> str:
        """The text as a client sees it: lines end in `\\n`."""
        return "\n".join(self.lines) + ("\n" if self.final and self.lines else "")


def text_of(data: bytes) -> Text | None:
    """The text of a file; None for what an edit by text cannot be measured on: NUL bytes, no UTF-8, line ends of two kinds, lone
    CRs."""
    bom = BOM if data.startswith(BOM) else b""
    try:
        text = data[len(bom):].decode()
    except UnicodeDecodeError:
        return None
    eol = "\r\n" if "\r\n" in text else "\n"
    plain = text.replace("\r\n", "\n")
    if "\0" in text or "\r" in plain or "\ufeff" in text or (eol == "\r\n" and plain.count("\n") != text.count("\r\n")):
        return None
    final = plain.endswith("\n")
    lines = plain.split("\n")
    if final or plain == "":
        lines.pop()
    return Text(bom, tuple(lines), eol, final)


@dataclasses.dataclass(frozen=True)
class Change:
    """A file that a commit changed, as blobs, with its hunks as (first old line from 0, old lines, first new line, new lines)."""

    path: str
    before: str
    after: str
    hunks: tuple[tuple[int, int, int, int], ...]


@dataclasses.dataclass(frozen=True)
class Commit:
    """A commit that is no merge, with the files that it modified; what it added or removed is not here."""

    repository: str
    name: str
    changes: tuple[Change, ...]


@dataclasses.dataclass(frozen=True)
class Hunk:
    """One hunk of a commit, by itself: `count` lines from `first` (counted from 0) of `text` become `new`."""

    repository: str
    commit: str
    path: str
    data: bytes
    text: Text
    first: int
    count: int
    new: tuple[str, ...]

    @property
    def old(self) -> tuple[str, ...]:
        return self.text.lines[self.first:self.first + self.count]

    @property
    def stop(self) -> int:
        return self.first + self.count

    def key(self) -> str:
        return f"{self.commit[:12]}:{self.path}:{self.first + 1}"


class Repository:
    """A git repository, by the path of its work tree or of its git directory."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.blobs: dict[str, bytes] = {}
        self.texts: dict[str, Text | None] = {}
        self.command = ["git", "-C", path, "-c", "core.quotePath=false"]
        self._trees: dict[str, list[str]] = {}

    def git(self, *arguments: str, stdin: bytes = b"") -> bytes:
        return subprocess.run([*self.command, *arguments], input=stdin, capture_output=True, check=True).stdout

    def commits(self, most: int) -> list[Commit]:
        """The newest commits that modify a file, without merges, and their blobs read."""
        found: dict[str, Commit] = {}
        since = "HEAD"
        while len(found) < most:
            done = subprocess.run([*self.command, "log", "--no-merges", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color",
                                   "--diff-filter=M", "--raw", "--no-abbrev", "--patch", "--unified=0", "--format=commit %H",
                                   f"--max-count={most - len(found)}", since], capture_output=True)
            commits = parse(self.path, done.stdout)
            # A snapshot may lack large blobs: git ends at one, and the walk goes on behind that commit.
            stopped = None if done.returncode == 0 else re.findall(rb"^commit (\w+)$", done.stdout, re.MULTILINE)[-1:]
            if stopped and commits and commits[-1].name == stopped[0].decode():
                commits.pop()
            found.update((commit.name, commit) for commit in commits)
            if not stopped or since == f"{stopped[0].decode()}^":
                break
            since = f"{stopped[0].decode()}^"
        self.fetch({name for commit in found.values() for change in commit.changes for name in (change.before, change.after)})
        return list(found.values())

    def fetch(self, names: set[str]) -> None:
        """Reads blobs, those aside that are larger than a file may be here."""
        wanted = sorted(names - set(self.blobs))
        if not wanted:
            return
        sizes = self.git("cat-file", "--batch-check=%(objectname) %(objectsize)", stdin="\n".join(wanted).encode() + b"\n")
        small = []
        for line in sizes.decode().splitlines():
            name, _, size = line.partition(" ")
            if size.isdigit() and int(size) <= MAX_BYTES:
                small.append(name)
        out = self.git("cat-file", "--batch", stdin="".join(f"{name}\n" for name in small).encode())
        at = 0
        while at < len(out):
            stop = out.index(b"\n", at)
            name, _, size = out[at:stop].decode().split(" ")
            self.blobs[name] = out[stop + 1:stop + 1 + int(size)]
            at = stop + 2 + int(size)

    def text(self, blob: str) -> Text | None:
        """The text of a blob; None where it is not text, or too large."""
        if blob not in self.texts:
            data = self.blobs.get(blob)
            self.texts[blob] = None if data is None else text_of(data)
        return self.texts[blob]

    def names(self, commit: str) -> list[str]:
        """The paths of all files before a commit."""
        if commit not in self._trees:
            out = self.git("ls-tree", "-r", "-z", "--name-only", f"{commit}^")
            self._trees[commit] = [name.decode(errors="replace") for name in out.split(b"\0") if name]
        return self._trees[commit]

    def hunks(self, commits: list[Commit]) -> list[Hunk]:
        """All hunks that can be put as an edit by text, in the order of the commits."""
        found = []
        for commit in commits:
            for change in commit.changes:
                before, after = self.text(change.before), self.text(change.after)
                if before is None or after is None or before.eol != after.eol or before.bom != after.bom:
                    continue
                if GENERATED.search(change.path) or len(self.blobs[change.before]) > MAX_SPOILED_BYTES:
                    continue
                for first, count, new_first, new_count in change.hunks:
                    if not 0 < count + new_count <= MAX_LINES:
                        continue
                    new = after.lines[new_first:new_first + new_count]
                    ends = first + count == len(before.lines)
                    # Where the final newline comes or goes, the edit is not one of lines alone: the replay has those.
                    if ends and not (before.final and after.final) and (before.final != after.final or not new):
                        continue
                    found.append(Hunk(self.path, commit.name, change.path, self.blobs[change.before], before, first, count, new))
        return found


HEAD = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def parse(repository: str, out: bytes) -> list[Commit]:
    """The commits of a `git log --raw --patch --unified=0`. No line of a file can be taken for a line of git's: each has a sign in
    front."""
    commits: list[Commit] = []
    name, files, hunks, at = "", [], [], -1

    def end() -> None:
        changes = tuple(Change(path, before, after, tuple(found)) for (path, before, after, usable), found in zip(files, hunks)
                        if usable and found)
        if changes:
            commits.append(Commit(repository, name, changes))

    for line in out.split(b"\n"):
        if line.startswith(b"commit "):
            end()
            name, files, hunks, at = line[7:].decode(), [], [], -1
        elif line.startswith(b":"):
            facts, _, path = line.partition(b"\t")
            old_mode, mode, before, after, _ = facts.decode().split(" ")
            usable = old_mode.startswith(":100") and mode.startswith("100") and not path.startswith(b'"')
            files.append((path.decode(errors="replace"), before, after, usable and b"\xef\xbf\xbd" not in path))
            hunks.append([])
        elif line.startswith(b"diff --git "):
            at += 1
        elif (head := HEAD.match(line)) and at >= 0:
            a, b, c, d = (int(x) if x is not None else 1 for x in head.groups())
            # Of no lines git names the one before.
            hunks[at].append((a - 1 if b else a, b, c - 1 if d else c, d))
    end()
    return commits
