"""The words of the sources and the documents: widths of lines, how comments begin, and one meaning for each name of a type.

The laws:

- *wide*: a comment in Rust has at most 110 columns, a line of a document 140. Excepted are tables, code, HTML, lines that are short
  but for the target of a link, and what a program writes (`WRITTEN`).
- *opening*: a comment that documents begins with a subject or a verb (or Whether, of what is true or false), not with What, How and the like. Excepted are those of
  tests, which state what holds, and those that are the text of `--help`.
- *verb*: the comment of a function that is no test begins with a verb in the third person: Returns, Reads, Tells.
- *name*: a type that others can see has a name of its own in the three crates. `REPEATED` has those that may share one, with the reason.
- *code*: a `mod.rs` declares, documents and exports again; it has no code.
- *sentence*: core writes no sentence. An error's line for a log (`#[error(…)]`) is none: no client reads it.

Ends with `N passed, N failed`, a law each.
"""

from __future__ import annotations

import collections
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]

COMMENT_WIDTH, LINE_WIDTH = 110, 140
OPENINGS = {"What", "How", "Which", "Why", "Where", "When", "Who", "Whose", "Of", "That"}
LAWS = ("wide", "opening", "verb", "name", "code", "sentence")

#: Names of types that may stand for more than one thing, and why.
REPEATED = {
    "Cause": "in core why a match failed; the store's, why a search skipped a file, is `SkipCause` outside",
    "ReadFile": "the same request, as a client sends it and as the store takes it",
}

#: Documents that programs write.
WRITTEN = {"docs/tools.md"}

#: Files whose comments are the text of `--help`.
HELP = {"crates/server/src/cli/args.rs", "crates/server/src/cli/history/args.rs"}

#: Files of core whose texts are no sentences, and why.
TEXTS = {
    "crates/core/src/diff/long_lines.rs": "marks in a line that is cut",
    "crates/core/src/diff/unified/bounded_text.rs": "what every diff says of a last line, and of lines that are left out",
    "crates/core/src/encoding/labels/table.rs": "labels of encodings",
    "crates/core/src/rejection.rs": "parts of an error's line for a log",
}

ITEM = re.compile(r"(?:pub(?:\([^)]*\))?\s+)?(?:default\s+|const\s+|async\s+|unsafe\s+|extern\s+\"C\"\s+)*fn\s+\w+")
TYPE = re.compile(r"^(?:    )*pub(?:\([^)]*\))?\s+(?:struct|enum|trait|type|union)\s+(\w+)", re.MULTILINE)
#: A text of three words or more.
SENTENCE = re.compile(r'"[^"\n]*[A-Za-z]+ [a-z]+ [a-z]+[^"\n]*"')


def without_tests(text):
    """The text without its inline modules for tests; as many lines as before."""
    module = re.compile(r"^( *)#\[cfg\((?:all\()?test\b[^\]]*\]\n(?: *#\[[^\]]*\]\n)* *(?:pub(?:\([^)]*\))? )?mod \w+ \{.*?^\1\}$(?=\n*\Z|\n\n#\[cfg\()", re.DOTALL | re.MULTILINE)
    return module.sub(lambda found: "\n" * found[0].count("\n"), text)


def comments_of(lines):
    """Each comment that documents: the number of its first line, its first word, and the line of code after it."""
    at = 0
    while at < len(lines):
        start, mark = at, lines[at].lstrip()[:3]
        while mark in ("///", "//!") and at < len(lines) and lines[at].lstrip().startswith(mark):
            at += 1
        if at == start:
            at += 1
            continue
        word = re.match(r"\s*//[/!]\s*(?:\*+)?(\w+)", lines[start])
        after = at
        while after < len(lines) and lines[after].lstrip().startswith(("#[", "//")):
            after += 1
        # That of a test states what holds.
        if any(line.strip() == "#[test]" for line in lines[at:after]):
            continue
        code = lines[after].strip() if after < len(lines) and mark == "///" else ""
        yield start + 1, word[1] if word else "", code


def findings_in_rust(path, text):
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("//") and len(line) > COMMENT_WIDTH:
            yield "wide", number, f"{len(line)} columns"
    for number, word, code in comments_of(lines):
        if word in OPENINGS and path not in HELP:
            yield "opening", number, f"begins with {word}"
        elif ITEM.match(code) and not re.fullmatch(r"[A-Z][a-z-]*s|Whether", word):
            yield "verb", number, f"begins with {word or 'no word'}"


def findings_in_document(_path, text):
    is_code = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith(("```", "~~~")):
            is_code = not is_code
        bare = re.sub(r"\]\([^)]*\)|<?https?://\S+>?", "]", line)
        is_excepted = is_code or line.startswith(("    ", "\t")) or line.lstrip().startswith(("|", "<")) or re.match(r"\[[^\]]+\]: ", line)
        if len(bare) > LINE_WIDTH and not is_excepted:
            yield "wide", number, f"{len(bare)} columns"


def is_of_a_crate(path):
    return re.match(r"crates/\w+/src/.*\.rs$", path) and not re.search(r"/(tests|laws)(/|\.rs$)", path)


def names_of(texts):
    """The types that others can see, by name, and where each stands."""
    names = collections.defaultdict(list)
    for path, text in texts.items():
        if is_of_a_crate(path):
            for found in TYPE.finditer(without_tests(text)):
                names[found[1]].append((path, text.count("\n", 0, found.start()) + 1))
    return names


def findings_of_names(texts):
    for name, places in sorted(names_of(texts).items()):
        # In one file it is one thing, made for each system, or a name in a module of its own.
        if len({path for path, _ in places}) > 1 and name not in REPEATED:
            for path, number in places:
                others = ", ".join(sorted({other for other, _ in places if other != path}))
                yield path, "name", number, f"{name} is also in {others}"


def findings_in_code(path, text):
    """Code in a `mod.rs`; sentences in core."""
    code = re.sub(r"//[^\n]*", "", without_tests(text))
    code = re.sub(r"^#\[cfg\(test\)\]\n[^\n;]*\bfn .*?^\}$", lambda found: "\n" * found[0].count("\n"), code, flags=re.DOTALL | re.MULTILINE)
    if path.endswith("/mod.rs") and (found := re.search(r"\b(?:fn|struct|enum|impl|const|static|trait)\b", code)):
        yield "code", code.count("\n", 0, found.start()) + 1, "has code"
    for found in SENTENCE.finditer(code) if path.startswith("crates/core/") and path not in TEXTS else ():
        if not re.search(r"#\[error\(\s*$|reason = $", code[: found.start()]):
            yield "sentence", code.count("\n", 0, found.start()) + 1, found[0]


def findings_of(texts):
    """Each finding: path, law, line, what was found."""
    for path, text in texts.items():
        if path in WRITTEN:
            continue
        of = findings_in_rust if path.endswith(".rs") else findings_in_document
        yield from ((path, *finding) for finding in of(path, text))
        if is_of_a_crate(path):
            yield from ((path, *finding) for finding in findings_in_code(path, text))
    yield from findings_of_names(texts)


def sources():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.rs", "*.md"],
        cwd=HERE, capture_output=True, text=True, check=False,
    )
    # Without git, what there is.
    paths = listed.stdout.split() if listed.returncode == 0 else [
        str(path.relative_to(HERE)) for kind in ("*.rs", "*.md") for path in HERE.rglob(kind)
        if not {"target", "node_modules"} & set(path.parts)
    ]
    return {path: (HERE / path).read_text() for path in sorted(paths) if (HERE / path).is_file()}


def self_check():
    """A check that finds nothing is worth nothing."""
    def laws(path, text):
        return [law for _, law, _, _ in findings_of({path: text})]

    long = "x" * 150
    assert laws("a.rs", f"// {long}\nlet x = \"{long}\";\n") == ["wide"]
    assert laws("a.rs", "/// What it is.\n#[must_use]\npub fn f() {}\n") == ["opening"]
    assert laws("a.rs", "/// The value.\n#[must_use]\npub const fn f() {}\n/// The value.\npub x: u8,\n/// Returns it.\nfn g() {}\n/// It holds.\n#[test]\nfn h() {}") == ["verb"]
    assert laws("a.md", f"{long}\n| {long}\n```\n{long}\n```\n[a](http://{long})\n") == ["wide"]
    assert laws("crates/core/src/a/mod.rs", "mod b;\n#[error(\"it is not there\")]\nfn f() { g(\"it is not there\") }") == ["code", "sentence"]
    assert laws("crates/core/src/a/mod.rs", "mod b;\n#[cfg(test)]\nfn f() {\n    let x = 1;\n}\n") == []
    types = {"crates/core/src/a.rs": "pub struct A;\nstruct B;\n#[cfg(test)]\nmod tests {\n    pub struct C;\n}",
             "crates/store/src/a.rs": "pub(crate) enum A {}\nstruct B;\npub struct C;\npub struct ReadFile;",
             "crates/server/src/a.rs": "pub struct ReadFile;"}
    assert [(path, number) for path, _, number, _ in findings_of_names(types)] == [("crates/core/src/a.rs", 1), ("crates/store/src/a.rs", 1)]


def main():
    self_check()
    texts = sources()
    findings = list(findings_of(texts))
    for path, law, number, what in findings:
        print(f"{path}:{number}: {law}: {what}")
    unused = sorted(name for name in REPEATED if len(names_of(texts)[name]) < 2)
    if unused:
        print(f"REPEATED has what is not repeated: {', '.join(unused)}")
    broken = {law for _, law, _, _ in findings} | ({"name"} if unused else set())
    print(f"{len(LAWS) - len(broken)} passed, {len(broken)} failed")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
