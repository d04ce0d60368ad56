#!/bin/sh
# Several machines on one volume, with $MCP_TEXT_EDITOR_BIN (default: the workspace's debug build): what is raced for, killed and cut off. Root, GlusterFS,
# PostgreSQL and strace; what cannot be had here is told, and fails if REQUIRE_ALL is set. `--long` is for the night.
# SEED: the same places, pauses and order of troubles again.
set -u
here=$(cd "$(dirname "$0")" && pwd)
: "${MCP_TEXT_EDITOR_BIN:=$here/../../target/debug/mcp-text-editor}"
export MCP_TEXT_EDITOR_BIN
[ -x "$MCP_TEXT_EDITOR_BIN" ] || { echo "no server at $MCP_TEXT_EDITOR_BIN" >&2; exit 2; }
: "${PYTHON:=python3}"
long=${1:-}
status=0
part() {
    echo "== $*"
    "$PYTHON" "$here/$@" || { status=1; echo "== failed: $*"; }
}
if [ "$long" = --long ]; then
    part edits.py counter --machines 3 --processes 4 --count 200 --no-database
    part kills.py --convict --sample 40
else
    part edits.py counter --no-database
    part kills.py --convict
fi
exit $status
