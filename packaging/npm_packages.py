"""Packages for npm: the program, one package for each platform, and the starter, of which they are optional dependencies."""

from __future__ import annotations

from facts import PROGRAM, REGISTRY_NAME, RELEASED, ROOT, Entry, Target, as_json, licences, package, readme, version, zipped_tar
from sbom import FILE, of_starter


def name_for(target: Target) -> str:
    return "-".join([REGISTRY_NAME, *target.npm])


def common(repository: str) -> dict:
    return {
        "version": version(),
        "license": "MIT OR Apache-2.0",
        "repository": {"type": "git", "url": f"git+https://github.com/{repository}.git"},
    }


def packed(name: str, manifest: dict, entries: list[Entry], bill: bytes) -> tuple[str, bytes]:
    files = [Entry("package.json", as_json({"name": name, **manifest})), *entries, *licences(), Entry(FILE, bill)]
    inside = [Entry(f"package/{entry.path}", entry.data, entry.mode) for entry in files]
    return f"{name}-{version()}.tgz", zipped_tar(inside)


def platform(target: Target, program: bytes, repository: str, bill: bytes) -> tuple[str, bytes]:
    """The package that has the program."""
    system, cpu = target.npm
    manifest = {
        **common(repository),
        "description": f"The program of {REGISTRY_NAME} for {system} on {cpu}",
        "os": [system],
        "cpu": [cpu],
        # A static program needs no C library; one of the machine at hand does.
        **({"libc": ["glibc"]} if target.triple.endswith("-gnu") else {}),
        "preferUnplugged": True,
    }
    return packed(name_for(target), manifest, [Entry(f"bin/{target.file}", program, 0o755)], bill)


def starter(repository: str) -> tuple[str, bytes]:
    """The package that users name."""
    words, platforms = package(), [name_for(target) for target in RELEASED.values()]
    manifest = {
        **common(repository),
        "description": words["description"],
        "keywords": words["keywords"],
        # By this the registry of MCP servers sees that the package and its entry there are of the same people.
        "mcpName": f"io.github.{repository}",
        "bin": {PROGRAM: "starter.js"},
        "engines": {"node": ">=18"},
        "optionalDependencies": {name: version() for name in platforms},
    }
    script = (ROOT / "packaging/npm/starter.js").read_bytes()
    return packed(REGISTRY_NAME, manifest, [Entry("starter.js", script, 0o755), Entry("README.md", readme(repository).encode())],
                  of_starter(REGISTRY_NAME, platforms))
