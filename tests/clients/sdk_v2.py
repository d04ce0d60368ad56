"""Sessions with the official Python SDK, major version 2 (see requirements-v2.txt), in both output modes.

Each once with the `initialize` handshake of the older revisions, and once as the SDK does by itself, by discovery; over standard
input and output, and over HTTP.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters

from sdk_steps import Result, Tool, long_calls, steps
from session import binary, over_http


async def session(as_json: bool, mode: str, http: bool) -> None:
    options = ["--output", "json"] if as_json else []
    with tempfile.TemporaryDirectory() as place, tempfile.TemporaryDirectory() as state, contextlib.ExitStack() as serving:
        root = Path(place).resolve()
        server: Any = StdioServerParameters(command=binary(), args=[*options, str(root)], env={"MCP_TEXT_EDITOR_STATE_DIR": state})
        if http:
            server = serving.enter_context(over_http(root, state, options))
        async with Client(server, mode=mode, read_timeout_seconds=20) as client:
            listed = await client.list_tools()
            tools = [Tool(t.name, t.title, t.description, t.input_schema, t.output_schema, {} if t.annotations is None else {
                "readOnly": t.annotations.read_only_hint, "destructive": t.annotations.destructive_hint,
                "idempotent": t.annotations.idempotent_hint, "openWorld": t.annotations.open_world_hint}) for t in listed.tools]

            async def call(name: str, arguments: dict[str, Any], told: Callable[[], None] | None = None) -> Result:
                async def progress(*_: Any) -> None:
                    if told is not None:
                        told()

                r = await client.call_tool(name, arguments, progress_callback=progress)
                return Result(bool(r.is_error), "\n".join(b.text for b in r.content if b.type == "text"), r.structured_content)

            calls = await steps(root, as_json, tools, call)
            check = await long_calls(root, call, not http or mode == "auto") if not as_json else lambda: None
            revision = client.protocol_version
        serving.close()
        check()
        how = f"{'HTTP' if http else 'stdio'}, {mode} ({revision}), {'json' if as_json else 'text'}"
        print(f"mcp {version('mcp')}, {how}: {calls} calls passed", flush=True)


async def main() -> None:
    for http in (False, True):
        for mode in ("legacy", "auto"):
            for as_json in (False, True):
                await session(as_json, mode, http)


if __name__ == "__main__":
    asyncio.run(main())
