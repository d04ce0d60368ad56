//! The blanks of a new text, for the warning that they may be too many.

use super::plan::Blanks;
use crate::line::LineNumber;
use crate::scanned::Scanned;
use crate::source::Source;

/// The most bytes of the next line that are looked at; a line with more blanks than fit is no indented one.
const LONGEST: usize = 4096;

/// The most places of a patch whose next line is looked at. One is reported, with the number of the others.
pub(super) const TOLD: usize = 16;

/// Returns the blanks at the beginning of what takes the place of an old text, if the old text begins with
/// none. These are the blanks of the new text. Where whole lines are removed and nothing is put there, they
/// are those of the line that follows, at `end`; `None` for `end` if that line is not to be looked at. Fails
/// only as the source does.
pub(super) fn indent<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    old: &str,
    new: &str,
    end: Option<u64>,
) -> Result<Option<Blanks>, S::Error> {
    if old.starts_with([' ', '\t']) {
        return Ok(None);
    }
    if !new.is_empty() || !old.ends_with('\n') {
        return Ok(leading(new));
    }
    let Some(end) = end else { return Ok(None) };
    let mut blanks = None;
    file.for_each_line(LineNumber::FIRST, end..file.scan.lines.bytes().end, LONGEST, |line| {
        blanks = file.scan.encoding.decode(line.text).ok().and_then(|text| leading(&text));
        false
    })?;
    Ok(blanks)
}

/// Returns the blanks with which the first line of a text begins.
fn leading(text: &str) -> Option<Blanks> {
    let first = text.split('\n').next().unwrap_or_default();
    let behind = first.trim_start_matches([' ', '\t']);
    first.get(..first.len() - behind.len()).and_then(Blanks::of)
}
