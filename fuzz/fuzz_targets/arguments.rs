//! Any bytes; the law is `arguments::check`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcp_text_editor_fuzz::arguments::check(data));
