//! The request of a search or a listing, and what it finds: data only.

use std::sync::atomic::AtomicU64;
use std::time::{Duration, SystemTime};

use mcp_text_editor_core::digest::Digest;
use mcp_text_editor_core::line::LineNumber;

use crate::search::skipped::Skipped;

/// The request of a search.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    /// A regular expression, in the notation of the crate `regex`, that matches within one line; or a text.
    pub pattern: &'a str,
    /// True if `pattern` is a text.
    pub literal: bool,
    /// True if letter case does not count.
    pub ignore_case: bool,
    /// Absolute paths of files and directories, as the client named them; empty: all roots. What is named
    /// here is searched even if an ignore file names it, and may be a link.
    pub paths: &'a [&'a str],
    /// The globs that choose files, as `rg -g` takes them: the notation of an ignore file, where `!` leaves
    /// out. Each counts from the root, or from the directory in `paths`, or is absolute. It only narrows:
    /// other than with `rg -g`, what an ignore file names is left out even if it matches.
    pub glob: &'a [&'a str],
    /// The label of the files' encoding, in the client's word; `None`: the byte order mark of each decides,
    /// else UTF-8.
    pub encoding: Option<&'a str>,
    /// The number of lines before and after each hit that are told, too.
    pub context: u64,
    /// True if each line that is hit is told with its digest.
    pub hashes: bool,
    /// The number of bytes of a line's text that are told, about; a longer one is cut around the hit. At
    /// least 64.
    pub max_line_bytes: usize,
    /// After how long the search ends with what it has found; `None`: never.
    pub time_limit: Option<Duration>,
    /// Counts the files that were searched, while it is at work.
    pub progress: Option<&'a AtomicU64>,
}

impl<'a> Search<'a> {
    /// Makes a search for a regular expression in all roots.
    #[must_use]
    pub fn new(pattern: &'a str) -> Self {
        Self {
            pattern,
            literal: false,
            ignore_case: false,
            paths: &[],
            glob: &[],
            encoding: None,
            context: 0,
            hashes: false,
            max_line_bytes: 2048,
            time_limit: None,
            progress: None,
        }
    }
}

/// Lines of one file in which something was found, in order. A file with very many comes in several portions,
/// one after the other.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct FileMatches {
    /// The absolute path of the file: what the client named, or the root as it was configured, and the names
    /// below it.
    pub file_path: String,
    /// The lines, at least one.
    pub matches: Vec<Match>,
}

/// A line in which something was found, and the lines around it. Of two hits close together each line between
/// them is told once.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Match {
    /// The line.
    pub line: TextLine,
    /// The SHA-256 of the line's bytes, its terminator included: the `range_hash` that a read of this line
    /// has. `None` if it was not asked for.
    pub range_hash: Option<Digest>,
    /// The lines before it that were not told with the hit before.
    pub before: Vec<TextLine>,
    /// The lines after it, as far as they are not hits themselves.
    pub after: Vec<TextLine>,
}

/// A line's number and text, as a read shows them.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TextLine {
    /// Its number.
    pub number: LineNumber,
    /// Its text, without what ends it; where it is cut only a part.
    pub text: String,
    /// The cut; `None` if `text` is the whole line.
    pub cut: Option<Cut>,
}

/// The part of a long line that is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cut {
    /// The character of the line with which the text begins, from 1.
    pub from_char: u64,
    /// The number of characters of the line.
    pub line_length: u64,
}

/// The end of a search or a listing, and what was left out.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SearchSummary {
    /// The number of files that were searched, that in which the sink had enough included; or of entries that
    /// were listed.
    pub files: u64,
    /// The files that were left out so far, by cause; not what ignore files and `glob` leave out. Like
    /// `files` it is the same each time, whatever the threads do, unless the time was over.
    pub skipped: Skipped,
    /// The reason why it ended.
    pub end: End,
}

/// The reason why a search or a listing ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// All was looked at.
    Complete,
    /// The sink wanted no more.
    Enough,
    /// The time was over.
    TimeLimit,
}

/// The request of a listing.
#[derive(Clone, Copy, Debug)]
pub struct List<'a> {
    /// The absolute path of a directory, whose entries are listed, or of a file; `None`: the roots themselves
    /// are the entries.
    pub path: Option<&'a str>,
    /// The globs that choose files: see [`Search::glob`]. With it directories are passed through, and not
    /// listed.
    pub glob: &'a [&'a str],
    /// The number of levels: 1 lists the entries of the directory alone; `None`: all below it. Without `path`
    /// 0, and `None`, are the roots alone.
    pub depth: Option<u64>,
    /// True if what ignore files name is listed, too. `.git` is not.
    pub include_ignored: bool,
    /// True if the lines of each file are counted, which reads it.
    pub line_counts: bool,
    /// After how long the listing ends with what it has; `None`: never.
    pub time_limit: Option<Duration>,
    /// Counts the entries that were listed, while it is at work.
    pub progress: Option<&'a AtomicU64>,
}

impl<'a> List<'a> {
    /// Returns all that is below a directory and not ignored.
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
    /// The kind of the entry; of a link, that of what it leads to.
    pub kind: EntryKind,
    /// The size of a file in bytes.
    pub bytes: Option<u64>,
    /// The time of the last change of its content, as far as the file system says.
    pub modified: Option<SystemTime>,
    /// The number of lines of a file: if it was asked for, and it is text, in the encoding of its byte order
    /// mark or UTF-8.
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
