"""Plays cases against a server: sends a call, follows what an error says, and looks what the file became."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from caller import Caller, Step
from case import GET, Case

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "clients"))
import session  # noqa: E402

#: What became of an edit.
ONCE, TWO, LATER, MADE, GIVEN_UP, WRONG_ONCE, WRONG_TWO, FALSE_MADE = (
    "at once", "in two", "later", "made", "given up", "wrong at once", "wrong in two", "false made")
OUTCOMES = (ONCE, TWO, LATER, MADE, GIVEN_UP, WRONG_ONCE, WRONG_TWO, FALSE_MADE)
#: What no edit here needs, and much of the time: a history, and waiting for the disk. And histories have files by which clients start
#: programs.
FAST = ("--no-history", "--durability", "process", "--unprotect", "**")
#: Calls after the first.
FURTHER = 2


@dataclasses.dataclass
class Played:
    """What became of one case."""

    slip: str
    mode: str
    key: str
    outcome: str
    calls: int
    sent: int
    received: int
    #: Characters of each error.
    errors: list[int]
    code: str
    rules: list[str]
    refused: list[str]
    placeholders: int
    #: Hints that name other lines than those that were meant.
    elsewhere: list[str]
    #: Errors that say that the edit was made, though it was not.
    said_made: int
    #: (tool, arguments, reply), call by call.
    dialogue: list[tuple[str, dict[str, Any], str]]

    def is_form(self) -> bool:
        return self.slip.startswith("form: ")


class Player:
    """A server process with a root of its own."""

    def __init__(self, binary: str, options: list[str], fixed: tuple[str, ...] = FAST, literal: bool = False) -> None:
        self.literal = literal
        fast = "/dev/shm" if os.path.isdir("/dev/shm") and os.access("/dev/shm", os.W_OK) else None
        self.home = os.path.realpath(tempfile.mkdtemp(prefix="mte-edits-", dir=fast))
        self.root = os.path.join(self.home, "work")
        os.mkdir(self.root)
        os.environ["MCP_TEXT_EDITOR_BIN"] = binary
        self.server = session.Server(self.root, options=[*fixed, *options], env={"HOME": self.home},
                                     state=os.path.join(self.home, "state"))
        self.tools = {tool["name"]: tool["inputSchema"] for tool in self.server.tools()}
        self.tree: tuple[str, ...] = ()

    def close(self) -> None:
        self.server.close()
        shutil.rmtree(self.home, ignore_errors=True)

    def set_up(self, names: tuple[str, ...]) -> None:
        """Makes the root hold empty files of these names, and nothing else."""
        if names == self.tree:
            return
        # The root itself stays: the server holds it.
        for entry in os.scandir(self.root):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)
        for name in names:
            path = os.path.join(self.root, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            open(path, "wb").close()
        self.tree = names

    def strays(self) -> list[str]:
        """Files that a call made and nobody asked for; they are removed."""
        known = set(self.tree)
        found = []
        for folder, _, files in os.walk(self.root):
            for file in files:
                name = os.path.relpath(os.path.join(folder, file), self.root)
                if name not in known:
                    found.append(name)
                    os.unlink(os.path.join(folder, file))
        return found

    def play(self, case: Case, names: tuple[str, ...]) -> Played:
        """Plays one case in a tree of these files, of which one is the case's."""
        self.set_up(names)
        path = os.path.join(self.root, case.hunk.path)
        with open(path, "wb") as file:
            file.write(case.before)
        if GET in self.tools:
            # Else what the case before left under this name counts as shown, and this as another program's change.
            self.server.call(GET, {"file_path": path})
        caller = Caller(case, path, self.tools, self.literal)
        call = case.call(case.path(self.root, case.hunk.path) if case.path else path)
        first, played = call, Played(case.slip, case.mode, case.hunk.key(), GIVEN_UP, 0, 0, 0, [], "", [], [], 0, [], 0, [])
        for attempt in range(1 + FURTHER):
            reply = self.server.call(*call)
            text = reply.text if reply.rpc_error is None else json.dumps(reply.rpc_error)
            played.calls += 1
            played.sent += len(json.dumps(call[1], ensure_ascii=False, separators=(",", ":")))
            played.received += len(text)
            played.dialogue.append((*call, text))
            data = self.data(path)
            outcome, step = self.judge(case, caller, call, first, reply, text, data, attempt, played)
            if outcome is not None:
                played.outcome = outcome
                break
            played.rules.append(step.rule)
            if step.call is None:
                # What stands in the file tells whether the edit was made.
                played.outcome = (MADE if data in case.wanted else FALSE_MADE) if step.rule == "said made" else GIVEN_UP
                break
            call = step.call
        played.refused, played.placeholders, played.elsewhere = caller.refused, caller.placeholders, caller.elsewhere
        played.said_made = 0 if case.made else caller.said_made
        if case.path and (strays := self.strays()):
            played.outcome = WRONG_TWO
            played.rules.append(f"made {strays}")
        return played

    def data(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def judge(self, case: Case, caller: Caller, call: tuple[str, dict[str, Any]], first: tuple[str, dict[str, Any]],
              reply: session.Reply, text: str, data: bytes, attempt: int, played: Played) -> tuple[str | None, Step]:
        """What a reply means for the case: its outcome, or the next step."""
        tool = call[0]
        landed = (ONCE, TWO, LATER)[attempt]
        wrong = WRONG_ONCE if attempt == 0 else WRONG_TWO
        if reply.is_error:
            played.errors.append(len(text))
            played.code = played.code or str(reply.code)
            if data != case.before and not caller.edited:
                return wrong, Step("an error that changed the file")
            if attempt and played.rules[-1].startswith("a call in the hint") and reply.code == "invalid_arguments":
                caller.refused.append(f"{tool}: sent, and refused: {text.splitlines()[0]}")
            return None, caller.after_error(call, text)
        if tool == GET:
            if case.read is None:
                return None, caller.after_read_of(call, text, first)
            return landed if shows(text, *case.read) else wrong, Step("read")
        if data in case.wanted:
            return (MADE if case.made else landed), Step("landed")
        facts = reply.json
        warnings = facts.get("warnings", []) if isinstance(facts, dict) else []
        if any("indentation" in warning for warning in warnings) and not caller.edited:
            caller.edited = True
            return None, caller.after_warning(call, facts)
        return wrong, Step("wrong")


def shows(text: str, first: int, last: int) -> bool:
    """Whether a read's reply shows just these lines."""
    return f" lines {first}-{last} of " in text.split("\n", 1)[0]
