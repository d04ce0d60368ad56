"""A minimal MCP client over stdio: spawn a server, initialize, call tools, keep many calls in flight.

Standard library alone (Python 3.11), one thread: `select` on both pipes, so that neither side can block the other
however much is in flight. Every wait has a deadline, after which `Timeout` is raised: a hang is a finding, not a wait.

Windows cannot wait for pipes by `select`. There two threads carry the bytes between them and a pair of sockets (`Carried`), and so they do
wherever CARRIED is set.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import selectors
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PROTOCOL = "2025-06-18"


class Timeout(Exception):
    """The server did not answer in time."""


class Closed(Exception):
    """The server ended while an answer was due."""


def binary() -> str:
    """The server to test: MCP_TEXT_EDITOR_BIN, else the workspace's debug build."""
    named = os.environ.get("MCP_TEXT_EDITOR_BIN")
    if named:
        return os.path.abspath(named)
    name = "mcp-text-editor.exe" if os.name == "nt" else "mcp-text-editor"
    return str(Path(__file__).resolve().parents[2] / "target" / "debug" / name)


class Carried:
    """A socket in the place of both pipes of a process."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.ours, self._theirs = socket.socketpair()
        self._process = process
        self._threads = [threading.Thread(target=carry, daemon=True) for carry in (self._to_process, self._from_process)]
        for thread in self._threads:
            thread.start()

    def _to_process(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            while chunk := self._theirs.recv(1 << 20):
                view = memoryview(chunk)
                while view:
                    view = view[self._process.stdin.write(view) or 0:]
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def _from_process(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(OSError):
            while chunk := os.read(self._process.stdout.fileno(), 1 << 16):
                self._theirs.sendall(chunk)
        with contextlib.suppress(OSError):
            self._theirs.shutdown(socket.SHUT_WR)

    def end_of_input(self) -> None:
        """Lets the process know that no more comes, once it has all that was sent."""
        with contextlib.suppress(OSError):
            self.ours.shutdown(socket.SHUT_WR)
        self._threads[0].join(60)

    def close(self) -> None:
        self.ours.close()
        self._threads[1].join(60)
        self._theirs.close()


@contextlib.contextmanager
def over_http(root: str | os.PathLike[str], state: str | os.PathLike[str], options: list[str], program: str | None = None) -> Iterator[str]:
    """A server over HTTP, at a port that the system chooses; gives its address. `program` is another one than `binary()`."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MCP_TEXT_EDITOR_")}
    environment["MCP_TEXT_EDITOR_STATE_DIR"] = str(state)
    server = subprocess.Popen([program or binary(), *options, "--http", "127.0.0.1:0", str(root)], stdin=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, env=environment, text=True)
    try:
        assert server.stderr is not None
        line = server.stderr.readline()
        said = re.search(r"http://\S+/mcp", line)
        if said is None:
            raise Closed(f"the server does not say where it serves: {line}")
        yield said[0]
    finally:
        # It answers what is in work before it ends.
        server.terminate()
        server.communicate(timeout=60)


class Reply:
    """What one `tools/call` gave: a result, or a JSON-RPC error."""

    def __init__(self, message: dict[str, Any]) -> None:
        self.message = message
        self.rpc_error: dict[str, Any] | None = message.get("error")
        self.result: dict[str, Any] = message.get("result") or {}

    @property
    def is_error(self) -> bool:
        return self.rpc_error is not None or bool(self.result.get("isError"))

    @property
    def text(self) -> str:
        """All text blocks, joined."""
        return "\n".join(block.get("text", "") for block in self.result.get("content", []) if block.get("type") == "text")

    @property
    def structured(self) -> Any:
        return self.result.get("structuredContent")

    @property
    def json(self) -> Any:
        """The reply's facts: `structuredContent`, else the text read as JSON; None where it is neither."""
        if self.structured is not None:
            return self.structured
        try:
            return json.loads(self.text)
        except ValueError:
            return None

    @property
    def code(self) -> str | None:
        """The error's code in either mode; None on success."""
        if not self.is_error:
            return None
        if self.rpc_error is not None:
            return f"json-rpc {self.rpc_error.get('code')}"
        facts = self.json
        if isinstance(facts, dict) and "code" in facts:
            return facts["code"]
        head = self.text.split("\n", 1)[0].split(": ", 2)
        return head[1] if len(head) > 1 and head[0] == "error" else None

    def __repr__(self) -> str:
        return json.dumps(self.message, ensure_ascii=False)


class Server:
    """One server process, initialized. `state` is its state directory (default: one of its own, removed at the end),
    `user` the id it runs under, `wrap` a program in front of it, with its arguments."""

    def __init__(self, *roots: str | os.PathLike[str], options: tuple[str, ...] | list[str] = (), timeout: float = 60.0,
                 env: dict[str, str] | None = None, initialize: bool = True, state: str | os.PathLike[str] | None = None,
                 user: int | None = None, wrap: tuple[str, ...] | list[str] = ()) -> None:
        self.timeout = timeout
        self._own_state = state is None
        self.state = tempfile.mkdtemp(prefix="mte-state-") if state is None else str(state)
        self._wrapped = bool(wrap)
        self.log = tempfile.TemporaryFile()
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MCP_TEXT_EDITOR_")}
        environment["MCP_TEXT_EDITOR_STATE_DIR"] = self.state
        environment.update(env or {})
        other = {} if user is None else {"user": user, "group": user, "extra_groups": []}
        self.process = subprocess.Popen([*wrap, binary(), *options, *map(str, roots)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.log, env=environment, bufsize=0,
                                        start_new_session=self._wrapped, **other)
        assert self.process.stdin is not None and self.process.stdout is not None
        self._reads = selectors.DefaultSelector()
        self._both = selectors.DefaultSelector()
        self._carried = Carried(self.process) if os.name == "nt" or "CARRIED" in os.environ else None
        if self._carried:
            self._in = self._out = self._carried.ours.fileno()
            self._carried.ours.setblocking(False)
            self._both.register(self._in, selectors.EVENT_READ | selectors.EVENT_WRITE)
        else:
            self._in = self.process.stdin.fileno()
            self._out = self.process.stdout.fileno()
            os.set_blocking(self._in, False)
            os.set_blocking(self._out, False)
            self._both.register(self._out, selectors.EVENT_READ)
            self._both.register(self._in, selectors.EVENT_WRITE)
        self._reads.register(self._out, selectors.EVENT_READ)
        self._to_send = bytearray()
        self._partial = bytearray()
        self._answers: dict[Any, dict[str, Any]] = {}
        self.notifications: list[dict[str, Any]] = []
        self.strays: list[bytes] = []  # lines on stdout that are not JSON-RPC: there must be none
        self._next_id = 0
        self.hello: dict[str, Any] = {}
        if initialize:
            self.initialize()

    # The life of a session

    def initialize(self) -> dict[str, Any]:
        answer = self.wait(self.send("initialize", {
            "protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "black-box", "version": "0"}}))
        if "error" in answer:
            raise Closed(f"initialize failed: {answer['error']}")
        self.hello = answer["result"]
        self.notify("notifications/initialized")
        return self.hello

    def close(self) -> int:
        """Ends the input, waits for the end of the process, and gives its status. One that does not end in a minute is killed,
        and that is a `Timeout`."""
        try:
            if self._carried:
                self._carried.end_of_input()
            else:
                self.process.stdin.close()  # type: ignore[union-attr]
            try:
                status = self.process.wait(60)
            except subprocess.TimeoutExpired:
                self._end()
                self.process.wait()
                raise Timeout("the server does not end with its input") from None
        finally:
            self._reads.close()
            self._both.close()
            if self._carried:
                self._carried.close()
            self.process.stdout.close()  # type: ignore[union-attr]
            self.log.close()
            if self._own_state:
                shutil.rmtree(self.state, ignore_errors=True)
        return status

    def kill(self) -> int:
        """Kills the process, as a power switch would, and gives its status."""
        self._end()
        return self.close()

    def _end(self) -> None:
        if not self._wrapped:
            self.process.kill()
        else:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def stderr(self) -> str:
        self.log.seek(0)
        return self.log.read().decode("utf-8", "replace")

    def peak_rss_kib(self) -> int:
        """VmHWM of the server, in KiB (Linux)."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
        raise RuntimeError("no VmHWM")

    # Messages

    def send(self, method: str, params: dict[str, Any] | None = None) -> int:
        """Queues a request and gives its id."""
        self._next_id += 1
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": self._next_id, "method": method}
        if params is not None:
            message["params"] = params
        self.send_line(json.dumps(message, ensure_ascii=False).encode())
        return self._next_id

    def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        self.send_line(json.dumps(message, ensure_ascii=False).encode())

    def send_line(self, line: bytes) -> None:
        self._to_send += line + b"\n"
        self._write()

    def _write(self) -> None:
        while self._to_send:
            try:
                chunk = self._to_send[:65536]
                sent = self._carried.ours.send(chunk) if self._carried else os.write(self._in, chunk)
            except BlockingIOError:
                return
            except (BrokenPipeError, ConnectionError):
                raise Closed(self._obituary()) from None
            del self._to_send[:sent]

    def _obituary(self) -> str:
        try:
            self.process.wait(2)
        except subprocess.TimeoutExpired:
            pass
        return f"the server ended (status {self.process.poll()}): {self.stderr()[-2000:]}"

    def _pump(self, deadline: float) -> None:
        """Waits until something could be written or read, and does that."""
        left = deadline - time.monotonic()
        if left <= 0:
            raise Timeout("no answer in time")
        events = (self._both if self._to_send else self._reads).select(left)
        if not events:
            raise Timeout("no answer in time")
        for key, ready in events:
            if ready & selectors.EVENT_WRITE:
                self._write()
            if ready & selectors.EVENT_READ:
                try:
                    chunk = self._carried.ours.recv(1 << 20) if self._carried else os.read(self._out, 1 << 20)
                except ConnectionError:
                    chunk = b""
                if not chunk:
                    raise Closed(self._obituary())
                self._partial += chunk
                if b"\n" in chunk:
                    *lines, rest = bytes(self._partial).split(b"\n")
                    self._partial = bytearray(rest)
                    for line in lines:
                        self._take(line)

    def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = json.loads(line)
            assert isinstance(message, dict)
        except (ValueError, AssertionError):
            self.strays.append(line)
            return
        if "method" in message:
            if "id" in message:  # a request from the server: none is expected but ping
                self.send_line(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {}}).encode())
            self.notifications.append(message)
        else:
            self._answers[message.get("id")] = message

    def wait(self, request: int, timeout: float | None = None) -> dict[str, Any]:
        """The answer to a request, as sent by the server."""
        deadline = time.monotonic() + (self.timeout if timeout is None else timeout)
        while request not in self._answers:
            self._pump(deadline)
        return self._answers.pop(request)

    def request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        return self.wait(self.send(method, params))

    # Tools

    def tools(self) -> list[dict[str, Any]]:
        return self.request("tools/list", {})["result"]["tools"]

    def start(self, tool: str, arguments: dict[str, Any]) -> int:
        return self.send("tools/call", {"name": tool, "arguments": arguments})

    def call(self, tool: str, arguments: dict[str, Any], timeout: float | None = None) -> Reply:
        return Reply(self.wait(self.start(tool, arguments), timeout))

    def pipeline(self, calls: list[tuple[str, dict[str, Any]]], timeout: float | None = None) -> list[Reply]:
        """All calls sent before the first answer is looked at; the replies in the order of the calls."""
        ids = [self.start(tool, arguments) for tool, arguments in calls]
        deadline = time.monotonic() + (self.timeout if timeout is None else timeout)
        return [Reply(self.wait(i, max(0.001, deadline - time.monotonic()))) for i in ids]
