"""Takes what a person does for a client out of docs/install.md, so that what it says is what is tried.

Above a fenced block there stands `<!-- tests/agents: CLIENT PLACE -->`, or several of these pairs with semicolons between them. PLACE is
`shell` for commands that register the server, `run` for the client's command where nobody can be asked, or the file that the block
goes into: `~/…` is the user's, anything else the project's. `CLIENT+WORD` is a variant, which takes the place of what the client has there,
or for a TOML file is put before it. `PLACE without args` is the block without the server's arguments, as the document says in words.
"""

import re
from pathlib import Path

PROJECT = "/path/to/project"  # what stands there for the project
BLOCK = re.compile(r"^<!-- tests/agents: (.*?) -->\n```\w+\n(.*?)^```$", re.M | re.S)


def blocks(path=Path(__file__).parents[2] / "docs/install.md"):
    """{(client, variant): {place: text}}."""
    found = {}
    for places, text in BLOCK.findall(path.read_text()):
        for entry in places.split(";"):
            client, place, *without = entry.split()
            name, _, variant = client.partition("+")
            found.setdefault((name, variant), {})[place] = without_args(text) if without == ["without", "args"] else text
    return found


def without_args(text):
    left = re.sub(r"^args = .*\n", "", text, flags=re.M) if text.startswith("[") else re.sub(r', "args": \[.*?\]', "", text)
    if left == text:
        raise LookupError(f"there are no args to leave out: {text}")
    return left


def steps(all_blocks, client, project_entry=False, variant=""):
    """(commands that register, files by place, the command that runs) for a client: its user's entry, or the project's."""
    own, more = all_blocks.get((client, ""), {}), all_blocks.get((client, variant), {}) if variant else {}
    files, commands = {}, []
    for place in {**own, **more}:
        if place == "run":
            continue
        if (place != "shell" and not place.startswith("~/")) != project_entry:
            continue
        if place == "shell":
            commands = [line for line in more.get(place, own.get(place)).splitlines() if line]
        elif place.endswith(".toml"):
            files[place] = more.get(place, "") + own.get(place, "")
        else:
            files[place] = more.get(place, own.get(place))
    run = {**own, **more}.get("run")
    if not run or not (files or commands):
        raise LookupError(f"docs/install.md does not say how {client} is told of the server, or how it is run")
    return commands, files, run.strip()
