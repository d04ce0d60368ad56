//! Finds out whether an edit was made before.

use std::collections::HashSet;

use super::view::View;
use crate::cause::{collapsed, end, is_telling, readings};
use crate::elision::is_elision;
use crate::line::{LineNumber, LineRange};
use crate::matching::{Tier, trim_blanks};
use crate::rejection::AlreadyApplied;
use crate::source::Source;

/// A text of fewer characters stands somewhere by chance.
const LEAST_CHARS: usize = 8;
/// More bytes of a file than this are not looked at.
const LONG: usize = 16 * 1024;
/// The most lines of which parts of others are looked for.
const MOST_PARTS: usize = 200;

impl<S: Source + ?Sized> View<'_, S> {
    /// Returns the place where the new text stands already, if that is in an asked range, or across one of
    /// its ends.
    pub(super) fn made_at(
        &self,
        asked: LineRange,
        old: &str,
        new: &str,
    ) -> Result<Option<AlreadyApplied>, S::Error> {
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

    /// Returns the place where the new text stands in the file already, if there is exactly one.
    pub(super) fn made_anywhere(&self, old: &str, new: &str) -> Result<Option<AlreadyApplied>, S::Error> {
        if new.trim().chars().count() < LEAST_CHARS {
            return Ok(None);
        }
        match self.search(new, false, Tier::Exact, None)?.as_slice() {
            [place] => self.made(*place, old, new),
            _ => Ok(None),
        }
    }

    /// Judges a place where the new text stands: that is the edit only if it brought a line that the old text
    /// lacks, and no line that it took away is still there. A text that is a part of the old one stands
    /// wherever that does: it tells nothing while a line that it took away is there.
    fn made(&self, lines: LineRange, old: &str, new: &str) -> Result<Option<AlreadyApplied>, S::Error> {
        let old = Old::new(old);
        let new_lines = new.lines().map(trim_blanks).collect::<HashSet<_>>();
        let brings = new_lines.iter().any(|line| !line.is_empty() && !old.lines.contains(*line));
        let taken = old.taken(new);
        let around = old.sent.lines().count() as u64;
        let first = lines.start().index().saturating_sub(around);
        let end = lines.end().saturating_add(around).min(self.file.scan.lines.count());
        let around = LineRange::new(LineNumber::from_index(first), end.saturating_sub(first));
        let text = self.whole(around, LONG)?;
        let is_gone = text.is_some_and(|text| !text.lines().any(|line| taken.still_has(line)));
        let tells = is_gone || !old.sent.contains(new);
        Ok(tells.then_some(AlreadyApplied { lines, is_sure: brings && is_gone }))
    }
}

/// The old text in every way in which it may be read.
struct Old<'a> {
    sent: &'a str,
    /// Its lines, blanks at their ends aside.
    lines: HashSet<String>,
}

impl<'a> Old<'a> {
    fn new(sent: &'a str) -> Self {
        let readings = readings(sent.strip_suffix('\n').unwrap_or(sent));
        let lines = readings.iter().flat_map(|reading| reading.text.split('\n'));
        Self { sent, lines: lines.map(|line| trim_blanks(line).to_owned()).collect() }
    }

    /// Returns the lines that the new text takes away, slips undone. Lines that may stand for others, or be
    /// none of the file's, are left out.
    fn taken(&self, new: &str) -> Taken {
        let kept: HashSet<String> = new.lines().map(collapsed).collect();
        let own = self.lines.iter().filter(|line| end(line).is_none() && is_elision(line).is_none());
        let lines = own.map(|line| collapsed(line.as_str())).filter(|line| !kept.contains(line)).collect();
        Taken { lines, kept }
    }
}

/// Lines that an edit takes away, and those that it keeps or brings, with slips undone.
struct Taken {
    lines: HashSet<String>,
    kept: HashSet<String>,
}

impl Taken {
    /// Tells whether a line of the file is one of those that were to go: the same once slips are undone, or
    /// all but what was cut off, or the beginning or the end of lines that were joined.
    fn still_has(&self, line: &str) -> bool {
        let line = collapsed(line);
        let is_part =
            |whole: &str, part: &str| is_telling(part) && (whole.starts_with(part) || whole.ends_with(part));
        !line.is_empty()
            && !self.kept.contains(&line)
            && (self.lines.contains(&line)
                || self
                    .lines
                    .iter()
                    .take(MOST_PARTS)
                    .any(|taken| is_part(&line, taken) || is_part(taken, &line)))
    }
}
