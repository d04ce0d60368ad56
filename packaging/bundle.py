"""A bundle for desktop clients (MCPB): the program, and a manifest by which a person is asked for the directories."""

from __future__ import annotations

from facts import PROGRAM, ROOT, TITLE, Entry, Speaker, Target, as_json, licences, package, version, zipped
from sbom import FILE


def start(target: Target) -> dict:
    """How a client starts the program. Claude Desktop unpacks every file as 0600 (modelcontextprotocol/mcpb#294), so a shell makes it executable."""
    program, directories = f"${{__dirname}}/server/{target.file}", "${user_config.directories}"
    if target.npm[0] == "win32":
        return {"command": program, "args": [directories]}
    return {"command": "/bin/sh", "args": ["-c", 'chmod u+x "$0" && exec "$0" "$@"', program, directories]}


def manifest(target: Target, repository: str, speaker: Speaker) -> dict:
    words = package()
    return {
        "manifest_version": "0.3",
        "name": PROGRAM,
        "display_name": TITLE,
        "version": version(),
        "description": words["description"],
        "author": {"name": "The mcp-text-editor contributors", "url": f"https://github.com/{repository}"},
        "repository": {"type": "git", "url": f"https://github.com/{repository}"},
        "license": "MIT OR Apache-2.0",
        "keywords": words["keywords"],
        "server": {
            "type": "binary",
            "entry_point": f"server/{target.file}",
            "mcp_config": start(target),
        },
        "tools": [{"name": tool["name"], "description": tool["title"]} for tool in speaker.tools()],
        "user_config": {
            "directories": {
                "type": "directory",
                "title": "Directories",
                "description": "The files in these directories can be read and edited, and no others",
                "multiple": True,
                "required": True,
            },
        },
        "compatibility": {"platforms": [target.npm[0]]},
    }


def build(target: Target, program: bytes, repository: str, speaker: Speaker, bill: bytes) -> tuple[str, bytes]:
    """The bundle's file name, and its bytes."""
    entries = [
        Entry("manifest.json", as_json(manifest(target, repository, speaker))),
        Entry(f"server/{target.file}", program, 0o755),
        Entry("README.md", (ROOT / "README.md").read_bytes()),
        *licences(),
        Entry(FILE, bill),
    ]
    return f"{PROGRAM}-{version()}-{'-'.join(target.npm)}.mcpb", zipped(entries)
