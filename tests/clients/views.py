"""What clients that show views see, and what the others do not: the whole of what the server says, message by message.

The same session is held twice: by a client that declares `io.modelcontextprotocol/ui`, and by one that does not; over standard input
and output and over HTTP, with the handshake and without it (2026-07-28), in both output modes. To the text client nothing of a view may
be said; to the other one just what is a view's may come on top: with that taken away both have been told the same, byte for byte.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from session import binary, over_http

UI = "io.modelcontextprotocol/ui"
SHOWS = {"extensions": {UI: {"mimeTypes": ["text/html;profile=mcp-app"]}}}
ALONE = "2026-07-28"
#: What nobody but a view has a use for.
OF_VIEWS = ["ui://", "mcp-app", "mcp-text-editor/story", UI, "text_file_edit\"", "shown_text_file", "resourceUri", "Mcp-Session-Id"]

Ask = Callable[[str, dict[str, Any]], str]


def of_a_view(tool: dict[str, Any]) -> bool:
    return tool.get("_meta", {}).get("ui", {}).get("visibility") == ["app"]


def without_view(method: str, text: str) -> str:
    """An answer to a client that shows views, without what is a view's."""
    message = json.loads(text)
    result = message.get("result")
    if result is None:
        return text
    if method == "tools/list":
        result["tools"] = [tool for tool in result["tools"] if not of_a_view(tool)]
        for tool in result["tools"]:
            tool.pop("_meta", None)
    if method == "tools/call":
        meta = result.get("_meta", {})
        meta.pop("mcp-text-editor/story", None)
        if not meta:
            result.pop("_meta", None)
    if "capabilities" in result:
        for key in ("extensions", "resources"):
            result["capabilities"].pop(key, None)
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False)


@contextlib.contextmanager
def over_stdio(root: Path, state: Path, options: list[str]) -> Iterator[Callable[[dict[str, Any]], str | None]]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MCP_TEXT_EDITOR_")}
    environment["MCP_TEXT_EDITOR_STATE_DIR"] = str(state)
    with subprocess.Popen([binary(), *options, str(root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, env=environment) as server:
        assert server.stdin is not None and server.stdout is not None

        def send(message: dict[str, Any]) -> str | None:
            server.stdin.write(json.dumps(message).encode() + b"\n")
            server.stdin.flush()
            return server.stdout.readline().decode().rstrip("\n") if "id" in message else None

        yield send
        server.stdin.close()


@contextlib.contextmanager
def by_http(root: Path, state: Path, options: list[str]) -> Iterator[Callable[[dict[str, Any]], str | None]]:
    with over_http(root, state, options) as url:
        at = urlsplit(url)
        session: list[str] = []

        def send(message: dict[str, Any]) -> str | None:
            connection = http.client.HTTPConnection(at.hostname or "", at.port, timeout=60)
            headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
            params = message.get("params", {})
            revision = params.get("_meta", {}).get("io.modelcontextprotocol/protocolVersion")
            if revision:
                headers |= {"MCP-Protocol-Version": revision, "Mcp-Method": message["method"]}
                headers |= {"Mcp-Name": params[key] for key in ("name", "uri") if key in params}
            elif message["method"] != "initialize":
                headers["MCP-Protocol-Version"] = "2025-06-18"
            headers |= {"Mcp-Session-Id": name for name in session}
            connection.request("POST", at.path, json.dumps(message), headers)
            answer = connection.getresponse()
            text = answer.read().decode()
            named = answer.getheader("Mcp-Session-Id")
            if named:
                session[:] = [named]
            connection.close()
            events = re.findall(r"^data: ?(.+)$", text, re.M) if "event-stream" in (answer.getheader("Content-Type") or "") else [text]
            # What is told of the session counts as said.
            return "".join(events[-1:]) + (f"\nMcp-Session-Id: {named}" if named else "") if "id" in message else None

        yield send


def asked(send: Callable[[dict[str, Any]], str | None], alone: bool, capabilities: dict[str, Any]) -> Ask:
    """A client; with the handshake, or with all that is to be known in each request."""
    count = 0
    about = {"io.modelcontextprotocol/protocolVersion": ALONE, "io.modelcontextprotocol/clientCapabilities": capabilities,
             "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"}}

    def ask(method: str, params: dict[str, Any]) -> str:
        nonlocal count
        count += 1
        if alone:
            params = {**params, "_meta": about}
        told = send({"jsonrpc": "2.0", "id": count, "method": method, "params": params})
        assert told is not None
        if method == "initialize":
            send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return told

    return ask


def session(serve: Any, alone: bool, options: list[str], capabilities: dict[str, Any]) -> list[tuple[str, str]]:
    """What is answered to each request of a session, with what differs between any two sessions masked."""
    with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryDirectory() as state:
        root = Path(directory).resolve()
        (root / "a.txt").write_text("one\ntwo\n")
        file = {"file_path": str(root / "a.txt")}
        edit: list[str] = []
        said: list[tuple[str, str]] = []
        with serve(root, Path(state), ["--tools", "all", *options]) as send:
            ask = asked(send, alone, capabilities)

            def say(method: str, params: dict[str, Any]) -> str:
                told = ask(method, params)
                edit.extend(re.findall(r'edit_id\W+([0-9a-f]{12})', told))
                masks = {str(root): "$ROOT", **{name: "$EDIT" for name in edit}}
                for text, mask in masks.items():
                    told = told.replace(text, mask)
                said.append((method, re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "$TIME", told)))
                return told

            def call(tool: str, arguments: dict[str, Any]) -> str:
                return say("tools/call", {"name": tool, "arguments": arguments})

            if alone:
                say("server/discover", {})
            else:
                say("initialize", {"protocolVersion": "2025-06-18", "capabilities": capabilities,
                                   "clientInfo": {"name": "test", "version": "1"}})
            say("tools/list", {})
            call("get_text_file_contents", {"files": [file]})
            call("patch_text_file_contents", {**file, "old_string": "two", "new_string": "2", "dry_run": True})
            call("patch_text_file_contents", {**file, "old_string": "two", "new_string": "2"})
            call("patch_text_file_contents", {**file, "old_string": "no such", "new_string": "2"})
            call("create_text_file", {"file_path": str(root / "b.txt"), "contents": "new\n"})
            call("create_text_file", {"file_path": str(root / "b.txt"), "contents": "new\n"})
            call("list_text_file_edits", {})
            call("undo_text_file_edits", {"edit_id": edit[0]})
            call("undo_text_file_edits", {"edit_id": "000000000000"})
            call("search_text_files", {"directory_path": str(root), "pattern": "o"})
        return said


def views_own(serve: Any, alone: bool, capabilities: dict[str, Any]) -> list[str]:
    """What is answered to requests that only those have a use for who show views."""
    with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryDirectory() as state:
        with serve(Path(directory).resolve(), Path(state), []) as send:
            ask = asked(send, alone, capabilities)
            if not alone:
                ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": capabilities,
                                   "clientInfo": {"name": "test", "version": "1"}})
            return [ask("resources/list", {}), ask("resources/read", {"uri": "ui://mcp-text-editor/edit"}),
                    ask("tools/call", {"name": "list_shown_text_file_edits", "arguments": {"capabilities": {}}})]


def compare(serve: Any, alone: bool, options: list[str]) -> list[str]:
    """Every way in which the two clients are told something else that is no view's."""
    wrong = []
    plain, shown = session(serve, alone, options, {}), session(serve, alone, options, SHOWS)
    for (method, told), (_, more) in zip(plain, shown, strict=True):
        wrong += [f"{method} tells a text client of {word}: {told[:200]}" for word in OF_VIEWS if word in told]
        bare = without_view(method, more.split("\nMcp-Session-Id:")[0])
        if json.dumps(json.loads(told), separators=(",", ":"), ensure_ascii=False) != bare:
            wrong.append(f"{method} differs:\n  {told[:400]}\n  {bare[:400]}")
    if not any("mcp-text-editor/story" in more for _, more in shown):
        wrong.append("no story was told to the client that shows views")
    return wrong


def main() -> int:
    passed, failed = 0, 0
    for serve in (over_stdio, by_http):
        for alone in (False, True):
            for options in ([], ["--output", "json"]):
                name = f"{serve.__name__}, {ALONE if alone else 'handshake'} {' '.join(options)}"
                wrong = compare(serve, alone, options)
                for answer in views_own(serve, alone, {}):
                    if "error" not in json.loads(answer):
                        wrong.append(f"a text client is answered {answer[:200]}")
                for answer in views_own(serve, alone, SHOWS):
                    if "error" in json.loads(answer):
                        wrong.append(f"a client that shows views is refused {answer[:200]}")
                passed, failed = passed + (not wrong), failed + bool(wrong)
                for line in wrong:
                    print(f"{name}: {line}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
