"""An archive of the program and what belongs to it, for people who install by hand and for Homebrew; and what a container's image is made of."""

from __future__ import annotations

from facts import PROGRAM, ROOT, SHELLS, Entry, Speaker, Target, licences, tar, version, zipped, zipped_tar
from sbom import FILE


def build(target: Target, program: bytes, speaker: Speaker, bill: bytes) -> tuple[str, bytes]:
    """The archive's file name, and its bytes: a zip for Windows, else a compressed tar."""
    name = f"{PROGRAM}-{version()}-{target.triple}"
    documents = [*((f"man/{page}", text) for page, text in speaker.pages().items()),
                 *((f"completions/{SHELLS[shell]}", text) for shell, text in speaker.completions().items())]
    entries = [
        Entry(f"{name}/{target.file}", program, 0o755),
        Entry(f"{name}/README.md", (ROOT / "README.md").read_bytes()),
        *licences(f"{name}/"),
        Entry(f"{name}/{FILE}", bill),
        *(Entry(f"{name}/{path}", text) for path, text in documents),
    ]
    if target.npm[0] == "win32":
        return f"{name}.zip", zipped(entries)
    return f"{name}.tar.gz", zipped_tar(entries)


def dockerfile(repository: str) -> bytes:
    """docker/Dockerfile, and what registries read of an image; by the first label that of MCP servers sees whose it is."""
    labels = {
        "io.modelcontextprotocol.server.name": f"io.github.{repository}",
        "org.opencontainers.image.source": f"https://github.com/{repository}",
        "org.opencontainers.image.version": version(),
        "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
    }
    text = (ROOT / "packaging/docker/Dockerfile").read_text()
    return (text + "".join(f'LABEL {name}="{value}"\n' for name, value in labels.items())).encode()


def image_layer(target: Target, program: bytes) -> tuple[str, bytes]:
    """All files of the image, with their modes, for docker/Dockerfile. Whoever the container runs as makes its state in `/state`."""
    directories = [("state", 0o1777), ("usr", 0o755), ("usr/bin", 0o755), ("work", 0o755)]
    return f"layer-{target.docker}.tar", tar([Entry(f"usr/bin/{PROGRAM}", program, 0o755)], directories)
