"""The 226 tasks of the public board *Explicit Edit*, rebuilt: its families, scales and shapes, with words of our own.

A task says in `info` what whoever orders the edit must name at least: texts, marks, titles. `kind` and `facts` say it to a caller:

- `once`, `every`: `old` becomes `new` in `file`, where it stands once or often; `files`: in all files of `cases`; `pairs`: each in its own file
- `titled`: under each title the value `old` becomes `new`, or `payload` comes before the end of the test, or the test goes
- `block`: the lines from `start` to `end` get a new body (`payload`), or are copied or moved behind `anchor`, or to the end of `to`, or go
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

ZERO_WIDTH, JOINER, NO_BREAK, NARROW = "\u200b", "\u2060", "\u00a0", "\u202f"
Files = dict[str, str]


@dataclass
class Task:
    family: str
    scale: int
    kind: str
    files: Files
    wanted: Files
    info: list[str]
    facts: SimpleNamespace


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


#: Name of the file, its head (`%s`: a remark), an entry with its number and value, its tail, and what stands between entries.
LANGUAGES = [
    ("crates.ts", "// %s\nexport const crates = [\n", '  {{ id: "crate-{n}", mode: "{v}", weight: 4 }},\n', "] as const;\n", ""),
    ("Crate.tsx", "// %s\nexport const Crate = () => <>\n", '  <option data-mode="{v}" title="Crate {n}">Pick {n}</option>\n', "</>;\n", ""),
    ("crates.py", "# %s\nCRATES = [\n", '    {{"id": "crate-{n}", "mode": "{v}", "weight": 4}},\n', "]\n", ""),
    ("crates.go", "package crate\n\n// %s\nvar Crates = []Crate{\n", '\t{{ID: "crate-{n}", Mode: "{v}", Weight: 4}},\n', "}\n", ""),
    ("crates.rs", "// %s\npub const CRATES: &[(&str, &str, u32)] = &[\n", '    ("crate-{n}", "{v}", 4),\n', "];\n", ""),
    ("Crates.cs", "// %s\nstatic class Crates {\n    static readonly (string, string, int)[] All = {\n", '        ("crate-{n}", "{v}", 4),\n', "    };\n}\n", ""),
    ("Crates.java", "// %s\nclass Crates {\n    static final String[][] ALL = {\n", '        {{"crate-{n}", "{v}", "4"}},\n', "    };\n}\n", ""),
    ("Crates.kt", "// %s\nval crates = listOf(\n", '    Triple("crate-{n}", "{v}", 4),\n', ")\n", ""),
    ("crates.sql", "-- %s\nCREATE TABLE crates (id TEXT, mode TEXT, weight INTEGER);\n", "INSERT INTO crates VALUES ('crate-{n}', '{v}', 4);\n", "", ""),
    ("crates.sh", "#!/bin/sh\n# %s\n", "add_crate 'crate-{n}' '{v}' 4\n", "", ""),
    ("crates.json", '{\n  "note": "%s",\n  "crates": [\n', '    {{"id": "crate-{n}", "mode": "{v}", "weight": 4}}', "\n  ]\n}\n", ",\n"),
    ("crates.yaml", "# %s\ncrates:\n", "  - id: crate-{n}\n    mode: {v}\n    weight: 4\n", "", ""),
]
#: The words of a manual: title, state, old value, new value, advice.
MANUALS = [
    ("Crate", "Mode", "", "", "Try later."),
    ("Caisse", "État", "caisse bloquée", "caisse livrée", "Vérifiez l’étiquette après l’envoi."),
    ("Ящик", "Статус", "ящик задержан", "ящик отправлен", "Проверьте наклейку после отправки."),
    ("货箱", "状态", "货箱等待", "货箱已发出", "发出后请核对标签。"),
    ("الصندوق", "الحالة", "الصندوق معلق", "الصندوق مرسل", "راجع الملصق بعد الإرسال."),
    ("Crate / Ящик / 货箱", "Mode / Статус / 状态", "held / задержан / 等待", "sent / отправлен / 发出", "Vérifiez. Проверьте. 核对。 راجع."),
]
MANUAL = "## {title} {{n}}\n\n- {state}: {{v}}\n\n{advice}\n\n| Code | {state} |\n| --- | --- |\n| 503 | {advice} |\n\n[{title}](./more.md#crate-{{n}})\n\n```sh\ncurl --retry 4 https://example.test/crate/{{n}}\n```\n\n"
PACK = 'import { expect, test } from "vitest";\n\nfunction seal(crate: Record<string, unknown>): string {\n  return JSON.stringify(crate);\n}\n\n'


class Board:
    """The tasks of a variant: with plain texts, or with characters that are easily lost."""

    def __init__(self, is_plain: bool) -> None:
        self.is_plain = is_plain
        self.old = "earlierCrateY" if is_plain else f"earlier{ZERO_WIDTH}CrateY"
        self.new = "currentCrateY" if is_plain else f"current{ZERO_WIDTH}CrateY"
        odd = f"A{NO_BREAK}B | A{NARROW}B | A{ZERO_WIDTH}B | A{JOINER}B | \u2010\u2011\u2013\u2014\u2212 | caf\u00e9 | cafe\u0301"
        self.remark = "Crate notes" if is_plain else f"Crate{NO_BREAK}notes \u2014 cafe\u0301{JOINER}"
        self.guard = "// This line stays.\n" if is_plain else f"// This line stays: {odd}\n"
        self.tasks: list[Task] = []
        self.languages()
        self.values()
        self.titles()
        self.blocks()
        self.oddities()

    def add(self, family: str, scale: int, kind: str, files: Files, changed: Files, info: list[str], **facts: Any) -> None:
        files = {"other.txt": "Nobody edits this.\n" + self.guard, **files}
        facts = {"file": next(iter(changed)), "payload": None, **facts}
        self.tasks.append(Task(family, scale, kind, files, {**files, **changed}, info, SimpleNamespace(**facts)))

    def once(self, family: str, scale: int, file: str, text: str, old: str, new: str, info: list[str]) -> None:
        assert text.count(old) == 1, (family, old)
        self.add(family, scale, "once", {file: text}, {file: text.replace(old, new)}, info, old=old, new=new)

    def languages(self) -> None:
        kinds = [(*language, self.old, self.new) for language in LANGUAGES]
        for title, state, old, new, advice in MANUALS:
            entry = MANUAL.format(title=title, state=state, advice=advice)
            kinds.append(("crates.md", f"# {title}\n\n%s\n\n", entry, "", "", old or self.old, new or self.new))
        for file, head, entry, tail, between, old, new in kinds:
            def render(values: list[str]) -> str:
                return head.replace("%s", self.remark) + between.join(values) + tail
            entries = [entry.format(n=n + 1, v=old) for n in range(10)]
            text, fifth = render(entries), entry.format(n=5, v=new)
            self.add("language-replace", 10, "every", {file: text}, {file: text.replace(old, new)}, [old, new], old=old, new=new)
            self.once("language-select", 10, file, text, entries[4], fifth, [entries[4], fifth])
            more, first = entry.format(n=11, v=new) + between, entries[4].splitlines(keepends=True)[0]
            self.once("language-insert", 1, file, text, first, more + first, [more, entries[4]])

    def values(self) -> None:
        line = "export const crateMode = {{ mode: {}, weight: 4 }};\n"
        for scale in (10, 100, 1000):
            others = [f'export const route{n} = {{ path: "/api/crates/{n}", method: "GET", wait: {2000 + n} }} as const;\n' for n in range(scale)]
            others[scale // 2:scale // 2] = [line.format(quoted(self.old))]
            self.once("unique", scale, "modes.ts", self.guard + "".join(others), self.old, self.new, [self.old, self.new])
        for scale in (1, 10, 30):
            pairs = [(f"config/crate-{n}.ts", f"{self.old}-{n}", f"{self.new}-{n * 3}") for n in range(1, scale + 1)]
            files = {file: f"{self.guard}export const crate = {{\n  mode: {quoted(old)},\n  route: \"/api/crates\",\n  weight: 4,\n}};\n" for file, old, _ in pairs}
            changed = {file: files[file].replace(old, new) for file, old, new in pairs}
            self.add("distinct-edits", scale, "pairs", files, changed, [word for pair in pairs for word in pair], pairs=pairs)

    def test(self, number: int, value: str | None = None, title: str | None = None) -> str:
        lines = [f"test({quoted(title or self.title(number))}, () => {{", "  const crate = {", f"    mode: {quoted(value or self.old)},",
                 f'    label: "label-{number}",', f"    weight: {number % 5},", '    headers: { accept: "text/plain" },', "  };",
                 "  const sealed = seal(crate);", "  expect(JSON.parse(sealed)).toEqual(crate);", "});"]
        return "\n".join(lines) + "\n"

    def title(self, number: int) -> str:
        return f"seals crate-content {number:04d}" if self.is_plain else f"seals crate\u2011content{NO_BREAK}{number:04d}"

    def titles(self) -> None:
        file, old, new = "seal.test.ts", self.old, self.new

        def render(tests: list[str]) -> str:
            return PACK + self.guard + "\n".join(tests)

        for scale in (1, 10, 100, 1000):
            tests = [self.test(n) for n in range(1, scale + 1)]
            text = render(tests)
            self.add("replace-all", scale, "every", {file: text}, {file: text.replace(old, new)}, [old, new], old=old, new=new)
            check, middle = "  expect(sealed).toBeTruthy();\n", (scale + 1) // 2
            changes = {"select": lambda test: test.replace(old, new), "delete": lambda test: "",
                       "insert": lambda test: test.replace("});\n", check + "});\n")}
            for family, picked in [("select-one", [middle])] + [(f"{change}-subset", sorted({1, middle, scale})) for change in changes if scale > 1]:
                change = family.split("-")[0]
                titles = [self.title(n) for n in picked]
                changed = render([changes[change](test) if n in picked else test for n, test in enumerate(tests, 1)])
                info = {"select": [old, new], "delete": [], "insert": [check]}[change] + titles
                self.add(family, scale, "titled", {file: text}, {file: changed}, info, change=change, titles=titles, old=old, new=new, payload=check)
        for count in (1, 10, 100):
            files = {f"cases/part-{n:03d}.test.ts": render([self.test(k) for k in range(1000 // count)]) for n in range(count)}
            changed = {file: text.replace(old, new) for file, text in files.items()}
            self.add("multi-file", count, "files", {"outside.test.ts": render([self.test(0)]), **files}, changed, ["cases/*.test.ts", old, new], old=old, new=new)

    def table(self, rows: int, value: str, title: str) -> str:
        each = [f'    {{ label: "label-{n}", mode: {quoted(value)}, weight: {n % 5} }},' for n in range(rows)]
        return "\n".join([f"test({quoted(title)}, () => {{", "  const crates = [", *each, "  ];", "  for (const crate of crates) {",
                          "    expect(JSON.parse(seal(crate))).toEqual(crate);", "  }", "});"]) + "\n"

    def blocks(self) -> None:
        file, to, anchor = "table.test.ts", "target.test.ts", "// AFTERWARDS\n"
        start, end = f"// FROM {self.title(42)}\n", f"// UPTO {self.title(42)}\n"
        above, below = PACK + self.guard + self.test(9001, "firstCrate") + "\n// BEFORE\n", anchor + self.test(9002, "lastCrate")
        target = PACK + self.guard + "// TARGET\n" + self.test(9003, "targetCrate")
        new_body, new_test = self.table(1, self.new, "seals the usual crate"), self.test(9004, self.new)
        for scale in (10, 100, 1000):
            block = start + self.table(scale, self.old, "seals all crates") + end
            text, marks = above + block + below, [start, end]

            def add(family: str, changed: Files, info: list[str], files: Files | None = None, **facts: Any) -> None:
                facts = {"start": start, "end": end, "anchor": None, "to": None, "is_move": False, **facts}
                self.add(family, scale, "block", files or {file: text}, changed, info, **{**facts, "file": file})

            add("replace-block", {file: above + start + new_body + end + below}, [*marks, new_body], payload=new_body)
            add("delete-block", {file: above + below}, marks)
            apart = above + block + "// BETWEEN\n" + below
            moved = above + "// BETWEEN\n" + below.replace(anchor, anchor + block)
            add("move-block", {file: moved}, [*marks, anchor], {file: apart}, anchor=anchor, is_move=True)
            both = {file: text, to: target}
            add("copy-block", {to: target + block}, [*marks, to], both, to=to)
            add("move-between", {file: above + below, to: target + block}, [*marks, to], both, to=to, is_move=True)
            add("copy-within", {file: text + block}, marks, to=file)
            self.once("insert-block", scale, file, text, end, end + new_test, [end, new_test])
            payload = self.table(scale, self.new, "seals the moved crates")
            self.once("insert-payload", scale, file, above + below, anchor, payload + anchor, [payload, anchor])

    def oddities(self) -> None:
        mark = "" if self.is_plain else JOINER
        for old, new in [(r"/^(\d*)\..*\.log$/", r"/^(\d+)\..*\.log$/"), ('say "old" \\ ${x}', 'say "new" \\ ${x}'), ("old\r\nline", "new\r\nline"),
                         ("old\t\tsum", "new\t\tsum"), ("old sum", "new sum")]:
            end = "" if old == "old sum" else "\n"
            self.once("literal", 1, "sample.txt", self.guard + old + mark + end, old + mark, new + mark, [old + mark, new + mark])
        twins = [(f"A{NO_BREAK}B", "A B"), (f"A{NARROW}B", "A B"), (f"A{ZERO_WIDTH}B", "AB"), (f"A{JOINER}B", "AB"), ("A\u2011B", "A-B"),
                 ("A\u2212B", "A-B"), ("cafe\u0301", "caf\u00e9"), ("cr\u0430te", "crate")]
        for old, new in [] if self.is_plain else twins:
            text = "alike: " + " | ".join(word for pair in twins for word in pair) + f"\nthis: {old}\n"
            self.once("unicode-fix", 1, "sample.txt", text, f"this: {old}", f"this: {new}", ["this: ", old, new])


def tasks() -> list[Task]:
    found = Board(True).tasks + Board(False).tasks
    assert len(found) == 226 and all(task.files != task.wanted for task in found)
    return found
