//! `append_text_file_contents`: new lines at the end.

use crate::digest::Tag;
use crate::scan::Scan;
use crate::source::Source;

use super::{Position, Resolution, insert};

/// Appends lines: what [`insert`](fn@super::insert) does after the last line.
pub fn append<S: Source + ?Sized>(
    source: &S,
    scan: &Scan,
    file_hash: Option<&Tag>,
    contents: &str,
) -> Result<Resolution, S::Error> {
    insert(source, scan, file_hash, contents, Position::After(scan.lines.count()))
}
