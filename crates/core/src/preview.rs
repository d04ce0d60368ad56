//! Reads the file that an edit would produce, before anything is written: [`Preview`].
//!
//! The new bytes are read once. A caller that writes them does so in the same pass ([`Preview::read_by`]), so
//! the preview and the written file cannot differ. The line numbers of a reply come from the new bytes.

use std::mem::discriminant;

use crate::diff::{self, Comparison};
use crate::digest::{Digest, Hasher};
use crate::line::LineNumber;
use crate::regions::{Region, regions};
use crate::rejection::ReportedSlip;
use crate::resolve::Plan;
use crate::scan::{Scan, Scanned, Scanner};
use crate::source::{Source, for_each_chunk};
use crate::splice::{SpliceSet, Spliced};

/// A file, the plan of an edit, and the scan of the new bytes.
#[derive(Debug)]
pub struct Preview<'a, S: ?Sized> {
    old: Scanned<'a, S>,
    plan: &'a Plan,
    new: Spliced<'a, S>,
    scan: Scan,
}

impl<'a, S: Source + ?Sized> Preview<'a, S> {
    /// Reads the new bytes once, and writes them nowhere. Fails only if the source does.
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

    /// Calls `read` to read the new bytes. `read` must feed all of them to the scanner, in order, and return
    /// their digest, which nothing checks. It can write them in the same pass. `read` is not called for a
    /// plan that changes nothing. Fails only if `read` does.
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

    /// Returns the regions that the edit changes, as [`regions`] does.
    pub fn regions(&self) -> Result<Vec<Region>, S::Error> {
        regions(self.old, self.new_file(), self.plan)
    }

    /// Returns the diff, as [`diff::between`] does; `regions` must come from [`Preview::regions`].
    pub fn diff(&self, regions: &[Region], paths: [&str; 2]) -> Result<String, S::Error> {
        diff::between(self.old, self.new_file(), regions, paths)
    }

    /// Compares the old and the new file, as [`Comparison::new`] does; `regions` must come from
    /// [`Preview::regions`].
    pub fn comparison(&self, regions: &[Region], max_bytes: usize) -> Result<Comparison, S::Error> {
        Comparison::new(self.old, self.new_file(), regions, max_bytes)
    }

    /// Returns the likely slips in the new text, each kind once. Fails only if the source does.
    pub fn slips(&self) -> Result<Vec<ReportedSlip>, S::Error> {
        let mut cursor = self.new_file().cursor();
        let mut slips: Vec<ReportedSlip> = Vec::new();
        for (fact, place) in self.plan.facts.iter().zip(self.plan.splices.new_places()) {
            if fact.findings.is_empty() {
                continue;
            }
            let (first, _) = cursor.line_at(place.start + fact.lead as u64)?;
            for finding in &fact.findings {
                let line = LineNumber::from_index(first.index() + finding.line);
                let is_same_kind =
                    |other: &&mut ReportedSlip| discriminant(&other.slip) == discriminant(&finding.slip);
                match slips.iter_mut().find(is_same_kind) {
                    Some(first) => first.more += u64::from(first.line != line),
                    None => slips.push(ReportedSlip { slip: finding.slip, line, more: 0 }),
                }
            }
        }
        Ok(slips)
    }

    /// Returns the splices that turn the new bytes back into the old. They hold the bytes that the edit
    /// removes: at most [`SpliceSet::removed`] bytes, because equal lines are left out. Fails only if the
    /// source does.
    pub fn inverse(&self) -> Result<SpliceSet, S::Error> {
        self.plan.splices.inverse(self.old.source)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::resolve::{MatchOptions, Patch, patch};
    use crate::source::read_range;

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
}
