//! Combines the single replacements that a request asks for into a [`Plan`].

use crate::encoding::{Validator, sniff_bom};
use crate::line::{LineNumber, LineRange};
use crate::matching::Tier;
use crate::rejection::{At, Rejection};
use crate::scanned::Scanned;
use crate::show::excerpt;
use crate::shown_lines::Compared;
use crate::slip::Finding;
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
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpliceInfo {
    /// The tier in which its old text was found; [`Tier::Exact`] where there was none to find.
    pub tier: Tier,
    /// The number of the inserted bytes, from the first on, that end the line before: they are not part of
    /// the new lines.
    pub lead: usize,
    /// The likely slips in its new text.
    pub findings: Vec<Finding>,
    /// The part of the request that names this place by its text alone, and the lines that go on before or
    /// after that text.
    pub cut: Option<(At, Vec<LineNumber>)>,
}

impl SpliceInfo {
    /// Makes the facts about a splice that was found in `tier`, without any other fact.
    #[must_use]
    pub fn of(tier: Tier) -> Self {
        Self { tier, lead: 0, findings: Vec::new(), cut: None }
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
    let named: Vec<(At, LineRange)> = claims.iter().map(|claim| (claim.at, claim.lines)).collect();
    let lead = claims.iter().any(|claim| claim.fact.lead > 0);
    let (splices, facts) = claims.into_iter().map(|claim| (claim.splice, claim.fact)).unzip();
    match SpliceSet::new(splices) {
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

/// Returns a rejection for each place that a request names by its text alone, and that is a part of a line
/// which another program has changed since it was shown: the client may have meant another line. Fails only
/// as the source does.
pub fn unless_changed<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    plan: &Plan,
    known: &Compared,
) -> Result<Vec<Rejection>, S::Error> {
    let mut rejections = Vec::new();
    for (at, lines) in plan.facts.iter().filter_map(|fact| fact.cut.as_ref()) {
        if let Some(line) = lines.iter().find(|line| known.has_changed(**line)) {
            let lines = LineRange::new(*line, 1);
            let text = Box::new(excerpt(file, lines, (*line, 1), 1, MOST_SHOWN)?);
            rejections.push(Rejection::ChangedLine { at: *at, lines, text });
        }
    }
    Ok(rejections)
}

/// The most bytes of a line that a rejection has.
const MOST_SHOWN: usize = 2_000;

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
