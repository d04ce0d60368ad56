"""What a database does to those who rely on it: it is not there, is killed and restarted, fails over, is slow,
full, read-only, of a later version, or somebody else's; and what it must never be told, or tell.

    database.py [NAME…]

While it fails an edit is refused after a bounded wait, and nothing was written; reads go on; what was
acknowledged is there, and known to it. When it is back all goes on without a restart. The password is in no
log, no list of processes and no reply. Undo goes from machine to machine, whatever each calls the directory;
clocks that are an hour apart change nothing.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Callable

from calls import PATCH, PREFIX, READ, looked_at, make
from machines import DATABASE, LEADING, PASSWORD, ROLE, Machine, Machines, Server, enter, until

HERE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(HERE / "reliability"))

from harness import Closed, Report, binary  # noqa: E402

SCHEMA = "mcp_text_editor"
UNDO = "undo_text_file_edits"
#: How long an edit may be refused for; how long after its return the database may be taken for gone.
BOUND, NOTICED = 30.0, 20.0


class World:
    """Two machines with a server each, and a file that both edit."""

    def __init__(self, machines: Machines) -> None:
        self.machines, self.number = machines, 0
        self.path().write_text("made 0\n")
        self.servers = [machine.server() for machine in machines]

    def path(self, machine: Machine | None = None) -> Path:
        return (machine.home if machine else self.machines.home) / "file"

    def edit(self, which: int = 1, server: Server | None = None) -> tuple[Any, float]:
        """The number in the file goes up by one; the reply, and how long it took."""
        machine, number = self.machines[which], int(self.path().read_text().split()[1])
        start = time.monotonic()
        reply = (server or self.servers[which - 1]).call(PATCH, {"files": [{"file_path": str(self.path(machine)), "patches": [
            {"old_string": f"made {number}\n", "new_string": f"made {number + 1}\n"}]}]}, 3 * BOUND)
        return reply, time.monotonic() - start

    def refused(self, what: str, server: Server | None = None, codes: tuple[str, ...] = ("io_error", "busy")) -> list[str]:
        """An edit is refused within the bound, nothing was written, and a read goes on."""
        before, problems = self.path().read_bytes(), []
        reply, took = self.edit(1, server)
        if not reply.is_error or reply.code not in codes or "nothing was written" not in reply.text:
            problems.append(f"{what}: an edit is answered with {reply.text[:400]}")
        if self.path().read_bytes() != before:
            problems.append(f"{what}: something was written")
        if took > BOUND:
            problems.append(f"{what}: an edit is refused after {took:.1f} s only")
        if PASSWORD in reply.text:
            problems.append(f"{what}: the reply has the password")
        start = time.monotonic()
        read = (server or self.servers[0]).call(READ, {"files": [{"file_path": str(self.path(self.machines[1]))}]}, 3 * BOUND)
        if read.is_error or time.monotonic() - start > BOUND:
            problems.append(f"{what}: a read, after {time.monotonic() - start:.1f} s: {read.text[:300]}")
        return problems

    def goes_on(self, what: str) -> list[str]:
        """Soon each machine's server edits again."""
        problems, end = [], time.monotonic() + NOTICED
        for which in range(1, len(self.servers) + 1):
            while (reply := self.edit(which)[0]).is_error and time.monotonic() < end:
                time.sleep(0.2)
            if reply.is_error:
                problems.append(f"{what}, and machine {which} goes on refusing: {reply.text[:400]}")
        return problems

    def close(self) -> None:
        for server in self.servers:
            server.terminate()


# The database fails


def killed(world: World) -> list[str]:
    database, problems = world.machines.databases[0], world.goes_on("at first")
    database.kill()
    problems += world.refused("killed")
    database.start()
    return problems + world.goes_on("started again")


def restarted(world: World) -> list[str]:
    database = world.machines.databases[0]
    database.stop()
    database.start()
    return world.goes_on("restarted")


def stopped(world: World) -> list[str]:
    """It is there, and does not answer."""
    database = world.machines.databases[0]
    database.signal(signal.SIGSTOP)
    try:
        problems = world.refused("stopped")
    finally:
        database.signal(signal.SIGCONT)
    return problems + world.goes_on("continued")


def cut(world: World) -> list[str]:
    database = world.machines.databases[0]
    database.cut()
    try:
        problems = world.refused("cut off")
    finally:
        database.heal()
    return problems + world.goes_on("connected again")


def slow(world: World) -> list[str]:
    """Somebody holds its tables, longer than any wait."""
    database, done = world.machines.databases[0], threading.Event()
    holder = threading.Thread(target=lambda: (database.psql(f"begin; lock table {SCHEMA}.records in access exclusive mode; select pg_sleep({BOUND}); commit",
                                                            DATABASE), done.set()))
    holder.start()
    time.sleep(0.5)
    problems = world.refused("its tables are held")
    if done.is_set():
        problems.append("the tables were not held as long")
    holder.join()
    return problems + world.goes_on("the tables are free")


def read_only(world: World) -> list[str]:
    database = world.machines.databases[0]
    database.psql(f"alter role {ROLE} set default_transaction_read_only = on")
    database.psql(f"select pg_terminate_backend(pid) from pg_stat_activity where usename = '{ROLE}'")
    try:
        problems = world.refused("read-only")
    finally:
        database.psql(f"alter role {ROLE} reset default_transaction_read_only")
    return problems + world.goes_on("takes writes again")


def full(world: World) -> list[str]:
    """Its disk is full, with which PostgreSQL may end."""
    database, filler = world.machines.databases[0], world.machines.databases[0].data / "filler"
    problems = []
    with filler.open("wb") as file:
        try:
            while True:
                file.write(b"x" * 65536)
                file.flush()
        except OSError:
            pass
    # What fits into pages that it has is written; then nothing fits.
    for _ in range(400):
        before = world.path().read_bytes()
        reply, took = world.edit(1)
        if took > BOUND:
            problems.append(f"full: an edit took {took:.1f} s")
        if reply.is_error:
            if "nothing was written" not in reply.text or world.path().read_bytes() != before:
                problems.append(f"full: {reply.text[:400]}")
            break
    filler.unlink()
    if not database.processes():
        database.forget()
        database.start()
    return problems + world.goes_on("not full any more")


def fails_over(world: World) -> list[str]:
    """The first database loses power in the midst of edits; the replica takes its place, at its address."""
    return over(world, world.machines.url, world.machines.fail_over)


def fails_over_by_name(world: World) -> list[str]:
    """Servers that know both by name."""
    first, second = world.machines.databases
    hosts = f"{first.address},{second.address}"
    problems = []
    for url, code, words in ((first.url(hosts), 0, ", a standby"), (first.url(second.address), 1, "it is a standby, which takes no writes")):
        found, said = doctor(world.machines[1], url)
        if found != code or words not in said:
            problems.append(f"doctor: {found}, {said[-800:]}")
    return problems + over(world, first.url(hosts, target_session_attrs="read-write"), world.machines.fail_over)


def over(world: World, url: str, fail_over: Callable[[], None]) -> list[str]:
    problems: list[str] = []
    for server in world.servers:
        server.terminate()
    world.machines.url = url
    world.servers = [machine.server() for machine in world.machines]
    problems += world.goes_on("at first")
    acknowledged, done = [0], threading.Event()
    world.path().write_text("made 0\n")

    def work() -> None:
        while not done.is_set():
            reply, took = world.edit(1)
            acknowledged[0] += not reply.is_error
            if reply.is_error and "nothing was written" not in reply.text:
                problems.append(f"in the midst of it: {reply.text[:400]}")
            if took > 2 * BOUND:
                problems.append(f"an edit took {took:.1f} s")

    worker = threading.Thread(target=work)
    worker.start()
    time.sleep(1.5)
    fail_over()
    time.sleep(6)
    done.set()
    worker.join()
    problems += world.goes_on("failed over")
    made = int(world.path().read_text().split()[1])
    # Each machine's edit since then.
    if made != acknowledged[0] + len(world.servers):
        problems.append(f"{acknowledged[0]} edits were acknowledged, and the file counts {made - len(world.servers)}")
    kept = int(world.machines.databases[0].psql(f"select count(*) from {SCHEMA}.records", DATABASE))
    if kept:
        problems.append(f"{kept} records are left")
    print(f"   {made} edits, the fail-over in their midst", flush=True)
    return problems


# What is wrong from the beginning


def started(world: World, url: str, *options: str) -> Server | str:
    """A server with that URL; or what it said instead of starting."""
    machine = world.machines[1]
    try:
        return Server(machine.home, options=machine.options("--log-level", "debug", *options), wrap=machine.wrap, state=machine.state,
                      env={"MCP_TEXT_EDITOR_STATE_URL": url})
    except Closed as end:
        return str(end)


def wrong_urls(world: World) -> list[str]:
    """A text that is no URL ends the program with a reason; a database that cannot be had, or lets nobody in,
    refuses edits. None tells the password."""
    database, problems = world.machines.databases[0], []
    for url in ("mysql://editor:{}@db/editors", "postgres://editor:{}@", "postgres://editor:{}@10.99.0.200:port/editors", "{}", "postgres://a:{}@b/c?sslmode=so-so"):
        said = started(world, url.format(PASSWORD))
        if isinstance(said, Server):
            said.terminate()
            problems.append(f"{url} is taken for a URL")
        elif PASSWORD in said or "STATE_URL" not in said and "state-url" not in said:
            problems.append(f"{url}: {said[-400:]}")
    nowhere = {"nobody listens": database.url(world.machines[2].address), "no such machine": database.url("10.99.0.99"),
               "no such database": database.url().replace(f"/{DATABASE}?", "/nothing?"), "another password": database.url().replace(PASSWORD, "other"),
               "no such user": database.url().replace(f"//{ROLE}:", "//nobody:"), "TLS is wanted, and not had": database.url(sslmode="verify-full")}
    for what, url in nowhere.items():
        server = started(world, url)
        if isinstance(server, str):
            problems.append(f"{what}: it does not start: {server[-400:]}")
            continue
        problems += world.refused(what, server)
        log = server.stderr()
        if PASSWORD in log:
            problems.append(f"{what}: the log has the password")
        server.terminate()
    return problems


def optional(world: World) -> list[str]:
    """With --state-optional edits go on without it, and say so."""
    server = started(world, world.machines.databases[0].url("10.99.0.99"), "--state-optional")
    if isinstance(server, str):
        return [f"it does not start: {server[-400:]}"]
    reply, _ = world.edit(1, server)
    server.terminate()
    return [] if not reply.is_error and "warnings" in reply.text else [f"an edit: {reply.text[:400]}"]


def later(world: World) -> list[str]:
    """A schema of a later version is neither used nor changed."""
    database = world.machines.databases[0]
    problems = world.goes_on("at first")
    version = database.psql(f"select version from {SCHEMA}.mcp_text_editor_schema", DATABASE)
    database.psql(f"update {SCHEMA}.mcp_text_editor_schema set version = 1000", DATABASE)
    try:
        server = started(world, world.machines.url)
        if isinstance(server, str):
            problems.append(f"it does not start: {server[-400:]}")
        else:
            problems += world.refused("of a later version", server)
            server.terminate()
        now = database.psql(f"select version from {SCHEMA}.mcp_text_editor_schema", DATABASE)
        if now != "1000":
            problems.append(f"the version was 1000, and is {now}")
    finally:
        database.psql(f"update {SCHEMA}.mcp_text_editor_schema set version = {version}", DATABASE)
    return problems


def of_others(world: World) -> list[str]:
    """A schema with tables that are not ours, and one that we may not use."""
    database, problems = world.machines.databases[0], []
    database.psql("create schema theirs; create table theirs.records (id integer); insert into theirs.records values (1); create schema closed", DATABASE)
    database.psql(f"grant usage, create on schema theirs to {ROLE}; grant select on theirs.records to {ROLE}", DATABASE)
    for schema in ("theirs", "closed"):
        server = started(world, database.url(LEADING, schema=schema))
        if isinstance(server, str):
            problems.append(f"{schema}: it does not start: {server[-400:]}")
        else:
            problems += world.refused(f"the schema {schema}", server)
            server.terminate()
    found = database.psql("select count(*) from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname in ('theirs', 'closed')", DATABASE)
    if found != "1":
        problems.append(f"one table was there, and now {found}")
    return problems


def secrets(world: World) -> list[str]:
    """The password is in no log at the lowest level, no list of processes and no reply; with it in the command
    line there is no start."""
    database, problems = world.machines.databases[0], []
    server = started(world, world.machines.url)
    assert isinstance(server, Server), server
    if PASSWORD in Path(f"/proc/{server.process.pid}/cmdline").read_bytes().decode():
        problems.append("the command line has the password")
    world.edit(1, server)
    database.kill()
    reply, _ = world.edit(1, server)
    database.start()
    until("an edit", lambda: not world.edit(1, server)[0].is_error, 2 * NOTICED)
    if PASSWORD in reply.text:
        problems.append("a reply has the password")
    if PASSWORD in (log := server.stderr()):
        problems.append("the log has the password")
    if not log:
        problems.append("there is no log")
    server.terminate()
    for path in world.machines[1].state.rglob("*"):
        if path.is_file() and PASSWORD.encode() in path.read_bytes():
            problems.append(f"{path.name} in the state directory has the password")
    try:
        told = Server(world.machines[1].home, options=("--state-url", world.machines.url), wrap=world.machines[1].wrap, state=world.machines[1].state)
        told.terminate()
        problems.append("a password in the command line, where all can see it, is taken")
    except Closed as end:
        if PASSWORD in str(end):
            problems.append("the refusal has the password")
    return problems


def doctor(machine: Machine, url: str, root: Path | None = None, **env: str) -> tuple[int, str]:
    """What `doctor` says of a database and of the volume, on a machine, and how it ends."""
    done = subprocess.run([*machine.wrap, binary(), "doctor", "--root", str(root or machine.home)], capture_output=True, text=True, check=False, cwd="/",
                          env={"PATH": os.environ["PATH"], "HOME": str(machine.state), "MCP_TEXT_EDITOR_STATE_DIR": str(machine.state),
                               "MCP_TEXT_EDITOR_STATE_URL": url, **env})
    return done.returncode, done.stdout + done.stderr


def told_by_doctor(world: World) -> list[str]:
    """`doctor` says on a machine what is wrong with the database, and of its volume how others know it; nothing is
    changed, and no password shown."""
    machine, database = world.machines[1], world.machines.databases[0]
    nothing = database.url(schema="looked_at")
    problems = world.goes_on("at first")
    cases = {"it is well": (world.machines.url, 0, "all is well"), "its volume": (world.machines.url, 0, f" {machine.home} [glusterfs:"),
             "its locks": (world.machines.url, 0, "its locks hold among machines"), "no schema": (nothing, 0, "is made with the first use"),
             "another password": (database.url().replace(PASSWORD, "other"), 1, "it takes another password of the role"),
             "no such database": (database.url().replace(f"/{DATABASE}?", "/nothing?"), 1, "it has no database nothing"),
             "nobody listens": (database.url(world.machines[2].address), 1, "there is no connection"),
             "no such machine": (database.url("10.99.0.99"), 1, "wrong: 10.99.0.99:5432"), "no TLS": (database.url(sslmode="verify-full"), 1, "it has no TLS")}
    for what, (url, code, words) in cases.items():
        found, said = doctor(machine, url)
        if found != code or words not in said or PASSWORD in said:
            problems.append(f"{what}: {found}, {said[-800:]}")
    database.signal(signal.SIGSTOP)
    try:
        found, said = doctor(machine, world.machines.url)
    finally:
        database.signal(signal.SIGCONT)
    if found != 1 or "it does not answer" not in said:
        problems.append(f"stopped: {found}, {said[-800:]}")
    for library in sorted(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1"))[-1:]:
        found, said = doctor(machine, world.machines.url, LD_PRELOAD=library, FAKETIME="+7200", DONT_FAKE_MONOTONIC="1")
        # An instant less than was set has gone by.
        if found != 1 or not ("its clock is 2 h behind" in said or "its clock is 119 min behind" in said):
            problems.append(f"two hours ahead: {found}, {said[-800:]}")
    if database.psql("select count(*) from pg_namespace where nspname = 'looked_at'", DATABASE) != "0":
        problems.append("a schema was made")
    return problems + world.goes_on("looked at")


def seen_late(world: World) -> list[str]:
    """A mount that remembers names for a minute: `doctor` says it, and a server when it starts, each with the options to mount
    with. The others are silent."""
    machine, problems = world.machines[1], []
    late, wanted = machine.mounted.with_name("late"), "up to 60 s late (fuse.glusterfs)"
    late.mkdir()
    world.machines.mount(late, machine.inside, ("--entry-timeout=60",))
    try:
        for root, code in ((machine.home, 0), (late, 1)):
            found, said = doctor(machine, world.machines.url, root)
            if found != code or (wanted in said and "mount it with entry-timeout=0" in said) != bool(code):
                problems.append(f"doctor of {root}: {found}, {said[-800:]}")
            with Server(root, options=machine.options(), wrap=machine.wrap, state=machine.state, env=machine.environment()) as server:
                server.call(READ, {"file_path": str(root / "file")})
                if (wanted in server.stderr()) != bool(code):
                    problems.append(f"a server of {root}: {server.stderr()[-800:]}")
    finally:
        subprocess.run(["umount", "-l", late], check=True)
    return problems


# Across machines


def undo(world: World) -> list[str]:
    """One machine takes back what another did, whatever either calls the directory; a third, whose root lies
    deeper, too."""
    problems = []
    for kind in ("one", "mixed", "create", "in place"):
        call = make(kind, f"undo-{kind.replace(' ', '-')}", world.machines.home)
        made = world.servers[0].call(PATCH, call.arguments(world.machines[1].home))
        if made.is_error:
            problems.append(f"{kind}: {made.text[:300]}")
            continue
        edit_id = json.loads(made.text)["edit_id"]
        with world.machines[2].server(root=call.directory) as deeper:
            undone = deeper.call(UNDO, {"edit_id": edit_id}, 2 * BOUND)
        if undone.is_error:
            problems.append(f"{kind}: another machine cannot undo it: {undone.text[:400]}")
        elif (state := call.state(call.on_disk(world.machines.home))) != "old":
            problems.append(f"{kind}: undone, and all is {state}")
    return problems


def named(world: World) -> list[str]:
    """Roots that are told by name, where nothing else tells that they are the same."""
    problems = []
    directory = world.machines.home / "named"
    directory.mkdir()
    (directory / "file").write_text("one\n")
    servers = []
    for machine in world.machines:
        root = machine.home / "named"
        servers.append(Server(root, options=machine.options("--root-name", f"work={root}"), wrap=machine.wrap, state=machine.state, env=machine.environment()))
    made = servers[0].call(PATCH, {"files": [{"file_path": str(world.machines[1].home / "named/file"), "patches": [{"old_string": "one\n", "new_string": "two\n"}]}]})
    if made.is_error:
        problems.append(f"an edit: {made.text[:300]}")
    else:
        undone = servers[1].call(UNDO, {"edit_id": json.loads(made.text)["edit_id"]})
        if undone.is_error or (directory / "file").read_text() != "one\n":
            problems.append(f"another machine cannot undo it: {undone.text[:400]}")
    for server in servers:
        server.terminate()
    return problems


def clocks(world: World) -> list[str]:
    """A machine whose clock is an hour ahead dies in an edit; one whose clock is right ends it, and the other
    way round."""
    libraries = sorted(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1"))
    if not libraries:
        return ["libfaketime is not installed"]
    problems = []
    for ahead, offset in ((1, "+3600"), (2, "+3600"), (1, "-3600")):
        fake = {"LD_PRELOAD": libraries[-1], "FAKETIME": offset, "FAKETIME_NO_CACHE": "1", "DONT_FAKE_MONOTONIC": "1"}
        servers = [machine.server(env=fake if machine.number == ahead else None) for machine in world.machines]
        for at in (0.15, 0.4, 0.8):
            call = make("forty", f"clocks-{ahead}{offset}-{at}", world.machines.home)
            servers[0].start(PATCH, call.arguments(world.machines[1].home))
            time.sleep(at)
            servers[0].terminate()
            seen, error = looked_at(servers[1], world.machines[2].home, call, list(call.old), 2 * BOUND)
            if error or call.state(seen) not in ("old", "new"):
                problems.append(f"machine {ahead} by {offset} s, killed after {at} s: {error or call.state(seen)}")
            # What it died in before anything could be seen is taken away at the next start.
            servers[0] = world.machines[1].server(env=fake if ahead == 1 else None)
            if left := [path.name for path in (world.machines.home / call.directory).iterdir() if path.name.startswith(PREFIX)]:
                problems.append(f"machine {ahead} by {offset} s: left beside: {left[:4]}")
        for server in servers:
            server.terminate()
    return problems


CASES: dict[str, Callable[[World], list[str]]] = {
    "killed": killed, "restarted": restarted, "stopped": stopped, "cut off": cut, "slow": slow, "read-only": read_only, "full": full,
    "wrong URLs": wrong_urls, "optional": optional, "a later version": later, "somebody else's": of_others, "secrets": secrets, "doctor": told_by_doctor, "seen late": seen_late,
    "undo": undo,
    "roots by name": named, "clocks an hour apart": clocks}
#: These want a replica, and a database of their own.
FAILING_OVER: dict[str, Callable[[World], list[str]]] = {"fails over": fails_over, "fails over by name": fails_over_by_name}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help=f"of: {', '.join([*CASES, *FAILING_OVER])}")
    parser.add_argument("--alike", action="store_true", help="with the volume at the same path on both machines")
    options = parser.parse_args()
    report = Report()
    if reason := enter():
        report.skip("databases of machines", reason)
        return report.end()
    wanted = options.names or [*CASES, *FAILING_OVER]
    groups = [([name for name in wanted if name in CASES], False), *(([name], True) for name in wanted if name in FAILING_OVER)]
    for names, replica in groups:
        if not names:
            continue
        with Machines(2, replica=replica, alike=options.alike) as machines:
            world = World(machines)
            for name in names:
                report.section(name)
                report.run(name, lambda name=name: {**CASES, **FAILING_OVER}[name](world))
            world.close()
    report.section("done")
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
