//! Whether an edit was made before.

use std::collections::HashSet;

use super::view::View;
use crate::line::{LineNumber, LineRange};
use crate::matching::{Tier, trim_blanks};
use crate::rejection::Made;
use crate::source::Source;

/// A text of fewer characters stands somewhere by chance.
const LEAST_CHARS: usize = 8;
/// More bytes of a file than this are not looked at.
const LONG: usize = 16 * 1024;

impl<S: Source + ?Sized> View<'_, S> {
    /// Tells whether the new text stands in an asked range already, or across one of its ends.
    pub(super) fn made_at(&self, asked: LineRange, old: &str, new: &str) -> Result<Option<Made>, S::Error> {
        if new.trim().is_empty() {
            return Ok(None);
        }
        let mut lines = new.to_owned();
        if !lines.ends_with('\n') {
            lines.push('\n');
        }
        let there = self.search(&lines, true, Tier::Exact, Some(asked))?;
        let is_told = |place: &&LineRange| {
            **place == asked || place.overlaps(asked) && new.trim().chars().count() >= LEAST_CHARS
        };
        match there.iter().find(is_told) {
            Some(place) => self.made(*place, old, new),
            None => Ok(None),
        }
    }

    /// Tells whether the new text stands in the file already, in one place.
    pub(super) fn made_anywhere(&self, old: &str, new: &str) -> Result<Option<Made>, S::Error> {
        if new.trim().chars().count() < LEAST_CHARS {
            return Ok(None);
        }
        match self.search(new, false, Tier::Exact, None)?.as_slice() {
            [place] => self.made(*place, old, new),
            _ => Ok(None),
        }
    }

    /// Judges a place where the new text stands: that is the edit only if it brought a line that the old text lacks, and no line that
    /// it took away is still there. A text that is a part of the old one stands wherever that does: it tells nothing while a line that
    /// it took away is there.
    fn made(&self, lines: LineRange, old: &str, new: &str) -> Result<Option<Made>, S::Error> {
        let [old_lines, new_lines] =
            [old, new].map(|text| text.lines().map(trim_blanks).collect::<HashSet<_>>());
        let brings = new_lines.iter().any(|line| !line.is_empty() && !old_lines.contains(line));
        let around = old_lines.len() as u64;
        let first = lines.start().index().saturating_sub(around);
        let end = lines.end().saturating_add(around).min(self.file.scan.lines.count());
        let around = LineRange::new(LineNumber::from_index(first), end.saturating_sub(first));
        let text = self.whole(around, LONG)?;
        let took = |line: &str| !line.is_empty() && old_lines.contains(line) && !new_lines.contains(line);
        let is_gone = text.is_some_and(|text| !text.lines().map(trim_blanks).any(took));
        let tells = is_gone || !old.contains(new);
        Ok(tells.then_some(Made { lines, is_sure: brings && is_gone }))
    }
}
