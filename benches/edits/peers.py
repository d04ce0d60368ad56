"""The same edits sent to other servers, in their own form. After an error the caller reads the file again and sends what stands there,
since those errors hold nothing to follow."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
from typing import Any

from case import GET, HASHES, PATCH, TEXT, Case, joined
from play import GIVEN_UP, LATER, MADE, ONCE, WRONG_ONCE, WRONG_TWO, Played, Player, session

Call = tuple[str, dict[str, Any]]


class OldText:
    """`edit_file` of @modelcontextprotocol/server-filesystem, and of the servers that took its form."""

    mode = TEXT

    def call(self, path: str, old: str, new: str) -> Call:
        return "edit_file", {"path": path, "edits": [{"oldText": old, "newText": new}]}

    def first(self, case: Case, path: str) -> Call | None:
        """The case's call in this form; None for one that has no such form."""
        _, arguments = case.call(path)
        files = arguments.get("files")
        if case.path is not None or case.read is not None or not isinstance(files, list) or "file_hash" in files[0]:
            return None
        patches = files[0]["patches"]
        if not isinstance(patches, list) or len(patches) != 1 or "ranges" in patches[0] or "old_string" not in patches[0]:
            return None
        return self.call(path, patches[0]["old_string"], patches[0]["new_string"])

    def read(self, path: str) -> Call:
        return "read_text_file", {"path": path}

    def again(self, case: Case, path: str, read: str) -> Call:
        return self.call(path, joined(case.own.old, case.end), joined(case.own.new, case.end))

    def failed(self, reply: session.Reply) -> bool:
        return reply.is_error


class LinesAndHashes:
    """`patch_text_file_contents` of mcp-text-editor 1.x: lines by number, a hash of them and one of the file."""

    mode = HASHES

    def call(self, case: Case, path: str, data: bytes, start: int, end: int, text: str) -> Call:
        one = {"start": start, "end": end, "contents": joined(case.own.new, "\n"),
               "range_hash": hashlib.sha256(text.encode()).hexdigest()}
        return PATCH, {"file_path": path, "file_hash": hashlib.sha256(data).hexdigest(), "patches": [one]}

    def first(self, case: Case, path: str) -> Call | None:
        if case.mode != HASHES or case.ranges is None or case.path is not None or case.read is not None:
            return None
        _, arguments = case.call(path)
        named = arguments["files"][0]["patches"][0]["ranges"][0]
        # The hashes are those of the file as it was read, before others changed it.
        return self.call(case, path, case.hunk.data, named["start"], named["end"], joined(case.own.old, "\n"))

    def read(self, path: str) -> Call:
        return GET, {"files": [{"file_path": path, "ranges": [{"start": 1}]}]}

    def again(self, case: Case, path: str, read: str) -> Call | None:
        try:
            content = json.loads(read)[path]["ranges"][0]["content"]
        except (ValueError, KeyError, IndexError, TypeError):
            return None
        lines, wanted = content.split("\n"), case.own.old
        places = [i for i in range(len(lines) - len(wanted) + 1) if lines[i:i + len(wanted)] == wanted]
        if not places:
            return None
        # Of several the caller takes the nearest to where it was.
        start = min(places, key=lambda place: abs(place - case.own.first))
        return self.call(case, path, content.encode(), start + 1, start + len(wanted), joined(wanted, "\n"))

    def failed(self, reply: session.Reply) -> bool:
        return reply.is_error or '"result": "error"' in reply.text


#: By the beginning of the name that `--peer` gives.
ADAPTERS = {"filesystem": OldText, "rust-filesystem": OldText, "mcp-text-editor": LinesAndHashes}


def adapter(name: str) -> type[OldText] | type[LinesAndHashes] | None:
    return next((adapter for begin, adapter in ADAPTERS.items() if name.startswith(begin)), None)


class Peer(Player):
    """A process of another server."""

    def __init__(self, name: str, command: str) -> None:
        program, *rest = shlex.split(command)
        super().__init__(shutil.which(program) or os.path.abspath(program), rest, fixed=())
        found = adapter(name)
        assert found is not None, name
        self.adapter = found()

    def send(self, played: Played, call: Call) -> session.Reply:
        reply = self.server.call(*call)
        played.calls += 1
        played.sent += len(json.dumps(call[1], ensure_ascii=False, separators=(",", ":")))
        played.received += len(reply.text)
        played.dialogue.append((*call, reply.text))
        return reply

    def play(self, case: Case, names: tuple[str, ...]) -> Played | None:  # type: ignore[override]
        """Plays a case; None for one that has no form there."""
        path = os.path.join(self.root, case.hunk.path)
        call = self.adapter.first(case, path)
        if call is None or case.mode != self.adapter.mode:
            return None
        self.set_up(names)
        with open(path, "wb") as file:
            file.write(case.before)
        played = Played(case.slip, case.mode, case.hunk.key(), GIVEN_UP, 0, 0, 0, [], "", [], [], 0, [], 0, [])
        for landed, wrong in ((ONCE, WRONG_ONCE), (LATER, WRONG_TWO)):
            reply = self.send(played, call)
            data = self.data(path)
            if not self.adapter.failed(reply):
                played.outcome = (MADE if case.made else landed) if data in case.wanted else wrong
                break
            played.errors.append(len(reply.text))
            if data != case.before:
                played.outcome = wrong
                break
            if case.made:
                break
            read = self.send(played, self.adapter.read(path))
            again = self.adapter.again(case, path, read.text) if landed == ONCE else None
            if again is None:
                break
            call = again
        return played


def comparable(played: list[Played], peer: list[Played]) -> list[Played]:
    """Of what our server played the cases that the peer played, too."""
    keys = {(case.slip, case.mode, case.key) for case in peer}
    return [case for case in played if (case.slip, case.mode, case.key) in keys]
