#!/usr/bin/env python3
"""How long a client waits for the answer of `initialize`, by the way in which the program is started: medians, with all caches warm.

    measure.py --dist DIST [--tools TOOLS] [--runs N]
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from build import HERE
from facts import PROGRAM, REGISTRY_NAME, ROOT, TARGETS, version
from registry import Registry
from session import Session, environment


def seconds(command: list[str | Path], directory: Path, told: dict[str, str], runs: int) -> list[float]:
    """Of each run but the first, which fills the caches."""
    found = []
    for _ in range(runs + 1):
        session = Session(command, directory, told)
        session.end()
        found.append(session.seconds)
    return found[1:]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dist", type=Path, default=ROOT / "dist")
    parser.add_argument("--tools", type=Path, default=ROOT / "target/packaging")
    parser.add_argument("--runs", type=int, default=20)
    options = parser.parse_args()
    dist = options.dist.resolve()
    uvx = shutil.which("uvx", path=str(options.tools.resolve() / "uv/bin")) or shutil.which("uvx")
    with tempfile.TemporaryDirectory() as place, Registry(dist) as registry:
        home, project = Path(place, "home"), Path(place, "project")
        for directory in (home / "tmp", project):
            directory.mkdir(parents=True)
        [archive] = [path for triple, target in TARGETS.items() if target.npm == HERE
                     for path in dist.glob(f"{PROGRAM}-{version()}-{triple}.tar.gz")]
        with tarfile.open(archive) as opened:
            opened.extractall(place)
        told = environment(home, UV_DEFAULT_INDEX=f"{registry.address}/simple/", UV_CACHE_DIR=str(home / "uv"), UV_PYTHON=sys.executable,
                           UV_NO_CONFIG="1", npm_config_registry=f"{registry.address}/npm/", npm_config_cache=str(home / "npm"),
                           npm_config_update_notifier="false", npm_config_prefix=str(home / "prefix"))
        subprocess.run([shutil.which("npm"), "install", "--global", REGISTRY_NAME], env=told, check=True, stdout=subprocess.DEVNULL)
        ways: dict[str, list[str | Path]] = {
            PROGRAM: [Path(place, archive.name.removesuffix(".tar.gz"), PROGRAM)],
            f"uvx {REGISTRY_NAME}": [uvx, REGISTRY_NAME],
            f"uvx --from {REGISTRY_NAME} {PROGRAM}": [uvx, "--from", REGISTRY_NAME, PROGRAM],
            f"npm install --global {REGISTRY_NAME}, then {PROGRAM}": [home / "prefix/bin" / PROGRAM],
            f"npx --yes {REGISTRY_NAME}": [shutil.which("npx"), "--yes", REGISTRY_NAME],
        }
        for name, command in ways.items():
            found = seconds(command, project, told, options.runs)
            print(f"{statistics.median(found) * 1000:8.1f} ms  ({min(found) * 1000:.1f}–{max(found) * 1000:.1f})  {name}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
