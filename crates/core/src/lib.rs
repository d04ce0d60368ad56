//! Edits text files as bytes: scans a file, finds the bytes that an edit changes, or the reasons why it
//! cannot be made.
//!
//! This is the pure core of [mcp-text-editor](https://crates.io/crates/mcp-text-editor), a server through
//! which language models edit files. It opens no file, reads no clock and no environment, and has no unsafe
//! code: bytes go in, decisions come out. To edit files on a disk, with locks, transactions and undo, use
//! `mcp-text-editor-store`, which is built on it.
//!
//! - [`scan`] reads a file once, in chunks of any size, and finds its digest, its encoding, whether it
//!   decodes, and where its lines are. [`scan::Scanned`] pairs the bytes with that scan, and answers
//!   questions about lines; [`show`](mod@show) returns their text.
//! - [`resolve`] turns a request (replace this text, or these lines; insert, append, delete) into a
//!   [`Plan`](resolve::Plan) of splices, or into every reason why it cannot be carried out ([`rejection`]),
//!   with evidence: where the text occurs ([`matching`]), or similar lines that may be meant. It also reviews
//!   new text for slips ([`rejection::Slip`]).
//! - [`splice`] applies the plan to the old file: the new file is a view that can be read at any offset, and
//!   the inverse of the splices restores the old file. [`regions`](mod@regions) finds the lines that have
//!   changed, and [`diff`] shows them.
//! - Besides these: [`encoding`] and its labels, [`digest`], line endings ([`line_ending`]), the length of a
//!   text in the units of a limit ([`text_length`]), and names that a file system could take for one another
//!   ([`file_names`]).
//!
//! Bytes outside the splices of an edit are copied, never decoded and encoded again. Line numbers count from
//! 1 ([`line::LineNumber`]); offsets are in bytes and count from 0.
//!
//! # Example
//!
//! A file is scanned, a text in it is replaced, and the edit is taken back:
//!
//! ```
//! use std::convert::Infallible;
//!
//! use mcp_text_editor_core::resolve::{MatchOptions, Patch, patch};
//! use mcp_text_editor_core::scan::Scanner;
//! use mcp_text_editor_core::scan::Scanned;
//! use mcp_text_editor_core::source::{Source, read_range};
//! use mcp_text_editor_core::splice::Spliced;
//!
//! # fn main() -> Result<(), Infallible> {
//! let old = b"fn main() {\r\n    old();\r\n}\r\n".as_slice();
//! let mut scanner = Scanner::new(None);
//! for chunk in old.chunks(10) {
//!     scanner.feed(chunk);
//! }
//! let scan = scanner.finish();
//! assert_eq!((scan.encoding.name(), scan.lines.count()), ("utf-8", 3));
//! assert_eq!((scan.nul, scan.undecodable), (None, None));
//!
//! let request = [Patch {
//!     old_string: Some("    old();\n".to_owned()),
//!     new_string: "    new();\n    newer();\n".to_owned(),
//!     ranges: Vec::new(),
//!     replace_all: false,
//! }];
//! // The outer result fails only if reading fails; bytes in memory can always be read.
//! let plan = match patch(Scanned::new(old, &scan), None, &request, MatchOptions::default())? {
//!     Ok(plan) => plan,
//!     Err(rejections) => panic!("{}", rejections[0]),
//! };
//!
//! // New lines have the line ends of the file.
//! let edited = Spliced::new(old, &plan.splices);
//! let new = read_range(&edited, 0..edited.size())?;
//! assert_eq!(new, b"fn main() {\r\n    new();\r\n    newer();\r\n}\r\n");
//!
//! let back = plan.splices.inverse(old)?;
//! let undone = Spliced::new(new.as_slice(), &back);
//! assert_eq!(read_range(&undone, 0..undone.size())?, old);
//! # Ok(())
//! # }
//! ```
//!
//! A request that cannot be carried out says why, and changes nothing:
//!
//! ```
//! # use mcp_text_editor_core::resolve::{GuardedRange, delete};
//! # use mcp_text_editor_core::scan::Scanner;
//! # use mcp_text_editor_core::scan::Scanned;
//! let file = b"one\ntwo\n".as_slice();
//! let mut scanner = Scanner::new(None);
//! scanner.feed(file);
//! let scan = scanner.finish();
//!
//! let lines = [GuardedRange { start: 2, end: Some(5), range_hash: None }];
//! let rejections = delete(Scanned::new(file, &scan), None, &lines)?.unwrap_err();
//! assert_eq!(rejections[0].to_string(), "lines 2 to 5 are out of range: the file has 2 lines");
//! # Ok::<(), std::convert::Infallible>(())
//! ```
//!
//! # Limitations
//!
//! - **A scan is trusted.** Nothing checks that a [`Scan`](scan::Scan) belongs to the bytes passed with it,
//!   or that these have not changed since. With another scan, results mean nothing. The caller locks the file
//!   and checks the digest again.
//! - **Only text is edited.** [`resolve`] is for files that decode: check
//!   [`Scan::undecodable`](scan::Scan::undecodable) and [`Scan::nul`](scan::Scan::nul) first. Encodings are
//!   guessed for error messages ([`encoding::Guesser`]), never for an edit.
//! - **Edits are held in memory.** The memory that a call takes does not grow with the file, but it does with
//!   new text, with the text that is searched for, and with the bytes that an inverse restores.
//! - **Each request is for one file**, and its parts refer to the file as it was scanned: they cannot build
//!   on each other.
//! - **Lines end at LF or CRLF**, or at CR in a file without any LF. An edit that adds the first LF to such a
//!   file, or removes the last one, changes where all of its lines are.
//! - **Text is compared by code points.** There is no Unicode normalisation. Only the kind of line end and,
//!   unless matching is strict, blanks before line ends are ignored. Columns and lengths count code points,
//!   not what a reader sees as characters.
//! - **Evidence is bounded.** The search for reasons, similar places and diffs has fixed limits of size, so a
//!   failure in a large file may have less evidence.
//! - **Encodings are those of the WHATWG Encoding Standard**, ISO-8859-1, ASCII and UTF-32; EBCDIC, UTF-7 or
//!   code page 437 are not among them.
//!
//! # Features
//!
//! - `fast-hash` (on by default) hashes with `ring`, whose assembly is nearly twice as fast as `sha2` on CPUs
//!   without SHA instructions; building it requires a C compiler. Without this feature, `sha2` hashes, in
//!   Rust. Digests are the same.
#![forbid(unsafe_code)]

pub mod diff;
pub mod digest;
mod elision;
pub mod encoding;
pub mod file_names;
pub mod invisible;
pub mod line;
pub mod line_ending;
pub mod lines;
pub mod matching;
mod mismatch;
pub mod preview;
pub mod regions;
pub mod rejection;
pub mod resolve;
pub mod scan;
pub mod show;
pub mod shown_lines;
pub mod source;
pub mod splice;
pub mod text_length;
