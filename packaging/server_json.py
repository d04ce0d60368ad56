"""The entry in the registry of MCP servers: where clients find the packages, and what they ask a person for."""

from __future__ import annotations

from facts import REGISTRY_NAME, TITLE, as_json, package, python_version, sha256, version

DIRECTORIES = [{
    "type": "positional",
    "valueHint": "directory",
    "description": "A directory whose files may be read and edited; without any, the one in which the server is started",
    "format": "filepath",
    "isRepeated": True,
}]


def build(bundles: list[tuple[str, bytes]], repository: str) -> tuple[str, bytes]:
    """The entry, with the bundles that there are: their digests are checked by clients."""
    stdio = {"transport": {"type": "stdio"}}
    packages = [
        {"registryType": "pypi", "identifier": REGISTRY_NAME, "version": python_version(version()), "runtimeHint": "uvx", **stdio,
         "packageArguments": DIRECTORIES},
        {"registryType": "npm", "identifier": REGISTRY_NAME, "version": version(), "runtimeHint": "npx", **stdio,
         "packageArguments": DIRECTORIES},
        {"registryType": "oci", "identifier": f"ghcr.io/{repository}:{version()}".lower(), "runtimeHint": "docker", **stdio,
         "runtimeArguments": [
             # The files are edited as the one whose they are; the image's own user is nobody.
             {"type": "named", "name": "--user", "value": "{user}", "variables": {"user": {
                 "description": "Whose files they are, as uid:gid, such as 1000:1000: what `id -u` and `id -g` say", "isRequired": True}}},
             {"type": "named", "name": "--volume", "value": "{directory}:/work", "variables": {"directory": {
                 "description": "The directory whose files may be read and edited", "format": "filepath", "isRequired": True}}}]},
        *({"registryType": "mcpb", "identifier": f"https://github.com/{repository}/releases/download/v{version()}/{name}",
           "fileSha256": sha256(data), **stdio} for name, data in bundles),
    ]
    return "server.json", as_json({
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": f"io.github.{repository}",
        "title": TITLE,
        # The registry takes at most 100 characters.
        "description": package()["description"],
        "repository": {"url": f"https://github.com/{repository}", "source": "github"},
        "version": version(),
        "packages": packages,
    })
