"""Several machines on one: network namespaces with a cable each, a GlusterFS volume that all of them mount,
PostgreSQL with a streaming replica.

    machines.py [--machines N] [COMMAND …]      N machines (default 2) while COMMAND (default: a shell) runs, with MACHINES set to where they are;
                                                `nsenter --net=/run/netns/m1 PROGRAM` runs one there, `$MACHINES/m1` is the volume

`enter` starts the program again in namespaces of its own for processes, mounts and networks: whatever becomes
of it, the kernel ends what it started and takes mounts, cables and addresses away. The first network is that
of the machine with the disk; a bridge leads to the others.

A machine has its own network, its own mount of the volume, and its own state directory.
`cut` takes its cable out, `lose_power` too, then ends all that runs there, so that nobody is told; `boot`
gives a new network to it. Databases are machines of their own. Root, Linux; Debian's glusterfs-server and
postgresql. Python's standard library alone.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Callable, Iterator

HERE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(HERE / "tests" / "clients"))

import session  # noqa: E402

__all__ = ["Database", "Machine", "Machines", "Server", "enter", "until"]

#: After how many seconds the volume's server gives a machine up.
GIVEN_UP = 3
#: Where the disk is, and what of 10.99.0.0/24 the others have: machine 1 has .11, the first database .201.
DISK, FIRST_MACHINE, FIRST_DATABASE = "10.99.0.1", 10, 200
#: An address that leads to whichever database is the first; it moves when that one fails.
LEADING = "10.99.0.200"
VOLUME = "work"
#: The role of the servers, which may make a schema in one database and nothing else. Its password is looked
#: for in logs.
ROLE, PASSWORD, DATABASE = "editor", "n0b0dy-may-see-th1s", "editors"
#: What of the volume's client shows a file as it was a while ago.
CACHES = ("performance.quick-read", "performance.stat-prefetch", "performance.open-behind")
#: With these options the kernel asks each time, and forgets pages of a file that was written elsewhere. The
#: last is said to be on by default, and is not.
FRESH = ("--entry-timeout=0", "--attribute-timeout=0", "--auto-invalidation=on")
#: Directories of GlusterFS that are this run's alone.
OF_GLUSTER = ("/var/lib/glusterd", "/var/log/glusterfs", "/run/gluster")
#: How long a mount may take to come back.
COMES_BACK = 20.0
#: How much a database's disk holds, in bytes.
DATABASE_SIZE = 256 << 20
#: How long anything may take to come up.
PATIENCE = 60.0


def lacking() -> str | None:
    """Why machines cannot be made here; None if they can."""
    if os.geteuid() != 0:
        return "only root makes networks and mounts"
    missing = [program for program in ("glusterd", "gluster", "glusterfs", "ip", "nsenter", "unshare") if not shutil.which(program)]
    if not binaries_of_postgresql():
        missing.append("postgresql")
    if missing:
        return f"not installed: {', '.join(missing)}"
    if not os.path.exists("/dev/fuse"):
        return "there is no /dev/fuse"
    tried = subprocess.run([*UNSHARE, "sh", "-c", "mount -t tmpfs none /run && mkdir /run/netns && ip netns add m && ip link add lan type bridge"],
                           capture_output=True, text=True)
    return None if tried.returncode == 0 else f"namespaces are not to be had: {tried.stderr.strip()[-200:]}"


UNSHARE = ("unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "--mount-proc", "--propagation", "private")


def enter() -> str | None:
    """Starts this program again where nothing that it makes outlives it. Comes back there, with None; or here,
    with a reason against it."""
    if os.environ.get("MACHINES_INSIDE"):
        return None
    reason = lacking()
    if reason is None:
        # What cargo built may be named by a path that is relative to where we are; that stays.
        os.execvpe("unshare", [*UNSHARE, sys.executable, *sys.argv], {**os.environ, "MACHINES_INSIDE": "1"})
    return reason


def binaries_of_postgresql() -> Path | None:
    """The newest PostgreSQL of Debian."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


def run(*command: str | os.PathLike[str], **more: Any) -> str:
    """Runs a program to its end; what it says on standard output. An error has all that it said."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=PATIENCE, **more)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stdout}{done.stderr}")
    return done.stdout


def until(what: str, is_so: Callable[[], Any], patience: float = PATIENCE) -> Any:
    """Waits until something is so; an error or something false is not yet."""
    end, last = time.monotonic() + patience, None
    while time.monotonic() < end:
        try:
            if found := is_so():
                return found
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            last = error
        time.sleep(0.05)
    raise TimeoutError(f"{what} did not come in {patience:.0f} s: {last}")


class Network:
    """A network namespace with one address, and a cable to the bridge."""

    def __init__(self, name: str, address: str) -> None:
        self.name, self.address = name, address
        run("ip", "link", "add", f"{name}-cable", "type", "veth", "peer", "name", f"{name}-end")
        run("ip", "link", "set", f"{name}-cable", "master", "lan", "up")
        self._make()

    def _make(self) -> None:
        run("ip", "netns", "add", self.name)
        run("ip", "link", "set", f"{self.name}-end", "netns", self.name)
        inside = ("ip", "-n", self.name)
        run(*inside, "link", "set", "lo", "up")
        run(*inside, "addr", "add", f"{self.address}/24", "dev", f"{self.name}-end")
        run(*inside, "link", "set", f"{self.name}-end", "up")

    @property
    def inside(self) -> tuple[str, ...]:
        """What runs a program there: a prefix of its command."""
        return ("nsenter", f"--net=/run/netns/{self.name}")

    def cut(self) -> None:
        """Takes the cable out. Addresses and connections stay, and nobody is told."""
        run("ip", "link", "set", f"{self.name}-cable", "down")

    def heal(self) -> None:
        run("ip", "link", "set", f"{self.name}-cable", "up")

    def processes(self) -> list[int]:
        """All that runs there."""
        there = os.stat(f"/run/netns/{self.name}")
        found = []
        for entry in os.listdir("/proc"):
            with contextlib.suppress(OSError):
                if entry.isdigit():
                    its = os.stat(f"/proc/{entry}/ns/net")
                    if (its.st_dev, its.st_ino) == (there.st_dev, there.st_ino):
                        found.append(int(entry))
        return found

    def signal(self, number: int) -> None:
        for process in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)

    def lose_power(self) -> None:
        """Ends all at once, connections too. What was not sent is never sent: the cable goes first."""
        self.cut()
        self.signal(signal.SIGKILL)

    def remove(self) -> None:
        """Takes the network away; of its connections nothing is left."""
        run("ip", "netns", "del", self.name)
        # The end of the cable goes with its namespace, at once or a moment later, and the cable with its end.
        subprocess.run(["ip", "link", "del", f"{self.name}-cable"], capture_output=True)

    def boot(self) -> None:
        """A new network in the place of one that lost power."""
        self.remove()
        run("ip", "link", "add", f"{self.name}-cable", "type", "veth", "peer", "name", f"{self.name}-end")
        run("ip", "link", "set", f"{self.name}-cable", "master", "lan", "up")
        self._make()


class Server(session.Server):
    """A server on a machine. What it logs can be looked at after its end, too."""

    logged: str | None = None

    def close(self) -> int:
        self.logged = self.stderr()
        return super().close()

    def stderr(self) -> str:
        return super().stderr() if self.logged is None else self.logged

    def terminate(self) -> None:
        """Lets it go without waiting for it: its machine may hang in the file system."""
        # Numbers of processes that have ended are used again: this asks first.
        self.process.kill()


class Machine(Network):
    """A machine with a mount of the volume, and a state directory of its own."""

    def __init__(self, machines: Machines, number: int) -> None:
        self.machines, self.number = machines, number
        self.mounted, self.state = machines.base / f"m{number}", machines.base / f"state{number}"
        #: Where its programs have the volume.
        self.home = machines.base / "volume" if machines.alike else self.mounted
        for path in (self.mounted, self.state, self.home):
            path.mkdir(mode=0o700, exist_ok=True)
        super().__init__(f"m{number}", f"10.99.0.{FIRST_MACHINE + number}")
        #: Held while it is down, and by whoever starts a program there.
        self.up = threading.Lock()
        self.mount()

    @property
    def wrap(self) -> tuple[str, ...]:
        """What runs a program there that works on the volume."""
        others = [self.machines.home, *(machine.mounted for machine in self.machines if machine is not self)]
        hide = "".join(f"umount -l {path} 2>/dev/null; " for path in others)
        at = "" if self.home == self.mounted else f"mount --bind {self.mounted} {self.home} && umount -l {self.mounted} && "
        # It has no mount but its own, as on a machine.
        return (*self.inside, "unshare", "--mount", "sh", "-c", f'{hide}{at}exec "$@"', "sh")

    def mount(self) -> None:
        self.machines.mount(self.mounted, self.inside)

    def lose_power(self) -> None:
        super().lose_power()
        run("umount", "-l", self.mounted)

    def boot(self) -> None:
        super().boot()
        self.mount()

    def heal(self) -> None:
        """Puts the cable back, and waits for the mount: its client tries again now and then only. Where it does not
        come back, the machine is started anew, as an operator would."""
        super().heal()
        try:
            until(f"machine {self.number}'s volume", lambda: os.listdir(self.mounted) is not None, COMES_BACK)
        except TimeoutError:
            print(f"   machine {self.number}'s volume does not come back, so it is started anew", flush=True)
            self.lose_power()
            self.boot()

    def options(self, *more: str) -> tuple[str, ...]:
        return ("--output", "json", "--tools", "all", *more)

    def environment(self, url: str | None = None) -> dict[str, str]:
        """What a server there is told by its environment: the database of all, unless it is another or (an
        empty text) none."""
        url = self.machines.url if url is None else url
        return {"MCP_TEXT_EDITOR_STATE_URL": url} if url else {}

    def server(self, *options: str, root: str = "", url: str | None = None, env: dict[str, str] | None = None, **more: Any) -> Server:
        """A server there, over stdio; `root` is a directory of the volume."""
        return Server(self.home / root, options=self.options(*options), wrap=self.wrap, state=self.state,
                      env={**self.environment(url), **(env or {})}, **more)


class Database(Network):
    """A machine with PostgreSQL, the first or a replica of it."""

    def __init__(self, machines: Machines, number: int, of: Database | None = None) -> None:
        super().__init__(f"db{number}", f"10.99.0.{FIRST_DATABASE + number}")
        # What is copied to a replica is all of its data, so neither log nor socket is there.
        self.machines, self.data, self.beside = machines, machines.base / f"pg{number}", machines.base / f"pg{number}-beside"
        binaries = binaries_of_postgresql()
        assert binaries is not None
        self.binaries, self.log = binaries, self.beside / "log"
        self.user = pwd.getpwnam("postgres")
        for path in (self.data, self.beside):
            path.mkdir(mode=0o700)
            if path is self.data:
                # A disk of its own, which can be full.
                run("mount", "-t", "tmpfs", "-o", f"mode=700,size={DATABASE_SIZE}", "machines", path)
            os.chown(path, self.user.pw_uid, self.user.pw_gid)
        if of is None:
            self.as_postgres("initdb", "--auth=trust", "--no-sync", "--no-instructions", "-D", self.data)
            with (self.data / "pg_hba.conf").open("w") as file:
                file.write("local all all trust\nhost all postgres 10.99.0.0/24 trust\nhost replication postgres 10.99.0.0/24 trust\n"
                           "host all all 10.99.0.0/24 scram-sha-256\n")
        else:
            self.as_postgres("pg_basebackup", "-h", of.address, "-U", "postgres", "-D", self.data, "-R", "--checkpoint=fast", "--no-sync",
                             f"--dbname=application_name=db{number}")
        self.start()

    def as_postgres(self, program: str, *arguments: str | os.PathLike[str]) -> str:
        # Only root may enter a network; what is run in it is not root's.
        unprivileged = ("setpriv", f"--reuid={self.user.pw_uid}", f"--regid={self.user.pw_gid}", "--clear-groups")
        return run(*self.inside, *unprivileged, self.binaries / program, *arguments, cwd=self.machines.base,
                   env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"})

    def start(self) -> None:
        # Its keepalives are the defaults: that a machine is gone must be known without them.
        settings = {"listen_addresses": "0.0.0.0", "unix_socket_directories": self.beside, "wal_level": "replica", "max_connections": 400,
                    "wal_receiver_status_interval": 1, "wal_sender_timeout": "3s", "wal_retrieve_retry_interval": "200ms", "shared_buffers": "32MB",
                    "log_statement": "none"}
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        try:
            self.as_postgres("pg_ctl", "start", "-w", "-D", self.data, "-l", self.log, "-o", options)
        except RuntimeError as error:
            raise RuntimeError(f"{error}\n{self.log.read_text()[-2000:]}") from None

    def stop(self, mode: str = "fast") -> None:
        self.as_postgres("pg_ctl", "stop", "-w", "-m", mode, "-D", self.data)

    def kill(self) -> None:
        """All its processes at once, which is what a crash of the program is; its machine stays up."""
        self.signal(signal.SIGKILL)
        until("the end of the database", lambda: not self.processes())
        self.forget()

    def forget(self) -> None:
        """Lets it start after it was killed: its process is still listed, since nobody here waits for it."""
        for path in (self.data / "postmaster.pid", *self.beside.glob(".s.PGSQL.*")):
            path.unlink(missing_ok=True)

    def psql(self, text: str, database: str = "postgres") -> str:
        return self.as_postgres("psql", "-h", self.beside, "-U", "postgres", "-d", database, "-At", "-v", "ON_ERROR_STOP=1", "-c", text).strip()

    def url(self, address: str | None = None, **options: str) -> str:
        """What a server is given to reach it. TLS is not set up: the network is this program's alone."""
        query = "&".join(f"{name}={value}" for name, value in {"sslmode": "disable", **options}.items())
        return f"postgres://{ROLE}:{PASSWORD}@{address or self.address}/{DATABASE}?{query}"

    def lead(self) -> None:
        """Takes the address that leads; whoever asks finds it here from now on."""
        for other in self.machines.databases:
            with contextlib.suppress(RuntimeError):
                run("ip", "-n", other.name, "addr", "del", f"{LEADING}/24", "dev", f"{other.name}-end")
        run("ip", "-n", self.name, "addr", "add", f"{LEADING}/24", "dev", f"{self.name}-end")
        for network in [*self.machines.running, *self.machines.databases]:
            with contextlib.suppress(RuntimeError):
                run("ip", "-n", network.name, "neigh", "flush", "all")


class Machines:
    """All of them. `url` leads to the database, or is empty: the state then ends at each machine. With `caches` the volume is as GlusterFS makes
    it: what one machine has changed is seen by another within a second. Without, at once. If they are `alike` all have it at the same path.
    Where no cable will be cut (`cables` is false) nobody gives up a machine that is only slow, as those of a busy computer are."""

    def __init__(self, count: int = 2, *, database: bool = True, replica: bool = False, caches: bool = False, alike: bool = False,
                 cables: bool = True) -> None:
        assert os.environ.get("MACHINES_INSIDE"), "`enter` comes first"
        self.caches, self.alike, self.cables = caches, alike, cables
        self.base = Path(tempfile.mkdtemp(prefix="mte-machines-"))
        #: The volume as its disk has it, past all caches.
        self.stored = self.base / "brick"
        self.running: list[Machine] = []
        self.databases: list[Database] = []
        self.daemons: list[subprocess.Popen[bytes]] = []
        self.url, self.made = "", 0
        #: Whether something is made to fail just now, so that calls may be refused.
        self.troubled = False
        self.began = time.monotonic()
        try:
            self._up(count, database, replica)
        except BaseException:
            self.close()
            raise

    def _up(self, count: int, database: bool, replica: bool) -> None:
        # In memory: what a power cut takes from a disk is tests/reliability/power.py's.
        run("mount", "-t", "tmpfs", "-o", "mode=755", "machines", self.base)
        for path in ("/run", *OF_GLUSTER):
            os.makedirs(path, exist_ok=True)
            run("mount", "-t", "tmpfs", "-o", "mode=755", "machines", path)
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "lan", "type", "bridge")
        run("ip", "addr", "add", f"{DISK}/24", "dev", "lan")
        run("ip", "link", "set", "lan", "up")
        if database:
            self.made = 1
            self.databases.append(Database(self, self.made))
            self.grant(self.databases[0])
            self.databases[0].lead()
            self.url = self.databases[0].url(LEADING)
        if replica:
            self.replicate()
        self._serve_volume()
        self.home = self.base / "m0"
        self.home.mkdir()
        self.mount(self.home, ())
        for number in range(1, count + 1):
            self.running.append(Machine(self, number))

    def grant(self, database: Database) -> None:
        database.psql(f"create role {ROLE} login password '{PASSWORD}'")
        database.psql(f"create database {DATABASE}")
        # What docs say is enough: it may make its schema, and do as it likes there.
        database.psql(f"grant connect, create, temporary on database {DATABASE} to {ROLE}")
        database.psql("revoke all on schema public from public", DATABASE)

    def replicate(self) -> None:
        """A second database that follows the first; what is committed is on both."""
        first = self.databases[0]
        self.made += 1
        self.databases.append(Database(self, self.made, of=first))
        first.psql("alter system set synchronous_standby_names = '*'")
        first.psql("select pg_reload_conf()")
        until("the replica", lambda: first.psql("select count(*) from pg_stat_replication where sync_state = 'sync'") == "1")

    def fail_over(self) -> None:
        """The first database loses its power; the replica is promoted, and has the address that leads."""
        first, second = self.databases
        first.lose_power()
        first.remove()
        second.as_postgres("pg_ctl", "promote", "-w", "-D", second.data)
        # Nobody follows it yet, so it waits for nobody.
        second.psql("alter system reset synchronous_standby_names")
        second.psql("select pg_reload_conf()")
        second.lead()
        self.databases = [second]

    def _serve_volume(self) -> None:
        daemon = subprocess.Popen(["glusterd", "--no-daemon", "-l", str(self.base / "glusterd.log")], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        self.daemons.append(daemon)
        gluster = ("gluster", "--mode=script")
        until("glusterd", lambda: run(*gluster, "volume", "list") is not None)
        self.stored.mkdir()
        run(*gluster, "volume", "create", VOLUME, f"{DISK}:{self.stored}", "force")
        settings = {"network.ping-timeout": 2, "server.tcp-user-timeout": GIVEN_UP, "server.keepalive-time": 1, "server.keepalive-interval": 1,
                    "server.keepalive-count": GIVEN_UP - 1} if self.cables else {}
        if not self.caches:
            settings |= dict.fromkeys(CACHES, "off")
        for name, value in settings.items():
            run(*gluster, "volume", "set", VOLUME, name, str(value))
        run(*gluster, "volume", "start", VOLUME)

    def mount(self, at: Path, inside: tuple[str, ...], options: tuple[str, ...] | None = None) -> None:
        """Mounts the volume, from the network of a machine; the process that serves the mount runs there."""
        fresh = options or (() if self.caches else FRESH)
        daemon = subprocess.Popen([*inside, "glusterfs", "--no-daemon", f"--volfile-server={DISK}", f"--volfile-id={VOLUME}", "--log-level=ERROR",
                                   *fresh, f"--log-file={at}.log", str(at)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.daemons.append(daemon)
        until(f"the volume at {at}", lambda: os.path.ismount(at) and os.statvfs(at).f_blocks > 0)

    def __getitem__(self, number: int) -> Machine:
        """The machine of that number; the first is 1."""
        return self.running[number - 1]

    def __iter__(self) -> Iterator[Machine]:
        return iter(self.running)

    def __enter__(self) -> Machines:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Ends all of it. If this is not reached, the end of the namespaces does the same."""
        for network in [*self.running, *self.databases]:
            network.signal(signal.SIGKILL)
        for daemon in self.daemons:
            daemon.kill()
        for entry in os.listdir("/proc"):
            # Here are no processes but those of this program.
            if entry.isdigit() and int(entry) not in (1, os.getpid()):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(entry), signal.SIGKILL)
        for network in [*self.running, *self.databases]:
            with contextlib.suppress(RuntimeError):
                network.remove()
        subprocess.run(["ip", "link", "del", "lan"], capture_output=True)
        for path in [*(machine.mounted for machine in self.running), self.base / "m0", *self.base.glob("pg?"), *OF_GLUSTER, "/run", self.base]:
            subprocess.run(["umount", "-l", path], capture_output=True)
        shutil.rmtree(self.base, ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--machines", type=int, default=2)
    parser.add_argument("--replica", action="store_true", help="a second database, which follows the first")
    parser.add_argument("--caches", action="store_true", help="the volume with its caches, which are on by default")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if reason := enter():
        print(f"skipped: {reason}")
        return 1
    with Machines(options.machines, replica=options.replica, caches=options.caches) as machines:
        print(f"{options.machines} machines at {machines.base}: m1 …, in {time.monotonic() - machines.began:.1f} s; {machines.url}", flush=True)
        return subprocess.run(options.command or ["bash"], env={**os.environ, "MACHINES": str(machines.base)}).returncode


if __name__ == "__main__":
    sys.exit(main())
