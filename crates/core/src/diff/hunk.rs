//! A diff as data: [`Hunks`], for callers that do not show it as text.
//!
//! Reads the hunks of a unified diff that this crate has written. Of any other text, it reads as much as it
//! can.

use crate::line_ending::LineEnding;

/// The hunks of a diff.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Hunks {
    /// The hunks, in file order.
    pub hunks: Vec<DiffHunk>,
    /// Whether lines of the diff are left out.
    pub is_cut: bool,
    /// The numbers of added and removed lines of the whole diff, also of lines that `hunks` leaves out;
    /// `None` if unknown.
    pub counts: Option<LineCounts>,
}

/// The numbers of lines that a change added and removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LineCounts {
    /// The number of lines of the new file that are not in the old file.
    pub added: u64,
    /// The number of lines of the old file that are not in the new file.
    pub removed: u64,
}

/// Changed lines, with unchanged context lines before and after them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DiffHunk {
    /// The number of the first old line in the old file, from 1. If the hunk has no old lines, the number of
    /// the line after the insertion point.
    pub old_start: u64,
    /// The same for the new lines in the new file.
    pub new_start: u64,
    /// The lines.
    pub rows: Vec<DiffRow>,
}

/// A line of a hunk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DiffRow {
    /// The file that has the line.
    pub side: RowSide,
    /// Its text, without its line end.
    pub text: String,
    /// The end of the line.
    pub end: RowEnd,
    /// Whether `text` is only a part of the line's text.
    pub is_cut: bool,
}

/// The file that has a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowSide {
    /// Both files.
    Both,
    /// Only the old file.
    Old,
    /// Only the new file.
    New,
}

/// The end of a line.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RowEnd {
    /// The line ends with a terminator, but it is unknown with which one.
    Some,
    /// The line ends with this terminator.
    With(LineEnding),
    /// The line ends with the file, without a terminator.
    None,
}

/// Reads the hunks of a diff that [`unified`](fn@super::unified) or [`between`](fn@super::between) has
/// written; text above the first hunk is skipped. A line that was cut is reported as whole, because the diff
/// does not show the cut. Takes linear time, and never fails.
#[must_use]
pub fn read(diff: &str) -> Hunks {
    let mut out = Hunks::default();
    // The number of lines of each side that are left in the hunk.
    let (mut old, mut new) = (0_u64, 0_u64);
    for line in diff.split_terminator('\n') {
        if let Some(header) = line.strip_prefix("@@ ").filter(|_| (old, new) == (0, 0)) {
            let Some((of_old, of_new)) = header_of(header) else { continue };
            (old, new) = (of_old.1, of_new.1);
            out.hunks.push(DiffHunk { old_start: of_old.0, new_start: of_new.0, rows: Vec::new() });
            continue;
        }
        let Some(hunk) = out.hunks.last_mut() else { continue };
        if line.starts_with('\\') {
            if let Some(row) = hunk.rows.last_mut() {
                row.end = RowEnd::None;
            }
            continue;
        }
        let mut signs = line.chars();
        let side = match signs.next() {
            Some(' ') => RowSide::Both,
            Some('-') => RowSide::Old,
            Some('+') => RowSide::New,
            // The line that has the number of omitted lines.
            _ => {
                out.is_cut = true;
                continue;
            }
        };
        old = old.saturating_sub(u64::from(side != RowSide::New));
        new = new.saturating_sub(u64::from(side != RowSide::Old));
        hunk.rows.push(DiffRow { side, text: signs.as_str().to_owned(), end: RowEnd::Some, is_cut: false });
    }
    out.is_cut |= (old, new) != (0, 0) || out.hunks.iter().any(|hunk| hunk.rows.is_empty());
    if !out.is_cut {
        let rows = || out.hunks.iter().flat_map(|hunk| &hunk.rows);
        let count = |side| rows().filter(|row| row.side == side).count() as u64;
        out.counts = Some(LineCounts { added: count(RowSide::New), removed: count(RowSide::Old) });
    }
    out
}

/// Reads `-1,3 +1,4 @@`: where each side begins, and how many lines it has.
fn header_of(header: &str) -> Option<((u64, u64), (u64, u64))> {
    let mut words = header.split(' ');
    let mut side = |sign| {
        let word: &str = words.next()?.strip_prefix(sign)?;
        let (start, count) = word.split_once(',').unwrap_or((word, "1"));
        let (start, count): (u64, u64) = (start.parse().ok()?, count.parse().ok()?);
        // For a side without lines, the header has the number of the line above.
        Some((start.saturating_add(u64::from(count == 0)), count))
    };
    Some((side('-')?, side('+')?))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;
    use crate::diff::{DiffFile, LineChange, unified};
    use crate::line::{LineNumber, LineRange};

    #[test]
    fn what_was_cut_is_told() {
        let cut = |diff: &str| read(diff).is_cut;
        assert!(!cut(""));
        assert!(!cut("rename from /a\nrename to /b\n"));
        assert!(!cut("--- /a\n+++ /a\n@@ -1 +1 @@\n-a\n+b\n"));
        assert!(cut("--- /a\n+++ /a\n@@ -1 +1 @@\n-a\n"));
        assert!(cut("--- /a\n+++ /a\n@@ -1 +1 @@\n-a\n… 1 more line\n"));
        assert!(cut("--- /a\n+++ /a\n@@ -1,60000 +1,60000 @@\n"));
    }

    #[test]
    fn a_missing_line_end_above_all_rows_is_passed_over() {
        let [header, rows] = ["@@ -1 +1 @@\n", "-a\n+b\n"];
        let missing = "\\ No newline at end of file\n";
        assert_eq!(read(&[header, missing, rows].concat()), read(&[header, rows].concat()));
        assert_ne!(read(&[header, rows, missing].concat()), read(&[header, rows].concat()));
    }

    proptest! {
        #[test]
        fn a_diff_is_read_as_it_was_written(
            old in prop::collection::vec("[-+@ a\\\\]{0,3}", 0..30),
            new in prop::collection::vec("[-+@ a\\\\]{0,3}", 0..8),
            at in 0..30_usize, gone in 0..8_usize, open: (bool, bool),
        ) {
            let at = at.min(old.len());
            let gone = gone.min(old.len() - at);
            let start = LineNumber::from_index(at as u64);
            let change = LineChange { start, old: old[at..at + gone].to_vec(), new: new.clone() };
            let context = |lines: LineRange| {
                let from = usize::try_from(lines.start().index()).unwrap();
                Ok::<_, Infallible>(old[from..from + usize::try_from(lines.count()).unwrap()].to_vec())
            };
            let side = |unterminated| DiffFile { path: "/a", unterminated };
            let text = unified(side(open.0), side(open.1), old.len() as u64, &[change], 40_000, context).unwrap();
            let read = read(&text);
            prop_assert!(!read.is_cut);
            let mut made: Vec<String> = Vec::new();
            let mut from = 0;
            let expected: Vec<String> = [&old[..at], &new, &old[at + gone..]].concat();
            for hunk in &read.hunks {
                let start = usize::try_from(hunk.old_start - 1).unwrap();
                made.extend_from_slice(&old[from..start]);
                prop_assert_eq!(hunk.new_start, made.len() as u64 + 1);
                from = start;
                for row in &hunk.rows {
                    if row.side != RowSide::New {
                        prop_assert_eq!(&old[from], &row.text);
                        from += 1;
                    }
                    if row.side != RowSide::Old {
                        made.push(row.text.clone());
                    }
                }
            }
            made.extend_from_slice(&old[from..]);
            prop_assert_eq!(made, expected);
        }

        #[test]
        fn any_text_is_read(text in "[-+@ 0-9,\\\\…a\n]{0,60}") {
            let _ = read(&text);
        }
    }
}
