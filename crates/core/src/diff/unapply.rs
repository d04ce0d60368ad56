//! Undoes a diff in a file that has changed since: [`unapplied`].

use crate::diff::hunk::{DiffHunk, Hunks, RowEnd, RowSide};
use crate::line::LineNumber;
use crate::line_ending::LineEnding;
use crate::lines::ScannedLine;
use crate::scan::Scanned;
use crate::splice::{Splice, SpliceSet};

/// The minimum number of context lines above and below the changes of a hunk. Fewer are enough where the file
/// begins or ends.
const CONTEXT: usize = 3;
/// The maximum bytes of a file in which a diff is undone.
const MAX_BYTES: usize = 16 << 20;
/// The maximum number of lines of such a file.
const MAX_LINES: u64 = 128 << 10;
/// The maximum number of rows of a hunk.
const MAX_ROWS: usize = 2_000;

/// Returns the splices that undo a diff in a file that another program has changed since. `undo` are the
/// splices that would undo the diff in the file as the edit left it. Returns `None` unless the places are
/// certain: the file has the new lines of each hunk exactly once, with all their context, in the same order,
/// with one kind of terminator.
#[must_use]
pub fn unapplied(hunks: &Hunks, undo: &SpliceSet, file: Scanned<'_, [u8]>) -> Option<SpliceSet> {
    let encoding = file.scan.encoding;
    if hunks.is_cut
        || encoding.is_stateful()
        || file.source.len() > MAX_BYTES
        || file.scan.lines.count() > MAX_LINES
    {
        return None;
    }
    let mut lines = Vec::new();
    let Ok(()) = file.for_each_line(LineNumber::FIRST, file.scan.lines.bytes(), MAX_BYTES, |line| {
        lines.extend(FileLine::read(line, file));
        true
    });
    if lines.len() as u64 != file.scan.lines.count() {
        return None;
    }
    let (mut splices, mut from) = (Vec::new(), 0);
    let mut old = Vec::new();
    for hunk in &hunks.hunks {
        let mut at = place(hunk, &lines).filter(|at| *at >= from)?;
        let ending = lines.get(at)?.ending?;
        let mut group: Option<Splice> = None;
        for row in &hunk.rows {
            let start = lines.get(at).map_or(file.scan.size, |line| line.start);
            let bytes = encoding.encode(&format!("{}{}", row.text, ending.as_str())).ok()?;
            if row.side != RowSide::New {
                old.extend_from_slice(&bytes);
            }
            if row.side == RowSide::Both {
                splices.extend(group.take());
                at += 1;
                continue;
            }
            let group = group.get_or_insert(Splice { at: start..start, insert: Vec::new() });
            if row.side == RowSide::Old {
                group.insert.extend(bytes);
            } else {
                at += 1;
                group.at.end = lines.get(at).map_or(file.scan.size, |line| line.start);
            }
        }
        splices.extend(group);
        from = at;
    }
    let splices = SpliceSet::new(splices).ok()?;
    (growth(&splices) == growth(undo) && has_all(&old, undo)).then_some(splices)
}

/// A line of the current file.
struct FileLine {
    text: String,
    ending: Option<LineEnding>,
    start: u64,
}

impl FileLine {
    fn read(line: ScannedLine<'_>, file: Scanned<'_, [u8]>) -> Option<Self> {
        let text = file.scan.encoding.decode(line.text).ok().filter(|_| line.is_whole())?;
        Some(Self { text: text.into_owned(), ending: line.ending, start: line.start })
    }
}

/// Returns the index of the line at which the new side of a hunk begins, if this line is certain.
fn place(hunk: &DiffHunk, lines: &[FileLine]) -> Option<usize> {
    let is_context = |side: &RowSide| *side == RowSide::Both;
    let sides: Vec<RowSide> = hunk.rows.iter().map(|row| row.side).collect();
    let above = sides.iter().take_while(|side| is_context(side)).count();
    let below = sides.iter().rev().take_while(|side| is_context(side)).count();
    let new: Vec<&str> =
        hunk.rows.iter().filter(|row| row.side != RowSide::Old).map(|row| row.text.as_str()).collect();
    let is_whole = hunk.rows.iter().all(|row| !row.is_cut && row.end != RowEnd::None);
    if new.is_empty() || hunk.rows.len() > MAX_ROWS || !is_whole {
        return None;
    }
    let is_there = |window: &&[FileLine]| {
        let end = window.first().and_then(|line| line.ending);
        end.is_some() && window.iter().zip(&new).all(|(line, new)| line.ending == end && line.text == *new)
    };
    let mut places = lines.windows(new.len()).enumerate().filter(|(_, window)| is_there(window));
    let (at, _) = places.next().filter(|_| places.next().is_none())?;
    let begins = above >= CONTEXT || at == 0;
    (begins && (below >= CONTEXT || at + new.len() == lines.len())).then_some(at)
}

/// Returns by how many bytes a file grows with these splices.
fn growth(splices: &SpliceSet) -> i128 {
    let inserted: usize = splices.as_slice().iter().map(|splice| splice.insert.len()).sum();
    inserted as i128 - i128::from(splices.removed())
}

/// Whether the old lines contain all bytes that the splices restore, in order.
fn has_all(old: &[u8], undo: &SpliceSet) -> bool {
    let mut rest = old;
    undo.as_slice().iter().all(|splice| {
        let at = memchr::memmem::find(rest, &splice.insert);
        at.is_some_and(|at| {
            rest = rest.get(at + splice.insert.len()..).unwrap_or_default();
            true
        })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::diff::read;
    use crate::preview::Preview;
    use crate::resolve::{MatchOptions, Patch, patch};
    use crate::scan::{Scan, Scanner};
    use crate::source::{Source as _, read_range};
    use crate::splice::Spliced;

    fn scan(bytes: &str) -> Scan {
        let mut scanner = Scanner::new(None);
        scanner.feed(bytes.as_bytes());
        scanner.finish()
    }

    fn spliced(file: &str, splices: &SpliceSet) -> String {
        let new = Spliced::new(file.as_bytes(), splices);
        let Ok(bytes) = read_range(&new, 0..new.size());
        String::from_utf8(bytes).unwrap()
    }

    /// Edits `before`, changes the result with `change`, and undoes the edit there. Returns the result of the
    /// edit, too.
    fn taken_back(
        before: &str,
        old: &str,
        new: &str,
        change: impl Fn(&str) -> String,
    ) -> (String, Option<String>) {
        let old_scan = scan(before);
        let old_file = Scanned::new(before.as_bytes(), &old_scan);
        let plan = patch(old_file, None, &[Patch::text(old, new)], MatchOptions::default()).unwrap().unwrap();
        let preview = Preview::read(old_file, &plan).unwrap();
        let hunks = read(&preview.diff(&preview.regions().unwrap(), ["a", "a"]).unwrap());
        let undo = preview.inverse().unwrap();
        let after = spliced(before, &plan.splices);
        let now = change(&after);
        let now_scan = scan(&now);
        let back = unapplied(&hunks, &undo, Scanned::new(now.as_bytes(), &now_scan));
        (after, back.map(|back| spliced(&now, &back)))
    }

    #[test]
    fn a_diff_is_taken_back_only_where_its_place_is_certain() {
        let file: String = ('a'..='z').flat_map(|letter| [letter, '\n']).collect();
        let back =
            |old: &str, new: &str, change: &dyn Fn(&str) -> String| taken_back(&file, old, new, change).1;
        let beside = |text: &str| text.replace("y\n", "Y\nyy\n");
        for (old, new) in
            [("d\ne\n", "D\n"), ("e", "e!"), ("f\n", ""), ("g\n", "g\ng2\ng3\n"), ("a\n", "A\n")]
        {
            assert_eq!(back(old, new, &beside), Some(beside(&file)), "{old:?} {new:?}");
        }
        // The end of the file is context, too.
        assert_eq!(back("z\n", "Z\n", &|text| format!("new\n{text}")), Some(format!("new\n{file}")));
        assert_eq!(back("z\n", "Z\n", &|text| format!("{text}new\n")), None);
        // The edited line is changed, its context is changed, it occurs twice, or terminators differ.
        assert_eq!(back("d\n", "D\n", &|text| text.replace("D\n", "DD\n")), None);
        assert_eq!(back("d\n", "D\n", &|text| text.replace("a\n", "A\n")), None);
        assert_eq!(back("d\n", "D\n", &|text| format!("{text}{text}")), None);
        assert_eq!(back("d\n", "D\n", &|text| text.replace("c\n", "c\r\n")), None);
        assert_eq!(back("d\n", "D\n", &|text| text.replace('\n', "\r\n")), None);
    }

    proptest! {
        /// Lines that another program has added or removed above or below stay so; the undo changes nothing
        /// else.
        #[test]
        fn what_others_wrote_stays(
            count in 1..24_usize,
            (at, gone) in (0..24_usize, 1..3_usize),
            new in prop::collection::vec("[xy]{1,2}\n", 0..3),
            (other, other_gone) in (0..24_usize, 0..3_usize),
            other_new in prop::collection::vec("[pq]{0,1}\n", 0..3),
        ) {
            let lines: Vec<String> = (0..count).map(|number| format!("{number}\n")).collect();
            let range = at.min(count - 1)..(at + gone).min(count).max(at.min(count - 1) + 1);
            let change = |text: &str, other: usize| {
                let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
                let start = other.min(lines.len());
                let end = (start + other_gone).min(lines.len());
                lines.splice(start..end, other_new.iter().cloned());
                lines.concat()
            };
            let (before, old) = (lines.concat(), lines[range.clone()].concat());
            // A text of digits may be found inside of another line.
            prop_assume!(before.matches(&old).count() == 1);
            let (after, back) = taken_back(&before, &old, &new.concat(), |after| change(after, other));
            if let Some(back) = back {
                let is_above = other.min(after.lines().count()) < range.start + new.len();
                let expected = if is_above { other } else { other + range.len() - new.len() };
                prop_assert_eq!(back, change(&before, expected));
            }
        }
    }
}
