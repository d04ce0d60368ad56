//! Makes the text of a unified diff from its changes.

use std::fmt::Write as _;
use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::bounded_text::BoundedText;
use crate::line::{LineNumber, LineRange};

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

/// The number of unchanged lines above and below a change, as in `diff -u`.
const CONTEXT: u64 = 3;

/// Sides of a change that are longer than this are not compared line by line.
const COMPARED_LINES: usize = 2000;

/// The maximum pairs of lines that are compared for all changes of one diff. Changes beyond that are shown as
/// replaced whole. Without this limit, a call with many long changes would take minutes.
const COMPARED_PAIRS: usize = 8 * COMPARED_LINES * COMPARED_LINES;

/// One of the two files that a diff compares.
#[derive(Clone, Copy, Debug)]
pub struct DiffFile<'a> {
    /// The name of the file in the header. Names with blanks, quotes or control characters are quoted as GNU
    /// diff does.
    pub path: &'a str,
    /// Whether the last line has no terminator; ignored for an empty file.
    pub unterminated: bool,
}

/// Old lines, and the new lines in their place. Either may be empty.
///
/// These are whole lines without their terminators. If only the terminator of the last line changes, no
/// `LineChange` is needed: [`DiffFile::unterminated`] shows the change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineChange {
    /// The number of the first old line, in the old file. Without old lines, the number of the line after the
    /// insertion point.
    pub start: LineNumber,
    /// The lines that are removed.
    pub old: Vec<String>,
    /// The lines that are added.
    pub new: Vec<String>,
}

impl LineChange {
    /// Returns the range of the old lines.
    #[must_use]
    pub fn old_lines(&self) -> LineRange {
        LineRange::new(self.start, self.old.len() as u64)
    }
}

/// Makes the diff of `changes`, which are sorted and disjoint, in the format of GNU `diff -u` (the unified
/// format of POSIX), without time stamps, and with three lines of context. Empty if both sides of every
/// change are equal.
///
/// The old file has `old_total` lines. `context` is called with ranges of existing old lines, and returns
/// their texts without terminators. If it returns too few lines, empty lines are shown for the rest; surplus
/// lines are ignored. Lines of a change that are equal on both sides are shown as unchanged. The text is cut
/// at a line's end before it exceeds `limit` bytes. Then [`more_lines`](super::more_lines) is added, which
/// does not count towards the limit. Every hunk header counts all lines of its hunk, even if it is cut.
///
/// Fails only if `context` does.
///
/// ```
/// use std::convert::Infallible;
///
/// use mcp_text_editor_core::diff::{DiffFile, LineChange, unified};
/// use mcp_text_editor_core::line::{LineNumber, LineRange};
///
/// let old = ["one", "two", "three"];
/// let changes = [LineChange {
///     start: LineNumber::new(2).unwrap(),
///     old: vec!["two".to_owned()],
///     new: vec!["zwei".to_owned()],
/// }];
/// let side = DiffFile { path: "numbers.txt", unterminated: false };
/// let context = |lines: LineRange| {
///     let wanted = old.iter().skip(lines.start().index() as usize).take(lines.count() as usize);
///     Ok::<_, Infallible>(wanted.map(|line| line.to_string()).collect())
/// };
/// let diff = unified(side, side, 3, &changes, 40_000, context)?;
/// assert_eq!(diff, "\
/// --- numbers.txt
/// +++ numbers.txt
/// @@ -1,3 +1,3 @@
///  one
/// -two
/// +zwei
///  three
/// ");
/// # Ok::<(), Infallible>(())
/// ```
pub fn unified<E>(
    old: DiffFile<'_>,
    new: DiffFile<'_>,
    old_total: u64,
    changes: &[LineChange],
    limit: usize,
    mut context: impl FnMut(LineRange) -> Result<Vec<String>, E>,
) -> Result<String, E> {
    let shape = Shape::new(old, new, old_total, changes);
    let last = last_line_change(shape, changes, &mut context)?;
    let (inside, behind) = changes.split_at(
        last.as_ref().map_or(0, |last| changes.partition_point(|change| change.start <= last.start)),
    );
    let edits = edits(shape, inside.iter().chain(&last).chain(behind));

    let mut page = BoundedText::new(limit);
    if !edits.is_empty() {
        page.line(format_args!("--- {}", quoted(old.path)));
        page.line(format_args!("+++ {}", quoted(new.path)));
    }
    for hunk in edits.chunk_by(|above, below| below.old.start.saturating_sub(above.old.end) <= 2 * CONTEXT) {
        write_hunk(&mut page, shape, hunk, &mut context)?;
    }
    Ok(page.finish())
}

/// The lengths of the two files, and whether their last lines have terminators.
#[derive(Clone, Copy)]
struct Shape {
    old_total: u64,
    new_total: u64,
    old_unterminated: bool,
    new_unterminated: bool,
}

impl Shape {
    fn new(old: DiffFile<'_>, new: DiffFile<'_>, old_total: u64, changes: &[LineChange]) -> Self {
        let sum = |side: fn(&LineChange) -> &Vec<String>| {
            changes.iter().map(|change| side(change).len() as u64).sum()
        };
        let (gone, come): (u64, u64) = (sum(|change| &change.old), sum(|change| &change.new));
        Self {
            old_total,
            new_total: old_total.saturating_sub(gone).saturating_add(come),
            old_unterminated: old.unterminated,
            new_unterminated: new.unterminated,
        }
    }

    fn old_open(self, index: u64) -> bool {
        self.old_unterminated && index.saturating_add(1) == self.old_total
    }

    fn new_open(self, index: u64) -> bool {
        self.new_unterminated && index.saturating_add(1) == self.new_total
    }
}

/// Finds an old line that is in no change although its terminator is added or removed: the last line of the
/// new file, or the last line of the old file if lines now follow it. Returns a change of that line to
/// itself.
fn last_line_change<E>(
    shape: Shape,
    changes: &[LineChange],
    context: &mut impl FnMut(LineRange) -> Result<Vec<String>, E>,
) -> Result<Option<LineChange>, E> {
    // Goes up from the end, past changes, to the last line that is in no change.
    let mut kept = shape.old_total;
    let mut followed = false;
    for change in changes.iter().rev() {
        if change.old_lines().end() < kept {
            break;
        }
        followed |= !change.new.is_empty();
        kept = kept.min(change.start.index());
    }
    let Some(index) = kept.checked_sub(1) else { return Ok(None) };
    if shape.old_open(index) == (shape.new_unterminated && !followed) {
        return Ok(None);
    }
    let start = LineNumber::from_index(index);
    let mut lines = context(LineRange::new(start, 1))?;
    lines.resize(1, String::new());
    Ok(Some(LineChange { start, old: lines.clone(), new: lines }))
}

/// Removed lines, and the lines that are added in their place, by their indices from 0. They do not begin or
/// end with equal lines.
struct Edit<'a> {
    old: Range<u64>,
    new: Range<u64>,
    gone: &'a [String],
    come: &'a [String],
}

fn edits<'a>(shape: Shape, changes: impl Iterator<Item = &'a LineChange>) -> Vec<Edit<'a>> {
    let mut edits = Vec::new();
    let mut pairs_left = COMPARED_PAIRS;
    let (mut old_seen, mut new_seen) = (0_u64, 0_u64);
    for change in changes {
        let old_start = change.start.index();
        let new_start = new_seen.saturating_add(old_start.saturating_sub(old_seen));
        for op in operations(shape, change, new_start, &mut pairs_left) {
            let (old, new) = (op.old_range(), op.new_range());
            if matches!(op, DiffOp::Equal { .. }) {
                continue;
            }
            edits.push(Edit {
                old: shifted(&old, old_start),
                new: shifted(&new, new_start),
                gone: change.old.get(old).unwrap_or_default(),
                come: change.new.get(new).unwrap_or_default(),
            });
        }
        old_seen = old_start.saturating_add(change.old.len() as u64);
        new_seen = new_start.saturating_add(change.new.len() as u64);
    }
    edits
}

/// Finds out which lines of a change differ, by the Myers algorithm ("An O(ND) difference algorithm", 1986).
/// If the sides are too long for it, all of their lines differ.
fn operations(shape: Shape, change: &LineChange, new_start: u64, pairs_left: &mut usize) -> Vec<DiffOp> {
    let (old_len, new_len) = (change.old.len(), change.new.len());
    let pairs = old_len.saturating_mul(new_len);
    if old_len > COMPARED_LINES || new_len > COMPARED_LINES || pairs > *pairs_left {
        return vec![DiffOp::Replace { old_index: 0, old_len, new_index: 0, new_len }];
    }
    *pairs_left -= pairs;
    // A line with a terminator differs from the same line without one.
    let old: Vec<_> = (change.start.index()..)
        .zip(&change.old)
        .map(|(index, line)| (line, shape.old_open(index)))
        .collect();
    let new: Vec<_> =
        (new_start..).zip(&change.new).map(|(index, line)| (line, shape.new_open(index))).collect();
    capture_diff_slices(Algorithm::Myers, &old, &new)
}

fn shifted(range: &Range<usize>, by: u64) -> Range<u64> {
    by.saturating_add(range.start as u64)..by.saturating_add(range.end as u64)
}

fn write_hunk<E>(
    page: &mut BoundedText,
    shape: Shape,
    edits: &[Edit<'_>],
    context: &mut impl FnMut(LineRange) -> Result<Vec<String>, E>,
) -> Result<(), E> {
    let (Some(first), Some(last)) = (edits.first(), edits.last()) else { return Ok(()) };
    let above = first.old.start.min(CONTEXT);
    let below = shape.old_total.saturating_sub(last.old.end).min(CONTEXT);
    page.line(format_args!(
        "@@ -{} +{} @@",
        position(first.old.start - above..last.old.end + below),
        position(first.new.start.saturating_sub(above)..last.new.end + below),
    ));
    let mut shown = first.old.start - above;
    // Edits with no line between them are shown as one edit: first all removed lines, then all added lines.
    for group in edits.chunk_by(|above, below| above.old.end >= below.old.start) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        write_context(page, shape, shown..first.old.start, context)?;
        for edit in group {
            for (index, line) in (edit.old.start..).zip(edit.gone) {
                page.row('-', line, shape.old_open(index));
            }
        }
        for edit in group {
            for (index, line) in (edit.new.start..).zip(edit.come) {
                page.row('+', line, shape.new_open(index));
            }
        }
        shown = last.old.end;
    }
    write_context(page, shape, shown..last.old.end + below, context)
}

fn write_context<E>(
    page: &mut BoundedText,
    shape: Shape,
    lines: Range<u64>,
    context: &mut impl FnMut(LineRange) -> Result<Vec<String>, E>,
) -> Result<(), E> {
    let count = lines.end.saturating_sub(lines.start);
    let mut texts = Vec::new();
    if count > 0 && !page.is_full() {
        texts = context(LineRange::new(LineNumber::from_index(lines.start), count))?;
    }
    texts.resize(usize::try_from(count).unwrap_or_default(), String::new());
    for (index, line) in lines.zip(&texts) {
        page.row(' ', line, shape.old_open(index));
    }
    Ok(())
}

/// Writes a hunk's place as GNU diff does: `start,count`, without the count if it is 1. If the count is 0,
/// the start is the number of the line before the place.
pub(in crate::diff) fn position(lines: Range<u64>) -> String {
    match lines.end.saturating_sub(lines.start) {
        0 => format!("{},0", lines.start),
        1 => (lines.start + 1).to_string(),
        count => format!("{},{count}", lines.start + 1),
    }
}

/// Writes a path as GNU diff does in its header: in quotes and escaped if it would be misread otherwise.
pub(in crate::diff) fn quoted(path: &str) -> String {
    if !path.contains(|c: char| c.is_ascii_control() || matches!(c, ' ' | '"' | '\\')) {
        return path.to_owned();
    }
    let mut text = String::from('"');
    for c in path.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            c if c.is_ascii_control() => _ = write!(text, "\\{:03o}", u32::from(c)),
            c => text.push(c),
        }
    }
    text.push('"');
    text
}
