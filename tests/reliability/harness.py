"""What the reliability tests share: a tree of twenty files, servers that are killed, strace, and what must hold afterwards.

strace counts a system call per thread *and* per name, so "the third fsync of the thread that works" is a place in a run.
It is attached to one thread of a server that is already up: nothing but the call is counted, and other threads do not
count at all.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import re
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any, Callable, Iterator

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "clients"))

import session  # noqa: E402
from session import Closed, Reply, Timeout, binary  # noqa: E402

__all__ = ["LACKS_ATTRIBUTES", "ONE_WORKER", "SYNCS", "Closed", "Reply", "Server", "Timeout", "Report", "Strace", "Trace", "World", "no_strace", "parallel",
           "add_options", "call_or_end", "is_stopped", "sample", "share", "simulate", "simulates", "skipped", "steady", "threads_of", "untrue", "user",
           "worker_of"]

PREFIX = ".mte-"

#: Options with which one thread works, the same for all calls. Otherwise a call that comes at once after a reply can start
#: another: the thread of the call before is not idle yet when its reply is read. And with all tools, undo among them.
ONE_WORKER = ("--limit", "calls=1", "--tools", "all")

#: System calls that wait for the disk.
SYNCS = ("fsync", "fdatasync")

#: System calls after which something outside the process can differ.
CHANGING = frozenset("""
    open openat openat2 creat write writev pwrite64 pwritev copy_file_range sendfile splice truncate ftruncate fallocate
    fsync fdatasync sync_file_range rename renameat renameat2 unlink unlinkat link linkat symlink symlinkat mkdir mkdirat
    rmdir chmod fchmod fchmodat chown fchown fchownat setxattr fsetxattr removexattr fremovexattr utimensat flock fcntl
    memfd_create ioctl""".split())


#: Ways of other systems with which a new file does not get the old one's extended attributes.
LACKS_ATTRIBUTES = ("enotsup", "bare")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Which cases, and `--simulate`, for a server that was built with the store's feature `simulation`."""
    parser.add_argument("--simulate", default="", help="ways of other systems (crates/store/src/os/simulation.rs), with commas")
    parser.add_argument("--sample", type=int, default=0, help="only so many cases of each kind, drawn by SEED")
    parser.add_argument("--share", type=int, default=1, help="only one of so many cases, drawn by SEED")


def simulate(ways: str) -> None:
    """From here on servers have these ways."""
    os.environ["SIMULATE"] = ways


def simulates(*ways: str) -> bool:
    """Whether servers have one of these ways."""
    return not set(ways).isdisjoint(os.environ.get("SIMULATE", "").split(","))


def sample(cases: list[Any], most: int) -> list[Any]:
    """All cases, or as many as are wanted, the same for the same SEED, in their order."""
    if not most or len(cases) <= most:
        return cases
    chosen = random.Random(int(os.environ.get("SEED", "1"))).sample(range(len(cases)), most)
    return [cases[n] for n in sorted(chosen)]


def share(cases: list[Any], of: int) -> list[Any]:
    """One of so many cases, the same for the same SEED, in their order."""
    return sample(cases, -(-len(cases) // of))


class Server(session.Server):
    """A server with the ways that are simulated. `ENOTSUP` is that of a mounted tree: the state directory is on a disk of its own."""

    def __init__(self, *roots: str | os.PathLike[str], env: dict[str, str] | None = None, **more: Any) -> None:
        ways = {"MCP_TEXT_EDITOR_SIMULATE": os.environ.get("SIMULATE", "")}
        if simulates("enotsup"):
            ways["MCP_TEXT_EDITOR_SIMULATE_IN"] = str(roots[0])
        super().__init__(*roots, env={**ways, **(env or {})} if ways["MCP_TEXT_EDITOR_SIMULATE"] else env, **more)


def user() -> int | None:
    """Root may write everywhere, so its servers run as nobody."""
    return 65534 if os.geteuid() == 0 else None


def jobs() -> int:
    """How many cases run at a time: JOBS, else 2."""
    return int(os.environ.get("JOBS", "2"))


def no_strace() -> str | None:
    """Why strace cannot be used here; None if it can."""
    if not shutil.which("strace"):
        return "strace is not installed"
    tried = subprocess.run(["strace", "-o", os.devnull, "true"], capture_output=True, text=True)
    return None if tried.returncode == 0 else f"strace cannot trace here: {tried.stderr.strip()[-200:]}"


def skipped(what: str, reason: str) -> list[str]:
    """Says that something cannot be tried here, which is a problem where REQUIRE_ALL is set."""
    print(f"skipped: {what}: {reason}", flush=True)
    return [f"skipped: {reason}"] if os.environ.get("REQUIRE_ALL") else []


class Report:
    """Counts cases, and tells those that failed."""

    def __init__(self, shown: int = 25) -> None:
        self.passed = self.failed = 0
        self.shown = shown
        self.start = time.monotonic()

    def case(self, name: str, problems: list[str]) -> bool:
        if not problems:
            self.passed += 1
            return True
        self.failed += 1
        if self.failed <= self.shown:
            print(f"FAILED {name}", *(f"    {line}" for problem in problems for line in problem.splitlines()), sep="\n", flush=True)
        return False

    def run(self, name: str, function: Callable[[], list[str]]) -> None:
        """A case in which an exception is a problem, too."""
        try:
            problems = function()
        except Exception:
            problems = [traceback.format_exc(limit=-4)]
        self.case(name, problems)

    def skip(self, what: str, reason: str) -> None:
        if problems := skipped(what, reason):
            self.case(what, problems)

    def section(self, title: str) -> None:
        print(f"-- {title} ({time.monotonic() - self.start:.0f} s)", flush=True)

    def end(self) -> int:
        if self.failed > self.shown:
            print(f"… and {self.failed - self.shown} more failures")
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        return 1 if self.failed else 0


def untrue(reply: Reply, before: dict[str, bytes], now: dict[str, bytes]) -> list[str]:
    """What an error says of the disk that is not so. Either nothing was written, and all is as it was, to the last name; or each path is
    named that is not as it was, or that cannot be looked at."""
    if not reply.is_error:
        return []
    changed = [name for name in sorted(before.keys() | now.keys()) if before.get(name) != now.get(name)]
    if "nothing was written" in reply.text:
        return [f"says that nothing was written, and changed: {changed}; {reply.text[:300]}"] if changed else []
    unnamed = [name for name in changed if name not in reply.text]
    is_perhaps = "may be left behind" in reply.text
    return [f"does not name {unnamed}: {reply.text[:400]}"] if unnamed or not (changed or is_perhaps) else []


class World:
    """A directory of its own: `tree/` is the server's root, `state/` its state directory.

    Twenty files, three of which are edited in place: `linked.txt` has a second name, `shut/` cannot be written,
    `open.txt` is held open for writing by whoever called `hold`. `outside.txt` belongs to no transaction.
    """

    #: Named in every transaction of several files, which leave it as it is.
    STAYS = "a/stays.txt"
    IN_PLACE = ("linked.txt", "open.txt", "shut/18.txt")

    def __init__(self, within: Path | None = None) -> None:
        self.base = Path(tempfile.mkdtemp(prefix="mte-reliability-", dir=within)).resolve()
        self.base.chmod(0o711)
        self.tree, self.state = self.base / "tree", self.base / "state"
        self._held: list[int] = []
        #: The files before and after an edit, by its kind (crash.py); those before the edit that is taken back (faults.py).
        self.ends: dict[str, dict[str, dict[str, bytes]]] = {}
        self.before: dict[str, bytes] = {}
        names = [f"a/{n:02}.txt" for n in range(1, 7)] + [f"b/{n:02}.txt" for n in range(7, 13)]
        names += [f"c/{n:02}.txt" for n in range(13, 18)]
        self.names: list[str] = sorted([*names, *self.IN_PLACE])
        self.old = {name: self._content(index, name, False) for index, name in enumerate(self.names)}
        self.new = {name: self._content(index, name, True) for index, name in enumerate(self.names)}
        self.modes = {name: (0o640, 0o644, 0o755)[index % 3] for index, name in enumerate(self.names)}
        reachable(self.base)

    @staticmethod
    def _content(index: int, name: str, new: bool) -> bytes:
        """What changes stands near the beginning and changes the length: half a write shows. Of each three files one is equal to one of the
        next three: bytes must never tell which file it is."""
        index %= 3
        marker = f"marker {index} old\n" if not new else f"marker {index} new" + (" and longer" * 9 if index % 2 else "") + "\n"
        rest = "rest of it " + "0123456789" * 4 + "\n"
        return (f"first line of {index}\n" + marker + rest * (6000 if name == "linked.txt" else 5) + "last line\n").encode()

    # Setting up

    def reset(self) -> None:
        """The tree with the old content, and no state."""
        self.release()
        self.remove_all()
        self.tree.mkdir()
        for directory in ("a", "b", "c", "shut"):
            (self.tree / directory).mkdir()
        for name in self.names:
            self.put(name, self.old[name])
            (self.tree / name).chmod(self.modes[name])
        os.link(self.tree / "linked.txt", self.tree / "c" / "linked-too.txt")
        self.put(self.STAYS, b"as it is to be\n")
        self.put("outside.txt", b"nobody's\nbusiness\n")
        try:
            os.setxattr(self.tree / "a/01.txt", "user.note", b"kept")
            self.has_xattr = not simulates(*LACKS_ATTRIBUTES)
        except OSError:
            self.has_xattr = False
        self.state.mkdir(mode=0o700)
        self._give(self.state)
        self._give(self.tree)
        for path in self.tree.rglob("*"):
            self._give(path)
        (self.tree / "shut").chmod(0o555)

    def everything(self) -> dict[str, bytes]:
        """All that is in the tree, whoever made it; of a directory its name alone."""
        paths = sorted(self.tree.rglob("*"))
        return {str(path.relative_to(self.tree)): b"<directory>" if path.is_dir() else path.read_bytes() for path in paths}

    def put(self, name: str, content: bytes) -> None:
        (self.tree / name).write_bytes(content)

    def _give(self, path: Path) -> None:
        owner = user()
        if owner is not None:
            os.chown(path, owner, owner)

    def touch(self) -> None:
        """All files change in the future: their times cannot tell whether they change again, so they are read again."""
        later = time.time() + 3600
        for path in self.tree.rglob("*.txt"):
            os.utime(path, (later, later))

    def remove_all(self) -> None:
        if (self.tree / "shut").exists():
            (self.tree / "shut").chmod(0o755)
        for path in (self.tree, self.state):
            if path.is_dir():
                shutil.rmtree(path)

    def hold(self) -> None:
        """Has `open.txt` open for writing, as another program would."""
        self._held.append(os.open(self.tree / "open.txt", os.O_RDWR))

    def release(self) -> None:
        while self._held:
            os.close(self._held.pop())

    def close(self) -> None:
        self.release()
        for path in self.base.rglob("shut"):
            path.chmod(0o755)
        shutil.rmtree(self.base, ignore_errors=True)

    # Servers and calls

    def server(self, *options: str, **more: Any) -> Server:
        more.setdefault("state", self.state)
        # The C library opens a file of /proc now and then before it gives memory back: that would be one more place in some runs.
        env = {"MALLOC_TRIM_THRESHOLD_": str(1 << 40)} | (more.pop("env", None) or {})
        return Server(self.tree, options=options, user=user(), env=env, **more)

    def patch_all(self, names: list[str] | None = None) -> dict[str, Any]:
        """The arguments of the transaction: one patch for each file."""
        files = []
        for name in self.names if names is None else names:
            lines = [content[name].decode().splitlines(keepends=True)[1] for content in (self.old, self.new)]
            files.append({"file_path": self.path(name), "patches": [{"old_string": lines[0], "new_string": lines[1]}]})
        if len(files) > 1:
            same = {"old_string": "as it is to be\n", "new_string": "as it is to be\n"}
            files.insert(1, {"file_path": self.path(self.STAYS), "patches": [same]})
        return {"files": files}

    def path(self, name: str) -> str:
        return str(self.tree / name)

    def warm(self, server: Server) -> None:
        """A read, so that the thread that will work is there: one of many ranges, which is never answered where it arrives."""
        ranges = [{"start": 1, "end": 1}] * 9
        server.call("get_text_file_contents", {"files": [{"file_path": self.path("outside.txt"), "ranges": ranges}]})

    # What must hold

    def recover(self, *, rounds: int = 1) -> list[str]:
        """A fresh server: a read, an edit of another file. What it did wrong in that."""
        problems = []
        for _ in range(rounds):
            try:
                with self.server() as server:
                    read = server.call("get_text_file_contents", {"file_path": self.path("outside.txt")})
                    if read.is_error:
                        problems.append(f"after recovery a read failed: {read.text[:300]}")
                    problems += self.edit_outside(server)
                    problems += [f"stray output: {line[:200]!r}" for line in server.strays]
                    log = server.stderr()
                    if "panic" in log:
                        problems.append(f"the recovering server panicked: {log[-600:]}")
            except (Closed, Timeout) as end:
                problems.append(f"the recovering server: {type(end).__name__}: {end}")
        return problems

    def edit_outside(self, server: Server) -> list[str]:
        before = (self.tree / "outside.txt").read_bytes()
        done = server.call("patch_text_file_contents", {"files": [{"file_path": self.path("outside.txt"), "patches": [
            {"old_string": "business\n", "new_string": "business\nand one more line\n"}]}]})
        if done.is_error:
            return [f"an edit of a file outside was refused: {done.text[:300]}"]
        if (self.tree / "outside.txt").read_bytes() != before.replace(b"business\n", b"business\nand one more line\n"):
            return ["an acknowledged edit of a file outside is not there"]
        return []

    def kind(self, name: str) -> str:
        try:
            now = (self.tree / name).read_bytes()
        except OSError as error:
            return f"missing ({error.strerror})"
        for kind, content in (("old", self.old), ("new", self.new)):
            if now == content[name]:
                return kind
        return f"torn ({len(now)} bytes, old has {len(self.old[name])}, new {len(self.new[name])}; begins {now[:60]!r})"

    def summary(self) -> str:
        return summary({name: self.kind(name) for name in self.names})

    def all_or_nothing(self, *, must_be: str | None = None, but: tuple[str, ...] = ()) -> list[str]:
        """All files old or all new (`must_be`: which), the names in `but` left out; metadata; hard links."""
        kinds = {name: self.kind(name) for name in self.names if name not in but}
        found = set(kinds.values())
        problems = []
        if len(found) != 1 or not found <= {"old", "new"}:
            problems.append("neither all old nor all new: " + summary(kinds))
        elif must_be is not None and found != {must_be}:
            problems.append(f"all {found.pop()}, must be {must_be}")
        for name in self.names:
            if name in but or not (self.tree / name).exists():
                continue
            status = (self.tree / name).stat()
            if status.st_mode & 0o7777 != self.modes[name]:
                problems.append(f"mode of {name}: {status.st_mode & 0o7777:o}, was {self.modes[name]:o}")
            if user() is not None and status.st_uid != user():
                problems.append(f"owner of {name}: {status.st_uid}")
        if (self.tree / self.STAYS).read_bytes() != b"as it is to be\n":
            problems.append(f"{self.STAYS} has changed")
        if "linked.txt" not in but and not os.path.samefile(self.tree / "linked.txt", self.tree / "c/linked-too.txt"):
            problems.append("linked.txt is one file no more")
        if self.has_xattr and "a/01.txt" not in but and "user.note" not in os.listxattr(self.tree / "a/01.txt"):
            problems.append("the attribute of a/01.txt is lost")
        return problems

    def strays(self, *made: str) -> list[str]:
        """What should not be there any more, or was never asked for; `made`: files that were."""
        problems = []
        expected = {"outside.txt", self.STAYS, "c/linked-too.txt", *self.names, *made}
        for path in sorted(self.tree.rglob("*")):
            name = str(path.relative_to(self.tree))
            if not path.is_dir() and name not in expected:
                problems.append(f"stray tree/{name} ({path.stat().st_size} bytes)")
        for path in sorted(self.state.rglob("*")):
            name = path.relative_to(self.state)
            if name.parts[0] == "journal" and len(name.parts) > 1:
                problems.append(f"open record state/{name} ({path.stat().st_size} bytes: {path.read_bytes()[:160]!r})")
            elif name.name.startswith(PREFIX):
                problems.append(f"stray state/{name} ({path.stat().st_size} bytes)")
        return problems if len(problems) <= 6 else [*problems[:5], f"… {len(problems) - 5} more of these"]


def summary(kinds: dict[str, str]) -> str:
    groups: dict[str, list[str]] = {}
    for name, kind in kinds.items():
        groups.setdefault(kind, []).append(name)
    return "; ".join(f"{kind}: {' '.join(names)}" for kind, names in groups.items())


def reachable(base: Path) -> None:
    """Copies the binary to where the other user can run it, if it cannot where it is. `base` must be within their reach."""
    owner = user()
    if owner is None:
        return
    if not _others_reach(base):
        sys.exit(f"{base} lies in a directory that others cannot enter, and the servers run as another user: set TMPDIR")
    if "MTE_BIN_COPY" in os.environ:
        return
    tried = subprocess.run([binary(), "--version"], user=owner, group=owner, extra_groups=[], capture_output=True, check=False) \
        if os.access(binary(), os.X_OK) and _others_reach(Path(binary())) else None
    if tried is None or tried.returncode != 0:
        directory = tempfile.mkdtemp(prefix="mte-bin-")
        os.chmod(directory, 0o755)
        copy = shutil.copy(binary(), directory)
        os.chmod(copy, 0o755)
        os.environ["MCP_TEXT_EDITOR_BIN"] = str(copy)
        import atexit
        owner_pid = os.getpid()
        atexit.register(lambda: os.getpid() == owner_pid and shutil.rmtree(directory, ignore_errors=True))
    os.environ["MTE_BIN_COPY"] = "1"


def _others_reach(path: Path) -> bool:
    return all(parent.stat().st_mode & 0o001 for parent in path.resolve().parents) and bool(path.stat().st_mode & 0o001)


# Many cases at a time

_world: World | None = None


def _begin(within: Path) -> None:
    global _world
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _world = World(within)


def _one(job: tuple[Callable[[World, Any], Any], Any]) -> Any:
    assert _world is not None
    function, case = job
    try:
        return case, function(_world, case)
    except Exception:
        return case, traceback.format_exc(limit=-4)


def parallel(function: Callable[[World, Any], Any], cases: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Each case with what `function` made of it, in a few processes with a world each; a string is a traceback."""
    within = Path(tempfile.mkdtemp(prefix="mte-reliability-"))
    within.chmod(0o711)
    reachable(within)
    try:
        with multiprocessing.Pool(jobs(), _begin, (within,)) as pool:
            yield from pool.imap_unordered(_one, [(function, case) for case in cases])
    finally:
        for path in within.rglob("shut"):
            path.chmod(0o755)
        shutil.rmtree(within, ignore_errors=True)


# strace


class Strace:
    """strace, attached: to all threads of a process, or to one thread alone (and none that it starts)."""

    def __init__(self, thread: int, *arguments: str, all_threads: bool = False) -> None:
        handle, self.out = tempfile.mkstemp(prefix="mte-trace-")
        os.close(handle)
        self.process = subprocess.Popen(["strace", "-o", self.out, *(["-f"] if all_threads else []), *arguments, "-p", str(thread)],
                                        stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        assert self.process.stderr is not None
        ready = selectors.DefaultSelector()
        ready.register(self.process.stderr, selectors.EVENT_READ)
        if not ready.select(10):
            self.process.kill()
            raise Timeout("strace does not attach")
        line = self.process.stderr.readline().decode()
        ready.close()
        if "attached" not in line:
            self.detach()
            raise RuntimeError(f"strace: {line}")

    def detach(self, patience: float = 0.2) -> Trace:
        """Ends strace if it does not end with its process, in so many seconds, and gives what it saw."""
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process.stderr.close()  # type: ignore[union-attr]
        trace = Trace(Path(self.out).read_text("utf-8", "replace"))
        os.unlink(self.out)
        return trace


class Call:
    """A system call of a trace: the `index`-th of its name in its thread, from 1."""

    __slots__ = ("thread", "name", "index", "text", "position", "end")

    def __init__(self, thread: int, name: str, index: int, text: str, position: int) -> None:
        self.thread, self.name, self.index, self.text, self.position = thread, name, index, text, position
        self.end = position  # the line on which it returned

    def __repr__(self) -> str:
        return f"{self.name} #{self.index}: {self.text[:200]}"

    @property
    def changes_disk(self) -> bool:
        """With `-y`: whether anything on disk is different after it: locks end with their process, as flags of descriptors do, and who
        wakes a thread or answers writes no file."""
        if self.name.startswith("open"):
            return "O_CREAT" in self.text or "O_TMPFILE" in self.text
        if self.name == "write":
            return self.path.startswith("/")
        return self.name in CHANGING - {"fcntl", "flock", "ioctl"}

    @property
    def path(self) -> str:
        """With `-y`: the path behind the first descriptor."""
        found = re.match(r"[^(]*\(\d+<([^>]*)>", self.text)
        return found[1] if found else ""

    @property
    def paths(self) -> set[str]:
        """With `-y`: the paths behind all descriptors, which are those that `-P` goes by."""
        return set(re.findall(r"\b\d+<([^>]*)>", self.text))

    @property
    def failed(self) -> bool:
        return bool(re.search(r" = -1 E", self.text))


class Trace:
    """What strace wrote, of one thread or (`-f`) of several."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.calls: list[Call] = []
        counts: dict[tuple[int, str], int] = {}
        open_calls: dict[int, Call] = {}
        for position, line in enumerate(text.splitlines()):
            found = re.match(r"(?:(\d+) +)?(.*)", line)
            assert found
            thread, rest = int(found[1] or 0), found[2]
            resumed = re.match(r"<\.\.\. (\w+) resumed>(.*)", rest)
            if resumed:
                begun = open_calls.pop(thread, None)
                if begun:
                    begun.text = begun.text.replace(" <unfinished ...>", "") + resumed[2]
                    begun.end = position
                continue
            called = re.match(r"(\w+)\(", rest)
            if not called or called[1] == "restart_syscall":
                continue
            key = (thread, called[1])
            counts[key] = counts.get(key, 0) + 1
            call = Call(thread, called[1], counts[key], rest, position)
            self.calls.append(call)
            if "<unfinished ...>" in rest:
                open_calls[thread] = call
        self.counts = counts

    def threads(self) -> list[int]:
        return sorted({call.thread for call in self.calls})

    def of(self, *names: str, thread: int | None = None) -> list[Call]:
        return [c for c in self.calls if c.name in names and (thread is None or c.thread == thread)]

    def __iter__(self) -> Iterator[Call]:
        return iter(self.calls)


def threads_of(server: Server) -> list[int]:
    """The threads of a process, oldest first, as the kernel lists them (ids begin anew at their end): the first is the one
    that reads the messages."""
    return [int(t) for t in os.listdir(f"/proc/{server.process.pid}/task")]


def steady(path: str, base: Path) -> str | None:
    """The path beneath `base`, if it is the same in each run: temporaries and records have names drawn by lot."""
    inside = path.startswith(f"{base}/") and PREFIX not in path and "/journal/" not in path
    return path.removeprefix(f"{base}/") if inside else None


def is_stopped(server: Server) -> bool:
    """Whether a signal has stopped the process: seen at its first thread, which strace must not hold."""
    try:
        return Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    except FileNotFoundError:
        return False


def worker_of(world: World, server: Server) -> int:
    """The thread that works, of a server with ONE_WORKER: the one that opens what a read names."""
    world.warm(server)
    for thread in reversed(threads_of(server)):
        try:
            strace = Strace(thread, "-e", "trace=openat,openat2")
        except RuntimeError:
            # One that was listed may have ended: threads for a moment close files, or hash.
            continue
        world.warm(server)
        if "outside.txt" in strace.detach().text:
            return thread
    raise RuntimeError("no thread works")


def call_or_end(server: Server, tool: str, arguments: dict[str, Any], timeout: float = 30.0) -> Reply | None:
    """The reply, or None if the process ended before it had written it."""
    try:
        return server.call(tool, arguments, timeout)
    except Closed:
        return None
