//! Any bytes; the law is `search::check`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcp_text_editor_fuzz::search::check(data));
