"""One editing session, told once for every client in Python: both major versions of the official SDK, and the libraries on it.

`steps` gets what a client lists and a function that calls, reduced to plain values; the SDK itself checks every result's
`structuredContent` against the tool's `outputSchema`. `long_calls` is for clients that can ask for progress and cancel.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import json
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema  # the SDK's own

SIX = ["get_text_file_contents", "patch_text_file_contents", "create_text_file", "append_text_file_contents",
       "insert_text_file_contents", "delete_text_file_contents"]


@dataclass
class Tool:
    name: str
    title: str | None
    description: str | None
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None
    hints: dict[str, bool | None]


@dataclass
class Result:
    is_error: bool
    text: str
    structured: Any


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def expect(condition: bool, what: str, seen: object = "") -> None:
    if not condition:
        raise SystemExit(f"FAILED: {what}: {seen}")


def check_tools(tools: list[Tool], as_json: bool) -> None:
    names = [tool.name for tool in tools]
    expect(names[:6] == SIX, "the six tools, in the contract's order", names)
    for tool in tools:
        expect(bool(tool.title) and bool(tool.description), f"{tool.name} has a title and a description")
        expect(len(tool.description or "") <= 2048, f"{tool.name}: a description that no client cuts")
        expect(set(tool.hints) == {"readOnly", "destructive", "idempotent", "openWorld"}
               and all(h is not None for h in tool.hints.values()), f"{tool.name} has all four annotations", tool.hints)
        expect(tool.hints["openWorld"] is False, f"{tool.name}: openWorldHint is false")
        reads = tool.name in ("get_text_file_contents", "search_text_files", "list_text_files")
        expect(tool.hints["readOnly"] is reads, f"{tool.name}: readOnlyHint", tool.hints)
        expect(tool.input_schema.get("type") == "object" and "additionalProperties" not in tool.input_schema,
               f"{tool.name}: an object schema by which no client refuses a key in place of the server")
        expect(not {"oneOf", "anyOf", "allOf", "$defs", "$schema"} & set(tool.input_schema), f"{tool.name}: a portable schema")
        expect((tool.output_schema is not None) == as_json, f"{tool.name}: an outputSchema exactly with --output json")


async def steps(root: Path, as_json: bool, tools: list[Tool], call: Callable[[str, dict[str, Any]], Awaitable[Result]]) -> int:
    """Runs the session; gives the number of calls."""
    check_tools(tools, as_json)
    schemas = {tool.name: tool.output_schema for tool in tools}
    calls = 0
    path = root / "made" / "greeting.txt"
    file_path = str(path)

    async def edit(tool: str, **arguments: Any) -> dict[str, Any]:
        nonlocal calls
        calls += 1
        result = await call(tool, arguments)
        expect(not result.is_error, f"{tool} succeeds", result.text)
        facts = json.loads(result.text)
        expect((result.structured == facts) if as_json else result.structured is None, f"{tool}: one half is sent", result)
        expect(facts["result"] == ("dry_run" if arguments.get("dry_run") else "ok"), f"{tool}: result", facts)
        told = facts["files"][0]
        expect(told["file_path"] in (file_path, arguments.get("file_path")), f"{tool}: the file is named as in the call", told)
        if path.exists():
            full = sha(path.read_bytes())
            expect(told["file_hash"] == (full if as_json else full[:16]), f"{tool}: file_hash", told)
        return told

    async def fail(tool: str, code: str, **arguments: Any) -> Result:
        nonlocal calls
        calls += 1
        before = path.read_bytes() if path.exists() else None
        result = await call(tool, arguments)
        expect(result.is_error, f"{tool} fails with {code}", result.text)
        expect(result.structured is None, f"{tool}: an error has no structuredContent", result.structured)
        if as_json:
            expect(json.loads(result.text)["code"] == code, f"{tool}: {code}", result.text)
            # There are clients that hold an error against the schema, too.
            jsonschema.validate(json.loads(result.text), schemas[tool])
        else:
            expect(result.text.startswith(f"error: {code}: "), f"{tool}: {code}", result.text)
            expect("\nsuggestion: " in result.text and "\nhint: " in result.text, f"{tool}: a suggestion and a hint", result.text)
        expect((path.read_bytes() if path.exists() else None) == before, f"{tool}: nothing was written")
        return result

    async def read(**arguments: Any) -> Result:
        nonlocal calls
        calls += 1
        result = await call("get_text_file_contents", arguments)
        expect(not result.is_error, "a read succeeds", result.text)
        if as_json:
            expect(json.loads(result.text) == result.structured, "the same JSON as text", result.text)
        return result

    def holds(text: str, when: str) -> None:
        expect(path.read_bytes() == text.encode(), when, path.read_bytes())

    await fail("get_text_file_contents", "not_found", file_path=file_path)
    await edit("create_text_file", file_path=file_path, contents="one\ntwo\nthree\n", dry_run=True)
    expect(not path.parent.exists(), "a dry run makes no directory")
    await edit("create_text_file", file_path=file_path, contents="one\ntwo\nthree\n")
    holds("one\ntwo\nthree\n", "created")
    await fail("create_text_file", "already_exists", file_path=file_path, contents="again")

    result = await read(files=[{"file_path": file_path, "ranges": [{"start": 2, "end": 3}, {"start": -1}]}])
    if as_json:
        first, last = result.structured["files"][0]["ranges"]
        expect((first["start"], first["end"], first["content"]) == (2, 3, "two\nthree\n"), "the first range", first)
        expect((last["start"], last["content"], last["range_hash"]) == (3, "three\n", sha(b"three\n")), "the last line", last)
    else:
        head = f"{file_path} lines 2-3 of 3 file_hash {sha(path.read_bytes())[:16]} range_hash {sha(b'two' + bytes([10]) + b'three' + bytes([10]))[:16]} utf-8 lf\n"
        expect(result.text.startswith(head + "2\ttwo\n3\tthree\n"), "header and gutter", result.text)
    result = await read(file_path=file_path, line_start=1, line_end=1, line_numbers=False)
    if not as_json:
        expect(result.text.split("\n")[1] == "one", "a bare line", result.text)

    told = await edit("patch_text_file_contents", files=[{"file_path": file_path, "patches": [
        {"old_string": "two", "new_string": "zwei\nzwo", "ranges": [{"start": 2, "end": 2}]}]}])
    holds("one\nzwei\nzwo\nthree\n", "patched by range")
    region = told["regions"][0]
    expect((region["start"], region["end"], region["replaced"]) == (2, 3, {"start": 2, "end": 2}), "the region", region)
    await edit("patch_text_file_contents", files=[{"file_path": file_path, "patches": [
        {"new_string": "deux", "ranges": [{"start": 2, "end": 3, "range_hash": region["range_hash"]}]}]}])
    holds("one\ndeux\nthree\n", "patched by digest")
    await edit("patch_text_file_contents", files=[{"file_path": file_path, "patches": [{"old_string": "ree", "new_string": "ird"}]}])
    holds("one\ndeux\nthird\n", "patched by text alone")
    dry = await edit("patch_text_file_contents", dry_run=True, files=[{"file_path": file_path, "patches": [
        {"old_string": "deux", "new_string": "due"}]}])
    expect("-deux" in dry["diff"] and "+due" in dry["diff"], "a unified diff", dry)
    holds("one\ndeux\nthird\n", "a dry run writes nothing")

    await fail("patch_text_file_contents", "content_mismatch", files=[{"file_path": file_path, "patches": [
        {"old_string": "two", "new_string": "2", "ranges": [{"start": 2, "end": 2}]}]}])
    await fail("patch_text_file_contents", "no_match", files=[{"file_path": file_path, "patches": [
        {"old_string": "nowhere", "new_string": "2"}]}])
    await fail("patch_text_file_contents", "ambiguous_match", files=[{"file_path": file_path, "patches": [
        {"old_string": "d", "new_string": "2"}]}])
    await fail("append_text_file_contents", "hash_mismatch", file_path=file_path, file_hash="0" * 64, contents="x")
    await fail("insert_text_file_contents", "invalid_arguments", file_path=file_path, file_hash=sha(path.read_bytes()), contents="x")

    told = await edit("append_text_file_contents", file_path=file_path, file_hash=sha(path.read_bytes()), contents="four")
    holds("one\ndeux\nthird\nfour\n", "appended")
    told = await edit("insert_text_file_contents", file_path=file_path, file_hash=told["file_hash"], contents="zero", before=1)
    holds("zero\none\ndeux\nthird\nfour\n", "inserted at the top")
    told = await edit("insert_text_file_contents", file_path=file_path, file_hash=told["file_hash"], contents="half", after=1)
    holds("zero\nhalf\none\ndeux\nthird\nfour\n", "inserted after line 1")
    told = await edit("delete_text_file_contents", file_path=file_path, file_hash=told["file_hash"],
                      ranges=[{"start": 2, "end": 2, "range_hash": told["regions"][0]["range_hash"]}])
    holds("zero\none\ndeux\nthird\nfour\n", "deleted")
    await fail("delete_text_file_contents", "range_hash_mismatch", file_path=file_path, file_hash=told["file_hash"],
               ranges=[{"start": 1, "end": 1, "range_hash": "0" * 16}])
    # Another program edits the file: the hash that the client remembers is stale, and the error has the one of now.
    path.write_bytes(b"minus one\n" + path.read_bytes())
    stale = told["file_hash"]
    failed = await fail("append_text_file_contents", "hash_mismatch", file_path=file_path, file_hash=stale, contents="five")
    now = sha(path.read_bytes())
    expect(now[:16] in failed.text, "the error has the present hash", failed.text)
    await edit("append_text_file_contents", file_path=file_path, file_hash=now[:16], contents="five")
    holds("minus one\nzero\none\ndeux\nthird\nfour\nfive\n", "a stale edit is repaired by what its error says")
    # A patch at lines that have moved is told where its text stands now.
    failed = await fail("patch_text_file_contents", "content_mismatch", files=[{"file_path": file_path, "patches": [
        {"old_string": "one", "new_string": "eins", "ranges": [{"start": 2, "end": 2}]}]}])
    places = json.loads(failed.text)["errors"][0]["found_at"] if as_json else None
    expect(places is None or places[0]["start"] == 3, "the place of now", places)
    await edit("patch_text_file_contents", files=[{"file_path": file_path, "patches": [
        {"old_string": "one", "new_string": "eins", "ranges": [{"start": 3, "end": 3}]}]}])
    holds("minus one\nzero\neins\ndeux\nthird\nfour\nfive\n", "a stale patch is repaired by what its error says")
    return calls


@contextlib.contextmanager
def held(path: Path) -> Iterator[None]:
    """Another process's lock on a file: an edit waits for it, and reports progress, for ten seconds."""
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)


def replacing(path: Path, old: str, new: str) -> dict[str, Any]:
    """The arguments of a patch in its short form."""
    return {"file_path": str(path), "old_string": old, "new_string": new}


#: Calls a tool, and whom to tell of its progress.
LongCall = Callable[[str, dict[str, Any], Callable[[], None]], Awaitable[Result]]


async def progress_of(root: Path, call: LongCall) -> Path:
    """A call that reports progress. Gives the file that it has edited."""
    path = root / "held.txt"
    path.write_text("one\ntwo\n")
    told = asyncio.Event()
    with held(path):
        task = asyncio.ensure_future(call("patch_text_file_contents", replacing(path, "one", "eins"), told.set))
        await asyncio.wait_for(told.wait(), 20)
    result = await task
    expect(not result.is_error and path.read_text() == "eins\ntwo\n", "an edit that waited is made", result)
    return path


async def long_calls(root: Path, call: LongCall, cancels: bool = True) -> Callable[[], None]:
    """A call that reports progress, and one that is cancelled once it has. The latter only where the server learns of it: over HTTP
    a call is cancelled by a message of its own before revision 2026-07-28, which a server without sessions cannot match. Gives the check to make when the session has ended:
    a server ends its calls before it ends, so nothing can come later."""
    path = await progress_of(root, call)
    if not cancels:
        return lambda: None
    told = asyncio.Event()
    with held(path):
        task = asyncio.ensure_future(call("patch_text_file_contents", replacing(path, "two", "zwei"), told.set))
        await asyncio.wait_for(told.wait(), 20)
        task.cancel()
        await asyncio.wait([task])
        # What the client sends on behalf of a cancelled task, it sends before its next request; over HTTP it closes a connection
        # of its own, of which the server learns soon.
        await asyncio.sleep(1)
        other = await call("get_text_file_contents", {"file_path": str(path)}, lambda: None)
        expect(not other.is_error, "the session goes on after a cancelled call", other)
    return lambda: expect(path.read_text() == "eins\ntwo\n", "a cancelled edit is never made", path.read_text())
