//! `delete_text_file_contents`: whole lines go, each range guarded by its digest.

use crate::digest::Tag;
use crate::error::{At, Rejection};
use crate::matching::Tier;
use crate::scan::Scan;
use crate::source::Source;
use crate::splice::Splice;

use super::evidence::{Failed, explain};
use super::{
    Claim, Fact, GuardedRange, Options, Resolution, digest_of, existing_lines, guarded, plan, seams_around,
};

/// Deletes lines.
pub fn delete<S: Source + ?Sized>(
    source: &S,
    scan: &Scan,
    file_hash: Option<&Tag>,
    ranges: &[GuardedRange],
) -> Result<Resolution, S::Error> {
    let (mut claims, mut rejections, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    for (number, range) in ranges.iter().enumerate() {
        let at = At { patch: 0, range: Some(number) };
        let lines = match existing_lines(scan, at, range.start, range.end) {
            Ok(lines) => lines,
            Err(rejection) => {
                rejections.push(rejection);
                continue;
            }
        };
        let bytes = scan.lines.bytes_of(source, lines)?;
        if let Some(tag) = &range.range_hash {
            let digest = digest_of(source, bytes.clone())?;
            if !tag.matches(&digest) {
                failed.push(Failed::RangeHash { at, lines, digest, tag });
            }
        }
        if seams_around(source, scan, &bytes)?.is_none() {
            rejections.push(Rejection::ShiftState { at, lines });
        }
        let splice = Splice { at: bytes, insert: Vec::new() };
        claims.push(Claim { at, lines, splice, fact: Fact { tier: Tier::Exact, lead: 0 } });
    }
    explain(source, scan, Options::default(), failed, &mut rejections)?;
    Ok(guarded(scan, file_hash, plan(source, scan, claims, rejections)?))
}
