//! MCP: what is answered to which request.

mod handler;
mod instructions;
mod progress;
pub mod server;
pub mod session;
