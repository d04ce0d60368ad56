//! The request of a search or a listing, and its results: data only.

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
    /// A regular expression, in the notation of the crate `regex`; or a literal text.
    pub pattern: &'a str,
    /// Whether `pattern` is a literal text.
    pub literal: bool,
    /// Whether a match may go over several lines. Then a file is matched as a whole, and left out if it has
    /// more than 8 MiB, or the pattern is too complex for its size.
    pub multiline: bool,
    /// Whether letter case does not count.
    pub ignore_case: bool,
    /// Absolute paths of files and directories, as the client named them; empty for all roots. A path here is
    /// searched even if an ignore file names it, and may be a link.
    pub paths: &'a [&'a str],
    /// The globs that choose files, as `rg -g` takes them: in the notation of an ignore file, where `!`
    /// leaves out. Each counts from the root, or from the directory in `paths`, or is absolute. Globs only
    /// narrow the result. Unlike with `rg -g`, a file that an ignore file names is left out even if a glob
    /// matches.
    pub glob: &'a [&'a str],
    /// The label of the files' encoding, as the client named it. With `None`, the byte order mark of each
    /// file decides; without one, it is UTF-8.
    pub encoding: Option<&'a str>,
    /// The number of lines before each hit that are shown, too.
    pub before: u64,
    /// The number of lines after each hit that are shown, too.
    pub after: u64,
    /// Whether each hit is shown with the digest of its line.
    pub hashes: bool,
    /// The approximate number of bytes of a line's text that are shown, at least 64. A longer line is cut
    /// around the hit.
    pub max_line_bytes: usize,
    /// The most bytes of a file whose hits are wanted; a larger one is left out. `None` for no limit.
    pub max_file_bytes: Option<u64>,
    /// The time after which the search ends with what it has found; `None` for no limit.
    pub time_limit: Option<Duration>,
    /// Counts the files that were searched, while the search runs.
    pub progress: Option<&'a AtomicU64>,
}

impl<'a> Search<'a> {
    /// Makes a search for a regular expression in all roots.
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

/// The lines of one file in which something was found, in order. A file with very many hits comes in several
/// portions, one after the other.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct FileMatches {
    /// The absolute path of the file: the path that the client named, or that of the root as it was
    /// configured, and the names below it.
    pub file_path: String,
    /// Its real path.
    pub real_path: PathBuf,
    /// The lines, at least one.
    pub matches: Vec<Match>,
}

/// A line in which something was found, or the lines of a match over several lines, with the context lines. A
/// context line between two close hits is shown once.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Match {
    /// The line, or the first one of several.
    pub line: TextLine,
    /// The number of the last line.
    pub end: LineNumber,
    /// The lines after the first one up to the last one, at most 50 of them.
    pub rest: Vec<TextLine>,
    /// The SHA-256 of the lines' bytes with terminators: the `range_hash` that a read of these lines has.
    /// `None` if it was not requested.
    pub range_hash: Option<Digest>,
    /// The context lines before it, without those that were shown with the previous hit.
    pub before: Vec<TextLine>,
    /// The context lines after it, without those that are hits themselves.
    pub after: Vec<TextLine>,
}

/// A line's number and text, as a read shows them.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TextLine {
    /// Its number.
    pub number: LineNumber,
    /// Its text, without its terminator. If the line is cut, this is only a part of it.
    pub text: String,
    /// The cut; `None` if `text` is the whole line.
    pub cut: Option<Cut>,
}

/// The part of a long line that is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cut {
    /// The character of the line with which the text begins, from 1.
    pub from_char: u64,
    /// The number of characters of the line.
    pub line_length: u64,
}

/// The summary of a search or a listing.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SearchSummary {
    /// The number of files that were searched, including the one at which the sink ended the search; or the
    /// number of entries that were listed.
    pub files: u64,
    /// The files that were left out so far, by cause. What the request itself or an ignore file leaves out,
    /// and what other readings of the request would find, is included only if nothing was found. Like
    /// `files`, this does not depend on the timing of threads, unless the time limit ended the search.
    pub skipped: Skipped,
    /// The reason why the search or listing ended.
    pub end: End,
}

/// The reason why a search or a listing ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Everything was searched or listed.
    Complete,
    /// The sink ended it.
    Enough,
    /// The time limit ended it.
    TimeLimit,
}

/// The request of a listing.
#[derive(Clone, Copy, Debug)]
pub struct List<'a> {
    /// The absolute path of a directory, whose entries are listed, or of a file. With `None`, the roots
    /// themselves are the entries.
    pub path: Option<&'a str>,
    /// The globs that choose files: see [`Search::glob`]. With globs, directories are not listed, only the
    /// files in them.
    pub glob: &'a [&'a str],
    /// The number of levels. 1 lists only the entries of the directory, and `None` everything below it.
    /// Without `path`, 0 and `None` list only the roots.
    pub depth: Option<u64>,
    /// Whether files that ignore files name are listed, too. `.git` never is.
    pub include_ignored: bool,
    /// Whether the lines of each file are counted. This reads the whole file.
    pub line_counts: bool,
    /// The time after which the listing ends with what it has; `None` for no limit.
    pub time_limit: Option<Duration>,
    /// Counts the entries that were listed, while the listing runs.
    pub progress: Option<&'a AtomicU64>,
}

impl<'a> List<'a> {
    /// Makes a listing of everything below a directory, without ignored files; with `None`, of the roots.
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

/// A file or directory.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ListEntry {
    /// Its absolute path, as in [`FileMatches::file_path`].
    pub path: String,
    /// The kind of the entry; for a link, that of its target.
    pub kind: EntryKind,
    /// The size of a file in bytes.
    pub bytes: Option<u64>,
    /// The time of the last change of its content, if the file system says it.
    pub modified: Option<SystemTime>,
    /// The number of lines of a file, if it was requested and the file is text in the encoding of its byte
    /// order mark, or in UTF-8.
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
