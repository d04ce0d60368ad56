//! `insert_text_file_contents`: new lines before or after one.

use crate::digest::Tag;
use crate::error::{At, Rejection};
use crate::line::{LineNumber, LineRange};
use crate::matching::Tier;
use crate::scan::Scan;
use crate::source::Source;
use crate::splice::Splice;

use super::terminators::Terminators;
use super::{Claim, Fact, Resolution, guarded, place_of, plan, seams_around};

/// Where new lines go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Position {
    /// After this line; 0 is the top.
    After(u64),
    /// Before this line; one more than the last line is the end.
    Before(u64),
}

/// Inserts lines. `contents` has `\n` for line ends; the last line is ended if it is not.
pub fn insert<S: Source + ?Sized>(
    source: &S,
    scan: &Scan,
    file_hash: Option<&Tag>,
    contents: &str,
    position: Position,
) -> Result<Resolution, S::Error> {
    let total = scan.lines.count();
    let (named, above) = match position {
        Position::After(line) => (line, Some(line)),
        Position::Before(line) => (line, line.checked_sub(1)),
    };
    let mut rejections = Vec::new();
    let mut claims = Vec::new();
    if let Err(fault) = scan.encoding.encode(contents) {
        let (line, column) = place_of(contents, &fault);
        rejections.push(Rejection::Unencodable {
            at: At::default(),
            character: fault.character,
            line,
            column,
        });
    }
    match above.filter(|above| *above <= total) {
        None => {
            let start = i64::try_from(named).unwrap_or(i64::MAX);
            rejections.push(Rejection::LineOutOfRange { at: At::default(), start, end: None, total });
        }
        Some(above) => {
            let claim = lines_after(source, scan, above, contents)?;
            if let Some(claim) = &claim
                && seams_around(source, scan, &claim.splice.at)?.is_none()
            {
                rejections.push(Rejection::ShiftState { at: At::default(), lines: claim.lines });
            }
            claims.extend(claim);
        }
    }
    Ok(guarded(scan, file_hash, plan(source, scan, claims, rejections)?))
}

/// New lines after the line `above`, which is 0 for the top of the file; `None` if the encoding lacks a character.
fn lines_after<S: Source + ?Sized>(
    source: &S,
    scan: &Scan,
    above: u64,
    contents: &str,
) -> Result<Option<Claim>, S::Error> {
    let here = LineRange::new(LineNumber::from_index(above), 0);
    let offset = scan.lines.offset_of(source, here.start())?;
    // A last line without a terminator is ended first, like the lines that follow it.
    let lead =
        if above > 0 && above == scan.lines.count() && scan.lines.is_unterminated() { "\n" } else { "" };
    let end = if contents.ends_with('\n') { "" } else { "\n" };
    let text = [lead, contents, end].concat();
    // In a mixed file every inserted line takes the one terminator of its neighbour.
    let terminators = Terminators::of(source, scan, here, 1)?;
    let encode = |text| terminators.encode(text, scan.encoding).ok();
    let claim = encode(lead).zip(encode(&text)).map(|(lead, insert)| Claim {
        at: At::default(),
        lines: here,
        splice: Splice { at: offset..offset, insert },
        fact: Fact { tier: Tier::Exact, lead: lead.len() },
    });
    Ok(claim)
}
