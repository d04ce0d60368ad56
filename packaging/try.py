#!/usr/bin/env python3
"""Installs each package into a fresh place as a user would, and edits a file through it: see CONTRIBUTING.md.

    try.py --dist DIST [KIND…]      the packages that build.py has put there; those for other machines are left out
    try.py --install                brings uv, mcpb and a reader of bills of materials (TOOLS, default: target/packaging)

A kind whose tools or packages are not here is skipped, and said; but one that was named has failed then.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import traceback
import zipfile
from collections.abc import Callable
from pathlib import Path

from build import HERE
from facts import LICENCES, PROGRAM, REGISTRY_NAME, RELEASED, ROOT, TARGETS, python_version, version
from registry import Registry
from session import Session, edits, environment

WINDOWS = HERE[0] == "win32"
WANTED = ROOT / "packaging/tools"
#: What holds a program, or starts one.
PACKAGES = (".tar.gz", ".zip", ".whl", ".tgz", ".mcpb", ".deb")
BY_THE_SCHEMA = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
wrong = {path: JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(path, encoding="utf-8").read()) for path in sys.argv[1:]}
for path, error in wrong.items():
    print(path, error or "is right")
sys.exit(any(wrong.values()))
"""


class Skipped(Exception):
    """Why a kind cannot be tried here."""


def run(command: list[str | Path], told: dict[str, str] | None = None, directory: Path | None = None) -> str:
    """What a command prints; it must end well."""
    said = subprocess.run(command, env=told, cwd=directory, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert said.returncode == 0, f"{' '.join(map(str, command))}: exit code {said.returncode}\n{said.stdout}{said.stderr}"
    return said.stdout


def contents(path: Path) -> dict[str, bytes]:
    """The files in a package, by their names in it."""
    if path.suffix in {".zip", ".whl", ".mcpb"}:
        with zipfile.ZipFile(path) as opened:
            return {name: opened.read(name) for name in opened.namelist()}
    packed = path.read_bytes()
    if path.suffix == ".deb":
        if not shutil.which("dpkg-deb"):
            raise Skipped("dpkg-deb is not here")
        packed = subprocess.run(["dpkg-deb", "--fsys-tarfile", path], check=True, stdout=subprocess.PIPE).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as opened:
        return {one.name: opened.extractfile(one).read() for one in opened.getmembers() if one.isfile()}


class Trial:
    """One run over the packages in a directory."""

    def __init__(self, dist: Path, tools: Path) -> None:
        self.dist, self.tools = dist, tools
        self.version = version()
        #: What runs here, by its triple.
        self.made = {triple: target for triple, target in TARGETS.items() if target.npm == HERE}

    def one(self, pattern: str) -> Path:
        """The package for this machine."""
        found = sorted(self.dist.glob(pattern))
        if not found:
            raise Skipped(f"there is no {pattern} in {self.dist}")
        assert len(found) == 1, found
        return found[0]

    def place(self) -> tempfile.TemporaryDirectory:
        """A fresh directory with `home`, `home/tmp` and `project` in it."""
        made = tempfile.TemporaryDirectory(prefix="mte-try-")
        for name in ("home/tmp", "project"):
            Path(made.name, name).mkdir(parents=True)
        return made

    def is_it(self, program: Path) -> None:
        """Whether a program is the very one of the archive, and says its version."""
        assert run([program, "--version"]).split() == [PROGRAM, self.version]
        assert hashlib.sha256(program.read_bytes()).hexdigest() == self.digest(), f"{program} is another program than that of the archive"

    def built(self) -> list[str]:
        """The triples of this machine for which there is an archive."""
        return [triple for triple in self.made if list(self.dist.glob(f"{PROGRAM}-{self.version}-{triple}.*"))]

    def digest(self) -> str:
        for triple, target in self.made.items():
            for path in self.dist.glob(f"{PROGRAM}-{self.version}-{triple}.*"):
                inside = f"{PROGRAM}-{self.version}-{triple}/{target.file}"
                if path.suffix == ".zip":
                    with zipfile.ZipFile(path) as opened:
                        return hashlib.sha256(opened.read(inside)).hexdigest()
                with tarfile.open(path) as opened:
                    return hashlib.sha256(opened.extractfile(inside).read()).hexdigest()
        raise Skipped(f"there is no archive for this machine in {self.dist}")

    def tool(self, name: str) -> Path:
        """A program that `--install` brings, or that is in the path."""
        scripts = self.tools / ("uv/Scripts" if WINDOWS else "uv/bin")
        for directory in (scripts, self.tools / "npm/node_modules/.bin"):
            if found := shutil.which(name, path=str(directory)):
                return Path(found)
        if found := shutil.which(name):
            return Path(found)
        raise Skipped(f"{name} is not here")

    def archive(self) -> None:
        """Unpacked, it has the program, its manual, and what shells complete."""
        self.digest()
        [path] = [path for triple in self.made for path in self.dist.glob(f"{PROGRAM}-{self.version}-{triple}.*")]
        with self.place() as place:
            shutil.unpack_archive(path, place)
            root = Path(place, path.name.removesuffix(".zip").removesuffix(".tar.gz"))
            program = root / f"{PROGRAM}{'.exe' if WINDOWS else ''}"
            if WINDOWS or path.suffix != ".zip":
                self.is_it(program)
            assert all((root / name).is_file() for name in LICENCES)
            pages = {page.name for page in (root / "man").iterdir()}
            # Each page that one names is there.
            named = {f"{name}.1" for page in (root / "man").iterdir()
                     for name in re.findall(r"([a-z-]+)\(1\)", page.read_text().replace("\\fR", "").replace("\\", "")) if name.startswith(PROGRAM)}
            assert named <= pages and len(pages) > 4, (named, pages)
            assert len(list((root / "completions").iterdir())) == 5
            edits([program], Path(place, "project"), environment(Path(place, "home")), self.version)

    def wheel(self) -> None:
        """`uvx` by both names, and `pip install`, in a directory without arguments, as the Python server was started."""
        uvx = self.tool("uvx")
        self.one(f"{REGISTRY_NAME.replace('-', '_')}-{python_version(self.version)}-*{self.wheel_system()}*.whl")
        with self.place() as place, Registry(self.dist) as registry:
            home, project = Path(place, "home"), Path(place, "project")
            told = environment(home, UV_DEFAULT_INDEX=f"{registry.address}/simple/", UV_CACHE_DIR=str(home / "cache"), UV_NO_CONFIG="1",
                               UV_PYTHON=sys.executable, UV_PYTHON_DOWNLOADS="never")
            # What uv itself says of its work is said on standard error, and once.
            run([uvx, "--quiet", REGISTRY_NAME, "--version"], told)
            for command in ([REGISTRY_NAME], ["--from", REGISTRY_NAME, PROGRAM]):
                edits([uvx, "--quiet", *command], project, told, self.version)
            if not WINDOWS:
                # A link in the path, while another program has the other name.
                run([uvx.with_name("uv"), "tool", "install", "--quiet", REGISTRY_NAME], {**told, "UV_TOOL_BIN_DIR": str(home / "bin")})
                link = home / "bin" / REGISTRY_NAME
                (home / "bin" / PROGRAM).unlink()
                assert link.is_symlink()
                edits([link], project, told, self.version)
            venv = Path(place, "venv")
            run([sys.executable, "-m", "venv", venv])
            scripts = venv / ("Scripts" if WINDOWS else "bin")
            pip = [scripts / "python", "-m", "pip", "--disable-pip-version-check", "--quiet"]
            run([*pip, "install", "--index-url", f"{registry.address}/simple/", REGISTRY_NAME], told)
            for name in (PROGRAM, REGISTRY_NAME):
                edits([shutil.which(name, path=str(scripts))], project, told, self.version)
            self.is_it(Path(shutil.which(PROGRAM, path=str(scripts))))
            run([*pip, "uninstall", "--yes", REGISTRY_NAME], told)
            assert not list(scripts.glob(f"{PROGRAM}*"))

    def wheel_system(self) -> str:
        cpu = {"x64": ("x86_64", "x86_64", "amd64"), "arm64": ("aarch64", "arm64", "arm64")}[HERE[1]]
        return {"linux": f"manylinux*{cpu[0]}", "darwin": f"macosx*{cpu[1]}", "win32": f"win_{cpu[2]}"}[HERE[0]]

    def npm(self) -> None:
        """`npx`, and an installation for all; the starter passes signals on, and says which package is missing."""
        npm = shutil.which("npm")
        if not npm:
            raise Skipped("npm is not here")
        self.one(f"{REGISTRY_NAME}-{'-'.join(HERE)}-{self.version}.tgz")
        with self.place() as place, Registry(self.dist) as registry:
            home, project, prefix = Path(place, "home"), Path(place, "project"), Path(place, "prefix")
            told = environment(home, npm_config_registry=f"{registry.address}/npm/", npm_config_cache=str(home / "cache"),
                               npm_config_update_notifier="false", npm_config_prefix=str(prefix), npm_config_audit="false",
                               npm_config_fund="false")
            edits([shutil.which("npx"), "--yes", REGISTRY_NAME], project, told, self.version)
            run([npm, "install", "--global", REGISTRY_NAME], told)
            starter = prefix / (f"{PROGRAM}.cmd" if WINDOWS else f"bin/{PROGRAM}")
            edits([starter], project, told, self.version)
            modules = prefix / ("node_modules" if WINDOWS else "lib/node_modules") / REGISTRY_NAME
            platform = modules / "node_modules" / f"{REGISTRY_NAME}-{'-'.join(HERE)}"
            self.is_it(platform / "bin" / f"{PROGRAM}{'.exe' if WINDOWS else ''}")
            if not WINDOWS:
                session = Session([starter], project, told)
                session.process.send_signal(signal.SIGTERM)
                assert session.process.wait() == -signal.SIGTERM
                session.end()
            code = subprocess.run([starter, "call", "nothing"], env=told, cwd=project, capture_output=True).returncode
            assert code == 1, code
            shutil.rmtree(platform)
            said = subprocess.run([starter], env=told, stdin=subprocess.DEVNULL, capture_output=True, text=True)
            assert said.returncode == 1 and platform.name in said.stderr, said

    def mcpb(self) -> None:
        """`mcpb` finds nothing wrong and makes the same of it again; then it is started as by Claude Desktop, which unpacks all files as 0600."""
        mcpb = self.tool("mcpb")
        bundle = self.one(f"{PROGRAM}-{self.version}-{'-'.join(HERE)}.mcpb")
        with self.place() as place:
            home, project, inside, again = (Path(place, name) for name in ("home", "project", "inside", "again.mcpb"))
            run([mcpb, "unpack", bundle, inside])
            run([mcpb, "validate", inside / "manifest.json"])
            run([mcpb, "pack", inside, again])
            with zipfile.ZipFile(bundle) as first, zipfile.ZipFile(again) as second:
                assert {name: first.read(name) for name in first.namelist()} == {name: second.read(name) for name in second.namelist()}
            manifest = json.loads((inside / "manifest.json").read_text())
            assert manifest["version"] == self.version
            for path in (inside / "server").iterdir():
                path.chmod(0o600)
            server = manifest["server"]["mcp_config"]
            values = {"${__dirname}": str(inside), "${user_config.directories}": str(project)}
            program = [server["command"], *server["args"]]
            for name, value in values.items():
                program = [word.replace(name, value) for word in program]
            # Desktop clients start a server anywhere; the person has named the directories.
            edits(program, project, environment(home), self.version)
            self.is_it(inside / manifest["server"]["entry_point"])

    def deb(self) -> None:
        """Installed by `dpkg` beneath a directory, and removed without a trace."""
        if not shutil.which("dpkg-deb"):
            raise Skipped("dpkg-deb is not here")
        cpu = {"x64": "amd64", "arm64": "arm64"}[HERE[1]]
        package = self.one(f"{PROGRAM}_*_{cpu}.deb")
        assert run(["dpkg-deb", "--field", package, "Version"]).strip() == self.version.replace("-", "~")
        with self.place() as place:
            root = Path(place, "root")
            root.mkdir()
            if os.geteuid() == 0:
                for directory in ("info", "updates"):
                    (root / "var/lib/dpkg" / directory).mkdir(parents=True)
                (root / "var/lib/dpkg/status").touch()
                dpkg = ["dpkg", f"--root={root}", "--force-depends", f"--log={place}/log"]
                run([*dpkg, "--install", package])
            else:
                run(["dpkg-deb", "--extract", package, root])
            self.is_it(root / "usr/bin" / PROGRAM)
            self.depends(root / "usr/bin" / PROGRAM, run(["dpkg-deb", "--field", package, "Depends"]))
            page = gzip.decompress((root / f"usr/share/man/man1/{PROGRAM}.1.gz").read_bytes()).decode()
            assert f"{PROGRAM} {self.version}" in page
            edits([root / "usr/bin" / PROGRAM], Path(place, "project"), environment(Path(place, "home")), self.version)
            if os.geteuid() == 0:
                run([*dpkg, "--purge", PROGRAM])
                left = [path for path in root.rglob("*") if path.is_file() and not path.is_relative_to(root / "var/lib/dpkg")]
                assert not left, left
        if lintian := shutil.which("lintian"):
            # What is right in Debian itself: there every program is built from shared libraries. One that was built for a try is not stripped.
            at_hand = ",unstripped-binary-or-object" if any(triple.endswith("-gnu") for triple in self.built()) else ""
            run([lintian, "--allow-root", "--fail-on", "error,warning", "--suppress-tags",
                 f"statically-linked-binary,embedded-library,initial-upload-closes-no-bugs{at_hand}", package])

    def depends(self, program: Path, named: str) -> None:
        """Each library that the program loads here is of a package that is named, and none else is; static programs load none."""
        said = subprocess.run(["ldd", program], capture_output=True, text=True)
        libraries = re.findall(r"=> (/\S+)", said.stdout)
        if shutil.which("dpkg-query"):
            owners = {run(["dpkg-query", "--search", f"*/{Path(path).name}"]).split(":")[0] for path in libraries}
            assert owners == {one.split()[0] for one in named.split(",") if one.strip()}, (libraries, named)

    def docker(self) -> None:
        """The image, if there is a Docker; else its files alone as the root of a process that is nobody."""
        context = self.dist / "docker"
        layer = context / f"layer-{ {'x64': 'amd64', 'arm64': 'arm64'}[HERE[1]]}.tar"
        if not layer.is_file():
            raise Skipped("there is no static program, and no other runs in an image that holds nothing else")
        with self.place() as place:
            project = Path(place, "project")
            project.chmod(0o777)
            docker = shutil.which("docker")
            if docker and subprocess.run([docker, "info"], capture_output=True).returncode == 0:
                tag = f"{PROGRAM}:try-{os.getpid()}"
                run([docker, "build", "--quiet", "--tag", tag, context])
                try:
                    command = [docker, "run", "--rm", "--interactive", "--user", f"{os.getuid()}:{os.getgid()}", "--volume", f"{project}:/work", tag]
                    edits(command, project, dict(os.environ), self.version, "/work")
                finally:
                    run([docker, "image", "rm", tag])
                return
            if HERE[0] != "linux" or os.geteuid() != 0:
                raise Skipped("there is no Docker, and only root can try without")
            root = Path(place, "root")
            with tarfile.open(layer) as opened:
                opened.extractall(root)
            # What the Dockerfile says of the process.
            words = {found[1]: found[2] for found in re.finditer(r"^([A-Z]+) (.+)$", (context / "Dockerfile").read_text(), re.MULTILINE)}
            name, value = words["ENV"].split("=")
            entry = json.loads(words["ENTRYPOINT"])
            project = root / words["WORKDIR"].lstrip("/")
            project.chmod(0o777)
            Path(place).chmod(0o755)
            command = [shutil.which("chroot"), f"--userspec={words['USER']}", root, *entry, words["WORKDIR"]]
            (project / "greeting.txt").touch()
            os.chown(project / "greeting.txt", *map(int, words["USER"].split(":")))
            edits(command, project, {name: value}, self.version, words["WORKDIR"])
            assert (root / value.lstrip("/")).stat().st_mode & 0o7777 == 0o700

    def formula(self) -> None:
        """Ruby reads it, and what it names is there."""
        formula = self.one(f"{PROGRAM}.rb")
        text = formula.read_text()
        named = re.findall(r'url "[^"]+/v([^/"]+)/([^"]+)"\s+sha256 "([0-9a-f]+)"', text)
        for number, name, digest in named:
            assert number == self.version and hashlib.sha256((self.dist / name).read_bytes()).hexdigest() == digest, name
        there = {path.name for triple in RELEASED for path in self.dist.glob(f"{PROGRAM}-{self.version}-{triple}.tar.gz")}
        assert {name for _, name, _ in named} == there, (named, there)
        ruby = shutil.which("ruby")
        if not ruby:
            raise Skipped("what it names is there, but no Ruby to read it")
        run([ruby, "-c", formula])

    def server(self) -> None:
        """The registry's entry names what is there, by its digests, and is not longer than it takes."""
        entry = json.loads(self.one("server.json").read_text())
        assert entry["version"] == self.version and len(entry["description"]) <= 100
        kinds = [package["registryType"] for package in entry["packages"]]
        assert kinds[:3] == ["pypi", "npm", "oci"] and set(kinds[3:]) == {"mcpb"}, kinds
        # Not as the image's own user, who may not write what others own.
        assert [argument["name"] for argument in entry["packages"][2]["runtimeArguments"]] == ["--user", "--volume"]
        for package in entry["packages"][3:]:
            file = self.dist / package["identifier"].rsplit("/", 1)[1]
            assert hashlib.sha256(file.read_bytes()).hexdigest() == package["fileSha256"], file

    def sbom(self) -> None:
        """In each package is a bill of what the program of that very package is made of; the one beside them is of all targets. All are right."""
        whole = self.one(f"{PROGRAM}-{self.version}.cdx.json")
        bills = {whole.name: whole.read_bytes()}
        for path in sorted(path for path in self.dist.iterdir() if path.name.endswith(PACKAGES)):
            inside = contents(path)
            [name] = [name for name in inside if re.search(r"(^|/)sbom\.cdx\.json(\.gz)?$", name)]
            bills[path.name] = gzip.decompress(inside[name]) if name.endswith(".gz") else inside[name]
            root = json.loads(bills[path.name])["metadata"]["component"]
            if path.name == f"{REGISTRY_NAME}-{self.version}.tgz":
                wanted = json.loads(inside["package/package.json"])["optionalDependencies"]
                listed = json.loads(bills[path.name])["components"]
                assert root["name"] == REGISTRY_NAME and {one["name"]: one["version"] for one in listed} == wanted, path
            else:
                [digest] = [one["content"] for one in root["hashes"]]
                assert digest in {hashlib.sha256(data).hexdigest() for data in inside.values()}, f"{path.name}: the bill is of another program"
        assert len(bills) > 1, "no package has a bill"
        for name, data in bills.items():
            if name != f"{REGISTRY_NAME}-{self.version}.tgz":
                self.bill(json.loads(data))
        python = self.tools / ("bills/Scripts/python.exe" if WINDOWS else "bills/bin/python")
        if not python.is_file():
            raise Skipped("all are right, but what reads them by the schema is not here")
        with self.place() as place:
            for name, data in bills.items():
                Path(place, name).write_bytes(data)
            run([python, "-c", BY_THE_SCHEMA, *(Path(place, name) for name in bills)])
            # And it finds what is wrong.
            spoiled = Path(place, "spoiled")
            spoiled.write_bytes(bills[whole.name].replace(b'"bom-ref"', b'"bom-reference"', 1))
            assert subprocess.run([python, "-c", BY_THE_SCHEMA, spoiled], capture_output=True).returncode == 1

    def bill(self, told: dict) -> None:
        """All that the program depends on is in it, with digests as in Cargo.lock, and nothing else."""
        root = told["metadata"]["component"]
        components = {one["bom-ref"]: one for one in [*told["components"], root]}
        needs = {one["ref"]: one["dependsOn"] for one in told["dependencies"]}
        reached, left = set(), [root["bom-ref"]]
        while left:
            if (at := left.pop()) not in reached:
                reached.add(at)
                left += needs[at]
        assert reached == set(components) == set(needs), reached ^ set(components)
        # What GitHub's attestations ask of a bill before they take it for one.
        assert told["bomFormat"] == "CycloneDX" and told["specVersion"] and told["serialNumber"].startswith("urn:uuid:")
        lock = {(one["name"], one["version"]): one.get("checksum")
                for one in tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]}
        for one in told["components"]:
            digests = [digest["content"] for digest in one.get("hashes", [])]
            assert one["licenses"] and (not one["purl"].startswith("pkg:cargo/") or digests == [
                digest for digest in [lock[one["name"], one["version"]]] if digest]), one
        names = {one["name"] for one in components.values()}
        # By these names a vulnerability would be told of.
        assert {"sqlite", "rust-std"} == {one["name"] for one in components.values() if not one["purl"].startswith("pkg:cargo/")}
        # Of direct dependencies those of the program are in it, those of its tests are not.
        manifest = tomllib.loads((ROOT / "crates/server/Cargo.toml").read_text())
        assert set(manifest["dependencies"]) <= names and not names & (set(manifest["dev-dependencies"]) - {PROGRAM}), names

    def checksums(self) -> None:
        """Of each file, and right."""
        lines = self.one("SHA256SUMS").read_text().splitlines()
        named = {name: digest for digest, name in (line.split("  ") for line in lines)}
        there = {path.name for path in self.dist.iterdir() if path.is_file()} - {"SHA256SUMS"}
        assert set(named) == there, set(named) ^ there
        wrong = [name for name, digest in named.items() if hashlib.sha256((self.dist / name).read_bytes()).hexdigest() != digest]
        assert not wrong, wrong


KINDS: dict[str, Callable[[Trial], None]] = {
    "archive": Trial.archive, "wheel": Trial.wheel, "npm": Trial.npm, "mcpb": Trial.mcpb, "deb": Trial.deb, "docker": Trial.docker,
    "formula": Trial.formula, "server": Trial.server, "sbom": Trial.sbom, "checksums": Trial.checksums,
}


def install(tools: Path) -> None:
    """uv and cyclonedx-python-lib from PyPI and mcpb from npm, each in a directory of its own, and once; packaging/tools has the hashes."""
    def once(place: Path, wanted: Path, bring: Callable[[], None]) -> None:
        complete = place / "complete"
        if not complete.is_file() or complete.read_bytes() != wanted.read_bytes():
            place.mkdir(parents=True, exist_ok=True)
            bring()
            shutil.copyfile(wanted, complete)

    def of_python(name: str) -> Callable[[], None]:
        def bring() -> None:
            run([sys.executable, "-m", "venv", tools / name])
            run([tools / name / ("Scripts/python" if WINDOWS else "bin/python"), "-m", "pip", "--quiet", "install", "--require-hashes",
                 "--requirement", WANTED / f"{name}.txt"])
        return bring

    def mcpb() -> None:
        for name in ("package.json", "package-lock.json"):
            shutil.copyfile(WANTED / name, tools / "npm" / name)
        run([npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"], directory=tools / "npm")

    for name in ("uv", "bills"):
        once(tools / name, WANTED / f"{name}.txt", of_python(name))
    if npm := shutil.which("npm"):
        once(tools / "npm", WANTED / "package-lock.json", mcpb)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--dist", type=Path, default=ROOT / "dist")
    parser.add_argument("--tools", type=Path, default=ROOT / "target/packaging")
    parser.add_argument("--install", action="store_true")
    options = parser.parse_args()
    if unknown := set(options.kinds) - set(KINDS):
        parser.error(f"there is no kind {', '.join(sorted(unknown))}")
    if options.install:
        install(options.tools.resolve())
        return 0
    trial = Trial(options.dist.resolve(), options.tools.resolve())
    passed = failed = skipped = 0
    for name in options.kinds or KINDS:
        try:
            KINDS[name](trial)
            passed += 1
            print(f"ok      {name}", flush=True)
        except Skipped as why:
            needed = name in options.kinds
            failed, skipped = failed + needed, skipped + (not needed)
            print(f"{'FAILED ' if needed else 'skipped'} {name}: {why}", flush=True)
        except Exception:
            failed += 1
            print(f"FAILED  {name}\n{traceback.format_exc()}", flush=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
