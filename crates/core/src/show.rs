//! Text of a file for a reader: whole lines within a budget, and the inside of a line that is longer than it.

use std::ops::Range;

use crate::digest::Digest;
use crate::encoding::{Decoded, Decoder};
use crate::error::Excerpt;
use crate::line::{LineNumber, LineRange};
use crate::lines::Line;
use crate::scan::Scan;
use crate::source::{Source, for_each_chunk};

/// Some lines, as far as the budget went.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shown {
    /// The lines that are shown; the last one may be cut.
    pub lines: LineRange,
    /// Their text, each line ended by `\n` (a last line without terminator is not).
    pub content: String,
    /// The digest of their bytes; `None` where a line is not shown whole.
    pub digest: Option<Digest>,
    /// Where and why it stops before the end of what was asked for.
    pub cut: Option<Cut>,
    /// The character of the first line from which on it is shown, counted from 1.
    pub from_char: u64,
    /// The characters in the line, where a line is cut inside.
    pub line_length: Option<u64>,
}

/// Where to go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cut {
    /// The line.
    pub next_start: LineNumber,
    /// The character in it, counted from 1; `None` for its beginning.
    pub next_char: Option<u64>,
}

/// How much may be shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// Bytes of UTF-8, line ends included.
    pub bytes: usize,
    /// Whether each line costs its number and a tab as well.
    pub gutter: bool,
}

/// Shows `lines`, which exist, from the character `from_char` (counted from 1) of the first one on. Returns what is
/// shown and how much of the budget it took. At least one character is shown, however small the budget.
pub fn show<S: Source + ?Sized>(
    source: &S,
    scan: &Scan,
    lines: LineRange,
    from_char: u64,
    budget: Budget,
) -> Result<(Shown, usize), S::Error> {
    let bytes = scan.lines.bytes_of(source, lines)?;
    let from = bytes.start;
    let mut page = Page { scan, budget, content: String::new(), used: 0, shown: 0, end: from, long: None };
    if !lines.is_empty() {
        // In no encoding does a character of UTF-8 take more than four times its bytes.
        let longest = budget.bytes.saturating_mul(4).saturating_add(64);
        let mut first = from_char > 1;
        scan.lines.for_each(source, lines.start(), bytes.clone(), longest, |line| {
            let more = if std::mem::take(&mut first) { page.set_long(&line) } else { page.push(&line) };
            more && line.number.get() < lines.end()
        })?;
    }
    let mut cut = None;
    let mut line_length = None;
    if let Some(long) = page.long.take() {
        let part = part_of_line(source, scan, &long, from_char, budget)?;
        page.used += part.text.len() + page.gutter(long.number);
        page.content.push_str(&part.text);
        page.shown = 1;
        if part.next_char <= part.length {
            line_length = Some(part.length);
            cut = Some(Cut { next_start: long.number, next_char: Some(part.next_char) });
        } else {
            // The rest of the line fits: its end, and the lines after it, may follow. Of a line that ends before
            // `from_char` nothing is shown; but where other lines follow, its end keeps them in their places.
            if long.ended && (from_char <= part.length || long.number.get() < lines.end()) {
                page.content.push('\n');
                page.used += 1;
            }
            page.end = long.end;
            let next = LineNumber::from_index(long.number.get());
            if next.get() <= lines.end() {
                scan.lines.for_each(
                    source,
                    next,
                    long.end..bytes.end,
                    budget.bytes.saturating_mul(4).saturating_add(64),
                    |line| page.push_whole(&line) && line.number.get() < lines.end(),
                )?;
            }
        }
    }
    let shown = LineRange::new(lines.start(), page.shown);
    if cut.is_none() && shown.count() < lines.count() {
        cut = Some(Cut { next_start: LineNumber::from_index(shown.end()), next_char: None });
    }
    let whole = from_char <= 1 && line_length.is_none();
    let digest = if whole { Some(scan.digest_of(source, from..page.end)?) } else { None };
    let from_char = from_char.max(1);
    Ok((Shown { lines: shown, content: page.content, digest, from_char, cut, line_length }, page.used))
}

/// What has been shown so far.
struct Page<'a> {
    scan: &'a Scan,
    budget: Budget,
    content: String,
    used: usize,
    shown: u64,
    end: u64,
    /// A first line that does not fit, or is not shown from its beginning.
    long: Option<LongLine>,
}

struct LongLine {
    number: LineNumber,
    text: Range<u64>,
    ended: bool,
    end: u64,
}

impl Page<'_> {
    fn gutter(&self, number: LineNumber) -> usize {
        if self.budget.gutter { number.get().ilog10() as usize + 2 } else { 0 }
    }

    /// Shows a line; false if no further one is to follow.
    fn push(&mut self, line: &Line<'_>) -> bool {
        if self.push_whole(line) {
            return true;
        }
        if self.shown == 0 {
            self.set_long(line);
        }
        false
    }

    fn push_whole(&mut self, line: &Line<'_>) -> bool {
        let text = if line.is_whole() { self.scan.encoding.decode(line.text).ok() } else { None };
        let Some(text) = text else { return false };
        let cost = text.len() + usize::from(line.ending.is_some()) + self.gutter(line.number);
        if self.used + cost > self.budget.bytes {
            return false;
        }
        self.content.push_str(&text);
        if line.ending.is_some() {
            self.content.push('\n');
        }
        self.used += cost;
        self.shown += 1;
        self.end = line.end;
        true
    }

    fn set_long(&mut self, line: &Line<'_>) -> bool {
        let text = line.start..line.start + line.length;
        self.long = Some(LongLine { number: line.number, text, ended: line.ending.is_some(), end: line.end });
        false
    }
}

/// A part of one line.
struct Part {
    text: String,
    next_char: u64,
    length: u64,
}

fn part_of_line<S: Source + ?Sized>(
    source: &S,
    scan: &Scan,
    line: &LongLine,
    from_char: u64,
    budget: Budget,
) -> Result<Part, S::Error> {
    let gutter = if budget.gutter { line.number.get().ilog10() as usize + 2 } else { 0 };
    let room = budget.bytes.saturating_sub(gutter);
    let mut part = Part { text: String::new(), next_char: from_char.max(1), length: 0 };
    let mut full = false;
    let mut decoder = Decoder::new(scan.encoding, line.text.start);
    let mut piece = Decoded::default();
    for_each_chunk(source, line.text.clone(), |offset, chunk| {
        decoder.feed(chunk, offset + chunk.len() as u64 >= line.text.end, &mut piece);
        for character in piece.text.chars() {
            part.length += 1;
            if part.length < part.next_char || full {
                continue;
            }
            // One character is always shown, so that a reader who goes on gets on.
            full = !part.text.is_empty() && part.text.len() + character.len_utf8() > room;
            if !full {
                part.text.push(character);
                part.next_char += 1;
            }
        }
        true
    })?;
    // A line that fits but for its end is cut before its last character.
    let whole = part.next_char > part.length;
    if whole && line.ended && part.text.len() + 1 > room && part.next_char > from_char.max(1) + 1 {
        part.text.pop();
        part.next_char -= 1;
    }
    Ok(part)
}

/// Some of the lines `of`, for an error: from a character (counted from 1) of one of them on.
pub(crate) fn excerpt<S: Source + ?Sized>(
    source: &S,
    scan: &Scan,
    of: LineRange,
    (start, from_char): (LineNumber, u64),
    most_lines: u64,
    most_bytes: usize,
) -> Result<Excerpt, S::Error> {
    let left = of.end().saturating_sub(start.index());
    let some = LineRange::new(start, left.min(most_lines));
    let (shown, _) = show(source, scan, some, from_char, Budget { bytes: most_bytes, gutter: false })?;
    let truncated = shown.cut.is_some() || some.count() < left;
    Ok(Excerpt { of, start, from_char: shown.from_char, text: shown.content, truncated })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::Scanner;

    /// A file, the first and the last line, the character to begin with, and the budget in bytes, with a gutter or not.
    type Row = (&'static str, (u64, u64), u64, usize, bool);

    fn check(rows: &[Row]) -> String {
        let tell = |&(file, (start, end), from_char, bytes, gutter): &(
            &str,
            (u64, u64),
            u64,
            usize,
            bool,
        )| {
            let mut scanner = Scanner::new(None);
            scanner.feed(file.as_bytes());
            let lines = LineRange::inclusive(start, end).unwrap();
            let budget = Budget { bytes, gutter };
            let (shown, _) = show(file.as_bytes(), &scanner.finish(), lines, from_char, budget).unwrap();
            let Shown { lines: range, content, digest, cut, line_length, .. } = shown;
            let next = cut.map(|cut| (cut.next_start.get(), cut.next_char));
            let digest = if digest.is_some() { "digest" } else { "no digest" };
            format!(
                "{file:?} {start}-{end} from {from_char}, {bytes} bytes: {range:?} {content:?} {digest}, next {next:?}, length {line_length:?}\n"
            )
        };
        rows.iter().map(tell).collect::<Vec<_>>().concat()
    }

    #[test]
    fn a_budget_ends_at_a_lines_end() {
        insta::assert_snapshot!(check(&[
            ("ab\ncd\nef\n", (1, 3), 1, 9, false),
            ("ab\ncd\nef\n", (1, 3), 1, 8, false),
            ("ab\ncd\nef\n", (1, 3), 1, 8, true),
            ("ab\ncd\nef\n", (1, 3), 1, 15, true),
            ("ab\r\ncd\r\n", (1, 2), 1, 6, false),
            ("ab\ncd", (1, 2), 1, 5, false),
            ("é\né\n", (1, 2), 1, 3, false),
            ("ab\n", (2, 1), 1, 9, false),
            ("", (1, 0), 1, 9, false),
        ]), @r#"
        "ab\ncd\nef\n" 1-3 from 1, 9 bytes: 1-3 "ab\ncd\nef\n" digest, next None, length None
        "ab\ncd\nef\n" 1-3 from 1, 8 bytes: 1-2 "ab\ncd\n" digest, next Some((3, None)), length None
        "ab\ncd\nef\n" 1-3 from 1, 8 bytes: 1-1 "ab\n" digest, next Some((2, None)), length None
        "ab\ncd\nef\n" 1-3 from 1, 15 bytes: 1-3 "ab\ncd\nef\n" digest, next None, length None
        "ab\r\ncd\r\n" 1-2 from 1, 6 bytes: 1-2 "ab\ncd\n" digest, next None, length None
        "ab\ncd" 1-2 from 1, 5 bytes: 1-2 "ab\ncd" digest, next None, length None
        "é\né\n" 1-2 from 1, 3 bytes: 1-1 "é\n" digest, next Some((2, None)), length None
        "ab\n" 2-1 from 1, 9 bytes: 2-1 "" digest, next None, length None
        "" 1-0 from 1, 9 bytes: 1-0 "" digest, next None, length None
        "#);
    }

    #[test]
    fn a_first_line_that_is_too_long_is_cut_inside() {
        insta::assert_snapshot!(check(&[
            ("abcdef\ng\n", (1, 2), 1, 4, false),
            ("abcdef\ng\n", (1, 2), 1, 4, true),
            ("abcdef\ng\n", (1, 2), 5, 9, false),
            ("abcdef\ng\n", (1, 1), 99, 4, false),
            ("ab\nabcdef\n", (1, 2), 1, 6, false),
            ("éééé", (1, 1), 1, 5, false),
            ("éééé", (1, 1), 3, 5, false),
            ("😀😀", (1, 1), 1, 1, false),
        ]), @r#"
        "abcdef\ng\n" 1-2 from 1, 4 bytes: 1-1 "abcd" no digest, next Some((1, Some(5))), length Some(6)
        "abcdef\ng\n" 1-2 from 1, 4 bytes: 1-1 "ab" no digest, next Some((1, Some(3))), length Some(6)
        "abcdef\ng\n" 1-2 from 5, 9 bytes: 1-2 "ef\ng\n" no digest, next None, length None
        "abcdef\ng\n" 1-1 from 99, 4 bytes: 1-1 "" no digest, next None, length None
        "ab\nabcdef\n" 1-2 from 1, 6 bytes: 1-1 "ab\n" digest, next Some((2, None)), length None
        "éééé" 1-1 from 1, 5 bytes: 1-1 "éé" no digest, next Some((1, Some(3))), length Some(4)
        "éééé" 1-1 from 3, 5 bytes: 1-1 "éé" no digest, next None, length None
        "😀😀" 1-1 from 1, 1 bytes: 1-1 "😀" no digest, next Some((1, Some(2))), length Some(2)
        "#);
    }
}
