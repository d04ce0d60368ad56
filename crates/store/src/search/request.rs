//! Defines the requests of searches and listings, and their results. This module has only data. A *root* is a
//! directory that the server serves, and a *hit* is a line, or several lines, with a match.

use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, SystemTime};

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::line::LineNumber;

use crate::search::skipped::Skipped;

/// The request of a search.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct Search<'a> {
    /// A regular expression, in the notation of the crate `regex`, or a literal text.
    pub pattern: &'a str,
    /// Whether `pattern` is a literal text.
    pub literal: bool,
    /// Whether a match can go over several lines. If so, each file is matched as a whole. A file is left out
    /// if it has more than 8 MiB, or if the pattern is too complex for a file of its size.
    pub multiline: bool,
    /// Whether letter case is ignored.
    pub ignore_case: bool,
    /// Absolute paths of files and directories, as the client named them; empty for all roots. Such a path is
    /// searched even if an ignore file names it. The path can be a symbolic link.
    pub paths: &'a [&'a str],
    /// The globs that select files, as in `rg -g`: in the notation of an ignore file, where `!` excludes.
    /// Each glob is relative to the root or to the directory in `paths`, or is absolute. Globs only narrow
    /// the result. Unlike with `rg -g`, a file that an ignore file names is left out even if a glob matches.
    pub glob: &'a [&'a str],
    /// The label of the files' encoding, as the client named it. With `None`, the byte order mark of each
    /// file decides; a file without a mark is read as UTF-8.
    pub encoding: Option<&'a str>,
    /// The number of context lines before each hit.
    pub before: u64,
    /// The number of context lines after each hit.
    pub after: u64,
    /// Whether each hit is shown with the digest of its lines.
    pub hashes: bool,
    /// The approximate maximum number of bytes of a line that are shown; a value below 64 counts as 64. Of a
    /// longer line, only a part around the hit is shown.
    pub max_line_bytes: usize,
    /// The maximum size in bytes of a file whose hits are wanted; a larger file is left out. `None` for no
    /// limit.
    pub max_file_bytes: Option<u64>,
    /// The time after which the search ends with the hits found so far; `None` for no limit.
    pub time_limit: Option<Duration>,
    /// A counter of the files that have been searched, which is updated while the search runs.
    pub progress: Option<&'a AtomicU64>,
}

impl<'a> Search<'a> {
    /// Returns a request to search all roots for a regular expression.
    #[must_use]
    pub fn new(pattern: &'a str) -> Self {
        Self {
            pattern,
            literal: false,
            multiline: false,
            ignore_case: false,
            paths: &[],
            glob: &[],
            encoding: None,
            before: 0,
            after: 0,
            hashes: false,
            max_line_bytes: 2048,
            max_file_bytes: None,
            time_limit: None,
            progress: None,
        }
    }
}

/// The lines of one file in which something was found, in order. A file with very many hits is delivered in
/// several portions, one after the other.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct FileMatches {
    /// The absolute path of the file: the path that the client named, or the configured path of the root,
    /// followed by the names below it.
    pub file_path: String,
    /// The file's real path.
    pub real_path: PathBuf,
    /// The lines, at least one.
    pub matches: Vec<Match>,
}

/// A line with a match, or the lines of a match over several lines, with the context lines. A context line
/// between two close hits is shown only with one of them.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Match {
    /// The line, or the first of several lines.
    pub line: TextLine,
    /// The number of the match's last line.
    pub end: LineNumber,
    /// The match's lines after the first, at most 50 of them.
    pub rest: Vec<TextLine>,
    /// The SHA-256 of the lines' bytes with terminators, the same as the `range_hash` of a read of these
    /// lines. `None` if the request did not ask for digests.
    pub range_hash: Option<Digest>,
    /// The context lines before the match, except those that were shown with the previous hit.
    pub before: Vec<TextLine>,
    /// The context lines after the match, except lines that are hits themselves.
    pub after: Vec<TextLine>,
}

/// A line's number and text, as a read shows them.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TextLine {
    /// The line's number.
    pub number: LineNumber,
    /// The line's text without its terminator; only a part of it if the line is cut.
    pub text: String,
    /// The position of the part that is shown; `None` if `text` is the whole line.
    pub cut: Option<Cut>,
}

/// The position of the part of a long line that is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cut {
    /// The position in the line of the text's first character, counted in characters from 1.
    pub from_char: u64,
    /// The number of characters of the whole line.
    pub line_length: u64,
}

/// The summary of a search or a listing.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SearchSummary {
    /// The number of files that were searched, including the one at which the sink ended the search; or the
    /// number of entries that were listed.
    pub files: u64,
    /// The files that were left out so far, by cause. Files that the request itself or an ignore file leaves
    /// out, and files that have hits only if the request is interpreted in another way, are included only if
    /// nothing was found or listed. Like `files`, this field does not depend on the timing of threads, unless
    /// the time limit ended the search.
    pub skipped: Skipped,
    /// The reason why the search or listing ended.
    pub end: End,
}

/// The reason why a search or a listing ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Everything was searched or listed.
    Complete,
    /// The sink, which receives the results, ended the search or listing.
    Enough,
    /// The time limit ended the search or listing.
    TimeLimit,
}

/// The request of a listing.
#[derive(Clone, Copy, Debug)]
pub struct List<'a> {
    /// The absolute path of a directory, whose entries are listed, or of a file. With `None`, the roots
    /// themselves are the entries.
    pub path: Option<&'a str>,
    /// The globs that select files: see [`Search::glob`]. With globs, directories are not listed, only the
    /// files in them.
    pub glob: &'a [&'a str],
    /// The number of levels: 1 lists only the entries of the directory itself, and `None` lists everything
    /// below it. Without `path`, 0 and `None` list only the roots.
    pub depth: Option<u64>,
    /// Whether files that ignore files name are listed, too. `.git` is never listed.
    pub include_ignored: bool,
    /// Whether the lines of each file are counted. This reads the whole file.
    pub line_counts: bool,
    /// The time after which the listing ends with the entries found so far; `None` for no limit.
    pub time_limit: Option<Duration>,
    /// A counter of the entries that have been listed, which is updated while the listing runs.
    pub progress: Option<&'a AtomicU64>,
}

impl<'a> List<'a> {
    /// Returns a request to list everything below a directory, without ignored files, or, with `None`, the
    /// roots.
    #[must_use]
    pub fn new(path: Option<&'a str>) -> Self {
        Self {
            path,
            glob: &[],
            depth: None,
            include_ignored: false,
            line_counts: false,
            time_limit: None,
            progress: None,
        }
    }
}

/// An entry of a listing: a file or directory.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ListEntry {
    /// The entry's absolute path, as in [`FileMatches::file_path`].
    pub path: String,
    /// The kind of the entry; for a link, the kind of its target.
    pub kind: EntryKind,
    /// The size of a file in bytes; `None` for a directory.
    pub bytes: Option<u64>,
    /// The time of the last change of the entry's content; `None` if the file system does not store it.
    pub modified: Option<SystemTime>,
    /// The number of lines of a file. `None` for a directory, if line counts were not requested, or if the
    /// file is not text in the encoding of its byte order mark or, without a mark, in UTF-8.
    pub lines: Option<u64>,
}

/// The kind of an entry of a listing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
}
