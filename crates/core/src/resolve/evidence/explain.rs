//! Goes through the matches of a request that failed.

use super::super::plan::Claim;
use super::super::request::{GuardedRange, MatchOptions};
use super::view::{View, with_digest};
use crate::digest::{Digest, DigestPrefix};
use crate::line::{LineNumber, LineRange};
use crate::mismatch::LineWindow;
use crate::rejection::{At, Evidence, Rejection};
use crate::scanned::Scanned;
use crate::source::Source;

/// The most failures of one request that are searched for.
const MAX_EXPLAINED: usize = 8;

/// A match that failed, before it is known why.
pub(in super::super) struct Failed<'a> {
    pub(in super::super) at: At,
    /// The lines that were named; `None` where the text stands nowhere.
    pub(in super::super) lines: Option<LineRange>,
    /// The text that they lack; empty where only their digest is another one.
    pub(in super::super) old: &'a str,
    pub(in super::super) new: &'a str,
    /// The digest of the lines, if it is not that which the client remembers, and whether they have the text
    /// that was sent as well.
    pub(in super::super) hash: Option<(Digest, &'a DigestPrefix, bool)>,
}

/// Turns failures into rejections, with the evidence that helps to repair them. `claims` are what the patches
/// of the request replace, those that failed included; `new_strings` is their new text.
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

/// Finds a line whose digest was sent as that of the file.
pub(in super::super) fn line_of<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    tag: &DigestPrefix,
) -> Result<Option<LineNumber>, S::Error> {
    let first = LineRange::new(LineNumber::from_index(0), 1);
    let found = with_digest(file, first, |digest| tag.matches(digest))?;
    Ok(found.first().map(|lines| lines.start()))
}

/// Tells whether any of these ranges, all of which exist, can have moved: whether the same lines stand
/// elsewhere, too, or that is not known.
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
