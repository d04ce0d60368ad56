//! MCP over standard input and output.
//!
//! At the end of input, edits in work are finished and answered before the process ends, however long they
//! take; calls that change nothing are cancelled after a short time. Answers that the client does not read
//! are dropped after some time. A line that cannot be parsed is answered if it is a request, and the session
//! continues.

mod line;
mod second;
mod serve;
mod shared;
mod stream;
mod transport;

pub use self::serve::{runtime, serve};
pub use self::transport::LineTransport;
