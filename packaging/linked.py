#!/usr/bin/env python3
"""What a program wants of the machine that starts it, told by its own bytes: no system's tools are asked, so that any machine can look at
the programs for all of them.

    linked.py TRIPLE PROGRAM    says it, and fails where that is more than every machine of this kind has
"""

from __future__ import annotations

import dataclasses
import re
import struct
import sys
from pathlib import Path

#: What Windows has as it is installed, from 10 on, of what is linked with. Not `vcruntime140.dll`, and not the `api-ms-win-crt` libraries of older ones.
WINDOWS = re.compile(r"(advapi32|bcrypt|bcryptprimitives|combase|crypt32|kernel32|msvcrt|ntdll|ole32|oleaut32|rpcrt4|secur32|shell32|user32"
                     r"|userenv|ws2_32|api-ms-win-core-[a-z0-9-]+)\.dll", re.IGNORECASE)
#: What macOS has: the system's own libraries.
MACOS = re.compile(r"/(usr/lib|System/Library)/.+")


@dataclasses.dataclass(frozen=True)
class Linked:
    """The libraries that are loaded with it, the program that loads it (Linux), and whether it can be loaded at any address."""

    libraries: tuple[str, ...]
    interpreter: str | None
    is_movable: bool


def text(data: bytes, at: int) -> str:
    return data[at:data.index(b"\0", at)].decode()


def elf(data: bytes) -> Linked:
    assert data[4:6] == b"\x02\x01", "64 bits, little-endian"
    kind, = struct.unpack_from("<H", data, 16)
    start, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    segments = [struct.unpack_from("<IIQQQQ", data, start + n * size) for n in range(count)]

    def place(address: int) -> int:
        return next(address - virtual + offset for what, _, offset, virtual, _, length in segments
                    if what == 1 and virtual <= address < virtual + length)

    interpreter = next((text(data, offset) for what, _, offset, *_ in segments if what == 3), None)
    entries: list[tuple[int, int]] = []
    for what, _, offset, _, _, length in segments:
        if what == 2:
            entries = list(struct.iter_unpack("<qQ", data[offset:offset + length]))
    entries = entries[:entries.index((0, 0))] if (0, 0) in entries else entries
    told = dict(entries)
    strings = place(told[5]) if 5 in told else 0
    # DF_1_PIE: a shared library is of the same kind.
    is_movable = kind == 3 and bool(told.get(0x6FFFFFFB, 0) & 0x08000000)
    return Linked(tuple(text(data, strings + value) for tag, value in entries if tag == 1), interpreter, is_movable)


def pe(data: bytes) -> Linked:
    head, = struct.unpack_from("<I", data, 60)
    assert data[head:head + 4] == b"PE\0\0"
    count, = struct.unpack_from("<H", data, head + 6)
    size, = struct.unpack_from("<H", data, head + 20)
    optional = head + 24
    assert data[optional:optional + 2] == b"\x0b\x02", "64 bits"
    flags, = struct.unpack_from("<H", data, optional + 70)
    sections = [struct.unpack_from("<IIII", data, optional + size + n * 40 + 8) for n in range(count)]

    def place(address: int) -> int:
        return next(address - virtual + offset for length, virtual, stored, offset in sections
                    if virtual <= address < virtual + max(length, stored))

    libraries = []
    # Imports, and those that are loaded when they are called first: the table, how long an entry is, and where in it the name is told.
    for index, length, name in ((1, 20, 12), (13, 32, 4)):
        table, = struct.unpack_from("<I", data, optional + 112 + index * 8)
        at = place(table) if table else None
        while at is not None and any(data[at:at + length]):
            libraries.append(text(data, place(struct.unpack_from("<I", data, at + name)[0])))
            at += length
    return Linked(tuple(libraries), None, bool(flags & 0x40))


def mach_o(data: bytes) -> Linked:
    count, _, flags = struct.unpack_from("<III", data, 16)
    libraries, at = [], 32
    for _ in range(count):
        command, length = struct.unpack_from("<II", data, at)
        # LC_LOAD_DYLIB, and those that may be missing, or are handed on.
        if command in (0xC, 0x80000018, 0x8000001F):
            libraries.append(text(data, at + struct.unpack_from("<I", data, at + 8)[0]))
        at += length
    return Linked(tuple(libraries), None, bool(flags & 0x200000))


def is_signed(data: bytes) -> bool:
    """Whether a program for Windows or macOS has a signature that names somebody; a linker's own for macOS does not."""
    if data.startswith(b"MZ"):
        optional = struct.unpack_from("<I", data, 60)[0] + 24
        return struct.unpack_from("<I", data, optional + 112 + 4 * 8 + 4)[0] > 0
    return b"Developer ID Certification Authority" in data


def script(_: bytes) -> Linked:
    """What stands for a program in a rehearsal. No address is its own."""
    return Linked((), None, True)


def linked(data: bytes) -> Linked:
    for start, read in ((b"\x7fELF", elf), (b"MZ", pe), (b"\xcf\xfa\xed\xfe", mach_o), (b"#!", script)):
        if data.startswith(start):
            return read(data)
    raise ValueError("it is no program of Linux, Windows or macOS")


def wrong(triple: str, data: bytes) -> list[str]:
    """What of it a machine of this kind may lack, or should not have."""
    found = linked(data)
    usual = WINDOWS if "-windows-" in triple else MACOS if "-apple-" in triple else None
    problems = [] if found.is_movable else ["it is loaded at one address only, which whoever attacks it knows"]
    if usual:
        problems += [f"it wants {name}" for name in found.libraries if not usual.fullmatch(name)]
    elif triple.endswith("-musl"):
        problems += [f"it wants {name}" for name in (*found.libraries, *filter(None, [found.interpreter]))]
    return problems


def main() -> int:
    triple, program = sys.argv[1:]
    data = Path(program).read_bytes()
    print(linked(data))
    problems = wrong(triple, data)
    print("\n".join(problems) or "nothing that is not there")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
