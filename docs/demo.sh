#!/usr/bin/env bash
# The demonstration in README.md, made by running it: prints it, or with --check compares it with the README, or with
# --update puts it there. The directory is shown as /home/ada/app, and the edit's id, which is drawn by lot, always as the same.
# Without MCP_TEXT_EDITOR_BIN, cargo builds the program.
set -euo pipefail
readme=$(cd "$(dirname "$0")/.." && pwd)/README.md
if [ -z "${MCP_TEXT_EDITOR_BIN:-}" ]; then
    mcp_text_editor() { cargo run --quiet --locked --manifest-path "$(dirname "$readme")/Cargo.toml" -- "$@"; }
else
    mcp_text_editor() { "$MCP_TEXT_EDITOR_BIN" "$@"; }
fi
app=$(cd "$(mktemp -d)" && pwd -P)
export MCP_TEXT_EDITOR_STATE_DIR
MCP_TEXT_EDITOR_STATE_DIR=$(mktemp -d)
trap 'rm -rf "$app" "$MCP_TEXT_EDITOR_STATE_DIR"' EXIT
id=6f1c0a93be27
printf 'import sys\n\n\ndef greet(name):\n    print("Hello, " + name)\n\n\ngreet(sys.argv[1])\n' >"$app/greet.py"

show() {
    local command=$1
    printf '$ mcp-text-editor %s\n' "$command"
    command=${command//\/home\/ada\/app/$app}
    (cd "$app" && eval "mcp_text_editor $command" || true) 2>&1 |
        sed -E "s|$app|/home/ada/app|g; s/\"edit_id\":\"[0-9a-f]{12}\"/\"edit_id\":\"$id\"/"
}

demonstration() {
    show 'call get_text_file_contents file_path=/home/ada/app/greet.py line_start=4 line_end=6'
    echo
    show "call patch_text_file_contents 'files=[{\"file_path\": \"/home/ada/app/greet.py\", \"patches\": [
    {\"old_string\": \"import sys\\n\", \"new_string\": \"#!/usr/bin/env python3\\nimport sys\\n\"},
    {\"old_string\": \"\\\"Hello, \\\" + name\", \"new_string\": \"f\\\"Hello, {name}!\\\"\"}]}]'"
    echo
    show "call patch_text_file_contents 'files=[{\"file_path\": \"/home/ada/app/greet.py\", \"patches\": [
    {\"ranges\": [{\"start\": 8, \"end\": 8}], \"old_string\": \"greet(sys.argv[1])\", \"new_string\": \"greet(sys.argv[-1])\"}]}]'"
}

in_readme() { awk '/^<!-- demo: / { inside = 1; next } /^<!-- end of demo -->/ { inside = 0 } inside' "$readme"; }
block() { printf '```console\n%s\n```\n' "$(demonstration)"; }

case "${1:-}" in
    --check) diff <(in_readme) <(block) && echo "README.md shows what the program prints" ;;
    --update)
        block >"$app/block"
        awk -v block="$app/block" '
            /^<!-- end of demo -->/ { while ((getline line <block) > 0) print line; inside = 0 }
            !inside { print }
            /^<!-- demo: / { inside = 1 }' "$readme" >"$app/readme"
        cat "$app/readme" >"$readme" ;;
    *) demonstration ;;
esac
