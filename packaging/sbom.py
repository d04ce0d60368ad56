"""The bill of materials, as CycloneDX: every crate that is compiled into the program of any target, with its licence and digest.

From `cargo tree`, `cargo metadata` and Cargo.lock, which know it exactly, and need no other tool.
"""

from __future__ import annotations

import datetime
import json
import subprocess
import tomllib
import uuid

from facts import PROGRAM, RELEASED, ROOT, as_json, time, version


def metadata() -> dict:
    targets = [argument for triple in RELEASED for argument in ("--filter-platform", triple)]
    said = subprocess.run(["cargo", "metadata", "--format-version", "1", "--locked", *targets], cwd=ROOT, check=True, stdout=subprocess.PIPE)
    return json.loads(said.stdout)


def compiled() -> set[tuple[str, str]]:
    """The names and versions of what is compiled into the program, or runs for that, on any target."""
    found = set()
    for triple in RELEASED:
        said = subprocess.run(["cargo", "tree", "--locked", "--package", PROGRAM, "--edges", "normal,build", "--prefix", "none",
                               "--target", triple], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
        for line in filter(None, said.stdout.splitlines()):
            name, number, *_ = line.split()
            found.add((name, number.removeprefix("v")))
    return found


def linked(told: dict) -> dict[str, list[str]]:
    """The packages that the program is made of, each with those that it needs.

    What `cargo metadata` resolves has the features that tests alone switch on, and their packages: those `cargo tree` leaves out.
    """
    kept = compiled()
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


def build() -> tuple[str, bytes]:
    told = metadata()
    tree = linked(told)
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    digests = {(one["name"], one["version"]): one["checksum"] for one in lock["package"] if "checksum" in one}
    known = {one["id"]: one for one in told["packages"]}
    components = {one: component(known[one], digests) for one in tree}
    by_name = sorted(components, key=lambda one: (known[one]["name"], known[one]["version"]))
    [root] = [one for one in tree if components[one]["type"] == "application"]
    when = datetime.datetime.fromtimestamp(time(), datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    told = {
        "components": [components[one] for one in by_name if one != root],
        "dependencies": [{"ref": components[one]["bom-ref"], "dependsOn": [components[dep]["bom-ref"] for dep in tree[one]]} for one in by_name],
    }
    return f"{PROGRAM}-{version()}.cdx.json", as_json({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        # Whoever attests a bill asks for it. From what is in the bill, so that the same sources give the same.
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(told))}",
        "version": 1,
        "metadata": {"timestamp": when, "component": {key: value for key, value in components[root].items() if key != "scope"}},
        **told,
    })
