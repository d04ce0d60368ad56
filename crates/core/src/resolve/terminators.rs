//! Chooses the line ends of new text.
//!
//! The i-th new line takes the terminator of the i-th replaced line; if there are more new lines, they take
//! the terminator of the last replaced line. Inserted lines, and lines that replace a line without a
//! terminator, take the terminator of the nearest line above, else below, else LF.

use crate::encoding::{Encoding, Seam, Unencodable};
use crate::line::{LineNumber, LineRange};
use crate::line_ending::LineEnding;
use crate::scan::Scan;
use crate::scanned::Scanned;
use crate::source::Source;

/// The terminators of new lines, by the index of the line.
pub(super) struct Terminators {
    replaced: Vec<LineEnding>,
    last: LineEnding,
}

impl Terminators {
    /// Chooses the terminators of `wanted` new lines that replace `lines`; these are an empty range for an
    /// insertion.
    pub(super) fn of<S: Source + ?Sized>(
        file: Scanned<'_, S>,
        lines: LineRange,
        wanted: usize,
    ) -> Result<Self, S::Error> {
        if let Some(only) = uniform(file.scan) {
            return Ok(Self { replaced: Vec::new(), last: only });
        }
        if wanted == 0 {
            return Ok(Self { replaced: Vec::new(), last: LineEnding::Lf });
        }
        let most = lines.count().min(u64::try_from(wanted).unwrap_or(u64::MAX));
        // Reads only the ends of the lines, since many places can be on one long line.
        let mut cursor = file.cursor();
        let mut replaced = Vec::new();
        for index in lines.start().index()..lines.start().index().saturating_add(most) {
            replaced.extend(cursor.ending_of(LineNumber::from_index(index))?);
        }
        // `last` is used only for new lines without an entry in `replaced`. If the last replaced line has no
        // terminator, the last entry is that of the line before it, the nearest above.
        let last = match replaced.last() {
            Some(last) => *last,
            None => nearest(file, lines)?,
        };
        Ok(Self { replaced, last })
    }

    pub(super) fn get(&self, index: usize) -> LineEnding {
        self.replaced.get(index).copied().unwrap_or(self.last)
    }

    /// Encodes `text`, with these terminators in place of each `\n`.
    pub(super) fn encode(&self, text: &str, encoding: Encoding) -> Result<Vec<u8>, Unencodable> {
        let anywhere = Seam::ascii(0);
        self.encode_between(text, encoding, (anywhere, anywhere))
    }

    /// Does what [`Self::encode`] does, for text between two seams of the file, whose encoding states it
    /// fits.
    pub(super) fn encode_between(
        &self,
        text: &str,
        encoding: Encoding,
        (before, after): (Seam, Seam),
    ) -> Result<Vec<u8>, Unencodable> {
        if self.last == LineEnding::Lf && self.replaced.is_empty() {
            return encoding.encode_between(text, before, after);
        }
        let mut ended = String::with_capacity(text.len() + text.len() / 16);
        for (index, line) in text.split_inclusive('\n').enumerate() {
            match line.strip_suffix('\n') {
                Some(line) => {
                    ended.push_str(line);
                    ended.push_str(self.get(index).as_str());
                }
                None => ended.push_str(line),
            }
        }
        // The error must have the index in `text`, as the client sent it, and not in `ended`.
        encoding
            .encode_between(&ended, before, after)
            .map_err(|fault| encoding.encode(text).err().unwrap_or(fault))
    }
}

/// Returns the only kind of terminator in the file, or LF if it has no terminators; `None` if it has several
/// kinds.
fn uniform(scan: &Scan) -> Option<LineEnding> {
    match scan.lines.census().name() {
        "lf" | "none" => Some(LineEnding::Lf),
        "crlf" => Some(LineEnding::CrLf),
        "cr" => Some(LineEnding::Cr),
        _ => None,
    }
}

/// Returns the terminator of the nearest line above `lines`, else below them, else LF.
fn nearest<S: Source + ?Sized>(file: Scanned<'_, S>, lines: LineRange) -> Result<LineEnding, S::Error> {
    let above = lines.start().index();
    // If the line above is the file's last one and lacks a terminator, the line before it has one.
    for number in [above, above.saturating_sub(1), lines.end() + 1] {
        if let Some(ending) = ending_of(file, number)? {
            return Ok(ending);
        }
    }
    Ok(LineEnding::Lf)
}

fn ending_of<S: Source + ?Sized>(file: Scanned<'_, S>, number: u64) -> Result<Option<LineEnding>, S::Error> {
    let Some(line) = LineNumber::new(number).filter(|line| line.get() <= file.scan.lines.count()) else {
        return Ok(None);
    };
    file.cursor().ending_of(line)
}
