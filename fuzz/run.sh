#!/usr/bin/env bash
# fuzz/run.sh SECONDS [TARGET…]: every target (or these) for so many seconds each, starting from what is kept in corpus/.
# Prints a line for each with its executions, and `N passed, N failed`; fails if a law was broken, and says with which input.
#
# The build is what `cargo fuzz` would do, without it: installing that takes longer than compiling the targets, and it asks
# for a nightly toolchain, which coverage does not need (the address sanitizer does; fuzz/README.md has how).
# FUZZ_KEEP=DIR keeps what is found on the way in DIR/TARGET; libFuzzer's own options come by FUZZ_OPTIONS; FUZZ_PROFILE=quick
# is for a build that is to run a few seconds.
set -euo pipefail
[ $# -ge 1 ] || { sed -n 2,3p "$0"; exit 2; }
seconds=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
cd "$here"
if [ $# -gt 0 ]; then targets=("$@"); else targets=(); for file in fuzz_targets/*.rs; do targets+=("$(basename "$file" .rs)"); done; fi

# The product's own versions; only what fuzzing adds is looked for anew.
cp ../Cargo.lock Cargo.lock
target=$(cargo metadata --manifest-path ../Cargo.toml --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/fuzz
profile=${FUZZ_PROFILE:-release}
triple=$(rustc -vV | sed -n 's/^host: //p')
flags=(-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares --cfg=fuzzing)
bins=()
for name in "${targets[@]}"; do bins+=(--bin "$name"); done
RUSTFLAGS="${flags[*]}" cargo build --profile "$profile" --target "$triple" --target-dir "$target" "${bins[@]}"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0
failed=0
for name in "${targets[@]}"; do
    # New inputs go to the first directory; corpus/ is only read.
    found=${FUZZ_KEEP:-$scratch}/$name
    mkdir -p "$found"
    dictionary=()
    [ -f "dictionaries/$name" ] && dictionary=(-dict="dictionaries/$name")
    # shellcheck disable=SC2086
    if "$target/$triple/$profile/$name" "$found" "corpus/$name" "${dictionary[@]}" -max_total_time="$seconds" -timeout=20 \
        -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$scratch/" ${FUZZ_OPTIONS:-} >"$scratch/log" 2>&1 </dev/null; then
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
