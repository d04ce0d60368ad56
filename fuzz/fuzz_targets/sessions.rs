//! Any bytes; the law is `sessions::check`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcp_text_editor_fuzz::sessions::check(data));
