//! MCP over Streamable HTTP, without sessions: each request says all that is needed to serve it, so any
//! process may.
//!
//! A request begins nothing that another one needs, and a response that is closed withdraws its call. The
//! listener is bound before the process is confined; SIGTERM lets every call in work come to its end. What a
//! client may take of the process, and for how long, is bounded whether it has the token or not: memory by
//! `intake`, connections by `places`, time by `arrival`, `stream` and `connection`. `oauth` tells who looks
//! for it that there is none. `web` serves a page to a person's browser by the same means, and nothing of
//! MCP.

mod arrival;
mod batch;
mod body;
mod connection;
mod endpoint;
mod exchange;
mod headers;
mod intake;
mod metrics;
mod oauth;
mod origin;
mod places;
mod serve;
mod settings;
mod stream;
mod token;
pub mod web;

pub use self::serve::{Listener, bind, serve, serve_until};
pub use self::settings::HttpSettings;
pub use self::token::{Token, TokenError};
