"""All mutants in one program of each crate, each behind a switch (mutant schemata: Untch, Offutt and Harrold 1993). cargo-mutants makes the
list; here each of them is woven into a copy of the sources, `if crate::schema::mutant(7) { … } else { … }`, and an environment variable
says which one is on. One build tries them all. Not here: which tests are run, and what a miss means.

What the compiler refuses inside a mutant's own text does not compile as cargo-mutants would make it, either (`unviable`). What cannot be
switched while the program runs, such as the value of a constant, is left to cargo-mutants itself (`alone`).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import tree_sitter_rust
from tree_sitter import Language, Node, Parser

PARSER = Parser(Language(tree_sitter_rust.language()))
#: Errors that a mutant's own types or names give. Others may be due to the switch: a temporary that ends with its block, a constant.
OF_ITS_OWN = {"E0204", "E0268", "E0277", "E0282", "E0283", "E0308", "E0369", "E0423", "E0425", "E0432", "E0433", "E0560", "E0599",
              "E0600", "E0603", "E0604", "E0605", "E0606", "E0607", "E0614", "E0624", "E0658", "E0061", "E0689"}
#: Added to the crate's root. The switch is set before `main`, and read without a lock: a program has one mutant from its beginning to its
#: end. With MUTANTS_REACHED a file has a byte for each mutant, set when its place is reached; shared, so that a killed child's counts, too.
SCHEMA = """
#[allow(unsafe_code, missing_docs, static_mut_refs, unused, clippy::all, clippy::pedantic, clippy::disallowed_methods)]
pub(crate) mod schema {
    static mut ACTIVE: usize = 0;
    static mut REACHED: *mut u8 = std::ptr::null_mut();
    unsafe extern "C" {
        fn mmap(address: *mut u8, size: usize, protection: i32, flags: i32, file: i32, offset: i64) -> *mut u8;
    }
    #[used]
    #[unsafe(link_section = ".init_array")]
    static INIT: extern "C" fn() = init;
    extern "C" fn init() {
        if let Some(number) = std::env::var("MUTANT").ok().and_then(|number| number.parse().ok()) {
            unsafe { ACTIVE = number };
        }
        if let Ok(file) = std::env::var("MUTANTS_REACHED").and_then(|path| {
            std::fs::OpenOptions::new().read(true).write(true).open(path).map_err(|_| std::env::VarError::NotPresent)
        }) {
            let size = file.metadata().unwrap().len() as usize;
            unsafe { REACHED = mmap(std::ptr::null_mut(), size, 3, 1, std::os::fd::AsRawFd::as_raw_fd(&file), 0) };
        }
    }
    #[inline]
    pub(crate) const fn mutant(number: usize) -> bool {
        unsafe {
            if !REACHED.is_null() {
                *REACHED.add(number) = 1;
            }
            ACTIVE == number
        }
    }
}
"""


@dataclass
class Change:
    """What is done at a range of the original: a mutant's text in place of it, or text put before and after it."""

    start: int
    end: int
    #: Of an expression: each mutant's number and what stands in its place.
    instead: list[tuple[int, bytes]] = field(default_factory=list)
    #: Around it, or at a point: the number, what goes before and what goes after.
    around: tuple[int, bytes, bytes] | None = None


@dataclass
class Woven:
    text: bytes
    #: Which bytes of the text are whose: the narrowest that holds an error has caused it.
    regions: list[tuple[int, int, tuple[int, ...], bool]]


def offset(lines: list[bytes], starts: list[int], place: dict) -> int:
    """The byte at a line and a column, which cargo-mutants counts from 1, in characters."""
    line = lines[place["line"] - 1]
    return starts[place["line"] - 1] + len(line.decode()[: place["column"] - 1].encode())


def ancestors(node: Node):
    while node is not None:
        yield node
        node = node.parent


def of(root: Node, start: int, end: int, *kinds: str) -> Node | None:
    """The narrowest node of these kinds that holds the bytes."""
    for node in ancestors(root.descendant_for_byte_range(start, end)):
        if node.type in kinds:
            return node
    return None


class Unviable(Exception):
    """A mutant that no compiler takes."""


def change(root: Node, text: bytes, number: int, mutant: dict, start: int, end: int) -> Change | None:
    """How a mutant is switched; None if it cannot be."""
    switch = b"crate::schema::mutant(%d)" % number
    replacement = mutant["replacement"].encode()
    inside = {node.type for node in ancestors(root.descendant_for_byte_range(start, end))}
    if mutant["function"] is None or inside & {"const_item", "static_item", "enum_variant", "const_block", "array_type"}:
        return None
    if mutant["genre"] == "FnValue":
        if "impl " in mutant["function"]["return_type"]:
            # The replacement has a type of its own, and a function of that kind has one.
            return None
        return Change(start, start, around=(number, b"if " + switch + b" { return " + replacement + b"; } ", b""))
    if mutant["genre"] == "MatchArm":
        arm = of(root, start, end, "match_arm")
        pattern = arm and arm.child_by_field_name("pattern")
        if pattern is None:
            return None
        patterns = [other.child_by_field_name("pattern") for other in arm.parent.named_children if other.type == "match_arm"]
        if not any(other.text == b"_" for other in patterns):
            # The list takes a `_` with a guard for one; what a guard holds back covers nothing.
            return None
        guard = pattern.child_by_field_name("condition")
        if guard is None:
            return Change(pattern.end_byte, pattern.end_byte, around=(number, b" if !" + switch, b""))
        return Change(guard.start_byte, guard.end_byte, around=(number, b"!" + switch + b" && (", b")"))
    if mutant["genre"] == "MatchArmGuard":
        return Change(start, end, instead=[(number, replacement)])
    if mutant["genre"] == "StructField":
        node = of(root, start, end, "struct_expression")
    else:
        node = of(root, start, end, "binary_expression", "unary_expression", "compound_assignment_expr", "let_chain")
        # An operator may bind stronger or weaker than the one that it takes the place of: so all of a chain of them is written out.
        while node is not None and node.parent is not None and node.parent.type == "binary_expression":
            node = node.parent
    if node is not None and node.type == "let_chain":
        raise Unviable
    if node is None:
        return None
    whole = text[node.start_byte : start] + b" " + replacement + b" " + text[end : node.end_byte]
    return Change(node.start_byte, node.end_byte, instead=[(number, whole)])


def weave(text: bytes, mutants: dict[int, dict]) -> tuple[Woven, set[int], set[int]]:
    """A file with these mutants in it, each behind its switch; those that cannot be switched; those that do not compile."""
    root = PARSER.parse(text).root_node
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    alone: set[int] = set()
    unviable: set[int] = set()
    expressions: dict[tuple[int, int], Change] = {}
    others = []
    for number, mutant in sorted(mutants.items()):
        start, end = (offset(lines, starts, mutant["span"][side]) for side in ("start", "end"))
        try:
            made = change(root, text, number, mutant, start, end)
        except Unviable:
            unviable.add(number)
            continue
        if made is None:
            alone.add(number)
        elif made.around:
            others.append(made)
        else:
            expressions.setdefault((made.start, made.end), Change(made.start, made.end)).instead.extend(made.instead)
    # The widest first; a point stands before what begins there, and an arm's switch around its guard.
    changes = sorted([*others, *expressions.values()], key=lambda one: (one.start, one.start != one.end, -one.end, one.around is None))
    out = bytearray()
    regions: list[tuple[int, int, tuple[int, ...], bool]] = []
    done = 0

    def write(upto: int) -> None:
        """The original from what is done up to there, with what changes in it."""
        nonlocal done
        while changes and (changes[0].start < upto or changes[0].end <= upto):
            one = changes.pop(0)
            out.extend(text[done : one.start])
            done = one.start
            begin = len(out)
            if one.around:
                number, before, after = one.around
                out.extend(before)
                regions.append((begin, len(out), (number,), True))
                write(one.end)
                out.extend(after)
                continue
            out.extend(b"(")
            for number, instead in one.instead:
                out.extend(b"if crate::schema::mutant(%d) { " % number)
                inner = len(out)
                out.extend(instead)
                regions.append((inner, len(out), (number,), True))
                out.extend(b" } else ")
            out.extend(b"{ ")
            write(one.end)
            out.extend(b" })")
            regions.append((begin, len(out), tuple(number for number, _ in one.instead), False))
        out.extend(text[done:upto])
        done = upto

    write(len(text))
    return Woven(bytes(out), regions), alone, unviable


def copy(repository: Path, tree: Path) -> None:
    """What git tracks, or would, as it stands in the working tree; a version later, so that cargo, which knows a workspace's crates by their
    place in it, never takes what is built of one for the other."""
    shutil.rmtree(tree, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=repository, stdout=subprocess.PIPE, check=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        if (repository / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(repository / name, tree / name, follow_symlinks=False)
    manifest, lock = tree / "Cargo.toml", tree / "Cargo.lock"
    version = re.search(r'^version = "(\d+\.\d+\.)(\d+)"', manifest.read_text(), re.MULTILINE)
    later = f"{version[1]}{int(version[2]) + 1}"
    manifest.write_text(manifest.read_text().replace(version[0], f'version = "{later}"', 1))
    ours = re.compile(rf'^version = "{re.escape(version[1] + version[2])}"\n(?!source)', re.MULTILINE)
    lock.write_text(ours.sub(f'version = "{later}"\n', lock.read_text()))


@dataclass
class Built:
    #: The test programs, with the directory that each is run in.
    programs: dict[Path, Path]
    unviable: set[int]
    alone: set[int]


def build(tree: Path, crates: dict[str, str], mutants: dict[int, dict], others: list[str], environment: dict[str, str]) -> Built:
    """Weaves the mutants into the sources of these crates, which are given with their packages, and builds their tests, and those of other
    packages, without mutants that the compiler refuses."""
    sources = {file: (tree / file).read_bytes() for file in {mutant["file"] for mutant in mutants.values()}}
    roots = {f"crates/{crate}/src/lib.rs" for crate in crates}
    for crate_root in roots:
        sources.setdefault(crate_root, (tree / crate_root).read_bytes())
    unviable: set[int] = set()
    alone: set[int] = set()
    woven: dict[str, Woven] = {}
    stale = set(sources)
    packages = [word for package in (*crates.values(), *others) for word in ("-p", package)]
    command = ["cargo", "test", *packages, "--lib", "--test", "it", "--no-run", "--locked", "--message-format=json"]
    while True:
        for file in stale:
            within = {number: mutant for number, mutant in mutants.items() if mutant["file"] == file and number not in unviable | alone}
            woven[file], cannot, do_not = weave(sources[file], within)
            alone |= cannot
            unviable |= do_not
            # As long as it was: where an error is, is counted in bytes.
            rooted = woven[file].text.replace(b"#![forbid(unsafe_code)]", b"#![deny(unsafe_code  )]") + SCHEMA.encode()
            (tree / file).write_bytes(rooted if file in roots else woven[file].text)
        done = subprocess.run(command, cwd=tree, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        if done.returncode == 0:
            break
        stale = set()
        unknown = []
        for message in messages:
            told = message.get("message") or {}
            if told.get("level") != "error" or not told["spans"]:
                continue
            code = (told["code"] or {}).get("code")
            found = False
            for span in sorted(told["spans"], key=lambda span: not span["is_primary"]):
                while span["file_name"] not in woven and span["expansion"]:
                    span = span["expansion"]["span"]
                file = span["file_name"]
                within = [region for region in (woven[file].regions if file in woven else [])
                          if region[0] <= span["byte_start"] and span["byte_end"] <= region[1]]
                if within:
                    _, _, numbers, own = min(within, key=lambda region: region[1] - region[0])
                    (unviable if own and code in OF_ITS_OWN else alone).update(numbers)
                    stale.add(file)
                    found = True
                    break
            if not found:
                unknown.append(told["rendered"])
        if not stale:
            raise RuntimeError("\n".join(unknown) or done.stderr)
    programs = {Path(message["executable"]): Path(message["manifest_path"]).parent
                for message in messages if message.get("executable") and message["profile"]["test"]}
    return Built(programs, unviable, alone)
