"""Random calls over few contents, killed at random system calls: all of a call or nothing, and equal bytes are never the same file.

    equal.py [--seed N] [--seconds N] [--only ROUND]

A round has a tree of its own: five contents, one of them empty, in eight names on two file systems. Servers live in it one after the other, now
and then with a narrower root. Files are created, patched, moved in chains and cycles, and removed; past edits are undone and redone. Most servers
are killed, by strace at the n-th call of one name, in a call or while they recover. Such a call is made or not made until a server with the whole
root has started: then the tree must be one of the possible states, and a file's mode tells it from others with the same bytes. A call that fits
must be made, and so must an undo of files that no later call has named. What a call did that died is in no history, so an undo then goes by bytes
alone. A round is drawn by seed and number: `--only` repeats it, with the same
kills as long as the program makes the same system calls.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from disk import alone
from harness import ONE_WORKER, Closed, Report, Server, Timeout, World, jobs, no_strace, parallel, user

NAMES = ("a", "b", "c", "n/d", "n/e", "m/k/f", "t/g", "t/h")
MODES = (0o600, 0o604, 0o606, 0o640, 0o644, 0o646, 0o660, 0o664)
CONTENTS = ("", "one\n", "two\n", "one\ntwo\n", "three\n")
#: Where a server dies: a system call, and about the most of its calls that a thread makes.
PLACES = {"renameat2": 14, "renameat": 9, "unlinkat": 12, "fsync": 32, "fdatasync": 7, "write": 20, "copy_file_range": 2, "mkdirat": 2, "pwrite64": 40}
#: The files of a tree: the content of each name, and the mode, which is None where a call has made the file.
State = dict[str, tuple[str, int | None]]
#: What a call does with a file: where it is (None: nowhere yet), where it goes (None: it is removed), what it must hold, and what it gets.
Change = tuple[str | None, str | None, str | None, str | None]


def agree(one: State, other: State) -> bool:
    return one.keys() == other.keys() and all(
        content == other[name][0] and None in (mode, other[name][1]) or (content, mode) == other[name] for name, (content, mode) in one.items())


def drawn(rng: random.Random, state: State, names: list[str]) -> list[Change]:
    """A call that fits these files."""
    there, new = [name for name in names if name in state], [name for name in names if name not in state]
    fates = {name: rng.choice(("move", "move", "move", "remove", "patch")) for name in rng.sample(there, min(len(there), rng.randint(0, 4)))}
    # Names that the call frees come first.
    free = [name for name, fate in fates.items() if fate != "patch"] + rng.sample(new, len(new))
    changes: list[Change] = []
    for name, fate in fates.items():
        content = state[name][0]
        other = rng.choice([one for one in CONTENTS if one != content]) if fate == "patch" or rng.random() < 0.3 else None
        target = next((one for one in free if one != name), None) if fate == "move" else name if fate == "patch" else None
        if target in free:
            free.remove(target)
        if target != name or other is not None:
            changes.append((name, target, None if target and other is None else content, target and other))
    changes += [(None, name, None, rng.choice(CONTENTS)) for name in free if rng.random() < 0.3 or not changes]
    return rng.sample(changes, len(changes)) if changes else drawn(rng, state, names)


def entry(tree: Path, source: str | None, target: str | None, old: str | None, new: str | None) -> dict[str, Any]:
    found: dict[str, Any] = {"file_path": str(tree / str(source or target))}
    if source is None:
        return found | {"contents": new}
    if target is None:
        return found | {"remove": True, "file_hash": hashlib.sha256(str(old).encode()).hexdigest()}
    found |= {} if target == source else {"move_to": str(tree / target)}
    return found if new is None else found | {"patches": [{"old_string": old, "new_string": new}]}


def after(changes: list[Change], state: State) -> State | None:
    """The files after a call; None if it does not fit them."""
    rest, put = dict(state), dict[str, tuple[str, int | None]]()
    for source, target, old, new in changes:
        content, mode = rest.pop(source, (None, None)) if source else (new, None)
        if content is None or old not in (None, content):
            return None
        if target:
            put[target] = content if new is None else new, mode
    return None if rest.keys() & put.keys() else rest | put


def undone(found: State, leaves: State, names: set[str], moves: dict[str, str], state: State) -> State | None:
    """The files after an undo of an edit with these plain moves, by target; None if it does not fit them."""
    now, rest = ({name: file for name, file in state.items() if (name in names) == named} for named in (True, False))
    moved = {target: now[target][0] for target in moves if target in now}  # These move back with what later edits made of them.
    found = found | {target: (content, found[target][1]) for target, content in moved.items()}
    leaves = leaves | {moves[target]: (content, leaves[moves[target]][1]) for target, content in moved.items()}
    kept = {mode for _, mode in now.values()}  # What was removed comes back with another.
    return rest | {name: (content, mode if mode in kept else None) for name, (content, mode) in leaves.items()} if agree(found, now) else None


class Round:
    def __init__(self, world: World, seed: str) -> None:
        self.tree, self.state, self.rng, self.counts, self.log = world.tree, world.state, random.Random(seed), Counter[str](), list[str]()
        #: What an edit that was answered found and left, its names, its plain moves by target, and the names that calls have named since.
        self.edits: dict[str, tuple[State, State, set[str], dict[str, str], set[str]]] = {}
        #: The names of the calls that died.
        self.unkept = set[str]()
        self.possible: list[State] = [{name: (self.rng.choice(CONTENTS[:3]), mode) for name, mode in zip(NAMES, MODES) if self.rng.random() < 0.6}]
        for directory in (self.tree / "n", self.tree / "t", self.state):
            directory.mkdir(parents=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", self.tree / "t"], check=True)
        for name, (content, mode) in self.possible[0].items():
            (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
            (self.tree / name).write_text(content)
            (self.tree / name).chmod(mode or 0)
        for path in (self.state, self.tree, *self.tree.rglob("*")):
            os.chown(path, user() or 0, user() or 0)
        self.state.chmod(0o700)

    def files(self) -> State:
        paths = [path for path in self.tree.rglob("*") if path.is_file()]
        return {str(path.relative_to(self.tree)): (path.read_text(), path.stat().st_mode & 0o777) for path in paths}

    def live(self, narrow: str, place: tuple[str, int] | None) -> list[str]:
        """A server from its start to its end; what was wrong."""
        wrap = ("strace", "-f", "-qq", "-o", os.devnull, "-e", f"trace={place[0]}", "-e", f"inject={place[0]}:signal=KILL:when={place[1]}") if place else ()
        self.log.append(f"server of {narrow or 'all'}{f', dies at {place[0]} {place[1]}' if place else ''}: {self.files()}")
        server = Server(self.tree / narrow, options=ONE_WORKER, state=self.state, user=user(), wrap=wrap, initialize=False)
        try:
            server.initialize()
            problems = [] if narrow else self.impossible()
            for _ in range(4):
                problems = problems or self.call(server, narrow)
            return problems and [*problems, *server.stderr().replace(f"{self.tree}/", "").splitlines()[-5:]]
        except (Closed, Timeout) as end:
            self.counts["kills"] += 1
            return [] if place and isinstance(end, Closed) else [f"{type(end).__name__}: {end}"]
        finally:
            server.kill()

    def impossible(self) -> list[str]:
        now = self.files()
        fit = [state for state in self.possible if agree(state, now)]
        self.possible, were = fit[:1] or self.possible, self.possible
        return [] if fit else [f"neither all of a call nor nothing: {now}", *(f"possible is: {state}" for state in were)]

    def call(self, server: Server, narrow: str) -> list[str]:
        names = [name for name in NAMES if name.startswith(narrow)]
        undoes = None if narrow else self.rng.choice([None, None, *list(self.edits)[-4:]])
        if undoes:
            before, left, named, moves, since = self.edits[undoes]
            if named & self.unkept:
                before, left = ({name: (content, None) for name, (content, _) in state.items()} for state in (before, left))
            tool, arguments, must = "undo_text_file_edits", {"edit_id": undoes}, not named & since
            news = [new for state in self.possible if (new := undone(left, before, named, moves, state)) is not None]
            moves = {source: target for target, source in moves.items()}
        else:
            changes = drawn(self.rng, {name: file for name, file in self.files().items() if name in names}, names)
            named = {name for change in changes for name in change[:2] if name}
            moves = {target: source for source, target, _, new in changes if source and target and source != target and new is None}
            tool, arguments, must = "patch_text_file_contents", {"files": [entry(self.tree, *change) for change in changes]}, not narrow
            news = [new for state in self.possible if (new := after(changes, state)) is not None]
        self.log.append(f"    undo of {undoes}: {sorted(named)}" if undoes else f"    {changes}")
        were, self.possible = self.possible, self.possible + [state for state in news if state not in self.possible]
        for edit in self.edits.values():
            edit[4].update(named)
        kept, self.unkept = self.unkept, self.unkept | named
        reply = server.call(tool, arguments)
        self.unkept = kept
        self.log.append(f"        {reply.text[:600].replace(f'{self.tree}/', '') if reply.is_error else reply.text[:40]}")
        self.counts[f"{'undone' if undoes else 'made'}{' not' * reply.is_error}"] += 1
        self.possible = news if news and not reply.is_error else were
        if reply.is_error and must or not reply.is_error and not news:
            return ["it was refused" if reply.is_error else "it does not fit, and was made"]
        if not reply.is_error and not narrow:
            self.edits[reply.json["edit_id"]] = *({name: file for name, file in state.items() if name in named} for state in (were[0], news[0])), named, moves, set()
        return [] if narrow else self.impossible()


def one(world: World, seed: str) -> tuple[Counter[str], list[str]]:
    """A round: what it counted, and what was wrong."""
    world.remove_all()
    try:
        this, problems = Round(world, seed), list[str]()
        for _ in range(this.rng.randint(1, 3)):
            name, narrow = this.rng.choice(list(PLACES)), this.rng.choice(["", "", "", "n", "t"])
            problems = problems or this.live(narrow, (name, this.rng.randint(1, PLACES[name])))
        problems = problems or this.live("", None) or [f"left: {path}" for path in (this.state / "journal").iterdir()]
        return this.counts, [*this.log, *problems] if problems else []
    finally:
        subprocess.run(["umount", "-l", world.tree / "t"], capture_output=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED", "0")) or int(time.time()))
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--only", type=int, help="the number of a round")
    options = parser.parse_args()
    report, counts, until, number = Report(), Counter[str](), time.monotonic() + options.seconds, options.only or 0
    if reason := no_strace() or (None if os.geteuid() == 0 else "only root can mount a second file system"):
        report.skip("equal contents", reason)
        return report.end()
    alone()
    while time.monotonic() < until and options.only in (None, number):
        numbers = range(number, number := number + (20 * jobs() if options.only is None else 1))
        for seed, outcome in parallel(one, [f"{options.seed}:{number}" for number in numbers]):
            found, problems = outcome if isinstance(outcome, tuple) else ({}, [outcome])
            counts.update(found)
            report.case(f"--seed {' --only '.join(seed.split(':'))}", problems)
    print(f"seed {options.seed}: {', '.join(f'{count} {what}' for what, count in sorted(counts.items()))}")
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
