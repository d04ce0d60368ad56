//! Combines the single replacements that a request asks for into a [`Plan`].

use crate::encoding::{Validator, sniff_bom};
use crate::line::{LineNumber, LineRange};
use crate::matching::Tier;
use crate::rejection::{At, Finding, Rejection};
use crate::scan::Scanned;
use crate::show::excerpt;
use crate::shown_lines::Compared;
use crate::source::{Source, for_each_chunk, read_range};
use crate::splice::{Splice, SpliceSet, Spliced};

/// The splices that carry out a request for one file, with the facts about them that replies need.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The replacements.
    pub splices: SpliceSet,
    /// The facts about the splices, one for each, in the same order.
    pub facts: Vec<SpliceInfo>,
    /// True if the last line had no terminator and the edit adds one, because new lines follow it.
    pub adds_final_newline: bool,
    /// True if the new bytes equal the old ones; then nothing need be written.
    pub unchanged: bool,
}

/// The facts about a splice besides its bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpliceInfo {
    /// The tier in which its old text was found; [`Tier::Exact`] if there was no old text to find.
    pub tier: Tier,
    /// The number of bytes at the beginning of the inserted ones that terminate the line before. They are not
    /// part of the new lines.
    pub lead: usize,
    /// The likely slips in its new text.
    pub findings: Vec<Finding>,
    /// If the request names this place by its text alone, and the text is only a part of its first or last
    /// line: the part of the request, and these lines.
    pub cut: Option<(At, Vec<LineNumber>)>,
}

impl SpliceInfo {
    /// Makes the facts about a splice whose old text was found in `tier`, with nothing else to report.
    #[must_use]
    pub fn of(tier: Tier) -> Self {
        Self { tier, lead: 0, findings: Vec::new(), cut: None }
    }
}

/// A plan, or everything that is wrong with a request: at least one rejection, sorted by the parts of the
/// request. Rejections of the whole file come first.
pub type Resolution = Result<Plan, Vec<Rejection>>;

/// One replacement that a request asks for, with the part of the request and the lines to name in a
/// rejection.
pub(super) struct Claim {
    pub(super) at: At,
    pub(super) lines: LineRange,
    pub(super) splice: Splice,
    pub(super) fact: SpliceInfo,
}

/// Combines the claims of a request into a plan, if that is possible and `rejections` is empty. Otherwise
/// returns `rejections` with the reasons why the claims cannot be combined.
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

/// Returns a rejection for each place that a request names by its text alone, if the place is a part of a
/// line that another program has changed since it was shown: the client may have meant another line. The only
/// errors are those of the source.
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

/// The maximum number of bytes of a line that a rejection shows.
const MOST_SHOWN: usize = 2_000;

/// Whether the new bytes begin with a different byte order mark than the old ones, or only one of them has a
/// mark. The mark of UTF-16, FF FE, becomes that of UTF-32 if U+0000 follows it. In encodings without a mark,
/// its bytes are text.
fn changes_bom<S: Source + ?Sized>(file: Scanned<'_, S>, splices: &SpliceSet) -> Result<bool, S::Error> {
    if !file.scan.encoding.is_unicode() {
        return Ok(false);
    }
    let new = Spliced::new(file.source, splices);
    Ok(sniff_bom(&read_range(&new, 0..new.size().min(4))?) != file.scan.bom.then_some(file.scan.encoding))
}

/// Whether the new bytes decode. In ISO-2022-JP it is possible that they do not: by the WHATWG Encoding
/// Standard, two escape sequences in a row are an error.
fn still_decodes<S: Source + ?Sized>(file: Scanned<'_, S>, splices: &SpliceSet) -> Result<bool, S::Error> {
    let new = Spliced::new(file.source, splices);
    let mut validator = Validator::new(file.scan.encoding);
    for_each_chunk(&new, 0..new.size(), |_, chunk| {
        validator.feed(chunk);
        true
    })?;
    Ok(validator.finish().is_none())
}
