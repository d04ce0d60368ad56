"""How paths may be spelled on Windows, as a table of the program by stdio: each path is read, edited and created, and what is not served is
left as it was. `proofs.py` runs it.

In a path `@` is the root as Windows writes it, `/@` the same with `/` for each separator, and `%` what it is without its drive.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import wine
from session import Server

GET, PATCH, CREATE = "get_text_file_contents", "patch_text_file_contents", "create_text_file"
ABSOLUTE, OUTSIDE, UNUSABLE = "path_not_absolute", "outside_allowed_directories", "invalid_arguments"

# Spellings of `Sub\file.txt`.
SAME = [
    r"@\Sub\file.txt", "/@/Sub/file.txt", r"@\SUB\FILE.TXT", r"@\sub/File.Txt", "/@//Sub//file.txt", r"@\.\Sub\.\file.txt",
    r"\\?\@\Sub\file.txt", r"\\?\@\sUB\fILE.TXT", "//?//@/Sub/file.txt", r"\\.\@\Sub\file.txt", r"\\?\/@/Sub\file.txt",
]
# What no spelling may do: a path, and why.
REFUSED = [
    # From somewhere on, and what is no file.
    (r"C:x", ABSOLUTE), (r"C:Sub\file.txt", ABSOLUTE), (r"%\Sub\file.txt", ABSOLUTE), (r"Sub\file.txt", ABSOLUTE), (r".\Sub\file.txt", ABSOLUTE),
    (r"\\.\PhysicalDrive0", ABSOLUTE), (r"\\.\pipe\x", ABSOLUTE), (r"\\?\GLOBALROOT\??\@\Sub\file.txt", ABSOLUTE),
    (r"\\?\Volume{00000000-0000-0000-0000-000000000000}\x", ABSOLUTE), (r"\\.\C:", ABSOLUTE),
    (r"\\server.invalid\share\x", OUTSIDE), ("//server.invalid/share/x", OUTSIDE), (r"\\?\UNC\server.invalid\share\x", OUTSIDE),
    (r"\\server.invalid/share\x", OUTSIDE), (r"@-beside\x", OUTSIDE), (r"@\Sub\..\file.txt", "path_traversal"),
    ("/@/Sub/../../x", "path_traversal"), (r"\\?\@\..\x", "path_traversal"), (r"@\Sub\..", "path_traversal"),
    # Names that Windows would cut down to others.
    (r"@\Sub\file.txt.", UNUSABLE), (r"@\Sub\file.txt...", UNUSABLE), (r"@\Sub\file.txt ", UNUSABLE), (r"@\Sub\file.txt. .", UNUSABLE),
    (r"@\Sub.\file.txt", UNUSABLE), ("/@/Sub /file.txt", UNUSABLE), (r"\\?\@\Sub\file.txt.", UNUSABLE), (r"@\Sub\...", UNUSABLE),
    # Streams.
    (r"@\Sub\file.txt:stream", UNUSABLE), (r"@\Sub\file.txt::$DATA", UNUSABLE), (r"@\Sub\FILE.TXT:$DATA", UNUSABLE),
    (r"@\Sub::$INDEX_ALLOCATION\file.txt", UNUSABLE), (r"@\Sub:$I30:$INDEX_ALLOCATION\file.txt", UNUSABLE), (r"\\?\@\Sub\file.txt::$DATA", UNUSABLE),
    # Devices.
    *((rf"@\Sub\{name}", UNUSABLE) for name in (
        "CON", "con", "PRN", "AUX", "NUL", "nul.txt", "NUL.tar.gz", "COM1", "com9.log", "LPT1", "COM¹", "LPT²", "CONIN$", "CONOUT$")),
    (r"@\NUL\file.txt", UNUSABLE), (r"\\?\@\Sub\CON", UNUSABLE),
    # Characters that no name has.
    *((rf"@\Sub\a{character}b", UNUSABLE) for character in '?*<>|"\x01\x1f'),
]
# What is there, and may be read alone. The short name may be another's, or nobody's.
GIT = [r"@\.git\config", r"@\.GIT\config", "/@/.Git/CONFIG", r"\\?\@\.giT\config"]
NEW_IN_GIT = [r"@\.git\hooks\x", r"@\.GIT\x", r"@\GIT~1\hooks\x", r"@\git~1\x", "/@/Git~1/x", r"\\?\@\.GIT\x"]
CUT_DOWN_TO_GIT = [r"@\.git.\config", r"@\.git \config", r"@\.git::$INDEX_ALLOCATION\config", r"@\.git.\hooks\x"]


class World:
    """A root, and what is in it before each call."""

    def __init__(self, root: Path, must: Callable[[bool, object], None]) -> None:
        self.root, self.must = root, must
        self.windows = wine.to_windows(str(root))
        for name in ("Sub", ".git"):
            (root / name).mkdir()
        (root / "Sub" / "file.txt").write_bytes(b"one\n")
        (root / ".git" / "config").write_bytes(b"one\n")
        self.before = self.files()

    def files(self) -> dict[str, bytes]:
        """Every file of the root, and what lies beside it under a name like its own."""
        beside = self.root.parent.glob(self.root.name + "*/**/*")
        return {str(path): path.read_bytes() for path in beside if path.is_file()}

    def spelled(self, path: str) -> str:
        plain = self.windows.replace("\\", "/")
        return path.replace("/@", plain).replace("@", self.windows).replace("%", self.windows[2:])

    def code(self, server: Server, tool: str, path: str, **more: object) -> str:
        reply = server.call(tool, {"file_path": self.spelled(path), **more})
        return reply.code or "ok"

    def read(self, server: Server, path: str) -> str:
        return self.code(server, GET, path)

    def edit(self, server: Server, path: str) -> str:
        return self.code(server, PATCH, path, old_string="one", new_string="two")

    def create(self, server: Server, path: str) -> str:
        return self.code(server, CREATE, path, contents="new\n")

    def works(self, server: Server, path: str) -> None:
        """The file is read and edited under the name that it has, and is not made a second time."""
        name = self.root / "Sub" / "file.txt"
        done = [call(server, path) for call in (self.read, self.edit, self.create)]
        self.must(done == ["ok", "ok", "already_exists"], (path, done))
        self.must(self.files() == {**self.before, str(name): b"two\n"}, (path, self.files()))
        name.write_bytes(b"one\n")

    def refuses(self, server: Server, path: str, code: str, read: str | None = None) -> None:
        done = [call(server, path) for call in (self.read, self.edit, self.create)]
        self.must(done == [read or code, code, code], (path, done))
        self.must(self.files() == self.before, (path, self.files()))


def paths(must: Callable[[bool, object], None]) -> None:
    """By a root on a drive."""
    with tempfile.TemporaryDirectory(prefix="mte-") as name:
        world = World(Path(name).resolve(), must)
        with Server(world.root) as server:
            for path in SAME:
                world.works(server, path)
            for path, code in REFUSED:
                world.refuses(server, path, code)
            for path in GIT:
                world.refuses(server, path, "protected_path", read="ok")
            for path in NEW_IN_GIT:
                must(world.create(server, path) == "protected_path", path)
            for path in CUT_DOWN_TO_GIT:
                world.refuses(server, path, UNUSABLE)
            must(world.files() == world.before, world.files())
            # A new file has the name that it is given, in a directory that has its own.
            must(world.create(server, r"@\sub\New.txt") == "ok", "a new file")
            must(sorted(path.name for path in (world.root / "Sub").iterdir()) == ["New.txt", "file.txt"], "names as they are on disk")


def share(must: Callable[[bool, object], None]) -> None:
    """By a root on a share: this machine's own, which Wine has in its prefix, and Windows for administrators."""
    with tempfile.TemporaryDirectory(prefix="mte-") as name:
        world = World(Path(name).resolve(), must)
        local = world.windows
        world.windows = rf"\\localhost\{local[0]}$\{local[3:]}"
        for root in (world.windows, world.windows.replace("\\", "/"), rf"\\?\UNC\{world.windows[2:]}"):
            with Server(root) as server:
                if world.read(server, r"@\Sub\file.txt") != "ok" and not server.hello["instructions"].startswith("Reads and edits text files in"):
                    print(f"skipped: this system does not share its drives with itself: {root}", flush=True)
                    return
                for path in (r"@\Sub\file.txt", "/@/Sub/file.txt", r"@\SUB\FILE.TXT", r"@/Sub\file.txt", rf"\\?\UNC\{world.windows[2:]}\Sub\file.txt",
                             world.windows.upper() + r"\SUB\FILE.TXT"):
                    world.works(server, path)
                for path in (r"@\Sub\file.txt.", r"@\Sub\file.txt::$DATA", r"@\Sub\CON"):
                    world.refuses(server, path, UNUSABLE)
                for path in (rf"\\localhost\{local[0]}$\x", rf"\\other.invalid\{local[0]}$\{local[3:]}\Sub\file.txt"):
                    world.refuses(server, path, OUTSIDE)
                world.refuses(server, r"@\.GIT\config", "protected_path", read="ok")
