#!/usr/bin/env python3
"""Carries out .github/workflows/release.yml on this machine, line by line, for a version and for a pre-release of it: see CONTRIBUTING.md.

    rehearse.py --program PATH [--tools TOOLS]

Every `run:` of the jobs that a machine of this kind would have is run as it stands, in a fresh clone with what CONTRIBUTING.md has done before
a tag. Programs are the real ones, but for what needs another service: PyPI, npm and GitHub are on this machine (services.py), cargo stops
before it sends or compiles, and Docker and rustup say what they were asked. What so is left is listed at the end, and CONTRIBUTING.md has it.

Needs PyYAML and gh (.ci/tools.txt), and npm.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

from build import HERE
from facts import PROGRAM, REGISTRY_NAME, ROOT, TARGETS, changes, clone, version
from services import Services

RUNNER = {"x64": "ubuntu-latest", "arm64": "ubuntu-24.04-arm"}
REPOSITORY = "Example-Owner/mcp-text-editor"
DIGEST = "sha256:" + "0" * 64

#: What stands in the path before the real programs.
STAND_INS = {
    "python": 'exec "$REAL_PYTHON" "$@"',
    "python3": 'exec "$REAL_PYTHON" "$@"',
    # All but the download: uv asks the registry for each package, and whether it has one with such a digest.
    "pip": 'exec uv pip "$@" --dry-run --no-progress --python "$REAL_PYTHON"',
    "rustup": 'echo "(rustup $*)"',
    "sudo": 'echo "(sudo $*)"',
    # The suites run where they are, and not again in here.
    "bash": 'case $1 in .ci/run) exec "$REAL_PYTHON" packaging/try_tried.py --say "$GITHUB_SHA" ;; *) exec "$REAL_BASH" "$@" ;; esac',
    "cargo": """case $1 in
    zigbuild | build)
        while [ "$1" != --target ]; do shift; done
        mkdir -p "$CARGO_TARGET_DIR/$2/release"
        cp "$REHEARSED_PROGRAM" "$CARGO_TARGET_DIR/$2/release/mcp-text-editor" ;;
    publish)
        [ "$CARGO_REGISTRY_TOKEN" ] || case $* in *--dry-run*) ;; *) echo "no token" >&2; exit 1 ;; esac
        for given; do shift; case $given in --dry-run | --no-verify) ;; *) set -- "$@" "$given" ;; esac; done
        exec "$REAL_CARGO" "$@" --dry-run --no-verify --allow-dirty ;;
    *) exec "$REAL_CARGO" "$@" ;;
esac""",
    # In the form in which uv sends it, with nothing in it that is signed.
    "pypi-attestations": """shift
for wheel; do
    printf '{"version": 1, "verification_material": {"certificate": "none", "transparency_entries": [{}]}, "envelope": {"statement": "%s", "signature": "none"}}' \\
        "$(sha256sum <"$wheel" | cut -d ' ' -f 1)" >"$wheel.publish.attestation"
done""",
    "docker": f"""echo "$*" >>"$ASKED_OF_DOCKER"
case $1 in login) grep -q packages ;; esac
while [ $# -gt 0 ]; do
    [ "$1" != --metadata-file ] || echo '{{"containerimage.digest": "{DIGEST}"}}' >"$2"
    last=$1
    shift
done
case $last in dist/docker) test -f dist/docker/Dockerfile ;; esac""",
}


class Failed(Exception):
    """A step that did not end well, or has left something wrong."""


def need(holds: bool, why: str) -> None:
    if not holds:
        raise Failed(why)


def commit() -> str:
    return subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def static(program: Path) -> bool:
    """Whether no loader is asked for."""
    return b"/ld-linux" not in program.read_bytes()[:4096]


class Rehearsal:
    """One tag, from the clone to the registries."""

    def __init__(self, place: Path, tag: str, program: Path, tools: Path, services: Services) -> None:
        self.place, self.tag, self.program, self.tools, self.services = place, tag, program, tools, services
        self.workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())
        self.left: set[str] = set()
        #: Files and their contents, by artifacts' names.
        self.artifacts: dict[str, dict[str, bytes]] = {}
        #: The names of the files of which it is attested who made them.
        self.attested: set[str] = set()
        #: How many steps have been carried out.
        self.done = 0
        self.asked = place / "docker.log"
        self.asked.touch()
        for directory in ("bin", "home", "tmp", "runner"):
            (place / directory).mkdir()
        for name, script in STAND_INS.items():
            path = place / "bin" / name
            path.write_text(f"#!/bin/sh\nset -e\n{script}\n")
            path.chmod(0o755)
        # What trusted publishing would ask for.
        number = subprocess.run(["npm", "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        if tuple(map(int, number.split("."))) < (11, 5, 1):
            print(f"npm {number} is older than 11.5.1: it sends with a token")
            (place / "home/.npmrc").write_text(f"//{services.address.removeprefix('http://')}/npm/:_authToken=for-npm\n")
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("MCP_TEXT_EDITOR", "GITHUB_", "GH_", "UV_"))},
            "PATH": f"{place / 'bin'}:{tools / 'uv/bin'}:{os.environ['PATH']}", "HOME": str(place / "home"), "TMPDIR": str(place / "tmp"),
            "CARGO_HOME": os.environ.get("CARGO_HOME") or str(Path.home() / ".cargo"),
            "RUSTUP_HOME": os.environ.get("RUSTUP_HOME") or str(Path.home() / ".rustup"), "CARGO_TARGET_DIR": str(place / "target"),
            "REAL_PYTHON": sys.executable, "REAL_BASH": shutil.which("bash"), "RUNNER_TEMP": str(place / "runner"), "REAL_CARGO": shutil.which("cargo"), "REHEARSED_PROGRAM": str(program),
            "ASKED_OF_DOCKER": str(self.asked), "CARGO_REGISTRY_TOKEN": "",
            "CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_REF": f"refs/tags/{tag}", "GITHUB_REF_NAME": tag, "GITHUB_ACTOR": "somebody",
            "GITHUB_REPOSITORY": REPOSITORY, "GITHUB_SHA": commit(), "npm_config_update_notifier": "false",
        }

    def job(self, name: str, row: dict[str, str] | None = None) -> None:
        """Runs the steps of a job, in a directory of its own."""
        told = self.workflow["jobs"][name]
        self.may = {right for right, how in told.get("permissions", {}).items() if how == "write"}
        self.known = {
            **{f"matrix.{key}": value for key, value in (row or {}).items()}, "vars.PUBLISH == 'yes'": True,
            "github.token": "-".join(["may-write", *sorted(self.may)]),
            "startsWith(github.ref, 'refs/tags/')": True, "contains(matrix.target, 'musl')": "musl" in (row or {}).get("target", ""),
        }
        workspace = self.place / name
        shutil.rmtree(workspace, ignore_errors=True)
        workspace.mkdir()
        need(self.holds(told.get("if")), f"{name} would not run")
        for number, step in enumerate(told["steps"]):
            if not self.holds(step.get("if")):
                continue
            inside = {**self.environment, **self.values(self.workflow["env"]), **self.values(told.get("env", {})),
                      **self.values(step.get("env", {})), **self.services.environment()}
            # Who has no right to an identity is told of none.
            if "id-token" not in self.may:
                inside = {key: value for key, value in inside.items() if not key.startswith("ACTIONS_ID_TOKEN")}
            if "run" in step:
                self.run(f"{name}-{number}", step, inside, workspace)
            else:
                self.use(step, self.values(step.get("with", {})), workspace)
            self.done += 1

    def holds(self, condition: str | None) -> bool:
        return all(self.known[part] for part in condition.split(" && ")) if condition else True

    def values(self, given: dict) -> dict[str, str]:
        """With the expressions filled in; there are none but those that are known here, and secrets, of which there are none."""
        def known(found: re.Match[str]) -> str:
            return "" if found[1].startswith("secrets.") else str(self.known[found[1]])

        return {key: re.sub(r"\$\{\{ (.+?) \}\}", known, str(value)) for key, value in given.items()}

    def run(self, label: str, step: dict, inside: dict[str, str], workspace: Path) -> None:
        need("${{" not in step["run"], f"an expression in a line: {step['run']}")
        script, output = self.place / f"{label}.sh", self.place / f"{label}.out"
        script.write_text(step["run"])
        output.touch()
        start = time.monotonic()
        # As a machine of GitHub's starts `shell: bash`.
        need(self.workflow["defaults"]["run"]["shell"] == "bash", "not the shell that is rehearsed")
        said = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", script], cwd=workspace, stdin=subprocess.DEVNULL,
                              env={**inside, "GITHUB_OUTPUT": str(output)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        first = step["run"].strip().splitlines()[0]
        need(said.returncode == 0, f"{label}: exit code {said.returncode}\n{step['run']}\n{said.stdout}")
        print(f"ok      {label}  {time.monotonic() - start:.1f}s  {first}", flush=True)
        for line in output.read_text().splitlines():
            name, value = line.split("=", 1)
            self.known[f"steps.{step['id']}.outputs.{name}"] = value

    def use(self, step: dict, inputs: dict[str, str], workspace: Path) -> None:
        """What an action would do, as far as the next steps need it."""
        action = step["uses"].split("@")[0]
        if action == "actions/checkout":
            need(inputs["persist-credentials"] == "False", "a clone keeps its token")
            self.checkout(workspace)
        elif action == "actions/upload-artifact":
            self.upload(inputs, workspace)
        elif action == "actions/download-artifact":
            names = [name for name in self.artifacts if name == inputs.get("name") or name.startswith(inputs.get("pattern", "\0").rstrip("*"))]
            need(bool(names), f"there is no artifact for {inputs}")
            for path, data in (file for name in names for file in self.artifacts[name].items()):
                out = workspace / inputs["path"] / path
                out.parent.mkdir(parents=True, exist_ok=True)
                out.write_bytes(data)
        elif action == "actions/attest":
            self.attest(inputs, workspace)
            self.left.add(action)
        elif action == "rust-lang/crates-io-auth-action":
            need("id-token" in self.may, "no right to an identity")
            self.known[f"steps.{step['id']}.outputs.token"] = "for-crates"
            self.left.add(action)
        else:
            need(action in ("actions/setup-python", "actions/setup-node"), f"{action} is unknown here")

    def checkout(self, workspace: Path) -> None:
        """A clone as it stands here, with the steps of CONTRIBUTING.md that come before the tag: changelog and number."""
        clone(workspace)
        old, new = version(), self.tag.removeprefix("v")
        for path, before, after in (
            ("CHANGELOG.md", r"^## \[Unreleased\]$", f"## [Unreleased]\n\n## [{new}] - 2026-01-01" if not released(new) else "## [Unreleased]"),
            ("Cargo.toml", rf'^(version = |{PROGRAM}.* version = )"{re.escape(old)}"', rf'\g<1>"{new}"'),
            ("Cargo.lock", rf'^(name = "{PROGRAM}.*"\nversion = )"{re.escape(old)}"', rf'\g<1>"{new}"'),
        ):
            file = workspace / path
            text, count = re.subn(before, after, file.read_text(), flags=re.MULTILINE)
            need(count > 0, f"{path} has not {before}")
            file.write_text(text)
        # Where `try.py --install` has put what it wants.
        (workspace / "target").mkdir()
        (workspace / "target/packaging").symlink_to(self.tools)

    def upload(self, inputs: dict[str, str], workspace: Path) -> None:
        """All files beneath the paths but those beneath `!` paths, named from the directory that they have in common; without modes."""
        patterns = inputs["path"].split()
        left_out = {path for pattern in patterns if pattern.startswith("!") for path in workspace.glob(pattern[1:])}
        wanted = [pattern for pattern in patterns if not pattern.startswith("!")]
        need(len(wanted) == 1, "more than one path to be kept")
        root = workspace / wanted[0].removesuffix("/*")
        self.artifacts[inputs["name"]] = {
            str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*"))
            if path.is_file() and not left_out & {path, *path.parents}}
        need(bool(self.artifacts[inputs["name"]]), f"nothing in {inputs['path']}")

    def attest(self, inputs: dict[str, str], workspace: Path) -> None:
        """What the action asks of what it is given."""
        need({"id-token", "attestations"} <= self.may and ("subject-name" not in inputs or "packages" in self.may), "no right to attest")
        if path := inputs.get("subject-path"):
            need((workspace / path).is_file(), f"there is no {path}")
            self.attested.add(Path(path).name)
            return
        if checksums := inputs.get("subject-checksums"):
            for line in (workspace / checksums).read_text().splitlines():
                digest, name = line.split("  ")
                self.attested.add(name)
                need(hashlib.sha256((workspace / checksums).with_name(name).read_bytes()).hexdigest() == digest, f"{name} has another digest")
        else:
            need(inputs["subject-digest"] == DIGEST and inputs["subject-name"] == f"ghcr.io/{REPOSITORY}".lower(), f"not the image: {inputs}")
        if bill := inputs.get("sbom-path"):
            told = json.loads((workspace / bill).read_text())
            need(all(told.get(key) for key in ("bomFormat", "specVersion", "serialNumber")), "no bill of materials that can be attested")

    def row(self, job: str, key: str, value: str) -> dict[str, str]:
        """The row of a matrix that is this machine's; the others are left."""
        rows = self.workflow["jobs"][job]["strategy"]["matrix"]["include"]
        self.left |= {row["target"] if "target" in row else row["os"] for row in rows if row[key] != value}
        return next(dict(row) for row in rows if row[key] == value)

    def all(self) -> None:
        jobs, cpu = list(self.workflow["jobs"]), {"x64": "x86_64", "arm64": "aarch64"}[HERE[1]]
        pre_release = "-" in self.tag
        for name in jobs:
            needed = self.workflow["jobs"][name].get("needs", [])
            need(set([needed] if isinstance(needed, str) else needed) <= set(jobs[:jobs.index(name)]), f"{name} stands before what it needs")
            if name == "binaries":
                row = self.row(name, "target", f"{cpu}-unknown-linux-musl")
                # The program at hand goes by what it is.
                row["target"] = row["target"] if static(self.program) or pre_release else f"{cpu}-unknown-linux-gnu"
                self.job(name, row)
            elif name == "try":
                row = self.row(name, "os", RUNNER[HERE[1]])
                # An image of nothing else holds a static program alone.
                can = {"docker": static(self.program), "formula": shutil.which("ruby")}
                row["kinds"] = " ".join(kind for kind in row["kinds"].split() if can.get(kind, True))
                if not pre_release:
                    self.job(name, row)
            elif name != "crates" or not pre_release:
                if name == "image":
                    # A program that is not static is in no image; how that would be tagged is looked at all the same.
                    self.artifacts["packages"].setdefault("docker/Dockerfile", b"")
                self.job(name)
        self.sent(pre_release)
        # Whatever breaks off is run again: nothing is sent twice.
        before = [*self.services.wheels], [*self.services.packages]
        self.job("pypi")
        self.job("npm")
        need(before == (self.services.wheels, self.services.packages), "run again, something is sent again")

    def sent(self, pre_release: bool) -> None:
        """Whether all that was made has arrived, as what it is."""
        made = {name: data for name, data in (self.artifacts["packages"] | self.artifacts["list"]).items() if "/" not in name}
        number, services = self.tag.removeprefix("v"), self.services
        [release] = services.releases
        need(release["tag_name"] == self.tag and release["draft"] is True and release["prerelease"] is pre_release, f"{release['tag_name']}")
        need(release["assets"] == made, f"the release has {sorted(release['assets'])}, made were {sorted(made)}")
        need(self.attested == set(made) - {"SHA256SUMS"}, f"not attested: {sorted(set(made) - self.attested)}")
        tried = json.loads(made["tried.json"])
        sums = {name: hashlib.sha256(data).hexdigest() for name, data in made.items() if name not in ("tried.json", "SHA256SUMS")}
        need(tried["commit"] == self.environment["GITHUB_SHA"] and tried["version"] == number and tried["sha256"] == sums and bool(tried["everything"]["suites"])
             and bool(tried["packages"]) is not pre_release, "the list of what was tried is of something else")
        need(release["body"] == changes(self.place / "packages"), "the notes are not the changelog's")
        need(set(services.wheels) == {name for name in made if name.endswith(".whl")} and bool(services.wheels), f"PyPI has {services.wheels}")
        need(services.attestations == {name: hashlib.sha256(made[name]).hexdigest() for name in services.wheels}, "wheels without attestations")
        packages = [f"{REGISTRY_NAME}-{'-'.join(TARGETS[triple].npm)}" for triple in TARGETS if f"{PROGRAM}-{number}-{triple}.tar.gz" in made]
        need(services.packages == [*packages, REGISTRY_NAME], f"npm got {services.packages}")
        tag = "next" if pre_release else "latest"
        need(all(tags == {tag: number} for tags in services.tags.values()), f"npm's tags are {services.tags}")
        images = re.findall(r"--tag \S+:(\S+)", self.asked.read_text())
        need(images == [number] + ["latest"] * (not pre_release), f"the image's tags are {images}")
        # What was tried and attested is what the registry of crates would have got.
        archives = {path.name: path.read_bytes() for path in (self.place / "target/package").rglob("*.crate")}
        need(len(archives) == 4 and all(made[name] == data for name, data in archives.items()), f"other crates than {sorted(archives)}")
        need(not services.refused, f"refused: {services.refused}")
        # What needs the program for another system, or a service that is not here.
        self.left |= {name for name in STAND_INS if not name.startswith("python")}


def released(number: str) -> bool:
    return f"\n## [{number}]" in (ROOT / "CHANGELOG.md").read_text()


def under_another_number(program: Path, number: str, out: Path) -> Path:
    """A program that says it is of another version, and else is the same."""
    out.write_text(f"#!/bin/sh\n[ \"$1\" != --version ] || {{ echo '{PROGRAM} {number}'; exit; }}\nexec '{program}' \"$@\"\n")
    out.chmod(0o755)
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--tools", type=Path, default=ROOT / "target/packaging")
    options = parser.parse_args()
    program, tools = options.program.resolve(), options.tools.resolve()
    left: set[str] = set()
    passed = failed = 0
    for tag in (f"v{version()}", f"v{version()}-rc.1"):
        print(f"\n== {tag}", flush=True)
        with tempfile.TemporaryDirectory(prefix="mte-release-") as directory:
            place = Path(directory).resolve()
            (place / "nothing").mkdir()
            spoken = program if "-" not in tag else under_another_number(program, tag.removeprefix("v"), place / PROGRAM)
            with Services(place / "nothing") as services:
                rehearsal = Rehearsal(place, tag, spoken, tools, services)
                try:
                    rehearsal.all()
                except Failed as why:
                    failed += 1
                    print(f"FAILED  {why}", flush=True)
                left |= rehearsal.left
                passed += rehearsal.done
    told = (ROOT / "CONTRIBUTING.md").read_text()
    print(f"\nleft: {', '.join(sorted(left))}")
    if unsaid := [name for name in sorted(left) if f"`{name}`" not in told]:
        failed += 1
        print(f"FAILED  CONTRIBUTING.md does not say that this is left: {', '.join(unsaid)}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
