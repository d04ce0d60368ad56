#!/usr/bin/env python3
"""Starts the program for Windows under Wine, in place of the program itself: `MCP_TEXT_EDITOR_BIN` of the black-box suites.

Paths of this machine become Windows' in what the client sends (`/tmp/a` is `Z:\\tmp\\a`; what lies in Wine's own drive is on `C:`), and Windows'
become this machine's in what the server answers; nothing else is changed. So a suite that knows nothing of Windows holds the program to the same oracle.

WINE_RUNNER starts Wine, WINE_PROGRAM is the .exe, and WINEPREFIX has Wine's own drive; `.ci/other-systems` sets them. Standard library alone (Python 3.11).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from typing import Any

# What a client names files and directories by.
PATHS = {"file_path", "path", "directory", "paths"}
# Wine's own drive, of this machine. Above its top nobody is asked who may rename what; above `Z:\tmp` is a directory in which everybody may.
DRIVE_C = os.path.realpath(os.path.join(os.environ.get("WINEPREFIX", "/nowhere"), "drive_c"))
# A path as Windows writes it; in a string of JSON each backslash is more of them. In a diff's header it has `/`, and a line's end behind it
# can be spelled by a backslash.
TOLD = re.compile(r"""(?P<drive>[CZ]):(?:(?P<separator>\\+)[^"'<>|*?:;,\r\n\t]*|/[^\\"'<>|*?:;,\r\n\t]*)""")


def to_windows(path: str) -> str:
    if path.startswith(DRIVE_C + "/"):
        return "C:" + path[len(DRIVE_C):].replace("/", "\\")
    is_ours = path.startswith("/") and not path.startswith("//")
    return "Z:" + path.replace("/", "\\") if is_ours else path


def from_windows(text: str) -> str:
    def plain(told: re.Match[str]) -> str:
        return (DRIVE_C if told["drive"] == "C" else "") + told[0][2:].replace(told["separator"] or "/", "/")
    return TOLD.sub(plain, text)


def sent(value: Any, key: str | None = None) -> Any:
    if isinstance(value, dict):
        return {name: sent(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [sent(inner, key) for inner in value]
    return to_windows(value) if isinstance(value, str) and key in PATHS else value


def told(message: Any) -> Any:
    """What models read: the texts of a result, and of an error. A file's own text holds no path of a suite's."""
    if isinstance(message, dict):
        return {name: told(inner) for name, inner in message.items()}
    if isinstance(message, list):
        return [told(inner) for inner in message]
    return from_windows(message) if isinstance(message, str) else message


def changed(line: bytes, change: Any) -> bytes:
    """A line with its message changed; one that is no message, as it came."""
    try:
        before = json.loads(line)
    except ValueError:
        return line
    after = change(before)
    return line if after == before else json.dumps(after, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def main() -> int:
    environment = dict(os.environ)
    state = environment.get("MCP_TEXT_EDITOR_STATE_DIR")
    if state:
        environment["MCP_TEXT_EDITOR_STATE_DIR"] = to_windows(state)
    arguments = [to_windows(argument) for argument in sys.argv[1:]]
    server = subprocess.Popen([environment["WINE_RUNNER"], environment["WINE_PROGRAM"], *arguments],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    assert server.stdin is not None and server.stdout is not None
    stdin, stdout = server.stdin, server.stdout

    def forward() -> None:
        try:
            for line in sys.stdin.buffer:
                stdin.write(changed(line, sent))
                stdin.flush()
            stdin.close()
        except BrokenPipeError:
            pass

    threading.Thread(target=forward, daemon=True).start()
    for line in stdout:
        sys.stdout.buffer.write(changed(line, told))
        sys.stdout.buffer.flush()
    return server.wait()


if __name__ == "__main__":
    sys.exit(main())
