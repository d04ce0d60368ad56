#!/bin/sh
# Several machines on one volume, with $MCP_TEXT_EDITOR_BIN (default: the workspace's debug build): what is raced for,
# killed and cut off, what the database does meanwhile, and histories of calls. Root, GlusterFS, PostgreSQL, strace;
# what cannot be had here is told, and fails if REQUIRE_ALL is set. `--long` is for the night, but for all places to die:
# those are `kills.py --all --shard I/N`.
# SEED: the same places, pauses and order of troubles again.
set -u
here=$(cd "$(dirname "$0")" && pwd)
: "${MCP_TEXT_EDITOR_BIN:=$here/../../target/debug/mcp-text-editor}"
export MCP_TEXT_EDITOR_BIN
[ -x "$MCP_TEXT_EDITOR_BIN" ] || { echo "no server at $MCP_TEXT_EDITOR_BIN" >&2; exit 2; }
: "${PYTHON:=python3}" "${SEED:=1}"
long=${1:-}
status=0
part() {
    echo "== $*"
    program=$1
    shift
    "$PYTHON" "$here/$program" "$@" || { status=1; echo "== failed: $program $*"; }
}
if [ "$long" = --long ]; then
    for way in "" --caches --in-place "--in-place --caches"; do part edits.py counter --machines 3 --processes 4 --count 200 $way; done
    part edits.py moved --machines 2
    part volume.py
    part edits.py lines --edits 20000 --seed "$SEED"
    part kills.py --sample 10 --seed "$SEED"
    part kills.py --caches --sample 10 --seed "$SEED"
    part kills.py --caches --machines 2 --kind forty --kind equal --fault kill --fault cut --all --at renameat --most 60 --seed "$SEED"
    part kills.py --convict --sample 40 --seed "$SEED"
    part database.py
    part ../histories/recorder.py --machines 2 --seconds 600 --seed "$SEED"
    part ../histories/recorder.py --machines 3 --seconds 600 --seed "$SEED"
else
    part volume.py
    part edits.py counter --count 20
    part edits.py counter --count 20 --in-place --caches
    part edits.py moved --machines 2 --count 8
    part edits.py lines --edits 400 --seed "$SEED"
    part kills.py --most 10 --seed "$SEED"
    part kills.py --caches --machines 2 --kind forty --kind equal --fault kill --fault cut --all --at renameat --most 8 --seed "$SEED"
    part database.py killed "a later version" "somebody else's" secrets doctor "seen late" undo "roots by name" "clocks an hour apart" "fails over"
    part ../histories/recorder.py --machines 2 --seconds 15 --seed "$SEED"
fi
exit $status
