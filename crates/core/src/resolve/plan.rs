//! Combines the single replacements that a request asks for into a [`Plan`].

use crate::encoding::{Validator, sniff_bom};
use crate::line::LineRange;
use crate::matching::Tier;
use crate::rejection::{At, Rejection};
use crate::scanned::Scanned;
use crate::source::{Source, for_each_chunk, read_range};
use crate::splice::{Splice, SpliceSet, Spliced};

/// The splices that carry out a request for one file, with the facts about them that replies need.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The replacements.
    pub splices: SpliceSet,
    /// The facts about each splice, in the same order and as many.
    pub facts: Vec<SpliceInfo>,
    /// True if the edit ends a last line that had no terminator, so that new text starts on a line of its
    /// own.
    pub adds_final_newline: bool,
    /// True if the new bytes are the old ones, so that nothing need be written.
    pub unchanged: bool,
}

/// The facts about a splice besides its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpliceInfo {
    /// The tier in which its old text was found; [`Tier::Exact`] where there was none to find.
    pub tier: Tier,
    /// The number of the inserted bytes, from the first on, that end the line before: they are not part of
    /// the new lines.
    pub lead: usize,
    /// The blanks with which the new text begins, other text behind them, where the old text was found by
    /// itself and begins with none: behind blanks of the file they are perhaps too many. `None` where there
    /// are none.
    pub indent: Option<Blanks>,
    /// True if the text after the old one comes on the last line of the new one: the old text, found by
    /// itself, ended its line, and the new one does not.
    pub joins: bool,
    /// The line of the new text, counted from 0, that looks as if it stood for lines that were left out,
    /// where the old text has no such line. `None` where there is none.
    pub omission: Option<u64>,
    /// True if the request names the old lines by their digest alone.
    pub by_digest: bool,
}

impl SpliceInfo {
    /// Makes the facts about a splice that was found in `tier`, and of which there is nothing else to tell.
    #[must_use]
    pub fn of(tier: Tier) -> Self {
        Self { tier, lead: 0, indent: None, joins: false, omission: None, by_digest: false }
    }
}

/// Spaces and tabs that stand one after the other, counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Blanks {
    /// The number of spaces.
    pub spaces: u64,
    /// The number of tabs.
    pub tabs: u64,
}

impl Blanks {
    /// Counts a text that has nothing else; `None` if it has, or is empty.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let mut blanks = Self::default();
        for character in text.chars() {
            match character {
                ' ' => blanks.spaces += 1,
                '\t' => blanks.tabs += 1,
                _ => return None,
            }
        }
        (!text.is_empty()).then_some(blanks)
    }

    /// Returns how many there are.
    #[must_use]
    pub fn count(self) -> u64 {
        self.spaces + self.tabs
    }
}

/// A plan, or everything that is wrong with a request: at least one rejection, sorted by the parts of the
/// request, those of the whole file first.
pub type Resolution = Result<Plan, Vec<Rejection>>;

/// One replacement that a request asks for, with the part of the request and the lines that a rejection would
/// name.
pub(super) struct Claim {
    pub(super) at: At,
    pub(super) lines: LineRange,
    pub(super) splice: Splice,
    pub(super) fact: SpliceInfo,
}

/// Combines the claims of a request into a plan, or adds the reasons why that cannot be to `rejections`.
pub(super) fn plan<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    claims: Vec<Claim>,
    mut rejections: Vec<Rejection>,
) -> Result<Resolution, S::Error> {
    let mut claims = claims;
    claims.sort_by_key(|claim| (claim.splice.at.start, claim.splice.at.end));
    let facts = claims.iter().map(|claim| claim.fact).collect();
    let named: Vec<(At, LineRange)> = claims.iter().map(|claim| (claim.at, claim.lines)).collect();
    let lead = claims.iter().any(|claim| claim.fact.lead > 0);
    match SpliceSet::new(claims.into_iter().map(|claim| claim.splice).collect()) {
        Ok(splices) if rejections.is_empty() => {
            if file.scan.encoding.is_stateful() && !still_decodes(file, &splices)? {
                let shifts = named.iter().map(|(at, lines)| Rejection::ShiftState { at: *at, lines: *lines });
                return Ok(Err(shifts.collect()));
            }
            if changes_bom(file, &splices)? {
                let at = named.first().map(|(at, _)| *at).unwrap_or_default();
                return Ok(Err(vec![Rejection::ByteOrderMark { at }]));
            }
            let unchanged = splices.is_identity(file.source)?;
            Ok(Ok(Plan { splices, facts, adds_final_newline: lead, unchanged }))
        }
        Ok(_) => Ok(Err(rejections)),
        Err(overlaps) => {
            for overlap in overlaps {
                if let (Some(&first), Some(&second)) = (named.get(overlap.first), named.get(overlap.second)) {
                    rejections.push(Rejection::Overlap { first, second });
                }
            }
            Ok(Err(rejections))
        }
    }
}

/// Tells whether the new bytes begin with another byte order mark than the old ones, or with one where these
/// had none. FF FE, that of UTF-16, becomes that of UTF-32 if U+0000 is put behind it. In encodings that have
/// no mark its bytes are text.
fn changes_bom<S: Source + ?Sized>(file: Scanned<'_, S>, splices: &SpliceSet) -> Result<bool, S::Error> {
    if !file.scan.encoding.is_unicode() {
        return Ok(false);
    }
    let new = Spliced::new(file.source, splices);
    Ok(sniff_bom(&read_range(&new, 0..new.size().min(4))?) != file.scan.bom.then_some(file.scan.encoding))
}

/// Tells whether the new bytes decode. In ISO-2022-JP they may not: an escape sequence next to another one is
/// an error by the WHATWG Encoding Standard.
fn still_decodes<S: Source + ?Sized>(file: Scanned<'_, S>, splices: &SpliceSet) -> Result<bool, S::Error> {
    let new = Spliced::new(file.source, splices);
    let mut validator = Validator::new(file.scan.encoding);
    for_each_chunk(&new, 0..new.size(), |_, chunk| {
        validator.feed(chunk);
        true
    })?;
    Ok(validator.finish().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_are_counted_by_kind_and_together() {
        for (text, spaces, tabs) in [(" ", 1, 0), ("\t", 0, 1), ("  \t ", 3, 1)] {
            let blanks = Blanks::of(text).unwrap();
            assert_eq!(
                (blanks.spaces, blanks.tabs, blanks.count()),
                (spaces, tabs, spaces + tabs),
                "{text:?}"
            );
        }
        assert_eq!(["", "a", " a", "\u{a0}"].map(Blanks::of), [None; 4]);
    }
}
