//! Shows text of a file within a budget: whole lines, or a part of a line that is longer than the budget.

use std::ops::Range;

use crate::digest::Digest;
use crate::encoding::{Decoded, Decoder};
use crate::line::{LineNumber, LineRange};
use crate::lines::ScannedLine;
use crate::rejection::Excerpt;
use crate::scan::{Scan, Scanned};
use crate::source::{CHUNK, Source, Window, for_each_chunk};
use crate::text_length::Measure;

/// The lines of a file that fit into a budget.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shown {
    /// The lines that are shown. A single line may be cut at both ends. Of several, only the first may be
    /// cut, and only at its beginning (`from_char`).
    pub lines: LineRange,
    /// Their text. Each line ends with `\n`, except a last line without terminator. With a gutter, each
    /// begins with its number and a tab.
    pub content: String,
    /// The digest of the bytes of these lines, terminators included; `None` if a line is not shown whole.
    pub digest: Option<Digest>,
    /// The place at which to continue, if not all requested lines are shown.
    pub cut: Option<Continuation>,
    /// The number, from 1, of the character of the first line at which `content` begins.
    pub from_char: u64,
    /// The length in characters of the line that is cut before its end; `None` if no line is.
    pub line_length: Option<u64>,
}

/// The place at which the next call of [`show`](fn@show) continues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Continuation {
    /// The line.
    pub next_start: LineNumber,
    /// The character in that line, from 1; `None` for the beginning of the line.
    pub next_char: Option<u64>,
}

/// The limits of what is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// The maximum weight of the text, line ends included, in units of `measure`.
    pub weight: usize,
    /// The measure of text.
    pub measure: Measure,
    /// The maximum number of lines; 0 counts as 1.
    pub lines: u64,
    /// Whether each line begins with its number and a tab, which count towards the weight.
    pub gutter: bool,
}

impl Budget {
    /// Returns a budget of `weight` bytes of UTF-8, for any number of lines, without a gutter.
    #[must_use]
    pub const fn bytes(weight: usize) -> Self {
        Self { weight, measure: Measure::BYTES, lines: u64::MAX, gutter: false }
    }

    /// Returns the weight of a line's number and tab; 0 without a gutter. A digit weighs 1 in every measure.
    fn gutter(self, number: LineNumber) -> usize {
        let digits = number.get().ilog10() as usize + 1;
        if self.gutter { digits + self.measure.of_char('\t') } else { 0 }
    }

    /// Returns a number of bytes above which a line cannot fit. A character weighs at least 1, and no
    /// encoding has more than eight bytes for it, escape sequences around it included.
    fn longest_line(self) -> usize {
        self.weight.saturating_mul(8).saturating_add(64)
    }
}

/// Shows `lines`, which must exist, from the character `from_char` of the first one on, counted from 1 (0
/// counts as 1). Returns the text, and its weight.
///
/// Lines are shown whole or not at all, except the first one: if it does not fit, the part that fits is
/// shown. That is at least one character, however small the budget, so that repeated calls, each from
/// [`Shown::cut`] on, reach the end. If the first line ends before `from_char`, nothing of it is shown. The
/// file must decode. Fails only if the source does.
///
/// ```
/// use mcp_text_editor_core::line::LineRange;
/// use mcp_text_editor_core::scan::Scanner;
/// use mcp_text_editor_core::scan::Scanned;
/// use mcp_text_editor_core::show::{Budget, show};
///
/// let bytes = b"one\r\ntwo\r\nthree\r\n".as_slice();
/// let mut scanner = Scanner::new(None);
/// scanner.feed(bytes);
/// let scan = scanner.finish();
/// let file = Scanned::new(bytes, &scan);
///
/// let (shown, weight) = show(file, scan.lines.all(), 1, Budget::bytes(10))?;
/// assert_eq!((shown.content.as_str(), weight), ("one\ntwo\n", 8));
///
/// let next = shown.cut.unwrap().next_start;
/// let rest = LineRange::inclusive(next.get(), scan.lines.count()).unwrap();
/// let (shown, _) = show(file, rest, 1, Budget::bytes(10))?;
/// assert_eq!((shown.content.as_str(), shown.cut), ("three\n", None));
/// # Ok::<(), std::convert::Infallible>(())
/// ```
pub fn show<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    lines: LineRange,
    from_char: u64,
    budget: Budget,
) -> Result<(Shown, usize), S::Error> {
    // If the marks around the lines are this close to each other, one read finds the lines, their text and
    // their digest.
    let around = file.scan.lines.bytes_around(lines);
    if around.end - around.start <= MAX_WINDOW {
        let window = Window::new(file.source, around)?;
        let window = Scanned::new(&window, file.scan);
        let Ok(shown) =
            window.bytes_of(lines).and_then(|bytes| show_bytes(window, bytes, lines, from_char, budget));
        return Ok(shown);
    }
    let bytes = file.bytes_of(lines)?;
    if bytes.end - bytes.start > CHUNK as u64 {
        return show_bytes(file, bytes, lines, from_char, budget);
    }
    let window = Window::new(file.source, bytes.clone())?;
    let Ok(shown) = show_bytes(Scanned::new(&window, file.scan), bytes, lines, from_char, budget);
    Ok(shown)
}

/// The maximum bytes between the marks around the lines that are read at once, so that no further read is
/// needed to find the lines.
const MAX_WINDOW: u64 = 32 * 1024;

/// The maximum capacity that is reserved before anything is shown.
const MAX_RESERVED: usize = 2 << 20;

/// The approximate bytes of a line's number and tab.
const GUTTER: u64 = 8;

/// The bytes that are reserved for the text that a caller adds before and after the lines.
const RESERVED_AROUND: usize = 512;

/// Shows `lines`, which consist of `bytes`, as [`show`](fn@show) does.
fn show_bytes<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    bytes: Range<u64>,
    lines: LineRange,
    from_char: u64,
    budget: Budget,
) -> Result<(Shown, usize), S::Error> {
    let from = bytes.start;
    let numbers = if budget.gutter { lines.count().saturating_mul(GUTTER) } else { 0 };
    let length = usize::try_from((bytes.end - from).saturating_add(numbers)).unwrap_or(usize::MAX);
    let content =
        String::with_capacity(length.min(budget.weight).saturating_add(RESERVED_AROUND).min(MAX_RESERVED));
    let mut page = Page { scan: file.scan, budget, content, used: 0, shown: 0, end: from, long: None };
    if !lines.is_empty() {
        let mut first = from_char > 1;
        file.for_each_line(lines.start(), bytes.clone(), budget.longest_line(), |line| {
            if std::mem::take(&mut first) { page.set_long(&line) } else { page.push(&line) }
        })?;
    }
    let mut cut = None;
    let mut line_length = None;
    if let Some(long) = page.long.take() {
        let part = part_of_line(file, &long, from_char, budget)?;
        let is_cut = part.next_char <= part.length;
        // If the rest of the line fits, its end and the lines after it may follow. If the line ends before
        // `from_char`, its end is shown only to keep following lines in their places. The end of an empty
        // line is shown even if its number does not fit.
        let has_end =
            !is_cut && long.ended && (from_char <= part.length.max(1) || long.number.get() < lines.end());
        if has_end || !part.text.is_empty() {
            page.put(long.number, &part.text, has_end);
            let end = if has_end { budget.measure.of_char('\n') } else { 0 };
            page.used += part.weight + budget.gutter(long.number) + end;
        }
        page.shown = 1;
        if is_cut {
            line_length = Some(part.length);
            cut = Some(Continuation { next_start: long.number, next_char: Some(part.next_char) });
        } else {
            page.end = long.end;
            let next = LineNumber::from_index(long.number.get());
            let rest = long.end..bytes.end;
            file.for_each_line(next, rest, budget.longest_line(), |line| page.push_whole(&line))?;
        }
    }
    let shown = LineRange::new(lines.start(), page.shown);
    if cut.is_none() && shown.count() < lines.count() {
        cut = Some(Continuation { next_start: LineNumber::from_index(shown.end()), next_char: None });
    }
    let whole = from_char <= 1 && line_length.is_none();
    let digest = if whole { Some(file.digest_of(from..page.end)?) } else { None };
    let from_char = from_char.max(1);
    Ok((Shown { lines: shown, content: page.content, digest, from_char, cut, line_length }, page.used))
}

/// The lines that have been shown so far.
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
    /// Adds a line if all of it fits; remembers a first line that does not fit as `long`. Returns whether the
    /// line was added: otherwise no further line may follow.
    fn push(&mut self, line: &ScannedLine<'_>) -> bool {
        if self.push_whole(line) {
            return true;
        }
        if self.shown == 0 {
            self.set_long(line);
        }
        false
    }

    fn push_whole(&mut self, line: &ScannedLine<'_>) -> bool {
        let text = if line.is_whole() { self.scan.encoding.decode(line.text).ok() } else { None };
        let Some(text) = text.filter(|_| self.shown < self.budget.lines.max(1)) else { return false };
        let measure = self.budget.measure;
        let end = if line.ending.is_some() { measure.of_char('\n') } else { 0 };
        let cost = measure.of(&text) + end + self.budget.gutter(line.number);
        if self.used + cost > self.budget.weight {
            return false;
        }
        self.put(line.number, &text, line.ending.is_some());
        self.used += cost;
        self.shown += 1;
        self.end = line.end;
        true
    }

    fn put(&mut self, number: LineNumber, text: &str, has_end: bool) {
        if self.budget.gutter {
            self.content.push_str(itoa::Buffer::new().format(number.get()));
            self.content.push('\t');
        }
        self.content.push_str(text);
        if has_end {
            self.content.push('\n');
        }
    }

    fn set_long(&mut self, line: &ScannedLine<'_>) -> bool {
        let text = line.start..line.start + line.length;
        self.long = Some(LongLine { number: line.number, text, ended: line.ending.is_some(), end: line.end });
        false
    }
}

/// A part of one line.
struct Part {
    text: String,
    weight: usize,
    next_char: u64,
    length: u64,
}

fn part_of_line<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    line: &LongLine,
    from_char: u64,
    budget: Budget,
) -> Result<Part, S::Error> {
    let room = budget.weight.saturating_sub(budget.gutter(line.number));
    let measure = budget.measure;
    let mut part = Part { text: String::new(), weight: 0, next_char: from_char.max(1), length: 0 };
    let mut full = false;
    let mut decoder = Decoder::new(file.scan.encoding, line.text.start);
    let mut piece = Decoded::default();
    for_each_chunk(file.source, line.text.clone(), |offset, chunk| {
        decoder.feed(chunk, offset + chunk.len() as u64 >= line.text.end, &mut piece);
        for character in piece.text.chars() {
            part.length += 1;
            if part.length < part.next_char || full {
                continue;
            }
            // At least one character is shown, so that repeated calls reach the end.
            let weight = measure.of_char(character);
            full = !part.text.is_empty() && part.weight + weight > room;
            if !full {
                part.text.push(character);
                part.weight += weight;
                part.next_char += 1;
            }
        }
        true
    })?;
    // If the text of a line fits, but not with its end, the line is cut before its last character.
    let whole = part.next_char > part.length;
    let with_end = part.weight + measure.of_char('\n');
    if whole && line.ended && with_end > room && part.next_char > from_char.max(1) + 1 {
        part.weight -= part.text.pop().map_or(0, |last| measure.of_char(last));
        part.next_char -= 1;
    }
    Ok(part)
}

/// Shows some of the lines `of`, for an error: from the character `from_char` (from 1) of the line `start`
/// on.
pub(crate) fn excerpt<S: Source + ?Sized>(
    file: Scanned<'_, S>,
    of: LineRange,
    (start, from_char): (LineNumber, u64),
    max_lines: u64,
    max_bytes: usize,
) -> Result<Excerpt, S::Error> {
    let left = of.end().saturating_sub(start.index());
    let some = LineRange::new(start, left.min(max_lines));
    let (shown, _) = show(file, some, from_char, Budget::bytes(max_bytes))?;
    let truncated = shown.cut.is_some() || some.count() < left;
    let mut excerpt =
        Excerpt { of, start, from_char: shown.from_char, text: shown.content, truncated, digest: None };
    if excerpt.is_whole() && !of.is_empty() {
        excerpt.digest = Some(file.digest_of(file.bytes_of(of)?)?);
    }
    Ok(excerpt)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::encoding::{Encoding, Label};
    use crate::scan::Scanner;
    use crate::text_length::LengthUnit;

    /// A file, the first and the last line, the character to begin with, and the budget in bytes, with a
    /// gutter or not.
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
            let budget = Budget { gutter, ..Budget::bytes(bytes) };
            let (shown, _) =
                show(Scanned::new(file.as_bytes(), &scanner.finish()), lines, from_char, budget).unwrap();
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
        "ab\ncd\nef\n" 1-3 from 1, 8 bytes: 1-1 "1\tab\n" digest, next Some((2, None)), length None
        "ab\ncd\nef\n" 1-3 from 1, 15 bytes: 1-3 "1\tab\n2\tcd\n3\tef\n" digest, next None, length None
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
            ("abcdef\ng\nh\ni\n", (1, 3), 5, 9, false),
            ("abcdef\ng\n", (1, 1), 5, 3, false),
            ("abcdef\ng\n", (1, 1), 5, 2, false),
            ("abcdef\ng\n", (1, 1), 1, 5, false),
            ("abcdef\ng\n", (1, 1), 99, 4, false),
            ("abcdef\ng\n", (1, 2), 99, 4, false),
            ("ab\nabcdef\n", (1, 2), 1, 6, false),
            ("éééé", (1, 1), 1, 5, false),
            ("éééé", (1, 1), 3, 5, false),
            ("😀😀", (1, 1), 1, 1, false),
            ("\n", (1, 1), 1, 1, true),
        ]), @r#"
        "abcdef\ng\n" 1-2 from 1, 4 bytes: 1-1 "abcd" no digest, next Some((1, Some(5))), length Some(6)
        "abcdef\ng\n" 1-2 from 1, 4 bytes: 1-1 "1\tab" no digest, next Some((1, Some(3))), length Some(6)
        "abcdef\ng\n" 1-2 from 5, 9 bytes: 1-2 "ef\ng\n" no digest, next None, length None
        "abcdef\ng\nh\ni\n" 1-3 from 5, 9 bytes: 1-3 "ef\ng\nh\n" no digest, next None, length None
        "abcdef\ng\n" 1-1 from 5, 3 bytes: 1-1 "ef\n" no digest, next None, length None
        "abcdef\ng\n" 1-1 from 5, 2 bytes: 1-1 "e" no digest, next Some((1, Some(6))), length Some(6)
        "abcdef\ng\n" 1-1 from 1, 5 bytes: 1-1 "abcde" no digest, next Some((1, Some(6))), length Some(6)
        "abcdef\ng\n" 1-1 from 99, 4 bytes: 1-1 "" no digest, next None, length None
        "abcdef\ng\n" 1-2 from 99, 4 bytes: 1-2 "\ng\n" no digest, next None, length None
        "ab\nabcdef\n" 1-2 from 1, 6 bytes: 1-1 "ab\n" digest, next Some((2, None)), length None
        "éééé" 1-1 from 1, 5 bytes: 1-1 "éé" no digest, next Some((1, Some(3))), length Some(4)
        "éééé" 1-1 from 3, 5 bytes: 1-1 "éé" no digest, next None, length None
        "😀😀" 1-1 from 1, 1 bytes: 1-1 "😀" no digest, next Some((1, Some(2))), length Some(2)
        "\n" 1-1 from 1, 1 bytes: 1-1 "1\t\n" digest, next None, length None
        "#);
    }

    /// Scans a text whose encoding is known.
    fn scan_in(encoding: Encoding, bytes: &[u8]) -> Scan {
        let mut scanner = Scanner::new(Some(encoding));
        scanner.feed(bytes);
        scanner.finish()
    }

    #[test]
    #[cfg_attr(miri, ignore = "too large for Miri")]
    fn of_a_line_of_many_chunks_no_character_is_lost() {
        // Each character has three bytes in UTF-8, so that the chunks cut some of them.
        let line = "あ".repeat(CHUNK / 2);
        for name in ["utf-8", "iso-2022-jp"] {
            let encoding = Label::parse(name).unwrap().encoding;
            for before in ["", "a line\n"] {
                let text = format!("{before}{line}\n");
                let bytes = match encoding {
                    Encoding::Legacy(table) => table.encode(&text).0,
                    _ => text.as_bytes().into(),
                };
                let scan = scan_in(encoding, &bytes);
                let last = LineRange::new(LineNumber::from_index(scan.lines.count() - 1), 1);
                let file = Scanned::new(&*bytes, &scan);
                let (shown, _) = show(file, last, 2, Budget::bytes(usize::MAX)).unwrap();
                let rest = line.strip_prefix('あ').unwrap();
                assert!(shown.content.strip_suffix('\n') == Some(rest), "{name}, after {before:?}");
            }
        }
    }

    #[test]
    fn an_excerpt_is_truncated_where_lines_follow_that_it_does_not_have() {
        let text = "a\nb\nc\nd\n".as_bytes();
        let scan = scan_in(Encoding::Utf8, text);
        let of = LineRange::inclusive(1, 3).unwrap();
        let rows = [
            (1, 9, 99, "a\nb\nc\n", false, true),
            (1, 3, 99, "a\nb\nc\n", false, true),
            (2, 2, 99, "b\nc\n", false, false),
            (1, 2, 99, "a\nb\n", true, false),
            (1, 9, 5, "a\nb\n", true, false),
        ];
        for (start, max_lines, max_bytes, text_of_it, truncated, has_digest) in rows {
            let place = (LineNumber::new(start).unwrap(), 1);
            let found = excerpt(Scanned::new(text, &scan), of, place, max_lines, max_bytes).unwrap();
            assert_eq!((found.text.as_str(), found.truncated), (text_of_it, truncated), "{found:?}");
            // An edit may name what is shown whole.
            let digest = has_digest.then(|| Digest::of(text_of_it.as_bytes()));
            assert_eq!(found.digest, digest, "{found:?}");
        }
        let none = LineRange::new(LineNumber::FIRST, 0);
        let found = excerpt(Scanned::new(text, &scan), none, (LineNumber::FIRST, 1), 9, 99).unwrap();
        assert_eq!((found.text.as_str(), found.digest), ("", None));
    }

    /// Lines of any length and kind, with any line ends.
    fn files() -> impl Strategy<Value = String> {
        let line = prop_oneof![
            4 => "[a-z \\t\"\\\\]{0,12}",
            2 => "\\PC{0,6}",
            1 => "[\u{1}-\u{8}é漢😀]{0,40}",
            1 => "[x\"\\\\]{60,90}",
        ];
        let end = prop_oneof![3 => Just("\n"), 1 => Just("\r\n")];
        (proptest::collection::vec((line, end), 0..12), any::<bool>()).prop_map(|(lines, open)| {
            let text: String = lines.iter().flat_map(|(line, end)| [line.as_str(), *end]).collect();
            if open { text.trim_end_matches(['\r', '\n']).to_owned() } else { text }
        })
    }

    fn budgets() -> impl Strategy<Value = Budget> {
        let unit = prop_oneof![Just(LengthUnit::Utf8), Just(LengthUnit::Utf16)];
        (1_usize..200, unit, 0_u8..4, 1_u64..9, any::<bool>()).prop_map(
            |(weight, unit, escapes, lines, gutter)| Budget {
                weight,
                measure: Measure { unit, escapes },
                lines,
                gutter,
            },
        )
    }

    proptest! {
        /// Checks that a client that continues where each page says gets the whole text, and that no page
        /// exceeds its budget by more than one character.
        #[test]
        fn pages_fit_and_together_are_the_file(file in files(), budget in budgets()) {
            let mut scanner = Scanner::new(None);
            scanner.feed(file.as_bytes());
            let scan = scanner.finish();
            // Other tests have files whose lines end at CR, and files with a byte order mark.
            prop_assume!(!file.starts_with('\u{feff}') && (file.contains('\n') || !file.contains('\r')));
            let total = scan.lines.count();
            let (mut start, mut from_char, mut seen) = (1, 1, String::new());
            while let Some(lines) = LineRange::inclusive(start, total) {
                let (shown, used) = show(Scanned::new(file.as_bytes(), &scan), lines, from_char, budget).unwrap();
                prop_assert_eq!(used, budget.measure.of(&shown.content));
                let numbered = (start..).zip(shown.content.split_inclusive('\n'));
                let text = numbered.map(|(number, line)| {
                    if budget.gutter { line.strip_prefix(&format!("{number}\t")).unwrap() } else { line }
                });
                let text: String = text.collect();
                let is_one_character = text.trim_end_matches('\n').chars().count() <= 1;
                prop_assert!(used <= budget.weight || is_one_character, "{} of {:?}", used, budget);
                prop_assert!(shown.lines.count() <= budget.lines);
                prop_assert!(shown.digest.is_none() || shown.line_length.is_none());
                seen.push_str(&text);
                let Some(cut) = shown.cut else { break };
                let next = (cut.next_start.get(), cut.next_char.unwrap_or(1));
                prop_assert!(next > (start, from_char), "no further than {:?}", next);
                (start, from_char) = next;
            }
            prop_assert_eq!(seen, file.replace("\r\n", "\n"));
        }
    }
}
