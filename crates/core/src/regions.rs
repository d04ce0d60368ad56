//! Where new text stands after an edit, as a fresh read would number it.

use crate::digest::Digest;
use crate::line::{LineNumber, LineRange};
use crate::matching::Tier;
use crate::resolve::{Plan, digest_of};
use crate::scan::Scan;
use crate::source::Source;

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

/// One region per splice, in file order; splices whose text shares a line share one.
pub fn regions<O: Source + ?Sized, N: Source + ?Sized>(
    (old, old_scan): (&O, &Scan),
    (new, new_scan): (&N, &Scan),
    plan: &Plan,
) -> Result<Result<Vec<Region>, N::Error>, O::Error> {
    let mut olds = Vec::new();
    let mut cursor = old_scan.lines.cursor(old);
    for splice in plan.splices.as_slice() {
        let (first, start) = cursor.line_at(splice.at.start)?;
        if splice.at.is_empty() {
            // An insertion at the end of a last line without terminator stands after that line.
            let after = splice.at.start > start;
            let lines = LineRange::new(LineNumber::from_index(first.index() + u64::from(after)), 0);
            olds.push(Replaced { lines, whole: false, to_line_end: false, inside_line: false });
            continue;
        }
        let (last, _) = cursor.line_at(splice.at.end - 1)?;
        let lines = LineRange::new(first, last.get() - first.index());
        let (_, next_start) = cursor.line_at(splice.at.end)?;
        let (to_line_end, to_end) = (next_start == splice.at.end, splice.at.end == old_scan.size);
        let whole = splice.at.start == start && (to_line_end || to_end);
        let (inside_line, to_line_end) = (!to_line_end && !to_end, to_line_end && !to_end);
        olds.push(Replaced { lines, whole, to_line_end, inside_line });
    }
    Ok(new_regions(new, new_scan, plan, &olds))
}

/// What a splice removed from the old file.
struct Replaced {
    /// The lines it touched.
    lines: LineRange,
    /// Whether it removed them whole.
    whole: bool,
    /// Whether it removed a line's end that another line follows.
    to_line_end: bool,
    /// Whether it left the end of a line, which then stands after the new text.
    inside_line: bool,
}

fn new_regions<N: Source + ?Sized>(
    new: &N,
    scan: &Scan,
    plan: &Plan,
    olds: &[Replaced],
) -> Result<Vec<Region>, N::Error> {
    let mut cursor = scan.lines.cursor(new);
    let mut regions: Vec<Region> = Vec::new();
    for ((place, fact), old) in plan.splices.new_places().zip(&plan.facts).zip(olds) {
        let start = place.start + fact.lead as u64;
        let (first, first_start) = cursor.line_at(start)?;
        let lines = if start < place.end {
            let (last, _) = cursor.line_at(if old.inside_line { place.end } else { place.end - 1 })?;
            LineRange::new(first, last.get() - first.index())
        } else if old.whole || first.get() > scan.lines.count() {
            // Whole lines are gone: what is before them may have lost its terminator to another splice.
            LineRange::new(LineNumber::from_index(first.index() + u64::from(first_start < start)), 0)
        } else {
            LineRange::new(first, 1)
        };
        let (_, line_start) = cursor.line_at(place.end)?;
        let mut replaced = old.lines;
        if old.to_line_end && line_start < place.end && place.end < scan.size {
            // The text that follows has become part of the last new line.
            replaced = LineRange::new(replaced.start(), replaced.count() + 1);
        }
        match regions.last_mut().filter(|last| !lines.is_empty() && lines.start().get() <= last.lines.end()) {
            Some(last) => {
                last.lines = joined(last.lines, lines);
                last.replaced = joined(last.replaced, replaced);
                last.tier = last.tier.max(fact.tier);
            }
            None => regions.push(Region { lines, digest: Digest::of(&[]), replaced, tier: fact.tier }),
        }
    }
    for region in &mut regions {
        let bytes = scan.lines.bytes_of(new, region.lines)?;
        region.digest = digest_of(new, bytes)?;
    }
    Ok(regions)
}

/// The lines of both, and those between them; `a` begins first.
fn joined(a: LineRange, b: LineRange) -> LineRange {
    LineRange::new(a.start(), a.end().max(b.end()) - a.start().index())
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
        let found = regions((file.as_bytes(), &old), (new.as_slice(), &scan(&new)), &plan).unwrap().unwrap();
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
