"""The official MCP conformance suites against the program over HTTP, and against the same with the tools that they call.

    conformance.py [--update] [--keep DIR]

`tests/npm/install.sh` brings the suites, in the versions that `tests/npm/package-lock.json` has. They call diagnostic tools,
which a server for use has not; `crates/server/examples/conformance.rs` is the program with those of them that want nothing of
the server but what it offers (R114 of docs/contract.md). MCP_CONFORMANCE_EXAMPLE names where it was built, if not in the
workspace's debug build.

What each is known to fail stands in a list of its own, `expected.txt` and `expected-example.txt`, check by check, with what the
suite said. The comparison is strict: a check that fails and is not there fails the run, and so does one that is there and
passes. `--update` writes the lists anew, to be read by `git diff`. Ends with `N passed, M failed`; a failure that is expected is
neither.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "clients"))

from session import binary, over_http

HERE = Path(__file__).resolve().parent
MODULES = HERE.parent / "npm" / "node_modules"

EXAMPLE = HERE.parents[1] / "target" / "debug" / "examples" / "conformance"

#: Each run: its name, the suite, and what it is asked for.
RUNS = [
    ("2026-07-28", "conformance-0.2", ["--requirements", "2026-07-28"]),
    ("2025-11-25", "conformance-0.2", ["--requirements", "2025-11-25"]),
    ("0.1", "conformance-0.1", []),
]

#: What each server is called, its program, and what it is known to fail.
SERVERS = [
    ("the program", binary(), HERE / "expected.txt"),
    ("the example", os.environ.get("MCP_CONFORMANCE_EXAMPLE") or str(EXAMPLE), HERE / "expected-example.txt"),
]

Check = tuple[str, str, str]


def run(url: str, name: str, suite: str, arguments: list[str], out: Path) -> tuple[int, dict[Check, str]]:
    """Runs a suite; gives how many checks passed, and those that failed, each with what was said."""
    node = MODULES / "node" / "bin" / "node"
    log = out / "log.txt"
    with log.open("w") as to:
        subprocess.run([node, MODULES / suite / "dist" / "index.js", "server", "--url", url, "-o", out, *arguments],
                       stdin=subprocess.DEVNULL, stdout=to, stderr=subprocess.STDOUT, timeout=300, check=False)
    passed, failed = 0, {}
    found = sorted(out.glob("server-*/checks.json"))
    # A suite that ends early has no summary.
    if not found or "=== SUMMARY ===" not in log.read_text():
        raise SystemExit(f"{suite} ended early:\n{log.read_text()[-3000:]}")
    for path in found:
        scenario = re.sub(r"^server-(.*?)-\d{4}-\d\d-\d\dT.*", r"\1", path.parent.name)
        checks = json.loads(path.read_text())
        failing = {check["id"]: check.get("errorMessage") or "" for check in checks if check["status"] == "FAILURE"}
        passed += sum(check["status"] == "SUCCESS" for check in checks)
        failed.update({(name, scenario, check): message for check, message in failing.items()})
    return passed, failed


def expected(known: Path) -> set[Check]:
    lines = known.read_text().splitlines() if known.exists() else []
    checks = [line.split("#")[0].split() for line in lines]
    return {(check[0], check[1], check[2]) for check in checks if check}


def line(check: Check, message: str) -> str:
    """A line of a list; of what was said the beginning, which is the same in every run."""
    said = " ".join(message.split())
    said = said if len(said) < 90 else f"{said[:90].rsplit(' ', 1)[0]} …"
    return f"{' '.join(check)}  # {said}\n"


def run_all(program: str, keep: Path | None) -> tuple[int, dict[Check, str]]:
    """Runs all suites against a program; gives what `run` does, for all of them."""
    total, failed = 0, {}
    with (tempfile.TemporaryDirectory() as temporary, tempfile.TemporaryDirectory() as root, tempfile.TemporaryDirectory() as state,
          over_http(root, state, [], program) as url):
        for name, suite, arguments in RUNS:
            out = (keep or Path(temporary)) / name
            out.mkdir(parents=True)
            passed, failing = run(url, name, suite, arguments, out)
            print(f"{suite} {' '.join(arguments)}: {passed} checks passed, {len(failing)} failed", flush=True)
            total += passed
            failed.update(failing)
    return total, failed


def compare(failed: dict[Check, str], known: Path) -> int:
    """Says which failures are not in the list, and which of the list are none; gives how many these are."""
    checks = expected(known)
    wrong = [f"fails: {line(check, failed[check])}" for check in sorted(failed.keys() - checks)]
    wrong += [f"passes, and is in {known.name}: {' '.join(check)}\n" for check in sorted(checks - failed.keys())]
    sys.stdout.writelines(wrong)
    print(f"{len(checks & failed.keys())} failures were expected", flush=True)
    return len(wrong)


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs the official MCP conformance suites.")
    parser.add_argument("--update", action="store_true", help="write the lists of expected failures anew")
    parser.add_argument("--keep", metavar="DIR", type=Path, help="keep what the suites wrote")
    options = parser.parse_args()
    passed, wrong = 0, 0
    for name, program, known in SERVERS:
        print(f"== {name}", flush=True)
        more_passed, failed = run_all(program, options.keep and options.keep / known.stem)
        if options.update:
            known.write_text("".join(line(check, message) for check, message in sorted(failed.items())))
        more_wrong = compare(failed, known)
        passed, wrong = passed + more_passed, wrong + more_wrong
    print(f"{passed} passed, {wrong} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
