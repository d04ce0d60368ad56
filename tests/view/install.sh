#!/bin/sh
# Installs what the two lists of npm packages name, once: what builds the page, and what tries it. No package runs a script of its own.
set -eu
cd "$(dirname "$0")"
for where in ../../view .; do
    if ! cmp -s "$where/package-lock.json" "$where/node_modules/complete"; then
        npm ci --silent --ignore-scripts --no-audit --no-fund --prefix "$where"
        cp "$where/package-lock.json" "$where/node_modules/complete"
    fi
done
