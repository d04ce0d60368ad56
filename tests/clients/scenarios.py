"""Replays scenarios/NNN_name over real stdio: the calls must do to before/ what after/ shows, byte for byte.

    scenarios.py [--update] [NAME…]

A scenario is `before/` (the files; may be missing), `calls.jsonl`, `after/` (missing: no file is left), and beside them
`options` (further options of the server, as in a shell) and `replies.snap`, where every reply is kept as text with the
directory written `$ROOT` and ids of edits masked; `--update` writes it.

A line of calls.jsonl is {"tool", "arguments", "expect"?, "contains"?}. In strings of the arguments `$ROOT` is the directory,
`$HASH(path)` the present file's digest, `$RANGE(path,start,end)` that of these lines. `expect` is "ok" or an error's code;
`contains` lists what the reply's text must hold.
"""

from __future__ import annotations

import argparse
import difflib
import json
import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import model
from session import Closed, Reply, Server, Timeout

HERE = Path(__file__).resolve().parents[2] / "scenarios"


def lines_digest(path: Path, start: int, end: int) -> str:
    data = path.read_bytes()
    try:
        doc = model.read(data, None)
    except model.Failure:
        doc = model.read(data, "latin1")  # no legacy encoding has a line end inside a character
    return model.digest(doc.bytes_of(start - 1, end - 1))


def filled(value: Any, root: Path) -> Any:
    """The arguments with their placeholders replaced."""
    if isinstance(value, dict):
        return {k: filled(v, root) for k, v in value.items()}
    if isinstance(value, list):
        return [filled(v, root) for v in value]
    if not isinstance(value, str):
        return value
    value = re.sub(r"\$HASH\(([^,()]+)\)", lambda m: model.digest((root / m[1]).read_bytes()), value)
    value = re.sub(r"\$RANGE\(([^,()]+),(\d+),(\d+)\)", lambda m: lines_digest(root / m[1], int(m[2]), int(m[3])), value)
    return value.replace("$ROOT", str(root))


def masked(reply: Reply, root: Path) -> str:
    text = json.dumps(reply.rpc_error) if reply.rpc_error else reply.text
    text = text.replace(str(root), "$ROOT")
    text = re.sub(r'("edit_id": ?)"[^"]*"', r'\1"$EDIT"', text)
    return ("isError\n" if reply.is_error else "") + text


def tree(root: Path) -> dict[str, bytes | str]:
    """Every file below a directory, with its bytes; a directory without anything in it, too, for none must be left behind."""
    found: dict[str, bytes | str] = {}
    if root.is_dir():
        for path in sorted(root.rglob("*")):
            name = str(path.relative_to(root))
            if path.is_symlink():
                found[name] = f"link to {path.readlink()}"
            elif path.is_file():
                found[name] = path.read_bytes()
            elif not any(path.iterdir()):
                found[name + "/"] = "an empty directory"
    return found


def replay(scenario: Path, update: bool) -> list[str]:
    """What is wrong; nothing, if all holds."""
    wrong: list[str] = []
    place = Path(tempfile.mkdtemp(prefix="mte-scenario-")).resolve()
    root = place / "root"
    try:
        if (scenario / "before").is_dir():
            shutil.copytree(scenario / "before", root, symlinks=True)
        else:
            root.mkdir()
        options = shlex.split((scenario / "options").read_text()) if (scenario / "options").exists() else []
        snap = ""
        with Server(root, options=options) as server:
            for number, line in enumerate(filter(None, (scenario / "calls.jsonl").read_bytes().split(b"\n")), 1):
                step = json.loads(line)
                reply = server.call(step["tool"], filled(step["arguments"], root))
                snap += f"== {number} {step['tool']}\n{masked(reply, root)}\n"
                want, got = step.get("expect"), reply.code or "ok"
                if want is not None and want != got:
                    wrong.append(f"call {number}: expected {want}, got {got}: {masked(reply, root)[:1500]}")
                for part in step.get("contains", []):
                    if filled(part, root) not in reply.text:
                        wrong.append(f"call {number}: the reply lacks {part!r}: {masked(reply, root)[:1500]}")
            if server.strays:
                wrong.append(f"stdout carries more than the protocol: {server.strays[:2]}")
        wanted, present = tree(scenario / "after"), tree(root)
        for name in sorted({*wanted, *present}):
            if wanted.get(name) != present.get(name):
                wrong.append(f"{name}: expected {wanted.get(name)!r}, got {present.get(name)!r}")
        kept = scenario / "replies.snap"
        if update and not wrong:
            kept.write_bytes(snap.encode())
        elif kept.exists() and not update:
            old = kept.read_bytes().decode()
            if old != snap:
                wrong.append("replies differ:\n" + "\n".join(difflib.unified_diff(
                    old.split("\n"), snap.split("\n"), "replies.snap", "now", lineterm="")))
    except (Timeout, Closed) as gone:
        wrong.append(f"{type(gone).__name__}: {gone}")
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="write replies.snap of the scenarios that hold")
    parser.add_argument("names", nargs="*", help="only scenarios whose name holds one of these")
    options = parser.parse_args()
    passed = failed = 0
    for scenario in sorted(HERE.iterdir()):
        if not (scenario / "calls.jsonl").exists() or (options.names and not any(n in scenario.name for n in options.names)):
            continue
        wrong = replay(scenario, options.update)
        if wrong:
            failed += 1
            print(f"FAILED {scenario.name}")
            for item in wrong:
                print("   ", item.replace("\n", "\n    "))
        else:
            passed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
