#!/usr/bin/env python3
"""Makes the packages of this version from programs that are built once: see CONTRIBUTING.md.

    build.py binaries --target TRIPLE…   build the programs, into OUT/binaries/TRIPLE
    build.py all                         everything below, for every program in OUT/binaries
    build.py KIND…                       archive, wheel, npm, mcpb, deb, docker, formula, server, sbom, draft, crate, checksums
    build.py check [--tag vVERSION]      one version everywhere, and programs that start on any machine of their kind
    build.py crates                      what `cargo publish` would do, crate by crate, without doing it

With --program PATH a program that is built already takes the place of OUT/binaries.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path

import archive
import bundle
import debian
import formula
import linked
import npm_packages
import sbom
import server_json
import wheel
from facts import PROGRAM, RELEASED, ROOT, TARGETS, Speaker, Target, changes, manifest, sha256, version

#: What is published; other members of the workspace are for tests.
CRATES = (PROGRAM, f"{PROGRAM}-core", f"{PROGRAM}-store", f"{PROGRAM}-cluster")
#: How Python names the machine at hand, and how Node does.
SYSTEMS = {"Linux": "linux", "Darwin": "darwin", "Windows": "win32"}
CPUS = {"x86_64": "x64", "AMD64": "x64", "aarch64": "arm64", "arm64": "arm64"}
HERE = (SYSTEMS.get(platform.system()), CPUS.get(platform.machine()))

UNSIGNED = "\nNot signed: {}. [If it is blocked](https://github.com/{}/blob/main/docs/install.md#if-it-is-blocked) says how they start.\n"


class Problem(Exception):
    """What keeps a package from being made, in a sentence."""


class Build:
    """Everything that is made in one run. What several packages need is made once."""

    def __init__(self, out: Path, repository: str, programs: dict[str, Path]) -> None:
        self.out, self.repository = out, repository
        self.programs = {triple: path.read_bytes() for triple, path in programs.items()}
        speakers = [path for triple, path in programs.items() if TARGETS[triple].npm == HERE]
        self.speaker = Speaker(speakers[0]) if speakers else None
        self.archives: dict[str, tuple[str, bytes]] = {}
        self.bundles: list[tuple[str, bytes]] = []
        self.bill: tuple[str, bytes] | None = None
        self.bills: dict[str, bytes] = {}

    def each(self) -> list[tuple[Target, bytes]]:
        if not self.programs:
            raise Problem(f"there is no program: neither --program, nor any in {self.out / 'binaries'}")
        return [(TARGETS[triple], program) for triple, program in self.programs.items()]

    def said_by(self) -> Speaker:
        if not self.speaker:
            raise Problem("manual, completions and the list of tools come from a program that runs on this machine, and there is none")
        return self.speaker

    def bill_of(self, target: Target, program: bytes) -> bytes:
        """What is in this program; every package of it holds it."""
        if target.triple not in self.bills:
            self.bills[target.triple] = sbom.of_program((target.triple,), program)
        return self.bills[target.triple]

    def write(self, made: tuple[str, bytes]) -> tuple[str, bytes]:
        name, data = made
        path = self.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        print(f"{len(data):>12,}  {name}")
        return made

    def archive(self) -> None:
        for target, program in self.each():
            self.archives[target.triple] = self.write(archive.build(target, program, self.said_by(), self.bill_of(target, program)))

    def wheel(self) -> None:
        for target, program in self.each():
            self.write(wheel.build(target, program, self.repository, self.bill_of(target, program)))

    def npm(self) -> None:
        for target, program in self.each():
            self.write(npm_packages.platform(target, program, self.repository, self.bill_of(target, program)))
        self.write(npm_packages.starter(self.repository))

    def mcpb(self) -> None:
        self.bundles = [self.write(bundle.build(target, program, self.repository, self.said_by(), self.bill_of(target, program)))
                        for target, program in self.each()]

    def deb(self) -> None:
        for target, program in self.each():
            if target.deb:
                self.write(debian.build(target, program, self.repository, self.said_by(), self.bill_of(target, program)))

    def docker(self) -> None:
        """What `docker build OUT/docker` takes. Only a static program runs in an image that has nothing else."""
        shutil.rmtree(self.out / "docker", ignore_errors=True)
        for target, program in self.each():
            if target.triple.endswith("-musl"):
                name, data = archive.image_layer(target, program)
                self.write((f"docker/{name}", data))
                self.write(("docker/Dockerfile", archive.dockerfile(self.repository)))

    def formula(self) -> None:
        if not self.archives:
            self.archive()
        self.write(formula.build(self.archives, self.repository))

    def server(self) -> None:
        if not self.bundles:
            self.mcpb()
        self.write(server_json.build(self.bundles, self.repository))

    def sbom(self) -> None:
        self.bill = self.write(sbom.build())

    def draft(self) -> None:
        """What the draft of a release takes beside the packages: its text, and the bill of materials by a name without a version."""
        if not self.bill:
            self.sbom()
        unsigned = sorted(triple for triple, data in self.programs.items() if "-linux-" not in triple and not linked.is_signed(data))
        notes = changes() + (UNSIGNED.format(", ".join(unsigned), self.repository) if unsigned else "")
        self.write(("draft/notes.md", notes.encode()))
        self.write(("draft/sbom.json", self.bill[1]))

    def crate(self) -> None:
        """The archives that the registry of crates gets; `crates` builds them."""
        with tempfile.TemporaryDirectory() as target:
            # What is not committed is said in them.
            subprocess.run(["cargo", "package", "--quiet", *(f"--package={name}" for name in CRATES), "--locked", "--no-verify", "--allow-dirty",
                            "--target-dir", target], cwd=ROOT, check=True)
            for path in sorted(Path(target, "package").glob("*.crate")):
                self.write((path.name, path.read_bytes()))

    def checksums(self) -> None:
        """Of every package, as `sha256sum --check` reads them."""
        files = sorted(path for path in self.out.iterdir() if path.is_file() and path.name != "SHA256SUMS")
        self.write(("SHA256SUMS", "".join(f"{sha256(path.read_bytes())}  {path.name}\n" for path in files).encode()))


#: In the order in which `all` makes them.
KINDS: dict[str, Callable[[Build], None]] = {
    "archive": Build.archive, "wheel": Build.wheel, "npm": Build.npm, "mcpb": Build.mcpb, "deb": Build.deb, "docker": Build.docker,
    "formula": Build.formula, "server": Build.server, "sbom": Build.sbom, "draft": Build.draft,
    "crate": Build.crate, "checksums": Build.checksums,
}


def host() -> str:
    told = subprocess.run(["rustc", "-vV"], check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT).stdout
    return re.search(r"^host: (\S+)$", told, re.MULTILINE)[1]


def binaries(out: Path, triples: list[str]) -> None:
    """Builds the program for each target. For Linux zig is the C compiler and linker (`pip install cargo-zigbuild ziglang`)."""
    told = subprocess.run(["cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"], cwd=ROOT, check=True, stdout=subprocess.PIPE)
    built_in = Path(json.loads(told.stdout)["target_directory"])
    # No path of this machine stands in the program.
    home = os.environ.get("CARGO_HOME") or str(Path.home() / ".cargo")
    flags = f"{os.environ.get('RUSTFLAGS', '')} --remap-path-prefix={home}=/cargo --remap-path-prefix={ROOT}=/{PROGRAM}".strip()
    # These take the place of those that cargo would read there.
    (windows,) = tomllib.loads((ROOT / ".cargo/config.toml").read_text())["target"].values()
    for triple in triples:
        command = "zigbuild" if triple.endswith("-musl") else "build"
        # Left to itself zig takes "static" for "at one address", whatever rustc says.
        own = "-C link-arg=-pie" if triple.endswith("-musl") else " ".join(windows["rustflags"]) if triple.endswith("-msvc") else ""
        subprocess.run(["cargo", command, "--release", "--locked", "--package", PROGRAM, "--features", "cluster", "--bin", PROGRAM,
                        "--target", triple],
                       cwd=ROOT, check=True, env={**os.environ, "RUSTFLAGS": f"{flags} {own}".strip()})
        file = TARGETS[triple].file
        place = out / "binaries" / triple
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy2(built_in / triple / "release" / file, place / file)
        print(f"{(place / file).stat().st_size:>12,}  {place / file}")
        starts_anywhere(triple, place / file)


def starts_anywhere(triple: str, program: Path) -> None:
    """Fails where the program wants something that not every machine of its kind has, or is loaded at one address only."""
    if problems := linked.wrong(triple, program.read_bytes()):
        raise Problem(f"{program}: {'; '.join(problems)}")


def check(tag: str | None, speaker: Speaker | None) -> None:
    """Fails where another version stands than in Cargo.toml."""
    number = version()
    wrong = []
    dependencies = manifest()["workspace"]["dependencies"]
    ours = {name: told["version"] for name, told in dependencies.items() if name.startswith(PROGRAM)}
    locked = {one["name"]: one["version"] for one in tomllib.loads((ROOT / "Cargo.lock").read_text())["package"] if one["name"] in CRATES}
    wrong += [f"[workspace.dependencies] of Cargo.toml has {name} {told}" for name, told in ours.items() if told != number]
    wrong += [f"Cargo.lock has {name} {told}" for name, told in locked.items() if told != number]
    wrong += [f"{path.relative_to(ROOT)} names {number}: it should be taken from Cargo.toml"
              for path in sorted((ROOT / "packaging").rglob("*")) if path.suffix in {".py", ".js", ".md", ".json", ""} and path.is_file()
              and re.search(rf"(?<![\d.]){re.escape(number)}(?![\d.])", path.read_text())]
    if tag is not None:
        wrong += [f"the tag is {tag}"] if tag != f"v{number}" else []
        wrong += [] if f"\n## [{number}]" in (ROOT / "CHANGELOG.md").read_text() else ["CHANGELOG.md has no section of it"]
    if speaker and speaker.version() != number:
        wrong.append(f"{speaker.program} says {speaker.version()}")
    if wrong:
        raise Problem(f"the version is {number}, but " + "; ".join(wrong))
    print(f"version {number}")


def crates() -> None:
    """Packs each crate, builds it from its package in the order of their dependencies, and stops where it would be sent."""
    subprocess.run(["cargo", "publish", "--dry-run", "--workspace", "--locked"], cwd=ROOT, check=True)


def repository() -> str:
    """The owner and the name on GitHub: where the workflow runs, or where this clone came from."""
    if given := os.environ.get("GITHUB_REPOSITORY"):
        return given
    origin = subprocess.run(["git", "remote", "get-url", "origin"], cwd=ROOT, capture_output=True, text=True).stdout
    found = re.search(r"github\.com[:/]([\w.-]+/[\w.-]+?)(?:\.git)?\s*$", origin)
    return found[1] if found else f"example/{PROGRAM}"


def programs(out: Path, given: Path | None, triples: list[str]) -> dict[str, Path]:
    if given:
        return {(triples or [host()])[0]: given}
    there = {triple: out / "binaries" / triple / target.file for triple, target in TARGETS.items()}
    return {triple: path for triple, path in there.items() if path.is_file() and (not triples or triple in triples)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="+", choices=[*KINDS, "all", "binaries", "check", "crates"], metavar="KIND")
    parser.add_argument("--target", action="append", choices=list(TARGETS), default=[], help="only for these; with binaries: what to build")
    parser.add_argument("--program", type=Path, help="a program that is built already, for the first --target or for this machine")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--repository", default=repository(), help="OWNER/NAME on GitHub, which the packages name (%(default)s)")
    parser.add_argument("--tag", help="with check: the tag of the release")
    options = parser.parse_args()
    out = options.out.resolve()
    try:
        if "binaries" in options.kinds:
            binaries(out, options.target or [triple for triple in RELEASED if triple.endswith("-musl")])
        found = programs(out, options.program, options.target)
        build = Build(out, options.repository, found)
        if "check" in options.kinds:
            check(options.tag, build.speaker)
            for triple, program in found.items():
                starts_anywhere(triple, program)
        if "crates" in options.kinds:
            crates()
        for kind in KINDS if "all" in options.kinds else [kind for kind in KINDS if kind in options.kinds]:
            KINDS[kind](build)
    except Problem as problem:
        print(f"build.py: {problem}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"build.py: {' '.join(map(str, error.cmd))}: exit code {error.returncode}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
