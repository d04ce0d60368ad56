//! Past edits as a line each.

use std::fmt::Write as _;

use mcp_text_editor_store::{ChangeKind, Entry};

use super::diff::without_head;
use super::screen::Screen;
use super::stat::{Counts, hunk, name, sum};
use super::style::{ID, STRONG};
use super::width::{columns, from_its_end};
use crate::render::escape::on_one_line;
use crate::render::history::{HistoryRow, rows};

/// The width of the column of numbers of lines.
const LINES: usize = 8;

/// The most characters of a client's name.
const CLIENT: usize = 20;

/// The columns that are left to a name on a narrow screen.
const NARROWEST_NAME: usize = 12;

/// Shows an edit on a line: its id, its time, how many lines came and went, its first file with the first
/// line that changed, and who made it.
pub(crate) fn line(entry: &Entry, screen: &Screen) -> String {
    let rows = rows(entry);
    let counts = sum(rows.iter().map(|row| Counts::of(&row.file.diff)));
    let mut files = rows.first().map(|row| name(row, screen)).unwrap_or_default();
    let is_changed = |row: &&HistoryRow<'_>| row.file.kind == ChangeKind::Changed;
    if let Some(changed) = rows.first().filter(is_changed).and_then(|row| first_changed(&row.file.diff)) {
        let _ = write!(files, ":{changed}");
    }
    let more = if rows.len() > 1 { format!(" and {} more", rows.len() - 1) } else { String::new() };
    let maker: String = entry.client.as_ref().unwrap_or(&entry.tool).chars().take(CLIENT).collect();
    let mut end = format!("{more}  {}", on_one_line(&maker));
    if entry.undone_by.is_some() {
        end.push_str(" (undone)");
    } else if let Some(undoes) = &entry.undoes {
        let _ = write!(end, " (undoes {undoes})");
    }
    let lines = counts.words();
    let wide = columns(&anstream::adapter::strip_str(&lines).to_string());
    let before = format!(
        "{ID}{}{ID:#}  {}  {lines}{}  ",
        entry.id,
        screen.short_time(entry.time),
        " ".repeat(LINES.saturating_sub(wide))
    );
    let taken = columns(&anstream::adapter::strip_str(&before).to_string()) + columns(&end);
    if let Some(width) = screen.width {
        files = from_its_end(&files, width.saturating_sub(taken).max(NARROWEST_NAME));
    }
    format!("{before}{STRONG}{files}{STRONG:#}{end}\n")
}

/// Returns the number of the first new line that a diff adds, or before which it removes lines.
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
