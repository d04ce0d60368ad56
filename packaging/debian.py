"""A package for Debian and Ubuntu: the program, which needs no other package, its manual, and what shells complete."""

from __future__ import annotations

import email.utils
import gzip
import subprocess
import tempfile
import textwrap
from pathlib import Path

from facts import LICENCES, PROGRAM, ROOT, Entry, Speaker, Target, oldest_glibc, package, time, version
from sbom import FILE

#: Where each shell looks.
COMPLETIONS = {
    "bash": f"usr/share/bash-completion/completions/{PROGRAM}",
    "zsh": f"usr/share/zsh/vendor-completions/_{PROGRAM}",
    "fish": f"usr/share/fish/vendor_completions.d/{PROGRAM}.fish",
}


def debian_version() -> str:
    """`0.2.0-rc.1` as Debian sorts it, before `0.2.0`; built by us, not by Debian."""
    return version().replace("-", "~")


def maintainer(repository: str) -> str:
    return f"The mcp-text-editor contributors <{repository.split('/')[0]}@users.noreply.github.com>"


def needed(target: Target, program: bytes) -> list[str]:
    """The packages of the libraries that a program wants to be loaded: none, if it is static."""
    if not target.triple.endswith("-gnu"):
        return []
    return [f"libc6 (>= 2.{oldest_glibc(program)})", *(["libgcc-s1 (>= 4.2)"] if b"\0libgcc_s.so.1\0" in program else [])]


def control(target: Target, repository: str, installed: int, depends: list[str]) -> str:
    return "\n".join([
        f"Package: {PROGRAM}",
        f"Version: {debian_version()}",
        f"Architecture: {target.deb}",
        f"Maintainer: {maintainer(repository)}",
        f"Installed-Size: {installed}",
        *([f"Depends: {', '.join(depends)}"] if depends else []),
        "Section: editors",
        "Priority: optional",
        f"Homepage: https://github.com/{repository}",
        "Description: MCP server through which language models edit text files",
        *textwrap.wrap(f"{package()['description']}.", 78, initial_indent=" ", subsequent_indent=" "),
        " An edit is all or nothing over all files of a call, changes no byte outside",
        " the edited lines, and can be undone.",
        "",
    ])


def files(program: bytes, repository: str, speaker: Speaker, bill: bytes) -> list[Entry]:
    documents = f"usr/share/doc/{PROGRAM}"
    changes = (f"{PROGRAM} ({debian_version()}) unstable; urgency=medium\n\n  * What changed is in CHANGELOG.md, beside this file.\n\n"
               f" -- {maintainer(repository)}  {email.utils.formatdate(time())}\n")
    copyright = "\n".join(["Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/", "", "Files: *",
                           "Copyright: 2026 The mcp-text-editor contributors", "License: Expat or Apache-2.0", "",
                           "License: Expat", *(f" {line}".rstrip() if line else " ." for line in
                                               (ROOT / LICENCES[0]).read_text().rstrip().split("\n")[4:]), "",
                           "License: Apache-2.0", " On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.", ""])
    return [
        Entry(f"usr/bin/{PROGRAM}", program, 0o755),
        *(Entry(f"usr/share/man/man1/{name}.gz", gzip.compress(page, mtime=0)) for name, page in speaker.pages().items()),
        *(Entry(COMPLETIONS[shell], text) for shell, text in speaker.completions().items() if shell in COMPLETIONS),
        Entry(f"{documents}/copyright", copyright.encode()),
        Entry(f"{documents}/changelog.gz", gzip.compress(changes.encode(), mtime=0)),
        Entry(f"{documents}/CHANGELOG.md.gz", gzip.compress((ROOT / "CHANGELOG.md").read_bytes(), mtime=0)),
        Entry(f"{documents}/{FILE}.gz", gzip.compress(bill, mtime=0)),
        Entry(f"{documents}/README.md", (ROOT / "README.md").read_bytes()),
    ]


def build(target: Target, program: bytes, repository: str, speaker: Speaker, bill: bytes) -> tuple[str, bytes]:
    """The package's file name, and its bytes, from `dpkg-deb`."""
    entries = files(program, repository, speaker, bill)
    name = f"{PROGRAM}_{debian_version()}_{target.deb}.deb"
    with tempfile.TemporaryDirectory() as directory:
        tree = Path(directory, "tree")
        words = control(target, repository, sum(len(e.data) for e in entries) // 1024, needed(target, program))
        for entry in [*entries, Entry("DEBIAN/control", words.encode())]:
            path = tree / entry.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(entry.data)
            path.chmod(entry.mode)
        for path in [tree, *tree.rglob("*")]:
            if path.is_dir():
                path.chmod(0o755)
        out = Path(directory, name)
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Zxz", "--build", tree, out], check=True, stdout=subprocess.DEVNULL,
                       env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "SOURCE_DATE_EPOCH": str(time())})
        return name, out.read_bytes()
