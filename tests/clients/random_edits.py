"""Random files, random edits, one long-lived server: its files and replies against the oracle's.

    random_edits.py [--cases 10000] [--seed S] [--self-check] [--option OPTION]…

Prints a reproduction of each distinct mismatch (20 at most), `N passed, M failed`, and exits 1 if there was one.
`--self-check` needs no server: it checks the oracle against laws that hold for every edit.
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import model
from model import Failure, Outcome, Unsure, digest

PATCH, INSERT, APPEND = "patch_text_file_contents", "insert_text_file_contents", "append_text_file_contents"
DELETE, GET, CREATE = "delete_text_file_contents", "get_text_file_contents", "create_text_file"

# Found while arguments are looked at, so perhaps before any file is.
ARGUMENT_CODES = {"invalid_arguments", "invalid_range"}

COMMON = "aabbcx  \t(){};=\"'\\/"
ODD = ["\u2028", "\x0b", "\x0c", "\x85", "\r"]
# label to send (None: none) -> its weight, the letters to draw, and the BOMs that the file may begin with
WIDE = "éß漢字かな😀ਊഊ\u0a0d\u0d0d\u010a\u0100\ufeff"
ENCODINGS: list[tuple[str | None, int, str, list[bytes]]] = [
    (None, 40, "éß漢字かな😀→“”\u00a0", [b""] * 4 + [b"\xef\xbb\xbf"]),
    ("utf-8", 6, "éß漢字かな😀", [b"", b"\xef\xbb\xbf"]),
    ("UTF_8", 1, "éß漢字かな😀", [b"", b"\xef\xbb\xbf"]),
    ("utf-8-sig", 1, "éß漢字かな😀", [b"", b"\xef\xbb\xbf"]),
    ("utf-16", 3, WIDE, [b"", b"\xff\xfe"]),
    ("utf-16-le", 3, WIDE, [b"", b"\xff\xfe"]),
    ("utf-16-be", 3, WIDE, [b"", b"\xfe\xff"]),
    ("utf-32-le", 1, WIDE, [b"", b"\xff\xfe\0\0"]),
    ("shift_jis", 4, "あいカタ漢字表ソ能予", [b""]),
    ("cp932", 2, "あいカタ漢字表ソ能予", [b""]),
    ("euc_jp", 4, "あいカタ漢字表ソ能予", [b""]),
    ("gbk", 3, "中文汉字编码测试", [b""]),
    ("big5", 3, "中文漢字功許蓋", [b""]),
    ("latin1", 4, "éüßÿ\u0080\u0085\u009f\u00a0", [b""]),
    ("cp1251", 3, "приветмирЯ", [b""]),
]
INEXPRESSIBLE = "☃😀\u0e01"


class Maker:
    """Draws files and calls."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    # Files

    def word(self, letters: str, odd: bool) -> str:
        rng = self.rng
        text = "".join(rng.choice(COMMON + letters) for _ in range(rng.choice([0, 1, 2, 3, 5, 9])))
        if odd and self.chance(0.15):
            text += rng.choice(ODD) + rng.choice(COMMON)
        if self.chance(0.15):
            text += rng.choice([" ", "\t", "  ", " \t"])
        return text

    def file(self) -> tuple[bytes, str | None, str]:
        """A file's bytes, the encoding to name in a call, and letters that it can express."""
        rng = self.rng
        label, _, letters, boms = rng.choices(ENCODINGS, [e[1] for e in ENCODINGS])[0]
        bom = rng.choice(boms)
        codec, _ = model.codec_of(bom, label)
        if label is None and self.chance(0.08):  # a BOM alone says what it is
            codec, bom = rng.choice([("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff"), ("utf-32-be", b"\0\0\xfe\xff")])
        style = rng.choices(["\n", "\r\n", "mixed", "\r"], [50, 25, 15, 10])[0]
        odd = self.chance(0.3)
        pool = [self.word(letters, odd) for _ in range(rng.choice([1, 3, 6]))] + ["", "x"]
        text = ""
        for _ in range(rng.choice([0, 1, 1, 2, 3, 4, 6, 9, 14])):
            line = rng.choice(pool) if self.chance(0.6) else self.word(letters, odd)
            text += line + (rng.choice(["\n", "\r\n"]) if style == "mixed" else style)
        if text and self.chance(0.35):
            text = text.rstrip("\r\n")
        data = text.encode(codec, "ignore")
        if label in ("shift_jis", "cp932") and self.chance(0.3):
            data = data.replace(b"x", b"\xfa\x4a")  # Ⅰ in its second spelling; encoders write 87 54
        if not bom and codec not in model.UNICODE:
            return data, label, letters
        data = bom + data
        if self.chance(0.02):  # does not decode, or is no text
            at = rng.randrange(len(bom), len(data) + 1)
            if model.UNIT.get(codec, 1) == 1:
                data = data[:at] + rng.choice([b"\xff", b"\0", b"\xc3", b"\xed\xa0\x80"]) + data[at:]
            else:
                data += b"a"
        if label is not None and label not in ("utf-16", "utf-16-le", "utf-16-be", "utf-32-le") and self.chance(0.05):
            label = "latin1"  # reads the BOM as text
            letters = "é"
        return data, label, letters

    # What a client would send of text and digests

    def sent(self, text: str) -> str:
        return text.replace("\n", "\r\n") if self.chance(0.08) else text

    def new_text(self, letters: str) -> str:
        rng = self.rng
        count = rng.choices([0, 1, 2, 3, 5], [12, 45, 20, 15, 8])[0]
        text = "\n".join(self.word(letters, False) for _ in range(count))
        if self.chance(0.5) or (count and not text and self.chance(0.5)):
            text += "\n"
        roll = rng.random()
        if roll < 0.01:
            text += rng.choice(["\r", "a\rb", "\0"])
        elif roll < 0.025:
            text += rng.choice(INEXPRESSIBLE)
        return self.sent(text)

    def tag(self, data: bytes) -> str:
        rng = self.rng
        full = digest(data)
        roll = rng.random()
        if roll < 0.02:
            full = digest(data + b"!")
        elif roll < 0.03:
            return full[:rng.choice([0, 4, 11])]
        elif roll < 0.035:
            return full + "0"
        elif roll < 0.04:
            return "g" + full[1:]
        cut = full[:rng.choice([64, 64, 16, 16, 12, 31])]
        return cut.upper() if self.chance(0.1) else cut

    def range(self, doc: model.Document) -> tuple[int, int]:
        rng, total = self.rng, len(doc.lines)
        start = rng.randint(1, max(1, total))
        return start, min(max(total, 1), start + rng.choice([0, 0, 0, 1, 2, 4]))

    def spelled(self, start: int, end: int, total: int) -> dict[str, Any]:
        """A range as a client may write it: mostly right."""
        rng = self.rng
        out: dict[str, Any] = {"start": start, "end": end}
        if end == total and self.chance(0.3):
            out["end"] = rng.choice([-1, None])
            if self.chance(0.5):
                del out["end"]
        roll = rng.random()
        if roll < 0.02:
            out["start"] += rng.choice([1, -1])
        elif roll < 0.04:
            out["end"] = end + rng.choice([1, -1, 5])
        elif roll < 0.05:
            out["start"] = rng.choice([0, -1, total + 1, total + 7])
        return out

    def old_text(self, doc: model.Document, start: int, end: int) -> str:
        """The text of a range, sometimes a little wrong."""
        rng = self.rng
        lines = [line.text for line in doc.lines[start - 1:end]] or [""]
        roll = rng.random()
        if roll < 0.12:  # blanks at a line's end
            i = rng.randrange(len(lines))
            lines[i] = rng.choice([lines[i].rstrip(" \t"), lines[i] + " ", lines[i] + "\t "])
        elif roll < 0.17:
            i = rng.randrange(len(lines))
            lines[i] = rng.choice([" " + lines[i], lines[i] + "x", lines[i][:-1], lines[i].upper(), lines[i].replace("\t", " ")])
        elif roll < 0.19:
            lines = rng.choice([lines + ["x"], lines[:-1] or ["y"], lines[1:] or ["z"]])
        text = "\n".join(lines)
        if self.chance(0.6):
            text += "\n"
        return self.sent(text)

    def like(self, old: str) -> str:
        """A text that has lines in common with another one, but for blanks at their ends."""
        rng = self.rng
        lines = [line.rstrip(" \t\r") + rng.choice(["", "", " ", "\t"]) for line in old.split("\n")]
        at = rng.randrange(len(lines))
        lines[at:at + rng.choice([0, 1, 2])] = rng.choice([[], ["new"], ["new", "newer"]])
        return "\n".join(lines)

    # Patches

    def patch(self, doc: model.Document, letters: str) -> dict[str, Any]:
        rng, total = self.rng, len(doc.lines)
        new = self.new_text(letters)
        way = rng.choices(["range", "hash", "both", "text"], [32, 16, 4, 48])[0]
        if way == "text":
            text = doc.text()
            if not text or self.chance(0.02):
                old = ""
            elif self.chance(0.6):  # whole lines
                start, end = self.range(doc)
                old = self.old_text(doc, start, end)
            else:  # any piece of the text
                a = rng.randrange(len(text))
                old = text[a:a + rng.choice([1, 2, 3, 5, 9, 20])]
                if self.chance(0.1):
                    old = old.replace("\n", rng.choice([" \n", "\t\n"]))
            out: dict[str, Any] = {"old_string": old, "new_string": self.like(old) if self.chance(0.2) else new}
            if self.chance(0.3):
                out["replace_all"] = True
            if self.chance(0.1):
                out["ranges"] = []
            if self.chance(0.03):
                out["new_string"] = old
            return out
        spans = [self.range(doc)]
        if way == "range" and self.chance(0.25):  # other places that hold the same text
            wanted = [x.text for x in doc.lines[spans[0][0] - 1:spans[0][1]]]
            for i in range(total):
                if [x.text for x in doc.lines[i:i + len(wanted)]] == wanted and self.chance(0.7):
                    spans.append((i + 1, i + len(wanted)))
            spans = list(dict.fromkeys(spans)) if self.chance(0.9) else spans
            rng.shuffle(spans)
        elif way == "hash" and self.chance(0.3):
            spans.append(self.range(doc))
        ranges = [self.spelled(a, b, total) for a, b in spans]
        out = {"new_string": new, "ranges": ranges}
        if way != "hash":
            out["old_string"] = self.old_text(doc, *spans[0])
            if self.chance(0.2):
                out["new_string"] = self.like(out["old_string"])
            if self.chance(0.03):
                out["new_string"] = out["old_string"]
        if way != "range":
            for r, (a, b) in zip(ranges, spans):
                r["range_hash"] = self.tag(doc.bytes_of(a - 1, b - 1))
            if self.chance(0.02):
                ranges[-1].pop("range_hash")
        return out

    def tree(self) -> tuple[dict[str, bytes], str, dict[str, Any]]:
        """Files, a tool, and its arguments (paths as bare names)."""
        rng = self.rng
        tool = rng.choices([PATCH, INSERT, APPEND, DELETE, GET, CREATE], [60, 10, 6, 10, 10, 4])[0]
        count = rng.choices([1, 2, 3], [80, 13, 7])[0] if tool == PATCH else 1
        files: dict[str, bytes] = {}
        entries = []
        for n in range(count):
            # Some are equal.
            data, label, letters = made = made if n and self.chance(0.3) else self.file()
            name = f"f{n}.txt"
            files[name] = data
            entry: dict[str, Any] = {"file_path": name}
            if label is not None:
                entry["encoding"] = label
            try:
                doc = model.read(data, label)
            except Failure:
                doc = model.Document(data, "latin-1", b"")
            total = len(doc.lines)
            if tool == PATCH:
                if self.chance(0.2):
                    entry["file_hash"] = self.tag(data)
                entry["patches"] = [self.patch(doc, letters) for _ in range(rng.choices([1, 2, 3, 0], [70, 19, 10, 1])[0])]
            elif tool in (INSERT, APPEND):
                entry["file_hash"] = self.tag(data)
                entry["contents"] = self.new_text(letters)
                if tool == INSERT:
                    place = rng.choice([0, total, rng.randint(0, total), rng.randint(0, total)])
                    if self.chance(0.04):
                        place = rng.choice([-1, total + 1])
                    if self.chance(0.5):
                        entry["after"] = place
                    else:
                        entry["before"] = place + 1
                    if self.chance(0.02):
                        entry.update(rng.choice([{"after": 0, "before": 1}, {"after": None, "before": None}]))
            elif tool == DELETE:
                entry["file_hash"] = self.tag(data)
                entry["ranges"] = []
                for _ in range(rng.choices([1, 2, 3, 0], [60, 28, 10, 2])[0]):
                    a, b = self.range(doc)
                    entry["ranges"].append({**self.spelled(a, b, total), "range_hash": self.tag(doc.bytes_of(a - 1, b - 1))})
            elif tool == GET:
                entry["ranges"] = []
                for _ in range(rng.choice([1, 1, 2, 3])):
                    a, b = self.range(doc)
                    r = self.spelled(a, b, total)
                    if self.chance(0.15):
                        r = {"start": rng.choice([-1, -2, -total - 3, 0, total + 1, total + 9])}
                    entry["ranges"].append(r)
                if self.chance(0.2):
                    del entry["ranges"]
            entries.append(entry)
        if tool == CREATE:
            entry = {"file_path": "new.txt", "contents": self.new_text("é")}
            if self.chance(0.3):
                entry["contents"] += "a\rb"
            if self.chance(0.4):
                entry["encoding"] = rng.choice(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin1", "cp1251"])
            if self.chance(0.1):
                entry["file_path"] = "f0.txt"
            return files, tool, entry
        arguments = {"files": entries} if tool in (PATCH, GET) else entries[0]
        if tool not in (GET,) and self.chance(0.06):
            arguments["dry_run"] = True
        return files, tool, arguments


# What must come of a call


class Expected:
    def __init__(self) -> None:
        self.outcomes: dict[str, Outcome] = {}
        self.codes: list[str] = []
        self.also: list[str] = []
        self.reads: list[dict[str, Any]] = []

    def told(self) -> str:
        if self.codes:
            return f"error {self.codes}" + (f" (perhaps {self.also})" if self.also else "")
        if self.reads:
            return json.dumps(self.reads, ensure_ascii=False)
        return repr(self.outcomes)


def expect(files: dict[str, bytes], tool: str, arguments: dict[str, Any]) -> Expected:
    out = Expected()
    if tool == GET:
        for entry in arguments["files"]:
            out.reads.append(expect_read(files[entry["file_path"]], entry))
        if all("codes" in r for r in out.reads):
            out.codes = [c for r in out.reads for c in r["codes"]]
            out.also = [*ARGUMENT_CODES]
        return out
    entries = arguments["files"] if tool == PATCH else [arguments]
    for entry in entries:
        name, encoding = entry["file_path"], entry.get("encoding")
        try:
            out.outcomes[name] = expect_edit(files, tool, entry, encoding)
        except Failure as failure:
            out.codes += failure.codes
            out.also += failure.also
    if ARGUMENT_CODES & set(out.codes):
        out.also += [*ARGUMENT_CODES]
    if {"decode_failed", "binary_file"} & set(out.codes):  # the oracle read no further
        out.also += [*ARGUMENT_CODES, "hash_mismatch"]
    return out


def expect_edit(files: dict[str, bytes], tool: str, entry: dict[str, Any], encoding: str | None) -> Outcome:
    if tool == CREATE:
        return expect_create(files, entry, encoding)
    data = files[entry["file_path"]]
    if tool == PATCH:
        return model.patch(data, entry["patches"], encoding, entry.get("file_hash"))
    if tool == INSERT:
        return model.insert(data, entry["contents"], entry["file_hash"], entry.get("after"), entry.get("before"), encoding)
    if tool == APPEND:
        return model.append(data, entry["contents"], entry["file_hash"], encoding)
    return model.delete(data, entry["ranges"], entry["file_hash"], encoding)


def expect_create(files: dict[str, bytes], entry: dict[str, Any], encoding: str | None) -> Outcome:
    contents = entry["contents"]
    exists = entry["file_path"] in files
    if "\0" in contents:
        raise Failure(["invalid_arguments"], ["already_exists", "encode_failed"])
    codec = model.CODECS[encoding or "utf-8"]
    boms = {"utf-8-sig": "\ufeff", "utf-16": "\ufeff", "utf-32": "\ufeff"}
    try:
        data = (boms.get(encoding or "", "") + contents).encode(codec)
    except UnicodeEncodeError:
        if exists:
            raise Unsure("the file exists, and could not be written") from None
        raise Failure(["encode_failed"]) from None
    if exists:
        raise Failure(["already_exists"])
    # Whether a new file has regions is not said.
    return Outcome(data, len(model.read(data, encoding).lines), digest(data), None, False)


def expect_read(data: bytes, entry: dict[str, Any]) -> dict[str, Any]:
    encoding = entry.get("encoding")
    try:
        doc = model.read(data, encoding)
        ranges = [model.get(data, r["start"], r.get("end"), encoding) for r in entry.get("ranges", [{"start": 1}])]
    except Failure as failure:
        return {"codes": failure.codes}
    return {"file_hash": digest(data), "total_lines": len(doc.lines), "file_size": len(data), "bom": doc.bom != b"",
            "line_ending": doc.line_ending(), "final_newline": doc.final_newline() if doc.lines else None,
            "ranges": [dict(zip(("start", "end", "content", "range_hash"), r)) for r in ranges]}


# Comparing


def compare(expected: Expected, files: dict[str, bytes], tool: str, arguments: dict[str, Any], reply: Any,
            directory: Path) -> str | None:
    """What is wrong with the reply or the files; None: nothing."""
    if reply.rpc_error is not None:
        return f"a JSON-RPC error: {reply.rpc_error}"
    dry = bool(arguments.get("dry_run"))
    wanted = dict(files)
    if not expected.codes and not dry:
        wanted.update({name: o.data for name, o in expected.outcomes.items()})
    present = {p.name: p.read_bytes() for p in directory.iterdir()}
    if present != wanted:
        names = [n for n in sorted({*present, *wanted}) if present.get(n) != wanted.get(n)]
        where = "; ".join(f"{n}: expected {wanted.get(n)!r}, got {present.get(n)!r}" for n in names)
        return f"wrong bytes: {where}" if not expected.codes else f"a call that must fail changed files: {where}"
    if expected.codes:
        return compare_error(expected, files, tool, reply)
    if reply.is_error:
        return f"unexpected error: {reply.code}"
    facts = reply.structured
    if not isinstance(facts, dict):
        return "no structuredContent"
    try:
        if json.loads(reply.text) != facts:
            return "text and structuredContent differ"
    except ValueError:
        return "the text is not JSON"
    if tool == GET:
        return compare_reads(expected.reads, arguments, facts, directory)
    if facts.get("result") != ("dry_run" if dry else "ok"):
        return f"result is {facts.get('result')!r}"
    told = facts.get("files")
    if not isinstance(told, list) or [f.get("file_path") for f in told] != [str(directory / n) for n in expected.outcomes]:
        return "files are not those of the call"
    if all(o.unchanged for o in expected.outcomes.values()) and "edit_id" in facts:
        return "an edit_id though nothing changed"
    encodings = {e["file_path"]: e.get("encoding") for e in arguments.get("files", [arguments])}
    for told_file, (name, o) in zip(told, expected.outcomes.items()):
        wrong = compare_file(told_file, o, dry, files.get(name), len(expected.outcomes) == 1, encodings.get(told_file["file_path"]))
        if wrong:
            return wrong
    return None


def same_text(before: bytes | None, after: bytes, encoding: str | None) -> bool:
    """Whether only the spelling differs: legacy encodings have characters with two, and a diff shows characters."""
    try:
        return before is not None and before.decode(encoding or "utf-8") == after.decode(encoding or "utf-8")
    except (UnicodeDecodeError, LookupError):
        return False


def compare_file(told: dict[str, Any], o: Outcome, dry: bool, before: bytes | None, alone: bool, encoding: str | None) -> str | None:
    warnings = " ".join(told.get("warnings", []))
    if ("unchanged" in warnings and not o.unchanged) or ("unchanged" not in warnings and o.unchanged and alone and not dry):
        return f"unchanged is {o.unchanged}, but warnings are {told.get('warnings')}"
    if dry:
        if before is not None and told.get("file_hash") != digest(before):
            return "dry_run: file_hash is not the present one"
        if not o.unchanged and not told.get("diff") and not same_text(before, o.data, encoding):
            return "dry_run: no diff"
        return "dry_run: regions" if "regions" in told else None
    if told.get("file_hash") != o.file_hash:
        return f"file_hash: expected {o.file_hash}, got {told.get('file_hash')}"
    if told.get("total_lines") != o.total_lines:
        return f"total_lines: expected {o.total_lines}, got {told.get('total_lines')}"
    if o.added_newline and not warnings:
        return "no warning that a final newline was added"
    regions = told.get("regions")
    if not isinstance(regions, list):
        return None if o.regions is None else "no regions"
    after, past = model.read(o.data, encoding), 0
    for r in regions:
        if not (past < r["start"] <= len(after.lines) + 1 and r["start"] - 1 <= r["end"] <= len(after.lines)):
            return f"regions that are no lines of the file in order: {regions}"
        if r["range_hash"] != digest(after.bytes_of(r["start"] - 1, r["end"] - 1)):
            return f"a region whose range_hash is not that of its lines: {r}"
        past = r["end"]
    if o.regions is None:
        return None
    if len(regions) != len(o.regions):
        return f"regions: expected {o.regions}, got {regions}"
    for mine, theirs in zip(o.regions, regions):
        seen = (theirs.get("start"), theirs.get("end"), theirs.get("range_hash"))
        if seen != (mine.start, mine.end, mine.range_hash):
            return f"regions: expected {mine}, got {theirs}"
        if mine.replaced and theirs.get("replaced") != {"start": mine.replaced[0], "end": mine.replaced[1]}:
            return f"replaced: expected {mine.replaced}, got {theirs.get('replaced')}"
        if theirs.get("match") != mine.match:
            return f"match: expected {mine.match}, got {theirs.get('match')}"
    return None


def compare_error(expected: Expected, files: dict[str, bytes], tool: str, reply: Any) -> str | None:
    if not reply.is_error:
        return f"success where {expected.codes[0]} was due"
    if reply.structured is not None:
        return "structuredContent in an error"
    facts = reply.json
    if not isinstance(facts, dict) or facts.get("result") != "error":
        return "the error is not JSON"
    if facts.get("code") not in expected.codes + expected.also:
        return f"code: expected {sorted(set(expected.codes))}, got {facts.get('code')}"
    if tool != GET and not str(facts.get("reason", "")).endswith("; nothing was written"):
        return "reason does not end in '; nothing was written'"
    if len(reply.text) >= 8000:
        return "an error text of 8000 characters or more"
    told = {e.get("code") for e in facts.get("errors", [])}
    due = set(expected.codes)
    if due & ARGUMENT_CODES or "hash_mismatch" in due or facts["code"] not in due:
        due = {facts["code"]}
    if not due <= told:
        return f"errors: expected all of {sorted(due)}, got {sorted(map(str, told))}"
    for e in facts["errors"]:
        if e.get("code") == "hash_mismatch" and e.get("file_hash") not in {digest(d) for d in files.values()}:
            return "hash_mismatch without the file's digest"
    return None


def compare_reads(reads: list[dict[str, Any]], arguments: dict[str, Any], facts: dict[str, Any], directory: Path) -> str | None:
    told_files = facts.get("files", [])
    if len(told_files) != len(reads):
        return "not one result per file"
    for mine, theirs, entry in zip(reads, told_files, arguments["files"]):
        if theirs.get("file_path") != str(directory / Path(entry["file_path"]).name):
            return "file_path is not that of the call"
        for key, value in mine.items():
            if key != "ranges" and value is not None and theirs.get(key) != value:
                return f"{key}: expected {value!r}, got {theirs.get(key)!r}"
        if len(theirs.get("ranges", [])) != len(mine["ranges"]):
            return "not one result per range"
        for a, b in zip(mine["ranges"], theirs["ranges"]):
            for key, value in a.items():
                if b.get(key) != value:
                    return f"{key}: expected {value!r}, got {b.get(key)!r}"
    return None


# Laws that the oracle must hold for itself


def check_laws(files: dict[str, bytes], tool: str, arguments: dict[str, Any], expected: Expected) -> None:
    for name, o in expected.outcomes.items():
        if o.regions is None or expected.codes or tool == CREATE:
            continue
        entry = next(e for e in arguments.get("files", [arguments]) if e["file_path"] == name)
        encoding = entry.get("encoding")
        before, after = model.read(files[name], encoding), model.read(o.data, encoding)
        assert before.bom == after.bom, "the BOM stays"
        for r in o.regions:
            assert digest(after.bytes_of(r.start - 1, r.end - 1)) == r.range_hash, "a region names what is there"
        if tool == INSERT and entry.get("after") is not None:
            twin = model.insert(files[name], entry["contents"], entry["file_hash"], before=entry["after"] + 1, encoding=encoding)
            assert twin.data == o.data, "after N is before N + 1"
        if tool == INSERT:
            assert model.lines_of(model.normal(entry["contents"])) == [x.text for x in after.lines[o.regions[0].start - 1:o.regions[0].end]] \
                or "\r" in before.text(), "what was inserted stands there"
        if tool == DELETE:
            twin = model.patch(files[name], [{"new_string": "", "ranges": entry["ranges"]}], encoding)
            assert twin.data == o.data, "to delete is to patch with nothing"
        if tool == PATCH and len(entry["patches"]) == 1:
            check_patch_laws(files[name], entry["patches"][0], encoding, before, o)


def check_patch_laws(data: bytes, p: dict[str, Any], encoding: str | None, before: model.Document, o: Outcome) -> None:
    old, new = p.get("old_string"), p["new_string"]
    assert o.regions is not None
    if p.get("ranges") and old is None and not before.final_newline():
        pass  # how the file ends then depends on old_string
    elif p.get("ranges") and all(r.match is None for r in o.regions):
        ranges = []
        for r in p["ranges"]:
            first, last = model.bounds(r, len(before.lines))
            ranges.append({"start": first + 1, "end": last + 1, "range_hash": digest(before.bytes_of(first, last))})
        if before.final_newline():
            assert model.patch(data, [{"new_string": new, "ranges": ranges}], encoding).data == o.data, "old_string is only a guard"
    elif not p.get("ranges") and before.codec == "utf-8" and before.line_ending() == "lf" and before.final_newline() \
            and "\r" not in before.text() and all(r.match is None for r in o.regions):
        plain = before.text().replace(model.normal(old or ""), model.normal(new))
        assert before.bom + plain.encode() == o.data, "by text alone is str.replace"


# The run


def show(files: dict[str, bytes], tool: str, arguments: dict[str, Any], expected: Expected, wrong: str, reply: Any) -> str:
    lines = [f"MISMATCH: {wrong}"]
    for name, data in files.items():
        lines.append(f"  {name}: {data!r}")
        lines.append(f"    base64 {base64.b64encode(data).decode()}")
    lines.append(f"  call:     {tool} {json.dumps(arguments, ensure_ascii=True)}")
    lines.append(f"  expected: {expected.told()}")
    lines.append(f"  got:      {str(reply)[:3000]}")
    return "\n".join(lines)


def with_paths(arguments: dict[str, Any], directory: Path) -> dict[str, Any]:
    out = dict(arguments)
    if "files" in out:
        out["files"] = [{**f, "file_path": str(directory / f["file_path"])} for f in out["files"]]
    else:
        out["file_path"] = str(directory / out["file_path"])
    return out


def signature(wrong: str, tool: str) -> str:
    """Two mismatches with the same signature are likely the same fault."""
    head = wrong.split("expected", 1)[0].split(";", 1)[0]
    if head.startswith(("code", "unexpected", "success", "errors")):
        head = wrong
    return tool + ": " + head[:80]


def run(options: argparse.Namespace) -> int:
    import session

    rng = random.Random(options.seed)
    maker = Maker(rng)
    root = Path(tempfile.mkdtemp(prefix="mte-random-", dir=options.dir)).resolve()
    passed = failed = 0
    seen: Counter[str] = Counter()
    began = time.monotonic()
    server = None
    try:
        server = session.Server(root, options=["--output", "json", *options.option])
        while passed + failed < options.cases:
            files, tool, arguments = maker.tree()
            try:
                expected = expect(files, tool, arguments)
            except Unsure:
                continue
            # New names: of files that were shown before, these would be another program's changes.
            directory = root / str(passed + failed)
            directory.mkdir()
            for name, data in files.items():
                (directory / name).write_bytes(data)
            call = with_paths(arguments, directory)
            reply: Any = None
            try:
                reply = server.call(tool, call)
                wrong = compare(expected, files, tool, call, reply, directory)
            except (session.Timeout, session.Closed) as gone:
                wrong = f"{type(gone).__name__}: {gone}"
            except (AttributeError, KeyError, TypeError) as odd:
                wrong = f"a reply of another shape: {odd!r}"
            shutil.rmtree(directory)
            if wrong is None:
                passed += 1
                continue
            failed += 1
            key = signature(wrong, tool)
            seen[key] += 1
            if seen[key] == 1:
                print(f"seed {options.seed}, case {passed + failed}")
                print(show(files, tool, arguments, expected, wrong, reply), flush=True)
            if len(seen) >= 20:
                break
            if wrong.startswith(("Timeout", "Closed")):
                server.kill()
                server = session.Server(root, options=["--output", "json", *options.option])
        strays = server.strays
        if strays:
            failed += 1
            print(f"lines on stdout that are not JSON-RPC: {strays[:3]}")
    finally:
        if server is not None:
            server.close()
        shutil.rmtree(root, ignore_errors=True)
    for key, count in seen.most_common():
        print(f"  {count} × {key}")
    took = time.monotonic() - began
    print(f"seed {options.seed}: {(passed + failed) / max(took, 0.001):.0f} cases/s")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def self_check(options: argparse.Namespace) -> int:
    maker = Maker(random.Random(options.seed))
    kinds: Counter[str] = Counter()
    began = time.monotonic()
    for _ in range(options.cases):
        files, tool, arguments = maker.tree()
        try:
            expected = expect(files, tool, arguments)
            check_laws(files, tool, arguments, expected)
        except Unsure as unsure:
            kinds[f"unsure: {unsure}"] += 1
            continue
        except AssertionError as broken:
            print(f"LAW BROKEN: {broken}")
            print(show(files, tool, arguments, expected, "", ""))
            return 1
        kinds[f"{tool}: {'+'.join(sorted(set(expected.codes))) or 'ok'}"] += 1
    for kind, count in kinds.most_common(60):
        print(f"  {count:6} {kind}")
    print(f"{options.cases / (time.monotonic() - began):.0f} cases/s")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--dir", help="where the files are made; default: the system's temporary directory")
    parser.add_argument("--option", action="append", default=[], help="a further option of the server")
    parser.add_argument("--self-check", action="store_true")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {options.seed}", flush=True)
    return self_check(options) if options.self_check else run(options)


if __name__ == "__main__":
    sys.exit(main())
