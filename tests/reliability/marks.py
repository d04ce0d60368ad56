"""What chattr marks a file with, read-only mounts, and files that others hold on to: on real file systems, mounted here.

    marks.py [--only TEXT]

Wants root, chattr, lsattr and debugfs (e2fsprogs), mkfs.xfs and xfs_io (xfsprogs), mkfs.btrfs (btrfs-progs). Of a file system that this
kernel has not got it is said, and no more.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable

from harness import Reply, Report, Server, reachable

PATCH = "patch_text_file_contents"
NOBODY = 65534

#: For each file system how its image is made, and the flags that at least must be settable there, so that something is tried.
KINDS = {
    "ext4": (["mkfs.ext4", "-q"], "AdSsut"),
    "xfs": (["mkfs.xfs", "-q"], "AdS"),
    "btrfs": (["mkfs.btrfs", "-q"], "AdScC"),
    "tmpfs": ([], "Ad"),
}
#: What a person may want to set; what a file system does not take is passed over.
LETTERS = "AdSsutcmCxj"
#: What is a file's by the way it is stored, not by anybody's wish.
OWN = set("eNIhHZX-")


def run(*command: str | Path) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def can(*command: str | Path) -> bool:
    return subprocess.run([str(part) for part in command], capture_output=True, check=False).returncode == 0


def flags(path: Path) -> str:
    listed = run("lsattr", "-d", path).split()[0]
    return "".join(sorted(set(listed) - OWN))


class Disk:
    """A new file system, mounted on `tree` in a directory of its own; beside that is a state directory."""

    def __init__(self, kind: str, prepare: Callable[[Path], None] | None = None) -> None:
        self.base = Path(tempfile.mkdtemp(prefix="mte-marks-")).resolve()
        self.base.chmod(0o711)
        self.tree, self.state = self.base / "tree", self.base / "state"
        self.tree.mkdir()
        self.mounted: list[Path] = []
        try:
            if kind == "tmpfs":
                self.mount("-t", "tmpfs", "none", self.tree)
            else:
                image = self.base / "image"
                with open(image, "wb") as file:
                    file.truncate(512 << 20)
                run(*KINDS[kind][0], image)
                if prepare:
                    prepare(image)
                self.mount("-o", "loop", image, self.tree)
        except BaseException:
            self.close()
            raise

    def mount(self, *arguments: str | Path) -> None:
        run("mount", *arguments)
        self.mounted.append(Path(arguments[-1]))

    def put(self, name: str, content: str = "old\n") -> Path:
        path = self.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        return path

    def server(self, *options: str, user: int | None = None, root: Path | None = None) -> Server:
        self.state.mkdir(exist_ok=True, mode=0o700)
        for path in [self.state, *self.state.rglob("*")]:
            os.chown(path, user or 0, user or 0)
        if user is not None:
            reachable(self.base)
        return Server(root or self.tree, options=["--tools", "all", *options], state=self.state, user=user)

    def strays(self) -> list[str]:
        return [f"stray {path}" for path in self.base.rglob(".mte-*")]

    def close(self) -> None:
        for path in reversed(self.mounted):
            subprocess.run(["umount", "-l", str(path)], capture_output=True, check=False)
        shutil.rmtree(self.base, ignore_errors=True)

    def __enter__(self) -> Disk:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def edit(server: Server, path: Path, old: str = "old", new: str = "new") -> Reply:
    return server.call(PATCH, {"files": [{"file_path": str(path), "patches": [{"old_string": old, "new_string": new}]}]})


def warnings(reply: Reply) -> list[str]:
    return [] if reply.is_error else [text for file in reply.json["files"] for text in file.get("warnings", [])]


def named(reply: Reply) -> str:
    """The flags that a reply says are not kept."""
    found = [re.search(r"old one's flags? (\w+)", text) for text in warnings(reply)]
    return "".join(match[1] for match in found if match)


def done(reply: Reply, path: Path, content: str = "new\n") -> list[str]:
    if reply.is_error:
        return [f"refused: {reply.text[:300]}"]
    return [] if path.read_text() == content else [f"acknowledged, and not done: {path.read_text()!r}"]


def refused(reply: Reply, code: str, *words: str, never: tuple[str, ...] = ()) -> list[str]:
    if reply.code != code:
        return [f"{reply.code or 'done'}, must be {code}: {reply.text[:300]}"]
    problems = [f"no word of {word!r}: {reply.text[:400]}" for word in words if word not in reply.text]
    return problems + [f"{word!r} is misleading: {reply.text[:400]}" for word in never if word in reply.text]


def append(server: Server, path: Path) -> Reply:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return server.call("append_text_file_contents", {"file_path": str(path), "contents": "more\n", "file_hash": digest})


# The cases: each has a new file system


def flags_are_kept(disk: Disk, kind: str) -> list[str]:
    """All that can be set at once, too; files of root, edited by root, and of another user."""
    problems, settable = [], ""
    for user in (None, NOBODY):
        os.chown(disk.tree, user or 0, user or 0)
        files = {}
        for letters in [*LETTERS, LETTERS]:
            # How a file is stored is fixed by its first byte.
            path = disk.put(f"{user}/{letters}", "")
            os.chown(path.parent, user or 0, user or 0)
            set_ = [letter for letter in letters if can("chattr", f"+{letter}", path) and letter in flags(path)]
            path.write_text("old\n")
            os.chown(path, user or 0, user or 0)
            settable += "".join(set_)
            files[path] = (flags(path), path.stat().st_ino)
        with disk.server(user=user) as server:
            for path, (before, inode) in files.items():
                reply = edit(server, path)
                problems += done(reply, path)
                lost = sorted(set(before) ^ set(flags(path)))
                if lost != sorted(named(reply)):
                    problems.append(f"{path.name} of user {user}: {before} became {flags(path)}, and it said {warnings(reply)}")
                # Whoever may set it can keep it.
                if user is None and lost:
                    problems.append(f"{path.name}: root lost {lost}")
                if path.stat().st_ino == inode:
                    problems.append(f"{path.name} was not replaced")
    missing = set(KINDS[kind][1]) - set(settable)
    if missing:
        problems.append(f"{''.join(sorted(missing))} cannot be set on {kind}, so that it proves nothing")
    return problems + disk.strays()


def a_directorys_flags_are_its_own(disk: Disk, kind: str) -> list[str]:
    path = disk.put("d/file")
    before = flags(path)
    for letter in KINDS[kind][1]:
        can("chattr", f"+{letter}", path.parent)
    with disk.server() as server:
        problems = done(edit(server, path), path)
        if kind != "tmpfs" and flags(disk.put("d/other")) == before:
            problems.append(f"{kind} passes no flags on, so that it proves nothing")
        if flags(path) != before:
            problems.append(f"{before!r} became {flags(path)!r}")
    return problems


def what_may_not_be_changed_stays(disk: Disk, kind: str) -> list[str]:
    problems = []
    for letter, word in (("i", "is immutable (chattr +i)"), ("a", "is append-only (chattr +a)")):
        path, other = disk.put(f"{letter}/file"), disk.put(f"{letter}/other")
        edits = {"files": [{"file_path": str(p), "patches": [{"old_string": "old", "new_string": "new"}]} for p in (other, path)]}
        for user in (None, NOBODY):
            for p in (disk.tree, path.parent, path, other):
                os.chown(p, user or 0, user or 0)
            run("chattr", f"+{letter}", path)
            try:
                with disk.server(user=user) as server:
                    for reply in (edit(server, path), append(server, path), server.call(PATCH, edits), server.call(PATCH, {**edits, "dry_run": True})):
                        problems += refused(reply, "permission_denied", word, f"{path} is", f"chattr -{letter}", never=("change the permissions",))
                    move = {"from": str(path), "to": str(path.with_name("moved"))}
                    remove = {"file_path": str(path), "file_hash": hashlib.sha256(path.read_bytes()).hexdigest()}
                    for tool, call in (("move_text_file", move), ("move_text_file", {**move, "dry_run": True}), ("remove_text_file", remove)):
                        problems += refused(server.call(tool, call), "permission_denied", word, f"{path} is", f"chattr -{letter}",
                                            never=("change the permissions",))
            finally:
                run("chattr", f"-{letter}", path)
            if (path.read_text(), other.read_text()) != ("old\n", "old\n"):
                problems.append(f"{path} and {other} have changed")
        # Undo of what was made before the mark.
        with disk.server() as server:
            made = server.call("create_text_file", {"file_path": str(path.with_name("made")), "contents": "made\n"})
            run("chattr", f"+{letter}", path.parent)
            try:
                # In the directory names must stay; what the files hold need not.
                reply = edit(server, path)
                problems += done(reply, path)
                if not any(f"directory {word}" in text for text in warnings(reply)):
                    problems.append(f"no warning names the case: {warnings(reply)}")
                for call in (("create_text_file", {"file_path": str(path.with_name("new")), "contents": "x"}),
                             ("create_text_file", {"file_path": str(path.parent / "deep/new"), "contents": "x"}),
                             ("create_text_file", {"file_path": str(path.with_name("new")), "contents": "x", "dry_run": True}),
                             ("undo_text_file_edits", {"edit_id": made.json["edit_id"]})):
                    problems += refused(server.call(*call), "permission_denied", word, f"the directory {path.parent} ",
                                        f"chattr -{letter}", never=("change the permissions",))
            finally:
                run("chattr", f"-{letter}", path.parent)
        if sorted(p.name for p in path.parent.iterdir()) != ["file", "made", "other"]:
            problems.append(f"left: {sorted(path.parent.iterdir())}")
    return problems + disk.strays()


def read_only_mounts(disk: Disk, kind: str) -> list[str]:
    """Mounted so at the start, or while the server runs; with the state directory on it, or elsewhere."""
    path = disk.put("d/file")
    calls: list[Callable[[Server], Reply]] = [
        lambda server: edit(server, path),
        lambda server: append(server, path),
        lambda server: server.call("create_text_file", {"file_path": str(path.with_name("new")), "contents": "x"}),
        lambda server: server.call("create_text_file", {"file_path": str(path.parent / "deep/new"), "contents": "x"}),
        lambda server: server.call(PATCH, {"dry_run": True, "files": [{"file_path": str(path), "patches": [
            {"old_string": "old", "new_string": "new"}]}]}),
    ]
    problems = []
    for state in (disk.state, disk.tree / "state"):
        disk.state = state
        for is_running in (False, True):
            run("mount", "-o", "remount,rw", disk.tree)
            if state.is_relative_to(disk.tree):
                with disk.server(root=disk.tree / "d"):
                    pass
            if not is_running:
                run("mount", "-o", "remount,ro", disk.tree)
            server = Server(disk.tree / "d", options=["--tools", "all"], state=state)
            try:
                run("mount", "-o", "remount,ro", disk.tree)
                for call in calls:
                    problems += refused(call(server), "io_error", "mounted read-only", never=("to change the permissions", "denies access"))
                read = server.call("get_text_file_contents", {"file_path": str(path)})
                if read.is_error:
                    problems.append(f"it cannot even be read: {read.text[:300]}")
            finally:
                server.close()
    run("mount", "-o", "remount,rw", disk.tree)
    return problems + done(edit_once(disk, path), path)


def edit_once(disk: Disk, path: Path) -> Reply:
    with disk.server(root=path.parent) as server:
        return edit(server, path)


def a_writable_file_on_a_read_only_mount(disk: Disk, kind: str) -> list[str]:
    """As a container has it whose file system is read-only, but for one file."""
    path, source = disk.put("d/file", "covered\n"), disk.put("source")
    disk.mount("--bind", path.parent, path.parent)
    disk.mount("--bind", source, path)
    run("mount", "-o", "remount,bind,ro", path.parent)
    with disk.server(root=path.parent) as server:
        reply = edit(server, path)
        problems = done(reply, source)
    if not any("mount point" in text for text in warnings(reply)):
        problems.append(f"no warning names the case: {warnings(reply)}")
    return problems + disk.strays()


def whoever_holds_on_to_a_file_sees_its_edits(disk: Disk, kind: str) -> list[str]:
    """A file that is mounted by itself elsewhere, as `docker -v FILE:FILE` does it; and one that is open."""
    problems = []
    for options in ((), ("--in-place", "c*.toml")):
        path = disk.put("d/config.toml")
        inside = disk.base / f"container{len(options)}"
        inside.touch()
        disk.mount("--bind", path, inside)
        with open(path, encoding="ascii") as held, disk.server(*options) as server:
            def seen() -> list[str]:
                held.seek(0)
                return [held.read(), inside.read_text()]
            reply = edit(server, path)
            problems += done(reply, path)
            # Without the option nobody can know: this is why there is one.
            if seen() != (["new\n"] * 2 if options else ["old\n"] * 2):
                problems.append(f"with {options} they see {seen()}")
            if bool(options) != any("matches --in-place, so it was edited in place" in text for text in warnings(reply)):
                problems.append(f"with {options} it warns: {warnings(reply)}")
            undone = server.call("undo_text_file_edits", {"edit_id": reply.json["edit_id"]})
            problems += done(undone, path, "old\n")
            if seen() != ["old\n"] * 2:
                problems.append(f"with {options} they see {seen()} after undo")
            again = edit(server, path)
        if options:
            # A person, in a directory of their own.
            run(os.environ["MCP_TEXT_EDITOR_BIN"], "--state-dir", disk.state, "--in-place", "d/config.toml", "undo", again.json["edit_id"])
            if (path.read_text(), inside.read_text()) != ("old\n", "old\n"):
                problems.append(f"after a person's undo: {path.read_text()!r} here, {inside.read_text()!r} there")
    return problems + disk.strays()


CASES = (flags_are_kept, a_directorys_flags_are_its_own, what_may_not_be_changed_stays, read_only_mounts, a_writable_file_on_a_read_only_mount,
         whoever_holds_on_to_a_file_sees_its_edits)


def what_cannot_be_set_is_named(report: Report) -> None:
    """ext4's journalling of data is for the rich in rights; here it is set where the file system is not mounted."""
    def journaled(image: Path) -> None:
        with tempfile.TemporaryDirectory() as empty:
            source = Path(empty, "source")
            source.write_text("old\n")
            for request in (f"write {source} file", "set_inode_field file flags 0x84000", *(f"set_inode_field file {whose} {NOBODY}" for whose in ("uid", "gid"))):
                run("debugfs", "-w", "-R", request, image)

    def case() -> list[str]:
        with Disk("ext4", journaled) as disk:
            path = disk.tree / "file"
            os.chown(disk.tree, NOBODY, NOBODY)
            if flags(path) != "j":
                return [f"not set up: {flags(path)}"]
            with disk.server(user=NOBODY) as server:
                reply = edit(server, path)
            problems = done(reply, path)
            if named(reply) != "j" or flags(path) != "":
                problems.append(f"{flags(path)!r}, and it said {warnings(reply)}")
            return problems + disk.strays()
    report.run("ext4: what cannot be set is named", case)


def more_of_xfs(report: Report) -> None:
    def case() -> list[str]:
        with Disk("xfs") as disk:
            path = disk.put("file", "")
            run("xfs_io", "-c", "extsize 65536", path)
            path.write_text("old\n")
            run("chattr", "-p", "42", path)
            with disk.server() as server:
                problems = done(edit(server, path), path)
            now = (run("lsattr", "-p", path).split()[0], run("xfs_io", "-c", "extsize", path).split()[0])
            return problems + ([] if now == ("42", "[65536]") else [f"project and extent size: {now}"])

    def other() -> list[str]:
        # A file of another project than its directory, which passes its own on: no file of that project may get its name.
        with Disk("xfs") as disk:
            path = disk.put("d/file")
            for command in (("-p", "7", path.parent), ("+P", path.parent), ("-p", "42", path)):
                run("chattr", *command)
            with disk.server() as server:
                reply = edit(server, path)
            problems = done(reply, path) + disk.strays()
            if run("lsattr", "-p", path).split()[0] != "42" or not any("does not give the file's name" in text for text in warnings(reply)):
                problems.append(f"{run('lsattr', '-p', path)}, and it said {warnings(reply)}")
            return problems
    report.run("xfs: project and extent size are kept", case)
    report.run("xfs: a project that is not the directory's", other)


def why_not(kind: str) -> tuple[str, bool] | None:
    """Why a file system cannot be tried, and whether it could be."""
    if os.geteuid() != 0:
        return "not root", True
    for tool in ("chattr", "lsattr", "debugfs", *KINDS[kind][0][:1], *(["xfs_io"] if kind == "xfs" else [])):
        if not shutil.which(tool):
            return f"no {tool}", True
    subprocess.run(["modprobe", "-q", kind], capture_output=True, check=False) if shutil.which("modprobe") else None
    known = {line.split()[-1] for line in Path("/proc/filesystems").read_text().splitlines()}
    if kind not in known:
        return f"this kernel has no {kind}", False
    try:
        Disk(kind).close()
    except RuntimeError as error:
        return f"cannot mount: {error}", True
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="only cases whose name holds this")
    options = parser.parse_args()
    report = Report()
    for kind in KINDS:
        if reason := why_not(kind):
            if reason[1]:
                report.skip(kind, reason[0])
            else:
                print(f"not to be had: {kind}: {reason[0]}")
            continue
        for function in CASES:
            name = f"{kind}: {function.__name__.replace('_', ' ')}"
            if options.only not in name:
                continue

            def case() -> list[str]:
                with Disk(kind) as disk:
                    return function(disk, kind)
            report.run(name, case)
        if kind == "ext4" and options.only in "ext4: what cannot be set is named":
            what_cannot_be_set_is_named(report)
        if kind == "xfs" and options.only in "xfs: project and extent size are kept":
            more_of_xfs(report)
        report.section(kind)
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
