//! Past edits as a line each.

use std::fmt::Write as _;

use mcp_text_editor_store::{ChangeKind, Entry};

use super::diff::without_head;
use super::screen::Screen;
use super::stat::{Counts, name, sum};
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
    let lines = anstream::adapter::strip_str(&counts.words()).to_string();
    let before = format!("{}  {}  ", entry.id, screen.short_time(entry.time));
    let taken = columns(&before) + lines.len().max(LINES) + 2 + columns(&end);
    if let Some(width) = screen.width {
        files = from_its_end(&files, width.saturating_sub(taken).max(NARROWEST_NAME));
    }
    let room = " ".repeat(LINES.saturating_sub(lines.len()));
    format!(
        "{ID}{}{ID:#}  {}  {}{room}  {STRONG}{files}{STRONG:#}{end}\n",
        entry.id,
        screen.short_time(entry.time),
        counts.words()
    )
}

/// Returns the number of the first new line that a diff adds, or before which it removes lines.
fn first_changed(diff: &str) -> Option<u64> {
    let mut lines = without_head(diff);
    let head = lines.find(|line| line.starts_with("@@"))?;
    let start: u64 = head.split(['+', ',', ' ']).nth(if head.contains(',') { 4 } else { 3 })?.parse().ok()?;
    let context = lines.take_while(|line| line.starts_with(' ')).count();
    Some(start + context as u64)
}
