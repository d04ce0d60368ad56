"""Sessions with the official Python SDK, major version 1 (see requirements-v1.txt), in both output modes, over standard input and
output and over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Callable
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from sdk_steps import Result, Tool, progress_of, steps
from session import binary, over_http


async def session(as_json: bool, http: bool) -> None:
    options = ["--output", "json"] if as_json else []
    with tempfile.TemporaryDirectory() as place, tempfile.TemporaryDirectory() as state, contextlib.ExitStack() as serving:
        root = Path(place).resolve()
        server = StdioServerParameters(command=binary(), args=[*options, str(root)], env={"MCP_TEXT_EDITOR_STATE_DIR": state})
        if http:
            streams: Any = streamable_http_client(serving.enter_context(over_http(root, state, options)))
        else:
            streams = stdio_client(server)
        async with streams as (read, write, *_), ClientSession(read, write, timedelta(seconds=20)) as client:
            hello = await client.initialize()
            listed = await client.list_tools()
            tools = [Tool(t.name, t.title, t.description, t.inputSchema, t.outputSchema, {} if t.annotations is None else {
                "readOnly": t.annotations.readOnlyHint, "destructive": t.annotations.destructiveHint,
                "idempotent": t.annotations.idempotentHint, "openWorld": t.annotations.openWorldHint}) for t in listed.tools]

            async def call(name: str, arguments: dict[str, Any], on_progress: Callable[[], None] | None = None) -> Result:
                async def progress(*_: Any) -> None:
                    if on_progress is not None:
                        on_progress()

                r = await client.call_tool(name, arguments, progress_callback=progress)
                return Result(bool(r.isError), "\n".join(b.text for b in r.content if b.type == "text"), r.structuredContent)

            calls = await steps(root, as_json, tools, call)
            # This version of the SDK does not notify the server when a task is cancelled.
            if not as_json:
                await progress_of(root, call)
            print(f"mcp {version('mcp')}, {'HTTP' if http else 'stdio'} ({hello.protocolVersion}), {'json' if as_json else 'text'}: {calls} calls passed")


async def main() -> None:
    for http in (False, True):
        for as_json in (False, True):
            await session(as_json, http)


if __name__ == "__main__":
    asyncio.run(main())
