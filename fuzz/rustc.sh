#!/bin/sh
# The compiler, as cargo calls it (RUSTC_WRAPPER): our own crates are instrumented for libFuzzer, so that their coverage leads
# it; with FUZZ_INSTRUMENT=all the dependencies are, too. Without that they are compiled as ever, and can be shared.
case "${FUZZ_INSTRUMENT:-ours} $*" in
    all*--crate-type\ proc-macro* | *--crate-name\ build_script_* | *--print*) ;;
    all* | *--crate-name\ mcp_text_editor* | *fuzz_targets/*)
        exec "$@" -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
            -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
            -Cllvm-args=-sanitizer-coverage-trace-compares
        ;;
esac
exec "$@"
