//! The pure core of mcp-text-editor: bytes in, decisions out.
//!
//! A file is a stream that is read once ([`scan`]), an edit is a set of splices ([`splice`]). Nothing here opens a
//! file, reads a clock or an environment, or writes a sentence for a reader.
#![forbid(unsafe_code)]

pub mod cause;
pub mod diff;
pub mod digest;
pub mod encoding;
pub mod file_names;
pub mod invisible;
pub mod line;
pub mod line_ending;
pub mod lines;
pub mod matching;
pub mod measure;
pub mod nearest;
pub mod regions;
pub mod rejection;
pub mod resolve;
pub mod scan;
pub mod scanned;
pub mod show;
pub mod source;
pub mod splice;
