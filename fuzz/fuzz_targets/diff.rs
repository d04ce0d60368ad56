//! Any bytes; the law is `diff::check`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcp_text_editor_fuzz::diff::check(data));
