//! mcp-text-editor: a Model Context Protocol server through which a language model reads and edits text files.
//!
//! The way of a call: [`stdio`] (the transport) → [`session`] (its beginning) → [`server`] (the protocol) → [`tools`] (one file a tool: its words, its
//! schema, its typed request, by way of [`arguments`]) → [`work`] (core and store) → [`render`] (the reply's words).
//! [`cli`] decides once, at the start, what the process may do; [`call`] is the same way for a person at a shell.

pub mod arguments;
pub mod call;
pub mod cli;
pub mod clients;
pub mod context;
pub mod history;
mod instructions;
pub mod limits;
pub mod past;
pub mod problem;
pub mod render;
pub mod room;
pub mod schema;
pub mod server;
pub mod session;
pub mod stdio;
pub mod tools;
pub mod weigh;
pub mod work;
