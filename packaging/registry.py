"""A registry of Python's packages and npm's on this machine, which has what was built here: users' own commands are tried against it."""

from __future__ import annotations

import base64
import hashlib
import http.server
import io
import json
import re
import tarfile
import threading
from email.message import Message
from pathlib import Path


class Registry:
    """Serves the wheels at `/simple/` and the packages of npm at `/npm/`, until it is closed."""

    def __init__(self, packages: Path) -> None:
        self.files = {path.name: path.read_bytes() for path in packages.iterdir() if path.suffix in {".whl", ".tgz"}}
        #: By which words a version of one of npm's packages can be asked for.
        self.tags: dict[str, dict[str, str]] = {}
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self.answer(with_body=False)

            def do_GET(self) -> None:
                self.answer(with_body=True)

            def do_POST(self) -> None:
                # A proxy is asked with the address of the server behind it.
                path = re.sub("^https?://[^/]+", "", self.path)
                self.say(owner.take(path, self.headers, self.rfile.read(int(self.headers.get("Content-Length") or 0))), with_body=True)

            do_PUT = do_POST

            def answer(self, with_body: bool) -> None:
                self.say(owner.answer(self.path), with_body)

            def say(self, found: tuple[str, bytes] | None, with_body: bool) -> None:
                self.send_response(200 if found else 404)
                kind, body = found or ("text/plain", b"")
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if with_body:
                    self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self) -> Registry:
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def answer(self, path: str) -> tuple[str, bytes] | None:
        """The type and the bytes of what is at a path."""
        if path.startswith("/files/"):
            data = self.files.get(path.removeprefix("/files/"))
            return data and ("application/octet-stream", data)
        if found := re.fullmatch(r"/simple/([^/]+)/?", path):
            name = found[1].replace("-", "_")
            links = [f'<a href="/files/{file}#sha256={hashlib.sha256(data).hexdigest()}">{file}</a>' for file, data in self.files.items()
                     if file.endswith(".whl") and file.split("-")[0] == name]
            return ("text/html", "\n".join(links).encode()) if links else None
        if found := re.fullmatch(r"/npm/([^/]+)", path):
            return self.npm(found[1])
        return None

    def take(self, path: str, headers: Message, body: bytes) -> tuple[str, bytes] | None:
        """What is sent to a path; nothing is taken here."""
        return None

    def npm(self, name: str) -> tuple[str, bytes] | None:
        for file, data in self.files.items():
            if file.endswith(".tgz"):
                with tarfile.open(fileobj=io.BytesIO(data)) as package:
                    manifest = json.load(package.extractfile("package/package.json"))
                if manifest["name"] == name:
                    integrity = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
                    version = {**manifest, "dist": {"tarball": f"{self.address}/files/{file}", "integrity": integrity}}
                    told = {"name": name, "dist-tags": self.tags.get(name, {"latest": manifest["version"]}),
                            "versions": {manifest["version"]: version}}
                    return "application/json", json.dumps(told).encode()
        return None
