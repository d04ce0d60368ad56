//! Finds out whether whole lines can be cut out of a file whose encoding has states.

use std::ops::Range;

use crate::encoding::Seam;
use crate::scanned::Scanned;
use crate::source::{Source, read_range};

/// Returns the places before and after some whole lines, between which new text is to be fitted in; `None` where a stateful encoding
/// is not in its ASCII state at both.
pub(super) fn seams_around<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    bytes: &Range<u64>,
) -> Result<Option<(Seam, Seam)>, S::Error> {
    if file.scan.encoding.is_stateful()
        && !(ascii_state_at(file.source, bytes.start)? && ascii_state_at(file.source, bytes.end)?)
    {
        return Ok(None);
    }
    Ok(Some((Seam::ascii(bytes.start), Seam::ascii(bytes.end))))
}

/// Tells whether ISO-2022-JP is in its ASCII state at `offset`: whether the last escape sequence before that, if any, leads to it. In
/// a file that decodes, every ESC begins an escape sequence.
pub(super) fn ascii_state_at<S: Source + ?Sized>(source: &S, offset: u64) -> Result<bool, S::Error> {
    const ESCAPE: u8 = 0x1B;
    const BLOCK: u64 = 4096;
    let mut end = offset;
    while end > 0 {
        let start = end.saturating_sub(BLOCK);
        // Reads two bytes more than are searched, so that no escape sequence lacks its end.
        let bytes = read_range(source, start..(end + 2).min(offset))?;
        let searched = usize::try_from(end - start).unwrap_or(usize::MAX).min(bytes.len());
        if let Some(at) = memchr::memrchr(ESCAPE, bytes.get(..searched).unwrap_or_default()) {
            return Ok(bytes.get(at + 1..at + 3) == Some(b"(B"));
        }
        end = start;
    }
    Ok(true)
}
