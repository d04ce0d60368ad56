//! Compares the digest of the whole file that a client remembers with the actual one.

use super::evidence::{line_of, may_have_moved};
use super::plan::Resolution;
use super::request::GuardedRange;
use crate::digest::DigestPrefix;
use crate::rejection::{Fit, Rejection};
use crate::scan::Scanned;
use crate::source::Source;

/// Adds a [`Rejection::HashMismatch`] to a resolution if the file does not have the digest that the client
/// expects. Sorts the rejections by the parts of the request; rejections of the whole file come first.
pub(super) fn guarded<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    expected: Option<&DigestPrefix>,
    resolution: Resolution,
) -> Result<Resolution, S::Error> {
    let actual = file.scan.digest;
    let mut rejections = match (expected.filter(|tag| !tag.matches(&actual)), resolution) {
        (None, Ok(plan)) => return Ok(Ok(plan)),
        (None, Err(rejections)) => rejections,
        (Some(expected), resolution) => {
            let mut rejections = resolution.err().unwrap_or_default();
            let fit = match line_of(file, expected)? {
                Some(line) => Fit::OfLine(line),
                None if rejections.is_empty() => Fit::Holds,
                None => Fit::Broken,
            };
            rejections.push(Rejection::HashMismatch { actual, fit });
            rejections
        }
    };
    // The sort key copies the rejection, so it is computed only once for each.
    rejections.sort_by_cached_key(Rejection::at);
    Ok(Err(rejections))
}

/// Turns [`Fit::Holds`] into [`Fit::Repeated`] if `ranges`, although they hold what the client expects, may
/// be other lines than the client meant: in a file that has changed, a line number does not tell which of two
/// equal places was meant.
pub(super) fn unless_moved<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    mut resolution: Resolution,
    ranges: &[GuardedRange],
) -> Result<Resolution, S::Error> {
    if let Err(rejections) = &mut resolution
        && let [Rejection::HashMismatch { fit: fit @ Fit::Holds, .. }] = rejections.as_mut_slice()
        && may_have_moved(file, ranges)?
    {
        *fit = Fit::Repeated;
    }
    Ok(resolution)
}
