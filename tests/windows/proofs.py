#!/usr/bin/env python3
"""What the program for Windows does under Wine, from outside, where locks are as mandatory as on Windows (MTE_MANDATORY=1; shim.c).

    proofs.py [--seed S] [--cases 2000]

- calls at once: 12 edits and 6 reads of the same files, to one process and to two that share a state directory; each call must succeed, and
  the files end with all 12 edits;
- a session: every tool, undo and redo with them; after each call the files are, byte for byte, what the naive model of tests/clients says;
- paths: paths.py, every spelling that Windows has for one, on a drive and on a share;
- random edits: tests/clients/random_edits.py, which knows nothing of Windows.

WINE_RUNNER and WINE_PROGRAM are as in wine.py; on Windows MCP_TEXT_EDITOR_BIN names the program, and Wine is not there. Ends with
`N passed, M failed`. Standard library alone (Python 3.11).
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "clients"))
if "WINE_PROGRAM" in os.environ:
    os.environ["MCP_TEXT_EDITOR_BIN"] = str(HERE / "wine.py")

import model  # noqa: E402
import paths  # noqa: E402
from model import digest  # noqa: E402
from session import Reply, Server  # noqa: E402

GET, PATCH, APPEND, INSERT = (f"{verb}_text_file_contents" for verb in ("get", "patch", "append", "insert"))
DELETE, CREATE, LIST, UNDO = "delete_text_file_contents", "create_text_file", "list_text_file_edits", "undo_text_file_edits"
JSON = ("--tools", "all", "--output", "json")


class Wrong(Exception):
    """What is not as it must be."""


def must(holds: bool, what: object) -> None:
    if not holds:
        raise Wrong(what)


def good(reply: Reply) -> Reply:
    must(not reply.is_error, reply)
    return reply


def at_once(processes: int, rng: random.Random) -> None:
    """Calls of which each must succeed, sent before the first answer is looked at."""
    with tempfile.TemporaryDirectory(prefix="mte-") as name, tempfile.TemporaryDirectory(prefix="mte-state-") as state:
        root = Path(name).resolve()
        files = [root / f"{number}.txt" for number in range(3)]
        for file in files:
            file.write_bytes(b"".join(b"line %d\r\n" % number for number in range(2000)))
        servers = [Server(root, options=JSON, state=state) for _ in range(processes)]
        try:
            for turn in range(5):
                edits = [(PATCH, {"file_path": str(files[number % 3]), "old_string": f"line {turn * 100 + number}\n",
                                  "new_string": f"edit {turn * 100 + number}\n"}) for number in range(12)]
                reads = [(GET, {"file_path": str(files[number % 3]), "line_start": 1, "line_end": 50}) for number in range(6)]
                calls = edits + reads
                rng.shuffle(calls)
                asked = [(servers[number % processes], servers[number % processes].start(tool, arguments))
                         for number, (tool, arguments) in enumerate(calls)]
                for server, request in asked:
                    good(Reply(server.wait(request)))
            for number, file in enumerate(files):
                edited = {turn * 100 + edit for turn in range(5) for edit in range(12) if edit % 3 == number}
                expected = b"".join(b"%s %d\r\n" % (b"edit" if line in edited else b"line", line) for line in range(2000))
                must(file.read_bytes() == expected, f"{file.name} has not all edits, once each")
            must(sorted(root.iterdir()) == files, f"something was left behind: {sorted(root.iterdir())}")
        finally:
            for server in servers:
                server.close()


def session(_: random.Random) -> None:
    """Every tool; a list of what the files were before each edit is what undo is held against."""
    with tempfile.TemporaryDirectory(prefix="mte-") as name:
        root = Path(name).resolve()
        one, other, new = root / "one.txt", root / "sub dir" / "zwei.txt", root / "a" / "b" / "neu ü.txt"
        other.parent.mkdir()
        files = {one: b"\xef\xbb\xbfalpha\r\nbeta\r\ngamma\r\n", other: "eins\nzwei\ndrei".encode("utf-16")}
        for path, data in files.items():
            path.write_bytes(data)

        def is_as_expected(after: str) -> None:
            there = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
            must(there == files, f"after {after}: {there} is not {files}")

        with Server(root, options=JSON) as server:
            def edit(tool: str, arguments: dict[str, object], expected: dict[Path, bytes]) -> str:
                dry = good(server.call(tool, {**arguments, "dry_run": True}))
                must(dry.json["result"] == "dry_run", dry)
                is_as_expected(f"the dry run of {tool}")
                facts = good(server.call(tool, arguments)).json
                files.update(expected)
                is_as_expected(tool)
                told = {entry["file_path"]: entry["file_hash"] for entry in facts["files"]}
                must(told == {str(path): digest(data) for path, data in expected.items()}, facts)
                must("edit_id" in facts, facts)
                return facts["edit_id"]

            read = good(server.call(GET, {"file_path": str(one)})).json["files"][0]
            must((read["file_hash"], read["total_lines"]) == (digest(files[one]), 3), read)
            before, ids = [dict(files)], []

            def made(edit_id: str) -> None:
                ids.append(edit_id)
                before.append(dict(files))

            made(edit(CREATE, {"file_path": str(new), "contents": "first\n"}, {new: b"first\n"}))
            patches = [{"old_string": "beta\n", "new_string": "βήτα\nmore\n"}]
            wide = [{"old_string": "zwei", "new_string": "2"}]
            both = {"files": [{"file_path": str(one), "patches": patches}, {"file_path": str(other), "patches": wide}]}
            made(edit(PATCH, both, {one: model.patch(files[one], patches).data, other: model.patch(files[other], wide).data}))
            tag = digest(files[one])
            made(edit(APPEND, {"file_path": str(one), "contents": "end", "file_hash": tag},
                      {one: model.append(files[one], "end", tag).data}))
            tag = digest(files[other])
            made(edit(INSERT, {"file_path": str(other), "contents": "null\n", "before": 1, "file_hash": tag},
                      {other: model.insert(files[other], "null\n", tag, before=1).data}))
            tag, ranges = digest(files[one]), [{"start": 2, "end": 3}]
            for each in ranges:
                each["range_hash"] = digest(model.read(files[one], None).bytes_of(each["start"] - 1, each["end"] - 1))  # type: ignore[assignment]
            made(edit(DELETE, {"file_path": str(one), "ranges": ranges, "file_hash": tag},
                      {one: model.delete(files[one], ranges, tag).data}))
            listed = good(server.call(LIST, {"file_path": str(root)})).json
            must([entry["edit_id"] for entry in listed["edits"]] == ids[::-1], listed)
            # All the way back, the made directories with it, and the last of them again.
            for number in reversed(range(len(ids))):
                undone = good(server.call(UNDO, {"edit_id": ids[number]})).json["edit_id"]
                files.clear()
                files.update(before[number])
                is_as_expected(f"the undo of edit {number}")
            must(not (root / "a").exists(), "undo of a create left its directories")
            good(server.call(UNDO, {"edit_id": undone}))
            files.update(before[1])
            is_as_expected("the redo of the create")
            must(server.strays == [], server.strays)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=2000)
    options = parser.parse_args()
    proofs: dict[str, Callable[[random.Random], None]] = {
        "12 edits and 6 reads at once, one process": lambda rng: at_once(1, rng),
        "12 edits and 6 reads at once, two processes": lambda rng: at_once(2, rng),
        "a session of all tools": session,
        "paths on a drive": lambda _: paths.paths(must),
        "paths on a share": lambda _: paths.share(must),
    }
    failed = 0
    for name, proof in proofs.items():
        try:
            proof(random.Random(options.seed))
            print(f"ok: {name}", flush=True)
        except Exception as error:  # noqa: BLE001 - whatever it is, the others are still to be tried
            failed += 1
            print(f"FAILED: {name}: {type(error).__name__}: {str(error)[:3000]}", flush=True)
    print(f"{len(proofs) - failed} passed, {failed} failed", flush=True)
    edits = subprocess.run([sys.executable, HERE.parent / "clients/random_edits.py", "--seed", str(options.seed),
                            "--cases", str(options.cases)], check=False)
    return 1 if failed or edits.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
