//! Goes through the matches of a request that failed.

use super::super::plan::Claim;
use super::super::request::{GuardedRange, MatchOptions};
use super::view::View;
use crate::digest::{Digest, DigestPrefix};
use crate::line::{LineNumber, LineRange};
use crate::rejection::{At, Rejection};
use crate::scanned::Scanned;
use crate::source::Source;

/// The most failures of one request that are explained in full. The others have the actual text, and a cause
/// where that is cheap.
const MAX_EXPLAINED: usize = 8;

/// A match that failed, before it is known why.
pub(in super::super) enum Failed<'a> {
    /// The text of some lines is not `old`.
    Content { at: At, lines: LineRange, old: &'a str, new: &'a str },
    /// Lines do not have the digest that the client remembers; they may have the text that was sent as well.
    RangeHash {
        at: At,
        lines: LineRange,
        digest: Digest,
        tag: &'a DigestPrefix,
        is_old_there: bool,
        new: Option<&'a str>,
    },
    /// A text stands nowhere.
    NoMatch { at: At, old: &'a str, new: &'a str },
}

impl Failed<'_> {
    fn at(&self) -> At {
        match self {
            Self::Content { at, .. } | Self::RangeHash { at, .. } | Self::NoMatch { at, .. } => *at,
        }
    }
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
    let all: Vec<At> = failed.iter().map(Failed::at).collect();
    let made: Vec<&Claim> = claims.iter().filter(|claim| !all.contains(&claim.at)).collect();
    for (index, failure) in failed.into_iter().enumerate() {
        let view = View { file, options, thorough: index < MAX_EXPLAINED, made: &made, new_strings };
        rejections.push(match failure {
            Failed::Content { at, lines, old, new } => Rejection::ContentMismatch {
                at,
                lines,
                evidence: Box::new(view.content(at, lines, old, new)?),
            },
            Failed::RangeHash { at, lines, digest, tag, is_old_there, new } => Rejection::RangeHashMismatch {
                at,
                lines,
                digest,
                expected: tag.clone(),
                is_old_there,
                evidence: Box::new(view.range_hash(lines, tag, new)?),
            },
            Failed::NoMatch { at, old, new } => {
                Rejection::NoMatch { at, evidence: Box::new(view.no_match(at, old, new)?) }
            }
        });
    }
    Ok(())
}

/// Finds a line whose digest was sent as that of the file.
pub(in super::super) fn line_of<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    tag: &DigestPrefix,
) -> Result<Option<LineNumber>, S::Error> {
    let view = View { file, options: MatchOptions::default(), thorough: true, made: &[], new_strings: &[] };
    let first = LineRange::new(LineNumber::from_index(0), 1);
    let found = view.with_digest(first, |digest| tag.matches(digest))?;
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
    let view = View { file, options: MatchOptions::default(), thorough: true, made: &[], new_strings: &[] };
    for range in ranges {
        let Ok(lines) = range.lines(file.scan, At::default()) else {
            return Ok(true);
        };
        let digest = file.digest_of(file.bytes_of(lines)?)?;
        if view.with_digest(lines, |other| *other == digest)?.len() != 1 {
            return Ok(true);
        }
    }
    Ok(false)
}
