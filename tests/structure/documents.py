"""The documents: links and anchors lead somewhere, nothing is said twice, and the commands are those of the program.

    documents.py [PROGRAM]      default: MCP_TEXT_EDITOR_BIN, else the debug build; without a program the law *command* is skipped

The laws:

- *link*: each link, picture and `#anchor` to a file of the repository leads to one. Addresses elsewhere are not asked.
- *twice*: no sentence of twelve words or more stands in two documents. Cells of tables count, code does not.
- *command*: a line of code that starts `mcp-text-editor` names a subcommand and options that the program has; `python3`, `sh` and `bash` start files that
  are there; `just` has the recipe.

Ends with `N passed, N failed`, a law each.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]
LAWS = ("link", "twice", "command")
#: Sentences of fewer words may be said twice.
FEWEST_WORDS = 12
#: Documents whose history, or generated text, repeats itself.
REPEATING = {"CHANGELOG.md", "docs/tools.md"}
FENCE = re.compile(r"^(```|~~~)(\w*)[^\n]*\n(.*?)^\1", re.MULTILINE | re.DOTALL)
Finding = tuple[str, str, str]


def documents() -> dict[str, str]:
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=HERE, capture_output=True, text=True, check=False)
    paths = listed.stdout.split() if listed.returncode == 0 else [
        str(path.relative_to(HERE)) for path in HERE.rglob("*.md") if not {"target", "node_modules"} & set(path.parts)]
    return {path: (HERE / path).read_text() for path in sorted(paths) if (HERE / path).is_file()}


def without_code(text: str) -> str:
    return re.sub(r"^(?: {4}|\t).*$", "", FENCE.sub("", text), flags=re.MULTILINE)


def anchors_of(text: str) -> set[str]:
    """The anchors of a document, as GitHub makes them of its headings."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ +(.+?) *#*$", FENCE.sub("", text), flags=re.MULTILINE):
        bare = re.sub(r"\[([^\]]*)\]\([^)]*\)|<[^>]*>", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", bare.lower()).replace(" ", "-")
        number = 1
        while (anchor := slug if number == 1 else f"{slug}-{number - 1}") in found:
            number += 1
        found.add(anchor)
    return found


def findings_of_links(texts: dict[str, str]) -> Iterator[Finding]:
    for path, text in texts.items():
        prose = re.sub(r"`[^`\n]*`", "", without_code(text))
        targets = re.findall(r"\]\(([^)\s]+)\)", prose) + re.findall(r'\b(?:src|srcset|href)="([^"\s]+)"', text) + re.findall(r"^\[[^\]]+\]: (\S+)", prose, flags=re.MULTILINE)
        for target in targets:
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            to = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
            if not (to in texts or (HERE / to).exists()):
                yield path, "link", f"there is no {to}"
            elif anchor and anchor not in anchors_of(texts.get(to, "")):
                yield path, "link", f"{to} has no #{anchor}"


def sentences_of(text: str) -> Iterator[str]:
    prose = re.sub(r"!\[[^\]]*\]\([^)]*\)|<[^>]*>", "", without_code(text))
    for sentence in re.split(r"(?<=[.:;|])\s+|\n\s*\n|\n(?=[-*] |\d+\. )", prose):
        words = re.findall(r"\w+", sentence.lower())
        if len(words) >= FEWEST_WORDS:
            yield " ".join(words)


def findings_of_sentences(texts: dict[str, str]) -> Iterator[Finding]:
    first: dict[str, str] = {}
    for path, text in texts.items():
        for sentence in sentences_of(text) if path not in REPEATING else ():
            if first.setdefault(sentence, path) != path:
                yield path, "twice", f"{first[sentence]} has it, too: {sentence[:80]}"


def commands_of(text: str) -> Iterator[str]:
    """The lines of a document's code, blocks and spans."""
    for _, kind, block in FENCE.findall(text):
        if kind in ("sh", "console", ""):
            yield from block.replace("\\\n", " ").split("\n")
    bare = FENCE.sub("", text)
    yield from re.findall(r"^(?: {4}|\t)(.*)$", bare, flags=re.MULTILINE)
    yield from re.findall(r"(?<!`)`([^`\n]+)`(?!`)", bare)


class Program:
    """What the program takes, by its own help."""

    def __init__(self, program: str) -> None:
        self.program = program
        self.commands = set(re.findall(r"^  ([a-z]+)  ", self.help([]).split("Arguments:")[0], flags=re.MULTILINE))
        self.options: dict[tuple[str, ...], set[str]] = {}

    def help(self, words: list[str]) -> str:
        # The help of each command ends with the options of all.
        return subprocess.run([self.program, *words, "--help-all"], capture_output=True, text=True, check=True).stdout

    def options_of(self, words: tuple[str, ...]) -> set[str]:
        if words not in self.options:
            self.options[words] = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", self.help(list(words))))
        return self.options[words]

    def wrong(self, line: str) -> str | None:
        """What is wrong with a command line; None if nothing is."""
        words = re.sub(r"'[^']*'|\"[^\"]*\"|(?<!\S)#.*|[|;&<>].*", "", line).split()[1:]
        first = next((word for word in words if re.fullmatch(r"[a-z]+", word)), None) if words and re.fullmatch(r"[a-z]+", words[0]) else None
        if first and first not in self.commands:
            return f"there is no command {first}"
        known = self.options_of((first,) if first else ()) | self.options_of(())
        if first == "history":
            known = known.union(*(self.options_of(("history", sub)) for sub in ("show", "roots", "forget")))
        for word in words:
            option = word.split("=")[0].rstrip(",.:…")
            if re.fullmatch(r"--?[a-z][\w-]*", option) and option not in known:
                return f"{first or 'the program'} has no option {option}"
        return None


def findings_of_commands(texts: dict[str, str], program: Program | None) -> Iterator[Finding]:
    recipes = set(re.findall(r"^([a-z][\w-]*)(?: [^:\n]*)?:(?!=)", (HERE / "justfile").read_text(), flags=re.MULTILINE))
    for path, text in texts.items():
        for line in commands_of(text) if path != "CHANGELOG.md" else ():
            line = re.sub(r"^\s*(?:\$ )?(?:[A-Z_]+=\S+ )*", "", line)
            if program and re.match(r"mcp-text-editor (?!\d)", line) and (wrong := program.wrong(line)):
                yield path, "command", f"{line}: {wrong}"
            if (script := re.match(r"(?:python3|sh|bash) ([\w./-]+\.(?:py|sh))(?![\w/])", line)) and not any((HERE / place / script[1]).exists() for place in ("", os.path.dirname(path))):
                yield path, "command", f"{line}: there is no {script[1]}"
            if (recipe := re.match(r"just ([a-z][\w-]*)(?= |$)", line)) and recipe[1] not in recipes:
                yield path, "command", f"{line}: there is no recipe {recipe[1]}"


def findings_of(texts: dict[str, str], program: Program | None) -> list[Finding]:
    return [*findings_of_links(texts), *findings_of_sentences(texts), *findings_of_commands(texts, program)]


def self_check(program: Program | None) -> None:
    """A check that finds nothing is worth nothing."""
    said = "one two three four five six seven eight nine ten eleven twelve"
    texts = {"a.md": f"# One *two*\n\n[x](b.md#gone) [y](gone.md) ![z](b.md) [w](#one-two)\n\n{said}\n", "b.md": f"- {said.title()}.\n\n    python3 gone.py\n\n`just gone`\n"}
    assert [law for _, law, _ in findings_of(texts, None)] == ["link", "link", "twice", "command", "command"], findings_of(texts, None)
    if program:
        lines = {"mcp-text-editor history --web": 0, "mcp-text-editor histories": 1, "mcp-text-editor undo ID --gone": 1, "mcp-text-editor --http 1:2 DIR # --gone": 0}
        assert [int(program.wrong(line) is not None) for line in lines] == list(lines.values())


def main() -> int:
    named = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("MCP_TEXT_EDITOR_BIN")
    found = named or next((str(path) for path in (Path(os.environ.get("CARGO_TARGET_DIR", HERE / "target")) / "debug/mcp-text-editor",) if path.exists()), None)
    program = Program(found) if found else None
    self_check(program)
    findings = findings_of(documents(), program)
    for path, law, what in findings:
        print(f"{path}: {law}: {what}")
    broken = {law for _, law, _ in findings}
    if not program:
        print("skipped: options, since there is no program")
    print(f"{len(LAWS) - len(broken)} passed, {len(broken)} failed" + ("" if program else ", 1 skipped"))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
