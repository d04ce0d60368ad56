"""A client's session with a program that was started by some command: what try.py and measure.py do with each package."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from pathlib import Path

#: No start takes that long, downloads of a registry on this machine included; after it the program is killed.
SECONDS = 120
SIX = ["get_text_file_contents", "patch_text_file_contents", "create_text_file", "append_text_file_contents", "insert_text_file_contents",
       "delete_text_file_contents"]
INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "packaging", "version": "1"}}


class Session:
    """The program from its start to the answer of `initialize`, and on."""

    def __init__(self, command: list[str | Path], directory: Path, environment: dict[str, str]) -> None:
        start = time.perf_counter()
        self.process = subprocess.Popen(command, cwd=directory, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.ids = 0
        self.killer = threading.Timer(SECONDS, self.process.kill)
        self.killer.start()
        self.complaints: list[str] = []
        self.listener = threading.Thread(target=lambda: self.complaints.extend(self.process.stderr))
        self.listener.start()
        self.server = self.ask("initialize", INITIALIZE)["serverInfo"]
        #: From the start of the command to the answer.
        self.seconds = time.perf_counter() - start
        self.send({"method": "notifications/initialized"})

    def send(self, message: dict) -> None:
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: dict) -> dict:
        self.ids += 1
        try:
            self.send({"id": self.ids, "method": method, "params": params})
            while line := self.process.stdout.readline():
                answer = json.loads(line)
                if answer.get("id") == self.ids:
                    assert "result" in answer, answer
                    return answer["result"]
        except BrokenPipeError:
            pass
        self.process.wait()
        self.end()
        raise AssertionError(f"{method} was not answered (exit code {self.process.returncode}): {''.join(self.complaints)}")

    def end(self) -> int:
        """Closes the program's input, as clients do, and returns its exit code."""
        if not self.process.stdin.closed:
            try:
                self.process.stdin.close()
            except BrokenPipeError:
                pass
        code = self.process.wait()
        self.killer.cancel()
        self.listener.join()
        self.process.stdout.close()
        self.process.stderr.close()
        return code


def environment(home: Path, **more: str) -> dict[str, str]:
    """That of a person who has nothing configured: a home directory that is empty, and where programs are."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "SYSTEMROOT", "COMSPEC", "PATHEXT") if name in os.environ}
    return {**kept, "HOME": str(home), "USERPROFILE": str(home), "LOCALAPPDATA": str(home / "local"), "TMPDIR": str(home / "tmp"),
            "TEMP": str(home / "tmp"), "TMP": str(home / "tmp"), **more}


def edits(command: list[str | Path], directory: Path, told: dict[str, str], version: str, seen_as: str | None = None) -> None:
    """Starts the command in a directory, and edits a file of it as a client would. `seen_as` is the directory as the program sees it."""
    file = directory / "greeting.txt"
    file.write_bytes(b"one\r\ntwo\nthree")
    session = Session(command, directory, told)
    try:
        assert session.server == {**session.server, "name": "mcp-text-editor", "version": version}, session.server
        names = [tool["name"] for tool in session.ask("tools/list", {})["tools"]]
        assert [name for name in names if name in SIX] == SIX, names
        path = f"{seen_as}/{file.name}" if seen_as else str(file.resolve())
        result = session.ask("tools/call", {"name": SIX[1], "arguments": {"file_path": path, "old_string": "two", "new_string": "2"}})
        assert not result.get("isError"), result
        assert "edit_id" in result["content"][0]["text"] and "warnings" not in result["content"][0]["text"], result
    finally:
        code = session.end()
    assert file.read_bytes() == b"one\r\n2\nthree", file.read_bytes()
    assert (code, session.complaints) == (0, []), (code, session.complaints)
