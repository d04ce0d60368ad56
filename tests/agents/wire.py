"""The recorder between client and server: stands in for the server, starts it, and keeps a copy of what goes each way.

    python3 wire.py FOLDER SERVER [ARGUMENT…]
"""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time


def record(folder, server, arguments):
    folder = tempfile.mkdtemp(dir=folder, prefix=f"{time.time():.3f}-")
    with open(os.path.join(folder, "start.json"), "w") as file:
        json.dump({"arguments": arguments, "directory": os.getcwd(), "environment": sorted(os.environ)}, file)
    errors = open(os.path.join(folder, "stderr"), "wb", buffering=0)
    child = subprocess.Popen([server, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, _: child.send_signal(number))
    copies = {name: open(os.path.join(folder, name), "wb", buffering=0) for name in ("stdin", "stdout")}
    ways = {0: (child.stdin.fileno(), "stdin"), child.stdout.fileno(): (1, "stdout")}
    while child.stdout.fileno() in ways:
        for source in select.select(list(ways), [], [])[0]:
            target, name = ways[source]
            try:
                data = os.read(source, 1 << 16)
                copies[name].write(data)
                view = memoryview(data)
                while view:
                    view = view[os.write(target, view) :]
            except OSError:
                data = b""
            if not data:
                del ways[source]
                if source == 0:
                    child.stdin.close()
    return child.wait()


def lines(path):
    with open(path, "rb") as file:
        for line in file:
            try:
                yield json.loads(line)
            except ValueError:
                pass  # half a line, where one side was ended


def starts(folder):
    """Each start of the server: `arguments`, `directory`, `environment`, `stderr`, and `calls` as (tool, arguments, result)."""
    for name in sorted(os.listdir(folder)):
        at = os.path.join(folder, name)
        with open(os.path.join(at, "start.json")) as file:
            start = json.load(file)
        with open(os.path.join(at, "stderr"), errors="replace") as file:
            start["stderr"] = file.read()
        answers = {message.get("id"): message for message in lines(os.path.join(at, "stdout")) if "method" not in message}
        asked = [message for message in lines(os.path.join(at, "stdin")) if message.get("method") == "tools/call"]
        start["calls"] = [
            (message["params"]["name"], message["params"].get("arguments") or {}, answers.get(message["id"], {}).get("result"))
            for message in asked
        ]
        yield start


if __name__ == "__main__":
    sys.exit(record(sys.argv[1], sys.argv[2], sys.argv[3:]))
