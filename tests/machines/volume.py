"""The volume is away when a server starts: it serves as soon as the volume answers.

    volume.py

A cable is taken out until the machine's mount answers with an error. A server that is started then says with
each call that the volume does not answer, and that it may be called again; over HTTP it is not ready. Once the
cable is put back it edits, without a restart, and with the kernel's wall around it.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from calls import PATCH
from machines import Machine, Machines, Server, enter, until

HERE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(HERE / "reliability"))

from harness import Report  # noqa: E402
from session import binary  # noqa: E402

#: How long the volume may take to be away, or a server to serve after it is back.
PATIENCE = 60.0


def is_away(machine: Machine) -> bool:
    """Whether the mount answers with an error. A look that must be waited for is no answer."""
    looked = subprocess.run(["timeout", "2", "stat", machine.home], capture_output=True, text=True)
    return "not connected" in looked.stderr


def edit(server: Server, path: Path, old: str, new: str) -> object:
    return server.call(PATCH, {"files": [{"file_path": str(path), "patches": [{"old_string": old, "new_string": new}]}]}, PATIENCE)


def readiness(machine: Machine, port: int) -> str:
    """What /readyz says to a probe on that machine, which waits five seconds; empty as long as nobody listens."""
    ask = f"http://127.0.0.1:{port}/readyz"
    script = f"""import urllib.request as r, urllib.error as e
try: print(r.urlopen('{ask}', timeout=5).status)
except e.HTTPError as error: print(error.code, error.read().decode())
except TimeoutError: print('no answer in five seconds')"""
    return subprocess.run([*machine.inside, sys.executable, "-c", script], capture_output=True, text=True).stdout


def away(machines: Machines) -> list[str]:
    machine, problems, port = machines[1], [], 8123
    path = machine.home / "file"
    path.write_text("one\n")
    machine.cut()
    until("the volume to be away", lambda: is_away(machine), PATIENCE)
    server = machine.server()
    http = subprocess.Popen([*machine.wrap, binary(), "--http", f"127.0.0.1:{port}", machine.home], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until("HTTP", lambda: readiness(machine, port), PATIENCE)
        reply = edit(server, path, "one", "two")
        if not reply.is_error or reply.code != "io_error" or "does not answer" not in reply.text or "call again" not in reply.text:
            problems.append(f"an edit while the volume is away: {reply.text[:400]}")
        if "503" not in (said := readiness(machine, port)) or "does not answer" not in said:
            problems.append(f"it is ready while the volume is away: {said}")
        machine.heal()
        if machine.home.stat().st_dev != path.stat().st_dev:
            problems.append("the volume is another")
        end = time.monotonic() + PATIENCE
        while (reply := edit(server, path, "one", "two")).is_error and time.monotonic() < end:
            time.sleep(0.2)
        if reply.is_error or path.read_text() != "two\n":
            problems.append(f"an edit after the volume is back: {reply.text[:400]}")
        # The first probe after its return begins to look, and another one sees what came of that.
        until("a server that is ready", lambda: readiness(machine, port).startswith("200"), PATIENCE)
    finally:
        server.terminate()
        http.kill()
        http.wait()
    return problems


def main() -> int:
    report = Report()
    if reason := enter():
        report.skip("a volume that is away", reason)
        return report.end()
    with Machines(1, database=False) as machines:
        report.run("a server that starts while its volume is away", lambda: away(machines))
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
