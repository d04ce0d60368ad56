//! MCP: how a session begins, what the server says of itself, how a call is carried out beside the protocol.

mod instructions;
pub mod server;
pub mod session;
