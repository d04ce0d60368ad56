//! Finds out whether whole lines can be cut out of a file with a stateful encoding (ISO-2022-JP).

use std::ops::Range;

use crate::encoding::Seam;
use crate::scanned::Scanned;
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
