"""Real agent programs against the server, told of it as docs/install.md says and by `install`, with a script in the place of the model.

    agents.py                     Gemini CLI, Qwen Code and Codex
    agents.py claude opencode     these; `all` for all six
    agents.py codex --only reads --keep /tmp/traces

Each client is installed once, by npm, in the version that `clients.py` names. It runs without a terminal, in a home and a project of its
own, where there is no network but loopback. A recorder (`wire.py`) stands between client and server. What must hold:

- every call of the script reaches the server, and is what the model sent;
- the model sees every reply as the server sent it: nothing is cut off, left out or put into a file;
- the files are right in the end, byte for byte, and a person's `history` lists every edit;
- an entry in the project names no absolute path;
- a client hides tools behind its search as people have it: by the document's entry the script searches, and after `install` the first
  request to the model has the patch tool;
- after `install --instead` no request offers the client's own tools that change files;
- after `install`, `doctor` finds nothing wrong; over HTTP (`install --http --token-env`), behind a recorder of its own (`relay.py`), too.

Ends with `N passed, N failed`. Where the packages or the namespace cannot be had it says `skipped` and why.
"""

import argparse
import concurrent.futures
import dataclasses
import fcntl
import json
import os
import re
import shlex
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True

import document
import script
import wire
from clients import CLIENTS, Unavailable, install, newest, node
from model import ADDED_BY_CLIENTS, Conversation, Model
from relay import TOKEN_ENV, Relay

HERE = Path(__file__).resolve().parent
LIMIT = 300  # seconds for a client; what takes longer hangs
SCRIPTS = {
    "edits": script.EDITS, "reads": script.READS, "project": script.TOUCH, "missing": script.MISSING, "mode": script.PATCH_ONLY,
}


@dataclasses.dataclass
class Run:
    client: str
    name: str
    model: str
    variant: str = ""
    installs: bool = False  # whether `install` tells the client, and not the document's entry
    http: bool = False  # whether that leads it to a server that runs
    instead: bool = False  # whether the client's own tools that change files are switched off

    def __str__(self):
        return f"{self.client}, {self.name}" + (", installed" if self.installs else "") + (" instead" if self.instead else "") + (", over HTTP" if self.http else "") + (f", {self.model}" if CLIENTS[self.client].other_model else "")


def runs(client):
    """What is tried with a client."""
    known = CLIENTS[client]
    for model in known.models:
        yield Run(client, "edits", model)
        yield Run(client, "reads", model)
    if known.other_model:
        yield Run(client, "reads", known.other_model, "other-model")
    yield Run(client, "project", known.models[0])
    yield Run(client, "missing", known.models[0])
    if client == "claude":
        yield Run(client, "mode", known.models[0], "claude-code")
    for name in ("edits", "project", "mode"):
        yield Run(client, name, known.models[0], "installed", installs=True)
    yield Run(client, "edits", known.models[0], "installed", installs=True, http=True)
    if known.writers:
        yield Run(client, "edits", known.models[0], "installed", installs=True, instead=True)


# --- one run, inside its namespace ----------------------------------------------------------------------------------------------------


def merge(into, more):
    for key, value in more.items():
        both = isinstance(value, dict) and isinstance(into.get(key), dict)
        into[key] = merge(into[key], value) if both else value
    return into


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def prepare(run, top, url, options):
    """Home, project and programs; returns the commands that register, the client's command, the environment, and the server that runs already."""
    client, home, project, programs = CLIENTS[run.client], top / "home", top / "project", top / "bin"
    for folder in (home, project, programs, top / "wire", top / "tmp"):
        folder.mkdir(parents=True)
    server = programs / "mcp-text-editor"
    words = [sys.executable, "-IS", str(HERE / "wire.py"), str(top / "wire"), options["server"]]
    write(server, f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    server.chmod(0o755)
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    for name, text in SCRIPTS[run.name].before.items():
        write(project / name, text)

    setting = client.setting(url, run.model, str(project))
    commands, files, command = document.steps(document.blocks(), run.client, run.name == "project", run.variant)
    if run.installs:
        commands, files = [], {}
    served = str(project / "not-there") if run.name == "missing" else str(project)
    for place, text in files.items():
        path = home / place[2:] if place.startswith("~/") else project / place
        text = text.replace(document.PROJECT, served)
        more = setting.json.pop(place[2:], None) if place.startswith("~/") else None
        write(path, json.dumps(merge(json.loads(text), more), indent=1) if more else text)
    for place, more in setting.json.items():
        write(home / place, json.dumps(more))
    for place, (above, below) in setting.toml.items():
        path = home / place
        write(path, above + (path.read_text() if path.exists() else "") + below)

    env = {
        "HOME": str(home), "TMPDIR": str(top / "tmp"), "TERM": "xterm", "LANG": "C.UTF-8", "USER": "nobody", "SHELL": "/bin/sh",
        "PATH": os.pathsep.join([str(programs), options["node"], "/usr/local/bin", "/usr/bin", "/bin"]),
        # A person may have another state directory, and the client's server must use it.
        "XDG_STATE_HOME": str(home / "state"),
        **setting.env,
    }

    def argv(line):
        """The command's words; what the line sets before them goes into the environment."""
        first, *rest = shlex.split(line.replace(document.PROJECT, served))
        while assignment := re.fullmatch(r"([A-Z_]+)=(.*)", first):
            env[assignment[1]] = assignment[2]
            first, *rest = rest
        if first != run.client:
            raise LookupError(f"docs/install.md starts {run.client} as {first}")
        return [str(client.program(options["home"])), *rest]

    commands, command = [argv(line) for line in commands], argv(command)
    approving = [[str(client.program(options["home"])), *client.approving]] if run.name == "project" and client.approving else []
    serving = Relay(top / "wire", options["server"], project, top, env) if run.http else None
    if serving:
        env[TOKEN_ENV] = serving.token
        commands += leading(run, options["server"], serving.url)
    elif run.installs:
        commands += installing(run, options["server"], str(server), served)
    commands += approving
    if run.instead:
        command = command + [*client.writing, *client.instead]
    return commands, command + setting.words, env, serving


def leading(run, server, url):
    """The commands that lead the client to a server that runs, and look after the entry."""
    option = CLIENTS[run.client].option
    return [[server, "install", option, "--http", url, "--token-env", TOKEN_ENV], [server, "doctor", option, "--project", "."]]


def installing(run, server, recorder, served):
    """The commands that install the server, with the recorder in its place, and look after it."""
    # By its own choice a client gets the tools that patch and copy.
    words = [] if run.name == "mode" else ["--tools", "default"]
    if run.instead and not CLIENTS[run.client].instead:
        words = ["--instead"]
    if run.name == "project":
        words += ["--project", ".", "--command", "mcp-text-editor"]
    else:
        words += ["--command", recorder, served]
    option = CLIENTS[run.client].option
    # What an entry of the project starts by a name is started for who trusts the project alone.
    trust = ["--trust-project"] if run.name == "project" else []
    return [[server, "install", option, *words], [server, "doctor", option, "--project", ".", *trust]]


def play(run, top, options):
    """Runs the client; returns what is wrong, as sentences, and a word on what was done."""
    with socket.socket() as probe:  # brings loopback up: SIOCSIFFLAGS with IFF_UP and IFF_RUNNING
        if not options["open_network"]:
            fcntl.ioctl(probe, 0x8914, struct.pack("16sh", b"lo", 0x41) + bytes(22))
    it, project = SCRIPTS[run.name], top / "project"
    conversation = Conversation(it.calls(str(project / "not-there") if run.name == "missing" else str(project)))
    model = Model(conversation)
    commands, argv, env, serving = prepare(run, top, model.url, options)
    started = time.monotonic()
    with open(top / "output.txt", "wb") as output:
        streams = {"cwd": project, "env": env, "stdin": subprocess.DEVNULL, "stdout": output, "stderr": output}
        for command in commands:
            subprocess.run(command, check=True, timeout=LIMIT, **streams)
        for folder in (top / "wire").iterdir():  # what registering may have started
            shutil.rmtree(folder)
        try:
            status = subprocess.run(argv, timeout=LIMIT, **streams).returncode
        except subprocess.TimeoutExpired:
            status = f"none after {LIMIT} s"
    seconds = time.monotonic() - started
    if serving:
        serving.close()
    starts = list(wire.starts(top / "wire"))
    wrong = [f"the client ended with {status}"] if status else []
    if conversation.failure:
        wrong.append(conversation.failure)
    wrong += not_reached(conversation, starts, model.asked)
    wrong += not_shown(conversation, starts)
    if run.installs and not any("patch_text_file_contents" in tool for tool in model.first or []):
        wrong.append(f"the first request does not have the patch tool: {model.asked[:1]}")
    if run.instead and (own := {tool for names in model.asked for tool in names} & set(CLIENTS[run.client].writers)):
        wrong.append(f"the client's own {', '.join(own)} is offered")
    wrong += files_wrong(it, project)
    wrong += not_in_history(starts, project, env, options)
    came = [call for start in starts for call in start["calls"]]
    replies = [(tool, arguments, text_sent(result), bool((result or {}).get("isError"))) for tool, arguments, result in came]
    wrong += it.told(replies)
    errors = sum(error for *_, error in replies)
    if errors != it.errors:
        texts = "; ".join(text[:200] for *_, text, error in replies if error)
        wrong.append(f"{errors} replies are errors instead of {it.errors}: {texts}")
    if run.name == "project":
        wrong += [f"the project's entry holds a path: {start['arguments']}" for start in starts if any("/" in word for word in start["arguments"])]
        wrong += [f"the server was started in {start['directory']}" for start in starts if start["directory"] != str(project)]
    if not starts or wrong:
        wrong.append("the client said: " + (top / "output.txt").read_text(errors="replace").strip()[-600:])
        wrong += ["the server said: " + start["stderr"] for start in starts if start["stderr"]]
    longest = max((len(text) for *_, text, _ in replies), default=0)
    shown = sum(len(tool) for tool in model.first or [] if "_text_file" in tool)
    return wrong, f"{shown} characters of tools at first, {len(replies)} calls, {longest} characters in the longest reply, {seconds:.1f} s"


def text_sent(result):
    return "\n".join(block.get("text", "") for block in (result or {}).get("content", []))


def without_additions(arguments):
    return {key: value for key, value in arguments.items() if key not in ADDED_BY_CLIENTS}


def not_reached(conversation, starts, asked):
    """The model's calls and the server's must be the same, in order."""
    sent = [(tool, without_additions(arguments)) for tool, arguments in conversation.calls]
    came = [(tool, without_additions(arguments)) for start in starts for tool, arguments, _ in start["calls"]]
    if not starts:
        return ["the client did not start the server"]
    if sent == came:
        return [] if sent else [f"no tool was called; the model was asked with these tools: {asked}"]
    for number, (a, b) in enumerate(zip(sent + [None], came + [None]), 1):
        if a != b:
            return [f"call {number} of {len(sent)} was {json.dumps(a)[:300]}, and {json.dumps(b)[:300]} reached the server"]
    return [f"{len(sent)} calls were made, and {len(came)} reached the server"]


def not_shown(conversation, starts):
    """Each reply must stand in what the model saw, as it is or as JSON, once more as JSON in that, and so on."""
    results = [(tool, result) for start in starts for tool, _, result in start["calls"]]
    wrong = []
    if len(conversation.seen) != len(results):
        wrong.append(f"the model saw {len(conversation.seen)} results of {len(results)}")
    for number, (seen, (tool, result)) in enumerate(zip(conversation.seen, results), 1):
        sent = text_sent(result)
        forms = [sent]
        for _ in range(3):
            forms.append(json.dumps(forms[-1], ensure_ascii=False)[1:-1])
        if not any(form in seen for form in forms):
            # The form that is the same for longest, from where it begins.
            tails = [(seen[max(seen.find(form[:40]), 0) :], form) for form in forms]
            tail, form = max(tails, key=lambda pair: len(os.path.commonprefix(pair)))
            same = len(os.path.commonprefix([tail, form]))
            wrong.append(f"call {number}, {tool}: of {len(form)} characters the model saw {len(seen)}: {same} as sent, then {tail[same:][:120]!r}")
    return wrong


def files_wrong(it, project):
    wrong = []
    found = {str(path.relative_to(project)) for path in project.rglob("*") if path.is_file()}
    found = {name for name in found if not name.startswith(".") and name != "opencode.json"}
    for name in sorted(found | set(it.after)):
        path, wanted = project / name, it.after.get(name)
        bytes_found = path.read_bytes() if path.exists() else None
        if bytes_found != (None if wanted is None else wanted.encode()):
            wrong.append(f"{name} is wrong in the end: {bytes_found and bytes_found[:200]}")
    return wrong


def not_in_history(starts, project, env, options):
    """`history`, run as a person would, must list every edit that the client's server made."""
    made = [re.findall(r'"edit_id": ?"(\w+)"', text_sent(result)) for start in starts for _, _, result in start["calls"]]
    made = [edit for edits in made for edit in edits]
    listed = subprocess.run([options["server"], "history", "--newest", "100"], cwd=project, env=env, capture_output=True, text=True).stdout
    return [f"the person's history does not list edit {edit}" for edit in made if edit not in listed]


# --- from outside ---------------------------------------------------------------------------------------------------------------------


def namespace():
    """The words before a command that is to see nothing but loopback, and whose processes all end with it."""
    own = ["--net", "--pid", "--fork", "--kill-child"]
    root = ["--map-root-user"]
    for words in (own + ["--mount-proc"], root + own + ["--mount-proc"], own, root + own):
        words = ["unshare", *words]
        try:
            if subprocess.run([*words, "true"], stdin=subprocess.DEVNULL, capture_output=True, timeout=10).returncode == 0:
                return words
        except (OSError, subprocess.TimeoutExpired):
            pass
    raise Unavailable("no network namespace can be made here (unshare --net); --open-network goes without")


def attempt(run, options, before):
    top = Path(tempfile.mkdtemp(prefix=f"{run.client}-{run.name}-", dir=options["keep"])).resolve()
    try:
        command = [*before, sys.executable, str(HERE / "agents.py"), "--play", json.dumps([dataclasses.asdict(run), str(top), options])]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=2 * LIMIT)
        try:
            return json.loads(done.stdout)
        except ValueError:
            return [done.stderr[-1500:]], ""
    except subprocess.TimeoutExpired:
        return ["the run did not end"], ""
    finally:
        if not options["keep"]:
            shutil.rmtree(top, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clients", nargs="*", help=f"which of {', '.join(CLIENTS)}; `all`; by default gemini, qwen and codex")
    parser.add_argument("--only", choices=sorted(SCRIPTS), help="this script alone")
    parser.add_argument("--keep", help="a folder for homes, projects and records")
    parser.add_argument("--open-network", action="store_true", help="without a namespace: what clients report to their makers goes out")
    parser.add_argument("--newer", action="store_true", help="only say which clients have a newer version, and fail if one has")
    parser.add_argument("--install", action="store_true", help="only install the clients")
    parser.add_argument("--jobs", type=int, default=2, help="how many clients at a time")
    parser.add_argument("--play", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.play:
        run, top, options = json.loads(given.play)
        print(json.dumps(play(Run(**run), Path(top), options)))
        return 0
    names = given.clients or [client.name for client in CLIENTS.values() if client.always]
    names = list(CLIENTS) if names == ["all"] else names
    if unknown := set(names) - set(CLIENTS):
        parser.error(f"{', '.join(sorted(unknown))}: not one of {', '.join(CLIENTS)}")
    if given.newer:
        newer = {name: found for name in names if (found := newest(CLIENTS[name])) not in ("", CLIENTS[name].version)}
        print("\n".join(f"{name}: {found} instead of {CLIENTS[name].version}" for name, found in newer.items()) or "all are the newest")
        return bool(newer)
    server = os.environ.get("MCP_TEXT_EDITOR_BIN") or str(HERE.parents[1] / "target/debug/mcp-text-editor")
    home = os.path.abspath(os.environ.get("AGENTS_HOME") or HERE.parents[1] / "target/agents")
    if not given.install and not os.access(server, os.X_OK):
        parser.error(f"no server at {server}")
    keep = given.keep and os.path.abspath(given.keep)
    if keep:
        os.makedirs(keep, exist_ok=True)
    options = {"server": os.path.realpath(server), "home": home, "open_network": given.open_network, "keep": keep}
    passed = failed = 0
    try:
        before = [] if given.open_network else namespace()
    except Unavailable as problem:
        print(f"skipped: {problem}")
        failed = 1 if os.environ.get("REQUIRE_ALL") else 0
        print(f"0 passed, {failed} failed")
        return failed
    planned = []
    for name in names:
        started = time.monotonic()
        try:
            options["node"] = node(home)
            os.environ["PATH"] = options["node"] + os.pathsep + os.environ["PATH"]
            install(home, CLIENTS[name])
        except Unavailable as problem:
            print(f"skipped: {name}: {problem}")
            continue
        print(f"{name} {CLIENTS[name].version}: installed, {time.monotonic() - started:.0f} s", flush=True)
        planned += [run for run in runs(name) if given.only in (None, run.name)]
    if given.install:
        return 0
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        for run, (wrong, word) in zip(planned, pool.map(lambda run: attempt(run, options, before), planned)):
            print(f"{'FAILED' if wrong else 'ok'}: {run}: {word}", flush=True)
            for sentence in wrong:
                print("   ", sentence.replace("\n", "\n        "))
            passed, failed = passed + (not wrong), failed + bool(wrong)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
