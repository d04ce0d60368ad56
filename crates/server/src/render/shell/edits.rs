//! Shows past edits as diffs.

use std::fmt::Write as _;
use std::path::Path;

use anstyle::Style;
use mcp_text_editor_store::{ChangeKind, Entry, EntryFile};

use super::diff::changes;
use super::{DIM, ID, STRONG, Screen, columns};
use crate::render::escape::on_one_line;
use crate::render::history::{HistoryRow, kind, rows};

/// Shows an edit: its head, and each of its files with the changes.
pub(crate) fn edit(entry: &Entry, screen: &Screen) -> String {
    let mut out = head(entry, screen);
    let id = &entry.id;
    for HistoryRow { from, file } in rows(entry) {
        let _ = match from {
            Some(from) => writeln!(out, "{STRONG}moved {} to {}{STRONG:#}", path(from), path(file)),
            None => writeln!(out, "{STRONG}{} {}{STRONG:#}", kind(file.kind), path(file)),
        };
        if file.kind == ChangeKind::Displaced {
            let _ = writeln!(
                out,
                "{DIM}An edit was cut off, and another program wrote to this file meanwhile. The bytes that it held \
                 before:\nmcp-text-editor history --contents {id}{DIM:#}"
            );
        }
        changes(&file.diff, &mut out);
    }
    out.push('\n');
    out
}

/// Shows as much of an edit as fits on the screen together with a question.
pub(crate) fn on_screen(entry: &Entry, screen: &Screen) -> String {
    let text = edit(entry, screen);
    let Some(height) = screen.height else { return text };
    let width = screen.width.unwrap_or(usize::MAX);
    let mut left = height.saturating_sub(4);
    let mut shown = 0;
    for line in text.split_inclusive('\n') {
        let high = columns(anstream::adapter::strip_str(line).to_string().trim_end()).div_ceil(width).max(1);
        let Some(rest) = left.checked_sub(high) else {
            let more = text[shown..].lines().count();
            return format!(
                "{}{DIM}… {more} more lines: mcp-text-editor history show {}{DIM:#}\n",
                &text[..shown],
                entry.id
            );
        };
        (left, shown) = (rest, shown + line.len());
    }
    text
}

/// Returns the head of an edit, on as many lines as the width of the terminal requires.
pub(super) fn head(entry: &Entry, screen: &Screen) -> String {
    let plain = Style::new();
    let mut parts = vec![
        (ID, format!("edit {}", entry.id)),
        (plain, screen.time(entry.time)),
        (plain, on_one_line(&entry.tool)),
    ];
    parts.extend(entry.client.iter().map(|client| (plain, format!("by {}", on_one_line(client)))));
    parts.extend(entry.undoes.iter().map(|undoes| (ID, format!("undoes {undoes}"))));
    parts.extend(entry.undone_by.iter().map(|by| (ID, format!("undone by {by}"))));
    let (mut out, mut taken) = (String::new(), 0);
    for (index, (style, text)) in parts.iter().enumerate() {
        let wide = columns(text);
        if index > 0 {
            let fits = screen.width.is_none_or(|width| taken + 2 + wide <= width);
            out.push_str(if fits { "  " } else { "\n     " });
            taken = if fits { taken + 2 } else { 5 };
        }
        let _ = write!(out, "{style}{text}{style:#}");
        taken += wide;
    }
    out.push('\n');
    out
}

/// Says that no edits were found.
pub(crate) fn none(selected: Option<&Path>, is_filtered: bool) -> String {
    let filtered = if is_filtered { " like that" } else { "" };
    match selected {
        Some(path) => format!("no edits{filtered} of {} are kept\n", on_one_line(&path.to_string_lossy())),
        None => format!("no edits{filtered} are kept\n"),
    }
}

/// Says that there are more edits than the shown ones.
pub(crate) fn more(shown: usize) -> String {
    format!("{DIM}the newest {shown}; --newest shows more{DIM:#}\n")
}

/// Returns the path of a file, escaped for a terminal.
pub(super) fn path(file: &EntryFile) -> String {
    on_one_line(&file.path.to_string_lossy())
}
