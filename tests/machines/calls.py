"""The calls that are cut off: what their files are before and after, and what another machine may see of them.

A call works in a directory of its own, so that no machine remembers anything of it. What is seen is what
servers answer, and at the end what is in the directory.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import mmap
import os
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from machines import Server

__all__ = ["KINDS", "NEVER", "PREFIX", "Call", "Warm", "looked_at", "make", "temporaries"]

PATCH, READ = "patch_text_file_contents", "get_text_file_contents"
PREFIX = ".mte-"
#: Said of what a machine sees of a file that was neither before nor after the call, nor between others' edits.
NEVER = "which it never held"
#: What each kind is: how many files are edited; of `mixed` one each is made, edited, moved, removed and
#: edited in place; `equal` does the same to eight names that hold five contents.
KINDS = {"one": 1, "two": 2, "forty": 40, "mixed": 0, "equal": 0, "create": 0, "in place": 0}


def content(name: str, new: bool) -> bytes:
    """400 bytes; what changes stands near the beginning and changes the length."""
    marker = "marker new, and longer than it was" if new else "marker old"
    return (f"first line of {name}\n{marker}\n" + f"rest of {name} 0123456789 0123456789\n" * 8 + "last line\n").encode()


def one_of_five(number: int) -> bytes:
    """One of five contents, all of one length."""
    return f"first line\ncontent {number}\n".encode() + b"rest 0123456789 0123456789\n" * 8 + b"last line\n"


@dataclass
class Call:
    """A call in a directory of the volume: its files before and after, None for one that is not there, and its
    arguments but for the root."""

    kind: str
    directory: str
    old: dict[str, bytes | None]
    new: dict[str, bytes | None]
    #: Further names of files: a second name of one that is edited in place.
    links: dict[str, str]
    entries: list[dict[str, Any]]
    #: What files held before somebody edited them, by their digests.
    earlier: set[tuple[str, str]] = field(default_factory=set)

    def arguments(self, root: Path) -> dict[str, Any]:
        """For a machine that has the volume there."""
        def full(entry: dict[str, Any]) -> dict[str, Any]:
            return {key: str(root / self.directory / value) if key in ("file_path", "move_to") else value for key, value in entry.items()}

        return {"files": [full(entry) for entry in self.entries]}

    def state(self, seen: dict[str, str]) -> str:
        """`old`, `new`, or in what they differ from both, of files by their digests."""
        ends = {end: {name: digest(held) for name, held in files.items()} for end, files in (("old", self.old), ("new", self.new))}
        for end, files in ends.items():
            if seen == files:
                return end

        def is_what(name: str) -> str:
            held = str(seen.get(name))
            return next((end for end in ends if held == ends[end][name]), "earlier" if (name, held) in self.earlier else f"{held}, {NEVER}")

        differing = [name for name in self.old if ends["old"][name] != ends["new"][name] or seen.get(name) != ends["old"][name]]
        found = sorted((f"{name} {is_what(name)}" for name in differing), key=lambda one: NEVER not in one)
        return f"torn: {', '.join(found[:8])}{' …' if len(found) > 8 else ''}"

    def insert(self, name: str, after: bytes, more: bytes) -> None:
        """Somebody has inserted that into a file, before the call or after it."""
        for files in (self.old, self.new):
            for own in (name, *(link for link, of in self.links.items() if of == name)):
                held = files[own]
                self.earlier.add((own, digest(held)))
                files[own] = held and held.replace(after, after + more)

    def on_disk(self, root: Path) -> dict[str, str]:
        return {name: digest(path.read_bytes()) if (path := root / self.directory / name).exists() else "absent" for name in self.old}


def digest(held: bytes | None) -> str:
    return "absent" if held is None else hashlib.sha256(held).hexdigest()


def edit(name: str, **more: Any) -> dict[str, Any]:
    lines = [content(name, new).decode().splitlines(keepends=True)[1] for new in (False, True)]
    return {"file_path": name, "patches": [{"old_string": lines[0], "new_string": lines[1]}], **more}


def make(kind: str, directory: str, root: Path) -> Call:
    """A call of that kind, and its files as they are before it."""
    edited = [f"f{number:02}" for number in range(KINDS[kind])]
    files: dict[str, tuple[bytes | None, bytes | None]] = {name: (content(name, False), content(name, True)) for name in edited}
    entries, links = [edit(name) for name in edited], {}
    made, anew = content("made", True), {"file_path": "made", "contents": content("made", True).decode()}
    if kind == "mixed":
        moved, removed = content("moved", False), content("removed", False)
        files = {"edited": (content("edited", False), content("edited", True)), "made": (None, made), "moved": (moved, None), "to": (None, moved),
                 "removed": (removed, None), "linked": (content("linked", False), content("linked", True))}
        entries = [edit("edited"), anew, {"file_path": "moved", "move_to": "to"},
                   {"file_path": "removed", "file_hash": digest(removed), "remove": True}, edit("linked")]
        links = {"linked-too": "linked"}
    elif kind == "equal":
        # Two exchange their contents, a third gets one of another; what is removed is made again beside, a file moves beside its like.
        edits = {"a": (0, 1), "b": (1, 0), "c": (2, 1)}
        five = [one_of_five(number) for number in range(5)]
        files = {name: (five[old], five[new]) for name, (old, new) in edits.items()} | {
            "removed": (five[3], None), "made": (None, five[3]), "moved": (five[4], None), "to": (None, five[4]), "like": (five[4], five[4])}
        entries = [{"file_path": name, "patches": [{"old_string": f"content {old}\n", "new_string": f"content {new}\n"}]} for name, (old, new) in edits.items()]
        entries += [{"file_path": "removed", "file_hash": digest(five[3]), "remove": True}, {"file_path": "made", "contents": five[3].decode()},
                    {"file_path": "moved", "move_to": "to"}]
    elif kind == "create":
        files, entries = {"made": (None, made)}, [anew]
    elif kind == "in place":
        files, entries, links = {"linked": (content("linked", False), content("linked", True))}, [edit("linked")], {"linked-too": "linked"}
    files |= {link: files[of] for link, of in links.items()}
    call = Call(kind, directory, {name: pair[0] for name, pair in files.items()}, {name: pair[1] for name, pair in files.items()}, links, entries)
    (root / directory).mkdir()
    for name, held in call.old.items():
        if name in links:
            (root / directory / name).hardlink_to(root / directory / links[name])
        elif held is not None:
            (root / directory / name).write_bytes(held)
    return call


def looked_at(server: Server, root: Path, call: Call, names: list[str], patience: float) -> tuple[dict[str, str], str | None]:
    """The digests of some of the call's files as a server tells them, all by one read; and the code of an error
    that is none of `not_found`."""
    paths = {str(root / call.directory / name): name for name in names}
    reply = server.call(READ, {"files": [{"file_path": path, "ranges": [{"start": 1, "end": 1}]} for path in paths]}, patience)
    facts = json.loads(reply.text)
    seen: dict[str, str] = {}
    listed = facts.get("files") or facts.get("errors") or []
    for path, found in zip(paths, listed, strict=len(paths) == len(listed)) if listed else []:
        error = found.get("error") or (found if "code" in found else None)
        if error and error["code"] != "not_found":
            return seen, f"{error['code']}: {json.dumps(facts)[:600]}"
        seen[paths[path]] = "absent" if error else found["file_hash"]
    if not listed:
        return seen, f"{facts.get('code')}: {json.dumps(facts)[:600]}"
    return seen, None


def temporaries(root: Path, call: Call) -> list[str]:
    """What is left in the directory that nobody asked for."""
    return sorted(path.name for path in (root / call.directory).iterdir() if path.name not in call.old)


class Warm:
    """Reads every file of a call, again and again, on every machine, as people and indexers do: each machine then has
    what it has seen in its caches. Reads past the kernel's pages keep them warm the longest: each answer of the disk
    about a file renews what the mount remembers of its name, too, even where the name means another file by now.
    If it `lists`, a machine has seen the temporaries, too; but then it forgets names that mean something else."""

    def __init__(self, call: Call, homes: list[Path], *, lists: bool) -> None:
        self.ended, self.lists, self.names = threading.Event(), lists, set(call.old)
        # A machine that is cut off keeps its thread waiting until it is back.
        for home in homes:
            threading.Thread(target=self.look, args=(home / call.directory,), daemon=True).start()

    def look(self, directory: Path) -> None:
        page = mmap.mmap(-1, mmap.PAGESIZE)
        while not self.ended.wait(0.02):
            with contextlib.suppress(OSError):
                # What was there may be remembered, so all names stay.
                self.names |= set(os.listdir(directory)) if self.lists else set()
            for name in list(self.names):
                for flags in (0, os.O_DIRECT):
                    if self.ended.is_set():
                        return
                    with contextlib.suppress(OSError):
                        file = os.open(directory / name, os.O_RDONLY | flags)
                        try:
                            os.preadv(file, [page], 0)
                        finally:
                            os.close(file)

    def end(self) -> None:
        self.ended.set()
