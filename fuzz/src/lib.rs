//! Laws of mcp-text-editor that must hold for any bytes, one module a fuzz target.
//!
//! Each module has `check`, which panics where its law is broken. libFuzzer calls it with bytes that it makes
//! up (`fuzz_targets/`), and `tests/corpus.rs` with the ones that are kept (`corpus.tar`), without any
//! instrumentation. Only what the crates offer to everybody is used; nothing in them is opened up for this.

pub mod arguments;
pub mod decode;
// The naive model of the server's own tests, so that there is one.
#[path = "../../crates/server/tests/it/files.rs"]
mod files;
pub mod framing;
mod input;
pub mod memory;
// The naive model of the core's own tests, so that there is one.
#[path = "../../crates/core/tests/it/model.rs"]
mod model;
pub mod paths;
pub mod resolve;
pub mod search;
pub mod sessions;
