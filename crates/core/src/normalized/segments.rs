//! A wanted text, and lines of the file, as they are compared: hashes of segments in which every slip is
//! undone.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::joined::JoinedSearch;
use crate::cause::{Unbroken, collapsed, is_telling, readings};
use crate::elision::is_elision;
use crate::matching::trim_blanks;

/// A text of more lines is read in two ways only, as it was sent and with all slips undone: each takes memory
/// for each line.
const MANY_LINES: usize = 10_000;

/// A segment of text between two line ends, be they real or spelled out, without anything that a slip
/// changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineSegment {
    /// Its hash.
    pub(super) hash: u64,
    /// The hash of the line that it is of, as it is written.
    pub(super) exact: u64,
    /// The hash of the blanks at the beginning of that line.
    pub(super) indent: u64,
    /// Whether the segment has no letter, digit or sign.
    pub(super) is_blank: bool,
    /// Whether the segment occurs rarely enough to identify a place.
    pub(super) is_telling: bool,
}

/// A line as it is compared: its segments, and as it is joined with others.
#[derive(Debug)]
pub(super) struct NormalizedLine {
    pub(super) segments: Vec<LineSegment>,
    pub(super) unbroken: Unbroken,
}

impl NormalizedLine {
    pub(super) fn new(line: &str) -> Self {
        let collapsed = collapsed(line);
        Self { segments: segments(line, &collapsed), unbroken: Unbroken::new(line, &collapsed) }
    }
}

/// Cuts a line into segments.
fn segments(line: &str, collapsed: &str) -> Vec<LineSegment> {
    // A spelled-out line end at the very end ends the last segment, as a real one does.
    let body = collapsed.strip_suffix('\n').unwrap_or(collapsed);
    let exact = hash_of(trim_blanks(line));
    let indent = hash_of(line.split(|c| !matches!(c, ' ' | '\t')).next().unwrap_or_default());
    body.split('\n')
        .map(|segment| {
            let is_telling = is_telling(segment);
            LineSegment { hash: hash_of(segment), exact, indent, is_blank: segment.is_empty(), is_telling }
        })
        .collect()
}

fn hash_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// One way to read the wanted text.
#[derive(Debug)]
pub(super) struct SegmentedReading {
    /// Its segments. Where lines such as `...` stand for others, only those before the first and after the
    /// last of these.
    pub(super) segments: Vec<LineSegment>,
    /// The number of segments before lines that were left out, where a line says that some were.
    pub(super) head: Option<usize>,
    /// The number of segments in the middle, between lines that stand for others; these are not looked for.
    pub(super) between: usize,
    /// The number of slips of the whole text that were undone.
    pub(super) undone: usize,
}

impl SegmentedReading {
    /// Tells whether any of its segments tells its place.
    pub(super) fn is_telling(&self) -> bool {
        self.segments.iter().any(|segment| segment.is_telling)
    }
}

/// Returns the readings of a text: as it is, with slips of the whole text undone, and each also without the
/// lines that stand for others. The joined searches ignore where lines are broken.
pub(super) fn read(text: &str) -> (Vec<SegmentedReading>, Vec<JoinedSearch>) {
    let mut texts = readings(text.strip_suffix('\n').unwrap_or(text));
    if texts.len() > 2 && text.matches('\n').nth(MANY_LINES).is_some() {
        texts.drain(1..texts.len() - 1);
    }
    let mut known = HashMap::new();
    for line in texts.iter().flat_map(|reading| reading.text.split('\n')) {
        known.entry(line).or_insert_with(|| NormalizedLine::new(line));
    }
    let lines = |text: &'_ str| text.split('\n').filter_map(|line| known.get(line)).collect::<Vec<_>>();
    let mut out = Vec::new();
    for reading in &texts {
        let segments: Vec<_> = lines(&reading.text).iter().flat_map(|line| line.segments.clone()).collect();
        if segments.iter().any(|segment| !segment.is_blank) {
            out.push(SegmentedReading { segments, head: None, between: 0, undone: reading.undone });
            out.extend(elided(&reading.text, reading.undone));
        }
    }
    let ends = [texts.first(), texts.last().filter(|reading| reading.slip.is_some())];
    let joined = ends.into_iter().flatten().flat_map(|reading| {
        let lines: Vec<_> = lines(&reading.text).iter().map(|line| &line.unbroken).collect();
        JoinedSearch::of(&lines, reading.undone)
    });
    let joined = joined.collect();
    (out, joined)
}

/// Reads a text in which lines stand for others: its first and its last part. `None` where there is no such
/// line.
fn elided(text: &str, undone: usize) -> Option<SegmentedReading> {
    let lines: Vec<&str> = text.split('\n').collect();
    let mut parts: Vec<&[&str]> = lines.split(|line| is_elision(line).is_some()).collect();
    let is_elided = parts.len() > 1;
    // At either end such a line may stand for the rest of the file.
    parts.retain(|part| !part.is_empty());
    if parts.iter().any(|part| part.iter().all(|line| line.trim().is_empty())) {
        return None;
    }
    let all =
        |part: &[&str]| part.iter().flat_map(|line| NormalizedLine::new(line).segments).collect::<Vec<_>>();
    let mut parts = parts.into_iter().map(all);
    let mut all = parts.next().filter(|_| is_elided)?;
    let head = all.len();
    let mut rest: Vec<_> = parts.collect();
    let Some(last) = rest.pop() else {
        return Some(SegmentedReading { segments: all, head: None, between: 0, undone });
    };
    let between = rest.iter().map(Vec::len).sum();
    all.extend(last);
    Some(SegmentedReading { segments: all, head: Some(head), between, undone })
}
