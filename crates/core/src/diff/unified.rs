//! A unified diff, built from the changes that are known instead of from two whole files.
//!
//! Only the lines beside a change are asked for, so that the diff of a one-line edit in a gigabyte costs a few lines.
//! Terminators are not shown: a line that is `\r\n` looks like one that is `\n`.

use std::fmt::Write as _;
use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::line::{LineNumber, LineRange};

/// How many unchanged lines stand above and below a change, as in `diff -u`.
const CONTEXT: u64 = 3;

/// Sides of a change that are longer than this are not compared line by line.
const COMPARED_LINES: usize = 2000;

/// How many pairs of lines may be compared for all changes of one diff; changes beyond that are shown as replaced whole. Without this
/// limit one call with many long changes would cost minutes.
const COMPARED_PAIRS: usize = 8 * COMPARED_LINES * COMPARED_LINES;

/// One of the two files that a diff compares.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// The name of the file in the header, which is quoted as GNU diff does where it holds blanks, quotes or control characters.
    pub path: &'a str,
    /// Whether its last line has no terminator; ignored for an empty file.
    pub unterminated: bool,
}

/// Old lines and the new ones in their place; either may be empty.
///
/// These are whole lines without their terminators. A change of the last line's terminator alone needs no `Change`: [`Side`] tells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// The number of the first old line, in the old file; without old lines, that of the line before which the new ones are put.
    pub start: LineNumber,
    /// The lines that are removed.
    pub old: Vec<String>,
    /// The lines that are added.
    pub new: Vec<String>,
}

impl Change {
    /// Returns the range of the old lines.
    #[must_use]
    pub fn old_lines(&self) -> LineRange {
        LineRange::new(self.start, self.old.len() as u64)
    }
}

/// Makes the diff of `changes`, which are sorted and disjoint, in the format of GNU `diff -u` (POSIX calls it the unified format;
/// without time stamps), with three lines of context. Empty where no change has sides that differ.
///
/// The old file has `old_total` lines. `context` is asked for the text of some of them, without terminators, and never for one
/// that does not exist; where it gives fewer lines than asked, empty ones stand in, and surplus ones are dropped. Lines of a change
/// that are equal on both sides are shown as unchanged. The text ends, at a line's end, before it exceeds `limit` bytes;
/// [`more_lines`] then comes on top. Every hunk header counts the whole hunk, cut or not.
///
/// Fails only as `context` does.
///
/// ```
/// use std::convert::Infallible;
///
/// use mcp_text_editor_core::diff::{Change, Side, unified};
/// use mcp_text_editor_core::line::{LineNumber, LineRange};
///
/// let old = ["one", "two", "three"];
/// let changes = [Change {
///     start: LineNumber::new(2).unwrap(),
///     old: vec!["two".to_owned()],
///     new: vec!["zwei".to_owned()],
/// }];
/// let side = Side { path: "numbers.txt", unterminated: false };
/// let context = |lines: LineRange| {
///     let wanted = old.iter().skip(lines.start().index() as usize).take(lines.count() as usize);
///     Ok::<_, Infallible>(wanted.map(|line| line.to_string()).collect())
/// };
/// let diff = unified(side, side, 3, &changes, 40_000, context)?;
/// assert_eq!(diff, "\
/// --- numbers.txt
/// +++ numbers.txt
/// @@ -1,3 +1,3 @@
///  one
/// -two
/// +zwei
///  three
/// ");
/// # Ok::<(), Infallible>(())
/// ```
pub fn unified<E>(
    old: Side<'_>,
    new: Side<'_>,
    old_total: u64,
    changes: &[Change],
    limit: usize,
    mut context: impl FnMut(LineRange) -> Result<Vec<String>, E>,
) -> Result<String, E> {
    let shape = Shape::new(old, new, old_total, changes);
    let last = last_line_change(shape, changes, &mut context)?;
    let (inside, behind) = changes.split_at(
        last.as_ref().map_or(0, |last| changes.partition_point(|change| change.start <= last.start)),
    );
    let edits = edits(shape, inside.iter().chain(&last).chain(behind));

    let mut page = Page { text: String::new(), limit, hidden: 0 };
    if !edits.is_empty() {
        page.line(format_args!("--- {}", quoted(old.path)));
        page.line(format_args!("+++ {}", quoted(new.path)));
    }
    for hunk in edits.chunk_by(|above, below| below.old.start.saturating_sub(above.old.end) <= 2 * CONTEXT) {
        write_hunk(&mut page, shape, hunk, &mut context)?;
    }
    Ok(page.finish())
}

/// The lengths of the two files, and whether their last lines have terminators.
#[derive(Clone, Copy)]
struct Shape {
    old_total: u64,
    new_total: u64,
    old_unterminated: bool,
    new_unterminated: bool,
}

impl Shape {
    fn new(old: Side<'_>, new: Side<'_>, old_total: u64, changes: &[Change]) -> Self {
        let sum =
            |side: fn(&Change) -> &Vec<String>| changes.iter().map(|change| side(change).len() as u64).sum();
        let (gone, come): (u64, u64) = (sum(|change| &change.old), sum(|change| &change.new));
        Self {
            old_total,
            new_total: old_total.saturating_sub(gone).saturating_add(come),
            old_unterminated: old.unterminated,
            new_unterminated: new.unterminated,
        }
    }

    fn old_open(self, index: u64) -> bool {
        self.old_unterminated && index.saturating_add(1) == self.old_total
    }

    fn new_open(self, index: u64) -> bool {
        self.new_unterminated && index.saturating_add(1) == self.new_total
    }
}

/// Finds an old line that is in no change although its terminator is added or removed: the last line of the new file, or the last
/// one of the old file if lines now follow. Returns a change of that line to itself.
fn last_line_change<E>(
    shape: Shape,
    changes: &[Change],
    context: &mut impl FnMut(LineRange) -> Result<Vec<String>, E>,
) -> Result<Option<Change>, E> {
    // Goes upwards from the end, past lines that are only removed, to the last line that stays.
    let mut kept = shape.old_total;
    let mut followed = false;
    for change in changes.iter().rev() {
        if change.old_lines().end() < kept {
            break;
        }
        followed |= !change.new.is_empty();
        kept = kept.min(change.start.index());
    }
    let Some(index) = kept.checked_sub(1) else { return Ok(None) };
    if shape.old_open(index) == (shape.new_unterminated && !followed) {
        return Ok(None);
    }
    let start = LineNumber::from_index(index);
    let mut lines = context(LineRange::new(start, 1))?;
    lines.resize(1, String::new());
    Ok(Some(Change { start, old: lines.clone(), new: lines }))
}

/// Lines that are removed, by their indices from 0, and those that are added in their place; at neither end are they equal.
struct Edit<'a> {
    old: Range<u64>,
    new: Range<u64>,
    gone: &'a [String],
    come: &'a [String],
}

fn edits<'a>(shape: Shape, changes: impl Iterator<Item = &'a Change>) -> Vec<Edit<'a>> {
    let mut edits = Vec::new();
    let mut pairs_left = COMPARED_PAIRS;
    let (mut old_seen, mut new_seen) = (0_u64, 0_u64);
    for change in changes {
        let old_start = change.start.index();
        let new_start = new_seen.saturating_add(old_start.saturating_sub(old_seen));
        for op in operations(shape, change, new_start, &mut pairs_left) {
            let (old, new) = (op.old_range(), op.new_range());
            if matches!(op, DiffOp::Equal { .. }) {
                continue;
            }
            edits.push(Edit {
                old: shifted(&old, old_start),
                new: shifted(&new, new_start),
                gone: change.old.get(old).unwrap_or_default(),
                come: change.new.get(new).unwrap_or_default(),
            });
        }
        old_seen = old_start.saturating_add(change.old.len() as u64);
        new_seen = new_start.saturating_add(change.new.len() as u64);
    }
    edits
}

/// Finds out which lines of a change differ, by the Myers algorithm ("An O(ND) difference algorithm", 1986) where the sides are short
/// enough for it.
fn operations(shape: Shape, change: &Change, new_start: u64, pairs_left: &mut usize) -> Vec<DiffOp> {
    let (old_len, new_len) = (change.old.len(), change.new.len());
    let pairs = old_len.saturating_mul(new_len);
    if old_len > COMPARED_LINES || new_len > COMPARED_LINES || pairs > *pairs_left {
        return vec![DiffOp::Replace { old_index: 0, old_len, new_index: 0, new_len }];
    }
    *pairs_left -= pairs;
    // A line with a terminator differs from the same line without one.
    let old: Vec<_> = (change.start.index()..)
        .zip(&change.old)
        .map(|(index, line)| (line, shape.old_open(index)))
        .collect();
    let new: Vec<_> =
        (new_start..).zip(&change.new).map(|(index, line)| (line, shape.new_open(index))).collect();
    capture_diff_slices(Algorithm::Myers, &old, &new)
}

fn shifted(range: &Range<usize>, by: u64) -> Range<u64> {
    by.saturating_add(range.start as u64)..by.saturating_add(range.end as u64)
}

fn write_hunk<E>(
    page: &mut Page,
    shape: Shape,
    edits: &[Edit<'_>],
    context: &mut impl FnMut(LineRange) -> Result<Vec<String>, E>,
) -> Result<(), E> {
    let (Some(first), Some(last)) = (edits.first(), edits.last()) else { return Ok(()) };
    let above = first.old.start.min(CONTEXT);
    let below = shape.old_total.saturating_sub(last.old.end).min(CONTEXT);
    page.line(format_args!(
        "@@ -{} +{} @@",
        position(first.old.start - above..last.old.end + below),
        position(first.new.start.saturating_sub(above)..last.new.end + below),
    ));
    let mut shown = first.old.start - above;
    // Edits with nothing between them are shown as one: first all removed lines, then all added ones.
    for group in edits.chunk_by(|above, below| above.old.end >= below.old.start) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        write_context(page, shape, shown..first.old.start, context)?;
        for edit in group {
            for (index, line) in (edit.old.start..).zip(edit.gone) {
                page.row('-', line, shape.old_open(index));
            }
        }
        for edit in group {
            for (index, line) in (edit.new.start..).zip(edit.come) {
                page.row('+', line, shape.new_open(index));
            }
        }
        shown = last.old.end;
    }
    write_context(page, shape, shown..last.old.end + below, context)
}

fn write_context<E>(
    page: &mut Page,
    shape: Shape,
    lines: Range<u64>,
    context: &mut impl FnMut(LineRange) -> Result<Vec<String>, E>,
) -> Result<(), E> {
    let count = lines.end.saturating_sub(lines.start);
    let mut texts = Vec::new();
    if count > 0 && page.hidden == 0 {
        texts = context(LineRange::new(LineNumber::from_index(lines.start), count))?;
    }
    texts.resize(usize::try_from(count).unwrap_or_default(), String::new());
    for (index, line) in lines.zip(&texts) {
        page.row(' ', line, shape.old_open(index));
    }
    Ok(())
}

/// Writes a hunk's place as GNU diff does: `start,count`, without the count where that is 1, and with the line before where it is 0.
fn position(lines: Range<u64>) -> String {
    match lines.end.saturating_sub(lines.start) {
        0 => format!("{},0", lines.start),
        1 => (lines.start + 1).to_string(),
        count => format!("{},{count}", lines.start + 1),
    }
}

/// Writes a path as GNU diff does in its header: in quotes and escaped where it would be read as something else.
fn quoted(path: &str) -> String {
    if !path.contains(|c: char| c.is_ascii_control() || matches!(c, ' ' | '"' | '\\')) {
        return path.to_owned();
    }
    let mut text = String::from('"');
    for c in path.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            c if c.is_ascii_control() => _ = write!(text, "\\{:03o}", u32::from(c)),
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

/// Text that stops growing at its limit, and counts the lines that are left out.
struct Page {
    text: String,
    limit: usize,
    hidden: u64,
}

impl Page {
    fn row(&mut self, sign: char, text: &str, open: bool) {
        self.line(format_args!("{sign}{text}"));
        if open {
            self.line(format_args!("\\ No newline at end of file"));
        }
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        if self.hidden > 0 {
            self.hidden += 1;
            return;
        }
        let before = self.text.len();
        _ = writeln!(self.text, "{line}");
        if self.text.len() > self.limit {
            self.text.truncate(before);
            self.hidden = 1;
        }
    }

    fn finish(mut self) -> String {
        if self.hidden > 0 {
            self.text.push_str(&more_lines(self.hidden));
        }
        self.text
    }
}

/// Returns the line, with its `\n`, with which a diff ends of which the last `count` lines are left out.
#[must_use]
pub fn more_lines(count: u64) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("… {count} more line{plural}\n")
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    fn change(start: u64, old: &str, new: &str) -> Change {
        Change { start: LineNumber::new(start).unwrap(), old: lines(old), new: lines(new) }
    }

    fn diff_within(old: &str, new_unterminated: bool, changes: &[Change], limit: usize) -> String {
        let all = lines(old);
        let open = !old.is_empty() && !old.ends_with('\n');
        let result = unified(
            Side { path: "a/x", unterminated: open },
            Side { path: "b/x", unterminated: new_unterminated },
            all.len() as u64,
            changes,
            limit,
            |range| {
                let (start, end) = (range.start().index(), range.end());
                Ok::<_, Infallible>(
                    all[usize::try_from(start).unwrap()..usize::try_from(end).unwrap()].to_vec(),
                )
            },
        );
        let Ok(text) = result;
        text
    }

    fn check(old: &str, changes: &[Change]) -> String {
        diff_within(old, false, changes, usize::MAX)
    }

    fn numbered(count: usize) -> String {
        (1..=count).fold(String::new(), |text, n| text + &n.to_string() + "\n")
    }

    #[test]
    fn one_line_of_a_replaced_block_shows_alone() {
        let changes = [change(3, "3\n4\n5\n6\n7\n", "3\n4\nfive\n6\n7\n")];
        insta::assert_snapshot!(check(&numbered(10), &changes), @r"
        --- a/x
        +++ b/x
        @@ -2,7 +2,7 @@
         2
         3
         4
        -5
        +five
         6
         7
         8
        ");
    }

    #[test]
    fn hunks_that_touch_are_one() {
        let changes = [change(1, "1\n", ""), change(8, "8\n", "VIII\n"), change(16, "", "new\n")];
        insta::assert_snapshot!(check(&numbered(30), &changes), @r"
        --- a/x
        +++ b/x
        @@ -1,11 +1,10 @@
        -1
         2
         3
         4
         5
         6
         7
        -8
        +VIII
         9
         10
         11
        @@ -13,6 +12,7 @@
         13
         14
         15
        +new
         16
         17
         18
        ");
    }

    #[test]
    fn a_missing_final_newline_is_told() {
        insta::assert_snapshot!(diff_within("a\nb", true, &[change(1, "a\n", "A\n")], 999), @r"
        --- a/x
        +++ b/x
        @@ -1,2 +1,2 @@
        -a
        +A
         b
        \ No newline at end of file
        ");
        insta::assert_snapshot!(diff_within("a\nb", false, &[change(3, "", "c\n")], 999), @r"
        --- a/x
        +++ b/x
        @@ -1,2 +1,3 @@
         a
        -b
        \ No newline at end of file
        +b
        +c
        ");
        insta::assert_snapshot!(diff_within("a\n", true, &[], 999), @r"
        --- a/x
        +++ b/x
        @@ -1 +1 @@
        -a
        +a
        \ No newline at end of file
        ");
    }

    #[test]
    fn empty_sides() {
        insta::assert_snapshot!(check("", &[change(1, "", "a\n")]), @r"
        --- a/x
        +++ b/x
        @@ -0,0 +1 @@
        +a
        ");
        insta::assert_snapshot!(check("a\nb\n", &[change(1, "a\nb\n", "")]), @r"
        --- a/x
        +++ b/x
        @@ -1,2 +0,0 @@
        -a
        -b
        ");
        assert_eq!(check("a\nb\n", &[change(1, "a\n", "a\n")]), "");
        insta::assert_snapshot!(check("a\nb\n", &[change(1, "a\n", "A\n"), change(2, "b\n", "B\n")]), @r"
        --- a/x
        +++ b/x
        @@ -1,2 +1,2 @@
        -a
        -b
        +A
        +B
        ");
        assert_eq!(check("a\n", &[]), "");
    }

    #[test]
    fn a_long_diff_is_cut_at_a_line() {
        let changes = [change(1, "1\n2\n3\n", "one\ntwo\nthree\n")];
        insta::assert_snapshot!(diff_within(&numbered(5), false, &changes, 40), @r"
        --- a/x
        +++ b/x
        @@ -1,5 +1,5 @@
        -1
        -2
        … 6 more lines
        ");
        let long = change(1, &numbered(2001), &numbered(2001).replace("7\n", "8\n"));
        let text = check(&numbered(2001), &[long]);
        assert_eq!(text.lines().filter(|line| line.starts_with('-')).count(), 2002);
    }

    #[test]
    fn a_hostile_path_stays_on_its_line() {
        insta::assert_snapshot!(quoted("a\n+++ \"b\\\u{1}"), @r#""a\n+++ \"b\\\001""#);
        assert_eq!(quoted("/é/b.rs"), "/é/b.rs");
    }

    /// Applies a diff as `patch` would, trusting nothing but the old text and the hunks.
    fn patched(old: &str, diff: &str) -> String {
        let all = lines(old);
        let mut new: Vec<String> = Vec::new();
        let mut at = 0;
        let mut open = !old.is_empty() && !old.ends_with('\n');
        let mut last_sign = ' ';
        for row in diff.lines().skip(2) {
            if let Some(header) = row.strip_prefix("@@ -") {
                let (start, rest) = header.split_once([' ', ',']).unwrap();
                let start: usize = start.parse().unwrap();
                let empty = header.contains(',') && rest.starts_with("0 ");
                let start = if empty { start } else { start - 1 };
                new.extend_from_slice(&all[at..start]);
                at = start;
                let added: usize =
                    header.split_once('+').unwrap().1.split([',', ' ']).next().unwrap().parse().unwrap();
                let gone_all = header.contains(",0 @@");
                assert_eq!(added, if gone_all { new.len() } else { new.len() + 1 });
                continue;
            }
            let (sign, text) = row.split_at(1);
            match sign {
                " " | "-" => {
                    assert_eq!(all[at], text);
                    at += 1;
                    if sign == " " {
                        new.push(text.to_owned());
                    }
                    if at == all.len() && !old.ends_with('\n') && sign == "-" {
                        open = false;
                    }
                }
                "+" => new.push(text.to_owned()),
                "\\" => open = last_sign != '-',
                other => panic!("{other}"),
            }
            last_sign = if sign == "\\" { last_sign } else { sign.chars().next().unwrap() };
        }
        new.extend_from_slice(&all[at..]);
        let mut text = new.join("\n");
        if !new.is_empty() && !open {
            text.push('\n');
        }
        text
    }

    /// An old text, the changes cut from it, and the text that they make.
    fn case() -> impl Strategy<Value = (String, Vec<Change>, String)> {
        let line = "[ab]{0,2}";
        let lines = prop::collection::vec(line, 0..40);
        let cuts = prop::collection::vec((0..12_usize, 0..4_usize, prop::collection::vec(line, 0..5)), 0..6);
        (lines, cuts, any::<bool>(), any::<bool>()).prop_map(|(old, cuts, old_open, new_open)| {
            let (mut changes, mut new, mut at) = (Vec::new(), Vec::new(), 0);
            for (skip, take, with) in cuts {
                let start = (at + skip).min(old.len());
                let end = (start + take).min(old.len());
                new.extend_from_slice(&old[at..start]);
                new.extend_from_slice(&with);
                let gone = old[start..end].to_vec();
                changes.push(Change { start: LineNumber::from_index(start as u64), old: gone, new: with });
                at = end;
            }
            new.extend_from_slice(&old[at..]);
            (join(&old, old_open), changes, join(&new, new_open))
        })
    }

    fn join(lines: &[String], open: bool) -> String {
        match lines.last() {
            // A last line that is empty and has no terminator is no line at all.
            Some(last) if open && !last.is_empty() => lines.join("\n"),
            Some(_) => lines.join("\n") + "\n",
            None => String::new(),
        }
    }

    fn is_open(text: &str) -> bool {
        !text.is_empty() && !text.ends_with('\n')
    }

    #[test]
    fn the_last_line_goes_and_the_one_before_loses_its_terminator() {
        let old = "\n".repeat(25) + "a\na";
        let changes = [change(12, "\n", ""), change(15, "\n\n\n", ""), change(27, "a", "")];
        let diff = diff_within(&old, true, &changes, usize::MAX);
        assert_eq!(patched(&old, &diff), "\n".repeat(21) + "a", "{diff}");
    }

    /// Every short beginning and every short end of a text, each with every small change; together, and far apart.
    #[test]
    fn every_small_diff_makes_the_new_text() {
        let texts: [&[&str]; 7] = [&[], &[""], &["a"], &["", ""], &["", "a"], &["a", ""], &["a", "a"]];
        let texts = texts.map(|lines| lines.iter().map(ToString::to_string).collect::<Vec<_>>());
        let mut parts = Vec::new();
        for (old, new) in texts.iter().flat_map(|old| texts[..3].iter().map(move |new| (old, new))) {
            for start in 0..=old.len() {
                parts.extend((start..=old.len()).map(|end| (old, start..end, new)));
            }
        }
        for ((head, above, first), (tail, below, second)) in
            parts.iter().flat_map(|head| parts.iter().map(move |tail| (head, tail)))
        {
            for (apart, old_open, new_open) in
                (0..8).map(|bits| (if bits & 1 == 0 { 0 } else { 7 }, bits & 2 == 0, bits & 4 == 0))
            {
                let between = vec!["b".to_owned(); apart];
                let old = [head, &between[..], tail].concat();
                let (start, end) = (head.len() + apart + below.start, head.len() + apart + below.end);
                let change = |lines: &Range<usize>, new: &[String]| Change {
                    start: LineNumber::from_index(lines.start as u64),
                    old: old[lines.clone()].to_vec(),
                    new: new.to_vec(),
                };
                let changes = [change(above, first), change(&(start..end), second)];
                let new = [&old[..above.start], first, &old[above.end..start], second, &old[end..]].concat();
                let (old, new) = (join(&old, old_open), join(&new, new_open));
                let diff = diff_within(&old, is_open(&new), &changes, usize::MAX);
                assert_eq!(patched(&old, &diff), new, "{old:?} by {changes:?}:\n{diff}");
            }
        }
    }

    proptest! {
        #[test]
        fn the_diff_makes_the_new_text((old, changes, new) in case()) {
            let diff = diff_within(&old, is_open(&new), &changes, usize::MAX);
            prop_assert_eq!(patched(&old, &diff), new);
        }

        #[test]
        fn a_cut_diff_counts_what_is_missing((old, changes, new) in case(), limit in 0..300_usize) {
            let whole = diff_within(&old, is_open(&new), &changes, usize::MAX);
            let cut = diff_within(&old, is_open(&new), &changes, limit);
            let kept = cut.split_once('…').map_or(cut.as_str(), |(kept, _)| kept);
            prop_assert!(whole.starts_with(kept) && kept.len() <= limit);
            let hidden = whole.lines().count() - kept.lines().count();
            let marker = format!("… {hidden} more line");
            prop_assert!(hidden == 0 || cut[kept.len()..].starts_with(&marker));
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri starts no processes")]
    #[expect(
        clippy::disallowed_methods,
        reason = "patch(1) wants a file of its own; nothing of ours is opened"
    )]
    fn patch_takes_it() {
        use std::io::Write as _;
        use std::process::{Command, Stdio};
        let folder = std::env::temp_dir().join(format!("mte-diff-{}", std::process::id()));
        let cases = [
            (
                numbered(40),
                vec![change(1, "1\n", ""), change(20, "20\n21\n", "x\n21\ny\n"), change(41, "", "z\n")],
                "\n",
            ),
            ("a\nb".to_owned(), vec![change(3, "", "c\n")], ""),
            (numbered(3), vec![change(1, "1\n2\n3\n", "")], "\n"),
        ];
        std::fs::create_dir_all(&folder).unwrap();
        for (old, changes, end) in cases {
            let file = folder.join("old name");
            std::fs::write(&file, &old).unwrap();
            let all = lines(&old);
            let result = unified(
                Side { path: "old name", unterminated: is_open(&old) },
                Side { path: "old name", unterminated: end.is_empty() },
                all.len() as u64,
                &changes,
                usize::MAX,
                |range| {
                    let (start, end) = (range.start().index(), range.end());
                    Ok::<_, Infallible>(
                        all[usize::try_from(start).unwrap()..usize::try_from(end).unwrap()].to_vec(),
                    )
                },
            );
            let Ok(diff) = result;
            let mut patch = Command::new("patch");
            patch.args(["-p0", "-F0"]).current_dir(&folder);
            let Ok(mut child) = patch.stdin(Stdio::piped()).stdout(Stdio::null()).spawn() else {
                eprintln!("skipped: there is no patch(1) here");
                break;
            };
            child.stdin.take().unwrap().write_all(diff.as_bytes()).unwrap();
            assert!(child.wait().unwrap().success(), "{diff}");
            let after = std::fs::read_to_string(&file).unwrap_or_default();
            assert_eq!(after, patched(&old, &diff));
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
