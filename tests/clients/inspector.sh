#!/bin/sh
# Has MCP Inspector look at the schemas of all tools: it ends with 6 for an error, and a warning is on standard error.
set -eu
inspector=$(dirname "$0")/../npm/node_modules/.bin/mcp-inspector
for output in text json; do
    if ! warned=$("$inspector" --cli "$MCP_TEXT_EDITOR_BIN" /tmp -e MCP_TEXT_EDITOR_TOOLS=all -e "MCP_TEXT_EDITOR_OUTPUT=$output" \
        --method tools/list --strict 2>&1 >/dev/null) || [ -n "$warned" ]; then
        echo "mcp-inspector --strict, $output: $warned"
        exit 1
    fi
    echo "mcp-inspector --strict, $output: no warning"
done
