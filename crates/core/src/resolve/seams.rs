//! Decides how new lines and their neighbours join: whether whole lines can be cut out of a file with a
//! stateful encoding (ISO-2022-JP), and which line ends new text gets.
//!
//! The i-th new line takes the terminator of the i-th replaced line; if there are more new lines, they take
//! the terminator of the last replaced line. Inserted lines, and lines that replace a line without a
//! terminator, take the terminator of the nearest line above, else below, else LF.

use std::ops::Range;

use crate::encoding::{Encoding, Seam, Unencodable};
use crate::line::{LineNumber, LineRange};
use crate::line_ending::LineEnding;
use crate::scan::{Scan, Scanned};
use crate::source::{Source, read_range};

/// Returns the seams before and after whole lines, between which new text is encoded. Returns `None` if a
/// stateful encoding is not in its ASCII state at both.
pub(super) fn seams_around<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    bytes: &Range<u64>,
) -> Result<Option<(Seam, Seam)>, S::Error> {
    if file.scan.encoding.is_stateful()
        && !(ascii_state_at(file.source, bytes.start)? && ascii_state_at(file.source, bytes.end)?)
    {
        return Ok(None);
    }
    Ok(Some((Seam::ascii(bytes.start), Seam::ascii(bytes.end))))
}

/// Whether ISO-2022-JP is in its ASCII state at `offset`: the last escape sequence before `offset`, if any,
/// must switch to it. In a file that decodes, every ESC begins an escape sequence.
pub(super) fn ascii_state_at<S: Source + ?Sized>(source: &S, offset: u64) -> Result<bool, S::Error> {
    const ESCAPE: u8 = 0x1B;
    const BLOCK: u64 = 4096;
    let mut end = offset;
    while end > 0 {
        let start = end.saturating_sub(BLOCK);
        // Also reads the first two bytes of the block after this one, in case an escape sequence continues
        // there.
        let bytes = read_range(source, start..(end + 2).min(offset))?;
        if let Some(at) = memchr::memrchr(ESCAPE, &bytes) {
            return Ok(bytes.get(at + 1..at + 3) == Some(b"(B"));
        }
        end = start;
    }
    Ok(true)
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::Label;
    use crate::rejection::Rejection;
    use crate::resolve::tests::tag;
    use crate::resolve::{GuardedRange, MatchOptions, Patch, Position, Resolution, delete, insert, patch};
    use crate::scan::Scanner;
    use crate::splice::Spliced;

    fn told(file: &str, patches: &[Patch]) -> String {
        become_of(file, |file| patch(file, None, patches, MatchOptions::default()).unwrap())
    }

    /// Returns a file in ISO-2022-JP after an edit, or `cut` for each place where it cannot be cut. `^` is
    /// ESC.
    fn become_of(file: &str, resolve: impl FnOnce(Scanned<'_, [u8]>) -> Resolution) -> String {
        let bytes = file.replace('^', "\x1b").into_bytes();
        let mut scanner = Scanner::new(Some(Label::parse("iso-2022-jp").unwrap().encoding));
        scanner.feed(&bytes);
        let scan = scanner.finish();
        match resolve(Scanned::new(bytes.as_slice(), &scan)) {
            Ok(plan) => {
                let new = Spliced::new(bytes.as_slice(), &plan.splices);
                String::from_utf8(read_range(&new, 0..new.size()).unwrap()).unwrap().replace('\x1b', "^")
            }
            Err(rejections) => {
                let is_cut = |one: &Rejection| matches!(one, Rejection::ShiftState { .. });
                assert!(rejections.iter().all(is_cut), "{rejections:?}");
                vec!["cut"; rejections.len()].join(", ")
            }
        }
    }

    #[test]
    fn lines_are_replaced_between_two_places_in_the_ascii_state() {
        let file = "one\n^(Jtwo\nthree\n^(Bfour\nfive\n";
        let line = |start: usize, end: usize| {
            let [first, last] = [start, end].map(|line| i64::try_from(line).unwrap());
            let range = GuardedRange { start: first, end: Some(last), range_hash: None };
            let old = file.replace("^(J", "").replace("^(B", "");
            let old: Vec<&str> = old.split('\n').collect();
            let old = old[start - 1..end].join("\n");
            told(file, &[Patch { ranges: vec![range], ..Patch::text(old, "new") }])
        };
        assert_eq!(line(1, 1), "new\n^(Jtwo\nthree\n^(Bfour\nfive\n");
        assert_eq!(line(2, 2), "cut");
        assert_eq!(line(3, 3), "cut");
        assert_eq!(line(4, 4), "cut");
        assert_eq!(line(2, 4), "one\nnew\nfive\n");
        assert_eq!(line(5, 5), "one\n^(Jtwo\nthree\n^(Bfour\nnew\n");
        // A patch by text alone can end in another state: the text that follows keeps its own.
        assert_eq!(told(file, &[Patch::text("two", "new")]), "one\nnew^(J\nthree\n^(Bfour\nfive\n");
        assert_eq!(told(file, &[Patch::text("five", "new")]), "one\n^(Jtwo\nthree\n^(Bfour\nnew\n");
    }

    #[test]
    fn lines_come_and_go_between_two_places_in_the_ascii_state() {
        let file = "one\n^(Jtwo\nthree\n^(Bfour\nfive\n";
        let without = |line: i64, bytes: &str| {
            let range_hash = Some(tag(&bytes.replace('^', "\x1b")));
            let range = GuardedRange { start: line, end: Some(line), range_hash };
            become_of(file, |file| delete(file, None, &[range]).unwrap())
        };
        assert_eq!(without(1, "one\n"), "^(Jtwo\nthree\n^(Bfour\nfive\n");
        assert_eq!(without(2, "^(Jtwo\n"), "cut");
        assert_eq!(without(3, "three\n"), "cut");
        let with =
            |line| become_of(file, |file| insert(file, None, "new", Position::After(line), None).unwrap());
        assert_eq!(with(1), "one\nnew\n^(Jtwo\nthree\n^(Bfour\nfive\n");
        assert_eq!(with(2), "cut");
        assert_eq!(with(3), "cut");
        assert_eq!(with(4), "one\n^(Jtwo\nthree\n^(Bfour\nnew\nfive\n");
    }

    /// Checks each result by decoding it: in the WHATWG Encoding Standard, an escape sequence directly after
    /// another one is an error.
    #[test]
    fn no_edit_leaves_bytes_that_do_not_decode() {
        assert_eq!(told("^$B$\"^(Bx^$B$$^(B\n", &[Patch::text("x", "")]), "^$B$\"$$^(B\n");
        assert_eq!(told("^$B$\"^(Bx^$B$$^(B\n", &[Patch::text("x", "y")]), "^$B$\"^(By^$B$$^(B\n");
        // Each patch alone would leave one character between the two escape sequences.
        let both = [Patch::text("x", ""), Patch::text("y", "")];
        assert_eq!(told("^$B$\"^(Bxy^$B$$^(B\n", &both), "cut, cut");
    }

    #[test]
    fn the_last_escape_sequence_tells_the_state_however_far_away() {
        let naive = |bytes: &[u8], offset: usize| {
            let last = bytes[..offset].iter().rposition(|byte| *byte == 0x1B);
            last.is_none_or(|at| bytes.get(at + 1..at + 3) == Some(b"(B"))
        };
        for (head, sequence) in
            [("\x1b(Jone", "\x1b(B"), ("\x1b(Jone", "\x1b(J"), ("", "\x1b(B"), ("", "\x1b(J")]
        {
            let gaps = (0..12).chain(4085..4105).chain(8180..8200);
            for gap in gaps.step_by(if cfg!(miri) { 7 } else { 1 }) {
                let file = [head, sequence, &"x".repeat(gap)].concat().into_bytes();
                for offset in [0, head.len().min(3), head.len(), head.len() + 3, file.len()] {
                    let is_ascii = ascii_state_at(file.as_slice(), offset as u64).unwrap();
                    assert_eq!(is_ascii, naive(&file, offset), "{head:?} {sequence:?} {gap} {offset}");
                }
            }
        }
    }
}
