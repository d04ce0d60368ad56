//! MCP over Streamable HTTP, without sessions. Each request has all that is needed to serve it, so any
//! process can serve it.
//!
//! No request depends on an earlier one. A client cancels a call by closing its response. The listener is
//! bound before the process is confined (restricted by the system to the files that it needs); after SIGTERM,
//! edits in work are finished, and calls that change nothing are cancelled. The resources that a client can
//! take, with or without the token, are bounded: memory by `intake`, connections by `places`, time by
//! `arrival` and `connection`. If a client looks for OAuth, `access` answers that there is none. `web` uses
//! the same modules to serve a page to a person's browser; it does not serve MCP.

mod access;
mod connection;
mod endpoint;
mod exchange;
mod headers;
mod intake;
mod places;
mod serve;
pub mod web;

pub use self::access::{HttpSettings, Token, TokenError};
pub use self::serve::{Listener, bind, serve, serve_until};
