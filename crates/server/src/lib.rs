//! mcp-text-editor: a Model Context Protocol server through which a language model reads and edits text
//! files.
//!
//! A call goes through these modules: [`transport`] reads it, [`protocol`] finds its tool and waits for its
//! turn, [`tools`] turns its arguments into a typed request with [`arguments`] and carries the request out
//! with the crates core and store, and [`render`] words the reply. [`cli`] decides once, at the start, what
//! the process may do. A module imports only from modules that precede it in this list: `tool_id`, `json`;
//! `limits`, `problem`; `config`, `clients`; `context`; `render`; `history`, `arguments`; `tools`;
//! `protocol`; `transport`; `cli`.
//!
//! Names: `file_path` is a path as the client wrote it, in requests, replies and problems; `path` is a path
//! that the store has resolved.

pub mod arguments;
pub mod cli;
pub mod clients;
pub mod config;
pub mod context;
pub mod history;
pub mod json;
pub mod limits;
pub mod page;
pub mod problem;
pub mod protocol;
pub mod render;
pub mod tool_id;
pub mod tools;
pub mod transport;
