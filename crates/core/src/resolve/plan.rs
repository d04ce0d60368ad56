//! A [`Plan`]: the splices of a request, put together from the single replacements that it asks for.

use crate::encoding::{Validator, sniff_bom};
use crate::line::LineRange;
use crate::matching::Tier;
use crate::rejection::{At, Rejection};
use crate::scanned::Scanned;
use crate::source::{Source, for_each_chunk, read_range};
use crate::splice::{Splice, SpliceSet, Spliced};

/// What an edit will do to one file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The replacements.
    pub splices: SpliceSet,
    /// What is to be known of each, in the same order.
    pub facts: Vec<SpliceInfo>,
    /// Whether a final newline is put where there was none, so that new text starts on a line of its own.
    pub adds_final_newline: bool,
    /// Whether the new bytes are the old ones.
    pub unchanged: bool,
}

/// What is known of a splice besides its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpliceInfo {
    /// How its old text was found.
    pub tier: Tier,
    /// How many of the inserted bytes end the line before: they are not part of the new lines.
    pub lead: usize,
}

/// A plan, or all that is wrong with a request.
pub type Resolution = Result<Plan, Vec<Rejection>>;

/// One replacement that a request asks for.
pub(super) struct Claim {
    pub(super) at: At,
    pub(super) lines: LineRange,
    pub(super) splice: Splice,
    pub(super) fact: SpliceInfo,
}

/// Puts the claims of a call together, or says which of them cannot be.
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

/// Whether the new bytes begin with a byte order mark where the old did not, or with another: FF FE, that of UTF-16, is
/// part of UTF-32's where U+0000 comes to stand behind it. In encodings that have no mark its bytes are text.
fn changes_bom<S: Source + ?Sized>(file: Scanned<'_, S>, splices: &SpliceSet) -> Result<bool, S::Error> {
    if !file.scan.encoding.is_unicode() {
        return Ok(false);
    }
    let new = Spliced::new(file.source, splices);
    Ok(sniff_bom(&read_range(&new, 0..new.size().min(4))?) != file.scan.bom.then_some(file.scan.encoding))
}

/// Whether the new bytes decode. Of ISO-2022-JP that is not a matter of course: an escape sequence may come to stand
/// beside another, which is an error by the WHATWG standard.
fn still_decodes<S: Source + ?Sized>(file: Scanned<'_, S>, splices: &SpliceSet) -> Result<bool, S::Error> {
    let new = Spliced::new(file.source, splices);
    let mut validator = Validator::new(file.scan.encoding);
    for_each_chunk(&new, 0..new.size(), |_, chunk| {
        validator.feed(chunk);
        true
    })?;
    Ok(validator.finish().is_none())
}
