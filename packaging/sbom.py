"""Writes bills of materials (SBOM) in CycloneDX. They list every crate that is compiled into a program, with its licence and digest, and also SQLite
and the standard library, which are no crates, under the names that databases of vulnerabilities use.

Each package contains the bill of its own program, with that program's digest; one more bill covers all targets. The facts come from `cargo tree`,
`cargo metadata` and Cargo.lock, which are exact, so that no other tool is needed.
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

#: The name of the bill in every package.
FILE = "sbom.cdx.json"


@functools.cache
def metadata(triples: tuple[str, ...] = tuple(RELEASED)) -> dict:
    targets = [argument for triple in triples for argument in ("--filter-platform", triple)]
    output = subprocess.run(["cargo", "metadata", "--format-version", "1", "--locked", "--all-features", *targets], cwd=ROOT, check=True, stdout=subprocess.PIPE)
    return json.loads(output.stdout)


@functools.cache
def compiled(triples: tuple[str, ...] = tuple(RELEASED)) -> frozenset[tuple[str, str]]:
    """The names and versions of the crates that are compiled into the program, or run during its build, for any of these targets."""
    crates = set()
    for triple in triples:
        output = subprocess.run(["cargo", "tree", "--locked", "--package", PROGRAM, "--features", "cluster", "--edges", "normal,build", "--prefix", "none",
                               "--target", triple], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
        for line in filter(None, output.stdout.splitlines()):
            name, number, *_ = line.split()
            crates.add((name, number.removeprefix("v")))
    return frozenset(crates)


def linked(metadata: dict, kept: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The packages that the program is built from, each with its dependencies.

    `cargo metadata` also resolves features that only tests switch on, with their packages; `cargo tree` does not, so only its packages are kept.
    """
    there = {one["id"] for one in metadata["packages"] if (one["name"], one["version"]) in kept}
    return {node["id"]: sorted({dep["pkg"] for dep in node["deps"] if dep["pkg"] in there
                                and any(kind["kind"] != "dev" for kind in dep["dep_kinds"])})
            for node in metadata["resolve"]["nodes"] if node["id"] in there}


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
    """The compiled parts that are no crates, by their references, each with the crate that brings it."""
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
    """A bill of components, with the references of the components that each of them needs."""
    when = datetime.datetime.fromtimestamp(time(), datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    content = {"components": components, "dependencies": [{"ref": one, "dependsOn": on} for one, on in needs.items()]}
    return as_json({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        # Attestations require a serial number. It is a hash of the content, so that the same sources give the same bill.
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([root, content]))}",
        "version": 1,
        "metadata": {"timestamp": when, "component": {key: value for key, value in root.items() if key != "scope"}},
        **content,
    })


def of_program(triples: tuple[str, ...], program: bytes | None = None) -> bytes:
    """The bill of the programs of these targets; with a digest, if it is of a single program."""
    facts = metadata(triples)
    tree = linked(facts, compiled(triples))
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    digests = {(one["name"], one["version"]): one["checksum"] for one in lock["package"] if "checksum" in one}
    known = {one["id"]: one for one in facts["packages"]}
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
    """The bill of the npm package that starts the program: it contains no code of others, and depends on one of these packages."""
    number, words = version(), licence(manifest()["workspace"]["package"]["license"])
    components = {one: {"type": "application", "bom-ref": f"pkg:npm/{one}@{number}", "name": one, "version": number, "scope": "optional",
                        "licenses": words, "purl": f"pkg:npm/{one}@{number}"} for one in [name, *platforms]}
    refs = {one: component["bom-ref"] for one, component in components.items()}
    return bill(components[name], [components[one] for one in platforms], {refs[name]: [refs[one] for one in platforms], **{refs[one]: [] for one in platforms}})


def build() -> tuple[str, bytes]:
    """The file beside the packages, of all targets."""
    return f"{PROGRAM}-{version()}.cdx.json", of_program(tuple(RELEASED))
