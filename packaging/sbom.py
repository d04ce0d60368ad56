"""Bills of materials, as CycloneDX: every crate that is compiled into a program, with its licence and digest; and what is no crate, SQLite and
the standard library, under the names that databases of vulnerabilities know.

There is one for the program of each target, which is in the packages that have it, and names its digest; and one of them all. From `cargo tree`,
`cargo metadata` and Cargo.lock, which know it exactly, and need no other tool.
"""

from __future__ import annotations

import datetime
import functools
import json
import re
import subprocess
import tomllib
import uuid
from collections.abc import Iterable
from pathlib import Path

from facts import PROGRAM, RELEASED, ROOT, as_json, manifest, sha256, time, version

#: What it is called in every package.
FILE = "sbom.cdx.json"


@functools.cache
def metadata(triples: tuple[str, ...] = tuple(RELEASED)) -> dict:
    targets = [argument for triple in triples for argument in ("--filter-platform", triple)]
    said = subprocess.run(["cargo", "metadata", "--format-version", "1", "--locked", *targets], cwd=ROOT, check=True, stdout=subprocess.PIPE)
    return json.loads(said.stdout)


@functools.cache
def compiled(triples: tuple[str, ...] = tuple(RELEASED)) -> frozenset[tuple[str, str]]:
    """The names and versions of what is compiled into the program, or runs for that, on any of these targets."""
    found = set()
    for triple in triples:
        said = subprocess.run(["cargo", "tree", "--locked", "--package", PROGRAM, "--edges", "normal,build", "--prefix", "none",
                               "--target", triple], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
        for line in filter(None, said.stdout.splitlines()):
            name, number, *_ = line.split()
            found.add((name, number.removeprefix("v")))
    return frozenset(found)


def linked(told: dict, kept: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The packages that the program is made of, each with those that it needs.

    What `cargo metadata` resolves has the features that tests alone switch on, and their packages: those `cargo tree` leaves out.
    """
    there = {one["id"] for one in told["packages"] if (one["name"], one["version"]) in kept}
    return {node["id"]: sorted({dep["pkg"] for dep in node["deps"] if dep["pkg"] in there
                                and any(kind["kind"] != "dev" for kind in dep["dep_kinds"])})
            for node in told["resolve"]["nodes"] if node["id"] in there}


def licence(words: str | None) -> list[dict]:
    # Old manifests write `A/B` where SPDX has `A OR B`.
    return [{"expression": words.replace("/", " OR ")}] if words else []


def component(one: dict, digests: dict[tuple[str, str], str]) -> dict:
    purl = f"pkg:cargo/{one['name']}@{one['version']}"
    digest = digests.get((one["name"], one["version"]))
    return {
        "type": "application" if one["name"] == PROGRAM else "library",
        "bom-ref": purl,
        "name": one["name"],
        "version": one["version"],
        **({"description": one["description"].strip()} if one["description"] else {}),
        "scope": "required",
        **({"hashes": [{"alg": "SHA-256", "content": digest}]} if digest else {}),
        "licenses": licence(one["license"]),
        "purl": purl,
        **({"externalReferences": [{"type": "vcs", "url": one["repository"]}]} if one["repository"] else {}),
    }


def beside(known: dict[str, dict], tree: dict[str, list[str]]) -> dict[str, tuple[dict, str]]:
    """What is compiled in and is no crate, by its reference, with the crate that brings it."""
    rust = tomllib.loads((ROOT / "rust-toolchain.toml").read_text())["toolchain"]["channel"]
    found = {f"pkg:github/rust-lang/rust@{rust}": ({"type": "library", "name": "rust-std", "version": rust,
                                                   "description": "Rust's standard library, as rustup has it",
                                                   "licenses": licence("MIT OR Apache-2.0")}, PROGRAM)}
    for one in (known[one] for one in tree if known[one]["name"] == "libsqlite3-sys"):
        text = (Path(one["manifest_path"]).parent / "sqlite3/sqlite3.h").read_text()
        number = re.search(r'^#define SQLITE_VERSION\s+"([\d.]+)"', text, re.MULTILINE)[1]
        found[f"pkg:generic/sqlite@{number}"] = ({"type": "library", "name": "sqlite", "version": number, "licenses": licence("blessing"),
                                                  "cpe": f"cpe:2.3:a:sqlite:sqlite:{number}:*:*:*:*:*:*:*"}, one["name"])
    return {purl: ({**one, "bom-ref": purl, "purl": purl, "scope": "required"}, by) for purl, (one, by) in found.items()}


def bill(root: dict, components: list[dict], needs: dict[str, list[str]]) -> bytes:
    """A bill of components, with what each of them needs by their references."""
    when = datetime.datetime.fromtimestamp(time(), datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    told = {"components": components, "dependencies": [{"ref": one, "dependsOn": on} for one, on in needs.items()]}
    return as_json({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        # Whoever attests a bill asks for it. From what is in the bill, so that the same sources give the same.
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([root, told]))}",
        "version": 1,
        "metadata": {"timestamp": when, "component": {key: value for key, value in root.items() if key != "scope"}},
        **told,
    })


def of_program(triples: tuple[str, ...], program: bytes | None = None) -> bytes:
    """What is in the program of any of these targets; with its digest, if it is that of one."""
    told = metadata(triples)
    tree = linked(told, compiled(triples))
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    digests = {(one["name"], one["version"]): one["checksum"] for one in lock["package"] if "checksum" in one}
    known = {one["id"]: one for one in told["packages"]}
    components = {one: component(known[one], digests) for one in tree}
    by_name = sorted(components, key=lambda one: (known[one]["name"], known[one]["version"]))
    others = beside(known, tree)
    needs = {components[one]["bom-ref"]: [*(components[dep]["bom-ref"] for dep in tree[one]),
                                          *(purl for purl, (_, by) in others.items() if by == known[one]["name"])] for one in by_name}
    [root] = [one for one in tree if components[one]["type"] == "application"]
    top = {**components[root], **({"hashes": [{"alg": "SHA-256", "content": sha256(program)}]} if program else {})}
    listed = [*(components[one] for one in by_name if one != root), *(one for one, _ in others.values())]
    return bill(top, listed, {**needs, **{purl: [] for purl in others}})


def of_starter(name: str, platforms: list[str]) -> bytes:
    """What is in the package that starts the program from npm: nothing of others, but it wants one of these packages."""
    number, words = version(), licence(manifest()["workspace"]["package"]["license"])
    made = {one: {"type": "application", "bom-ref": f"pkg:npm/{one}@{number}", "name": one, "version": number, "scope": "optional",
                  "licenses": words, "purl": f"pkg:npm/{one}@{number}"} for one in [name, *platforms]}
    refs = {one: told["bom-ref"] for one, told in made.items()}
    return bill(made[name], [made[one] for one in platforms], {refs[name]: [refs[one] for one in platforms], **{refs[one]: [] for one in platforms}})


def build() -> tuple[str, bytes]:
    """The file beside the packages, of all targets."""
    return f"{PROGRAM}-{version()}.cdx.json", of_program(tuple(RELEASED))
