"""The server over HTTP with a token, and the recorder before it: what goes each way is kept as `wire.py` keeps it."""

import http.client
import json
import os
import re
import secrets
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKEN_ENV = "MCP_TEXT_EDITOR_TOKEN"
OF_ONE_HOP = {"connection", "content-length", "transfer-encoding", "keep-alive", "host"}


class Relay:
    """Serves a project at `url`; `token` is what clients must send. `close` ends it."""

    def __init__(self, folder, server, project, top, env):
        self.token, token_file = secrets.token_hex(16), top / "token"
        with open(os.open(token_file, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write(self.token)
        command = [server, "--http", "127.0.0.1:0", "--token-file", str(token_file), str(project)]
        self.child = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        said = ""
        while not (served := re.search(r"http://(127\.0\.0\.1:\d+)/mcp", said)):
            line = self.child.stderr.readline()
            if not line:
                raise RuntimeError(f"the server did not start: {said}")
            said += line
        threading.Thread(target=self.child.stderr.read, daemon=True).start()
        self.before = ThreadingHTTPServer(("127.0.0.1", 0), handler(folder, served[1], project))
        self.url = f"http://127.0.0.1:{self.before.server_port}/mcp"
        threading.Thread(target=self.before.serve_forever, daemon=True).start()

    def close(self):
        self.before.shutdown()
        self.child.terminate()
        self.child.wait(timeout=30)


def handler(folder, address, project):
    lock = threading.Lock()

    def keep(name, texts):
        at = os.path.join(folder, "http")
        with lock:
            os.makedirs(at, exist_ok=True)
            with open(os.path.join(at, "start.json"), "w") as file:
                json.dump({"arguments": [], "directory": str(project), "environment": []}, file)
            for each in ("stdin", "stdout", "stderr"):
                open(os.path.join(at, each), "ab").close()
            with open(os.path.join(at, name), "ab") as file:
                file.writelines(text.strip() + b"\n" for text in texts)

    class Handler(BaseHTTPRequestHandler):
        def pass_on(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            keep("stdin", [body])
            connection = http.client.HTTPConnection(address)
            headers = {name: value for name, value in self.headers.items() if name.lower() not in OF_ONE_HOP}
            connection.request(self.command, self.path, body or None, headers)
            response = connection.getresponse()
            answer = response.read()
            is_stream = response.getheader("Content-Type", "").startswith("text/event-stream")
            keep("stdout", re.findall(rb"^data: ?(.*)$", answer, re.M) if is_stream else [answer])
            self.send_response(response.status)
            for name, value in response.getheaders():
                if name.lower() not in OF_ONE_HOP:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST = do_DELETE = pass_on

        def log_message(self, *_):
            pass

    return Handler
