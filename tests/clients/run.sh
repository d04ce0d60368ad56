#!/bin/sh
# Runs every black-box test against $MCP_TEXT_EDITOR_BIN (default: the workspace's debug build).
# What comes from PyPI and npm is installed once, into folders that git ignores; with --install that is all that is done. CASES, SEED: see random_edits.py; LARGE=1 adds 1 GB files.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
: "${MCP_TEXT_EDITOR_BIN:=$here/../../target/debug/mcp-text-editor}"
export MCP_TEXT_EDITOR_BIN
: "${PYTHON:=python3}"
status=0
step() {
    echo "== $*"
    "$@" || { status=1; echo "== failed: $*"; }
}
for what in v1 v2 libraries; do
    venv=$here/.venv-$what
    if [ ! -f "$venv/complete" ]; then
        "$PYTHON" -m venv "$venv"
        # The libraries' list is whole. With extras pip would look for another release than the one that it names.
        [ $what = libraries ] && whole=--no-deps || whole=
        "$venv/bin/pip" install --quiet $whole --requirement "$here/requirements-$what.txt"
        touch "$venv/complete"
    fi
done
"$here/../npm/install.sh"
[ "${1:-}" != --install ] || exit 0
[ -x "$MCP_TEXT_EDITOR_BIN" ] || { echo "no server at $MCP_TEXT_EDITOR_BIN" >&2; exit 2; }
step "$PYTHON" "$here/random_edits.py" --self-check --cases 20000 ${SEED:+--seed "$SEED"}
step "$PYTHON" "$here/scenarios.py"
step "$PYTHON" "$here/corners.py" ${LARGE:+--large}
step "$PYTHON" "$here/views.py"
step "$PYTHON" "$here/random_edits.py" --cases "${CASES:-10000}" ${SEED:+--seed "$SEED"}
step "$here/.venv-v1/bin/python" "$here/sdk_v1.py"
step "$here/.venv-v2/bin/python" "$here/sdk_v2.py"
step "$here/.venv-libraries/bin/python" "$here/libraries.py"
PATH=$here/../npm/node_modules/node/bin:$PATH
export PATH
step node "$here/typescript.mjs"
step sh "$here/inspector.sh"
exit $status
