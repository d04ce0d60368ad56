//! A unified diff, applied to the old text, gives the new text; one that is cut says how much is missing.

use std::convert::Infallible;

use mcp_text_editor_core::diff::{DiffFile, LineChange, unified};
use mcp_text_editor_core::line::LineNumber;

use crate::input::Input;

const OPEN: &str = "\\ No newline at end of file";

/// A text of lines, and whether the last one lacks its terminator.
struct Text {
    lines: Vec<String>,
    open: bool,
}

/// Takes the first text for the old one; the others replace lines of it.
pub fn check(data: &[u8]) {
    let mut input = Input::new(data);
    let (old_open, new_open) = (input.flag(), input.flag());
    let limit = input.below(400);
    let mut cuts: Vec<(usize, usize)> =
        (0..input.below(8)).map(|_| (input.below(14), input.below(6))).collect();
    cuts.reverse();
    let mut texts = input.all_texts().into_iter();
    let old = Text { lines: lines(&texts.next().unwrap_or_default()), open: old_open };

    let (mut changes, mut new, mut at) = (Vec::new(), Vec::new(), 0);
    for (skip, take) in cuts {
        let start = (at + skip).min(old.lines.len());
        let end = (start + take).min(old.lines.len());
        let come = lines(&texts.next().unwrap_or_default());
        new.extend_from_slice(&old.lines[at..start]);
        new.extend_from_slice(&come);
        let gone = old.lines[start..end].to_vec();
        changes.push(LineChange { start: LineNumber::from_index(start as u64), old: gone, new: come });
        at = end;
    }
    new.extend_from_slice(&old.lines[at..]);
    let new = Text { lines: new, open: new_open };
    // A last line that is empty and has no terminator is no line.
    if [&old, &new].into_iter().any(|text| text.open && text.lines.last().is_some_and(String::is_empty)) {
        return;
    }

    let whole = diff(&old, &new, &changes, usize::MAX);
    let made = patched(&old, &whole);
    assert_eq!(made.lines, new.lines, "{whole}");
    assert_eq!(made.open && !made.lines.is_empty(), new.open && !new.lines.is_empty(), "{whole}");

    let cut = diff(&old, &new, &changes, limit);
    if cut == whole {
        return;
    }
    let kept =
        whole.split_inclusive('\n').zip(cut.split_inclusive('\n')).take_while(|(one, other)| one == other);
    let kept: Vec<&str> = kept.map(|(line, _)| line).collect();
    let shown: usize = kept.iter().map(|line| line.len()).sum();
    assert!(shown <= limit);
    let hidden = whole.split_inclusive('\n').count() - kept.len();
    let plural = if hidden == 1 { "" } else { "s" };
    assert_eq!(&cut[shown..], format!("… {hidden} more line{plural}\n"));
}

fn lines(text: &str) -> Vec<String> {
    text.split_terminator('\n').map(str::to_owned).collect()
}

fn diff(old: &Text, new: &Text, changes: &[LineChange], limit: usize) -> String {
    let side = |path, text: &Text| DiffFile { path, unterminated: text.open };
    let Ok(text) = unified(side("a", old), side("b", new), old.lines.len() as u64, changes, limit, |range| {
        let (start, end) = (range.start().index() as usize, range.end() as usize);
        assert!(start < end && end <= old.lines.len(), "lines {range:?} are asked for");
        Ok::<_, Infallible>(old.lines[start..end].to_vec())
    });
    text
}

/// Applies a diff by its format alone: headers must count what follows, and every old line be what it says.
fn patched(old: &Text, diff: &str) -> Text {
    if diff.is_empty() {
        return Text { lines: old.lines.clone(), open: old.open };
    }
    let mut rows = diff.strip_suffix('\n').expect("ends in a line end").split('\n').peekable();
    assert_eq!((rows.next(), rows.next()), (Some("--- a"), Some("+++ b")));
    let mut new: Vec<String> = Vec::new();
    let (mut at, mut open) = (0, None);
    while let Some(header) = rows.next() {
        let ranges = header.strip_prefix("@@ -").and_then(|rest| rest.strip_suffix(" @@"));
        let (from, to) =
            ranges.and_then(|ranges| ranges.split_once(" +")).unwrap_or_else(|| panic!("no header: {diff}"));
        let ((old_start, mut old_left), (new_start, mut new_left)) = (range(from), range(to));
        assert!(
            at <= old_start && (at < old_start || at == 0 || new.is_empty()),
            "hunks that touch are one: {diff}"
        );
        new.extend_from_slice(&old.lines[at..old_start]);
        at = old_start;
        assert_eq!(new.len(), new_start, "{diff}");
        let mut changed = false;
        while old_left + new_left > 0 {
            let row = rows.next().expect("as many rows as the header says");
            let (sign, text) = row.split_at(1);
            let marked = rows.next_if_eq(&OPEN).is_some();
            changed |= sign != " ";
            assert!(matches!(sign, " " | "-" | "+"), "{diff}");
            if sign != "+" {
                assert_eq!(old.lines[at], text, "{diff}");
                at += 1;
                old_left -= 1;
                assert_eq!(marked, old.open && at == old.lines.len(), "{diff}");
            }
            if sign != "-" {
                new.push(text.to_owned());
                new_left -= 1;
                assert_ne!(open, Some(true), "a line after the last: {diff}");
                open = Some(marked);
            }
        }
        assert!(changed, "{diff}");
    }
    let rest = &old.lines[at..];
    if !rest.is_empty() {
        assert_ne!(open, Some(true), "a line after the last: {diff}");
        new.extend_from_slice(rest);
        open = None;
    }
    Text { lines: new, open: open.unwrap_or(old.open) }
}

/// Returns the first line, counted from 0, and how many.
fn range(text: &str) -> (usize, usize) {
    let number = |text: &str| text.parse::<usize>().unwrap_or_else(|_| panic!("no number: {text:?}"));
    let (start, count) = match text.split_once(',') {
        Some((start, count)) => (number(start), number(count)),
        None => (number(text), 1),
    };
    (if count == 0 { start } else { start - 1 }, count)
}
