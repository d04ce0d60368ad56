"""What the stand-in for the model does: generators of calls that are sent, for each, what the model saw.

A `Script` has the project's files before, the calls, what its files must be after, and what the replies must say (`told`).
"""

import dataclasses
import json
import re
from json.decoder import scanstring
from typing import Callable

GET, PATCH, CREATE = "get_text_file_contents", "patch_text_file_contents", "create_text_file"
APPEND, INSERT, DELETE = "append_text_file_contents", "insert_text_file_contents", "delete_text_file_contents"


@dataclasses.dataclass
class Script:
    calls: Callable  # of the project's directory
    before: dict
    after: dict
    told: Callable  # of (tool, arguments, text of the reply, whether it is an error) for each call: what is wrong, as sentences
    errors: int = 0  # how many replies must be errors


def text_in(seen):
    """The server's text in what a model saw: where a client shows JSON, the texts in it, without the escapes."""
    if not re.search(r'\\?"content\\?": ?\[', seen):
        return seen
    found = [scanstring(seen, match.end())[0] for match in re.finditer(r'"text": ?"', seen)]
    return "\n".join(found) if found else seen


def last(pattern, text):
    """What the pattern's group is where it stands last; a script that does not find it has failed."""
    found = re.findall(pattern, text, re.S)
    if not found:
        raise LookupError(f"the model was not shown {pattern}: {text[:200]!r}")
    return found[-1]


def file_hash(seen):
    return last(r'file_hash"?:? ?"?([0-9a-f]{12,64})', text_in(seen))


def range_hash(seen):
    return last(r'range_hash"?:? ?"?([0-9a-f]{12,64})', text_in(seen))


def hinted_ranges(seen):
    return json.loads(last(r'hint: .*?"ranges": (\[.*?\])', text_in(seen)))


# --- edits: every tool, a stale patch and a stale hash, each mended as its error says -----------------------------------------------

GREET = 'import sys\n\n\ndef greet(name):\n    print("Hello, " + name)\n\n\ngreet(sys.argv[1])\n'
OLD_FILE = "\ufeffName;Ort\r\nGrün;Köln\r\nwith a lone\rreturn;x\nBlau;Zürich"


def edit(directory):
    def patch(name, **patch):
        return PATCH, {"files": [{"file_path": f"{directory}/{name}", "patches": [patch]}]}

    greet, notes = f"{directory}/greet.py", f"{directory}/made/here/notes.txt"
    yield GET, {"file_path": greet, "line_start": 4, "line_end": 6}
    yield PATCH, {"files": [{"file_path": greet, "patches": [
        {"old_string": "import sys\n", "new_string": "#!/usr/bin/env python3\nimport sys\n"},
        {"old_string": '"Hello, " + name', "new_string": 'f"Hello, {name}!"'},
    ]}]}
    stale = {"old_string": "greet(sys.argv[1])", "new_string": "greet(sys.argv[-1])"}
    seen = yield patch("greet.py", ranges=[{"start": 8, "end": 8}], **stale)
    yield patch("greet.py", **{**stale, "ranges": hinted_ranges(seen)})
    # Clients with strict schemas have the model send every argument.
    yield PATCH, {"files": [{"file_path": f"{directory}/old.csv", "encoding": "", "file_hash": "", "patches": [
        {"old_string": "Köln", "new_string": "Cölln\nBonn", "ranges": [], "replace_all": False},
    ]}], "dry_run": False}
    seen = yield CREATE, {"file_path": notes, "contents": "one\ntwo\nthree\n"}
    made = file_hash(seen)
    yield APPEND, {"file_path": notes, "file_hash": made, "contents": "four\n"}
    seen = yield INSERT, {"file_path": notes, "file_hash": made, "after": 0, "contents": "zero\n"}
    seen = yield INSERT, {"file_path": notes, "file_hash": file_hash(seen), "after": 0, "contents": "zero\n"}
    yield DELETE, {"file_path": notes, "file_hash": file_hash(seen), "ranges": [
        {"start": 1, "end": 1, "range_hash": range_hash(seen)},
    ]}


EDITS = Script(
    calls=edit,
    before={"greet.py": GREET, "old.csv": OLD_FILE},
    after={
        "greet.py": '#!/usr/bin/env python3\nimport sys\n\n\ndef greet(name):\n    print(f"Hello, {name}!")\n\n\ngreet(sys.argv[-1])\n',
        "old.csv": OLD_FILE.replace("Köln", "Cölln\r\nBonn"),
        "made/here/notes.txt": "one\ntwo\nthree\nfour\n",
    },
    told=lambda replies: [],
    errors=2,
)

# --- a read and an edit, and no more: for other registrations -----------------------------------------------------------------------


def touch(directory):
    yield GET, {"file_path": f"{directory}/greet.py"}
    yield PATCH, {"files": [{"file_path": f"{directory}/greet.py", "patches": [{"old_string": "Hello", "new_string": "Bye"}]}]}


TOUCH = Script(touch, {"greet.py": GREET}, {"greet.py": GREET.replace("Hello", "Bye")}, told=lambda replies: [])

# --- reads that are longer than a client shows at once, and edits whose replies are -------------------------------------------------

LONG = {
    "prose.txt": "".join(f"{number:05} " + "abcdefghij " * 8 + "\n" for number in range(1, 701)),
    # Characters that JSON escapes.
    "escapes.json": "".join(f'\t"key {number}": "C:\\\\dir\\\\{number}\\n \\"quoted\\"",\n' for number in range(1, 1201)),
    "short.txt": "".join(f"{number % 10}\n" for number in range(1, 2501)),
    "wide.txt": "".join(f"{number} 漢字かな交じり文を読む 😀 žluťoučký\n" for number in range(1, 801)),
    # One line.
    "minified.js": "".join(f'a[{number}]="x\\n";' for number in range(1, 3001)) + "\n",
}
MANY = {"many.txt": "x = 1\ny\n" * 700}
GO_ON = re.compile(r"go on with (?:line_start (\d+)|ranges (\[\{.*?\}\]))")


def read(directory):
    for name in LONG:
        path = f"{directory}/{name}"
        seen = yield GET, {"file_path": path}
        while found := GO_ON.search(text_in(seen)):
            ranges = json.loads(found[2]) if found[2] else [{"start": int(found[1])}]
            seen = yield GET, {"files": [{"file_path": path, "ranges": ranges}]}
    yield GET, {"files": [{"file_path": f"{directory}/{name}"} for name in LONG]}
    many = {"old_string": "x = 1", "new_string": "x = 2"}
    files = [{"file_path": f"{directory}/many.txt", "patches": [many]}]
    yield PATCH, {"files": files}
    files = [{"file_path": f"{directory}/many.txt", "patches": [{**many, "replace_all": True}]}]
    yield PATCH, {"files": files, "dry_run": True}
    yield PATCH, {"files": files}


def pages(replies):
    """Whether the pages of each file, put together, are the file."""
    wrong = []
    for name, content in LONG.items():
        lines = {}
        for tool, arguments, text, _ in replies:
            asked = arguments.get("files") or [arguments]
            if tool != GET or len(asked) > 1 or not asked[0].get("file_path", "").endswith("/" + name):
                continue
            asked = (asked[0].get("ranges") or [{}])[0]
            for number, part in re.findall(r"^(\d+)\t(.*)$", text, re.M):
                head = ""
                if asked.get("start") == int(number):
                    head = lines.get(int(number), "")[: asked.get("from_char", 1) - 1]
                lines[int(number)] = head + part
        shown = "".join(lines[number] + "\n" for number in sorted(lines))
        if shown != content:
            wrong.append(f"the pages of {name}, put together, are not the file: {len(shown)} characters of {len(content)}")
    return wrong


READS = Script(
    calls=read,
    before={**LONG, **MANY},
    after={**LONG, "many.txt": MANY["many.txt"].replace("1", "2")},
    told=pages,
    errors=1,
)

# --- a directory that is not there --------------------------------------------------------------------------------------------------


def look(directory):
    yield GET, {"file_path": f"{directory}/greet.py"}


def says_what_is_missing(replies):
    """The directory itself, not only the file in it that was asked for."""
    silent = [text for *_, text, _ in replies if not re.search(r"not-there(?![/\w])", text)]
    return [f"the reply does not name the missing directory: {text[:300]!r}" for text in silent]


MISSING = Script(look, {"greet.py": GREET}, {"greet.py": GREET}, told=says_what_is_missing, errors=1)

# --- the patch tool alone -----------------------------------------------------------------------------------------------------------


def patch_only(directory):
    stale = {"old_string": '    print("Hello, " + name)', "new_string": '    print("Bye, " + name)'}
    path = f"{directory}/greet.py"
    seen = yield PATCH, {"files": [{"file_path": path, "patches": [{**stale, "ranges": [{"start": 1, "end": 1}]}]}]}
    yield PATCH, {"files": [{"file_path": path, "patches": [{**stale, "ranges": hinted_ranges(seen)}]}]}


def names_only_patch(replies):
    named = {name for *_, text, _ in replies for name in re.findall(r"[a-z]+_text_files?(?:_[a-z]+)?", text)}
    return [f"a reply names {name}, which is not offered" for name in sorted(named - {PATCH})]


PATCH_ONLY = Script(
    patch_only, {"greet.py": GREET}, {"greet.py": GREET.replace("Hello", "Bye")}, told=names_only_patch, errors=1
)
