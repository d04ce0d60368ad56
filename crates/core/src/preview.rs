//! The state in which an edit leaves a file, before anything is written: [`Preview`].
//!
//! The new bytes are read once. A caller that writes them does so in that same pass ([`Preview::read_by`]),
//! so what is told of an edit and what is written cannot differ, and the line numbers of a reply come from
//! the new bytes.

use crate::diff::{self, Comparison};
use crate::digest::{Digest, Hasher};
use crate::line::LineNumber;
use crate::matching::Tier;
use crate::regions::{Region, regions};
use crate::resolve::{Blanks, Plan};
use crate::scan::{Scan, Scanner};
use crate::scanned::Scanned;
use crate::source::{Source, for_each_chunk, read_range};
use crate::splice::{SpliceSet, Spliced};

/// New text that begins with blanks of its own, on a line that begins with other ones: the client may have
/// meant the line to begin with one or the other, and not with both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Indentation {
    /// The line of the new file; of several the first.
    pub line: LineNumber,
    /// The blanks of the file with which it begins.
    pub of_file: Blanks,
    /// Those of the new text, which follow; or, where lines were taken away, of the line that now stands
    /// there.
    pub of_text: Blanks,
    /// True if they are of that line, as there is no new text.
    pub is_of_next: bool,
    /// The number of further places of the file that are like it.
    pub more: u64,
}

/// A line of the new file that is to be reported, and the number of further places that are like it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SampleLine {
    /// The line; of several the first.
    pub line: LineNumber,
    /// The number of further places of the file that are like it.
    pub more: u64,
}

impl SampleLine {
    fn add(found: &mut Option<Self>, line: LineNumber) {
        match found {
            Some(spot) => spot.more += 1,
            None => *found = Some(Self { line, more: 0 }),
        }
    }
}

/// The most bytes of blanks before a new text that are looked at; more are no indentation.
const LONGEST_INDENT: u64 = 4096;

/// The most bytes of a replaced text in which lost blanks are looked for.
const LONGEST_COMPARED: u64 = 256 * 1024;

/// A file, what an edit does to it, and the scan of the new bytes.
#[derive(Debug)]
pub struct Preview<'a, S: ?Sized> {
    old: Scanned<'a, S>,
    plan: &'a Plan,
    new: Spliced<'a, S>,
    scan: Scan,
}

impl<'a, S: Source + ?Sized> Preview<'a, S> {
    /// Reads the new bytes once, and writes them nowhere. Fails only as the source does.
    pub fn read(old: Scanned<'a, S>, plan: &'a Plan) -> Result<Self, S::Error> {
        Self::read_by(old, plan, |new, scanner| {
            let mut hasher = Hasher::default();
            for_each_chunk(new, 0..new.size(), |_, chunk| {
                scanner.feed(chunk);
                hasher.update(chunk);
                true
            })?;
            Ok(hasher.digest())
        })
    }

    /// Has `read` read the new bytes: it must feed all of them to the scanner, in order, and return their
    /// digest; meanwhile it can write them down. Nothing checks that. `read` is not called for a plan that
    /// changes nothing. Fails only as `read` does.
    pub fn read_by<E>(
        old: Scanned<'a, S>,
        plan: &'a Plan,
        read: impl FnOnce(&Spliced<'a, S>, &mut Scanner) -> Result<Digest, E>,
    ) -> Result<Self, E> {
        let new = Spliced::new(old.source, &plan.splices);
        let scan = if plan.unchanged {
            old.scan.clone()
        } else {
            let mut scanner = Scanner::without_digest(Some(old.scan.encoding));
            let digest = read(&new, &mut scanner)?;
            scanner.finish_with(digest)
        };
        Ok(Self { old, plan, new, scan })
    }

    /// Returns the new bytes and their scan.
    #[must_use]
    pub fn new_file(&self) -> Scanned<'_, Spliced<'a, S>> {
        Scanned::new(&self.new, &self.scan)
    }

    /// Returns where new text stands, as [`regions`] does.
    pub fn regions(&self) -> Result<Vec<Region>, S::Error> {
        regions(self.old, self.new_file(), self.plan)
    }

    /// Returns what differs, as [`diff::between`] does; `regions` are those of [`Preview::regions`].
    pub fn diff(&self, regions: &[Region], paths: [&str; 2]) -> Result<String, S::Error> {
        diff::between(self.old, self.new_file(), regions, paths)
    }

    /// Compares both states, as [`Comparison::new`] does; `regions` are those of [`Preview::regions`].
    pub fn comparison(&self, regions: &[Region], most: usize) -> Result<Comparison, S::Error> {
        Comparison::new(self.old, self.new_file(), regions, most)
    }

    /// Returns where new text that begins with blanks stands behind nothing but blanks of its line, if the
    /// old text was found by itself and does not begin with blanks. Fails only as the source does.
    pub fn indentation(&self) -> Result<Option<Indentation>, S::Error> {
        let mut cursor = self.new_file().cursor();
        let mut found: Option<Indentation> = None;
        let places = self.plan.splices.as_slice().iter().zip(self.plan.splices.new_places());
        for (fact, (splice, place)) in self.plan.facts.iter().zip(places) {
            let is_of_next = splice.insert.is_empty();
            let Some(of_text) = fact.indent else { continue };
            let (line, start) = cursor.line_at(place.start)?;
            if place.start.saturating_sub(start) > LONGEST_INDENT {
                continue;
            }
            let before = read_range(&self.new, start..place.start)?;
            let before = self.scan.encoding.decode(&before);
            let Some(of_file) = before.ok().and_then(|before| Blanks::of(&before)) else { continue };
            let first = *found.get_or_insert(Indentation { line, of_file, of_text, is_of_next, more: 0 });
            found = Some(Indentation { more: first.more + u64::from(first.line != line), ..first });
        }
        Ok(found)
    }

    /// Returns the line on which new text is joined with what followed the old text: the old text ended its
    /// line, and the new one does not. Fails only as the source does.
    pub fn joined(&self) -> Result<Option<SampleLine>, S::Error> {
        let mut cursor = self.new_file().cursor();
        let mut found = None;
        for (fact, place) in self.plan.facts.iter().zip(self.plan.splices.new_places()) {
            if fact.joins {
                SampleLine::add(&mut found, cursor.line_at(place.end)?.0);
            }
        }
        Ok(found)
    }

    /// Returns the line of new text that looks as if it stood for lines that were left out. Fails only as the
    /// source does.
    pub fn omission(&self) -> Result<Option<SampleLine>, S::Error> {
        let mut cursor = self.new_file().cursor();
        let mut found = None;
        for (fact, place) in self.plan.facts.iter().zip(self.plan.splices.new_places()) {
            if let Some(index) = fact.omission {
                let (line, _) = cursor.line_at(place.start)?;
                SampleLine::add(&mut found, LineNumber::from_index(line.index() + index));
            }
        }
        Ok(found)
    }

    /// Returns the line that lost blanks at its end, if the request did not quote them: it names the old text
    /// without them, or by its digest. Only blanks that `matter` count. Fails only as the source does.
    pub fn lost_blanks(&self, matter: impl Fn(Blanks) -> bool) -> Result<Option<SampleLine>, S::Error> {
        let has_blanks = |line: &str| {
            let text = line.trim_end_matches([' ', '\t']);
            !text.is_empty() && line.get(text.len()..).and_then(Blanks::of).is_some_and(&matter)
        };
        let mut cursor = self.new_file().cursor();
        let mut found = None;
        let places = self.plan.splices.as_slice().iter().zip(self.plan.splices.new_places());
        for (fact, (splice, place)) in self.plan.facts.iter().zip(places) {
            let is_quoted = !fact.by_digest && fact.tier == Tier::Exact;
            if is_quoted || splice.at.end - splice.at.start > LONGEST_COMPARED {
                continue;
            }
            let old = read_range(self.old.source, splice.at.clone())?;
            let decode = |bytes| self.scan.encoding.decode(bytes);
            let (Ok(old), Ok(new)) = (decode(&old), decode(&splice.insert)) else { continue };
            let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
            let head = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
            let rest = old.len().min(new.len()) - head;
            let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(old, new)| old == new);
            let pairs = old.iter().zip(&new).take(head + rest - tail.count()).enumerate();
            for (index, _) in pairs.filter(|(_, (old, new))| has_blanks(old) && !has_blanks(new)) {
                let (line, _) = cursor.line_at(place.start)?;
                SampleLine::add(&mut found, LineNumber::from_index(line.index() + index as u64));
            }
        }
        Ok(found)
    }

    /// Returns the splices that turn the new bytes back into the old. They hold all bytes that the edit
    /// removes, of which there are [`SpliceSet::removed`]. Fails only as the source does.
    pub fn inverse(&self) -> Result<SpliceSet, S::Error> {
        self.plan.splices.inverse(self.old.source)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::slice;

    use super::*;
    use crate::encoding::Label;
    use crate::resolve::{MatchOptions, Patch, patch};

    fn scan(bytes: &[u8]) -> Scan {
        let mut scanner = Scanner::new(None);
        scanner.feed(bytes);
        scanner.finish()
    }

    #[test]
    fn what_is_told_is_of_the_new_bytes_whoever_reads_them() {
        let check = |old: &str, new: &str, from: &str, to: &str| {
            let old_scan = scan(old.as_bytes());
            let file = Scanned::new(old.as_bytes(), &old_scan);
            let plan = patch(file, None, &[Patch::text(from, to)], MatchOptions::default()).unwrap().unwrap();
            let preview = Preview::read(file, &plan).unwrap();
            let mut sunk = Vec::new();
            let by_hand = Preview::read_by(file, &plan, |new, scanner| {
                sunk = read_range(new, 0..new.size())?;
                scanner.feed(&sunk);
                Ok::<_, Infallible>(Digest::of(&sunk))
            });
            assert_eq!(preview.new_file().scan, by_hand.unwrap().new_file().scan);
            assert_eq!(*preview.new_file().scan, scan(new.as_bytes()));
            assert_eq!(
                sunk,
                if plan.unchanged { "" } else { new }.as_bytes(),
                "read only where something changes"
            );
            let back = preview.inverse().unwrap();
            let back = Spliced::new(new.as_bytes(), &back);
            assert_eq!(read_range(&back, 0..back.size()).unwrap(), old.as_bytes());
            preview.diff(&preview.regions().unwrap(), ["/a", "/b"]).unwrap()
        };
        let diff = check("one\ntwo\nthree\n", "one\n2\nthree\n", "two", "2");
        assert_eq!(diff, "--- /a\n+++ /b\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n");
        assert_eq!(check("one\n", "one\n", "one", "one"), "");
    }

    #[test]
    fn lines_that_are_joined_or_left_out_are_told() {
        let file = "a\nb\nc\nd\ne\nf\n";
        let check = |patches: &[Patch]| {
            let scan = scan(file.as_bytes());
            let file = Scanned::new(file.as_bytes(), &scan);
            let plan = patch(file, None, patches, MatchOptions::default()).unwrap().unwrap();
            let preview = Preview::read(file, &plan).unwrap();
            [preview.joined().unwrap(), preview.omission().unwrap()]
                .map(|spot| spot.map(|spot| (spot.line.get(), spot.more)))
        };
        // Lines are those of the new file.
        let longer = Patch::text("a\n", "a\na\na\n");
        let joins = ["b\n", "d\n", "e\n"].map(|text| Patch::text(text, "x"));
        let leaves_out = ["b", "d", "e"].map(|text| Patch::text(text, "x\n// ... the rest of it ...\n"));
        assert_eq!(check(slice::from_ref(&longer)), [None, None]);
        assert_eq!(check(&[slice::from_ref(&longer), &joins[..1]].concat()), [Some((4, 0)), None]);
        assert_eq!(check(&joins), [Some((2, 2)), None]);
        assert_eq!(check(&[&[longer], &leaves_out[..1]].concat()), [None, Some((5, 0))]);
        assert_eq!(check(&leaves_out), [None, Some((3, 2))]);
    }

    /// Returns what is told of blanks that may be too many, for a file of that encoding.
    fn indented(file: &str, patches: &[Patch], label: &str) -> String {
        let encoding = Label::parse(label).unwrap().encoding;
        let bytes = encoding.encode(file).unwrap();
        let mut scanner = Scanner::new(Some(encoding));
        scanner.feed(&bytes);
        let scan = scanner.finish();
        let file = Scanned::new(bytes.as_slice(), &scan);
        let plan = patch(file, None, patches, MatchOptions::default()).unwrap().unwrap();
        let told = Preview::read(file, &plan).unwrap().indentation().unwrap();
        told.map_or_else(
            || "none".to_owned(),
            |told| {
                let [file, text] = [told.of_file, told.of_text].map(|one| (one.spaces, one.tabs));
                format!("line {}: {file:?} and {text:?}, {} more", told.line, told.more)
            },
        )
    }

    #[test]
    fn so_many_blanks_are_no_indentation() {
        let told = |blanks: u64| {
            let file = " ".repeat(usize::try_from(blanks).unwrap()) + "b\n";
            indented(&file, &[Patch::text("b", " b")], "utf-8")
        };
        assert_eq!(told(LONGEST_INDENT), "line 1: (4096, 0) and (1, 0), 0 more");
        assert_eq!(told(LONGEST_INDENT + 1), "none");
    }

    #[test]
    fn blanks_of_the_file_and_of_the_new_text_are_told() {
        let file = "a\n    b\n\tc\n    d(b)\n    d\n";
        let check = |patches: &[Patch]| {
            let told = indented(file, patches, "utf-8");
            assert_eq!(indented(file, patches, "utf-16-le"), told);
            told
        };
        let rows: [&[Patch]; 16] = [
            &[Patch::text("b\n", "    b2\n")],
            &[Patch::text("c", "\tif c {\n\t\tc\n\t}")],
            &[Patch::text("b\n\tc", " \tb\n\tc")],
            &[Patch::text("d", "  e").all()],
            // Lines are those of the new file.
            &[Patch::text("a\n", ""), Patch::text("c", "  c")],
            &[Patch::text("c", "  c"), Patch::text("a", "a\na")],
            // The old text has these blanks, or the file has none before it, or there is text before it.
            &[Patch::text("  b\n", "    b2\n")],
            &[Patch::text("    b\n", "    b2\n")],
            &[Patch::text("a", "    a")],
            &[Patch::text("(b)", " (b)")],
            &[Patch::text("c", "c  ")],
            // Nothing needs to stand behind the blanks.
            &[Patch::text("c", "  ")],
            &[Patch::text("c", "  \nc")],
            // Nothing comes, and the next line has blanks of its own; or none; or the line is not at an end.
            &[Patch::text("b\n", "")],
            &[Patch::text("c\n", "")],
            &[Patch::text("c", "")],
        ];
        let told: Vec<String> = rows.iter().map(|row| check(row)).collect();
        insta::assert_snapshot!(told.join("\n"), @r"
        line 2: (4, 0) and (4, 0), 0 more
        line 3: (0, 1) and (0, 1), 0 more
        line 2: (4, 0) and (1, 1), 0 more
        line 4: (4, 0) and (2, 0), 1 more
        line 2: (0, 1) and (2, 0), 0 more
        line 4: (0, 1) and (2, 0), 0 more
        none
        none
        none
        none
        none
        line 3: (0, 1) and (2, 0), 0 more
        line 3: (0, 1) and (2, 0), 0 more
        line 2: (4, 0) and (0, 1), 0 more
        line 3: (0, 1) and (4, 0), 0 more
        none
        ");
    }
}
