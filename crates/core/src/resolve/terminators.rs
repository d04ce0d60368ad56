//! Which line ends new text takes.
//!
//! The i-th new line takes the terminator of the i-th line it replaces, further ones that of the last; inserted lines,
//! and where there is none to take, that of the nearest line above, else below, else LF.

use crate::encoding::{Encoding, Seam, Unencodable};
use crate::line::{LineNumber, LineRange};
use crate::line_ending::LineEnding;
use crate::scan::Scan;
use crate::scanned::Scanned;
use crate::source::Source;

/// The terminators that new lines take, one after the other.
pub(super) struct Terminators {
    replaced: Vec<LineEnding>,
    last: LineEnding,
}

impl Terminators {
    /// Those for `wanted` lines that replace `lines`, which may be none.
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
        // Their ends alone are looked at: there may be many places on one long line.
        let mut cursor = file.cursor();
        let mut replaced = Vec::new();
        for index in lines.start().index()..lines.start().index().saturating_add(most) {
            replaced.extend(cursor.ending_of(LineNumber::from_index(index))?);
        }
        // All replaced lines are in `replaced` if more new ones are to come; the last one may lack its terminator, and
        // then the one before it is the nearest above.
        let last = match replaced.last() {
            Some(last) => *last,
            None => nearest(file, lines)?,
        };
        Ok(Self { replaced, last })
    }

    fn get(&self, index: usize) -> LineEnding {
        self.replaced.get(index).copied().unwrap_or(self.last)
    }

    /// `text`, whose lines end at `\n`, in the file's encoding and with these terminators.
    pub(super) fn encode(&self, text: &str, encoding: Encoding) -> Result<Vec<u8>, Unencodable> {
        let anywhere = Seam::ascii(0);
        self.encode_between(text, encoding, (anywhere, anywhere))
    }

    /// The same between two places of the file.
    pub(super) fn encode_between(
        &self,
        text: &str,
        encoding: Encoding,
        (before, after): (Seam, Seam),
    ) -> Result<Vec<u8>, Unencodable> {
        if self.last == LineEnding::Lf && self.replaced.iter().all(|ending| *ending == LineEnding::Lf) {
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
        // What fails must be told by its place in what the client sent.
        encoding
            .encode_between(&ended, before, after)
            .map_err(|fault| encoding.encode(text).err().unwrap_or(fault))
    }
}

/// The terminator of all lines of the file, where there is but one kind or none at all.
fn uniform(scan: &Scan) -> Option<LineEnding> {
    match scan.lines.census().name() {
        "lf" | "none" => Some(LineEnding::Lf),
        "crlf" => Some(LineEnding::CrLf),
        "cr" => Some(LineEnding::Cr),
        _ => None,
    }
}

/// The terminator of the nearest line above `lines`, else below them.
fn nearest<S: Source + ?Sized>(file: Scanned<'_, S>, lines: LineRange) -> Result<LineEnding, S::Error> {
    let above = lines.start().index();
    // The line above lacks a terminator only where it is the file's last.
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
