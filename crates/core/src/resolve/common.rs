//! Keeps the file's own bytes for lines that the old text and the new text have in common, if the old text
//! was found only in the second tier, which ignores blanks at line ends. A client that does not see or send
//! these blanks does not mean to remove them.

use std::ops::Range;

use super::seams::{Terminators, ascii_state_at};
use crate::encoding::Seam;
use crate::line::{LineNumber, LineRange};
use crate::matching::trim_blanks;
use crate::scan::Scanned;
use crate::source::{Source, read_range};

/// A part of the replacement of an old text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum ReplacementPart {
    /// The bytes of the file at these offsets.
    Kept(Range<u64>),
    /// New text, with `\n` for line ends, and the lines that it replaces, an empty range for none.
    New(String, LineRange),
}

/// Returns the parts of the replacement of `old`, which the second tier has found at the offsets `at`, on
/// `lines`. Lines at the head and at the tail that are equal in `old` and `new`, except for blanks at their
/// ends, keep the file's bytes. But if `old` equals the file's line with its blanks, and `new` has other
/// blanks, the client asks for those: then only the terminator is kept.
///
/// Returns `None` if nothing is kept, because there is no such line, a stateful encoding is not in its ASCII
/// state next to it, or the file has changed. The only errors are those of the source.
pub(super) fn parts<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    at: &Range<u64>,
    lines: LineRange,
    old: &str,
    new: &str,
) -> Result<Option<Vec<ReplacementPart>>, S::Error> {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    // If the last new line lacks its `\n`, it is a whole line of the file only if the match ends at a line
    // end. Otherwise the text after the match continues it, and only an old line that is also continued can
    // equal it.
    let is_ended = new.last().is_none_or(|last| last.ends_with('\n')) || ends_line(file, at.end)?;
    let alike = |(old, new): (&&str, &&str)| {
        trim_blanks(bare(old)) == trim_blanks(bare(new))
            && (is_ended || new.ends_with('\n') || !old.ends_with('\n'))
    };
    let head = old.iter().zip(&new).take_while(|pair| alike(*pair)).count();
    let rest = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|pair| alike(*pair)).count();
    if head + tail == 0 {
        return Ok(None);
    }
    let Some(found) = found_lines(file, at, lines, &old)? else { return Ok(None) };
    let mut parts = Parts(Vec::new());
    let pairs = || old.iter().zip(&found).zip(lines.start().index()..);
    let (old_tail, new_tail) = (old.len() - tail, new.len() - tail);
    for (pair, new) in pairs().zip(&new).take(head) {
        parts.put_common(pair, new);
    }
    let changed = new.get(head..new_tail).unwrap_or_default().concat();
    let above = lines.start().index().saturating_add(head as u64);
    parts.put(&changed, LineRange::new(LineNumber::from_index(above), (old_tail - head) as u64));
    for (pair, new) in pairs().skip(old_tail).zip(new.iter().skip(new_tail)) {
        parts.put_common(pair, new);
    }
    Ok(if parts.can_be_cut(file, at)? { Some(parts.0) } else { None })
}

/// Returns the concatenated bytes of parts, for the place between two seams of the file; `None` if some text
/// cannot be encoded.
pub(super) fn encoded<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    parts: &[ReplacementPart],
    seams: (Seam, Seam),
) -> Result<Option<Vec<u8>>, S::Error> {
    let mut bytes = Vec::new();
    let last = parts.len().saturating_sub(1);
    for (index, part) in parts.iter().enumerate() {
        match part {
            ReplacementPart::Kept(kept) => bytes.append(&mut read_range(file.source, kept.clone())?),
            ReplacementPart::New(text, lines) => {
                let wanted = memchr::memchr_iter(b'\n', text.as_bytes()).count();
                let terminators = Terminators::of(file, *lines, wanted)?;
                // Between two parts the file is in its ASCII state.
                let before = if index == 0 { seams.0 } else { Seam::ascii(seams.0.offset) };
                let after = if index == last { seams.1 } else { Seam::ascii(seams.1.offset) };
                match terminators.encode_between(text, file.scan.encoding, (before, after)) {
                    Ok(mut encoded) => bytes.append(&mut encoded),
                    Err(_) => return Ok(None),
                }
            }
        }
    }
    Ok(Some(bytes))
}

/// Returns a line's text without its final `\n`, if it has one.
fn bare(line: &str) -> &str {
    line.strip_suffix('\n').unwrap_or(line)
}

/// Whether a line's text ends at `offset`: a terminator begins there, or the file ends.
pub(super) fn ends_line<S: Source + ?Sized>(file: Scanned<'_, S>, offset: u64) -> Result<bool, S::Error> {
    // The length of the longest terminator: CRLF, with four bytes per character.
    const LONGEST: u64 = 8;
    let end = file.scan.lines.bytes().end;
    let mut ends = offset >= end;
    file.for_each_line(LineNumber::FIRST, offset..(offset + LONGEST).min(end), 0, |line| {
        ends = line.length == 0;
        false
    })?;
    Ok(ends)
}

/// A line of the place where the old text was found. Of the first and the last line, only the part within the
/// match.
struct Found {
    text: Range<u64>,
    /// The offset after its terminator.
    end: u64,
    /// True if its text equals the old line, blanks included.
    is_exact: bool,
}

/// Returns the file's line that matches each line of `old`; `None` if the file has more or fewer lines there,
/// because it has changed since the search.
fn found_lines<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    at: &Range<u64>,
    lines: LineRange,
    old: &[&str],
) -> Result<Option<Vec<Found>>, S::Error> {
    let encoding = file.scan.encoding;
    let longest = old.iter().map(|line| encoding.max_bytes(line.len())).max().unwrap_or_default();
    let (wanted, mut found) = (old.len(), Vec::with_capacity(old.len()));
    file.for_each_line(lines.start(), at.clone(), longest, |line| {
        let old = old.get(found.len()).map(|old| bare(old));
        let is_exact = line.is_whole() && encoding.decode(line.text).is_ok_and(|text| Some(&*text) == old);
        found.push(Found { text: line.start..line.start + line.length, end: line.end, is_exact });
        found.len() <= wanted
    })?;
    // If the last old line has only blanks, it can have matched an empty line, which has no bytes here.
    if found.len() + 1 == old.len() && old.last().is_some_and(|last| trim_blanks(last).is_empty()) {
        found.push(Found { text: at.end..at.end, end: at.end, is_exact: false });
    }
    Ok(Some(found).filter(|found| found.len() == old.len()))
}

/// The parts of a replacement, in order. No part is empty.
struct Parts(Vec<ReplacementPart>);

impl Parts {
    fn put(&mut self, text: &str, lines: LineRange) {
        if !text.is_empty() {
            self.0.push(ReplacementPart::New(text.to_owned(), lines));
        }
    }

    fn keep(&mut self, bytes: Range<u64>) {
        match self.0.last_mut() {
            _ if bytes.is_empty() => {}
            Some(ReplacementPart::Kept(last)) if last.end == bytes.start => last.end = bytes.end,
            _ => self.0.push(ReplacementPart::Kept(bytes)),
        }
    }

    /// Puts a line that both texts have. `old` is the old line, `found` its line in the file, and `index` the
    /// index of that line.
    fn put_common(&mut self, ((old, found), index): ((&&str, &Found), u64), new: &str) {
        let this = LineRange::new(LineNumber::from_index(index), 1);
        if found.is_exact && bare(old) != bare(new) {
            self.put(bare(new), this);
        } else {
            self.keep(found.text.clone());
        }
        if new.ends_with('\n') {
            if found.end > found.text.end {
                self.keep(found.text.end..found.end);
            } else {
                self.put("\n", this);
            }
        }
    }

    /// Whether the file can be cut at the ends of the kept parts.
    fn can_be_cut<S: Source + ?Sized>(
        &self,
        file: Scanned<'_, S>,
        at: &Range<u64>,
    ) -> Result<bool, S::Error> {
        if !file.scan.encoding.is_stateful() {
            return Ok(true);
        }
        for part in &self.0 {
            let ReplacementPart::Kept(kept) = part else { continue };
            for offset in [kept.start, kept.end] {
                if offset != at.start && offset != at.end && !ascii_state_at(file.source, offset)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::parts;
    use crate::encoding::Label;
    use crate::line::LineRange;
    use crate::resolve::tests::{scan, told};
    use crate::resolve::{GuardedRange, MatchOptions, Patch, patch};
    use crate::scan::Scanned;
    use crate::scan::Scanner;
    use crate::source::{Source as _, read_range};
    use crate::splice::Spliced;

    /// Shows for each row the result of a patch by text alone and, if it differs, of a patch by the named
    /// lines.
    fn check(rows: &[(&str, (i64, i64), &str, &str)]) -> String {
        let tell = |&(file, (start, end), old, new): &(&str, (i64, i64), &str, &str)| {
            let text = Patch { replace_all: true, ..Patch::text(old, new) };
            let range = GuardedRange { start, end: Some(end), range_hash: None };
            let lines = Patch { ranges: vec![range], ..text.clone() };
            let [text, lines] = [text, lines].map(|one| {
                let scan = scan(file.as_bytes());
                let resolution =
                    patch(Scanned::new(file.as_bytes(), &scan), None, &[one], MatchOptions::default());
                told(file, resolution.unwrap()).replace(" but for blanks", "")
            });
            let lines = if lines == text { String::new() } else { format!(" | by lines {lines}") };
            format!("{file:?}: {old:?} to {new:?} -> {text}{lines}\n")
        };
        rows.iter().map(tell).collect()
    }

    #[test]
    fn lines_in_common_keep_their_blanks() {
        let file = "one  \ntwo  \nthree\t\nfour\n";
        insta::assert_snapshot!(check(&[
            (file, (1, 3), "one\ntwo\nthree", "one\ntwo\nTHREE"),
            (file, (1, 3), "one\ntwo\nthree\n", "ONE\ntwo\nthree\n"),
            (file, (1, 3), "one\ntwo\nthree\n", "one\nthree\n"),
            (file, (1, 3), "one\ntwo\nthree", "one\ntwo"),
            (file, (1, 3), "one\ntwo\nthree", "one\n2\n2.5\nthree"),
            (file, (1, 3), "one\ntwo\nthree", "one\ntwo\nthree"),
            (file, (2, 3), "two\nthree", ""),
            // A line that the new text repeats is common only once.
            (file, (1, 2), "one\ntwo", "one\none\ntwo\ntwo"),
            // Blanks that the client asks for: the old text equals the file's line, and the new text has
            // other blanks.
            (file, (1, 2), "one  \ntwo", "one\ntwo"),
            (file, (2, 4), "two\nthree\nfour", "two\nthree\nfour  "),
            (file, (1, 2), "one\ntwo ", "one   \ntwo   "),
            // The match begins or ends in the middle of a line.
            (file, (1, 1), "e\ntwo\nth", "e\ntwo\nTH"),
            (file, (1, 1), "e\ntwo\nth", "e\ntwo\nx\nth"),
            (file, (1, 1), "e\ntwo", "e\nt-w-o"),
            (file, (1, 1), "\ntwo", "\n2"),
            // A line that is joined to the next one keeps nothing.
            (file, (1, 2), "one\ntwo\n", "one\ntwo"),
            (file, (1, 2), "one\ntwo", "one\ntwo\n"),
            (file, (1, 1), "e\ntwo\nth", "e\ntwo"),
        ]), @r#"
        "one  \ntwo  \nthree\t\nfour\n": "one\ntwo\nthree" to "one\ntwo\nTHREE" -> "one  \ntwo  \nTHREE\nfour\n"
        "one  \ntwo  \nthree\t\nfour\n": "one\ntwo\nthree\n" to "ONE\ntwo\nthree\n" -> "ONE\ntwo  \nthree\t\nfour\n"
        "one  \ntwo  \nthree\t\nfour\n": "one\ntwo\nthree\n" to "one\nthree\n" -> "one  \nthree\t\nfour\n"
        "one  \ntwo  \nthree\t\nfour\n": "one\ntwo\nthree" to "one\ntwo" -> "one  \ntwo  \nfour\n"
        "one  \ntwo  \nthree\t\nfour\n": "one\ntwo\nthree" to "one\n2\n2.5\nthree" -> "one  \n2\n2.5\nthree\t\nfour\n"
        "one  \ntwo  \nthree\t\nfour\n": "one\ntwo\nthree" to "one\ntwo\nthree" -> "one  \ntwo  \nthree\t\nfour\n"
        "one  \ntwo  \nthree\t\nfour\n": "two\nthree" to "" -> "one  \n\nfour\n" | by lines "one  \nfour\n"
        "one  \ntwo  \nthree\t\nfour\n": "one\ntwo" to "one\none\ntwo\ntwo" -> "one  \none\ntwo\ntwo  \nthree\t\nfour\n"
        "one  \ntwo  \nthree\t\nfour\n": "one  \ntwo" to "one\ntwo" -> "one\ntwo  \nthree\t\nfour\n"
        "one  \ntwo  \nthree\t\nfour\n": "two\nthree\nfour" to "two\nthree\nfour  " -> "one  \ntwo  \nthree\t\nfour  \n"
        "one  \ntwo  \nthree\t\nfour\n": "one\ntwo " to "one   \ntwo   " -> "one  \ntwo  \nthree\t\nfour\n"
        "one  \ntwo  \nthree\t\nfour\n": "e\ntwo\nth" to "e\ntwo\nTH" -> "one  \ntwo  \nTHree\t\nfour\n" | by lines ContentMismatch 1-1, is "one  \n", Part(Exact) 1-3
        "one  \ntwo  \nthree\t\nfour\n": "e\ntwo\nth" to "e\ntwo\nx\nth" -> "one  \ntwo  \nx\nthree\t\nfour\n" | by lines ContentMismatch 1-1, is "one  \n", Part(Exact) 1-3
        "one  \ntwo  \nthree\t\nfour\n": "e\ntwo" to "e\nt-w-o" -> "one  \nt-w-o\nthree\t\nfour\n" | by lines ContentMismatch 1-1, is "one  \n", Part(Exact) 1-2
        "one  \ntwo  \nthree\t\nfour\n": "\ntwo" to "\n2" -> "one  \n2  \nthree\t\nfour\n" | by lines ContentMismatch 1-1, is "one  \n", Lines(Wrapper) 2-2
        "one  \ntwo  \nthree\t\nfour\n": "one\ntwo\n" to "one\ntwo" -> "one  \ntwothree\t\nfour\n" | by lines "one  \ntwo  \nthree\t\nfour\n"
        "one  \ntwo  \nthree\t\nfour\n": "one\ntwo" to "one\ntwo\n" -> "one  \ntwo  \n\nthree\t\nfour\n" | by lines "one  \ntwo  \nthree\t\nfour\n"
        "one  \ntwo  \nthree\t\nfour\n": "e\ntwo\nth" to "e\ntwo" -> "one  \ntworee\t\nfour\n" | by lines ContentMismatch 1-1, is "one  \n", Part(Exact) 1-3
        "#);
    }

    /// Checks that evidence of a part of lines names all lines of the part: also a blank line at its end, and
    /// a line if only one of its characters was sent.
    #[test]
    fn a_part_of_lines_has_all_of_its_lines() {
        let file = "alpha;\n\nbeta\n\nend\n";
        insta::assert_snapshot!(check(&[
            (file, (1, 4), "pha;\n\nbeta\n\n", "pha;\n"),
            (file, (1, 3), ";\n\nbeta\n", ";\n"),
        ]), @r#"
        "alpha;\n\nbeta\n\nend\n": "pha;\n\nbeta\n\n" to "pha;\n" -> "alpha;\nend\n" | by lines ContentMismatch 1-4, is "alpha;\n\nbeta\n\n", Part(Exact) 1-4
        "alpha;\n\nbeta\n\nend\n": ";\n\nbeta\n" to ";\n" -> "alpha;\n\nend\n" | by lines ContentMismatch 1-3, is "alpha;\n\nbeta\n", Part(Exact) 1-3
        "#);
    }

    #[test]
    fn the_last_line_and_mixed_line_ends_are_kept() {
        insta::assert_snapshot!(check(&[
            ("a \nb ", (1, 2), "a\nb\n", "a\nB\n"),
            ("a \nb ", (1, 2), "a\nb\n", "A\nb\n"),
            ("a \nb ", (1, 2), "a\nb\n", "A\nb"),
            ("a \nb ", (1, 2), "a\nb", "A\nb\n"),
            ("a \nb ", (1, 2), "a\nb", "a\nb\nc"),
            ("a \nb ", (1, 2), "a\nb\n", "a\n"),
            ("a \nb ", (1, 2), "a\nb\n", "a\nb\n\n"),
            ("a \r\nb \nc \r\n", (1, 3), "a\nb\nc\n", "a\nb\nx\nc\n"),
            ("a \r\nb \nc \r\n", (1, 3), "a\nb\nc\n", "a\nc\n"),
            ("a \r\nb \nc ", (1, 3), "a\nb\nc", "a\nb\nc\nd"),
            ("a \rb \r", (1, 2), "a\nb\n", "a\nB\n"),
        ]), @r#"
        "a \nb ": "a\nb\n" to "a\nB\n" -> "a \nB"
        "a \nb ": "a\nb\n" to "A\nb\n" -> "A\nb "
        "a \nb ": "a\nb\n" to "A\nb" -> "A\nb "
        "a \nb ": "a\nb" to "A\nb\n" -> "A\nb \n"
        "a \nb ": "a\nb" to "a\nb\nc" -> "a \nb \nc"
        "a \nb ": "a\nb\n" to "a\n" -> "a "
        "a \nb ": "a\nb\n" to "a\nb\n\n" -> "a \nb \n\n"
        "a \r\nb \nc \r\n": "a\nb\nc\n" to "a\nb\nx\nc\n" -> "a \r\nb \nx\nc \r\n"
        "a \r\nb \nc \r\n": "a\nb\nc\n" to "a\nc\n" -> "a \r\nc \r\n"
        "a \r\nb \nc ": "a\nb\nc" to "a\nb\nc\nd" -> "a \r\nb \nc \nd"
        "a \rb \r": "a\nb\n" to "a\nB\n" -> "a \rB\r"
        "#);
    }

    #[test]
    fn a_file_that_has_changed_since_it_was_searched_keeps_nothing() {
        let is_kept = |file: &str| {
            let (scan, lines) = (scan(file.as_bytes()), LineRange::inclusive(1, 2).unwrap());
            let scanned = Scanned::new(file.as_bytes(), &scan);
            let Ok(parts) = parts(scanned, &(0..scan.size), lines, "a\nb", "a\nB");
            parts.is_some()
        };
        assert_eq!(["a \nb ", "a b", "a \nb \nc"].map(is_kept), [true, false, false]);
    }

    #[test]
    fn every_place_keeps_its_own() {
        insta::assert_snapshot!(check(&[
            ("a  \nb\na\t\nb \n", (3, 4), "a \nb\n", "a\nB\n"),
            ("a  \n\n\na \n", (1, 2), "a\n  ", "a\nB"),
            ("a  \n \nb\n", (1, 2), "a\n ", "a\nB"),
        ]), @r#"
        "a  \nb\na\t\nb \n": "a \nb\n" to "a\nB\n" -> "a  \nB\na\t\nB\n" | by lines "a  \nb\na\t\nB\n"
        "a  \n\n\na \n": "a\n  " to "a\nB" -> "a  \nB\n\na \nB" | by lines "a  \nB\n\na \n"
        "a  \n \nb\n": "a\n " to "a\nB" -> "a  \nB\nb\n"
        "#);
    }

    /// Tries ISO-2022-JP also with lines that end in its Roman state. There the file is not cut, and the
    /// whole new text is encoded between the states at both ends of the place. `^` is ESC.
    #[test]
    fn lines_in_common_keep_their_blanks_where_the_file_can_be_cut() {
        let check = |file: &str, old: &str, new: &str| {
            let bytes = file.replace('^', "\x1b").into_bytes();
            let mut scanner = Scanner::new(Some(Label::parse("iso-2022-jp").unwrap().encoding));
            scanner.feed(&bytes);
            let scan = scanner.finish();
            let patches = [Patch::text(old, new)];
            let plan = patch(Scanned::new(bytes.as_slice(), &scan), None, &patches, MatchOptions::default());
            let plan = plan.unwrap().unwrap();
            let view = Spliced::new(bytes.as_slice(), &plan.splices);
            let became = String::from_utf8(read_range(&view, 0..view.size()).unwrap()).unwrap();
            let became = became.replace('\x1b', "^");
            format!("{file:?}: {old:?} to {new:?} -> {became:?}\n")
        };
        let japanese = "^$B$\"^(B  \n^$B$$^(B  \nthree \n";
        let roman = "^(Jone  \ntwo  \n^(Bthree \nfour\n";
        let within = "^(Jone^(B  \ntwo  \n^(Jthree \nfour\n^(B";
        let rows = [
            check(japanese, "あ\nい\nthree", "あ\nう\nthree"),
            check(japanese, "あ\nい\nthree", "う\nい\nえ"),
            check(roman, "one\ntwo\nthree\n", "one\ntwo\nTHREE\n"),
            check(roman, "one\ntwo\nthree\n", "ONE\ntwo\nthree\n"),
            check(roman, "two\nthree\n", "う\nthree\n"),
            check(within, "one\ntwo\nthree\nfour", "one\nあ\nthree\nfour"),
            check(within, "one\ntwo\nthree\nfour", "one\ntwo\nthree\n4"),
            check(within, "two\nthree\nfour", "two\nthree\nい"),
            check(within, "e\ntwo\nthree", "あ\ntwo\nthree"),
            check("one  \ntwo\n^(Jfour\n^(B", "one\ntwo\nfo", "one\n2\nFO"),
        ];
        insta::assert_snapshot!(rows.concat(), @r#"
        "^$B$\"^(B  \n^$B$$^(B  \nthree \n": "あ\nい\nthree" to "あ\nう\nthree" -> "^$B$\"^(B  \n^$B$&^(B\nthree \n"
        "^$B$\"^(B  \n^$B$$^(B  \nthree \n": "あ\nい\nthree" to "う\nい\nえ" -> "^$B$&^(B\n^$B$$^(B\n^$B$(^(B\n"
        "^(Jone  \ntwo  \n^(Bthree \nfour\n": "one\ntwo\nthree\n" to "one\ntwo\nTHREE\n" -> "one\ntwo\nTHREE\nfour\n"
        "^(Jone  \ntwo  \n^(Bthree \nfour\n": "one\ntwo\nthree\n" to "ONE\ntwo\nthree\n" -> "ONE\ntwo\nthree\nfour\n"
        "^(Jone  \ntwo  \n^(Bthree \nfour\n": "two\nthree\n" to "う\nthree\n" -> "^(Jone  \n^$B$&^(B\nthree\nfour\n"
        "^(Jone^(B  \ntwo  \n^(Jthree \nfour\n^(B": "one\ntwo\nthree\nfour" to "one\nあ\nthree\nfour" -> "^(Jone^(B  \n^$B$\"^(B\n^(Jthree \nfour\n^(B"
        "^(Jone^(B  \ntwo  \n^(Jthree \nfour\n^(B": "one\ntwo\nthree\nfour" to "one\ntwo\nthree\n4" -> "one\ntwo\nthree\n4^(J\n^(B"
        "^(Jone^(B  \ntwo  \n^(Jthree \nfour\n^(B": "two\nthree\nfour" to "two\nthree\nい" -> "^(Jone^(B  \ntwo\nthree\n^$B$$^(J\n^(B"
        "^(Jone^(B  \ntwo  \n^(Jthree \nfour\n^(B": "e\ntwo\nthree" to "あ\ntwo\nthree" -> "^(Jon^$B$\"^(B\ntwo  \n^(Jthree \nfour\n^(B"
        "one  \ntwo\n^(Jfour\n^(B": "one\ntwo\nfo" to "one\n2\nFO" -> "one  \n2\nFO^(Jur\n^(B"
        "#);
    }
}
