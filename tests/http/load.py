"""Any number of processes may serve the same files over HTTP: no edit that was acknowledged is lost, though some are killed.

    load.py [--edits N] [--processes N] [--clients N] [--seed N] [--nginx require|auto|off]
    load.py --throughput [--seconds S]

Starts the processes on one directory with one state directory, behind nginx, or, where that cannot be had, behind clients that take
turns. The clients put lines of their own into shared files by text alone, every fifth time into two files at once, while one process
after another is killed (SIGKILL) and started again. At the end each acknowledged line must be there once, each other one at most once,
in both of its files or in none; nothing else may be there; and an edit that one process made must be undone by another.

MCP_TEXT_EDITOR_BIN names the program (default: target/debug/mcp-text-editor). Python's standard library alone. nginx is installed by
apt-get where it is missing and this runs as root. `--throughput` prints the figures of docs/performance.md.

Ends with `N passed, M failed`.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[2]
BINARY = os.environ.get("MCP_TEXT_EDITOR_BIN", str(HERE / "target/debug/mcp-text-editor"))

#: The last line of each file. New lines come before it.
END = "the end\n"
FILES = 8
#: How long anything may take before it is a failure.
PATIENCE = 120.0


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens at now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def wait_for_port(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"the process for port {port} ended with {process.returncode}")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.01)
    raise RuntimeError(f"nobody listens at port {port}")


class Processes:
    """The servers of one directory."""

    def __init__(self, root: Path, state: Path, ports: list[int], log: Any) -> None:
        self.root, self.state, self.ports, self.log = root, state, ports, log
        self.running = {port: self.start(port) for port in ports}
        for port, process in self.running.items():
            wait_for_port(port, process)

    def start(self, port: int) -> subprocess.Popen[bytes]:
        command = [BINARY, "--http", f"127.0.0.1:{port}", "--tools", "all", str(self.root)]
        environment = {**os.environ, "MCP_TEXT_EDITOR_STATE_DIR": str(self.state)}
        return subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log)

    def kill(self, port: int) -> None:
        """Kills a process in the midst of whatever it does, and starts another in its place."""
        process = self.running[port]
        process.kill()
        process.wait()
        self.running[port] = self.start(port)
        wait_for_port(port, self.running[port])

    def end(self) -> list[int]:
        """Ends all as a supervisor would, and returns with what status."""
        for process in self.running.values():
            process.send_signal(signal.SIGTERM)
        return [process.wait(PATIENCE) for process in self.running.values()]


def find_nginx(wanted: str) -> str | None:
    if wanted == "off":
        return None
    found = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
    if not found and os.geteuid() == 0 and shutil.which("apt-get"):
        install = ["apt-get", "install", "-y", "--no-install-recommends", "nginx-light"]
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in (install, ["apt-get", "update"], install):
            if found := shutil.which("nginx", path="/usr/sbin:/usr/bin"):
                break
            subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        found = shutil.which("nginx", path="/usr/sbin:/usr/bin")
    if not found and (wanted == "require" or os.environ.get("REQUIRE_ALL")):
        raise SystemExit("nginx is not there, and cannot be installed\n0 passed, 1 failed")
    return found


def start_nginx(nginx: str, directory: Path, port: int, ports: list[int]) -> subprocess.Popen[bytes]:
    """The deployment of docs/scaling.md."""
    servers = "\n".join(f"    server 127.0.0.1:{each} max_fails=1 fail_timeout=1s;" for each in ports)
    user = "user root;" if os.geteuid() == 0 else ""
    paths = "\n".join(f"  {each}_temp_path {directory}/nginx-{each};" for each in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    configuration = f"""
daemon off; {user} pid {directory}/nginx.pid; error_log {directory}/nginx.log; worker_processes 1;
events {{ worker_connections 1024; }}
http {{
  access_log off;
{paths}
  upstream editors {{
{servers}
    keepalive 32;
  }}
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://editors;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;
      proxy_read_timeout 300s;
      client_max_body_size 0;
    }}
  }}
}}
"""
    path = directory / "nginx.conf"
    path.write_text(configuration)
    process = subprocess.Popen([nginx, "-c", str(path), "-e", f"{directory}/nginx.log", "-p", str(directory)])
    wait_for_port(port, process)
    return process


class Unknown(Exception):
    """Nobody knows whether the call was carried out: the connection broke, or a gateway says that one did."""


class Client:
    """Calls tools. Its ports take turns, one a connection."""

    def __init__(self, ports: list[int], first: int) -> None:
        self.ports = itertools.cycle(ports[first % len(ports) :] + ports[: first % len(ports)])
        self.connection: http.client.HTTPConnection | None = None

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", next(self.ports), timeout=PATIENCE)
            self.connection.request("POST", "/mcp", json.dumps(message), headers)
            response = self.connection.getresponse()
            body = response.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Unknown(str(error)) from error
        if response.status in (502, 503, 504):
            raise Unknown(str(response.status))
        if response.status != 200:
            raise RuntimeError(f"{response.status}: {body!r}")
        result: dict[str, Any] = json.loads(body)["result"]
        return result

    def close(self) -> None:
        if self.connection:
            self.connection.close()
        self.connection = None


def insertion(path: Path, line: str) -> dict[str, Any]:
    return {"file_path": str(path), "patches": [{"old_string": END, "new_string": f"{line}\n{END}"}]}


class Load:
    """What the clients have done so far."""

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self.lock = threading.Lock()
        self.number = 0
        #: The files of each line, by what became of its call.
        self.made: dict[str, list[Path]] = {}
        self.unknown: dict[str, list[Path]] = {}
        self.refused: dict[str, int] = {}
        self.problems: list[str] = []

    def next_line(self) -> str | None:
        with self.lock:
            if len(self.made) >= self.wanted or self.problems:
                return None
            self.number += 1
            return f"line {self.number}"

    def work(self, client: Client, files: list[Path], rng: random.Random) -> None:
        while line := self.next_line():
            chosen = rng.sample(files, 2 if self.number % 5 == 0 else 1)
            try:
                result = client.call("patch_text_file_contents", {"files": [insertion(path, line) for path in chosen]})
            except Unknown:
                with self.lock:
                    self.unknown[line] = chosen
                continue
            except Exception as error:  # noqa: BLE001
                with self.lock:
                    self.problems.append(f"{line}: {error}")
                return
            text = result["content"][0]["text"]
            with self.lock:
                if not result["isError"]:
                    self.made[line] = chosen
                elif text.startswith(("error: busy", "error: conflict")):
                    # Somebody else was faster for too long, and nothing was written.
                    self.refused[text.split(":")[1].strip()] = self.refused.get(text.split(":")[1].strip(), 0) + 1
                else:
                    self.problems.append(f"{line}: {text[:400]}")


def killing(processes: Processes, load: Load, kills: int, done: threading.Event, rng: random.Random) -> int:
    """Kills one process after another, spread over the edits; returns how many."""
    killed = 0
    while killed < kills and not done.is_set():
        if len(load.made) * (kills + 1) >= load.wanted * (killed + 1):
            processes.kill(rng.choice(processes.ports))
            killed += 1
        else:
            time.sleep(0.002)
    return killed


def verify(load: Load, files: list[Path], root: Path, state: Path) -> list[str]:
    """What is wrong with the files, now that all has come to rest."""
    problems = list(load.problems)
    lines = {path: path.read_text().split("\n") for path in files}
    standing: dict[str, list[Path]] = {}
    for path, found in lines.items():
        if found[-2:] != ["the end", ""] or found[0] != path.name:
            problems.append(f"{path.name} does not begin and end as it did: {found[:1]} {found[-2:]}")
        for line in found[1:-2]:
            standing.setdefault(line, []).append(path)
    for line, paths in load.made.items():
        if sorted(standing.pop(line, [])) != sorted(paths):
            problems.append(f"{line} was acknowledged, and is not once in each of its files")
    for line, paths in load.unknown.items():
        if sorted(standing.pop(line, [])) not in ([], sorted(paths)):
            problems.append(f"{line} is in a part of its files, or twice")
    problems += [f"{line} was never sent, or refused" for line in standing]
    left = [entry.name for entry in root.iterdir() if entry not in files]
    records = [entry.name for entry in (state / "journal").iterdir() if entry.suffix != ".lock"]
    if left or records:
        problems.append(f"left behind: {left} {records}")
    return problems


def undone_by_another(ports: list[int], path: Path) -> list[str]:
    one, other = Client(ports, 0), Client(ports, 1)
    before = path.read_bytes()
    made = one.call("patch_text_file_contents", {"files": [insertion(path, "to be undone")]})
    if made["isError"] or path.read_bytes() == before:
        return [f"an edit failed: {made}"]
    undone = other.call("undo_text_file_edits", {"edit_id": json.loads(made["content"][0]["text"])["edit_id"]})
    if undone["isError"] or path.read_bytes() != before:
        return [f"another process could not undo an edit: {undone}"]
    return []


def losing_nothing(options: argparse.Namespace) -> dict[str, list[str]]:
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="mte-load-") as made:
        directory = Path(made).resolve()
        root, state = directory / "root", directory / "state"
        root.mkdir()
        files = [root / f"{number}.txt" for number in range(FILES)]
        for path in files:
            path.write_text(f"{path.name}\n{END}")
        nginx = find_nginx(options.nginx)
        *ports, front = free_ports(options.processes + 1)
        with (directory / "log").open("wb") as log:
            processes = Processes(root, state, ports, log)
            proxy = start_nginx(nginx, directory, front, ports) if nginx else None
            print("behind nginx" if proxy else "without nginx: each client takes turns among the processes", flush=True)
            load, done = Load(options.edits), threading.Event()
            clients = [Client([front] if proxy else ports, number) for number in range(options.clients)]
            seeds = [random.Random(rng.random()) for _ in clients]
            threads = [threading.Thread(target=load.work, args=(client, files, each)) for client, each in zip(clients, seeds)]
            killed: list[int] = []
            killer = threading.Thread(
                target=lambda: killed.append(killing(processes, load, max(3, options.edits // 200), done, rng))
            )
            try:
                begun = time.monotonic()
                for thread in [*threads, killer]:
                    thread.start()
                for thread in threads:
                    thread.join()
                took = time.monotonic() - begun
                done.set()
                killer.join()
                # What the last killed process left is ended before anybody builds on it, at the latest now.
                for port in ports:
                    processes.kill(port)
                outcome = {"no acknowledged edit is lost": verify(load, files, root, state)}
                outcome["an edit is undone by another process"] = undone_by_another(ports, files[0])
                statuses = processes.end()
                outcome["SIGTERM ends each process well"] = [] if set(statuses) == {0} else [f"they ended with {statuses}"]
            finally:
                for process in [*processes.running.values(), *([proxy] if proxy else [])]:
                    process.terminate()
                    process.wait(PATIENCE)
        refused = ", ".join(f"{count} {code}" for code, count in load.refused.items()) or "none"
        print(
            f"{options.processes} processes, {options.clients} clients, {killed[0] if killed else 0} killed (seed {options.seed}): "
            f"{len(load.made)} edits acknowledged in {took:.1f} s, {len(load.unknown)} cut off, refused: {refused}"
        )
        if not killed or not killed[0]:
            outcome["no acknowledged edit is lost"].append("no process was killed")
        return outcome


def throughput(options: argparse.Namespace) -> None:
    """Edits and reads a second, from 1 to 32 processes: each client has a file of its own, or all share one."""
    print("| processes | edits/s, a file for each client | edits/s, one file | reads/s |")
    print("|---|---|---|---|")
    for count in (1, 2, 4, 8, 16, 32):
        with tempfile.TemporaryDirectory(prefix="mte-load-") as made:
            directory = Path(made).resolve()
            root, state = directory / "root", directory / "state"
            root.mkdir()
            files = [root / f"{number}.txt" for number in range(options.clients)]
            for path in files:
                path.write_text("".join(f"line {number}\n" for number in range(1_000)) + END)
            ports = free_ports(count)
            with (directory / "log").open("wb") as log:
                processes = Processes(root, state, ports, log)

                def rate(call: Any) -> float:
                    counts = [0] * options.clients
                    end = time.monotonic() + options.seconds

                    def work(number: int) -> None:
                        client = Client(ports, number)
                        while time.monotonic() < end:
                            if not call(client, number, counts[number])["isError"]:
                                counts[number] += 1
                        client.close()

                    threads = [threading.Thread(target=work, args=(number,)) for number in range(options.clients)]
                    for thread in threads:
                        thread.start()
                    for thread in threads:
                        thread.join()
                    return sum(counts) / options.seconds

                def edit(path: Path, client: Client, number: int) -> dict[str, Any]:
                    return client.call("patch_text_file_contents", {"files": [insertion(path, f"of {number}")]})

                own = rate(lambda client, number, _: edit(files[number], client, number))
                shared = rate(lambda client, number, _: edit(files[0], client, number))
                reads = rate(
                    lambda client, number, _: client.call(
                        "get_text_file_contents", {"file_path": str(files[number]), "line_start": 100, "line_end": 150}
                    )
                )
                processes.end()
            print(f"| {count} | {own:.0f} | {shared:.0f} | {reads:.0f} |", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--edits", type=int, default=4_000)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--nginx", choices=("require", "auto", "off"), default="auto")
    parser.add_argument("--throughput", action="store_true")
    parser.add_argument("--seconds", type=float, default=5.0)
    options = parser.parse_args()
    if options.throughput:
        throughput(options)
        return 0
    outcome = losing_nothing(options)
    for name, problems in outcome.items():
        print(f"{'failed' if problems else 'passed'}: {name}")
        for problem in problems[:20]:
            print(f"    {problem}")
    failed = sum(1 for problems in outcome.values() if problems)
    print(f"{len(outcome) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
