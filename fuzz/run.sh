#!/usr/bin/env bash
# fuzz/run.sh SECONDS [TARGET…]: every target (or these) for so many seconds each, starting from what is kept in corpus.tar.
# Prints a line for each with its executions, and `N passed, N failed`; fails if a law was broken, and says with which input.
#
# The build is what `cargo fuzz` would do, without it: installing that takes longer than compiling the targets, and it asks
# for a nightly toolchain, which coverage does not need (the address sanitizer does; README.md has how).
# SEED=N draws the same inputs in each run, as far as it gets in its time.
# FUZZ_KEEP=DIR keeps what is found on the way in DIR/TARGET. FUZZ_BESIDE=DIR builds in a target directory that has the
# dependencies already, compiled for debugging, and instruments our own crates alone: for a run of a few seconds.
set -euo pipefail
[ $# -ge 1 ] || { sed -n 2,3p "$0"; exit 2; }
seconds=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
cd "$here"
if [ $# -gt 0 ]; then targets=("$@"); else targets=(); for file in fuzz_targets/*.rs; do targets+=("$(basename "$file" .rs)"); done; fi

# The product's own versions; only what fuzzing adds is looked for anew.
cp ../Cargo.lock Cargo.lock
options=()
for name in "${targets[@]}"; do options+=(--bin "$name"); done
if [ -n "${FUZZ_BESIDE:-}" ]; then
    programs=$FUZZ_BESIDE/debug
    options+=(--target-dir "$FUZZ_BESIDE")
else
    target=$(cargo metadata --manifest-path ../Cargo.toml --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/fuzz
    programs=$target/release
    options+=(--release --target-dir "$target")
    export FUZZ_INSTRUMENT=all
fi
RUSTC_WRAPPER=$here/rustc.sh cargo build "${options[@]}"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tar -xf corpus.tar -C "$scratch"
passed=0
failed=0
for name in "${targets[@]}"; do
    # New inputs go to the first directory.
    found=${FUZZ_KEEP:-$scratch}/$name
    mkdir -p "$found" "$scratch/tmp"
    dictionary=()
    [ -f "dictionaries/$name" ] && dictionary=(-dict="dictionaries/$name")
    if TMPDIR=$scratch/tmp "$programs/$name" "$found" "$scratch/corpus/$name" "${dictionary[@]}" -max_total_time="$seconds" -timeout=60 \
        -rss_limit_mb=2048 ${SEED:+-seed="$SEED"} -print_final_stats=1 -artifact_prefix="$scratch/" >"$scratch/log" 2>&1 </dev/null; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        grep -v '^#' "$scratch/log" | tail -n 60
        for input in "$scratch"/crash-* "$scratch"/timeout-* "$scratch"/oom-*; do
            [ -f "$input" ] || continue
            printf '%s: the input, by base64: %s\n' "$name" "$(base64 -w0 "$input")"
            rm "$input"
        done
    fi
    executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$scratch/log")
    printf '%-10s %s executions in %ss\n' "$name" "${executions:-?}" "$seconds"
done
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
