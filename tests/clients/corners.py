"""Single calls with exact expectations, for the rules of docs/contract.md that random edits do not reach.

    corners.py [--large] [NAME…]

Each case has a directory of its own below the root, and the outside beside it. `--large` adds a file of 1 GB.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import socket
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from session import Closed, Reply, Server, Timeout

GET, PATCH, CREATE = "get_text_file_contents", "patch_text_file_contents", "create_text_file"
APPEND, INSERT, DELETE = "append_text_file_contents", "insert_text_file_contents", "delete_text_file_contents"


class Wrong(Exception):
    pass


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Place:
    """A case's directory, what lies outside the roots, and servers in both modes."""

    def __init__(self, base: Path, name: str, json_server: Server, text_server: Server) -> None:
        self.dir = base / "root" / name
        self.out = base / "outside" / name
        self.dir.mkdir(parents=True)
        self.out.mkdir(parents=True)
        self.json, self.text = json_server, text_server

    def put(self, name: str, data: bytes | str) -> str:
        path = self.dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return str(path)

    def path(self, name: str) -> str:
        return str(self.dir / name)

    def ok(self, tool: str, server: Server | None = None, **arguments: Any) -> Any:
        reply = (server or self.json).call(tool, arguments)
        if reply.is_error:
            raise Wrong(f"{tool} {arguments}: unexpected {reply.text[:1500]}")
        return reply.json if server is not self.text else reply

    def fails(self, code: str | tuple[str, ...], tool: str, *words: str, lacks: tuple[str, ...] = (), **arguments: Any) -> Any:
        """The call must fail with `code`, in both modes, its text holding `words`; gives the JSON."""
        codes = (code,) if isinstance(code, str) else code
        before = snapshot(self.dir)
        facts = None
        for server in (self.text, self.json):
            reply = server.call(tool, arguments)
            if reply.code not in codes:
                raise Wrong(f"{tool} {short(arguments)}: expected {code}, got {reply.code}: {reply.text[:1500]}")
            for word in words:
                if word not in (reply.text if server is self.text else plain(reply.json)):
                    raise Wrong(f"{tool} {short(arguments)}: the error lacks {word!r}: {reply.text[:1500]}")
            for word in lacks:
                if word in reply.text:
                    raise Wrong(f"{tool} {short(arguments)}: the error holds {word!r}: {reply.text[:1500]}")
            if len(reply.text) >= 8000:
                raise Wrong(f"{tool}: an error text of {len(reply.text)} characters")
            if reply.structured is not None:
                raise Wrong(f"{tool}: structuredContent in an error")
            if server is self.text:
                first = reply.text.split("\n")[0]
                if tool != GET and not first.endswith("; nothing was written"):
                    raise Wrong(f"{tool}: the first line does not end in '; nothing was written': {first!r}")
                for head in ("suggestion: ", "hint: "):
                    if not any(line.startswith(head) for line in reply.text.split("\n")):
                        raise Wrong(f"{tool}: no line {head!r}: {reply.text[:1500]}")
            facts = reply.json
        if snapshot(self.dir) != before:
            raise Wrong(f"{tool} {short(arguments)}: failed, and changed files")
        return facts

    def holds(self, name: str, data: bytes | str) -> None:
        seen = (self.dir / name).read_bytes()
        wanted = data if isinstance(data, bytes) else data.encode()
        if seen != wanted:
            raise Wrong(f"{name}: expected {wanted[:300]!r}, got {seen[:300]!r}")

    def read(self, name: str, **arguments: Any) -> dict[str, Any]:
        return self.ok(GET, files=[{"file_path": self.path(name), **arguments}])["files"][0]


def plain(value: Any) -> str:
    """All strings and numbers of a JSON value, so that words can be looked for whatever key they stand under."""
    if isinstance(value, dict):
        return "\n".join(plain(v) for v in value.values())
    if isinstance(value, list):
        return "\n".join(plain(v) for v in value)
    return str(value)


def short(arguments: Any) -> str:
    text = json.dumps(arguments, ensure_ascii=True)
    return text if len(text) < 400 else text[:400] + "…"


def snapshot(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for folder, folders, files in os.walk(root):
        for name in files + folders:
            path = Path(folder, name)
            found[str(path)] = path.read_bytes() if path.is_file() and not path.is_symlink() and path.stat().st_size < 1 << 20 else ""
    return found


def same(seen: Any, wanted: Any, what: str) -> None:
    if seen != wanted:
        raise Wrong(f"{what}: expected {wanted!r:.700}, got {seen!r:.700}")


def one_patch(path: str, old: str | None, new: str, **more: Any) -> dict[str, Any]:
    """Arguments of a call with one patch."""
    patch = {"new_string": new, **more}
    if old is not None:
        patch["old_string"] = old
    return {"files": [{"file_path": path, "patches": [patch]}]}


CASES: list[tuple[str, Callable[[Place], None]]] = []


def case(function: Callable[[Place], None]) -> Callable[[Place], None]:
    CASES.append((function.__name__, function))
    return function


def all_tools(path: str) -> list[tuple[str, dict[str, Any]]]:
    """A call of each tool for one path."""
    hash = "0" * 64
    return [(GET, {"file_path": path}), (PATCH, one_patch(path, "a", "b")), (CREATE, {"file_path": path, "contents": "x"}),
            (APPEND, {"file_path": path, "file_hash": hash, "contents": "x"}),
            (INSERT, {"file_path": path, "file_hash": hash, "contents": "x", "after": 0}),
            (DELETE, {"file_path": path, "file_hash": hash, "ranges": [{"start": 1, "end": 1, "range_hash": hash}]})]


# Paths


@case
def relative_paths_are_refused_by_every_tool(p: Place) -> None:
    p.put("t.txt", "a\n")
    for tool, arguments in all_tools("t.txt"):
        p.fails("path_not_absolute", tool, "File path must be absolute: t.txt", **arguments)


@case
def the_hint_names_the_absolute_path(p: Place) -> None:
    p.put("sub/t.txt", "a\n")
    p.fails("path_not_absolute", GET, f"{p.dir}/sub/t.txt", file_path=f"{p.dir.name}/sub/t.txt")


@case
def dot_dot_components_are_refused_by_every_tool(p: Place) -> None:
    p.put("t.txt", "a\n")
    for name in (f"{p.dir}/x/../t.txt", f"{p.dir}/..", f"{p.dir}/../{p.dir.name}/t.txt"):
        for tool, arguments in all_tools(name):
            p.fails("path_traversal", tool, f"Path traversal not allowed: {name}", **arguments)


@case
def both_problems_of_a_path_are_reported(p: Place) -> None:
    p.fails(("path_not_absolute", "path_traversal"), GET, "File path must be absolute: ../t.txt",
            "Path traversal not allowed: ../t.txt", file_path="../t.txt")


@case
def dots_in_a_name_are_fine(p: Place) -> None:
    for name in ("foo..bar.txt", "..hidden", "trailing..", "...", "a b\tc.txt", "ünïcode 漢字.txt", "-dash", "new\nline.txt"):
        path = p.path(name)
        p.ok(CREATE, file_path=path, contents="a\n")
        p.ok(PATCH, **one_patch(path, "a", "b"))
        p.holds(name, "b\n")
    p.put("n.txt", "n\n")
    p.ok(GET, file_path=f"{p.dir}/./n.txt")
    p.ok(GET, file_path=f"{p.dir}//n.txt")


@case
def outside_is_worded_the_same_whether_or_not_it_exists(p: Place) -> None:
    (p.out / "there.txt").write_text("secret\n")
    seen = set()
    for name in ("there.txt", "missing.txt", "no/such/dir.txt"):
        path = str(p.out / name)
        for tool, arguments in all_tools(path):
            facts = p.fails("outside_allowed_directories", tool, lacks=("secret",), **arguments)
            if tool == GET:
                seen.add(json.dumps(facts).replace(path, "PATH"))
    same(len(seen), 1, "wordings")
    same(sorted(x.name for x in p.out.iterdir()), ["there.txt"], "files outside")


@case
def a_sibling_that_only_begins_like_the_root_is_outside(p: Place) -> None:
    root = p.dir.parent
    p.fails("outside_allowed_directories", CREATE, file_path=f"{root}-not/t.txt", contents="x")


@case
def links_that_stay_inside_work_and_stay_links(p: Place) -> None:
    p.put("real.txt", "a\n")
    (p.dir / "relative").symlink_to("real.txt")
    (p.dir / "absolute").symlink_to(p.dir / "real.txt")
    (p.dir / "chain").symlink_to("relative")
    (p.dir / "sub").mkdir()
    (p.dir / "folder").symlink_to("sub")
    for n, name in enumerate(("relative", "absolute", "chain")):
        told = p.ok(PATCH, **one_patch(p.path(name), None, f"{n}\n", ranges=[
            {"start": 1, "end": 1, "range_hash": sha((p.dir / "real.txt").read_bytes())}]))
        same(told["files"][0]["file_path"], p.path(name), "the name of the reply")
        p.holds("real.txt", f"{n}\n")
        same((p.dir / name).is_symlink(), True, f"{name} is still a link")
    same(os.readlink(p.dir / "absolute"), str(p.dir / "real.txt"), "the link's target")
    p.ok(CREATE, file_path=p.path("folder/new.txt"), contents="n\n")
    p.holds("sub/new.txt", "n\n")


@case
def links_that_leave_are_refused(p: Place) -> None:
    (p.out / "there.txt").write_text("secret\n")
    (p.dir / "file").symlink_to(p.out / "there.txt")
    (p.dir / "folder").symlink_to(p.out)
    (p.dir / "nowhere").symlink_to(p.out / "missing.txt")
    (p.dir / "up").symlink_to(f"../../outside/{p.dir.name}/there.txt")
    for name in ("file", "folder/there.txt", "folder/missing.txt", "folder/a/b.txt", "nowhere", "up"):
        for tool, arguments in all_tools(p.path(name)):
            codes = ("outside_allowed_directories", "already_exists") if tool == CREATE else "outside_allowed_directories"
            p.fails(codes, tool, lacks=("secret",), **arguments)
    same(sorted(x.name for x in p.out.iterdir()), ["there.txt"], "files outside")
    same((p.out / "there.txt").read_text(), "secret\n", "the file outside")


@case
def dangling_and_circular_links(p: Place) -> None:
    (p.dir / "dangling").symlink_to("missing.txt")
    (p.dir / "a").symlink_to("b")
    (p.dir / "b").symlink_to("a")
    p.fails("not_found", GET, file_path=p.path("dangling"))
    p.fails("already_exists", CREATE, file_path=p.path("dangling"), contents="x")
    same((p.dir / "missing.txt").exists(), False, "the target was made")
    for tool, arguments in all_tools(p.path("a")):
        reply = p.json.call(tool, arguments)
        same(reply.is_error, True, f"{tool} on a circle of links")


@case
def only_regular_files(p: Place) -> None:
    (p.dir / "folder").mkdir()
    os.mkfifo(p.dir / "fifo")
    for tool, arguments in all_tools(p.path("folder")):
        p.fails("already_exists" if tool == CREATE else "is_a_directory", tool, **arguments)
    for tool, arguments in all_tools(p.path("fifo")):
        p.fails("already_exists" if tool == CREATE else "not_a_regular_file", tool, **arguments)
    with socket.socket(socket.AF_UNIX) as s:
        here = os.getcwd()
        os.chdir(p.dir)
        try:
            s.bind("socket")
        finally:
            os.chdir(here)
        for tool, arguments in all_tools(p.path("socket")):
            p.fails("already_exists" if tool == CREATE else "not_a_regular_file", tool, **arguments)
    p.put("file", "x")
    for tool, arguments in all_tools(p.path("file/below.txt")):
        p.fails("not_a_directory" if tool == CREATE else ("not_a_directory", "not_found"), tool, **arguments)


@case
def devices_are_refused_at_once(p: Place) -> None:
    with Server("/dev", options=["--output", "json"]) as server:
        for name in ("/dev/zero", "/dev/null"):
            for tool, arguments in all_tools(name):
                if tool != CREATE:
                    same(server.call(tool, arguments).code, "not_a_regular_file", f"{tool} {name}")
        same(server.call(CREATE, {"file_path": "/dev/zero", "contents": "x"}).code, "already_exists", "create /dev/zero")


@case
def missing_files(p: Place) -> None:
    for tool, arguments in all_tools(p.path("missing.txt")):
        if tool != CREATE:
            words = ("create_text_file",) if tool == PATCH else ()
            p.fails("not_found", tool, *words, **arguments)
    p.fails("not_found", GET, file_path=p.path("no/such/dir/t.txt"))


@case
def names_that_no_file_can_have(p: Place) -> None:
    for name in ("nul\0byte.txt", "x" * 300 + ".txt"):
        for tool, arguments in all_tools(p.path(name)):
            reply = p.json.call(tool, arguments)
            same(reply.is_error and reply.rpc_error is None and reply.code != "internal_error", True, f"{tool}: a clear error: {reply.code}")


@case
def an_empty_path(p: Place) -> None:
    for tool, arguments in all_tools(""):
        reply = p.json.call(tool, arguments)
        same(reply.code in ("path_not_absolute", "invalid_arguments"), True, f"{tool}: {reply.code}")


@case
def nul_bytes_make_a_file_binary(p: Place) -> None:
    path = p.put("t.bin", b"a\0b\n")
    for tool, arguments in all_tools(path):
        if tool != CREATE:
            p.fails(("binary_file", "hash_mismatch"), tool, **arguments)
    p.fails("binary_file", GET, file_path=path)
    p.fails("binary_file", GET, file_path=path, encoding="shift_jis")
    p.put("late.bin", b"a\n" * 500_000 + b"\0\n")
    p.fails("binary_file", GET, file_path=p.path("late.bin"), line_start=1, line_end=1)


@case
def binary_that_looks_like_utf16_says_so(p: Place) -> None:
    p.put("le.txt", ("some text, and more of it\r\n" * 8).encode("utf-16-le"))
    p.put("be32.txt", ("some text, and more of it\r\n" * 8).encode("utf-32-be"))
    facts = p.fails("binary_file", GET, file_path=p.path("le.txt"))
    same("utf-16" in plain(facts).lower(), True, "UTF-16 is named")
    facts = p.fails("binary_file", GET, file_path=p.path("be32.txt"))
    same("utf-32" in plain(facts).lower(), True, "UTF-32 is named")
    got = p.read("le.txt", encoding="utf-16-le")
    same(got["ranges"][0]["content"], "some text, and more of it\n" * 8, "as UTF-16")


@case
def entries_that_are_one_file_are_joined(p: Place) -> None:
    path = p.put("t.txt", "a\nb\nc\n")
    (p.dir / "link").symlink_to("t.txt")
    files = [{"file_path": path, "patches": [{"old_string": "a", "new_string": "A"}]},
             {"file_path": p.path("link"), "patches": [{"old_string": "b", "new_string": "B"}]}]
    p.ok(PATCH, files=files)
    p.holds("t.txt", "A\nB\nc\n")
    overlap = [{"file_path": path, "patches": [{"old_string": "c", "new_string": "1"}]},
               {"file_path": p.path("link"), "patches": [{"old_string": "c", "new_string": "2"}]}]
    p.fails("overlapping_ranges", PATCH, files=overlap)
    again = [{"file_path": path, "encoding": "utf-8", "patches": [{"old_string": "c", "new_string": "1"}]},
             {"file_path": p.path("link"), "encoding": "latin1", "patches": [{"old_string": "A", "new_string": "2"}]}]
    p.fails("invalid_arguments", PATCH, files=again)
    again = [{"file_path": path, "file_hash": sha(b"A\nB\nc\n"), "patches": [{"old_string": "c", "new_string": "1"}]},
             {"file_path": p.path("link"), "file_hash": "0" * 16, "patches": [{"old_string": "A", "new_string": "2"}]}]
    p.fails("invalid_arguments", PATCH, files=again)


@case
def hard_links_are_one_file_and_stay_linked(p: Place) -> None:
    path = p.put("t.txt", "a\nb\n")
    os.link(path, p.path("hard.txt"))
    told = p.ok(PATCH, files=[{"file_path": path, "patches": [{"old_string": "a", "new_string": "A"}]},
                              {"file_path": p.path("hard.txt"), "patches": [{"old_string": "b", "new_string": "B"}]}])
    p.holds("t.txt", "A\nB\n")
    p.holds("hard.txt", "A\nB\n")
    same(os.stat(path).st_ino, os.stat(p.path("hard.txt")).st_ino, "inodes")
    same(any(f.get("warnings") for f in told["files"]), True, "a warning names the edit in place")


# Lines, ranges


@case
def what_a_line_is(p: Place) -> None:
    for data, total, ending in [(b"", 0, "none"), (b"a", 1, "none"), (b"a\n", 1, "lf"), (b"\n", 1, "lf"), (b"\r\n", 1, "crlf"), (b"\r", 1, "cr"),
                                (b"a\rb\rc", 3, "cr"), (b"a\rb\n", 1, "lf"), (b"a\r\nb\n", 2, "mixed"), (b"\r\r\n", 1, "crlf"),
                                ("a\u2028b\x0bc\x0cd\x85e\u2029f".encode(), 1, "none"), (b"\xef\xbb\xbf", 0, "none"), (b"\n\n\n", 3, "lf")]:
        p.put("t.txt", data)
        got = p.read("t.txt")
        same((got["total_lines"], got["line_ending"], got["file_size"], got["file_hash"]), (total, ending, len(data), sha(data)), repr(data))


@case
def a_cr_at_the_very_end_of_a_large_block(p: Place) -> None:
    for size in (4095, 4096, 8191, 65535, 65536, 131071, 262143, 1048575):
        data = b"x" * size + b"\r\n" + b"y\r\n"
        p.put("t.txt", data)
        got = p.read("t.txt", ranges=[{"start": 2}])
        same((got["total_lines"], got["line_ending"], got["ranges"][0]["content"]), (2, "crlf", "y\n"), f"CRLF at {size}")
        # Another file: of this one, lines that were shown have changed.
        data = "é".encode() * (size // 2) + b"x" * (size % 2) + "漢\n".encode() + b"y\n"
        p.put(f"{size}.txt", data)
        p.ok(PATCH, **one_patch(p.path(f"{size}.txt"), "漢\ny", "z"))
        p.holds(f"{size}.txt", data[:-6] + b"z\n")


@case
def ends_of_ranges(p: Place) -> None:
    path = p.put("t.txt", "1\n2\n3\n4\n5\n")
    for r, start, end, content in [({"start": 1}, 1, 5, "1\n2\n3\n4\n5\n"), ({"start": 2, "end": None}, 2, 5, "2\n3\n4\n5\n"),
                                   ({"start": 4, "end": -1}, 4, 5, "4\n5\n"), ({"start": 4, "end": 99}, 4, 5, "4\n5\n"), ({"start": 0, "end": 1}, 1, 1, "1\n"),
                                   ({"start": -2}, 4, 5, "4\n5\n"), ({"start": -99}, 1, 5, "1\n2\n3\n4\n5\n"), ({"start": -1, "end": -1}, 5, 5, "5\n"),
                                   ({"start": 6}, 6, 5, ""), ({"start": 99, "end": 200}, 99, 98, "")]:
        got = p.read("t.txt", ranges=[r])["ranges"][0]
        same((got["start"], got["end"], got["content"], got["range_hash"]), (start, end, content, sha(content.encode())), f"a read of {r}")
    same(p.read("t.txt", ranges=[]).get("ranges") in (None, []), True, "ranges: [] gives facts only")
    p.fails("invalid_range", GET, file_path=path, line_start=3, line_end=2)
    for r in ({"start": 0, "end": 1}, {"start": 6}, {"start": 5, "end": 6}, {"start": -1}, {"start": 99, "end": 100}):
        p.fails("line_out_of_range", PATCH, **one_patch(path, "1", "x", ranges=[r]))
        p.fails("line_out_of_range", DELETE, file_path=path, file_hash=sha(b"1\n2\n3\n4\n5\n"), ranges=[{**r, "range_hash": "0" * 12}])
    for r in ({"start": 3, "end": 2}, {"start": 99, "end": 98}, {"start": 1, "end": 0}):
        p.fails("invalid_range", PATCH, **one_patch(path, "1", "x", ranges=[r]))
        p.fails("invalid_range", DELETE, file_path=path, file_hash=sha(b"1\n2\n3\n4\n5\n"), ranges=[{**r, "range_hash": "0" * 12}])


@case
def huge_numbers_are_only_numbers(p: Place) -> None:
    path = p.put("t.txt", "1\n2\n")
    for n in (2**31, 2**32, 2**53, 2**63 - 1):
        same(p.read("t.txt", ranges=[{"start": 1, "end": n}])["ranges"][0]["end"], 2, f"end {n}")
        same(p.read("t.txt", ranges=[{"start": n}])["ranges"][0]["content"], "", f"start {n}")
        same(p.read("t.txt", ranges=[{"start": -n}])["ranges"][0]["start"], 1, f"start {-n}")
        p.fails("line_out_of_range", PATCH, **one_patch(path, "1", "x", ranges=[{"start": 1, "end": n}]))
    for n in (2**64, 10**30, 1.5, "x", [], {}, True):
        p.fails(("invalid_arguments", "line_out_of_range") if type(n) is int else "invalid_arguments", PATCH, **one_patch(path, "1", "x", ranges=[{"start": n}]))


@case
def reads_of_an_empty_file(p: Place) -> None:
    path = p.put("t.txt", b"")
    got = p.read("t.txt")
    same((got["total_lines"], got["file_hash"], got["line_ending"]), (0, sha(b""), "none"), "an empty file")
    same(p.ok(GET, server=p.text, file_path=path).text.split(" file_hash")[0].endswith("lines 1-0 of 0"), True, "lines 1-0 of 0")


# Text in, text out


@case
def lone_cr_and_nul_in_what_is_sent(p: Place) -> None:
    data = b"a\nb\n"
    path = p.put("t.txt", data)
    for bad in ("a\rb", "\r", "a\n\r", "a\r\r\n", "x\0y"):
        p.fails("invalid_arguments", PATCH, **one_patch(path, "a", bad))
        p.fails("invalid_arguments", PATCH, **one_patch(path, bad, "x"))
        p.fails("invalid_arguments", APPEND, file_path=path, file_hash=sha(data), contents=bad)
        p.fails("invalid_arguments", INSERT, file_path=path, file_hash=sha(data), contents=bad, after=1)
    p.ok(CREATE, file_path=p.path("c.txt"), contents="a\rb\r\r\nc")
    p.holds("c.txt", "a\rb\r\r\nc")
    p.fails("invalid_arguments", CREATE, file_path=p.path("n.txt"), contents="x\0y")


@case
def bytes_outside_an_edit_never_change(p: Place) -> None:
    head, tail = b"\xef\xbb\xbfx  \r\ny\t\nlone\rcr\n\xe2\x80\xa8\n", b"\r\n\r\n \n end \t"
    p.put("t.txt", head + b"target\r\n" + tail)
    p.ok(PATCH, **one_patch(p.path("t.txt"), "target", "hit\nit"))
    p.holds("t.txt", head + b"hit\r\nit\r\n" + tail)


# Encodings


LABELS = {
    "utf-8": ["utf-8", "UTF8", "utf_8", "Utf-8", "utf 8"], "utf-16-le": ["utf-16-le", "UTF-16LE", "utf_16_le"], "utf-16-be": ["utf-16-be", "utf16be"],
    "utf-32-le": ["utf-32-le", "UTF_32_LE"], "utf-32-be": ["utf-32-be"], "shift_jis": ["shift_jis", "Shift-JIS", "sjis", "cp932", "ms932", "windows-31j"],
    "euc_jp": ["euc_jp", "EUC-JP", "eucjp", "ujis"], "gbk": ["gbk", "cp936", "936"], "gb18030": ["gb18030", "GB-18030"], "big5": ["big5", "Big5", "csbig5"],
    "euc_kr": ["euc_kr", "euc-kr", "cp949", "ks_c_5601-1987"], "latin-1": ["latin1", "LATIN_1", "iso-8859-1", "iso8859_1", "l1"],
    "cp1251": ["cp1251", "windows-1251", "Windows_1251"], "cp1252": ["cp1252", "windows-1252"], "koi8_r": ["koi8-r", "koi8_r", "KOI8 R"], "koi8_u": ["koi8-u"],
    "iso8859_2": ["iso8859-2", "iso-8859-2", "latin2"], "iso8859_15": ["iso8859-15", "iso-8859-15"], "mac_roman": ["mac-roman", "macintosh", "mac_roman"],
    "ascii": ["ascii", "us-ascii", "ASCII"], "iso2022_jp": ["iso-2022-jp", "iso2022_jp"],
}
SAMPLES = {"shift_jis": "表ソ", "euc_jp": "漢字", "iso2022_jp": "漢字", "gbk": "汉字", "gb18030": "汉字😀", "big5": "功許", "euc_kr": "한글", "cp1251": "привет", "koi8_r": "привет",
           "koi8_u": "ґї", "ascii": "abc", "iso8859_2": "ř", "iso8859_15": "€", "cp1252": "€", "mac_roman": "é"}


@case
def encoding_labels(p: Place) -> None:
    for codec, labels in LABELS.items():
        text = SAMPLES.get(codec, "é") + " x\nend\n"
        names = set()
        for label in labels:
            p.put("t.txt", text.encode(codec))
            got = p.read("t.txt", encoding=label)
            same(got["ranges"][0]["content"], text, f"{label}: the text")
            names.add(got["encoding"])
            p.ok(PATCH, files=[{"file_path": p.path("t.txt"), "encoding": label, "patches": [{"old_string": "x", "new_string": "y", "replace_all": True}]}])
            p.holds("t.txt", text.replace("x", "y").encode(codec))
        same(len(names), 1, f"one canonical name for {labels}: {names}")


@case
def unknown_encodings(p: Place) -> None:
    path = p.put("t.txt", "a\n")
    for label in ("utf-9", "klingon", "rot13", "base64", "hex", "replacement", "x-user-defined"):
        p.fails("unknown_encoding", GET, label, file_path=path, encoding=label)
    p.fails("unknown_encoding", CREATE, file_path=p.path("n.txt"), contents="x", encoding="klingon")
    same((p.dir / "n.txt").exists(), False, "a file was made")


@case
def decode_errors_name_the_place(p: Place) -> None:
    path = p.put("t.txt", b"one\ntwo\nthr\xffee\n")
    p.fails("decode_failed", GET, "Failed to decode file with utf-8 encoding", "11", "3", file_path=path)
    p.fails("decode_failed", GET, "Failed to decode file with UTF8 encoding", file_path=path, encoding="UTF8")
    p.fails("decode_failed", GET, "Failed to decode file with us-ascii encoding", file_path=path, encoding="us-ascii")
    p.fails("decode_failed", PATCH, "Failed to decode file with utf-8 encoding", **one_patch(path, "one", "1"))
    p.fails("decode_failed", APPEND, file_path=path, file_hash=sha(b"one\ntwo\nthr\xffee\n"), contents="x")
    for bad in (b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe6\xbc", b"\x80", b"\xf8\x88\x80\x80\x80"):
        p.put("u.txt", b"a\n" + bad)
        p.fails("decode_failed", PATCH, **one_patch(p.path("u.txt"), "a", "b"))
    p.put("w.txt", b"\xff\xfea\0\n\0\x00\xd8b\0")
    p.fails("decode_failed", GET, file_path=p.path("w.txt"))
    p.put("odd.txt", b"\xff\xfea\0\n")
    p.fails("decode_failed", PATCH, **one_patch(p.path("odd.txt"), "a", "b"))
    p.put("big.txt", b"\xff\xfe\0\0" + b"\0\0\x11\0")
    p.fails("decode_failed", GET, file_path=p.path("big.txt"))


@case
def an_encoding_that_the_bytes_look_like_is_named(p: Place) -> None:
    text = "これは日本語の文章です。漢字とかなが混ざっています。\n" * 5
    for codec, names in (("cp932", ("shift_jis",)), ("euc_jp", ("euc-jp", "euc_jp"))):
        path = p.put("t.txt", text.encode(codec))
        facts = p.fails("decode_failed", GET, file_path=path)
        same(any(n in plain(facts).lower() for n in names), True, f"{codec} is named in {plain(facts)!r:.600}")


@case
def encode_failures_name_the_character(p: Place) -> None:
    data = "é\n".encode("latin-1")
    path = p.put("t.txt", data)
    patch = {"file_path": path, "encoding": "latin1", "patches": [{"old_string": "é", "new_string": "ab☃"}]}
    p.fails("encode_failed", PATCH, "☃", files=[patch])
    p.fails("encode_failed", APPEND, "€", file_path=path, file_hash=sha(data), contents="x\n€", encoding="iso-8859-1")
    p.fails("encode_failed", INSERT, "漢", file_path=path, file_hash=sha(data), contents="漢", after=0, encoding="latin1")
    p.fails("encode_failed", CREATE, "é", file_path=p.path("made/n.txt"), contents="é", encoding="ascii")
    same((p.dir / "made").exists(), False, "a directory is left of a create that failed")
    j = p.put("j.txt", "表\n".encode("cp932"))
    for character in "¥‾":
        p.fails("encode_failed", PATCH, character, files=[{"file_path": j, "encoding": "shift_jis", "patches": [{"old_string": "表", "new_string": character}]}])


@case
def boms(p: Place) -> None:
    for label, data in [("utf-8", "é".encode()), ("utf-8-sig", b"\xef\xbb\xbf" + "é".encode()), ("utf-16", b"\xff\xfe\xe9\0"), ("utf-16-le", b"\xe9\0"), ("utf-16-be", b"\0\xe9"),
                        ("utf-32", b"\xff\xfe\0\0\xe9\0\0\0"), ("utf-32-be", b"\0\0\0\xe9")]:
        p.ok(CREATE, file_path=p.path(f"{label}.txt"), contents="é", encoding=label)
        p.holds(f"{label}.txt", data)
    p.put("b.txt", b"\xef\xbb\xbfa\n")
    for label in (None, "utf-8", "utf-16", "utf-32-be", "utf-8-sig"):  # a BOM outranks a Unicode label
        got = p.read("b.txt", **({} if label is None else {"encoding": label}))
        same((got["ranges"][0]["content"], got["bom"], got["encoding"]), ("a\n", True, "utf-8"), f"read as {label}")
    got = p.read("b.txt", encoding="latin1")  # any other reads the bytes as they are
    same((got["ranges"][0]["content"], got["bom"]), ("ï»¿a\n", False), "read as latin1")
    same(p.read("b.txt")["ranges"][0]["range_hash"], sha(b"a\n"), "the BOM is no part of line 1")
    p.ok(DELETE, file_path=p.path("b.txt"), file_hash=sha(b"\xef\xbb\xbfa\n"), ranges=[{"start": 1, "range_hash": sha(b"a\n")}])
    p.holds("b.txt", b"\xef\xbb\xbf")
    text = p.ok(GET, server=p.text, file_path=p.path("utf-8-sig.txt")).text
    same("utf-8+bom" in text.split("\n")[0], True, f"utf-8+bom in {text!r}")


@case
def a_stateful_encoding(p: Place) -> None:
    data = "abc\n漢字\nxyz\n".encode("iso2022_jp")
    p.put("t.txt", data)
    p.ok(PATCH, files=[{"file_path": p.path("t.txt"), "encoding": "iso-2022-jp", "patches": [{"old_string": "xyz", "new_string": "仮名"}]}])
    same((p.dir / "t.txt").read_bytes().decode("iso2022_jp"), "abc\n漢字\n仮名\n", "the text")
    same((p.dir / "t.txt").read_bytes().startswith("abc\n漢字\n".encode("iso2022_jp")[:-3]), True, "the bytes before")


# Digests


@case
def hash_parameters(p: Place) -> None:
    data = b"a\nb\n"
    path = p.put("t.txt", data)
    full, line = sha(data), sha(b"b\n")
    for n in (12, 13, 16, 40, 63, 64):
        for cased in (str.lower, str.upper):
            p.ok(PATCH, files=[{"file_path": path, "file_hash": cased(full[:n]), "patches": [
                {"new_string": "b", "ranges": [{"start": 2, "range_hash": cased(line[:n])}]}]}])
    for bad in ("", "a", full[:11], full + "0", "g" * 16, full[:15] + " ", " " + full[:15], "0x" + full[:14]):
        # Where a hash may be left out, an empty one is none.
        (p.fails if bad else lambda _, *rest, **call: p.ok(*rest, **call, dry_run=True))(
            "invalid_arguments", PATCH, files=[{"file_path": path, "file_hash": bad, "patches": [{"old_string": "a", "new_string": "x"}]}])
        p.fails("invalid_arguments", PATCH, **one_patch(path, None, "x", ranges=[{"start": 2, "range_hash": bad}]))
        p.fails("invalid_arguments", APPEND, file_path=path, file_hash=bad, contents="x")
        p.fails("invalid_arguments", DELETE, file_path=path, file_hash=full, ranges=[{"start": 2, "range_hash": bad}])
    text = p.ok(GET, server=p.text, file_path=path).text
    same(f"file_hash {full[:16]} range_hash {full[:16]}" in text.split("\n")[0], True, f"16 digits in text: {text!r}")


@case
def hash_mismatch_gives_the_new_hash(p: Place) -> None:
    data = b"a\nb\n"
    path = p.put("t.txt", data)
    facts = p.fails("hash_mismatch", PATCH, sha(data)[:16], files=[{"file_path": path, "file_hash": "0" * 16, "patches": [{"old_string": "a", "new_string": "x"}]}])
    same(facts["errors"][0]["file_hash"], sha(data), "the new file_hash")
    facts = p.fails("hash_mismatch", DELETE, sha(data)[:16], file_path=path, file_hash="0" * 16, ranges=[{"start": 1, "end": 1, "range_hash": sha(b"a\n")}])
    same(facts["errors"][0]["file_hash"], sha(data), "the new file_hash")
    p.ok(DELETE, file_path=path, file_hash=facts["errors"][0]["file_hash"], ranges=[{"start": 1, "end": 1, "range_hash": sha(b"a\n")}])
    p.holds("t.txt", "b\n")


# Arguments


@case
def unknown_keys_are_refused_by_name(p: Place) -> None:
    path = p.put("t.txt", "a\n")
    p.fails("invalid_arguments", GET, "file_pth", "file_path", file_pth=path)
    p.fails("invalid_arguments", GET, "lines_start", "line_start", file_path=path, lines_start=1)
    p.fails("invalid_arguments", PATCH, "old_str", "old_string", files=[{"file_path": path, "patches": [{"old_str": "a", "new_string": "b"}]}])
    p.fails("invalid_arguments", PATCH, "strat", "start", **one_patch(path, "a", "b", ranges=[{"strat": 1}]))
    p.fails("invalid_arguments", PATCH, "dryrun", "dry_run", dryrun=True, **one_patch(path, "a", "b"))
    p.fails("invalid_arguments", CREATE, "content", "contents", file_path=p.path("n.txt"), content="x")


@case
def all_argument_problems_come_together(p: Place) -> None:
    path = p.put("t.txt", "a\n")
    p.fails("invalid_arguments", PATCH, "bogus", "colour", "new_string", colour="red", files=[{"file_path": path, "bogus": 1, "patches": [{"old_string": "a"}]}])


@case
def empty_lists_where_something_is_to_be_done(p: Place) -> None:
    path = p.put("t.txt", "a\n")
    p.fails("invalid_arguments", GET, files=[])
    p.fails("invalid_arguments", PATCH, files=[])
    p.fails("invalid_arguments", PATCH, files=[{"file_path": path, "patches": []}])
    p.fails("invalid_arguments", DELETE, file_path=path, file_hash=sha(b"a\n"), ranges=[])
    p.fails("invalid_arguments", GET, file_path=path, files=[{"file_path": path}])
    p.fails("invalid_arguments", GET)


@case
def strings_that_spell_json_and_null(p: Place) -> None:
    path = p.put("t.txt", "1\n2\n3\n")
    same(p.ok(GET, file_path=path, line_start="2", line_end="2")["files"][0]["ranges"][0]["content"], "2\n", "integers")
    p.ok(PATCH, dry_run="true", files=json.dumps([{"file_path": path, "patches": [{"old_string": "2", "new_string": "two"}]}]))
    p.holds("t.txt", "1\n2\n3\n")
    p.ok(PATCH, files=[json.dumps({"file_path": path, "patches": [{"old_string": "2", "new_string": "[2]", "replace_all": "false"}]})])
    p.ok(PATCH, files=[{"file_path": path, "encoding": None, "file_hash": None, "patches": json.dumps([{"old_string": "1", "new_string": "true", "ranges": None}])}])
    p.ok(PATCH, files=[{"file_path": path, "patches": [{"old_string": "3", "new_string": "null", "ranges": "[{\"start\": 3, \"end\": \"3\"}]"}]}])
    p.holds("t.txt", "true\n[2]\nnull\n")
    p.fails("invalid_arguments", PATCH, files=[{"file_path": path, "patches": [{"old_string": 1, "new_string": "x"}]}])
    p.fails("invalid_arguments", CREATE, file_path=p.path("n.txt"), contents={"a": 1})
    p.fails("invalid_arguments", GET, file_path=path, line_start="two")
    p.fails("invalid_arguments", PATCH, dry_run="perhaps", **one_patch(path, "1", "x"))


# Reading and its budget


def budget_server(p: Place, n: int, *more: str) -> Server:
    return Server(p.dir.parent, options=["--output", "json", "--max-response-bytes", str(n), *more])


@case
def continued_reads_give_the_file_exactly(p: Place) -> None:
    texts = ["short\n", "x" * 900 + "\n", "漢字" * 40 + "\n", "\n", "y" * 399 + "\n", "\U0001f600é" * 300 + "\n"] * 20 + ["no end"]
    whole = "".join(texts)
    path = p.put("t.txt", whole)
    for budget in (400, 1000, 5000):
        with budget_server(p, budget) as server:
            seen, start, char, steps = "", 1, None, 0
            while steps < 5000:
                steps += 1
                r: dict[str, Any] = {"start": start}
                if char is not None:
                    r["from_char"] = char
                reply = server.call(GET, {"files": [{"file_path": path, "ranges": [r]}]})
                if reply.is_error:
                    raise Wrong(f"a continued read of {r}: {reply.text[:600]}")
                got = reply.json["files"][0]["ranges"][0]
                size = len(got["content"].encode())
                if size > budget:
                    raise Wrong(f"{size} bytes of content with a budget of {budget}")
                if not got["content"]:
                    raise Wrong(f"a continued read of {r} got no further: {got}")
                seen += got["content"]
                if got.get("next_char") is not None:
                    if got.get("range_hash"):
                        raise Wrong("a range_hash where a line is cut")
                    if got["line_length"] != len(texts[start - 1 if char else got["start"] - 1].rstrip("\n")):
                        raise Wrong(f"line_length {got['line_length']} for {got['start']}")
                    start, char = got["next_start"], got["next_char"]
                elif got.get("next_start") is not None:
                    if char is None:
                        same(got["range_hash"], sha("".join(texts[got["start"] - 1:got["end"]]).encode()), "the range_hash of the lines shown")
                    start, char = got["next_start"], None
                else:
                    break
            same(seen, whole, f"the file, put together with a budget of {budget}")


@case
def from_char(p: Place) -> None:
    p.put("t.txt", "aé漢😀z\nnext\n")
    for n, content in ((1, "aé漢😀z\n"), (2, "é漢😀z\n"), (4, "😀z\n"), (5, "z\n")):
        got = p.read("t.txt", ranges=[{"start": 1, "end": 1, "from_char": n}])["ranges"][0]
        same(got["content"], content, f"from_char {n}")
    for n in (7, 99, 2**40):
        got = p.read("t.txt", ranges=[{"start": 1, "end": 1, "from_char": n}])["ranges"][0]
        same(got["content"].strip("\n"), "", f"from_char {n}, past the end")


@case
def the_budget_is_shared_by_ranges(p: Place) -> None:
    p.put("t.txt", "".join(f"line {i:05}\n" for i in range(1, 2001)))
    with budget_server(p, 2000) as server:
        reply = server.call(GET, {"files": [{"file_path": p.path("t.txt"), "ranges": [{"start": 1}, {"start": 1000, "end": 1001}, {"start": 1500}]}]})
        ranges = reply.json["files"][0]["ranges"]
        same([bool(r["content"]) for r in ranges], [True] * 3, "every range has its share")
        same(ranges[1]["content"], "line 01000\nline 01001\n", "a small range is whole")
        total = sum(len(r["content"]) for r in ranges)
        same(1000 <= total <= 2000, True, f"the budget is used, and kept: {total}")
        for r in ranges:
            same(r["content"].endswith("\n"), True, "cut on a line's end")
            same(r["content"].count("\n"), r["end"] - r["start"] + 1, "end is that of the lines shown")
            same(r["range_hash"], sha(r["content"].encode()), "range_hash is that of the lines shown")
        same((ranges[0].get("truncated"), ranges[0].get("next_start")), (True, ranges[0]["end"] + 1), "where to go on")


@case
def text_replies_say_where_to_go_on(p: Place) -> None:
    p.put("t.txt", "".join(f"line {i:05}\n" for i in range(1, 501)))
    with Server(p.dir.parent, options=["--max-response-bytes", "1000"]) as server:
        seen, start = "", 1
        for _ in range(100):
            text = server.call(GET, {"file_path": p.path("t.txt"), "line_start": start}).text
            lines = text.split("\n")
            seen += "".join(x.split("\t", 1)[1] + "\n" for x in lines[1:] if "\t" in x)
            body = sum(len(x) + 1 for x in lines[1:] if "\t" in x)
            same(body <= 1000, True, f"content and gutter are {body} bytes")
            note = [x for x in lines if x.startswith("[cut after line ")]
            if not note:
                break
            same(" of 500; go on with line_start " in note[0], True, note[0])
            start = int(note[0].split("line_start ")[1].rstrip("]"))
        same(seen, (p.dir / "t.txt").read_text(), "the file, put together")


@case
def default_budget(p: Place) -> None:
    p.put("t.txt", "x" * 99 + "\n" + ("y" * 99 + "\n") * 999)
    got = p.read("t.txt")["ranges"][0]
    same((got["truncated"], 15_000 < len(got["content"]) <= 18_000), (True, True), f"{len(got['content'])} bytes of 100 000")


@case
def one_unreadable_file_spoils_no_other(p: Place) -> None:
    p.put("a.txt", "a\n")
    p.put("b.bin", b"\0")
    facts = p.ok(GET, files=[{"file_path": p.path("b.bin")}, {"file_path": p.path("a.txt")}, {"file_path": p.path("missing")}])
    same([f.get("error", {}).get("code") for f in facts["files"]], ["binary_file", None, "not_found"], "a result for each")
    same(facts["files"][1]["ranges"][0]["content"], "a\n", "the good one")
    p.fails("binary_file", GET, files=[{"file_path": p.path("b.bin")}, {"file_path": p.path("missing")}])


@case
def text_layout(p: Place) -> None:
    path = p.put("t.txt", "one\ntwo\nthree")
    file_hash = sha(b"one\ntwo\nthree")[:16]
    r = sha(b"two\n")[:16]
    text = p.ok(GET, server=p.text, file_path=path, line_start=2, line_end=2).text
    same(text.rstrip("\n"), f"{path} lines 2-2 of 3 file_hash {file_hash} range_hash {r} utf-8 lf\n2\ttwo", "a read")
    text = p.ok(GET, server=p.text, file_path=path, line_start=2, line_end=2, line_numbers=False).text
    same(text.rstrip("\n").split("\n")[1], "two", "a bare line")
    text = p.ok(GET, server=p.text, files=[{"file_path": path, "ranges": []}]).text
    same(text.rstrip("\n"), f"{path} 3 lines 13 bytes file_hash {file_hash} utf-8 lf", "facts only")
    text = p.ok(GET, server=p.text, file_path=path).text
    same(text.rstrip("\n").split("\n")[1:], ["1\tone", "2\ttwo", "3\tthree", "[no newline at end of file]"], "the whole file")
    text = p.ok(GET, server=p.text, file_path=path, line_start=9).text
    same("lines 9-8 of 3" in text, True, f"nothing to show: {text!r}")
    text = p.ok(GET, server=p.text, files=[{"file_path": path, "ranges": [{"start": 1, "end": 1}, {"start": 3, "end": 3}]}]).text
    same("1\tone\n\n" + f"{path} lines 3-3 of 3" in text, True, f"a blank line between ranges: {text!r}")


# Patching: what errors tell


@case
def a_failed_match_tells_what_is_there(p: Place) -> None:
    path = p.put("t.txt", "one\ntwo\nthree\nfour\nfive\n")
    facts = p.fails("content_mismatch", PATCH, "three", **one_patch(path, "four", "x", ranges=[{"start": 2, "end": 3}]))
    e = facts["errors"][0]
    same((e["start"], e["end"]), (2, 3), "the line range")
    same(e["actual"].rstrip("\n"), "two\nthree", "the actual text")
    same(e["found_at"], [{"start": 4, "end": 4}], "where it stands now")
    facts = p.fails("no_match", PATCH, **one_patch(path, "thre three", "x"))
    same(len(facts["errors"][0].get("nearest", [])) <= 3, True, "at most three similar places")
    facts = p.fails("range_hash_mismatch", PATCH, **one_patch(path, None, "x", ranges=[{"start": 2, "end": 2, "range_hash": sha(b"one\n")}]))
    same(facts["errors"][0]["actual"].rstrip("\n"), "two", "the actual text")


@case
def ambiguity_gives_the_places(p: Place) -> None:
    path = p.put("t.txt", "x\n" * 30)
    facts = p.fails("ambiguous_match", PATCH, "30", **one_patch(path, "x", "y"))
    same(len(facts["errors"][0]["found_at"]), 10, "at most ten places")
    p.put("o.txt", "aaa\n")
    facts = p.fails("ambiguous_match", PATCH, **one_patch(p.path("o.txt"), "aa", "b"))  # overlapping ones are counted


@case
def found_at_is_closest_first(p: Place) -> None:
    lines = ["pad"] * 100
    for i in (5, 48, 55, 90):
        lines[i - 1] = "here"
    path = p.put("t.txt", "\n".join(lines) + "\n")
    facts = p.fails("content_mismatch", PATCH, **one_patch(path, "here", "x", ranges=[{"start": 50, "end": 50}]))
    same([f["start"] for f in facts["errors"][0]["found_at"]], [48, 55, 90, 5], "closest to the range first")


@case
def nearest_shows_similar_text(p: Place) -> None:
    path = p.put("t.py", "import os\n\ndef total(items):\n    return sum(item.price for item in items)\n\ndef main():\n    pass\n")
    facts = p.fails("no_match", PATCH, **one_patch(path, "    return sum(item.cost for item in items)\n", "x"))
    same(facts["errors"][0]["nearest"][0]["start"], 4, "the most similar place")
    same("item.price" in facts["errors"][0]["nearest"][0]["actual"], True, "its text")


@case
def whys_of_a_failed_match(p: Place) -> None:
    path = p.put("t.txt", "def f():\n\treturn 1\nsay \"hi\"\na b\nx = 1\n")
    for old in ("def f():\n    return 1", "say “hi”", "a\u00a0b", "def f():\\n\\treturn 1", "1\tdef f():\n2\t\treturn 1", "def f():\n    ...\nsay \"hi\""):
        facts = p.fails("no_match", PATCH, **one_patch(path, old, "zzz"))
        e = facts["errors"][0]
        same(len(e["reason"]) > 20 or bool(e.get("hint")), True, f"a reason for {old!r}")
    p.fails(("no_match",), PATCH, **one_patch(path, "x = 2", "x = 1"))  # the new text is already there
    p.holds("t.txt", "def f():\n\treturn 1\nsay \"hi\"\na b\nx = 1\n")


@case
def a_long_actual_text_is_cut(p: Place) -> None:
    path = p.put("t.txt", "".join(f"line {i} {'x' * 400}\n" for i in range(200)))
    p.fails("content_mismatch", PATCH, **one_patch(path, "nope", "x", ranges=[{"start": 1, "end": 200}]))
    p.fails("no_match", PATCH, **one_patch(path, "line 5 " + "y" * 20000, "x"))
    patches = [{"old_string": f"missing {i}", "new_string": "x", "ranges": [{"start": i, "end": i + 3}]} for i in range(1, 150)]
    p.fails("content_mismatch", PATCH, files=[{"file_path": path, "patches": patches}])


@case
def patches_of_an_empty_file(p: Place) -> None:
    path = p.put("t.txt", b"")
    p.fails("line_out_of_range", PATCH, **one_patch(path, "", "x", ranges=[{"start": 1, "end": 1}]))
    p.fails("no_match", PATCH, **one_patch(path, "x", "y"))
    p.ok(PATCH, **one_patch(path, "", "x\r\ny"))
    p.holds("t.txt", "x\ny")
    p.fails("invalid_arguments", PATCH, **one_patch(path, "", "z"))


@case
def the_three_ways_demand_a_guard(p: Place) -> None:
    path = p.put("t.txt", "a\nb\n")
    p.fails("invalid_arguments", PATCH, **one_patch(path, None, "x"))
    p.fails("invalid_arguments", PATCH, **one_patch(path, None, "x", ranges=[{"start": 1}]))
    p.fails("invalid_arguments", PATCH, **one_patch(path, None, "x", ranges=[{"start": 1, "end": 1, "range_hash": sha(b"a\n")}, {"start": 2}]))
    p.fails("content_mismatch", PATCH, **one_patch(path, "b", "x", ranges=[{"start": 1, "end": 1, "range_hash": sha(b"a\n")}]))
    p.fails("range_hash_mismatch", PATCH, **one_patch(path, "a", "x", ranges=[{"start": 1, "end": 1, "range_hash": sha(b"b\n")}]))
    p.ok(PATCH, **one_patch(path, "a", "x", ranges=[{"start": 1, "end": 1, "range_hash": sha(b"a\n")}]))
    p.holds("t.txt", "x\nb\n")


@case
def one_file_may_be_patched_without_a_list(p: Place) -> None:
    path = p.put("t.txt", "a\nb\na\n")
    p.ok(PATCH, file_path=path, old_string="b", new_string="B", file_hash=sha(b"a\nb\na\n"))
    p.ok(PATCH, file_path=path, old_string="a", new_string="A", replace_all=True)
    p.ok(PATCH, file_path=path, new_string="x", ranges=[{"start": 2, "end": 2, "range_hash": sha(b"B\n")}])
    p.holds("t.txt", "A\nx\nA\n")
    p.ok(PATCH, file_path=path, patches=[{"old_string": "x", "new_string": "y"}, {"old_string": "A", "new_string": "", "ranges": [{"start": 3}]}])
    p.holds("t.txt", "A\ny\n")
    p.fails("ambiguous_match", PATCH, file_path=path, old_string="\n", new_string="")
    p.fails("invalid_arguments", PATCH, "files", "file_path", file_path=path, old_string="A", new_string="B", **one_patch(path, "A", "B"))
    p.holds("t.txt", "A\ny\n")


@case
def unchanged_edits_write_nothing(p: Place) -> None:
    path = p.put("t.txt", "a\nb")
    os.utime(path, (1, 1))
    inode = os.stat(path).st_ino
    told = p.ok(PATCH, **one_patch(path, "a", "a"))
    same("unchanged" in " ".join(told["files"][0].get("warnings", [])), True, f"warns unchanged: {told}")
    same("edit_id" in told, False, "no edit_id")
    same((os.stat(path).st_ino, os.stat(path).st_mtime), (inode, 1.0), "the file was not touched")


@case
def dry_run_writes_nothing(p: Place) -> None:
    data = b"a\nb\n"
    path = p.put("t.txt", data)
    told = p.ok(PATCH, dry_run=True, **one_patch(path, "b", "B"))
    same((told["result"], "edit_id" in told), ("dry_run", False), "result")
    f = told["files"][0]
    same((f["file_hash"], "regions" in f), (sha(data), False), "the present file_hash, no regions")
    for part in ("@@", "\n-b", "\n+B", "\n a"):
        same(part in f["diff"], True, f"{part!r} in the diff {f['diff']!r}")
    p.holds("t.txt", data)
    p.ok(CREATE, dry_run=True, file_path=p.path("d/e/n.txt"), contents="x\n")
    same(snapshot(p.dir), {path: data}, "the tree")
    p.fails("already_exists", CREATE, dry_run=True, file_path=path, contents="x")


@case
def a_call_of_many_files_is_all_or_nothing(p: Place) -> None:
    files = [{"file_path": p.put(f"{i}.txt", f"{i}\n"), "patches": [{"old_string": f"{i}", "new_string": "x"}]} for i in range(20)]
    bad = [dict(f) for f in files]
    bad[19] = {**bad[19], "patches": [{"old_string": "nope", "new_string": "x"}]}
    p.fails("no_match", PATCH, files=bad)
    told = p.ok(PATCH, files=files)
    same([f["file_path"] for f in told["files"]], [f["file_path"] for f in files], "files in the order of the call")
    for i in range(20):
        p.holds(f"{i}.txt", "x\n")


@case
def metadata_survives(p: Place) -> None:
    path = p.put("t.sh", "#!/bin/sh\n")
    os.chmod(path, 0o754)
    p.ok(PATCH, **one_patch(path, "sh\n", "sh -e\n"))
    same(oct(os.stat(path).st_mode & 0o7777), oct(0o754), "the mode")
    p.ok(CREATE, file_path=p.path("d/n.txt"), contents="x")
    mask = os.umask(0)
    os.umask(mask)
    same(oct(os.stat(p.path("d/n.txt")).st_mode & 0o777), oct(0o666 & ~mask), "a new file's mode")
    same(oct(os.stat(p.path("d")).st_mode & 0o777), oct(0o777 & ~mask), "a new directory's mode")
    same(sorted(os.listdir(p.dir)), ["d", "t.sh"], "nothing else is left behind")


# Create, append, insert, delete


@case
def create_never_overwrites(p: Place) -> None:
    path = p.put("t.txt", "a\nb\n")
    facts = p.fails("already_exists", CREATE, "patch_text_file_contents", sha(b"a\nb\n")[:16], file_path=path, contents="new")
    same(facts["errors"][0]["file_hash"], sha(b"a\nb\n"), "file_hash")
    replies = p.json.pipeline([(CREATE, {"file_path": p.path("race.txt"), "contents": f"{i}"}) for i in range(20)])
    winners = [i for i, r in enumerate(replies) if not r.is_error]
    same(len(winners), 1, "calls that made the file")
    p.holds("race.txt", f"{winners[0]}")
    same({r.code for r in replies if r.is_error}, {"already_exists"}, "the others' code")


@case
def insert_takes_exactly_one_place(p: Place) -> None:
    data = b"a\nb\n"
    path = p.put("t.txt", data)
    h = {"file_path": path, "file_hash": sha(data), "contents": "x"}
    p.fails("invalid_arguments", INSERT, "after", "before", **h)
    p.fails("invalid_arguments", INSERT, "after", "before", **h, after=1, before=2)
    p.fails(("line_out_of_range", "invalid_arguments"), INSERT, **h, after=-1)
    p.fails(("line_out_of_range", "invalid_arguments"), INSERT, **h, before=0)
    p.fails("line_out_of_range", INSERT, **h, after=3)
    p.fails("line_out_of_range", INSERT, **h, before=4)
    p.ok(INSERT, **h, after=None, before=3)
    p.holds("t.txt", "a\nb\nx\n")


@case
def required_arguments(p: Place) -> None:
    path = p.put("t.txt", "a\n")
    for tool, arguments in all_tools(path):
        for key in arguments:
            if key not in ("after", "files") and not (tool == GET):
                less = {k: v for k, v in arguments.items() if k != key}
                p.fails("invalid_arguments", tool, key, **less)


# Many calls at once


@case
def twenty_edits_in_flight_all_hold(p: Place) -> None:
    path = p.put("t.txt", "".join(f"line {i}\n" for i in range(20)) + "end\n")
    for reply in p.json.pipeline([(PATCH, one_patch(path, f"line {i}\n", f"LINE {i}\nmore {i}\n")) for i in range(20)], 30):
        if reply.is_error:
            raise Wrong(f"an edit in flight: {reply.text[:800]}")
    p.holds("t.txt", "".join(f"LINE {i}\nmore {i}\n" for i in range(20)) + "end\n")


@case
def sixty_four_reads_in_flight_are_all_answered(p: Place) -> None:
    for i in range(64):
        p.put(f"{i}.txt", f"{i}\n" * 300)
    for i, reply in enumerate(p.json.pipeline([(GET, {"file_path": p.path(f"{i}.txt")}) for i in range(64)])):
        same(reply.json["files"][0]["ranges"][0]["content"], f"{i}\n" * 300, f"read {i}")


@case
def reads_during_edits_see_one_state_or_the_other(p: Place) -> None:
    states = {sha(c * 50_000) for c in (b"a\n", b"b\n")}
    path = p.put("t.txt", b"a\n" * 50_000)
    calls: list[tuple[str, dict[str, Any]]] = []
    for i in range(10):
        old, new = (b"a\n", "b\n") if i % 2 == 0 else (b"b\n", "a\n")
        calls.append((PATCH, one_patch(path, None, new * 50_000, ranges=[{"start": 1, "range_hash": sha(old * 50_000)}])))
        calls += [(GET, {"file_path": path, "line_start": 1, "line_end": 1})] * 5
    for reply in p.json.pipeline(calls, 60):
        facts = reply.json
        if not reply.is_error and "result" not in facts:
            same(facts["files"][0]["file_hash"] in states, True, "a read in between")
    same(sha(Path(path).read_bytes()) in states, True, "the file at the end")


@case
def two_processes_lose_no_update(p: Place) -> None:
    path = p.put("t.txt", "".join(f"line {i}\n" for i in range(100)))
    with Server(p.dir.parent, options=["--output", "json"]) as other:
        ids = [(s, s.start(PATCH, one_patch(path, f"line {i}\n", f"done {i}\n"))) for i in range(100) for s in [(p.json, other)[i % 2]]]
        for server, id in ids:
            reply = Reply(server.wait(id, 60))
            if reply.is_error:
                raise Wrong(f"an edit beside another process: {reply.text[:600]}")
    p.holds("t.txt", "".join(f"done {i}\n" for i in range(100)))


# Sizes: nothing grows with the square of anything (the time allowed is that of a hang, not of a benchmark)


@case
def many_occurrences(p: Place) -> None:
    path = p.put("t.txt", "a\n" * 20_000)
    p.ok(PATCH, **one_patch(path, "a", "b", replace_all=True))
    p.holds("t.txt", "b\n" * 20_000)


@case
def many_ranges_in_one_patch(p: Place) -> None:
    path = p.put("t.txt", "a\n" * 10_000)
    p.ok(PATCH, **one_patch(path, "a", "b", ranges=[{"start": i, "end": i} for i in range(1, 10_001)]))
    p.holds("t.txt", "b\n" * 10_000)


@case
def text_that_repeats_itself(p: Place) -> None:
    path = p.put("t.txt", "a" * 1_000_000)
    p.fails("no_match", PATCH, **one_patch(path, "a" * 100_000 + "b", "x"))
    p.fails("ambiguous_match", PATCH, **one_patch(path, "a" * 100_000, "x"))
    path = p.put("u.txt", "x \n" * 100_000)
    p.fails("no_match", PATCH, **one_patch(path, "x\n" * 50_000 + "y", "x"))
    p.fails("ambiguous_match", PATCH, **one_patch(path, "x\n" * 50_000, "x"))
    path = p.put("v.txt", " " * 1_000_000 + "\n")
    p.fails("no_match", PATCH, **one_patch(path, "  \t\n \nq", "x"))


@case
def a_line_of_many_megabytes(p: Place) -> None:
    path = p.put("t.txt", "x" * 10_000_000 + "needle" + "x" * 10_000_000)
    p.ok(PATCH, **one_patch(path, "needle", "pin"))
    p.holds("t.txt", "x" * 10_000_000 + "pin" + "x" * 10_000_000)
    p.fails("no_match", PATCH, **one_patch(path, "needle", "pin"))
    p.fails("content_mismatch", PATCH, **one_patch(path, "needle", "pin", ranges=[{"start": 1}]))


@case
def thousands_of_failures_in_one_call(p: Place) -> None:
    path = p.put("t.txt", "".join(f"line {i}\n" for i in range(20_000)))
    p.fails("content_mismatch", PATCH, files=[{"file_path": path, "patches": [
        {"old_string": f"nope {i}", "new_string": "x", "ranges": [{"start": i, "end": i}]} for i in range(1, 2001)]}])
    p.fails("no_match", PATCH, files=[{"file_path": path, "patches": [{"old_string": f"nope {i}", "new_string": "x"} for i in range(2000)]}])


# JSON-RPC


@case
def unknown_tools_and_malformed_requests(p: Place) -> None:
    answer = p.json.request("tools/call", {"name": "no_such_tool", "arguments": {}})
    same(answer.get("error", {}).get("code") in (-32602, -32601), True, f"an unknown tool: {answer}")
    answer = p.json.request("tools/call", {"arguments": {}})
    same(answer.get("error", {}).get("code"), -32602, f"a call without a name: {answer}")
    for method in ("resources/list", "prompts/list", "logging/setLevel", "no/such"):
        answer = p.json.request(method, {})
        same(answer.get("error", {}).get("code"), -32601, f"{method}: {answer}")
    same(p.json.request("ping", {}).get("result"), {}, "ping")


@case
def tools_are_listed_in_order(p: Place) -> None:
    same([t["name"] for t in p.json.tools()][:6], [GET, PATCH, CREATE, APPEND, INSERT, DELETE], "the order")
    for tool in p.json.tools():
        same(sorted(tool["annotations"].keys() - {"title"}), ["destructiveHint", "idempotentHint", "openWorldHint", "readOnlyHint"], tool["name"])
        same("outputSchema" in tool, True, f"{tool['name']}: outputSchema with --output json")
    same(any("outputSchema" in tool for tool in p.text.tools()), False, "outputSchema in text mode")


# --large


def large(p: Place) -> None:
    """A file of 1 GB and 20 million lines: read and patched in the middle, under 64 MiB."""
    path = p.dir / "large.txt"
    line = b"%08d the quick brown fox jumps over the lazy do\n"
    count, block = 20_000_000, 100_000
    began = time.monotonic()
    with path.open("wb") as f:
        for start in range(0, count, block):
            f.write(b"".join(line % i for i in range(start + 1, start + block + 1)))
    size = path.stat().st_size
    print(f"  made {size / 1e9:.2f} GB in {time.monotonic() - began:.1f} s")
    middle = count // 2
    with Server(p.dir.parent, options=["--output", "json"], timeout=300) as server:
        began = time.monotonic()
        reply = server.call(GET, {"file_path": str(path), "line_start": middle, "line_end": middle + 49})
        same(reply.is_error, False, f"a read: {reply.text[:500]}")
        facts = reply.json["files"][0]
        same((facts["total_lines"], facts["file_size"]), (count, size), "facts")
        wanted = b"".join(line % i for i in range(middle, middle + 50))
        same(facts["ranges"][0]["content"].encode(), wanted, "the lines read")
        print(f"  read 50 lines in {time.monotonic() - began:.2f} s")
        for arguments in (one_patch(str(path), (line % middle).decode(), "PATCHED\n", ranges=[{"start": middle, "end": middle}]),
                          one_patch(str(path), f"{middle + 1:08} the", "alone")):
            began = time.monotonic()
            reply = server.call(PATCH, arguments)
            same(reply.is_error, False, f"a patch: {reply.text[:500]}")
            print(f"  patched in {time.monotonic() - began:.2f} s")
        peak = server.peak_rss_kib()
        print(f"  peak {peak / 1024:.1f} MiB")
    offset = (middle - 1) * len(line % 1)
    with path.open("rb") as f:
        f.seek(offset - len(line % 1))
        same(f.read(200), (line % (middle - 1) + b"PATCHED\n" + b"alone" + (line % (middle + 1))[12:] + line % (middle + 2) + line % (middle + 3))[:200], "the middle")
        f.seek(-len(line % 1), os.SEEK_END)
        same(f.read(), line % count, "the end")
    digest = hashlib.sha256()
    with path.open("rb") as f:
        while chunk := f.read(1 << 20):
            digest.update(chunk)
    same(reply.json["files"][0]["file_hash"], digest.hexdigest(), "file_hash")
    same(peak < 64 * 1024, True, f"peak memory of {peak} KiB under 64 MiB")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("names", nargs="*", help="only cases whose name holds one of these")
    options = parser.parse_args()
    cases = CASES + ([("large", large)] if options.large else [])
    cases = [c for c in cases if not options.names or any(n in c[0] for n in options.names)]
    base = Path(tempfile.mkdtemp(prefix="mte-corners-")).resolve()
    (base / "root").mkdir()
    servers: list[Server] = []
    passed = failed = 0
    try:
        for name, function in cases:
            while len(servers) < 2:
                servers.append(Server(base / "root", options=["--output", "json"] if not servers else []))
            place = Place(base, name, servers[0], servers[1])
            try:
                function(place)
                passed += 1
            except (Wrong, Timeout, Closed) as wrong:
                failed += 1
                print(f"FAILED {name}: {type(wrong).__name__ + ': ' if not isinstance(wrong, Wrong) else ''}{wrong}")
                if not isinstance(wrong, Wrong):
                    while servers:
                        servers.pop().kill()
            except (KeyError, TypeError, AttributeError, IndexError, ValueError, OSError):
                failed += 1
                print(f"FAILED {name}: a reply of another shape:\n{traceback.format_exc(limit=-3)}")
        for server in servers:
            if server.strays:
                failed += 1
                print(f"FAILED stdout carries more than the protocol: {server.strays[:2]}")
    finally:
        for server in servers:
            server.close()
        shutil.rmtree(base, ignore_errors=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
