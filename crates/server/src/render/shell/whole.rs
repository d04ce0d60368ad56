//! Writes the whole diff of a file, for a file whose diff in the history is cut.

use std::fmt::Write as _;

use mcp_text_editor_core::diff::{DiffHunk, Hunks, RowEnd, RowSide};
use mcp_text_editor_store::EntryFile;

use super::diff::without_head;
use super::stat::Counts;

/// Tells whether the diff of a file in the history is cut.
pub(crate) fn is_cut(file: &EntryFile) -> bool {
    !Counts::of(&file.diff).is_whole
}

/// Returns the whole diff of a file, with the head of the diff in the history.
pub(crate) fn diff(file: &EntryFile, hunks: &Hunks) -> String {
    let body = without_head(&file.diff).next().map_or("", |first| {
        let at = first.as_ptr().addr() - file.diff.as_ptr().addr();
        file.diff.get(at..).unwrap_or_default()
    });
    let mut out = file.diff.strip_suffix(body).unwrap_or_default().to_owned();
    for hunk in &hunks.hunks {
        write_hunk(hunk, &mut out);
    }
    out
}

/// Writes a hunk as GNU diff does.
fn write_hunk(hunk: &DiffHunk, out: &mut String) {
    let count = |without: RowSide| hunk.rows.iter().filter(|row| row.side != without).count();
    let (old, new) = (count(RowSide::New), count(RowSide::Old));
    // For a side without lines, GNU diff writes the number of the line above.
    let start = |start: u64, lines| if lines == 0 { start.saturating_sub(1) } else { start };
    let _ =
        writeln!(out, "@@ -{},{old} +{},{new} @@", start(hunk.old_start, old), start(hunk.new_start, new));
    for row in &hunk.rows {
        let sign = match row.side {
            RowSide::Both => ' ',
            RowSide::Old => '-',
            RowSide::New => '+',
        };
        let _ = writeln!(out, "{sign}{}", row.text);
        if row.end == RowEnd::None {
            out.push_str("\\ No newline at end of file\n");
        }
    }
}
