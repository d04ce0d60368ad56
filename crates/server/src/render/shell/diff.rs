//! Shows a unified diff in colours.

use std::fmt::Write as _;

use anstyle::Style;

use super::{ADDED, DIM, PLACE, REMOVED};
use crate::render::escape::on_lines;

/// Appends the changes of a diff without its head, whose path was shown before.
pub(super) fn changes(diff: &str, out: &mut String) {
    for line in without_head(diff) {
        let style = match line.as_bytes().first() {
            Some(b'@') => PLACE,
            Some(b'+') => ADDED,
            Some(b'-') => REMOVED,
            // A note, not a line of the file: the line above has no line end (`\`), or lines are left out
            // (`…`).
            Some(b'\\' | 0xe2) => DIM,
            _ => Style::new(),
        };
        let _ = writeln!(out, "{style}{}{style:#}", on_lines(line));
    }
}

/// Returns the lines of a diff from the first hunk on.
pub(super) fn without_head(diff: &str) -> impl Iterator<Item = &str> {
    let is_head = |line: &&str| ["--- ", "+++ ", "rename "].iter().any(|lead| line.starts_with(lead));
    diff.lines().skip_while(is_head)
}
