"""Edits on real mounts: sshfs, mergerfs and other file systems on which something differs from ext4.

    mounts.py [--only TEXT]

Each is mounted for the time of its cases: a single edit, edits of many files, creation and its undo, a file of several
names, `.env`, other programs, two processes that count, kills and recovery, two spellings of one name. After each case the
directory holds nothing but the files that are meant to be there. Needs root, /dev/fuse and the packages of
`FileSystem.needs`; what cannot be mounted says so.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import multiprocessing
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Iterator

from harness import PREFIX, Closed, Reply, Report, Server, Timeout, Trace, call_or_end, jobs, no_strace

PATCH = "patch_text_file_contents"
MOVE = "move_text_file"
#: The seconds after which a file system that has not answered is ended. A call that waits for it cannot be killed.
PATIENCE = 240
#: Calls at which the server is killed: whatever changes names, and what waits for the disk.
DEADLY = ("renameat", "renameat2", "linkat", "unlinkat", "fsync", "ftruncate")
SFTP_SERVER = "/usr/lib/openssh/sftp-server"


@dataclass(frozen=True)
class FileSystem:
    """One kind of mount. `start` is given a directory to keep things in and the mount point, and returns its processes."""

    name: str
    needs: tuple[str, ...]
    start: Callable[[Path, Path], list[subprocess.Popen[bytes]]]
    #: Whether a second name of a file can be made, and whether the file then says that it has two.
    links: bool = True
    counts_links: bool = True
    #: Whether `a.txt` is found as `A.TXT`.
    folds: bool = False
    #: Whether two names can be exchanged.
    exchanges: bool = False
    #: Whether the files are also seen where they are kept, without the mount.
    has_behind: bool = False
    #: Of which edits each place of death is tried.
    killed: tuple[str, ...] = ("three",)


def program(*command: str, **more: Any) -> list[subprocess.Popen[bytes]]:
    """A file system's process, which stays in the foreground."""
    quiet: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return [subprocess.Popen(command, **{**quiet, **more})]


def run(*command: str) -> str:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()[-300:]}")
    return done.stdout.strip()


def directories(keep: Path, *names: str) -> list[str]:
    for name in names:
        (keep / name).mkdir()
    return [str(keep / name) for name in names]


def sshfs(*options: str) -> Callable[[Path, Path], list[subprocess.Popen[bytes]]]:
    """sshfs and sftp-server, joined by a socket: neither network nor sshd."""
    def start(keep: Path, point: Path) -> list[subprocess.Popen[bytes]]:
        one, other = socket.socketpair()
        with one, other:
            server = program(SFTP_SERVER, stdin=one, stdout=one)
            return server + program("sshfs", "-f", "-o", ",".join(("passive", *options)), f"host:{keep}", str(point), stdin=other, stdout=other)
    return start


def mergerfs(*options: str) -> Callable[[Path, Path], list[subprocess.Popen[bytes]]]:
    def start(keep: Path, point: Path) -> list[subprocess.Popen[bytes]]:
        branches = ":".join(directories(keep, "one", "two"))
        return program("mergerfs", "-f", *(("-o", ",".join(options)) if options else ()), branches, str(point))
    return start


def on_image(make: tuple[str, ...], mount: tuple[str, ...]) -> Callable[[Path, Path], list[subprocess.Popen[bytes]]]:
    """A file system in a file of 16 MiB, by way of a loop device."""
    def start(keep: Path, point: Path) -> list[subprocess.Popen[bytes]]:
        image = keep / "image"
        with image.open("wb") as made:
            made.truncate(16 * 1024 * 1024)
        run(*make, str(image))
        device = run("losetup", "--find", "--show", str(image))
        try:
            started = program(*mount, device, str(point))
            wait_for(point, started)
            return started
        finally:
            # It goes once it is not mounted any more.
            run("losetup", "--detach", device)
    return start


def kernel(kind: str, *options: str) -> Callable[[Path, Path], list[subprocess.Popen[bytes]]]:
    def start(keep: Path, point: Path) -> list[subprocess.Popen[bytes]]:
        made = [option.format(keep=keep) for option in options]
        if kind == "overlay":
            directories(keep, "lower", "upper", "work")
        run("mount", "-t", kind, kind, *(("-o", ",".join(made)) if made else ()), str(point))
        return []
    return start


def bindfs(keep: Path, point: Path) -> list[subprocess.Popen[bytes]]:
    return program("bindfs", "-f", str(keep), str(point))


def unionfs(keep: Path, point: Path) -> list[subprocess.Popen[bytes]]:
    upper, lower = directories(keep, "upper", "lower")
    return program("unionfs", "-f", "-o", "cow", f"{upper}=RW:{lower}=RO", str(point))


def fuse_overlayfs(keep: Path, point: Path) -> list[subprocess.Popen[bytes]]:
    lower, upper, work = directories(keep, "lower", "upper", "work")
    return program("fuse-overlayfs", "-f", "-o", f"lowerdir={lower},upperdir={upper},workdir={work}", str(point))


NO_CACHE = ("cache.attr=0", "cache.entry=0")
EXFAT = on_image(("mkfs.exfat",), ("mount.exfat-fuse", "-d"))
OVERLAY = ("lowerdir={keep}/lower", "upperdir={keep}/upper", "workdir={keep}/work")
SSHFS = ("sshfs", SFTP_SERVER)
ALL = ("single", "three", "create", "undo create")

FILE_SYSTEMS = [
    FileSystem("sshfs", SSHFS, sshfs(), counts_links=False, has_behind=True, killed=ALL),
    FileSystem("sshfs without hard links", SSHFS, sshfs("disable_hardlink"), links=False, has_behind=True, killed=ALL),
    FileSystem("sshfs without cache", SSHFS, sshfs("cache=no", "workaround=rename"), counts_links=False, has_behind=True),
    FileSystem("mergerfs", ("mergerfs",), mergerfs(), has_behind=True, killed=ALL),
    FileSystem("mergerfs without cache", ("mergerfs",), mergerfs(*NO_CACHE), has_behind=True),
    FileSystem("mergerfs, inodes of its own", ("mergerfs",), mergerfs("use_ino"), has_behind=True),
    FileSystem("mergerfs, inodes by path", ("mergerfs",), mergerfs("use_ino", "inodecalc=path-hash", *NO_CACHE), has_behind=True),
    FileSystem("unionfs", ("unionfs",), unionfs, has_behind=True),
    FileSystem("bindfs", ("bindfs",), bindfs, has_behind=True),
    FileSystem("fuse-overlayfs", ("fuse-overlayfs",), fuse_overlayfs, exchanges=True),
    FileSystem("overlay", (), kernel("overlay", *OVERLAY), exchanges=True),
    FileSystem("tmpfs", (), kernel("tmpfs"), exchanges=True),
    FileSystem("exfat-fuse", ("mkfs.exfat", "mount.exfat-fuse", "losetup"), EXFAT, links=False, folds=True, killed=ALL),
    FileSystem("ntfs-3g", ("mkfs.ntfs", "ntfs-3g", "losetup"), on_image(("mkfs.ntfs", "-F", "-q"), ("ntfs-3g", "-o", "no_detach"))),
    FileSystem("ntfs-3g, letter case ignored", ("mkfs.ntfs", "lowntfs-3g", "losetup"),
               on_image(("mkfs.ntfs", "-F", "-q"), ("lowntfs-3g", "-o", "no_detach,ignore_case")), folds=True),
]


def wait_for(point: Path, started: list[subprocess.Popen[bytes]]) -> None:
    deadline = time.monotonic() + 20
    while not os.path.ismount(point):
        if any(process.poll() is not None for process in started):
            raise RuntimeError("the file system's process ended")
        if time.monotonic() > deadline:
            raise RuntimeError("it is not mounted after 20 s")
        time.sleep(0.01)


@contextlib.contextmanager
def mounted(system: FileSystem) -> Iterator[Mount]:
    base = Path(tempfile.mkdtemp(prefix="mte-mounts-"))
    keep, point, state = (base / name for name in ("keep", "point", "state"))
    for path in (keep, point, state):
        path.mkdir(mode=0o700)
    started: list[subprocess.Popen[bytes]] = []
    try:
        started = system.start(keep, point)
        wait_for(point, started)
        yield Mount(system, keep, point, state, started)
    finally:
        if os.path.ismount(point) and subprocess.run(["umount", str(point)], stderr=subprocess.DEVNULL).returncode:
            subprocess.run(["umount", "--lazy", str(point)], check=False)
        for process in started:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(base, ignore_errors=True)


class Mount:
    """A mounted file system, with a directory for each case."""

    def __init__(self, system: FileSystem, keep: Path, point: Path, state: Path, started: list[subprocess.Popen[bytes]]) -> None:
        self.system, self.keep, self.point, self.state, self.started = system, keep, point, state, started
        self.tree = point / "tree"
        self.trees = 0
        self.hung: list[str] = []

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Ends the file system if it hangs, and says in which system calls it was."""
        watch = threading.Timer(PATIENCE, self.end)
        watch.start()
        try:
            yield
        finally:
            watch.cancel()

    def end(self) -> None:
        for process in self.started:
            calls = [path.read_text().strip() for path in Path(f"/proc/{process.pid}/task").glob("*/syscall")]
            self.hung.append(f"{process.args[0]} did not answer for {PATIENCE} s; its system calls: {'; '.join(calls)}")
            process.kill()
            subprocess.run(["umount", "--lazy", str(self.point)], check=False)

    def reset(self, files: dict[str, bytes]) -> None:
        # Another each time: no cache knows it, and what a killed server had open may take a while to go.
        self.trees += 1
        self.tree = self.point / f"tree-{self.trees}"
        shutil.rmtree(self.state, ignore_errors=True)
        for path in (self.tree, self.state):
            path.mkdir(mode=0o700)
        for name, content in files.items():
            (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
            (self.tree / name).write_bytes(content)

    def server(self, wrap: tuple[str, ...] = ()) -> Server:
        return Server(self.tree, options=["--tools", "all"], state=self.state, wrap=wrap)

    def path(self, name: str) -> str:
        return str(self.tree / name)

    def found(self) -> dict[str, bytes]:
        """All files and directories of the tree, whatever their names."""
        found = {}
        for path in sorted(self.tree.rglob("*")):
            with contextlib.suppress(FileNotFoundError):
                found[str(path.relative_to(self.tree))] = b"<directory>" if path.is_dir() else path.read_bytes()
        return found

    def must_be(self, *states: dict[str, bytes]) -> list[str]:
        """Nothing but one of these, with nothing beside, neither here nor in the journal. What libfuse hides because it was open
        when it was unlinked goes as soon as the file system has heard of the close."""
        deadline = time.monotonic() + 5
        while (now := self.found()) not in states and time.monotonic() < deadline and any(".fuse_hidden" in name or "ghost" in name for name in now):
            time.sleep(0.01)
        problems = []
        if now not in states:
            nearest = min(states, key=lambda state: len(now.items() ^ state.items()))
            for name in sorted(now.keys() | nearest.keys()):
                if now.get(name) != nearest.get(name):
                    problems.append(f"{name}: {now.get(name, b'missing')[:60]!r}, must be {nearest.get(name, b'missing')[:60]!r}")
        journal = self.state / "journal"
        records = sorted(journal.iterdir()) if journal.is_dir() else []
        problems += [f"open record {path.name}" for path in records]
        left = self.state / "content"
        problems += [f"left in the state directory: {path.name}" for path in (sorted(left.iterdir()) if left.is_dir() else []) if path.name.startswith(PREFIX)]
        return problems[:8]


def patch(mount: Mount, *edits: tuple[str, str, str]) -> dict[str, Any]:
    return {"files": [{"file_path": mount.path(name), "patches": [{"old_string": old, "new_string": new}]} for name, old, new in edits]}


def spelt(mount: Mount, name: str) -> str:
    """The name as nobody spelt it before, where letter case does not count."""
    return name.swapcase() if mount.system.folds else name


def accepted(server: Server, tool: str, arguments: dict[str, Any]) -> tuple[Any, list[str]]:
    reply = server.call(tool, arguments)
    if reply.is_error:
        return None, [f"refused: {reply.text[:400]}"]
    return reply.json, []


def warnings_of(facts: Any) -> str:
    return " ".join(warning for file in facts["files"] for warning in file.get("warnings", []))


# Cases


def one_file(mount: Mount) -> list[str]:
    """An edit, again, an append, `.env`; what can be lost is told where names cannot be exchanged."""
    mount.reset({"a.txt": b"one\ntwo\n", ".env": b"SECRET=old\n"})
    problems = []
    with mount.server() as server:
        for number, (name, old, new) in enumerate([("a.txt", "one\n", "1\n"), ("a.txt", "1\n", "first, and longer\n"), (".env", "SECRET=old\n", "SECRET=new\n")]):
            facts, refused = accepted(server, PATCH, patch(mount, (name, old, new)))
            problems += refused
            if facts and not mount.system.exchanges and "last instant" not in warnings_of(facts):
                problems.append(f"edit {number}: no warning: {facts}")
        state = {"a.txt": b"first, and longer\ntwo\n", ".env": b"SECRET=new\n"}
        problems += mount.must_be(state)
        digest = hashlib.sha256(state["a.txt"]).hexdigest()
        problems += accepted(server, "append_text_file_contents", {"file_path": mount.path("a.txt"), "file_hash": digest, "contents": "three\n"})[1]
        problems += mount.must_be({**state, "a.txt": state["a.txt"] + b"three\n"})
    return problems + mount.must_be({**state, "a.txt": state["a.txt"] + b"three\n"})


def many_files(mount: Mount) -> list[str]:
    """One call for twenty files in two directories, and one that is refused."""
    old = {f"{directory}/{number:02}.txt": f"old {number}\nrest\n".encode() for directory in "ab" for number in range(10)}
    there = {"a": b"<directory>", "b": b"<directory>"}
    mount.reset(old)
    edits = [(name, content.decode().split("\n")[0] + "\n", f"new, longer {name}\n") for name, content in old.items()]
    new = {name: f"new, longer {name}\nrest\n".encode() for name in old}
    with mount.server() as server:
        refused = server.call(PATCH, patch(mount, *edits, ("a/00.txt", "is not there\n", "x\n")))
        problems = [] if refused.is_error else ["a call that cannot be made was made"]
        problems += mount.must_be(old | there)
        facts, not_made = accepted(server, PATCH, patch(mount, *edits))
        problems += not_made + mount.must_be(new | there)
        if facts:
            problems += accepted(server, "undo_text_file_edits", {"edit_id": facts["edit_id"]})[1]
            problems += mount.must_be(old | there)
    return problems + mount.must_be(old | there)


def creation(mount: Mount) -> list[str]:
    """A file in new directories, taken back with them, and made again; a name that is taken."""
    mount.reset({"there.txt": b"there\n"})
    made = {"deep": b"<directory>", "deep/er": b"<directory>", "deep/er/new.txt": b"new\n", "there.txt": b"there\n"}
    with mount.server() as server:
        arguments = {"file_path": mount.path("deep/er/new.txt"), "contents": "new\n"}
        facts, problems = accepted(server, "create_text_file", arguments)
        problems += mount.must_be(made)
        if facts:
            facts, refused = accepted(server, "undo_text_file_edits", {"edit_id": facts["edit_id"]})
            problems += refused + mount.must_be({"there.txt": b"there\n"})
        problems += accepted(server, "create_text_file", arguments)[1] + mount.must_be(made)
        # At once: nothing of the creation may be in the way.
        facts, refused = accepted(server, PATCH, patch(mount, ("deep/er/new.txt", "new\n", "newer\n")))
        made["deep/er/new.txt"] = b"newer\n"
        problems += refused + mount.must_be(made)
        taken = server.call("create_text_file", {"file_path": mount.path("there.txt"), "contents": "mine\n"})
        if taken.code != "already_exists":
            problems.append(f"a name that is taken: {taken.text[:200]}")
    return problems + mount.must_be(made)


def moves(mount: Mount) -> list[str]:
    """A file that gets another name, and directories that are made for it, and all of that taken back; a name that is taken, by any spelling;
    where letter case does not count, another spelling; a file that is removed, and comes back."""
    old = {"a.txt": b"one\n", "there.txt": b"there\n"}
    mount.reset(old)
    far = {"deep": b"<directory>", "deep/er": b"<directory>", "deep/er/b.txt": b"one\n", "there.txt": b"there\n"}
    with mount.server() as server:
        facts, problems = accepted(server, MOVE, {"from": mount.path("a.txt"), "to": mount.path("deep/er/b.txt")})
        problems += mount.must_be(far)
        for state in (old, far, old) if facts else ():
            facts, refused = accepted(server, "undo_text_file_edits", {"edit_id": facts["edit_id"]})
            problems += refused + mount.must_be(state)
            if not facts:
                break
        for name in ("there.txt", spelt(mount, "there.txt")):
            taken = server.call(MOVE, {"from": mount.path("a.txt"), "to": mount.path(name)})
            if taken.code != "already_exists":
                problems.append(f"{name} is taken: {taken.text[:200]}")
        problems += accepted(server, MOVE, {"from": mount.path("a.txt"), "to": mount.path("A.txt")})[1]
        names = sorted(path.name for path in mount.tree.iterdir())
        if len(names) != 2 or names[0].lower() != "a.txt" or not mount.system.folds and names[0] != "A.txt":
            problems.append(f"spelled anew: {names}")
        digest = hashlib.sha256(old["a.txt"]).hexdigest()
        facts, refused = accepted(server, "remove_text_file", {"file_path": mount.path("A.txt"), "file_hash": digest})
        problems += refused + mount.must_be({"there.txt": b"there\n"})
        if facts:
            problems += accepted(server, "undo_text_file_edits", {"edit_id": facts["edit_id"]})[1]
            there = {name.lower(): content for name, content in mount.found().items()}
            problems += [] if there == old else [f"it did not come back: {there}"]
    return problems


def mixed(mount: Mount) -> list[str]:
    """Files that are made, edited, moved, made anew under the old name, swapped and removed by one call; all of that taken back, and done again."""
    old = {name: f"{name}\n".encode() for name in ("a.txt", "b.txt", "c.txt", "d.txt", "e.txt")}
    new = {"deep": b"<directory>", "deep/er": b"<directory>", "deep/er/a.txt": b"of a\n", "a.txt": b"anew\n", "b.txt": old["c.txt"], "c.txt": old["b.txt"],
           "d.txt": b"edited\n"}
    mount.reset(old)
    entries = [{"file_path": mount.path("a.txt"), "move_to": mount.path("deep/er/a.txt"), "patches": [{"old_string": "a.txt", "new_string": "of a"}]},
               {"file_path": mount.path("a.txt"), "contents": "anew\n"},
               {"file_path": mount.path("b.txt"), "move_to": mount.path("c.txt")}, {"file_path": mount.path("c.txt"), "move_to": mount.path("b.txt")},
               {"file_path": mount.path("d.txt"), "patches": [{"old_string": "d.txt", "new_string": "edited"}]},
               {"file_path": mount.path("e.txt"), "file_hash": hashlib.sha256(old["e.txt"]).hexdigest(), "remove": True}]
    with mount.server() as server:
        facts, problems = accepted(server, PATCH, {"files": entries})
        problems += mount.must_be(new)
        for state in (old, new) if facts else ():
            facts, refused = accepted(server, "undo_text_file_edits", {"edit_id": facts["edit_id"]})
            problems += refused + mount.must_be(state)
            if not facts:
                break
    return problems


def several_names(mount: Mount) -> list[str]:
    """A file of two names stays one, if the file system says so, and both in one call lose nothing."""
    if not mount.system.links:
        return []
    mount.reset({"a.txt": b"one\ntwo\n"})
    os.link(mount.tree / "a.txt", mount.tree / "b.txt")
    # Until the caches have forgotten that there was one.
    time.sleep(1.2)
    if mount.system.counts_links and (mount.tree / "a.txt").stat().st_nlink != 2:
        return one_of_both(mount, counted=False)
    return one_of_both(mount, counted=mount.system.counts_links)


def one_of_both(mount: Mount, counted: bool) -> list[str]:
    with mount.server() as server:
        _, problems = accepted(server, PATCH, patch(mount, ("a.txt", "one\n", "1 and longer\n")))
        new = b"1 and longer\ntwo\n"
        time.sleep(1.2)
        problems += mount.must_be({"a.txt": new, "b.txt": new if counted else b"one\ntwo\n"})
        if not counted:
            return problems
        reply = server.call(PATCH, patch(mount, ("a.txt", "1 and longer\n", "uno\n"), ("b.txt", "two\n", "due\n")))
        time.sleep(1.2)
        both = b"uno\ndue\n"
        if reply.is_error:
            # Where nothing tells that they are one file.
            problems += [] if reply.code == "conflict" else [f"refused: {reply.text[:300]}"]
            return problems + mount.must_be({"a.txt": new, "b.txt": new})
    return problems + mount.must_be({"a.txt": both, "b.txt": both})


def outsiders(mount: Mount) -> list[str]:
    """Other programs write between two edits, here and behind the mount; what they wrote is seen, and stays."""
    mount.reset({"a.txt": b"one\ntwo\n"})
    ways = [mount.tree]
    if mount.system.has_behind:
        ways += [path for path in mount.keep.rglob(mount.tree.name) if (path / "a.txt").exists()]
    problems = []
    with mount.server() as server:
        content = "one\ntwo\n"
        for number, way in enumerate(ways * 3):
            if number:
                # Of the same length, and of another.
                theirs = content.replace("two", "TWO" if number % 2 else "three")
                beside = way / "beside"
                beside.write_text(theirs)
                beside.rename(way / "a.txt") if number % 3 else (way / "a.txt").write_text(theirs)
                with contextlib.suppress(FileNotFoundError):
                    beside.unlink()
                content = theirs
            new = content.split("\n")[0] + str(number) + "\n" + content.split("\n", 1)[1]
            lines = [content.split("\n")[0] + "\n", new.split("\n")[0] + "\n"]
            _, refused = accepted(server, PATCH, patch(mount, ("a.txt", *lines)))
            problems += refused
            content = new
            problems += mount.must_be({"a.txt": content.encode()})
    return problems


def last_look(mount: Mount) -> list[str]:
    """Another program writes while the old file gets its second name, the last step before the rename: as many bytes, and with
    the same time of change; here and behind the mount. It is noticed, and both edits are there."""
    if mount.system.exchanges:
        return []
    problems = []
    for behind in (False, True)[:1 + mount.system.has_behind]:
        mount.reset({"a.txt": b"one\ntwo\n"})
        # So long ago that its times are trusted.
        os.utime(mount.tree / "a.txt", (time.time() - 60,) * 2)
        way = mount.tree / "a.txt"
        if behind:
            [way] = [path / "a.txt" for path in mount.keep.rglob(mount.tree.name) if (path / "a.txt").exists()]
        times = way.stat()
        out = mount.state / "trace"
        wrap = ("strace", "-f", "-qq", "-o", str(out), "-e", "trace=linkat", "-e", "inject=linkat:delay_enter=400000:when=1")
        with mount.server(wrap) as server:
            call = server.send("tools/call", {"name": PATCH, "arguments": patch(mount, ("a.txt", "one\n", "1\n"))})
            until(lambda: out.exists() and "linkat" in out.read_text("utf-8", "replace"), 20)
            with way.open("r+b") as theirs:
                theirs.write(b"one\nTWO\n")
            os.utime(way, ns=(times.st_atime_ns, times.st_mtime_ns))
            answer = Reply(server.wait(call))
            if answer.is_error:
                problems.append(f"refused: {answer.text[:300]}")
            problems += [f"{'behind' if behind else 'here'}: {problem}" for problem in mount.must_be({"a.txt": b"1\nTWO\n"})]
    return problems


def until(holds: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.01)


def counting(mount: Mount, edits: int = 25) -> list[str]:
    """Two processes add lines to one file, which each spells in its own way where that makes no difference: all that were acknowledged are
    there."""
    mount.reset({"a.txt": b"begin\n"})
    acknowledged: list[str] = []
    problems: list[str] = []

    def add(whose: str) -> None:
        with mount.server() as server:
            for number in range(edits):
                line = f"{whose} {number}\n"
                # Anybody's next try: a call that lost five races is `conflict`, and wrote nothing.
                for _ in range(20):
                    name = "a.txt" if whose == "one" else spelt(mount, "a.txt")
                    reply = server.call(PATCH, patch(mount, (name, "begin\n", f"begin\n{line}")))
                    if not reply.is_error:
                        acknowledged.append(line)
                        break
                    # By another spelling lowntfs-3g finds no file while it is being replaced, in 7 of 100 opens.
                    if reply.code != "conflict" and not (reply.code == "not_found" and name != "a.txt"):
                        problems.append(f"refused: {reply.text[:300]}")
                        break

    threads = [threading.Thread(target=add, args=(whose,)) for whose in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    now = (mount.tree / "a.txt").read_text().splitlines(keepends=True)
    lost = [line for line in acknowledged if now.count(line) != 1]
    if lost or len(now) != len(acknowledged) + 1 or len(acknowledged) < 2 * edits:
        problems.append(f"{len(acknowledged)} of {2 * edits} acknowledged, {len(now) - 1} lines there, lost: {lost[:5]}")
    return problems + mount.must_be({"a.txt": "".join(now).encode()})


EDITS: dict[str, tuple[dict[str, bytes], dict[str, bytes]]] = {
    "single": ({"a.txt": b"one\n", "z.txt": b"z\n"}, {"a.txt": b"uno, longer\n", "z.txt": b"z\n"}),
    "three": ({n: b"one\n" for n in ("a.txt", "b.txt", "c.txt")} | {"z.txt": b"z\n"},
              {n: b"uno, longer\n" for n in ("a.txt", "b.txt", "c.txt")} | {"z.txt": b"z\n"}),
    "create": ({"z.txt": b"z\n"}, {"z.txt": b"z\n", "new": b"<directory>", "new/a.txt": b"one\n"}),
}
# All that was made goes, directories too.
EDITS["undo create"] = (EDITS["create"][1], EDITS["create"][0])


def begin_edit(mount: Mount, kind: str) -> tuple[str, dict[str, Any]]:
    old, _ = EDITS["create" if kind == "undo create" else kind]
    mount.reset(old)
    create = "create_text_file", {"file_path": mount.path("new/a.txt"), "contents": "one\n"}
    if kind == "create":
        return create
    if kind == "undo create":
        with mount.server() as server:
            facts, refused = accepted(server, *create)
            if refused:
                raise RuntimeError(" ".join(refused))
            return "undo_text_file_edits", {"edit_id": facts["edit_id"]}
    return PATCH, patch(mount, *((spelt(mount, name), "one\n", "uno, longer\n") for name in old if name != "z.txt"))


def places(mount: Mount, kind: str) -> list[tuple[str, int]]:
    """Where a server can be killed on the way of an edit."""
    call = begin_edit(mount, kind)
    out = mount.state / "trace"
    with mount.server(("strace", "-f", "-qq", "-o", str(out), "-e", f"trace={','.join(DEADLY)}")) as server:
        server.call(*call)
    most: dict[str, int] = {}
    for traced in Trace(out.read_text("utf-8", "replace")).of(*DEADLY):
        most[traced.name] = max(most.get(traced.name, 0), traced.index)
    return [(name, n) for name, count in sorted(most.items()) for n in range(1, count + 1)]


def kills(mount: Mount) -> list[str]:
    """Killed at each of these calls, and recovered: all files old or all new, and nothing beside."""
    problems = []
    for kind in mount.system.killed:
        old, new = EDITS[kind]
        for name, n in places(mount, kind):
            call = begin_edit(mount, kind)
            wrap = ("strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={name}", "-e", f"inject={name}:signal=KILL:when={n}")
            server = None
            answered = False
            try:
                server = mount.server(wrap)
                answered = call_or_end(server, *call) is not None
            except Closed:
                pass  # at its start already
            finally:
                if server:
                    server.kill()
            at_the_crash = sorted(mount.found())
            try:
                with mount.server() as server:
                    _, found = accepted(server, PATCH, patch(mount, ("z.txt", "z\n", "z, edited\n")))
                    found += mount.must_be(*(state | {"z.txt": b"z, edited\n"} for state in ([new] if answered else may_be(mount, kind, old, new))))
            except (Closed, Timeout) as end:
                found = [f"the recovering server: {type(end).__name__}: {end}"]
            problems += [f"{kind}, killed at {name} #{n}{' once answered' if answered else ''}: {problem} (there was: {' '.join(at_the_crash)})" for problem in found]
    return problems


def may_be(mount: Mount, kind: str, old: dict[str, bytes], new: dict[str, bytes]) -> list[dict[str, bytes]]:
    """Where a name can only be claimed, a file that was being created may be there without its content."""
    claimed = [] if mount.system.links or mount.system.exchanges or kind != "create" else [new | {"new/a.txt": b""}]
    return [old, new, *claimed]


def spellings(mount: Mount) -> list[str]:
    """Two spellings of one name are one file: in one call, in two processes, in the history; the name stays as it is."""
    name, other = "Notes.txt", "NOTES.TXT"
    mount.reset({f"Dir/{name}": b"one\ntwo\nthree\n", "lower.txt": b"x\n"})
    there = sorted(mount.found())
    if (mount.tree / "Dir" / other).exists() != mount.system.folds:
        return [f"{other} is {'not ' * mount.system.folds}found as {name}"]
    if not mount.system.folds:
        (mount.tree / "Dir" / other).write_bytes(b"another\n")
        with mount.server() as server:
            _, problems = accepted(server, PATCH, patch(mount, (f"Dir/{name}", "one\n", "1\n"), (f"Dir/{other}", "another\n", "2\n")))
        return problems + mount.must_be({"Dir": b"<directory>", f"Dir/{name}": b"1\ntwo\nthree\n", f"Dir/{other}": b"2\n", "lower.txt": b"x\n"})
    [real] = [path for path in there if path.lower().endswith("notes.txt")]
    directory = os.path.dirname(real)
    rest = {path: (b"<directory>" if path == directory else b"x\n") for path in there if path != real}
    other, other_directory = other if os.path.basename(real) != other else "notes.txt", f"d{directory[1:]}".swapcase()
    with mount.server() as server, mount.server() as second:
        facts, problems = accepted(server, PATCH, patch(mount, (real, "one\n", "1\n"), (f"{directory}/{other}", "two\n", "2\n"),
                                                        (f"{other_directory}/{other}", "three\n", "3\n")))
        if facts and len(facts["files"]) != 1:
            problems.append(f"{len(facts['files'])} files in the reply")
        problems += mount.must_be({**rest, real: b"1\n2\n3\n"})
        contradicting = patch(mount, (real, "1\n", "a\n"), (f"{directory}/{other}", "1\n", "b\n"))
        overlapping = server.call(PATCH, contradicting)
        if overlapping.code != "overlapping_ranges":
            problems.append(f"two patches of one line, by two spellings: {overlapping.text[:200]}")
        problems += accepted(second, PATCH, patch(mount, (f"{other_directory}/{other}", "1\n", "first\n")))[1]
        problems += mount.must_be({**rest, real: b"first\n2\n3\n"})
        edits = server.call("list_text_file_edits", {"file_path": mount.path(f"{other_directory}/{other}")})
        if edits.text.count("changed ") != 2:
            problems.append(f"not both edits are known by the other spelling: {edits.text[:300]}")
        if facts:
            undone = server.call("undo_text_file_edits", {"edit_id": facts["edit_id"]})
            if undone.code != "conflict":
                problems.append(f"an edit by another spelling was not noticed: {undone.text[:200]}")
        taken = server.call("create_text_file", {"file_path": mount.path(f"{directory}/{other}"), "contents": "mine\n"})
        if taken.code != "already_exists":
            problems.append(f"created by another spelling: {taken.text[:200]}")
        beside = {"file_path": mount.path(f"{other_directory}/beside.txt"), "contents": "beside\n"}
        problems += accepted(server, "create_text_file", beside)[1]
    return problems + mount.must_be({**rest, real: b"first\n2\n3\n", f"{directory}/beside.txt": b"beside\n"})


def in_place(mount: Mount) -> list[str]:
    """A file that another program holds open for writing stays that file; what was needed on the way goes."""
    mount.reset({"a.txt": b"one\ntwo\n", "b.txt": b"one\n"})
    new = {"a.txt": b"1\ntwo\n", "b.txt": b"uno, longer\n"}
    with (mount.tree / "a.txt").open("r+b") as held, mount.server() as server:
        facts, problems = accepted(server, PATCH, patch(mount, ("a.txt", "one\n", "1\n"), ("b.txt", "one\n", "uno, longer\n")))
        if facts and "in place" not in warnings_of(facts):
            problems.append(f"no warning: {facts}")
        if held.read() != new["a.txt"]:
            problems.append("who holds the file open has another")
        problems += mount.must_be(new)
    return problems + mount.must_be(new)


def goes_away(mount: Mount) -> list[str]:
    """Where the file system does not answer any more, nobody says that the directory was removed. The last case: it is not mounted again."""
    if len(mount.started) != 1 or not mount.system.has_behind:
        return []
    mount.reset({"a.txt": b"one\n"})
    with mount.server() as server:
        _, problems = accepted(server, PATCH, patch(mount, ("a.txt", "one", "two")))
        mount.started[0].kill()
        mount.started[0].wait()
        for tool, arguments in ((PATCH, patch(mount, ("a.txt", "two", "six"))), ("get_text_file_contents", {"file_path": mount.path("a.txt")})):
            reply = server.call(tool, arguments)
            if not reply.is_error or "io_error" not in reply.text or "not connected" not in reply.text:
                problems.append(f"{tool}: {reply.text[:500]}")
    subprocess.run(["umount", "--lazy", str(mount.point)], check=False)
    return problems


CASES = (one_file, many_files, creation, moves, mixed, in_place, several_names, outsiders, last_look, counting, spellings, kills, goes_away)


def why_not(system: FileSystem) -> str | None:
    """Why it cannot be mounted here; None if that can be tried."""
    if os.geteuid() != 0:
        return "only root can mount"
    missing = [name for name in system.needs if not shutil.which(name)]
    if missing:
        return f"not installed: {' '.join(missing)}"
    is_fuse = bool(system.needs)
    return "there is no /dev/fuse" if is_fuse and not os.path.exists("/dev/fuse") else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="only cases whose description holds this")
    options = parser.parse_args()
    report = Report(shown=60)
    named = [(index, options.only) for index in range(len(FILE_SYSTEMS))]
    # Those that take longest come first.
    with multiprocessing.Pool(jobs()) as pool:
        for system, cases, skipped in pool.imap_unordered(all_of, named, chunksize=1):
            for name, problems in cases:
                report.case(name, problems)
            for what, reason in skipped:
                report.skip(what, reason)
            if cases:
                report.section(system)
    report.section("done")
    return report.end()


def all_of(job: tuple[int, str]) -> tuple[str, list[tuple[str, list[str]]], list[tuple[str, str]]]:
    """All cases of a file system: what was wrong, and what could not be tried."""
    system, only = FILE_SYSTEMS[job[0]], job[1]
    cases = [case for case in CASES if only in f"{system.name}: {case.__name__}"]
    if not cases:
        return system.name, [], []
    if reason := why_not(system):
        return system.name, [], [(system.name, reason)]
    done, skipped = [], []
    try:
        with mounted(system) as mount:
            for case in cases:
                name = f"{system.name}: {case.__name__}"
                if case in (kills, last_look) and (reason := no_strace()):
                    skipped.append((name, reason))
                    continue
                try:
                    with mount.watched():
                        problems = case(mount)
                except Exception:
                    problems = [traceback.format_exc(limit=-4)]
                done.append((name, mount.hung + problems))
                if mount.hung:
                    break
    except (RuntimeError, OSError) as error:
        skipped.append((system.name, f"cannot be mounted here: {error}"))
    return system.name, done, skipped


if __name__ == "__main__":
    sys.exit(main())
