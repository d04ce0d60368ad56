//! Finds out whether a missing text would be in the file after an earlier patch of the same request.

use super::super::plan::Claim;
use super::view::View;
use crate::line::{LineNumber, LineRange};
use crate::rejection::{At, Evidence};
use crate::source::{Source, read_range};

/// The maximum number of replacements that are tried.
const MAX_TRIED: usize = 64;
/// The maximum number of lines, and of bytes, of a text that is looked for.
const MAX_LINES: u64 = 200;
const MAX_BYTES: u64 = 64 * 1024;
/// The maximum length in bytes of a merged text that is shown.
const LONGEST_MERGED: usize = 2000;

impl<S: Source + ?Sized> View<'_, S> {
    /// Returns [`Evidence::After`] if an earlier patch would put `old`, or a part of it, into the file;
    /// `None` if no earlier patch does, or `old` is too long.
    pub(super) fn dependency(&self, at: At, old: &str, new: &str) -> Result<Option<Evidence>, S::Error> {
        let lines = old.lines().count() as u64;
        if old.trim().is_empty() || lines > MAX_LINES || old.len() as u64 > MAX_BYTES {
            return Ok(None);
        }
        let earlier = self.claims.iter().filter(|claim| claim.at.patch < at.patch);
        for claim in earlier.take(MAX_TRIED) {
            if self.stands_after(claim, old, lines)? {
                let earlier = self.new_strings.get(claim.at.patch).copied().unwrap_or_default();
                let is_within_once = earlier.matches(old).count() == 1;
                let merged = is_within_once.then(|| earlier.replacen(old, new, 1));
                let merged = merged.filter(|merged| merged.len() <= LONGEST_MERGED);
                return Ok(Some(Evidence::After { patch: claim.at, merged }));
            }
        }
        Ok(None)
    }

    /// Whether `old`, which has `lines` lines, would stand where the claim puts its new text, and include
    /// some of the new text.
    fn stands_after(&self, claim: &Claim, old: &str, lines: u64) -> Result<bool, S::Error> {
        let (file, splice) = (self.file, &claim.splice);
        let first = claim.lines.start().index().saturating_sub(lines);
        let above = file.offset_of(LineNumber::from_index(first))?;
        let end = claim.lines.end().saturating_add(lines).min(file.scan.lines.count());
        let below =
            file.bytes_of(LineRange::new(LineNumber::from_index(first), end.saturating_sub(first)))?.end;
        let (above, below) = (above..splice.at.start, splice.at.end..below.max(splice.at.end));
        let size =
            above.end.saturating_sub(above.start) + (below.end - below.start) + splice.insert.len() as u64;
        if size > 4 * MAX_BYTES {
            return Ok(false);
        }
        let (above, below) = (read_range(file.source, above)?, read_range(file.source, below)?);
        let text = |parts: &[&[u8]]| {
            let parts = parts.concat();
            let text = file.scan.encoding.decode(&parts).unwrap_or_default();
            text.replace("\r\n", "\n").replace('\r', "\n")
        };
        let needs = |parts: &[&[u8]]| text(parts).contains(old);
        Ok(needs(&[&above, &splice.insert, &below]) && !needs(&[&above]) && !needs(&[&below]))
    }
}
