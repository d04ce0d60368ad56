"""A wheel that carries the program, for `uvx`, `pipx` and `pip`.

It is written here and not by maturin (`bindings = "bin"`), which lays out the same files, but builds the program itself: this way every
package of a target has the very same program, and the release builds it once.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io

from facts import LICENCES, PROGRAM, REGISTRY_NAME, Entry, Target, licences, oldest_glibc, package, python_version, readme, version, zipped
from sbom import FILE

NAME = REGISTRY_NAME.replace("-", "_")
SYSTEMS = {"linux": "POSIX :: Linux", "darwin": "MacOS", "win32": "Microsoft :: Windows"}
# `uvx mcp-text-editor-rs` starts the program that has the package's name. The loop follows the links of `uv tool install`.
OTHER_NAME = b"""#!/bin/sh
program=$0
while [ -h "$program" ]; do
    link=$(readlink "$program")
    case $link in /*) program=$link ;; *) program=${program%/*}/$link ;; esac
done
exec "${program%/*}/mcp-text-editor" "$@"
"""


def tag(target: Target, program: bytes) -> str:
    """Where the wheel can be installed; for a program that needs glibc, the version of it that its symbols ask for."""
    if target.wheel:
        return target.wheel
    return f"manylinux_2_{oldest_glibc(program)}_{target.triple.split('-')[0]}"


def metadata(repository: str) -> bytes:
    words = package()
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {REGISTRY_NAME}",
        f"Version: {python_version(version())}",
        f"Summary: {words['description']}",
        f"Keywords: {','.join(words['keywords'])}",
        "License-Expression: MIT OR Apache-2.0",
        *(f"License-File: {name}" for name in LICENCES),
        "Classifier: Environment :: Console",
        *(f"Classifier: Operating System :: {name}" for name in SYSTEMS.values()),
        "Classifier: Programming Language :: Rust",
        "Classifier: Topic :: Text Editors",
        f"Project-URL: Source, https://github.com/{repository}",
        f"Project-URL: Changelog, https://github.com/{repository}/blob/v{version()}/CHANGELOG.md",
        "Description-Content-Type: text/markdown; charset=UTF-8; variant=GFM",
    ]
    # By this line the registry of MCP servers sees that the package and its entry there are of the same people.
    owned = f"<!-- mcp-name: io.github.{repository} -->\n\n"
    return ("\n".join(lines) + "\n\n" + owned + readme(repository)).encode()


def record(entries: list[Entry], path: str) -> Entry:
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    for entry in entries:
        digest = base64.urlsafe_b64encode(hashlib.sha256(entry.data).digest()).rstrip(b"=").decode()
        rows.writerow([entry.path, f"sha256={digest}", len(entry.data)])
    rows.writerow([path, "", ""])
    return Entry(path, out.getvalue().encode())


def build(target: Target, program: bytes, repository: str, bill: bytes) -> tuple[str, bytes]:
    """The wheel's file name, and its bytes."""
    name, tags = f"{NAME}-{python_version(version())}", tag(target, program)
    scripts, info = f"{name}.data/scripts", f"{name}.dist-info"
    other = (f"{REGISTRY_NAME}.exe", program) if target.npm[0] == "win32" else (REGISTRY_NAME, OTHER_NAME)
    # The order of tags in the file's name is that of WHEEL's lines, multiplied out.
    wheel = ["Wheel-Version: 1.0", f"Generator: {PROGRAM}", "Root-Is-Purelib: false", *(f"Tag: py3-none-{one}" for one in tags.split("."))]
    entries = [
        Entry(f"{scripts}/{target.file}", program, 0o755),
        Entry(f"{scripts}/{other[0]}", other[1], 0o755),
        Entry(f"{info}/METADATA", metadata(repository)),
        Entry(f"{info}/WHEEL", ("\n".join(wheel) + "\n").encode()),
        *licences(f"{info}/licenses/"),
        # Where PEP 770 has them.
        Entry(f"{info}/sboms/{FILE}", bill),
    ]
    return f"{name}-py3-none-{tags}.whl", zipped([*entries, record(entries, f"{info}/RECORD")])
