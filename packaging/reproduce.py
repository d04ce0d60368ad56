#!/usr/bin/env python3
"""Makes the same twice, as two people on two machines would, and compares every byte: see CONTRIBUTING.md.

    reproduce.py program [--target TRIPLE]   two builds of the program, by the line of release.yml; minutes each
    reproduce.py packages --program PATH     every package twice from one program; with --small from a script that calls it, which is quick
    reproduce.py convict --program PATH      packages that are made carelessly in the second place: each must be found out

Between the two places differ: the directories of sources, HOME, cargo and temporaries, the umask, time zone and language, how many
processors there are, the user and the host's name, and the clock: for packages by more than a year, for programs, whose compiler does not run
with another one, by what the first build takes. Namespaces (`unshare`), `taskset` and `faketime` do that; where one is not to be had, that is said,
and counted as skipped. `--keep DIRECTORY` leaves both places there, to be looked at.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from build import CRATES, host
from facts import PROGRAM, ROOT, TARGETS, clone, sha256, version

REPOSITORY = "example-owner/mcp-text-editor"
#: What is told of no time, no user and no machine by its nature.
TIMELESS = {"docker/Dockerfile", "draft/notes.md", *(f"{name}-{version()}.crate" for name in CRATES)}
#: What somebody might write: a file of packaging, what stands there, what would stand there, and which files must differ then.
CARELESS = {
    "the time of the build": ("facts.py", "return int(said.stdout) if said.returncode == 0 else FIRST_ZIP_TIME",
                              "return int(__import__('time').time()) + 86400", lambda name: name not in TIMELESS),
    "modes as the umask makes them": ("debian.py", "path.chmod(entry.mode)", "pass", lambda name: name.endswith(".deb") or name == "SHA256SUMS"),
}


def can(*words: str) -> bool:
    """Whether such a command runs. One that has killed a `faketime` leaves what another of the same number then stumbles upon, so it is tried again."""
    return bool(shutil.which(words[0])) and any(subprocess.run([*words, "true"], capture_output=True).returncode == 0 for _ in range(3))


def elsewhere(clock: bool) -> tuple[list[str], list[str]]:
    """What to put before a command so that it runs as another user, on another machine, and at another time; and what of it cannot be."""
    words, lacking = [], []
    # Its files are still its own: inside the namespace they are those of the other user.
    root = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    named = ["unshare", *root, "--uts", "sh", "-c", 'hostname elsewhere.example && exec unshare --user --map-user=4711 --map-group=4711 "$@"', "sh"]
    if can(*named):
        words += named
    else:
        lacking.append("another user and host's name: no namespaces")
    if can("taskset", "--cpu-list", "0"):
        words += ["taskset", "--cpu-list", "0"]
    else:
        lacking.append("another number of processors: no taskset")
    if clock and can("faketime", "-f", "+400d"):
        words += ["faketime", "-f", "+400d"]
    elif clock:
        lacking.append("another time: no faketime")
    return words, lacking


def link(source: str, place: str) -> None:
    try:
        os.link(source, place)
    except OSError:
        shutil.copy2(source, place)


class Place:
    """A machine, as far as a build can see one."""

    def __init__(self, directory: Path, umask: int, told: dict[str, str], before: list[str]) -> None:
        self.directory, self.umask, self.before = directory, umask, before
        self.sources, self.out = directory / "sources", directory / "out"
        cargo = directory / "cargo"
        for path in (cargo / "registry", directory / "home", directory / "tmp"):
            path.mkdir(parents=True)
        clone(self.sources)
        # What was fetched already; what is unpacked is read alone, and large.
        fetched = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo") / "registry"
        for name, copy in (("cache", shutil.copy2), ("index", shutil.copy2), ("src", link)):
            if (fetched / name).is_dir():
                shutil.copytree(fetched / name, cargo / "registry" / name, symlinks=True, copy_function=copy)
        # Neither runs with libfaketime: its allocator and jemalloc wait for each other. What has a time in it is not theirs.
        for name in ("cargo", "rustc"):
            path = directory / "bin" / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"#!/bin/sh\nunset LD_PRELOAD\nexec '{shutil.which(name)}' \"$@\"\n")
            path.chmod(0o755)
        self.environment = {
            "PATH": f"{directory / 'bin'}:{os.environ['PATH']}", "HOME": str(directory / "home"), "CARGO_HOME": str(cargo), "TMPDIR": str(directory / "tmp"),
            "RUSTUP_HOME": os.environ.get("RUSTUP_HOME") or str(Path.home() / ".rustup"), "CARGO_NET_RETRY": "10",
            "PYTHONDONTWRITEBYTECODE": "1", **told,
            # For a quicker look, which says nothing of what is left out: CARGO_PROFILE_RELEASE_LTO=off.
            **{name: value for name, value in os.environ.items() if name.startswith("CARGO_PROFILE_RELEASE_")},
        }
        # Fetched as the user who is there, before clock and user are others.
        self.run("cargo", "fetch", "--quiet", "--locked", before=[])

    def run(self, *words: str | Path, before: list[str] | None = None) -> None:
        before = self.before if before is None else before
        said = subprocess.run([*before, *words], cwd=self.sources, env=self.environment, umask=self.umask, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if said.returncode:
            raise SystemExit(f"{' '.join(map(str, [*before, *words]))}: exit code {said.returncode}\n{said.stdout}")

    def build(self, *words: str | Path) -> None:
        self.run(sys.executable, "packaging/build.py", *words, "--repository", REPOSITORY, "--out", self.out)

    def made(self) -> dict[str, bytes]:
        return {str(path.relative_to(self.out)): path.read_bytes() for path in sorted(self.out.rglob("*")) if path.is_file()}


def places(directory: Path, clock: bool = True) -> tuple[Place, Place, list[str]]:
    words, lacking = elsewhere(clock)
    here = Place(directory / "here", 0o022, {"TZ": "UTC", "LANG": "C.UTF-8"}, [])
    there = Place(directory / "some/where/else", 0o077, {"TZ": "Pacific/Kiritimati", "LANG": "de_DE.UTF-8", "COLUMNS": "60"}, words)
    return here, there, lacking


def differing(first: dict[str, bytes], second: dict[str, bytes]) -> dict[str, str]:
    """The files that are not the same in both, and where they begin to differ."""
    found = {name: "only in one of the places" for name in set(first) ^ set(second)}
    for name in sorted(set(first) & set(second)):
        one, other = first[name], second[name]
        if one != other:
            at = next((n for n, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
            found[name] = f"from byte {at} of {len(one)} and {len(other)}: {one[at:at + 60]!r}, {other[at:at + 60]!r}"
    return found


class Count:
    def __init__(self) -> None:
        self.passed = self.failed = self.skipped = 0

    def hold(self, is_so: bool, words: str) -> None:
        self.passed, self.failed = self.passed + is_so, self.failed + (not is_so)
        print(f"{'ok     ' if is_so else 'FAILED '} {words}", flush=True)

    def skip(self, words: str) -> None:
        # As everywhere: for root in `.ci/run` nothing may be skipped.
        required = bool(os.environ.get("REQUIRE_ALL"))
        self.failed, self.skipped = self.failed + required, self.skipped + (not required)
        print(f"{'FAILED ' if required else 'skipped'} {words}", flush=True)


def compare(count: Count, here: Place, there: Place, lacking: list[str]) -> None:
    """Each file that was made, with its digest."""
    first, second = here.made(), there.made()
    wrong = differing(first, second)
    for name in sorted({*first, *second}):
        count.hold(name not in wrong, f"{name}  {wrong.get(name) or sha256(first[name])}")
    for words in lacking:
        count.skip(words)


def program(count: Count, directory: Path, triple: str) -> None:
    here, there, lacking = places(directory, clock=False)
    for place in (here, there):
        place.build("binaries", "--target", triple)
    compare(count, here, there, lacking)


def small(directory: Path, given: Path) -> list[str | Path]:
    """What says that packages are to be made of a script that says what the program says."""
    stand_in = directory / PROGRAM
    stand_in.write_text(f"#!/bin/sh\nexec '{given}' \"$@\"\n")
    stand_in.chmod(0o755)
    return ["--program", stand_in, "--target", f"{platform.machine()}-unknown-linux-musl"]


def packages(count: Count, directory: Path, given: list[str | Path]) -> None:
    here, there, lacking = places(directory)
    for place in (here, there):
        place.build("all", *given)
    compare(count, here, there, lacking)


def convict(count: Count, directory: Path, given: list[str | Path]) -> None:
    for number, (words, (file, before, after, must)) in enumerate(CARELESS.items()):
        here, there, _ = places(directory / str(number))
        careless = there.sources / "packaging" / file
        text = careless.read_text()
        count.hold(text.count(before) == 1, f"{words}: {file} has the line")
        careless.write_text(text.replace(before, after))
        for place in (here, there):
            place.build("all", *given)
        found, made = set(differing(here.made(), there.made())), set(here.made())
        wanted = {name for name in made if must(name)}
        count.hold(found == wanted and bool(wanted), f"{words}: {len(found)} of {len(made)} files found out {sorted(found ^ wanted) or ''}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["program", "packages", "convict"], nargs="+")
    parser.add_argument("--program", type=Path)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--target", choices=list(TARGETS), help="default: this machine's")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    if {"packages", "convict"} & set(options.what) and not options.program:
        parser.error("packages are made of a --program")
    count = Count()
    with tempfile.TemporaryDirectory(prefix="mte-twice-") as temporary:
        for what in options.what:
            print(f"== {what}", flush=True)
            directory = (options.keep or Path(temporary)).resolve() / what
            directory.mkdir(parents=True)
            if what == "program":
                program(count, directory, options.target or host())
                continue
            given = options.program.resolve()
            if what == "packages":
                packages(count, directory, small(directory, given) if options.small else ["--program", given])
            else:
                convict(count, directory, small(directory, given))
    print(f"{count.passed} passed, {count.failed} failed, {count.skipped} skipped")
    return 1 if count.failed or not count.passed else 0


if __name__ == "__main__":
    sys.exit(main())
