"""The clients: their packages, and how each is told that its model is the stand-in.

How each is told of the server is not here but in docs/install.md (`document.py`), and what `install` does.
"""

import dataclasses
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Callable

NODE = 20  # what the clients need


@dataclasses.dataclass
class Setting:
    """What brings the stand-in into a client: variables, words for its command line, and parts of its files."""

    env: dict = dataclasses.field(default_factory=dict)
    words: list = dataclasses.field(default_factory=list)
    json: dict = dataclasses.field(default_factory=dict)  # path in the home: what is merged into it
    toml: dict = dataclasses.field(default_factory=dict)  # path in the home: (what stands above, what stands below)


def gemini(url, model, project):
    return Setting(
        env={"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": url},
        words=["-m", model],
        json={".gemini/settings.json": {"security": {"auth": {"selectedType": "gemini-api-key"}}}},
    )


def qwen(url, model, project):
    settings = {
        "security": {"auth": {"selectedType": "openai"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"disableAutoUpdate": True},
    }
    env = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": url + "/v1", "OPENAI_MODEL": model}
    return Setting(env=env, json={".qwen/settings.json": settings})


def codex(url, model, project):
    above = f'model = "{model}"\nmodel_provider = "scripted"\n'
    below = f'[model_providers.scripted]\nname = "scripted"\nbase_url = "{url}/v1"\nwire_api = "responses"\nenv_key = "SCRIPTED_KEY"\n'
    # What the answer "yes" to the question whether the folder is trusted leaves behind.
    below += f'[projects."{project}"]\ntrust_level = "trusted"\n'
    return Setting(env={"SCRIPTED_KEY": "none"}, toml={".codex/config.toml": (above, below)})


def claude(url, model, project):
    return Setting(
        env={
            # The search for tools is on where the model is the vendor's, as people have it.
            "ENABLE_TOOL_SEARCH": "true",
            "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            # On a busy machine the server may be there later than the first question to the model.
            "MCP_CONNECTION_NONBLOCKING": "0", "MCP_CONNECT_TIMEOUT_MS": "60000",
        },
    )


def opencode(url, model, project):
    models = {model: {"name": model, "tool_call": True, "limit": {"context": 1000000, "output": 8000}}}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": url + "/v1", "apiKey": "none"}, "models": models}
    settings = {
        "autoupdate": False, "share": "disabled", "provider": {"scripted": provider},
        "model": f"scripted/{model}", "small_model": f"scripted/{model}",
    }
    env = {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}
    return Setting(env=env, json={".config/opencode/opencode.json": settings})


def copilot(url, model, project):
    env = {
        "COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false", "COPILOT_MODEL": model,
        "COPILOT_PROVIDER_BASE_URL": url + "/v1", "COPILOT_PROVIDER_API_KEY": "none",
        # Of a model that it does not know it takes the context to be so small that the script does not fit.
        "COPILOT_PROVIDER_MAX_PROMPT_TOKENS": "1000000",
    }
    # As with Codex.
    return Setting(env=env, json={".copilot/config.json": {"trusted_folders": [project]}})


@dataclasses.dataclass
class Client:
    name: str
    package: str
    version: str
    setting: Callable  # of the stand-in's address, the model's name, the project
    models: tuple  # the first is used where one is enough
    other_model: str = ""  # one that the client does not know, if docs/install.md has a word for that
    always: bool = False  # run where no client is named
    writers: tuple = ()  # its own tools that change files
    writing: tuple = ()  # words for its command line with which it offers them where nobody can be asked
    approving: tuple = ()  # words by which a person allows it to start a project's server, if it does not ask
    instead: tuple = ()  # words by which it does not, where `install` can only say so

    @property
    def option(self):
        """Its name for `install`."""
        return "claude-code" if self.name == "claude" else self.name

    def folder(self, home):
        return Path(home) / self.name

    def program(self, home):
        return self.folder(home) / "node_modules/.bin" / self.name

    def installed(self, home):
        try:
            package = json.loads((self.folder(home) / "node_modules" / self.package / "package.json").read_text())
        except OSError:
            return False
        return package["version"] == self.version and self.program(home).exists()


CLIENTS = {
    client.name: client
    for client in (
        Client("gemini", "@google/gemini-cli", "0.61.0", gemini, ("gemini-3.1-pro-preview",), always=True,
               writers=("replace", "write_file"), writing=("--approval-mode", "yolo")),
        Client("qwen", "@qwen-code/qwen-code", "0.24.4", qwen, ("scripted",), always=True,
               writers=("edit", "write_file", "notebook_edit"), writing=("--yolo",), approving=("mcp", "approve", "text-editor")),
        Client("codex", "@openai/codex", "0.171.0", codex, ("gpt-6.1-sol", "gpt-5.5"), other_model="scripted", always=True),
        Client("claude", "@anthropic-ai/claude-code", "2.1.332", claude, ("",), writers=("Edit", "Write", "NotebookEdit")),
        Client("opencode", "opencode-ai", "1.18.33", opencode, ("scripted",), writers=("edit", "write", "patch")),
        Client("copilot", "@github/copilot", "1.0.102", copilot, ("scripted",),
               writers=("edit", "create", "apply_patch"), instead=("--excluded-tools", "edit", "create", "apply_patch")),
    )
}


class Unavailable(Exception):
    """What is needed cannot be had here."""


def npm(folder, package):
    """Installs a package into a folder of its own."""
    if not shutil.which("npm"):
        raise Unavailable("there is no npm")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"private": true}\n')
    command = ["npm", "install", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error", package]
    try:
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=900)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise Unavailable(f"npm did not install {package}: {problem}") from problem
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        raise Unavailable(f"npm did not install {package}: {said[0]}")


def node(home):
    """The folder of a Node that is new enough: the system's, or npm's package of it."""
    own = Path(home) / "node/node_modules/node/bin"
    for found in (shutil.which("node"), str(own / "node")):
        try:
            said = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=30).stdout if found else ""
        except OSError:
            continue
        version = re.match(r"v(\d+)", said)
        if version and int(version[1]) >= NODE:
            return os.path.dirname(found)
    npm(Path(home) / "node", f"node@{NODE + 2}")
    if not (own / "node").exists():
        raise Unavailable("npm's package of Node has no program for this machine")
    return str(own)


def newest(client):
    """The client's newest version on npm."""
    done = subprocess.run(["npm", "view", client.package, "version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    return done.stdout.strip()


def install(home, client):
    if not client.installed(home):
        npm(client.folder(home), f"{client.package}@{client.version}")
    if not client.installed(home):
        raise Unavailable(f"npm installed something else than {client.package}@{client.version}")
