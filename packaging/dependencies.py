#!/usr/bin/env python3
"""Lists every crate that is compiled into the program for any target, or runs during its build, with facts that its sources show.

    dependencies.py            writes supply-chain/dependencies.tsv
    dependencies.py --check    fails if that file is out of date

Its columns: *for*, the crates that depend on it (`us`: the reason stands above its line in the manifests of `crates`); *lines* of Rust, and how many
*unsafe* they contain; files in *C* or assembly; whether it has a *build* script; whether it is a procedural *macro*, which runs in the compiler; whether
its sources name functions that *start* programs or open *net* connections (docs/security.md says which of them the program uses); whether somebody
*looked at* this version (supply-chain/audits.toml; else it is an exemption in config.toml, and `cargo vet --locked` fails on a crate that is in neither).

The counts cover a crate's package without its tests, benches, examples and fuzz targets, comments and string literals. They include code for other
systems and for features that are off: they say where to look, not how much of it runs. Crates that only tests need are left out.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import sbom
from facts import ROOT

PAGE = ROOT / "supply-chain/dependencies.tsv"
ASIDE = {"tests", "test", "benches", "bench", "examples", "example", "fuzz", "target"}
#: Comments (nested ones excepted), string literals, and characters that would begin a literal.
NO_CODE = re.compile(r"""//[^\n]*|/\*.*?\*/|b?r(\#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?'(?:\\.[^']*|[^'\\])'""", re.DOTALL)
UNSAFE = re.compile(r"\bunsafe\b")
PROCESS = re.compile(r"\bprocess::(?:\{[^}]*\b)?Command\b|\bCreateProcess\w*\s*\(|\bposix_spawn\w*\s*\(")
NETWORK = re.compile(r"\bTcp(?:Stream|Listener)\b|\bUdpSocket\b|\bUnixStream\b|\bnet::connect\b|\bToSocketAddrs\b")
HEAD = ("crate", "version", "for", "lines", "unsafe", "C", "build", "macro", "starts", "net", "looked at")


@dataclasses.dataclass
class Crate:
    name: str
    number: str
    dependents: list[str]
    lines: int = 0
    unsafe: int = 0
    foreign: int = 0
    build: bool = False
    macro: bool = False
    starts: bool = False
    net: bool = False
    audited: bool = False

    def row(self) -> str:
        cells = [self.name, self.number, ", ".join(self.dependents), str(self.lines), str(self.unsafe or ""), str(self.foreign or ""),
                 *("yes" if one else "" for one in (self.build, self.macro, self.starts, self.net, self.audited))]
        return "\t".join(cells)


def code(text: str) -> str:
    """The source without comments and string literals, with as many lines."""
    return NO_CODE.sub(lambda found: "\n" * found[0].count("\n"), text)


def read(crate: Crate, one: dict) -> None:
    root = Path(one["manifest_path"]).parent
    kinds = {kind for target in one["targets"] for kind in target["kind"]}
    scripts = {Path(target["src_path"]) for target in one["targets"] if "custom-build" in target["kind"]}
    crate.build, crate.macro = bool(scripts), "proc-macro" in kinds
    for path in sorted(root.rglob("*")):
        if set(path.relative_to(root).parts[:-1]) & ASIDE or not path.is_file():
            continue
        if path.suffix in {".c", ".S", ".s", ".asm"}:
            crate.foreign += 1
        elif path.suffix == ".rs" and path.stem not in ASIDE:
            text = code(path.read_text(errors="replace"))
            crate.lines += sum(bool(line.strip()) for line in text.splitlines())
            crate.unsafe += len(UNSAFE.findall(text))
            if path not in scripts:
                crate.starts |= bool(PROCESS.search(text))
                crate.net |= bool(NETWORK.search(text))


def audited() -> set[tuple[str, str]]:
    audits = tomllib.loads((ROOT / "supply-chain/audits.toml").read_text())
    return {(name, one["version"]) for name, list_of in audits.get("audits", {}).items() for one in list_of if "version" in one}


def crates() -> list[Crate]:
    facts = sbom.metadata()
    tree = sbom.linked(facts, sbom.compiled())
    known = {one["id"]: one for one in facts["packages"]}
    ours = {one for one in tree if known[one]["source"] is None}
    seen, listed = audited(), []
    for one in sorted(set(tree) - ours, key=lambda one: (known[one]["name"], known[one]["version"])):
        by = sorted({known[other]["name"].replace("mcp-text-editor", "us") if other in ours else known[other]["name"]
                     for other, needs in tree.items() if one in needs})
        dependents = ["us"] if any(name.startswith("us") for name in by) else by
        crate = Crate(known[one]["name"], known[one]["version"], dependents)
        crate.audited = (crate.name, crate.number) in seen
        read(crate, known[one])
        listed.append(crate)
    return listed


def page() -> str:
    return "\n".join(("\t".join(HEAD), *(crate.row() for crate in crates()))) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    text = page()
    if not options.check:
        PAGE.write_text(text)
        return 0
    is_current = PAGE.is_file() and PAGE.read_text() == text
    if not is_current:
        print("supply-chain/dependencies.tsv is not what packaging/dependencies.py writes")
    print(f"{int(is_current)} passed, {int(not is_current)} failed")
    return 0 if is_current else 1


if __name__ == "__main__":
    sys.exit(main())
