//! Diffs two states of a file, as data: whole states, if nothing is known of the edits between them
//! ([`states`](fn@states)), or states that differ in known regions ([`Comparison`]).

use std::collections::HashMap;
use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::diff::hunk::{DiffHunk, DiffRow, Hunks, LineCounts, RowEnd, RowSide};
use crate::encoding::Encoding;
use crate::line::{LineNumber, LineRange};
use crate::regions::Region;
use crate::scan::{Scan, Scanned};
use crate::source::{Source, Window};

/// The number of lines of context above and below a change.
const CONTEXT: usize = 3;
/// The maximum lines of a part that is compared line by line. A longer part is shown as replaced whole.
const COMPARED_LINES: usize = 2_000;
/// The maximum pairs of lines that one diff compares. Changes beyond that are shown as replaced whole.
const COMPARED_PAIRS: usize = 8 * COMPARED_LINES * COMPARED_LINES;
/// The maximum bytes of a line that are shown.
const LONGEST_LINE: usize = 4_096;
/// The maximum bytes that are held in memory for a comparison, for each byte that may be shown.
const BYTES_PER_SHOWN: usize = 16;
/// The number of bytes of a long line that are shown before the first byte that differs.
const BEFORE: usize = 64;

/// A line of one of the two files: its bytes without the terminator, and the terminator.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Line<'a> {
    text: &'a [u8],
    end: RowEnd,
}

/// Old lines, and the new lines in their place, by their indices. At least one side has lines.
type LineChange = (Range<usize>, Range<usize>);

/// Compares two states of a file line by line, terminators included. `None` stands for a file that does not
/// exist.
///
/// The hunks have at most `max_bytes` bytes of text, and only a part of a long line, from where it differs.
/// Time is bounded by `n log n` of the lines and a constant: parts of thousands of lines that have nothing in
/// common are shown as replaced whole.
#[must_use]
pub fn states(old: Option<Scanned<'_, [u8]>>, new: Option<Scanned<'_, [u8]>>, max_bytes: usize) -> Hunks {
    let encoding = |side: Option<Scanned<'_, [u8]>>| side.map_or(Encoding::Utf8, |side| side.scan.encoding);
    let mut page = Page::new(max_bytes, [encoding(old), encoding(new)]);
    page.part([0, 0], &all_lines(old), &all_lines(new));
    page.hunks
}

/// The states of a file before and after an edit, and their diff.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Comparison {
    /// The scan of the state before the edit; `None` if there was no file.
    pub before: Option<Scan>,
    /// The scan of the state after the edit; `None` if there is no file.
    pub after: Option<Scan>,
    /// The lines that differ; marked as cut if a state is not text.
    pub hunks: Hunks,
}

impl Comparison {
    /// Compares two states of a file that differ in `regions`, as [`crate::regions::regions`] finds them.
    /// Reads only the regions and a few lines around them, and holds at most a multiple of `max_bytes` in
    /// memory. Fails only if either source does.
    ///
    /// The hunks have at most `max_bytes` bytes of text, and only a part of a long line.
    pub fn new<O, N>(
        old: Scanned<'_, O>,
        new: Scanned<'_, N>,
        regions: &[Region],
        max_bytes: usize,
    ) -> Result<Self, O::Error>
    where
        O: Source + ?Sized,
        N: Source<Error = O::Error> + ?Sized,
    {
        let mut page = Page::new(max_bytes, [old.scan.encoding, new.scan.encoding]);
        let lines = LineCounts { added: new.scan.lines.count(), removed: old.scan.lines.count() };
        if old.scan.undecodable.is_some() || new.scan.undecodable.is_some() {
            (page.hunks.is_cut, page.hunks.counts) = (true, None);
        }
        let apart = 2 * CONTEXT as u64;
        let are_near = |above: &Region, below: &Region| {
            below.replaced.start().index().saturating_sub(above.replaced.end()) <= apart
        };
        for group in regions.chunk_by(are_near) {
            let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
            if page.hunks.counts.is_none() {
                break;
            }
            // One more line than the context, because the end of the line above the region can have changed.
            let above = first.replaced.start().index().min(first.lines.start().index());
            let above = above.min(CONTEXT as u64 + 1);
            let old_part = Part::read(old, [first.replaced, last.replaced], above, max_bytes)?;
            let new_part = Part::read(new, [first.lines, last.lines], above, max_bytes)?;
            page.part([old_part.start, new_part.start], &old_part.lines(old), &new_part.lines(new));
            if old_part.is_cut || new_part.is_cut {
                let is_one_sided = lines.added == 0 || lines.removed == 0;
                (page.hunks.is_cut, page.hunks.counts) = (true, is_one_sided.then_some(lines));
            }
        }
        Ok(Self { before: Some(old.scan.clone()), after: Some(new.scan.clone()), hunks: page.hunks })
    }
}

/// Some lines of a file in memory.
struct Part {
    window: Window,
    /// The index of the first line.
    start: usize,
    bytes: Range<u64>,
    /// Whether the last lines are missing.
    is_cut: bool,
}

impl Part {
    /// Reads the lines from the beginning of `first` to the end of `last`, with `above` lines before them and
    /// context after them.
    fn read<S: Source + ?Sized>(
        file: Scanned<'_, S>,
        [first, last]: [LineRange; 2],
        above: u64,
        max_bytes: usize,
    ) -> Result<Self, S::Error> {
        let start = first.start().index().saturating_sub(above);
        let end = file.scan.lines.count().min(last.end() + CONTEXT as u64);
        let lines = LineRange::new(LineNumber::from_index(start), end.saturating_sub(start));
        let mut bytes = file.bytes_of(lines)?;
        let longest = bytes.start.saturating_add(BYTES_PER_SHOWN.saturating_mul(max_bytes) as u64);
        let is_cut = bytes.end > longest;
        bytes.end = bytes.end.min(longest);
        let start = usize::try_from(start).unwrap_or(usize::MAX);
        Ok(Self { window: Window::new(file.source, bytes.clone())?, start, bytes, is_cut })
    }

    fn lines<S: Source + ?Sized>(&self, file: Scanned<'_, S>) -> Vec<Line<'_>> {
        let first = LineNumber::from_index(self.start as u64);
        let window = Scanned::new(&self.window, file.scan);
        let mut lines = lines(window, first, self.bytes.clone(), |bytes| self.window.get(bytes));
        if self.is_cut {
            lines.pop();
        }
        lines
    }
}

fn all_lines(file: Option<Scanned<'_, [u8]>>) -> Vec<Line<'_>> {
    let Some(file) = file else { return Vec::new() };
    let place = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX);
    lines(file, LineNumber::FIRST, file.scan.lines.bytes(), |bytes| {
        file.source.get(place(bytes.start)..place(bytes.end)).unwrap_or_default()
    })
}

/// Splits bytes in memory into lines.
fn lines<'a, S: Source + ?Sized>(
    file: Scanned<'_, S>,
    first: LineNumber,
    bytes: Range<u64>,
    text: impl Fn(Range<u64>) -> &'a [u8],
) -> Vec<Line<'a>> {
    let mut out = Vec::new();
    // Only the place of each text is needed here. A read from memory never fails.
    let _ = file.for_each_line(first, bytes, 0, |line| {
        let text = text(line.start..line.start + line.length);
        out.push(Line { text, end: line.ending.map_or(RowEnd::None, RowEnd::With) });
        true
    });
    out
}

/// Finds the lines that differ. Skips equal lines at both ends, then matches lines that occur once on each
/// side in the same order ("patience diff"), and compares the parts between these by the Myers algorithm if
/// they are short enough.
fn changes(old: &[Line<'_>], new: &[Line<'_>], pairs_left: &mut usize) -> Vec<LineChange> {
    let equal = |(one, other): &(&Line<'_>, &Line<'_>)| one == other;
    let head = old.iter().zip(new).take_while(equal).count();
    let rest = |lines: usize| lines - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(rest(old.len()).min(rest(new.len())));
    let tail = tail.take_while(equal).count();
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    let mut out = Vec::new();
    let (mut from, mut to) = (head, head);
    let mut anchors = Vec::new();
    if old_end - head > COMPARED_LINES || new_end - head > COMPARED_LINES {
        anchors = anchored(old, head..old_end, new, head..new_end);
    }
    for (in_old, in_new) in anchors.into_iter().chain([(old_end, new_end)]) {
        compare(old, from..in_old, new, to..in_new, pairs_left, &mut out);
        (from, to) = (in_old + 1, in_new + 1);
    }
    out
}

/// Returns the longest list of lines that occur once in each part, in the same order in both, as pairs of
/// their indices.
fn anchored(
    old: &[Line<'_>],
    in_old: Range<usize>,
    new: &[Line<'_>],
    in_new: Range<usize>,
) -> Vec<(usize, usize)> {
    #[derive(Default)]
    struct Seen {
        old: Option<usize>,
        new: Option<usize>,
        again: bool,
    }
    let mut seen: HashMap<&Line<'_>, Seen> = HashMap::new();
    for (index, line) in in_old.clone().zip(old.get(in_old).unwrap_or_default()) {
        let seen = seen.entry(line).or_default();
        seen.again |= seen.old.replace(index).is_some();
    }
    for (index, line) in in_new.clone().zip(new.get(in_new).unwrap_or_default()) {
        let seen = seen.entry(line).or_default();
        seen.again |= seen.new.replace(index).is_some();
    }
    let once = seen.into_values().filter(|seen| !seen.again);
    let mut pairs: Vec<(usize, usize)> = once.filter_map(|seen| seen.old.zip(seen.new)).collect();
    pairs.sort_unstable();
    // The longest increasing subsequence by patience sorting: the top of each pile, and for each pair the
    // top of the pile to its left.
    let (mut tops, mut previous): (Vec<usize>, Vec<Option<usize>>) = (Vec::new(), Vec::new());
    let new_of = |pair: usize| pairs.get(pair).map_or(0, |pair| pair.1);
    for pair in 0..pairs.len() {
        let pile = tops.partition_point(|top| new_of(*top) < new_of(pair));
        previous.push(pile.checked_sub(1).and_then(|below| tops.get(below)).copied());
        match tops.get_mut(pile) {
            Some(top) => *top = pair,
            None => tops.push(pair),
        }
    }
    let mut chain = Vec::new();
    let mut next = tops.last().copied();
    while let Some(pair) = next {
        chain.extend(pairs.get(pair).copied());
        next = previous.get(pair).copied().flatten();
    }
    chain.reverse();
    chain
}

/// Compares a part of the old lines with a part of the new ones.
fn compare(
    old: &[Line<'_>],
    in_old: Range<usize>,
    new: &[Line<'_>],
    in_new: Range<usize>,
    pairs_left: &mut usize,
    out: &mut Vec<LineChange>,
) {
    if in_old.is_empty() && in_new.is_empty() {
        return;
    }
    let pairs = in_old.len().saturating_mul(in_new.len());
    if in_old.len() > COMPARED_LINES || in_new.len() > COMPARED_LINES || pairs > *pairs_left {
        out.push((in_old, in_new));
        return;
    }
    *pairs_left -= pairs;
    let (from, to) = (in_old.start, in_new.start);
    let (one, other) = (old.get(in_old).unwrap_or_default(), new.get(in_new).unwrap_or_default());
    for operation in capture_diff_slices(Algorithm::Myers, one, other) {
        if !matches!(operation, DiffOp::Equal { .. }) {
            let (removed, added) = (operation.old_range(), operation.new_range());
            out.push((from + removed.start..from + removed.end, to + added.start..to + added.end));
        }
    }
}

/// The hunks while they are built.
struct Page {
    hunks: Hunks,
    /// The bytes of text that still fit.
    bytes_left: usize,
    /// The pairs of lines that may still be compared.
    pairs_left: usize,
    /// The encodings of the old file and the new one.
    encodings: [Encoding; 2],
}

impl Page {
    fn new(max_bytes: usize, encodings: [Encoding; 2]) -> Self {
        let hunks = Hunks { counts: Some(LineCounts::default()), ..Hunks::default() };
        Self { hunks, bytes_left: max_bytes, pairs_left: COMPARED_PAIRS, encodings }
    }

    /// Adds the hunks of one part of each file, and counts the lines that differ. `start` has the indices of
    /// the first lines of the parts.
    fn part(&mut self, start: [usize; 2], old: &[Line<'_>], new: &[Line<'_>]) {
        let changes = changes(old, new, &mut self.pairs_left);
        if let Some(counts) = &mut self.hunks.counts {
            counts.added += changes.iter().map(|(_, added)| added.len() as u64).sum::<u64>();
            counts.removed += changes.iter().map(|(removed, _)| removed.len() as u64).sum::<u64>();
        }
        for group in changes.chunk_by(|above, below| below.0.start - above.0.end <= 2 * CONTEXT) {
            self.hunk(start, old, new, group);
        }
    }

    /// Adds one hunk for changes that are close together.
    fn hunk(&mut self, start: [usize; 2], old: &[Line<'_>], new: &[Line<'_>], changes: &[LineChange]) {
        let (Some(first), Some(last)) = (changes.first(), changes.last()) else { return };
        if self.hunks.is_cut {
            return;
        }
        let above = first.0.start.min(CONTEXT);
        let (old_start, new_start) = (first.0.start - above, first.1.start - above);
        let mut rows = Vec::new();
        let mut shown = old_start;
        for (removed, added) in changes {
            self.rows(RowSide::Both, old, shown..removed.start, |_| None, &mut rows);
            // Each line is paired with a line of the other side, to find where a long line differs.
            let in_new = |place: usize| {
                new.get(added.clone()).and_then(|added| added.get(place)).map(|line| line.text)
            };
            self.rows(RowSide::Old, old, removed.clone(), in_new, &mut rows);
            let in_old = |place: usize| {
                old.get(removed.clone()).and_then(|removed| removed.get(place)).map(|line| line.text)
            };
            self.rows(RowSide::New, new, added.clone(), in_old, &mut rows);
            shown = removed.end;
        }
        self.rows(RowSide::Both, old, shown..(last.0.end + CONTEXT).min(old.len()), |_| None, &mut rows);
        let place = |start: usize, index: usize| (start + index) as u64 + 1;
        let [of_old, of_new] = start;
        let (old_start, new_start) = (place(of_old, old_start), place(of_new, new_start));
        self.hunks.hunks.push(DiffHunk { old_start, new_start, rows });
    }

    /// Adds as many lines of one file as fit. `other` returns the line of the other side with which a line is
    /// paired.
    fn rows<'a>(
        &mut self,
        side: RowSide,
        lines: &[Line<'_>],
        indices: Range<usize>,
        other: impl Fn(usize) -> Option<&'a [u8]>,
        rows: &mut Vec<DiffRow>,
    ) {
        let [of_old, of_new] = self.encodings;
        let encoding = if side == RowSide::New { of_new } else { of_old };
        for (place, line) in lines.get(indices).unwrap_or_default().iter().enumerate() {
            if self.hunks.is_cut {
                return;
            }
            let (text, is_cut) = shown(line.text, other(place), encoding);
            let Some(left) = self.bytes_left.checked_sub(text.len() + 1) else {
                self.hunks.is_cut = true;
                return;
            };
            self.bytes_left = left;
            rows.push(DiffRow { side, text, end: line.end, is_cut });
        }
    }
}

/// Returns the shown text of a line, and whether it is only a part of the line. The text ends at bytes that
/// do not decode.
fn shown(line: &[u8], other: Option<&[u8]>, encoding: Encoding) -> (String, bool) {
    let mut from = 0;
    if let (true, Some(other), Encoding::Utf8) = (line.len() > LONGEST_LINE, other, encoding) {
        let alike = line.iter().zip(other).take_while(|(one, other)| one == other).count();
        let starts = |at: &usize| line.get(*at).is_some_and(|byte| byte & 0xC0 != 0x80);
        if alike > LONGEST_LINE / 2 {
            from = (alike - BEFORE..alike).find(starts).unwrap_or(0);
        }
    }
    let rest = line.get(from..).unwrap_or_default();
    let part = rest.get(..LONGEST_LINE).unwrap_or(rest);
    let decoded = encoding.decode(part).or_else(|fault| {
        let valid = part.get(..fault.offset).unwrap_or_default();
        encoding.decode(valid).map(|text| text + if part.len() == rest.len() { "\u{FFFD}" } else { "" })
    });
    let mut text = decoded.unwrap_or_default().into_owned();
    let is_cut = part.len() < line.len();
    if from > 0 {
        text.insert(0, '…');
    }
    if part.len() < rest.len() {
        text.push('…');
    }
    (text, is_cut)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::digest::Digest;
    use crate::matching::Tier;
    use crate::scan::Scanner;

    fn hunks_within(old: Option<&[u8]>, new: Option<&[u8]>, max_bytes: usize) -> Hunks {
        let scan = |bytes: &[u8]| {
            let mut scanner = Scanner::new(None);
            scanner.feed(bytes);
            scanner.finish()
        };
        let (old_scan, new_scan) = (old.map(scan), new.map(scan));
        let side = |bytes, scan| Some(Scanned::new(bytes?, scan?));
        states(side(old, old_scan.as_ref()), side(new, new_scan.as_ref()), max_bytes)
    }

    fn hunks(old: &[u8], new: &[u8]) -> Hunks {
        hunks_within(Some(old), Some(new), usize::MAX)
    }

    /// Returns one change, from the first line to the last in which two files differ.
    fn changed(old: &[u8], new: &[u8]) -> Vec<LineChange> {
        let (of_old, of_new) = (lines_of(old), lines_of(new));
        let same = |(one, other): &(&&[u8], &&[u8])| one == other;
        let head = of_old.iter().zip(&of_new).take_while(same).count();
        let rest = (of_old.len() - head).min(of_new.len() - head);
        let tail = of_old.iter().rev().zip(of_new.iter().rev()).take(rest).take_while(same).count();
        if old == new { Vec::new() } else { vec![(head..of_old.len() - tail, head..of_new.len() - tail)] }
    }

    /// Compares two files that differ in these lines.
    fn compared(old: &[u8], new: &[u8], changes: Vec<LineChange>, max_bytes: usize) -> Hunks {
        let lines = |range: Range<usize>| {
            LineRange::new(LineNumber::from_index(range.start as u64), range.len() as u64)
        };
        let region = |(removed, added)| Region {
            lines: lines(added),
            digest: Digest::of(b""),
            replaced: lines(removed),
            tier: Tier::Exact,
        };
        let regions: Vec<_> = changes.into_iter().map(region).collect();
        let scan = |bytes: &[u8]| {
            let mut scanner = Scanner::new(Some(Encoding::Utf8));
            scanner.feed(bytes);
            scanner.finish()
        };
        let (old_scan, new_scan) = (scan(old), scan(new));
        let both = (Scanned::new(old, &old_scan), Scanned::new(new, &new_scan));
        Comparison::new(both.0, both.1, &regions, max_bytes).unwrap().hunks
    }

    fn lines_of(bytes: &[u8]) -> Vec<&[u8]> {
        bytes.split_inclusive(|byte| *byte == b'\n').collect()
    }

    /// Writes each hunk on one line.
    fn told(hunks: &Hunks) -> String {
        let row = |row: &DiffRow| {
            let sign = match row.side {
                RowSide::Both => ' ',
                RowSide::Old => '-',
                RowSide::New => '+',
            };
            let end = match row.end {
                RowEnd::With(end) => format!("{:?}", end.as_str()),
                RowEnd::Some | RowEnd::None => String::new(),
            };
            format!("{sign}{}{end}", row.text)
        };
        let hunk = |hunk: &DiffHunk| {
            let rows: Vec<String> = hunk.rows.iter().map(row).collect();
            format!("{} {}: {}", hunk.old_start, hunk.new_start, rows.join(" "))
        };
        hunks.hunks.iter().map(hunk).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn ends_of_lines_are_told() {
        insta::assert_snapshot!(told(&hunks(b"a\nb\nc", b"a\r\nb\nc\n")), @r#"1 1: -a"\n" +a"\r\n"  b"\n" -c +c"\n""#);
        insta::assert_snapshot!(told(&hunks_within(None, Some(b"a\n"), 9)), @r#"1 1: +a"\n""#);
        insta::assert_snapshot!(told(&hunks_within(Some(b"a\rb"), None, 9)), @r#"1 1: -a"\r" -b"#);
        assert_eq!(hunks(b"a\n", b"a\n").hunks, []);
    }

    #[test]
    #[cfg_attr(miri, ignore = "too large for Miri")]
    fn what_lies_far_apart_is_told_apart() {
        let old: Vec<String> = (0..10_000).map(|line| format!("line {line}\n")).collect();
        let mut new = old.clone();
        new[10].push_str("and\n");
        new[9_000] = "other\n".to_owned();
        let hunks = hunks(old.concat().as_bytes(), new.concat().as_bytes());
        let starts: Vec<_> =
            hunks.hunks.iter().map(|hunk| (hunk.old_start, hunk.new_start, hunk.rows.len())).collect();
        assert_eq!(starts, [(9, 9, 7), (8_998, 8_999, 8)]);
    }

    /// Most lines keep their places, so a line that moved far is shown as removed and added.
    #[test]
    #[cfg_attr(miri, ignore = "too large for Miri")]
    fn of_a_long_file_as_many_lines_as_can_be_stay() {
        let old: Vec<String> = (0..3_000).map(|line| format!("line {line}\n")).collect();
        let new = [&old[2_999..], &old[1..2_999], &old[..1]].concat();
        let told = told(&hunks(old.concat().as_bytes(), new.concat().as_bytes()));
        let lines: Vec<&str> = told.lines().collect();
        assert!(lines[0].starts_with(r#"1 1: -line 0"\n" +line 2999"\n"  line 1"\n""#), "{told}");
        assert!(lines[1].ends_with(r#" line 2998"\n" -line 2999"\n" +line 0"\n""#), "{told}");
        assert_eq!(lines.len(), 2);
    }

    #[test]
    fn behind_what_there_is_no_room_for_nothing_is_told() {
        let old: Vec<String> = (0..40).map(|line| format!("{line}\n")).collect();
        let mut new = old.clone();
        (new[0], new[20], new[39]) = ("a\n".to_owned(), "b\n".to_owned(), "c\n".to_owned());
        let hunks = hunks_within(Some(old.concat().as_bytes()), Some(new.concat().as_bytes()), 8);
        assert_eq!((told(&hunks).as_str(), hunks.is_cut), (r#"1 1: -0"\n" +a"\n"  1"\n"  2"\n""#, true));
    }

    #[test]
    fn a_long_line_is_shown_where_it_differs() {
        let line = |end: &str| "é".repeat(3_000) + end + &"x".repeat(5_000);
        let hunks = hunks(line("old").as_bytes(), line("new").as_bytes());
        let [removed, added] = &hunks.hunks[0].rows[..] else { panic!("{hunks:?}") };
        assert!(
            removed.is_cut && removed.text.starts_with('…') && removed.text.contains("éold"),
            "{}",
            removed.text
        );
        assert!(added.is_cut && added.text.contains("énew") && added.text.ends_with('…'), "{}", added.text);
    }

    #[test]
    fn of_a_line_as_much_is_shown_as_there_is_room_for() {
        let x = |many: usize| "x".repeat(many);
        let cut = |line: &str, other: &str| shown(line.as_bytes(), Some(other.as_bytes()), Encoding::Utf8);
        // A line that fits is shown from its beginning, wherever it differs.
        let fits = x(LONGEST_LINE - 1) + "y";
        assert_eq!(cut(&fits, &x(LONGEST_LINE)), (fits, false));
        let (early, late) = (LONGEST_LINE / 2, LONGEST_LINE / 2 + 1);
        for same in [0, 1, BEFORE, early] {
            let line = x(same) + &"y".repeat(LONGEST_LINE + 1);
            assert_eq!(cut(&line, &x(same)), (format!("{}…", &line[..LONGEST_LINE]), true), "{same}");
        }
        let line = x(late) + "y" + &x(LONGEST_LINE);
        let part = &line[late - BEFORE..late - BEFORE + LONGEST_LINE];
        assert_eq!(cut(&line, &x(late)), (format!("…{part}…"), true));
        let line = x(LONGEST_LINE) + "y";
        assert_eq!(cut(&line, &x(LONGEST_LINE)), (format!("…{}y", x(BEFORE)), true));
    }

    #[test]
    fn a_part_of_a_line_has_whole_characters() {
        for character in ["é", "漢", "😀", "@"] {
            for before in 0..character.len() {
                let line = "x".repeat(before) + &character.repeat(LONGEST_LINE + 1);
                let (start, is_cut) = shown(line.as_bytes(), None, Encoding::Utf8);
                assert!(is_cut && line.starts_with(start.strip_suffix('…').unwrap()), "{start}");
                assert!(start.len() > LONGEST_LINE - 4, "{start}");
                let (end, is_cut) =
                    shown((line.clone() + "y").as_bytes(), Some(line.as_bytes()), Encoding::Utf8);
                let text = end.strip_prefix('…').and_then(|end| end.strip_suffix('y')).unwrap();
                assert!(is_cut && line.ends_with(text) && text.len() > BEFORE - 4, "{end}");
            }
        }
        assert_eq!(shown(b"a\xffb", None, Encoding::Utf8), ("a\u{FFFD}".to_owned(), false));
    }

    /// Returns the lines that both sides have in the hunks.
    fn kept(old: &str, new: &str) -> Vec<String> {
        let rows = hunks(old.as_bytes(), new.as_bytes()).hunks.into_iter().flat_map(|hunk| hunk.rows);
        rows.filter(|row| row.side == RowSide::Both).map(|row| row.text).collect()
    }

    #[test]
    #[cfg_attr(miri, ignore = "too large for Miri")]
    fn long_parts_are_aligned_by_the_lines_that_each_side_has_once() {
        let (long, some) = (COMPARED_LINES + 1, 10);
        for (of_old, of_new, expected) in [
            (COMPARED_LINES, some, ["and", "and", "and"].as_slice()),
            (some, COMPARED_LINES, &["and", "and", "and"]),
            (COMPARED_LINES, COMPARED_LINES, &["and", "and", "and"]),
            (long, some, &["once"]),
            (some, long, &["once"]),
        ] {
            let old = "old\n".repeat(of_old - 4) + "once\nand\nand\nand\n";
            let new = "and\nand\nand\nonce\n".to_owned() + &"new\n".repeat(of_new - 4);
            assert_eq!(kept(&old, &new), expected, "{of_old} and {of_new} lines");
            // Equal lines above make no difference.
            let kept = kept(&("head\n".repeat(50) + &old), &("head\n".repeat(50) + &new));
            assert_eq!(kept[CONTEXT..], *expected, "{of_old} and {of_new} lines");
        }
        let (old, new) = ("old\n".repeat(long), "new\n".repeat(long));
        let twice = format!("{old}twice\n{old}twice\n{old}");
        assert!(kept(&twice, "new\ntwice\nnew\n").is_empty());
        assert!(kept("old\ntwice\nold\n", &twice.replace(&old, &new)).is_empty());
    }

    #[test]
    #[cfg_attr(miri, ignore = "too large for Miri")]
    fn long_parts_without_such_lines_are_replaced_whole() {
        for (of_old, of_new, compared) in [
            (COMPARED_LINES, COMPARED_LINES, true),
            (COMPARED_LINES + 1, 10, false),
            (10, COMPARED_LINES + 1, false),
        ] {
            let side = |line: &str, many: usize| format!("{line}and\nand\n{}", line.repeat(many - 3));
            let kept = kept(&side("old\n", of_old), &side("new\n", of_new));
            assert_eq!(kept.len(), if compared { 2 } else { 0 }, "{of_old} and {of_new} lines");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "too large for Miri")]
    fn no_more_pairs_of_lines_are_compared_than_there_is_time_for() {
        let side = |line: &str| {
            let part = |many: usize| format!("{line}and\n{}", line.repeat(many - 2));
            let parts = (0..8).map(|place| format!("{}place {place}\n", part(COMPARED_LINES)));
            parts.collect::<String>() + &part(3)
        };
        let kept = kept(&side("old\n"), &side("new\n"));
        // The ninth part is replaced whole.
        let of_eight = (0..8).flat_map(|place| ["and".to_owned(), format!("place {place}")]);
        assert_eq!(kept, of_eight.collect::<Vec<_>>());
    }

    #[test]
    fn changes_that_share_their_context_are_one_hunk() {
        for (apart, hunks_of_them) in [(2 * CONTEXT, 1), (2 * CONTEXT + 1, 2)] {
            let side = |line: &str| format!("{line}{}{line}", "same\n".repeat(apart));
            let hunks = hunks(side("old\n").as_bytes(), side("new\n").as_bytes());
            assert_eq!(hunks.hunks.len(), hunks_of_them, "{apart} lines apart");
        }
    }

    /// Counts the bytes that are read of a file.
    struct Counted<'a>(&'a [u8], std::cell::Cell<usize>);

    impl Source for Counted<'_> {
        type Error = std::convert::Infallible;

        fn size(&self) -> u64 {
            self.0.size()
        }

        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, Self::Error> {
            let read = self.0.read_at(offset, buffer)?;
            self.1.set(self.1.get() + read);
            Ok(read)
        }
    }

    #[test]
    fn what_an_edit_left_is_neither_read_nor_held() {
        let text = "0123456789\n".repeat(100_000);
        let new = text.clone() + "last\n";
        let lines = LineRange::new(LineNumber::from_index(100_000), 1);
        let replaced = LineRange::new(lines.start(), 0);
        for (file, all) in [(text.as_str(), false), ("", true)] {
            let scan = |text: &str| {
                let mut scanner = Scanner::new(None);
                scanner.feed(text.as_bytes());
                scanner.finish()
            };
            let scans = (scan(file), scan(&new));
            let region = Region {
                lines: if all { scans.1.lines.all() } else { lines },
                digest: Digest::of(b""),
                replaced: if all { scans.0.lines.all() } else { replaced },
                tier: Tier::Exact,
            };
            let of_new = Counted(new.as_bytes(), std::cell::Cell::default());
            let both = (Scanned::new(file.as_bytes(), &scans.0), Scanned::new(&of_new, &scans.1));
            let Comparison { hunks, .. } = Comparison::new(both.0, both.1, &[region], 1_000).unwrap();
            assert_eq!((hunks.hunks[0].rows.len(), hunks.is_cut), if all { (90, true) } else { (4, false) });
            let added = if all { 100_001 } else { 1 };
            assert_eq!(hunks.counts, Some(LineCounts { added, removed: 0 }));
            assert!(of_new.1.get() < 100_000, "{}", of_new.1.get());
        }
    }

    #[test]
    fn no_more_is_shown_than_there_is_room_for() {
        let text = "0123456789\n".repeat(100);
        let hunks = hunks_within(None, Some(text.as_bytes()), 110);
        assert!(hunks.is_cut);
        assert_eq!(hunks.hunks[0].rows.len(), 10);
    }

    proptest! {
        #[test]
        fn the_hunks_make_the_new_file(
            old in prop::collection::vec(prop::sample::select(vec!["a\n", "b\n", "c\r\n", "\n"]), 0..40),
            new in prop::collection::vec(prop::sample::select(vec!["a\n", "b\n", "c\r\n", "\n"]), 0..40),
        ) {
            let (old_text, new_text) = (old.concat(), new.concat());
            let hunks = hunks(old_text.as_bytes(), new_text.as_bytes());
            let (old_bytes, new_bytes) = (old_text.as_bytes(), new_text.as_bytes());
            let by_region = compared(old_bytes, new_bytes, changed(old_bytes, new_bytes), usize::MAX);
            prop_assert_eq!(&by_region, &hunks, "whether all is compared or what differs");
            // Lines are counted even if they do not fit.
            let cut = hunks_within(Some(old_bytes), Some(new_bytes), 4);
            let apart = capture_diff_slices(Algorithm::Myers, &old, &new);
            let apart = apart.iter().filter(|op| !matches!(op, DiffOp::Equal { .. }));
            let apart = apart.map(|op| (op.old_range(), op.new_range())).collect();
            let cut_by_regions = compared(old_bytes, new_bytes, apart, 10);
            prop_assert_eq!([cut.counts, cut_by_regions.counts], [hunks.counts; 2]);
            let rows = || hunks.hunks.iter().flat_map(|hunk| &hunk.rows);
            let count = |side| rows().filter(|row| row.side == side).count() as u64;
            let counts = LineCounts { added: count(RowSide::New), removed: count(RowSide::Old) };
            prop_assert_eq!(hunks.counts, Some(counts));
            let (mut made, mut from) = (Vec::new(), 0);
            for hunk in &hunks.hunks {
                let start = usize::try_from(hunk.old_start - 1).unwrap();
                made.extend(old[from..start].iter().map(|line| (*line).to_owned()));
                prop_assert_eq!(hunk.new_start, made.len() as u64 + 1);
                from = start;
                for row in &hunk.rows {
                    let RowEnd::With(end) = row.end else { panic!("{row:?}") };
                    let line = row.text.clone() + end.as_str();
                    if row.side != RowSide::New {
                        prop_assert_eq!(old[from], &line);
                        from += 1;
                    }
                    if row.side != RowSide::Old {
                        made.push(line);
                    }
                }
            }
            made.extend(old[from..].iter().map(|line| (*line).to_owned()));
            prop_assert_eq!(made.concat(), new_text);
        }

        #[test]
        fn any_bytes_are_compared(old: Vec<u8>, new: Vec<u8>) {
            hunks_within(Some(&old), Some(&new), 1_000);
        }
    }
}
