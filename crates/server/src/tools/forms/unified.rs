//! Unified diffs, as `diff -u` and git write them, and as models do, who count lines wrongly: `@@` begins a
//! hunk, whatever numbers stand there.

use super::hunks::{Fate, FileDiff, Hunk, Lines, bare};

/// The path that stands for no file.
const NOWHERE: &str = "/dev/null";

/// Reads such a text. Returns `None` for any other text.
pub(super) fn read(text: &str) -> Option<Vec<FileDiff<'_>>> {
    let all: Vec<&str> = text.split('\n').collect();
    let mut files: Vec<FileDiff<'_>> = Vec::new();
    let mut lines = Lines::default();
    let mut in_hunk = false;
    let mut number = None;
    let mut rest = all.as_slice();
    while let Some((line, after)) = rest.split_first() {
        rest = after;
        let said = bare(line);
        // Lines `--- x` and `+++ y` that are removed and added look like a header, but no hunk begins behind
        // them.
        let (file, behind) = match after {
            [next, behind @ ..] if behind.first().is_some_and(|third| third.starts_with("@@")) => {
                (header(said, bare(next)), behind)
            }
            _ => (None, after),
        };
        let begins = said == "@@" || said.starts_with("@@ ");
        if file.is_none() && !begins && !said.starts_with("diff --git ") {
            if in_hunk {
                lines.push(line);
            }
            continue;
        }
        if let (Some(hunk), Some(file)) = (lines.end(), files.last_mut()) {
            file.hunks.push(Hunk { line: number, ..hunk });
        }
        in_hunk = begins;
        number = first_line(said).filter(|_| begins);
        if file.is_some() {
            rest = behind;
        } else if begins && files.is_empty() {
            files.push(FileDiff::new(None, Fate::Changed));
        }
        files.extend(file);
    }
    let hunk = lines.end().map(|hunk| Hunk { line: number, ..hunk });
    files.last_mut()?.hunks.extend(hunk);
    files.iter().any(|file| !file.hunks.is_empty()).then_some(files)
}

/// Reads the number of the first old line behind `@@`.
fn first_line(header: &str) -> Option<u64> {
    let digits = header.strip_prefix("@@ -")?.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// Reads the two lines that name a file.
fn header<'t>(old: &'t str, new: &'t str) -> Option<FileDiff<'t>> {
    let name = |line: &'t str, lead: &str| Some(line.strip_prefix(lead)?.split('\t').next()?.trim());
    let (old, new) = (name(old, "--- ")?, name(new, "+++ ")?);
    let plain = |name: &'t str, lead: &str| {
        if name == NOWHERE { Some(None) } else { Some(Some(name.strip_prefix(lead)?)) }
    };
    let (old, new) = match (plain(old, "a/"), plain(new, "b/")) {
        (Some(old), Some(new)) => (old, new),
        _ => (Some(old).filter(|name| *name != NOWHERE), Some(new).filter(|name| *name != NOWHERE)),
    };
    let mut file = match (old, new) {
        (None, new) => FileDiff::new(new, Fate::Added),
        (old, None) => FileDiff::new(old, Fate::Removed),
        (old, _) => FileDiff::new(old, Fate::Changed),
    };
    file.moved_to = new.filter(|new| old.is_some_and(|old| old != *new));
    Some(file)
}
