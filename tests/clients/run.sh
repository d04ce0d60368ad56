#!/bin/sh
# run.sh [--short | --long] [--install]: the black-box tests against $MCP_TEXT_EDITOR_BIN (default: the workspace's debug build).
# --short is what each run of CI has: corners, random edits, the newest SDKs; --long is the rest. --install only fetches what they want from PyPI
# and npm, once, into folders that git ignores. CASES, SEED: see random_edits.py; LARGE=1 adds files of 1 GB.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
: "${MCP_TEXT_EDITOR_BIN:=$here/../../target/debug/mcp-text-editor}"
export MCP_TEXT_EDITOR_BIN
: "${PYTHON:=python3}"
short=true long=true venvs="v1 v2 libraries"
case ${1:-} in
    --short) long=false venvs=v2; shift ;;
    --long) short=false venvs="v1 libraries"; shift ;;
esac
status=0
step() {
    echo "== $*"
    "$@" || { status=1; echo "== failed: $*"; }
}
for what in $venvs; do
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
PATH=$here/../npm/node_modules/node/bin:$PATH
export PATH
if $short; then
    step "$PYTHON" "$here/corners.py" ${LARGE:+--large}
    step "$PYTHON" "$here/random_edits.py" --cases 2000 ${SEED:+--seed "$SEED"}
    step "$here/.venv-v2/bin/python" "$here/sdk_v2.py"
    step node "$here/typescript.mjs"
fi
if $long; then
    step "$PYTHON" "$here/random_edits.py" --self-check --cases 20000 ${SEED:+--seed "$SEED"}
    step "$PYTHON" "$here/random_edits.py" --cases "${CASES:-10000}" ${SEED:+--seed "$SEED"}
    step "$PYTHON" "$here/views.py"
    step "$here/.venv-v1/bin/python" "$here/sdk_v1.py"
    step "$here/.venv-libraries/bin/python" "$here/libraries.py"
    step sh "$here/inspector.sh"
fi
exit $status
