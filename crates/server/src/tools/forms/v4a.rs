//! The notation of `apply_patch` (V4A): `*** Update File: PATH`, then `@@ PLACE` and lines behind `-`, `+` or
//! a blank.
//!
//! As Codex CLI describes it to its models. What stands behind `@@` is a line above the place; it tells equal
//! places apart.

use super::hunks::{Fate, FileDiff, Hunk, Lines, bare};

const UPDATE: &str = "*** Update File:";
const ADD: &str = "*** Add File:";
const DELETE: &str = "*** Delete File:";
const MOVE: &str = "*** Move to:";

/// Reads such a text. Returns `None` for any other text.
pub(super) fn read(text: &str) -> Option<Vec<FileDiff<'_>>> {
    let mut files: Vec<FileDiff<'_>> = Vec::new();
    let mut lines = Lines::default();
    let mut headers = Vec::new();
    for line in text.split('\n') {
        let said = bare(line);
        let path = |lead: &str| Some(said.strip_prefix(lead)?.trim());
        let begun = path(UPDATE)
            .map(|path| (path, Fate::Changed))
            .or_else(|| Some((path(ADD)?, Fate::Added)))
            .or_else(|| Some((path(DELETE)?, Fate::Removed)));
        if begun.is_none() && !said.starts_with("*** ") && !is_place(said) {
            lines.push(line);
            continue;
        }
        let hunk = lines.end().map(|hunk| Hunk { headers: std::mem::take(&mut headers), ..hunk });
        if let Some(file) = files.last_mut() {
            file.hunks.extend(hunk);
            if let Some(path) = path(MOVE) {
                file.moved_to = Some(path);
            }
        }
        match said.strip_prefix("@@") {
            Some(header) => {
                headers.extend(Some(header.trim().to_owned()).filter(|header| !header.is_empty()));
            }
            None => headers.clear(),
        }
        files.extend(begun.map(|(path, fate)| FileDiff::new(Some(path), fate)));
    }
    let hunk = lines.end().map(|hunk| Hunk { headers, ..hunk });
    files.last_mut()?.hunks.extend(hunk);
    Some(files)
}

fn is_place(line: &str) -> bool {
    line == "@@" || line.starts_with("@@ ")
}
