//! Shows each past edit on one line.

use std::fmt::Write as _;

use mcp_text_editor_store::{ChangeKind, Entry};

use super::diff::without_head;
use super::screen::Screen;
use super::stat::{Counts, hunk, name, sum};
use super::style::{ID, STRONG};
use super::width::{columns, from_its_end};
use crate::render::escape::on_one_line;
use crate::render::history::{HistoryRow, rows};

/// The width of the column that counts added and removed lines.
const COUNTS_WIDTH: usize = 8;

/// The maximum number of characters of a client's name.
const MAX_CLIENT: usize = 20;

/// The minimum width of a file's name, even if the screen is too narrow for that.
const MIN_NAME: usize = 12;

/// Shows an edit on one line: its id, its time, the counts of added and removed lines, its first file with
/// the first changed line, and its client.
pub(crate) fn line(entry: &Entry, screen: &Screen) -> String {
    let rows = rows(entry);
    let counts = sum(rows.iter().map(|row| Counts::of(&row.file.diff)));
    let mut files = rows.first().map(|row| name(row, screen)).unwrap_or_default();
    if let Some(changed) = rows.first().and_then(changed_line) {
        let _ = write!(files, ":{changed}");
    }
    let more = if rows.len() > 1 { format!(" and {} more", rows.len() - 1) } else { String::new() };
    let client: String = entry.client.as_ref().unwrap_or(&entry.tool).chars().take(MAX_CLIENT).collect();
    let mut end = format!("{more}  {}", on_one_line(&client));
    if entry.undone_by.is_some() {
        end.push_str(" (undone)");
    } else if let Some(undoes) = &entry.undoes {
        let _ = write!(end, " (undoes {undoes})");
    }
    let counts = counts.words();
    let counts_width = columns(&anstream::adapter::strip_str(&counts).to_string());
    let start = format!(
        "{ID}{}{ID:#}  {}  {counts}{}  ",
        entry.id,
        screen.short_time(entry.time),
        " ".repeat(COUNTS_WIDTH.saturating_sub(counts_width))
    );
    let other_columns = columns(&anstream::adapter::strip_str(&start).to_string()) + columns(&end);
    if let Some(width) = screen.width {
        files = from_its_end(&files, width.saturating_sub(other_columns).max(MIN_NAME));
    }
    format!("{start}{STRONG}{files}{STRONG:#}{end}\n")
}

/// Returns the first changed line of a file that was changed, and not created, removed or moved.
pub(crate) fn changed_line(row: &HistoryRow<'_>) -> Option<u64> {
    if row.file.kind == ChangeKind::Changed { first_changed(&row.file.diff) } else { None }
}

/// Returns the number of the first changed line in the new text. If lines were only removed, it is the number
/// of the line after them.
fn first_changed(diff: &str) -> Option<u64> {
    let mut lines = without_head(diff);
    let [_, (start, _)] = lines.find_map(hunk)?;
    let context = lines.take_while(|line| line.starts_with(' ')).count();
    Some(start + context as u64)
}

#[cfg(test)]
mod tests {
    use super::first_changed;

    #[test]
    fn the_first_changed_line_is_that_of_the_new_text() {
        for (hunk, line) in [
            ("@@ -1 +1 @@\n-a\n+b\n", 1),
            ("@@ -4 +4,2 @@\n-a\n+b\n+c\n", 4),
            ("@@ -4,2 +9 @@\n-a\n-b\n+c\n", 9),
            ("@@ -2,3 +2,3 @@\n a\n-b\n+c\n d\n", 3),
        ] {
            assert_eq!(first_changed(&format!("--- a\n+++ b\n{hunk}")), Some(line), "{hunk}");
        }
        assert_eq!(first_changed("rename from a\nrename to b\n"), None);
    }
}
