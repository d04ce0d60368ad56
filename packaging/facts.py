"""What all packages have in common: the version, the targets, what the program says of itself, and files that are the same whenever made."""

from __future__ import annotations

import dataclasses
import datetime
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: The program, and what it is called where that name is its own.
PROGRAM = "mcp-text-editor"
#: The name in the registries of Python and npm. `mcp-text-editor` is another program's on PyPI.
REGISTRY_NAME = "mcp-text-editor-rs"
TITLE = "Text editor"
LICENCES = ("LICENSE-MIT", "LICENSE-APACHE")
SHELLS = {"bash": "mcp-text-editor.bash", "zsh": "_mcp-text-editor", "fish": "mcp-text-editor.fish", "powershell": "mcp-text-editor.ps1",
          "elvish": "mcp-text-editor.elv"}
#: A zip can hold no earlier time.
FIRST_ZIP_TIME = 315532800


@dataclasses.dataclass(frozen=True)
class Target:
    """A platform for which there is a program. `npm` is Node's name of it; `wheel` the tags of pip's, `deb` Debian's name, if any."""

    triple: str
    npm: tuple[str, str]
    wheel: str | None
    deb: str | None = None

    @property
    def file(self) -> str:
        return PROGRAM + (".exe" if self.npm[0] == "win32" else "")

    @property
    def docker(self) -> str:
        return {"x64": "amd64", "arm64": "arm64"}[self.npm[1]]


# A static program runs wherever the kernel does, so one wheel serves both C libraries.
STATIC = "manylinux_2_17_{0}.manylinux2014_{0}.musllinux_1_1_{0}"
#: Those of a release. The oldest macOS is the one that Rust promises.
RELEASED = {target.triple: target for target in (
    Target("x86_64-unknown-linux-musl", ("linux", "x64"), STATIC.format("x86_64"), "amd64"),
    Target("aarch64-unknown-linux-musl", ("linux", "arm64"), STATIC.format("aarch64"), "arm64"),
    Target("x86_64-apple-darwin", ("darwin", "x64"), "macosx_10_12_x86_64"),
    Target("aarch64-apple-darwin", ("darwin", "arm64"), "macosx_11_0_arm64"),
    Target("x86_64-pc-windows-msvc", ("win32", "x64"), "win_amd64"),
    Target("aarch64-pc-windows-msvc", ("win32", "arm64"), "win_arm64"),
)}
#: To try the packages with a program that was built for the machine at hand.
AT_HAND = {target.triple: target for target in (
    Target("x86_64-unknown-linux-gnu", ("linux", "x64"), None, "amd64"),
    Target("aarch64-unknown-linux-gnu", ("linux", "arm64"), None, "arm64"),
)}
TARGETS = {**RELEASED, **AT_HAND}


def manifest(path: str = "Cargo.toml", root: Path = ROOT) -> dict:
    return tomllib.loads((root / path).read_text())


def version(root: Path = ROOT) -> str:
    """The one version: `[workspace.package]` in Cargo.toml."""
    return manifest(root=root)["workspace"]["package"]["version"]


def package() -> dict:
    """The manifest of the program's crate, which has the words for all registries."""
    return manifest("crates/server/Cargo.toml")["package"]


def python_version(number: str) -> str:
    """The same as PEP 440 writes it: `0.2.0-rc.1` is `0.2.0rc1`."""
    return re.sub(r"-(alpha|beta|rc)\.?(\d+)$", lambda found: {"alpha": "a", "beta": "b", "rc": "rc"}[found[1]] + found[2], number)


def changes(root: Path = ROOT) -> str:
    """What the changelog says of the version of a clone; before it has a section of its own, what is not released yet."""
    text = (root / "CHANGELOG.md").read_text()
    for name in (version(root), "Unreleased"):
        if found := re.search(rf"^## \[{re.escape(name)}\][^\n]*\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL):
            return found[1].strip() + "\n"
    raise LookupError("CHANGELOG.md has no section for this version")


def time() -> int:
    """When this version was made, in seconds: that of the last commit, so that the same sources give the same bytes."""
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(given)
    said = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True)
    return int(said.stdout) if said.returncode == 0 else FIRST_ZIP_TIME


def clone(place: Path) -> None:
    """A clone of this repository as it stands here, with what is not committed yet."""
    subprocess.run(["git", "clone", "--quiet", "--depth", "1", f"file://{ROOT}", place], check=True)
    changed = subprocess.run(["git", "ls-files", "-z", "--modified", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                             stdout=subprocess.PIPE, text=True).stdout
    for path in filter(None, changed.split("\0")):
        if (ROOT / path).is_file():
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / path, place / path)


def readme(repository: str) -> str:
    """The README for a registry, where its links to files of the repository would lead nowhere."""
    def absolute(found: re.Match[str]) -> str:
        kind = "raw" if found[1].startswith("!") else "blob"
        return f"{found[1]}(https://github.com/{repository}/{kind}/v{version()}/{found[2]})"

    return re.sub(r"(!?\[[^\]]*\])\((?![a-z]+:|#)([^)]+)\)", absolute, (ROOT / "README.md").read_text())


@dataclasses.dataclass(frozen=True)
class Entry:
    """A file of an archive."""

    path: str
    data: bytes
    mode: int = 0o644


def tar(entries: list[Entry], directories: list[tuple[str, int]] = (), owner: int = 0) -> bytes:
    """A tar whose bytes depend on the entries alone."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path, mode in directories:
            info = tarfile.TarInfo(path)
            info.type, info.mode, info.mtime, info.uid, info.gid = tarfile.DIRTYPE, mode, time(), owner, owner
            archive.addfile(info)
        for entry in entries:
            info = tarfile.TarInfo(entry.path)
            info.size, info.mode, info.mtime, info.uid, info.gid = len(entry.data), entry.mode, time(), owner, owner
            archive.addfile(info, io.BytesIO(entry.data))
    return out.getvalue()


def zipped_tar(entries: list[Entry]) -> bytes:
    """The same, compressed; a higher level takes three times as long for a hundredth."""
    return gzip.compress(tar(entries), compresslevel=6, mtime=0)


def zipped(entries: list[Entry]) -> bytes:
    """A zip whose bytes depend on the entries alone; it keeps which files are programs."""
    out = io.BytesIO()
    when = datetime.datetime.fromtimestamp(max(time(), FIRST_ZIP_TIME), datetime.UTC).timetuple()[:6]
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry in entries:
            info = zipfile.ZipInfo(entry.path, when)
            # Unix, a regular file.
            info.create_system, info.external_attr, info.compress_type = 3, (0o100000 | entry.mode) << 16, zipfile.ZIP_DEFLATED
            archive.writestr(info, entry.data)
    return out.getvalue()


def oldest_glibc(program: bytes) -> int:
    """The N of the glibc 2.N that the symbols of a program ask for."""
    return max(int(found) for found in re.findall(rb"GLIBC_2\.(\d+)", program))


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def as_json(value: object) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def licences(prefix: str = "") -> list[Entry]:
    return [Entry(prefix + name, (ROOT / name).read_bytes()) for name in LICENCES]


class Speaker:
    """A program that runs here; it says what is the same on every platform."""

    def __init__(self, program: Path) -> None:
        self.program = program

    def says(self, *arguments: str) -> bytes:
        return subprocess.run([self.program, *arguments], check=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL).stdout

    def version(self) -> str:
        return self.says("--version").decode().split()[-1]

    def tools(self) -> list[dict]:
        return json.loads(self.says("tools"))["tools"]

    def pages(self) -> dict[str, bytes]:
        """The pages of the manual by their files' names: the program's, and that of each subcommand that one names."""
        pages: dict[str, bytes] = {}

        def add(path: list[str]) -> None:
            page = self.says("man", *path)
            title = "-".join([PROGRAM, *path])
            pages[f"{title}.1"] = page
            for name in re.findall(rf"{re.escape(title)}-([a-z]+)\(1\)", page.decode().replace("\\", "")):
                if f"{title}-{name}.1" not in pages:
                    add([*path, name])

        add([])
        return pages

    def completions(self) -> dict[str, bytes]:
        """The script for each shell."""
        return {shell: self.says("completions", shell) for shell in SHELLS}
