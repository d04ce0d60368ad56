"""The words of the sources and the documents: widths of lines, how comments begin, and one meaning for each name of a type.

The laws:

- *wide*: a comment in Rust has at most 110 columns, a line of a document 140, a rule of the contract three lines. Excepted are tables, code, HTML, lines that are short
  but for the target of a link, and what a program writes (`WRITTEN`).
- *opening*: a comment that documents begins with a subject or a verb (or Whether, of what is true or false), not with What, How and the like. Excepted are those of
  tests, which state what holds, and those that are the text of `--help`.
- *verb*: the comment of a function that is no test begins with a verb in the third person: Returns, Reads, Tells.
- *name*: a type that others can see has a name of its own in the three crates. `REPEATED` has those that may share one, with the reason.
- *sentence*: core writes no sentence. An error's line for a log (`#[error(…)]`) is none: no client reads it.
- *plain*: no participle or riddle as a name (told, asked, aside), no question or genitive at the beginning of a comment or a paragraph, no
  `of which` and no `is told`. `words.tsv` has how many of each are left: more of one than that is an error, and shows where they are.

`--lower` writes the numbers of `words.tsv` anew where fewer are left. Ends with `N passed, N failed`, a law each.
"""

from __future__ import annotations

import collections
import itertools
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]

COMMENT_WIDTH, LINE_WIDTH = 110, 140
OPENINGS = {"What", "How", "Which", "Why", "Where", "When", "Who", "Whose", "Of", "That"}
LAWS = ("wide", "opening", "verb", "name", "sentence", "plain")
ALLOWED = Path(__file__).with_name("words.tsv")

#: Names of types that may stand for more than one thing, and why.
REPEATED = {
    "ReadFile": "the same request, as a client sends it and as the store takes it",
    "SharedOptions": "of a build with the feature `cluster`, and of one without",
    "SharedState": "the same",
}

#: Documents that programs write.
WRITTEN = {"docs/tools.md"}

#: Files whose comments are the text of `--help`.
HELP = {"crates/server/src/cli/args.rs", "crates/server/src/cli/history/args.rs"}

#: Files of core whose texts are no sentences, and why.
TEXTS = {
    "crates/core/src/diff/long_lines.rs": "marks in a line that is cut",
    "crates/core/src/diff/unified/bounded_text.rs": "what every diff says of a last line, and of lines that are left out",
    "crates/core/src/encoding/labels/mod.rs": "labels of encodings",
    "crates/core/src/rejection.rs": "parts of an error's line for a log",
}

#: Names that leave open who does what, and phrases that put the reason or the owner before the thing.
NAMES = {"told", "asked", "made", "met", "given", "said", "found", "come_back", "ungive", "withdraw", "aside", "otherwise_next", "turn"}
RIDDLES = OPENINGS - {"Where", "When"}
PHRASES = re.compile(r"\b(of which|by which|(?:is|are|was) told)\b", re.IGNORECASE)
#: What gives a name: a function, a module, a binding, a field or a parameter.
NAMED = re.compile(
    r"\b(?:fn|mod) (\w+)|\b(?:let|for|Some\(|Ok\(|Err\()\s*\(?(?:ref )?(?:mut )?(\w+)"
    r"|(?:[({,|]\s*|^\s*|\bpub(?:\([^)]*\))?\s+)(?:mut )?(\w+):(?!:)|\|&?(?:mut )?(\w+)[|,]", re.MULTILINE)

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
    for rule in re.finditer(r"^- \*\*R\d+\*\* .*(?:\n  \S.*){3}", text, re.MULTILINE):
        yield "wide", text.count("\n", 0, rule.start()) + 1, "a rule of more than three lines"
    is_code = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith(("```", "~~~")):
            is_code = not is_code
        bare = re.sub(r"\]\([^)]*\)|<?https?://\S+>?", "]", line)
        is_excepted = is_code or line.startswith(("    ", "\t")) or line.lstrip().startswith(("|", "<")) or re.match(r"\[[^\]]+\]: ", line)
        if len(bare) > LINE_WIDTH and not is_excepted:
            yield "wide", number, f"{len(bare)} columns"


def unplain(path, text):
    """Each name, opening and phrase that is counted: which, and the line."""
    if path.endswith(".rs"):
        code = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', re.sub(r"//[^\n]*", "", text))
        for named in NAMED.finditer(code):
            name = next(filter(None, named.groups()))
            if name in NAMES:
                yield f"name {name}", code.count("\n", 0, named.start(named.lastindex)) + 1
        for number, (before, line) in enumerate(itertools.pairwise(["", *text.split("\n")]), 1):
            word = re.match(r"\s*// (\w+)", line)
            if word and word[1] in RIDDLES and not before.lstrip().startswith("//"):
                yield f"opening {word[1]}", number
        said = "\n".join(line if line.lstrip().startswith("//") else "" for line in text.split("\n"))
    else:
        said = re.sub(r"```.*?```", lambda block: "\n" * block[0].count("\n"), text, flags=re.DOTALL)
        for word in re.finditer(r"(?:\n\n|\n *- (?:\*\*R\d+\*\* )?)(\w+)", said):
            if word[1] in RIDDLES:
                yield f"opening {word[1]}", said.count("\n", 0, word.start(1)) + 1
    for phrase in PHRASES.finditer(said):
        yield f"phrase {phrase[1].lower()}", said.count("\n", 0, phrase.start()) + 1


def plain(texts, lower):
    """Findings of what there is more of than `words.tsv` allows."""
    allowed = {kind: int(many) for kind, many in (line.split("\t") for line in ALLOWED.read_text().splitlines())}
    places = collections.defaultdict(list)
    for path, text in texts.items():
        for kind, number in () if path in WRITTEN or path == "CHANGELOG.md" else unplain(path, text):
            places[kind].append((path, number))
    for kind, where in places.items():
        if len(where) > allowed.get(kind, 0):
            for path, number in where:
                yield path, "plain", number, f"{kind}: {len(where)} of them, {allowed.get(kind, 0)} allowed"
    if lower:
        left = {kind: min(many, len(places[kind])) for kind, many in allowed.items()}
        ALLOWED.write_text("".join(f"{kind}\t{many}\n" for kind, many in sorted(left.items()) if many))


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
    """Sentences in core."""
    code = re.sub(r"//[^\n]*", "", without_tests(text))
    code = re.sub(r"^#\[cfg\(test\)\]\n[^\n;]*\bfn .*?^\}$", lambda found: "\n" * found[0].count("\n"), code, flags=re.DOTALL | re.MULTILINE)
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
    assert laws("a.md", "- **R1** a\n  b\n  c\n- **R2** a\n  b\n  c\n  d\n") == ["wide"]
    assert laws("crates/core/src/a/mod.rs", "mod b;\n#[error(\"it is not there\")]\nfn f() { g(\"it is not there\") }") == ["sentence"]
    assert laws("crates/core/src/a/mod.rs", "mod b;\n#[cfg(test)]\nfn f() {\n    let x = 1;\n}\n") == []
    types = {"crates/core/src/a.rs": "pub struct A;\nstruct B;\n#[cfg(test)]\nmod tests {\n    pub struct C;\n}",
             "crates/store/src/a.rs": "pub(crate) enum A {}\nstruct B;\npub struct C;\npub struct ReadFile;",
             "crates/server/src/a.rs": "pub struct ReadFile;"}
    unplain_ = "fn told(asked: u8) {\n    // What is it?\n    let x = \"told: 1\"; // of which\n    // one of which\n    // What\n}\n"
    assert [*unplain("a.rs", unplain_)] == [("name told", 1), ("name asked", 1), ("opening What", 2), ("phrase of which", 4)]
    assert [kind for kind, _ in unplain("a.md", "# A\n\nWhat is.\nOf it.\n\n- **R1** Of it, as is told.\n")] == ["opening What", "opening Of", "phrase is told"]
    assert [(path, number) for path, _, number, _ in findings_of_names(types)] == [("crates/core/src/a.rs", 1), ("crates/store/src/a.rs", 1)]


def main():
    self_check()
    texts = sources()
    findings = [*findings_of(texts), *plain(texts, "--lower" in sys.argv)]
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
