//! Turns the failed matches of a request into rejections with evidence.

use super::super::plan::Claim;
use super::super::request::{GuardedRange, MatchOptions};
use super::view::{View, with_digest};
use crate::digest::{Digest, DigestPrefix};
use crate::line::{LineNumber, LineRange};
use crate::mismatch::LineWindow;
use crate::rejection::{At, Evidence, Rejection};
use crate::scanned::Scanned;
use crate::source::Source;

/// The maximum number of failures of one request for which evidence is searched.
const MAX_EXPLAINED: usize = 8;

/// A failed match, before the cause is known.
pub(in super::super) struct Failed<'a> {
    pub(in super::super) at: At,
    /// The lines that the request names; `None` if it names none, and the text is nowhere in the file.
    pub(in super::super) lines: Option<LineRange>,
    /// The text that these lines, or the file, should have; empty if only the digest differs.
    pub(in super::super) old: &'a str,
    pub(in super::super) new: &'a str,
    /// If the lines do not have the digest that the client remembers: their digest, the client's, and whether
    /// the lines have the text that the client also sent.
    pub(in super::super) hash: Option<(Digest, &'a DigestPrefix, bool)>,
}

/// Turns failures into rejections, with the evidence that helps to repair them. `claims` has the replacements
/// of all patches of the request, including those that failed, and `new_strings` the new text of each patch.
pub(in super::super) fn explain<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    options: MatchOptions,
    (claims, new_strings): (&[Claim], &[&str]),
    failed: Vec<Failed<'_>>,
    rejections: &mut Vec<Rejection>,
) -> Result<(), S::Error> {
    let all: Vec<At> = failed.iter().map(|failure| failure.at).collect();
    let resolved: Vec<&Claim> = claims.iter().filter(|claim| !all.contains(&claim.at)).collect();
    let mut window = LineWindow::default();
    for (index, Failed { at, lines, old, new, hash }) in failed.into_iter().enumerate() {
        let is_searched = index < MAX_EXPLAINED;
        if is_searched && !window.has_all_of(file) {
            window = LineWindow::new(file, lines)?;
        }
        let view = View { file, options, window: &window, claims: &resolved, new_strings };
        let evidence = Box::new(match (lines, hash) {
            _ if !is_searched => Evidence::NotSearched,
            (Some(lines), Some((_, tag, _))) => view.range_hash(lines, tag, new)?,
            _ => view.mismatch(at, old, new, lines)?,
        });
        let Some(lines) = lines else {
            rejections.push(Rejection::NoMatch { at, evidence });
            continue;
        };
        let difference = if hash.is_none() { view.difference(lines, old) } else { None };
        let actual = Box::new(view.excerpt(lines, difference)?);
        rejections.push(match hash {
            Some((digest, tag, is_old_there)) => {
                let expected = Box::new(tag.clone());
                Rejection::RangeHashMismatch { at, lines, digest, expected, is_old_there, actual, evidence }
            }
            None => Rejection::ContentMismatch { at, lines, actual, evidence },
        });
    }
    Ok(())
}

/// Finds a line whose digest was sent as the digest of the file. Returns `None` also if the file is too large
/// to search.
pub(in super::super) fn line_of<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    tag: &DigestPrefix,
) -> Result<Option<LineNumber>, S::Error> {
    let first = LineRange::new(LineNumber::from_index(0), 1);
    let found = with_digest(file, first, |digest| tag.matches(digest))?;
    Ok(found.first().map(|lines| lines.start()))
}

/// Whether the lines of any of these ranges also stand elsewhere in the file, or whether this is not known.
/// Then the lines that were meant can have moved. All ranges exist.
pub(in super::super) fn may_have_moved<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    ranges: &[GuardedRange],
) -> Result<bool, S::Error> {
    if ranges.len() > MAX_EXPLAINED {
        return Ok(true);
    }
    for range in ranges {
        let Ok(lines) = range.lines(file.scan, At::default()) else {
            return Ok(true);
        };
        let digest = file.digest_of(file.bytes_of(lines)?)?;
        if with_digest(file, lines, |other| *other == digest)?.len() != 1 {
            return Ok(true);
        }
    }
    Ok(false)
}
