"""What a release is sent to, on this machine: PyPI, npm, GitHub's interface for releases, and who gives a workflow its identity.

Each takes only what comes with the token that it has given for the workflow's identity, as trusted publishing goes.
"""

from __future__ import annotations

import base64
import http.server
import json
import re
import ssl
import subprocess
import threading
import urllib.parse
from email.message import Message
from pathlib import Path

from registry import Registry

#: No repository is public here, so that npm asks no service for a signature.
CLAIMS = {"repository_visibility": "private"}
IDENTITY = ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in (b'{"alg":"none"}', json.dumps(CLAIMS).encode(), b"signature"))


def answer(value: object) -> tuple[str, bytes]:
    return "application/json", json.dumps(value).encode()


def parts(headers: Message, body: bytes) -> dict[str, tuple[str | None, bytes]]:
    """The fields of a form, each with its file's name, if it has one."""
    boundary = re.search(r'boundary="?([^";]+)', headers["Content-Type"])[1].encode()
    found = {}
    for part in body.split(b"--" + boundary)[1:-1]:
        head, data = part.removeprefix(b"\r\n").removesuffix(b"\r\n").split(b"\r\n\r\n", 1)
        words = dict(re.findall(r'(\w+)="([^"]*)"', head.decode()))
        found[words["name"]] = (words.get("filename"), data)
    return found


class Services(Registry):
    """The registries, which are empty at first; and the releases of one repository."""

    def __init__(self, nothing: Path) -> None:
        super().__init__(nothing)
        # uv asks for the token by TLS alone.
        pair = nothing / "tls.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1", "-keyout", pair, "-out",
                        pair.with_suffix(".crt")], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pair.with_suffix(".crt"), pair)
        self.secure = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.server.RequestHandlerClass)
        self.secure.socket = context.wrap_socket(self.secure.socket, server_side=True)
        threading.Thread(target=self.secure.serve_forever, daemon=True).start()
        #: What was sent, in its order.
        self.wheels: list[str] = []
        #: What is said of each wheel by who made it.
        self.attestations: dict[str, str] = {}
        self.packages: list[str] = []
        self.releases: list[dict] = []
        self.refused: list[str] = []

    def __exit__(self, *_: object) -> None:
        self.secure.shutdown()
        self.secure.server_close()
        super().__exit__()

    def environment(self) -> dict[str, str]:
        """How programs find these instead of the real ones."""
        secure = f"127.0.0.1:{self.secure.server_address[1]}"
        return {
            "ACTIONS_ID_TOKEN_REQUEST_URL": f"{self.address}/identity?of=workflow", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "asks",
            "UV_PUBLISH_URL": f"https://{secure}/legacy/", "UV_PUBLISH_CHECK_URL": f"{self.address}/simple/", "UV_INSECURE_HOST": secure,
            "NPM_CONFIG_REGISTRY": f"{self.address}/npm/", "NPM_CONFIG_PROVENANCE": "false",
            # `gh` speaks without TLS to this name alone, of which it asks a proxy.
            "GH_HOST": "github.localhost", "HTTP_PROXY": self.address, "NO_PROXY": "127.0.0.1",
        }

    def answer(self, path: str) -> tuple[str, bytes] | None:
        path, _, query = path.partition("?")
        if path == "/identity":
            return answer({"value": IDENTITY}) if "audience" in urllib.parse.parse_qs(query) else None
        if path == "/_/oidc/audience":
            return answer({"audience": "pypi"})
        return super().answer(path)

    def take(self, path: str, headers: Message, body: bytes) -> tuple[str, bytes] | None:
        path, _, query = path.partition("?")
        said = headers.get("Authorization", "")
        # The token of a job names what it may write.
        github = said if "contents" in said else "a token that may write contents"
        if path == "/_/oidc/mint-token":
            return answer({"success": True, "token": "for-pypi"}) if json.loads(body)["token"] == IDENTITY else None
        if path.startswith("/-/npm/v1/oidc/token/exchange/package/"):
            return answer({"token": "for-npm"}) if said == f"Bearer {IDENTITY}" else None
        for start, wanted, handler in (
            ("/legacy/", "Basic " + base64.b64encode(b"__token__:for-pypi").decode(), lambda: self.wheel(parts(headers, body))),
            ("/npm/", "Bearer for-npm", lambda: self.package(path.removeprefix("/npm/"), json.loads(body))),
            ("/graphql", said, lambda: {"data": {"repository": {"ref": {"id": "tag"}}}}),
            ("/repos/", github, lambda: self.release(json.loads(body))),
            ("/assets/", github, lambda: self.asset(int(path.removeprefix("/assets/")), urllib.parse.parse_qs(query)["name"][0], body)),
        ):
            if path.startswith(start):
                try:
                    assert said == wanted, f"not {said!r}"
                    return answer(handler())
                except AssertionError as why:
                    self.refused.append(f"{path}: {why}")
        return None

    def wheel(self, form: dict[str, tuple[str | None, bytes]]) -> dict:
        name, data = form["content"]
        assert name not in self.files, f"{name} is there"
        self.files[name] = data
        self.wheels.append(name)
        [attestation] = json.loads(form["attestations"][1])
        self.attestations[name] = attestation["envelope"]["statement"]
        return {}

    def package(self, name: str, told: dict) -> dict:
        [(file, attached)] = told["_attachments"].items()
        assert file not in self.files and told["access"] == "public", f"{file} is there, or is not public"
        self.files[file] = base64.b64decode(attached["data"])
        self.tags[name] = told["dist-tags"]
        self.packages.append(name)
        return {}

    def release(self, told: dict) -> dict:
        self.releases.append({**told, "assets": {}})
        here = f"http://api.github.localhost/assets/{len(self.releases) - 1}"
        return {"url": here, "html_url": here, "upload_url": here + "{?name,label}", "draft": True, "tag_name": told["tag_name"]}

    def asset(self, release: int, name: str, data: bytes) -> dict:
        self.releases[release]["assets"][name] = data
        return {}
