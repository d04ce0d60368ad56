#!/usr/bin/env python3
"""Holds linked.py against small programs that are linked here in each way: those that any machine can start, and those that some cannot."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import linked

MAIN = "extern int called(void); int main(void) { return called(); }\n"
OWN = "int called(void) { return 0; }\n"
OTHERS = "#include <stdio.h>\nint called(void) { return puts(\"\"); }\n"
LINUX, WINDOWS, MACOS = "x86_64-unknown-linux-musl", "x86_64-pc-windows-msvc", "aarch64-apple-darwin"
ONE_ADDRESS = "it is loaded at one address only, which whoever attacks it knows"


def main() -> int:
    failed = 0

    def hold(name: str, triple: str, program: Path, *wanted: str) -> None:
        nonlocal failed
        found = linked.wrong(triple, program.read_bytes())
        is_so = found == list(wanted)
        failed += not is_so
        print(f"{'ok    ' if is_so else 'FAILED'} {name}: {found or 'nothing'}")

    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        for name, content in (("main.c", MAIN), ("own.c", OWN), ("others.c", OTHERS)):
            Path(name).write_text(content)

        def made(*words: str) -> Path:
            # Other names mingw changes.
            subprocess.run([*words, "-o", "program.exe"], check=True)
            return Path("program.exe")

        hold("static and movable", LINUX, made("cc", "-static-pie", "-fPIE", "main.c", "others.c"))
        hold("static", LINUX, made("cc", "-static", "-no-pie", "main.c", "own.c"), ONE_ADDRESS)
        interpreter = next(iter(Path("/lib64").glob("ld-linux-*.so.*")), None)
        if interpreter:
            hold("with a library", LINUX, made("cc", "-pie", "-fPIE", "main.c", "others.c"), "it wants libc.so.6", f"it wants {interpreter}")
        mingw = "x86_64-w64-mingw32-"
        if shutil.which(f"{mingw}gcc") and shutil.which(f"{mingw}dlltool"):
            program = made(f"{mingw}gcc", "main.c", "others.c")
            hold("for Windows", WINDOWS, program)
            data = bytearray(program.read_bytes())
            before = linked.is_signed(data)
            # The length of the table of certificates, entry 4 of the optional header's.
            data[int.from_bytes(data[60:64], "little") + 24 + 112 + 4 * 8 + 4] = 1
            is_told = (before, linked.is_signed(data)) == (False, True)
            failed += not is_told
            print(f"{'ok    ' if is_told else 'FAILED'} for Windows, signed and not")
            Path("other.def").write_text("LIBRARY VCRUNTIME140.dll\nEXPORTS\n  called\n")
            subprocess.run([f"{mingw}dlltool", "-d", "other.def", "-l", "libother.a"], check=True)
            hold("for Windows, with what it has not", WINDOWS, made(f"{mingw}gcc", "main.c", "libother.a"), "it wants VCRUNTIME140.dll")
            hold("for Windows, at one address", WINDOWS, made(f"{mingw}gcc", "-Wl,--disable-dynamicbase", "main.c", "own.c"), ONE_ADDRESS)
        else:
            print("skipped: there is no compiler for Windows")
        zig = [sys.executable, "-m", "ziglang"]
        if subprocess.run([*zig, "version"], capture_output=True).returncode == 0:
            hold("for macOS", MACOS, made(*zig, "cc", "-target", "aarch64-macos", "main.c", "others.c"))
            subprocess.run([*zig, "cc", "-target", "aarch64-macos", "-shared", "-install_name", "/opt/other.dylib", "own.c", "-o", "libother.dylib"], check=True)
            hold("for macOS, with another library", MACOS, made(*zig, "cc", "-target", "aarch64-macos", "main.c", "-L.", "-lother"),
                 "it wants /opt/other.dylib")
        else:
            print("skipped: there is no compiler for macOS")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
