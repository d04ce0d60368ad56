//! MCP: the server of a process, its sessions, and the answers to their requests.

pub mod at_hand;
mod call;
mod handler;
mod instructions;
pub mod measure;
pub mod resources;
pub mod server;
pub mod session;
mod turns;
