//! Remembers what a client was shown of a file ([`ShownLines`]), and compares it with the file as it is.
//!
//! Each line is remembered as a 64-bit hash of its text. A collision can only hide a change.

use std::hash::{DefaultHasher, Hasher as _};
use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::digest::Digest;
use crate::line::{LineNumber, LineRange};
use crate::scan::Scanned;
use crate::source::Source;

/// The maximum number of lines of a file that is compared with the lines that were shown.
const MAX_LINES: u64 = 128 << 10;
/// The maximum bytes of such a file.
const MAX_BYTES: u64 = 16 << 20;
/// The maximum distance to which lines are assumed to have moved, if the old number of lines is unknown.
const MAX_MOVED: usize = 50;
/// The maximum number of lines that a diff aligns, not counting equal lines at both ends.
const MAX_ALIGNED: usize = 2_000;
/// The maximum bytes of a line that is hashed. A longer line stays unknown.
const MAX_LINE_BYTES: usize = 64 << 10;

/// Stands for a line that was never shown.
const UNKNOWN: u64 = 0;
/// Stands for a line that was shown, and that another program has changed since.
const CHANGED: u64 = 1;

/// Hashes a line. No hash equals `UNKNOWN` or `CHANGED`.
fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(text.as_bytes());
    hasher.finish() | 2
}

/// The lines of a file that a client was shown, as hashes. *The shown state* is the state of the file when it
/// was last shown.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ShownLines {
    /// The digest of the shown state; `None` if unknown.
    digest: Option<Digest>,
    /// The index and the hash of each line of the shown state that the client was shown, in order.
    lines: Vec<(usize, u64)>,
    /// The number of all lines in the shown state; `None` if unknown.
    total: Option<usize>,
    /// The hashes of lines of other states that the client was shown. Their places in the shown state are
    /// unknown.
    elsewhere: Vec<u64>,
}

/// The lines of a file as it is now, compared with those that a client was shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compared {
    /// For each line, its hash if the client knows the line; otherwise `UNKNOWN` or `CHANGED`.
    lines: Vec<u64>,
    /// For each line, whether another program has written it since the client was shown the lines around it.
    is_new: Vec<bool>,
    /// Whether another program has changed the file at all.
    is_changed: bool,
    /// The number of lines that were shown and have been deleted, with nothing in their place.
    gone: u64,
}

impl ShownLines {
    /// Returns the digest of the file when it was last shown.
    #[must_use]
    pub fn digest(&self) -> Option<&Digest> {
        self.digest.as_ref()
    }

    /// Returns the size of this value in memory, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(self.lines.as_slice()) + size_of_val(self.elsewhere.as_slice())
    }

    /// Returns the value for a file with this digest; no line of it was shown yet.
    #[must_use]
    pub fn of(digest: Option<Digest>) -> Self {
        Self { digest, ..Self::default() }
    }

    /// Records that the client was shown lines of the shown state, the first with the number `first`.
    /// `is_read` says that the client read them, and did not only see them in an error about another text.
    /// Only then does a line that another program has changed become known.
    pub fn show<'t>(&mut self, first: LineNumber, lines: impl Iterator<Item = &'t str>, is_read: bool) {
        let at = self.lines.partition_point(|(index, _)| (*index as u64) < first.index());
        let mut known = self.lines.split_off(at).into_iter().peekable();
        for (index, text) in (first.index()..MAX_LINES).zip(lines) {
            let Ok(index) = usize::try_from(index) else { break };
            let was = known.next_if(|(known, _)| *known == index).filter(|_| !is_read);
            self.lines.push(was.unwrap_or_else(|| (index, hash(text))));
        }
        self.lines.extend(known);
    }

    /// Records the number of lines of the shown state.
    pub fn ends_after(&mut self, total: u64) {
        self.total = usize::try_from(total).ok();
    }

    /// Records that a search showed a line, perhaps of another state.
    pub fn hit(&mut self, number: LineNumber, text: &str) {
        let index = usize::try_from(number.index()).unwrap_or(usize::MAX);
        match self.lines.binary_search_by_key(&index, |(index, _)| *index) {
            Err(_) => self.show(number, std::iter::once(text), true),
            Ok(at) if self.lines.get(at).is_some_and(|(_, known)| *known == hash(text)) => {}
            Ok(_) => self.show_elsewhere(std::iter::once(text)),
        }
    }

    /// Records that lines of another state were shown.
    pub fn show_elsewhere<'t>(&mut self, lines: impl Iterator<Item = &'t str>) {
        for known in lines.map(hash) {
            if !self.elsewhere.contains(&known) && self.elsewhere.len() < MAX_ALIGNED {
                self.elsewhere.push(known);
            }
        }
    }

    /// Returns the stretches of lines that were shown, for a file that now has `now` lines.
    fn stretches(&self, now: usize) -> Vec<Stretch> {
        let (total, mut stretches) = (self.total, Vec::<Stretch>::new());
        let fewer = total.map_or(MAX_MOVED, |total| total.saturating_sub(now));
        let more = total.map_or(MAX_MOVED, |total| now.saturating_sub(total));
        for (index, line) in &self.lines {
            match stretches.last_mut().filter(|last| last.old.end == *index) {
                Some(last) => {
                    last.old.end += 1;
                    last.lines.push(*line);
                }
                None => stretches.push(Stretch {
                    old: *index..index + 1,
                    lines: vec![*line],
                    ..Stretch::default()
                }),
            }
        }
        for Stretch { old, new, is_open, .. } in &mut stretches {
            let (is_first, is_last) = (old.start == 0, Some(old.end) == total);
            let from = if is_first { 0 } else { old.start.saturating_sub(fewer).min(now) };
            *new = from..if is_last { now } else { (old.end + more).min(now).max(from) };
            *is_open = (!is_first, !is_last);
        }
        stretches
    }

    /// Compares the lines that were shown with the file as it is now; `None` if the file is too large. Fails
    /// only if a read of the source fails.
    pub fn compare<S: Source + ?Sized>(&self, file: Scanned<'_, S>) -> Result<Option<Compared>, S::Error> {
        let total = file.scan.lines.count();
        if total > MAX_LINES {
            return Ok(None);
        }
        if self.digest == Some(file.scan.digest) {
            let mut lines = vec![UNKNOWN; usize::try_from(total).unwrap_or_default()];
            for (index, shown) in &self.lines {
                lines.get_mut(*index).into_iter().for_each(|line| *line = *shown);
            }
            let is_new = vec![false; lines.len()];
            return Ok(Some(Compared { lines, is_new, is_changed: false, gone: 0 }));
        }
        let Some(lines) = hashes(file, file.scan.lines.all())? else { return Ok(None) };
        let is_changed = self.digest.is_some();
        let mut compared = Compared { is_new: vec![false; lines.len()], lines, is_changed, gone: 0 };
        compared.align(self);
        Ok(Some(compared))
    }
}

/// Adjacent lines that were shown, and the part of the file where they can be now.
#[derive(Default)]
struct Stretch {
    old: Range<usize>,
    lines: Vec<u64>,
    new: Range<usize>,
    /// Whether lines that were never shown can precede these lines in that part, and whether they can follow
    /// them.
    is_open: (bool, bool),
}

impl Stretch {
    /// Diffs the lines with the part of the file where they can be now. The indices in the result are those
    /// of lines in the whole file. If many lines are left between the equal lines at both ends, aligns only
    /// these.
    fn ops(&self, new: &[u64]) -> Vec<DiffOp> {
        let (was, now) = (self.lines.as_slice(), new.get(self.new.clone()).unwrap_or_default());
        let head = was.iter().zip(now).take_while(|(was, now)| was == now).count();
        let rest = was.len().min(now.len()) - head;
        let tail =
            was.iter().rev().zip(now.iter().rev()).take(rest).take_while(|(was, now)| was == now).count();
        let (old_len, new_len) = (was.len() - head - tail, now.len() - head - tail);
        if old_len.max(new_len) <= MAX_ALIGNED {
            return capture_diff_slices(Algorithm::Myers, was, now)
                .into_iter()
                .map(|op| self.moved(op))
                .collect();
        }
        let (old_index, new_index) = (self.old.start, self.new.start);
        let ends = |skip: usize, old: usize, new: usize| DiffOp::Equal {
            old_index: old_index + old,
            new_index: new_index + new,
            len: skip,
        };
        vec![
            ends(head, 0, 0),
            DiffOp::Replace { old_index: old_index + head, old_len, new_index: new_index + head, new_len },
            ends(tail, head + old_len, head + new_len),
        ]
    }

    /// Converts the indices of an operation from indices in the stretch to indices in the whole file.
    fn moved(&self, op: DiffOp) -> DiffOp {
        let (old, new) = (self.old.start, self.new.start);
        match op {
            DiffOp::Equal { old_index, new_index, len } => {
                DiffOp::Equal { old_index: old_index + old, new_index: new_index + new, len }
            }
            DiffOp::Delete { old_index, old_len, new_index } => {
                DiffOp::Delete { old_index: old_index + old, old_len, new_index: new_index + new }
            }
            DiffOp::Insert { old_index, new_index, new_len } => {
                DiffOp::Insert { old_index: old_index + old, new_index: new_index + new, new_len }
            }
            DiffOp::Replace { old_index, old_len, new_index, new_len } => {
                DiffOp::Replace { old_index: old_index + old, old_len, new_index: new_index + new, new_len }
            }
        }
    }
}

impl Compared {
    /// Aligns the lines with those that were shown, and sets each to its hash, to `UNKNOWN` or to `CHANGED`.
    /// A stretch is searched only as far away as the number of added or removed lines can have moved it:
    /// farther away, an empty line would match any other.
    fn align(&mut self, shown: &ShownLines) {
        let new = std::mem::replace(&mut self.lines, vec![UNKNOWN; self.is_new.len()]);
        let stretches = shown.stretches(new.len());
        for stretch in &stretches {
            for op in stretch.ops(&new) {
                if let DiffOp::Equal { new_index, len, .. } = op {
                    (new_index..new_index + len).for_each(|index| self.keep(index, &new));
                }
            }
        }
        for stretch in &stretches {
            let ops = stretch.ops(&new);
            // Deleted lines may have moved to where this diff inserts lines.
            let is_moved = ops.iter().any(|op| matches!(op, DiffOp::Delete { .. }));
            for op in ops {
                let (was, mut now) = (op.old_range(), op.new_range());
                match op {
                    DiffOp::Equal { .. } => continue,
                    DiffOp::Delete { .. } => self.gone += was.len() as u64,
                    _ => {}
                }
                // Lines beyond an open end were never shown.
                let is_first = stretch.is_open.0 && was.start == stretch.old.start;
                let is_last = stretch.is_open.1 && was.end == stretch.old.end;
                if is_first && is_last {
                    now = was.start.min(new.len())..was.end.min(new.len());
                } else if is_first {
                    now.start = now.start.max(now.end.saturating_sub(was.len()));
                } else if is_last {
                    now.end = now.end.min(now.start + was.len());
                }
                let was_shown = !was.is_empty() || is_moved;
                for index in now {
                    if self.lines.get(index).is_some_and(|line| *line != UNKNOWN) {
                        continue;
                    }
                    if new.get(index).is_some_and(|line| shown.elsewhere.contains(line)) {
                        self.keep(index, &new);
                    } else if was_shown && let Some(line) = self.lines.get_mut(index) {
                        *line = CHANGED;
                    }
                    if let Some(mark) = self.is_new.get_mut(index) {
                        *mark = true;
                    }
                }
            }
        }
        self.is_changed |= self.gone > 0 || self.is_new.contains(&true);
    }

    fn keep(&mut self, index: usize, new: &[u64]) {
        if let (Some(line), Some(known)) = (self.lines.get_mut(index), new.get(index)) {
            *line = *known;
        }
    }

    /// Whether another program has changed the file since it was last shown.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.is_changed
    }

    /// Returns the lines that the client knows in the current state, which has this digest.
    #[must_use]
    pub fn known(self, digest: Digest) -> ShownLines {
        let total = Some(self.lines.len());
        let lines = self.lines.into_iter().enumerate().filter(|(_, line)| *line != UNKNOWN).collect();
        ShownLines { digest: Some(digest), lines, total, elsewhere: Vec::new() }
    }

    /// Whether another program has changed a line that was shown.
    #[must_use]
    pub fn has_changed(&self, line: LineNumber) -> bool {
        let index = usize::try_from(line.index()).unwrap_or(usize::MAX);
        self.lines.get(index) == Some(&CHANGED)
    }

    /// Returns the lines that other programs have changed.
    #[must_use]
    pub fn changes(&self) -> Changes {
        let mut lines: Vec<LineRange> = Vec::new();
        for (index, _) in (0..).zip(&self.is_new).filter(|(_, is_new)| **is_new) {
            match lines.last_mut() {
                Some(last) if last.end() == index => *last = LineRange::new(last.start(), last.count() + 1),
                _ => lines.push(LineRange::new(LineNumber::from_index(index), 1)),
            }
        }
        Changes { lines, gone: self.gone }
    }

    /// Returns the lines that the client knows after its edit, and the changes that other programs had made
    /// before the edit, with line numbers of the new file. Each region is a pair: its new lines, which the
    /// client knows, and the old lines that they replaced. Returns `None` if the regions do not fit the file.
    /// Fails only if a read of the source fails.
    pub fn edited<S: Source + ?Sized>(
        self,
        new: Scanned<'_, S>,
        regions: impl Iterator<Item = (LineRange, LineRange)>,
    ) -> Result<Option<(ShownLines, Changes)>, S::Error> {
        let index = |line: u64| usize::try_from(line).unwrap_or(usize::MAX);
        let mut after = Self { lines: Vec::new(), is_new: Vec::new(), ..self };
        let mut at = 0;
        for (lines, replaced) in regions {
            let start = index(replaced.start().index());
            let kept = self.lines.get(at..start).zip(self.is_new.get(at..start));
            let (Some((kept, marks)), Some(known)) = (kept, hashes(new, lines)?) else { return Ok(None) };
            after.lines.extend(kept.iter().copied().chain(known));
            after.is_new.extend_from_slice(marks);
            after.is_new.resize(after.lines.len(), false);
            at = index(replaced.end());
        }
        let Some(kept) = self.lines.get(at..) else { return Ok(None) };
        after.lines.extend_from_slice(kept);
        after.is_new.extend_from_slice(self.is_new.get(at..).unwrap_or_default());
        let changes = after.changes();
        let is_whole = after.lines.len() as u64 == new.scan.lines.count();
        Ok(is_whole.then(|| (after.known(new.scan.digest), changes)))
    }
}

/// The changes that other programs have made to a file since it was last shown.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Changes {
    /// The lines that they wrote in the parts of the file that were shown.
    pub lines: Vec<LineRange>,
    /// The number of lines that were shown and have been deleted, with nothing in their place.
    pub gone: u64,
}

/// Hashes lines; returns `None` if the file has too many, or if `lines` have too many bytes.
fn hashes<S: Source + ?Sized>(file: Scanned<'_, S>, lines: LineRange) -> Result<Option<Vec<u64>>, S::Error> {
    let mut known = Vec::new();
    if lines.is_empty() {
        return Ok(Some(known));
    }
    let bytes = file.bytes_of(lines)?;
    if file.scan.lines.count() > MAX_LINES || bytes.end - bytes.start > MAX_BYTES {
        return Ok(None);
    }
    file.for_each_line(lines.start(), bytes, MAX_LINE_BYTES, |line| {
        let text = if line.is_whole() { file.scan.encoding.decode(line.text).ok() } else { None };
        // A line that is too long, or that cannot be decoded, is unknown.
        known.push(text.map_or(UNKNOWN, |text| hash(&text)));
        true
    })?;
    Ok(Some(known))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preview::Preview;
    use crate::resolve::{MatchOptions, Patch, patch};
    use crate::scan::{Scan, Scanner};

    fn scan(bytes: &str) -> Scan {
        let mut scanner = Scanner::new(None);
        scanner.feed(bytes.as_bytes());
        scanner.finish()
    }

    /// Returns the record of a client that was shown the lines `first` to `last` of `file`.
    fn shown(file: &str, (first, last): (u64, u64)) -> ShownLines {
        let mut seen = ShownLines::of(Some(scan(file).digest));
        let lines: Vec<&str> = file.lines().collect();
        let range = usize::try_from(first - 1).unwrap()..usize::try_from(last).unwrap();
        seen.show(LineNumber::new(first).unwrap(), lines[range].iter().copied(), true);
        seen.ends_after(lines.len() as u64);
        seen
    }

    /// Tells for each line of the file whether it is known (`=`), changed (`!`) or neither (`?`); then which
    /// lines are new, and how many are gone.
    fn marks(seen: &ShownLines, now: &str) -> String {
        let scan = scan(now);
        let compared = seen.compare(Scanned::new(now.as_bytes(), &scan)).unwrap().unwrap();
        let marks: String = compared
            .lines
            .iter()
            .map(|line| match *line {
                UNKNOWN => '?',
                CHANGED => '!',
                _ => '=',
            })
            .collect();
        let changes = compared.changes();
        let lines: Vec<String> = changes.lines.iter().map(ToString::to_string).collect();
        format!("{marks} {} {}", lines.join(","), changes.gone)
    }

    #[test]
    fn lines_that_others_changed_are_told() {
        let file = "a\nb\nc\nd\ne\n";
        let whole = shown(file, (1, 5));
        let part = shown(file, (2, 3));
        let gap = shown("a\n\nb\n\nc\n\nd\n", (2, 4));
        for (seen, now, expected) in [
            (&whole, file, "=====  0"),
            (&whole, "a\nB\nc\nd\ne\n", "=!=== 2-2 0"),
            (&whole, "a\nb\nc\nd\ne\nf\n", "=====? 6-6 0"),
            (&whole, "x\ny\na\nb\nc\nd\ne\n", "??===== 1-2 0"),
            (&whole, "a\nc\nd\ne\n", "====  1"),
            (&whole, "a\nX\nY\nc\nD\ne\n", "=!!=!= 2-3,5-5 0"),
            // Moved and changed.
            (&whole, "a\nc\nd\ne\nb2\n", "====! 5-5 1"),
            (&part, file, "?==??  0"),
            (&part, "a\nB\nc\nd\ne\n", "?!=?? 2-2 0"),
            (&part, "A\nb\nc\nD\ne\n", "?==??  0"),
            (&part, "z\na\nb\nc\nd\ne\n", "??==??  0"),
            (&part, "z\na\nB\nc\nd\ne\n", "??!=?? 3-3 0"),
            (&part, "a\nb\nC\nd\ne\n", "?=!?? 3-3 0"),
            // An empty line is not matched with a distant empty line.
            (&gap, "x\n\nb\n\ny\n\nz\n", "?===???  0"),
            (&gap, "x\n\nB\n\ny\n\nz\n", "?=!=??? 3-3 0"),
        ] {
            assert_eq!(marks(seen, now), expected, "{now:?} of {seen:?}");
        }
        let mut searched = whole.clone();
        searched.show_elsewhere(["B"].into_iter());
        assert_eq!(marks(&searched, "a\nB\nc\nd\nE\n"), "====! 2-2,5-5 0");
        let hit = {
            let mut seen = ShownLines::of(None);
            seen.show(LineNumber::new(2).unwrap(), ["b"].into_iter(), true);
            seen
        };
        assert_eq!(marks(&hit, file), "?=???  0");
        assert_eq!(marks(&hit, "a\nB\nc\n"), "?!? 2-2 0");
    }

    #[test]
    fn only_lines_that_were_shown_take_memory() {
        let file = "a\n".repeat(100_000);
        let scan = scan(&file);
        let far = shown(&file, (99_999, 100_000));
        assert!(far.bytes() < 1_000, "{}", far.bytes());
        let old = Scanned::new(file.as_bytes(), &scan);
        let known = far.compare(old).unwrap().unwrap().known(scan.digest);
        assert_eq!(known, far);
    }

    #[test]
    fn a_text_inside_a_line_that_others_changed_is_refused() {
        use crate::rejection::Rejection;
        use crate::rejection::TextKind;
        use crate::resolve::unless_changed;

        let (before, now) = ("x = 1\ny\n", "x = 12\ny\n");
        let scan = scan(now);
        let file = Scanned::new(now.as_bytes(), &scan);
        let refused = |old: &str, new: &str| {
            let options = MatchOptions { review: Some(TextKind::Plain), ..MatchOptions::default() };
            let plan = patch(file, None, &[Patch::text(old, new)], options).unwrap().unwrap();
            let compared = shown(before, (1, 2)).compare(file).unwrap().unwrap();
            let rejections = unless_changed(file, &plan, &compared).unwrap();
            rejections
                .iter()
                .map(|rejection| match rejection {
                    Rejection::ChangedLine { lines, text, .. } => (lines.to_string(), text.text.clone()),
                    other => panic!("{other:?}"),
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(refused("x = 1", "x = 2"), [("1-1".to_owned(), "x = 12\n".to_owned())]);
        // The whole line is accepted, because only a client that has seen it can send it. A line that no
        // other program changed is accepted, too.
        assert_eq!(refused("x = 12\n", "x = 2\n"), []);
        assert_eq!(refused("y", "z"), []);
    }

    #[test]
    fn an_edit_makes_its_lines_known_and_forgets_no_change() {
        let (file, now) = ("a\nb\nc\nd\ne\n", "a\nB\nc\nd\ne\n");
        let scan = scan(now);
        let old = Scanned::new(now.as_bytes(), &scan);
        let plan =
            patch(old, None, &[Patch::text("a\n", "x\ny\n"), Patch::text("e", "E")], MatchOptions::default());
        let plan = plan.unwrap().unwrap();
        let preview = Preview::read(old, &plan).unwrap();
        let regions = preview.regions().unwrap();
        let compared = shown(file, (1, 5)).compare(old).unwrap().unwrap();
        let (seen, changes) = compared
            .edited(preview.new_file(), regions.iter().map(|region| (region.lines, region.replaced)))
            .unwrap()
            .unwrap();
        assert_eq!(changes, Changes { lines: vec![LineRange::inclusive(3, 3).unwrap()], gone: 0 });
        assert_eq!(marks(&seen, "x\ny\nB\nc\nd\nE\n"), "==!===  0");
        assert_eq!(marks(&seen, "x\ny\nB\nc\nd\nE2\n"), "==!==! 3-3,6-6 0");
    }
}
