//! MCP over Streamable HTTP, without sessions: each request says all that is needed to serve it, so any process may.
//!
//! A request begins nothing that another one needs, and a response that is closed withdraws its call. The listener is
//! bound before the process is confined; SIGTERM lets every call in work come to its end.

mod batch;
mod body;
mod endpoint;
mod exchange;
mod headers;
mod metrics;
mod origin;
mod serve;
mod settings;
mod token;

pub use self::serve::{Listener, bind, serve, serve_until};
pub use self::settings::Settings;
pub use self::token::{Token, TokenError};
