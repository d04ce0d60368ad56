//! MCP: the server of a process, its sessions, and how their requests are answered.

pub mod at_hand;
mod called;
pub mod extra;
mod handler;
mod hints;
mod instructions;
pub mod measure;
mod progress;
pub mod server;
pub mod session;
mod skills;
mod turns;
pub mod views;
