//! Where new text stands after an edit, as a fresh read would number it.
//!
//! Splices that touch a line in common make one region. Its old lines are those that held what was removed; its new lines
//! are what stands between the unchanged lines around them.

use crate::digest::Digest;
use crate::line::{LineNumber, LineRange};
use crate::lines::Cursor;
use crate::matching::Tier;
use crate::resolve::{Fact, Plan};
use crate::scan::Scan;
use crate::source::Source;
use crate::splice::Splice;

/// The whole lines that an edit left, and those that they replaced.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Region {
    /// The lines of the new file; empty where nothing is left.
    pub lines: LineRange,
    /// The digest of their bytes.
    pub digest: Digest,
    /// The lines of the old file that held what was replaced; empty for an insertion.
    pub replaced: LineRange,
    /// The loosest tier in which old text was found.
    pub tier: Tier,
}

/// The regions of an edit, in file order. Both files are read; an error is of either.
pub fn regions<O, N>(
    (old, old_scan): (&O, &Scan),
    (new, new_scan): (&N, &Scan),
    plan: &Plan,
) -> Result<Vec<Region>, O::Error>
where
    O: Source + ?Sized,
    N: Source<Error = O::Error> + ?Sized,
{
    let mut files = Files {
        old_size: old_scan.size,
        touched: old_scan.lines.cursor(old),
        touched_ends: old_scan.lines.cursor(old),
        taken_ends: old_scan.lines.cursor(old),
        new,
        new_scan,
        joints: new_scan.lines.cursor(new),
        left: new_scan.lines.cursor(new),
        left_ends: new_scan.lines.cursor(new),
    };
    let mut regions = Vec::new();
    let mut open: Option<Touched> = None;
    for (splice, fact) in plan.splices.as_slice().iter().zip(&plan.facts) {
        let shift = open.as_ref().map_or(Shift::default(), |open| open.after);
        let mut touched = files.touched(splice, fact, shift)?;
        if let Some(mut before) = open.take() {
            while !before.shares_a_line(&touched) && files.is_joined(&before)? {
                files.take_next_line(&mut before)?;
            }
            if before.shares_a_line(&touched) {
                touched = before.with(&touched);
            } else {
                regions.push(files.region(&before)?);
            }
        }
        open = Some(touched);
    }
    if let Some(mut last) = open {
        while files.is_joined(&last)? {
            files.take_next_line(&mut last)?;
        }
        regions.push(files.region(&last)?);
    }
    Ok(regions)
}

/// How much has been removed and inserted up to some place.
#[derive(Clone, Copy, Default)]
struct Shift {
    removed: u64,
    inserted: u64,
}

impl Shift {
    /// The place in the new file of an offset in the old one.
    fn apply(self, offset: u64) -> u64 {
        offset - self.removed + self.inserted
    }
}

/// Lines of the old file that splices touch.
#[derive(Clone, Copy)]
struct Touched {
    lines: LineRange,
    /// Where the first of them begins, and how far the file has shifted there.
    start: u64,
    before: Shift,
    /// Where the line after them begins, and how far the file has shifted there.
    end: u64,
    after: Shift,
    /// How many of the inserted bytes end the line before.
    lead: u64,
    tier: Tier,
}

impl Touched {
    fn shares_a_line(&self, next: &Self) -> bool {
        next.lines.start().get() <= self.lines.end()
    }

    fn with(&self, next: &Self) -> Self {
        let end = self.lines.end().max(next.lines.end());
        let lines = LineRange::new(self.lines.start(), end - self.lines.start().index());
        Self {
            lines,
            end: self.end.max(next.end),
            after: next.after,
            tier: self.tier.max(next.tier),
            ..*self
        }
    }
}

/// Both files, with a cursor for each question, so that each is read once for each question, however many regions there are.
struct Files<'a, O: ?Sized, N: ?Sized> {
    old_size: u64,
    /// The lines that splices touch, and where these end.
    touched: Cursor<'a, O>,
    touched_ends: Cursor<'a, O>,
    /// Where lines end that have become part of a region.
    taken_ends: Cursor<'a, O>,
    new: &'a N,
    new_scan: &'a Scan,
    /// What follows a region.
    joints: Cursor<'a, N>,
    /// The lines that are left, and where these end.
    left: Cursor<'a, N>,
    left_ends: Cursor<'a, N>,
}

impl<O: Source + ?Sized, N: Source<Error = O::Error> + ?Sized> Files<'_, O, N> {
    fn touched(&mut self, splice: &Splice, fact: &Fact, before: Shift) -> Result<Touched, O::Error> {
        let at = &splice.at;
        let (first, start) = self.touched.line_at(at.start)?;
        let removed = before.removed + (at.end - at.start);
        let after = Shift { removed, inserted: before.inserted + splice.insert.len() as u64 };
        let (lead, tier) = (fact.lead as u64, fact.tier);
        if at.is_empty() {
            // New lines; those at the end of a last line without terminator stand after that line.
            let number = LineNumber::from_index(first.index() + u64::from(start < at.start));
            let lines = LineRange::new(number, 0);
            return Ok(Touched { lines, start: at.start, before, end: at.start, after, lead, tier });
        }
        let (last, _) = self.touched.line_at(at.end - 1)?;
        let lines = LineRange::new(first, last.get() - first.index());
        let end = self.touched_ends.offset_of(LineNumber::from_index(last.get()))?;
        Ok(Touched { lines, start, before, end, after, lead, tier })
    }

    /// Whether the line after the touched ones has become part of the last of them, which lost its line end.
    fn is_joined(&mut self, touched: &Touched) -> Result<bool, O::Error> {
        let end = touched.after.apply(touched.end);
        if touched.end >= self.old_size || touched.lines.is_empty() {
            return Ok(false);
        }
        let (_, line_start) = self.joints.line_at(end)?;
        Ok(line_start < end)
    }

    fn take_next_line(&mut self, touched: &mut Touched) -> Result<(), O::Error> {
        touched.lines = LineRange::new(touched.lines.start(), touched.lines.count() + 1);
        let next = LineNumber::from_index(touched.lines.end());
        touched.end = self.taken_ends.offset_of(next)?;
        Ok(())
    }

    fn region(&mut self, touched: &Touched) -> Result<Region, O::Error> {
        let start = touched.before.apply(touched.start) + touched.lead;
        let end = touched.after.apply(touched.end);
        let (first, line_start) = self.left.line_at(start)?;
        let (lines, bytes) = if start < end {
            let (last, _) = self.left.line_at(end - 1)?;
            let lines = LineRange::new(first, last.get() - first.index());
            (lines, line_start..self.left_ends.offset_of(LineNumber::from_index(lines.end()))?)
        } else {
            // Nothing is left; what is before it may have lost its terminator to another splice.
            let next = LineNumber::from_index(first.index() + u64::from(line_start < start));
            (LineRange::new(next, 0), start..start)
        };
        Ok(Region {
            lines,
            digest: self.new_scan.digest_of(self.new, bytes)?,
            replaced: touched.lines,
            tier: touched.tier,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::{GuardedRange, Options, Patch, Position, Resolution, insert, patch};
    use crate::scan::Scanner;
    use crate::source::read_range;
    use crate::splice::Spliced;

    fn scan(bytes: &[u8]) -> Scan {
        let mut scanner = Scanner::new(None);
        scanner.feed(bytes);
        scanner.finish()
    }

    /// What is told of an edit: the new file, and for each region the old lines and the new ones.
    fn told(file: &str, resolution: Resolution) -> String {
        let (old, plan) = (scan(file.as_bytes()), resolution.unwrap());
        let spliced = Spliced::new(file.as_bytes(), &plan.splices);
        let new = read_range(&spliced, 0..spliced.size()).unwrap();
        let found = regions((file.as_bytes(), &old), (new.as_slice(), &scan(&new)), &plan).unwrap();
        let regions = found.iter().map(|region| format!("{:?} to {:?}", region.replaced, region.lines));
        format!(
            "{file:?} -> {:?}: {}\n",
            String::from_utf8_lossy(&new),
            regions.collect::<Vec<_>>().join(", ")
        )
    }

    /// An old text, a new one, and the line to replace it on, where not everywhere.
    type Replacement = (&'static str, &'static str, Option<i64>);

    fn check(rows: &[(&str, &[Replacement])]) -> String {
        let tell = |(file, patches): &(&str, &[Replacement])| {
            let patches = patches.iter().map(|(old, new, line)| Patch {
                old_string: Some((*old).to_owned()),
                new_string: (*new).to_owned(),
                ranges: line
                    .iter()
                    .map(|line| GuardedRange { start: *line, end: Some(*line), range_hash: None })
                    .collect(),
                replace_all: line.is_none(),
            });
            let patches: Vec<Patch> = patches.collect();
            told(
                file,
                patch(file.as_bytes(), &scan(file.as_bytes()), None, &patches, Options::default()).unwrap(),
            )
        };
        rows.iter().map(tell).collect::<Vec<_>>().concat()
    }

    #[test]
    fn new_text_is_told_as_whole_lines() {
        insta::assert_snapshot!(check(&[
            ("a\nb\nc\n", &[("b", "x", None)]),
            ("a\nb\nc\n", &[("b", "x\ny", Some(2))]),
            ("a\nb\nc\n", &[("b", "", Some(2))]),
            ("a\nb\nc\n", &[("b", "", None)]),
            ("a\nb\nc\n", &[("b\n", "", None)]),
            ("a\nb\nc\n", &[("a\n", "", None), ("c\n", "x\ny\n", None)]),
            // Occurrences on one line share a region, and so do lines that become one.
            ("b b\nb\n", &[("b", "x", None)]),
            ("a\nb\nc\n", &[("a\n", "x", None), ("b\n", "y", None)]),
            ("a\nb\n", &[("a\nb", "x", None)]),
        ]), @r#"
        "a\nb\nc\n" -> "a\nx\nc\n": 2-2 to 2-2
        "a\nb\nc\n" -> "a\nx\ny\nc\n": 2-2 to 2-3
        "a\nb\nc\n" -> "a\nc\n": 2-2 to 2-1
        "a\nb\nc\n" -> "a\n\nc\n": 2-2 to 2-2
        "a\nb\nc\n" -> "a\nc\n": 2-2 to 2-1
        "a\nb\nc\n" -> "b\nx\ny\n": 1-1 to 1-0, 3-3 to 2-3
        "b b\nb\n" -> "x x\nx\n": 1-1 to 1-1, 2-2 to 2-2
        "a\nb\nc\n" -> "xyc\n": 1-3 to 1-1
        "a\nb\n" -> "x\n": 1-2 to 1-1
        "#);
    }

    #[test]
    fn inserted_lines_replace_none() {
        let check = |file: &str, position| {
            told(file, insert(file.as_bytes(), &scan(file.as_bytes()), None, "x\ny", position).unwrap())
        };
        insta::assert_snapshot!(check("a\nb\n", Position::After(0)), @r#""a\nb\n" -> "x\ny\na\nb\n": 1-0 to 1-2"#);
        insta::assert_snapshot!(check("a\nb\n", Position::After(1)), @r#""a\nb\n" -> "a\nx\ny\nb\n": 2-1 to 2-3"#);
        insta::assert_snapshot!(check("a\nb\n", Position::After(2)), @r#""a\nb\n" -> "a\nb\nx\ny\n": 3-2 to 3-4"#);
        insta::assert_snapshot!(check("a\nb", Position::After(2)), @r#""a\nb" -> "a\nb\nx\ny\n": 3-2 to 3-4"#);
        insta::assert_snapshot!(check("", Position::After(0)), @r#""" -> "x\ny\n": 1-0 to 1-2"#);
    }
}
