"""A disk that remembers: each write and each flush that the kernel sends to it, in order, and the disks that a power cut can leave of that.

What is recorded is a file of a FUSE file system behind a loop device. This module talks to /dev/fuse itself: of the protocol it takes a dozen
messages for one flat directory, fewer lines than any binding wants of its callers, and no package, headers or compiler on the machine (fusepy
is not maintained, mfusepy and pyfuse3 are built on libfuse). It does that in a process of its own, which opens nothing on that
disk, so that neither can wait for the other. A loop device has no write of its own that is durable at once (FUA): the kernel sends a write
and a flush, so that these two are all there is.

A write counts as done when it is answered, a flush as covering all writes that were answered before it came. What a cut leaves
is all that was flushed, and of what was written since anything: each write, or some of its sectors of 512 bytes; but a block with a
superblock as a whole, or not, since without that ext4 and btrfs mount nothing.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import mmap
import multiprocessing.connection
import os
import random
import select
import stat
import struct
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterator

SECTOR, BLOCK = 512, 4096

#: The messages of <linux/fuse.h> that a loop device brings about, and what they are answered with.
LOOKUP, FORGET, GETATTR, SETATTR, OPEN, READ, WRITE, STATFS, RELEASE, FSYNC = 1, 2, 3, 4, 14, 15, 16, 17, 18, 20
FLUSH, INIT, INTERRUPT, DESTROY, BATCH_FORGET = 25, 26, 36, 38, 42
SILENT = (FORGET, BATCH_FORGET, INTERRUPT)
HEAD, ANSWER = struct.Struct("<IIQQIIIHH"), struct.Struct("<IiQ")
ATTRIBUTES = struct.Struct("<QQQQQQIIIIIIIIII")
INITIALIZED = struct.Struct("<IIIIHHIIHHIIHH10H")
BIG_WRITES, MAX_PAGES = 1 << 5, 1 << 22
DIRECT_IO = 1
#: Of <linux/sched.h>.
CLONE_NEWNS = 0x20000
#: How much comes in one message at most, in pages.
PAGES = 256


@dataclass(frozen=True)
class Write:
    disk: int
    offset: int
    data: bytes


@dataclass(frozen=True)
class Flush:
    disk: int


@dataclass(frozen=True)
class Mark:
    """Something that was seen to happen at this point."""

    what: str


Log = list[Write | Flush | Mark]


class _Serving:
    """The file system: its root is node 1, the disks are the files `0`, `1` … of it, nodes 2, 3 …"""

    def __init__(self, bases: list[Path]) -> None:
        self.log: Log = []
        self.disks = []
        for base in bases:
            with open(base, "rb") as file:
                # What is written here stays here.
                self.disks.append(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))

    def attributes(self, node: int) -> bytes:
        size = 0 if node == 1 else len(self.disks[node - 2])
        mode = stat.S_IFDIR | 0o700 if node == 1 else stat.S_IFREG | 0o600
        return ATTRIBUTES.pack(node, size, size // SECTOR, *(0,) * 6, mode, 1, 0, 0, 0, 4096, 0)

    def answer(self, opcode: int, node: int, body: bytes) -> bytes | int:
        """What a message is answered with; a number is an error."""
        if opcode == INIT:
            major, _minor, ahead, flags = struct.unpack_from("<IIII", body)
            return INITIALIZED.pack(major, 31, ahead, flags & (BIG_WRITES | MAX_PAGES), 64, 48, PAGES * 4096, 1, PAGES, *(0,) * 15)
        if opcode == LOOKUP:
            name = body.rstrip(b"\0").decode()
            if node != 1 or name not in map(str, range(len(self.disks))):
                return errno.ENOENT
            return struct.pack("<QQQQII", int(name) + 2, 0, 3600, 3600, 0, 0) + self.attributes(int(name) + 2)
        if opcode in (GETATTR, SETATTR):
            return struct.pack("<QII", 3600, 0, 0) + self.attributes(node)
        if opcode == OPEN:
            return struct.pack("<QII", node, DIRECT_IO, 0)
        if opcode == READ:
            _handle, offset, size = struct.unpack_from("<QQI", body)
            return self.disks[node - 2][offset : offset + size]
        if opcode == WRITE:
            _handle, offset, size = struct.unpack_from("<QQI", body)
            data = body[40 : 40 + size]
            self.disks[node - 2][offset : offset + size] = data
            self.log.append(Write(node - 2, offset, data))
            return struct.pack("<II", size, 0)
        if opcode == FSYNC:
            self.log.append(Flush(node - 2))
            return b""
        return b"" if opcode in (FLUSH, RELEASE, DESTROY) else errno.ENOSYS

    def serve(self, device: int, control: multiprocessing.connection.Connection) -> None:
        """Until the other side is told what was recorded, or is gone."""
        waiting = select.poll()
        waiting.register(device, select.POLLIN)
        waiting.register(control.fileno(), select.POLLIN)
        while True:
            ready = dict(waiting.poll())
            if device in ready:
                with contextlib.suppress(OSError):
                    self.message(device, os.read(device, PAGES * 4096 + 4096))
            if control.fileno() in ready:
                try:
                    what = control.recv()
                except EOFError:
                    return
                if what is None:
                    control.send(self.log)
                    continue
                self.log.append(Mark(what))
                control.send(None)

    def message(self, device: int, message: bytes) -> None:
        _length, opcode, unique, node, *_ = HEAD.unpack_from(message)
        if opcode in SILENT:
            return
        answer = self.answer(opcode, node, message[HEAD.size :])
        code, body = (-answer, b"") if isinstance(answer, int) else (0, answer)
        os.write(device, ANSWER.pack(ANSWER.size + len(body), code, unique) + body)


class Recorder:
    """Disks that begin as these files, which stay as they are. `devices` are theirs."""

    def __init__(self, bases: list[Path], point: Path) -> None:
        self.point, self.devices = point, []
        device = os.open("/dev/fuse", os.O_RDWR)
        self._control, theirs = multiprocessing.connection.Pipe()
        self._process = os.fork()
        if self._process == 0:
            with contextlib.suppress(BaseException):
                self._control.close()
                _Serving(bases).serve(device, theirs)
            os._exit(0)
        theirs.close()
        try:
            libc = ctypes.CDLL(None, use_errno=True)
            options = f"fd={device},rootmode=40000,user_id=0,group_id=0"
            if libc.mount(b"power", os.fsencode(point), b"fuse", 0, options.encode()):
                raise OSError(ctypes.get_errno(), "FUSE cannot be mounted")
            os.close(device)
            for number in range(len(bases)):
                self.devices.append(attach(point / str(number), "--direct-io=on"))
        except BaseException:
            self.close()
            raise

    def mark(self, what: str) -> None:
        self._control.send(what)
        self._control.recv()

    def log(self) -> Log:
        self._control.send(None)
        return self._control.recv()

    def close(self) -> None:
        for device in self.devices:
            run("losetup", "--detach", device)
        subprocess.run(["umount", "-l", str(self.point)], capture_output=True, check=False)
        self._control.close()
        os.waitpid(self._process, 0)

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def run(*command: str | Path) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: {(done.stderr or done.stdout).strip()}")
    return done.stdout.strip()


def alone() -> None:
    """From here on what this process mounts is in nobody else's sight, and goes with it: another program that made a mount namespace of its own
    meanwhile would keep a file system mounted there."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS):
        raise OSError(ctypes.get_errno(), "no mount namespace can be made")
    run("mount", "--make-rprivate", "/")


def attach(file: Path, *options: str) -> str:
    return run("losetup", "--find", "--show", *options, file)


def cannot_record(within: Path) -> str | None:
    """Why no disk can be recorded here; None if one can, by this process alone."""
    if os.geteuid() != 0:
        return "only root can mount"
    try:
        alone()
    except (OSError, RuntimeError) as error:
        return str(error)
    base, point = within / "probe", within / "point"
    point.mkdir()
    with open(base, "wb") as file:
        file.truncate(1 << 20)
    try:
        with Recorder([base], point):
            return None
    except (OSError, RuntimeError) as error:
        return str(error)


@dataclass(frozen=True)
class Cut:
    """The power goes after so many entries of a log; `way` says what becomes of that which was not flushed: it is `kept` or `dropped`, each
    write is there or not (`some`), or each sector (`torn`), as drawn by the seed; `one torn` has all in order up to a write that is torn."""

    at: int
    way: str = "kept"
    seed: int = 0

    def __str__(self) -> str:
        return f"cut after {self.at}, {self.way}" + (f" ({self.seed})" if self.way in ("some", "torn", "one torn") else "")


#: Where the bytes of an image differ from its base, by disk and sector.
Sectors = dict[tuple[int, int], bytes]


@dataclass
class Cutter:
    """The images that cuts make of a log."""

    log: Log
    #: Where the superblocks are, in bytes.
    superblocks: tuple[int, ...] = ()
    #: What was flushed up to a point, of which the next is made.
    _at: int = 0
    _flushed: Sectors = field(default_factory=dict)
    _loose: list[Write] = field(default_factory=list)

    def image(self, cut: Cut) -> Sectors:
        """What a cut leaves. Cuts come in their order."""
        for entry in self.log[self._at : cut.at]:
            if isinstance(entry, Write):
                self._loose.append(entry)
            elif isinstance(entry, Flush):
                for write in self._loose:
                    if write.disk == entry.disk:
                        self._flushed.update(sectors(write))
                self._loose = [write for write in self._loose if write.disk != entry.disk]
        self._at = cut.at
        drawn = random.Random(f"{cut.at} {cut.way} {cut.seed}")
        image = dict(self._flushed)
        torn = drawn.randrange(len(self._loose) or 1)
        for number, write in enumerate(self._loose):
            left = list(sectors(write))
            if cut.way == "dropped" or cut.way == "some" and drawn.random() < 0.5 or cut.way == "one torn" and number > torn:
                continue
            if cut.way == "torn" or cut.way == "one torn" and number == torn:
                left = [sector for sector in left if self.is_left(cut, sector[0][1], drawn)]
            image.update(left)
        return image


    def is_left(self, cut: Cut, sector: int, drawn: random.Random) -> bool:
        block = sector * SECTOR // BLOCK * BLOCK
        if any(block <= superblock < block + BLOCK for superblock in self.superblocks):
            return random.Random(f"{cut} {block}").random() < 0.5
        return drawn.random() < 0.5


def sectors(write: Write) -> Iterator[tuple[tuple[int, int], bytes]]:
    for at in range(0, len(write.data), SECTOR):
        yield (write.disk, (write.offset + at) // SECTOR), write.data[at : at + SECTOR]


def make(image: Sectors, bases: list[Path], files: list[Path]) -> None:
    """Writes an image down: copies of its bases, sparse as they are, with what differs."""
    for base, file in zip(bases, files):
        # The kernel may be busy with the one before it still.
        file.unlink(missing_ok=True)
        run("cp", "--sparse=always", "--reflink=auto", base, file)
    handles = [os.open(file, os.O_WRONLY) for file in files]
    try:
        for (disk, sector), data in image.items():
            os.pwrite(handles[disk], data, sector * SECTOR)
    finally:
        for handle in handles:
            os.close(handle)
