#!/usr/bin/env python3
"""How much of the engine its own tests run: the lines of core and store, by room, without tests and without other systems' code, and with
a nightly toolchain branches, too. Fails where a crate falls below the share of lines that was measured once. Ends with
`N passed, N failed, N skipped`, a crate each.

    coverage.py [--uncovered] [--branches] [--report]

The compiler counts (`-C instrument-coverage`), in the crates of this workspace alone. What reads its counts are llvm-cov and llvm-profdata
of its own LLVM: rustup's component llvm-tools, or Debian's package of that version (llvm-22 for Rust 1.95).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
#: What .cargo/mutants.toml leaves out, too, since it does not compile here; and what is a test's.
ELSEWHERE = re.compile(r"store/src/(os/(windows/|macos|fallback|simulation)|access/no_containment|history/absent/)")
#: Per cent of the lines of a crate, below what its own tests ran when it was measured, as root and with PostgreSQL (core: 99.8, store: 99.3).
FLOORS = {"core": 99.0, "store": 98.5}
#: Where the tests of a file begin.
TESTS = re.compile(r"^#\[cfg\((?:test|all\(test,.*\))\)\]\n(?:#\[.*\]\n|#\[expect\((?:\n.*)*?\n\)\]\n)*(?:pub(?:\(crate\))? )?mod \w+ \{", re.MULTILINE)


def tools(toolchain: str) -> dict[str, str] | None:
    """Where llvm-cov and llvm-profdata of the toolchain's LLVM are; None if they are not here."""
    said = subprocess.run(["rustc", toolchain, "-vV", "--print", "sysroot"], capture_output=True, text=True, check=True).stdout
    host = re.search(r"^host: (.*)$", said, re.MULTILINE)
    llvm = re.search(r"^LLVM version: (\d+)", said, re.MULTILINE)
    sysroot = subprocess.run(["rustc", toolchain, "--print", "sysroot"], capture_output=True, text=True, check=True).stdout.strip()
    places = []
    if host and llvm:
        places = [Path(sysroot, "lib/rustlib", host[1], "bin"), Path(f"/usr/lib/llvm-{llvm[1]}/bin")]
    for place in places:
        found = {"LLVM_COV": place / "llvm-cov", "LLVM_PROFDATA": place / "llvm-profdata"}
        if all(tool.exists() for tool in found.values()):
            return {name: str(tool) for name, tool in found.items()}
    return None


def engine(path: str) -> str | None:
    """The crate and the room of a file of the engine; None for tests and what other systems have."""
    found = re.search(r"crates/(core|store)/src/(.*)\.rs$", path)
    if not found or ELSEWHERE.search(path) or re.search(r"(^|/)tests(/|$)", found[2]) or "/benches/" in path:
        return None
    return f"{found[1]}/{found[2].split('/')[0]}"


def read(lcov: str) -> tuple[dict, dict]:
    """By file: how often each line was run, and each way of each branch."""
    lines: dict[str, dict[int, int]] = defaultdict(dict)
    branches: dict[str, dict[tuple, int]] = defaultdict(dict)
    path, last = "", 0
    for row in lcov.splitlines():
        kind, _, rest = row.partition(":")
        if kind == "SF":
            path = str(Path(rest).resolve().relative_to(REPOSITORY)) if REPOSITORY in Path(rest).resolve().parents else ""
            last = 0
            if engine(path):
                text = (REPOSITORY / path).read_text()
                tests = TESTS.search(text)
                last = text.count("\n", 0, tests.start()) if tests else text.count("\n") + 1
        elif kind in ("DA", "BRDA") and last:
            line, *more = rest.split(",")
            if int(line) <= last:
                times = 0 if more[-1] == "-" else int(more[-1])
                into, key = (lines, int(line)) if kind == "DA" else (branches, (int(line), *more[:2]))
                into[path][key] = into[path].get(key, 0) + times
    return lines, branches


#: What tests draw by themselves, so that two runs count alike; and as many trials of refused calls as a change has.
DRAWN = {"SEED": "1", "PROPTEST_RNG_SEED": "1", "MCP_TEXT_EDITOR_ONE_IN": "41"}
#: Builds with counters, their counts, and which programs counted.
COUNTED = REPOSITORY / "target/coverage"


def count(toolchain: str, branches: bool) -> None:
    """Builds the tests of core and store with counters, and runs them; what fails is told by other suites, not here."""
    COUNTED.mkdir(parents=True, exist_ok=True)
    wrapper = COUNTED / "rustc"
    flags = "-C instrument-coverage" + (" -Z coverage-options=branch" if branches else "")
    wrapper.write_text(f'#!/bin/sh\nexec "$@" {flags}\n')
    wrapper.chmod(0o755)
    environment = os.environ | {"RUSTC_WORKSPACE_WRAPPER": str(wrapper), "LLVM_PROFILE_FILE": str(COUNTED / "%p-%m.profraw"),
                                "CARGO_TARGET_DIR": str(COUNTED / "target")} | DRAWN
    command = ["cargo", toolchain, "test", "--locked", "-p", "mcp-text-editor-core", "-p", "mcp-text-editor-store",
               "-p", "mcp-text-editor-cluster", "--lib", "--test", "it"]
    built = subprocess.run([*command, "--no-run", "--message-format=json-render-diagnostics"], cwd=REPOSITORY, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    messages = [json.loads(line) for line in built.stdout.splitlines() if line.startswith("{")]
    programs = [message["executable"] for message in messages if message.get("executable") and message["profile"]["test"]]
    (COUNTED / "programs").write_text("\n".join(programs))
    # What building counted, of build scripts, is none of this.
    for old in COUNTED.glob("*.profraw"):
        old.unlink()
    subprocess.run([*command, "--quiet", "--no-fail-fast"], cwd=REPOSITORY, env=environment)


def export(tools: dict[str, str]) -> str:
    """What was counted, as lcov has it."""
    counts = COUNTED / "counts.profdata"
    parts = COUNTED / "parts"
    parts.write_text("\n".join(map(str, COUNTED.glob("*.profraw"))))
    subprocess.run([tools["LLVM_PROFDATA"], "merge", "--sparse", "--failure-mode=all", f"--input-files={parts}", "-o", counts], check=True)
    programs = (COUNTED / "programs").read_text().splitlines()
    objects = [word for program in programs[1:] for word in ("--object", program)]
    return subprocess.run([tools["LLVM_COV"], "export", "--format=lcov", f"--instr-profile={counts}", programs[0], *objects],
                          check=True, stdout=subprocess.PIPE, text=True).stdout


def share(counts: dict) -> str:
    run = sum(1 for times in counts.values() if times)
    return f"{run:6} of {len(counts):6}  {100 * run / len(counts):6.2f} %" if counts else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--uncovered", action="store_true", help="tell each line that is not run, and each way not taken")
    parser.add_argument("--branches", action="store_true", help="with the nightly toolchain, which can tell them")
    parser.add_argument("--report", action="store_true", help="tell of the last run")
    options = parser.parse_args()
    toolchain = "+nightly" if options.branches else f"+{os.environ.get('RUSTUP_TOOLCHAIN') or '1.95.0'}"
    found = tools(toolchain)
    if found is None:
        print("skipped: llvm-cov of rustc's LLVM is not here\n0 passed, 0 failed, 1 skipped")
        return 0
    if not options.report:
        count(toolchain, options.branches)
    lcov = export(found)
    lines, ways = read(lcov)
    rooms: dict[str, tuple[dict, dict]] = defaultdict(lambda: ({}, {}))
    for into, counts in ((0, lines), (1, ways)):
        for path, of_file in counts.items():
            room = engine(path)
            for name in (room, room.split("/")[0]):
                rooms[name][into].update({(path, key): times for key, times in of_file.items()})
    failed = 0
    for name in sorted(rooms):
        print(f"{name:24} lines {share(rooms[name][0])}" + (f"   branches {share(rooms[name][1])}" if ways else ""))
    if options.uncovered:
        for path, of_file in sorted(lines.items()):
            text = (REPOSITORY / path).read_text().splitlines()
            for line, times in sorted(of_file.items()):
                if not times:
                    print(f"{path}:{line}: {text[line - 1].strip()}")
            for (line, which, way), times in sorted(ways.get(path, {}).items()):
                if not times:
                    print(f"{path}:{line}: condition {which} is never {'false' if int(way) % 2 else 'true'}: {text[line - 1].strip()}")
    for crate, floor in FLOORS.items():
        counts = rooms[crate][0]
        if 100 * sum(1 for times in counts.values() if times) < floor * len(counts):
            print(f"failed: {crate} has less than {floor} % of its lines run")
            failed += 1
    print(f"{len(FLOORS) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
