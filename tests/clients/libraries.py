"""Sessions with the Python libraries that agents are built with: FastMCP's client, the OpenAI Agents SDK and Pydantic AI.

    libraries.py [fastmcp|openai-agents|pydantic-ai]…

In the latter two an agent runs for each call, with a stand-in for its model that asks for this call: what is checked is
what the library hands a model.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from agents import Agent, ModelResponse, Runner, set_tracing_disabled
from agents import Model as OpenAiModel
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
from agents.usage import Usage
from fastmcp.client import Client
from fastmcp.client.transports import StdioTransport
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelMessage, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.messages import ModelResponse as PydanticResponse
from pydantic_ai.models.function import AgentInfo, FunctionModel

from sdk_steps import Result, Tool, long_calls, steps
from session import binary, over_http

Call = Callable[[str, dict[str, Any]], Awaitable[Result]]


@dataclass
class Place:
    """A directory to serve, and how a client starts the server for it; or where it is served over HTTP."""

    root: Path
    arguments: list[str]
    environment: dict[str, str]
    url: str | None
    #: Ends a server over HTTP; one that a client has started ends with it.
    end: Callable[[], None]

    def transport(self) -> Any:
        """How FastMCP's client reaches it."""
        return self.url or StdioTransport(binary(), self.arguments, self.environment, keep_alive=False)

    def __str__(self) -> str:
        return "HTTP" if self.url else "stdio"


@contextlib.contextmanager
def place(http: bool, *options: str) -> Iterator[Place]:
    with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryDirectory() as state, contextlib.ExitStack() as serving:
        root = Path(directory).resolve()
        url = serving.enter_context(over_http(root, state, list(options))) if http else None
        yield Place(root, [*options, str(root)], {"MCP_TEXT_EDITOR_STATE_DIR": state}, url, serving.close)


def tool(listed: Any) -> Tool:
    """A tool as the SDK's major version 2 lists it."""
    hints = listed.annotations
    return Tool(listed.name, listed.title, listed.description, listed.input_schema, listed.output_schema, {} if hints is None else {
        "readOnly": hints.read_only_hint, "destructive": hints.destructive_hint,
        "idempotent": hints.idempotent_hint, "openWorld": hints.open_world_hint})


def as_shown(text: str) -> Result:
    """What a model was shown, which is all that it knows of a result."""
    return Result(text.startswith("error: "), text, None)


async def fastmcp(http: bool) -> None:
    for mode in ("legacy", "auto"):
        for as_json in (False, True):
            check: Callable[[], None] = lambda: None
            with place(http, *(["--output", "json"] if as_json else [])) as at:
                async with Client(at.transport(), mode=mode, timeout=30) as client:

                    async def call(name: str, arguments: dict[str, Any], told: Callable[[], None] | None = None) -> Result:
                        async def progress(*_: Any) -> None:
                            if told is not None:
                                told()

                        r = await client.call_tool(name, arguments, raise_on_error=False, progress_handler=progress)
                        return Result(bool(r.is_error), "\n".join(b.text for b in r.content if b.type == "text"), r.structured_content)

                    calls = await steps(at.root, as_json, [tool(t) for t in await client.list_tools()], call)
                    if not as_json:
                        check = await long_calls(at.root, call, not http or mode == "auto")
                    revision = client.session.protocol_version
                at.end()
                check()
            say("fastmcp-slim", f"{at}, {mode} ({revision}), {'json' if as_json else 'text'}", calls)


class Script(OpenAiModel):
    """Asks for one call, and then ends."""

    def __init__(self, name: str, arguments: dict[str, Any]) -> None:
        self.name, self.arguments, self.shown = name, arguments, ""

    async def get_response(self, *_: Any, input: Any, **__: Any) -> ModelResponse:
        outputs = [item["output"] for item in input if isinstance(item, dict) and item.get("type") == "function_call_output"]
        if outputs:
            shown = outputs[-1]
            self.shown = shown if isinstance(shown, str) else "\n".join(part["text"] for part in shown)
            text = ResponseOutputText(annotations=[], text="done", type="output_text")
            output = ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
        else:
            output = ResponseFunctionToolCall(arguments=json.dumps(self.arguments), call_id="c", name=self.name, type="function_call")
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError("no run streams")


async def openai_agents(http: bool) -> None:
    set_tracing_disabled(True)
    with place(http) as at:
        kind, parameters = (MCPServerStreamableHttp, {"url": at.url}) if http else (
            MCPServerStdio, {"command": binary(), "args": at.arguments, "env": at.environment})
        async with kind(parameters, client_session_timeout_seconds=30, cache_tools_list=True) as server:

            async def call(name: str, arguments: dict[str, Any]) -> Result:
                script = Script(name, arguments)
                await Runner.run(Agent(name="editor", model=script, mcp_servers=[server]), "go on")
                # The text of an error comes with the library's own words before it, or alone.
                return as_shown(shown(script.shown))

            calls = await steps(at.root, False, [tool(t) for t in await server.list_tools()], call)
    say("openai-agents", f"{at}, text", calls)


def shown(output: str) -> str:
    """The text that an agent's model was shown; more than one part, and some of one, come as JSON."""
    with contextlib.suppress(ValueError):
        parsed = json.loads(output)
        if isinstance(parsed, dict) and parsed.get("type") == "text":
            return str(parsed["text"])
    return output


async def pydantic_ai(http: bool) -> None:
    for mode in ("legacy", "auto"):
        with place(http) as at:
            client = Client(at.transport(), mode=mode, timeout=30)
            async with MCPToolset(client, tool_error_behavior="failed") as server:

                async def call(name: str, arguments: dict[str, Any]) -> Result:
                    seen = ""

                    async def script(messages: list[ModelMessage], _: AgentInfo) -> PydanticResponse:
                        nonlocal seen
                        returned = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
                        if not returned:
                            return PydanticResponse(parts=[ToolCallPart(name, arguments)])
                        seen = returned[0].model_response_str(wrap_if_error=False)
                        return PydanticResponse(parts=[TextPart("done")])

                    await PydanticAgent(FunctionModel(script), toolsets=[server]).run("go on")
                    return as_shown(seen)

                calls = await steps(at.root, False, [tool(t) for t in await server.list_tools()], call)
            say("pydantic-ai-slim", f"{at}, {mode}, text", calls)


def say(package: str, how: str, calls: int) -> None:
    print(f"{package} {version(package)}, {how}: {calls} calls passed", flush=True)


LIBRARIES = {"fastmcp": fastmcp, "openai-agents": openai_agents, "pydantic-ai": pydantic_ai}


async def main() -> None:
    for http in (False, True):
        for name in sys.argv[1:] or LIBRARIES:
            await LIBRARIES[name](http)


if __name__ == "__main__":
    asyncio.run(main())
