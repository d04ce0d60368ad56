#!/bin/sh
# run.sh [PART…]: attacks $MCP_TEXT_EDITOR_BIN (default: the workspace's debug build) from outside: kills, faults, races. Linux; strace for most
# of it, root for the real full disks; what cannot run here says so, and fails if REQUIRE_ALL is set.
# SEED: the same races' pauses again. JOBS: cases at a time. SHARE: one of so many kills and injected errors, drawn by SEED.
set -u
here=$(cd "$(dirname "$0")" && pwd)
: "${MCP_TEXT_EDITOR_BIN:=$here/../../target/debug/mcp-text-editor}"
export MCP_TEXT_EDITOR_BIN
[ -x "$MCP_TEXT_EDITOR_BIN" ] || { echo "no server at $MCP_TEXT_EDITOR_BIN" >&2; exit 2; }
: "${PYTHON:=python3}" "${SHARE:=1}"
status=0
[ $# -gt 0 ] || set -- order crash recovery equal memory faults truth file_systems mounts marks power races sessions clocks soak
for part in "$@"; do
    echo "== $part.py"
    # Deaths at calls that change the disk: at each other call it is as at the next of these. All calls at night.
    # Of the images that a power cut can leave some hundred, drawn by SEED; all of them at night.
    # Of the hour of load some seconds.
    case $part in
        crash) set -- --changing --share "$SHARE" ;;
        recovery | memory | faults | truth) set -- --share "$SHARE" ;;
        equal) set -- --seconds 20 ;;
        power) set -- --recordings 16 --sample 8 ;;
        sessions) set -- --rounds 8 ;;
        soak) set -- --seconds 30 --files 5000 ;;
        *) set -- ;;
    esac
    "$PYTHON" "$here/$part.py" "$@" || { status=1; echo "== failed: $part.py"; }
done
exit $status
