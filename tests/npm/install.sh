#!/bin/sh
# Installs what package-lock.json names, once: Node 22 (the machine's may be older), the TypeScript SDKs, Inspector, and both conformance suites.
set -eu
cd "$(dirname "$0")"
if ! cmp -s package-lock.json node_modules/complete; then
    # `node` brings its program by a script of its own.
    npm ci --silent --no-audit --no-fund
    cp package-lock.json node_modules/complete
fi
