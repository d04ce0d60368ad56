//! Shows past edits with counts of lines, like `git log --stat`, or on one line each. Also writes the whole
//! diff of a file whose diff in the history is cut.

use std::fmt::Write as _;

use mcp_text_editor_core::diff::{DiffHunk, Hunks, RowEnd, RowSide};
use mcp_text_editor_store::{ChangeKind, Entry, EntryFile};

use super::diff::without_head;
use super::edits::head;
use super::{ADDED, DIM, ID, REMOVED, STRONG, Screen, columns, from_its_end, padded};
use crate::render::escape::on_one_line;
use crate::render::history::{HistoryRow, rows};

/// The width of the output without a terminal.
const DEFAULT_WIDTH: usize = 80;

/// The minimum width of the layout. A narrower terminal wraps the lines.
const MIN_WIDTH: usize = 24;

/// The counts of lines that a diff adds and removes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Counts {
    pub(crate) added: u64,
    pub(crate) removed: u64,
    /// Whether the diff is whole. If it was cut, the real counts are higher.
    pub(crate) is_whole: bool,
}

impl Counts {
    /// Counts the lines of a diff from the history, which may be cut short.
    pub(crate) fn of(diff: &str) -> Self {
        let mut counts = Self { is_whole: true, ..Self::default() };
        // The numbers of lines of the two sides that must still follow, according to the head of the hunk.
        let (mut old, mut new) = (0_u64, 0_u64);
        for line in without_head(diff) {
            match line.as_bytes().first() {
                Some(b'@') => {
                    counts.is_whole &= (old, new) == (0, 0);
                    [(_, old), (_, new)] = hunk(line).unwrap_or_default();
                }
                Some(b'+') => {
                    counts.added += 1;
                    new = new.saturating_sub(1);
                }
                Some(b'-') => {
                    counts.removed += 1;
                    old = old.saturating_sub(1);
                }
                Some(b' ') => (old, new) = (old.saturating_sub(1), new.saturating_sub(1)),
                // `\ No newline at end of file`
                Some(b'\\') => {}
                _ => counts.is_whole = false,
            }
        }
        counts.is_whole &= (old, new) == (0, 0);
        counts
    }

    fn and(self, other: Self) -> Self {
        Self {
            added: self.added + other.added,
            removed: self.removed + other.removed,
            is_whole: self.is_whole && other.is_whole,
        }
    }

    fn sum(self) -> u64 {
        self.added + self.removed
    }

    pub(super) fn words(self) -> String {
        let more = if self.is_whole { "" } else { " and more" };
        format!("{ADDED}+{}{ADDED:#} {REMOVED}-{}{REMOVED:#}{DIM}{more}{DIM:#}", self.added, self.removed)
    }
}

/// Parses the head of a hunk, `@@ -1,3 +1,4 @@`. Returns the number of the first line, and the count of
/// lines, for each side.
pub(super) fn hunk(head: &str) -> Option<[(u64, u64); 2]> {
    let mut words = head.strip_prefix("@@ ")?.split(' ');
    let mut side = |sign| {
        let place = words.next()?.strip_prefix(sign)?;
        let (start, count) = place.split_once(',').unwrap_or((place, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    Some([side('-')?, side('+')?])
}

/// Adds the counts of several files.
pub(crate) fn sum(counts: impl Iterator<Item = Counts>) -> Counts {
    counts.fold(Counts { is_whole: true, ..Counts::default() }, Counts::and)
}

/// Returns the path of a file, with a note if the file was moved, created, removed or displaced.
pub(super) fn name(row: &HistoryRow<'_>, screen: &Screen) -> String {
    let path = screen.path(&row.file.path);
    match (row.from, row.file.kind) {
        (Some(from), _) => format!("{} => {path}", screen.path(&from.path)),
        (None, ChangeKind::Created) => format!("{path} (new)"),
        (None, ChangeKind::Removed) => format!("{path} (gone)"),
        (None, ChangeKind::Displaced) => format!("{path} (displaced)"),
        (None, ChangeKind::Changed) => path,
    }
}

/// Shows an edit: its head, each file with its counts, and the sum of the counts.
pub(crate) fn edit(entry: &Entry, screen: &Screen) -> String {
    let mut out = head(entry, screen);
    let files: Vec<(String, Counts)> =
        rows(entry).iter().map(|row| (name(row, screen), Counts::of(&row.file.diff))).collect();
    let layout = Layout::of(&files, screen.width.unwrap_or(DEFAULT_WIDTH).max(MIN_WIDTH));
    for (name, counts) in &files {
        let name = padded(&from_its_end(name, layout.name), layout.name);
        let [added, removed] = [format!("+{}", counts.added), format!("-{}", counts.removed)];
        let (plus, minus) = layout.bar(*counts);
        let more = if counts.is_whole { "" } else { " and more" };
        let before_bar = if plus + minus > 0 { " " } else { "" };
        let _ = writeln!(
            out,
            " {name} | {ADDED}{added:>wide_added$}{ADDED:#} {REMOVED}{removed:>wide_removed$}{REMOVED:#}{before_bar}\
             {ADDED}{}{ADDED:#}{REMOVED}{}{REMOVED:#}{DIM}{more}{DIM:#}",
            "+".repeat(plus),
            "-".repeat(minus),
            wide_added = layout.added,
            wide_removed = layout.removed,
        );
    }
    if files.len() > 1 {
        let _ =
            writeln!(out, " {} files, {}", files.len(), sum(files.iter().map(|(_, counts)| *counts)).words());
    }
    out.push('\n');
    out
}

/// The width of each column, for the files of an edit.
#[derive(Debug)]
struct Layout {
    name: usize,
    added: usize,
    removed: usize,
    bar: usize,
    /// The maximum number of lines that one of the files changes.
    max_lines: u64,
}

impl Layout {
    fn of(files: &[(String, Counts)], width: usize) -> Self {
        let max_lines = files.iter().map(|(_, counts)| counts.sum()).max().unwrap_or(0);
        let digits = |number: u64| number.to_string().len() + 1;
        let added = files.iter().map(|(_, counts)| digits(counts.added)).max().unwrap_or(2);
        let removed = files.iter().map(|(_, counts)| digits(counts.removed)).max().unwrap_or(2);
        let name = files.iter().map(|(name, _)| columns(name)).max().unwrap_or(0);
        let more = if files.iter().all(|(_, counts)| counts.is_whole) { 0 } else { " and more".len() };
        // A space, ` | `, and a space before and after the second number.
        let capacity = width.saturating_sub(added + removed + 6 + more);
        let wanted = usize::try_from(max_lines).unwrap_or(usize::MAX);
        // The bar gets the columns that the names leave. If it needs more, it gets at least three eighths of
        // all columns.
        let bar = capacity.saturating_sub(name).max(capacity * 3 / 8).min(wanted);
        Self { name: name.min(capacity - bar), added, removed, bar, max_lines }
    }

    /// Returns the numbers of `+` and `-` in the bar of a file. A count that is not 0 gets at least one sign,
    /// if both fit.
    fn bar(&self, counts: Counts) -> (usize, usize) {
        if counts.sum() <= self.bar as u64 && self.max_lines <= self.bar as u64 {
            let signs = |lines: u64| usize::try_from(lines).unwrap_or(usize::MAX);
            return (signs(counts.added), signs(counts.removed));
        }
        let scaled = |lines: u64| -> usize {
            let share = u128::from(lines) * self.bar as u128 / u128::from(self.max_lines.max(1));
            usize::try_from(share).unwrap_or(usize::MAX).max(usize::from(lines > 0))
        };
        let (plus, minus) = (scaled(counts.added), scaled(counts.removed));
        if plus > minus {
            (plus.min(self.bar.saturating_sub(minus)), minus)
        } else {
            (plus, minus.min(self.bar.saturating_sub(plus)))
        }
    }
}

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
