"""A stranger's first minutes: carries out README.md, and nothing else, in a fresh clone with a home of its own, and prints how long each line takes.

    newcomer.py [--without PATTERN]     leaves out lines that match, such as 'cargo test'

It needs git and a Rust toolchain, as README says. EDIT_ID is the newest edit of the history; a page in the browser is not opened, and closed
after some seconds. Ends with 1 if a line fails, or does not do what README says of it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE_SECONDS = 5


def lines(readme: str) -> list[str]:
    """The commands of README, one a line."""
    blocks = re.findall(r"^```sh\n(.*?)^```", readme, flags=re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in re.sub(r"\s+# .*", "", block, flags=re.MULTILINE).splitlines() if line]


def main() -> int:
    parser = argparse.ArgumentParser(description="Carries out README.md as a stranger would.")
    parser.add_argument("--without", default="$^", metavar="PATTERN")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        clone, home = Path(place) / "clone", Path(place) / "home"
        subprocess.run(["git", "clone", "--quiet", f"file://{ROOT}", clone], check=True)
        home.mkdir()
        own = Path.home()
        tools = {"RUSTUP_HOME": str(own / ".rustup"), "CARGO_HOME": str(own / ".cargo")} | os.environ
        kept = {name: tools[name] for name in ("RUSTUP_HOME", "CARGO_HOME", "LANG", "SSL_CERT_FILE") if name in tools}
        path = os.pathsep.join([str(home / "bin"), str(Path(kept["CARGO_HOME"]) / "bin"), os.environ["PATH"]])
        env = kept | {"HOME": str(home), "PATH": path, "TMPDIR": place, "CARGO_INSTALL_ROOT": str(home)}
        failed = 0
        for line in lines((clone / "README.md").read_text()):
            if re.search(options.without, line):
                continue
            typed = line.removesuffix(" --open")
            if "EDIT_ID" in typed:
                newest = subprocess.run(["mcp-text-editor", "history", "--json", "-n", "1"], env=env, capture_output=True, text=True, check=True).stdout
                typed = typed.replace("EDIT_ID", json.loads(newest)["edit_id"])
            if "--web" in typed:
                typed = f"timeout --preserve-status --signal INT {PAGE_SECONDS} {typed}"
            began = time.monotonic()
            done = subprocess.run(["bash", "-c", typed], cwd=clone, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            is_right = done.returncode == 0 and (not line.startswith("printf ") or done.stdout.splitlines()[-3:] == ["one", "2", "three"])
            failed += not is_right
            print(f"{'ok' if is_right else 'FAILED'}: {time.monotonic() - began:6.1f} s  {line[:100]}", flush=True)
            if not is_right:
                print(done.stdout[-4_000:], done.stderr[-2_000:], sep="\n")
        print(f"{failed} failed")
        return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
