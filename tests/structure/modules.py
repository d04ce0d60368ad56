"""No module imports another in a circle, and no room imports one further right: for each crate, from its sources.

    modules.py [-v]       -v prints the edges between rooms, too

An edge goes from a file to the module that a path in it names (`use` trees, and paths in code that begin with `crate`, `super`
or `self`), up to the last segment that is a module. So a name that a `mod.rs` exports again is that `mod.rs`'s. Tests (`#[cfg(test)]`
modules, `tests.rs`) are left out: they may look everywhere. (`cargo modules dependencies --acyclic` asks more, of items, so that a type
and its own method are a circle to it; its `uses` edges are the same.)

Ends with `N passed, N failed`, a crate each.
"""

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]

#: The crates; core is flat: it has no order but that there is no circle.
CRATES = ("core", "store", "cluster", "server")


def rooms_of(crate, document):
    """The rooms of a crate, from left to right, a list for each step, as docs/internals/architecture.md has them under its heading: `{ a, b } ← c`.

    An import goes to a room further left. Rooms of one step may know each other, in one direction. `a/b` is a part of a room that is
    a step of its own; the `mod.rs` of `a` may declare it and hand calls on to it.
    """
    section = re.search(rf"^### {crate}\n(.*?)(?=^##)", document, re.DOTALL | re.MULTILINE)
    lines = re.findall(r"^    (.*)$", section[1], re.MULTILINE) if section else []
    steps = " ".join(line for line in lines if "←" in line).split("←")
    return [re.findall(r"[\w/]+", step) for step in steps if step.strip()]


def without_tests(text):
    """The text without comments, without words on who may see what, and without inline modules for tests."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/|pub\(in [^)]*\)", "", text, flags=re.DOTALL)
    while opening := re.search(r"#\[cfg\((?:test|all\(test,[^\]]*\))\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?mod\s+\w+\s*\{", text):
        end, depth = opening.end(), 1
        while depth and end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        text = text[: opening.start()] + text[end:]
    return text


def expanded(tree):
    """The paths of a `use` tree."""
    group = re.match(r"([^{]*)\{(.*)\}$", tree, re.DOTALL)
    if not group:
        return [re.split(r"\s+as\s+", tree)[0]]
    parts, depth, part = [], 0, ""
    for character in group[2] + ",":
        if character == "," and not depth:
            parts.append(part.strip())
            part = ""
        else:
            depth += {"{": 1, "}": -1}.get(character, 0)
            part += character
    return [path for part in parts if part for path in expanded(group[1] + part)]


def paths_in(text):
    uses = re.compile(r"\buse\s+([^;]+);")
    for tree in uses.findall(text):
        yield from expanded(re.sub(r"\s+", " ", tree).strip())
    yield from re.findall(r"\b(?:crate|super|self)(?:::\w+)+", uses.sub("", text))


def modules_of(source):
    """Each module of a crate, by its path, and the text of its file. The crate itself is the empty path."""
    found = {}
    for file in sorted(source.rglob("*.rs")):
        name = file.relative_to(source).with_suffix("").parts
        if name == ("main",) or name[-1] == "tests" or "tests" in name[:-1]:
            continue
        name = name[:-1] if name[-1] in ("mod", "lib") else name
        found[name] = without_tests(file.read_text())
    return found


def edges_of(modules):
    """For each module those that it names, with the path by which it does."""
    edges = {module: {} for module in modules}
    for module, text in modules.items():
        for path in paths_in(text):
            first, *rest = [segment.strip() for segment in path.split("::") if segment.strip()]
            base = module
            if first == "crate":
                base = ()
            elif first == "super":
                base = module[:-1]
                while rest and rest[0] == "super":
                    base, rest = base[:-1], rest[1:]
            elif first != "self":
                if module + (first,) not in modules:
                    continue
                rest = [first, *rest]
            for segment in rest:
                if base + (segment,) not in modules:
                    break
                base += (segment,)
            if base != module and base in modules:
                edges[module].setdefault(base, path)
    return edges


def circles_in(edges):
    """The strongly connected components of more than one module (Tarjan, 1972)."""
    index, low, stack, circles = {}, {}, [], []

    def visit(module):
        index[module] = low[module] = len(index)
        stack.append(module)
        for other in edges[module]:
            if other not in index:
                visit(other)
                low[module] = min(low[module], low[other])
            elif other in stack:
                low[module] = min(low[module], index[other])
        if low[module] == index[module]:
            start = stack.index(module)
            circle = stack[start:]
            del stack[start:]
            if len(circle) > 1:
                circles.append(sorted(circle))

    for module in edges:
        if module not in index:
            visit(module)
    return circles


def against_the_order(edges, rooms):
    """Imports that go to a room further right, or beside; and modules that are in no room."""
    place = {tuple(room.split("/")): at for at, line in enumerate(rooms) for room in line}

    def room_of(module):
        return module[:2] if module[:2] in place else module[:1]

    for module, others in edges.items():
        if not module:
            continue
        if room_of(module) not in place:
            yield f"{'::'.join(module)} is in no room"
            continue
        for other, path in others.items():
            is_own = not other or room_of(other) == room_of(module) or other[: len(module)] == module
            if not is_own and place.get(room_of(other), len(rooms)) > place[room_of(module)]:
                yield f"{'::'.join(module)} names {path}"


def check(source, rooms):
    edges = edges_of(modules_of(source))
    wrong = []
    for circle in circles_in(edges):
        wrong.append("a circle of " + ", ".join("::".join(module) or "crate" for module in circle))
        wrong += [f"    {'::'.join(one) or 'crate'} names {path}" for one in circle for other, path in edges[one].items() if other in circle]
    wrong += against_the_order(edges, rooms) if rooms else []
    return edges, wrong


def self_check():
    """A check that finds nothing is worth nothing."""
    def edges(**texts):
        return edges_of({(): ""} | {tuple(name.split("__")): without_tests(text) for name, text in texts.items()})

    assert circles_in(edges(a="use crate::b::B;", b="use crate::{c::{self, C}, d};", c="fn f() { crate::a::g() }", d="")) == [[("a",), ("b",), ("c",)]]
    assert circles_in(edges(a="mod x; pub use x::X;", a__x="use super::Y;")) == [[("a",), ("a", "x")]]
    assert not circles_in(edges(a="mod x; pub use x::X;", a__x="use super::y::Y; // super::Z", a__y="#[cfg(test)] mod tests { use super::super::X; }"))
    assert not circles_in(edges(a="mod x; pub use x::X;", a__x="#[cfg(all(test, unix))] mod tests { use super::super::X; }"))
    assert list(against_the_order(edges(a="use crate::b;", b=""), [["a"], ["b"]])) == ["a names crate::b"]
    assert not list(against_the_order(edges(a="", b="use crate::a::A as B;"), [["a"], ["b"]]))
    parts = edges(a="mod x; use self::x::X;", a__x="use super::y;", a__y="")
    assert not list(against_the_order(parts, [["a"], ["a/x"]]))
    assert list(against_the_order(parts, [["a/x"], ["a"]])) == ["a::x names super::y"]
    assert rooms_of("b", "### a\n    x ← y\n### b\nwords\n\n    { x, y } ← a\n        ← a/z\n\n## c") == [["x", "y"], ["a"], ["a/z"]]
    assert rooms_of("a", "### a\nflat\n### b\n    x ← y\n## c") == []


def main():
    self_check()
    failed = 0
    document = (HERE / "docs/internals/architecture.md").read_text()
    orders = {crate: rooms_of(crate, document) for crate in CRATES}
    if not (orders["store"] and orders["server"]):
        print("docs/internals/architecture.md has no order of rooms")
        failed += 1
    for crate, rooms in orders.items():
        edges, wrong = check(HERE / "crates" / crate / "src", rooms)
        failed += bool(wrong)
        print(f"{crate}: {len(edges)} modules, {'no circle' if not wrong else 'wrong:'}")
        for sentence in wrong:
            print("   ", sentence)
        if "-v" in sys.argv and rooms:
            pairs = {(module[0], other[0]) for module, others in edges.items() if module for other in others if other and module[0] != other[0]}
            print("   ", ", ".join(f"{one} → {other}" for one, other in sorted(pairs)))
    print(f"{len(CRATES) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
