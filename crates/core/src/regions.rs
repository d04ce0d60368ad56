//! Finds the lines that an edit has changed, by the numbers that a fresh read of the new file would give
//! them.
//!
//! A region reaches from a place where a line begins in both files to the next such place after the edited
//! bytes. Only the bytes of the files decide where such places are, not the form of the splices: whether a
//! splice removes bytes or only inserts some makes no difference, nor does another splice of the same line.
//! Two splices are in two regions only if such a place lies between them.

use crate::digest::Digest;
use crate::line::{LineNumber, LineRange};
use crate::lines::Cursor;
use crate::matching::Tier;
use crate::resolve::Plan;
use crate::scan::Scanned;
use crate::source::Source;

/// Whole lines of the new file, and the lines of the old one that they replace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Region {
    /// The lines of the new file, by their numbers there. If the region has no new lines, an empty range
    /// before the line that follows the region.
    pub lines: LineRange,
    /// The digest of the bytes of `lines`, terminators included.
    pub digest: Digest,
    /// The lines of the old file that were replaced, by their numbers there; empty for an insertion.
    pub replaced: LineRange,
    /// The loosest tier in which the old text of a splice in the region matched.
    pub tier: Tier,
}

/// Returns all lines of a file that is created or deleted as one region; `None` if neither file has any line.
/// The bytes of the new file before its lines, a byte order mark, are no part of the region's digest. Fails
/// only if the new source does.
pub fn whole<O, N>(old: Scanned<'_, O>, new: Scanned<'_, N>) -> Result<Option<Region>, N::Error>
where
    O: Source + ?Sized,
    N: Source + ?Sized,
{
    let (lines, replaced) = (new.scan.lines.all(), old.scan.lines.all());
    if lines.is_empty() && replaced.is_empty() {
        return Ok(None);
    }
    let digest = new.digest_of(new.scan.lines.bytes())?;
    Ok(Some(Region { lines, digest, replaced, tier: Tier::Exact }))
}

/// Returns the regions of an edit, in file order: `plan` turns the file `old` into `new`, which comes with a
/// scan of the new bytes.
///
/// If the edit changes the character at which lines end (a file without any LF ends its lines at CR), all
/// lines are one region, unless either file has no line end at all. Reads both files where they differ, and
/// around there. Fails only if either source does.
pub fn regions<O, N>(old: Scanned<'_, O>, new: Scanned<'_, N>, plan: &Plan) -> Result<Vec<Region>, O::Error>
where
    O: Source + ?Sized,
    N: Source<Error = O::Error> + ?Sized,
{
    let have_ends = !old.scan.lines.has_no_terminator() && !new.scan.lines.has_no_terminator();
    if have_ends && old.scan.lines.convention() != new.scan.lines.convention() {
        let tier = plan.facts.iter().map(|fact| fact.tier).max().unwrap_or(Tier::Exact);
        let digest = new.digest_of(new.scan.lines.bytes())?;
        return Ok(vec![Region {
            lines: new.scan.lines.all(),
            digest,
            replaced: old.scan.lines.all(),
            tier,
        }]);
    }
    let mut files = Files {
        old,
        splices: old.cursor(),
        ends: old.cursor(),
        new,
        joints: new.cursor(),
        left: new.cursor(),
        left_ends: new.cursor(),
    };
    let mut regions = Vec::new();
    let mut open: Option<Open> = None;
    let places = plan.splices.as_slice().iter().zip(plan.splices.new_places());
    for ((splice, new_place), fact) in places.zip(&plan.facts) {
        let after = Joint { old: splice.at.end, new: new_place.end };
        let before = Joint { old: splice.at.start, new: new_place.start };
        match files.beginning(before, fact.lead as u64, open.as_ref())? {
            Some(begin) => {
                if let Some(done) = open.take() {
                    regions.push(files.region(&done)?);
                }
                open = Some(Open { begin, after, tier: fact.tier });
            }
            None => {
                open = open.map(|open| Open { after, tier: open.tier.max(fact.tier), ..open });
            }
        }
    }
    if let Some(last) = open {
        regions.push(files.region(&last)?);
    }
    Ok(regions)
}

/// The same place in both files, by its offset in each. On at least one side of it, both files have the same
/// bytes.
#[derive(Clone, Copy)]
struct Joint {
    old: u64,
    new: u64,
}

/// A region whose end is not known yet.
#[derive(Clone, Copy)]
struct Open {
    /// The beginning of the region, and the number of old lines above it.
    begin: (Joint, u64),
    /// The end of the region's last splice so far.
    after: Joint,
    tier: Tier,
}

/// Both files, with a cursor for each kind of lookup. Each cursor moves in file order, so it reads the file
/// once, however many regions there are.
struct Files<'a, O: ?Sized, N: ?Sized> {
    old: Scanned<'a, O>,
    /// Finds the lines in which splices begin.
    splices: Cursor<'a, O>,
    /// Finds the lines in which regions end.
    ends: Cursor<'a, O>,
    new: Scanned<'a, N>,
    /// Finds the lines that follow splices.
    joints: Cursor<'a, N>,
    /// Finds the first lines of regions.
    left: Cursor<'a, N>,
    /// Finds the lines after regions.
    left_ends: Cursor<'a, N>,
}

impl<O: Source + ?Sized, N: Source<Error = O::Error> + ?Sized> Files<'_, O, N> {
    /// Returns the beginning of the region of the splice at `before`, and the number of old lines above it;
    /// `None` if the splice belongs to the open region. The first `lead` bytes of the insertion terminate the
    /// last line of the old file.
    fn beginning(
        &mut self,
        before: Joint,
        lead: u64,
        open: Option<&Open>,
    ) -> Result<Option<(Joint, u64)>, O::Error> {
        if lead > 0 && open.is_none() {
            let begin = Joint { old: before.old, new: before.new + lead };
            return Ok(Some((begin, self.old.scan.lines.count())));
        }
        let (line, start) = self.splices.line_at(before.old)?;
        let begin = Joint { old: start, new: before.new.saturating_sub(before.old.saturating_sub(start)) };
        let begins = match open.map(|open| open.after) {
            // The bytes between the two splices are in both files: a line that begins among them begins in
            // both.
            Some(after) if start <= after.old => start == after.old && self.begins_line(after.new)?,
            _ => true,
        };
        Ok(begins.then_some((begin, line.index())))
    }

    /// Tells whether a line of the new file begins at an offset.
    fn begins_line(&mut self, offset: u64) -> Result<bool, O::Error> {
        self.joints.line_at(offset).map(|(_, start)| start == offset)
    }

    /// Returns the first place at or after the end of a splice at which a line begins in both files or both
    /// files end, and the number of old lines above this place.
    fn end(&mut self, after: Joint) -> Result<(Joint, u64), O::Error> {
        if after.old >= self.old.scan.lines.bytes().end {
            return Ok((after, self.old.scan.lines.count()));
        }
        let (line, start) = self.ends.line_at(after.old)?;
        if start == after.old && self.begins_line(after.new)? {
            return Ok((after, line.index()));
        }
        let old = self.ends.offset_of(LineNumber::from_index(line.get()))?;
        Ok((Joint { old, new: after.new + old.saturating_sub(after.old) }, line.get()))
    }

    fn region(&mut self, open: &Open) -> Result<Region, O::Error> {
        let ((begin, above), (end, upto)) = (open.begin, self.end(open.after)?);
        let replaced = LineRange::new(LineNumber::from_index(above), upto.saturating_sub(above));
        let (first, _) = self.left.line_at(begin.new)?;
        let upto = if end.new >= self.new.scan.lines.bytes().end {
            self.new.scan.lines.count()
        } else {
            self.left_ends.line_at(end.new)?.0.index()
        };
        Ok(Region {
            lines: LineRange::new(first, upto.saturating_sub(first.index())),
            digest: self.new.digest_of(begin.new..end.new)?,
            replaced,
            tier: open.tier,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::{
        GuardedRange, MatchOptions, Patch, Position, Resolution, SpliceInfo, insert, patch,
    };
    use crate::scan::{Scan, Scanner};
    use crate::source::read_range;
    use crate::splice::{Splice, SpliceSet, Spliced};

    fn scan(bytes: &[u8]) -> Scan {
        let mut scanner = Scanner::new(None);
        scanner.feed(bytes);
        scanner.finish()
    }

    /// Describes an edit: the new file, and the old and the new lines of each region.
    fn told(file: &str, resolution: Resolution) -> String {
        let (old, plan) = (scan(file.as_bytes()), resolution.unwrap());
        let spliced = Spliced::new(file.as_bytes(), &plan.splices);
        let new = read_range(&spliced, 0..spliced.size()).unwrap();
        let new_scan = scan(&new);
        let both = (Scanned::new(file.as_bytes(), &old), Scanned::new(new.as_slice(), &new_scan));
        let found = regions(both.0, both.1, &plan).unwrap();
        let regions = found.iter().map(|region| format!("{:?} to {:?}", region.replaced, region.lines));
        format!(
            "{file:?} -> {:?}: {}\n",
            String::from_utf8_lossy(&new),
            regions.collect::<Vec<_>>().join(", ")
        )
    }

    /// An old text, its new text, and the only line on which to replace it; `None` for all lines.
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
                patch(
                    Scanned::new(file.as_bytes(), &scan(file.as_bytes())),
                    None,
                    &patches,
                    MatchOptions::default(),
                )
                .unwrap(),
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

    /// Describes the undo of an edit, as [`told`] does. The undo inserts the removed text again, or puts it
    /// in the place of the new text.
    fn told_of_undo(file: &str, patches: &[(&str, &str)]) -> String {
        let patches: Vec<Patch> = patches
            .iter()
            .map(|(old, new)| Patch {
                old_string: Some((*old).to_owned()),
                new_string: (*new).to_owned(),
                ranges: vec![],
                replace_all: true,
            })
            .collect();
        let plan = patch(
            Scanned::new(file.as_bytes(), &scan(file.as_bytes())),
            None,
            &patches,
            MatchOptions::default(),
        );
        let plan = plan.unwrap().unwrap();
        let new = Spliced::new(file.as_bytes(), &plan.splices);
        let edited = String::from_utf8(read_range(&new, 0..new.size()).unwrap()).unwrap();
        let splices = plan.splices.inverse(file.as_bytes()).unwrap();
        told(&edited, Ok(Plan { splices, ..plan }))
    }

    #[test]
    fn text_that_comes_back_inside_of_a_line_changes_that_line() {
        let undone = [
            told_of_undo("one a two a\nnext a\n", &[("a", "")]),
            told_of_undo("a\nb", &[("b", "")]),
            told_of_undo("a\nb", &[("\nb", "")]),
            told_of_undo("a\nb\nc\n", &[("b\n", "")]),
            told_of_undo("a\nb\nc\n", &[("\nb", "")]),
            told_of_undo("ab\nab\n", &[("b\n", "")]),
            told_of_undo("a\r\nb\r\n", &[("b", "")]),
            told_of_undo("a\n", &[("a\n", "")]),
            told_of_undo("a-a\n", &[("a", "x\n")]),
            // The undo removes the second line, and leaves the third as it was.
            told_of_undo("a\nc\n", &[("c", "b\nc")]),
        ];
        insta::assert_snapshot!(undone.concat(), @r#"
        "one  two \nnext \n" -> "one a two a\nnext a\n": 1-1 to 1-1, 2-2 to 2-2
        "a\n" -> "a\nb": 2-1 to 2-2
        "a" -> "a\nb": 1-1 to 1-2
        "a\nc\n" -> "a\nb\nc\n": 2-1 to 2-2
        "a\nc\n" -> "a\nb\nc\n": 1-1 to 1-2
        "aa" -> "ab\nab\n": 1-1 to 1-2
        "a\r\n\r\n" -> "a\r\nb\r\n": 2-2 to 2-2
        "" -> "a\n": 1-0 to 1-1
        "x\n-x\n\n" -> "a-a\n": 1-3 to 1-1
        "a\nb\nc\n" -> "a\nc\n": 2-2 to 2-1
        "#);
    }

    #[test]
    fn lines_that_end_otherwise_all_change() {
        // Without its only LF, the file is a classic Mac file, whose lines end at CR.
        insta::assert_snapshot!(check(&[("a\rb\nc\rd\r", &[("b\n", "x", None)])]), @r#""a\rb\nc\rd\r" -> "a\rxc\rd\r": 1-2 to 1-3"#);
        // A file without any line end does not count as one with other line ends.
        insta::assert_snapshot!(check(&[
            ("a\rb", &[("a", "", Some(1))]),
            ("a\rb", &[("b", "x", None), ("a\n", "", None)]),
            ("\rx\r", &[("\n", "", None)]),
            ("a\rb\r", &[("b\n", "", None), ("a\n", "x", None)]),
        ]), @r#"
        "a\rb" -> "b": 1-1 to 1-0
        "a\rb" -> "x": 1-1 to 1-0, 2-2 to 1-1
        "\rx\r" -> "x": 1-1 to 1-0, 2-2 to 1-1
        "a\rb\r" -> "x": 1-2 to 1-1
        "#);
    }

    #[test]
    fn a_region_has_the_loosest_tier_of_its_splices() {
        let (exact, loose) = (Tier::Exact, Tier::TrailingWhitespace);
        for (tiers, wanted) in [
            ([exact, loose, exact], [loose, exact]),
            ([loose, exact, exact], [loose, exact]),
            ([exact, exact, loose], [exact, loose]),
        ] {
            // Two splices in the first line, and one in the second.
            let splices = [(0..3, "1"), (4..7, "2"), (8..13, "3")]
                .map(|(at, insert)| Splice { at, insert: insert.as_bytes().to_vec() });
            let splices = SpliceSet::new(splices.to_vec()).unwrap();
            let facts = tiers.map(SpliceInfo::of).to_vec();
            let plan = Plan { splices, facts, adds_final_newline: false, unchanged: false };
            let (old, new) = (b"one two\nthree\n".as_slice(), b"1 2\n3\n".as_slice());
            let scans = (scan(old), scan(new));
            let found = regions(Scanned::new(old, &scans.0), Scanned::new(new, &scans.1), &plan).unwrap();
            assert_eq!(found.iter().map(|region| region.tier).collect::<Vec<_>>(), wanted, "{tiers:?}");
        }
    }

    #[test]
    fn lines_below_a_last_line_that_changes_as_well_share_its_region() {
        let splices = [(0..1, "x"), (1..1, "\ny")]
            .map(|(at, insert)| Splice { at, insert: insert.as_bytes().to_vec() });
        let splices = SpliceSet::new(splices.to_vec()).unwrap();
        let exact = SpliceInfo::of(Tier::Exact);
        let facts = vec![exact.clone(), SpliceInfo { lead: 1, ..exact }];
        let plan = Plan { splices, facts, adds_final_newline: true, unchanged: false };
        assert_eq!(told("a", Ok(plan)), "\"a\" -> \"x\\ny\": 1-1 to 1-2\n");
    }

    #[test]
    fn a_file_that_comes_or_goes_is_one_region() {
        let check = |old: &[u8], new: &[u8]| {
            let scans = (scan(old), scan(new));
            let Ok(found) = whole(Scanned::new(old, &scans.0), Scanned::new(new, &scans.1));
            found.map(|region| {
                assert_eq!(region.tier, Tier::Exact);
                (region.replaced.count(), region.lines.count(), region.digest)
            })
        };
        let text = b"one\ntwo".as_slice();
        assert_eq!(check(b"", text), Some((0, 2, Digest::of(text))));
        assert_eq!(check(text, b""), Some((2, 0, Digest::of(b""))));
        assert_eq!(check(b"", b"\xEF\xBB\xBFone\n"), Some((0, 1, Digest::of(b"one\n"))), "without its mark");
        assert_eq!(check(b"", b""), None);
    }

    #[test]
    fn inserted_lines_replace_none() {
        let check = |file: &str, position| {
            told(
                file,
                insert(Scanned::new(file.as_bytes(), &scan(file.as_bytes())), None, "x\ny", position, None)
                    .unwrap(),
            )
        };
        insta::assert_snapshot!(check("a\nb\n", Position::After(0)), @r#""a\nb\n" -> "x\ny\na\nb\n": 1-0 to 1-2"#);
        insta::assert_snapshot!(check("a\nb\n", Position::After(1)), @r#""a\nb\n" -> "a\nx\ny\nb\n": 2-1 to 2-3"#);
        insta::assert_snapshot!(check("a\nb\n", Position::After(2)), @r#""a\nb\n" -> "a\nb\nx\ny\n": 3-2 to 3-4"#);
        insta::assert_snapshot!(check("a\nb", Position::After(2)), @r#""a\nb" -> "a\nb\nx\ny\n": 3-2 to 3-4"#);
        insta::assert_snapshot!(check("", Position::After(0)), @r#""" -> "x\ny\n": 1-0 to 1-2"#);
    }
}
