//! mcp-text-editor: a Model Context Protocol server through which a language model reads and edits text files.
//!
//! The way of a call: [`transport`] → [`protocol`] → [`tools`] (one file a tool: its words, its schema, its typed request, by way of
//! [`arguments`]) → [`actions`] (core and store) → [`render`] (the reply's words). [`cli`] decides once, at the start, what the
//! process may do.

pub mod actions;
pub mod arguments;
pub mod cli;
pub mod clients;
pub mod config;
pub mod context;
pub mod limits;
pub mod problem;
pub mod protocol;
pub mod render;
pub mod room;
pub mod tool_id;
pub mod tools;
pub mod transport;
pub mod wire;
