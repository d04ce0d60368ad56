//! Compares the digest that a client remembers of the whole file with that of the file.

use super::evidence::may_have_moved;
use super::plan::Resolution;
use super::request::GuardedRange;
use crate::digest::DigestPrefix;
use crate::rejection::{Fit, Rejection};
use crate::scan::Scan;
use crate::scanned::Scanned;
use crate::source::Source;

/// Adds a [`Rejection::HashMismatch`] to a resolution if the file does not have the digest that the client
/// expects. Sorts the rejections by the parts of the request, those of the whole file first.
pub(super) fn guarded(scan: &Scan, expected: Option<&DigestPrefix>, resolution: Resolution) -> Resolution {
    let mut rejections = match (expected.filter(|tag| !tag.matches(&scan.digest)), resolution) {
        (None, Ok(plan)) => return Ok(plan),
        (None, Err(rejections)) => rejections,
        (Some(_), resolution) => {
            let mut rejections = resolution.err().unwrap_or_default();
            let fit = if rejections.is_empty() { Fit::Holds } else { Fit::Broken };
            rejections.push(Rejection::HashMismatch { actual: scan.digest, fit });
            rejections
        }
    };
    // Making the key copies the rejection, so it is made once for each.
    rejections.sort_by_cached_key(Rejection::at);
    Err(rejections)
}

/// Turns [`Fit::Holds`] into [`Fit::Repeated`] if `ranges`, which hold what they should, may be other lines
/// than were meant: in a file that has changed, a line number does not tell which of two equal places it
/// names.
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
