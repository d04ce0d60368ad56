"""What agents' own edit tools do to files, beside this server: the first table in README.md.

    own_tools.py [--server BINARY] [claude] [qwen] [gemini] [opencode]

Each agent runs without a terminal, as in tests/agents, which installs it; a script in the place of the model lets it read a file and
replace `two` by `TWO` with its own tools. Only the bytes on the disk afterwards are judged. The last row has two of each agent at once,
which edit lines of their own in one file: the worst of three tries. It ends with 1 if this server changes a byte that it was not asked to, or loses an edit.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import re
import shlex
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve()
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "tests/agents"))
sys.dont_write_bytecode = True

import agents  # noqa: E402
import clients  # noqa: E402
import model  # noqa: E402

EDITS = 12
SERVER = "this server"
#: The file before, after, and its encoding where this server must be told.
CASES = {
    "mixed line ends": (b"one\r\ntwo\nthree\r\nfour\n", b"one\r\nTWO\nthree\r\nfour\n", ""),
    "CRLF": (b"one\r\ntwo\r\nthree\r\n", b"one\r\nTWO\r\nthree\r\n", ""),
    "Latin-1": (b"caf\xe9\ntwo\nthree\n", b"caf\xe9\nTWO\nthree\n", "latin1"),
    "windows-1252": (b"\x93quoted\x94\ntwo\n", b"\x93quoted\x94\nTWO\n", "windows-1252"),
    "Shift_JIS": ("表示\nカタカナ\ntwo\n".encode("shift_jis"), "表示\nカタカナ\nTWO\n".encode("shift_jis"), "shift_jis"),
    "UTF-8 with a BOM": (b"\xef\xbb\xbfone\ntwo\n", b"\xef\xbb\xbfone\nTWO\n", ""),
    "UTF-16 with a BOM": ("\ufeffone\ntwo\n".encode("utf-16-le"), "\ufeffone\nTWO\n".encode("utf-16-le"), ""),
    "no newline at the end": (b"one\ntwo", b"one\nTWO", ""),
    "a NUL further down": (b"one\ntwo\n\0\n", b"one\nTWO\n\0\n", ""),
    "a text that is there twice": (b"x\ntwo\ny\ntwo\n", None, ""),
}
#: How the agents, and this server, say that an edit was made.
DONE = r'has been updated|[Ss]uccessfully|"result":"ok"'
#: The tools that read and edit, with the names of their arguments; the words that let the agent use them unasked; its variables.
TOOLS = {
    "claude": ("Read", "Edit", ("file_path", "old_string", "new_string"), "-p edit --allowedTools Read Edit --permission-mode acceptEdits", {}),
    "qwen": ("read_file", "edit", ("file_path", "old_string", "new_string"), "-p edit --yolo", {}),
    "gemini": ("read_file", "replace", ("file_path", "old_string", "new_string"), "-p edit --approval-mode yolo", {"GEMINI_CLI_TRUST_WORKSPACE": "true"}),
    "opencode": ("read", "edit", ("filePath", "oldString", "newString"), "run edit", {}),
}


def calls(client: str, edits: list[tuple[str, str, str]]) -> Iterator[tuple[str, dict[str, str]]]:
    """Reads before each edit, (path, old, new)."""
    reads, changes, (path, old, new), _, _ = TOOLS[client]
    for edit in edits:
        yield reads, {path: edit[0]}
        yield changes, {path: edit[0], old: edit[1], new: edit[2], **({"instruction": "edit"} if client == "gemini" else {})}


def run(client: str, top: Path, project: Path, edits: list[tuple[str, str, str]], home: str, node: str) -> list[str]:
    """Lets an agent make edits with its own tools; returns what it answered to each of them."""
    known, (reads, changes, _, words, more) = clients.CLIENTS[client], TOOLS[client]
    model.OURS = re.compile(f"^({reads}|{changes})$")
    conversation = model.Conversation(calls(client, edits))
    setting = known.setting(model.Model(conversation).url, known.models[0], str(project))
    for place, value in setting.json.items():
        agents.write(top / place, json.dumps(value))
    (top / "tmp").mkdir(parents=True)
    env = {"HOME": str(top), "TMPDIR": str(top / "tmp"), "TERM": "xterm", "LANG": "C.UTF-8", "USER": "nobody", "SHELL": "/bin/sh",
           "PATH": os.pathsep.join([node, "/usr/local/bin", "/usr/bin", "/bin"]), **setting.env, **more}
    command = [str(known.program(home)), *shlex.split(words), *setting.words]
    subprocess.run(command, cwd=project, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=agents.LIMIT, check=False)
    return conversation.seen[1::2]


def by_server(server: str, top: Path, edit: tuple[str, str, str], encoding: str) -> str:
    values = dict(zip(("file_path", "old_string", "new_string"), edit, strict=True)) | ({"encoding": encoding} if encoding else {})
    words = [server, "call", "--root", str(Path(edit[0]).parent), "patch_text_file_contents", *(f"{key}={value}" for key, value in values.items())]
    done = subprocess.run(words, env={**os.environ, "MCP_TEXT_EDITOR_STATE_DIR": str(top / "state")}, capture_output=True, text=True, check=False)
    return done.stdout


def judged(before: bytes, wanted: bytes | None, left: bytes) -> str:
    if left in (before, wanted):
        return "refused" if left == before else "kept"
    if wanted is None:
        return "edited"
    if b"\xef\xbf\xbd" in left:
        return "U+FFFD written"
    same = left.replace(b"\r\n", b"\n") == wanted.replace(b"\r\n", b"\n")
    return "changed" if not same else "all LF" if b"\r" not in left else "all CRLF" if left.count(b"\n") == left.count(b"\r\n") else "changed"


def one(client: str, name: str, options: argparse.Namespace, node: str) -> str:
    before, wanted, encoding = CASES[name]
    with tempfile.TemporaryDirectory() as place:
        top, project = Path(place) / "home", Path(place) / "project"
        project.mkdir()
        path = project / "f.txt"
        path.write_bytes(before)
        edit = (str(path), "two", "TWO")
        if client != SERVER:
            run(client, top, project, [edit], options.home, node)
            return judged(before, wanted, path.read_bytes())
        by_server(options.server, top, edit, "")
        found = judged(before, wanted, path.read_bytes())
        if found == "refused" and encoding:
            by_server(options.server, top, edit, encoding)
            found = judged(before, wanted, path.read_bytes()) + " with `encoding`"
        return found


def raced(client: str, options: argparse.Namespace, node: str) -> tuple[int, int]:
    """How many edits of two that edit one file at once were acknowledged and are not there, and how many were acknowledged."""
    with tempfile.TemporaryDirectory() as place:
        project = Path(place) / "project"
        project.mkdir()
        path = project / "f.txt"
        path.write_text("".join(f"{who}{number} old\n" for who in "ab" for number in range(EDITS)))
        acknowledged: list[str] = []

        def go(who: str) -> None:
            edits = [(str(path), f"{who}{number} old", f"{who}{number} new") for number in range(EDITS)]
            top = Path(place) / who
            answers = [by_server(options.server, top, edit, "") for edit in edits] if client == SERVER else run(client, top, project, edits, options.home, node)
            acknowledged.extend(edit[2] for edit, answer in zip(edits, answers, strict=False) if re.search(DONE, answer))

        workers = [threading.Thread(target=go, args=(who,)) for who in "ab"]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        text = path.read_text()
        return sum(edit not in text for edit in acknowledged), len(acknowledged)


def main() -> int:
    parser = argparse.ArgumentParser(description="Compares agents' own edit tools with this server.")
    parser.add_argument("agents", nargs="*", help=f"which of {', '.join(TOOLS)}; by default all")
    parser.add_argument("--server", default=os.environ.get("MCP_TEXT_EDITOR_BIN") or str(ROOT / "target/debug/mcp-text-editor"))
    parser.add_argument("--home", default=os.environ.get("AGENTS_HOME") or str(ROOT / "target/agents"), help="where the agents are installed")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = options.agents or list(TOOLS)
    node = clients.node(options.home)
    if not options.inside:
        for name in names:
            clients.install(options.home, clients.CLIENTS[name])
        return subprocess.run([*agents.namespace(), sys.executable, str(HERE), *sys.argv[1:], "--inside"], check=False).returncode
    with socket.socket() as probe:  # brings loopback up: SIOCSIFFLAGS with IFF_UP and IFF_RUNNING
        fcntl.ioctl(probe, 0x8914, struct.pack("16sh", b"lo", 0x41) + bytes(22))
    columns = [*names, SERVER]
    print("| |", " | ".join(f"{name} {clients.CLIENTS[name].version}" if name != SERVER else name for name in columns), "|")
    print("|---|" + "---|" * len(columns))
    ours = []
    for case in CASES:
        cells = [one(name, case, options, node) for name in columns]
        ours.append(cells[-1])
        print(f"| {case} |", " | ".join(cells), "|", flush=True)
    cells = ["{} of {}".format(*max(raced(name, options, node) for _ in range(3))) for name in columns]
    print("| lost by two at once |", " | ".join(cells), "|")
    return int(any(not cell.startswith(("kept", "refused")) for cell in ours) or not cells[-1].startswith("0 of "))


if __name__ == "__main__":
    sys.exit(main())
